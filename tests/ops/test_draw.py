"""Random tensors: NumPy's values for a seed, their distribution, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.generator import random
from tapegrad.ops import (
    bernoulli,
    bernoulli_like,
    dropout,
    normal,
    normal_like,
    ones,
    tensor,
    uniform,
    uniform_like,
)
from tapegrad.testing import check_gradients, check_shape_rule

DRAWN: dict[str, Callable[..., Any]] = {"bernoulli": bernoulli, "normal": normal, "uniform": uniform}
LIKES: dict[str, Callable[..., Any]] = {
    "bernoulli_like": bernoulli_like,
    "normal_like": normal_like,
    "uniform_like": uniform_like,
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 7)], ids=str)
def test_the_shape_is_the_requested_one(name: str, shape: tuple[int, ...]) -> None:
    x = DRAWN[name](shape)

    assert x.shape == shape
    assert x.dtype == np.float32
    assert DRAWN[name](shape, dtype=np.float64).dtype == np.float64
    check_shape_rule(DRAWN[name], (shape,))


@pytest.mark.parametrize("name", DRAWN)
def test_a_negative_size_is_rejected(name: str) -> None:
    shape: Any = (2, -3)

    with pytest.raises(ShapeError, match=rf"^{name}: shape \(2, -3\) has the negative size -3$"):
        DRAWN[name](shape)


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_fixes_the_result(name: str) -> None:
    f = DRAWN[name]

    assert f((3, 5), rng=7).tolist() == f((3, 5), rng=7).tolist()
    assert f((3, 5), rng=7).tolist() != f((3, 5), rng=8).tolist()
    with random(7):
        drawn = f((3, 5)).tolist()
    assert drawn == f((3, 5), rng=7).tolist()


def test_random_numbers_equal_numpy() -> None:
    normals = np.random.default_rng(7).normal(2, 3, (3, 5))
    uniforms = np.random.default_rng(7).uniform(-1, 4, (3, 5))
    ones = np.random.default_rng(7).random((3, 5)) < 0.3

    np.testing.assert_array_equal(normal((3, 5), mean=2, std=3, dtype=np.float64, rng=7).numpy(), normals)
    np.testing.assert_array_equal(uniform((3, 5), low=-1, high=4, dtype=np.float64, rng=7).numpy(), uniforms)
    np.testing.assert_array_equal(bernoulli((3, 5), p=0.3, dtype=np.bool_, rng=7).numpy(), ones)


def test_random_numbers_have_the_expected_distribution() -> None:
    x, y = normal((10_000,), mean=2, std=3, rng=0).numpy(), uniform((10_000,), low=-1, high=4, rng=0).numpy()

    # Ten standard errors: 3 / sqrt(10,000) = 0.03 for the mean.
    assert abs(x.mean() - 2) < 0.3
    assert abs(x.std() - 3) < 0.3
    assert y.min() >= -1
    assert y.max() < 4
    assert abs(y.mean() - 1.5) < 0.15


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_non_float_dtypes_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: dtype is int64 but floating is expected$"):
        DRAWN[name]((3,), dtype=np.int64)


@pytest.mark.parametrize("name", DRAWN)
def test_a_dtype_is_not_a_string(name: str) -> None:
    words = "dtype is a str but a dtype of NumPy, or its scalar type, is expected"

    with pytest.raises(DTypeError, match=f"^{name}: {words}$"):
        DRAWN[name]((3,), dtype="float32")


def test_a_negative_deviation_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^normal: std is -1 but must be at least 0$"):
        normal((3,), std=-1)  # type: ignore[arg-type]  # out of range


def test_an_interval_with_high_below_low_is_rejected() -> None:
    message = "uniform: high is 1.0 but must be at least 2.0, which is low"
    with pytest.raises(ValueError, match=f"^{message}$"):
        uniform((3,), low=2.0)
    with pytest.raises(ValueError, match=f"^{message.replace('uniform', 'uniform_like')}$"):
        uniform_like(ones((3,)), low=2.0)

    assert uniform((2,), low=1.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", ["a", 1.5, -1], ids=repr)
def test_invalid_seeds_are_rejected(name: str, seed: Any) -> None:
    message = f"{name}: rng is {seed!r} but a generator, or a whole number from 0 on, is expected"
    with pytest.raises(DTypeError, match=f"^{message}$"):
        DRAWN[name]((3,), rng=seed)


def test_bernoulli_has_the_expected_frequency() -> None:
    x = bernoulli((10_000,), p=0.3, rng=0).numpy()

    assert set(x.tolist()) == {0.0, 1.0}
    assert abs(x.mean() - 0.3) < 0.046  # ten standard errors: sqrt(0.3 * 0.7 / 10,000)
    assert bernoulli((5,), p=0, dtype=np.int64).tolist() == [0] * 5
    assert bernoulli((5,), p=1, dtype=np.bool_).tolist() == [True] * 5


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_a_probability_out_of_range_is_rejected(p: float) -> None:
    with pytest.raises(ValueError, match=f"^bernoulli: p is {p} but must be from 0 to 1$"):
        bernoulli((3,), p=p)
    with pytest.raises(ValueError, match=f"^bernoulli_like: p is {p} but must be from 0 to 1$"):
        bernoulli_like(ones((3,)), p=p)


@pytest.mark.parametrize("name", LIKES)
def test_like_functions_have_the_shape_of_their_argument(name: str) -> None:
    x: Any = tensor([[1.0, 2.0, 3.0]], np.float64).trace()

    y = LIKES[name](x, rng=7)

    assert y.tolist() == DRAWN[name.removesuffix("_like")]((1, 3), dtype=np.float64, rng=7).tolist()
    assert y.dtype == np.float64
    assert not y.owns_tape
    check_shape_rule(LIKES[name], ((2, 3),), ((),))


@pytest.mark.parametrize("name", LIKES)
@pytest.mark.parametrize("shape", [(0, 3), (), (1,)], ids=str)
def test_like_functions_of_empty_tensors_and_single_elements(name: str, shape: tuple[int, ...]) -> None:
    assert LIKES[name](ones(shape)).numpy().shape == shape


def test_like_functions_reject_a_negative_deviation() -> None:
    with pytest.raises(ValueError, match=r"^normal_like: std is -1 but must be at least 0$"):
        normal_like(ones((3,)), std=-1)  # type: ignore[arg-type]  # out of range


@pytest.mark.parametrize("name", ["normal_like", "uniform_like"])
def test_like_functions_reject_ints(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        LIKES[name](tensor([1]))


# dropout


def test_dropout_without_a_tape_or_a_rate_changes_nothing() -> None:
    x: Any = ones((3, 5))
    traced = x.trace()

    assert dropout(x, rate=0.9, rng=0) is x
    assert dropout(traced, rate=0, rng=0) is traced


def test_dropout_with_a_tape_drops_a_fraction_and_keeps_the_mean() -> None:
    x: Any = ones((300, 400))

    y = dropout(x.trace(), rate=0.25, rng=0)

    assert y.dtype == np.float32
    np.testing.assert_allclose(np.unique(y.numpy()), [0, 4 / 3], rtol=1e-6)
    assert abs((y.numpy() == 0).mean() - 0.25) < 0.0125  # ten deviations, for 120,000 draws


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)], ids=str)
def test_dropout_passes_the_gradient_where_it_passed_the_value(shape: tuple[int, ...]) -> None:
    def dropped(x: Any) -> Any:
        return dropout(x if x.owns_tape else x.trace(), rate=0.4, rng=0) * x

    check_gradients(dropped, normal(shape, dtype=np.float64, rng=1), order=2)


def test_dropout_draws_from_the_active_generator() -> None:
    x: Any = ones((3, 5))

    with random(7):
        first, second = dropout(x.trace()).numpy(), dropout(x.trace()).numpy()

    assert first.tolist() != second.tolist()
    assert first.tolist() == dropout(x.trace(), rng=7).numpy().tolist()


def test_dropout_of_every_element_gives_zeros() -> None:
    x = tensor([1.0, -2.0])

    y = dropout(x.trace(), 1)

    assert y.tolist() == [0.0, 0.0]
    assert y.sum().backward()[x].tolist() == [0.0, 0.0]


def test_dropout_matches_its_shape_rule_and_rejects_invalid_arguments() -> None:
    check_shape_rule(dropout, ((),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^dropout: x is int64 but floating is expected$"):
        dropout(tensor([1]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    for rate in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=rf"^dropout: rate is {rate} but must be from 0 to 1$"):
            dropout(ones((3,)), rate=rate)
