"""Elementwise functions of large arrays, which an engine may fuse instead of running one operator at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.engines import engine

if TYPE_CHECKING:
    from collections.abc import Callable


def elementwise(function: Callable[..., Any], *values: Any) -> Any:
    """Apply an elementwise function to raw values, fused where their engine does that."""
    return engine(*values).fuse(function, *values)
