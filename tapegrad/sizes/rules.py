"""What shape rules are made of: checks of ranks and axes, broadcasting, windows, and how shapes are shown."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, zip_longest
from numbers import Integral
from typing import TYPE_CHECKING, Any, SupportsIndex

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.sizes.bounds import surely_less
from tapegrad.sizes.comparisons import surely_differ, surely_same
from tapegrad.sizes.functions import largest, smallest
from tapegrad.sizes.symbols import is_symbol
from tapegrad.sizes.terms import UNKNOWN, Dim, Dims, RankUnknownError, Size, UnknownDims

if TYPE_CHECKING:
    from collections.abc import Iterable


def show(dims: Iterable[Size]) -> str:
    """Return sizes formatted like a Python tuple, with `?` for an unknown size.

    Examples:
        >>> tg.sizes.show((32, 64))
        '(32, 64)'
        >>> tg.sizes.show((tg.sizes.named("N"), tg.sizes.UNKNOWN))
        '(N, ?)'
        >>> tg.sizes.show(tg.sizes.UnknownDims())
        '(...)'
    """
    if isinstance(dims, UnknownDims):
        return "(...)"
    sizes = [str(size) for size in dims]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def at_least(rank: int, **operand: Dims) -> Dims:
    """Return the operand's sizes after checking that its rank is at least `rank`.

    Examples:
        >>> *leading, rows, columns = tg.sizes.at_least(2, x=(8, 3, 4))
        >>> leading, rows, columns
        ([8], 3, 4)
        >>> tg.sizes.at_least(2, x=(4,))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: x (4,) has rank 1 but needs at least 2
    """
    ((name, dims),) = operand.items()
    if len(dims) < rank:
        message = f"{name} {show(dims)} has rank {len(dims)} but needs at least {rank}"
        raise ShapeError(message)
    return dims


def of_rank(rank: int, **operand: Dims) -> Dims:
    """Return the operand's sizes after checking that its rank is `rank`.

    Examples:
        >>> rows, columns = tg.sizes.of_rank(2, x=(3, 4))
        >>> rows, columns
        (3, 4)
        >>> tg.sizes.of_rank(2, x=(8, 3, 4))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: x (8, 3, 4) has rank 3, not 2
    """
    ((name, dims),) = operand.items()
    if len(dims) != rank:
        message = f"{name} {show(dims)} has rank {len(dims)}, not {rank}"
        raise ShapeError(message)
    return dims


def broadcast(last: int = 0, /, **operands: Dims) -> Dims:
    """Return the shape to which all operands broadcast, by NumPy's rule: sizes align from the right, 1 matches any.

    The `last` axes of each operand, such as those of a matrix, are left out.

    Examples:
        >>> tg.sizes.broadcast(x=(32, 1, 64), y=(10, 64))
        (32, 10, 64)
        >>> tg.sizes.broadcast(2, x=(5, 1, 3, 4), y=(7, 4, 2))
        (5, 7)
        >>> tg.sizes.broadcast(x=(32, 64), y=(32,))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: x (32, 64) and y (32,) do not broadcast: axis -1 is 64 in x but 32 in y
    """
    leading = {name: sizes for name, dims in operands.items() if (sizes := dims[: max(len(dims) - last, 0)])}
    if len(leading) < 2:
        return next(iter(leading.values()), ())
    for name, other in combinations(leading, 2):
        pairs = zip(reversed(leading[name]), reversed(leading[other]), strict=False)
        for back, (n, m) in enumerate(pairs, start=last + 1):
            if n is not m and surely_differ(n, 1) and surely_differ(m, 1) and surely_differ(n, m):
                message = (
                    f"{name} {show(operands[name])} and {other} {show(operands[other])} do not broadcast: "
                    f"axis -{back} is {n} in {name} but {m} in {other}"
                )
                raise ShapeError(message)
    aligned = zip_longest(*(reversed(dims) for dims in leading.values()), fillvalue=1)
    return tuple(reduce(_broadcast_size, sizes) for sizes in aligned)[::-1]


def window(
    size: Size, kernel: Size, *, stride: Size = 1, padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False
) -> Size:
    """Return how many windows of `kernel` cells fit into `size` cells padded by `padding` on both sides.

    The cells of a window are `dilation` apart. With `ceil_mode`, the last window may reach beyond the padded cells, but
    starts inside them and before the padding at the end.

    Examples:
        >>> tg.sizes.window(28, 3), tg.sizes.window(28, 3, padding=1), tg.sizes.window(28, 2, stride=2)
        (26, 28, 14)
        >>> tg.sizes.window(28, 3, stride=3), tg.sizes.window(28, 3, stride=3, ceil_mode=True)
        (9, 10)
        >>> print(tg.sizes.window(tg.sizes.named("W"), 3, stride=2, padding=1))
        (W + 1) // 2
        >>> tg.sizes.window(2, 3)
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: a window of 3 does not fit into 2 cells
    """
    padded, span = size + 2 * padding, dilation * (kernel - 1) + 1
    reached = padded + stride - 1 if ceil_mode else padded
    if surely_less(reached, span):
        around = f" with a padding of {padding}" if surely_less(0, padding) else ""
        beyond = f", nor with ceil_mode into {reached}," if ceil_mode else ""
        message = f"a window of {span} does not fit into {size} cells{around}{beyond}"
        raise ShapeError(message)
    last = smallest([reached - span, size + padding - 1]) if ceil_mode else reached - span
    return last // stride + 1


def windows(
    x: Dims,
    axis: int,
    kernels: Dims,
    strides: Dims,
    paddings: Dims | None = None,
    dilations: Dims | None = None,
    *,
    ceil_mode: bool = False,
) -> Dims:
    """Return the number of windows along consecutive axes of `x` from `axis` on, each as in `window`.

    Examples:
        >>> tg.sizes.windows((8, 3, 28, 20), 2, (3, 3), (1, 2))
        (26, 9)
        >>> tg.sizes.windows((8, 3, 28, 20), 2, (3, 3), (1, 2), paddings=(1, 1))
        (28, 10)
        >>> tg.sizes.windows((8, 3, 28, 2), 2, (3, 3), (1, 2))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: a window of 3 does not fit into 2 cells along axis 3 of x (8, 3, 28, 2)
    """
    still, adjacent = (0,) * len(kernels), (1,) * len(kernels)
    sizes = x[axis : axis + len(kernels)]
    each = zip(sizes, kernels, strides, paddings or still, dilations or adjacent, strict=True)
    counts: list[Size] = []
    for size, kernel, stride, padding, dilation in each:
        try:
            count = window(size, kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
            counts.append(count)
        except ShapeError as error:
            message = f"{error} along axis {axis + len(counts)} of x {show(x)}"
            raise ShapeError(message) from None
    return tuple(counts)


def covered(
    count: Size, kernel: Size, *, stride: Size = 1, padding: Size = 0, dilation: Size = 1, beyond: Size = 0
) -> Size:
    """Return how many cells `count` windows cover, plus `beyond`, minus `padding` on both sides.

    It is the inverse of `window`: the least size with so many windows, and `window` of it is `count` as long as
    `beyond` is below `stride`.

    Examples:
        >>> tg.sizes.covered(14, 2, stride=2)
        28
        >>> tg.sizes.window(28, 2, stride=2)
        14
        >>> tg.sizes.covered(14, 3, stride=2, padding=1, beyond=1)
        28
    """
    size = (count - 1) * stride + dilation * (kernel - 1) + 1 + beyond - 2 * padding
    if surely_less(size, 1):
        message = f"a padding of {padding} leaves {size} cells of {size + 2 * padding}"
        raise ShapeError(message)
    return size


def product(dims: Iterable[Size]) -> Size:
    """Return the number of elements of a shape; unknown if the rank is unknown.

    Examples:
        >>> tg.sizes.product((2, 3, 4))
        24
        >>> print(tg.sizes.product((tg.sizes.named("N"), 3, 4)))
        12*N
    """
    if isinstance(dims, UnknownDims):
        return UNKNOWN
    count: Size = 1
    for size in dims:
        count = count * size
    return count


def normal_axis(axis: SupportsIndex | Dim, dims: Dims, name: str = "x") -> int:
    """Return `axis` counted from the front; raise RankUnknownError if it is symbolic.

    Examples:
        >>> tg.sizes.normal_axis(-1, (8, 3, 4))
        2
        >>> tg.sizes.normal_axis(3, (8, 3, 4))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: axis 3 is out of range for x (8, 3, 4)
    """
    place = one_int(axis)
    if isinstance(place, Dim):
        raise RankUnknownError
    if not -len(dims) <= place < len(dims):
        message = f"axis {place} is out of range for {name} {show(dims)}"
        raise ShapeError(message)
    return place % len(dims)


def normal_axes(axis: SupportsIndex | tuple[SupportsIndex, ...] | None, dims: Dims, name: str = "x") -> tuple[int, ...]:
    """Return the axes of a NumPy `axis` argument, counted from the front; None means all.

    Examples:
        >>> tg.sizes.normal_axes((0, -1), (8, 3, 4))
        (0, 2)
        >>> tg.sizes.normal_axes(None, (8, 3, 4))
        (0, 1, 2)
        >>> tg.sizes.normal_axes((2, -1), (8, 3, 4))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: axis (2, -1) names an axis of x (8, 3, 4) twice
    """
    if axis is None:
        return tuple(range(len(dims)))
    axes = tuple(normal_axis(one, dims, name) for one in several_ints(axis))
    if len(set(axes)) < len(axes):
        message = f"axis {axis} names an axis of {name} {show(dims)} twice"
        raise ShapeError(message)
    return axes


def one_int(number: SupportsIndex | Dim, name: str = "axis") -> Size:
    """Return an axis or a count as a Python int or a `Dim`; a bool or an array is rejected.

    Raises:
        DTypeError: It is neither a Python nor a NumPy int.

    Examples:
        >>> tg.sizes.one_int(np.int64(2))
        2
        >>> tg.sizes.one_int(2.0, "stride")
        Traceback (most recent call last):
            ...
        tapegrad.errors.DTypeError: stride is 2.0 but an int is expected
    """
    if not is_int(number):
        message = f"{name} is {_described(number)} but an int is expected"
        raise DTypeError(message)
    known: Any = number  # a symbol has the operators of a size
    return known if isinstance(number, int | Dim) or is_symbol(number) else int(number)


def several_ints(numbers: Any, name: str = "axis") -> tuple[Any, ...]:
    """Return the ints of an argument that is an int or a tuple of ints, such as axes or sizes, as a tuple.

    Raises:
        DTypeError: They are not ints.

    Examples:
        >>> tg.sizes.several_ints(-1)
        (-1,)
        >>> tg.sizes.several_ints((0, np.int64(2)))
        (0, 2)
    """
    several = numbers if isinstance(numbers, tuple) else (numbers,)
    if not all(map(is_int, several)):
        message = f"{name} is {_described(numbers)} but an int or a tuple of ints is expected"
        raise DTypeError(message)
    return tuple(map(one_int, several))


def _described(given: object) -> str:
    """Return a value for a message, and of a tensor or an array only its class."""
    return messages.with_article(type(given).__name__) if getattr(given, "shape", ()) else repr(given)


def is_int(axis: object) -> bool:
    """Return whether a value is an axis or a count: a Python or NumPy int, or a `Dim`, but not a bool.

    Examples:
        >>> tg.sizes.is_int(2), tg.sizes.is_int(np.int64(2)), tg.sizes.is_int(tg.sizes.named("N"))
        (True, True, True)
        >>> tg.sizes.is_int(2.0), tg.sizes.is_int(True)
        (False, False)
    """
    if type(axis) is int or isinstance(axis, Dim) or is_symbol(axis):
        return True
    return isinstance(axis, Integral) and not isinstance(axis, bool)


def _broadcast_size(n: Size, m: Size) -> Size:
    if n is m or surely_same(n, m) or surely_same(m, 1):
        return n
    if surely_same(n, 1):
        return m
    if isinstance(n, Dim) and isinstance(m, Dim):
        for size, other in ((n, m), (m, n)):
            if surely_same(other, largest([size, 1])):
                return size  # where it is 0, the other one is 1
    # A size that is surely not 1 is the result: the other one is equal to it or 1. The value of a name may be 1.
    return next((size for size in (n, m) if isinstance(size, int) or surely_less(1, size)), UNKNOWN)
