"""Elementwise functions by name: NumPy's, and formulas where NumPy has none or is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import numpy as np

from tapegrad.engines.interface import Elementwise, Pairwise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

# Moshier, Cephes 2.8, cprob/ndtr.c: erf(x) = x T(x²) / U(x²) below 1, and 1 - exp(-x²) P(x) / Q(x) above.
T: Final = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
U: Final = (
    1.0,
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
P: Final = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
Q: Final = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)


def erf(x: Array) -> Array:
    """Compute the error function, to a few units in the last place."""
    if x.dtype.itemsize < 4:  # the square and the products would overflow in half precision
        return np.asarray(erf(x.astype(np.float32)).astype(x.dtype))
    positive = np.minimum(np.abs(x), 6)  # erf(6) rounds to 1
    square = positive * positive
    near = positive * _polynomial(T, square) / _polynomial(U, square)
    far = 1 - np.exp(-square) * _polynomial(P, positive) / _polynomial(Q, positive)
    return np.copysign(np.where(positive < 1, near, far), x)


def ldexp(x: Array, y: Array) -> Array:
    """Multiply `x` by two to the power `y`, of ints of any dtype: NumPy accepts some only on some platforms."""
    exponents = np.clip(y.astype(np.float64), -10_000, 10_000).astype(np.int32)  # beyond, all is 0 or infinite
    return np.asarray(np.ldexp(x, exponents))


def power(x: Array, y: Array) -> Array:
    """Raise `x` to the power `y`."""
    if y.ndim > 0:
        return np.asarray(x**y)
    exponent = (
        y.item()
    )  # NumPy has fast paths for squares and roots by a Python number (benchmarks/devices.py, "a square")
    if exponent == 3:
        return x * x * x  # `x**3` calls the C library for each element (benchmarks/devices.py, "a cube")
    return np.asarray(x**exponent)


def sigmoid(x: Array, out: Array | None = None) -> Array:
    """Compute `1 / (1 + exp(-x))`; with `tanh(x / 2)`, results far below zero would lose all their digits."""
    out = np.asarray(np.negative(x, out=out))
    with np.errstate(over="ignore"):  # 1 / inf is 0, the correct result
        np.exp(out, out)
        out += 1
        return np.asarray(np.divide(1, out, out))


def softplus(x: Array) -> Array:
    """Compute `log(1 + exp(x))`; `np.logaddexp` is slower (benchmarks/devices.py, "softplus")."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """Evaluate a polynomial, highest power first, in the dtype of `x`; `np.polyval` would widen it."""
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return np.asarray(total)


_FORMULAS: Final[dict[str, Callable[..., Any]]] = {
    "erf": erf,
    "ldexp": ldexp,
    "pow": power,
    "sigmoid": sigmoid,
    "softplus": softplus,
}
ELEMENTWISE: Final = {name: _FORMULAS.get(name) or getattr(np, name) for name in get_args(Elementwise)}
PAIRWISE: Final = {name: getattr(np, name) for name in get_args(Pairwise)}
