"""The place of an error in the source: the function around it, and the target of an assignment."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Place(NamedTuple):
    """Where an error is: its file, as a syntax tree (None if it is not known), and the line."""

    tree: ast.Module | None
    line: int
    function: str  # the qualified name of the function around it; empty at module level

    @property
    def target(self) -> str:
        """The target of the assignment on this line, as written; empty if there is none, or several."""
        for node in self._assignments():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name | ast.Attribute):
                return ast.unparse(targets[0])
        return ""

    @property
    def is_plain_name(self) -> bool:
        """Whether the target is a name that no annotation in the file is for."""
        target = self.target
        if not target.isidentifier() or self.tree is None:
            return False
        annotated = (node.target for node in ast.walk(self.tree) if isinstance(node, ast.AnnAssign))
        return all(not isinstance(one, ast.Name) or one.id != target for one in annotated)

    def parameters(self, owner: str | None, function: str) -> list[str]:
        """Return the parameters of a function, or of a method without `self`, of this file; empty if it has none."""
        scopes: list[ast.AST] = [self.tree] if self.tree is not None else []
        if owner is not None:
            scopes = [one for scope in scopes for one in ast.walk(scope) if isinstance(one, ast.ClassDef)]
            scopes = [one for one in scopes if isinstance(one, ast.ClassDef) and one.name == owner]
        found = [one for scope in scopes for one in ast.iter_child_nodes(scope) if isinstance(one, _Function)]
        found = [one for one in found if one.name == function]
        if len(found) != 1:
            return []
        names = [one.arg for one in [*found[0].args.posonlyargs, *found[0].args.args]]
        return names[1:] if owner is not None else names

    def arguments(self, function: str, argument: str, *, is_method: bool) -> list[ast.expr]:
        """Return an argument, by its number or quoted name, of each call of a function of tapegrad on the line."""
        calls = [
            node
            for node in (ast.walk(self.tree) if self.tree is not None else ())
            if isinstance(node, ast.Call)
            and node.lineno <= self.line <= (node.end_lineno or node.lineno)
            and self._is_of_tapegrad(node.func, function, is_method=is_method)
        ]
        if argument.isdigit():
            index = int(argument) - 1
            return [call.args[index] for call in calls if index < len(call.args)]
        return [one.value for call in calls for one in call.keywords if one.arg == argument.strip('"')]

    def _is_of_tapegrad(self, callee: ast.expr, function: str, *, is_method: bool) -> bool:
        if isinstance(callee, ast.Attribute) and callee.attr == function:
            return is_method or (isinstance(callee.value, ast.Name) and callee.value.id in self._imported("tapegrad"))
        return isinstance(callee, ast.Name) and callee.id == function and function in self._imported("tapegrad.")

    def _imported(self, package: str) -> set[str]:
        """Return the names of modules of tapegrad in this file; for `tapegrad.`, of what is imported from them."""
        found: set[str] = set()
        for node in ast.walk(self.tree) if self.tree is not None else ():
            if isinstance(node, ast.Import) and package == "tapegrad":
                found.update(one.asname or one.name for one in node.names if f"{one.name}.".startswith("tapegrad."))
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("tapegrad."):
                found.update(one.asname or one.name for one in node.names)
        return found

    def _assignments(self) -> Iterator[ast.Assign | ast.AnnAssign | ast.AugAssign]:
        for node in ast.walk(self.tree) if self.tree is not None else ():
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and (
                node.lineno <= self.line <= (node.end_lineno or node.lineno)
            ):
                yield node


def place_of(source: str | None, line: int, owner: str | None, function: str | None) -> Place:
    """Return the place of an error, with the function that mypy names where the source cannot be read."""
    tree = _parsed(source) if source is not None else None
    if tree is None:
        return Place(None, line, ".".join(filter(None, [owner, function])))
    return Place(tree, line, ".".join(_around(tree, line)))


@lru_cache(maxsize=4)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # mypy may read a newer Python than it runs on
        return None


def _around(tree: ast.Module, line: int) -> list[str]:
    """Return the name of the function around a line, behind those of the classes around that."""
    function: list[str] = []
    classes: list[str] = []
    nodes: list[ast.AST] = [tree]
    while nodes:
        for child in ast.iter_child_nodes(nodes.pop()):
            start, end = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
            if start is not None and end is not None and not start <= line <= end:
                continue
            nodes.append(child)
            if isinstance(child, _Function):
                function, classes = [*classes, child.name], []
            elif isinstance(child, ast.ClassDef):
                function, classes = [], [*classes, child.name]
    return function or classes
