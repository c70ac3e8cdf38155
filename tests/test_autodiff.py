"""Autodiff: gradients of gradients."""

from __future__ import annotations

import operator
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tapegrad.autodiff import Autodiff, AutodiffBackend
from tapegrad.checkpoint import BalancedCheckpointing, NoCheckpointing
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.ops import (
    clamp,
    conv1d,
    conv_transpose1d,
    exp,
    gelu,
    heaviside,
    layer_norm,
    leaky_relu,
    log_softmax,
    max,
    maximum,
    mse,
    nan_to_num,
    normal,
    normalize,
    ones,
    prelu,
    relu,
    scatter_add,
    softmax,
    solve,
    sqrt,
    std,
    take,
    tanh,
    tensor,
    where,
)
from tapegrad.quantized import Symmetric, quantize
from tapegrad.tensors import Tensor
from tapegrad.testing import check_gradients

LEVEL = Autodiff()


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def gradient_of(f: Any, x: Any) -> Any:
    """Return the derivative of `f` at `x`, on the tape of `x`."""
    inner: Any = LEVEL.from_inner(x)
    return LEVEL.inner(f(inner.trace()).backward(wrt=inner)[inner])


def test_x_cubed_at_three_gives_27_and_18() -> None:
    x = tensor(3.0, np.float64)
    taped = x.trace()

    first = gradient_of(lambda x: x * x * x, taped)
    second = first.backward()[x]

    assert first.item() == 27
    assert second.item() == 18


def test_levels_nest_to_any_depth() -> None:
    def fourth(x: Any) -> Any:
        return x * x * x * x

    x = tensor(2.0, np.float64)

    third = gradient_of(lambda x: gradient_of(lambda x: gradient_of(fourth, x), x), x.trace())

    assert third.item() == 48
    assert third.backward()[x].item() == 24


def test_a_hessian_row_by_row() -> None:
    a, x = np.array([[2.0, 1.0], [1.0, 3.0]]), tensor([5.0, 7.0], np.float64)

    rows = []
    for row in np.eye(2):
        gradient = gradient_of(lambda x: (x * (a @ x)).sum(), x.trace())
        rows.append((gradient * row).sum().backward()[x].tolist())

    assert rows == (a + a.T).tolist()


def test_a_lifted_tensor_is_a_new_leaf_that_contains_the_old_one() -> None:
    x = real(2, 3).trace()

    lifted: Any = LEVEL.from_inner(x)

    assert not lifted.owns_tape
    assert lifted.data is x
    assert LEVEL.inner(lifted) is x
    assert (lifted.shape, lifted.dtype, lifted.ndim, lifted.size) == ((2, 3), np.float64, 2, 6)


def test_the_inner_value_of_a_plain_tensor_is_a_tensor() -> None:
    x = real(3)

    assert isinstance(LEVEL.inner(x), Tensor)
    assert LEVEL.inner(x).tolist() == x.tolist()


def test_a_lifted_tensor_prints_and_converts_to_numpy_with_any_tapes() -> None:
    x: Any = tensor([1.0, 2.0])
    lifted: Any = LEVEL.from_inner(x.trace())

    assert repr(lifted) == "Tensor([1., 2.], shape=(2,), float32, no tape)"
    assert repr(lifted.trace()) == "Tensor([1., 2.], shape=(2,), float32, owned tape)"
    assert lifted.numpy().tolist() == [1, 2]
    assert lifted.sum().item() == 3
    assert bool((lifted == x).data.numpy().all())


def test_each_level_has_its_own_tape() -> None:
    x = real(3)
    outer = x.trace()
    inner: Any = LEVEL.from_inner(outer)

    gradient = LEVEL.inner((tanh(inner.trace()) * 2).sum().backward()[inner])

    assert gradient.owns_tape
    assert gradient.tape.tape is outer.tape.tape
    np.testing.assert_allclose(gradient.numpy(), 2 * (1 - np.tanh(x.numpy()) ** 2))


def test_without_a_tape_on_the_lower_level_nothing_is_recorded_there() -> None:
    gradient = gradient_of(lambda x: exp(x).sum(), real(3))

    assert not gradient.owns_tape


def test_captured_arrays_and_tensors_are_constants() -> None:
    weights, table, labels = real(3, 5, seed=1), real(4, 3, seed=2), tensor([3, 0])
    mask = tensor([[True, False, True]])

    check_gradients(lambda x: softmax(x @ weights), real(2, 3), order=2)
    check_gradients(lambda x: where(mask, x, weights.numpy()[:2, :3]) * x, real(2, 3), order=2)
    check_gradients(lambda x: take(x * table, labels), real(4, 3), order=2)
    check_gradients(lambda x: mse(x * x, real(2, 3, seed=3)), real(2, 3), order=2)


def test_a_small_network_has_second_derivatives() -> None:
    def penalty(x: Any, w: Any, v: Any) -> Any:
        return softmax(tanh(x @ w) @ v).max()

    check_gradients(penalty, real(2, 3), real(3, 5, seed=1), real(5, 4, seed=2), order=2)


def test_a_gradient_penalty_reaches_the_weights() -> None:
    # d/dw of (d/dx w x²)² = (2 w x)² is 8 w x²
    x, w = tensor(3.0, np.float64), tensor(5.0, np.float64)
    weight = w.trace()

    def loss(x: Any) -> Any:
        return LEVEL.from_inner(weight) * x * x

    gradient = gradient_of(loss, x)
    penalty = gradient * gradient

    assert penalty.backward()[w].item() == 8 * 5 * 9


def test_a_taped_tensor_that_was_not_lifted_is_never_silently_a_constant() -> None:
    w = tensor(5.0, np.float64)
    weight = w.trace()

    gradient = gradient_of(lambda x: weight * x * x, tensor(3.0, np.float64).trace())

    assert gradient.item() == 30
    with pytest.raises(KeyError):
        gradient.backward()[w]
    with pytest.raises(TapeError, match="the tape was consumed by backward"):
        operator.neg(weight)


def test_ints_and_bools_of_a_lifted_tensor_are_not_differentiated() -> None:
    x: Any = LEVEL.from_inner(real(5).trace())
    tokens: Any = LEVEL.from_inner(tensor([4, 0]))

    grads = (take(x.trace(), tokens) * relu(take(x.trace(), tokens))).sum().backward()

    assert LEVEL.inner(grads[x]).owns_tape
    assert not (x > 0).owns_tape


def test_a_taped_tensor_still_rejects_numpy_on_any_level() -> None:
    lifted: Any = LEVEL.from_inner(real(3))

    with pytest.raises(TapeError, match=r"^the tensor has a tape, which a NumPy array would lose; detach it first$"):
        np.asarray(lifted.trace())


def test_a_tensor_among_the_gradients_finds_its_engine_without_an_import() -> None:
    # A closure of one's own may compute with tensors instead of values.
    program = (
        "import sys\n"
        "from tapegrad import node, ones, split_tape\n"
        "x, w = ones((3,)), ones((2, 3))\n"
        "y, tape = split_tape((x.trace() + w))\n"
        "out = node(y.data * 5)\n"
        "loss = tape.record(out, (y,), lambda grads: grads.add(y, node(grads.pop_output(out) * 5)))\n"
        "assert 'tapegrad.autodiff' not in sys.modules\n"
        "gradient = loss.sum().backward()[x]\n"
        "assert gradient.tolist() == [10, 10, 10], gradient\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_primitive_has_a_value_of_the_level_below() -> None:
    x: Any = real(2, 3).trace()
    ints = tensor([2, 0])

    assert LEVEL.swap_last_axes(x).shape == (3, 2)
    assert LEVEL.swap_last_axes(ones((2, 3, 5))).shape == (2, 5, 3)
    assert LEVEL.swap_last_axes(ones((5,))).shape == (5,)
    assert LEVEL.one_hot(ints, 3, np.float64).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert LEVEL.take(x, ints, 1).owns_tape
    assert LEVEL.scatter_add((3, 3), ints, x, 0).owns_tape
    assert LEVEL.where(x > 0, x, 0).owns_tape
    assert LEVEL.ones((2, 3), np.float64).shape == (2, 3)


# The backend whose values can be differentiated


def test_a_backend_has_one_below_and_a_strategy() -> None:
    twice = Autodiff(Autodiff(), BalancedCheckpointing())

    assert isinstance(twice, AutodiffBackend)
    assert isinstance(twice.below, Autodiff)
    assert isinstance(twice.below.below, NumPy)
    assert isinstance(LEVEL.checkpoint, NoCheckpointing)
    assert repr(twice) == "Autodiff(Autodiff(NumPy(), NoCheckpointing()), BalancedCheckpointing())"


def test_a_strategy_of_another_kind_is_rejected() -> None:
    strategy: Any = 3

    with pytest.raises(DTypeError, match=r"^Autodiff: checkpoint is an int but a strategy is expected$"):
        Autodiff(checkpoint=strategy)


def test_a_tensor_is_tracked_from_require_grad_until_detach() -> None:
    x = LEVEL.from_inner(tensor([2.0, 3.0]))

    tracked = LEVEL.require_grad(x)
    y = tracked * tracked

    assert not x.owns_tape
    assert not LEVEL.detach(y).owns_tape
    assert LEVEL.inner(y).tolist() == [4, 9]
    grads = LEVEL.backward(y.sum())
    assert grads[x].tolist() == [4, 6]


def test_a_tape_of_the_backend_uses_its_checkpointing_strategy() -> None:
    backend = Autodiff(NumPy(), BalancedCheckpointing())

    y = tanh(backend.require_grad(real(3)))

    assert y.tape.tape.checkpoint is backend.checkpoint
    assert not y.node.is_saved


def test_a_gradient_can_be_read_removed_and_replaced() -> None:
    x, other = LEVEL.require_grad(tensor([2.0, 3.0])), LEVEL.require_grad(tensor([1.0]))
    grads = LEVEL.backward((x * x).sum())

    first = LEVEL.grad(x, grads)
    removed = LEVEL.grad_remove(x, grads)
    LEVEL.grad_replace(x, grads, tensor([5.0, 5.0]))
    LEVEL.grad_replace(x, grads, tensor([7.0, 8.0]))
    LEVEL.grad_replace(other, grads, tensor([9.0]))

    assert first is not None
    assert removed is not None
    assert first.tolist() == removed.tolist() == [4, 6]
    assert grads[x].tolist() == [7, 8]
    assert grads[other].tolist() == [9]


def test_over_numpy_no_value_below_has_a_tape() -> None:
    backend: Any = Autodiff(NumPy())
    lifted: Any = LEVEL.from_inner(real(3).trace())

    with pytest.raises(TapeError, match=r"^Autodiff.from_inner: x has a tape but must have none$"):
        backend.from_inner(real(3).trace())
    with pytest.raises(TapeError, match=r"^Autodiff.inner: the value of y has a tape but must have none$"):
        backend.inner(lifted)


def test_a_tensor_on_the_tape_of_the_level_below_has_no_inner_value() -> None:
    x = real(3)
    message = r"^Autodiff.inner: y is on a tape of the level below; give this level Autodiff.from_inner of it$"
    below = LEVEL.inner(tanh(LEVEL.from_inner(x.trace())))

    assert below.owns_tape
    with pytest.raises(TapeError, match=message):
        LEVEL.inner(below)
    with pytest.raises(TapeError, match=message):
        LEVEL.inner(x.trace())


def test_values_of_other_types_are_rejected() -> None:
    backend: Any = LEVEL
    for call, kind in (("int", "integer"), ("bool", "bool")):
        for way, place in (("inner", "y"), ("from_inner", "x")):
            name = f"{call}_{way}"
            with pytest.raises(DTypeError, match=f"^Autodiff.{name}: {place} is float32 but {kind} is expected$"):
                getattr(backend, name)(tensor([1.0]))
    with pytest.raises(DTypeError, match=r"^Autodiff.q_inner: y is float32 but a quantized tensor is expected$"):
        backend.q_inner(tensor([1.0]))
    with pytest.raises(DTypeError, match=r"^Autodiff.q_from_inner: x is an int but a quantized tensor is expected$"):
        backend.q_from_inner(3)
    with pytest.raises(DTypeError, match=r"^Autodiff: below is an int but a backend is expected$"):
        Autodiff(3)  # type: ignore[arg-type]  # the mistake under test


def test_what_is_not_a_tensor_is_rejected() -> None:
    backend: Any = LEVEL
    tracked = LEVEL.require_grad(tensor([2.0]))
    grads: Any = LEVEL.backward(tracked.sum())
    calls: dict[str, Any] = {
        "inner: y": lambda: backend.inner(3.0),
        "require_grad: x": lambda: backend.require_grad(3.0),
        "detach: x": lambda: backend.detach(3.0),
        "backward: y": lambda: backend.backward(3.0),
        "grad: x": lambda: backend.grad(3.0, grads),
        "grad_remove: x": lambda: backend.grad_remove(3.0, grads),
        "grad_replace: x": lambda: backend.grad_replace(3.0, grads, tracked),
        "grad_replace: gradient": lambda: backend.grad_replace(tracked, grads, 3.0),
    }
    for place, call in calls.items():
        with pytest.raises(DTypeError, match=f"^Autodiff.{place} is a float, not a tensor$"):
            call()


def test_what_are_no_gradients_is_rejected() -> None:
    backend: Any = LEVEL
    tracked = LEVEL.require_grad(tensor([2.0]))
    calls: dict[str, Any] = {
        "grad": lambda: backend.grad(tracked, 3),
        "grad_remove": lambda: backend.grad_remove(tracked, 3),
        "grad_replace": lambda: backend.grad_replace(tracked, 3, tensor([1.0])),
    }
    for name, call in calls.items():
        message = f"^Autodiff.{name}: grads is an int but Gradients, which backward gives, are expected$"
        with pytest.raises(DTypeError, match=message):
            call()


def test_a_gradient_of_what_was_never_tracked_is_rejected() -> None:
    backend: Any = LEVEL
    x, tracked = tensor([2.0]), LEVEL.require_grad(tensor([2.0]))
    grads = LEVEL.backward(tracked.sum())
    calls: dict[str, Any] = {
        "grad": lambda: backend.grad(x, grads),
        "grad_remove": lambda: backend.grad_remove(x, grads),
        "grad_replace": lambda: backend.grad_replace(x, grads, x),
    }
    for name, call in calls.items():
        with pytest.raises(TapeError, match=f"^Autodiff.{name}: x has no tape but needs one$"):
            call()


def test_the_gradient_of_an_untracked_tensor_is_none() -> None:
    x, other = LEVEL.require_grad(tensor([2.0])), LEVEL.require_grad(tensor([1.0]))
    grads = LEVEL.backward((x * x).sum())

    assert LEVEL.grad(other, grads) is None
    assert LEVEL.grad_remove(other, grads) is None
    assert LEVEL.grad_remove(x, grads) is not None
    assert LEVEL.grad(x, grads) is None
    assert len(grads) == 0


def test_gradients_of_two_levels_are_tensors_of_the_level_below() -> None:
    x = LEVEL.require_grad(tensor(3.0, np.float64))
    y = LEVEL.from_inner(x)
    tracked = LEVEL.require_grad(y)
    grads = LEVEL.backward(tracked * tracked * tracked)

    gradient: Any = LEVEL.grad(tracked, grads)
    LEVEL.grad_replace(tracked, grads, gradient * 2.0)
    doubled: Any = LEVEL.grad_remove(tracked, grads)

    assert gradient.owns_tape
    assert doubled.item() == 54
    assert LEVEL.backward(doubled)[x].item() == 36


def test_only_floats_are_lifted() -> None:
    whole, truth, q = tensor([1, 2]), tensor([True]), quantize(ones((3,)), Symmetric())

    assert LEVEL.int_from_inner(whole) is LEVEL.int_inner(whole) is whole
    assert LEVEL.bool_from_inner(truth) is LEVEL.bool_inner(truth) is truth
    assert LEVEL.q_from_inner(q) is LEVEL.q_inner(q) is q
    with pytest.raises(DTypeError, match=r"^Autodiff.require_grad: x is int64 but floating is expected$"):
        LEVEL.require_grad(whole)  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_a_replacement_has_the_shape_and_the_dtype_of_the_tensor() -> None:
    x, row = LEVEL.require_grad(tensor([2.0, 3.0])), tensor([1.0])
    grads = LEVEL.backward((x * x).sum())
    untyped: Any = row
    wide: Any = tensor([1.0, 2.0], np.float64)

    with pytest.raises(
        ShapeError, match=r"^Autodiff.grad_replace: gradient is \(1,\) but \(2,\) is expected: axis 0 is 1, not 2$"
    ):
        LEVEL.grad_replace(x, grads, untyped)
    with pytest.raises(DTypeError, match=r"^Autodiff.grad_replace: gradient is float64 but float32 is expected$"):
        LEVEL.grad_replace(x, grads, wide)
    assert grads[x].tolist() == [4, 6]


# Levels that meet in a backward pass


FLOATS: dict[str, Any] = {
    "gelu": lambda x: gelu(x, approximate="tanh"),
    "leaky_relu": leaky_relu,
    "prelu": lambda x: prelu(x, x[:1] * 0 + 0.25),
    "where": lambda x: where(x > 0.1, x * x, x),
    "relu": relu,
    "max": lambda x: max(x, axis=1),
    "normalize": normalize,
    "conv1d": lambda x: conv1d(x[None], x.T[:, :, None]),
    "conv_transpose1d": lambda x: conv_transpose1d(x.T[None], x.T[:, :, None]),
    "take": lambda x: take(x * x, x[0].argsort(), axis=1),
    "scatter_add": lambda x: scatter_add(x[1] * x[1], x[0].argsort(), (3,)),
    "solve": lambda x: solve(x @ x.T + ones((2, 2), np.float64), x),
    "nan_to_num": lambda x: nan_to_num(x * x),
    "layer_norm": lambda x: layer_norm(x, x[0], x[1]),
    "sqrt": lambda x: sqrt(x * x),
    "clamp": lambda x: clamp(x * x, min=0.1, max=1.0),
    "maximum": lambda x: maximum(x * x, x),
    "heaviside": lambda x: heaviside(x, x * x) * x,
    "softmax": softmax,
    "std": lambda x: std(x, axis=1),
}


@pytest.mark.parametrize("name", FLOATS)
def test_operands_may_be_on_a_higher_level_than_the_gradient(name: str) -> None:
    x, f = real(2, 3), FLOATS[name]
    seed = real(*f(x).shape, seed=1)

    def derivative(seed: Any) -> Any:
        outer = x.trace()
        inner: Any = LEVEL.from_inner(outer)
        dx = LEVEL.inner(f(inner.trace()).backward(wrt=inner, seed=seed)[inner])
        return dx, (dx * outer).sum().backward(wrt=x)[x]

    for plain, lifted in zip(derivative(seed), derivative(LEVEL.from_inner(seed)), strict=True):
        np.testing.assert_allclose(plain.numpy(), lifted.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", FLOATS)
def test_the_gradient_may_be_on_a_higher_level_than_the_operands(name: str) -> None:
    # The gradient is linear in that of the result, so its derivative in a direction is the gradient there.
    x, f = real(2, 3), FLOATS[name]
    seed, direction = real(*f(x).shape, seed=1), real(*f(x).shape, seed=2)
    outer = seed.trace()

    weights = real(2, 3, seed=3)

    dx = LEVEL.inner((f(x.trace()) * LEVEL.from_inner(outer)).sum().backward(wrt=x)[x])

    turned = (dx * weights).sum().backward(wrt=seed)[seed]
    there = f(x.trace()).backward(wrt=x, seed=direction)[x]
    np.testing.assert_allclose((turned * direction).sum().item(), (there * weights).sum().item())


def test_a_log_softmax_of_plain_numbers_has_a_lifted_gradient() -> None:
    x = tensor([[1.0, 3.0, 2.0], [0.0, -1.0, 5.0]], np.float64)
    dy = normal((2, 3), dtype=np.float64, rng=0)

    lifted = log_softmax(x.trace()).backward(seed=Autodiff().from_inner(dy))[x]

    np.testing.assert_allclose(lifted.numpy(), log_softmax(x.trace()).backward(seed=dy)[x].numpy(), rtol=1e-12)


def test_non_tensors_are_not_lifted() -> None:
    array: Any = np.ones(3, np.float32)
    with pytest.raises(
        DTypeError, match=r"^Autodiff\.from_inner: x is an ndarray, not a tensor; tg\.tensor\(x\) makes one$"
    ):
        Autodiff().from_inner(array)
