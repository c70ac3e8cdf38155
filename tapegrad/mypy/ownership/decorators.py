"""The names that the decorators of a function use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Decorator, FuncDef

from tapegrad.mypy.mypy_api import names_used
from tapegrad.mypy.scopes.names import ScopeCache

if TYPE_CHECKING:
    from mypy.nodes import Node


def _names_of(decorated: Node | None) -> set[str]:
    if not isinstance(decorated, Decorator):
        return set()
    module = decorated.func.fullname.rpartition(".")[0]
    found: set[str] = set()
    for one in decorated.original_decorators:
        found |= names_used(one)
        made = getattr(getattr(one, "callee", one), "node", None)
        if isinstance(made, FuncDef) and made.fullname.rpartition(".")[0] == module:
            found |= names_used(made)
    return found


# The names that the decorators of a function use, also inside those that are functions of its file.
decorator_names = ScopeCache(_names_of)
