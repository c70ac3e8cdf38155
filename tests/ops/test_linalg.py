"""Inverses, pseudoinverses, linear systems and determinants: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, SingularError
from tapegrad.ops import det, exp, eye, full, inv, lstsq, normal, ones, pinv, slogdet, solve, tensor, zeros
from tapegrad.ops.linalg import lstsq_shape, solve_shape
from tapegrad.sizes import UNKNOWN, show
from tapegrad.testing import check_gradients, check_shape_rule

SQUARES = [(3, 3), (1, 1), (2, 3, 3), (2, 1, 5, 5), (0, 0), (0, 2, 2)]
MATRICES = [(3, 3), (5, 3), (3, 5), (1, 1), (2, 5, 3), (2, 1, 3, 5), (0, 3), (3, 0), (0, 2, 3)]
SYSTEMS = [
    ((3, 3), (3, 5)),
    ((1, 1), (1, 1)),
    ((2, 3, 3), (3, 5)),
    ((3, 3), (2, 3, 5)),
    ((4, 1, 2, 2), (3, 2, 1)),
    ((0, 0), (0, 3)),
    ((3, 3), (3,)),
    ((7, 3, 3), (3,)),
    ((3, 3, 3), (3,)),
    ((1, 1), (1,)),
    ((0, 0), (0,)),
]


def regular(*shape: int, seed: int = 0) -> Any:
    """Far from singular."""
    return normal(shape, dtype=np.float64, rng=seed) + 3.0 * np.eye(shape[-1])


def real(*shape: int, seed: int = 1) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_a_matrix_of_two_by_two() -> None:
    x, y = tensor([[1.0, 2.0], [3.0, 4.0]], np.float64), tensor([[5.0], [11.0]], np.float64)

    np.testing.assert_allclose(inv(x).numpy(copy=True), np.array([[-2.0, 1.0], [1.5, -0.5]]), rtol=1e-14)
    np.testing.assert_allclose(solve(x, y).numpy(), [[1], [2]], rtol=1e-14)
    np.testing.assert_allclose(solve(x, y[:, 0]).numpy(), [1, 2], rtol=1e-14)
    assert det(x).item() == pytest.approx(-2, rel=1e-14)
    assert det(zeros((0, 0))).item() == 1


@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_gradients_of_inv_and_det_can_be_differentiated(shape: tuple[int, ...]) -> None:
    check_gradients(inv, regular(*shape), order=2)
    check_gradients(det, regular(*shape), order=2)


@pytest.mark.parametrize(("x", "y"), SYSTEMS, ids=str)
def test_gradients_of_solve_can_be_differentiated(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_gradients(solve, regular(*x), real(*y), order=2)


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(inv, *((shape,) for shape in SQUARES))
    check_shape_rule(det, *((shape,) for shape in SQUARES))
    check_shape_rule(slogdet, *((shape,) for shape in SQUARES))
    check_shape_rule(pinv, *((shape,) for shape in MATRICES))
    check_shape_rule(solve, *SYSTEMS)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 5), (np.float64, 31)], ids=["float32", "float64"])
def test_a_determinant_that_overflows_is_infinite_and_reported_by_numpy(dtype: Any, size: int) -> None:
    # 1e10 ** 5 is above 3.4e38, and 1e10 ** 31 above 1.8e308.
    x = tensor(np.diag(np.full(size, 1e10, dtype)))

    with pytest.warns(RuntimeWarning, match=r"^overflow encountered in "):
        y = det(x)
    sign, logarithm = slogdet(x)

    assert y.item() == np.inf
    assert sign.item() == 1
    assert logarithm.item() == pytest.approx(size * np.log(1e10), rel=1e-6)


def test_the_logarithm_of_a_determinant_that_overflows() -> None:
    x = 1e30 * np.eye(3) * np.array([1.0, -2.0, 1.0])

    sign, logarithm = slogdet(tensor(x, np.float32))

    assert sign.item() == -1
    assert sign.dtype == np.float32
    assert logarithm.item() == pytest.approx(90 * math.log(10) + math.log(2))
    with np.errstate(over="ignore"):
        assert math.isinf(det(tensor(x, np.float32)).item())


@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_the_sign_and_the_logarithm_give_the_determinant(shape: tuple[int, ...]) -> None:
    x = real(*shape)
    sign, logarithm = slogdet(x)

    np.testing.assert_allclose((sign * exp(logarithm)).numpy(), det(x).numpy(), rtol=1e-12)


@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_gradients_of_slogdet_can_be_differentiated(shape: tuple[int, ...]) -> None:
    assert [part.owns_tape for part in slogdet(regular(*shape).trace())] == [False, True]
    check_gradients(lambda x: slogdet(x)[1], regular(*shape), order=2)


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_a_pseudoinverse_fulfils_the_conditions_of_penrose(shape: tuple[int, ...]) -> None:
    x = real(*shape)
    y = pinv(x)

    for left, right in ((x @ y @ x, x), (y @ x @ y, y), ((x @ y).mT, x @ y), ((y @ x).mT, y @ x)):
        np.testing.assert_allclose(left.numpy(), right.numpy(), atol=1e-12)


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_gradients_of_pinv_can_be_differentiated(shape: tuple[int, ...]) -> None:
    check_gradients(pinv, real(*shape), order=2)


def test_gradients_of_pinv_where_the_rank_stays_below_full() -> None:
    check_gradients(lambda x, y: pinv(x @ y), real(5, 2), real(2, 4, seed=2), order=2)


def test_small_singular_values_count_as_zero() -> None:
    x = tensor([[2.0, 0.0], [0.0, 1e-3]], np.float64)

    assert pinv(x, rtol=0.01).tolist() == [[0.5, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(pinv(x, rtol=0).numpy(), [[0.5, 0], [0, 1e3]], rtol=1e-12)
    np.testing.assert_allclose(pinv(x).numpy(), [[0.5, 0], [0, 1e3]], rtol=1e-12)
    assert pinv(tensor([[2.0, 0.0], [0.0, 1e-7]])).tolist() == [[0.5, 0.0], [0.0, 0.0]]


def test_a_gradient_of_pinv_without_a_dropped_singular_value_is_rejected() -> None:
    x: Any = tensor([[[2.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1e-3]]], np.float64)

    with pytest.raises(
        SingularError,
        match=r"^pinv: the gradient needs singular values that count as zero to be zero, but rtol=0\.01 drops 0\.001, "
        r"and the smallest other one is 2: use a smaller rtol, "
        r"or solve of x\.mT @ x \+ c \* eye\(n\) for regularization$",
    ):
        pinv(x.trace(), rtol=0.01).sum().backward()
    unaffected = pinv(x.trace(), rtol=1e-6).sum().backward()[x].numpy()
    np.testing.assert_array_equal(unaffected, pinv(x.trace()).sum().backward()[x].numpy())


def test_gradients_of_full_rank_are_as_exact_as_those_of_solve() -> None:
    left, right = (np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0] for seed in (0, 1))
    x = tensor(left * np.logspace(0, -6, 6) @ right)  # condition number 1e6

    for of in solve, lstsq:  # of the identity, for each x
        assert abs((of(x.trace(), x.trace()) * real(6, 6)).sum().backward()[x].numpy()).max() < 1e-3


def test_gradients_of_pinv_where_rtol_drops_rounding() -> None:
    x: Any = real(5, 2) @ real(2, 4, seed=2)

    expected = pinv(x.trace()).sum().backward()[x].numpy()
    np.testing.assert_allclose(pinv(x.trace(), rtol=1e-4).sum().backward()[x].numpy(), expected, rtol=1e-9)
    check_gradients(lambda x: pinv(x, rtol=1e-4), regular(3, 3), order=2)
    for zero in (zeros((2, 3)), zeros((0, 3)), zeros((0, 2, 2))):
        assert pinv(zero.trace(), rtol=0.1).sum().backward()[zero].shape == zero.shape


def test_a_pseudoinverse_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(SingularError, match=r"^pinv: x \(2, 2\) has 4 infinities or NaNs$"):
        pinv(full((2, 2), math.nan))
    with pytest.raises(SingularError, match=r"^pinv: x \(2, 2\) has 1 infinities or NaNs$"):
        pinv(tensor([[1.0, 0.0], [math.inf, 2.0]]))
    with pytest.raises(ValueError, match=r"^pinv: rtol is -1.0 but must be at least 0$"):
        pinv(eye(2), rtol=-1.0)  # type: ignore[arg-type]  # out of range
    with pytest.raises(DTypeError, match=r"^pinv: rtol is '1' but a number is expected$"):
        pinv(eye(2), rtol="1")  # type: ignore[arg-type]  # what the test is about


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero|overflow):RuntimeWarning")
def test_zeros_large_numbers_infinities_and_nan_equal_numpy() -> None:
    for corner in (0.0, 1e30, math.inf, math.nan):
        x: Any = tensor([[1.0, corner], [0.0, 2.0]])

        np.testing.assert_array_equal(inv(x).numpy(), np.linalg.inv(x.numpy()))
        np.testing.assert_array_equal(det(x).numpy(), np.linalg.det(x.numpy()))
        np.testing.assert_array_equal(solve(x, x).numpy(), np.linalg.solve(x.numpy(), x.numpy()))
        for ours, theirs in zip(slogdet(x), np.linalg.slogdet(x.numpy()), strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs)
    for corner in (0.0, 1.0, 1e30):
        x = tensor([[1.0, 0.0], [0.0, corner]])
        rtol = 2 * float(np.finfo(np.float32).eps)
        np.testing.assert_array_equal(pinv(x).numpy(), np.linalg.pinv(x.numpy(), rtol))


def test_a_singular_matrix_is_rejected_and_named() -> None:
    x = tensor([[1.0, 2.0], [2.0, 4.0]])
    stack = tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])

    with pytest.raises(SingularError, match=r"^inv: x \(2, 2\) is singular$"):
        inv(x)
    with pytest.raises(SingularError, match=r"^solve: x \(2, 2\) is singular$"):
        solve(x, x)
    with pytest.raises(SingularError, match=r"^inv: x \(2, 2, 2\) is singular at \(1,\)$"):
        inv(stack)


def test_a_singular_matrix_has_a_determinant_but_no_gradient() -> None:
    taped = tensor([[1.0, 2.0], [2.0, 4.0]]).trace()
    y = det(taped)

    sign, logarithm = slogdet(taped)
    assert (y.item(), sign.item(), logarithm.item()) == (0, 0, -math.inf)
    with pytest.raises(SingularError, match=r"^slogdet: the gradient needs an inverse, but x \(2, 2\) is singular$"):
        logarithm.backward(retain_tape=True)
    with pytest.raises(SingularError, match=r"^det: the gradient needs an inverse, but x \(2, 2\) is singular$"):
        y.backward()


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        (inv, ((2, 3),), "inv: x (2, 3) has 2 rows and 3 columns, which is not square"),
        (det, ((5, 2, 3),), "det: x (5, 2, 3) has 2 rows and 3 columns, which is not square"),
        (slogdet, ((5, 2, 3),), "slogdet: x (5, 2, 3) has 2 rows and 3 columns, which is not square"),
        (pinv, ((3,),), "pinv: x (3,) has rank 1 but needs at least 2"),
        (inv, ((3,),), "inv: x (3,) has rank 1 but needs at least 2"),
        (solve, ((2, 3), (2, 1)), "solve: x (2, 3) has 2 rows and 3 columns, which is not square"),
        (solve, ((3, 3), (2, 1)), "solve: x (3, 3) has 3 rows but y (2, 1) has 2"),
        (solve, ((3, 3), (2,)), "solve: x (3, 3) has 3 rows but y (2,) has 2"),
        (solve, ((3, 3), ()), "solve: y () has rank 0 but needs at least 1"),
        (
            solve,
            ((2, 3, 3), (4, 3, 1)),
            "solve: x (2, 3, 3) and y (4, 3, 1) do not broadcast: axis -3 is 2 in x but 4 in y",
        ),
    ],
)
def test_mismatched_shapes_are_rejected(op: Any, shapes: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        op(*(real(*shape) for shape in shapes))

    assert str(rejected.value) == message


def test_ints_half_precision_and_mixed_dtypes_are_rejected() -> None:
    whole: Any = tensor([[1, 2], [3, 4]])

    for op in (inv, det, slogdet, pinv):
        with pytest.raises(DTypeError, match=f"^{op.__name__}: x is int64 but floating is expected$"):
            op(whole)
    with pytest.raises(DTypeError, match=r"^inv: x is float16 but float32 or float64 is expected$"):
        inv(ones((2, 2), np.float16))
    with pytest.raises(DTypeError, match=r"^solve: x is float64 but y is float32$"):
        solve(regular(2, 2), ones((2, 1)))


def test_one_vector_is_solved_for_each_matrix_of_a_stack() -> None:
    x, y = regular(5, 3, 3), real(3)

    z = solve(x, y)

    assert z.shape == (5, 3)
    for matrix, solution in zip(x.numpy(), z.numpy(), strict=True):
        np.testing.assert_allclose(solution, np.linalg.solve(matrix, y.numpy()), rtol=1e-12)


def test_a_square_matrix_with_one_known_size_has_both() -> None:
    assert show(solve_shape((UNKNOWN, 3), (UNKNOWN, 2))) == "(3, 2)"
    for x, rows in (((3, UNKNOWN), 3), ((UNKNOWN, 3), 3), ((0, UNKNOWN), 0)):
        with pytest.raises(ShapeError) as rejected:
            solve_shape(x, (5, 2))
        assert str(rejected.value) == f"x {show(x)} has {rows} rows but y (5, 2) has 5"


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3), (1, 1), (2, 5, 3)], ids=str)
def test_lstsq_equals_numpy_and_has_its_gradient(shape: tuple[int, ...]) -> None:
    x, y = real(*shape), real(*shape[:-1], 2, seed=2)

    z = lstsq(x, y)

    for one, matrix, sides in zip(
        z.numpy().reshape(-1, *z.shape[-2:]),
        x.numpy().reshape(-1, *shape[-2:]),
        y.numpy().reshape(-1, *y.shape[-2:]),
        strict=True,
    ):
        np.testing.assert_allclose(one, np.linalg.lstsq(matrix, sides, rcond=None)[0], rtol=1e-9, atol=1e-12)
    check_gradients(lstsq, x, y, order=2)


def test_lstsq_of_one_vector_and_of_a_matrix_without_full_rank() -> None:
    x, y = tensor([[1.0, 1.0], [2.0, 2.0]], np.float64), tensor([2.0, 4.0], np.float64)

    # Of all with a sum of 2 the shortest is (1, 1).
    np.testing.assert_allclose(lstsq(x, y).numpy(), [1, 1], rtol=1e-12)
    np.testing.assert_allclose(
        lstsq(eye(2, dtype=np.float64) * tensor([1.0, 1e-3], np.float64), y, rtol=0.1).numpy(), [2, 0]
    )
    check_gradients(lambda y: lstsq(x, y), y)
    assert lstsq(zeros((0, 3)), zeros((0, 2))).shape == (3, 2)
    assert lstsq(zeros((2, 0, 3), np.float64), zeros((0,), np.float64)).shape == (2, 3)


def test_lstsq_matches_its_shape_rule() -> None:
    for x, y in (((4, 1, 3, 5), (2, 3, 1)), ((3, 5), (2, 3, 1)), ((2, 3, 5), (3, 1))):
        assert lstsq_shape(x, y) == lstsq(real(*x), real(*y)).shape
    check_shape_rule(lstsq, ((5, 3), (5, 2)), ((2, 5, 3), (5,)), ((4, 1, 3, 5), (2, 3, 1)), ((0, 3), (0, 2)))


def test_lstsq_rejects_invalid_arguments() -> None:
    with pytest.raises(ShapeError, match=r"^lstsq: x \(5, 3\) has 5 rows but y \(3, 2\) has 3$"):
        lstsq(real(5, 3), real(3, 2))
    message = "lstsq: x (2, 5, 3) and y (7, 5, 2) do not broadcast: axis -3 is 2 in x but 7 in y"
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        lstsq(real(2, 5, 3), real(7, 5, 2))
    with pytest.raises(ShapeError, match=r"^lstsq: x \(3,\) has rank 1 but needs at least 2$"):
        lstsq(real(3), real(3))
    with pytest.raises(DTypeError, match=r"^lstsq: x is float64 but y is float32"):
        lstsq(real(2, 2), ones((2, 1)))
    with pytest.raises(ValueError, match=r"^lstsq: rtol is -1 but must be at least 0$"):
        lstsq(real(2, 2), real(2, 1), rtol=-1)  # type: ignore[arg-type]  # out of range


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_lstsq_of_large_numbers_infinities_and_nan() -> None:
    eye_2 = eye(2, dtype=np.float64)

    for corner in (1e150, math.inf, math.nan):
        y = tensor([1.0, corner], np.float64)
        np.testing.assert_array_equal(lstsq(eye_2, y).numpy(), pinv(eye_2).numpy() @ y.numpy())
    np.testing.assert_allclose(lstsq(eye_2 * 1e200, eye_2 * 1e300).numpy(), np.eye(2) * 1e100)
    for corner in (math.inf, math.nan):
        with pytest.raises(SingularError, match=r"^lstsq: x \(2, 2\) has 1 infinities or NaNs$"):
            lstsq(tensor([[1.0, 0.0], [corner, 2.0]]), ones((2,)))


def test_the_gradient_of_lstsq_rejects_singular_values_that_rtol_drops() -> None:
    x, y = tensor([[1.0, 0.0], [0.0, 0.01]], np.float64), tensor([1.0, 1.0], np.float64)
    loss = lstsq(x.trace(), y, rtol=0.1).sum()

    with pytest.raises(SingularError, match=r"^lstsq: the gradient needs singular values that count as zero to be"):
        loss.backward()
