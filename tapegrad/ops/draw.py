"""Ops that sample random tensors, and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines.underflow import ignore_underflow
from tapegrad.errors.options import check_number, check_range
from tapegrad.errors.ranges import check_options
from tapegrad.generator import check_rng, generator
from tapegrad.ops.create import filled_shape, float_dtype_only, like_shape
from tapegrad.ops.elementwise import elementwise_shape, float_only, scalar_type
from tapegrad.sizes import several_ints
from tapegrad.tensors import D, Float, S, T, Tensor, from_array, node
from tapegrad.tensors.operands import of_same_kind, tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.engines import Int
    from tapegrad.generator import RNG
    from tapegrad.tensors import Sizes


@op(filled_shape)
def normal(
    shape: Sizes | Int,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: type[Float] | np.dtype[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
    rng: RNG = None,
) -> Tensor[Any, NoneTape, Float]:
    """Sample a tensor from a normal distribution.

        y[i] ~ N(μ, σ²)

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        mean: The mean of the distribution.
        std: The standard deviation, at least 0.
        dtype: A NumPy float dtype, or its scalar type.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is not a float, or `shape` is not made of ints.
        ValueError: `std` is negative.

    Examples:
        >>> w = tg.normal((64, 10), std=0.02, rng=0)
        >>> w.shape, str(w.dtype)
        ((64, 10), 'float32')
        >>> tg.normal(3, dtype=np.float64, rng=0).shape
        (3,)
    """
    float_dtype_only(dtype)
    _check_normal("normal", mean, std)
    return from_array(_drawn(rng, "normal", mean, std, several_ints(shape, "shape"), dtype=scalar_type(dtype)))


@op(filled_shape)
def uniform(
    shape: Sizes | Int,
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: type[Float] | np.dtype[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
    rng: RNG = None,
) -> Tensor[Any, NoneTape, Float]:
    """Sample a tensor from a uniform distribution.

        y[i] ~ U[l, h)

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        low: The lower bound, inclusive.
        high: The upper bound, exclusive, at least `low`.
        dtype: A NumPy float dtype, or its scalar type.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is not a float, or `shape` is not made of ints.
        ValueError: `high` is below `low`.

    Examples:
        >>> images = tg.uniform((2, 28, 28), low=-1.0, high=1.0, rng=0)
        >>> images.shape, str(images.dtype)
        ((2, 28, 28), 'float32')
        >>> bool((images.numpy() >= -1).all() and (images.numpy() < 1).all())
        True
    """
    float_dtype_only(dtype)
    _check_uniform("uniform", low, high)
    return from_array(_drawn(rng, "uniform", low, high, several_ints(shape, "shape"), dtype=scalar_type(dtype)))


@op(filled_shape)
def bernoulli(
    shape: Sizes | Int,
    p: float = 0.5,
    *,
    dtype: type[D] | np.dtype[D] = np.float32,  # type: ignore[assignment]  # the default of D
    rng: RNG = None,
) -> Tensor[Any, NoneTape, D]:
    """Sample a tensor of ones and zeros from a Bernoulli distribution.

        y[i] ~ Bernoulli(p)

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        p: The probability of a one, from 0 to 1.
        dtype: A NumPy dtype, or its scalar type; for bool, a one is True.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `shape` is not made of ints, or `dtype` is not a dtype.
        ValueError: `p` is out of range.

    Examples:
        >>> mask = tg.bernoulli((8, 16), p=0.75, rng=0)
        >>> mask.shape, np.unique(mask.numpy()).tolist()
        ((8, 16), [0.0, 1.0])
        >>> str(tg.bernoulli(8, dtype=np.bool_, rng=0).dtype)
        'bool'
    """
    check_options("bernoulli", p=p)
    return from_array(_ones(several_ints(shape, "shape"), p, scalar_type(dtype), rng))


@op(like_shape)
def normal_like(
    x: Tensor[S, Any, Float], mean: float = 0.0, std: float = 1.0, *, rng: RNG = None
) -> Tensor[S, NoneTape, Float]:
    """Sample a tensor from a normal distribution, with the shape and dtype of `x`.

        y[i] ~ N(μ, σ²)

    Args:
        x: Any shape, a float dtype. Its values and its tape are not used.
        mean: The mean of the distribution.
        std: The standard deviation, at least 0.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        The shape of `x`, without a tape.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `std` is negative.

    Examples:
        >>> images = tg.zeros((2, 28, 28))
        >>> noise = tg.normal_like(images, std=0.1, rng=0)
        >>> noise.shape, str(noise.dtype)
        ((2, 28, 28), 'float32')
    """
    plain, _ = unwrap(x)
    float_only(plain)
    _check_normal("normal_like", mean, std)
    return of_same_kind(from_array(_drawn(rng, "normal", mean, std, plain.shape, dtype=plain.dtype)), x)


@op(like_shape)
def uniform_like(
    x: Tensor[S, Any, Float], low: float = 0.0, high: float = 1.0, *, rng: RNG = None
) -> Tensor[S, NoneTape, Float]:
    """Sample a tensor from a uniform distribution, with the shape and dtype of `x`.

        y[i] ~ U[l, h)

    Args:
        x: Any shape, a float dtype. Its values and its tape are not used.
        low: The lower bound, inclusive.
        high: The upper bound, exclusive, at least `low`.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        The shape of `x`, without a tape.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `high` is below `low`.

    Examples:
        >>> x = tg.zeros((4, 3), np.float64)
        >>> y = tg.uniform_like(x, low=-1.0, high=1.0, rng=0)
        >>> y.shape, str(y.dtype)
        ((4, 3), 'float64')
    """
    plain, _ = unwrap(x)
    float_only(plain)
    _check_uniform("uniform_like", low, high)
    return of_same_kind(from_array(_drawn(rng, "uniform", low, high, plain.shape, dtype=plain.dtype)), x)


@op(like_shape)
def bernoulli_like(x: Tensor[S, Any, D], p: float = 0.5, *, rng: RNG = None) -> Tensor[S, NoneTape, D]:
    """Sample a tensor of ones and zeros from a Bernoulli distribution, with the shape and dtype of `x`.

        y[i] ~ Bernoulli(p)

    Args:
        x: Any shape. Its values and its tape are not used.
        p: The probability of a one, from 0 to 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        The shape of `x`, without a tape.

    Raises:
        ValueError: `p` is out of range.

    Examples:
        >>> x = tg.tensor([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
        >>> mask = tg.bernoulli_like(x, p=0.9, rng=0)
        >>> mask.shape, str(mask.dtype)
        ((2, 3), 'float32')
    """
    plain, _ = unwrap(x)
    check_options("bernoulli_like", p=p)
    return of_same_kind(from_array(_ones(plain.shape, p, plain.dtype, rng)), x)


@op(elementwise_shape)
def dropout(x: Tensor[S, T, Float], rate: float = 0.5, *, rng: RNG = None) -> Tensor[S, T, Float]:
    """Apply dropout in training: set elements to zero at random and scale up the others; otherwise return `x`.

    `x` trains if it has a tape, unless `trace(training=False)` started it.

        y[i] = (m[i] / (1 - p)) x[i]
        m[i] ~ Bernoulli(1 - p)
        dx[i] = (m[i] / (1 - p)) dy[i]

    Args:
        x: Any shape, a float dtype.
        rate: The probability p of dropping an element, from 0 to 1; 0 returns `x` without sampling, 1 gives zeros.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `rate` is out of range.

    Source:
        Srivastava et al., [Dropout](https://jmlr.org/papers/v15/srivastava14a.html), §4; scaled during training, §10.

    Examples:
        >>> x = tg.ones((4, 8))
        >>> y = tg.dropout(x.trace(), rate=0.5, rng=0)
        >>> y.shape, np.unique(y.numpy()).tolist()
        ((4, 8), [0.0, 2.0])
        >>> tg.dropout(x, rate=0.5) is x
        True
    """
    check_options("dropout", rate=rate)
    tensor_only(x, "x")
    float_only(x)
    if not x.is_training or not rate:
        check_rng(rng)
        return x
    x, tape = unwrap(x)
    mask = _ones(x.shape, 1 - rate, x.dtype, rng) / (1 - rate if rate < 1 else 1)
    with ignore_underflow():  # an op that raises is retried, and would sample again
        out = node(x.data * mask)

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out) * mask)

    return tape.record(out, (x,), backward)


def _ones(shape: Sizes | Int, p: float, dtype: Any, rng: RNG) -> Any:
    """Return an array of ones and zeros, each a one with probability `p`."""
    source = generator(rng)
    ones = source.random(shape) < p
    return np.asarray(ones, dtype) if isinstance(source, np.random.Generator) else ones.astype(dtype)


def _check_normal(name: str, mean: float, std: float) -> None:
    check_number(name, "mean", mean)
    check_options(name, std=std)


def _check_uniform(name: str, low: float, high: float) -> None:
    check_number(name, "low", low)
    check_range(name, "high", high, f"at least {low}, which is low", lambda high: high >= low)


def _drawn(rng: RNG, kind: str, *args: Any, dtype: Any) -> Any:
    """Sample with a method of a generator, or of its replacement under `jit`, which samples in the dtype."""
    source = generator(rng)
    draw: Any = getattr(source, kind)
    if not isinstance(source, np.random.Generator):
        return draw(*args, dtype)
    drawn = draw(*args)
    with ignore_underflow():  # an op that raises is retried, and would sample again
        return np.asarray(drawn, dtype)
