"""Results computed from parameters without a tape: their gradients reach the parameters, or a TapeError is raised."""

from __future__ import annotations

import copy
import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from threading import Thread
from typing import Any
from weakref import ref

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.autodiff import Autodiff
from tapegrad.autograd import parameter_tape
from tapegrad.checkpoint import BalancedCheckpointing, checkpoint
from tapegrad.errors import TapeError
from tapegrad.fused import fused
from tapegrad.tensors.nodes import Frozen
from tapegrad.tensors.operands import fixed as constant
from tests.collector import no_collector
from tests.oracle.calls import CALLS, converted, direction, replaced


def real(*shape: int, seed: int = 0) -> Any:
    return tg.normal(shape, dtype=np.float64, rng=seed)


def parameter(*shape: int, seed: int = 1, frozen: bool = False) -> Any:
    return nn.Param(real(*shape, seed=seed), frozen=frozen)


IDS: Any = tg.tensor([[0, 2], [1, 1]])


@fused
def gate(x: Any, y: Any) -> Any:
    return tg.tanh(x) * tg.sigmoid(y) + x


@checkpoint
def segment(x: Any, w: Any) -> Any:
    return tg.tanh(x @ w) @ tg.exp(w.T * 0.1)


def two_parts(x: Any, v: Any) -> Any:
    return tg.square(x @ v).sum() + (tg.tanh(v) * v).sum()


def at_two_places(x: Any, v: Any) -> Any:
    return tg.square(tg.tanh(x @ v) @ v.T).sum()


# Each gives a scalar from x (2, 3) and w (3, 5).
PROGRAMS: dict[str, Any] = {
    "a penalty": lambda x, w: (x @ w).sum() + 0.5 * (w * w).sum(),
    "a penalty on the left": lambda x, w: (w * w).sum() + (x @ w).sum(),
    "tied weights": lambda x, w: tg.square(x @ w @ w.T).sum(),
    "rows by integers": lambda x, w: (tg.take(w, IDS) * (x @ w)).sum(),
    "a position": lambda x, w: tg.square(x + w.T[:2]).sum(),
    "a class token": lambda x, w: tg.square(
        tg.concat([tg.broadcast_to(tg.expand_dims(w[:, 0], 0), (2, 3)), x], 1)
    ).sum(),
    "a composed op": lambda x, w: tg.square(x @ tg.softmax(w)).sum(),
    "two parts of one chain": lambda x, w: two_parts(x, tg.exp(w * 0.3)),
    "at two places": lambda x, w: at_two_places(x, w * 2.0),
    "frozen and trained": lambda x, w: tg.square(x @ (parameter(5, 3, frozen=True, seed=4).T * 2.0 + w)).sum(),
    "quantized and trained": lambda x, w: tg.square(
        x @ (tg.dequantize(tg.quantize(real(3, 5, seed=6), tg.Symmetric())) + w)
    ).sum(),
    "a buffer": lambda x, w: tg.square(x @ (w * nn.Buffer(tg.tril(tg.ones((3, 5), np.float64))))).sum(),
    "an array": lambda x, w: tg.square(x @ (w * np.tri(3, 5))).sum(),
    "an array of one number": lambda x, w: tg.square(x @ (w * np.float64(0.5))).sum(),
    "put on a tape": lambda x, w: tg.square(x @ (w * w).put_tape(x.tape)).sum(),
    "traced": lambda x, w: ((w * 2.0).retaped(type(x.tape)).sum() * x.sum()),
    "scattered": lambda x, w: tg.square(tg.at_add(x, (0, slice(None)), tg.tanh(w[:, 1]))).sum(),
    "a number of a chain": lambda x, w: tg.square(x * tg.norm(w)).sum(),
    "several results": lambda x, w: sum(tg.square(x + part.sum()).sum() for part in tg.split(tg.exp(w), 5, 1)),
    "a fused function": lambda x, w: gate(x, w.T[:2]).sum() + gate(w, w * 0.5).sum(),
    "a segment": lambda x, w: tg.square(segment(x, w * 0.5)).sum(),
    "attention": lambda x, w: tg.scaled_dot_product_attention(
        tg.expand_dims(x, 0), tg.expand_dims(w.T, 0), tg.expand_dims(tg.sin(w.T), 0)
    ).sum(),
    "a recurrent cell": lambda x, w: tg.rnn_cell(
        x, x, (w @ w.T) * 0.1, tg.tanh(w[:, :3]), w[:, 4] * 2.0, w[:, 3] + 1.0
    ).sum(),
    "a norm": lambda x, w: (tg.layer_norm(x, tg.exp(w[:, 0]), w[:, 1] * 2.0) * real(2, 3, seed=7)).sum(),
}  # fmt: skip


def differences(program: Any, x: Any, w: Any) -> Any:
    expected = np.zeros(w.shape)
    for index in np.ndindex(*w.shape):
        step = np.zeros(w.shape)
        step[index] = 1e-6
        high, low = (program(x, nn.Param(tg.tensor(w.numpy() + by, np.float64))).item() for by in (step, -step))
        expected[index] = (high - low) / 2e-6
    return expected


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("strategy", [None, BalancedCheckpointing()], ids=["saved", "balanced"])
def test_gradients_reach_the_parameters(program: Any, strategy: Any) -> None:
    x, w = real(2, 3), parameter(3, 5)

    plain = program(x, w)
    loss = program(x.trace(checkpoint=strategy), w)
    retained, grads = loss.backward(retain_tape=True), loss.backward()

    assert not plain.owns_tape
    assert plain.item() == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(grads[w].numpy(), differences(program, x, w), rtol=1e-6, atol=1e-7)
    assert retained[w].tolist() == grads[w].tolist()


def test_every_op_passes_a_gradient_on_to_the_parameters_of_an_operand() -> None:
    """An op that took the node without its tape would lose the gradient without an error."""
    missing: list[str] = []
    for name in sorted({*CALLS} - {"bitwise_count"}):  # its calls are of integers
        for one in CALLS[name][:3]:
            line = converted(one, np.float64, np.zeros_like)
            with np.errstate(all="ignore"):
                missing += [f"{name}{line}, operand {at}: {why}" for at, why in losses_of(getattr(tg, name), line)]

    assert missing == []


def losses_of(op: Any, line: Any) -> Iterator[tuple[int, str]]:
    """Yield the float operands whose gradient does not reach a parameter that they were computed from."""
    expected = gradients(op, line, None)
    for at in expected:
        found = gradients(op, line, at)
        if at not in found:
            yield at, "no gradient"
        elif not np.allclose(found[at], expected[at], rtol=1e-9, atol=1e-12, equal_nan=True):
            yield at, "another gradient"


def gradients(op: Any, line: Any, derived: int | None) -> dict[int, Any]:
    """Return the gradient of each float operand; the one at a position is computed from a parameter."""
    leaves: list[Any] = []

    def made(array: Any) -> Any:
        if array.dtype.kind != "f":
            return constant(array)
        x = tg.node(array)
        leaves.append(nn.Param(x) if len(leaves) == derived else x)
        return leaves[-1] * 1.0 if isinstance(leaves[-1], nn.Param) else x.trace()

    result = op(*replaced(line.args, made), **replaced(line.options, made))
    several = [y for y in (result if isinstance(result, tuple | list) else [result]) if y.tape.holds]
    if not several:
        return {}
    taped = [y if y.owns_tape else y.trace() for y in several]
    total: Any = sum((y * direction(np.zeros(y.shape, y.dtype))).sum() for y in taped)
    grads = total.backward(wrt=leaves)
    return {at: grads[x].numpy() for at, x in enumerate(leaves) if x in grads}


LEVEL: Any = Autodiff()


def penalty(x: Any, w: Any) -> Any:
    inner = LEVEL.from_inner(x)
    loss = tg.tanh(inner.trace() @ w).sum()
    return tg.square(LEVEL.inner(loss.backward()[inner])).sum()


def penalty_two_levels_up(x: Any, w: Any) -> Any:
    inner = LEVEL.from_inner(x)
    return LEVEL.inner(penalty(inner.trace(), w).backward()[inner]).sum()


# Each uses w (3, 5) one level above the tape of x (2, 3), where it is a constant.
ONE_LEVEL_UP: dict[str, Any] = {
    "in a gradient": penalty,
    "in a gradient, and below": lambda x, w: penalty(x, w) + (w * w).sum(),  # a part of the gradient would be missing
    "two levels up": penalty_two_levels_up,
    "without a tape": lambda x, w: LEVEL.inner(tg.tanh(LEVEL.from_inner(x) @ w).sum()),
    "with a tape that does not run back": lambda x, w: LEVEL.inner(tg.tanh(LEVEL.from_inner(x).trace() @ w).sum()),
    "through a result": lambda x, w: LEVEL.inner((LEVEL.from_inner(x) @ (w * 2.0)).sum()),
    "in two tapes": lambda x, w: (penalty(x, w) + real(1).trace().sum()) * (w * w).sum(),
}


def test_data_of_one_axis_keep_an_op_on_a_parameter_from_being_recorded() -> None:
    weight = nn.Param(tg.tensor([3.0, 5.0]))

    assert not (weight * tg.tensor([1.0, 2.0])).tape.holds
    assert (weight * tg.tensor(2.0)).tape.holds


@pytest.mark.parametrize("program", ONE_LEVEL_UP.values(), ids=ONE_LEVEL_UP)
def test_the_gradient_of_a_parameter_that_a_level_above_took_as_a_constant_is_rejected(program: Any) -> None:
    x, w, other = real(2, 3), parameter(3, 5), parameter(2)
    level_up = (
        "of shape \\(3, 5\\) was used one level up, where it is a constant; give that level Autodiff.from_inner of it"
    )

    loss = program(x.trace(), w) + other.sum()
    grads = loss.backward(retain_tape=True)

    for look_up in (grads.__getitem__, grads.get, grads.remove, grads.ref, grads.clip_norm(1.0).__getitem__):
        with pytest.raises(TapeError, match=f"^a parameter {level_up}$"):
            look_up(w)
    with pytest.raises(TapeError, match=f"^backward: a parameter {level_up}$"):
        loss.backward(wrt=[w], retain_tape=True)
    with pytest.raises(TapeError, match=rf"^SGD.step: \[1\] {level_up}$"):
        optim.SGD([other, w], lr=0.1).step(grads, allow_unused=True)
    with pytest.raises(TapeError, match=rf"^SGD.step: \[1\] {level_up}$"):
        optim.LossScaler().step(optim.SGD([other, w], lr=0.1), grads)
    optim.SGD([other], lr=0.1).step(grads)
    assert w not in grads
    assert program(x.trace(), w).backward(wrt=[x])[x].shape == (2, 3)


def test_a_float32_parameter_that_a_level_above_took_as_a_constant_is_rejected() -> None:
    x, w = tg.normal((2, 3), rng=0), nn.Param(tg.normal((3, 5), rng=1))

    grads = (ONE_LEVEL_UP["without a tape"](x.trace(), w).sum() + (w * w).sum()).backward()

    with pytest.raises(TapeError, match="one level up"):
        grads[w]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_parameter_beside_an_operand_of_a_level_above_is_rejected(dtype: Any) -> None:
    x, w = tg.normal((2, 3), dtype=dtype, rng=0), nn.Param(tg.normal((3, 5), dtype=dtype, rng=1))
    bias = LEVEL.from_inner(tg.normal((5,), dtype=dtype, rng=2).trace())

    grads = (LEVEL.inner(tg.square(tg.linear(x, w, bias)).sum()) + (w * w).sum()).backward()

    with pytest.raises(TapeError, match="one level up"):
        grads[w]


def test_each_of_several_parameters_that_a_level_above_took_as_constants_is_rejected() -> None:
    x, w, v = real(2, 3), parameter(3, 5), parameter(3, 5, seed=2)
    taped = x.trace()

    grads = (penalty(taped, w) + penalty(taped, v)).backward()

    for one in (w, v):
        with pytest.raises(TapeError, match="one level up"):
            grads[one]


def test_executing_a_tape_keeps_the_constants_of_a_level_above() -> None:
    x, w = real(2, 3), parameter(3, 5)
    for product in (x.trace() * 2.0, x.trace() @ w):
        grads = penalty(x.trace(), w).backward()
        grads.add(product, np.ones(product.shape))

        product.tape.tape.execute(grads)

        with pytest.raises(TapeError, match="one level up"):
            grads[w]


def test_gradients_collected_over_several_backward_passes_lack_a_constant_of_a_level_above() -> None:
    x, w, grads = real(2, 3), parameter(3, 5), tg.Gradients()

    penalty(x.trace(grads=grads), w).backward()

    with pytest.raises(TapeError, match="one level up"):
        (x.trace(grads=grads) @ w).sum().backward()[w]


def test_a_lifted_or_frozen_parameter_is_no_constant_by_mistake() -> None:
    x, w = real(2, 3), parameter(3, 5)

    lifted = penalty(x.trace(), LEVEL.from_inner(w)).backward()
    frozen = penalty(x.trace(), parameter(3, 5, frozen=True)).backward()

    np.testing.assert_allclose(
        lifted[w].numpy(), differences(lambda x, w: penalty(x.trace(), LEVEL.from_inner(w)), x, w), rtol=1e-6
    )
    assert frozen.constants == frozenset()


def test_second_derivatives_reach_the_parameters() -> None:
    x, w = real(2, 3), parameter(3, 5)
    level = Autodiff()

    def outer(x: Any, w: Any) -> Any:
        """Return the squared norm of the gradient of a loss by `x`."""
        inner = level.from_inner(x)
        loss = tg.tanh(inner.trace() @ level.from_inner(tg.exp(w * 0.3))).sum()
        return tg.square(level.inner(loss.backward()[inner])).sum()

    grads = outer(x.trace(), w).backward()

    np.testing.assert_allclose(grads[w].numpy(), differences(outer, x, w), rtol=1e-6)


# Each passes a gradient through a product of a parameter and numbers that have no tape, such as the seed of backward.
SECOND_ORDER: dict[str, Any] = {
    **{name: one for name, one in PROGRAMS.items() if name not in ("put on a tape", "traced")},  # tapes of one level
    "two layers": lambda x, w: (tg.tanh(x @ w) @ w.T).sum(),
    "a mask": lambda x, w: tg.square(x @ (w * tg.tril(tg.ones((3, 5), np.float64))) + x @ w).sum(),
    "weights of a loss": lambda x, w: ((tg.tanh(x @ w) * real(2, 5, seed=8)) @ w.T).sum(),
}


@pytest.mark.parametrize("program", SECOND_ORDER.values(), ids=SECOND_ORDER)
def test_second_derivatives_reach_a_lifted_parameter_by_every_path(program: Any) -> None:
    x, w = real(2, 3), parameter(3, 5)

    def squared_gradient(x: Any, w: Any) -> Any:
        inner = LEVEL.from_inner(x)
        grads = program(inner.trace(), LEVEL.from_inner(w)).backward(wrt=[inner])
        return tg.square(LEVEL.inner(grads[inner])).sum() + (w * w).sum()

    grads = squared_gradient(x.trace(), w).backward()

    np.testing.assert_allclose(grads[w].numpy(), differences(squared_gradient, x, w), rtol=1e-5, atol=1e-6)


def test_a_step_of_gradient_descent_is_differentiated_by_its_start() -> None:
    x, w = real(2, 3), parameter(3, 5)

    def loss_after_a_step(x: Any, w: Any) -> Any:
        start = LEVEL.from_inner(w)
        grads = tg.square(tg.tanh(real(4, 3, seed=5) @ start.trace())).sum().backward(wrt=[start])
        return tg.square(x @ (w - 0.1 * LEVEL.inner(grads[start]))).sum()

    grads = loss_after_a_step(x.trace(), w).backward()

    np.testing.assert_allclose(grads[w].numpy(), differences(loss_after_a_step, x, w), rtol=1e-5, atol=1e-6)


def test_autodiff_passes_on_results_computed_from_a_parameter() -> None:
    x, w = real(3, 5), parameter(3, 5)
    level = Autodiff()

    scaled = level.inner(level.from_inner(w) * 0.3)

    assert (x.trace() * scaled).sum().backward()[w].tolist() == pytest.approx(x.numpy() * 0.3)


def test_the_hessian_of_a_penalty() -> None:
    w = parameter(2, 2)

    found = tg.hvp(lambda v: (tg.square(v @ w.T)).sum(), real(3, 2), real(3, 2, seed=9))

    np.testing.assert_allclose(found.numpy(), 2 * real(3, 2, seed=9).numpy() @ w.numpy().T @ w.numpy(), rtol=1e-9)


# What is recorded, and when it is freed


def test_a_result_computed_from_parameters_has_no_tape() -> None:
    w = parameter(3, 5)
    v = w.T * 2.0

    assert repr(v).startswith("Tensor(")
    assert repr(v).endswith("no tape)")
    assert isinstance(v.tape, tg.NoneTape)
    assert (v.owns_tape, v.is_training) == (False, False)
    with pytest.raises(TapeError, match=r"^backward: the tensor has no tape; trace an input first$"):
        v.sum().backward()
    assert v.with_empty_tape() is v
    assert np.asarray(v).shape == (5, 3)


def test_results_computed_from_data_or_by_a_comparison_are_not_recorded() -> None:
    x, w = real(2, 3), parameter(3, 5)

    for plain in (x @ w, w * real(3, 5), (w > 0.0), w.argmax(), w.T.detach(), tg.astype(w, np.int64), tg.sign(w)):
        assert plain.tape is tg.autograd.tape.NONE


def test_an_op_on_integers_and_a_parameter_is_recorded() -> None:
    y, w = real(3, 5), parameter(3, 5)

    def rows(ids: Any, table: Any) -> Any:
        ids, table, tape = tg.split_tape(ids, table)
        indices: Any = ids.data
        out = tg.node(table.numpy()[indices])

        def backward(grads: Any) -> None:
            dx = np.zeros(table.shape)
            np.add.at(dx, indices, grads.pop_output(out))
            grads.add(table, dx)

        return tape.record(out, (ids, table), backward)

    grads = (rows(tg.tensor([2, 0, 2]), w) * y.trace()).sum().backward()

    assert grads[w].tolist() == [y.tolist()[1], [0.0] * 5, (y[0] + y[2]).tolist()]


def test_frozen_parameters_record_nothing_and_do_not_count_as_data() -> None:
    frozen = parameter(3, 5, frozen=True)

    v = tg.exp(frozen * 2.0).T

    assert type(v) is Frozen
    assert v.tape is tg.autograd.tape.NONE
    assert (real(2, 5).trace() @ v).sum().backward(wrt=[]).norm() == 0


def test_the_ops_of_a_chain_join_a_tape_once() -> None:
    w = parameter(3, 3)
    v = tg.tanh(w)
    h = real(2, 3).trace()

    for _ in range(4):
        h = h @ v

    assert (
        repr(h.tape.tape)
        == "GradientTape(5 ops: tanh (3, 3), matmul (2, 3), matmul (2, 3), matmul (2, 3), matmul (2, 3))"
    )
    other = real(2, 3).trace() @ v
    grads = (h * other).sum().backward()
    np.testing.assert_allclose(
        grads[w].numpy(),
        differences(lambda _, w: powers(w), None, w),
        rtol=1e-6,
    )


def test_no_op_of_a_chain_joins_a_tape_twice() -> None:
    w, x = parameter(3, 3), real(2, 3)
    v = tg.tanh(w * 2.0)

    h = x.trace() @ v @ v
    merged = h + x.trace()  # another tape, which has not met the chain
    y = merged @ v

    assert len(y.tape.tape) == 6  # mul, tanh, add and three times matmul
    assert y.sum().backward(wrt=[w])[w].shape == (3, 3)


def powers(w: Any) -> Any:
    v, x = tg.tanh(w), real(2, 3)
    return (x @ v @ v @ v @ v * (x @ v)).sum()


def test_a_comparison_and_a_rejected_op_move_no_ops_to_a_tape() -> None:
    x, w = real(2, 3).trace(), parameter(3, 5)

    assert (x.sum() > (w * w).sum()).shape == ()
    with pytest.raises(tg.ShapeError):
        x @ (w.T * 2.0)

    assert len(x.tape.tape) == 1


def test_a_result_on_a_consumed_tape_is_rejected_by_its_next_op() -> None:
    x, w = real(3, 5).trace(), parameter(3, 5)
    x.sum().backward()

    for one in (real(3, 5), w * 2.0):
        taped = one.put_tape(x.tape)

        with pytest.raises(TapeError, match=r"^exp: the tape was consumed by backward at test_parameter_tape\.py:"):
            tg.exp(taped)


def test_a_chain_can_join_one_tape_after_another() -> None:
    w = parameter(3, 5)
    v = tg.exp(w)

    first, second = ((real(2, 3, seed=seed).trace() @ v).sum().backward()[w].numpy() for seed in (2, 2))

    assert first.tolist() == second.tolist()


def test_a_dropped_result_is_freed_at_once() -> None:
    x, w = real(2, 90), parameter(80, 90)

    def forwards() -> None:
        for _ in range(30):
            (x.trace() @ tg.exp(w.T)).sum() + (w * w).sum()
            tg.softmax(w @ w.T)

    with no_collector():
        tracemalloc.start()
        forwards()
        forwards()
        before = tracemalloc.get_traced_memory()[0]
        forwards()
        allocated = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert gc.collect() == 0

    assert allocated < w.nbytes


def test_a_result_that_no_closure_reads_is_freed_with_its_tensor() -> None:
    x, w = real(2, 30), parameter(20, 30)
    v = w + 1.0
    held = ref(v.data)
    u = (v + 2.0).T

    with no_collector():
        del v

        assert held() is None
    np.testing.assert_allclose((x.trace() @ u).sum().backward()[w].numpy(), np.ones((20, 2)) @ x.numpy())


# Changes between the ops and the meeting


def test_a_parameter_assigned_before_its_results_join_a_tape_is_detected() -> None:
    x, w = real(2, 3), parameter(3, 5)
    v = w * 2.0
    h = x.trace() @ w  # the tape has seen the version before the assignment, too
    w.assign(w.detach())

    for loss in ((x.trace() @ v).sum(), (h + x.trace() @ v).sum()):
        message = r"^a parameter of shape \(3, 5\) was assigned after the forward pass .* version 0 was .* version 1 is"
        with pytest.raises(TapeError, match=message):
            loss.backward()
    with pytest.raises(TapeError, match="version 0 was recorded, version 1 is there"):
        (x.trace() @ w + x.trace() @ v).sum().backward()


def test_a_parameter_frozen_before_backward_gets_no_gradient() -> None:
    x, w = real(2, 3), parameter(3, 5)
    loss = (x.trace() @ (w * 2.0)).sum()

    w.frozen = True

    assert w not in loss.backward()


def test_training_with_every_kind_of_use_reduces_the_loss() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.word = nn.Embedding(7, 6, rng=0)
            self.place = nn.Param(tg.normal((5, 6), rng=1))
            self.token = nn.Param(tg.normal((6,), rng=2))

        def forward(self, ids: Any) -> Any:
            h = self.word(ids) + self.place[: ids.shape[1]]
            token = tg.broadcast_to(self.token, (ids.shape[0], 1, 6))
            h = tg.concat([token, h], 1)
            return tg.tanh(h)[:, 1:] @ self.word.weight.T

    model, ids = Model(), tg.tensor(np.random.default_rng(0).integers(0, 7, (8, 5)))
    opt = optim.Adam(model, lr=0.05)
    losses = []
    for _ in range(30):
        loss = (
            tg.cross_entropy(model(ids.trace()), ids)
            + 1e-3 * (model.place * model.place).sum()
            + model.token.sum() ** 2
        )
        losses.append(loss.item())
        opt.step(loss.backward(wrt=model))

    assert losses[-1] < 0.3 * losses[0]


def test_embedding_untraced_integers_trains_the_table() -> None:
    word, segment_of = nn.Embedding(7, 6, rng=0), nn.Embedding(2, 6, rng=1)
    ids, segments = tg.tensor([[1, 2, 1]]), tg.tensor([[0, 1, 1]])

    grads = (word(ids.trace()) + segment_of(segments)).sum().backward()

    assert grads[segment_of.weight].tolist() == [[1.0] * 6, [2.0] * 6]


# What is lost


LOST = r"^(add|matmul|mul|put_tape): the ops that computed a tensor \(3, 5\) from parameters are lost: "
REMEDY = "; compute it from a traced tensor, or detach it$"


def chained(w: Any, count: int) -> Any:
    v = w * 1.0
    for _ in range(count - 1):
        v = v * 1.0
    return v


def test_a_chain_of_too_many_ops_is_an_error() -> None:
    x, w = real(2, 3), parameter(3, 5)

    np.testing.assert_allclose((x.trace() @ chained(w, 256)).sum().backward()[w].numpy(), x.numpy().T @ np.ones((2, 5)))
    for lost in (chained(w, 257), chained(w, 300), chained(w, 257) + w):
        with pytest.raises(TapeError, match=LOST + "there are more than 256 of them" + REMEDY):
            x.trace() @ lost
    assert (x.trace() @ lost.detach()).owns_tape
    leaf = lost.trace()
    assert leaf.sum().backward()[leaf].tolist() == [[1.0] * 5] * 3


def test_ops_shared_by_branches_count_once() -> None:
    x, w = real(2, 3), parameter(3, 5)
    v: Any = w
    for _ in range(60):
        v = v * 0.5 + v * 0.5

    np.testing.assert_allclose((x.trace() @ v).sum().backward()[w].numpy(), x.numpy().T @ np.ones((2, 5)))


def test_a_chain_of_large_results_is_an_error() -> None:
    w = nn.Param(tg.ones((3, 5)))
    wide: list[Any] = [tg.broadcast_to(w, (1000, 3, 5)) * 1.0 for _ in range(30)]

    assert (wide[0] + wide[1]).tape.lost == ""
    large: Any = tg.stack(wide)
    assert large.tape.lost.startswith(f"their results take more than {(1 << 20) + 4 * 60:,} bytes; ")


def test_a_model_that_predicts_from_integers_keeps_a_bounded_part() -> None:
    ids, word = tg.tensor(np.zeros((64, 64), np.int64)), nn.Embedding(3, 32, rng=0)
    mlp = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32, rng=0), nn.ReLU()) for _ in range(12)])
    mlp(word(ids))
    tracemalloc.start()
    y = mlp(word(ids))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert held < 3 * y.nbytes + parameter_tape.MAX_BYTES


def deep(x: Any) -> Any:
    return copy.deepcopy(x)


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301  # of our own


@pytest.mark.parametrize("copied", [deep, pickled], ids=["copy", "pickle"])
def test_a_copy_is_an_error(copied: Any) -> None:
    x, w = real(2, 3), parameter(3, 5)

    again = copied(w * 2.0)

    assert again.tolist() == (w * 2.0).tolist()
    uses: list[Any] = [lambda: x.trace() @ again, lambda: again.put_tape(x.trace().tape)]
    for use in uses:
        with pytest.raises(TapeError, match=r"the ops that computed a tensor .* are lost: it is a copy" + REMEDY):
            use()
    (x.trace() @ copy.copy(w * 2.0)).sum().backward()[w]


# Threads


def test_threads_that_share_a_chain_and_a_tape_record_all() -> None:
    x, w = real(2, 3), parameter(3, 3)
    v, taped = tg.tanh(w), x.trace()
    found: list[Any] = [None] * 8

    def run(place: int) -> None:
        for _ in range(20):
            found[place] = (taped @ v).sum()

    threads = [Thread(target=run, args=(place,)) for place in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    grads = sum(found).backward()
    one = (x.trace() @ v).sum().backward()
    np.testing.assert_allclose(grads[w].numpy(), 8 * one[w].numpy(), rtol=1e-12)


def test_a_straight_through_estimator_needs_no_trace() -> None:
    w: Any = nn.Param(tg.tensor([2.25, 3.75]))
    x = tg.tensor([5.0, 7.0])
    rounded = w + (tg.round(w) - w).detach()

    grads = ((x.trace() * rounded).sum() + (w * w).sum()).backward()

    assert rounded.tolist() == [2, 4]
    assert grads[w].tolist() == [9.5, 14.5]


def test_a_penalty_on_the_distance_from_detached_parameters_has_its_gradient() -> None:
    w: Any = nn.Param(tg.tensor([2.0, 3.0]))
    start = w.detach()
    w.assign(w * 2.0)

    grads = (tg.ones((3,)).trace().sum() + ((w - start) ** 2).sum()).backward(wrt=[w, start])

    assert grads[w].tolist() == [4, 6]
    assert grads[start].tolist() == [-4, -6]


def whole(x: Any) -> Any:
    return x // 1.0


def halves_like(x: Any) -> Any:
    return tg.full_like(x, 0.5)


LIKE = [tg.zeros_like, tg.ones_like, halves_like, tg.normal_like, tg.uniform_like, tg.bernoulli_like]


@pytest.mark.parametrize("op", [tg.round, tg.floor, tg.ceil, tg.trunc, tg.sign, whole, tg.Tensor.detach, *LIKE])
def test_results_without_a_gradient_are_constants_of_the_model(op: Any) -> None:
    w: Any = nn.Param(tg.tensor([2.25, -3.75]))
    for given in (w, w * 2.0):
        fixed_values = op(given)
        grads = (tg.ones((3,)).trace().sum() + (w * fixed_values).sum()).backward()

        assert isinstance(fixed_values, Frozen)
        assert grads[w].tolist() == fixed_values.tolist()


@pytest.mark.parametrize("op", [tg.round, whole, tg.Tensor.detach, tg.empty_like, *LIKE])
def test_results_of_data_without_a_gradient_are_data(op: Any) -> None:
    x = tg.tensor([2.25, -3.75])

    assert type(op(x)) is tg.Tensor
    assert type(op(x.trace())) is tg.Tensor
    assert type(op(x * nn.Param(tg.ones((2,))))) is tg.Tensor


@pytest.mark.parametrize("factor", [None, 2.0])
@pytest.mark.parametrize("op", [tg.round, tg.Tensor.detach])
def test_a_traced_copy_of_detached_parameters_has_a_gradient(op: Any, factor: float | None) -> None:
    copied = op(nn.Param(tg.tensor([2.0, 3.0])))
    if factor is not None:
        copied = copied * factor

    assert (copied.trace() * tg.tensor([5.0, 7.0])).sum().backward()[copied].tolist() == [5, 7]


def test_compiled_steps_have_the_gradients_beside_detached_parameters() -> None:
    class Rounded(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Param(tg.tensor([2.25, 3.75]))

    def step(model: Any, x: Any) -> Any:
        w = model.w
        rounded = w + (tg.round(w) - w).detach()
        return ((x.trace() * rounded).sum() + ((w - w.detach() * 0.5) ** 2).sum()).backward(wrt=model)[w]

    pytest.importorskip("jax")
    model, x = Rounded(), tg.tensor([5.0, 7.0])

    assert step(model, x).tolist() == [7.25, 10.75]
    assert tg.jit(step)(model, x).tolist() == [7.25, 10.75]
