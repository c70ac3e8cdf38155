"""Gradient accumulation: four batches of 64 images, one after the other, give the gradient of one batch of 256.

If a loss is a mean over rows, its gradient is the mean of the gradients of equal parts:

    d/dw 1/256 Σ loss(row)  =  Σ over parts  1/4 · d/dw 1/64 Σ loss(row of the part)

`trace(grads=...)` adds to existing gradients, so only one part has to be in memory at a time. Run it with

    python examples/accumulation.py
"""

from typing import Literal as L
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure

import tapegrad as tg
from shared import Images, Labels, accuracy, digits, options, save
from tapegrad import Gradients, data, nn, optim, progress

Model: TypeAlias = nn.Sequential[nn.Linear[L[64], L[48]], nn.Tanh, nn.Linear[L[48], L[10]]]

PARTS = 4


def network() -> Model:
    """Return the same network each time."""
    with tg.random(0):
        return nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10))


def whole_batch(model: Model, images: Images[L[256]], labels: Labels[L[256]]) -> tuple[float, Gradients]:
    """Return the loss and the gradients of a whole batch."""
    loss = tg.cross_entropy(model(images.trace()), labels)
    return loss.item(), loss.backward(wrt=model)


def in_parts(model: Model, images: Images[L[256]], labels: Labels[L[256]]) -> tuple[float, Gradients]:
    """Return the same, computed from one part after the other."""
    total, grads = 0.0, Gradients()
    for x, y in zip(tg.split(images, PARTS), tg.split(labels, PARTS), strict=True):
        loss = tg.cross_entropy(model(x.trace(grads=grads)), y) / PARTS
        total, grads = total + loss.item(), loss.backward(wrt=model)
    return total, grads


def largest_difference(model: Model, one: Gradients, other: Gradients) -> float:  # tapegrad: unknown because w varies
    """Return by how much the gradients of any parameter differ at most."""
    return max(float(tg.abs(one[w] - other[w]).max()) for w in model.parameters().values())


def main() -> None:
    """Train two networks side by side, one with whole batches and one with batches in parts."""
    short, path = options("Trains with accumulated gradients, beside whole batches.")
    images, labels, test_images, test_labels = digits()
    whole, parted = network(), network()
    whole_opt, parted_opt = optim.SGD(whole, 0.5, momentum=0.9), optim.SGD(parted, 0.5, momentum=0.9)
    losses: list[tuple[float, float]] = []
    furthest = 0.0
    for epoch in progress.track(data.batches(images, labels, size=256, rng=0), epochs=3 if short else 60):
        for x, y in epoch:
            furthest = max(furthest, largest_difference(whole, whole_batch(whole, x, y)[1], in_parts(whole, x, y)[1]))
            (loss, grads), (parted_loss, parted_grads) = whole_batch(whole, x, y), in_parts(parted, x, y)
            whole_opt.step(grads)
            parted_opt.step(parted_grads)
            losses.append((loss, parted_loss))
            epoch.note(loss=loss, loss_in_parts=parted_loss)

    print(f"largest difference of a gradient: {furthest:.1e}")
    print(
        f"test accuracy: {accuracy(whole(test_images), test_labels):.1%} with whole batches, "
        f"{accuracy(parted(test_images), test_labels):.1%} with batches in {PARTS} parts"
    )
    if path:
        figure = Figure(figsize=(5, 3.5), layout="constrained")
        axes = figure.subplots()
        curve, parted_curve = np.array(losses).T
        axes.plot(curve, linewidth=4, alpha=0.4, label="batches of 256")
        axes.plot(parted_curve, linewidth=1, color="black", label="4 times 64, accumulated")
        axes.set(xlabel="step", ylabel="loss (nats)", yscale="log")
        axes.legend()
        save(figure, path)


if __name__ == "__main__":
    main()
