"""Distributions against torch.distributions: log-probabilities, entropies, divergences, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.distributions import Bernoulli, Categorical, Normal

torch = pytest.importorskip("torch", reason="`make oracle` installs it")

CATEGORIES, COINS = np.array([2, 0, 3]), np.array([[1.0, 0.0, 1.0, 1.0]] * 3)
MADE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Categorical": (Categorical, lambda x: torch.distributions.Categorical(logits=x)),
    "Bernoulli": (Bernoulli, lambda x: torch.distributions.Bernoulli(logits=x)),
    "Normal": (lambda x: Normal(x, tg.exp(x)), lambda x: torch.distributions.Normal(x, torch.exp(x))),
}
VALUES = {"Categorical": CATEGORIES, "Bernoulli": COINS, "Normal": COINS}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("method", ["log_prob", "entropy", "kl"])
def test_values_and_gradients_equal_torch(name: str, method: str) -> None:
    ours, theirs = MADE[name]
    values, others = np.random.default_rng(0).normal(size=(2, 3, 4))
    weights = np.random.default_rng(1).normal(size=(3,) if name == "Categorical" else (3, 4))

    x, y = tg.tensor(values), tg.tensor(others)
    a, b = ours(x.trace()), ours(y.trace())
    found = a.entropy() if method == "entropy" else a.kl(b) if method == "kl" else a.log_prob(tg.tensor(VALUES[name]))
    grads = (found * tg.tensor(weights)).sum().backward()

    u, v = (torch.tensor(one, requires_grad=True) for one in (values, others))
    c, d = theirs(u), theirs(v)
    expected = {
        "entropy": c.entropy,
        "kl": lambda: torch.distributions.kl_divergence(c, d),
        "log_prob": lambda: c.log_prob(torch.tensor(VALUES[name])),
    }[method]()
    (expected * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(grads[x].numpy(), u.grad.numpy(), rtol=1e-9, atol=1e-11)
    if method == "kl":
        np.testing.assert_allclose(grads[y].numpy(), v.grad.numpy(), rtol=1e-9, atol=1e-11)
