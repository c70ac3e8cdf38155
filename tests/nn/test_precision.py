"""Layers and models of another dtype: every layer of the library, and what `cast` keeps, shares and rejects."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Generic

import ml_dtypes
import numpy as np
import pytest
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import nn
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.guard import guarded
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape
from tests.nn.test_every_layer import LAYERS, results, traced

D = TypeVar("D", bound=np.floating[Any], default=np.float32)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

# A few roundings, of numbers of about 1; deep layers, and those that divide by a small deviation, round more often.
CLOSE: dict[Any, float] = {np.float16: 0.02, ml_dtypes.bfloat16: 0.15, np.float64: 1e-5}
DTYPES = [*CLOSE]


def converted(x: Any, dtype: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(converted(one, dtype) for one in x)
    return x.astype(dtype) if x.is_float else x


def wide(x: Any) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = x.astype(np.float64).numpy()
    return values


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_has_the_dtype_of_its_parameters(name: str, dtype: Any) -> None:
    if name == "Dropout" or "MixedPrecision" in name:
        return  # other random numbers, and another module to test
    make, inputs = LAYERS[name]
    with tg.random(0):  # a unit near the kink of a relu may round to the other side
        layer = make()
    other = nn.cast(layer, dtype)

    expected, found = results(layer(*inputs)), results(other(*converted(inputs, dtype)))

    assert [one.dtype for one in found] == [dtype if one.is_float else one.dtype for one in expected]
    for one, same in zip(expected, found, strict=True):
        np.testing.assert_allclose(wide(same), wide(one), rtol=CLOSE[dtype], atol=CLOSE[dtype])
    assert {one.dtype for one in {**other.parameters(), **other.buffers()}.values()} <= {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_every_gradient_has_the_dtype_of_its_parameter(name: str, dtype: Any) -> None:
    if name == "Dropout" or "MixedPrecision" in name:
        return
    make, inputs = LAYERS[name]
    with tg.random(0):  # a unit near the kink of a relu may round to the other side
        layer = make()
    other = nn.cast(layer, dtype)

    expected = sum_of(layer(*map(traced, inputs))).backward(wrt=layer)
    found = sum_of(other(*map(traced, converted(inputs, dtype)))).backward(wrt=other)

    for (path, one), same in zip(layer.parameters().items(), other.parameters().values(), strict=True):
        assert found[same].dtype == dtype
        scale = np.abs(wide(expected[one])).max() + 1
        np.testing.assert_allclose(
            wide(found[same]) / scale, wide(expected[one]) / scale, atol=CLOSE[dtype], err_msg=path
        )


def sum_of(y: Any) -> Any:
    first, *others = results(y)
    loss = (first**2).mean()
    for other in others:
        loss = loss + (other**2).mean()
    return loss


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_rejects_a_float_of_another_dtype(name: str) -> None:
    make, inputs = LAYERS[name]
    layer = nn.cast(make(), np.float16)
    if not layer.parameters() or name in ("Embedding", "MixedPrecision"):
        return

    with pytest.raises(DTypeError) as caught:
        layer(*inputs)

    assert "float32" in str(caught.value)
    assert "float16" in str(caught.value)


def test_the_message_says_how_to_convert() -> None:
    layer: Any = nn.cast(nn.Linear(3, 2), np.float16)

    with pytest.raises(DTypeError) as caught:
        layer(tg.ones((2, 3)))

    message = "layer Linear(3, 2): x is float32 but float16 is expected; x.astype(numpy.float16) converts it"
    assert str(caught.value) == message


def test_the_model_is_not_changed() -> None:
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.BatchNorm1d(4))
    before = {path: one.tolist() for path, one in {**model.parameters(), **model.buffers()}.items()}

    nn.cast(model, np.float16)

    assert {path: one.tolist() for path, one in {**model.parameters(), **model.buffers()}.items()} == before
    assert model(tg.ones((2, 3))).dtype == np.float32


def test_shared_and_frozen_parameters_stay_so() -> None:
    layer = nn.Linear(3, 3, rng=0)
    layer.weight.frozen = True
    model = nn.cast(nn.Sequential(layer, layer), np.float16)

    assert model[0] is model[1]
    assert model[0].weight.frozen
    assert not model[0].bias.frozen


def test_a_copy_and_a_pickle_keep_the_dtype() -> None:
    layer = nn.cast(nn.Linear(3, 2, rng=0), ml_dtypes.bfloat16)
    x = tg.ones((2, 3), ml_dtypes.bfloat16)

    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301  # its own pickle
        assert same(x).tolist() == layer(x).tolist()
        with pytest.raises(DTypeError, match="x is float32 but bfloat16 is expected"):
            same(tg.ones((2, 3)))


def test_sizes_are_still_checked() -> None:
    layer: Any = nn.cast(nn.Linear(3, 2), np.float16)

    with pytest.raises(ShapeError, match=r"layer Linear\(3, 2\): x is \(2, 4\) but \(\.\.\., 3\) is expected"):
        layer(tg.ones((2, 4), np.float16))


def test_there_and_back_is_exact_for_numbers_that_fit() -> None:
    layer = nn.Linear(3, 2, rng=0)
    wider = nn.cast(layer, np.float64)

    assert nn.cast(wider, np.float32).weight.tolist() == layer.weight.tolist()
    assert nn.cast(layer, np.dtype(np.float16)).weight.dtype == np.float16


def test_integers_and_generators_stay_as_they_are() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            self.steps = nn.Buffer(tg.tensor(3))
            self.dropout = nn.Dropout(0.5, rng=0)

    model = Counting()
    other = nn.cast(model, np.float16)

    assert other.steps.dtype == np.int64
    assert other.dropout.rng.bit_generator.state == model.dropout.rng.bit_generator.state


class Scale(nn.Module, Generic[N, D]):
    """A layer of a user, generic in its dtype."""

    @guarded
    def __init__(self: Scale[Any], width: N) -> None:
        self.weight: nn.Param[Shape[N], D] = nn.Param(tg.ones((width,)))

    @guarded
    def forward(self, x: Tensor[Shape[M, N], T, D]) -> Tensor[Shape[M, N], T, D]:
        return x * self.weight


def test_a_guarded_class_of_your_own_has_the_dtype_too() -> None:
    layer: Any = Scale(3)

    with pytest.raises(DTypeError, match="x is float64 but float32 is expected"):
        layer(tg.ones((2, 3), np.float64))

    other = nn.cast(layer, np.float64)
    assert other(tg.ones((2, 3), np.float64)).dtype == np.float64
    with pytest.raises(DTypeError, match="x is float32 but float64 is expected"):
        other(tg.ones((2, 3)))


def test_running_statistics_of_a_half_layer_are_computed_in_float32() -> None:
    rows = np.full((512, 1), 300.0, np.float32)
    rows[::2] = 340.0  # the squares, and the sum, exceed the range of float16
    layer = nn.cast(nn.BatchNorm1d(1), np.float16)

    layer(tg.tensor(rows.astype(np.float16)).trace())

    assert layer.running_mean.dtype == layer.running_var.dtype == np.float16
    assert layer.running_mean.item() == 32.0
    assert abs(layer.running_var.item() - (0.9 + 0.1 * rows.var(ddof=1))) < 0.05


def test_slow_states_do_not_lose_their_decay_to_rounding() -> None:
    # Per step the slowest state decays by a factor of 0.999, which bfloat16 would round to 1.
    layer = nn.SSM(1, 1, rng=0)
    layer.log_step.assign(tg.full((1,), np.log(0.001).astype(float)))
    layer.skip.assign(tg.zeros((1,)))
    half = nn.cast(layer, ml_dtypes.bfloat16)
    x = tg.zeros((2000, 1)).at_set(0, 1.0)

    y = half(x.astype(ml_dtypes.bfloat16)).astype(np.float32).numpy()

    assert 0.1 < y[1999, 0] / y[0, 0] < 0.2  # exp(-2) is 0.135


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.cast(nn.quantized(nn.Linear(3, 2)), np.float16), "cast: weight is quantized; convert the model"),
        (lambda: nn.cast(nn.Linear(3, 2), np.int32), "cast: dtype is int32 but floating is expected"),  # type: ignore[arg-type]  # under test
        (lambda: nn.cast(nn.Linear(3, 2), float), "cast: dtype is the class float but a dtype of NumPy, or its"),  # type: ignore[arg-type]  # under test
        (lambda: nn.cast(nn.Linear, np.float16), "cast: model is the class Linear"),  # type: ignore[arg-type]  # under test
    ],
)
def test_other_arguments_are_rejected(call: Any, message: str) -> None:
    with pytest.raises(DTypeError) as caught:
        call()

    assert str(caught.value).startswith(message)
