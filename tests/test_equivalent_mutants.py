"""The list of equivalent mutants is current: each entry changes a line of the function that it names."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def lines_of_functions(file: str) -> dict[str, set[str]]:
    """Return the lines of each function of a file, without indentation, by qualified name."""
    source = (ROOT / file).read_text("utf-8")
    lines = [line.strip() for line in source.splitlines()]
    found: dict[str, set[str]] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = prefix + child.name
                found.setdefault(name, set()).update(lines[child.lineno - 1 : child.end_lineno])
                visit(child, f"{name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(source), "")
    return found


def test_every_equivalent_mutant_changes_a_line_that_exists() -> None:
    entries = tomllib.loads((ROOT / "tests" / "equivalent_mutants.toml").read_text("utf-8"))["mutant"]
    files = {entry["file"] for entry in entries}
    functions = {file: lines_of_functions(file) for file in files}
    stale = [
        f"{entry['file']} {entry['function']}: {line}"
        for entry in entries
        for line in entry["change"].splitlines()
        if line.startswith("- ") and line[2:] not in functions[entry["file"]].get(entry["function"], ())
    ]

    assert not stale, "update or remove these entries of equivalent_mutants.toml:\n" + "\n".join(stale)
    assert len({(entry["file"], entry["function"], entry["change"]) for entry in entries}) == len(entries)
