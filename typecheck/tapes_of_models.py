"""Models and functions whose tensors are declared as `Tensor`, and get a tape by a call."""

from __future__ import annotations

from typing import NamedTuple

import tapegrad as tg
from tapegrad import Tensor, nn


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


class Scaled(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return tg.relu(self.scale(x))


class Both(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Pair:
        h = self.scale(x)
        return Pair(h, h * 2.0)


class Mapped(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"h": self.scale(x), "size": tg.zeros(x.shape)}


def applied(layer: nn.Linear, x: Tensor) -> Tensor:
    return layer(x)


def accept_a_new_trace_for_each_turn() -> None:
    model, x = Scaled(), tg.ones((2, 3))
    for _ in range(3):
        model(x.trace()).mean().backward()


def accept_what_has_no_tape_of_a_consumed_tensor() -> None:
    t = tg.ones((2, 3)).trace()
    h = Scaled()(t)
    h.mean().backward()
    assert h.shape == (2, 3)
    assert h.argmax(axis=-1).shape == (2,)
    assert (h > 0.0).all().item() in (True, False)
    assert Scaled()(h.detach()).shape == (2, 3)


def accept_both_parts_before_backward() -> None:
    pair = Both()(tg.ones((2, 3)).trace())
    (pair.first.mean() + pair.second.mean()).backward()


def accept_one_branch_that_consumes() -> None:
    def step(model: Scaled, x: Tensor, *, train: bool) -> float:
        t = x.trace()
        loss = model(t).mean()
        if train:
            loss.backward()
        else:
            model(t).sum().backward()
        return loss.item()

    step(Scaled(), tg.ones((2, 3)), train=True)
    step(Scaled(), tg.ones((2, 3)), train=False)


def reject_one_trace_for_all_turns() -> None:
    model, t = Scaled(), tg.ones((2, 3)).trace()
    for _ in range(3):
        model(t).mean().backward()  # E(mypy): model(t): t was consumed by model(t).mean().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_the_second_call_of_a_model() -> None:
    model, t = Scaled(), tg.ones((2, 3)).trace()
    model(t).mean().backward()
    model(t).mean().backward()  # E(mypy): model(t): t was consumed by model(t).mean().backward() on line {-1}; trace again [tapegrad-tape]


def reject_the_second_call_of_a_function() -> None:
    layer, t = nn.Linear(3, 2), tg.ones((2, 3)).trace()
    applied(layer, t).mean().backward()
    applied(layer, t).mean().backward()  # E(mypy): applied(layer, t): x shares the tape that applied(layer, t).mean().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_the_second_field_after_backward() -> None:
    pair = Both()(tg.ones((2, 3)).trace())
    pair.first.mean().backward()
    pair.second.mean().backward()  # E(mypy): pair.second.mean(): pair.second shares the tape that pair.first.mean().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_entry_of_the_second_call() -> None:
    model, t = Mapped(), tg.ones((2, 3)).trace()
    model(t)["h"].mean().backward()
    model(t)["h"].mean().backward()  # E(mypy): model(t): t was consumed by model(t)['h'].mean().backward() on line {-1}; trace again [tapegrad-tape]
