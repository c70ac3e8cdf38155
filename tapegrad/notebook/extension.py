"""The extension: checks a cell before it runs, rejects it if mypy reports an error, and records what has run."""

from __future__ import annotations

import ast
import keyword
import sys
from enum import Enum
from pathlib import Path
from threading import Thread
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from IPython.core.error import InputRejected, UsageError
from typing_extensions import override

from tapegrad.checker.process import CheckerError
from tapegrad.notebook import display
from tapegrad.notebook.checker import Checker
from tapegrad.notebook.program import Program
from tapegrad.notebook.waiting import shown_while_slow
from tapegrad.project.reports import MypyError, UnreadableOutputError, is_about_tensors

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

    from tapegrad.project.reports import Report


class Mode(Enum):
    """What happens if mypy rejects a cell."""

    OFF = "off"  # cells are not checked
    WARN = "warn"  # the errors are shown, and the cell runs
    STRICT = "strict"  # a cell with an error about tensors does not run; other errors are shown
    ALL = "all"  # a cell with any error does not run


class Rejected(InputRejected):
    """The cell does not run; the notebook shows mypy's reports instead of a traceback."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines

    def _render_traceback_(self) -> list[str]:
        return self.lines


class Extension(ast.NodeTransformer):
    """The hooks that `%load_ext` adds to a shell, and `%unload_ext` removes."""

    loaded: ClassVar[dict[InteractiveShell, Extension]] = {}

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.mode = Mode.STRICT
        self.program = Program()
        self.checker = Checker(Path.cwd())
        self._cell: str | None = None  # about to run and not yet checked
        self._above = 0  # its leading lines that are not Python: `%%time`
        self._number = 0
        self._tree: ast.Module | None = None  # checked and running

    @classmethod
    def load(cls, shell: InteractiveShell) -> None:
        """Add the extension to a shell that does not have it."""
        if shell in cls.loaded:
            return
        extension = cls.loaded[shell] = cls(shell)
        shell.ast_transformers.append(extension)
        shell.events.register("pre_run_cell", extension.before_cell)
        shell.events.register("post_run_cell", extension.after_cell)
        magics: Any = shell  # its annotations count `self` among the arguments
        magics.register_magic_function(extension.typecheck, "line", "typecheck")
        magics.register_magic_function(extension.shapes, "line", "shapes")
        display.register(shell)
        running = str(shell.user_ns.get("In", [""])[-1]).strip()
        if "load_ext" in running and "\n" in running:
            print("tapegrad: cells are checked from the next one on")
        Thread(target=extension.warm_up, daemon=True).start()

    @classmethod
    def unload(cls, shell: InteractiveShell) -> None:
        """Remove the extension from a shell."""
        extension = cls.loaded.pop(shell, None)
        if extension is None:
            return
        shell.ast_transformers.remove(extension)
        shell.events.unregister("pre_run_cell", extension.before_cell)
        shell.events.unregister("post_run_cell", extension.after_cell)
        display.unregister(shell)
        extension.checker.close()

    def warm_up(self) -> None:
        """Run mypy on the imports of every notebook, while the user writes the first cell."""
        text = "import numpy\nimport tapegrad\n"
        try:
            self.checker.check(self.program.with_cell(text, ast.parse(text)))
        except (CheckerError, MypyError):  # the first cell raises the same error and reports it
            return

    def before_cell(self, info: ExecutionInfo) -> None:
        """Store the text of the cell that is about to run, because the syntax tree comes without it."""
        self._cell = None if info.silent else info.transformed_cell
        self._above = 0
        self._number = self.shell.execution_count - int(info.store_history)  # the shell counts a cell before it runs
        self._tree = None

    @override
    def visit(self, node: ast.AST) -> ast.AST:
        """Check a cell. For any error except a rejection IPython would remove this transformer."""
        try:
            self._visit(node)
        except InputRejected:
            raise
        except CheckerError as error:
            print(f"tapegrad: this cell runs unchecked: {error}", file=sys.stderr)
        except Exception as error:  # noqa: BLE001  # the user's cell runs even if the checker fails
            print(f"tapegrad: this cell runs unchecked: {type(error).__name__}: {error}", file=sys.stderr)
        return node

    def _visit(self, node: ast.AST) -> None:
        if self._cell is None or not isinstance(node, ast.Module):
            return
        magic = _cell_magic(node)
        if magic is not None and magic[0] == "time":  # the timed cell comes next, separately
            self._cell, self._above = magic[1], 1
            return
        cell, self._cell, self._tree = self._cell, None, node
        if self.mode is Mode.OFF or magic is not None or all(map(_is_line_magic, node.body)):
            return

        draft = self.program.with_cell(cell, node, self._known(node))
        try:
            with shown_while_slow(self.shell):
                reports = self.checker.check(draft)
            lines = self._shown(reports, cell.splitlines())
            is_rejected = self._is_rejected(reports)
        except UnreadableOutputError as error:  # output that cannot be read is most likely an error
            lines = [str(error)]
            is_rejected = self.mode is not Mode.WARN
        if not lines:
            return
        if is_rejected:
            self._tree = None
            raise Rejected(lines)
        print("\n".join(lines), file=sys.stderr)

    def _is_rejected(self, reports: list[Report]) -> bool:
        """Return whether a cell does not run, because of one of its errors."""
        errors = [report for report in reports if report.kind == "error"]
        if self.mode is Mode.STRICT:
            return any(map(is_about_tensors, errors))
        return self.mode is Mode.ALL and bool(errors)

    def _shown(self, reports: list[Report], lines: list[str]) -> list[str]:
        """Format mypy's reports on a cell if one is an error, and print them otherwise."""
        if any(report.kind == "error" for report in reports):
            return [text for report in reports for text in self._quoted(report, lines)]
        for report in reports:
            print(f"line {report.line + self._above}: {report.text}", file=sys.stderr)
        return []

    def _quoted(self, report: Report, lines: list[str]) -> list[str]:
        """Return a report below the line that it is about, at its column."""
        if report.kind == "note":
            return [f"note: {report.text}"]
        line = lines[report.line - 1]
        end = report.end_column if report.end_line == report.line else len(line)
        carets = "^" * max(end - report.column + 1, 1)
        code = f"  [{report.code}]" if report.code else ""
        return [
            f"In [{self._number}], line {report.line + self._above}",
            f"    {line}",
            f"    {' ' * (report.column - 1)}{carets}",
            f"{report.text}{code}",
        ]

    def _known(self, cell: ast.Module) -> dict[str, str]:
        """Declare the names that no checked cell has bound: a magic may have done so, or a cell before `%load_ext`.

        Of the names that IPython itself binds, such as `_` and `Out`, only those that the cell uses are declared.
        """
        used = {node.id for node in ast.walk(cell) if isinstance(node, ast.Name)}
        return {
            name: _declaration(name, value)
            for name, value in self.shell.user_ns.items()
            if (name in used or not (name.startswith("_") or name in self.shell.user_ns_hidden))
            and name not in self.program.bound
            and name.isidentifier()
            and not keyword.iskeyword(name)
        }

    def after_cell(self, result: ExecutionResult) -> None:
        """Add the statements that ran to the program: the whole cell, or those before the statement that failed."""
        tree, self._tree = self._tree, None
        if tree is None or result.error_before_exec is not None:
            return
        failed = _failed_line(result.error_in_exec) if result.error_in_exec is not None else sys.maxsize
        self.program.add(one for one in tree.body if (one.end_lineno or 0) < failed)

    def typecheck(self, line: str) -> None:
        """Show or set what happens if mypy rejects a cell: `%typecheck off|warn|strict|all`."""
        modes = {mode.value: mode for mode in Mode}
        if not (word := line.strip()):
            print(self.mode.value)
            return
        if word not in modes:
            raise UsageError(f"%typecheck: off, warn, strict or all is expected, not {word}")
        self.mode = modes[word]

    def shapes(self, line: str) -> display.Table:
        """List the tensors among the variables, with mypy's and the actual shapes: `%shapes [NAME …]`."""
        from tapegrad.tensors import Tensor

        held: dict[str, Any] = {
            name: value
            for name in line.split() or self.program.names
            if isinstance(value := self.shell.user_ns.get(name), Tensor)
        }
        known = self._revealed(list(held))
        rows = [(name, known.get(name, "unknown"), display.summary_of(value)) for name, value in held.items()]
        return display.Table(("name", "mypy", "Python"), rows)

    def _revealed(self, names: list[str]) -> dict[str, str]:
        checked_names = [name for name in names if name in self.program.names]
        draft = self.program.with_lines(
            ["from tapegrad import reveal_shape as _reveal", *(f"_reveal({name})" for name in checked_names)]
        )
        notes = {
            report.line - 2: report.text.removeprefix("Revealed shape is ")
            for report in self.checker.check(draft)
            if report.kind == "note"
        }
        return {name: notes[place] for place, name in enumerate(checked_names) if place in notes}


def _cell_magic(tree: ast.Module) -> tuple[str, str] | None:
    """Return the name and the body of a cell magic, or None if the cell is none."""
    match tree.body:
        case [
            ast.Expr(
                ast.Call(
                    func=ast.Attribute(attr="run_cell_magic"),
                    args=[ast.Constant(str(name)), _, ast.Constant(str(body))],
                )
            )
        ]:
            return name, body
    return None


def _declaration(name: str, value: object) -> str:
    """Return a declaration of a name: an import if its value can be imported, else with type `Any`."""
    if isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value:
        return f"import {value.__name__} as {name}"
    if isinstance(value, type | FunctionType) and value.__module__ != "__main__":
        module, inner = value.__module__, value.__qualname__
        if getattr(sys.modules.get(module), inner, None) is value:
            return f"from {module} import {inner} as {name}"
    return f"{name}: _Any"


def _is_line_magic(statement: ast.stmt) -> bool:
    """Return whether a statement is a line magic such as `%typecheck off`, which mypy cannot check."""
    match statement:
        case ast.Expr(ast.Call(func=ast.Attribute(attr="run_line_magic"), args=[ast.Constant(), ast.Constant()])):
            return True
    return False


def _failed_line(error: BaseException) -> int:
    """Return the line of the cell that raised the error."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name in ("<module>", "async-def-wrapper") and _is_cell(
            trace.tb_frame.f_code.co_filename
        ):
            return trace.tb_lineno
        trace = trace.tb_next
    return 0


def _is_cell(filename: str) -> bool:
    return "ipykernel_" in filename or filename.startswith("<ipython-input-")
