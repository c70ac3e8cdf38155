"""Random numbers: NumPy's, by seed, spread as they should, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError
from tapegrad.generator import random
from tapegrad.ops import normal, uniform

DRAWN: dict[str, Callable[..., Any]] = {"normal": normal, "uniform": uniform}


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_one_seed_gives_one_tensor(name: str) -> None:
    f = DRAWN[name]

    assert f((3, 5), rng=7).tolist() == f((3, 5), rng=7).tolist()
    assert f((3, 5), rng=7).tolist() != f((3, 5), rng=8).tolist()
    with random(7):
        drawn = f((3, 5)).tolist()
    assert drawn == f((3, 5), rng=7).tolist()


def test_random_numbers_are_numpys() -> None:
    normals = np.random.default_rng(7).normal(2, 3, (3, 5))
    uniforms = np.random.default_rng(7).uniform(-1, 4, (3, 5))

    np.testing.assert_array_equal(normal((3, 5), mean=2, std=3, dtype=np.float64, rng=7).numpy(), normals)
    np.testing.assert_array_equal(uniform((3, 5), low=-1, high=4, dtype=np.float64, rng=7).numpy(), uniforms)


def test_random_numbers_spread_as_they_should() -> None:
    x, y = normal((10_000,), mean=2, std=3, rng=0).numpy(), uniform((10_000,), low=-1, high=4, rng=0).numpy()

    # Ten standard errors: 3 / sqrt(10,000) = 0.03 for the mean.
    assert abs(x.mean() - 2) < 0.3
    assert abs(x.std() - 3) < 0.3
    assert y.min() >= -1
    assert y.max() < 4
    assert abs(y.mean() - 1.5) < 0.15


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_random_numbers_that_are_no_floats_are_refused(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: dtype is int64 but floating is expected$"):
        DRAWN[name]((3,), dtype=np.int64)


def test_a_negative_deviation_is_refused() -> None:
    with pytest.raises(ValueError, match="scale < 0"):
        normal((3,), std=-1)
