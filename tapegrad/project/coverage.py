"""`python -m tapegrad coverage`: how much mypy knows of the tensors of a program, and where it is lost first."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.mypy.coverage.analysis import MODULE_LEVEL, analyze
from tapegrad.mypy.coverage.levels import Level
from tapegrad.mypy.coverage.readings import Readings
from tapegrad.mypy.mypy_api import BuildError, checked_files
from tapegrad.mypy.reports import UNKNOWN
from tapegrad.project.check import usable_settings
from tapegrad.project.coverage_html import write_pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.coverage.findings import Analysis, Seen
    from tapegrad.mypy.mypy_api import Checked


_COLUMNS: Final = ("exact", "named", "partly", "unknown", "no tape", "no dtype", "accepted", "at calls", "known")


@dataclass(frozen=True)
class Row:
    """How many tensor expressions of a function or a file are known, and how well.

    Attributes:
        exact: Shapes of numbers.
        named: Shapes of names, and of arithmetic over names.
        partly: Shapes with an unknown size.
        unknown: Shapes of unknown rank.
        no_tape: Expressions of which it is unknown whether they have a tape.
        no_dtype: Expressions with an unknown dtype.
        accepted: Expressions left out of all other columns, because a comment accepts them or mypy reports them.
        at_calls: Expressions that are known at the calls of their function, whose annotations say less.
        all_known: Expressions whose shape, tape and dtype are known.
    """

    exact: int
    named: int
    partly: int
    unknown: int
    no_tape: int
    no_dtype: int
    accepted: int
    at_calls: int
    all_known: int

    @property
    def counted(self) -> int:
        """The expressions that count."""
        return self.exact + self.named + self.partly + self.unknown

    @property
    def percent(self) -> float:
        """The share of expressions of which everything is known; 100 if there are none."""
        return 100 * self.all_known / self.counted if self.counted else 100.0

    @property
    def share(self) -> str:
        """The percentage as text, rounded down, so that 100 % means all; `-` if no expression counts."""
        return f"{int(self.percent * 10) / 10:g} %" if self.counted else "-"


class Page(NamedTuple):
    """A file and its analysis."""

    path: str
    source: str
    analysis: Analysis

    @property
    def row(self) -> Row:
        """The counts of the whole file."""
        return row_of(self.analysis.seen)

    @property
    def functions(self) -> list[tuple[str, int, Row]]:
        """The name, the line and the counts of each function with a tensor expression."""
        units = {(unit.name, unit.line): unit for unit in self.analysis.units}
        rows = [
            (unit.name, unit.line, row_of(seen))
            for unit in units.values()
            if (seen := [one for one in self.analysis.seen if one.unit == unit])
        ]
        return sorted(rows, key=lambda row: (row[0] != MODULE_LEVEL, row[1]))


def coverage(
    folder: Path,
    arguments: Sequence[str],
    *,
    html: Path | None = None,
    as_json: bool = False,
    fail_under: float | None = None,
) -> int:
    """Print what mypy knows of each function, and each place where something is lost.

    Args:
        folder: Where mypy is started.
        arguments: mypy's own arguments, including files and folders.
        html: A folder to write pages to.
        as_json: Whether to print JSON instead of text.
        fail_under: The least percentage of known expressions that is a success.

    Returns:
        0 for success; 1 if mypy reports errors, a comment is wrong, or less is known than `fail_under`; 2 if mypy
        could not check everything.
    """
    settings = usable_settings(folder)
    if settings is None:
        return 2
    errors: list[str] = []

    def report(messages: list[str]) -> None:
        # An error of the code judges a file by itself; the report judges all files together.
        shown = [message for message in messages if not message.endswith(f"[{UNKNOWN.code}]")]
        errors.extend(message for message in shown if ": error: " in message)
        sys.stderr.writelines(f"{message}\n" for message in shown)

    try:
        files, types = checked_files(["--config-file", str(settings), *arguments], report)
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    pages = pages_of(files, types)
    sys.stdout.write(json.dumps(as_data(pages), indent=2) + "\n" if as_json else as_text(pages))
    if html is not None:
        write_pages(html, pages, _total(pages))
        sys.stderr.write(f"wrote {html / 'index.html'}\n")
    return int(_fails(pages, errors, fail_under))


def pages_of(files: Sequence[Checked], types: Mapping[Expression, Type]) -> list[Page]:
    """Return the analysis of each file; a body counts with what the calls in all of the files give it."""
    readings = Readings([one.tree for one in files], "the files checked")
    return [
        Page(
            one.path,
            one.source,
            analyze(one.tree, types, one.source, one.rejected, readings=readings, skips_untyped=one.skips_untyped),
        )
        for one in files
    ]


def _fails(pages: list[Page], errors: list[str], fail_under: float | None) -> bool:
    total = _total(pages)
    is_too_low = fail_under is not None and total.percent < fail_under
    if is_too_low:
        sys.stderr.write(
            f"{total.percent:.1f} % of the tensor expressions are known, but {fail_under:g} % is required\n"
        )
    if errors:
        sys.stderr.write(f"mypy reports errors, {len(errors)} in all: what is unknown because of them is left out\n")
    return is_too_low or bool(errors) or any(page.analysis.mistakes for page in pages)


def _total(pages: Iterable[Page]) -> Row:
    return row_of(one for page in pages for one in page.analysis.seen)


def row_of(seen: Iterable[Seen]) -> Row:
    """Return the counts of some expressions."""
    every = list(seen)
    counted = [one for one in every if not one.left_out]
    levels = Counter(one.knowledge.level for one in counted)
    return Row(
        exact=levels[Level.EXACT],
        named=levels[Level.NAMED],
        partly=levels[Level.PARTLY],
        unknown=levels[Level.UNKNOWN],
        no_tape=sum(not one.knowledge.tape for one in counted),
        no_dtype=sum(not one.knowledge.dtype for one in counted),
        accepted=len(every) - len(counted),
        at_calls=sum(one.at_calls for one in counted),
        all_known=sum(one.is_known for one in counted),
    )


def as_text(pages: list[Page]) -> str:
    """Return the report for a terminal: a table, then a line for each place where something is lost."""
    pages = [page for page in pages if page.analysis.seen or page.analysis.mistakes]
    lines = []
    for page in pages:
        lines.append((page.path, page.row))
        lines += [(f"  {name}", row) for name, _, row in page.functions]
    lines.append(("all", _total(pages)))
    width = max(len(name) for name, _ in lines)
    head = f"{'':<{width}}" + "".join(f"  {column:>8}" for column in _COLUMNS)
    table = [
        head,
        *(f"{name:<{width}}{_cells(row)}" for name, row in lines[:-1]),
        "",
        f"{'all':<{width}}{_cells(lines[-1][1])}",
    ]
    places = [
        f"{page.path}:{loss.span.line}:{loss.span.column + 1}: {loss.message}"
        for page in pages
        for loss in page.analysis.losses
        if loss.accepted is None
    ]
    mistakes = [
        f"{page.path}:{comment.line}:{comment.column + 1}: {words}"
        for page in pages
        for comment, words in page.analysis.mistakes
    ]
    parts = [table]
    if places:
        parts.append(["Lost first at:", *places])
    if mistakes:
        parts.append(mistakes)
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _cells(row: Row) -> str:
    counts = (row.exact, row.named, row.partly, row.unknown, row.no_tape, row.no_dtype, row.accepted, row.at_calls)
    return "".join(f"  {count or '-':>8}" for count in counts) + f"  {row.share:>8}"


def as_data(pages: list[Page]) -> dict[str, Any]:
    """Return the report as data for JSON."""
    return {
        "files": [
            {
                "path": page.path,
                **_counts(page.row),
                "functions": [{"name": name, "line": line, **_counts(row)} for name, line, row in page.functions],
                "lost": [
                    {
                        "line": loss.span.line,
                        "column": loss.span.column + 1,
                        "end_line": loss.span.end_line,
                        "end_column": loss.span.end_column + 1,
                        "function": loss.unit.name,
                        "expression": loss.expression,
                        "parts": list(loss.parts),
                        "axes": list(loss.axes),
                        "reason": loss.reason,
                        "fix": loss.fix,
                        "accepted": loss.accepted,
                        "message": loss.message,
                    }
                    for loss in page.analysis.losses
                ],
                "comments": [
                    {"line": comment.line, "column": comment.column + 1, "message": words}
                    for comment, words in page.analysis.mistakes
                ],
            }
            for page in pages
        ],
        "all": _counts(row_of(one for page in pages for one in page.analysis.seen)),
    }


def _counts(row: Row) -> dict[str, float]:
    return {**asdict(row), "percent": row.percent}
