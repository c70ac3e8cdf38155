"""The command line: `python -m tapegrad doctor`, `check` and `coverage` of PATHS, and `lsp` for an editor."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tapegrad


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 for success, 1 for problems found, 2 where it could not run.

    Args:
        arguments: The command line arguments after the program name; by default those of this process.
    """
    options, for_mypy = _parser().parse_known_args(arguments)
    if for_mypy and options.command in ("doctor", "lsp"):
        _parser().error(f"unrecognized arguments: {' '.join(for_mypy)}")
    if options.command == "lsp":
        return _serve(all_errors=options.all_errors)
    if find_spec("mypy") is None:
        print(f"mypy is not installed in {sys.executable}: pip install 'tapegrad[mypy]'", file=sys.stderr)  # noqa: T201
        return 2

    from tapegrad.project.check import check
    from tapegrad.project.doctor import doctor

    if options.command == "doctor":
        return doctor(Path.cwd())
    if options.command == "coverage":
        from tapegrad.project.coverage import coverage

        to_mypy = [*for_mypy, *options.paths]
        return coverage(Path.cwd(), to_mypy, html=options.html, as_json=options.json, fail_under=options.fail_under)
    return check(Path.cwd(), [*for_mypy, *options.paths])


def _serve(*, all_errors: bool) -> int:
    from tapegrad.lsp import serve

    try:
        serve(all_errors=all_errors)
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tapegrad", description="Typed tensors, checked by mypy.")
    parser.add_argument("--version", action="version", version=f"tapegrad {tapegrad.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    commands.add_parser("doctor", help="say whether mypy runs with the plugin in this folder, and what it lacks")
    check = commands.add_parser(
        "check",
        help="run mypy with the plugin, also where nothing is configured",
        epilog="Further options are mypy's.",
    )
    check.add_argument("paths", nargs="*", metavar="PATH", help="files and folders; those of mypy's settings if none")
    _add_coverage(commands)
    lsp = commands.add_parser("lsp", help="serve an editor: errors while typing, and shapes on hover and behind lines")
    lsp.add_argument("--all-errors", action="store_true", help="show all errors of mypy, not only those about tensors")
    return parser


def _add_coverage(commands: Any) -> None:
    coverage = commands.add_parser(
        "coverage",
        help="say how much mypy knows of each tensor, and where it is lost first",
        epilog="Further options are mypy's.",
    )
    coverage.add_argument("--html", type=Path, metavar="FOLDER", help="also write pages with the source, coloured")
    coverage.add_argument("--json", action="store_true", help="print JSON instead of text")
    coverage.add_argument(
        "--fail-under",
        type=float,
        metavar="PERCENT",
        help="exit with 1 if less than this percentage of the tensor expressions is known",
    )
    coverage.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders; those of mypy's settings if none"
    )


if __name__ == "__main__":
    sys.exit(main())
