"""Arguments of NumPy's functions that are no arrays, such as shapes and axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    CallExpr,
    DictionaryComprehension,
    GeneratorExpr,
    IndexExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    TempNode,
    TupleExpr,
    Var,
)
from mypy.types import AnyType, Instance, TupleType, get_proper_type

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.mypy.calls.array_sizes import UnreadError
from tapegrad.mypy.calls.array_types import SCALARS
from tapegrad.mypy.conversion import ARRAY, shape_type, unknown
from tapegrad.mypy.mypy_api import make, stored_type
from tapegrad.mypy.scopes.collections import Use, use_of
from tapegrad.mypy.scopes.command_line import is_whole_option
from tapegrad.mypy.scopes.file_contents import loop_of, position_of
from tapegrad.mypy.scopes.items import bounds_of
from tapegrad.mypy.scopes.names import bound_once, inside
from tapegrad.mypy.scopes.values import ValueUnknownError, count_of, stays, value_of
from tapegrad.mypy.unify.arguments import numbers_in
from tapegrad.mypy.unify.bindings import CallError
from tapegrad.sizes import UNKNOWN, Dim, UnknownDims

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import ProperType, Type

    from tapegrad.mypy.calls.array_sizes import Sizes
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.sizes import Size

DEEPEST: Final = 30  # expressions inside each other, each variable with the expression that it is bound to
_ITERATED: Final = frozenset(["builtins.dict", "builtins.frozenset", "builtins.list", "builtins.set"])
ERRORS: Final = (UnreadError, ValueUnknownError, ShapeError, DTypeError, CallError)


class ArgumentReader(ABC):
    """Reads arguments of NumPy's functions; the classes based on it read arrays.

    The sizes of arrays are lists; None stands for an unknown rank.
    """

    def __init__(self, api: Checker) -> None:
        self._api = api
        self._depth = 0

    def value(self, expression: Expression) -> Any:
        """Return the value of an argument that is no array.

        Raises:
            ValueUnknownError: It is unknown.
        """
        self._check_steady(expression)
        return value_of(self._type_of(expression), expression, self._api)

    def shape(self, expression: Expression) -> Sizes | None:
        """Return the sizes that an argument says, such as `(3, 4)`, `3` or `x.shape`; None for an unknown rank.

        Raises:
            UnreadError: It holds something that is no size.
            ValueUnknownError: It is unknown.
        """
        match expression:
            case MemberExpr(name="shape", expr=of):
                return self.sizes(of)
            case OpExpr(op="+", left=left, right=right) if self._is_tuple(left):
                parts = [self.shape(left), self.shape(right)]
                known = [one for one in parts if one is not None]
                return [*chain.from_iterable(known)] if len(known) == len(parts) else None
            case IndexExpr(base=of, index=SliceExpr() as part) if (bounds := bounds_of(part)) is not None:
                sizes = self.shape(of) if self._is_tuple(of) else None
                return None if sizes is None else sizes[bounds]
            case TupleExpr(items=items) if any(isinstance(one, StarExpr) for one in items):
                starred = [self.shape(one.expr) if isinstance(one, StarExpr) else self.shape(one) for one in items]
                return None if any(one is None for one in starred) else [n for one in starred for n in one or ()]
        if is_whole_option(expression, self._api):
            self._check_steady(expression)
            return [count_of(self._type_of(expression), expression, self._api)]
        try:
            value = self.value(expression)
        except (UnreadError, ValueUnknownError):
            numbers = expression.items if isinstance(expression, TupleExpr) else [expression]
            if not all(map(self._is_whole_number, numbers)):
                raise
            return list(map(self._size_or_unknown, numbers))
        if isinstance(value, UnknownDims):
            return None
        sizes = list(value) if isinstance(value, tuple | list) else [value]
        if not all(isinstance(one, int | Dim) for one in sizes):
            raise UnreadError  # such as `np.ones((1.0, 5))`, which NumPy rejects
        return sizes

    def _type_of(self, expression: Expression) -> ProperType:
        if isinstance(expression, TupleExpr) and expression.line < 0:  # the separate arguments of `x.reshape(2, 3)`
            return TupleType(list(map(self._type_of, expression.items)), make(self._api)("builtins.tuple", [unknown()]))
        t = expression.type if isinstance(expression, TempNode) else self._stored_type(expression)
        if t is None:
            raise UnreadError
        return get_proper_type(t)

    def _stored_type(self, expression: Expression) -> Type | None:
        """Return the type that mypy has inferred for an expression.

        It infers `list[Any]` for `sorted(x)` as an argument of an overloaded function: the items are those of x.
        """
        t = stored_type(self._api, expression)
        match expression, get_proper_type(t):
            case CallExpr(callee=RefExpr(fullname="builtins.sorted"), args=[of, *_]), Instance(args=[item]) as p:
                several = get_proper_type(stored_type(self._api, of))
                is_known = isinstance(several, Instance) and several.type.fullname in _ITERATED
                if isinstance(get_proper_type(item), AnyType) and isinstance(several, Instance) and is_known:
                    return p.copy_modified(args=several.args[:1])
        return t

    def _array_of(self, sizes: Sizes | None, kind: str = "") -> Type:
        """Return the type of an array.

        Raises:
            UnreadError: Its rank is unknown.
        """
        if sizes is None:
            raise UnreadError
        of = make(self._api)
        scalar = of(SCALARS[kind], [unknown()]) if kind else unknown()
        return of(ARRAY, [shape_type(tuple(sizes), of), of("numpy.dtype", [scalar])])

    def _check_steady(self, expression: Expression) -> None:
        """Check that an expression means the same here as where it was written.

        Raises:
            UnreadError: It may mean something else.
        """
        if not self._is_steady(expression):
            raise UnreadError

    def _is_steady(self, expression: Expression, *, in_loop: bool = False) -> bool:
        """Return whether an expression means the same here as where it was written, or in a loop around both."""
        nodes = inside(expression)
        comprehensions = [one for one in nodes if isinstance(one, GeneratorExpr | DictionaryComprehension)]
        targets = [one for of in comprehensions for target in of.indices for one in inside(target)]
        own = {one.node for one in targets if isinstance(one, NameExpr)}  # variables of comprehensions in it
        return all(
            name.fullname.startswith("builtins.")
            or name.node in own
            or stays(name, self._api)
            or (in_loop and isinstance(name.node, Var) and loop_of(name.node, self._api) is not None)
            for name in nodes
            if isinstance(name, NameExpr)
        )

    def _is_tuple(self, expression: Expression) -> bool:
        p = self._type_of(expression)
        return isinstance(p, TupleType) or (isinstance(p, Instance) and p.type.fullname == "builtins.tuple")

    def _is_whole_number(self, expression: Expression) -> bool:
        if self._axis_named(expression) is not None:
            return True  # also of an array whose sizes mypy takes for Any
        numbers = numbers_in(self._type_of(expression))
        return len(numbers) > 0 and all(one.type.fullname == "builtins.int" for one in numbers)

    def _axis_named(self, expression: Expression) -> tuple[Expression, int] | None:
        """Return the array and the axis of `x.shape[0]`; None for any other expression."""
        match expression:
            case IndexExpr(base=MemberExpr(name="shape", expr=of), index=index) if (
                axis := position_of(index)
            ) is not None:
                return of, axis
        return None

    def _size_or_unknown(self, number: Expression) -> Size:
        if (named := self._axis_named(number)) is not None:
            sizes = self.sizes(named[0]) or []
            return sizes[named[1]] if -len(sizes) <= named[1] < len(sizes) else UNKNOWN
        try:
            size = self.value(number)
        except (UnreadError, ValueUnknownError):
            return UNKNOWN
        return size if isinstance(size, int | Dim) else UNKNOWN

    def _value_of_list(self, expression: Expression) -> Expression:
        """Return the expression of a list or a tuple; of a variable whose list nothing changes, what it is bound to."""
        if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
            return expression
        value, _ = bound_once(expression.node, self._api)
        return value if value is not None and use_of(expression, self._api) is Use.READ else expression

    @abstractmethod
    def sizes(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array, by its type and by its expression; of a number, none."""

    @abstractmethod
    def arrays(self, expression: Expression) -> list[Sizes | None] | None:
        """Return the sizes of each array in a list or a tuple; None if it is not known how many there are."""

    @abstractmethod
    def scalar(self, expression: Expression) -> Type | None:
        """Return the type of the elements of an array, also of one that keeps those of other arrays."""

    @abstractmethod
    def with_sizes(self, t: Type, expression: Expression) -> Type:
        """Return the type of an array, or of a tuple with arrays, with the sizes that its expression gives it."""
