"""Idioms of larger training code: callbacks, exceptions, recursion, generators, context managers and default factories."""

import contextlib
import functools
import heapq
import itertools
import operator
import queue
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]
Batch = Tensor[Shape[Any, Any], NoneTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)
opt = optim.SGD(model, lr=0.1)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def loss_of(batch: Batch) -> Scalar:
    return model(batch.trace()).sum()


class OnLoss(Protocol):
    """What is called with each loss."""

    def __call__(self, loss: Scalar) -> None: ...


class Stepping:
    """Steps with each loss."""

    def __call__(self, loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model))


class LossError(Exception):
    """Carries the loss of a step that failed."""

    def __init__(self, loss: Scalar) -> None:
        super().__init__("the loss is not finite")
        self.loss = loss


@dataclass
class Record:
    """Losses with their weight."""

    weight: float = 1.0
    losses: list[Scalar] = field(default_factory=list)

    def add(self, loss: Scalar) -> None:
        self.losses.append(loss)


@dataclass
class Node:
    """A tree of losses."""

    loss: Scalar
    children: list["Node"] = field(default_factory=list)


@contextlib.contextmanager
def stepping(loss: Scalar) -> Iterator[Scalar]:
    yield loss
    loss.backward()


class SteppingOnExit:
    """Steps when the block ends."""

    def __init__(self, loss: Scalar) -> None:
        self.loss = loss

    def __enter__(self) -> Scalar:
        return self.loss

    def __exit__(self, *error: object) -> None:
        opt.step(self.loss.backward(wrt=model))


def backward_all(losses: list[Scalar]) -> None:
    if losses:
        losses[0].backward()
        backward_all(losses[1:])


def visit(node: Node) -> None:
    node.loss.backward()
    for child in node.children:
        visit(child)


def fail(loss: Scalar) -> None:
    raise LossError(loss)


def fail_after_backward(loss: Scalar) -> None:
    loss.backward()
    fail(loss)


def reject_a_protocol_that_is_called_twice() -> None:
    callback: OnLoss = Stepping()
    loss = new_loss()
    callback(loss)
    callback(loss)  # E(mypy): callback(loss): loss was consumed by loss.backward(wrt=model) on line {-74}; trace again [tapegrad-tape]


def reject_the_loss_of_an_exception() -> None:
    try:
        fail_after_backward(new_loss())
    except LossError as error:
        error.loss.backward()  # E(mypy): error.loss.backward(): error.loss shares the tape that loss.backward() consumed on line {-15}; trace again [tapegrad-tape]


def reject_a_loss_that_a_handler_used() -> None:
    loss = new_loss()
    try:
        fail(loss)
    except LossError as error:
        error.loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss shares the tape that error.loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_recursion_over_siblings() -> None:
    h = model(x.trace())
    backward_all([h.sum(), h.mean()])  # E(mypy): backward_all(...): losses[0] was consumed by losses[0].backward() on line {-44}; trace again [tapegrad-tape]


def reject_recursion_over_a_tree() -> None:
    h = model(x.trace())
    visit(Node(h.sum(), [Node(h.mean())]))  # E(mypy): visit(Node(h.sum(), ...)): node.loss was consumed by node.loss.backward() on line {-44}; trace again [tapegrad-tape]


def reject_a_default_dictionary_of_siblings() -> None:
    h = model(x.trace())
    by_task: defaultdict[str, list[Scalar]] = defaultdict(list)
    for name in ("a", "b"):
        by_task[name].append(h.sum())
    for losses in by_task.values():
        for loss in losses:
            loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_groups_that_are_read_by_key_twice() -> None:
    groups: defaultdict[int, list[Scalar]] = defaultdict(list)
    for number in range(3):
        groups[number % 2].append(new_loss())
    for _ in range(2):
        for key in groups:
            for loss in groups[key]:
                loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_positions_that_are_read_twice() -> None:
    losses = [new_loss() for _ in range(3)]
    for number in range(len(losses)):
        losses[number].backward()
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that losses[number].backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_default_that_is_set_twice() -> None:
    cache: dict[str, Scalar] = {}
    for _ in range(2):
        loss = cache.setdefault("loss", new_loss())
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_default_lists_of_siblings() -> None:
    h = model(x.trace())
    table: dict[str, list[Scalar]] = {}
    table.setdefault("a", []).append(h.sum())
    table.setdefault("a", []).append(h.mean())
    for loss in table["a"]:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_an_updated_dictionary() -> None:
    h = model(x.trace())
    losses: dict[str, Scalar] = {"a": h.sum()}
    losses |= {"b": h.mean()}
    for name in ("a", "b"):
        losses[name].backward()  # E(mypy): losses[name].backward(): losses[name] was consumed by losses[name].backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_field_with_a_factory() -> None:
    h = model(x.trace())
    record = Record()
    record.add(h.sum())
    record.add(h.mean())
    for loss in record.losses:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_records_of_siblings() -> None:
    h = model(x.trace())
    nodes = [Node(h[number].sum()) for number in range(2)]
    for node in nodes:
        node.loss.backward()  # E(mypy): node.loss.backward(): node.loss was consumed by node.loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_queue_of_pairs() -> None:
    h = model(x.trace())
    waiting: queue.Queue[tuple[float, Scalar]] = queue.Queue()
    for weight in (1.0, 0.5):
        waiting.put((weight, (h * weight).sum()))
    while not waiting.empty():
        _, loss = waiting.get()
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_heap_of_pairs() -> None:
    h = model(x.trace())
    heap: list[tuple[float, Scalar]] = []
    for number, loss in enumerate((h.sum(), h.mean())):
        heapq.heappush(heap, (float(number), loss))
    while heap:
        _, loss = heapq.heappop(heap)
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_default_dictionary_of_queues() -> None:
    h = model(x.trace())
    window: defaultdict[str, deque[Scalar]] = defaultdict(deque)
    window["a"].append(h.sum())
    window["a"].append(h.mean())
    while window["a"]:
        window["a"].popleft().backward()  # E(mypy): window['a'].popleft().backward(): window['a'].popleft() was consumed by window['a'].popleft().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_overlapping_pairs() -> None:
    losses = [new_loss(), new_loss(), new_loss()]
    for first, second in itertools.pairwise(losses):
        (first + second).backward()  # E(mypy): first + second: first was consumed by (first + second).backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_an_unzipped_table() -> None:
    h = model(x.trace())
    table = [(1.0, h.sum()), (0.5, h.mean())]
    _, losses = zip(*table, strict=True)
    for loss in losses:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_filtered_siblings() -> None:
    h = model(x.trace())
    losses: list[Scalar | None] = [h.sum(), None, h.mean()]
    for loss in filter(None, losses):
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_partials_of_one_loss() -> None:
    def step(loss: Scalar, scale: float) -> None:
        (loss * scale).backward()

    loss = new_loss()
    for run in [functools.partial(step, loss, scale=scale) for scale in (1.0, 0.5)]:
        run()  # E(mypy): run(): loss was consumed by (loss * scale).backward() on line {-4}; trace again [tapegrad-tape]


def reject_a_generator_after_backward() -> None:
    def losses() -> Iterator[Scalar]:
        loss = new_loss()
        yield loss
        yield loss * 2.0

    for loss in losses():
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_stack_that_steps_at_its_end() -> None:
    loss = new_loss()
    with contextlib.ExitStack() as stack:  # E(mypy): end of with contextlib.ExitStack(): loss was consumed by loss.backward() on line {+2}; trace again [tapegrad-tape]
        stack.callback(loss.backward)
        loss.backward()


def reject_a_stack_of_siblings() -> None:
    h = model(x.trace())
    with contextlib.ExitStack() as stack:  # E(mypy): end of with contextlib.ExitStack(): h was consumed by contextlib.ExitStack() on line {-0}; trace again [tapegrad-tape]
        for weight in (1.0, 0.5):
            stack.callback((h * weight).sum().backward)


def reject_a_context_manager_on_a_stack() -> None:
    with contextlib.ExitStack() as stack:
        loss = stack.enter_context(stepping(new_loss()))  # E(mypy): end of with stepping(new_loss()): loss was consumed by loss.backward() on line {+1}; trace again [tapegrad-tape]
        loss.backward()


def reject_a_loss_after_its_context_manager() -> None:
    with stepping(new_loss()) as loss:
        loss * 2.0
    loss * 2.0  # E(mypy): loss * 2.0: loss was consumed by loss.backward() on line {-229}; trace again [tapegrad-tape]


def reject_backward_before_the_block_ends() -> None:
    with SteppingOnExit(new_loss()) as loss:  # E(mypy): end of with SteppingOnExit(new_loss()): self.loss shares the tape that loss.backward() consumed on line {+1}; trace again [tapegrad-tape]
        loss.backward()


def reject_the_rows_of_a_consumed_tensor() -> None:
    h = model(x.trace())
    h.sum().backward()
    for row in h:  # E(mypy): h: h was consumed by h.sum().backward() on line {-1}; trace again [tapegrad-tape]
        assert row.shape == (2,)


def accept_reads_of_a_consumed_tensor() -> None:
    h = model(x.trace())
    h.sum().backward()
    assert (h.shape, h.ndim, h.size, len(h)) == ((3, 2), 2, 6, 3)
    assert tg.assert_shape(h, (3, 2)).dtype == h.dtype
    assert h.sum is not None
    assert h.argmax(axis=1).shape == tg.floor(h.detach())[:, 0].shape
    assert (h > 0.0).numpy().shape == h.numpy().shape


def accept_callbacks_that_only_read() -> None:
    class Printing:
        def __call__(self, loss: Scalar) -> None:
            assert loss.item() == loss.item()

    callbacks: list[OnLoss] = [Stepping(), Printing()]
    for _ in range(2):
        loss = new_loss()
        for callback in callbacks:
            callback(loss)


def accept_the_value_of_an_exception() -> None:
    values = []
    try:
        fail_after_backward(new_loss())
    except LossError as error:
        values.append(error.loss.item())
    assert len(values) == 1


def accept_a_loss_that_was_not_used_before_the_exception() -> None:
    def train(*, fails: bool) -> None:
        loss = new_loss()
        if fails:
            raise LossError(loss)
        loss.backward()

    for fails in (False, True):
        try:
            train(fails=fails)
        except LossError as error:
            error.loss.backward()


def accept_recursion() -> None:
    backward_all([new_loss(), new_loss()])
    visit(Node(new_loss(), [Node(new_loss()), Node(new_loss())]))


def accept_a_recursive_sum() -> None:
    def total(losses: list[Scalar]) -> Scalar:
        return losses[0] if len(losses) == 1 else losses[0] + total(losses[1:])

    h = model(x.trace())
    total([h.sum(), h.mean(), h.max()]).backward()


def accept_a_default_dictionary() -> None:
    groups: defaultdict[int, list[Scalar]] = defaultdict(list)
    for number in range(4):
        groups[number % 2].append(new_loss())
    for losses in groups.values():
        total = losses[0]
        for loss in losses[1:]:
            total = total + loss
        total.backward()


def accept_a_default_that_is_removed() -> None:
    cache: dict[str, Scalar] = {}
    for _ in range(2):
        cache.setdefault("loss", new_loss())
        cache.pop("loss").backward()


def accept_a_record_that_is_replaced() -> None:
    node = Node(new_loss())
    for _ in range(3):
        node.loss.backward()
        node = replace(node, loss=new_loss())


def accept_pairs_of_losses() -> None:
    for first, second in zip([new_loss(), new_loss()], [new_loss(), new_loss()], strict=True):
        (first + second).backward()


def accept_a_sum_by_reduce() -> None:
    h = model(x.trace())
    functools.reduce(operator.add, [h.sum(), h.mean(), h.max()]).backward()  # pyright: ignore[reportArgumentType]  # overloads


def accept_losses_made_by_map() -> None:
    for loss in map(loss_of, [x, x * 2.0]):
        loss.backward()


def accept_partials_of_their_own_losses() -> None:
    runs: list[Callable[[], Gradients]] = [functools.partial(new_loss().backward, wrt=model) for _ in range(3)]
    for run in runs:
        run()


def accept_an_endless_generator() -> None:
    def losses() -> Iterator[Scalar]:
        while True:
            yield new_loss()

    for loss in itertools.islice(losses(), 2):
        loss.backward()


def accept_a_stack_of_losses() -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            loss = new_loss()
            stack.callback(loss.backward)
        loss * 2.0  # pyright: ignore[reportPossiblyUnboundVariable]  # the loop runs twice


def accept_ops_inside_a_context_manager() -> None:
    with stepping(new_loss()) as first, stepping(new_loss()) as second:
        assert (first * 2.0).shape == (second * 2.0).shape
    with SteppingOnExit(new_loss()) as loss:
        loss * 2.0


def accept_objects_that_are_renewed() -> None:
    nodes = [Node(new_loss()), Node(new_loss())]
    for _ in range(2):
        for node in nodes:
            node.loss.backward()
        for node in nodes:
            node.loss = new_loss()
