"""The attributes of an object, and whether it consists of its attributes alone."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNSET: Final = object()
"""A placeholder for a missing value: an empty slot, or a variable without a value."""


class Slots:
    """The attributes of an object in slots, as a container of those that are set."""

    def __init__(self, value: Any) -> None:
        self.value = value
        kind: Any = type(value)
        self.members: Mapping[str, Any] = slots_of(kind)

    def __iter__(self) -> Iterator[str]:
        return (name for name, held in zip(self.members, self.values(), strict=True) if held is not UNSET)

    def __getitem__(self, name: str) -> Any:
        return self.members[name].__get__(self.value)

    def __setitem__(self, name: str, part: Any) -> None:
        self.members[name].__set__(self.value, part)  # works for frozen classes too

    def values(self) -> list[Any]:
        """Return the value of each slot."""
        held: list[Any] = []
        for member in self.members.values():
            try:
                held.append(member.__get__(self.value))
            except AttributeError:
                held.append(UNSET)
        return held


@lru_cache(maxsize=4096)
def slots_of(kind: Any) -> Mapping[str, Any]:
    """Return the slots of a class and its base classes, by name."""
    found: dict[str, Any] = {}
    for one in reversed(kind.__mro__):
        for name, member in vars(one).items() if "__slots__" in vars(one) else ():
            if isinstance(member, MemberDescriptorType):
                found[f"{one.__qualname__}.{name}" if name in found else name] = member
    return MappingProxyType(found)


def is_its_attributes(value: Any) -> bool:
    """Return whether an object consists of its attributes alone, as an instance of a class written in Python does.

    Objects of the standard library are compared by identity, because a logger refers to all other loggers. The
    exceptions are those that only hold their arguments.
    """
    kind: Any = type(value)
    is_standard = kind.__module__.partition(".")[0] in sys.stdlib_module_names
    return has_python_layout(kind) and (not is_standard or kind.__module__ in _HOLDERS)


@lru_cache(maxsize=4096)
def has_python_layout(kind: Any) -> bool:
    """Return whether instances of a class have attributes and slots, and no other memory."""
    if issubclass(kind, SimpleNamespace):
        return True
    names = [f"slot{place}" for place in range(len(slots_of(kind)))]
    names += ["__dict__"] * bool(kind.__dictoffset__) + ["__weakref__"] * bool(kind.__weakrefoffset__)
    alike: Any = type("Alike", (), {"__slots__": names})
    return bool(kind.__itemsize__ == 0 and kind.__basicsize__ == alike.__basicsize__)


_HOLDERS: Final = frozenset({"argparse", "collections", "fractions", "types"})
