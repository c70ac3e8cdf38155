"""A user-defined layer with computed sizes: checked inside, outside and in a model, without plugin code."""

from typing import Any, Generic, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, NoneTape, OwnedTape, Shape, Sub, Tape, Tensor, guarded, nn

In = TypeVar("In", bound=int)
Out = TypeVar("Out", bound=int)
K = TypeVar("K", bound=int)
S = TypeVar("S", bound=int)
W = TypeVar("W", bound=int)
Rows = TypeVar("Rows", bound=int, default=Any, covariant=True)
Columns = TypeVar("Columns", bound=int, default=L[1], covariant=True)
B = TypeVar("B", bound=int)
T = TypeVar("T", bound=Tape)


class Conv(nn.Module, Generic[In, Out, K, S]):
    """A convolution along one axis, with a stride."""

    @guarded
    def __init__(self, channels: In, features: Out, kernel: K, stride: S) -> None:
        self.channels = channels
        self.kernel = kernel
        self.stride = stride
        self.weight = nn.Param(tg.normal((channels * kernel, features), rng=0))

    @guarded
    def forward(self, x: Tensor[Shape[B, In, W], T]) -> Tensor[Shape[B, Out, Add[FloorDiv[Sub[W, K], S], L[1]]], T]:
        b, c, w = x.shape
        n = (w - self.kernel) // self.stride + 1
        cells = (tg.arange(n) * self.stride).reshape((n, 1)) + tg.arange(self.kernel)
        patches = tg.take(x, cells, axis=2)
        rows = patches.transpose((0, 2, 1, 3)).reshape((b, n, c * self.kernel))
        return (rows @ self.weight).swapaxes(1, 2)


x = tg.ones((2, 3, 32))


def accept_sizes_from_its_constructor() -> None:
    conv = Conv(3, 8, 5, 2)
    assert_type(conv, Conv[L[3], L[8], L[5], L[2]])
    assert_type(conv(x), Tensor[Shape[L[2], L[8], L[14]], NoneTape])
    assert_type(conv(x.trace()), Tensor[Shape[L[2], L[8], L[14]], OwnedTape])


def accept_sizes_that_are_names() -> None:
    def mixed(x: Tensor[Shape[B, In, W], T], features: Out) -> Tensor[Shape[B, Out, Sub[W, L[4]]], T]:
        conv = Conv(x.shape[1], features, 5, 1)
        assert_type(conv(x), Tensor[Shape[B, Out, Sub[W, L[4]]], T])
        return conv(x)

    assert_type(mixed(x, 8), Tensor[Shape[L[2], L[8], L[28]], NoneTape])


def accept_a_model() -> None:
    model = nn.Sequential(Conv(3, 8, 5, 2), nn.ReLU(), Conv(8, 4, 3, 2), nn.Flatten(), nn.Linear(24, 10))
    assert_type(model(x), Tensor[Shape[L[2], L[10]], NoneTape])

    loss = model(x.trace()).sum()
    loss.backward(wrt=model)


def reject_other_channels() -> None:
    conv = Conv(3, 8, 5, 2)
    conv(tg.ones((2, 4, 32)))  # E: conv Conv(3, 8, 5, 2): x is (2, 4, 32) but (B, 3, W) is expected: axis 1 is 4, not 3 [tapegrad-shape]


def reject_other_channels_in_a_model() -> None:
    nn.Sequential(Conv(3, 8, 5, 2), Conv(7, 4, 3, 2))  # E(mypy): Sequential[1] Conv(7, 4, 3, 2): x is (?, 8, ?) but (B, 7, W) is expected: axis 1 is 8, not 7 [tapegrad-shape]


def reject_another_length_behind_it() -> None:
    model = nn.Sequential(Conv(3, 8, 5, 2), nn.Flatten(), nn.Linear(100, 10))
    model(x)  # E: model[2] Linear(100, 10): x is (2, 112) but (..., 100) is expected: axis -1 is 112, not 100 [tapegrad-shape]


def reject_a_line_shorter_than_a_window() -> None:
    conv = Conv(3, 8, 35, 2)
    conv(x)  # E(mypy): conv Conv(3, 8, 35, 2): the result would be (2, 8, -1): axis 2 is below 0 [tapegrad-shape]


def reject_a_forgotten_stride() -> None:
    class Wrong(Conv[In, Out, K, S]):
        def counted(self, x: Tensor[Shape[B, In, W], NoneTape]) -> Tensor[Shape[B, Out, Add[Sub[W, K], L[1]]], NoneTape]:
            return self.forward(x)  # E(mypy): Wrong.counted: the result is (B, Out, (-K + W) // S + 1) but (B, Out, -K + W + 1) is expected: axis 2 is (-K + W) // S + 1, not -K + W + 1 [return-value]

    assert Wrong(3, 8, 5, 2).counted(x).shape == (2, 8, 14)


class Plane(nn.Module, Generic[Rows, Columns]):
    """A layer of one number, or of two in a tuple."""

    @guarded
    def __init__(self, sizes: Rows | tuple[Rows, Columns]) -> None:
        self.sizes = sizes

    @guarded
    def forward(self, x: Tensor[Shape[Rows, Columns], T]) -> Tensor[Shape[()], T]:
        return x.sum()


def accept_sizes_of_type_any_where_a_default_would_be_another() -> None:
    def planned(sizes: Any) -> None:
        assert_type(Plane(sizes)(tg.ones((2, 3))), Tensor[Shape[()], NoneTape])

    planned((2, 3))
    assert_type(Plane(2)(tg.ones((2, 1))), Tensor[Shape[()], NoneTape])
