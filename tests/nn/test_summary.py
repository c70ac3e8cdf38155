"""Model summaries: the table, and their errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from typing import Literal as L

import numpy as np
import pytest
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, Shape, Tensor, guarded, nn
from tapegrad.errors import DTypeError, ShapeError, TapeError

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

linear: Any = nn.Linear  # mypy rejects some of the models below before they run
TOO_NARROW = "Linear(64, 32): the result is (2, 32) but (2, 64) is expected: axis 1 is 32, not 64"


class Net(nn.Module):
    """Everything a summary can meet: a parameter of its own, a layer called twice, one that is not called."""

    def __init__(self) -> None:
        self.embed = nn.Embedding(5000, 24)
        self.body = nn.Sequential(nn.Linear(24, 48), nn.Dropout(0.5), nn.Linear(48, 24))
        self.again = self.body
        self.heads = nn.SplitInto(nn.Linear(24, 3), nn.Tanh())
        self.scale = nn.Param(tg.ones((24,)))
        self.left = nn.Linear(3, 4)  # type: ignore[tapegrad-unused]  # under test

    def forward(self, x: Any) -> Any:
        h = self.again(self.body(self.embed(x))) * self.scale
        return self.heads(h)


class Asking(nn.Module):
    """Applies a given function to its argument."""

    def __init__(self, question: Callable[[Any], Any]) -> None:
        self.question = question

    def forward(self, x: Any) -> Any:
        return self.question(x)


def test_a_summary_is_a_table() -> None:
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))

    # 64 · 48 + 48 = 3,120 and 48 · 10 + 10 = 490, of 4 bytes each
    assert str(tg.summary(model, ("N", 64))) == "\n".join(  # noqa: FLY002  # a table is read line by line
        [
            "path      layer             output   parameters",
            "          Sequential        (N, 10)",
            "layers.0    Linear(64, 48)  (N, 48)       3,120",
            "layers.1    ReLU()          (N, 48)",
            "layers.2    Linear(48, 10)  (N, 10)         490",
            "",
            "3,610 parameters, 14,440 bytes",
        ]
    )


def test_every_layer_is_listed_and_every_parameter_counts_once() -> None:
    model = Net()
    nn.freeze(model, "embed.*")

    table = tg.summary(model, ("N", 7), dtype=np.int64)

    assert [(row.path, row.output, row.calls, row.parameters) for row in table.rows] == [
        ("", "(N, 7, 3), (N, 7, 24)", 1, 24),
        ("embed", "(N, 7, 24)", 1, 120_000),
        ("body", "(N, 7, 24)", 2, 0),
        ("body.layers.0", "(N, 7, 48)", 2, 1_200),
        ("body.layers.1", "(N, 7, 48)", 2, 0),
        ("body.layers.2", "(N, 7, 24)", 2, 1_176),
        ("heads", "(N, 7, 3), (N, 7, 24)", 1, 0),
        ("heads.layers.0", "(N, 7, 3)", 1, 75),
        ("heads.layers.1", "(N, 7, 24)", 1, 0),
        ("left", "not called", 0, 16),
    ]
    assert table.parameters == sum(one.size for one in model.parameters().values()) == 122_491
    assert (table.frozen, table.size) == (120_000, 4 * 122_491)
    assert "body.layers.1       Dropout(0.5)       (N, 7, 48) ×2\n" in repr(table)
    assert repr(table).endswith("\n122,491 parameters, 120,000 of them frozen, 489,964 bytes")


def test_a_layer_with_two_output_shapes_has_a_row_for_each() -> None:
    shared = nn.ReLU()
    model = nn.Sequential(shared, nn.Linear(3, 5), shared)

    rows = tg.summary(model, (2, 3)).rows

    assert [(row.path, row.output) for row in rows[1:]] == [
        ("layers.0", "(2, 3)"),
        ("layers.0", "(2, 5)"),
        ("layers.1", "(2, 5)"),
    ]


def test_a_summary_allocates_no_activations() -> None:
    model = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.LayerNorm(48), nn.Linear(48, 10))

    assert tg.summary(model, (10**12, 64)).rows[0].output == "(1000000000000, 10)"


def test_the_model_is_unchanged() -> None:
    model = Net()
    own = Asking(lambda x: x)
    vars(own)["forward"] = forward = lambda x: x * 2.0
    before = {path: one.tolist() for path, one in model.parameters().items()}

    tg.summary(model, (2, 7), dtype=np.int64)
    tg.summary(own, (2, 7))
    with pytest.raises(ShapeError):
        tg.summary(model.body, (2, 7))

    assert "forward" not in vars(model)
    assert "forward" not in vars(model.body)
    assert own.forward is forward
    assert {path: one.tolist() for path, one in model.parameters().items()} == before


class Longer(nn.Module):
    """Adds a row, and says so."""

    @guarded
    def forward(self, x: Tensor[Shape[N, M]]) -> Tensor[Shape[Add[N, L[1]], M]]:
        return tg.concat([x, x[:1]])


class Shorter(nn.Module):
    """Takes a row away, and says so."""

    @guarded
    def forward(self, x: Tensor[Shape[Add[N, L[2]], M]]) -> Tensor[Shape[Add[N, L[1]], M]]:
        return x[1:]


class Halved(nn.Module):
    """Says that it halves the columns, and leaves them."""

    @guarded
    def forward(self, x: Tensor[Shape[N, M]]) -> Any:
        return self.columns(x, x.shape)

    @guarded
    def columns(self, x: Tensor[Shape[N, M]], shape: tuple[N, M]) -> Tensor[Shape[N, FloorDiv[M, L[2]]]]:
        return x.reshape(shape)  # type: ignore[return-value]  # under test


class Averaged(nn.Module):
    """Divides by a size."""

    def forward(self, x: Tensor[Shape[N, M]]) -> Any:
        return rows(x, x.shape[0])


@guarded
def rows(x: Tensor[Shape[N, M]], n: N) -> Tensor[Shape[M]]:
    return x.sum(0) / n


class Attention(nn.Module):
    """Computes with sizes in the middle of it."""

    def __init__(self) -> None:
        self.project = nn.Linear(12, 12)

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        heads = self.project(x).reshape((b, t, 3, d // 3)).swapaxes(1, 2)
        scores = tg.softmax(heads @ heads.swapaxes(-1, -2) / (d // 3) ** 0.5)
        y = (scores @ heads).swapaxes(1, 2).reshape((b, t, d))
        assert y.shape == x.shape
        return y.flatten(1)


@pytest.mark.parametrize(
    ("model", "shape", "output"),
    [
        (Longer(), ("B", 6), "(B + 1, 6)"),
        (nn.Sequential(Longer(), Longer(), Shorter()), ("B", "D"), "(B + 1, D)"),
        (Averaged(), ("B", 3), "(3,)"),
        (Attention(), ("B", "T", 12), "(B, 12*T)"),
        (Attention(), (2, 5, 12), "(2, 60)"),
    ],
    ids=str,
)
def test_named_sizes_pass_through_guards_and_arithmetic(model: Any, shape: Any, output: str) -> None:
    assert tg.summary(model, shape).rows[0].output == output


def test_a_guard_checks_named_sizes() -> None:
    message = "Halved.columns: the result is (B, D) but (N, M // 2) is expected: axis 1 is D, not M // 2 = D // 2"

    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        tg.summary(Halved(), ("B", "D"))


def test_inputs_may_be_several_and_tensors() -> None:
    class Two(nn.Module):
        def forward(self, x: Any, pair: Any) -> Any:
            return x.take(pair[0]) + pair[1]

    table = tg.summary(Two(), ("N", 5), (tg.tensor([1, 2, 0]), (3, 5)))

    assert table.rows[0].output == "(3, 5)"
    assert tg.summary(nn.Tanh(), ()).rows[0].output == "()"


@pytest.mark.parametrize(
    ("model", "path", "message"),
    [
        (
            nn.Sequential(nn.Linear(64, 48), nn.ReLU(), linear(50, 10)),
            "layers.2, Linear(50, 10)",
            "Sequential[2] Linear(50, 10): x is (2, 48) but (..., 50) is expected: axis -1 is 48, not 50",
        ),
        (
            nn.Sequential(nn.Tanh(), nn.Residual(linear(64, 32))),
            "layers.1, Residual",
            f"Sequential[1].layer {TOO_NARROW}",
        ),
        (
            nn.Sequential(Asking(lambda x: tg.matmul(x, tg.ones((63, 5))))),
            "layers.0, Asking()",
            "matmul: inner sizes differ: x (2, 64) has 64 columns but y (63, 5) has 63 rows",
        ),
    ],
)
def test_a_wrong_shape_raises_the_message_of_a_real_run(model: Any, path: str, message: str) -> None:
    with pytest.raises(ShapeError) as by_shapes:
        tg.summary(model, (2, 64))
    with pytest.raises(ShapeError) as run:
        model.forward(tg.ones((2, 64)))

    assert str(by_shapes.value) == str(run.value) == message
    assert by_shapes.value.__notes__[-1] == f"in {path}"


def test_a_missing_tape_is_reported() -> None:
    with pytest.raises(TapeError, match=r"^backward: the tensor has no tape; trace an input"):
        tg.summary(nn.Sequential(Asking(lambda x: x.sum().backward())), (2, 3))


@pytest.mark.parametrize(
    ("question", "requested"),
    [
        (lambda x: x if x.sum().item() > 0 else -x, "the numbers of a tensor"),
        (lambda x: x if x.shape[0] > 3 else -x, "the number that N stands for"),
    ],
    ids=["numbers", "name"],
)
def test_a_model_that_reads_values_is_rejected(question: Callable[[Any], Any], requested: str) -> None:
    with pytest.raises(
        ValueError, match=f"^summary: Sequential asks for {requested}, and a summary has shapes only"
    ) as said:
        tg.summary(nn.Sequential(nn.ReLU(), Asking(question)), ("N", 3))

    assert said.value.__notes__ == ["in layers.1, Asking()"]


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (([2, 3],), DTypeError, "summary: input 0 is [2, 3], neither a shape nor a tensor"),
        (((2, 3), 5), DTypeError, "summary: input 1 is 5, neither a shape nor a tensor"),
        (((2, None),), DTypeError, "summary: input 0 is (2, None), where None is neither an int nor a name"),
        (((2, "?"),), DTypeError, "summary: input 0 is (2, '?'), where '?' is neither an int nor a name"),
        (((2, True),), DTypeError, "summary: input 0 is (2, True), where True is neither an int nor a name"),
        ((((2,), (3, -1)),), ShapeError, "summary: input 0[1] is (3, -1), which has the negative size -1"),
    ],
)
def test_invalid_shapes_are_rejected(inputs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        tg.summary(nn.ReLU(), *inputs)
