"""Calls of NumPy's functions with tensors: `np.mean(x)` is checked and typed as the op `mean`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import ARG_NAMED_OPT, ARG_OPT, ARG_POS, ARG_STAR, ARG_STAR2, CallExpr, ListExpr, MemberExpr, TupleExpr
from mypy.types import AnyType, CallableType, Instance, LiteralType, NoneType, Type, TypeOfAny, get_proper_type

from tapegrad.errors.numpy_functions import (
    OF_SHAPES,
    OF_VALUES,
    OTHERS,
    UFUNCS,
    Call,
    Parameter,
    below_numpy,
    call_of,
    not_an_op,
    with_option,
)
from tapegrad.mypy.calls.check import check_call
from tapegrad.mypy.conversion import TENSOR, joined
from tapegrad.mypy.mypy_api import declared_function, silenced, stored_type
from tapegrad.mypy.reports import report
from tapegrad.mypy.rules.library import op_named
from tapegrad.mypy.signatures import open_signature, signature_of
from tapegrad.mypy.unify.arguments import arguments_of

if TYPE_CHECKING:
    from mypy.nodes import ArgKind, Expression
    from mypy.plugin import FunctionContext, FunctionSigContext, MethodContext, MethodSigContext
    from mypy.types import FunctionLike

    from tapegrad.autograd.registry import Op

_METHODS = frozenset({"accumulate", "at", "outer", "reduce", "reduceat"})  # of ufuncs
_ABSENT = "-"  # begins the name of a parameter that the op does not have


def function_signature(ctx: FunctionSigContext, fullname: str) -> FunctionLike:
    """Return the signature of the op that a function of NumPy is, if it is called with a tensor."""
    name = below_numpy(fullname)
    if not name or not _is_of_tensors(ctx):
        return ctx.default_signature
    call = call_of(name)
    if call is not None:
        return _signature(ctx, call)
    if name not in OTHERS | OF_SHAPES | OF_VALUES or not isinstance(ctx.default_signature, CallableType):
        return ctx.default_signature
    takes = [AnyType(TypeOfAny.special_form)] * len(ctx.default_signature.arg_types)
    return ctx.default_signature.copy_modified(arg_types=takes)


def function_result(ctx: FunctionContext, fullname: str) -> Type | None:
    """Return the type of a function of NumPy that is called with a tensor; None for any other call."""
    name = below_numpy(fullname)
    if not name or not _is_of_tensors(ctx):
        return None
    call = call_of(name)
    if call is not None:
        return _result(ctx, call)
    if name in OTHERS:
        report(ctx.api, not_an_op(name), ctx.context, "dtype")
        return AnyType(TypeOfAny.from_error)
    return None


def ufunc_signature(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of the op that a ufunc is, if it is called with a tensor."""
    call = _ufunc_called(ctx)
    declared = ctx.default_signature
    if call is not None and _method_called(ctx):
        if not isinstance(declared, CallableType) or not _is_of_tensors(ctx):
            return declared
        anything = AnyType(TypeOfAny.special_form)
        several = zip(declared.arg_kinds, declared.arg_types, strict=True)
        types = [t if kind is ARG_STAR2 else anything for kind, t in several]  # `**options` is a typed dictionary
        return declared.copy_modified(arg_types=types)
    return declared if call is None or not _is_of_tensors(ctx) else _signature(ctx, call)


def ufunc_result(ctx: MethodContext) -> Type | None:
    """Return the type of a ufunc that is called with a tensor; None for any other call."""
    call = _ufunc_called(ctx)
    if call is not None and (method := _method_called(ctx)):
        if not _takes_tensor(ctx):
            return None
        report(ctx.api, with_option(f"{call.function}.{method}", f"method {method}"), ctx.context, "dtype")
        return AnyType(TypeOfAny.from_error)
    return None if call is None or not _is_of_tensors(ctx) else _result(ctx, call)


def _ufunc_called(ctx: MethodContext | MethodSigContext) -> Call | None:
    """Return the op that a ufunc is; its name is the first argument of its type in NumPy's stubs."""
    function = get_proper_type(ctx.type)
    name = get_proper_type(function.args[0]) if isinstance(function, Instance) and function.args else None
    if not isinstance(name, LiteralType) or not isinstance(name.value, str):
        return None
    op = op_named(UFUNCS.get(name.value, name.value))
    if op is None:
        return None
    operands = [Parameter(one, one, is_required=True, is_keyword=False, only="") for one in op.alone]
    options = [Parameter(one, "", is_required=False, is_keyword=True, only="") for one in ("out", "where", "dtype")]
    return Call(name.value, op.name, (*operands, *options))


def _method_called(ctx: MethodContext | MethodSigContext) -> str:
    """Return the method of a ufunc that is called, such as `reduce`; empty if the ufunc itself is."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    if not isinstance(callee, MemberExpr) or callee.name not in _METHODS:
        return ""
    is_ufunc = isinstance(get_proper_type(stored_type(ctx.api, callee)), Instance)  # in an attribute of such a name
    return "" if is_ufunc else callee.name


def _takes_tensor(ctx: Any) -> bool:
    """Return whether an argument of a call is a tensor itself: NumPy converts those in lists and tuples."""
    with silenced(ctx.api):
        return any(_is_tensor(ctx.api.get_expression_type(one)) for one in ctx.context.args)


def _is_of_tensors(ctx: Any) -> bool:
    """Return whether an argument of a call is a tensor, or a list or tuple that is written with one."""
    call = ctx.context
    return isinstance(call, CallExpr) and any(_has_tensor(one, ctx.api) for one in call.args)


def _has_tensor(expression: Expression, api: Any) -> bool:
    if isinstance(expression, ListExpr | TupleExpr):
        return any(_has_tensor(one, api) for one in expression.items)
    with silenced(api):
        found = get_proper_type(api.get_expression_type(expression))
    if _is_tensor(found):
        return True
    items = found.args if isinstance(found, Instance) else getattr(found, "items", ())
    return len(items) > 0 and all(map(_is_tensor, items))


def _is_tensor(t: Type) -> bool:
    p = get_proper_type(joined(t))
    return isinstance(p, Instance) and p.type.has_base(TENSOR)


def _declared(ctx: Any, op: Op | None) -> CallableType | None:
    return None if op is None else declared_function(ctx.api, f"{op.function.__module__}.{op.name}")


def _signature(ctx: FunctionSigContext | MethodSigContext, call: Call) -> FunctionLike:
    declared = _declared(ctx, op_named(call.op))
    opened = open_signature(declared) if declared is not None else None
    if not isinstance(opened, CallableType):
        return ctx.default_signature
    anything = AnyType(TypeOfAny.special_form)
    types = dict(zip(opened.arg_names, opened.arg_types, strict=True))
    required = {
        name
        for name, kind in zip(opened.arg_names, opened.arg_kinds, strict=True)
        if kind.is_required() or kind.is_star()
    }
    return opened.copy_modified(
        arg_types=[types.get(one.own.lstrip("*"), anything) for one in call.parameters],
        arg_kinds=[_kind(one, is_required=one.own in required) for one in call.parameters],
        arg_names=[one.name.lstrip("*") for one in call.parameters],
        ret_type=anything,
    )


def _kind(parameter: Parameter, *, is_required: bool) -> ArgKind:
    if parameter.name.startswith("*"):
        return ARG_STAR
    if parameter.is_keyword:
        return ARG_NAMED_OPT
    return ARG_POS if is_required and not parameter.is_required else ARG_OPT


def _result(ctx: FunctionContext | MethodContext, call: Call) -> Type:
    op = op_named(call.op)
    declared = _declared(ctx, op)
    if declared is None or len(ctx.arg_types) != len(call.parameters):
        return ctx.default_return_type
    names = [one.own.lstrip("*") or f"{_ABSENT}{one.name}" for one in call.parameters]
    given = arguments_of(ctx, names)
    for parameter in call.parameters:
        argument = given.pop(f"{_ABSENT}{parameter.name}", None)
        if argument is not None and not _is_default(parameter, argument[0].type):
            report(ctx.api, call.unwanted(parameter.name), ctx.context, "dtype")
            return AnyType(TypeOfAny.from_error)
    missing = call.missing(frozenset(given))
    if missing:
        report(ctx.api, missing, ctx.context, "dtype")
        return AnyType(TypeOfAny.from_error)
    return check_call(ctx, signature_of(declared), given, op)


def _is_default(parameter: Parameter, t: Type) -> bool:
    p = get_proper_type(t)
    value = getattr(p, "last_known_value", None) or p
    return isinstance(p, NoneType) or (isinstance(value, LiteralType) and value.value == parameter.only)
