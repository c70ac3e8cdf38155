"""User-defined ops: the closure is typed by the same rules as the forward pass."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Gradients, Merge, NoneTape, OwnedTape, Shape, Tape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
T2 = TypeVar("T2", bound=Tape)
D = TypeVar("D", bound=np.generic)

x = tg.ones((2, 3))


def negate(x: Tensor[S, T, D]) -> Tensor[S, T, D]:
    """The smallest op there is."""
    operand, tape = tg.split_tape(x)
    out = tg.node(-operand.data)

    def backward(grads: Gradients) -> None:
        grads.add(operand, -grads.pop_output(out))

    return tape.record(out, (operand,), backward)


def product(x: Tensor[Shape[N, K], T], y: Tensor[Shape[K, M], T2]) -> Tensor[Shape[N, M], Merge[T, T2]]:
    """Two operands, two tapes, one closure."""
    a, b, tape = tg.split_tape(x, y)
    out = tg.node(a.data @ b.data)

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(a):
            grads.add(a, dz @ b.data.T)
        if grads.wants(b):
            grads.add(b, a.data.T @ dz)

    return tape.record(out, (a, b), backward)


def doubled_minus(x: Tensor[Shape[N, K], T], y: Tensor[Shape[N, K], T2]) -> Tensor[Shape[N, K], Merge[T, T2]]:
    """Two steps fused into one, with the gradients of the operands to add to and that of the result to read."""
    a, b, tape = tg.split_tape(x, y)
    out = tg.node(a.data * 2.0 - b.data)

    def backward(grads: Gradients) -> None:
        da, dz = grads.mut_and_ref(a, out)
        db = grads.mut(b)
        da += dz * 2.0
        db -= dz

    return tape.record(out, (a, b), backward)


def accept_own_ops() -> None:
    assert_type(doubled_minus(x, x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(negate(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(negate(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(product(x, tg.ones((3, 5)).trace()), Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_their_gradients() -> None:
    a, b = x.trace(), tg.ones((3, 5)).trace()
    grads = negate(product(a, b)).sum().backward()
    assert grads[a].tolist() == [[-5.0] * 3] * 2
    assert grads[b].tolist() == [[-2.0] * 5] * 3
    a, b = x.trace(), x.trace()
    grads = (doubled_minus(a, b * 1.0) + a).sum().backward()
    assert grads[x].tolist() == [[2.0] * 3] * 2


def accept_a_tape_by_hand() -> None:
    taped = x.trace()
    operand, tape = taped.split_tape()
    out = tg.node(-operand.data)

    def backward(grads: Gradients) -> None:
        dx, dy = grads.mut_and_ref(operand, out)
        dx -= dy

    tape.tape.add_backward_op(backward)
    assert out.put_tape(tape).sum().backward()[x].tolist() == [[-1.0] * 3] * 2


def reject_a_product_in_the_wrong_order() -> None:
    def wrong(x: Tensor[Shape[N, K], T], y: Tensor[Shape[K, M], T2]) -> Tensor[Shape[N, M], Merge[T, T2]]:
        a, b, tape = tg.split_tape(x, y)
        out = tg.node(a.data @ b.data)

        def backward(grads: Gradients) -> None:
            grads.add(b, grads.pop_output(out) @ a.data)  # E(mypy): matmul: inner sizes differ: x (N, M) has M columns but y (N, K) has N rows [tapegrad-shape]

        return tape.record(out, (a, b), backward)

    wrong(x, tg.ones((3, 5)))


def reject_the_gradient_of_the_other_operand() -> None:
    def wrong(x: Tensor[Shape[N, K], T], y: Tensor[Shape[K, M], T2]) -> Tensor[Shape[N, M], Merge[T, T2]]:
        a, b, tape = tg.split_tape(x, y)
        out = tg.node(a.data @ b.data)

        def backward(grads: Gradients) -> None:
            grads.add(a, a.data.T @ grads.pop_output(out))  # E(mypy): Gradients.add: S is (N, K) in x but (K, M) in gradient [tapegrad-shape]

        return tape.record(out, (a, b), backward)

    wrong(x, tg.ones((3, 5)))


def reject_an_accumulated_gradient_of_the_other_operand() -> None:
    def wrong(x: Tensor[Shape[N, K], T], y: Tensor[Shape[K, M], T2]) -> Tensor[Shape[N, M], Merge[T, T2]]:
        a, b, tape = tg.split_tape(x, y)
        out = tg.node(a.data @ b.data)

        def backward(grads: Gradients) -> None:
            da, dz = grads.mut_and_ref(a, out)
            da += a.data.T @ dz  # E(mypy): Accumulator.__iadd__: y is (K, M) but (N, K) is expected: axis 0 is K, not N [tapegrad-shape]

        return tape.record(out, (a, b), backward)

    wrong(x, tg.ones((3, 5)))
