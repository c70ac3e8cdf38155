"""User-defined generic modules: sizes computed for another class, and omitted sizes."""

from typing import Generic, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, Mul, NoneTape, OwnedTape, Shape, Tape, Tensor, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
W = TypeVar("W", bound=int)
T = TypeVar("T", bound=Tape)

x = tg.ones((2, 12))


class Position(nn.Module, Generic[W]):
    """Adds a number to each column."""

    def __init__(self, width: W) -> None:
        self.width = width
        self.position = nn.Param(tg.zeros((width,)))

    def forward(self, x: Tensor[Shape[B, W], T]) -> Tensor[Shape[B, W], T]:
        return x + self.position


class Heads(nn.Module, Generic[N, M]):
    """Computes a width, and gives it to modules."""

    def __init__(self, heads: N, width: M) -> None:
        whole = heads * width
        more = whole + 1
        self.position = Position(whole)
        self.direct = Position(heads * width)
        self.wider = Position(more)
        self.declared: Position[Add[Mul[N, M], L[1]]] = Position(more)
        self.fall = nn.Linear(whole, 4)

    def forward(self, x: Tensor[Shape[B, Mul[N, M]], T]) -> Tensor[Shape[B, L[4]], T]:
        y = self.direct(self.position(x))
        assert_type(y, Tensor[Shape[B, Mul[N, M]], T])
        return self.fall(y)


def doubled(width: W) -> Position[Mul[L[2], W]]:
    whole = width * 2
    return Position(whole)


def of_width(position: Position[W], width: W) -> Tensor[Shape[W], NoneTape]:
    return tg.ones((width,)) + position.width


def accept_a_width_that_has_a_name() -> None:
    model = Heads(3, 4)
    assert_type(model.position, Position[L[12]])
    assert_type(model.wider, Position[L[13]])
    assert_type(model.declared, Position[L[13]])
    assert_type(model(x.trace()), Tensor[Shape[L[2], L[4]], OwnedTape])
    assert_type(doubled(3), Position[L[6]])


def accept_a_width_that_has_a_name_in_a_function() -> None:
    def of_any(n: N, m: M) -> None:
        both = n + m
        assert_type(Position(both), Position[Add[N, M]])
        assert_type(Position(both)(tg.zeros((2, both))), Tensor[Shape[L[2], Add[N, M]], NoneTape])
        of_width(Position(both), both)

    of_any(3, 4)


def accept_a_width_that_is_unknown() -> None:
    def of_any(width: int) -> None:
        position = Position(width)
        position(tg.zeros((2, width)))

    of_any(3)


def reject_another_width() -> None:
    Heads(3, 4)(tg.ones((2, 13)))  # E(mypy): Heads: x is (2, 13) but (B, 12) is expected: axis 1 is 13, not 12 [tapegrad-shape]


def reject_another_name() -> None:
    def of_any(n: N, m: M) -> None:
        both = n * m
        of_width(Position(both), n)  # E(mypy): of_width: W is M*N in position but N in width [tapegrad-shape]

    of_any(3, 4)


def reject_a_width_that_is_declared_otherwise() -> None:
    def tripled(width: W) -> Position[Mul[L[2], W]]:
        whole = width * 3
        return Position(whole)  # E(mypy): tripled: the result is Position[3*W] but Position[2*W] is expected: 3*W, not 2*W [return-value]

    tripled(3)


def reject_a_size_that_the_class_does_not_list() -> None:
    class Scaled(nn.Module, Generic[W]):
        def __init__(self, width: W, channels: M) -> None:
            self.norm = nn.LayerNorm(channels)

        def forward(self, x: Tensor[Shape[B, W, M], T]) -> Tensor[Shape[B, W, M], T]:
            return self.norm(x)  # E(mypy): Scaled.norm LayerNorm(M): x is (B, W, M) but (..., M) is expected: axis -1 is M, not the M of another class or function [tapegrad-shape]

    Scaled(3, 4)(tg.ones((2, 3, 4)))


def reject_what_is_no_width() -> None:
    text = "3"
    Position(text)  # E(mypy): Argument 1 to "Position" has incompatible type "str"; expected "int" [arg-type]
