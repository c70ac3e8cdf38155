struct Losses { first: Taped, second: Taped }
fn reject_an_element_after_backward() {
    let losses = (x().trace().sum(),);
    losses.0.backward();
    losses.0.backward();
}
fn reject_a_name_after_its_element() {
    let loss = x().trace().sum();
    let losses = (loss,);
    losses.0.backward();
    loss.backward();
}
fn reject_a_list_of_siblings() {
    let h = model().forward(x().trace());
    let losses = vec![h.sum(), h.mean()];
    for loss in losses { loss.backward(); }
}
fn reject_a_list_that_is_followed_twice() {
    let losses = vec![x().trace().sum(), x().trace().mean()];
    for loss in losses { loss.backward(); }
    for loss in losses { loss.backward(); }
}
fn reject_an_appended_loss() {
    let mut losses = vec![];
    let loss = x().trace().sum();
    losses.push(loss);
    loss.backward();
    losses.remove(0).backward();
}
fn reject_appended_siblings() {
    let h = model().forward(x().trace());
    let mut losses = vec![];
    for _ in 0..2 { losses.push(h.sum()); }
    for loss in losses { loss.backward(); }
}
fn reject_a_comprehension_of_siblings() {
    let h = model().forward(x().trace());
    let losses: Vec<Taped> = (0..3).map(|row| h.row(row).sum()).collect();
    for loss in losses { loss.backward(); }
}
fn reject_a_dictionary_of_siblings() {
    let h = model().forward(x().trace());
    let mut losses = HashMap::from([("sum", h.sum()), ("mean", h.mean())]);
    losses.remove("sum").unwrap().backward();
    losses.remove("mean").unwrap().backward();
}
fn reject_the_values_of_a_dictionary() {
    let h = model().forward(x().trace());
    let losses = HashMap::from([("sum", h.sum()), ("mean", h.mean())]);
    for loss in losses.into_values() { loss.backward(); }
}
fn reject_the_items_of_a_dictionary() {
    let h = model().forward(x().trace());
    let losses = HashMap::from([("sum", h.sum()), ("mean", h.mean())]);
    for (name, loss) in losses { loss.backward(); }
}
fn reject_a_tuple_that_is_unpacked() {
    let a = x().trace();
    let pair = (a.sum(), a.mean());
    let (first, second) = pair;
    first.backward();
    second.backward();
}
fn reject_a_named_tuple() {
    let a = x().trace();
    let losses = Losses { first: a.sum(), second: a.mean() };
    losses.first.backward();
    losses.second.backward();
}
fn reject_a_replaced_named_tuple() {
    let losses = Losses { first: x().trace().sum(), second: x().trace().mean() };
    let changed = Losses { second: x().trace().sum(), ..losses };
    changed.first.backward();
    losses.first.backward();
}
fn reject_a_queue_of_siblings() {
    let h = model().forward(x().trace());
    let mut queue = VecDeque::from([h.sum(), h.mean()]);
    queue.pop_front().unwrap().backward();
    queue.pop_front().unwrap().backward();
}
fn reject_a_copy_of_a_list() {
    let losses = (x().trace().sum(),);
    let kept = losses;
    losses.0.backward();
    kept.0.backward();
}
fn reject_a_sorted_list() {
    let h = model().forward(x().trace());
    let mut losses = vec![h.sum(), h.mean()];
    losses.sort_by(|a, b| a.item().total_cmp(&b.item()));
    for loss in losses { loss.backward(); }
}
fn reject_a_zip_with_weights() {
    let h = model().forward(x().trace());
    for (loss, weight) in [h.sum(), h.mean()].into_iter().zip([1.0, 0.5]) { loss.scale(weight).backward(); }
}
fn reject_an_enumerated_list() {
    let h = model().forward(x().trace());
    for (number, loss) in [h.sum(), h.mean()].into_iter().enumerate() { loss.scale(number as f32).backward(); }
}
fn reject_a_list_times_two() {
    let loss = x().trace().sum();
    let losses = (loss, loss);
    losses.0.backward();
    losses.1.backward();
}
fn reject_a_joined_list() {
    let first = vec![x().trace().sum()];
    let mut both = first;
    both.push(x().trace().mean());
    both.remove(0).backward();
    first.len();
}
fn reject_a_consumed_loss_that_is_stored() {
    let mut history: Vec<Taped> = vec![];
    let loss = x().trace().sum();
    loss.backward();
    history.push(loss);
}
fn reject_a_sum_with_a_consumed_loss() {
    let losses = (x().trace().sum(), x().trace().mean());
    losses.0.backward();
    losses.0.add(losses.1);
}
fn reject_a_dictionary_of_lists() {
    let h = model().forward(x().trace());
    let mut losses: HashMap<&str, Vec<Taped>> = HashMap::from([("all", vec![])]);
    losses.get_mut("all").unwrap().push(h.sum());
    losses.get_mut("all").unwrap().push(h.mean());
}
fn reject_a_nested_unpacking() {
    let a = x().trace();
    let ((first, second), count) = ((a.sum(), a.mean()), 2);
    first.backward();
    second.scale(count as f32).backward();
}
fn accept_a_list_of_forward_passes() {
    let losses: Vec<Taped> = (0..3).map(|_| model().forward(x().trace()).sum()).collect();
    for loss in losses { loss.backward(); }
}
fn accept_appended_forward_passes() {
    let mut losses = vec![];
    for _ in 0..3 { losses.push(model().forward(x().trace()).sum()); }
    for loss in losses { loss.backward(); }
}
fn accept_a_queue_of_forward_passes() {
    let mut queue: VecDeque<Taped> = (0..3).map(|_| model().forward(x().trace()).sum()).collect();
    while let Some(loss) = queue.pop_front() { loss.backward(); }
}
fn accept_a_dictionary_of_forward_passes() {
    let mut losses = HashMap::from([("a", x().trace().sum()), ("b", x().trace().sum())]);
    losses.remove("a").unwrap().backward();
    losses.remove("b").unwrap().backward();
}
fn accept_the_sum_of_a_list() {
    let h = model().forward(x().trace());
    let losses = (h.sum(), h.mean());
    losses.0.add(losses.1).backward();
}
fn accept_a_history_of_numbers() {
    let mut history = vec![];
    for _ in 0..3 {
        let loss = model().forward(x().trace()).sum();
        history.push(loss.item());
        loss.backward();
    }
}
fn accept_a_window_of_two() {
    let mut window: VecDeque<Taped> = VecDeque::new();
    for _ in 0..4 {
        window.push_back(model().forward(x().trace()).sum());
        if window.len() > 2 { window.pop_front().unwrap().backward(); }
    }
}
fn accept_a_replaced_element() {
    let mut losses = (x().trace().sum(),);
    losses.0.backward();
    losses.0 = x().trace().sum();
    losses.0.backward();
}
fn accept_each_index() {
    let losses = vec![x().trace().sum(), x().trace().mean()];
    for number in 0..2 { losses[number].backward(); }
}
