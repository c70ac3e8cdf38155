"""pyright, which has no plugin: it accepts what mypy accepts, and infers what `typecheck/pyright` says."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from tapegrad.errors import DTypeError, ShapeError

ROOT = Path(__file__).parent.parent
WITHOUT_SUGAR = sorted(path for path in (ROOT / "typecheck").rglob("*.py") if "sugar" not in path.parts)
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "digits_wrong.py")
EXACT = sorted((ROOT / "typecheck" / "pyright").glob("*.py"))


class Report(NamedTuple):
    line: int
    severity: str
    text: str


@pytest.fixture(scope="module")
def reports(operators: Path) -> dict[Path, list[Report]]:
    """Return what pyright says of all programs, in one run, because it reads NumPy and tapegrad in each."""
    paths = [*WITHOUT_SUGAR, *EXAMPLES, operators]
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    output = json.loads(run.stdout)
    assert output["summary"]["filesAnalyzed"] >= len(paths)
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


def test_pyright_accepts_what_mypy_accepts(reports: dict[Path, list[Report]]) -> None:
    errors = [
        f"{path.relative_to(ROOT)}:{report.line}: {report.text}"
        for path in (*WITHOUT_SUGAR, *EXAMPLES)
        for report in reports.get(path, [])
        if report.severity == "error" and report.line not in rejected(path)
    ]

    assert errors == []


@pytest.mark.parametrize("path", EXACT, ids=lambda path: path.name)
def test_assert_type_in_typecheck_pyright_holds(path: Path) -> None:
    # Elsewhere `reportAssertTypeFailure` is off, and an `assert_type` asserts nothing.
    assert path.read_text("utf-8").startswith("# pyright: reportAssertTypeFailure=true\n")
    assert rejected(path) == set()


def test_pyright_rejects_a_size_of_another_type(reports: dict[Path, list[Report]]) -> None:
    sizes = {"mistakes.py": ["nn.Linear(1.5, 3)"], "conv_layers.py": ['nn.Conv2d(3, 4, "3")', "nn.LayerNorm([3, 4])"]}

    for name, calls in sizes.items():
        path = ROOT / "typecheck" / name
        lines = path.read_text("utf-8").splitlines()
        errors = {lines[report.line - 1] for report in reports[path] if report.severity == "error"}
        assert [call for call in calls if not any(call in line for line in errors)] == []


OPERATORS = ("+", "-", "/", "//", "@", "<", "&", "<<")  # one of each kind
DTYPES = ("float32", "float64", "int64", "bool_")
TENSORS = {f"{dtype}_tensor": f"tg.ones((2, 2), np.{dtype})" for dtype in DTYPES}
ARRAYS = {f"{dtype}_array": f"np.ones((2, 2), np.{dtype})" for dtype in ("float64", "int64")}
SCALARS = {f"{dtype}_scalar": f"np.{dtype}(1)" for dtype in ("float32", "int64")}
NUMBERS = ("1", "1.5", "True")


def expressions() -> list[str]:
    """Return each operator of a tensor, between tensors, and between a tensor and a number or an array."""
    unary = [f"{operator}{x}" for operator in ("-", "+", "~") for x in TENSORS]
    pairs = [*product(TENSORS, (*TENSORS, *ARRAYS, *SCALARS, *NUMBERS)), *product(NUMBERS, TENSORS)]
    return [*unary, *(f"{x} {operator} {y}" for operator in OPERATORS for x, y in pairs)]


def is_rejected(expression: str, names: dict[str, object]) -> bool:
    try:
        eval(expression, names)  # noqa: S307  # an expression of this file
    except (DTypeError, ShapeError):  # ShapeError: a number has no columns
        return True
    return False


HEAD = [
    "import numpy as np",
    "import tapegrad as tg",
    *(f"{name} = {value}" for name, value in (TENSORS | ARRAYS | SCALARS).items()),
]


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("pyright") / "operators.py"
    program.write_text("\n".join([*HEAD, *(f"_ = {one}" for one in expressions())]), "utf-8")
    return program


def test_pyright_rejects_the_dtypes_that_an_operator_rejects(
    operators: Path, reports: dict[Path, list[Report]]
) -> None:
    names: dict[str, object] = {}
    exec("\n".join(HEAD), names)  # noqa: S102  # as above

    errors = {report.line for report in reports.get(operators, []) if report.severity == "error"}

    found = {one for line, one in enumerate(expressions(), start=len(HEAD) + 1) if line in errors}
    assert found == {one for one in expressions() if is_rejected(one, names)}
