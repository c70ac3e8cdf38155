"""Embedding: values, gradients, initial parameters and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.checkpoint import checkpoint
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import Embedding, Linear, Sequential
from tapegrad.ops import cross_entropy, mul, ones, sum, take, tensor
from tapegrad.optim import Adam


def table() -> Any:
    embedding: Any = Embedding(4, 2, rng=0)
    embedding.weight.assign(tensor(np.arange(8, dtype=np.float32).reshape(4, 2)))
    return embedding


def test_values_and_gradients_equal_torch() -> None:
    embedding, indices = table(), tensor([[1, 3, 1], [0, 1, 3]])

    y = embedding(indices.trace())
    grads = sum(mul(y, y)).backward(wrt=embedding)

    # torch 2.13: nn.Embedding(4, 2) with this weight, (y * y).sum().backward(); row 1 is looked up three times
    assert y.tolist() == [[[2, 3], [6, 7], [2, 3]], [[0, 1], [2, 3], [6, 7]]]
    assert grads[embedding.weight].tolist() == [[0, 2], [12, 18], [0, 0], [24, 28]]


def test_a_single_index_gives_a_row() -> None:
    assert table()(tensor(2)).tolist() == [4, 5]


def test_initial_rows_are_normally_distributed() -> None:
    numbers = Embedding(50, 80, rng=0).weight.numpy()

    # 4,000 draws of N(0, 1): the mean is off by 1/63 or so
    assert abs(numbers.mean()) < 0.05
    assert abs(numbers.std() - 1) < 0.05


def test_an_index_beyond_the_table_is_rejected() -> None:
    with pytest.raises(IndexError, match=r"^take: index 4 is out of range for axis 0 of size 4$"):
        table()(tensor([0, 4]))


def test_an_index_below_zero_is_rejected() -> None:
    # -1, which often stands for padding, once trained the last row.
    words = r"^Embedding\(4, 2\): index -1 is below 0; the rows of the table are 0 to 3$"
    for indices in (tensor(-1), tensor([[0, 3], [-1, 2]]), tensor([2, -1], np.int8).trace()):
        with pytest.raises(IndexError, match=words):
            table()(indices)
    with pytest.raises(IndexError, match=words):
        Sequential(table(), Linear(2, 3))(tensor([-1]))
    with pytest.raises(IndexError, match=words):
        checkpoint(table())(tensor([-1]).trace())
    assert table()(tensor([], np.int64)).shape == (0, 2)
    assert take(table().weight, tensor([-1])).tolist() == table().weight[tensor([-1])].tolist() == [[6, 7]]


def test_float_indices_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^Embedding\(4, 2\): indices is float32 but integer is expected$"):
        table()(ones((2,)))


def test_sizes_below_one_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^Embedding: Count is 0 in count but a named size is at least 1$"):
        Embedding(0, 3)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match=r"^Embedding: Width is -2 in width but a named size is at least 1$"):
        Embedding(3, -2)  # type: ignore[tapegrad-shape]  # under test


def test_an_embedding_and_a_linear_layer_learn_a_permutation() -> None:
    model = Sequential(Embedding(7, 5, rng=0), Linear(5, 7, rng=1))
    letters, next_letters = tensor([0, 1, 2, 3, 4, 5, 6]), tensor([3, 6, 0, 5, 1, 2, 4])
    optimizer, losses = Adam(model, lr=0.05), []

    for _ in range(150):
        loss = cross_entropy(model(letters.trace()), next_letters)
        optimizer.step(loss.backward(wrt=model))
        losses.append(loss.item())

    assert losses[0] > 1.5
    assert losses[-1] < 0.02


def test_an_embedding_has_a_repr() -> None:
    assert repr(Embedding(10, 16, rng=0)) == "Embedding(10, 16)"
