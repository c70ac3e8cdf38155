"""Random generators as arrays: what a file keeps of one, so that a resumed run draws what the other would have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.io.formats import FileError

if TYPE_CHECKING:
    from tapegrad.io.formats import Array

_WORD = 2**64


def array_of(call: str, path: str, generator: np.random.Generator) -> Array:
    """Returns the state of a generator: two numbers of 128 bits, low word first, and half a draw that is left over.

    Raises:
        FileError: The generator is not of the kind that `numpy.random.default_rng` makes.
    """
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        message = f"{call}: {path} is a {generator}, but only a Generator(PCG64) can be saved"
        raise FileError(message)
    words = [word for number in state["state"].values() for word in (number % _WORD, number // _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)


def restore(generator: np.random.Generator, array: Array) -> None:
    """Puts a generator into a state that `array_of` gave."""
    low, high, increment_low, increment_high, has_uint32, uinteger = array.tolist()
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high * _WORD + low, "inc": increment_high * _WORD + increment_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
