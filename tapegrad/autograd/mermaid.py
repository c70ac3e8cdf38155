"""Graphs in the text format of Mermaid, which GitHub, Jupyter and most editors draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# HTML entities with # instead of &; text between < and > would be parsed as a tag and not drawn.
_CODES: Final = str.maketrans({"#": "#35;", "&": "#38;", '"': "#quot;", "<": "#lt;", ">": "#gt;"})


def flow(boxes: Iterable[str], arrows: Iterable[tuple[int, int]]) -> str:
    """Return a graph as a Mermaid flowchart, from top to bottom.

    Args:
        boxes: The text of each box.
        arrows: Pairs of box indices, from and to.

    Returns:
        One line per box and one per arrow, after `graph TD`.

    Source:
        [Mermaid](https://mermaid.js.org/syntax/flowchart.html), flowcharts, "Entity codes to escape characters".
    """
    drawn = [f'    n{number}["{_escaped(box)}"]' for number, box in enumerate(boxes)]
    return "\n".join(["graph TD", *drawn, *(f"    n{start} --> n{end}" for start, end in arrows)])


def bundle(line: str, graph: str) -> dict[str, str]:
    """Return a MIME bundle for notebooks: a line of text, and a Mermaid graph with JupyterLab's MIME type."""
    return {"text/plain": line, "text/vnd.mermaid": graph}


def _escaped(box: str) -> str:
    return " ".join(box.split()).translate(_CODES)
