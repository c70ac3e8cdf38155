"""Datasets and batches: the batch size is the first axis before those of an example."""

import random
from collections import deque
from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, data, nn

Digit = tuple[Tensor[Shape[L[8], L[8]], NoneTape], Tensor[Shape[()], NoneTape, np.int64]]


class Digits(data.Dataset[Digit]):
    """A dataset that says so."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> Digit:
        return tg.ones((8, 8)), tg.zeros((), np.int64)


class Rows(data.Dataset[Tensor[Shape[L[3]], NoneTape]]):
    """Examples of one tensor."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Tensor[Shape[L[3]], NoneTape]:
        return tg.ones((3,))


def accept_batches_of_a_dataset() -> None:
    for images, labels in data.batches(Digits(), size=4):
        assert_type(images, Tensor[Shape[L[4], L[8], L[8]], NoneTape])
        assert_type(labels, Tensor[Shape[L[4]], NoneTape, np.int64])
        assert_type(nn.Flatten()(images), Tensor[Shape[L[4], L[64]], NoneTape])
    for rows in data.batches(Rows(), size=2, rng=0):
        assert_type(rows, Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_last_batch_of_any_size() -> None:
    for rows in data.batches(Rows(), size=2, drop_last=False):
        assert_type(rows, Tensor[Shape[Any, L[3]], NoneTape])


def reject_a_layer_of_another_width() -> None:
    model = nn.Linear(4, 2)
    for rows in data.batches(Rows(), size=2):
        model(rows)  # E: model Linear(4, 2): x is (2, 3) but (..., 4) is expected: axis -1 is 3, not 4 [tapegrad-shape]


def accept_any_number_of_tensors() -> None:
    x, y = tg.ones((10, 3)), tg.zeros((10,))
    for images, labels in data.batches(x, y, size=4):
        assert_type(images, Tensor[Shape[L[4], L[3]], NoneTape])
        assert_type(labels, Tensor[Shape[L[4]], NoneTape])
    for w, a, b, c in data.batches(x, y, x, y, size=4):
        assert_type(w.T @ a, Tensor[Shape[L[3]], NoneTape])
        assert_type(b, Tensor[Shape[L[4], L[3]], NoneTape])
        assert_type(c, Tensor[Shape[L[4]], NoneTape])


def accept_tensors_that_a_star_gives() -> None:
    pair = tg.ones((10, 3)), tg.arange(10)
    for x, y in data.batches(*pair, size=4):
        assert_type(x, Tensor[Shape[L[4], L[3]], NoneTape])
        assert_type(y, Tensor[Shape[L[4]], NoneTape, np.int64])
    for x, *_ in data.batches(*pair, *pair, size=4, drop_last=False):
        assert_type(x.mT @ tg.ones((10, 2))[: len(x)], Tensor[Shape[L[3], L[2]], NoneTape])


def reject_columns_of_one_of_four_tensors() -> None:
    x, y = tg.ones((10, 3)), tg.zeros((10,))
    for _, _, z, _ in data.batches(x, y, x, y, size=4):
        z @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_tensors_of_different_lengths() -> None:
    x, y = tg.ones((10, 3)), tg.zeros((12,))
    data.batches(x, y, size=4)  # E: batches: N is 10 in argument 1 but 12 in argument 2 [tapegrad-shape]


def reject_a_third_tensor_of_another_length() -> None:
    x, y = tg.ones((10, 3)), tg.zeros((12,))
    data.batches(x, x, y, size=4, drop_last=False)  # E: batches: N is 10 in argument 1 but 12 in argument 3


def accept_workers() -> None:
    for images, labels in data.batches(Digits(), size=4, workers=2):
        assert_type(images, Tensor[Shape[L[4], L[8], L[8]], NoneTape])
        assert_type(labels, Tensor[Shape[L[4]], NoneTape, np.int64])
    assert_type(data.batches(Rows(), size=2, drop_last=False, workers=1), data.Batches[Tensor[Shape[Any, L[3]], NoneTape]])


def accept_a_loader_of_another_library() -> None:
    for batch in data.from_loader([np.ones((4, 3), np.float32)]):
        x: Tensor[Shape[L[4], L[3]], NoneTape] = batch
        assert_type(nn.Linear(3, 2)(x), Tensor[Shape[L[4], L[2]], NoneTape])


def reject_a_loader_that_is_not_iterable() -> None:
    data.from_loader(3)  # E(mypy): Argument 1 to "from_loader" has incompatible type "int"; expected "Iterable[Any]" [arg-type]


class Replay:
    """The last transitions, of which batches are drawn."""

    def __init__(self, size: int) -> None:
        self.rows: deque[tuple[Tensor[Shape[L[4]], NoneTape], Tensor[Shape[L[2]], NoneTape], float]] = deque(maxlen=size)

    def add(self, state: Tensor[Shape[L[4]], NoneTape], action: Tensor[Shape[L[2]], NoneTape], reward: float) -> None:
        self.rows.append((state, action, reward))

    def sample(self, size: int) -> tuple[Tensor[Any], Tensor[Any], Tensor[Any]]:
        states, actions, rewards = zip(*random.sample(self.rows, size), strict=True)
        return tg.stack(states), tg.stack(actions), tg.tensor(rewards)


def collate(rows: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Stack the columns of a batch."""
    xs, ys = zip(*rows, strict=True)
    return tg.stack(xs), tg.stack(ys)


def accept_columns_of_rows() -> None:
    rows = [(tg.ones((3,)), tg.zeros((), np.int64)) for _ in range(5)]
    xs, ys = zip(*rows, strict=True)
    assert_type(tg.stack(xs), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(tg.stack(ys), Tensor[Shape[L[5]], NoneTape, np.int64])
    pair = zip(*[(tg.ones((3,)), 1), (tg.ones((4,)), 2)], strict=True)
    assert_type(list(pair), list[tuple[Any, ...]])
    (one, two), numbers = zip(*[(tg.ones((3,)), 1), (tg.ones((4,)), 2)], strict=True)
    assert_type(one, Tensor[Shape[L[3]], NoneTape])
    assert_type(two, Tensor[Shape[L[4]], NoneTape])
    assert_type(numbers, tuple[int, int])


def accept_columns_of_a_parameter() -> None:
    xs, ys = collate([(tg.ones((3,)), tg.zeros((2,))) for _ in range(5)])
    assert_type(xs, Tensor[Shape[Any, L[3]], NoneTape])
    assert_type(ys, Tensor[Shape[Any, L[2]], NoneTape])


def accept_a_sample_of_a_buffer() -> None:
    replay = Replay(10)
    replay.add(tg.ones((4,)), tg.ones((2,)), 1.0)
    states, actions, _ = replay.sample(1)
    assert_type(states, Tensor[Shape[Any, L[4]], NoneTape])
    assert_type(actions, Tensor[Shape[Any, L[2]], NoneTape])


def reject_a_column() -> None:
    xs, _ = zip(*[(tg.ones((3,)), 1) for _ in range(5)], strict=True)
    tg.stack(xs) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_column_of_a_parameter() -> None:
    xs, _ = collate([(tg.ones((3,)), tg.zeros((2,))) for _ in range(5)])
    xs @ tg.ones((4, 2))  # E(mypy): matmul: inner sizes differ: x (xs.shape[0], 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_sample_of_a_buffer() -> None:
    replay = Replay(10)
    replay.add(tg.ones((4,)), tg.ones((2,)), 1.0)
    states, _, _ = replay.sample(1)
    states @ tg.ones((3, 2))  # E(mypy): matmul: inner sizes differ: x (states.shape[0], 4) has 4 columns but y (3, 2) has 3 rows [tapegrad-shape]


class Unsized:
    """A dataset whose declaration names no sizes; its body does."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> tuple[Tensor[Any, NoneTape], Tensor[Any, NoneTape, np.int64]]:
        row = tg.full((self.width,), float(index))
        return (tg.stack([row, row, row]) if index % 2 else tg.ones((3, self.width))), tg.zeros((), np.int64)


def accept_examples_that_are_read() -> None:
    rows = Unsized(6)
    assert_type(rows[2][0], Tensor[Shape[L[3], L[6]], NoneTape])
    for x, label in data.batches(rows, size=4):
        assert_type(x, Tensor[Shape[L[4], L[3], L[6]], NoneTape])
        assert_type(label, Tensor[Shape[L[4]], NoneTape, np.int64])


def accept_a_last_batch_of_examples_that_are_read() -> None:
    for x, _ in data.batches(Unsized(5), size=4, drop_last=False):
        assert_type(x, Tensor[Shape[Any, L[3], L[5]], NoneTape])


def reject_an_example_that_is_read() -> None:
    rows = Unsized(6)
    rows[0][0] @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (3, 6) has 6 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_batch_of_examples_that_are_read() -> None:
    for x, _ in data.batches(Unsized(6), size=4):
        nn.Linear(5, 2)(x)  # E: Linear(5, 2): x is (4, 3, 6) but (..., 5) is expected: axis -1 is 6, not 5 [tapegrad-shape]
