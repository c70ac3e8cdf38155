"""Tensors of unknown rank whose last sizes are known: behind layers and ops with known sizes."""

from __future__ import annotations

import json
from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

images = tg.tensor(json.loads(json.dumps([[[[0.5] * 5] * 5] * 3] * 2)))
rows = tg.tensor(json.loads("[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]")).astype(np.float32)
linear = nn.Linear(4, 8)
narrow = nn.Linear(7, 2)
convolution = nn.Conv2d(3, 8, 3)
weights = tg.ones((4, 6))


class Encoder(nn.Module):
    """A layer whose `forward` takes any tensor."""

    def __init__(self) -> None:
        self.first = nn.Linear(4, 16)
        self.second = nn.Linear(16, 2)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.second(tg.relu(self.first(x)))


def accept_layers() -> None:
    x = rows
    assert_type(linear(x), Tensor[Shape[*tuple[Any, ...], L[8]], NoneTape])
    assert_type(tg.softmax(linear(x) + tg.ones((8,)), axis=-1), Tensor[Shape[*tuple[Any, ...], L[8]], NoneTape])
    assert_type(nn.Sequential(linear, nn.ReLU(), nn.Linear(8, 2))(x), Tensor[Shape[*tuple[Any, ...], L[2]], NoneTape])
    h = linear(x)
    assert_type(h[..., :3], Tensor[Shape[*tuple[Any, ...], L[3]], NoneTape])
    assert_type(h.reshape((-1, 8)), Tensor[Shape[Any, L[8]], NoneTape])
    assert_type(tg.expand_dims(h, -1), Tensor[Shape[*tuple[Any, ...], L[8], L[1]], NoneTape])
    assert_type(h[0], Tensor[Any, NoneTape])  # of a vector, one number


def accept_ops() -> None:
    x = rows
    assert_type(x @ weights, Tensor[Shape[*tuple[Any, ...], L[6]], NoneTape])
    assert_type(x @ weights + tg.ones((1, 6)), Tensor[Shape[*tuple[Any, ...], Any, L[6]], NoneTape])
    assert_type(x.T, Tensor[Any, NoneTape])
    assert_type(tg.concat([linear(x), linear(x)], axis=-1), Tensor[Any, NoneTape])


def accept_images() -> None:
    h = convolution(images)
    assert_type(h, Tensor[Shape[*tuple[Any, ...], L[8], Any, Any], NoneTape])
    assert_type(nn.MaxPool2d(2)(h), Tensor[Shape[*tuple[Any, ...], L[8], Any, Any], NoneTape])
    assert_type(nn.Flatten()(h), Tensor[Any, NoneTape])  # the first size may be the batch, or the channels
    assert_type(tg.conv2d(images, tg.ones((4, 3, 2, 2))), Tensor[Shape[*tuple[Any, ...], L[4], Any, Any], NoneTape])


def accept_an_unpacked_shape() -> None:
    h = linear(rows)
    n, width = h.shape
    assert_type(width, L[8])
    assert_type(h.reshape((n, 2, 4)).sum(axis=0), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_a_declared_shape() -> None:
    h: Tensor[Shape[L[2], L[8]], NoneTape] = linear(rows)
    assert_type(h.T, Tensor[Shape[L[8], L[2]], NoneTape])


def reject_another_layer() -> None:
    narrow(linear(rows))  # E(mypy): narrow Linear(7, 2): x is (..., 8) but (..., 7) is expected: axis -1 is 8, not 7


def reject_a_product() -> None:
    linear(rows) @ weights  # E(mypy): matmul: inner sizes differ: x (..., 8) has 8 columns but y (4, 6) has 4 rows


def reject_a_sum() -> None:
    linear(rows) + tg.ones((5, 7))  # E(mypy): add: x (..., 8) and y (5, 7) do not broadcast: axis -1 is 8 in x but 7 in y


def reject_channels() -> None:
    nn.Conv2d(7, 2, 3)(convolution(images))  # E(mypy): Conv2d(7, 2, 3): x is (..., 8, ?, ?) but (..., 7, H, W) is expected: axis -3 is 8, not 7


def reject_a_layer_in_a_body() -> None:
    class Wrong(nn.Module):
        def __init__(self) -> None:
            self.first = nn.Linear(4, 16)
            self.other = nn.Linear(15, 2)

        def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
            h = tg.relu(self.first(x)) * 2.0 + 1.0
            return self.other(h)  # E(mypy): Wrong.other Linear(15, 2): x is (..., 16) but (..., 15) is expected: axis -1 is 16, not 15

    Wrong()(rows)


def accept_axes_of_some_rank() -> None:
    x = images
    kept = [x.transpose(0, 1, 3, -2)]
    kept.append(x.flatten(1))
    x.transpose(3, 0, -2, 1).sum(axis=(1, -1))
    x.permute(0, 2, 1) if x.ndim == 3 else tg.pad(x, ((0, 0), (3, 0), (0, 0), (0, 1)))
    if x.ndim == 14:
        x.sum(axis=13).mean(axis=-13)


def reject_an_axis_that_is_named_twice() -> None:
    images.transpose(1, 2, 1)  # E(mypy): transpose: axis (1, 2, 1) names an axis of x (?, ?, ?) twice


def reject_an_axis_of_no_rank() -> None:
    images.permute(0, 3, 1)  # E(mypy): permute: axis 3 is out of range for x (?, ?, ?)


def reject_reduced_axes_that_are_named_twice() -> None:
    tg.sum(images, axis=(0, 0))  # E(mypy): sum: axis (0, 0) names an axis of x (...) twice


def reject_a_negative_width_of_padding() -> None:
    tg.pad(images, ((0, 0), (-1, 0), (3, 0)))  # E(mypy): pad: pad_width along axis 1 is -1, below 0; to crop x, slice it


def reject_the_gradient_of_several_numbers() -> None:
    scores = nn.Linear(16, 3)(rows.trace())
    (scores.mean() - tg.softmax(scores)).backward()  # E(mypy): backward: x (..., 3) is not a scalar; reduce it or pass seed=
