"""Steps under `jit` have the type of the function: sizes, tapes and dtypes are checked at their calls."""

from typing import Literal as L
from typing import TypeVar, assert_type

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, guarded, nn, optim

N = TypeVar("N", bound=int)


@tg.jit
@guarded
def step(
    model: nn.Linear[L[6], L[3], L[True]],
    opt: optim.SGD,
    x: Tensor[Shape[N, L[6]], NoneTape],
    y: Tensor[Shape[N], NoneTape, np.int64],
) -> Tensor[Shape[N], NoneTape]:
    scores = model(x.trace())
    losses = tg.cross_entropy(scores, y, reduction="none")
    opt.step(losses.mean().backward(wrt=model))
    return losses.detach()


@tg.jit
@guarded
def derivative(x: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[N], NoneTape]:
    return (x.trace() * x).sum().backward()[x]


model = nn.Linear(6, 3)
opt = optim.SGD(model, lr=0.1)
labels = tg.zeros((4,), np.int64)


def accept_sizes_that_fit() -> None:
    assert_type(step(model, opt, tg.ones((4, 6)), labels), Tensor[Shape[L[4]], NoneTape])
    assert_type(derivative(tg.ones((5,))), Tensor[Shape[L[5]], NoneTape])


def accept_names() -> None:
    def squared(x: Tensor[Shape[N], NoneTape]) -> None:
        assert_type(derivative(x), Tensor[Shape[N], NoneTape])

    squared(tg.ones((3,)))


def accept_places_of_the_type_they_are_given() -> None:
    import jax

    device = jax.devices()[0]
    assert_type(tg.jax.place(tg.ones((4, 6)), device), Tensor[Shape[L[4], L[6]], NoneTape])
    assert_type(tg.jax.place(model, device), nn.Linear[L[6], L[3], L[True]])
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
    assert_type(tg.jax.place(model, mesh, {"weight": ("data", None)}), nn.Linear[L[6], L[3], L[True]])


def accept_an_export() -> None:
    exported = tg.jax.export(derivative, tg.ones((1,)), sizes={"x": ("n",)}, platforms=("cpu",))
    assert len(exported.serialize()) > 0


def accept_steps_of_a_run() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as run:
        tg.jax.save({"model": model, "opt": opt}, run, step=1, keep=2)
        assert_type(tg.jax.load({"model": model, "opt": opt}, run, step=1), int)
        assert_type(tg.jax.saved_steps(run), list[int])


def reject_other_columns() -> None:
    step(model, opt, tg.ones((4, 5)), labels)  # E: step: x is (4, 5) but (N, 6) is expected: axis 1 is 5, not 6


def reject_fewer_labels() -> None:
    step(model, opt, tg.ones((7, 6)), labels)  # E: step: N is 7 in x but 4 in y


def reject_a_tape() -> None:
    derivative(tg.ones((5,)).trace())  # E: derivative: x has a tape but must have none
