"""Shapes with any number of sizes among the arguments of a call, such as `(*x.shape[:-1], 3)`."""

from __future__ import annotations

import operator
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
from tapegrad.mypy.mypy_api import accepts

if TYPE_CHECKING:
    from mypy.plugin import FunctionSigContext, MethodSigContext

    from tapegrad.mypy.mypy_api import Checker


def with_starred_shapes(opened: CallableType, ctx: FunctionSigContext | MethodSigContext) -> CallableType:
    """Accept `*Batch` where a tuple of ints is expected, because mypy treats its items as arbitrary objects."""
    stars = [[one for one in actuals if _may_have_stars(one)] for actuals in ctx.args]
    if not any(stars):
        return opened
    types = [
        unknown() if ones and _takes_sizes(formal) and any(_is_shape(one, formal, ctx.api) for one in ones) else formal
        for formal, ones in zip(opened.arg_types, stars, strict=True)
    ]
    return opened if all(map(operator.is_, types, opened.arg_types)) else opened.copy_modified(arg_types=types)


def without_stars(t: Type) -> Type:
    """Return a tuple type without its `*Batch`; any other type unchanged."""
    p = get_proper_type(t)
    if isinstance(p, Instance) and _is_any_tuple(p):
        return TupleType([], p)
    if not isinstance(p, TupleType) or not any(map(is_star_of_sizes, p.items)):
        return t
    return p.copy_modified(items=[item for item in p.items if not is_star_of_sizes(item)])


def is_star_of_sizes(item: Type) -> bool:
    """Return whether an item of a tuple type is `*Batch`, or a slice of it between bounds that are not known."""
    inside = get_proper_type(item.type) if isinstance(item, UnpackType) else None
    return isinstance(inside, TypeVarTupleType) or (isinstance(inside, Instance) and _is_any_tuple(inside))


def _is_any_tuple(p: Instance) -> bool:
    """Return whether a type is `tuple[object, ...]` or `tuple[object | Any, ...]`, as mypy infers such a slice."""
    if p.type.fullname != "builtins.tuple" or not p.args:
        return False
    item = get_proper_type(p.args[0])
    items = map(get_proper_type, item.items if isinstance(item, UnionType) else [item])
    return any(isinstance(one, Instance) and one.type.fullname == "builtins.object" for one in items)


def _takes_sizes(formal: Type) -> bool:
    p = get_proper_type(formal)
    items = map(get_proper_type, p.items if isinstance(p, UnionType) else [p])
    return any(isinstance(item, Instance) and item.type.fullname == "builtins.tuple" for item in items)


def _is_shape(argument: Expression, formal: Type, api: Checker) -> bool:
    """Return whether an argument contains `*Batch`, and matches the parameter without it."""
    given: Type = api.get_expression_type(argument)
    rest = without_stars(given)
    return rest is not given and accepts(formal, rest)


def _may_have_stars(argument: Expression) -> bool:
    match argument:
        case TupleExpr(items=items):
            return any(isinstance(item, StarExpr) and _may_have_stars(item.expr) for item in items)
        case MemberExpr(name=name):
            return name == "shape"
        case IndexExpr(base=base):
            return _may_have_stars(base)
    # A tuple that is declared as one of objects is no shape.
    return isinstance(argument, NameExpr) and getattr(argument.node, "is_inferred", True)
