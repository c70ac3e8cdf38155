"""The checks left to beartype and jaxtyping; both are imported only if a check needs them."""

from __future__ import annotations

from types import FunctionType
from typing import Any, get_args


def with_beartype(function: FunctionType, hints: dict[str, Any]) -> Any:
    """Return a function that beartype checks against these annotations; it is `jaxtyped` if one is jaxtyping's."""
    from beartype import beartype

    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__dict__.update(function.__dict__)
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    copy.__qualname__, copy.__annotations__ = function.__qualname__, hints
    if not any(map(_is_jaxtyping, hints.values())):
        return beartype(copy)
    from jaxtyping import jaxtyped

    return jaxtyped(copy, typechecker=beartype)


def _is_jaxtyping(hint: Any) -> bool:
    if isinstance(hint, list | tuple):  # the parameters of a Callable
        return any(map(_is_jaxtyping, hint))
    return type(hint).__module__.startswith("jaxtyping.") or any(map(_is_jaxtyping, get_args(hint)))
