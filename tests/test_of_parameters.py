"""What is computed of parameters alone, before they meet a tape: it meets none, for their gradient would be lost."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn
from tapegrad.errors import TapeError


def parameter(*shape: int, frozen: bool = False) -> Any:
    return nn.Param(tg.normal(shape, rng=0), frozen=frozen)


REJECTED: dict[str, tuple[Any, str]] = {
    "a penalty": (
        lambda x, w: (x @ w).sum() + (w * w).sum(),
        r"^add: a tensor \(\) was computed of parameters alone, ",
    ),
    "on the left": (lambda x, w: (w * w).sum() + (x @ w).sum(), r"^add: a tensor \(\) was computed of parameters"),
    "turned": (
        lambda x, w: x @ w @ w.T,
        r"^matmul: a tensor \(5, 3\) was computed of parameters alone, before they met ",
    ),
    "with a number": (
        lambda x, w: x @ (2.0 * w + 1),
        r"^matmul: a tensor \(3, 5\) .* no gradient would reach them; give them the tape with put_tape, or detach ",
    ),
    "one among several": (lambda x, w: tg.concat([x @ w, tg.exp(w)]), r"^concat: a tensor \(3, 5\) was computed of"),
    "by a composed op": (
        lambda x, w: x @ tg.softmax(w),
        r"^matmul: a tensor \(3, 5\) was computed of parameters alone",
    ),
    "two parameters": (lambda x, w: x @ (w @ parameter(5, 4)), r"^matmul: a tensor \(3, 4\) was computed of"),
}


@pytest.mark.parametrize(("program", "message"), REJECTED.values(), ids=REJECTED)
def test_what_comes_of_parameters_alone_meets_no_tape(program: Any, message: str) -> None:
    x, w = tg.ones((2, 3)), parameter(3, 5)

    with pytest.raises(TapeError, match=message):
        program(x.trace(), w)

    assert not program(x, w).owns_tape  # without a tape it computes


ACCEPTED: dict[str, Any] = {
    "detached": lambda x, w: x @ (w * w).detach(),
    "of a frozen parameter": lambda x, w: x @ (parameter(3, 5, frozen=True) * 2.0) + w.detach()[:2],
    "of data as well": lambda x, w: x @ w * (tg.ones((2, 3)) @ w).sum(),  # a teacher, or a target
    "traced": lambda x, w: (w * 2.0).trace().sum() * x.sum(),
    "on a tape by hand": lambda x, w: x @ (w * w).put_tape(x.tape),
    "a number alone": lambda x, w: x * 2.0 @ w,
}


@pytest.mark.parametrize("program", ACCEPTED.values(), ids=ACCEPTED)
def test_what_somebody_has_decided_on_is_recorded(program: Any) -> None:
    x, w = tg.ones((2, 3)), parameter(3, 5)

    assert program(x.trace(), w).owns_tape


def test_a_parameter_on_the_tape_gets_both_halves_of_its_gradient() -> None:
    x, w = tg.ones((2, 3)), parameter(3, 5)

    loss = (x.trace() @ w).sum()
    v = w.put_tape(loss.tape)
    grads = (loss + (v * v).sum()).backward(wrt=w)

    np.testing.assert_allclose(grads[w].numpy(), 2 + 2 * w.numpy(), rtol=1e-6)


def test_a_tape_that_has_rejected_goes_on_as_it_was() -> None:
    x, w = tg.ones((2, 3)), parameter(3, 5)
    y = x.trace()
    loss = (y @ w).sum()

    with pytest.raises(TapeError, match="parameters alone"):
        loss + (w * w).sum()

    assert loss.backward(wrt=w)[w].tolist() == [[2.0] * 5] * 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301  # of our own
def test_a_copy_comes_of_parameters_as_well(copied: Any) -> None:
    x, w = tg.ones((2, 3)), parameter(3, 5)

    with pytest.raises(TapeError, match="parameters alone"):
        x.trace() @ copied(w * 2.0)


def test_it_is_a_tensor_like_any_other() -> None:
    w = parameter(3, 5)

    assert repr(w * 0.0).startswith("Tensor(")
    assert isinstance(w.T, tg.Tensor)
    assert (w - w).sum().item() == 0.0
