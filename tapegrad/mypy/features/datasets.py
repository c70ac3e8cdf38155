"""Batches of a dataset of the program, whose `__getitem__` may say more of an example than its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.types import Instance, LiteralType, TupleType, Type, get_proper_type

from tapegrad.mypy.calls.results import with_shape
from tapegrad.mypy.conversion import ends_of, joined, literal, shape_items, shape_type, size_of, tensor_parts, unknown
from tapegrad.mypy.features.bodies import example_of
from tapegrad.mypy.features.partial_types import filled, is_open
from tapegrad.mypy.mypy_api import make
from tapegrad.sizes import UNKNOWN

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


def _size_of_batches(ctx: FunctionContext) -> Size:
    """Return the option `size`; unknown if the last batch may be smaller."""
    given = {name: types[0] for name, types in zip(ctx.callee_arg_names, ctx.arg_types, strict=True) if name and types}
    drop_last = literal(given["drop_last"]) if "drop_last" in given else None
    is_whole = drop_last is None or (isinstance(drop_last, LiteralType) and drop_last.value is True)
    return size_of(given["size"]) if is_whole and "size" in given else UNKNOWN


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
