fn step(loss: Taped) -> Grads { loss.backward() }
fn outer(loss: Taped) -> Grads { step(loss) }
fn step_of_double(loss: Taped) -> f32 { let doubled = loss.scale(2.0); let value = doubled.item(); doubled.backward(); value }
fn maybe_step(loss: Taped, run: bool) { if run { loss.backward(); } }
fn double(loss: Taped) -> Taped { loss.scale(2.0) }
fn pair(loss: Taped) -> (Taped, Taped) { let other = loss.with_empty_tape(); (loss.scale(2.0), other.scale(3.0)) }
fn step_all(losses: Vec<Taped>) { for loss in losses { loss.backward(); } }
fn apply(function: fn(Taped) -> Grads, loss: Taped) -> Grads { function(loss) }
fn value(loss: &Taped) -> f32 { loss.item() }
fn make() -> Taped { model().forward(x().trace()).sum() }
fn renewed(loss: Taped) -> Taped { loss.backward(); make() }
fn recursive(loss: Taped, depth: i32) { if depth > 0 { recursive(loss, depth - 1) } else { loss.backward(); } }
fn reject_a_loss_after_a_function_consumed_it() {
    let loss = make();
    step(loss);
    loss.backward();
}
fn reject_a_function_called_twice() {
    let loss = make();
    step(loss);
    step(loss);
}
fn reject_a_function_after_backward() {
    let loss = make();
    loss.backward();
    step(loss);
}
fn reject_a_function_of_a_function() {
    let loss = make();
    outer(loss);
    outer(loss);
}
fn reject_a_function_that_consumes_the_double() {
    let loss = make();
    step_of_double(loss);
    loss.backward();
}
fn reject_a_function_that_may_consume() {
    let loss = make();
    maybe_step(loss, true);
    loss.backward();
}
fn reject_what_a_function_shares() {
    let loss = make();
    let doubled = double(loss);
    doubled.backward();
    loss.backward();
}
fn reject_one_of_a_pair() {
    let loss = make();
    let (first, second) = (loss.scale(2.0), loss.scale(3.0));
    first.backward();
    second.backward();
}
fn reject_a_keyword_argument() {
    let loss = make();
    step_of_double(loss);
    step_of_double(loss);
}
fn reject_two_arguments_of_one_tape() {
    let loss = make();
    step_all(vec![loss, loss.scale(2.0)]);
}
fn reject_a_declared_parameter() {
    let loss = make();
    step(loss);
    loss.scale(2.0);
}
fn reject_a_function_passed_on() {
    let loss = make();
    apply(step, loss);
    apply(step, loss);
}
fn reject_a_recursive_function() {
    let loss = make();
    recursive(loss, 1);
    loss.backward();
}
fn reject_the_old_loss_after_a_new_one() {
    let loss = make();
    let fresh = renewed(loss);
    fresh.backward();
    loss.backward();
}
fn reject_a_sibling_after_a_function() {
    let h = model().forward(x().trace());
    let (first, second) = (h.sum(), h.mean());
    step(first);
    step(second);
}
fn reject_an_expression_as_an_argument() {
    let h = model().forward(x().trace());
    step(h.sum());
    step(h.mean());
}
fn reject_an_argument_that_is_consumed_in_the_call() {
    let loss = make();
    let both = (step(loss), step(loss));
}
fn reject_starred_arguments() {
    let losses = vec![make(), make()];
    step_all(losses);
    step_all(losses);
}
fn accept_a_loss_for_each_call() {
    step(make());
    step(make());
}
fn accept_a_function_that_reads() {
    let loss = make();
    let before = value(&loss);
    loss.backward();
    assert_eq!(before, before);
}
fn accept_what_a_function_returns() {
    let mut loss = make();
    loss = renewed(loss);
    loss = renewed(loss);
    loss.backward();
}
fn accept_losses_of_their_own() {
    step_all(vec![make(), make()]);
}
fn accept_a_function_passed_on() {
    apply(step, make());
    apply(outer, make());
}
fn accept_a_pair_that_is_added() {
    let (first, second) = pair(make());
    first.add(second).backward();
}
fn accept_a_generic_function_without_a_tape() {
    let plain = x().scale(2.0);
    double(x().trace()).times(&plain).sum().backward();
    double(x().trace()).times(&plain).sum().backward();
}
fn accept_a_shape() {
    let rows = model().forward(x().trace());
    let count = rows.item();
    rows.sum().backward();
    assert_eq!(count, 1.0);
}
