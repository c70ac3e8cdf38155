"""Calls of an op: its shape rule and NumPy report an error with the same message."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.autograd.op import op
from tapegrad.autograd.registry import IMPLEMENTATIONS, OPS
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import matmul, mul, ones, softmax, tensor
from tapegrad.sizes import Dims, show
from tapegrad.tensors import Tensor, node


def pair_shape(x: Dims, y: Dims) -> Dims:
    """Reject all but equal ranks."""
    if len(x) != len(y):
        message = f"x has rank {len(x)} but y has rank {len(y)}"
        raise ShapeError(message)
    return x


def untried_shape(x: Dims) -> Dims:
    return x


@op(pair_shape, eager=True)
def eager_pair(x: Tensor[Any, Any, Any], y: Tensor[Any, Any, Any]) -> Any:
    """An op whose rule rejects what NumPy would broadcast."""
    return node(x.data + y.data)


@op(untried_shape)
def outer_product(x: Tensor[Any, Any, Any]) -> Any:
    """An op made of others, with a mistake inside."""
    return matmul(x, softmax(x))


def test_a_rule_with_another_parameter_is_an_error_at_import() -> None:
    with pytest.raises(TypeError, match=r"^half: its rule has the parameters \['x', 'y'\], the op has \['x', 'z'\]$"):

        @op(pair_shape)
        def half(x: Any, z: Any) -> Any:
            """Never made."""

    assert "half" not in OPS


def test_a_rule_with_its_parameters_in_another_order_is_an_error_at_import() -> None:
    with pytest.raises(
        TypeError, match=r"^reversed_operands: its rule has the parameters \['x', 'y'\], the op has \['y', 'x'\]$"
    ):

        @op(pair_shape)
        def reversed_operands(y: Any, x: Any) -> Any:
            """Never made."""


def test_a_rule_may_omit_parameters_that_do_not_affect_shapes() -> None:
    @op(untried_shape)
    def scaled_once(x: Tensor[Any, Any, Any], *, by: float = 2.0) -> Any:
        """Scale."""
        return x * by

    assert scaled_once(ones((2, 3)), by=3).shape == (2, 3)


def test_an_op_is_registered_by_its_name_with_its_rule_and_operator() -> None:
    entry = OPS["matmul"]

    assert IMPLEMENTATIONS["matmul"] is matmul
    assert entry.operator == "__matmul__"
    assert entry.operands == {"x", "y"}
    assert entry.sizes(ones((2, 3)), y=ones((3, 5))) == (2, 5)
    assert OPS["sum"].sizes(ones((2, 3)), axis=1, keepdims=True) == (2, 1)


def test_an_op_keeps_its_name_docstring_and_signature() -> None:
    assert matmul.__name__ == "matmul"
    assert matmul.__doc__
    assert matmul.__doc__.startswith("Multiply matrices")
    assert list(matmul.__annotations__) == ["x", "y", "return"]


def test_an_error_is_one_message_with_the_name_of_the_op() -> None:
    with pytest.raises(
        ShapeError, match=r"^matmul: inner sizes differ: x \(2, 3\) has 3 columns but y \(4, 5\) has 4 rows$"
    ):
        matmul(unchecked(2, 3), unchecked(4, 5))


def test_numpys_messages_are_not_shown() -> None:
    with pytest.raises(ShapeError) as rejected:
        mul(unchecked(2, 3), unchecked(4))

    assert rejected.value.__suppress_context__
    assert "operands could not" not in str(rejected.value)


def test_an_op_inside_an_op_is_not_named_twice() -> None:
    with pytest.raises(
        ShapeError, match=r"^matmul: inner sizes differ: x \(2, 3\) has 3 columns but y \(2, 3\) has 2 rows$"
    ):
        outer_product(ones((2, 3)))


def test_an_eager_rule_rejects_what_numpy_accepts() -> None:
    with pytest.raises(ShapeError, match=r"^eager_pair: x has rank 2 but y has rank 1$"):
        eager_pair(ones((2, 3)), ones((3,)))


def test_a_rule_that_contradicts_its_op_is_found_while_testing() -> None:
    @op(untried_shape)
    def summed_wrongly(x: Tensor[Any, Any, Any]) -> Any:
        """Forget that it dropped an axis."""
        return x.sum(0)

    if not os.environ["TAPEGRAD_CHECK_RULES"]:
        pytest.skip("rules are not checked in this run")
    with pytest.raises(AssertionError, match=r"^summed_wrongly gave \(3,\) but its rule says \(2, 3\)$"):
        summed_wrongly(ones((2, 3)))


def test_dtype_and_index_errors_name_the_op_too() -> None:
    with pytest.raises(DTypeError, match=r"^softmax: x is int64 but floating is expected$"):
        softmax(tensor([1, 2]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(IndexError, match=r"^take: index 7 is out of range for axis 0 of size 2$"):
        tensor([1.0, 2.0]).take(tensor([7]))


def test_a_call_that_does_not_match_the_signature_raises_pythons_message() -> None:
    call: Any = matmul

    with pytest.raises(TypeError, match=r"missing .*argument: 'y'"):
        call(ones((2, 3)))


def test_errors_are_also_pythons_exception_types() -> None:
    with pytest.raises(ValueError, match=r"^matmul: "):
        matmul(unchecked(2, 3), unchecked(2, 3))
    with pytest.raises(TypeError, match=r"^add: "):
        unchecked(3) + unchecked(3).astype(np.float64)


def test_every_message_is_the_same_without_checked_rules() -> None:
    # Outside the tests NumPy looks first and the rule only explains: the words, and who is rejected, must not change.
    environment = os.environ | {"TAPEGRAD_CHECK_RULES": ""}

    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "reject",
            "tests/ops",
            "tests/autograd/test_op.py",
        ],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout


def halves_shape(x: Dims) -> Dims:
    if isinstance(x[-1], int) and x[-1] % 2:
        message = f"the last axis of x {show(x)} is odd"
        raise ShapeError(message)
    return (*x[:-1], 2, x[-1] // 2)


@op(halves_shape)
def halves(x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
    return x.reshape((*x.shape[:-1], 2, x.shape[-1] // 2))


def test_a_rule_explains_what_an_op_inside_rejects() -> None:
    with pytest.raises(ShapeError, match=r"^halves: the last axis of x \(2, 13\) is odd$"):
        halves(unchecked(2, 13))


def unchecked(*shape: int) -> Any:
    """Make a tensor of which the type checker knows nothing."""
    return ones(shape)


def test_a_user_defined_op_replaces_no_method_of_the_tensor() -> None:
    @op(untried_shape)
    def exp(x: Tensor[Any, Any, Any]) -> Any:
        """Not the exponential."""
        return node(x.data)

    assert exp(tensor([0.0])).item() == 0.0
    assert IMPLEMENTATIONS["exp"] is tapegrad.exp
    assert IMPLEMENTATIONS[f"{__name__}.exp"] is exp
