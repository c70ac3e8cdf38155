"""Texts of configurations that a program has as constants, such as the JSON in `json.loads(TEXT)`."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any, Final

from tapegrad.mypy.scopes.frames import Items, Keywords, Nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.mypy.scopes.frames import Value

PARSERS: Final[dict[str, Callable[[str], Any]]] = {"json.loads": json.loads, "tomllib.loads": tomllib.loads}
_LONGEST: Final = 10_000  # characters; far more than a configuration has


def value_of_text(parser: str, text: str) -> Value:
    """Return the value that a function such as `json.loads` makes of a text; None if it rejects the text."""
    try:
        return _value(PARSERS[parser](text)) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None


def _value(of: Any) -> Value:
    match of:
        case dict():
            return Keywords(tuple((name, _value(one)) for name, one in of.items()))
        case list():
            return Items((*map(_value, of),))
        case None:
            return Nothing()
    return of if isinstance(of, bool | int | float | str) else None
