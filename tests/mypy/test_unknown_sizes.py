"""mypy on valid programs in which one size is hidden: an unknown size raises no false alarm.

The programs are the accepted ones of typecheck/, the examples and the pages. One size of each function at a time is
hidden: a number becomes the result of a function that returns `int`, a number in an annotation becomes Any, and a name
of a size becomes `int` where it annotates an argument and Any inside a shape.

    python -m tests.mypy.test_unknown_sizes [programs] [--seed SEED]
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import tempfile
from collections import defaultdict
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from typing_extensions import override

from tests.mypy.test_under_fire import FAILED, mypy
from tests.test_docs import programs as pages
from tests.warm_mypy_cache import write_settings

ROOT = Path(__file__).parent.parent.parent
AT_ONCE = 100  # programs in one run of mypy
REPORT = re.compile(r"^(.*?):(\d+): error: (.*?)(?:  \[([a-z-]+)\])?$")
# What a program says of itself, and may say too much of with a size less: assertions, and how many words mypy needs.
CLAIMS = frozenset(["assert-type", "unused-ignore", "redundant-cast", "no-any-return"])
# What mypy itself says of annotations that say less, or of an int where one is declared by its value or computed.
OWN = re.compile(
    r"A function returning TypeVar should receive"
    r'|incompatible type "int"; expected "(Literal\[|[A-Z]")'
    r'|Incompatible return value type \(got "(tuple\[.*, )?int\]?", expected "(tuple\[.*, )?Sum\['
    r"|the result(\[\d+\])? is \? but .* is expected$"  # the same, in the words of the plugin
)
# Their numbers are no sizes: they count calls, select branches and name elements, of which mypy assumes the worst.
COUNTING = "typecheck/borrow_checker/"
HIDDEN = "from typing import Any as AnySize\ndef any_int(n: int) -> int: return n\n"


class Edit(NamedTuple):
    """Another text in the place of one, in a line of a program."""

    line: int
    start: int
    end: int
    text: str


Hiding = tuple[Edit, ...]  # of one size, wherever it stands


class Source(NamedTuple):
    """A program that is accepted, and how its sizes can be hidden: by function, and what stands outside of them."""

    origin: str
    text: str
    hidings: tuple[tuple[Hiding, ...], ...]


class Hidden(NamedTuple):
    """A program with at most one hidden size in each function."""

    source: Source
    hidings: tuple[Hiding, ...]

    @property
    def text(self) -> str:
        """The program, with as many lines above it as the names that stand for what is unknown take."""
        lines = self.source.text.splitlines()
        for edit in sorted((edit for hiding in self.hidings for edit in hiding), reverse=True):
            line = lines[edit.line - 1].encode()  # as ast counts
            lines[edit.line - 1] = (line[: edit.start] + edit.text.encode() + line[edit.end :]).decode()
        return HIDDEN + "\n".join(lines) + "\n"


class Sizes(ast.NodeVisitor):
    """Finds the sizes of a function, or of what stands outside of all functions."""

    def __init__(self, names: frozenset[str]) -> None:
        self.found: list[Hiding] = []
        self._names = names
        self._annotated = 0
        self._by_name: list[dict[str, list[Edit]]] = []

    def annotation(self, node: ast.AST | None) -> None:
        """Look for the sizes in an annotation."""
        if node is not None:
            self._annotated += 1
            self.visit(node)
            self._annotated -= 1

    def _of_function(self, node: ast.FunctionDef | ast.ClassDef, result: ast.expr | None = None) -> None:
        if self._by_name:  # a name is the same as in the function or the class around it
            self.generic_visit(node)
            self.annotation(result)
            return
        self._by_name.append(defaultdict(list))
        self.generic_visit(node)
        self.annotation(result)
        self.found += [tuple(edits) for edits in self._by_name.pop().values()]

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        result, node.returns = node.returns, None
        self._of_function(node, result)
        node.returns = result

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if any("Protocol" in ast.unparse(base) for base in node.bases):
            return  # without its names it is of another variance
        bases, node.bases = node.bases, []  # `Generic[N]` keeps its names
        self._of_function(node)
        node.bases = bases

    @override
    def visit_arguments(self, node: ast.arguments) -> None:
        for one in (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg):
            if one is None or one.annotation is None:
                continue
            if isinstance(one.annotation, ast.Name) and one.annotation.id in self._names:
                self._name(one.annotation, "int")
            else:
                self.annotation(one.annotation)
        for default in (*node.defaults, *filter(None, node.kw_defaults)):
            self.visit(default)

    @override
    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    @override
    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in ("TypeVar", "TypeVarTuple", "assert_divides", "assert_same"):
            return  # an assertion that says less proves less
        if name == "assert_type":  # what it asserts may be too much by then, but its names must be there
            self.visit(node.args[0])
            for one in ast.walk(node.args[1]):
                if isinstance(one, ast.Name) and one.id in self._names:
                    self._name(one, "AnySize")
            return
        if name == "cast":
            self.annotation(node.args[0])
            self.visit(node.args[1])
            return
        self.generic_visit(node)

    @override
    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in ("L", "Literal"):
            if isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
                self.found.append((_edit(node, "AnySize"),))
            return
        name = getattr(node.value, "id", getattr(node.value, "attr", ""))
        if name[:1].isupper() and name not in ("X", "Y"):  # a generic type
            self.annotation(node.slice)
            return
        self.visit(node.value)
        # An item of a tuple is of one type, and of an unknown place of all their types.
        if not isinstance(node.slice, ast.Constant | ast.UnaryOp):
            self.visit(node.slice)

    @override
    def visit_Name(self, node: ast.Name) -> None:
        if self._annotated and node.id in self._names:
            self._name(node, "AnySize")

    @override
    def visit_Constant(self, node: ast.Constant) -> None:
        if not self._annotated and type(node.value) is int:
            self.found.append((_edit(node, f"any_int({node.value})"),))

    @override
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave what is only printed."""

    @override
    def visit_Match(self, node: ast.Match) -> None:
        """Look past the patterns: they take no calls."""
        self.visit(node.subject)
        for case in node.cases:
            for statement in case.body:
                self.visit(statement)

    def _name(self, node: ast.Name, text: str) -> None:
        if self._by_name:  # outside, an alias would lose a parameter
            self._by_name[-1][node.id].append(_edit(node, text))


def _edit(node: ast.expr, text: str) -> Edit:
    assert node.end_col_offset is not None
    return Edit(node.lineno, node.col_offset, node.end_col_offset, text)


def source(origin: str, text: str) -> Source:
    """Read a program: without the functions that are rejected, and with the sizes that can be hidden."""
    tree = ast.parse(text)
    lines = text.splitlines()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("reject_"):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    text = "\n".join(lines)
    tree = ast.parse(text)
    names = frozenset(re.findall(r"^(\w+) = TypeVar\(.*bound=int\b", text, re.MULTILINE))
    outside, hidings = Sizes(names), []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = Sizes(names)
            inside.visit(node)
            hidings.append(tuple(inside.found))
        else:
            outside.visit(node)
    # What stands outside may be used in all functions: one of these at a time, and nothing in the functions.
    return Source(origin, text, (*hidings, tuple(outside.found)))


@cache
def sources() -> list[Source]:
    """Return all right programs."""
    files = [*sorted((ROOT / "typecheck").rglob("*.py")), *sorted((ROOT / "examples").glob("*.py"))]
    texts = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files if file.name != "digits_wrong.py"}
    right = [page for page in pages() if not page.quoted("mypy") and all("Python" not in x.quotes for x in page.blocks)]
    texts |= {page.name: page.source for page in right}
    return [source(origin, text) for origin, text in texts.items()]


def hidden(one: Source) -> list[Hidden]:
    """Return the programs that hide each size of one once, those of different functions at the same time."""
    *functions, outside = one.hidings
    together = [Hidden(one, tuple(hiding for hiding in row if hiding is not None)) for row in zip_longest(*functions)]
    return [*together, *(Hidden(one, (hiding,)) for hiding in outside)]


def alarms(drawn: list[Hidden], folder: Path) -> list[str]:
    """Return what mypy says against programs that are right, each with what was hidden."""
    write_settings(folder)
    with (folder / "mypy.ini").open("a", encoding="utf-8") as settings:  # no path changes what is in the cache
        settings.write(f"mypy_path = {ROOT / 'stubs'}:{ROOT / 'examples'}\n")
        # matplotlib imports IPython, of which no program sees anything: mypy would read 300 modules.
        settings.write("[mypy-IPython.*]\nfollow_imports = skip\n")
    found: list[str] = []
    for start in range(0, len(drawn), AT_ONCE):
        names = {f"hidden_{number}.py": one for number, one in enumerate(drawn[start : start + AT_ONCE])}
        for one in {one.source for one in names.values()}:
            names.setdefault(f"known_{len(names)}.py", Hidden(one, ()))
        for name, one in names.items():
            (folder / name).write_text(one.text, "utf-8")
        found += alarms_in(names, folder)
    return found


def alarms_in(names: dict[str, Hidden], folder: Path) -> list[str]:
    """Return what mypy says against programs in files that it does not say where nothing is hidden."""
    code, said = mypy(folder, "mypy", "--show-traceback", *names)
    failed = [line for line in said if any(word in line for word in FAILED)]
    if code not in (0, 1):
        return [*failed, *said[-30:]]
    reports = [(match, names[match[1]]) for match in map(REPORT.match, said) if match is not None]
    known = {(one.source.origin, match[2]) for match, one in reports if not one.hidings}
    return failed + [
        f"{one.source.origin}: {changes(one, int(match[2]))}\n    {match[0]}"
        for match, one in reports
        if one.hidings
        and (one.source.origin, match[2]) not in known
        and match[4] not in CLAIMS
        and not (match[4] == "tapegrad-tape" and one.source.origin.startswith(COUNTING))
        and not OWN.search(match[3])
    ]


def changes(one: Hidden, line: int) -> str:
    """Name what is hidden in a program, beginning with what stands closest above a line."""
    above = HIDDEN.count("\n")
    texts = [(abs(line - above - hiding[0].line), hiding[0]) for hiding in one.hidings]
    return ", ".join(f"{edit.line + above}: {edit.text}" for _, edit in sorted(texts)[:2])


def test_a_hidden_size_causes_no_false_alarm(tmp_path: Path) -> None:
    dice = random.Random(0)  # noqa: S311  # draws programs, not secrets
    drawn: list[Hidden] = []
    while len(drawn) < 20:
        if found := hidden(dice.choice(sources())):  # a program may have no size to hide
            drawn.append(dice.choice(found))

    assert alarms(drawn, tmp_path) == []


def main() -> None:
    """Print each alarm, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("programs", type=int, nargs="?", default=0, help="0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    options = parser.parse_args()
    drawn = [program for one in sources() if options.only in one.origin for program in hidden(one)]
    random.Random(options.seed).shuffle(drawn)  # noqa: S311  # draws programs, not secrets
    if options.programs:
        drawn = drawn[: options.programs]
    with tempfile.TemporaryDirectory() as folder:
        found = alarms(drawn, Path(folder))
    sys.stdout.write("\n".join([*found, f"{len(found)} alarms in {len(drawn)} programs\n"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
