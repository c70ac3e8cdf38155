"""A Markdown extension that shows formulas as MathML, which browsers show without any script.

A formula of a docstring is text, so that `help()` and editors show it as it is written; `formulas.toml` has its LaTeX.
Pages of the guide contain LaTeX, which arithmatex finds.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from latex2mathml.converter import convert
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from typing_extensions import override

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown


TABLE: Final = Path(__file__).with_name("formulas.toml")
DISPLAYED: Final = re.compile(r"(?:(?<=\n\n)|\A)(?:    .*\S.*\n?)+")  # indented lines between empty ones
INLINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
MINUS = "&#x02212;"
TILDE, SIMILAR = "&#x0007E;", "&#x0223C;"
OPENING = r"<mo[^>]*>(?:&#x00028;|&#x0005B;|&#x0002C;|&#x0003D;|\(|\[|,|=)</mo>"


@cache
def latex(kind: Literal["displayed", "inline"]) -> dict[str, str]:
    """Return the LaTeX of each formula of the docstrings by its text."""
    entries = tomllib.loads(TABLE.read_text("utf-8"))[kind]
    return {entry["text"]: entry["latex"] for entry in entries}


def without_indent(block: str) -> str:
    """Return indented lines without the indentation that marks them as a formula."""
    return "\n".join(line.removeprefix("    ").rstrip() for line in block.splitlines())


class LaTeX(Preprocessor):
    """Puts LaTeX in the place of the formulas that are text."""

    @override
    def run(self, lines: list[str]) -> list[str]:
        text = DISPLAYED.sub(displayed_latex, "\n".join(lines))
        return INLINE.sub(inline_latex, text).split("\n")


def displayed_latex(block: re.Match[str]) -> str:
    """Return a formula as LaTeX, and a block of code as it is."""
    found = latex("displayed").get(without_indent(block[0]))
    return block[0] if found is None else f"$${found}$$\n"


def inline_latex(code: re.Match[str]) -> str:
    """Return a formula as LaTeX, and other code as it is."""
    found = latex("inline").get(code[1])
    return code[0] if found is None else f"${found}$"


class Formulas(Treeprocessor):
    r"""Puts MathML in the place of `\\(inline\\)` and `\\[displayed\\]` formulas."""

    @override
    def run(self, root: Element) -> None:
        for element in root.iter():
            if element.get("class") == "arithmatex":
                element.text = AtomicString(self.md.htmlStash.store(mathml(element.text or "")))


def mathml(formula: str) -> str:
    """Return the MathML of a formula between arithmatex's delimiters."""
    markup = convert(formula[2:-2].strip(), display="block" if formula.startswith(r"\[") else "inline")
    # A browser would set too close what the converter takes for a letter, and too far a minus with nothing before it.
    markup = re.sub(r"<mi>(&#x[0-9A-F]+;|\W)</mi>", as_operator, markup.replace(TILDE, SIMILAR))
    return re.sub(rf"({OPENING})<mo>{MINUS}</mo>", rf'\1<mo form="prefix">{MINUS}</mo>', markup)


def as_operator(letter: re.Match[str]) -> str:
    """Return the symbol as an operator unless it is a letter."""
    return letter[0] if unescape(letter[1]).isalpha() else f"<mo>{letter[1]}</mo>"


class MathML(Extension):
    """Runs before the blocks are parsed, and after the inline patterns, among them arithmatex's own."""

    @override
    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(LaTeX(md), "formulas", 24)  # after superfences at 25, which takes the fenced code
        md.treeprocessors.register(Formulas(md), "mathml", 15)


def makeExtension() -> MathML:  # noqa: N802  # the name that Markdown asks for
    """Return the extension."""
    return MathML()
