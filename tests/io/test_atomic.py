"""Atomic writes: after a kill, an error or an interrupt the file is the old one or the new one.

With TAPEGRAD_FAULTS=1 the write fails after each byte of the file in turn.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from tapegrad.io import load, save
from tapegrad.io.atomic import remove_leftovers, write_atomically
from tapegrad.nn import Linear, Module, Param
from tapegrad.ops import zeros

SAVING = """
import sys
from itertools import count
from tapegrad.io import save
from tapegrad.nn import Module, Param
from tapegrad.ops import ones, zeros

class Net(Module):
    def __init__(self):
        self.first, self.second = Param(zeros((300, 301))), Param(zeros((301, 300)))

net = Net()
for number in count(1):
    net.first.assign(ones((300, 301)) * number)
    net.second.assign(ones((301, 300)) * number)
    save(net, sys.argv[1])
    print(number, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_process_killed_while_it_saves_leaves_a_complete_file(tmp_path: Path, suffix: str) -> None:
    path, moments = tmp_path / f"model.{suffix}", np.random.default_rng(0)
    net: Any = Module()
    net.first, net.second = Param(zeros((300, 301))), Param(zeros((301, 300)))

    for _ in range(6):
        with subprocess.Popen([sys.executable, "-c", SAVING, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            announced = int(process.stdout.readline())
            time.sleep(moments.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            announced = max([announced, *(int(line) for line in process.stdout.read().splitlines())])
        load(net, path)

        # Both of one save, and of the last one announced or of the one that was under way.
        numbers = {*np.unique(net.first.numpy()), *np.unique(net.second.numpy())}
        assert numbers <= {announced} or numbers <= {announced + 1}


KILLED_AT_EACH_BYTE = """
import os
import resource
import signal
import sys
from pathlib import Path

from tapegrad.io import save
from tapegrad.nn import Linear

path, step, killed = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "killed"
old, new = Linear(3, 2, rng=0), Linear(3, 2, rng=1)
save(new, path)
size = path.stat().st_size
save(old, path)
kept = path.read_bytes()
for limit in range(0, size, step):  # the kernel rejects writes after this byte
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if killed else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            save(new, path)
        except OSError as error:
            os._exit(7 if not list(path.parent.glob(".*")) else 8)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    expected = signal.SIGXFSZ if killed else 7
    came = os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    assert came == expected, (limit, came)
    assert path.read_bytes() == kept, limit
print(size, len(list(path.parent.glob(".*"))))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
@pytest.mark.parametrize("how", ["killed", "full"])
@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_write_that_fails_after_any_byte_leaves_the_old_file(tmp_path: Path, suffix: str, how: str) -> None:
    step = 1 if os.environ.get("TAPEGRAD_FAULTS") else 23
    command = [sys.executable, "-c", KILLED_AT_EACH_BYTE, str(tmp_path / f"model.{suffix}"), str(step), how]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    size, leftovers = map(int, done.stdout.split())
    assert leftovers == (-(-size // step) if how == "killed" else 0)
    load(Linear(3, 2, rng=0), tmp_path / f"model.{suffix}")


@pytest.mark.parametrize("call", ["open", "replace"])
def test_an_error_of_the_system_leaves_the_old_file_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "model.npz"
    save(Linear(3, 2, rng=0), path)
    before = path.read_bytes()

    def reject(self: Path, *_: object) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, call, reject)
        with pytest.raises(PermissionError) as rejected:
            save(Linear(3, 2, rng=1), path)

    assert rejected.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_dangling_link_is_followed_and_a_cyclic_one_is_rejected(tmp_path: Path) -> None:
    ahead, around = tmp_path / "ahead.npz", tmp_path / "around.npz"
    ahead.symlink_to(tmp_path / "model.npz")
    around.symlink_to(around)

    save(Linear(3, 2, rng=0), ahead)
    with pytest.raises(OSError, match=r"around\.npz"):
        load(Linear(3, 2, rng=0), around)

    assert ahead.is_symlink()
    load(Linear(3, 2, rng=0), tmp_path / "model.npz")


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_error_while_writing_leaves_the_old_file_and_no_other(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write(file: IO[bytes]) -> None:
        file.write(b"ne")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, write)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_renaming_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "model.npz").mkdir()

    with pytest.raises(OSError, match="directory"):
        save(Linear(2, 3, rng=0), tmp_path / "model.npz")

    assert list(tmp_path.iterdir()) == [tmp_path / "model.npz"]


def test_file_and_folder_are_synced_before_and_after_the_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(file: int) -> None:
        events.append("fsync")
        fsync(file)

    def noted_replace(path: Path, target: Path) -> Path:
        events.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)

    write_atomically(tmp_path / "file", write_new)

    assert events == ["fsync", "replace", "fsync"]
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_stays_a_link_and_a_new_file_has_the_default_mode(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    plain = tmp_path / "plain"
    plain.touch()

    write_atomically(tmp_path / "link", lambda file: file.flush())

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").stat().st_mode == plain.stat().st_mode


def write_new(file: IO[bytes]) -> None:
    file.write(b"new")


def test_leftovers_of_one_file_are_removed_and_nothing_else(tmp_path: Path) -> None:
    others = [".run.npz.12345678.tmpx", ".other.npz.12345678.tmp", ".run.npz.tmp", "run.npz", ".run.npz.new.tmp", ".x"]
    for name in [".run.npz.1a2b3c4d.tmp", ".run.npz.00000000.tmp", *others]:
        (tmp_path / name).touch()

    remove_leftovers(tmp_path / "run.npz")

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


def test_a_name_with_brackets_is_not_a_glob_pattern(tmp_path: Path) -> None:
    (tmp_path / ".r1.npz.1a2b3c4d.tmp").touch()
    (tmp_path / ".r[1].npz.1a2b3c4d.tmp").touch()

    remove_leftovers(tmp_path / "r[1].npz")

    assert [path.name for path in tmp_path.iterdir()] == [".r1.npz.1a2b3c4d.tmp"]


@pytest.mark.parametrize("place", ["folder", "file"])
def test_an_error_of_a_missing_folder_names_the_requested_file(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / place / "model.npz"

    with pytest.raises((FileNotFoundError, NotADirectoryError)) as failed:
        save(Linear(2, 2), path)

    assert failed.value.filename == str(path)
