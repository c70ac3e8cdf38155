"""Write the architecture page: the layers of the package and what each module imports, read from the source."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tapegrad.notebook.drawing import drawing

ROOT = Path(__file__).parent.parent
PACKAGE = "tapegrad"
HEAD = """\
# Architecture

A module may import modules of lower layers only.
`pyproject.toml` lists the layers, and import-linter enforces them in each run of CI.

The drawing and the table are generated from the imports in the source, imports inside functions included.
Imports that only annotations need, which `pyproject.toml` allows line by line, are left out.
An arrow points from a module to a module that it imports.
Where other arrows already lead there, the direct arrow is left out.

"""


def page() -> str:
    """Return the page: a drawing, and a table from the highest layer to the lowest."""
    order = modules()
    below = {module: imported(module) for module in order}
    arrows = [(order.index(module), order.index(low)) for module in order for low in sorted(nearest(module, below))]
    lines = [
        f"| {number} | `{module}` | {summary(module)} | {', '.join(f'`{low}`' for low in sorted(below[module]))} |"
        for number, layer in zip(range(len(layers()) - 1, -1, -1), layers(), strict=True)
        for module in layer
    ]
    table = ["| layer | module | what it does | imports |", "| --- | --- | --- | --- |", *lines]
    return HEAD + f'<div style="overflow-x: auto">{drawing(order, arrows)}</div>\n\n' + "\n".join(table) + "\n"


def layers() -> list[list[str]]:
    """Return the modules of each layer, from the highest to the lowest, as the contract lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [layer.split(" | ") for layer in contract["layers"]]


def modules() -> list[str]:
    """Return all modules."""
    return [module for layer in layers() for module in layer]


def files(module: str) -> list[Path]:
    """Return the source of a module: a file, or all files of a package."""
    path = ROOT / PACKAGE / module
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imported(module: str) -> set[str]:
    """Return the modules below that a module imports."""
    found: set[str] = set()
    for node in (node for file in files(module) for node in ast.walk(ast.parse(file.read_text("utf-8")))):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE}."):
            found.add(node.module.split(".")[1])
    lower = modules()[modules().index(module) + 1 :]
    return found & set(lower)


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
