fn step_by(loss: Taped, scale: f32) -> Grads { loss.scale(scale).backward() }
fn call<F: FnOnce() -> Grads>(thunk: F) { thunk(); }
fn call_twice<F: Fn() -> Grads>(thunk: F) { thunk(); thunk(); }
fn reject_a_closure_called_twice() {
    let loss = x().trace().sum();
    let run = || loss.backward();
    run();
    run();
}
fn reject_a_loss_after_its_closure() {
    let loss = x().trace().sum();
    let run = || { loss.backward(); };
    run();
    loss.backward();
}
fn reject_a_closure_after_backward() {
    let loss = x().trace().sum();
    let run = || loss.scale(2.0);
    loss.backward();
    run();
}
fn reject_a_mistake_inside_a_closure() {
    let run = || {
        let loss = x().trace().sum();
        loss.backward();
        loss.backward();
    };
    run();
}
fn reject_a_lambda_called_twice() {
    let loss = x().trace().sum();
    let run = || loss.backward();
    run();
    run();
}
fn reject_a_thunk_that_is_run_twice() {
    let loss = x().trace().sum();
    call_twice(|| loss.backward());
}
fn reject_two_calls_of_a_thunk() {
    let loss = x().trace().sum();
    call(|| loss.backward());
    call(|| loss.backward());
}
fn reject_a_bound_method_as_a_thunk() {
    let loss = x().trace().sum();
    call(|| loss.backward());
    call(|| loss.backward());
}
fn reject_a_partial_called_twice() {
    let loss = x().trace().sum();
    let run = move || step_by(loss, 1.0);
    run();
    run();
}
fn reject_a_partial_after_backward() {
    let loss = x().trace().sum();
    let run = |loss: Taped| step_by(loss, 2.0);
    loss.backward();
    run(loss);
}
fn reject_a_loss_after_its_thread() {
    let loss = x().trace().sum();
    let handle = thread::spawn(move || { step_by(loss, 1.0); });
    handle.join().unwrap();
    loss.backward();
}
fn reject_a_loss_after_a_pool() {
    let loss = x().trace().sum();
    thread::scope(|scope| { scope.spawn(move || { step_by(loss, 1.0); }); });
    loss.backward();
}
fn reject_a_loss_after_a_map() {
    let losses = vec![x().trace().sum(), x().trace().mean()];
    let grads: Vec<Grads> = losses.into_iter().map(|loss| step_by(loss, 1.0)).collect();
    losses[0].item();
}
fn reject_a_generator_that_consumes() {
    let loss = x().trace().sum();
    let steps = std::iter::once_with(move || loss.backward());
    assert_eq!(steps.count(), 1);
    loss.backward();
}
fn reject_one_trunk_from_a_generator() {
    let h = model().forward(x().trace());
    for loss in [h.sum(), h.mean()] {
        loss.backward();
    }
}
fn reject_a_list_of_thunks() {
    let loss = x().trace().sum();
    let thunks: Vec<Box<dyn FnOnce() -> Grads>> = vec![Box::new(move || loss.backward()), Box::new(move || loss.backward())];
    for run in thunks { run(); }
}
fn reject_a_dictionary_of_thunks() {
    let h = model().forward(x().trace());
    let mut steps: HashMap<&str, Box<dyn FnOnce() -> Grads>> = HashMap::new();
    steps.insert("sum", Box::new(move || h.sum().backward()));
    steps.insert("mean", Box::new(move || h.mean().backward()));
}
fn reject_a_nonlocal_loss() {
    let mut loss = x().trace().sum();
    loss = x().trace().mean();
    loss.backward();
    loss.backward();
}
fn reject_a_factory_of_closures() {
    let stepper = |loss: Taped| move || loss.backward();
    let run = stepper(x().trace().sum());
    run();
    run();
}
fn accept_a_closure_that_traces() {
    let run = || { x().trace().sum().backward(); };
    run();
    run();
}
fn accept_a_closure_that_is_not_called() {
    let loss = x().trace().sum();
    let run = || { loss.backward(); };
    loss.backward();
    let _ = &run;
}
fn accept_a_closure_that_renews() {
    let mut loss = x().trace().sum();
    for _ in 0..2 {
        loss.backward();
        loss = x().trace().sum();
    }
}
fn accept_a_thread_for_each_loss() {
    let threads: Vec<_> = (0..2).map(|_| thread::spawn(|| { step_by(x().trace().sum(), 1.0); })).collect();
    for thread in threads { thread.join().unwrap(); }
}
fn accept_a_partial_for_each_loss() {
    let run = |loss: Taped| step_by(loss, 2.0);
    run(x().trace().sum());
    run(x().trace().sum());
}
fn accept_a_generator_of_forward_passes() {
    let losses = (0..3).map(|_| model().forward(x().trace()).sum());
    for loss in losses { loss.backward(); }
}
fn accept_a_thunk_that_makes_its_loss() {
    call_twice(|| model().forward(x().trace()).sum().backward());
}
fn accept_a_callback_that_only_reads() {
    let loss = x().trace().sum();
    let value = loss.item();
    loss.backward();
    let read = || value;
    read();
}
