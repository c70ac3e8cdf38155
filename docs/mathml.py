"""A Markdown extension that turns what arithmatex has found into MathML, which browsers show without any script."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from latex2mathml.converter import convert
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from typing_extensions import override

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown


MINUS = "&#x02212;"
TILDE, SIMILAR = "&#x0007E;", "&#x0223C;"
OPENING = r"<mo[^>]*>(?:&#x00028;|&#x0005B;|&#x0002C;|&#x0003D;|\(|\[|,|=)</mo>"


class Formulas(Treeprocessor):
    r"""Puts MathML in the place of `\\(inline\\)` and `\\[displayed\\]` formulas."""

    @override
    def run(self, root: Element) -> None:
        for element in root.iter():
            if element.get("class") == "arithmatex":
                element.text = AtomicString(self.md.htmlStash.store(mathml(element.text or "")))


def mathml(formula: str) -> str:
    """Return the MathML of a formula between arithmatex's delimiters."""
    latex = formula[2:-2].strip()
    markup = convert(latex, display="block" if formula.startswith(r"\[") else "inline")
    # A browser would set too close what the converter takes for a letter, and too far a minus with nothing before it.
    markup = re.sub(r"<mi>(&#x[0-9A-F]+;|\W)</mi>", as_operator, markup.replace(TILDE, SIMILAR))
    return re.sub(rf"({OPENING})<mo>{MINUS}</mo>", rf'\1<mo form="prefix">{MINUS}</mo>', markup)


def as_operator(letter: re.Match[str]) -> str:
    """Return the symbol as an operator unless it is a letter."""
    return letter[0] if unescape(letter[1]).isalpha() else f"<mo>{letter[1]}</mo>"


class MathML(Extension):
    """Runs after the inline patterns, among them arithmatex's own."""

    @override
    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(Formulas(md), "mathml", 15)


def makeExtension() -> MathML:  # noqa: N802  # the name that Markdown asks for
    """Return the extension."""
    return MathML()
