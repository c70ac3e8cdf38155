"""The type of a model in another dtype, which `nn.cast` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Var
from mypy.types import (
    AnyType,
    Instance,
    ProperType,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.conversion import MODULE, kind_of, tensor_parts, unknown
from tapegrad.mypy.unify.unify import instance_of

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo
    from mypy.plugin import FunctionContext

_STATE = "tapegrad.nn.param.State"
_FLOATING = "numpy.floating"


def cast_result(ctx: FunctionContext) -> Type:
    """Return the type of the model with the dtype; unknown if its class does not say the dtype of its layers."""
    arguments = {name: types[0] for name, types in zip(ctx.callee_arg_names, ctx.arg_types, strict=True) if types}
    if "model" not in arguments or "dtype" not in arguments:
        return ctx.default_return_type
    dtype = _dtype(get_proper_type(arguments["dtype"]))
    result = None if dtype is None else _converted(arguments["model"], dtype)
    return unknown() if result is None else result


def _dtype(given: ProperType) -> Type | None:
    """Return the scalar type of a dtype given as a class or as an instance of `numpy.dtype`; None if unknown."""
    p = instance_of(given)
    if isinstance(p, Instance) and p.type.fullname == "numpy.dtype":
        p = get_proper_type(p.args[0])
    return p if _is_float(p) else None


def _converted(t: Type, dtype: Type) -> Type | None:
    """Return the type of a module, or of a type argument of one, in another dtype; None if no type says it."""
    p = get_proper_type(t)
    if isinstance(p, UnpackType):
        inner = _converted(p.type, dtype)
        return None if inner is None else UnpackType(inner)
    if isinstance(p, TupleType | UnionType):
        items = [_converted(item, dtype) for item in p.items]
        known = [item for item in items if item is not None]
        if len(known) < len(items):
            return None
        return p.copy_modified(items=known) if isinstance(p, TupleType) else UnionType.make_union(known)
    if isinstance(p, TypeVarType):
        bound = get_proper_type(p.upper_bound)
        return None if isinstance(bound, Instance) and bound.type.has_base(MODULE) else p
    if not isinstance(p, Instance):
        return p
    if p.type.has_base(MODULE) and _has_own_dtypes(p.type, set()):
        return None
    args: list[Type] = []
    for position, argument in enumerate(p.args):
        changed = dtype if _is_dtype_of_layers(p, position) else _converted(argument, dtype)
        if changed is None:
            return None
        args.append(changed)
    return p.copy_modified(args=args)


def _is_dtype_of_layers(p: Instance, position: int) -> bool:
    """Return whether an argument of a module's type is a float dtype."""
    variables = p.type.defn.type_vars
    if not p.type.has_base(MODULE) or p.type.has_type_var_tuple_type or kind_of(variables[position]) != "dtype":
        return False
    argument = get_proper_type(p.args[position])
    return isinstance(argument, AnyType) or _is_float(argument)


def _is_float(p: ProperType) -> bool:
    bound = get_proper_type(p.upper_bound) if isinstance(p, TypeVarType) else p
    return isinstance(bound, Instance) and bound.type.has_base(_FLOATING)


def _has_own_dtypes(info: TypeInfo, seen: set[str]) -> bool:
    """Return whether a class has a parameter or a layer whose dtype is no type variable of the class."""
    if info.fullname in seen:
        return False
    seen.add(info.fullname)
    own = [base for base in info.mro if base.has_base(MODULE) and not base.module_name.startswith("tapegrad.nn.")]
    attributes = [symbol.node for base in own for symbol in base.names.values() if isinstance(symbol.node, Var)]
    return any(
        not one.is_classvar and not one.is_property and (one.type is None or _names_dtype(one.type, seen))
        for one in attributes
    )


def _names_dtype(t: Type, seen: set[str]) -> bool:
    """Return whether a type names the dtype of a parameter, or of a parameter of a layer."""
    p = get_proper_type(t)
    if isinstance(p, UnionType | TupleType):
        return any(_names_dtype(item, seen) for item in p.items)
    if isinstance(p, UnpackType):
        return _names_dtype(p.type, seen)
    if not isinstance(p, Instance):
        return isinstance(p, AnyType)
    if p.type.has_base(_STATE):
        parts = tensor_parts(p)
        dtype = get_proper_type(parts.dtype) if parts is not None else p
        return isinstance(dtype, AnyType) or (isinstance(dtype, Instance) and _is_float(dtype))
    is_module = p.type.has_base(MODULE)
    if is_module and _has_own_dtypes(p.type, seen):
        return True
    return any(
        isinstance(get_proper_type(argument), Instance | AnyType)
        if is_module and _is_dtype_of_layers(p, position)
        else not (is_module and isinstance(get_proper_type(argument), AnyType)) and _names_dtype(argument, seen)
        for position, argument in enumerate(p.args)
    )
