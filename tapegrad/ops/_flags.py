"""Options that are bools."""

from __future__ import annotations

from typing import Any

from tapegrad.errors import DTypeError, messages


def flag(given: Any, name: str) -> bool:
    """Return an option of an op as a bool.

    Raises:
        DTypeError: It is neither a bool nor one of NumPy.
    """
    if not isinstance(given, bool) and str(getattr(given, "dtype", "")) != "bool":
        message = f"{name} is {messages.with_article(type(given).__name__)} but a bool is expected"
        raise DTypeError(message)
    return bool(given)
