"""Later calls of a compiled step: which arguments may be replaced without reading all arguments again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad.jax.binding import Binding

jit: Any = tg.jit


def vectors(first: float, count: int = 3) -> list[Any]:
    return [tg.tensor([first + place, -1.0]) for place in range(count)]


def total(xs: Any) -> Any:
    xs = [*xs.values()] if isinstance(xs, dict) else xs
    return sum((place * x for place, x in enumerate(xs[1:], start=2)), xs[0])


@pytest.mark.parametrize("kind", [list, tuple, lambda xs: dict(zip("abc", xs, strict=True))])
def test_another_list_of_tensors_is_bound_to_the_same_program(kind: Any) -> None:
    step = jit(lambda xs, y: total(xs) + y)
    step(kind(vectors(0.0)), tg.ones((2,)))
    bindings = Binding.latest

    for first in (1.0, 2.0):
        xs, y = vectors(first), tg.tensor([first, 0.0])
        for _ in range(2):
            np.testing.assert_array_equal(step(kind(xs), y=y).numpy(), (total(xs) + y).numpy())
            bindings = max(bindings, Binding.latest) if first == 1.0 else bindings

    assert Binding.latest == bindings
    assert tg.jax.programs(step).compiled == 1


def test_results_of_a_step_are_the_next_list() -> None:
    step = jit(lambda xs: [x * 2.0 for x in xs])
    xs = step(vectors(1.0))
    bindings = Binding.latest

    xs = step(step(xs))

    assert [x.tolist() for x in xs] == [[8.0, -8.0], [16.0, -8.0], [24.0, -8.0]]
    assert Binding.latest == bindings


def test_a_list_in_an_object_is_bound_once() -> None:
    step = jit(lambda part: total(part[0]) + part[1])
    part = (vectors(0.0), tg.ones((2,)))
    expected = step(part).tolist()
    bindings = Binding.latest

    assert step(part).tolist() == expected
    assert Binding.latest == bindings
    part[0][1] = tg.tensor([5.0, 5.0])
    assert step(part).tolist() == (total(part[0]) + part[1]).tolist()


@pytest.mark.parametrize(
    "others",
    [
        vectors(1.0, 4),
        vectors(1.0, 2),
        [tg.ones((3,)), tg.ones((3,)), tg.ones((3,))],
        [tg.tensor([1, 2]), tg.tensor([3, 4]), tg.tensor([5, 6])],
        [*vectors(1.0, 2), 2.0],
        [tg.ones((2,))] * 3,
        tuple(vectors(1.0)),
        dict(zip("cba", vectors(1.0), strict=True)),
    ],
    ids=["longer", "shorter", "shape", "dtype", "number", "repeated", "tuple", "dictionary"],
)
def test_a_list_of_another_kind_is_another_program(others: Any) -> None:
    step = jit(total)
    step(vectors(0.0))

    assert step(others).tolist() == total(others).tolist()
    assert step(vectors(0.0)).tolist() == total(vectors(0.0)).tolist()


def test_other_names_are_another_program() -> None:
    step = jit(lambda named: named["a"] - named["b"])
    a, b = vectors(0.0, 2)
    step({"a": a, "b": b})

    assert step({"b": b, "a": a}).tolist() == (a - b).tolist()
    with pytest.raises(KeyError, match="'b'"):
        step({"a": a, "c": b})


def test_a_tensor_that_is_also_in_a_list_is_not_replaced_alone() -> None:
    traces: list[int] = []

    def traced(xs: Any, x: Any) -> Any:
        traces.append(1)
        return total(xs) * (2.0 if xs[0] is x else 1.0) + x

    step = jit(traced)
    xs, y = vectors(0.0), tg.ones((2,))

    assert step(xs, xs[0]).tolist() == (total(xs) * 2.0 + xs[0]).tolist()
    assert step(xs, y).tolist() == (total(xs) + y).tolist()
    assert step(xs, xs[0]).tolist() == (total(xs) * 2.0 + xs[0]).tolist()
    assert step(vectors(1.0), xs[0]).tolist() == (total(vectors(1.0)) + xs[0]).tolist()
    assert len(traces) == 2


def test_two_tensors_may_change_places() -> None:
    step = jit(lambda x, y: x - y)
    x, y = vectors(0.0, 2)
    step(x, y)
    bindings = Binding.latest

    assert step(y, x).tolist() == (y - x).tolist()
    assert step(x, x).tolist() == [0.0, 0.0]
    assert step(x, y).tolist() == (x - y).tolist()
    assert Binding.latest == bindings + 1


def test_one_list_as_two_arguments_is_another_program() -> None:
    def traced(xs: Any, ys: Any) -> Any:
        return total(xs) - total(ys) + (1.0 if xs is ys else 0.0)

    step = jit(traced)
    xs, ys = vectors(0.0), vectors(1.0)

    for first, second in ((xs, xs), (xs, ys), (ys, ys), ([*xs], xs)):
        expected = total(first) - total(second) + (1.0 if first is second else 0.0)
        assert step(first, second).tolist() == expected.tolist()


def test_a_list_that_is_also_a_variable_of_the_step_is_another_program() -> None:
    held = vectors(0.0)
    step = jit(lambda xs: total(xs) + (1.0 if xs is held else 0.0))

    assert step(held).tolist() == (total(held) + 1.0).tolist()
    assert step(vectors(1.0)).tolist() == total(vectors(1.0)).tolist()
    assert step(held).tolist() == (total(held) + 1.0).tolist()


def test_a_gradient_counts_a_list_twice_that_the_step_also_reads_as_a_variable() -> None:
    held = vectors(1.0)

    def traced(xs: Any) -> Any:
        x = xs[0].trace()
        loss = (x * held[0]).sum()
        return loss.backward()[xs[0]]

    step = jit(traced)
    for xs, gradient in ((vectors(2.0), [1.0, -1.0]), (held, [2.0, -2.0]), (vectors(3.0), [1.0, -1.0])):
        assert step(xs).tolist() == gradient
        with tg.disable_jit():
            assert step(xs).tolist() == gradient
