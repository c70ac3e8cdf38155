"""Uninterruptible sections: JAX computes and the results are stored, without an interrupt in between."""

from __future__ import annotations

from collections import deque
from importlib import import_module
from itertools import chain, starmap
from signal import SIGINT, raise_signal
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# Any: it has no stubs. The public module `signal` converts each result to an enumeration, which takes 5 µs.
_signals: Any = import_module("_signal")


def at_once(*calls: Iterable[object]) -> None:
    """Consume iterators that call functions written in C, inside a single bytecode instruction.

    JAX itself runs Python code, so a handler delays Ctrl-C until all calls are done.
    """
    before = _signals.getsignal(SIGINT) if get_ident() == main_thread().ident else None
    if not callable(before):  # no signal reaches this thread, or no Python handler is set
        deque(chain(*calls), maxlen=0)
        return
    came: dict[int, Any] = {}
    wait, answer = [(SIGINT, came.setdefault)], [(SIGINT, before)]
    try:
        deque(chain(starmap(_signals.signal, wait), *calls, starmap(_signals.signal, answer)), maxlen=0)
    except BaseException:
        _signals.signal(SIGINT, before)
        raise
    finally:
        if came:
            came.clear()  # it holds a frame
            raise_signal(SIGINT)
