"""How much the declarations of functions say about tensors, and which bodies may say more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Decorator, FuncDef, Var
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    TupleType,
    Type,
    TypeAliasType,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from tapegrad.mypy.calls.array_types import is_array
from tapegrad.mypy.conversion import MODULE, is_endless, is_iterator, tensor_parts
from tapegrad.mypy.features.partial_types import is_open, is_sequence
from tapegrad.mypy.scopes.entries import is_dictionary, is_record
from tapegrad.mypy.signatures import lacks_annotations
from tapegrad.mypy.sources import is_class_of_library

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo


def may_say_more(function: FuncDef) -> bool:
    """Return whether the body of a function may say more than its declaration.

    Of tensors with unknown parts it may, and of those that a model makes, whose methods are declared with some, or a
    function that it takes.
    """
    declared = function.type
    types = declared.arg_types if isinstance(declared, CallableType) else []
    if says_little(function) or any(map(_gives_unknown, types)):
        return True
    return any(map(_has_open_method, _models_taken(function)))


def _gives_unknown(t: Type) -> bool:
    """Return whether a parameter is any model or any function, whose tensors are known only from the call."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return any(map(_gives_unknown, p.items))
    is_any_model = isinstance(p, Instance) and p.type.fullname == MODULE
    return is_any_model or (isinstance(p, CallableType) and is_open_result(p.ret_type))


def _models_taken(function: FuncDef) -> list[TypeInfo]:
    """Return the classes of the models that a function takes, also as the object of a method, and of their layers."""
    declared = function.type
    types = declared.arg_types if isinstance(declared, CallableType) else []
    found = [model for t in types for model in _models_in(t)]
    if function.info and not function.is_static and function.info.has_base(MODULE):
        found.append(function.info)
    for model in found:  # which grows
        members = [member.node for base in _bases(model) for member in base.names.values()]
        attributes = [one.type for one in members if isinstance(one, Var) and one.type is not None]
        found += [layer for t in attributes for layer in _models_in(t) if layer not in found]
    return found


def _models_in(t: Type) -> list[TypeInfo]:
    """Return the classes of the program whose layers are in a type, also those of the items of a list."""
    if is_endless(t):
        return []
    p = get_proper_type(t)
    inner = p.args if isinstance(p, Instance) else p.items if isinstance(p, TupleType | UnionType) else ()
    own = [p.type] if isinstance(p, Instance) and p.type.has_base(MODULE) and _bases(p.type) else []
    return [*own, *(model for one in inner for model in _models_in(one))] if tensor_parts(p) is None else []


def _bases(model: TypeInfo) -> list[TypeInfo]:
    """Return the classes of the program from which a model has its methods."""
    return [base for base in model.mro if not is_class_of_library(base)]


def _has_open_method(model: TypeInfo) -> bool:
    members = [member.node for base in _bases(model) for member in base.names.values()]
    methods = [member.func if isinstance(member, Decorator) else member for member in members]
    return any(isinstance(one, FuncDef) and one.name != "__init__" and says_little(one) for one in methods)


def says_little(function: FuncDef) -> bool:
    """Return whether a tensor in the declaration of a function has unknown parts."""
    declared = function.type
    known = _open.get(function)
    if known is None or known[0] is not declared:
        is_open_signature = isinstance(declared, CallableType) and (
            any(map(is_open_result, (declared.ret_type, *declared.arg_types)))
        )
        known = _open[function] = declared, declared is None or lacks_annotations(declared) or is_open_signature
    return known[1]


def _is_open(t: Type) -> bool:
    """Return whether a type is a tensor with unknown parts, or has some: a dictionary, a generator or a dataclass.

    mypy knows no sizes of the arrays in a dictionary or a dataclass either.
    """
    p = get_proper_type(t)
    if isinstance(p, Instance) and is_iterator(p):
        return _is_open(p.args[0]) or (is_class_of_library(p.type) and isinstance(get_proper_type(p.args[0]), AnyType))
    if isinstance(p, TupleType) and p.partial_fallback.type.is_named_tuple and any(map(_is_open_field, p.items)):
        return True
    if isinstance(p, TupleType) and not isinstance(t, TypeAliasType):  # an alias may contain itself
        return any(map(_is_open, p.items))
    if isinstance(p, TypeVarType):  # `Self`
        p = get_proper_type(p.upper_bound)
    if isinstance(p, Instance) and is_record(p):
        fields = [one.node.type for one in p.type.names.values() if isinstance(one.node, Var)]
        return any(field is not None and _is_open_field(field) for field in fields)
    is_of_open = isinstance(p, Instance) and is_dictionary(p) and (_is_open(p.args[-1]) or is_array(p.args[-1]))
    return is_of_open or is_open(t)


def _is_open_field(t: Type) -> bool:
    """Return whether a field is a tensor with unknown parts, or an array, or a dictionary of some."""
    p = get_proper_type(t)
    item = p.args[-1] if isinstance(p, Instance) and is_dictionary(p) else t
    return is_open(item) or is_array(item)


def is_open_result(t: Type) -> bool:
    """Return whether what a function takes or returns has unknown parts, also the items of a list."""
    p = get_proper_type(t)
    if isinstance(p, TupleType) and not isinstance(t, TypeAliasType) and not p.partial_fallback.type.is_named_tuple:
        return any(map(is_open_result, p.items))
    return _is_open(p.args[0] if is_sequence(p) else t)


_open: dict[FuncDef, tuple[object, bool]] = {}
