"""Sizes that NumPy's functions return which are no ops of tensors, such as `np.column_stack`."""

from __future__ import annotations

from functools import reduce
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from tapegrad.mypy.calls.array_sizes import (
    axis_from_first,
    broadcasted,
    common,
    joined,
    number_of,
    same_sizes,
    size_of_vector,
    whole_number,
)
from tapegrad.sizes import UNKNOWN, Dim, broadcast, is_unknown, largest, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.mypy.calls.array_sizes import Given, Reader, Sizes
    from tapegrad.sizes import Size


def _eye(read: Reader, given: Given) -> Sizes:
    n = read.value(given.one("N", 0))
    return [n, read.value(given.one("M", 1)) if given.has("M", 1) else n]


def _identity(read: Reader, given: Given) -> Sizes:
    return [read.value(given.one("n", 0))] * 2


def _arange(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.arange(n)`, and of numbers with a start and a step."""
    bounds = ["start", "stop", "step"]
    positional = given.positional[:3]
    written = [*positional, *(given.named[one] for one in bounds[len(positional) :] if one in given.names)]
    if not positional and not {"start", "stop"} <= given.names:
        return None
    numbers: list[Any] = [
        one if (one := number_of(expression)) is not None else read.value(expression) for expression in written
    ]
    if "step" in given.names and len(written) == 2:  # np.arange(6, step=2)
        numbers = [0, *numbers]
    if len(numbers) == 1 and not isinstance(numbers[0], float | complex | str | bool | tuple):
        return [max(numbers[0], 0)] if isinstance(numbers[0], int) else numbers
    if all(type(one) is int for one in numbers):
        return [len(range(*numbers))] if numbers[2:] != [0] else None
    if len(numbers) == 2 and all(isinstance(one, int | Dim) for one in numbers):
        return [largest([numbers[1] - numbers[0], 0])]  # such as np.arange(start, start + 3)
    if any(not isinstance(number_of(one), int | float) for one in written):
        return None  # which float it is, is not known
    start, stop, step = {1: [0, *numbers, 1], 2: [*numbers, 1], 3: numbers}[len(numbers)]
    return [max(ceil((stop - start) / step), 0)] if step else None  # as NumPy computes it


def _linspace(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.linspace(start, stop, n)`; those of arrays come after the first axis."""
    if given.only({"axis", "retstep"}).has("retstep", 4):
        return None
    return [_count(read, given), *broadcasted([read.alike(given.one("start", 0)), read.alike(given.one("stop", 1))])]


def _spaced(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.logspace(start, stop, n)` and of `np.geomspace`."""
    if given.only({"axis"}).has("axis", 6) or (given.has("base", 4) and read.sizes(given.one("base", 4)) != []):
        return None
    return [_count(read, given), *broadcasted([read.alike(given.one("start", 0)), read.alike(given.one("stop", 1))])]


def _count(read: Reader, given: Given) -> Size:
    count: Size = read.value(given.one("num", 2)) if given.has("num", 2) else 50
    return count


def _dot(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.dot` of vectors and matrices; of arrays of more axes it is no product of matrices."""
    operands = {"x": given.only({"out"}).one("a", 0), "y": given.one("b", 1)}
    ranks = [len(one) for one in map(read.alike, operands.values()) if one]
    return read.by_op("matmul", operands) if len(ranks) == 2 and max(ranks) <= 2 else None


def _inner(read: Reader, given: Given) -> Sizes | None:
    x, y = read.alike(given.one("a", 0)), read.alike(given.one("b", 1))
    return [*x[:-1], *y[:-1]] if x and y else None


def _take_along_axis(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.take_along_axis(x, indices, axis)`, which broadcasts all other axes."""
    x, indices = read.sizes(given.one("arr", 0)), read.sizes(given.one("indices", 1))
    axis = read.value(given.one("axis", 2)) if given.has("axis", 2) else -1
    if x is None or indices is None or len(x) != len(indices) or not isinstance(axis, int):
        return None
    axis = axis_from_first(axis, len(x))
    others = [(*sizes[:axis], 1, *sizes[axis + 1 :]) for sizes in (x, indices)]
    joined_axes = broadcast(x=others[0], y=others[1])
    return [*joined_axes[:axis], indices[axis], *joined_axes[axis + 1 :]]


def _take(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.take(x, indices, axis)`; without an axis, x is flattened."""
    x, indices = read.alike(given.only({"out"}).one("a", 0)), read.alike(given.one("indices", 1))
    if not given.has("axis", 2):
        return indices
    axis = read.value(given.one("axis", 2))
    if axis is None:
        return indices
    axis = axis_from_first(axis, len(x))
    return [*x[:axis], *indices, *x[axis + 1 :]]


def _along_axis(name: str) -> Callable[[Reader, Given], Sizes | None]:
    """Return a function that returns the sizes of its first argument; with axis=None it flattens."""

    def rule(read: Reader, given: Given) -> Sizes | None:
        x = read.alike(given.one(name, 0))
        if given.has("axis", 2) and read.value(given.one("axis", 2)) is None:
            return [product(x)]
        return x

    return rule


def _reduction(axis_at: int = 1, most: int = 2) -> Callable[[Reader, Given], Sizes | None]:
    """Return a function that removes axes, as `np.sum` does, by its position of `axis` and its most plain arguments."""

    def rule(read: Reader, given: Given) -> Sizes | None:
        arguments = {"x": given.one("a", 0)}
        if given.has("axis", axis_at):
            arguments["axis"] = given.one("axis", axis_at)
        if "keepdims" in given.names:
            arguments["keepdims"] = given.named["keepdims"]
        return read.by_op("sum", arguments) if len(given.positional) <= most else None

    return rule


def _average(read: Reader, given: Given) -> Sizes | None:
    return _reduction(most=3)(read, given.only({"returned"}))


def _trapezoid(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.trapezoid(y, x, dx, axis)`, which removes one axis."""
    y = read.alike(given.one("y", 0))
    axis = axis_from_first(read.value(given.one("axis", 3)) if given.has("axis", 3) else -1, len(y))
    return [*y[:axis], *y[axis + 1 :]]


def _percentile(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.percentile(x, q, axis)`: those of q, then those of the remaining axes."""
    q = read.alike(given.one("q", 1))
    remaining = _reduction(axis_at=2, most=3)(read, given)
    return None if remaining is None else [*q, *remaining]


def _cumulative_sum(read: Reader, given: Given) -> Sizes | None:
    return read.alike(given.only({"include_initial"}).one("x", 0))


def _trace(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.only({"axis1", "axis2"}).one("a", 0))
    return sizes[2:] if len(sizes) >= 2 and len(given.positional) <= 2 else None


def _gradient(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.gradient` along one axis; along several it returns a list."""
    sizes = read.alike(given.one("f", 0))
    is_one = type(read.value(given.named["axis"])) is int if "axis" in given.names else len(sizes) == 1
    return sizes if is_one else None


def _convolve(read: Reader, given: Given) -> Sizes | None:
    return _window(read, given, "full")


def _correlate(read: Reader, given: Given) -> Sizes | None:
    return _window(read, given, "valid")


def _window(read: Reader, given: Given, default: str) -> Sizes | None:
    n, m = (whole_number(size_of_vector(read.alike(given.one(name, place)))) for place, name in enumerate("av"))
    mode = read.value(given.one("mode", 2)) if given.has("mode", 2) else default
    sizes = {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}
    return [sizes[mode]] if mode in sizes else None


def _append(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.append(x, values, axis)`; without an axis, both are flattened."""
    x, values = read.alike(given.one("arr", 0)), read.alike(given.one("values", 1))
    axis = read.value(given.one("axis", 2)) if given.has("axis", 2) else None
    return [product(x) + product(values)] if axis is None else joined([x, values], axis_from_first(axis, len(x)))


def _insert(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.insert(x, i, number)`."""
    if read.alike(given.one("values", 2)) or type(read.value(given.one("obj", 1))) is not int:
        return None
    return _with_more(read, given, 3, 1)


def _delete(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.delete(x, i)` of one row."""
    if type(read.value(given.one("obj", 1))) is not int:
        return None
    return _with_more(read, given, 2, -1)


def _with_more(read: Reader, given: Given, axis_at: int, more: int) -> Sizes:
    x = read.alike(given.one("arr", 0))
    axis = read.value(given.one("axis", axis_at)) if given.has("axis", axis_at) else None
    if axis is None:
        return [product(x) + more]
    axis = axis_from_first(axis, len(x))
    return [*x[:axis], x[axis] + more, *x[axis + 1 :]]


def _rot90(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.only({"axes"}).one("m", 0))
    turns = whole_number(read.value(given.one("k", 1))) if given.has("k", 1) else 1
    if len(given.positional) > 2 or len(sizes) < 2:
        return None
    return [sizes[1], sizes[0], *sizes[2:]] if turns % 2 else sizes


def _rollaxis(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.one("a", 0))
    axis = axis_from_first(read.value(given.one("axis", 1)), len(sizes))
    start = whole_number(read.value(given.one("start", 2))) if given.has("start", 2) else 0
    if start:
        return None
    return [sizes[axis], *sizes[:axis], *sizes[axis + 1 :]]


def _at_least(rank: int) -> Callable[[Reader, Given], Sizes | None]:
    def rule(read: Reader, given: Given) -> Sizes | None:
        if given.names or len(given.positional) != 1:
            return None
        return _with_rank(read.alike(given.positional[0]), rank)

    return rule


def _with_rank(sizes: Sizes, rank: int) -> Sizes:
    """Return the sizes of an array with at least one, two or three axes, as `np.atleast_2d` makes it."""
    if rank == 3 and len(sizes) == 2:
        return [*sizes, 1]
    if rank == 3 and len(sizes) == 1:
        return [1, *sizes, 1]
    return [*[1] * (rank - len(sizes)), *sizes]


def _stacked(shaped: Callable[[Sizes], Sizes], axis: int) -> Callable[[Reader, Given], Sizes | None]:
    """Return a function that joins arrays of other ranks along an axis."""

    def rule(read: Reader, given: Given) -> Sizes | None:
        found = read.arrays(given.one("tup", 0)) or []
        return joined([None if one is None else shaped(one) for one in found], axis)

    return rule


def _concatenate(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.concatenate(arrays, axis)`; with axis=None, all are flattened."""
    axis = read.value(given.one("axis", 1)) if given.has("axis", 1) else 0
    arrays = given.only({"out"}).one("arrays", 0)
    if axis is not None:
        axes = {"axis": given.one("axis", 1)} if given.has("axis", 1) else {}
        return read.by_op("concat", {"tensors": arrays, **axes}) if len(given.positional) <= 2 else None
    found = read.arrays(arrays) or []
    known = [one for one in found if one is not None]
    return [reduce(lambda n, m: n + m, map(product, known))] if known and len(known) == len(found) else None


def _stack(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.stack(arrays, axis)`, of which one is the length of a list that loops fill."""
    arrays = given.only({"out"}).one("arrays", 0)
    axes = {"axis": given.one("axis", 1)} if given.has("axis", 1) else {}
    sizes = read.by_op("stack", {"tensors": arrays, **axes}) if len(given.positional) <= 2 else None
    axis = read.value(given.one("axis", 1)) if axes else 0
    if sizes is None or not isinstance(axis, int) or not is_unknown(sizes[axis]):
        return sizes
    count, axis = read.alike(arrays)[0], axis % len(sizes)
    return [*sizes[:axis], count, *sizes[axis + 1 :]]


def _einsum(read: Reader, given: Given) -> Sizes | None:
    return (
        read.by_op("einsum", {"subscripts": given.positional[0]}, *given.positional[1:]) if given.positional else None
    )


def _pad(read: Reader, given: Given) -> Sizes | None:
    return read.by_op("pad", {"x": given.one("array", 0), "pad_width": given.one("pad_width", 1)})


def _tri(read: Reader, given: Given) -> Sizes:
    n = read.value(given.one("N", 0))
    return [n, read.value(given.one("M", 1)) if given.has("M", 1) else n]


def _vander(read: Reader, given: Given) -> Sizes | None:
    n = size_of_vector(read.alike(given.one("x", 0)))
    return [n, read.value(given.one("N", 1)) if given.has("N", 1) else n]


def _polyfit(read: Reader, given: Given) -> Sizes | None:
    y = read.alike(given.only({"full", "cov"}).one("y", 1))
    return [whole_number(read.value(given.one("deg", 2))) + 1, *y[1:]] if len(given.positional) == 3 else None


def _covariance(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.only({"y", "rowvar"}).one("m" if "m" in given.names else "x", 0))
    is_matrix = len(sizes) == 2 and whole_number(sizes[0]) > 1  # of one variable it is a number
    return [sizes[0], sizes[0]] if is_matrix and len(given.positional) <= 1 else None


def _diagflat(read: Reader, given: Given) -> Sizes | None:
    n = product(read.alike(given.one("v", 0)))
    k = whole_number(read.value(given.one("k", 1))) if given.has("k", 1) else 0
    return [n + abs(k)] * 2


def _fromiter(read: Reader, given: Given) -> Sizes | None:
    if given.has("count", 2):
        count = whole_number(read.value(given.one("count", 2)))
        return [count] if count >= 0 else None
    sizes = read.alike(given.one("iter", 0))
    return sizes if len(sizes) == 1 else None


def _resize(read: Reader, given: Given) -> Sizes | None:
    return read.shape(given.one("new_shape", 1))


def _ediff1d(read: Reader, given: Given) -> Sizes | None:
    n = product(read.alike(given.only({"to_end", "to_begin"}).one("ary", 0)))
    return [n - 1] if isinstance(n, int) and n > 0 and len(given.positional) == 1 else None


def _lexsort(read: Reader, given: Given) -> Sizes | None:
    return common(read.arrays(given.one("keys", 0)) or [])


def _indices(read: Reader, given: Given) -> Sizes | None:
    sizes = read.shape(given.only({"sparse"}).one("dimensions", 0))
    return None if sizes is None else [len(sizes), *sizes]


def _window_of(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.hanning(n)`."""
    n = read.value(given.one("M", 0))
    return [n] if isinstance(n, Dim) else [max(whole_number(n), 0)]


def _select(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.select(conditions, choices, default)`, which are broadcast together."""
    several = [*(read.arrays(given.one("condlist", 0)) or [None]), *(read.arrays(given.one("choicelist", 1)) or [None])]
    if given.has("default", 2):
        several.append(read.alike(given.one("default", 2)))
    known = [one for one in several if one is not None]
    return broadcasted(known) if len(known) == len(several) else None


def _choose(read: Reader, given: Given) -> Sizes | None:
    several = [read.alike(given.one("a", 0)), *(read.arrays(given.one("choices", 1)) or [None])]
    known = [one for one in several if one is not None]
    return broadcasted(known) if len(known) == len(several) else None


def _sliding(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `sliding_window_view(x, n, axis)` along one axis."""
    sizes = read.alike(given.one("x", 0))
    window = whole_number(read.value(given.one("window_shape", 1)))
    axis = read.value(given.one("axis", 2)) if given.has("axis", 2) else None
    if axis is None and len(sizes) != 1:
        return None
    axis = axis_from_first(axis or 0, len(sizes))
    return [*sizes[:axis], sizes[axis] - (window - 1), *sizes[axis + 1 :], window]


def _solve(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.linalg.solve(a, b)` of one matrix."""
    a, b = read.alike(given.one("a", 0)), read.alike(given.one("b", 1))
    return b if len(a) == 2 and 1 <= len(b) <= 2 else None


def _argwhere(read: Reader, given: Given) -> Sizes | None:
    return [UNKNOWN, len(read.alike(given.one("a", 0)))]


def _rfft(read: Reader, given: Given) -> Sizes | None:
    x = read.alike(given.one("a", 0))
    return [*x[:-1], x[-1] // 2 + 1] if x and len(given.positional) == 1 and not given.names else None


def _fft(read: Reader, given: Given) -> Sizes | None:
    return read.alike(given.one("a", 0)) if len(given.positional) == 1 and not given.names else None


def _fftfreq(read: Reader, given: Given) -> Sizes | None:
    return [read.value(given.one("n", 0))]


def _rfftfreq(read: Reader, given: Given) -> Sizes | None:
    n: Size = read.value(given.one("n", 0))
    return [n // 2 + 1]


_PERCENTILES: Final = ["percentile", "quantile", "nanpercentile", "nanquantile"]
_REDUCTIONS: Final = [
    *("median", "nanmedian", "nanmean", "nansum", "nanstd", "nanvar", "nanmax", "nanmin", "nanprod", "ptp"),
    *("nanargmax", "nanargmin", "all", "any"),
]
_SAME: Final = {
    **dict.fromkeys(["real", "imag", "angle"], same_sizes("val")),
    **dict.fromkeys(["fliplr", "flipud"], same_sizes("m")),
    **dict.fromkeys(
        ["nan_to_num", "sinc", "i0", "piecewise", "digitize", "interp", "isneginf", "isposinf"], same_sizes("x")
    ),
    **dict.fromkeys(["asfortranarray", "require", "round", "around"], same_sizes("a")),
    "isin": same_sizes("element"),
    "polyval": same_sizes("x", 1),
    "searchsorted": same_sizes("v", 1),
    "unwrap": same_sizes("p"),
}

FUNCTIONS: Final[dict[str, Callable[[Reader, Given], Sizes | None]]] = {
    **_SAME,
    **dict.fromkeys(_REDUCTIONS, _reduction()),
    **dict.fromkeys(_PERCENTILES, _percentile),
    **dict.fromkeys(["bartlett", "blackman", "hamming", "hanning", "kaiser"], _window_of),
    **dict.fromkeys(["geomspace", "logspace"], _spaced),
    **dict.fromkeys(["corrcoef", "cov"], _covariance),
    **dict.fromkeys(["concat", "concatenate"], _concatenate),
    **dict.fromkeys(["row_stack", "vstack"], _stacked(lambda one: _with_rank(one, 2), axis=0)),
    **dict.fromkeys(["argpartition", "partition"], _along_axis("a")),
    **dict.fromkeys(["bincount", "intersect1d", "setdiff1d", "union1d"], lambda _read, _given: [UNKNOWN]),
    "append": _append,
    "arange": _arange,
    "argwhere": _argwhere,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
    "average": _average,
    "choose": _choose,
    "column_stack": _stacked(lambda one: [*one, 1] if len(one) == 1 else one, axis=1),
    "convolve": _convolve,
    "correlate": _correlate,
    "cumulative_sum": _cumulative_sum,
    "delete": _delete,
    "diagflat": _diagflat,
    "dot": _dot,
    "dstack": _stacked(lambda one: _with_rank(one, 3), axis=2),
    "ediff1d": _ediff1d,
    "einsum": _einsum,
    "eye": _eye,
    "fromiter": _fromiter,
    "gradient": _gradient,
    "hstack": _stacked(lambda one: one or [1], axis=1),
    "identity": _identity,
    "indices": _indices,
    "inner": _inner,
    "insert": _insert,
    "lexsort": _lexsort,
    "linalg.matrix_power": same_sizes("a"),
    "linalg.solve": _solve,
    "linspace": _linspace,
    "pad": _pad,
    "polyfit": _polyfit,
    "resize": _resize,
    "roll": same_sizes("a"),
    "rollaxis": _rollaxis,
    "rot90": _rot90,
    "select": _select,
    "stack": _stack,
    "sliding_window_view": _sliding,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "trace": _trace,
    "trapezoid": _trapezoid,
    "tri": _tri,
    "vander": _vander,
}
FOURIER: Final[dict[str, Callable[[Reader, Given], Sizes | None]]] = {
    "fft": _fft,
    "fftfreq": _fftfreq,
    "fftshift": same_sizes("x"),
    "ifft": _fft,
    "rfft": _rfft,
    "rfftfreq": _rfftfreq,
}
