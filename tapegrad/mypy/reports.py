"""The plugin's error codes, and the function that reports an error at the user's line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.errorcodes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Context


CODES = {
    kind: ErrorCode(f"tapegrad-{kind}", f"A {kind} does not fit", "tapegrad") for kind in ("shape", "tape", "dtype")
}


class Thread:
    """The layer that is being checked: the function that adds its path to each message, if any."""

    retold: Callable[[str], str] | None = None


def report(api: Any, message: str, context: Context, kind: str) -> None:
    """Report an error at the user's line."""
    api.fail(message if Thread.retold is None else Thread.retold(message), context, code=CODES[kind])
