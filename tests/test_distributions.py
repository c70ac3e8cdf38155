"""Categorical, Bernoulli and Normal: values by hand, frequencies of samples, gradients and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.distributions import Bernoulli, Categorical, Normal
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.testing import check_gradients

CHANCES = np.array([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])
LOGITS = tg.tensor(np.log(CHANCES) + np.array([[2.0], [-3.0]]), np.float64)
X: Any = tg.ones((2, 5))
ONE: Any = 1.0
WHOLE: Any = tg.tensor([1, 2])
DRAWS = 200_000


def real(*shape: int, seed: int = 0) -> Any:
    return tg.normal(shape, dtype=np.float64, rng=seed)


def test_a_categorical_distribution_equals_its_formulas() -> None:
    p, q = Categorical(LOGITS), Categorical(tg.tensor(np.log(CHANCES[::-1]).copy(), np.float64))

    np.testing.assert_allclose(p.log_prob(tg.tensor([2, 0])).numpy(), np.log([0.5, 0.7]), rtol=1e-12)
    np.testing.assert_allclose(p.entropy().numpy(), -(CHANCES * np.log(CHANCES)).sum(1), rtol=1e-12)
    expected = (CHANCES * np.log(CHANCES / CHANCES[::-1])).sum(1)
    np.testing.assert_allclose(p.kl(q).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(p.kl(p).numpy(), 0, atol=1e-15)


def test_a_category_that_is_impossible_adds_nothing() -> None:
    p, q = Categorical(tg.tensor([-math.inf, 0.0])), Categorical(tg.tensor([0.0, 0.0]))

    assert p.entropy().item() == 0
    assert p.kl(q).item() == pytest.approx(math.log(2))
    assert math.isinf(q.kl(p).item())
    assert math.isinf(p.log_prob(tg.tensor(0)).item())
    assert {p.sample(rng=seed).item() for seed in range(50)} == {1}
    logits = tg.tensor([-math.inf, 0.0, 1.0])
    assert np.isfinite(Categorical(logits.trace()).entropy().backward()[logits].numpy()).all()
    uniform = Categorical(tg.zeros(3))
    assert np.isfinite(Categorical(logits.trace()).kl(uniform).backward()[logits].numpy()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_samples_are_as_frequent_as_their_probabilities(dtype: Any) -> None:
    chances = CHANCES[0]
    rows = tg.broadcast_to(tg.tensor(np.log(chances), dtype), (DRAWS, 3))

    drawn = Categorical(rows.trace()).sample(rng=0)
    assert not drawn.owns_tape
    assert drawn.dtype == np.int64
    np.testing.assert_allclose(np.bincount(drawn.numpy()) / DRAWS, chances, atol=5e-3)

    coins = Bernoulli(tg.full((DRAWS,), math.log(0.25 / 0.75), dtype)).sample(rng=0)
    assert coins.dtype == dtype
    np.testing.assert_allclose(coins.numpy().astype(float).mean(), 0.25, atol=5e-3)

    heights = Normal(tg.full((DRAWS,), 3.0, dtype), tg.full((DRAWS,), 2.0, dtype)).sample(rng=0).numpy().astype(float)
    np.testing.assert_allclose([heights.mean(), heights.std()], [3, 2], atol=0.03)


def test_samples_are_those_of_the_seed() -> None:
    for p in (Categorical(LOGITS), Bernoulli(LOGITS), Normal(LOGITS, tg.exp(LOGITS))):
        assert p.sample(rng=7).tolist() == p.sample(rng=7).tolist()
        with tg.random(7):
            first = p.sample()
        assert first.tolist() == p.sample(rng=7).tolist()


def test_a_bernoulli_distribution_equals_its_formulas() -> None:
    chances, others = np.array([0.25, 0.9]), np.array([0.5, 0.2])
    p, q = (Bernoulli(tg.tensor(np.log(one / (1 - one)), np.float64)) for one in (chances, others))

    np.testing.assert_allclose(p.log_prob(tg.tensor([1.0, 0.0], np.float64)).numpy(), np.log([0.25, 0.1]), rtol=1e-12)
    both = np.stack([chances, 1 - chances]), np.stack([others, 1 - others])
    np.testing.assert_allclose(p.entropy().numpy(), -(both[0] * np.log(both[0])).sum(0), rtol=1e-12)
    np.testing.assert_allclose(p.kl(q).numpy(), (both[0] * np.log(both[0] / both[1])).sum(0), rtol=1e-12)


def test_a_normal_distribution_equals_its_formulas() -> None:
    p = Normal(tg.tensor([1.0], np.float64), tg.tensor([2.0], np.float64))
    q = Normal(tg.tensor([0.0], np.float64), tg.tensor([4.0], np.float64))

    density = math.exp(-0.5 * (4 - 1) ** 2 / 4) / (2 * math.sqrt(2 * math.pi))
    assert p.log_prob(tg.tensor([4.0], np.float64)).item() == pytest.approx(math.log(density))
    assert p.entropy().item() == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 4))
    assert p.kl(q).item() == pytest.approx(math.log(2) + (4 + 1) / 32 - 0.5)


def test_gradients_equal_differences() -> None:
    labels, truths, value = tg.tensor([2, 0]), tg.tensor([[1.0, 0.0, 1.0]] * 2, np.float64), real(2, 3, seed=5)
    x, y, z = real(2, 3), real(2, 3, seed=1), real(2, 3, seed=2)

    check_gradients(lambda x: Categorical(x).log_prob(labels), x, order=2)
    check_gradients(lambda x: Categorical(x).entropy(), x, order=2)
    check_gradients(lambda x, y: Categorical(x).kl(Categorical(y)), x, y, order=2)
    check_gradients(lambda x: Bernoulli(x).log_prob(truths), x, order=2)
    check_gradients(lambda x: Bernoulli(x).entropy(), x, order=2)
    check_gradients(lambda x, y: Bernoulli(x).kl(Bernoulli(y)), x, y, order=2)
    check_gradients(lambda x, y, value: Normal(x, tg.exp(y)).log_prob(value), x, y, value, order=2)
    check_gradients(lambda y: Normal(x, tg.exp(y)).entropy(), y, order=2)
    check_gradients(lambda x, y, z: Normal(x, tg.exp(y)).kl(Normal(z, tg.exp(x))), x, y, z, order=2)
    check_gradients(lambda x, y: Normal(x, tg.exp(y)).rsample(rng=3), x, y, order=2)


def test_a_policy_gradient_reaches_the_logits() -> None:
    logits = tg.zeros((4, 3))
    policy = Categorical(logits.trace())
    actions = policy.sample(rng=0)

    grads = (policy.log_prob(actions) * tg.tensor([1.0, 0.0, -1.0, 0.0])).sum().backward()

    assert (np.abs(grads[logits].numpy()).sum(1) > 0).tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Normal(X, tg.ones((2, 3))), ShapeError, "Normal: S is (2, 5) in mean but (2, 3) in std"),
        (lambda: Normal(X, X.astype(np.float64)), DTypeError, "Normal: mean is float32 but std is float64"),
        (lambda: Normal(X, -X), ValueError, "Normal: std is -1.0 at index (0, 0) but must be above 0"),
        (
            lambda: Normal(tg.tensor(0.0), tg.tensor(math.nan)),
            ValueError,
            "Normal: std is nan but must be above 0",
        ),
        (lambda: Normal(ONE, X), DTypeError, "Normal: mean is a float, not a tensor"),
        (lambda: Categorical(WHOLE), DTypeError, "Categorical: logits is int64 but floating is expected"),
        (lambda: Categorical(tg.ones(())), ShapeError, "Categorical: logits () has rank 0 but needs at least 1"),
        (
            lambda: Categorical(X).log_prob(tg.tensor([7, 1])),
            IndexError,
            "Categorical.log_prob: value 7 is not one of the 5 categories of logits (2, 5)",
        ),
        (
            lambda: Categorical(X).log_prob(tg.tensor([-1, 1])),
            IndexError,
            "Categorical.log_prob: value -1 is not one of the 5 categories of logits (2, 5)",
        ),
        (
            lambda: Categorical(X).kl(Categorical(tg.ones((2, 3)))),
            ShapeError,
            "Categorical.kl: other is (2, 3) but (2, 5) is expected: axis 1 is 3, not 5",
        ),
        (
            lambda: Normal(X, X).kl(Normal(tg.ones(5), tg.ones(5))),
            ShapeError,
            "Normal.kl: other is (5,) but (2, 5) is expected: rank 1, not 2",
        ),
    ],
)
def test_what_does_not_fit_is_rejected(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as rejected:
        call()

    assert str(rejected.value) == message


def test_distributions_are_printed_with_their_shapes() -> None:
    assert repr(Categorical(X)) == "Categorical(logits=(2, 5))"
    assert repr(Bernoulli(X)) == "Bernoulli(logits=(2, 5))"
    assert repr(Normal(X, X)) == "Normal(mean=(2, 5))"
