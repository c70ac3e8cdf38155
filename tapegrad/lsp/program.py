"""The text of an open file: its statements, and where in it something is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Range(NamedTuple):
    """A part of a text; lines and columns count from 0, in characters, the end is excluded."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def end(self) -> Range:
        """The place behind it."""
        return Range(self.end_line, self.end_column, self.end_line, self.end_column)

    def contains(self, line: int, column: int) -> bool:
        """Return whether the character at a place is in it."""
        return (self.line, self.column) <= (line, column) < (self.end_line, self.end_column)


class Program:
    """A text that parses.

    Raises:
        SyntaxError: The text is no Python.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.tree = ast.parse(text)

    def range_of(self, node: ast.expr | ast.stmt) -> Range:
        """Return where a node is."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Range(
            node.lineno - 1,
            self._character(node.lineno, node.col_offset),
            end_line - 1,
            self._character(end_line, end_column),
        )

    def _character(self, line: int, column: int) -> int:
        return len(self.lines[line - 1].encode()[:column].decode(errors="replace"))

    def around(self, line: int) -> list[ast.stmt]:
        """Return the statements that a line is in, the outermost one first."""
        found: list[ast.stmt] = []
        nodes: list[ast.AST] = [self.tree]
        while nodes:
            node = nodes.pop()
            for child in ast.iter_child_nodes(node):
                start, end = first_line(child), getattr(child, "end_lineno", None)
                if start is None or end is None:
                    nodes.append(child)  # a handler, a case or arguments without a place of their own
                elif start <= line + 1 <= end:
                    nodes.append(child)
                    if isinstance(child, ast.stmt):
                        found.append(child)
        return sorted(found, key=lambda one: (first_line(one) or 0, one.col_offset))

    def function_around(self, line: int) -> Function | None:
        """Return the innermost function that a line is in."""
        return next((one for one in reversed(self.around(line)) if isinstance(one, Function)), None)

    def line_above(self, line: int) -> tuple[int, str] | None:
        """Return where a statement can be inserted before the one that a line is in, and its indentation."""
        for statement in reversed(self.around(line)):
            first = (first_line(statement) or 1) - 1
            text = self.lines[first]
            indentation = text[: len(text) - len(text.lstrip())]
            is_first = self._character(statement.lineno, statement.col_offset) == len(indentation)
            if text.lstrip().startswith(("elif ", "elif(")) or not (is_first or has_decorators(statement)):
                continue
            return first, indentation
        return None

    def expressions_at(self, place: Range) -> Iterator[ast.expr]:
        """Yield the expressions that are exactly at a place."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr) and self.range_of(node) == place:
                yield node

    def bound_above(self, line: int) -> set[str]:
        """Return the names that have a value in the functions around a line, or else in the module, above that line."""
        names: set[str] = set()
        functions = [one for one in self.around(line) if isinstance(one, Function)]
        for function in functions:
            a = function.args
            every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]
            names |= {argument.arg for argument in every}
        scopes: list[ast.AST] = [*functions] or [self.tree]
        for scope in scopes:
            stored = (
                node for node in ast.walk(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )
            names |= {node.id for node in stored if node.lineno <= line}
        return names

    def alias(self, module: str) -> str | None:
        """Return the name under which the file imports a module; None if it does not."""
        for node in self.tree.body:
            for name in node.names if isinstance(node, ast.Import) else ():
                if name.name == module and (name.asname or "." not in module):
                    return name.asname or module
        return None

    def imported(self, module: str, name: str) -> str | None:
        """Return what the file calls a name that it imports from a module; None if it does not."""
        for node in self.tree.body:
            for one in node.names if isinstance(node, ast.ImportFrom) and node.module == module else ():
                if one.name == name:
                    return one.asname or name
        return None

    def line_of_imports(self) -> int:
        """Return the line of the first import below those from `__future__`, or below the docstring."""
        body = self.tree.body
        for node in body:
            if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
                return node.lineno - 1
        above = [one for one in body if isinstance(one, ast.ImportFrom)]
        if not above and body and ast.get_docstring(self.tree) is not None:
            return body[0].end_lineno or 0
        return (above[-1].end_lineno or 0) if above else 0


def first_line(node: ast.AST) -> int | None:
    """Return the first line of a node, that of its first decorator included."""
    lines = [one.lineno for one in getattr(node, "decorator_list", ())]
    return min([*lines, getattr(node, "lineno", None) or 0]) or None if hasattr(node, "lineno") else None


def has_decorators(node: ast.AST) -> bool:
    """Return whether a function or a class has decorators."""
    return bool(getattr(node, "decorator_list", ()))
