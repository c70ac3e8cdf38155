"""Arrays of NumPy whose expressions say their sizes: a tensor that is made of one has them."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


def accept_sizes_of_created_arrays() -> None:
    assert_type(tg.tensor(np.zeros((3, 4), np.float32)), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.tensor(np.ones(3)), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(np.full((2, 5), 1.5), np.float32), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.tensor(np.eye(3)), Tensor[Shape[L[3], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(np.eye(3, 4)), Tensor[Shape[L[3], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.identity(3)), Tensor[Shape[L[3], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(np.arange(7), np.float32), Tensor[Shape[L[7]], NoneTape])
    assert_type(tg.tensor(np.arange(2, 9, 3), np.float32), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.tensor(np.linspace(0.0, 1.0, 5)), Tensor[Shape[L[5]], NoneTape, np.float64])
    assert_type(
        tg.tensor(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.float32), Tensor[Shape[L[2], L[3]], NoneTape]
    )
    assert_type(tg.tensor(np.zeros_like(np.ones((2, 3)))), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def accept_sizes_of_random_arrays() -> None:
    rng = np.random.default_rng(0)
    assert_type(tg.tensor(rng.normal(size=(3, 4))), Tensor[Shape[L[3], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(rng.normal(0.0, 1.0, 5)), Tensor[Shape[L[5]], NoneTape, np.float64])
    assert_type(tg.tensor(rng.random((3, 4)), np.float32), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.tensor(rng.integers(0, 9, size=6)), Tensor[Shape[L[6]], NoneTape, np.int64])
    assert_type(tg.tensor(np.random.randn(3, 4)), Tensor[Shape[L[3], L[4]], NoneTape, np.float64])  # noqa: NPY002  # under test


def accept_the_data_path_before_a_tensor() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    images = table.reshape(3, 4, -1)
    images = images.transpose(0, 2, 1)
    assert_type(tg.tensor(scaled, np.float32), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(images, np.float32), Tensor[Shape[L[3], L[4], L[4]], NoneTape])
    assert_type(tg.tensor(table[:8, 1:]), Tensor[Shape[L[8], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(table[:, 0]), Tensor[Shape[L[12]], NoneTape, np.float64])
    assert_type(tg.tensor(table[..., None]), Tensor[Shape[L[12], L[4], L[1]], NoneTape, np.float64])
    assert_type(tg.tensor(table.T @ table), Tensor[Shape[L[4], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.stack([table, table])), Tensor[Shape[L[2], L[12], L[4]], NoneTape, np.float64])
    assert_type(tg.tensor(np.concatenate([table, table]), np.float32), Tensor[Shape[L[24], L[4]], NoneTape])
    assert_type(tg.tensor(np.hstack([table, table]), np.float32), Tensor[Shape[L[12], L[8]], NoneTape])
    assert_type(tg.tensor(np.vstack([table, table]), np.float32), Tensor[Shape[L[24], L[4]], NoneTape])
    assert_type(tg.tensor(table.astype(np.float32)), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(np.where(table > 0, table, 0.0), np.float32), Tensor[Shape[L[12], L[4]], NoneTape])
    assert_type(tg.tensor(np.exp(table).sum(axis=1), np.float32), Tensor[Shape[L[12]], NoneTape])
    assert_type(tg.tensor(np.dot(table, np.ones((4, 5))), np.float32), Tensor[Shape[L[12], L[5]], NoneTape])


def accept_an_array_beside_a_tensor() -> None:
    x = tg.ones((3, 4))
    assert_type(x * np.ones((3, 1), np.float32), Tensor[Shape[L[3], L[4]], NoneTape])
    weights = np.array([0.5, 0.25, 0.25, 1.0], np.float32)
    assert_type(weights * x, Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(x.sum(axis=0) - weights, Tensor[Shape[L[4]], NoneTape])
    assert_type(tg.from_dlpack(np.zeros((3, 4), np.float32)), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_arrays_whose_sizes_are_not_known(*, flag: bool = True) -> None:
    either = np.zeros((3,)) if flag else np.zeros((4,))
    assert_type(tg.tensor(either), Tensor[Shape[Any], NoneTape, np.float64])
    doubled = np.zeros((1, 4))
    for _ in range(3):
        doubled = np.concatenate([doubled, doubled])
    x = tg.tensor(doubled, np.float32)
    assert x.shape == (8, 4)
    stored = [np.zeros((3,)), np.zeros((4,))]
    stored.append(np.zeros((5,)))
    assert_type(tg.tensor(stored[2]), Tensor[Shape[Any], NoneTape, np.float64])


class Buffer:
    """An array in an attribute may be replaced by one of any size."""

    def __init__(self) -> None:
        self.rows = np.zeros((3, 4))

    def replace(self) -> None:
        """Bind another array."""
        self.rows = np.zeros((5, 4))


def accept_an_attribute_that_is_bound_again() -> None:
    buffer = Buffer()
    buffer.replace()
    assert_type(tg.tensor(buffer.rows), Tensor[Shape[Any, Any], NoneTape, np.float64])


def reject_an_array_of_another_size() -> None:
    weights = np.ones((5, 4), np.float32)
    tg.ones((3, 4)) * weights  # E: mul: x (3, 4) and y (5, 4) do not broadcast: axis -2 is 3 in x but 5 in y


def reject_a_product_with_the_data() -> None:
    table = np.random.default_rng(0).normal(size=(12, 4))
    x = tg.tensor(table[:, 1:], np.float32)
    x @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (12, 3) has 3 columns but y (4, 2) has 4 rows
