"""pyright, which has no plugin: it accepts what mypy accepts, and infers what `typecheck/pyright` says."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
WITHOUT_SUGAR = sorted(path for path in (ROOT / "typecheck").rglob("*.py") if "sugar" not in path.parts)
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "digits_wrong.py")
EXACT = sorted((ROOT / "typecheck" / "pyright").glob("*.py"))


class Report(NamedTuple):
    line: int
    severity: str
    text: str


def reports() -> dict[Path, list[Report]]:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable),
            *map(str, WITHOUT_SUGAR + EXAMPLES),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    output = json.loads(run.stdout)
    assert output["summary"]["filesAnalyzed"] >= len(WITHOUT_SUGAR + EXAMPLES)
    found: dict[Path, list[Report]] = {}
    for said in output["generalDiagnostics"]:
        report = Report(said["range"]["start"]["line"] + 1, said["severity"], said["message"])
        found.setdefault(Path(said["file"]), []).append(report)
    return found


def rejected(path: Path) -> set[int]:
    """Return the lines of the functions that mypy rejects."""
    functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    return {
        line
        for function in functions
        if function.name.startswith("reject")
        for line in range(function.lineno, (function.end_lineno or 0) + 1)
    }


def test_pyright_accepts_what_mypy_accepts() -> None:
    errors = [
        f"{path.relative_to(ROOT)}:{report.line}: {report.text}"
        for path, said in reports().items()
        for report in said
        if report.severity == "error" and report.line not in rejected(path)
    ]

    assert errors == []


@pytest.mark.parametrize("path", EXACT, ids=lambda path: path.name)
def test_assert_type_in_typecheck_pyright_holds(path: Path) -> None:
    # Elsewhere `reportAssertTypeFailure` is off, and an `assert_type` asserts nothing.
    assert path.read_text("utf-8").startswith("# pyright: reportAssertTypeFailure=true\n")
    assert rejected(path) == set()
