"""Mixed precision: float32 outside, half precision inside, for every layer and for models of users."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tapegrad as tg
from tapegrad import io, nn, optim
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.guard import guarded
from tapegrad.tensors import Tensor
from tests.nn.test_every_layer import LAYERS, results, traced
from tests.nn.test_precision import sum_of, wide

CLOSE: dict[Any, float] = {np.float16: 0.02, ml_dtypes.bfloat16: 0.15}
X = tg.normal((5, 3), rng=2)


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_that_of_float32_up_to_rounding(name: str, dtype: Any) -> None:
    if name in ("Dropout", "MixedPrecision"):
        return
    make, inputs = LAYERS[name]
    layer = make()
    mixed = nn.MixedPrecision(copy.deepcopy(layer), compute=dtype)

    expected, found = results(layer(*map(traced, inputs))), results(mixed(*map(traced, inputs)))
    for one, same in zip(expected, found, strict=True):
        assert same.dtype == one.dtype
        np.testing.assert_allclose(wide(same), wide(one), rtol=CLOSE[dtype], atol=CLOSE[dtype])
    grads, expected_grads = sum_of(tuple(found)).backward(wrt=mixed), sum_of(tuple(expected)).backward(wrt=layer)

    for one, same in zip(layer.parameters().values(), mixed.parameters().values(), strict=True):
        assert grads[same].dtype == same.dtype == np.float32
        scale = np.abs(wide(expected_grads[one])).max() + 1
        np.testing.assert_allclose(wide(grads[same]) / scale, wide(expected_grads[one]) / scale, atol=CLOSE[dtype])
    for one, same in zip(layer.buffers().values(), mixed.buffers().values(), strict=True):
        assert same.dtype == one.dtype
        np.testing.assert_allclose(wide(same), wide(one), rtol=0.01, atol=0.001)


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_it_computes_in_half_precision(dtype: Any) -> None:
    layer = nn.Linear(3, 2, rng=0)
    mixed = nn.MixedPrecision(layer, compute=dtype)

    expected = nn.cast(layer, dtype)(X.astype(dtype)).astype(np.float32)

    assert mixed(X).tolist() == expected.tolist()
    assert mixed(X).tolist() != layer(X).tolist()


def test_gradients_are_those_of_an_explicit_conversion() -> None:
    layer = nn.Linear(3, 2, rng=0)
    mixed = nn.MixedPrecision(layer, compute=np.float16)
    x = X.trace()
    w, b = (one.astype(np.float16) for one in (layer.weight, layer.bias))

    expected = (tg.linear(x.astype(np.float16), w, b).astype(np.float32) ** 2).mean().backward()
    found = (mixed(X.trace()) ** 2).mean().backward()

    for one in (layer.weight, layer.bias, X):
        assert found[one].dtype == np.float32
        assert found[one].tolist() == expected[one].tolist()


class Result(NamedTuple):
    scores: Any
    labels: Any
    number: int


class Model(nn.Module):
    """What models of users have: containers, buffers, attributes that `forward` sets, and a bound method."""

    def __init__(self) -> None:
        self.layers = [nn.Linear(3, 4, rng=0), nn.Linear(4, 4, rng=1)]
        self.heads: dict[str, Any] = {"a": nn.Linear(4, 2, rng=2), "b": (nn.Linear(4, 2, rng=3),)}
        self.shared = self.layers[1]
        self.position = nn.Buffer(tg.full((4,), 0.5))
        self.calls = nn.Buffer(tg.tensor(0))
        self.activation = self.cubed
        self.itself = self
        self.seen: list[int] = []
        self.last = ""

    def cubed(self, x: Any) -> Any:
        return x * x * self.position

    def forward(self, x: Any, *, head: str = "a") -> Any:
        for layer in (*self.layers, self.itself.shared):
            x = tg.tanh(layer(x)) + self.position
        y = self.activation(x)
        self.calls.assign(self.calls + 1)
        self.position.assign(self.position * 0.5)
        self.seen.append(len(x))
        self.last = head
        scores = self.heads["a"](y) if head == "a" else self.heads["b"][0](y)
        return Result(scores, scores.argmax(axis=1), 7)


def test_a_model_of_a_user_works_unchanged() -> None:
    model = Model()
    plain, mixed = copy.deepcopy(model), nn.MixedPrecision(model, compute=np.float16)

    for head in ("a", "b"):
        expected, found = plain(X, head=head), mixed(X, head=head)

        assert isinstance(found, Result)
        assert found.scores.dtype == np.float32
        assert found.labels.dtype == np.int64
        assert found.number == 7
        np.testing.assert_allclose(found.scores.numpy(), expected.scores.numpy(), atol=0.01)
    assert model.last == "b"
    assert model.seen == [5, 5]
    assert model.calls.item() == 2
    assert model.position.dtype == np.float32
    assert model.position.tolist() == [0.125] * 4
    assert {type(one) for one in mixed.parameters().values()} == {nn.Param}
    assert set(vars(model)) == set(vars(plain))


def test_parameters_used_twice_have_the_sum_of_both_gradients() -> None:
    layer = nn.Linear(3, 3, rng=0)
    mixed = nn.MixedPrecision(nn.Sequential(layer, layer), compute=np.float16)

    found = (mixed(X.trace()) ** 2).mean().backward(wrt=mixed)
    expected = (nn.Sequential(layer, layer)(X.trace()) ** 2).mean().backward(wrt=layer)

    np.testing.assert_allclose(found[layer.weight].numpy(), expected[layer.weight].numpy(), rtol=0.01, atol=0.001)


class Guarded(nn.Module):
    """Annotated with float32, which stands for the dtype of the call."""

    def __init__(self) -> None:
        self.layer = nn.Linear(3, 2, rng=0)

    @guarded
    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


def test_annotations_of_float32_stand_for_the_dtype_of_the_call_only() -> None:
    model = Guarded()
    mixed = nn.MixedPrecision(model, compute=np.float16)

    assert mixed(X).dtype == np.float32
    with pytest.raises(ShapeError):
        mixed(tg.ones((2, 4)))
    for dtype in (np.float16, np.float64):
        with pytest.raises(DTypeError, match=r"x is float\d\d but float32 is expected"):
            model(X.astype(dtype))


def test_errors_name_the_layer_in_the_model() -> None:
    mixed: Any = nn.MixedPrecision(nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), compute=np.float16)

    with pytest.raises(ShapeError) as caught:
        mixed(tg.ones((2, 4)))

    message = "mixed.model[1] Linear(3, 2): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3"
    assert str(caught.value) == message


def test_frozen_parameters_get_no_gradient() -> None:
    mixed = nn.MixedPrecision(nn.Linear(3, 2, rng=0), compute=np.float16)
    mixed.model.weight.frozen = True

    grads = mixed(X.trace()).sum().backward(wrt=mixed)

    assert mixed.model.weight not in grads
    assert mixed.model.bias in grads


def test_a_quantized_model_computes_in_half_precision() -> None:
    model = nn.quantized(nn.Linear(64, 48, rng=0))
    x = tg.normal((2, 64), rng=0)

    y = nn.MixedPrecision(model, compute=ml_dtypes.bfloat16)(x)

    assert y.dtype == np.float32
    np.testing.assert_allclose(y.numpy(), model(x).numpy(), atol=0.05)


def test_several_threads_may_call_one_model() -> None:
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.ReLU(), nn.Linear(4, 2, rng=1))
    mixed = nn.MixedPrecision(model, compute=np.float16)
    alone = mixed(X).tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda at: (mixed if at % 2 else model)(X), range(40)))

    assert all(y.tolist() == (alone if at % 2 else found[0].tolist()) for at, y in enumerate(found))
    assert model(X).dtype == np.float32


def test_a_summary_counts_the_layers() -> None:
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.ReLU())

    table = tg.summary(nn.MixedPrecision(model, compute=np.float16), ("N", 3))

    assert [(row.path, row.output, row.calls) for row in table.rows] == [
        ("", "(N, 4)", 1),
        ("model", "(N, 4)", 1),
        ("model.layers.0", "(N, 4)", 1),
        ("model.layers.1", "(N, 4)", 1),
    ]


def test_it_can_be_copied_pickled_and_saved(tmp_path: Path) -> None:
    mixed = nn.MixedPrecision(nn.Linear(3, 2, rng=0), compute=ml_dtypes.bfloat16)
    other = nn.MixedPrecision(nn.Linear(3, 2, rng=1), compute=ml_dtypes.bfloat16)

    io.save(mixed, tmp_path / "model.npz")
    io.load(other, tmp_path / "model.npz")

    for same in (copy.deepcopy(mixed), pickle.loads(pickle.dumps(mixed)), other):  # noqa: S301  # its own pickle
        assert same(X).tolist() == mixed(X).tolist()


def test_small_updates_are_not_lost_in_rounding() -> None:
    mixed = nn.MixedPrecision(nn.Linear(1, 1, bias=False), compute=ml_dtypes.bfloat16)
    mixed.model.weight.assign(tg.ones((1, 1)))
    opt = optim.SGD(mixed, lr=2.0**-12)

    for _ in range(2**8):
        opt.step(mixed(tg.ones((1, 1)).trace()).sum().backward(wrt=mixed))

    assert mixed.model.weight.item() == 1 - 2.0**-4  # in bfloat16 each step would leave it at 1


def test_loss_scaling_saves_small_gradients_and_skips_infinite_ones() -> None:
    mixed = nn.MixedPrecision(nn.Linear(3, 2, rng=0), compute=np.float16)
    opt, scaler = optim.SGD(mixed, lr=1.0), optim.LossScaler(2.0**16)
    bias = mixed.model.bias
    before = bias.tolist()

    alone = (mixed(X.trace()).sum() * 2.0**-28).backward(wrt=mixed)[bias].tolist()
    taken = scaler.step(opt, scaler.scaled(mixed(X.trace()).sum() * 2.0**-28).backward(wrt=mixed))
    moved = bias.numpy(copy=True)
    with np.errstate(over="ignore", invalid="ignore"):
        skipped = not scaler.step(opt, scaler.scaled(mixed(X.trace()).sum() * 4.0).backward(wrt=mixed))

    assert alone == [0.0, 0.0]
    assert taken
    np.testing.assert_array_equal(moved, np.float32(before) - np.float32(5 * 2.0**-28))
    assert skipped
    assert (scaler.skipped, scaler.scale) == (1, 2.0**15)
    assert bias.tolist() == moved.tolist()


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_it_learns_as_float32_does(dtype: Any) -> None:
    x = tg.normal((64, 8), rng=0)
    labels = tg.tensor((x.numpy()[:, 0] > 0).astype(np.int64))
    losses = {}
    for kind in ("float32", "mixed"):
        model: Any = nn.Sequential(nn.Linear(8, 16, rng=0), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2, rng=1))
        model = nn.MixedPrecision(model, compute=dtype) if kind == "mixed" else model
        opt = optim.Adam(model, lr=0.01)
        for _ in range(30):
            loss = tg.cross_entropy(model(x.trace()), labels)
            opt.step(loss.backward(wrt=model))
        losses[kind] = loss.item()

    assert losses["float32"] < 0.2
    assert abs(losses["mixed"] - losses["float32"]) < 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nn.MixedPrecision(nn.Linear(3, 2), compute=np.float32),  # type: ignore[arg-type]  # under test
            "MixedPrecision: compute is float32 but bfloat16 or float16 is expected",
        ),
        (
            lambda: nn.MixedPrecision(nn.Linear(3, 2), compute=np.int8),  # type: ignore[arg-type]  # under test
            "MixedPrecision: compute is int8 but floating is expected",
        ),
        (
            lambda: nn.MixedPrecision(nn.cast(nn.Linear(3, 2), np.float64), compute=np.float16),
            "MixedPrecision: weight is float64 but float32 is expected",
        ),
        (lambda: nn.MixedPrecision(tg.ones, compute=np.float16), "MixedPrecision: model is a function, not a module"),
    ],
)
def test_other_arguments_are_rejected(call: Any, message: str) -> None:
    with pytest.raises(DTypeError) as caught:
        call()

    assert str(caught.value) == message
