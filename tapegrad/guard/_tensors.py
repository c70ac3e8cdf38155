"""What the import hook puts over each function and class: a guard, unless no tensor is named."""

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
    """Guard a function whose annotations name a tensor, or may do so once they are resolved."""
    names = mentioned(function, sys._getframe(1)) if isinstance(function, FunctionType) else {}
    guarded: F = _guarded(function, names, generated=False)
    return guarded


def guard_class(cls: C) -> C:
    """Guard the `__init__` that a decorator has written into a class from its fields."""
    initializer = vars(cls).get("__init__")
    if isinstance(initializer, FunctionType) and _is_generated(initializer):
        names = mentioned(initializer, sys._getframe(1))
        guarded = _guarded(initializer, names, generated=True)
        if guarded is not initializer:
            cls.__init__ = guarded  # type: ignore[misc]  # of this very class
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
    except NameError:  # Python 3.14 evaluates them here, and what they name may come later
        return True
    found = (mentions(annotation, names, function.__globals__) for annotation in annotations.values())
    # An initializer may bind the sizes that the methods of its class name.
    starts = function.__name__ == "__init__"
    return any(one.tensor or one.unknown or (starts and one.variable) for one in found)
