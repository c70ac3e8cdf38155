struct StepState { loss: Taped, step: usize }
fn reject_a_callback_that_measures_gradients() {
    let state = StepState { loss: new_loss(), step: 0 };
    state.loss.backward();
    let callbacks: [fn(StepState) -> Grads; 1] = [|state| state.loss.backward()];
    for callback in callbacks { callback(state); }
}
fn accept_callbacks_that_log() {
    let callbacks: [fn(&Plain) -> f32; 2] = [|value| value.item(), |value| value.item()];
    for _ in 0..3 {
        let loss = new_loss();
        let value = loss.detach();
        loss.backward();
        for callback in callbacks { callback(&value); }
    }
}
fn reject_a_penalty_after_the_step_of_the_base() {
    let output = model().forward(x().trace());
    output.sum().backward();
    output.square().mean().backward();
}
fn accept_a_penalty_after_a_new_forward_pass() {
    let mut output = model().forward(x().trace());
    output.sum().backward();
    output = model().forward(x().trace());
    output.square().mean().backward();
}
fn reject_a_hook_that_keeps_the_last_output() {
    let mut last: Option<Taped> = None;
    for _ in 0..3 {
        let output = model().forward(x().trace());
        let loss = match last { Some(one) => output.sub(one).square().mean(), None => output.sum() };
        loss.backward();
        last = Some(output);
    }
}
fn accept_a_hook_that_keeps_the_last_values() {
    let mut last: Option<Plain> = None;
    for _ in 0..3 {
        let output = model().forward(x().trace());
        let values = output.detach();
        let loss = match &last { Some(one) => output.mse(one), None => output.sum() };
        loss.backward();
        last = Some(values);
    }
}
struct RunningMean { total: Option<Taped>, count: usize }
impl RunningMean {
    fn update(&mut self, loss: Taped) {
        self.total = Some(match self.total.take() { Some(total) => total.add(loss), None => loss });
        self.count += 1;
    }
}
fn reject_a_metric_that_keeps_tapes() {
    let mut metric = RunningMean { total: None, count: 0 };
    for _ in 0..3 {
        let loss = new_loss();
        metric.update(loss);
        loss.backward();
    }
}
fn accept_a_metric_of_numbers() {
    let mut total = 0.0;
    for _ in 0..3 {
        let loss = new_loss();
        total += loss.item();
        loss.backward();
    }
}
struct HoldsLoss { loss: Taped }
impl HoldsLoss {
    fn finish(self) { self.loss.backward(); }
    fn clip(self) -> Grads { self.loss.backward() }
}
fn reject_a_mixin_and_its_base() {
    let trainer = HoldsLoss { loss: new_loss() };
    trainer.clip();
    trainer.finish();
}
fn accept_a_mixin() { HoldsLoss { loss: new_loss() }.clip(); }
fn reject_a_part_of_a_criterion() {
    let output = model().forward(x().trace());
    let (data, penalty) = (output.sum(), output.square().mean());
    data.add(penalty).backward();
    penalty.backward();
}
fn accept_the_value_of_a_part() {
    let (data, penalty) = (new_loss(), new_loss());
    let value = penalty.detach();
    data.add(penalty).backward();
    value.item();
}
fn stepping_with(body: impl FnOnce(&Taped)) {
    let loss = new_loss();
    body(&loss);
    loss.backward();
}
fn reject_backward_inside_a_step() { stepping_with(|loss| { (*loss).backward(); }); }
fn accept_reads_inside_a_step() { for _ in 0..3 { stepping_with(|loss| { loss.item(); }); } }
struct Timed { function: fn(Taped), calls: usize }
impl Timed { fn call(&mut self, loss: Taped) { self.calls += 1; (self.function)(loss) } }
fn reject_a_timed_step() {
    let mut timed = Timed { function: use_up, calls: 0 };
    let h = model().forward(x().trace());
    timed.call(h.sum());
    timed.call(h.mean());
}
fn accept_a_timed_step() {
    let mut timed = Timed { function: use_up, calls: 0 };
    for _ in 0..3 { timed.call(new_loss()); }
}
fn strategies() -> HashMap<&'static str, fn(Taped)> { HashMap::from([("plain", use_up as fn(Taped)), ("clipped", use_up)]) }
fn reject_two_strategies_of_a_registry() {
    let (table, loss) = (strategies(), new_loss());
    for name in ["plain", "clipped"] { table[name](loss); }
}
fn accept_a_strategy_of_a_registry() {
    let table = strategies();
    for name in ["plain", "clipped"] { table[name](new_loss()); }
}
fn reject_an_output_captured_by_a_hook() {
    let mut captured: Vec<Taped> = vec![];
    let mut hook = |output: Taped| captured.push(output);
    let output = model().forward(x().trace());
    hook(output);
    output.sum().backward();
    captured.remove(0).mean().backward();
}
fn accept_an_output_captured_by_a_hook() {
    let mut captured: Vec<Taped> = vec![];
    for _ in 0..3 {
        captured.clear();
        let output = model().forward(x().trace());
        captured.push(output.mean());
        output.sum().add(captured.remove(0)).backward();
    }
}
struct Prediction { logits: Taped }
impl Prediction {
    fn loss(self) -> Taped { self.logits.sum() }
    fn entropy(self) -> Taped { self.logits.square().mean() }
    fn of() -> Prediction { Prediction { logits: model().forward(x().trace()) } }
}
fn reject_two_methods_of_a_prediction() {
    let prediction = Prediction::of();
    prediction.loss().backward();
    prediction.entropy().backward();
}
fn accept_the_sum_of_two_methods() {
    for _ in 0..3 {
        let prediction = Prediction::of();
        prediction.loss().add(prediction.entropy()).backward();
    }
}
fn reject_a_machine_of_phases() {
    let (mut phase, output) = (0, model().forward(x().trace()));
    while phase < 3 {
        match phase { 1 => { output.sum().backward(); } 2 => { output.mean().backward(); } _ => {} }
        phase += 1;
    }
}
fn accept_a_machine_of_phases() {
    let (mut phase, mut loss) = (0, new_loss());
    while phase < 2 {
        if phase == 0 { loss = new_loss(); } else { loss.backward(); loss = new_loss(); }
        phase += 1;
    }
}
fn reject_a_term_after_the_total() {
    let (data, penalty) = (new_loss(), new_loss());
    let total = data.add(penalty);
    total.backward();
    penalty.backward();
}
fn accept_the_total_of_the_terms() {
    let (data, penalty) = (new_loss(), new_loss());
    let value = penalty.detach();
    data.add(penalty).backward();
    value.item();
}
struct Heads { output: Option<Taped>, count: usize }
impl Iterator for Heads {
    type Item = Taped;
    fn next(&mut self) -> Option<Taped> { self.count += 1; if self.count < 3 { self.output.take() } else { None } }
}
fn reject_an_iterator_over_heads() {
    let output = model().forward(x().trace());
    for factor in [1.0, 2.0] { output.scale(factor).sum().backward(); }
}
fn accept_the_sum_over_heads() {
    let mut heads = Heads { output: Some(new_loss()), count: 0 };
    let mut total = heads.next().unwrap();
    for loss in heads { total = total.add(loss); }
    total.backward();
}
fn run_all(losses: Vec<Taped>) { for loss in losses { loss.backward(); } }
fn reject_an_experiment_with_one_trunk() {
    let output = model().forward(x().trace());
    run_all(vec![output.sum(), output.mean()]);
}
fn accept_an_experiment_with_two_passes() {
    run_all(vec![model().forward(x().trace()).sum(), model().forward(x().trace()).mean()]);
}
fn reject_callbacks_that_vote() {
    let loss = new_loss();
    let callbacks: [fn(Taped) -> bool; 2] = [|loss| loss.backward().len() == 0, |loss| loss.backward().len() == 0];
    callbacks.iter().any(|callback| callback(loss));
}
fn accept_callbacks_that_vote() {
    let loss = new_loss();
    let readers: [fn(&Taped) -> bool; 2] = [|loss| loss.item() > 1e9, |loss| loss.item() > 1e9];
    if !readers.iter().any(|callback| callback(&loss)) { loss.backward(); }
}
fn reject_losses_by_attribute_name() {
    let terms = HashMap::from([("total", new_loss()), ("data", new_loss())]);
    for name in ["total", "data"] { terms[name].backward(); }
}
fn reject_a_static_method_for_each_sibling() {
    let output = model().forward(x().trace());
    run_all(vec![output.sum(), output.mean()]);
}
fn reject_a_block_that_steps_in_its_finally() {
    let loss = new_loss();
    finally_by(loss, || Err(()));
    loss.backward();
}
fn accept_a_block_that_steps_in_its_finally() {
    let mut loss = new_loss();
    finally_by(loss, || Err(()));
    loss = new_loss();
    loss.backward();
}
