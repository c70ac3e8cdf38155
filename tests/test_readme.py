"""Figures in the README; `test_docs.py` checks its programs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_extras_match_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    listed = re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)

    assert listed == list(project["optional-dependencies"])


def test_every_linked_file_exists() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
