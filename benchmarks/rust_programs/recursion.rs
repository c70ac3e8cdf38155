fn use_at_two(loss: &mut Option<Taped>, n: usize) {
    if n > 0 { use_at_two(loss, n - 1); }
    if n == 2 { loss.take().unwrap().backward(); }
}
fn accept_a_level_that_consumes() {
    use_at_two(&mut Some(new_loss()), 3);
}
fn accept_an_unknown_number_of_levels() {
    use_at_two(&mut Some(new_loss()), way());
}
fn accept_levels_that_stop_earlier() {
    let mut loss = Some(new_loss());
    use_at_two(&mut loss, 1);
    loss.unwrap().backward();
}
fn level_or_above(loss: Taped, n: usize) { if n > 2 { level_or_above(loss, n - 1); } else { loss.backward(); } }
fn reject_a_loss_after_a_level_that_consumes() {
    let loss = new_loss();
    level_or_above(loss, 3);
    loss.backward();
}
fn reject_a_level_that_is_reached_twice() {
    let loss = new_loss();
    level_or_above(loss, 2);
    level_or_above(loss, 4);
}
fn use_at_the_last(loss: Taped, n: usize, last: usize) {
    if n < last { use_at_the_last(loss, n + 1, last); } else { loss.backward(); }
}
fn accept_the_last_of_counted_levels() {
    use_at_the_last(new_loss(), 0, 3);
}
fn reject_a_loss_after_the_last_of_counted_levels() {
    let loss = new_loss();
    use_at_the_last(loss, 0, 3);
    loss.backward();
}
fn use_if_even(loss: Taped, n: usize) { if n > 2 { use_if_odd(loss, n - 1); } else { loss.backward(); } }
fn use_if_odd(loss: Taped, n: usize) { use_if_even(loss, n - 1); }
fn accept_functions_that_call_each_other_with_numbers() {
    use_if_even(new_loss(), 4);
}
fn reject_a_loss_after_functions_that_call_each_other() {
    let loss = new_loss();
    use_if_even(loss, 4);
    loss.backward();
}
fn renewed_at_one(loss: Taped, n: usize) -> Taped {
    if n == 0 { return loss; }
    let found = renewed_at_one(loss, n - 1);
    if n == 1 { found.backward(); return new_loss(); }
    found
}
fn accept_a_loss_that_a_level_renews() {
    renewed_at_one(new_loss(), 3).backward();
}
fn reject_a_loss_that_no_level_renews() {
    let loss = new_loss();
    renewed_at_one(loss, 0).backward();
    loss.backward();
}
fn level_1(loss: Taped) { loss.scale(0.5).backward(); }
fn level_2(loss: Taped) { level_1(loss); }
fn level_3(loss: Taped) { level_2(loss); }
fn level_4(loss: Taped) { level_3(loss); }
fn level_5(loss: Taped) { level_4(loss); }
fn level_6(loss: Taped) { level_5(loss); }
fn level_7(loss: Taped) { level_6(loss); }
fn level_8(loss: Taped) { level_7(loss); }
fn reject_a_loss_after_nine_calls_inside_each_other() {
    let loss = new_loss();
    level_8(loss);
    loss.backward();
}
fn accept_a_value_after_nine_calls_inside_each_other() {
    let loss = new_loss();
    let value = loss.detach();
    level_8(loss);
    value.item();
}
fn use_at_the_end(mut losses: Vec<Taped>, n: usize) {
    if n > 0 { use_at_the_end(losses, n - 1); return; }
    losses.remove(0).backward();
}
fn accept_ten_levels() {
    use_at_the_end(vec![new_loss()], 9);
}
fn reject_a_loss_after_ten_levels() {
    let losses = vec![new_loss()];
    use_at_the_end(losses, 9);
    losses[0].backward();
}
