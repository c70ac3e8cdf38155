"""Sizes and initial values, the same for every contestant."""

from itertools import pairwise
from typing import Any

import numpy as np

LR = 0.01
CHAIN = 50  # pairs of a product and a tanh
TINY, SMALL, WIDE = (2, 16, 16, 1), (784, 256, 128, 10), (784, 1024, 1024, 10)
BATCHES: dict[tuple[int, ...], int] = {TINY: 8, SMALL: 64, WIDE: 256}
POOLED = (32, 32, 56, 56)
WIDTH, HEADS, TOKENS, BLOCK_BATCH, BLOCKS = 256, 8, 128, 8, 8
EPS = 1e-5


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    """Draw float32 numbers with a mean of zero."""
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def layers(sizes: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """Return a weight, `(In, Out)`, and a bias for each layer."""
    return [(numbers(n, m, seed=n + m, scale=n**-0.5), np.zeros(m, np.float32)) for n, m in pairwise(sizes)]


def parameters_and_gradients(sizes: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """Return each weight and bias with a gradient."""
    arrays = [array for layer in layers(sizes) for array in layer]
    return [(array, numbers(*array.shape, seed=place)) for place, array in enumerate(arrays)]


def batch(sizes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return inputs, and classes or, where there is one output, a number to hit."""
    x = numbers(BATCHES[sizes], sizes[0], seed=1)
    if sizes[-1] == 1:
        return x, x.sum(1, keepdims=True)
    return x, np.random.default_rng(2).integers(0, sizes[-1], BATCHES[sizes])


def block(seed: int = 0) -> dict[str, Any]:
    """Return the parameters of a transformer block, weights as `(In, Out)`."""
    d = WIDTH
    sizes = {"qkv": (d, 3 * d), "out": (d, d), "up": (d, 4 * d), "down": (4 * d, d)}
    found: dict[str, Any] = {}
    for name, (n, m) in sizes.items():
        found[f"{name}_w"] = numbers(n, m, seed=seed + m, scale=n**-0.5)
        found[f"{name}_b"] = np.zeros(m, np.float32)
    for name in ("norm1", "norm2"):
        found[f"{name}_w"], found[f"{name}_b"] = np.ones(d, np.float32), np.zeros(d, np.float32)
    return found


def tokens() -> Any:
    """Return what a block reads, `(batch, tokens, width)`."""
    return numbers(BLOCK_BATCH, TOKENS, WIDTH, seed=3)


def images() -> tuple[Any, Any]:
    """Return 64 images of one channel, and their classes."""
    return numbers(64, 1, 28, 28, seed=4), np.random.default_rng(5).integers(0, 10, 64)


def cnn() -> dict[str, Any]:
    """Return the parameters of a small convolutional network without biases but one."""
    return {
        "first": numbers(16, 1, 3, 3, seed=6, scale=1 / 3),
        "second": numbers(32, 16, 3, 3, seed=7, scale=1 / 12),
        "head_w": numbers(32 * 5 * 5, 10, seed=8, scale=800**-0.5),
        "head_b": np.zeros(10, np.float32),
    }


def rows() -> tuple[Any, Any]:
    """Return scores, `(4096, 1024)`, and what their probabilities are weighed with."""
    return numbers(4096, 1024, seed=9), numbers(4096, 1024, seed=10)


def logits() -> tuple[Any, Any]:
    """Return scores of 16,384 classes for 1,024 tokens, and the classes."""
    return numbers(1024, 16384, seed=11), np.random.default_rng(12).integers(0, 16384, 1024)
