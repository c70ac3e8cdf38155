"""Methods and functions that add items to collections, which may have other sizes than the first ones.

Such as `layers.append(layer)`, and `add(layers)` of a function of the program with that statement.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Expression,
    FuncDef,
    IndexExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    SliceExpr,
    StarExpr,
    Var,
)
from mypy.types import AnyType, CallableType, Instance, TupleType, UnionType, get_proper_type

from tapegrad.mypy.calls.array_types import is_array
from tapegrad.mypy.conversion import PARAM, TENSOR, joined, shape_items, tensor_parts, unknown, without_opaque
from tapegrad.mypy.features.partial_types import filled, join
from tapegrad.mypy.mypy_api import (
    attribute_variable,
    checked_file,
    checked_type,
    get_all_type_vars,
    has_annotation,
    is_of_library,
    name_of,
    narrow,
    narrow_in_loops,
    newest_binding,
    silenced,
    simplified_union,
    stored_type,
)
from tapegrad.mypy.scopes.called_functions import steady_type
from tapegrad.mypy.scopes.collections import (
    Use,
    appended_to,
    changed_outside,
    collection_of,
    display_of,
    may_change,
    other_names,
    use_of,
    use_of_variable,
)
from tapegrad.mypy.scopes.entries import entries_in, entries_of, entry_of, is_dictionary, with_entries
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.functions import written_with_file
from tapegrad.mypy.scopes.rebinding import newest, opened
from tapegrad.mypy.scopes.turns import share_loop
from tapegrad.mypy.scopes.written_attributes import constructor_value
from tapegrad.mypy.signatures import without_sizes
from tapegrad.mypy.sources import module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.nodes import Context
    from mypy.plugin import FunctionSigContext, MethodContext, MethodSigContext
    from mypy.types import FunctionLike, ProperType, Type

    from tapegrad.mypy.conversion import TensorParts
    from tapegrad.mypy.mypy_api import Checker


def growing(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of a method that adds items to a collection.

    If no annotation declares the sizes of its items, they are unknown from here on; so are rank, tape and dtype if
    those of the new item differ.
    """
    declared = ctx.default_signature
    if not isinstance(declared, CallableType):
        return declared
    holder = _holder(ctx.context)
    if not _open(holder, None, ctx.api):
        return declared.copy_modified(arg_types=list(map(without_opaque, declared.arg_types)))
    types = list(map(without_sizes, declared.arg_types))
    if isinstance(holder, NameExpr) and _adds_one(ctx.context):
        item = _item_beside(types[-1], ctx.args[-1][0], ctx.api)
        if item is not types[-1] and isinstance(holder.node, Var):
            _replace_items(holder, holder.node, item, ctx.api)
            types[-1] = item
    return declared.copy_modified(arg_types=types)


def _adds_one(change: Context) -> bool:
    """Return whether a change of a collection adds one item, or replaces one."""
    match change:
        case IndexExpr(index=index):
            return not isinstance(index, SliceExpr)
        case CallExpr(callee=MemberExpr(name="append" | "appendleft" | "insert" | "setdefault"), arg_kinds=kinds):
            return ARG_STAR not in kinds and ARG_STAR2 not in kinds
    return False


def _item_beside(item: Type, value: Expression, api: Checker) -> Type:
    """Return the type of the tensors in a collection, without what the type of one that is added contradicts."""
    parts = tensor_parts(item)
    if parts is None:
        return item
    with silenced(api):
        added = tensor_parts(checked_type(api, value, may_be_none=True))
    own, p = shape_items(parts.shape), get_proper_type(item)
    if added is None or not isinstance(p, Instance) or p.type.fullname not in _PARTS:
        return item
    other = shape_items(added.shape)
    is_of_rank = own is None or other is None or len(own) == len(other)
    pairs = zip(p.args[1:], _PARTS[p.type.fullname](added), strict=True)
    args = [one if one == another else unknown() for one, another in pairs]
    if is_of_rank and all(map(operator.is_, args, p.args[1:])):
        return item
    return p.copy_modified(args=[p.args[0] if is_of_rank else unknown(), *args])


def _replace_items(holder: NameExpr, collection: Var, item: Type, api: Checker) -> None:
    """Let the tensors in a collection, which has no annotation, have another type from here on."""

    def change(t: Type) -> Type:
        p = get_proper_type(t)
        if isinstance(p, UnionType):  # of a collection that each turn of a loop makes
            return simplified_union(list(map(change, p.items)))
        return p.copy_modified(args=[*p.args[:-1], item]) if isinstance(p, Instance) and p.args else t

    if collection.type is not None:
        collection.type = change(collection.type)
        narrow(api, holder, collection.type)
        narrow_in_loops(api, holder, change)


def value_of_key(ctx: MethodContext) -> Type:
    """Return the type of `outputs["mean"]`, or of `outputs.get("mean")`, of a dictionary whose keys are known."""
    match ctx.context:
        case IndexExpr(base=dictionary, index=index) | CallExpr(callee=MemberExpr(expr=dictionary), args=[index, *_]):
            pass
        case _:
            return ctx.default_return_type
    if isinstance(ctx.context, CallExpr) and (found := _any_in(ctx)) is not None:
        return found
    known = entry_of(dictionary, index, ctx.api)
    known = _added_type(dictionary, ctx.api) if known is None else known
    return ctx.default_return_type if known is None else _with_tensor(ctx.default_return_type, known)


def _any_in(ctx: MethodContext) -> Type | None:
    """Return Any for `outputs.get("mean")` of a dictionary that a function without annotations returns; else None.

    mypy would report how a program uses what may be None.
    """
    receiver, default = get_proper_type(ctx.type), get_proper_type(ctx.default_return_type)
    is_of_any = isinstance(receiver, Instance) and isinstance(get_proper_type(receiver.args[0]), AnyType)
    items = default.items if is_of_any and isinstance(default, UnionType) else []
    return next((one for one in items if isinstance(get_proper_type(one), AnyType)), None)


def all_values(ctx: MethodContext) -> Type:
    """Return the type of `outputs.values()` or `outputs.items()` of a dictionary whose keys are known."""
    p, call = get_proper_type(ctx.default_return_type), ctx.context
    if not isinstance(p, Instance) or not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr):
        return p
    entries = entries_of(call.callee.expr, ctx.api)
    if entries and _is_object(p.args[-1]):  # which mypy takes two arrays of different dtypes for
        known = join([*entries.values()])
        return p.copy_modified(args=[*p.args[:-1], known]) if is_array(known) else p
    common = joined(UnionType([*entries.values()])) if entries else _added_type(call.callee.expr, ctx.api)
    if common is None or tensor_parts(common) is None:
        return p
    return p.copy_modified(args=[*p.args[:-1], _with_tensor(p.args[-1], common)])


def _is_object(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == "builtins.object"


def _with_tensor(declared: Type, known: Type) -> Type:
    """Return the type of a value that is a tensor, or a tensor or None, with a tensor that is known."""
    p = get_proper_type(declared)
    if _is_object(p) and is_array(known):
        return known
    if isinstance(p, UnionType):
        return UnionType.make_union([_with_tensor(item, known) for item in p.items])
    entries = entries_in(known)
    if entries is not None and isinstance(p, Instance) and is_dictionary(p):
        return with_entries(p, entries)
    if entries is not None and isinstance(p, AnyType):
        return known
    is_any = isinstance(p, AnyType)  # as are the values of a dictionary that a function without annotations returns
    return known if (is_any or tensor_parts(p) is not None) and tensor_parts(known) is not None else declared


def item_of_objects(ctx: MethodContext) -> Type:
    """Return the type of an item of `[[x, y], [z]]`, or of an iterator of its items, with unknown sizes.

    mypy takes two lists, or two dictionaries, whose items have different types for objects. A loop over the list may
    change the inner ones.
    """
    result = get_proper_type(ctx.default_return_type)
    holder = ctx.context.base if isinstance(ctx.context, IndexExpr) else ctx.context
    display = _display(holder, ctx.api)
    types = [stored_type(ctx.api, one) for one in display.items] if display is not None else []
    known = [t for t in types if t is not None]
    item = get_proper_type(join(known)) if known and len(known) == len(types) else None
    if not isinstance(result, Instance) or not isinstance(item, Instance) or not _is_list_or_dictionary(item):
        return result
    item = get_proper_type(without_sizes(item))
    return result.copy_modified(args=[item]) if result.args else item


def item_of_appended(ctx: MethodContext) -> Type:
    """Return the type of an item of a list that `append` fills, or of an iterator of its items.

    A tensor in it has what all that are appended have in common.
    """
    result, call = get_proper_type(ctx.default_return_type), ctx.context
    holder = call.base if isinstance(call, IndexExpr) else call
    item = _added_type(holder, ctx.api)
    if item is None:
        return result
    if isinstance(call, IndexExpr) and not isinstance(call.index, SliceExpr):
        return filled(result, item)
    return result.copy_modified(args=[filled(result.args[0], item)]) if isinstance(result, Instance) else result


def _added_type(holder: Context, api: Checker) -> Type | None:
    """Return what all that the program adds to a list or a dictionary has in common; None if some is not known.

    A body that is read follows its own lists and dictionaries.
    """
    if Reading.frame is not None or not isinstance(holder, NameExpr):
        return None
    types: list[Type] = []
    for one in appended_to(holder, api) or ():
        is_final = not share_loop(one, holder, api)  # else a later turn may append another one
        t = stored_type(api, one) if is_final else steady_type(one, api)
        if t is None:
            return None
        types.append(newest(t, one, api) if is_final else t)
    return _common_type(types) if types else None


def _common_type(types: Sequence[Type]) -> Type | None:
    """Return what the tensors of several types have in common, also in tuples of one length; None if there are none."""
    several = [p for p in map(get_proper_type, types) if isinstance(p, TupleType)]
    if not several:
        common = joined(UnionType([*types]))
        return common if tensor_parts(common) is not None else None
    first = several[0]
    if len(several) < len(types) or len({len(p.items) for p in several}) > 1:
        return None
    columns = zip(*(p.items for p in several), strict=True)
    return first.copy_modified(items=[_common_type(column) or unknown() for column in columns])


def _is_list_or_dictionary(t: Instance) -> bool:
    return t.type.fullname in ("builtins.list", "builtins.dict")


def _display(holder: Context, api: Checker) -> ListExpr | None:
    """Return the display that fills a list in a variable, or in an attribute of an object, alone."""
    if isinstance(holder, NameExpr):
        return display_of(holder, api)
    owner = get_proper_type(stored_type(api, holder.expr)) if isinstance(holder, MemberExpr) else None
    if not isinstance(holder, MemberExpr) or not isinstance(owner, Instance) or use_of(holder, api) is not Use.READ:
        return None
    value, _ = constructor_value(owner.type, holder.name, api)
    return value if isinstance(value, ListExpr) else None


def joined_lists(ctx: MethodContext) -> Type:
    """Return the type of `xs + ys`, whose items have what the items of both lists have in common.

    mypy expects the items of the one to have the types of the other, and any size where it expects an unknown one.
    """
    result = get_proper_type(ctx.default_return_type)
    if not isinstance(result, Instance) or not isinstance(ctx.context, OpExpr):
        return result
    left, right = (_items_written(one, ctx.api) for one in (ctx.context.left, ctx.context.right))
    if left is None or right is None:
        return without_sizes(result)
    items = [*left, *right]
    common = get_proper_type(joined(UnionType(items)))
    if isinstance(common, Instance) and any(_is_of(common, item) for item in items):
        return result.copy_modified(args=[common])
    return opened(result, UnionType([result.copy_modified(args=[item]) for item in items]))


def _is_of(common: Instance, item: Type) -> bool:
    """Return whether an item has the class that all items have in common, as no item of a list of parameters has."""
    p = get_proper_type(item)
    return isinstance(p, Instance) and p.type is common.type


def _items_written(written: Expression, api: Checker) -> list[Type] | None:
    """Return the types that the items of a list have, or may have; None if it is not known."""
    if isinstance(written, ListExpr):
        parts = [
            _items_written(one.expr, api) if isinstance(one, StarExpr) else [stored_type(api, one)]
            for one in written.items
        ]
        found = [t for types in parts for t in (types or [None])]
        known = [t for t in found if t is not None]
        return known if len(known) == len(found) else None
    of = get_proper_type(stored_type(api, written))
    several = list(map(get_proper_type, of.items)) if isinstance(of, UnionType) else [of] if of is not None else []
    are_known = all(isinstance(one, TupleType) or len(getattr(one, "args", ())) == 1 for one in several)
    return [item for one in several for item in _items(one)] if several and are_known else None


def open_arguments(ctx: FunctionSigContext | MethodSigContext, declared: FunctionLike) -> None:
    """Make the items of collections unknown to which a call of a function of the program may add others.

    They are the arguments whose parameters are declared as lists of any tensors, for example, or not at all, unless
    the body only reads them, and the collections in variables outside of the function with which its body does more.
    """
    if not isinstance(declared, CallableType) or is_of_library(declared):
        return
    for name, formal, actuals in zip(declared.arg_names, declared.arg_types, ctx.args, strict=True):
        p = get_proper_type(formal)
        # mypy asks for each overload.
        changeable = [one for one in actuals if _is_changeable(one, ctx.api)] if _takes_collections(p) else []
        if changeable and not _only_reads(declared, name, ctx.api, is_declared=isinstance(p, Instance)):
            for actual in changeable:
                _open(actual, p if isinstance(p, Instance) else None, ctx.api)
    function = declared.definition
    for variable in _changed_outside(function, ctx.api) if isinstance(function, FuncDef) else ():
        if variable.type is not None and may_change(variable.type):
            _open(name_of(variable), None, ctx.api)
            _forget_shape(variable, ctx.api)


def _forget_shape(collection: Var, api: Checker) -> None:
    """Let the tensors in a collection have any shape: mypy may not have checked the function that changes it."""
    p = get_proper_type(collection.type)
    item = get_proper_type(p.args[-1]) if isinstance(p, Instance) and p.args else None
    if isinstance(item, Instance) and item.type.fullname in _PARTS and not has_annotation(collection):
        changed = item.copy_modified(args=[unknown(), *item.args[1:]])
        _replace_items(name_of(collection), collection, changed, api)


def _takes_collections(formal: ProperType) -> bool:
    return isinstance(formal, AnyType) or (isinstance(formal, Instance) and may_change(formal))


def _changed_outside(function: FuncDef, api: Checker) -> list[Var]:
    file = checked_file(api)
    # mypy writes a class inside a function as `Class@12`, and a function inside another without its module.
    is_outermost = module_of(function) == file.fullname and "." in function.fullname and "@" not in function.fullname
    return changed_outside(function, file if is_outermost else None)


def _open(holder: Expression | None, formal: Instance | None, api: Checker) -> bool:
    """Make items of a collection unknown, where a parameter has unknown parts if there is one, in all of its variables.

    Return whether it is in a variable without an annotation.
    """
    while isinstance(holder, IndexExpr):
        holder, formal = holder.base, None
    if not isinstance(holder, NameExpr | MemberExpr) or not _open_variable(holder, formal, api):
        return False
    for other in other_names(holder, api):
        collection = collection_of(other)
        if not isinstance(collection, MemberExpr) or _is_of_known_object(collection, api):
            _open_variable(collection, None if isinstance(other, IndexExpr) else formal, api)
    return True


def _is_of_known_object(attribute: MemberExpr, api: Checker) -> bool:
    """Return whether mypy knows the object with an attribute, which may be in a function that it has not checked."""
    owner = attribute.expr
    declared = owner.node.type if isinstance(owner, NameExpr) and isinstance(owner.node, Var) else None
    return (declared or stored_type(api, owner)) is not None


def _open_variable(holder: Expression, formal: Instance | None, api: Checker) -> bool:
    variable = _variable(holder, api)
    if variable is None or variable.type is None or has_annotation(variable):
        return False
    declares_no_items = formal is None or get_all_type_vars(formal)

    def change(t: Type) -> Type:
        return without_sizes(t) if declares_no_items else _with_items_of(t, formal)

    variable.type = change(variable.type)
    if isinstance(holder, NameExpr | MemberExpr):
        if newest_binding(holder, api) is None:
            narrow(api, holder, variable.type)
        narrow_in_loops(api, holder, change)
    return True


def _is_changeable(actual: Expression, api: Checker) -> bool:
    """Return whether an argument is a collection in a variable, or in another collection or a tuple there."""
    levels = 0
    while isinstance(actual, IndexExpr):
        if isinstance(actual.index, SliceExpr):
            return False  # a copy
        actual, levels = actual.base, levels + 1
    variable = _variable(actual, api)
    types = [variable.type] if variable is not None and variable.type is not None else []
    for _ in range(levels):
        types = [one for t in types for one in _items(t)]
    return any(map(may_change, types))


def _items(t: Type) -> Sequence[Type]:
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return [item for one in p.items for item in _items(one)]
    return p.args if isinstance(p, Instance) else p.items if isinstance(p, TupleType) else ()


def _with_items_of(t: Type, formal: Instance | None) -> Type:
    """Return the type of a collection with unknown parts of its items where a parameter has them."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        items = [_with_items_of(one, formal) for one in p.items]
        return t if all(map(operator.is_, items, p.items)) else simplified_union(items)
    if not isinstance(p, Instance) or formal is None or len(p.args) != len(formal.args):
        return t
    changed = opened(p, Instance(p.type, formal.args))
    return t if changed is p else changed


def _only_reads(declared: CallableType, name: str | None, api: Checker, *, is_declared: bool) -> bool:
    """Return whether the body of a function changes no collection that it gets as a parameter.

    Args:
        declared: The signature of the function.
        name: The name of the parameter.
        api: mypy's checker.
        is_declared: Whether the parameter is declared as a collection, which a function that cannot be read may change.
    """
    function = declared.definition
    written, file = written_with_file(function, api) if isinstance(function, FuncDef) else (None, None)
    if written is None or file is None:
        return not is_declared
    variables = [argument.variable for argument in written.arguments if argument.variable.name == name]
    return bool(variables) and use_of_variable(variables[0], {file}) is Use.READ


def _holder(call: Context) -> Expression | None:
    """Return the expression whose method is called, or to whose item is assigned."""
    match call:
        case CallExpr(callee=MemberExpr(expr=holder)) | IndexExpr(base=holder) | OperatorAssignmentStmt(lvalue=holder):
            return holder
    return None


def _variable(holder: Expression | None, api: Checker) -> Var | None:
    if isinstance(holder, NameExpr):
        return holder.node if isinstance(holder.node, Var) else None
    found = attribute_variable(holder, api) if isinstance(holder, MemberExpr) else None
    return found if isinstance(found, Var) else None


# What the classes of tensors have behind the shape.
_PARTS: Final[dict[str, Callable[[TensorParts], tuple[Type, ...]]]] = {
    TENSOR: lambda parts: (parts.tape, parts.dtype),
    PARAM: lambda parts: (parts.dtype,),
}
