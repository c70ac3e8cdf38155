"""Plots of training curves: one panel for each metric, in a PNG."""

from __future__ import annotations

import importlib
import struct
from typing import TYPE_CHECKING, Any

import pytest

from tapegrad.progress import curves
from tapegrad.progress.log import Log

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    log = Log(tmp_path / "run.jsonl", 0)
    for epoch in range(1, 6):
        best = {"test_accuracy": 1 - 0.1 / epoch} if epoch > 2 else {}
        log.write({"epoch": epoch, "step": 9 * epoch, "loss": 1 / epoch, "test_loss": float("nan"), **best})
    return log.path


def test_metrics_with_the_same_last_word_share_a_panel(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Any] = []
    make = importlib.import_module("matplotlib.figure").Figure

    def made(**options: Any) -> Any:
        figures.append(make(**options))
        return figures[-1]

    monkeypatch.setattr("matplotlib.figure.Figure", made)

    curves(log, tmp_path / "run.png")

    ((loss, accuracy),) = [figure.axes for figure in figures]
    assert (loss.get_ylabel(), accuracy.get_ylabel()) == ("loss", "accuracy")
    assert [line.get_label() for line in loss.lines] == ["loss", "test loss"]
    assert loss.lines[0].get_xydata().tolist() == [[n, 1 / n] for n in range(1, 6)]
    assert len(loss.lines[1].get_xdata()) == 0
    assert accuracy.lines[0].get_xdata().tolist() == [3, 4, 5]


def test_the_plot_is_a_png_of_the_given_size(log: Path, tmp_path: Path) -> None:
    curves(log, tmp_path / "run.png")

    start = (tmp_path / "run.png").read_bytes()[:24]
    assert start[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", start[16:]) == (800, 280)


def test_invalid_tables_are_rejected(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.jsonl").touch()

    with pytest.raises(ValueError, match=r"^curves: run\.svg has suffix \.svg but \.png is expected$"):
        curves(log, tmp_path / "run.svg")
    with pytest.raises(ValueError, match=r"^curves: empty\.jsonl has no epoch$"):
        curves(tmp_path / "empty.jsonl", tmp_path / "run.png")
    monkeypatch.setitem(importlib.import_module("sys").modules, "matplotlib.figure", None)
    message = r'^curves: a picture needs the package matplotlib: pip install "tapegrad\[plot\]"$'
    with pytest.raises(ImportError, match=message):
        curves(log, tmp_path / "run.png")
    assert not (tmp_path / "run.png").exists()
