"""Mixed precision against `torch.autocast`: losses, gradients, running statistics, and a short training run."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim

torch: Any = pytest.importorskip("torch", reason="make oracle installs it")

X, LABELS = tg.normal((64, 12), rng=0), tg.arange(64) % 5
DTYPES = {"bfloat16": (ml_dtypes.bfloat16, 2**-6), "float16": (np.float16, 2**-8)}  # and how far roundings may lead


def networks() -> tuple[Any, Any]:
    """Return one network in both libraries, with the same weights."""
    layers = [nn.Linear(12, 24, rng=1), nn.BatchNorm1d(24), nn.GELU(), nn.LayerNorm(24), nn.Linear(24, 5, rng=2)]
    ours = nn.Sequential(*layers)
    theirs = torch.nn.Sequential(
        torch.nn.Linear(12, 24),
        torch.nn.BatchNorm1d(24),
        torch.nn.GELU(),
        torch.nn.LayerNorm(24),
        torch.nn.Linear(24, 5),
    )
    with torch.no_grad():
        for layer, same in zip(layers, theirs, strict=True):
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                same.weight.copy_(torch.tensor(layer.weight.numpy(copy=True).T))
                same.bias.copy_(torch.tensor(layer.bias.numpy(copy=True)))
    return ours, theirs


def loss_of_torch(network: Any, dtype: Any) -> Any:
    x, labels = torch.tensor(X.numpy(copy=True)), torch.tensor(LABELS.numpy(copy=True))
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        scores = network(x)
    assert dtype is None or scores.dtype == dtype
    return torch.nn.functional.cross_entropy(scores.float(), labels)


def gradients_of_torch(network: Any) -> list[np.ndarray[Any, Any]]:
    """Return the gradients in the layout of tapegrad, in which a weight has its inputs first."""
    return [one.grad.numpy().T if one.ndim == 2 else one.grad.numpy() for one in network.parameters()]


def distance(x: Any, y: Any) -> float:
    """Return the largest difference, relative to the largest number."""
    return float(np.abs(x - y).max() / np.abs(y).max())


@pytest.mark.parametrize("name", DTYPES)
def test_losses_and_gradients_are_as_close_as_two_roundings(name: str) -> None:
    dtype, close = DTYPES[name]
    ours, theirs = networks()
    mixed = nn.MixedPrecision(ours, compute=dtype)

    loss = tg.cross_entropy(mixed(X.trace()), LABELS)
    value = loss.item()
    grads = loss.backward(wrt=mixed)
    expected = loss_of_torch(theirs, getattr(torch, name))
    expected.backward()

    assert abs(value - expected.item()) < close * value
    for parameter, other in zip(mixed.parameters().values(), gradients_of_torch(theirs), strict=True):
        if np.abs(other).max() > 1e-3:  # a bias before a batch norm has a gradient of rounding errors
            assert distance(grads[parameter].numpy(), other) < 4 * close
    assert distance(ours[1].running_mean.numpy(), theirs[1].running_mean.numpy()) < close
    assert distance(ours[1].running_var.numpy(), theirs[1].running_var.numpy()) < close


@pytest.mark.parametrize("name", DTYPES)
def test_errors_are_no_larger_than_those_of_torch(name: str) -> None:
    dtype, _ = DTYPES[name]
    ours, theirs = networks()
    exact_ours, exact_theirs = networks()
    mixed = nn.MixedPrecision(ours, compute=dtype)

    grads = tg.cross_entropy(mixed(X.trace()), LABELS).backward(wrt=mixed)
    exact = tg.cross_entropy(exact_ours(X.trace()), LABELS).backward(wrt=exact_ours)
    loss_of_torch(theirs, getattr(torch, name)).backward()
    loss_of_torch(exact_theirs, None).backward()

    weights = [
        (distance(grads[one].numpy(), exact[same].numpy()), distance(other, plain))
        for one, same, other, plain in zip(
            mixed.parameters().values(),
            exact_ours.parameters().values(),
            gradients_of_torch(theirs),
            gradients_of_torch(exact_theirs),
            strict=True,
        )
        if one.ndim == 2
    ]
    for error, error_of_torch in weights:
        assert error < 2 * error_of_torch


def test_a_training_run_follows_that_of_torch() -> None:
    ours, theirs = networks()
    mixed = nn.MixedPrecision(ours, compute=ml_dtypes.bfloat16)
    opt, opt_of_torch = optim.Adam(mixed, lr=1e-2), torch.optim.Adam(theirs.parameters(), lr=1e-2)
    losses: list[tuple[float, float]] = []

    for _ in range(40):
        loss = tg.cross_entropy(mixed(X.trace()), LABELS)
        other = loss_of_torch(theirs, torch.bfloat16)
        losses.append((loss.item(), other.item()))
        opt.step(loss.backward(wrt=mixed))
        opt_of_torch.zero_grad()
        other.backward()
        opt_of_torch.step()

    (first, _), (last, last_of_torch) = losses[0], losses[-1]
    assert last < first / 4
    assert abs(last - last_of_torch) < 0.05
