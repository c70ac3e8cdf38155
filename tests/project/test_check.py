"""`python -m tapegrad check` where mypy is configured, where it is not, and where the plugin is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapegrad.__main__ import main
from tapegrad.project.settings import MISSING
from tests.warm_mypy_cache import SETTINGS, copy_warm_cache

PROGRAM = "import tapegrad as tg\n\nx = tg.zeros((2, 3))\nx @ x\n"
REJECTED = "program.py:4: error: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()  # where mypy stops to look for settings further up
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("check")
    copy_warm_cache(folder, name="cache", settings=SETTINGS)
    return str(folder / "cache")


def test_a_folder_without_settings_is_checked_with_the_plugin(
    folder: Path, cache: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--cache-dir", cache, str(folder / "program.py")]) == 1
    output = capfd.readouterr()
    assert REJECTED in output.out
    assert output.err == (
        "mypy finds no settings here: this run has tapegrad's own, but plain `mypy` runs without the plugin and checks"
        " no shapes. `python -m tapegrad doctor` shows what to add.\n"
    )


def test_settings_with_the_plugin_are_used(folder: Path, cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    own = f'files = ["program.py"]\ncache_dir = "{cache}"\nhide_error_codes = true\n'
    (folder / "pyproject.toml").write_text(MISSING + own, "utf-8")

    assert main(["check"]) == 1
    output = capfd.readouterr()
    assert f"{REJECTED}\n" in output.out
    assert output.err == ""


def test_settings_without_the_plugin_are_not_changed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\n", "utf-8")

    assert main(["check", "program.py"]) == 2
    assert capfd.readouterr().err == (
        f"{folder}/mypy.ini does not name the plugin. Add to it:\n\n[mypy]\nplugins = tapegrad.mypy\n"
    )
