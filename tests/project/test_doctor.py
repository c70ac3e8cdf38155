"""`python -m tapegrad doctor` in projects with all kinds of settings, with the mypy of the user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tapegrad.__main__ import main
from tapegrad.project.doctor import HOOK
from tapegrad.project.settings import MISSING, read_settings
from tests.warm_mypy_cache import SETTINGS, copy_warm_cache

README = Path(__file__).parents[2] / "README.md"
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "ci.md"
ENVIRONMENT = ("ok      Python", "ok      tapegrad", "ok      the command")
REJECTED = "matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()  # where mypy stops to look for settings further up
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def cache(tmp_path: Path) -> str:
    """Return the setting of a cache of the test's own: a test with other settings would replace one of all tests."""
    copy_warm_cache(tmp_path, name="cache", settings=SETTINGS)
    return f'cache_dir = "{tmp_path / "cache"}"\n'


def test_a_project_with_the_plugin_passes(folder: Path, cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_text(MISSING + cache, "utf-8")

    assert main(["doctor"]) == 0
    output = capfd.readouterr().out
    assert f"ok      mypy reads {folder}/pyproject.toml" in output
    assert "ok      the plugin is named: tapegrad.mypy" in output
    assert "ok      mypy knows the shape of a product, (2, 4): reveal_type(x @ tg.zeros((3, 4)))" in output
    assert f"ok      mypy rejects x @ x, as Python does: {REJECTED}" in output


def test_the_settings_of_the_readme_need_no_advice(folder: Path, cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    settings = README.read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
    assert settings == MISSING
    (folder / "pyproject.toml").write_text(settings + cache, "utf-8")

    assert main(["doctor"]) == 0
    assert not re.search("^(advice|wrong)", capfd.readouterr().out, re.MULTILINE)


def test_the_doctor_reads_mypy_with_colors_and_wrapped_lines(
    folder: Path, cache: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("MYPY_FORCE_TERMINAL_WIDTH", "20")
    (folder / "pyproject.toml").write_text(MISSING + cache + "pretty = true\n", "utf-8")

    assert main(["doctor"]) == 0
    assert f"ok      mypy rejects x @ x, as Python does: {REJECTED}" in capfd.readouterr().out


def test_a_project_without_settings_gets_the_missing_lines(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    copy_warm_cache(folder, settings="[mypy]\n")

    assert main(["doctor"]) == 1

    output = capfd.readouterr().out
    assert "wrong   mypy finds no settings here, so it runs without the plugin and checks no shapes\n" in output
    assert f"wrong   mypy does not report x @ x, which Python does: {REJECTED}" in output
    assert output.endswith(
        "What pyproject.toml should say:\n\n"
        "    [tool.mypy]\n"
        '    plugins = ["tapegrad.mypy"]\n'
        "    strict = true\n"
        "    allow_redefinition = true\n"
    )
    lines = "\n".join(line.strip() for line in output.splitlines()[-4:])
    (folder / "pyproject.toml").write_text(lines, "utf-8")
    assert read_settings(folder).has_plugin


def test_an_empty_settings_file_with_precedence_is_found(
    folder: Path, cache: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "pyproject.toml").write_text(MISSING + cache, "utf-8")
    (folder / "mypy.ini").touch()
    copy_warm_cache(folder, settings="[mypy]\n")

    assert main(["doctor"]) == 1
    output = capfd.readouterr().out
    shown = PAGE.read_text("utf-8").partition("$ python -m tapegrad doctor\n")[2].partition("```")[0]
    found = "".join(line for line in shown.splitlines(keepends=True) if not line.startswith(ENVIRONMENT))
    assert found.replace("/home/ada/project", str(folder)) in output
    assert "Move those of pyproject.toml into mypy.ini, or delete one." in output


@pytest.mark.parametrize(
    "override",
    [
        '[[tool.mypy.overrides]]\nmodule = "tapegrad_probe"\nignore_errors = true\n',
        '[[tool.mypy.overrides]]\nmodule = "tapegrad.*"\nfollow_imports = "skip"\n',
    ],
    ids=["errors", "imports"],
)
def test_settings_without_effect_are_found(
    override: str, folder: Path, cache: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "pyproject.toml").write_text(MISSING + cache + override, "utf-8")

    assert main(["doctor"]) == 1
    output = capfd.readouterr().out
    assert "ok      the plugin is named: tapegrad.mypy" in output
    assert f"wrong   mypy does not report x @ x, which Python does: {REJECTED}" in output


def test_a_plugin_listed_before_is_found(folder: Path, cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    plugins = 'plugins = ["pydantic.mypy", "tapegrad.mypy"]'
    (folder / "pyproject.toml").write_text(MISSING.replace('plugins = ["tapegrad.mypy"]', plugins) + cache, "utf-8")

    assert main(["doctor"]) == 0
    output = capfd.readouterr().out
    assert (
        "advice  pydantic.mypy comes before tapegrad.mypy, which does not see a call that is answered there\n" in output
    )
    assert output.endswith("\nList tapegrad.mypy first among the plugins: it asks those behind it.\n")


def test_settings_that_mypy_cannot_read_are_quoted(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "mypy.ini").write_text("[mypy]\nplugins = tapegrad.mypy, not_there\n", "utf-8")

    assert main(["doctor"]) == 1
    assert "wrong   mypy does not run here: " in (output := capfd.readouterr().out)
    assert "No module named 'not_there'" in output


def test_an_isolated_hook_and_an_isolated_editor_are_found(
    folder: Path, cache: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "pyproject.toml").write_text(MISSING + cache, "utf-8")
    (folder / ".pre-commit-config.yaml").write_text("- repo: somewhere/mirrors-mypy\n", "utf-8")
    (folder / ".vscode").mkdir()
    (folder / ".vscode" / "settings.json").write_text('{"mypy-type-checker.args": []} // mine', "utf-8")

    assert main(["doctor"]) == 1
    output = capfd.readouterr().out
    assert "wrong   .pre-commit-config.yaml runs mypy in an environment of its own, without tapegrad" in output
    assert "        language: system\n" in output
    assert "advice  VS Code may run the mypy that its extension brings, without tapegrad" in output
    assert '    "mypy-type-checker.importStrategy": "fromEnvironment"\n' in output


def test_a_mypy_of_another_python_is_found(
    folder: Path, cache: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(MISSING + cache, "utf-8")
    script = folder / "bin" / "mypy"
    script.parent.mkdir()
    script.write_text("#!/elsewhere/bin/python3\n", "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))

    assert main(["doctor"]) == 0
    output = capfd.readouterr().out
    assert f"advice  the command mypy is {script}, of another Python: /elsewhere/bin/python3" in output


def test_the_page_shows_the_advised_pre_commit_hook() -> None:
    assert f'```yaml title=".pre-commit-config.yaml"\n{HOOK}```' in PAGE.read_text("utf-8")


def test_the_command_of_hook_and_workflow_needs_only_the_advised_settings(folder: Path, cache: str) -> None:
    (folder / "pyproject.toml").write_text(MISSING + cache, "utf-8")
    (folder / "train.py").write_text("import tapegrad as tg\n\ntg.ones((2, 3)) @ tg.ones((2, 3))\n", "utf-8")
    (command,) = re.findall(r"entry: python (.*)", HOOK)

    done = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True, check=False)

    assert f"      - run: python {command}\n" in PAGE.read_text("utf-8")
    assert done.stdout.startswith("train.py:3: error: matmul: inner sizes differ: x (2, 3) has 3 columns")


def test_reading_settings_does_not_change_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "setup.cfg").write_text("[mypy]\nplugins = tapegrad.mypy\nstrict = true\n", "utf-8")
    monkeypatch.setenv("MYPY_CONFIG_FILE_DIR", "mine")

    settings = read_settings(folder)

    assert settings.file == folder / "setup.cfg"
    assert settings.strict
    assert settings.plugins == ("tapegrad.mypy",)
    assert settings.lines.startswith("[mypy]\n")
    assert not settings.allow_redefinition
    assert Path.cwd() == folder
    assert os.environ["MYPY_CONFIG_FILE_DIR"] == "mine"


def test_without_mypy_the_command_says_how_to_install_it(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tapegrad.__main__.find_spec", lambda _: None)

    assert main(["check", str(folder)]) == 2
    assert capfd.readouterr().err == f"mypy is not installed in {sys.executable}: pip install 'tapegrad[mypy]'\n"
