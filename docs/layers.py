"""Write the architecture page: the layers of the package and what each module imports, read from the source."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from docs.marks import between_marks
from tapegrad.notebook.drawing import drawing

ROOT = Path(__file__).parent.parent
PACKAGE = "tapegrad"
START, END = "<!-- layers -->", "<!-- end of layers -->"
HEAD = """\
# Architecture

A module may import modules of lower layers only.
`pyproject.toml` lists the layers, and import-linter enforces them in each run of CI.

The drawing and the table are generated from the imports in the source, imports inside functions included.
Imports that only annotations need, which `pyproject.toml` allows line by line, are left out.
An arrow points from a module to a module that it imports.
Where other arrows already lead there, the direct arrow is left out.

"""


def overview() -> str:
    """Return the table of CONTRIBUTING.md: each module with its layer and the summary of its docstring."""
    numbered = zip(range(len(layers()), 0, -1), layers(), strict=True)
    lines = [f"| {number} | `{module}` | {summary(module)} |" for number, layer in numbered for module in sorted(layer)]
    return "\n".join(["| layer | module | what it contains |", "| --- | --- | --- |", *lines]) + "\n"


def page() -> str:
    """Return the page: a drawing, and a table from the highest layer to the lowest."""
    order = modules()
    below = {module: imported(module) for module in order}
    arrows = [(order.index(module), order.index(low)) for module in order for low in sorted(nearest(module, below))]
    lines = [
        f"| {number} | `{module}` | {summary(module)} | {', '.join(f'`{low}`' for low in sorted(below[module]))} |"
        for number, layer in zip(range(len(layers()), 0, -1), layers(), strict=True)
        for module in layer
    ]
    table = ["| layer | module | what it does | imports |", "| --- | --- | --- | --- |", *lines]
    return HEAD + f'<div style="overflow-x: auto">{drawing(order, arrows)}</div>\n\n' + "\n".join(table) + "\n"


def write_overview() -> None:
    """Write the table into CONTRIBUTING.md, between its two marks."""
    file = ROOT / "CONTRIBUTING.md"
    file.write_text(between_marks(file.read_text("utf-8"), START, END, overview()), "utf-8")


@cache
def layers() -> list[list[str]]:
    """Return the modules of each layer, from the highest to the lowest; within one, importers come first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    rows = [re.split(r" [|:] ", layer) for layer in contract["layers"]]
    return [list(TopologicalSorter({one: importers(one, row) for one in row}).static_order()) for row in rows]


def importers(module: str, row: list[str]) -> list[str]:
    """Return the modules of a row that import a module."""
    return [other for other in row if other != module and module in mentioned(other)]


def modules() -> list[str]:
    """Return all modules."""
    return [module for layer in layers() for module in layer]


def files(module: str) -> list[Path]:
    """Return the source of a module: a file, or all files of a package."""
    path = ROOT / PACKAGE / module
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imported(module: str) -> set[str]:
    """Return the modules below that a module imports."""
    lower = modules()[modules().index(module) + 1 :]
    return mentioned(module) & set(lower)


@cache
def mentioned(module: str) -> set[str]:
    """Return the names that a module imports from the package, and the modules that it imports names from."""
    found: set[str] = set()
    for node in (node for file in files(module) for node in ast.walk(ast.parse(file.read_text("utf-8")))):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE}."):
            found.add(node.module.split(".")[1])
    return found


def nearest(module: str, below: dict[str, set[str]]) -> set[str]:
    """Return the modules that a module imports and that none of its other imports reaches."""
    return {low for low in below[module] if not any(low in reached(other, below) for other in below[module] - {low})}


def reached(module: str, below: dict[str, set[str]]) -> set[str]:
    """Return all modules that a module imports, directly or through others."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        fresh = below[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def summary(module: str) -> str:
    """Return the summary of a module's docstring."""
    path = ROOT / PACKAGE / module
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    write_overview()
