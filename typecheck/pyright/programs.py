# pyright: reportAssertTypeFailure=true
"""What pyright infers of `tapem` programs without the plugin: annotations; ops give nodes of unknown shape."""

from typing import Any, assert_type
from typing import Literal as L

from tapegrad import NoneTape, Shape, Tensor, tapem
from tapegrad.tapem import Node, Tape, TapeM

Row = Node[Shape[L[3]]]


@tapem.do
def summed(x: Row) -> tapem.Do[Node[tuple[()]]]:
    y = yield from tapem.exp(x)
    assert_type(y, Node[Any, Any])
    return (yield from tapem.sum(y))


@tapem.do
async def read(value: Tensor[Shape[L[3]], NoneTape]) -> float:
    x = await tapem.leaf(value)
    assert_type(x, Row)
    loss = await summed(x)
    assert_type(loss, Node[tuple[()]])
    grads = await tapem.backward(loss)
    assert_type(grads.of(x), Tensor[Shape[L[3]], NoneTape])
    return await tapem.item(loss)


def results(value: Tensor[Shape[L[3]], NoneTape]) -> None:
    assert_type(read(value).run(Tape.empty()).unwrap(), tuple[float, Tape])
    assert_type(read(value).eval(Tape.empty()), tapem.Result[float])
    bound: TapeM[str] = read(value).map(str)
    assert_type(bound.eval(Tape.empty()).unwrap(), str)
