"""The namespace of the array API standard: `xp = x.__array_namespace__()`, or `from tapegrad import array_api as xp`.

Most functions are ops under the standard's name. Those defined here take the standard's options and call an op.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy import (
    bool,
    broadcast_shapes,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    newaxis,
    uint8,
    uint16,
    uint32,
    uint64,
)

from tapegrad.errors import DTypeError
from tapegrad.errors.messages import with_article
from tapegrad.errors.missing_names import attribute_of as _attribute_of
from tapegrad.errors.tracebacks import public_api
from tapegrad.ops.arithmetic import add
from tapegrad.ops.arithmetic import div as divide
from tapegrad.ops.arithmetic import mul as multiply
from tapegrad.ops.arithmetic import sub as subtract
from tapegrad.ops.axes import expand_dims, matrix_transpose, moveaxis, squeeze
from tapegrad.ops.axes import permute as permute_dims
from tapegrad.ops.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from tapegrad.ops.compare import equal, greater, greater_equal, less, less_equal, not_equal, where
from tapegrad.ops.create import empty as _empty
from tapegrad.ops.create import empty_like as _empty_like
from tapegrad.ops.create import full as _full
from tapegrad.ops.create import full_like as _full_like
from tapegrad.ops.create import ones as _ones
from tapegrad.ops.create import ones_like as _ones_like
from tapegrad.ops.create import tensor as _tensor
from tapegrad.ops.create import zeros as _zeros
from tapegrad.ops.create import zeros_like as _zeros_like
from tapegrad.ops.cumulative import cumprod as _cumprod
from tapegrad.ops.cumulative import cumsum as _cumsum
from tapegrad.ops.cumulative import diff
from tapegrad.ops.division import floor_divide, remainder
from tapegrad.ops.einsum import tensordot
from tapegrad.ops.elementwise import astype as _astype
from tapegrad.ops.elementwise import exp, log, positive, tanh
from tapegrad.ops.elementwise import neg as negative
from tapegrad.ops.exponential import expm1, log1p, log2, log10, logaddexp
from tapegrad.ops.float_parts import nextafter
from tapegrad.ops.index import gather as _gather
from tapegrad.ops.index import take
from tapegrad.ops.join import concat, stack, unstack
from tapegrad.ops.logical import isfinite, isinf, isnan, logical_and, logical_not, logical_or, logical_xor
from tapegrad.ops.masks import nonzero
from tapegrad.ops.matmul import matmul
from tapegrad.ops.move import broadcast_to
from tapegrad.ops.move import reshape as _reshape
from tapegrad.ops.power import hypot, pow, reciprocal, sqrt, square
from tapegrad.ops.ranges import arange as _arange
from tapegrad.ops.ranges import eye, linspace
from tapegrad.ops.reduce import max, mean, min
from tapegrad.ops.reduce import prod as _prod
from tapegrad.ops.reduce import sum as _sum
from tapegrad.ops.reductions_bool import all, any, argmax, argmin, count_nonzero
from tapegrad.ops.repeat import meshgrid, repeat, tile
from tapegrad.ops.rounding import abs, ceil, floor, maximum, minimum, round, sign, trunc
from tapegrad.ops.rounding import clamp as clip
from tapegrad.ops.search import isin, searchsorted
from tapegrad.ops.search import unique as unique_values
from tapegrad.ops.shift import flip, roll
from tapegrad.ops.signs import copysign, signbit
from tapegrad.ops.sort import argsort as _argsort
from tapegrad.ops.sort import sort as _sort
from tapegrad.ops.statistics import std, var
from tapegrad.ops.triangles import tril, triu
from tapegrad.ops.trigonometric import acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, sin, sinh, tan
from tapegrad.ops.vectors import vecdot
from tapegrad.tensors import T1, T2, D, G, Real, S, T, Tensor
from tapegrad.tensors.dlpack import from_dlpack

if TYPE_CHECKING:
    import builtins

    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.engines import Axis, Int
    from tapegrad.ops.create import Bools, Floats, Ints
    from tapegrad.tensors import Scalar, Sizes

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

globals()["__getattr__"] = _attribute_of(__name__)  # unseen by type checkers, which report a missing name themselves

__array_api_version__ = "2025.12"
Device: TypeAlias = Literal["cpu"] | None


@public_api
def empty(
    shape: Sizes | Int,
    *,
    dtype: type[D] | np.dtype[D] | None = None,
    device: Device = None,
) -> Tensor[Any, NoneTape, D]:
    """Create an uninitialized tensor, to be overwritten, float32 without `dtype`.

    Raises:
        DTypeError: `device` is not the CPU.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.empty(3).shape
        (3,)
    """
    _check("empty", device)
    return _empty(shape, np.float32 if dtype is None else dtype)


@public_api
def zeros(
    shape: Sizes | Int,
    *,
    dtype: type[D] | np.dtype[D] | None = None,
    device: Device = None,
) -> Tensor[Any, NoneTape, D]:
    """Create a tensor of zeros, float32 without `dtype`.

    Raises:
        DTypeError: `device` is not the CPU.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.zeros(3, device="cpu").tolist()
        [0.0, 0.0, 0.0]
    """
    _check("zeros", device)
    return _zeros(shape, np.float32 if dtype is None else dtype)


@public_api
def ones(
    shape: Sizes | Int,
    *,
    dtype: type[D] | np.dtype[D] | None = None,
    device: Device = None,
) -> Tensor[Any, NoneTape, D]:
    """Create a tensor of ones, float32 without `dtype`.

    Raises:
        DTypeError: `device` is not the CPU.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.ones(3, dtype=xp.int64).tolist()
        [1, 1, 1]
    """
    _check("ones", device)
    return _ones(shape, np.float32 if dtype is None else dtype)


@public_api
def full(
    shape: Sizes | Int,
    fill_value: Scalar,
    *,
    dtype: type[D] | np.dtype[D] | None = None,
    device: Device = None,
) -> Tensor[Any, NoneTape, D]:
    """Create a tensor filled with one number, float32 without `dtype`.

    Raises:
        DTypeError: `device` is not the CPU.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.full(3, 7.0).tolist()
        [7.0, 7.0, 7.0]
    """
    _check("full", device)
    return _full(shape, fill_value, np.float32 if dtype is None else dtype)


@overload
def empty_like(x: Tensor[S, Any, D], /, *, dtype: None = None, device: Device = None) -> Tensor[S, NoneTape, D]: ...
@overload
def empty_like(
    x: Tensor[S, Any, Any], /, *, dtype: type[G] | np.dtype[G], device: Device = None
) -> Tensor[S, NoneTape, G]: ...
@public_api
def empty_like(x: Tensor[S, Any, D], /, *, dtype: Any = None, device: Device = None) -> Any:
    """Create an uninitialized tensor with the shape of `x`, and its dtype without `dtype`.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.empty_like(xp.ones(3)).shape
        (3,)
    """
    _check("empty_like", device)
    return _empty_like(x) if dtype is None else _empty(x.shape, dtype)


@overload
def zeros_like(x: Tensor[S, Any, D], /, *, dtype: None = None, device: Device = None) -> Tensor[S, NoneTape, D]: ...
@overload
def zeros_like(
    x: Tensor[S, Any, Any], /, *, dtype: type[G] | np.dtype[G], device: Device = None
) -> Tensor[S, NoneTape, G]: ...
@public_api
def zeros_like(x: Tensor[S, Any, D], /, *, dtype: Any = None, device: Device = None) -> Any:
    """Create a tensor of zeros with the shape of `x`, and its dtype without `dtype`.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.zeros_like(xp.ones(3), dtype=xp.int64).tolist()
        [0, 0, 0]
    """
    _check("zeros_like", device)
    return _zeros_like(x) if dtype is None else _zeros(x.shape, dtype)


@overload
def ones_like(x: Tensor[S, Any, D], /, *, dtype: None = None, device: Device = None) -> Tensor[S, NoneTape, D]: ...
@overload
def ones_like(
    x: Tensor[S, Any, Any], /, *, dtype: type[G] | np.dtype[G], device: Device = None
) -> Tensor[S, NoneTape, G]: ...
@public_api
def ones_like(x: Tensor[S, Any, D], /, *, dtype: Any = None, device: Device = None) -> Any:
    """Create a tensor of ones with the shape of `x`, and its dtype without `dtype`.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.ones_like(xp.zeros(3)).tolist()
        [1.0, 1.0, 1.0]
    """
    _check("ones_like", device)
    return _ones_like(x) if dtype is None else _ones(x.shape, dtype)


@overload
def full_like(
    x: Tensor[S, Any, D], /, fill_value: Scalar, *, dtype: None = None, device: Device = None
) -> Tensor[S, NoneTape, D]: ...
@overload
def full_like(
    x: Tensor[S, Any, Any], /, fill_value: Scalar, *, dtype: type[G] | np.dtype[G], device: Device = None
) -> Tensor[S, NoneTape, G]: ...
@public_api
def full_like(x: Tensor[S, Any, D], /, fill_value: Scalar, *, dtype: Any = None, device: Device = None) -> Any:
    """Create a tensor filled with one number with the shape of `x`, and its dtype without `dtype`.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.full_like(xp.zeros(3), 7.0).tolist()
        [7.0, 7.0, 7.0]
    """
    _check("full_like", device)
    return _full_like(x, fill_value) if dtype is None else _full(x.shape, fill_value, dtype)


@overload
def sum(
    x: Tensor[Any, T, D], /, *, axis: Axis = None, dtype: None = None, keepdims: builtins.bool = False
) -> Tensor[Any, T, D]: ...
@overload
def sum(
    x: Tensor[Any, T, Any], /, *, axis: Axis = None, dtype: type[G] | np.dtype[G], keepdims: builtins.bool = False
) -> Tensor[Any, T, G]: ...
@public_api
def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: builtins.bool = False) -> Any:
    """Compute the sum along axes, after a conversion to `dtype` if it is given.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.sum(xp.ones((2, 3)), axis=1, dtype=xp.float64).tolist()
        [3.0, 3.0]
    """
    return _sum(x if dtype is None else _astype(x, dtype), axis, keepdims=keepdims)


@overload
def prod(
    x: Tensor[Any, T, D], /, *, axis: Axis = None, dtype: None = None, keepdims: builtins.bool = False
) -> Tensor[Any, T, D]: ...
@overload
def prod(
    x: Tensor[Any, T, Any], /, *, axis: Axis = None, dtype: type[G] | np.dtype[G], keepdims: builtins.bool = False
) -> Tensor[Any, T, G]: ...
@public_api
def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: builtins.bool = False) -> Any:
    """Compute the product along axes, after a conversion to `dtype` if it is given.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.prod(xp.full((2, 3), 2.0), axis=1).tolist()
        [8.0, 8.0]
    """
    return _prod(x if dtype is None else _astype(x, dtype), axis, keepdims=keepdims)


@overload
def asarray(
    data: Tensor[S, T, D], /, *, dtype: None = None, device: Device = None, copy: builtins.bool | None = None
) -> Tensor[S, T, D]: ...
@overload
def asarray(
    data: Tensor[S, T, Any],
    /,
    *,
    dtype: type[G] | np.dtype[G],
    device: Device = None,
    copy: builtins.bool | None = None,
) -> Tensor[S, T, G]: ...
@overload
def asarray(
    data: np.ndarray[S, np.dtype[D]], /, *, dtype: None = None, device: Device = None, copy: builtins.bool | None = None
) -> Tensor[S, NoneTape, D]: ...
@overload
def asarray(
    data: np.ndarray[S, Any],
    /,
    *,
    dtype: type[G] | np.dtype[G],
    device: Device = None,
    copy: builtins.bool | None = None,
) -> Tensor[S, NoneTape, G]: ...
@overload
def asarray(
    data: Any, /, *, dtype: type[G] | np.dtype[G], device: Device = None, copy: builtins.bool | None = None
) -> Tensor[Any, NoneTape, G]: ...
@overload
def asarray(  # type: ignore[overload-overlap]  # the first match counts: to mypy a bool is an int, and an int a float
    data: Bools, /, *, dtype: None = None, device: Device = None, copy: builtins.bool | None = None
) -> Tensor[Any, NoneTape, np.bool_]: ...
@overload
def asarray(  # type: ignore[overload-overlap]  # as above
    data: Ints, /, *, dtype: None = None, device: Device = None, copy: builtins.bool | None = None
) -> Tensor[Any, NoneTape, np.int64]: ...
@overload
def asarray(
    data: Floats, /, *, dtype: None = None, device: Device = None, copy: builtins.bool | None = None
) -> Tensor[Any, NoneTape, np.float32]: ...
@overload
def asarray(
    data: Any, /, *, dtype: None = None, device: Device = None, copy: builtins.bool | None = None
) -> Tensor[Any, NoneTape, Any]: ...
@public_api
def asarray(data: Any, /, *, dtype: Any = None, device: Device = None, copy: builtins.bool | None = None) -> Any:
    """Return a tensor as it is, or create one from a copy of nested lists or of an array.

    Raises:
        DTypeError: `copy` is False and `data` is no tensor, or `device` is not the CPU.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.asarray([1.0, 2.0], dtype=xp.float64)
        Tensor([1., 2.], shape=(2,), float64, no tape)
    """
    _check("asarray", device)
    if isinstance(data, Tensor):
        return data if dtype is None else _astype(data, dtype)
    if copy is False:
        message = f"asarray: copy is False but a tensor copies {with_article(type(data).__name__)}; leave copy out"
        raise DTypeError(message)
    return _tensor(data, dtype)


@public_api
def astype(
    x: Tensor[S, T, Any], dtype: type[G] | np.dtype[G], /, *, copy: builtins.bool = True, device: Device = None
) -> Tensor[S, T, G]:
    """Convert a tensor to a dtype; `copy` changes nothing, because tensors do not change.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.astype(xp.ones(2), xp.int64, copy=False).tolist()
        [1, 1]
    """
    _check("astype", device)
    return _astype(x, dtype)


@overload
def arange(
    start: Int, /, stop: Int | None = None, step: Int = 1, *, dtype: None = None, device: Device = None
) -> Tensor[Any, NoneTape, np.int64]: ...
@overload
def arange(
    start: Int, /, stop: Int | None = None, step: Int = 1, *, dtype: type[G] | np.dtype[G], device: Device = None
) -> Tensor[Any, NoneTape, G]: ...
@public_api
def arange(
    start: Int, /, stop: Int | None = None, step: Int = 1, *, dtype: Any = None, device: Device = None
) -> Tensor[Any, NoneTape, Any]:
    """Create a tensor of evenly spaced ints, int64 without `dtype`.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.arange(3, dtype=xp.float32).tolist()
        [0.0, 1.0, 2.0]
    """
    _check("arange", device)
    x = _arange(start, stop, step)
    return x if dtype is None else _astype(x, dtype)


@public_api
def reshape(x: Tensor[Any, T, D], /, shape: Sizes, *, copy: builtins.bool | None = None) -> Tensor[Any, T, D]:
    """Change the shape, not the order of the elements; `copy` changes nothing, because tensors do not change.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.reshape(xp.ones((2, 3)), (3, -1)).shape
        (3, 2)
    """
    return _reshape(x, shape)


@public_api
def sort(
    x: Tensor[S, T, D], /, *, axis: Int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> Tensor[S, T, D]:
    """Sort along an axis, always stably.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.sort(xp.asarray([2.0, 1.0, 3.0]), stable=False).tolist()
        [1.0, 2.0, 3.0]
    """
    return _sort(x, axis, descending=descending)


@public_api
def argsort(
    x: Tensor[S, Any, Any], /, *, axis: Int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> Tensor[S, NoneTape, np.int64]:
    """Return the indices that sort along an axis, always stably.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.argsort(xp.asarray([2.0, 1.0, 3.0])).tolist()
        [1, 0, 2]
    """
    return _argsort(x, axis, descending=descending)


@public_api
def cumulative_sum(x: Tensor[Any, T, Real], /, *, axis: Int | None = None) -> Tensor[Any, T, Real]:
    """Compute the sums of the elements up to each along an axis.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.cumulative_sum(xp.asarray([1.0, 2.0, 3.0])).tolist()
        [1.0, 3.0, 6.0]
    """
    return _cumsum(x, axis)


@public_api
def cumulative_prod(x: Tensor[Any, T, Real], /, *, axis: Int | None = None) -> Tensor[Any, T, Real]:
    """Compute the products of the elements up to each along an axis.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.cumulative_prod(xp.asarray([1.0, 2.0, 3.0])).tolist()
        [1.0, 2.0, 6.0]
    """
    return _cumprod(x, axis)


@public_api
def take_along_axis(
    x: Tensor[Any, T1, D], indices: Tensor[S, T2, np.integer[Any]], /, *, axis: Int = -1
) -> Tensor[S, Merge[T1, T2], D]:
    """Gather elements along an axis, one for each index.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.take_along_axis(xp.asarray([[5.0, 6.0]]), xp.asarray([[1, 0]])).tolist()
        [[6.0, 5.0]]
    """
    return _gather(x, indices, axis)


@public_api
def broadcast_arrays(*arrays: Tensor[Any, T, Any]) -> list[Tensor[Any, T, Any]]:
    """Broadcast tensors to their common shape.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 3)), xp.ones(3))]
        [(2, 3), (2, 3)]
    """
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Return whether a dtype, or that of a tensor, converts to another without a loss of range or precision.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.can_cast(xp.float32, xp.float64), xp.can_cast(xp.float64, xp.float32)
        (True, False)
    """
    return np.can_cast(_dtype_of(from_), to)


def finfo(type: Any, /) -> np.finfo[Any]:  # noqa: A002  # the standard's name
    """Return the limits of a float dtype, or of that of a tensor.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> float(xp.finfo(xp.ones(2)).eps)
        1.1920928955078125e-07
    """
    return np.finfo(_dtype_of(type))


def iinfo(type: Any, /) -> np.iinfo[Any]:  # noqa: A002  # the standard's name
    """Return the limits of an integer dtype, or of that of a tensor.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.iinfo(xp.int8).max
        127
    """
    return np.iinfo(_dtype_of(type))


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that dtypes, tensors and numbers promote to; ops need equal dtypes, so convert to it first.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> str(xp.result_type(xp.ones(2), xp.float64))
        'float64'
    """
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


class UniqueAll(NamedTuple, Generic[D]):
    """What `unique_all` returns.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.unique_all(xp.asarray([7, 5, 7])).counts.tolist()
        [1, 2]
    """

    values: Tensor[Any, NoneTape, D]
    indices: Tensor[Any, NoneTape, np.int64]
    inverse_indices: Tensor[Any, NoneTape, np.int64]
    counts: Tensor[Any, NoneTape, np.int64]


class UniqueCounts(NamedTuple, Generic[D]):
    """What `unique_counts` returns.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.unique_counts(xp.asarray([7, 5, 7])).values.tolist()
        [5, 7]
    """

    values: Tensor[Any, NoneTape, D]
    counts: Tensor[Any, NoneTape, np.int64]


class UniqueInverse(NamedTuple, Generic[D]):
    """What `unique_inverse` returns.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.unique_inverse(xp.asarray([7, 5, 7])).values.tolist()
        [5, 7]
    """

    values: Tensor[Any, NoneTape, D]
    inverse_indices: Tensor[Any, NoneTape, np.int64]


@public_api
def unique_all(x: Tensor[Any, Any, D], /) -> UniqueAll[D]:
    """Return the sorted different values, where each first is, which one each element is, and how often it is there.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.unique_all(xp.asarray([7, 5, 7])).indices.tolist()
        [1, 0]
    """
    found = np.unique_all(np.asarray(x.detach()))
    return UniqueAll(*map(_tensor, found))


@public_api
def unique_counts(x: Tensor[Any, Any, D], /) -> UniqueCounts[D]:
    """Return the sorted different values, and how often each is there.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.unique_counts(xp.asarray([7, 5, 7])).counts.tolist()
        [1, 2]
    """
    return UniqueCounts(*map(_tensor, np.unique_counts(np.asarray(x.detach()))))


@public_api
def unique_inverse(x: Tensor[Any, Any, D], /) -> UniqueInverse[D]:
    """Return the sorted different values, and which one each element is.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.unique_inverse(xp.asarray([7, 5, 7])).inverse_indices.tolist()
        [1, 0, 1]
    """
    return UniqueInverse(*map(_tensor, np.unique_inverse(np.asarray(x.detach()))))


class Info:
    """What `__array_namespace_info__()` returns: the dtypes and the devices.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> str(xp.__array_namespace_info__().default_dtypes()["real floating"])
        'float32'
    """

    def capabilities(self) -> dict[str, Any]:
        """Return what the standard leaves open: masks are indices, and a shape may depend on values."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Literal["cpu"]:
        """Return the one device."""
        return "cpu"

    def devices(self) -> list[Literal["cpu"]]:
        """Return all devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Device = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of new tensors; there is none for complex numbers."""
        _check("default_dtypes", device)
        return {"real floating": np.dtype(float32), "integral": np.dtype(int64), "indexing": np.dtype(int64)}

    def dtypes(self, *, device: Device = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes by name, those of a kind of `isdtype`."""
        _check("dtypes", device)
        return {one.name: one for one in _DTYPES if kind is None or isdtype(one, kind)}


def __array_namespace_info__() -> Info:  # noqa: N807  # the standard's name
    """Return the dtypes and the devices.

    Examples:
        >>> from tapegrad import array_api as xp
        >>> xp.__array_namespace_info__().devices()
        ['cpu']
    """
    return Info()


_DTYPES = [np.dtype(one) for one in (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64)]


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, Tensor) else value


def _check(name: str, device: Device) -> None:
    if device not in (None, "cpu"):
        message = f"{name}: device is {device!r} but 'cpu' is expected; tg.jit moves tensors to the devices of JAX"
        raise DTypeError(message)
