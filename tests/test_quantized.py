"""Quantized tensors: int8 with scales, within half a quantization step of the floats."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError
from tapegrad.ops import normal, ones, tanh, tensor, zeros
from tapegrad.quantized import Affine, BlockSymmetric, Quantized, Symmetric, dequantize, quantize
from tapegrad.tensors import Tensor

SCHEMES = [Symmetric(), Affine(), BlockSymmetric(), BlockSymmetric(5), BlockSymmetric(1)]
any_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=str)


def step_of(q: Quantized[Any, Any]) -> Any:
    """Return the size of a step for each element."""
    scale = q.steps.scale.astype(np.float64)
    if isinstance(q.steps.scheme, BlockSymmetric):
        scale = np.repeat(scale, q.steps.scheme.block)[: q.size].reshape(q.shape)
    return scale


# Values


def test_symmetric_quantization_computed_by_hand() -> None:
    q = quantize(tensor([[-2.54, 0.0, 1.0]]), Symmetric())

    assert q.steps.values.tolist() == [[-127, 0, 50]]
    np.testing.assert_allclose(q.steps.scale, [0.02])
    np.testing.assert_allclose(dequantize(q).numpy(), [[-2.54, 0, 1]], rtol=1e-6)


def test_affine_quantization_computed_by_hand() -> None:
    q = quantize(tensor([-0.5, 0.0, 2.05]), Affine())

    assert (q.steps.values.tolist(), q.steps.zero) == ([-128, -78, 127], -78)
    np.testing.assert_allclose(q.steps.scale, [0.01], rtol=1e-6)
    np.testing.assert_allclose(dequantize(q).numpy(), [-0.5, 0, 2.05], rtol=1e-6)


def test_blockwise_quantization_computed_by_hand() -> None:
    q = quantize(tensor([1.27, -0.01, 127.0, 1.0, 0.0]), BlockSymmetric(2))

    assert q.steps.values.tolist() == [127, -1, 127, 1, 0]
    np.testing.assert_allclose(q.steps.scale, [0.01, 1, 1], rtol=1e-6)


@any_scheme
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_the_error_of_a_round_trip_is_at_most_half_a_step(scheme: Any, dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    array: Any = (rng.normal(rng.normal(), size=(7, 11)) * 10.0 ** rng.integers(-2, 3)).astype(dtype)
    x: Any = Tensor(array)

    q = quantize(x, scheme)
    error = np.abs(dequantize(q).numpy().astype(np.float64) - array)

    # The product of steps and scale is itself rounded to the dtype.
    assert (error <= step_of(q) / 2 + np.finfo(dtype).eps * np.abs(array.astype(np.float64))).all()
    assert q.steps.values.dtype == np.int8
    assert (q.shape, q.dtype, dequantize(q).dtype) == ((7, 11), dtype, dtype)


def test_blocks_keep_small_numbers_accurate() -> None:
    x = tensor([1000.0, 0.01, 0.02, 0.03])

    assert dequantize(quantize(x, Symmetric())).tolist()[1:] == [0, 0, 0]
    np.testing.assert_allclose(dequantize(quantize(x, BlockSymmetric(1))).numpy(), x.numpy(), rtol=1e-6)


# Edges


@any_scheme
@pytest.mark.parametrize("value", [0.0, 3.7, -0.2, 1e-45, -1e-40, 3e38])
def test_a_constant_tensor_is_unchanged(scheme: Any, value: float) -> None:
    x = tensor([[value] * 3] * 2)

    y = dequantize(quantize(x, scheme)).numpy()

    np.testing.assert_allclose(y, x.numpy(), rtol=1e-6, atol=float(np.finfo(np.float32).smallest_normal) / 2)


@any_scheme
def test_the_whole_range_of_a_dtype(scheme: Any) -> None:
    largest = np.finfo(np.float64).max
    x = tensor([largest, -largest, 0.0], np.float64)

    q = quantize(x, scheme)

    assert (np.abs(q.numpy() / 2 - x.numpy() / 2) <= step_of(q) / 4 + largest * 1e-15).all()
    assert q.tolist()[2] == 0


@any_scheme
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_an_empty_tensor_stays_empty(scheme: Any, shape: Any) -> None:
    q = quantize(zeros(shape), scheme)

    assert (q.shape, dequantize(q).shape, q.size) == (shape, shape, 0)


@any_scheme
def test_a_scalar(scheme: Any) -> None:
    q = quantize(tensor(0.5), scheme)

    assert q.shape == ()
    assert q.item() == pytest.approx(0.5)


@any_scheme
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_rejected(scheme: Any, bad: float) -> None:
    with pytest.raises(ValueError, match=r"^quantize: 2 of the 3 elements of x are infinite or NaN$"):
        quantize(tensor([1.0, bad, bad]), scheme)


def test_ints_are_rejected() -> None:
    ints: Any = tensor([1, 2])

    with pytest.raises(DTypeError, match=r"^quantize: x is int64 but floating is expected$"):
        quantize(ints, Symmetric())


def test_non_tensors_are_rejected() -> None:
    array: Any = np.ones(3)
    floats: Any = ones((3,))

    with pytest.raises(DTypeError, match=r"^quantize: x is an ndarray, not a tensor; tg\.tensor\(x\) makes one$"):
        quantize(array, Symmetric())
    with pytest.raises(DTypeError, match=r"^dequantize: x is a Tensor, not a quantized tensor$"):
        dequantize(floats)


def test_a_block_of_size_zero_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^BlockSymmetric: block is 0 but must be at least 1$"):
        BlockSymmetric(0)


# A tensor among tensors


def test_it_is_used_like_a_tensor_and_stores_no_floats() -> None:
    x, w = normal((3, 5), rng=0), normal((5, 7), rng=1)
    q = quantize(w, Symmetric())

    y = tanh(x @ q + q[0])

    np.testing.assert_array_equal(y.numpy(), tanh(x @ dequantize(q) + dequantize(q)[0]).numpy())
    assert q.nbytes == 35 + 4 + 1
    assert not q.owns_tape


def test_the_repr_has_values_and_storage() -> None:
    q = quantize(tensor([1.0, -0.5]), Symmetric())

    assert repr(q) == "Quantized([ 1.      , -0.503937], shape=(2,), float32, Symmetric())"


def test_quantize_detaches() -> None:
    x = normal((3,), rng=0)
    a = x.trace()

    q = quantize(a, Symmetric())
    grads = (a * q).sum().backward()

    np.testing.assert_array_equal(grads[x].numpy(), q.numpy())
    assert q not in grads


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301  # its own bytes
def test_a_copy_is_quantized_as_well(again: Any) -> None:
    q = quantize(normal((3, 5), rng=0), BlockSymmetric(4))

    twin = again(q)

    assert type(twin) is Quantized
    assert twin.nbytes == q.nbytes
    np.testing.assert_array_equal(twin.numpy(), q.numpy())
