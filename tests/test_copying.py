"""Copying and pickling: tensors, parameters, models and optimizers, but nothing that is on a tape."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import TapeError
from tapegrad.nn import Linear, Param, ReLU, Sequential
from tapegrad.ops import mse, ones, tensor, zeros
from tapegrad.optim import SGD, Adam, AdamW, Group
from tapegrad.tensors import Tensor


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301  # its own bytes


WAYS: list[Callable[[Any], Any]] = [copy.deepcopy, pickled]
any_way = pytest.mark.parametrize("again", WAYS, ids=["deepcopy", "pickle"])


@any_way
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_a_copied_tensor_has_its_own_values(again: Any, dtype: Any) -> None:
    array: Any = np.array([[1, 0, 3]], dtype)
    x: Any = Tensor(array)

    twin = again(x)

    assert type(twin) is Tensor
    assert (twin.tolist(), twin.shape, twin.dtype) == (x.tolist(), (1, 3), dtype)
    assert twin.tape is x.tape
    assert not np.shares_memory(twin.data, x.data)
    assert hash(twin) != hash(x)


@any_way
def test_a_parameter_keeps_its_version_and_stays_frozen(again: Any) -> None:
    weight = Param(ones((2, 3)), frozen=True)
    weight.assign(zeros((2, 3)))

    twin = again(weight)
    twin.assign(ones((2, 3)))

    assert (type(twin), twin.version, twin.frozen) == (Param, 2, True)
    assert (weight.version, weight.tolist()) == (1, [[0, 0, 0], [0, 0, 0]])


def test_a_shallow_copy_shares_the_values_until_one_is_assigned() -> None:
    weight: Any = Param(ones((3,)))

    twin = copy.copy(weight)
    weight.assign(zeros((3,)))

    assert twin.tolist() == [1, 1, 1]


@any_way
@pytest.mark.parametrize(
    "make",
    [
        lambda model: SGD(model, lr=0.1, momentum=0.9, groups={"*.bias": Group(lr=0.5)}),
        Adam,
        lambda model: AdamW(model, weight_decay=0.5),
    ],
    ids=["SGD", "Adam", "AdamW"],
)
def test_copies_of_model_and_optimizer_train_alike(again: Any, make: Any) -> None:
    model: Any = Sequential(Linear(3, 4, rng=0), ReLU(), Linear(4, 2, rng=1))
    optimizer = make(model)
    train(model, optimizer)

    twin, twins_optimizer = again((model, optimizer))
    train(model, optimizer)
    train(twin, twins_optimizer)

    assert list(twins_optimizer.parameters) == list(optimizer.parameters)
    for path, parameter in model.parameters().items():
        assert twin.parameters()[path] is not parameter
        assert twin.parameters()[path].tolist() == parameter.tolist()


def train(model: Any, optimizer: Any) -> None:
    x = tensor([[1.0, -2.0, 3.0]])
    for _ in range(3):
        optimizer.step(mse(model(x.trace()), zeros((1, 2))).backward(wrt=model))


@any_way
def test_a_tensor_with_a_tape_says_that_it_cannot_be_copied(again: Any) -> None:
    for x in (ones((2, 3)).trace(), ones((2, 3)).trace() * 2, [{"x": Param(ones((3,))).trace()}]):
        with pytest.raises(TapeError, match=r"^a tensor with a tape cannot be copied or pickled; detach it first$"):
            again(x)
