"""Selection of the engine that computes with a value."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from typing import Any, get_args

import numpy as np
import pytest

from tapegrad.autodiff import Autodiff
from tapegrad.autograd.registry import IMPLEMENTATIONS
from tapegrad.engines import Elementwise, Pairwise, engine
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.nn.shape_engine import ShapeEngine, ShapeValue
from tapegrad.ops import ones, tensor
from tapegrad.tensors import Tensor


def test_arrays_and_numpy_scalars_belong_to_numpy() -> None:
    for value in (np.ones(3), np.float32(1), np.float64(1), np.int8(1), np.bool_(1)):
        assert isinstance(engine(value), NumPy)


def test_a_value_that_is_not_numpys_selects_the_engine() -> None:
    x, array = ones((3,)), np.ones(3)

    assert isinstance(engine(array, array), NumPy)
    assert isinstance(engine(array, x), Autodiff)
    assert isinstance(engine(x, array), Autodiff)


def test_a_tensor_selects_the_engine_among_values_of_lower_levels() -> None:
    x, array = ones((3,)), np.ones(3)
    below = ShapeValue(array.shape, array.dtype)

    assert isinstance(engine(array, below), ShapeEngine)
    for values in ((x, below), (below, x), (array, below, x), (array, x, below)):
        assert isinstance(engine(*values), Autodiff)


def test_a_subclass_has_the_engine_of_its_base() -> None:
    class Labelled(Tensor[Any, Any, Any]):
        """A tensor of another class, as a parameter is."""

    class Rows(np.ndarray[Any, Any]):
        """An array of another class."""

    array: Any = np.ones(3)

    assert isinstance(engine(Labelled(array)), Autodiff)
    assert isinstance(engine(array.view(Rows)), NumPy)
    assert isinstance(engine(Labelled(array), array.view(Rows)), Autodiff)


@pytest.mark.parametrize("order", ["x, array", "array, x"])
def test_the_order_of_values_does_not_affect_the_engine(order: str) -> None:
    program = (
        "import sys, numpy as np; from tapegrad.engines import engine; from tapegrad.tensors import Tensor;"
        "x, array = Tensor(np.ones(3)), np.ones(3); assert 'tapegrad.engines.numpy.engine' not in sys.modules;"
        f"print(type(engine({order})).__name__)"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert run.stdout == "Autodiff\n", run.stderr


def test_a_value_without_an_engine_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"^no engine computes with a list$"):
        engine([1.0])


@pytest.mark.parametrize("name", get_args(Elementwise))
def test_every_engine_has_every_elementwise_function(name: Any) -> None:
    whole = {"bitwise": np.int64, "gcd": np.int64, "lcm": np.int64}
    x: Any = np.array([0.5, 0.25]).astype({**whole, "logical": np.bool_}.get(name.partition("_")[0], np.float32))
    y = np.array([2, -3]) if name == "ldexp" else x
    operands = [one for key, one in (("x", x), ("y", y)) if key in signature(IMPLEMENTATIONS[name]).parameters]

    with np.errstate(invalid="ignore"):  # no hyperbolic cosine is below 1
        by_numpy = NumPy().map(name, *operands)
        by_autodiff = Autodiff().map(name, *map(tensor, operands))

    assert by_autodiff.dtype == by_numpy.dtype
    np.testing.assert_array_equal(by_autodiff.numpy(), by_numpy)


@pytest.mark.parametrize("name", get_args(Pairwise))
def test_every_engine_has_every_function_of_two_results(name: Any) -> None:
    x: Any = np.array([7.5, -0.25], np.float32)
    operands = [x, x[::-1]] if name == "divmod" else [x]

    by_numpy = NumPy().pair(name, *operands)
    by_autodiff = Autodiff().pair(name, *map(tensor, operands))
    by_shapes = ShapeEngine().pair(name, *(ShapeValue(one.shape, one.dtype) for one in operands))

    for theirs, ours, shape_value in zip(by_numpy, by_autodiff, by_shapes, strict=True):
        assert ours.dtype == shape_value.dtype == theirs.dtype
        assert shape_value.shape == theirs.shape
        np.testing.assert_array_equal(ours.numpy(), theirs)
