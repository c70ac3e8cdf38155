"""Arguments with stars, `*sizes` and `**options`, of which the items are known: as if each were written."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from mypy.nodes import ARG_STAR2, CallExpr
from mypy.types import AnyType, TypeVarType, get_proper_type

from tapegrad.mypy.conversion import kind_of, unknown
from tapegrad.mypy.mypy_api import accepts, make
from tapegrad.mypy.scopes.frames import GivenTensor, Items, Keywords
from tapegrad.mypy.scopes.items import type_of_value
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.values import is_whole
from tapegrad.mypy.signatures import parameter_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy.nodes import Expression
    from mypy.plugin import FunctionSigContext, MethodSigContext
    from mypy.types import CallableType, Type

    from tapegrad.mypy.mypy_api import Checker


def options_given(options: Expression, names: list[str], api: Checker) -> Mapping[str, Type] | None:
    """Return the types that a dictionary of options gives parameters, Any where nothing is known of the value.

    None if its keys are not known, or if one is not the name of a parameter: `**others` may take it.
    """
    match object_of(options, api):
        case Keywords() as given if (named := given.as_arguments()) is not None and all(
            name in names for name, _ in named
        ):
            return {name: _type_given(value, api) for name, value in named}
    return None


def with_values(items: list[Type] | None, sequence: Expression, api: Checker) -> list[Type] | None:
    """Return the types of the items that `*sequence` gives, with the sizes of those that are only ints to mypy."""
    if items is not None and not any(map(is_whole, map(get_proper_type, items))):
        return items
    match object_of(sequence, api):
        case Items(values=values) if items is None or len(values) == len(items):
            types = [_type_given(value, api) for value in values]
            known = [t for t in types if is_known(t)]
            if items is None:
                return types if len(known) == len(types) else None
            return [
                t if is_known(t) and is_whole(get_proper_type(item)) else item
                for t, item in zip(types, items, strict=True)
            ]
    return items


def with_options(opened: CallableType, ctx: FunctionSigContext | MethodSigContext) -> CallableType:
    """Accept a dictionary of options for each parameter that takes its own option, or that none is for.

    mypy gives every parameter that is left the type that all values have in common.
    """
    call = ctx.context
    if not isinstance(call, CallExpr) or ARG_STAR2 not in call.arg_kinds:
        return opened
    names = parameter_names(opened)
    known = {
        one: options_given(one, names, ctx.api)
        for one, kind in zip(call.args, call.arg_kinds, strict=True)
        if kind is ARG_STAR2
    }
    types = [
        unknown() if actuals and all(_fits(known.get(one), name, formal) for one in actuals) else formal
        for name, formal, actuals in zip(names, opened.arg_types, ctx.args, strict=True)
    ]
    return opened if all(map(operator.is_, types, opened.arg_types)) else opened.copy_modified(arg_types=types)


def _fits(options: Mapping[str, Type] | None, name: str, formal: Type) -> bool:
    p = get_proper_type(formal)
    bound = p.upper_bound if isinstance(p, TypeVarType) else p
    if options is None:  # its keys are not known: an int is wrong for a flag only if there is a key for it
        return isinstance(p, TypeVarType) and kind_of(p) == "flag"
    return name not in options or accepts(bound, options[name])


def _type_given(value: Any, api: Checker) -> Type:
    if isinstance(value, GivenTensor):
        return value.t
    return make(api)("builtins.float", []) if isinstance(value, float) else type_of_value(value, api)


def is_known(option: Type) -> bool:
    """Return whether anything is known of the value of an option."""
    return not isinstance(get_proper_type(option), AnyType)
