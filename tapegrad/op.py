"""Binds a shape rule to an op and enters both into the table that methods and the checker look up."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tapegrad.dims import show
from tapegrad.errors import DTypeError, ShapeError, TapeError

if TYPE_CHECKING:
    from tapegrad.dims import Dims

Rule = Callable[..., "Dims"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Op:
    """An op by name: its rule from sizes to sizes, and which of its parameters the rule gets as sizes."""

    name: str
    rule: Rule
    function: Callable[..., Any]
    operands: frozenset[str]
    operator: str | None

    def sizes(self, *args: Any, **kwargs: Any) -> Dims:
        """Returns the rule's answer for a call: operands stand as their shapes, all else as it is."""
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        wanted = inspect.signature(self.rule).parameters
        return self.rule(
            **{
                name: np.shape(_data(value)) if name in self.operands else value
                for name, value in bound.arguments.items()
                if name in wanted
            }
        )


OPS: dict[str, Op] = {}
CALLS: dict[str, Callable[..., Any]] = {}

_OURS = (ShapeError, DTypeError, TapeError, IndexError)
_CHECK_RULES = bool(os.environ.get("TAPEGRAD_CHECK_RULES"))


def op(rule: Rule, *, operator: str | None = None, eager: bool = False) -> Callable[[F], F]:
    """Makes an op of a function: its errors speak with the rule's words, and the checker finds the rule by its name.

    The rule has the op's parameters; where the op is annotated with a tensor the rule gets its sizes. NumPy looks at
    the sizes first, and the rule explains its refusal. TAPEGRAD_CHECK_RULES=1 compares every result with its rule.

    Args:
        rule: From sizes to sizes; raises `ShapeError` with what comes after the op's name.
        operator: The operator that calls the op, such as `__matmul__`.
        eager: Whether the rule runs before the op, for where NumPy would stay silent.

    Returns:
        A decorator.

    Raises:
        TypeError: Rule and op differ in their parameters.
    """

    def bind(function: F) -> F:
        entry = Op(function.__name__, rule, function, _operands(rule, function), operator)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (ValueError, TypeError, IndexError, TapeError) as error:
                explained = _explained(entry, args, kwargs, error)
                if explained is error:
                    raise
                try:
                    raise explained from None
                finally:
                    del explained  # a frame that holds its own error is a cycle, and keeps the operands

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            return _checked(entry, call, args, kwargs)

        called = checked if eager or _CHECK_RULES else call
        OPS[entry.name], CALLS[entry.name] = entry, called
        return called  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see

    return bind


def _data(value: Any) -> Any:
    return value.data if hasattr(value, "tape") else value


def _operands(rule: Rule, function: Callable[..., Any]) -> frozenset[str]:
    ours, theirs = inspect.signature(rule).parameters, inspect.signature(function).parameters
    if list(ours) != [name for name in theirs if name in ours]:
        message = f"{function.__name__}: its rule has the parameters {list(ours)}, the op has {list(theirs)}"
        raise TypeError(message)
    return frozenset(name for name, parameter in theirs.items() if "Tensor" in str(parameter.annotation))


def _checked(entry: Op, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        expected = entry.sizes(*args, **kwargs)
    except ShapeError as refusal:
        raise _named(entry.name, refusal) from None
    result = call(*args, **kwargs)
    if tuple(result.shape) != tuple(expected):
        message = f"{entry.name} gave {show(result.shape)} but its rule says {show(expected)}"
        raise AssertionError(message)
    return result


def _explained(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    if hasattr(error, "op"):
        return error
    try:
        entry.sizes(*args, **kwargs)
    except ShapeError as refusal:
        return _named(entry.name, refusal)
    except (AttributeError, IndexError, TypeError, ValueError):
        return error  # the call does not fit the signature: Python's own words are the right ones
    return _named(entry.name, error) if isinstance(error, _OURS) else error


def _named(name: str, error: Exception) -> Exception:
    named = type(error)(f"{name}: {error}")
    named.op = name  # type: ignore[attr-defined]  # the sentence is complete: an op around this one leaves it alone
    return named
