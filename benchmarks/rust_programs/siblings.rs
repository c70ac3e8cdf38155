fn reject_two_losses_of_one_output() {
    let h = model().forward(x().trace());
    let (first, second) = (h.sum(), h.mean());
    first.backward();
    second.backward();
}
fn reject_an_output_after_its_loss() {
    let h = model().forward(x().trace());
    h.sum().backward();
    h.mean();
}
fn reject_an_input_after_its_loss() {
    let a = x().trace();
    model().forward(a).sum().backward();
    model().forward(a);
}
fn reject_a_loss_after_its_double() {
    let loss = model().forward(x().trace()).sum();
    loss.scale(2.0).backward();
    loss.backward();
}
fn reject_a_penalty_after_the_loss() {
    let a = x().trace();
    let (loss, penalty) = (model().forward(a).sum(), a.square().sum());
    loss.backward();
    penalty.backward();
}
fn reject_one_of_two_traced_inputs() {
    let (a, b) = (x().trace(), y().trace());
    let loss = model().forward(a).mul(b).sum();
    loss.backward();
    b.sum();
}
fn reject_a_tape_that_was_merged() {
    let (a, b) = (x().trace(), y().trace());
    let (first, second) = (a.sum(), b.sum());
    let total = first.add(second);
    total.backward();
    second.backward();
}
fn reject_a_slice_of_a_consumed_output() {
    let h = model().forward(x().trace());
    let row = h.row(0);
    h.sum().backward();
    row.sum().backward();
}
fn reject_a_transpose_of_a_consumed_input() {
    let a = x().trace();
    let turned = a.transpose();
    a.sum().backward();
    turned.sum();
}
fn reject_a_loss_behind_three_ops() {
    let h = model().forward(x().trace()).exp().tanh();
    let side = h.scale(1.0);
    h.exp().sum().backward();
    side.mean().backward();
}
fn reject_a_part_of_a_split() {
    let h = model().forward(x().trace());
    let (left, right) = (h.row(0), h.row(1));
    left.sum().backward();
    right.sum().backward();
}
fn reject_a_stack_with_a_consumed_tensor() {
    let a = x().trace();
    let b = a.scale(2.0);
    a.sum().backward();
    b.add(b);
}
fn reject_a_loss_added_after_its_sibling() {
    let a = x().trace();
    let (first, second) = (a.sum(), a.mean());
    first.backward();
    y().trace().sum().add(second).backward();
}
fn reject_an_in_place_sum_with_a_consumed_loss() {
    let a = x().trace();
    let total = a.sum();
    a.mean().backward();
    let total = total.scale(1.0);
}
fn reject_a_conditional_sibling() {
    let a = x().trace();
    let loss = a.sum();
    if flag() {
        loss.backward();
    }
    a.mean();
}
fn accept_two_forward_passes() {
    model().forward(x().trace()).sum().backward();
    model().forward(x().trace()).mean().backward();
}
fn accept_the_sum_of_two_losses() {
    let h = model().forward(x().trace());
    h.sum().add(h.mean()).backward();
}
fn accept_two_tapes_that_never_meet() {
    let (first, second) = (x().trace().sum(), y().trace().sum());
    first.backward();
    second.backward();
}
fn accept_an_output_that_is_read() {
    let h = model().forward(x().trace());
    let loss = h.sum();
    loss.backward();
    assert_eq!(h.item(), loss.item());
}
fn accept_a_comparison_of_two_losses() {
    let (first, second) = (x().trace().sum(), y().trace().sum());
    if first.item() > second.item() {
        first.backward();
    } else {
        second.backward();
    }
}
fn accept_a_loss_of_a_detached_output() {
    let h = model().forward(x().trace());
    let fixed = h.detach();
    h.sum().backward();
    model().forward(x().trace()).times(&fixed).sum().backward();
}
fn accept_a_loss_that_retains_its_tape() {
    let h = model().forward(x().trace());
    let (first, second) = (h.sum(), h.mean());
    first.backward_retaining();
    second.backward();
}
fn reject_a_loss_after_the_last_of_two() {
    let h = model().forward(x().trace());
    let (first, second) = (h.sum(), h.mean());
    first.backward_retaining();
    second.backward();
    first.backward();
}
