"""`_replace` with a field of another size changes the type of a named tuple, but not in pyright."""

from typing import Generic, NamedTuple, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

N = TypeVar("N", bound=int)
D = TypeVar("D", bound=int)
M = TypeVar("M", bound=int)
Name = TypeVar("Name", bound=str)


class Named(NamedTuple, Generic[N, D, Name]):
    """Rows, a number for each, and a name."""

    x: Tensor[Shape[N, D], NoneTape]
    y: Tensor[Shape[N], NoneTape]
    name: Name


def projected(rows: Named[N, D, Name], by: Tensor[Shape[D, M]]) -> Named[N, M, Name]:
    return rows._replace(x=rows.x @ by)


def accept_a_field_of_another_size() -> None:
    rows = Named(tg.ones((2, 3)), tg.ones((2,)), "train")
    assert_type(projected(rows, tg.ones((3, 5))).x, Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(projected(rows, tg.ones((3, 5))).name, str)


def reject_a_field_of_an_unexpected_size() -> None:
    def unprojected(rows: Named[N, D, Name], by: Tensor[Shape[N, M]]) -> Named[N, D, Name]:
        return rows._replace(x=by)  # E(mypy): Incompatible return value type (got "Named[N, M, Name]", expected "Named[N, D, Name]") [return-value]

    unprojected(Named(tg.ones((2, 3)), tg.ones((2,)), "train"), tg.ones((2, 5)))
