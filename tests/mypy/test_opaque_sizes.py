"""Each op with one number that mypy cannot know: alarms only where every value fails, nearly always where a size does.

The calls are those of the differential test. In each of them one number after the other becomes the parameter `n` of a
function, which is an opaque size to mypy, and the call is run with many values of `n`.

    python -m tests.mypy.test_opaque_sizes [calls] [--seed SEED]
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tapegrad as tg
from tapegrad.project.reports import run_mypy
from tests.mypy.test_differential import CODES, Drawn, drawn_ops
from tests.warm_mypy_cache import write_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.autograd.registry import Op

VALUES = (*range(13), -1, -2, -3, -4, 14, 15, 16, 18, 20, 21, 24, 25, 27, 28, 30, 35, 36, 42, 45, 49, 50, 60, 63, 75)
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
SHAPE = re.compile(r"tg\.zeros\((\([\d, ]*\))")


class Open(NamedTuple):
    """A call with the number `n` in it, the outcomes of its runs, and whether `n` is the size of an operand."""

    op: str
    written: str
    runs: bool
    fails: frozenset[str]  # the codes that mypy should report
    is_size: bool


class SmallDrawn(Drawn):
    """Draws calls with few elements, so that one of `VALUES` makes a size fit if any value does."""

    lengths = (0, 1, 2, 3, 4, 5)
    largest_rank = 3


def opened(op: Op, dice: random.Random, share: int) -> Iterator[Open]:
    """Yield calls of an op with each number in turn replaced by `n`."""
    draw = SmallDrawn(op, dice)
    seen: set[str] = set()
    for _ in range(share):
        written = draw.expression()
        shapes = [match.span(1) for match in SHAPE.finditer(written)]
        for match in NUMBER.finditer(written):
            start, end = match.span()
            call = f"{written[:start]}n{written[end:]}"
            if call in seen:
                continue
            seen.add(call)
            outcomes = [outcome(call, n) for n in VALUES]
            fails = frozenset() if None in outcomes else frozenset(filter(None, outcomes))
            is_size = any(first <= start < last for first, last in shapes)
            yield Open(op.name, call, "" in outcomes, fails, is_size)


def outcome(call: str, n: int) -> str | None:
    """Run a call; return the code of its error, "" if it runs, None if it fails for what no type says."""
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            eval(call, {"tg": tg, "np": np, "n": n})  # noqa: S307  # written by the test
    except tuple(CODES) as error:
        return next(code for kind, code in CODES.items() if isinstance(error, kind))
    except (IndexError, ValueError, TypeError, MemoryError):
        return None
    return ""


def said(calls: list[Open], folder: Path) -> dict[int, str]:
    """Return the errors that mypy reports, by the place of the call in the list."""
    write_settings(folder)
    lines = ["import numpy as np", "import tapegrad as tg"]
    lines += [f"def call_{number}(n: int) -> object: return {call.written}" for number, call in enumerate(calls)]
    (folder / "calls.py").write_text("\n".join([*lines, ""]), "utf-8")
    reports = run_mypy(["--config-file", "mypy.ini", "calls.py"], folder=folder)
    return {one.line - 3: f"{one.code} / {one.text}" for one in reports if one.kind == "error"}


def scored(calls: int, seed: int, folder: Path) -> tuple[int, dict[str, list[str]]]:
    """Return how many calls there are, the alarms for calls that some value runs, and the sizes that are missed."""
    made = [call for op in drawn_ops() for call in opened(op, _dice(op, seed), calls)]
    reported = said(made, folder)
    found: dict[str, list[str]] = {"alarm": [], "missed": [], "internal": []}
    for number, call in enumerate(made):
        words = reported.get(number, "")
        if "tapegrad-internal" in words:
            found["internal"].append(f"{call.written}: {words}")
        elif call.runs and words:
            found["alarm"].append(f"{call.written}: {words}")
        elif call.fails and not call.runs and call.is_size and not words:
            found["missed"].append(call.written)
    return len(made), found


def _dice(op: Op, seed: int) -> random.Random:
    """Return dice of an op, so that a new op does not change the calls of others."""
    return random.Random(f"{seed} {op.name}")  # noqa: S311  # draws programs, not secrets


def test_no_number_that_may_fit_is_reported(tmp_path: Path) -> None:
    count, found = scored(1, 0, tmp_path)

    missed = found.pop("missed")

    assert count > 500
    assert found == {"alarm": [], "internal": []}
    # mypy misses that two operands need different sizes of a third, as a weight of (1,) and a bias of (3,) do.
    assert len(missed) <= count // 400, missed


def main() -> None:
    """Print what mypy reports wrongly, and what it misses."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("calls", type=int, nargs="?", default=3, help="calls of each op")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, found = scored(given.calls, given.seed, Path(folder))
    lines = [f"{count} calls"]
    for kind, calls in found.items():
        lines += [f"{kind}: {len(calls)}", *(f"    {call}" for call in calls)]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
