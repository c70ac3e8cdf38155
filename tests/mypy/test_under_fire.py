"""mypy on programs that somebody is still typing: tokens of the programs of typecheck/ lost, doubled and exchanged.

Whatever is left of a program, the plugin has to answer: no failure of its own, no end of mypy, and no hang.

    python tests/mypy/test_under_fire.py [programs] [--seed SEED] [--flags="--strict-equality ..."]
"""

from __future__ import annotations

import argparse
import io
import random
import subprocess
import sys
import tempfile
import tokenize
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted((ROOT / "typecheck").rglob("*.py"))
SETTINGS = "[mypy]\nplugins = tapegrad.mypy\nstrict = True\nallow_redefinition = True\n"
FAILED = ("tapegrad-internal", "INTERNAL ERROR", "Traceback")
AT_ONCE = 100  # programs in one run of mypy
LONGEST = 300  # seconds for so many


class Hit(NamedTuple):
    """A program with one token that is not what it was."""

    origin: Path
    line: int
    change: str
    text: str


def hits(dice: random.Random) -> Iterator[Hit]:
    """Yields programs that are hit somewhere and that Python can still read, without end."""
    while True:
        path = dice.choice(PROGRAMS)
        text = path.read_text("utf-8")
        tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.string.strip()]
        one, other = dice.sample([token for token in tokens if token.type != tokenize.COMMENT], 2)
        change, new = dice.choice(
            [
                (f"{one.string!r} lost", ""),
                (f"{one.string!r} twice", f"{one.string} {one.string}"),
                (f"{one.string!r} is {other.string!r}", other.string),
            ]
        )
        hit = exchanged(text, one, new)
        if is_readable(hit):
            yield Hit(path.relative_to(ROOT), one.start[0], change, hit)


def exchanged(text: str, token: tokenize.TokenInfo, new: str) -> str:
    """Returns a program with another token in the place of one."""
    lines = text.splitlines(keepends=True)
    (first, start), (last, end) = token.start, token.end
    before, behind = "".join(lines[: first - 1]), "".join(lines[last:])
    return f"{before}{lines[first - 1][:start]}{new}{lines[last - 1][end:]}{behind}"


def is_readable(text: str) -> bool:
    """Says whether Python can read a program: mypy asks no plugin about any other."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(text, "program", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def checked(programs: list[Hit], folder: Path, flags: list[str]) -> list[str]:
    """Returns what mypy says of programs that no program may make it say."""
    (folder / "mypy.ini").write_text(SETTINGS, "utf-8")
    for file in folder.glob("hit_*.py"):
        file.unlink()
    for number, one in enumerate(programs):
        (folder / f"hit_{number}.py").write_text(one.text, "utf-8")
    files = [f"hit_{number}.py" for number in range(len(programs))]
    try:
        run = subprocess.run(
            [sys.executable, "-m", "mypy", "--show-traceback", *flags, *files],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return ["mypy hangs"]
    said = (run.stdout + run.stderr).splitlines()
    wrong = [line for line in said if any(word in line for word in FAILED)]
    if run.returncode not in (0, 1):
        wrong += said[-20:]
    return wrong


def failures(count: int, seed: int, folder: Path, flags: list[str]) -> list[str]:
    """Returns what goes wrong in so many programs, each with what was done to it."""
    found: list[str] = []
    source = hits(random.Random(seed))  # noqa: S311  # draws programs, not secrets
    for start in range(0, count, AT_ONCE):
        programs = [next(source) for _ in range(min(AT_ONCE, count - start))]
        wrong = checked(programs, folder, flags)
        for number, one in enumerate(programs):
            named = [line for line in wrong if line.startswith(f"hit_{number}.py")]
            found += [f"{one.origin}:{one.line}: {one.change}\n    {line}" for line in named]
        found += [line for line in wrong if not line.startswith("hit_")]
    return found


def test_no_token_lost_or_exchanged_makes_the_plugin_fail(tmp_path: Path) -> None:
    assert failures(60, 0, tmp_path, []) == []


def main() -> None:
    """Prints each failure, and how many programs were hit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("programs", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flags", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = failures(options.programs, options.seed, Path(folder), options.flags.split())
    sys.stdout.write("\n".join([*found, f"{len(found)} failures in {options.programs} programs\n"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
