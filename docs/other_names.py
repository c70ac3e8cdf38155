"""Write the tables of names into docs/guide/from-pytorch.md: `python -m docs.other_names`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from docs.marks import between_marks
from tapegrad.errors.other_names import (
    ARGUMENTS,
    DATA,
    FUNCTIONS,
    LAYERS,
    METHODS,
    OF_MODULES,
    OF_OPTIMIZERS,
    OPTIMIZERS,
    WITHOUT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PAGE: Final = Path(__file__).parent / "guide" / "from-pytorch.md"
START, END = "<!-- names -->", "<!-- end of names -->"


def tables() -> str:
    """Return the tables: functions, methods, arguments, layers, and methods of modules and optimizers."""
    arguments = {f"{name}=": ", ".join(f"`{one}=`" for one in own) for name, own in ARGUMENTS.items()}
    arguments |= {f"{name}=": note for name, note in WITHOUT.items()}
    kinds: list[tuple[str, Mapping[str, str]]] = [
        ("Function", FUNCTIONS),
        ("Method", METHODS),
        ("Argument", arguments),
        ("Layer, optimizer or data", {**LAYERS, **OPTIMIZERS, **DATA}),
        ("Method of a module", OF_MODULES),
        ("Method of an optimizer", OF_OPTIMIZERS),
    ]
    return "\n\n".join(_table(kind, names) for kind, names in kinds)


def _table(kind: str, names: Mapping[str, str]) -> str:
    return "\n".join([f"| {kind} | in tapegrad |", "| --- | --- |", *_rows(names)])


def _rows(names: Mapping[str, str]) -> Iterable[str]:
    """Return a row for each replacement, with all names that it replaces."""
    by_replacement: dict[str, list[str]] = {}
    for name, own in sorted(names.items()):
        by_replacement.setdefault(own, []).append(name)
    for own, replaced in by_replacement.items():
        yield f"| {', '.join(f'`{name}`' for name in replaced)} | {_as_code(own)} |"


def _as_code(own: str) -> str:
    """Return a replacement with its expression as code; a note has none, and arguments are code already."""
    expression, comma, rest = own.partition(", ") if "(" not in own else (own, "", "")
    return own if " " in expression or expression.startswith("`") else f"`{expression}`{comma}{rest}"


def written(text: str) -> str:
    """Return the page with the tables between its two marks."""
    return between_marks(text, START, END, tables())


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
