"""Sizes that have a name and no number while a step is exported: the symbolic dimensions of JAX."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tapegrad import engines
from tapegrad.jax.library import jax
from tapegrad.sizes.symbols import SYMBOLS, UNDECIDED, proven

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tapegrad.engines import Backend


def register(sizes: Iterable[Any], engine: Backend[Any]) -> None:
    """Let ops take sizes of the class of symbolic ones as they take ints; the engine creates arrays of such sizes."""
    UNDECIDED.add(jax.errors.InconclusiveDimensionOperation)
    for size in sizes:
        if not isinstance(size, int):
            kind: Any = type(size)
            kinds = kind, _class_of_counts(kind)
            SYMBOLS.update(kinds)
            engines.register(engine, *kinds)


def count_of(size: Any) -> Any:
    """Return a number of elements, which ops compare with thresholds to choose one of two implementations.

    JAX rejects a comparison that holds for some numbers and not for others; here it is false.
    """
    if isinstance(size, int) or hasattr(size, "plain"):
        return size
    kind: Any = type(size)
    count = object.__new__(_class_of_counts(kind))
    for name in kind.__slots__:
        setattr(count, name, getattr(size, name))
    count.plain = size
    return count


@cache
def _class_of_counts(kind: Any) -> Any:
    def compared(name: str) -> Callable[[Any, Any], bool]:
        return lambda self, other: proven(getattr(kind, name), self, other)

    def computed(name: str) -> Callable[[Any, Any], Any]:
        return lambda self, other: count_of(getattr(kind, name)(self, other))

    members: dict[str, Any] = {name: compared(name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}
    members |= {name: computed(name) for name in ("__add__", "__radd__", "__mul__", "__rmul__")}
    return type("Count", (kind,), {"__slots__": ("plain",), **members})
