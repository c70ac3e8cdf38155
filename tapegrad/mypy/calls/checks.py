"""Check the arguments of a call: what their types allow, but the op or the constructor rejects."""

from __future__ import annotations

from inspect import signature as parameters_of
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mypy.nodes import Decorator, IntExpr, ListExpr, RefExpr
from mypy.types import (
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.kinds import INT, INTS, NUMBER, described, kinds_of, wrong_kind
from tapegrad.mypy.calls.binding import CheckedCall, owner_of_init
from tapegrad.mypy.conversion import (
    ARRAY,
    Many,
    dtype_name,
    kind_of,
    literal,
    shape_items,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import accepts, checked_file, constant_value
from tapegrad.mypy.scopes.names import ScopeCache, statements_in
from tapegrad.mypy.scopes.values import ValueUnknownError
from tapegrad.mypy.unify.arguments import (
    Argument,
    class_name,
    known_value,
    numbers_in,
)
from tapegrad.mypy.unify.bindings import Bindings, CallError
from tapegrad.sizes.constraints import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Expression, Node

    from tapegrad.autograd.registry import Op
    from tapegrad.mypy.signatures import (
        Signature,
    )
    from tapegrad.sizes import Size


Rule: TypeAlias = "Callable[[dict[str, list[Size | Many] | None]], None]"  # takes the shapes of tensors, by parameter

_GUARD: Final = "tapegrad.guard._wrapper.guarded"
_NO_OPERANDS: Final = frozenset(
    f"builtins.{name}" for name in ("bytes", "complex", "dict", "frozenset", "list", "range", "set", "str", "tuple")
)


def check_kernels(call: CheckedCall) -> None:
    """Reject a number, a text or a list for the sizes of a pool, in its own words, which show what is given.

    Raises:
        CallError: It is neither an int nor a tuple of ints.
    """
    owner = owner_of_init(call.signature.result) if call.signature.declared.is_type_obj() else None
    if owner is None or not owner.fullname.startswith("tapegrad.nn.pool."):
        return
    if isinstance(owner.names["__init__"].node, Decorator):  # the guard says it in its own words
        return
    for name, given in call.arguments.items():
        formal = call.signature.formals[name]
        if len(given) == 1 and given[0].expression is not None and {INT, INTS} <= {*_kinds_of_size(formal)}:
            value = _written(given[0].expression)
            if isinstance(value, float | str | list):
                raise CallError(f"{call.bindings.name}: {wrong_kind(name, described(value), (INT, INTS))}", "dtype")


def _written(expression: Expression) -> object:
    """Return a number, a text or a list of ints that is written out; None for any other expression."""
    if isinstance(expression, ListExpr):
        values = [one.value for one in expression.items if isinstance(one, IntExpr)]
        return values if len(values) == len(expression.items) else None
    return constant_value(expression)


def check_operands(call: CheckedCall) -> None:
    """Reject operands of an op that cannot be any.

    Raises:
        CallError: One is no operand, or none of them is a tensor.
    """
    if call.op is not None:
        _reject_no_operand(call.op, call.arguments)
        _reject_no_tensor(call)
        _reject_bools_of_op(call.op, call.arguments)


def check_numbers(call: CheckedCall, rule: Rule | None) -> None:
    """Check the tensors by the rule of a layer, and the numbers by which a constructor was called.

    Raises:
        CallError: A number is rejected.
        ShapeError: The rule rejects the tensors.
    """
    if rule is not None:
        _reject_by_rule(rule, call.arguments)
    if call.signature.declared.is_type_obj():
        _reject_numbers(call.signature, call.bindings, call.arguments, call.ctx.api)
    elif _is_guarded(call):
        _reject_no_size(call.bindings.name, call.signature, call.arguments)


def _reject_bools_of_op(op: Op, arguments: dict[str, list[Argument]]) -> None:
    """Reject a bool for an option that is an int, or for one of several; mypy takes it for one.

    Raises:
        CallError: An option is a bool, or a tuple with one.
    """
    for name, given in arguments.items():
        value = _with_bool(given[0].type) if len(given) == 1 and name not in op.operands else None
        kinds = () if value is None else kinds_of(str(op.function.__annotations__.get(name)))
        if {INT, INTS} & {*kinds} and NUMBER not in kinds:
            raise CallError(f"{op.name}: {wrong_kind(name, described(value), kinds)}", "dtype")


def _with_bool(t: Type) -> bool | tuple[int, ...] | None:
    """Return a bool, or a tuple of ints and bools, by its type; None for any other, and for unknown values."""
    p = literal(t)
    if isinstance(p, LiteralType) and isinstance(p.value, bool):
        return p.value
    items = list(map(literal, p.items)) if isinstance(p, TupleType) else []
    values = [one.value for one in items if isinstance(one, LiteralType) and isinstance(one.value, int)]
    return tuple(values) if len(values) == len(items) and any(isinstance(one, bool) for one in values) else None


def _is_guarded(call: CheckedCall) -> bool:
    """Return whether a function is guarded, if the file that is checked defines it: only there are its decorators."""
    definition = call.signature.declared.definition
    if definition is None or not getattr(definition, "is_decorated", True):
        return False
    return definition.fullname in _guarded.of(checked_file(call.ctx.api))


def _functions_with_guard(file: Node | None) -> set[str]:
    return {
        node.fullname
        for node in statements_in(file)
        if isinstance(node, Decorator)
        and any(isinstance(one, RefExpr) and one.fullname == _GUARD for one in node.original_decorators)
    }


_guarded = ScopeCache(_functions_with_guard)


def _reject_by_rule(rule: Rule, arguments: dict[str, list[Argument]]) -> None:
    tensors = {name: given[0].tensor for name, given in arguments.items() if len(given) == 1}
    rule({name: shape_items(tensor.shape) for name, tensor in tensors.items() if tensor is not None})


def _reject_numbers(signature: Signature, bindings: Bindings, arguments: dict[str, list[Argument]], api: Any) -> None:
    """Reject numbers that a layer's constructor rejects: below a minimum, if it is guarded, or not divisible.

    Raises:
        CallError: A number is rejected.
    """
    owner = owner_of_init(signature.result)
    if owner is None:
        return
    if isinstance(owner.names["__init__"].node, Decorator):
        _reject_no_size(bindings.name, signature, arguments)
        bindings.reject_too_small(signature.declared.variables)
    for check in CHECKS.get(owner.fullname, ()):
        try:
            check(
                **{
                    name: _number(signature, arguments, name, api)
                    for name, one in parameters_of(check).parameters.items()
                    if name in arguments or one.default is one.empty
                }
            )
        except (ShapeError, DTypeError) as error:  # whose messages name the layer
            raise CallError(str(error), "dtype" if isinstance(error, DTypeError) else "shape") from None
        except ValueUnknownError:
            continue


def _reject_no_size(call: str, signature: Signature, arguments: dict[str, list[Argument]]) -> None:
    """Reject what is given as a size or as several, and is none, in the words of the guard; mypy itself is silent.

    Raises:
        CallError: An argument is a bool, a tuple with one, or of another kind.
    """
    for name, given in arguments.items():
        kinds = _kinds_of_size(signature.formals[name])
        p = literal(given[0].type) if len(given) == 1 else None
        fallback = p.fallback if isinstance(p, LiteralType) else p
        is_bool = isinstance(fallback, Instance) and fallback.type.fullname == "builtins.bool"
        # What mypy itself reports for one size, it takes for several.
        shown = _no_size(p) if p is not None and not is_bool and {*kinds} >= {INT, INTS} else None
        if INT in kinds and is_bool:
            shown = "a bool"
        if shown is not None and any("'" in kind for kind in kinds):
            value = _with_bool(given[0].type)
            shown = None if value is None else repr(value)  # the guard shows what is given beside strings
        if shown is not None and shown not in kinds:
            raise CallError(f"{call}: {name} is {shown} but {' or '.join(kinds)} is expected", "dtype")


def _no_size(p: ProperType) -> str | None:
    """Return what an argument is that is neither a size nor several, in the words of the guard; None if it may be."""
    if isinstance(p, NoneType):
        return "None"
    if isinstance(p, TupleType):
        wrong = ("builtins.bool", "builtins.float", "builtins.str")
        items = [one.fallback if isinstance(one, LiteralType) else one for one in map(literal, p.items)]
        is_wrong = any(isinstance(one, Instance) and one.type.fullname in wrong for one in items)
        return f"a tuple of {len(items)}" if is_wrong else None
    is_float = isinstance(p, Instance) and p.type.has_base("numpy.floating") and dtype_name(p) != "?"
    return messages.with_article(dtype_name(p)) if is_float else None


def _kinds_of_size(formal: Type) -> list[str]:
    """Return what a parameter may be, if it is a size or several, as the guard says it; empty for others."""
    p = get_proper_type(formal)
    if isinstance(p, UnionType):
        each = [_kinds_of_size(one) for one in p.items]
        return [kind for kinds in each for kind in kinds] if all(each) else []
    if isinstance(p, LiteralType) and isinstance(p.value, str):
        return [repr(p.value)]
    if isinstance(p, NoneType):
        return ["None"]
    if isinstance(p, TypeVarType) and kind_of(p) == "size":
        return [INT]
    if isinstance(p, TupleType):
        return [INTS] if all(_kinds_of_size(one) == [INT] for one in p.items) else []
    return [INTS] if isinstance(p, TypeVarType) and kind_of(p) == "shape" else []


def _number(signature: Signature, arguments: dict[str, list[Argument]], name: str, api: Any) -> Any:
    """Return the value given for a parameter of a layer's constructor.

    Raises:
        ValueUnknownError: The argument is left out, has a type that mypy itself rejects, or is unknown.
    """
    actuals, formal = arguments.get(name, []), get_proper_type(signature.formals[name])
    expected = formal.upper_bound if isinstance(formal, TypeVarType) else formal
    if actuals and isinstance(formal, UnionType) and isinstance(get_proper_type(actuals[0].type), NoneType):
        return None
    if actuals and not accepts(expected, actuals[0].type):
        raise ValueUnknownError
    return known_value(actuals, api)


def _reject_no_operand(op: Op, arguments: dict[str, list[Argument]]) -> None:
    """Reject an operand that cannot be one, such as a list, which mypy accepts because `==` takes any object."""
    if op.operator not in ("__eq__", "__ne__"):
        return
    for name in op.operands & arguments.keys():
        p = get_proper_type(arguments[name][0].type)
        p = p.partial_fallback if isinstance(p, TupleType) else p.fallback if isinstance(p, LiteralType) else p
        if isinstance(p, NoneType) or (isinstance(p, Instance) and p.type.fullname in _NO_OPERANDS):
            kind = p.type.name if isinstance(p, Instance) else "NoneType"
            raise CallError(messages.no_operand(op.name, messages.with_article(kind)), "dtype")


def _reject_no_tensor(call: CheckedCall) -> None:
    """Reject a call whose operands are all numbers or arrays, although each alone may be one."""
    op, signature, arguments = call.op, call.signature, call.arguments
    if op is None or (
        len(op.operands) < 2
        or len([name for name in arguments if name in op.operands and arguments[name][0].tensor is None]) < 2
    ):
        return
    either = [
        name
        for name, formal in signature.formals.items()
        if name in arguments and isinstance(p := get_proper_type(formal), UnionType) and any(map(tensor_parts, p.items))
    ]
    given = [get_proper_type(arguments[name][0].type) for name in either]
    classes = [[t] if isinstance(t, Instance) and t.type.fullname == ARRAY else numbers_in(t) for t in given]
    names = {one.type.fullname for group in classes for one in group}
    if op.name == "where" and all(classes) and "builtins.float" in names <= {"builtins.float", "builtins.int"}:
        call.bindings.given = []  # so the dtype is the default, float32
        return
    if len(either) > 1 and all(classes):
        x, y = (messages.with_article(class_name(one)) for one, *_ in classes)
        raise CallError(messages.no_tensor(op.name, x, y), "dtype")
