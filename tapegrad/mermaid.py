"""Pictures of tapes as text, which GitHub, Jupyter and most editors draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# The entities of HTML with a # for the &; what stands between < and > would be taken for a tag, and not be drawn.
_CODES: Final = str.maketrans({"#": "#35;", "&": "#38;", '"': "#quot;", "<": "#lt;", ">": "#gt;"})


def flow(boxes: Iterable[str], arrows: Iterable[tuple[int, int]]) -> str:
    """Write a graph in the language of Mermaid, from top to bottom.

    Args:
        boxes: What stands in each.
        arrows: From which box to which, counted from 0.

    Returns:
        One line a box and one an arrow, below `graph TD`.

    Source:
        [Mermaid](https://mermaid.js.org/syntax/flowchart.html), flowcharts, "Entity codes to escape characters".
    """
    drawn = [f'    n{number}["{_escaped(box)}"]' for number, box in enumerate(boxes)]
    return "\n".join(["graph TD", *drawn, *(f"    n{start} --> n{end}" for start, end in arrows)])


def bundle(line: str, graph: str) -> dict[str, str]:
    """Return what a notebook may show of a tape: its line, and the graph by the name that JupyterLab has for it."""
    return {"text/plain": line, "text/vnd.mermaid": graph}


def _escaped(box: str) -> str:
    return " ".join(box.split()).translate(_CODES)
