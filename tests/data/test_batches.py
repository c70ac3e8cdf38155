"""Batches: which rows come, in which order, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tapegrad.data import batches
from tapegrad.errors import ShapeError, TapeError
from tapegrad.generator import random
from tapegrad.ops import ones, tensor

X: Any = tensor(np.arange(14, dtype=np.float32).reshape(7, 2))
Y: Any = tensor(np.arange(7) * 10)


def labels(passed: Any) -> list[list[int]]:
    return [y.tolist() for _, y in passed]


def test_rows_come_in_order_without_shuffling() -> None:
    result = [(x.tolist(), y.tolist()) for x, y in batches(X, Y, size=3, shuffle=False)]

    assert result == [
        ([[0, 1], [2, 3], [4, 5]], [0, 10, 20]),
        ([[6, 7], [8, 9], [10, 11]], [30, 40, 50]),
    ]


def test_the_last_rows_may_make_a_smaller_batch() -> None:
    passed = batches(X, Y, size=3, shuffle=False, drop_last=False)

    assert labels(passed) == [[0, 10, 20], [30, 40, 50], [60]]
    assert len(passed) == 3


@pytest.mark.parametrize(("size", "whole", "all_rows"), [(1, 7, 7), (2, 3, 4), (7, 1, 1)])
def test_the_length_counts_batches(size: int, whole: int, all_rows: int) -> None:
    assert len(batches(X, size=size)) == len(list(batches(X, size=size))) == whole
    partly = batches(X, size=size, drop_last=False)
    assert len(partly) == len(list(partly)) == all_rows


def test_a_batch_may_be_larger_than_the_data_if_it_need_not_be_full() -> None:
    assert labels(batches(X, Y, size=9, shuffle=False, drop_last=False)) == [[0, 10, 20, 30, 40, 50, 60]]
    assert list(batches(ones((0, 3)), size=2, drop_last=False)) == []


def test_shuffling_keeps_rows_together_and_loses_none() -> None:
    pairs = [
        (row[0], label)
        for x, y in batches(X, Y, size=2, drop_last=False, rng=0)
        for row, label in zip(x.tolist(), y.tolist(), strict=True)
    ]

    assert sorted(pairs) == [(2 * n, 10 * n) for n in range(7)]
    assert pairs != sorted(pairs)


def test_one_seed_gives_one_order_and_each_pass_another() -> None:
    first, second = batches(X, Y, size=7, rng=3), batches(X, Y, size=7, rng=3)

    passes = [labels(first), labels(first)]

    assert passes == [labels(second), labels(second)]
    assert passes[0] != passes[1]


def test_the_order_is_numpys_permutation() -> None:
    expected = np.random.default_rng(3).permutation(7) * 10

    assert labels(batches(X, Y, size=7, rng=3)) == [expected.tolist()]


def test_the_generator_in_force_when_batches_is_called_is_the_one_used() -> None:
    with random(3):
        passed = batches(X, Y, size=7)

    assert labels(passed) == labels(batches(X, Y, size=7, rng=3))


def test_one_tensor_gives_tensors_and_several_give_tuples() -> None:
    (alone,) = batches(X, size=7)
    ((x, y, z),) = batches(X, Y, X, size=7)
    (four,) = batches(X, Y, X, Y, size=7)

    assert alone.shape == (7, 2)
    assert (x.shape, y.shape, z.shape) == ((7, 2), (7,), (7, 2))
    assert (x.dtype, y.dtype) == (np.float32, np.int64)
    assert len(four) == 4


@pytest.mark.parametrize(
    ("tensors", "size", "message"),
    [
        ((X, Y, ones((6, 3))), 2, "batches: N is 7 in x but 6 in z"),
        ((X, Y, X, ones((8,))), 2, "batches: N is 7 in x but 8 in tensor 3"),
        ((X, tensor(1.0)), 2, "batches: y has shape (), which has no rows"),
        ((X,), 0, "batches: size is 0 but must be at least 1"),
        ((X,), 8, "batches: size is 8 but the tensors have 7 rows, which fill no batch"),
        ((), 2, "batches: there is no tensor"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(tensors: Any, size: int, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        batches(*tensors, size=size)


def test_a_tape_is_refused() -> None:
    with pytest.raises(TapeError, match=r"^batches: y has a tape but must have none$"):
        batches(X, Y.trace(), size=2)
