"""The namespace of the array API standard: its functions have the rules of the ops that they are or call."""

from typing import Any, TypeVar, assert_type
from typing import Literal as L

import numpy as np

from tapegrad import NoneTape, OwnedTape, Shape, Tensor
from tapegrad import array_api as xp

N = TypeVar("N", bound=int)

x = xp.ones((3, 5))


def accept_ops_under_other_names() -> None:
    assert_type(xp.exp(x), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(xp.multiply(x.trace(), xp.ones(5)), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(xp.permute_dims(x, (1, 0)), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(xp.clip(x, 0.0, 1.0), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(xp.concat([x, x], axis=1), Tensor[Shape[L[3], L[10]], NoneTape])


def accept_functions_that_create() -> None:
    assert_type(xp.zeros((3, 5), dtype=xp.int64, device="cpu"), Tensor[Shape[L[3], L[5]], NoneTape, np.int64])
    assert_type(xp.full(3, 7.0), Tensor[Shape[L[3]], NoneTape])
    assert_type(xp.zeros((3, 5), dtype=None), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(xp.arange(3), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(xp.arange(3, dtype=xp.float32), Tensor[Shape[L[3]], NoneTape])
    assert_type(xp.zeros_like(x.trace()), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(xp.full_like(x, 7, dtype=xp.int64), Tensor[Shape[L[3], L[5]], NoneTape, np.int64])


def accept_what_becomes_a_tensor() -> None:
    assert_type(xp.asarray(x.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(xp.asarray(x, dtype=xp.float64), Tensor[Shape[L[3], L[5]], NoneTape, np.float64])
    assert_type(xp.asarray([[1.0, 2.0]]), Tensor[Shape[L[1], L[2]], NoneTape])
    assert_type(xp.asarray(np.zeros((3, 2))), Tensor[Shape[L[3], L[2]], NoneTape, np.float64])


def accept_options_of_the_standard() -> None:
    assert_type(xp.sum(x.trace(), axis=1, dtype=xp.float64), Tensor[Shape[L[3]], OwnedTape, np.float64])
    assert_type(xp.prod(x, keepdims=True), Tensor[Shape[L[1], L[1]], NoneTape])
    assert_type(xp.astype(x.trace(), xp.float64, copy=False), Tensor[Shape[L[3], L[5]], OwnedTape, np.float64])
    assert_type(xp.reshape(x, (5, -1), copy=False), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(xp.sort(x, axis=0, stable=False), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(xp.argsort(x, stable=True), Tensor[Shape[L[3], L[5]], NoneTape, np.int64])
    assert_type(xp.cumulative_sum(x.trace(), axis=1), Tensor[Shape[L[3], L[5]], OwnedTape])
    chosen = xp.take_along_axis(x.trace(), xp.zeros((3, 2), dtype=xp.int64))
    assert_type(chosen, Tensor[Shape[L[3], L[2]], OwnedTape])


def of_named_sizes(y: Tensor[Shape[N, L[5]], OwnedTape]) -> Tensor[Shape[N], OwnedTape]:
    return xp.sum(xp.subtract(y, xp.zeros(5)), axis=1)


def accept_named_and_unknown_sizes() -> None:
    anything: Any = x
    unknown: Tensor[Any, NoneTape] = x
    assert_type(of_named_sizes(x.trace()), Tensor[Shape[L[3]], OwnedTape])
    assert_type(xp.reshape(unknown, (-1,)), Tensor[Shape[Any], NoneTape])
    assert xp.sum(anything, axis=0).shape == (5,)


def accept_a_namespace_of_a_tensor() -> None:
    space = x.__array_namespace__()
    assert space.sum(x, axis=1).shape == (3,)


def reject_an_axis_that_is_out_of_range() -> None:
    xp.sum(x, axis=2)  # E: sum: axis 2 is out of range for x (3, 5)


def reject_elements_that_do_not_divide() -> None:
    xp.reshape(x, (4, -1))  # E: reshape: x (3, 5) has 15 elements, which do not divide into shape (4, -1)


def reject_a_negative_size() -> None:
    xp.full((3, -1), 7.0)  # E: full: shape (3, -1) has the negative size -1


def reject_operands_that_do_not_broadcast() -> None:
    xp.divide(x, xp.ones(3))  # E: div: x (3, 5) and y (3,) do not broadcast: axis -1 is 5 in x but 3 in y


def reject_a_device_that_is_not_the_cpu() -> None:
    device: Any = "cuda"
    xp.zeros(3, device=device)  # E(Python): zeros: device is 'cuda' but 'cpu' is expected; tg.jit moves tensors to the devices of JAX


def reject_a_list_without_a_copy() -> None:
    xp.asarray([1.0], copy=False)  # E(Python): asarray: copy is False but a tensor copies a list; leave copy out


def reject_a_later_version() -> None:
    x.__array_namespace__(api_version="2030.12")  # E(Python): __array_namespace__: api_version is '2030.12' but one of 2021.12, 2022.12, 2023.12, 2024.12, 2025.12 is expected
