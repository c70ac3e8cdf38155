"""Mixed precision: a model of float32 that computes in half precision has the type of the model."""

from typing import Any, Generic, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=tg.Tape)
D = TypeVar("D", bound=np.floating[Any], default=np.float32)

x = tg.ones((4, 3))


class Net(nn.Module, Generic[D]):
    """A model that is generic in the dtype of its layers."""

    first: nn.Linear[L[3], L[5], Any, D]
    last: nn.Linear[L[5], L[2], Any, D]

    @tg.guarded
    def __init__(self: "Net") -> None:
        self.first, self.last = nn.Linear(3, 5), nn.Linear(5, 2)

    @tg.guarded
    def forward(self, x: Tensor[Shape[N, L[3]], T, D]) -> Tensor[Shape[N, L[2]], T, D]:
        return self.last(tg.relu(self.first(x)))


class Fixed(nn.Module):
    """A model of float32."""

    def __init__(self) -> None:
        self.layer = nn.Linear(3, 2)

    @tg.guarded
    def forward(self, x: Tensor[Shape[N, L[3]], T]) -> Tensor[Shape[N, L[2]], T]:
        return self.layer(x)


def accept_mixed_precision() -> None:
    mixed = nn.MixedPrecision(nn.Linear(3, 2), compute=tg.bfloat16)
    assert_type(mixed, nn.MixedPrecision[nn.Linear[L[3], L[2], L[True]]])
    assert_type(mixed(x), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(mixed(x.trace()), Tensor[Shape[L[4], L[2]], OwnedTape])
    assert_type(mixed.model, nn.Linear[L[3], L[2], L[True]])
    net = nn.MixedPrecision(Fixed(), compute=np.float16)
    assert_type(net(x), Tensor[Shape[L[4], L[2]], NoneTape])
    model = nn.MixedPrecision(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), compute=np.float16)
    assert_type(model(x), Tensor[Shape[L[4], L[5]], NoneTape])


def accept_a_step() -> None:
    mixed = nn.MixedPrecision(Net(), compute=tg.bfloat16)
    loss = tg.cross_entropy(mixed(x.trace()), tg.tensor([0, 1, 0, 1]))
    grads = loss.backward(wrt=mixed)
    assert_type(grads[mixed.model.first.weight], Tensor[Shape[L[3], L[5]], NoneTape])


def reject_other_sizes_in_mixed_precision() -> None:
    mixed = nn.MixedPrecision(nn.Linear(3, 2), compute=tg.bfloat16)
    mixed(x.T)  # E: mixed.model Linear(3, 2): x is (3, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_other_sizes_in_a_model() -> None:
    mixed = nn.MixedPrecision(nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), compute=tg.bfloat16)
    mixed(x.T)  # E: mixed.model[1] Linear(3, 2): x is (3, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_float32_to_compute_in() -> None:
    nn.MixedPrecision(nn.Linear(3, 2), compute=np.float32)  # E(mypy): Argument "compute" to "MixedPrecision" has incompatible type "type[floating[_32Bit]]"; expected "type[bfloat16] | type[floating[_16Bit]] | dtype[bfloat16] | dtype[floating[_16Bit]]" [arg-type]
