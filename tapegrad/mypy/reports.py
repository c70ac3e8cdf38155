"""Where the plugin speaks: its error codes, and a message at the user's line."""

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
    """Which layer is being judged: how a message of its `forward` is told with the place where it stands."""

    retold: Callable[[str], str] | None = None


def report(api: Any, message: str, context: Context, kind: str) -> None:
    """Print a message at the user's line."""
    api.fail(message if Thread.retold is None else Thread.retold(message), context, code=CODES[kind])
