"""NumPy's ufuncs: each is an op, under its own name, that of the array API or that of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.autograd.registry import OPS
from tapegrad.errors.numpy_functions import UFUNCS as OTHER_NAMES

UFUNCS = sorted({value.__name__: value for value in vars(np).values() if isinstance(value, np.ufunc)})
LEFT_OUT = {
    "conjugate": "no tensor holds complex numbers",
    "isnat": "no tensor holds dates",
}
TESTED_BY_VALUE = sorted(set(OTHER_NAMES) - {"left_shift", "right_shift", "invert"})


def test_every_ufunc_is_an_op_or_has_a_reason() -> None:
    named = {name: OTHER_NAMES.get(name, name) for name in UFUNCS if name not in LEFT_OUT}

    assert {name for name, op in named.items() if op not in OPS or not hasattr(ops, op)} == set()
    assert [name for name in [*OTHER_NAMES, *LEFT_OUT] if name not in UFUNCS] == []
    assert [name for name in OTHER_NAMES if name in OPS] == []


@pytest.mark.parametrize("name", TESTED_BY_VALUE)
@np.errstate(invalid="ignore")
def test_another_name_is_the_same_function(name: str) -> None:
    ufunc = getattr(np, name)
    x: Any = np.array([0.25, 0.5, 1.5, 2.5, -0.25])
    operands = [x, x[::-1].copy()][: ufunc.nin]

    y = ufunc(*map(ops.tensor, operands))

    np.testing.assert_allclose(y.numpy(), ufunc(*operands), rtol=1e-14)


@pytest.mark.parametrize("name", ["left_shift", "right_shift", "invert"])
def test_another_name_is_the_same_function_of_ints(name: str) -> None:
    ufunc = getattr(np, name)
    operands = [np.array([5, -6, 70]), np.array([1, 2, 3])][: ufunc.nin]

    assert ufunc(*map(ops.tensor, operands)).tolist() == ufunc(*operands).tolist()
