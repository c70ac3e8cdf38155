"""Compile whole training steps with JAX: the function is run once, tape included, and its computation is traced."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, Final, overload

from typing_extensions import TypeVar

from tapegrad.errors import DTypeError, messages
from tapegrad.errors.kinds import described
from tapegrad.errors.tracebacks import trim_on_exit, trim_traceback
from tapegrad.generator import substitutions
from tapegrad.jax.binding import MISS, Binding
from tapegrad.jax.compiled import Programs
from tapegrad.jax.program import Call, SharedError, traced_program
from tapegrad.nn import Module

F = TypeVar("F", bound=Callable[..., Any])

tracing = RLock()  # while a step is traced its parameters hold traced values


@overload
def jit(step: F, *, static: Collection[str] = ()) -> F: ...
@overload
def jit(step: None = None, *, static: Collection[str] = ()) -> Callable[[F], F]: ...
def jit(step: Any = None, *, static: Collection[str] = ()) -> Any:
    r"""Compile a function of tensors, modules, optimizers and generators with JAX, including its backward pass.

        @tg.jit
        def step(model, opt, x, y):
            loss = tg.cross_entropy(model(x.trace()), y)
            opt.step(loss.backward(wrt=model))
            return loss.detach()

    The first call for some shapes and dtypes runs the function once and traces it; every call runs the program that JAX
    has compiled. Changes are carried through: parameters, buffers, optimizer states and generators. They stay on the
    device until their values are read, and the memory of the old values is reused.

    Tensors, learning rates, and arguments that are numbers are inputs. If the step uses the value of a number, for
    example in `range(n)`, it is compiled for each value; for a comparison, for each answer. Everything else is compared
    at each call, and the step is compiled again after a change: attributes, containers, arrays, and the variables
    that the step and the functions it calls read without being given them. A parameter, a buffer or an optimizer must
    be an argument. An object of a class written in C, or of the standard library, is compared by identity: changes
    inside it are not detected.

    Generators give a seed for each call, and `jax.random` draws from it: reproducible, but not NumPy's numbers. Invalid
    values, for example a label that is no class, raise an error only if they are known while the function is traced;
    else a loss is NaN for such a label, and an index out of range gives NaN or changes nothing. A singular matrix has
    no finite inverse, and raises no error.

    Args:
        step: What it reads and changes must be among its arguments; tensors have no tape there. Its results are
            tensors, gradients, numbers, and tuples, lists, dictionaries, dataclasses and namespaces of these.
        static: Names of parameters whose numbers are not inputs: the step is compiled for each of their values.

    Returns:
        A function of the same type, whose `programs` say what was compiled; without `step`, a decorator.

    Raises:
        DTypeError: `step` is not a function but, for example, a module, a class, or a generator function; or `static`
            names no parameter; in a call, an argument is a NumPy array.
        TapeError: In a call: the step reads or changes a parameter, a buffer or an optimizer that it was not given;
            reads the values of a tensor, for example for a shape that depends on them; sets an attribute, or changes a
            list or a dictionary, because only parameters and buffers are carried; or draws from a generator that it was
            not given, or by the generator's own methods. Or an argument, or a result, has a tape for a backward pass.

    Examples:
        >>> @tg.jit
        ... def loss_and_gradient(w, x):
        ...     loss = tg.square(x @ w.trace()).sum()
        ...     return loss.detach(), loss.backward()[w]
        >>> loss, gradient = loss_and_gradient(tg.tensor([1.0, 2.0]), tg.tensor([[1.0, 0.0], [0.0, 3.0]]))
        >>> loss.item(), gradient.tolist()
        (37.0, [2.0, 36.0])
    """
    with trim_on_exit:
        _check_static(static)
    if step is None:
        return lambda step: jit(step, static=static)
    static = (static,) if isinstance(static, str) else static
    with trim_on_exit:
        _check(step, static)
    step, first, named = _without_partial(step)
    programs = Programs(messages.callee(getattr(step, "__qualname__", "jit")), (step, first, named))
    traced, is_off = substitutions.get, _is_off.get
    bound: tuple[Binding, ...] = ()  # for the last programs that ran, each with its arguments
    latest: Binding | None = None  # the first of them, if none of its arguments is passed by name

    @functools.wraps(step)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Most calls end here, soon (benchmarks/jit.py, "call").
        if (known := latest) is not None and not kwargs and traced() is None and not is_off():
            try:
                result = known.call(known, args)
            except (TypeError, ValueError):  # a different shape, dtype or placement: JAX has not started
                result = MISS
            if result is not MISS:
                return result
        if first or named:
            args, kwargs = (*first, *args), named | kwargs
        if traced() is not None or is_off():
            return step(*args, **kwargs)  # inside a step that is being traced, it becomes part of that step
        try:
            return compiled(args, kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def compiled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal bound, latest
        values, names = (*args, *kwargs.values()), tuple(kwargs)
        for known in bound:
            if known.names != names or known is latest:
                continue
            try:
                result = known.call(known, values)
            except (TypeError, ValueError):  # as above
                continue
            if result is not MISS:
                if known is not bound[0]:
                    bound = (known, *(one for one in bound if one is not known))
                latest = None if names or first else known
                return result
        with tracing:
            others, bound, latest = bound, (), None
            programs.use(one.program for one in reversed(others))
            fresh = _bound(step, programs, args, kwargs, static)
            others = tuple(one for one in others if one.program is not fresh.program)
            result = fresh.run()
            bound = (fresh, *others)[:_MOST_BOUND] if fresh.program.is_lasting else others
            latest = fresh if fresh.program.is_lasting and not (fresh.names or first) else None
        return result

    call.programs = programs  # type: ignore[attr-defined]  # see `programs`
    return call


def programs(step: Callable[..., Any]) -> Programs:
    """Return the compiled programs of a step, which are also its attribute `programs`.

    Args:
        step: A function that `jit` has returned.

    Returns:
        A sequence with a mapping for each program, least recently used first. It maps the path of what the step is
        given and reads to what the program was compiled for. The attribute `compiled` counts all compilations.

    Raises:
        DTypeError: `step` is not compiled by `jit`.

    Examples:
        >>> @tg.jit
        ... def scaled(x, k):
        ...     return x * k
        >>> x, y = scaled(tg.ones((2,)), 2.0), scaled(tg.ones((3,)), 0.5)
        >>> [dict(one) for one in tg.jax.programs(scaled)]
        [{'x': 'float32 (2,)', 'k': 'any float'}, {'x': 'float32 (3,)', 'k': 'any float'}]
        >>> tg.jax.programs(scaled).compiled
        2
    """
    found = getattr(step, "programs", None)
    if not isinstance(found, Programs):
        message = f"programs: step is {messages.with_article(type(step).__name__)} that jit has not compiled"
        with trim_on_exit:
            raise DTypeError(message)
    return found


@contextmanager
def disable_jit() -> Iterator[None]:
    """Run steps under `jit` as if they were not compiled, for debugging: op by op, with NumPy.

    So a breakpoint in a step has the numbers of its tensors. Generators draw NumPy's numbers.

    Examples:
        >>> @tg.jit
        ... def is_positive(x):
        ...     return bool(x.sum() > 0)
        >>> with tg.disable_jit():
        ...     is_positive(tg.ones((3,)))
        True
    """
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def _bound(
    step: Callable[..., Any],
    programs: Programs,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: Collection[str],
) -> Binding:
    """Bind the arguments of a call to their program, which is traced if there is none yet."""
    of = Call.of(step, args, kwargs, static)
    binding = of.binding
    key = (of.tree.key, binding.layout())
    program = programs.find(key, binding.given)
    while program is None:
        try:
            program = traced_program(of)
            programs.add(key, program, binding)
        except SharedError as error:
            binding.separate(error.places)
            key = (of.tree.key, binding.layout())
            program = programs.find(key, binding.given)
    binding.take(program)
    return binding


def _check_static(static: object) -> None:
    """Reject what are no names of parameters.

    Raises:
        DTypeError: It is neither a string nor a collection of strings.
    """
    if not isinstance(static, Collection) or not all(isinstance(one, str) for one in static):
        message = f"jit: static is {described(static)} but names of parameters are expected"
        raise DTypeError(message)


def _check(step: Any, static: Collection[str]) -> None:
    """Reject a step that is not a function, or that is a generator or coroutine function.

    Raises:
        DTypeError: It is not a plain function.
    """
    if isinstance(step, Module):
        message = f"jit: step is {type(step).__name__}, a module; compile a function that calls it"
        raise DTypeError(message)
    if isinstance(step, type) or not callable(step):
        kind = f"the class {step.__name__}" if isinstance(step, type) else messages.with_article(type(step).__name__)
        message = f"jit: step is {kind}, not a function"
        raise DTypeError(message)
    function = step.func if isinstance(step, functools.partial) else step
    function = function if inspect.isroutine(function) else type(function).__call__
    for is_kind, kind in _UNFINISHED:
        if is_kind(function):
            message = f"jit: step is {kind}, whose body runs after the call; compile a function that returns its result"
            raise DTypeError(message)
    names = inspect.signature(step).parameters if static else ()
    for name in static:
        if name not in names:
            message = f"jit: static names {name}, which is no parameter of {messages.callee(function.__qualname__)}"
            raise DTypeError(message)


def _without_partial(step: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the function, with the leading arguments that a partial or a callable object passes to it."""
    if isinstance(step, functools.partial):
        return step.func, step.args, step.keywords
    return step if inspect.isroutine(step) else step.__call__, (), {}


_MOST_BOUND: Final = 8  # programs that are called without a search
_is_off: ContextVar[bool] = ContextVar("_is_off", default=False)
_UNFINISHED: Final = (
    (inspect.isgeneratorfunction, "a generator function"),
    (inspect.iscoroutinefunction, "a coroutine function"),
    (inspect.isasyncgenfunction, "an async generator function"),
)
