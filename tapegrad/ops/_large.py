"""Elementwise functions of large arrays, of which the engine may know a better way than one operator at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import engine

if TYPE_CHECKING:
    from collections.abc import Callable


def elementwise(function: Callable[..., Any], *values: Any) -> Any:
    """Apply an elementwise function to raw values as their engine does it best."""
    return engine(*values).fuse(function, *values)
