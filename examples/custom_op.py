"""A custom op with its own gradient: a polynomial kernel, which measures how similar two images are.

    k[n, m]  =  (1 + Σ x[n, d] y[m, d])²

Its shape rule checks the sizes at run time, with the same message that mypy derives from the signature. The backward
closure is typed like the forward pass, and finite differences confirm its first and second derivatives. A classifier
then compares each image with 40 trained patterns by this kernel, and predicts the digit from the results. Run it with

    python examples/custom_op.py
"""

from typing import Generic
from typing import Literal as L

import numpy as np
from matplotlib.figure import Figure
from typing_extensions import TypeVar, override

import tapegrad as tg
from shared import Images, Labels, accuracy, digits, options, save
from tapegrad import Gradients, Merge, Shape, ShapeError, Tape, Tensor, data, nn, optim, progress
from tapegrad.sizes import Dims, show, surely_differ
from tapegrad.testing import check_gradients, check_shape_rule

N = TypeVar("N", bound=int)  # images
M = TypeVar("M", bound=int)  # patterns
K = TypeVar("K", bound=int)  # pixels
T = TypeVar("T", bound=Tape)
T1 = TypeVar("T1", bound=Tape)
T2 = TypeVar("T2", bound=Tape)
D = TypeVar("D", bound=np.floating)


def kernel_shape(x: Dims, y: Dims) -> Dims:
    """Say that rows are compared with rows: (N, K) and (M, K) give (N, M)."""
    if len(x) != 2 or len(y) != 2:
        raise ShapeError(f"x is {show(x)} and y is {show(y)} but (N, K) and (M, K) are expected")
    (n, k), (m, k_y) = x, y
    if surely_differ(k, k_y):
        raise ShapeError(f"K is {k} in x but {k_y} in y")
    return n, m


@tg.op(kernel_shape, eager=True)
def kernel(x: Tensor[Shape[N, K], T1, D], y: Tensor[Shape[M, K], T2, D]) -> Tensor[Shape[N, M], Merge[T1, T2], D]:
    """Return how alike each row of x and each row of y are."""
    a, b, tape = tg.split_tape(x, y)
    product = a.data @ b.data.T + 1.0
    out = tg.node(product * product)

    def backward(grads: Gradients) -> None:
        dproduct = 2.0 * grads.pop_output(out) * (a.data @ b.data.T + 1.0)
        if grads.wants(a):
            grads.add(a, dproduct @ b.data)
        if grads.wants(b):
            grads.add(b, dproduct.T @ a.data)

    return tape.record(out, (a, b), backward)


class Reader(nn.Module, Generic[M]):
    """Gives each image a score for each of the ten digits, by its likeness to some patterns."""

    def __init__(self, patterns: M) -> None:
        self.patterns = nn.Param(tg.normal((patterns, 64), std=0.01))
        self.scores = nn.Linear(patterns, 10)

    @override
    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[10]], T]:
        return self.scores(kernel(x, self.patterns))


def check() -> None:
    """Hold the op to what an op has to do, once with random numbers and once with numbers that a reader can check."""
    x, y = tg.normal((3, 2), dtype=np.float64, rng=0), tg.normal((5, 2), dtype=np.float64, rng=1)
    check_gradients(kernel, x, y, order=2)
    check_shape_rule(kernel, ((3, 2), (5, 2)), ((1, 7), (4, 7)))
    print("gradients, and gradients of gradients: as by finite differences")

    x, y = tg.tensor([[3.0]]), tg.tensor([[2.0]])
    derivative = kernel(x.trace(), y).sum().backward()[x]
    curvature = tg.hvp(lambda x: kernel(x, y).sum(), x, tg.ones_like(x))
    print(
        f"(1 + 2x)² at x = 3: {kernel(x, y).item():g}, derivative {derivative.item():g}, curvature {curvature.item():g}"
    )

    try:
        kernel(tg.ones((3, 64)), tg.ones((5, 63)))  # type: ignore[tapegrad-shape]  # the program prints this message
    except ShapeError as error:
        print(error)


def train(model: Reader[M], images: Images[N], labels: Labels[N], epochs: int) -> None:
    """Show the model every image once an epoch, in batches of 32."""
    opt = optim.AdamW(model, lr=2e-3, weight_decay=0.2)
    for epoch in progress.track(data.batches(images, labels, size=32), epochs=epochs):
        for x, y in epoch:
            scores = model(x.trace())
            loss = tg.cross_entropy(scores, y)
            epoch.note(loss=loss, accuracy=accuracy(scores, y))
            opt.step(loss.backward(wrt=model))


def plot(model: Reader[M]) -> Figure:
    """Draw the patterns: dark pixels count for likeness, light ones against it."""
    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    panels = figure.subplots(4, 10)
    for axes, pattern in zip(panels.flat, model.patterns.numpy(), strict=True):
        axes.imshow((pattern / np.abs(pattern).max()).reshape((8, 8)), cmap="RdGy", vmin=-1, vmax=1)
        axes.axis("off")
    figure.colorbar(panels.flat[0].images[0], ax=panels, label="weight, relative to the largest")
    return figure


def main() -> None:
    """Check the op, then train and tests a network made of it."""
    short, path = options("Checks an op of one's own, and reads handwritten digits with it.")
    check()
    images, labels, test_images, test_labels = digits()
    with tg.random(0):
        model = Reader(40)
        train(model, images, labels, 2 if short else 20)
    print(f"test accuracy: {accuracy(model(test_images), test_labels):.1%} of {len(test_images)} images")
    if path:
        save(plot(model), path)


if __name__ == "__main__":
    main()
