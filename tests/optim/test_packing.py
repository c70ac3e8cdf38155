"""Small parameters are packed into one array and updated together, with bit-identical results."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from tapegrad.autograd.gradients import Gradients
from tapegrad.engines import engine
from tapegrad.engines.numba.engine import Fast, use_fast
from tapegrad.errors import ShapeError
from tapegrad.nn import Param
from tapegrad.ops import tensor
from tapegrad.optim import SGD, Adadelta, Adam, AdamW, Group, Optimizer, RMSprop, elementwise

SHAPES: list[tuple[int, ...]] = [(3, 5), (7,), (), (1, 2, 3), (0, 4), (110, 115), (33, 31)]  # the last but one is large

BIG_SHAPES: list[tuple[int, ...]] = [(517, 523), (3, 101, 1009), (1031, 523)]  # the last is updated tile by tile


def alone(kind: Any) -> Any:
    """Return the same optimizer, which is given each parameter by itself."""

    def update(self: Any, x: Any, dx: Any, state: Any, lr: float) -> Any:
        return kind.update(self, x, dx, state, lr)

    return type(kind.__name__, (kind,), {"update": update})


def groups() -> Any:
    return {"bias*": Group(lr=0.3), "*5": Group(weight_decay=0.5)}


OPTIMIZERS: list[tuple[Any, dict[str, Any]]] = [
    (SGD, {"lr": 0.1}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (SGD, {"lr": 0.1, "weight_decay": 0.1, "decoupled": True}),
    (Adam, {"lr": 0.01}),
    (AdamW, {"lr": 0.01}),
    (RMSprop, {"lr": 0.01}),
    (RMSprop, {"lr": 0.01, "momentum": 0.5}),
    (RMSprop, {"lr": 0.01, "centered": True}),
    (RMSprop, {"lr": 0.01, "momentum": 0.5, "centered": True}),
    (Adadelta, {}),
]
any_optimizer = pytest.mark.parametrize(("kind", "options"), OPTIMIZERS)


@pytest.fixture
def without_kernels() -> Iterator[None]:
    was_on = type(engine(np.ones(1))) is Fast
    use_fast(is_on=False)
    yield
    use_fast(is_on=was_on)


def parameters(dtype: Any = np.float32) -> dict[str, Param[Any, Any]]:
    rng = np.random.default_rng(3)
    found: dict[str, Param[Any, Any]] = {}
    for place, shape in enumerate(SHAPES):
        values: Any = tensor(rng.normal(size=shape).astype(dtype if place % 3 else np.float32))
        found[f"{'bias' if place % 2 else 'weight'}{place}"] = Param(values)
    return found


def gradients(of: Any, seed: int) -> Gradients:
    grads, rng = Gradients(), np.random.default_rng(seed)
    for parameter in of.values():
        dx: Any = np.asarray(rng.normal(size=parameter.shape), parameter.dtype)
        grads.add(parameter, dx)
    return grads


def of_one_number(of: list[Param[Any, Any]], number: float) -> Gradients:
    grads = Gradients()
    for parameter in of:
        dx: Any = np.full(parameter.shape, number, np.float32)
        grads.add(parameter, dx)
    return grads


def base(parameter: Param[Any, Any]) -> Any:
    """Return the array that the values of a parameter are a part of."""
    data: Any = parameter.data
    return data.base


def bits(optimizer: Optimizer[Any]) -> dict[str, bytes]:
    values = {path: parameter.numpy().tobytes() for path, parameter in optimizer.parameters.items()}
    return values | {name: array.tobytes() for name, array in optimizer.arrays().items()}


def trained(make: Callable[[Any], Any], of: dict[str, Param[Any, Any]]) -> dict[str, bytes]:
    """Take nine steps: with other learning rates, then without some of the parameters, then with all."""
    optimizer = make(of)
    for step in range(9):
        optimizer.lr = 0.1 / (step + 1)
        of["bias1"].frozen = step in (3, 4)
        grads = gradients(of, step)
        if step in (5, 6):
            grads.remove(of["weight0"])
        optimizer.step(grads, allow_unused=step in (5, 6))
    return bits(optimizer)


@any_optimizer
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_packed_parameters_are_updated_bit_identically(kind: Any, options: Any, dtype: Any) -> None:
    together = trained(lambda of: kind(of, **options, groups=groups()), parameters(dtype))
    apart = trained(lambda of: alone(kind)(of, **options, groups=groups()), parameters(dtype))

    assert together == apart


@any_optimizer
def test_small_parameters_are_views_of_one_array_and_large_ones_are_not(kind: Any, options: Any) -> None:
    of = parameters()
    kind(of, **options).step(gradients(of, 0))

    bases = {path: base(x) for path, x in of.items()}

    assert bases.pop("bias5") is None
    assert len({id(array) for array in bases.values()}) == 1


def test_an_update_that_overrides_an_elementwise_one_gets_each_parameter() -> None:
    seen: list[tuple[int, ...]] = []

    class Trusting(SGD):
        @override
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            seen.append(x.shape)
            return super().update(x, dx, state, lr)

    of = parameters()
    Trusting(of, lr=0.1).step(gradients(of, 0))

    assert seen == SHAPES


def test_an_elementwise_update_gets_all_parameters_at_once() -> None:
    seen: list[tuple[int, ...]] = []

    class Signed(SGD):
        @override
        @elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            seen.append(x.shape)
            return super().update(x, np.sign(dx), state, lr)

    of = [Param(tensor(np.ones(shape, np.float32))) for shape in ((2, 3), (5,))]
    Signed(of, lr=0.5).step(of_one_number(of, -7))

    assert seen == [(11,)]
    assert [x.tolist() for x in of] == [[[1.5] * 3] * 2, [1.5] * 5]


def test_parameters_are_updated_one_by_one_if_the_update_of_their_row_changes_the_dtype() -> None:
    class Widening(SGD):
        @override
        @elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            after = x - dx * np.float32(lr)
            return (after.astype(np.float64) if x.ndim == 1 else after), state

    of = {str(dtype): Param(tensor(np.ones((2, 3), dtype))) for dtype in (np.float32, np.float64)}
    grads = Gradients()
    for x in of.values():
        dx: Any = np.ones((2, 3), x.dtype)
        grads.add(x, dx)
    Widening(of, lr=0.5).step(grads)

    assert [x.tolist() for x in of.values()] == [[[0.5] * 3] * 2] * 2


@any_optimizer
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("without_kernels")
def test_numpy_updates_large_parameters_together_bit_identically(kind: Any, options: Any, dtype: Any) -> None:
    values = [np.random.default_rng(seed).normal(size=shape).astype(dtype) for seed, shape in enumerate(BIG_SHAPES)]
    all_of, each_of = ([Param(tensor(one)) for one in values] for _ in range(2))
    together, apart = kind(all_of, **options), alone(kind)(each_of, **options)

    for seed in range(3):
        for of, optimizer in ((all_of, together), (each_of, apart)):
            optimizer.step(gradients({str(place): x for place, x in enumerate(of)}, seed))

    for x, y in zip(all_of, each_of, strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy())


@dataclass
class Count:
    """An optimizer that changes its state in place instead of returning a new one."""

    steps: int


def test_a_state_changed_in_place_belongs_to_each_parameter() -> None:
    class Counting(Optimizer[Count]):
        @override
        def start(self, x: Any) -> Count:
            return Count(0)

        @override
        @elementwise
        def update(self, x: Any, dx: Any, state: Count, lr: float) -> tuple[Any, Count]:
            state.steps += 1
            return x - dx * lr, state

    of = parameters()
    optimizer = Counting(of, lr=0.5)
    for seed in range(2):
        optimizer.step(gradients(of, seed))

    small = [path for path, x in of.items() if x.nbytes < 1 << 15]
    assert len(small) > 4
    assert {path: int(optimizer.arrays()[f"{path}.steps"]) for path in small} == dict.fromkeys(small, 2)


def test_an_update_that_cannot_be_traced_gets_the_arrays() -> None:
    class Clipping(SGD):
        @override
        @elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            return x - np.clip(dx, -1, 1) * lr, state

    of = [Param(tensor(np.ones(shape, np.float32))) for shape in BIG_SHAPES]
    Clipping(of, lr=0.5).step(of_one_number(of, 7))

    assert [float(np.mean(x.numpy())) for x in of] == [0.5] * len(BIG_SHAPES)


def test_an_error_in_an_update_of_large_parameters_is_reported() -> None:
    class Failing(SGD):
        @override
        @elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            raise ArithmeticError("no step")

    of = [Param(tensor(np.ones(shape, np.float32))) for shape in BIG_SHAPES]

    with pytest.raises(ArithmeticError, match=r"^no step$"):
        Failing(of, lr=0.5).step(of_one_number(of, 7))


def test_packed_arrays_stay_small_for_many_parameters() -> None:
    of = {str(place): Param(tensor(np.ones(5000, np.float32))) for place in range(13)}  # 20,000 bytes each
    SGD(of, lr=0.5).step(gradients(of, 0))

    rows = {id(base(x)): base(x).nbytes for x in of.values()}

    assert sorted(rows.values()) == [20_000, 80_000, 80_000, 80_000]


def test_parameters_of_48_kib_fill_a_packed_array_of_96_kib() -> None:
    sizes = [12288, 12288, 12288, 12289]  # of 4 bytes
    of = {str(place): Param(tensor(np.ones(size, np.float32))) for place, size in enumerate(sizes)}
    SGD(of, lr=0.5).step(gradients(of, 0))

    first, second, third, large = map(base, of.values())

    assert first is second
    assert (first.nbytes, third.nbytes, large) == (96 << 10, 48 << 10, None)


@dataclass(frozen=True)
class Up:
    """The state of a parameter that grows."""

    total: Any


@dataclass(frozen=True)
class Down:
    """The state of a parameter that shrinks."""

    total: Any


class Totals(Optimizer[Any]):
    """Vectors grow and matrices shrink."""

    @override
    def start(self, x: Any) -> Any:
        return Up(np.zeros(x.shape)) if x.ndim == 1 else Down(np.zeros(x.shape))

    @override
    @elementwise
    def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
        sign = 1 if isinstance(state, Up) else -1
        return x + dx * np.float32(sign * lr), type(state)(state.total + dx)


def test_parameters_with_states_of_different_classes_are_not_updated_together() -> None:
    of = [Param(tensor(np.ones(shape, np.float32))) for shape in ((5,), (2, 3))]
    optimizer = Totals(of, lr=0.25)
    for _ in range(2):
        optimizer.step(of_one_number(of, 1))

    assert [x.tolist() for x in of] == [[1.5] * 5, [[0.5] * 3] * 2]
    assert [type(optimizer.state[x]) for x in of] == [Up, Down]


def test_states_of_different_dtypes_keep_them() -> None:
    class Mixed(Totals):
        @override
        def start(self, x: Any) -> Any:
            return Up(np.zeros(x.shape, np.float64 if x.ndim == 1 else np.float32))

    of = [Param(tensor(np.ones(shape, np.float32))) for shape in ((5,), (2, 3))]
    optimizer = Mixed(of, lr=0.25)
    for _ in range(2):
        optimizer.step(of_one_number(of, 0.5))

    totals = [optimizer.state[x].total for x in of]
    assert [total.dtype for total in totals] == [np.float64, np.float32]
    assert [total.tolist() for total in totals] == [[1.0] * 5, [[1.0] * 3] * 2]


@any_optimizer
def test_the_next_step_starts_from_assigned_values(kind: Any, options: Any) -> None:
    nine: Any = tensor(np.full((1, 2, 3), 9, np.float32))

    def changed(make: Callable[[Any], Any]) -> dict[str, bytes]:
        of = parameters()
        optimizer = make(of)
        optimizer.step(gradients(of, 0))
        of["bias3"].assign(nine)
        optimizer.step(gradients(of, 1))
        optimizer.restore({name: array * 2 for name, array in optimizer.arrays().items()})
        optimizer.step(gradients(of, 2))
        del optimizer.state[of["bias1"]]
        optimizer.step(gradients(of, 3))
        return bits(optimizer)

    assert changed(lambda of: kind(of, **options)) == changed(lambda of: alone(kind)(of, **options))


def test_the_next_step_continues_from_an_assigned_state() -> None:
    x: Param[Any, Any] = Param(tensor([1.0, 2.0]))
    y: Param[Any, Any] = Param(tensor([3.0]))
    optimizer, grads = SGD([x, y], lr=1.0, momentum=0.5), of_one_number([x, y], 1)
    optimizer.step(grads)  # the velocity is 1
    state: Any = optimizer.state[x]
    state.velocity[0] = 9

    optimizer.step(grads)

    assert x.tolist() == [0 - (9 * 0.5 + 1), 1 - 1.5]
    assert y.tolist() == [2 - 1.5]


@any_optimizer
def test_a_copy_of_model_and_optimizer_is_independent(kind: Any, options: Any) -> None:
    of = parameters()
    optimizer = kind(of, **options)
    optimizer.step(gradients(of, 0))
    other, its_own = copy.deepcopy((optimizer, of))
    before = bits(optimizer)
    for state in other.state.values():
        if hasattr(state, "velocity"):
            state.velocity[...] = 0

    other.step(gradients(its_own, 1))

    assert bits(optimizer) == before
    for state in optimizer.state.values():
        if hasattr(state, "velocity"):
            state.velocity[...] = 0
    optimizer.step(gradients(of, 1))
    assert bits(other) == bits(optimizer)


def test_an_elementwise_update_of_a_wrong_size_names_the_sizes_of_the_parameter() -> None:
    class Broken(SGD):
        @override
        @elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            new, state = super().update(x, dx, state, lr)
            first: Any = new
            return first[:1], state

    x: Param[Any, Any] = Param(tensor([1.0]))
    y: Param[Any, Any] = Param(tensor([3.0, 4.0]))

    message = "Broken.step: the update of [1] is (1,) but (2,) is expected: axis 0 is 1, not 2"
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        Broken([x, y], lr=1.0).step(of_one_number([x, y], 1))

    assert (x.tolist(), y.tolist()) == ([1.0], [3.0, 4.0])
