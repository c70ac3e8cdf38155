"""Trimmed tracebacks: they end at the line that called the library, unless `full_tracebacks` is set."""

from __future__ import annotations

import functools
import os
import sys
from inspect import isgeneratorfunction, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import tapegrad.errors  # not `from tapegrad import errors`: that calls its `__getattr__`, which imports this module

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

F = TypeVar("F", bound="Callable[..., Any]")

_PACKAGE_FOLDER: Final = __file__.removesuffix(f"errors{os.sep}tracebacks.py")
_BINDERS: Final = (__file__, f"{_PACKAGE_FOLDER}autograd{os.sep}op.py")  # modules that forward a call
_BELOW: Final = sys.stdlib_module_names | {"numpy", "jax", "typing_extensions"}  # packages whose frames tapegrad calls
_DUNDER_METHODS: Final = {"__init__", "__call__", "__getitem__", "__setitem__", "__len__", "__iter__", "__array__"}


def trim_traceback(error: BaseException | None) -> None:
    """Remove the library's frames from the traceback of an error that the library raised.

    Re-raise the error with a bare `raise`: `raise error` would add the current frame to the traceback again.
    The end of a generator is not an error, and may come when the interpreter ends and nothing can be imported.
    """
    if isinstance(error, Exception) and not tapegrad.errors.full_tracebacks and _is_ours(error):
        error.__traceback__ = _outside(error.__traceback__)
        trim_traceback(error.__cause__)


class _TrimOnExit:
    """A context manager that trims the traceback of an error raised in its block."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        trim_traceback(error)


trim_on_exit: Final = _TrimOnExit()


def public_api(thing: F) -> F:
    """Trim the tracebacks of errors from a function of the library, or from the public methods of a class."""
    if isinstance(thing, type):
        for name, member in list(vars(thing).items()):
            if isinstance(member, FunctionType) and (name in _DUNDER_METHODS or not name.startswith("_")):
                setattr(thing, name, public_api(member))
        return thing

    @functools.wraps(thing)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return thing(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            if kwargs and type(error) is TypeError:
                with trim_on_exit:
                    _reject_other_names(thing, kwargs, error)
            raise

    @functools.wraps(thing)
    def walk(*args: Any, **kwargs: Any) -> Any:
        with trim_on_exit:
            yield from thing(*args, **kwargs)

    return walk if isgeneratorfunction(thing) else call  # type: ignore[return-value]  # with the signature of `thing`


def _reject_other_names(function: Callable[..., Any], given: dict[str, Any], error: TypeError) -> None:
    """Raise another error if Python raised this one because an argument has its name of PyTorch; see `other_names`.

    Python raised it if there is no frame of the function.
    """
    if error.__traceback__ is None or error.__traceback__.tb_next is None:
        from tapegrad.errors.other_names import unexpected  # not at the top: it imports this module

        message = unexpected(function.__name__, given, signature(function).parameters)
        if message:
            raise TypeError(message) from None


def _is_ours(error: BaseException) -> bool:
    """Return whether the library raised an error: one of its own, a built-in one, or a call that does not match.

    The attribute `op`, even an empty one, marks a built-in error as raised by the library. That depends on the frame
    that raised it, which the innermost trimming removes, and the error may pass through others.
    """
    if not hasattr(error, "op") and _is_raised_inside(error):
        error.__dict__["op"] = ""
    return hasattr(error, "op")


def _is_raised_inside(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not _is_inside(trace.tb_frame):
        return False
    is_binding = isinstance(error, TypeError) and trace.tb_frame.f_code.co_filename in _BINDERS
    return is_binding or _raises(trace.tb_frame, trace.tb_lasti)


def _raises(frame: FrameType, at: int) -> bool:
    """Return whether a `raise` statement of this frame raised the error, and not code that the frame called."""
    import opcode

    return opcode.opname[frame.f_code.co_code[at]] == "RAISE_VARARGS"


def _is_inside(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE_FOLDER) or _package(frame) == "tapegrad"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the library and of the packages that it called."""
    outside: list[TracebackType] = []
    inside = False
    while trace is not None:
        inside = _is_inside(trace.tb_frame) or (inside and _package(trace.tb_frame) in _BELOW)
        if not inside:
            outside.append(trace)
        trace = trace.tb_next
    below: TracebackType | None = None
    for one in reversed(outside):
        below = type(one)(below, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return below
