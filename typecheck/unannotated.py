# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs
# ruff: noqa: ANN001, ANN201
"""Functions and methods without annotations, or with some left out, whose bodies mypy reads at their calls."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

rows = tg.ones((4, 8))


@dataclass(frozen=True)
class Config:
    width: int = 8
    classes: int = 3


class Classifier(nn.Module):
    """Written as most programs in PyTorch are."""

    def __init__(self, config: Config) -> None:
        self.body = nn.Linear(config.width, config.width)
        self.head = nn.Linear(config.width, config.classes)

    def forward(self, x, bias=None):
        if bias is not None:
            x = x + bias
        return self.head(tg.relu(self.body(x)))

    def hidden(self, x, cache=None):
        return self.body(x), cache

    def logits(self, x, factor, scale: float = 1.0, shift=2, power=0.5):
        return ((self.head(x) + shift) * factor * scale) ** power


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        self.project = nn.Linear(width, 3 * width)
        self.heads = heads

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = tg.split(self.project(x), 3, axis=2)
        q, k, v = self.split(q), self.split(k), self.split(v)
        y = tg.softmax(q @ k.transpose(0, 1, 3, 2)) @ v
        return y.transpose(0, 2, 1, 3).reshape(b, t, c)

    def split(self, x):
        b, t, c = x.shape
        return x.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)


def flat(x, parts=2):
    return x.reshape(parts, -1)


def either(x, is_sum):
    return None if is_sum else x


def twice(x):
    return [x, x]


def parted(x, is_long):
    if is_long:
        return x, x, x
    return x, x


def with_bias(x, options):
    y = x * 2.0
    if options["bias"]:
        y = y + tg.ones((8,))
    return y


def counted(x):
    return x.shape[0]


def total(x):
    return (x * x).sum()


def accept_calls() -> None:
    model = Classifier(Config())
    assert_type(model(rows), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(model(rows.trace(), bias=tg.ones((8,))), Tensor[Shape[L[4], L[3]], OwnedTape])
    hidden, cache = model.hidden(rows)
    assert_type(hidden, Tensor[Shape[L[4], L[8]], NoneTape])
    assert_type(cache, Any)
    assert_type(model.logits(hidden, 0.1), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(Attention(8, 2)(tg.ones((2, 5, 8))), Tensor[Shape[L[2], L[5], L[8]], NoneTape])
    assert_type(flat(rows), Tensor[Shape[L[2], L[16]], NoneTape])
    assert_type(flat(rows, parts=4), Tensor[Shape[L[4], L[8]], NoneTape])
    assert_type(with_bias(rows, {"bias": True}), Tensor[Shape[L[4], L[8]], NoneTape])


def accept_what_is_no_tensor(count: int = 1) -> None:
    """Nothing is claimed of what a body returns beside tensors."""
    assert_type(either(rows, count > 0), Any)
    assert_type(twice(rows), Any)
    assert_type(parted(rows, count > 1), Any)
    assert_type(counted(rows), Any)
    assert_type(flat(np.ones((4, 8))), Any)


def accept_an_error_that_is_expected() -> None:
    with suppress(tg.ShapeError):
        flat(rows, 3)


def accept_another_value_for_the_variable() -> None:
    x = Classifier(Config())(rows)
    assert x.shape == (4, 3)
    x = None
    assert x is None


def reject_sizes_behind_a_model() -> None:
    Classifier(Config())(rows) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_sizes_of_a_function() -> None:
    flat(rows) + tg.ones((2, 15))  # E: add: x (2, 16) and y (2, 15) do not broadcast: axis -1 is 16 in x but 15 in y [tapegrad-shape]


def reject_an_item_of_a_tuple() -> None:
    Classifier(Config()).hidden(rows)[0] @ tg.ones((7, 2))  # E: matmul: inner sizes differ: x (4, 8) has 8 columns but y (7, 2) has 7 rows [tapegrad-shape]


def reject_a_result_of_a_method_that_calls_another() -> None:
    Attention(8, 2)(tg.ones((2, 5, 8))) + tg.ones((2, 4, 8))  # E: add: x (2, 5, 8) and y (2, 4, 8) do not broadcast: axis -2 is 5 in x but 4 in y [tapegrad-shape]


def reject_a_second_backward() -> None:
    loss = total(rows.trace())
    loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]
