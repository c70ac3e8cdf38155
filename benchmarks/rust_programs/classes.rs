struct Trainer { model: Model, opt: Optimizer, loss: Taped }
impl Trainer {
    fn new() -> Trainer { Trainer { model: model(), opt: optimizer(), loss: model().forward(x().trace()).sum() } }
    fn forward(&self) -> Taped { self.model.forward(x().trace()).sum() }
    fn renew(mut self) -> Trainer { self.loss = self.forward(); self }
    fn step(mut self) -> Optimizer { self.opt.step(self.loss.backward()); self.opt }
    fn step_of(&mut self, loss: Taped) { self.opt.step(loss.backward()); }
    fn step_renewing(&mut self) { let loss = self.forward(); self.opt.step(loss.backward()); }
    fn fresh(&self) -> Taped { self.forward() }
    fn value(&self) -> f32 { self.loss.item() }
}
struct Output { loss: Taped, logits: Taped }
fn make_output() -> Output { Output { loss: x().trace().sum(), logits: x().trace() } }
trait Stepper { fn step_once(self); }
impl Stepper for Trainer { fn step_once(self) { self.loss.backward(); } }
fn reject_an_attribute_after_a_method() {
    let trainer = Trainer::new();
    trainer.step();
    trainer.loss.backward();
}
fn reject_a_method_called_twice() {
    let trainer = Trainer::new();
    trainer.step();
    trainer.step();
}
fn reject_an_attribute_by_another_name() {
    let trainer = Trainer::new();
    let same = trainer;
    same.loss.backward();
    trainer.loss.backward();
}
fn reject_a_local_name_of_an_attribute() {
    let trainer = Trainer::new();
    let loss = trainer.loss;
    trainer.loss.backward();
    loss.scale(2.0);
}
fn reject_a_method_that_takes_the_loss() {
    let mut trainer = Trainer::new();
    let loss = trainer.loss;
    loss.backward();
    trainer.step();
}
fn reject_a_cached_property() {
    let trainer = Trainer::new();
    trainer.loss.backward();
    trainer.loss.backward();
}
fn reject_an_inherited_method() {
    let trainer = Trainer::new();
    trainer.step_once();
    trainer.step_once();
}
fn reject_a_method_of_a_superclass() {
    let trainer = Trainer::new();
    trainer.step_once();
    trainer.step();
}
fn reject_a_field_of_a_dataclass() {
    let logits = model().forward(x().trace());
    let output = Output { loss: logits.sum(), logits };
    output.loss.backward();
    output.logits.mean();
}
fn reject_a_replaced_dataclass() {
    let output = make_output();
    let changed = Output { logits: x().trace(), ..output };
    output.loss.backward();
    changed.loss.backward();
}
fn reject_an_unpacked_match() {
    let logits = model().forward(x().trace());
    match (Output { loss: logits.sum(), logits }) {
        Output { loss, logits } => { loss.backward(); logits.sum().backward(); }
    }
}
fn reject_a_class_attribute() {
    struct Shared { loss: Taped }
    let shared = Shared { loss: x().trace().sum() };
    shared.loss.backward();
    shared.loss.backward();
}
fn reject_an_object_in_a_list() {
    let trainers = (Trainer::new(),);
    trainers.0.step();
    trainers.0.step();
}
fn reject_a_bound_method_of_an_object() {
    let trainer = Trainer::new();
    let step = || trainer.step();
    step();
    step();
}
fn run_twice<S: Stepper>(stepper: S) { stepper.step_once(); }
fn reject_a_protocol_that_steps_twice() {
    fn twice<S: Stepper>(stepper: S) { stepper.step_once(); stepper.step_once(); }
    twice(Trainer::new());
}
fn reject_a_layer_that_keeps_its_input() {
    let mut kept: Vec<Taped> = vec![];
    let a = x().trace();
    kept.push(a);
    a.scale(2.0).sum().backward();
}
fn accept_a_renewed_attribute() {
    let mut trainer = Trainer::new();
    for _ in 0..2 { trainer.loss.backward(); trainer.loss = trainer.model.forward(x().trace()).sum(); }
}
fn accept_a_computed_property() {
    let trainer = Trainer::new();
    trainer.fresh().backward();
    trainer.fresh().backward();
}
fn accept_a_careful_subclass() {
    let mut trainer = Trainer::new();
    trainer.step_renewing();
    trainer.step_renewing();
}
fn accept_two_objects() {
    let (first, second) = (Trainer::new(), Trainer::new());
    first.step();
    second.step();
}
fn accept_a_method_that_reads() {
    let trainer = Trainer::new();
    let before = trainer.value();
    trainer.step();
    assert_eq!(before, 1.0);
}
fn accept_objects_in_a_list() {
    for trainer in [Trainer::new(), Trainer::new()] { trainer.step(); }
}
fn accept_an_output_for_each_pass() {
    for _ in 0..2 { let output = make_output(); output.loss.backward(); output.logits.item(); }
}
fn accept_a_layer_of_the_users() {
    struct Scaled { inner: Model }
    impl Scaled { fn forward(&self, a: Taped) -> Taped { self.inner.forward(a).scale(0.5) } }
    let layer = Scaled { inner: model() };
    layer.forward(x().trace()).sum().backward();
    layer.forward(x().trace()).sum().backward();
}
fn accept_a_target_without_a_tape() {
    let target = y();
    let model = model();
    for _ in 0..2 { model.forward(x().trace()).mse(&target).backward(); }
}
