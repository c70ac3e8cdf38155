"""Pooling layers: each gives the result of its op, and has a repr."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn
from tapegrad.errors import ShapeError
from tapegrad.ops import normal, ones

POOLS = {"MaxPool": "max_pool", "MinPool": "min_pool", "AvgPool": "avg_pool", "SmoothMaxPool": "smooth_max_pool"}


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"padding": 1}], ids=str)
def test_a_layer_equals_its_op(rank: int, kind: str, options: Any) -> None:
    x = normal((2, 3, *(7, 8)[-rank:]), rng=0)

    y = getattr(nn, f"{kind}{rank}d")(3, **options)(x)

    np.testing.assert_array_equal(y.numpy(), getattr(tg, f"{POOLS[kind]}{rank}d")(x, 3, **options).numpy())


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize(
    "options", [{}, {"stride": None}, {"stride": 1}, {"stride": (1, 3), "padding": (0, 1)}, {"padding": 1}], ids=str
)
def test_a_layer_with_a_number_per_axis_equals_its_op(kind: str, options: Any) -> None:
    x = normal((2, 3, 7, 8), rng=0)

    y = getattr(nn, f"{kind}2d")((3, 2), **options)(x)

    np.testing.assert_array_equal(y.numpy(), getattr(tg, f"{POOLS[kind]}2d")(x, (3, 2), **options).numpy())


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("options", [{"dilation": 2}, {"stride": 3, "ceil_mode": True}], ids=str)
def test_dilated_and_last_windows_of_a_layer_equal_its_op(rank: int, kind: str, options: Any) -> None:
    if kind == "AvgPool" and "dilation" in options:
        options = {"divisor_override": 5, "ceil_mode": True}
    x = normal((2, 3, *(7, 8)[-rank:]), rng=0)

    layer = getattr(nn, f"{kind}{rank}d")(2, **options)

    np.testing.assert_array_equal(layer(x).numpy(), getattr(tg, f"{POOLS[kind]}{rank}d")(x, 2, **options).numpy())
    assert repr(pickle.loads(pickle.dumps(layer))) == repr(layer)  # noqa: S301  # its own bytes


def test_special_options_are_passed_to_the_op() -> None:
    x = normal((3, 7, 8), rng=0)

    smooth, average = nn.SmoothMaxPool2d(3, beta=5.0)(x), nn.AvgPool2d(3, padding=1, count_include_pad=False)(x)

    np.testing.assert_array_equal(smooth.numpy(), tg.smooth_max_pool2d(x, 3, beta=5.0).numpy())
    np.testing.assert_array_equal(average.numpy(), tg.avg_pool2d(x, 3, padding=1, count_include_pad=False).numpy())
    line = x[0]
    np.testing.assert_array_equal(
        nn.SmoothMaxPool1d(3, beta=5.0)(line).numpy(), tg.smooth_max_pool1d(line, 3, beta=5.0).numpy()
    )
    np.testing.assert_array_equal(
        nn.AvgPool1d(3, padding=1, count_include_pad=False)(line).numpy(),
        tg.avg_pool1d(line, 3, padding=1, count_include_pad=False).numpy(),
    )


def test_adaptive_and_global_pools() -> None:
    x = normal((2, 3, 7, 8), rng=0)

    np.testing.assert_array_equal(nn.AdaptiveAvgPool2d(3)(x).numpy(), tg.adaptive_avg_pool2d(x, 3).numpy())
    np.testing.assert_array_equal(nn.AdaptiveAvgPool2d((3, 5))(x).numpy(), tg.adaptive_avg_pool2d(x, (3, 5)).numpy())
    np.testing.assert_array_equal(nn.AdaptiveAvgPool1d(3)(x[0]).numpy(), tg.adaptive_avg_pool1d(x[0], 3).numpy())
    np.testing.assert_allclose(nn.GlobalAvgPool2d()(x).numpy(), x.numpy().mean((2, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(nn.GlobalMaxPool2d()(x).numpy(), x.numpy().max((2, 3)))
    np.testing.assert_allclose(nn.GlobalAvgPool1d()(x[0]).numpy(), x.numpy()[0].mean(-1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(nn.GlobalMaxPool1d()(x[0]).numpy(), x.numpy()[0].max(-1))


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("kind", POOLS)
def test_a_window_larger_than_the_input_is_rejected(rank: int, kind: str) -> None:
    layer = getattr(nn, f"{kind}{rank}d")(5)

    with pytest.raises(ShapeError, match=f"{kind}{rank}d: a window of 5 does not fit into 4 cells along axis 1 "):
        layer(ones((3, *(4,) * rank)))


@pytest.mark.parametrize("kind", POOLS)
def test_a_window_larger_than_the_input_along_one_axis_is_rejected(kind: str) -> None:
    layer = getattr(nn, f"{kind}2d")((2, 5))

    with pytest.raises(ShapeError, match=f"{kind}2d: a window of 5 does not fit into 4 cells along axis 2 "):
        layer(ones((3, 6, 4)))


def test_a_pickle_keeps_a_number_per_axis() -> None:
    x = normal((3, 7, 8), rng=0)
    layer = nn.MaxPool2d((2, 3), stride=(1, 2))

    kept = pickle.loads(pickle.dumps(layer))  # noqa: S301  # its own bytes

    assert repr(kept) == repr(layer)
    np.testing.assert_array_equal(kept(x).numpy(), layer(x).numpy())


def test_a_layer_has_a_repr() -> None:
    assert repr(nn.MaxPool2d(2)) == "MaxPool2d(2)"
    assert repr(nn.AvgPool1d(3, stride=2, padding=1)) == "AvgPool1d(3, stride=2, padding=1)"
    assert repr(nn.MaxPool2d((2, 3))) == "MaxPool2d((2, 3))"
    assert repr(nn.MaxPool2d(2, dilation=(1, 2), ceil_mode=True)) == "MaxPool2d(2, dilation=(1, 2), ceil_mode=True)"
    assert repr(nn.AvgPool1d(2, ceil_mode=True, divisor_override=3)) == (
        "AvgPool1d(2, ceil_mode=True, divisor_override=3)"
    )
    assert repr(nn.AvgPool2d((2, 3), stride=1, padding=(1, 0))) == "AvgPool2d((2, 3), stride=1, padding=(1, 0))"
    assert repr(nn.AdaptiveAvgPool1d(3)) == "AdaptiveAvgPool1d(3)"
    assert repr(nn.AdaptiveAvgPool2d(3)) == "AdaptiveAvgPool2d(3)"
    assert repr(nn.AdaptiveAvgPool2d((3, 5))) == "AdaptiveAvgPool2d((3, 5))"
    assert repr(nn.GlobalAvgPool2d()) == "GlobalAvgPool2d()"
