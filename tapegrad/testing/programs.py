"""Programs that mypy and Python must accept or reject alike: the tests of code whose types have sizes."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_MARK: Final = re.compile(r"#\s*E(?:\((mypy|Python)\))?: (.*?)(?:\s+\[([a-z-]+)\])?$")
_REPORT: Final = re.compile(r"^(.*?):(\d+)(?::\d+)*: error: (.*?)(?:\s+\[([a-z-]+)\])?$")
_FLAGS: Final = ("--no-error-summary", "--no-pretty", "--no-color-output", "--show-error-codes")


class _Mark(NamedTuple):
    """What a comment expects on its line."""

    text: str
    code: str | None  # None accepts any
    alone: str | None  # the one that reports it, mypy or Python, if not both do


@public_api
def check_programs(folder: str | Path, *, config: str | Path | None = None) -> int:
    r'''Check that mypy and Python report the errors that the programs in a folder expect, and no others.

    A program is a Python file, in the folder or below. A comment says which error is expected on its line:
    `# E: message [code]` is reported by mypy and raised by Python with the same message, `# E(mypy): message` is only
    reported by mypy, and `# E(Python): message` is only raised by Python. The code may be left out.

    A function of a program that has no parameters is run if its name begins with `accept_`, and must not raise; and if
    it begins with `reject_`, and must raise the error of its line, unless that is only mypy's. mypy may report an error
    only where a comment expects one. The programs run in this process, so they should change nothing outside.

    Args:
        folder: The folder of the programs.
        config: The file with the settings of mypy, "" for none; by default mypy looks for one from the current folder.

    Returns:
        The number of expected errors and of functions that ran.

    Raises:
        AssertionError: Something differs; the message lists all differences, by line.
        FileNotFoundError: There is no program in the folder.
        RuntimeError: mypy does not run, or prints a line that is no error and no note.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> program = """
        ... def reject_a_quotient():
        ...     1 // 0  # E(Python): integer division or modulo by zero
        ... """
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "quotients.py").write_text(program)
        ...     _ = Path(folder, "mypy.ini").write_text("[mypy]\ncache_dir = /dev/null")
        ...     tg.testing.check_programs(folder, config=Path(folder, "mypy.ini"))
        2
    '''
    paths = sorted(Path(folder).resolve().rglob("*.py"))
    if not paths:
        message = f"check_programs: {folder} has no Python file"
        raise FileNotFoundError(message)
    reports = _reports(paths, config)
    found: list[str] = []
    count = 0
    for path in paths:
        text = path.read_text("utf-8")
        marks = _marks(text)
        found += _differences_of_mypy(path, marks, reports.pop(str(path), {}))
        functions = [one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and _is_run(one)]
        count += len(marks) + len(functions)
        module = _loaded(path) if functions else None
        for function in functions:
            found += _differences_of_python(path, marks, function, getattr(module, function.name))
    found += [f"{path}:{line}: mypy reports {text!r}" for path, one in reports.items() for line, text in _listed(one)]
    if found:
        raise AssertionError("\n".join([f"check_programs: {len(found)} differences", *found]))
    return count


def _marks(text: str) -> dict[int, _Mark]:
    matches = {number: _MARK.search(line) for number, line in enumerate(text.splitlines(), start=1)}
    return {number: _Mark(one[2], one[3], one[1]) for number, one in matches.items() if one is not None}


def _reports(paths: list[Path], config: str | Path | None) -> dict[str, dict[int, list[tuple[str, str]]]]:
    """Return the errors that mypy reports, by file and line.

    Raises:
        RuntimeError: mypy does not run, or prints what is not understood.
    """
    settings = [] if config is None else ["--config-file", str(config)]
    command = [sys.executable, "-m", "mypy", *_FLAGS, *settings, *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # the files of the caller
    if run.returncode not in (0, 1):
        message = f"check_programs: mypy does not run: {(run.stderr or run.stdout).strip()}"
        raise RuntimeError(message)
    found: dict[str, dict[int, list[tuple[str, str]]]] = {}
    for line in run.stdout.splitlines():
        match = _REPORT.match(line)
        if match is not None:
            by_line = found.setdefault(str(Path(match[1]).resolve()), {})
            by_line.setdefault(int(match[2]), []).append((match[3], match[4]))
        elif ": note: " not in line:
            message = f"check_programs: mypy prints a line that is no error and no note: {line!r}"
            raise RuntimeError(message)
    return found


def _differences_of_mypy(
    path: Path, marks: dict[int, _Mark], reports: dict[int, list[tuple[str, str]]]
) -> Iterator[str]:
    for line in sorted({*marks, *reports}):
        mark, given = marks.get(line), reports.get(line, [])
        expected = mark is not None and mark.alone != "Python"
        if mark is not None and expected and not given:
            yield f"{path}:{line}: mypy reports nothing but {mark.text!r} is expected"
        for text, code in given:
            if mark is None or not expected:
                yield f"{path}:{line}: mypy reports {text!r}"
            elif text != mark.text or mark.code not in (None, code):
                yield f"{path}:{line}: mypy reports {text!r} [{code}] but {_shown(mark)} is expected"


def _differences_of_python(path: Path, marks: dict[int, _Mark], function: ast.FunctionDef, call: Any) -> Iterator[str]:
    inside = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    expected = {line: one for line, one in marks.items() if line in inside and one.alone != "mypy"}
    place = f"{path}:{function.lineno}: {function.name}"
    if function.name.startswith("reject_") and not expected:
        if not any(line in inside for line in marks):
            yield f"{place} has no line with an expected error"
        return
    try:
        call()
    except Exception as error:  # noqa: BLE001  # each error of the program is compared
        line = _line_of(error, path)
        mark = expected.get(line)
        text = str(error).partition("\n")[0]
        if mark is None:
            yield f"{path}:{line}: Python raises {text!r}"
        elif text != mark.text:
            yield f"{path}:{line}: Python raises {text!r} but {mark.text!r} is expected"
    else:
        if expected:
            yield f"{place} raises nothing but {next(iter(expected.values())).text!r} is expected"


def _line_of(error: Exception, path: Path) -> int:
    """Return the line of the program that raised, or that called what raised."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _is_run(function: ast.FunctionDef) -> bool:
    parameters = function.args
    has_parameters = parameters.posonlyargs or parameters.args or parameters.kwonlyargs
    return function.name.startswith(("accept_", "reject_")) and not has_parameters


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_program_{path.stem}", path)
    assert spec is not None  # noqa: S101  # the file has the suffix of Python
    assert spec.loader is not None  # noqa: S101  # as above
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _listed(reports: dict[int, list[tuple[str, str]]]) -> Iterator[tuple[int, str]]:
    for line, given in sorted(reports.items()):
        for text, _ in given:
            yield line, text


def _shown(mark: _Mark) -> str:
    return f"{mark.text!r}" if mark.code is None else f"{mark.text!r} [{mark.code}]"
