"""Ops that draw random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.generator import generator
from tapegrad.op import op
from tapegrad.ops.create import filled_shape, float_dtype_only
from tapegrad.tensor import Float, Tensor, handle

if TYPE_CHECKING:
    from tapegrad.generator import RNG
    from tapegrad.tape import NoneTape
    from tapegrad.tensor import Sizes


@op(filled_shape)
def normal(
    shape: Sizes,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: type[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
    rng: RNG = None,
) -> Tensor[Any, NoneTape, Float]:
    r"""Draws a tensor of normally distributed numbers.

    $$y_i \sim \mathcal{N}(\mu, \sigma^2)$$

    Args:
        shape: The sizes, each at least 0.
        mean: The centre of the distribution.
        std: Its standard deviation, at least 0.
        dtype: A NumPy float type.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is not a float.
        ValueError: `std` is negative.
    """
    float_dtype_only(dtype)
    return handle(np.asarray(generator(rng).normal(mean, std, shape), dtype))


@op(filled_shape)
def uniform(
    shape: Sizes,
    *,
    low: float = 0.0,
    high: float = 1.0,
    dtype: type[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
    rng: RNG = None,
) -> Tensor[Any, NoneTape, Float]:
    r"""Draws a tensor of numbers from an interval, all equally likely.

    $$y_i \sim \mathcal{U}[l, h)$$

    Args:
        shape: The sizes, each at least 0.
        low: The least number.
        high: The number that all stay below.
        dtype: A NumPy float type.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is not a float.
    """
    float_dtype_only(dtype)
    return handle(np.asarray(generator(rng).uniform(low, high, shape), dtype))
