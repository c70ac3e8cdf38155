"""Upsample gives the result of its op, and has a repr."""

from __future__ import annotations

import numpy as np

from tapegrad.nn import Upsample
from tapegrad.ops import normal, upsample2d


def test_a_layer_equals_its_op() -> None:
    x = normal((2, 3, 4, 5), rng=0)

    np.testing.assert_array_equal(Upsample(2)(x).numpy(), upsample2d(x, 2).numpy())
    np.testing.assert_array_equal(
        Upsample(3, mode="bilinear", align_corners=True)(x).numpy(),
        upsample2d(x, 3, mode="bilinear", align_corners=True).numpy(),
    )


def test_a_layer_has_a_repr() -> None:
    assert repr(Upsample(2)) == "Upsample(2)"
    assert repr(Upsample(2, mode="bilinear")) == "Upsample(2, mode='bilinear')"
