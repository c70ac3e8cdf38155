"""Tapes in functions that are stored and called later: handlers, overloads by class, generators, bound methods."""

from collections import UserDict, defaultdict
from collections.abc import Callable, Generator
from functools import reduce, singledispatch, singledispatchmethod
from typing import Generic, TypeVar
from typing import Literal as L

import tapegrad as tg
from tapegrad import OwnedTape, Shape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]
Taped = Tensor[Shape[L[3], L[2]], OwnedTape]
Handler = Callable[[Scalar], None]
Op = Callable[[Scalar], Scalar]
T = TypeVar("T")

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def step(loss: Scalar) -> None:
    loss.backward()


def show(loss: Scalar) -> None:
    assert loss.item() < 1e9


class Events:
    """Handlers by the name of an event, which a decorator or a method adds."""

    def __init__(self) -> None:
        self.handlers: dict[str, list[Handler]] = defaultdict(list)

    def on(self, name: str) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.handlers[name].append(handler)
            return handler

        return register

    def emit(self, name: str, loss: Scalar) -> None:
        for handler in self.handlers[name]:
            handler(loss)


stepping = Events()
showing = Events()


@stepping.on("step")
def step_of_the_event(loss: Scalar) -> None:
    loss.backward()


@showing.on("step")
def show_of_the_event(loss: Scalar) -> None:
    assert loss.item() < 1e9


def reject_a_loss_that_a_decorated_handler_consumes() -> None:
    loss = new_loss()
    stepping.emit("step", loss)
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-11}; trace again [tapegrad-tape]


def accept_a_loss_that_a_decorated_handler_shows() -> None:
    loss = new_loss()
    showing.emit("step", loss)
    loss.backward()


def reject_two_handlers_that_step() -> None:
    events = Events()
    events.on("step")(step)
    events.on("step")(step)
    events.emit("step", new_loss())  # E(mypy): events.emit('step', new_loss()): loss was consumed by loss.backward() on line {-55}; trace again [tapegrad-tape]


def accept_one_handler_that_steps() -> None:
    events = Events()
    events.on("step")(show)
    events.on("step")(step)
    events.on("step")(show)
    events.on("end")(step)
    events.emit("step", new_loss())


@singledispatch
def finish(_: object) -> None:
    return None


@finish.register(Tensor)
def finish_loss(loss: Scalar) -> None:
    loss.backward()


def reject_a_loss_that_is_finished_by_its_class() -> None:
    loss = new_loss()
    finish(loss)
    finish(loss)  # E(mypy): finish(loss): loss was consumed by loss.backward() on line {-6}; trace again [tapegrad-tape]


def accept_losses_that_are_finished_by_their_class() -> None:
    loss = new_loss()
    finish(loss.item())
    finish(3)
    finish(loss)


def reject_a_loss_of_a_user_dict() -> None:
    losses: UserDict[str, Scalar] = UserDict()
    losses["first"] = new_loss()
    for _ in range(2):
        losses["first"].backward()  # E(mypy): losses['first'].backward(): losses['first'] was consumed by losses['first'].backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_new_losses_in_a_user_dict() -> None:
    losses: UserDict[str, Scalar] = UserDict()
    for _ in range(2):
        losses["first"] = new_loss()
        losses["first"].backward()


def stepping_on_what_it_is_sent() -> Generator[float, Scalar, None]:
    value = 0.0
    while True:
        loss = yield value
        value = loss.item()
        loss.backward()


def reject_a_loss_that_is_sent_twice() -> None:
    steps = stepping_on_what_it_is_sent()
    next(steps)
    loss = new_loss()
    steps.send(loss)
    steps.send(loss)  # E(mypy): steps.send(loss): loss was consumed by loss.backward() on line {-8}; trace again [tapegrad-tape]


def accept_new_losses_that_are_sent() -> None:
    steps = stepping_on_what_it_is_sent()
    next(steps)
    for _ in range(3):
        steps.send(new_loss())


def adding_what_it_is_sent() -> Generator[None, Scalar, None]:
    total: Scalar | None = None
    count = 0
    while True:
        loss = yield
        total = loss if total is None else total + loss
        count += 1
        if count % 2 == 0:
            total.backward()
            total = None


def accept_losses_that_are_added_by_twos() -> None:
    steps = adding_what_it_is_sent()
    next(steps)
    for _ in range(4):
        steps.send(new_loss())


def both(first: Callable[[], Scalar], second: Callable[[], Scalar]) -> None:
    first().backward()
    second().backward()


def reject_two_methods_of_one_tensor() -> None:
    output = model(x.trace())
    both(output.sum, output.mean)  # E(mypy): both(output.sum, output.mean): output shares the tape that first().backward() consumed on line {-6}; trace again [tapegrad-tape]


def accept_methods_of_two_tensors() -> None:
    both(model(x.trace()).sum, model(x.trace()).mean)


def compose(*functions: Op) -> Op:
    def composed(loss: Scalar) -> Scalar:
        return reduce(lambda value, function: function(value), functions, loss)

    return composed


def compose_by_twos(*functions: Op) -> Op:
    def both_in_turn(first: Op, second: Op) -> Op:
        return lambda loss: second(first(loss))

    return reduce(both_in_turn, functions)


def doubled(loss: Scalar) -> Scalar:
    return loss * 2.0


def stepped(loss: Scalar) -> Scalar:
    loss.backward()
    return new_loss()


def reject_a_loss_that_composed_functions_consume() -> None:
    loss = new_loss()
    compose(doubled, stepped)(loss)
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-7}; trace again [tapegrad-tape]


def reject_a_loss_that_functions_composed_by_twos_consume() -> None:
    composed = compose_by_twos(stepped, doubled)
    loss = new_loss()
    composed(loss)
    composed(loss)  # E(mypy): composed(loss): loss was consumed by loss.backward() on line {-14}; trace again [tapegrad-tape]


def accept_composed_functions_that_consume_nothing() -> None:
    compose(doubled, doubled)(new_loss()).backward()
    composed = compose_by_twos(doubled, stepped, doubled)
    for _ in range(2):
        composed(new_loss()).backward()


class Loop:
    """A loss, and what is done with it at each kind of event."""

    def __init__(self) -> None:
        self.loss = new_loss()
        self.names: list[str] = []

    @singledispatchmethod
    def on(self, _: object) -> None:
        return None

    @on.register
    def on_step(self, number: int) -> None:
        (self.loss * number).backward()

    @on.register
    def on_name(self, name: str) -> None:
        self.names.append(name)


def reject_a_loss_that_a_method_selected_by_class_consumes() -> None:
    loop = Loop()
    loop.on("start")
    loop.on(1)
    loop.loss.backward()  # E(mypy): loop.loss.backward(): loop.loss shares the tape that (self.loss * number).backward() consumed on line {-11}; trace again [tapegrad-tape]


def accept_methods_selected_by_class_before_the_step() -> None:
    loop = Loop()
    loop.on("start")
    loop.on(0.5)
    loop.loss.backward()


class Weighted:
    """A loss function with a weight."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def __call__(self, output: Taped) -> Scalar:
        return output.square().mean() * self.weight


class Trainer(Generic[T]):
    """Makes a step for each loss function."""

    def __init__(self, *functions: Callable[[T], Scalar]) -> None:
        self.functions = functions

    def train(self, item: T) -> None:
        for function in self.functions:
            function(item).backward()


def reject_two_callable_objects_on_one_output() -> None:
    trainer = Trainer[Taped](Weighted(1.0), Weighted(0.5))
    trainer.train(model(x.trace()))  # E(mypy): trainer.train(model(x.trace())): output shares the tape that function(item).backward() consumed on line {-5}; trace again [tapegrad-tape]


def accept_one_callable_object_on_each_output() -> None:
    trainer = Trainer[Taped](Weighted(1.0))
    for _ in range(2):
        trainer.train(model(x.trace()))


def reject_two_handlers_that_are_decorated_in_a_function() -> None:
    handlers: list[Handler] = []

    def register(handler: Handler) -> Handler:
        handlers.append(handler)
        return handler

    @register
    def first(loss: Scalar) -> None:
        loss.backward()

    @register
    def second(loss: Scalar) -> None:
        (loss * 2.0).backward()

    loss = new_loss()
    for handler in handlers:
        handler(loss)  # E(mypy): handler(loss): loss was consumed by loss.backward() on line {-8}; trace again [tapegrad-tape]


def accept_handlers_that_are_decorated_in_a_function() -> None:
    handlers: list[Handler] = []

    def register(handler: Handler) -> Handler:
        handlers.append(handler)
        return handler

    @register
    def first(loss: Scalar) -> None:
        loss.backward()

    @register
    def second(loss: Scalar) -> None:
        assert loss.item() < 1e9

    loss = new_loss()
    for handler in handlers:
        handler(loss)


measures: list[Callable[[Tensor], Tensor]] = [lambda one: one.sum(), lambda one: one.mean()]


def reject_a_multiple_of_a_loss_of_unknown_tape() -> None:
    loss = measures[0](tg.ones((3, 5)).trace())
    loss.backward()
    2.0 * loss  # E(mypy): 2.0 * loss: loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_the_negative_of_a_loss_of_unknown_tape() -> None:
    loss = measures[0](tg.ones((3, 5)).trace())
    loss.backward()
    -loss  # E(mypy): -loss: loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]
