"""Random numbers: the given generator, else the innermost seed, else fresh entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError
from tapegrad.generator import generator, random
from tapegrad.ops import normal


def test_the_innermost_seed_is_active() -> None:
    def drawn() -> list[float]:
        values: list[float] = normal((3,)).tolist()
        return values

    with random(1):
        outer = drawn()
        with random(2):
            inner = drawn()
        rest = drawn()

    with random(1):
        assert drawn() == outer
        assert drawn() == rest
    with random(2):
        assert drawn() == inner


def test_a_seed_ends_when_its_block_raises() -> None:
    with pytest.raises(RuntimeError), random(1):
        raise RuntimeError

    assert generator() is not generator()


def test_without_a_seed_entropy_is_fresh() -> None:
    assert normal((3,)).tolist() != normal((3,)).tolist()


def test_a_given_generator_is_used() -> None:
    given = np.random.default_rng(7)

    with random(1) as innermost:
        assert generator(given) is given
        assert generator() is innermost
        assert generator(7).random() == np.random.default_rng(7).random()
        assert generator(0).random() == np.random.default_rng(0).random()


def test_a_seed_must_be_an_int() -> None:
    seed: Any = "a"
    with pytest.raises(DTypeError, match=r"^seed is 'a' but a whole number from 0 on is expected$"), random(seed):
        pass
