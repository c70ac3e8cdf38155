"""Check the arguments of a call: what their types allow, but the op or the constructor rejects."""

from __future__ import annotations

from inspect import signature as parameters_of
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mypy.nodes import (
    Decorator,
)
from mypy.types import (
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.kinds import INT, INTS
from tapegrad.mypy.calls.binding import CheckedCall, owner_of_init
from tapegrad.mypy.conversion import (
    ARRAY,
    Many,
    kind_of,
    literal,
    shape_items,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import accepts
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

    from tapegrad.autograd.registry import Op
    from tapegrad.mypy.signatures import (
        Signature,
    )
    from tapegrad.sizes import Size


Rule: TypeAlias = "Callable[[dict[str, list[Size | Many] | None]], None]"  # takes the shapes of tensors, by parameter

_NO_OPERANDS: Final = frozenset(
    f"builtins.{name}" for name in ("bytes", "complex", "dict", "frozenset", "list", "range", "set", "str", "tuple")
)


def check_operands(call: CheckedCall) -> None:
    """Reject operands of an op that cannot be any.

    Raises:
        CallError: One is no operand, or none of them is a tensor.
    """
    if call.op is not None:
        _reject_no_operand(call.op, call.arguments)
        _reject_no_tensor(call)


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
        _reject_bools(bindings.name, signature, arguments)
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


def _reject_bools(call: str, signature: Signature, arguments: dict[str, list[Argument]]) -> None:
    """Reject a bool that is given as a size, in the words of the guard; mypy takes it for an int.

    Raises:
        CallError: An argument is a bool.
    """
    for name, given in arguments.items():
        kinds = _kinds_of_size(signature.formals[name])
        p = literal(given[0].type) if len(given) == 1 else None
        fallback = p.fallback if isinstance(p, LiteralType) else p
        if INT not in kinds or not isinstance(fallback, Instance) or fallback.type.fullname != "builtins.bool":
            continue
        if not any("'" in kind for kind in kinds):
            shown = "a bool"
        elif isinstance(p, LiteralType):
            shown = repr(p.value)  # the guard shows what is given beside strings that are expected
        else:
            continue
        raise CallError(f"{call}: {name} is {shown} but {' or '.join(kinds)} is expected", "dtype")


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
