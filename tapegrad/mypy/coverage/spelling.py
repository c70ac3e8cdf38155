"""Expressions as the program spells them, and their places in characters."""

from __future__ import annotations

from typing import Any, Final

from mypy.nodes import CallExpr, Expression, FuncDef, IndexExpr, MemberExpr

from tapegrad.mypy.coverage.findings import Span
from tapegrad.mypy.mypy_api import character

_SHORT: Final = 40


class Spelling:
    """The text of one file."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines()

    def of(self, expression: Expression) -> str:
        """Return an expression on one line, without what is inside its parentheses if it is long."""
        span = self.span(expression)
        lines = self._lines[span.line - 1 : span.end_line]
        if not lines:
            return "the expression"
        lines[-1] = lines[-1][: span.end_column]
        lines[0] = lines[0][span.column :]
        if lines[-1].count(")") > lines[-1].count("(") and self.line(span.line)[: span.column].endswith("("):
            lines[0] = f"({lines[0]}"  # mypy leaves out a parenthesis at the start of an operation
        text = " ".join(" ".join(lines).split())
        if len(text) <= _SHORT:
            return text
        match expression:
            case CallExpr(callee=callee):
                return f"{self.of(callee)}(...)"
            case IndexExpr(base=base):
                return f"{self.of(base)}[...]"
            case MemberExpr(expr=owner, name=name):
                return f"{self.of(owner)}.{name}"
        return f"{text[: _SHORT - 3]}..."

    def span(self, node: Any) -> Span:
        """Return where an expression is; of a function, the line with its name."""
        line, column = node.line, max(node.column, 0)
        end_line, end_column = node.end_line or line, node.end_column or 0
        if isinstance(node, FuncDef):
            return Span(line, character(self.line(line), column), line, len(self.line(line)))
        return Span(line, character(self.line(line), column), end_line, character(self.line(end_line), end_column))

    def line(self, number: int) -> str:
        """Return a line; empty if there is none of this number."""
        return self._lines[number - 1] if number <= len(self._lines) else ""
