"""The error code `tapegrad-unknown` in mypy's own run: each place where something is lost is an error.

It is off by default, and on by mypy's `enable_error_code`, for all files or for some. The analysis of a file needs all
of its types, so it runs when the file has been checked: when mypy asks for the file's dependencies. The daemon checks
single functions again without asking, and an older mypy never asks; there it runs behind all deferred functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.plugin import Plugin

from tapegrad.mypy.coverage.analysis import analyze
from tapegrad.mypy.coverage.readings import Readings
from tapegrad.mypy.mypy_api import (
    LastCall,
    Placed,
    call_last,
    checked_file,
    checked_path,
    is_daemon,
    not_yet_last,
    rejected_so_far,
    report_later,
    skips_untyped,
    types_so_far,
)
from tapegrad.mypy.reports import INTERNAL, UNKNOWN
from tapegrad.mypy.scopes.records import forget_records

if TYPE_CHECKING:
    from mypy.nodes import FuncDef, MypyFile

    from tapegrad.mypy.coverage.findings import Analysis
    from tapegrad.mypy.mypy_api import Checker

CHECKED = "tapegrad.mypy.coverage.<checked>"
_ASKS_LAST = hasattr(Plugin, "get_additional_indirect_deps")  # from mypy 2.4 on

_checkers: dict[MypyFile, Checker] = {}
_last: dict[Checker, LastCall] = {}


def begin(api: Checker) -> None:
    """Prepare the report on a file with the error code on; called at the first hook in the file.

    mypy checks a file in two parts, its own statements and then its functions. A report after the first part is
    repeated after the second, and mypy drops what is said twice.
    """
    if _ASKS_LAST:
        _checkers[checked_file(api)] = api
    if (is_daemon(api.options) or not _ASKS_LAST) and api not in _last:
        _last[api] = call_last(api, CHECKED)


def end(tree: MypyFile) -> None:
    """Report what is unknown in a file that mypy has checked."""
    api = _checkers.pop(tree, None)
    if api is None:
        return
    try:
        _report(api)
        if not api.options.export_types:  # else `python -m tapegrad coverage` still needs them
            forget_records(tree)
    except Exception as error:  # noqa: BLE001  # mypy goes on, and this file counts as wrong
        message = f"tapegrad failed here: {type(error).__name__}: {error}"
        report_later(api, [Placed(message, 1, 0, 1, 0, None)], INTERNAL)


def end_if_last(api: Checker) -> None:
    """Report what is unknown in a file, unless mypy has deferred something in it."""
    known = _last.pop(api, None)
    if known is None:
        return
    following = not_yet_last(api, known)
    if following is None:
        _report(api)
    else:
        _last[api] = following


def _report(api: Checker) -> None:
    types = types_so_far(api)
    tree = checked_file(api)
    with open(checked_path(api), encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # mypy's path is a string
        source = file.read()
    found = analyze(
        tree,
        types,
        source,
        rejected_so_far(api),
        readings=None if is_daemon(api.options) else Readings([tree], "this file"),
        skips_untyped=skips_untyped(api.options),
    )
    report_later(api, [*_losses(found), *_mistakes(found)], UNKNOWN)


def _losses(found: Analysis) -> list[Placed]:
    checked = found.checked
    return [
        Placed(loss.message, *loss.span, loss.unit.target)
        for loss in found.losses
        if loss.accepted is None and loss.unit.target in checked
    ]


def _mistakes(found: Analysis) -> list[Placed]:
    """Return the comments that are wrong, in functions that were checked."""
    placed = []
    for comment, words in found.mistakes:
        around = [unit for unit in found.units if unit.line <= comment.line <= unit.end_line]
        target: FuncDef | None = around[-1].target if around else None
        if target in found.checked:
            line, column = comment.line, comment.column
            placed.append(Placed(words, line, column, line, column + len("# tapegrad: unknown"), target))
    return placed
