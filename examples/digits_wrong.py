"""A short `digits.py` with eight mistakes: mypy must report each with the message beside it, and nothing else."""

from typing import Generic
from typing import Literal as L

import numpy as np
from sklearn.datasets import load_digits
from typing_extensions import TypeVar, override

import tapegrad as tg
from tapegrad import Shape, Tape, Tensor, data, nn, optim

N = TypeVar("N", bound=int)  # images
H = TypeVar("H", bound=int)  # hidden units
T = TypeVar("T", bound=Tape)


class Classifier(nn.Module, Generic[H]):
    """The second layer takes what it has returned itself."""

    def __init__(self, hidden: H) -> None:
        self.rise = nn.Linear(64, hidden)
        self.fall = nn.Linear(hidden, 10)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[10]], T]:
        return self.fall(self.fall(self.rise(x)))  # E: Classifier.fall Linear(H, 10): x is (N, 10) but (..., H) is expected: axis -1 is 10, not H [tapegrad-shape]


def main() -> None:
    """Read the digits, make a model and train it, each of them wrongly."""
    digits = load_digits()
    images = tg.tensor(digits.data).astype(np.float32) / 16.0
    labels = tg.tensor(digits.target)
    centred = images - images.mean(axis=1)  # E: sub: x (1797, 64) and y (1797,) do not broadcast: axis -1 is 64 in x but 1797 in y [tapegrad-shape]

    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(32, 10))  # E: Sequential[2] Linear(32, 10): x is (..., 48) but (..., 32) is expected: axis -1 is 48, not 32 [tapegrad-shape]
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    model(tg.ones((32, 63)))  # E: model[0] Linear(64, 32): x is (32, 63) but (..., 64) is expected: axis -1 is 63, not 64 [tapegrad-shape]

    opt = optim.Adam(model, lr=2e-3)
    for x, y in data.batches(images, labels, size=32):
        tg.cross_entropy(model(x.trace()), labels)  # E: cross_entropy: target (1797,) does not fit x (32, 10): expected (32,) [tapegrad-shape]
        tg.cross_entropy(model(x), y).backward(wrt=model)  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]
        tg.log_softmax(model(x.trace())).backward(wrt=model)  # E: backward: x (32, 10) is not a scalar; reduce it or pass seed= [tapegrad-shape]
        loss = tg.cross_entropy(model(x.trace()), y)
        opt.step(loss.backward(wrt=model))
        opt.step(loss.backward(wrt=model))  # E: loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line 47; trace again [tapegrad-tape]


if __name__ == "__main__":
    main()
