"""Schedules: the step size as a function of the steps made, `opt.lr = schedule(step)`.

A schedule is any function of one number, and these make some. None of them remembers anything: to resume a run is to go
on counting. Steps are counted from 0; behind its last step a schedule stays where it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi
from typing import TypeAlias

from tapegrad.options import check_at_least_zero, check_count
from tapegrad.tracebacks import public_api

Schedule: TypeAlias = Callable[[int], float]


@public_api
def constant(lr: float) -> Schedule:
    r"""Keep the step size: $\eta_t = \eta$.

    Args:
        lr: The step size η, at least 0.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is negative or NaN.
    """
    check_at_least_zero("constant", "lr", lr)
    return lambda _: lr


@public_api
def step(lr: float, *, every: int, factor: float = 0.1) -> Schedule:
    r"""Multiply the step size from time to time.

    $$\eta_t = \eta \, f^{\lfloor t / n \rfloor}$$

    Args:
        lr: The step size η at the start, at least 0.
        every: After how many steps n each time, at least 1.
        factor: What it is multiplied by, f, at least 0.

    Raises:
        DTypeError: One of them is not a number, or `every` not a whole one.
        ValueError: A number is out of its range.
    """
    check_count("step", "every", every)
    for option, number in (("lr", lr), ("factor", factor)):
        check_at_least_zero("step", option, number)
    return lambda t: lr * factor ** (t // every)


@public_api
def exponential(lr: float, *, factor: float) -> Schedule:
    r"""Multiply the step size at every step: $\eta_t = \eta \, f^t$.

    Args:
        lr: The step size η at the start, at least 0.
        factor: What it is multiplied by, f, at least 0.

    Raises:
        DTypeError: One of them is not a number.
        ValueError: One is negative or NaN.
    """
    for option, number in (("lr", lr), ("factor", factor)):
        check_at_least_zero("exponential", option, number)
    return lambda t: lr * factor**t


@public_api
def cosine(lr: float, *, steps: int, end: float = 0.0) -> Schedule:
    r"""Lower the step size along half a wave.

    $$\eta_t = e + \tfrac{1}{2} (\eta - e) \, (1 + \cos(\pi t / T))$$

    Args:
        lr: The step size η at the start, at least 0.
        steps: After how many steps T the end is reached, at least 1.
        end: The step size e there, at least 0.

    Raises:
        DTypeError: One of them is not a number, or `steps` not a whole one.
        ValueError: A number is out of its range.

    Source:
        Loshchilov & Hutter, [SGDR](https://arxiv.org/abs/1608.03983), eq. 5, without restarts.
    """
    check_count("cosine", "steps", steps)
    for option, number in (("lr", lr), ("end", end)):
        check_at_least_zero("cosine", option, number)
    return lambda t: _wave(lr, end, t / steps)


@public_api
def warmup(schedule: Schedule, *, steps: int) -> Schedule:
    r"""Rises in a straight line to where another schedule starts, then follows it.

    $$\eta_t = \frac{t + 1}{n + 1} \, s(0) \text{ for } t < n, \quad s(t - n) \text{ from then on}$$

    `warmup(cosine(1e-3, steps=900), steps=100)` takes 1000 steps in all.

    Args:
        schedule: What follows, s, which counts its own steps from 0.
        steps: How many steps n the rise takes, at least 1. The first is not 0, which would be a step for nothing.

    Raises:
        DTypeError: `steps` is not a whole number.
        ValueError: It is below 1.
    """
    check_count("warmup", "steps", steps)
    return lambda t: schedule(0) * (t + 1) / (steps + 1) if t < steps else schedule(t - steps)


@public_api
def one_cycle(lr: float, *, steps: int, rise: float = 0.3, start: float = 1 / 25, end: float = 1 / 250_000) -> Schedule:
    r"""Raise the step size along half a wave, and lower it along a longer one to almost nothing.

    $$\eta_0 = s \eta, \quad \eta_{r T - 1} = \eta, \quad \eta_{T - 1} = e \eta$$

    Args:
        lr: The highest step size η, at least 0.
        steps: How many steps T there are in all, at least 2.
        rise: Which fraction r of them leads up, above 1/T and below 1.
        start: The first step size as a fraction s of the highest, at least 0.
        end: The last one as a fraction e of the highest, at least 0.

    Raises:
        DTypeError: One of them is not a number, or `steps` not a whole one.
        ValueError: A number is out of its range; or `steps` or `rise` leave no step to rise in, or none to fall in.

    Source:
        Smith & Topin, [Super-convergence](https://arxiv.org/abs/1708.07120), as PyTorch 2.13 computes it.
    """
    check_count("one_cycle", "steps", steps, least=2)
    for option, number in (("lr", lr), ("rise", rise), ("start", start), ("end", end)):
        check_at_least_zero("one_cycle", option, number)
    last = steps - 1
    top = rise * steps - 1
    if not 0 < top < last:
        message = f"one_cycle: rise is {rise} but must be above 1/{steps} and below 1"
        raise ValueError(message)
    return lambda t: _wave(lr * start, lr, t / top) if t <= top else _wave(lr, lr * end, (t - top) / (last - top))


def _wave(start: float, end: float, fraction: float) -> float:
    return end + (start - end) * (1 + cos(pi * min(fraction, 1.0))) / 2
