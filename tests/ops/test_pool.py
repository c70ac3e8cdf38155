"""Pooling in one and two dimensions: values, ties, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
    min_pool1d,
    min_pool2d,
    normal,
    ones,
    smooth_max_pool1d,
    smooth_max_pool2d,
    tensor,
    zeros,
)
from tapegrad.ops.pool import avg_pool1d_shape, avg_pool2d_shape, pool1d_shape, pool2d_shape
from tapegrad.testing import check_gradients, check_shape_rule

POOLS: dict[str, Any] = {
    "max_pool1d": max_pool1d,
    "max_pool2d": max_pool2d,
    "min_pool1d": min_pool1d,
    "min_pool2d": min_pool2d,
    "smooth_max_pool1d": smooth_max_pool1d,
    "smooth_max_pool2d": smooth_max_pool2d,
    "avg_pool1d": avg_pool1d,
    "avg_pool2d": avg_pool2d,
}
ADAPTIVE: dict[str, Any] = {"adaptive_avg_pool1d": adaptive_avg_pool1d, "adaptive_avg_pool2d": adaptive_avg_pool2d}
ALL = POOLS | ADAPTIVE
OPTIONS: list[dict[str, Any]] = [
    {"kernel": 2},
    {"kernel": 3, "stride": 1, "padding": 1},
    {"kernel": 2, "stride": 3},
]


def rank_of(name: str) -> int:
    return int(name[-2])


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def line(*numbers: float, rank: int = 1) -> Any:
    return tensor(list(numbers), np.float32).reshape((1, *(1,) * (rank - 1), len(numbers)))


def test_values_computed_by_hand() -> None:
    x, image = line(1, 5, 2, -4, 3), tensor([[[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]]])

    assert max_pool1d(x, 2).tolist() == [[5, 2]]
    assert max_pool1d(x, 3, stride=1).tolist() == [[5, 5, 3]]
    assert max_pool1d(-x, 2, padding=1).tolist() == [[-1, -2, 4]]
    assert min_pool1d(x, 2).tolist() == [[1, -4]]
    assert min_pool1d(x, 2, padding=1).tolist() == [[1, 2, -4]]
    assert avg_pool1d(x, 2).tolist() == [[3, -1]]
    assert avg_pool1d(x, 2, padding=1).tolist() == [[0.5, 3.5, -0.5]]
    assert avg_pool1d(x, 2, padding=1, count_include_pad=False).tolist() == [[1, 3.5, -0.5]]
    assert adaptive_avg_pool1d(x, 2).tolist() == [[pytest.approx(8 / 3), pytest.approx(1 / 3)]]
    np.testing.assert_allclose(
        smooth_max_pool1d(line(0, 0, 1, 2), 2).numpy(), [[math.log(2), 1 + math.log(1 + math.e)]]
    )
    assert max_pool2d(image, (2, 1)).tolist() == [[[4, 6, 5]]]
    assert max_pool2d(image, (1, 2), stride=(1, 1)).tolist() == [[[2, 3], [6, 6]]]
    assert min_pool2d(image, 2).tolist() == [[[1]]]
    assert avg_pool2d(image, 2, stride=1).tolist() == [[[3.25, 4]]]
    assert adaptive_avg_pool2d(image, (1, 3)).tolist() == [[[2.5, 4, 4]]]
    assert smooth_max_pool2d(image * 0, (2, 3)).item() == pytest.approx(math.log(6))


def test_dilated_and_last_windows_computed_by_hand() -> None:
    x, image = line(1, 5, 2, -4, 3), tensor([[[1.0, 2.0, 3.0], [4.0, 6.0, 5.0], [7.0, 0.0, 9.0]]])

    assert max_pool1d(x, 2, stride=1, dilation=3).tolist() == [[1, 5]]
    assert min_pool1d(x, 3, dilation=2, stride=1).tolist() == [[1]]
    assert max_pool1d(x, 2, ceil_mode=True).tolist() == [[5, 2, 3]]
    assert min_pool1d(x, 2, stride=3, ceil_mode=True).tolist() == [[1, -4]]
    assert max_pool2d(image, 2, ceil_mode=True).tolist() == [[[6, 5], [7, 9]]]
    assert min_pool2d(image, 2, stride=1, dilation=(2, 1)).tolist() == [[[0, 0]]]
    assert avg_pool1d(x, 2, ceil_mode=True).tolist() == [[3, -1, 3]]
    assert avg_pool1d(x, 2, stride=3, padding=1, ceil_mode=True).tolist() == [[0.5, -1]]
    assert avg_pool1d(x, 3, stride=3, padding=1, ceil_mode=True).tolist() == [[2, pytest.approx(1 / 3)]]
    assert avg_pool1d(x, 3, padding=1, ceil_mode=True, count_include_pad=False).tolist() == [[3, pytest.approx(1 / 3)]]
    assert avg_pool2d(image, 2, stride=1, divisor_override=1).tolist() == [[[13, 16], [17, 20]]]
    assert avg_pool1d(x, 2, divisor_override=-4.0).tolist() == [[-1.5, 0.5]]


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "count"), [(5, 2, 2, 1, 3), (2, 3, 3, 0, 1), (4, 2, 3, 1, 2)]
)
def test_a_last_window_starts_before_the_padding_at_the_end(
    size: int, kernel: int, stride: int, padding: int, count: int
) -> None:
    y = max_pool1d(ones((1, size)), kernel, stride=stride, padding=padding, ceil_mode=True)

    assert y.tolist() == [[1] * count]


def test_a_window_of_padding_alone_has_no_gradient() -> None:
    x = line(3)

    y = max_pool1d(x.trace(), 3, padding=1, stride=3, dilation=2, ceil_mode=True)

    assert y.tolist() == [[-np.inf]]
    assert y.sum().backward()[x].tolist() == [[0]]
    assert smooth_max_pool1d(x, 3, padding=1, stride=3, dilation=2, ceil_mode=True).tolist() == [[-np.inf]]


@pytest.mark.parametrize("beta", [-7.0, -0.5, 0.5, 7.0])
def test_a_smooth_maximum_is_a_logsumexp(beta: float) -> None:
    x = real(2, 3, 6)

    y = smooth_max_pool1d(x, 3, beta=beta).numpy()

    np.testing.assert_allclose(y, np.log(np.exp(x.numpy().reshape(2, 3, 2, 3) * beta).sum(-1)) / beta, rtol=1e-12)


def test_a_smooth_maximum_with_large_beta_is_the_maximum_or_minimum() -> None:
    x = line(1, 5, 2, -4)

    np.testing.assert_allclose(smooth_max_pool1d(x, 2, beta=1e3).numpy(), max_pool1d(x, 2).numpy())
    np.testing.assert_allclose(smooth_max_pool1d(x, 2, beta=-1e3).numpy(), min_pool1d(x, 2).numpy())
    assert smooth_max_pool1d(line(3e38, -3e38), 2).item() == pytest.approx(3e38)


@pytest.mark.parametrize(("pool", "sign"), [(max_pool1d, 1), (min_pool1d, -1)])
def test_ties_give_the_gradient_to_the_first(pool: Any, sign: int) -> None:
    x = line(3, 3, 1, 1, 3) * sign

    grads = pool(x.trace(), 3, stride=1).backward(seed=line(2, 7, 11))

    assert grads[x].tolist() == [[2, 7, 0, 0, 11]]


@pytest.mark.parametrize(("pool", "sign"), [(max_pool2d, 1), (min_pool2d, -1)])
def test_padding_gets_no_gradient_even_in_a_tie(pool: Any, sign: int) -> None:
    x: Any = tensor([[[-np.inf, -np.inf]]]) * sign

    y = pool(x.trace(), 2, padding=1)

    assert y.tolist() == [[[-np.inf * sign] * 2]]
    assert y.sum().backward()[x].tolist() == [[[1, 1]]]


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_can_be_differentiated(name: str, options: dict[str, Any]) -> None:
    shape = (2, 1, *(5, 4)[-rank_of(name) :])

    check_gradients(lambda x: POOLS[name](x, **options), real(*shape), order=2)
    check_gradients(lambda x: POOLS[name](x * x, **options), real(*shape[1:]), order=2)


@pytest.mark.parametrize("name", [name for name in POOLS if "avg" not in name])
def test_gradients_of_dilated_windows_can_be_differentiated(name: str) -> None:
    x = real(2, 1, *(5, 4)[-rank_of(name) :])

    check_gradients(lambda x: POOLS[name](x * x, 2, dilation=2, stride=1, padding=1), x, order=2)
    check_gradients(lambda x: POOLS[name](x * x, 2, dilation=2, stride=3, padding=1, ceil_mode=True), x, order=2)


def test_gradients_of_averages_can_be_differentiated() -> None:
    x, image = real(2, 7), real(1, 5, 4)

    check_gradients(lambda x: avg_pool1d(x * x, 3, ceil_mode=True, divisor_override=2), x, order=2)
    check_gradients(lambda x: avg_pool2d(x * x, 2, padding=1, stride=3, ceil_mode=True), image, order=2)
    check_gradients(lambda x: avg_pool1d(x * x, 3, padding=1, count_include_pad=False), x, order=2)
    check_gradients(lambda x: avg_pool2d(x * x, (2, 3), padding=1, count_include_pad=False), image, order=2)
    check_gradients(lambda x: adaptive_avg_pool1d(x * x, 3), x, order=2)
    check_gradients(lambda x: adaptive_avg_pool2d(x * x, (3, 2)), image, order=2)


@pytest.mark.parametrize("beta", [-2.0, 3.0])
def test_gradients_of_a_smooth_maximum_can_be_differentiated(beta: float) -> None:
    check_gradients(lambda x: smooth_max_pool2d(x, (2, 1), beta=beta, padding=(1, 0)), real(1, 3, 2), order=2)


@pytest.mark.parametrize("name", ALL)
def test_empty_tensors_and_single_cells(name: str) -> None:
    one: Any = (1,) * rank_of(name)

    assert ALL[name](tensor([3.0]).reshape((1, *one)), 1).item() == pytest.approx(3)
    assert ALL[name](zeros((0, 2, *one)), 1).shape == (0, 2, *one)
    assert ALL[name](zeros((2, 0, *one)), 1).tolist() == [[], []]
    check_gradients(lambda x: ALL[name](x, 1), zeros((0, 2, *one), np.float64))


@pytest.mark.parametrize("rank", [1, 2])
def test_infinities_and_nan_stay_in_their_windows(rank: int) -> None:
    x, kernel = line(np.inf, 0, 0, -np.inf, 1e30, 1e30, np.nan, 1, rank=rank), (1, 2)[-rank:]

    def of(name: str) -> Any:
        pooled = ALL[f"{name}_pool{rank}d"](x, (1, 4)[-rank:] if name.startswith("adaptive") else kernel)
        return pooled.numpy().ravel()

    np.testing.assert_array_equal(of("max"), np.array([np.inf, 0, 1e30, np.nan], np.float32))
    np.testing.assert_array_equal(of("min"), np.array([0, -np.inf, 1e30, np.nan], np.float32))
    np.testing.assert_array_equal(of("avg"), np.array([np.inf, -np.inf, 1e30, np.nan], np.float32))
    np.testing.assert_array_equal(of("adaptive_avg"), np.array([np.inf, -np.inf, 1e30, np.nan], np.float32))
    np.testing.assert_array_equal(of("smooth_max"), np.array([np.inf, 0, 1e30, np.nan], np.float32))


@pytest.mark.parametrize("rank", [1, 2])
def test_the_first_nan_takes_the_gradient(rank: int) -> None:
    x = line(1, np.nan, 2, np.nan, rank=rank)

    for pool in (POOLS[f"max_pool{rank}d"], POOLS[f"min_pool{rank}d"]):
        assert pool(x.trace(), (1, 4)[-rank:]).sum().backward()[x].numpy().ravel().tolist() == [0, 1, 0, 0]


def test_the_dtype_is_preserved() -> None:
    for pool in POOLS.values():
        image: Any = ones((1, 2, 2), np.float16)
        assert pool(image, 2, padding=1).dtype == np.float16


@pytest.mark.parametrize("name", POOLS)
def test_results_match_the_shape_rules(name: str) -> None:
    shape = (2, 3, *(7, 8)[-rank_of(name) :])

    options = [*OPTIONS, {"kernel": 3, "stride": 2, "ceil_mode": True}, {"kernel": 2, "padding": 1, "ceil_mode": True}]
    options += [] if "avg" in name else [{"kernel": 3, "dilation": 2}, {"kernel": 2, "dilation": 3, "ceil_mode": True}]
    check_shape_rule(POOLS[name], *({"x": shape} | one for one in options), {"x": shape[1:], "kernel": 8})


@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_pools_match_their_shape_rules(name: str) -> None:
    shape = (2, 3, *(7, 8)[-rank_of(name) :])

    check_shape_rule(ADAPTIVE[name], (shape, 1), (shape, 9), (shape[1:], (4, 3)[-rank_of(name) :]))


def test_an_adaptive_pool_to_a_million_cells_computed_by_hand() -> None:
    x = tensor([[1.0, 3.0, 8.0]], np.float64).trace()

    y = adaptive_avg_pool1d(x, 1_000_000)

    assert [y[0, at].item() for at in (0, 333_333, 333_334, 666_666, 999_999)] == [1, 2, 3, 5.5, 8]
    # Of the cells in the middle two see a neighbour too, and share with it.
    assert y.sum().backward()[x].tolist() == [[333_333.5, 333_333, 333_333.5]]


WHOLE: dict[int, Any] = {1: ones((2, 3), np.int64), 2: ones((2, 3, 5), np.int64)}  # mypy rejects it before it runs
NUMBER: Any = 2.0


@pytest.mark.parametrize("name", ALL)
def test_other_ranks_and_dtypes_are_rejected(name: str) -> None:
    rank = rank_of(name)

    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        ALL[name](WHOLE[rank], 1)
    with pytest.raises(ShapeError, match=rf"^{name}: x \(5,\) has rank 1, not {rank + 2}, or {rank + 1} without a b"):
        ALL[name](ones((5,)), 1)
    with pytest.raises(DTypeError, match=r"^x is a float, not a tensor$"):
        inspect.unwrap(ALL[name])(NUMBER, 1)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": 8}, "a window of 8 does not fit into 7 cells along axis 1 of x SHAPE"),
        (
            {"kernel": 12, "padding": 2},
            "a window of 12 does not fit into 7 cells with a padding of 2 along axis 1 of x SHAPE",
        ),
        (
            {"kernel": 9, "stride": 2, "ceil_mode": True},
            "a window of 9 does not fit into 7 cells, nor with ceil_mode into 8, along axis 1 of x SHAPE",
        ),
        ({"kernel": 0}, "kernel is 0, below 1"),
        ({"kernel": 2, "stride": 0}, "stride is 0, below 1"),
        ({"kernel": 2, "padding": -1}, "padding is -1, below 0"),
        ({"kernel": 3, "padding": 2}, "padding is 2, more than half of a window of 3"),
        ({"kernel": (1, 2, 3)}, "kernel (1, 2, 3) has 3 numbers, not RANK"),
    ],
    ids=str,
)
def test_invalid_arguments_are_rejected(name: str, options: dict[str, Any], message: str) -> None:
    rank = rank_of(name)
    shape = (3, *(7,) * rank)

    with pytest.raises(ShapeError) as rejected:
        POOLS[name](ones(shape), **options)

    assert str(rejected.value) == f"{name}: {message.replace('RANK', str(rank)).replace('SHAPE', str(shape))}"


@pytest.mark.parametrize("name", [name for name in POOLS if "avg" not in name])
def test_invalid_dilations_are_rejected(name: str) -> None:
    x = ones((3, *(7,) * rank_of(name)))

    with pytest.raises(ShapeError, match=rf"^{name}: a window of 9 does not fit into 7 cells along axis 1 of x \(3, 7"):
        POOLS[name](x, 3, dilation=4)
    with pytest.raises(ShapeError, match=f"^{name}: dilation is 0, below 1$"):
        POOLS[name](x, 3, dilation=0)


@pytest.mark.parametrize("name", POOLS)
def test_a_flag_that_is_no_bool_is_rejected(name: str) -> None:
    x = ones((3, *(7,) * rank_of(name)))

    with pytest.raises(DTypeError, match=f"^{name}: ceil_mode is a str but a bool is expected$"):
        POOLS[name](x, 3, ceil_mode="no")
    if "avg" in name:
        with pytest.raises(DTypeError, match=f"^{name}: count_include_pad is an int but a bool is expected$"):
            POOLS[name](x, 3, count_include_pad=0)


@pytest.mark.parametrize("rule", [pool1d_shape, pool2d_shape, avg_pool1d_shape, avg_pool2d_shape])
def test_a_shape_rule_rejects_a_flag_that_is_no_bool(rule: Any) -> None:
    with pytest.raises(DTypeError, match=r"^ceil_mode is a str but a bool is expected$"):
        rule((3, 7, 7), 2, ceil_mode="no")


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("divisor", [0, math.inf, math.nan])
def test_an_invalid_divisor_is_rejected(rank: int, divisor: float) -> None:
    said = f"^avg_pool{rank}d: divisor_override is {divisor} but must be finite and not 0$"

    with pytest.raises(ValueError, match=said):
        POOLS[f"avg_pool{rank}d"](ones((1, 4, 4)), 2, divisor_override=divisor)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("option", ["kernel", "stride", "padding"])
def test_fractional_options_are_rejected(name: str, option: str) -> None:
    options: dict[str, Any] = {"kernel": 3, option: (1.5,) * rank_of(name)}

    with pytest.raises(DTypeError) as rejected:
        POOLS[name](ones((3, *(7, 7)[-rank_of(name) :])), **options)

    assert str(rejected.value) == f"{name}: {option} is {options[option]} but an int or a tuple of ints is expected"


@pytest.mark.parametrize("name", ADAPTIVE)
def test_sizes_below_one_are_rejected(name: str) -> None:
    one = (1,) * rank_of(name)

    with pytest.raises(ShapeError, match=f"^{name}: size is 0, below 1$"):
        ADAPTIVE[name](ones((3, *one)), 0)
    with pytest.raises(ShapeError, match=f"^{name}: the input is 0, below 1$"):
        ADAPTIVE[name](ones((3, *one[1:], 0)), 2)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("beta", [0, math.inf, math.nan])
def test_an_invalid_beta_is_rejected(rank: int, beta: float) -> None:
    with pytest.raises(ValueError, match=f"^smooth_max_pool{rank}d: beta is {beta} but must be finite and not 0$"):
        POOLS[f"smooth_max_pool{rank}d"](ones((1, 4, 4)), 2, beta=beta)
