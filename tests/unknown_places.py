"""Where mypy knows less than all of a tensor in pages, notebooks and type programs: `unknown_places.toml` lists it.

A place is the function that something is lost in first, or outside of functions the expression. A test compares the
list with what mypy reports under the error code `tapegrad-unknown`: a new place fails, and so does one that is gone.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

CODE = "tapegrad-unknown"
LIST = Path(__file__).with_name("unknown_places.toml")


def differences(found: set[tuple[str, str]], *folders: str) -> list[str]:
    """Return where the list and what was found in some folders differ; both hold pairs of a file and a place."""
    listed: set[tuple[str, str]] = set()
    for entry in tomllib.loads(LIST.read_text("utf-8"))["unknown"]:
        assert entry["reason"].endswith("."), f"no reason: {entry}"
        pairs = {(file, place) for file, places in entry["places"].items() for place in places}
        assert listed.isdisjoint(pairs), f"two reasons: {sorted(listed & pairs)}"
        listed |= pairs
    here = {(file, place) for file, place in listed if file.startswith(folders)}
    return [
        *(f"add to {LIST.name}: {file}: {place}" for file, place in sorted(found - here)),
        *(f"no longer unknown: {file}: {place}" for file, place in sorted(here - found)),
    ]


def place(source: str, line: int, message: str) -> str:
    """Return the place of a report: the outermost function or class that its line is in, or the expression."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    around = [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, definitions) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return around[0] if around else message.partition(": the ")[0]
