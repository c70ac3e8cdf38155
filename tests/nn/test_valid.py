"""Valid modules: they predict, and training rejects them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import TapeError
from tapegrad.nn import Dropout, Linear, Module, Sequential, Valid
from tapegrad.ops import ones, zeros
from tapegrad.optim import SGD


def test_a_valid_module_equals_the_module() -> None:
    model = Sequential(Linear(5, 3, rng=0), Dropout(0.5, rng=1))

    valid = model.valid()

    assert isinstance(valid, Valid)
    assert not isinstance(valid, Module)
    assert valid(ones((2, 5))).tolist() == model(ones((2, 5))).tolist()
    assert repr(Linear(5, 3, rng=0).valid()) == "Valid(Linear(5, 3))"


def test_its_parameters_are_those_of_the_module() -> None:
    layer = Linear(5, 3, bias=False, rng=0)
    valid = layer.valid()

    layer.weight.assign(zeros((5, 3)))

    assert valid(ones((2, 5))).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_traced_inputs_are_rejected() -> None:
    valid: Any = Linear(5, 3, rng=0).valid()
    message = r"^Valid\(Linear\(5, 3\)\): an argument has a tape, but a valid module only predicts; use x\.trace\(tra"

    with pytest.raises(TapeError, match=message):
        valid(ones((2, 5)).trace())
    with pytest.raises(TapeError, match=message):
        valid(x=ones((2, 5)).trace())


def test_a_tape_on_which_layers_do_not_train_is_accepted() -> None:
    model = Sequential(Linear(5, 3, rng=0), Dropout(0.5, rng=1))
    x = ones((2, 5))

    grads = model.valid()(x.trace(training=False)).sum().backward()

    np.testing.assert_allclose(grads[x].numpy(), np.tile(model[0].weight.numpy().sum(1), (2, 1)), rtol=1e-6)


def test_the_error_names_a_model_in_one_line() -> None:
    message = (
        r"^Valid\(Sequential\): an argument has a tape, but a valid module only predicts; "
        r"use x\.trace\(training=False\)$"
    )
    with pytest.raises(TapeError, match=message):
        Sequential(Linear(5, 3)).valid()(ones((2, 5)).trace())


def test_training_functions_reject_it() -> None:
    model = Linear(5, 3, rng=0)
    valid: Any = model.valid()
    loss: Any = model(ones((2, 5)).trace()).sum()

    with pytest.raises(TapeError, match=r"^Valid\(Linear\(5, 3\)\) has no parameters to train; it is made of a module"):
        loss.backward(wrt=valid)
    with pytest.raises(TypeError):
        SGD(valid, lr=0.1)
    loss.backward(wrt=model)
