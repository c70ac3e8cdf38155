"""Einstein summation, and tensordot."""

from __future__ import annotations

from itertools import combinations
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import ShapeError
from tapegrad.sizes import (
    UNKNOWN,
    Dims,
    Size,
    UnknownDims,
    broadcast,
    is_unknown,
    normal_axes,
    one_int,
    show,
    surely_differ,
    surely_same,
)
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import same_dtypes, unwrap, unwrap_all

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import Number

Paired: TypeAlias = "tuple[Int | tuple[Int, ...], Int | tuple[Int, ...]]"


class Contraction(NamedTuple):
    """Explicit subscripts: the letters of each operand and of the result, without `...`, and their sizes."""

    inputs: tuple[str, ...]
    output: str
    sizes: dict[str, Size]


class Found(NamedTuple):
    """The size of a letter, and the operand that it was read from."""

    size: Size
    place: str
    dims: Dims


def einsum_shape(subscripts: str, operands: tuple[Dims, ...] = ()) -> Dims:
    """Return the size of each letter of the result."""
    whole = contraction(subscripts, operands)
    return tuple(whole.sizes[letter] for letter in whole.output)


def tensordot_shape(x: Dims, y: Dims, axes: Int | Paired = 2) -> Dims:
    """Return the sizes of `x` and then of `y`, without the axes that are summed over."""
    left, right = _summed_axes(x, y, axes)
    for n, m in zip(left, right, strict=True):
        if surely_differ(x[n], y[m]):
            message = f"axis {n} of x {show(x)} is {x[n]} but axis {m} of y {show(y)} is {y[m]}"
            raise ShapeError(message)
    rest_x = (size for axis, size in enumerate(x) if axis not in left)
    return (*rest_x, *(size for axis, size in enumerate(y) if axis not in right))


@op(einsum_shape)
def einsum(subscripts: str, *operands: Tensor[Any, T, D]) -> Tensor[Any, T, D]:
    """Evaluate the Einstein summation convention on tensors, as `numpy.einsum` does.

        ij,jk->ik:   z[i,k] = ∑_j x[i,j] y[j,k]
                     dx[i,j] = ∑_k dz[i,k] y[j,k]

    Axes with the same letter are multiplied element by element; letters that the result lacks are summed over. Three or
    more operands are contracted in the order with the fewest multiplications.

    Args:
        subscripts: A letter for each axis, operand by operand, and after `->` those of the result. Without an arrow
            the result has the letters that occur once, in alphabetical order. `...` stands for all other axes, which
            broadcast; without an arrow they come first. A letter that occurs twice in one operand takes its diagonal.
        operands: As many as there are subscripts, of one dtype.

    Returns:
        A tensor with an axis for each letter of the result.

    Raises:
        ShapeError: A letter has two sizes, the rank of an operand differs from its subscripts, or these are invalid.
        DTypeError: The dtypes differ.

    Examples:
        >>> x, y = tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([[1.0, 0.0], [2.0, 1.0]])
        >>> tg.einsum("ij,jk->ik", x, y).tolist()
        [[5.0, 2.0], [11.0, 4.0]]
        >>> tg.einsum("ii", x).item()
        5.0
        >>> queries, keys = tg.ones((2, 5, 8)), tg.ones((2, 7, 8))
        >>> tg.einsum("bqc,bkc->bqk", queries, keys).shape
        (2, 5, 7)
    """
    parts, tape = unwrap_all(operands, "operands")
    same_dtypes(parts, "operands")
    whole = contraction(subscripts, tuple(x.shape for x in parts))
    return _contracted(whole, parts, tape)


@op(tensordot_shape)
def tensordot(
    x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number, axes: Int | Paired = 2
) -> Tensor[Any, Merge[T1, T2], D]:
    """Compute the tensor dot product: sum the products of two tensors over pairs of axes.

        z[a,c] = ∑_b x[a,b] y[b,c]
        dx[a,b] = ∑_c dz[a,c] y[b,c]
        dy[b,c] = ∑_a x[a,b] dz[a,c]

    Args:
        x: Any shape.
        y: Any shape, of the same dtype.
        axes: The number of axes summed over, the last of `x` and the first of `y`; or a pair, the axis or axes of `x`
            and the matching ones of `y`.

    Returns:
        The remaining axes of `x`, then those of `y`.

    Raises:
        ShapeError: Two matching axes differ in size, an axis is out of range, or has no matching one.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tg.tensordot(x, tg.tensor([1.0, 10.0]), axes=1).tolist()
        [21.0, 43.0]
        >>> images, w = tg.ones((2, 28, 28)), tg.ones((10, 28, 28))
        >>> tg.tensordot(images, w, axes=((1, 2), (1, 2))).shape
        (2, 10)
    """
    x, y, tape = unwrap(x, y)
    tensordot_shape(x.shape, y.shape, axes)
    left, right = _summed_axes(x.shape, y.shape, axes)
    letters, others = ascii_letters[: x.ndim], list(ascii_letters[x.ndim : x.ndim + y.ndim])
    for n, m in zip(left, right, strict=True):
        others[m] = letters[n]
    output = "".join(sorted({*letters} ^ {*others}, key=ascii_letters.index))
    sizes: dict[str, Size] = {**dict(zip(letters, x.shape, strict=True)), **dict(zip(others, y.shape, strict=True))}
    return _contracted(Contraction((letters, "".join(others)), output, sizes), [x, y], tape)


def contraction(subscripts: str, operands: tuple[Dims, ...]) -> Contraction:
    """Parse subscripts, and match them with the shapes of the operands.

    Raises:
        ShapeError: The subscripts are invalid, or do not match the shapes.
    """
    inputs, output = _parsed(subscripts, len(operands))
    operands = tuple(map(_with_rank, inputs, operands))
    counts = [_count_of_dots(position, *pair) for position, pair in enumerate(zip(inputs, operands, strict=True))]
    free = [letter for letter in ascii_letters if letter not in subscripts]
    dots = "".join(free[: max(counts)])
    if output is not None and dots and "..." not in output:
        message = f"'...' stands for {len(dots)} axes, which the result {output!r} leaves out"
        raise ShapeError(message)

    spelled = tuple(
        part.replace("...", dots[len(dots) - count :] if count else "")
        for part, count in zip(inputs, counts, strict=True)
    )
    once = sorted(letter for letter in {*"".join(inputs)} - {"."} if "".join(inputs).count(letter) == 1)
    result = dots + "".join(once) if output is None else output.replace("...", dots)
    sizes = _letter_sizes(spelled, operands, dots) | _dot_sizes(spelled, operands, dots)
    return Contraction(spelled, result, sizes)


def _contracted(whole: Contraction, parts: list[Tensor[Any, Any, Any]], tape: Any) -> Tensor[Any, Any, Any]:
    letters, values = _without_broadcast_axes(whole, parts)
    out = node(engine(*values).einsum(f"{','.join(letters)}->{whole.output}", *values))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        letters, values = _without_broadcast_axes(whole, parts)
        for position, x in enumerate(parts):
            if grads.wants(x):
                others = [*letters[:position], *letters[position + 1 :]]
                factors = [dz, *values[:position], *values[position + 1 :]]
                dx = _back(letters[position], [whole.output, *others], factors, whole.sizes)
                grads.add(x, dx.reshape(x.shape))

    recorded: Tensor[Any, Any, Any] = tape.record(out, tuple(parts), backward)
    return recorded


def _without_broadcast_axes(whole: Contraction, parts: list[Tensor[Any, Any, Any]]) -> tuple[list[str], list[Any]]:
    """Return the letters and values of the operands, without axes of size one that are broadcast."""
    letters, values = [], []
    for names, x in zip(whole.inputs, parts, strict=True):
        axes = [axis for axis, name in enumerate(names) if not _is_broadcast(x.shape[axis], whole.sizes[name])]
        letters.append("".join(names[axis] for axis in axes))
        is_unchanged = len(axes) == len(names)
        values.append(x.data if is_unchanged else x.data.reshape(tuple(x.shape[axis] for axis in axes)))
    return letters, values


def _is_broadcast(size: Size, whole: Size) -> bool:
    return surely_same(size, 1) and not surely_same(whole, 1)


def _back(letters: str, others: list[str], factors: list[Any], sizes: dict[str, Any]) -> Any:
    """Return the gradient of the operand with these letters; the first factor is the gradient of the result."""
    distinct = "".join(dict.fromkeys(letters))
    reached = "".join(letter for letter in distinct if any(letter in other for other in others))
    primitives = engine(*factors)
    dx = primitives.einsum(f"{','.join(others)}->{reached}", *factors)
    if reached != distinct:  # the gradient is constant along letters that only this operand has
        dx = dx.reshape(tuple(sizes[letter] if letter in reached else 1 for letter in distinct))
        dx = primitives.broadcast_to(dx, tuple(sizes[letter] for letter in distinct))
    if distinct != letters:
        diagonal = np.ix_(*(np.arange(sizes[letter]) for letter in distinct))
        index = tuple(diagonal[distinct.index(letter)] for letter in letters)
        dx = primitives.at_set(primitives.zeros(tuple(sizes[letter] for letter in letters), dx.dtype), index, dx)
    return dx


def _parsed(subscripts: str, count: int) -> tuple[list[str], str | None]:
    """Split subscripts into those of the operands and those of the result, None without an arrow."""
    before, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = before.split(",")
    for part in (*inputs, output):
        stray = next((sign for sign in part.replace("...", "", 1) if sign not in ascii_letters), None)
        if stray is not None:
            message = f"subscripts {subscripts!r} hold {stray!r}, which is neither a letter nor '...'"
            raise ShapeError(message)
    if len(inputs) != count:
        message = f"subscripts {subscripts!r} are for {len(inputs)} operands, not {count}"
        raise ShapeError(message)
    if not arrow:
        return inputs, None
    for letter in output.replace("...", ""):
        if letter not in before or output.count(letter) > 1:
            fault = f"{letter}, which no operand has" if letter not in before else f"{letter} twice"
            message = f"the result {output!r} has {fault}"
            raise ShapeError(message)
    return inputs, output


def _with_rank(part: str, dims: Dims) -> Dims:
    """Return the shape of an operand; if its rank is unknown, its letters determine it unless there is a `...`."""
    return (UNKNOWN,) * len(part) if isinstance(dims, UnknownDims) and "..." not in part else dims


def _count_of_dots(position: int, part: str, dims: Dims) -> int:
    """Return how many axes of an operand `...` stands for; 0 without it."""
    named = len(part.replace("...", ""))
    if len(dims) < named or (len(dims) > named and "..." not in part):
        least = "at least " if "..." in part else ""
        message = f"operands[{position}] {show(dims)} has rank {len(dims)} but {part!r} names {least}{named} axes"
        raise ShapeError(message)
    return len(dims) - named


def _letter_sizes(spelled: tuple[str, ...], operands: tuple[Dims, ...], dots: str) -> dict[str, Size]:
    found: dict[str, Found] = {}
    for position, (letters, dims) in enumerate(zip(spelled, operands, strict=True)):
        for letter, size in zip(letters, dims, strict=True):
            here = Found(size, f"operands[{position}]", dims)
            there = found.get(letter, here)
            if letter not in dots and surely_differ(there.size, size):
                raise ShapeError(_two_sizes(letter, there, here))
            found[letter] = here if is_unknown(there.size) else there
    return {letter: one.size for letter, one in found.items()}


def _two_sizes(letter: str, there: Found, here: Found) -> str:
    if there.place == here.place:
        return f"{letter} is both {there.size} and {here.size} in {here.place} {show(here.dims)}"
    return (
        f"{letter} is {there.size} in {there.place} {show(there.dims)} "
        f"but {here.size} in {here.place} {show(here.dims)}"
    )


def _dot_sizes(spelled: tuple[str, ...], operands: tuple[Dims, ...], dots: str) -> dict[str, Size]:
    """Return the sizes that the axes of `...` broadcast to."""
    stretches = {
        f"operands[{position}]": tuple(size for letter, size in zip(letters, dims, strict=True) if letter in dots)
        for position, (letters, dims) in enumerate(zip(spelled, operands, strict=True))
    }
    for (one, dims), (other, more) in combinations(stretches.items(), 2):
        try:
            broadcast(x=dims, y=more)
        except ShapeError:
            message = f"'...' is {show(dims)} in {one} but {show(more)} in {other}, which do not broadcast"
            raise ShapeError(message) from None
    return dict(zip(dots, broadcast(**stretches), strict=True))


def _summed_axes(x: Dims, y: Dims, axes: Int | Paired) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of `x` and the matching axes of `y`, none of them negative."""
    if not isinstance(axes, tuple):
        one_int(axes, "axes")
        for name, dims in {"x": x, "y": y}.items():
            if not 0 <= axes <= len(dims):
                message = f"axes is {axes} but {name} {show(dims)} has rank {len(dims)}"
                raise ShapeError(message)
        return tuple(range(len(x) - axes, len(x))), tuple(range(axes))
    if len(axes) != 2:
        message = f"axes is {axes!r} but two are expected, of x and of y"
        raise ShapeError(message)
    left, right = normal_axes(axes[0], x, "x"), normal_axes(axes[1], y, "y")
    if len(left) != len(right):
        message = f"axes has {len(left)} of x but {len(right)} of y"
        raise ShapeError(message)
    return left, right
