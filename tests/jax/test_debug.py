"""`debug.print` under `jit`: once for each run, also in loops and backward passes; see also test_place.py."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import Tape, Tensor, nn
from tapegrad.sizes import Dims

jit: Any = tg.jit

S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)


def shown_shape(x: Dims) -> Dims:
    return x


@tg.op(shown_shape)
def shown(x: Tensor[S, T]) -> Tensor[S, T]:
    """Return x, and print its gradient in the backward pass."""
    x, tape = tg.split_tape(x)
    out = tg.node(x.data)

    def backward(grads: tg.Gradients) -> None:
        dy = grads.pop_output(out)
        tg.debug.print("gradient {dy}", dy=dy)
        grads.add(x, dy)

    return tape.record(out, (x,), backward)


def test_each_call_prints_its_own_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    def printing(layer: Any, x: Any, k: float) -> Any:
        tg.debug.print("{k} {bias} {total:.1f}", k=k, bias=layer.bias, total=x.sum())
        return layer(x)

    step, layer = jit(printing), nn.Linear(2, 2, rng=0)
    for k in (0.5, 1.5):
        layer.bias.assign(tg.tensor([k, 1.0]))
        step(layer, tg.tensor([[k, 2.0]]), k)

    assert capsys.readouterr().out == "0.5 [0.5 1. ] 2.5\n1.5 [1.5 1. ] 3.5\n"
    assert step.programs.compiled == 1


def looped(xs: Any, h: Any, scale: Any) -> Any:
    """Print in two nested loops and their backward passes; the steps read a taped tensor, so each is recorded twice."""
    traced = scale.trace()

    def inner(h: Any, x: Any) -> Any:
        tg.debug.print("inner {x} {constant}", x=x, constant=7)
        return h + x * traced, None

    def outer(h: Any, row: Any) -> Any:
        h, _ = tg.scan(inner, h, row)
        h = shown(h * 0.5)
        tg.debug.print("outer {h}", h=h)
        return h, h

    last, states = tg.scan(outer, h, xs)
    tg.debug.print("after {last}", last=last)
    return states.sum().backward()[scale]


def test_loops_print_what_they_print_without_jit(capsys: pytest.CaptureFixture[str]) -> None:
    args = tg.tensor([[1.0, 2.0], [4.0, 8.0]]), tg.tensor(0.0), tg.tensor(1.0)

    expected, theirs = looped(*args), capsys.readouterr().out
    found, ours = jit(looped)(*args), capsys.readouterr().out

    assert ours == theirs
    assert [line.split()[0] for line in ours.splitlines()] == [
        *["inner", "inner", "outer"] * 2,
        "after",
        *["gradient"] * 2,
    ]
    assert found.item() == expected.item()


def test_a_loop_prints_numbers_alone_in_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    def step(h: Any, x: Any) -> Any:
        tg.debug.print("at {one}", one=tg.ones((2,)))
        return h + x, None

    jit(lambda xs: tg.scan(step, tg.tensor(0.0), xs)[0])(tg.ones((3,)))

    assert capsys.readouterr().out == "at [1. 1.]\n" * 3


def test_a_checkpointed_segment_prints_once(capsys: pytest.CaptureFixture[str]) -> None:
    @tg.checkpoint
    def segment(x: Any) -> Any:
        y = tg.square(x)
        tg.debug.print("{y}", y=y)
        return tg.square(y)

    jit(lambda x: segment(x.trace()).sum().backward()[x])(tg.tensor([2.0]))

    assert capsys.readouterr().out == "[4.]\n"


def test_a_step_that_is_not_compiled_prints_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    step = jit(lambda x: tg.debug.print("{x}", x=x))

    with tg.disable_jit():
        step(tg.tensor([2.0]))

    assert capsys.readouterr().out == "[2.]\n"
