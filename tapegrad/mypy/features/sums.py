"""Types of `sum` over tensors, computed as its additions; typeshed includes the 0 of an empty list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import ListExpr, StarExpr
from mypy.types import TupleType, Type, UnpackType, get_proper_type

from tapegrad.mypy.conversion import tensor_parts
from tapegrad.mypy.mypy_api import Argument, items_of_iterable, make, past_trial, tried_method

if TYPE_CHECKING:
    from typing import Any

    from mypy.nodes import Expression
    from mypy.plugin import FunctionContext


def sum_result(ctx: FunctionContext) -> Type:
    """Compute the type of `sum(losses)` or `sum(losses, start)`."""
    (iterable, *_), (expression, *_) = ctx.arg_types[0], ctx.args[0]
    terms = _terms(iterable, expression, ctx.api)
    if not terms or any(tensor_parts(one) is None for one in terms):
        return ctx.default_return_type
    given = ctx.arg_types[1] if len(ctx.arg_types) > 1 else []
    total: Type = given[0] if given else make(ctx.api)("builtins.int", [])
    for term in terms:
        if tensor_parts(total) is not None:
            trial = tried_method(ctx.api, total, "__add__", [Argument(term)], ctx.context)
        else:
            trial = tried_method(ctx.api, term, "__radd__", [Argument(total)], ctx.context)
        if trial.errors:
            with past_trial(ctx.api):  # otherwise mypy would try the next overload, which takes numbers
                for message, code in trial.errors:
                    ctx.api.fail(message, ctx.context, code=code)
            return trial.result
        total = trial.result
    return total


def _terms(iterable: Type, expression: Expression, api: Any) -> list[Type]:
    """Return the types of the terms; for an unknown number two, because further terms do not change the result."""
    p = get_proper_type(iterable)
    if isinstance(expression, ListExpr) and not any(isinstance(item, StarExpr) for item in expression.items):
        return [api.get_expression_type(item) for item in expression.items]
    if isinstance(p, TupleType):
        return [] if any(isinstance(item, UnpackType) for item in p.items) else p.items
    return items_of_iterable(p) * 2
