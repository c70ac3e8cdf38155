"""What a program claims of sizes: mypy believes it, Python checks it."""

from contextlib import suppress
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import FloorDiv, Mul, NoneTape, Shape, ShapeError, Tensor

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
D = TypeVar("D", bound=int)
H = TypeVar("H", bound=int)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3, 24))


def accept_heads_that_divide_a_width() -> None:
    def attend(a: Tensor[Shape[B, T, D], NoneTape], heads: H) -> Tensor[Shape[B, T, D], NoneTape]:
        b, t, d = a.shape
        tg.assert_divides(heads, d)
        split = a.reshape((b, t, heads, d // heads))
        assert_type(split, Tensor[Shape[B, T, H, FloorDiv[D, H]], NoneTape])
        return split.transpose((0, 2, 1, 3)).transpose((0, 2, 1, 3)).reshape((b, t, heads * (d // heads)))

    assert_type(attend(x, 4), Tensor[Shape[L[2], L[3], L[24]], NoneTape])


def accept_a_number_that_divides_a_width() -> None:
    def halves(a: Tensor[Shape[B, D], NoneTape]) -> Tensor[Shape[Mul[B, L[2]], FloorDiv[D, L[2]]], NoneTape]:
        b, d = a.shape
        tg.assert_divides(2, d)
        return a.reshape((b * 2, d // 2))

    assert_type(halves(tg.ones((3, 24))), Tensor[Shape[L[6], L[12]], NoneTape])


def accept_two_names_for_one_size() -> None:
    def total(a: Tensor[Shape[N], NoneTape], b: Tensor[Shape[M], NoneTape]) -> Tensor[Shape[M], NoneTape]:
        tg.assert_same(a.shape[0], b.shape[0])
        return a + b

    assert_type(total(tg.ones((3,)), tg.ones((3,))), Tensor[Shape[L[3]], NoneTape])


def accept_a_name_for_a_number() -> None:
    def widened(a: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[L[3]], NoneTape]:
        tg.assert_same(len(a), 3)
        return a + tg.ones((3,))

    assert_type(widened(tg.ones((3,))), Tensor[Shape[L[3]], NoneTape])


def accept_a_claim_inside_a_branch_and_behind_it() -> None:
    def halved(a: Tensor[Shape[D], NoneTape], *, both: bool) -> None:
        (d,) = a.shape
        if both:
            tg.assert_divides(2, d)
            for _ in range(2):
                assert_type(a.reshape((2, d // 2)), Tensor[Shape[L[2], FloorDiv[D, L[2]]], NoneTape])

    halved(tg.ones((6,)), both=True)


def accept_that_a_claim_narrows() -> None:
    def loaded() -> Any:
        return tg.ones((3, 5))

    def measured(y: Tensor[Any, NoneTape]) -> None:
        tg.assert_shape(y, (3, 5))
        assert_type(y @ tg.ones((5, 2)), Tensor[Shape[L[3], L[2]], NoneTape])

    measured(loaded())
    assert_type(tg.assert_shape(tg.ones((3, 5)), (3, 5)), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_a_claim_of_some_sizes() -> None:
    def measured(y: Tensor[Shape[N, Any], NoneTape]) -> None:
        rows = y.shape[0]
        tg.assert_shape(y, (rows, 5))
        assert_type(y, Tensor[Shape[N, L[5]], NoneTape])

    measured(tg.ones((3, 5)))


def accept_a_claim_of_no_size_for_python_to_refuse() -> None:
    def measured(y: Tensor[Shape[N, Any], NoneTape]) -> None:
        rows = y.shape[0], 3
        with suppress(ShapeError):
            tg.assert_shape(y, (rows, 5))

    measured(tg.ones((3, 5)))


def accept_a_shape_of_what_is_unknown() -> None:
    unknown: Any = tg.ones((3, 5), np.float64)
    assert_type(tg.assert_shape(unknown, (3, 5)), Tensor[Shape[L[3], L[5]], Any, Any])


def reject_a_rest() -> None:
    tg.assert_divides(5, x.shape[2])  # E: assert_divides: 5 does not divide 24


def reject_two_sizes() -> None:
    tg.assert_same(x.shape[0], x.shape[1])  # E: assert_same: 2 is not 3


def reject_another_shape() -> None:
    tg.assert_shape(x, (2, 4, 24))  # E: assert_shape: x is (2, 3, 24) but (2, 4, 24) is expected: axis 1 is 3, not 4


def reject_another_rank() -> None:
    tg.assert_shape(x, (2, 3))  # E: assert_shape: x is (2, 3, 24) but (2, 3) is expected: rank 3, not 2


def reject_what_nothing_claims() -> None:
    def halves(a: Tensor[Shape[D], NoneTape]) -> None:
        (d,) = a.shape
        if d % 2 == 0:
            tg.assert_divides(2, d)
        a.reshape((2, d // 2))  # E(mypy): reshape: x (D,) has D elements but shape (2, D // 2) has 2*(D // 2)

    halves(tg.ones((6,)))
