"""Trains one network on handwritten digits in float32 and in bfloat16, and compares what both learn.

The parameters of both are float32; in bfloat16 every intermediate result takes half the memory. Run it with

    python examples/mixed_precision.py

The example needs the extras demo and half.
"""

from typing import Literal as L
from typing import TypeAlias

from matplotlib.figure import Figure
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import Images, Labels, accuracy, digits, options, save
from tapegrad import Shape, Tape, Tensor, data, nn, optim, progress

N = TypeVar("N", bound=int)  # images
T = TypeVar("T", bound=Tape)


class Classifier(nn.Module):
    """Gives each image a score for each of the ten digits."""

    def __init__(self) -> None:
        self.rise = nn.Linear(64, 128)
        self.norm = nn.BatchNorm1d(128)
        self.fall = nn.Linear(128, 10)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[10]], T]:
        return self.fall(tg.relu(self.norm(self.rise(x))))


Model: TypeAlias = Classifier | nn.MixedPrecision[Classifier]


def train(model: Model, images: Images[N], labels: Labels[N], epochs: int) -> list[float]:
    """Train in batches of 32, and return the loss of each epoch, which is computed in float32."""
    opt, losses = optim.Adam(model, lr=2e-3), list[float]()
    for epoch in progress.track(data.batches(images, labels, size=32), epochs=epochs):
        total = 0.0
        for x, y in epoch:
            scores = model(x.trace())
            loss = tg.cross_entropy(scores, y)
            epoch.note(loss=loss, accuracy=accuracy(scores, y))
            total += loss.item() * len(y)
            opt.step(loss.backward(wrt=model))
        losses.append(total / len(labels))
    return losses


def plot(losses: dict[str, list[float]]) -> Figure:
    """Draw the losses of both."""
    figure = Figure(figsize=(6, 2.5), layout="constrained")
    axes = figure.subplots()
    for name, values in losses.items():
        axes.semilogy(range(1, len(values) + 1), values, "-" if name == "float32" else "--", label=name)
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.legend()
    return figure


def main(seed: int = 0) -> None:
    """Train the same network, from the same parameters, in both dtypes."""
    short, path = options("Trains a network in float32 and in bfloat16.")
    images, labels, test_images, test_labels = digits()
    epochs = 2 if short else 20
    losses: dict[str, list[float]] = {}
    for name in ("float32", "bfloat16"):
        with tg.random(seed):
            network = Classifier()
            model: Model = network if name == "float32" else nn.MixedPrecision(network, compute=tg.bfloat16)
            losses[name] = train(model, images, labels, epochs)
        dtypes = {str(one.dtype) for one in model.parameters().values()}
        right = accuracy(model(test_images), test_labels)
        print(f"{name}: test accuracy {right:.1%} of {len(test_images)} images, parameters in {', '.join(dtypes)}")
    if path:
        save(plot(losses), path)


if __name__ == "__main__":
    main()
