"""Parameters: ownership of the values, assignment, and errors."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.nn import Param
from tapegrad.ops import mul, ones, reshape, sum, tensor, zeros
from tapegrad.tensors import Tensor


def test_a_parameter_copies_its_argument() -> None:
    array = np.array([1.0, 2.0, 3.0], np.float32)
    x: Any = Tensor(array)  # type: ignore[arg-type]  # an array that the caller still writes to

    weight = Param(x)
    array[0] = 9

    assert weight.tolist() == [1, 2, 3]
    assert (weight.version, weight.frozen) == (0, False)


def test_assign_copies_the_values_and_increments_the_version() -> None:
    weight = Param(zeros((2, 3)))
    value: Any = tensor([[1.0, np.nan, 3.0], [4.0, np.inf, 6.0]])

    weight.assign(value)

    np.testing.assert_array_equal(weight.numpy(), value.numpy())
    assert weight.version == 1


def test_results_computed_from_a_parameter_survive_an_assignment() -> None:
    weight: Any = Param(ones((2, 3)))
    view, flat, same = weight.numpy(), reshape(weight, (6,)), weight.detach()

    weight.assign(zeros((2, 3)))

    assert view.sum() == 6
    assert flat.numpy().sum() == 6
    assert same.numpy().sum() == 6


def test_only_assign_changes_values() -> None:
    weight: Any = Param(ones((3,)))

    with pytest.raises(TypeError, match=r"^a tensor is immutable"):
        weight[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        weight.numpy()[0] = 2.0


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (ones((2, 4)), ShapeError, "Param.assign: value is (2, 4) but (2, 3) is expected: axis 1 is 4, not 3"),
        (ones((3,)), ShapeError, "Param.assign: value is (3,) but (2, 3) is expected: rank 1, not 2"),
        (ones((2, 3), np.float64), DTypeError, "Param.assign: value is float64 but float32 is expected"),
        (ones((2, 3)).trace(), TapeError, "Param.assign: value has a tape but must have none"),
        ([[1.0]], DTypeError, "Param.assign: value is a list, not a tensor; tg.tensor(value) makes one"),
    ],
)
def test_assign_rejects_invalid_values_and_changes_nothing(value: Any, error: type[Exception], message: str) -> None:
    weight = Param(zeros((2, 3)))

    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        weight.assign(value)

    assert weight.version == 0
    assert weight.numpy().sum() == 0


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (tensor([1, 2]), DTypeError, "Param: a tensor of dtype int64 has no gradient"),
        (ones((2, 3)).trace(), TapeError, "Param: tensor has a tape but must have none"),
        (np.ones(3), DTypeError, "Param: tensor is an ndarray, not a tensor; tg.tensor(tensor) makes one"),
    ],
)
def test_a_parameter_needs_a_tapeless_float_tensor(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        Param(value)


def test_a_parameter_assigned_between_forward_and_backward_is_rejected() -> None:
    weight, x = Param(ones((3,))), ones((3,))
    loss: Any = sum(mul(x.trace(), weight))

    weight.assign(zeros((3,)))

    with pytest.raises(TapeError, match=r"^a parameter of shape \(3,\) was assigned after the forward pass used it"):
        loss.backward()


def test_a_frozen_parameter_gets_no_gradient() -> None:
    frozen, free = Param(ones((3,)), frozen=True), Param(ones((3,)))
    x: Any = tensor([2.0, 3.0, 4.0])

    grads = sum(mul(mul(x.trace(), frozen), free)).backward()

    assert frozen not in grads
    assert grads[free].tolist() == [2, 3, 4]


def test_a_parameter_has_a_repr() -> None:
    assert repr(Param(ones((2,)))) == "Param([1., 1.], shape=(2,), float32)"
    assert repr(Param(ones((2,)), frozen=True)) == "Param([1., 1.], shape=(2,), float32, frozen)"


def test_a_parameter_with_parts_in_other_processes_has_a_shape_and_no_numbers() -> None:
    devices = [SimpleNamespace(process_index=process) for process in (0, 0, 1)]
    array = SimpleNamespace(
        shape=(3, 2),
        dtype=np.dtype(np.float32),
        ndim=2,
        size=6,
        is_fully_addressable=False,
        is_fully_replicated=False,
        sharding=SimpleNamespace(device_set=devices),
    )
    weight: Any = Param(zeros((3, 2)))
    weight.on_device = array
    del weight.data

    assert (weight.shape, weight.nbytes) == ((3, 2), 24)
    assert repr(weight) == "Param(parts in 2 processes, shape=(3, 2), float32)"
    message = (
        "a tensor of shape (3, 2) has parts in 2 processes; "
        "replicate it with tapegrad.jax.place before its numbers are read"
    )
    with pytest.raises(TapeError, match=f"^{re.escape(message)}$"):
        weight.numpy()
