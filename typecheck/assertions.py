"""Assertions of sizes (`assert_shape`): mypy believes them, Python checks them."""

from contextlib import suppress
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, Mul, NoneTape, Shape, ShapeError, Tensor

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


def accept_a_size_left_open_for_what_an_assertion_divides() -> None:
    def heads_of(a: Tensor[Shape[B, T, D], NoneTape], heads: H) -> Tensor[Shape[B, T, H, FloorDiv[D, H]], NoneTape]:
        b, t, d = a.shape
        tg.assert_divides(heads, d)
        split = a.reshape((b, t, heads, -1))
        assert_type(split.reshape((b, t, -1)), Tensor[Shape[B, T, D], NoneTape])
        return split

    assert_type(heads_of(x, 4), Tensor[Shape[L[2], L[3], L[4], L[6]], NoneTape])


def accept_every_other_element_of_an_even_width() -> None:
    def rotated(a: Tensor[Shape[B, D], NoneTape]) -> Tensor[Shape[B, D], NoneTape]:
        b, d = a.shape
        tg.assert_divides(2, d)
        assert_type(tg.arange(0, d, 2), Tensor[Shape[FloorDiv[D, L[2]]], NoneTape, np.int64])
        even, odd = a[:, 0::2], a[:, 1::2]
        assert_type(even, Tensor[Shape[B, FloorDiv[D, L[2]]], NoneTape])
        assert_type(odd, Tensor[Shape[B, FloorDiv[D, L[2]]], NoneTape])
        assert_type(tg.concat((a[:, : d // 2], a[:, d // 2 :]), axis=1), Tensor[Shape[B, D], NoneTape])
        return tg.stack((even, odd), axis=-1).reshape((b, d))

    assert_type(rotated(tg.ones((3, 24))), Tensor[Shape[L[3], L[24]], NoneTape])


def accept_patches_of_an_image() -> None:
    def patches(a: Tensor[Shape[B, T, D], NoneTape], size: H) -> Tensor[Shape[B, Mul[FloorDiv[T, H], FloorDiv[D, H]], Mul[H, H]], NoneTape]:
        b, t, d = a.shape
        tg.assert_divides(size, t)
        tg.assert_divides(size, d)
        cut = a.reshape((b, t // size, size, d // size, size))
        return cut.transpose((0, 1, 3, 2, 4)).reshape((b, (t // size) * (d // size), -1))

    assert_type(patches(x, 3), Tensor[Shape[L[2], L[8], L[9]], NoneTape])


def accept_an_axis_that_an_assertion_divides() -> None:
    def halves(a: Tensor[Shape[B, D], NoneTape]) -> Tensor[Shape[B, L[2], FloorDiv[D, L[2]]], NoneTape]:
        tg.assert_divides(2, a.shape[1])
        return tg.unflatten(a, -1, (2, -1))

    assert_type(halves(tg.ones((3, 24))), Tensor[Shape[L[3], L[2], L[12]], NoneTape])


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


def accept_an_assertion_inside_a_branch_and_behind_it() -> None:
    def halved(a: Tensor[Shape[D], NoneTape], *, both: bool) -> None:
        (d,) = a.shape
        if both:
            tg.assert_divides(2, d)
            for _ in range(2):
                assert_type(a.reshape((2, d // 2)), Tensor[Shape[L[2], FloorDiv[D, L[2]]], NoneTape])

    halved(tg.ones((6,)), both=True)


def accept_that_an_assertion_narrows() -> None:
    def loaded() -> Any:
        return tg.ones((3, 5))

    def measured(y: Tensor[Any, NoneTape]) -> None:
        tg.assert_shape(y, (3, 5))
        assert_type(y @ tg.ones((5, 2)), Tensor[Shape[L[3], L[2]], NoneTape])

    measured(loaded())
    assert_type(tg.assert_shape(tg.ones((3, 5)), (3, 5)), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_an_assertion_of_some_sizes() -> None:
    def measured(y: Tensor[Shape[N, Any], NoneTape]) -> None:
        rows = y.shape[0]
        tg.assert_shape(y, (rows, 5))
        assert_type(y, Tensor[Shape[N, L[5]], NoneTape])

    measured(tg.ones((3, 5)))


def accept_an_assertion_that_only_python_rejects() -> None:
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


def reject_two_halves_of_an_odd_width() -> None:
    def added(a: Tensor[Shape[B, D], NoneTape]) -> None:
        tg.assert_divides(3, a.shape[1])
        a[:, 0::2] + a[:, 1::2]  # E(mypy): add: x (B, (D + 1) // 2) and y (B, D // 2) do not broadcast: axis -1 is (D + 1) // 2 in x but D // 2 in y

    added(tg.ones((2, 6)))


def reject_other_heads_than_those_that_divide() -> None:
    def heads_of(a: Tensor[Shape[B, D], NoneTape], heads: H) -> None:
        b, d = a.shape
        tg.assert_divides(heads, d)
        a.reshape((b, heads, d // heads + 1))  # E(mypy): reshape: x (B, D) has B*D elements but shape (B, H, D // H + 1) has B*D + B*H

    heads_of(tg.ones((2, 6)), 3)


def reject_a_size_left_open_that_nothing_claims() -> None:
    def split(a: Tensor[Shape[B, T, D], NoneTape], heads: H) -> None:
        b, t, _ = a.shape
        a.reshape((b, t, heads, -1))  # E(mypy): reshape: x (B, T, D) has B*D*T elements, and it is not known that they divide into shape (B, T, H, -1): add tg.assert_divides(heads, a.shape[2])

    split(x, 4)


def reject_patches_that_nothing_claims() -> None:
    def cut(a: Tensor[Shape[T, D], NoneTape]) -> None:
        t, d = a.shape
        a.reshape((t // 2, 2, d // 3, 3))  # E(mypy): reshape: x (T, D) has D*T elements, and it is not known that shape (T // 2, 2, D // 3, 3) has as many: add tg.assert_divides(3, d) and tg.assert_divides(2, t)

    cut(tg.ones((4, 6)))


def reject_a_width_that_nothing_says_is_even() -> None:
    def pairs(a: Tensor[Shape[T, D], NoneTape]) -> None:
        tg.rotary_embedding(a)  # E(mypy): rotary_embedding: x (T, D) is D wide, and it is not known that this divides into pairs: add tg.assert_divides(2, a.shape[1])

    pairs(tg.ones((3, 6)))


def reject_parts_that_nothing_says_are_equal() -> None:
    def halves(a: Tensor[Shape[T, D], NoneTape]) -> int:
        width = a.shape[1]
        tg.split(a, 2, 1)  # E(mypy): split: axis 1 of x (T, D) is D, and it is not known that this divides into 2 equal parts: add tg.assert_divides(2, width)
        return width

    halves(tg.ones((3, 6)))


def reject_an_axis_that_nothing_says_divides() -> None:
    def unflat(a: Tensor[Shape[T, D], NoneTape]) -> None:
        tg.unflatten(a, 1, (2, -1))  # E(mypy): unflatten: axis 1 of x (T, D) is D, and it is not known that sizes (2, -1) multiply to it: add tg.assert_divides(2, a.shape[1])

    unflat(tg.ones((3, 6)))


def reject_an_odd_size_as_pairs() -> None:
    def pairs(a: Tensor[Shape[Add[Mul[L[2], D], L[1]]], NoneTape]) -> None:
        a.reshape((2, -1))  # E(mypy): reshape: x (2*D + 1,) has 2*D + 1 elements, which do not divide into shape (2, -1)

    with suppress(ShapeError):
        pairs(tg.ones((7,)))


def reject_what_nothing_claims() -> None:
    def halves(a: Tensor[Shape[D], NoneTape]) -> None:
        (d,) = a.shape
        if d % 2 == 0:
            tg.assert_divides(2, d)
        a.reshape((2, d // 2))  # E(mypy): reshape: x (D,) has D elements, and it is not known that shape (2, D // 2) has as many: add tg.assert_divides(2, d)

    halves(tg.ones((6,)))
