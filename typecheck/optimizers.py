"""Options of optimizers, and the states that they have for each parameter."""

from __future__ import annotations

from typing import Literal as L
from typing import assert_type

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn, optim

model = nn.Linear(3, 2, rng=0)


def accept_the_options_of_adadelta_and_rmsprop() -> None:
    adadelta = optim.Adadelta(model, rho=0.5, eps=1e-3, groups={"bias": optim.Group(lr=0.5)})
    centered = optim.RMSprop(model, centered=True)
    for opt in (adadelta, centered):
        opt.step(model(tg.ones((4, 3)).trace()).sum().backward(wrt=model))
    assert_type(adadelta.state[model.weight], optim.SquaredUpdates)
    assert_type(centered.state[model.weight], optim.Squares)


def reject_a_name_instead_of_a_number() -> None:
    optim.Adadelta(model, rho="0.9")  # E: Adadelta: rho is '0.9' but a number is expected [arg-type]


def accept_gradients_of_parameters_and_tensors() -> None:
    layer = nn.Linear(3, 2)
    opt, x = optim.Adam(layer), tg.ones((5, 3))
    opt.step(layer(x.trace()).sum().backward(wrt=layer).clip_norm(1.0))
    h = layer(x.trace())
    opt.step(h.sum().backward(wrt=[layer.weight, h]), allow_unused=True)

    def trained(weight: Tensor[Shape[L[3], L[2]], NoneTape]) -> None:
        optim.SGD([layer.weight], lr=0.1).step(layer(x.trace()).sum().backward(wrt=weight))

    trained(layer.weight)


def reject_a_step_with_gradients_of_a_tensor() -> None:
    layer = nn.Linear(3, 2)
    h = layer(tg.ones((5, 3)).trace())
    optim.Adam(layer).step(tg.square(h).sum().backward(wrt=h).clip_norm(1.0))  # E(mypy): Adam.step: the gradients are of other tensors, (5, 2), and none is of its parameters [tapegrad-tape]


def reject_a_step_with_gradients_of_an_input() -> None:
    layer = nn.Linear(3, 2)
    x = tg.ones((5, 3)) * 2
    grads = layer(x.trace()).sum().backward(wrt=[x])
    optim.SGD(layer, lr=0.1).step(grads)  # E(mypy): SGD.step: the gradients are of other tensors, (5, 3), and none is of its parameters [tapegrad-tape]
