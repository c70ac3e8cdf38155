"""conv1d, conv2d and conv3d: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import conv1d, conv2d, conv3d, normal, ones, tensor, zeros
from tapegrad.ops.conv import conv1d_shape
from tapegrad.testing import check_gradients, check_shape_rule
from tests.slow import SLOW

CONV: dict[int, Any] = {1: conv1d, 2: conv2d, 3: conv3d}
RANKS = list(CONV)
SIZES, KERNEL = (4, 6, 3), (2, 3, 1)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2},
    {"padding": 2},
    {"padding": "same"},
    {"padding": "valid"},
    {"dilation": 2},
    {"stride": 2, "padding": 1, "dilation": 2},
]
# `make slow` differentiates a convolution of three axes, which runs the same code as of two, with each of the options.
DIFFERENTIATED = [
    (rank, options) for rank in RANKS for options in OPTIONS if SLOW or rank < 3 or options in (OPTIONS[0], OPTIONS[-1])
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def by_loops(x: Any, w: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """Compute what the docstring says, number by number."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * rank])
    span = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    y = np.zeros((len(x), len(w), *((n - k) // stride + 1 for n, k in zip(x.shape[2:], span, strict=True))))
    for n, o, *place in np.ndindex(y.shape):
        first = o // (len(w) // groups) * w.shape[1]
        seen = tuple(slice(i * stride, i * stride + k, dilation) for i, k in zip(place, span, strict=True))
        y[(n, o, *place)] = (x[(n, slice(first, first + w.shape[1]), *seen)] * w[o]).sum()
    return y


def test_values_computed_by_hand() -> None:
    line: Any = tensor([[1.0, 2.0, 4.0, 8.0]])
    image: Any = tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])

    assert conv1d(line, tensor([[[1.0, 10.0]]])).tolist() == [[21, 42, 84]]
    assert conv1d(line, tensor([[[1.0, 10.0]]]), stride=2, padding=1).tolist() == [[10, 42, 8]]
    assert conv1d(line, tensor([[[1.0, 10.0]]]), dilation=3).tolist() == [[81]]
    assert conv1d(line, tensor([[[1.0, 10.0]]]), padding="same").tolist() == [[21, 42, 84, 8]]
    assert conv2d(image, tensor([[[[1.0, 10.0], [100.0, 1000.0]]]])).tolist() == [[[5421, 6532]]]
    assert conv3d(ones((1, 2, 2, 2)), ones((3, 1, 2, 1, 2))).tolist() == [[[[4], [4]]]] * 3


@pytest.mark.parametrize("stride", [2, 3])
def test_a_kernel_of_size_one_with_a_stride_skips_cells(stride: int) -> None:
    x, w = real(2, 3, 6), real(5, 3, 1, seed=1)

    y = conv1d(x, w, stride=stride)

    np.testing.assert_allclose(y.numpy(), by_loops(x.numpy(), w.numpy(), stride, 0, 1, 1), atol=1e-13)
    check_gradients(lambda x, w: conv1d(x, w, stride=stride), x, w, order=2)


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 3, 2)])
def test_values_equal_the_formula(rank: int, groups: int, stride: int, padding: int, dilation: int) -> None:
    x, w = real(2, 4, *(7, 6, 5)[:rank]), real(6, 4 // groups, *(3, 2, 2)[:rank], seed=1)

    y = CONV[rank](x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)

    expected = by_loops(x.numpy(), w.numpy(), stride, padding, dilation, groups)
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-13)
    np.testing.assert_allclose(
        CONV[rank](x[0], w, stride=stride, padding=padding, dilation=dilation, groups=groups).numpy(),
        expected[0],
        atol=1e-13,
    )


def test_options_per_axis_apply_to_their_axis() -> None:
    x, w = real(2, 3, 9, 8), real(2, 3, 3, 2, seed=1)

    y = conv2d(x, w, stride=(2, 1), padding=(0, 3), dilation=(1, 2))

    one_by_one = conv2d(x, w, padding=3, dilation=1).shape, conv2d(x, w, padding=3, dilation=2).shape
    assert one_by_one == ((2, 2, 13, 13), (2, 2, 11, 12))
    assert y.shape == (2, 2, 4, 12)
    padded = np.pad(x.numpy(), [(0, 0), (0, 0), (0, 0), (3, 3)])
    expected = sum(
        np.einsum("nchw,oc->nohw", padded[:, :, k : k + 7 : 2, 2 * l : 2 * l + 12], w.numpy()[:, :, k, l])
        for k in range(3)
        for l in range(2)
    )
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-13)


def test_large_batches_are_computed_in_parts() -> None:
    x, w = normal((40, 3, 40, 30), rng=0), normal((4, 3, 3, 3), rng=1)

    y = conv2d(x, w, padding=1).numpy()

    for image in (0, 17, 39):
        np.testing.assert_allclose(y[image], conv2d(x[image], w, padding=1).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rank", "options"), DIFFERENTIATED)
def test_gradients_can_be_differentiated(rank: int, options: dict[str, Any]) -> None:
    x, w = real(2, 2, *SIZES[:rank]), real(1, 2, *KERNEL[:rank], seed=1)

    check_gradients(lambda x, w: CONV[rank](x, w, **options), x, w, order=2)


def test_gradients_of_groups_can_be_differentiated() -> None:
    x, w = real(2, 4, 3, 4), real(6, 2, 2, 2, seed=1)

    check_gradients(lambda x, w: conv2d(x, w, groups=2, stride=(2, 1), padding=(1, 0)), x, w, order=2)
    check_gradients(lambda x, w: conv2d(x, w, groups=4), real(4, 3, 3), real(4, 1, 2, 2), order=2)


def test_cells_outside_all_windows_have_gradient_zero() -> None:
    x, w = ones((1, 1, 6)), ones((1, 1, 2))

    dx = conv1d(x.trace(), w, stride=4).sum().backward()[x]

    assert dx.tolist() == [[[1, 1, 0, 0, 1, 1]]]


@pytest.mark.parametrize("rank", RANKS)
def test_empty_tensors_and_single_cells(rank: int) -> None:
    one: Any = (1,) * rank
    of_one: Any = ones((1, 1, *one)) * 3

    assert CONV[rank](of_one, of_one).numpy().ravel().tolist() == [9]
    assert CONV[rank](zeros((0, 2, *one)), ones((3, 2, *one))).shape == (0, 3, *one)
    assert CONV[rank](zeros((2, 0, *one)), ones((3, 0, *one))).numpy().ravel().tolist() == [0] * 6
    assert CONV[rank](ones((2, 2, *one)), zeros((0, 2, *one))).shape == (2, 0, *one)
    check_gradients(CONV[rank], zeros((0, 2, *one), np.float64), real(3, 2, *one))
    check_gradients(CONV[rank], real(2, 2, *one), zeros((0, 2, *one), np.float64))
    check_gradients(
        lambda x, w: CONV[rank](x, w, padding=1), zeros((2, 2, *(0,) * rank), np.float64), real(3, 2, *one), order=2
    )


@pytest.mark.parametrize("rank", RANKS)
def test_infinities_and_nan_reach_only_the_windows_that_contain_them(rank: int) -> None:
    far: Any = (1,) * (rank - 1)
    x: Any = tensor([np.inf, 0.0, 0.0, -np.inf, 1e30, 1e30, np.nan]).reshape((1, 1, *far, 7))

    y = CONV[rank](x, ones((1, 1, *far, 2))).numpy().ravel()

    np.testing.assert_array_equal(y, np.array([np.inf, 0, -np.inf, -np.inf, 2e30, np.nan], np.float32))


def test_any_operand_may_have_the_tape() -> None:
    x, w = real(2, 3, 5), real(4, 3, 2)

    assert conv1d(x.trace(), w).sum().backward()[x].shape == (2, 3, 5)
    assert conv1d(x, w.trace()).sum().backward()[w].shape == (4, 3, 2)
    assert not conv1d(x, w).owns_tape
    assert conv1d(x.trace(), w).sum().backward(wrt=[w])[w].shape == (4, 3, 2)
    assert conv1d(x, w.trace()).sum().backward(wrt=[x])[x].shape == (2, 3, 5)


@pytest.mark.parametrize("rank", RANKS)
def test_results_match_the_shape_rules(rank: int) -> None:
    x, w = (2, 4, *(7, 6, 5)[:rank]), (6, 4, *(3, 2, 2)[:rank])
    cases: list[dict[str, Any]] = [{"x": x, "w": w} | options for options in OPTIONS]

    if rank == 3:  # every subset of ten sizes is hidden
        cases = [{"x": x[1:], "w": w} | options for options in OPTIONS[1:4]]
    check_shape_rule(CONV[rank], *cases)
    check_shape_rule(CONV[rank], {"x": x[1:], "w": (w[0], 2, *w[2:]), "groups": 2})


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_dtype_is_preserved(dtype: Any) -> None:
    y = conv1d(ones((1, 2, 3), dtype), ones((1, 2, 3), dtype))

    assert (y.dtype, y.item()) == (dtype, 6)


NUMBER: Any = 2.0  # mypy rejects it before it runs


@pytest.mark.parametrize("rank", RANKS)
def test_other_dtypes_are_rejected(rank: int) -> None:
    one: Any = (1,) * rank
    x, whole, double = ones((2, 3, *one)), zeros((2, 3, *one), np.int64), ones((4, 3, *one), np.float64)

    with pytest.raises(DTypeError, match=rf"^conv{rank}d: x is float32 but w is float64$"):
        CONV[rank](x, double)
    with pytest.raises(DTypeError, match=rf"^conv{rank}d: x is int64 but floating is expected$"):
        CONV[rank](whole, whole)


def test_non_tensors_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^x is a float, not a tensor$"):
        inspect.unwrap(conv1d)(NUMBER, ones((1, 2, 3)))
    with pytest.raises(DTypeError, match=r"^w is a float, not a tensor$"):
        inspect.unwrap(conv1d)(ones((1, 2, 3)), NUMBER)


IMAGE, FILTERS = (2, 3, 7, 8), (4, 3, 3, 5)


@pytest.mark.parametrize(
    ("x", "w", "options", "message"),
    [
        ((7, 8), FILTERS, {}, "x (7, 8) has rank 2, not 4, or 3 without a batch"),
        ((1, 2, 3, 7, 8), FILTERS, {}, "x (1, 2, 3, 7, 8) has rank 5, not 4, or 3 without a batch"),
        (IMAGE, (3, 3, 5), {}, "w (3, 3, 5) has rank 3, not 4"),
        (IMAGE, (4, 5, 3, 5), {}, "axis 1 of x (2, 3, 7, 8) has 3 channels but w (4, 5, 3, 5) expects 5"),
        (
            IMAGE,
            FILTERS,
            {"groups": 2},
            "axis 1 of x (2, 3, 7, 8) has 3 channels but w (4, 3, 3, 5) expects 6 in 2 groups",
        ),
        (IMAGE, (4, 1, 3, 5), {"groups": 3}, "w has 4 kernels, which do not divide into 3 groups"),
        (IMAGE, (4, 3, 9, 5), {}, "a window of 9 does not fit into 7 cells along axis 2 of x (2, 3, 7, 8)"),
        (IMAGE, FILTERS, {"dilation": 4}, "a window of 9 does not fit into 7 cells along axis 2 of x (2, 3, 7, 8)"),
        (
            IMAGE,
            (4, 3, 3, 13),
            {"padding": (0, 2)},
            "a window of 13 does not fit into 8 cells with a padding of 2 along axis 3 of x (2, 3, 7, 8)",
        ),
        (IMAGE, (4, 3, 0, 5), {}, "the kernel is 0, below 1"),
        (IMAGE, FILTERS, {"stride": 0}, "stride is 0, below 1"),
        (IMAGE, FILTERS, {"stride": (1, 2, 3)}, "stride (1, 2, 3) has 3 numbers, not 2"),
        (IMAGE, FILTERS, {"padding": (1, -1)}, "padding is -1, below 0"),
        (IMAGE, FILTERS, {"padding": "same", "stride": (1, 2)}, "padding 'same' needs a stride of 1, not (1, 2)"),
        (IMAGE, FILTERS, {"dilation": 0}, "dilation is 0, below 1"),
        (IMAGE, FILTERS, {"groups": 0}, "groups is 0, below 1"),
    ],
    ids=str,
)
def test_invalid_arguments_are_rejected(
    x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError) as rejected:
        conv2d(zeros(x), zeros(w), **options)

    assert str(rejected.value) == f"conv2d: {message}"


@pytest.mark.parametrize("rank", RANKS)
def test_a_kernel_longer_than_the_input_is_rejected(rank: int) -> None:
    with pytest.raises(ShapeError, match=f"^conv{rank}d: a window of 4 does not fit into 3 cells along axis 2 of "):
        CONV[rank](ones((1, 1, *(3,) * rank)), ones((1, 1, *(4,) * rank)))


def test_padding_valid_equals_zero() -> None:
    assert conv1d_shape((2, 4, 9), (6, 2, 3), padding="valid", groups=2) == (2, 6, 7)
