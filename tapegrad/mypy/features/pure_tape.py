"""Ops on the nodes of a pure tape: each is typed by the op on tensors that it was lifted from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.types import CallableType, Instance, Type, UnionType, get_proper_type

from tapegrad.mypy.calls.check import method_name, signed_call
from tapegrad.mypy.conversion import NODE, TENSOR, tensor_parts, unknown
from tapegrad.mypy.mypy_api import Argument, declared_function, make, tried_method

if TYPE_CHECKING:
    from mypy.plugin import MethodContext, MethodSigContext

    from tapegrad.mypy.conversion import Make

LIFTED = "tapegrad.tapem.lift.Lifted"
PROGRAM = "tapegrad.tapem.program.TapeM"


def op_of(t: Type, api: Any) -> CallableType | None:
    """Return the signature of the op that a value was lifted from; None if it is not a lifted op."""
    p = get_proper_type(t)
    op = get_proper_type(p.args[0]) if isinstance(p, Instance) and p.type.fullname == LIFTED else None
    if not isinstance(op, CallableType):
        return None
    if op.definition is None and op.variables:
        # A signature from mypy's cache has lost its definition, but its type variables name the function.
        return declared_function(api, op.variables[0].id.namespace) or op
    return op


def op_called(ctx: MethodSigContext) -> CallableType | None:
    """Return the signature of the lifted op that is called; None for any other call, such as a comparison."""
    return op_of(ctx.type, ctx.api) if method_name(ctx.default_signature) == "__call__" else None


def signature(ctx: MethodSigContext, op: CallableType) -> CallableType:
    """Return the op's own signature with nodes for tensors, so that mypy checks the number and names of arguments."""
    return op.copy_modified(
        arg_types=[_of_nodes(t, make(ctx.api)) for t in op.arg_types], ret_type=ctx.default_signature.ret_type
    )


def call(ctx: MethodContext, op: CallableType) -> Type:
    """Compute the type of the call: a program whose value is a node with the result shape and dtype of the op."""
    parts = tensor_parts(signed_call(ctx, op))
    if parts is None:
        return ctx.default_return_type
    node = make(ctx.api)(NODE, [parts.shape, parts.dtype])
    return make(ctx.api)(PROGRAM, [node])


def bound(ctx: MethodContext) -> Type | None:
    """Compute the type of `program.bind(tapem.exp)`, with a lifted op as the argument; None for other functions."""
    receiver, function = get_proper_type(ctx.type), _only(ctx.arg_types)
    if not isinstance(receiver, Instance) or receiver.type.fullname != PROGRAM or op_of(function, ctx.api) is None:
        return None
    trial = tried_method(ctx.api, function, "__call__", [Argument(receiver.args[0])], ctx.context)
    for message, code in trial.errors:
        ctx.api.fail(message, ctx.context, code=code)
    return trial.result


def _only(arguments: list[list[Type]]) -> Type:
    return arguments[0][0] if len(arguments) == 1 and len(arguments[0]) == 1 else unknown()


def _of_nodes(t: Type, make: Make) -> Type:
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.type.fullname == TENSOR:
        return make(NODE, [unknown(), unknown()])
    if isinstance(p, Instance) and p.type.fullname == "typing.Sequence":
        return p.copy_modified(args=[_of_nodes(argument, make) for argument in p.args])
    if isinstance(p, UnionType):
        return UnionType([_of_nodes(item, make) for item in p.items], p.line, p.column)
    return t
