"""Trains a small network on handwritten digits; mypy checks its shapes and its tape before the program runs.

The digits are the 1,797 real ones, 8×8 pixels each, that come with scikit-learn. Run it with

    python examples/digits.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic
from typing import Literal as L

import numpy as np
from matplotlib.figure import Figure
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import Images, Labels, accuracy, digits, options, save
from tapegrad import Shape, Tape, Tensor, data, io, nn, optim, progress

N = TypeVar("N", bound=int)  # images
H = TypeVar("H", bound=int)  # hidden units
T = TypeVar("T", bound=Tape)


class Classifier(nn.Module, Generic[H]):
    """Gives each image a score for each of the ten digits."""

    def __init__(self, hidden: H) -> None:
        self.rise = nn.Linear(64, hidden)
        self.fall = nn.Linear(hidden, 10)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[10]], T]:
        return self.fall(tg.relu(self.rise(x)))


def train(model: Classifier[H], images: Images[N], labels: Labels[N], epochs: int) -> None:
    """Show the model every image once an epoch, in batches of 32."""
    opt = optim.Adam(model, lr=2e-3)
    for epoch in progress.track(data.batches(images, labels, size=32), epochs=epochs):
        for x, y in epoch:
            scores = model(x.trace())
            loss = tg.cross_entropy(scores, y)
            epoch.note(loss=loss, accuracy=accuracy(scores, y))
            opt.step(loss.backward(wrt=model))


def test(model: Classifier[H], images: Images[N], labels: Labels[N]) -> None:
    """Print how many images the model reads right, and what it takes the others for."""
    written, read = labels.numpy(), model(images).numpy().argmax(axis=1)
    table = np.zeros((10, 10), np.int64)
    np.add.at(table, (written, read), 1)
    print(f"test accuracy: {np.mean(written == read):.1%} of {len(images)} images")
    print("\nwritten   read as")
    print("      " + "".join(f"{digit:5}" for digit in range(10)))
    for digit, row in enumerate(table):
        print(f"{digit:6}" + "".join(f"{count or '.':>5}" for count in row))


def plot(model: Classifier[H]) -> Figure:
    """Draw the evidence for each digit, dark, and against it, red, if all hidden units were active."""
    weights = (model.rise.weight @ model.fall.weight).numpy()  # (64, 10)
    figure = Figure(figsize=(8.6, 1.2), layout="constrained")
    panels, largest = figure.subplots(1, 10), abs(weights).max()
    for digit, axes in enumerate(panels):
        axes.imshow(weights[:, digit].reshape((8, 8)), cmap="RdGy", vmin=-largest, vmax=largest)
        axes.set_title(digit)
        axes.axis("off")
    figure.colorbar(panels[0].images[0], ax=panels, label="weight", fraction=0.02)
    return figure


def keep(model: Classifier[H], hidden: H, images: Images[N]) -> None:
    """Save the model in either format, loads it into a fresh one, and compare what the two make of the images."""
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
    """Train, tests, saves and loads a classifier with 64 hidden units."""
    short, path = options("Trains a network on handwritten digits.")
    images, labels, test_images, test_labels = digits()
    with tg.random(0):
        model = Classifier(64)
        train(model, images, labels, 1 if short else 20)
    test(model, test_images, test_labels)
    keep(model, 64, test_images)
    if path:
        save(plot(model), path)


if __name__ == "__main__":
    main()
