"""Bind the arguments of a call: its sizes, shapes, tapes and dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mypy.nodes import (
    LambdaExpr,
)
from mypy.types import (
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    Type,
    UnionType,
    get_proper_type,
)

from tapegrad.mypy.calls.size_defaults import defaults_of
from tapegrad.mypy.conversion import (
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import accepts
from tapegrad.mypy.signatures import (
    Signature,
    opened_call,
)
from tapegrad.mypy.unify.arguments import (
    Argument,
    Parts,
    items_of,
    listed,
    refined,
)
from tapegrad.mypy.unify.unify import SEQUENCES, bind_given_shape, unify, unify_tensor

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo
    from mypy.plugin import FunctionContext, MethodContext

    from tapegrad.autograd.registry import Op
    from tapegrad.mypy.unify.bindings import Bindings


class CheckedCall(NamedTuple):
    """A call that is checked: what mypy says of it, its declaration, its arguments, its op if any, and its bindings."""

    ctx: FunctionContext | MethodContext
    signature: Signature
    arguments: dict[str, list[Argument]]
    op: Op | None
    bindings: Bindings


def bind_arguments(call: CheckedCall) -> None:
    """Bind the variables of a declaration to what the arguments are.

    Raises:
        CallError: An argument does not match its parameter.
    """
    signature, arguments, op, bindings = call.signature, call.arguments, call.op, call.bindings
    for name, formal in signature.formals.items():
        actuals = arguments.get(name, [])
        if op is not None and name in op.sequences:
            bindings.given.append(formal)
            for parts in listed(op, name, actuals, call.ctx.api):
                _unify_parts(bindings, formal, name, parts)
            continue
        for position, argument in enumerate(actuals):
            place = argument.keyword or (f"{name}[{position}]" if name in signature.starred else name)
            _bind_argument(call, name, argument, place)
    if op is not None:
        _bind_omitted(bindings, signature, arguments, op)
    elif signature.declared.is_type_obj():
        _bind_defaults(bindings, signature, arguments)


def _bind_argument(call: CheckedCall, name: str, argument: Argument, place: str) -> None:
    formal, expected = call.signature.formals[name], call.signature.tensors[name]
    bindings, api = call.bindings, call.ctx.api
    bindings.given.append(formal)
    # In a union of a tensor with other types, each tensor type counts.
    is_one = not isinstance(get_proper_type(formal), UnionType) or tensor_parts(argument.type) is not None
    if argument.tensor is not None and expected is not None and is_one:
        unify_tensor(bindings, expected, argument.tensor, place)
    elif (items := _items(argument, formal, api)) is not None:
        for position, (declared, item) in enumerate(items):
            unify(bindings, declared, item, f"{place}[{position}]")
    elif not _is_rejected_lambda(argument, formal):
        unify(bindings, formal, refined(argument, formal, api), place)
        is_lambda = isinstance(argument.expression, LambdaExpr)
        bind_given_shape(bindings, formal, argument.type, place, is_lambda=is_lambda)


def _items(argument: Argument, formal: Type, api: Any) -> list[tuple[Type, Type]] | None:
    """Return each tensor in a list, with the declared one; mypy joins the sizes of those in a list."""
    p = get_proper_type(formal)
    if not isinstance(p, Instance) or p.type.fullname not in SEQUENCES or tensor_parts(p.args[0]) is None:
        return None
    items = items_of(argument.type, argument.expression, api)
    return None if items is None else [(p.args[0], item) for item in items]


def _unify_parts(bindings: Bindings, formal: Type, name: str, parts: Parts) -> None:
    p = get_proper_type(formal)
    for position, part in enumerate(parts.types):
        place = f"{name}[{position}]" if parts.counted else name
        if isinstance(p, Instance):
            unify(bindings, formal if tensor_parts(p) is not None else p.args[0], part, place)


def _is_rejected_lambda(argument: Argument, formal: Type) -> bool:
    """Return whether mypy itself rejects a lambda, which it infers from the expected type."""
    if not isinstance(argument.expression, LambdaExpr):
        return False
    p = get_proper_type(formal)
    return not accepts(opened_call(p) if isinstance(p, CallableType) else p, argument.type)


def _bind_omitted(bindings: Bindings, signature: Signature, arguments: dict[str, list[Argument]], op: Op) -> None:
    """Bind the operands that an op has not been given, such as a bias: None has no tape."""
    for name in op.operands - arguments.keys():
        formal = get_proper_type(signature.formals.get(name))
        if isinstance(formal, UnionType) and any(isinstance(get_proper_type(one), NoneType) for one in formal.items):
            bindings.given.append(formal)
            unify(bindings, formal, NoneType(), name)


def _bind_defaults(bindings: Bindings, signature: Signature, arguments: dict[str, list[Argument]]) -> None:
    """Bind the omitted sizes and flags of a constructor to their defaults."""
    owner = owner_of_init(signature.result)
    for name, value in defaults_of(owner).items() if owner is not None else ():
        if name not in arguments and name in signature.formals:
            kind = type(value).__name__
            default = unknown() if value is None else LiteralType(value, bindings.make(f"builtins.{kind}", []))
            bindings.given.append(signature.formals[name])
            unify(bindings, signature.formals[name], default, name)


def owner_of_init(constructed: Type) -> TypeInfo | None:
    """Return the class that defines the constructor of a type."""
    p = get_proper_type(constructed)
    return next((one for one in p.type.mro if "__init__" in one.names), None) if isinstance(p, Instance) else None
