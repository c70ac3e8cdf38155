"""The program of `make demo`: mypy checks two programs, then the one without errors trains on digits."""

import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from tapegrad.project.reports import MypyError, run_mypy

ROOT = Path(__file__).parent.parent
RIGHT, WRONG = "examples/digits.py", "examples/digits_wrong.py"
MARK = re.compile(r"\s*# E: (.*)")

console = Console(highlight=False, soft_wrap=True)
python = Syntax("", "python", theme="ansi_dark", background_color="default")


def planted(path: str) -> dict[int, str]:
    """Return the text after `# E:`, by line."""
    lines = (ROOT / path).read_text("utf-8").splitlines()
    marks = ((number, MARK.search(line)) for number, line in enumerate(lines, start=1))
    return {number: mark[1] for number, mark in marks if mark is not None}


def rejected(*paths: str) -> dict[str, dict[int, str]]:
    """Return what mypy, with the plugin, says of each file by line."""
    with console.status("mypy reads NumPy's types as well, the first time"):
        try:
            reports = run_mypy(["--config-file", "pyproject.toml", *paths], folder=ROOT)
        except MypyError as error:
            sys.exit(str(error))
    said: dict[str, dict[int, str]] = {path: {} for path in paths}
    for report in reports:
        if report.kind == "error":
            lines = said.setdefault(report.file, {})
            message = f"{report.text} [{report.code}]"
            lines[report.line] = f"{lines[report.line]}; {message}" if report.line in lines else message
    return said


def show(path: str, said: dict[int, str]) -> None:
    """Print each message under the line it is about."""
    verdict = ("rejected", "bold red") if said else ("accepted", "bold green")
    console.print(Text.assemble(f"\n{path:<26}", verdict))
    lines = (ROOT / path).read_text("utf-8").splitlines()
    for number, message in sorted(said.items()):
        source = python.highlight(MARK.sub("", lines[number - 1]).strip())
        source.rstrip()
        console.print(Text.assemble("\n", (f"{number:>4} │ ", "dim"), source))
        console.print(Text.assemble(("     │ ", "dim"), (message, "red")))


def compare(said: dict[int, str], expected: dict[int, str]) -> bool:
    """Print how many planted mistakes mypy reports with the expected message, and where it differs."""
    differ = sorted(number for number in said | expected if said.get(number) != expected.get(number))
    console.print(f"\nas planted: {len(expected.keys() - differ)} of {len(expected)}")
    for number in differ:
        for words, source in (("planted", expected), ("said", said)):
            console.print(Text(f"line {number}: {words} {source.get(number, 'nothing')}", "red"))
    return not differ


def main() -> int:
    """Run both steps; return 1 after a step with an unexpected outcome."""
    console.rule("1  mypy checks two programs")
    said = rejected(RIGHT, WRONG)
    for path, messages in said.items():
        show(path, messages)
    as_planted = compare(said.pop(WRONG), planted(WRONG))
    if not as_planted or any(said.values()):
        return 1

    console.rule("2  the accepted one learns to read digits")
    return subprocess.run([sys.executable, RIGHT], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
