"""NumPy's functions that return several arrays, and objects that make arrays of an index, such as `np.mgrid`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from mypy.nodes import SliceExpr, TupleExpr

from tapegrad.mypy.calls.array_sizes import UnreadError, axis_from_first, broadcasted, joined, number_of, whole_number
from tapegrad.sizes import UNKNOWN, is_unknown, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Expression

    from tapegrad.mypy.calls.array_sizes import Given, Reader, Several, Sizes
    from tapegrad.sizes import Size


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
    n = whole_number(read.value(given.one("n", 0)))
    k = whole_number(read.value(given.one("k", 1))) if given.has("k", 1) else 0
    return n, k, whole_number(read.value(given.one("m", 2))) if given.has("m", 2) else n


def _below(n: int, k: int, m: int) -> int:
    """Return how many elements of a matrix (n, m) are less than k columns behind the diagonal."""
    return sum(min(max(row + k, 0), m) for row in range(n))


def _split(axis: int | None) -> Callable[[Reader, Given], Several | None]:
    """Return a function that splits an array along an axis, or along that which the call names."""

    def rule(read: Reader, given: Given) -> Several | None:
        sizes = read.alike(given.one("ary", 0))
        named = read.value(given.one("axis", 2)) if axis is None and given.has("axis", 2) else axis or 0
        place = axis_from_first(min(named, len(sizes) - 1) if axis is not None else named, len(sizes))
        parts = read.value(given.one("indices_or_sections", 1))
        n = whole_number(sizes[place])
        if isinstance(parts, list | tuple) and all(type(one) is int for one in parts):
            bounds = [0, *(min(max(one + n if one < 0 else one, 0), n) for one in parts), n]
            lengths = [max(end - start, 0) for start, end in pairwise(bounds)]
        else:
            count = whole_number(parts)
            lengths = [n // count + (place < n % count) for place in range(count)] if count > 0 else []
        return [[*sizes[:place], one, *sizes[place + 1 :]] for one in lengths]

    return rule


def part_of_split(read: Reader, given: Given, name: str) -> Sizes:
    """Return the sizes that all parts have in common into which a call of a function splits an array.

    Raises:
        UnreadError: The axis or the rank of the array is not known.
    """
    axis = SPLITTING[name]
    sizes = read.alike(given.one("ary", 0))
    if axis is None:
        axis = read.value(given.one("axis", 2)) if given.has("axis", 2) else 0
    place = axis_from_first(min(axis, len(sizes) - 1) if name == "hsplit" else axis, len(sizes))
    return [*sizes[:place], UNKNOWN, *sizes[place + 1 :]]


SPLITTING: Final[dict[str, int | None]] = {"array_split": None, "hsplit": 1, "split": None, "vsplit": 0}


def _histogram(read: Reader, given: Given) -> Several | None:
    bins = whole_number(read.value(given.one("bins", 1))) if given.has("bins", 1) else 10
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
    axis = axis_from_first(read.value(given.named["axis"]) if "axis" in given.names else 0, len(sizes))
    return [[*sizes[:axis], *sizes[axis + 1 :]]] * whole_number(sizes[axis])


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
    return len(range(whole_number(start), whole_number(stop), 1 if part.stride is None else whole_number(step)))


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
