fn reject_a_gan_that_uses_its_fakes_twice() {
    let (generator, critic, mut opt) = (model(), model(), optimizer());
    let fake = generator.forward(x().trace());
    opt.step(critic.forward(fake).mean().backward());
    opt.step(critic.forward(fake).mean().backward());
}
fn reject_a_gan_whose_noise_is_traced_once() {
    let (generator, critic, mut opt) = (model(), model(), optimizer());
    let noise = x().trace();
    for _ in 0..2 { opt.step(critic.forward(generator.forward(noise)).mean().backward()); }
}
fn reject_a_siamese_network_with_two_losses() {
    let mut opt = optimizer();
    let (left, right) = (model().forward(x().trace()), model().forward(x().trace()));
    let near = left.sub(right).square().sum();
    let norm = left.square().sum();
    opt.step(near.backward());
    opt.step(norm.backward());
}
fn reject_gradient_surgery_over_three_losses() {
    let h = model().forward(x().trace());
    let losses = [h.sum(), h.mean(), h.square().sum()];
    let grads: Vec<Grads> = losses.into_iter().map(|loss| loss.backward()).collect();
}
fn reject_a_multitask_loop() {
    let h = model().forward(x().trace());
    for weight in [1.0, 0.5] { h.scale(weight).sum().backward(); }
}
fn reject_truncated_backpropagation_without_detach() {
    let mut state = model().forward(x().trace());
    for _ in 0..2 { state = state.tanh(); state.sum().backward(); }
}
fn reject_a_residual_loss_after_the_data_loss() {
    let mut opt = optimizer();
    let u = model().forward(x().trace());
    let data = u.mse(&y());
    let residual = u.square().mean();
    opt.step(data.backward());
    opt.step(residual.backward());
}
fn reject_a_saliency_map_after_the_step() {
    let mut opt = optimizer();
    let logits = model().forward(x().trace());
    opt.step(logits.sum().backward());
    logits.row(0).backward();
}
fn reject_distillation_of_a_taped_student() {
    let student = model().forward(x().trace());
    let soft = student.mse(&y());
    let hard = student.sum();
    soft.backward();
    hard.add(student.mean()).backward();
}
fn reject_a_callback_that_steps() {
    let mut opt = optimizer();
    let mut on_batch = |loss: Taped| opt.step(loss.backward());
    let loss = model().forward(x().trace()).sum();
    on_batch(loss);
    on_batch(loss);
}
fn reject_callbacks_that_all_step() {
    let callbacks: Vec<fn(Taped) -> Grads> = vec![|loss| loss.backward(), |loss| loss.scale(0.1).backward()];
    let loss = model().forward(x().trace()).sum();
    for callback in callbacks { callback(loss); }
}
fn reject_a_closure_for_the_optimizer() {
    let mut opt = optimizer();
    let loss = model().forward(x().trace()).sum();
    let closure = || loss.backward();
    for _ in 0..2 { opt.step(closure()); }
}
fn reject_a_loss_that_is_returned_after_backward() {
    fn train() -> Taped { let loss = model().forward(x().trace()).sum(); loss.backward(); loss }
    train();
}
fn reject_a_best_loss_that_was_consumed() {
    let mut best = model().forward(x().trace()).sum();
    for _ in 0..3 {
        let loss = model().forward(x().trace()).sum();
        loss.backward();
        if loss.item() < best.item() { best = loss; }
    }
    best.scale(2.0);
}
fn reject_a_loss_accumulated_over_batches() {
    let mut opt = optimizer();
    let mut total = model().forward(x().trace()).sum();
    for _ in 0..3 { total = total.add(model().forward(x().trace()).sum()); opt.step(total.backward()); }
}
fn reject_a_warm_up_that_consumes() {
    let a = x().trace();
    let warm_up = || { model().forward(a).sum().backward(); };
    warm_up();
    model().forward(a).sum().backward();
}
fn reject_an_auxiliary_head() {
    let (head, mut opt) = (model(), optimizer());
    let h = model().forward(x().trace());
    let (main, auxiliary) = (head.forward(h).sum(), h.mean());
    opt.step(main.backward());
    opt.step(auxiliary.backward());
}
fn reject_an_actor_and_a_critic() {
    let features = model().forward(x().trace());
    let mut losses = HashMap::from([("actor", features.sum()), ("critic", features.square().mean())]);
    losses.remove("actor").unwrap().backward();
    losses.remove("critic").unwrap().backward();
}
fn reject_contrastive_pairs() {
    let anchor = model().forward(x().trace());
    for scale in [0.5, 2.0] { anchor.mul(model().forward(x().scale(scale).trace())).sum().backward(); }
}
fn reject_a_second_epoch_over_stored_losses() {
    let stored: Vec<Taped> = (0..3).map(|_| model().forward(x().trace()).sum()).collect();
    for _ in 0..2 { for loss in stored { loss.backward(); } }
}
fn reject_a_schedule_of_weights() {
    let mut opt = optimizer();
    let loss = model().forward(x().trace()).sum();
    for weight in [1.0, 0.1, 0.01] { opt.step(loss.scale(weight).backward()); }
}
fn accept_a_gan() {
    let (generator, critic, mut opt) = (model(), model(), optimizer());
    for _ in 0..2 {
        let fake = generator.infer(&x());
        opt.step(critic.forward(fake.trace()).mean().sub(critic.forward(x().trace()).mean()).backward());
        opt.step(critic.forward(generator.forward(x().trace())).mean().backward());
    }
}
fn accept_a_siamese_network() {
    let mut opt = optimizer();
    for _ in 0..2 {
        let (left, right) = (model().forward(x().trace()), model().forward(x().trace()));
        let (near, norm) = (left.sub(right).square().sum(), left.square().sum());
        opt.step(near.add(norm).backward());
    }
}
fn accept_gradient_surgery_that_retains() {
    let h = model().forward(x().trace());
    let (first, second) = (h.sum(), h.mean());
    let both = [first.backward_retaining(), second.backward()];
}
fn accept_truncated_backpropagation() {
    let (mut state, mut opt) = (y(), optimizer());
    for _ in 0..3 {
        let out = model().forward(x().trace()).times(&state).tanh();
        state = out.detach();
        opt.step(out.sum().backward());
    }
}
fn accept_gradient_accumulation() {
    let mut opt = optimizer();
    let mut grads = model().forward(x().trace()).sum().backward();
    for _ in 0..3 { grads = grads.add(model().forward(x().trace()).sum().backward()); }
    opt.step(grads);
}
fn accept_a_logger() {
    let (mut numbers, mut opt) = (vec![], optimizer());
    for _ in 0..3 {
        let loss = model().forward(x().trace()).sum();
        numbers.push(loss.item());
        opt.step(loss.backward());
    }
}
fn accept_a_best_loss_as_a_number() {
    let mut best = f32::INFINITY;
    for _ in 0..3 {
        let loss = model().forward(x().trace()).sum();
        best = best.min(loss.item());
        loss.backward();
    }
}
fn accept_an_evaluation_between_steps() {
    let mut opt = optimizer();
    for _ in 0..3 { opt.step(model().forward(x().trace()).sum().backward()); model().infer(&x()); }
}
fn accept_a_callback_for_each_loss() {
    let mut opt = optimizer();
    let mut on_batch = |loss: Taped| opt.step(loss.backward());
    for _ in 0..3 { on_batch(model().forward(x().trace()).sum()); }
}
fn accept_an_optional_loss() {
    fn train(loss: Option<Taped>) { loss.unwrap_or_else(|| model().forward(x().trace()).sum()).backward(); }
    train(None);
    train(None);
    train(Some(model().forward(x().trace()).mean()));
}
fn accept_an_early_stop() {
    let mut opt = optimizer();
    for _ in 0..3 {
        let loss = model().forward(x().trace()).sum();
        if loss.item() > 1e9 { break; }
        opt.step(loss.backward());
    }
}
fn accept_a_distillation() {
    let (teacher, mut opt) = (model().infer(&x()), optimizer());
    for _ in 0..2 { opt.step(model().forward(x().trace()).mse(&teacher).backward()); }
}
fn accept_a_frozen_critic() {
    let (generator, critic, mut opt) = (model(), model(), optimizer());
    for _ in 0..2 { let fake = generator.forward(x().trace()); opt.step(critic.forward(fake).mean().backward()); }
}
fn accept_a_returned_number() {
    fn train() -> f32 { let loss = model().forward(x().trace()).sum(); let value = loss.item(); loss.backward(); value }
    train();
}
fn accept_losses_of_two_batches() {
    let mut losses: Vec<Taped> = (0..3).map(|_| model().forward(x().trace()).sum()).collect();
    let mut total = losses.remove(0);
    for loss in losses { total = total.add(loss); }
    total.backward();
}
fn reject_a_state_of_a_layer_that_is_carried_over() {
    let mut state = x().trace();
    for _ in 0..2 { let out = model().forward(x().trace()).add(state); out.backward(); state = out; }
}
fn accept_a_state_of_a_layer_that_is_detached() {
    let mut state = x();
    for _ in 0..2 { let out = model().forward(x().trace()).times(&state); state = out.detach(); out.backward(); }
}
