"""Count the errors that each type checker finds in the programs of typecheck/, against mypy with the plugin.

    python -m benchmarks.checkers

pyrefly and ty are included where they are installed. The output is the Markdown table of the docs: how many of the
invalid calls each checker rejects, how many exact types it infers, and in how many valid lines it reports an error.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from tapegrad.project.reports import MypyError, run_mypy

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parent.parent
BINARIES: Final = Path(sys.executable).parent
# Four programs stop mypy alone: an error code of the plugin in a comment, a call of an item of a tuple, and a variable
# that a loop assigns tensors of other ranks, in two of them.
PROGRAMS: Final = sorted(
    path
    for path in (ROOT / "typecheck").rglob("*.py")
    if "sugar" not in path.parts and path.stem not in {"constructors", "idle", "idle_disabled", "model_idioms"}
)
CLAIM: Final = re.compile(r"assert_type|assert-type|type-assertion-failure|Expression is of type")

Messages: TypeAlias = "dict[tuple[Path, int], list[str]]"


class Lines(NamedTuple):
    """What the programs ask of a checker, by file and line."""

    rejected: set[tuple[Path, int]]
    exact: set[tuple[Path, int]]
    right: set[tuple[Path, int]]


def lines() -> Lines:
    """Read the programs: what each line of `accept_` and `reject_` functions is there for."""
    expected = Lines(set(), set(), set())
    for path in PROGRAMS:
        text = path.read_text("utf-8").splitlines()
        for function in ast.parse("\n".join(text)).body:
            if not isinstance(function, ast.FunctionDef):
                continue
            for line in range(function.lineno, (function.end_lineno or 0) + 1):
                if "# E:" in text[line - 1]:
                    expected.rejected.add((path, line))
                elif function.name.startswith("accept"):
                    (expected.exact if "assert_type(" in text[line - 1] else expected.right).add((path, line))
    return expected


def run(*command: str) -> str:
    """Return what a checker prints; it fails where it finds errors, so its exit code says nothing."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def collected(found: list[tuple[str, int, str]]) -> Messages:
    """Put messages to their places."""
    messages: Messages = defaultdict(list)
    for file, line, text in found:
        messages[(ROOT / file).resolve(), line].append(text)
    return messages


def mypy(settings: str) -> Messages:
    """Ask mypy under some settings; of a program at which it fails, it knows nothing."""
    programs, failed = [*PROGRAMS], list[Path]()
    with TemporaryDirectory() as folder:
        file = Path(folder, "mypy.ini")
        file.write_text(settings, "utf-8")
        while True:
            try:
                found = run_mypy(["--config-file", str(file), *map(str, programs)], folder=ROOT)
                break
            except MypyError as error:
                failure = re.search(r"^(.*?):\d+: error: INTERNAL ERROR", str(error), re.MULTILINE)
                if failure is None:
                    raise
                sys.stderr.write(f"mypy fails at {failure[1]}\n")
                failed.append(Path(failure[1]))
                programs.remove(failed[-1])
    messages = collected([(one.file, one.line, one.text) for one in found if one.kind == "error"])
    for place in lines().exact:
        if place[0] in failed:
            messages[place].append("Expression is of type: mypy fails")
    return messages


STRICT: Final = "[mypy]\nstrict = true\nallow_redefinition = true\nexplicit_package_bases = true\n"


def pyright() -> Messages:
    """Ask pyright as it comes."""
    with TemporaryDirectory() as folder:
        settings = {"include": ["typecheck"], "exclude": ["**/sugar"], "extraPaths": [str(ROOT)]}
        Path(folder, "typecheck").symlink_to(ROOT / "typecheck")
        file = Path(folder, "pyrightconfig.json")
        file.write_text(json.dumps(settings), "utf-8")
        said = run(sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(file))
    found = [one for one in json.loads(said)["generalDiagnostics"] if one["severity"] == "error"]
    places = (
        (ROOT / "typecheck" / one["file"].partition("/typecheck/")[2], one["range"]["start"]["line"]) for one in found
    )
    return collected([(str(file), line + 1, one["message"]) for (file, line), one in zip(places, found, strict=True)])


def pyrefly() -> Messages:
    """Ask pyrefly."""
    interpreter = ("--python-interpreter-path", sys.executable)
    said = run(_binary("pyrefly"), "check", "--output-format", "json", *interpreter, *map(str, PROGRAMS))
    found = [one for one in json.loads(said)["errors"] if one.get("severity", "error") == "error"]
    return collected([(one["path"], one["line"], f"{one['name']} {one['description']}") for one in found])


def ty() -> Messages:
    """Ask ty."""
    said = run(_binary("ty"), "check", "--output-format", "concise", "--python", sys.executable, *map(str, PROGRAMS))
    report = re.compile(r"^(.*?):(\d+):\d+: error(.*)$", re.MULTILINE)
    return collected([(file, int(line), text) for file, line, text in report.findall(said)])


def _binary(name: str) -> str:
    return shutil.which(name, path=str(BINARIES)) or shutil.which(name) or ""


def row(name: str, messages: Messages, expected: Lines) -> str:
    """Write what a checker saw as a line of the table."""
    rejected = sum(place in messages for place in expected.rejected)
    exact = sum(not any(map(CLAIM.search, messages.get(place, []))) for place in expected.exact)
    wrong = sum(not all(map(CLAIM.search, messages.get(place, []))) for place in expected.right | expected.exact)
    return f"| {name} | {rejected:,} | {exact:,} | {wrong:,} |"


def main() -> None:
    """Print the table."""
    expected = lines()
    checkers: dict[str, Callable[[], Messages]] = {
        f"mypy {version('mypy')} with the plugin": lambda: mypy(f"{STRICT}plugins = tapegrad.mypy\n"),
        f"mypy {version('mypy')}": lambda: mypy(STRICT),
        f"pyright {version('pyright')}": pyright,
    }
    for name, ask in (("pyrefly", pyrefly), ("ty", ty)):
        if binary := _binary(name):
            checkers[f"{name} {run(binary, '--version').split()[1]}"] = ask

    mistakes, types = f"{len(expected.rejected):,}", f"{len(expected.exact):,}"
    print(f"| checker | reported, of {mistakes} mistakes | exact, of {types} types | wrongly reported |")
    print("| --- | --- | --- | --- |")
    for name, ask in checkers.items():
        print(row(name, ask(), expected), flush=True)


if __name__ == "__main__":
    main()
