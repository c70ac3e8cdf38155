"""Recursion, exceptions in context managers, cycles, weak references, and functions in `*args` and `**options`."""

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator

import tapegrad as tg
from tapegrad import Gradients, OwnedTape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)
opt = optim.SGD(model, lr=0.001)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def _step(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model))


def _read(loss: Scalar) -> None:
    assert loss.item() == loss.item()


def _fail() -> None:
    raise ValueError


def rotated(a: Scalar, b: Scalar, c: Scalar, left: int) -> None:
    if left == 0:
        _step(a)
        return
    rotated(b, c, a, left - 1)


def at_the_end(loss: Scalar, n: int) -> None:
    if n == 1:
        _step(loss)
        return
    at_the_end(loss, n - 1)
    _read(loss)


def halved(loss: Scalar, n: int) -> Gradients:
    if n == 1:
        return loss.backward(wrt=model)
    return halved(loss * 0.5, n - 1)


def unless_last(loss: Scalar, n: int) -> None:
    if n == 1:
        return
    _step(loss)
    unless_last(new_loss(), n - 1)


def each_level(loss: Scalar, n: int) -> None:
    _step(loss)
    if n == 1:
        return
    each_level(new_loss(), n - 1)


def reject_the_third_level_of_a_recursion() -> None:
    a, b, c = new_loss(), new_loss(), new_loss()
    rotated(a, b, c, 2)
    _step(c)  # E(mypy): _step(c): c shares the tape that loss.backward(wrt=model) consumed on line {-49}; trace again [tapegrad-tape]


def reject_a_loss_after_the_base_case() -> None:
    loss = new_loss()
    at_the_end(loss, 3)
    _step(loss)  # E(mypy): _step(loss): loss was consumed by loss.backward(wrt=model) on line {-55}; trace again [tapegrad-tape]


def accept_a_base_case_that_consumes() -> None:
    at_the_end(new_loss(), 1)
    at_the_end(new_loss(), 3)
    opt.step(halved(new_loss(), 1))
    opt.step(halved(new_loss(), 3))
    unless_last(new_loss(), 1)
    unless_last(new_loss(), 3)
    each_level(new_loss(), 3)


def accept_the_base_case_alone() -> None:
    loss = new_loss()
    unless_last(loss, 1)
    _step(loss)


@contextlib.contextmanager
def stepping_on_errors(loss: Scalar) -> Iterator[None]:
    try:
        yield
    except ValueError:
        loss.backward(wrt=model)


@contextlib.contextmanager
def stepping_at_the_end(loss: Scalar) -> Iterator[None]:
    try:
        yield
    finally:
        loss.backward(wrt=model)


@contextlib.contextmanager
def stepping_unless_it_fails(loss: Scalar) -> Iterator[None]:
    try:
        yield
    except ValueError:
        return
    loss.backward(wrt=model)


@contextlib.contextmanager
def renewing(losses: list[Scalar]) -> Iterator[None]:
    try:
        yield
    except ValueError:
        losses[:] = [new_loss()]


def reject_a_manager_that_steps_on_errors() -> None:
    loss = new_loss()
    with stepping_on_errors(loss):
        _fail()
    loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-32}; trace again [tapegrad-tape]


def reject_a_manager_that_steps_in_its_finally() -> None:
    loss = new_loss()
    try:
        with stepping_at_the_end(loss):
            _fail()
    except ValueError:
        loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-33}; trace again [tapegrad-tape]


def reject_a_block_that_steps_before_its_manager() -> None:
    loss = new_loss()
    with stepping_on_errors(loss):  # E(mypy): end of with stepping_on_errors(loss): loss was consumed by loss.backward(wrt=model) on line {+1}; trace again [tapegrad-tape]
        loss.backward(wrt=model)
        _fail()


def accept_a_manager_that_steps_on_errors() -> None:
    loss = new_loss()
    with stepping_on_errors(loss):
        _fail()
    loss = new_loss()
    loss.backward(wrt=model)


def accept_a_manager_that_steps_unless_it_fails() -> None:
    loss = new_loss()
    try:
        with stepping_unless_it_fails(loss):
            _read(loss)
    except KeyError:
        _read(loss)


def accept_a_manager_that_renews() -> None:
    losses = [new_loss()]
    with renewing(losses):
        _step(losses[0])
        _fail()
    _step(losses[0])


def reject_a_cycle() -> None:
    losses = [new_loss(), new_loss()]
    for number, loss in enumerate(itertools.cycle(losses)):
        assert loss.backward(wrt=model).norm() > 0.0  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
        if number == 4:
            break


def reject_a_cycle_beside_batches() -> None:
    losses = [model(batch.trace()).sum() for batch in (x, x * 2.0, x * 3.0)]
    for factor, loss in zip((1.0, 2.0, 3.0, 4.0), itertools.cycle(losses), strict=False):
        assert (loss * factor).backward(wrt=model).norm() > 0.0  # E(mypy): loss * factor: loss was consumed by (loss * factor).backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_a_cycle_of_functions() -> None:
    functions: list[Callable[[], Scalar]] = [new_loss, lambda: new_loss() * 2.0]
    for number, make in enumerate(itertools.cycle(functions)):
        _step(make())
        if number == 4:
            break


def accept_each_of_a_cycle_once() -> None:
    losses = itertools.cycle([new_loss(), new_loss()])
    first, second = next(losses), next(losses)
    opt.step((first + second).backward(wrt=model))


class Held:
    def __init__(self, loss: Scalar) -> None:
        self.loss = loss


def reject_a_weak_reference() -> None:
    loss = new_loss()
    reference = weakref.ref(loss)
    referent = reference()
    assert referent is not None
    _step(referent)
    _step(loss)  # E(mypy): _step(loss): loss was consumed by loss.backward(wrt=model) on line {-194}; trace again [tapegrad-tape]


def reject_a_weak_reference_to_an_object() -> None:
    held = Held(new_loss())
    reference = weakref.ref(held)
    _step(held.loss)
    referent = reference()
    assert referent is not None
    _step(referent.loss)  # E(mypy): _step(referent.loss): referent.loss shares the tape that loss.backward(wrt=model) consumed on line {-203}; trace again [tapegrad-tape]


def accept_a_weak_reference() -> None:
    held = Held(new_loss())
    reference = weakref.ref(held)
    _step(held.loss)
    held.loss = new_loss()
    referent = reference()
    assert referent is not None
    _step(referent.loss)


def call_each(loss: Scalar, *functions: Callable[[Scalar], None]) -> None:
    for function in functions:
        function(loss)


def call_named(loss: Scalar, **hooks: Callable[[Scalar], None]) -> None:
    for hook in hooks.values():
        hook(loss)


def call_hook(loss: Scalar, **hooks: Callable[[Scalar], None]) -> None:
    hooks["before"](loss)
    hooks["after"](loss)


def passed_on(function: Callable[..., None], *args: Scalar, **options: Callable[[Scalar], None]) -> None:
    function(*args, **options)


def reject_functions_by_position() -> None:
    call_each(new_loss(), _step, _read, _step)  # E(mypy): call_each(...): loss was consumed by loss.backward(wrt=model) on line {-236}; trace again [tapegrad-tape]


def reject_functions_by_name() -> None:
    call_named(new_loss(), first=_step, second=_step)  # E(mypy): call_named(...): loss was consumed by loss.backward(wrt=model) on line {-240}; trace again [tapegrad-tape]


def reject_hooks_by_name() -> None:
    call_hook(new_loss(), before=_step, after=_step)  # E(mypy): call_hook(...): loss was consumed by loss.backward(wrt=model) on line {-244}; trace again [tapegrad-tape]


def reject_functions_in_a_starred_list() -> None:
    functions = [_step, _step]
    call_each(new_loss(), *functions)  # E(mypy): call_each(new_loss(), functions): loss was consumed by loss.backward(wrt=model) on line {-249}; trace again [tapegrad-tape]


def reject_functions_in_a_starred_dictionary() -> None:
    hooks = {"first": _step, "second": _step}
    call_named(new_loss(), **hooks)  # E(mypy): call_named(new_loss(), hooks): loss was consumed by loss.backward(wrt=model) on line {-254}; trace again [tapegrad-tape]


def reject_functions_that_are_passed_on() -> None:
    passed_on(call_hook, new_loss(), before=_step, after=_step)  # E(mypy): passed_on(...): loss was consumed by loss.backward(wrt=model) on line {-258}; trace again [tapegrad-tape]


def reject_a_loss_after_it_was_passed_on() -> None:
    loss = new_loss()
    passed_on(_step, loss)
    _step(loss)  # E(mypy): _step(loss): loss was consumed by loss.backward(wrt=model) on line {-264}; trace again [tapegrad-tape]


def accept_functions_by_position() -> None:
    call_each(new_loss(), _read, _read, _step)


def accept_functions_by_name() -> None:
    call_named(new_loss(), first=_read, second=_step)


def accept_hooks_that_are_passed_on() -> None:
    passed_on(call_hook, new_loss(), before=_read, after=_step)
