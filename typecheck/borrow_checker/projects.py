"""Idioms of projects: trainers with state, events, flags, generators, async code, recursion and ends of blocks."""

import asyncio
import bisect
import concurrent.futures
import contextlib
import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, NamedTuple, Self, TypedDict, TypeVar
from typing import Literal as L

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]
Batch = Tensor[Shape[L[3], L[5]], NoneTape]
Taped = Tensor[Shape[L[3], L[2]], OwnedTape]
A = TypeVar("A")

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)
head = nn.Linear(2, 1, rng=1)
opt = optim.SGD(model, lr=0.001)
opt2 = optim.SGD(head, lr=0.001)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def batches() -> Iterator[Batch]:
    for _ in range(3):
        yield x


class StatefulTrainer:
    def __init__(self) -> None:
        self.features: Taped | None = None

    def forward(self, batch: Batch) -> Taped:
        self.features = model(batch.trace())
        return self.features

    def step_main(self) -> None:
        assert self.features is not None
        opt.step(self.features.sum().backward(wrt=model))

    def step_auxiliary(self) -> None:
        assert self.features is not None
        opt2.step(head(self.features).sum().backward(wrt=head))


class LossRegistry:
    losses: ClassVar[dict[str, Scalar]] = {}

    @classmethod
    def register(cls, name: str, loss: Scalar) -> None:
        cls.losses[name] = loss

    @classmethod
    def run(cls, name: str) -> None:
        cls.losses[name].backward(wrt=model)


class Chain:
    """A fluent interface."""

    def __init__(self, loss: Scalar) -> None:
        self.loss = loss

    def scaled(self, factor: float) -> Self:
        self.loss = self.loss * factor
        return self

    def backward(self) -> Self:
        opt.step(self.loss.backward(wrt=model))
        return self


class Closing:
    def __init__(self, loss: Scalar) -> None:
        self._loss = loss

    @property
    def loss(self) -> Scalar:
        return self._loss

    @loss.setter
    def loss(self, value: Scalar) -> None:
        self._loss = value


class Callbacks:
    def __init__(self) -> None:
        self.functions: dict[str, list[Callable[[Scalar], None]]] = defaultdict(list)

    def on(self, event: str, function: Callable[[Scalar], None]) -> None:
        self.functions[event].append(function)

    def emit(self, event: str, loss: Scalar) -> None:
        for function in self.functions[event]:
            function(loss)


def _use(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model))


class Lazy:
    def __init__(self, make: Callable[[], Scalar]) -> None:
        self._make = make
        self._value: Scalar | None = None

    def get(self) -> Scalar:
        if self._value is None:
            self._value = self._make()
        return self._value


class Indexed:
    def __init__(self) -> None:
        self.rows = [new_loss(), new_loss()]

    def __getitem__(self, index: int) -> Scalar:
        return self.rows[index]

    def __len__(self) -> int:
        return 2


class Adding:
    def __init__(self, loss: Scalar) -> None:
        self.loss = loss

    def __add__(self, other: "Adding") -> "Adding":
        return Adding(self.loss + other.loss)


class Deferred:
    def __init__(self) -> None:
        self.pending: list[Callable[[], Gradients]] = []

    def add(self, loss: Scalar) -> None:
        self.pending.append(lambda: loss.backward(wrt=model))

    def flush(self) -> None:
        for one in self.pending:
            one()
        self.pending.clear()


def logged(function: Callable[[Scalar], None]) -> Callable[[Scalar], None]:
    @functools.wraps(function)
    def inner(loss: Scalar) -> None:
        function(loss)
        assert loss.item() == loss.item()

    return inner


@logged
def logged_step(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model))


def retry(times: int) -> Callable[[Callable[[Scalar], None]], Callable[[Scalar], None]]:
    def decorate(function: Callable[[Scalar], None]) -> Callable[[Scalar], None]:
        def inner(loss: Scalar) -> None:
            for _ in range(times):
                function(loss)

        return inner

    return decorate


@retry(2)
def retried_step(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model))


def curriculum(step: int) -> Callable[[Taped], Scalar]:
    if step == 0:
        return lambda output: output.sum()
    return lambda output: (output * output).mean()


def options(*, loss: Scalar, scale: float = 1.0, **others: Scalar) -> None:
    (loss * scale).backward(wrt=model)
    for other in others.values():
        other.backward(wrt=model)


def training_events() -> Generator[Scalar, Gradients, None]:
    while True:
        grads = yield new_loss()
        opt.step(grads)


def with_siblings(batch: Batch) -> Iterator[tuple[Scalar, Scalar]]:
    h = model(batch.trace())
    yield h.sum(), h.mean()


def delegated() -> Iterator[Scalar]:
    loss = new_loss()
    yield loss
    yield from (loss * factor for factor in (2.0, 3.0))


@contextlib.contextmanager
def amp(loss: Scalar, scale: float) -> Iterator[Scalar]:
    yield loss * scale


class Accumulating:
    def __init__(self) -> None:
        self.losses: list[Scalar] = []

    def __enter__(self) -> "Accumulating":
        return self

    def add(self, loss: Scalar) -> None:
        self.losses.append(loss)

    def __exit__(self, *details: object) -> None:
        for loss in self.losses:
            loss.backward(wrt=model)


class Swallowing:
    def __enter__(self) -> None: ...

    def __exit__(self, *details: object) -> bool:
        return True


class Finishing:
    def __init__(self, loss: Scalar) -> None:
        self.loss = loss

    def __enter__(self) -> Scalar:
        return self.loss

    def __exit__(self, *details: object) -> None:
        self.loss.backward(wrt=model)


async def forward_async(batch: Batch) -> Scalar:
    await asyncio.sleep(0)
    return model(batch.trace()).sum()


async def step_async(loss: Scalar) -> None:
    await asyncio.sleep(0)
    opt.step(loss.backward(wrt=model))


class AsyncFinishing:
    def __init__(self, loss: Scalar) -> None:
        self.loss = loss

    async def __aenter__(self) -> Scalar:
        return self.loss

    async def __aexit__(self, *details: object) -> None:
        self.loss.backward(wrt=model)


def halves(loss: Scalar, depth: int) -> None:
    if depth == 0:
        opt.step(loss.backward(wrt=model))
        return
    halves(loss * 0.5, depth - 1)


def even(loss: Scalar, count: int) -> None:
    if count > 0:
        odd(loss * 2.0, count - 1)
    else:
        loss.backward(wrt=model)


def odd(loss: Scalar, count: int) -> None:
    if count > 0:
        even(loss, count - 1)


def ping(a: Taped, left: int) -> Scalar:
    return pong(a * 2.0, left - 1) if left else a.sum()


def pong(a: Taped, left: int) -> Scalar:
    return ping(a + 1.0, left - 1) if left else a.mean()


@dataclass(frozen=True, slots=True)
class Losses:
    main: Scalar
    extra: tuple[Scalar, ...] = ()

    def each(self) -> Iterator[Scalar]:
        yield self.main
        yield from self.extra


class Step(NamedTuple):
    number: int
    loss: Scalar


class Batchwise(TypedDict):
    loss: Scalar
    logits: Taped


def outputs(batch: Batch) -> Batchwise:
    logits = model(batch.trace())
    return {"loss": logits.sum(), "logits": logits}


def handle(event: tuple[str, Scalar]) -> None:
    match event:
        case ("log", loss):
            assert loss.item() == loss.item()
        case ("step", loss):
            opt.step(loss.backward(wrt=model))
        case _:
            pass


def act(action: str, loss: Scalar) -> None:
    if action == "log":
        loss.item()
    elif action == "step":
        loss.backward(wrt=model)


def apply(loss: Scalar, *, step: bool) -> None:
    if step:
        loss.backward(wrt=model)


class Scheduler:
    def __init__(self) -> None:
        self.jobs: list[tuple[int, Callable[[], None]]] = []

    def at(self, time: int, job: Callable[[], None]) -> None:
        bisect.insort(self.jobs, (time, job), key=operator.itemgetter(0))

    def run(self) -> None:
        while self.jobs:
            _, job = self.jobs.pop(0)
            job()


class Box(Generic[A]):
    def __init__(self, item: A) -> None:
        self.item = item

    def map(self, function: Callable[[A], A]) -> "Box[A]":
        return Box(function(self.item))


def reject_cached_features() -> None:
    trainer = StatefulTrainer()
    trainer.forward(x)
    trainer.step_main()
    trainer.step_auxiliary()  # E(mypy): trainer.step_auxiliary(): self.features was consumed by self.features.sum().backward(wrt=model) on line {-323}; trace again [tapegrad-tape]


def reject_class_registry() -> None:
    LossRegistry.register("main", new_loss())
    LossRegistry.run("main")
    LossRegistry.run("main")  # E(mypy): LossRegistry.run('main'): cls.losses[name] was consumed by cls.losses[name].backward(wrt=model) on line {-313}; trace again [tapegrad-tape]


def reject_fluent_calls() -> None:
    Chain(new_loss()).scaled(2.0).backward().scaled(0.5)  # E(mypy): Chain(...).scaled(...).backward().scaled(...): self.loss was consumed by self.loss.backward(wrt=model) on line {-303}; trace again [tapegrad-tape]


def reject_property_with_setter() -> None:
    one = Closing(new_loss())
    one.loss.backward(wrt=model)
    one.loss = one.loss * 2.0  # E(mypy): one.loss: self._loss shares the tape that one.loss.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_event_emitter() -> None:
    events = Callbacks()
    events.on("step", _use)
    loss = new_loss()
    events.emit("step", loss)
    _use(loss)  # E(mypy): _use(loss): loss was consumed by loss.backward(wrt=model) on line {-287}; trace again [tapegrad-tape]


def reject_lazy_value() -> None:
    lazy = Lazy(new_loss)
    lazy.get().backward(wrt=model)
    lazy.get().backward(wrt=model)  # E(mypy): lazy.get(): self._value shares the tape that lazy.get().backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_getitem_of_an_object() -> None:
    losses = Indexed()
    losses[0].backward(wrt=model)
    losses[0].backward(wrt=model)  # E(mypy): losses[0]: self.rows[index] shares the tape that losses[0].backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_operator_of_a_class() -> None:
    a, b = Adding(new_loss()), Adding(new_loss())
    c = a + b
    c.loss.backward(wrt=model)
    b.loss.backward(wrt=model)  # E(mypy): b.loss.backward(wrt=model): b.loss shares the tape that c.loss.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_deferred_actions() -> None:
    later = Deferred()
    loss = new_loss()
    later.add(loss)
    later.add(loss * 2.0)
    later.flush()  # E(mypy): later.flush(): loss was consumed by loss.backward(wrt=model) on line {-276}; trace again [tapegrad-tape]


def reject_decorated_step() -> None:
    loss = new_loss()
    logged_step(loss)
    logged_step(loss)  # E(mypy): logged_step(loss): loss was consumed by loss.backward(wrt=model) on line {-263}; trace again [tapegrad-tape]


def reject_retried_step() -> None:
    retried_step(new_loss())  # E(mypy): retried_step(new_loss()): loss was consumed by loss.backward(wrt=model) on line {-251}; trace again [tapegrad-tape]


def reject_curriculum() -> None:
    output = model(x.trace())
    for step in range(2):
        opt.step(curriculum(step)(output).backward(wrt=model))  # E(mypy): curriculum(step)(output): output was consumed by curriculum(...)(...).backward(...) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_keyword_options() -> None:
    h = model(x.trace())
    options(loss=h.sum(), extra=h.mean())  # E(mypy): options(loss=h.sum(), extra=h.mean()): other shares the tape that (loss * scale).backward(wrt=model) consumed on line {-252}; trace again [tapegrad-tape]


def reject_generator_with_send() -> None:
    events = training_events()
    loss = next(events)
    events.send(loss.backward(wrt=model))
    events.send(loss.backward(wrt=model))  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-1}; trace again [tapegrad-tape]


def reject_pairs_of_a_generator() -> None:
    for first, second in with_siblings(x):
        first.backward(wrt=model)
        second.backward(wrt=model)  # E(mypy): second.backward(wrt=model): second shares the tape that first.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_delegated_generator() -> None:
    for one in delegated():
        one.backward(wrt=model)  # E(mypy): one.backward(wrt=model): one was consumed by one.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_scaled_loss_twice() -> None:
    loss = new_loss()
    with amp(loss, 128.0) as scaled:
        scaled.backward(wrt=model)
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss shares the tape that scaled.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_losses_added_to_a_manager() -> None:
    h = model(x.trace())
    with Accumulating() as kept:  # E(mypy): end of with Accumulating(): loss was consumed by loss.backward(wrt=model) on line {-243}; trace again [tapegrad-tape]
        kept.add(h.sum())
        kept.add(h.mean())


def reject_swallowed_error_after_backward() -> None:
    loss = new_loss()
    with Swallowing():
        loss.backward(wrt=model)
        raise RuntimeError
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-2}; trace again [tapegrad-tape]


def reject_break_out_of_a_block() -> None:
    loss = new_loss()
    while True:
        with contextlib.suppress(ValueError):
            loss.backward(wrt=model)
            break
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-2}; trace again [tapegrad-tape]


def reject_break_through_a_manager_that_consumes() -> None:
    loss = new_loss()
    for _ in range(3):
        with Finishing(loss):
            break
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss shares the tape that self.loss.backward(wrt=model) consumed on line {-252}; trace again [tapegrad-tape]


def reject_return_through_a_manager_that_consumes() -> None:
    def inner() -> Scalar:
        loss = new_loss()
        with Finishing(loss):
            return loss * 2.0

    inner().backward(wrt=model)  # E(mypy): inner().backward(wrt=model): inner() shares the tape that self.loss.backward(wrt=model) consumed on line {-261}; trace again [tapegrad-tape]


def reject_continue_through_a_manager_that_consumes() -> None:
    loss = new_loss()
    for number in range(2):
        with Finishing(loss):  # E(mypy): Finishing(loss): self.loss was consumed by self.loss.backward(wrt=model) on line {-267}; trace again [tapegrad-tape]
            if number == 0:
                continue


def reject_exception_through_a_manager_that_consumes() -> None:
    loss = new_loss()
    try:
        with Finishing(loss):
            float("three")
    except ValueError:
        loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss shares the tape that self.loss.backward(wrt=model) consumed on line {-278}; trace again [tapegrad-tape]


def reject_async_step_twice() -> None:
    async def main() -> None:
        loss = await forward_async(x)
        await step_async(loss)
        await step_async(loss)

    asyncio.run(main())  # E(mypy): main(): loss was consumed by loss.backward(wrt=model) on line {-277}; trace again [tapegrad-tape]


def reject_gathered_steps() -> None:
    async def main() -> None:
        loss = await forward_async(x)
        await asyncio.gather(step_async(loss), step_async(loss * 2.0))  # E(mypy): loss * 2.0: loss was consumed by loss.backward(wrt=model) on line {-283}; trace again [tapegrad-tape]

    asyncio.run(main())


def reject_async_context_manager() -> None:
    async def main() -> None:
        loss = new_loss()
        async with AsyncFinishing(loss):
            pass
        loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss shares the tape that self.loss.backward(wrt=model) consumed on line {-282}; trace again [tapegrad-tape]

    asyncio.run(main())


def reject_recursion_then_use() -> None:
    loss = new_loss()
    halves(loss, 3)
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-285}; trace again [tapegrad-tape]


def reject_mutual_recursion() -> None:
    loss = new_loss()
    even(loss, 4)
    even(loss, 2)  # E(mypy): even(loss, 2): loss was consumed by loss.backward(wrt=model) on line {-282}; trace again [tapegrad-tape]


def reject_result_of_mutual_recursion() -> None:
    h = model(x.trace())
    ping(h, 3).backward(wrt=model)
    h.sum().backward(wrt=model)  # E(mypy): h.sum(): h was consumed by ping(h, 3).backward(wrt=model) on line {-1}; trace again [tapegrad-tape]


def reject_frozen_dataclass() -> None:
    h = model(x.trace())
    for loss in Losses(h.sum(), (h.mean(),)).each():
        loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_history_of_steps() -> None:
    history = [Step(number, new_loss()) for number in range(2)]
    for step in history:
        step.loss.backward(wrt=model)
    history[-1].loss.backward(wrt=model)  # E(mypy): history[-1].loss.backward(wrt=model): history[-1].loss shares the tape that step.loss.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_typed_dict() -> None:
    out = outputs(x)
    out["loss"].backward(wrt=model)
    out["logits"].mean().backward(wrt=model)  # E(mypy): out['logits'].mean(): out['logits'] shares the tape that out['loss'].backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_dict_union() -> None:
    first = {"a": new_loss()}
    both = first | {"b": new_loss()}
    both["a"].backward(wrt=model)
    first["a"].backward(wrt=model)  # E(mypy): first['a'].backward(wrt=model): first['a'] shares the tape that both['a'].backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_popitem() -> None:
    h = model(x.trace())
    table = {"a": h.sum(), "b": h.mean()}
    while table:
        _, loss = table.popitem()
        loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_tee() -> None:
    first, second = itertools.tee(model(batch.trace()).sum() for batch in batches())
    for loss in first:
        loss.backward(wrt=model)
    for loss in second:
        loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-2}; trace again [tapegrad-tape]


def reject_chain_from_iterable() -> None:
    loss = new_loss()
    groups = [[loss], [loss * 2.0]]
    for one in itertools.chain.from_iterable(groups):
        one.backward(wrt=model)  # E(mypy): one.backward(wrt=model): one was consumed by one.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_starmap() -> None:
    loss = new_loss()

    def scaled(a: Scalar, weight: float) -> Gradients:
        return (a * weight).backward(wrt=model)

    list(itertools.starmap(scaled, [(loss, 1.0), (loss, 2.0)]))  # E(mypy): itertools.starmap(scaled, ...): a was consumed by (a * weight).backward(wrt=model) on line {-2}; trace again [tapegrad-tape]


def reject_slice_assignment() -> None:
    loss = new_loss()
    losses: list[Scalar] = [new_loss()]
    losses[:] = [loss]
    losses[0].backward(wrt=model)
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss shares the tape that losses[0].backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_match_of_a_literal_string() -> None:
    loss = new_loss()
    handle(("step", loss))
    handle(("step", loss))  # E(mypy): handle(...): loss was consumed by loss.backward(wrt=model) on line {-314}; trace again [tapegrad-tape]


def reject_flag() -> None:
    loss = new_loss()
    apply(loss, step=True)
    apply(loss, step=True)  # E(mypy): apply(loss, step=True): loss was consumed by loss.backward(wrt=model) on line {-306}; trace again [tapegrad-tape]


def reject_partial_in_a_table() -> None:
    loss = new_loss()
    table: Mapping[str, Callable[[], None]] = {
        "once": partial(apply, loss, step=True),
        "again": partial(apply, loss, step=True),
    }
    for run in table.values():
        run()  # E(mypy): run(): loss was consumed by loss.backward(wrt=model) on line {-316}; trace again [tapegrad-tape]


def reject_scheduled_jobs() -> None:
    scheduler = Scheduler()
    loss = new_loss()
    scheduler.at(1, partial(apply, loss, step=True))
    scheduler.at(2, partial(apply, loss, step=True))
    scheduler.run()  # E(mypy): scheduler.run(): loss was consumed by loss.backward(wrt=model) on line {-324}; trace again [tapegrad-tape]


def reject_executor_futures() -> None:
    loss = new_loss()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(apply, loss, step=True) for _ in range(2)]  # E(mypy): pool.submit(apply, loss, step=True): loss was consumed by loss.backward(wrt=model) on line {-330}; trace again [tapegrad-tape]
        for one in futures:
            one.result()


def reject_generic_box() -> None:
    box = Box(new_loss())
    twice = box.map(lambda loss: loss * 2.0)
    twice.item.backward(wrt=model)
    box.item.backward(wrt=model)  # E(mypy): box.item.backward(wrt=model): box.item shares the tape that twice.item.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def accept_renewed_features() -> None:
    trainer = StatefulTrainer()
    trainer.forward(x)
    trainer.step_main()
    trainer.forward(x)
    trainer.step_auxiliary()


def accept_fluent_calls() -> None:
    Chain(new_loss()).scaled(2.0).scaled(0.5).backward()


def accept_property_with_setter() -> None:
    one = Closing(new_loss())
    one.loss.backward(wrt=model)
    one.loss = new_loss()
    one.loss.backward(wrt=model)


def accept_event_emitter() -> None:
    events = Callbacks()
    events.on("step", _use)
    for batch in batches():
        events.emit("step", model(batch.trace()).sum())


def accept_lazy_values() -> None:
    for _ in range(2):
        Lazy(new_loss).get().backward(wrt=model)


def accept_getitem_of_an_object() -> None:
    losses = Indexed()
    losses[0].backward(wrt=model)
    losses[1].backward(wrt=model)


def accept_deferred_actions() -> None:
    later = Deferred()
    later.add(new_loss())
    later.add(new_loss())
    later.flush()


def accept_decorated_step() -> None:
    logged_step(new_loss())
    logged_step(new_loss())


def accept_curriculum() -> None:
    for step in range(2):
        opt.step(curriculum(step)(model(x.trace())).backward(wrt=model))


def accept_keyword_options() -> None:
    options(loss=new_loss(), extra=new_loss())


def accept_generator_with_send() -> None:
    events = training_events()
    loss = next(events)
    for _ in range(2):
        loss = events.send(loss.backward(wrt=model))


def accept_pairs_of_a_generator() -> None:
    for first, second in with_siblings(x):
        (first + second).backward(wrt=model)


def accept_losses_added_to_a_manager() -> None:
    with Accumulating() as kept:
        kept.add(new_loss())
        kept.add(new_loss())


def accept_return_in_a_block() -> None:
    def run(*, early: bool) -> None:
        loss = new_loss()
        with Swallowing():
            if early:
                loss.backward(wrt=model)
                return
        loss.backward(wrt=model)

    run(early=True)
    run(early=False)


def accept_break_through_a_manager() -> None:
    for _ in range(3):
        with Finishing(new_loss()):
            break
    new_loss().backward(wrt=model)


def accept_async_steps() -> None:
    async def main() -> None:
        for batch in batches():
            await step_async(await forward_async(batch))

    asyncio.run(main())


def accept_gathered_forwards() -> None:
    async def main() -> None:
        a, b = await asyncio.gather(forward_async(x), forward_async(x))
        await step_async(a + b)

    asyncio.run(main())


def accept_recursion_then_new() -> None:
    halves(new_loss(), 3)
    halves(new_loss(), 2)


def accept_result_of_mutual_recursion() -> None:
    ping(model(x.trace()), 3).backward(wrt=model)
    pong(model(x.trace()), 2).backward(wrt=model)


def accept_frozen_dataclass() -> None:
    for loss in Losses(new_loss(), (new_loss(),)).each():
        loss.backward(wrt=model)


def accept_history_of_steps() -> None:
    history = [Step(number, new_loss()) for number in range(2)]
    for step in history:
        step.loss.backward(wrt=model)
    assert history[-1].loss.item() == history[-1].loss.item()


def accept_typed_dict() -> None:
    out = outputs(x)
    out["loss"].backward(wrt=model)
    assert out["logits"].shape == (3, 2)


def accept_dict_union() -> None:
    first = {"a": new_loss()}
    both = first | {"b": new_loss()}
    for one in both.values():
        one.backward(wrt=model)


def accept_popitem() -> None:
    table = {"a": new_loss(), "b": new_loss()}
    while table:
        _, loss = table.popitem()
        loss.backward(wrt=model)


def accept_chain_from_iterable() -> None:
    groups = [[new_loss()], [new_loss()]]
    for one in itertools.chain.from_iterable(groups):
        one.backward(wrt=model)


def accept_match_of_a_literal_string() -> None:
    loss = new_loss()
    handle(("log", loss))
    handle(("step", loss))


def accept_action_by_string() -> None:
    loss = new_loss()
    act("log", loss)
    act("step", loss)


def accept_flag() -> None:
    loss = new_loss()
    apply(loss, step=False)
    apply(loss, step=True)


def accept_partial_in_a_table() -> None:
    table = {"once": partial(apply, new_loss(), step=True), "again": partial(apply, new_loss(), step=True)}
    for run in table.values():
        run()


def accept_scheduled_jobs() -> None:
    scheduler = Scheduler()
    scheduler.at(1, partial(apply, new_loss(), step=True))
    scheduler.at(2, partial(apply, new_loss(), step=True))
    scheduler.run()


def accept_executor_futures() -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(apply, new_loss(), step=True) for _ in range(2)]
        for one in futures:
            one.result()
