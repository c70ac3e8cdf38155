"""Bitwise ops on ints and bools: Python's values, operators, shapes and errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    bitwise_and,
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ones,
    tensor,
    zeros,
)
from tapegrad.testing import check_shape_rule

LOGICAL: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "bitwise_and": (bitwise_and, operator.and_),
    "bitwise_or": (bitwise_or, operator.or_),
    "bitwise_xor": (bitwise_xor, operator.xor),
}
SHIFTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "bitwise_left_shift": (bitwise_left_shift, operator.lshift),
    "bitwise_right_shift": (bitwise_right_shift, operator.rshift),
}
BINARY = {**LOGICAL, **SHIFTS}


@pytest.mark.parametrize("name", BINARY)
def test_operators_on_ints_equal_pythons_on_either_side(name: str) -> None:
    f, of_python = BINARY[name]
    x: Any = tensor([[12], [-7]])
    y: Any = tensor([0, 3, 5])

    z = f(x.trace(), y)

    assert z.tolist() == [[of_python(a, b) for b in [0, 3, 5]] for a in [12, -7]]
    assert z.tolist() == of_python(x, y).tolist()
    assert not z.owns_tape
    assert of_python(x, 3).tolist() == [[of_python(12, 3)], [of_python(-7, 3)]]
    assert of_python(6, y).tolist() == [of_python(6, b) for b in [0, 3, 5]]
    assert f(tensor([1, 2], np.int8), 1).dtype == np.int8


@pytest.mark.parametrize("name", LOGICAL)
def test_the_operator_on_bools_is_a_truth_table(name: str) -> None:
    f, of_python = LOGICAL[name]
    x, y, always = tensor([[False, True]]), tensor([[False], [True]]), True

    assert f(x.trace(), y).tolist() == [[of_python(a, b) for a in [False, True]] for b in [False, True]]
    assert f(x, y).dtype == np.bool_
    assert of_python(x, always).tolist() == of_python(always, x).tolist() == f(x, always).tolist()
    assert of_python(np.array([True, True]), x).tolist() == f(x, always).tolist()


def test_every_bit_is_inverted() -> None:
    assert (~tensor([0, 1, -8])).tolist() == [~0, ~1, ~-8]
    assert (~tensor([0, 1], np.uint8)).tolist() == [255, 254]
    assert (~tensor([True, False]).trace()).tolist() == [False, True]
    assert not bitwise_invert(tensor([True]).trace()).owns_tape
    assert bitwise_invert(zeros((0, 3), np.int64)).shape == (0, 3)
    check_shape_rule(bitwise_invert, ((),), ((2, 3, 7),), ((2, 0),))


def test_bitwise_count_counts_the_set_bits() -> None:
    y = bitwise_count(tensor([0, 1, 7, 255, -7, 2**62]).trace())

    assert y.tolist() == [n.bit_count() for n in [0, 1, 7, 255, -7, 2**62]]
    assert y.dtype == np.uint8
    assert not y.owns_tape
    assert bitwise_count(tensor([-128], np.int8)).tolist() == [1]
    assert bitwise_count(zeros((0, 3), np.int64)).shape == (0, 3)
    check_shape_rule(bitwise_count, ((),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^bitwise_count: x is bool but integer is expected$"):
        bitwise_count(tensor([True]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_empty_tensors_give_empty_results() -> None:
    for f, _ in BINARY.values():
        assert f(zeros((0, 3), np.int64), ones((3,), np.int64)).shape == (0, 3)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(BINARY[name][0], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", BINARY)
def test_invalid_operands_are_rejected(name: str) -> None:
    f, expected = BINARY[name][0], "integer or bool" if name in LOGICAL else "integer"
    x, floats = ones((2, 3), np.int64), tensor([1.0])

    with pytest.raises(ShapeError) as rejected:
        f(x, ones((4,), np.int64))
    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
    with pytest.raises(DTypeError, match=f"^{name}: x is float32 but {expected} is expected$"):
        f(floats, floats)
    with pytest.raises(DTypeError, match=f"^{name}: y is float32 but {expected} is expected$"):
        f(1, floats)
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but y is float32$"):
        f(x, floats)
    with pytest.raises(DTypeError, match=f"^{name}: y is an int but x is bool$"):
        f(tensor([True]), 1)


def test_shifts_of_bools_and_inverted_floats_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^bitwise_left_shift: x is bool but integer is expected$"):
        bitwise_left_shift(tensor([True]), tensor([True]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^bitwise_invert: x is float32 but integer or bool is expected$"):
        bitwise_invert(tensor([1.0]))  # type: ignore[tapegrad-dtype]  # the mistake under test
