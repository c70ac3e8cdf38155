"""Formulas in docstrings are text that `help()` shows as it is; `docs/formulas.toml` has their LaTeX for the pages."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from markdown import Markdown

import tapegrad as tg
from docs.mathml import DISPLAYED, INLINE, latex, mathml, without_indent

ROOT = Path(__file__).parent.parent
SECTION = re.compile(r"^[A-Z]\w+:\n(?:(?: .*)?\n)+", re.MULTILINE)  # `Args:` and so on, with the lines below
LATEX = re.compile(r"\$[^$\n]+\$|\$\$|\\[a-zA-Z]{2,}|[_^]\{")
PROMPT = re.compile(r"^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
WIDTH = 72  # of 80 columns: `help()` indents a docstring by 4, and the docstring its formulas by 4


@cache
def docstrings() -> dict[str, str]:
    """Return every docstring by file and line; that of an alias is the string below it."""
    return {
        f"{file.relative_to(ROOT)}:{line}": inspect.cleandoc(text)
        for file in sorted((ROOT / "tapegrad").rglob("*.py"))
        for line, text in strings(ast.parse(file.read_text("utf-8")))
    }


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return the strings that are statements, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield node.lineno, text


def displayed(docstring: str) -> list[str]:
    """Return the formulas that stand on lines of their own."""
    blocks = [without_indent(found[0]) for found in DISPLAYED.finditer(SECTION.sub("", docstring + "\n"))]
    return [block for block in blocks if block in latex("displayed") or not is_program(block)]


def is_program(block: str) -> bool:
    """Whether lines are Python and contain more than `y = f(x)`, which could be a formula too."""
    try:
        nodes = list(ast.walk(ast.parse(block)))
    except SyntaxError:
        return False
    is_call = any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in nodes)
    return is_call or any(isinstance(node, ast.Attribute | ast.FunctionDef | ast.With | ast.For) for node in nodes)


def inline(docstring: str) -> list[str]:
    """Return what is in backquotes: formulas and code."""
    return INLINE.findall(docstring)


def is_code(text: str) -> bool:
    """Whether text in backquotes may be code, which is ASCII except for an ellipsis."""
    return text.replace("…", "").isascii()


def test_every_formula_on_lines_of_its_own_has_latex_and_the_table_has_no_other() -> None:
    used = {formula: place for place, docstring in docstrings().items() for formula in displayed(docstring)}

    assert {place: formula for formula, place in used.items() if formula not in latex("displayed")} == {}
    assert [formula for formula in latex("displayed") if formula not in used] == []


def test_every_formula_in_backquotes_has_latex_and_the_table_has_no_other() -> None:
    used = {formula: place for place, docstring in docstrings().items() for formula in inline(docstring)}

    assert {place: one for one, place in used.items() if not is_code(one) and one not in latex("inline")} == {}
    assert [formula for formula in latex("inline") if formula not in used] == []


def test_no_docstring_contains_latex() -> None:
    found = {place: LATEX.findall(PROMPT.sub("", docstring)) for place, docstring in docstrings().items()}

    assert len(found) > 1000
    assert {place: latex for place, latex in found.items() if latex} == {}


def test_a_formula_fits_a_terminal_of_80_columns() -> None:
    assert [line for formula in latex("displayed") for line in formula.splitlines() if len(line) > WIDTH] == []


def test_help_shows_the_formula() -> None:
    assert displayed(inspect.getdoc(tg.softmax) or "") == [
        "y[i] = e^(x[i]) / ∑_j e^(x[j])\ndx = y (dy - ∑_j y[j] dy[j])"
    ]


def test_a_page_shows_a_formula_as_mathml_and_leaves_other_code_as_it_is() -> None:
    page = Markdown(
        extensions=["pymdownx.superfences", "pymdownx.arithmatex", "docs.mathml"],
        extension_configs={"pymdownx.arithmatex": {"generic": True}},
    )

    shown = page.convert(
        "`y = x f(x)` and `y = f` and ``y = x f(x)``:\n\n    y = -x\n\n    y = -x + 9\n\n"
        "```\n    y = -x\n`y = x f(x)`\n```\n"
    )

    assert shown.count(mathml(r"\(y = x \, f(x)\)")) == 1
    assert shown.count(mathml(r"\[y = -x\]")) == 1
    assert shown.count("<code>y = f</code>") == shown.count("<code>y = x f(x)</code>") == 1
    assert "y = -x + 9" in shown
    assert "    y = -x\n`y = x f(x)`" in shown
