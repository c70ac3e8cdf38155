"""Random number generators: the generator passed to an op, else that of the innermost `random`, else a new one."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tapegrad.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    RNG: TypeAlias = np.random.Generator | int | None
    State: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_WORD = 2**64
_current: ContextVar[np.random.Generator | None] = ContextVar("_current", default=None)
substitutions: ContextVar[Any] = ContextVar("substitutions", default=None)  # Any: the class needs JAX
"""A function that gives a traced step a generator; NumPy's would draw its numbers only once, during tracing."""


def __getattr__(name: str) -> Any:
    """Return `RNG`, created on first use.

    It imports `numpy.random`, which not every program needs (benchmarks/overhead.py, "import tapegrad").
    """
    if name != "RNG":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return np.random.Generator | int | None


@contextmanager
def random(seed: int) -> Iterator[np.random.Generator]:
    """Seed the generator that all random ops inside the block use.

    Args:
        seed: A non-negative int.

    Yields:
        The generator.

    Raises:
        DTypeError: `seed` is not a non-negative int.

    Examples:
        >>> with tg.random(0):
        ...     x = tg.normal((2, 3))
        >>> with tg.random(0):
        ...     y = tg.normal((2, 3))
        >>> (x == y).all().item()
        True
    """
    generator = _seeded(seed, "seed")
    token = _current.set(generator)
    try:
        yield generator
    finally:
        _current.reset(token)


def current() -> np.random.Generator | None:
    """Return the generator of the innermost `random`, or None outside of one."""
    return _current.get()


def generator(rng: RNG = None, call: str = "") -> np.random.Generator:
    """Return `rng` as a generator: itself, one seeded with it, or for None the current one or else a new one.

    An error names the function or the layer that is called, if it is given.

    Raises:
        DTypeError: `rng` is neither a generator nor a non-negative int.
    """
    replace = substitutions.get()
    if replace is not None and (other := replace(rng)) is not None:
        return other  # type: ignore[no-any-return]  # it has the methods of a Generator
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return _current.get() or np.random.default_rng()
    return _seeded(rng, f"{call}: rng" if call else "rng")


def check_rng(rng: RNG) -> None:
    """Check that a generator can be made of `rng`, where none is needed.

    Raises:
        DTypeError: `rng` is neither a generator nor a non-negative int.
    """
    if rng is not None and substitutions.get() is None and not isinstance(rng, np.random.Generator):
        _seeded(rng, "rng")


def _seeded(seed: int, name: str) -> np.random.Generator:
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        is_seed = name.endswith("seed")
        expected = "a whole number from 0 on" if is_seed else "a generator, or a whole number from 0 on,"
        message = f"{name} is {seed!r} but {expected} is expected"
        raise DTypeError(message)
    return np.random.default_rng(int(seed))


def state_of(generator: np.random.Generator) -> State:
    """Return the state of a generator: two 128-bit ints, low word first, and a buffered 32-bit draw.

    Raises:
        ValueError: The generator is not a PCG64, the kind that `numpy.random.default_rng` returns.
    """
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        message = f"a {generator}, but only a Generator(PCG64) can be saved"
        raise ValueError(message)
    words = [word for number in state["state"].values() for word in (number % _WORD, number // _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)


def restore(generator: np.random.Generator, state: State) -> None:
    """Set a generator to a state that `state_of` returned.

    Raises:
        ValueError: The array is not such a state: the buffered draw exceeds 32 bits, or the increment is even.
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
