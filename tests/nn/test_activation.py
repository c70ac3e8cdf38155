"""Activation modules give the results of their ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import nn
from tapegrad.errors import DTypeError
from tapegrad.nn import (
    CELU,
    ELU,
    GELU,
    SELU,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from tapegrad.ops import (
    celu,
    elu,
    gelu,
    hardswish,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
    tensor,
)

OF_FLOATS: list[tuple[Any, Any]] = [
    (CELU(), celu),
    (CELU(alpha=0.5), lambda x: celu(x, alpha=0.5)),
    (ELU(), elu),
    (ELU(alpha=0.5), lambda x: elu(x, alpha=0.5)),
    (GELU(), gelu),
    (GELU(approximate="tanh"), lambda x: gelu(x, approximate="tanh")),
    (Hardswish(), hardswish),
    (Hardtanh(), hardtanh),
    (Hardtanh(min=-0.5, max=2.0), lambda x: hardtanh(x, -0.5, 2.0)),
    (LeakyReLU(), leaky_relu),
    (LeakyReLU(negative_slope=0.2), lambda x: leaky_relu(x, negative_slope=0.2)),
    (LogSigmoid(), log_sigmoid),
    (LogSoftmax(), log_softmax),
    (LogSoftmax(0), lambda x: log_softmax(x, 0)),
    (Mish(), mish),
    (ReLU6(), relu6),
    (SELU(), selu),
    (SiLU(), silu),
    (Sigmoid(), sigmoid),
    (Softmax(), softmax),
    (Softmax(axis=0), lambda x: softmax(x, 0)),
    (Softplus(), softplus),
    (Tanh(), tanh),
]


@pytest.mark.parametrize(("module", "function"), [(ReLU(), relu), *OF_FLOATS])
def test_an_activation_equals_its_op(module: Any, function: Any) -> None:
    x: Any = tensor([[-1.0, 0.0, 2.0]], np.float64)

    y = module(x.trace())

    assert y.tolist() == function(x).tolist()
    assert y.owns_tape
    assert module.parameters() == {}


@pytest.mark.parametrize("module", [module for module, _ in OF_FLOATS])
def test_an_activation_of_ints_is_rejected(module: Any) -> None:
    with pytest.raises(DTypeError, match=r"x is int64 but floating is expected$"):
        module(tensor([1, 2]))


def test_the_parameter_of_prelu_is_trained() -> None:
    layer, x = PReLU(), tensor([[-2.0, 0.0, 3.0], [-4.0, 1.0, 5.0]])

    y = layer(x.trace())
    grads = y.sum().backward()

    assert y.tolist() == [[-0.5, 0, 3], [-1, 1, 5]]
    assert grads[layer.weight].item() == -6
    assert PReLU(negative_slope=0.5)(x).tolist() == [[-1, 0, 3], [-2, 1, 5]]
    assert list(layer.parameters()) == ["weight"]


def test_an_activation_has_a_repr() -> None:
    assert repr(ReLU()) == "ReLU()"
    assert repr(Tanh()) == "Tanh()"
    assert (repr(Softmax()), repr(LogSoftmax(0))) == ("Softmax()", "LogSoftmax(0)")


def test_bounds_in_another_order_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"^Hardtanh: min is 2\.0 but max is 1\.0, which is below$"):
        Hardtanh(min=2.0)


def test_an_option_that_forward_would_reject_is_rejected_before() -> None:
    unknown: Any = "erf"
    half: Any = 0.5

    with pytest.raises(ValueError, match=r"^GELU: approximate is 'erf' but 'none' or 'tanh' is expected$"):
        nn.GELU(approximate=unknown)
    for layer in (nn.Softmax, nn.LogSoftmax):
        with pytest.raises(DTypeError, match=f"^{layer.__name__}: axis is 0.5 but an int is expected$"):
            layer(half)
    with pytest.raises(DTypeError, match=r"^Flatten: start_axis is a float but an int is expected$"):
        nn.Flatten(start_axis=half)
