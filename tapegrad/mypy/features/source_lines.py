"""The place of an error in the source: the function around it, and the target of an assignment."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)


class Source:
    """The nodes of a file by kind and by line, because each error in a file asks for some of them."""

    def __init__(self, tree: ast.Module) -> None:
        """Sort the nodes of a syntax tree: what contains others comes before them."""
        self._by_kind: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self._by_line: defaultdict[int, list[ast.AST]] = defaultdict(list)
        for node in ast.walk(tree):
            self._by_kind[type(node)].append(node)
            if isinstance(node, ast.stmt | ast.expr):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self._by_line[line].append(node)

    def of_kind(self, kind: type[_Node]) -> list[_Node]:
        """Return all nodes of a kind."""
        return [node for node in self._by_kind.get(kind, ()) if isinstance(node, kind)]

    @cached_property
    def functions(self) -> dict[tuple[str | None, str], list[_Function]]:
        """The functions of the module and the methods of classes, by the names of both; None for the module."""
        found: defaultdict[tuple[str | None, str], list[_Function]] = defaultdict(list)
        scopes: list[ast.Module | ast.ClassDef] = [*self.of_kind(ast.Module), *self.of_kind(ast.ClassDef)]
        for scope in scopes:
            owner = scope.name if isinstance(scope, ast.ClassDef) else None
            for one in scope.body:
                if isinstance(one, _Function):
                    found[owner, one.name].append(one)
        return found

    def on_line(self, line: int) -> list[ast.AST]:
        """Return the statements and expressions that a line is a part of."""
        return self._by_line.get(line, [])


class Place(NamedTuple):
    """Where an error is: its file (None if it is not known), and the line."""

    source: Source | None
    line: int
    function: str  # the qualified name of the function around it; empty at module level

    @property
    def target(self) -> str:
        """The target of the assignment on this line, as written; empty if there is none, or several."""
        for node in self._on_line():
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name | ast.Attribute):
                return ast.unparse(targets[0])
        return ""

    @property
    def is_plain_name(self) -> bool:
        """Whether the target is a name that no annotation in the file is for."""
        target = self.target
        if not target.isidentifier() or self.source is None:
            return False
        annotated = (node.target for node in self.source.of_kind(ast.AnnAssign))
        return all(not isinstance(one, ast.Name) or one.id != target for one in annotated)

    def parameters(self, owner: str | None, function: str) -> list[str]:
        """Return the parameters of a function, or of a method without `self`, of this file; empty if it has none."""
        found = self.source.functions.get((owner, function), []) if self.source is not None else []
        if len(found) != 1:
            return []
        names = [one.arg for one in [*found[0].args.posonlyargs, *found[0].args.args]]
        return names[1:] if owner is not None else names

    def arguments(self, function: str, argument: str, *, is_method: bool) -> list[ast.expr]:
        """Return an argument, by its number or quoted name, of each call of a function of tapegrad on the line."""
        calls = [
            node
            for node in self._on_line()
            if isinstance(node, ast.Call) and self._is_of_tapegrad(node.func, function, is_method=is_method)
        ]
        if argument.isdigit():
            index = int(argument) - 1
            return [call.args[index] for call in calls if index < len(call.args)]
        return [one.value for call in calls for one in call.keywords if one.arg == argument.strip('"')]

    def _on_line(self) -> list[ast.AST]:
        return self.source.on_line(self.line) if self.source is not None else []

    def _is_of_tapegrad(self, callee: ast.expr, function: str, *, is_method: bool) -> bool:
        if isinstance(callee, ast.Attribute) and callee.attr == function:
            return is_method or (isinstance(callee.value, ast.Name) and callee.value.id in self._imported("tapegrad"))
        return isinstance(callee, ast.Name) and callee.id == function and function in self._imported("tapegrad.")

    def _imported(self, package: str) -> set[str]:
        """Return the names of modules of tapegrad in this file; for `tapegrad.`, of what is imported from them."""
        if self.source is None:
            return set()
        names = [
            one
            for node in self.source.of_kind(ast.ImportFrom)
            if f"{node.module}.".startswith("tapegrad.")
            for one in node.names
        ]
        if package == "tapegrad":
            modules = [one for node in self.source.of_kind(ast.Import) for one in node.names]
            names += [one for one in modules if f"{one.name}.".startswith("tapegrad.")]
        return {one.asname or one.name for one in names}


def place_of(source: str | None, line: int, owner: str | None, function: str | None) -> Place:
    """Return the place of an error, with the function that mypy names where the source cannot be read."""
    read = _read(source) if source is not None else None
    if read is None:
        return Place(None, line, ".".join(filter(None, [owner, function])))
    return Place(read, line, ".".join(_around(read, line)))


@lru_cache(maxsize=4)
def _read(source: str) -> Source | None:
    try:
        return Source(ast.parse(source))
    except (SyntaxError, ValueError):  # mypy may read a newer Python than it runs on
        return None


def _around(source: Source, line: int) -> list[str]:
    """Return the name of the function around a line, behind those of the classes around that."""
    function: list[str] = []
    classes: list[str] = []
    for node in source.on_line(line):
        if isinstance(node, ast.ClassDef):
            function, classes = [], [*classes, node.name]
        elif isinstance(node, _Function):
            function, classes = [*classes, node.name], []
    return function or classes
