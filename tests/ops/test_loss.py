"""Regression and cosine losses: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import cosine, hinge, huber, mae, mse, normal, ones, rmse, sign, smooth_l1, tensor, zeros
from tapegrad.ops.loss import elementwise_loss_shape
from tapegrad.sizes import UNKNOWN, show
from tapegrad.testing import check_gradients, check_shape_rule

LOSSES: dict[str, Callable[..., Any]] = {
    "cosine": cosine,
    "hinge": hinge,
    "huber": huber,
    "mae": mae,
    "mse": mse,
    "rmse": rmse,
    "smooth_l1": smooth_l1,
}
REDUCTIONS = ["mean", "sum", "none"]
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in LOSSES),
    ("huber", {"delta": 0.25}),
    ("smooth_l1", {"beta": 0.25}),
    ("smooth_l1", {"beta": 0.0}),
    ("cosine", {"eps": 9.0}),
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("mse", [0, 1, 16]),
        ("rmse", [0, 1, 4]),
        ("mae", [0, 1, 4]),
        ("huber", [0, 0.5, 3.5]),
        ("smooth_l1", [0, 0.5, 3.5]),
    ],
)
def test_elementwise_losses_computed_by_hand(name: str, losses: list[float]) -> None:
    x, target = tensor([2.0, 2.0, -1.0]), tensor([2.0, 1.0, 3.0])

    mean = math.sqrt((0 + 1 + 16) / 3) if name == "rmse" else sum(losses) / 3
    total = math.sqrt(0 + 1 + 16) if name == "rmse" else sum(losses)

    assert LOSSES[name](x, target, reduction="none").tolist() == losses
    assert LOSSES[name](x, target).item() == pytest.approx(mean, rel=1e-6)
    assert LOSSES[name](x, target, reduction="sum").item() == pytest.approx(total, rel=1e-6)


def test_huber_and_smooth_l1_are_quadratic_for_small_errors() -> None:
    x, target = tensor([0.5, 3.0]), tensor([0.0, 0.0])

    # 0.5² / 2 and 2 (3 - 1); then the same over 2
    assert huber(x, target, delta=2.0, reduction="none").tolist() == [0.125, 4]
    assert smooth_l1(x, target, beta=2.0, reduction="none").tolist() == [0.0625, 2]
    assert smooth_l1(x, target, beta=0.0, reduction="none").tolist() == mae(x, target, reduction="none").tolist()


def test_hinge_loss_computed_by_hand() -> None:
    x, target = tensor([2.0, 0.5, -1.0, 1.0]), tensor([1.0, 1.0, 1.0, -1.0])

    assert hinge(x, target, reduction="none").tolist() == [0, 0.5, 2, 2]


def test_cosine_losses_ignore_lengths() -> None:
    x, target = tensor([[3.0, 0.0], [1.0, 1.0], [0.0, -2.0]]), tensor([[5.0, 0.0], [-1.0, 1.0], [0.0, 1.0]])

    assert cosine(x, target, reduction="none").tolist() == [0, 1, 2]
    assert cosine(x, target).item() == 1
    assert cosine(zeros((2,)), ones((2,))).item() == 1


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=str)
def test_gradients_can_be_differentiated(name: str, options: dict[str, Any], reduction: str) -> None:
    for shape in ((2, 3), (1,), (5, 1, 2)):
        target = real(*shape, seed=1)
        sides = sign(target) if name == "hinge" else target

        check_gradients(partial(LOSSES[name], target=sides, reduction=reduction, **options), real(*shape), order=2)


def test_the_gradient_at_a_kink_is_zero() -> None:
    x, target = tensor([1.0, 1.0]), tensor([1.0, 1.0])

    for loss in (rmse, mae, hinge, smooth_l1):
        taped = x.trace()

        assert loss(taped, target).backward()[taped].tolist() == [0, 0]


@pytest.mark.parametrize("name", LOSSES)
def test_results_match_the_shape_rules(name: str) -> None:
    shapes = [((2, 3), (2, 3)), ((1,), (1,)), ((0, 5), (0, 5))]

    for reduction in REDUCTIONS:
        cases = [{"x": x, "target": target, "reduction": reduction} for x, target in shapes]
        check_shape_rule(LOSSES[name], *cases)


@pytest.mark.parametrize("name", LOSSES)
def test_the_mean_of_nothing_is_nan_and_the_sum_is_zero(name: str) -> None:
    assert math.isnan(LOSSES[name](zeros((0, 3)), zeros((0, 3))).item())
    assert LOSSES[name](zeros((0, 3)), zeros((0, 3)), reduction="sum").item() == 0
    assert LOSSES[name](zeros((0, 3)), zeros((0, 3)), reduction="none").numpy().size == 0


@np.errstate(all="ignore")
@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("mse", [math.inf, math.nan, math.inf, 0, 9]),
        ("rmse", [math.inf, math.nan, math.inf, 0, 3]),
        ("mae", [math.inf, math.nan, 3e38, 0, 3]),
        ("huber", [math.inf, math.nan, 3e38, 0, 2.5]),
        ("smooth_l1", [math.inf, math.nan, 3e38, 0, 2.5]),
        ("hinge", [math.nan, math.nan, 1, 1, 1]),
    ],
)
def test_infinities_and_nan_pass_and_squares_overflow(name: str, losses: list[float]) -> None:
    x, target = tensor([math.inf, math.nan, 3e38, 0.0, 3.0]), zeros((5,))

    np.testing.assert_allclose(
        LOSSES[name](x, target, reduction="none").numpy(), np.array(losses, np.float32), rtol=1e-6
    )


@np.errstate(all="ignore")
def test_cosine_passes_nan_and_accepts_large_vectors() -> None:
    x = tensor([[math.nan, 1.0], [math.inf, 1.0], [1e15, 1e15]])

    np.testing.assert_allclose(cosine(x, ones((3, 2)), reduction="none").numpy(), [math.nan, math.nan, 0], atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_a_target_that_would_broadcast_is_rejected(name: str) -> None:
    for shape, written in (((3,), "(3,)"), ((2, 1), "(2, 1)")):
        with pytest.raises(ShapeError) as rejected:
            LOSSES[name](real(2, 3), real(*shape))

        assert str(rejected.value) == f"{name}: target {written} does not fit x (2, 3): expected (2, 3)"


def test_cosine_needs_an_axis() -> None:
    with pytest.raises(ShapeError, match=r"^cosine: x \(\) has rank 0 but needs at least 1$"):
        cosine(real(), real())


@pytest.mark.parametrize("name", LOSSES)
def test_ints_and_mixed_dtypes_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        LOSSES[name](tensor([1, 2]), tensor([1, 2]))
    with pytest.raises(DTypeError, match=f"^{name}: x is float32 but target is float64$"):
        LOSSES[name](ones((2,)), real(2))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_target_has_its_gradient(name: str, reduction: str) -> None:
    for options in [options for one, options in OPTIONS if one == name]:
        loss = partial(LOSSES[name], reduction=reduction, **options)
        check_gradients(loss, real(2, 3), real(2, 3, seed=1), order=2)
        check_gradients(lambda t, loss=loss: loss(real(2, 3), t), real(2, 3, seed=1))


def test_a_difference_has_opposite_gradients() -> None:
    x, target = tensor([2.5, 0.0]), tensor([3.0, -0.5])

    grads = mse(x.trace(), target.trace()).backward()

    assert grads[x].tolist() == [-0.5, 0.5]
    assert grads[target].tolist() == [0.5, -0.5]


@pytest.mark.parametrize("name", LOSSES)
def test_a_target_that_is_no_tensor_is_rejected(name: str) -> None:
    with pytest.raises(
        DTypeError, match=rf"^{name}: target is an ndarray, not a tensor; tg\.tensor\(target\) makes one$"
    ):
        LOSSES[name](real(2, 3), np.ones((2, 3)))


@pytest.mark.parametrize("name", LOSSES)
def test_an_unknown_reduction_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: reduction is 'avg' but 'mean', 'sum' or 'none' is expected$"):
        LOSSES[name](real(2, 3), real(2, 3), reduction="avg")


def test_options_out_of_range_are_rejected() -> None:
    x = real(2, 3)

    with pytest.raises(ValueError, match=r"^huber: delta is 0 but must be above 0$"):
        huber(x, x, delta=0)  # type: ignore[arg-type]  # out of range
    with pytest.raises(ValueError, match=r"^smooth_l1: beta is -1.0 but must be at least 0$"):
        smooth_l1(x, x, beta=-1.0)  # type: ignore[arg-type]  # out of range
    with pytest.raises(ValueError, match=r"^cosine: eps is nan but must be above 0$"):
        cosine(x, x, eps=math.nan)


def test_a_size_known_from_either_operand_is_known() -> None:
    assert show(elementwise_loss_shape((UNKNOWN, 3), (2, UNKNOWN), reduction="none")) == "(2, 3)"
