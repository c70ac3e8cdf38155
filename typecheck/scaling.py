"""Loss scaling: the loss is a traced scalar float, in half precision or not."""

from typing import assert_type

import numpy as np

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, nn, optim

x = tg.ones((5, 3))
model = nn.Linear(3, 2, rng=0)
scaler = optim.LossScaler()


def accept_a_loss_of_half_precision() -> None:
    loss = model(x.trace()).astype(np.float16).astype(np.float32).mean()
    assert_type(scaler.scaled(loss), Tensor[tuple[()], OwnedTape])
    assert_type(scaler.step(optim.SGD(model, lr=0.1), scaler.scaled(loss).backward(wrt=model)), bool)


def reject_a_loss_of_each_row() -> None:
    scaler.scaled(model(x.trace()).mean(axis=1))  # E(mypy): LossScaler.scaled: loss is (5,) but () is expected: rank 1, not 0 [tapegrad-shape]


def reject_a_loss_without_a_tape() -> None:
    scaler.scaled(x.mean())  # E(mypy): LossScaler.scaled: loss has no tape but needs one [tapegrad-tape]
