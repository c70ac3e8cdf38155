"""The methods of a tensor that call ops; `python -m docs.tensor_methods` writes them from the table of ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
from typing_extensions import TypeVar

from tapegrad.autograd.op import install_operators
from tapegrad.autograd.registry import IMPLEMENTATIONS
from tapegrad.autograd.tape import Tape
from tapegrad.errors.tracebacks import trim_on_exit
from tapegrad.sizes import is_int

if TYPE_CHECKING:
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.engines import Axis, Int
    from tapegrad.generator import RNG
    from tapegrad.tensors import T1, T2, G, Index, Number, Scalar, Sizes, SizesOrList, Tensor

S_co = TypeVar("S_co", bound=tuple[Any, ...], covariant=True, default=Any)
T_co = TypeVar("T_co", bound=Tape, covariant=True, default=Any)
D_co = TypeVar("D_co", bound=np.generic, covariant=True, default=np.float32)


def _as_tuple(sizes: tuple[Any, ...]) -> Any:
    """Return sizes as one argument: the tuple itself if it was passed, else the sizes passed one by one."""
    first = sizes[0] if len(sizes) == 1 else 0
    return first if type(first) is tuple or not is_int(first) else sizes


@install_operators
class TensorMethods(Generic[S_co, T_co, D_co]):
    """The ops of one tensor as its methods: `x.exp()` is `tg.exp(x)`."""

    __slots__ = ()

    def abs(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the absolute value, see `tapegrad.abs`."""
        return IMPLEMENTATIONS["abs"](self)

    def acos(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse cosine, see `tapegrad.acos`."""
        return IMPLEMENTATIONS["acos"](self)

    def acosh(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse hyperbolic cosine, see `tapegrad.acosh`."""
        return IMPLEMENTATIONS["acosh"](self)

    def adaptive_avg_pool1d(self, size: int | tuple[int]) -> Tensor[Any, T_co, D_co]:
        """See `tapegrad.adaptive_avg_pool1d`."""
        return IMPLEMENTATIONS["adaptive_avg_pool1d"](self, size)

    def adaptive_avg_pool2d(self, size: int | tuple[int, int]) -> Tensor[Any, T_co, D_co]:
        """See `tapegrad.adaptive_avg_pool2d`."""
        return IMPLEMENTATIONS["adaptive_avg_pool2d"](self, size)

    def add(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Add two tensors element by element, see `tapegrad.add`."""
        return IMPLEMENTATIONS["add"](self, y)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether all elements along axes are true, see `tapegrad.all`."""
        return IMPLEMENTATIONS["all"](self, axis, keepdims=keepdims)

    def allclose(
        self, y: Tensor[Any, Any, Any] | Number, *, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Tensor[tuple[()], NoneTape, np.bool_]:
        """Return whether all elements of `x` are close to those of `y`, see `tapegrad.allclose`."""
        return IMPLEMENTATIONS["allclose"](self, y, rtol=rtol, atol=atol, equal_nan=equal_nan)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether any element along axes is true, see `tapegrad.any`."""
        return IMPLEMENTATIONS["any"](self, axis, keepdims=keepdims)

    def argcummax(self, axis: Int | None = None) -> Tensor[Any, NoneTape, np.int64]:
        """Return the indices of the cumulative maximum along an axis, see `tapegrad.argcummax`."""
        return IMPLEMENTATIONS["argcummax"](self, axis)

    def argcummin(self, axis: Int | None = None) -> Tensor[Any, NoneTape, np.int64]:
        """Return the indices of the cumulative minimum along an axis, see `tapegrad.argcummin`."""
        return IMPLEMENTATIONS["argcummin"](self, axis)

    def argmax(self, axis: Int | None = None, *, keepdims: bool = False) -> Tensor[Any, NoneTape, np.int64]:
        """Return the index of the largest element along an axis, see `tapegrad.argmax`."""
        return IMPLEMENTATIONS["argmax"](self, axis, keepdims=keepdims)

    def argmin(self, axis: Int | None = None, *, keepdims: bool = False) -> Tensor[Any, NoneTape, np.int64]:
        """Return the index of the smallest element along an axis, see `tapegrad.argmin`."""
        return IMPLEMENTATIONS["argmin"](self, axis, keepdims=keepdims)

    def argsort(self, axis: Int = -1, *, descending: bool = False) -> Tensor[S_co, NoneTape, np.int64]:
        """Return the indices that sort the elements along an axis, see `tapegrad.argsort`."""
        return IMPLEMENTATIONS["argsort"](self, axis, descending=descending)

    def asin(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse sine, see `tapegrad.asin`."""
        return IMPLEMENTATIONS["asin"](self)

    def asinh(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse hyperbolic sine, see `tapegrad.asinh`."""
        return IMPLEMENTATIONS["asinh"](self)

    def astype(self, dtype: type[G] | np.dtype[G]) -> Tensor[S_co, T_co, G]:
        """Convert each element to another dtype, see `tapegrad.astype`."""
        return IMPLEMENTATIONS["astype"](self, dtype)

    def at_add(
        self, index: Index[T1], value: Tensor[Any, T2, Any] | Number
    ) -> Tensor[Any, Merge[T_co, Merge[T1, T2]], D_co]:
        """Return a copy of `x` with values added to the elements at an index, see `tapegrad.at_add`."""
        return IMPLEMENTATIONS["at_add"](self, index, value)

    def at_set(
        self, index: Index[T1], value: Tensor[Any, T2, Any] | Number
    ) -> Tensor[Any, Merge[T_co, Merge[T1, T2]], D_co]:
        """Return a copy of `x` with the elements at an index replaced, see `tapegrad.at_set`."""
        return IMPLEMENTATIONS["at_set"](self, index, value)

    def atan(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse tangent, see `tapegrad.atan`."""
        return IMPLEMENTATIONS["atan"](self)

    def atanh(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse hyperbolic tangent, see `tapegrad.atanh`."""
        return IMPLEMENTATIONS["atanh"](self)

    def avg_pool1d(
        self,
        kernel: int | tuple[int],
        stride: int | tuple[int] | None = None,
        padding: int | tuple[int] = 0,
        *,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 1D average pooling, see `tapegrad.avg_pool1d`."""
        return IMPLEMENTATIONS["avg_pool1d"](
            self,
            kernel,
            stride,
            padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )

    def avg_pool2d(
        self,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        *,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 2D average pooling, see `tapegrad.avg_pool2d`."""
        return IMPLEMENTATIONS["avg_pool2d"](
            self,
            kernel,
            stride,
            padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )

    def bitwise_and(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Compute the bitwise AND of two tensors, see `tapegrad.bitwise_and`."""
        return IMPLEMENTATIONS["bitwise_and"](self, y)

    def bitwise_count(self) -> Tensor[S_co, NoneTape, np.uint8]:
        """Count the set bits of the absolute value of each element, see `tapegrad.bitwise_count`."""
        return IMPLEMENTATIONS["bitwise_count"](self)

    def bitwise_invert(self) -> Tensor[S_co, NoneTape, D_co]:
        """Invert every bit (bitwise NOT), see `tapegrad.bitwise_invert`."""
        return IMPLEMENTATIONS["bitwise_invert"](self)

    def bitwise_left_shift(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Shift the bits of `x` to the left, see `tapegrad.bitwise_left_shift`."""
        return IMPLEMENTATIONS["bitwise_left_shift"](self, y)

    def bitwise_or(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Compute the bitwise OR of two tensors, see `tapegrad.bitwise_or`."""
        return IMPLEMENTATIONS["bitwise_or"](self, y)

    def bitwise_right_shift(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Shift the bits of `x` to the right, see `tapegrad.bitwise_right_shift`."""
        return IMPLEMENTATIONS["bitwise_right_shift"](self, y)

    def bitwise_xor(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Compute the bitwise XOR of two tensors, see `tapegrad.bitwise_xor`."""
        return IMPLEMENTATIONS["bitwise_xor"](self, y)

    def bmm(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute a batched matrix product, like `matmul` but without broadcasting, see `tapegrad.bmm`."""
        return IMPLEMENTATIONS["bmm"](self, y)

    def broadcast_to(self, *shape: Int | SizesOrList) -> Tensor[Any, T_co, D_co]:
        """Broadcast a tensor to a shape, along new axes and axes of size one, see `tapegrad.broadcast_to`."""
        with trim_on_exit:
            return IMPLEMENTATIONS["broadcast_to"](self, _as_tuple(shape))

    def cbrt(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the cube root, which is negative for a negative number, see `tapegrad.cbrt`."""
        return IMPLEMENTATIONS["cbrt"](self)

    def ceil(self) -> Tensor[S_co, NoneTape, D_co]:
        """Round up to an integer, see `tapegrad.ceil`."""
        return IMPLEMENTATIONS["ceil"](self)

    def celu(self, alpha: float = 1.0) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.celu`."""
        return IMPLEMENTATIONS["celu"](self, alpha)

    def cholesky(self) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.cholesky`."""
        return IMPLEMENTATIONS["cholesky"](self)

    def chunk(self, chunks: int, axis: Int = 0) -> tuple[Tensor[Any, T_co, D_co], ...]:
        """See `tapegrad.chunk`."""
        return IMPLEMENTATIONS["chunk"](self, chunks, axis)

    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor[S_co, T_co, D_co]:
        """Clamp each element to an interval, see `tapegrad.clamp`."""
        return IMPLEMENTATIONS["clamp"](self, min, max)

    def copysign(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Return `x` with the sign of `y`, element by element, see `tapegrad.copysign`."""
        return IMPLEMENTATIONS["copysign"](self, y)

    def cos(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the cosine, see `tapegrad.cos`."""
        return IMPLEMENTATIONS["cos"](self)

    def cosh(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the hyperbolic cosine, see `tapegrad.cosh`."""
        return IMPLEMENTATIONS["cosh"](self)

    def count_nonzero(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, NoneTape, np.int64]:
        """Count the nonzero elements along axes, see `tapegrad.count_nonzero`."""
        return IMPLEMENTATIONS["count_nonzero"](self, axis, keepdims=keepdims)

    def cross(self, y: Tensor[Any, T2, Any], axis: Int = -1) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the cross product of vectors in three dimensions, see `tapegrad.cross`."""
        return IMPLEMENTATIONS["cross"](self, y, axis)

    def cummax(self, axis: Int | None = None) -> Tensor[Any, T_co, D_co]:
        """Compute the cumulative maximum along an axis, see `tapegrad.cummax`."""
        return IMPLEMENTATIONS["cummax"](self, axis)

    def cummin(self, axis: Int | None = None) -> Tensor[Any, T_co, D_co]:
        """Compute the cumulative minimum along an axis, see `tapegrad.cummin`."""
        return IMPLEMENTATIONS["cummin"](self, axis)

    def cumprod(self, axis: Int | None = None) -> Tensor[Any, T_co, D_co]:
        """Compute the cumulative product along an axis, see `tapegrad.cumprod`."""
        return IMPLEMENTATIONS["cumprod"](self, axis)

    def cumsum(self, axis: Int | None = None) -> Tensor[Any, T_co, D_co]:
        """Compute the cumulative sum along an axis, see `tapegrad.cumsum`."""
        return IMPLEMENTATIONS["cumsum"](self, axis)

    def deg2rad(self) -> Tensor[S_co, T_co, D_co]:
        """Convert degrees to radians, see `tapegrad.deg2rad`."""
        return IMPLEMENTATIONS["deg2rad"](self)

    def det(self) -> Tensor[Any, T_co, D_co]:
        """Compute the determinant of each matrix, see `tapegrad.det`."""
        return IMPLEMENTATIONS["det"](self)

    def diag(self, k: int = 0) -> Tensor[Any, T_co, D_co]:
        """Extract a diagonal of a matrix, or create a diagonal matrix from a vector, see `tapegrad.diag`."""
        return IMPLEMENTATIONS["diag"](self, k)

    def diagonal(self, offset: int = 0, axis1: Int = 0, axis2: Int = 1) -> Tensor[Any, T_co, D_co]:
        """Return a diagonal of each matrix, as the last axis, see `tapegrad.diagonal`."""
        return IMPLEMENTATIONS["diagonal"](self, offset, axis1, axis2)

    def diff(self, n: int = 1, axis: Int = -1) -> Tensor[Any, T_co, D_co]:
        """Compute the differences of neighbouring elements along an axis, `n` times, see `tapegrad.diff`."""
        return IMPLEMENTATIONS["diff"](self, n, axis)

    def div(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Divide two tensors element by element, see `tapegrad.div`."""
        return IMPLEMENTATIONS["div"](self, y)

    def divmod(
        self, y: Tensor[Any, T2, Any] | Number
    ) -> tuple[Tensor[Any, NoneTape, D_co], Tensor[Any, Merge[T_co, T2], D_co]]:
        """See `tapegrad.divmod`."""
        return IMPLEMENTATIONS["divmod"](self, y)

    def dot(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the dot product of two vectors, see `tapegrad.dot`."""
        return IMPLEMENTATIONS["dot"](self, y)

    def dropout(self, rate: float = 0.5, *, rng: RNG = None) -> Tensor[S_co, T_co, D_co]:
        """Apply dropout in training: set elements to zero at random and scale up the others, see `tapegrad.dropout`."""
        return IMPLEMENTATIONS["dropout"](self, rate, rng=rng)

    def eigh(self) -> tuple[Tensor[Any, T_co, D_co], Tensor[Any, T_co, D_co]]:
        """Compute the eigenvalues and eigenvectors of symmetric matrices, see `tapegrad.eigh`."""
        return IMPLEMENTATIONS["eigh"](self)

    def eigvalsh(self) -> Tensor[Any, T_co, D_co]:
        """Compute the eigenvalues of symmetric matrices, see `tapegrad.eigvalsh`."""
        return IMPLEMENTATIONS["eigvalsh"](self)

    def elu(self, alpha: float = 1.0) -> Tensor[S_co, T_co, D_co]:
        """Compute the exponential linear unit (ELU) of each element, see `tapegrad.elu`."""
        return IMPLEMENTATIONS["elu"](self, alpha)

    def equal(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is equal to `y`, element by element, see `tapegrad.equal`."""
        return IMPLEMENTATIONS["equal"](self, y)

    def erf(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the error function of each element, see `tapegrad.erf`."""
        return IMPLEMENTATIONS["erf"](self)

    def exp(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the exponential of each element, see `tapegrad.exp`."""
        return IMPLEMENTATIONS["exp"](self)

    def exp2(self) -> Tensor[S_co, T_co, D_co]:
        """Compute 2 to the power of each element, see `tapegrad.exp2`."""
        return IMPLEMENTATIONS["exp2"](self)

    def expand_dims(self, axis: Int | tuple[Int, ...]) -> Tensor[Any, T_co, D_co]:
        """Insert axes of size one, see `tapegrad.expand_dims`."""
        return IMPLEMENTATIONS["expand_dims"](self, axis)

    def expm1(self) -> Tensor[S_co, T_co, D_co]:
        """Compute e to the power of each element, minus 1, accurately where x is near zero, see `tapegrad.expm1`."""
        return IMPLEMENTATIONS["expm1"](self)

    def flatten(self, start_axis: Int = 0, end_axis: Int = -1) -> Tensor[Any, T_co, D_co]:
        """Flatten neighbouring axes into one, in row-major order, see `tapegrad.flatten`."""
        return IMPLEMENTATIONS["flatten"](self, start_axis, end_axis)

    def flip(self, axis: Axis = None) -> Tensor[Any, T_co, D_co]:
        """Reverse the order of elements along axes, see `tapegrad.flip`."""
        return IMPLEMENTATIONS["flip"](self, axis)

    def float_power(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], np.float64]:
        """See `tapegrad.float_power`."""
        return IMPLEMENTATIONS["float_power"](self, y)

    def floor(self) -> Tensor[S_co, NoneTape, D_co]:
        """Round down to an integer, see `tapegrad.floor`."""
        return IMPLEMENTATIONS["floor"](self)

    def floor_divide(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Divide and round down, like Python's `//`, see `tapegrad.floor_divide`."""
        return IMPLEMENTATIONS["floor_divide"](self, y)

    def fmax(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Return the element-wise maximum, ignoring NaN if the other element is a number, see `tapegrad.fmax`."""
        return IMPLEMENTATIONS["fmax"](self, y)

    def fmin(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Return the element-wise minimum, ignoring NaN if the other element is a number, see `tapegrad.fmin`."""
        return IMPLEMENTATIONS["fmin"](self, y)

    def fmod(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """See `tapegrad.fmod`."""
        return IMPLEMENTATIONS["fmod"](self, y)

    def frexp(self) -> tuple[Tensor[S_co, T_co, D_co], Tensor[S_co, NoneTape, np.int32]]:
        """Split each element into a mantissa and an exponent of two, see `tapegrad.frexp`."""
        return IMPLEMENTATIONS["frexp"](self)

    def gather(self, indices: Tensor[Any, T2, np.integer[Any]], axis: Int = 0) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Gather elements along an axis, one for each index, see `tapegrad.gather`."""
        return IMPLEMENTATIONS["gather"](self, indices, axis)

    def gcd(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Compute the greatest common divisor, see `tapegrad.gcd`."""
        return IMPLEMENTATIONS["gcd"](self, y)

    def gelu(self, *, approximate: Literal["none", "tanh"] = "none") -> Tensor[S_co, T_co, D_co]:
        """Compute the GELU activation: multiply each element by its standard normal CDF, see `tapegrad.gelu`."""
        return IMPLEMENTATIONS["gelu"](self, approximate=approximate)

    def greater(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is greater than `y`, element by element, see `tapegrad.greater`."""
        return IMPLEMENTATIONS["greater"](self, y)

    def greater_equal(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is greater than or equal to `y`, element by element, see `tapegrad.greater_equal`."""
        return IMPLEMENTATIONS["greater_equal"](self, y)

    def hardswish(self) -> Tensor[S_co, T_co, D_co]:
        """Compute hard swish, a piecewise quadratic approximation of `silu`, see `tapegrad.hardswish`."""
        return IMPLEMENTATIONS["hardswish"](self)

    def hardtanh(self, min: float = -1.0, max: float = 1.0) -> Tensor[S_co, T_co, D_co]:
        """Bound each element to an interval, a piecewise linear approximation of `tanh`, see `tapegrad.hardtanh`."""
        return IMPLEMENTATIONS["hardtanh"](self, min, max)

    def heaviside(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the Heaviside step function of `x`, see `tapegrad.heaviside`."""
        return IMPLEMENTATIONS["heaviside"](self, y)

    def hypot(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the hypotenuse of a right triangle from its legs, without overflow, see `tapegrad.hypot`."""
        return IMPLEMENTATIONS["hypot"](self, y)

    def interpolate(
        self, size: Sizes | Int, mode: Literal["nearest", "linear", "cubic"] = "nearest", *, align_corners: bool = False
    ) -> Tensor[Any, T_co, D_co]:
        """See `tapegrad.interpolate`."""
        return IMPLEMENTATIONS["interpolate"](self, size, mode, align_corners=align_corners)

    def inv(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the inverse of each matrix, see `tapegrad.inv`."""
        return IMPLEMENTATIONS["inv"](self)

    def isclose(
        self, y: Tensor[Any, Any, Any] | Number, *, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is close to `y`, element by element, see `tapegrad.isclose`."""
        return IMPLEMENTATIONS["isclose"](self, y, rtol=rtol, atol=atol, equal_nan=equal_nan)

    def isfinite(self) -> Tensor[S_co, NoneTape, np.bool_]:
        """Return whether each element is finite: neither infinite nor NaN, see `tapegrad.isfinite`."""
        return IMPLEMENTATIONS["isfinite"](self)

    def isinf(self) -> Tensor[S_co, NoneTape, np.bool_]:
        """Return whether each element is infinite, of either sign, see `tapegrad.isinf`."""
        return IMPLEMENTATIONS["isinf"](self)

    def isnan(self) -> Tensor[S_co, NoneTape, np.bool_]:
        """Return whether each element is NaN, see `tapegrad.isnan`."""
        return IMPLEMENTATIONS["isnan"](self)

    def kron(self, y: Tensor[Any, T2, Any]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the Kronecker product: `y` times each element of `x`, block by block, see `tapegrad.kron`."""
        return IMPLEMENTATIONS["kron"](self, y)

    def lcm(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Compute the least common multiple, see `tapegrad.lcm`."""
        return IMPLEMENTATIONS["lcm"](self, y)

    def ldexp(
        self, y: Tensor[Any, T2, Any] | int | np.integer[Any] | np.ndarray[Any, np.dtype[np.integer[Any]]]
    ) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Multiply by a power of two, exactly: the inverse of `frexp`, see `tapegrad.ldexp`."""
        return IMPLEMENTATIONS["ldexp"](self, y)

    def leaky_relu(self, negative_slope: float = 0.01) -> Tensor[S_co, T_co, D_co]:
        """Compute the leaky ReLU: multiply negative elements by a small factor, see `tapegrad.leaky_relu`."""
        return IMPLEMENTATIONS["leaky_relu"](self, negative_slope)

    def less(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is less than `y`, element by element, see `tapegrad.less`."""
        return IMPLEMENTATIONS["less"](self, y)

    def less_equal(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is less than or equal to `y`, element by element, see `tapegrad.less_equal`."""
        return IMPLEMENTATIONS["less_equal"](self, y)

    def log(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the natural logarithm of each element, see `tapegrad.log`."""
        return IMPLEMENTATIONS["log"](self)

    def log10(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the logarithm to base 10 of each element, see `tapegrad.log10`."""
        return IMPLEMENTATIONS["log10"](self)

    def log1p(self) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.log1p`."""
        return IMPLEMENTATIONS["log1p"](self)

    def log2(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the logarithm to base 2 of each element, see `tapegrad.log2`."""
        return IMPLEMENTATIONS["log2"](self)

    def log_sigmoid(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the logarithm of the sigmoid of each element, without underflow, see `tapegrad.log_sigmoid`."""
        return IMPLEMENTATIONS["log_sigmoid"](self)

    def log_softmax(self, axis: Int = -1) -> Tensor[S_co, T_co, D_co]:
        """Compute the logarithm of the softmax along an axis, see `tapegrad.log_softmax`."""
        return IMPLEMENTATIONS["log_softmax"](self, axis)

    def logaddexp(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """See `tapegrad.logaddexp`."""
        return IMPLEMENTATIONS["logaddexp"](self, y)

    def logaddexp2(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """See `tapegrad.logaddexp2`."""
        return IMPLEMENTATIONS["logaddexp2"](self, y)

    def logcumsumexp(self, axis: Int | None = None) -> Tensor[Any, T_co, D_co]:
        """See `tapegrad.logcumsumexp`."""
        return IMPLEMENTATIONS["logcumsumexp"](self, axis)

    def logical_and(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Compute the logical AND of two tensors, see `tapegrad.logical_and`."""
        return IMPLEMENTATIONS["logical_and"](self, y)

    def logical_not(self) -> Tensor[S_co, NoneTape, np.bool_]:
        """Compute the logical NOT of each element, see `tapegrad.logical_not`."""
        return IMPLEMENTATIONS["logical_not"](self)

    def logical_or(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Compute the logical OR of two tensors, see `tapegrad.logical_or`."""
        return IMPLEMENTATIONS["logical_or"](self, y)

    def logical_xor(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Compute the logical XOR of two tensors, see `tapegrad.logical_xor`."""
        return IMPLEMENTATIONS["logical_xor"](self, y)

    def logit(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the logarithm of the odds of each probability, the inverse of `sigmoid`, see `tapegrad.logit`."""
        return IMPLEMENTATIONS["logit"](self)

    def logsumexp(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the logarithm of the sum of exponentials along axes, a smooth maximum, see `tapegrad.logsumexp`."""
        return IMPLEMENTATIONS["logsumexp"](self, axis, keepdims=keepdims)

    def lstsq(self, y: Tensor[Any, T2, Any], *, rtol: float | None = None) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """See `tapegrad.lstsq`."""
        return IMPLEMENTATIONS["lstsq"](self, y, rtol=rtol)

    def masked_fill(
        self, mask: Tensor[Any, Any, np.bool_], value: Tensor[Any, T2, Any] | Number
    ) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Replace elements by a value where a mask is True, see `tapegrad.masked_fill`."""
        return IMPLEMENTATIONS["masked_fill"](self, mask, value)

    def masked_select(self, mask: Tensor[Any, Any, np.bool_]) -> Tensor[Any, T_co, D_co]:
        """Select the elements where a mask is True, in row-major order, see `tapegrad.masked_select`."""
        return IMPLEMENTATIONS["masked_select"](self, mask)

    def matmul(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Multiply matrices or stacks of matrices, see `tapegrad.matmul`."""
        return IMPLEMENTATIONS["matmul"](self, y)

    def matrix_transpose(self) -> Tensor[Any, T_co, D_co]:
        """Transpose each matrix of a stack: `x.mT`, see `tapegrad.matrix_transpose`."""
        return IMPLEMENTATIONS["matrix_transpose"](self)

    def matvec(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the products of stacked matrices and vectors, see `tapegrad.matvec`."""
        return IMPLEMENTATIONS["matvec"](self, y)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Return the largest element along axes, see `tapegrad.max`."""
        return IMPLEMENTATIONS["max"](self, axis, keepdims=keepdims)

    def max_pool1d(
        self,
        kernel: int | tuple[int],
        stride: int | tuple[int] | None = None,
        padding: int | tuple[int] = 0,
        *,
        dilation: int | tuple[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 1D max pooling, see `tapegrad.max_pool1d`."""
        return IMPLEMENTATIONS["max_pool1d"](self, kernel, stride, padding, dilation=dilation, ceil_mode=ceil_mode)

    def max_pool2d(
        self,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        *,
        dilation: int | tuple[int, int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 2D max pooling, see `tapegrad.max_pool2d`."""
        return IMPLEMENTATIONS["max_pool2d"](self, kernel, stride, padding, dilation=dilation, ceil_mode=ceil_mode)

    def maximum(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Return the element-wise maximum, see `tapegrad.maximum`."""
        return IMPLEMENTATIONS["maximum"](self, y)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the mean along axes, see `tapegrad.mean`."""
        return IMPLEMENTATIONS["mean"](self, axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Return the smallest element along axes, see `tapegrad.min`."""
        return IMPLEMENTATIONS["min"](self, axis, keepdims=keepdims)

    def min_pool1d(
        self,
        kernel: int | tuple[int],
        stride: int | tuple[int] | None = None,
        padding: int | tuple[int] = 0,
        *,
        dilation: int | tuple[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 1D min pooling, see `tapegrad.min_pool1d`."""
        return IMPLEMENTATIONS["min_pool1d"](self, kernel, stride, padding, dilation=dilation, ceil_mode=ceil_mode)

    def min_pool2d(
        self,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        *,
        dilation: int | tuple[int, int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 2D min pooling, see `tapegrad.min_pool2d`."""
        return IMPLEMENTATIONS["min_pool2d"](self, kernel, stride, padding, dilation=dilation, ceil_mode=ceil_mode)

    def minimum(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Return the element-wise minimum, see `tapegrad.minimum`."""
        return IMPLEMENTATIONS["minimum"](self, y)

    def mish(self) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.mish`."""
        return IMPLEMENTATIONS["mish"](self)

    def modf(self) -> tuple[Tensor[S_co, T_co, D_co], Tensor[S_co, NoneTape, D_co]]:
        """Split each element into its fractional and integral part, see `tapegrad.modf`."""
        return IMPLEMENTATIONS["modf"](self)

    def moveaxis(self, source: Int | tuple[Int, ...], destination: Int | tuple[Int, ...]) -> Tensor[Any, T_co, D_co]:
        """Move axes to other positions, see `tapegrad.moveaxis`."""
        return IMPLEMENTATIONS["moveaxis"](self, source, destination)

    def mul(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Multiply two tensors element by element, see `tapegrad.mul`."""
        return IMPLEMENTATIONS["mul"](self, y)

    def nan_to_num(
        self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Tensor[S_co, T_co, D_co]:
        """Replace NaN and infinities by numbers, see `tapegrad.nan_to_num`."""
        return IMPLEMENTATIONS["nan_to_num"](self, nan, posinf, neginf)

    def neg(self) -> Tensor[S_co, T_co, D_co]:
        """Negate each element, see `tapegrad.neg`."""
        return IMPLEMENTATIONS["neg"](self)

    def nextafter(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, D_co]:
        """Return the next float after `x` towards `y`, see `tapegrad.nextafter`."""
        return IMPLEMENTATIONS["nextafter"](self, y)

    def nonzero(self) -> tuple[Tensor[Any, NoneTape, np.int64], ...]:
        """Return the indices of the nonzero elements, in row-major order, see `tapegrad.nonzero`."""
        return IMPLEMENTATIONS["nonzero"](self)

    def norm(self, axis: Axis = None, *, ord: float = 2, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the p-norm of vectors along axes, see `tapegrad.norm`."""
        return IMPLEMENTATIONS["norm"](self, axis, ord=ord, keepdims=keepdims)

    def normalize(self, axis: Axis = -1, *, eps: float = 1e-05) -> Tensor[S_co, T_co, D_co]:
        """Normalize to zero mean and unit variance along axes, see `tapegrad.normalize`."""
        return IMPLEMENTATIONS["normalize"](self, axis, eps=eps)

    def not_equal(self, y: Tensor[Any, Any, Any] | Number) -> Tensor[Any, NoneTape, np.bool_]:
        """Return whether `x` is not equal to `y`, element by element, see `tapegrad.not_equal`."""
        return IMPLEMENTATIONS["not_equal"](self, y)

    def outer(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the outer product of two vectors, see `tapegrad.outer`."""
        return IMPLEMENTATIONS["outer"](self, y)

    def pad(
        self,
        pad_width: int | tuple[int, int] | tuple[tuple[int, int], ...],
        *,
        mode: Literal["constant", "edge", "reflect", "wrap"] = "constant",
        value: Scalar = 0,
    ) -> Tensor[Any, T_co, D_co]:
        """Pad a tensor with a constant or with its own elements, see `tapegrad.pad`."""
        return IMPLEMENTATIONS["pad"](self, pad_width, mode=mode, value=value)

    def permute(self, *axes: Int | Sizes) -> Tensor[Any, T_co, D_co]:
        """Permute the axes: `transpose` with a required order, see `tapegrad.permute`."""
        with trim_on_exit:
            return IMPLEMENTATIONS["permute"](self, _as_tuple(axes))

    def pinv(self, *, rtol: float | None = None) -> Tensor[Any, T_co, D_co]:
        """Compute the pseudoinverse of each matrix, of any shape and rank (Moore-Penrose), see `tapegrad.pinv`."""
        return IMPLEMENTATIONS["pinv"](self, rtol=rtol)

    def positive(self) -> Tensor[S_co, T_co, D_co]:
        """Return `+x`, which has the values of `x`, see `tapegrad.positive`."""
        return IMPLEMENTATIONS["positive"](self)

    def pow(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Raise `x` to the power `y` element by element, see `tapegrad.pow`."""
        return IMPLEMENTATIONS["pow"](self, y)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the product along axes, see `tapegrad.prod`."""
        return IMPLEMENTATIONS["prod"](self, axis, keepdims=keepdims)

    def qr(self) -> tuple[Tensor[Any, T_co, D_co], Tensor[Any, T_co, D_co]]:
        """Decompose matrices into one with orthonormal columns and an upper triangular one, see `tapegrad.qr`."""
        return IMPLEMENTATIONS["qr"](self)

    def rad2deg(self) -> Tensor[S_co, T_co, D_co]:
        """Convert radians to degrees, see `tapegrad.rad2deg`."""
        return IMPLEMENTATIONS["rad2deg"](self)

    def reciprocal(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the reciprocal, see `tapegrad.reciprocal`."""
        return IMPLEMENTATIONS["reciprocal"](self)

    def relu(self) -> Tensor[S_co, T_co, D_co]:
        """Apply the rectified linear unit (ReLU): replace negative elements by zero, see `tapegrad.relu`."""
        return IMPLEMENTATIONS["relu"](self)

    def relu6(self) -> Tensor[S_co, T_co, D_co]:
        """Apply the rectified linear unit with an upper bound of 6, see `tapegrad.relu6`."""
        return IMPLEMENTATIONS["relu6"](self)

    def remainder(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """See `tapegrad.remainder`."""
        return IMPLEMENTATIONS["remainder"](self, y)

    def repeat(self, repeats: int, axis: Int | None = None) -> Tensor[Any, T_co, D_co]:
        """Repeat each element along an axis, see `tapegrad.repeat`."""
        return IMPLEMENTATIONS["repeat"](self, repeats, axis)

    def reshape(self, *shape: Int | SizesOrList) -> Tensor[Any, T_co, D_co]:
        """Change the shape of a tensor, keeping the elements in row-major order, see `tapegrad.reshape`."""
        with trim_on_exit:
            return IMPLEMENTATIONS["reshape"](self, _as_tuple(shape))

    def roll(self, shift: Int | tuple[Int, ...], axis: Axis = None) -> Tensor[S_co, T_co, D_co]:
        """Roll elements along axes, see `tapegrad.roll`."""
        return IMPLEMENTATIONS["roll"](self, shift, axis)

    def rotary_embedding(self, *, offset: int = 0, base: float = 10000.0) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.rotary_embedding`."""
        return IMPLEMENTATIONS["rotary_embedding"](self, offset=offset, base=base)

    def round(self) -> Tensor[S_co, NoneTape, D_co]:
        """Round to the nearest integer, halves to the even one, see `tapegrad.round`."""
        return IMPLEMENTATIONS["round"](self)

    def rsqrt(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the reciprocal of the square root, see `tapegrad.rsqrt`."""
        return IMPLEMENTATIONS["rsqrt"](self)

    def safe_log(self, eps: float = 1e-06) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.safe_log`."""
        return IMPLEMENTATIONS["safe_log"](self, eps)

    def scale(self, *, factor: float) -> Tensor[S_co, T_co, D_co]:
        """Multiply a tensor by a number, see `tapegrad.scale`."""
        return IMPLEMENTATIONS["scale"](self, factor=factor)

    def scatter(
        self, indices: Tensor[Any, T1, np.integer[Any]], updates: Tensor[Any, T2, Any], axis: Int = 0
    ) -> Tensor[Any, Merge[T_co, Merge[T1, T2]], D_co]:
        """Return a copy of `x` with elements along an axis replaced, one for each index, see `tapegrad.scatter`."""
        return IMPLEMENTATIONS["scatter"](self, indices, updates, axis)

    def scatter_reduce(
        self,
        indices: Tensor[Any, T1, np.integer[Any]],
        updates: Tensor[Any, T2, Any],
        axis: Int = 0,
        *,
        reduction: Literal["sum", "mean", "prod", "max", "min"] = "sum",
        include_self: bool = True,
    ) -> Tensor[Any, Merge[T_co, Merge[T1, T2]], D_co]:
        """See `tapegrad.scatter_reduce`."""
        return IMPLEMENTATIONS["scatter_reduce"](
            self, indices, updates, axis, reduction=reduction, include_self=include_self
        )

    def select(self, index: int, axis: Int = 0) -> Tensor[Any, T_co, D_co]:
        """Select one slice along an axis, see `tapegrad.select`."""
        return IMPLEMENTATIONS["select"](self, index, axis)

    def selu(self) -> Tensor[S_co, T_co, D_co]:
        """See `tapegrad.selu`."""
        return IMPLEMENTATIONS["selu"](self)

    def sigmoid(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the logistic sigmoid of each element, see `tapegrad.sigmoid`."""
        return IMPLEMENTATIONS["sigmoid"](self)

    def sign(self) -> Tensor[S_co, NoneTape, D_co]:
        """Return the sign of each element, see `tapegrad.sign`."""
        return IMPLEMENTATIONS["sign"](self)

    def signbit(self) -> Tensor[S_co, NoneTape, np.bool_]:
        """Return where the sign bit is set, including that of -0.0 and NaN, see `tapegrad.signbit`."""
        return IMPLEMENTATIONS["signbit"](self)

    def silu(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the SiLU (swish) activation: multiply each element by its sigmoid, see `tapegrad.silu`."""
        return IMPLEMENTATIONS["silu"](self)

    def sin(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the sine, see `tapegrad.sin`."""
        return IMPLEMENTATIONS["sin"](self)

    def sinh(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the hyperbolic sine, see `tapegrad.sinh`."""
        return IMPLEMENTATIONS["sinh"](self)

    def slogdet(self) -> tuple[Tensor[Any, NoneTape, D_co], Tensor[Any, T_co, D_co]]:
        """See `tapegrad.slogdet`."""
        return IMPLEMENTATIONS["slogdet"](self)

    def smooth_max_pool1d(
        self,
        kernel: int | tuple[int],
        *,
        beta: float = 1.0,
        stride: int | tuple[int] | None = None,
        padding: int | tuple[int] = 0,
        dilation: int | tuple[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 1D smooth max pooling (log-sum-exp), see `tapegrad.smooth_max_pool1d`."""
        return IMPLEMENTATIONS["smooth_max_pool1d"](
            self, kernel, beta=beta, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
        )

    def smooth_max_pool2d(
        self,
        kernel: int | tuple[int, int],
        *,
        beta: float = 1.0,
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """Compute 2D smooth max pooling (log-sum-exp), see `tapegrad.smooth_max_pool2d`."""
        return IMPLEMENTATIONS["smooth_max_pool2d"](
            self, kernel, beta=beta, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
        )

    def softmax(self, axis: Int = -1) -> Tensor[S_co, T_co, D_co]:
        """Compute the softmax along an axis, see `tapegrad.softmax`."""
        return IMPLEMENTATIONS["softmax"](self, axis)

    def softplus(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the softplus of each element, a smooth approximation of `relu`, see `tapegrad.softplus`."""
        return IMPLEMENTATIONS["softplus"](self)

    def solve(self, y: Tensor[Any, T2, Any]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Solve systems of linear equations, see `tapegrad.solve`."""
        return IMPLEMENTATIONS["solve"](self, y)

    def sort(self, axis: Int = -1, *, descending: bool = False) -> Tensor[S_co, T_co, D_co]:
        """Sort the elements along an axis, see `tapegrad.sort`."""
        return IMPLEMENTATIONS["sort"](self, axis, descending=descending)

    def spacing(self) -> Tensor[S_co, NoneTape, D_co]:
        """Return the distance to the next float away from zero, see `tapegrad.spacing`."""
        return IMPLEMENTATIONS["spacing"](self)

    def split(self, sections: int | tuple[int, ...] | list[int], axis: Int = 0) -> tuple[Tensor[Any, T_co, D_co], ...]:
        """Split a tensor into parts along an axis: the inverse of `concat`, see `tapegrad.split`."""
        return IMPLEMENTATIONS["split"](self, sections, axis)

    def sqrt(self, *, safe: bool = False) -> Tensor[S_co, T_co, D_co]:
        """Compute the square root, see `tapegrad.sqrt`."""
        return IMPLEMENTATIONS["sqrt"](self, safe=safe)

    def square(self) -> Tensor[S_co, T_co, D_co]:
        """Square each element, see `tapegrad.square`."""
        return IMPLEMENTATIONS["square"](self)

    def squeeze(self, axis: Axis = None) -> Tensor[Any, T_co, D_co]:
        """Remove axes of size one, see `tapegrad.squeeze`."""
        return IMPLEMENTATIONS["squeeze"](self, axis)

    def std(self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the standard deviation along axes: the square root of the variance, see `tapegrad.std`."""
        return IMPLEMENTATIONS["std"](self, axis, correction=correction, keepdims=keepdims)

    def sub(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Subtract two tensors element by element, see `tapegrad.sub`."""
        return IMPLEMENTATIONS["sub"](self, y)

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the sum along axes, see `tapegrad.sum`."""
        return IMPLEMENTATIONS["sum"](self, axis, keepdims=keepdims)

    def svd(
        self, *, full_matrices: bool = False
    ) -> tuple[Tensor[Any, T_co, D_co], Tensor[Any, T_co, D_co], Tensor[Any, T_co, D_co]]:
        """Compute the singular value decomposition of matrices, in its reduced form, see `tapegrad.svd`."""
        return IMPLEMENTATIONS["svd"](self, full_matrices=full_matrices)

    def svdvals(self) -> Tensor[Any, T_co, D_co]:
        """Compute the singular values of matrices, see `tapegrad.svdvals`."""
        return IMPLEMENTATIONS["svdvals"](self)

    def swapaxes(self, axis1: Int, axis2: Int) -> Tensor[Any, T_co, D_co]:
        """Swap two axes, see `tapegrad.swapaxes`."""
        return IMPLEMENTATIONS["swapaxes"](self, axis1, axis2)

    def take(self, indices: Tensor[Any, T2, np.integer[Any]], axis: Int = 0) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Take slices by index along an axis, see `tapegrad.take`."""
        return IMPLEMENTATIONS["take"](self, indices, axis)

    def tan(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the tangent, see `tapegrad.tan`."""
        return IMPLEMENTATIONS["tan"](self)

    def tanh(self) -> Tensor[S_co, T_co, D_co]:
        """Compute the hyperbolic tangent of each element, see `tapegrad.tanh`."""
        return IMPLEMENTATIONS["tanh"](self)

    def tile(self, *reps: Int | Sizes) -> Tensor[Any, T_co, D_co]:
        """Tile a tensor: repeat it as a whole along each axis, see `tapegrad.tile`."""
        with trim_on_exit:
            return IMPLEMENTATIONS["tile"](self, _as_tuple(reps))

    def topk(
        self, k: int, axis: Int = -1, *, largest: bool = True
    ) -> tuple[Tensor[Any, T_co, D_co], Tensor[Any, NoneTape, np.int64]]:
        """Return the k largest elements along an axis in descending order, and their indices, see `tapegrad.topk`."""
        return IMPLEMENTATIONS["topk"](self, k, axis, largest=largest)

    def transpose(self, *axes: Int | Sizes | None) -> Tensor[Any, T_co, D_co]:
        """Permute the axes, see `tapegrad.transpose`."""
        with trim_on_exit:
            return IMPLEMENTATIONS["transpose"](self, _as_tuple(axes) if axes else None)

    def tril(self, k: int = 0) -> Tensor[S_co, T_co, D_co]:
        """Return the lower triangle of each matrix, with zeros above a diagonal, see `tapegrad.tril`."""
        return IMPLEMENTATIONS["tril"](self, k)

    def triu(self, k: int = 0) -> Tensor[S_co, T_co, D_co]:
        """Return the upper triangle of each matrix, with zeros below a diagonal, see `tapegrad.triu`."""
        return IMPLEMENTATIONS["triu"](self, k)

    def trunc(self) -> Tensor[S_co, NoneTape, D_co]:
        """Round towards zero, see `tapegrad.trunc`."""
        return IMPLEMENTATIONS["trunc"](self)

    def unflatten(self, axis: Int, sizes: Sizes) -> Tensor[Any, T_co, D_co]:
        """Split one axis into several, in row-major order: the inverse of `flatten`, see `tapegrad.unflatten`."""
        return IMPLEMENTATIONS["unflatten"](self, axis, sizes)

    def unfold(self, axis: Int, size: int, step: int = 1) -> Tensor[Any, T_co, D_co]:
        """Extract sliding windows along an axis, see `tapegrad.unfold`."""
        return IMPLEMENTATIONS["unfold"](self, axis, size, step)

    def unique(self) -> Tensor[Any, NoneTape, D_co]:
        """Return the distinct elements in ascending order, see `tapegrad.unique`."""
        return IMPLEMENTATIONS["unique"](self)

    def unstack(self, axis: Int = 0) -> tuple[Tensor[Any, T_co, D_co], ...]:
        """Unstack a tensor along an axis: the inverse of `stack`, see `tapegrad.unstack`."""
        return IMPLEMENTATIONS["unstack"](self, axis)

    def upsample2d(
        self,
        scale: int | tuple[int, int],
        mode: Literal["nearest", "bilinear"] = "nearest",
        *,
        align_corners: bool = False,
    ) -> Tensor[Any, T_co, D_co]:
        """See `tapegrad.upsample2d`."""
        return IMPLEMENTATIONS["upsample2d"](self, scale, mode, align_corners=align_corners)

    def var(self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False) -> Tensor[Any, T_co, D_co]:
        """Compute the variance along axes, see `tapegrad.var`."""
        return IMPLEMENTATIONS["var"](self, axis, correction=correction, keepdims=keepdims)

    def vecdot(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the dot products of two stacks of vectors, see `tapegrad.vecdot`."""
        return IMPLEMENTATIONS["vecdot"](self, y)

    def vecmat(self, y: Tensor[Any, T2, Any] | Number) -> Tensor[Any, Merge[T_co, T2], D_co]:
        """Compute the products of stacked vectors and matrices, see `tapegrad.vecmat`."""
        return IMPLEMENTATIONS["vecmat"](self, y)
