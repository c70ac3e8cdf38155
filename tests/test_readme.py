"""The README is true: its programs do what it says, and it quotes what is really said of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REPORT = re.compile(r"(\w+\.py):\d+: error: (.*)  \[tapegrad-\w+\]")


class Program(NamedTuple):
    """A Python block, and the text block under it: what mypy says of it, or what Python raises."""

    name: str
    source: str
    quoted: str

    @property
    def refused_by_mypy(self) -> bool:
        return REPORT.match(self.quoted) is not None


def programs() -> list[Program]:
    blocks = BLOCK.findall(README)
    followers = [*(text if language == "text" else "" for language, text in blocks[1:]), ""]
    found = []
    for position, ((language, source), quoted) in enumerate(zip(blocks, followers, strict=True)):
        if language == "python":
            report = REPORT.match(quoted)
            found.append(Program(report[1] if report else f"block_{position}.py", source, quoted.strip()))
    return found


def test_mypy_says_what_is_quoted(tmp_path: Path) -> None:
    for program in programs():
        (tmp_path / program.name).write_text(program.source, "utf-8")

    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-error-summary"]
    command += ["--cache-dir", os.devnull, *(str(tmp_path / program.name) for program in programs())]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    said = sorted(run.stdout.replace(f"{tmp_path}/", "").splitlines())
    assert said == sorted(program.quoted for program in programs() if program.refused_by_mypy)
    assert len(said) == 2


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_python_does_what_is_quoted(program: Program, tmp_path: Path) -> None:
    report = REPORT.match(program.quoted)
    raised = program.quoted if report is None else f"tapegrad.errors.ShapeError: {report[2]}"

    path = tmp_path / program.name  # which has a source to read a layer's name off; `python -c` keeps none
    path.write_text(program.source, "utf-8")
    run = subprocess.run([sys.executable, str(path)], cwd=ROOT, capture_output=True, text=True, check=False)

    only_defines = report is not None and "def " in program.source  # mypy alone reads the body of what is not called
    assert run.stderr.splitlines()[-1:] == ([] if only_defines or not raised else [raised])


def test_python_prints_what_is_quoted() -> None:
    blocks = BLOCK.findall(README)
    printing = [(source, printed) for (_, source), (language, printed) in pairwise(blocks) if language == "console"]

    for source, printed in printing:
        run = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.stdout == printed
    assert len(printing) == 1


def test_the_settings_are_those_of_the_house() -> None:
    (toml,) = [source for language, source in BLOCK.findall(README) if language == "toml"]
    house = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]

    settings = tomllib.loads(toml)["tool"]["mypy"]

    assert settings.items() <= house.items()


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    listed = re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)

    assert listed == list(project["optional-dependencies"])


def test_every_file_that_it_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
