"""`python -m tapegrad coverage` over files whose calls give sizes to the bodies of functions in other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tapegrad.__main__ import main
from tapegrad.project.coverage_html import file_name
from tests.mypy.programs import needs_bodies_of_other_files
from tests.warm_mypy_cache import write_settings

pytestmark = needs_bodies_of_other_files

BLOCKS = """\
from typing import Generic, TypeVar

import tapegrad as tg
from tapegrad import Tensor, nn

N = TypeVar("N", bound=int)


class Named(Generic[N]):  # mypy itself drops Generic from the bases
    size: N


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q, k, v = tg.split(self.qkv(x), 3, axis=-1)
        scores = tg.softmax(self.split(q) @ self.split(k).swapaxes(-1, -2), axis=-1)
        return (scores @ self.split(v)).transpose((0, 2, 1, 3)).reshape((b, n, d))

    def split(self, x: Tensor) -> Tensor:
        b, n, _ = x.shape
        return x.reshape((b, n, self.heads, self.head_dim)).transpose((0, 2, 1, 3))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        self.norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)

    def forward(self, x: Tensor) -> Tensor:
        def normed(y: Tensor) -> Tensor:
            return self.norm(y) * 2.0

        return x + self.attention(normed(x))


def halved(x: Tensor) -> Tensor:
    return x * 0.5
"""
MODEL = """\
from dataclasses import dataclass

from nets.blocks import Block, halved
from tapegrad import Tensor, nn


@dataclass(frozen=True)
class Config:
    width: int = 8
    depth: int = 2


class Model(nn.Module):
    def __init__(self, config: Config) -> None:
        self.blocks = [Block(config.width, 2) for _ in range(config.depth)]
        self.head = nn.Linear(config.width, 3)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return halved(self.head(x[:, 0]))
"""
TRAIN = """\
import tapegrad as tg
from nets import Config, Model
from tapegrad import Tensor

model = Model(Config())


def loss(x: Tensor) -> Tensor:
    return model(x.trace()).sum()


loss(tg.ones((4, 5, 8)))
model(tg.ones((2, 7, 8)))
"""
AT_CALLS = {
    *("Attention.forward", "Attention.split", "Block.forward", "Block.forward.normed", "halved"),
    *("Model.forward", "loss"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package of two modules and a program; the working directory."""
    write_settings(tmp_path)
    (tmp_path / "nets").mkdir()
    for name, text in {
        "nets/__init__.py": "from nets.model import Config as Config, Model as Model\n",
        "nets/blocks.py": BLOCKS,
        "nets/model.py": MODEL,
        "train.py": TRAIN,
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report_on(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    """Return the report as data, by file."""
    assert main(["coverage", "--json", *arguments]) == status
    printed = capsys.readouterr()
    return {one["path"]: one for one in json.loads(printed.out)["files"]}


def messages(report: dict[str, Any]) -> list[str]:
    return [loss["message"] for file in report.values() for loss in file["lost"]]


def test_bodies_count_with_the_calls_in_all_files_in_any_order(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_on(capsys, "nets", "train.py", "--html", "pages")

    functions = {one["name"]: one for file in report.values() for one in file["functions"]}
    assert {name for name, one in functions.items() if one["at_calls"]} == AT_CALLS
    assert {name: functions[name]["percent"] for name in AT_CALLS} == dict.fromkeys(AT_CALLS, 100)
    assert messages(report) == []
    assert report_on(capsys, "train.py", "nets/model.py", "nets/blocks.py") == {
        path: one for path, one in report.items() if "__init__" not in path
    }
    page = (project / "pages" / file_name("nets/model.py")).read_text("utf-8")
    assert '<span class="exact">block(x)</span>' in page


@pytest.mark.usefixtures("project")
def test_a_line_names_the_function_that_a_call_is_missing_of(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_on(capsys, "nets")

    fixes = {loss["function"]: loss["fix"].partition(", or")[0] for file in report.values() for loss in file["lost"]}
    assert fixes == {
        **dict.fromkeys(
            ("Attention.forward", "Block.forward", "Block.forward.normed", "halved"),
            "pass a tensor of known shape there",
        ),
        "Attention.split": "write NoneTape, OwnedTape or a TypeVar",
        "Model.forward": "call it there with a tensor of known shape",
    }


@pytest.mark.usefixtures("project")
def test_a_file_alone_counts_its_own_calls(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_on(capsys, "nets/blocks.py")

    (halved,) = [one for one in report["nets/blocks.py"]["functions"] if one["name"] == "halved"]
    assert (halved["at_calls"], halved["percent"]) == (0, 0)
    assert any("nothing in the files checked calls halved" in message for message in messages(report))


def test_a_call_of_unknown_shape_in_another_file_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "other.py").write_text(
        "import numpy as np\nimport tapegrad as tg\nfrom nets.blocks import halved\n\n"
        'rows = np.loadtxt("rows.csv", np.float32)\n'
        "halved(tg.tensor(rows))  # tapegrad: unknown because the file decides\n"
    )

    report = report_on(capsys, "nets", "train.py", "other.py")

    functions = {one["name"]: one for file in report.values() for one in file["functions"]}
    assert {name for name, one in functions.items() if one["at_calls"]} == AT_CALLS - {"halved"}
    assert any(
        "halved is not read for its calls: the call on line 6 of other.py passes no tensor of known shape" in message
        for message in messages(report)
    )


def test_a_file_that_sets_options_of_mypy_is_the_reason_why_its_bodies_are_not_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = project / "nets" / "blocks.py"
    blocks.write_text(f"{blocks.read_text()}\n# mypy: warn-return-any\n")

    report = report_on(capsys, "nets", "train.py")

    assert any(
        "halved is not read for its calls: nets.blocks sets options of mypy in a comment" in message
        for message in messages(report)
    )


def test_a_body_counts_with_the_least_that_the_calls_of_several_files_give_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, n in {"a": "3", "b": "len(input())"}.items():
        text = "import tapegrad as tg\nfrom nets.blocks import halved\n\nhalved(tg.ones(({}, 2)))\n"
        (project / f"{name}.py").write_text(text.format(n))

    for files in (("a.py", "b.py"), ("b.py", "a.py")):
        report = report_on(capsys, *files, "nets/blocks.py")

        (halved,) = [one for one in report["nets/blocks.py"]["functions"] if one["name"] == "halved"]
        assert (halved["exact"], halved["named"], halved["partly"]) == (0, 2, 0)


def test_the_error_code_of_single_files_changes_no_report(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = report_on(capsys, "nets", "train.py")
    settings = project / "mypy.ini"
    settings.write_text(f"{settings.read_text()}[mypy-nets.*,train]\nenable_error_code = tapegrad-unknown\n")

    assert report_on(capsys, "nets", "train.py") == expected
