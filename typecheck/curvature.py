"""Hessians have the shape of the point twice, and Hessian-vector products once."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor
from tapegrad.autograd.tape import Tape

N = TypeVar("N", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)

x = tg.ones((3,))
rows = tg.ones((2, 3))


def energy(x: Tensor[S, T]) -> Tensor[tuple[()], T]:
    return (x * x * x).sum()


def accept_products() -> None:
    assert_type(tg.hvp(energy, x, x), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.hvp(energy, rows, rows), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.hvp(lambda x: (x * x).sum(), x, x), Tensor[Shape[L[3]], NoneTape])


def accept_hessians() -> None:
    assert_type(tg.hessian(energy, tg.tensor(2.0)), Tensor[tuple[()], NoneTape])
    assert_type(tg.hessian(energy, x), Tensor[Shape[L[3], L[3]], NoneTape])
    assert_type(tg.hessian(energy, rows), Tensor[Shape[L[2], L[3], L[2], L[3]], NoneTape])
    assert_type(tg.hessian(lambda x: (x * x).sum(), x), Tensor[Shape[L[3], L[3]], NoneTape])
    assert_type(tg.hessian(energy, tg.ones((1, 2, 1, 2))), Tensor[Any, NoneTape])


def accept_a_lambda_of_another_dtype() -> None:
    precise = x.astype(np.float64)
    form = tg.eye(3, dtype=np.float64)
    assert_type(tg.hvp(lambda y: y @ form @ y, precise, precise), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.hvp(lambda y: tg.mse(form @ y, precise), precise, precise), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.hessian(lambda y: tg.mse(y, precise), precise), Tensor[Shape[L[3], L[3]], NoneTape, np.float64])


def accept_named_sizes() -> None:
    def curved(y: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[N, N], NoneTape]:
        assert_type(tg.hvp(energy, y, y), Tensor[Shape[N], NoneTape])
        return tg.hessian(energy, y)

    assert_type(curved(tg.ones((4,))), Tensor[Shape[L[4], L[4]], NoneTape])


def reject_a_vector_of_another_size() -> None:
    tg.hvp(energy, x, tg.ones((2,)))  # E: hvp: S is (3,) in x but (2,) in v [tapegrad-shape]


def reject_a_vector_of_another_dtype() -> None:
    tg.hvp(energy, x, tg.ones((3,), np.float64))  # E: hvp: x is float32 but v is float64 [tapegrad-dtype]


def reject_a_taped_point() -> None:
    tg.hvp(energy, x.trace(), x)  # E: hvp: x has a tape but must have none [tapegrad-tape]


def reject_a_taped_vector() -> None:
    tg.hvp(energy, x, x.trace())  # E: hvp: v has a tape but must have none [tapegrad-tape]
