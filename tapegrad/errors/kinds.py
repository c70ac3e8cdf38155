"""The kinds of options of ops, by their annotations: the same words at run time and in mypy."""

from __future__ import annotations

import ast
import re
from numbers import Real
from typing import Final

from tapegrad.errors import messages

INT, INTS, NUMBER, STRING = "an int", "a tuple of ints", "a number", "a string"
_KINDS: Final = {
    **dict.fromkeys(("int", "Int"), (INT,)),
    **dict.fromkeys(("float", "Scalar"), (NUMBER,)),
    "str": (STRING,),
    "Sizes": (INTS,),
    "SizesOrList": (INTS,),
    "list[int]": (INTS,),
    "Axis": (INT, INTS),
    "Reduction": ("'mean'", "'sum'", "'none'"),
}
_PARTS: Final = re.compile(r"\s*\|\s*(?![^\[]*\])")  # the bars of a union that are in no brackets
_OF_INTS: Final = re.compile(r"tuple\[(tuple\[)?(int|Int)\b[^|]*\]")
_WORDS: Final = re.compile(r"Literal\[(.+)\]")
_LONGEST: Final = 40


def kinds_of(annotation: str) -> tuple[str, ...]:
    """Return what an argument may be by its annotation, without None; nothing for other annotations, such as tensors.

    Words are in quotes.

    Examples:
        >>> tg.errors.kinds.kinds_of("int | tuple[int, int]")
        ('an int', 'a tuple of ints')
    """
    found: dict[str, None] = {}
    for part in _PARTS.split(annotation):
        words = _WORDS.fullmatch(part)
        kinds = (INTS,) if _OF_INTS.fullmatch(part) else _KINDS.get(part)
        kinds = tuple(map(repr, ast.literal_eval(f"{words[1]},"))) if words else kinds
        if part != "None" and kinds is None:
            return ()
        found.update(dict.fromkeys(kinds or ()))
    kinds = [kind for kind in (INT, INTS, NUMBER, STRING) if kind in found]
    return (*kinds, *(word for word in found if word not in kinds))


def described(value: object) -> str:
    """Return a value for a message: a short number, text, tuple or list as it is written, of others the kind.

    Examples:
        >>> tg.errors.kinds.described("a"), tg.errors.kinds.described(object())
        ("'a'", 'an object')
    """
    is_short = value is None or isinstance(value, Real | complex | str | tuple | list)
    text = repr(value) if is_short else ""
    return text if text and len(text) <= _LONGEST else messages.with_article(type(value).__name__)


def wrong_kind(option: str, given: str, kinds: tuple[str, ...]) -> str:
    """Return the message for an argument of another kind: `axis is 'a' but an int or a tuple of ints is expected`."""
    *others, last = kinds
    return f"{option} is {given} but {', '.join(others)}{' or ' if others else ''}{last} is expected"
