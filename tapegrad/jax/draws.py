"""Random numbers of a traced step: a NumPy generator gives a seed at each call, from which `jax.random` draws."""

from __future__ import annotations

from itertools import repeat
from operator import call
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.errors import TapeError
from tapegrad.generator import current
from tapegrad.jax.library import jax
from tapegrad.jax.traced import Traced, computed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tapegrad.generator import RNG
    from tapegrad.jax.access import Access

SEED_BYTES: Final = 8
NO_CREATION: Final = "under jit, layers and batches are created outside the step and passed as arguments"
NO_SEED: Final = np.zeros(SEED_BYTES // 4, np.uint32)


def seeds_of(generators: Sequence[np.random.Generator]) -> Iterator[np.ndarray[Any, Any]]:
    """Yield a seed for `jax.random` per generator and call, so that a generator that is saved and restored continues.

    The seeds are drawn lazily, without running Python code in between.
    """
    draws = [generator.bytes for generator in generators]
    return map(np.frombuffer, map(call, draws, repeat(SEED_BYTES)), repeat(np.uint32))


class Draws:
    """A replacement for a NumPy generator, with methods of the same names."""

    def __init__(self, seed: Traced) -> None:
        self.key = computed(jax.random.wrap_key_data, seed, impl="threefry2x32")
        self.is_used = False

    def random(self, shape: tuple[int, ...], dtype: Any = np.float32) -> Traced:
        """Draw uniformly from 0 to below 1."""
        return self._drawn(lambda key: jax.random.uniform(key, shape, dtype))

    def uniform(self, low: float, high: float, shape: tuple[int, ...], dtype: Any = np.float32) -> Traced:
        """Draw uniformly between two limits."""
        return self.random(shape, dtype) * (high - low) + low

    def normal(self, mean: float, std: float, shape: tuple[int, ...], dtype: Any = np.float32) -> Traced:
        """Draw from a normal distribution."""
        return self._drawn(lambda key: jax.random.normal(key, shape, dtype)) * std + mean

    def __getattr__(self, name: str) -> Any:
        """Reject what only the construction of a layer or of batches asks of a generator."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise TapeError(NO_CREATION)

    def _drawn(self, draw: Callable[[Any], Any]) -> Traced:
        self.is_used = True
        self.key, key = computed(lambda key: tuple(jax.random.split(key)), self.key)
        drawn: Traced = computed(draw, key)
        return drawn


class Substitutions:
    """The mapping from generators to their replacements while a step is traced.

    Args:
        given: The replacements of the generators that the step was given.
        ambient: That of the innermost `tapegrad.random` around the call, or of fresh entropy.
        access: What else the step may read.
        is_on_one_device: Whether the step computes on one device.
    """

    def __init__(
        self,
        given: Mapping[np.random.Generator, Draws],
        ambient: Draws,
        access: Access,
        *,
        is_on_one_device: bool = True,
    ) -> None:
        self.given = given
        self.ambient = ambient
        self.access = access
        self.is_on_one_device = is_on_one_device
        self.around = current()

    def call_back(self, function: Callable[..., None], *values: Any) -> None:
        """Call a function with the numbers of values each time the program has them, in the order of these calls."""
        ordered = self.is_on_one_device  # JAX cannot order calls on several
        computed(jax.debug.callback, function, *values, ordered=ordered)

    def __call__(self, rng: RNG) -> Draws | None:
        """Return the replacement for `rng`; None for an integer seed, which gives the same numbers at each call.

        Raises:
            TapeError: `rng` is a generator that is no argument of the step, or a layer is created in the step.
        """
        if isinstance(rng, Draws):  # only layers pass on what `generator` returned
            raise TapeError(NO_CREATION)
        if isinstance(rng, np.random.Generator):
            if rng not in self.given:
                message = (
                    "a generator is used that is no argument of the step under jit, so it would draw only once: "
                    "pass it as an argument"
                )
                raise TapeError(message)
            return self.given[rng]
        return self.ambient if rng is None and current() is self.around else None
