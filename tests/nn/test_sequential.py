"""Sequential: the order of layers, and the path in an error."""

from __future__ import annotations

import gc
import re
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.nn import Embedding, Linear, MaxPool2d, Module, ReLU, Sequential, Tanh
from tapegrad.ops import cross_entropy, max_pool2d, ones, relu, tensor, zeros


class Net(Module):
    """A module with layers inside."""

    def __init__(self) -> None:
        self.body = Sequential(Linear(4, 5, rng=0))

    def forward(self, x: Any) -> Any:
        return self.body(x)


class Loss(Module):
    """Puts a tape on what is traced."""

    def forward(self, x: Any) -> Any:
        return x.put_tape(x.tape)


linear: Any = Linear  # mypy rejects the models below before they run


def test_layers_run_in_order() -> None:
    model = Sequential(Linear(3, 4, rng=0), ReLU(), Linear(4, 2, rng=1))
    x = ones((5, 3))

    y = model(x)

    assert y.tolist() == model[2](model[1](model[0](x))).tolist()
    assert y.shape == (5, 2)
    assert model.layers[1] is model[1]
    assert len(model) == 3


@pytest.mark.parametrize("pool", [MaxPool2d(2), MaxPool2d(3, stride=1, padding=1), MaxPool2d(2, padding=1, dilation=4)])
def test_relu_before_a_max_pool_changes_no_value_and_no_gradient(pool: Any) -> None:
    values = np.random.default_rng(0).integers(-3, 4, (2, 3, 4, 7)).astype(np.float32)  # of which many are equal
    values.ravel()[[5, 6, 30]] = np.inf, -np.inf, np.nan
    x = tensor(values)
    options = {"stride": pool.stride, "padding": pool.padding, "dilation": pool.dilation}
    y = max_pool2d(relu(x.trace()), pool.kernel, **options)
    weight = tensor(np.random.default_rng(1).normal(size=y.shape).astype(np.float32))

    pooled = Sequential(ReLU(), pool)(x.trace())

    np.testing.assert_array_equal(pooled.numpy(), y.numpy())
    dx, expected = (one.backward(seed=weight)[x] for one in (pooled, y))
    np.testing.assert_array_equal(dx.numpy(), expected.numpy())


def test_errors_before_a_max_pool_name_the_layer() -> None:
    model: Any = Sequential(ReLU(), MaxPool2d(2))  # mypy rejects the two calls that fail

    pooled = model(ones((1, 4, 6)).trace())

    assert str(pooled.tape) == "OwnedTape(GradientTape(2 ops: relu (1, 4, 6), extreme (1, 2, 3)))"
    with pytest.raises(DTypeError, match=re.escape("model[0] ReLU: x is bool but number is expected")):
        model(tensor(np.ones((1, 4, 6), np.bool_)))
    with pytest.raises(DTypeError, match=re.escape("model[0] ReLU")):
        model([1.0])
    with pytest.raises(ShapeError, match=re.escape("model[1] MaxPool2d: x (4, 6) has rank 2")):
        model(ones((4, 6)))


def test_no_layer_changes_nothing() -> None:
    x = ones((5, 3))

    assert Sequential()(x) is x
    assert repr(Sequential()) == "Sequential()"


@pytest.mark.parametrize(
    ("model", "x", "error", "message"),
    [
        (
            Sequential(linear(3, 4, rng=0), ReLU(), linear(5, 2, rng=0)),
            ones((6, 3)),
            ShapeError,
            "model[2] Linear(5, 2): x is (6, 4) but (..., 5) is expected: axis -1 is 4, not 5",
        ),
        (
            Sequential(linear(3, 4, rng=0), Sequential(linear(3, 2, rng=0), Tanh())),
            ones((6, 3)),
            ShapeError,
            "model[1][0] Linear(3, 2): x is (6, 4) but (..., 3) is expected: axis -1 is 4, not 3",
        ),
        (
            Sequential(Sequential(ReLU(), Sequential(Embedding(3, 2, rng=0)))),
            ones((6,)),
            DTypeError,
            "model[0][1][0] Embedding(3, 2): indices is float32 but integer is expected",
        ),
        (
            Sequential(Tanh(), ReLU(), Tanh()),
            zeros((2,), np.bool_),
            DTypeError,
            "model[0] Tanh: x is bool but floating is expected",
        ),
    ],
)
def test_an_error_names_the_path_of_the_layer(model: Any, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as rejected:
        model(x)

    assert str(rejected.value) == message
    frames = [frame.filename for frame in traceback.extract_tb(rejected.tb)]
    assert set(frames) == {__file__}


def test_an_error_of_user_code_is_unchanged_but_has_a_note() -> None:
    model = Sequential(Tanh(), Sequential(Net()))

    with pytest.raises(ShapeError) as rejected:
        model(ones((6, 3)))

    assert str(rejected.value) == "Net.body[0] Linear(4, 5): x is (6, 3) but (..., 4) is expected: axis -1 is 3, not 4"
    assert rejected.value.__notes__ == ["in Sequential[0] Net", "in Sequential[1] Sequential"]


def test_a_path_inside_user_code_is_not_joined_to_the_outer_path() -> None:
    class Anonymous(Module):
        def forward(self, x: Any) -> Any:
            return Sequential(linear(4, 5, rng=0))(x)

    with pytest.raises(ShapeError) as rejected:
        Sequential(Sequential(Anonymous()))(ones((6, 3)))

    said = "Sequential[0] Linear(4, 5): x is (6, 3) but (..., 4) is expected: axis -1 is 3, not 4"
    assert str(rejected.value) == said
    assert rejected.value.__notes__ == ["in Sequential[0] Anonymous", "in Sequential[0] Sequential"]


def test_an_error_of_an_op_in_user_code_has_a_note() -> None:
    with pytest.raises(TapeError) as rejected:
        Sequential(Tanh(), Loss())(ones((6, 3)).trace())

    assert str(rejected.value) == "put_tape: x has a tape but must have none"
    assert rejected.value.__notes__ == ["in Sequential[1] Loss"]


def test_other_exceptions_are_unchanged() -> None:
    with pytest.raises(IndexError, match=r"^take: index 7"):
        Sequential(Embedding(3, 2, rng=0))(tensor([7]))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (([ReLU()],), "Sequential: layer 0 is a list, not a module; a star passes its layers: Sequential(*layers)"),
        ((ReLU(), zeros), "Sequential: layer 1 is a function, not a module"),
    ],
)
def test_invalid_layers_are_rejected(layers: Any, message: str) -> None:
    with pytest.raises(DTypeError, match=f"^{re.escape(message)}$"):
        Sequential(*layers)


def test_a_forward_pass_without_backward_is_freed_at_once() -> None:
    model, labels = Sequential(Linear(3, 4, rng=0), ReLU()), tensor([0, 3])
    gc.disable()
    try:
        loss = cross_entropy(model(ones((2, 3)).trace()), labels)
        freed = weakref.ref(loss)
        del loss

        assert freed() is None
    finally:
        gc.enable()
