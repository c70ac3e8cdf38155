"""Writes the page on the floors of the house: which room stands on which, read off the imports themselves."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tapegrad.notebook.drawing import drawing

ROOT = Path(__file__).parent.parent
PACKAGE = "tapegrad"
HEAD = """\
# Architecture

An import goes down only: a room knows the floors below its own, and nothing of those above.
import-linter holds the rooms to the floors that `pyproject.toml` names, in each run of CI.

The drawing and the table are read off the imports of the source, those inside of functions too.
What a room imports from above for its annotations alone, which `pyproject.toml` excuses line by line, is left out.
An arrow leads from a room to one that it imports; where a longer way leads there as well, the arrow is left out.

"""


def page() -> str:
    """Return the page: a drawing, and a table from the top floor to the ground."""
    order = rooms()
    below = {room: imported(room) for room in order}
    arrows = [(order.index(room), order.index(low)) for room in order for low in sorted(nearest(room, below))]
    lines = [
        f"| {number} | `{room}` | {words(room)} | {', '.join(f'`{low}`' for low in sorted(below[room]))} |"
        for number, floor in zip(range(len(floors()) - 1, -1, -1), floors(), strict=True)
        for room in floor
    ]
    table = ["| floor | room | what it is | imports |", "| --- | --- | --- | --- |", *lines]
    return HEAD + f'<div style="overflow-x: auto">{drawing(order, arrows)}</div>\n\n' + "\n".join(table) + "\n"


def floors() -> list[list[str]]:
    """Return the rooms of each floor, from the top one to the ground, as the contract names them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [floor.split(" | ") for floor in contract["layers"]]


def rooms() -> list[str]:
    """Return all rooms."""
    return [room for floor in floors() for room in floor]


def files(room: str) -> list[Path]:
    """Return the source of a room: a file, or all files of a folder."""
    path = ROOT / PACKAGE / room
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imported(room: str) -> set[str]:
    """Return the rooms below that a room imports."""
    found: set[str] = set()
    for node in (node for file in files(room) for node in ast.walk(ast.parse(file.read_text("utf-8")))):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE}."):
            found.add(node.module.split(".")[1])
    lower = rooms()[rooms().index(room) + 1 :]
    return found & set(lower)


def nearest(room: str, below: dict[str, set[str]]) -> set[str]:
    """Return the rooms that a room imports and that no other of them leads to."""
    return {low for low in below[room] if not any(low in reached(other, below) for other in below[room] - {low})}


def reached(room: str, below: dict[str, set[str]]) -> set[str]:
    """Return all rooms that a room leads to, on whatever way."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        fresh = below[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def words(room: str) -> str:
    """Return the first sentence that a room says of itself."""
    path = ROOT / PACKAGE / room
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
