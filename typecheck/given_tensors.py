"""Tensors that a call gives a constructor: in attributes, buffers, parameters, fields and named tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_type
from typing import Literal as L

import numpy as np
from numpy.typing import NDArray

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

row = tg.ones((3, 7))


class Table(nn.Module):
    """Keeps tensors in three ways."""

    def __init__(self, table: Tensor[Any, Any], weight: Tensor[Any, Any]) -> None:
        super().__init__()
        self.table = table
        self.buffer = nn.Buffer(table)
        self.weight = nn.Param(weight)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.table @ x

    def buffered(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.buffer @ x

    def weighted(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return x @ self.weight


class Agent:
    """Keeps a model and a tensor."""

    def __init__(self, model: Table, state: Tensor[Any, Any]) -> None:
        self.model = model
        self.state = state

    def act(self) -> Tensor[Any, Any]:
        return self.model(self.state)


class Changing:
    """Assigns to the attribute again."""

    def __init__(self, state: Tensor[Any, Any]) -> None:
        self.state = state

    def step(self, x: Tensor[Any, Any]) -> None:
        self.state = self.state[:1] + x


@dataclass
class Outputs:
    """Two tensors."""

    hidden: Tensor[Any, Any]
    last: Tensor[Any, Any]


class Pair(NamedTuple):
    """Two tensors."""

    first: Tensor[Any, Any]
    second: Tensor[Any, Any]


def outputs_of(x: Tensor[Any, Any]) -> Outputs:
    """Returns an object with the tensor it gets."""
    return Outputs(x, x)


def paired(x: Tensor[Any, Any]) -> Pair:
    """Returns a named tuple of what it computes."""
    return Pair(x, second=x @ tg.ones((7, 2)))


def computed(x: Tensor[Any, Any]) -> Outputs:
    """Returns an object with what it computes."""
    return Outputs(x[:, 0], last=x @ tg.ones((7, 2)))


def measured(x: Tensor[Any, Any]) -> tuple[Tensor[Any, Any], Outputs]:
    """Returns an object beside a number."""
    return x.sum(), computed(x)


def of_known_width(x: Tensor[Shape[L[3], L[7]], NoneTape]) -> Outputs:
    """Returns an object with tensors of known sizes, which only its body says."""
    return Outputs(x, x[0])


class Split(nn.Module):
    """Returns a named tuple, or an object."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, 4)
        self.second = nn.Linear(width, 5)

    def forward(self, x: Tensor[Any, Any]) -> Pair:
        return Pair(self.first(x), self.second(x))

    def outputs(self, x: Tensor[Any, Any]) -> Outputs:
        pair = self(x)
        return Outputs(hidden=pair.first, last=pair.second)


def loss_of(outputs: Outputs, pair: Pair) -> Tensor[Any, Any]:
    """Takes both."""
    return tg.mse(outputs.last, pair.second)


table = Table(tg.ones((4, 3)), tg.ones((7, 2)))
split = Split(7)


def accept_tensors_in_attributes() -> None:
    assert_type(table.table, Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(table(row), Tensor[Shape[L[4], L[7]], NoneTape])
    assert_type(table.buffered(row), Tensor[Shape[L[4], L[7]], NoneTape])
    assert_type(table.weighted(row), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(Agent(table, row).act(), Tensor[Shape[L[4], L[7]], NoneTape])


def accept_tensors_in_fields() -> None:
    outputs = Outputs(row, row[-1])
    assert_type(outputs.last, Tensor[Shape[L[7]], NoneTape])
    pair = Pair(row, second=row.T)
    assert_type(pair.second, Tensor[Shape[L[7], L[3]], NoneTape])
    assert_type(outputs_of(row).hidden, Tensor[Shape[L[3], L[7]], NoneTape])


def accept_tensors_in_what_a_function_returns() -> None:
    first, second = paired(row)
    assert_type(first, Tensor[Shape[L[3], L[7]], NoneTape])
    assert_type(second, Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(paired(row).second, Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(paired(row)._replace(first=row[0]).first, Tensor[Shape[L[7]], NoneTape])
    outputs = computed(row)
    assert_type(outputs.hidden, Tensor[Shape[L[3]], NoneTape])
    _, beside = measured(row)
    assert_type(beside.last, Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(of_known_width(row).last, Tensor[Shape[L[7]], NoneTape])
    assert_type(split(row).second, Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(split.outputs(row).last, Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(loss_of(outputs, paired(row)), Tensor[Shape[()], NoneTape])


def reject_an_argument_beside_a_tensor_in_an_attribute() -> None:
    table(row) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (4, 7) has 7 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_an_argument_beside_a_buffer() -> None:
    table.buffered(row) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (4, 7) has 7 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_an_argument_beside_a_parameter() -> None:
    table.weighted(row) @ tg.ones((7, 2))  # E: matmul: inner sizes differ: x (3, 2) has 2 columns but y (7, 2) has 7 rows [tapegrad-shape]


def reject_a_tensor_of_two_objects() -> None:
    Agent(table, row).act() @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 7) has 7 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_tensor_in_a_field() -> None:
    Outputs(row, row[-1]).last @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (7,) has 7 elements but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_tensor_in_a_named_tuple() -> None:
    Pair(row, row.T).second @ tg.ones((7, 2))  # E: matmul: inner sizes differ: x (7, 3) has 3 columns but y (7, 2) has 7 rows [tapegrad-shape]


def reject_an_item_that_a_function_returns() -> None:
    _, second = paired(row)
    second @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (3, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_field_that_a_function_returns() -> None:
    paired(row).second @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (3, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_field_of_an_object_that_a_function_returns() -> None:
    computed(row).last @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (3, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_field_of_an_object_beside_a_number() -> None:
    _, beside = measured(row)
    beside.last @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (3, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_field_that_a_layer_returns() -> None:
    split.outputs(row).last @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_field_that_is_replaced() -> None:
    paired(row)._replace(first=row[0]).first @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (7,) has 7 elements but y (3, 2) has 3 rows [tapegrad-shape]


def accept_an_attribute_that_is_assigned_again() -> None:
    changing = Changing(tg.ones((2, 3)))
    changing.step(tg.ones((5, 3)))
    changing.state + tg.ones((5, 1))


class Centred:
    """Sums of the rows of a tensor."""

    def __init__(self, x: Tensor, scale: float = 1.0) -> None:
        centred = x - x.mean(axis=0)
        self.total = centred.sum(axis=0) * scale

    def __call__(self, x: Tensor) -> Tensor:
        return x - self.total


class Masked(nn.Module):
    """A mask of numbers that are given."""

    def __init__(self, mask: Sequence[float]) -> None:
        self.mask = nn.Buffer(tg.tensor(mask))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.mask


def accept_what_a_constructor_computes_of_tensors() -> None:
    of_rows = Centred(tg.ones((20, 6)))
    assert_type(of_rows.total, Tensor[Shape[L[6]], NoneTape])
    assert_type(of_rows(tg.ones((3, 6))), Tensor[Shape[L[3], L[6]], NoneTape])
    assert_type(Masked([1.0, 0.0, 1.0])(tg.ones((5, 3))), Tensor[Shape[L[5], L[3]], NoneTape])


def reject_columns_that_a_constructor_has_not_seen() -> None:
    tg.ones((3, 7)) - Centred(tg.ones((20, 6))).total  # E: sub: x (3, 7) and y (6,) do not broadcast: axis -1 is 7 in x but 6 in y


def reject_columns_beside_a_mask() -> None:
    tg.ones((5, 4)) * Masked([1.0, 0.0, 1.0]).mask  # E: mul: x (5, 4) and y (3,) do not broadcast: axis -1 is 4 in x but 3 in y


class Couple(NamedTuple):
    """Two tensors."""

    first: Tensor
    second: Tensor


@dataclass
class Buffers:
    """Two arrays."""

    first: NDArray[np.float32]
    second: NDArray[np.float32]

    @classmethod
    def empty(cls, count: int) -> Buffers:
        return cls(*(np.zeros((count, 2), np.float32) for _ in range(2)))


def accept_what_a_starred_comprehension_gives() -> None:
    pair = Couple(*(tg.ones((3, 4)) for _ in range(2)))
    assert_type(pair.second, Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.tensor(Buffers.empty(3).second), Tensor[Shape[L[3], L[2]], NoneTape])


def reject_a_field_that_a_starred_comprehension_gives() -> None:
    Couple(*(tg.ones((3, 4)) for _ in range(2))).first @ tg.ones((3, 4))  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (3, 4) has 3 rows
