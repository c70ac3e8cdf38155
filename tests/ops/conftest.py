"""Fixtures of the tests of ops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tapegrad.engines import engine
from tapegrad.engines.numba.engine import Fast, use_fast


@pytest.fixture(params=[False, True], ids=["NumPy", "kernels"])
def numpy_and_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test on NumPy alone and with compiled kernels."""
    if request.param:
        pytest.importorskip("numba")
    was_on = type(engine(np.ones(1))) is Fast
    use_fast(is_on=request.param)
    yield
    use_fast(is_on=was_on)
