"""Trains a small network to predict the progression of diabetes from ten measurements of each of 442 patients.

R² is the fraction of the variance among the patients that a prediction explains (1 is all of it, 0 is none):

    R²  =  1  -  Σ (y - ŷ)²  /  Σ (y - ȳ)²

The network is compared with linear least squares, w = (XᵀX)⁻¹ Xᵀy. Run it with

    python examples/diabetes.py
"""

from typing import Literal as L
from typing import NamedTuple, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from typing_extensions import TypeVar

import tapegrad as tg
from shared import options, save
from tapegrad import NoneTape, Shape, Tensor, data, guarded, nn, optim, progress

N = TypeVar("N", bound=int)  # patients
F = TypeVar("F", bound=int)  # measurements

Measured: TypeAlias = Tensor[Shape[N, L[10]], NoneTape]
Column: TypeAlias = Tensor[Shape[N, L[1]], NoneTape]


class Patients(NamedTuple):
    """Measurements, and the progression a year later, in standard deviations of the training set."""

    train: tuple[Measured[L[282]], Column[L[282]]]
    validation: tuple[Measured[L[80]], Column[L[80]]]
    test: tuple[Measured[L[80]], Column[L[80]]]


@guarded  # the data may be another than the annotation says: it is checked at run time
def shuffled() -> tuple[Measured[L[442]], Column[L[442]]]:
    """Return all patients in random order."""
    loaded, order = load_diabetes(scaled=False), np.random.default_rng(0).permutation(442)
    x, y = tg.tensor(loaded.data[order]), tg.tensor(loaded.target[order])
    return x.astype(np.float32), y.astype(np.float32).reshape((442, 1))


def standardised(x: Tensor[Shape[N, F], NoneTape], like: int) -> Tensor[Shape[N, F], NoneTape]:
    """Scale each column to mean 0 and variance 1 of its first rows."""
    first = x[:like]
    return (x - first.mean(axis=0)) / tg.std(first, axis=0)


def load() -> Patients:
    """Split the patients into those to learn from, those that say when to stop, and those to be tested with."""
    x, y = shuffled()
    parts = (282, 80, 80)
    (x0, x1, x2), (y0, y1, y2) = tg.split(standardised(x, 282), parts), tg.split(standardised(y, 282), parts)
    return Patients((x0, y0), (x1, y1), (x2, y2))


def explained(predicted: Column[N], y: Column[N]) -> float:
    """Return R²."""
    return 1.0 - float(tg.mse(predicted, y) / tg.var(y))


def least_squares(x: Measured[N], y: Column[N]) -> Tensor[Shape[L[10], L[1]], NoneTape]:
    """Return the weights of a linear least-squares fit; columns of mean 0 need no bias."""
    return tg.solve(x.T @ x, x.T @ y)


def main() -> None:
    """Train until the validation gets no better for a while, and tests."""
    short, path = options("Foretells the progression of diabetes.")
    (x, y), (validation_x, validation_y), (test_x, test_y) = load()
    with tg.random(0):
        model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 1))
        opt = optim.AdamW(model, lr=2e-3, weight_decay=0.1)
        until = progress.EarlyStopping("validation_loss", patience=30)
        for epoch in progress.track(data.batches(x, y, size=47), epochs=5 if short else 500, until=until):
            for some_x, some_y in epoch:
                loss = tg.mse(model(some_x.trace()), some_y)
                opt.step(loss.backward(wrt=model))
                epoch.note(loss=loss)
            epoch.note(validation_loss=tg.mse(model(validation_x), validation_y))

    w = least_squares(x, y)
    print(f"R² of the network: {explained(model(x), y):.3f} train, {explained(model(test_x), test_y):.3f} test")
    print(f"R² of least squares: {explained(x @ w, y):.3f} train, {explained(test_x @ w, test_y):.3f} test")
    if path:
        figure = Figure(figsize=(4.5, 4), layout="constrained")
        axes = figure.subplots()
        axes.scatter(y.numpy(), model(x).numpy(), s=8, alpha=0.4, label="train")
        axes.scatter(test_y.numpy(), model(test_x).numpy(), s=14, label="test")
        axes.axline((0, 0), slope=1, color="black", linewidth=0.8)
        axes.set(xlabel="progression, in units of its spread", ylabel="predicted")
        axes.legend()
        save(figure, path)


if __name__ == "__main__":
    main()
