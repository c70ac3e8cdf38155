"""Steps that JAX compiles: the very program of tapegrad, tape and all, is run once, and what it computed is kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import RLock
from typing import Any

from typing_extensions import TypeVar

from tapegrad.errors import DTypeError
from tapegrad.generator import stand_in
from tapegrad.jax.arguments import Survey
from tapegrad.jax.binding import MISS, Binding
from tapegrad.jax.program import Program, traced_program
from tapegrad.nn import Module
from tapegrad.traces import shorten

F = TypeVar("F", bound=Callable[..., Any])

_tracing = RLock()  # while a step is traced its parameters hold what is traced
_running = RLock()  # between taking what a step is given and having taken over what it has changed


def jit(step: F) -> F:
    r"""Compiles a function of tensors, modules, optimizers and generators with JAX, as a whole: tape, way back and all.

        @tg.jit
        def step(model, opt, x, y):
            loss = tg.cross_entropy(model(x.trace()), y)
            opt.step(loss.backward(wrt=model))
            return loss.detach()

    A call runs the function once for its shapes and dtypes, and notes what it computes; every call runs what JAX has
    compiled of that. What the function changes is carried through: parameters, buffers, what optimizers remember,
    generators. It stays on the device until its numbers are read, and the memory of the old values is given away. A
    step size may change from call to call; any other number, or attribute, that changes is compiled for anew: those of
    modules, optimizers, dataclasses and containers, and of objects whose class is written in Python without slots.
    Any other object counts as itself: what changes inside it is not seen.

    Generators give a seed for each call, and `jax.random` draws: reproducible, but other numbers than NumPy's. What an
    op refuses for its numbers, such as a label that is no class, is refused only where they are known while the
    function is noted; else a loss is NaN for such a label, and an index out of range gives NaN, or changes nothing.
    A singular matrix has no finite inverse, and is no error.

    Args:
        step: What it reads and changes must be among its arguments; tensors have no tape there. Its results are
            tensors, gradients, numbers, and tuples, lists, dictionaries, dataclasses and namespaces of these.

    Returns:
        A function of the same type.

    Raises:
        DTypeError: `step` is a module, which no function is; in a call, an argument is a NumPy array.
        TapeError: In a call: the step asks for numbers, as for a shape that hangs on them, changes what it was not
            given, sets an attribute, or changes a list or a dictionary, for only parameters and buffers are carried, or
            draws from a generator that it was not given; an argument, or a result, has a tape to run back.
    """
    if isinstance(step, Module):
        message = f"jit: step is {type(step).__name__}, a module; compile a function that calls it"
        raise DTypeError(message)
    programs: dict[Any, Program] = {}
    bound: Binding | None = None

    @functools.wraps(step)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal bound
        if stand_in.get() is not None:
            return step(*args, **kwargs)  # inside a step that is being traced, this is a part of it
        known = bound
        if known is not None and not kwargs:
            try:
                with _running:
                    result = known(args)
            except (TypeError, ValueError):  # a shape, a dtype or a place is another: JAX has not begun
                result = MISS
            if result is not MISS:
                return result
        with _tracing:
            bound = None
            try:
                fresh = _bound(step, programs, args, kwargs)
                with _running:
                    result = fresh.run()
            except Exception as error:
                shorten(error)
                raise
            bound = fresh
        return result

    return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see


def _bound(
    step: Callable[..., Any], programs: dict[Any, Program], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Binding:
    """Binds the arguments of a call to the program for them, which is traced unless it is there."""
    survey = Survey(step, args, kwargs)
    binding = Binding(survey, args if not kwargs else None)
    key = (survey.key, binding.layout())
    if key not in programs:
        programs[key] = traced_program(step, args, kwargs, survey, binding)
    binding.take(programs[key])
    return binding
