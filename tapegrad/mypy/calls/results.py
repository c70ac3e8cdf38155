"""Compute the result type of a call from its bindings and from the shape that the rule returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.plugin import MethodContext
from mypy.types import (
    AnyType,
    Instance,
    TupleType,
    Type,
    UnionType,
    get_proper_type,
    has_type_vars,
)

from tapegrad.mypy.calls.array_types import is_vague, may_be_array, scalar_type_of, sizes_of_list
from tapegrad.mypy.calls.arrays import scalar_of_array, sizes_of_array
from tapegrad.mypy.conversion import (
    ARRAY,
    MODULE,
    TENSOR,
    VALUE,
    Make,
    Many,
    has_any,
    kind_of,
    shape_items,
    shape_type,
    tensor_parts,
    unknown,
    without_last_values,
)
from tapegrad.mypy.mypy_api import make, scalar_type
from tapegrad.mypy.rules.calls import is_several
from tapegrad.mypy.rules.windows import stepped
from tapegrad.mypy.unify.arguments import is_array_of_any
from tapegrad.mypy.unify.bindings import Bindings
from tapegrad.sizes import is_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy.plugin import FunctionContext

    from tapegrad.mypy.calls.binding import CheckedCall
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.signatures import (
        Signature,
    )
    from tapegrad.mypy.unify.arguments import Argument
    from tapegrad.sizes import Dims


_MOST_LISTED: Final = 4096  # a tuple type lists up to this many parts; above, it has their common type


def result_of(call: CheckedCall, items: list[Any] | None) -> Type:
    """Return the type of the result; `items` is the shape by the op's rule, None if it is unknown."""
    ctx, signature, bindings = call.ctx, call.signature, call.bindings
    if call.op is not None:
        result = _op_result(ctx, signature, bindings, items)
        return _of_bools(ctx, result, call.op.of_bools) if call.op.of_bools else result
    if signature.declared.is_type_obj() and isinstance(signature.result, Instance):
        constructed = _constructed(signature, signature.result, bindings, ctx.default_return_type)
        return stepped(constructed, [argument.type for argument in call.arguments.get("stride", [])])
    return _by_tape(bindings.applied(signature.result, ctx.default_return_type), ctx.api.type_context[-1])


def _by_tape(result: Type, expected: Type | None) -> Type:
    """Return a tensor with one of several tapes as one of several tensors where those are expected.

    mypy compares a type with each item of a union, and none of them has all these tapes.
    """
    p, several = get_proper_type(result), get_proper_type(expected)
    if not isinstance(p, Instance) or p.type.fullname != TENSOR or not isinstance(several, UnionType):
        return result
    shape, tape, dtype = p.args
    tapes = get_proper_type(tape)
    if not isinstance(tapes, UnionType) or sum(tensor_parts(item) is not None for item in several.items) < 2:
        return result
    return UnionType.make_union([p.copy_modified(args=[shape, one, dtype]) for one in tapes.items])


def unknown_result(ctx: FunctionContext | MethodContext, signature: Signature, make: Make) -> Type:
    """Return the result type of a rejected call, so that one mistake gives one message."""
    bindings = Bindings("", signature, make)
    bindings.is_rejected = True
    bindings.given = list(signature.formals.values())  # so that every dtype counts as given
    return _raw(ctx, bindings.applied(signature.result, ctx.default_return_type))


def raw_receiver(ctx: FunctionContext | MethodContext) -> Instance | None:
    """Return the type of the raw value on which an operator was called, None if it is no raw value."""
    receiver = get_proper_type(ctx.type) if isinstance(ctx, MethodContext) else None
    return receiver if isinstance(receiver, Instance) and receiver.type.fullname == VALUE else None


def unread(result: Type, arguments: Mapping[str, list[Argument]], api: Checker) -> Type:
    """Return the type of `tg.tensor(data)` without what any data may give another: its dtype, and the rank of Any.

    Several overloads fit such data, and mypy keeps nothing of results that differ, not even that there is no tape. An
    array whose sizes are Any is also an object that NumPy can read: its shape and dtype are those of the array.
    """
    p, data = get_proper_type(result), arguments.get("data", [])
    if not isinstance(p, Instance) or len(p.args) != 3 or not data:
        return result
    shape, tape, dtype = p.args
    array = get_proper_type(data[0].type)
    is_read = may_be_array(data[0], api)
    sizes = sizes_of_array(data[0], api) if is_read else None
    if sizes is not None:
        shape = shape_type(tuple(sizes), make(api))
    elif is_read and (is_array_of_any(array) or not _is_array_of_axes(array)):
        shape = unknown()
    elif _lacks_sizes(shape) and (of_list := sizes_of_list(data[0], api)) is not None:
        return p.copy_modified(args=[shape_type(tuple(of_list), make(api)), tape, dtype])
    elif not is_read and not has_any(array) and not isinstance(get_proper_type(dtype), AnyType):
        return result
    elif isinstance(get_proper_type(shape), AnyType) and isinstance(array, Instance) and array.type.fullname == ARRAY:
        items = shape_items(without_last_values(array).args[0])
        shape = shape if items is None else shape_type(items, make(api))
    if not arguments.get("dtype"):
        known = scalar_type_of(array)
        dtype = (scalar_of_array(data[0], api) if is_read or is_vague(known) else None) or known or unknown()
    return p.copy_modified(args=[shape, tape, dtype])


def _lacks_sizes(shape: Type) -> bool:
    """Return whether no size in a shape is known."""
    return all(isinstance(item, Many) or is_unknown(item) for item in shape_items(shape) or [])


def _is_array_of_axes(t: Type) -> bool:
    """Return whether a type is an array that has axes; NumPy's stubs say `()` of `np.zeros(shape)` of any shape."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == ARRAY and shape_items(p.args[0]) != []


def without_shapes(t: Type) -> Type:
    """Return the type of a result with tensors of unknown shape."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return p.copy_modified(items=list(map(without_shapes, p.items)))
    return with_shape(p, unknown()) if isinstance(p, Instance) and p.type.has_base(TENSOR) else t


def with_shape(t: Type, shape: Type) -> Type:
    """Return a tensor type with another shape."""
    p = get_proper_type(t)
    return p.copy_modified(args=[shape, *p.args[1:]]) if isinstance(p, Instance) and p.args else t


def _op_result(
    ctx: FunctionContext | MethodContext, signature: Signature, bindings: Bindings, items: list[Any] | None
) -> Type:
    declared = signature.result
    # A result of several tensors may be empty.
    if items is not None and (is_several(items) or not (items or tensor_parts(declared))):
        return _several(bindings.applied(declared, ctx.default_return_type), items, bindings.make)
    if items is not None and signature.is_open:
        return _raw(ctx, bindings.applied_beside(shape_type(items, bindings.make), declared))
    return _raw(ctx, bindings.applied(declared, ctx.default_return_type))


def _of_bools(ctx: FunctionContext | MethodContext, result: Type, name: str) -> Type:
    """Return the type of a result with the dtype of that name in the place of bool."""
    p = get_proper_type(result)
    dtype = get_proper_type(p.args[2]) if isinstance(p, Instance) and p.type.fullname == TENSOR else None
    other = scalar_type(ctx.api, name) if isinstance(dtype, Instance) and dtype.type.has_base("numpy.bool") else None
    return result if other is None or not isinstance(p, Instance) else p.copy_modified(args=[*p.args[:2], other])


def _several(result: Type, items: list[Dims], make: Make) -> Type:
    """Compute the type of a tuple of tensors, each with its own shape."""
    p = get_proper_type(result)
    if isinstance(p, TupleType) and len(p.items) == len(items):
        shapes = (shape_type(dims, make) for dims in items)
        return p.copy_modified(items=list(map(with_shape, p.items, shapes)))
    if not isinstance(p, Instance) or p.type.fullname != "builtins.tuple":
        return result
    if len(items) > _MOST_LISTED:
        is_one = all(isinstance(n, int) for dims in items for n in dims) and len({*items}) == 1
        return p.copy_modified(args=[with_shape(p.args[0], shape_type(items[0] if is_one else None, make))])
    return TupleType([with_shape(p.args[0], shape_type(dims, make)) for dims in items], p)


def _raw(ctx: FunctionContext | MethodContext, result: Type) -> Type:
    """Return a tensor type as that of a raw value, if the operator was called on one."""
    receiver = raw_receiver(ctx)
    if receiver is None:
        return result
    parts = tensor_parts(result)
    return receiver.copy_modified(args=[parts.shape, parts.dtype]) if parts else result


def _constructed(signature: Signature, declared: Instance, bindings: Bindings, default: Type) -> Type:
    """Return the type of a new object, with the sizes that its constructor was called with."""
    if not declared.type.has_base(MODULE) and not any(map(has_type_vars, signature.formals.values())):
        return default  # also for a class whose fields another plugin has typed
    answer = get_proper_type(default)
    others = answer.args if isinstance(answer, Instance) and len(answer.args) == len(declared.args) else None
    variables = declared.type.defn.type_vars
    if len(variables) != len(declared.args) or any(kind_of(variable) == "sizes" for variable in variables):
        return default
    return declared.copy_modified(
        args=[
            bindings.applied(variable, others[position] if others is not None else None)
            for position, variable in enumerate(variables)
        ]
    )
