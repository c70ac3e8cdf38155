"""What a program claims of sizes: checked when it runs, and believed by mypy from there on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tapegrad import messages
from tapegrad.dims import show
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.operands import tensor_only
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.tensor import D, S, T, Tensor


@public_api
def assert_divides(divisor: int, number: int) -> None:
    """Claim that one size divides another without rest.

    To mypy `divisor * (number // divisor)` is `number` from here to the end of the block.

    Args:
        divisor: A size, not 0.
        number: The size it divides.

    Raises:
        ShapeError: There is a rest.
    """
    if divisor == 0 or number % divisor:
        raise ShapeError(messages.not_divided(divisor, number))


@public_api
def assert_same(n: int, m: int) -> None:
    """Claim that two sizes are one.

    To mypy the name of the first stands for the second from here to the end of the block.

    Args:
        n: A size.
        m: The same size by another name.

    Raises:
        ShapeError: They differ.
    """
    if n != m:
        raise ShapeError(messages.not_same(n, m))


@public_api
def assert_shape(x: Tensor[Any, T, D], shape: S) -> Tensor[S, T, D]:
    """Claim the shape of a tensor, for where types ended; a name given for `x` has that shape from here on.

    Args:
        x: Any shape.
        shape: Its sizes.

    Returns:
        `x` itself.

    Raises:
        ShapeError: It has other sizes.
        DTypeError: `x` is no tensor, or `shape` no tuple.
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
    """Show shape, dtype and tape of a tensor: mypy as a note, Python on stderr.

    Args:
        x: Any shape.

    Returns:
        `x` itself.

    Raises:
        DTypeError: `x` is no tensor.
    """
    tensor_only(x, "reveal_shape: x")
    sys.stderr.write(f"Runtime shape is {messages.revealed(show(x.shape), str(x.dtype), owns_tape=x.owns_tape)}\n")
    return x
