"""Arrays that functions return in dataclasses, tuples and dictionaries, and lists of models in objects."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, assert_type
from typing import Literal as L

import numpy as np
from numpy.typing import NDArray

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

N = TypeVar("N", bound=int)
Floats: TypeAlias = NDArray[np.float64]
Table: TypeAlias = dict[str, NDArray[Any]]


def standardized(rows: int, columns: int) -> tuple[Floats, Floats]:
    y = np.random.default_rng(0).normal(size=(rows, 2))
    x = np.random.default_rng(1).normal(size=(rows, columns)) + y[:, :1]
    return (x - x.mean(axis=0)) / x.std(axis=0), y


@dataclass(frozen=True)
class Scaler:
    """What NumPy's stubs know nothing of, in the fields of a dataclass."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        return cls(values.mean(axis=0), values.std(axis=0))

    def scale(self, values: Floats) -> Floats:
        scaled: Floats = (values - self.mean) / self.deviation
        return scaled


def scaler_of(values: Floats) -> Scaler:
    return Scaler(values.mean(axis=0), values.std(axis=0))


class Centered:
    """A class with a method that makes it, and one that makes it callable."""

    def __init__(self, mean: Floats) -> None:
        self.mean = mean

    @classmethod
    def fit(cls, values: Floats) -> Centered:
        return cls(values.mean(axis=0))

    def __call__(self, table: Table) -> Table:
        return {**table, "numbers": table["numbers"] - self.mean}


def table_of(rows: int, config: dict[str, Any]) -> Table:
    numbers = np.random.default_rng(0).normal(size=(rows, config["numeric"]))
    return {"numbers": numbers, "label": np.zeros(rows, np.int64)}


def accept_arrays_of_tuples_and_dataclasses() -> None:
    x, y = standardized(20, 6)
    assert_type(tg.tensor(x), Tensor[Shape[L[20], L[6]], NoneTape, np.float64])
    assert_type(tg.tensor(y), Tensor[Shape[L[20], L[2]], NoneTape, np.float64])
    assert_type(tg.tensor(scaler_of(x).mean), Tensor[Shape[L[6]], NoneTape, np.float64])
    scaler = Scaler.of(x)
    assert_type(tg.tensor(scaler.deviation), Tensor[Shape[L[6]], NoneTape, np.float64])
    assert_type(tg.tensor(scaler.scale(x[:5])), Tensor[Shape[L[5], L[6]], NoneTape, np.float64])
    assert_type(tg.tensor(Centered.fit(x).mean), Tensor[Shape[L[6]], NoneTape, np.float64])


def accept_dictionaries_of_arrays() -> None:
    table = table_of(20, {"numeric": 5})
    assert_type(tg.tensor(table["numbers"], np.float64), Tensor[Shape[L[20], L[5]], NoneTape, np.float64])
    assert_type(tg.tensor(table["label"], np.int64), Tensor[Shape[L[20]], NoneTape, np.int64])
    center = Centered.fit(table["numbers"])
    moved = center(table)
    assert_type(tg.tensor(moved["numbers"], np.float64), Tensor[Shape[L[20], L[5]], NoneTape, np.float64])
    assert_type(tg.tensor(moved["label"], np.int64), Tensor[Shape[L[20]], NoneTape, np.int64])


def reject_a_scaler_of_other_columns() -> None:
    x, y = standardized(20, 6)
    tg.tensor(Scaler.of(x).scale(x)) @ tg.tensor(Scaler.of(y).mean)  # E: matmul: inner sizes differ: x (20, 6) has 6 columns but y (2,) has 2 elements [tapegrad-shape]


def reject_an_array_of_a_dictionary() -> None:
    table = table_of(20, {"numeric": 5})
    nn.Linear(4, 2)(tg.tensor(table["numbers"], np.float32))  # E: Linear(4, 2): x is (20, 5) but (..., 4) is expected: axis -1 is 5, not 4 [tapegrad-shape]


class Bank:
    """Draws pairs of images by unpacked numbers."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.images = np.zeros((7, 4, 18, 42), np.float32)

    def pair(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        writer = self.rng.integers(7)
        first, second = self.rng.choice(4, size=2, replace=False)
        return self.images[writer, first], self.images[writer, second]

    def first_pair(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.images[0, 0], self.images[0, 1]

    def pairs(self, count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        drawn = [self.pair() if number % 2 else self.first_pair() for number in range(count)]
        return np.stack([one[0] for one in drawn]), np.stack([one[1] for one in drawn])


def accept_arrays_drawn_in_pairs() -> None:
    bank = Bank()
    one, _ = bank.pair()
    assert_type(tg.tensor(one), Tensor[Shape[L[18], L[42]], NoneTape])
    left, right = bank.pairs(10)
    assert_type(tg.tensor(left), Tensor[Shape[L[10], L[18], L[42]], NoneTape])
    assert_type(tg.tensor(right), Tensor[Shape[L[10], L[18], L[42]], NoneTape])


def reject_arrays_drawn_in_pairs() -> None:
    left, _ = Bank().pairs(10)
    nn.Linear(18, 2)(tg.tensor(left))  # E: Linear(18, 2): x is (10, 18, 42) but (..., 18) is expected: axis -1 is 42, not 18 [tapegrad-shape]


class Member(nn.Module):
    """One of several models."""

    def __init__(self, width: int) -> None:
        self.layer = nn.Linear(width, 2)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


class Ensemble:
    """Models in a list over which the object can be iterated."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members

    @classmethod
    def create(cls, width: int, count: int) -> Self:
        members = []
        for seed in range(count):
            with tg.random(seed):
                members.append(Member(width))
        return cls(members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def predict(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.stack([member(x) for member in self])


def accept_models_in_an_object() -> None:
    ensemble = Ensemble.create(6, 3)
    assert_type(ensemble.members[0](tg.ones((4, 6))), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(ensemble.predict(tg.ones((4, 6))), Tensor[Shape[L[3], L[4], L[2]], NoneTape])
    for member in ensemble:
        assert_type(member(tg.ones((4, 6))), Tensor[Shape[L[4], L[2]], NoneTape])


def reject_a_result_of_a_member() -> None:
    ensemble = Ensemble.create(6, 3)
    for member in ensemble:
        member(tg.ones((4, 6))) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (4, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def options(line: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--width", type=int, default=12)
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> None:
    parser = ArgumentParser()
    parser.add_argument("--width", type=int, default=12)
    args = parser.parse_args(line)
    tg.ones((2, args.width)) @ tg.ones((12, 2))


def accept_options_of_a_given_line() -> None:
    line = [*"--width 13".split()]  # noqa: SIM905  # computed
    assert_type(tg.ones((3, options([]).width)), Tensor[Shape[L[3], L[12]], NoneTape])
    tg.ones((options(line).width,)) + tg.ones((13,))  # tapegrad: unknown because a line may be given
    main([])


def reject_a_default_of_an_option() -> None:
    tg.ones((2, options([]).width)) @ tg.ones((13, 2))  # E: matmul: inner sizes differ: x (2, 12) has 12 columns but y (13, 2) has 13 rows [tapegrad-shape]


class Cell(nn.Module):
    """A recurrence over a list of steps."""

    def __init__(self, inputs: int, width: int) -> None:
        self.width = width
        self.layer = nn.Linear(inputs + width, width)

    def forward(self, x: Tensor[Any, Any], h: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.tanh(self.layer(tg.concat([x, h], axis=1)))


def run(cell: Cell, steps: list[Tensor[Any, Any]]) -> list[Tensor[Any, Any]]:
    h = tg.zeros((8, cell.width))
    outputs = []
    for step in steps:
        h = cell(step, h)
        outputs.append(h)
    return outputs


def states_of(x: Tensor[Shape[L[8], N, L[12]], OwnedTape]) -> None:
    states = run(Cell(12, 18), [x[:, place] for place in range(x.shape[1])])
    assert_type(states[0], Tensor[Shape[L[8], L[18]], OwnedTape])


def accept_lists_that_loops_of_any_length_fill() -> None:
    states_of(tg.ones((8, 3, 12)).trace())


def reject_an_item_that_a_loop_adds() -> None:
    x = tg.ones((8, 3, 12)).trace()
    steps = [x[:, place] for place in range(int("2"))]
    nn.Linear(12, 3)(run(Cell(12, 18), steps)[0])  # E: Linear(12, 3): x is (8, 18) but (..., 12) is expected: axis -1 is 18, not 12 [tapegrad-shape]


def batches(x: Floats, y: Floats, size: int) -> Iterator[tuple[Floats, Floats]]:
    order = np.random.default_rng(0).permutation(len(x))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield x[rows], y[rows]


class Loader:
    """Yields the rows of an array."""

    def __init__(self, x: Floats, size: int) -> None:
        self.x, self.size = x, size

    def __iter__(self) -> Iterator[Floats]:
        for start in range(0, len(self.x), self.size):
            yield self.x[start : start + self.size]


def folds(rows: int, count: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    parts = np.array_split(np.random.default_rng(0).permutation(rows), count)
    for place, held_out in enumerate(parts):
        yield np.concatenate([part for other, part in enumerate(parts) if other != place]), held_out


def accept_arrays_that_generators_yield() -> None:
    x, y = np.zeros((20, 3)), np.zeros((20, 2))
    for one, other in batches(x, y, 5):
        assert_type(tg.tensor(one), Tensor[Shape[L[5], L[3]], NoneTape, np.float64])
        assert_type(tg.tensor(other), Tensor[Shape[L[5], L[2]], NoneTape, np.float64])
    made = batches(x, y, 8)  # of which the last has fewer rows
    for number, (_, last) in enumerate(made):
        assert_type(tg.tensor(last)[0], Tensor[Shape[L[2]], NoneTape, np.float64])
        assert number < 3
    loader = Loader(x, 5)
    for rows in loader:
        assert_type(tg.tensor(rows), Tensor[Shape[L[5], L[3]], NoneTape, np.float64])
    for seen, held_out in folds(20, 3):
        assert_type(tg.tensor(x)[tg.tensor(seen)][0], Tensor[Shape[L[3]], NoneTape, np.float64])
        assert_type(tg.tensor(y)[tg.tensor(held_out)][0], Tensor[Shape[L[2]], NoneTape, np.float64])


def reject_an_array_that_a_generator_yields() -> None:
    x, y = np.zeros((20, 3)), np.zeros((20, 2))
    for one, other in batches(x, y, 5):
        tg.tensor(one) @ tg.tensor(other)  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_rows_of_a_loader() -> None:
    loader = Loader(np.zeros((20, 3)), 5)
    for rows in loader:
        tg.tensor(rows) @ tg.ones((4, 2)).astype(np.float64)  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def drawn_pair(count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    x = np.linspace(-1.0, 1.0, 3 * count).reshape(count, 3)
    return x.astype(np.float32), np.sin(x[:, :1]).astype(np.float32)


def as_tensors(x: NDArray[np.float32], y: NDArray[np.float32]) -> tuple[Tensor, Tensor]:
    return tg.tensor(x), tg.tensor(y)


def accept_arrays_of_a_tuple_that_a_star_gives() -> None:
    x, y = as_tensors(*drawn_pair(5))
    assert_type(x, Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(y, Tensor[Shape[L[5], L[1]], NoneTape])


def reject_columns_of_an_array_that_a_star_gives() -> None:
    x, _ = as_tensors(*drawn_pair(5))
    x @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def cloud(kind: int, points: int) -> NDArray[np.float64]:
    if kind == 0:
        p = np.ones((points, 3))
        p /= np.linalg.norm(p, axis=1, keepdims=True)
        return p
    height = np.sqrt(np.linspace(0.0, 1.0, points))
    return np.stack([height, height, 1.0 - 2.0 * height], axis=1)


def accept_arrays_that_two_ways_make(count: int = 4) -> None:
    clouds = np.stack([cloud(int(kind), 7) for kind in np.arange(5) % 2])
    assert_type(tg.tensor(clouds), Tensor[Shape[L[5], L[7], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(cloud(count, 6)), Tensor[Shape[L[6], L[3]], NoneTape, np.float64])


def turned(clouds: NDArray[np.float64], angle: NDArray[np.float64]) -> Tensor[Any, Any, Any]:
    turn = np.zeros((len(angle), 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    width = height = clouds.shape[2]
    return tg.tensor((clouds @ turn).reshape(-1, width, height))


def accept_one_value_for_several_targets() -> None:
    assert_type(turned(np.ones((5, 6, 3)), np.ones(5)), Tensor[Shape[L[10], L[3], L[3]], NoneTape, np.float64])


def with_zero_mean(rows: int) -> Tensor:
    x, y = np.zeros((2, rows, 3), np.float32)
    x = x + y
    x = (x - x.mean()) / (x.std() + 1e-8)
    return tg.tensor(x.reshape(-1))


def accept_the_dtype_of_rows_and_of_arithmetic() -> None:
    assert_type(with_zero_mean(4), Tensor[Shape[L[12]], NoneTape])
    x = np.ones((4, 3), np.float64)
    assert_type(tg.tensor((x - x.min()) / x.max()), Tensor[Shape[L[4], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(x.mean(axis=0)), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(x.mean(0, np.float32)), Tensor[Shape[L[3]], NoneTape])


def reject_labels_of_floats() -> None:
    tg.cross_entropy(tg.ones((12, 2)), with_zero_mean(4))  # E: cross_entropy: target is float32 but integer is expected [tapegrad-dtype]
