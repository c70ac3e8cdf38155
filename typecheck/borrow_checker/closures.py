"""Inner functions, lambdas, threads, partial applications and generators that use a tape when they run."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import tapegrad as tg
from tapegrad import Gradients, OwnedTape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def step(loss: Scalar, scale: float = 1.0) -> Gradients:
    return (loss * scale).backward()


def call(thunk: Callable[[], object]) -> None:
    thunk()


def call_twice(thunk: Callable[[], object]) -> None:
    thunk()
    thunk()


def reject_a_closure_called_twice() -> None:
    loss = x.trace().sum()

    def run() -> Gradients:
        return loss.backward()

    run()
    run()  # E(mypy): run(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_loss_after_its_closure() -> None:
    loss = x.trace().sum()

    def run() -> None:
        loss.backward()

    run()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_closure_after_backward() -> None:
    loss = x.trace().sum()

    def run() -> Scalar:
        return loss * 2.0

    loss.backward()
    run()  # E(mypy): run(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_mistake_inside_a_closure() -> None:
    def run() -> None:
        loss = x.trace().sum()
        loss.backward()
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]

    run()


def reject_a_lambda_called_twice() -> None:
    loss = x.trace().sum()
    run: Callable[[], Gradients] = lambda: loss.backward()
    run()
    run()  # E(mypy): run(): loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]


def reject_a_thunk_that_is_run_twice() -> None:
    loss = x.trace().sum()
    call_twice(lambda: loss.backward())  # E(mypy): call_twice(...): loss was consumed by loss.backward() on line {-0}; trace again [tapegrad-tape]


def reject_two_calls_of_a_thunk() -> None:
    loss = x.trace().sum()
    call(lambda: loss.backward())
    call(lambda: loss.backward())  # E(mypy): call(...): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_bound_method_as_a_thunk() -> None:
    loss = x.trace().sum()
    call(loss.backward)
    call(loss.backward)  # E(mypy): call(loss.backward): loss was consumed by thunk() on line {-68}; trace again [tapegrad-tape]


def reject_a_partial_called_twice() -> None:
    run = partial(step, x.trace().sum())
    run()
    run()  # E(mypy): run(): loss was consumed by (loss * scale).backward() on line {-78}; trace again [tapegrad-tape]


def reject_a_partial_after_backward() -> None:
    loss = x.trace().sum()
    run = partial(step, scale=2.0)
    loss.backward()
    run(loss)  # E(mypy): run(loss): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_its_thread() -> None:
    loss = x.trace().sum()
    thread = threading.Thread(target=step, args=(loss,))
    thread.start()
    thread.join()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by (loss * scale).backward() on line {-93}; trace again [tapegrad-tape]


def reject_a_loss_after_a_pool() -> None:
    loss = x.trace().sum()
    with ThreadPoolExecutor() as pool:
        pool.submit(step, loss).result()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by (loss * scale).backward() on line {-100}; trace again [tapegrad-tape]


def reject_a_loss_after_a_map() -> None:
    losses = [x.trace().sum(), x.trace().mean()]
    assert len(list(map(step, losses))) == 2
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that (loss * scale).backward() consumed on line {-106}; trace again [tapegrad-tape]


def reject_a_generator_that_consumes() -> None:
    loss = x.trace().sum()

    def steps() -> Iterator[Gradients]:
        yield loss.backward()

    assert len(list(steps())) == 1
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_one_trunk_from_a_generator() -> None:
    h = model(x.trace())

    def losses() -> Iterator[Scalar]:
        yield h.sum()
        yield h.mean()

    for loss in losses():
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_list_of_thunks() -> None:
    loss = x.trace().sum()
    thunks = [loss.backward, loss.backward]
    for run in thunks:
        run()  # E(mypy): run(): loss was consumed by run() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_dictionary_of_thunks() -> None:
    h = model(x.trace())
    steps = {"sum": h.sum().backward, "mean": h.mean().backward}
    steps["sum"]()
    steps["mean"]()  # E(mypy): steps['mean'](): h was consumed by steps['sum']() on line {-1}; trace again [tapegrad-tape]


def reject_a_nonlocal_loss() -> None:
    loss = x.trace().sum()

    def renew() -> None:
        nonlocal loss
        loss = x.trace().mean()

    renew()
    loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_factory_of_closures() -> None:
    def stepper(loss: Scalar) -> Callable[[], Gradients]:
        return lambda: loss.backward()

    run = stepper(x.trace().sum())
    run()
    run()  # E(mypy): run(): loss was consumed by loss.backward() on line {-4}; trace again [tapegrad-tape]


def accept_a_closure_that_traces() -> None:
    def run() -> None:
        x.trace().sum().backward()

    run()
    run()


def accept_a_closure_that_is_not_called() -> None:
    loss = x.trace().sum()

    def run() -> None:
        loss.backward()

    loss.backward()
    assert callable(run)


def accept_a_closure_that_renews() -> None:
    loss = x.trace().sum()

    def renew() -> None:
        nonlocal loss
        loss = x.trace().sum()

    for _ in range(2):
        loss.backward()
        renew()


def accept_a_thread_for_each_loss() -> None:
    threads = [threading.Thread(target=step, args=(x.trace().sum(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def accept_a_partial_for_each_loss() -> None:
    run = partial(step, scale=2.0)
    run(x.trace().sum())
    run(x.trace().sum())


def accept_a_generator_of_forward_passes() -> None:
    def losses() -> Iterator[Scalar]:
        for _ in range(3):
            yield model(x.trace()).sum()

    for loss in losses():
        loss.backward()


def accept_a_thunk_that_makes_its_loss() -> None:
    call_twice(lambda: model(x.trace()).sum().backward())


def accept_a_callback_that_only_reads() -> None:
    loss = x.trace().sum()
    loss.backward()
    call(lambda: loss.item())
