"""Numbers, flags and texts as values: what Python computes from them."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import RefExpr, TupleExpr

from tapegrad.mypy.scopes.frames import Items, Nothing
from tapegrad.mypy.scopes.opaque import ARITHMETIC
from tapegrad.sizes import Dim, is_unknown, largest, smallest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.nodes import Expression

    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size

_SIZES: Final[dict[str, Callable[[list[Any]], Any]]] = {"builtins.max": largest, "builtins.min": smallest}
_LARGEST_EXPONENT: Final = 1000  # of numbers; a larger one is no size, and takes time
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "builtins.abs": abs,
    "builtins.bool": bool,
    "builtins.float": float,
    "builtins.int": int,
    "builtins.max": max,
    "builtins.min": min,
    "builtins.round": round,
    "builtins.sum": sum,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.isqrt": math.isqrt,
    "math.log": math.log,
    "math.log2": math.log2,
    "math.prod": math.prod,
    "math.sqrt": math.sqrt,
    "numpy._core.fromnumeric.prod": math.prod,
    "numpy.prod": math.prod,
}
_CLASSES: Final[dict[str, type]] = {f"builtins.{one.__name__}": one for one in (bool, float, int, list, str, tuple)}
_NUMBER_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def range_of(bounds: Sequence[Size | None]) -> range | None:
    """Return the numbers of a `range`; None if a bound is not known, or if Python rejects the call."""
    numbers = [n for n in bounds if isinstance(n, int)]
    try:
        return range(*numbers) if len(numbers) == len(bounds) else None
    except (TypeError, ValueError):  # none or four bounds; a step of 0
        return None


def is_plain(value: Value) -> bool:
    """Return whether a value is a number, a flag, a text or None, which compare as in Python."""
    return isinstance(value, int | float | str | Nothing)


def truth_of(value: Value) -> bool | None:
    """Return whether a condition that has a value holds; None if that is not known."""
    return bool(value) and not isinstance(value, Nothing) if is_plain(value) else None


def is_of_class(value: Value, kind: Expression) -> bool | None:
    """Return whether a value is an instance of a class, or of one of several; None if that is not known."""
    if isinstance(kind, TupleExpr):
        found = [is_of_class(value, one) for one in kind.items]
        return True if True in found else None if None in found else False
    expected = _CLASSES.get(kind.fullname) if isinstance(kind, RefExpr) else None
    if expected is None:
        return None
    if isinstance(value, Items):  # a list or a tuple
        return None if expected in (list, tuple) else False
    return isinstance(value, expected) if is_plain(value) else None


def combined(sign: str, left: Value, right: Value) -> Value:
    """Return the result of an operator; None if it is not known."""
    if isinstance(left, float) or isinstance(right, float) or sign == "/":
        is_known = isinstance(left, int | float) and isinstance(right, int | float)
        is_small = sign != "**" or (isinstance(right, int | float) and abs(right) < _LARGEST_EXPONENT)
        function = _NUMBER_OPERATORS.get(sign)
        return _computed(function, left, right) if is_known and is_small and function is not None else None
    if not isinstance(left, int | Dim) or not isinstance(right, int | Dim):
        return None
    size = ARITHMETIC[sign](left, right)
    return None if is_unknown(size) else size


def result_of(name: str, arguments: list[Value]) -> Value:
    """Return what one of `FUNCTIONS` returns; None if it is not known."""
    several = [*arguments[0].values] if len(arguments) == 1 and isinstance(arguments[0], Items) else arguments
    if any(isinstance(one, Dim) for one in several):
        if name == "builtins.int" and len(several) == 1:
            return several[0]
        is_choice = name in _SIZES and len(several) > 1 and all(isinstance(one, int | Dim) for one in several)
        return _SIZES[name](several) if is_choice else None
    if not several or not all(isinstance(one, int | float) for one in several):
        return None
    return _computed(FUNCTIONS[name], several) if several is not arguments else _computed(FUNCTIONS[name], *several)


def _computed(function: Callable[..., Any], *operands: Any) -> Value:
    try:
        value = function(*operands)
    except (ArithmeticError, TypeError, ValueError):  # the program stops there
        return None
    return value if isinstance(value, int | float) else None  # not complex
