"""Shape rules of users: mypy agrees with Python, no cached rule is stale, and a rule that fails is reported."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mypy.programs import RUN_DAEMON, python
from tests.warm_mypy_cache import copy_warm_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

TOML = """[tool.mypy]
strict = true
allow_redefinition = true
plugins = ["tapegrad.mypy"]

[tool.tapegrad-mypy]
rules = ["rules_package.ops"]
"""
INI = """[mypy]
strict = True
allow_redefinition = True
plugins = tapegrad.mypy
mypy_path = sources

[tapegrad-mypy]
rules = other.ops, rules_package.ops
"""

OPS = """from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Gradients, NoneTape, Shape, Tape, Tensor
from tapegrad.engines import engine
from tapegrad.sizes import Dims, Size, show, surely_differ

K = TypeVar("K", bound=int)
M = TypeVar("M", bound=int)
N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)
D = TypeVar("D", bound=np.generic)


def repeated_shape(x: Dims, times: Size = 2) -> Dims:
    if not x:
        raise tg.ShapeError(f"x {show(x)} has no axis")
    return (*x[:-1], times * x[-1])


@tg.op(repeated_shape)
def repeated(x: Tensor[Any, T, D], times: int = 2) -> Tensor[Any, T, D]:
    operand, tape = tg.split_tape(x)
    out = tg.node(np.concatenate([operand.data] * times, axis=-1))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        parts = dy.reshape((*operand.shape[:-1], times, -1))
        grads.add(operand, engine(parts).sum(parts, axis=-2, keepdims=False))

    return tape.record(out, (operand,), backward)


def alike_shape(parts: Sequence[Dims]) -> Dims:
    for part in parts:
        if surely_differ(part[0], parts[0][0]):
            raise tg.ShapeError(f"parts {show(parts[0])} and {show(part)} differ in rows")
    return parts[0]


@tg.op(alike_shape, eager=True)
def alike(parts: Sequence[Tensor[Any, T, D]]) -> Tensor[Any, T, D]:
    return parts[0]


def fitted_shape(x: Dims, y: Dims) -> Dims:
    if surely_differ(x[-1], y[0]):
        raise tg.ShapeError(f"rows {show(x)} do not fit {show(y)}")
    return x[:1]


@tg.op(fitted_shape, eager=True)
def fitted(x: Tensor[Shape[N, M], T, D], y: Tensor[Shape[M, K], NoneTape, D]) -> Tensor[Shape[N], T, D]:
    return x[:, 0]
"""

PROGRAM = """import tapegrad as tg
from rules_package.ops import alike, repeated
from tapegrad import NoneTape, Shape, Tensor
from typing import Literal as L, TypeVar, assert_type

N = TypeVar("N", bound=int)
x = tg.ones((2, 3))
assert_type(repeated(x), Tensor[Shape[L[2], L[6]], NoneTape])
assert_type(repeated(x, 5).trace(), Tensor[Shape[L[2], L[15]], tg.OwnedTape])


def named(x: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[tg.Mul[N, L[3]]], NoneTape]:
    return repeated(x, times=3)


named(x[0])
alike((x, x.T))
repeated(x.sum())
"""
ALIKE = "program.py:17: error: alike: parts (2, 3) and (3, 2) differ in rows  [tapegrad-shape]"
REPEATED = "program.py:18: error: repeated: x () has no axis  [tapegrad-shape]"
SIZED = """import tapegrad as tg
from rules_package.ops import fitted

x = tg.ones((2, 3))
fitted(x, tg.ones((3, 5)))
fitted(x, x)
fitted(x, x[0])
"""


class Project:
    """A folder with a program, the ops that it calls, and the settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ops = folder / "rules_package" / "ops.py"
        self.write("pyproject.toml", TOML)
        self.write("rules_package/__init__.py", "")
        self.write("rules_package/ops.py", OPS)
        self.write("program.py", PROGRAM)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return python(self.folder, *arguments)

    def said(self, *options: str) -> list[str]:
        run = self.python("-m", "mypy", *options, "program.py")
        return (run.stdout + run.stderr).splitlines()[:-1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    copy_warm_cache(tmp_path)
    return project


@pytest.fixture
def daemon(project: Project) -> Iterator[list[str]]:
    command = ["-m", "mypy.dmypy", "--status-file", str(project.folder / "dmypy.json")]
    yield command
    project.python(*command, "kill")


def test_where_rule_and_signature_both_reject_the_rule_is_reported(project: Project) -> None:
    project.write("program.py", SIZED)

    said = project.said()
    raised = project.python("program.py")

    rule = "fitted: rows (2, 3) do not fit (2, 3)"
    assert said == [
        f"program.py:6: error: {rule}  [tapegrad-shape]",
        "program.py:7: error: fitted: y is (3,) but (M, K) is expected: rank 1, not 2  [tapegrad-shape]",
    ]
    assert f"tapegrad.errors.ShapeError: {rule}" in raised.stderr.splitlines()  # above the picture of the shapes


def test_mypy_agrees_with_python_after_each_edit_of_a_rule(project: Project) -> None:
    copy_warm_cache(project.folder, name="workers")
    cold, warm, workers = (
        project.said("--cache-dir=cold"),
        project.said(),
        project.said("-n", "2", "--cache-dir=workers"),
    )
    project.write("rules_package/ops.py", OPS.replace("differ in rows", "have other rows"))

    after = project.said()
    raised = project.python("program.py")

    assert cold == warm == workers == [ALIKE, REPEATED]
    assert after == [ALIKE.replace("differ in rows", "have other rows"), REPEATED]
    message = "alike: parts (2, 3) and (3, 2) have other rows"
    assert f"tapegrad.errors.ShapeError: {message}" in raised.stderr.splitlines()  # above the picture of the shapes


def test_the_daemon_restarts_for_an_edited_rule(project: Project, daemon: list[str]) -> None:
    before = project.python(*daemon, *RUN_DAEMON, "program.py")
    project.write("rules_package/ops.py", OPS.replace("differ in rows", "have other rows"))

    after = project.python(*daemon, *RUN_DAEMON, "program.py")

    assert ALIKE in before.stdout
    assert ALIKE.replace("differ in rows", "have other rows") in after.stdout


def test_a_module_with_an_import_error_is_one_report_and_its_ops_use_their_signatures(project: Project) -> None:
    project.write("rules_package/ops.py", f"{OPS}\n1 / 0\n")
    project.write("program.py", PROGRAM.replace("assert_type(", "print("))

    broken = project.said()
    project.write("rules_package/ops.py", OPS)
    fixed = project.said()

    message = "the rules of rules_package.ops cannot be imported: ZeroDivisionError: division by zero"
    assert broken == [f"program.py:8: error: tapegrad failed here: {message}  [tapegrad-internal]"]
    assert fixed == [ALIKE, REPEATED]


def test_a_rule_that_raises_is_one_report(project: Project) -> None:
    wrong = "    if len(x) == 0:\n        x.rank  # type: ignore[attr-defined]\n    if not x:\n"
    project.write("rules_package/ops.py", OPS.replace("    if not x:\n", wrong))

    said = project.said()

    failed = "tapegrad failed here: AttributeError: 'tuple' object has no attribute 'rank'"
    assert [line for line in said if line.startswith("program.py")] == [
        ALIKE,
        f"program.py:18: error: {failed}  [tapegrad-internal]",
    ]


def test_rules_may_be_in_several_modules_on_mypy_path(project: Project) -> None:
    (project.folder / "pyproject.toml").unlink()
    project.write("mypy.ini", INI)
    project.write("sources/other/__init__.py", "")
    project.write("sources/other/ops.py", OPS)
    project.write(
        "program.py", PROGRAM.replace("import alike, repeated", "import alike\nfrom other.ops import repeated")
    )

    assert project.said() == [ALIKE.replace(":17:", ":18:"), REPEATED.replace(":18:", ":19:")]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rule = ['rules_package.ops']", "tapegrad-mypy has no key 'rule', only 'rules'"),
        (
            "rules = ['rules_package.opps']",
            "in tapegrad-mypy, rules names 'rules_package.opps', and there is no such module",
        ),
        (
            "rules = 'rules_package.ops'",
            "in tapegrad-mypy, rules is 'rules_package.ops' but a list of modules is expected",
        ),
    ],
    ids=["key", "module", "value"],
)
def test_an_invalid_setting_is_named(project: Project, setting: str, message: str) -> None:
    project.write("pyproject.toml", TOML.replace('rules = ["rules_package.ops"]', setting))

    run = project.python("-m", "mypy", "program.py")

    assert run.returncode == 2
    assert run.stderr == f"pyproject.toml: error: {message}\n"
