"""Name bindings: which names statements bind, and how to rename a name in its scope."""

from __future__ import annotations

import ast
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterable

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Comprehension: TypeAlias = "ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp"


class Binding(IntEnum):
    """How a name is bound. mypy lets a loose name be bound again with another type, but not a firm one."""

    LOOSE = 0  # x = 1, for x in …
    FIRM = 1  # def x, class x, import x, x: int = 1


def bindings(statements: Iterable[ast.stmt]) -> dict[str, Binding]:
    """Return the names that statements bind in their scope, each as firm as its firmest binding."""
    found = _Bindings()
    for statement in statements:
        found.visit(statement)
    return {name: how for name, how in found.names.items() if name not in found.outer}


def renamed(statement: ast.stmt, old: str, new: str) -> ast.stmt:
    """Return a copy of a statement of a module in which a global is renamed."""
    copy = ast.parse(ast.unparse(statement))
    _Renamed(old, new).visit(copy)
    return copy.body[0]


class _Bindings(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: dict[str, Binding] = {}
        self.outer: set[str] = set()  # declared global or nonlocal

    def bind(self, name: str, how: Binding) -> None:
        self.names[name] = max(how, self.names.get(name, how))

    @override
    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bind(node.id, Binding.LOOSE)

    @override
    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.bind(node.target.id, Binding.FIRM)
        if node.value is not None:
            self.visit(node.value)

    def _define(self, node: Function | ast.ClassDef) -> None:
        self.bind(node.name, Binding.FIRM)
        for decorator in node.decorator_list:
            self.visit(decorator)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _define

    @override
    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0], Binding.FIRM)

    @override
    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.bind(alias.asname or alias.name, Binding.FIRM)

    @override
    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bind(node.name, Binding.LOOSE)
        self.generic_visit(node)

    def _capture(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name, Binding.LOOSE)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = _capture

    @override
    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest, Binding.LOOSE)
        self.generic_visit(node)

    @override
    def visit_Global(self, node: ast.Global) -> None:
        self.outer.update(node.names)

    @override
    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.outer.update(node.names)

    @override
    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Bind nothing in the enclosing scope."""

    def _comprehend(self, node: Comprehension) -> None:
        walrus = (one.target for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
        for target in walrus:  # the only names that a comprehension binds in the enclosing scope
            self.bind(target.id, Binding.LOOSE)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehend


class _Renamed(ast.NodeTransformer):
    """Renames a global; locals of the same name, the scopes in which they hide it, and attributes are unchanged."""

    def __init__(self, old: str, new: str) -> None:
        self.old = old
        self.new = new

    def renamed(self, name: str) -> str:
        return self.new if name == self.old else name

    @override
    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.renamed(node.id)
        return node

    def _define(self, node: Function) -> ast.AST:
        node.name = self.renamed(node.name)
        return self._in_scope(node, _parameters(node.args) | bindings(node.body).keys())

    visit_FunctionDef = visit_AsyncFunctionDef = _define

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.renamed(node.name)
        own = bindings(node.body)
        if self.old not in own:
            return self.generic_visit(node)
        for statement in node.body:  # a method does not see the names of its class
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                name, statement.name = statement.name, ""
                self.visit(statement)
                statement.name = name
        return self._outside(node)

    @override
    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._in_scope(node, _parameters(node.args))

    def _comprehend(self, node: Comprehension) -> ast.AST:
        targets = bindings(ast.Expr(generator.target) for generator in node.generators)
        if self.old not in targets:
            return self.generic_visit(node)
        node.generators[0].iter = self.visit(node.generators[0].iter)  # the first is evaluated in the enclosing scope
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehend

    def _in_scope(self, node: Function | ast.Lambda, own: Iterable[str]) -> ast.AST:
        return self._outside(node) if self.old in own else self.generic_visit(node)

    def _outside(self, node: Function | ast.Lambda | ast.ClassDef) -> ast.AST:
        """Visit what is evaluated in the enclosing scope of a function or class: all of it but the body."""
        body, node.body = node.body, ast.Pass() if isinstance(node, ast.Lambda) else []  # type: ignore[assignment]  # temporarily
        self.generic_visit(node)
        node.body = body
        return node

    @override
    def visit_alias(self, node: ast.alias) -> ast.alias:
        if (node.asname or node.name) == self.old:  # `import a.b` keeps its name, because it may bind other modules too
            node.asname = self.new
        return node

    @override
    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.name:
            node.name = self.renamed(node.name)
        return self.generic_visit(node)

    @override
    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self.renamed(name) for name in node.names]
        return node

    def _capture(self, node: ast.MatchAs | ast.MatchStar) -> ast.AST:
        if node.name:
            node.name = self.renamed(node.name)
        return self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = _capture


def _parameters(arguments: ast.arguments) -> set[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {parameter.arg for parameter in every if parameter is not None}
