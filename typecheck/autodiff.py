"""Autodiff: backends whose values can be differentiated, and modules that cannot be trained."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, nn, optim
from tapegrad.autodiff import Autodiff
from tapegrad.checkpoint import BalancedCheckpointing
from tapegrad.engines import Backend
from tapegrad.engines.numpy.engine import NumPy

V = TypeVar("V")
I = TypeVar("I")
B = TypeVar("B")
Q = TypeVar("Q")

x = tg.ones((3, 5))
numpy = Autodiff(NumPy(), BalancedCheckpointing())


def accept_a_tape_outside_and_none_inside() -> None:
    leaf = numpy.from_inner(x)
    assert_type(leaf, Tensor[Shape[L[3], L[5]], NoneTape])
    tracked = numpy.require_grad(leaf)
    assert_type(tracked, Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(numpy.inner(tracked), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(numpy.detach(tracked), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_gradients_as_inner_tensors() -> None:
    tracked = numpy.require_grad(x)
    grads = numpy.backward((tracked * tracked).sum())
    assert_type(grads, Gradients)
    gradient = numpy.grad(tracked, grads)
    assert gradient is not None
    assert_type(gradient, Tensor[Shape[L[3], L[5]], NoneTape])
    numpy.grad_replace(tracked, grads, gradient * 2.0)
    removed = numpy.grad_remove(tracked, grads)
    assert removed is not None
    assert_type(removed, Tensor[Shape[L[3], L[5]], NoneTape])


def accept_the_types_that_belong_to_a_backend() -> None:
    def largest(backend: Backend[V, I, B, Q], x: V) -> tuple[I, B]:
        return backend.argmax(x, 0, keepdims=True), backend.any(x, 0, keepdims=True)

    assert_type(largest(NumPy(), np.ones((3, 5)))[0], np.ndarray[Any, np.dtype[np.integer[Any]]])
    assert_type(largest(NumPy(), np.ones((3, 5)))[1], np.ndarray[Any, np.dtype[np.bool_]])
    assert_type(largest(Autodiff(), x)[0], Tensor[Any, Any, np.integer[Any]])
    assert_type(largest(Autodiff(), x)[1], Tensor[Any, Any, np.bool_])


def accept_whole_numbers_as_they_are() -> None:
    assert_type(numpy.int_inner(tg.tensor([1, 2])), Tensor[Shape[L[2]], NoneTape, np.int64])


def accept_a_valid_module() -> None:
    valid = nn.Linear(5, 7).valid()
    assert_type(valid, nn.Valid[nn.Linear[L[5], L[7], L[True]]])
    assert_type(valid(x), Tensor[Shape[L[3], L[7]], NoneTape])


def reject_backward_of_what_nothing_tracks() -> None:
    numpy.backward(numpy.from_inner(x).sum())  # E: Autodiff.backward: y has no tape but needs one [tapegrad-tape]


def reject_a_gradient_required_twice() -> None:
    numpy.require_grad(x.trace())  # E: Autodiff.require_grad: x has a tape but must have none [tapegrad-tape]


def reject_a_tape_below_numpy() -> None:
    numpy.from_inner(x.trace())  # E: Autodiff.from_inner: x has a tape but must have none [tapegrad-tape]


def reject_the_gradient_of_what_nothing_tracks() -> None:
    grads = numpy.backward(numpy.require_grad(x).sum())
    numpy.grad_replace(x, grads, x)  # E: Autodiff.grad_replace: x has no tape but needs one [tapegrad-tape]


def accept_a_tape_below_another_level() -> None:
    assert_type(Autodiff(Autodiff()).from_inner(x.trace()), Tensor[Shape[L[3], L[5]], NoneTape])


def reject_a_parameter_that_is_not_lifted() -> None:
    level = Autodiff()
    w = nn.Param(tg.ones((5, 2)))
    leaf = level.from_inner(x.trace())
    derivative = level.inner(tg.tanh(leaf.trace() @ w).sum().backward()[leaf])
    grads = tg.square(derivative).sum().backward()
    assert_type(grads[w], Tensor[Shape[L[5], L[2]], NoneTape])  # E(Python): a parameter of shape (5, 2) was used one level up, where it is a constant; give that level Autodiff.from_inner of it


def reject_the_inner_value_of_an_inner_value() -> None:
    level = Autodiff()
    below = level.inner(level.from_inner(x.trace()))
    level.inner(below)  # E(Python): Autodiff.inner: y is on a tape of the level below; give this level Autodiff.from_inner of it [tapegrad-tape]


def reject_wrt_of_a_parameter_that_is_not_lifted() -> None:
    level = Autodiff()
    w = nn.Param(tg.ones((5, 2)))
    y = (level.from_inner(x.trace()) @ w).sum()
    level.inner(y).backward(wrt=[w])  # E(Python): backward: a parameter of shape (5, 2) was used one level up, where it is a constant; give that level Autodiff.from_inner of it


def reject_training_a_parameter_that_is_not_lifted() -> None:
    level = Autodiff()
    w = nn.Param(tg.ones((5, 2)))
    y = (level.from_inner(x.trace()) @ w).sum() + level.from_inner((w * w).sum())
    opt = optim.SGD([w], lr=0.1)
    opt.step(level.inner(y).backward())  # E(Python): SGD.step: [0] of shape (5, 2) was used one level up, where it is a constant; give that level Autodiff.from_inner of it


def reject_training_a_valid_module() -> None:
    optim.SGD(nn.Linear(5, 7).valid(), lr=0.1)  # E(mypy): Argument 1 to "SGD" has incompatible type "Valid[Linear[Literal[5], Literal[7], Literal[True], floating[_32Bit]]]"; expected Module | Mapping[str, Param[Any, Any]] | Iterable[Param[Any, Any]] [arg-type]


def reject_a_valid_module_where_a_module_is_trained() -> None:
    def trained(model: nn.Linear[L[5], L[7]]) -> None:
        optim.SGD(model, lr=0.1)

    trained(nn.Linear(5, 7).valid())  # E(mypy): Argument 1 to "trained" has incompatible type "Valid[Linear[Literal[5], Literal[7], Literal[True], floating[_32Bit]]]"; expected "Linear[Any, Any, Any, floating[_32Bit]]" [arg-type]


def reject_what_does_not_fit_a_valid_module() -> None:
    nn.Linear(5, 7).valid()(tg.ones((3, 4)))  # E(mypy): Linear.forward: x is (3, 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]


def reject_a_gradient_of_whole_numbers_required() -> None:
    numpy.require_grad(tg.tensor([1, 2]))  # E: Autodiff.require_grad: x is int64 but floating is expected [tapegrad-dtype]


def reject_a_float_in_the_place_of_whole_numbers() -> None:
    numpy.int_inner(x)  # E(mypy): Value of type variable "Ints" of "int_inner" of "Autodiff" cannot be "Tensor[tuple[Literal[3], Literal[5]], NoneTape, floating[_32Bit]]" [type-var]
