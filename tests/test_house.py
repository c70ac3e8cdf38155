"""What holds for the whole house: the face shows every op, which has its two programs and all of its docstring.

What the tests of an op have to do is listed by conftest.py, after they ran.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tapegrad import ops
from tapegrad.autograd.registry import OPS
from tapegrad.tensor import node

PROGRAMS = Path(__file__).parent.parent / "typecheck"
NAMES = sorted(name for name in vars(ops) if name in OPS)
# Families whose formulas are not in every textbook, and those of theirs that are.
SOURCED = {"activation", "attention", "conv", "conv_transpose", "likelihood", "loss", "norm", "pool", "scan"}
TEXTBOOK = {"bce", "bce_with_logits", "cosine", "hinge", "mae", "mse", "nll", "rmse"}
TEXTBOOK |= {"cross_entropy", "log_sigmoid", "normalize", "sigmoid"}


def words(name: str) -> str:
    return inspect.getdoc(OPS[name].function) or ""


def section(name: str, title: str) -> str:
    return words(name).partition(f"\n{title}:\n")[2].partition("\n\n")[0]


def family(name: str) -> str:
    return OPS[name].function.__module__.rpartition(".")[2]


@cache
def accepted() -> set[str]:
    """Return what the programs that mypy accepts call, by name or as a method."""
    functions = [
        function
        for file in PROGRAMS.rglob("*.py")
        for function in ast.parse(file.read_text("utf-8")).body
        if isinstance(function, ast.FunctionDef) and function.name.startswith("accept_")
    ]
    called = [node.func for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in called}


@cache
def rejected() -> set[str]:
    """Return the ops that speak in the sentences which programs expect."""
    text = "\n".join(file.read_text("utf-8") for file in PROGRAMS.rglob("*.py"))
    return set(re.findall(r"# E(?:\(mypy\))?: (\w+): ", text))


@pytest.mark.parametrize("name", NAMES)
def test_an_op_is_in_the_face_under_its_name(name: str) -> None:
    assert name in dir(tapegrad)
    assert inspect.unwrap(getattr(tapegrad, name)) is inspect.unwrap(OPS[name].function)


@pytest.mark.parametrize("name", NAMES)
def test_an_op_has_a_program_that_mypy_accepts_and_one_that_it_rejects(name: str) -> None:
    assert name in accepted() or name == "getitem"  # called by brackets
    assert name in rejected() or not re.search("^    (Shape|DType)Error: ", section(name, "Raises"), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_of_an_op_has_its_sections(name: str) -> None:
    parts = {
        "a formula": "$$" in words(name),
        "each argument": re.findall(r"^    (\w+): ", section(name, "Args"), re.MULTILINE)
        == list(inspect.signature(OPS[name].function).parameters),
        "what it returns": section(name, "Returns"),
        "a source": section(name, "Source") or name in TEXTBOOK or family(name) not in SOURCED,
    }

    assert [part for part, holds in parts.items() if not holds] == []


def test_an_op_that_no_test_calls_lacks_what_is_asked_of_an_op(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    house: Any = request.config.pluginmanager.get_plugin(str(Path(__file__).parent / "conftest.py"))
    of_any_op = ["a value that a test reads", "DTypeError", "ShapeError"]
    of_operands = ["check_shape_rule", "an empty operand", "an operand of size one"]
    of_floats = ["a zero", "equal elements", "an infinity", "a NaN", "a large number"]
    gradients = ["check_gradients", "check_gradients(order=2)"]

    monkeypatch.setattr(house, "seen", {"div": {"an operand of floats"}, "all": {"a taped operand and no tape"}})

    assert house.lacks("div") == [*of_any_op, *of_operands, *of_floats, *gradients]
    assert house.lacks("concat") == [*of_any_op, *of_operands, *gradients]
    assert house.lacks("all") == ["a value that a test reads", "ShapeError", *of_operands]
    assert house.lacks("zeros") == ["a value that a test reads", "DTypeError", "ShapeError"]
    monkeypatch.setitem(house.seen, "zeros", {"a value that a test reads", "ShapeError", "DTypeError"})
    assert house.lacks("zeros") == []
    monkeypatch.setitem(house.seen, "all", {*house.seen["all"], "DTypeError"})
    assert house.lacks("all")[-1] == "DTypeError in its docstring"


def test_a_closure_that_holds_its_own_tape_is_found(request: pytest.FixtureRequest) -> None:
    house: Any = request.config.pluginmanager.get_plugin(str(Path(__file__).parent / "conftest.py"))
    x = ops.ones((3,)).trace()
    out = node(x.data)

    leaky = x.tape.record(out, (x.node,), lambda grads: grads.add(x, grads.pop_output(out)))

    assert house.keeps_its_tape(leaky)
    assert not house.keeps_its_tape(ops.tanh(ops.ones((3,)).trace()))
    assert not house.keeps_its_tape(out)
