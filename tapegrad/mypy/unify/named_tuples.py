"""Generic named tuples: `_replace` may change the sizes of a field, and returns a tuple of the new sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.types import CallableType, TupleType, get_proper_type

from tapegrad.mypy.conversion import fields_of, kind_of, tensor_parts
from tapegrad.mypy.mypy_api import expand_type, fill_typevars
from tapegrad.mypy.unify.arguments import Argument

if TYPE_CHECKING:
    from typing import TypeGuard

    from mypy.plugin import MethodContext, MethodSigContext
    from mypy.types import FunctionLike


def replace_signature(ctx: MethodSigContext, declared: FunctionLike) -> CallableType | None:
    """Return the signature of `_replace` with the sizes of the class as type variables; None for any other call."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, TupleType) or not is_replace(declared):
        return None
    instance = receiver.partial_fallback
    variables = instance.type.defn.type_vars
    open_ones = [one for one in variables if kind_of(one) not in ("other", "sizes")]
    if not open_ones or len(variables) != len(instance.args):
        return None
    fixed = {one.id: argument for one, argument in zip(variables, instance.args, strict=True) if one not in open_ones}
    whole = expand_type(fill_typevars(instance.type), fixed)
    items = whole.items if isinstance(whole, TupleType) else receiver.items
    return declared.copy_modified(arg_types=items, ret_type=whole, variables=open_ones)


def is_replace(declared: FunctionLike) -> TypeGuard[CallableType]:
    """Return whether a signature is that of `_replace`, which mypy generates for each class."""
    name = declared.name if isinstance(declared, CallableType) and declared.definition is None else None
    return name is not None and name.startswith("_replace of ")


def field_names(t: TupleType) -> list[str]:
    """Return the field names of a named tuple; an empty list for any other tuple."""
    names = fields_of(t.partial_fallback.type)
    return names if len(names) == len(t.items) else []


def replaced_fields(
    ctx: MethodContext, given: dict[str, list[Argument]], names: list[str]
) -> dict[str, list[Argument]]:
    """Return the fields of the tuple that `_replace` returns: the given ones, and the others unchanged."""
    receiver = get_proper_type(ctx.type)
    items = receiver.items if isinstance(receiver, TupleType) else []
    own = {name: [Argument(item, None, tensor_parts(item))] for name, item in zip(names, items, strict=True)}
    return own | given
