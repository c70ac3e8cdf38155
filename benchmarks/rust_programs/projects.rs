fn use_up(loss: Taped) { loss.backward(); }
struct WithFeatures { features: Option<Taped> }
impl WithFeatures {
    fn forward(&mut self) { self.features = Some(model().forward(x().trace())); }
    fn step(&mut self) { self.features.take().unwrap().sum().backward(); }
}
fn reject_cached_features() {
    let features = model().forward(x().trace());
    features.sum().backward();
    features.mean().backward();
}
fn accept_renewed_features() {
    let mut one = WithFeatures { features: None };
    one.forward();
    one.step();
    one.forward();
    one.step();
}
fn reject_class_registry() {
    let registry = HashMap::from([("main", new_loss())]);
    let main = &registry["main"];
    use_up(*main);
    use_up(*main);
}
struct Fluent { loss: Taped }
impl Fluent {
    fn scaled(self, factor: f32) -> Fluent { Fluent { loss: self.loss.scale(factor) } }
    fn backward(self) { self.loss.backward(); }
}
fn reject_fluent_calls() {
    let chain = Fluent { loss: new_loss() }.scaled(2.0);
    chain.backward();
    chain.scaled(0.5);
}
fn accept_fluent_calls() { Fluent { loss: new_loss() }.scaled(2.0).scaled(0.5).backward(); }
fn reject_property_with_setter() {
    let mut one = Fluent { loss: new_loss() };
    one.loss.backward();
    one.loss = one.loss.scale(2.0);
}
fn accept_property_with_setter() {
    let mut one = Fluent { loss: new_loss() };
    one.loss.backward();
    one.loss = new_loss();
    one.loss.backward();
}
fn reject_event_emitter() {
    let functions: Vec<fn(Taped)> = vec![use_up];
    let loss = new_loss();
    for function in &functions { function(loss); }
    use_up(loss);
}
fn accept_event_emitter() {
    let function: fn(Taped) = use_up;
    for _ in 0..3 { function(new_loss()); }
}
fn reject_lazy_value() {
    let lazy = std::cell::LazyCell::new(new_loss);
    use_up(*lazy);
    use_up(*lazy);
}
fn accept_lazy_values() { for _ in 0..2 { let make: fn() -> Taped = new_loss; use_up(make()); } }
fn reject_getitem_of_an_object() {
    let rows = vec![new_loss(), new_loss()];
    use_up(rows[0]);
    use_up(rows[0]);
}
fn accept_getitem_of_an_object() {
    let (first, second) = (new_loss(), new_loss());
    use_up(first);
    use_up(second);
}
fn reject_operator_of_a_class() {
    let (a, b) = (new_loss(), new_loss());
    let c = a.add(b);
    c.backward();
    b.backward();
}
fn reject_deferred_actions() {
    let loss = new_loss();
    let mut pending: Vec<Box<dyn FnOnce()>> = vec![];
    pending.push(Box::new(move || use_up(loss)));
    pending.push(Box::new(move || use_up(loss.scale(2.0))));
    for one in pending { one(); }
}
fn accept_deferred_actions() {
    let mut pending: Vec<Box<dyn FnOnce()>> = vec![];
    for _ in 0..2 { let loss = new_loss(); pending.push(Box::new(move || use_up(loss))); }
    for one in pending { one(); }
}
fn logged(loss: Taped) { loss.item(); use_up(loss); }
fn reject_decorated_step() { let loss = new_loss(); logged(loss); logged(loss); }
fn accept_decorated_step() { logged(new_loss()); logged(new_loss()); }
fn reject_retried_step() { let loss = new_loss(); for _ in 0..2 { use_up(loss); } }
fn curriculum(step: usize) -> fn(Taped) -> Taped { if step == 0 { Taped::sum } else { Taped::mean } }
fn reject_curriculum() {
    let output = model().forward(x().trace());
    for step in 0..2 { curriculum(step)(output).backward(); }
}
fn accept_curriculum() { for step in 0..2 { curriculum(step)(model().forward(x().trace())).backward(); } }
fn reject_keyword_options() { let h = model().forward(x().trace()); use_up(h.sum()); use_up(h.mean()); }
fn accept_keyword_options() { use_up(new_loss()); use_up(new_loss()); }
fn reject_generator_with_send() { let loss = new_loss(); let first = loss.backward(); let second = loss.backward(); }
fn accept_generator_with_send() { let mut loss = new_loss(); for _ in 0..2 { loss.backward(); loss = new_loss(); } }
fn reject_pairs_of_a_generator() { let h = model().forward(x().trace()); for (a, b) in [(h.sum(), h.mean())] { use_up(a); use_up(b); } }
fn accept_pairs_of_a_generator() { for (a, b) in [(new_loss(), new_loss())] { a.add(b).backward(); } }
fn reject_delegated_generator() { let loss = new_loss(); for one in [loss, loss.scale(2.0), loss.scale(3.0)] { use_up(one); } }
fn reject_scaled_loss_twice() { let loss = new_loss(); let scaled = loss.scale(128.0); use_up(scaled); use_up(loss); }
struct AtEnd { losses: Vec<Taped> }
impl AtEnd { fn add(&mut self, loss: Taped) { self.losses.push(loss); } }
impl Drop for AtEnd { fn drop(&mut self) { for loss in self.losses.drain(..) { use_up(loss); } } }
fn reject_losses_added_to_a_manager() {
    let h = model().forward(x().trace());
    let mut kept = AtEnd { losses: vec![] };
    kept.add(h.sum());
    kept.add(h.mean());
}
fn accept_losses_added_to_a_manager() { let mut kept = AtEnd { losses: vec![] }; kept.add(new_loss()); kept.add(new_loss()); }
fn reject_swallowed_error_after_backward() {
    let loss = new_loss();
    let run = || -> Result<(), ()> { use_up(loss); Err(()) };
    run().ok();
    use_up(loss);
}
fn accept_return_in_a_block() {
    fn run(early: bool) { let loss = new_loss(); if early { use_up(loss); return; } use_up(loss); }
    run(true);
    run(false);
}
fn reject_break_out_of_a_block() { let loss = new_loss(); loop { use_up(loss); break; } use_up(loss); }
fn reject_break_through_a_manager_that_consumes() {
    let loss = new_loss();
    for _ in 0..3 { let _end = AtEnd { losses: vec![loss] }; break; }
    use_up(loss);
}
fn reject_return_through_a_manager_that_consumes() {
    fn inner() -> Taped { let loss = new_loss(); let _end = AtEnd { losses: vec![loss] }; return loss.scale(2.0); }
    use_up(inner());
}
fn reject_continue_through_a_manager_that_consumes() {
    let loss = new_loss();
    for number in 0..2 { let _end = AtEnd { losses: vec![loss] }; if number == 0 { continue; } }
}
fn reject_exception_through_a_manager_that_consumes() {
    let loss = new_loss();
    let block = |loss: Taped| -> Result<f32, std::num::ParseFloatError> { let _end = AtEnd { losses: vec![loss] }; "three".parse() };
    if block(loss).is_err() { use_up(loss); }
}
fn accept_break_through_a_manager() { for _ in 0..3 { let _end = AtEnd { losses: vec![new_loss()] }; break; } use_up(new_loss()); }
async fn forward_async() -> Taped { new_loss() }
async fn step_async(loss: Taped) { use_up(loss); }
fn reject_async_step_twice() { let run = async { let loss = forward_async().await; step_async(loss).await; step_async(loss).await; }; }
fn accept_async_steps() { let run = async { for _ in 0..3 { step_async(forward_async().await).await; } }; }
fn reject_gathered_steps() { let run = async { let loss = forward_async().await; let both = (step_async(loss), step_async(loss.scale(2.0))); }; }
fn accept_gathered_forwards() { let run = async { let (a, b) = (forward_async().await, forward_async().await); step_async(a.add(b)).await; }; }
fn reject_async_context_manager() { let run = async { let loss = forward_async().await; { let _end = AtEnd { losses: vec![loss] }; } use_up(loss); }; }
fn halves(loss: Taped, depth: usize) { if depth == 0 { use_up(loss); } else { halves(loss.scale(0.5), depth - 1); } }
fn reject_recursion_then_use() { let loss = new_loss(); halves(loss, 3); use_up(loss); }
fn accept_recursion_then_new() { halves(new_loss(), 3); halves(new_loss(), 2); }
fn even(loss: Taped, count: usize) { if count > 0 { odd(loss.scale(2.0), count - 1); } else { use_up(loss); } }
fn odd(loss: Taped, count: usize) { if count > 0 { even(loss, count - 1); } }
fn reject_mutual_recursion() { let loss = new_loss(); even(loss, 4); even(loss, 2); }
fn ping(a: Taped, left: usize) -> Taped { if left > 0 { pong(a.scale(2.0), left - 1) } else { a.sum() } }
fn pong(a: Taped, left: usize) -> Taped { if left > 0 { ping(a.tanh(), left - 1) } else { a.mean() } }
fn reject_result_of_mutual_recursion() { let h = model().forward(x().trace()); use_up(ping(h, 3)); use_up(h.sum()); }
fn accept_result_of_mutual_recursion() { use_up(ping(model().forward(x().trace()), 3)); use_up(pong(model().forward(x().trace()), 2)); }
struct EachLoss { main: Taped, extra: Taped }
impl EachLoss { fn each(self) -> [Taped; 2] { [self.main, self.extra] } }
fn reject_frozen_dataclass() { let h = model().forward(x().trace()); for loss in (EachLoss { main: h.sum(), extra: h.mean() }).each() { use_up(loss); } }
fn accept_frozen_dataclass() { for loss in (EachLoss { main: new_loss(), extra: new_loss() }).each() { use_up(loss); } }
fn reject_history_of_steps() { let history = vec![(0, new_loss()), (1, new_loss())]; for (_, loss) in history { use_up(loss); } use_up(history[1].1); }
fn accept_history_of_steps() { let history = vec![(0, new_loss()), (1, new_loss())]; let last = history[1].1.item(); for (_, loss) in history { use_up(loss); } }
fn reject_typed_dict() { let logits = model().forward(x().trace()); let out = (logits.sum(), logits); use_up(out.0); use_up(out.1.mean()); }
fn accept_typed_dict() { let logits = model().forward(x().trace()); let value = logits.item(); use_up(logits.sum()); }
fn reject_dict_union() { let first = HashMap::from([("a", new_loss())]); let mut both = HashMap::from([("b", new_loss())]); both.extend(first); use_up(both.remove("a").unwrap()); for (_, one) in first { use_up(one); } }
fn accept_dict_union() { let first = HashMap::from([("a", new_loss())]); let mut both = HashMap::from([("b", new_loss())]); both.extend(first); for (_, one) in both { use_up(one); } }
fn reject_popitem() { let h = model().forward(x().trace()); let mut table = vec![("a", h.sum()), ("b", h.mean())]; while let Some((_, loss)) = table.pop() { use_up(loss); } }
fn accept_popitem() { let mut table = vec![("a", new_loss()), ("b", new_loss())]; while let Some((_, loss)) = table.pop() { use_up(loss); } }
fn reject_tee() { let losses = vec![new_loss(), new_loss()]; for loss in losses { use_up(loss); } for loss in losses { use_up(loss); } }
fn reject_chain_from_iterable() { let loss = new_loss(); for one in vec![vec![loss], vec![loss.scale(2.0)]].into_iter().flatten() { use_up(one); } }
fn accept_chain_from_iterable() { for one in vec![vec![new_loss()], vec![new_loss()]].into_iter().flatten() { use_up(one); } }
fn reject_starmap() { let loss = new_loss(); for (one, weight) in [(loss, 1.0), (loss, 2.0)] { use_up(one.scale(weight)); } }
fn reject_slice_assignment() { let loss = new_loss(); let mut losses = vec![new_loss()]; losses.splice(.., [loss]); use_up(losses.remove(0)); use_up(loss); }
fn handle(event: &str, loss: Taped) { match event { "log" => { loss.item(); } "step" => { use_up(loss); } _ => {} } }
fn accept_match_of_a_literal_string() { let loss = new_loss(); handle("log", loss); handle("step", loss); }
fn reject_match_of_a_literal_string() { let loss = new_loss(); handle("step", loss); handle("step", loss); }
fn accept_action_by_string() { let loss = new_loss(); handle("log", loss); handle("step", loss); }
fn apply_if(loss: Taped, step: bool) { if step { use_up(loss); } }
fn accept_flag() { let loss = new_loss(); apply_if(loss, false); apply_if(loss, true); }
fn reject_flag() { let loss = new_loss(); apply_if(loss, true); apply_if(loss, true); }
fn reject_partial_in_a_table() { let loss = new_loss(); let table: Vec<Box<dyn FnOnce()>> = vec![Box::new(move || apply_if(loss, true)), Box::new(move || apply_if(loss, true))]; for run in table { run(); } }
fn accept_partial_in_a_table() { let (a, b) = (new_loss(), new_loss()); let table: Vec<Box<dyn FnOnce()>> = vec![Box::new(move || apply_if(a, true)), Box::new(move || apply_if(b, true))]; for run in table { run(); } }
fn reject_scheduled_jobs() { let loss = new_loss(); let mut jobs: VecDeque<Box<dyn FnOnce()>> = VecDeque::new(); jobs.push_back(Box::new(move || use_up(loss))); jobs.push_back(Box::new(move || use_up(loss))); while let Some(job) = jobs.pop_front() { job(); } }
fn accept_scheduled_jobs() { let (a, b) = (new_loss(), new_loss()); let mut jobs: VecDeque<Box<dyn FnOnce()>> = VecDeque::new(); jobs.push_back(Box::new(move || use_up(a))); jobs.push_back(Box::new(move || use_up(b))); while let Some(job) = jobs.pop_front() { job(); } }
fn reject_executor_futures() { let loss = new_loss(); for _ in 0..2 { thread::spawn(move || apply_if(loss, true)); } }
fn accept_executor_futures() { for _ in 0..2 { let loss = new_loss(); thread::spawn(move || apply_if(loss, true)); } }
struct Holding<A> { item: A }
impl<A> Holding<A> { fn map(self, function: fn(A) -> A) -> Holding<A> { Holding { item: function(self.item) } } }
fn reject_generic_box() { let one = Holding { item: new_loss() }; let twice = one.map(|loss| loss.scale(2.0)); use_up(twice.item); use_up(one.item); }
