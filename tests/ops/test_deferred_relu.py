"""`relu` of many images is computed with the max pool after it, and the results are those of both ops alone."""

from __future__ import annotations

import copy
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engines.numba import engine as fast
from tapegrad.ops import conv2d, elementwise, max_pool1d, max_pool2d, min_pool2d, relu, square, tensor
from tapegrad.tensors.nodes import Deferred, Weak, deferred_operand, release_value
from tapegrad.testing import check_gradients

SHAPES = [(2, 3, 7, 9), (3, 19, 6, 9), (2, 16, 5, 8), (1, 2, 4, 1)]
POOLS: list[dict[str, Any]] = [
    {"kernel": 2},
    {"kernel": (2, 1)},
    {"kernel": 3, "stride": 1, "padding": 1},
    {"kernel": 2, "ceil_mode": True},
    {"kernel": (2, 1), "stride": 2, "padding": (1, 0), "dilation": (3, 1)},
]


@pytest.fixture(autouse=True)
def _for_arrays_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "DEFER_MIN_ELEMENTS", 1)
    monkeypatch.setattr(fast, "_KERNEL_MIN_ELEMENTS", 1)


def images(shape: tuple[int, ...], dtype: Any = np.float32, *, are_channels_last: bool = False) -> Any:
    """Draw images of which many cells are equal, and some are not finite."""
    values = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    values.ravel()[[1, 2, 7]] = np.inf, -np.inf, np.nan
    if are_channels_last:
        values = np.moveaxis(np.ascontiguousarray(np.moveaxis(values, 1, -1)), -1, 1)
    return tg.node(values)


def computed(h: Any) -> Any:
    """Return a tensor after reading its value."""
    assert h.data.shape == h.shape
    assert deferred_operand(h) is None
    return h


@pytest.mark.parametrize("is_fast", [False, True])
@pytest.mark.parametrize("are_channels_last", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", POOLS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_max_pool_of_relu_equals_that_of_the_computed_value(
    shape: tuple[int, ...], options: dict[str, Any], dtype: Any, *, are_channels_last: bool, is_fast: bool
) -> None:
    if is_fast:
        pytest.importorskip("numba")
    if shape[-1] == 1 and options["kernel"] in (2, 3):
        pytest.skip("the window is larger than the image")
    tg.use_fast(is_on=is_fast)
    try:
        x = images(shape, dtype, are_channels_last=are_channels_last)
        h, own = relu(x.trace()), computed(relu(x.trace()))
        y, expected = max_pool2d(h, **options), max_pool2d(own, **options)
        seed = tensor(np.random.default_rng(1).normal(size=y.shape).astype(dtype))

        assert (deferred_operand(h) is None) == ("dilation" in options)  # a window may have padding alone
        assert str(y.tape) == str(expected.tape)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y.numpy(), expected.numpy())
        np.testing.assert_array_equal(max_pool2d(relu(x), **options).numpy(), expected.numpy())
        dx, dx_expected = (one.backward(seed=seed)[x].numpy() for one in (y, expected))
        np.testing.assert_allclose(dx, dx_expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(h.numpy(), np.maximum(x.numpy(), 0))
    finally:
        tg.use_fast(is_on=fast._has_numba())


def test_relu_itself_gets_its_gradient_if_requested() -> None:
    x = images((2, 3, 4, 6))
    h, own = relu(x.trace()), computed(relu(x.trace()))

    found = max_pool2d(h, 2).backward(wrt=[h, x], seed=tg.ones((2, 3, 2, 3)))
    expected = max_pool2d(own, 2).backward(wrt=[own, x], seed=tg.ones((2, 3, 2, 3)))

    np.testing.assert_array_equal(found[h].numpy(), expected[own].numpy())
    np.testing.assert_array_equal(found[x].numpy(), expected[x].numpy())
    assert found[h].numpy().sum() == 36


def test_relu_may_be_read_before_and_after_its_pool() -> None:
    x = images((2, 3, 4, 6))

    def gradient(h: Any) -> Any:
        y = max_pool2d(h, 2).sum() + square(h).sum() + max_pool2d(h, 2).sum()
        return y.backward()[x].numpy()

    np.testing.assert_array_equal(gradient(relu(x.trace())), gradient(computed(relu(x.trace()))))


def test_a_custom_step_of_the_tape_finds_the_gradient_of_relu() -> None:
    x, seen = images((2, 3, 4, 6)), []
    h = relu(x.trace())
    h.tape.tape.add_backward_op(lambda grads: seen.append(grads.ref(h).sum()))

    max_pool2d(h, 2).backward(seed=tg.ones((2, 3, 2, 3)))

    assert seen == [36]


def test_a_tape_that_is_retained_gives_the_gradient_twice() -> None:
    x = images((2, 3, 4, 6))
    y = max_pool2d(relu(x.trace()), 2)
    seed = tg.ones((2, 3, 2, 3))

    first, second = y.backward(seed=seed, retain_tape=True), y.backward(seed=seed)

    np.testing.assert_array_equal(first[x].numpy(), second[x].numpy())


def test_a_value_that_is_read_after_the_pool_is_there_in_the_backward_pass() -> None:
    x = images((2, 3, 4, 6))
    h = relu(x.trace())
    node = h.node
    y = max_pool2d(h, 2)
    assert h.numpy().shape == (2, 3, 4, 6)
    del h

    grads = y.backward(wrt=[node], seed=tg.ones((2, 3, 2, 3)))

    assert grads[node].numpy().sum() == 36


def test_derivatives_of_the_second_order_exist() -> None:
    x, w = (tg.normal(shape, rng=0).astype(np.float64) for shape in ((2, 3, 5, 6), (4, 3, 2, 2)))

    check_gradients(lambda x, w: square(max_pool2d(relu(conv2d(x, w)), 2)), x, w, order=2)


def test_other_pools_and_ops_compute_relu() -> None:
    x = images((2, 3, 4, 6))

    np.testing.assert_array_equal(min_pool2d(relu(x), 2).numpy(), min_pool2d(computed(relu(x)), 2).numpy())
    np.testing.assert_array_equal((relu(x) + 1).numpy(), np.maximum(x.numpy(), 0) + 1)
    np.testing.assert_array_equal(relu(relu(x)).numpy(), np.maximum(x.numpy(), 0))
    with pytest.raises(tg.ShapeError, match=r"max_pool1d: x \(2, 3, 4, 6\) has rank 4, not 3, or 2 without a batch"):
        max_pool1d(relu(x), 2)


@pytest.mark.parametrize("is_taped", [False, True])
def test_a_deferred_tensor_has_the_properties_of_any_other(is_taped: bool) -> None:  # noqa: FBT001  # a parameter of pytest
    x = images((2, 3, 4, 6))
    h = relu(x.trace() if is_taped else x)

    assert (h.shape, h.ndim, h.size, h.nbytes, h.is_float) == ((2, 3, 4, 6), 4, 144, 576, True)
    assert h.dtype == np.float32
    assert h.owns_tape == is_taped
    assert deferred_operand(h) is not None
    assert repr(h).startswith("Tensor(")
    assert type(h) is tg.Tensor
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'reluu'"):
        _ = relu(x.trace() if is_taped else x).reluu  # type: ignore[attr-defined]  # a mistake


def test_a_deferred_tensor_is_copied_with_its_value() -> None:
    x = images((2, 3, 4, 6))

    for twin in (copy.copy(relu(x)), copy.deepcopy(relu(x)), pickle.loads(pickle.dumps(relu(x)))):  # noqa: S301  # written above
        assert type(twin) is tg.Tensor
        np.testing.assert_array_equal(twin.numpy(), np.maximum(x.numpy(), 0))


def test_a_value_that_no_closure_reads_is_not_saved_on_the_tape() -> None:
    h = relu(images((2, 3, 4, 6)).trace())
    y = h + 1.0

    assert y.shape == h.shape
    assert not h.node.is_saved


def test_a_value_that_is_read_and_that_no_closure_reads_is_freed_with_its_tensor() -> None:
    h = relu(images((2, 3, 4, 6)).trace())
    node, value = h.node, weakref.ref(h.data)
    assert node.shape == (2, 3, 4, 6)

    del h

    assert value() is None


def test_a_bfloat16_tensor_is_float_without_its_value() -> None:
    pytest.importorskip("ml_dtypes")
    value = tg.ones((3,), tg.bfloat16).data
    node = tg.node(value)

    release_value(node)

    assert type(node) is Weak
    assert node.is_float


def test_a_value_that_another_thread_computes_meanwhile_is_found() -> None:
    kind: Any = Deferred
    x = images((2, 3, 4, 6))  # as a deferred tensor is after its value has been computed

    assert (kind.shape.fget(x), kind.ndim.fget(x), kind.size.fget(x)) == ((2, 3, 4, 6), 4, 144)
    assert deferred_operand(kind.__new__(kind)) is None  # its operand has just been released


def test_threads_may_read_a_deferred_tensor_at_once() -> None:
    for _ in range(20):
        h = relu(images((2, 16, 20, 20)).trace())
        with ThreadPoolExecutor(4) as pool:
            values = [*pool.map(lambda h: h.data, [h] * 8)]

        assert all(value is h.data for value in values)


def test_parameters_and_checkpointing_tapes_compute_relu_at_once() -> None:
    w = tg.nn.Param(tg.ones((2, 3, 4, 6)))
    x = images((2, 3, 4, 6))

    assert deferred_operand(relu(w)) is None
    assert deferred_operand(relu(x.trace(checkpoint=tg.BalancedCheckpointing()))) is None
