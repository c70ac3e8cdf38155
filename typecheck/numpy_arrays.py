"""Arrays of NumPy whose expressions say their sizes: a tensor that is made of one has them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from numpy.typing import NDArray

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


def accept_sizes_of_created_arrays() -> None:
    assert_type(tg.tensor(np.zeros((3, 4), np.float32)), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.tensor(np.ones(3)), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(np.full((2, 5), 1.5), np.float32), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.tensor(np.eye(3)), Tensor[Shape[L[3], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(np.eye(3, 4)), Tensor[Shape[L[3], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.identity(3)), Tensor[Shape[L[3], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(np.arange(7), np.float32), Tensor[Shape[L[7]], NoneTape])
    assert_type(tg.tensor(np.arange(2, 9, 3), np.float32), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.tensor(np.linspace(0.0, 1.0, 5)), Tensor[Shape[L[5]], NoneTape, np.float64])
    assert_type(
        tg.tensor(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.float32), Tensor[Shape[L[2], L[3]], NoneTape]
    )
    assert_type(tg.tensor(np.zeros_like(np.ones((2, 3)))), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def accept_sizes_of_random_arrays() -> None:
    rng = np.random.default_rng(0)
    assert_type(tg.tensor(rng.normal(size=(3, 4))), Tensor[Shape[L[3], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(rng.normal(0.0, 1.0, 5)), Tensor[Shape[L[5]], NoneTape, np.float64])
    assert_type(tg.tensor(rng.random((3, 4)), np.float32), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.tensor(rng.integers(0, 9, size=6)), Tensor[Shape[L[6]], NoneTape, np.int64])
    assert_type(tg.tensor(np.random.randn(3, 4)), Tensor[Shape[L[3], L[4]], NoneTape, np.float64])  # noqa: NPY002  # under test


def accept_an_array_that_may_be_a_scalar() -> None:
    def read(drawn: np.ndarray[Any, np.dtype[np.int64]] | Any) -> None:  # as NumPy 2.5 declares rng.integers
        assert_type(tg.tensor(drawn), Tensor[Any, NoneTape, np.int64])
        assert_type(tg.tensor(drawn.copy()), Tensor[Any, NoneTape, np.int64])

    read(np.arange(3))


def accept_the_data_path_before_a_tensor() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    images = table.reshape(3, 4, -1)
    images = images.transpose(0, 2, 1)
    assert_type(tg.tensor(scaled, np.float32), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(images, np.float32), Tensor[Shape[L[3], L[4], L[4]], NoneTape])
    assert_type(tg.tensor(table[:8, 1:]), Tensor[Shape[L[8], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(table[:, 0]), Tensor[Shape[L[12]], NoneTape, np.float64])
    assert_type(tg.tensor(table[..., None]), Tensor[Shape[L[12], L[4], L[1]], NoneTape, np.float64])
    assert_type(tg.tensor(table.T @ table), Tensor[Shape[L[4], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.stack([table, table])), Tensor[Shape[L[2], L[12], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.concatenate([table, table]), np.float32), Tensor[Shape[L[24], L[4]], NoneTape])
    assert_type(tg.tensor(np.hstack([table, table]), np.float32), Tensor[Shape[L[12], L[8]], NoneTape])
    assert_type(tg.tensor(np.vstack([table, table]), np.float32), Tensor[Shape[L[24], L[4]], NoneTape])
    assert_type(tg.tensor(table.astype(np.float32)), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(np.where(table > 0, table, 0.0), np.float32), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(np.exp(table).sum(axis=1), np.float32), Tensor[Shape[L[12]], NoneTape])
    assert_type(tg.tensor(np.dot(table, np.ones((4, 5))), np.float32), Tensor[Shape[L[12], L[5]], NoneTape])


def accept_an_array_beside_a_tensor() -> None:
    x = tg.ones((3, 4))
    assert_type(x * np.ones((3, 1), np.float32), Tensor[Shape[L[3], L[4]], NoneTape])
    weights = np.array([0.5, 0.25, 0.25, 1.0], np.float32)
    assert_type(weights * x, Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(x.sum(axis=0) - weights, Tensor[Shape[L[4]], NoneTape])
    assert_type(tg.from_dlpack(np.zeros((3, 4), np.float32)), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_arrays_whose_sizes_are_not_known(*, flag: bool = True) -> None:
    either = np.zeros((3,)) if flag else np.zeros((4,))
    assert_type(tg.tensor(either), Tensor[Shape[Any], NoneTape, np.float64])
    doubled = np.zeros((1, 4))
    for _ in range(3):
        doubled = np.concatenate([doubled, doubled])
    x = tg.tensor(doubled, np.float32)
    assert x.shape == (8, 4)
    stored = [np.zeros((3,)), np.zeros((4,))]
    stored.append(np.zeros((5,)))
    assert_type(tg.tensor(stored[2]), Tensor[Shape[Any], NoneTape, np.float64])


class Buffer:
    """An array in an attribute may be replaced by one of any size."""

    def __init__(self) -> None:
        self.rows = np.zeros((3, 4))

    def replace(self) -> None:
        """Bind another array."""
        self.rows = np.zeros((5, 4))


def accept_an_attribute_that_is_bound_again() -> None:
    buffer = Buffer()
    buffer.replace()
    assert_type(tg.tensor(buffer.rows), Tensor[Shape[Any, L[4]], NoneTape, np.float64])


def reject_an_array_of_another_size() -> None:
    weights = np.ones((5, 4), np.float32)
    tg.ones((3, 4)) * weights  # E: mul: x (3, 4) and y (5, 4) do not broadcast: axis -2 is 3 in x but 5 in y


def reject_a_product_with_the_data() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    x = tg.tensor(table[:, 1:], np.float32)
    x @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (12, 3) has 3 columns but y (4, 2) has 4 rows


@dataclass
class Settings:
    """The sizes of an experiment."""

    states: int = 4
    observed: int = 2


def simulated(settings: Settings, count: int, steps: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Fill arrays in a loop."""
    rng = np.random.default_rng(0)
    matrix = np.eye(settings.states)
    state = np.zeros((count, settings.states))
    states = np.zeros((count, steps, settings.states), np.float32)
    for step in range(steps):
        state = state @ matrix.T + rng.normal(size=state.shape)
        states[:, step] = state
    noise = rng.normal(size=(count, steps, settings.observed))
    return states, (states[:, :, : settings.observed] + noise).astype(np.float32)


def binary(images: np.ndarray, threshold: float = 0.5) -> np.ndarray:
    """Return an array of the same sizes."""
    return (images > threshold).astype(np.float32)


def negatives(users: np.ndarray, ratio: int) -> np.ndarray:
    """Repeat each element."""
    return np.random.default_rng(0).integers(0, 9, size=len(users) * ratio)


def parts(images: np.ndarray, count: int) -> tuple[Tensor, Tensor]:
    """Return tensors of an array."""
    return tg.tensor(images[:count], np.float32), tg.tensor(images.T, np.float32)


class Environment:
    """Makes arrays of the sizes that it was made with."""

    def __init__(self, count: int, size: int) -> None:
        self.count = count
        self.size = size

    def reset(self) -> np.ndarray:
        """Return an array."""
        return np.zeros((self.count, self.size))


def accept_arrays_that_functions_return() -> None:
    states, seen = simulated(Settings(), 3)
    assert_type(tg.tensor(states, np.float32), Tensor[Shape[L[3], L[6], L[4]], NoneTape])
    assert_type(tg.tensor(seen, np.float32), Tensor[Shape[L[3], L[6], L[2]], NoneTape])
    images = np.random.default_rng(0).random((6, 3))
    assert_type(tg.tensor(binary(images), np.float32), Tensor[Shape[L[6], L[3]], NoneTape])
    users = np.arange(10)
    assert_type(tg.tensor(np.concatenate([users, negatives(users, 3)]), np.float32), Tensor[Shape[L[40]], NoneTape])
    assert_type(tg.tensor(Environment(2, 5).reset(), np.float32), Tensor[Shape[L[2], L[5]], NoneTape])
    first, turned = parts(images, 4)
    assert_type(first, Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(turned, Tensor[Shape[L[3], L[6]], NoneTape])


def accept_arrays_whose_axes_have_other_places() -> None:
    array = tg.ones((3, 5)).numpy()
    assert_type(tg.tensor(array.T), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(tg.tensor(array.transpose(1, 0)), Tensor[Shape[L[5], L[3]], NoneTape])
    turned = array.swapaxes(0, 1)
    assert_type(tg.tensor(turned), Tensor[Shape[L[5], L[3]], NoneTape])


def reject_an_array_that_a_function_returns() -> None:
    tg.tensor(binary(np.zeros((6, 3))), np.float32) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (6, 3) has 3 columns but y (4, 2) has 4 rows


def reject_an_array_that_a_method_returns() -> None:
    tg.tensor(Environment(2, 5).reset(), np.float32) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 5) has 5 columns but y (4, 2) has 4 rows


def reject_a_transpose() -> None:
    tg.tensor(tg.ones((3, 5)).numpy().T) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (5, 2) has 5 rows


def rounded(table: np.ndarray) -> np.ndarray:
    """Return whole numbers."""
    return table.round().astype(np.int64)


def split(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers and fractions."""
    return table[:, 0].astype(np.int64), table[:, 1:].astype(np.float32)


def accept_dtypes_of_arrays_that_functions_return() -> None:
    table = np.zeros((6, 3))
    assert_type(tg.tensor(rounded(table)), Tensor[Shape[L[6], L[3]], NoneTape, np.int64])
    labels, features = split(table)
    assert_type(tg.tensor(features), Tensor[Shape[L[6], L[2]], NoneTape])
    both = np.concatenate([labels, labels])
    assert_type(tg.ones((5, 7))[tg.tensor(both)], Tensor[Shape[L[12], L[7]], NoneTape])
    assert_type(tg.tensor(labels[:2].reshape(2, 1)), Tensor[Shape[L[2], L[1]], NoneTape, np.int64])


def accept_elements_along_an_axis() -> None:
    centers = np.zeros((4, 3, 2))
    chosen = np.zeros((4, 12, 1), np.int64)
    taken = np.take_along_axis(centers, chosen, axis=1)
    assert_type(tg.tensor(taken), Tensor[Shape[L[4], L[12], L[2]], NoneTape, np.float64])


def reject_an_index_that_a_function_returns() -> None:
    labels, _ = split(np.zeros((6, 3)))
    tg.ones((5, 7))[tg.tensor(labels)] @ tg.ones((6, 2))  # E: matmul: inner sizes differ: x (6, 7) has 7 columns but y (6, 2) has 6 rows


def reject_elements_along_an_axis() -> None:
    taken = np.take_along_axis(np.zeros((4, 3, 2)), np.zeros((4, 12, 1), np.int64), axis=1)
    tg.tensor(taken, np.float32) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (4, 12, 2) has 2 columns but y (3, 2) has 3 rows


class Log:
    """Arrays that a constructor and a property make."""

    def __init__(self, rows: int, tables: list[int], text: str) -> None:
        rng = np.random.default_rng(0)
        self.dense = rng.normal(size=(rows, 4)).astype(np.float32)
        self.sparse = np.stack([rng.integers(0, n, size=rows) for n in tables], axis=1)
        self.state = np.zeros(rows)
        self.text = text

    @cached_property
    def encoded(self) -> np.ndarray:
        """The codes of the text."""
        return np.array([ord(letter) for letter in self.text], np.int64)

    def batch(self, start: int, size: int) -> Tensor:
        return tg.tensor(self.dense[start : start + size])

    def windows(self, starts: np.ndarray) -> Tensor:
        return tg.tensor(np.stack([self.encoded[start : start + 2] for start in starts]))

    def step(self) -> None:
        self.state = self.state[1:]


log = Log(64, [10, 7, 5], "text")


def accept_arrays_of_objects() -> None:
    assert_type(tg.tensor(log.dense), Tensor[Shape[L[64], L[4]], NoneTape])
    assert_type(tg.tensor(log.sparse), Tensor[Shape[L[64], L[3]], NoneTape, np.int64])
    assert_type(log.batch(0, 16), Tensor[Shape[L[16], L[4]], NoneTape])
    assert_type(tg.tensor(log.encoded, np.float32), Tensor[Shape[L[4]], NoneTape])
    assert_type(log.windows(np.array([0, 1, 2])), Tensor[Shape[L[3], Any], NoneTape, Any])
    log.step()
    assert_type(tg.tensor(log.state), Tensor[Shape[Any], NoneTape, np.float64])


def accept_lists_and_grids_of_arrays() -> None:
    ys, xs = np.meshgrid(np.arange(4), np.arange(5), indexing="ij")
    rows = ys.reshape(-1, 1)
    parts = [np.sin(rows), np.cos(rows)]
    assert_type(tg.tensor(np.concatenate(parts, axis=1)), Tensor[Shape[L[20], L[2]], NoneTape, Any])
    assert_type(tg.tensor(xs, np.float32), Tensor[Shape[L[4], L[5]], NoneTape])
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(5)))
    assert_type(tg.tensor(grid, np.float32), Tensor[Shape[L[2], L[5], L[4]], NoneTape])
    below, _ = np.tril_indices(5, k=-1)
    above, _ = np.triu_indices(5, 1, 3)
    assert_type(tg.tensor(below, np.float32), Tensor[Shape[L[10]], NoneTape])
    assert_type(tg.tensor(above, np.float32), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.tensor(np.digitize(rows, [1, 2]), np.float32), Tensor[Shape[L[20], L[1]], NoneTape])


def accept_arrays_that_a_loop_unpacks() -> None:
    for _ in range(2):
        table = np.random.default_rng(0).normal(size=(6, 3))
        labels, features = split(table)
        assert_type(tg.tensor(labels), Tensor[Shape[L[6]], NoneTape, np.int64])
        assert_type(tg.tensor(features), Tensor[Shape[L[6], L[2]], NoneTape])


def reject_an_array_of_an_object() -> None:
    tg.tensor(log.dense) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (64, 4) has 4 columns but y (3, 2) has 3 rows


def reject_a_list_of_arrays() -> None:
    table = np.zeros((6, 3), np.float32)
    parts = [table[:, :1], table[:, 1:]]
    tg.tensor(np.concatenate(parts, axis=1)) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (6, 3) has 3 columns but y (4, 2) has 4 rows


def accept_grids() -> None:
    ys, xs = np.mgrid[0:3, 0:4]
    assert_type(tg.tensor(ys, np.float32), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.tensor(np.c_[xs.ravel(), ys.ravel()], np.float32), Tensor[Shape[L[12], L[2]], NoneTape])
    rows, columns = np.ogrid[:3, :4]
    assert_type(tg.tensor(rows * columns, np.float32), Tensor[Shape[L[3], L[4]], NoneTape])
    points = np.column_stack([np.linspace(0, 1, 5), np.zeros(5)])
    assert_type(tg.tensor(points, np.float32), Tensor[Shape[L[5], L[2]], NoneTape])


def accept_sizes_that_an_array_says() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    count, width = table.shape
    half = len(table) // 2
    assert_type(tg.ones((count, width)) @ tg.ones((table.shape[1], 3)), Tensor[Shape[L[12], L[3]], NoneTape])
    assert_type(tg.tensor(table[:half], np.float32), Tensor[Shape[L[6], L[4]], NoneTape])
    assert_type(tg.tensor(np.zeros((*table.shape, 2)), np.float32), Tensor[Shape[L[12], L[4], L[2]], NoneTape])
    assert_type(tg.tensor(table.reshape(*table.shape[:1], -1, 2)), Tensor[Shape[L[12], L[2], L[2]], NoneTape, np.float64])


def accept_arrays_as_indices() -> None:
    rng = np.random.default_rng(0)
    table, labels = rng.normal(size=(12, 4)), rng.integers(0, 3, 12)
    order = rng.permutation(len(table))
    train, test = table[order[:8]], table[order[8:]]
    assert_type(tg.tensor(train), Tensor[Shape[L[8], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(test), Tensor[Shape[L[4], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.eye(3)[labels]), Tensor[Shape[L[12], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(table[np.array([0, 2])]), Tensor[Shape[L[2], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(table[table[:, 0] > 0]), Tensor[Shape[Any, L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(table[rng.choice(12, 5)]), Tensor[Shape[L[5], L[4]], NoneTape, np.float64])


def accept_arrays_that_are_changed_in_place() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    table -= table.mean(axis=0)
    table[table < 0] = 0
    assert_type(tg.tensor(table), Tensor[Shape[L[12], L[4]], NoneTape, np.float64])


def accept_arrays_of_numbers_and_rows() -> None:
    table = np.zeros((12, 4))
    assert_type(tg.tensor(np.array([row * 2 for row in table]), np.float32), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(np.array([0] * 3 + [1] * 4), np.float32), Tensor[Shape[L[7]], NoneTape])
    windows = np.stack([table[start : start + 5] for start in range(8)])
    assert_type(tg.tensor(windows), Tensor[Shape[L[8], L[5], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.float32(table), np.float32), Tensor[Shape[L[12], L[4]], NoneTape, Any])


def reject_a_layer_for_another_table() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    layer = tg.nn.Linear(table.shape[1], 2, rng=0)
    layer(tg.ones((3, 5)))  # E: layer Linear(4, 2): x is (3, 5) but (..., 4) is expected: axis -1 is 5, not 4


def reject_a_grid() -> None:
    ys, xs = np.mgrid[0:3, 0:4]
    points = np.stack([xs.ravel(), ys.ravel()], axis=1)
    tg.tensor(points, np.float32) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (12, 2) has 2 columns but y (3, 2) has 3 rows


class World:
    """Arrays that methods assign and change."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.mask = self.allowed()
        self.places, self.ages = self.drawn()
        self.ages -= 1.0
        self.memory: np.ndarray | None = None
        self.start()

    def allowed(self) -> np.ndarray:
        """Return a mask."""
        return np.tril(np.ones((self.count, self.count)))

    def drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays."""
        return np.zeros((self.count, 2)), np.ones(self.count)

    def start(self) -> None:
        """Assign an attribute outside of the constructor."""
        self.state = np.zeros((self.count, 3))

    def grow(self, more: int) -> None:
        """Replace an array by one of another size, and fill another one."""
        self.ages = np.zeros(self.count)
        self.seen = np.zeros((more, 3))
        self.memory = np.ones((7, 2))

    def observed(self) -> Tensor:
        """Return what is known of the state."""
        return tg.tensor(self.state, np.float32)


@dataclass
class Split:
    """A part of a data set."""

    images: np.ndarray
    labels: np.ndarray

    def first(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first rows."""
        return self.images[:count], self.labels[:count]


class Columns:
    """A table that a call gives the constructor."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table.astype(np.float32)
        self.half = table[: len(table) // 2]


def accept_arrays_that_methods_assign() -> None:
    world = World(4)
    world.grow(5)
    assert_type(tg.tensor(world.mask, np.float32), Tensor[Shape[L[4], L[4]], NoneTape])
    assert_type(tg.tensor(world.places, np.float32), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(tg.tensor(world.ages, np.float32), Tensor[Shape[L[4]], NoneTape])
    assert_type(world.observed(), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(tg.tensor(world.seen, np.float32), Tensor[Shape[Any, L[3]], NoneTape])
    if world.memory is not None:
        assert_type(tg.tensor(world.memory, np.float32), Tensor[Shape[L[7], L[2]], NoneTape])


def accept_arrays_that_a_call_gives_an_object() -> None:
    part = Split(np.zeros((6, 8)), np.zeros(6))
    images, labels = part.first(2)
    assert_type(tg.tensor(part.images, np.float32), Tensor[Shape[L[6], L[8]], NoneTape])
    assert_type(tg.tensor(images, np.float32), Tensor[Shape[L[2], L[8]], NoneTape])
    assert_type(tg.tensor(labels, np.float32), Tensor[Shape[L[2]], NoneTape])
    columns = Columns(np.ones((6, 3)))
    assert_type(tg.tensor(columns.table, np.float32), Tensor[Shape[L[6], L[3]], NoneTape])
    assert_type(tg.tensor(columns.half, np.float32), Tensor[Shape[L[3], L[3]], NoneTape])


def reject_an_array_that_a_method_assigns() -> None:
    World(4).observed() @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (4, 2) has 4 rows


def reject_an_array_that_a_call_gives_an_object() -> None:
    part = Split(np.zeros((6, 8)), np.zeros(6))
    tg.tensor(part.images, np.float32) @ tg.ones((6, 2))  # E: matmul: inner sizes differ: x (6, 8) has 8 columns but y (6, 2) has 6 rows


OPTIONS: dict[str, Any] = {"batch": 3, "share": 0.5}


def drawn_rows(x: Tensor[Any], options: dict[str, Any]) -> Tensor[Any]:
    """Choose rows at random, as many as the options say."""
    rng = np.random.default_rng(1)
    return x[tg.tensor(rng.integers(0, x.shape[0], options["batch"]))]


def accept_a_number_of_type_any() -> None:
    rng = np.random.default_rng(0)
    assert_type(tg.tensor(rng.integers(0, 9, OPTIONS["batch"])), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.tensor(rng.normal(0, 1, (OPTIONS["batch"], 2))), Tensor[Shape[L[3], L[2]], NoneTape, np.float64])
    assert_type(tg.tensor(rng.random(OPTIONS["batch"]) < OPTIONS["share"]), Tensor[Shape[L[3]], NoneTape, np.bool])
    assert_type(drawn_rows(tg.ones((5, 4)), OPTIONS), Tensor[Shape[L[3], L[4]], NoneTape])


def reject_rows_that_are_drawn() -> None:
    drawn_rows(tg.ones((5, 4)), OPTIONS) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (5, 2) has 5 rows


def waves(count: int) -> Tensor[Any, Any, Any]:
    """Collect images in a list."""
    rng = np.random.default_rng(0)
    images = []
    for phase in rng.uniform(0.0, 1.0, count):
        wave = np.sin(np.arange(6) + phase)
        images.append(wave[:, None] + rng.normal(0.0, 1.0, (6, 5)))
    return tg.tensor(np.stack(images)[:, None])


def shuffled(table: np.ndarray[Any, np.dtype[np.float32]]) -> Tensor[Any]:
    """Collect numbers, and use a size that is not known."""
    sums = []
    for place, row in enumerate(table):
        if place > 0:
            sums.append(row)
    order = np.random.default_rng(0).permutation(len(sums))
    return tg.tensor(np.array(sums, np.float32)[order])


def accept_arrays_of_lists_that_append_fills() -> None:
    assert_type(waves(3), Tensor[Shape[L[3], L[1], L[6], L[5]], NoneTape, np.float64])
    assert_type(shuffled(np.zeros((4, 3), np.float32)), Tensor[Shape[Any, L[3]], NoneTape])


def reject_a_size_of_arrays_that_append_adds() -> None:
    shuffled(np.zeros((4, 3), np.float32)).sum(axis=0) + tg.ones((4,))  # E: add: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y


def drawn_ids() -> list[int]:
    return [int(one) for one in np.random.default_rng(0).integers(0, 9, 6)]


def accept_lists_of_numbers_by_their_type() -> None:
    ids = drawn_ids()
    steps = [0.5 * one for one in ids]
    assert_type(tg.tensor(ids), Tensor[Shape[Any], NoneTape, np.int64])
    assert_type(tg.tensor(steps) @ tg.ones((len(steps), 2)), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.tensor([ids]), Tensor[Shape[L[1], Any], NoneTape, np.int64])
    assert_type(tg.tensor([ids, ids]), Tensor[Shape[L[2], Any], NoneTape, np.int64])
    assert_type(tg.tensor([2.0 * step for step in steps]) @ tg.tensor(steps), Tensor[Shape[()], NoneTape])
    assert_type(tg.tensor(ids, np.float64), Tensor[Shape[Any], NoneTape, np.float64])
    assert_type(tg.tensor([ids for _ in steps]), Tensor[Any, NoneTape, np.int64])
    assert_type(tg.tensor([*ids]), Tensor[Any, NoneTape, np.int64])


def accept_the_dtype_of_an_array_of_ints() -> None:
    ids = drawn_ids()
    rows = np.array(ids).reshape(2, 3)
    assert_type(tg.tensor(rows), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(tg.tensor(np.asarray(ids)[1:]), Tensor[Shape[Any], NoneTape, np.int64])
    assert_type(tg.tensor(np.array(ids, np.float32)), Tensor[Shape[Any], NoneTape])


def reject_an_axis_that_a_list_of_numbers_lacks() -> None:
    tg.tensor(drawn_ids()).squeeze(1)  # E(mypy): squeeze: axis 1 is out of range for x (?,) [tapegrad-shape]


def reject_a_dtype_of_an_array_of_ints() -> None:
    tg.mse(tg.ones((6,)), tg.tensor(np.array(drawn_ids())))  # E: mse: x is float32 but target is int64 [tapegrad-dtype]


def accept_the_dtype_of_functions_of_each_element() -> None:
    x = np.linspace(0.5, 4.0, 8, dtype=np.float32)
    target = tg.ones((8,))
    scaled = np.log(x) * 2.0
    tg.mse(tg.tensor(scaled), target)
    tg.mse(tg.tensor(scaled[::-1]), target)
    tg.mse(tg.tensor(-np.sin(x) + 2.0 * np.maximum(x, 0.5) ** 2), target)
    tg.mse(tg.tensor(np.where(x > 1, x, 0.0) / np.sqrt(x)), target)
    tg.mse(tg.tensor(np.log(np.ones(8)) * x), tg.ones((8,), np.float64))
    tg.mse(tg.tensor(1.0 - np.arctan2(x, 2.0)), target)
    tg.mse(tg.tensor(np.sqrt(np.arange(8)) * 2.0), tg.ones((8,), np.float64))


def reject_the_dtype_of_functions_of_each_element() -> None:
    x = np.log(np.linspace(0.5, 4.0, 8))
    tg.mse(tg.tensor(1.0 - 2.0 * x), tg.ones((8,)))  # E: mse: x is float64 but target is float32 [tapegrad-dtype]


def scaled(scale: NDArray[np.float32], times: NDArray[np.int64], x: Tensor) -> Tensor:
    """Multiply arrays of unknown dtype, which NumPy's stubs make of the roots of others, by a tensor."""
    signal, noise = np.sqrt(scale[times])[:, None], np.sqrt(1 - scale[times])[:, None]
    return signal * x + noise * x


def damped(rate: float, count: int) -> NDArray[np.float32]:
    """Keep the types that NumPy's stubs give arrays of unknown dtype, and make an array of their exponential."""
    k = np.concatenate([[0], np.repeat(np.arange(1, count + 1), 2)])
    return np.exp(-rate * (2.0 * np.pi * k) ** 2).astype(np.float32)


def doubled_logarithms(x: NDArray[np.float32]) -> Tensor[Any, NoneTape, np.float32]:
    """Keep the dtype of an array of unknown sizes."""
    return tg.tensor(np.log(x) * 2.0)  # pyright: ignore[reportReturnType]  # float64 by NumPy's stubs


def rows_of_any(rows: np.ndarray[Any, Any]) -> None:
    """Take rows by an array of which nothing is known."""
    tg.ones((9, 4))[rows]


def accept_arrays_of_unknown_dtype() -> None:
    x = tg.ones((3, 4))
    assert_type(np.sqrt(np.ones(4, np.float32)) * x, Tensor[Shape[L[3], L[4]], NoneTape])
    scaled(np.ones(5, np.float32), np.zeros(3, np.int64), x)
    rows_of_any(np.arange(3))
    doubled_logarithms(np.ones(3, np.float32))


def reject_an_array_of_unknown_dtype_that_does_not_fit() -> None:
    np.sqrt(np.ones(5, np.float32)) * tg.ones((3, 4))  # E: mul: x (5,) and y (3, 4) do not broadcast: axis -1 is 5 in x but 4 in y


class Pixels:
    def __init__(self, images: np.ndarray, largest: int) -> None:
        self.images = images.astype(np.float32) / largest
        self.counts = images.astype(np.int64) / largest


def reject_whole_numbers_that_are_divided() -> None:
    tg.tensor(Pixels(np.zeros((5, 4), np.float32), 255).counts) @ tg.ones((4, 2))  # E: matmul: x is float64 but y is float32 [tapegrad-dtype]
