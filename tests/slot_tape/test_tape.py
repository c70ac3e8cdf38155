"""Slot tape: gradients equal those of the typed tapes, and an error leaves the buffers unchanged."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.slot_tape import NumericalInstabilityError, SlotTape
from tapegrad.tensors import node


def real(*shape: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(np.random.default_rng(seed).normal(size=shape))


def buffers(tape: SlotTape) -> list[np.ndarray[Any, np.dtype[Any]]]:
    return [np.zeros(slot.length, slot.dtype) for slot in tape._slots]


def gradients(tape: SlotTape, loss_grad: Any) -> list[np.ndarray[Any, np.dtype[Any]]]:
    filled = buffers(tape)
    tape.backward(loss_grad, filled)
    return filled


def typed(function: Callable[..., Any], seed: Any, *operands: Any) -> list[np.ndarray[Any, np.dtype[Any]]]:
    """Return the gradients of all operands by typed tapes, flat."""
    tensors = [node(np.array(operand)) for operand in operands]
    y: Any = function(*(x.trace() for x in tensors))
    grads = y.backward(wrt=tensors, seed=node(np.reshape(seed, y.shape)))
    return [grads[x].numpy().reshape(-1) for x in tensors]


def test_gradients_computed_by_hand() -> None:
    tape = SlotTape()
    a, b = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    x, y = tape.leaf(a), tape.leaf(b)

    product = tape.record_mul(x, a, y, b)
    total = tape.record_add(product, x)

    assert (x, y, product, total, tape.num_tensors) == (0, 1, 2, 3, 4)
    dx, dy, dproduct, dtotal = gradients(tape, np.array([1.0, 10.0]))
    assert dx.tolist() == [5 + 1, 70 + 10]
    assert dy.tolist() == [2, 30]
    assert dproduct.tolist() == dtotal.tolist() == [1, 10]


def test_a_small_network_has_the_gradients_of_the_typed_tapes() -> None:
    x, w1, w2, b2 = real(3, 4, seed=1), real(4, 5, seed=2), real(5, 2, seed=3), real(3, 2, seed=4)

    def network(x: Any, w1: Any, w2: Any, b2: Any) -> Any:
        y = ops.silu(x @ w1) @ w2 + b2
        return y * y

    hidden = x @ w1
    active = ops.silu(node(hidden)).numpy()
    y = active @ w2 + b2
    tape = SlotTape()
    leaves = [tape.leaf(value) for value in (x, w1, w2, b2)]
    first = tape.record_matmul(leaves[0], x, leaves[1], w1)
    second = tape.record_matmul(tape.record_silu(first, hidden), active, leaves[2], w2)
    out = tape.record_add(second, leaves[3])
    tape.record_mul(out, y, out, y)
    found = gradients(tape, np.ones(6))

    for slot, expected in zip(leaves, typed(network, np.ones(6), x, w1, w2, b2), strict=True):
        np.testing.assert_array_equal(found[slot], expected)


@pytest.mark.parametrize("shape", [(1, 5), (3, 4), (2, 1)], ids=str)
def test_layer_norm_equals_the_textbook_formula(shape: tuple[int, int]) -> None:
    x, scale, dy = real(*shape, seed=1), real(shape[1], seed=2), real(*shape, seed=3)
    mean, var = x.mean(1), x.var(1)
    tape = SlotTape()

    tape.record_layer_norm(tape.leaf(x), mean, var, scale, x)
    dx = gradients(tape, dy)[0].reshape(shape)

    # r (gg - mean gg - x̂ mean(gg x̂)) with gg = g scale and r = 1/sqrt(var + 1e-5): Ba et al., Layer normalization.
    r = 1 / np.sqrt(var[:, None] + 1e-5)
    normal, gg = (x - mean[:, None]) * r, dy * scale
    expected = r * (gg - gg.mean(1, keepdims=True) - normal * (gg * normal).mean(1, keepdims=True))
    np.testing.assert_allclose(dx, expected, rtol=1e-10, atol=1e-12)


def test_layer_norm_without_its_input_omits_the_gradient_of_the_variance() -> None:
    x, scale, dy = real(3, 4, seed=1), real(4, seed=2), real(3, 4, seed=3)
    tape = SlotTape()

    tape.record_layer_norm(tape.leaf(x), x.mean(1), x.var(1), scale)

    gg = dy * scale
    expected = (gg - gg.mean(1, keepdims=True)) / np.sqrt(x.var(1)[:, None] + 1e-5)
    np.testing.assert_allclose(gradients(tape, dy)[0].reshape(3, 4), expected, rtol=1e-12)


def test_mean_and_variance_of_one_row_may_be_numbers() -> None:
    x = np.array([1.0, 2.0, 3.0])
    tape = SlotTape()

    tape.record_layer_norm(tape.leaf(x), 2, 2 / 3, np.ones(3), x)

    np.testing.assert_allclose(gradients(tape, np.ones(3))[0], 0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_mean_and_variance_may_be_rounded_differently(dtype: Any) -> None:
    x = (1000 + real(2, 50)).astype(dtype)
    mean, var = x.astype(np.float64).mean(1).astype(dtype), x.astype(np.float64).var(1).astype(dtype)
    tape = SlotTape()

    tape.record_layer_norm(tape.leaf(x), mean, var, np.ones(50, dtype), x)

    assert len(gradients(tape, np.ones((2, 50), dtype))) == 2


def test_a_nan_value_is_found_in_the_backward_pass() -> None:
    x = np.array([1.0, np.nan])
    tape = SlotTape()
    tape.record_layer_norm(tape.leaf(x), np.nan, np.nan, np.ones(2), x)

    with pytest.raises(
        NumericalInstabilityError, match=r"^layer_norm: the gradient of slot 0 is NaN or infinite at 2 of "
    ):
        tape.backward(np.ones(2), buffers(tape))


@pytest.mark.parametrize(("rows", "columns"), [(2, 0), (0, 3)])
def test_empty_tensors_have_empty_gradients(rows: int, columns: int) -> None:
    x = np.ones((rows, columns))
    tape = SlotTape()
    tape.record_layer_norm(tape.leaf(x), np.zeros(rows), np.zeros(rows), np.ones(columns), x)

    assert [one.size for one in gradients(tape, np.ones(0))] == [0, 0]


@pytest.mark.parametrize("shape", [(4,), (3, 2), (1,)], ids=str)
def test_a_scan_has_the_gradients_of_the_typed_tapes(shape: tuple[int, ...]) -> None:
    a, b, x, dy = (real(*shape, seed=seed) for seed in range(4))
    tape = SlotTape()
    slots = [tape.leaf(value) for value in (a, b, x)]

    tape.record_ssm_scan(slots[2], a, b, x_data=x, a=slots[0], b=slots[1])
    found = gradients(tape, dy)

    for slot, expected in zip(slots, typed(ops.ssm_scan, dy, a, b, x), strict=True):
        np.testing.assert_array_equal(found[slot], expected)


def test_a_scan_gives_dx_without_its_input() -> None:
    a, b, x, dy = (real(4, seed=seed) for seed in range(4))
    tape = SlotTape()

    tape.record_ssm_scan(tape.leaf(x), a, b)

    np.testing.assert_array_equal(gradients(tape, dy)[0], typed(ops.ssm_scan, dy, a, b, x)[2])


def test_backward_twice_gives_twice_the_gradient() -> None:
    x = real(3)
    tape = SlotTape()
    slot = tape.leaf(x)
    tape.record_silu(tape.record_mul(slot, x, slot, x), x * x)
    once, twice = buffers(tape), buffers(tape)

    tape.backward(np.ones(3), once)
    tape.backward(np.ones(3), twice)
    tape.backward(np.ones(3), twice)

    for one, two in zip(once, twice, strict=True):
        np.testing.assert_array_equal(two, 2 * one)


def test_a_buffer_may_have_the_shape_of_its_value_and_extra_buffers_are_allowed() -> None:
    x, w = real(2, 3), real(3, 1, seed=1)
    tape = SlotTape()
    tape.record_matmul(tape.leaf(x), x, tape.leaf(w), w)
    tensors = [np.zeros((2, 3)), np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(7)]

    tape.backward(np.ones((2, 1)), tensors)

    np.testing.assert_array_equal(tensors[0], np.ones((2, 1)) @ w.T)
    assert not tensors[3].any()


def test_a_number_may_be_the_gradient_of_one_element() -> None:
    tape = SlotTape()
    tape.leaf(np.ones(1, np.float32))

    assert gradients(tape, 3.0)[0].tolist() == [3]


def test_the_caller_may_overwrite_values_before_the_backward_pass() -> None:
    x = np.array([2.0])
    tape = SlotTape()
    slot = tape.leaf(x)
    tape.record_mul(slot, x, slot, x)

    x[0] = 1000

    assert gradients(tape, 1.0)[slot].tolist() == [4]


def test_a_slot_that_the_loss_does_not_need_gets_no_gradient() -> None:
    x = np.array([np.inf, 1.0])
    tape = SlotTape()
    unused = tape.leaf(x)
    tape.record_mul(unused, x, unused, x)
    tape.leaf(np.ones(2))

    assert [one.tolist() for one in gradients(tape, np.ones(2))] == [[0, 0], [0, 0], [1, 1]]


def test_add_mul_and_matmul_compute_only_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.ones((2, 3)), np.ones((3, 5))
    computed: list[str] = []

    class Counting(np.ndarray[Any, Any]):
        def __array_ufunc__(self, ufunc: Any, *_: Any, **__: Any) -> Any:
            computed.append(ufunc.__name__)
            raise AssertionError

    monkeypatch.setattr(np, "array", lambda value, *_: np.asarray(value).view(Counting))
    tape = SlotTape()
    a, b = tape.leaf(x), tape.leaf(w)
    product = tape.record_matmul(a, x, b, w)
    tape.record_mul(product, np.ones(10), tape.record_add(product, product), np.ones(10))

    assert not computed
    assert len(tape._steps) == 3


class TestInstability:
    def test_an_infinite_gradient_of_a_leaf_names_the_op(self) -> None:
        x, w = np.array([1.0]), np.array([np.inf])
        tape = SlotTape()
        a, b = tape.leaf(x), tape.leaf(w)
        tape.record_mul(a, x, b, w)
        filled = buffers(tape)

        with pytest.raises(NumericalInstabilityError) as raised:
            tape.backward(1.0, filled)

        assert str(raised.value) == "mul: the gradient of slot 0 is NaN or infinite at 1 of 1 elements"
        assert (raised.value.op, raised.value.slot) == ("mul", 0)
        assert not any(buffer.any() for buffer in filled)

    def test_an_overflow_inside_is_named_where_it_happens(self) -> None:
        x = np.array([3e38], np.float32)
        tape = SlotTape()
        slot = tape.leaf(x)
        product = tape.record_mul(slot, x, slot, x)
        tape.record_add(product, product)
        filled = buffers(tape)

        with pytest.raises(
            NumericalInstabilityError, match=r"^mul: the gradient of slot 0 is NaN or infinite at 1 of "
        ):
            tape.backward(1.0, filled)

        assert not any(buffer.any() for buffer in filled)

    def test_the_initial_gradient_is_checked(self) -> None:
        tape = SlotTape()
        tape.leaf(np.ones(3))
        filled = buffers(tape)

        with pytest.raises(
            NumericalInstabilityError, match=r"^loss: the gradient of slot 0 is NaN or infinite at 2 of "
        ):
            tape.backward(np.array([np.nan, 1, np.inf]), filled)

        assert filled[0].tolist() == [0, 0, 0]

    def test_a_sum_that_overflows_the_buffer_is_rejected(self) -> None:
        tape = SlotTape()
        first = tape.leaf(np.ones(1, np.float32))
        tape.record_add(first, first)
        filled = [np.ones(1, np.float32), np.full(1, 3e38, np.float32)]

        with pytest.raises(
            NumericalInstabilityError, match=r"^buffers: the gradient of slot 1 is NaN or infinite at 1 of "
        ):
            tape.backward(1e38, filled)

        assert [one.tolist() for one in filled] == [[1], [np.float32(3e38)]]

    def test_the_error_is_an_arithmetic_error_and_a_tapegrad_error(self) -> None:
        assert issubclass(NumericalInstabilityError, ArithmeticError)
        assert issubclass(NumericalInstabilityError, TapeError)


def ready() -> tuple[SlotTape, int, int]:
    tape = SlotTape()
    return tape, tape.leaf(np.ones(6)), tape.leaf(np.ones(3))


SIX, THREE = np.ones(6), np.ones(3)
NO_SLOT: Any = 1.0  # mypy rejects it before it runs
REJECTED: list[tuple[Callable[[SlotTape], Any], type[Exception], str]] = [
    (lambda t: t.leaf([1.0]), DTypeError, "leaf: value is a list, not a NumPy array"),  # type: ignore[arg-type]  # the mistake under test
    (lambda t: t.leaf(np.ones(2, np.int64)), DTypeError, "leaf: value is int64 but floating is expected"),
    (lambda t: t.record_add(0, 1), ShapeError, "record_add: a has 6 elements but b has 3"),
    (lambda t: t.record_add(0, 2), TapeError, "record_add: b is slot 2 but the tape has 2 slots"),
    (lambda t: t.record_add(0, NO_SLOT), TapeError, "record_add: b is a float but the number of a slot is expected"),
    (lambda t: t.record_add(bool(t), 0), TapeError, "record_add: a is a bool but the number of a slot is expected"),
    (lambda t: t.record_add(-1, 0), TapeError, "record_add: a is slot -1 but the tape has 2 slots"),
    (lambda t: t.record_mul(0, SIX, 1, THREE), ShapeError, "record_mul: a has 6 elements but b has 3"),
    (lambda t: t.record_mul(0, THREE, 1, THREE), ShapeError, "record_mul: a has 3 elements but slot 0 has 6"),
    (
        lambda t: t.record_mul(0, SIX.astype(np.float32), 0, SIX),
        DTypeError,
        "record_mul: a is float32 but float64 is expected",
    ),
    (
        lambda t: t.record_matmul(0, SIX, 1, THREE.reshape(3, 1)),
        ShapeError,
        "record_matmul: a_mat is (6,) but (N, K) is expected: rank 1, not 2",
    ),
    (
        lambda t: t.record_matmul(0, SIX.reshape(3, 2), 1, THREE.reshape(3, 1)),
        ShapeError,
        "matmul: inner sizes differ: x (3, 2) has 2 columns but y (3, 1) has 3 rows",
    ),
    (
        lambda t: t.record_matmul(0, SIX.reshape(3, 2), 1, THREE),
        ShapeError,
        "record_matmul: b_mat is (3,) but (K, M) is expected: rank 1, not 2",
    ),
    (lambda t: t.record_silu(1, SIX), ShapeError, "record_silu: x has 6 elements but slot 1 has 3"),
    (
        lambda t: t.record_layer_norm(0, THREE, THREE, THREE),
        ShapeError,
        "record_layer_norm: 3 means, 3 variances and 3 scales do not make up slot 0, which has 6 elements",
    ),
    (
        lambda t: t.record_layer_norm(1, 1, -0.5, THREE),
        ValueError,
        "record_layer_norm: a variance is -0.5 but must be at least 0",
    ),
    (
        lambda t: t.record_layer_norm(1, 2.5, 0, THREE, THREE),
        ValueError,
        "record_layer_norm: mean of row 0 is 2.5 but that of x_data is 1",
    ),
    (
        lambda t: t.record_layer_norm(1, 1, 0, np.ones(3, np.float32)),
        DTypeError,
        "record_layer_norm: scale is float32 but float64 is expected",
    ),
    (
        lambda t: t.record_ssm_scan(1, THREE, THREE, a=0),
        TapeError,
        "record_ssm_scan: a is slot 0, whose gradient needs x_data",
    ),
    (
        lambda t: t.record_ssm_scan(1, THREE, SIX),
        ShapeError,
        "record_ssm_scan: a_vals is (3,) and b_vals is (6,) but slot 1 has 3 elements",
    ),
    (
        lambda t: t.record_ssm_scan(1, THREE, THREE, x_data=THREE, b=0),
        ShapeError,
        "record_ssm_scan: b_vals has 3 elements but slot 0 has 6",
    ),
    (
        lambda t: t.record_ssm_scan(1, np.ones(3, np.float32), THREE),
        DTypeError,
        "record_ssm_scan: a_vals is float32 but float64 is expected",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REJECTED, ids=[case[2] for case in REJECTED])
def test_invalid_shapes_are_rejected_and_not_recorded(
    call: Callable[[SlotTape], Any], error: type[Exception], message: str
) -> None:
    tape, _, _ = ready()

    with pytest.raises(error) as rejected:
        call(tape)

    assert str(rejected.value) == message
    assert tape.num_tensors == 2


def read_only() -> Any:
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    return frozen


ONE = np.zeros(3)


@pytest.mark.parametrize(
    ("loss_grad", "tensors", "error", "message"),
    [
        (THREE, [SIX * 0], ShapeError, "backward: 1 buffer given but the tape has 2 slots"),
        (THREE, [SIX * 0, np.zeros(5)], ShapeError, "backward: tensors[1] has 5 elements but slot 1 has 3"),
        (SIX, [SIX * 0, ONE], ShapeError, "backward: loss_grad has 6 elements but slot 1 has 3"),
        (
            THREE,
            [SIX * 0, np.zeros(3, np.float32)],
            DTypeError,
            "backward: tensors[1] is float32 but float64 is expected",
        ),
        (
            np.ones(3, np.float32),
            [SIX * 0, ONE],
            DTypeError,
            "backward: loss_grad is float32 but float64 is expected",
        ),
        (THREE, [SIX * 0, read_only()], ValueError, "backward: tensors[1] is read-only"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_buffers_are_rejected(loss_grad: Any, tensors: Any, error: type[Exception], message: str) -> None:
    tape, _, _ = ready()

    with pytest.raises(error) as rejected:
        tape.backward(loss_grad, tensors)

    assert str(rejected.value) == message
    assert not any(buffer.any() for buffer in tensors)


def test_one_buffer_for_two_slots_is_rejected() -> None:
    tape = SlotTape()
    tape.leaf(THREE)
    tape.leaf(THREE)

    with pytest.raises(TapeError, match=r"^backward: tensors\[0\] and tensors\[1\] are one buffer$"):
        tape.backward(THREE, [ONE, ONE])


def test_an_empty_tape_has_no_gradient() -> None:
    with pytest.raises(TapeError, match=r"^backward: nothing is recorded$"):
        SlotTape().backward(1.0, [])


def test_mixed_dtypes_are_rejected() -> None:
    tape = SlotTape()
    tape.leaf(THREE)
    tape.leaf(THREE.astype(np.float32))

    with pytest.raises(DTypeError, match=r"^record_add: a is float64 but b is float32$"):
        tape.record_add(0, 1)


def test_a_tape_is_shown_by_its_ops() -> None:
    tape, x, _ = ready()
    tape.record_silu(x, SIX)

    assert repr(tape) == "SlotTape(0: leaf (6,), 1: leaf (3,), 2: silu (6,))"
    assert tape.graph().splitlines()[-2:] == ['    n2["2: silu (6,)"]', "    n0 --> n2"]
    assert tape._repr_mimebundle_() == {"text/plain": repr(tape), "text/vnd.mermaid": tape.graph()}
    for _ in range(9):
        tape.leaf(SIX)
    assert repr(tape) == (
        "SlotTape(0: leaf (6,), 1: leaf (3,), 2: silu (6,), ..., 9: leaf (6,), 10: leaf (6,), 11: leaf (6,))"
    )


def test_every_method_has_a_docstring_with_its_formula() -> None:
    for name, method in inspect.getmembers(SlotTape, inspect.isfunction):
        if name.startswith("record_"):
            assert re.search(r"\n\n    (?!>>>)\S", inspect.getdoc(method) or ""), name
