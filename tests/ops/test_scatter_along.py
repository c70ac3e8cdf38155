"""scatter and scatter_reduce: values, ties, zeros, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import normal, ones, scatter, scatter_reduce, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

REDUCTIONS: list[Any] = ["sum", "mean", "prod", "max", "min"]
EDGES = [0.0, 0.0, 7.0, 7.0, np.inf, -np.inf, np.nan, 1e30, -3.0]
EVERY = pytest.mark.parametrize(("reduction", "includes"), list(product(REDUCTIONS, [True, False])))


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def whole(places: Any) -> Any:
    return tensor(places, np.int64)


PLACES: list[tuple[Any, int]] = [
    ([[4, 0, 4], [1, -1, 1]], 1),
    ([[1, 0, -2, 1, 1]], 0),
    ([[1, 0, -1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], -2),
    ([[], []], 1),
]


def combined(x: Any, places: Any, updates: Any, axis: int, reduction: str, includes: Any) -> Any:
    """Combine element by element, as the definition says."""
    found = [[[n] for n in row] if includes else [[] for _ in row] for row in x.tolist()]
    for at in np.ndindex(*np.shape(places)):
        place = list(at)
        place[axis] = places[at]
        found[place[0]][place[1]].append(updates[at])
    functions: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}
    return [
        [functions[reduction](cell) if cell else float(x[i, j]) for j, cell in enumerate(row)]
        for i, row in enumerate(found)
    ]


# scatter


@pytest.mark.parametrize(
    ("places", "axis"), [([[4, 0, 2], [1, -1, 0]], 1), ([[1, 0, -2, 1, 1]], 0), ([[], []], 1)], ids=str
)
def test_scatter_puts_updates_where_the_indices_point(places: Any, axis: int) -> None:
    x, indices = real(2, 5), whole(places)
    updates = real(*indices.shape, seed=1)
    expected = x.numpy(copy=True)
    np.put_along_axis(expected, np.array(places, np.int64), updates.numpy(), axis)

    np.testing.assert_array_equal(scatter(x, indices, updates, axis).numpy(), expected)
    check_gradients(lambda x, u: scatter(x, indices, u, axis), x, updates)
    check_gradients(lambda x, u: scatter(x * x, indices, u * u, axis), x, updates, order=2)


def test_scatter_computed_by_hand() -> None:
    assert scatter(tensor([[1, 2, 3]]), tensor([[2, 0]]), tensor([[7, 8]]), 1).tolist() == [[8, 2, 7]]
    assert scatter(tensor([1.0]), tensor([0]), tensor([3.0])).tolist() == [3]
    assert scatter(zeros((0, 3)), zeros((0, 1), np.int64), zeros((0, 1)), 1).shape == (0, 3)


def test_scatter_matches_its_shape_rule() -> None:
    check_shape_rule(scatter, ((2, 5), (2, 3), (2, 3), 1), ((2, 5), (1, 5), (1, 5)), ((2, 5), (2, 0), (2, 0), -1))


def test_an_index_that_repeats_is_rejected_by_scatter() -> None:
    with pytest.raises(IndexError, match=r"^scatter: indices name an element twice; scatter_reduce combines updates$"):
        scatter(real(3), whole([1, -2]), real(2))


# scatter_reduce


@EVERY
@pytest.mark.parametrize(("places", "axis"), PLACES, ids=str)
def test_scatter_reduce_combines_what_has_one_index(reduction: Any, includes: Any, places: Any, axis: int) -> None:
    x, indices = real(2, 5), whole(places)
    updates = real(*indices.shape, seed=1)

    y = scatter_reduce(x, indices, updates, axis, reduction=reduction, include_self=includes)

    expected = combined(x.numpy(), np.array(places, np.int64), updates.numpy(), axis, reduction, includes)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12)


@EVERY
def test_gradients_of_scatter_reduce_can_be_differentiated(reduction: Any, includes: Any) -> None:
    x, updates, indices = real(2, 3), real(2, 4, seed=1), whole([[2, 0, 2, 2], [1, 1, -1, 1]])

    def reduced(x: Any, u: Any) -> Any:
        return scatter_reduce(x, indices, u, 1, reduction=reduction, include_self=includes)

    check_gradients(reduced, x, updates, order=2)
    check_gradients(lambda x, u: reduced(x * x, u * u), x, updates, order=2)


def test_equal_extremes_share_the_gradient() -> None:
    x, updates = tensor([3.0, 0.0]), tensor([3.0, 3.0, -1.0])

    extremes: list[tuple[Any, int]] = [("max", 1), ("min", -1)]
    for reduction, sign in extremes:
        both = (sign * x).trace(), (sign * updates).trace()
        grads = scatter_reduce(both[0], whole([0, 0, 1]), both[1], reduction=reduction).backward(seed=ones((2,)))
        assert grads[both[0]].numpy().tolist() == [pytest.approx(1 / 3), 1]
        assert grads[both[1]].numpy().tolist() == [pytest.approx(1 / 3), pytest.approx(1 / 3), 0]


@pytest.mark.parametrize(
    ("factors", "gradients"),
    [([2.0, 3.0, 5.0], [15, 10, 6]), ([2.0, 0.0, 5.0], [0, 10, 0]), ([0.0, 0.0, 5.0], [0, 0, 0])],
)
def test_the_gradient_of_a_product_with_zeros(factors: Any, gradients: Any) -> None:
    x, updates = tensor([factors[0]]).trace(), tensor(factors[1:]).trace()

    grads = scatter_reduce(x, whole([0, 0]), updates, reduction="prod").sum().backward()

    assert [*grads[x].tolist(), *grads[updates].tolist()] == gradients


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_infinities_nan_and_large_numbers_stay_in_their_element(reduction: Any) -> None:
    places = whole(list(range(len(EDGES))))

    pair = np.stack([np.array(EDGES, np.float32)] * 2)

    with np.errstate(over="ignore"):
        y = scatter_reduce(tensor(EDGES), places, tensor(EDGES), reduction=reduction)
        np.testing.assert_array_equal(y.numpy(), getattr(np, reduction)(pair, axis=0))


def test_ints_are_combined_without_a_tape() -> None:
    x, updates, indices = tensor([3, 4]), tensor([5, 7, -9]), whole([0, 0, 1])

    results = {
        reduction: scatter_reduce(x, indices, updates, reduction=reduction, include_self=False).tolist()
        for reduction in REDUCTIONS
        if reduction != "mean"
    }

    assert results == {"sum": [12, -9], "prod": [35, -9], "max": [7, -9], "min": [5, -9]}


def test_scatter_reduce_matches_its_shape_rule() -> None:
    calls = [((2, 5), (2, 3), (2, 3), 1), ((2, 5), (7, 5), (7, 5)), ((3,), (0,), (0,)), ((1,), (1,), (1,))]

    check_shape_rule(scatter_reduce, *calls)
    assert scatter_reduce(zeros((0, 3)), zeros((0, 1), np.int64), zeros((0, 1)), 1, reduction="max").shape == (0, 3)


@pytest.mark.parametrize("name", ["scatter", "scatter_reduce"])
def test_invalid_operands_are_rejected(name: str) -> None:
    def called(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
        options: Any = {} if name == "scatter" else {"reduction": "sum"}
        function: Any = scatter if name == "scatter" else scatter_reduce
        return function(x, indices, updates, axis, **options)

    with pytest.raises(ShapeError) as rejected:
        called(real(2, 5), whole([[0, 1], [1, 0]]), real(2, 3), 1)
    assert str(rejected.value) == f"{name}: updates (2, 3) differ from indices (2, 2)"
    with pytest.raises(ShapeError, match=rf"^{name}: indices \(1, 2\) has 1 along axis 0 but x \(3, 5\) has 3$"):
        called(real(3, 5), whole([[0, 1]]), real(1, 2), 1)
    with pytest.raises(ShapeError, match=rf"^{name}: axis 2 is out of range for x \(3, 5\)$"):
        called(real(3, 5), whole([[0]]), real(1, 1), 2)
    with pytest.raises(IndexError, match=f"^{name}: index 3 is out of range for axis 0 of size 3$"):
        called(real(3), whole([3]), real(1))
    with pytest.raises(DTypeError, match=f"^{name}: indices is float64 but integer is expected$"):
        called(real(3), real(1), real(1))
    with pytest.raises(DTypeError, match=f"^{name}: x is float64 but updates is float32"):
        called(real(3), whole([0]), ones((1,)))
    with pytest.raises(ShapeError, match=rf"^{name}: updates \(\) differ from indices \(1,\)$"):
        called(real(3), whole([0]), 1.0)


def test_invalid_reductions_are_rejected() -> None:
    x, indices, updates, other = real(3), whole([0]), real(1), tensor([True])
    called: Any = scatter_reduce

    with pytest.raises(
        ValueError, match=r"^scatter_reduce: reduction is 'amax' but 'sum', 'mean', 'prod', 'max' or 'm"
    ):
        called(x, indices, updates, reduction="amax")
    with pytest.raises(DTypeError, match=r"^scatter_reduce: include_self is a str but a bool is expected$"):
        called(x, indices, updates, reduction="sum", include_self="no")
    with pytest.raises(DTypeError, match=r"^scatter_reduce: x is int64 but floating is expected$"):
        called(indices, indices, indices, reduction="mean")
    with pytest.raises(DTypeError, match=r"^scatter_reduce: x is bool but floating or integer is expected$"):
        called(other, indices, other, reduction="sum")
