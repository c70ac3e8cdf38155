"""Named tuples with tensors of unknown shape in their fields: a call of the class says what the fields are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    CallExpr,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ListComprehension,
    ListExpr,
    RefExpr,
    SetComprehension,
    SetExpr,
    TypeInfo,
)
from mypy.types import Instance, TupleType, UnionType, get_proper_type

from tapegrad.mypy.features.partial_types import filled, is_open
from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.names import ScopeCache, children_of, inside, nodes_in
from tapegrad.mypy.signatures import parameter_names, without_sizes
from tapegrad.mypy.unify.arguments import arguments_of
from tapegrad.mypy.unify.named_tuples import field_names

if TYPE_CHECKING:
    from mypy.nodes import Node
    from mypy.plugin import FunctionContext, MethodContext
    from mypy.types import CallableType, Type


def made_with_fields(ctx: FunctionContext, declared: CallableType | None, made: Type) -> Type:
    """Return the type of the named tuple that a call of its class makes, with what the call gives its fields.

    Without `allow_redefinition` mypy would report that a variable is bound to another one with other sizes.
    """
    p = get_proper_type(made)
    if isinstance(p, Instance) and any(map(_is_named_tuple, p.args)):
        return _with_declared_fields(p, ctx)
    if declared is None or not declared.is_type_obj() or not isinstance(p, TupleType) or not is_open(p):
        return made
    creates = p.partial_fallback.type.get("__new__")
    if creates is None or not creates.plugin_generated:
        return made  # a subclass may have written its own, which changes what a call gives
    if not ctx.api.options.allow_redefinition or ctx.context in _in_lists_of_lists.of(checked_file(ctx.api)):
        return made
    return _with_fields(p, p.items, ctx, declared)


def _read_lists_of_lists(file: Node | None) -> set[Node]:
    """Return the calls in displays of displays: mypy joins `[Step(x)]` and `[Step(y)]` of two shapes to an object."""
    outer = (node for node in nodes_in.of(file) if isinstance(node, ListExpr | SetExpr | DictExpr))
    inner = (one for node in outer for one in children_of(node, Expression) if isinstance(one, _DISPLAYS))
    return {call for one in inner for call in inside(one)}


_DISPLAYS: Final = ListExpr, SetExpr, DictExpr, ListComprehension, SetComprehension, DictionaryComprehension
_in_lists_of_lists = ScopeCache(_read_lists_of_lists)


def _with_declared_fields(made: Instance, ctx: FunctionContext) -> Instance:
    """Return the type of an object of a generic class that may get other named tuples later, with other sizes."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    if not isinstance(callee, RefExpr) or not isinstance(callee.node, TypeInfo):
        return made
    return made.copy_modified(args=[without_sizes(one) if _is_named_tuple(one) else one for one in made.args])


def _is_named_tuple(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, TupleType) and bool(field_names(p))


def replaced_with_fields(ctx: MethodContext, declared: CallableType, replaced: Type) -> Type:
    """Return the type of what `_replace` returns, with what the call gives its fields."""
    p = get_proper_type(replaced)
    whole = p.partial_fallback.type.tuple_type if isinstance(p, TupleType) else None
    if not isinstance(p, TupleType) or whole is None or p.partial_fallback.args or not is_open(whole):
        return replaced
    return _with_fields(p, whole.items, ctx, declared)


def _with_fields(
    t: TupleType, fields: list[Type], ctx: FunctionContext | MethodContext, declared: CallableType
) -> TupleType:
    """Return a named tuple in which what a call gives fills the fields, as they are declared."""
    names, given = field_names(t), arguments_of(ctx, parameter_names(declared))
    if len(names) != len(t.items):
        return t
    items: list[Type] = []
    for name, item, field in zip(names, t.items, fields, strict=True):
        arguments = given.get(name, [])
        is_filled = len(arguments) == 1 and _may_be_filled(field)
        items.append(filled(field, arguments[0].type) if is_filled else field if arguments else item)
    return t.copy_modified(items=items)


def _may_be_filled(field: Type) -> bool:
    """Return whether a field is a tensor, or a tuple with tensors.

    mypy would not take a list of tuples for one of the declared ones, if a field that may be None were filled.
    """
    p = get_proper_type(field)
    return all(map(_may_be_filled, p.items)) if isinstance(p, TupleType) else not isinstance(p, UnionType)


def field_of(owner: Type, name: str, declared: Type) -> Type:
    """Return the type of a field of a named tuple, with what the call that has made it says."""
    p = get_proper_type(owner)
    fields = dict(zip(field_names(p), p.items, strict=False)) if isinstance(p, TupleType) and is_open(declared) else {}
    return filled(declared, fields[name]) if name in fields else declared
