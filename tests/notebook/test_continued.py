"""A cell is checked behind the program that has run, with the reports that mypy has on the whole program."""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from mypy.plugin import Plugin

from tapegrad.checker.process import CheckerProcess
from tapegrad.mypy import mypy_api
from tapegrad.mypy.mypy_api import ResidentMypy
from tapegrad.notebook.checker import SETTINGS
from tapegrad.notebook.program import Program
from tapegrad.project.reports import OPTIONS, read_reports
from tests.warm_mypy_cache import copy_warm_cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tapegrad.project.reports import Report

pytestmark = pytest.mark.skipif(
    not hasattr(Plugin, "get_additional_indirect_deps"), reason="before mypy 2.4 a cell is checked with all above it"
)
TOP = """\
import dataclasses, math, enum
from typing import Literal as L
from typing import TypeVar

import tapegrad as tg
from tapegrad import Shape, Tensor, nn

N = TypeVar("N", bound=int)
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)
        self.down = nn.Linear(3, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(tg.relu(self.up(x)))

def double(x: Tensor[Shape[N]]) -> Tensor[Shape[N]]:
    return x * 2

B = 32
x = tg.ones((B, 3))
net = Net(8)
w = tg.ones((2, 3)).trace()
loss = (w * w).sum()
rows = []
value = None
"""
_TEXT = """\
B = 64
x = tg.ones((B, 3))
x + tg.ones((32, 3))
#
x = x @ tg.ones((3, 3))
reveal_type(x)
#
x, y = tg.ones((2,)), tg.ones((3,))
x + y
#
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)
net = Net(8)
#
reveal_type(net(tg.ones((2, 8))))
net(tg.ones((2, 7)))
#
net = Net(3)
reveal_type(net(x))
#
def double(x: Tensor) -> Tensor:
    return x + x
#
reveal_type(double(tg.ones((8,))))
#
w = tg.ones((2, 3)).trace()
loss = w.sum()
for step in range(3):
    loss = loss + 1
#
grads = loss.backward()
reveal_type(grads[w])
#
loss2 = (w * 3).sum()
loss2.backward()
#
rows.append(tg.ones((2, 3)))
#
rows.append("a")
reveal_type(rows)
#
value = 3
reveal_type(value)
#
if B > 3:
    value = "text"
reveal_type(value)
#
def later_one() -> int:
    return later
reveal_type(later_one())
#
later = 5
#
later: str = "x"
#
r = math.sqrt(2.0)
wrong: str = r
#
@dataclasses.dataclass
class Config:
    width: int = 8
c = Config(width=3)
lin = nn.Linear(c.width, 4 * c.width)
lin(tg.ones((2, c.width)))
#
class Base:
    def f(self) -> int:
        return 1
class Child(Base):
    def f(self) -> str:
        return "a"
#
def train(net: Net, n: int) -> None:
    l = net(tg.ones((n, 8)).trace()).sum()
    l.backward()
    l.backward()
train(net, 3)
#
def step(l):
    return l.backward()
step(loss)
#
from contextlib import ExitStack
stack = ExitStack()
stack.callback(loss.backward)
#
stack.close()
loss.backward()
#
net.extra = 3
#
x.foo()
#
d = {}
d["u"] = tg.ones((2,))
reveal_type(d)
#
class Color(enum.Enum):
    RED = 1
reveal_type(Color.RED)
#
from missing_module import thing
thing + 1
#
raise SystemExit
"""
CELLS = _TEXT.split("#\n")


class Both(NamedTuple):
    """A mypy that continues, in this process, and one that checks whole programs."""

    folder: Path
    path: Path
    continued: ResidentMypy
    whole: CheckerProcess

    def check(self, program: Program, cell: str) -> tuple[list[Report], list[Report]]:
        """Return the reports of both on a cell."""
        draft = program.with_cell(cell, ast.parse(cell))
        above = draft.above.count("\n")
        texts = {str(self.path): draft.above + draft.cell}
        self.continued.files.set_texts(texts)
        own = read_reports(self.continued.check_end(str(self.path), above))
        other = self.whole.check([str(self.path)], texts).reports
        return _of_cell(own, above), _of_cell(other, above)


def _of_cell(reports: list[Report], above: int) -> list[Report]:
    """Return the reports on lines of the cell, in order.

    The daemon itself does not repeat that a name is used before its definition when it reports something else again.
    """
    return sorted({one for one in reports if one.line > above and one.code != "used-before-def"})


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("continued")
    path = folder / "notebook.py"
    copy_warm_cache(folder, name="cache", settings=SETTINGS.read_text("utf-8"))
    places = ("--show-column-numbers", "--show-error-end")
    flags = ["--config-file", str(SETTINGS), "--cache-dir", str(folder / "cache"), *OPTIONS, *places]
    variables = {"MYPYPATH": str(folder)}
    (folder / "beside.py").write_text("def size() -> int:\n    return 3\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch, CheckerProcess(folder, flags[:4], variables=variables) as whole:
        patch.chdir(folder)
        patch.setenv("MYPYPATH", str(folder))
        texts = {str(path): f"import beside\n{TOP}"}
        whole.check([str(path)], texts)
        whole.check([str(path)], texts)
        continued = ResidentMypy(flags, [str(path)], texts)
        continued.first_check()
        continued.load(with_types=False)
        yield Both(folder, path, continued, whole)


def _started() -> Program:
    program = Program()
    program.add(ast.parse(TOP).body)
    return program


@pytest.mark.parametrize("seed", range(8))
def test_reports_on_a_cell_are_those_on_the_whole_program(
    both: Both, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    choice = random.Random(seed)  # noqa: S311  # cells, not secrets
    program = _started()
    for _ in range(12):
        cell = choice.choice(CELLS)
        own, other = both.check(program, cell)

        assert own == other, cell
        if cell not in CELLS[-2:] and not any(one.code.startswith("tapegrad") for one in own if one.code):
            program.add(ast.parse(cell).body)
    assert not capsys.readouterr().err  # an exception, after which the whole program is checked


def test_only_the_cell_is_checked(both: Both) -> None:
    program = _started()
    both.check(program, "y = net(tg.ones((2, 8)))\n")

    own, other = both.check(program, "net(tg.ones((2, 7)))\ndef f() -> int:\n    return ''\n")

    assert not both.continued.has_checked_all
    assert own == other
    assert [one.code for one in own] == ["return-value"]  # the other one is in a method above


def test_nothing_of_a_cell_that_did_not_run_stays(both: Both) -> None:
    program = _started()
    both.check(program, "B: str = 'a'\nnet: int = 3\nclass Other: ...\nrows.append('a')\nvalue = 3\n")

    own, other = both.check(program, "reveal_type(B)\nreveal_type(net)\nOther()\nrows.append(1)\nreveal_type(rows)\n")

    assert not both.continued.has_checked_all
    assert own == other
    assert [one.text for one in own] == [
        'Revealed type is "int"',
        'Revealed type is "notebook.Net"',
        'Name "Other" is not defined',
        'Revealed type is "list[int]"',
    ]


def test_no_types_of_an_earlier_text_stay(both: Both) -> None:
    counts = []
    for n in range(4):
        text = f"import tapegrad as tg\n\nx = tg.ones(({n + 2},)).trace()\n(x * x).sum().backward()\n"
        both.continued.files.set_texts({str(both.path): text})
        both.continued.check()
        _, types = mypy_api._types["notebook"]
        counts.append(len(types))

    assert 0 < counts[1] == counts[3]


def test_a_changed_module_is_read_again(both: Both) -> None:
    program = _started()
    program.add(ast.parse("import beside\nn = beside.size()\n").body)
    cell = "reveal_type(beside.size())\n"
    before, _ = both.check(program, cell)
    (both.folder / "beside.py").write_text("def size() -> str:\n    return 'three'\n", "utf-8")

    after, other = both.check(program, cell)
    again, _ = both.check(program, cell)

    assert [one.text for one in before] == ['Revealed type is "int"']
    assert after == other == again
    assert [one.text for one in after] == ['Revealed type is "str"']


def test_a_function_sees_a_name_that_a_later_cell_defines(both: Both) -> None:
    program = _started()
    program.add(ast.parse("def train(l):\n    finish(l)\n").body)
    both.check(program, "value = 3\n")
    program.add(ast.parse("def finish(l):\n    l.backward()\n").body)

    own, other = both.check(program, "train(loss)\nloss.backward()\n")

    assert not both.continued.has_checked_all
    assert own == other
    assert [(one.line > 0, one.code) for one in own] == [(True, "tapegrad-tape")]
