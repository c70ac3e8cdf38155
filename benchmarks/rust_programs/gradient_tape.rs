fn reject_execute_twice() {
    let mut tape = Tape::new();
    tape.add_backward_op(1);
    tape.execute();
    tape.execute();
}
fn reject_an_op_after_execute() {
    let mut tape = Tape::new();
    tape.execute();
    tape.add_backward_op(1);
}
fn reject_an_append_of_an_executed_tape() {
    let (mut first, second) = (Tape::new(), Tape::new());
    second.execute();
    first.append(second);
}
fn reject_an_append_to_an_executed_tape() {
    let (mut first, second) = (Tape::new(), Tape::new());
    first.execute();
    first.append(second);
}
fn reject_backward_after_execute() {
    let loss = x().trace().sum();
    let (plain, tape) = loss.split_tape();
    tape.execute();
    loss.backward();
}
fn reject_execute_after_backward() {
    let loss = x().trace().sum();
    let (plain, tape) = loss.split_tape();
    loss.backward();
    tape.execute();
}
fn reject_a_tape_put_on_after_backward() {
    let (plain, tape) = x().trace().split_tape();
    tape.put(plain.clone()).sum().backward();
    tape.put(plain).scale(2.0).sum();
}
fn reject_a_record_on_a_consumed_tape() {
    let (plain, mut tape) = x().trace().split_tape();
    tape.put(plain).sum().backward();
    tape.add_backward_op(1);
}
fn reject_a_loop_over_execute() {
    let tape = Tape::new();
    for _ in 0..2 { tape.execute(); }
}
fn reject_a_tape_stored_by_a_function() {
    let run = |tape: Tape| tape.execute();
    let tape = Tape::new();
    run(tape);
    run(tape);
}
fn accept_a_tape_for_each_run() {
    for _ in 0..2 { let mut tape = Tape::new(); tape.add_backward_op(1); tape.execute(); }
}
fn accept_tapes_that_are_appended() {
    let (mut first, mut second) = (Tape::new(), Tape::new());
    second.add_backward_op(1);
    first.append(second);
    first.execute();
}
fn accept_a_tape_that_is_read() {
    let tape = Tape::new();
    let count = tape.len();
    tape.execute();
    assert_eq!(count, 0);
}
fn accept_execute_that_retains() {
    let tape = Tape::new();
    let loss = tape.put(x());
    loss.backward_retaining();
    loss.backward();
}
fn accept_an_op_of_the_users() {
    fn negate(a: Taped) -> Taped { let (plain, tape) = a.split_tape(); tape.put(plain.scale(-1.0)) }
    negate(x().trace()).sum().backward();
    negate(x().trace()).sum().backward();
}
fn accept_traced_input_of_a_function() {
    fn run(given: Plain) { given.traced().sum().backward(); }
    run(x().scale(1.0));
    run(x().scale(1.0));
}
