"""Trains a network with two heads, for the digit of an image and for its parity, each with a loss of its own.

Both heads share the hidden units, so the gradient there is the sum of the gradients of both losses:

    loss  =  cross entropy(digit)  +  1/2 · cross entropy(odd or even)

Run it with

    python examples/multi_head.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import Images, Labels, accuracy, digits, options
from tapegrad import Shape, Tape, Tensor, data, nn, optim, progress

N = TypeVar("N", bound=int)  # images
H = TypeVar("H", bound=int)  # hidden units
T = TypeVar("T", bound=Tape)


class TwoHeads(nn.Module, Generic[H]):
    """Gives each image ten scores for its digit, and two for its being even or odd."""

    def __init__(self, hidden: H) -> None:
        self.body = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.digit = nn.Linear(hidden, 10)
        self.parity = nn.Linear(hidden, 2)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> tuple[Tensor[Shape[N, L[10]], T], Tensor[Shape[N, L[2]], T]]:
        hidden = self.body(x)
        return self.digit(hidden), self.parity(hidden)


def train(model: TwoHeads[H], images: Images[N], labels: Labels[N], epochs: int, log: Path) -> None:
    """Show the model every image once an epoch, in batches of 32, and keep account of both losses."""
    opt = optim.Adam(model, lr=1e-3)
    for epoch in progress.track(data.batches(images, labels, size=32), epochs=epochs, log=log):
        for x, y in epoch:
            digit, parity = model(x.trace())
            of_digit, of_parity = tg.cross_entropy(digit, y), tg.cross_entropy(parity, y % 2)
            epoch.note(digit_loss=of_digit, parity_loss=of_parity)
            epoch.note(digit_accuracy=accuracy(digit, y), parity_accuracy=accuracy(parity, y % 2))
            loss = of_digit + 0.5 * of_parity
            opt.step(loss.backward(wrt=model))


def main() -> None:
    """Train and tests both heads, and ask how often they agree."""
    short, path = options("Trains a network with two heads on handwritten digits.")
    images, labels, test_images, test_labels = digits()
    with tg.random(0), TemporaryDirectory() as folder:
        model, log = TwoHeads(64), Path(folder) / "run.jsonl"
        train(model, images, labels, 2 if short else 20, log)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            progress.curves(log, path)

    digit, parity = model(test_images)
    agree = np.mean(digit.argmax(axis=1).numpy() % 2 == parity.argmax(axis=1).numpy())
    right, right_parity = accuracy(digit, test_labels), accuracy(parity, test_labels % 2)
    print(f"test accuracy: {right:.1%} of digits, {right_parity:.1%} of parities")
    print(f"the heads agree on {agree:.1%} of {len(test_images)} images")


if __name__ == "__main__":
    main()
