"""Compares every op's result with its rule while the tests run, and lists what the tests of the ops left undone.

An empty TAPEGRAD_CHECK_RULES leaves both out. The list is made when all of tests/ops has run and passed; it is read off
what was really called: which op, with which operands, inside which check, and whether a test then read the result.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("TAPEGRAD_CHECK_RULES", "1")

from tapegrad import errors, ops, testing
from tapegrad.autograd.registry import IMPLEMENTATIONS, OPS, Op
from tapegrad.project.reports import DROPPED
from tapegrad.tensor import Tensor

settings.register_profile("tapegrad", derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile("tapegrad")

for variable in DROPPED:  # many tests compare the text that mypy writes, and CI services ask for colors
    os.environ.pop(variable, None)

errors.pictures = False  # pytest matches notes as well, and most tests compare a sentence whole

HERE, TENSOR = Path(__file__).parent / "ops", inspect.getfile(Tensor)
VALUE, LAW = "a value that a test reads", "check_shape_rule"
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
# Families to which one number is as good as another.
MOVING = {"axes", "create", "draw", "index", "join", "masks", "move", "scatter", "repeat", "shift", "triangles"}

PARTIAL, LACKING = pytest.StashKey[bool](), pytest.StashKey[dict[str, list[str]]]()

seen: dict[str, set[str]] = {}
unread: dict[int, tuple[ref[Tensor[Any, Any, Any]], str, set[str]]] = {}  # results by id: a tensor's == compares values
order = 0  # of the check_gradients that is running
numpy_of: Callable[..., Any] = Tensor.numpy
only_of: Callable[..., Any] = Tensor._only


def noted(name: str, facts: set[str]) -> None:
    seen.setdefault(name, set()).update(facts)


def family(name: str) -> str:
    return OPS[name].function.__module__.rpartition(".")[2]


# What is seen of a call


def observed(checked: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(checked)
    def call(entry: Op, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands = [x for x in flat([*args, *kwargs.values()]) if isinstance(x, Tensor)]
        is_difference = order and not any(x.owns_tape for x in operands)
        if is_difference or not called_by_a_test(entry.name):
            return checked(entry, function, args, kwargs)
        try:
            result = checked(entry, function, args, kwargs)
        except (ValueError, TypeError, RuntimeError, IndexError) as error:
            public = IndexError if isinstance(error, IndexError) else type(error)
            noted(entry.name, edges(operands) - {FLOATS} | {public.__name__})  # an op of ints rejects floats
            raise
        facts = edges(operands)
        for part in flat([result]):
            assert not keeps_its_tape(part), f"a closure of {entry.name} holds its own tape, which leaks"
            if order or part.size == 0:  # of nothing there is only the shape to read
                noted(entry.name, facts)
            unread[id(part)] = ref(part), entry.name, facts | {VALUE}
            noted(entry.name, tape_facts(operands, part))
        return result

    return call


def called_by_a_test(name: str) -> bool:
    """Whether a test calls the op, by its name, or in the file of its family by an operator or a method."""
    frame, by_name = sys._getframe(3), True  # past `call` and the wrapper of the op
    while frame.f_back is not None and frame.f_code.co_filename == TENSOR:
        frame, by_name = frame.f_back, False
    file = frame.f_code.co_filename
    if file.startswith(str(HERE)):
        return by_name or file.endswith(f"test_{family(name)}.py")
    return by_name and order > 0 and file == testing.__file__


def edges(operands: Sequence[Any]) -> set[str]:
    arrays = [numpy_of(x) for x in operands]
    facts = {edge for edge, holds in EDGES.items() for x in arrays if holds(x)}
    floats = [x.ravel() for x in arrays if x.dtype.kind == "f"]
    if floats:
        facts.add(FLOATS)
        together = np.concatenate([x.astype(np.float64) for x in floats])
        facts |= {edge for edge, holds in FLOAT_EDGES.items() if holds(together)}
    return facts


def tape_facts(operands: Sequence[Any], result: Any) -> set[str]:
    if result.owns_tape:
        return {GRADIENTS, TWICE} if order > 1 else {GRADIENTS} if order else set()
    floats = [x for x in operands if x.is_float] or operands
    return {CONSTANT} if any(x.owns_tape for x in floats) else set()


def keeps_its_tape(result: Any) -> bool:
    """Whether the way back holds a tensor with the tape that holds the way back, so that neither is ever free."""
    entries = result.tape.tape.entries[-8:] if result.owns_tape else []
    cells = [cell for entry in entries for cell in getattr(entry[3], "__closure__", None) or ()]
    held = [x for x in flat([cell.cell_contents for cell in cells]) if isinstance(x, Tensor)]
    return any(x.owns_tape and x.tape.tape is result.tape.tape for x in held)


def flat(values: Any) -> list[Any]:
    return [one for value in values for one in (flat(value) if isinstance(value, list | tuple) else [value])]


def note_reading(x: Tensor[Any, Any, Any]) -> None:
    result, name, facts = unread.get(id(x), (None, "", set()))
    if result is not None and result() is x and not order:
        noted(name, facts)


def read(x: Tensor[Any, Any, Any], *, copy: bool = False) -> Any:
    note_reading(x)
    return numpy_of(x, copy=copy)


def read_only_one(x: Tensor[Any, Any, Any], question: str) -> Any:
    note_reading(x)
    return only_of(x, question)


def differentiating(check: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(check)
    def checked(*args: Any, **kwargs: Any) -> None:
        global order  # noqa: PLW0603  # one check runs at a time
        order = kwargs.get("order", 1)
        try:
            check(*args, **kwargs)
        finally:
            order = 0

    return checked


def lawful(check: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(check)
    def checked(rule: Callable[..., Any], *cases: Any) -> None:
        check(rule, *cases)
        for name, entry in OPS.items():
            if rule in (entry.rule, IMPLEMENTATIONS[name]):
                noted(name, {LAW})

    return checked


if os.environ["TAPEGRAD_CHECK_RULES"]:
    binding = sys.modules["tapegrad.autograd.op"]  # the face has the decorator under this name
    binding._checked = observed(binding._checked)  # type: ignore[attr-defined]  # private to it
    Tensor.numpy = read  # type: ignore[method-assign, assignment]  # seen, and passed on
    Tensor._only = read_only_one  # type: ignore[method-assign, assignment]  # the same for item() and float()
    testing.check_gradients = differentiating(testing.check_gradients)
    testing.check_shape_rule = lawful(testing.check_shape_rule)


# What is asked for


def lacks(name: str) -> list[str]:
    entry, had = OPS[name], seen.get(name, set())
    documented = set(re.findall(r"^    (\w+Error): ", inspect.getdoc(entry.function) or "", re.MULTILINE))
    asked = [VALUE, *sorted(documented)]
    if entry.operands:
        asked += [LAW, *EDGES]
        asked += [] if family(name) in MOVING or FLOATS not in had else FLOAT_EDGES
        asked += [] if CONSTANT in had else [GRADIENTS, TWICE]
    raised = {fact for fact in had if fact.endswith("Error")}
    return [fact for fact in asked if fact not in had] + [f"{e} in its docstring" for e in sorted(raised - documented)]


def pytest_runtest_setup() -> None:
    unread.clear()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[PARTIAL] = True


def pytest_collection_finish(session: pytest.Session) -> None:
    files = {item.path for item in session.items}
    if not set(HERE.glob("test_*.py")) <= files or any("::" in argument for argument in session.config.args):
        session.config.stash[PARTIAL] = True


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over from a process of pytest-xdist what it has seen."""
    output = getattr(node, "workeroutput", {})
    for name, facts in output.get("seen", {}).items():
        noted(name, set(facts))
    if output.get("partial", True):
        node.config.stash[PARTIAL] = True


def pytest_sessionfinish(session: pytest.Session) -> None:
    config: Any = session.config
    partial = config.stash.get(PARTIAL, False)
    if hasattr(config, "workeroutput"):
        config.workeroutput.update(seen={name: sorted(facts) for name, facts in seen.items()}, partial=partial)
    elif not partial and session.exitstatus == pytest.ExitCode.OK and seen:
        config.stash[LACKING] = {name: lacks(name) for name in sorted(vars(ops)) if name in OPS and lacks(name)}
        if config.stash[LACKING]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lacking = config.stash.get(LACKING, {})
    if lacking:
        terminalreporter.section("tests/ops leave something undone", red=True)
        for name, facts in lacking.items():
            terminalreporter.line(f"{name}: {', '.join(facts)}")
