"""Quantized models: a quarter of the memory, nearly equal results, and training of layers on top."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tapegrad.checkpoint import BalancedCheckpointing, checkpoint
from tapegrad.data import batches
from tapegrad.errors import TapeError
from tapegrad.nn import Embedding, Linear, Module, Param, ReLU, Sequential, freeze, quantized, unfreeze
from tapegrad.nn.summary import summary
from tapegrad.ops import cross_entropy, mse, normal, ones, tensor, zeros
from tapegrad.optim import SGD, Adam
from tapegrad.quantized import Affine, BlockSymmetric, Quantized, Symmetric

SCHEMES = [Symmetric(), Affine(), BlockSymmetric()]
any_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=str)


def bytes_of(model: Any) -> int:
    return sum(parameter.nbytes for parameter in model.parameters().values())


@any_scheme
def test_a_layer_takes_little_more_than_a_quarter_of_the_memory(scheme: Any) -> None:
    layer = Linear(256, 256, rng=0)

    small = quantized(layer, scheme)

    assert bytes_of(small) <= 0.27 * bytes_of(layer)
    assert summary(small, ("N", 256)).size == bytes_of(small)
    assert len(pickle.dumps(small)) <= 0.28 * len(pickle.dumps(layer))


@any_scheme
def test_digits_are_classified_nearly_as_well(scheme: Any) -> None:
    digits = load_digits()
    images, labels = tensor(digits.data).astype(np.float32) / 16.0, tensor(digits.target)
    order = np.random.default_rng(0).permutation(1797)
    train, test = tensor(order[:1437]), tensor(order[1437:])
    model = Sequential(Linear(64, 32, rng=0), ReLU(), Linear(32, 10, rng=1))
    opt = Adam(model, lr=5e-3)
    for _ in range(8):
        for x, y in batches(images.take(train), labels.take(train), size=64, rng=0):
            opt.step(cross_entropy(model(x.trace()), y).backward(wrt=model))

    def accuracy(reader: Any) -> float:
        return float(np.mean(reader(images.take(test)).argmax(axis=1).numpy() == labels.take(test).numpy()))

    assert accuracy(model) > 0.9
    assert accuracy(quantized(model, scheme)) >= accuracy(model) - 0.01


def test_only_matrices_are_quantized_and_the_model_is_unchanged() -> None:
    model = Sequential(Embedding(11, 5, rng=0), Linear(5, 3, rng=1))

    small = quantized(model)

    kinds = {path: isinstance(parameter, Quantized) for path, parameter in small.parameters().items()}
    assert kinds == {"layers.0.weight": True, "layers.1.weight": True, "layers.1.bias": False}
    assert not any(isinstance(parameter, Quantized) for parameter in model.parameters().values())
    assert small.layers[1].bias is not model.layers[1].bias
    assert small(tensor([3, 7])).shape == (2, 3)


def test_a_shared_weight_stays_shared() -> None:
    class Tied(Module):
        def __init__(self) -> None:
            self.first = Param(normal((3, 5), rng=0))
            self.again = [self.first]

    small = quantized(Tied())

    assert small.again[0] is small.first
    assert isinstance(small.first, Quantized)


def test_training_on_top_of_a_frozen_quantized_base() -> None:
    base = quantized(Sequential(Linear(5, 16, rng=0), ReLU()))
    freeze(base)
    model = Sequential(base, Linear(16, 1, rng=1))
    x = normal((64, 5), rng=2)
    y = x @ normal((5, 1), rng=3)
    before = [parameter.numpy(copy=True) for parameter in base.parameters().values()]
    opt = Adam(model, lr=5e-2)

    losses = []
    for strategy in [None, BalancedCheckpointing()] * 20:
        loss = mse(checkpoint(model)(x.trace(checkpoint=strategy)), y)
        grads = loss.backward(wrt=model)
        losses.append(loss.item())
        opt.step(grads)

    assert losses[-1] < 0.5 * losses[0]
    assert len(grads) == 2
    after = [parameter.numpy() for parameter in base.parameters().values()]
    assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def test_gradients_pass_through_a_quantized_layer() -> None:
    small, x = quantized(Linear(5, 3, rng=0)), normal((2, 5), rng=1)

    gradient = small(x.trace()).sum().backward()[x]

    np.testing.assert_allclose(gradient.numpy(), np.ones((2, 3)) @ small.weight.numpy().T, rtol=1e-6)


def test_a_quantized_parameter_stays_frozen() -> None:
    small = quantized(Linear(5, 3, rng=0))

    with pytest.raises(TapeError, match=r"^a quantized parameter stays frozen$"):
        small.weight.frozen = False
    freeze(small)
    with pytest.raises(TapeError, match=r"^unfreeze: weight is quantized and stays frozen$"):
        unfreeze(small)
    assert small.bias is not None
    assert small.bias.frozen
    unfreeze(small, "bias")
    SGD(small, lr=0.1).step(small(ones((2, 5)).trace()).sum().backward(wrt=small))


def test_assigned_values_are_quantized_and_a_tape_detects_the_assignment() -> None:
    small = quantized(Linear(5, 3, rng=0), Symmetric())
    loss = small(ones((2, 5)).trace()).sum()

    small.weight.assign(normal((5, 3), rng=4))

    assert isinstance(small.weight, Quantized)
    assert abs(small.weight.numpy() - normal((5, 3), rng=4).numpy()).max() < 0.02
    with pytest.raises(TapeError, match="was assigned after the forward pass used it"):
        loss.backward()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301  # its own bytes
def test_a_copy_of_a_quantized_model_is_quantized(again: Any) -> None:
    small = quantized(Linear(5, 3, rng=0))
    small.weight.assign(zeros((5, 3)))

    twin = again(small)

    assert bytes_of(twin) == bytes_of(small)
    assert twin.weight.version == 1
    np.testing.assert_array_equal(twin(ones((2, 5))).numpy(), small(ones((2, 5))).numpy())
