"""Types of `map(function, xs)`: mypy gives the items the declared type of what the function returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import ARG_POS, CallExpr, RefExpr, TempNode
from mypy.types import Instance, TupleType, get_proper_type

from tapegrad.mypy.conversion import unknown
from tapegrad.mypy.features.body_outcomes import hiding_failures
from tapegrad.mypy.features.partial_types import holds_open
from tapegrad.mypy.mypy_api import items_of_iterable, type_of_other
from tapegrad.mypy.scopes.names import is_unpacked, targets_bound_to
from tapegrad.mypy.unify.arguments import items_of

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.plugin import FunctionContext
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


def result(ctx: FunctionContext) -> Type:
    """Return the type of `map` with what the function returns for the items; one by one if they are unpacked.

    The call is no error if the function fails for an item: `map` calls it later, or never.
    """
    p, call = get_proper_type(ctx.default_return_type), ctx.context
    if not isinstance(p, Instance) or not holds_open(p.args[0]) or targets_bound_to(call, ctx.api):
        return p  # what is in a variable calls the function later, for items that the lists may have got since
    match call:
        case CallExpr(args=[RefExpr() as function, *sequences], arg_kinds=kinds) if {*kinds} == {ARG_POS}:
            pass
        case _:
            return p
    types = [ctx.arg_types[position][0] for position in range(1, len(kinds))]
    items = items_of(types[0], sequences[0], ctx.api) if len(types) == 1 and is_unpacked(call, ctx.api) else None
    if items is not None:
        each = [_returned(function, [one], p.args[0], call, ctx.api) for one in items]
        return TupleType(each, p.copy_modified(args=[unknown()]))
    common = [item for t in types for item in items_of_iterable(t)]
    is_known = len(common) == len(types)
    return p.copy_modified(args=[_returned(function, common, p.args[0], call, ctx.api)]) if is_known else p


def _returned(function: Expression, given: list[Type], declared: Type, call: CallExpr, api: Checker) -> Type:
    """Return the type of what a function returns for items of some types."""
    one = CallExpr(function, [TempNode(t, context=call) for t in given], [ARG_POS] * len(given), [None] * len(given))
    one.set_line(call)
    with hiding_failures():
        found = type_of_other(api, one, ())
    return declared if found is None else found
