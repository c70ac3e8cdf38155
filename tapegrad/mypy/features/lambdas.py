"""Lambdas as arguments: mypy infers a lambda from its parameter types, which the other arguments decide."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mypy.nodes import ARG_STAR, ARG_STAR2, CallExpr, LambdaExpr
from mypy.types import CallableType, Type, TypeVarId, TypeVarType, get_proper_type

from tapegrad.mypy.conversion import kind_of
from tapegrad.mypy.mypy_api import expand_type, make, silenced
from tapegrad.mypy.signatures import Signature, opened_call
from tapegrad.mypy.unify.bindings import Bindings, CallError
from tapegrad.mypy.unify.unify import unify

if TYPE_CHECKING:
    from mypy.plugin import FunctionSigContext, MethodSigContext
    from mypy.types import FunctionLike


def with_lambdas(
    opened: FunctionLike, declared: FunctionLike, ctx: FunctionSigContext | MethodSigContext
) -> FunctionLike:
    """Return a signature with the parameter types of each lambda, as far as the other arguments decide them."""
    if not isinstance(opened, CallableType) or not isinstance(declared, CallableType) or not declared.variables:
        return opened
    lambdas = [any(isinstance(one, LambdaExpr) for one in actuals) for actuals in ctx.args]
    if not any(lambdas):
        return opened
    known = _known(declared, ctx)
    return opened.copy_modified(
        arg_types=[
            _taking(formal, given, known) if is_lambda else given
            for formal, given, is_lambda in zip(declared.arg_types, opened.arg_types, lambdas, strict=True)
        ]
    )


def _taking(formal: Type, opened: Type, known: dict[TypeVarId, Type]) -> Type:
    declared = get_proper_type(formal)
    if not isinstance(declared, CallableType):
        return opened
    taken = [expand_type(one, known) for one in declared.arg_types]
    return opened_call(declared).copy_modified(arg_types=taken)


def _known(declared: CallableType, ctx: FunctionSigContext | MethodSigContext) -> dict[TypeVarId, Type]:
    """Return the values of a call's type variables, bound by all arguments except the lambdas; Any for the rest."""
    bindings = Bindings("", Signature(declared), make(ctx.api))
    kinds = ctx.context.arg_kinds if isinstance(ctx.context, CallExpr) else []
    if not any(kind in (ARG_STAR, ARG_STAR2) for kind in kinds):
        with silenced(ctx.api), suppress(CallError):
            for formal, actuals in zip(declared.arg_types, ctx.args, strict=True):
                for one in actuals:
                    if not isinstance(one, LambdaExpr):
                        unify(bindings, formal, ctx.api.get_expression_type(one), "")
    variables = [one for one in declared.variables if isinstance(one, TypeVarType) and kind_of(one) != "other"]
    return {one.id: bindings.applied(one, None) for one in variables}
