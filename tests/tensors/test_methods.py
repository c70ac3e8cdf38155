"""Methods of tensors that call ops: each is the op itself, and the file of their types is up to date."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from docs import tensor_methods
from tapegrad.errors import TapegradError
from tapegrad.tensors.methods import TensorMethods
from tapegrad.tensors.nodes import Lazy


def test_the_file_is_up_to_date() -> None:
    assert tensor_methods.source() == tensor_methods.FILE.read_text("utf-8"), "run python -m docs.tensor_methods"


def test_every_op_of_one_tensor_is_a_method() -> None:
    names = tensor_methods.methods().keys()

    assert {"exp", "abs", "softmax", "clamp", "pow", "sum", "triu", "matmul", "take", "masked_fill"} <= names
    assert not names & {"conv2d", "mse", "linear", "zeros", "zeros_like", "concat", "where", "scan", "lstm"}
    assert names == {name for name in vars(TensorMethods) if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(tensor_methods.methods().keys() - tensor_methods.ONE_BY_ONE.keys()))
def test_a_method_is_the_op(name: str) -> None:
    assert getattr(tg.Tensor, name) is getattr(tg, name)


@pytest.mark.parametrize("kind", [tg.Tensor, tg.nn.Param, tg.nn.Buffer, Lazy])
def test_no_class_hides_a_method(kind: type) -> None:
    bases = kind.__mro__[: kind.__mro__.index(TensorMethods)]

    assert [
        name for name in vars(TensorMethods) if not name.startswith("_") for base in bases if name in vars(base)
    ] == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda x: x.permute(1, 0), (4, 3)),
        (lambda x: x.permute((1, 0)), (4, 3)),
        (lambda x: x.transpose(), (4, 3)),
        (lambda x: x.transpose(None), (4, 3)),
        (lambda x: x.reshape(2, -1), (2, 6)),
        (lambda x: x.reshape(()), ()),
        (lambda x: x.broadcast_to(5, 3, 4), (5, 3, 4)),
        (lambda x: x.tile(2), (3, 8)),
        (lambda x: x.tile(np.int64(2), 1), (6, 4)),
    ],
)
def test_numbers_are_given_one_by_one_or_as_a_tuple(given: Any, expected: tuple[int, ...]) -> None:
    x = tg.ones((3, 4)) if expected else tg.ones((1,))

    assert given(x).shape == expected


def test_a_method_has_the_docstring_of_its_op() -> None:
    assert tg.Tensor.exp.__doc__ == tg.exp.__doc__


def test_an_error_of_a_method_with_several_numbers_ends_at_the_caller() -> None:
    x: Any = tg.ones((3, 4))

    with pytest.raises(TapegradError, match=r"^permute: axis 2 is out of range for x \(3, 4\)$") as caught:
        x.permute(0, 2)

    assert str(caught.traceback[-1].path) == __file__
