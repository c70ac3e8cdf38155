"""Formulas over rows (softmax, norms, losses), with values to compute them for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.rows import Rows
from tapegrad.ops.norm import layer_norm_gradients, layer_norm_of, standardized, standardized_gradient
from tapegrad.ops.softmax import log_softmax_gradient, log_softmax_of, softmax_gradient, softmax_of

if TYPE_CHECKING:
    from collections.abc import Callable

# By a name: the formula, its values (s: probabilities, l: their logarithms, z: standardized numbers, f: their factor,
# m: means of rows, w: one row), and its options.
FORMULAS: Final[dict[str, tuple[Callable[..., Any], str, dict[str, Any]]]] = {
    "softmax": (softmax_of, "x", {}),
    "softmax gradient": (softmax_gradient, "sx", {}),
    "log_softmax": (log_softmax_of, "x", {}),
    "log_softmax gradient": (log_softmax_gradient, "lx", {}),
    "standardized": (standardized, "xe", {"centred": True}),
    "standardized, not centred": (standardized, "xe", {"centred": False}),
    "standardized gradient": (standardized_gradient, "zfx", {"centred": True}),
    "standardized gradient, not centred": (standardized_gradient, "zfx", {"centred": False}),
    "layer_norm": (layer_norm_of, "xwwe", {}),
    "layer_norm gradients": (layer_norm_gradients, "xwmfx", {"wanted": (True, True, True)}),
    "layer_norm gradient of x": (layer_norm_gradients, "xwmfx", {"wanted": (True, False, False)}),
    "layer_norm gradients of weight and bias": (layer_norm_gradients, "xwmfx", {"wanted": (False, True, True)}),
}


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    """Return normally distributed numbers, reproducibly."""
    return np.random.default_rng(seed).normal(1, 2, shape).astype(dtype)


def call(name: str, shape: tuple[int, ...], axis: Any, dtype: Any) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return a formula, values for it, and its options."""
    formula, letters, options = FORMULAS[name]
    rows: Any = Rows(NumPy(), axis)

    def value(letter: str, seed: int) -> Any:
        x = numbers(shape, np.float64, 0 if letter in "mf" else seed)  # those of the first value
        if letter == "e":
            return 1e-5
        if letter == "w":
            return numbers(shape[-1:], dtype, seed)
        if letter == "s":
            return softmax_of(rows, x).astype(dtype)
        if letter == "l":
            return log_softmax_of(rows, x).astype(dtype)
        if letter == "m":
            return rows.mean(x).astype(dtype)
        if letter in "zf":
            return standardized(rows, x, 1e-5, centred=True)[letter == "f"].astype(dtype)
        return x.astype(dtype)

    return formula, [value(letter, seed) for seed, letter in enumerate(letters)], options


def expected(formula: Any, values: list[Any], axis: Any, options: dict[str, Any]) -> list[Any]:
    """Return the results of a formula as it stands, in NumPy."""
    primitives: Any = NumPy()
    return listed(formula(Rows(primitives, axis), *values, **options))


def listed(results: Any) -> list[Any]:
    """Return one result, or several, as a list."""
    return list(results) if isinstance(results, tuple) else [results]
