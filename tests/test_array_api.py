"""The names of the array API standard: the page on arrays says which exist, and what replaces the others."""

from __future__ import annotations

import re
import warnings
from typing import Any

import array_api_strict
import numpy as np
import pytest

import tapegrad as tg
from docs import array_api


def test_the_page_has_the_functions_of_today() -> None:
    page = array_api.PAGE.read_text("utf-8")

    assert array_api.written(page) == page
    assert len(array_api.functions()) > 100


def test_each_missing_function_has_a_reason_and_no_other_has() -> None:
    assert array_api.missing() == sorted(array_api.REASONS)


def test_what_replaces_a_function_exists() -> None:
    named = [pair for reason in array_api.REASONS.values() for pair in re.findall(r"`(tg|np)\.(\w+)", reason)]

    assert len(named) > 15
    for module, name in named:
        assert hasattr(tg if module == "tg" else np, name)


RNG = np.random.default_rng(0)
X, Y = RNG.uniform(1.1, 2.0, (3, 4)), RNG.uniform(1.1, 2.0, (3, 4))
WHOLE, SHARE, TRUTH = RNG.integers(1, 9, (3, 4)), RNG.uniform(-0.9, 0.9, (3, 4)), X > 1.5
# Arguments of functions that take neither one nor two arrays of floats.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["acos", "asin", "atanh"], (SHARE,)),
    **{f"bitwise_{name}": (WHOLE, WHOLE[::-1].copy()) for name in ("and", "or", "xor", "left_shift", "right_shift")},
    "bitwise_invert": (WHOLE,),
    **{f"logical_{name}": (TRUTH, TRUTH[::-1].copy()) for name in ("and", "or", "xor")},
    "logical_not": (TRUTH,),
    "all": (TRUTH,),
    "any": (TRUTH,),
    "matmul": (X, Y.T.copy()),
    "where": (TRUTH, X, Y),
    "cross": (X[:, :3], Y[:, :3]),
    "isin": (WHOLE, WHOLE[0]),
    "reshape": (X, (4, 3)),
    "broadcast_to": (X, (2, 3, 4)),
    "squeeze": (X[:, :1], 1),
    "moveaxis": (X, 0, 1),
    "roll": (X, 2),
    "repeat": (X, 2),
    "tile": (X, (2, 1)),
    "searchsorted": (np.sort(X[0]), Y[0]),
    "arange": (2, 9, 3),
    "linspace": (0.0, 1.0, 5),
    "eye": (3, 4),
    "full": ((2, 3), 7.0),
    "full_like": (X, 7.0),
    "ones": ((2, 3),),
    "zeros": ((2, 3),),
}
# Without values to compare, or below.
OTHERWISE = {"empty", "empty_like", "from_dlpack", "meshgrid"}
OTHERWISE |= {"expand_dims", "take", "astype", "concat", "nonzero", "stack", "unstack"}


@pytest.mark.parametrize("name", [one for one in array_api.functions() if hasattr(tg, one) and one not in OTHERWISE])
def test_a_function_has_the_values_of_array_api_strict(name: str) -> None:
    strict = getattr(array_api_strict, name)
    several = [ARGUMENTS[name]] if name in ARGUMENTS else [(X,), (X, Y)]
    expected = None
    for args in several:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = strict(
                    *(array_api_strict.asarray(one) if isinstance(one, np.ndarray) else one for one in args)
                )
            except (TypeError, ValueError):
                continue
            ours = getattr(tg, name)(*(tg.tensor(one) if isinstance(one, np.ndarray) else one for one in args))
        np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-6)
        break
    assert expected is not None, "array-api-strict takes none of these arguments"


def test_functions_with_an_axis_or_a_sequence_have_the_values_of_array_api_strict() -> None:
    strict, (x, y), places = array_api_strict, (array_api_strict.asarray(one) for one in (X, Y)), np.array([2, 0])

    pairs = [
        (tg.take(tg.tensor(X), tg.tensor(places), 1), strict.take(x, strict.asarray(places), axis=1)),
        (tg.expand_dims(tg.tensor(X), 1), strict.expand_dims(x, axis=1)),
        (tg.concat([tg.tensor(X), tg.tensor(Y)], 1), strict.concat([x, y], axis=1)),
        (tg.stack([tg.tensor(X), tg.tensor(Y)]), strict.stack([x, y])),
        (tg.unstack(tg.tensor(X))[1], strict.unstack(x)[1]),
        (tg.nonzero(tg.tensor(TRUTH))[0], strict.nonzero(strict.asarray(TRUTH))[0]),
        (tg.meshgrid(tg.tensor(X[0]), tg.tensor(Y[1]))[1], strict.meshgrid(x[0, :], y[1, :])[1]),
        (tg.astype(tg.tensor(X), np.float32), strict.astype(x, strict.float32)),
        (tg.sort(tg.tensor(X), 0, descending=True), strict.sort(x, axis=0, descending=True)),
    ]
    for ours, expected in pairs:
        np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-6)


def test_an_option_that_is_missing_has_a_reason_and_no_other_has() -> None:
    assert sorted(array_api.OPTIONS) == sorted(array_api.lacking())
