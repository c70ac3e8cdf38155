"""What mkdocs asks about each page: its description, its diagrams, where it can be edited.

`mkdocs.yml` names this module under `hooks`.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any, Final

from docs import error_pages

LONGEST: Final = 200  # characters of a description, of which search engines show about 160
GENERATED: Final = ("api/", "errors/", "notebooks/")  # pages that a command writes, so an edit there would be lost
NO_PROSE: Final = ("#", "!", "<", ">", "|", "- ", "* ", ":::", "$", "1.", "    ")
IMAGES: Final = Path(__file__).parent / "images"
DIAGRAM: Final = re.compile(r'<img alt="(?P<alt>[^"]*)" src="[^"]*/(?P<name>[\w-]+\.svg)" ?/?>')


def on_config(config: Any) -> None:
    """Put the page of each error message below its topic."""
    section = next(item["Error messages"] for item in config.nav if isinstance(item, dict) and "Error messages" in item)
    by_topic: dict[str, list[str]] = {}
    for text in error_pages.texts():
        by_topic.setdefault(text.topic, []).append(f"errors/{text.name}.md")
    section += [{topic: pages} for topic, pages in by_topic.items()]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Describe a page by its first paragraph, unless its front matter does."""
    page.meta.setdefault("description", description(markdown))
    if page.file.src_uri.startswith(GENERATED):
        page.edit_url = None


def on_page_content(html: str, **_: Any) -> str:
    """Put each diagram into the page, where it has the colours of the page, and its text can be found."""
    return DIAGRAM.sub(lambda image: with_label(IMAGES.joinpath(image["name"]).read_text("utf-8"), image["alt"]), html)


def with_label(svg: str, label: str) -> str:
    """Return a drawing that a screen reader reads as its label."""
    labelled = svg.replace('role="img"', f'role="img" aria-label="{label}"', 1)
    return f'<div class="diagram">{labelled}</div>'


def description(markdown: str) -> str:
    """Return the beginning of the first paragraph of a page without its markup, as text of an HTML attribute."""
    outside = re.sub(r"^(```|~~~).*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    paragraphs = re.split(r"\n\s*\n", outside)
    prose = next((one for one in paragraphs if is_prose(one)), "")
    plain = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", prose)
    return escape(beginning(" ".join(re.sub(r"[`*$\\]", "", plain).split())))


def is_prose(paragraph: str) -> bool:
    """Whether a paragraph is running text: no heading, list, image or line of links."""
    return bool(paragraph.strip()) and not paragraph.lstrip("\n").startswith(NO_PROSE) and " · [" not in paragraph


def beginning(text: str) -> str:
    """Return as much as fits, up to a full stop where there is one."""
    stops = [found.end() for found in re.finditer(r"[.?](?= |$)", text) if found.end() <= LONGEST]
    if stops or len(text) <= LONGEST:
        return text[: stops[-1]] if stops else text
    return text[:LONGEST].rpartition(" ")[0] + " ..."
