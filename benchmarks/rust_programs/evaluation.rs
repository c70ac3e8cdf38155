fn norm(loss: Taped) -> f32 { loss.backward().len() as f32 }
fn reject_a_state_made_of_a_loss_and_its_gradient() {
    let loss = new_loss();
    let state = (loss, norm(loss));
}
fn accept_a_state_made_of_a_new_loss() {
    let mut state = (new_loss(), 0.0);
    for _ in 0..2 { state = (new_loss(), norm(state.0)); }
}
fn reject_a_tuple_of_a_loss_and_its_gradient() {
    let loss = new_loss();
    let (kept, _) = (loss, norm(loss));
    norm(kept);
}
fn accept_a_tuple_of_a_value_and_a_gradient() {
    let loss = new_loss();
    let (kept, _) = (loss.item(), norm(loss));
}
fn reject_a_product_with_its_own_gradient() {
    let loss = new_loss();
    loss.scale(norm(loss)).item();
}
fn accept_a_product_with_the_gradient_of_another_loss() {
    new_loss().scale(norm(new_loss())).item();
}
struct DescribedHead { loss: Option<Taped> }
impl DescribedHead { fn computed(&self) -> Taped { new_loss() } }
fn reject_a_descriptor_that_keeps_its_loss() {
    let head = DescribedHead { loss: Some(new_loss()) };
    norm(head.loss.unwrap());
    norm(head.loss.unwrap());
}
fn accept_a_descriptor_that_computes_its_loss() {
    let head = DescribedHead { loss: None };
    norm(head.computed());
    norm(head.computed());
}
fn reject_a_cache_that_is_not_cleared() {
    let shared = new_loss();
    for _ in 0..2 { norm(shared.scale(0.5)); }
}
fn accept_a_cache_that_is_cleared() {
    for _ in 0..2 { let shared = new_loss(); norm(shared.scale(0.5)); }
}
fn reject_pairs_of_unequal_lists() {
    let loss = new_loss();
    for (a, b) in [(loss, Some(loss)), (new_loss(), None)] { norm(a); }
}
fn accept_pairs_of_unequal_lists() {
    for (a, b) in [(new_loss(), Some(new_loss())), (new_loss(), None)] {
        norm(match b { Some(b) => a.add(b), None => a });
    }
}
