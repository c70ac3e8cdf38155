"""Tracing by JAX without its frames in the tracebacks of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.jax.library import jax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _StoppedError(Exception):
    """The function has raised an error."""


def jaxpr_of(run: Callable[..., Any], structs: Sequence[Any]) -> Any:
    """Trace a function; its errors are kept from JAX, which would extend their tracebacks."""
    raised: list[Exception] = []

    def guarded(*arrays: Any) -> Any:
        try:
            return run(*arrays)
        except Exception as error:  # noqa: BLE001  # raised again unchanged
            raised.append(error)
            raise _StoppedError from None

    try:
        return jax.make_jaxpr(guarded)(*structs)
    except _StoppedError:
        pass
    try:
        error = raised.pop()
        raise error.with_traceback(error.__traceback__) from None
    finally:
        del error  # a frame that holds its own error is a cycle
