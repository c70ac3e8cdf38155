"""Tapes: recording, merging, the backward pass, and the memory it frees."""

from __future__ import annotations

import copy
import operator
import re
import weakref
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.tape import NONE, GradientTape, NoneTape, OwnedTape
from tapegrad.checkpoint import BalancedCheckpointing, checkpoint
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.fused import fused
from tapegrad.nn import MultiHeadAttention, Param
from tapegrad.ops import (
    add,
    astype,
    at_set,
    concat,
    einsum,
    exp,
    floor_divide,
    nextafter,
    normal,
    ones,
    take,
    tanh,
    tensor,
    vecdot,
)
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import split_tape, unwrap
from tests.collector import no_collector


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def parameter(*values: float) -> Any:
    """Make what a tape takes for a parameter: a tensor with a version."""

    class Versioned(Tensor[Any, NoneTape, Any]):
        has_plain_state, version, frozen = False, 0, False

    data: Any = np.array(values)
    return Versioned(data)


def recorded(x: Any, log: list[str], name: str) -> Any:
    """An identity that notes when it is run backwards."""
    x, tape = unwrap(x)
    out = node(x.data + 0)

    def backward(grads: Gradients) -> None:
        log.append(name)
        grads.add(x, grads.pop_output(out))

    return tape.record(out, (x,), backward)


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


def test_the_gradient_of_a_square_includes_both_factors() -> None:
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


def two_losses() -> tuple[Any, Any]:
    x, y = real(3), real(3, seed=1)
    return exp(x.trace()).sum(), tanh(y.trace()).sum()


def share_a_tape(x: Any, y: Any) -> bool:
    return x.tape.tape is y.tape.tape


def test_a_comparison_merges_no_tapes() -> None:
    # `if d < g:` of two losses once made one tape of both, and the second backward was rejected.
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        left, right = two_losses()

        compare(left, right)

        assert not share_a_tape(left, right)
        left.backward()
        right.backward()


def test_results_without_a_tape_merge_no_tapes() -> None:
    for function in (floor_divide, nextafter):
        left, right = two_losses()

        assert not function(left, right).owns_tape

        assert not share_a_tape(left, right)


def test_a_rejected_op_merges_no_tapes() -> None:
    rejected: list[tuple[Any, type[Exception], tuple[int, ...]]] = [
        (operator.add, ShapeError, (5,)),
        (operator.matmul, ShapeError, (5, 7)),
        (lambda x, y: concat((x, real(3).trace(), y)), ShapeError, (5, 7)),
        (lambda x, y: einsum("i,j,j->i", x, y, y * 2), ShapeError, (5, 7)),
        (lambda x, y: at_set(x, 7, y), ShapeError, (1,)),
        (lambda x, y: at_set(x, tensor([0, 5]).trace(), y), IndexError, (1,)),
        (lambda x, y: x[y.astype(np.int64)], IndexError, (5,)),
        (vecdot, ShapeError, (5,)),
        (lambda x, y: x + astype(y, np.float32), DTypeError, (3,)),
        (fused(lambda x, y: x + y), ShapeError, (5,)),
    ]
    for function, error, shape in rejected:
        left, right = exp(real(3).trace()), (real(*shape, seed=1) + 9).trace()

        with pytest.raises(error):
            function(left, right)

        assert not share_a_tape(left, right)
        left.sum().backward()
        right.sum().backward()


def test_an_op_with_a_consumed_tape_leaves_the_other_tapes_unchanged() -> None:
    first, second, consumed = real(3).trace(), real(3, seed=1).trace(), real(3, seed=2).trace()
    consumed.sum().backward()

    with pytest.raises(TapeError, match=r"^concat: the tape was consumed by backward at .*; trace again"):
        concat((first, second, consumed))

    assert not share_a_tape(first, second)


UNLIKE = r"^(add|concat): one operand was traced with training=False and another without; trace all of them alike$"


def test_a_training_tape_and_a_non_training_tape_cannot_merge() -> None:
    x, y, z = real(3).trace(), real(3, seed=1).trace(training=False), real(3, seed=2).trace()

    for mixed in (lambda: x + y, lambda: y + x, lambda: concat([x, z, y])):
        with pytest.raises(TapeError, match=UNLIKE):
            mixed()

    assert not share_a_tape(x, z)
    assert [one.is_training for one in (x, y, x + z, y * 2, y + real(3), real(3))] == [
        *(True, False, True),
        *(False, False, False),
    ]
    with pytest.raises(TapeError, match="traced with training=False"):
        x.tape.tape.append(y.tape.tape)
    y.sum().backward()
    (x + z).sum().backward()


def test_whether_a_tape_trains_is_passed_on() -> None:
    x = real(3).trace(training=False)
    seen: list[bool] = []

    def noted(x: Any) -> Any:
        seen.append(x.is_training)
        return tanh(x)

    others = (x.with_empty_tape(), x.retaped(OwnedTape), x.detach().put_tape(x.tape), real(3).traced(training=False))
    for call in (noted, fused(noted), checkpoint(noted)):
        call(x)
    call(real(3).trace())

    assert not any(one.is_training for one in others)
    assert seen == [False, False, False, True]
    assert x.retaped(NoneTape).retaped(OwnedTape).is_training


def test_an_operand_whose_ops_are_lost_merges_no_tapes() -> None:
    w = Param(real(3))
    first, second = real(3).trace(), real(3, seed=1).trace()

    with pytest.raises(TapeError, match=r"the ops that computed a tensor .* from parameters are lost"):
        concat((first, second, copy.deepcopy(w * 2)))

    assert not share_a_tape(first, second)
    assert len(first.tape.tape) == 0


def test_a_layer_of_two_rows_that_is_rejected_merges_no_tapes() -> None:
    layer = MultiHeadAttention(6, 2)
    x, context = ones((3, 6)).trace(), ones((5, 6)).trace()

    with pytest.raises(ShapeError):
        layer(x, context, mask=tensor([[True, False]]))  # type: ignore[tapegrad-shape]  # under test

    assert not share_a_tape(x, context)
    assert share_a_tape(layer(x, context), x)
    assert share_a_tape(x, context)


def test_operands_on_one_tape_have_it_together() -> None:
    x = real(3).trace()

    tape = split_tape(x, exp(x))[2]

    assert tape is x.tape
    assert repr(tape) == "OwnedTape(GradientTape(1 op: exp (3,)))"


def test_the_tape_of_two_operands_merges_theirs_when_it_is_used() -> None:
    for use in (
        lambda out, operands, tape: tape.record(
            out, operands, lambda grads: grads.add(operands[0], grads.pop_output(out))
        ),
        lambda out, _, tape: exp(out.put_tape(tape)),
        lambda _, __, tape: tape.tape.add_backward_op(lambda _: None),
        lambda _, __, tape: OwnedTape().merge(tape),
    ):
        x, y = real(3).trace(), real(3, seed=1).trace()
        left, right, tape = split_tape(x, y)
        assert repr(tape) == "OwnedTape(2 tapes that become one when an op is recorded)"
        assert not share_a_tape(x, y)

        use(node(left.data + right.data), (left, right), tape)

        assert share_a_tape(x, y)
        assert tape.tape is x.tape.tape
        assert repr(tape) == repr(x.tape)


def test_an_empty_tape_of_two_unmerged_operands_has_their_training_mode() -> None:
    x, y = real(3).trace(), real(3, seed=1).trace()
    plain, _, tape = split_tape(x, y)

    branch = plain.put_tape(tape).with_empty_tape()

    assert type(branch.tape) is OwnedTape
    assert not share_a_tape(x, y)


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


def test_a_merge_keeps_the_parameters_that_a_tape_requires() -> None:
    x, y, w = real(3), real(3, seed=1), parameter(1.0, 2.0, 3.0)

    for left, right in ((x.trace(wrt=[]), y.trace()), (y.trace(), x.trace(wrt=[]))):
        grads = (left * right * w).sum().backward()

        assert set(grads) == {y, w}


def test_the_order_of_merging_does_not_matter() -> None:
    x, y, z = leaves = [real(3, seed=seed) for seed in range(3)]
    expected = [(y.numpy() * z.numpy()).tolist(), (x.numpy() * z.numpy()).tolist(), (x.numpy() * y.numpy()).tolist()]

    for order in permutations(range(3)):
        first, second, third = (tanh(leaves[i].trace()) * 0 + leaves[i].trace() for i in order)
        grads = (first * (second * third)).sum().backward()

        np.testing.assert_allclose([grads[leaf].numpy() for leaf in leaves], expected)


def test_entries_run_in_reverse_chronological_order_across_tapes() -> None:
    x, y = real(3), real(3, seed=1)
    early, late = x.trace(), y.trace()
    log: list[str] = []

    a = recorded(early, log, "a")
    b = recorded(late, log, "b")
    c = recorded(a, log, "c")
    ((b * c) * real(3, seed=2).trace()).sum().backward()  # a tape without entries leaves the order as it is

    assert log == ["c", "b", "a"]


def test_a_split_tape_still_records_after_it_was_merged() -> None:
    # The entry once went to the emptied tape, and the gradient was lost.
    x, y = real(3), real(3, seed=1)
    longer = exp(exp(y.trace()))
    plain, tape = unwrap(x.trace())
    longer = longer + plain.put_tape(tape)
    assert tape.tape is longer.tape.tape

    out = node(plain.data * 5)
    out = tape.record(out, (plain,), lambda grads: grads.add(plain, grads.pop_output(out.node) * 5))
    grads = (out + longer * 0).sum().backward()

    assert grads[x].tolist() == [5, 5, 5]


def test_a_tape_merged_into_a_merged_tape_is_found() -> None:
    x, y, z = real(3), real(3, seed=1), real(3, seed=2)
    first, second, third = x.trace(), y.trace(), z.trace()
    both = first * second
    longer = exp(exp(exp(third))) * first

    grads = (exp(second) + both + longer * 0).sum().backward()  # before the tape of `second` is read

    assert second.tape.tape is third.tape.tape is first.tape.tape
    np.testing.assert_allclose(grads[y].numpy(), np.exp(y.numpy()) + x.numpy())


def test_tapes_merged_one_after_another_are_one() -> None:
    first, second, third = (real(3, seed=seed).trace() for seed in range(3))

    first * second
    exp(exp(exp(third))) * first

    assert second.tape.tape is third.tape.tape is first.tape.tape


def test_a_tape_put_on_another_tensor_records_for_it() -> None:
    x, y = real(3), real(3, seed=1)
    plain, tape = unwrap(tanh(x.trace()))

    out = (plain.put_tape(tape) * y.put_tape(tape)).sum()
    grads = out.backward(wrt=[x, y])

    np.testing.assert_allclose(grads[x].numpy(), y.numpy() * (1 - np.tanh(x.numpy()) ** 2))
    np.testing.assert_allclose(grads[y].numpy(), np.tanh(x.numpy()))


# Tracing


def test_trace_returns_the_same_tensor_and_leaves_the_original_unchanged() -> None:
    x = real(3)

    taped = x.trace()

    assert taped.owns_tape
    assert not x.owns_tape
    assert taped.data is x.data
    assert (taped * 2).sum().backward()[taped].tolist() == [2, 2, 2]


def test_tracing_twice_is_rejected() -> None:
    for again in (real(3).trace().trace, real(3).trace().traced):
        with pytest.raises(TapeError, match=r"^trace: the tensor has a tape already$"):
            again()


def test_traced_equals_trace_at_run_time() -> None:
    x, w = real(3), real(3, seed=1)
    grads = x.traced().sum().backward()

    again = (x.traced([w], grads=grads) * w).sum().backward()

    assert again is grads
    assert grads[x].tolist() == [1, 1, 1]
    assert grads[w].tolist() == x.tolist()


def test_whether_a_tensor_owns_a_tape_is_a_plain_bool() -> None:
    x = real(3)

    assert x.owns_tape is False
    assert x.trace().owns_tape is True
    assert (x > 0).owns_tape is False


def test_wrt_of_trace_applies_unless_backward_gets_its_own() -> None:
    x, w, v = real(3), parameter(1.0, 2.0, 3.0), parameter(4.0, 5.0, 6.0)

    assert list((x.trace(wrt=[w]) * w * v).sum().backward()) == [w]
    assert set((x.trace([w, x]) * w * v).sum().backward()) == {w, x}
    assert list((x.trace([]) * w * v).sum().backward()) == []
    assert list((x.trace(wrt=[w]) * w * v).sum().backward(wrt=[v])) == [v]


def test_wrt_of_trace_rejects_tensors_without_gradients() -> None:
    with pytest.raises(DTypeError, match=r"^wrt names a tensor of dtype int64, which has no gradient$"):
        real(3).trace(wrt=[tensor([1, 2])])


def test_split_tape_and_put_tape_keep_the_tensor() -> None:
    x = real(3)
    h = tanh(x.trace())

    plain, tape = h.split_tape()
    grads = (plain.put_tape(tape) * h).sum().backward(wrt=[plain])

    assert plain is h.node
    assert not plain.owns_tape
    assert tape is h.tape
    np.testing.assert_allclose(grads[h].numpy(), 2 * np.tanh(x.numpy()))
    assert x.split_tape() == (x, NONE)


def test_put_tape_of_no_tape_changes_nothing() -> None:
    # A copy without a tape once came back, by which no gradient was found.
    x: Any = tensor([1.0, 2.0])

    assert x.put_tape(NONE) is x
    assert x.put_tape(NoneTape()) is x


def test_put_tape_rejects_a_second_tape_and_other_objects() -> None:
    x: Any = real(3)

    with pytest.raises(TapeError, match=r"^put_tape: x has a tape but must have none$"):
        x.trace().put_tape(x.trace().tape)
    with pytest.raises(TapeError, match=r"^put_tape: tape is a GradientTape, neither a NoneTape nor an OwnedTape$"):
        x.put_tape(GradientTape())


def test_an_empty_tape_starts_a_branch_of_the_same_tensor() -> None:
    x = real(3)
    h = tanh(x.trace())

    branch = h.with_empty_tape()
    product = exp(branch)

    assert branch.node is h.node
    assert (len(h.tape.tape), len(branch.tape.tape)) == (1, 1)
    grads = (product * h).sum().backward()
    y, derivative = np.tanh(x.numpy()), 1 - np.tanh(x.numpy()) ** 2
    np.testing.assert_allclose(grads[x].numpy(), np.exp(y) * (1 + y) * derivative)
    assert len(grads) == 1
    assert x.with_empty_tape() is x


def test_backward_of_a_branch_reaches_the_tensors_of_wrt() -> None:
    h, w = tanh(real(3).trace()), parameter(1.0, 2.0, 3.0)

    assert list((h.with_empty_tape() * w).sum().backward()) == [w]
    assert (h.with_empty_tape() * w).sum().backward(wrt=[h])[h].tolist() == [1, 2, 3]


def test_a_tensor_accepts_a_tape_of_the_requested_kind() -> None:
    x = real(3)
    taped = x.trace()

    assert x.retaped(NoneTape) is x
    assert taped.retaped(NoneTape) is x
    assert x.retaped(OwnedTape).node is x
    assert taped.retaped(OwnedTape).tape.tape is not taped.tape.tape
    for kind, name in ((type(x), "Tensor"), (3, "3"), (GradientTape, "GradientTape")):
        with pytest.raises(TapeError, match=rf"^retaped: kind is {name}, neither NoneTape nor OwnedTape$"):
            x.retaped(kind)


def test_ints_and_bools_carry_a_tape_but_have_no_gradient() -> None:
    table, tokens = real(5, 3), tensor([4, 0, 4])

    grads = take(table.trace(), tokens.trace()).sum().backward()

    assert (tensor([True]).trace()).owns_tape
    assert grads[table].tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [2, 2, 2]]
    with pytest.raises(DTypeError, match=r"^a tensor of dtype int64 has no gradient$"):
        grads[tokens]  # type: ignore[tapegrad-dtype]  # under test


def test_a_lookup_with_traced_ints_is_recorded() -> None:
    table = real(5, 3)

    found = take(table, tensor([4, 0]).trace())

    assert found.owns_tape
    assert found.sum().backward(wrt=table)[table].numpy().sum() == 6


def test_a_detached_tensor_is_a_new_one_without_gradient() -> None:
    x = real(3)
    taped = tanh(x.trace())

    detached = taped.detach()
    grads = (taped * detached).sum().backward()

    assert not detached.owns_tape
    assert detached not in grads
    np.testing.assert_allclose(grads[x].numpy(), np.tanh(x.numpy()) * (1 - np.tanh(x.numpy()) ** 2))


# Backward


def test_backward_without_a_tape_is_rejected() -> None:
    with pytest.raises(TapeError, match=r"^backward: "):
        real().backward()


def test_backward_of_a_non_scalar_needs_a_seed() -> None:
    x: Any = tensor([1.0, 2.0])

    with pytest.raises(ShapeError, match=r"^backward: .*\(2,\)"):
        x.trace().backward()

    seed: Any = tensor([3.0, 5.0])
    assert (x.trace() * 2).backward(seed=seed)[x].tolist() == [6, 10]


def test_a_seed_of_another_shape_or_dtype_is_rejected_and_the_tape_is_not_consumed() -> None:
    x: Any = ones((2, 3))
    y = x.trace() * 2

    with pytest.raises(ShapeError, match=r"^backward: seed is \(3,\) but \(2, 3\) is expected: rank 1, not 2$"):
        y.backward(seed=ones((3,)))
    with pytest.raises(DTypeError, match=r"^backward: seed is float64 but x is float32$"):
        y.backward(seed=ones((2, 3), np.float64))
    with pytest.raises(DTypeError, match=r"^backward: seed is an ndarray but x is float32$"):
        y.backward(seed=np.ones((2, 3), np.float32))

    assert y.sum().backward()[x].tolist() == [[2, 2, 2], [2, 2, 2]]


def test_backward_of_an_int_is_rejected() -> None:
    # It once gave a float its gradient through the conversion to int.
    x: Any = tensor([1.5, 2.5])

    with pytest.raises(DTypeError, match=r"^backward: x is int64, which has no gradient$"):
        astype(x.trace(), np.int64).sum().backward()


def test_a_second_backward_says_where_the_first_was() -> None:
    loss = real(3).trace().sum()
    loss.backward()

    with pytest.raises(TapeError) as rejected:
        loss.backward()

    assert re.fullmatch(
        r"the tape was consumed by backward at test_tape\.py:\d+; trace again for another gradient", str(rejected.value)
    )


def test_an_op_on_a_consumed_tape_says_where_it_was_consumed() -> None:
    x = real(3).trace()
    y = tanh(x)
    y.sum().backward()

    with pytest.raises(TapeError, match=r"^exp: the tape was consumed by backward at test_tape\.py:\d+; trace again"):
        exp(y)
    with pytest.raises(TapeError, match=r"^add: the tape was consumed by backward at test_tape\.py:\d+; trace again"):
        add(x, real(3).trace())
    assert len(x.tape.tape) == 0


def test_every_tensor_on_a_consumed_tape_is_consumed() -> None:
    x, y = real(3).trace(), real(3, seed=1).trace()
    (x * y).sum().backward()

    for taped in (x, y):
        with pytest.raises(TapeError, match=r"^neg: the tape was consumed"):
            operator.neg(taped)


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


def test_wrt_accepts_intermediates_and_only_their_gradients_are_returned() -> None:
    x = real(3)
    h = tanh(x.trace())

    grads = (h * h).sum().backward(wrt=[h])

    assert x not in grads
    np.testing.assert_allclose(grads[h].numpy(), 2 * np.tanh(x.numpy()))


def test_wrt_accepts_tensors_that_were_never_traced() -> None:
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


def test_wrt_takes_parameters_by_their_paths() -> None:
    x, w = real(3), parameter(1.0, 2.0, 3.0)

    assert list((x.trace() * w).sum().backward(wrt={"w": w})) == [w]


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        (tensor([1, 2]), r"wrt names a tensor of dtype int64, which has no gradient"),
        ([tensor([True])], r"wrt names a tensor of dtype bool, which has no gradient"),
        (["w"], r"wrt names a str, which is neither a tensor nor a module"),
        (3, r"wrt names an int, which is neither a tensor nor a module"),
        (np.ones(3), r"wrt names an ndarray, which is neither a tensor nor a module"),
        ([np.ones(0)], r"wrt names an ndarray, which is neither a tensor nor a module"),
    ],
)
def test_wrt_rejects_tensors_without_gradients_and_the_tape_is_not_consumed(wrt: Any, message: str) -> None:
    x = real(3)
    loss = x.trace().sum()

    with pytest.raises(DTypeError, match=rf"^{message}$"):
        loss.backward(wrt=wrt)

    assert loss.backward()[x].tolist() == [1, 1, 1]


def test_a_frozen_parameter_that_wrt_names_gets_its_gradient() -> None:
    x, frozen = real(3), parameter(4.0, 5.0, 6.0)
    type(frozen).frozen = True

    assert list((x.trace() * frozen).sum().backward(wrt=[frozen])) == [frozen]


def test_wrt_accepts_the_loss_itself() -> None:
    x = real(3)
    loss = x.trace().sum()

    grads = loss.backward(wrt=[loss, x])

    assert grads[loss].item() == 1
    assert grads[x].tolist() == [1, 1, 1]


def test_an_error_in_the_backward_pass_names_the_op_and_keeps_the_gradients() -> None:
    # They were once left with what had been added before the error.
    x: Any = tensor([1.0, 2.0])
    grads = x.trace().sum().backward()

    def mistaken(x: Any) -> Any:
        x, tape = split_tape(x)
        out = node(x.data * 3)
        return tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out).sum()))

    y = mistaken(x.trace(grads=grads) * 1.0)
    message = r"^backward of mistaken: Gradients.add: S is \(2,\) in x but \(\) in gradient$"
    with pytest.raises(ShapeError, match=message):
        (y + x.trace()).sum().backward()

    assert grads[x].tolist() == [1, 1]
    with pytest.raises(TapeError, match=r"^exp: the tape was consumed"):
        exp(y)


def test_a_closure_that_reaches_no_target_does_not_run() -> None:
    x, y = real(3), real(3, seed=1)
    log: list[str] = []

    a, b = recorded(x.trace(), log, "a"), recorded(y.trace(), log, "b")
    unused = recorded(a, log, "unused")
    (a * b).sum().backward(wrt=[x])

    assert log == ["a"]
    assert unused.owns_tape


def test_wants_is_false_for_an_operand_whose_gradient_is_not_needed() -> None:
    x, y = real(3), real(3, seed=1)
    wanted: dict[str, bool] = {}
    left, right, tape = unwrap(x.trace(), y)
    out = node(left.data * right.data)

    def backward(grads: Gradients) -> None:
        wanted.update(left=grads.wants(left), right=grads.wants(right), taped=grads.wants(left.put_tape(tape)))
        grads.add(left, grads.pop_output(out) * right.data)

    tape.record(out, (left, right), backward).sum().backward()

    assert wanted == {"left": True, "right": False, "taped": True}


def test_an_intermediate_gradient_is_needed_itself_if_it_has_parts_or_a_step_may_read_it() -> None:
    needed: list[bool] = []

    def noted(x: Any) -> Any:
        x, tape = unwrap(x)
        out = node(x.data + 0)

        def backward(grads: Gradients) -> None:
            needed.append(grads.needs_itself(x))
            grads.add(x, grads.pop_output(out))

        return tape.record(out, (x,), backward)

    alone, parts, opaque = (tanh(real(3).trace()) for _ in range(3))
    noted(alone).sum().backward()
    (noted(parts) * parts).sum().backward()
    opaque.tape.tape.add_backward_op(lambda _: None)
    grads = noted(opaque).sum().backward()

    assert needed == [False, True, True]
    assert grads.needs_itself(opaque.node) is False


def test_parameters_get_gradients_unless_they_are_frozen() -> None:
    x, w, frozen = real(3), parameter(1.0, 2.0, 3.0), parameter(4.0, 5.0, 6.0)
    type(frozen).frozen = True

    grads = (x.trace() * w * frozen).sum().backward()

    assert w in grads
    assert x in grads
    assert frozen not in grads


def test_a_parameter_assigned_between_forward_and_backward_is_detected() -> None:
    x, w = real(3), parameter(1.0, 2.0, 3.0)
    loss = (x.trace() * w).sum()

    type(w).version = 1

    message = (
        r"^a parameter of shape \(3,\) was assigned after the forward pass used it: "
        r"version 0 was recorded, version 1 is there$"
    )
    with pytest.raises(TapeError, match=message):
        loss.backward()


# A retained tape


@pytest.mark.parametrize("strategy", [None, BalancedCheckpointing()], ids=["none", "balanced"])
def test_a_retained_tape_gives_the_gradients_of_several_losses(strategy: Any) -> None:
    x, w = real(3), parameter(2.0, -1.0, 0.5)
    h = tanh(x.trace(checkpoint=strategy) * w)
    first, second = (h * h).sum(), exp(h).sum()

    grads = [loss.backward(retain_tape=True) for loss in (first, second, first)]
    last = second.backward()

    derivative = 1 - np.tanh(x.numpy() * w.numpy()) ** 2
    for each, outer in ((grads[0], 2 * h.numpy()), (grads[1], np.exp(h.numpy())), (grads[2], 2 * h.numpy())):
        np.testing.assert_allclose(each[x].numpy(), outer * derivative * w.numpy())
        np.testing.assert_allclose(each[w].numpy(), outer * derivative * x.numpy())
    assert last[x].tolist() == grads[1][x].tolist()
    with pytest.raises(TapeError, match=r"^the tape was consumed by backward at test_tape\.py:\d+; trace again"):
        first.backward(retain_tape=True)


def test_a_retained_tape_still_records() -> None:
    x: Any = tensor([1.0, 2.0])
    y = x.trace() * 3

    y.sum().backward(retain_tape=True)

    assert (y * y).sum().backward()[x].tolist() == [18, 36]


def test_a_retained_tape_of_merged_tapes_runs_in_reverse_chronological_order() -> None:
    log: list[str] = []
    x, y = real(3), real(3, seed=1)
    left, right = x.trace(), y.trace()
    for step in range(2):
        left, right = recorded(left, log, f"left {step}"), recorded(right, log, f"right {step}")
    loss = (left * right).sum()

    loss.backward(retain_tape=True)
    loss.backward()

    assert log == 2 * ["right 1", "left 1", "right 0", "left 0"]


def test_each_backward_of_a_retained_tape_adds_to_the_gradients_given_to_trace() -> None:
    x, y = tensor([1.0, 2.0]), tensor([4.0, 5.0])
    one, other = x.trace().sum().backward(), y.trace().sum().backward()
    loss = (x.trace(grads=one) * y.trace(grads=other)).sum()

    for _ in range(2):
        grads = loss.backward(retain_tape=True)

    assert grads[x].tolist() == [1 + 2 * 4, 1 + 2 * 5]
    assert grads[y].tolist() == [1 + 2 * 1, 1 + 2 * 2]


def test_a_retained_tape_detects_a_parameter_assigned_since() -> None:
    w = parameter(1.0, 2.0)
    loss = (real(2).trace() * w).sum()
    loss.backward(retain_tape=True)

    type(w).version = 1

    with pytest.raises(TapeError, match=r"^a parameter of shape \(2,\) was assigned after the forward pass used it"):
        loss.backward(retain_tape=True)


def test_a_tape_that_is_executed_and_retained_can_be_executed_again() -> None:
    log: list[str] = []
    tape = GradientTape()
    tape.add_backward_op(lambda _: log.append("run"))

    tape.execute(retain_tape=True)
    tape.execute()

    assert log == ["run", "run"]


def test_a_retained_tape_is_freed_with_its_tensors() -> None:
    with no_collector():
        loss = tanh(real(3).trace()).sum()
        loss.backward(retain_tape=True)
        tape = weakref.ref(loss.node)
        del loss

        assert tape() is None


# Accumulation


def test_gradients_accumulate_over_several_tapes() -> None:
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


def test_gradients_given_to_two_merged_tapes_are_summed() -> None:
    x, y = real(3), real(3, seed=1)
    one, other = x.trace().sum().backward(), (x.trace() + y.trace()).sum().backward()

    grads = (x.trace(grads=one) * y.trace(grads=other)).sum().backward()

    np.testing.assert_allclose(grads[x].numpy(), 2 + y.numpy())
    np.testing.assert_allclose(grads[y].numpy(), 1 + x.numpy())


def test_accumulated_gradients_change_only_after_a_complete_backward() -> None:
    # A forward pass whose tapes met once added them up, and a second one once more.
    x, y = real(3), real(3, seed=1)
    one, other = x.trace().sum().backward(), x.trace().sum().backward()

    for _ in range(2):
        x.trace(grads=one) * y.trace(grads=other)

    assert one[x].tolist() == other[x].tolist() == [1, 1, 1]


def test_executing_a_tape_adds_to_the_gradients_given_to_trace() -> None:
    x: Any = tensor([1.0, 2.0])
    grads = x.trace().sum().backward()
    y = x.trace(grads=grads) * 3
    start = Gradients()
    start.add(y, tensor([1.0, 10.0]).data)

    assert y.tape.tape.execute(start) is grads
    assert grads[x].tolist() == [4, 31]


# A tape by hand


def test_an_opaque_step_is_never_pruned() -> None:
    x: Any = tensor([1.0, 2.0])
    taped = x.trace()
    out = node(x.data * 7)
    log: list[str] = []

    def negate(grads: Gradients) -> None:
        log.append("opaque")
        grads.add(taped, grads.pop_output(out) * 7)  # a taped tensor stands for itself

    taped.tape.tape.add_backward_op(negate)
    doubled = out.put_tape(taped.tape) * 2
    grads = doubled.sum().backward()

    assert log == ["opaque"]
    assert grads[x].tolist() == [14, 14]


@pytest.mark.parametrize("steps", [0, 5], ids=["into its tape", "into the other tape"])
def test_an_opaque_step_is_not_pruned_after_a_merge(steps: int) -> None:
    x, other = tensor([1.0, 2.0]), tensor([3.0, 5.0]).trace()
    taped: Any = x.trace()
    out = node(x.data * 7)
    taped.tape.tape.add_backward_op(lambda grads: grads.add(taped, grads.pop_output(out) * 7))
    doubled = out.put_tape(taped.tape) * 2
    for _ in range(steps):  # the tape with fewer ops is merged into the other
        other = other * 1

    grads = (doubled * other).sum().backward()

    assert grads[x].tolist() == [42, 70]


@pytest.mark.parametrize("size", [3, 300_000])
def test_an_opaque_step_lets_values_be_released_that_no_gradient_reads(size: int) -> None:
    x: Any = ones((size,), np.float64)
    taped = x.trace()
    taped.tape.tape.add_backward_op(lambda _: None)

    grads = (taped * 2 * 3).sum().backward()  # only the gradient of the 3 would read the product

    assert grads[x].tolist() == [6] * size


def test_what_was_recorded_before_an_opaque_step_is_still_pruned() -> None:
    x, y = real(3), real(3, seed=1)
    log: list[str] = []

    product = recorded(x.trace(), log, "a") * recorded(y.trace(), log, "b")
    product.tape.tape.add_backward_op(lambda _: log.append("opaque"))
    product.sum().backward(wrt=[x])

    assert log == ["opaque", "a"]


def test_an_opaque_step_runs_between_steps_that_recompute_values() -> None:
    x, log = real(3), list[str]()
    y = exp(x.trace(checkpoint=BalancedCheckpointing()))

    y.tape.tape.add_backward_op(lambda _: log.append("opaque"))
    grads = tanh(y * 0.5).sum().backward()

    assert log == ["opaque"]
    np.testing.assert_allclose(grads[x].numpy(), (1 - np.tanh(y.numpy() / 2) ** 2) * y.numpy() / 2)


def test_an_opaque_step_runs_even_where_no_target_was_reached() -> None:
    log: list[str] = []
    taped = real(3).trace()

    taped.tape.tape.add_backward_op(lambda _: log.append("opaque"))
    taped.sum().backward(wrt=[])

    assert log == ["opaque"]


def test_an_opaque_step_that_pops_a_missing_gradient_raises_an_error() -> None:
    taped = real(3).trace()
    unused = node(taped.data * 7)

    taped.tape.tape.add_backward_op(lambda grads: grads.add(taped, grads.pop_output(unused)))

    with pytest.raises(KeyError, match=r"^backward of <lambda>: no gradient has reached a tensor of shape \(3,\)$"):
        taped.sum().backward()


def test_append_moves_all_entries() -> None:
    x, y = real(3), real(3, seed=1)
    a, b = exp(x.trace()), exp(y.trace())
    ours, theirs = a.tape.tape, b.tape.tape

    ours.append(theirs)

    assert (len(ours), len(theirs)) == (2, 0)
    ours.append(ours)
    assert len(ours) == 2
    assert set((a + b).sum().backward()) == {x, y}


def test_steps_of_two_tapes_all_run_newest_first() -> None:
    log: list[str] = []
    one, other = GradientTape(), GradientTape()
    for tape, step in ((one, "first"), (other, "second"), (one, "third")):
        tape.add_backward_op(lambda _, step=step: log.append(step))  # type: ignore[misc]  # a default binds the step

    one.append(other)
    one.execute()

    assert log == ["third", "second", "first"]


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
            again()  # type: ignore[tapegrad-tape]  # the mistake under test


def test_a_step_that_cannot_be_called_is_rejected_at_once() -> None:
    step: Any = 3
    message = r"^append: other is an OwnedTape but a GradientTape is expected$"
    with pytest.raises(DTypeError, match=message):
        GradientTape().append(tensor(1.0).trace().tape)  # type: ignore[arg-type]  # the mistake under test
    message = r"^add_backward_op: op is an int but a function of the gradients is expected$"
    with pytest.raises(DTypeError, match=message):
        GradientTape().add_backward_op(step)


def test_a_step_that_takes_no_gradients_is_rejected_at_once() -> None:
    reasons: dict[Any, str] = {
        lambda: None: "too many positional arguments",
        lambda _grads, _x: None: "missing a required argument: '_x'",
    }
    for step, reason in reasons.items():
        with pytest.raises(DTypeError, match=f"^add_backward_op: op must take the gradients alone: {reason}$"):
            GradientTape().add_backward_op(step)
    without_signature: Any = max
    GradientTape().add_backward_op(without_signature)


def test_options_of_tapes_are_bools() -> None:
    x = tensor([1.0, 2.0])
    name: Any = "no"
    number: Any = 3

    with pytest.raises(DTypeError, match=r"^training is a str but a bool is expected$"):
        x.trace(training=name)
    loss = x.trace().sum()
    with pytest.raises(DTypeError, match=r"^retain_tape is an int but a bool is expected$"):
        loss.backward(retain_tape=number)
    assert loss.backward()[x].tolist() == [1, 1]


def test_execute_starts_from_the_gradients_it_is_given() -> None:
    x: Any = tensor([1.0, 2.0])
    taped = x.trace() * 3
    grads = Gradients()
    grads.add(taped, tensor([1.0, 10.0]).data)

    assert taped.tape.tape.execute(grads) is grads
    assert grads[x].tolist() == [3, 30]


def test_execute_rejects_what_are_no_gradients_and_keeps_the_tape() -> None:
    x: Any = tensor([1.0, 2.0])
    taped = x.trace() * 3
    wrong: Any = 3
    with pytest.raises(
        DTypeError, match=r"^execute: grads is an int but Gradients, which backward gives, are expected$"
    ):
        taped.tape.tape.execute(wrong)

    assert taped.sum().backward()[x].tolist() == [3, 3]


def test_options_of_another_kind_are_rejected() -> None:
    given: Any = 3
    with pytest.raises(DTypeError, match=r"^grads is an int but Gradients are expected$"):
        ones((3,)).trace(grads=given)
    with pytest.raises(DTypeError, match=r"^checkpoint is an int but a strategy is expected$"):
        ones((3,)).traced(checkpoint=given)
