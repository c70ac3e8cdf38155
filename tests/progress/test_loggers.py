"""Loggers: files, TensorBoard and objects of the user, called by `track` and by a loop."""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Any, SupportsFloat

import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError
from tapegrad.progress import LogFile, Logger, TensorBoard, track
from tapegrad.progress.log import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Kept:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, dict[str, float]]] = []

    def log(self, step: int, values: Mapping[str, SupportsFloat]) -> None:
        """Keep a line."""
        self.lines.append((step, {name: float(value) for name, value in values.items()}))


def run(log: Any, epochs: int = 2) -> None:
    for epoch in track([0.5, 0.25], epochs=epochs, log=log, show=False):
        for loss in epoch:
            epoch.note(loss=loss / epoch.number)


def events(folder: Path) -> list[tuple[int, dict[str, float]]]:
    """Return the scalars of the event files of a folder, in the order of their steps, without those that are purged."""
    event = pytest.importorskip("tensorboardX.proto.event_pb2").Event
    found: list[tuple[int, dict[str, float]]] = []
    for path in sorted(folder.iterdir()):
        data, place = path.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<Q", data, place)  # then its checksum, the event, and its checksum
            read = event.FromString(data[place + 12 : place + 12 + length])
            place += 16 + length
            if read.WhichOneof("what") == "session_log":
                found = [one for one in found if one[0] < read.step]
            found += [(read.step, {one.tag: one.simple_value}) for one in read.summary.value]
    return found


def test_a_logger_gets_the_means_of_each_epoch() -> None:
    kept, other = Kept(), Kept()

    run(kept)
    run([kept, other])

    assert other.lines == [(2, {"loss": 0.375}), (4, {"loss": 0.1875})]
    assert kept.lines == other.lines * 2
    assert isinstance(kept, Logger)


@pytest.mark.parametrize("name", ["steps.jsonl", "steps.csv"])
def test_a_file_has_a_line_for_each_step(tmp_path: Path, name: str) -> None:
    file = LogFile(tmp_path / name)
    for step in range(2):
        file.log(step, {"loss": tg.tensor(0.5), "rate": 0.25 * step})

    assert read(tmp_path / name) == [
        {"step": 0, "loss": 0.5, "rate": 0.0},
        {"step": 1, "loss": 0.5, "rate": 0.25},
    ]
    LogFile(tmp_path / name).log(7, {"loss": 1.0})
    assert read(tmp_path / name) == [{"step": 7, "loss": 1.0}]


def test_tensorboard_gets_scalars(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    board = TensorBoard(tmp_path)
    run(board)
    board.close()

    assert events(tmp_path) == [(2, {"loss": 0.375}), (4, {"loss": 0.1875})]


def test_tensorboard_does_not_show_the_epochs_that_a_resumed_run_repeats(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    first, second = TensorBoard(tmp_path / "1"), TensorBoard(tmp_path / "2")
    for step in (2, 4, 6):
        first.log(step, {"loss": 1.0})
    for step in (4, 6):
        second.log(step, {"loss": 0.5})
    first.close()
    second.close()
    for path in (tmp_path / "1").iterdir():
        path.rename(tmp_path / "1" / "events.1")
    for path in (tmp_path / "2").iterdir():
        path.rename(tmp_path / "1" / "events.2")

    assert events(tmp_path / "1") == [(2, {"loss": 1.0}), (4, {"loss": 0.5}), (6, {"loss": 0.5})]


def test_tensorboard_says_which_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)

    with pytest.raises(ImportError, match=r'^TensorBoard: .* tensorboardX: pip install "tapegrad\[tensorboard\]"$'):
        TensorBoard(tmp_path)


def test_an_object_without_the_method_is_rejected() -> None:
    for wrong in (3, [Kept(), {}]):
        with pytest.raises(DTypeError, match=r"^track: log is an? (int|dict), neither a path nor an object with log\("):
            run(wrong)
