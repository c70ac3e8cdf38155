"""Types of `zip(*rows)` that is unpacked, such as `xs, ys = zip(*batch)`: mypy takes all columns for tuples of Any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import ARG_STAR, CallExpr
from mypy.types import Instance, TupleType, Type, UnpackType, get_proper_type

from tapegrad.mypy.conversion import unknown, without_opaque
from tapegrad.mypy.features.partial_types import filled, holds_tensors
from tapegrad.mypy.mypy_api import any_tuple, items_of_iterable, make, stored_type
from tapegrad.mypy.scopes.frames import GivenTensor
from tapegrad.mypy.scopes.names import is_unpacked
from tapegrad.mypy.scopes.sequences import record_in
from tapegrad.mypy.unify.arguments import items_of
from tapegrad.mypy.unify.named_tuples import field_names

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.plugin import FunctionContext

    from tapegrad.mypy.mypy_api import Checker


def columns(ctx: FunctionContext) -> Type:
    """Return the types of the columns of rows with tensors: of as many items as there are rows, if that is known."""
    match ctx.context:
        case CallExpr(args=[written, *_], arg_kinds=[kind, *others]) if kind is ARG_STAR:
            is_known = all(one.is_named() for one in others) and is_unpacked(ctx.context, ctx.api)  # such as `strict`
        case _:
            return ctx.default_return_type
    if not is_known:
        return ctx.default_return_type
    rows, is_counted = _rows(written, ctx.api)
    widths = {len(row.items) for row in rows}
    fallback = get_proper_type(ctx.default_return_type)
    if len(widths) != 1 or not all(map(holds_tensors, rows)) or not isinstance(fallback, Instance):
        return ctx.default_return_type
    of = make(ctx.api)
    by_column = zip(*(row.items for row in rows), strict=True)
    return TupleType(
        [
            TupleType([*column], any_tuple(ctx.api)) if is_counted else of("builtins.tuple", [column[0]])
            for column in by_column
        ],
        fallback.copy_modified(args=[unknown()]),  # else mypy takes Any, where the overloads of `zip` differ in it
    )


def _rows(written: Expression, api: Checker) -> tuple[list[TupleType], bool]:
    """Return the types of the rows, or of each row if their number is not known; none if they may have any length."""
    t = stored_type(api, written)
    if t is None:
        return [], False
    counted = items_of(t, written, api)
    several = [_with_fields(one, written, api) for one in items_of_iterable(t)] if counted is None else counted
    rows = [p for p in map(get_proper_type, several) if isinstance(p, TupleType)]
    is_starred = any(isinstance(item, UnpackType) for row in rows for item in row.items)
    return ([] if is_starred or len(rows) < len(several) else rows), counted is not None


def _with_fields(row: Type, rows: Expression, api: Checker) -> Type:
    """Return the type of a named tuple in a list, with the tensors that all of them have in their fields."""
    p = get_proper_type(row)
    record = record_in(rows, api) if isinstance(p, TupleType) and field_names(p) else None
    if record is None or not isinstance(p, TupleType) or record.info is not p.partial_fallback.type:
        return row
    fields = dict(record.arguments)
    given = [fields.get(name) for name in field_names(p)]
    items = [
        filled(declared, without_opaque(one.t)) if isinstance(one, GivenTensor) else declared
        for declared, one in zip(p.items, given, strict=True)
    ]
    return p.copy_modified(items=items)
