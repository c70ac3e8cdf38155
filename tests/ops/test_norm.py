"""Normalisation: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.registry import OPS
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import Param
from tapegrad.ops import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    normal,
    normalize,
    ones,
    rms_norm,
    tensor,
    zeros,
)
from tapegrad.ops.norm import group_norm_shape
from tapegrad.sizes import named
from tapegrad.testing import check_gradients, check_shape_rule

ALL: dict[str, Callable[..., Any]] = {
    "normalize": normalize,
    "layer_norm": lambda x, **options: layer_norm(x, *affine(x), **options),
    "rms_norm": lambda x, **options: rms_norm(x, affine(x)[0], **options),
}

CHANNELS: dict[str, Callable[..., Any]] = {
    "batch_norm": batch_norm,
    "group_norm": lambda *args, **options: group_norm(*args, groups=args[1].size // 2, **options),
    "instance_norm": instance_norm,
}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def affine(x: Any) -> tuple[Any, Any]:
    """Return the weight and the bias that change nothing."""
    return ones(x.shape[-1:], x.dtype.type), zeros(x.shape[-1:], x.dtype.type)


WHOLE: Any = tensor([1, 2])  # mypy rejects it before it runs


def test_values_computed_by_hand() -> None:
    x: Any = tensor([[1.0, 3.0, 8.0]], np.float64)
    weight: Any = tensor([2.0, 3.0, 5.0], np.float64)
    bias: Any = tensor([10.0, 20.0, 30.0], np.float64)

    # The mean of 1, 3, 8 is 4; of the squares 9, 1, 16 it is 26 / 3; of 1, 9, 64 it is 74 / 3.
    s, rms = math.sqrt(26 / 3 + 0.5), math.sqrt(74 / 3 + 0.5)
    np.testing.assert_allclose(normalize(x, eps=0.5).numpy(), [[-3 / s, -1 / s, 4 / s]], rtol=1e-15)
    np.testing.assert_allclose(
        layer_norm(x, weight, bias, eps=0.5).numpy(), [[10 - 6 / s, 20 - 3 / s, 30 + 20 / s]], rtol=1e-15
    )
    np.testing.assert_allclose(rms_norm(x, weight, eps=0.5).numpy(), [[2 / rms, 9 / rms, 40 / rms]], rtol=1e-15)


def test_batch_norm_equals_the_formula() -> None:
    x: Any = tensor([[1.0, 0.0], [3.0, 2.0], [8.0, 1.0]], np.float64)  # (N, C)
    weight, bias = tensor([2.0, 3.0], np.float64), tensor([10.0, 20.0], np.float64)

    # Channel 0 has the mean 4 and the variance 26 / 3, channel 1 the mean 1 and the variance 2 / 3.
    s, t = math.sqrt(26 / 3 + 0.5), math.sqrt(2 / 3 + 0.5)
    expected = [[10 - 6 / s, 20 - 3 / t], [10 - 2 / s, 20 + 3 / t], [10 + 8 / s, 20]]
    np.testing.assert_allclose(batch_norm(x, weight, bias, eps=0.5).numpy(), expected, rtol=1e-15)


def test_group_norm_equals_the_formula() -> None:
    x: Any = tensor([[[1.0], [3.0], [7.0], [1.0]], [[0.0], [0.0], [4.0], [8.0]]], np.float64)  # (N, C, L)
    weight, bias = tensor([1.0, 2.0, 3.0, 5.0], np.float64), zeros((4,), np.float64)

    y = group_norm(x, weight, bias, groups=2, eps=0.25)

    # Half the distance of two numbers is the root of their variance: 1, 3 have the variance 1, and 7, 1 have 9.
    s, t, u, v = math.sqrt(1.25), math.sqrt(9.25), 0.5, math.sqrt(4.25)
    expected = [[[-1 / s], [2 / s], [9 / t], [-15 / t]], [[0 / u], [0 / u], [-6 / v], [10 / v]]]
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-15)


def test_instance_norm_equals_the_formula() -> None:
    x = real(2, 3, 5, 7)
    weight, bias = real(3, seed=1), real(3, seed=2)

    y = instance_norm(x, weight, bias, eps=0.5)

    for n in range(2):
        for c in range(3):
            alone = normalize(x[n, c], None, eps=0.5).numpy() * weight.numpy()[c] + bias.numpy()[c]
            np.testing.assert_allclose(y.numpy()[n, c], alone, rtol=1e-13)


def test_norms_of_channels_equal_one_norm_over_other_axes() -> None:
    x, weight, bias = real(2, 6, 5), real(6, seed=1), real(6, seed=2)

    of_each = group_norm(x, weight, bias, groups=6).numpy()
    of_all = group_norm(x, ones((6,), np.float64), zeros((6,), np.float64), groups=1).numpy()

    np.testing.assert_allclose(of_each, instance_norm(x, weight, bias).numpy(), rtol=1e-13)
    np.testing.assert_allclose(of_all, normalize(x, (1, 2)).numpy(), rtol=1e-13)
    one_image = x[:1]
    np.testing.assert_allclose(
        batch_norm(one_image, weight, bias).numpy(), instance_norm(one_image, weight, bias).numpy(), rtol=1e-13
    )


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 4, 1), (2, 4, 1, 3)], ids=str)
def test_gradients_of_norms_of_channels_reach_all_operands(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(
        lambda x, w, b: CHANNELS[name](x, w, b, eps=0.5), real(*shape), real(4, seed=1), real(4, seed=2), order=2
    )


@pytest.mark.parametrize("name", CHANNELS)
def test_norms_of_channels_in_edge_cases(name: str) -> None:
    def norm(x: Any) -> Any:
        return CHANNELS[name](x, ones((2,), x.dtype.type), zeros((2,), x.dtype.type))

    assert norm(zeros((0, 2, 3))).shape == (0, 2, 3)
    assert norm(zeros((3, 2, 0))).shape == (3, 2, 0)
    assert norm(tensor([[[7.0, 7.0], [7.0, 7.0]]])).tolist() == [[[0, 0], [0, 0]]]
    huge = norm(tensor([[[1e38, 3e38, -3e38], [1.0, 2.0, 3.0]]]).trace())
    assert np.isfinite(huge.numpy()).all()
    assert np.abs(huge.numpy()).max() > 0.5
    spoiled = norm(tensor([[[np.inf, 1.0], [0.0, 2.0]], [[np.nan, 1.0], [1.0, 2.0]]])).numpy()
    assert np.isnan(spoiled[1, 0]).all()
    assert np.isfinite(spoiled[:, 1]).all() == (name != "group_norm")  # there both channels are one group


@pytest.mark.parametrize("name", CHANNELS)
def test_parameters_of_channels_get_their_gradients(name: str) -> None:
    x, weight, bias = real(2, 4, 3), Param(real(4, seed=1)), Param(real(4, seed=2))

    grads = CHANNELS[name](x.trace(), weight, bias).sum().backward()

    plain = CHANNELS[name](x, ones((4,), np.float64), zeros((4,), np.float64)).sum((0, 2))
    np.testing.assert_allclose(grads[weight].numpy(), plain.numpy(), atol=1e-12)
    assert grads[bias].tolist() == [6] * 4


def test_a_channel_with_one_element_gives_zero() -> None:
    x, one, none = tensor([[[5.0]]]), ones((1,)), zeros((1,))

    for norm in (batch_norm, instance_norm, lambda *args: group_norm(*args, groups=1)):
        assert norm(x, one, none).tolist() == [[[0.0]]]


@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None], ids=str)
def test_the_result_has_the_requested_mean_and_variance(axis: Any) -> None:
    x = real(2, 3, 5)

    y = normalize(x * 7 + 3, axis, eps=1e-12)

    np.testing.assert_allclose(y.mean(axis).numpy(), 0, atol=1e-14)
    np.testing.assert_allclose(y.var(axis).numpy(), 1, rtol=1e-10)


@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 2), None], ids=str)
def test_gradients_of_normalize_can_be_differentiated(axis: Any) -> None:
    check_gradients(lambda x: normalize(x, axis, eps=0.1), real(2, 3, 2), order=2)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_gradients_reach_all_operands(shape: tuple[int, ...], eps: float) -> None:
    x, weight, bias = real(*shape), real(3, seed=1), real(3, seed=2)

    check_gradients(lambda x, w, b: layer_norm(x, w, b, eps=eps), x, weight, bias, order=2)
    check_gradients(lambda x, w: rms_norm(x, w, eps=eps), x, weight, order=2)


def test_a_weight_of_several_axes_normalizes_over_as_many() -> None:
    x, weight, bias = real(2, 3, 5), real(3, 5, seed=1), real(3, 5, seed=2)
    rows = x.reshape((2, 15))

    expected = layer_norm(rows, weight.reshape(15), bias.reshape(15)).numpy().reshape(2, 3, 5)
    np.testing.assert_allclose(layer_norm(x, weight, bias).numpy(), expected, rtol=1e-14)
    expected = rms_norm(rows, weight.reshape(15)).numpy().reshape(2, 3, 5)
    np.testing.assert_allclose(rms_norm(x, weight).numpy(), expected, rtol=1e-14)
    assert layer_norm(real(0, 3, 5), weight, bias).shape == (0, 3, 5)
    assert rms_norm(real(2, 0), real(2, 0)).shape == (2, 0)
    check_gradients(layer_norm, x, weight, bias, order=2)
    check_gradients(rms_norm, x, weight, order=2)


def test_any_operand_may_have_the_tape() -> None:
    x, (weight, bias) = real(2, 3), affine(real(2, 3))

    for operands in ((x.trace(), weight, bias), (x, weight.trace(), bias), (x, weight, bias.trace())):
        y = layer_norm(*operands)
        assert y.sum().backward()[next(one for one in operands if one.owns_tape)].shape
    assert not layer_norm(x, weight, bias).owns_tape


@pytest.mark.parametrize("name", ALL)
def test_large_numbers_do_not_overflow(name: str) -> None:
    x: Any = tensor([[1e38, 3e38, -3e38], [1.0, -2.0, 3.0]])  # a square, and the sum of the squares, is infinite

    y = ALL[name](x.trace())
    dx = (y * y * y).sum().backward()[x].numpy()

    small = ALL[name](tensor([[1.0, 3.0, -3.0], [1.0, -2.0, 3.0]]), eps=1e-30)
    np.testing.assert_allclose(y.numpy()[0], small.numpy()[0], rtol=1e-6)
    np.testing.assert_allclose(y.numpy()[1], ALL[name](x[1:]).numpy()[0], rtol=1e-6)
    assert np.isfinite(dx).all()
    assert np.abs(dx[0]).max() < 1e-37  # a derivative in units of 1 / x


def test_gradients_are_right_where_squares_overflow() -> None:
    huge = real(2, 3) * 1e170

    for f in ALL.values():
        check_gradients(lambda x, f=f: f(x * 1e170), huge / 1e170)


def test_gradients_of_weight_and_bias_are_right_where_squares_overflow() -> None:
    # The unit of a row does not change its norm.
    x, weight, bias = real(4, 2, 3), real(3, seed=1), real(3, seed=2)
    dy = real(4, 2, 3, seed=3)

    def gradients(x: Any, eps: float) -> list[Any]:
        taped = x.trace()
        grads = layer_norm(taped, weight, bias, eps=eps).backward(wrt=[x, weight, bias], seed=dy)
        return [grads[one].numpy() for one in (x, weight, bias)]

    (dx, *others), (small_dx, *small_others) = gradients(x * 1e170, 1e-5), gradients(x, 1e-300)

    np.testing.assert_allclose(dx * 1e170, small_dx, rtol=1e-9, atol=1e-12)
    for found, expected in zip(others, small_others, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_small_differences_of_large_numbers_are_preserved() -> None:
    x: Any = tensor([[4096.0, 4097.0, 4098.0]])

    np.testing.assert_allclose(normalize(x).numpy(), [[-math.sqrt(1.5), 0, math.sqrt(1.5)]], rtol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_zeros_stay_zeros_and_have_a_finite_gradient(name: str) -> None:
    x: Any = zeros((2, 3), np.float64)

    y = ALL[name](x.trace(), eps=0.25)
    dx = y.backward(seed=tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 0.0]], np.float64))[x]

    # 1 / √0.25 is 2; the mean of 1, 2, 6 is 3
    assert y.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert dx.tolist() == [[2, 4, 12] if name == "rms_norm" else [-4, -2, 6], [0, 0, 0]]


@pytest.mark.parametrize("name", ALL)
def test_single_elements_and_empty_tensors(name: str) -> None:
    signs = [[1], [-1]] if name == "rms_norm" else [[0], [0]]  # a number alone is its own mean
    np.testing.assert_allclose(ALL[name](tensor([[3.0], [-3.0]])).numpy(), signs, rtol=1e-6)
    assert ALL[name](zeros((0, 3))).shape == (0, 3)
    assert ALL[name](zeros((2, 0))).shape == (2, 0)
    check_gradients(ALL[name], zeros((0, 3), np.float64))


@pytest.mark.parametrize("name", ALL)
def test_infinities_and_nan_stay_in_their_row(name: str) -> None:
    y = ALL[name](tensor([[np.inf, 1.0], [np.nan, 1.0], [1.0, 5.0]])).numpy()

    assert np.isnan(y[0, 0])
    assert np.isnan(y[1]).all()
    assert np.isfinite(y[2]).all()


def test_half_precision_stays_half() -> None:
    x: Any = tensor([[300.0, -300.0, 600.0]], np.float16)  # 600 squared overflows float16

    y = normalize(x)

    assert y.dtype == np.float16
    np.testing.assert_allclose(y.numpy(), normalize(x.astype(np.float64)).numpy(), rtol=5e-3)


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(normalize, ((5,),), ((2, 3, 7), 0), ((2, 3, 7), (0, -1)), ((2, 3), None), ((2, 0), 1), ((2,), 1))
    check_shape_rule(layer_norm, ((5,), (5,), (5,)), ((2, 3, 7), (7,), (7,)), ((2, 1), (1,), (1,)), ((2,), (3,), (2,)))
    check_shape_rule(layer_norm, ((2, 3, 7), (3, 7), (3, 7)), ((2, 3), (2, 3), (2, 3)), ((2, 3), (2, 3), (3,)))
    check_shape_rule(batch_norm, ((2, 3), (3,), (3,)), ((2, 3, 5), (3,), (3,)), ((0, 3, 5, 7), (3,), (3,)))
    check_shape_rule(instance_norm, ((2, 3, 5), (3,), (3,)), ((2, 1, 5, 7), (1,), (1,)))
    check_shape_rule(
        group_norm,
        {"x": (2, 6, 5), "weight": (6,), "bias": (6,), "groups": 3},
        {"x": (2, 7), "weight": (7,), "bias": (7,), "groups": 1},
    )
    check_shape_rule(rms_norm, ((5,), (5,)), ((2, 3, 7), (7,)), ((0, 3), (3,)), ((2, 3), (1,)), ((2, 3, 7), (3, 7)))


def test_group_norm_asks_for_the_fact_that_groups_divide_a_named_number_of_channels() -> None:
    c = named("C")

    with pytest.raises(ShapeError) as rejected:
        group_norm_shape((3, c, 5), (c,), (c,), groups=2)

    assert str(rejected.value) == (
        "axis 1 of x (3, C, 5) is C, and it is not known that this divides into 2 groups: add tg.assert_divides(2, C)"
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: normalize(real(2, 3), 2), ShapeError, r"normalize: axis 2 is out of range for x \(2, 3\)"),
        (
            lambda: normalize(real(2, 3), (1, -1)),
            ShapeError,
            r"normalize: axis \(1, -1\) names an axis of x \(2, 3\) twice",
        ),
        (lambda: normalize(real(), 0), ShapeError, r"normalize: axis 0 is out of range for x \(\)"),
        (lambda: normalize(WHOLE), DTypeError, "normalize: x is int64 but floating is expected"),
        (lambda: normalize(real(2), eps=0), ValueError, "normalize: eps is 0 but must be above 0"),  # type: ignore[arg-type]  # out of range
        (
            lambda: layer_norm(real(2), real(2), real(2), eps=0),  # type: ignore[arg-type]  # out of range
            ValueError,
            "layer_norm: eps is 0 but must be above 0",
        ),
        (
            lambda: layer_norm(real(2, 3), real(4), real(3)),
            ShapeError,
            r"layer_norm: axis -1 of x \(2, 3\) is 3 but weight \(4,\) has 4",
        ),
        (
            lambda: layer_norm(real(2, 3), real(3), real(1)),
            ShapeError,
            r"layer_norm: axis -1 of x \(2, 3\) is 3 but bias \(1,\) has 1",
        ),
        (
            lambda: layer_norm(real(), real(1), real(1)),
            ShapeError,
            r"layer_norm: x \(\) has rank 0 but needs at least 1",
        ),
        (
            lambda: rms_norm(real(2, 3), real(3, 3)),
            ShapeError,
            r"rms_norm: axis -2 of x \(2, 3\) is 2 but weight \(3, 3\) has 3",
        ),
        (
            lambda: rms_norm(real(3), real(2, 3)),
            ShapeError,
            r"rms_norm: x \(3,\) has rank 1 but needs at least 2",
        ),
        (
            lambda: layer_norm(real(2, 3), real(2, 3), real(3)),
            ShapeError,
            r"layer_norm: bias \(3,\) has rank 1, not 2",
        ),
        (
            lambda: rms_norm(real(2, 3), real()),
            ShapeError,
            r"rms_norm: weight \(\) has rank 0 but needs at least 1",
        ),
        (
            lambda: layer_norm(real(2, 3), ones((3,)), real(3)),
            DTypeError,
            "layer_norm: x is float64 but weight is float32",
        ),
        (
            lambda: layer_norm(real(2, 3), real(3), ones((3,))),
            DTypeError,
            "layer_norm: x is float64 but bias is float32",
        ),
        (
            lambda: rms_norm(WHOLE, real(2)),
            DTypeError,
            "rms_norm: x is int64 but weight is float64",
        ),
        (
            lambda: rms_norm(WHOLE, WHOLE),
            DTypeError,
            "rms_norm: x is int64 but floating is expected",
        ),
        (
            lambda: batch_norm(real(2, 3), real(4), real(3)),
            ShapeError,
            r"batch_norm: axis 1 of x \(2, 3\) is 3 but weight \(4,\) has 4",
        ),
        (
            lambda: batch_norm(real(2), real(2), real(2)),
            ShapeError,
            r"batch_norm: x \(2,\) has rank 1 but needs at least 2",
        ),
        (
            lambda: batch_norm(real(2, 3), ones((3,)), real(3)),
            DTypeError,
            "batch_norm: x is float64 but weight is float32",
        ),
        (
            lambda: batch_norm(real(2, 3), real(3), real(3), eps=0),  # type: ignore[arg-type]  # out of range
            ValueError,
            "batch_norm: eps is 0 but must be above 0",
        ),
        (
            lambda: group_norm(real(2, 6), real(6), real(6), groups=4),
            ShapeError,
            r"group_norm: axis 1 of x \(2, 6\) is 6, which does not divide into 4 groups",
        ),
        (
            lambda: group_norm(real(2, 6), real(6), real(6), groups=0),
            ShapeError,
            "group_norm: groups is 0 but at least 1 is expected",
        ),
        (
            lambda: group_norm(real(2, 6), real(6), real(5), groups=3),
            ShapeError,
            r"group_norm: axis 1 of x \(2, 6\) is 6 but bias \(5,\) has 5",
        ),
        (
            lambda: group_norm(WHOLE.reshape((1, 2)), WHOLE, WHOLE, groups=1),
            DTypeError,
            "group_norm: x is int64 but floating is expected",
        ),
        (
            lambda: group_norm(real(2, 6), real(6), real(6), groups=3, eps=-1),  # type: ignore[arg-type]  # out of range
            ValueError,
            "group_norm: eps is -1 but must be above 0",
        ),
        (
            lambda: instance_norm(real(2, 3), real(3), real(3)),
            ShapeError,
            r"instance_norm: x \(2, 3\) has rank 2 but needs at least 3",
        ),
        (
            lambda: instance_norm(real(2, 3, 5), real(3), ones((3,))),
            DTypeError,
            "instance_norm: x is float64 but bias is float32",
        ),
        (
            lambda: instance_norm(real(2, 3, 5), real(3), real(3), eps=0),  # type: ignore[arg-type]  # out of range
            ValueError,
            "instance_norm: eps is 0 but must be above 0",
        ),
        (lambda: rms_norm(real(2), real(2), eps=-1), ValueError, "rms_norm: eps is -1 but must be above 0"),  # type: ignore[arg-type]  # out of range
    ],
)
def test_invalid_arguments_are_rejected(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        call()


@pytest.mark.parametrize(
    ("name", "options"), [("batch_norm", {}), ("group_norm", {"groups": 2}), ("instance_norm", {})]
)
def test_weight_and_bias_are_as_long_as_there_are_channels(name: str, options: Any) -> None:
    rule = OPS[name].rule

    for short in ("weight", "bias"):
        sizes = {"weight": (4,), "bias": (4,)} | {short: (3,)}
        with pytest.raises(ShapeError, match=rf"^axis 1 of x \(2, 4, 5\) is 4 but {short} \(3,\) has 3$"):
            rule((2, 4, 5), **sizes, **options)


def test_an_eps_that_is_a_bool_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^normalize: eps is True but a number is expected$"):
        normalize(tensor([[3.0, 4.0]]), eps=True)  # type: ignore[arg-type]  # under test
