"""Layers whose declared types leave their sizes open, such as those that functions of the program return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.types import AnyType, Instance, Type, UnionType, UnpackType, get_proper_type

from tapegrad.mypy.conversion import MODULE, unknown
from tapegrad.mypy.features.bodies import model_returned
from tapegrad.mypy.scopes.frames import Made, Returned

if TYPE_CHECKING:
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value


def leaves_sizes_open(layer: Type) -> bool:
    """Return whether the type of a layer of tapegrad says less than the call that makes the layer."""
    p = get_proper_type(layer)
    if not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return False
    return _is_any_module(p) or any(map(_is_open, p.args))


def _is_any_module(layer: Type) -> bool:
    p = get_proper_type(layer)
    return isinstance(p, Instance) and p.type.fullname == MODULE


def _is_open(argument: Type) -> bool:
    p = get_proper_type(argument.type if isinstance(argument, UnpackType) else argument)
    if isinstance(p, Instance) and p.type.fullname == "builtins.tuple":
        return _is_open(p.args[0])
    return isinstance(p, AnyType) or leaves_sizes_open(p)


def type_made(declared: Type, value: Value, api: Checker) -> Type | None:
    """Return the type of the layer that a value is; None if the declared one says as much."""
    match value:
        case Made(info=info) if info.has_base(MODULE) and _is_any_module(declared):
            return Instance(info, [unknown() for _ in info.type_vars])
        case Returned():
            result = get_proper_type(model_returned(value, api).result)
            items = [get_proper_type(one) for one in (result.items if isinstance(result, UnionType) else [result])]
            return result if all(isinstance(one, Instance) and one.type.has_base(MODULE) for one in items) else None
    return None


def inner_value(value: Value) -> Value:
    """Return what is known of a layer beside its type."""
    return value.value if isinstance(value, Returned) else value
