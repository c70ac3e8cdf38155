"""A search for tensors and type variables in annotations, including those that cannot be resolved yet."""

from __future__ import annotations

import ast
import builtins
import linecache
import re
from contextlib import suppress
from dataclasses import InitVar, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ForwardRef, Literal, TypeVar, TypeVarTuple, get_args, get_origin

from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Used for each annotation of a package; a union written in place is slower (benchmarks/devices.py, "a tuple of types").
_TEXTS = (str, ForwardRef)
_VARIABLES = (TypeVar, TypeVarTuple)
_LISTS = (list, tuple)
_DOTTED_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(slots=True)
class Mentions:
    """What an annotation names; the search stops at the first tensor."""

    tensor: bool = False
    variable: bool = False
    unknown: bool = False  # a name that is not defined yet


def mentions(annotation: Any, *names: Mapping[str, Any]) -> Mentions:
    """Search an annotation for tensors and type variables, including aliases, bounds and the names in strings.

    Args:
        annotation: The annotation, as written or resolved.
        names: The namespaces in which to look up names before builtins, innermost first.
    """
    found = Mentions()
    seen: list[Any] = []
    waiting = [annotation]
    while waiting and not found.tensor:
        one = waiting.pop()
        if isinstance(one, type):
            found.tensor |= issubclass(one, Tensor)
            continue
        if any(one is other for other in seen):  # an alias may mention itself
            continue
        seen.append(one)
        if isinstance(one, _TEXTS):
            text = one if isinstance(one, str) else one.__forward_arg__
            values = [_value_of(word, *names, vars(builtins)) for word in _DOTTED_NAME.findall(text)]
            found.unknown |= any(value is _UNKNOWN for value in values)
            waiting += [value for value in values if not isinstance(value, _LISTS)]  # quoted in a Literal
        else:
            origin = get_origin(one) or one
            found.variable |= isinstance(one, _VARIABLES)
            waiting += _parts(one, origin)
    return found


def _parts(annotation: Any, origin: Any) -> Iterable[Any]:
    if isinstance(annotation, _LISTS):  # the parameters of a Callable
        return annotation
    if isinstance(annotation, InitVar):
        return [annotation.type]
    if isinstance(annotation, TypeVar):
        return [annotation.__bound__, *annotation.__constraints__]
    if origin is Literal:
        return []
    origins = [origin] if isinstance(origin, type) else [origin.__value__] if hasattr(origin, "__value__") else []
    return [*origins, *get_args(annotation)]


_UNKNOWN = object()


def _value_of(name: str, *names: Mapping[str, Any]) -> Any:
    first, *attributes = name.split(".")
    value = next((known[first] for known in names if first in known), _UNKNOWN)
    for attribute in attributes:
        value = getattr(value, attribute, _UNKNOWN)
    return value


def names_for_checkers(module: dict[str, Any]) -> dict[str, Any]:
    """Return the names that a module defines under `if TYPE_CHECKING:`, as far as they can be executed.

    Args:
        module: The globals of the module.
    """
    names = module.copy()
    for statement in _statements_for_checkers(module.get("__file__", ""), module.get("__name__", "")):
        with suppress(Exception):  # some imports exist only for type checkers
            exec(compile(ast.Module([statement], []), "<if TYPE_CHECKING>", "exec"), names)  # noqa: S102  # the user's own code
    return {name: value for name, value in names.items() if name not in module}


@lru_cache
def _statements_for_checkers(file: str, _module: str) -> list[ast.stmt]:
    blocks = ast.parse("".join(linecache.getlines(file))).body
    return [
        statement
        for block in blocks
        if isinstance(block, ast.If) and ast.unparse(block.test).rpartition(".")[2] == "TYPE_CHECKING"
        for statement in block.body
    ]
