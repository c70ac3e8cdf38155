"""Rows that a compiled step takes out of an array: their indices are inputs, so equal kernels are compiled once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad.jax import program

jit: Any = tg.jit


def taken(count: int) -> tuple[Any, Any]:
    """Return a step that takes each row of an array and multiplies it, and what it compiles."""
    x = tg.tensor(np.arange(3.0 * count, dtype=np.float32).reshape(count, 3))
    calls: list[Any] = []
    made = program.Program

    def noted(call: Any, *rest: Any) -> Any:
        calls.append(call)
        return made(call, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "Program", noted)
        rows = jit(lambda x: [2 * x[at] for at in range(count)])(x)
    assert [row.tolist() for row in rows] == (2 * x).tolist()
    return calls[0], rows


def test_the_indices_of_many_rows_are_inputs() -> None:
    call, _ = taken(64)

    assert isinstance(call, partial)
    assert [int(one) for one in call.args] == [*range(64)]


@pytest.mark.parametrize("count", [63, 257])
def test_few_rows_and_very_many_have_constant_indices(count: int) -> None:
    call, _ = taken(count)

    assert not isinstance(call, partial)


def test_a_row_of_a_row_a_seed_and_a_parameter_that_changes_are_as_without_jit() -> None:
    def step(w: Any, x: Any, scale: float) -> Any:
        rows = [(x[at] * w * scale).sum() for at in range(70)]
        deeper = [x[at][at % 3] for at in range(3)]
        w.assign(w.detach() + x[7])
        return [*rows, *deeper]

    made = np.random.default_rng(0).normal(size=(70, 3, 4)).astype(np.float32)
    results = []
    for run in (step, jit(step)):
        w, x = tg.nn.Param(tg.ones((3, 4))), tg.tensor(made)
        found = [run(w, x, 0.5), run(w, x, 2.0)]
        results.append([one.numpy() for row in found for one in row] + [w.numpy()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)
