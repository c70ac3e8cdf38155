"""The program of a notebook: the statements that have run, followed by the cell to check."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from tapegrad.notebook.bindings import Binding, bindings, renamed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PRELUDE: Final = "from typing import Any as _Any\n"
GIVEN: Final = {  # names that IPython adds to every cell
    "display": "def display(*objects: _Any, **options: _Any) -> _Any: ...",
    "get_ipython": "def get_ipython() -> _Any: ...",
}


class Draft(NamedTuple):
    """A program as text.

    Attributes:
        above: All statements that have run.
        cell: The cell as it was typed.
    """

    above: str
    cell: str


@dataclass
class Program:
    """The statements that have run, extended by each cell.

    Attributes:
        statements: Statements that have run. A name bound by `def`, `class`, `import` or an annotation is renamed when
            it is bound again, because mypy allows one definition of such a name.
    """

    statements: list[ast.stmt] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _bound: dict[str, Binding] = field(default_factory=dict)
    _renamings: int = 0

    @property
    def bound(self) -> frozenset[str]:
        """All names that the program has bound."""
        return frozenset(self._bound)

    @property
    def names(self) -> list[str]:
        """The names that the program has bound, under their current names, in order."""
        return [name for name in self._bound if not name.startswith("_")]

    def with_cell(self, cell: str, tree: ast.Module, known: Mapping[str, str] | None = None) -> Draft:
        """Return the program with a cell at its end.

        Args:
            cell: As typed.
            tree: The same, parsed.
            known: Names that are defined although no cell bound them, each with a statement that declares it.
        """
        earlier = self._earlier(tree)
        bound = self._bound.keys() | bindings(tree.body).keys()
        names = sorted({**(known or {}), **GIVEN}.items())
        declared = "".join(f"{statement}\n" for name, statement in names if name not in bound)
        return Draft(PRELUDE + declared + earlier, cell)

    def with_lines(self, lines: Iterable[str]) -> Draft:
        """Return the program with a few more lines to check."""
        text = "".join(f"{line}\n" for line in lines)
        return self.with_cell(text, ast.parse(text))

    def add(self, statements: Iterable[ast.stmt]) -> None:
        """Add statements that have run."""
        statements = list(statements)
        for name in self._rebound(statements):
            self._rename(name)
        self.statements += statements
        self._texts += [ast.unparse(statement) for statement in statements]
        for name, how in bindings(statements).items():
            self._bound[name] = max(how, self._bound.get(name, how))

    def _rebound(self, statements: list[ast.stmt]) -> list[str]:
        imported = {ast.unparse(one) for one in self.statements if isinstance(one, ast.Import | ast.ImportFrom)}
        fresh = [one for one in statements if ast.unparse(one) not in imported]  # a repeated import redefines nothing
        return [
            name
            for name, how in bindings(fresh).items()
            if name in self._bound and max(how, self._bound[name]) is Binding.FIRM
        ]

    def _earlier(self, tree: ast.Module) -> str:
        statements, names = self.statements, self._rebound(tree.body)
        for number, name in enumerate(names, self._renamings):  # as `add` does, so that the text stays the same
            statements = self._renamed(statements, name, number)
        texts = map(ast.unparse, statements) if names else self._texts
        return "".join(f"{text}\n" for text in texts)

    def _rename(self, name: str) -> None:
        self.statements = self._renamed(self.statements, name, self._renamings)
        self._texts = [ast.unparse(statement) for statement in self.statements]
        self._bound[_other(name, self._renamings)] = self._bound.pop(name)
        self._renamings += 1

    @staticmethod
    def _renamed(statements: list[ast.stmt], name: str, number: int) -> list[ast.stmt]:
        return [renamed(statement, name, _other(name, number)) for statement in statements]


def _other(name: str, number: int) -> str:
    return f"_{name}_{number}"
