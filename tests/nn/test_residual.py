"""Residual, ResidualMul and Repeated: their values, and the path in an error."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import (
    GeneralizedAdd,
    GeneralizedMul,
    Linear,
    Module,
    ReLU,
    Repeated,
    Residual,
    ResidualMul,
    Sequential,
)
from tapegrad.ops import add, ones, sum, tensor


class Row(Module):
    """Keeps only the first row of two: a shape that broadcasts."""

    def forward(self, x: Any) -> Any:
        return sum(x, 0, keepdims=True)


class Wide(Module):
    """Converts to float64."""

    def forward(self, x: Any) -> Any:
        import numpy as np

        return x.astype(np.float64)


def test_the_argument_is_added_to_the_result() -> None:
    x: Any = tensor([[1.0, -2.0, 3.0]])

    assert Residual(ReLU())(x).tolist() == [[2, -2, 6]]


def test_the_argument_is_multiplied_by_the_result() -> None:
    x: Any = tensor([[1.0, -2.0, 3.0]])

    y = ResidualMul(ReLU())(x.trace())

    assert y.tolist() == [[1, 0, 9]]
    assert sum(y).backward()[x].tolist() == [[2, 0, 6]]  # of x² where x is positive


def test_repeated_layers_have_separate_parameters() -> None:
    x = ones((2, 3))
    model = Repeated(lambda: Linear(3, 3), 3)

    y = model(x)

    assert list(model.parameters())[::2] == ["layers.0.weight", "layers.1.weight", "layers.2.weight"]
    assert y.tolist() == model[2](model[1](model[0](x))).tolist()
    assert len(model) == 3
    assert model[0].weight.tolist() != model[1].weight.tolist()


def test_no_layer_changes_nothing() -> None:
    x = ones((2, 3))

    assert Repeated(ReLU, 0)(x) is x


def test_one_layer_may_change_the_shape() -> None:
    assert Repeated(lambda: Linear(3, 4, rng=0), 1)(ones((2, 3))).shape == (2, 4)


def test_the_tape_of_the_result_is_that_of_the_argument() -> None:
    model = Residual(Repeated(lambda: Linear(3, 3, rng=0), 2))

    assert not model(ones((2, 3))).owns_tape
    assert model(ones((2, 3)).trace()).owns_tape


def test_gradients_flow_through_both_branches() -> None:
    x: Any = tensor([[1.0, -2.0, 3.0]])

    traced = sum(Residual(Repeated(lambda: Residual(ReLU()), 2))(x.trace())).backward()

    # 1 + 2 · 2 where x is positive, 1 + 1 elsewhere
    assert traced[x].tolist() == [[5, 2, 5]]


TOO_WIDE = "Linear(5, 5): x is (2, 3) but (..., 5) is expected: axis -1 is 3, not 5"
linear: Any = Linear  # mypy rejects the models below before they run


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            Residual(linear(3, 4, rng=0)),
            ShapeError,
            "model.layer Linear(3, 4): the result is (2, 4) but (2, 3) is expected: axis 1 is 4, not 3",
        ),
        (
            ResidualMul(Row()),
            ShapeError,
            "model.layer Row: the result is (1, 3) but (2, 3) is expected: axis 0 is 1, not 2",
        ),
        (
            Residual(Row()),
            ShapeError,
            "model.layer Row: the result is (1, 3) but (2, 3) is expected: axis 0 is 1, not 2",
        ),
        (
            Residual(Wide()),
            DTypeError,
            "model.layer Wide: the result is float64 but float32 is expected",
        ),
        (
            Repeated(lambda: linear(3, 4, rng=0), 2),
            ShapeError,
            "model[0] Linear(3, 4): the result is (2, 4) but (2, 3) is expected: axis 1 is 4, not 3",
        ),
        (
            Sequential(ReLU(), Repeated(lambda: Repeated(lambda: linear(5, 5, rng=0), 1), 2)),
            ShapeError,
            f"model[1][0][0] {TOO_WIDE}",
        ),
        (
            Residual(Sequential(linear(3, 4, rng=0))),
            ShapeError,
            "model.layer Sequential: the result is (2, 4) but (2, 3) is expected: axis 1 is 4, not 3",
        ),
        (
            Sequential(Residual(linear(5, 5, rng=0))),
            ShapeError,
            f"model[0].layer {TOO_WIDE}",
        ),
    ],
)
def test_an_error_names_the_path_of_the_layer(model: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        model(ones((2, 3)))


residual: Any = Residual
residual_mul: Any = ResidualMul
repeated: Any = Repeated


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: residual(add), DTypeError, "Residual: layer is a function, not a module"),
        (lambda: residual_mul(3.0), DTypeError, "ResidualMul: layer is a float, not a module"),
        (lambda: repeated(lambda: 3, 2), DTypeError, "Repeated: layer 0 is an int, not a module"),
        (lambda: Repeated(ReLU, -1), ValueError, "Repeated: times is -1 but must be at least 0"),
    ],
)
def test_non_callables_are_rejected(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make()


class Shifted(Module):
    """Adds what is given beside its argument."""

    def forward(self, x: Any, by: Any, *, times: float = 1.0) -> Any:
        return x + by * times


def test_each_layer_gets_the_extra_arguments() -> None:
    model = Repeated(Shifted, 3)

    assert model(ones((2,)), tensor([1.0, 2.0])).tolist() == [4.0, 7.0]
    assert model(ones((2,)), tensor([1.0, 2.0]), times=2.0).tolist() == [7.0, 13.0]
    assert Repeated(lambda: Repeated(Shifted, 2), 2)(ones((2,)), 1.0).tolist() == [5.0, 5.0]
    with pytest.raises(
        ShapeError, match=r"^model\[0\] Shifted: the result is \(3, 2\) but \(2,\) is expected: rank 2, not 1$"
    ):
        model(ones((2,)), ones((3, 2)))


def test_two_layers_are_added_or_multiplied() -> None:
    x, first, second = ones((2, 3)) * 0.5, Linear(3, 5, rng=0), Linear(3, 5, rng=1)

    total, product = GeneralizedAdd(first, second)(x.trace()), GeneralizedMul(first, second)(x)

    assert total.tolist() == (first(x) + second(x)).tolist()
    assert product.tolist() == (first(x) * second(x)).tolist()
    assert len(total.sum().backward(wrt=[first.weight, second.weight])) == 2
    assert list(GeneralizedAdd(first, second).parameters()) == [
        "first.weight",
        "first.bias",
        "second.weight",
        "second.bias",
    ]


@pytest.mark.parametrize("kind", [GeneralizedAdd, GeneralizedMul])
def test_a_second_result_of_another_shape_is_rejected(kind: Any) -> None:
    name = kind.__name__
    message = f"{name}.second Linear(3, 1): the result is (2, 1) but (2, 5) is expected: axis 1 is 1, not 5"
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        kind(Linear(3, 5), Linear(3, 1))(ones((2, 3)))
    with pytest.raises(ShapeError, match=rf"^{name}\.first Linear\(4, 5\): x is \(2, 3\)"):
        kind(Linear(4, 5), Linear(3, 5))(ones((2, 3)))
    with pytest.raises(DTypeError, match=rf"^{name}: second is an int, not a module$"):
        kind(ReLU(), 3)


def test_repeated_needs_a_function_that_creates_layers() -> None:
    message = "Repeated: make is a Linear but a function that makes one is expected: each layer has its own"
    with pytest.raises(DTypeError, match=f"^{message}$"):
        repeated(Linear(3, 3), 2)
