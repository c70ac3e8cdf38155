"""Types of attributes: `x.shape`, and attributes whose types mention opaque sizes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mypy.nodes import ARG_POS, CallExpr, Context, Decorator, Expression, MemberExpr, NameExpr, RefExpr, Var
from mypy.types import AnyType, CallableType, Instance, TupleType, Type, UnionType, get_proper_type

from tapegrad.mypy.calls.array_calls import Bodies
from tapegrad.mypy.conversion import (
    MODULE,
    TENSOR,
    Many,
    ends_of,
    has_any,
    has_opaque,
    has_unknown_rest,
    joined,
    may_be_any_function,
    opaque_paths,
    shape_items,
    shape_type,
    star_in,
    tensor_parts,
    unknown,
    without_opaque,
)
from tapegrad.mypy.features.bodies import of_property
from tapegrad.mypy.features.constructor_values import type_assigned
from tapegrad.mypy.features.fields import field_of
from tapegrad.mypy.features.made_layers import leaves_sizes_open, type_made
from tapegrad.mypy.features.partial_types import filled, is_open
from tapegrad.mypy.features.replaced_tensors import with_replacements
from tapegrad.mypy.mypy_api import (
    attribute_variable,
    checked_file,
    declared_attribute,
    depend_on_bodies,
    expected_type,
    has_annotation,
    is_of_library,
    make,
    narrow,
    stored_type,
)
from tapegrad.mypy.mypy_files import program_file
from tapegrad.mypy.scopes.assigned import Assigned, assigned_by_methods
from tapegrad.mypy.scopes.collections import Use, use_of
from tapegrad.mypy.scopes.frames import (
    Arrays,
    FunctionOf,
    GivenTensor,
    LayerCall,
    Made,
    Reading,
    in_frame,
    is_passed_on,
    within,
)
from tapegrad.mypy.scopes.named_values import from_constructor, object_frame
from tapegrad.mypy.scopes.names import targets_of
from tapegrad.mypy.scopes.objects import object_of, value_of_expression
from tapegrad.mypy.scopes.opaque import named_axis, note_shape, unpacked_shape
from tapegrad.mypy.scopes.rebinding import newest
from tapegrad.mypy.scopes.written_attributes import is_replaced, is_unwritten, keeps_sizes
from tapegrad.mypy.signatures import without_sizes
from tapegrad.sizes import UNKNOWN, is_unknown

if TYPE_CHECKING:
    from mypy.plugin import AttributeContext

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size


def shape_read(ctx: AttributeContext, receiver: Type) -> Type:
    """Return the type of `x.shape`, and name the unknown sizes of `x` after the variables that they are unpacked to.

    An opaque size is an int in it, because the variable may be bound again; `scopes.opaque` reads sizes from the names.
    """
    expression, parts = ctx.context, tensor_parts(receiver)
    if parts is None:
        return ctx.default_attr_type
    shape = parts.shape if receiver is not ctx.type else ctx.default_attr_type
    if not isinstance(expression, MemberExpr):
        return _with_ints(shape, ctx.api)
    whole = stored_type(ctx.api, expression.expr)
    if whole is not None and isinstance(get_proper_type(whole), UnionType):  # the hook is called for each of its items
        both = tensor_parts(joined(newest(whole, expression.expr, ctx.api)))
        note_shape(expression, shape_items(both.shape) if both is not None else None)
        return _with_ints(shape, ctx.api)
    ends = ends_of(shape)
    items = _with_names(expression, ends, ctx.api) if ends is not None and has_unknown_rest(ends) else None
    items = items or _named_shape(expression, shape_items(parts.shape), ctx.api)
    note_shape(expression, items)
    p = get_proper_type(receiver)
    if items is not None and isinstance(p, Instance) and p.type.fullname == TENSOR:
        shape = shape_type(items, make(ctx.api))
        if isinstance(expression.expr, NameExpr) and shape != p.args[0]:
            narrow(ctx.api, expression.expr, p.copy_modified(args=[shape, *p.args[1:]]))
    is_of_any_rank = isinstance(get_proper_type(shape), AnyType) or (items is None and has_unknown_rest(ends))
    if is_of_any_rank and not isinstance(expected_type(ctx.api), TupleType):
        # An Any would hide the tensor in `x / x.shape[0]`; where a tuple of some length is expected, it stays.
        return make(ctx.api)("builtins.tuple", [make(ctx.api)("builtins.int", [])])
    return _with_ints(shape, ctx.api)


def _with_ints(shape: Type, api: Checker) -> Type:
    p = get_proper_type(shape)
    if not has_opaque(p) or not isinstance(p, TupleType):
        return shape
    number = make(api)("builtins.int", [])
    return p.copy_modified(items=[number if has_opaque(item) else item for item in p.items])


def _named_shape(expression: MemberExpr, items: list[Size | Many] | None, api: Checker) -> list[Size | Many] | None:
    """Return a shape with a name for each unknown size; None if the rank is unknown."""
    if items is not None and not any(isinstance(n, Many) or is_unknown(n) for n in items):
        return items
    names = unpacked_shape(expression, api) if targets_of(expression, api) is not None else None
    if items is not None and any(isinstance(n, Many) for n in items):
        return items
    if names is None:
        return None if items is None else _named_axes(expression, items, api)
    if items is not None and len(items) != len(names):
        return items
    return [name if isinstance(n, Many) or is_unknown(n) else n for n, name in zip(items or names, names, strict=True)]


def _with_names(expression: MemberExpr, ends: list[Size | Many], api: Checker) -> list[Size | Many] | None:
    """Return a shape of unknown rank by the variables that it is unpacked to: those at its ends have known sizes."""
    names = unpacked_shape(expression, api) if targets_of(expression, api) is not None else None
    rest = star_in(ends)
    if names is None or rest is None or len(names) < len(ends) - 1:
        return None
    between = [UNKNOWN] * (len(names) - len(ends) + 1)
    known = [*ends[:rest], *between, *ends[rest + 1 :]]
    return [name if not isinstance(n, Many) and is_unknown(n) else n for n, name in zip(known, names, strict=True)]


def _named_axes(expression: MemberExpr, items: list[Size | Many], api: Checker) -> list[Size | Many]:
    return [
        named_axis(expression, axis, len(items), api) if not isinstance(n, Many) and is_unknown(n) else n
        for axis, n in enumerate(items)
    ]


def read(ctx: AttributeContext) -> Type:
    """Return the type of an attribute, unknown where it mentions sizes of another function or another object.

    In a body that is read, it is also unknown where another method may have replaced it.
    """
    t = _without_foreign_sizes(ctx)
    if Reading.frame is None or ctx.is_lvalue or not isinstance(ctx.context, MemberExpr):
        return t
    return with_replacements(ctx.context, t, ctx.default_attr_type, ctx.api)


def _without_foreign_sizes(ctx: AttributeContext) -> Type:
    t, expression = ctx.default_attr_type, ctx.context
    if not ctx.is_lvalue and isinstance(expression, MemberExpr):
        t = field_of(ctx.type, expression.name, t)
    if Reading.frame is not None and isinstance(get_proper_type(t), AnyType) and isinstance(expression, MemberExpr):
        value = None if ctx.is_lvalue else value_of_expression(expression, ctx.api)
        if isinstance(
            value, LayerCall
        ):  # of one of several classes, as in `{"relu": nn.ReLU, "gelu": nn.GELU}[name]()`
            return type_made(t, value, ctx.api) or t
        # An Any would hide the tensor in `x * self.width**-0.5`, where `self.width = args.width`.
        return make(ctx.api)(_NUMBERS[type(value)], []) if type(value) in _NUMBERS else t
    if Reading.frame is not None and isinstance(expression, MemberExpr) and may_be_any_function(t):
        given = None if ctx.is_lvalue else object_of(expression, ctx.api)
        return given.t if isinstance(given, FunctionOf) else t
    if not ctx.is_lvalue and isinstance(expression, MemberExpr) and leaves_sizes_open(ctx.type):
        t = _of_made_layer(expression, t, ctx)
    if isinstance(t, CallableType) and is_of_library(t) and not has_opaque(ctx.type):
        return t  # most attributes are methods, and those of the library mention no other sizes
    if isinstance(expression, MemberExpr) and _is_collection(t):
        sizes_open = without_sizes(t)
        if sizes_open is t and not has_opaque(t):
            return t  # of no tensors, as most are: it does not matter what the file does with it
        if use_of(expression, ctx.api) is Use.EXTENDED:
            return sizes_open if _is_inferred(expression, ctx.api) else t
    if not ctx.is_lvalue and Reading.frame is not None and _may_be_other_layer(expression, t, ctx):
        t = without_sizes(t)
    if not ctx.is_lvalue and isinstance(expression, MemberExpr) and is_open(t) and _is_property(expression, ctx.type):
        returned = of_property(ctx, expression)
        if returned is not None:
            return _with_own_sizes(t, returned, object_of(expression.expr, ctx.api))
    if not ctx.is_lvalue and Reading.frame is not None and isinstance(expression, MemberExpr) and is_open(t):
        return _returned_to_constructor(expression, t, ctx.api)
    if not ctx.is_lvalue and isinstance(expression, MemberExpr) and is_open(t):
        return _given_to_constructor(expression, t, ctx.api)
    if not ctx.is_lvalue and isinstance(expression, MemberExpr) and _is_open_state(t):
        return _state_of_given(expression, t, ctx.api)
    if not has_opaque(t):
        return t
    if ctx.is_lvalue:  # any size may be assigned
        return without_opaque(t)
    if isinstance(expression, MemberExpr) and keeps_sizes(expression, ctx.api):
        return in_frame(t, make(ctx.api))
    own = opaque_paths(ctx.type)
    return without_opaque(t, own) if not isinstance(expression, MemberExpr) else _of_object(expression, t, own, ctx.api)


_NUMBERS: Final[dict[type, str]] = {int: "builtins.int", float: "builtins.float"}


def _of_made_layer(attribute: MemberExpr, declared: Type, ctx: AttributeContext) -> Type:
    """Return the type of `model.table.weight` by the call that makes the layer, whose type leaves sizes open."""
    p = get_proper_type(declared)
    if not isinstance(p, Instance) or p.type.fullname not in _STATES:
        return declared
    value, files = object_of(attribute.expr, ctx.api), {checked_file(ctx.api), program_file(ctx.api)}
    made = type_made(ctx.type, value, ctx.api) if isinstance(value, LayerCall) else None
    if not isinstance(value, LayerCall) or made is None or not is_unwritten(value.info, attribute.name, files):
        return declared
    depend_on_bodies(ctx.api)
    found = declared_attribute(made, attribute.name)
    return declared if found is None else found


def _may_be_other_layer(attribute: Context, declared: Type, ctx: AttributeContext) -> bool:
    """Return whether an attribute of an object may hold another layer than that of its constructor."""
    p, owner = get_proper_type(declared), get_proper_type(ctx.type)
    if not isinstance(p, Instance) or not p.type.has_base(MODULE) or not p.args or not isinstance(owner, Instance):
        return False
    return isinstance(attribute, MemberExpr) and is_replaced(owner.type, attribute.name, ctx.api)


def _is_property(attribute: MemberExpr, of: Type) -> bool:
    """Return whether an attribute of an object of a type is a property of its class."""
    p = get_proper_type(of)
    symbol = p.type.get(attribute.name) if isinstance(p, Instance) else None
    return symbol is not None and isinstance(symbol.node, Decorator) and symbol.node.func.is_property


def _passed_on(t: Type, made: Value) -> frozenset[str]:
    """Return the opaque sizes of a type that an object has."""
    return frozenset(path for path in opaque_paths(t) if is_passed_on(path, made))


def _with_own_sizes(declared: Type, returned: Type, made: Value) -> Type:
    """Return the type of a tensor that an object returns, with the opaque sizes that the object has."""
    kept = _passed_on(returned, made)
    return filled(declared, without_opaque(returned, kept))


def _returned_to_constructor(attribute: MemberExpr, declared: Type, api: Checker) -> Type:
    """Return the type of a tensor in an attribute, such as `self.mask`, that a method of the object has returned."""
    made = object_of(attribute.expr, api)
    returned = from_constructor(made, attribute.name, _returned, api) if isinstance(made, Made) else None
    if returned is None:
        return _given_to_constructor(attribute, declared, api)
    return _with_own_sizes(declared, returned, made)


def _given_to_constructor(attribute: MemberExpr, declared: Type, api: Checker) -> Type:
    """Return the type of a tensor in an attribute that a call has given the constructor, also as an array."""
    given = object_of(attribute, api)
    if not isinstance(given, GivenTensor) or tensor_parts(given.t) is None:
        return _made_of_array(attribute, declared, api)
    depend_on_bodies(api)
    made = object_of(attribute.expr, api) if Reading.frame is not None else None
    kept = _passed_on(given.t, made)
    return filled(declared, without_opaque(given.t, kept))


def _made_of_array(attribute: MemberExpr, declared: Type, api: Checker) -> Type:
    """Return the type of a tensor in an attribute, as after `self.table = tg.tensor(table)`, of a given array."""
    shape, p = _shape_of_array(attribute, api), get_proper_type(declared)
    if shape is None or not isinstance(p, Instance):
        made = object_of(attribute.expr, api)
        computed = type_assigned(made, attribute, api) if isinstance(made, Made) else None
        return declared if computed is None else _with_own_sizes(declared, computed, made)
    return filled(declared, p.copy_modified(args=[shape, *p.args[1:]]))


def _shape_of_array(attribute: MemberExpr, api: Checker) -> Type | None:
    """Return the shape of a tensor that the constructor makes of an array, in a buffer as well; None if not known."""
    made = object_of(attribute.expr, api)
    if not isinstance(made, Made):
        return None
    match assigned_by_methods(attribute.expr, attribute.name, partial(_sizes_of_array, api=api), api):
        case [Assigned(value=list(sizes), scope="", is_changed=False)]:
            depend_on_bodies(api)
            shape = shape_type(tuple(sizes), make(api))
            return without_opaque(shape, _passed_on(shape, made))
    return None


def _sizes_of_array(value: Expression, _: int | None, api: Checker) -> list[Size] | None:
    match value:
        case CallExpr(callee=RefExpr(fullname=name), args=[of, *_], arg_kinds=[kind, *_]) if kind is ARG_POS:
            if name in _STATES:
                return _sizes_of_array(of, None, api)
            return Arrays.sizes(of, api) if name == _TENSOR else None
    return None


_TENSOR: Final = "tapegrad.ops.create.tensor"


def _of_object(attribute: MemberExpr, declared: Type, own: frozenset[str], api: Checker) -> Type:
    """Return the type of an attribute; a tensor has the sizes that the constructor of a known object has given it.

    A layer has them no longer if something replaces its weights.

    Args:
        attribute: The attribute, such as `plan.betas`.
        declared: Its type, which mentions opaque sizes of the constructor.
        own: Those that the type of the object mentions too, which stay.
        api: mypy's checker.
    """
    made = object_of(attribute.expr, api) if tensor_parts(declared) is not None else None
    if not isinstance(made, Made) or from_constructor(made, attribute.name, _written, api) is None:
        return without_opaque(declared, own)
    depend_on_bodies(api)
    with within(object_frame(made, api)):
        known = in_frame(declared, make(api))
    kept = _passed_on(known, made)
    return without_opaque(known, own | kept)


def _written(value: Expression, _: Checker) -> Expression:
    return value


def _is_open_state(t: Type) -> bool:
    """Return whether a type is a parameter or a buffer of which a size is not known."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in _STATES and has_any(p.args[0])


def _state_of_given(attribute: MemberExpr, declared: Type, api: Checker) -> Type:
    """Return the type of a parameter or a buffer, as after `self.table = nn.Buffer(table)`, of a given tensor."""
    made, p = object_of(attribute.expr, api), get_proper_type(declared)
    given = from_constructor(made, attribute.name, _in_state, api) if isinstance(made, Made) else None
    parts = None if given is None else tensor_parts(given.t)
    if not isinstance(p, Instance):
        return declared
    if parts is None:
        shape = _shape_of_array(attribute, api)
        if shape is None and isinstance(made, Made):
            q = get_proper_type(type_assigned(made, attribute, api))
            shape = q.args[0] if isinstance(q, Instance) and q.type is p.type else None
            shape = None if shape is None else without_opaque(shape, _passed_on(shape, made))
        return declared if shape is None else p.copy_modified(args=[shape, *p.args[1:]])
    depend_on_bodies(api)
    kept = _passed_on(parts.shape, made)
    return p.copy_modified(args=[without_opaque(parts.shape, kept), *p.args[1:]])


def _in_state(value: Expression, api: Checker) -> GivenTensor | None:
    match value:
        case CallExpr(callee=RefExpr(fullname=name), args=[tensor, *_]) if name in _STATES:
            given = object_of(tensor, api)
            return given if isinstance(given, GivenTensor) else None
    return None


_STATES = frozenset({"tapegrad.nn.param.Buffer", "tapegrad.nn.param.Param"})


def _returned(value: Expression, api: Checker) -> Type | None:
    """Return the type of the result of a call of a function of the program, by its body."""
    return Bodies.result(value, [unknown()] * len(value.args), api) if isinstance(value, CallExpr) else None


_COLLECTIONS = frozenset(
    ["builtins.dict", "builtins.list", "builtins.set", "collections.defaultdict", "collections.deque"]
)


def _is_collection(t: Type) -> bool:
    """Return whether a type is a collection that may grow."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in _COLLECTIONS


def _is_inferred(expression: MemberExpr, api: Checker) -> bool:
    """Return whether an attribute has no annotation."""
    variable = attribute_variable(expression, api)
    return isinstance(variable, Var) and not has_annotation(variable)
