"""Attributes, methods, properties, inheritance and dataclasses."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))


class Trainer:
    """Trains a model, one loss at a time."""

    def __init__(self) -> None:
        self.model = nn.Linear(5, 2, rng=0)
        self.opt = optim.SGD(self.model, lr=0.1)
        self.loss = self.forward()

    def forward(self) -> Scalar:
        return self.model(x.trace()).sum()

    def renew(self) -> None:
        self.loss = self.forward()

    def step(self) -> None:
        self.opt.step(self.loss.backward(wrt=self.model))

    def step_of(self, loss: Scalar) -> None:
        self.opt.step(loss.backward(wrt=self.model))

    def value(self) -> float:
        return float(self.loss.detach().item())

    @property
    def fresh(self) -> Scalar:
        return self.forward()

    @cached_property
    def kept(self) -> Scalar:
        return self.forward()


class Careful(Trainer):
    """A trainer that steps with a smaller loss."""

    def step(self) -> None:
        self.renew()
        super().step()


class Doubled(Trainer):
    """A trainer with a method of its own."""

    def run(self) -> None:
        super().step()
        super().step()  # E(mypy): super().step(): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-30}; trace again [tapegrad-tape]


@dataclass
class Output:
    """What a model returns."""

    loss: Scalar
    logits: Tensor[Shape[Any, Any], OwnedTape]


class Stepper(Protocol):
    """Anything that steps."""

    def step(self) -> None: ...


def make_output() -> Output:
    logits = nn.Linear(5, 2, rng=0)(x.trace())
    return Output(logits.sum(), logits)


def run_twice(stepper: Stepper) -> None:
    stepper.step()
    stepper.step()


def reject_an_attribute_after_a_method() -> None:
    trainer = Trainer()
    trainer.step()
    trainer.loss.backward()  # E(mypy): trainer.loss.backward(): trainer.loss shares the tape that self.loss.backward(wrt=self.model) consumed on line {-60}; trace again [tapegrad-tape]


def reject_a_method_called_twice() -> None:
    trainer = Trainer()
    trainer.step()
    trainer.step()  # E(mypy): trainer.step(): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-66}; trace again [tapegrad-tape]


def reject_an_attribute_by_another_name() -> None:
    trainer = Trainer()
    same = trainer
    same.loss.backward()
    trainer.loss.backward()  # E(mypy): trainer.loss.backward(): trainer.loss shares the tape that same.loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_local_name_of_an_attribute() -> None:
    trainer = Trainer()
    loss = trainer.loss
    trainer.loss.backward()
    loss * 2.0  # E(mypy): loss * 2.0: loss shares the tape that trainer.loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_method_that_takes_the_loss() -> None:
    trainer = Trainer()
    trainer.step_of(trainer.loss)
    trainer.step()  # E(mypy): trainer.step(): self.loss shares the tape that loss.backward(wrt=self.model) consumed on line {-83}; trace again [tapegrad-tape]


def reject_a_cached_property() -> None:
    trainer = Trainer()
    trainer.kept.backward()
    trainer.kept.backward()  # E(mypy): trainer.kept.backward(): trainer.kept was consumed by trainer.kept.backward() on line {-1}; trace again [tapegrad-tape]


def reject_an_inherited_method() -> None:
    trainer = Doubled()
    trainer.step()
    trainer.step()  # E(mypy): trainer.step(): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-98}; trace again [tapegrad-tape]


def reject_a_method_of_a_superclass() -> None:
    Doubled().run()  # E(mypy): Doubled().run(): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-102}; trace again [tapegrad-tape]


def reject_a_field_of_a_dataclass() -> None:
    output = make_output()
    output.loss.backward()
    output.logits.mean()  # E(mypy): output.logits.mean(): output.logits shares the tape that output.loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_replaced_dataclass() -> None:
    output = make_output()
    changed = replace(output, logits=output.logits * 2.0)
    output.loss.backward()
    changed.loss.backward()  # E(mypy): changed.loss.backward(): changed.loss shares the tape that output.loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_unpacked_match() -> None:
    match make_output():
        case Output(loss=loss, logits=logits):
            loss.backward()
            logits.sum().backward()  # E(mypy): logits.sum(): logits shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_class_attribute() -> None:
    class Shared:
        loss = x.trace().sum()

    Shared.loss.backward()
    Shared.loss.backward()  # E(mypy): Shared.loss.backward(): Shared.loss was consumed by Shared.loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_an_object_in_a_list() -> None:
    trainers = [Trainer()]
    trainers[0].step()
    trainers[0].step()  # E(mypy): trainers[0].step(): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-136}; trace again [tapegrad-tape]


def reject_a_bound_method_of_an_object() -> None:
    trainer = Trainer()
    step = trainer.step
    step()
    step()  # E(mypy): step(): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-143}; trace again [tapegrad-tape]


def reject_a_protocol_that_steps_twice() -> None:
    run_twice(Trainer())  # E(mypy): run_twice(Trainer()): self.loss was consumed by self.loss.backward(wrt=self.model) on line {-147}; trace again [tapegrad-tape]


def reject_a_layer_that_keeps_its_input() -> None:
    class Keeping(nn.Module):
        def __init__(self) -> None:
            self.kept: list[Tensor[Shape[Any, Any], OwnedTape]] = []

        def forward(self, a: Tensor[Shape[Any, Any], OwnedTape]) -> Tensor[Shape[Any, Any], OwnedTape]:
            self.kept.append(a)
            return a * 2.0

    layer = Keeping()
    layer(x.trace()).sum().backward()
    layer.kept[0].sum()  # E(mypy): layer.kept[0].sum(): layer.kept[0] shares the tape that layer(x.trace()).sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_a_renewed_attribute() -> None:
    trainer = Trainer()
    for _ in range(2):
        trainer.step()
        trainer.renew()


def accept_a_computed_property() -> None:
    trainer = Trainer()
    trainer.fresh.backward()
    trainer.fresh.backward()


def accept_a_careful_subclass() -> None:
    trainer = Careful()
    trainer.step()
    trainer.step()


def accept_two_objects() -> None:
    first, second = Trainer(), Trainer()
    first.step()
    second.step()


def accept_a_method_that_reads() -> None:
    trainer = Trainer()
    before = trainer.value()
    trainer.step()
    assert trainer.value() == before


def accept_objects_in_a_list() -> None:
    for trainer in [Trainer(), Trainer()]:
        trainer.step()


def accept_an_output_for_each_pass() -> None:
    for _ in range(2):
        output = make_output()
        output.loss.backward()
        assert output.logits.shape == (3, 2)


def accept_a_layer_of_the_users() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            self.inner = nn.Linear(5, 2, rng=0)

        def forward(self, a: Tensor[Shape[Any, Any], OwnedTape]) -> Tensor[Shape[Any, Any], OwnedTape]:
            return self.inner(a) * 0.5

    layer = Scaled()
    layer(x.trace()).sum().backward()
    layer(x.trace()).sum().backward()


def accept_a_target_without_a_tape() -> None:
    target: Tensor[Shape[Any, Any], NoneTape] = tg.ones((3, 2))
    model = nn.Linear(5, 2, rng=0)
    for _ in range(2):
        tg.mse(model(x.trace()), target).backward()
