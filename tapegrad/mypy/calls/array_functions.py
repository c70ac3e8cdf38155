"""Sizes that NumPy's functions return which are no ops of tensors, such as `np.column_stack` and `rng.choice`."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Protocol

from mypy.nodes import ARG_NAMED, ARG_POS, ComplexExpr, FloatExpr, IntExpr, SliceExpr, TupleExpr, UnaryExpr

from tapegrad.sizes import UNKNOWN, Dim, Size, broadcast, is_unknown, largest, product, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mypy.nodes import CallExpr, Expression

Sizes = list[Size]
Several = list["Sizes | None"]


class UnreadError(Exception):
    """Nothing is known of the sizes of an expression."""


class Reader(Protocol):
    """Reads the sizes of arrays from expressions."""

    def sizes(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array; of a number, none."""

    def alike(self, expression: Expression) -> Sizes:
        """Return the sizes of an array, or of the array that NumPy makes of lists.

        Raises:
            UnreadError: The rank is unknown.
        """

    def arrays(self, expression: Expression) -> Several | None:
        """Return the sizes of each array in a list or a tuple; None if it is not known how many there are."""

    def value(self, expression: Expression) -> Any:
        """Return the value of an argument that is no array.

        Raises:
            ValueUnknownError: It is unknown.
        """

    def shape(self, expression: Expression) -> Sizes | None:
        """Return the sizes that an argument says, such as `(3, 4)`, `3` or `x.shape`; None for an unknown rank."""

    def by_op(self, name: str, given: Mapping[str, Expression], *starred: Expression) -> Sizes | None:
        """Return the sizes that the rule of an op computes; None if an argument is not known well enough."""


class Given:
    """The arguments of a call of NumPy, by position and by name.

    Raises:
        UnreadError: An argument has a star.
    """

    def __init__(self, call: CallExpr) -> None:
        if not {*call.arg_kinds} <= {ARG_POS, ARG_NAMED}:
            raise UnreadError
        pairs = list(zip(call.arg_names, call.args, strict=True))
        self.positional = [value for name, value in pairs if name is None]
        self.named = {name: value for name, value in pairs if name is not None}

    @property
    def names(self) -> frozenset[str]:
        """The names of the keyword arguments."""
        return frozenset(self.named)

    def has(self, name: str, position: int) -> bool:
        """Return whether a parameter is given."""
        return name in self.named or position < len(self.positional)

    def one(self, name: str, position: int) -> Expression:
        """Return the argument for a parameter.

        Raises:
            UnreadError: It is left out.
        """
        if not self.has(name, position):
            raise UnreadError
        return self.named[name] if name in self.named else self.positional[position]

    def only(self, others: set[str]) -> Given:
        """Return the same arguments.

        Raises:
            UnreadError: One of the other parameters is given by name.
        """
        if self.names & others:
            raise UnreadError
        return self

    def after(self, receiver: Expression) -> Given:
        """Return the arguments of the function that a method is: the receiver comes first."""
        self.positional.insert(0, receiver)
        return self


def common(several: Several) -> Sizes | None:
    """Return the sizes that all of several arrays have, unknown where they differ."""
    known = [one for one in several if one is not None]
    if not known or len(known) < len(several) or len({len(one) for one in known}) > 1:
        return None
    return [
        sizes[0] if all(surely_same(one, sizes[0]) for one in sizes) else UNKNOWN for sizes in zip(*known, strict=True)
    ]


def joined(several: Several, axis: int) -> Sizes | None:
    """Return the sizes of arrays that are joined along an axis."""
    known = [one for one in several if one is not None]
    if not known or len(known) < len(several) or len({len(one) for one in known}) > 1 or not known[0]:
        return None
    axis = min(axis, len(known[0]) - 1)
    others = common([[*one[:axis], 0, *one[axis + 1 :]] for one in known])
    total = reduce(lambda n, m: n + m, (one[axis] for one in known))
    return None if others is None else [*others[:axis], total, *others[axis + 1 :]]


def broadcasted(several: Sequence[Sizes]) -> Sizes:
    """Return the sizes of arrays that are broadcast together."""
    return list(reduce(lambda x, y: broadcast(x=tuple(x), y=tuple(y)), map(tuple, several)))


def number_of(expression: Expression) -> float | complex | None:
    """Return a number that is written out; None if the expression is none."""
    match expression:
        case IntExpr(value=value) | FloatExpr(value=value) | ComplexExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=operand):
            found = number_of(operand)
            return None if found is None else -found
    return None


def _whole(value: Any) -> int:
    """Return a value that is a known int.

    Raises:
        UnreadError: It is not.
    """
    if type(value) is not int:
        raise UnreadError
    return value


def _only(sizes: Sizes) -> Size:
    """Return the size of a vector.

    Raises:
        UnreadError: It is none.
    """
    if len(sizes) != 1:
        raise UnreadError
    return sizes[0]


def _axis(value: Any, rank: int) -> int:
    """Return an axis, counted from the first one.

    Raises:
        UnreadError: It is not known, or there is none.
    """
    axis = _whole(value)
    if not -rank <= axis < rank:
        raise UnreadError
    return axis % rank


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
    axis = _axis(axis, len(x))
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
    axis = _axis(axis, len(x))
    return [*x[:axis], *indices, *x[axis + 1 :]]


def _of(name: str, position: int = 0) -> Callable[[Reader, Given], Sizes | None]:
    """Return a function that returns the sizes of an argument, which those of the result are too."""
    return lambda read, given: read.alike(given.one(name, position))


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
    axis = _axis(read.value(given.one("axis", 3)) if given.has("axis", 3) else -1, len(y))
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
    n, m = (_whole(_only(read.alike(given.one(name, place)))) for place, name in enumerate("av"))
    mode = read.value(given.one("mode", 2)) if given.has("mode", 2) else default
    sizes = {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}
    return [sizes[mode]] if mode in sizes else None


def _append(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `np.append(x, values, axis)`; without an axis, both are flattened."""
    x, values = read.alike(given.one("arr", 0)), read.alike(given.one("values", 1))
    axis = read.value(given.one("axis", 2)) if given.has("axis", 2) else None
    return [product(x) + product(values)] if axis is None else joined([x, values], _axis(axis, len(x)))


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
    axis = _axis(axis, len(x))
    return [*x[:axis], x[axis] + more, *x[axis + 1 :]]


def _rot90(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.only({"axes"}).one("m", 0))
    turns = _whole(read.value(given.one("k", 1))) if given.has("k", 1) else 1
    if len(given.positional) > 2 or len(sizes) < 2:
        return None
    return [sizes[1], sizes[0], *sizes[2:]] if turns % 2 else sizes


def _rollaxis(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.one("a", 0))
    axis = _axis(read.value(given.one("axis", 1)), len(sizes))
    start = _whole(read.value(given.one("start", 2))) if given.has("start", 2) else 0
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
    """Return the sizes of `np.stack(arrays, axis)`; with the first axis, the length of a list that loops fill."""
    arrays = given.only({"out"}).one("arrays", 0)
    axes = {"axis": given.one("axis", 1)} if given.has("axis", 1) else {}
    sizes = read.by_op("stack", {"tensors": arrays, **axes}) if len(given.positional) <= 2 else None
    if sizes is None or axes or not is_unknown(sizes[0]):
        return sizes
    return [read.alike(arrays)[0], *sizes[1:]]


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
    n = _only(read.alike(given.one("x", 0)))
    return [n, read.value(given.one("N", 1)) if given.has("N", 1) else n]


def _polyfit(read: Reader, given: Given) -> Sizes | None:
    y = read.alike(given.only({"full", "cov"}).one("y", 1))
    return [_whole(read.value(given.one("deg", 2))) + 1, *y[1:]] if len(given.positional) == 3 else None


def _covariance(read: Reader, given: Given) -> Sizes | None:
    sizes = read.alike(given.only({"y", "rowvar"}).one("m" if "m" in given.names else "x", 0))
    is_matrix = len(sizes) == 2 and _whole(sizes[0]) > 1  # of one variable it is a number
    return [sizes[0], sizes[0]] if is_matrix and len(given.positional) <= 1 else None


def _diagflat(read: Reader, given: Given) -> Sizes | None:
    n = product(read.alike(given.one("v", 0)))
    k = _whole(read.value(given.one("k", 1))) if given.has("k", 1) else 0
    return [n + abs(k)] * 2


def _fromiter(read: Reader, given: Given) -> Sizes | None:
    if given.has("count", 2):
        count = _whole(read.value(given.one("count", 2)))
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
    n = _whole(read.value(given.one("M", 0)))
    return [n] if n > 0 else None


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
    window = _whole(read.value(given.one("window_shape", 1)))
    axis = read.value(given.one("axis", 2)) if given.has("axis", 2) else None
    if axis is None and len(sizes) != 1:
        return None
    axis = _axis(axis or 0, len(sizes))
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
    **dict.fromkeys(["real", "imag", "angle"], _of("val")),
    **dict.fromkeys(["fliplr", "flipud"], _of("m")),
    **dict.fromkeys(["nan_to_num", "sinc", "i0", "piecewise", "digitize", "interp", "isneginf", "isposinf"], _of("x")),
    **dict.fromkeys(["asfortranarray", "require", "round", "around"], _of("a")),
    "isin": _of("element"),
    "polyval": _of("x", 1),
    "searchsorted": _of("v", 1),
    "unwrap": _of("p"),
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
    **dict.fromkeys(["intersect1d", "setdiff1d", "union1d"], lambda _read, _given: [UNKNOWN]),
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
    "linalg.matrix_power": _of("a"),
    "linalg.solve": _solve,
    "linspace": _linspace,
    "pad": _pad,
    "polyfit": _polyfit,
    "resize": _resize,
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
    "fftshift": _of("x"),
    "ifft": _fft,
    "rfft": _rfft,
    "rfftfreq": _rfftfreq,
}


# Functions that return several arrays


def _meshgrid(read: Reader, given: Given) -> Several | None:
    """Return the sizes of the arrays of `np.meshgrid(x, y)`, of which each has one axis for each array."""
    whole = [product(read.alike(one)) for one in given.positional]
    is_sparse = "sparse" in given.names and read.value(given.named["sparse"])
    indexing = read.value(given.named["indexing"]) if "indexing" in given.names else "xy"
    if indexing not in ("ij", "xy") or not isinstance(is_sparse, bool):
        return None
    places = list(range(len(whole)))
    if indexing == "xy":
        places[:2] = places[1::-1]
    if not is_sparse:
        return [[whole[place] for place in places]] * len(whole)
    return [[whole[place] if place == own else 1 for place in places] for own in range(len(whole))]


def _lower(read: Reader, given: Given) -> Several:
    """Return the sizes of the rows and the columns of `np.tril_indices(n, k)`."""
    n, k, m = _triangle(read, given)
    return [[_below(n, k + 1, m)]] * 2


def _upper(read: Reader, given: Given) -> Several:
    """Return the sizes of the rows and the columns of `np.triu_indices(n, k)`."""
    n, k, m = _triangle(read, given)
    return [[n * m - _below(n, k, m)]] * 2


def _triangle(read: Reader, given: Given) -> tuple[int, int, int]:
    """Return the rows, the diagonal and the columns of a triangle.

    Raises:
        UnreadError: One of them is no known number.
    """
    n = _whole(read.value(given.one("n", 0)))
    k = _whole(read.value(given.one("k", 1))) if given.has("k", 1) else 0
    return n, k, _whole(read.value(given.one("m", 2))) if given.has("m", 2) else n


def _below(n: int, k: int, m: int) -> int:
    """Return how many elements of a matrix (n, m) are less than k columns behind the diagonal."""
    return sum(min(max(row + k, 0), m) for row in range(n))


def _split(axis: int | None) -> Callable[[Reader, Given], Several | None]:
    """Return a function that splits an array along an axis, or along that which the call names."""

    def rule(read: Reader, given: Given) -> Several | None:
        sizes = read.alike(given.one("ary", 0))
        named = read.value(given.one("axis", 2)) if axis is None and given.has("axis", 2) else axis or 0
        place = _axis(min(named, len(sizes) - 1) if axis is not None else named, len(sizes))
        parts = read.value(given.one("indices_or_sections", 1))
        n = _whole(sizes[place])
        if isinstance(parts, list | tuple) and all(type(one) is int for one in parts):
            bounds = [0, *(min(max(one + n if one < 0 else one, 0), n) for one in parts), n]
            lengths = [max(end - start, 0) for start, end in pairwise(bounds)]
        else:
            count = _whole(parts)
            lengths = [n // count + (place < n % count) for place in range(count)] if count > 0 else []
        return [[*sizes[:place], one, *sizes[place + 1 :]] for one in lengths]

    return rule


def _histogram(read: Reader, given: Given) -> Several | None:
    bins = _whole(read.value(given.one("bins", 1))) if given.has("bins", 1) else 10
    return [[bins], [bins + 1]]


def _nonzero(read: Reader, given: Given) -> Several | None:
    """Return the sizes of `np.nonzero(x)`, and of `np.where(x)`."""
    if given.names or len(given.positional) != 1:
        return None
    return [[UNKNOWN]] * len(read.alike(given.positional[0]))


def _unravel(read: Reader, given: Given) -> Several | None:
    shape = read.shape(given.one("shape", 1))
    return None if shape is None else [read.alike(given.one("indices", 0))] * len(shape)


def _open_mesh(read: Reader, given: Given) -> Several | None:
    sizes = [read.alike(one) for one in given.positional]
    if any(len(one) != 1 for one in sizes):
        return None
    return [[sizes[own][0] if place == own else 1 for place in range(len(sizes))] for own in range(len(sizes))]


def _broadcast_arrays(read: Reader, given: Given) -> Several | None:
    several = [read.alike(one) for one in given.positional]
    return [broadcasted(several)] * len(several) if several else None


def _least_squares(read: Reader, given: Given) -> Several | None:
    """Return the sizes of the solution of `np.linalg.lstsq(a, b)`; those of its other results are not known."""
    a, b = read.alike(given.one("a", 0)), read.alike(given.one("b", 1))
    return [[a[1], *b[1:]], None, None, None] if len(a) == 2 and b else None


def _unstack(read: Reader, given: Given) -> Several | None:
    sizes = read.alike(given.one("x", 0))
    axis = _axis(read.value(given.named["axis"]) if "axis" in given.names else 0, len(sizes))
    return [[*sizes[:axis], *sizes[axis + 1 :]]] * _whole(sizes[axis])


SEVERAL: Final[dict[str, Callable[[Reader, Given], Several | None]]] = {
    "array_split": _split(None),
    "broadcast_arrays": _broadcast_arrays,
    "histogram": _histogram,
    "hsplit": _split(1),
    "ix_": _open_mesh,
    "linalg.lstsq": _least_squares,
    "meshgrid": _meshgrid,
    "nonzero": _nonzero,
    "split": _split(None),
    "tril_indices": _lower,
    "triu_indices": _upper,
    "unravel_index": _unravel,
    "unstack": _unstack,
    "vsplit": _split(0),
    "where": _nonzero,
}


# Objects that make arrays of an index, such as `np.mgrid[0:3, 0:4]`


def _dense_grid(read: Reader, index: Expression) -> Sizes | None:
    """Return the sizes of `np.mgrid[0:3, 0:4]`."""
    if not isinstance(index, TupleExpr):
        return [_length(read, index)]
    return [len(index.items), *(_length(read, one) for one in index.items)]


def _open_grid(read: Reader, index: Expression) -> Sizes | None:
    """Return the sizes of `np.ogrid[0:3]`; of several slices it makes several arrays, see `open_grids`."""
    return None if isinstance(index, TupleExpr) else [_length(read, index)]


def open_grids(read: Reader, index: Expression) -> Several | None:
    """Return the sizes of the arrays of `np.ogrid[0:3, 0:4]`."""
    if not isinstance(index, TupleExpr):
        return None
    lengths = [_length(read, one) for one in index.items]
    return [[lengths[own] if place == own else 1 for place in range(len(lengths))] for own in range(len(lengths))]


def _length(read: Reader, part: Expression) -> Size:
    """Return the number of elements of a slice of a grid, such as `0:4` and `-1:1:5j`.

    Raises:
        UnreadError: It is not known.
    """
    if not isinstance(part, SliceExpr) or part.end_index is None:
        raise UnreadError
    step = None if part.stride is None else number_of(part.stride)
    if isinstance(step, complex):
        return int(abs(step))
    start = 0 if part.begin_index is None else read.value(part.begin_index)
    stop = read.value(part.end_index)
    if start == 0 and part.stride is None and not isinstance(stop, float) and not is_unknown(stop):
        size: Size = max(stop, 0) if type(stop) is int else stop
        return size
    return len(range(_whole(start), _whole(stop), 1 if part.stride is None else _whole(step)))


def _columns(read: Reader, index: Expression) -> Sizes | None:
    """Return the sizes of `np.c_[x, y]` of vectors and matrices: vectors become columns."""
    found = [read.alike(one) for one in (index.items if isinstance(index, TupleExpr) else [index])]
    if any(not 1 <= len(one) <= 2 for one in found):
        return None
    return joined([[*one, 1] if len(one) == 1 else one for one in found], 1)


def _rows(read: Reader, index: Expression) -> Sizes | None:
    """Return the sizes of `np.r_[0:5, 7, x]` of numbers, slices and vectors."""
    parts = index.items if isinstance(index, TupleExpr) else [index]
    found: Several = []
    for one in parts:
        sizes = [_length(read, one)] if isinstance(one, SliceExpr) else read.alike(one)
        found.append(sizes or [1])
    return joined(found, 0) if all(one is not None and len(one) == 1 for one in found) else None


INDEXED: Final[dict[str, Callable[[Reader, Expression], Sizes | None]]] = {
    "c_": _columns,
    "mgrid": _dense_grid,
    "ogrid": _open_grid,
    "r_": _rows,
}


# Methods of generators

DRAWN: Final = {
    # The parameters before the size, which is the last one; without a size they are broadcast.
    "beta": ("a", "b"),
    "binomial": ("n", "p"),
    "chisquare": ("df",),
    "exponential": ("scale",),
    "f": ("dfnum", "dfden"),
    "gamma": ("shape", "scale"),
    "geometric": ("p",),
    "gumbel": ("loc", "scale"),
    "integers": ("low", "high"),
    "laplace": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "lognormal": ("mean", "sigma"),
    "negative_binomial": ("n", "p"),
    "normal": ("loc", "scale"),
    "pareto": ("a",),
    "poisson": ("lam",),
    "power": ("a",),
    "randint": ("low", "high"),
    "random": (),
    "random_integers": ("low", "high"),
    "random_sample": (),
    "rayleigh": ("scale",),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": ("shape",),
    "standard_normal": (),
    "standard_t": ("df",),
    "triangular": ("left", "mode", "right"),
    "uniform": ("low", "high"),
    "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"),
    "weibull": ("a",),
    "zipf": ("a",),
}


def drawn(read: Reader, given: Given, name: str) -> Sizes | None:
    """Return the sizes of what a method of a generator draws."""
    if name in ("rand", "randn"):
        return [read.value(one) for one in given.positional] or None
    if name in _DRAWS:
        return _DRAWS[name](read, given)
    if name not in DRAWN:
        return None
    parameters = DRAWN[name]
    size = _size(read, given, len(parameters))
    if size is not None:
        return size
    several = [read.alike(given.one(one, place)) for place, one in enumerate(parameters) if given.has(one, place)]
    return (broadcasted(several) or None) if several else None  # without any size it is a number


def _size(read: Reader, given: Given, place: int) -> Sizes | None:
    """Return the size that a call gives; None if it gives none.

    Raises:
        UnreadError: Its rank is unknown.
    """
    if not given.has("size", place) or getattr(given.one("size", place), "fullname", "") == "builtins.None":
        return None
    sizes = read.shape(given.one("size", place))
    if sizes is None:
        raise UnreadError
    return sizes


def _permutation(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `rng.permutation(x)`, or of `rng.permutation(n)`."""
    return read.alike(given.one("x", 0)) or read.shape(given.one("x", 0))


def _choice(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `rng.choice(x, size)`: rows of x, or numbers."""
    size, x = _size(read, given, 1), read.alike(given.one("a", 0))
    if given.has("axis", 4):
        return None
    rest = x[1:]
    return ([*(size or []), *rest] or None) if size is not None or rest else None


def _dirichlet(read: Reader, given: Given) -> Sizes | None:
    return [*(_size(read, given, 1) or []), *read.alike(given.one("alpha", 0))]


def _multinomial(read: Reader, given: Given) -> Sizes | None:
    size, n, p = _size(read, given, 2), read.alike(given.one("n", 0)), read.alike(given.one("pvals", 1))
    return [*(size or []), *p] if not n and len(p) == 1 else None


def _multivariate(read: Reader, given: Given) -> Sizes | None:
    mean = read.alike(given.one("mean", 0))
    return [*(_size(read, given, 2) or []), *mean] if len(mean) == 1 else None


_DRAWS: Final[dict[str, Callable[[Reader, Given], Sizes | None]]] = {
    "choice": _choice,
    "dirichlet": _dirichlet,
    "multinomial": _multinomial,
    "multivariate_normal": _multivariate,
    "permutation": _permutation,
    "permuted": _of("x"),
}
