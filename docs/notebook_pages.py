"""Write the pages under docs/notebooks: each notebook with its outputs, as it was executed and saved.

CI executes the notebooks and compares the errors that they show.
"""

from __future__ import annotations

import json
import re
import shutil
from html import escape
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = Path(__file__).parent / "notebooks"
NOTEBOOKS: Final = ROOT / "notebooks"
BEHIND: Final = "---\nsearch:\n  boost: 0.2\n---\n\n"  # the search lists the pages that explain something first


def pages() -> dict[str, str]:
    """Return the text of each page by its name, with an index of them."""
    written = {path.stem: page(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    lines = [f"- [{title(text)}]({name}.md): {summary(text)}" for name, text in written.items()]
    head = [
        "# Example notebooks",
        "",
        "These notebooks are in the folder `notebooks`, and are shown here with their outputs.",
        "mypy checks each cell before it runs, as [the page on notebooks](../guide/notebooks.md) describes.",
        "",
    ]
    return {"index.md": "\n".join([*head, *lines, ""])} | {f"{name}.md": text for name, text in written.items()}


def title(text: str) -> str:
    """Return the heading of a page."""
    return text.partition("\n")[0].removeprefix("# ")


def summary(text: str) -> str:
    """Return the first paragraph of a page, as the end of a line of a list."""
    return text.split("\n\n")[1].replace("\n", " ").removeprefix("This notebook ")


def page(path: Path) -> str:
    """Return a notebook as Markdown."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in shown(cell)) + "\n"


def shown(cell: dict[str, Any]) -> list[str]:
    """Return the parts of a page that show a cell: its text, or its code and its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [f"```ipython\n{source}\n```", *map(output, cell["outputs"])]


def output(given: dict[str, Any]) -> str:
    """Return what a cell has printed, displayed or raised."""
    if given["output_type"] == "stream":
        return f"```console\n{''.join(given['text']).rstrip()}\n```"
    if given["output_type"] == "error":
        text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(given["traceback"]))
        return f'```text title="mypy rejects the cell"\n{text.rstrip()}\n```'
    data = {kind: "".join(content) for kind, content in given["data"].items()}
    if "image/png" in data:
        alternative = escape(data.get("text/plain", "a plot"))
        return f'<img class="notebook" alt="{alternative}" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "image/svg+xml" in data:
        return inside(data["image/svg+xml"])
    return inside(data["text/html"]) if "text/html" in data else f"```console\n{data['text/plain']}\n```"


def inside(html: str) -> str:
    """Return HTML as one block of Markdown, which has no empty lines."""
    dense = re.sub(r"\n\s*\n", "\n", html).strip()
    return f'<div class="notebook" data-md-color-scheme="default">{dense}</div>'


def main() -> None:
    """Write all pages again."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    for name, text in pages().items():
        (PAGES / name).write_text(BEHIND + text, "utf-8")


if __name__ == "__main__":
    main()
