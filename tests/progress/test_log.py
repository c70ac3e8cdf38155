"""Log files: complete lines, truncated where a resumed run continues."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

import pytest

from tapegrad.progress.log import Log, read

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_is_truncated_where_the_run_continues(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    log = Log(path, 0)
    log.write({"epoch": 1, "loss": 0.5})
    length = log.length
    log.write({"epoch": 2, "loss": 0.25})
    with path.open("ab") as file:
        file.write(b'{"epoch": 3, "lo')

    before = read(path)
    Log(path, length).write({"epoch": 2, "loss": 0.125})

    assert before == [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}]
    assert read(path) == [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.125}]


def test_a_table_is_truncated_where_the_run_continues(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    log = Log(path, 0)
    log.write({"epoch": 1, "loss": 0.5, "a, b": 2.0})
    length = log.length
    log.write({"epoch": 2, "loss": 0.25})
    with path.open("ab") as file:
        file.write(b"3,0.1")

    before = read(path)
    Log(path, length).write({"epoch": 2, "loss": inf, "a, b": nan})

    assert before == [{"epoch": 1, "loss": 0.5, "a, b": 2.0}, {"epoch": 2, "loss": 0.25, "a, b": None}]
    assert path.read_text("utf-8") == 'epoch,loss,"a, b"\n1,0.5,2.0\n2,inf,nan\n'


def test_a_table_rejects_a_new_column(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.csv", 0)
    log.write({"epoch": 1, "loss": 0.5})

    with pytest.raises(ValueError, match=r"^track: epoch 2 notes accuracy: no column of run\.csv$"):
        log.write({"epoch": 2, "loss": 0.5, "accuracy": 0.25})

    assert read(tmp_path / "run.csv") == [{"epoch": 1, "loss": 0.5}]


def test_a_removed_log_is_created_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.jsonl", 1000)
    log.write({"epoch": 9})

    assert read(tmp_path / "run.jsonl") == [{"epoch": 9}]
