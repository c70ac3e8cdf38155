"""Options that are written as a number outside their range, such as `nn.Dropout(1.5)`, or as a bool: Python's error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.errorcodes import ARG_TYPE
from mypy.nodes import RefExpr, TupleExpr, Var

from tapegrad.errors import DTypeError, ShapeError, TapegradError
from tapegrad.errors.options import check_number
from tapegrad.errors.ranges import NUMBERS, RANGES, check_options
from tapegrad.mypy.conversion import Many, shape_items, tensor_parts
from tapegrad.mypy.mypy_api import constant_value
from tapegrad.mypy.reports import report
from tapegrad.sizes.constraints import INITIALIZERS, check_weight

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.plugin import FunctionContext, MethodContext
    from mypy.types import Type


def check_call(ctx: FunctionContext | MethodContext, function: str) -> bool:
    """Report each option of a call that is outside its range, and a weight with too few axes to initialize.

    Args:
        ctx: The call.
        function: The name of the function or the class.

    Returns:
        Whether a count is outside its range, so that the result may have a size that is an error as well.
    """
    if function in INITIALIZERS and ctx.arg_types and ctx.arg_types[0]:
        _check_weight(ctx, function, ctx.arg_types[0][0])
    ranges, is_wrong_count = RANGES.get(function, {}), False
    for option, expressions in zip(ctx.callee_arg_names, ctx.args, strict=True):
        if option is not None and option in NUMBERS.get(function, ()) and len(expressions) == 1:
            _reject_bool(ctx, function, option, expressions[0])
        if option is not None and option in ranges and len(expressions) == 1:
            is_rejected = _rejects(ctx, function, option, expressions[0])
            is_wrong_count = is_wrong_count or (is_rejected and ranges[option].is_whole)
    return is_wrong_count


def _rejects(ctx: FunctionContext | MethodContext, function: str, option: str, expression: Expression) -> bool:
    """Report an option that is outside its range, and return whether it is."""
    number = _number(expression)
    if number is None or isinstance(number, tuple) is not RANGES[function][option].is_of_several:
        return False  # or mypy itself reports a tuple for a number
    try:
        check_options(function, **{option: number})
    except (TapegradError, ValueError) as error:
        ctx.api.fail(str(error), ctx.context, code=ARG_TYPE)
        return True
    return False


def _reject_bool(ctx: FunctionContext | MethodContext, function: str, option: str, expression: Expression) -> None:
    """Report a bool for an option that may be any number."""
    number = _number(expression)
    if isinstance(number, bool):
        try:
            check_number(function, option, number)
        except DTypeError as error:
            ctx.api.fail(str(error), ctx.context, code=ARG_TYPE)


def _check_weight(ctx: FunctionContext | MethodContext, function: str, weight: Type) -> None:
    parts = tensor_parts(weight)
    sizes = shape_items(parts.shape) if parts is not None else None
    if sizes is None or any(isinstance(size, Many) for size in sizes):
        return
    try:
        check_weight(function, tuple(size for size in sizes if not isinstance(size, Many)))
    except ShapeError as error:
        report(ctx.api, str(error), ctx.context, "shape")


def _number(expression: Expression) -> float | tuple[float, ...] | None:
    """Return the value of a number, of an expression of numbers, or of a tuple of them; None if it is not known.

    A bool is returned as well: mypy takes it for a number, but Python rejects it.
    """
    if isinstance(expression, TupleExpr):
        items = [_number(item) for item in expression.items]
        numbers = tuple(item for item in items if isinstance(item, int | float))
        return numbers if len(numbers) == len(items) else None
    final = (
        expression.node.final_value if isinstance(expression, RefExpr) and isinstance(expression.node, Var) else None
    )
    value = constant_value(expression) if final is None else final
    return value if isinstance(value, int | float) else None
