"""Where random numbers come from: a generator given by hand, else the innermost `random`, else fresh entropy."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tapegrad.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    RNG: TypeAlias = np.random.Generator | int | None
    State: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_WORD = 2**64
_current: ContextVar[np.random.Generator | None] = ContextVar("_current", default=None)
stand_in: ContextVar[Any] = ContextVar("stand_in", default=None)  # Any: its class stands on JAX
"""What gives a traced step a generator in the place of NumPy's, whose numbers would be drawn but once."""


def __getattr__(name: str) -> Any:
    """Make `RNG` when it is first asked for: `numpy.random` takes 10 ms to import, and not every program draws."""
    if name != "RNG":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return np.random.Generator | int | None


@contextmanager
def random(seed: int) -> Iterator[np.random.Generator]:
    """Make every random op inside the block draw from one generator.

    Args:
        seed: Any whole number from 0 on.

    Yields:
        The generator.

    Raises:
        DTypeError: `seed` is something else.
    """
    generator = _seeded(seed, "seed")
    token = _current.set(generator)
    try:
        yield generator
    finally:
        _current.reset(token)


def current() -> np.random.Generator | None:
    """Return the generator of the innermost `random`."""
    return _current.get()


def generator(rng: RNG = None) -> np.random.Generator:
    """Return `rng` as a generator: itself, one seeded with it, or for None the one in force.

    Raises:
        DTypeError: It is neither a generator nor a whole number from 0 on.
    """
    replace = stand_in.get()
    if replace is not None and (other := replace(rng)) is not None:
        return other  # type: ignore[no-any-return]  # it draws by the same names
    if isinstance(rng, np.random.Generator):
        return rng
    return _seeded(rng, "rng") if rng is not None else _current.get() or np.random.default_rng()


def _seeded(seed: int, name: str) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        expected = "a whole number from 0 on" if name == "seed" else "a generator, or a whole number from 0 on,"
        message = f"{name} is {seed!r} but {expected} is expected"
        raise DTypeError(message) from None


def state_of(generator: np.random.Generator) -> State:
    """Return the state of a generator: two numbers of 128 bits, low word first, and half a draw that is left over.

    Raises:
        ValueError: The generator is not of the kind that `numpy.random.default_rng` makes.
    """
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        message = f"a {generator}, but only a Generator(PCG64) can be saved"
        raise ValueError(message)
    words = [word for number in state["state"].values() for word in (number % _WORD, number // _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)


def restore(generator: np.random.Generator, state: State) -> None:
    """Put a generator into a state that `state_of` gave.

    Raises:
        ValueError: It gives no such state: what would be left over of a draw is more than half of one.
    """
    low, high, increment_low, increment_high, has_uint32, uinteger = state.tolist()
    if has_uint32 > 1 or uinteger >= 2**32 or not increment_low % 2:
        message = f"{state.tolist()} is no state of a generator"
        raise ValueError(message)
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high * _WORD + low, "inc": increment_high * _WORD + increment_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
