"""Checks of single methods of tensors by their types: whether there is a tape, and whether a loss is a scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    AssertStmt,
    BreakStmt,
    CallExpr,
    ConditionalExpr,
    ContinueStmt,
    IfStmt,
    MemberExpr,
    NameExpr,
    OpExpr,
    RaiseStmt,
    RefExpr,
    ReturnStmt,
    StrExpr,
    UnaryExpr,
)
from mypy.types import AnyType, Instance, LiteralType, TupleType, Type, TypeVarType, UnionType, get_proper_type

from tapegrad.errors import DTypeError, messages
from tapegrad.mypy.conversion import (
    ARRAY,
    NONE_TAPE,
    OWNED_TAPE,
    Many,
    dtype_name,
    ends_of,
    is_tape,
    shape_items,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import make, outermost_scope, stored_type
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.names import blocks_around, inside
from tapegrad.mypy.scopes.values import ValueUnknownError, index_of
from tapegrad.sizes import UNKNOWN, is_unknown, names_in, product, surely_differ

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Block, Context, Expression, Node
    from mypy.plugin import AttributeContext, FunctionContext, MethodContext

    from tapegrad.mypy.mypy_api import Checker


def backward(ctx: MethodContext, result: Type) -> Type:
    """Check `x.backward()`, for which `x` must be a scalar with a tape, or have a seed."""
    parts = tensor_parts(ctx.type)
    if parts is None:
        return result
    if not _may_own_tape(parts.tape) and not _is_one_of_several(ctx) and not _is_tested_before(ctx, parts.tape):
        report(ctx.api, messages.not_differentiable(), ctx.context, "tape")
        return result
    items, shape = ends_of(parts.shape), get_proper_type(parts.shape)
    seeded = any(ctx.args[position] for position, name in enumerate(ctx.callee_arg_names) if name == "seed")
    if items and isinstance(shape, TupleType) and not seeded and not all(isinstance(item, Many) for item in items):
        report(ctx.api, messages.not_scalar(items), ctx.context, "shape")
        return result
    given = dict(zip(ctx.callee_arg_names, ctx.arg_types, strict=True)).get("wrt")
    message = _wrong_target(given[0]) if given else None
    if message is not None:
        report(ctx.api, message, ctx.context, "dtype")
    return result


def _wrong_target(wrt: Type) -> str | None:
    """Return the message for `wrt=` a tensor without gradients, or an array or a text, both iterables to mypy."""
    parts, p = tensor_parts(wrt), get_proper_type(wrt)
    dtype = get_proper_type(parts.dtype) if parts is not None else None
    if isinstance(dtype, Instance) and any(map(dtype.type.has_base, _WITHOUT_GRADIENT)):
        return messages.target_without_gradient(dtype_name(dtype))
    if isinstance(p, TupleType):
        return next(filter(None, map(_wrong_target, p.items)), None)
    if not isinstance(p, Instance):
        return None
    if p.type.fullname in _COLLECTIONS and p.args:
        return _wrong_target(p.args[-1])
    return messages.wrong_target(_NO_TARGETS[p.type.fullname]) if p.type.fullname in _NO_TARGETS else None


_NO_TARGETS: Final = {ARRAY: "an ndarray", "builtins.str": "a str"}
_COLLECTIONS: Final = "builtins.dict", "builtins.list", "builtins.tuple"


_WITHOUT_GRADIENT = "numpy.integer", "numpy.bool"


def trace(ctx: MethodContext, result: Type) -> Type:
    """Check `x.trace()`, for which `x` must have no tape."""
    if _owns_tape(ctx):
        report(ctx.api, messages.traced_twice(), ctx.context, "tape")
    return result


def put_tape(ctx: MethodContext, result: Type) -> Type:
    """Check `x.put_tape(tape)`, for which `x` must have no tape."""
    if _owns_tape(ctx):
        report(ctx.api, messages.tape_unwanted("put_tape", "x"), ctx.context, "tape")
    return result


def from_inner(ctx: MethodContext, result: Type) -> Type:
    """Check `Autodiff(NumPy()).from_inner(x)`, for which `x` must have no tape, because NumPy records nothing."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or receiver.type.fullname != _AUTODIFF or not receiver.args:
        return result
    below = get_proper_type(receiver.args[0])
    given = [get_proper_type(one) for types in ctx.arg_types for one in types]
    if (
        isinstance(below, Instance)
        and below.type.has_base(_NUMPY)
        and any(is_tape(parts.tape, OWNED_TAPE) for one in given if (parts := tensor_parts(one)) is not None)
    ):
        report(ctx.api, messages.tape_unwanted("Autodiff.from_inner", "x"), ctx.context, "tape")
    return result


def owns_tape(ctx: AttributeContext) -> Type:
    """Return the type of `x.owns_tape`: a literal where mypy narrows a union by it, item by item.

    A plain read stays a bool; otherwise mypy would skip the body of `if x.owns_tape:` for some tensors.
    """
    parts = tensor_parts(ctx.type)
    if parts is None or getattr(ctx.context, "name", "") == "owns_tape":
        return ctx.default_attr_type
    owns = is_tape(parts.tape, OWNED_TAPE)
    if not owns and not is_tape(parts.tape, NONE_TAPE):
        return ctx.default_attr_type
    return LiteralType(owns, make(ctx.api)("builtins.bool", []))


def item_assigned(ctx: MethodContext) -> Type:
    """Report the item assignment `x[0] = ...` as an error, because tensors are immutable."""
    try:
        index = messages.written_index(index_of(ctx.arg_types[0][0], ctx.args[0][0], ctx.api))
    except (ValueUnknownError, DTypeError):  # with an invalid index too, the assignment is the error to report
        index = "..."
    report(ctx.api, messages.immutable(index), ctx.context, "dtype")
    return ctx.default_return_type


def gradient_taken(ctx: MethodContext, result: Type) -> Type:
    """Check `grads[x]`, for which `x` must not have an integer or bool dtype."""
    parts = tensor_parts(result)
    dtype = get_proper_type(parts.dtype) if parts is not None else None
    if isinstance(dtype, Instance) and any(map(dtype.type.has_base, _WITHOUT_GRADIENT)):
        report(ctx.api, messages.without_gradient(dtype_name(dtype)), ctx.context, "dtype")
    return result


_AUTODIFF = "tapegrad.autodiff.Autodiff"
_NUMPY = "tapegrad.engines.numpy.engine.NumPy"
METHODS: dict[str, Callable[[MethodContext, Type], Type]] = {
    "backward": backward,
    "put_tape": put_tape,
    "trace": trace,
    "traced": trace,
}


def _owns_tape(ctx: MethodContext) -> bool:
    parts = tensor_parts(ctx.type)
    return parts is not None and is_tape(parts.tape, OWNED_TAPE)


def _may_own_tape(tape: Type) -> bool:
    """Return whether a tape is owned, unknown, or one of several of which not all are missing.

    A variable alone may be no tape in any call, but `T | NoneTape` is the result of a function that decides itself.
    """
    p = get_proper_type(tape)
    if isinstance(p, UnionType):
        return not all(is_tape(item, NONE_TAPE) for item in p.items)
    return isinstance(p, AnyType) or is_tape(p, OWNED_TAPE)


def _is_one_of_several(ctx: MethodContext) -> bool:
    """Return whether a tensor without a tape is an item of a union, of which another item may own one."""
    call = ctx.context
    if not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr):
        return False
    p = get_proper_type(stored_type(ctx.api, call.callee.expr) or ctx.type)
    several = [parts.tape for parts in map(tensor_parts, p.items if isinstance(p, UnionType) else []) if parts]
    return bool(several) and _may_own_tape(UnionType(several))


def _is_tested_before(ctx: MethodContext, tape: Type) -> bool:
    """Return whether the code runs only where `x.owns_tape`, or that of another tensor with the same variable."""
    variable, call = get_proper_type(tape), ctx.context
    if is_tape(tape, NONE_TAPE) or not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr):
        return False
    for owner in _owners_around(call, outermost_scope(ctx.api)):
        parts = tensor_parts(stored_type(ctx.api, owner) or AnyType(0))
        if isinstance(variable, TypeVarType) and parts is not None and get_proper_type(parts.tape) == variable:
            return True
        if _is_same_name(owner, call.callee.expr):
            return True
    return False


def _owners_around(call: CallExpr, scope: Node) -> list[Expression]:
    """Return the tensors that own a tape wherever a call runs, because conditions around it ask for that."""
    found: list[Expression] = []
    for block, position in blocks_around(call, scope):
        for earlier in block[:position]:
            if isinstance(earlier, AssertStmt):
                found += _owners(earlier.expr, holds=True)
            elif isinstance(earlier, IfStmt) and earlier.else_body is None and all(map(_leaves, earlier.body)):
                found += [one for each in earlier.expr for one in _owners(each, holds=False)]
        for node in inside(block[position]):
            match node:
                case IfStmt(expr=conditions, body=bodies):
                    taken = [number for number, body in enumerate(bodies) if call in inside(body)]
                    if taken or (node.else_body is not None and call in inside(node.else_body)):
                        before = taken[0] if taken else len(bodies)
                        found += [one for each in conditions[:before] for one in _owners(each, holds=False)]
                        found += [one for number in taken for one in _owners(conditions[number], holds=True)]
                case ConditionalExpr(cond=condition):
                    if call in inside(node.if_expr) or call in inside(node.else_expr):
                        found += _owners(condition, holds=call in inside(node.if_expr))
                case OpExpr(op="and" | "or", left=left, right=right):
                    found += _owners(left, holds=node.op == "and") if call in inside(right) else []
    return found


def _owners(condition: Expression, *, holds: bool) -> list[Expression]:
    """Return the tensors that own a tape where a condition holds, or where it does not."""
    match condition:
        case MemberExpr(name="owns_tape", expr=owner):
            return [owner] if holds else []
        case UnaryExpr(op="not", expr=inner):
            return _owners(inner, holds=not holds)
        case OpExpr(op=op, left=left, right=right) if op == ("and" if holds else "or"):
            return [*_owners(left, holds=holds), *_owners(right, holds=holds)]
    return []


def _leaves(body: Block) -> bool:
    return bool(body.body) and isinstance(body.body[-1], ReturnStmt | RaiseStmt | ContinueStmt | BreakStmt)


def _is_same_name(a: Expression, b: Expression) -> bool:
    """Return whether two expressions are the same name or the same attribute of one."""
    if isinstance(a, MemberExpr) and isinstance(b, MemberExpr):
        return a.name == b.name and _is_same_name(a.expr, b.expr)
    return isinstance(a, NameExpr) and isinstance(b, NameExpr) and a.node is b.node


def item(ctx: MethodContext) -> Type:
    """Check `x.item()`, for which `x` must have one element."""
    check_one_element("item", ctx.type, ctx.context, ctx.api)
    return ctx.default_return_type


def number(ctx: FunctionContext) -> Type:
    """Check `float(x)`, `int(x)` and `format(x, ".3f")`, for which `x` must have one element."""
    call = ctx.context
    if isinstance(call, CallExpr) and isinstance(call.callee, RefExpr):
        name = call.callee.fullname.removeprefix("builtins.")
        if name != "format" or (len(call.args) == 2 and _is_text(call.args[1])):
            check_one_element(name, ctx.arg_types[0][0], call, ctx.api)
    return ctx.default_return_type


def formatted(ctx: MethodContext) -> Type:
    """Check `f"{x:.3f}"`, which mypy reads as a call of `format`, and for which `x` must have one element."""
    match ctx.context:
        case CallExpr(callee=MemberExpr(expr=StrExpr(value="{:{}}")), args=[x, spec]) if _is_text(spec):
            check_one_element("format", ctx.arg_types[0][0], x, ctx.api)
    return ctx.default_return_type


def _is_text(spec: Expression) -> bool:
    """Return whether a format is written and not empty: `f"{x}"` shows all elements."""
    return isinstance(spec, StrExpr) and spec.value != ""


def check_one_element(call: str, x: Type, at: Context, api: Checker) -> None:
    """Check a tensor of which a call needs one element."""
    parts = tensor_parts(x)
    items = shape_items(parts.shape) if parts is not None else None
    count = UNKNOWN if items is None else product(UNKNOWN if isinstance(size, Many) else size for size in items)
    are_opaque = not is_unknown(count) and all(name.is_opaque for name in names_in(count))
    if items is not None and are_opaque and surely_differ(count, 1):
        report(api, messages.not_one_element(call, items, count), at, "shape")
