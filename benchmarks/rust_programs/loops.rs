fn leave() -> ! { std::process::exit(0) }
fn reject_an_input_traced_before_the_loop() {
    let mut opt = optimizer();
    let a = x().trace();
    for _ in 0..2 { opt.step(model().forward(a).sum().backward()); }
}
fn reject_a_loss_computed_before_the_loop() {
    let loss = model().forward(x().trace()).sum();
    for _ in 0..2 { loss.backward(); }
}
fn reject_an_input_traced_before_a_while_loop() {
    let (a, mut count) = (x().trace(), 0);
    while count < 2 { model().forward(a).sum().backward(); count += 1; }
}
fn reject_a_trunk_outside_the_inner_loop() {
    for _ in 0..2 {
        let h = model().forward(x().trace());
        for row in 0..3 { h.row(row).sum().backward(); }
    }
}
fn reject_a_loss_after_the_loop() {
    let loss = model().forward(x().trace()).sum();
    for row in 0..3 { if row == 1 { loss.backward(); break; } }
    loss.scale(2.0);
}
fn reject_a_loss_that_is_traced_again_sometimes() {
    let mut loss = model().forward(x().trace()).sum();
    for number in 0..3 {
        if number == 2 { loss = model().forward(x().trace()).sum(); }
        loss.backward();
    }
}
fn reject_a_running_total() {
    let mut total = x().trace().sum();
    for _ in 0..2 {
        total = total.add(model().forward(x().trace()).sum());
        total.backward();
    }
}
fn reject_a_state_that_is_carried_over() {
    let mut h = x().trace();
    for _ in 0..2 { h = h.tanh(); h.sum().backward(); }
}
fn reject_a_second_loss_after_continue() {
    let a = x().trace();
    for number in 0..3 { if number == 0 { continue; } a.sum().backward(); }
}
fn reject_a_loss_in_a_comprehension() {
    let a = x().trace();
    let counts: Vec<usize> = (0..2).map(|k| a.scale(k as f32).sum().backward().len()).collect();
}
fn checked(value: f32) -> Result<(), String> { Ok(()) }
fn reject_a_loss_after_a_handler() {
    let loss = x().trace().sum();
    if checked(loss.backward().len() as f32).is_err() { return; }
    loss.backward();
}
fn reject_a_second_try() {
    let loss = x().trace().sum();
    if checked(loss.backward().len() as f32).is_err() { loss.backward(); }
}
fn reject_a_loss_after_a_context_manager() {
    let loss = x().trace().sum();
    { loss.backward(); }
    loss.backward();
}
fn reject_a_loss_after_suppressed_errors() {
    let loss = x().trace().sum();
    let _ = checked(loss.backward().len() as f32);
    loss.scale(2.0);
}
fn reject_a_loss_after_a_match() {
    let loss = x().trace().sum();
    match way() { 1 => { loss.backward(); } _ => {} }
    loss.backward();
}
fn reject_a_capture_of_a_match() {
    let a = x().trace();
    match (a.sum(), a.mean()) { (first, second) => { first.backward(); second.backward(); } }
}
fn reject_a_loss_after_a_branch_that_may_return() {
    let (loss, early) = (x().trace().sum(), flag());
    if !early { loss.backward(); }
    if early { return; }
    loss.backward();
}
fn reject_a_conditional_expression() {
    let loss = x().trace().sum();
    let _ = if flag() { loss.backward().len() } else { 0 };
    loss.backward();
}
fn reject_a_short_circuit() {
    let loss = x().trace().sum();
    let _ = flag() && loss.backward().len() > 0;
    loss.backward();
}
fn reject_a_finally_block() {
    let loss = x().trace().sum();
    let _ = checked(loss.backward().len() as f32);
    loss.backward();
}
fn accept_a_trace_in_each_iteration() {
    let mut opt = optimizer();
    for _ in 0..2 { opt.step(model().forward(x().trace()).sum().backward()); }
}
fn accept_the_previous_loss() {
    let mut previous: Option<Taped> = None;
    for _ in 0..3 {
        let current = model().forward(x().trace()).sum();
        if let Some(one) = previous { one.backward(); }
        previous = Some(current);
    }
}
fn accept_a_break_after_backward() {
    let loss = model().forward(x().trace()).sum();
    for _ in 0..3 { loss.backward(); break; }
}
fn accept_a_branch_that_never_returns() {
    let loss = x().trace().sum();
    if way() == 1 { loss.backward(); leave(); }
    loss.backward();
}
fn accept_a_state_that_is_detached() {
    let mut h = x();
    for _ in 0..3 {
        let out = h.trace().tanh();
        h = out.detach();
        out.sum().backward();
    }
}
fn accept_a_loss_renewed_at_the_end() {
    let mut loss = model().forward(x().trace()).sum();
    for _ in 0..3 { loss.backward(); loss = model().forward(x().trace()).sum(); }
}
fn accept_either_branch() {
    let loss = x().trace().sum();
    match way() { 1 => { loss.backward(); } _ => { loss.scale(2.0).backward(); } }
}
fn accept_a_handler_that_traces_again() {
    let loss = x().trace().sum();
    if checked(loss.backward().len() as f32).is_err() { let loss = x().trace().sum(); loss.backward(); }
}
fn accept_a_context_manager_with_a_name() {
    for _ in 0..2 { let name = "step"; let loss = model().forward(x().trace()).sum(); loss.backward(); }
}
fn accept_nested_loops() {
    for row in 0..2 { for column in 0..2 { model().forward(x().trace()).row(row).row(column).backward(); } }
}
