"""The names of a file whose calls may consume a tape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import AssignmentStmt, Decorator, FuncItem, MypyFile, NameExpr, SuperExpr

from tapegrad.mypy.mypy_api import names_used
from tapegrad.mypy.ownership.decorators import decorator_names
from tapegrad.mypy.scopes.names import ScopeCache, inside

if TYPE_CHECKING:
    from mypy.nodes import Node

CONSUMERS = frozenset({"backward", "execute", "traced"})
ANY = "(any)"  # a method consumes a tape that no name calls, such as `__exit__`
_CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})


def _consuming_names(file: Node | None) -> frozenset[str]:
    """Return the methods that consume a tape and are called in a file, and its functions that may call them."""
    if not isinstance(file, MypyFile):
        return frozenset()
    found = {*CONSUMERS & _names_in(file)}
    if not found:
        return frozenset()
    used: dict[str, set[str]] = {}
    in_tables: dict[str, set[str]] = {}
    for function in inside(file):
        if isinstance(function, FuncItem):
            used.setdefault(_called_as(function), set()).update(_names_in(function))
        elif isinstance(function, AssignmentStmt):  # such as `run = partial(step, scale=2.0)`
            for target in function.lvalues:
                if isinstance(target, NameExpr):
                    used.setdefault(target.name, set()).update(_names_in(function.rvalue))
        elif isinstance(function, Decorator):  # which may add it to a table
            for name in decorator_names.of(function):
                in_tables.setdefault(name, set()).add(function.name)
    for name in in_tables.keys() & used.keys():
        used[name] |= in_tables[name]
    while True:
        more = {name for name, names in used.items() if name not in found and not found.isdisjoint(names)}
        if not more:
            return frozenset(found)
        found |= more


def _called_as(function: FuncItem) -> str:
    """Return the name by which a function is called; a constructor is called by the name of its class."""
    if function.name in _CONSTRUCTORS:
        return function.info.name if function.info else ANY
    is_called_unnamed = function.name == "forward" or function.name[:2] == function.name[-2:] == "__"
    return ANY if is_called_unnamed else function.name


consuming_names = ScopeCache(_consuming_names)


def _names_in(scope: Node | None) -> set[str]:
    if scope is None:
        return set()
    found = names_used(scope)
    if "super" in found:
        found.update(one.name for one in inside(scope) if isinstance(one, SuperExpr))
    return found


uses = ScopeCache(_names_in)
