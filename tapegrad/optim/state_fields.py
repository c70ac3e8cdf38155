"""The fields of an optimizer's state of one parameter, which is None or a dataclass of arrays and ints."""

from __future__ import annotations

import functools
from dataclasses import fields
from typing import Any


def names_of(state: Any) -> tuple[str, ...]:
    """Return the field names of a state."""
    kind: Any = type(state)  # Any: mypy does not treat a class as hashable
    return () if state is None else _names(kind)


@functools.cache  # called in each step
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
