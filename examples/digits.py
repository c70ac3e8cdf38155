"""A small network learns to read handwritten digits; mypy has checked its shapes and its tape before it starts.

The digits are the 1,797 real ones, 8×8 pixels each, that come with scikit-learn. Run it with

    python examples/digits.py
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeAlias
from typing import Literal as L

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TimeRemainingColumn
from sklearn.datasets import load_digits
from typing_extensions import TypeVar, override

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tape, Tensor, data, guarded, io, nn, optim

N = TypeVar("N", bound=int)  # images
H = TypeVar("H", bound=int)  # hidden units
T = TypeVar("T", bound=Tape)

Images: TypeAlias = Tensor[Shape[N, L[64]], NoneTape]
Labels: TypeAlias = Tensor[Shape[N], NoneTape, np.int64]


class Classifier(nn.Module, Generic[H]):
    """Gives each image a score for each of the ten digits."""

    def __init__(self, hidden: H) -> None:
        self.rise = nn.Linear(64, hidden)
        self.fall = nn.Linear(hidden, 10)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[10]], T]:
        return self.fall(tg.relu(self.rise(x)))


@guarded  # the permutation has no size that mypy could know: here the result is checked when it is there
def load() -> tuple[Images[L[1437]], Labels[L[1437]], Images[L[360]], Labels[L[360]]]:
    """Shuffles the digits and splits them into those to learn from and those to be tested with."""
    digits = load_digits()
    images = tg.tensor(digits.data).astype(np.float32) / 16.0
    labels = tg.tensor(digits.target)
    order = np.random.default_rng(0).permutation(1797)
    train, test = tg.tensor(order[:1437]), tg.tensor(order[1437:])
    return images.take(train), labels.take(train), images.take(test), labels.take(test)


def train(model: Classifier[H], images: Images[N], labels: Labels[N], epochs: int) -> None:
    """Shows the model every image once an epoch, in batches of 32."""
    opt = optim.Adam(model, lr=2e-3)
    batches = data.batches(images, labels, size=32)
    console = Console(stderr=True)
    columns = (BarColumn(), "{task.description}", TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("training", total=epochs)
        for epoch in range(1, epochs + 1):
            total = 0.0
            for x, y in batches:
                loss = tg.cross_entropy(model(x.trace()), y)
                opt.step(loss.backward(wrt=model))
                total += loss.item()
            line = f"epoch {epoch}/{epochs}, loss {total / len(batches):.3f}"
            progress.update(task, advance=1, description=line)
            if not console.is_terminal:
                console.print(line)


def test(model: Classifier[H], images: Images[N], labels: Labels[N]) -> None:
    """Prints how many images the model reads right, and what it takes the others for."""
    written, read = labels.numpy(), model(images).numpy().argmax(axis=1)
    table = np.zeros((10, 10), np.int64)
    np.add.at(table, (written, read), 1)
    print(f"test accuracy: {np.mean(written == read):.1%} of {len(images)} images")
    print("\nwritten   read as")
    print("      " + "".join(f"{digit:5}" for digit in range(10)))
    for digit, row in enumerate(table):
        print(f"{digit:6}" + "".join(f"{count or '.':>5}" for count in row))


def keep(model: Classifier[H], hidden: H, images: Images[N]) -> None:
    """Saves the model in either format, loads it into a fresh one, and compares what the two make of the images."""
    print()
    for name in ("digits.npz", "digits.safetensors"):
        fresh = Classifier(hidden)
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            io.save(model, path)
            io.load(fresh, path)
            size = path.stat().st_size
        equal = np.all(fresh(images).numpy() == model(images).numpy(), axis=1)
        print(f"saved to {name}, {size:,} bytes, and loaded: the same scores for {equal.sum()} of {len(images)} images")


def main() -> None:
    """Trains, tests, saves and loads a classifier with 64 hidden units."""
    parser = argparse.ArgumentParser(description="Trains a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20, help="how often every image is shown (default: 20)")
    epochs: int = parser.parse_args().epochs

    images, labels, test_images, test_labels = load()
    with tg.random(0):
        model = Classifier(64)
        train(model, images, labels, epochs)
    test(model, test_images, test_labels)
    keep(model, 64, test_images)


if __name__ == "__main__":
    main()
