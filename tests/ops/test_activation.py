"""Activations: values, saturation, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    celu,
    elu,
    gelu,
    leaky_relu,
    log_sigmoid,
    logit,
    mish,
    normal,
    prelu,
    selu,
    sigmoid,
    silu,
    softplus,
    tensor,
)
from tapegrad.testing import check_gradients, check_shape_rule

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "celu": celu,
    "elu": elu,
    "gelu": gelu,
    "leaky_relu": leaky_relu,
    "log_sigmoid": log_sigmoid,
    "mish": mish,
    "selu": selu,
    "sigmoid": sigmoid,
    "silu": silu,
    "softplus": softplus,
}
OPTIONS: dict[str, Callable[..., Any]] = {
    **ACTIVATIONS,
    "celu(alpha=0.5)": lambda x: celu(x, alpha=0.5),
    "elu(alpha=0.5)": lambda x: elu(x, alpha=0.5),
    "gelu(approximate='tanh')": lambda x: gelu(x, approximate="tanh"),
    "leaky_relu(negative_slope=0.2)": lambda x: leaky_relu(x, negative_slope=0.2),
}
BY_PYTHON: dict[str, Callable[[float], float]] = {
    "celu": lambda x: x if x > 0 else math.expm1(x),
    "celu(alpha=0.5)": lambda x: x if x > 0 else 0.5 * math.expm1(2 * x),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "elu(alpha=0.5)": lambda x: x if x > 0 else 0.5 * math.expm1(x),
    "gelu": lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)),
    "gelu(approximate='tanh')": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "leaky_relu(negative_slope=0.2)": lambda x: x if x > 0 else 0.2 * x,
    "log_sigmoid": lambda x: -math.log1p(math.exp(-x)),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "selu": lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
}


def real(*shape: int) -> Any:
    return normal(shape, dtype=np.float64, rng=0)


@pytest.mark.parametrize("name", OPTIONS)
def test_values_equal_the_formula_in_pythons_math(name: str) -> None:
    x = [-3.0, -1.0, -0.25, 0.0, 0.5, 2.0, 5.0]

    y = OPTIONS[name](tensor(x, np.float64))

    assert y.tolist() == pytest.approx([BY_PYTHON[name](v) for v in x], rel=1e-13, abs=1e-16)
    assert OPTIONS[name](tensor(x)).dtype == np.float32


# torch 2.13: F.elu(x), ... of x = torch.tensor([inf, -inf, nan, 100., 100., 0.], dtype=torch.float64)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("celu", [math.inf, -1, math.nan, 100, 100, 0]),
        ("celu(alpha=0.5)", [math.inf, -0.5, math.nan, 100, 100, 0]),
        ("elu", [math.inf, -1, math.nan, 100, 100, 0]),
        ("gelu", [math.inf, math.nan, math.nan, 100, 100, 0]),
        ("gelu(approximate='tanh')", [math.inf, math.nan, math.nan, 100, 100, 0]),
        ("leaky_relu", [math.inf, -math.inf, math.nan, 100, 100, 0]),
        ("log_sigmoid", [0, -math.inf, math.nan, -3.720075976020836e-44, -3.720075976020836e-44, -0.6931471805599453]),
        ("selu", [math.inf, -1.7580993408473766, math.nan, 105.07009873554804, 105.07009873554804, 0]),
        ("sigmoid", [1, 0, math.nan, 1, 1, 0.5]),
        ("silu", [math.inf, math.nan, math.nan, 100, 100, 0]),
        ("softplus", [math.inf, 0, math.nan, 100, 100, 0.6931471805599453]),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_edge_cases_equal_torch(name: str, expected: list[float]) -> None:
    y = OPTIONS[name](tensor([math.inf, -math.inf, math.nan, 100.0, 100.0, 0.0], np.float64))

    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_gradients_can_be_differentiated(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(OPTIONS[name], real(*shape), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", ["gelu", "log_sigmoid", "mish", "sigmoid", "silu", "softplus"])
def test_smooth_activations_are_differentiable_at_zero(name: str) -> None:
    check_gradients(ACTIVATIONS[name], tensor([0.0], np.float64), order=2)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(ACTIVATIONS[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_ints_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        ACTIVATIONS[name](tensor([1, 2]))


@pytest.mark.parametrize("name", OPTIONS)
def test_large_inputs_give_finite_results_and_gradients_without_a_warning(name: str) -> None:
    x: Any = tensor([-1000.0, 1000.0])

    y = OPTIONS[name](x.trace())
    dx = y.sum().backward()[x].numpy()

    assert np.isfinite(y.numpy()).all()
    assert np.isfinite(dx).all()


@pytest.mark.parametrize(("f", "derivative"), [(elu, 0.5), (leaky_relu, 0.2)])
def test_the_derivative_at_zero_is_that_of_the_left_side(f: Callable[..., Any], derivative: float) -> None:
    x: Any = tensor([0.0])
    option = {"alpha": derivative} if f is elu else {"negative_slope": derivative}

    assert f(x.trace(), **option).sum().backward()[x].item() == pytest.approx(derivative)


@pytest.mark.parametrize(("f", "option"), [(elu, "alpha"), (leaky_relu, "negative_slope")])
def test_an_option_that_is_no_number_is_rejected(f: Callable[..., Any], option: str) -> None:
    with pytest.raises(ValueError, match=f"^{f.__name__}: {option} is nan but a number is expected$"):
        f(tensor([1.0]), **{option: math.nan})


def test_large_negative_inputs_keep_relative_accuracy() -> None:
    # In float32 sigmoid was 0 from -17 on, as were silu, the derivatives of softplus and elu, and that of log_sigmoid.
    x: Any = tensor([-20.0, -50.0, -80.0])
    powers = [math.exp(-20), math.exp(-50), math.exp(-80)]  # 1 + e^x is 1 to float32

    assert sigmoid(x).tolist() == pytest.approx(powers, rel=1e-6, abs=0)
    assert silu(x).tolist() == pytest.approx([-20 * powers[0], -50 * powers[1], -80 * powers[2]], rel=1e-6, abs=0)
    for f in (sigmoid, softplus, elu):
        assert f(x.trace()).sum().backward()[x].tolist() == pytest.approx(powers, rel=1e-6, abs=0)
    assert log_sigmoid(-x.trace()).sum().backward()[x].tolist() == pytest.approx([-p for p in powers], rel=1e-6, abs=0)


# SciPy 1.17: scipy.special.logit([0.25, 0.75, 0.75, 0, 1, nan])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_logit_equals_scipy() -> None:
    x = tensor([0.25, 0.75, 0.75, 0.0, 1.0, math.nan], np.float64)
    expected = [-1.0986122886681098, 1.0986122886681098, 1.0986122886681098, -math.inf, math.inf, math.nan]

    np.testing.assert_allclose(logit(x).numpy(), expected, rtol=1e-15)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_logit_of_an_invalid_probability_is_nan() -> None:
    x: Any = tensor([-1.0, 2.0, 100.0, math.inf])

    assert np.isnan(logit(x).numpy()).all()
    assert np.isnan(logit(x.trace()).sum().backward()[x].numpy()).all()


def test_logit_is_the_inverse_of_sigmoid() -> None:
    x = real(2, 3)

    np.testing.assert_allclose(logit(sigmoid(x)).numpy(), x.numpy(), rtol=1e-13)


@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_the_gradient_of_logit_can_be_differentiated(shape: tuple[int, ...]) -> None:
    check_gradients(logit, sigmoid(real(*shape)), order=2, rtol=1e-4)


def test_logit_has_a_shape_rule_and_rejects_ints() -> None:
    check_shape_rule(logit, ((),), ((5,),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^logit: x is int64 but floating is expected$"):
        logit(tensor([0, 1]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_saturated_activations() -> None:
    x = tensor([-100.0, 100.0])

    assert sigmoid(x).tolist() == [0, 1]
    assert log_sigmoid(x).tolist() == [-100, pytest.approx(0)]
    assert softplus(x).tolist() == [pytest.approx(0), 100]
    assert elu(x).tolist() == [-1, 100]
    assert silu(x).tolist() == gelu(x).tolist() == [0, 100]
    assert mish(x).tolist() == [pytest.approx(0), 100]


def test_the_two_forms_of_gelu_are_close() -> None:
    x = tensor(np.linspace(-6, 6, 1001))

    difference = np.abs(gelu(x).numpy() - gelu(x, approximate="tanh").numpy())

    assert 1e-4 < difference.max() < 5e-4


def test_an_unknown_form_of_gelu_is_rejected() -> None:
    form: Any = "sigmoid"

    with pytest.raises(ValueError, match=r"^gelu: approximate is 'sigmoid' but 'none' or 'tanh' is expected$"):
        gelu(real(3), approximate=form)


# prelu


def test_prelu_equals_leaky_relu_per_channel() -> None:
    x, weight = real(2, 3, 5), tensor([[0.2], [-0.5], [0.0]], np.float64)

    y = prelu(x, weight).numpy()

    for channel, derivative in enumerate([0.2, -0.5, 0.0]):
        np.testing.assert_array_equal(y[:, channel], leaky_relu(x[:, channel], negative_slope=derivative).numpy())
    assert prelu(tensor([-2.0]), tensor([0.25])).dtype == np.float32


@pytest.mark.parametrize(
    ("x", "weight"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_the_weight_of_prelu_has_a_gradient_of_its_shape(x: tuple[int, ...], weight: tuple[int, ...]) -> None:
    check_gradients(prelu, real(*x), normal(weight, dtype=np.float64, rng=1), order=2)


def test_prelu_at_zero_uses_the_weight_and_gives_it_no_gradient() -> None:
    x, weight = tensor([0.0, -3.0, 2.0]), tensor([0.25, 0.25, 0.25])

    grads = prelu(x.trace(), weight.trace()).sum().backward()

    assert grads[x].tolist() == [0.25, 0.25, 1]
    assert grads[weight].tolist() == [0, -3, 0]


def test_prelu_matches_its_shape_rule() -> None:
    check_shape_rule(prelu, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


def test_weights_of_prelu_that_do_not_broadcast_are_rejected() -> None:
    number: Any = 0.25

    with pytest.raises(ShapeError) as rejected:
        prelu(real(2, 3), real(4))
    assert str(rejected.value) == "prelu: x (2, 3) and weight (4,) do not broadcast: axis -1 is 3 in x but 4 in weight"
    with pytest.raises(DTypeError, match=r"^prelu: x is float64 but weight is float32$"):
        prelu(real(3), tensor([0.25]))
    with pytest.raises(DTypeError, match=r"^prelu: x is int64 but floating is expected$"):
        prelu(tensor([1]), tensor([2]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^prelu: weight is a float, not a tensor$"):
        prelu(real(3), number)


@np.errstate(invalid="ignore")
def test_mish_and_prelu_in_edge_cases() -> None:
    edges = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)

    # Far below zero mish is zero, but at minus infinity a product of it with zero, which IEEE 754 makes NaN.
    wide = edges.astype(np.float64)
    np.testing.assert_allclose(mish(tensor(edges)).numpy(), wide * np.tanh(np.logaddexp(0, wide)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(
        prelu(tensor(edges), tensor([0.25])).numpy(), np.where(edges > 0, edges, np.float32(0.25) * edges)
    )


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan])
def test_a_width_of_celu_that_is_not_above_zero_is_rejected(alpha: float) -> None:
    with pytest.raises(ValueError, match=rf"^celu: alpha is {alpha} but must be above 0$"):
        celu(real(3), alpha=alpha)
