"""Words that only this project used are replaced by the standard terms that readers search for."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
READ = (
    "tapegrad/**/*.py",
    "tapegrad/**/*.pyi",
    "docs/*.md",
    "docs/*.py",
    "docs/*.toml",
    "docs/guide/*.md",
    "examples/*.py",
    "notebooks/*.ipynb",
    "[!C]*.md",
    "Makefile",
    "pyproject.toml",
    "tests/**/*.py",
    "tests/*.toml",
    "benchmarks/**/*.py",
    "typecheck/**/*.py",
)
STANDARD = {
    r"whoever|whatever|nobody|somebody": "the caller, the tape, another tensor",
    r"anew": "again",
    r"mend|mends|mended": "fix, fixed",
    r"foretold": "predicted",
    r"learnt": "trained on",
    r"made up": "sampled",
    r"ways? back": "backward pass",
    r"way there": "forward pass",
    r"(?<!negative_)(?<!negative )slopes?(?!=1)": "derivative, gradient",  # a parameter of PyTorch, of matplotlib
    r"step sizes?": "learning rate",
    r"rooms?|houses?|doors?": "module, package, buffer",
    r"tongues?": "language, term",
    r"refus(?:e|es|ed|al|als|ing)": "reject, error",
    r"sentences?": "message",
    r"loosens?|fastens?|let_go": "release, save",
    r"come of|comes of|came of": "result from",
    r"what becomes of|be it": "the result of, whether",
    r"(?<!Hugging )faces?|tongue": "public API",
    r"clash(?:es|ed)?|point_out": "diagram, do not match",
    r"superpose\w*|convolved": "scatter_sum, correlate",
    r"rescue[ds]?|vanish(?:es|ed|ing)?": "with_fallback, underflow",
    r"surveys?|codec|passages?": "reductions_bool, conversion, model_pass",
    r"outlin(?:e|es|ed)": "shape",
    r"be_methods|operated|stand_ins?|StandIns?": "install_operators, substitutes",
    r"grown|add_alike|add_summed|summed_to": "accumulate, sum_to_shape",
    r"told|came_through|tells?(?!\()": "attach_facts, inform, distinguish",
    r"remember(?:s|ed|ing)?|recall(?:s|ed|ing)?": "register, store",
    r"gives? up|given up|giving up|GivenUp\w*": "consume, release",
    r"shorten(?:s|ed)?|with leaving": "trim_traceback, trim_on_exit",
    r"Sheet|(?-i:Slide)|slid|Landed\w*|Keeper|Maker": "Trace, ConvWindow, DeviceTensor, ResultTemplate",
    r"kept_\w+|\w*_kept|\.kept": "saved, cached, retained",
    r"(?-i:_?LARGE|GROWING|MANY)": "thresholds.py, *_MIN_ELEMENTS",
    r"(?<!frequently )asked|stood|standing": "requested, was",
    r"(?-i:Behind\w*|Watched)": "after, AxisTracker, TrackedInt",
}


def texts() -> list[Path]:
    """Return the files that people read; CHANGELOG.md tells of old names."""
    found = [path for pattern in READ for path in ROOT.glob(pattern) if path.suffix != ".pyc"]
    return [*(path for path in found if path != Path(__file__)), ROOT / "CONTRIBUTING.md"]


def pattern_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE)


@cache
def suspects() -> dict[str, str]:
    """Return the lines with any of the words, by their place: each file is read once."""
    pattern = pattern_of("|".join(STANDARD))
    return {
        f"{path.relative_to(ROOT)}:{number}": line
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if pattern.search(line)
    }


def test_all_files_are_read() -> None:
    names = {str(path.relative_to(ROOT)) for path in texts()}

    assert {"README.md", "tapegrad/__init__.py", "docs/guide/start.md", "tests/conftest.py", "pyproject.toml"} <= names


@pytest.mark.parametrize("words", STANDARD)
def test_standard_terms_are_used(words: str) -> None:
    pattern = pattern_of(words)

    found = [f"{place}: {line.strip()[:120]}" for place, line in suspects().items() if pattern.search(line)]

    assert not found, f"say {STANDARD[words]}:\n" + "\n".join(found)
