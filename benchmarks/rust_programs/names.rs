fn reject_an_alias_of_a_loss() {
    let loss = model().forward(x().trace()).sum();
    let same = loss;
    loss.backward();
    same.backward();
}
fn reject_a_loss_after_its_alias() {
    let loss = model().forward(x().trace()).sum();
    let same = loss;
    same.backward();
    loss.scale(2.0);
}
fn reject_an_alias_of_an_alias() {
    let a = x().trace();
    let b = a;
    let c = b;
    c.sum().backward();
    a.sum();
}
fn reject_a_chained_assignment() {
    let first = x().trace().sum();
    let second = first;
    first.backward();
    second.backward();
}
fn reject_a_walrus() {
    let loss = x().trace().sum();
    if loss.item() > 0.0 {
        loss.backward();
    }
    loss.backward();
}
fn reject_a_swapped_pair() {
    let (mut first, mut second) = (x().trace().sum(), x().trace().mean());
    (first, second) = (second, first);
    first.backward();
    first.backward();
    second.backward();
}
fn reject_an_alias_chosen_by_a_condition() {
    let (first, second) = (x().trace().sum(), x().trace().mean());
    let chosen = if flag() { first } else { second };
    chosen.backward();
    first.backward();
}
fn reject_an_alias_of_one_branch() {
    let loss = x().trace().sum();
    let other = if flag() { loss } else { x().trace().mean() };
    loss.backward();
    other.backward();
}
fn reject_a_default_by_or() {
    let kept: Option<Taped> = None;
    let loss = x().trace().sum();
    let used = match kept { Some(one) => one, None => loss };
    used.backward();
    loss.backward();
}
fn reject_a_tape_that_was_taken_off() {
    let (plain, tape) = x().trace().split_tape();
    let a = tape.put(plain.clone());
    a.sum().backward();
    tape.put(plain).sum();
}
fn reject_two_tensors_of_one_tape() {
    let (plain, tape) = x().trace().split_tape();
    let (first, second) = (tape.put(plain.clone()), tape.put(plain.scale(2.0)));
    first.sum().backward();
    second.sum().backward();
}
fn reject_a_bound_method() {
    let loss = x().trace().sum();
    let run = move || loss.backward();
    run();
    run();
}
fn reject_a_loss_after_its_bound_method() {
    let loss = x().trace().sum();
    let run = || loss.backward();
    run();
    loss.backward();
}
fn reject_an_alias_behind_any() {
    let loss = x().trace().sum();
    let held: Box<dyn std::any::Any> = Box::new(loss);
    loss.backward();
}
fn reject_a_declared_alias() {
    let loss: Taped = x().trace().sum();
    let other: Taped = loss;
    loss.backward();
    other.backward();
}
fn accept_a_name_that_is_bound_again() {
    let mut loss = x().trace().sum();
    loss.backward();
    loss = x().trace().sum();
    loss.backward();
}
fn accept_an_alias_that_is_bound_again() {
    let loss = x().trace().sum();
    let mut other = loss;
    other = x().trace().mean();
    loss.backward();
    other.backward();
}
fn accept_a_swap() {
    let (mut first, mut second) = (x().trace().sum(), x().trace().mean());
    (first, second) = (second, first);
    first.backward();
    second.backward();
}
fn accept_a_deleted_name() {
    let loss = x().trace().sum();
    let other = &loss;
    loss.backward();
}
fn accept_an_empty_tape() {
    let loss = x().trace().sum();
    let other = loss.with_empty_tape();
    loss.backward();
    other.backward();
}
fn accept_a_branch_of_its_own() {
    let loss = x().trace().sum();
    if flag() {
        loss.backward();
    } else {
        loss.scale(2.0).backward();
    }
}
