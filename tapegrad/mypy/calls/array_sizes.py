"""Sizes of arrays, and the arguments of NumPy's functions from which they are computed."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

from mypy.nodes import ARG_NAMED, ARG_POS, ComplexExpr, FloatExpr, IntExpr, UnaryExpr

from tapegrad.sizes import UNKNOWN, Size, broadcast, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mypy.nodes import CallExpr, Expression

Sizes = list[Size]
Several = list["Sizes | None"]


class UnreadError(Exception):
    """Nothing is known of the sizes of an expression."""


class Reader(Protocol):
    """Reads the sizes of arrays from expressions."""

    def sizes(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array; of a number, none."""

    def alike(self, expression: Expression) -> Sizes:
        """Return the sizes of an array, or of the array that NumPy makes of lists.

        Raises:
            UnreadError: The rank is unknown.
        """

    def arrays(self, expression: Expression) -> Several | None:
        """Return the sizes of each array in a list or a tuple; None if it is not known how many there are."""

    def value(self, expression: Expression) -> Any:
        """Return the value of an argument that is no array.

        Raises:
            ValueUnknownError: It is unknown.
        """

    def shape(self, expression: Expression) -> Sizes | None:
        """Return the sizes that an argument says, such as `(3, 4)`, `3` or `x.shape`; None for an unknown rank."""

    def by_op(self, name: str, given: Mapping[str, Expression], *starred: Expression) -> Sizes | None:
        """Return the sizes that the rule of an op computes; None if an argument is not known well enough."""


class Given:
    """The arguments of a call of NumPy, by position and by name.

    Raises:
        UnreadError: An argument has a star.
    """

    def __init__(self, call: CallExpr) -> None:
        if not {*call.arg_kinds} <= {ARG_POS, ARG_NAMED}:
            raise UnreadError
        pairs = list(zip(call.arg_names, call.args, strict=True))
        self.positional = [value for name, value in pairs if name is None]
        self.named = {name: value for name, value in pairs if name is not None}

    @property
    def names(self) -> frozenset[str]:
        """The names of the keyword arguments."""
        return frozenset(self.named)

    def has(self, name: str, position: int) -> bool:
        """Return whether a parameter is given."""
        return name in self.named or position < len(self.positional)

    def one(self, name: str, position: int) -> Expression:
        """Return the argument for a parameter.

        Raises:
            UnreadError: It is left out.
        """
        if not self.has(name, position):
            raise UnreadError
        return self.named[name] if name in self.named else self.positional[position]

    def only(self, others: set[str]) -> Given:
        """Return the same arguments.

        Raises:
            UnreadError: One of the other parameters is given by name.
        """
        if self.names & others:
            raise UnreadError
        return self

    def after(self, receiver: Expression) -> Given:
        """Return the arguments of the function that a method is: the receiver comes first."""
        self.positional.insert(0, receiver)
        return self


def common(several: Several) -> Sizes | None:
    """Return the sizes that all of several arrays have, unknown where they differ."""
    known = [one for one in several if one is not None]
    if not known or len(known) < len(several) or len({len(one) for one in known}) > 1:
        return None
    return [
        sizes[0] if all(surely_same(one, sizes[0]) for one in sizes) else UNKNOWN for sizes in zip(*known, strict=True)
    ]


def joined(several: Several, axis: int) -> Sizes | None:
    """Return the sizes of arrays that are joined along an axis."""
    known = [one for one in several if one is not None]
    if not known or len(known) < len(several) or len({len(one) for one in known}) > 1 or not known[0]:
        return None
    axis = min(axis, len(known[0]) - 1)
    others = common([[*one[:axis], 0, *one[axis + 1 :]] for one in known])
    total = reduce(lambda n, m: n + m, (one[axis] for one in known))
    return None if others is None else [*others[:axis], total, *others[axis + 1 :]]


def broadcasted(several: Sequence[Sizes]) -> Sizes:
    """Return the sizes of arrays that are broadcast together."""
    return list(reduce(lambda x, y: broadcast(x=tuple(x), y=tuple(y)), map(tuple, several)))


def number_of(expression: Expression) -> float | complex | None:
    """Return a number that is written out; None if the expression is none."""
    match expression:
        case IntExpr(value=value) | FloatExpr(value=value) | ComplexExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=operand):
            found = number_of(operand)
            return None if found is None else -found
    return None


def whole_number(value: Any) -> int:
    """Return a value that is a known int.

    Raises:
        UnreadError: It is not.
    """
    if type(value) is not int:
        raise UnreadError
    return value


def size_of_vector(sizes: Sizes) -> Size:
    """Return the size of a vector.

    Raises:
        UnreadError: It is none.
    """
    if len(sizes) != 1:
        raise UnreadError
    return sizes[0]


def axis_from_first(value: Any, rank: int) -> int:
    """Return an axis, counted from the first one.

    Raises:
        UnreadError: It is not known, or there is none.
    """
    axis = whole_number(value)
    if not -rank <= axis < rank:
        raise UnreadError
    return axis % rank


def same_sizes(name: str, position: int = 0) -> Callable[[Reader, Given], Sizes | None]:
    """Return a function that returns the sizes of an argument, which those of the result are too."""
    return lambda read, given: read.alike(given.one(name, position))
