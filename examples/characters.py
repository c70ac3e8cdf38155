"""Trains a small transformer on the text of Python's own manual, and generates text character by character.

The text is the language reference that comes with Python as `help("topics")`. Run the example with

    python examples/characters.py
"""

from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory
from typing import Generic, TypeAlias
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import options
from tapegrad import NoneTape, Shape, Tape, Tensor, nn, optim, progress

B = TypeVar("B", bound=int)  # batch: pieces of text
N = TypeVar("N", bound=int)  # characters in each piece
C = TypeVar("C", bound=int)  # distinct characters
T = TypeVar("T", bound=Tape)

Text: TypeAlias = Tensor[Shape[B, N], T, np.int64]

SEEN = 64  # context length in characters


class Writer(nn.Module, Generic[C]):
    """Gives each character of a text a score for each one that may come next."""

    def __init__(self, characters: C) -> None:
        self.embed = nn.Embedding(characters, 64)
        self.blocks = nn.Repeated(lambda: nn.TransformerEncoderBlock(64, 4, 256, causal=True), 2)
        self.norm = nn.LayerNorm(64)
        self.scores = nn.Linear(64, characters)

    @override
    def forward(self, x: Text[B, N, T]) -> Tensor[Shape[B, N, C], T]:
        return self.scores(self.norm(self.blocks(self.embed(x) + waves(x.shape[1]))))


def waves(n: N) -> Tensor[Shape[N, L[64]], NoneTape]:
    """Encode positions as the phases of 32 waves, each longer than the one before."""
    lengths = tg.exp(tg.linspace(0.0, np.log(1000.0), 32))
    angles = tg.arange(n).astype(np.float32).reshape((n, 1)) / lengths
    return tg.concat([tg.sin(angles), tg.cos(angles)], axis=1)


def train(model: Writer[C], text: Tensor[Shape[N], NoneTape, np.int64], epochs: int, log: Path) -> None:
    """Show the model 50 times an epoch 32 pieces of the text, from random positions."""
    rng, opt = np.random.default_rng(0), optim.Adam(model, lr=3e-3)
    for epoch in progress.track(range(50), epochs=epochs, log=log):
        for _ in epoch:
            starts = rng.integers(0, len(text) - SEEN, (32, 1))
            pieces = text.take(tg.tensor(starts + np.arange(SEEN + 1)))
            loss = tg.cross_entropy(model(pieces[:, :-1].trace()), pieces[:, 1:])
            opt.step(loss.backward(wrt=model).clip_norm(1.0))
            epoch.note(loss=loss)


def loss(model: Writer[C], text: Tensor[Shape[N], NoneTape, np.int64]) -> float:
    """Return the loss of the next character, in nats, over 256 pieces spread over the text."""
    starts = np.linspace(0, len(text) - SEEN - 1, 256).astype(np.int64)[:, None]
    pieces = text.take(tg.tensor(starts + np.arange(SEEN + 1)))
    return float(tg.cross_entropy(model(pieces[:, :-1]), pieces[:, 1:]))


def write(model: Writer[C], characters: str, length: int) -> str:
    """Let the model continue a line break, each character drawn from what it finds likely."""
    rng, written = np.random.default_rng(0), [characters.index("\n")]
    for _ in range(length):
        scores = model(tg.tensor([written[-SEEN:]]))  # tapegrad: unknown because the text grows
        likely = tg.softmax(scores[0, -1] / 0.7).numpy().astype(np.float64)
        written.append(int(rng.choice(len(characters), p=likely / likely.sum())))
    return "".join(characters[one] for one in written)


def main() -> None:
    """Train a writer and shows what it writes."""
    short, path = options("Trains a transformer to write as Python's manual does.")
    manual = "\n".join(topics.values()).encode("ascii", "ignore").decode()
    characters = "".join(sorted(set(manual)))
    text = tg.tensor(np.array([characters.index(one) for one in manual]))
    print(f"{len(manual):,} characters, {len(characters)} different ones: log of that is {np.log(len(characters)):.3f}")
    with tg.random(0), TemporaryDirectory() as folder:
        model, log = Writer(len(characters)), Path(folder) / "run.jsonl"
        train(model, text, 1 if short else 20, log)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            progress.curves(log, path)
    print(f"loss: {loss(model, text):.3f} nats per character")
    print(write(model, characters, 20 if short else 300))


if __name__ == "__main__":
    main()
