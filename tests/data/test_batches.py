"""Batches: which rows they contain, in which order, and which arguments are rejected."""

from __future__ import annotations

import re
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad import io
from tapegrad.autograd.tape import NoneTape
from tapegrad.data import batches
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.generator import random
from tapegrad.ops import ones, tensor
from tapegrad.tensors import Tensor

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


def test_the_last_batch_may_be_smaller() -> None:
    passed = batches(X, Y, size=3, shuffle=False, drop_last=False)

    assert labels(passed) == [[0, 10, 20], [30, 40, 50], [60]]
    assert len(passed) == 3


@pytest.mark.parametrize(("size", "whole", "all_rows"), [(1, 7, 7), (2, 3, 4), (7, 1, 1)])
def test_the_length_counts_batches(size: int, whole: int, all_rows: int) -> None:
    assert len(batches(X, size=size)) == len(list(batches(X, size=size))) == whole
    partly = batches(X, size=size, drop_last=False)
    assert len(partly) == len(list(partly)) == all_rows


def test_a_batch_may_be_larger_than_the_data_unless_it_must_be_full() -> None:
    assert labels(batches(X, Y, size=9, shuffle=False, drop_last=False)) == [[0, 10, 20, 30, 40, 50, 60]]
    assert list(batches(ones((0, 3)), size=2, drop_last=False)) == []


def test_shuffling_keeps_rows_aligned_and_complete() -> None:
    pairs = [
        (row[0], label)
        for x, y in batches(X, Y, size=2, drop_last=False, rng=0)
        for row, label in zip(x.tolist(), y.tolist(), strict=True)
    ]

    assert sorted(pairs) == [(2 * n, 10 * n) for n in range(7)]
    assert pairs != sorted(pairs)


def test_a_seed_fixes_the_order_and_each_pass_differs() -> None:
    first, second = batches(X, Y, size=7, rng=3), batches(X, Y, size=7, rng=3)

    passes = [labels(first), labels(first)]

    assert passes == [labels(second), labels(second)]
    assert passes[0] != passes[1]


def test_the_order_is_that_of_numpys_permutation() -> None:
    expected = np.random.default_rng(3).permutation(7) * 10

    assert labels(batches(X, Y, size=7, rng=3)) == [expected.tolist()]


def test_batches_uses_the_generator_that_is_active_at_its_call() -> None:
    with random(3):
        passed = batches(X, Y, size=7)

    assert labels(passed) == labels(batches(X, Y, size=7, rng=3))


def test_one_tensor_gives_tensors_and_several_give_tuples() -> None:
    (alone,) = batches(X, size=7)
    ((x, y, z),) = batches(X, Y, X, size=7)
    (four,) = batches(X, Y, X, Y, size=7)

    assert alone.shape == (7, 2)
    assert (x.shape, y.shape, z.shape) == ((7, 2), (7,), (7, 2))
    assert x.dtype == np.float32
    assert y.dtype == np.int64
    assert len(four) == 4


@pytest.mark.parametrize(
    ("tensors", "size", "message"),
    [
        ((X, Y, ones((6, 3))), 2, "batches: N is 7 in argument 1 but 6 in argument 3"),
        ((X, Y, X, ones((8,))), 2, "batches: N is 7 in argument 1 but 8 in argument 4"),
        ((X, tensor(1.0)), 2, "batches: argument 2 has shape (), which has no rows"),
        ((X,), 0, "batches: size is 0 but must be at least 1"),
        ((X,), 8, "batches: size is 8 but the tensors have 7 rows, which fill no batch"),
        ((), 2, "batches: there is no tensor"),
    ],
)
def test_invalid_arguments_are_rejected_at_the_call(tensors: Any, size: int, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        batches(*tensors, size=size)


def test_a_tape_is_rejected() -> None:
    with pytest.raises(TapeError, match=r"^batches: argument 2 has a tape but must have none$"):
        batches(X, Y.trace(), size=2)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("passed", range(9))
def test_a_restored_pass_continues_and_the_next_ones_follow(passed: int, shuffle: bool) -> None:  # noqa: FBT001  # pytest's
    whole, broken, fresh = (
        batches(X, Y, size=2, drop_last=False, shuffle=shuffle, rng=seed) for seed in (0, 0, 1)
    )  # passes of 4
    expected = [labels(whole) for _ in range(4)]

    passes = chain.from_iterable(repeat(broken))
    seen = list(islice(passes, passed))
    fresh.restore(broken.arrays())

    rest = labels(fresh)
    assert labels(seen) + rest == list(chain.from_iterable(expected))[: passed + len(rest)]
    assert len(rest) == (-passed % 4 or (0 if passed else 4))
    assert labels(fresh) == expected[(passed + len(rest)) // 4]


def test_a_pass_ended_by_break_does_not_continue() -> None:
    passed, fresh = batches(X, Y, size=2, rng=0), batches(X, Y, size=2, rng=1)
    for _ in passed:
        break

    fresh.restore(passed.arrays())

    assert labels(fresh) == labels(passed)
    assert len(labels(fresh)) == 3


def test_other_draws_from_the_generator_do_not_change_a_restored_pass() -> None:
    rng, other = np.random.default_rng(0), np.random.default_rng(1)
    passed, fresh = batches(X, Y, size=2, rng=rng), batches(X, Y, size=2, rng=other)
    pass_of = iter(passed)
    next(pass_of)
    rng.random(5)

    fresh.restore(passed.arrays())

    assert labels(fresh) == labels(pass_of)
    assert other.random() == rng.random()


def test_the_state_of_other_batches_is_rejected_and_changes_nothing(tmp_path: Path) -> None:
    passed, other = batches(X, Y, size=2, rng=0), batches(X, Y, size=3, rng=0)
    io.save({"batches": passed}, tmp_path / "run.npz")

    with pytest.raises(
        io.FileError, match=r"\n  batches\.passed is bool \(3,\) in the file but bool \(2,\) is expected$"
    ):
        io.load({"batches": other}, tmp_path / "run.npz")

    assert labels(other) == labels(batches(X, Y, size=3, rng=0))


def test_an_unsupported_generator_has_no_state_to_save() -> None:
    passed = batches(X, size=2, rng=np.random.Generator(np.random.MT19937(0)))

    assert len(list(passed)) == 3
    message = r"^batches: rng is a Generator\(MT19937\), but only a Generator\(PCG64\) can be saved$"
    with pytest.raises(ValueError, match=message):
        passed.arrays()


class Squares:
    """Examples that are created when they are read."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.read: list[int] = []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor[Any, NoneTape], Tensor[Any, NoneTape, np.int64]]:
        self.read.append(index)
        return ones((2, 3)) * float(index), tensor(np.array(index * index))


def test_a_dataset_is_read_only_where_a_batch_needs_it() -> None:
    data = Squares(7)
    passed = batches(data, size=3, shuffle=False)

    first = next(iter(passed))

    assert data.read == [0, 1, 2]
    assert (first[0].shape, first[1].tolist()) == ((3, 2, 3), [0, 1, 4])
    assert first[0][2].tolist() == [[2.0] * 3] * 2
    assert labels(batches(data, size=3, shuffle=False, drop_last=False)) == [[0, 1, 4], [9, 16, 25], [36]]
    assert labels(batches(data, size=7, rng=3)) == [[n * n for n in np.random.default_rng(3).permutation(7)]]


def test_a_list_of_tensors_is_a_dataset() -> None:
    rows: list[Any] = [tensor([1.0, 2.0]), tensor([3.0, 4.0]), tensor([5.0, 6.0])]

    assert [x.tolist() for x in batches(rows, size=2, shuffle=False)] == [[[1, 2], [3, 4]]]


@pytest.mark.parametrize(
    ("examples", "error", "message"),
    [
        ([ones((2,)), "3"], DTypeError, "batches: example 1 is or holds a str, not a tensor or an array"),
        ([(ones((2,)), {}), ()], DTypeError, "batches: example 0 is or holds a dict, not a tensor or an array"),
        ([ones((2,)), 3.0], ShapeError, "batches: example 1 is () but example 0 is (2,)"),
        ([ones((2,)), ones((2,)).trace()], TapeError, "batches: example 1 has a tape but must have none"),
        ([ones((2,)), (ones((2,)),) * 2], ShapeError, "batches: example 1 is (2,), (2,) but example 0 is (2,)"),
        ([ones((2,)), ones((3,))], ShapeError, "batches: example 1 is (3,) but example 0 is (2,)"),
        ([ones((2,)), ones((2,), np.float64)], DTypeError, "batches: example 1 is float64 but example 0 is float32"),
    ],
)
def test_examples_of_different_shapes_are_rejected(examples: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        list(batches(examples, size=2, shuffle=False))


def test_two_datasets_are_rejected() -> None:
    both: Any = (X, [1, 2])

    with pytest.raises(DTypeError, match=r"^batches: argument 2 is a list, not a tensor$"):
        batches(*both, size=2)
    with pytest.raises(ShapeError, match=r"^batches: size is 8 but the data has 7 rows, which fill no batch$"):
        batches(Squares(7), size=8)


@pytest.mark.parametrize("source", [(X, Y), (Squares(7),)], ids=["tensors", "dataset"])
@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_pass_continues_where_it_was_saved(tmp_path: Path, source: Any, done: int) -> None:
    first, again = batches(*source, size=2, rng=3), batches(*source, size=2, rng=99)
    list(first)
    given: list[Any] = []
    iterator = iter(first)
    for _ in range(done):
        given += labels([next(iterator)])

    io.save({"batches": first}, tmp_path / "state.npz")
    io.load({"batches": again}, tmp_path / "state.npz")

    rest, whole = labels(iterator) if done else labels(first), batches(*source, size=2, rng=3)
    assert labels(again) == rest
    assert labels(again) == labels(first)
    assert [labels(whole), labels(whole)][1] == given + rest


def test_a_restored_pass_may_be_saved_again() -> None:
    first, again, third = (batches(X, Y, size=2, rng=seed) for seed in (3, 4, 5))
    iterator = iter(first)
    next(iterator)

    again.restore(first.arrays())
    third.restore(again.arrays())

    assert labels(third) == labels(again) == labels(iterator)


@pytest.mark.parametrize(("data", "kind"), [(None, "a NoneType"), (3, "an int"), ({1.0}, "a set")])
def test_objects_without_examples_are_rejected(data: Any, kind: str) -> None:
    message = f"batches: the dataset is {kind}, which has no length or gives no example by number"
    with pytest.raises(DTypeError, match=f"^{message}$"):
        batches(data, size=2)


def test_arrays_and_numbers_become_tensors() -> None:
    rows = [(np.array([n, 2.0 * n], np.float32), n, n / 2, n > 1) for n in range(4)]

    ((x, n, half, large),) = batches(rows, size=4, shuffle=False)

    assert x.tolist() == [[0, 0], [1, 2], [2, 4], [3, 6]]
    assert (n.tolist(), half.tolist(), large.tolist()) == ([0, 1, 2, 3], [0, 0.5, 1, 1.5], [False, False, True, True])
    assert [one.dtype for one in (x, n, half, large)] == [np.float32, np.int64, np.float32, np.bool_]


def test_a_loader_is_not_a_dataset() -> None:
    class Loader:
        dataset = X

        def __iter__(self) -> Any:
            return iter(())

    loader: Any = Loader()
    message = r"^batches: a Loader gives batches already: use tapegrad\.data\.from_loader$"
    with pytest.raises(DTypeError, match=message):
        batches(loader, size=2)


def test_an_array_that_no_tensor_holds_is_reported_with_its_example() -> None:
    with pytest.raises(DTypeError, match=r"^tensor: data is of dtype <U1, neither numbers nor bools") as raised:
        list(batches([np.array("a"), np.array("b")], size=2, shuffle=False))

    assert raised.value.__notes__ == ["batches: the value is or belongs to example 0"]
