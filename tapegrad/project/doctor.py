"""`python -m tapegrad doctor`: check whether mypy runs with the plugin in a folder, and print how to fix it."""

from __future__ import annotations

import os
import shutil
import sys
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.errors import ShapeError
from tapegrad.project.probe import PROGRAM, probe
from tapegrad.project.settings import PLUGIN, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.project.probe import Answer
    from tapegrad.project.settings import Settings

COLUMN: Final = 8
HOOK: Final = """\
repos:
  - repo: local
    hooks:
      - id: mypy
        name: mypy
        entry: python -m mypy .
        language: system
        types: [python]
        pass_filenames: false
        require_serial: true
"""


class Verdict(Enum):
    """The result of one check."""

    OK = "ok"
    ADVICE = "advice"
    WRONG = "wrong"


class Finding(NamedTuple):
    """One check.

    Attributes:
        verdict: Only an error makes the command fail.
        text: The finding, in one line.
        remedy: What to add to which file, if anything.
    """

    verdict: Verdict
    text: str
    remedy: str = ""


def doctor(folder: Path) -> int:
    """Print the findings for a folder, then what to add to which file.

    Returns:
        1 if anything is wrong, else 0.
    """
    settings = read_settings(folder)
    findings = []
    for finding in _findings(folder, settings):  # printed one by one: the last one runs mypy for seconds
        sys.stdout.write(f"{finding.verdict.value:<{COLUMN}}{finding.text}\n")
        sys.stdout.flush()
        findings.append(finding)

    for remedy in dict.fromkeys(finding.remedy for finding in findings if finding.remedy):
        sys.stdout.write(f"\n{remedy}")
    return int(any(finding.verdict is Verdict.WRONG for finding in findings))


def _findings(folder: Path, settings: Settings) -> Iterator[Finding]:
    yield _interpreter()
    yield _versions()
    yield from _command()
    yield from _file(settings)
    yield from _options(settings)
    yield _cache(settings)
    yield from _pre_commit(folder)
    yield from _editor(folder)
    yield from _behaviour(probe(folder, settings))


def _interpreter() -> Finding:
    number = ".".join(map(str, sys.version_info[:3]))
    return Finding(Verdict.OK, f"Python {number} is {sys.executable}")


def _versions() -> Finding:
    names = ("tapegrad", "mypy", "numpy", "jaxtyping", "beartype")
    return Finding(Verdict.OK, ", ".join(f"{name} {version(name)}" for name in names))


def _command() -> Iterator[Finding]:
    """Yield a warning if the shell finds the `mypy` of another environment, which cannot load this plugin."""
    found = shutil.which("mypy")
    if found is None:
        return
    interpreter = _interpreter_of(Path(found))
    if interpreter is None or interpreter.parent == Path(sys.executable).parent:
        yield Finding(Verdict.OK, f"the command mypy is {found}, of this Python")
    else:
        remedy = "Run mypy as `python -m mypy`, in the environment that tapegrad is installed in.\n"
        yield Finding(Verdict.ADVICE, f"the command mypy is {found}, of another Python: {interpreter}", remedy)


def _interpreter_of(script: Path) -> Path | None:
    first, *_ = script.read_bytes().partition(b"\n")
    return Path(os.fsdecode(first[2:].strip())) if first.startswith(b"#!/") else None


def _file(settings: Settings) -> Iterator[Finding]:
    if settings.file is None:
        text = "mypy finds no settings here, so it runs without the plugin and checks no shapes"
        yield Finding(Verdict.WRONG, text, _lines_to_add(settings))
        return
    yield Finding(Verdict.OK, f"mypy reads {settings.file}")
    for complaint in settings.complaints:
        yield Finding(Verdict.ADVICE, f"mypy says of it: {complaint}")
    for other in settings.passed_over:
        remedy = (
            f"mypy reads one file of settings. Move those of {other.name} into {settings.file.name}, or delete one.\n"
        )
        yield Finding(Verdict.ADVICE, f"mypy does not read {other}, for {settings.file.name} comes first", remedy)


def _options(settings: Settings) -> Iterator[Finding]:
    if settings.file is None:
        return
    remedy = _lines_to_add(settings)
    if settings.has_plugin:
        yield Finding(Verdict.OK, "the plugin is named: tapegrad.mypy")
        before = settings.plugins[: settings.plugins.index(PLUGIN)]
        if before:
            text = f"{', '.join(before)} comes before tapegrad.mypy, which does not see a call that is answered there"
            yield Finding(
                Verdict.ADVICE, text, "List tapegrad.mypy first among the plugins: it asks those behind it.\n"
            )
    else:
        named = ", ".join(settings.plugins) or "none"
        yield Finding(Verdict.WRONG, f"the plugin is not named; named are: {named}", remedy)
    if not settings.strict:
        yield Finding(Verdict.ADVICE, "strict is off: a function without annotations is not looked into", remedy)
    if not settings.allow_redefinition:
        yield Finding(Verdict.ADVICE, "allow_redefinition is off: x = layer(x) cannot change the shape of x", remedy)


def _lines_to_add(settings: Settings) -> str:
    lines = "".join(f"    {line}\n" for line in settings.lines.splitlines())
    return f"What {settings.target} should say:\n\n{lines}"


def _cache(settings: Settings) -> Finding:
    place = next(path for path in (settings.cache, *settings.cache.parents) if path.exists())
    if os.access(place, os.W_OK):
        return Finding(Verdict.OK, f"the cache can be written: {settings.cache}")
    return Finding(Verdict.ADVICE, f"the cache cannot be written, so each run is a first one: {settings.cache}")


def _pre_commit(folder: Path) -> Iterator[Finding]:
    file = folder / ".pre-commit-config.yaml"
    if file.is_file() and "mirrors-mypy" in file.read_text("utf-8"):
        remedy = (
            f"A local hook for {file.name}, which runs mypy in the environment of the project:\n\n{_indented(HOOK)}"
        )
        yield Finding(Verdict.WRONG, f"{file.name} runs mypy in an environment of its own, without tapegrad", remedy)


def _editor(folder: Path) -> Iterator[Finding]:
    file = folder / ".vscode" / "settings.json"
    if not file.is_file():
        return
    text = file.read_text("utf-8")
    if "mypy" in text and not ("fromEnvironment" in text or "runUsingActiveInterpreter" in text):
        line = '"mypy-type-checker.importStrategy": "fromEnvironment"'
        remedy = f"A line for .vscode/settings.json:\n\n{_indented(line)}"
        yield Finding(Verdict.ADVICE, "VS Code may run the mypy that its extension brings, without tapegrad", remedy)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _behaviour(answer: Answer) -> Iterator[Finding]:
    if answer.failed:
        yield Finding(Verdict.WRONG, f"mypy does not run here: {answer.failed}")
        return
    product, mistake = PROGRAM.splitlines()[-2:]
    if answer.is_exact:
        yield Finding(Verdict.OK, f"mypy knows the shape of a product, (2, 4): {product}")
    else:
        yield Finding(
            Verdict.WRONG, f"mypy does not know that this is (2, 4): {product}: {answer.revealed or 'no word'}"
        )
    message = _message()
    if answer.rejected == message:
        yield Finding(Verdict.OK, f"mypy rejects {mistake}, as Python does: {message}")
    else:
        yield Finding(Verdict.WRONG, f"mypy does not report {mistake}, which Python does: {message}")


def _message() -> str:
    """Return the error message of the last line at run time."""
    import tapegrad as tg

    x: Any = tg.zeros((2, 3))  # Any: mypy would reject the line below here as well
    try:
        x @ x
    except ShapeError as error:
        return str(error)
    message = "the last line of the program is meant to be rejected"
    raise AssertionError(message)
