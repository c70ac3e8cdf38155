"""Locales and encodings: files have decimal points and are UTF-8, in every locale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sets a locale as POSIX does")

FOLDER = "Maße & Größen ü"
PROGRAM = """\
import locale
import sys
from pathlib import Path

import tapegrad as tg
from tapegrad import io, nn, progress
from tapegrad.progress.log import read

folder, expected = Path(sys.argv[1]), sys.argv[2]
locale.setlocale(locale.LC_ALL, "")
assert (sys.getfilesystemencoding(), locale.localeconv()["decimal_point"]) == tuple(expected.split()), expected
net, other = nn.Linear(3, 2, rng=0), nn.Linear(3, 2, rng=1)
for suffix in ("npz", "safetensors"):
    path = folder / f"{folder.name}.{suffix}"
    io.save(net, path)
    io.load(other, path)
    assert other.weight.tolist() == net.weight.tolist()
for suffix in ("csv", "jsonl"):
    log, checkpoint = folder / f"{folder.name}.{suffix}", folder / f"{folder.name} {suffix}.npz"
    for _ in range(2):  # the second goes on where the first has ended
        for epoch in progress.track(range(3), epochs=2, log=log, checkpoint=checkpoint, saved={"net": net}):
            for _ in epoch:
                epoch.note(**{"gr\\u00f6\\u00dfe": 1.25})
    assert [line["gr\\u00f6\\u00dfe"] for line in read(log)] == [1.25, 1.25], read(log)
    assert "1.25" in log.read_text("utf-8")
for name, error in (("no such", OSError), ("damaged", io.FileError)):
    path = folder / f"{folder.name} {name}.npz"
    if name == "damaged":
        path.write_bytes(b"nothing")
    try:
        io.load(net, path)
    except error as said:
        assert name in str(said), said  # of an OSError the path stands there as Python writes it
assert "(2, 2)" in str(tg.summary(net, (2, 3)))
print(tg.tensor([0.5, 1.25]), f"{tg.tensor(0.5).item()}")
"""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"LC_ALL": "C", "PYTHONUTF8": "0"}, "ascii ."),
        ({"LC_ALL": "C.UTF-8"}, "utf-8 ."),
        ({"LC_ALL": "de_DE.UTF-8"}, "utf-8 ,"),
    ],
    ids=lambda value: value.get("LC_ALL", "") if isinstance(value, dict) else value,
)
def test_files_and_logs_are_the_same_in_any_locale(tmp_path: Path, settings: dict[str, str], expected: str) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    if expected.endswith(","):
        settings = {**settings, "LOCPATH": german(tmp_path)}

    done = run(tmp_path, settings, "program.py", FOLDER, expected)

    assert done.returncode == 0, done.stderr
    assert done.stdout == b"[0.5 , 1.25] 0.5\n"
    assert done.stderr.count(b"1.25, ") == 4


def test_the_doctor_works_in_an_ascii_terminal(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()

    done = run(tmp_path / FOLDER, {"LC_ALL": "C", "PYTHONUTF8": "0"}, "-m", "tapegrad", "doctor")

    assert b"What pyproject.toml should say" in done.stdout, done.stderr
    assert b"Traceback" not in done.stderr


def run(folder: Path, settings: dict[str, str], *command: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, check=False, env={**kept, **settings}, timeout=300
    )


def german(folder: Path) -> str:
    """Make the locale of Germany, whose decimals have a comma, where the system has what it takes."""
    localedef = shutil.which("localedef")
    path = folder / "de_DE.UTF-8"
    if localedef is None or subprocess.run([localedef, "-i", "de_DE", "-f", "UTF-8", path], check=False).returncode:
        pytest.skip("localedef makes no German here")
    return str(folder)
