"""Types of `functools.reduce` over tensors: mypy takes the result for one of the shape of the first operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import RefExpr
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.conversion import Many, shape_items, tensor_parts, unknown
from tapegrad.sizes import surely_same

if TYPE_CHECKING:
    from mypy.plugin import FunctionContext, FunctionSigContext
    from mypy.types import FunctionLike, Type


def signature(ctx: FunctionSigContext) -> FunctionLike:
    """Accept a function whose result has another shape than its first argument."""
    declared = ctx.default_signature
    function = get_proper_type(declared.arg_types[0]) if isinstance(declared, CallableType) else None
    if not isinstance(declared, CallableType) or not isinstance(function, CallableType):
        return declared
    return declared.copy_modified(arg_types=[function.copy_modified(ret_type=unknown()), *declared.arg_types[1:]])


def result(ctx: FunctionContext) -> Type:
    """Return the type of the first operand if the function keeps its shape, and else a tensor of unknown shape."""
    p = get_proper_type(ctx.default_return_type)
    if any(isinstance(one, RefExpr) and one.fullname in _KEEPING for one in ctx.args[0]):
        return p  # of two operands of one shape
    function = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types[0] else None
    before = tensor_parts(p)
    after = tensor_parts(function.ret_type) if isinstance(function, CallableType) else None
    if not isinstance(p, Instance) or before is None or after is None:
        return p.copy_modified(args=[unknown() for _ in p.args]) if isinstance(p, Instance) else p
    shape = p.args[0] if _keeps(before.shape, after.shape) else unknown()
    others = (
        one if one == other else unknown() for one, other in zip(p.args[1:], (after.tape, after.dtype), strict=True)
    )
    return p.copy_modified(args=[shape, *others])


def _keeps(before: Type, after: Type) -> bool:
    """Return whether two shapes are surely the same."""
    sizes, others = shape_items(before), shape_items(after)
    if sizes is None or others is None or len(sizes) != len(others):
        return False
    pairs = [*zip(sizes, others, strict=True)]
    return all(not isinstance(n, Many) and not isinstance(m, Many) and surely_same(n, m) for n, m in pairs)


_KEEPING: Final = (
    {f"{module}.{name}" for module in ("operator", "_operator") for name in ("add", "iadd", "mul", "sub")}
    | {f"tapegrad.ops.arithmetic.{name}" for name in ("add", "div", "mul", "sub")}
    | {f"tapegrad.ops.rounding.{name}" for name in ("maximum", "minimum")}
)
