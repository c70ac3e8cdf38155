"""Training loops: GANs, Siamese networks, several losses, truncated backpropagation, callbacks."""

from collections.abc import Callable, Iterator
from typing import Any

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]
Batch = Tensor[Shape[Any, Any], NoneTape]
Taped = Tensor[Shape[Any, Any], OwnedTape]

x = tg.ones((3, 5))
y = tg.ones((3, 2))
z = tg.ones((3, 4))
model = nn.Linear(5, 2, rng=0)
generator = nn.Linear(4, 5, rng=1)
critic = nn.Linear(5, 1, rng=2)
head = nn.Linear(2, 1, rng=3)
opt = optim.SGD(model, lr=0.001)
opt_generator = optim.SGD(generator, lr=0.001)
opt_critic = optim.SGD(critic, lr=0.001)


def batches() -> Iterator[Batch]:
    for _ in range(3):
        yield x


class Logger:
    """Keeps numbers."""

    def __init__(self) -> None:
        self.numbers: list[float] = []

    def log(self, loss: Tensor) -> None:
        self.numbers.append(float(loss.detach().item()))


def reject_a_gan_that_uses_its_fakes_twice() -> None:
    fake = generator(z.trace())
    loss_of_critic = critic(fake).mean() - critic(x).mean()
    opt_critic.step(loss_of_critic.backward(wrt=critic))
    loss_of_generator = -critic(fake).mean()  # E(mypy): critic(fake): fake shares the tape that loss_of_critic.backward(wrt=critic) consumed on line {-1}; trace again [tapegrad-tape]
    opt_generator.step(loss_of_generator.backward(wrt=generator))


def reject_a_gan_whose_noise_is_traced_once() -> None:
    noise = z.trace()
    for _ in range(2):
        opt_generator.step((-critic(generator(noise)).mean()).backward(wrt=generator))  # E(mypy): generator(noise): noise was consumed by (-critic(generator(noise)).mean()).backward(...) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_siamese_network_with_two_losses() -> None:
    left, right = model(x.trace()), model((x * 0.5).trace())
    near = ((left - right) ** 2.0).sum()
    norm = (left * left).sum()
    opt.step(near.backward(wrt=model))
    opt.step(norm.backward(wrt=model))  # E(mypy): norm.backward(wrt=model): norm shares the tape that near.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_gradient_surgery_over_three_losses() -> None:
    h = model(x.trace())
    losses = [h.sum(), h.mean(), (h * h).sum()]
    grads = [loss.backward(wrt=model) for loss in losses]  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
    assert len(grads) == 3


def reject_a_multitask_loop() -> None:
    h = model(x.trace())
    for weight in (1.0, 0.5):
        task = (h * weight).sum()  # E(mypy): h * weight: h shares the tape that task.backward(wrt=model) consumed on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        task.backward(wrt=model)


def reject_truncated_backpropagation_without_detach() -> None:
    state = model(x.trace())
    for _ in range(2):
        state = tg.tanh(state)  # E(mypy): tg.tanh(state): state was consumed by state.sum().backward(wrt=model) on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        state.sum().backward(wrt=model)


def reject_a_residual_loss_after_the_data_loss() -> None:
    points = x.trace()
    u = model(points)
    data = tg.mse(u, y)
    residual = (u * u).mean()
    opt.step(data.backward(wrt=model))
    opt.step(residual.backward(wrt=model))  # E(mypy): residual.backward(wrt=model): residual shares the tape that data.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_saliency_map_after_the_step() -> None:
    a = x.trace()
    logits = model(a)
    opt.step(logits.sum().backward(wrt=model))
    logits[0, 0].backward(wrt=[a])  # E(mypy): logits[...]: logits was consumed by logits.sum().backward(wrt=model) on line {-1}; trace again [tapegrad-tape]


def reject_distillation_of_a_taped_student() -> None:
    student = model(x.trace())
    soft = tg.mse(student, y)
    hard = student.sum()
    soft.backward(wrt=model)
    (hard + student.mean()).backward(wrt=model)  # E(mypy): student.mean(): student shares the tape that soft.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_callback_that_steps() -> None:
    def on_batch(loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model))

    loss = model(x.trace()).sum()
    on_batch(loss)
    on_batch(loss)  # E(mypy): on_batch(loss): loss was consumed by loss.backward(wrt=model) on line {-4}; trace again [tapegrad-tape]


def reject_callbacks_that_all_step() -> None:
    def step(loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model))

    def penalize(loss: Scalar) -> None:
        opt.step((loss * 0.1).backward(wrt=model))

    callbacks: list[Callable[[Scalar], None]] = [step, penalize]
    loss = model(x.trace()).sum()
    for callback in callbacks:
        callback(loss)  # E(mypy): callback(loss): loss was consumed by loss.backward(wrt=model) on line {-8}; trace again [tapegrad-tape]


def reject_a_closure_for_the_optimizer() -> None:
    loss = model(x.trace()).sum()

    def closure() -> Gradients:
        return loss.backward(wrt=model)

    for _ in range(2):
        opt.step(closure())  # E(mypy): closure(): loss was consumed by loss.backward(wrt=model) on line {-3}; trace again [tapegrad-tape]


def reject_a_loss_that_is_returned_after_backward() -> None:
    def train(batch: Batch) -> Scalar:
        loss = model(batch.trace()).sum()
        opt.step(loss.backward(wrt=model))
        return loss  # E(mypy): return: loss was consumed by loss.backward(wrt=model) on line {-1}; trace again [tapegrad-tape]

    train(x)


def reject_a_best_loss_that_was_consumed() -> None:
    best = model(x.trace()).sum()
    for batch in batches():
        loss = model(batch.trace()).sum()
        loss.backward()
        if loss.item() <= best.item():
            best = loss
    best * 2.0  # E(mypy): best * 2.0: best shares the tape that loss.backward() consumed on line {-3}; trace again [tapegrad-tape]


def reject_a_loss_accumulated_over_batches() -> None:
    total = model(x.trace()).sum()
    for batch in batches():
        total = total + model(batch.trace()).sum()  # E(mypy): total + model(batch.trace()).sum(): total was consumed by total.backward(wrt=model) on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        opt.step(total.backward(wrt=model))


def reject_a_warm_up_that_consumes() -> None:
    a = x.trace()

    def warm_up() -> None:
        model(a).sum().backward()

    warm_up()
    model(a).sum().backward()  # E(mypy): model(a): a was consumed by model(a).sum().backward() on line {-3}; trace again [tapegrad-tape]


def reject_an_auxiliary_head() -> None:
    h = model(x.trace())
    main, auxiliary = head(h).sum(), h.mean()
    opt.step(main.backward(wrt=model))
    opt.step(auxiliary.backward(wrt=model))  # E(mypy): auxiliary.backward(wrt=model): auxiliary shares the tape that main.backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_actor_and_a_critic() -> None:
    features = model(x.trace())
    losses = {"actor": features.sum(), "critic": (features * features).mean()}
    opt.step(losses["actor"].backward(wrt=model))
    opt.step(losses["critic"].backward(wrt=model))  # E(mypy): losses['critic'].backward(wrt=model): losses['critic'] shares the tape that losses['actor'].backward(wrt=model) consumed on line {-1}; trace again [tapegrad-tape]


def reject_contrastive_pairs() -> None:
    anchor = model(x.trace())
    for scale in (0.5, 2.0):
        other = model((x * scale).trace())
        (anchor * other).sum().backward(wrt=model)  # E(mypy): anchor * other: anchor was consumed by (... * ...).sum().backward(...) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_second_epoch_over_stored_losses() -> None:
    stored = [model(batch.trace()).sum() for batch in batches()]
    for _ in range(2):
        for loss in stored:
            loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_schedule_of_weights() -> None:
    loss = model(x.trace()).sum()
    for weight in [1.0, 0.1, 0.01]:
        opt.step((loss * weight).backward(wrt=model))  # E(mypy): loss * weight: loss was consumed by (loss * weight).backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_a_gan() -> None:
    for _ in range(2):
        fake = generator(z)
        opt_critic.step((critic(fake.trace()).mean() - critic(x.trace()).mean()).backward(wrt=critic))
        opt_generator.step((-critic(generator(z.trace())).mean()).backward(wrt=generator))


def accept_a_siamese_network() -> None:
    for _ in range(2):
        left, right = model(x.trace()), model((x * 0.5).trace())
        near, norm = ((left - right) ** 2.0).sum(), (left * left).sum()
        opt.step((near + norm).backward(wrt=model))


def accept_gradient_surgery_that_retains() -> None:
    h = model(x.trace())
    first, second = h.sum(), h.mean()
    both = [first.backward(wrt=model, retain_tape=True), second.backward(wrt=model)]
    assert len(both) == 2


def accept_truncated_backpropagation() -> None:
    state = y
    for batch in batches():
        out = tg.tanh(model(batch.trace()) + state)
        opt.step(out.sum().backward(wrt=model))
        state = out.detach()


def accept_gradient_accumulation() -> None:
    grads = model(x.trace()).sum().backward(wrt=model)
    for batch in batches():
        grads = model(batch.trace(grads=grads)).sum().backward(wrt=model)
    opt.step(grads)


def accept_a_logger() -> None:
    logger = Logger()
    for batch in batches():
        loss = model(batch.trace()).sum()
        opt.step(loss.backward(wrt=model))
        logger.log(loss)
    assert len(logger.numbers) == 3


def accept_a_best_loss_as_a_number() -> None:
    best = float("inf")
    for batch in batches():
        loss = model(batch.trace()).sum()
        loss.backward()
        best = min(best, loss.item())
    assert best < float("inf")


def accept_an_evaluation_between_steps() -> None:
    for batch in batches():
        opt.step(model(batch.trace()).sum().backward(wrt=model))
        assert model(batch).shape == (3, 2)


def accept_a_callback_for_each_loss() -> None:
    def on_batch(loss: Scalar) -> None:
        opt.step(loss.backward(wrt=model))

    for batch in batches():
        on_batch(model(batch.trace()).sum())


def accept_an_optional_loss() -> None:
    def train(loss: Scalar | None = None) -> None:
        if loss is None:
            loss = model(x.trace()).sum()
        opt.step(loss.backward(wrt=model))

    train()
    train()
    train(model(x.trace()).mean())


def accept_an_early_stop() -> None:
    for batch in batches():
        loss = model(batch.trace()).sum()
        if loss.item() > 1e9:
            break
        opt.step(loss.backward(wrt=model))


def accept_a_distillation() -> None:
    teacher = model(x)
    for _ in range(2):
        student = model(x.trace())
        opt.step(tg.mse(student, teacher).backward(wrt=model))


def accept_a_frozen_critic() -> None:
    for _ in range(2):
        fake: Taped = generator(z.trace())
        opt_generator.step((-critic(fake).mean()).backward(wrt=generator))


def accept_a_returned_number() -> None:
    def train(batch: Batch) -> float:
        loss = model(batch.trace()).sum()
        opt.step(loss.backward(wrt=model))
        return float(loss.item())

    assert train(x) != train(x)


def accept_losses_of_two_batches() -> None:
    losses = [model(batch.trace()).sum() for batch in batches()]
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    opt.step(total.backward(wrt=model))


def reject_a_state_of_a_layer_that_is_carried_over() -> None:
    rnn = nn.RNN(3, 4, rng=0)
    state = tg.zeros((2, 4))
    for _ in range(2):
        states, state = rnn(tg.ones((2, 6, 3)).trace(), state)  # E(mypy): rnn(tg.ones(...).trace(), state): state shares the tape that states.sum().backward(wrt=rnn) consumed on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        states.sum().backward(wrt=rnn)


def accept_a_state_of_a_layer_that_is_detached() -> None:
    rnn = nn.RNN(3, 4, rng=0)
    scale = tg.ones(())
    for _ in range(2):
        states, last = rnn((tg.ones((2, 6, 3)) * scale).trace())
        states.sum().backward(wrt=rnn)
        scale = last.detach().mean()
