"""Quantized tensors: 8-bit integers and a scale, in a quarter of the memory of float32."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.autograd.tape import NONE
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.options import check_count
from tapegrad.errors.tracebacks import public_api
from tapegrad.tensors import D_co, Float, S, S_co, Tensor
from tapegrad.tensors.nodes import Lazy
from tapegrad.tensors.operands import fixed, tensor_only

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tapegrad.autograd.tape import NoneTape

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True, slots=True)
class Steps:
    """The values of a quantized tensor: `(values - zero) * scale`, block by block.

    Attributes:
        values: Int8, in the shape of the tensor.
        scale: The scale of each block, `(B,)`, in the dtype of the tensor.
        zero: The zero point, from -128 to 127.
        scheme: The scheme that quantized the tensor.
    """

    values: Array
    scale: Array
    zero: int
    scheme: Scheme

    @property
    def shape(self) -> Any:
        """The sizes."""
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an element after dequantization."""
        return self.scale.dtype

    @property
    def nbytes(self) -> int:
        """The number of bytes of values, scales and zero point."""
        return self.values.nbytes + self.scale.nbytes + 1

    def arrays(self) -> dict[str, Array]:
        """Return what is saved in a file."""
        zero, block = np.array(self.zero, np.int8), np.array(_block_of(self.scheme))
        return {"values": self.values, "scale": self.scale, "zero": zero, "block": block}

    def restored(self, arrays: Mapping[str, Array], path: str) -> Steps:
        """Return the values of a file, quantized by the same scheme.

        Args:
            arrays: The result of `arrays`, in the same shapes and dtypes.
            path: Of the tensor, for error messages.

        Raises:
            ValueError: The blocks have another size.
        """
        there, here = int(arrays["block"]), _block_of(self.scheme)
        if there != here:
            message = f"{path} is quantized in {_blocks(there)} in the file but in {_blocks(here)} here"
            raise ValueError(message)
        return Steps(arrays["values"], arrays["scale"], int(arrays["zero"]), self.scheme)

    def value(self) -> Array:
        """Return the dequantized values, each within half a step of the original."""
        steps = self.values.astype(self.dtype)
        if self.zero:
            steps -= np.asarray(self.zero, self.dtype)
        scale, largest = _broadcast_scale(self.scale, self.values.shape, self.scheme), np.finfo(self.dtype).max
        if self.scale.max(initial=0) < largest / 256:
            return np.asarray(steps * scale)
        with np.errstate(over="ignore"):  # the last of 255 steps may exceed the largest float
            return np.asarray(np.clip(steps * scale, -largest, largest))


class Scheme(ABC):
    """A quantization scheme: how floats are converted to 8-bit integers."""

    @abstractmethod
    def steps(self, x: Array) -> Steps:
        """Quantize an array of finite floats."""


@dataclass(frozen=True, slots=True)
class Symmetric(Scheme):
    """Symmetric quantization: one scale for the whole tensor, values from -127 to 127.

        q = round(x / s)
        s = (max |x|) / 127

    Examples:
        >>> x = tg.tensor([-63.5, 0.0, 10.0])
        >>> q = tg.quantize(x, tg.Symmetric())
        >>> q.steps.values.tolist(), q.steps.scale.tolist()
        ([-127, 0, 20], [0.5])
        >>> tg.dequantize(q).tolist()
        [-63.5, 0.0, 10.0]
    """

    @override
    def steps(self, x: Array) -> Steps:
        return _symmetric(x, self)


@dataclass(frozen=True, slots=True)
class Affine(Scheme):
    """Affine quantization: one scale and one zero point for the whole tensor; finer if most elements have one sign.

        q = round(x / s) + z
        s = (max(x, 0) - min(x, 0)) / 255
        z = round(-min(x, 0) / s) - 128

    Source:
        Jacob et al., [Quantization and training of neural networks](https://arxiv.org/abs/1712.05877), eq. 1, in int8.

    Examples:
        >>> x = tg.tensor([0.0, 100.0, 255.0])
        >>> q = tg.quantize(x, tg.Affine())
        >>> q.steps.values.tolist(), q.steps.zero
        ([-128, -28, 127], -128)
        >>> tg.dequantize(q).tolist()
        [0.0, 100.0, 255.0]
    """

    @override
    def steps(self, x: Array) -> Steps:
        wide = x.astype(np.float64)
        low, high = wide.min(initial=0), wide.max(initial=0)
        scale = _as_scale(np.asarray([high / 255 - low / 255]), x.dtype)  # the range itself may overflow
        zero = int(np.rint(-low / float(scale[0]))) - 128
        values = np.clip(np.rint(wide / float(scale[0])) + zero, -128, 127)
        return Steps(values.astype(np.int8), scale, zero, self)


@public_api
@dataclass(frozen=True, slots=True)
class BlockSymmetric(Scheme):
    """Block-wise symmetric quantization: a scale for each block of elements, in row-major order.

    A large element reduces the precision only of its own block.

        q[i] = round(x[i] / s[b])
        s[b] = (max_(i ∈ b) |x[i]|) / 127

    Args:
        block: The number of elements in a block, at least 1; the last block may be shorter.

    Raises:
        ValueError: `block` is below 1.

    Source:
        Dettmers et al., [8-bit optimizers via block-wise quantization](https://arxiv.org/abs/2110.02861), §2.1, with
        uniform steps.

    Examples:
        >>> x = tg.tensor([-127.0, 3.0, 0.25, 1.0])
        >>> q = tg.quantize(x, tg.BlockSymmetric(2))
        >>> q.steps.values.tolist()
        [-127, 3, 32, 127]
        >>> q.steps.scale.shape
        (2,)
    """

    block: int = 64

    def __post_init__(self) -> None:
        check_count("BlockSymmetric", "block", self.block)

    @override
    def steps(self, x: Array) -> Steps:
        return _symmetric(x, self)


class Quantized(Lazy[S_co, D_co]):
    """A tensor stored as int8 values and scales; any op can use it and reads dequantized floats.

    The floats are not saved: a backward closure dequantizes them again.

    Examples:
        >>> w = tg.tensor([[127.0, -3.25], [64.0, 0.0]])
        >>> q = tg.quantize(w, tg.Symmetric())
        >>> q.shape, q.nbytes, w.nbytes
        ((2, 2), 9, 16)
        >>> (q @ tg.tensor([1.0, 2.0])).tolist()
        [121.0, 64.0]
    """

    __slots__ = ()

    def __init__(self, steps: Steps) -> None:
        self.tape = NONE
        self.node = steps

    @property
    def steps(self) -> Steps:
        """The stored values and scales."""
        steps: Steps = self.node
        return steps

    @property
    def nbytes(self) -> int:
        """The number of bytes of values, scales and zero point."""
        return self.steps.nbytes

    @override
    def __reduce__(self) -> Any:
        return Quantized, (self.steps,)

    @override
    def __repr__(self) -> str:
        return f"Quantized({self._printed(10)}, shape={self.shape}, {self.dtype}, {self.steps.scheme})"


@public_api
def quantize(x: Tensor[S, Any, Float], scheme: Scheme) -> Quantized[S, Float]:
    """Quantize a tensor to 8-bit integers; no gradient flows through, even if `x` has a tape.

    Args:
        x: Any shape, a float dtype other than bfloat16, finite.
        scheme: `Symmetric()`, `Affine()` or `BlockSymmetric()`.

    Returns:
        A tensor without a tape, each element within half a step of that of `x`; 0 stays 0.

    Raises:
        DTypeError: `x` is not a float tensor, or its dtype is bfloat16; or `scheme` is not a scheme.
        ValueError: An element is infinite or NaN.

    Examples:
        >>> w = tg.tensor([[127.0, -3.25], [64.0, 0.0]])
        >>> q = tg.quantize(w, tg.Symmetric())
        >>> q.steps.values.tolist()
        [[127, -3], [64, 0]]
        >>> tg.dequantize(q).tolist()
        [[127.0, -3.0], [64.0, 0.0]]
    """
    tensor_only(x, "quantize: x")
    if not x.is_float:
        raise DTypeError(messages.wrong_dtype("quantize", "x", str(x.dtype), "floating"))
    if x.dtype.kind == "V":
        raise DTypeError(messages.wrong_dtype("quantize", "x", str(x.dtype), "float16, float32 or float64"))
    if not isinstance(scheme, Scheme):
        kind = (
            f"the class {scheme.__name__}" if isinstance(scheme, type) else messages.with_article(type(scheme).__name__)
        )
        message = f"quantize: scheme is {kind} but Symmetric(), Affine() or BlockSymmetric() is expected"
        raise DTypeError(message)
    array = x.numpy()
    infinite = int(array.size - np.count_nonzero(np.isfinite(array)))
    if infinite:
        message = f"quantize: {infinite} of the {array.size} elements of x are infinite or NaN"
        raise ValueError(message)
    steps: Any = scheme.steps(array)
    return Quantized[S, Float](steps)


@public_api
def dequantize(x: Quantized[S, Float]) -> Tensor[S, NoneTape, Float]:
    """Convert a quantized tensor to floats.

    Args:
        x: Any shape.

    Returns:
        The shape and the dtype of the tensor that was quantized.

    Raises:
        DTypeError: `x` is not a quantized tensor.

    Examples:
        >>> w = tg.uniform((64, 48), rng=0)
        >>> q = tg.quantize(w, tg.BlockSymmetric())
        >>> w.nbytes, q.nbytes
        (12288, 3265)
        >>> error = tg.abs(tg.dequantize(q) - w)
        >>> error.max().item() < 0.004
        True
    """
    if not isinstance(x, Quantized):
        message = f"dequantize: x is {messages.with_article(type(x).__name__)}, not a quantized tensor"
        raise DTypeError(message)
    return fixed(x.data)


def _symmetric(x: Array, scheme: Scheme) -> Steps:
    wide = x.astype(np.float64)
    scale = _as_scale(_peaks(np.abs(wide).reshape(-1), scheme) / 127, x.dtype)
    values = np.clip(np.rint(wide / _broadcast_scale(scale.astype(np.float64), x.shape, scheme)), -127, 127)
    return Steps(values.astype(np.int8), scale, 0, scheme)


def _block_of(scheme: Scheme) -> int:
    """Return the number of elements in a block, or 0 if the whole tensor is one."""
    return scheme.block if isinstance(scheme, BlockSymmetric) else 0


def _blocks(size: int) -> str:
    return f"blocks of {size}" if size else "one block"


def _peaks(flat: Array, scheme: Scheme) -> Array:
    """Return the maximum of each block."""
    length = scheme.block if isinstance(scheme, BlockSymmetric) else max(flat.size, 1)
    blocks = max(-(-flat.size // length), 1)
    padded = np.pad(flat, (0, blocks * length - flat.size))
    return np.asarray(padded.reshape(blocks, length).max(axis=1))


def _as_scale(scale: Array, dtype: np.dtype[Any]) -> Array:
    """Convert scales to a dtype, with a positive lower limit, since a block of zeros or subnormals divides by it."""
    smallest = np.finfo(dtype).smallest_normal
    return np.where(scale > 0, np.maximum(scale, smallest), 1).astype(dtype)


def _broadcast_scale(scale: Array, shape: tuple[int, ...], scheme: Scheme) -> Array:
    """Broadcast the scale of each block to its elements."""
    if not isinstance(scheme, BlockSymmetric):
        return scale.reshape((1,) * len(shape))
    return np.repeat(scale, scheme.block)[: math.prod(shape)].reshape(shape)
