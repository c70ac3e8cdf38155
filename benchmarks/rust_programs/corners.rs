fn rotated(a: Taped, b: Taped, c: Taped, left: usize) {
    if left == 0 { a.backward(); return; }
    rotated(b, c, a, left - 1);
}
fn at_the_end(loss: Taped, n: usize) {
    if n == 1 { loss.backward(); return; }
    loss.item();
    at_the_end(loss, n - 1);
}
fn halved(loss: Taped, n: usize) -> Grads {
    if n == 1 { return loss.backward(); }
    halved(loss.scale(0.5), n - 1)
}
fn unless_last(loss: Taped, n: usize) -> Option<Taped> {
    if n == 1 { return Some(loss); }
    loss.backward();
    unless_last(new_loss(), n - 1);
    None
}
fn reject_the_third_level_of_a_recursion() {
    let (a, b, c) = (new_loss(), new_loss(), new_loss());
    rotated(a, b, c, 2);
    c.backward();
}
fn reject_a_loss_after_the_base_case() {
    let loss = new_loss();
    at_the_end(loss, 3);
    loss.backward();
}
fn accept_a_base_case_that_consumes() {
    at_the_end(new_loss(), 1);
    at_the_end(new_loss(), 3);
    halved(new_loss(), 3);
    unless_last(new_loss(), 3);
}
fn accept_the_base_case_alone() {
    let loss = new_loss();
    unless_last(loss, 1);
    loss.backward();
}
fn guarded_by(loss: Taped, body: impl FnOnce() -> Result<(), ()>) { if body().is_err() { loss.backward(); } }
fn finally_by(loss: Taped, body: impl FnOnce() -> Result<(), ()>) { body().ok(); loss.backward(); }
fn reject_a_manager_that_steps_on_errors() {
    let loss = new_loss();
    guarded_by(loss, || Err(()));
    loss.backward();
}
fn reject_a_manager_that_steps_in_its_finally() {
    let loss = new_loss();
    finally_by(loss, || Err(()));
    loss.backward();
}
fn reject_a_block_that_steps_before_its_manager() {
    let loss = new_loss();
    guarded_by(loss, || { loss.backward(); Err(()) });
}
fn accept_a_manager_that_steps_on_errors() {
    let mut loss = new_loss();
    guarded_by(loss, || Err(()));
    loss = new_loss();
    loss.backward();
}
fn accept_a_manager_that_steps_unless_it_fails() {
    let loss = new_loss();
    loss.item();
    if flag() { loss.backward(); } else { loss.item(); }
}
fn accept_a_manager_that_renews() {
    let mut losses = vec![new_loss()];
    let body = |losses: &mut Vec<Taped>| -> Result<(), ()> { losses.remove(0).backward(); Err(()) };
    if body(&mut losses).is_err() { losses = vec![new_loss()]; }
    losses.remove(0).backward();
}
fn reject_a_cycle() {
    let losses = [new_loss(), new_loss()];
    for loss in losses.iter().cycle().take(5) { (*loss).backward(); }
}
fn reject_a_cycle_beside_batches() {
    let losses = [new_loss(), new_loss(), new_loss()];
    for (factor, loss) in [1.0, 2.0, 3.0, 4.0].into_iter().zip(losses.iter().cycle()) { loss.scale(factor).backward(); }
}
fn accept_a_cycle_of_functions() {
    let functions: [fn() -> Taped; 2] = [new_loss, || new_loss().scale(2.0)];
    for make in functions.iter().cycle().take(5) { make().backward(); }
}
fn accept_each_of_a_cycle_once() {
    let mut losses = [new_loss(), new_loss()].into_iter();
    let (first, second) = (losses.next().unwrap(), losses.next().unwrap());
    first.add(second).backward();
}
fn reject_a_weak_reference() {
    let loss = std::rc::Rc::new(new_loss());
    let reference = std::rc::Rc::downgrade(&loss);
    let referent = reference.upgrade().unwrap();
    (*referent).backward();
    (*loss).backward();
}
fn reject_a_weak_reference_to_an_object() {
    let held = std::rc::Rc::new(Fluent { loss: new_loss() });
    let reference = std::rc::Rc::downgrade(&held);
    held.loss.backward();
    reference.upgrade().unwrap().loss.backward();
}
fn accept_a_weak_reference() {
    let held = std::rc::Rc::new(std::cell::RefCell::new(Some(new_loss())));
    let reference = std::rc::Rc::downgrade(&held);
    held.take().unwrap().backward();
    held.replace(Some(new_loss()));
    reference.upgrade().unwrap().take().unwrap().backward();
}
fn read_only(loss: &Taped) { loss.item(); }
fn reject_functions_by_position() {
    let functions: [fn(Taped); 2] = [use_up, use_up];
    let loss = new_loss();
    for function in functions { function(loss); }
}
fn reject_functions_by_name() {
    let functions: HashMap<&str, fn(Taped)> = HashMap::from([("first", use_up as fn(Taped)), ("second", use_up)]);
    let loss = new_loss();
    for function in functions.values() { function(loss); }
}
fn reject_hooks_by_name() {
    let (before, after): (fn(Taped), fn(Taped)) = (use_up, use_up);
    let loss = new_loss();
    before(loss);
    after(loss);
}
fn reject_functions_in_a_starred_list() {
    let functions: Vec<fn(Taped)> = vec![use_up, use_up];
    let loss = new_loss();
    for function in &functions { function(loss); }
}
fn reject_functions_in_a_starred_dictionary() {
    let hooks: HashMap<&str, fn(Taped)> = HashMap::from([("first", use_up as fn(Taped)), ("second", use_up)]);
    let loss = new_loss();
    for hook in hooks.values() { hook(loss); }
}
fn reject_functions_that_are_passed_on() {
    let call_hook = |loss: Taped, before: fn(Taped), after: fn(Taped)| { before(loss); after(loss); };
    call_hook(new_loss(), use_up, use_up);
}
fn passed_on(function: fn(Taped), loss: Taped) { function(loss); }
fn reject_a_loss_after_it_was_passed_on() {
    let loss = new_loss();
    passed_on(use_up, loss);
    use_up(loss);
}
fn accept_functions_by_position() {
    let (first, last): (fn(&Taped), fn(Taped)) = (read_only, use_up);
    let loss = new_loss();
    first(&loss);
    first(&loss);
    last(loss);
}
fn accept_functions_by_name() {
    let (first, second): (fn(&Taped), fn(Taped)) = (read_only, use_up);
    let loss = new_loss();
    first(&loss);
    second(loss);
}
fn accept_hooks_that_are_passed_on() {
    let call_hook = |loss: Taped, before: fn(&Taped), after: fn(Taped)| { before(&loss); after(loss); };
    call_hook(new_loss(), read_only, use_up);
}
