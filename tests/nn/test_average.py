"""ModelEMA: the average, its saved state, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.io import load, save
from tapegrad.nn import BatchNorm1d, Linear, ModelEMA, Param, Sequential
from tapegrad.ops import full, normal, ones, zeros


def model(seed: int = 0) -> Any:
    return Sequential(Linear(3, 4, rng=seed), BatchNorm1d(4))


def test_parameters_are_averaged_exponentially() -> None:
    followed = Linear(2, 1, bias=False)
    followed.weight.assign(full((2, 1), 8.0))
    average = ModelEMA(followed, decay=0.75)

    seen = []
    for _ in range(2):
        followed.weight.assign(zeros((2, 1)))
        average.update(followed)
        seen.append(average.model.weight.tolist())

    assert seen == [[[6], [6]], [[4.5], [4.5]]]
    assert followed.weight.tolist() == [[0], [0]]


def test_buffers_are_copied() -> None:
    followed = model()
    average = ModelEMA(followed)

    followed(normal((5, 3), rng=1).trace())
    average.update(followed)

    assert average.model[1].running_mean.tolist() == followed[1].running_mean.tolist() != [0] * 4
    before = average.model[1].running_mean.tolist()
    followed(normal((5, 3), rng=2).trace())
    assert average.model[1].running_mean.tolist() == before


def test_the_average_has_no_gradients() -> None:
    average, x = ModelEMA(Linear(3, 4, rng=0)), ones((2, 3))

    grads = average(x.trace()).sum().backward()

    assert x in grads
    assert all(weight.frozen and weight not in grads for weight in average.parameters().values())


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    average, fresh, x = ModelEMA(model(0)), ModelEMA(model(1)), ones((2, 3))
    average.update(model(2))

    save(average, tmp_path / "average.npz")
    load(fresh, tmp_path / "average.npz")

    assert fresh.model(x).tolist() == average(x).tolist() != model(0)(x).tolist()
    assert "model.layers.1.running_var" in average.buffers()


def test_a_different_model_is_rejected_and_nothing_changes() -> None:
    average = ModelEMA(Linear(3, 4, rng=0))
    before = average.model.weight.tolist()
    wide: Any = Linear(3, 4)
    wide.bias = Param(zeros((4,), np.float64))

    with pytest.raises(ShapeError, match=r"^ModelEMA\.update: model differs from the average in bias$"):
        average.update(Linear(3, 4, bias=False))
    with pytest.raises(ShapeError, match=r"^ModelEMA\.update: weight is \(3, 5\) but \(3, 4\) is expected"):
        average.update(Linear(3, 5))
    with pytest.raises(DTypeError, match=r"^ModelEMA\.update: bias is float64 but float32 is expected$"):
        average.update(wide)
    assert average.model.weight.tolist() == before


def test_invalid_arguments_are_rejected() -> None:
    other: Any = [Linear(3, 4)]

    with pytest.raises(DTypeError, match=r"^ModelEMA: model is a list, not a module$"):
        ModelEMA(other)
    with pytest.raises(ValueError, match=r"^ModelEMA: decay is 2 but must be from 0 to 1$"):
        ModelEMA(Linear(3, 4), decay=2)  # type: ignore[arg-type]  # out of range
    assert repr(ModelEMA(Linear(3, 4), decay=0.5)) == "ModelEMA(Linear(3, 4), decay=0.5)"
