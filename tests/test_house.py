"""What holds for the whole house: the face shows every op, and every op has its two programs."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import tapegrad
from tapegrad import ops
from tapegrad.op import OPS

UNREFUSED = {"astype", "full_like", "ones_like", "zeros_like"}  # no shape and no dtype of a tensor is wrong for them
CALLED = {"getitem": "x["}  # how an op is called that has no name where it is used
NAMES = sorted(name for name in vars(ops) if name in OPS)
PROGRAMS = "\n".join(file.read_text("utf-8") for file in (Path(__file__).parent.parent / "typecheck").rglob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_an_op_is_in_the_face_under_its_name(name: str) -> None:
    assert name in dir(tapegrad)
    assert inspect.unwrap(getattr(tapegrad, name)) is OPS[name].function


@pytest.mark.parametrize("name", NAMES)
def test_an_op_has_a_program_that_mypy_accepts_and_one_that_it_refuses(name: str) -> None:
    assert name in UNREFUSED or f"E: {name}: " in PROGRAMS or f"E(mypy): {name}: " in PROGRAMS
    assert CALLED.get(name, f".{name}(") in PROGRAMS


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_of_an_op_has_its_sections(name: str) -> None:
    words = inspect.getdoc(OPS[name].function) or ""

    assert "$$" in words
    assert "Args:" in words
    assert "Returns:" in words
