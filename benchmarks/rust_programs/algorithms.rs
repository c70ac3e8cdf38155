struct Transition { log_probability: Taped, reward: f32 }
fn rollout() -> VecDeque<Transition> {
    (0..3).map(|step| Transition { log_probability: model().forward(x().trace()), reward: step as f32 }).collect()
}
fn reject_a_rollout_that_is_replayed() {
    let rollouts = rollout();
    for _ in 0..2 { for one in &rollouts { one.log_probability.sum().scale(-one.reward).backward(); } }
}
fn accept_a_rollout_that_is_used_once() {
    for _ in 0..2 {
        let mut total = new_loss();
        for one in rollout() { total = total.sub(one.log_probability.sum().scale(one.reward)); }
        total.backward();
    }
}
fn reject_ppo_with_one_forward_pass() {
    let new = model().forward(x().trace());
    let old = new.detach();
    for _ in 0..4 { new.times(&old).exp().mean().backward(); }
}
fn accept_ppo_with_a_forward_pass_for_each_epoch() {
    let old = model().infer(&x());
    for _ in 0..4 { model().forward(x().trace()).times(&old).exp().mean().backward(); }
}
fn reject_returns_with_a_tape() {
    let mut values: Vec<Taped> = (0..3).map(|_| new_loss()).collect();
    let mut discounted = values.pop().unwrap();
    for value in values.into_iter().rev() {
        discounted = value.add(discounted.scale(0.9));
        discounted.backward();
    }
}
fn accept_returns_of_numbers() {
    let values: Vec<Taped> = (0..3).map(|_| new_loss()).collect();
    let (mut discounted, mut total) = (0.0, new_loss());
    for value in values.into_iter().rev() {
        discounted = 1.0 + discounted * 0.9;
        total = total.add(value.scale(discounted).square());
    }
    total.backward();
}
fn reject_a_critic_after_its_actor() {
    let features = model().forward(x().trace());
    let value = model().forward(features);
    features.sum().backward();
    value.square().mean().backward();
}
fn accept_a_critic_with_its_actor() {
    let features = model().forward(x().trace());
    let value = model().forward(model().forward(x().trace()));
    features.sum().add(value.square().mean()).backward();
}
fn reject_consistency_with_a_taped_teacher() {
    let inputs = x().trace();
    let (student, target) = (model().forward(inputs), model().forward(inputs));
    student.mse(&y()).backward();
    target.mse(&y()).backward();
}
fn accept_an_averaged_teacher() {
    for _ in 0..3 {
        let target = model().infer(&x());
        model().forward(x().trace()).mse(&target).backward();
    }
}
fn reject_inner_steps_over_one_support_loss() {
    let loss = new_loss();
    let grads: Vec<Grads> = (0..2).map(|_| loss.backward()).collect();
}
fn accept_inner_steps_with_a_pass_each() {
    let grads: Vec<Grads> = (0..2).map(|_| new_loss().backward()).collect();
}
fn reject_tasks_that_are_cycled() {
    let tasks: Vec<Taped> = (0..3).map(|_| new_loss()).collect();
    for task in tasks.iter().cycle().take(5) { (*task).backward(); }
}
fn accept_batches_that_are_cycled() {
    for batch in [x(), y()].iter().cycle().take(5) { model().forward(batch.trace()).sum().backward(); }
}
fn reject_accumulation_that_is_not_reset() {
    let mut total: Option<Taped> = None;
    for number in 1..7 {
        let loss = new_loss();
        total = Some(match total { Some(one) => one.add(loss), None => loss });
        if number % 2 == 0 { total.unwrap().backward(); }
    }
}
fn accept_accumulation_that_is_reset() {
    let mut total: Option<Taped> = None;
    for number in 1..7 {
        let loss = new_loss();
        total = Some(match total { Some(one) => one.add(loss), None => loss });
        if number % 2 == 0 { total.take().unwrap().backward(); }
    }
}
fn accept_accumulation_into_gradients() {
    let mut grads = Grads;
    for _ in 0..3 { grads = grads.add(new_loss().backward()); }
    optimizer().step(grads);
}
fn reject_a_scaled_loss_that_is_tried_again() {
    let (loss, mut scale) = (new_loss(), 8.0);
    loop {
        if loss.scale(scale).backward().len() > 0 { break; }
        scale /= 2.0;
    }
}
fn accept_a_scaled_loss_that_is_computed_again() {
    let mut scale = 8.0;
    for _ in 0..3 {
        if new_loss().scale(scale).backward().len() > 0 { break; }
        scale /= 2.0;
    }
}
struct SharpnessAware;
impl SharpnessAware {
    fn first(&self, loss: Taped) { loss.backward(); }
    fn second(&self, loss: Taped) { loss.backward(); }
    fn step(&self, closure: impl Fn() -> Taped) { self.first(closure()); self.second(closure()); }
}
fn reject_the_second_step_with_the_first_loss() {
    let loss = new_loss();
    SharpnessAware.first(loss);
    SharpnessAware.second(loss);
}
fn reject_a_closure_that_returns_one_loss() {
    let loss = new_loss();
    SharpnessAware.step(move || loss);
}
fn accept_a_closure_that_runs_the_model() { for _ in 0..3 { SharpnessAware.step(|| new_loss()); } }
fn reject_a_pipeline_with_two_losses() {
    let outputs = (0..3).map(|_| model().forward(x().trace()));
    for loss in outputs.flat_map(|output| [output.sum(), output.mean()]) { loss.backward(); }
}
fn accept_a_pipeline_with_one_loss() {
    let outputs = (0..3).map(|_| model().forward(x().trace()));
    for loss in outputs.map(|output| output.square().sum()) { loss.backward(); }
}
fn reject_the_chunks_of_one_output() {
    let output = model().forward(x().trace());
    for chunk in (0..3).map(|index| output.row(index).sum()) { chunk.backward(); }
}
fn reject_a_stream_of_siblings() {
    for _ in 0..3 {
        let output = model().forward(x().trace());
        for loss in [output.sum(), output.square().mean()] { loss.backward(); }
    }
}
fn accept_a_stream_of_batches() { for _ in 0..3 { new_loss().backward(); } }
fn reject_an_async_queue() {
    let mut queue = VecDeque::new();
    let loss = new_loss();
    queue.push_back(loss);
    queue.pop_front().unwrap().backward();
    loss.backward();
}
fn step_later(loss: Taped) { loss.backward(); }
fn reject_a_task_and_a_step() {
    let loss = new_loss();
    let task = step_later(loss);
    task;
    step_later(loss);
}
fn accept_a_task_for_each_batch() { for _ in 0..3 { step_later(new_loss()); } }
fn reject_critic_steps_over_one_fake() {
    let (critic, fake) = (model(), model().forward(x().trace()));
    for _ in 0..5 { critic.forward(fake).mean().backward(); }
    critic.forward(fake).mean().backward();
}
fn accept_critic_steps_over_detached_fakes() {
    let (critic, generator) = (model(), model());
    for _ in 0..5 { critic.forward(generator.infer(&x()).trace()).mean().backward(); }
    critic.forward(generator.forward(x().trace())).mean().backward();
}
struct Bound { reconstruction: Taped, divergence: Taped }
impl Bound { fn total(self, weight: f32) -> Taped { self.reconstruction.add(self.divergence.scale(weight)) } }
fn reject_the_terms_of_a_bound() {
    let code = model().forward(x().trace());
    let bound = Bound { reconstruction: code.mse(&y()), divergence: code.square().mean() };
    for term in [bound.reconstruction, bound.divergence] { term.backward(); }
}
fn accept_the_total_of_a_bound() {
    for weight in [0.0, 0.5, 1.0] {
        Bound { reconstruction: new_loss(), divergence: new_loss() }.total(weight).backward();
    }
}
fn reject_keys_with_a_tape() {
    let mut keys: VecDeque<Taped> = VecDeque::new();
    for _ in 0..3 {
        let query = model().forward(x().trace());
        keys.push_back(query);
        let mut loss = query.sum();
        for key in keys.iter() { loss = loss.add((*key).sum()); }
        loss.backward();
    }
}
fn accept_detached_keys() {
    let mut keys: VecDeque<Plain> = VecDeque::new();
    for _ in 0..3 {
        let query = model().forward(x().trace());
        keys.push_back(query.detach());
        let mut loss = query.sum();
        for key in keys.iter() { loss = loss.times(key); }
        loss.backward();
    }
}
struct Memory { hidden: Taped, steps: usize }
fn reject_a_memory_that_is_carried_over() {
    let mut memory = Memory { hidden: model().forward(x().trace()), steps: 0 };
    for _ in 0..3 {
        memory = Memory { hidden: memory.hidden.tanh(), steps: memory.steps + 1 };
        memory.hidden.sum().backward();
    }
}
fn accept_a_memory_that_is_detached() {
    let mut hidden = model().infer(&x());
    for _ in 0..3 {
        let next = model().forward(x().trace()).times(&hidden);
        hidden = next.detach();
        next.sum().backward();
    }
}
fn reject_a_schedule_of_named_losses() {
    let output = model().forward(x().trace());
    let functions: [(&str, fn(Taped) -> Taped); 2] = [("sum", |h| h.sum()), ("mean", |h| h.mean())];
    let losses: HashMap<&str, Taped> = functions.into_iter().map(|(name, function)| (name, function(output))).collect();
    for (name, weight) in [("sum", 1.0), ("mean", 0.5)] { losses[name].scale(weight).backward(); }
}
fn reject_gradients_of_each_example() {
    let output = model().forward(x().trace());
    let grads: Vec<Grads> = (0..3).map(|index| output.row(index).sum().backward()).collect();
}
fn accept_gradients_of_each_example() {
    let grads: Vec<Grads> = (0..3).map(|_| model().forward(x().trace()).sum().backward()).collect();
}
fn reject_langevin_steps_on_a_tape() {
    let mut sample = x().trace();
    for _ in 0..3 {
        model().forward(sample).sum().backward();
        sample = sample.scale(0.9);
    }
}
fn accept_langevin_steps() {
    let mut sample = x();
    for _ in 0..3 {
        let traced = sample.trace();
        let next = traced.detach();
        model().forward(traced).sum().backward();
        sample = next.scale(0.9);
    }
}
