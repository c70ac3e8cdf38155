"""State under `jit`: changes between two calls have the effect that they have in eager steps."""

from __future__ import annotations

import enum
import functools
import gc
import types
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.errors import DTypeError, TapeError

jit: Any = tg.jit
X = tg.tensor([1.0, 2.0, 4.0])
NAN = float("nan")


def counted(step: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """Return a function under jit, and what grows by one each time it is traced."""
    traces: list[int] = []

    def counting(*args: Any, **kwargs: Any) -> Any:
        traces.append(1)
        return step(*args, **kwargs)

    return jit(counting), traces


def shown(result: Any) -> list[str]:
    """Write a result so that 0.0 and -0.0 differ, and NaN is NaN."""
    values = (
        [result.dtype, *result.reshape((-1,)).tolist()] if isinstance(result, tg.Tensor) else [type(result), result]
    )
    return [repr(one) for one in values]


# What a call hangs on: each case is a step, what gives its arguments, and what changes something. All numbers are such
# that no product of them is rounded, so eager and compiled steps give the same bits.


class Plain:
    """Holds what it is given."""

    value: Any = 1.0


class Slotted:
    """Holds it in slots, one of them private."""

    __slots__ = ("__hidden", "value")

    def __init__(self) -> None:
        self.value = self.__hidden = 1.0

    def product(self) -> Any:
        return number_of(self.value) * self.__hidden

    def hide(self, hidden: float) -> None:
        self.__hidden = hidden


@dataclass(frozen=True)
class Frozen:
    """A value."""

    value: Any
    more: tuple[Any, ...] = ()


class Dictionary(dict[str, Any]):
    """A dictionary with an attribute."""

    value: Any = 1.0


class Held(nn.Module):
    """A module that scales by an attribute, and by one of its class."""

    factor: Any = 1.0

    def __init__(self) -> None:
        self.value: Any = 1.0

    def forward(self, x: Any) -> Any:
        return x * number_of(self.value) * self.factor * MODULE_SCALE


class Color(enum.Enum):
    """Two numbers by name."""

    RED = 2.0
    BLUE = 3.0


GLOBAL: Any = 1.0
MODULE_SCALE: Any = 1.0
SETTINGS: Any = types.ModuleType("settings_of_a_user")
SETTINGS.scale = 1.0
VALUES: list[Any] = [
    *(0.0, -0.0, 1.0, 1, True, 0.5, NAN, -float("nan"), np.float64(2), np.float32(3), np.int64(5), np.bool_(1)),
    *("a", "bc", b"abc", None, (1, 2.0), (1, -0.0), [1.0, [2]], [1.0, [2.0]], {"k": 0.0}, {"k": -0.0}, {"j": 0.0}),
    *({1, 2}, {1.0, 2}, frozenset([3]), range(3), range(1, 4), np.array([2.0, 3]), np.array([2, 3])),
    *(np.dtype("f4"), np.float32, np.float64, Color.RED, Color.BLUE, Frozen(2.0), Frozen(-0.0), Frozen(1.0, (2,))),
    *(lambda: 2.0, lambda: -0.0, functools.partial(pow, 2.0, 2), functools.partial(pow, 2.0, 3), "".join, deque([2.0])),
]


def number_of(value: Any) -> Any:  # one for each kind
    """Return a number that differs for any two values of different types or unequal values."""
    if isinstance(value, bool | np.bool_):
        return 7.0 if isinstance(value, bool) else 9.0
    if isinstance(value, float | int | np.generic):
        return float(value) * {int: 11.0, np.int64: 13.0}.get(type(value), 1.0)
    if isinstance(value, str | bytes | range):
        return len(value) * 3.0 + sum(map(ord, str(value))) % 16
    if isinstance(value, dict):
        return value.get("k", 16.0)
    if isinstance(value, list | tuple | set | frozenset | deque):
        product: Any = 1.0 + len(value)
        for one in value:
            product = product * number_of(one)
        return product
    if isinstance(value, np.ndarray):
        return float(value.sum()) * value.itemsize * (1 if value.dtype.kind == "f" else 2)
    if isinstance(value, Color | Frozen):
        return number_of(value.value) * (1.0 + len(getattr(value, "more", ())))
    if isinstance(value, np.dtype):
        return value.itemsize * 17.0
    if isinstance(value, type):
        return np.dtype(value).itemsize * 19.0
    return 23.0 if value is None or value == "".join else value()


def scale_by_global(x: Any) -> Any:
    return x * number_of(GLOBAL)


def helper(x: Any, factor: Any = 1.0) -> Any:
    return scale_by_global(x) * number_of(factor)


def put(held: list[Any]) -> Callable[[Any], None]:
    """Return what changes an argument; an array is none."""
    return lambda value: held.__setitem__(0, number_of(value) if isinstance(value, np.ndarray) else value)


Case = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], Callable[[Any], None]]


def case_of_attribute(holder: Any) -> Case:
    return (
        lambda given, x: x * number_of(given.value),
        lambda: (holder, X),
        lambda value: object.__setattr__(holder, "value", value),
    )


def case_of_argument() -> Case:
    held = [1.0]
    return lambda value, x: x * number_of(value), lambda: (held[0], X), put(held)


def case_of_further_argument() -> Case:
    held = [1.0]
    return lambda x, *rest: x * number_of(rest), lambda: (X, held[0], 2.0), put(held)


def case_of_container(container: Any, key: Any) -> Case:
    return (
        lambda given, x: x * number_of(given[key]),
        lambda: (container, X),
        lambda value: container.__setitem__(key, value),
    )


def case_of_closed_over_container() -> Case:
    held = {"deep": [1.0]}
    return lambda x: x * number_of(held["deep"][0]), lambda: (X,), lambda value: held["deep"].__setitem__(0, value)


def case_of_variable() -> Case:
    value: Any = 1.0

    def bind(other: Any) -> None:
        nonlocal value
        value = other

    return lambda x: x * number_of(value), lambda: (X,), bind


def case_of_object_that_is_closed_over() -> Case:
    holder = SimpleNamespace(inner=Plain())
    return (
        lambda x: x * number_of(holder.inner.value),
        lambda: (X,),
        lambda value: setattr(holder.inner, "value", value),
    )


def case_of_default() -> Case:
    def step(x: Any, factor: Any = 1.0) -> Any:
        return x * number_of(factor)

    return lambda x: step(x) * 1.0, lambda: (X,), lambda value: setattr(step, "__defaults__", (value,))


def case_of_helpers_default() -> Case:
    return lambda x: helper(x) * 1.0, lambda: (X,), lambda value: setattr(helper, "__defaults__", (value,))


def case_of_global() -> Case:
    return lambda x: helper(x) * 1.0, lambda: (X,), lambda value: globals().__setitem__("GLOBAL", value)


def case_of_global_of_method() -> Case:
    layer = Held()
    return (
        lambda layer, x: layer(x),
        lambda: (layer, X),
        lambda value: globals().__setitem__("MODULE_SCALE", number_of(value)),
    )


def case_of_class_attribute() -> Case:
    layer = Held()
    return lambda layer, x: layer(x), lambda: (layer, X), lambda value: setattr(Held, "factor", number_of(value))


def case_of_module() -> Case:
    return lambda x: x * number_of(SETTINGS.scale), lambda: (X,), lambda value: setattr(SETTINGS, "scale", value)


def case_of_partial() -> Case:
    held = [functools.partial(number_of, 1.0)]
    return (
        lambda given, x: x * given(),
        lambda: (held[0], X),
        lambda value: held.__setitem__(0, functools.partial(number_of, value)),
    )


def case_of_lambda() -> Case:
    held: list[Any] = [lambda: 1.0]
    return (
        lambda given, x: x * given(),
        lambda: (held[0], X),
        lambda value: held.__setitem__(0, lambda: number_of(value)),
    )


def case_of_private_slot() -> Case:
    holder = Slotted()
    return lambda given, x: x * given.product(), lambda: (holder, X), lambda value: holder.hide(number_of(value))


def case_of_array_in_place() -> Case:
    array = np.ones(3, np.float32)
    return lambda x: x * array, lambda: (X,), lambda value: array.__setitem__(1, number_of(value))


def case_of_attribute_array_in_place() -> Case:
    holder = SimpleNamespace(array=np.ones(3, np.float32))
    return (
        lambda given, x: x * given.array,
        lambda: (holder, X),
        lambda value: holder.array.__setitem__(2, number_of(value)),
    )


def case_of_tensor_that_is_closed_over() -> Case:
    held = [tg.ones((3,))]
    place = functools.partial(held.__setitem__, 0)
    return lambda x: x * held[0], lambda: (X,), lambda value: place(tg.full((3,), number_of(value)))


def case_of_tensor_in_partial() -> Case:
    held = [functools.partial(tg.mul, X)]
    return (
        lambda given, x: given(x),
        lambda: (held[0], X),
        lambda value: held.__setitem__(0, functools.partial(tg.mul, tg.full((3,), number_of(value)))),
    )


def case_of_bytearray() -> Case:
    held = bytearray(2)
    return lambda given, x: x * float(given[1]), lambda: (held, X), lambda value: held.__setitem__(1, len(repr(value)))


def case_of_parameter() -> Case:
    layer = nn.Linear(3, 2, rng=0)
    return (
        lambda layer, x: layer(x.reshape((1, 3))),
        lambda: (layer, X),
        lambda value: layer.weight.assign(tg.full((3, 2), number_of(value))),
    )


def case_of_comparison() -> Case:
    held = [1.0]
    return (
        lambda value, x: x * 2.0 if number_of(value) > 1 else x * number_of(value),
        lambda: (held[0], X),
        put(held),
    )


def case_of_number() -> Case:
    held = [1.0]
    return (
        lambda k, x: x * k * (2 - k) if k > 1 else x * -k,
        lambda: (held[0], X),
        lambda value: held.__setitem__(0, value if isinstance(value, float) else number_of(value)),
    )


CASES: dict[str, Callable[[], Case]] = {
    name.removeprefix("case_of_"): make
    for name, make in list(globals().items())
    if name.startswith("case_of_") and name not in ("case_of_attribute", "case_of_container")
} | {
    "attribute": lambda: case_of_attribute(Plain()),
    "namespace": lambda: case_of_attribute(SimpleNamespace(value=1.0)),
    "slot": lambda: case_of_attribute(Slotted()),
    "frozen": lambda: case_of_attribute(Frozen(1.0)),
    "module": lambda: case_of_attribute(Held()),
    "subclass": lambda: case_of_attribute(Dictionary(other=1.0)),
    "list": lambda: case_of_container([1.0, 2.0], 0),
    "dict": lambda: case_of_container({"key": 1.0}, "key"),
    "deque": lambda: case_of_container(deque([1.0]), 0),
}
CHANGES = 300


@pytest.mark.filterwarnings("ignore:.*has been compiled")
def test_changes_between_calls_are_all_detected() -> None:
    rng = np.random.default_rng(0)
    made = {name: make() for name, make in CASES.items()}
    jitted = {name: jit(step) for name, (step, _, _) in made.items()}
    differences: list[Any] = []

    for _ in range(CHANGES):
        name = str(rng.choice([*made]))
        step, arguments, change = made[name]
        value = VALUES[rng.integers(len(VALUES))]
        change(value)
        found, expected = shown(jitted[name](*arguments())), shown(step(*arguments()))
        if found != expected:
            differences.append((name, value, found, expected))

    assert differences == []


# Numbers


def test_temporary_numpy_scalars_are_not_confused() -> None:
    @tg.jit
    def scaled(x: Any, k: Any) -> Any:
        return (x * k).sum()

    found = [scaled(tg.ones((1,)), k).item() for k in np.linspace(0, 1, 11)]

    np.testing.assert_allclose(found, np.linspace(0, 1, 11), rtol=1e-7)


@pytest.mark.parametrize("kind", [float, int, np.float64, np.float32])
def test_a_number_as_an_operand_is_traced_once(kind: Any) -> None:
    def step(x: Any, k: Any) -> Any:
        return x * k + (k - 1) * 2 - x / (k + 3)

    jitted, traces = counted(step)
    for number in range(20):
        np.testing.assert_allclose(jitted(X, kind(number)).numpy(), step(X, kind(number)).numpy(), rtol=1e-5)

    assert len(traces) == 1


def test_a_comparison_is_traced_for_each_answer_and_a_value_for_each_value() -> None:
    warm, traces = counted(lambda x, k: x * min(k, 0.5))
    for k in np.linspace(0, 1, 20):
        assert shown(warm(X, float(k))) == shown(X * min(float(k), 0.5))
    assert len(traces) == 2

    wide, traces = counted(lambda x, n: tg.ones((n,)).sum() * x)
    for n in (1, 2, 3, 2, 1):
        assert wide(X, n).tolist() == (X * float(n)).tolist()
    assert len(traces) == 3


def test_arithmetic_of_numbers_is_pythons() -> None:
    jitted = jit(lambda n, k: (n**70 % 1000, k / n, -n // 7, abs(k) ** 0.5, round(k, 1), divmod(n, 4), np.exp(k)))

    for n, k in ((3, -0.125), (12, 0.0), (7, -0.0), (1, 2.5)):
        expected = (n**70 % 1000, k / n, -n // 7, abs(k) ** 0.5, round(k, 1), divmod(n, 4), np.exp(k))
        assert repr(jitted(n, k)) == repr(expected)
    with pytest.raises(ZeroDivisionError, match=r"^float division by zero$"):
        jitted(0, 1.0)


def test_a_step_may_catch_what_a_number_raises() -> None:
    def step(x: Any, k: float) -> Any:
        try:
            return x * (1 / k)
        except ZeroDivisionError:
            return x

    jitted = jit(step)

    assert [jitted(X, k).tolist() for k in (2.0, 0.0, 4.0, 0.0)] == [step(X, k).tolist() for k in (2.0, 0.0, 4.0, 0.0)]


def test_a_number_too_large_for_a_dtype_is_rejected_as_in_eager_steps() -> None:
    jitted, x = jit(lambda x, k: x + k), tg.ones((2,), np.int8)

    assert jitted(x, 5).tolist() == [6, 6]
    for k in (300, 2**70):
        with pytest.raises(DTypeError, match=r"^add: a number is too large for its dtype or its place"):
            jitted(x, k)
    assert jitted(x, 7).tolist() == [8, 8]


def test_types_of_numbers_differ() -> None:
    jitted = jit(lambda x, k: x * (2 if isinstance(k, bool) else 3 if isinstance(k, int) else 5))

    assert [jitted(X, k).tolist()[0] for k in (1, 1.0, True, np.True_, 1)] == [3.0, 5.0, 2.0, 5.0, 3.0]
    by_type = jit(lambda x, k: x * {int: 2.0, float: 3.0}.get(type(k), 5.0))
    assert [by_type(X, k).tolist()[0] for k in (1, 1.0, True, np.float64(1), 1)] == [2.0, 3.0, 5.0, 5.0, 2.0]


def test_numbers_for_static_parameters_are_constants_of_the_program() -> None:
    traces: list[int] = []

    @tg.jit(static=("n",))
    def step(x: Any, n: float, k: float) -> Any:
        traces.append(1)
        return x * n * k

    assert [step(X, n, k).tolist()[0] for n in (2.0, 3.0) for k in (1.0, 5.0)] == [2.0, 10.0, 3.0, 15.0]
    assert len(traces) == 2
    with pytest.raises(DTypeError, match=r"^jit: static names m, which is no parameter of halved$"):
        jit(halved, static=("m",))


def halved(x: Any) -> Any:
    return x * 0.5


@pytest.mark.filterwarnings("ignore:.*has been compiled")
def test_numpy_scalars_for_weight_decay_and_learning_rate_are_read_at_the_call() -> None:
    def step(weight: Any, opt: Any, x: Any) -> None:
        opt.step((x.trace() * weight).sum().backward(wrt=weight))

    def trained(step: Any) -> list[float]:
        weight = nn.Param(tg.ones((3,)))
        opt = optim.SGD([weight], lr=0.5)
        for k in np.linspace(0, 1, 9):
            opt.weight_decay, opt.lr = k, k / 2
            step(weight, opt, X)
        return [float(one) for one in weight.tolist()]

    np.testing.assert_allclose(trained(jit(step)), trained(step), rtol=1e-5)


def test_nan_is_compiled_once() -> None:
    jitted, traces = counted(lambda given, x: x * given.value)

    for _ in range(5):
        assert np.isnan(jitted(SimpleNamespace(value=float("nan")), X).numpy()).all()

    assert len(traces) == 1


# What is read and not given


def predicting(model: Any) -> Any:
    def predict(x: Any) -> Any:
        return model(x)

    return predict


def test_a_captured_parameter_is_rejected_by_path() -> None:
    model, norm, weight = nn.Sequential(nn.Linear(3, 2, rng=0)), nn.BatchNorm1d(3), nn.Param(tg.ones((3,)))
    models = {"first": [model]}
    reads: dict[str, Any] = {
        r"predict: the parameter model\.layers\.0\.weight is read .*; pass model as an argument of predict": predicting(
            model
        ),
        r"<lambda>: the parameter weight is read .*; pass weight as": lambda x: x * weight,
        r"<lambda>: the buffer norm\.running_mean is read .*; pass norm as": lambda x: x + norm.running_mean,
        r"<lambda>: the parameter models\.first\.0\.layers\.0\.weight is .*; pass models as": lambda x: (
            models["first"][0](x) * 1.0
        ),
        r"<lambda>: the parameter model\.layers\.0\.weight is .*; pass model as": lambda x: predicting(model)(x) * 1.0,
        r"<lambda>: the parameter of shape \(3, 2\) is .*; pass it as": lambda x: reference()(x) * 1.0,
    }
    reference: Any = weakref.ref(model)

    for words, step in reads.items():
        with pytest.raises(TapeError, match=f"^{words}"):
            jit(step)(tg.ones((4, 3)))
    assert model(tg.ones((4, 3))).shape == (4, 2)


def test_an_error_that_the_step_catches_is_raised_nevertheless() -> None:
    weight = nn.Param(tg.ones((3,)))

    def careless(x: Any) -> Any:
        try:
            return x * weight
        except Exception:  # noqa: BLE001
            return x

    with pytest.raises(TapeError, match=r"^careless: the parameter weight is read but is no argument"):
        jit(careless)(X)


def test_a_captured_optimizer_is_rejected() -> None:
    model = nn.Linear(3, 2, rng=0)
    opt = optim.Adam(model)

    def step(model: Any, x: Any) -> None:
        opt.step(model(x.trace()).sum().backward(wrt=model))

    with pytest.raises(TapeError, match=r"^step: the optimizer opt is read .*; pass opt as an argument of step$"):
        jit(step)(model, tg.ones((4, 3)))
    assert opt.state == {}
    step(model, tg.ones((4, 3)))  # nothing keeps it from being used without


def test_the_shape_of_a_parameter_is_not_its_values() -> None:
    weight = nn.Param(tg.ones((3, 5)))

    assert jit(lambda x: x * float(weight.shape[1]))(X).tolist() == [5.0, 10.0, 20.0]


def test_a_step_may_create_a_parameter_and_an_optimizer() -> None:
    def step(model: Any, x: Any) -> Any:
        opt = optim.SGD(model, lr=0.5)
        opt.step(model(x.trace()).sum().backward(wrt=model))
        return x * nn.Param(tg.full((3,), 2.0))

    model, other = nn.Linear(3, 2, rng=0), nn.Linear(3, 2, rng=0)

    assert jit(step)(model, X.reshape((1, 3))).tolist() == step(other, X.reshape((1, 3))).tolist()
    np.testing.assert_allclose(model.weight.numpy(), other.weight.numpy(), rtol=1e-6)


def test_state_of_bound_methods_partials_and_callables_is_an_argument() -> None:
    class Predictor:
        def __init__(self) -> None:
            self.model = nn.Linear(3, 2, rng=0)

        def __call__(self, x: Any) -> Any:
            return self.model(x)

    predictor, x = Predictor(), tg.ones((1, 3))
    steps = [
        jit(predictor),
        jit(functools.partial(lambda model, x: model(x), predictor.model)),
        functools.partial(jit(lambda f, x: f(x)), predictor.model.forward),
        functools.partial(jit(lambda f, x: f(x)), functools.partial(predictor.model)),
        functools.partial(jit(lambda models, x: sum(model(x) for model in models)), {predictor.model}),
    ]

    for value in (1.0, 2.0):
        predictor.model.weight.assign(tg.full((3, 2), value))
        for step in steps:
            np.testing.assert_allclose(step(x).numpy(), predictor(x).numpy(), rtol=1e-6)


def test_a_generator_used_directly_is_rejected_and_its_state_restored() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state

    with pytest.raises(
        TapeError, match=r"^jit: the step draws from a generator by its own methods, .* give it as rng=$"
    ):
        jit(lambda rng, x: x * rng.normal())(rng, X)
    assert rng.bit_generator.state == before


# What changes as the step is traced


def test_captured_lists_and_counters_may_change_during_tracing() -> None:
    log: list[int] = []
    counts = {"calls": 0}
    total = 0

    def step(x: Any) -> Any:
        nonlocal total
        log.append(1)
        counts["calls"] += 1
        total += 1
        return x * 2.0

    jitted = jit(step)
    for shape in [(3,), (5,), (3,), (5,)]:
        jitted(tg.ones(shape))

    assert (len(log), counts["calls"], total) == (2, 2, 2)


def test_a_step_that_reads_what_it_changes_is_traced_at_each_call() -> None:
    count = 0

    def step(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * float(count)

    jitted = jit(step)

    assert [jitted(X).tolist()[0] for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


# What is no step


def generated(x: Any) -> Any:
    yield x


async def awaited(x: Any) -> Any:
    return x


async def iterated(x: Any) -> Any:
    yield x


class Yielding:
    """Is called, and yields."""

    def __call__(self, x: Any) -> Any:
        yield x


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (generated, "a generator function"),
        (functools.partial(generated), "a generator function"),
        (Yielding(), "a generator function"),
        (awaited, "a coroutine function"),
        (iterated, "an async generator function"),
    ],
)
def test_generators_and_coroutines_are_rejected(step: Any, kind: str) -> None:
    words = f"^jit: step is {kind}, whose body runs after the call; compile a function that returns its result$"
    with pytest.raises(DTypeError, match=words):
        jit(step)


@pytest.mark.parametrize(("step", "kind"), [(Plain, "the class Plain"), (3, "an int"), (Plain(), "a Plain")])
def test_non_callables_are_rejected(step: Any, kind: str) -> None:
    with pytest.raises(DTypeError, match=f"^jit: step is {kind}, not a function$"):
        jit(step)


# Keys


def test_a_key_keeps_its_objects_alive_and_equal_values_share_a_program() -> None:
    jitted, traces = counted(lambda given, x: x * float(sum(given)))

    for turn in range(50):
        for given in ({1, 2}, range(3), (1, 2.0)):
            assert jitted(given, X).tolist() == (X * 3.0).tolist()
        if turn % 10 == 0:  # a collection takes most of a second beside JAX
            gc.collect()

    assert len(traces) == 3


def test_alternating_shapes_are_found_without_a_search() -> None:
    model: Any = nn.Linear(3, 2, rng=0)
    opt = optim.SGD(model, lr=0.1)
    twin: Any = nn.Linear(3, 2, rng=0)
    opt_of_twin = optim.SGD(twin, lr=0.1)

    def step(model: Any, opt: Any, x: Any) -> Any:
        loss = model(x.trace()).sum()
        opt.step(loss.backward(wrt=model))
        return loss.detach()

    jitted, traces = counted(step)
    look = jit(lambda model, x: model(x).sum())
    for turn in range(12):
        x = tg.ones((turn % 3 + 1, 3))
        np.testing.assert_allclose(jitted(model, opt, x).item(), step(twin, opt_of_twin, x).item(), rtol=1e-4)
        if turn % 4 == 1:
            model.bias.assign(tg.zeros((2,)))
            twin.bias.assign(tg.zeros((2,)))
        if turn % 4 == 2:
            np.testing.assert_allclose(look(model, x).item(), twin(x).sum().item(), rtol=1e-4)
        np.testing.assert_allclose(model.weight.numpy(), twin.weight.numpy(), rtol=1e-4)

    assert len(traces) == 3
