"""Change several objects together or not at all: the changes are made within one bytecode instruction.

A signal handler or another thread runs only between two bytecode instructions. Calls of functions written in C that an
iterator makes while `list` consumes it are all part of one instruction. In a free-threaded build of Python, other
threads run in parallel, and this holds for signal handlers only.
"""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from signal import SIGINT, raise_signal
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Any: it has no stubs. The public `signal` makes an enumeration of each result (benchmarks/devices.py, "signal").
_signals: Any = import_module("_signal")


def commit(*changes: Iterable[object]) -> None:
    """Consume iterators that call functions written in C, without a signal handler or another thread in between.

    Args:
        changes: Iterators, consumed in order. If one raises an error, the calls after it are not made: checks therefore
            come before the first change.

    Examples:
        >>> from tapegrad.transactions import commit
        >>> first, second = {}, {}
        >>> commit(map(first.setdefault, "ab", [1, 2]), map(second.setdefault, "ab", [3, 4]))
        >>> first, second
        ({'a': 1, 'b': 2}, {'a': 3, 'b': 4})
    """
    list(chain(*changes))


def commit_delaying_interrupts(*changes: Iterable[object]) -> None:
    """Consume iterators as `commit` does, where a call may run Python code: Ctrl-C takes effect when all are done.

    Args:
        changes: Iterators, consumed in order.
    """
    before = _signals.getsignal(_CTRL_C) if get_ident() == main_thread().ident else None
    if not callable(before):  # no signal reaches this thread, or no Python handler is set
        commit(*changes)
        return
    came: dict[int, Any] = {}
    try:
        _signals.signal(_CTRL_C, came.setdefault)
        list(chain(*changes))
        _signals.signal(_CTRL_C, before)
    except BaseException:
        _signals.signal(_CTRL_C, before)
        raise
    finally:
        if came:
            came.clear()  # it holds a frame
            raise_signal(SIGINT)


_CTRL_C: Final = int(SIGINT)  # the enumeration would be converted at each use
