"""Comparison of floats up to a tolerance: isclose and allclose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.ranges import check_options
from tapegrad.ops.arithmetic import add, mul, sub
from tapegrad.ops.compare import equal, less_equal
from tapegrad.ops.elementwise import astype
from tapegrad.ops.logical import isfinite, isnan, logical_and, logical_or
from tapegrad.ops.reductions_bool import all as all_of
from tapegrad.ops.rounding import abs as absolute
from tapegrad.sizes import Dims, broadcast
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.tensors import Number, Real, Tensor


def isclose_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape that both broadcast to."""
    return broadcast(x=x, y=y)


def allclose_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape of a scalar, after checking that both broadcast."""
    broadcast(x=x, y=y)
    return ()


@op(isclose_shape)
def isclose(
    x: Tensor[Any, Any, Real] | Number,
    y: Tensor[Any, Any, Real] | Number,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is close to `y`, element by element; not differentiable.

        z = [|x - y| ≤ atol + rtol |y|]

    Args:
        x: Any shape, or a number; float or int.
        y: A shape that broadcasts with `x`, or a number: what `x` is compared with.
        rtol: The relative tolerance, at least 0.
        atol: The absolute tolerance, at least 0.
        equal_nan: Whether a NaN is close to a NaN. An infinity is close only to itself.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool, or a tolerance is not a number.
        ValueError: A tolerance is below 0.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, np.inf])
        >>> tg.isclose(x, tg.tensor([1.000001, 2.1, np.inf])).tolist()
        [True, False, True]
        >>> tg.isclose(x, 2.0, atol=1.5).tolist()
        [True, True, False]
    """
    check_options("isclose", rtol=rtol, atol=atol)
    x, y, _ = unwrap(x, y)
    isclose_shape(x.shape, y.shape)
    if x.dtype.kind == "b":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), "number"))
    if x.dtype.kind != "f" and not x.is_float:  # unsigned differences would wrap
        x, y = astype(x, np.float64), astype(y, np.float64)
    same = equal(x, y)
    with np.errstate(invalid="ignore"):  # of two infinities
        is_near = less_equal(absolute(sub(x, y)), add(mul(absolute(y), rtol), atol))
    close = logical_or(same, logical_and(is_near, isfinite(y)))
    return logical_or(close, logical_and(isnan(x), isnan(y))) if equal_nan else close


@op(allclose_shape)
def allclose(
    x: Tensor[Any, Any, Real] | Number,
    y: Tensor[Any, Any, Real] | Number,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor[tuple[()], NoneTape, np.bool_]:
    """Return whether all elements of `x` are close to those of `y`; not differentiable.

        z = ⋀_i [|x[i] - y[i]| ≤ atol + rtol |y[i]|]

    Args:
        x: Any shape, or a number; float or int.
        y: A shape that broadcasts with `x`, or a number: what `x` is compared with.
        rtol: The relative tolerance, at least 0.
        atol: The absolute tolerance, at least 0.
        equal_nan: Whether a NaN is close to a NaN. An infinity is close only to itself.

    Returns:
        One bool, a tensor of shape `()` without a tape, so that it can be computed under `jit`; True if there is no
        element.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool, or a tolerance is not a number.
        ValueError: A tolerance is below 0.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 4.0])
        >>> tg.allclose(tg.exp(tg.log(x)), x).item()
        True
        >>> bool(tg.allclose(x, 2.0))
        False
    """
    check_options("allclose", rtol=rtol, atol=atol)
    x, y, _ = unwrap(x, y)
    if x.dtype.kind == "b":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), "number"))
    return all_of(isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan))
