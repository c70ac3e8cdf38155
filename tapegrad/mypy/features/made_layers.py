"""Layers whose declared types leave their sizes open, such as those that functions of the program return."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mypy.types import AnyType, Instance, Type, TypeVarType, UnionType, UnpackType, get_proper_type

from tapegrad.mypy.conversion import MODULE, has_opaque, opaque_paths, unknown
from tapegrad.mypy.features.bodies import model_returned
from tapegrad.mypy.mypy_api import Argument, type_of_call
from tapegrad.mypy.scopes.created_objects import contained_by, is_own_container
from tapegrad.mypy.scopes.frames import LayerCall, Layers, Made, Reading, Returned
from tapegrad.mypy.scopes.items import are_single

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value


def leaves_sizes_open(layer: Type) -> bool:
    """Return whether the type of a layer of tapegrad says less than the call that makes the layer."""
    p = get_proper_type(layer)
    if not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return False
    return _is_any_module(p) or is_own_container(p.type) or any(map(_is_open, p.args))


def has_listed_layers(layer: Type, value: Value, api: Checker) -> bool:
    """Return whether the layers that a container was made with are known one by one, and are a list to its type."""
    p = get_proper_type(layer)
    is_list = isinstance(p, Instance) and any(isinstance(one, UnpackType) for one in p.args)
    return is_list and isinstance(inner_value(value, api), Layers)


def _is_any_module(layer: Type) -> bool:
    p = get_proper_type(layer)
    return isinstance(p, Instance) and p.type.fullname == MODULE


def _is_open(argument: Type) -> bool:
    p = get_proper_type(argument.type if isinstance(argument, UnpackType) else argument)
    if isinstance(p, Instance) and p.type.fullname == "builtins.tuple":
        return _is_open(p.args[0])
    return isinstance(p, AnyType) or _is_common(p) or leaves_sizes_open(p) or _mentions_receiver(p)


def _is_common(argument: Type) -> bool:
    """Return whether a size is the `int`, or a flag the `bool`, that layers of several sizes have in common."""
    p = get_proper_type(argument)
    return isinstance(p, Instance) and p.type.fullname in ("builtins.bool", "builtins.int")


def _mentions_receiver(argument: Type) -> bool:
    """Return whether a size is one that the constructor of the object computed, whose method is read.

    It is that of an attribute, which may have been made, or of a variable of the constructor.
    """
    made = Reading.frame.receiver if Reading.frame is not None else None
    if made is None or not has_opaque(argument):
        return False
    scopes = {base.fullname for base in made.info.mro}
    parameters = {made.constructor: made.arguments, **dict(made.inherited)}
    for path in opaque_paths(argument):
        label, _, scope = path.partition("@")
        if scope in scopes and label.startswith("self."):
            return True
        if scope in parameters and re.split(r"[.\[]", label)[0] not in dict(parameters[scope]):
            return True
    return False


def type_made(declared: Type, value: Value, api: Checker) -> Type | None:
    """Return the type of the layer that a value is; None if the declared one says as much."""
    match value:
        case Made(info=info) if is_own_container(info):
            inner = contained_by(value, api)
            return None if inner is None else type_made(Instance(inner.info, []), inner, api)
        case Made(info=info) if info.has_base(MODULE) and _is_any_module(declared):
            return Instance(info, [unknown() for _ in info.type_vars])
        case LayerCall(info=info):
            made, _ = type_of_call(api, info, arguments_of(value))
            return None if made is None else _completed(declared, made)
        case Layers(info=info, items=items) if are_single(items):
            layers = [type_made(Instance(_module(info), []), one, api) or unknown() for one in items]
            return _completed(declared, Instance(info, layers)) if info.has_type_var_tuple_type else None
        case Returned(value=LayerCall() | Layers() as inner) if (
            made := type_made(declared, inner, api)
        ) is not None and not leaves_sizes_open(made):
            return made
        case Returned():
            result = get_proper_type(model_returned(value, api).result)
            items = [get_proper_type(one) for one in (result.items if isinstance(result, UnionType) else [result])]
            return result if all(isinstance(one, Instance) and one.type.has_base(MODULE) for one in items) else None
    return None


def arguments_of(layer: LayerCall) -> list[Argument]:
    """Return the types of what a layer is made with."""
    return [Argument(*one) for one in zip(layer.types, layer.kinds, layer.names, strict=True)]


def _completed(declared: Type, made: Type) -> Type:
    """Return the declared type of a layer with the parts that it leaves open from the type that it was made with."""
    p, q = get_proper_type(declared), get_proper_type(made)
    is_bound = isinstance(p, TypeVarType) and Reading.frame is not None  # a size of the class, which the call gives
    if isinstance(p, AnyType | UnpackType) or _is_common(p) or is_bound or has_opaque(p):
        return made
    if not isinstance(p, Instance) or not isinstance(q, Instance):
        return declared
    if p.type is not q.type or len(p.args) != len(q.args) or any(isinstance(one, UnpackType) for one in p.args):
        return made if p.type in q.type.mro else declared
    return p.copy_modified(args=[_completed(one, other) for one, other in zip(p.args, q.args, strict=True)])


def _module(info: TypeInfo) -> TypeInfo:
    return next(base for base in info.mro if base.fullname == MODULE)


def inner_value(value: Value, api: Checker) -> Value:
    """Return what is known of a layer beside its type; of a subclass of a container, its layers."""
    if isinstance(value, Made) and is_own_container(value.info):
        return contained_by(value, api)
    return value.value if isinstance(value, Returned) else value
