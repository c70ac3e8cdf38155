"""Programs as values: monad laws, both notations, errors, and long runs."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tapegrad import ops, tapem
from tapegrad.autograd.gradients import MissingGradientError
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.tapem import Err, Node, Ok, Tape, TapeM

EMPTY = Tape.empty()
ODD = Err("domain", "halved", "an even number is expected", "n is odd")


def entered(n: float) -> TapeM[float]:
    """Append a leaf, so that the tape shows the order of steps."""
    return tapem.leaf(ops.full((2,), n)).map(lambda node: node.value.numpy()[0] + 1)


def same(one: TapeM[Any], other: TapeM[Any]) -> bool:
    return one.run(EMPTY) == other.run(EMPTY)


def test_pure_is_a_left_identity() -> None:
    assert same(tapem.pure(3.0).bind(entered), entered(3.0))


def test_pure_is_a_right_identity() -> None:
    assert same(entered(3.0).bind(tapem.pure), entered(3.0))


def test_bind_is_associative() -> None:
    left = entered(1.0).bind(entered).bind(lambda n: entered(n * 2))
    right = entered(1.0).bind(lambda n: entered(n).bind(lambda m: entered(m * 2)))

    assert same(left, right)
    assert left.eval(EMPTY) == Ok(7.0)
    assert len(left.exec(EMPTY).unwrap()) == 3


def test_map_keeps_identity_and_composition() -> None:
    def doubled(n: float) -> float:
        return 2 * n

    assert same(entered(3.0).map(lambda n: n), entered(3.0))
    assert same(entered(3.0).map(doubled).map(str), entered(3.0).map(lambda n: str(doubled(n))))


def test_fail_ends_a_program_and_leaves_the_tape_unchanged() -> None:
    tape = entered(1.0).exec(EMPTY).unwrap()
    copy = list(tape)

    assert entered(2.0).bind(lambda _: tapem.fail(ODD)).bind(entered).run(tape) == ODD
    assert tapem.fail(ODD).map(str).eval(tape) == ODD
    assert tapem.fail(ODD).exec(tape) == ODD
    assert list(tape) == copy
    assert len(entered(3.0).exec(tape).unwrap()) == 2


def test_get_tape_and_set_tape() -> None:
    @tapem.do
    def undone() -> tapem.Do[tuple[int, int]]:
        before = yield from tapem.get_tape()
        yield from entered(1.0)
        during = yield from tapem.get_tape()
        yield from tapem.set_tape(before)
        return len(before), len(during)

    assert undone().run(EMPTY) == Ok(((0, 1), EMPTY))


def test_setting_the_current_tape_changes_nothing() -> None:
    assert same(tapem.get_tape().bind(tapem.set_tape), tapem.pure(None))
    assert same(entered(1.0).bind(lambda _: tapem.get_tape()).map(len), entered(1.0).map(lambda _: 1))


@tapem.do
def by_generator(n: float, steps: int) -> tapem.Do[float]:
    for _ in range(steps):
        n = yield from entered(n)
    return n


@tapem.do
async def by_await(n: float, steps: int) -> float:
    for _ in range(steps):
        n = await entered(n)
    return n


@pytest.mark.parametrize("program", [by_generator, by_await], ids=["yield from", "await"])
def test_a_program_runs_twice_to_equal_and_independent_tapes(program: Callable[..., TapeM[float]]) -> None:
    twice = program(1.0, 3)

    first, second = twice.exec(EMPTY).unwrap(), twice.exec(EMPTY).unwrap()

    assert first == second
    assert not any(node in second for node in first)
    assert twice.eval(EMPTY) == Ok(4.0)


def test_both_notations_give_the_same_program() -> None:
    assert same(by_generator(1.0, 3), by_await(1.0, 3))


def test_programs_can_be_nested() -> None:
    @tapem.do
    async def outer() -> float:
        inner = by_generator(1.0, 2)
        return await by_await(await inner, 2)

    assert outer().eval(EMPTY) == Ok(5.0)
    assert len(outer().exec(EMPTY).unwrap()) == 4


def test_a_failure_in_a_nested_program_ends_all_and_runs_finally() -> None:
    closed: list[str] = []

    @tapem.do
    def inner() -> tapem.Do[float]:
        try:
            yield from tapem.fail(ODD)
        finally:
            closed.append("inner")
        return 0.0

    @tapem.do
    async def outer() -> float:
        try:
            return await inner()
        finally:
            closed.append("outer")

    assert outer().run(EMPTY) == ODD
    assert closed == ["inner", "outer"]


def test_an_exception_propagates_through_nested_programs() -> None:
    @tapem.do
    def broken() -> tapem.Do[float]:
        yield from entered(1.0)
        raise ZeroDivisionError

    @tapem.do
    async def recovered() -> str:
        try:
            await broken().bind(entered)
        except ZeroDivisionError:
            await entered(2.0)
            return "recovered"
        return "whole"

    with pytest.raises(ZeroDivisionError):
        broken().map(str).run(EMPTY)
    assert recovered().eval(EMPTY) == Ok("recovered")
    assert len(recovered().exec(EMPTY).unwrap()) == 2


def test_an_exception_of_a_bound_function_reaches_the_program_around_it() -> None:
    @tapem.do
    def around() -> tapem.Do[str]:
        try:
            yield from tapem.pure(0).map(lambda n: 1 // n)
        except ZeroDivisionError:
            return "caught"
        return "missed"

    assert around().eval(EMPTY) == Ok("caught")


def test_a_bound_function_may_raise_stop_iteration() -> None:
    # Its StopIteration once ended the generator around it, as if that had returned.
    nothing: Iterator[str] = iter(())

    @tapem.do
    def around() -> tapem.Do[str]:
        return (yield from tapem.pure(nothing).map(next))

    with pytest.raises(RuntimeError, match="StopIteration"):
        around().run(EMPTY)
    with pytest.raises(StopIteration):
        tapem.pure(nothing).map(next).run(EMPTY)


@pytest.mark.parametrize("fails", ["nowhere", "between steps", "in a step"])
def test_a_run_leaves_no_reference_cycle(fails: str) -> None:
    empty, seen = Tape.empty(), list[weakref.ref[Any]]()

    @tapem.do
    def program() -> tapem.Do[None]:
        x = yield from tapem.leaf(ops.ones((2,)))
        y = yield from tapem.exp(x)
        seen.append(weakref.ref(y.value))
        if fails == "between steps":
            raise TypeError
        if fails == "in a step":
            yield from tapem.lift(ops.split)(y, 2)

    gc.disable()
    try:
        with contextlib.suppress(TypeError):
            program().run(empty)
        assert seen[0]() is None
    finally:
        gc.enable()


def test_an_exception_in_finally_is_not_lost() -> None:
    @tapem.do
    def program() -> tapem.Do[None]:
        try:
            yield from tapem.fail(ODD)
        finally:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program().run(EMPTY)


class TestDepth:
    COUNT = 100_000

    def test_binds_to_the_left_do_not_recurse(self) -> None:
        program = tapem.pure(0)
        for _ in range(self.COUNT):
            program = program.bind(lambda n: tapem.pure(n + 1))

        assert program.eval(EMPTY) == Ok(self.COUNT)

    def test_binds_to_the_right_do_not_recurse(self) -> None:
        def counted(n: int) -> TapeM[int]:
            return tapem.pure(n) if n == self.COUNT else tapem.pure(n + 1).bind(counted)

        assert counted(0).eval(EMPTY) == Ok(self.COUNT)

    def test_maps_do_not_recurse(self) -> None:
        program = tapem.pure(0)
        for _ in range(self.COUNT):
            program = program.map(lambda n: n + 1)

        assert program.eval(EMPTY) == Ok(self.COUNT)

    def test_steps_of_one_program_do_not_recurse(self) -> None:
        @tapem.do
        def counted() -> tapem.Do[int]:
            total = 0
            for _ in range(self.COUNT):
                total += yield from tapem.pure(1)
            return total

        assert counted().eval(EMPTY) == Ok(self.COUNT)

    def test_programs_within_programs_do_not_recurse(self) -> None:
        @tapem.do
        async def nested(depth: int) -> int:
            return 0 if depth == 0 else 1 + await nested(depth - 1)

        assert nested(20_000).eval(EMPTY) == Ok(20_000)


def test_non_programs_are_rejected() -> None:
    plain: Any = lambda: 3  # noqa: E731  # no generator, by intent

    @tapem.do
    def yields_a_number() -> tapem.Do[None]:
        yield 3  # type: ignore[misc]  # the mistake under test

    with pytest.raises(TypeError, match=r"^do: <lambda> is neither a generator nor an async def$"):
        tapem.do(plain)().run(EMPTY)
    with pytest.raises(TypeError, match=r"^run: an int is no program, and no step of one$"):
        yields_a_number().run(EMPTY)
    with pytest.raises(TypeError, match=r"^run: a str is no program, and no step of one$"):
        tapem.pure(3).bind(str).run(EMPTY)  # type: ignore[arg-type]  # the mistake under test


def test_the_repr_of_a_program_has_its_first_step() -> None:
    x = tapem.leaf(ops.tensor(1.0), name="x").eval(EMPTY).unwrap()
    programs = [
        tapem.exp(x),
        tapem.leaf(ops.tensor(1.0)),
        tapem.pure(3),
        tapem.get_tape(),
        tapem.set_tape(EMPTY),
        by_await(1, 1),
    ]

    assert list(map(repr, programs)) == [
        f"TapeM({op})" for op in ("exp", "leaf", "pure", "get_tape", "set_tape", "by_await")
    ]
    assert repr(tapem.exp(x).bind(tapem.log).map(str)) == "TapeM(exp, ...)"
    assert repr(tapem.fail(Err("domain", "me", "b", "a"))) == "TapeM(fail)"


def test_non_tapes_are_rejected() -> None:
    tape: Any = 3

    with pytest.raises(TypeError, match=r"^run: tape is an int, not a Tape$"):
        tapem.pure(3).run(tape)


def test_a_program_keeps_the_name_of_its_function() -> None:
    assert by_await.__name__ == "by_await"


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        ("shape", ShapeError),
        ("dtype", DTypeError),
        ("tape", TapeError),
        ("missing", MissingGradientError),
        ("index", IndexError),
        ("domain", ValueError),
    ],
)
def test_unwrap_raises_the_error_of_the_library(code: Any, raised: type[Exception]) -> None:
    error = Err(code, "relu", "floating is expected", "x is int64")

    assert str(error) == "relu: x is int64 but floating is expected"
    with pytest.raises(raised) as caught:
        error.unwrap()
    assert type(caught.value) is raised
    assert str(caught.value) == str(error)
    assert Err.of("relu", caught.value) == error


def test_an_error_may_need_no_expectation() -> None:
    error = Err.of("softmax", ShapeError("softmax: axis 3 is out of range for x (2,)"))

    assert error == Err("shape", "softmax", "", "axis 3 is out of range for x (2,)")
    assert str(error) == "softmax: axis 3 is out of range for x (2,)"


def test_ok_unwraps_to_its_value() -> None:
    assert Ok(3).unwrap() == 3
    assert isinstance(tapem.leaf(ops.ones((2,))).eval(EMPTY).unwrap(), Node)
