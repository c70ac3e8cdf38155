"""Types of the elements of arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    CallExpr,
    ComparisonExpr,
    FloatExpr,
    IndexExpr,
    IntExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    TupleExpr,
    Var,
)
from mypy.types import Instance, get_proper_type

from tapegrad.errors.numpy_functions import below_numpy
from tapegrad.mypy.calls.array_arguments import DEEPEST
from tapegrad.mypy.calls.array_calls import COPIED, GENERATORS
from tapegrad.mypy.calls.array_sizes import Given, UnreadError
from tapegrad.mypy.calls.array_types import are_whole, is_array, scalar_type_of
from tapegrad.mypy.calls.array_variables import VariableReader, reshapes
from tapegrad.mypy.calls.data_sets import loaded_field, loaded_pair
from tapegrad.mypy.conversion import unknown
from tapegrad.mypy.mypy_api import checked_file, scalar_type, stored_type
from tapegrad.mypy.scopes.names import bound_once, unpacked_once

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import Type

_JOINING: Final = frozenset(["concatenate", "hstack", "stack", "vstack"])
_KEEPING_ELEMENTS: Final = frozenset(
    ["copy", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "take", "transpose"]
)
_DRAWN_DTYPES: Final = {
    "integers": "int64",
    **dict.fromkeys(("normal", "random", "standard_normal", "uniform"), "float64"),
}
_DTYPE_PLACES: Final = {"integers": 3, "random": 1, "standard_normal": 1}  # of methods that take a dtype


class ElementReader(VariableReader):
    """Reads the types of the elements of arrays."""

    def scalar(self, expression: Expression) -> Type | None:
        """Return the type of the elements of an array, also of one that keeps those of other arrays."""
        known = scalar_type_of(stored_type(self._api, expression))
        if known is not None or self._depth > DEEPEST:
            return known
        self._depth += 1
        try:
            return self._scalar(expression)
        except UnreadError:
            return None
        finally:
            self._depth -= 1

    def _scalar(self, expression: Expression) -> Type | None:
        match expression:
            case NameExpr(node=Var() as variable):
                value, is_once = bound_once(variable, self._api)
                if value is not None:
                    return self.scalar(value)
                unpacked = unpacked_once(variable, self._api) if is_once else None
                return None if unpacked is None else self._scalar_of_item(*unpacked)
            case MemberExpr() if (loaded := loaded_field(expression, self._api)) is not None and not reshapes.of(
                checked_file(self._api)
            ):
                return scalar_type(self._api, loaded.dtype)
            case OpExpr(op="+" | "-" | "*" | "/", left=left, right=FloatExpr() | IntExpr()):
                of = self.scalar(left)  # a number of Python keeps the precision of an array of floats
                return of if isinstance(of, Instance) and of.type.has_base("numpy.inexact") else None
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _JOINING:
                given = Given(expression).only({"dtype"}).one("arrays", 0)
                items = given.items if isinstance(given, ListExpr | TupleExpr) else []
                scalars = [self.scalar(one) for one in items]
                return scalars[0] if scalars and all(one == scalars[0] for one in scalars) else None
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in COPIED - {"copy"}:
                given = Given(expression).only({"dtype"}).one("object" if below_numpy(name) == "array" else "a", 0)
                is_whole = given is not None and not Given(expression).has("dtype", 1) and are_whole(given, self._api)
                return scalar_type(self._api, "int64") if is_whole else None
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _KEEPING_ELEMENTS and is_array(
                stored_type(self._api, of) or unknown()
            ):
                return self.scalar(of)
            case CallExpr(callee=MemberExpr(name="astype", expr=of), args=[RefExpr(fullname=name), *_]) if (
                self.sizes(of) is not None  # an array, and not of another library
            ):
                return scalar_type(self._api, below_numpy(name))
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _DRAWN_DTYPES and self._is_generator(of):
                # With an argument of type Any, such as `options["batch"]`, mypy infers Any.
                is_given = Given(expression).has("dtype", _DTYPE_PLACES.get(name, sys.maxsize))
                return None if is_given else scalar_type(self._api, _DRAWN_DTYPES[name])
            case CallExpr(callee=MemberExpr(name="choice" | "permutation", expr=of), args=[x, *_]) if (
                self._is_generator(of)
            ):
                return scalar_type(self._api, "int64") if self.sizes(x) == [] else self.scalar(x)
            case CallExpr():
                return scalar_type_of(self._returned(expression))
            case ComparisonExpr(operators=["<" | "<=" | ">" | ">=" | "==" | "!="]) if self.sizes(expression):
                return scalar_type(self._api, "bool")  # of an array and a number of type Any
            case IndexExpr(base=of):
                return self.scalar(of)
        return None

    def _scalar_of_item(self, whole: Expression, position: int) -> Type | None:
        """Return the type of the elements of an array that is unpacked from what a call returns."""
        if isinstance(whole, CallExpr) and (loaded := loaded_pair(whole, self._api)) and position < len(loaded):
            return scalar_type(self._api, loaded[position].dtype)
        return scalar_type_of(self._item(whole, position))

    def _is_generator(self, expression: Expression) -> bool:
        of = get_proper_type(stored_type(self._api, expression))
        return isinstance(of, Instance) and of.type.fullname == GENERATORS[0]
