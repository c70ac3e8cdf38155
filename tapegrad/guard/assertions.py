"""Assertions about sizes: they are checked when the program runs, and mypy takes them as true from there on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.sizes import is_int, show
from tapegrad.tensors.operands import tensor_only

if TYPE_CHECKING:
    from tapegrad.tensors import D, S, T, Tensor


@public_api
def assert_divides(divisor: int, number: int) -> None:
    """Assert that one size divides another without remainder.

    For mypy `divisor * (number // divisor)` is equal to `number` from here to the end of the block.

    Args:
        divisor: A size, not 0.
        number: The size it divides.

    Raises:
        ShapeError: There is a remainder, or `divisor` is 0.
        DTypeError: One of them is not an int.

    Examples:
        >>> heads, features = 8, 64
        >>> tg.assert_divides(heads, features)
        >>> features // heads
        8
        >>> tg.assert_divides(7, features)
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: assert_divides: 7 does not divide 64
    """
    _ints_only("assert_divides", divisor=divisor, number=number)
    if divisor == 0 or number % divisor:
        raise ShapeError(messages.not_divided(divisor, number))


@public_api
def assert_same(n: int, m: int) -> None:
    """Assert that two sizes are equal.

    For mypy the name of the first denotes the second from here to the end of the block.

    Args:
        n: A size.
        m: The size that `n` should be equal to.

    Raises:
        ShapeError: The sizes differ.
        DTypeError: One of them is not an int.

    Examples:
        >>> images, labels = tg.zeros((32, 64)), tg.zeros((31,), np.int64)
        >>> tg.assert_same(images.shape[1], 64)
        >>> tg.assert_same(images.shape[0], labels.shape[0])
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: assert_same: 32 is not 31
    """
    _ints_only("assert_same", n=n, m=m)
    if n != m:
        raise ShapeError(messages.not_same(n, m))


@public_api
def assert_shape(x: Tensor[Any, T, D], shape: S) -> Tensor[S, T, D]:
    """Assert the shape of a tensor where its static type has none; a variable `x` has that shape from here on.

    Args:
        x: Any shape.
        shape: The expected sizes.

    Returns:
        `x` itself.

    Raises:
        ShapeError: `x` has another shape.
        DTypeError: `x` is not a tensor, or `shape` is not a tuple.

    Examples:
        >>> rows = tg.tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))
        >>> rows = tg.assert_shape(rows, (2, 3))
        >>> tg.assert_shape(rows, (2, 4))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: assert_shape: x is (2, 3) but (2, 4) is expected: axis 1 is 3, not 4
    """
    tensor_only(x, "assert_shape: x")
    if not isinstance(shape, tuple):
        kind = messages.with_article(type(shape).__name__)
        message = f"assert_shape: shape is {kind} but a tuple of ints is expected"
        raise DTypeError(message)
    if x.shape != shape:
        raise ShapeError(messages.other_sizes("assert_shape", "x", x.shape, shape))
    return x


@public_api
def reveal_shape(x: Tensor[S, T, D]) -> Tensor[S, T, D]:
    """Print the shape, dtype and tape of a tensor: mypy as a note, Python on stderr.

    Args:
        x: Any shape.

    Returns:
        `x` itself.

    Raises:
        DTypeError: `x` is not a tensor.

    Examples:
        >>> import contextlib, sys
        >>> x = tg.zeros((32, 64))
        >>> with contextlib.redirect_stderr(sys.stdout):
        ...     y = tg.reveal_shape(x.trace()).mean(axis=1)
        Runtime shape is (32, 64) float32, owned tape
        >>> y.shape
        (32,)
    """
    tensor_only(x, "reveal_shape: x")
    sys.stderr.write(f"Runtime shape is {messages.revealed(show(x.shape), str(x.dtype), owns_tape=x.owns_tape)}\n")
    return x


def _ints_only(call: str, **sizes: object) -> None:
    for name, size in sizes.items():
        if not is_int(size):
            message = f"{call}: {name} is {size!r} but an int is expected"
            raise DTypeError(message)
