"""ssm_scan: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import normal, ones, ssm_scan, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_states_computed_by_hand() -> None:
    a, b, x = tensor([5.0, 0.5, 2.0]), tensor([1.0, 2.0, 3.0]), tensor([4.0, 1.0, -1.0])

    assert ssm_scan(a, b, x).tolist() == [4, 0.5 * 4 + 2, 2 * 4 - 3]


def test_gradients_computed_by_hand() -> None:
    a, b, x = tensor([5.0, 0.5, 2.0]), tensor([1.0, 2.0, 3.0]), tensor([4.0, 1.0, -1.0])

    grads = ssm_scan(a.trace(), b, x).sum().backward(wrt=[a, b, x])

    # The states are 4, 4 and 5; each counts once, and again for what is kept of it: λ is (2.5, 3, 1).
    assert grads[x].tolist() == [2.5 * 1, 3 * 2, 1 * 3]
    assert grads[b].tolist() == [2.5 * 4, 3 * 1, 1 * -1]
    assert grads[a].tolist() == [0, 3 * 4, 1 * 4]


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_the_time_axis_may_be_any_axis(axis: int) -> None:
    a, b, x = (real(3, 2, 5, seed=seed) for seed in range(3))

    states = ssm_scan(a, b, x, axis).numpy()

    moved = [np.moveaxis(one.numpy(), axis, 0) for one in (a, b, x)]
    expected, state = [], np.zeros(moved[0].shape[1:])
    for kept, taken, given in zip(*moved, strict=True):
        state = kept * state + taken * given
        expected.append(state)
    np.testing.assert_array_equal(np.moveaxis(states, axis, 0), expected)


@pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((3, 2), 0), ((3, 2), -1), ((1, 2), 0)], ids=str)
def test_gradients_can_be_differentiated(shape: tuple[int, ...], axis: int) -> None:
    operands = [real(*shape, seed=seed) for seed in range(3)]

    check_gradients(lambda a, b, x: ssm_scan(a, b, x, axis), *operands, order=2)


def test_an_operand_may_be_all_three() -> None:
    check_gradients(lambda x: ssm_scan(x, x, x), real(4), order=2)


def test_a_zero_state_stays_zero_at_any_growth_rate() -> None:
    # Products of what is kept overflow float32 after 39 steps; no state does.
    a, x = ones((64,)) * 10, zeros((64,))

    states = ssm_scan(a.trace(), ones((64,)), x)

    assert not states.numpy().any()


def test_zero_steps_and_zero_channels() -> None:
    nothing = zeros((0, 3), np.float64)

    assert ssm_scan(nothing, nothing, nothing).shape == (0, 3)
    check_gradients(ssm_scan, nothing, nothing, nothing)
    check_gradients(ssm_scan, *[zeros((3, 0), np.float64)] * 3)


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(ssm_scan, ((3, 2),) * 3, ((3, 2), (3, 2), (3, 2), 1), ((3,), (3,), (2,)), ((), (), ()))


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ((real(3, 2), real(2, 3), real(3, 2)), "ssm_scan: a is (3, 2) but b is (2, 3)"),
        ((real(3, 2), real(3, 2), real(2)), "ssm_scan: a is (3, 2) but x is (2,)"),
        ((real(3), real(3), real(3), 1), "ssm_scan: axis 1 is out of range for a (3,)"),
        ((real(), real(), real()), "ssm_scan: axis 0 is out of range for a ()"),
    ],
    ids=str,
)
def test_shapes_that_differ_are_rejected(operands: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        ssm_scan(*operands)

    assert str(rejected.value) == message


def test_other_dtypes_are_rejected() -> None:
    short, whole = ones((3,)), tensor([1, 2, 3])
    array: Any = np.ones(3, np.float32)

    with pytest.raises(DTypeError, match=r"^ssm_scan: a is float64 but x is float32$"):
        ssm_scan(real(3), real(3), short)
    with pytest.raises(DTypeError, match=r"^ssm_scan: a is int64 but floating is expected$"):
        ssm_scan(whole, whole, whole)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^ssm_scan: b is an ndarray, not a tensor; tg\.tensor\(b\) makes one$"):
        ssm_scan(short, array, short)


def test_non_finite_values_stay_in_its_channel() -> None:
    x = tensor([[1.0, np.inf, np.nan], [1e30, 2.0, 2.0]])
    half = ones((2, 3)) * 0.5

    states = ssm_scan(half, half, x).numpy()

    # 0.5 * 0.5 * 1 + 0.5 * 1e30, and what is infinite or no number stays so.
    np.testing.assert_array_equal(states, np.array([[0.5, np.inf, np.nan], [5e29, np.inf, np.nan]], np.float32))
