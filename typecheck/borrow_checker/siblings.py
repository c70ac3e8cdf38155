"""Several results of one tape: after `backward` of one of them, no other can be used."""

import tapegrad as tg
from tapegrad import nn, optim

x = tg.ones((3, 5))
y = tg.ones((3, 2))
model = nn.Linear(5, 2, rng=0)
opt = optim.SGD(model, lr=0.1)


def reject_two_losses_of_one_output() -> None:
    h = model(x.trace())
    first, second = h.sum(), h.mean()
    first.backward()
    second.backward()  # E(mypy): second.backward(): second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_output_after_its_loss() -> None:
    h = model(x.trace())
    h.sum().backward()
    h.mean()  # E(mypy): h.mean(): h was consumed by h.sum().backward() on line {-1}; trace again [tapegrad-tape]


def reject_an_input_after_its_loss() -> None:
    a = x.trace()
    model(a).sum().backward()
    model(a)  # E(mypy): model(a): a was consumed by model(a).sum().backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_its_double() -> None:
    loss = model(x.trace()).sum()
    (loss * 2.0).backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by (loss * 2.0).backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_penalty_after_the_loss() -> None:
    a = x.trace()
    loss, penalty = model(a).sum(), (a * a).sum()
    loss.backward()
    penalty.backward()  # E(mypy): penalty.backward(): penalty shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_one_of_two_traced_inputs() -> None:
    a, b = x.trace(), y.trace()
    loss = (model(a) * b).sum()
    loss.backward()
    b.sum()  # E(mypy): b.sum(): b shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_tape_that_was_merged() -> None:
    a, b = x.trace(), y.trace()
    first, second = a.sum(), b.sum()
    total = first + second
    total.backward()
    second.backward()  # E(mypy): second.backward(): second shares the tape that total.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_slice_of_a_consumed_output() -> None:
    h = model(x.trace())
    row = h[0]
    h.sum().backward()
    row.sum().backward()  # E(mypy): row.sum(): row shares the tape that h.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_transpose_of_a_consumed_input() -> None:
    a = x.trace()
    turned = a.T
    a.sum().backward()
    turned.sum()  # E(mypy): turned.sum(): turned shares the tape that a.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_behind_three_ops() -> None:
    h = tg.tanh(tg.exp(model(x.trace())))
    side = h - 1.0
    tg.sqrt(h + 9.0).sum().backward()
    side.mean().backward()  # E(mypy): side.mean(): side shares the tape that tg.sqrt(h + 9.0).sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_part_of_a_split() -> None:
    h = model(x.trace())
    left, right = tg.split(h, 2, axis=1)
    left.sum().backward()
    right.sum().backward()  # E(mypy): right.sum(): right shares the tape that left.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_stack_with_a_consumed_tensor() -> None:
    a = x.trace()
    b = a * 2.0
    a.sum().backward()
    tg.stack((b, b))  # E(mypy): tg.stack(...): ... shares the tape that a.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_added_after_its_sibling() -> None:
    a = x.trace()
    first, second = a.sum(), a.mean()
    first.backward()
    (y.trace().sum() + second).backward()  # E(mypy): y.trace().sum() + second: second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_in_place_sum_with_a_consumed_loss() -> None:
    a = x.trace()
    total = a.sum()
    a.mean().backward()
    total += 1.0  # E(mypy): total += 1.0: total shares the tape that a.mean().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_conditional_sibling(*, early: bool = True) -> None:
    a = x.trace()
    loss = a.sum()
    if early:
        loss.backward()
    a.mean()  # E(mypy): a.mean(): a shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_two_forward_passes() -> None:
    model(x.trace()).sum().backward()
    model(x.trace()).mean().backward()


def accept_the_sum_of_two_losses() -> None:
    h = model(x.trace())
    (h.sum() + h.mean()).backward()


def accept_two_tapes_that_never_meet() -> None:
    first, second = x.trace().sum(), y.trace().sum()
    first.backward()
    second.backward()


def accept_an_output_that_is_read() -> None:
    h = model(x.trace())
    loss = h.sum()
    loss.backward()
    assert h.shape == (3, 2)
    assert h.detach().sum().item() == loss.item()


def accept_a_comparison_of_two_losses() -> None:
    first, second = x.trace().sum(), y.trace().sum()
    if first > second:
        first.backward()
    else:
        second.backward()


def accept_a_loss_of_a_detached_output() -> None:
    h = model(x.trace())
    fixed = h.detach()
    h.sum().backward()
    (model(x.trace()) * fixed).sum().backward()


def accept_a_loss_that_retains_its_tape() -> None:
    h = model(x.trace())
    first, second = h.sum(), h.mean()
    first.backward(retain_tape=True)
    second.backward()


def reject_a_loss_after_the_last_of_two() -> None:
    h = model(x.trace())
    first, second = h.sum(), h.mean()
    first.backward(retain_tape=True)
    second.backward()
    first.backward()  # E(mypy): first.backward(): first shares the tape that second.backward() consumed on line {-1}; trace again [tapegrad-tape]
