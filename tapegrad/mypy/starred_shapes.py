"""Shapes with any number of sizes among the arguments of a call, such as `(*x.shape[:-1], 3)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Expression, IndexExpr, MemberExpr, NameExpr, StarExpr, TupleExpr
from mypy.types import (
    CallableType,
    Instance,
    TupleType,
    Type,
    TypeVarTupleType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.conversion import unknown
from tapegrad.mypy.internals import accepts

if TYPE_CHECKING:
    from mypy.plugin import FunctionSigContext, MethodSigContext

    from tapegrad.mypy.internals import Checker


def with_starred_shapes(opened: CallableType, ctx: FunctionSigContext | MethodSigContext) -> CallableType:
    """Accept `*Batch` where a tuple of ints is expected, because mypy treats its items as arbitrary objects."""
    types = [
        unknown() if _takes_sizes(formal) and any(_is_shape(one, formal, ctx.api) for one in actuals) else formal
        for formal, actuals in zip(opened.arg_types, ctx.args, strict=True)
    ]
    return opened if types == opened.arg_types else opened.copy_modified(arg_types=types)


def without_stars(t: Type) -> Type:
    """Return a tuple type without its `*Batch`; any other type unchanged."""
    p = get_proper_type(t)
    if not isinstance(p, TupleType) or not any(map(is_star_of_sizes, p.items)):
        return t
    return p.copy_modified(items=[item for item in p.items if not is_star_of_sizes(item)])


def is_star_of_sizes(item: Type) -> bool:
    """Return whether an item of a tuple type is `*Batch`."""
    return isinstance(item, UnpackType) and isinstance(get_proper_type(item.type), TypeVarTupleType)


def _takes_sizes(formal: Type) -> bool:
    p = get_proper_type(formal)
    items = map(get_proper_type, p.items if isinstance(p, UnionType) else [p])
    return any(isinstance(item, Instance) and item.type.fullname == "builtins.tuple" for item in items)


def _is_shape(argument: Expression, formal: Type, api: Checker) -> bool:
    """Return whether an argument contains `*Batch`, and matches the parameter without it."""
    if not _may_have_stars(argument):
        return False
    given: Type = api.get_expression_type(argument)
    rest = without_stars(given)
    return rest is not given and accepts(formal, rest)


def _may_have_stars(argument: Expression) -> bool:
    match argument:
        case TupleExpr(items=items):
            return any(isinstance(item, StarExpr) for item in items)
        case MemberExpr(name=name):
            return name == "shape"
        case IndexExpr(base=base):
            return _may_have_stars(base)
    return isinstance(argument, NameExpr)
