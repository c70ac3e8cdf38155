"""Write what is not compared with PyTorch, and why, to docs/guide/differences.md: `python -m docs.oracle`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.oracle.differences import DIFFERENCES, NOT_IN_TORCH, OPTIONS, OTHERWISE

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE: Final = Path(__file__).parent / "guide" / "differences.md"


def page() -> str:
    """Return the text of the page with the tables as they are now."""
    text = PAGE.read_text("utf-8")
    for name, rows in tables().items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- end of {name} -->")
        text = f"{before}{start}\n{rows}{end}{after}"
    return text


def tables() -> dict[str, str]:
    """Return each table by the name of its place on the page."""
    options = {f"{name}({option}=)": reason for (name, option), reason in OPTIONS.items()}
    return {
        "special values": _table("op", "difference", {name: reason for name, (_, reason) in DIFFERENCES.items()}),
        "not compared": _table("op", "reason", NOT_IN_TORCH),
        "not in programs": _table("op", "reason", OTHERWISE),
        "options": _table("option of PyTorch", "reason, or what to write instead", options),
    }


def _table(first: str, second: str, reasons: Mapping[str, str]) -> str:
    """Return a table with one row for each reason."""
    names: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        names.setdefault(reason, []).append(f"`{name}`")
    rows = [f"| {', '.join(found)} | {_prose(reason)} |" for reason, found in names.items()]
    return "\n".join([f"| {first} | {second} |", "| --- | --- |", *rows]) + "\n"


def _prose(reason: str) -> str:
    return reason.replace("torch", "PyTorch")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
