"""Variables that are bound again: only the newest binding counts, and its unknown parts match anything.

mypy gives a variable the union of the types that it is bound to, and narrows it to what each of them has in common with
the newest one. Where the newest has Any, an older one still has 200: after `h = h[:, :hidden]` the type is
`Tensor[3, 200] | Tensor[3, Any]`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeVar

from mypy.nodes import (
    CallExpr,
    ComparisonExpr,
    Expression,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    TempNode,
    Var,
)
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import AnyType, Instance, ProperType, TupleType, Type, UnionType, UnpackType, get_proper_type

from tapegrad.mypy.conversion import has_opaque, is_endless, tensor_parts
from tapegrad.mypy.mypy_api import attribute_variable, newest_binding, simplified_union
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.names import receiver_of, targets_bound_to
from tapegrad.mypy.signatures import concerns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Context

    from tapegrad.mypy.mypy_api import Checker

AnyCall = TypeVar("AnyCall", FunctionContext, MethodContext)


def with_newest(ctx: AnyCall, *, reflected: bool = False) -> AnyCall:
    """Return a call with the newest bindings of the variables in its arguments and its receiver.

    Args:
        ctx: A call as mypy describes it.
        reflected: Whether the receiver is the right operand.
    """
    if Reading.is_tried:  # the layer of a container, which no variable holds
        return ctx
    for types, expressions in zip(ctx.arg_types, ctx.args, strict=True):
        for position, expression in enumerate(expressions):
            # For a union as the operand of an operator, mypy passes each item without the expression.
            if isinstance(expression, TempNode) and isinstance(ctx.context, OpExpr):
                written: Expression = ctx.context.left if reflected else ctx.context.right
            else:
                written = expression
            types[position] = newest(types[position], written, ctx.api)
    if isinstance(ctx, MethodContext):
        receiver = get_proper_type(newest(ctx.type, _receiver(ctx.context, reflected=reflected), ctx.api))
        if receiver is not ctx.type:
            return ctx._replace(type=receiver)
    return ctx


def newest(t: Type, expression: Expression | None, api: Checker) -> Type:
    """Return the type of an expression, unknown where the newest binding of the name or the attribute is."""
    if not isinstance(expression, NameExpr | MemberExpr):
        return t
    bound = newest_binding(expression, api)
    if bound is None or bound == t:
        return t
    result = bound if has_opaque(bound) and _is_read_from(expression, t, bound, api) else opened(t, bound)
    return result if result is t or _is_rebindable(expression, api) else t


def _is_read_from(expression: NameExpr | MemberExpr, t: Type, bound: Type, api: Checker) -> bool:
    """Return whether a type is that of a variable, not of a layer of the model in the variable.

    After `x = self.up(x)`, both of opaque sizes, mypy reads the variable as a union of its older types and the newest.
    """
    if tensor_parts(bound) is not None:
        return True
    variable = expression.node if isinstance(expression, NameExpr) else attribute_variable(expression, api)
    declared = variable.type if isinstance(variable, Var) else None
    known = [*_items(bound), *(_items(declared) if declared is not None else [])]
    return all(item in known for item in _items(t))


def _items(t: Type) -> list[ProperType]:
    p = get_proper_type(t)
    return [item for one in p.items for item in _items(one)] if isinstance(p, UnionType) else [p]


def open_targets(value: Context, result: Type, api: Checker) -> None:
    """Make the variables that a result is bound to unknown where the result is, although older bindings are known."""
    if _is_complete(result):
        return
    for name in targets_bound_to(value, api):
        variable = name.node
        if isinstance(variable, Var) and variable.type is not None and _is_rebindable(name, api):
            older = opened(variable.type, result)
            if older is not variable.type and concerns(older):
                variable.type = older


def _is_complete(t: Type) -> bool:
    """Return whether a type has no parts, or is a tensor without unknown parts, as most are."""
    p = get_proper_type(t)
    if not isinstance(p, Instance):
        return not isinstance(p, TupleType | UnionType)
    if len(p.args) != 3:
        return not p.args
    shape = p.args[0]
    parts = shape.items if isinstance(shape, TupleType) else [shape]
    return not any(isinstance(part, AnyType) for part in (*parts, *p.args[1:]))


def opened(older: Type, newer: Type) -> Type:
    """Return a type with Any wherever a newer type of the same form has it; the same object if nothing changes."""
    if is_endless(older) or is_endless(newer):
        return older
    p, q = get_proper_type(older), get_proper_type(newer)
    if isinstance(q, UnionType):
        for item in q.items:
            older = opened(older, item)
        return older
    if isinstance(p, UnionType):
        items = [opened(item, q) for item in p.items]
        return older if all(map(operator.is_, items, p.items)) else simplified_union(items)
    if isinstance(p, Instance) and isinstance(q, Instance) and p.type is q.type:
        args = _opened_parts(p.args, q.args)
        return older if args is None else p.copy_modified(args=args)
    if isinstance(p, TupleType) and isinstance(q, TupleType):
        items = _opened_parts(p.items, q.items)
        return older if items is None else p.copy_modified(items=items)
    return older


def _opened_parts(older: Sequence[Type], newer: Sequence[Type]) -> list[Type] | None:
    if len(older) != len(newer) or any(isinstance(one, UnpackType) for one in (*older, *newer)):
        return None
    parts: list[Type] = []
    for one, other in zip(older, newer, strict=True):
        p, q = get_proper_type(one), get_proper_type(other)
        parts.append(q if isinstance(q, AnyType) and not isinstance(p, AnyType) else opened(one, other))
    return None if all(map(operator.is_, parts, older)) else parts


def _receiver(call: Context, *, reflected: bool) -> Expression | None:
    match call:
        case ComparisonExpr(operands=[left, _]) | OperatorAssignmentStmt(lvalue=left):
            return left
        case CallExpr(callee=NameExpr() as module):
            return module
    return receiver_of(call, reflected=reflected)


def _is_rebindable(expression: NameExpr | MemberExpr, api: Checker) -> bool:
    """Return whether a variable is a parameter or has no annotation: any other annotation holds for all its values."""
    variable = expression.node if isinstance(expression, NameExpr) else attribute_variable(expression, api)
    return isinstance(variable, Var) and (variable.is_inferred or variable.is_argument)
