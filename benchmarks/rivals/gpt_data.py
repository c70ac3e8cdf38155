"""Sizes, initial parameters and batches of the GPT in `benchmarks.gpt`, the same for both contestants."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rivals.data import numbers

LR = 3e-4
BATCHES = 20


@dataclass(frozen=True)
class Size:
    """The sizes of a GPT and of its batches."""

    layers: int
    width: int
    heads: int
    context: int
    vocabulary: int
    batch: int

    def __str__(self) -> str:
        sizes = f"{self.layers} layers, width {self.width}, {self.heads} heads"
        return f"{sizes}, {self.batch} texts of {self.context} tokens of {self.vocabulary:,}"


SIZES = {
    "tiny": Size(layers=2, width=32, heads=4, context=16, vocabulary=64, batch=4),
    "small": Size(layers=4, width=256, heads=8, context=128, vocabulary=512, batch=8),
    "large": Size(layers=4, width=1024, heads=16, context=512, vocabulary=16384, batch=16),
}


def parameters(size: Size, *, is_rounded: bool) -> dict[str, Any]:
    """Return the initial parameters by the paths of tapegrad's model, weights as `(In, Out)`.

    With `is_rounded`, each is the next larger float32: losses from these show how far rounding alone moves the losses.
    """
    d = size.width
    found: dict[str, Any] = {
        "tokens.weight": numbers(size.vocabulary, d, seed=1, scale=0.02),
        "positions.weight": numbers(size.context, d, seed=2, scale=0.02),
        **_layer("scores", d, size.vocabulary, seed=3),
        **_norm("norm", d),
    }
    for index in range(size.layers):
        block, seed = f"blocks.layers.{index}", 10 * (index + 1)
        for place, name in enumerate(("query", "key", "value", "out")):
            found |= _layer(f"{block}.attention.{name}", d, d, seed=seed + place)
        found |= _layer(f"{block}.feed_forward.rise", d, 4 * d, seed=seed + 4)
        found |= _layer(f"{block}.feed_forward.fall", 4 * d, d, seed=seed + 5)
        found |= _norm(f"{block}.attention_norm", d) | _norm(f"{block}.feed_forward_norm", d)
    return {path: np.nextafter(one, np.float32(np.inf)) for path, one in found.items()} if is_rounded else found


def _layer(path: str, n: int, m: int, *, seed: int) -> dict[str, Any]:
    return {
        f"{path}.weight": numbers(n, m, seed=seed, scale=n**-0.5),
        f"{path}.bias": np.zeros(m, np.float32),
    }


def _norm(path: str, n: int) -> dict[str, Any]:
    return {f"{path}.weight": np.ones(n, np.float32), f"{path}.bias": np.zeros(n, np.float32)}


def texts(size: Size) -> Any:
    """Return batches of tokens, `(BATCHES, batch, context + 1)`: of four tokens that may come next, one is drawn."""
    rng = np.random.default_rng(4)
    found = rng.integers(0, size.vocabulary, (BATCHES, size.batch, size.context + 1))
    for place in range(1, size.context + 1):
        found[..., place] = (3 * found[..., place - 1] + found[..., place] % 4) % size.vocabulary
    return found
