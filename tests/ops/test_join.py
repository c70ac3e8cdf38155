"""concat, stack and split: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import chunk, concat, concat_vectors, normal, ones, split, stack, tensor, unstack, zeros
from tapegrad.ops.join import split_shape, stack_shape
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_and_stack_equal_numpy_and_have_their_gradients(axis: int) -> None:
    x, y = real(2, 3, 4), real(2, 3, 4, seed=1)

    np.testing.assert_array_equal(concat([x, y, x], axis).numpy(), np.concatenate([x, y, x], axis))
    np.testing.assert_array_equal(stack((x, y), axis).numpy(), np.stack([x, y], axis))
    check_gradients(lambda x, y: concat([x, y, x], axis), x, y)
    check_gradients(lambda x, y: stack([x, y, x], axis), x, y)
    check_gradients(lambda x, y: concat([x * y, y], axis), real(1, 2, 2), real(1, 2, 2, seed=1), order=2)
    check_gradients(lambda x, y: stack([x * y, y], axis), real(1, 2), real(1, 2, seed=1), order=2)


def test_concat_joins_parts_of_different_lengths_and_empty_ones() -> None:
    x, y, nothing = real(2, 3), real(2, 5), real(2, 0)

    assert concat([x, nothing, y], axis=1).shape == (2, 8)
    assert concat([x]).tolist() == x.tolist()
    check_gradients(lambda x, y, z: concat([x, z, y], -1), x, y, nothing)


def test_stack_of_scalars_is_a_vector() -> None:
    assert stack([tensor(1.0), tensor(2.0)]).tolist() == [1, 2]
    assert stack([tensor(1.0)], -1).shape == (1,)
    assert stack([zeros((0, 3)), zeros((0, 3))], 1).shape == (0, 2, 3)


def test_the_tapes_of_all_parts_become_one() -> None:
    x, y, z = real(2), real(2, seed=1), real(2, seed=2)

    grads = (concat([x.trace(), y, z.trace()]) * tensor([1, 2, 3, 4, 5, 6], np.float64)).sum().backward()

    assert grads[x].tolist() == [1, 2]
    assert grads[z].tolist() == [5, 6]
    assert y not in grads
    assert not concat([x, y]).owns_tape


@pytest.mark.parametrize(("sections", "axis"), [(3, 1), (1, 0), ((1, 2), 1), ((0, 4), -1), ((2,), 0)], ids=str)
def test_split_is_the_inverse_of_concat(sections: Any, axis: int) -> None:
    x = real(2, 3, 4)

    parts = split(x, sections, axis)

    assert concat(parts, axis).tolist() == x.tolist()
    check_gradients(lambda x: split(x, sections, axis)[-1], x)
    check_gradients(lambda x: split(x * x, sections, axis)[0], x, order=2)


def test_split_equals_numpy() -> None:
    x = real(4, 3)

    for part, expected in zip(split(x, 2), np.split(x.numpy(), 2), strict=True):
        np.testing.assert_array_equal(part.numpy(), expected)
    assert [part.shape for part in split(zeros((0, 3)), 2)] == [(0, 3), (0, 3)]
    assert [part.tolist() for part in split(tensor([7]), (0, 1))] == [[], [7]]
    assert [part.shape for part in split(x, [1, 3])] == [(1, 3), (3, 3)]


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(concat, (((2, 3), (4, 3)),), (((2, 3), (2, 7)), -1), (((2,),),), (((2, 3), (2, 4)),), ((), 0))
    check_shape_rule(stack, (((2, 3), (2, 3)), -1), (((),),), (((2, 3), (2, 4)),))
    check_shape_rule(split, ((6, 3), 2), ((6, 3), (2, 4)), ((6, 3), (1, 2), 1), ((6, 3), 4))


def test_invalid_arguments_are_rejected() -> None:
    x, y = ones((2, 3)), ones((2, 4))
    one: Any = concat
    calls: list[tuple[Any, str]] = [
        (lambda: concat([x, y]), "concat: tensors[1] (2, 4) has 4 along axis 1 but tensors[0] (2, 3) has 3"),  # type: ignore[tapegrad-shape]  # the mistake under test
        (lambda: concat([x], 2), "concat: axis 2 is out of range for tensors[0] (2, 3)"),  # type: ignore[tapegrad-shape]  # as above
        (lambda: one([x, ones((3,))]), "concat: tensors[1] (3,) has rank 1 but tensors[0] (2, 3) has rank 2"),
        (lambda: one([]), "concat: there is no tensor to join"),
        (lambda: stack([x, y]), "stack: tensors[1] (2, 4) has 4 along axis 1 but tensors[0] (2, 3) has 3"),  # type: ignore[tapegrad-shape]  # as above
        (lambda: stack([x], 3), "stack: axis 3 is out of range for a stack of (2, 3)"),  # type: ignore[tapegrad-shape]  # as above
        (
            lambda: split(x, 2, 1),  # type: ignore[tapegrad-shape]  # as above
            (
                "split: axis 1 of x (2, 3) is 3, which does not divide into 2 equal parts; "
                "parts of 2 are split(x, (2, 1), axis=1)"
            ),
        ),
        (lambda: split(x, 0), "split: sections is 0 but at least 1 is expected"),  # type: ignore[tapegrad-shape]  # as above
        (lambda: split(x, (1, 2)), "split: sections (1, 2) add up to 3 but axis 0 of x (2, 3) is 2"),  # type: ignore[tapegrad-shape]  # as above
        (lambda: split(x, (3, -1)), "split: sections (3, -1) has the negative size -1"),  # type: ignore[tapegrad-shape]  # as above
    ]
    for call, message in calls:
        with pytest.raises(ShapeError) as rejected:
            call()
        assert str(rejected.value) == message


def test_mixed_dtypes_are_rejected() -> None:
    one: Any = concat
    other: Any = stack

    with pytest.raises(DTypeError, match=r"^concat: tensors\[0\] is float32 but tensors\[1\] is int64$"):
        one([ones((2,)), tensor([1])])
    with pytest.raises(DTypeError, match=r"^stack: tensors\[1\] is a float, not a tensor$"):
        other([ones(()), 1.0])


@pytest.mark.parametrize(
    ("call", "x", "count"),
    [
        (lambda x: split(x, 2**20 + 1), "(0, 3)", 2**20 + 1),  # type: ignore[tapegrad-shape]  # the mistake under test
        (lambda x: chunk(x, 2**40), "(0, 3)", 2**40),
        (lambda x: chunk(x, 2**21), f"({2**21 - 1}, 0)", 2**21 - 1),
        (unstack, f"({2**40}, 0)", 2**40),
    ],
)
def test_too_many_parts_are_rejected_before_any_is_created(call: Any, x: str, count: int) -> None:
    shape = (0, 3) if x == "(0, 3)" else (count, 0)
    said = f"x {x} would be cut into {count} parts but one call gives at most 1048576"

    with pytest.raises(ShapeError, match=rf"^\w+: {re.escape(said)}$"):
        call(zeros(shape))


@pytest.mark.parametrize(
    ("n", "chunks", "sizes"),
    [
        # ceil(n / chunks) each, until nothing is left
        (7, 3, [3, 3, 1]),
        (7, 5, [2, 2, 2, 1]),
        (6, 4, [2, 2, 2]),
        (6, 3, [2, 2, 2]),
        (2, 5, [1, 1]),
        (5, 1, [5]),
        (0, 3, [0, 0, 0]),
    ],
)
def test_chunks_are_as_equal_as_rounding_up_allows(n: int, chunks: int, sizes: list[int]) -> None:
    x = real(2, n)

    parts = chunk(x, chunks, 1)

    assert [part.numpy().shape for part in parts] == [(2, size) for size in sizes]
    np.testing.assert_array_equal(concat(parts, 1).numpy(), x.numpy())
    check_gradients(lambda x: chunk(x, chunks, -1)[-1], x)
    check_gradients(lambda x: chunk(x * x, chunks, 1)[0], x, order=2)
    check_shape_rule(chunk, ((2, n), chunks, 1))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack_is_the_inverse_of_stack(axis: int) -> None:
    x = real(2, 3, 4)

    parts = unstack(x, axis)

    assert len(parts) == x.shape[axis]
    np.testing.assert_array_equal(stack(parts, axis).numpy(), x.numpy())
    check_gradients(lambda x: unstack(x, axis)[1], x)
    check_gradients(lambda x: unstack(x * x, min(axis, 1))[0], real(2, 3), order=2)
    check_shape_rule(unstack, ((2, 3, 7), axis), ((2, 3, 1), axis))


def test_splitting_a_single_element() -> None:
    x = tensor([[7]])

    assert [part.tolist() for part in chunk(x, 3)] == [[[7]]]
    assert [part.tolist() for part in unstack(x)] == [[7]]


def test_splitting_an_empty_tensor() -> None:
    assert unstack(zeros((0, 3))) == ()
    assert [part.shape for part in unstack(zeros((2, 0)))] == [(0,), (0,)]


def test_concat_vectors_joins_vectors() -> None:
    x, y, nothing = real(3), real(2, seed=1), real(0)

    np.testing.assert_array_equal(concat_vectors([x, nothing, y]).numpy(), np.concatenate([x, y]))
    check_gradients(lambda x, y: concat_vectors([x, y, x]), x, y)
    check_gradients(lambda x, y: concat_vectors([x * y, y * y]), real(2), y, order=2)
    check_shape_rule(concat_vectors, (((3,), (2,)),), (((0,),),))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: chunk(x, 0), "chunk: chunks is 0 but at least 1 is expected"),  # type: ignore[tapegrad-shape]  # the mistake under test
        (lambda x: chunk(x, 2, 2), "chunk: axis 2 is out of range for x (2, 3)"),
        (lambda x: unstack(x, -3), "unstack: axis -3 is out of range for x (2, 3)"),
        (lambda x: concat_vectors([x[0], x]), "concat_vectors: tensors[1] (2, 3) has rank 2 but a vector is expected"),
        (lambda x: concat_vectors([x[0, 0]]), "concat_vectors: tensors[0] () has rank 0 but a vector is expected"),
        (lambda x: concat_vectors(unstack(x[:0])), "concat_vectors: there is no tensor to join"),
    ],
)
def test_invalid_arguments_of_chunk_and_concat_vectors_are_rejected(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        call(real(2, 3))

    assert str(rejected.value) == message


def test_vectors_of_mixed_dtypes_are_rejected() -> None:
    vectors: Any = [real(2), tensor([1])]

    with pytest.raises(DTypeError, match=r"^concat_vectors: tensors\[0\] is float64 but tensors\[1\] is int64$"):
        concat_vectors(vectors)


def test_the_axis_of_a_stack_is_counted_from_either_end() -> None:
    pairs = ((2, 5),) * 3

    assert [stack_shape(pairs, axis) for axis in (0, -3)] == [(3, 2, 5)] * 2
    assert [stack_shape(pairs, axis) for axis in (1, -2)] == [(2, 3, 5)] * 2
    for axis in (3, -4):
        with pytest.raises(ShapeError, match=rf"^axis {axis} is out of range for a stack of \(2, 5\)$"):
            stack_shape(pairs, axis)


def test_non_int_sections_are_rejected() -> None:
    sections: Any = 2.5

    with pytest.raises(DTypeError, match=r"^split: sections is 2\.5 but an int or a tuple of ints is expected$"):
        split(zeros((4,)), sections)
    with pytest.raises(DTypeError, match=r"^sections is 2\.5 but an int or a tuple of ints is expected$"):
        split_shape((4,), sections)
