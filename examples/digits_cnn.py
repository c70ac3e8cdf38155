"""Trains a convolutional network on handwritten digits; mypy checks all its shapes before the program runs.

For data augmentation, each training image is shifted by up to a pixel at random. Run it with

    python examples/digits_cnn.py
"""

from typing import Literal as L
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import Labels, accuracy, digits, options, save
from tapegrad import NoneTape, Shape, Tape, Tensor, data, nn, optim, progress
from tapegrad.optim import schedule

N = TypeVar("N", bound=int)  # images
T = TypeVar("T", bound=Tape)

Images: TypeAlias = Tensor[Shape[N, L[1], L[8], L[8]], T]

WINDOW = 10 * np.arange(8)[:, None] + np.arange(8)  # positions of an 8×8 image in a flattened 10×10 image


class Reader(nn.Module):
    """Gives each image a score for each of the ten digits."""

    def __init__(self) -> None:
        self.strokes = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1))
        self.shapes = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1))
        self.digits = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(256, 10))

    @override
    def forward(self, x: Images[N, T]) -> Tensor[Shape[N, L[10]], T]:
        return self.digits(self.shapes(self.strokes(x)))


def shifted(x: Images[N, NoneTape], rng: np.random.Generator) -> Images[N, NoneTape]:
    """Shift each image by up to a pixel: a random window of 8×8 in one of 10×10."""
    n = x.shape[0]
    corners = 10 * rng.integers(0, 3, (n, 1)) + rng.integers(0, 3, (n, 1))
    wide = tg.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).reshape((n, 100))
    places = tg.tensor(corners + WINDOW.reshape(64))
    return tg.gather(wide, places, axis=1).reshape((n, 1, 8, 8))


def train(model: Reader, images: Images[N, NoneTape], labels: Labels[N], epochs: int, rng: np.random.Generator) -> None:
    """Show the model every image once an epoch, in batches of 32, in steps that become smaller."""
    batches = data.batches(images, labels, size=32)
    opt, lr = optim.Adam(model), schedule.cosine(2e-3, steps=epochs * len(batches))
    for epoch in progress.track(batches, epochs=epochs):
        for x, y in epoch:
            opt.lr = lr(epoch.step)
            scores = model(shifted(x, rng).trace())
            loss = tg.cross_entropy(scores, y)
            epoch.note(loss=loss, accuracy=accuracy(scores, y))
            opt.step(loss.backward(wrt=model))


def plot(model: Reader, images: Images[N, NoneTape], labels: Labels[N]) -> Figure:
    """Draw the eight images whose digit the model finds least likely, with what it predicts instead."""
    written, likely = labels.numpy(), tg.softmax(model(images)).numpy()
    hardest = np.argsort(likely[np.arange(len(written)), written])[:8]
    figure = Figure(figsize=(8, 1.6), layout="constrained")
    for axes, image in zip(figure.subplots(1, 8), hardest, strict=True):
        digit, predicted = written[image], likely[image].argmax()
        axes.imshow(images.numpy()[image, 0], cmap="gray_r")
        title, color = f"{digit}\npredicted {predicted}", "black" if predicted == digit else "red"
        axes.set_title(title, color=color, fontsize=10)
        axes.axis("off")
    return figure


def main(seed: int = 0) -> None:
    """Train and tests a network of three convolutions."""
    short, path = options("Trains a convolutional network on handwritten digits.")
    images, labels, test_images, test_labels = digits()
    images, test_images = images.reshape((1437, 1, 8, 8)), test_images.reshape((360, 1, 8, 8))
    with tg.random(seed) as rng:
        model = Reader()
        train(model, images, labels, 2 if short else 30, rng)
    print(f"test accuracy: {accuracy(model(test_images), test_labels):.1%} of {len(test_images)} images")
    if path:
        save(plot(model, test_images, test_labels), path)


if __name__ == "__main__":
    main()
