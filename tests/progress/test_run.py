"""Training runs: epochs, metrics, and that a killed run ends with the result of an uninterrupted one."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad import data, io, nn, optim
from tapegrad.ops import mse, ones, uniform
from tapegrad.progress import EarlyStopping, track
from tapegrad.progress.log import read
from tapegrad.tensors import Tensor

EXTENDED = bool(os.environ.get("TAPEGRAD_FAULTS"))
PROGRAM = """\
import sys

import tapegrad as tg
from tapegrad import data, io, nn, optim, progress
from tapegrad.optim import schedule

folder, every = sys.argv[1], float(sys.argv[2])


def stepped(model, opt, x, y):
    loss = tg.mse(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()


step = tg.jit(stepped) if sys.argv[3] == "jit" else stepped
with tg.random(0) as rng:
    x = tg.normal((96, 5))
    y = x.sum(axis=1, keepdims=True)
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Dropout(0.1), nn.Linear(7, 1))
    opt = optim.AdamW(model)
    lr = schedule.cosine(0.02, steps=25 * 12)
    run = progress.track(
        data.batches(x, y, size=8),
        epochs=25,
        log=f"{folder}/run.jsonl",
        checkpoint=f"{folder}/run.npz",
        saved={"model": model, "optimizer": opt, "generator": rng},
        every=every,
        until=progress.EarlyStopping("spread", patience=1000),
    )
    print("ready", flush=True)
    for epoch in run:
        for a, b in epoch:
            opt.lr = lr(epoch.step)
            epoch.note(loss=step(model, opt, a + 0.1 * tg.normal((8, 5)), b))
        epoch.note(spread=tg.std(model(x + tg.normal((96, 5)))))
io.save(model, f"{folder}/model.npz")
"""


def start(folder: Path, every: float, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), str(every), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        pytest.fail(process.communicate()[1])
    return process


def finished(folder: Path) -> tuple[dict[str, bytes], list[dict[str, float]]]:
    """Return all bits of the model, and the log without the time that it took."""
    with np.load(folder / "model.npz") as file:
        model = {name: array.tobytes() for name, array in file.items()}
    log = [json.loads(line) for line in (folder / "run.jsonl").read_text("utf-8").splitlines()]
    return model, [{name: number for name, number in line.items() if name != "seconds"} for line in log]


def killed(folder: Path, every: float, how: str, longest: float, dice: np.random.Generator) -> int:
    """Start a run again and again, and kills it, until it comes to its end or was killed often; returns how often."""
    kills, process = 0, start(folder, every, how)
    while kills < 12:
        try:
            process.wait(dice.uniform(0.0, longest))
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        kills, process = kills + 1, start(folder, every, how)
    said = process.communicate()[1]
    assert process.returncode == 0, said
    return kills


@pytest.mark.parametrize(
    ("every", "how"),
    [
        (0.0, "plain"),
        (0.05, "plain"),
        pytest.param(0.0, "jit", marks=pytest.mark.skipif(not EXTENDED, reason="takes long")),
    ],
)
def test_a_run_killed_at_random_times_ends_bit_identically(tmp_path: Path, every: float, how: str) -> None:
    whole, dice = tmp_path / "whole", np.random.default_rng(int(every * 100))
    whole.mkdir()
    process = start(whole, every, how)
    began = time.monotonic()
    assert process.communicate()[1].count("epoch") == 25
    longest = time.monotonic() - began if how == "jit" else 0.15  # a step is compiled first

    kills = rounds = 0
    while kills < (20 if EXTENDED else 2):
        assert rounds < 40
        broken, rounds = tmp_path / f"broken {rounds}", rounds + 1
        broken.mkdir()
        kills += killed(broken, every, how, longest, dice)

        assert finished(broken) == finished(whole)
        assert list(broken.glob(".run.npz.*")) == []
    assert [line["epoch"] for line in finished(whole)[1]] == list(range(1, 26))


class Model:
    """A small program of the test's own."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.model = nn.Sequential(nn.Linear(3, 2, rng=seed))
        self.opt = optim.Adam(self.model)
        self.batches = data.batches(uniform((6, 3), rng=1), ones((6, 2)), size=2, rng=seed)
        self.options: Any = {"checkpoint": folder / "run.npz", "saved": {"model": self.model, "opt": self.opt}}

    def run(self, epochs: int, **options: Any) -> Any:
        return track(self.batches, epochs=epochs, show=False, **(self.options | options))

    def step(self, x: Tensor[Any, Any, Any], y: Tensor[Any, Any, Any]) -> float:
        loss = mse(self.model(x.trace()), y)
        self.opt.step(loss.backward(wrt=self.model))
        return float(loss)


def test_an_epoch_is_a_pass_and_counts_its_steps() -> None:
    seen = [(epoch.number, epoch.step, item) for epoch in track(range(3), epochs=2, show=False) for item in epoch]

    assert seen == [(1, 0, 0), (1, 1, 1), (1, 2, 2), (2, 3, 0), (2, 4, 1), (2, 5, 2)]


def test_an_epoch_is_iterated_once() -> None:
    epoch = next(iter(track([1, 2, 3], show=False)))
    list(epoch)

    with pytest.raises(ValueError, match=r"^Epoch: epoch 1 is finished; a loop over the run returns the next"):
        list(epoch)


def test_a_resumed_run_continues_its_table(tmp_path: Path) -> None:
    def run(epochs: int) -> None:
        count = np.random.default_rng(0)
        for epoch in track(
            [0.5, 1.5],
            epochs=epochs,
            log=tmp_path / "run.csv",
            checkpoint=tmp_path / "run.npz",
            saved={"rng": count},
            show=False,
        ):
            for loss in epoch:
                epoch.note(loss=loss)

    run(2)
    run(3)

    assert [line["epoch"] for line in read(tmp_path / "run.csv")] == [1, 2, 3]
    assert [line["loss"] for line in read(tmp_path / "run.csv")] == [1.0, 1.0, 1.0]


def test_repeated_metrics_are_shown_as_their_mean() -> None:
    epochs = []
    for epoch in track([1.0, 2.0, 6.0], epochs=2, show=False):
        for number in epoch:
            epoch.note(loss=ones(()) * number * epoch.number)
        epoch.note(test_loss=np.float32(0.5))
        epochs.append(epoch)

    assert [epoch.means for epoch in epochs] == [{"loss": 3.0, "test_loss": 0.5}, {"loss": 6.0, "test_loss": 0.5}]


def test_without_a_terminal_each_epoch_is_a_line_and_rich_is_not_imported(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom tapegrad.progress import track\n"
        "for epoch in track(range(3), epochs=2):\n    for _ in epoch:\n        epoch.note(test_loss=0.12345)\n"
        "assert 'rich' not in sys.modules"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)

    line = r"epoch {}/2, test loss 0\.1235, [\d,]+ batches/s\n"
    assert re.fullmatch(line.format(1) + line.format(2), done.stderr)
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_slow_run_shows_fractions_of_a_batch(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(0.0, 7.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))

    for epoch in track(range(2)):
        list(epoch)

    shown = re.findall(r"([\d.]+) batches/s", capsys.readouterr().err)
    assert shown
    assert 0 < float(shown[-1]) < 1


def test_the_display_can_be_disabled(capsys: pytest.CaptureFixture[str]) -> None:
    assert [list(epoch) for epoch in track("ab", show=False)] == [["a", "b"]]
    assert capsys.readouterr() == ("", "")


def test_the_log_has_a_line_of_means_for_each_epoch(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("of another run\n", "utf-8")
    for epoch in track([0.5, 1.5], epochs=2, log=tmp_path / "run.jsonl", show=False):
        for number in epoch:
            epoch.note(loss=number)
        epoch.note(test_loss=math.nan, top=math.inf)

    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text("utf-8").splitlines()]
    assert all(0 <= line.pop("seconds") < 60 for line in lines)
    assert lines == [
        {"epoch": number, "step": 2 * number, "loss": 1.0, "test_loss": None, "top": None} for number in (1, 2)
    ]


def test_a_finished_run_continues_only_with_more_epochs(tmp_path: Path) -> None:
    first, again, longer = Model(tmp_path), Model(tmp_path, seed=7), Model(tmp_path, seed=8)
    for epoch in first.run(2):
        for x, y in epoch:
            first.step(x, y)

    over = [epoch.number for epoch in again.run(2)]
    more = [epoch.number for epoch in longer.run(5)]

    assert (over, more) == ([], [3, 4, 5])
    assert again.model[0].weight.tolist() == first.model[0].weight.tolist()


def test_an_error_in_the_loop_loses_the_steps_after_the_last_checkpoint(tmp_path: Path) -> None:
    broken, again = Model(tmp_path), Model(tmp_path, seed=7)

    def fails_at_step_4() -> None:
        for epoch in broken.run(2, every=0):
            for x, y in epoch:
                epoch.note(loss=broken.step(x, y) / (epoch.step - 4))

    with pytest.raises(ZeroDivisionError):
        fails_at_step_4()

    run = again.run(2, every=0)
    steps = [epoch.step for epoch in run for _ in epoch]

    assert steps == [4, 5]
    assert run.seconds > 0


def test_an_iterable_without_state_is_skipped_to_its_position(tmp_path: Path) -> None:
    options: Any = {"checkpoint": tmp_path / "run.npz", "saved": {"model": nn.Linear(3, 2)}, "every": 0, "show": False}

    def fails_at_item_3() -> None:
        for epoch in track(range(5), epochs=2, **options):
            for item in epoch:
                epoch.note(loss=1 / (item - 3))

    with pytest.raises(ZeroDivisionError):
        fails_at_item_3()

    assert [list(epoch) for epoch in track(range(5), epochs=2, **options)] == [[3, 4], [0, 1, 2, 3, 4]]


def test_early_stopping_ends_the_run_and_the_resumed_one(tmp_path: Path) -> None:
    losses = [5.0, 4.0, 4.5, 3.0, 3.5, 3.2, 1.0]

    def epochs() -> list[int]:
        until = EarlyStopping("test_loss", patience=2)
        numbers = []
        for epoch in Model(tmp_path).run(7, until=until):
            epoch.note(test_loss=losses[epoch.number - 1])
            numbers.append(epoch.number)
        return numbers

    assert epochs() == [1, 2, 3, 4, 5, 6]
    assert epochs() == []


def test_early_stopping_reads_the_recorded_metric() -> None:
    epochs = iter(track(range(2), until=EarlyStopping("test_loss", patience=2), show=False))
    next(epochs).note(loss=1.0, accuracy=0.5)

    message = r"^track: until watches test_loss, but epoch 1 noted loss, accuracy$"
    with pytest.raises(ValueError, match=message):
        next(epochs)


def test_a_checkpoint_of_another_run_changes_nothing(tmp_path: Path) -> None:
    for epoch in Model(tmp_path).run(1):
        epoch.note(loss=1)
    other = Model(tmp_path)
    other.batches = data.batches(ones((8, 3)), ones((8, 2)), size=2)
    before = other.model[0].weight.tolist()

    message = (
        "load: run.npz does not fit the mapping, which stays as it is:\n"
        "  batches.passed is bool (3,) in the file but bool (4,) is expected"
    )
    with pytest.raises(io.FileError, match=f"^{re.escape(message)}$"):
        other.run(1)

    assert other.model[0].weight.tolist() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "track: epochs is 0 but must be at least 1"),
        ({"every": -1.0}, "track: every is -1.0 but must be at least 0"),
        ({"every": math.nan}, "track: every is nan but must be at least 0"),
        ({"checkpoint": "run.npz"}, "track: checkpoint is run.npz, but there is nothing in saved"),
        ({"saved": {"model": nn.ReLU()}}, "track: saved has model, but there is no checkpoint to save it to"),
        ({"checkpoint": "a.npz", "saved": {"run": nn.ReLU()}}, "track: run in saved is a name of the run's own"),
        (
            {"checkpoint": "run.txt", "saved": {"model": nn.ReLU()}},
            "track: run.txt has suffix .txt but .npz or .safetensors is expected",
        ),
    ],
)
def test_invalid_arguments_are_rejected_before_the_run_starts(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        track(range(3), **options)


def test_reserved_names_of_the_log_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"^Epoch\.note: step is noted by the log itself$"):
        next(iter(track(range(3), show=False))).note(step=3)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("absent/run.npz", FileNotFoundError, "track: the folder {folder}/absent does not exist"),
        ("taken.npz", IsADirectoryError, "track: {folder}/taken.npz is a folder, not a file"),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_an_error_before_the_first_epoch(
    tmp_path: Path, path: str, error: type[OSError], message: str
) -> None:
    (tmp_path / "taken.npz").mkdir()
    model = nn.Linear(3, 2)

    with pytest.raises(error, match=f"^{re.escape(message.format(folder=tmp_path))}$"):
        track(range(3), epochs=2, checkpoint=tmp_path / path, saved={"model": model})
