"""Logs: lines that are whole, and cut off where a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.progress.log import Log, read

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_is_cut_off_where_the_run_goes_on(tmp_path: Path) -> None:
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


def test_a_log_that_was_removed_begins_anew(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.jsonl", 1000)
    log.write({"epoch": 9})

    assert read(tmp_path / "run.jsonl") == [{"epoch": 9}]
