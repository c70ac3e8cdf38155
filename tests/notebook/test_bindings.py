"""Names that statements bind, and renaming of a global."""

from __future__ import annotations

import ast

import pytest

from tapegrad.notebook.bindings import Binding, bindings, renamed

BOUND = [
    ("x = y = 1", {"x": 0, "y": 0}),
    ("x, (y, *z) = f()", {"x": 0, "y": 0, "z": 0}),
    ("x: int = 1", {"x": 1}),
    ("x: int", {"x": 1}),
    ("x.y = 1; x[z] = 2", {}),
    ("x += 1", {"x": 0}),
    ("for x in y: z = 1", {"x": 0, "z": 0}),
    ("with open(a) as f: pass", {"f": 0}),
    ("def f(a, *, b): c = 1", {"f": 1}),
    ("@(d := deco)\nclass C:\n    x = 1", {"C": 1, "d": 0}),
    ("import a.b, c.d as e", {"a": 1, "e": 1}),
    ("from a import b, c as d", {"b": 1, "d": 1}),
    ("try: pass\nexcept E as e: x = 1", {"e": 0, "x": 0}),
    (
        "match p:\n    case [a, *b]: pass\n    case {'k': c, **d}: pass\n    case P() as e: pass",
        dict.fromkeys("abcde", 0),
    ),
    ("[x for x in y if (z := x)]", {"z": 0}),
    ("lambda a: (b := a)", {}),
    ("(x := 1)", {"x": 0}),
    ("if c:\n    x = 1\nelse:\n    def x(): pass", {"x": 1}),
]

RENAMED = [
    ("f(f)", "g(g)"),
    ("f = f + 1", "g = g + 1"),
    ("def f(x: f = f) -> f:\n    return f(x)", "def g(x: g=g) -> g:\n    return g(x)"),
    ("def h(f):\n    return f", "def h(f):\n    return f"),
    ("def h(x=f):\n    f = x\n    return f", "def h(x=g):\n    f = x\n    return f"),
    ("def h():\n    global f\n    f = 1", "def h():\n    global g\n    g = 1"),
    ("async def h(*f):\n    return f", "async def h(*f):\n    return f"),
    ("lambda f: f", "lambda f: f"),
    ("lambda x=f: f", "lambda x=g: g"),
    ("[f for x in f]", "[g for x in g]"),
    ("[f for f in f]", "[f for f in g]"),
    ("x.f.f", "x.f.f"),
    ("h(f=f)", "h(f=g)"),
    ("import f", "import f as g"),
    ("import f.h", "import f.h"),
    ("from a import f", "from a import f as g"),
    ("class f(f):\n    x = f", "class g(g):\n    x = g"),
    ("class C(f):\n    f = 1\n    x = f", "class C(g):\n    f = 1\n    x = f"),
    (
        "class C:\n\n    def f(self):\n        return f",
        "class C:\n\n    def f(self):\n        return g",
    ),
    ("try:\n    pass\nexcept f as f:\n    pass", "try:\n    pass\nexcept g as g:\n    pass"),
    ("match f:\n    case [f, *_]:\n        pass", "match g:\n    case [g, *_]:\n        pass"),
]


@pytest.mark.parametrize(("source", "bound"), BOUND)
def test_bindings_are_found_as_certain_or_possible(source: str, bound: dict[str, int]) -> None:
    assert bindings(ast.parse(source).body) == {name: Binding(how) for name, how in bound.items()}


@pytest.mark.parametrize(("source", "expected"), RENAMED)
def test_a_global_is_renamed_in_its_scope(source: str, expected: str) -> None:
    (statement,) = ast.parse(source).body

    assert ast.unparse(renamed(statement, "f", "g")) == expected
    assert ast.unparse(statement) == ast.unparse(ast.parse(source))
