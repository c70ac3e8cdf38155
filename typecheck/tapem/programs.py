"""`tapem` programs in both notations: steps are typed without a cast, and a dropped step is an error."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, tapem
from tapegrad.tapem import Node, Tape, TapeM

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)


@tapem.do
def dense(x: Node[Shape[M]], w: Node[Shape[N, M]]) -> tapem.Do[Node[Shape[N]]]:
    y = yield from tapem.matmul(w, x)
    assert_type(y, Node[Shape[N]])
    return (yield from tapem.relu(y))


@tapem.do
def by_generator() -> tapem.Do[Node[tuple[()]]]:
    x = yield from tapem.leaf(tg.ones((3,)), name="x")
    w = yield from tapem.leaf(tg.ones((2, 3)), name="w")
    y = yield from dense(x, w)
    assert_type(y, Node[Shape[L[2]]])
    return (yield from tapem.sum(y))


@tapem.do
async def by_await() -> Node[tuple[()]]:
    x = await tapem.leaf(tg.ones((3,)), name="x")
    w = await tapem.leaf(tg.ones((2, 3)), name="w")
    y = await dense(x, w)
    assert_type(y, Node[Shape[L[2]]])
    return await tapem.sum(y)


def accept_both_notations() -> None:
    _ = assert_type(by_generator(), TapeM[Node[tuple[()]]])
    _ = assert_type(by_await(), TapeM[Node[tuple[()]]])
    assert by_generator().exec(Tape.empty()) == by_await().exec(Tape.empty())


def accept_one_within_the_other() -> None:
    @tapem.do
    async def awaiting() -> tuple[Tensor[tuple[()], NoneTape], int]:
        loss = await by_generator()
        return await tapem.value(loss), len(await tapem.get_tape())

    @tapem.do
    def yielding() -> tapem.Do[int]:
        loss, length = yield from awaiting()
        assert_type(loss, Tensor[tuple[()], NoneTape])
        return length

    assert_type(yielding().eval(Tape.empty()).unwrap(), int)
    assert yielding().eval(Tape.empty()).unwrap() == 5


def accept_binds_and_maps() -> None:
    program = tapem.leaf(tg.ones((2, 3))).bind(tapem.exp).map(lambda y: y.shape)
    assert_type(program.eval(Tape.empty()).unwrap(), tuple[L[2], L[3]])
    assert_type(tapem.pure(3).map(str).eval(Tape.empty()), tapem.Result[str])


def accept_errors_as_values() -> None:
    outcome = by_generator().run(Tape.empty())
    match outcome:
        case tapem.Ok((loss, tape)):
            assert_type(loss, Node[tuple[()]])
            assert_type(tape, Tape)
        case tapem.Err(code, op, expected, got):
            raise AssertionError((code, op, expected, got))


def accept_a_failure_of_ones_own() -> None:
    @tapem.do
    def halved(n: int) -> tapem.Do[int]:
        if n % 2:
            yield from tapem.fail(tapem.Err("domain", "halved", "an even number is expected", f"n is {n}"))
        return n // 2

    assert_type(halved(3).eval(Tape.empty()), tapem.Result[int])
    assert str(halved(3).eval(Tape.empty())) == "halved: n is 3 but an even number is expected"


def accept_a_loop() -> None:
    def loss(w: Node[Shape[L[2], L[3]]]) -> TapeM[Node[tuple[()]]]:
        return tapem.mul(w, w).bind(tapem.sum)

    trained = tapem.sgd(loss, [tg.ones((2, 3))], lr=0.1, steps=3).unwrap()
    assert_type(trained.losses, tuple[float, ...])


def reject_a_step_that_is_dropped() -> None:
    @tapem.do
    def forgetful(x: Node[Shape[N]]) -> tapem.Do[Node[Shape[N]]]:
        tapem.exp(x)  # E(mypy): Value of type "TapeM[Node[tuple[N], floating[_32Bit]]]" must be used [unused-awaitable]
        return (yield from tapem.tanh(x))

    forgetful(tapem.leaf(tg.ones((2,))).eval(Tape.empty()).unwrap()).run(Tape.empty())


def reject_a_program_that_is_dropped() -> None:
    @tapem.do
    async def forgetful() -> int:
        by_generator()  # E(mypy): Value of type "TapeM[Node[tuple[()], floating[_32Bit]]]" must be used [unused-awaitable]
        return 3

    forgetful().run(Tape.empty())


def reject_a_size_within_a_program() -> None:
    @tapem.do
    def wrong(x: Node[Shape[N]], w: Node[Shape[N, M]]) -> tapem.Do[Node[Any]]:
        return (yield from tapem.matmul(w, x))  # E(mypy): matmul: inner sizes differ: x (N, M) has M columns but y (N,) has N elements [tapegrad-shape]

    wrong(*[tapem.leaf(tg.ones(shape)).eval(Tape.empty()).unwrap() for shape in ((3,), (3, 2))]).run(Tape.empty())


def reject_a_size_between_programs() -> None:
    @tapem.do
    def wrong() -> tapem.Do[None]:
        x = yield from tapem.leaf(tg.ones((4,)))
        w = yield from tapem.leaf(tg.ones((2, 3)))
        yield from dense(x, w)  # E(mypy): dense: M is 4 in x but 3 in w [tapegrad-shape]

    wrong().run(Tape.empty())


def reject_a_result_of_another_shape() -> None:
    @tapem.do
    async def wrong(x: Node[Shape[N, M]]) -> Node[Shape[N, M]]:
        return await tapem.transpose(x)  # E(mypy): Incompatible return value type (got "Node[tuple[M, N], floating[_32Bit]]", expected "Node[tuple[N, M], floating[_32Bit]]") [return-value]

    wrong(tapem.leaf(tg.ones((2, 3))).eval(Tape.empty()).unwrap()).run(Tape.empty())


def reject_a_loss_that_is_no_scalar() -> None:
    @tapem.do
    def wrong() -> tapem.Do[None]:
        x = yield from tapem.leaf(tg.ones((4,)))
        yield from tapem.backward(x)  # E(mypy): backward: loss is (4,) but () is expected: rank 1, not 0 [tapegrad-shape]

    wrong().run(Tape.empty())
