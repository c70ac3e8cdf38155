"""Gradients: accumulation, lookup by tensor, and replacement by the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.ops import normal, ones, tensor
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import split_tape, unwrap


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_gradients_accumulate_and_are_looked_up_by_tensor() -> None:
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


def test_gradients_created_by_the_user_want_and_save_nothing() -> None:
    x = real(3)
    grads = Gradients()
    grads.add(x, x.data)

    assert not grads.wants(x)
    assert grads.pop_output(x) is x.data
    assert x not in grads
    assert "x" not in grads
    assert grads.needs_itself(x) is False


def test_large_gradients_are_summed() -> None:
    x: Any = ones((300, 400))
    part: Any = np.full((300, 400), 2.0, np.float32)
    grads = Gradients()

    for _ in range(3):
        grads.add(x, part)

    assert grads[x].shape == (300, 400)
    assert set(grads[x].numpy().flat) == {6.0}
    assert set(part.flat) == {2.0}


def test_a_gradient_is_never_broadcast() -> None:
    with pytest.raises(ShapeError, match=r"^Gradients.add: S is \(2, 3\) in x but \(3,\) in gradient$"):
        Gradients().add(real(2, 3), real(3).data)


def test_a_gradient_of_another_dtype_is_rejected_at_its_leaf() -> None:
    # It once came out as the gradient of a float32 tensor, and was float64.
    x, tape = unwrap(ones((3,)).trace())
    out = node(x.data * 2)
    wide: Any = np.ones(3)

    loss = tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out) * wide)).sum()

    with pytest.raises(DTypeError, match=r"^Gradients.add: x is float32 but gradient is float64$"):
        loss.backward()


def test_a_gradient_has_the_shape_and_dtype_of_its_tensor() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x: Any = ones((3, 1), dtype)
        y: Any = ones((5,), dtype)

        grads = (((x.trace() * y.trace()) / 7 - 1).mean()).backward()

        assert (grads[x].shape, grads[x].dtype) == ((3, 1), dtype)
        assert (grads[y].shape, grads[y].dtype) == ((5,), dtype)


def test_a_gradient_is_read_without_being_removed() -> None:
    x = real(3)
    grads = Gradients()
    grads.add(x, x.data)

    assert grads.ref(x) is x.data
    assert grads.ref(x.trace()) is x.data
    assert x in grads
    with pytest.raises(KeyError, match=r"^no gradient has reached a tensor of shape \(2,\)$"):
        grads.ref(real(2))


def test_a_mutable_gradient_starts_at_zero() -> None:
    x: Any = tensor([1.0, 2.0])
    grads = Gradients()

    dx = grads.mut(x.trace())
    assert grads[x].tolist() == [0, 0]
    dx += x.data
    dx -= x.data * 3
    assert np.asarray(dx.value).tolist() == [-2, -4]

    again = grads.mut(x)
    again += x.data
    assert grads[x].tolist() == [-1, -2]
    assert grads[x].dtype == np.float32
    assert x.tolist() == [1, 2]


def test_a_mutable_gradient_rejects_other_shapes_and_ints() -> None:
    dx: Any = Gradients().mut(real(2, 3))

    with pytest.raises(ShapeError, match=r"^Accumulator.__iadd__: y is \(3,\) but \(2, 3\) is expected"):
        dx += real(3).data
    with pytest.raises(ShapeError, match=r"^Accumulator.__isub__: y is \(2, 5\) but \(2, 3\) is expected"):
        dx -= real(2, 5).data
    with pytest.raises(DTypeError, match=r"^a tensor of dtype int64 has no gradient$"):
        Gradients().mut(tensor([1, 2]))


def test_an_op_can_be_written_with_mut_and_ref() -> None:
    x: Any = tensor([1.0, 2.0])
    operand, tape = split_tape(x.trace() * 5)
    out = node(-operand.data)

    def backward(grads: Gradients) -> None:
        dx, dy = grads.mut_and_ref(operand, out)
        dx -= dy

    grads = tape.record(out, (operand,), backward).sum().backward()

    assert grads[x].tolist() == [-5, -5]
    assert len(grads) == 1


def test_mut_and_ref_changes_nothing_where_no_gradient_has_reached_the_result() -> None:
    x, y = real(3), real(2)
    grads = Gradients()

    with pytest.raises(KeyError, match=r"^no gradient has reached a tensor of shape \(2,\)$"):
        grads.mut_and_ref(x, y)

    assert len(grads) == 0


def test_a_removed_gradient_is_returned_once() -> None:
    x = real(3)
    grads = x.trace().sum().backward()

    assert grads.remove(x.trace()).tolist() == [1, 1, 1]
    assert grads.remove(x) is None
    assert x not in grads


SHAPE = (256, 256)

MADE: dict[str, tuple[Any, bool]] = {
    "no other reference": (lambda held: held * 2, True),
    "small": (lambda held: held[1:] * 2, False),  # and not worth a look
    "held": (lambda held: held, False),
    "a view": (lambda held: held[:], False),
    "one number": (lambda _: np.broadcast_to(np.float32(1), SHAPE), False),
}


@pytest.mark.parametrize(("made", "is_free"), MADE.values(), ids=MADE)
def test_a_gradient_may_be_overwritten_if_nothing_else_refers_to_it(made: Any, *, is_free: bool) -> None:
    x, held = ones(SHAPE), np.ones(SHAPE, np.float32)
    grads = Gradients()
    grads.values_by_node[x] = made(held)

    assert grads.pop_reusable(x)[1] is is_free
    assert x not in grads


def test_a_requested_gradient_is_not_reused() -> None:
    x = ones(SHAPE)
    grads = Gradients()
    grads._want([x], (), (), has_opaque=False)
    grads.values_by_node[x] = np.ones(SHAPE, np.float32)

    gradient, is_free = grads.pop_reusable(x)

    assert not is_free
    assert grads.values_by_node[x] is gradient


def test_a_missing_gradient_cannot_be_popped() -> None:
    with pytest.raises(KeyError, match=r"no gradient has reached a tensor of shape \(2,\)"):
        Gradients().pop_reusable(ones((2,)))


def test_a_replacement_is_not_added_to_the_old_gradient() -> None:
    x, y = real(3), real(2)
    grads = x.trace().sum().backward()

    grads.replace(x.trace(), x)
    grads.replace(y, y)

    assert grads[x].tolist() == x.tolist()
    assert grads[y].tolist() == y.tolist()


@pytest.mark.parametrize(
    ("key", "gradient", "error", "message"),
    [
        (real(3), real(2), ShapeError, r"Gradients.replace: S is \(3,\) in x but \(2,\) in gradient"),
        (real(3), ones((3,)), DTypeError, r"Gradients.replace: x is float64 but gradient is float32"),
        (real(3), real(3).trace(), TapeError, r"Gradients.replace: gradient has a tape but must have none"),
        (tensor([1, 2]), tensor([1, 2]), DTypeError, r"a tensor of dtype int64 has no gradient"),
    ],
)
def test_a_replacement_of_another_shape_or_dtype_is_rejected(
    key: Any, gradient: Any, error: type[Exception], message: str
) -> None:
    grads = Gradients()

    with pytest.raises(error, match=rf"^{message}$"):
        grads.replace(key, gradient)

    assert len(grads) == 0


def test_a_gradient_is_not_looked_up_by_a_string() -> None:
    grads: Any = ones((3,)).trace().sum().backward()
    with pytest.raises(DTypeError, match=r"^gradients are looked up by tensor, and a str is none$"):
        grads["weight"]


def test_an_attribute_error_of_a_tensor_itself_is_raised() -> None:
    class Measured(Tensor[Any, Any, Any]):
        @property
        def is_float(self) -> bool:
            return bool(self.unit)  # type: ignore[attr-defined]  # the mistake under test

    x: Any = Measured(real(3).data)

    with pytest.raises(AttributeError, match="unit"):
        Gradients()[x]
