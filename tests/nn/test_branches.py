"""SplitInto and AddInto: the flow of values, and the path in an error."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.nn import AddInto, Embedding, Linear, Module, ReLU, Sequential, SplitInto, Tanh
from tapegrad.ops import normal, ones, relu, tanh, tensor, zeros

linear: Any = Linear  # mypy rejects the models below before they run
add_into: Any = AddInto
split_into: Any = SplitInto
TOO_NARROW = "Linear(5, 6): x is (2, 3) but (..., 5) is expected: axis -1 is 3, not 5"


class Double(Module):
    """Converts to float64."""

    def forward(self, x: Any) -> Any:
        import numpy as np

        return x.astype(np.float64)


class Loss(Module):
    """Puts a tape on what is traced."""

    def forward(self, x: Any) -> Any:
        return x.put_tape(x.tape)


def test_every_layer_gets_the_argument() -> None:
    x = normal((2, 3), rng=0)

    left, right = SplitInto(ReLU(), Sequential(Tanh(), ReLU()))(x)

    assert left.tolist() == relu(x).tolist()
    assert right.tolist() == relu(tanh(x)).tolist()


def test_results_are_summed() -> None:
    x, y, z = normal((2, 3), rng=0), normal((2, 5), rng=1), normal((2, 7), rng=2)
    model = AddInto(Linear(3, 7, rng=3), Linear(5, 7, rng=4), Tanh())

    total = model((x, y, z))

    assert total.tolist() == (model[0](x) + model[1](y) + tanh(z)).tolist()


def test_gradients_of_all_branches_are_summed() -> None:
    x: Any = tensor([[1.0, -2.0]])
    model: Any = Sequential(SplitInto(ReLU(), ReLU(), Sequential()), AddInto(ReLU(), Sequential(), ReLU()))

    dx = model(x.trace()).sum().backward()[x]

    # Three ways lead through where x is positive; a relu stands in each where it is not.
    assert dx.tolist() == [[3, 0]]


def test_parameters_are_found_in_every_branch() -> None:
    model = Sequential(SplitInto(Linear(3, 2), Tanh()), AddInto(Linear(2, 5), Linear(3, 5, bias=False)))

    assert list(model.parameters()) == [
        "layers.0.layers.0.weight",
        "layers.0.layers.0.bias",
        "layers.1.layers.0.weight",
        "layers.1.layers.0.bias",
        "layers.1.layers.1.weight",
    ]
    assert (len(model[0]), len(model[1])) == (2, 2)
    assert model[1][0] is model[1].layers[0]


def test_zero_branches_give_an_empty_tuple() -> None:
    assert SplitInto()(ones((2,))) == ()


@pytest.mark.parametrize(
    ("model", "x", "error", "message"),
    [
        (
            SplitInto(ReLU(), linear(5, 6, rng=0)),
            ones((2, 3)),
            ShapeError,
            f"model[1] {TOO_NARROW}",
        ),
        (
            SplitInto(ReLU(), SplitInto(ReLU(), Embedding(5, 6, rng=0))),
            ones((2, 3)),
            DTypeError,
            "model[1][1] Embedding(5, 6): indices is float32 but integer is expected",
        ),
        (
            Sequential(ReLU(), SplitInto(Sequential(linear(5, 6, rng=0)))),
            ones((2, 3)),
            ShapeError,
            f"model[1][0][0] {TOO_NARROW}",
        ),
        (
            SplitInto(Loss()),
            ones((2, 3)).trace(),
            TapeError,
            "put_tape: x has a tape but must have none",
        ),
        (
            AddInto(ReLU(), linear(5, 6, rng=0)),
            (ones((2, 3)), ones((2, 4))),
            ShapeError,
            "model[1] Linear(5, 6): x is (2, 4) but (..., 5) is expected: axis -1 is 4, not 5",
        ),
        (
            AddInto(ReLU(), linear(5, 1, rng=0)),
            (ones((2, 3)), ones((2, 5))),
            ShapeError,
            "model[1] Linear(5, 1): the result is (2, 1) but (2, 3) is expected: axis 1 is 1, not 3",
        ),
        (
            AddInto(ReLU(), ReLU(), Double()),
            (ones((2,)), ones((2,)), ones((2,))),
            DTypeError,
            "model[2] Double: the result is float64 but float32 is expected",
        ),
        (
            AddInto(ReLU(), ReLU()),
            (ones((2,)),),
            ShapeError,
            "model AddInto: inputs is a tuple of 1 but a tuple of 2 is expected",
        ),
        (
            Sequential(ReLU(), add_into(ReLU(), ReLU())),
            ones((2, 3)),
            DTypeError,
            "model[1] AddInto: inputs is a Tensor but a tuple of 2 is expected",
        ),
    ],
)
def test_an_error_names_the_path_of_the_layer(model: Any, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as rejected:
        model(x)

    assert str(rejected.value) == message


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: split_into(ReLU(), zeros), DTypeError, "SplitInto: layer 1 is a function, not a module"),
        (lambda: add_into(3), DTypeError, "AddInto: layer 0 is an int, not a module"),
        (AddInto, ValueError, "AddInto: there is no layer, so nothing to add"),
    ],
)
def test_non_callables_are_rejected(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make()
