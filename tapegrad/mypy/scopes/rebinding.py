"""Variables that are bound again: only the newest binding counts, and its unknown parts match anything.

mypy gives a variable the union of the types that it is bound to, and narrows it to what each of them has in common with
the newest one. Where the newest has Any, an older one still has 200: after `h = h[:, :hidden]` the type is
`Tensor[3, 200] | Tensor[3, Any]`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mypy.nodes import (
    AssignmentExpr,
    AssignmentStmt,
    CallExpr,
    ComparisonExpr,
    Expression,
    ForStmt,
    IndexExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    TempNode,
    TupleExpr,
    Var,
    WhileStmt,
)
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeVarType,
    UninhabitedType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.conversion import MODULE, TENSOR, has_opaque, is_endless, is_iterator, joined, tensor_parts, unknown
from tapegrad.mypy.mypy_api import (
    attribute_variable,
    checked_file,
    enclosing_function,
    newest_binding,
    outermost_scope,
    simplified_union,
    stored_type,
)
from tapegrad.mypy.scopes import axes
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.names import (
    ScopeCache,
    bound_by,
    bound_once,
    inside,
    nodes_in,
    places_of,
    receiver_of,
    statements_in,
    targets_bound_to,
)
from tapegrad.mypy.signatures import concerns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Context, Node

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
    """Return the type of an expression, unknown where the newest binding of the name or the attribute is.

    Where the iterations of a loop may give a variable one of several tensors or layers, mypy passes each, and so it
    does for an item of a list of several. It has then the sizes that those have in common, because mypy does not know
    how often the loop runs, or which item it is.
    """
    found = _newest(t, expression, api)
    whole = get_proper_type(stored_type(api, expression)) if expression is not None else None
    if expression is None or not isinstance(whole, UnionType):
        return found
    p = get_proper_type(found)
    if not isinstance(p, Instance) or not (p.type.fullname == TENSOR or p.type.has_base(MODULE)):
        return found
    if not (_is_item(expression, api) or _is_changed_in_loop(expression, api)):
        return found
    bound = newest_binding(expression, api) if isinstance(expression, NameExpr | MemberExpr) else None
    several = [p, *_items(whole), *_items(bound or whole)]
    if p.type.fullname != TENSOR:
        return common_layer([one for one in several if not isinstance(one, NoneType)]) or found
    common = tensor_parts(joined(UnionType([one for one in several if not isinstance(one, NoneType)])))
    return found if common is None else p.copy_modified(args=[common.shape, *p.args[1:]])


def common_layer(layers: Sequence[Type]) -> Instance | None:
    """Return the type of layers of one class, with the sizes that agree; None if there are other values."""
    several = [p for p in map(get_proper_type, layers) if isinstance(p, Instance)]
    if len(several) < len(layers) or len({(p.type, len(p.args)) for p in several}) != 1:
        return None
    first, *others = several
    if any(isinstance(arg, UnpackType) for p in several for arg in p.args):
        return None
    args = [arg if all(p.args[n] == arg for p in others) else unknown() for n, arg in enumerate(first.args)]
    return first.copy_modified(args=args)


def _is_item(expression: Expression, api: Checker) -> bool:
    """Return whether an expression is an item of a list or another collection, whose items have one type."""
    if isinstance(expression, NameExpr) and isinstance(expression.node, Var):
        value, _ = bound_once(expression.node, api)
        return isinstance(value, IndexExpr) and _is_item(value, api)
    items = get_proper_type(stored_type(api, expression.base)) if isinstance(expression, IndexExpr) else None
    return isinstance(items, Instance) and tensor_parts(items) is None


def _is_changed_in_loop(expression: Expression, api: Checker) -> bool:
    while not isinstance(expression, NameExpr):
        match expression:
            case IndexExpr(base=inner) | CallExpr(callee=MemberExpr(expr=inner)) | AssignmentExpr(target=inner):
                expression = inner
            case _:
                return False
    return expression.node in _changed_in_loops.of(enclosing_function(api) or outermost_scope(api))


def _read_changed_in_loops(scope: Node | None) -> set[Node | None]:
    """Return the variables that statements in loops bind, and those of which they call methods, such as `append`."""
    found: set[Node | None] = set()
    for loop in nodes_in.of(scope):
        for node in inside(loop) if isinstance(loop, ForStmt | WhileStmt) else ():
            found.update(name for name, _ in bound_by(node))
            match node:
                case CallExpr(callee=MemberExpr(expr=NameExpr(node=holder))):
                    found.add(holder)
    return found


_changed_in_loops = ScopeCache(_read_changed_in_loops)


def _newest(t: Type, expression: Expression | None, api: Checker) -> Type:
    if not isinstance(expression, NameExpr | MemberExpr):
        return t
    bound = newest_binding(expression, api)
    if isinstance(expression, NameExpr) and _is_exchanged(expression, api):
        return opened(t, _without_parts(t))
    if bound is None or bound == t:
        return t
    if _is_narrowed(t):
        return bound
    result = bound if has_opaque(bound) and _is_read_from(expression, t, bound, api) else opened(t, bound)
    return result if result is t or _is_rebindable(expression, api) else t


def _is_narrowed(t: Type) -> bool:
    """Return whether mypy has narrowed a tensor of an opaque size to a number: the size has no value in both."""
    parts = tensor_parts(t)
    shape = get_proper_type(parts.shape) if parts is not None else None
    sizes = shape.items if isinstance(shape, TupleType) else []
    return any(isinstance(get_proper_type(size), UninhabitedType) for size in sizes)


class _Exchange(NamedTuple):
    """A statement such as `a, b = b, a`, of which mypy reads the second value when it has bound the first variable.

    Attributes:
        variables: All variables that it binds.
        line: The first line at which a variable may have a wrong type: that of a loop around the statement.
    """

    variables: list[Var]
    line: int


class _Exchanges(NamedTuple):
    """What mypy takes for the newest binding of a variable, although that is another one.

    Attributes:
        uses: The uses of variables in the values of exchanges.
        bound: The variables that exchanges bind to another of their variables.
    """

    uses: dict[Expression, _Exchange]
    bound: dict[Node, _Exchange]


def _is_exchanged(name: NameExpr, api: Checker) -> bool:
    """Return whether mypy may take the value of another variable for that of a variable, because of `a, b = b, a`."""
    if Reading.frame is not None:  # a body that is read binds the variables when it has read all values
        return False
    if not _has_exchanges.of(checked_file(api)):
        return False
    known = _exchanges.of(enclosing_function(api) or outermost_scope(api))
    exchange = known.uses.get(name)
    if exchange is None and name.node is not None:
        exchange = known.bound.get(name.node)
        exchange = exchange if exchange is not None and name.line >= exchange.line else None
    if exchange is None:
        return False
    first, *others = [variable.type for variable in exchange.variables]
    return any(one != first for one in others)


def _read_exchanges(scope: Node | None) -> _Exchanges:
    found = _Exchanges({}, {})
    nodes = nodes_in.of(scope)
    loops = [node for node in nodes if isinstance(node, ForStmt | WhileStmt)]
    for node in nodes:
        if not isinstance(node, AssignmentStmt) or not isinstance(node.rvalue, TupleExpr):
            continue
        for target in node.lvalues:
            if not isinstance(target, TupleExpr) or len(target.items) != len(node.rvalue.items):
                continue
            names = [one.node if isinstance(one, NameExpr) else None for one in target.items]
            variables = [name for name in names if isinstance(name, Var)]
            around = [loop.line for loop in loops if loop.line <= node.line <= (loop.end_line or loop.line)]
            exchange = _Exchange(variables, min([node.line, *around]))
            for position, value in enumerate(node.rvalue.items):
                uses = [one for one in inside(value) if isinstance(one, NameExpr) and one.node in names[:position]]
                found.uses.update(dict.fromkeys(uses, exchange))
                if value in uses and (bound := names[position]) is not None:
                    found.bound[bound] = exchange
    return found


_exchanges = ScopeCache(_read_exchanges)
_has_exchanges = ScopeCache(
    lambda file: any(
        isinstance(one, AssignmentStmt) and isinstance(one.rvalue, TupleExpr) for one in statements_in(file)
    )
)


def _without_parts(t: Type) -> Type:
    """Return a tensor type without its parts, for each item of a union."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return UnionType([_without_parts(item) for item in p.items])
    return (
        p if tensor_parts(p) is None or not isinstance(p, Instance) else p.copy_modified(args=[unknown()] * len(p.args))
    )


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


def with_attribute(value: Context, result: Type, api: Checker) -> Type:
    """Return a layer with the sizes that it shares with another layer which the program assigns to the same attribute.

    The attribute has these sizes from here on. mypy knows the first layer by the type that it expects.
    """
    expected = get_proper_type(api.type_context[-1])
    p = get_proper_type(result)
    if not isinstance(expected, Instance) or not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return result
    common = common_layer([expected, p]) if p != expected else None
    if common is None:
        return result
    for target in places_of(value, api):
        variable = attribute_variable(target, api) if isinstance(target, MemberExpr) else None
        if isinstance(variable, Var) and variable.is_inferred and variable.type == expected:
            variable.type = result = common
    return result


def bound(value: Context, result: Type, api: Checker) -> Type:
    """Return the type with which variables are bound to a result.

    Its unknown sizes get names after a variable that is bound once. Variables that are bound several times become
    unknown where the result is, although older bindings are known.
    """
    if _is_complete(result):
        return result
    result = axes.of_targets(value, result, api)
    for name in targets_bound_to(value, api):
        variable = name.node
        if isinstance(variable, Var) and variable.type is not None and _is_rebindable(name, api):
            older = opened(variable.type, result)
            if older is not variable.type and concerns(older):
                variable.type = older
    return result


def _is_complete(t: Type) -> bool:
    """Return whether a type has no parts, or is a tensor or a layer without unknown parts, as most are."""
    p = get_proper_type(t)
    if not isinstance(p, Instance):
        return not isinstance(p, TupleType | UnionType)
    if is_iterator(p):
        return _is_complete(p.args[0])
    for part in map(get_proper_type, p.args):
        if isinstance(part, LiteralType | TypeVarType):
            continue
        if isinstance(part, TupleType):
            parts: Sequence[Type] = part.items
        elif isinstance(part, Instance):
            parts = part.args
        else:
            return False
        if any(isinstance(one, AnyType) for one in parts):
            return False
    return True


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
        case CallExpr(callee=NameExpr() | IndexExpr() as module):
            return module
    return receiver_of(call, reflected=reflected)


def _is_rebindable(expression: NameExpr | MemberExpr, api: Checker) -> bool:
    """Return whether a variable is a parameter or has no annotation: any other annotation holds for all its values."""
    variable = expression.node if isinstance(expression, NameExpr) else attribute_variable(expression, api)
    return isinstance(variable, Var) and (variable.is_inferred or variable.is_argument)
