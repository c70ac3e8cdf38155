"""The folder of compiled kernels: private, verified before Numba unpickles a file, and optional."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tapegrad
from tapegrad.engines.numba import kernel_cache

pytestmark = pytest.mark.skipif(os.name != "posix", reason="of owners and modes")
SOFTMAX = """
import numpy as np, tapegrad as tg

x = tg.ones((300, 400))
print(round(tg.softmax(x).sum().item()))
"""
PROGRAM = f"""{SOFTMAX}
print(round(tg.max_pool2d(x[None, None], 2).sum().item()))
for number in (tg.fused(lambda x: tg.tanh(x) * 3 - x), tg.fused(lambda x: tg.tanh(x) - 5 * x)):
    print(round(number(x).mean().item(), 3))
"""
PRINTED = ["300", "30000", "1.285", "-4.238"]
STRANGER = 54321


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tapegrad"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made(path: Path, mode: int) -> Path:
    path.mkdir(parents=True)
    path.chmod(mode)
    return path


def reason() -> str:
    """Return why the folder is not used, which is said once."""
    with pytest.warns(RuntimeWarning) as warned:
        assert kernel_cache.folder() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel_cache.folder() is None
    (one,) = warned
    message = str(one.message)
    before, after = "compiled kernels are not cached because ", "; remove it, or set XDG_CACHE_HOME to another folder"
    assert message.startswith(before)
    assert message.endswith(after)
    return message.removeprefix(before).removesuffix(after)


def test_the_folder_is_private_to_its_user(home: Path) -> None:
    assert kernel_cache.folder() == home
    assert mode(home) == mode(home / "__pycache__") == 0o700


def test_a_folder_that_others_could_read_becomes_private(home: Path) -> None:
    made(home, 0o755).joinpath("fused_1.py").touch(mode=0o644)

    assert kernel_cache.folder() == home
    assert mode(home) == 0o700


def test_files_in_a_private_folder_may_have_any_mode(home: Path) -> None:
    made(home, 0o700).joinpath("fused_1.py").touch()
    (home / "fused_1.py").chmod(0o666)

    assert kernel_cache.folder() == home


@pytest.mark.parametrize("path", ["", "__pycache__"])
def test_a_folder_that_others_can_write_is_rejected(home: Path, path: str) -> None:
    made(home, 0o755)
    folder = home / path
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)

    assert reason() == f"others can write to {folder}"


def test_a_file_that_others_could_write_is_rejected(home: Path) -> None:
    made(home, 0o755).joinpath("fused_1.py").touch()
    (home / "fused_1.py").chmod(0o666)

    assert reason() == f"others could write to {home / 'fused_1.py'}"


def test_a_symbolic_link_is_not_followed(home: Path, tmp_path: Path) -> None:
    home.symlink_to(made(tmp_path / "elsewhere", 0o700))

    assert reason() == f"{home} is not a folder"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_user_are_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("", "__pycache__", "__pycache__/kernel.nbc", "fused_1.py"):
        home = tmp_path / str(len(name)) / "tapegrad"
        made(home / "__pycache__", 0o700)
        home.chmod(0o700)
        if "." in name:
            (home / name).touch()
        os.chown(home / name, STRANGER, STRANGER)
        monkeypatch.setenv("XDG_CACHE_HOME", str(home.parent))

        assert reason() == f"{home / name} belongs to user {STRANGER}, not to user 0"


def test_without_a_writable_place_there_is_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for variable, value in (("XDG_CACHE_HOME", str(tmp_path / "file")), ("HOME", "relative")):
        monkeypatch.setenv(variable, value)
        assert kernel_cache.folder() is None
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard says is to be ignored
    assert not (Path.cwd() / "relative").exists()


def computed(program: str, folder: Path, *prefix: str, **variables: str) -> list[str]:
    """Run a program with a copy of the library that is not to be written to; returns what it prints."""
    package = folder / "library" / "tapegrad"
    if not package.exists():
        # With the bytecode, without kernels, and without the file that another process may be writing.
        ignored = shutil.ignore_patterns("*.nbi", "*.nbc", "*.pyc.*")
        shutil.copytree(Path(tapegrad.__file__).parent, package, ignore=ignored)
        for path in (package, *package.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", "TAPEGRAD_FAST": "1"}
    (folder / "here").mkdir(exist_ok=True)
    (folder / "here").chmod(0o777)
    run = subprocess.run(
        [*prefix, sys.executable, "-c", program],
        cwd=folder / "here",
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    assert not [*(folder / "here").iterdir()]
    return run.stdout.split()


def as_a_stranger() -> list[str]:
    """Return what runs a command as a user whom the system does not know, who may read all and write nothing."""
    reading = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    command = ["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups", *reading]
    if shutil.which("setpriv") is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no other user can be had here")
    return command


def test_an_unknown_user_without_a_home_can_use_kernels(tmp_path: Path) -> None:
    # Numba rejects to keep a kernel that it finds no place for, and a large softmax once failed.
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)

    assert computed(SOFTMAX, tmp_path, *as_a_stranger()) == PRINTED[:1]


def test_kernels_of_a_read_only_installation_are_stored_in_the_folder(tmp_path: Path) -> None:
    stranger = as_a_stranger()
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)
    home = tmp_path / "cache"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)

    assert computed(PROGRAM, tmp_path, *stranger, XDG_CACHE_HOME=str(home)) == PRINTED

    kept = {path.name.partition(".")[0] for path in (home / "tapegrad" / "__pycache__").glob("*.nbc")}
    assert "pools" in kept
    assert sum(name.startswith("fused_") for name in kept) == 3
    before = {path: path.stat().st_mtime_ns for path in (home / "tapegrad").rglob("*") if path.is_file()}
    assert computed(PROGRAM, tmp_path, *stranger, XDG_CACHE_HOME=str(home)) == PRINTED
    assert {path: path.stat().st_mtime_ns for path in (home / "tapegrad").rglob("*") if path.is_file()} == before
