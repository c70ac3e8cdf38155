"""Algorithms: reinforcement learning, meta-learning, teachers, sharpness-aware steps, pipelines of generators, async data."""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal as L
from typing import NamedTuple

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]
Batch = Tensor[Shape[L[3], L[5]], NoneTape]
Taped = Tensor[Shape[L[3], L[2]], OwnedTape]

x = tg.ones((3, 5))
y = tg.ones((3, 2))
model = nn.Linear(5, 2, rng=0)
teacher = nn.Linear(5, 2, rng=1)
head = nn.Linear(2, 1, rng=2)
opt = optim.SGD(model, lr=0.001)
opt_head = optim.SGD(head, lr=0.001)


def batches() -> Iterator[Batch]:
    for _ in range(3):
        yield x


class Transition(NamedTuple):
    log_probability: Taped
    reward: float


class Rollouts:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.transitions: list[Transition] = []

    def push(self, observation: Batch, reward: float) -> None:
        self.transitions.append(Transition(tg.log_softmax(model(observation.trace()), axis=1), reward))

    def __iter__(self) -> Iterator[Transition]:
        return iter(self.transitions)

    def __len__(self) -> int:
        return len(self.transitions)


def reject_a_rollout_that_is_replayed() -> None:
    rollouts = Rollouts(8)
    for step in range(3):
        rollouts.push(x, float(step))
    for _ in range(2):
        for one in rollouts:
            assert (one.log_probability.sum() * -one.reward).backward(wrt=model).norm() >= 0.0  # E(mypy): one.log_probability.sum(): one.log_probability was consumed by (... * ...).backward(...) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_a_rollout_that_is_used_once() -> None:
    for _ in range(2):
        rollouts = Rollouts(8)
        for step in range(3):
            rollouts.push(x, float(step))
        total = (model(x.trace()) * 0.0).sum()
        for one in rollouts:
            total = total - one.log_probability.sum() * one.reward
        opt.step(total.backward(wrt=model))


def reject_ppo_with_one_forward_pass() -> None:
    new = tg.log_softmax(model(x.trace()), axis=1)
    old = new.detach()
    for _ in range(4):
        ratio = tg.exp(new - old)  # E(mypy): new - old: new shares the tape that (-tg.clamp(ratio, 0.8, 1.2).mean()).backward(...) consumed on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        opt.step((-tg.clamp(ratio, 0.8, 1.2).mean()).backward(wrt=model))


def accept_ppo_with_a_forward_pass_for_each_epoch() -> None:
    old = tg.log_softmax(model(x), axis=1)
    for _ in range(4):
        new = tg.log_softmax(model(x.trace()), axis=1)
        opt.step((-tg.clamp(tg.exp(new - old), 0.8, 1.2).mean()).backward(wrt=model))


def reject_returns_with_a_tape() -> None:
    values = [head(model(batch.trace())).sum() for batch in batches()]
    discounted = values[-1]
    for value in reversed(values[:-1]):
        discounted = value + discounted * 0.9  # E(mypy): discounted * 0.9: discounted was consumed by discounted.backward(wrt=head) on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        assert discounted.backward(wrt=head).norm() > 0.0


def accept_returns_of_numbers() -> None:
    values = [head(model(batch.trace())).sum() for batch in batches()]
    discounted, total = 0.0, values[0] * 0.0
    for value in reversed(values):
        discounted = 1.0 + discounted * 0.9
        total = total + (value - discounted) ** 2.0
    opt_head.step(total.backward(wrt=head))


class ActorCritic:
    def __call__(self, observation: Batch) -> tuple[Taped, Tensor[Shape[L[3], L[1]], OwnedTape]]:
        features = model(observation.trace())
        return features, head(features)


def reject_a_critic_after_its_actor() -> None:
    agent = ActorCritic()
    for batch in batches():
        policy, value = agent(batch)
        opt.step(policy.sum().backward(wrt=model))
        opt_head.step((value * value).mean().backward(wrt=head))  # E(mypy): value * value: value shares the tape that policy.sum().backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def accept_a_critic_with_its_actor() -> None:
    agent = ActorCritic()
    for batch in batches():
        policy, value = agent(batch)
        loss = policy.sum() + (value * value).mean()
        opt.step(loss.backward(wrt=(model,)))


def reject_consistency_with_a_taped_teacher() -> None:
    inputs = x.trace()
    student, target = model(inputs), teacher(inputs)
    opt.step(tg.mse(student, y).backward(wrt=model))
    opt.step(tg.mse(target, y).backward(wrt=teacher))  # E(mypy): tg.mse(target, y): target shares the tape that tg.mse(student, y).backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


class Averaged:
    """A teacher: the moving average of the student."""

    def __init__(self, decay: float) -> None:
        self.decay = decay

    def update(self) -> None:
        teacher.weight.assign(teacher.weight.detach() * self.decay + model.weight.detach() * (1.0 - self.decay))

    def __call__(self, batch: Batch) -> Tensor[Shape[L[3], L[2]], NoneTape]:
        return teacher(batch)


def accept_an_averaged_teacher() -> None:
    average = Averaged(0.9)
    for batch in batches():
        loss = tg.mse(model(batch.trace()), average(batch))
        opt.step(loss.backward(wrt=model))
        average.update()


def adapt_on(batch: Batch, steps: int) -> list[Gradients]:
    return [model(batch.trace()).sum().backward(wrt=model) for _ in range(steps)]


def reject_inner_steps_over_one_support_loss() -> None:
    def adapt(loss: Scalar, steps: int) -> list[Gradients]:
        return [loss.backward(wrt=model) for _ in range(steps)]  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]

    assert len(adapt(model(x.trace()).sum(), 2)) == 2


def accept_inner_steps_with_a_pass_each() -> None:
    assert len(adapt_on(x, 2)) == 2


def reject_tasks_that_are_cycled() -> None:
    tasks = [model(batch.trace()).sum() for batch in batches()]
    for task in itertools.islice(itertools.cycle(tasks), 5):
        assert task.backward(wrt=model).norm() > 0.0  # E(mypy): task.backward(wrt=model): task was consumed by task.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_batches_that_are_cycled() -> None:
    for batch in itertools.islice(itertools.cycle(list(batches())), 5):
        opt.step(model(batch.trace()).sum().backward(wrt=model))


def reject_accumulation_that_is_not_reset() -> None:
    total: Scalar | None = None
    for number, batch in enumerate(itertools.chain(batches(), batches()), 1):
        loss = model(batch.trace()).sum() / 2.0
        total = loss if total is None else total + loss  # E(mypy): total + loss: total was consumed by total.backward(wrt=model) on line {+2}, in an earlier iteration; trace again [tapegrad-tape]
        if number % 2 == 0:
            opt.step(total.backward(wrt=model))


def accept_accumulation_that_is_reset() -> None:
    total: Scalar | None = None
    for number, batch in enumerate(itertools.chain(batches(), batches()), 1):
        loss = model(batch.trace()).sum() / 2.0
        total = loss if total is None else total + loss
        if number % 2 == 0:
            opt.step(total.backward(wrt=model))
            total = None


def accept_accumulation_into_gradients() -> None:
    grads = Gradients()
    for batch in batches():
        grads = model(batch.trace(grads=grads)).sum().backward(wrt=model)
    opt.step(grads)


def reject_a_scaled_loss_that_is_tried_again() -> None:
    loss, scale = model(x.trace()).sum(), 8.0
    while True:
        grads = (loss * scale).backward(wrt=model)  # E(mypy): loss * scale: loss was consumed by (loss * scale).backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
        if grads.norm() < 1.0:
            break
        scale = scale / 2.0


def accept_a_scaled_loss_that_is_computed_again() -> None:
    scale = 8.0
    for _ in range(3):
        grads = (model(x.trace()).sum() * scale).backward(wrt=model)
        if grads.is_finite():
            break
        scale = scale / 2.0


class SharpnessAware:
    def __init__(self, radius: float) -> None:
        self.radius = radius

    def first(self, loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model).clip_norm(self.radius))

    def second(self, loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model))

    def step(self, closure: Callable[[], Scalar]) -> None:
        self.first(closure())
        self.second(closure())


def reject_the_second_step_with_the_first_loss() -> None:
    sam = SharpnessAware(0.05)
    for batch in batches():
        loss = model(batch.trace()).sum()
        sam.first(loss)
        sam.second(loss)  # E(mypy): sam.second(loss): loss was consumed by loss.backward(wrt=model) on line {-15}; trace again [tapegrad-tape]


def reject_a_closure_that_returns_one_loss() -> None:
    loss = model(x.trace()).sum()
    SharpnessAware(0.05).step(lambda: loss)  # E(mypy): SharpnessAware(0.05).step(...): loss was consumed by loss.backward(wrt=model) on line {-20}; trace again [tapegrad-tape]


def accept_a_closure_that_runs_the_model() -> None:
    sam = SharpnessAware(0.05)
    for _ in batches():
        sam.step(lambda: model(x.trace()).sum())


def outputs_of(data: Iterable[Batch]) -> Iterator[Taped]:
    for batch in data:
        yield model(batch.trace())


def two_losses_of(outputs: Iterable[Taped]) -> Iterator[Scalar]:
    for output in outputs:
        yield output.sum()
        yield output.mean()


def one_loss_of(outputs: Iterable[Taped]) -> Iterator[Scalar]:
    for output in outputs:
        yield output.sum() + output.mean()


def reject_a_pipeline_with_two_losses() -> None:
    for loss in two_losses_of(outputs_of(batches())):
        assert loss.backward(wrt=model).norm() > 0.0  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_a_pipeline_with_one_loss() -> None:
    for loss in one_loss_of(outputs_of(batches())):
        opt.step(loss.backward(wrt=model))


def chunks(output: Taped, count: int) -> Iterator[Scalar]:
    for index in range(count):
        yield output[index].sum()


def reject_the_chunks_of_one_output() -> None:
    for chunk in chunks(model(x.trace()), 3):
        opt.step(chunk.backward(wrt=model))  # E(mypy): chunk.backward(wrt=model): chunk was consumed by chunk.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


async def stream() -> AsyncIterator[Batch]:
    for batch in batches():
        await asyncio.sleep(0)
        yield batch


async def losses_of_stream() -> AsyncIterator[Scalar]:
    async for batch in stream():
        output = model(batch.trace())
        yield output.sum()
        yield (output * output).mean()


def reject_a_stream_of_siblings() -> None:
    async def train() -> None:
        async for loss in losses_of_stream():
            assert loss.backward(wrt=model).norm() > 0.0  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]

    asyncio.run(train())


def accept_a_stream_of_batches() -> None:
    async def train() -> None:
        async for batch in stream():
            opt.step(model(batch.trace()).sum().backward(wrt=model))

    asyncio.run(train())


def reject_an_async_queue() -> None:
    async def train() -> None:
        queue: asyncio.Queue[Scalar] = asyncio.Queue()
        loss = model(x.trace()).sum()
        await queue.put(loss)
        opt.step((await queue.get()).backward(wrt=model))
        opt.step(loss.backward(wrt=model))  # E(mypy): loss.backward(wrt=model): loss shares the tape that (await queue.get()).backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]

    asyncio.run(train())


async def _step(loss: Scalar) -> None:
    await asyncio.sleep(0)
    opt.step(loss.backward(wrt=model))


def reject_a_task_and_a_step() -> None:
    async def train() -> None:
        loss = model(x.trace()).sum()
        task = asyncio.create_task(_step(loss))
        await task
        await _step(loss)

    asyncio.run(train())  # E(mypy): train(): loss was consumed by loss.backward(wrt=model) on line {-10}; trace again [tapegrad-tape]


def accept_a_task_for_each_batch() -> None:
    async def train() -> None:
        async for batch in stream():
            task = asyncio.create_task(_step(model(batch.trace()).sum()))
            await task

    asyncio.run(train())


def reject_critic_steps_over_one_fake() -> None:
    fake = model(x.trace())
    for _ in range(5):
        opt_head.step(head(fake).mean().backward(wrt=head))  # E(mypy): head(fake): fake was consumed by head(fake).mean().backward(wrt=head) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
    opt.step((-head(fake).mean()).backward(wrt=model))  # E(mypy): head(fake): fake was consumed by head(fake).mean().backward(wrt=head) on line {-1}; trace again [tapegrad-tape]


def accept_critic_steps_over_detached_fakes() -> None:
    for _ in range(5):
        fake = model(x)
        opt_head.step(head(fake.trace()).mean().backward(wrt=head))
    opt.step((-head(model(x.trace())).mean()).backward(wrt=model))


@dataclass(frozen=True)
class Bound:
    reconstruction: Scalar
    divergence: Scalar

    def total(self, weight: float) -> Scalar:
        return self.reconstruction + self.divergence * weight


def bound(batch: Batch) -> Bound:
    code = model(batch.trace())
    return Bound(reconstruction=tg.mse(code, y), divergence=(code * code).mean())


def reject_the_terms_of_a_bound() -> None:
    one = bound(x)
    for term in (one.reconstruction, one.divergence):
        opt.step(term.backward(wrt=model))  # E(mypy): term.backward(wrt=model): term was consumed by term.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_the_total_of_a_bound() -> None:
    for weight in (0.0, 0.5, 1.0):
        opt.step(bound(x).total(weight).backward(wrt=model))


def reject_keys_with_a_tape() -> None:
    keys: deque[Taped] = deque(maxlen=2)
    for batch in batches():
        query = model(batch.trace())
        keys.append(query)
        loss = sum(((query * key).sum() for key in keys), start=query.sum())  # E(mypy): query * key: key shares the tape that loss.backward(wrt=model) consumed on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        opt.step(loss.backward(wrt=model))


def accept_detached_keys() -> None:
    keys: deque[Tensor[Shape[L[3], L[2]], NoneTape]] = deque(maxlen=2)
    for batch in batches():
        query = model(batch.trace())
        keys.append(query.detach())
        loss = sum(((query * key).sum() for key in keys), start=query.sum())
        opt.step(loss.backward(wrt=model))


@dataclass(frozen=True)
class Memory:
    hidden: Taped
    steps: int = 0


def reject_a_memory_that_is_carried_over() -> None:
    memory = Memory(model(x.trace()))
    for _ in range(3):
        memory = replace(memory, hidden=tg.tanh(memory.hidden), steps=memory.steps + 1)  # E(mypy): tg.tanh(memory.hidden): memory.hidden was consumed by memory.hidden.sum().backward(wrt=model) on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        opt.step(memory.hidden.sum().backward(wrt=model))


def accept_a_memory_that_is_detached() -> None:
    memory = Memory(model(x.trace()))
    for _ in range(3):
        memory = replace(memory, hidden=model(x.trace()) + memory.hidden.detach(), steps=memory.steps + 1)
        opt.step(memory.hidden.sum().backward(wrt=model))


def reject_a_schedule_of_named_losses() -> None:
    functions: dict[str, Callable[[Taped], Scalar]] = {"sum": lambda h: h.sum(), "mean": lambda h: h.mean()}
    output = model(x.trace())
    losses = {name: function(output) for name, function in functions.items()}
    for name, weight in {"sum": 1.0, "mean": 0.5}.items():
        opt.step((losses[name] * weight).backward(wrt=model))  # E(mypy): losses[name] * weight: losses[name] shares the tape that (... * ...).backward(...) consumed on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_gradients_of_each_example() -> None:
    norms = [row.sum().backward(wrt=model).norm() for row in tg.unstack(model(x.trace()))]  # E(mypy): row.sum(): row was consumed by row.sum().backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
    assert len(norms) == 3


def accept_gradients_of_each_example() -> None:
    norms = [model(x.trace()).sum().backward(wrt=model).norm() for _ in range(3)]
    assert len(norms) == 3


def reject_langevin_steps_on_a_tape() -> None:
    sample = x.trace()
    for _ in range(3):
        grads = model(sample).sum().backward(wrt=sample)
        sample = sample - grads[sample] * 0.1  # E(mypy): sample - grads[sample] * 0.1: sample was consumed by model(sample).sum().backward(wrt=sample) on line {-1}; trace again [tapegrad-tape]


def accept_langevin_steps() -> None:
    sample = x
    for _ in range(3):
        traced = sample.trace()
        grads = model(traced).sum().backward(wrt=traced)
        sample = traced.detach() - grads[traced] * 0.1
