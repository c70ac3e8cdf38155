"""`@guarded`: arguments and results are checked against their annotations at run time."""

# ruff: noqa: ARG001, ARG002, ARG003, ARG005, F722, UP044
# Parameters are there for their annotations; those of jaxtyping are no Python, and the older Unpack is under test.
import asyncio
import copy
import functools
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, TypeVarTuple, Unpack
from typing import Literal as L

import numpy as np
import pytest
import typing_extensions
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from hypothesis import assume, given
from hypothesis import strategies as st
from jaxtyping import Float, TypeCheckError, jaxtyped
from typing_extensions import TypeAliasType

from tapegrad.autograd.tape import Merge, NoneTape, OwnedTape, Tape
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.guard import guarded
from tapegrad.ops import matmul
from tapegrad.sizes import Add, FloorDiv, Mul, Pow, Sub
from tapegrad.tensors import Tensor, Tensor0D, Tensor1D, Tensor2D, Untaped
from tapegrad.tensors.aliases import Rank2, Shape

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
In = TypeVar("In", bound=int)
Out = TypeVar("Out", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
U = TypeVar("U", bound=Tape)
D = TypeVar("D", bound=np.generic)
Padding = typing_extensions.TypeVar("Padding", bound=int, default=L[0])
PaddingW = typing_extensions.TypeVar("PaddingW", bound=int, default=Padding)
Sizes = TypeVarTuple("Sizes")

Array = np.ndarray[Any, Any]


def some(*shape: int, dtype: Any = np.float32, taped: bool = False) -> Tensor[Any, Any, Any]:
    """Return a tensor of which mypy knows nothing, so that it lets pass what the guard must reject."""
    data: Any = np.zeros(shape, dtype)
    x: Tensor[Any, Any, Any] = Tensor(data)
    return x.trace() if taped else x


def rejects(error: type[Exception], message: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Assert that a call raises exactly this."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call(*args, **kwargs)


class Linear(Generic[In, Out]):
    @guarded
    def __init__(self, inputs: In, outputs: Out) -> None:
        self.weight = some(inputs, outputs)

    @guarded
    def forward(self, x: Tensor[tuple[N, In], T]) -> Tensor[tuple[N, Out], T]:
        return matmul(x, self.weight)

    @guarded
    def cut(self, x: Tensor[tuple[N, In], T]) -> Tensor[tuple[N, Out], T]:
        return x  # type: ignore[return-value]  # the mistake under test


class Slotted(Generic[In]):
    __slots__ = ()

    @guarded
    def __init__(self, inputs: In) -> None: ...

    @guarded
    def forward(self, x: Tensor[tuple[In], Any]) -> None: ...


class Unguarded(Generic[N]):
    @guarded
    def same(self, x: Tensor[tuple[N], Any], y: Tensor[tuple[N], Any]) -> None: ...


class Normal(Generic[S, D, *Sizes]):
    @guarded
    def __init__(self, shape: S, dtype: type[D], *rest: Tensor[tuple[*Sizes], Any]) -> None: ...

    @guarded
    def whole(self, x: Tensor[S, Any, D]) -> None: ...

    @guarded
    def rows(self, x: Tensor[tuple[N, *Sizes], Any]) -> None: ...


class Image(Tensor[tuple[N, M, L[3]], T, np.uint8]):
    """A tensor class of one's own."""


class Named(Protocol):
    name: str


def test_valid_arguments_and_results_pass() -> None:
    @guarded
    def product(x: Tensor[tuple[N, L[5]], T], y: Tensor[tuple[L[5], M], U]) -> Tensor[tuple[N, M], Merge[T, U]]:
        return matmul(x, y)

    assert product(some(3, 5), some(5, 7)).shape == (3, 7)
    assert product(some(3, 5), y=some(5, 7, taped=True)).owns_tape


def test_a_size_is_the_one_declared() -> None:
    @guarded
    def f(x: Tensor[tuple[L[3], L[5]], Any]) -> None: ...

    f(some(3, 5))
    rejects(ShapeError, "f: x is (3, 4) but (3, 5) is expected: axis 1 is 4, not 5", f, some(3, 4))


def test_a_rank_is_the_one_declared() -> None:
    @guarded
    def f(x: Tensor[tuple[L[3], L[5], N], Any]) -> None: ...

    f(some(3, 5, 2))
    rejects(ShapeError, "f: x is (3, 4) but (3, 5, N) is expected: rank 2, not 3", f, some(3, 4))


def test_a_name_is_one_size_in_all_arguments() -> None:
    @guarded
    def f(x: Tensor[tuple[N, L[5]], Any], y: Tensor[tuple[N], Any]) -> None: ...

    f(some(3, 5), some(3))
    rejects(ShapeError, "f: N is 3 in x but 4 in y", f, some(3, 5), some(4))


def test_a_name_is_one_size_in_one_argument() -> None:
    @guarded
    def f(x: Tensor[tuple[N, N], Any]) -> None: ...

    f(some(3, 3))
    rejects(ShapeError, "f: N is both 3 and 4 in x", f, some(3, 4))


def test_a_name_is_bound_again_in_each_call() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any]) -> Tensor[tuple[N], Any]:
        return x

    assert [f(some(3)).shape, f(some(4)).shape] == [(3,), (4,)]


def test_a_named_size_is_at_least_one() -> None:
    @guarded
    def f(x: Tensor[tuple[Any, N], Any], y: Tensor[tuple[N], Any]) -> None: ...

    f(some(0, 1), some(1))
    rejects(ShapeError, "f: N is 0 in x but a named size is at least 1", f, some(3, 0), some(0))
    rejects(ShapeError, "f: N is 3 in x but 0 in y", f, some(2, 3), some(0))


def test_a_result_is_checked_against_the_names_of_the_arguments() -> None:
    @guarded
    def f(x: Tensor[tuple[N, M], NoneTape]) -> Tensor[tuple[M, N], NoneTape]:
        return x  # type: ignore[return-value]  # the mistake under test

    f(some(3, 3))
    rejects(ShapeError, "f: M is 5 in x but 3 in the result", f, some(3, 5))


def test_a_result_has_the_shape_tape_and_dtype_declared() -> None:
    @guarded
    def f(x: Tensor | None) -> Tensor[tuple[L[3]], OwnedTape]:
        return x  # type: ignore[return-value]  # the mistake under test

    f(some(3, taped=True))
    rejects(ShapeError, "f: the result is (4,) but (3,) is expected: axis 0 is 4, not 3", f, some(4))
    rejects(TapeError, "f: the result has no tape but needs one", f, some(3))
    rejects(DTypeError, "f: the result is int64 but float32 is expected", f, some(3, dtype=np.int64, taped=True))
    rejects(DTypeError, "f: the result is None but a tensor is expected", f, None)


def test_a_computed_size_is_compared_once_all_names_are_bound() -> None:
    @guarded
    def f(x: Tensor[tuple[Add[N, L[1]], Mul[M, N]], Any], y: Tensor[tuple[N, M], Any]) -> None: ...

    f(some(4, 15), some(3, 5))
    rejects(
        ShapeError,
        "f: x is (5, 15) but (N + 1, M*N) is expected: axis 0 is 5, not N + 1 = 4",
        *(f, some(5, 15), some(3, 5)),
    )
    rejects(
        ShapeError,
        "f: x is (4, 16) but (N + 1, M*N) is expected: axis 1 is 16, not M*N = 15",
        *(f, some(4, 16), some(3, 5)),
    )


def test_a_computed_size_of_the_result_is_compared() -> None:
    @guarded
    def halved(x: Tensor[tuple[N], T], rest: Tensor) -> Tensor[tuple[FloorDiv[Sub[N, L[1]], L[2]]], T]:
        return rest

    assert halved(some(7), some(3)).shape == (3,)
    message = "halved: the result is (4,) but ((N + 1) // 2 - 1,) is expected: axis 0 is 4, not (N + 1) // 2 - 1 = 3"
    rejects(ShapeError, message, halved, some(7), some(4))


def test_a_power_in_an_annotation_is_compared() -> None:
    @guarded
    def squared(x: Tensor[tuple[N], T], result: Tensor) -> Tensor[tuple[Pow[N, L[2]]], T]:
        return result

    assert squared(some(3), some(9)).shape == (9,)
    message = "squared: the result is (6,) but (N*N,) is expected: axis 0 is 6, not N*N = 9"
    rejects(ShapeError, message, squared, some(3), some(6))


def test_a_power_with_a_named_exponent_is_compared() -> None:
    @guarded
    def widened(x: Tensor[tuple[N], T], times: M, result: Tensor) -> Tensor[tuple[Mul[N, Pow[L[2], M]]], T]:
        return result

    assert widened(some(3), 2, some(12)).shape == (12,)
    message = "widened: the result is (13,) but (2**M*N,) is expected: axis 0 is 13, not 2**M*N = 12"
    rejects(ShapeError, message, widened, some(3), 2, some(13))


def test_a_single_unbound_name_is_solved_for() -> None:
    @guarded
    def f(x: Tensor[tuple[Add[Mul[N, L[2]], L[1]]], Any]) -> Tensor[tuple[N], Any]:
        return some((x.shape[0] - 1) // 2)

    assert f(some(7)).shape == (3,)
    rejects(ShapeError, "f: x is (6,) but (2*N + 1,) is expected: axis 0 is 6, not 2*N + 1", f, some(6))
    rejects(ShapeError, "f: N is 0 in x but a named size is at least 1", f, some(1))


def test_unbound_names_are_solved_for_one_after_the_other() -> None:
    @guarded
    def f(x: Tensor[tuple[Add[N, M], Add[N, L[1]]], Any]) -> Tensor[tuple[M], Any]:
        return some(2)

    f(some(5, 4))
    rejects(ShapeError, "f: M is 3 in x but 2 in the result", f, some(6, 4))


def test_a_computed_size_may_be_part_of_a_union() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any], y: Tensor[tuple[Add[N, L[1]]], Any] | None) -> None: ...

    f(some(3), None)
    f(some(3), some(4))
    rejects(ShapeError, "f: y is (3,) but (N + 1,) is expected: axis 0 is 3, not N + 1 = 4", f, some(3), some(3))


def test_a_computed_size_of_two_unbound_names_is_accepted() -> None:
    @guarded
    def f(x: Tensor[tuple[Mul[N, M]], Any]) -> None: ...

    f(some(7))


def test_a_computed_size_may_not_divide_by_zero() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any], y: Tensor[tuple[FloorDiv[L[6], Sub[N, L[1]]]], Any]) -> None: ...

    f(some(3), some(3))
    rejects(ShapeError, "f: 6 // (N - 1) divides by zero", f, some(1), some(3))


def test_a_shape_variable_is_one_shape() -> None:
    @guarded
    def f(x: Tensor[S, Any], y: Tensor[S, Any]) -> None: ...

    f(some(), some())
    f(some(3, 5), some(3, 5))
    rejects(ShapeError, "f: S is (3, 5) in x but (5, 3) in y", f, some(3, 5), some(5, 3))


def test_a_shape_variable_must_match_its_bound() -> None:
    R = TypeVar("R", bound=Rank2)

    @guarded
    def f(x: Tensor[R, Any]) -> Tensor[R, Any]:
        return x

    f(some(3, 5))
    rejects(ShapeError, "f: x is (3,) but (?, ?) is expected: rank 1, not 2", f, some(3))


def test_stars_stand_for_any_number_of_sizes() -> None:
    @guarded
    def f(x: Tensor[tuple[*Sizes, N, L[5]], Any], y: Tensor[tuple[*Sizes, N], Any]) -> None: ...

    f(some(2, 3, 4, 5), some(2, 3, 4))
    f(some(4, 5), some(4))
    rejects(ShapeError, "f: *Sizes is (2, 3) in x but (3, 2) in y", f, some(2, 3, 4, 5), some(3, 2, 4))
    rejects(ShapeError, "f: x is (5,) but (..., N, 5) is expected: rank 1, not at least 2", f, some(5), some())
    rejects(ShapeError, "f: x is (4, 6) but (..., N, 5) is expected: axis -1 is 6, not 5", f, some(4, 6), some(4))


def test_a_star_is_written_in_several_ways() -> None:
    @guarded
    def f(
        x: Tensor[tuple[L[2], *Sizes], Any],
        y: Tensor[tuple[L[2], Unpack[Sizes]], Any],
        z: Tensor[tuple[L[2], typing_extensions.Unpack[Sizes]], Any],
    ) -> None: ...

    @guarded
    def g(
        x: Tensor[tuple[L[2], *tuple[Any, ...]], Any], y: Tensor[tuple[L[2], Unpack[tuple[int, ...]]], Any]
    ) -> None: ...

    f(some(2, 3, 4), some(2, 3, 4), some(2, 3, 4))
    g(some(2), some(2, 3, 4))
    rejects(ShapeError, "f: *Sizes is (3, 4) in x but (3,) in z", f, some(2, 3, 4), some(2, 3, 4), some(2, 3))
    rejects(ShapeError, "g: x is (3,) but (2, ...) is expected: axis 0 is 3, not 2", g, some(3), some(2))
    rejects(ShapeError, "g: y is () but (2, ...) is expected: rank 0, not at least 1", g, some(2), some())


def test_a_star_before_a_tuple_is_its_sizes() -> None:
    @guarded
    def f(x: Tensor[tuple[*tuple[L[2], N], L[5]], Any]) -> None: ...

    f(some(2, 3, 5))
    rejects(ShapeError, "f: x is (2, 5) but (2, N, 5) is expected: rank 2, not 3", f, some(2, 5))


def test_any_and_int_are_any_size() -> None:
    @guarded
    def f(x: Tensor[tuple[Any, int, L[5]], Any]) -> None: ...

    f(some(0, 4, 5))
    rejects(ShapeError, "f: x is (4, 5) but (?, ?, 5) is expected: rank 2, not 3", f, some(4, 5))


def test_any_shape_is_accepted() -> None:
    @guarded
    def f(x: Tensor[Any, NoneTape], y: Tensor[tuple[int, ...], NoneTape]) -> None: ...

    f(some(), some(3, 5))
    rejects(TapeError, "f: y has a tape but must have none", f, some(), some(3, 5, taped=True))


def test_aliases_are_expanded() -> None:
    @guarded
    def f(x: Tensor1D[L[5], NoneTape], y: Tensor[Rank2[L[5], N], Any], z: Tensor[Shape[N], Any]) -> None: ...

    f(some(5), some(5, 3), some(3))
    rejects(ShapeError, "f: x is (4,) but (5,) is expected: axis 0 is 4, not 5", f, some(4), some(5, 3), some(3))
    rejects(ShapeError, "f: N is 3 in y but 4 in z", f, some(5), some(5, 3), some(4))


def test_a_bare_alias_checks_rank_and_dtype_only() -> None:
    @guarded
    def f(x: Tensor2D, y: Tensor2D, z: Tensor0D) -> None: ...

    f(some(3, 5), some(7, 0, taped=True), some())
    rejects(ShapeError, "f: y is (3,) but (?, ?) is expected: rank 1, not 2", f, some(3, 5), some(3), some())
    rejects(DTypeError, "f: z is int64 but float32 is expected", f, some(3, 5), some(3, 5), some(dtype=np.int64))


def test_a_bare_tensor_is_any_tensor() -> None:
    @guarded
    def f(x: Tensor) -> None: ...

    f(some(3, dtype=np.int64))
    f(some(3, taped=True))
    rejects(DTypeError, "f: x is an ndarray but a tensor is expected; tg.tensor(x) makes one", f, np.zeros(3))


def test_an_alias_with_parameters_is_expanded() -> None:
    Square = TypeAliasType("Square", Tensor[tuple[N, N], NoneTape], type_params=(N,))

    @guarded
    def f(x: Square[L[3]], y: Untaped[tuple[M], np.float64]) -> None: ...

    f(some(3, 3), some(5, dtype=np.float64))
    rejects(ShapeError, "f: x is (4, 4) but (3, 3) is expected: axis 0 is 4, not 3", f, some(4, 4), some(5))
    rejects(DTypeError, "f: y is float32 but float64 is expected", f, some(3, 3), some(5))


def test_a_user_defined_tensor_class_is_read_through_its_bases() -> None:
    @guarded
    def f(x: Image[L[8], N, NoneTape], y: Tensor[tuple[N], Any]) -> None: ...

    pixels: Any = np.zeros((8, 5, 3), np.uint8)
    image: Image[Any, Any, Any] = Image(pixels)

    f(image, some(5))
    rejects(ShapeError, "f: N is 5 in x but 4 in y", f, image, some(4))
    rejects(DTypeError, "f: x is a tensor but an Image is expected", f, some(8, 5, 3), some(5))


def test_a_tape_is_the_one_declared() -> None:
    @guarded
    def f(x: Tensor[Any, OwnedTape], y: Tensor[Any, NoneTape]) -> None: ...

    f(some(taped=True), some())
    rejects(TapeError, "f: x has no tape but needs one", f, some(), some())
    rejects(TapeError, "f: y has a tape but must have none", f, some(taped=True), some(taped=True))


def test_a_tape_variable_takes_either_tape() -> None:
    @guarded
    def f(x: Tensor[Any, T], y: Tensor[Any, T], z: Tensor[Any, Tape], w: Tensor[Any, Merge[T, U]]) -> None: ...

    f(some(), some(taped=True), some(), some())
    f(some(taped=True), some(), some(taped=True), some(taped=True))


def test_a_tape_variable_must_match_its_bound() -> None:
    Owned = TypeVar("Owned", bound=OwnedTape)

    @guarded
    def f(x: Tensor[Any, Owned]) -> None: ...

    f(some(taped=True))
    rejects(TapeError, "f: x has no tape but needs one", f, some())


def test_a_result_owns_a_tape_if_one_argument_of_its_variable_does() -> None:
    @guarded
    def f(x: Tensor[Any, T], y: Tensor[Any, T], z: Tensor) -> Tensor[Any, T]:
        return z

    f(some(), some(taped=True), some(taped=True))
    f(some(), some(), some())
    rejects(TapeError, "f: the result has no tape but needs one", f, some(), some(taped=True), some())
    rejects(TapeError, "f: the result has a tape but must have none", f, some(), some(), some(taped=True))


def test_a_merged_result_owns_a_tape_if_one_of_the_merged_does() -> None:
    @guarded
    def f(x: Tensor[Any, T], y: Tensor[Any, U], z: Tensor) -> Tensor[Any, Merge[T, Merge[U, NoneTape]]]:
        return z

    @guarded
    def g(z: Tensor) -> Tensor[Any, Merge[T, OwnedTape]]:
        return z

    f(some(), some(), some())
    rejects(TapeError, "f: the result has no tape but needs one", f, some(), some(taped=True), some())
    rejects(TapeError, "f: the result has a tape but must have none", f, some(), some(), some(taped=True))
    rejects(TapeError, "g: the result has no tape but needs one", g, some())


def test_a_union_binds_names_for_the_rest_of_the_call() -> None:
    @guarded
    def f(
        x: Tensor[tuple[*Sizes, N], T, D] | None, y: Tensor[tuple[*Sizes], T] | float, z: Tensor[tuple[N], T, D]
    ) -> Tensor[Any, T, D]:
        return some(taped=True)

    f(None, 0.5, some(3, taped=True))
    f(some(2, 3), some(2), some(3, taped=True))
    f(None, some(2, taped=True), some(3))
    rejects(ShapeError, "f: N is 3 in x but 4 in z", f, some(2, 3), 0.5, some(4))
    rejects(ShapeError, "f: *Sizes is (2,) in x but (5,) in y", f, some(2, 3), some(5), some(3))
    rejects(DTypeError, "f: x is float64 but z is float32", f, some(3, dtype=np.float64), 0.5, some(3))
    rejects(TapeError, "f: the result has a tape but must have none", f, None, 0.5, some(3))


def test_a_result_with_an_unbound_tape_variable_is_accepted() -> None:
    @guarded
    def f(x: Tensor[Any, T] | None, z: Tensor) -> Tensor[Any, Merge[T, U]]:
        return z

    f(None, some())
    f(None, some(taped=True))
    f(some(), some(taped=True))
    rejects(TapeError, "f: the result has no tape but needs one", f, some(taped=True), some())


def test_a_dtype_is_the_one_declared() -> None:
    @guarded
    def f(x: Tensor[Any, Any], y: Tensor[Any, Any, np.bool_], z: Tensor[Any, Any, np.floating[Any]]) -> None: ...

    mask = some(dtype=np.bool_)

    f(some(), mask, some(dtype=np.float64))
    rejects(DTypeError, "f: x is float64 but float32 is expected", f, some(dtype=np.float64), mask, some())
    rejects(DTypeError, "f: y is float32 but bool is expected", f, some(), some(), some())
    rejects(DTypeError, "f: z is bool but floating is expected", f, some(), mask, mask)


def test_a_dtype_may_be_one_of_several() -> None:
    Real = TypeVar("Real", np.float32, np.float64)

    @guarded
    def f(x: Tensor[Any, Any, np.float32 | np.int64], y: Tensor[Any, Any, Real], z: Tensor[Any, Any, Real]) -> None: ...

    f(some(dtype=np.int64), some(), some())
    rejects(DTypeError, "f: x is bool but float32 or int64 is expected", f, some(dtype=np.bool_), some(), some())
    rejects(DTypeError, "f: y is int64 but float32 or float64 is expected", f, some(), some(dtype=np.int64), some())
    rejects(DTypeError, "f: y is float32 but z is float64", f, some(), some(), some(dtype=np.float64))


def test_two_scalar_types_of_one_dtype_are_equal() -> None:
    @guarded
    def f(x: Tensor[Any, Any, np.longlong], y: Tensor[Any, Any, np.long]) -> None: ...

    f(some(dtype=np.longlong), some(dtype=np.long))
    f(some(dtype=np.long), some(dtype=np.longlong))


def test_a_dtype_variable_is_one_dtype() -> None:
    @guarded
    def f(x: Tensor[Any, Any, D], y: Tensor[Any, Any, D]) -> None: ...

    f(some(dtype=np.int64), some(dtype=np.int64))
    rejects(DTypeError, "f: x is float32 but y is float64", f, some(), some(dtype=np.float64))


def test_an_int_binds_a_size() -> None:
    @guarded
    def f(n: N, x: Tensor[tuple[N], Any], m: Add[N, L[1]]) -> Tensor[tuple[N], Any]:
        return some(n)

    four: Any = 4
    f(3, some(3), four)
    rejects(ShapeError, "f: N is 3 in n but 4 in x", f, 3, some(4), 4)
    rejects(ShapeError, "f: N is 0 in n but a named size is at least 1", f, 0, some(0), 1)
    rejects(ShapeError, "f: m is 5 but N + 1 = 4 is expected", f, 3, some(3), 5)
    rejects(DTypeError, "f: n is a str but an int is expected", f, "3", some(3), 4)
    rejects(DTypeError, "f: n is a bool but an int is expected", f, bool(four), some(1), 2)


def test_a_literal_int_is_that_int() -> None:
    @guarded
    def f(n: L[3]) -> None: ...

    f(3)
    rejects(ShapeError, "f: n is 4 but 3 is expected", f, 4)


def test_a_tuple_of_ints_binds_sizes() -> None:
    @guarded
    def f(shape: tuple[N, L[5]], like: S, x: Tensor[tuple[N], Any]) -> Tensor[S, Any]:
        return some(*like)

    f((3, 5), (), some(3))
    f((3, 5), (2, 0), some(3))
    rejects(ShapeError, "f: N is 3 in shape but 4 in x", f, (3, 5), (), some(4))
    rejects(ShapeError, "f: shape is (3, 4) but (N, 5) is expected: axis 1 is 4, not 5", f, (3, 4), (), some(3))
    rejects(DTypeError, "f: like is a list but a tuple of ints is expected", f, (3, 5), [2], some(3))


def test_a_scalar_type_binds_a_dtype() -> None:
    @guarded
    def f(dtype: type[D], x: Tensor[Any, Any, D]) -> None: ...

    f(np.int64, some(dtype=np.int64))
    rejects(DTypeError, "f: dtype is float64 but x is float32", f, np.float64, some())
    rejects(DTypeError, "f: dtype is a type but a NumPy scalar type is expected", f, int, some())


def test_a_union_with_none_may_be_none() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any], bias: Tensor[tuple[N], Any] | None = None) -> None: ...

    f(some(3))
    f(some(3), some(3))
    rejects(ShapeError, "f: N is 3 in x but 4 in bias", f, some(3), some(4))
    rejects(DTypeError, "f: bias is a float but a tensor or None is expected", f, some(3), 0.5)


def test_a_union_that_is_none_binds_nothing() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any] | float, y: Tensor[tuple[N], Any]) -> Tensor[tuple[N], Any]:
        return y

    f(2, some(3))
    f(0.5, some(4))
    f(some(4), some(4))
    rejects(ShapeError, "f: N is 3 in x but 4 in y", f, some(3), some(4))


def test_a_union_of_tensors_takes_the_one_that_fits() -> None:
    @guarded
    def f(x: Tensor[tuple[N, L[5]], Any] | Tensor[tuple[N], Any]) -> Tensor[tuple[N], Any]:
        return some(3)

    f(some(3, 5))
    f(some(3))
    rejects(ShapeError, "f: N is 4 in x but 3 in the result", f, some(4))
    rejects(ShapeError, "f: x is (3, 4) but (N, 5) is expected: axis 1 is 4, not 5", f, some(3, 4))


def test_a_union_with_any_is_accepted() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any] | Any) -> None: ...

    f("anything")


def test_the_items_of_tuples_and_sequences_are_checked() -> None:
    @guarded
    def f(
        x: tuple[Tensor[tuple[N], Any], int], y: list[Tensor[tuple[N], Any]], z: Sequence[Tensor[tuple[N], Any] | None]
    ) -> tuple[Tensor[tuple[N], Any], Tensor[tuple[N], Any]]:
        return x[0], some(3)

    f((some(3), 1), [some(3), some(3)], (None, some(3)))
    rejects(ShapeError, "f: N is 3 in x[0] but 4 in y[1]", f, (some(3), 1), [some(3), some(4)], ())
    rejects(ShapeError, "f: N is 3 in x[0] but 4 in z[0]", f, (some(3), 1), [], [some(4)])
    rejects(ShapeError, "f: N is 4 in x[0] but 3 in the result[1]", f, (some(4), 1), [], [])
    rejects(DTypeError, "f: x[1] is a str but an int is expected", f, (some(3), "1"), [], [])
    rejects(DTypeError, "f: x is a tuple of 1 but a tuple of 2 is expected", f, (some(3),), [], [])
    rejects(DTypeError, "f: y is a tensor but a list is expected", f, (some(3), 1), some(3), [])


class Rows(NamedTuple, Generic[N, M]):
    x: Tensor[tuple[N, M], Any]
    y: Tensor[tuple[N], Any]
    size: N
    name: str = ""


class MoreRows(Rows[N, L[5]]):
    pass


class Items(NamedTuple, Generic[Unpack[Sizes]]):
    sizes: tuple[Unpack[Sizes]]


def test_the_fields_of_a_generic_named_tuple_are_checked_against_its_type_arguments() -> None:
    @guarded
    def f(rows: Rows[N, L[5]] | None, y: Tensor[tuple[N], Any]) -> MoreRows[N]:
        return MoreRows(some(2, 5), y, len(y))

    f(Rows(some(2, 5), some(2), 2), some(2))
    f(MoreRows(some(2, 5), some(2), 2), some(2))
    f(None, some(2))
    rejects(ShapeError, "f: N is 2 in rows.x but 3 in rows.y", f, Rows(some(2, 5), some(3), 2), some(2))
    rejects(ShapeError, "f: N is 2 in rows.x but 3 in rows.size", f, Rows(some(2, 5), some(2), 3), some(2))
    rejects(
        ShapeError,
        "f: rows.x is (2, 4) but (N, 5) is expected: axis 1 is 4, not 5",
        f,
        Rows(some(2, 4), some(2), 2),
        some(2),
    )
    rejects(ShapeError, "f: N is 3 in y but 2 in the result.x", f, None, some(3))
    rejects(DTypeError, "f: rows is a tuple of 3 but a Rows or None is expected", f, (some(2, 5), some(2), 2), some(2))


def test_a_named_tuple_with_unresolved_fields_is_checked_against_its_class() -> None:
    class Late(NamedTuple, Generic[N]):
        size: "Local[N]"  # which is no global name

    class Local(Generic[N]):
        pass

    @guarded
    def f(a: Late[L[2]], b: Items[L[2], L[3]]) -> None: ...

    f(Late(Local()), Items((2, 3)))
    rejects(DTypeError, "f: a is a tuple of 1 but a Late is expected", f, (Local(),), Items((2, 3)))
    rejects(DTypeError, "f: b is a tuple of 2 but an Items is expected", f, Late(Local()), (2, 3))


def test_containers_of_tensors_may_be_nested() -> None:
    @guarded
    def f(x: list[tuple[Tensor[tuple[N], Any], int]], y: Sequence[list[Tensor[tuple[N], Any]]]) -> None: ...

    f([(some(3), 1)], [[some(3)], []])
    rejects(ShapeError, "f: N is 3 in x[0][0] but 4 in y[1][0]", f, [(some(3), 1)], [[], [some(4)]])


def test_starred_parameters_are_checked_one_by_one() -> None:
    @guarded
    def f(*xs: Tensor[tuple[N], Any], **ys: Tensor[tuple[N], Any]) -> int:
        return len(xs) + len(ys)

    assert f() == 0
    assert f(some(3), some(3), y=some(3)) == 3
    rejects(ShapeError, "f: N is 3 in xs[0] but 4 in xs[1]", f, some(3), some(4))
    rejects(ShapeError, "f: N is 3 in xs[0] but 4 in y", f, some(3), y=some(4))


def test_every_kind_of_parameter_is_passed_on() -> None:
    @guarded
    def f(a: int, /, b: int, c: int = 3, *d: int, e: int, g: int = 7, **h: int) -> tuple[Any, ...]:
        return a, b, c, d, e, g, h

    @guarded
    def bare(a: int, /, *, b: int = 2) -> tuple[Any, ...]:
        return a, b

    assert f(1, b=2, e=5) == (1, 2, 3, (), 5, 7, {})
    assert f(1, 2, 4, 5, 6, e=5, g=8, i=9) == (1, 2, 4, (5, 6), 5, 8, {"i": 9})
    assert bare(1) == (1, 2)
    rejects(TypeError, f"{bare.__qualname__}() missing 1 required positional argument: 'a'", bare)
    rejects(DTypeError, "f: d[1] is a str but an int is expected", f, 1, 2, 3, 4, "5", e=6)


def test_a_first_call_without_arguments_does_not_break_later_calls() -> None:
    @guarded
    def f(x: Tensor[tuple[L[3]], Any]) -> None: ...

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        f()  # type: ignore[call-arg]  # the mistake under test
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        f(some(3), some(3))  # type: ignore[call-arg]  # the mistake under test
    rejects(ShapeError, "f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", f, x=some(4))


def test_plain_classes_are_checked_as_in_mypy() -> None:
    @guarded
    def f(a: float, b: complex, *, c: bool, d: Linear[Any, Any] | None, e: np.random.Generator | int) -> None: ...

    f(1, 2.5, c=True, d=None, e=3)
    f(0.5, 1, c=False, d=Linear(3, 5), e=np.random.default_rng(0))
    rejects(DTypeError, "f: a is a str but a float is expected", f, "1", 1, c=True, d=None, e=3)
    rejects(DTypeError, "f: c is an int but a bool is expected", f, 1, 1, c=1, d=None, e=3)
    rejects(DTypeError, "f: e is a float but a Generator or an int is expected", f, 1, 1, c=True, d=None, e=0.5)


def test_a_method_knows_the_sizes_that_a_guarded_init_bound() -> None:
    layer = Linear(5, 7)

    assert layer.forward(some(3, 5)).shape == (3, 7)
    rejects(
        ShapeError, "Linear.forward: x is (3, 4) but (N, 5) is expected: axis 1 is 4, not 5", layer.forward, some(3, 4)
    )
    rejects(
        ShapeError,
        "Linear.cut: the result is (3, 5) but (N, 7) is expected: axis 1 is 5, not 7",
        *(layer.cut, some(3, 5)),
    )


def test_two_instances_have_separate_sizes() -> None:
    one, other = Linear(5, 7), Linear(2, 3)

    assert [one.forward(some(4, 5)).shape, other.forward(some(4, 2)).shape] == [(4, 7), (4, 3)]


def test_an_init_is_called_by_the_name_of_its_class() -> None:
    rejects(ShapeError, "Linear: In is 0 in inputs but a named size is at least 1", Linear, 0, 3)


def test_an_instance_initialised_again_has_the_new_sizes() -> None:
    layer = Linear(5, 7)
    layer.__init__(2, 3)  # type: ignore[misc]  # what is tested

    assert layer.forward(some(4, 2)).shape == (4, 3)


def test_copies_and_pickles_keep_the_bound_sizes() -> None:
    layer = Linear(5, 7)

    for twin in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301  # our own
        message = "Linear.cut: x is (3, 4) but (N, 5) is expected: axis 1 is 4, not 5"
        rejects(ShapeError, message, twin.cut, some(3, 4))


def test_a_subclass_may_reuse_the_type_variables_of_its_base() -> None:
    class Flipped(Linear[Out, In]):
        @guarded
        def __init__(self, inputs: In, outputs: Out) -> None:
            super().__init__(outputs, inputs)

        @guarded
        def back(self, x: Tensor[tuple[N, In], T]) -> Tensor[tuple[N, In], T]:
            return x

    layer = Flipped(5, 7)

    assert layer.forward(some(3, 7)).shape == (3, 5)
    rejects(ShapeError, "Flipped.back: x is (3, 7) but (N, 5) is expected: axis 1 is 7, not 5", layer.back, some(3, 7))


def test_an_instance_with_slots_binds_sizes_per_call() -> None:
    layer = Slotted(5)

    layer.forward(some(5))
    layer.forward(some(7))


def test_a_class_without_a_guarded_init_binds_sizes_per_call() -> None:
    instance: Unguarded[Any] = Unguarded()

    instance.same(some(3), some(3))
    instance.same(some(4), some(4))
    rejects(ShapeError, "Unguarded.same: N is 3 in x but 4 in y", instance.same, some(3), some(4))


def test_an_instance_stores_shapes_dtypes_and_starred_sizes_too() -> None:
    instance: Normal[Any, Any, *tuple[Any, ...]] = Normal((3, 5), np.float64, some(2, 4))

    instance.whole(some(3, 5, dtype=np.float64))
    instance.rows(some(7, 2, 4))
    message = "Normal.whole: x is (3, 4) but (3, 5) is expected: axis 1 is 4, not 5"
    rejects(ShapeError, message, instance.whole, some(3, 4, dtype=np.float64))
    rejects(DTypeError, "Normal.whole: x is float32 but float64 is expected", instance.whole, some(3, 5))
    message = "Normal.rows: x is (7, 2) but (N, 2, 4) is expected: rank 2, not 3"
    rejects(ShapeError, message, instance.rows, some(7, 2))


def test_static_and_class_methods_are_guarded() -> None:
    class Tools:
        @staticmethod
        @guarded
        def first(x: Tensor[tuple[L[3]], Any]) -> None: ...

        @classmethod
        @guarded
        def second(cls, x: Tensor[tuple[L[3]], Any]) -> type:
            return cls

        @property
        @guarded
        def third(self) -> Tensor[tuple[L[3]], Any]:
            return some(4)

    Tools.first(some(3))
    assert Tools.second(some(3)) is Tools
    rejects(ShapeError, "Tools.first: x is (4,) but (3,) is expected: axis 0 is 4, not 3", Tools.first, some(4))
    rejects(ShapeError, "Tools.second: x is (4,) but (3,) is expected: axis 0 is 4, not 3", Tools.second, some(4))
    message = "Tools.third: the result is (4,) but (3,) is expected: axis 0 is 4, not 3"
    rejects(ShapeError, message, lambda: Tools().third)


def test_a_static_method_has_variables_of_its_own() -> None:
    class Wide(Generic[In]):
        @guarded
        def __init__(self, inputs: In) -> None: ...

        @staticmethod
        @guarded
        def widened(layer: "Wide[Any]", x: Tensor[tuple[In], Any]) -> None: ...

    Wide.widened(Wide(3), some(4))


def test_a_coroutine_is_checked_when_it_is_awaited() -> None:
    @guarded
    async def f(x: Tensor[tuple[N], Any]) -> Tensor[tuple[L[3]], Any]:
        await asyncio.sleep(0)
        return x  # type: ignore[return-value]  # the mistake under test

    assert inspect.iscoroutinefunction(f)
    assert asyncio.run(f(some(3))).shape == (3,)
    message = "f: the result is (4,) but (3,) is expected: axis 0 is 4, not 3"
    rejects(ShapeError, message, lambda: asyncio.run(f(some(4))))
    rejects(DTypeError, "f: x is an int but a tensor is expected", lambda: asyncio.run(f(3)))  # type: ignore[arg-type]  # the mistake under test


def test_the_arguments_of_a_generator_are_checked() -> None:
    @guarded
    def f(x: Tensor[tuple[L[3]], Any]) -> Iterator[Tensor[tuple[L[3]], Any]]:
        yield some(4)

    @guarded
    async def g(x: Tensor[tuple[L[3]], Any]) -> AsyncIterator[Tensor[tuple[L[3]], Any]]:
        yield some(4)

    assert [y.shape for y in f(some(3))] == [(4,)]
    rejects(ShapeError, "f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", f, some(4))
    rejects(ShapeError, "g: x is (4,) but (3,) is expected: axis 0 is 4, not 3", g, some(4))


def test_other_types_are_checked_by_beartype() -> None:
    @guarded
    def f(x: Tensor[tuple[N], Any], names: list[str], rest: dict[str, Tensor[Any, Any]] | None = None) -> list[int]:
        return [x.shape[0]] if names else ["3"]  # type: ignore[list-item]  # the mistake under test

    assert f(some(3), ["a"], {"b": some(4)}) == [3]
    with pytest.raises(BeartypeCallHintViolation, match=r"f\(\) parameter names=\[3\]"):
        f(some(3), [3])  # type: ignore[list-item]  # the mistake under test
    with pytest.raises(BeartypeCallHintViolation, match=r"f\(\) return \['3'\]"):
        f(some(3), [])
    with pytest.raises(DTypeError, match=r"^f: rest\[\"b\"\] is an int but a tensor is expected$"):
        f(some(3), ["a"], {"b": 4})  # type: ignore[dict-item]  # the mistake under test
    rejects(DTypeError, "f: x is None but a tensor is expected", f, None, [3])


def test_beartype_alone_checks_only_that_an_argument_is_a_tensor() -> None:
    # If this fails because beartype rejects a shape, then a generic class can carry its checks: use that instead.
    @beartype
    def f(x: Tensor[tuple[N, L[3]], NoneTape], y: Tensor[tuple[N], Any] | None = None) -> None: ...

    f(some(4, 5, dtype=np.int64, taped=False), some(7))
    f(some(2, taped=True))
    with pytest.raises(BeartypeCallHintViolation, match="parameter x=3"):
        f(3)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize("order", ["guarded first", "beartype first"])
def test_guarded_and_beartype_on_one_function_both_check(order: str) -> None:
    def f(x: Tensor[tuple[N, L[3]], NoneTape], names: list[str], y: Tensor[tuple[N], Any]) -> None: ...

    both: Any = guarded(beartype(f)) if order == "guarded first" else beartype(guarded(f))
    both(some(2, 3), ["a"], some(2))
    rejects(ShapeError, "f: x is (2, 4) but (N, 3) is expected: axis 1 is 4, not 3", both, some(2, 4), ["a"], some(2))
    rejects(ShapeError, "f: N is 2 in x but 4 in y", both, some(2, 3), ["a"], some(4))
    with pytest.raises(BeartypeCallHintViolation, match=r"parameter names=\[3\]"):
        both(some(2, 3), [3], some(2))


def test_jaxtypings_decorator_binds_names_in_tensors() -> None:
    @jaxtyped(typechecker=beartype)
    def f(x: Float[Tensor[Any, Any, Any], "b n"], y: Float[Tensor[Any, Any], " n"]) -> None: ...

    f(some(2, 3), some(3))
    f(some(2, 3, taped=True), some(3))
    wrong_y = "typechecking parameter 'y'"
    wrong_x = "typechecking parameter 'x'"
    cases: list[tuple[Any, Any, str]] = [
        (some(2, 3), some(4), wrong_y),
        (some(2, 3), some(3, 1), wrong_y),
        (some(2, 3), some(3, dtype=np.int64), wrong_y),
        (some(2, 3, 4), some(4), wrong_x),
        (np.zeros((2, 3), np.float32), some(3), wrong_x),
    ]
    for x, y, message in cases:
        with pytest.raises(TypeCheckError, match=message):
            f(x, y)


def test_a_union_of_a_tensor_and_another_type_is_checked_by_both() -> None:
    @guarded
    def f(x: Tensor[tuple[L[3]], Any] | list[int]) -> None: ...

    f(some(3))
    f([3])
    rejects(ShapeError, "f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", f, some(4))
    with pytest.raises(BeartypeCallHintViolation):
        f(["3"])  # type: ignore[list-item]  # the mistake under test


def test_a_callable_must_be_a_function() -> None:
    @guarded
    def f(key: Callable[[int], int], x: Tensor[tuple[N], Any]) -> Callable[[int], int]:
        return key

    f(abs, some(3))
    rejects(DTypeError, "f: key is a str but a function is expected", f, "abs", some(3))


def test_a_literal_string_must_be_one_of_those_listed() -> None:
    @guarded
    def f(mode: L["same", "valid"], x: Tensor[tuple[N], Any]) -> None: ...

    f("same", some(3))
    rejects(ValueError, "f: mode is 'full' but 'same' or 'valid' is expected", f, "full", some(3))
    rejects(DTypeError, "f: mode is 3 but 'same' or 'valid' is expected", f, 3, some(3))


class Padded(Generic[Padding, PaddingW]):
    """Of two paddings the second is the first where it is left out; of a word nothing is known."""

    @guarded
    def __init__(self, padding: Padding | tuple[Padding, PaddingW] | L["same"]) -> None: ...

    @guarded
    def forward(self, x: Tensor[tuple[N, M], T]) -> Tensor[tuple[Add[N, Padding], Add[M, PaddingW]], T]:
        return some(10, 10)


def test_two_names_may_have_the_same_size() -> None:
    assert Padded(3).forward(some(7, 7)).shape == (10, 10)
    assert Padded((3, 5)).forward(some(7, 5)).shape == (10, 10)
    assert Padded((0, 0)).forward(some(10, 10)).shape == (10, 10)
    message = "Padded.forward: the result is (10, 10) but (N + 3, M + 3) is expected: axis 1 is 10, not M + 3 = 8"
    rejects(ShapeError, message, Padded(3).forward, some(7, 5))


def test_a_string_in_place_of_a_number_leaves_the_sizes_unbound() -> None:
    assert Padded("same").forward(some(7, 5)).shape == (10, 10)
    assert copy.deepcopy(Padded("same")).forward(some(99, 1)).shape == (10, 10)


def test_jaxtyping_binds_its_own_names_beside_the_type_variables() -> None:
    @guarded
    def f(
        x: Tensor[tuple[N], Any], a: Float[Array, "N M"], b: Float[Array, " M"]
    ) -> tuple[Tensor[tuple[N], Any], Float[Array, " N"]]:
        return x, a @ b

    result = f(some(2), np.zeros((3, 5)), np.zeros(5))

    assert result[1].shape == (3,)
    with pytest.raises(TypeCheckError, match="M=5"):
        f(some(2), np.zeros((3, 5)), np.zeros(4))
    rejects(
        DTypeError,
        "f: x is an ndarray but a tensor is expected; tg.tensor(x) makes one",
        f,
        np.zeros(3),
        np.zeros((3, 5)),
        np.zeros(5),
    )


def test_a_parameter_may_be_a_tensor_or_a_jaxtyping_array() -> None:
    @guarded
    def f(x: Tensor[tuple[L[3]], Any] | Float[Array, " n"], y: Float[Array, " n"]) -> None: ...

    f(np.zeros(4), np.zeros(4))
    f(some(3), np.zeros(4))
    rejects(ShapeError, "f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", f, some(4), np.zeros(4))
    with pytest.raises(TypeCheckError):
        f(np.zeros(4), np.zeros(5))


def test_beartype_and_jaxtyping_are_imported_lazily() -> None:
    program = """
import sys
from typing import Any, TypeVar
import numpy as np
from tapegrad.guard import guarded
from tapegrad.ops import matmul
from tapegrad.tensors import Tensor
N = TypeVar("N", bound=int)
@guarded
def f(x: Tensor[tuple[N], Any], n: N, k: float = 0.5, *, name: str | None = None) -> tuple[Tensor[tuple[N], Any], int]:
    return x, n
@guarded
def g(x: list[int]) -> None: ...
f(Tensor(np.zeros(3, np.float32)), 3)
print([name for name in ("beartype", "jaxtyping") if name in sys.modules])
g([1])
print([name for name in ("beartype", "jaxtyping") if name in sys.modules])
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("[]\n['beartype']\n", "")


def test_strings_are_resolved_at_the_first_call() -> None:
    Later = TypeVar("Later", bound=int)

    @guarded
    def f(x: "Tensor[tuple[Later], Any]", y: "Tensor[tuple[Later], Any]") -> "Below":
        return Below()

    class Local(Generic[In]):
        class Inner: ...

        @guarded
        def same(self, other: "Local[Any]", n: "Inner", x: "Tensor[tuple[Later], Any]") -> "Local[Any]":
            return other

    f(some(3), some(3))
    rejects(ShapeError, "f: Later is 3 in x but 4 in y", f, some(3), some(4))
    local: Local[Any] = Local()
    assert local.same(local, Local.Inner(), some(3)) is local
    rejects(DTypeError, "Local.same: n is a str but an Inner is expected", local.same, local, "3", some(3))


class Below:
    """Stands below what mentions it."""


def test_an_annotation_that_cannot_be_resolved_is_named() -> None:
    @guarded
    def f(n: int, x: "Tensor[tuple[Nowhere], Any]") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the mistake under test

    @guarded
    def g() -> "Nowhere": ...  # type: ignore[name-defined]  # noqa: F821  # the mistake under test

    message = "f: the annotation of x cannot be resolved: name 'Nowhere' is not defined"
    rejects(TypeError, message, f, 3, some(3))
    rejects(TypeError, message, f, 3, some(3))
    rejects(TypeError, "g: the annotation of the result cannot be resolved: name 'Nowhere' is not defined", g)


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        ("Tensor[tuple[str], Any]", "str is no size"),
        ("Tensor[tuple[L['N']], Any]", "typing.Literal['N'] is no size"),
        ("Tensor[tuple[N, ...], Any]", "tuple[~N, ...] is no shape"),
        ("Tensor[int, Any]", "int is no shape"),
        ("Tensor[tuple[N], np.float32]", "float32 is no tape"),
        ("Tensor[tuple[N], Any, float]", "float is no dtype"),
        ("Tensor[tuple[FloorDiv[N, L[0]]], Any]", "N is divided by zero"),
    ],
)
def test_an_invalid_annotation_is_named(hint: str, reason: str) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = hint

    rejects(TypeError, f"f: the annotation of x cannot be read: {reason}", guarded(f), some(3))


def test_only_functions_are_guarded() -> None:
    message = "guarded: Linear is a class, not a function; of a dataclass, put @guarded above @dataclass"
    rejects(TypeError, message, guarded, Linear)
    rejects(TypeError, "guarded: some is a staticmethod, not a function", guarded, staticmethod(some))
    rejects(TypeError, "guarded: 3 is an int, not a function", guarded, 3)


def test_the_wrapper_looks_like_the_function() -> None:
    def f(x: Tensor[tuple[N], Any], *, k: int = 3) -> None:
        """Say what it does."""

    wrapper: Any = guarded(f)
    wrapper(some(3))

    assert wrapper.__wrapped__ is f
    assert (wrapper.__name__, wrapper.__doc__, wrapper.__module__) == (f.__name__, f.__doc__, f.__module__)
    assert wrapper.__annotations__ == f.__annotations__
    assert inspect.signature(wrapper) == inspect.signature(f)
    assert wrapper.__kwdefaults__ == {"k": 3}


def test_annotated_tensors_are_tensors() -> None:
    @guarded
    def f(x: Annotated[Tensor[tuple[L[3]], Any], "a remark"], y: Annotated[int, "another"]) -> None: ...

    f(some(3), 3)
    rejects(ShapeError, "f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", f, some(4), 3)


def test_a_type_variable_of_another_type_is_checked_against_its_bound() -> None:
    Anyone = TypeVar("Anyone")
    X = TypeVar("X", bound=Tensor[tuple[L[3]], Any])

    @guarded
    def f(x: X, y: Anyone) -> X:
        return x

    f(some(3), "y")
    rejects(ShapeError, "f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", f, some(4), "y")


def test_a_wrapper_is_guarded_by_the_signature_of_what_it_wraps() -> None:
    def f(x: Tensor[tuple[N], Any], k: int = 3) -> int:
        return k

    @functools.wraps(f)
    def outer(*args: Any, **kwargs: Any) -> int:
        return f(*args, **kwargs)

    checked = guarded(outer)

    assert checked(some(3)) == 3
    assert checked(x=some(3), k=4) == 4
    rejects(DTypeError, "f: x is an int but a tensor is expected", checked, 3)


def test_a_tuple_that_is_no_shape_is_checked_as_a_tuple() -> None:
    @guarded
    def f(*args: *Sizes) -> tuple[*Sizes]:
        return args

    @guarded
    def g(x: tuple[N, Any], y: tuple[N, str], z: Tensor[tuple[N], Any]) -> None: ...

    assert f(1, "2") == (1, "2")
    g((3, "a"), (3, "b"), some(3))
    rejects(ShapeError, "g: N is 3 in x[0] but 4 in y[0]", g, (3, "a"), (4, "b"), some(3))


def test_a_consumed_tape_names_the_line_of_the_user() -> None:
    @guarded
    def f(x: Tensor[tuple[()], OwnedTape]) -> None:
        x.backward()

    loss = some(taped=True)
    f(loss)

    with pytest.raises(TapeError, match=r"consumed by backward at test_guard\.py:\d+;"):
        f(loss)  # type: ignore[tapegrad-tape]  # the mistake under test


SIZES: dict[str, Callable[[int, int], int]] = {
    "L[1]": lambda n, m: 1,
    "L[2]": lambda n, m: 2,
    "L[3]": lambda n, m: 3,
    "N": lambda n, m: n,
    "M": lambda n, m: m,
    "Add[N, L[1]]": lambda n, m: n + 1,
    "Sub[M, L[1]]": lambda n, m: m - 1,
    "Mul[N, L[2]]": lambda n, m: 2 * n,
    "Add[N, M]": lambda n, m: n + m,
}
Axis: TypeAlias = tuple[str, int | None]  # what is declared, and a size; None is the one for N = 2 and M = 3
axes = st.tuples(st.sampled_from([*SIZES, "Any"]), st.none() | st.none() | st.integers(0, 4))


def fits(tensors: list[list[Axis]], sizes: list[list[int]], n: int, m: int) -> bool:
    declared = [item for axes in tensors for item, _ in axes]
    found = [size for shape in sizes for size in shape]
    return all(item == "Any" or SIZES[item](n, m) == size for item, size in zip(declared, found, strict=True))


@given(tensors=st.lists(st.lists(axes, max_size=3), min_size=1, max_size=3), returns=st.booleans())
def test_exactly_the_matching_shapes_are_accepted(tensors: list[list[Axis]], *, returns: bool) -> None:
    items = {item for axes in tensors for item, _ in axes}
    assume("Add[N, M]" not in items or any("N" in item or "M" in item for item in items - {"Add[N, M]"}))
    sizes = [[SIZES.get(item, min)(2, 3) if size is None else size for item, size in axes] for axes in tensors]
    hints = [f"Tensor[tuple[{', '.join(item for item, _ in axes) or '()'}], Any]" for axes in tensors]
    function: Any = [lambda x: x, lambda x, y: y, lambda x, y, z: z][len(tensors) - 1]
    function.__annotations__ = dict(zip("xyz", hints, strict=False)) | ({"return": hints[-1]} if returns else {})
    expected = any(fits(tensors, sizes, n, m) for n in range(1, 6) for m in range(1, 6))

    try:
        guarded(function)(*(some(*shape) for shape in sizes))
    except ShapeError:
        assert not expected
    else:
        assert expected


def test_a_size_with_default_0_may_be_0_but_not_negative() -> None:
    @guarded
    def sized(x: Tensor[Shape[Add[N, Padding]], NoneTape], n: N, before: Padding) -> None:
        """Take a padded vector."""

    sized(some(3), 3, 0)
    sized(some(5), 3, 2)
    rejects(ShapeError, "sized: Padding is -1 in before but a size of this name is at least 0", sized, some(2), 3, -1)
