"""Training frameworks: callbacks, base classes, mixins, hooks, registries, metrics, states and context managers."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal as L
from typing import Self

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]
Batch = Tensor[Shape[L[3], L[5]], NoneTape]
Taped = Tensor[Shape[L[3], L[2]], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)
opt = optim.SGD(model, lr=0.001)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def batches() -> Iterator[Batch]:
    for _ in range(3):
        yield x


@dataclass
class State:
    loss: Scalar
    step: int = 0
    logs: dict[str, float] = field(default_factory=dict)


class Callback:
    def on_step_end(self, state: State) -> None: ...


class LogLoss(Callback):
    def on_step_end(self, state: State) -> None:
        state.logs["loss"] = state.loss.item()


class GradientNorm(Callback):
    def on_step_end(self, state: State) -> None:
        state.logs["norm"] = state.loss.backward(wrt=model).norm()


class Trainer:
    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self.callbacks = list(callbacks)

    def fit(self, data: Iterable[Batch]) -> None:
        for step, batch in enumerate(data):
            state = State(model(batch.trace()).sum(), step)
            opt.step(state.loss.backward(wrt=model))
            for callback in self.callbacks:
                callback.on_step_end(state)  # E(mypy): callback.on_step_end(state): state.loss was consumed by state.loss.backward(wrt=model) on line {-2}; trace again [tapegrad-tape]


def reject_a_callback_that_measures_gradients() -> None:
    Trainer([LogLoss(), GradientNorm()]).fit(batches())  # E(mypy): Trainer(...).fit(batches()): state.loss was consumed by state.loss.backward(wrt=model) on line {-6}; trace again [tapegrad-tape]


def accept_callbacks_that_log() -> None:
    Trainer([LogLoss(), LogLoss()]).fit(batches())


class Task:
    def __init__(self) -> None:
        self.output = model(x.trace())

    def training_step(self) -> None:
        opt.step(self.output.sum().backward(wrt=model))


class TaskThatRunsAgain(Task):
    def training_step(self) -> None:
        super().training_step()
        self.output = model(x.trace())
        opt.step((self.output * self.output).mean().backward(wrt=model))


def reject_a_penalty_after_the_step_of_the_base() -> None:
    class TaskWithPenalty(Task):
        def training_step(self) -> None:
            super().training_step()
            opt.step((self.output * self.output).mean().backward(wrt=model))  # E(mypy): self.output * self.output: self.output was consumed by self.output.sum().backward(wrt=model) on line {-14}; trace again [tapegrad-tape]

    TaskWithPenalty().training_step()


def accept_a_penalty_after_a_new_forward_pass() -> None:
    task = TaskThatRunsAgain()
    task.training_step()


class Template:
    def fit(self) -> None:
        for batch in batches():
            output = model(batch.trace())
            opt.step(self.objective(output).backward(wrt=model))  # E(mypy): self.objective(output): self.last shares the tape that self.objective(...).backward(...) consumed on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
            self.after(output)

    def objective(self, output: Taped) -> Scalar:
        return output.sum()

    def after(self, output: Taped) -> None: ...


class Smoothness(Template):
    def __init__(self) -> None:
        self.last: Taped | None = None

    def objective(self, output: Taped) -> Scalar:
        if self.last is None:
            return output.sum()
        return tg.mse(output, self.last)

    def after(self, output: Taped) -> None:
        self.last = output


class SmoothnessOfValues(Template):
    def __init__(self) -> None:
        self.last: Tensor[Shape[L[3], L[2]], NoneTape] | None = None

    def objective(self, output: Taped) -> Scalar:
        if self.last is None:
            return output.sum()
        return tg.mse(output, self.last)

    def after(self, output: Taped) -> None:
        self.last = output.detach()


def reject_a_hook_that_keeps_the_last_output() -> None:
    Smoothness().fit()  # E(mypy): Smoothness().fit(): self.last shares the tape that self.objective(...).backward(...) consumed on line {-36}; trace again [tapegrad-tape]


def accept_a_hook_that_keeps_the_last_values() -> None:
    SmoothnessOfValues().fit()


class RunningMean:
    def __init__(self) -> None:
        self.total: Scalar | None = None
        self.count = 0

    def update(self, loss: Scalar) -> None:
        self.total = loss if self.total is None else self.total + loss
        self.count += 1


class MeanOfNumbers:
    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def update(self, loss: Scalar) -> None:
        self.total += loss.item()
        self.count += 1


def reject_a_metric_that_keeps_tapes() -> None:
    metric = RunningMean()
    for batch in batches():
        loss = model(batch.trace()).sum()
        metric.update(loss)  # E(mypy): metric.update(loss): self.total shares the tape that loss.backward(wrt=model) consumed on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        opt.step(loss.backward(wrt=model))


def accept_a_metric_of_numbers() -> None:
    metric = MeanOfNumbers()
    for batch in batches():
        loss = model(batch.trace()).sum()
        metric.update(loss)
        opt.step(loss.backward(wrt=model))


class HoldsLoss:
    def __init__(self) -> None:
        self.loss = new_loss()

    def finish(self) -> None:
        opt.step(self.loss.backward(wrt=model))


class Clips:
    loss: Scalar

    def clip(self) -> Gradients:
        return self.loss.backward(wrt=model).clip_norm(1.0)


class ClippedTrainer(Clips, HoldsLoss):
    def run(self) -> None:
        opt.step(self.clip())


def reject_a_mixin_and_its_base() -> None:
    trainer = ClippedTrainer()
    trainer.run()
    trainer.finish()  # E(mypy): trainer.finish(): self.loss was consumed by self.loss.backward(wrt=model) on line {-11}; trace again [tapegrad-tape]


def accept_a_mixin() -> None:
    trainer = ClippedTrainer()
    trainer.run()


class Criterion:
    def __init__(self) -> None:
        self.parts: dict[str, Scalar] = {}

    def __call__(self, output: Taped) -> Scalar:
        self.parts = {"data": output.sum(), "penalty": (output * output).mean()}
        return self.parts["data"] + self.parts["penalty"]


def reject_a_part_of_a_criterion() -> None:
    criterion = Criterion()
    opt.step(criterion(model(x.trace())).backward(wrt=model))
    norm = criterion.parts["penalty"].backward(wrt=model).norm()  # E(mypy): criterion.parts[...].backward(...): criterion.parts['penalty'] shares the tape that criterion(...).backward(...) consumed on line {-1}; trace again [tapegrad-tape]
    assert norm > 0.0


def accept_the_value_of_a_part() -> None:
    criterion = Criterion()
    opt.step(criterion(model(x.trace())).backward(wrt=model))
    assert criterion.parts["penalty"].item() > 0.0


class Accelerator:
    def __init__(self) -> None:
        self.steps = 0

    @contextlib.contextmanager
    def step(self, batch: Batch) -> Iterator[Scalar]:
        loss = model(batch.trace()).sum()
        yield loss
        opt.step(loss.backward(wrt=model))
        self.steps += 1


def reject_backward_inside_a_step() -> None:
    accelerator = Accelerator()
    with accelerator.step(x) as loss:  # E(mypy): end of with accelerator.step(x): loss was consumed by loss.backward(wrt=model) on line {+1}; trace again [tapegrad-tape]
        loss.backward(wrt=model)


def accept_reads_inside_a_step() -> None:
    accelerator = Accelerator()
    for batch in batches():
        with accelerator.step(batch) as loss:
            assert loss.item() == loss.item()


class Timed:
    """A decorator with a state."""

    def __init__(self, function: Callable[[Scalar], None]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, loss: Scalar) -> None:
        self.calls += 1
        self.function(loss)


@Timed
def timed_step(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model))


def reject_a_timed_step() -> None:
    h = model(x.trace())
    timed_step(h.sum())
    timed_step(h.mean())  # E(mypy): h.mean(): h shares the tape that loss.backward(wrt=model) consumed on line {-6}; trace again [tapegrad-tape]


def accept_a_timed_step() -> None:
    for batch in batches():
        timed_step(model(batch.trace()).sum())


STRATEGIES: dict[str, Callable[[Scalar], None]] = {}


def register(name: str) -> Callable[[Callable[[Scalar], None]], Callable[[Scalar], None]]:
    def decorate(function: Callable[[Scalar], None]) -> Callable[[Scalar], None]:
        STRATEGIES[name] = function
        return function

    return decorate


@register("plain")
def plain_step(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model))


@register("clipped")
def clipped_step(loss: Scalar) -> None:
    opt.step(loss.backward(wrt=model).clip_norm(1.0))


def reject_two_strategies_of_a_registry() -> None:
    loss = new_loss()
    for name in ("plain", "clipped"):
        STRATEGIES[name](loss)  # E(mypy): STRATEGIES[name](loss): loss was consumed by loss.backward(wrt=model) on line {-11}; trace again [tapegrad-tape]


def accept_a_strategy_of_a_registry() -> None:
    for name in ("plain", "clipped"):
        STRATEGIES[name](new_loss())


class Hooked:
    def __init__(self) -> None:
        self.hooks: list[Callable[[Taped], None]] = []

    def __call__(self, batch: Batch) -> Taped:
        output = model(batch.trace())
        for hook in self.hooks:
            hook(output)
        return output


def reject_an_output_captured_by_a_hook() -> None:
    captured: list[Taped] = []
    hooked = Hooked()
    hooked.hooks.append(captured.append)
    opt.step(hooked(x).sum().backward(wrt=model))
    opt.step(captured[0].mean().backward(wrt=model))  # E(mypy): captured[0].mean(): captured[0] shares the tape that hooked(x).sum().backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def accept_an_output_captured_by_a_hook() -> None:
    captured: list[Taped] = []
    hooked = Hooked()
    hooked.hooks.append(captured.append)
    for batch in batches():
        captured.clear()
        loss = hooked(batch).sum()
        opt.step((loss + captured[0].mean()).backward(wrt=model))


@dataclass
class Prediction:
    logits: Taped

    def loss(self) -> Scalar:
        return self.logits.sum()

    def entropy(self) -> Scalar:
        return (self.logits * self.logits).mean()

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return cls(model(batch.trace()))


def reject_two_methods_of_a_prediction() -> None:
    prediction = Prediction.of(x)
    opt.step(prediction.loss().backward(wrt=model))
    opt.step(prediction.entropy().backward(wrt=model))  # E(mypy): prediction.entropy(): prediction was consumed by prediction.loss().backward(wrt=model) on line {-1}; trace again [tapegrad-tape]


def accept_the_sum_of_two_methods() -> None:
    for batch in batches():
        prediction = Prediction.of(batch)
        opt.step((prediction.loss() + prediction.entropy()).backward(wrt=model))


class Phase(Enum):
    FORWARD = auto()
    STEP = auto()
    PENALTY = auto()
    DONE = auto()


def reject_a_machine_of_phases() -> None:
    phase, output = Phase.FORWARD, model(x.trace())
    while phase is not Phase.DONE:
        match phase:
            case Phase.FORWARD:
                phase = Phase.STEP
            case Phase.STEP:
                opt.step(output.sum().backward(wrt=model))  # E(mypy): output.sum(): output was consumed by output.sum().backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
                phase = Phase.PENALTY
            case Phase.PENALTY:
                opt.step(output.mean().backward(wrt=model))  # E(mypy): output.mean(): output was consumed by output.sum().backward(wrt=model) on line {-3}; trace again [tapegrad-tape]
                phase = Phase.DONE


def accept_a_machine_of_phases() -> None:
    phase, loss = Phase.FORWARD, new_loss()
    while phase is not Phase.DONE:
        if phase is Phase.FORWARD:
            loss = new_loss()
            phase = Phase.STEP
        elif phase is Phase.STEP:
            opt.step(loss.backward(wrt=model))
            loss = new_loss()
            phase = Phase.DONE


@dataclass
class Terms:
    data: Scalar
    penalty: Scalar
    total: Scalar = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.data + self.penalty


def reject_a_term_after_the_total() -> None:
    terms = Terms(new_loss(), new_loss())
    opt.step(terms.total.backward(wrt=model))
    opt.step(terms.penalty.backward(wrt=model))  # E(mypy): terms.penalty.backward(wrt=model): terms.penalty shares the tape that terms.total.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def accept_the_total_of_the_terms() -> None:
    terms = Terms(new_loss(), new_loss())
    opt.step(terms.total.backward(wrt=model))
    assert terms.penalty.item() == terms.penalty.item()


class Heads:
    """Iterates over the losses of one output."""

    def __init__(self, output: Taped) -> None:
        self.output = output
        self.count = 0

    def __iter__(self) -> Iterator[Scalar]:
        return self

    def __next__(self) -> Scalar:
        if self.count == 2:
            raise StopIteration
        self.count += 1
        return (self.output * float(self.count)).sum()


def reject_an_iterator_over_heads() -> None:
    for loss in Heads(model(x.trace())):  # E(mypy): Heads(model(x.trace())): self.output shares the tape that loss.backward(wrt=model) consumed on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        opt.step(loss.backward(wrt=model))


def accept_the_sum_over_heads() -> None:
    heads = Heads(model(x.trace()))
    total = next(heads)
    for loss in heads:
        total = total + loss
    opt.step(total.backward(wrt=model))


class Experiment(ABC):
    @abstractmethod
    def losses(self, batch: Batch) -> list[Scalar]: ...

    def run(self) -> None:
        for batch in batches():
            assert sum(loss.backward(wrt=model).norm() for loss in self.losses(batch)) > 0.0


class OneTrunk(Experiment):
    def losses(self, batch: Batch) -> list[Scalar]:
        output = model(batch.trace())
        return [output.sum(), output.mean()]


class TwoPasses(Experiment):
    def losses(self, batch: Batch) -> list[Scalar]:
        return [model(batch.trace()).sum(), model(batch.trace()).mean()]


def reject_an_experiment_with_one_trunk() -> None:
    OneTrunk().run()  # E(mypy): OneTrunk().run(): loss was consumed by loss.backward(wrt=model) on line {-15}; trace again [tapegrad-tape]


def accept_an_experiment_with_two_passes() -> None:
    TwoPasses().run()


def _stops(loss: Scalar) -> bool:
    return loss.item() > 1e9


def _steps(loss: Scalar) -> bool:
    opt.step(loss.backward(wrt=model))
    return False


def reject_callbacks_that_vote() -> None:
    loss = new_loss()
    assert not any(callback(loss) for callback in (_steps, _stops, _steps))  # E(mypy): callback(loss): loss was consumed by loss.backward(wrt=model) on line {-6}; trace again [tapegrad-tape]


def accept_callbacks_that_vote() -> None:
    loss = new_loss()
    assert not any(callback(loss) for callback in (_stops, _stops, _steps))


def reject_losses_by_attribute_name() -> None:
    terms = Terms(new_loss(), new_loss())
    for name in ("total", "data"):
        loss: Scalar = getattr(terms, name)
        opt.step(loss.backward(wrt=model))  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


class Optimizing:
    @staticmethod
    def step(loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model))

    def run(self, losses: list[Scalar]) -> None:
        for loss in losses:
            self.step(loss)


def reject_a_static_method_for_each_sibling() -> None:
    output = model(x.trace())
    Optimizing().run([output.sum(), output.mean()])  # E(mypy): Optimizing().run(...): loss was consumed by loss.backward(wrt=model) on line {-9}; trace again [tapegrad-tape]


def diverge() -> None:
    raise ValueError


@contextlib.contextmanager
def stepping_on_exit(loss: Scalar) -> Iterator[None]:
    try:
        yield
    finally:
        opt.step(loss.backward(wrt=model))


def reject_a_block_that_steps_in_its_finally() -> None:
    loss = new_loss()
    try:
        with stepping_on_exit(loss):
            diverge()
    except ValueError:
        opt.step(loss.backward(wrt=model))  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-9}; trace again [tapegrad-tape]


def accept_a_block_that_steps_in_its_finally() -> None:
    loss = new_loss()
    with contextlib.suppress(ValueError), stepping_on_exit(loss):
        diverge()
    loss = new_loss()
    opt.step(loss.backward(wrt=model))
