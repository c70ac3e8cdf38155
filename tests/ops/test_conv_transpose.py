"""conv_transpose1d, 2d and 3d: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    normal,
    ones,
    tensor,
    zeros,
)
from tapegrad.testing import check_gradients, check_shape_rule

CONV: dict[int, Any] = {1: conv1d, 2: conv2d, 3: conv3d}
BACK: dict[int, Any] = {1: conv_transpose1d, 2: conv_transpose2d, 3: conv_transpose3d}
RANKS = list(BACK)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"dilation": 2},
    {"stride": 3, "padding": 1, "dilation": 2, "output_padding": 2},
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_values_computed_by_hand() -> None:
    line: Any = tensor([[1.0, 2.0, 4.0]])
    kernel: Any = tensor([[[1.0, 10.0]]])

    assert conv_transpose1d(line, kernel).tolist() == [[1, 12, 24, 40]]
    assert conv_transpose1d(line, kernel, stride=3).tolist() == [[1, 10, 0, 2, 20, 0, 4, 40]]
    assert conv_transpose1d(line, kernel, stride=3, padding=1).tolist() == [[10, 0, 2, 20, 0, 4]]
    assert conv_transpose1d(line, kernel, stride=2, output_padding=1).tolist() == [[1, 10, 2, 20, 4, 40, 0]]
    assert conv_transpose1d(line, kernel, padding=1, output_padding=0).tolist() == [[12, 24]]
    assert conv_transpose1d(line, kernel, dilation=2).tolist() == [[1, 2, 14, 20, 40]]
    square: Any = tensor([[[1.0, 2.0]]])
    assert conv_transpose2d(square, tensor([[[[1.0], [10.0]]]])).tolist() == [[[1, 2], [10, 20]]]
    assert conv_transpose3d(ones((1, 1, 2, 1)), ones((1, 2, 1, 2, 1))).tolist() == [[[[1], [2], [1]]]] * 2


def test_output_padding_may_include_cells_removed_by_padding() -> None:
    line, kernel = tensor([[1.0, 2.0, 4.0]]), tensor([[[1.0, 10.0]]])

    y = conv_transpose1d(line, kernel, stride=2, padding=1, output_padding=1)

    assert y.tolist() == [[10, 2, 20, 4, 40]]


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 2)])
def test_it_is_the_gradient_of_a_convolution(rank: int, groups: int, stride: int, padding: int, dilation: int) -> None:
    options: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, w = real(2, 4, *(8, 7, 6)[:rank]), real(6, 4 // groups, *(3, 2, 2)[:rank], seed=1)
    y = CONV[rank](x.trace(), w, **options)
    dy = real(*y.shape, seed=2)
    dx = y.backward(wrt=[x], seed=dy)[x]

    smallest = BACK[rank](dy, w, **options).shape
    beyond = tuple(n - m for n, m in zip(x.shape[2:], smallest[2:], strict=True))

    np.testing.assert_allclose(BACK[rank](dy, w, output_padding=beyond, **options).numpy(), dx.numpy(), atol=1e-13)
    np.testing.assert_allclose(
        BACK[rank](dy[0], w, output_padding=beyond, **options).numpy(), dx.numpy()[0], atol=1e-13
    )


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_can_be_differentiated(rank: int, options: dict[str, Any]) -> None:
    x, w = real(2, 2, *(2, 3, 2)[:rank]), real(2, 1, *(3, 2, 2)[:rank], seed=1)

    check_gradients(lambda x, w: BACK[rank](x, w, **options), x, w, order=2)


def test_gradients_of_groups_can_be_differentiated() -> None:
    x, w = real(2, 4, 2, 3), real(4, 3, 2, 2, seed=1)

    check_gradients(lambda x, w: conv_transpose2d(x, w, groups=2, stride=(2, 1), padding=(1, 0)), x, w, order=2)


@pytest.mark.parametrize("rank", RANKS)
def test_empty_tensors_and_single_cells(rank: int) -> None:
    one: Any = (1,) * rank
    of_one: Any = ones((1, 1, *one)) * 3

    assert BACK[rank](of_one, of_one).numpy().ravel().tolist() == [9]
    assert BACK[rank](zeros((0, 2, *one)), ones((2, 3, *one))).shape == (0, 3, *one)
    assert BACK[rank](zeros((2, 0, *one)), ones((0, 3, *one))).numpy().ravel().tolist() == [0] * 6
    check_gradients(BACK[rank], zeros((0, 2, *one), np.float64), real(2, 3, *one))


@pytest.mark.parametrize("rank", RANKS)
def test_infinities_and_nan_reach_only_the_cells_of_their_kernels(rank: int) -> None:
    far: Any = (1,) * (rank - 1)
    x: Any = tensor([np.inf, 0.0, 0.0, -np.inf, 1e30, 1e30, np.nan]).reshape((1, 1, *far, 7))

    y = BACK[rank](x, ones((1, 1, *far, 2))).numpy().ravel()

    expected = np.array([np.inf, np.inf, 0, -np.inf, -np.inf, 2e30, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(y, expected)


def test_any_operand_may_have_the_tape() -> None:
    x, w = real(2, 3, 5), real(3, 4, 2)

    assert conv_transpose1d(x.trace(), w).sum().backward()[x].shape == (2, 3, 5)
    assert conv_transpose1d(x, w.trace()).sum().backward()[w].shape == (3, 4, 2)
    assert not conv_transpose1d(x, w).owns_tape
    assert conv_transpose1d(x.trace(), w).sum().backward(wrt=[w])[w].shape == (3, 4, 2)
    assert conv_transpose1d(x, w.trace()).sum().backward(wrt=[x])[x].shape == (2, 3, 5)


@pytest.mark.parametrize("rank", RANKS)
def test_results_match_the_shape_rules(rank: int) -> None:
    x, w = (4, *(7, 6, 5)[:rank]), (4, 6, *(3, 2, 2)[:rank])

    check_shape_rule(BACK[rank], *({"x": x, "w": w} | options for options in OPTIONS[:: 1 if rank < 3 else 2]))
    check_shape_rule(BACK[rank], {"x": x, "w": w, "groups": 2})


@pytest.mark.parametrize("rank", RANKS)
def test_other_dtypes_are_rejected(rank: int) -> None:
    one: Any = (1,) * rank
    x, whole, double = ones((2, 3, *one)), zeros((2, 3, *one), np.int64), ones((3, 4, *one), np.float64)

    with pytest.raises(DTypeError, match=rf"^conv_transpose{rank}d: x is float32 but w is float64$"):
        BACK[rank](x, double)
    with pytest.raises(DTypeError, match=rf"^conv_transpose{rank}d: x is int64 but floating is expected$"):
        BACK[rank](whole, ones((3, 2, *one), np.int64))


NUMBER: Any = 2.0  # mypy rejects it before it runs


def test_non_tensors_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^x is a float, not a tensor$"):
        inspect.unwrap(conv_transpose1d)(NUMBER, ones((1, 2, 3)))
    with pytest.raises(DTypeError, match=r"^w is a float, not a tensor$"):
        inspect.unwrap(conv_transpose1d)(ones((1, 2, 3)), NUMBER)


IMAGE, FILTERS = (2, 3, 7, 8), (3, 4, 3, 5)


@pytest.mark.parametrize(
    ("x", "w", "options", "message"),
    [
        ((7, 8), FILTERS, {}, "x (7, 8) has rank 2, not 4, or 3 without a batch"),
        (IMAGE, (3, 3, 5), {}, "w (3, 3, 5) has rank 3, not 4"),
        (IMAGE, (4, 3, 3, 5), {}, "axis 1 of x (2, 3, 7, 8) has 3 channels but w (4, 3, 3, 5) expects 4"),
        (IMAGE, FILTERS, {"groups": 2}, "axis 1 of x (2, 3, 7, 8) has 3 channels, which do not divide into 2 groups"),
        (IMAGE, (3, 4, 0, 5), {}, "the kernel is 0, below 1"),
        ((2, 3, 0, 8), FILTERS, {}, "the input is 0, below 1"),
        (IMAGE, FILTERS, {"padding": (5, 0)}, "a padding of 5 leaves -1 cells of 9"),
        (IMAGE, FILTERS, {"stride": 0}, "stride is 0, below 1"),
        (IMAGE, FILTERS, {"stride": (1, 2, 3)}, "stride (1, 2, 3) has 3 numbers, not 2"),
        (IMAGE, FILTERS, {"padding": (1, -1)}, "padding is -1, below 0"),
        (IMAGE, FILTERS, {"output_padding": -1}, "output_padding is -1, below 0"),
        (IMAGE, FILTERS, {"stride": 2, "output_padding": (1, 2)}, "output_padding is 2, not below the stride, 2"),
        (IMAGE, FILTERS, {"dilation": 0}, "dilation is 0, below 1"),
        (IMAGE, FILTERS, {"groups": 0}, "groups is 0, below 1"),
    ],
    ids=str,
)
def test_invalid_arguments_are_rejected(
    x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError) as rejected:
        conv_transpose2d(zeros(x), zeros(w), **options)

    assert str(rejected.value) == f"conv_transpose2d: {message}"


@pytest.mark.parametrize("rank", RANKS)
def test_other_channels_are_rejected(rank: int) -> None:
    with pytest.raises(ShapeError, match=f"^conv_transpose{rank}d: axis 1 of x .* has 2 channels but w .* expects 3$"):
        BACK[rank](ones((1, 2, *(3,) * rank)), ones((3, 2, *(4,) * rank)))


class TestAlongAnyNumberOfAxes:
    @pytest.mark.parametrize("rank", RANKS)
    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_the_number_of_axes_comes_from_the_kernels(self, rank: int, options: dict[str, Any]) -> None:
        x, w = real(2, 2, *(4, 3, 5)[:rank]), real(2, 3, *(3, 2, 2)[:rank], seed=1)

        y = conv_transpose(x, w, **options)

        np.testing.assert_array_equal(y.numpy(), BACK[rank](x, w, **options).numpy())

    def test_more_than_three_axes_are_supported(self) -> None:
        x, w = ones((2, 1, 1, 2, 1, 1)), ones((1, 3, 1, 1, 2, 1))

        y = conv_transpose(x * 2.0, w, stride=(1, 3, 1, 1))

        assert y.shape == (2, 3, 1, 4, 2, 1)
        assert y.numpy()[1, 2, 0, :, 1, 0].tolist() == [2, 0, 0, 2]

    def test_infinities_and_nan_reach_only_the_cells_of_their_kernels(self) -> None:
        y = conv_transpose(tensor([[np.inf, 0.0, 0.0, 1e30, 1e30, np.nan]]), ones((1, 1, 2)))

        np.testing.assert_array_equal(
            y.numpy(), np.array([[np.inf, np.inf, 0, 1e30, 2e30, np.nan, np.nan]], np.float32)
        )

    def test_empty_tensors_and_single_cells(self) -> None:
        assert conv_transpose(ones((1, 1)) * 3, ones((1, 1, 1)) * 5).tolist() == [[15]]
        assert conv_transpose(zeros((0, 2, 4)), ones((2, 3, 1))).shape == (0, 3, 4)

    def test_gradients_can_be_differentiated(self) -> None:
        x, w = real(2, 2, 2, 3), real(2, 3, 3, 2, seed=1)

        check_gradients(lambda x, w: conv_transpose(x, w, stride=2, padding=1), x, w, order=2)

    def test_results_match_the_shape_rules(self) -> None:
        check_shape_rule(
            conv_transpose, {"x": (4, 3, 5), "w": (3, 2, 4), "stride": 2}, {"x": (3, 5, 4), "w": (3, 2, 3, 2)}
        )

    def test_invalid_arguments_are_rejected(self) -> None:
        row: Any = zeros((2, 3))
        flat: Any = zeros((3, 4))
        whole: Any = zeros((3, 3, 1), np.int64)

        with pytest.raises(ShapeError, match=r"^conv_transpose: w \(3, 4\) has rank 2 but needs at least 3$"):
            conv_transpose(row, flat)
        with pytest.raises(ShapeError, match=r"^conv_transpose: x \(2, 3\) has rank 2, not 4, or 3 without a batch$"):
            conv_transpose(row, zeros(FILTERS))
        with pytest.raises(DTypeError, match=r"^conv_transpose: x is int64 but floating is expected$"):
            conv_transpose(whole, whole)
