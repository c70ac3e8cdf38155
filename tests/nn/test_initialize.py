"""Initial parameters: their spread, their shapes, and their random generator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ShapeError
from tapegrad.nn import Linear, Param, kaiming_normal, kaiming_uniform, orthogonal, xavier_normal, xavier_uniform
from tapegrad.ops import zeros

ALL: list[Any] = [kaiming_uniform, kaiming_normal, xavier_uniform, xavier_normal, orthogonal]


def filled(initialize: Any, *shape: int, **options: Any) -> Any:
    weight = Param(zeros(shape))
    initialize(weight, rng=0, **options)
    return weight.numpy()


@pytest.mark.parametrize(
    ("initialize", "options", "variance"),
    [
        (kaiming_normal, {}, 2 / 200),
        (kaiming_uniform, {}, 2 / 200),
        (kaiming_uniform, {"fan": "out"}, 2 / 300),
        (kaiming_normal, {"fan": "out", "negative_slope": 3.0}, 2 / 10 / 300),
        (xavier_normal, {}, 2 / 500),
        (xavier_uniform, {"gain": 3.0}, 9 * 2 / 500),
    ],
)
def test_the_spread_equals_the_formula(initialize: Any, options: Any, variance: float) -> None:
    w = filled(initialize, 200, 300, **options)

    np.testing.assert_allclose(w.var(), variance, rtol=0.03)
    assert abs(w.mean()) < 0.02 * np.sqrt(variance)
    if initialize in (kaiming_uniform, xavier_uniform):
        np.testing.assert_allclose(np.abs(w).max(), np.sqrt(3 * variance), rtol=1e-3)


def test_the_fan_of_a_kernel_includes_its_window() -> None:
    kernels = (100, 30, 3, 5)

    np.testing.assert_allclose(filled(kaiming_normal, *kernels).var(), 2 / (30 * 15), rtol=0.03)
    np.testing.assert_allclose(filled(kaiming_normal, *kernels, fan="out").var(), 2 / (100 * 15), rtol=0.03)
    np.testing.assert_allclose(filled(xavier_normal, *kernels).var(), 2 / (130 * 15), rtol=0.03)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (6, 2, 2), (2, 3, 5)], ids=str)
def test_rows_or_columns_are_orthogonal(shape: tuple[int, ...]) -> None:
    w = filled(orthogonal, *shape, gain=2.0).reshape(shape[0], -1)

    square = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(square, 4 * np.eye(min(w.shape)), atol=1e-5)


def test_signs_are_balanced() -> None:
    firsts = np.zeros(200)
    for seed in range(200):
        weight = Param(zeros((2, 2)))
        orthogonal(weight, rng=seed)
        firsts[seed] = weight.numpy()[0, 0]

    assert 70 < (firsts > 0).sum() < 130


@pytest.mark.parametrize("initialize", ALL)
def test_the_given_generator_is_used(initialize: Any) -> None:
    one, other = Linear(3, 5), Linear(3, 5)

    with tg.random(7):
        initialize(one.weight)
    initialize(other.weight, rng=7)

    assert one.weight.tolist() == other.weight.tolist()
    assert one.weight.version == 1
    assert one.weight.dtype == np.float32


@pytest.mark.parametrize("initialize", ALL)
def test_a_bias_is_rejected(initialize: Any) -> None:
    with pytest.raises(ShapeError, match=rf"^{initialize.__name__}: weight \(5,\) has rank 1 but needs at least 2$"):
        initialize(Param(zeros((5,))))


def test_an_unknown_fan_is_rejected() -> None:
    unknown: Any = "both"

    with pytest.raises(ValueError, match=r"^kaiming_normal: fan is 'both' but 'in' or 'out' is expected$"):
        kaiming_normal(Linear(3, 5).weight, fan=unknown)
