"""Sizes of other libraries that have a name and no number at run time, such as those of a program that is exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SYMBOLS: Final[set[type]] = set()
"""The classes of such sizes; an engine adds its own."""
UNDECIDED: Final[set[type[Exception]]] = set()
"""What their operators raise if the result depends on the number."""


def is_symbol(size: object) -> bool:
    """Return whether a size has no number at run time."""
    return type(size) in SYMBOLS


def proven(compare: Callable[[Any, Any], Any], a: object, b: object) -> bool:
    """Return whether a comparison of two sizes, one of which is a symbol, holds for all numbers."""
    try:
        return bool(compare(a, b))
    except tuple(UNDECIDED):
        return False
