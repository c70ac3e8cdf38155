"""The decorator `op`: it binds a shape rule to an op and registers both for methods and the type checker."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from tapegrad.autograd.explain import EXPLAINED, explain, explained_error
from tapegrad.autograd.registry import (
    IMPLEMENTATIONS,
    OPS,
    MemoryBound,
    Op,
    Rule,
    entry_of,
    key_of,
    observers,
    parameters_of,
    star_of,
)
from tapegrad.autograd.tape import NONE
from tapegrad.errors.options import as_flag
from tapegrad.errors.tracebacks import trim_on_exit, trim_traceback
from tapegrad.sizes import Dims, show, surely_differ

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
_INSTALLED_IN: list[type] = []
_CHECK_RULES = bool(os.environ.get("TAPEGRAD_CHECK_RULES"))
_inside_an_op: Final = ContextVar("_inside_an_op", default=False)


def op(
    rule: Rule,
    *,
    operator: str | None = None,
    eager: bool = False,
    memory_bound: MemoryBound = False,
    dtypes: Rule | None = None,
    of_bools: str = "",
) -> Callable[[F], F]:
    """Register a function as an op: its shape rule explains its errors, and the checker infers shapes by the rule.

    The rule has the op's parameters; where the op is annotated with a tensor, the rule gets its sizes. NumPy computes
    first; if it raises, the rule is called to explain the error. With TAPEGRAD_CHECK_RULES=1 every result is compared
    with its rule.

    Args:
        rule: From sizes to sizes; raises `ShapeError` with the message without the op's name.
        operator: The operator that calls the op, such as `__matmul__`.
        eager: Whether the rule runs before the op, for ops where NumPy would not raise.
        memory_bound: Whether the op costs little more than the memory of its result, so that a checkpointing tape
            computes it again instead of saving it; or a predicate on the op's arguments.
        dtypes: Raises `DTypeError` for dtypes that annotations cannot express, such as one that depends on a rank. It
            has some of the op's parameters and gets operands as `Typed`; both the op and the checker call it.
        of_bools: The name of the dtype of the result for bools, such as "int64"; empty if it is that of the operand.

    Returns:
        A decorator.

    Raises:
        TypeError: The rule has a parameter that the op does not have, or another order.

    Examples:
        >>> def doubled_shape(x):
        ...     return x
        >>> @tg.op(doubled_shape)
        ... def doubled(x: tg.Tensor):
        ...     return x + x
        >>> doubled(tg.tensor([[1.0, 2.5]])).tolist()
        [[2.0, 5.0]]
    """

    def bind(function: F) -> F:
        entry = entry_of(rule, function, operator, memory_bound, dtypes, of_bools)

        call = _with_explanation(function, entry)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                return (_observed if observers else _checked)(entry, call, args, kwargs)
            except EXPLAINED as error:
                trim_traceback(error)
                raise

        called = checked if eager or _CHECK_RULES else call
        key = key_of(function)
        OPS[key], IMPLEMENTATIONS[key] = entry, called
        if key == function.__name__:
            for kind in _INSTALLED_IN:
                _install(kind, key, operator, called)
        return called  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see

    return bind


def install_operators(kind: C) -> C:
    """Replace the operators and methods of a class by the ops of the same name once these are registered.

    This saves a look-up and a call, and the traceback has no frame between the caller and the op. A variadic method,
    such as one that takes sizes one by one, is not replaced.
    """
    _INSTALLED_IN.append(kind)
    return kind


def rematerializable(*, memory_bound: bool = False) -> Callable[[F], F]:
    """Let a checkpointing tape recompute the result of a function that is a part of an op.

    Args:
        memory_bound: Whether the function costs little more than the memory of its result, see `op`.

    Returns:
        A decorator.
    """

    def bind(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if result.tape is not NONE and result.tape._tape.checkpoint is not None:
                result.tape._tape.checkpoint.register(result, function, args, kwargs, memory_bound=memory_bound)
            return result

        return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see

    return bind


def _install(kind: type, name: str, operator: str | None, call: Callable[..., Any]) -> None:
    methods = {name: call}
    if operator is not None:
        methods |= {operator: call, f"__r{operator[2:]}": _reflected(call)}
    for attribute, method in methods.items():
        if attribute in vars(kind) and not star_of(vars(kind)[attribute]):
            setattr(kind, attribute, method)


def _reflected(call: Callable[..., Any]) -> Callable[..., Any]:
    def reflected(y: Any, x: Any) -> Any:
        try:
            return call(x, y)
        except EXPLAINED as error:
            trim_traceback(error)
            raise

    return reflected


def _with_explanation(function: Callable[..., Any], entry: Op) -> Callable[..., Any]:
    """Return a function that calls an op and explains its errors.

    One and two operands are passed without `*args`, which is faster (`benchmarks/devices.py`, "two operands").
    PyTorch's functions of one operand have options, such as `inplace`, which an error should explain.
    """
    is_single = entry.is_single
    flags = tuple(name for name, annotation in function.__annotations__.items() if annotation in ("bool", bool))

    def unary(x: Any, *surplus: Any, **unexpected: Any) -> Any:
        try:
            result = function(x, *surplus, **unexpected) if surplus or unexpected else function(x)
        except EXPLAINED as error:
            with trim_on_exit:
                return explain(entry, (x, *surplus), unexpected, error)
        if result.tape is not NONE and result.tape._tape.checkpoint is not None:
            _register_result(entry, result, (x,), {})
        return result

    def binary(x: Any, y: Any) -> Any:
        try:
            result = function(x, y)
        except EXPLAINED as error:
            with trim_on_exit:
                return explain(entry, (x, y), {}, error)
        if result.tape is not NONE and result.tape._tape.checkpoint is not None:
            _register_result(entry, result, (x, y), {})
        return result

    def general(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs:
                for name in flags:
                    if name in kwargs:
                        kwargs[name] = as_flag(kwargs[name], name)
            result = function(*args, **kwargs)
        except EXPLAINED as error:
            with trim_on_exit:
                return explain(entry, args, kwargs, error)
        if is_single and result.tape is not NONE and result.tape._tape.checkpoint is not None:
            _register_result(entry, result, args, kwargs)
        return result

    alone: dict[tuple[str, ...], Callable[..., Any]] = {("x",): unary, ("x", "y"): binary} if is_single else {}
    return functools.wraps(function)(alone.get(parameters_of(function), general))


def _register_result(entry: Op, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Inform a checkpointing tape how to recompute the result that it has just recorded."""
    given = entry.memory_bound
    memory_bound = given if isinstance(given, bool) else given(*args, **kwargs)
    result.tape._tape.checkpoint.register(result, entry.function, args, kwargs, memory_bound=memory_bound)


def _observed(entry: Op, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the observers of a call that no other op makes."""
    if _inside_an_op.get():
        return _checked(entry, call, args, kwargs)
    before = _inside_an_op.set(True)
    try:
        result = _checked(entry, call, args, kwargs)
    except Exception as error:
        for observer in observers:
            observer.called(entry, args, kwargs, error)
        raise
    finally:
        _inside_an_op.reset(before)
    for observer in observers:
        observer.called(entry, args, kwargs, result)
    return result


def _checked(entry: Op, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        expected = entry.sizes(*args, **kwargs)
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise explained_error(entry, args, kwargs, error) from None
    result = call(*args, **kwargs)
    several = isinstance(result, tuple)
    given = [one.shape for one in result] if several else [result.shape]
    wanted: Any = expected if several else [expected]
    if len(given) != len(wanted) or any(map(_differ, given, wanted)):
        message = f"{entry.name} gave {', '.join(map(show, given))} but its rule says {', '.join(map(show, wanted))}"
        raise AssertionError(message)
    return result


def _differ(given: Dims, wanted: Dims) -> bool:
    return len(given) != len(wanted) or any(map(surely_differ, given, wanted))
