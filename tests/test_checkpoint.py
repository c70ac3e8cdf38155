"""Checkpointing: values are recomputed once each during the backward pass, with equal gradients."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

from tapegrad import random
from tapegrad.autograd.op import op
from tapegrad.checkpoint import BalancedCheckpointing, NoCheckpointing, checkpoint
from tapegrad.engines.numpy.buffers import BUFFERS
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.generator import generator
from tapegrad.nn import Dropout, Linear, Module, Param, ReLU, Sequential
from tapegrad.ops import (
    conv2d,
    exp,
    gelu,
    layer_norm,
    lstm,
    mul,
    normal,
    ones,
    relu,
    rms_norm,
    scaled_dot_product_attention,
    softmax,
    split,
    sqrt,
    stack,
    take,
    tanh,
    tensor,
    transpose,
    where,
    zeros,
)
from tapegrad.ops._lowering import add_channel_bias
from tapegrad.ops._mapped import mapped
from tapegrad.sizes import Dims
from tapegrad.tensors import S, T, Tensor, node
from tapegrad.tensors.operands import split_tape
from tapegrad.testing import check_gradients

BALANCED = BalancedCheckpointing()
STRATEGIES = pytest.mark.parametrize("strategy", [BALANCED, NoCheckpointing()], ids=["balanced", "none"])
runs: dict[str, int] = {}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def same_shape(x: Dims) -> Dims:
    return x


def counted(name: str) -> Any:
    runs[name] = runs.get(name, 0) + 1
    return 0.0


@op(same_shape, memory_bound=True)
def doubled(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
    return mapped(x, lambda x: x * 2 + counted("doubled"), lambda x, y: y / x)


@op(same_shape)
def tripled(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
    return mapped(x, lambda x: x * 3 + counted("tripled"), lambda x, y: y / x)


@pytest.fixture(autouse=True)
def forget_runs() -> None:
    runs.clear()


def equal(x: Any, y: Any) -> bool:
    return bool(np.array_equal(x.numpy(), y.numpy()))


# What runs again, and how often


def test_a_memory_bound_op_runs_once_more_and_any_other_is_saved() -> None:
    x = real(2, 3)
    y = tripled(doubled(x.trace(checkpoint=BALANCED)))

    loss = (y * y * y).sum()
    forwards = dict(runs)
    loss.backward()

    assert forwards == {"doubled": 1, "tripled": 1}
    assert runs == {"doubled": 2, "tripled": 1}


def test_a_value_that_several_closures_read_is_recomputed_once() -> None:
    def read_often(h: Any) -> Any:
        return (tripled(h) * h + exp(h) * tanh(h)).sum()

    loss = read_often(doubled(real(2, 3).trace(checkpoint=BALANCED)))
    loss.backward()

    assert runs == {"doubled": 2, "tripled": 1}


def test_a_value_that_no_gradient_needs_is_not_recomputed() -> None:
    x, y = real(2, 3), real(3, seed=1)
    h = x.trace(checkpoint=BALANCED)

    (doubled(h + 1.0) @ y.trace() - doubled(h).reshape((6,))[:2]).sum().backward(wrt=[y])

    # The gradient of `y` needs the other factor; the gradient of the other is not needed.
    assert runs == {"doubled": 3}


def test_an_operand_that_no_derivative_reads_is_not_recomputed() -> None:
    @op(same_shape, memory_bound=True)
    def moved(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
        x, tape = split_tape(x)
        out = node(x.data + 1 + counted("moved"))
        return tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out)))

    @op(same_shape)
    def exponential(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
        return mapped(x, lambda x: 2.0**x, lambda _, y: y * np.log(2))

    exponential(moved(real(2, 3).trace(checkpoint=BALANCED))).sum().backward()

    assert runs == {"moved": 1}


def test_a_value_that_is_still_referenced_is_not_recomputed() -> None:
    x = real(2, 3)
    h = doubled(x.trace(checkpoint=BALANCED))

    (h * h).sum().backward()

    assert runs == {"doubled": 1}
    assert equal(h, x * 2.0)


def test_a_segment_runs_every_op_once_more() -> None:
    def part(x: Any) -> Any:
        h = tanh(x)
        return tripled(doubled(h)) * h

    checkpoint(part)(real(2, 3).trace()).sum().backward()

    assert runs == {"doubled": 2, "tripled": 2}


@op(same_shape)
def heated(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
    """Save more for its backward pass than operand and result: x squared."""
    x, tape = split_tape(x)
    square = node(x.data * x.data + counted("heated"))
    squares.append(ref(square.data))
    out = node(square.data * x.data)
    return tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out) * square.data * 3.0))


squares: list[ref[Any]] = []


@pytest.mark.parametrize("is_held", [False, True])
def test_captured_arrays_are_recomputed_once_with_the_value(is_held: bool) -> None:  # noqa: FBT001  # a case
    x = real(2, 3)
    squares.clear()
    middle: list[Any] = []

    def part(x: Any) -> Any:
        y = heated(tanh(x))
        middle.append(y if is_held else None)
        return y * y

    loss = checkpoint(part)(x.trace()).sum()
    gone = [square() is None for square in squares]
    gradient = loss.backward()[x]

    assert gone == [True]
    assert runs == {"heated": 2}
    assert [square() for square in squares] == [None, None]
    assert equal(gradient, part(x.trace()).sum().backward()[x])


def test_captured_arrays_are_saved_where_the_value_is() -> None:
    squares.clear()

    (heated(real(2, 3).trace(checkpoint=BALANCED)) * 1.0).sum().backward()

    assert runs == {"heated": 1}


def test_captured_arrays_are_recomputed_after_a_chain_longer_than_the_stack() -> None:
    x = real(3)
    held: list[Any] = []

    def part(h: Any) -> Any:
        for _ in range(3000):
            h = h + 0.001
        held.append(heated(h))
        return held[0] * 1.0

    gradient = checkpoint(part)(x.trace()).sum().backward()[x]

    np.testing.assert_allclose(gradient.numpy(), 3 * (x.numpy() + 3) ** 2)


def test_without_checkpointing_nothing_is_recomputed() -> None:
    doubled(tripled(real(2, 3).trace(checkpoint=NoCheckpointing()))).sum().backward()

    assert runs == {"doubled": 1, "tripled": 1}


def test_a_chain_may_be_longer_than_the_stack() -> None:
    x = real(3)
    h = x.trace(checkpoint=BALANCED)
    for _ in range(3000):
        h = h + 0.001
    h = tripled(h)

    gradient = h.sum().backward()[x]

    np.testing.assert_allclose(gradient.numpy(), 3)


# Gradients


def network(x: Any) -> Any:
    """Touch a bit of everything: broadcasting, views, gathers, norms, parts, masks."""
    w, v = real(5, 5, seed=1), real(5, seed=2)
    h = layer_norm(gelu(x @ w + v), v, v * 0.5) + x
    left, right = split(h, 2)
    h = stack((left * right, relu(left)), axis=1)[:, 0]
    h = take(transpose(h), tensor([4, 0, 0])) * sqrt(exp(h.sum()))
    h = where(h > 0, h, tanh(h) * -2.0)
    return softmax(rms_norm(h, ones((3,), np.float64)[:2].reshape((2,))) / 3.0).max() + h.mean()


@pytest.mark.parametrize("f", [network, checkpoint(network), checkpoint(checkpoint(network))], ids=range(3))
@STRATEGIES
def test_gradients_are_bit_identical(f: Any, strategy: Any) -> None:
    x = real(4, 5)
    expected = network(x.trace())
    y = f(x.trace(checkpoint=strategy))

    assert equal(y.detach(), expected.detach())
    assert equal(y.backward()[x], expected.backward()[x])


def test_segments_can_be_nested() -> None:
    x, w = real(3, 4), Param(real(4, 4, seed=1))

    def layer(h: Any) -> Any:
        return tanh(h @ w) + h

    def three(h: Any, f: Any) -> Any:
        return f(f(f(h)))

    inner: Any = checkpoint(layer)
    nested = checkpoint(lambda h: three(three(h, inner), layer))(x.trace(checkpoint=BALANCED))
    plain = three(three(x.trace(), layer), layer)
    grads, expected = nested.sum().backward(), plain.sum().backward()

    assert equal(grads[x], expected[x])
    assert equal(grads[w], expected[w])


def test_modules_in_a_segment_get_gradients_for_their_parameters() -> None:
    model = Sequential(Linear(5, 7, rng=0), ReLU(), Linear(7, 2, rng=1))
    x = normal((3, 5), rng=2)

    grads = checkpoint(model)(x.trace()).sum().backward()
    expected = model(x.trace()).sum().backward()

    assert len(model.parameters()) == 4
    assert all(equal(grads[parameter], expected[parameter]) for parameter in model.parameters().values())


def test_a_checkpointed_module_is_a_module_that_shares_its_parameters() -> None:
    layer = Linear(5, 7, rng=0)

    twin = checkpoint(layer)
    model = Sequential(twin, ReLU())

    assert isinstance(twin, Linear)
    assert repr(twin) == "Linear(5, 7)"
    assert twin.weight is layer.weight
    assert list(model.parameters()) == ["layers.0.weight", "layers.0.bias"]
    assert type(twin).__name__ == type(checkpoint(twin)).__name__ == "Linear"


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301  # our own
def test_a_copy_of_a_checkpointed_module_has_its_own_parameters(again: Any) -> None:
    layer, x = checkpoint(Linear(5, 7, rng=0)), ones((2, 5))

    twin = again(layer)
    layer.weight.assign(zeros((5, 7)))
    grads = twin(x.trace()).sum().backward()

    assert isinstance(twin, Linear)
    assert twin.weight in grads
    assert layer.weight not in grads
    assert not equal(twin(x), layer(x))


def test_a_random_mask_is_saved_and_not_drawn_again() -> None:
    x = ones((100,))
    model, twin = (Sequential(Linear(100, 100, rng=0), Dropout(0.5, rng=1)) for _ in range(2))

    grads = checkpoint(model)(x.trace()).sum().backward()
    expected = twin(x.trace()).sum().backward()
    kept = Dropout(0.5, rng=5)(x.trace(checkpoint=BALANCED))

    assert equal(grads[x], expected[x])
    assert model.generators()["layers.1.rng"].random() == twin.generators()["layers.1.rng"].random()
    assert equal(kept.sum().backward()[x], kept.detach())


def test_an_op_that_draws_is_saved() -> None:
    @op(same_shape)
    def noisy(x: Tensor[S, T, Any], *, rng: Any = None) -> Tensor[S, T, Any]:
        return mul(x, real(50, seed=int(generator(rng).integers(9))))

    x = ones((50,), np.float64)
    with random(3):
        y = checkpoint(noisy)(x.trace())
    seen = y.detach()

    assert equal(y.sum().backward()[x], seen)


def test_arguments_and_results_may_be_in_tuples_and_dicts() -> None:
    x, y = real(3), real(3, seed=1)

    def apart(pair: Any, *, more: Any) -> Any:
        return {"sum": [tripled(pair[0]) + more["y"]], "name": "n", "product": (pair[0] * more["y"],)}

    def together(f: Any) -> Any:
        parts = f((x.trace(), None), more={"y": y})
        assert parts["name"] == "n"
        return (parts["sum"][0] * parts["product"][0]).sum()

    assert equal(together(checkpoint(apart)).backward()[x], together(apart).backward()[x])


def test_a_segment_without_a_tape_is_the_function_itself() -> None:
    y = checkpoint(doubled)(real(3))

    assert not y.owns_tape
    assert runs == {"doubled": 1}


def test_a_segment_merges_only_the_tapes_that_its_function_merges() -> None:
    x, y = real(3).trace(checkpoint=BALANCED), real(5, seed=1).trace()

    with pytest.raises(ShapeError):
        checkpoint(lambda x, y: exp(x) + exp(y))(x, y)
    first, second = checkpoint(lambda x, y: (exp(x), tanh(y)))(x, y)

    assert x.tape.tape is not y.tape.tape
    assert x.tape.checkpoint is BALANCED
    assert y.tape.checkpoint is None
    assert x in first.sum().backward()
    assert y in second.sum().backward()


def test_tapes_merged_in_a_segment_keep_the_stronger_strategy() -> None:
    for function in (lambda x, y: exp(x) + exp(y), lambda x, y: exp(exp(y)) + x):
        x, y = real(3).trace(checkpoint=BALANCED), real(3, seed=1).trace()

        out = checkpoint(function)(x, y)

        assert out.tape.checkpoint is x.tape.checkpoint is y.tape.checkpoint is BALANCED
        out.sum().backward()


def test_a_segment_that_raises_leaves_its_tape_unchanged() -> None:
    def broken(x: Any) -> Any:
        return doubled(x) @ ones((7,), np.float64)

    a = real(3).trace()

    with pytest.raises(ValueError, match="matmul: inner sizes differ"):
        checkpoint(broken)(a)
    (doubled(a) * 2.0).sum().backward()

    assert runs == {"doubled": 2}


def test_a_tape_merged_with_a_checkpointing_tape_is_checkpointed() -> None:
    x, y = real(3), real(3, seed=1)

    for strategy in (None, NoCheckpointing()):
        for first, second in ((strategy, BALANCED), (BALANCED, strategy)):
            doubled(x.trace(checkpoint=first) * y.trace(checkpoint=second)).sum().backward()

    assert runs == {"doubled": 8}  # its own derivative reads its result


def test_gradients_of_gradients() -> None:
    check_gradients(checkpoint(network), real(4, 5), order=2)


def test_a_bias_is_added_again_and_a_convolution_is_saved() -> None:
    x, w, b = real(2, 3, 7, 8), real(4, 3, 3, 2, seed=1), real(4, seed=2)

    def image(f: Any, strategy: Any) -> Any:
        return f(lambda x: tanh(add_channel_bias(conv2d(x, w, stride=2), b, 2)))(x.trace(checkpoint=strategy))

    balanced, segment = image(lambda f: f, BALANCED), image(checkpoint, None)
    plain = image(lambda f: f, None)

    assert [out.is_saved for _, out, *_ in balanced.tape.tape.entries] == [True, False, False]
    assert [out.is_saved for _, out, *_ in segment.tape.tape.entries] == [False, False, True]
    expected = plain.sum().backward()[x]
    assert equal(balanced.sum().backward()[x], expected)
    assert equal(segment.sum().backward()[x], expected)


def test_the_graph_of_the_tape_names_the_ops() -> None:
    y = exp(doubled(real(2, 3).trace(checkpoint=BALANCED)))

    assert repr(y.tape.tape) == "GradientTape(2 ops: doubled (2, 3), exp (2, 3))"


def test_a_tensor_without_entries_is_unchanged() -> None:
    @op(same_shape, memory_bound=True)
    def same(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
        return x

    x = real(2, 3)
    a = x.trace(checkpoint=BALANCED)

    assert same(a) is a
    assert equal(same(a * 2.0).sum().backward()[x], ones((2, 3), np.float64) * 2.0)


# What is left


def test_nothing_is_left_over_after_backward() -> None:
    x = real(2, 3)
    a = x.trace(checkpoint=BALANCED)
    node, tape = split_tape(doubled(a))
    h = node.put_tape(tape)
    middle = tripled(h)
    saved = ref(middle.node.data)
    probability = doubled(middle)  # hangs on the tape, and is on no way to the loss
    loss = (middle * h).sum()
    del middle, h

    grads = loss.backward(wrt=[x, node])
    del loss
    gc.collect()

    assert saved() is None
    assert len(grads) == 2
    assert grads[node].shape == (2, 3)
    assert probability.node.shape == (2, 3)
    with pytest.raises(TapeError, match=r"^the value of a tensor of shape \(2, 3\) was released after its step of "):
        node.numpy()


@pytest.mark.parametrize("steps", [0, 5], ids=["into its tape", "into the other tape"])
def test_recomputed_values_are_released_after_a_merge(steps: int) -> None:
    x, other = real(2, 3), real(3, 2, seed=1).trace()
    node, tape = split_tape(doubled(x.trace(checkpoint=BALANCED)))
    for _ in range(steps):  # the tape with fewer ops is merged into the other
        other = tripled(other)

    grads = (node.put_tape(tape) @ other).sum().backward()  # neither is memory-bound

    np.testing.assert_allclose(grads[x].numpy(), 2 * np.ones((2, 2)) @ other.numpy().T)
    with pytest.raises(TapeError, match=r"^the value of a tensor of shape \(2, 3\) was released after its step of "):
        node.numpy()


def test_a_forward_pass_without_backward_leaves_nothing() -> None:
    x = real(2, 3)
    gc.disable()
    try:
        loss = checkpoint(lambda x: tripled(doubled(x)) + x)(x.trace(checkpoint=BALANCED))
        tape = ref(loss.node)
        del loss

        assert tape() is None
    finally:
        gc.enable()


def test_a_released_node_has_its_shape_and_recomputes_its_value() -> None:
    x = real(2, 3)
    node, _ = split_tape(doubled(x.trace(checkpoint=BALANCED)))

    assert node.shape == (2, 3)
    assert (node.dtype, node.ndim, node.size, node.is_float) == (np.dtype(np.float64), 2, 6, True)
    assert runs == {"doubled": 1}
    assert equal(node, x * 2.0)
    assert runs == {"doubled": 2}
    assert equal(copy.deepcopy(node), node)
    assert not hasattr(node, "nonsense")


def test_an_operand_that_may_change_is_saved() -> None:
    x, factor = real(3), np.array([1.0, 2.0, 3.0])
    h = x.trace(checkpoint=BALANCED) * factor
    loss = (h * h).sum()
    del h

    factor[:] = 0

    np.testing.assert_allclose(loss.backward()[x].numpy(), 2 * x.numpy() * np.array([1.0, 4.0, 9.0]))


def test_a_value_is_not_recomputed_from_a_changed_parameter() -> None:
    w = Param(real(3))
    node, tape = split_tape(real(3, seed=1).trace(checkpoint=BALANCED) * w)

    w.assign(zeros((3,), np.float64))

    with pytest.raises(
        TapeError, match=r"^the value of a tensor of shape \(3,\) cannot be computed again: a parameter"
    ):
        node.numpy()
    with pytest.raises(TapeError, match=r"^a parameter of shape \(3,\) was assigned after the forward pass used it"):
        tape.tape.execute()


def test_warnings_of_a_forward_pass_are_given_once() -> None:
    x = tensor([1000.0], np.float64)

    def overflowing(x: Any) -> Any:
        return exp(x * 1.0).reshape((1, 1)) * 1.0

    with np.errstate(over="ignore"):
        y = stack([overflowing(x.trace(checkpoint=BALANCED))] * 2)

    with np.errstate(over="raise"):
        gradient = y.sum().backward()[x]

    assert gradient.item() == np.inf


# Memory


@pytest.mark.parametrize("f", ["attention", "lstm"])
def test_a_segment_saves_only_its_inputs_and_outputs(f: str) -> None:
    x, zero = normal((256, 16, 8), rng=0), zeros((256, 8))
    weight, bias = normal((8, 32), rng=1), zeros((32,))
    parts: dict[str, Any] = {
        "attention": lambda x: scaled_dot_product_attention(x, x, x),
        "lstm": lambda x: lstm(x, zero, zero, weight, weight, bias, bias)[0],
    }
    part = parts[f]

    def held(f: Any) -> int:
        f(x.trace())  # what is made at a first call only
        gc.collect()
        BUFFERS.clear()
        tracemalloc.start()
        try:
            y = f(x.trace())
            BUFFERS.clear()  # otherwise unreferenced buffers stay allocated
            return tracemalloc.get_traced_memory()[0] - int(y.numpy().nbytes)
        finally:
            tracemalloc.stop()

    without, within = held(part), held(checkpoint(part))

    assert without > 0.9 * 4 * x.size
    assert within < 0.4 * 4 * x.size, f"{within} of {without}"
    one, other = part(x.trace()).sum().backward()[x], checkpoint(part)(x.trace()).sum().backward()[x]
    assert equal(one, other)


class Block(Module):
    """A transformer's block of one head, before-norm."""

    def __init__(self, width: int, seed: int) -> None:
        def weight(n: int, m: int) -> Any:
            return Param(normal((n, m), rng=seed) * (n**-0.5))

        self.scale, self.shift = Param(ones((width,))), Param(zeros((width,)))
        self.queries, self.keys, self.values = (weight(width, width) for _ in range(3))
        self.up, self.down = weight(width, 4 * width), weight(4 * width, width)
        self.bias = Param(zeros((4 * width,)))

    def forward(self, x: Any) -> Any:
        h = layer_norm(x, self.scale, self.shift)
        scores = (h @ self.queries) @ transpose(h @ self.keys) * (x.shape[-1] ** -0.5)
        x = x + softmax(scores) @ (h @ self.values)
        h = layer_norm(x, self.scale, self.shift)
        return x + gelu(h @ self.up + self.bias) @ self.down


def peak(f: Any) -> int:
    """Return the bytes that a call needs at once, the second time: the first may load kernels."""
    f()
    gc.collect()
    BUFFERS.clear()
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def stack_step(strategy: Any) -> Any:
    """Return the gradients of a stack of blocks."""
    h = ROWS.trace(checkpoint=strategy)
    for block in BLOCKS:
        h = block(h)
    return h.sum().backward()


BLOCKS, ROWS = [Block(64, seed) for seed in range(12)], normal((256, 64), rng=0)


def test_a_deep_stack_needs_at_most_three_fifths_under_the_balanced_strategy() -> None:
    # In a process of its own: what other tests hold once lowered the peak of the plain step by a fiftieth.
    program = """
from tests.test_checkpoint import BalancedCheckpointing, NoCheckpointing, peak, stack_step
print(*(peak(lambda: stack_step(strategy())) for strategy in (NoCheckpointing, BalancedCheckpointing)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True
    )
    none, balanced = map(int, run.stdout.split())

    assert balanced <= 0.6 * none, f"{balanced / none:.2f}"
    first, second = stack_step(NoCheckpointing()), stack_step(BalancedCheckpointing())
    assert len(first) == 1 + 12 * 8
    assert all(equal(first[parameter], second[parameter]) for parameter in first)


def test_segments_of_root_n_layers_need_memory_like_root_n() -> None:
    w = normal((16, 16), rng=1)
    x = normal((4096, 16), rng=0)

    def step(depth: int, length: int) -> None:
        def part(h: Any) -> Any:
            for _ in range(length):
                h = layer_norm(tanh(h @ w), w[0], w[1])
            return h

        h = x.trace()
        for _ in range(depth // length):
            h = checkpoint(part)(h)
        h.sum().backward()

    shallow, deep = peak(lambda: step(16, 4)), peak(lambda: step(144, 12))

    assert deep <= 3.3 * shallow, f"{deep / shallow:.2f}"  # √(144 / 16) is 3


def test_non_callables_are_rejected() -> None:
    segment: Any = 3
    with pytest.raises(DTypeError, match=r"^checkpoint: f is an int, neither a function nor a module$"):
        checkpoint(segment)
