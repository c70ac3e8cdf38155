"""Reports of what an op lacks: a test, a type program or a part of its docstring."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tapegrad import ops
from tapegrad.autograd.registry import OPS
from tapegrad.tensors import node
from tests.op_coverage import NAMES, TESTS, CoverageOfOps, family, holds_its_tape, lacks_in_files

ROOT = Path(__file__).parent.parent


def test_every_op_has_docstring_type_programs_and_exports() -> None:
    assert {name: lacks for name in NAMES if (lacks := lacks_in_files(name))} == {}


def test_each_family_of_ops_has_a_test_file() -> None:
    assert {family(name) for name in NAMES} <= {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}


def test_an_untested_op_lacks_the_expected_tests() -> None:
    coverage = CoverageOfOps()
    of_any_op = ["a call outside check_gradients", "DTypeError", "ShapeError"]
    of_operands = ["check_shape_rule", "an empty operand", "an operand of size one"]
    of_floats = ["a zero", "equal elements", "an infinity", "a NaN", "a large number"]
    gradients = ["check_gradients", "check_gradients(order=2)"]
    coverage.note("div", {"an operand of floats"})
    coverage.note("all", {"a taped operand and no tape"})

    assert coverage.lacks("div") == [*of_any_op, *of_operands, *of_floats, *gradients]
    assert coverage.lacks("concat") == [*of_any_op, *of_operands, *gradients]
    assert coverage.lacks("all") == ["a call outside check_gradients", "ShapeError", *of_operands]
    assert coverage.lacks("zeros") == ["a call outside check_gradients", "DTypeError", "ShapeError"]


def test_tested_parts_are_not_listed_but_undocumented_errors_are() -> None:
    coverage = CoverageOfOps()
    coverage.note("zeros", {"a call outside check_gradients", "ShapeError", "DTypeError"})
    coverage.note("all", {"DTypeError"})

    assert coverage.lacks("zeros") == []
    assert coverage.lacks("all")[-1] == "DTypeError in its docstring"


def test_calls_count_for_the_family_whose_tests_run() -> None:
    coverage = CoverageOfOps()
    x = ops.ones((2, 3))

    coverage.called(OPS["vecdot"], (x,), {}, x)
    assert coverage.seen == {}
    coverage.family = "vectors"
    coverage.called(OPS["vecdot"], (x,), {}, x)
    assert coverage.seen["vecdot"] == {"a call outside check_gradients", "an operand of floats", "equal elements"}


def test_a_closure_that_holds_its_own_tape_is_found() -> None:
    x = ops.ones((3,)).trace()
    out = node(x.data)

    leaky = x.tape.record(out, (x.node,), lambda grads: grads.add(x, grads.pop_output(out)))

    assert holds_its_tape(leaky)
    assert not holds_its_tape(ops.tanh(ops.ones((3,)).trace()))
    assert not holds_its_tape(out)


TEST = """
import tapegrad as tg

def test_of_vecdot():
    assert tg.vecdot(tg.ones((3,)), tg.ones((3,))).item() == 3

def test_of_nothing():
    pass
"""
FAILING = """
import tapegrad as tg

def test_of_matmul():
    assert tg.matmul(tg.ones((3, 3)), tg.ones((3,))).shape == (2,)
"""


@pytest.mark.parametrize(
    ("options", "code", "lists"),
    [
        (["tests/ops/test_vectors.py"], 1, ["vecdot"]),
        (["tests/ops/test_vectors.py", "-k", "test_of_vecdot"], 0, []),
        (["tests/ops"], 1, ["vecdot"]),
    ],
    ids=["file", "selection", "failed"],
)
def test_what_ops_lack_is_listed_if_all_tests_of_their_family_ran_and_passed(
    tmp_path: Path, options: list[str], code: int, lists: list[str]
) -> None:
    folder = tmp_path / "tests" / "ops"
    folder.mkdir(parents=True)
    for file in ("conftest.py", "op_coverage.py"):
        shutil.copy(ROOT / "tests" / file, tmp_path / "tests")
    (folder / "test_vectors.py").write_text(TEST, "utf-8")
    (folder / "test_matmul.py").write_text(FAILING, "utf-8")
    (tmp_path / "typecheck").symlink_to(ROOT / "typecheck")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -p no:xdist\n", "utf-8")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    lines = [line.split(", ") for line in run.stdout.splitlines() if line.startswith(("vecdot: ", "matmul: "))]
    assert run.returncode == code
    assert [line[0].partition(":")[0] for line in lines] == lists
    assert all(line[1:3] == ["ShapeError", "check_shape_rule"] for line in lines)
