"""What the tests, type programs and docstring of an op must contain, and what is missing.

While tests run, the library reports each call of an op to `CoverageOfOps.called`. After all tests of a family, such as
`pytest tests/ops/test_matmul.py`, conftest.py lists what its ops lack.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad
from tapegrad import ops
from tapegrad.autograd.registry import IMPLEMENTATIONS, OPS, Op
from tapegrad.tensors import Tensor
from tapegrad.testing.gradients import checked_order

TESTS, PROGRAMS = Path(__file__).parent / "ops", Path(__file__).parent.parent / "typecheck"
NAMES = sorted(name for name, entry in OPS.items() if entry.function.__module__.startswith(f"{ops.__name__}."))

CALL, RULE = "a call outside check_gradients", "check_shape_rule"
GRADIENTS, TWICE = "check_gradients", "check_gradients(order=2)"
CONSTANT, FLOATS = "a taped operand and no tape", "an operand of floats"
EDGES: dict[str, Callable[[Any], Any]] = {
    "an empty operand": lambda x: x.size == 0,
    "an operand of size one": lambda x: x.size == 1,
}
FLOAT_EDGES: dict[str, Callable[[Any], Any]] = {
    "a zero": lambda x: (x == 0).any(),
    "equal elements": lambda x: np.unique(x).size < x.size,
    "an infinity": lambda x: np.isinf(x).any(),
    "a NaN": lambda x: np.isnan(x).any(),
    "a large number": lambda x: (np.isfinite(x) & (np.abs(x) >= 1e2)).any(),
}
# Families that treat all numbers alike.
MOVING = {
    "axes",
    "create",
    "draw",
    "index",
    "join",
    "masks",
    "move",
    "scatter",
    "scatter_along",
    "repeat",
    "shift",
    "triangles",
}
# Families whose formulas are not in every textbook, and those of their ops that are.
SOURCED = {"activation", "attention", "conv", "conv_transpose", "likelihood", "loss", "norm", "pool", "scan"}
TEXTBOOK = {"bce", "bce_with_logits", "cosine", "hinge", "mae", "mse", "nll", "rmse"}
TEXTBOOK |= {"cross_entropy", "log_sigmoid", "normalize", "sigmoid"}


def family(name: str) -> str:
    """Return the file of an op, which its tests and programs share the name of."""
    return family_of(OPS[name])


def family_of(entry: Op) -> str:
    return str(entry.function.__module__).rpartition(".")[2]


class CoverageOfOps:
    """Collects what the tests of each op do; an observer of the library's ops.

    Attributes:
        seen: What was seen for each op.
        family: The family whose test runs; calls of other ops do not count.
    """

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = {}
        self.family = ""

    def called(self, entry: Op, args: Sequence[Any], kwargs: Mapping[str, Any], outcome: object) -> None:
        if self.family != family_of(entry):
            return
        operands = [x for x in flat([*args, *kwargs.values()]) if isinstance(x, Tensor)]
        order = checked_order.get()
        if order and not any(x.owns_tape for x in operands):  # a finite difference
            return
        facts = edges(operands)
        if isinstance(outcome, Exception):
            public = IndexError if isinstance(outcome, IndexError) else type(outcome)
            self.note(entry.name, facts - {FLOATS} | {public.__name__})  # an op of ints rejects floats
            return
        for part in flat([outcome]):
            assert not holds_its_tape(part), f"a closure of {entry.name} holds its own tape, which leaks"
            self.note(entry.name, tape_facts(operands, part, order))
        self.note(entry.name, facts if order else facts | {CALL})

    def rule_checked(self, rule: Callable[..., Any]) -> None:
        for name, entry in OPS.items():
            if rule in (entry.rule, IMPLEMENTATIONS[name]):
                self.note(name, {RULE})

    def note(self, name: str, facts: Iterable[str]) -> None:
        self.seen.setdefault(name, set()).update(facts)

    def lacking(self, families: set[str]) -> dict[str, list[str]]:
        """Return what the ops of some families lack."""
        lacking = {name: [*self.lacks(name), *lacks_in_files(name)] for name in NAMES if family(name) in families}
        return {name: facts for name, facts in lacking.items() if facts}

    def lacks(self, name: str) -> list[str]:
        """Return what the tests of an op lack."""
        entry, seen = OPS[name], self.seen.get(name, set())
        documented = set(re.findall(r"^    (\w+Error): ", docstring(name), re.MULTILINE))
        expected = [CALL, *sorted(documented)]
        if entry.operands:
            expected += [RULE, *EDGES]
            expected += [] if family(name) in MOVING or FLOATS not in seen else FLOAT_EDGES
            expected += [] if CONSTANT in seen else [GRADIENTS, TWICE]
        raised = {fact for fact in seen if fact.endswith("Error")}
        return [fact for fact in expected if fact not in seen] + [
            f"{error} in its docstring" for error in sorted(raised - documented)
        ]


def edges(operands: Sequence[Any]) -> set[str]:
    arrays = [x.numpy() for x in operands]
    facts = {edge for edge, holds in EDGES.items() for x in arrays if holds(x)}
    floats = [x.ravel() for x in arrays if x.dtype.kind == "f"]
    if floats:
        facts.add(FLOATS)
        elements = np.concatenate([x.astype(np.float64) for x in floats])
        facts |= {edge for edge, holds in FLOAT_EDGES.items() if holds(elements)}
    return facts


def tape_facts(operands: Sequence[Any], result: Any, order: int) -> set[str]:
    if result.owns_tape:
        return {GRADIENTS, TWICE} if order > 1 else {GRADIENTS} if order else set()
    floats = [x for x in operands if x.is_float] or operands
    return {CONSTANT} if any(x.owns_tape for x in floats) else set()


def holds_its_tape(result: Any) -> bool:
    """Return whether a backward function holds a tensor with its own tape, so that neither is ever freed."""
    entries = result.tape.tape.entries[-8:] if result.owns_tape else []
    cells = [cell for entry in entries for cell in getattr(entry[3], "__closure__", None) or ()]
    held = [x for x in flat([cell.cell_contents for cell in cells]) if isinstance(x, Tensor)]
    return any(x.owns_tape and x.tape.tape is result.tape.tape for x in held)


def flat(values: Any) -> list[Any]:
    return [one for value in values for one in (flat(value) if isinstance(value, list | tuple) else [value])]


# Docstrings, programs and exports


def lacks_in_files(name: str) -> list[str]:
    """Return what the docstring, the type programs and the exports of an op lack."""
    function = OPS[name].function
    exported = getattr(tapegrad, name, None) if name in dir(tapegrad) else None
    arguments = re.findall(r"^    (\w+): ", section(name, "Args"), re.MULTILINE)
    documented = re.search("^    (Shape|DType)Error: ", section(name, "Raises"), re.MULTILINE)
    present = {
        f"the name tapegrad.{name}": inspect.unwrap(exported) is inspect.unwrap(function) if exported else False,
        "a formula in its docstring": re.search(r"\n\n    (?!>>>)\S", docstring(name)) is not None,
        "each argument in its docstring": arguments == list(inspect.signature(function).parameters),
        "what it returns in its docstring": section(name, "Returns"),
        "a source in its docstring": section(name, "Source") or name in TEXTBOOK or family(name) not in SOURCED,
        "a program in typecheck/ that calls it": name in accepted() or name == "getitem",  # called by brackets
        "a program in typecheck/ that mypy rejects": name in rejected() or not documented,
    }
    return [part for part, is_present in present.items() if not is_present]


def docstring(name: str) -> str:
    return inspect.getdoc(OPS[name].function) or ""


def section(name: str, title: str) -> str:
    return docstring(name).partition(f"\n{title}:\n")[2].partition("\n\n")[0]


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
    """Return the ops whose messages the programs expect."""
    text = "\n".join(file.read_text("utf-8") for file in PROGRAMS.rglob("*.py"))
    return set(re.findall(r"# E(?:\(mypy\))?: (\w+): ", text))
