"""Constructors of models, which make layers of sizes that a call decides: some cannot be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, ComparisonExpr
from mypy.types import Instance, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import has_opaque, unknown
from tapegrad.mypy.features.body_outcomes import fail, seen_from
from tapegrad.mypy.features.body_state import Failure
from tapegrad.mypy.features.made_layers import arguments_of
from tapegrad.mypy.mypy_api import can_read_bodies, checked_file, depend_on_bodies, type_of_call
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.ownership.spelling import written
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.created_objects import created_by, mark_failed
from tapegrad.mypy.scopes.frames import LayerCall, Made, Nothing, within
from tapegrad.mypy.scopes.numbers import is_plain
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.records import LayersMade, is_recorded, record_made
from tapegrad.mypy.scopes.statements import compared

if TYPE_CHECKING:
    from mypy.errorcodes import ErrorCode
    from mypy.nodes import Context, Expression, MypyFile, TypeInfo
    from mypy.plugin import FunctionContext
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Creation, Value


def check_constructor(ctx: FunctionContext) -> None:
    """Report a layer that the constructor of a model makes for the arguments of a call, and that cannot be made."""
    call, api = ctx.context, ctx.api
    if not isinstance(call, CallExpr) or not can_read_bodies(api.options):
        return
    made = object_of(call, api)
    if is_recorded(api) and isinstance(p := get_proper_type(ctx.default_return_type), Instance):
        _record(made if isinstance(made, Made) else None, p.type, call, api)
    found = _failure_of(made, api) if isinstance(made, Made) else None
    if found is not None and isinstance(made, Made):
        depend_on_bodies(api)
        mark_failed(made)
        fail(ctx, seen_from(call, *found, checked_file(api), api), {})


def _record(made: Made | None, info: TypeInfo, call: CallExpr, api: Checker) -> None:
    """Record the layers that the constructor of an object makes, and those of the objects that it makes."""
    created = [] if made is None else created_by(made, api)
    types: dict[Expression, list[Type] | None] = {}
    for creation in created:
        if not isinstance(creation.at, CallExpr):
            continue
        if isinstance(creation.value, LayerCall):
            t, _ = type_of_call(api, creation.value.info, arguments_of(creation.value))
            types[creation.at] = [*(types.get(creation.at) or ()), unknown() if t is None else t]
        elif isinstance(creation.value, Made):
            types.setdefault(creation.at, None)
            _record(creation.value, creation.value.info, creation.at, api)
    record_made(api, LayersMade(info, call, types, {one.file for one in created}))


def _failure_of(made: Made, api: Checker) -> tuple[Failure, MypyFile] | None:
    """Return the first failure in the constructor of an object, with its file."""
    for creation in created_by(made, api):
        value, at, file = creation.value, creation.at, creation.file
        if isinstance(value, Made):
            inner = _failure_of(value, api)
            if inner is not None:
                return seen_from(at, *inner, file, api), file
            continue
        error = (_failed(creation), CODES["shape"]) if value is None else _rejection_of(value, api)
        if error is None:
            continue
        if _fails_for_any_call(at, file, api):
            mark_failed(made)
            return None
        end_line, end_column = at.end_line or at.line, at.end_column or at.column
        return Failure(*error, at.line, at.column, end_line, end_column), file
    return None


def _failed(assertion: Creation) -> str:
    condition = assertion.condition
    operands = [] if condition is None else zip(compared(condition), assertion.values, strict=True)
    sides = [(written(one), _shown(value)) for one, value in operands if is_plain(value)]
    return messages.failed_assertion(sides, condition.operators[0] if isinstance(condition, ComparisonExpr) else "")


def _shown(value: Value) -> str:
    return "None" if isinstance(value, Nothing) else repr(value)


def _fails_for_any_call(at: Context, file: MypyFile, api: Checker) -> bool:
    """Return whether a layer cannot be made for any arguments of the constructor, which mypy reports where it is."""
    if not isinstance(at, CallExpr):
        return False
    with in_file(file, api), within(None):
        value = object_of(at, api)
    return isinstance(value, LayerCall) and bool(type_of_call(api, value.info, arguments_of(value))[1])


def _rejection_of(layer: LayerCall, api: Checker) -> tuple[str, ErrorCode] | None:
    """Return the error of tapegrad by which a layer cannot be made; None if it can, or if its sizes are not known."""
    if any(map(has_opaque, layer.types)):
        return None
    _, errors = type_of_call(api, layer.info, arguments_of(layer))
    code = errors[0].code if errors else None
    return (errors[0].message, code) if code is not None and code in CODES.values() else None
