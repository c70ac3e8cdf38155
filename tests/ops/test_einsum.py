"""einsum: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import einsum, normal, ones, tensor, tensordot
from tapegrad.testing import check_gradients, check_shape_rule

SUBSCRIPTS = [
    ("ij,jk->ik", ((2, 3), (3, 5))),
    ("ij , jk", ((2, 3), (3, 5))),
    ("ji", ((2, 3),)),
    ("Ba", ((2, 3),)),
    ("ij->", ((2, 3),)),
    ("ij->j", ((2, 3),)),
    ("i,j,k->kji", ((2,), (3,), (5,))),
    ("ij,jk,kl->il", ((2, 3), (3, 5), (5, 4))),
    ("ij,ij,ij,ij,ij->i", ((2, 3),) * 5),
    (",i", ((), (3,))),
    ("->", ((),)),
]
DIAGONALS = [
    ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)),
    ("iij->j", ((3, 3, 2),)),
    ("iii->i", ((3, 3, 3),)),
    ("iij,jk->ik", ((2, 2, 3), (3, 5))),
    ("ii,ii->i", ((3, 3), (3, 3))),
]
DOTS = [
    ("...ij,...jk->...ik", ((4, 1, 2, 3), (5, 3, 2))),
    ("ij...,jk", ((2, 3, 5), (3, 2))),
    ("i...->...", ((2, 3),)),
    ("...,...", ((2, 1), (1, 3))),
    ("...i->i...", ((3,),)),
    ("...ii->...i", ((2, 3, 3),)),
    ("ij->...i", ((2, 3),)),
]
EVERY_FORM = [*SUBSCRIPTS, *DIAGONALS, *DOTS]
AXES: list[tuple[Any, tuple[tuple[int, ...], ...]]] = [
    (0, ((2,), (3,))),
    (1, ((2, 3), (3, 5))),
    (2, ((2, 3, 5), (3, 5, 4))),
    ((1, 0), ((2, 3), (3, 5))),
    ((-1, -1), ((2, 3), (5, 3))),
    (((0, 2), (1, 0)), ((2, 3, 5), (5, 2, 4))),
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def operands(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    return [real(*shape, seed=seed) for seed, shape in enumerate(shapes)]


# einsum


def test_products_are_summed_over_letters_missing_in_the_result() -> None:
    x, y = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), tensor([1.0, 0.0, 2.0])

    assert einsum("ij,j->i", x, y).tolist() == [7, 16]
    assert einsum("ij,j->ji", x, y).tolist() == [[1, 4], [0, 0], [6, 12]]


@pytest.mark.parametrize(("subscripts", "shapes"), EVERY_FORM, ids=str)
def test_the_result_equals_numpy(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    given = operands(shapes)

    expected = np.einsum(subscripts, *(x.numpy() for x in given))

    assert einsum(subscripts, *given).shape == expected.shape
    np.testing.assert_allclose(einsum(subscripts, *given).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(("subscripts", "shapes"), EVERY_FORM, ids=str)
def test_gradients_of_every_form_can_be_differentiated(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    check_gradients(lambda *given: einsum(subscripts, *given), *operands(shapes), order=2)


def test_the_gradient_of_a_tensor_times_itself() -> None:
    check_gradients(lambda x: einsum("ij,ij->", x, x), real(2, 3), order=2)


def test_every_form_matches_its_shape_rule() -> None:
    check_shape_rule(einsum, *({"subscripts": subscripts, "operands": shapes} for subscripts, shapes in EVERY_FORM))


def test_subscripts_determine_an_unknown_rank() -> None:
    from tapegrad.ops.einsum import einsum_shape
    from tapegrad.sizes import UNKNOWN, UnknownDims, is_unknown

    n, m = einsum_shape("ij,jk->ik", (UnknownDims(), (3, 5)))

    assert is_unknown(n)
    assert m == 5
    assert einsum_shape("ij->j", ((2, UNKNOWN),))[0] is UNKNOWN


def test_a_long_product_is_multiplied_in_the_cheap_order() -> None:
    # From left to right the first product alone would have 20,000² elements.
    x, y, z = ones((20_000, 1)), ones((1, 20_000)), ones((20_000, 1))

    assert einsum("ij,jk,kl->il", x, y, z).numpy()[0, 0] == 20_000


def test_sums_over_empty_axes_are_zero() -> None:
    assert einsum("ij,jk->ik", real(2, 0), real(0, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert einsum("ij->j", real(0, 3)).tolist() == [0, 0, 0]
    check_gradients(lambda x, y: einsum("ij,jk->ik", x, y), real(2, 0), real(0, 3))
    check_gradients(lambda x: einsum("ii", x), real(0, 0))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
def test_zeros_ties_infinities_and_nan_equal_numpy() -> None:
    x = np.array([[0, 0, 1], [np.inf, 1, 1], [np.nan, 2, 3], [3e38, 3e18, 100]], np.float32)
    y = np.array([[1, -np.inf], [2, 2], [3, 1e-30]], np.float32)

    np.testing.assert_array_equal(einsum("ij,jk->ik", tensor(x), tensor(y)).numpy(), x @ y)
    np.testing.assert_array_equal(tensordot(tensor(x), tensor(y), 1).numpy(), x @ y)


def test_an_infinite_gradient_of_a_diagonal_stays_on_it() -> None:
    x: Any = tensor([[1.0, 2.0], [3.0, 4.0]])

    grads = einsum("ii->i", x.trace()).backward(wrt=x, seed=tensor([np.inf, 1.0]))

    assert grads[x].tolist() == [[np.inf, 0], [0, 1]]


def test_ints_multiply() -> None:
    x = tensor([[1, 2], [3, 4]])

    assert einsum("ij,jk,kl->il", x, x, x).tolist() == [[37, 54], [81, 118]]
    assert einsum("ij,jk,kl->il", x, x, x).dtype == np.int64


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk->ik", ((2, 3), (5, 7)), "j is 3 in operands[0] (2, 3) but 5 in operands[1] (5, 7)"),
        ("ij,jk->ik", ((2, 1), (5, 7)), "j is 1 in operands[0] (2, 1) but 5 in operands[1] (5, 7)"),
        ("ii->i", ((2, 3),), "i is both 2 and 3 in operands[0] (2, 3)"),
        ("ijk->i", ((2, 3),), "operands[0] (2, 3) has rank 2 but 'ijk' names 3 axes"),
        ("i->i", ((2, 3),), "operands[0] (2, 3) has rank 2 but 'i' names 1 axes"),
        ("i...j->i", ((2,),), "operands[0] (2,) has rank 1 but 'i...j' names at least 2 axes"),
        ("ij,jk->ik", ((2, 3),), "subscripts 'ij,jk->ik' are for 2 operands, not 1"),
        ("ij->ij", (), "subscripts 'ij->ij' are for 1 operands, not 0"),
        ("ij->ik", ((2, 3),), "the result 'ik' has k, which no operand has"),
        ("ij->ii", ((2, 3),), "the result 'ii' has i twice"),
        ("i1->i", ((2, 3),), "subscripts 'i1->i' hold '1', which is neither a letter nor '...'"),
        ("i..->i", ((2, 3),), "subscripts 'i..->i' hold '.', which is neither a letter nor '...'"),
        ("i->j->k", ((2,),), "subscripts 'i->j->k' hold '-', which is neither a letter nor '...'"),
        ("...i->i", ((2, 3),), "'...' stands for 1 axes, which the result 'i' leaves out"),
        ("...i,...i", ((2, 5), (3, 5)), "'...' is (2,) in operands[0] but (3,) in operands[1], which do not broadcast"),
    ],
)
def test_subscripts_that_do_not_fit_are_rejected(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], message: str
) -> None:
    with pytest.raises(ShapeError) as rejected:
        einsum(subscripts, *operands(shapes))

    assert str(rejected.value) == f"einsum: {message}"


def test_mixed_dtypes_and_numbers_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^einsum: operands\[0\] is float32 but operands\[1\] is float64$"):
        einsum("i,i", ones((3,)), real(3))
    with pytest.raises(DTypeError, match=r"^einsum: operands\[1\] is a float, not a tensor$"):
        einsum("i,", ones((3,)), 2.0)  # type: ignore[arg-type]  # the mistake under test


# tensordot


def test_tensordot_sums_over_numbered_axes() -> None:
    x, y = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[1.0, 0.0], [2.0, 1.0]])

    assert tensordot(x, y, 1).tolist() == [[5, 2], [11, 4]]
    assert tensordot(x, y, (0, 1)).tolist() == [[1, 5], [2, 8]]
    assert tensordot(x, y).item() == 1 + 6 + 4


@pytest.mark.parametrize(("axes", "shapes"), AXES, ids=str)
def test_tensordot_equals_numpy(axes: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
    x, y = operands(shapes)

    np.testing.assert_allclose(tensordot(x, y, axes).numpy(), np.tensordot(x.numpy(), y.numpy(), axes), rtol=1e-12)
    check_gradients(lambda x, y: tensordot(x, y, axes), x, y, order=2)
    check_shape_rule(tensordot, (*shapes, axes))


def test_tensordot_of_empty_tensors_and_single_elements() -> None:
    assert tensordot(real(2, 0), real(0, 3), 1).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert tensordot(tensor(2.0), tensor([3.0]), 0).tolist() == [6]
    check_gradients(lambda x, y: tensordot(x, y, 1), real(2, 0), real(0, 3))


@pytest.mark.parametrize(
    ("axes", "shapes", "message"),
    [
        (1, ((2, 3), (5, 7)), "axis 1 of x (2, 3) is 3 but axis 0 of y (5, 7) is 5"),
        (((0, 1), (0, 1)), ((2, 3), (2, 7)), "axis 1 of x (2, 3) is 3 but axis 1 of y (2, 7) is 7"),
        (3, ((2, 3), (2, 3, 5)), "axes is 3 but x (2, 3) has rank 2"),
        (1, ((2, 3), ()), "axes is 1 but y () has rank 0"),
        (-1, ((2,), (2,)), "axes is -1 but x (2,) has rank 1"),
        ((0, 2), ((2, 3), (2, 3)), "axis 2 is out of range for y (2, 3)"),
        (((0, 0), (0, 1)), ((2, 3), (2, 3)), "axis (0, 0) names an axis of x (2, 3) twice"),
        (((0, 1), 0), ((2, 3), (2, 3)), "axes has 2 of x but 1 of y"),
    ],
)
def test_mismatched_axes_are_rejected(axes: Any, shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    x, y = operands(shapes)

    with pytest.raises(ShapeError) as rejected:
        tensordot(x, y, axes)

    assert str(rejected.value) == f"tensordot: {message}"


def test_tensordot_of_mixed_dtypes_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^tensordot: x is float32 but y is float64$"):
        tensordot(ones((2, 3)), real(3, 5), 1)
