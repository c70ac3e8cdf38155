"""The source code of a wrapper: the parameters of its function, the short form of each check, and the call."""

from __future__ import annotations

import inspect
from textwrap import indent
from typing import TYPE_CHECKING, Any

from tapegrad.guard._checks import Anything
from tapegrad.guard._containers import EachCheck, KeywordsCheck
from tapegrad.guard._names import NoShortFormError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import CodeType

    from tapegrad.guard._checks import Check
    from tapegrad.guard._names import Scope


class Parameters:
    """The parameters of a function, read from its code, since a signature may evaluate annotations too early."""

    def __init__(self, code: CodeType) -> None:
        names = iter(code.co_varnames)
        self._positional = [next(names) for _ in range(code.co_argcount)]
        self._positional_only = code.co_posonlyargcount
        self._keyword_only = [next(names) for _ in range(code.co_kwonlyargcount)]
        self._star = next(names) if code.co_flags & inspect.CO_VARARGS else None
        self._two_stars = next(names) if code.co_flags & inspect.CO_VARKEYWORDS else None

    @property
    def names(self) -> list[str]:
        """All names, in the order in which their values are passed to the full check."""
        return [*self._positional, *self._keyword_only, *(name for name in (self._star, self._two_stars) if name)]

    def takes_self(self, annotations: Mapping[str, Any]) -> bool:
        """Return whether the first parameter seems to be the instance: it is named `self` or has no annotation."""
        return bool(self._positional) and (self._positional[0] == "self" or self._positional[0] not in annotations)

    def check(self, name: str, declared: Check | None) -> Check:
        """Return the check of a parameter's value, which is a tuple for `*args` and a dict for `**kwargs`."""
        if declared is None:
            return Anything()
        if name == self._star:
            return EachCheck(tuple, declared)
        return KeywordsCheck(declared) if name == self._two_stars else declared

    def declaration(self) -> str:
        """Return the source of the wrapper's parameters, without defaults, which are set on the function."""
        positional = self._positional.copy()
        if self._positional_only:
            positional.insert(self._positional_only, "/")
        star = [f"*{self._star}"] if self._star else ["*"] if self._keyword_only else []
        return ", ".join([*positional, *star, *self._keyword_only, *self._packed()])

    def passed_on(self) -> str:
        """Return the source of the arguments of the call."""
        star = [f"*{self._star}"] if self._star else []
        return ", ".join([*self._positional, *star, *(f"{x}={x}" for x in self._keyword_only), *self._packed()])

    def values(self) -> str:
        """Return the source of the values of all parameters, in the order of `names`."""
        return "".join(f"{name}, " for name in self.names)

    def _packed(self) -> list[str]:
        return [f"**{self._two_stars}"] if self._two_stars else []


def wrapper_source(parameters: Parameters, awaits: str, short: str) -> str:
    """Return the source of the wrapper: the short form if there is one, then the full check.

    Args:
        parameters: The parameters of the function.
        awaits: `await ` if the function is a coroutine.
        short: The result of `short_form`.
    """
    body = f"""\
{short}\
    __bound = __check_arguments(({parameters.values()}))
    return __check_result({awaits}__function({parameters.passed_on()}), __bound)
"""
    return f"""\
{awaits.replace("await", "async")}def guarded({parameters.declaration()}):
    try:
{indent(body, "    ")}\
    except __Exception as __error:
        __trim_traceback(__error)
        raise
"""


def short_form(parameters: Parameters, checks: dict[str, Check], result: Check, scope: Scope, awaits: str) -> str:
    """Return the source of the short form, which calls and returns if all checks pass; empty if there is none.

    Args:
        parameters: The parameters of the function.
        checks: The check of each parameter.
        result: The check of the result.
        scope: The scope to which constants are added.
        awaits: `await ` if the function is a coroutine.
    """
    try:
        fits = _all_of([*(check.short(name, scope) for name, check in checks.items()), *scope.finish()])
        scope.returning = True
        result_fits = _all_of([result.short("__result", scope), *scope.finish()])
    except NoShortFormError:
        return ""
    return f"""\
{_open_locals(parameters, scope)}\
    if {fits}:
        __result = {awaits}__function({parameters.passed_on()})
        if {result_fits}:
            return __result
        return __check_result(__result, __check_arguments(({parameters.values()})))
"""


def _open_locals(parameters: Parameters, scope: Scope) -> str:
    lines = []
    for name, local in scope.locals.items():
        if name in scope.class_names:
            lines.append(f"    {local} = __known.get({name.label.removeprefix('*')!r})\n")
        elif name in scope.open:
            lines.append(f"    {local} = None\n")
    knows = scope.locals.keys() & scope.class_names
    return "".join([f"    __known = __stored_sizes({parameters.names[0]})\n" if knows else "", *lines])


def _all_of(conditions: Iterable[str]) -> str:
    return " and ".join(one for one in conditions if one != "True") or "True"
