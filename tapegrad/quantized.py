"""Quantized tensors: whole numbers of 8 bits and a scale, in a quarter of the memory of float32."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad import messages
from tapegrad.errors import DTypeError
from tapegrad.nodes import Lazy
from tapegrad.operands import tensor_only
from tapegrad.tape import NONE
from tapegrad.tensor import D_co, Float, S, S_co, Tensor
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.tape import NoneTape

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True, slots=True)
class Steps:
    """The values of a quantized tensor: `(values - zero) * scale`, block by block.

    Attributes:
        values: Int8, in the shape of the tensor.
        scale: The size of a step in each block, `(B,)`, in the dtype of the tensor.
        zero: What stands for 0, from -128 to 127.
        scheme: How they were made.
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
        """The dtype of an element, once it is a float again."""
        return self.scale.dtype

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        return self.values.nbytes + self.scale.nbytes + 1

    def value(self) -> Array:
        """Return the numbers, each within half a step of what it was."""
        steps = self.values.astype(self.dtype)
        if self.zero:
            steps -= np.asarray(self.zero, self.dtype)
        scale, largest = _spread(self.scale, self.values.shape, self.scheme), np.finfo(self.dtype).max
        if self.scale.max(initial=0) < largest / 256:
            return np.asarray(steps * scale)
        with np.errstate(over="ignore"):  # the last of 255 steps may lead past the largest number
            return np.asarray(np.clip(steps * scale, -largest, largest))


class Scheme(ABC):
    """How floats become whole numbers."""

    @abstractmethod
    def steps(self, x: Array) -> Steps:
        """Return an array of finite floats as steps."""


@dataclass(frozen=True, slots=True)
class Symmetric(Scheme):
    r"""One scale for the whole tensor, from -127 to 127.

    $$q = \operatorname{round}(x / s), \quad s = \max |x| / 127$$
    """

    @override
    def steps(self, x: Array) -> Steps:
        return _symmetric(x, self)


@dataclass(frozen=True, slots=True)
class Affine(Scheme):
    r"""One scale for the whole tensor and a whole number that stands for 0: finer where the signs are one-sided.

    $$q = \operatorname{round}(x / s) + z, \quad s = (\max(x, 0) - \min(x, 0)) / 255, \quad
    z = \operatorname{round}(-\min(x, 0) / s) - 128$$

    Source:
        Jacob et al., [Quantization and training of neural networks](https://arxiv.org/abs/1712.05877), eq. 1, in int8.
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
    r"""A scale for each block of elements, in row-major order: one large element costs the others no digits.

    $$q_i = \operatorname{round}(x_i / s_b), \quad s_b = \max_{i \in b} |x_i| / 127$$

    Args:
        block: Elements in a block, at least 1; the last block may be shorter.

    Raises:
        ValueError: `block` is below 1.

    Source:
        Dettmers et al., [8-bit optimizers via block-wise quantization](https://arxiv.org/abs/2110.02861), §2.1, with
        even steps.
    """

    block: int = 64

    def __post_init__(self) -> None:
        if self.block < 1:
            message = f"BlockSymmetric: block is {self.block} but must be at least 1"
            raise ValueError(message)

    @override
    def steps(self, x: Array) -> Steps:
        return _symmetric(x, self)


class Quantized(Lazy[S_co, D_co]):
    """A tensor held as int8 and scales; any op may use it, and reads it as the floats that these stand for.

    Nothing keeps the floats: a closure reads them again on its way back.
    """

    __slots__ = ()

    def __init__(self, steps: Steps) -> None:
        self.tape = NONE
        self.node = steps

    @property
    def steps(self) -> Steps:
        """What is held."""
        steps: Steps = self.node
        return steps

    @property
    def nbytes(self) -> int:
        """How many bytes the values and the scales take."""
        return self.steps.nbytes

    @override
    def __reduce__(self) -> Any:
        return Quantized, (self.steps,)

    @override
    def __repr__(self) -> str:
        return f"Quantized({self._printed(10)}, shape={self.shape}, {self.dtype}, {self.steps.scheme})"


@public_api
def quantize(x: Tensor[S, Any, Float], scheme: Scheme) -> Quantized[S, Float]:
    """Round a tensor to whole numbers of 8 bits; no gradient goes through, whatever tape `x` has.

    Args:
        x: Any shape, a float dtype, finite.
        scheme: `Symmetric()`, `Affine()` or `BlockSymmetric()`.

    Returns:
        A tensor without a tape, each number within half a step of that of `x`; 0 stays 0.

    Raises:
        DTypeError: `x` is not a float, or is of bfloat16.
        ValueError: An element is infinite or NaN.
    """
    tensor_only(x, "quantize: x")
    if not x.is_float:
        raise DTypeError(messages.wrong_dtype("quantize", "x", str(x.dtype), "floating"))
    if x.dtype.kind == "V":
        raise DTypeError(messages.wrong_dtype("quantize", "x", str(x.dtype), "float16, float32 or float64"))
    array = x.numpy()
    infinite = int(array.size - np.count_nonzero(np.isfinite(array)))
    if infinite:
        message = f"quantize: {infinite} of the {array.size} elements of x are infinite or NaN"
        raise ValueError(message)
    steps: Any = scheme.steps(array)
    return Quantized[S, Float](steps)


@public_api
def dequantize(x: Quantized[S, Float]) -> Tensor[S, NoneTape, Float]:
    """Return the floats that a quantized tensor stands for, as a tensor that holds them.

    Args:
        x: Any shape.

    Returns:
        The shape and the dtype that `quantize` was given.

    Raises:
        DTypeError: `x` is not a quantized tensor.
    """
    if not isinstance(x, Quantized):
        message = f"dequantize: x is a {type(x).__name__}, not a quantized tensor"
        raise DTypeError(message)
    return Tensor(x.data)


def _symmetric(x: Array, scheme: Scheme) -> Steps:
    wide = x.astype(np.float64)
    scale = _as_scale(_peaks(np.abs(wide).reshape(-1), scheme) / 127, x.dtype)
    values = np.clip(np.rint(wide / _spread(scale.astype(np.float64), x.shape, scheme)), -127, 127)
    return Steps(values.astype(np.int8), scale, 0, scheme)


def _peaks(flat: Array, scheme: Scheme) -> Array:
    """Return the largest number of each block."""
    length = scheme.block if isinstance(scheme, BlockSymmetric) else max(flat.size, 1)
    blocks = max(-(-flat.size // length), 1)
    padded = np.pad(flat, (0, blocks * length - flat.size))
    return np.asarray(padded.reshape(blocks, length).max(axis=1))


def _as_scale(scale: Array, dtype: np.dtype[Any]) -> Array:
    """Round scales to a dtype: nothing is divided by 0, be a block all zeros or next to it."""
    smallest = np.finfo(dtype).smallest_normal
    return np.where(scale > 0, np.maximum(scale, smallest), 1).astype(dtype)


def _spread(scale: Array, shape: tuple[int, ...], scheme: Scheme) -> Array:
    """Return each element the scale of its block."""
    if not isinstance(scheme, BlockSymmetric):
        return scale.reshape((1,) * len(shape))
    return np.repeat(scale, scheme.block)[: math.prod(shape)].reshape(shape)
