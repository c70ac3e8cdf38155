"""Large parameters are updated in place, unless their array has other references."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.autograd.gradients import Gradients
from tapegrad.engines import engine
from tapegrad.engines.numba.engine import use_fast
from tapegrad.engines.numpy.threads import set_threads
from tests.engines.test_buffers import LOOKS, place_of
from tests.optim.test_packing import any_optimizer, of_one_number
from tests.optim.test_packing import gradients as gradients_of

pytest.importorskip("numba")

SHAPES = [(517, 513), (3, 101, 1009), (7, 5)]  # the last is small, and lies in a row


@pytest.fixture(autouse=True)
def _with_kernels() -> Iterator[None]:
    set_threads(2)
    use_fast(is_on=True)
    yield
    set_threads(None)


def parameters(dtype: Any = np.float32) -> list[nn.Param[Any, Any]]:
    rng = np.random.default_rng(0)
    return [nn.Param(tg.tensor(rng.normal(size=shape).astype(dtype))) for shape in SHAPES]


def gradients(of: list[nn.Param[Any, Any]], seed: int) -> Gradients:
    return gradients_of(dict(enumerate(of)), seed)


def places(of: list[nn.Param[Any, Any]], optimizer: optim.Optimizer[Any]) -> list[int]:
    """Return the addresses of the values of large parameters and of their optimizer state."""
    large = [str(place) for place in range(2)]
    state = {name: array for name, array in optimizer.arrays().items() if name[1:2] in large and array.ndim}
    return [*(place_of(x.data) for x in of[:2]), *map(place_of, state.values())]


def bits(of: list[nn.Param[Any, Any]], optimizer: optim.Optimizer[Any]) -> list[bytes]:
    return [*(x.numpy().tobytes() for x in of), *(array.tobytes() for array in optimizer.arrays().values())]


@any_optimizer
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_in_place_is_bit_identical_to_one_into_new_arrays(kind: Any, options: Any, dtype: Any) -> None:
    of, others = parameters(dtype), parameters(dtype)
    ours, theirs = kind(of, **options), kind(others, **options)

    for seed in range(4):
        before, seen = places(of, ours), [x.numpy() for x in others]
        elsewhere = places(others, theirs)
        ours.step(gradients(of, seed))
        theirs.step(gradients(others, seed))

        if seed:  # before the first step there is no state, and `arrays` creates it
            assert places(of, ours) == before
            assert not {*places(others, theirs)} & {*elsewhere}
        assert bits(of, ours) == bits(others, theirs)
        del seen


def test_large_parameters_of_several_dtypes_are_all_updated_in_place() -> None:
    of, others = ([*parameters(np.float32), *parameters(np.float64)] for _ in range(2))
    ours, theirs = optim.Adam(of), optim.Adam(others)

    for seed in range(3):
        seen = [x.numpy() for x in others]
        ours.step(gradients(of, seed))
        theirs.step(gradients(others, seed))
        assert bits(of, ours) == bits(others, theirs)
        del seen


def test_an_array_of_one_of_several_dtypes_that_is_referenced_elsewhere_stays_unchanged() -> None:
    of = [*parameters(np.float32), *parameters(np.float64)]
    optimizer = optim.Adam(of)
    for seed in range(2):
        optimizer.step(gradients(of, seed))
    held = of[0].data
    before = np.array(held)

    optimizer.step(gradients(of, 2))

    np.testing.assert_array_equal(held, before)


def stepped() -> tuple[list[nn.Param[Any, Any]], optim.Optimizer[Any]]:
    """Return parameters, and what has changed them twice: from then on in place."""
    of = parameters()
    optimizer = optim.Adam(of)
    for seed in range(2):
        optimizer.step(gradients(of, seed))
    return of, optimizer


WHAT: dict[str, Any] = {
    "values": lambda of, _: of[0].data,
    "memory": lambda of, optimizer: optimizer.state[of[0]].second,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("what", WHAT.values(), ids=WHAT)
def test_an_array_that_is_referenced_elsewhere_stays_unchanged(what: Any, look: Any) -> None:
    of, optimizer = stepped()
    before, place, seen = what(of, optimizer).copy(), place_of(what(of, optimizer)), look(what(of, optimizer))

    optimizer.step(gradients(of, 2))

    assert place_of(what(of, optimizer)) != place
    numbers = (ctypes.c_float * before.size).from_address(place)  # which `seen` holds
    np.testing.assert_array_equal(np.frombuffer(numbers, np.float32), before.ravel())
    del seen


HELD: dict[str, Any] = {
    "a state": lambda of, optimizer: optimizer.state[of[0]],
    "all states": lambda _, optimizer: dict(optimizer.state),
    "arrays": lambda _, optimizer: optimizer.arrays(),
    "a function": lambda of, _: partial(np.add, of[0].data),
}


@pytest.mark.parametrize("hold", HELD.values(), ids=HELD)
def test_every_kind_of_reference_is_detected(hold: Any) -> None:
    of, optimizer = stepped()
    state: Any = optimizer.state[of[0]]
    first = state.first.copy()
    del state
    held = hold(of, optimizer)
    before = places(of, optimizer)

    optimizer.step(gradients(of, 2))

    assert not {*places(of, optimizer)} & {*before}
    if isinstance(held, dict) and of[0] in held:
        np.testing.assert_array_equal(held[of[0]].first, first)
    optimizer.step(gradients(of, 3))
    del held


def test_no_parameter_is_changed_twice_if_another_is_referenced() -> None:
    ones = np.ones((517, 513), np.float32)
    of = {name: nn.Param(tg.tensor(ones)) for name in ("first", "second")}
    optimizer = optim.SGD(of, lr=1.0, groups={"second": optim.Group(lr=2.0)})
    seen = of["second"].numpy()

    optimizer.step(of_one_number([*of.values()], 1))

    assert [float(x.numpy().max()) for x in of.values()] == [0.0, -1.0]
    assert (seen == 1).all()


def test_a_step_is_in_place_again_when_references_are_gone() -> None:
    of, optimizer = stepped()
    seen = of[0].numpy()
    optimizer.step(gradients(of, 2))
    before = places(of, optimizer)

    optimizer.step(gradients(of, 3))

    assert places(of, optimizer) == before
    del seen


def test_a_single_parameter_is_updated_in_place() -> None:
    parameter = nn.Param(tg.zeros((1 << 19,)))
    optimizer, grads = optim.SGD([parameter], lr=1.0), of_one_number([parameter], 1)
    place = place_of(parameter.data)

    optimizer.step(grads)

    assert place_of(parameter.data) == place
    assert (parameter.numpy() == -1).all()


def test_many_threads_are_as_fast_in_new_arrays() -> None:
    set_threads(5)
    of, optimizer = stepped()
    before = places(of, optimizer)

    optimizer.step(gradients(of, 2))

    assert not {*places(of, optimizer)} & {*before}


def test_a_tape_from_before_a_step_in_place_cannot_run_backward() -> None:
    of, optimizer = stepped()
    x = tg.ones((513,)).trace()
    loss = (x * of[0]).sum()
    optimizer.step(gradients(of, 2))

    with pytest.raises(tg.TapeError, match="version"):
        loss.backward()


def test_other_threads_see_the_values_before_or_after_a_step() -> None:
    parameter = nn.Param(tg.zeros((1 << 19,)))
    optimizer, grads = optim.SGD([parameter], lr=1.0), of_one_number([parameter], -1)
    torn: list[Any] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            values = parameter.numpy()
            first, last = float(values.min()), float(values.max())
            if first != last or not (values == first).all():
                torn.append((first, last))
            del values

    readers = [threading.Thread(target=read) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for reader in readers:
            reader.start()
        for _ in range(300):
            optimizer.step(grads)
    finally:
        is_done.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)

    assert not torn
    assert (parameter.numpy() == 300).all()


@dataclass
class Counted:
    """A state that its optimizer writes to."""

    steps: int
    total: Any


@dataclass(frozen=True)
class Two:
    """A state of two arrays."""

    first: Any
    second: Any


def of_state(start: Any, update: Any) -> optim.Optimizer[Any]:
    """Return an optimizer of a large parameter, with a state that is started and updated so."""

    class Given(optim.Optimizer[Any]):
        @override
        def start(self, x: Any) -> Any:
            return start(x)

        @override
        @optim.elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            return update(x, dx, state)

    return Given([nn.Param(tg.ones((517, 523)))], lr=1.0)


def counting(x: Any, dx: Any, state: Counted) -> Any:
    state.steps += 1
    return x - dx, Counted(state.steps, state.total + dx)


def two(x: Any) -> Two:
    return Two(np.zeros_like(x), np.ones_like(x))


NOT_IN_PLACE: dict[str, tuple[Any, Any, list[float]]] = {
    "a state that is written to": (lambda x: Counted(0, np.zeros_like(x)), counting, [-2.0, 3.0]),
    "arrays that change places": (two, lambda x, dx, state: (x - dx, Two(state.second, state.first)), [-2.0, 1.0, 0.0]),
    "one result in two places": (two, lambda x, dx, _: (x - dx, Two(x + dx, x + dx)), [-2.0, 0.0, 0.0]),
    "what is not read": (two, lambda x, dx, _: (x - dx, Two(x * dx, dx + 1)), [-2.0, -1.0, 2.0]),
    "another dtype": (two, lambda x, dx, state: (x - dx, Two(state.first + 1, x > 0)), [-2.0, 3.0, 0.0]),
    "what no kernel is written of": (
        two,
        lambda x, dx, _: (x - engine(dx).map("floor", dx), Two(x, dx)),
        [-2.0, -1.0, 1.0],
    ),
}


@pytest.mark.parametrize(("start", "update", "expected"), NOT_IN_PLACE.values(), ids=NOT_IN_PLACE)
def test_updates_that_cannot_be_in_place_use_new_arrays(start: Any, update: Any, expected: list[float]) -> None:
    optimizer = of_state(start, update)
    (parameter,) = optimizer.parameters.values()
    grads = of_one_number([parameter], 1)

    for _ in range(3):
        place = place_of(parameter.data)
        optimizer.step(grads)
        assert place_of(parameter.data) != place

    arrays = [parameter.data, *(array for array in optimizer.arrays().values() if array.ndim)]
    assert [float(array.min()) for array in arrays] == expected
    assert [float(array.max()) for array in arrays] == expected


OTHERS: dict[str, Any] = {
    "columns before rows": lambda: np.ones((523, 517), np.float32).T,
    "a part of a larger one": lambda: np.ones((518, 523), np.float32)[1:],
    "read-only": lambda: np.frombuffer(bytes(4 * 517 * 523), np.float32).reshape(517, 523),
    "a buffer": lambda: np.frombuffer(bytearray(4 * 517 * 523), np.float32).reshape(517, 523),
}


@pytest.mark.parametrize("made_of", OTHERS.values(), ids=OTHERS)
def test_an_array_that_does_not_own_its_memory_is_unchanged(made_of: Any) -> None:
    parameter = nn.Param(tg.zeros((517, 523)))
    parameter.replace(made_of())
    optimizer, grads = optim.SGD([parameter], lr=1.0), of_one_number([parameter], 1)
    array: Any = parameter.data
    before = array.copy()

    optimizer.step(grads)

    np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(parameter.numpy(), before - 1)
