"""The default engine: NumPy, without a compiler or a download."""

from __future__ import annotations

import operator
from functools import lru_cache, partial
from itertools import compress
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.engines.formulas import ELEMENTWISE, PAIRWISE
from tapegrad.engines.interface import (
    HALF,
    Axis,
    Backend,
    Combining,
    Decomposition,
    Elementwise,
    Int,
    Pairwise,
    Pooling,
)
from tapegrad.engines.numpy import rows
from tapegrad.engines.numpy.buffers import BUFFERS, accumulate, is_free
from tapegrad.engines.numpy.convolution import convolve
from tapegrad.engines.numpy.half_array import halves, rounded
from tapegrad.engines.numpy.large import added, applied, converted, ones, scale_in_place
from tapegrad.engines.numpy.pooling import are_disjoint, extremes_back, is_tiled, pooled, sums_back
from tapegrad.engines.thresholds import PARALLEL_MIN_ELEMENTS, TILED_POOL_MIN_ELEMENTS
from tapegrad.errors import SingularError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.engines.interface import ConvWindow
    from tapegrad.engines.windows import Windows

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.floating[Any]]]"
Whole: TypeAlias = "np.ndarray[Any, np.dtype[np.integer[Any]]]"
Truths: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

_OPERATORS: Final = {
    operator.add: np.add,
    operator.mul: np.multiply,
    operator.sub: np.subtract,
    operator.truediv: np.true_divide,
}

_DECOMPOSITIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "cholesky": lambda x: (np.linalg.cholesky(x),),
    "eigh": np.linalg.eigh,
    "qr": np.linalg.qr,
    "slogdet": np.linalg.slogdet,
    "svd": partial(np.linalg.svd, full_matrices=False),
}

_TILED_MIN_ELEMENTS: Final = 1 << 19  # more than the caches hold until the next step of a function reads them
_SMALL_MAX_ELEMENTS: Final = 1024  # below, a call with less overhead is used (benchmarks/devices.py, "a small sum")


class NumPy(Backend[Floats, Whole, Truths]):
    """The primitives over `numpy.ndarray`; results may be NumPy scalars, which serve as arrays of rank 0."""

    name = "numpy"
    compiler: Any = None  # of the programs of elementwise functions, see `Program.run`
    row_compiler: Any = None  # of formulas over rows, see `rows.computed`
    rows_from = 1 << 12  # elements; for fewer, tracing a formula over rows and cutting it into tiles does not pay
    fused_from = 1 << 18  # elements; intermediate results of fewer stay in cache without fusion

    # Any: mypy compares only the first overload of a ufunc with the primitive's signature.
    equal: Any = staticmethod(np.equal)
    greater: Any = staticmethod(np.greater)
    broadcast_to: Any = staticmethod(np.broadcast_to)
    ones: Any = staticmethod(np.ones)

    @override
    def exp(self, x: Array) -> Array:
        return np.exp(x) if x.size < PARALLEL_MIN_ELEMENTS else applied(np.exp, x)

    @override
    def log(self, x: Array) -> Array:
        return np.log(x) if x.size < PARALLEL_MIN_ELEMENTS else applied(np.log, x)

    @override
    def tanh(self, x: Array) -> Array:
        return np.tanh(x) if x.size < PARALLEL_MIN_ELEMENTS else applied(np.tanh, x)

    @override
    def relu(self, x: Array) -> Array:
        zero = _zero(x.dtype)
        if x.size < _SMALL_MAX_ELEMENTS or x.dtype.kind != "f":
            return np.maximum(x, zero)
        out = BUFFERS.empty_like(x)
        if x.dtype.char not in "fd":
            return np.maximum(x, zero, out=out)
        return x.clip(zero, _infinity(x.dtype), out=out)  # not `maximum` (benchmarks/devices.py, "a large relu")

    @override
    def relu_back(self, x: Array, dy: Array) -> Array:
        if x.size < _SMALL_MAX_ELEMENTS and x.dtype.kind == "f":
            zero = _zero(x.dtype)
            return np.where(np.greater(x, zero), dy, zero)
        dx: Array = super().relu_back(x, dy)
        return dx

    @override
    def where(self, condition: Array, x: Array, y: Array | float) -> Array:
        if (
            type(y) is int
            and y == 0
            and x.size >= _SMALL_MAX_ELEMENTS
            and x.shape == condition.shape
            and x.dtype.kind == "f"
        ):
            return _masked(condition, x)
        return np.where(condition, x, y)

    @override
    def map(self, name: Elementwise, *operands: Array) -> Array:
        function = ELEMENTWISE[name]
        if operands[0].size >= PARALLEL_MIN_ELEMENTS and isinstance(function, np.ufunc):
            return applied(function, *operands)
        result: Array = function(*operands)
        return result

    @override
    def add_to(self, total: Array, x: Array) -> Array:
        return (
            np.add(total, x, out=total) if total.size < PARALLEL_MIN_ELEMENTS else applied(np.add, total, x, out=total)
        )

    @override
    def add_channels(self, y: Array, bias: Array, rank: int) -> Array:
        last = np.moveaxis(y, -rank - 1, -1)
        is_plain = y.dtype.char in "fd" and y.dtype == bias.dtype and last.flags.c_contiguous
        if y.size < _SMALL_MAX_ELEMENTS or not is_plain:
            plain: Array = super().add_channels(y, bias, rank)
            return plain
        # All numbers of an image in a row, which is longer than the channels (benchmarks/devices.py, "a bias").
        out, sizes = BUFFERS.empty(last.shape, y.dtype), last.shape[-rank - 1 :]
        row = np.broadcast_to(bias, sizes).reshape(-1)
        np.add(last.reshape(-1, row.size), row, out=out.reshape(-1, row.size))
        return np.moveaxis(out, -1, -rank - 1)

    @override
    def fuse(self, function: Callable[..., Any], *values: Array) -> Any:
        if function in _OPERATORS and any(one.size >= PARALLEL_MIN_ELEMENTS for one in values):
            return applied(_OPERATORS[function], *values)
        first, *others = values
        if first.size < self.fused_from or any(one.shape != first.shape for one in others):
            return function(*values)
        from tapegrad.engines.numpy.program import computed  # imported here, because it imports this module

        return computed(function, [values], self.compiler)[0]

    @override
    def update(self, function: Callable[..., Any], rows: Sequence[Sequence[Array]]) -> list[Any]:
        are_large = [
            row[0].size >= _TILED_MIN_ELEMENTS and all(one.shape == row[0].shape for one in row) for row in rows
        ]
        if not any(are_large):
            return super().update(function, rows)
        from tapegrad.engines.numpy.program import computed  # imported here, because it imports this module

        found = iter(computed(function, [*compress(rows, are_large)], self.compiler))
        return [next(found) if is_large else function(*row) for row, is_large in zip(rows, are_large, strict=True)]

    @override
    def pair(self, name: Pairwise, *operands: Array) -> tuple[Array, Array]:
        first, second = PAIRWISE[name](*operands)
        return first, second

    @override
    def sum(self, x: Array, axis: Axis, *, keepdims: bool) -> Array:
        if (
            axis is None
            and not keepdims
            and x.size >= PARALLEL_MIN_ELEMENTS
            and x.dtype.char in "fd"
            and x.flags.c_contiguous
        ):
            return added(x)
        if axis is not None and x.dtype.char in "fd":
            if axis == 0 and not keepdims and x.ndim == 2:
                sums: Array = ones(len(x), x.dtype).dot(x) if len(x) <= _SMALL_MAX_ELEMENTS else _added_rows(x)
                return sums
            if x.size >= _SMALL_MAX_ELEMENTS and (rows := _rows_to_add(x, axis)) is not None:
                return _added_rows(rows).reshape(_reduced(x.shape, axis, keepdims=keepdims))
        # Not np.sum (benchmarks/devices.py, "a small sum"). The dtype is that of `x`: NumPy would widen small ints.
        total: Array = np.add.reduce(x, axis=axis, dtype=x.dtype, keepdims=keepdims)  # type: ignore[call-overload]  # asks for a literal
        return total

    @override
    def is_free(self, values: dict[Any, Any], key: Any) -> bool:
        return is_free(values, key)

    @override
    def accumulate(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        return accumulate(values, key, x)

    @override
    def accumulate_at(self, values: dict[Any, Any], key: Any, index: Any, x: Any) -> Any:
        if not is_free(values, key) or values[key].dtype != x.dtype:
            return super().accumulate_at(values, key, index, x)
        total = values[key]
        if _is_basic(index):
            total[index] += x
        else:
            np.add.at(total, index, x)
        return total

    @override
    def scale_in_place(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        return scale_in_place(values, key, x)

    @override
    def dot(self, x: Array, y: Array) -> Array:
        product: Array = x.dot(y)  # not `@` (benchmarks/devices.py, "a small product")
        return product

    @override
    def max(self, x: Array, axis: Axis, *, keepdims: bool) -> Array:
        largest: Array = np.maximum.reduce(x, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]  # asks for a literal
        return largest

    @override
    def min(self, x: Array, axis: Axis, *, keepdims: bool) -> Array:
        smallest: Array = np.minimum.reduce(x, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]  # asks for a literal
        return smallest

    @override
    def prod(self, x: Array, axis: Axis, *, keepdims: bool) -> Array:
        total: Array = np.multiply.reduce(x, axis=axis, dtype=x.dtype, keepdims=keepdims)  # type: ignore[call-overload]  # asks for a literal
        return total

    @override
    def argmax(self, x: Array, axis: Int | None, *, keepdims: bool) -> Whole:
        # NumPy's types ask for a literal.
        return np.asarray(np.argmax(x, axis, keepdims=True) if keepdims else np.argmax(x, axis))

    @override
    def argmin(self, x: Array, axis: Int | None, *, keepdims: bool) -> Whole:
        # NumPy's types ask for a literal.
        return np.asarray(np.argmin(x, axis, keepdims=True) if keepdims else np.argmin(x, axis))

    @override
    def all(self, x: Array, axis: Axis, *, keepdims: bool) -> Truths:
        return np.asarray(np.logical_and.reduce(x, axis=axis, keepdims=keepdims))  # type: ignore[call-overload]  # asks for a literal

    @override
    def any(self, x: Array, axis: Axis, *, keepdims: bool) -> Truths:
        return np.asarray(np.logical_or.reduce(x, axis=axis, keepdims=keepdims))  # type: ignore[call-overload]  # asks for a literal

    @override
    def cumsum(self, x: Array, axis: Int) -> Array:
        return np.cumsum(x, axis, dtype=x.dtype)

    @override
    def cumprod(self, x: Array, axis: Int) -> Array:
        return np.cumprod(x, axis, dtype=x.dtype)

    @override
    def argcummax(self, x: Array, axis: Int) -> Whole:
        return _last_equal(x, np.maximum.accumulate(x, axis), axis)

    @override
    def argcummin(self, x: Array, axis: Int) -> Whole:
        return _last_equal(x, np.minimum.accumulate(x, axis), axis)

    @override
    def argsort(self, x: Array, axis: Int, *, descending: bool) -> Whole:
        if not descending:
            return np.argsort(x, axis, kind="stable")
        # Flipped before and after, so that equal elements keep their order.
        flipped = np.flip(np.argsort(np.flip(x, int(axis)), axis, kind="stable"), int(axis))
        return np.asarray(x.shape[axis] - 1 - flipped)

    @override
    def concat(self, values: Sequence[Array], axis: Int) -> Array:
        return np.concatenate(values, axis)

    @override
    def pad(self, x: Array, pad_width: Sequence[tuple[int, int]], value: float) -> Array:
        widths = list(zip(pad_width, np.shape(x), strict=True))
        # np.pad would change the memory order of the axes.
        out = BUFFERS.empty_like(np.asarray(x), shape=[before + n + after for (before, after), n in widths])
        out.fill(value)
        out[tuple(slice(before, before + n) for (before, _), n in widths)] = x
        return out

    @override
    def getitem(self, x: Array, index: Any) -> Array:
        picked: Array = x[index]
        return picked

    @override
    def at_set(self, x: Array, index: Any, value: Array | float, *, is_free: bool = False) -> Array:
        out = x if is_free else np.array(x)
        out[index] = value
        return out

    @override
    def at_add(self, x: Array, index: Any, value: Array | float) -> Array:
        out = np.array(x)
        if _is_basic(index):
            out[index] += value  # `add.at` is needed only for repeated indices (benchmarks/devices.py, "a basic index")
        else:
            np.add.at(out, index, value)
        return out

    @override
    def reduce_at(self, x: Array, index: Any, value: Array, name: Combining) -> Array:
        out = np.array(x)
        with np.errstate(invalid="ignore"):  # of a NaN, which stays one
            getattr(np, name).at(out, index, value)
        return out

    @override
    def place(self, shape: Sequence[int], index: Any, value: Array) -> Array:
        out = BUFFERS.empty(shape, value.dtype)
        out.fill(0)
        if _is_basic(index):
            out[index] = value
        else:
            np.add.at(out, index, value)
        return out

    @override
    def rowwise(
        self, formula: Callable[..., Any], *values: Any, axis: Axis, is_free: bool = False, **options: Any
    ) -> Any:
        x = values[0]
        if x.size < self.rows_from or x.dtype.char not in "fd":
            return formula(rows.WholeRows(axis), *values, **options)
        return rows.computed(formula, values, axis, options, is_free=is_free, compiler=self.row_compiler)

    @override
    def zeros(self, shape: Sequence[int], dtype: Any) -> Array:
        return np.zeros(shape, dtype)

    @override
    def swap_last_axes(self, x: Array) -> Array:
        return x.T if x.ndim <= 2 else x.swapaxes(-1, -2)  # a matrix has two axes

    @override
    def einsum(self, subscripts: str, *values: Array) -> Array:
        total: Array = np.einsum(subscripts, *values, optimize=_contraction_order(subscripts, *map(np.shape, values)))
        return total

    @override
    def inv(self, x: Array) -> Array:
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            raise SingularError(_singular(x)) from None

    @override
    def solve(self, x: Array, y: Array) -> Array:
        try:
            return np.linalg.solve(x, y)
        except np.linalg.LinAlgError:
            raise SingularError(_singular(x)) from None

    @override
    def det(self, x: Array) -> Array:
        return np.asarray(np.linalg.det(x))

    @override
    def decompose(self, name: Decomposition, x: Array) -> tuple[Array, ...]:
        if name == "svd":
            _finite_only(x)
        try:
            found = _DECOMPOSITIONS[name](x)
        except np.linalg.LinAlgError:
            raise SingularError(_not_decomposed(name, x)) from None
        return tuple(map(np.asarray, found))

    @override
    def pinv(self, x: Array, rtol: float) -> Array:
        _finite_only(x)
        try:
            return np.linalg.pinv(x, rtol)
        except np.linalg.LinAlgError:
            raise SingularError(_not_decomposed("pinv", x)) from None

    @override
    def cast(self, x: Array, dtype: Any) -> Array:
        dtype = np.dtype(dtype)
        if dtype.char not in HALF:
            return converted(x, dtype)
        halved: Array = halves(rounded(x, dtype))
        return halved

    @override
    def take(self, x: Array, indices: Array, axis: Int) -> Array:
        return np.take(x, indices, axis=axis)

    @override
    def scatter_add(self, shape: Sequence[int], indices: Array, updates: Array, axis: Int) -> Array:
        out = np.zeros(shape, updates.dtype)
        index: Any = (*(slice(None),) * axis, indices)  # NumPy's stubs of `at` do not accept slices
        np.add.at(out, index, updates)
        return out

    @override
    def scatter_sum(self, shape: Sequence[int], indices: Sequence[Any], values: Sequence[Array]) -> Array:
        out = BUFFERS.empty_like(values[0], shape=shape)
        are_apart = are_disjoint(indices)
        if not are_apart or sum(value.size for value in values) < out.size:
            out.fill(0)
        for index, value in zip(indices, values, strict=True):
            if are_apart:
                out[index] = value
            else:
                out[index] += value
        return out

    @override
    def firsts(self, values: Sequence[Array], inside: Sequence[Truths], y: Array) -> list[Truths]:
        found, still_open = [], np.ones_like(y, np.bool_)
        has_nan = np.isnan(y).any()
        for x, may_be in zip(values[:-1], inside[:-1], strict=True):
            is_first = np.equal(x, y)
            if has_nan:
                is_first |= np.isnan(x)
            if not may_be.all():
                is_first &= may_be
            is_first &= still_open
            still_open ^= is_first
            found.append(is_first)
        return [*found, still_open]  # where no value before the last equals y, the last one does

    @override
    def convolve(self, x: Array, w: Array, window: ConvWindow) -> Array:
        return convolve(x, w, window)

    @override
    def pool(self, x: Array, windows: Windows, name: Pooling) -> Array:
        by_axes = _has_fewer_passes(x, windows, is_exact=name != "add")
        if is_tiled(x, windows):
            return pooled(x, windows, name, by_axes=by_axes)
        steps = windows.along_axes() if by_axes else [windows]
        result = x
        for along in steps:
            result = super().pool(result, along, name)
        return result

    @override
    def pool_sum_back(self, dy: Array, windows: Windows) -> Array:
        if is_tiled(dy, windows):
            return sums_back(dy, windows, by_axes=_has_fewer_passes(dy, windows))
        steps = windows.along_axes() if _has_fewer_passes(dy, windows) else [windows]
        dx = dy
        for along in reversed(steps):
            dx = super().pool_sum_back(dx, along)
        return dx

    @override
    def pool_extreme_back(self, x: Array, y: Array, dy: Array, windows: Windows) -> Array:
        if is_tiled(x, windows) and x.dtype == y.dtype == dy.dtype:
            return extremes_back(x, y, dy, windows)
        plain: Array = super().pool_extreme_back(x, y, dy, windows)
        return plain

    @override
    def pool_relu_back(self, x: Array, y: Array, dy: Array, windows: Windows) -> Array:
        if is_tiled(x, windows) and x.dtype == y.dtype == dy.dtype:
            return extremes_back(x, y, dy, windows, is_of_relu=True)
        plain: Array = super().pool_relu_back(x, y, dy, windows)
        return plain

    @override
    def one_hot(self, indices: Array, size: int, dtype: Any) -> Array:
        return np.asarray(np.equal.outer(indices, np.arange(size)), dtype)


@lru_cache(maxsize=16)
def _zero(dtype: Any) -> Array:
    """Return a zero array for a ufunc (benchmarks/devices.py, "a number of rank 0")."""
    return _read_only(np.zeros((), dtype))


@lru_cache(maxsize=16)
def _infinity(dtype: Any) -> Array:
    """Return an infinite array for a ufunc, see `_zero`."""
    return _read_only(np.full((), np.inf, dtype))


def _rows_to_add(x: Array, axis: Int | tuple[Int, ...]) -> Array | None:
    """Return the matrix whose rows add up to a sum over axes; None if these axes do not come first in memory."""
    axes = _axes_of(axis, x.ndim)
    left = [one for one in range(x.ndim) if one not in axes]
    ordered = x.transpose(*sorted(axes, key=lambda one: -x.strides[one]), *left)
    if not (axes and left and ordered.flags.c_contiguous):
        return None
    return ordered.reshape(-1, prod(x.shape[one] for one in left))


def _added_rows(rows: Array) -> Array:
    """Add up the rows of a matrix by products with ones (benchmarks/devices.py, "columns by BLAS"), in blocks.

    Sums of blocks lose fewer digits than adding one row after the other.
    """
    size, rest = _SMALL_MAX_ELEMENTS, len(rows) % _SMALL_MAX_ELEMENTS
    whole = len(rows) - rest
    sums: Array = ones(rest, rows.dtype).dot(rows[whole:])
    if whole:
        sums += np.add.reduce(ones(size, rows.dtype) @ rows[:whole].reshape(-1, size, rows.shape[1]), axis=0)
    return sums


def _reduced(shape: tuple[int, ...], axis: Int | tuple[Int, ...], *, keepdims: bool) -> tuple[int, ...]:
    """Return the shape of a sum over axes."""
    axes = _axes_of(axis, len(shape))
    return tuple(1 if one in axes else n for one, n in enumerate(shape) if keepdims or one not in axes)


def _axes_of(axis: Int | tuple[Int, ...], rank: int) -> set[int]:
    return {int(one) % rank for one in (axis if isinstance(axis, tuple) else (axis,))}


def _read_only(array: Array) -> Array:
    """Make a shared array read-only."""
    array.flags.writeable = False
    return array


def _last_equal(x: Array, running: Array, axis: Int) -> Array:
    """Return for each running extreme the last index where it occurs."""
    is_equal = (x == running) | np.isnan(x)
    indices: Array = np.indices(x.shape, sparse=True)[axis]
    found: Array = np.maximum.accumulate(np.where(is_equal, indices, 0), axis)
    return found


def _singular(x: Array) -> str:
    """Return the message that names the singular matrices of a stack."""
    if x.ndim == 2:
        return f"x {x.shape} is singular"
    position = next(index for index in np.ndindex(x.shape[:-2]) if not _is_invertible(x[index]))
    return f"x {x.shape} is singular at {position}"


def _finite_only(x: Array) -> None:
    """Reject matrices with infinities or NaNs, for which LAPACK's search for singular values may never end."""
    if np.isfinite(x).all():
        return
    position = next(index for index in np.ndindex(x.shape[:-2]) if not np.isfinite(x[index]).all())
    place = f" at {position}" if position else ""
    message = f"x {x.shape} has {np.count_nonzero(~np.isfinite(x[position]))} infinities or NaNs{place}"
    raise SingularError(message)


def _not_decomposed(name: str, x: Array) -> str:
    """Return the message about the first matrix of a stack of which NumPy computes no decomposition."""
    _finite_only(x)
    position = next(index for index in np.ndindex(x.shape[:-2]) if not _is_decomposed(name, x[index]))
    place = f" at {position}" if position else ""
    matrix = x[position]
    if name != "cholesky":
        return f"x {x.shape} has no {name}{place}: LAPACK's iteration does not converge"
    least = np.linalg.eigvalsh(matrix)[0]
    return f"x {x.shape} is not positive definite{place}: its smallest eigenvalue is {least:.6g}"


def _is_decomposed(name: str, x: Array) -> bool:
    try:
        _DECOMPOSITIONS["svd" if name == "pinv" else name](x)
    except np.linalg.LinAlgError:
        return False
    return True


def _is_invertible(x: Array) -> bool:
    try:
        np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return False
    return True


@lru_cache(maxsize=1024)
def _contraction_order(subscripts: str, *shapes: tuple[int, ...]) -> Any:
    """Return the contraction order with the fewest multiplications; a single value needs none."""
    if len(shapes) == 1:
        return False
    placeholders = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
    # Trying all orders takes a number of steps that grows with the factorial of the number of values.
    return np.einsum_path(subscripts, *placeholders, optimize="optimal" if len(shapes) <= 4 else "greedy")[0]


def _masked(condition: Array, x: Array) -> Array:
    """Zero the elements where a condition is false, with bit masks: `np.where` branches at each.

    A product with the condition would be as fast, but turn an infinity into NaN. See `benchmarks/devices.py`, "a mask".
    """
    bits = BUFFERS.empty_like(condition, f"i{x.itemsize}")
    np.copyto(bits, np.negative(condition.view(np.int8)))  # all bits are set where the condition is true
    bits &= x.view(bits.dtype)
    return bits.view(x.dtype)


def _is_basic(index: Any) -> bool:
    """Return whether an index selects no element twice, because it contains no arrays."""
    return not any(isinstance(item, np.ndarray) for item in (index if isinstance(index, tuple) else (index,)))


def _has_fewer_passes(x: Array, windows: Windows, *, is_exact: bool = False) -> bool:
    """Return whether pooling axis after axis takes less time, see benchmarks/devices.py, "windows along axes".

    Extremes are exact in any order; sums are rounded, so those of fewer numbers keep the order of the cells.
    """
    is_shorter = prod(windows.kernel) > sum(windows.kernel) or x.flags.c_contiguous
    is_large = prod(windows.shape) >= (TILED_POOL_MIN_ELEMENTS if is_exact else PARALLEL_MIN_ELEMENTS)
    return is_shorter and is_large and len(windows.kernel) > 1
