"""Imports: which modules a text may load."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Import(NamedTuple):
    """A module that is imported, or a name in it, which may be a module itself."""

    module: str
    name: str = ""

    @property
    def statement(self) -> str:
        """The statement that imports it."""
        return f"from {self.module} import {self.name}" if self.name else f"import {self.module}"

    @property
    def modules(self) -> set[str]:
        """The modules it may load: `m` and `m.f` in `from m import f`."""
        return {self.module, f"{self.module}.{self.name}"} if self.name else {self.module}


def imports_in(text: str, package: str = "") -> frozenset[Import]:
    """Return the imports of a text.

    Args:
        text: Of a module.
        package: In which the module is, for relative imports.

    Raises:
        SyntaxError: The text is no Python.
    """
    return frozenset(_imports(ast.walk(ast.parse(text)), package))


def _imports(nodes: Iterable[ast.AST], package: str) -> Iterable[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            if module:
                yield from (Import(module, alias.name.replace("*", "")) for alias in node.names)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """Return the module that names are imported from; empty if it is outside of all packages."""
    if not node.level:
        return node.module or ""
    outer = package.split(".")[: len(package.split(".")) - node.level + 1] if package else []
    return ".".join([*outer, *filter(None, [node.module])]) if outer else ""
