"""Tensor: operators, immutability, printing, and conversion to NumPy and Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ForwardRef, TypeVar, get_args
from typing import Literal as L

import numpy as np
import pytest

from tapegrad.autograd.tape import NoneTape, OwnedTape
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.ops import normal, ones, tensor, zeros
from tapegrad.tensors import Tensor, Tensor0D, Tensor1D, Tensor2D, Tensor6D

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


# Types


def test_rank_aliases_fill_in_omitted_arguments() -> None:
    # Python 3.13.0 fails where typing's own alias gets fewer arguments than it has variables.
    aliases: Any = (Tensor0D, Tensor1D, Tensor2D, Tensor6D)
    scalar, vector, matrix, last = aliases

    assert scalar[NoneTape] == Tensor[tuple[()], NoneTape, np.float32]
    assert vector[L[3]] == Tensor[tuple[L[3]], Any, np.float32]
    assert matrix[L[3], L[5], OwnedTape] == Tensor[tuple[L[3], L[5]], OwnedTape, np.float32]
    assert matrix[N, M, NoneTape, np.int64][L[3], L[5]] == Tensor[tuple[L[3], L[5]], NoneTape, np.int64]
    assert last[L[3], L[5]] == Tensor[tuple[L[3], L[5], Any, Any, Any, Any], Any, np.float32]


def test_a_tensor_type_can_be_used_in_unions_and_as_a_base() -> None:
    class Pixels(Tensor2D[N, L[3]]): ...

    vector: Any = Tensor1D[L[3]]

    assert Pixels.__mro__[1] is Tensor
    assert get_args(Pixels[L[5]]) == (L[5],)
    assert get_args(vector | None) == (vector, type(None))
    assert get_args("Number" | vector | "Later") == (ForwardRef("Number"), vector, ForwardRef("Later"))


# Operators


@pytest.mark.parametrize("name", ARITHMETIC | COMPARISONS)
def test_operators_take_tensors_and_numbers_on_both_sides(name: str) -> None:
    f = (ARITHMETIC | COMPARISONS)[name]
    x, y = real(2, 3), real(3, seed=1)

    for left, right in ((x, y), (x, 2), (2, x), (x, 0.5), (0.5, x), (x, True), (True, x)):
        np.testing.assert_array_equal(f(left, right).numpy(), f(_array(left), _array(right)))
        assert isinstance(f(left, right), Tensor)


@pytest.mark.parametrize("name", ARITHMETIC | COMPARISONS)
def test_numpy_operands_defer_to_the_tensor_on_either_side(name: str) -> None:
    f = (ARITHMETIC | COMPARISONS)[name]
    x = real(2, 3)

    for other in (np.full(3, 2.0), np.full((5, 2, 3), 2.0), np.float64(2), np.array(2.0)):
        for result, expected in ((f(x, other), f(x.numpy(), other)), (f(other, x), f(other, x.numpy()))):
            assert isinstance(result, Tensor)
            np.testing.assert_array_equal(result.numpy(), expected)


def test_no_operator_drops_a_tape_for_a_numpy_array_or_scalar() -> None:
    x = real(2, 3)

    for f in ARITHMETIC.values():
        for other in (np.full(3, 2.0), np.float64(2), np.array(2.0), 2, 2.0):
            assert f(x.trace(), other).owns_tape
            assert f(other, x.trace()).owns_tape
    assert (np.ones((5, 2)) @ x.trace()).owns_tape
    assert (x.trace() @ np.ones(3)).owns_tape
    assert (np.ones(3) + x.trace()).sum().backward()[x].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_in_place_operators_of_arrays_reject_a_tensor() -> None:
    x, array = real(3), np.ones(3)

    with pytest.raises(DTypeError, match=r"^np.add: a tensor has no argument out; np.asarray\(x\) is its array"):
        array += x


def test_an_array_operand_is_copied_for_the_backward_pass() -> None:
    x, array = real(3), np.ones(3)

    y = (x.trace() * array).sum()
    array[:] = 9

    assert y.backward()[x].tolist() == [1, 1, 1]


def test_matmul_minus_and_transpose_are_operators() -> None:
    x, y = real(2, 3), real(3, 5)

    np.testing.assert_array_equal((x @ y).numpy(), x.numpy() @ y.numpy())
    np.testing.assert_array_equal((np.ones((4, 2)) @ x).numpy(), np.ones((4, 2)) @ x.numpy())
    np.testing.assert_array_equal((-x).numpy(), -x.numpy())
    np.testing.assert_array_equal(x.T.numpy(), x.numpy().T)


@pytest.mark.parametrize(
    ("other", "kind"),
    [(None, "a NoneType"), ("a", "a str"), ([1.0], "a list"), (1j, "a complex"), (object(), "an object")],
)
def test_foreign_operands_are_rejected(other: Any, kind: str) -> None:
    x = real(3)

    for name, f in (ARITHMETIC | COMPARISONS).items():
        with pytest.raises(DTypeError, match=f"^{name}: {kind} is neither a tensor nor a number nor a NumPy array$"):
            f(x, other)


def test_plus_equals_rebinds_the_name() -> None:
    x: Any = tensor([1.0, 2.0])
    before = x

    x += 1
    x *= x.trace()

    assert before.tolist() == [1, 2]
    assert x.tolist() == [4, 9]
    assert x.owns_tape


def test_equality_compares_elements_and_gives_bools_without_a_tape() -> None:
    x: Any = tensor([1.0, 2.0, np.nan])

    same = x.trace() == x

    assert same.tolist() == [True, True, False]
    assert same.dtype == np.bool_
    assert not same.owns_tape


def test_a_hash_is_by_identity() -> None:
    x, y = real(3), real(3)

    assert hash(x) == hash(x)
    assert len({x, y, x}) == 2
    assert {x: "x", y: "y"}[y] == "y"


# Dtypes


def test_mixed_dtypes_are_rejected() -> None:
    x, y = ones((3,)), ones((3,), np.float64)

    for name, f in (ARITHMETIC | COMPARISONS | {"matmul": operator.matmul}).items():
        with pytest.raises(DTypeError, match=f"^{name}: x is float32 but y is float64$"):
            f(x, y)
    for name, f in ARITHMETIC.items():
        with pytest.raises(DTypeError, match=f"^{name}: x is float64 but y is float32$"):
            f(y.numpy(), x)
    assert (x.astype(np.float64) + y).dtype == np.float64


def test_a_number_takes_the_dtype_of_the_tensor() -> None:
    for dtype in (np.float16, np.float32, np.float64, np.int8, np.int64):
        x: Any = ones((3,), dtype)

        for number in (2, True):
            assert (x * number).dtype == (number * x).dtype == dtype
    assert (ones((3,), np.float16) * 0.1).dtype == np.float16
    assert (np.float64(0.5) * ones((3,))).dtype == np.float32  # NumPy's float64 is a Python float
    assert (ones((3,), np.bool_) == True).dtype == np.bool_  # noqa: E712  # compares element by element


def test_a_number_that_the_dtype_cannot_hold_is_rejected() -> None:
    for x, number, misfit in (
        (tensor([1, 2]), 0.5, "a float but x is int64"),
        (tensor([True]), 2, "an int but x is bool"),
        (tensor([True]), 0.5, "a float but x is bool"),
    ):
        with pytest.raises(DTypeError, match=f"^mul: y is {misfit}$"):
            x * number
        with pytest.raises(DTypeError, match=f"^equal: y is {misfit}$"):
            number == x  # noqa: B015  # the comparison is under test
    with pytest.raises(
        DTypeError, match=r"^add: a number is too large .* \(Python integer 300 out of bounds for uint8\)"
    ):
        tensor([1], np.uint8) + 300


# Immutability


def test_assigning_an_element_is_rejected() -> None:
    x: Any = real(3)

    with pytest.raises(
        TypeError, match=r"^a tensor is immutable: x\[0\] = \.\.\. has no effect; at_set gives another tensor$"
    ):
        x[0] = 1.0


def test_the_numpy_view_is_read_only_and_the_copy_is_not() -> None:
    x: Any = tensor([1.0, 2.0])

    view, copy = x.numpy(), x.numpy(copy=True)
    copy[0] = 7

    assert np.shares_memory(view, x.data)
    assert x.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 7


def test_a_tensor_is_a_copy_of_the_array_it_was_made_of() -> None:
    array = np.array([1.0, 2.0])

    x: Any = tensor(array)
    array[0] = 7

    assert x.tolist() == [1, 2]


def test_a_tensor_has_no_attributes_but_its_own() -> None:
    with pytest.raises(AttributeError):
        real(3).name = "x"


# Leaving for NumPy and Python


def test_numpy_reads_a_tensor_without_a_tape() -> None:
    x: Any = tensor([[1.0, 2.0]])

    assert np.asarray(x).tolist() == [[1, 2]]
    assert np.array(x, np.float64).dtype == np.float64
    assert np.array(x).flags.writeable
    assert np.stack([x, x]).shape == (2, 1, 2)


def test_numpy_rejects_a_tensor_with_a_tape() -> None:
    with pytest.raises(TapeError, match=r"^the tensor has a tape, which a NumPy array would lose; detach it first$"):
        np.asarray(real(3).trace())
    assert real(3).trace().numpy().shape == (3,)  # an explicit call


def test_a_rank_0_result_is_converted_to_an_array() -> None:
    total = real(3).sum()

    assert total.shape == ()
    assert total.numpy().shape == ()
    assert isinstance(total.numpy(), np.ndarray)


def test_one_element_becomes_a_python_number() -> None:
    x: Any = tensor([[2.5]])

    assert x.item() == 2.5
    assert type(x.item()) is float
    assert float(x) == 2.5
    assert f"{x:.3f} {x:>6} {x}" == f"2.500    2.5 {x!s}"
    assert int(x) == 2
    assert bool(x)
    assert not bool(zeros(()))
    assert x.trace().item() == 2.5


def test_several_elements_or_none_do_not_become_a_number() -> None:
    for x, shape, size in ((ones((3,)), r"\(3,\)", 3), (ones((2, 0)), r"\(2, 0\)", 0)):
        for name, f in (("bool", bool), ("float", float), ("int", int), ("item", Tensor[Any, Any, Any].item)):
            with pytest.raises(ShapeError, match=f"^{name}: a tensor of shape {shape} has {size} elements, not one$"):
                f(x)


def test_len_is_the_first_size() -> None:
    assert len(ones((3, 5))) == 3
    assert len(ones((0, 5))) == 0

    with pytest.raises(TypeError, match=r"^len: a tensor of shape \(\) has no length$"):
        len(ones(()))


def test_a_tensor_has_shape_and_dtype() -> None:
    x = real(2, 3).trace()

    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float64)
    assert x.is_float
    assert not tensor([1]).is_float


# Printing


def test_a_tensor_prints_like_numpy_with_shape_dtype_and_tape() -> None:
    x: Any = tensor([[1.0, 2.0], [3.0, 4.5]])

    assert repr(x) == "Tensor([[1. , 2. ],\n        [3. , 4.5]], shape=(2, 2), float32, no tape)"
    assert repr(x.sum().trace()) == "Tensor(10.5, shape=(), float32, owned tape)"
    assert repr(zeros((0, 3), np.int64)) == "Tensor([], shape=(0, 3), int64, no tape)"
    assert str(x) == "[[1. , 2. ],\n [3. , 4.5]]"
    assert f"{tensor([True, False])}" == "[ True, False]"


def test_a_large_tensor_prints_its_corners() -> None:
    assert len(str(zeros((1000, 1000)))) < 500


def test_a_taped_tensor_prints_without_recording() -> None:
    x = real(3).trace()

    repr(x), str(x)

    assert len(x.tape.tape) == 0

    # Methods


def test_methods_call_the_ops() -> None:
    x = real(2, 3)
    array = x.numpy()

    np.testing.assert_array_equal(x.sum(1, keepdims=True).numpy(), array.sum(1, keepdims=True))
    np.testing.assert_array_equal(x.max(0).numpy(), array.max(0))
    np.testing.assert_allclose(x.mean(axis=(0, 1)).numpy(), array.mean())
    np.testing.assert_array_equal(x.transpose((1, 0)).numpy(), array.T)
    np.testing.assert_array_equal(x.reshape((3, 2)).numpy(), array.reshape(3, 2))
    np.testing.assert_array_equal(x.take(tensor([2, 0]), axis=1).numpy(), array[:, [2, 0]])
    assert x.astype(np.float32).dtype == np.float32


def _array(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value
