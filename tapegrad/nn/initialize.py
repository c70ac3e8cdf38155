"""Weight initialization: Kaiming, Xavier and orthogonal."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, Literal, TypeAlias

import numpy as np

from tapegrad.errors.options import check_number, check_word
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.generator import RNG, generator
from tapegrad.nn.param import Param
from tapegrad.sizes.constraints import check_weight
from tapegrad.tensors import node
from tapegrad.tensors.operands import tensor_only

Weight: TypeAlias = Param[Any, Any]
Fan: TypeAlias = Literal["in", "out"]


@public_api
def kaiming_uniform(weight: Weight, *, fan: Fan = "in", negative_slope: float = 0.0, rng: RNG = None) -> None:
    """Fill a weight with Kaiming (He) initialization from a uniform distribution, for a layer before a ReLU.

        w ~ U[-a, a)
        a = √(6 / ((1 + s²) n))

    Args:
        weight: `(In, Out)` of a `Linear`, or `(Out, In, ...)` of a convolution with a kernel of size `...`.
        fan: "in" if n is the fan-in, which preserves the variance in the forward pass, "out" if n is the fan-out, which
            preserves it in the backward pass.
        negative_slope: The negative slope s of the rectifier below zero.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Raises:
        ShapeError: The weight has fewer than two axes.
        DTypeError: `weight` is not a parameter, or `negative_slope` is not a number.
        ValueError: `negative_slope` is NaN, or `fan` is unknown.

    Source:
        He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852), eqs. 10 and 14.

    Examples:
        >>> layer = tg.nn.Linear(24, 10, rng=0)
        >>> tg.nn.kaiming_uniform(layer.weight, rng=0)
        >>> bound = (6 / 24) ** 0.5
        >>> bool(np.abs(layer.weight.numpy()).max() <= bound)
        True
    """
    _fill_uniform(
        weight,
        sqrt(3) * _deviation_for_rectifier("kaiming_uniform", weight, fan, negative_slope),
        generator(rng, "kaiming_uniform"),
    )


@public_api
def kaiming_normal(weight: Weight, *, fan: Fan = "in", negative_slope: float = 0.0, rng: RNG = None) -> None:
    """Fill a weight with Kaiming (He) initialization from a normal distribution, for a layer before a ReLU.

        w ~ N(0, σ²)
        σ = √(2 / ((1 + s²) n))

    Args:
        weight: `(In, Out)` of a `Linear`, or `(Out, In, ...)` of a convolution with a kernel of size `...`.
        fan: Whether n is the fan-in or the fan-out, see `kaiming_uniform`.
        negative_slope: The negative slope s of the rectifier below zero.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Raises:
        ShapeError: The weight has fewer than two axes.
        DTypeError: `weight` is not a parameter, or `negative_slope` is not a number.
        ValueError: `negative_slope` is NaN, or `fan` is unknown.

    Source:
        He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852), eqs. 10 and 14.

    Examples:
        >>> layer = tg.nn.Linear(50, 200, rng=0)
        >>> tg.nn.kaiming_normal(layer.weight, rng=0)
        >>> round(float(layer.weight.numpy().std()), 1)
        0.2
        >>> tg.nn.kaiming_normal(layer.weight, fan="out", rng=0)
        >>> round(float(layer.weight.numpy().std()), 1)
        0.1
    """
    _fill_normal(
        weight,
        _deviation_for_rectifier("kaiming_normal", weight, fan, negative_slope),
        generator(rng, "kaiming_normal"),
    )


@public_api
def xavier_uniform(weight: Weight, *, gain: float = 1.0, rng: RNG = None) -> None:
    """Fill a weight with Xavier (Glorot) initialization from a uniform distribution.

    It approximately preserves the variance in the forward pass and in the backward pass.

        w ~ U[-a, a)
        a = g √(6 / (n_in + n_out))

    Args:
        weight: `(In, Out)` of a `Linear`, or `(Out, In, ...)` of a convolution with a kernel of size `...`.
        gain: The factor g for the activation that follows, at least 0, such as 5/3 for `tanh`.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Raises:
        ShapeError: The weight has fewer than two axes.
        DTypeError: `weight` is not a parameter, or `gain` is not a number.
        ValueError: `gain` is negative or NaN.

    Source:
        Glorot & Bengio, [Understanding the difficulty of training deep feedforward neural
        networks](https://proceedings.mlr.press/v9/glorot10a.html), eq. 16.

    Examples:
        >>> layer = tg.nn.Linear(16, 8, rng=0)
        >>> tg.nn.xavier_uniform(layer.weight, gain=5 / 3, rng=0)
        >>> bound = 5 / 3 * (6 / (16 + 8)) ** 0.5
        >>> bool(np.abs(layer.weight.numpy()).max() <= bound)
        True
    """
    check_options("xavier_uniform", gain=gain)
    _fill_uniform(
        weight, gain * sqrt(3) * _deviation_for_both("xavier_uniform", weight), generator(rng, "xavier_uniform")
    )


@public_api
def xavier_normal(weight: Weight, *, gain: float = 1.0, rng: RNG = None) -> None:
    """Fill a weight with Xavier (Glorot) initialization from a normal distribution.

    It approximately preserves the variance in the forward pass and in the backward pass.

        w ~ N(0, σ²)
        σ = g √(2 / (n_in + n_out))

    Args:
        weight: `(In, Out)` of a `Linear`, or `(Out, In, ...)` of a convolution with a kernel of size `...`.
        gain: The factor g for the activation that follows, at least 0, see `xavier_uniform`.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Raises:
        ShapeError: The weight has fewer than two axes.
        DTypeError: `weight` is not a parameter, or `gain` is not a number.
        ValueError: `gain` is negative or NaN.

    Source:
        Glorot & Bengio, [Understanding the difficulty of training deep feedforward neural
        networks](https://proceedings.mlr.press/v9/glorot10a.html), eq. 12.

    Examples:
        >>> layer = tg.nn.Linear(20, 30, rng=0)
        >>> tg.nn.xavier_normal(layer.weight, rng=0)
        >>> round(float(layer.weight.numpy().std()), 1)
        0.2
    """
    check_options("xavier_normal", gain=gain)
    _fill_normal(weight, gain * _deviation_for_both("xavier_normal", weight), generator(rng, "xavier_normal"))


@public_api
def orthogonal(weight: Weight, *, gain: float = 1.0, rng: RNG = None) -> None:
    """Fill a weight with orthogonal rows, or with orthogonal columns if it has fewer columns than rows.

        w wᵀ = g² 1   or   wᵀ w = g² 1

    Args:
        weight: A matrix; further axes are flattened into the second.
        gain: The norm g of each row or column, at least 0.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Raises:
        ShapeError: The weight has fewer than two axes.
        DTypeError: `weight` is not a parameter, or `gain` is not a number.
        ValueError: `gain` is negative or NaN.

    Source:
        Saxe et al., [Exact solutions to the nonlinear dynamics of learning in deep linear neural
        networks](https://arxiv.org/abs/1312.6120), §3.

    Examples:
        >>> layer = tg.nn.Linear(2, 5, rng=0)
        >>> tg.nn.orthogonal(layer.weight, rng=0)
        >>> w = layer.weight.numpy()
        >>> np.allclose(w @ w.T, np.eye(2), atol=1e-6)
        True
    """
    check_options("orthogonal", gain=gain)
    _fans("orthogonal", weight)
    rows, columns = weight.shape[0], prod(weight.shape[1:])
    wide = rows < columns
    q, r = np.linalg.qr(generator(rng, "orthogonal").normal(size=(columns, rows) if wide else (rows, columns)))
    q *= np.sign(np.diag(r))  # QR fixes the signs arbitrarily; without this the distribution is not uniform
    _fill(weight, gain * (q.T if wide else q).reshape(weight.shape))


def _deviation_for_rectifier(call: str, weight: Weight, fan: Fan, negative_slope: float) -> float:
    check_number(call, "negative_slope", negative_slope)
    check_word(call, "fan", fan, ("in", "out"))
    fan_in, fan_out = _fans(call, weight)
    return sqrt(2 / ((1 + negative_slope**2) * (fan_in if fan == "in" else fan_out)))


def _deviation_for_both(call: str, weight: Weight) -> float:
    return sqrt(2 / sum(_fans(call, weight)))


def _fans(call: str, weight: Weight) -> tuple[int, int]:
    """Return the fan-in and the fan-out."""
    tensor_only(weight, f"{call}: weight")
    check_weight(call, weight.shape)
    first, second, *window = weight.shape
    return (second * prod(window), first * prod(window)) if window else (first, second)


def _fill_uniform(weight: Weight, bound: float, rng: np.random.Generator) -> None:
    _fill(weight, rng.uniform(-bound, bound, weight.shape))


def _fill_normal(weight: Weight, deviation: float, rng: np.random.Generator) -> None:
    _fill(weight, rng.normal(0, deviation, weight.shape))


def _fill(weight: Weight, values: Any) -> None:
    weight.assign(node(np.asarray(values, weight.dtype)))
