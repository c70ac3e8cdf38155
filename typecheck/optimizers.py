"""Options of optimizers, and the states that they have for each parameter."""

from __future__ import annotations

from typing import assert_type

import tapegrad as tg
from tapegrad import nn, optim

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
