"""Options that are written as a number outside their range, such as `nn.Dropout(1.5)`: the error that Python raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.errorcodes import ARG_TYPE
from mypy.nodes import RefExpr, TupleExpr, Var

from tapegrad.errors import TapegradError
from tapegrad.errors.ranges import RANGES, check_options
from tapegrad.mypy.mypy_api import constant_value

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.plugin import FunctionContext, MethodContext


def check_call(ctx: FunctionContext | MethodContext, function: str) -> None:
    """Report each option of a call that is outside its range.

    Args:
        ctx: The call.
        function: The name of the function or the class.
    """
    ranges = RANGES[function]
    for option, expressions in zip(ctx.callee_arg_names, ctx.args, strict=True):
        if option is not None and option in ranges and len(expressions) == 1:
            _check(ctx, function, option, expressions[0])


def _check(ctx: FunctionContext | MethodContext, function: str, option: str, expression: Expression) -> None:
    number = _number(expression)
    if number is None or isinstance(number, tuple) is not RANGES[function][option].is_of_several:
        return  # or mypy itself reports a tuple for a number
    try:
        check_options(function, **{option: number})
    except (TapegradError, ValueError) as error:
        ctx.api.fail(str(error), ctx.context, code=ARG_TYPE)


def _number(expression: Expression) -> float | tuple[float, ...] | None:
    """Return the value of a number, of an expression of numbers, or of a tuple of them; None if it is not known."""
    if isinstance(expression, TupleExpr):
        items = [_number(item) for item in expression.items]
        numbers = tuple(item for item in items if isinstance(item, int | float))
        return numbers if len(numbers) == len(items) else None
    final = (
        expression.node.final_value if isinstance(expression, RefExpr) and isinstance(expression.node, Var) else None
    )
    value = constant_value(expression) if final is None else final
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
