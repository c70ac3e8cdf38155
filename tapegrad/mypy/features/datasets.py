"""Calls of `data.batches`: fewer rows than a batch has, and datasets of the program.

The `__getitem__` of a dataset may say more of an example than its declaration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import ARG_STAR
from mypy.types import AnyType, Instance, LiteralType, TupleType, Type, get_proper_type

from tapegrad.mypy.calls.results import with_shape
from tapegrad.mypy.conversion import (
    Many,
    ends_of,
    joined,
    literal,
    shape_items,
    shape_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.features.bodies import example_of
from tapegrad.mypy.features.partial_types import filled, is_open
from tapegrad.mypy.mypy_api import any_tuple, make
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.values import size_value
from tapegrad.mypy.unify.arguments import arguments_of
from tapegrad.sizes import UNKNOWN, is_unknown, surely_less

if TYPE_CHECKING:
    from mypy.plugin import FunctionContext

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.sizes import Size

BATCHES: Final = "tapegrad.data.batches.batches"


def with_examples(ctx: FunctionContext, result: Type) -> Type:
    """Return the type of `data.batches(dataset, size=8)` with what is read of the examples."""
    batches = get_proper_type(result)
    if not isinstance(batches, Instance) or len(batches.args) != 1 or not is_open(batches.args[0]):
        return result
    (dataset, *_), *_ = ctx.args
    example = example_of(dataset, ctx.api)
    if example is None:
        return result
    return batches.copy_modified(args=[_stacked(batches.args[0], example, _size_of_batches(ctx), ctx.api)])


def with_rows(ctx: FunctionContext, result: Type) -> Type:
    """Return the type of `data.batches(...)` of four or more tensors, or of a starred tuple of tensors.

    The overloads say nothing of the first, and not the number of rows of the second.
    """
    batches = get_proper_type(result)
    if not isinstance(batches, Instance) or len(batches.args) != 1:
        return result
    is_starred = any(kind is ARG_STAR for kinds in ctx.arg_kinds for kind in kinds)
    if not is_starred and not isinstance(get_proper_type(batches.args[0]), AnyType):
        return result
    formals = [str(position) for position in range(len(ctx.arg_types))]
    given = [one for several in arguments_of(ctx, formals).values() for one in several if one.keyword is None]
    if len(given) < 2 or any(one.tensor is None for one in given):
        return result
    size = _size_of_batches(ctx)
    rows = [_with_first(one.type, size, ctx.api) for one in given]
    return batches.copy_modified(args=[TupleType(rows, any_tuple(ctx.api))])


def _with_first(t: Type, size: Size, api: Checker) -> Type:
    """Return the type of a tensor with another first size."""
    tensor = joined(t)
    parts = tensor_parts(tensor)
    items = shape_items(parts.shape) if parts is not None else None
    if not items or isinstance(items[0], Many):
        return with_shape(tensor, unknown())
    return with_shape(tensor, shape_type([size, *items[1:]], make(api)))


def check_rows(ctx: FunctionContext) -> None:
    """Report tensors with fewer rows than a batch of `data.batches(x, y, size=8)` has."""
    size, rows = _size_of_batches(ctx), _first_size(ctx.arg_types[0][0]) if ctx.arg_types[0] else UNKNOWN
    if not is_unknown(size) and not is_unknown(rows) and surely_less(rows, size):
        message = f"batches: size is {size} but the tensors have {rows} rows, which fill no batch"
        report(ctx.api, message, ctx.context, "shape")


def _first_size(t: Type) -> Size:
    """Return the size of the first axis of a tensor; unknown if it is not known."""
    parts = tensor_parts(t)
    first = (ends_of(parts.shape) or [UNKNOWN])[0] if parts is not None else UNKNOWN
    return UNKNOWN if isinstance(first, Many) else first


def _size_of_batches(ctx: FunctionContext) -> Size:
    """Return the option `size`; unknown if the last batch may be smaller."""
    pairs = zip(ctx.callee_arg_names, zip(ctx.arg_types, ctx.args, strict=True), strict=True)
    given = {name: (types[0], values[0]) for name, (types, values) in pairs if name and types}
    drop_last = literal(given["drop_last"][0]) if "drop_last" in given else None
    is_whole = drop_last is None or (isinstance(drop_last, LiteralType) and drop_last.value is True)
    return size_value(*given["size"], ctx.api) if is_whole and "size" in given else UNKNOWN


def _stacked(batch: Type, example: Type, size: Size, api: Checker) -> Type:
    """Return the type of a batch with the sizes and the dtype of an example behind its own first size, or `size`.

    Before 2.4, mypy knows no shape of which only the first size is known.
    """
    p, q = get_proper_type(batch), get_proper_type(example)
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        items = zip(p.items, q.items, strict=True)
        return p.copy_modified(items=[_stacked(one, other, size, api) for one, other in items])
    batch_parts, parts = tensor_parts(p), tensor_parts(joined(q))
    sizes = shape_items(parts.shape) if parts is not None else None
    if batch_parts is None or sizes is None:
        return batch
    rows, *_ = ends_of(batch_parts.shape) or [size]
    whole = with_shape(joined(q), shape_type([rows, *sizes], make(api)))
    return filled(with_shape(batch, unknown()) if shape_items(batch_parts.shape) is None else batch, whole)
