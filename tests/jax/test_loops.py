"""Loops under `jit`: values and gradients equal those without `jit`, and each step is traced once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax
import jax.numpy as jnp

import tapegrad as tg
from tapegrad import nn
from tapegrad.autodiff import Autodiff
from tapegrad.errors import ShapeError, TapeError

jit: Any = tg.jit  # the steps here are untyped; typecheck/scan.py has typed ones
scan: Any = tg.scan


@pytest.fixture(autouse=True, scope="module")
def unoptimized() -> Iterator[None]:
    """Let XLA compile the programs of these tests, which run once, without its costly optimizations."""
    config: Any = jax.config  # its methods are not typed
    config.update("jax_disable_most_optimizations", True)  # noqa: FBT003  # JAX's signature
    yield
    config.update("jax_disable_most_optimizations", False)  # noqa: FBT003  # JAX's signature


def real(*shape: int, seed: int = 0) -> Any:
    return tg.normal(shape, dtype=np.float64, rng=seed)


def assert_same(function: Any, *args: Any) -> None:
    """Compare the results of a function with those that it has under `jit`."""
    for ours, theirs in zip(jit(function)(*args), function(*args), strict=True):
        tolerance = 1e-10 if ours.dtype == np.float64 else 1e-3
        assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance / 100)


def recurrence(w: Any, h: Any, xs: Any, labels: Any, wrap: Any = None, /) -> Any:
    """Return the results and gradients of a recurrence with labels, a count, and a taped tensor that its step reads."""
    scale = (h * 0.5).trace()
    doubled = scale * 2.0

    def step(state: Any, row: Any) -> Any:
        (h, count), (x, label) = state, row
        h = tg.tanh(h @ w + x * doubled)
        return (h, count + 1), (tg.cross_entropy(h, label), h.detach())

    step = step if wrap is None else wrap(step)
    (h_last, count), (losses, states) = scan(step, (h.trace(), tg.tensor(0)), (xs.trace(), labels))
    grads = (losses.sum() + tg.square(h_last).sum() + tg.sin(states).sum()).backward(wrt=[w, h, xs, scale])
    return [states, count, losses.detach(), *(grads[x] for x in (w, h, xs, scale))]


def operands(dtype: Any = np.float64) -> list[Any]:
    floats = [real(3, 3, seed=1), real(2, 3, seed=2), real(5, 2, 3, seed=3)]
    return [*(x.astype(dtype) for x in floats), tg.tensor(np.arange(10).reshape(5, 2) % 3)]


@pytest.mark.parametrize("wrap", [None, tg.checkpoint], ids=["plain", "checkpointed"])
def test_values_and_gradients_equal_eager_results(wrap: Any) -> None:
    assert_same(lambda w, h, xs, labels: recurrence(w, h, xs, labels, wrap), *operands())


def test_a_parameter_that_the_step_reads_gets_its_gradient() -> None:
    def gradients(layer: Any, h: Any, xs: Any) -> Any:
        last, _ = scan(lambda h, x: (tg.tanh(layer(h) + x), None), h, xs.trace())
        grads = tg.square(last).sum().backward()
        return [grads[layer.weight], grads[layer.bias], grads[xs]]

    assert_same(gradients, nn.Linear(3, 3, rng=0), tg.ones((2, 3)), tg.normal((4, 2, 3), rng=1))


def test_values_and_gradients_equal_those_of_jax() -> None:
    w, h, xs, _ = operands()

    def ours(w: Any, h: Any, xs: Any) -> Any:
        last, states = scan(lambda h, x: (tg.tanh(h @ w.trace() + x), h), h.trace(), xs.trace())
        grads = (tg.sin(states).sum() + last.sum()).backward()
        return [grads[x] for x in (w, h, xs)]

    def theirs(w: Any, h: Any, xs: Any) -> Any:
        last, states = jax.lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), h, xs)
        return jnp.sin(states).sum() + last.sum()

    with jax.enable_x64(True):  # noqa: FBT003  # JAX's signature
        expected = jax.grad(theirs, argnums=(0, 1, 2))(*(jnp.asarray(x.numpy()) for x in (w, h, xs)))
    for one, other in zip(jit(ours)(w, h, xs), expected, strict=True):
        assert_allclose(one.numpy(), other, rtol=1e-10)


def test_half_precision_keeps_its_dtype() -> None:
    args = operands(np.float16)

    for ours, theirs in zip(jit(recurrence)(*args), recurrence(*args), strict=True):
        assert ours.dtype == theirs.dtype
        assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-2, atol=2e-2)


def test_a_step_is_traced_once() -> None:
    traced: list[int] = []

    def step(h: Any, x: Any) -> Any:
        traced.append(1)
        return tg.tanh(h + x), h

    @tg.jit
    def gradient(xs: Any) -> Any:
        return scan(step, tg.zeros((2,)), xs.trace())[1].sum().backward()[xs]

    assert gradient(tg.ones((500, 2))).shape == (500, 2)
    assert len(traced) == 1


def test_only_a_tensor_that_the_step_reads_may_have_a_tape() -> None:
    def gradient(w: Any, h: Any, xs: Any) -> Any:
        traced = w.trace()
        last, _ = scan(lambda h, x: (tg.tanh(h @ traced + x), None), h, xs)
        return [last.detach(), last.sum().backward()[w]]

    assert_same(gradient, *operands()[:3])


def test_a_loop_may_be_inside_a_loop() -> None:
    def gradients(w: Any, h: Any, xs: Any) -> Any:
        def outer(h: Any, x: Any) -> Any:
            h, states = scan(lambda h, y: (tg.tanh(h @ w + y), h), h, x)
            return h, tg.square(states).sum()

        last, sums = scan(outer, h[0].trace(), xs.trace())
        grads = (last.sum() + sums.sum()).backward(wrt=[w, xs])
        return [last.detach(), grads[w], grads[xs]]

    assert_same(gradients, *operands()[:3])


def test_second_derivatives_equal_eager_results() -> None:
    def curvature(w: Any, h: Any, xs: Any) -> Any:
        backend = Autodiff()
        inner = backend.from_inner(w.trace())
        last, _ = scan(lambda h, x: (tg.tanh(h @ inner.trace() + x), None), h, xs)
        gradient = backend.inner(last.sum().backward()[inner])
        return [gradient.detach(), tg.square(gradient).sum().backward()[w]]

    assert_same(curvature, *operands()[:3])


def test_second_derivatives_reach_a_lifted_parameter() -> None:
    def second(w: Any, x: Any) -> Any:
        level = Autodiff()
        inner = level.from_inner(x.trace())
        keys = tg.expand_dims(level.from_inner(w), 0)
        attended = tg.scaled_dot_product_attention(tg.expand_dims(inner.trace(), 0), keys, tg.tanh(keys) * 0.7)
        return tg.square(level.inner(attended.sum().backward()[inner])).sum().backward(wrt=[w])[w]

    w, x = nn.Param(tg.normal((5, 3), rng=0)), tg.normal((2, 3), rng=1)
    traced = tg.normal((5, 3), rng=0)

    expected = second(traced.trace(), x)  # through the tape of a tensor, not of a parameter

    assert_allclose(second(w, x).numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)
    assert_allclose(tg.jit(second)(w, x).numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_gradients_of_a_step_lack_a_parameter_that_a_level_above_took_as_a_constant() -> None:
    @tg.jit
    def step(layer: Any, x: Any) -> Any:
        lifted = Autodiff().from_inner(x.trace())
        return (Autodiff().inner(layer(lifted).sum()) + layer.bias.sum()).backward()

    layer, x = nn.Linear(3, 2, rng=0), tg.ones((4, 3))
    grads = step(layer, x)

    assert grads[x].shape == (4, 3)
    with pytest.raises(TapeError, match=r"^a parameter of shape \(2,\) was used one level up"):
        grads[layer.bias]


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_second_derivative_of_a_loop_of_the_level_below_is_rejected(rate: float) -> None:
    @tg.jit
    def gradient(layer: Any, h: Any, w: Any) -> Any:
        lifted = Autodiff().from_inner(w.trace())
        last, _ = scan(lambda h, x: (layer(h * x), None), h.trace(), tg.ones((4,)))
        return (last * lifted).sum().backward(wrt=[h])[h]

    with pytest.raises(TapeError, match=r"^backward of scan: a compiled loop has no second derivative, because its op"):
        gradient(nn.Dropout(rate, rng=0), tg.ones((3,)), tg.ones((3,)))


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM, nn.StackedRNN, nn.StackedGRU, nn.StackedLSTM])
def test_recurrent_layers_run_in_a_loop(kind: Any) -> None:
    # Without a loop, 600 steps would take minutes to compile.
    stacked = kind.__name__.startswith("Stacked")
    layer = kind(2, 3, 2, directions=2, rng=0) if stacked else kind(2, 3, rng=0)

    def gradients(layer: Any, xs: Any) -> Any:
        y, *last = layer(xs.trace())
        grads = (tg.square(y).mean() + sum(one.sum() for one in last)).backward()
        return [y.detach(), grads[xs], *(grads[one] for one in layer.parameters().values())]

    assert_same(gradients, layer, tg.normal((2, 600, 2), rng=1))


def test_a_state_space_model_runs_in_a_loop() -> None:
    def gradients(ssm: Any, xs: Any) -> Any:
        y = ssm(xs.trace())
        grads = tg.square(y).mean().backward()
        return [y.detach(), grads[xs], *(grads[one] for one in ssm.parameters().values())]

    assert_same(gradients, nn.SSM(2, 3, rng=0), tg.normal((2, 600, 2), rng=1))


class Block(nn.Module):
    """A layer with parameters in containers, a shared one, dropout, and a function."""

    def __init__(self, shared: Any, rng: Any, scale: float = 0.5) -> None:
        self.weights = {"first": nn.Param(tg.normal((3, 3), std=0.3, rng=rng)), "shared": shared}
        self.inner = (nn.Linear(3, 3, rng=rng), nn.Dropout(0.0, rng=rng))
        self.scale = scale
        self.activation = tg.tanh

    def forward(self, x: Any, *others: Any) -> Any:
        calls.append(1)
        y = self.inner[1](self.inner[0](x @ self.weights["first"])) * self.weights["shared"]
        return x + self.activation(sum(others, y)) * self.scale


calls: list[int] = []


def test_many_layers_of_one_structure_are_traced_once() -> None:
    shared, rng = nn.Param(tg.normal((3,), rng=1)), np.random.default_rng(0)
    layers = nn.Repeated(lambda: Block(shared, rng), 17)

    def gradients(layers: Any, x: Any, memory: Any) -> Any:
        traced = memory.trace()
        y = layers(x.trace(), traced * 0.1)
        grads = tg.square(y).sum().backward()
        return [y.detach(), grads[x], grads[traced], *(grads[one] for one in layers.parameters().values())]

    calls.clear()
    args = layers, tg.normal((2, 3), rng=2), tg.normal((2, 3), rng=3)
    looped = tg.jit(gradients)(*args)
    assert len(calls) == 1
    for ours, theirs in zip(looped, gradients(*args), strict=True):
        assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, atol=1e-5)


class Gated(nn.Module):
    def __init__(self) -> None:
        self.weight = nn.Param(tg.full((3,), 0.5))

    def forward(self, x: Any, memory: Any, *, mask: Any, scale: float) -> Any:
        calls.append(1)
        return tg.where(mask, x * self.weight + memory * scale, x)


def test_many_layers_take_further_arguments_by_position_and_by_name() -> None:
    layers: Any = nn.Repeated(Gated, 16)

    def gradients(layers: Any, x: Any, memory: Any, mask: Any, scale: float) -> Any:
        traced = memory.trace()
        y = layers(x.trace(), traced, mask=mask, scale=scale)
        grads = y.sum().backward()
        return [y.detach(), grads[x], grads[traced], *(grads[one] for one in layers.parameters().values())]

    mask = tg.tensor(np.array([[True, False, True], [False, True, True]]))
    args = layers, real(2, 3).astype(np.float32), real(2, 3, seed=1).astype(np.float32), mask
    step = jit(gradients)
    for scale in (0.25, 0.75):
        calls.clear()
        looped = step(*args, scale)
        assert len(calls) == (scale == 0.25)
        for ours, theirs in zip(looped, gradients(*args, scale), strict=True):
            assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)


def test_layers_that_differ_are_traced_one_by_one() -> None:
    shared = nn.Param(tg.ones((3,)))
    scales = iter([0.5] * 16 + [0.25])
    layers = nn.Repeated(lambda: Block(shared, 0, next(scales)), 17)
    norms = nn.Repeated(lambda: nn.BatchNorm1d(3), 16)

    calls.clear()
    assert_same(lambda layers, x: [layers(x.trace()).detach()], layers, tg.ones((2, 3)))
    assert len(calls) == 2 * 17
    assert_same(lambda norms, x: [norms(x).detach()], norms, tg.normal((4, 3), rng=0))


def test_errors_in_many_layers_name_the_layer() -> None:
    layers: Any = nn.Repeated(lambda: nn.Linear(3, 4), 16)

    with pytest.raises(
        ShapeError, match=r"^layers\[0\] Linear\(3, 4\): the result is \(2, 4\) but \(2, 3\) is expected"
    ):
        jit(lambda layers, x: layers(x.trace()).detach())(layers, tg.ones((2, 3)))


def test_each_step_draws_its_own_random_numbers() -> None:
    @tg.jit
    def masks(dropout: Any, x: Any, xs: Any) -> Any:
        def step(h: Any, _: Any) -> Any:
            return h, dropout(h)

        _, dropped = scan(step, x.trace(), xs)
        grads = dropped.sum().backward(wrt=[x])
        return dropped.detach(), grads[x], dropout(x.trace()).detach()

    dropout = nn.Dropout(0.5, rng=0)
    dropped, gradient, later = (one.numpy() for one in masks(dropout, tg.ones((200,)), tg.ones((3,))))

    assert_allclose(dropped.sum(0), gradient)
    rows = [*dropped, later, masks(dropout, tg.ones((200,)), tg.ones((3,)))[0].numpy()[0]]
    assert all((rows[at] != rows[other]).any() for at in range(5) for other in range(at))


def test_a_seeded_block_draws_the_same_numbers_as_in_eager_steps() -> None:
    def drawn(xs: Any) -> Any:
        with tg.random(0):
            return [scan(lambda h, _: (h, tg.normal((3,))), tg.zeros(()), xs)[1]]

    assert_same(drawn, tg.ones((4,)))


def test_a_step_must_not_change_a_buffer() -> None:
    norm, xs = nn.BatchNorm1d(3), tg.normal((4, 2, 3), rng=0)
    before = norm.running_mean.numpy(copy=True)

    @tg.jit
    def normalized(norm: Any, xs: Any) -> Any:
        return scan(lambda h, x: (h, norm(x)), tg.zeros(()), xs.trace())[1].detach()

    with pytest.raises(TapeError) as raised:
        normalized(norm, xs)

    assert str(raised.value) == (
        "scan: the step changes norm.running_mean, which a loop under jit does not carry: make it a part of the state"
    )
    assert_allclose(norm.running_mean.numpy(), before)


def test_parameters_without_a_tape_raise_an_error_instead_of_losing_gradients() -> None:
    @tg.jit
    def gradient(w: Any, xs: Any) -> Any:
        last, _ = scan(lambda h, _: (h * w, None), w, xs)
        return (last * xs.trace()).sum().backward(wrt=w)[w]

    with pytest.raises(TapeError, match=r"are lost: a compiled loop computed it without a tape; trace its state"):
        gradient(nn.Param(tg.ones((3,))), tg.ones((3,)))


def test_a_state_computed_from_parameters_has_its_gradient_if_the_step_reads_a_tape() -> None:
    def gradient(w: Any, x: Any) -> Any:
        taped = x.trace()
        last, _ = scan(lambda h, row: (h * row * taped, None), w * 2.0, tg.ones((3,)))
        return last.sum().backward(wrt=w)[w]

    w, x = nn.Param(tg.tensor([1.0, 2.0])), tg.tensor([3.0, 5.0])

    assert_allclose(tg.jit(gradient)(w, x).numpy(), [54.0, 250.0])
    assert_allclose(gradient(w, x).numpy(), [54.0, 250.0])


def test_errors_of_a_step_equal_eager_errors() -> None:
    @tg.jit
    def longer(h: Any, xs: Any) -> Any:
        return scan(lambda h, x: (tg.concat([h, x]), None), h, xs)[0]

    with pytest.raises(ShapeError, match=r"^scan: the new state is \(5,\) but \(3,\) is expected: axis 0 is 5, not 3$"):
        longer(tg.ones((3,)), tg.ones((4, 2)))
