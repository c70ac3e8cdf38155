trait OnLoss { fn on_loss(&self, loss: Taped); }
struct Stepping;
impl OnLoss for Stepping {
    fn on_loss(&self, loss: Taped) { loss.backward(); }
}
struct LossError { loss: Taped }
struct Record { weight: f32, losses: Vec<Taped> }
impl Record {
    fn new() -> Record { Record { weight: 1.0, losses: vec![] } }
    fn push(&mut self, loss: Taped) { self.losses.push(loss); }
}
struct Tree { loss: Taped, children: Vec<Tree> }
fn new_loss() -> Taped { model().forward(x().trace()).sum() }
// The block of a context manager: it gets the loss, and the manager uses it when the block ends.
fn stepping(loss: Taped, block: impl FnOnce(&Taped)) { block(&loss); loss.backward(); }
fn backward_all(mut losses: Vec<Taped>) {
    if !losses.is_empty() { losses.remove(0).backward(); backward_all(losses); }
}
fn visit(tree: Tree) {
    tree.loss.backward();
    for child in tree.children { visit(child); }
}
fn reject_a_protocol_that_is_called_twice() {
    let callback: Box<dyn OnLoss> = Box::new(Stepping);
    let loss = new_loss();
    callback.on_loss(loss);
    callback.on_loss(loss);
}
fn reject_the_loss_of_an_exception() {
    let loss = new_loss();
    let failed = || -> Result<(), LossError> { loss.backward(); Err(LossError { loss }) };
    if let Err(error) = failed() { error.loss.backward(); }
}
fn reject_a_loss_that_a_handler_used() {
    let loss = new_loss();
    let failed: Result<(), LossError> = Err(LossError { loss });
    if let Err(error) = failed { error.loss.backward(); }
    loss.backward();
}
fn reject_recursion_over_siblings() {
    let h = model().forward(x().trace());
    backward_all(vec![h.sum(), h.mean()]);
}
fn reject_recursion_over_a_tree() {
    let h = model().forward(x().trace());
    visit(Tree { loss: h.sum(), children: vec![Tree { loss: h.mean(), children: vec![] }] });
}
fn reject_a_default_dictionary_of_siblings() {
    let h = model().forward(x().trace());
    let mut by_task: HashMap<&str, Vec<Taped>> = HashMap::new();
    for name in ["a", "b"] { by_task.entry(name).or_default().push(h.sum()); }
    for losses in by_task.into_values() { for loss in losses { loss.backward(); } }
}
fn reject_groups_that_are_read_by_key_twice() {
    let mut groups: HashMap<usize, Vec<Taped>> = HashMap::new();
    for number in 0..3 { groups.entry(number % 2).or_default().push(new_loss()); }
    for _ in 0..2 { for losses in groups.into_values() { for loss in losses { loss.backward(); } } }
}
fn reject_positions_that_are_read_twice() {
    let losses = (new_loss(), new_loss());
    losses.0.backward();
    losses.1.backward();
    losses.0.backward();
}
fn reject_a_default_that_is_set_twice() {
    let mut cache: HashMap<&str, Taped> = HashMap::new();
    for _ in 0..2 { (*cache.entry("loss").or_insert_with(new_loss)).backward(); }
}
fn reject_default_lists_of_siblings() {
    let h = model().forward(x().trace());
    let mut table: HashMap<&str, Vec<Taped>> = HashMap::new();
    table.entry("a").or_default().push(h.sum());
    table.entry("a").or_default().push(h.mean());
    for loss in table.remove("a").unwrap() { loss.backward(); }
}
fn reject_an_updated_dictionary() {
    let h = model().forward(x().trace());
    let mut losses = HashMap::from([("a", h.sum())]);
    losses.extend([("b", h.mean())]);
    for name in ["a", "b"] { losses.remove(name).unwrap().backward(); }
}
fn reject_a_field_with_a_factory() {
    let h = model().forward(x().trace());
    let mut record = Record::new();
    record.push(h.sum());
    record.push(h.mean());
    for loss in record.losses { loss.backward(); }
}
fn reject_records_of_siblings() {
    let h = model().forward(x().trace());
    let nodes: Vec<Tree> = (0..2).map(|number| Tree { loss: h.row(number).sum(), children: vec![] }).collect();
    for node in nodes { node.loss.backward(); }
}
fn reject_a_queue_of_pairs() {
    let h = model().forward(x().trace());
    let mut waiting = VecDeque::new();
    for weight in [1.0, 0.5] { waiting.push_back((weight, h.scale(weight).sum())); }
    while let Some((_, loss)) = waiting.pop_front() { loss.backward(); }
}
fn reject_a_heap_of_pairs() {
    let h = model().forward(x().trace());
    let mut heap = vec![];
    for (number, loss) in [h.sum(), h.mean()].into_iter().enumerate() { heap.push((number, loss)); }
    while let Some((_, loss)) = heap.pop() { loss.backward(); }
}
fn reject_a_default_dictionary_of_queues() {
    let h = model().forward(x().trace());
    let mut window: HashMap<&str, VecDeque<Taped>> = HashMap::new();
    window.entry("a").or_default().push_back(h.sum());
    window.entry("a").or_default().push_back(h.mean());
    while let Some(loss) = window.get_mut("a").unwrap().pop_front() { loss.backward(); }
}
fn reject_overlapping_pairs() {
    let losses = (new_loss(), new_loss(), new_loss());
    for (first, second) in [(losses.0, losses.1), (losses.1, losses.2)] { first.add(second).backward(); }
}
fn reject_an_unzipped_table() {
    let h = model().forward(x().trace());
    let table = vec![(1.0, h.sum()), (0.5, h.mean())];
    let (_, losses): (Vec<f32>, Vec<Taped>) = table.into_iter().unzip();
    for loss in losses { loss.backward(); }
}
fn reject_filtered_siblings() {
    let h = model().forward(x().trace());
    let losses = vec![Some(h.sum()), None, Some(h.mean())];
    for loss in losses.into_iter().flatten() { loss.backward(); }
}
fn reject_partials_of_one_loss() {
    let loss = new_loss();
    let runs: Vec<Box<dyn FnOnce()>> = vec![
        Box::new(move || { loss.scale(1.0).backward(); }),
        Box::new(move || { loss.scale(0.5).backward(); }),
    ];
    for run in runs { run(); }
}
fn reject_a_generator_after_backward() {
    let loss = new_loss();
    let losses = (0..2).map(move |_| loss);
    for loss in losses { loss.backward(); }
}
fn reject_a_stack_that_steps_at_its_end() {
    let loss = new_loss();
    let mut stack: Vec<Box<dyn FnOnce()>> = vec![];
    stack.push(Box::new(move || { loss.backward(); }));
    loss.backward();
    for run in stack { run(); }
}
fn reject_a_stack_of_siblings() {
    let h = model().forward(x().trace());
    let mut stack: Vec<Box<dyn FnOnce()>> = vec![];
    for weight in [1.0, 0.5] { let loss = h.scale(weight).sum(); stack.push(Box::new(move || { loss.backward(); })); }
    for run in stack { run(); }
}
fn reject_a_context_manager_on_a_stack() {
    stepping(new_loss(), |loss| { (*loss).backward(); });
}
fn reject_a_loss_after_its_context_manager() {
    let loss = new_loss();
    stepping(loss, |_| ());
    loss.scale(2.0);
}
fn reject_backward_before_the_block_ends() {
    stepping(new_loss(), |loss| { (*loss).backward(); });
}
fn reject_the_rows_of_a_consumed_tensor() {
    let h = model().forward(x().trace());
    h.sum().backward();
    for number in 0..3 { h.row(number); }
}
fn accept_reads_of_a_consumed_tensor() {
    let h = model().forward(x().trace());
    let (first, number) = (h.detach(), h.item());
    h.sum().backward();
}
fn accept_callbacks_that_only_read() {
    let printing = |loss: &Taped| { loss.item(); };
    for _ in 0..2 { let loss = new_loss(); printing(&loss); Stepping.on_loss(loss); }
}
fn accept_the_value_of_an_exception() {
    let loss = new_loss();
    let number = loss.item();
    loss.backward();
    let failed: Result<(), f32> = Err(number);
    if let Err(value) = failed { assert!(value == value); }
}
fn accept_a_loss_that_was_not_used_before_the_exception() {
    let train = |fails: bool| -> Result<(), LossError> {
        let loss = new_loss();
        if fails { return Err(LossError { loss }); }
        loss.backward();
        Ok(())
    };
    for fails in [false, true] { if let Err(error) = train(fails) { error.loss.backward(); } }
}
fn accept_recursion() {
    backward_all(vec![new_loss(), new_loss()]);
    visit(Tree { loss: new_loss(), children: vec![Tree { loss: new_loss(), children: vec![] }] });
}
fn accept_a_recursive_sum() {
    fn total(mut losses: Vec<Taped>) -> Taped {
        let first = losses.remove(0);
        if losses.is_empty() { first } else { first.add(total(losses)) }
    }
    let h = model().forward(x().trace());
    total(vec![h.sum(), h.mean()]).backward();
}
fn accept_a_default_dictionary() {
    let mut groups: HashMap<usize, Vec<Taped>> = HashMap::new();
    for number in 0..4 { groups.entry(number % 2).or_default().push(new_loss()); }
    for losses in groups.into_values() { losses.into_iter().reduce(Taped::add).unwrap().backward(); }
}
fn accept_a_default_that_is_removed() {
    let mut cache: HashMap<&str, Taped> = HashMap::new();
    for _ in 0..2 { cache.entry("loss").or_insert_with(new_loss); cache.remove("loss").unwrap().backward(); }
}
fn accept_a_record_that_is_replaced() {
    let mut node = Tree { loss: new_loss(), children: vec![] };
    for _ in 0..3 { node.loss.backward(); node = Tree { loss: new_loss(), children: vec![] }; }
}
fn accept_pairs_of_losses() {
    for (first, second) in vec![new_loss(), new_loss()].into_iter().zip(vec![new_loss(), new_loss()]) {
        first.add(second).backward();
    }
}
fn accept_a_sum_by_reduce() {
    let h = model().forward(x().trace());
    [h.sum(), h.mean()].into_iter().reduce(Taped::add).unwrap().backward();
}
fn accept_losses_made_by_map() {
    for loss in [x(), x().scale(2.0)].iter().map(|batch| model().forward(batch.trace()).sum()) { loss.backward(); }
}
fn accept_partials_of_their_own_losses() {
    let runs: Vec<Box<dyn FnOnce() -> Grads>> = (0..3)
        .map(|_| { let loss = new_loss(); Box::new(move || loss.backward()) as Box<dyn FnOnce() -> Grads> })
        .collect();
    for run in runs { run(); }
}
fn accept_an_endless_generator() {
    for loss in std::iter::repeat_with(new_loss).take(2) { loss.backward(); }
}
fn accept_a_stack_of_losses() {
    let mut stack: Vec<Taped> = vec![];
    for _ in 0..2 { let loss = new_loss(); loss.item(); stack.push(loss); }
    for loss in stack { loss.backward(); }
}
fn accept_ops_inside_a_context_manager() {
    stepping(new_loss(), |first| stepping(new_loss(), |second| { first.scale(2.0); second.scale(2.0); }));
}
fn accept_objects_that_are_renewed() {
    let mut nodes = vec![new_loss(), new_loss()];
    for _ in 0..2 {
        for loss in nodes { loss.backward(); }
        nodes = vec![new_loss(), new_loss()];
    }
}
