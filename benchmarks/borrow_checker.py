"""Compare what mypy and rustc report of programs that use a consumed tape.

    python -m benchmarks.borrow_checker            # runs rustc, and writes the verdicts and the table of the page
    python -m benchmarks.borrow_checker --table    # writes the table only

Every program of `typecheck/borrow_checker/` has a counterpart of the same name in `benchmarks/rust_programs/`, written
over a model of tensors that move (`prelude.rs`). A `reject_` program is a mistake, an `accept_` program is valid. The
tests check what mypy reports of each program, and that Python raises a TapeError for each mistake.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

from docs.marks import between_marks

ROOT: Final = Path(__file__).parent.parent
PROGRAMS: Final = ROOT / "typecheck" / "borrow_checker"
RUST: Final = ROOT / "benchmarks" / "rust_programs"
VERDICTS: Final = ROOT / "benchmarks" / "borrow_checker.json"
PAGE: Final = ROOT / "docs" / "guide" / "borrow-checker.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
# The errors of rustc's borrow checker; any other error means that a program is written wrongly.
MOVES: Final = {"E0382", "E0505", "E0507", "E0525", "E0381", "E0373", "E0499", "E0502", "E0506"}


class Program(NamedTuple):
    """A program: the file that it is in, its name, and whether mypy rejects it."""

    file: str
    name: str
    is_rejected: bool

    @property
    def is_mistake(self) -> bool:
        """Whether the program is a mistake."""
        return self.name.startswith("reject_")


def programs() -> list[Program]:
    """Return all programs in order; the marks in a file say what mypy reports of it."""
    found = []
    for path in sorted(PROGRAMS.glob("*.py")):
        lines = path.read_text("utf-8").splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(("accept_", "reject_")):
                marked = any("# E" in line for line in lines[node.lineno - 1 : node.end_lineno])
                found.append(Program(path.stem, node.name, marked))
    return found


def rejected_by_rustc() -> list[str]:
    """Return the names of the programs that rustc rejects, in order.

    Raises:
        RuntimeError: A program has an error that is not one of the borrow checker, or has no counterpart.
    """
    files = sorted(RUST.glob("*.rs"), key=lambda path: (path.stem != "prelude", path.name))
    text = "\n".join(path.read_text("utf-8") for path in files)
    lines = text.splitlines()
    starts = {
        number: m[1] for number, line in enumerate(lines, 1) if (m := re.match(r"fn ((?:accept|reject)_\w+)", line))
    }
    missing = {one.name for one in programs()} ^ set(starts.values())
    if missing:
        message = f"only in Python, or only in Rust: {sorted(missing)}"
        raise RuntimeError(message)
    rejected = set()
    for error in _errors(f"{text}\nfn main() {{}}\n"):
        line = next(span["line_start"] for span in error["spans"] if span["is_primary"])
        if (error["code"] or {}).get("code") not in MOVES:
            message = f"line {line}: {error['message']}: {lines[line - 1]}"
            raise RuntimeError(message)
        rejected.add(starts[max(number for number in starts if number <= line)])
    return sorted(rejected)


def _errors(text: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "programs.rs"
        source.write_text(text, "utf-8")
        run = _rustc("--edition", "2021", "--emit=metadata", "--error-format=json", "--out-dir", folder, str(source))
    messages = [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]
    return [one for one in messages if one["level"] == "error" and one["spans"]]


def _rustc(*arguments: str) -> subprocess.CompletedProcess[str]:
    rustc = shutil.which("rustc")
    if rustc is None:
        message = "rustc is missing; --table writes the table from the stored verdicts"
        raise RuntimeError(message)
    return subprocess.run([rustc, *arguments], capture_output=True, text=True, check=False)


def table() -> str:
    """Return the table of the page: how many mistakes, and how many right programs, each checker rejects."""
    rejected = set(json.loads(VERDICTS.read_text("utf-8"))["rejected"])
    counts: dict[str, Counter[str]] = {}
    for one in programs():
        row, kind = counts.setdefault(one.file, Counter()), "mistake" if one.is_mistake else "right"
        row[kind] += 1
        row[f"{kind} mypy"] += one.is_rejected
        row[f"{kind} rustc"] += one.name in rejected
    rows = [_row(f"`{file}`", count) for file, count in counts.items()]
    total: Counter[str] = sum(counts.values(), Counter())
    header = "| programs | mistakes | found by mypy | found by rustc | right | rejected by mypy | rejected by rustc |"
    return "\n".join([header, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |", *rows, _row("all", total)])


def _row(name: str, count: Counter[str]) -> str:
    kinds = ["mistake", "mistake mypy", "mistake rustc", "right", "right mypy", "right rustc"]
    return f"| {name} | {' | '.join(str(count[kind]) for kind in kinds)} |"


def main() -> None:
    """Run rustc, and write the verdicts and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="write the table only")
    if not parser.parse_args().table:
        version = _rustc("--version").stdout.split()[1]
        verdicts = {"rustc": version, "rejected": rejected_by_rustc()}
        VERDICTS.write_text(json.dumps(verdicts, indent=2) + "\n", "utf-8")
    PAGE.write_text(between_marks(PAGE.read_text("utf-8"), BEGIN, END, table()), "utf-8")


if __name__ == "__main__":
    main()
