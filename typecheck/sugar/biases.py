"""The bias of a layer: a parameter, None, or a union of both, by the argument `bias`; a union in pyright."""

from typing import Generic, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, Shape, Tape, Tensor, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)

x = tg.ones((4, 3))


class Net(nn.Module, Generic[N]):
    """A layer with a bias, one without, and one of which the annotation leaves it open."""

    def __init__(self, width: N) -> None:
        self.with_bias = nn.Linear(width, 2)
        self.without = nn.Linear(width, 2, bias=False)
        self.open: nn.Linear[N, L[2]] = nn.Linear(width, 2, bias=False)

    def forward(self, x: Tensor[Shape[B, N], T]) -> Tensor[Shape[B, L[2]], T]:
        assert_type(self.with_bias.bias, nn.Param[Shape[L[2]]])
        assert_type(self.without.bias, None)
        assert_type(self.open.bias, nn.Param[Shape[L[2]]] | None)
        return self.with_bias(x) + self.without(x) + self.open(x)


class Own(nn.Linear[N, M]):
    """A subclass that leaves it open."""


def through(layer: nn.Linear[N, M], x: Tensor[Shape[B, N], T]) -> Tensor[Shape[B, M], T]:
    assert_type(layer.bias, nn.Param[Shape[M]] | None)
    return layer(x)


def shifted(layer: nn.Linear[L[3], M, L[True]]) -> Tensor[Shape[M], NoneTape]:
    return layer.bias + 1.0


def accept_a_gradient_of_a_bias() -> None:
    model = nn.Linear(3, 2)
    grads = model(x.trace()).sum().backward(wrt=model)
    assert_type(grads[model.bias], Tensor[Shape[L[2]], NoneTape])


def accept_biases() -> None:
    assert_type(nn.Linear(3, 2).bias, nn.Param[Shape[L[2]]])
    assert_type(nn.Linear(3, 2, bias=True).bias, nn.Param[Shape[L[2]]])
    assert_type(nn.Linear(3, 2, bias=False).bias, None)
    assert_type(nn.Conv1d(3, 4, 5).bias, nn.Param[Shape[L[4]]])
    assert_type(nn.Conv2d(3, 4, 5, bias=False).bias, None)
    assert_type(nn.Conv3d(3, 4, 5).bias, nn.Param[Shape[L[4]]])
    assert_type(nn.ConvTranspose1d(3, 4, 5, bias=False).bias, None)
    assert_type(nn.ConvTranspose2d(3, 4, 5).bias, nn.Param[Shape[L[4]]])
    assert_type(nn.GRU(3, 4).bias_x, nn.Param[Shape[L[12]]])
    assert_type(nn.LSTM(3, 4, bias=False).bias_h, None)
    assert_type(nn.RNN(3, 4).bias_h, nn.Param[Shape[L[4]]])
    assert_type(nn.LayerNorm(3).bias, nn.Param[Shape[L[3]]])


def accept_an_unknown_bool() -> None:
    def of_any(*, has_bias: bool) -> None:
        assert_type(nn.Linear(3, 2, bias=has_bias).bias, nn.Param[Shape[L[2]]] | None)
        layer = nn.Linear(3, 2) if has_bias else nn.Linear(3, 2, bias=False)
        assert_type(layer.bias, nn.Param[Shape[L[2]]] | None)

    of_any(has_bias=True)
    layers = [nn.Linear(3, 2), nn.Linear(3, 2, bias=False)]
    assert_type(layers[1].bias, nn.Param[Shape[L[2]]] | None)


def accept_layers_of_either_kind() -> None:
    assert_type(through(nn.Linear(3, 2, bias=False), x), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(through(nn.Linear(3, 2), x), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(through(Own(3, 2), x), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(shifted(nn.Linear(3, 5)), Tensor[Shape[L[5]], NoneTape])
    assert_type(Net(3)(x), Tensor[Shape[L[4], L[2]], NoneTape])


def accept_another_bias() -> None:
    model = nn.Linear(3, 2)
    model.bias = None
    assert_type(model(x), Tensor[Shape[L[4], L[2]], NoneTape])


def accept_scaled_gates() -> None:
    def of_any(hidden: N) -> None:
        assert_type(nn.GRU(3, hidden).bias_x, nn.Param[Shape[Mul[L[3], N]]])

    of_any(4)


def reject_the_size_of_a_bias() -> None:
    nn.Linear(3, 2).bias + tg.ones((3,))  # E: add: x (2,) and y (3,) do not broadcast: axis -1 is 2 in x but 3 in y [tapegrad-shape]


def reject_a_bias_that_is_none() -> None:
    nn.Linear(3, 2, bias=False).bias.shape  # E(mypy): "None" has no attribute "shape" [attr-defined]


def reject_a_layer_without_a_bias() -> None:
    shifted(nn.Linear(3, 2, bias=False))  # E(mypy): shifted: layer is Linear(3, 2, HasBias=False) but Linear(3, M, HasBias=True) is expected [tapegrad-shape]
