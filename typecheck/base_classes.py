"""Models and losses in variables and fields that name their base class or a protocol, such as those of a trainer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

rows = tg.ones((8, 12))
labels = tg.arange(8) % 5


@dataclass(frozen=True)
class Config:
    kind: str = "small"
    pixels: int = 12
    width: int = 16
    classes: int = 5


class Output(NamedTuple):
    logits: Tensor[Any, Any]
    hidden: Tensor[Any, Any]


class Encoder(nn.Module, ABC):
    def __init__(self, config: Config) -> None:
        self.config = config

    @abstractmethod
    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]: ...

    def penalty(self, h: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return h


class Small(Encoder):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.layer = nn.Linear(config.pixels, config.width)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.relu(self.layer(x))


class Large(Encoder):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.first = nn.Linear(config.pixels, 2 * config.width)
        self.second = nn.Linear(2 * config.width, config.width)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.relu(self.second(tg.relu(self.first(x))))

    def penalty(self, h: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return (h * h).mean()


ENCODERS: dict[str, type[Encoder]] = {"small": Small, "large": Large}


def build(config: Config) -> Encoder:
    if config.kind == "small":
        return Small(config)
    return Large(config)


class Base(nn.Module):
    """Has a method that calls those of its subclasses."""

    def __init__(self, config: Config) -> None:
        self.head = nn.Linear(config.width, config.classes)

    @abstractmethod
    def features(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]: ...

    @abstractmethod
    def losses(self, x: Tensor[Any, Any], y: Tensor[Any, Any, np.int64]) -> dict[str, Tensor[Any, Any]]: ...

    def forward(self, x: Tensor[Any, Any]) -> Output:
        hidden = self.features(x)
        return Output(self.head(hidden), hidden)


class Classifier(Base):
    def __init__(self, encoder: Encoder, config: Config) -> None:
        super().__init__(config)
        self.encoder = encoder

    def features(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.encoder(x)

    def losses(self, x: Tensor[Any, Any], y: Tensor[Any, Any, np.int64]) -> dict[str, Tensor[Any, Any]]:
        out = self(x)
        return {"loss": tg.cross_entropy(out.logits, y), "penalty": self.encoder.penalty(out.hidden)}


class Loss(Protocol):
    def __call__(self, logits: Tensor[Any, Any], y: Tensor[Any, Any, np.int64], /) -> Tensor[Any, Any]: ...


@dataclass
class Trainer:
    model: nn.Module
    loss: Loss
    activation: Callable[[Tensor[Any, Any]], Tensor[Any, Any]] = tg.tanh

    def predict(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        out: Output = self.model(x)
        return self.activation(out.logits)

    def evaluate(self, x: Tensor[Any, Any], y: Tensor[Any, Any, np.int64]) -> Tensor[Any, Any]:
        return self.loss(self.predict(x), y)


def gated(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    a, b = tg.chunk(x, 2, axis=-1)
    return a * tg.sigmoid(b)


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, act: Callable[[Tensor[Any, Any]], Tensor[Any, Any]]) -> None:
        self.layer = nn.Linear(inputs, outputs)
        self.act = act

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.act(self.layer(x))


ACTIVATIONS: dict[str, Callable[[Tensor[Any, Any]], Tensor[Any, Any]]] = {"relu": tg.relu, "gated": gated}


def accept_an_object_of_a_subclass() -> None:
    config = Config()
    named: Encoder = Small(config)
    assert_type(named(rows), Tensor[Shape[L[8], L[16]], NoneTape])
    assert_type(named(rows.trace()), Tensor[Shape[L[8], L[16]], OwnedTape])
    assert_type(named.penalty(named(rows)), Tensor[Shape[L[8], L[16]], NoneTape])
    built = build(Config("large"))
    assert_type(built(rows), Tensor[Shape[L[8], L[16]], NoneTape])
    assert_type(built.penalty(built(rows)), Tensor[Shape[()], NoneTape])
    registered = ENCODERS[config.kind](config)
    assert_type(registered(rows), Tensor[Shape[L[8], L[16]], NoneTape])


def accept_methods_of_a_subclass_that_its_base_calls() -> None:
    config = Config()
    model: Base = Classifier(build(config), config)
    assert_type(model(rows).logits, Tensor[Shape[L[8], L[5]], NoneTape])
    assert_type(model(rows).hidden, Tensor[Shape[L[8], L[16]], NoneTape])
    losses = model.losses(rows.trace(), labels)
    assert_type(losses["loss"], Tensor[Shape[()], OwnedTape])
    assert_type(losses["penalty"], Tensor[Shape[L[8], L[16]], OwnedTape])


def accept_functions_in_fields() -> None:
    config = Config()
    trainer = Trainer(Classifier(Small(config), config), tg.cross_entropy)
    assert_type(trainer.predict(rows), Tensor[Shape[L[8], L[5]], NoneTape])
    assert_type(trainer.evaluate(rows, labels), Tensor[Shape[()], NoneTape])
    other = Trainer(Classifier(Small(config), config), tg.cross_entropy, tg.relu)
    assert_type(other.predict(rows), Tensor[Shape[L[8], L[5]], NoneTape])
    assert_type(Block(12, 8, tg.relu)(rows), Tensor[Shape[L[8], L[8]], NoneTape])
    assert_type(Block(12, 8, gated)(rows), Tensor[Shape[L[8], L[4]], NoneTape])
    assert_type(Block(12, 8, ACTIVATIONS["gated"])(rows), Tensor[Shape[L[8], L[4]], NoneTape])


def reject_an_activation_in_a_field() -> None:
    Block(12, 8, gated)(rows) + tg.ones((8, 8))  # E: add: x (8, 4) and y (8, 8) do not broadcast: axis -1 is 4 in x but 8 in y [tapegrad-shape]


class Chosen(nn.Module):
    """Has layers of several classes, of which an option chooses."""

    def __init__(self, inputs: int, outputs: int, activation: str = "relu", *, is_deep: bool = False) -> None:
        if activation == "relu":
            self.activation = nn.ReLU()
        elif activation == "gelu":
            self.activation = nn.GELU()
        else:
            self.activation = nn.Linear(outputs, 4)
        if is_deep:
            self.layer = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))
        else:
            self.layer = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.activation(self.layer(x))


def accept_a_layer_that_an_option_chooses() -> None:
    assert_type(Chosen(12, 8)(rows), Tensor[Shape[L[8], L[8]], NoneTape])
    assert_type(Chosen(12, 8, "gelu", is_deep=True)(rows), Tensor[Shape[L[8], L[8]], NoneTape])
    assert_type(Chosen(12, 8, "linear")(rows), Tensor[Shape[L[8], L[4]], NoneTape])


def reject_what_a_chosen_layer_returns() -> None:
    Chosen(12, 8, "linear")(rows) + tg.ones((8, 8))  # E(mypy): add: x (8, 4) and y (8, 8) do not broadcast: axis -1 is 4 in x but 8 in y [tapegrad-shape]
