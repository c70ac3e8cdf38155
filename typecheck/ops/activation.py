"""Activations keep the shape and the tape."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
whole = tg.tensor([1, 2, 3])


def accept_elu() -> None:
    assert_type(tg.elu(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.elu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.elu(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_elu_of_ints() -> None:
    tg.elu(whole)  # E: elu: x is int64 but floating is expected [tapegrad-dtype]


def accept_gelu() -> None:
    assert_type(tg.gelu(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.gelu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.gelu(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_gelu_of_ints() -> None:
    tg.gelu(whole)  # E: gelu: x is int64 but floating is expected [tapegrad-dtype]


def accept_leaky_relu() -> None:
    assert_type(tg.leaky_relu(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.leaky_relu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.leaky_relu(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_leaky_relu_of_ints() -> None:
    tg.leaky_relu(whole)  # E: leaky_relu: x is int64 but floating is expected [tapegrad-dtype]


def accept_log_sigmoid() -> None:
    assert_type(tg.log_sigmoid(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.log_sigmoid(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.log_sigmoid(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_log_sigmoid_of_ints() -> None:
    tg.log_sigmoid(whole)  # E: log_sigmoid: x is int64 but floating is expected [tapegrad-dtype]


def accept_logit() -> None:
    p = tg.full((2, 3), 0.25)
    assert_type(tg.logit(p), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.logit(p.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.logit(p.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])

    def any_sizes(a: Tensor[Shape[N, M]]) -> Tensor[Shape[N, M]]:
        return tg.logit(a)


def reject_logit_of_ints() -> None:
    tg.logit(whole)  # E: logit: x is int64 but floating is expected [tapegrad-dtype]


def accept_sigmoid() -> None:
    assert_type(tg.sigmoid(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sigmoid(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.sigmoid(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_sigmoid_of_ints() -> None:
    tg.sigmoid(whole)  # E: sigmoid: x is int64 but floating is expected [tapegrad-dtype]


def accept_silu() -> None:
    assert_type(tg.silu(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.silu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.silu(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_silu_of_ints() -> None:
    tg.silu(whole)  # E: silu: x is int64 but floating is expected [tapegrad-dtype]


def accept_softplus() -> None:
    assert_type(tg.softplus(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.softplus(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.softplus(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_softplus_of_ints() -> None:
    tg.softplus(whole)  # E: softplus: x is int64 but floating is expected [tapegrad-dtype]


def accept_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[Any, N]], c: Tensor) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.sigmoid(c), Tensor[Any, Any, Any])
        return tg.sigmoid(a)

    assert_type(computed(x.trace(), x.T, x), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_options() -> None:
    assert_type(tg.celu(x, alpha=0.5), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.elu(x, alpha=0.5), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.gelu(x, approximate="tanh"), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.leaky_relu(x, negative_slope=0.2), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_another_form_of_gelu() -> None:
    tg.gelu(x, approximate="sigmoid")  # E(mypy): gelu: approximate is 'sigmoid' but 'none' or 'tanh' is expected [arg-type]


def accept_mish() -> None:
    assert_type(tg.mish(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.mish(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.mish(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_mish_of_ints() -> None:
    tg.mish(whole)  # E: mish: x is int64 but floating is expected [tapegrad-dtype]


def accept_prelu() -> None:
    assert_type(tg.prelu(x, tg.ones((3,))), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.prelu(x, tg.ones((2, 1)).trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_prelu_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.prelu(c, tg.ones((3,))), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.prelu(a, b)

    assert_type(computed(x, tg.ones((3,)), x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_prelu_of_other_channels() -> None:
    tg.prelu(x, tg.ones((4,)))  # E: prelu: x (2, 3) and weight (4,) do not broadcast: axis -1 is 3 in x but 4 in weight [tapegrad-shape]


def reject_prelu_of_ints() -> None:
    tg.prelu(whole, whole)  # E: prelu: x is int64 but floating is expected [tapegrad-dtype]


def accept_celu() -> None:
    assert_type(tg.celu(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.celu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.celu(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_celu_of_ints() -> None:
    tg.celu(whole)  # E: celu: x is int64 but floating is expected [tapegrad-dtype]


def accept_selu() -> None:
    assert_type(tg.selu(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.selu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.selu(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_selu_of_ints() -> None:
    tg.selu(whole)  # E: selu: x is int64 but floating is expected [tapegrad-dtype]
