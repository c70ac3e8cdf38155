"""NumPy's functions called with tensors: each is an op, with its shape rule and the tape."""

from typing import Any, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((3, 5))


def accept_ufuncs() -> None:
    assert_type(np.exp(x), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(np.add(x, tg.ones(5)), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(np.multiply(2.0, x.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(np.matmul(x, tg.ones((5, 2))), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(np.isnan(x), Tensor[Shape[L[3], L[5]], NoneTape, np.bool_])


def accept_reductions() -> None:
    assert_type(np.mean(x), Tensor[Shape[()], NoneTape])
    assert_type(np.sum(x, axis=1), Tensor[Shape[L[3]], NoneTape])
    assert_type(np.max(x, 0, keepdims=True), Tensor[Shape[L[1], L[5]], NoneTape])
    assert_type(np.std(x.trace(), axis=0, ddof=1), Tensor[Shape[L[5]], OwnedTape])
    assert_type(np.argmax(x, axis=1), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(np.linalg.norm(x, axis=1), Tensor[Shape[L[3]], NoneTape])
    assert_type(np.sum(x > 0, 1), Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_functions_of_several_tensors() -> None:
    assert_type(np.concatenate([x, x]), Tensor[Shape[L[6], L[5]], NoneTape])
    assert_type(np.stack((x, x), axis=1), Tensor[Shape[L[3], L[2], L[5]], NoneTape])
    assert_type(np.where(x > 0.0, x, x.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(np.einsum("ij,kj->ik", x, x), Tensor[Shape[L[3], L[3]], NoneTape])


def accept_functions_of_axes() -> None:
    assert_type(np.reshape(x, (5, -1)), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(np.transpose(x), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(np.expand_dims(x, 0), Tensor[Shape[L[1], L[3], L[5]], NoneTape])
    assert_type(np.ravel(x), Tensor[Shape[L[15]], NoneTape])
    assert_type(np.broadcast_to(x, (2, 3, 5)), Tensor[Shape[L[2], L[3], L[5]], NoneTape])


def of_named_sizes(y: Tensor[Shape[N, M], OwnedTape]) -> Tensor[Shape[N], OwnedTape]:
    assert_type(np.exp(y), Tensor[Shape[N, M], OwnedTape])
    return np.mean(np.clip(y, 0.0, 1.0), axis=1)


def accept_named_and_unknown_sizes() -> None:
    anything: Any = x
    unknown: Tensor[Any, NoneTape] = x
    assert_type(of_named_sizes(x.trace()), Tensor[Shape[L[3]], OwnedTape])
    assert_type(np.exp(unknown), Tensor[Any, NoneTape])
    assert np.exp(anything).shape == (3, 5)


def accept_decompositions() -> None:
    u, s, vt = np.linalg.svd(x.trace(), full_matrices=False)
    assert_type(u, Tensor[Shape[L[3], L[3]], OwnedTape])
    assert_type(s, Tensor[Shape[L[3]], OwnedTape])
    assert_type(vt, Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(np.linalg.pinv(x), Tensor[Shape[L[5], L[3]], NoneTape])


def accept_functions_that_read_shapes_and_values() -> None:
    assert np.ndim(x.trace()) == 2
    assert np.asarray(x).sum() == 15


def reject_sizes_that_do_not_broadcast() -> None:
    np.add(x, tg.ones(3))  # E: add: x (3, 5) and y (3,) do not broadcast: axis -1 is 5 in x but 3 in y [tapegrad-shape]


def reject_an_axis_that_is_not_there() -> None:
    np.mean(x, axis=2)  # E: mean: axis 2 is out of range for x (3, 5) [tapegrad-shape]


def reject_other_sizes_of_parts() -> None:
    np.concatenate([x, tg.ones((3, 4))])  # E: concat: tensors[1] (3, 4) has 4 along axis 1 but tensors[0] (3, 5) has 5 [tapegrad-shape]


def reject_an_argument_without_a_meaning() -> None:
    np.sum(x, dtype=np.float64)  # E: np.sum: a tensor has no dtype; tapegrad.sum is the function that it calls [tapegrad-dtype]


def reject_an_argument_whose_default_differs() -> None:
    np.take(x, tg.tensor([0, 2]))  # E: np.take: a tensor needs axis; np.asarray(x) is its array, without a tape [tapegrad-dtype]


def reject_the_full_matrices_of_numpys_default() -> None:
    np.linalg.svd(x)  # E: np.linalg.svd: a tensor needs full_matrices; np.asarray(x) is its array, without a tape [tapegrad-dtype]


def reject_another_mode_of_qr() -> None:
    np.linalg.qr(x, mode="complete")  # E: np.linalg.qr: a tensor has no mode; tapegrad.qr is the function that it calls [tapegrad-dtype]


def reject_another_triangle_of_cholesky() -> None:
    square = tg.eye(3)
    np.linalg.cholesky(square, upper=True)  # E: np.linalg.cholesky: a tensor has no upper; tapegrad.cholesky is the function that it calls [tapegrad-dtype]


def reject_a_function_under_another_name() -> None:
    np.hstack([x, x])  # E: np.hstack takes no tensor: use tg.concat [tapegrad-dtype]


def reject_a_function_that_is_no_op() -> None:
    np.histogram(x)  # E: np.histogram takes no tensor: use tg.tensor(np.histogram(x.numpy(), bins)[0]), without gradients [tapegrad-dtype]


def reject_a_tape_that_is_consumed() -> None:
    y = np.exp(x.trace())
    np.sum(y).backward()
    np.sum(y)  # E(mypy): np.sum(y): y was consumed by np.sum(y).backward() on line {-1}; trace again [tapegrad-tape]


def accept_arrays_of_other_libraries() -> None:
    assert_type(tg.from_dlpack(np.ones((2, 3), np.float32)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.from_dlpack(x), Tensor[Shape[L[3], L[5]], NoneTape])


def reject_a_list_for_an_array() -> None:
    tg.from_dlpack([1.0])  # E(Python): from_dlpack: x is a list without __dlpack__; tg.tensor takes lists and arrays


def reject_methods_of_ufuncs() -> None:
    np.add.reduce(x)  # E: np.add.reduce: a tensor has no method reduce; np.asarray(x) is its array, without a tape [tapegrad-dtype]


def reject_a_ufunc_at_the_indices_of_a_tensor() -> None:
    np.add.at(np.zeros(5), tg.arange(3), 1)  # E: np.add.at: a tensor has no method at; np.asarray(x) is its array, without a tape [tapegrad-dtype]


def accept_tensors_in_what_numpy_converts() -> None:
    np.add.at(np.zeros((5, 5)), (tg.arange(3), tg.arange(3)), 1)
    np.add.reduce(np.zeros((5, 5)), axis=1, keepdims=True)


class Combination:
    """A ufunc in an attribute that is called as a method of ufuncs is."""

    outer = np.add


def accept_a_ufunc_in_an_attribute() -> None:
    assert_type(Combination().outer(x, tg.ones(5)), Tensor[Shape[L[3], L[5]], NoneTape])
