"""Shapes with any number of sizes: plain mypy and pyright bind `*Batch` to any objects."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar, TypeVarTuple

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor
from tapegrad.sizes import Product

Batch = TypeVarTuple("Batch")
H = TypeVar("H", bound=int)
K = TypeVar("K", bound=int)
T = TypeVar("T", bound=Tape)
S = TypeVar("S", bound=tuple[int, ...])

x = tg.ones((2, 3, 4, 5))


def accept_two_axes_made_one() -> None:
    def merged(a: Tensor[Shape[*Batch, H, K], T]) -> Tensor[Shape[*Batch, Product[H, K]], T]:
        b = a.reshape((*a.shape[:-2], a.shape[-2] * a.shape[-1]))
        assert_type(b, Tensor[Shape[*Batch, Product[H, K]], T])
        return a.reshape((*a.shape[:-2], -1))

    assert_type(merged(x.trace()), Tensor[Shape[L[2], L[3], L[20]], OwnedTape])


def accept_one_axis_made_two() -> None:
    def split(a: Tensor[Shape[*Batch, Product[L[4], K]], T]) -> Tensor[Shape[*Batch, L[4], K], T]:
        return a.reshape(*a.shape[:-1], 4, -1)

    assert_type(split(tg.ones((2, 3, 20))), Tensor[Shape[L[2], L[3], L[4], L[5]], NoneTape])


def accept_a_slice_up_to_an_axis_that_is_not_known() -> None:
    def rows(a: Tensor[Shape[*Batch, K], T], axis: int) -> Tensor[Any, T]:
        ahead = a.shape[:axis]
        assert_type(tg.zeros((*ahead, 5)), Tensor[Any, NoneTape])
        assert_type(a.reshape(*a.shape[:axis], -1), Tensor[Any, T])
        return a.reshape((*a.shape[:axis], -1))

    assert_type(rows(x, 2), Tensor[Any, NoneTape])


def accept_all_axes_but_the_last_made_one() -> None:
    def rows(a: Tensor[Shape[*Batch, K], T]) -> Tensor[Shape[Any, K], T]:
        return a.reshape((-1, a.shape[-1]))

    assert_type(rows(x), Tensor[Shape[L[24], L[5]], NoneTape])


def accept_new_tensors_of_the_same_sizes() -> None:
    def made(a: Tensor[Shape[*Batch, H, K], NoneTape]) -> Tensor[Shape[*Batch, H, L[3]], NoneTape]:
        ahead = a.shape[:-1]
        assert_type(tg.zeros(a.shape), Tensor[Shape[*Batch, H, K], NoneTape])
        assert_type(tg.broadcast_to(a, (7, *a.shape)), Tensor[Shape[L[7], *Batch, H, K], NoneTape])
        return tg.full((*ahead, 3), 0.5)

    assert_type(made(x), Tensor[Shape[L[2], L[3], L[4], L[3]], NoneTape])


def accept_a_whole_shape() -> None:
    def like(a: Tensor[S, T]) -> Tensor[S, NoneTape]:
        return tg.zeros(a.shape)

    assert_type(like(x[0]), Tensor[Shape[L[3], L[4], L[5]], NoneTape])


def accept_unknown_sizes() -> None:
    def reshaped(a: Tensor[Shape[*Batch, K]], sizes: tuple[int, ...]) -> None:
        assert_type(a.reshape((*sizes, 3)), Tensor[Any, NoneTape])

    reshaped(x, (8, 5))


def reject_another_number_of_elements() -> None:
    def flattened(a: Tensor[Shape[*Batch, H, K]]) -> None:
        a.reshape((*a.shape[:-2], a.shape[-1]))  # E(mypy): reshape: x (..., H, K) has ...*H*K elements but shape (..., K) has ...*K [tapegrad-shape]

    flattened(x)


def reject_an_unknown_division() -> None:
    def halved(a: Tensor[Shape[*Batch, K]]) -> None:
        a.reshape((2, *a.shape[:-1], -1))  # E(mypy): reshape: x (..., K) has ...*K elements, and it is not known that they divide into shape (2, ..., -1): add tg.assert_divides(2, K) [tapegrad-shape]

    halved(x)


def reject_what_is_no_size() -> None:
    def reshaped(a: Tensor[Shape[*Batch, K]]) -> None:
        a.reshape((*a.shape[:-1], "5"))  # E(mypy): Argument 1 to "reshape" of "Tensor" has incompatible type "tuple[*Batch, str]"; expected "int | integer[Any] | tuple[int | integer[Any], ...] | list[int]" [arg-type]

    reshaped(x)
