"""Activations as modules: they do what their op does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.nn import ReLU, Tanh
from tapegrad.ops import relu, tanh, tensor


@pytest.mark.parametrize(("module", "function"), [(ReLU(), relu), (Tanh(), tanh)])
def test_an_activation_computes_its_op(module: Any, function: Any) -> None:
    x: Any = tensor([[-1.0, 0.0, 2.0]], np.float64)

    y = module(x.trace())

    assert y.tolist() == function(x).tolist()
    assert y.owns_tape
    assert module.parameters() == {}


def test_an_activation_says_what_it_is() -> None:
    assert repr(ReLU()) == "ReLU()"
    assert repr(Tanh()) == "Tanh()"
