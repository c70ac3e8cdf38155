# ruff: noqa: E501  # a message stands whole on the line it judges
"""`python -m tapegrad coverage`: counts, lines where a shape becomes unknown, reasons, and exit status."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from mypy.nodes import IntExpr

from tapegrad.__main__ import main
from tapegrad.mypy.coverage.comments import comments_in
from tapegrad.mypy.coverage.findings import Analysis
from tapegrad.mypy.mypy_api import checked_files
from tapegrad.project.coverage import Row, pages_of
from tapegrad.project.coverage_html import COLORS, FAINT, LINK, PAGE, TEXT, file_name
from tests.mypy.programs import needs_bodies_of_other_files

CACHE = Path(__file__).parents[2] / ".mypy_cache" / "coverage"
SETTINGS = f"[mypy]\nplugins = tapegrad.mypy\nallow_redefinition = true\ncache_dir = {CACHE}\n"

# Each line that loses something says so behind `# U: `, in the words of the report.
LOST = """
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal as L, TypeVar, cast

import numpy as np
import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
Rows = Tensor[Shape[L[2], L[3]], NoneTape]


def declared(x: Tensor) -> None:  # U: x: the shape, the tape and the dtype are unknown, because it is declared as Tensor, and nothing in the files checked calls declared: call it there with a tensor of known shape, or name its sizes, such as Shape[N, L[8]]
    y = x + 1.0
    print(y)


def claimed(x: Tensor) -> None:  # U: x: the shape, the tape and the dtype are unknown, because it is declared as Tensor, and nothing in the files checked calls claimed: call it there with a tensor of known shape, or name its sizes, such as Shape[N, L[8]]
    print(tg.assert_shape(x, (2, 3)), tg.reveal_shape(tg.ones((2, 3))))


def declared_in_part(x: Tensor[Shape[Any, L[3]], NoneTape]) -> None:  # U: x: the size of axis 0 is unknown, because it is declared as (?, 3), and nothing in the files checked calls declared_in_part: call it there with a tensor of known shape, or name its sizes, such as Shape[N, L[8]]
    print(x @ tg.ones((3, 4)))


def with_either_tape(x: Tensor[Shape[N], Tape]) -> None:  # U: x: the tape is unknown, because it is declared with either tape: write a TypeVar with bound=Tape
    print(x * 2.0)


def of_any_dtype(x: Tensor[Shape[N], NoneTape, Any]) -> None:  # U: x: the dtype is unknown, because it is declared with any dtype, and nothing in the files checked calls of_any_dtype: write one, or a TypeVar with bound=np.generic
    print(x)


def of_any_tape(x: Tensor[Shape[N], Any]) -> None:  # U: x: the tape is unknown, because it is declared with any tape, and nothing in the files checked calls of_any_tape: write NoneTape, OwnedTape or a TypeVar
    print(x)


def result(rows: Rows, n: N) -> Tensor[Shape[N, Any], NoneTape]:  # U: result: the size of axis 1 is unknown, because the result is declared as (N, ?), and result is not read for its calls: the call on line 45 passes no tensor of known shape: pass a tensor of known shape there, or name its sizes, such as Shape[N, L[8]]
    return tg.ones((n, 3))


def callers(n: N) -> None:
    print(result(tg.tensor(np.load("x.npy")), n) * 2.0)  # U: tg.tensor(np.load("x.npy")): the shape and the dtype are unknown, because np.load("x.npy") is Any: assert it with tg.assert_shape


def data() -> None:
    loaded = json.loads("[[1.0]]")
    print(tg.tensor(loaded))  # U: tg.tensor(loaded): the shape and the dtype are unknown, because loaded is Any: annotate loaded
    rows = np.loadtxt("rows.csv", np.float32)
    print(tg.tensor(rows))  # U: tg.tensor(rows): the shape is unknown, because mypy does not know the shape of the array rows: assert it with tg.assert_shape
    print(tg.tensor([float(word) for word in "1 2".split()]))  # U: tg.tensor(...): the size of axis 0 is unknown, because mypy does not know how long [float(word) for word in "1 2".split()] is: assert it with tg.assert_shape
    claimed = tg.tensor(rows)
    tg.assert_shape(claimed, (2, 3))
    print(claimed @ tg.ones((3, 4)), tg.assert_shape(tg.tensor(rows), (2, 3)))


def sizes(n: int, k: N) -> None:
    print(tg.ones((n, 3)))
    m = 3
    if input():
        m = 4
    print(tg.ones((m,)))  # U: tg.ones((m,)): the size of axis 0 is unknown, because m is an int that is assigned more than once: use a name for each value
    print(tg.ones((2, len(input()))))  # U: tg.ones((2, len(input()))): the size of axis 1 is unknown, because mypy does not know the number len(input()): assert it with tg.assert_shape
    for i in range(4):
        print(tg.ones((i, k)))  # U: tg.ones((i, k)): the size of axis 0 is unknown, because i is the variable of a loop, or unpacked
    x = tg.ones((k, 3))
    print(x[:2])
    print(x.sum(axis=n))  # U: x.sum(axis=n): the shape is unknown, because n is a parameter of type int
    print(x[x > 0])  # U: x[x > 0]: the size of axis 0 is unknown, because the values of x > 0 decide how many elements are selected


@dataclass
class Config:
    width: int


class Net(nn.Module):
    def __init__(self, config: Config) -> None:
        self.fall = nn.Linear(config.width, 3)

    def forward(self, x: Tensor[Shape[N, L[8]], NoneTape]) -> Tensor[Shape[N, L[3]], NoneTape]:
        return self.fall(x)


def layers(layer: nn.Linear, x: Rows) -> None:
    print(layer(x))  # U: layer: the sizes In and Out are unknown, because mypy does not know In and Out of Linear: name them where it is declared


def untyped(x):  # U: untyped: the shape, the tape and the dtype are unknown, because mypy skips untyped, which has no annotations: annotate it, or set check_untyped_defs
    return x


def calls(x: Rows, f: Callable[[Rows], Any], g: Any) -> None:
    y = untyped(x)
    print(y @ tg.ones((3, 4)))
    print(f(x))  # U: f(x): the shape, the tape and the dtype are unknown, because f is declared to return Any: annotate f
    print(g(x))  # U: g(x): the shape, the tape and the dtype are unknown, because g is untyped: it is Any: assert it with tg.assert_shape
    print(x.tolist(), x.sum().item())
    print(cast(Tensor, x))  # U: cast(Tensor, x): the shape, the tape and the dtype are unknown, because that is the type it is cast to: use tg.assert_shape instead


def choices(x: Rows, y: Tensor[Shape[L[4], L[3]], NoneTape], owned: Tensor[Shape[L[2], L[3]], OwnedTape]) -> None:
    z = x if input() else y  # U: x if input() else y: the size of axis 0 is unknown, because it is (2, 3) or (4, 3)
    print(z * 2.0)
    both = [x, y]  # U: [x, y]: the size of axis 0 is unknown, because its items are (2, 3) or (4, 3): use a name for each
    for one in both:
        print(one * 2.0)
    print(tg.concat([x, y]))
    print(x if input() else owned)  # U: x if input() else owned: the tape is unknown, because it has a tape on one side only


def gradients(model: nn.Linear[L[8], L[3]], grads: tg.Gradients) -> None:
    for w in model.parameters().values():
        print(grads[w] * 2.0)  # U: w: the shape and the dtype are unknown, because it is any of the parameters of a model


def options(x: Rows, reduction: L["mean", "none"]) -> None:
    print(tg.mse(x, x, reduction=reduction))  # U: tg.mse(x, x, reduction=reduction): the shape is unknown, because mypy does not know the value of reduction


class Heads(nn.Module):
    def __init__(self) -> None:
        self.heads = {"mean": nn.Linear(3, 4), "scale": nn.Linear(3, 1)}

    def forward(self, x: Rows) -> None:
        for head in self.heads.values():
            print(head(x))  # U: head: the size Out is unknown, because it is one of several layers of other sizes


def tables(sizes: dict[str, int]) -> None:
    print({name: nn.Linear(3, size) for name, size in sizes.items()})  # U: nn.Linear(3, size): the size Out is unknown, because size is the variable of a loop, or unpacked


class Untyped(nn.Module):
    def forward(self, x):  # U: forward: the shape, the tape and the dtype are unknown, because mypy skips forward, which has no annotations: annotate it, or set check_untyped_defs
        return x


def calls_untyped(model: Untyped, x: Rows) -> None:
    print(model(x) + 1.0)  # U: model(x): the shape, the tape and the dtype are unknown, because forward of Untyped has no annotations


def known(x: Rows) -> Rows:
    hidden = nn.Linear(3, 5)(x.trace())
    first, second = hidden, tg.relu(hidden)
    return (first + second).detach() @ tg.ones((5, 3))
"""


def at(folder: Path, text: str, settings: str = SETTINGS) -> Path:
    """Write a program and the settings of mypy into a folder."""
    (folder / ".git").mkdir(exist_ok=True)  # where mypy stops to look for settings further up
    (folder / "mypy.ini").write_text(settings, "utf-8")
    path = folder / "program.py"
    path.write_text(text, "utf-8")
    return path


def analyzed(text: str) -> Analysis:
    messages: list[str] = []
    with TemporaryDirectory() as folder:
        path = at(Path(folder), text)
        settings = ["--config-file", str(path.with_name("mypy.ini"))]
        (checked,), types = checked_files([*settings, str(path)], messages.extend)
    assert [message for message in messages if ": note: " not in message] == []
    (page,) = pages_of([checked], types)
    return page.analysis


@cache
def lost() -> Analysis:
    return analyzed(LOST)


def test_each_lost_shape_has_its_line_reason_and_fix() -> None:
    lines = LOST.splitlines()
    expected = {number: line.partition("# U: ")[2] for number, line in enumerate(lines, start=1) if "# U: " in line}

    found = {loss.span.line: loss.message for loss in lost().losses}

    assert found == expected
    assert len(lost().losses) == len(expected), "two losses on one line"


def test_a_program_of_known_tensors_loses_no_shape() -> None:
    (known,) = (unit for unit in lost().units if unit.name == "known")
    seen = [one for one in lost().seen if one.unit is known]

    assert all(one.is_known for one in seen)
    assert len(seen) == 9


ACCEPTED = """
import numpy as np
import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

rows = np.loadtxt("rows.csv", np.float32)
x = tg.tensor(rows)  # tapegrad: unknown because the file decides
y = x @ tg.ones((3, 4))
z = (
    tg.tensor(
        rows
    )  # type: ignore[attr-defined, unused-ignore]  # tapegrad: unknown: of many lines
)
known = tg.ones((2, 3))  # tapegrad: unknown because of a mistake
bare = tg.tensor(rows)  # tapegrad: unknown


def function(x: Tensor) -> None:  # tapegrad: unknown because it takes any
    print(x @ x, tg.tensor(rows))
"""


def test_a_comment_accepts_a_statement_or_function_and_its_results() -> None:
    found = analyzed(ACCEPTED)

    assert [(loss.span.line, loss.accepted) for loss in found.losses] == [
        (7, "the file decides"),
        (10, "of many lines"),
        (15, None),
        (18, "it takes any"),
        (19, "it takes any"),
    ]
    assert [one.span.line for one in found.seen if not one.is_known and not one.left_out] == [15]
    assert {one.span.line for one in found.seen if one.left_out} == {7, 8, 10, 18, 19}
    assert [(comment.line, words) for comment, words in found.mistakes] == [
        (14, "# tapegrad: unknown: unused: nothing is unknown on this line"),
        (15, '# tapegrad: unknown: the reason is missing: write "# tapegrad: unknown because ..."'),
    ]


def test_only_comments_are_read_as_comments() -> None:
    source = 's = "# tapegrad: unknown because"\n# tapegrad: unknown because a\nx = 1  # Tapegrad: unknown b\n'

    assert {line: comment.reason for line, comment in comments_in(source).items()} == {2: "a"}


def test_function_bodies_of_libraries_are_not_checked(tmp_path: Path) -> None:
    source = "def f(n: int) -> int:\n    return n + {}\n"
    (tmp_path / "helper.py").write_text(source.format(271828), "utf-8")
    program = at(tmp_path, "import helper\n\n" + source.format(314159))
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"{SETTINGS}mypy_path = {tmp_path}\n[mypy-helper]\nignore_errors = true\n", "utf-8")

    _, types = checked_files(["--config-file", str(settings), "--cache-dir", os.devnull, str(program)], lambda _: None)

    numbers = {one.value for one in types if isinstance(one, IntExpr)}
    assert 314159 in numbers
    assert 271828 not in numbers


READ = """
from typing import Any

import numpy as np
import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn


class MLP(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 5)
        self.down = nn.Linear(5, width)

    def forward(self, x: Tensor) -> Tensor:
        h = tg.relu(self.up(x))
        return self.down(h)


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.mlps = [MLP(width) for _ in range(3)]

    def forward(self, x: Tensor[Shape[Any, Any], NoneTape]) -> Tensor:
        for mlp in self.mlps:
            x = x + mlp(x)
        return x


def once_unknown(x: Tensor) -> Tensor:  # U: once_unknown: the shape, the tape and the dtype are unknown, because the result and x are declared as Tensor, and once_unknown is not read for its calls: the call on line 74 passes no tensor of known shape: pass a tensor of known shape there, or name its sizes, such as Shape[N, L[8]]
    return x * 2.0


def with_a_loop(x: Tensor) -> Tensor:  # U: with_a_loop: the shape, the tape and the dtype are unknown, because the result and x are declared as Tensor, and with_a_loop is not read for its calls: line 35 has a while loop with an else: name its sizes, such as Shape[N, L[8]]
    y = x * 2.0
    while y.sum().item() > 1.0:
        y = y * 0.5
    else:
        return y


def printed(x: Tensor) -> None:
    while x.sum().item() > 1.0:
        x = x * 0.5
    print(x)


def of_many(x: Tensor) -> Tensor:  # U: of_many: the shape, the tape and the dtype are unknown, because the result and x are declared as Tensor, and of_many is not read for its calls: it is called with more than 20 combinations of arguments: name its sizes, such as Shape[N, L[8]]
    return x * 2.0


def inner(x: Tensor) -> Tensor:
    return x * 3.0


def outer(x: Tensor) -> Tensor:
    return inner(x * 2.0)


def unread(layer: MLP, x: Tensor[Shape[Any], NoneTape]) -> Tensor:  # U: x: the size of axis 0 is unknown, because it is declared as (?,), and nothing in the files checked calls unread: call it there with a tensor of known shape, or name its sizes, such as Shape[N, L[8]]
    return outer(tg.ones((2, 8)))


def other(x: Tensor) -> Tensor:
    return x * 2.0


def called_in_an_unread_one(x: Tensor[Shape[Any], NoneTape]) -> Tensor:  # U: x: the size of axis 0 is unknown, because it is declared as (?,), and nothing in the files checked calls called_in_an_unread_one: call it there with a tensor of known shape, or name its sizes, such as Shape[N, L[8]]
    return other(x)


net = Net(8)
net(tg.ones((4, 8)))
once_unknown(tg.ones((4, 8)))
once_unknown(tg.tensor(np.loadtxt("rows.csv", np.float32)))
with_a_loop(tg.ones((4, 8)))
printed(tg.ones((4, 8)))
other(tg.ones((4, 8)))
"""


def test_a_body_that_is_read_for_its_calls_counts_as_they_say() -> None:
    calls = "\n".join(f"of_many(tg.ones(({n},)))" for n in range(1, 22))

    found = analyzed(f"{READ}{calls}\n")

    at_calls = {one.unit.name for one in found.seen if one.at_calls}
    assert at_calls == {"MLP.forward", "Net.forward", "inner", "other", "outer", "printed"}
    for name in at_calls:
        seen = [one for one in found.seen if one.unit.name == name]
        assert seen
        assert all(one.is_known for one in seen), name


FUNNEL = """
import tapegrad as tg
from tapegrad import Tensor, nn


class Funnel(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        self.layers = []
        for _ in range(depth):
            self.layers.append(nn.Linear(width, width // 2))
            width = width // 2

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Pair(nn.Module):
    def __init__(self, width: int) -> None:
        self.funnel = Funnel(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.funnel(x)


"""


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("Funnel(8, 2)(tg.ones((3, 8)))", 1),
        ("Pair(16)(tg.ones((3, 16)))", 1),  # of the object that the constructor of another one makes
        ("Funnel(8, 2)(tg.ones((3, 8)))\nFunnel(8, int('2'))", 0),
        ("Funnel(8, 2)(tg.ones((3, 8)))\nFunnel(8, 0)", 0),  # for one object, no layer is made
    ],
)
def test_a_layer_counts_as_the_constructor_makes_it_for_all_objects(calls: str, count: int) -> None:
    found = analyzed(f"{FUNNEL}{calls}\n")

    layers = [one for one in found.seen if one.unit.name == "Funnel.__init__"]
    assert [one.is_known for one in layers] == [bool(count)]
    assert sum(one.at_calls for one in layers) == count


def test_a_parameter_that_only_gets_any_says_so() -> None:
    found = analyzed("""
from typing import Any

import tapegrad as tg
from tapegrad import Tensor, nn


def run(model: nn.Linear[Any, Any], x: Tensor) -> Tensor:
    return model(x)


def main(x: Any) -> None:
    run(nn.Linear(3, 4), x)
""")

    (loss,) = [one for one in found.losses if one.expression == "x"]

    assert loss.reason == "it is declared as Tensor, and what calls run passes Any"


def test_methods_that_mypy_adds_to_a_dataclass_are_not_counted() -> None:
    program = (
        "from dataclasses import dataclass\nfrom tapegrad import Tensor\n\n@dataclass\nclass Batch:\n    x: Tensor\n"
    )

    found = analyzed(program)

    assert found.seen == []
    assert found.losses == []


def test_a_model_in_an_attribute_counts_with_the_type_of_the_attribute() -> None:
    made = "nn.Sequential(nn.Linear(rows, columns), nn.ReLU())"
    constructor = f"    def __init__(self, rows: int, columns: int) -> None:\n        self.layers = {made}\n"

    found = analyzed(f"from tapegrad import nn\n\nclass Net(nn.Module):\n{constructor}")

    assert [one.is_known for one in found.seen] == [True, True]
    assert found.losses == []


@needs_bodies_of_other_files
def test_a_body_in_another_file_that_is_not_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(
        "from tapegrad import Tensor, nn\n\n\n"
        "class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor:\n        return x * 2.0\n\n\n"
        "class Halving(nn.Module):\n    def forward(self, x: Tensor) -> Tensor:\n        while x.sum().item() > 1.0:\n"
        "            x = x * 0.5\n        else:\n            print(x)\n        return x\n",
        "utf-8",
    )
    calls = "Net()(tg.ones((3, 8)))\nnet = Halving()\nnet(tg.ones((3, 8)))\n"
    program = at(tmp_path, f"import tapegrad as tg\nfrom models import Halving, Net\n\n{calls}")
    settings = ["--config-file", str(tmp_path / "mypy.ini")]

    (checked,), types = checked_files([*settings, str(program)], lambda _: None)
    ((_, _, found),) = pages_of([checked], types)
    (loss,) = found.losses

    assert loss.reason == (
        "the result of net is declared as Tensor in models, "
        "and forward is not read for its calls: line 11 has a while loop with an else"
    )


def test_a_body_that_is_not_read_says_why() -> None:
    expected = {n: line.partition("# U: ")[2] for n, line in enumerate(READ.splitlines(), 1) if "# U: " in line}
    calls = "\n".join(f"of_many(tg.ones(({n},)))" for n in range(1, 22))

    found = analyzed(f"{READ}{calls}\n")

    of_parameters = [one for one in found.losses if one.expression == "x" or "result and x are" in one.reason]
    assert {loss.span.line: loss.message for loss in of_parameters} == expected


ALIKE = """
from functools import cache
from typing import Any

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


def alike(x: Tensor, flag: bool, y: Tensor) -> Tensor:
    return x + y


def parameters(x: Tensor, y: Tensor) -> None:
    print(x + y)


def different(x: Tensor[Shape[Any], NoneTape], y: Tensor) -> None:
    print(x + y)


@cache
def decorated(x: Tensor) -> Tensor:
    return x


def made() -> Tensor:
    return tg.ones((2,))


def caller(x: Tensor) -> None:
    print(called(x))


def called(x: Tensor) -> Tensor:
    return x


def calls_itself(x: Tensor) -> Tensor:
    return calls_itself(x)
"""


def test_the_result_and_parameters_that_are_declared_alike_have_one_line() -> None:
    found = [(loss.expression, loss.span.line, loss.reason, loss.fix) for loss in analyzed(ALIKE).losses]

    nothing, fix = "nothing in the files checked calls", "name its sizes, such as Shape[N, L[8]]"
    unread, call = "is not read for its calls", f"call it there with a tensor of known shape, or {fix}"
    at_call = "the call on line 31 passes no tensor of known shape"
    both = "the result and x are declared as Tensor, and"
    assert found == [
        ("alike", 9, f"the result, x and y are declared as Tensor, and {nothing} alike", call),
        ("parameters", 13, f"x and y are declared as Tensor, and {nothing} parameters", call),
        ("x", 17, f"it is declared as (?,), and {nothing} different", call),
        ("y", 17, f"it is declared as Tensor, and {nothing} different", call),
        ("decorated", 22, f"{both} decorated {unread}: it has a decorator", fix),
        ("made", 26, f"the result is declared as Tensor, and {nothing} made", fix),
        ("x", 30, f"it is declared as Tensor, and {nothing} caller", call),
        ("called", 34, f"{both} called {unread}: {at_call}", f"call caller with a tensor of known shape, or {fix}"),
        ("calls_itself", 38, f"{both} calls_itself {unread}: it calls itself", fix),
    ]


def run(folder: Path, *arguments: str) -> int:
    return main(["coverage", "--config-file", str(folder / "mypy.ini"), *arguments])


SMALL = """\
import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


def f(n: int) -> None:
    n += 1
    print(tg.ones((n, 3)) * 2.0, tg.ones((2,)))


y = tg.ones((2, 3))
"""


def test_the_report_is_a_table_and_a_line_per_lost_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(tmp_path, SMALL)
    monkeypatch.chdir(tmp_path)

    assert main(["coverage", "program.py", "--fail-under", "50"]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "               exact     named    partly   unknown   no tape  no dtype  accepted  at calls     known\n"
        "program.py         2         -         2         -         -         -         -         -      50 %\n"
        "  (module)         1         -         -         -         -         -         -         -     100 %\n"
        "  f                1         -         2         -         -         -         -         -    33.3 %\n"
        "\n"
        "all                2         -         2         -         -         -         -         -      50 %\n"
        "\n"
        "Lost first at:\n"
        "program.py:7:11: tg.ones((n, 3)): the size of axis 0 is unknown, because n is an int that is assigned more than"
        " once: use a name for each value\n"
    )
    assert printed.err == ""


def test_json_and_html_reports_have_the_same_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(at(tmp_path, SMALL))

    assert run(tmp_path, path, "--json", "--html", str(tmp_path / "pages"), "--fail-under", "50.1") == 1
    printed = capsys.readouterr()
    assert "50.0 % of the tensor expressions are known, but 50.1 % is required\n" in printed.err
    report = json.loads(printed.out)
    assert report["all"]["percent"] == 50
    assert report["all"] == {name: count for name, count in report["files"][0].items() if name in report["all"]}
    (loss,) = report["files"][0]["lost"]
    assert (loss["line"], loss["column"], loss["parts"], loss["axes"]) == (7, 11, ["shape"], [0])
    assert loss["function"] == "f"
    page = (tmp_path / "pages" / file_name(path)).read_text("utf-8")
    assert '<span class="partly">tg.ones((n, 3)) * 2.0</span>' in page
    assert '<span class="exact">tg.ones((2, 3))</span>' in page
    assert "the size of axis 0 is unknown, because n is an int that is assigned more than once" in page
    index = (tmp_path / "pages" / "index.html").read_text("utf-8")
    assert f'href="{file_name(path)}#L5">f</a>' in index
    assert '<th scope="row">all</th>' in index
    assert not re.search(r"<script|https?://", page + index), "a page fetches nothing"


def test_nothing_is_known_of_a_function_of_which_nothing_counts() -> None:
    nothing, half = Row(0, 0, 0, 0, 0, 0, 5, 0, 0), Row(1, 1, 0, 0, 0, 0, 0, 0, 1)

    assert (nothing.share, half.share, nothing.percent) == ("-", "50 %", 100.0)


def test_errors_of_mypy_are_not_counted_but_fail_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "tg.ones((2, 3)) @ tg.ones((2, 3))"
    accepted = "w = tg.ones((2,))  # tapegrad: unknown because it was\n"
    ignored = f"z = {wrong}  # type: ignore[tapegrad-shape]\n"
    path = at(tmp_path, f"import tapegrad as tg\n\nx = {wrong}\ny = x * 2.0\n{ignored}{accepted}")

    assert run(tmp_path, str(path)) == 1
    printed = capsys.readouterr()
    assert "matmul: inner sizes differ" in printed.err
    assert "mypy reports errors, 1 in all: what is unknown because of them is left out\n" in printed.err
    *_, total, _, mistake = printed.out.splitlines()
    assert total.split() == ["all", "5", "-", "-", "-", "-", "-", "3", "-", "100", "%"]
    assert mistake == f"{path}:6:20: # tapegrad: unknown: unused: nothing is unknown on this line"


def test_a_file_that_mypy_cannot_read_is_reported_and_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(at(tmp_path, "x = (\n"))

    assert run(tmp_path, path) == 2
    assert run(tmp_path, str(tmp_path / "no.py")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{path}:")  # a syntax error, on the line that this Python names
    assert "no.py: error: Cannot read file" in printed.err
    assert printed.err.count("mypy stopped before it had checked everything\n") == 2


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_on_each_color_has_enough_contrast(scheme: int) -> None:
    on_page = {"text": TEXT, "faint": FAINT, "link": LINK}

    assert min(contrast(pair[scheme], PAGE[scheme]) for pair in on_page.values()) >= 4.5
    assert min(contrast(TEXT[scheme], pair[scheme]) for pair in COLORS.values()) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, by the definition of WCAG 2."""
    low, high = sorted(luminance(color) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_two_files_have_two_pages() -> None:
    assert len({file_name(path) for path in ("a_b.py", "a/b.py", "a__b.py", "a/_b.py", "a_/b.py")}) == 5
