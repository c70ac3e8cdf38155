"""Types of powers and roots of numbers: the Any of typeshed and NumPy's stubs would hide the tensor beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, Expression, Import, IndexExpr, NameExpr, Node, OpExpr, ReturnStmt, UnaryExpr
from mypy.types import AnyType, Instance, LiteralType, Type, get_proper_type

from tapegrad.mypy.conversion import ARRAY, size_of, unknown
from tapegrad.mypy.mypy_api import checked_file, enclosing_function, expected_type, make, returned_type, scalar_type
from tapegrad.mypy.scopes.names import ScopeCache, bindings_in, is_given_back, nodes_in
from tapegrad.mypy.unify.arguments import numbers_in
from tapegrad.sizes import is_unknown, surely_less

if TYPE_CHECKING:
    from mypy.nodes import Context
    from mypy.plugin import FunctionContext, MethodContext

    from tapegrad.mypy.mypy_api import Checker

_PLAIN = ("builtins.int", "builtins.float")
_NUMBERS = (*_PLAIN, "builtins.bool")
# The functions that return a float for an integer.
_UFUNCS = frozenset(
    [
        "cbrt",
        "cos",
        "cosh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    ]
)


def power(ctx: MethodContext, base: Type, exponent: Type) -> Type:
    """Compute the type of a power: a float if either operand is one, an int for two sizes.

    A negative number may have a complex root. If the sign is unknown, the root is assumed to be real, as it must be
    beside a tensor, but only in a file that imports tapegrad.
    """
    classes = [*numbers_in(base), *numbers_in(exponent)]
    if not all(one.type.has_base("builtins.int") or one.type.has_base("builtins.float") for one in classes):
        return ctx.default_return_type
    is_float = any(one.type.has_base("builtins.float") for one in classes)
    if is_float and (_is_size(base) or (not surely_less(size_of(base), 0) and _imports_tapegrad(ctx.api))):
        return make(ctx.api)("builtins.float", [])
    if not is_float and _is_size(base) and _is_size(exponent):
        return make(ctx.api)("builtins.int", [])
    return ctx.default_return_type


def expected(number: Type, call: Context, api: Checker) -> Type:
    """Return the type of a number; if it is Any, the expected one: --strict forbids Any in `return loss.item()`.

    The same is expected of the value of a variable that the function returns, and of an operand of what it returns, as
    in `return 1 - loss.item() / total.item()`.
    """
    t = expected_type(api)
    if t is None and isinstance(call, CallExpr):
        is_returned = is_given_back(call, api) or call in _operands_returned.of(enclosing_function(api))
        t = returned_type(api) if is_returned else None
    if isinstance(get_proper_type(number), AnyType) and isinstance(t, Instance) and t.type.fullname in _NUMBERS:
        return t
    return number


def _read_operands_returned(function: Node | None) -> set[Expression]:
    """Return the operands of the arithmetic that a function returns, also in variables that are only operands."""
    pending: list[Expression | None] = [one.expr for one in nodes_in.of(function) if isinstance(one, ReturnStmt)]
    found: set[Expression] = set()
    bindings = bindings_in(function)
    for node in nodes_in.of(function):  # a position, or what a function takes, may have to be an int
        others = node.args if isinstance(node, CallExpr) else [node.index] if isinstance(node, IndexExpr) else ()
        for name in others:
            bindings.pop(getattr(name, "node", None), None)
    while pending:
        match pending.pop():
            case OpExpr(left=left, right=right):
                pending += left, right
                found |= {left, right}
            case UnaryExpr(expr=operand):
                pending.append(operand)
                found.add(operand)
            case NameExpr(node=variable) if len(values := bindings.get(variable, [])) == 1:
                pending += values
                found.update(one for one in values if one is not None)
    return found


_operands_returned = ScopeCache(_read_operands_returned)


def extreme(ctx: FunctionContext) -> Type:
    """Compute the type of the largest or smallest of several sizes: an int."""
    classes = [numbers_in(t) for types in ctx.arg_types for t in types]
    are_whole = all(one and all(number.type.has_base("builtins.int") for number in one) for one in classes)
    return make(ctx.api)("builtins.int", []) if are_whole else ctx.default_return_type


def ufunc(ctx: MethodContext) -> Type:
    """Compute the type of a NumPy function that returns a float, called with a single number or array.

    Where the dtype of the array is unknown, mypy finds that NumPy's stubs may say an array or a number.
    """
    function = get_proper_type(ctx.type)
    name = get_proper_type(function.args[0]) if isinstance(function, Instance) and function.args else None
    given = [t for types in ctx.arg_types for t in types]
    if not isinstance(name, LiteralType) or name.value not in _UFUNCS or len(given) != 1:
        return ctx.default_return_type
    if not _imports_tapegrad(ctx.api):
        return ctx.default_return_type
    array, of = get_proper_type(given[0]), make(ctx.api)
    if isinstance(array, Instance) and array.type.fullname == ARRAY:
        return array.copy_modified(args=[of("builtins.tuple", [unknown()]), of("numpy.dtype", [unknown()])])
    classes = numbers_in(given[0])
    if len(classes) != 1:
        return ctx.default_return_type
    (number,) = classes
    if number.type.has_base("numpy.floating"):
        return number
    is_plain = any(map(number.type.has_base, _PLAIN)) and not number.type.has_base("builtins.bool")
    return (scalar_type(ctx.api, "float64") if is_plain else None) or ctx.default_return_type


def _is_size(t: Type) -> bool:
    """Return whether a number is known to be at least 0, by value or by name."""
    size = size_of(t)
    return not is_unknown(size) and surely_less(-1, size)


def _imports_tapegrad(api: Checker) -> bool:
    modules = [
        name
        for one in checked_file(api).imports
        for name in ([name for name, _ in one.ids] if isinstance(one, Import) else [getattr(one, "id", "")])
    ]
    return any(name.partition(".")[0] == "tapegrad" for name in modules)
