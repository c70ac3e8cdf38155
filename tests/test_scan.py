"""`scan`: the values and gradients of a Python loop with any engine, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tapegrad as tg
from tapegrad import nn
from tapegrad.autograd.tape import GradientTape
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.tensors import Tensor
from tapegrad.testing import check_gradients

scan: Any = tg.scan  # untyped here; typecheck/scan.py has typed calls


def real(*shape: int, seed: int = 0) -> Any:
    return tg.normal(shape, dtype=np.float64, rng=seed)


def loop(step: Any, state: Any, xs: Any) -> Any:
    """Run the steps one after the other, with an op for each element."""
    results = []
    for x in xs:
        state, y = step(state, x)
        results.append(y)
    return state, tg.stack(results)


def gradients(run: Any) -> list[Any]:
    """Return the gradients of a recurrence with a parameter and a taped tensor that its step reads."""
    w, h, xs, scale = nn.Param(real(3, 3, seed=1)), real(2, 3, seed=2), real(5, 2, 3, seed=3), real(3, seed=4)
    traced = scale.trace() * 2.0

    def step(h: Any, x: Any) -> Any:
        h = tg.tanh(h @ w + x * traced)
        return h, tg.square(h)

    last, squares = run(step, h.trace(), xs.trace())
    grads = (tg.sin(squares).sum() + last.sum()).backward()
    return [squares.detach().numpy(), *(grads[x].numpy() for x in (w, h, xs, scale))]


def test_sums_computed_by_hand() -> None:
    total, sums = scan(lambda total, x: (total + x, total + x), tg.tensor(10.0), tg.tensor([1.0, 2.0, 4.0]))

    assert (total.item(), sums.tolist()) == (17, [11, 13, 17])


def test_gradients_computed_by_hand() -> None:
    rate, xs = nn.Param(tg.tensor(2.0)), tg.tensor([3.0, 5.0])

    last, none = scan(lambda h, x: (h * rate + x, None), tg.tensor(1.0), xs.trace())
    grads = last.backward()

    # The last state is (1 · 2 + 3) 2 + 5: its derivatives are 2 and 1, and 2 · 2 + 3 by the rate.
    assert none is None
    assert (last.detach().item(), grads[xs].tolist(), grads[rate].item()) == (15, [2, 1], 7)


def test_values_and_gradients_equal_those_of_a_loop() -> None:
    for ours, theirs in zip(gradients(scan), gradients(loop), strict=True):
        assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("wrap", [tg.checkpoint, lambda step: step], ids=["checkpointed", "plain"])
def test_a_checkpointed_step_has_the_same_gradients(wrap: Callable[[Any], Any]) -> None:
    def whole(step: Any, state: Any, xs: Any) -> Any:
        return tg.checkpoint(lambda state, xs: scan(step, state, xs))(state, xs)

    for run in (lambda step, state, xs: scan(wrap(step), state, xs), whole):
        for ours, theirs in zip(gradients(run), gradients(loop), strict=True):
            assert_allclose(ours, theirs, rtol=1e-12)


def test_gradients_can_be_differentiated() -> None:
    def states(h: Any, xs: Any, w: Any) -> Any:
        return scan(lambda h, x: (tg.tanh(h @ w + x), h), h, xs)[1]

    check_gradients(states, real(2, 3), real(3, 2, 3, seed=1), real(3, 3, seed=2), order=2)


def test_gradients_of_single_elements_are_zero_elsewhere() -> None:
    xs = tg.tensor([1.0, 2.0, 3.0])

    _, squares = scan(lambda count, x: (count + 1, x * x), tg.tensor(0), xs.trace())

    assert squares[1].backward()[xs].tolist() == [0, 4, 0]


class Memory(NamedTuple):
    h: Any
    counts: tuple[Any, Any]


def test_state_and_results_may_be_nested_tuples() -> None:
    def step(memory: Memory, x: Any) -> Any:
        a, (b, _) = memory.h, memory.counts
        return Memory(a + x[0], (b + 1, x[1])), (a * 2.0, (b, x[1]))

    start = Memory(tg.tensor(0.5), (tg.tensor(0), tg.tensor(0)))
    last, (doubled, (counts, labels)) = scan(step, start, (tg.tensor([1.0, 2.0]), tg.tensor([7, 8])))

    assert isinstance(last, Memory)
    assert (last.h.item(), last.counts[0].item(), last.counts[1].item()) == (3.5, 2, 8)
    assert (doubled.tolist(), counts.tolist(), labels.tolist()) == ([1, 3], [0, 1], [7, 8])


def test_a_tape_is_put_on_every_float_part() -> None:
    def step(state: Any, x: Any) -> Any:
        assert [one.owns_tape for one in (*state, x)] == [True, False, True]
        return state, x

    scan(step, (tg.ones((2,)), tg.tensor([1])), tg.ones((3,)).trace())


def test_nothing_is_recorded_without_a_tape() -> None:
    last, states = scan(lambda h, x: (h + x, h), tg.zeros((2,)), tg.ones((3, 2)))

    assert not last.owns_tape
    assert not states.owns_tape


def test_a_loop_over_parameters_joins_a_later_tape() -> None:
    w = nn.Param(tg.tensor([1.0, 2.0]))
    last, _ = scan(lambda h, _: (h * w, None), w, tg.ones((3,)))

    grads = (last * tg.ones((2,)).trace()).sum().backward()

    assert grads[w].tolist() == [4.0 * 1.0**3, 4.0 * 2.0**3]


def test_elements_of_a_parameter_have_their_gradient() -> None:
    w = nn.Param(tg.tensor([1.0, 2.0, 3.0]))
    product, _ = scan(lambda h, row: (h * row, None), tg.tensor(1.0).trace(), w)

    assert product.backward()[w].tolist() == [6.0, 3.0, 2.0]


def test_elements_of_a_sequence_are_recorded_as_one_op() -> None:
    xs = tg.ones((50, 2))

    last, _ = scan(lambda h, x: (h + x, None), tg.zeros((2,)), xs.trace())

    tape: GradientTape = last.tape.tape
    assert len(tape) == 1 + 50 + 50  # all elements; each element; each sum


REJECTED: list[tuple[Any, Any, Any, Any, str]] = [
    (lambda h, x: (h[:1], x), (2,), (3,), ShapeError, "new state is (1,) but (2,) is expected: axis 0 is 1, not 2"),
    (lambda h, x: (h.sum(), x), (2,), (3,), ShapeError, "new state is () but (2,) is expected: rank 0, not 1"),
    (lambda h, x: (h.astype(np.float64), x), (2,), (3,), DTypeError, "new state is float64 but float32 is expected"),
    (lambda h, x: ((h, h), x), (2,), (3,), DTypeError, "new state is (a tensor, a tensor) but a tensor is expected"),
    (
        lambda h, x: ((h[0], h[1][:1]), x),
        ((2,), (4,)),
        (3,),
        ShapeError,
        "new state[1] is (1,) but (4,) is expected: axis 0 is 1, not 4",
    ),
    (lambda h, _: (h, 1.0), (2,), (3,), DTypeError, "result is a float, neither a tensor nor a tuple of tensors"),
]
UNSUITABLE: list[tuple[Any, Any, Any, Any, str]] = [
    (lambda h, _: h, (2,), (3,), DTypeError, "step returns float32 but a state and a result are expected"),
    (lambda h, x: (h, h, x), (2,), (3,), DTypeError, "step returns a tuple of 3 but a state and a result are expected"),
    (lambda h, x: (h, x), (2,), ((3,), (4,)), ShapeError, "xs[1] has 4 steps but xs[0] has 3"),
    (lambda h, x: (h, x), (2,), (), ShapeError, "xs has shape () but needs an axis of steps"),
    (lambda h, x: (h, x), (2,), (0, 3), ShapeError, "xs (0, 3) has no steps"),
]


@pytest.mark.parametrize(
    ("step", "state", "xs", "kind", "message"),
    [*((*one[:4], f"the {one[4]}") for one in REJECTED), *UNSUITABLE],
)
def test_invalid_calls_are_rejected(step: Any, state: Any, xs: Any, kind: Any, message: str) -> None:
    def filled(shape: Any) -> Any:
        return tuple(map(filled, shape)) if shape and isinstance(shape[0], tuple) else tg.ones(shape)

    with pytest.raises(kind) as raised:
        scan(step, filled(state), filled(xs))

    assert str(raised.value) == f"scan: {message}"


def test_results_that_change_are_rejected() -> None:
    sizes = iter([(2,), (3,)])

    with pytest.raises(ShapeError, match=r"scan: the result is \(3,\) but \(2,\) is expected: axis 0 is 3, not 2"):
        scan(lambda h, _: (h, tg.ones(next(sizes))), tg.zeros(()), tg.ones((2,)))

    counts = iter([(), (tg.ones(()),)])
    with pytest.raises(ShapeError, match="scan: a step has 1 results but the first step has 0"):
        scan(lambda h, _: (h, next(counts)), tg.zeros(()), tg.ones((2,)))


def test_arguments_that_are_no_tensors_are_rejected() -> None:
    x: Tensor = tg.ones((3,))

    with pytest.raises(DTypeError, match=r"scan: state\[1\] is a float, neither a tensor nor a tuple of tensors"):
        scan(lambda h, x: (h, x), (x, 1.0), x)
    with pytest.raises(DTypeError, match="scan: xs is a list, neither"):
        scan(lambda h, x: (h, x), x, [x])
    with pytest.raises(ShapeError, match="scan: xs is an empty tuple, so the number of steps is unknown"):
        scan(lambda h, x: (h, x), x, ())
