"""A moment: JAX computes and what it has computed is taken over, and no interrupt comes in between."""

from __future__ import annotations

from collections import deque
from importlib import import_module
from itertools import chain, starmap
from signal import SIGINT, raise_signal
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# Any: it has no stubs. The module `signal` asks of all that goes through it whether it is an enumeration: 5 µs.
_signals: Any = import_module("_signal")


def at_once(*calls: Iterable[object]) -> None:
    """Go through what calls functions that are not written in Python, in one instruction of Python's.

    JAX has Python of its own, so that Ctrl-C has to wait until all is done, and comes then.
    """
    before = _signals.getsignal(SIGINT) if get_ident() == main_thread().ident else None
    if not callable(before):  # no signal reaches this thread, or none that Python answers
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
