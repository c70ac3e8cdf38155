"""The plugin's error codes, and the function that reports an error at the user's line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mypy.errorcodes import ErrorCode, error_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.nodes import Context


CODES = {
    kind: ErrorCode(f"tapegrad-{kind}", f"A {kind} does not fit", "tapegrad") for kind in ("shape", "tape", "dtype")
}
# The entry module defines these: mypy reads them before any file.
INTERNAL: Final = error_codes["tapegrad-internal"]
UNUSED: Final = error_codes["tapegrad-unused"]
UNKNOWN: Final = error_codes["tapegrad-unknown"]


class CurrentLayer:
    """The layer that is being checked: the function that adds its path to each message, if any."""

    add_path: Callable[[str], str] | None = None


@contextmanager
def with_path(add_path: Callable[[str], str] | None) -> Iterator[None]:
    """Pass every message about a call through a function that adds the path of the layer; through none, if None."""
    outer, CurrentLayer.add_path = CurrentLayer.add_path, add_path
    try:
        yield
    finally:
        CurrentLayer.add_path = outer


def report(api: Any, message: str, context: Context, kind: str) -> None:
    """Report an error at the user's line."""
    api.fail(message if CurrentLayer.add_path is None else CurrentLayer.add_path(message), context, code=CODES[kind])
