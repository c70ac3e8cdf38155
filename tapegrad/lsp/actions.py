"""Code actions: edits that settle an error of tapegrad, or that write down what mypy knows."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tapegrad.lsp.program import Program, Range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tapegrad.lsp.results import Finding, Known

_ASSERTION: Final = re.compile(r"tg\.assert_divides\((?P<arguments>.+?)\)(?= and tg\.assert_divides\(|$)")
_NO_TAPE: Final = re.compile(r"the tensor has no tape; trace an input first$| has no tape but needs one$")
_OTHER_TYPE: Final = re.compile(r" but .+ is expected\b| has no tape but needs one$| has a tape but must have none$")
_FLOAT: Final = re.compile(r" (b?float\d+), no tape$")
_TYPES: Final = {"L": ("typing", "Literal", "L"), "Any": ("typing", "Any", "Any"), "np": ("", "numpy", "np")}
_NAMES: Final = re.compile(r"\b(?:Tensor|Shape|NoneTape|OwnedTape|Add|Mul|FloorDiv|L|Any|np)\b")


class Edit(NamedTuple):
    """A part of a text and what replaces it."""

    range: Range
    text: str


class Action(NamedTuple):
    """A change that the user may choose.

    Attributes:
        finding: The error that it settles; None for one that is offered anywhere.
    """

    title: str
    edits: tuple[Edit, ...]
    finding: Finding | None


def actions(text: str, findings: Sequence[Finding], known: Sequence[Known], place: Range) -> list[Action]:
    """Return the actions for a place in a text.

    Args:
        text: That mypy has checked.
        findings: The errors in it.
        known: What mypy knows of its expressions.
        place: Where the cursor or the selection is.
    """
    try:
        program = Program(text)
    except SyntaxError:
        return []
    found: list[Action] = []
    for finding in findings:
        if finding.range.line <= place.end_line and finding.range.end_line >= place.line:
            found += [*_assertions(program, finding), *_traces(program, finding, known)]
            found += _expected_annotations(program, finding, known)
    return [*found, *_annotations(program, known, place)]


def _assertions(program: Program, finding: Finding) -> Iterator[Action]:
    """Offer the assertions that a message names, above the statement."""
    calls = [found["arguments"] for found in _ASSERTION.finditer(finding.text)]
    above = program.line_above(finding.range.line)
    if not calls or above is None:
        return
    names = {node.id for call in calls for node in ast.walk(ast.parse(f"({call},)")) if isinstance(node, ast.Name)}
    line, indentation = above
    if not names <= program.bound_above(line):  # the size has no expression there, only a name in a type
        return
    function, imports = _library_name(program, "assert_divides")
    text = "".join(f"{indentation}{function}({call})\n" for call in calls)
    title = f"Insert {' and '.join(f'{function}({call})' for call in calls)}"
    yield Action(title, (*imports, Edit(Range(line, 0, line, 0), text)), finding)


def _traces(program: Program, finding: Finding, known: Sequence[Known]) -> Iterator[Action]:
    """Offer to trace each float tensor without a tape that the value is computed from."""
    if not _NO_TAPE.search(finding.text):
        return
    floats = {one.range for one in known if _FLOAT.search(one.text)}
    scope = program.function_around(finding.range.line) or program.tree
    inputs = [name for value in _values(program, finding) for name in _inputs(program, value, scope, floats)]
    for name in {name.id: name for name in reversed(inputs)}.values():
        edit = Edit(program.range_of(name).end, ".trace()")
        yield Action(f"Trace {name.id} on line {name.lineno}: {name.id}.trace()", (edit,), finding)


def _values(program: Program, finding: Finding) -> Iterator[ast.expr]:
    """Yield the values that lack a tape: what `backward` is called on, or the arguments of another call."""
    for node in program.expressions_at(finding.range):
        if not isinstance(node, ast.Call):
            yield node
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("backward", "execute"):
            yield node.func.value
        else:
            yield from (*node.args, *(keyword.value for keyword in node.keywords))


def _inputs(program: Program, value: ast.expr, scope: ast.AST, floats: set[Range]) -> Iterator[ast.Name]:
    """Yield the tensors that a value is computed from, through names that are assigned once."""
    for name in (node for node in ast.walk(value) if isinstance(node, ast.Name)):
        if program.range_of(name) not in floats:
            continue
        assigned = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and _binds(one, name.id)]
        before = [one.value for one in assigned if (one.end_lineno or 0) < value.lineno]
        inputs = list(_inputs(program, before[0], scope, floats)) if len(assigned) == len(before) == 1 else []
        yield from inputs or [name]


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _expected_annotations(program: Program, finding: Finding, known: Sequence[Known]) -> Iterator[Action]:
    """Offer to write the type that a value has into the annotation that it does not fit."""
    if not _OTHER_TYPE.search(finding.text):
        return
    for statement in reversed(program.around(finding.range.line)):
        if isinstance(statement, ast.Return) and statement.value is not None:
            function = program.function_around(finding.range.line)
            annotation = function.returns if function is not None else None
            yield from _replaced(program, finding, known, statement.value, annotation)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield from _replaced(program, finding, known, statement.value, statement.annotation)
        return


def _replaced(
    program: Program, finding: Finding, known: Sequence[Known], value: ast.expr, annotation: ast.expr | None
) -> Iterator[Action]:
    place = program.range_of(value)
    spelled = next((one.annotation for one in known if one.range == place and one.annotation), None)
    if annotation is None or spelled is None or finding.range != place:
        return
    written, imports = _written(program, spelled)
    yield Action(
        f"Change the annotation to {written}", (*imports, Edit(program.range_of(annotation), written)), finding
    )


def _annotations(program: Program, known: Sequence[Known], place: Range) -> Iterator[Action]:
    """Offer to annotate a variable with the type that mypy has inferred."""
    for statement in reversed(program.around(place.line)):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return
        target = statement.targets[0]
        where = program.range_of(target)
        spelled = next((one.annotation for one in known if one.range == where and one.annotation), None)
        if isinstance(target, ast.Name) and spelled is not None:
            written, imports = _written(program, spelled)
            yield Action(f"Annotate {target.id}: {written}", (*imports, Edit(where.end, f": {written}")), None)
        return


def _written(program: Program, spelled: str) -> tuple[str, list[Edit]]:
    """Return a type with the names that the file gives to tapegrad's classes, and the imports that it lacks."""
    lacking: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        name = found[0]
        if name in _TYPES:
            module, original, usual = _TYPES[name]
            known = program.imported(module, original) if module else program.alias(original)
            if known is None:
                statement = f"from {module} import {original}" if module else f"import {original}"
                lacking[name] = statement + (f" as {usual}" if usual != original else "")
            return known or usual
        called, imports = _library_name(program, name)
        lacking.update({one.text: one.text.rstrip() for one in imports})
        return called

    written = _NAMES.sub(named, spelled)
    line = program.line_of_imports()
    text = "".join(f"{statement}\n" for statement in sorted({*lacking.values()}))
    return written, [Edit(Range(line, 0, line, 0), text)] if text else []


def _library_name(program: Program, name: str) -> tuple[str, list[Edit]]:
    """Return what the file calls a name of tapegrad, and the import that it lacks for that."""
    imported, alias = program.imported("tapegrad", name), program.alias("tapegrad")
    if imported is not None or alias is not None:
        return imported or f"{alias}.{name}", []
    line = program.line_of_imports()
    return f"tg.{name}", [Edit(Range(line, 0, line, 0), "import tapegrad as tg\n")]
