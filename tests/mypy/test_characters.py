"""mypy's columns on lines with letters of several bytes."""

from __future__ import annotations

from typing import Any

from mypy.build import build
from mypy.modulefinder import BuildSource
from mypy.nodes import CallExpr
from mypy.options import Options

from tapegrad.mypy.coverage.program import nodes_in
from tapegrad.mypy.coverage.spelling import Spelling

SOURCE = """\
def f(x: int, *more: object) -> int: return x
'é'; f(1); x = f(2, 'ä€😀', 3) + f(4)
f(5, '€'); f(6)
"""


def test_each_expression_is_found_at_its_own_characters() -> None:
    options = Options()
    options.preserve_asts, options.incremental = True, False
    tree: Any = build([BuildSource("program.py", "program", SOURCE)], options).graph["program"].tree

    calls = [Spelling(SOURCE).of(node) for node in nodes_in(tree) if isinstance(node, CallExpr)]

    assert calls == ["f(1)", "f(2, 'ä€😀', 3)", "f(4)", "f(5, '€')", "f(6)"]
