"""The examples do what `make demo` shows."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import pytest

ROOT = Path(__file__).parent.parent
RIGHT, WRONG = "examples/digits.py", "examples/digits_wrong.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mypy_refuses_what_is_planted_and_nothing_else() -> None:
    lines = (ROOT / WRONG).read_text("utf-8").splitlines()
    marks = {number: line.partition("# E: ")[2] for number, line in enumerate(lines, start=1) if "# E: " in line}
    planted = [
        f"{WRONG}:{number}: error: {text.replace(' [tapegrad-', '  [tapegrad-')}" for number, text in marks.items()
    ]

    options = ("--config-file", "pyproject.toml", "--cache-dir", os.devnull, "--no-error-summary")
    said = run("-m", "mypy", *options, RIGHT, WRONG)

    assert said.stdout.splitlines() == planted
    assert len(planted) == 8


def test_digits_are_read() -> None:
    finished = run(RIGHT)

    assert finished.returncode == 0, finished.stderr
    first, *_, last, _, npz, safetensors = finished.stdout.splitlines()
    accuracy = re.fullmatch(r"test accuracy: ([\d.]+)% of 360 images", first)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97
    assert last.split()[0] == "9"
    assert len(last.split()) == 11
    loaded = "bytes, and loaded: the same scores for 360 of 360 images"
    assert re.fullmatch(rf"saved to digits\.npz, [\d,]+ {loaded}", npz)
    assert re.fullmatch(rf"saved to digits\.safetensors, [\d,]+ {loaded}", safetensors)


def test_a_transformer_learns_to_write() -> None:
    finished = run("examples/characters.py", "--steps", "12", "--length", "20")

    assert finished.returncode == 0, finished.stderr
    first, loss, *written = finished.stdout.splitlines()
    sizes = re.fullmatch(r"[\d,]+ characters, (\d+) different ones: log of that is (\d\.\d{3})", first)
    reached = re.fullmatch(r"step 12/12, loss (\d\.\d{3}) nats a character", loss)
    assert sizes is not None
    assert reached is not None
    assert float(reached[1]) < float(sizes[2]) - 0.2  # that of a guess at random
    assert len("\n".join(written)) == 21


def test_progress_is_whole_lines_where_there_is_no_terminal() -> None:
    finished = run(RIGHT, "--epochs", "1")

    assert re.fullmatch(r"epoch 1/1, loss \d\.\d{3}\n", finished.stderr)


def test_the_demo_says_where_it_differs_from_what_was_planted(capsys: pytest.CaptureFixture[str]) -> None:
    as_planted = demo().compare({3: "a", 5: "other"}, {3: "a", 5: "b", 8: "c"})

    assert not as_planted
    assert capsys.readouterr().out.splitlines()[1:] == [
        "as planted: 1 of 3",
        "line 5: planted b",
        "line 5: said other",
        "line 8: planted c",
        "line 8: said nothing",
    ]
