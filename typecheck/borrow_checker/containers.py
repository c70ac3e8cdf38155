"""Lists, tuples, dictionaries and queues of tensors with tapes."""

from collections import deque
from typing import NamedTuple

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


class Losses(NamedTuple):
    """Two losses."""

    first: Scalar
    second: Scalar


def reject_an_element_after_backward() -> None:
    losses = [x.trace().sum()]
    losses[0].backward()
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] was consumed by losses[0].backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_name_after_its_element() -> None:
    loss = x.trace().sum()
    losses = [loss]
    losses[0].backward()
    loss.backward()  # E(mypy): loss.backward(): loss shares the tape that losses[0].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_list_of_siblings() -> None:
    h = model(x.trace())
    losses = [h.sum(), h.mean()]
    for loss in losses:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_list_that_is_followed_twice() -> None:
    losses = [x.trace().sum(), x.trace().mean()]
    for loss in losses:
        loss.backward()
    for loss in losses:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]


def reject_an_appended_loss() -> None:
    losses = []
    loss = x.trace().sum()
    losses.append(loss)
    loss.backward()
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_appended_siblings() -> None:
    h = model(x.trace())
    losses = []
    for _ in range(2):
        losses.append(h.sum())
    for loss in losses:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_comprehension_of_siblings() -> None:
    h = model(x.trace())
    losses = [h[row].sum() for row in range(3)]
    for loss in losses:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_dictionary_of_siblings() -> None:
    h = model(x.trace())
    losses = {"sum": h.sum(), "mean": h.mean()}
    losses["sum"].backward()
    losses["mean"].backward()  # E(mypy): losses['mean'].backward(): losses['mean'] shares the tape that losses['sum'].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_the_values_of_a_dictionary() -> None:
    h = model(x.trace())
    losses = {"sum": h.sum(), "mean": h.mean()}
    for loss in losses.values():
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_the_items_of_a_dictionary() -> None:
    h = model(x.trace())
    losses = {"sum": h.sum(), "mean": h.mean()}
    for name, loss in losses.items():
        assert name
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_tuple_that_is_unpacked() -> None:
    a = x.trace()
    pair = (a.sum(), a.mean())
    first, second = pair
    first.backward()
    second.backward()  # E(mypy): second.backward(): second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_named_tuple() -> None:
    a = x.trace()
    losses = Losses(a.sum(), a.mean())
    losses.first.backward()
    losses.second.backward()  # E(mypy): losses.second.backward(): losses.second shares the tape that losses.first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_replaced_named_tuple() -> None:
    losses = Losses(x.trace().sum(), x.trace().mean())
    changed = losses._replace(second=x.trace().sum())
    changed.first.backward()
    losses.first.backward()  # E(mypy): losses.first.backward(): losses.first shares the tape that changed.first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_queue_of_siblings() -> None:
    h = model(x.trace())
    queue = deque([h.sum(), h.mean()])
    queue.popleft().backward()
    queue.popleft().backward()  # E(mypy): queue.popleft().backward(): queue.popleft() was consumed by queue.popleft().backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_copy_of_a_list() -> None:
    losses = [x.trace().sum()]
    kept = losses.copy()
    losses[0].backward()
    kept[0].backward()  # E(mypy): kept[0].backward(): kept[0] shares the tape that losses[0].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_sorted_list() -> None:
    h = model(x.trace())
    losses = sorted([h.sum(), h.mean()], key=lambda loss: loss.item())
    losses[0].backward()
    losses[1].backward()  # E(mypy): losses[1].backward(): losses[1] shares the tape that losses[0].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_zip_with_weights() -> None:
    h = model(x.trace())
    for loss, weight in zip([h.sum(), h.mean()], [1.0, 0.5], strict=True):
        (loss * weight).backward()  # E(mypy): loss * weight: loss was consumed by (loss * weight).backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_an_enumerated_list() -> None:
    h = model(x.trace())
    for number, loss in enumerate([h.sum(), h.mean()]):
        (loss * float(number)).backward()  # E(mypy): loss * float(number): loss was consumed by (loss * float(number)).backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_list_times_two() -> None:
    losses = [x.trace().sum()] * 2
    losses[0].backward()
    losses[1].backward()  # E(mypy): losses[1].backward(): losses[1] shares the tape that losses[0].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_joined_list() -> None:
    first = [x.trace().sum()]
    both = first + [x.trace().mean()]
    both[0].backward()
    first[0].backward()  # E(mypy): first[0].backward(): first[0] shares the tape that both[0].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_consumed_loss_that_is_stored() -> None:
    history: list[Scalar] = []
    loss = x.trace().sum()
    loss.backward()
    history.append(loss)  # E(mypy): history.append(loss): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_sum_with_a_consumed_loss() -> None:
    losses = [x.trace().sum(), x.trace().mean()]
    losses[0].backward()
    sum(losses[1:], losses[0])  # E(mypy): sum(losses[...], losses[0]): losses[0] was consumed by losses[0].backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_dictionary_of_lists() -> None:
    h = model(x.trace())
    losses: dict[str, list[Scalar]] = {"all": []}
    losses["all"].append(h.sum())
    losses["all"].append(h.mean())
    for loss in losses["all"]:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_nested_unpacking() -> None:
    a = x.trace()
    (first, second), count = (a.sum(), a.mean()), 2
    first.backward()
    (second * float(count)).backward()  # E(mypy): second * float(count): second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_a_list_of_forward_passes() -> None:
    losses = [model(x.trace()).sum() for _ in range(3)]
    for loss in losses:
        loss.backward()


def accept_appended_forward_passes() -> None:
    losses = []
    for _ in range(3):
        losses.append(model(x.trace()).sum())
    for loss in losses:
        loss.backward()


def accept_a_queue_of_forward_passes() -> None:
    queue = deque([model(x.trace()).sum() for _ in range(3)])
    while queue:
        queue.popleft().backward()


def accept_a_dictionary_of_forward_passes() -> None:
    losses = {name: model(x.trace()).sum() for name in ("a", "b")}
    losses["a"].backward()
    losses["b"].backward()


def accept_the_sum_of_a_list() -> None:
    h = model(x.trace())
    losses = [h.sum(), h.mean()]
    (losses[0] + losses[1]).backward()


def accept_a_history_of_numbers() -> None:
    history = []
    for _ in range(3):
        loss = model(x.trace()).sum()
        loss.backward()
        history.append(loss.item())
    assert len(history) == 3


def accept_a_window_of_two() -> None:
    window: deque[Scalar] = deque()
    for _ in range(4):
        window.append(model(x.trace()).sum())
        if len(window) > 2:
            window.popleft().backward()


def accept_a_replaced_element() -> None:
    losses = [x.trace().sum()]
    losses[0].backward()
    losses[0] = x.trace().sum()
    losses[0].backward()


def accept_each_index() -> None:
    losses = [x.trace().sum(), x.trace().mean()]
    for number in range(2):
        losses[number].backward()
