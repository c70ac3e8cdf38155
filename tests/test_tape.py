"""Tapes: what they record, how they merge, how they run backwards and what they leave behind."""

from __future__ import annotations

import gc
import operator
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.op import OPS
from tapegrad.ops import add, astype, exp, mul, normal, ones, relu, take, tanh, tensor, zeros
from tapegrad.tape import NONE, Gradients, GradientTape, NoneTape, OwnedTape
from tapegrad.tensor import Tensor, handle, split


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def parameter(*values: float) -> Any:
    """Makes what a tape takes for a parameter: a tensor with a version."""

    class Versioned(Tensor[Any, NoneTape, Any]):
        version, frozen = 0, False

    data: Any = np.array(values)
    return Versioned(data)


def recorded(x: Any, log: list[str], name: str) -> Any:
    """An identity that notes when it is run backwards."""
    x, tape = split(x)
    out = handle(x.data + 0)

    def backward(grads: Gradients) -> None:
        log.append(name)
        grads.add(x, grads.take(out))

    return tape.record(out, (x,), backward)


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# Merging


def test_a_result_owns_a_tape_if_either_operand_does() -> None:
    x, y = real(3), real(3, seed=1)

    assert not (x + y).owns_tape
    assert (x.trace() + y).owns_tape
    assert (y + x.trace()).owns_tape
    assert (x.trace() + y.trace()).owns_tape


def test_a_taped_operand_on_the_right_gets_its_gradient() -> None:
    x, y = real(3), real(3, seed=1)

    grads = (y - x.trace()).sum().backward()

    assert grads[x].tolist() == [-1, -1, -1]
    assert y not in grads


def test_a_square_counts_both_of_its_factors() -> None:
    x: Any = tensor([3.0, -5.0])
    taped = x.trace()

    grads = (taped * taped).sum().backward()

    assert grads[x].tolist() == [6, -10]


def test_two_tapes_become_one() -> None:
    x, y = real(3), real(3, seed=1)
    left, right = x.trace(), y.trace()

    product = left * right
    grads = product.sum().backward()

    assert grads[x].tolist() == y.tolist()
    assert grads[y].tolist() == x.tolist()
    assert left.tape.tape is right.tape.tape is product.tape.tape


def test_merging_a_tape_with_itself_changes_nothing() -> None:
    tape = OwnedTape()
    x = real(3).put_tape(tape)
    exp(x)

    assert tape.merge(tape) is tape
    assert tape.merge(x.tape) is tape
    assert len(tape.tape) == 1


def test_a_tensor_traced_twice_is_one_leaf() -> None:
    x: Any = tensor([2.0, 7.0])

    grads = (x.trace() * x.trace()).sum().backward()

    assert len(grads) == 1
    assert grads[x].tolist() == [4, 14]


def test_the_order_of_merging_leaves_no_trace() -> None:
    x, y, z = leaves = [real(3, seed=seed) for seed in range(3)]
    expected = [(y.numpy() * z.numpy()).tolist(), (x.numpy() * z.numpy()).tolist(), (x.numpy() * y.numpy()).tolist()]

    for order in permutations(range(3)):
        first, second, third = (tanh(leaves[i].trace()) * 0 + leaves[i].trace() for i in order)
        grads = (first * (second * third)).sum().backward()

        np.testing.assert_allclose([grads[leaf].numpy() for leaf in leaves], expected)


def test_entries_run_in_the_order_of_time_whichever_tape_they_lay_on() -> None:
    x, y = real(3), real(3, seed=1)
    early, late = x.trace(), y.trace()
    log: list[str] = []

    a = recorded(early, log, "a")
    b = recorded(late, log, "b")
    c = recorded(a, log, "c")
    (b * c).sum().backward()

    assert log == ["c", "b", "a"]


def test_a_tape_that_was_split_off_goes_on_recording_after_it_was_merged_away() -> None:
    # The entry once went to the emptied tape, and the gradient was lost.
    x, y = real(3), real(3, seed=1)
    longer = exp(exp(y.trace()))
    plain, tape = split(x.trace())
    longer = longer + plain.put_tape(tape)
    assert tape.tape is longer.tape.tape

    out = handle(plain.data * 5)
    out = tape.record(out, (plain,), lambda grads: grads.add(plain, grads.take(out.handle) * 5))
    grads = (out + longer * 0).sum().backward()

    assert grads[x].tolist() == [5, 5, 5]


def test_a_tape_put_on_another_tensor_records_for_it() -> None:
    x, y = real(3), real(3, seed=1)
    plain, tape = split(tanh(x.trace()))

    out = (plain.put_tape(tape) * y.put_tape(tape)).sum()
    grads = out.backward(wrt=[x, y])

    np.testing.assert_allclose(grads[x].numpy(), y.numpy() * (1 - np.tanh(x.numpy()) ** 2))
    np.testing.assert_allclose(grads[y].numpy(), np.tanh(x.numpy()))


def test_a_chain_of_a_hundred_thousand_ops_runs_back() -> None:
    x: Any = tensor([1.0, 2.0])
    y = x.trace()
    unchecked = OPS["add"].function  # without the comparison with the rule, for speed

    for _ in range(100_000):
        y = unchecked(y, 1.0)
    grads = y.sum().backward()

    assert grads[x].tolist() == [1, 1]


def test_a_hundred_thousand_tapes_merge() -> None:
    x: Any = tensor([1.0, 2.0])
    y = x.trace()

    for _ in range(1000):
        y = x.trace() + y
    grads = y.sum().backward()

    assert grads[x].tolist() == [1001, 1001]


# Tracing


def test_a_trace_is_the_same_tensor_and_leaves_the_original_alone() -> None:
    x = real(3)

    taped = x.trace()

    assert taped.owns_tape
    assert not x.owns_tape
    assert taped.data is x.data
    assert (taped * 2).sum().backward()[taped].tolist() == [2, 2, 2]


def test_tracing_twice_is_refused() -> None:
    with pytest.raises(TapeError, match=r"^trace: "):
        real(3).trace().trace()


def test_ints_and_bools_carry_a_tape_but_have_no_gradient() -> None:
    table, tokens = real(5, 3), tensor([4, 0, 4])

    grads = take(table.trace(), tokens.trace()).sum().backward()

    assert (tensor([True]).trace()).owns_tape
    assert grads[table].tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [2, 2, 2]]
    with pytest.raises(DTypeError, match=r"^a tensor of dtype int64 has no gradient$"):
        grads[tokens]


def test_a_lookup_with_traced_ints_is_recorded() -> None:
    table = real(5, 3)

    found = take(table, tensor([4, 0]).trace())

    assert found.owns_tape
    assert found.sum().backward(wrt=table)[table].numpy().sum() == 6


def test_a_detached_tensor_is_another_that_nothing_reaches() -> None:
    x = real(3)
    taped = tanh(x.trace())

    detached = taped.detach()
    grads = (taped * detached).sum().backward()

    assert not detached.owns_tape
    assert detached not in grads
    np.testing.assert_allclose(grads[x].numpy(), np.tanh(x.numpy()) * (1 - np.tanh(x.numpy()) ** 2))


# Backward


def test_backward_without_a_tape_is_refused() -> None:
    with pytest.raises(TapeError, match=r"^backward: "):
        real().backward()


def test_backward_of_what_is_no_scalar_needs_a_seed() -> None:
    x: Any = tensor([1.0, 2.0])

    with pytest.raises(ShapeError, match=r"^backward: .*\(2,\)"):
        x.trace().backward()

    seed: Any = tensor([3.0, 5.0])
    assert (x.trace() * 2).backward(seed=seed)[x].tolist() == [6, 10]


def test_a_seed_of_another_shape_or_dtype_is_refused_and_the_tape_is_not_consumed() -> None:
    x: Any = ones((2, 3))
    y = x.trace() * 2

    with pytest.raises(ShapeError, match=r"^backward: seed is \(3,\) but \(2, 3\) is expected: rank 1, not 2$"):
        y.backward(seed=ones((3,)))
    with pytest.raises(DTypeError, match=r"^backward: seed is float64 but x is float32$"):
        y.backward(seed=ones((2, 3), np.float64))
    with pytest.raises(DTypeError, match=r"^backward: seed is an ndarray but x is float32$"):
        y.backward(seed=np.ones((2, 3), np.float32))

    assert y.sum().backward()[x].tolist() == [[2, 2, 2], [2, 2, 2]]


def test_backward_of_an_int_is_refused() -> None:
    # It once gave a float its gradient through the conversion to int.
    x: Any = tensor([1.5, 2.5])

    with pytest.raises(DTypeError, match=r"^backward: x is int64, which has no gradient$"):
        astype(x.trace(), np.int64).sum().backward()


def test_a_second_backward_says_where_the_first_was() -> None:
    loss = real(3).trace().sum()
    loss.backward()

    with pytest.raises(TapeError) as refused:
        loss.backward()

    assert re.fullmatch(
        r"the tape was consumed by backward at test_tape\.py:\d+; trace again for another gradient", str(refused.value)
    )


def test_an_op_on_a_consumed_tape_says_where_it_was_consumed() -> None:
    x = real(3).trace()
    y = tanh(x)
    y.sum().backward()

    with pytest.raises(TapeError, match=r"^exp: the tape was consumed by backward at test_tape\.py:\d+; trace again"):
        exp(y)
    with pytest.raises(TapeError, match=r"^add: the tape was consumed by backward at test_tape\.py:\d+; trace again"):
        add(x, real(3).trace())


def test_consumption_is_seen_through_every_tensor_on_the_tape() -> None:
    x, y = real(3).trace(), real(3, seed=1).trace()
    (x * y).sum().backward()

    for taped in (x, y):
        with pytest.raises(TapeError, match=r"^neg: the tape was consumed"):
            operator.neg(taped)


def test_a_tape_shows_how_much_it_holds() -> None:
    x = real(3).trace()
    y = tanh(x).sum()

    assert repr(NONE) == "NoneTape()"
    assert repr(x.tape) == "OwnedTape(GradientTape(2 ops))"

    y.backward()
    assert re.fullmatch(r"GradientTape\(consumed at test_tape\.py:\d+\)", repr(y.tape.tape))


def test_the_gradients_of_intermediates_are_freed() -> None:
    x = real(3)
    h = tanh(x.trace())

    grads = (h * h).sum().backward()

    assert list(grads) == [x]
    assert h not in grads
    with pytest.raises(
        KeyError, match=r"^no gradient for a tensor of shape \(3,\): not traced, not in wrt=, or not used$"
    ):
        grads[h]


def test_wrt_names_intermediates_and_nothing_else_is_kept() -> None:
    x = real(3)
    h = tanh(x.trace())

    grads = (h * h).sum().backward(wrt=[h])

    assert x not in grads
    np.testing.assert_allclose(grads[h].numpy(), 2 * np.tanh(x.numpy()))


def test_wrt_names_tensors_that_were_never_traced() -> None:
    x, w = real(3), real(3, seed=1)

    grads = (x.trace() * w).sum().backward(wrt=w)

    assert grads[w].tolist() == x.tolist()
    assert x not in grads


def test_wrt_takes_a_tensor_a_module_or_nested_lists_of_them() -> None:
    x, w = real(3), parameter(1.0, 2.0, 3.0)
    module = SimpleNamespace(parameters=lambda: {"w": w})

    for wrt, count in ((w, 1), (module, 1), ([w], 1), ([[w], x], 2), ([module, [x]], 2)):
        grads = (x.trace() * w).sum().backward(wrt=wrt)

        assert grads[w].tolist() == x.tolist()
        assert len(grads) == count


def test_wrt_refuses_what_has_no_gradient() -> None:
    tokens = tensor([1, 2])

    with pytest.raises(DTypeError, match=r"^wrt names a tensor of dtype int64, which has no gradient$"):
        real(3).trace().sum().backward(wrt=tokens)


def test_a_closure_that_leads_to_no_target_does_not_run() -> None:
    x, y = real(3), real(3, seed=1)
    log: list[str] = []

    a, b = recorded(x.trace(), log, "a"), recorded(y.trace(), log, "b")
    unused = recorded(a, log, "unused")
    (a * b).sum().backward(wrt=[x])

    assert log == ["a"]
    assert unused.owns_tape


def test_wants_spares_a_binary_op_the_side_that_nobody_needs() -> None:
    x, y = real(3), real(3, seed=1)
    asked: dict[str, bool] = {}
    left, right, tape = split(x.trace(), y)
    out = handle(left.data * right.data)

    def backward(grads: Gradients) -> None:
        asked.update(left=grads.wants(left), right=grads.wants(right), taped=grads.wants(left.put_tape(tape)))
        grads.add(left, grads.take(out) * right.data)

    tape.record(out, (left, right), backward).sum().backward()

    assert asked == {"left": True, "right": False, "taped": True}


def test_parameters_get_gradients_unless_they_are_frozen() -> None:
    x, w, frozen = real(3), parameter(1.0, 2.0, 3.0), parameter(4.0, 5.0, 6.0)
    type(frozen).frozen = True

    grads = (x.trace() * w * frozen).sum().backward()

    assert w in grads
    assert x in grads
    assert frozen not in grads


def test_a_parameter_assigned_between_forward_and_backward_is_noticed() -> None:
    x, w = real(3), parameter(1.0, 2.0, 3.0)
    loss = (x.trace() * w).sum()

    type(w).version = 1

    message = (
        r"^a parameter of shape \(3,\) was assigned after the forward pass used it: "
        r"version 0 was recorded, version 1 is there$"
    )
    with pytest.raises(TapeError, match=message):
        loss.backward()


# Accumulation


def test_gradients_go_on_accumulating() -> None:
    x: Any = tensor([1.0, 2.0])

    grads = (x.trace() * 3).sum().backward()
    grads = (x.trace(grads=grads) * 5).sum().backward()

    assert grads[x].tolist() == [8, 8]
    assert len(grads) == 1


def test_two_tapes_that_accumulate_into_the_same_gradients_count_them_once() -> None:
    # Merging once added the gradients to themselves.
    x, y = real(3), real(3, seed=1)
    grads = (x.trace() + y.trace()).sum().backward()

    again = (x.trace(grads=grads) + y.trace(grads=grads)).sum().backward()

    assert again is grads
    assert grads[x].tolist() == [2, 2, 2]
    assert grads[y].tolist() == [2, 2, 2]


def test_two_tapes_that_accumulate_apart_are_summed() -> None:
    x, y = real(3), real(3, seed=1)
    one, other = x.trace().sum().backward(), (x.trace() + y.trace()).sum().backward()

    grads = (x.trace(grads=one) * y.trace(grads=other)).sum().backward()

    np.testing.assert_allclose(grads[x].numpy(), 2 + y.numpy())
    np.testing.assert_allclose(grads[y].numpy(), 1 + x.numpy())


# A tape by hand


def test_a_step_that_only_its_writer_understands_is_never_pruned() -> None:
    x: Any = tensor([1.0, 2.0])
    taped = x.trace()
    out = handle(x.data * 7)
    log: list[str] = []

    def negate(grads: Gradients) -> None:
        log.append("opaque")
        grads.add(taped, grads.take(out) * 7)  # a taped tensor stands for itself

    taped.tape.tape.add_backward_op(negate)
    doubled = out.put_tape(taped.tape) * 2
    grads = doubled.sum().backward()

    assert log == ["opaque"]
    assert grads[x].tolist() == [14, 14]


def test_an_opaque_step_runs_even_where_no_target_was_reached() -> None:
    log: list[str] = []
    taped = real(3).trace()

    taped.tape.tape.add_backward_op(lambda _: log.append("opaque"))
    taped.sum().backward(wrt=[])

    assert log == ["opaque"]


def test_an_opaque_step_that_takes_what_nothing_reached_is_told_so() -> None:
    taped = real(3).trace()
    unused = handle(taped.data * 7)

    taped.tape.tape.add_backward_op(lambda grads: grads.add(taped, grads.take(unused)))

    with pytest.raises(KeyError, match=r"^no gradient has reached a tensor of shape \(3,\)$"):
        taped.sum().backward()


def test_appending_moves_everything() -> None:
    x, y = real(3), real(3, seed=1)
    a, b = exp(x.trace()), exp(y.trace())
    ours, theirs = a.tape.tape, b.tape.tape

    ours.append(theirs)

    assert (len(ours), len(theirs)) == (2, 0)
    assert list(ours.leaves) == [x, y]
    ours.append(ours)
    assert len(ours) == 2


def test_a_tape_executes_once_newest_first() -> None:
    log: list[int] = []
    tape = GradientTape()
    for step in range(3):
        tape.add_backward_op(lambda _, step=step: log.append(step))  # type: ignore[misc]  # a default binds the step

    grads = tape.execute()

    assert log == [2, 1, 0]
    assert len(grads) == 0
    assert len(tape) == 0
    for again in (tape.execute, lambda: tape.add_backward_op(print), lambda: tape.append(GradientTape())):
        with pytest.raises(TapeError, match=r"^the tape was consumed by backward at test_tape\.py:\d+"):
            again()


def test_execute_starts_from_the_gradients_it_is_given() -> None:
    x: Any = tensor([1.0, 2.0])
    taped = x.trace() * 3
    grads = Gradients()
    grads.seed(taped.handle, np.array([1, 10], np.float32))

    assert taped.tape.tape.execute(grads) is grads
    assert grads[x].tolist() == [3, 30]


# Gradients


def test_gradients_add_up_and_are_looked_up_by_tensor() -> None:
    x, y = real(2, 3), real(5)
    gradient: Any = np.ones((2, 3))
    grads = Gradients()

    grads.add(x, gradient)
    grads.add(x, gradient)

    assert grads[x].tolist() == [[2, 2, 2], [2, 2, 2]]
    assert grads[x.trace()].tolist() == [[2, 2, 2], [2, 2, 2]]
    assert x in grads
    assert y not in grads
    assert grads.get(y) is None
    assert len(grads) == 1
    assert list(grads) == [x]
    assert repr(grads) == "Gradients((2, 3))"


def test_a_gradient_is_never_broadcast() -> None:
    with pytest.raises(ShapeError, match=r"^Gradients.add: S is \(2, 3\) in x but \(3,\) in gradient$"):
        Gradients().add(real(2, 3), real(3).data)


def test_a_gradient_has_the_shape_and_dtype_of_its_tensor() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x: Any = ones((3, 1), dtype)
        y: Any = ones((5,), dtype)

        grads = (((x.trace() * y.trace()) / 7 - 1).mean()).backward()

        assert (grads[x].shape, grads[x].dtype) == ((3, 1), dtype)
        assert (grads[y].shape, grads[y].dtype) == ((5,), dtype)


# What is left over


def test_a_dropped_forward_is_freed_without_the_collector() -> None:
    x = real(2, 3)
    every_op: tuple[Callable[[Any], Any], ...] = (
        lambda t: tanh(t) * t + exp(t) / 2 - t,
        lambda t: (relu(t) @ t.T).sum() + t.max() + t.mean(axis=0).sum(),
        lambda t: t.reshape((3, 2)).astype(np.float32),
        lambda t: take(t, tensor([1, 0, 1])),
        lambda t: mul(t, t.trace() if not t.owns_tape else t),
    )

    for f in every_op:
        with no_collector():
            taped = x.trace()
            y = f(taped)
            result, on_the_tape = weakref.ref(y), weakref.ref(y.handle)

            del taped, y

            assert result() is None
            assert on_the_tape() is None


def test_backward_frees_what_it_has_run() -> None:
    x = real(2, 3)

    with no_collector():
        taped = x.trace()
        h = tanh(taped)
        inner = weakref.ref(h.handle)
        loss = (h * h).sum()
        del h

        loss.backward()

        assert inner() is None


def test_a_refused_op_is_freed_without_the_collector() -> None:
    with no_collector():
        x = real(2, 3)
        kept = weakref.ref(x)
        with pytest.raises(ShapeError):
            x + zeros((4,), np.float64)

        del x
        gone = kept() is None

    assert gone
