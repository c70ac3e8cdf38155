"""Learning rate schedules: functions from a step number to a learning rate, `opt.lr = schedule(step)`.

A schedule is any function of one number; the functions below create some. Schedules have no state: a resumed run only
continues to count steps. Steps are counted from 0. After its last step a schedule keeps its final value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi
from typing import TypeAlias

from tapegrad.errors.options import check_function
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api

Schedule: TypeAlias = Callable[[int], float]


@public_api
def constant(lr: float) -> Schedule:
    """Keep the learning rate constant: `η[t] = η`.

    Args:
        lr: The learning rate η, at least 0.

    Raises:
        DTypeError: `lr` is not a number.
        ValueError: `lr` is negative or NaN.

    Examples:
        >>> schedule = tg.optim.constant(0.1)
        >>> schedule(0), schedule(1000)
        (0.1, 0.1)
    """
    check_options("constant", lr=lr)
    return lambda _: lr


@public_api
def step(lr: float, *, every: int, factor: float = 0.1) -> Schedule:
    """Multiply the learning rate by a factor after every n steps.

        η[t] = η f^⌊t / n⌋

    Args:
        lr: The initial learning rate η, at least 0.
        every: The number of steps n between changes, at least 1.
        factor: The factor f, at least 0.

    Raises:
        DTypeError: An argument is not a number, or `every` is not an int.
        ValueError: A number is out of range.

    Examples:
        >>> schedule = tg.optim.step(0.5, every=30, factor=0.5)
        >>> [schedule(t) for t in (0, 29, 30, 60)]
        [0.5, 0.5, 0.25, 0.125]
    """
    check_options("step", every=every, lr=lr, factor=factor)
    return lambda t: lr * factor ** (t // every)


@public_api
def exponential(lr: float, *, factor: float) -> Schedule:
    """Multiply the learning rate by a factor at every step: `η[t] = η f^t`.

    Args:
        lr: The initial learning rate η, at least 0.
        factor: The factor f, at least 0.

    Raises:
        DTypeError: An argument is not a number.
        ValueError: An argument is negative or NaN.

    Examples:
        >>> schedule = tg.optim.exponential(1.0, factor=0.5)
        >>> [schedule(t) for t in range(4)]
        [1.0, 0.5, 0.25, 0.125]
    """
    check_options("exponential", lr=lr, factor=factor)
    return lambda t: lr * factor**t


@public_api
def cosine(lr: float, *, steps: int, end: float = 0.0) -> Schedule:
    """Decrease the learning rate along half a cosine wave (cosine annealing).

        η[t] = e + (1/2) (η - e) (1 + cos(π t / T))

    Args:
        lr: The initial learning rate η, at least 0.
        steps: The number of steps T after which `end` is reached, at least 1.
        end: The final learning rate e, at least 0.

    Raises:
        DTypeError: An argument is not a number, or `steps` is not an int.
        ValueError: A number is out of range.

    Source:
        Loshchilov & Hutter, [SGDR](https://arxiv.org/abs/1608.03983), eq. 5, without restarts.

    Examples:
        >>> schedule = tg.optim.cosine(0.1, steps=100, end=0.01)
        >>> [round(schedule(t), 4) for t in (0, 25, 50, 100, 101)]
        [0.1, 0.0868, 0.055, 0.01, 0.01]
    """
    check_options("cosine", steps=steps, lr=lr, end=end)
    return lambda t: _wave(lr, end, t / steps)


@public_api
def warmup(schedule: Schedule, *, steps: int) -> Schedule:
    """Increase the learning rate linearly to the first value of another schedule, then follow that schedule.

        η[t] = ((t + 1) / (n + 1)) s(0)   for t < n,
               s(t - n)                   from then on

    `warmup(cosine(1e-3, steps=900), steps=100)` takes 1000 steps in all.

    Args:
        schedule: The schedule s that follows. It counts its own steps from 0.
        steps: The number n of warmup steps, at least 1. The first learning rate is above 0, so no step is wasted.

    Raises:
        DTypeError: `steps` is not an int.
        ValueError: `steps` is below 1.

    Examples:
        >>> schedule = tg.optim.warmup(tg.optim.constant(1.0), steps=3)
        >>> [schedule(t) for t in range(5)]
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    check_function("warmup", "schedule", schedule)
    check_options("warmup", steps=steps)
    return lambda t: schedule(0) * (t + 1) / (steps + 1) if t < steps else schedule(t - steps)


@public_api
def one_cycle(lr: float, *, steps: int, rise: float = 0.3, start: float = 1 / 25, end: float = 1 / 250_000) -> Schedule:
    """Increase the learning rate along half a cosine wave, then decrease it along another one (1cycle policy).

        η[0] = s η
        η[r T - 1] = η
        η[T-1] = e η

    Args:
        lr: The maximum learning rate η, at least 0.
        steps: The total number of steps T, at least 2.
        rise: The fraction r of the steps in which the learning rate increases, above 1/T and below 1.
        start: The first learning rate as a fraction s of the maximum, at least 0.
        end: The last learning rate as a fraction e of the maximum, at least 0.

    Raises:
        DTypeError: An argument is not a number, or `steps` is not an int.
        ValueError: A number is out of range; or `steps` and `rise` leave no step to increase or to decrease in.

    Source:
        Smith & Topin, [Super-convergence](https://arxiv.org/abs/1708.07120), as PyTorch 2.13 computes it.

    Examples:
        >>> schedule = tg.optim.one_cycle(0.1, steps=10)
        >>> [round(schedule(t), 3) for t in range(10)]
        [0.004, 0.052, 0.1, 0.095, 0.081, 0.061, 0.039, 0.019, 0.005, 0.0]
    """
    check_options("one_cycle", steps=steps, lr=lr, rise=rise, start=start, end=end)
    last = steps - 1
    top = rise * steps - 1
    if not 0 < top < last:
        message = f"one_cycle: rise is {rise} but must be above 1/{steps} and below 1"
        raise ValueError(message)
    return lambda t: _wave(lr * start, lr, t / top) if t <= top else _wave(lr, lr * end, (t - top) / (last - top))


def _wave(start: float, end: float, fraction: float) -> float:
    return end + (start - end) * (1 + cos(pi * min(fraction, 1.0))) / 2
