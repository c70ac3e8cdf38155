"""The decorators that the import hook adds to functions and classes: a guard, if annotations name a tensor."""

from __future__ import annotations

import inspect
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from tapegrad.guard._mentions import mentions
from tapegrad.guard._wrapper import Guard, is_guarded, mentioned

if TYPE_CHECKING:
    from collections.abc import Mapping

F = TypeVar("F")
C = TypeVar("C", bound=type)


def guard_function(function: F) -> F:
    """Guard a function if its annotations name a tensor, or may do so after they are resolved."""
    names = mentioned(function, sys._getframe(1)) if isinstance(function, FunctionType) else {}
    guarded: F = _guarded(function, names, generated=False)
    return guarded


def guard_class(cls: C) -> C:
    """Guard an `__init__` that a decorator such as `@dataclass` has generated from the fields of a class."""
    initializer = vars(cls).get("__init__")
    if isinstance(initializer, FunctionType) and _is_generated(initializer):
        names = mentioned(initializer, sys._getframe(1))
        guarded = _guarded(initializer, names, generated=True)
        if guarded is not initializer:
            cls.__init__ = guarded  # type: ignore[misc]  # the `__init__` of this class itself
    return cls


def _is_generated(function: FunctionType) -> bool:
    definition: Any = inspect.unwrap(function)  # jaxtyping's hook may have wrapped it already
    return isinstance(definition, FunctionType) and definition.__code__.co_filename.startswith("<")


def _guarded(function: Any, names: Mapping[str, Any], *, generated: bool) -> Any:
    if not isinstance(function, FunctionType) or is_guarded(function) or not _may_name_tensors(function, names):
        return function
    return Guard(function, names, sparing=True, generated=generated).wrapper


def _may_name_tensors(function: FunctionType, names: Mapping[str, Any]) -> bool:
    try:
        annotations = function.__annotations__
    except NameError:  # Python 3.14 evaluates them here, and a name may be defined later
        return True
    found = (mentions(annotation, names, function.__globals__) for annotation in annotations.values())
    # An initializer may bind sizes that methods of its class use.
    starts = function.__name__ == "__init__"
    return any(one.tensor or one.unknown or (starts and one.variable) for one in found)
