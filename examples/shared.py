"""Helpers for all examples: the command line, the digits data set, and saving a plot."""

import argparse
from pathlib import Path
from typing import Literal as L
from typing import NamedTuple, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tape, Tensor, guarded

N = TypeVar("N", bound=int)  # images
C = TypeVar("C", bound=int)  # classes
T = TypeVar("T", bound=Tape)

Images: TypeAlias = Tensor[Shape[N, L[64]], NoneTape]
Labels: TypeAlias = Tensor[Shape[N], NoneTape, np.int64]


class Options(NamedTuple):
    """What the command line says."""

    short: bool
    plot: Path | None


def options(description: str) -> Options:
    """Read the command line, which is the same for all examples."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--short", action="store_true", help="train a few seconds only, as the tests do")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw the result there, a PNG")
    given = parser.parse_args()
    return Options(given.short, given.plot)


@guarded  # the data may be another than the annotation says: it is checked at run time
def digits() -> tuple[Images[L[1437]], Labels[L[1437]], Images[L[360]], Labels[L[360]]]:
    """Shuffle scikit-learn's 1,797 digits, and split them into those to learn from and those to be tested with."""
    loaded = load_digits()
    images = tg.tensor(loaded.data).astype(np.float32) / 16.0
    labels = tg.tensor(loaded.target)
    order = np.random.default_rng(0).permutation(1797)
    train, test = tg.tensor(order[:1437]), tg.tensor(order[1437:])
    return images.take(train), labels.take(train), images.take(test), labels.take(test)


def accuracy(scores: Tensor[Shape[N, C], T], labels: Labels[N]) -> float:
    """Return the fraction of rows whose highest score is that of the label."""
    return float(np.mean(scores.detach().numpy().argmax(axis=1) == labels.numpy()))


def save(figure: Figure, path: Path) -> None:
    """Write a picture, and create its folder if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)
