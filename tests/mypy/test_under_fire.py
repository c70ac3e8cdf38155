"""Fuzz test: mypy on programs of typecheck/ whose tokens are deleted, doubled and swapped.

The plugin must handle every such program: it must not crash, end mypy or hang. After a series of edits, the daemon must
report what a fresh mypy reports for the same files.

    python tests/mypy/test_under_fire.py [programs] [--edits EDITS] [--seed SEED] [--flags="--no-strict-optional"]
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tokenize
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tapegrad.project.reports import plain_environment
from tests.mypy.programs import RUN_DAEMON
from tests.warm_mypy_cache import SETTINGS, write_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted((ROOT / "typecheck").rglob("*.py"))
LAXEST = "--no-strict-optional --allow-untyped-defs --allow-any-generics --no-warn-return-any --implicit-reexport"
STRICTEST = "--disallow-any-expr --disallow-any-decorated --disallow-any-explicit --warn-unreachable --strict-equality"
OTHERS = "--disallow-redefinition --no-native-parser --local-partial-types --check-untyped-defs"
CRASH = "INTERNAL ERROR"
FAILED = ("tapegrad-internal", CRASH, "Traceback")
AT_ONCE = 100  # programs in one run of mypy
LONGEST = 300  # seconds for so many

LIBRARY = """from typing import Any, Final, Generic, Literal as L, TypeVar
import tapegrad as tg
from tapegrad import Add, FloorDiv, Merge, NoneTape, OwnedTape, Shape, Tape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)
T2 = TypeVar("T2", bound=Tape)
WIDTH: Final = 12
HEADS: Final = 3
COUNT = 2

def longer(x: Tensor[Shape[N], T]) -> Tensor[Shape[Add[N, L[1]]], T]:
    return tg.concat([x, x[:1]])

def joined(x: Tensor[Shape[N, M], T], y: Tensor[Shape[M, L[5]], T2]) -> Tensor[Shape[N, L[5]], Merge[T, T2]]:
    return x @ y

class Block(nn.Module, Generic[M]):
    def __init__(self, width: M) -> None:
        self.fall = nn.Linear(width, 5)
        self.rise = nn.Linear(5, width)

    @guarded
    def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M], T]:
        return self.rise(tg.tanh(self.fall(x)))
"""
PROGRAM = """from typing import Any, assert_type, Literal as L
import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn
from library import COUNT, HEADS, WIDTH, Block, joined, longer

x = tg.ones((7, 12))
assert_type(longer(tg.ones((3,))), Tensor[Shape[L[4]], NoneTape])
assert_type(x.reshape((7, HEADS, WIDTH // HEADS)), Tensor[Shape[L[7], L[3], L[4]], NoneTape])
assert_type(tg.zeros((COUNT, 3)), Tensor[Shape[Any, L[3]], NoneTape])
assert_type(joined(x.trace(), tg.ones((12, 5))), Tensor[Shape[L[7], L[5]], OwnedTape])
model = nn.Sequential(Block(12), nn.Linear(12, 2))
loss = model(x.trace()).mean()
grads = loss.backward(wrt=model)
assert_type(grads[model.layers[1].weight], Tensor[Shape[L[12], L[2]], NoneTape])
"""


class Hit(NamedTuple):
    """A program with one token that is not what it was."""

    origin: str
    line: int
    change: str
    text: str


def hits(dice: random.Random) -> Iterator[Hit]:
    """Yield programs that are hit somewhere and that Python can still read, without end."""
    while True:
        path = dice.choice(PROGRAMS)
        hit = hit_once(path.read_text("utf-8"), str(path.relative_to(ROOT)), dice)
        if is_readable(hit.text):
            yield hit


def hit_once(text: str, origin: str, dice: random.Random) -> Hit:
    """Take a token out of a program, doubles it, or put another of the program's in its place."""
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.string.strip()]
    one, other = dice.sample([token for token in tokens if token.type != tokenize.COMMENT], 2)
    change, new = dice.choice(
        [
            (f"{one.string!r} lost", ""),
            (f"{one.string!r} twice", f"{one.string} {one.string}"),
            (f"{one.string!r} is {other.string!r}", other.string),
        ]
    )
    return Hit(origin, one.start[0], change, exchanged(text, one, new))


def exchanged(text: str, token: tokenize.TokenInfo, new: str) -> str:
    """Return a program with another token in the place of one."""
    lines = text.splitlines(keepends=True)
    (first, start), (last, end) = token.start, token.end
    before, behind = "".join(lines[: first - 1]), "".join(lines[last:])
    return f"{before}{lines[first - 1][:start]}{new}{lines[last - 1][end:]}{behind}"


def is_readable(text: str) -> bool:
    """Return whether Python can read a program: mypy asks no plugin about any other."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(text, "program", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def mypy(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run mypy, or its daemon, and return how it ended and what it said; it has so long and no longer."""
    command = [sys.executable, "-m", *arguments]
    try:
        run = subprocess.run(
            command,
            cwd=folder,
            env=plain_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return 2, ["mypy hangs"]
    return run.returncode, (run.stdout + run.stderr).splitlines()


def failures(count: int, seed: int, folder: Path, flags: list[str]) -> Iterator[str]:
    """Yield what goes wrong in so many programs, each with what was done to it."""
    source = hits(random.Random(seed))  # noqa: S311  # draws programs, not secrets
    for start in range(0, count, AT_ONCE):
        programs = {f"hit_{number}.py": next(source) for number in range(min(AT_ONCE, count - start))}
        for name, one in programs.items():
            (folder / name).write_text(one.text, "utf-8")
        for line in wrong_in(folder, list(programs), flags):
            one = programs.get(line.partition(":")[0])
            yield line if one is None else f"{one.origin}:{one.line}: {one.change}\n    {line}"


def wrong_in(folder: Path, files: list[str], flags: list[str]) -> list[str]:
    """Return what no program may make mypy say; one that it cannot read, or fails at alone, is left out of the run."""
    code, said = mypy(folder, "mypy", "--show-traceback", *flags, *files)
    if said and "prevented further checking" in said[-1]:
        return wrong_in(folder, [file for file in files if file != said[-2].partition(":")[0]], flags)
    failed = next((line.partition(":")[0] for line in said if CRASH in line), None)
    if failed is not None and fails_alone(folder, failed):
        return wrong_in(folder, [file for file in files if file != failed], flags)
    wrong = [line for line in said if any(word in line for word in FAILED)]
    return wrong if code in (0, 1) else [*wrong, *said[-20:]]


def fails_alone(folder: Path, file: str) -> bool:
    """Return whether mypy fails at a program also without the plugin."""
    _, said = mypy(folder, "mypy", "--config-file", os.devnull, "--cache-dir", "without_plugin", file)
    return any(CRASH in line for line in said)


def stale_answers(edits: int, seed: int, folder: Path) -> Iterator[str]:
    """Yield where a daemon, after one change of two files or another, says something else than a fresh mypy."""
    dice = random.Random(seed)  # noqa: S311  # draws programs, not secrets
    texts = {"library.py": LIBRARY, "program.py": PROGRAM}
    write_settings(folder)
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    mypy(folder, "mypy", *texts)
    daemon = ["mypy.dmypy", "--status-file", "daemon.json"]
    try:
        for number in range(edits):
            name = dice.choice([*texts])
            text = (folder / name).read_text("utf-8")
            # Sometimes all files are restored, and always after one that cannot be parsed.
            hit = hit_once(text, name, dice) if is_readable(text) and dice.random() < 0.7 else None
            (folder / name).write_text(texts[name] if hit is None else hit.text, "utf-8")
            os.utime(folder / name, ns=(0, (number + 1) * 10**9))
            shutil.copytree(folder / ".mypy_cache", folder / "fresh", dirs_exist_ok=True)
            _, answer = mypy(folder, *daemon, *RUN_DAEMON, "--cache-dir", os.devnull, *texts)
            _, fresh = mypy(folder, "mypy", "--cache-dir", "fresh", *texts)
            unread = any("[syntax]" in line for line in [*answer, *fresh])  # of several files that are, one is named
            if not unread and plain(answer) != plain(fresh):
                change = "as it was" if hit is None else f"{hit.line}: {hit.change}"
                yield "\n".join([f"{number}: {name} {change}", *difference(answer, fresh)])
    finally:
        mypy(folder, *daemon, "kill")


def plain(said: list[str]) -> set[str]:
    """Return the errors among what is said: a daemon sums up in other words."""
    return {re.sub(r"\s+", " ", line) for line in said if re.search(r"\.py:\d+: error:", line)}


def difference(answer: list[str], fresh: list[str]) -> list[str]:
    """Write what only a daemon says, and what only a fresh run does."""
    only, missing = plain(answer) - plain(fresh), plain(fresh) - plain(answer)
    return [*(f"    daemon: {line}" for line in sorted(only)), *(f"    fresh:  {line}" for line in sorted(missing))]


def set_for(flags: str, *modules: str) -> str:
    """Return settings with flags for these modules alone, so that NumPy and tapegrad come from the warm cache."""
    lines = [f"{flag.removeprefix('--').replace('-', '_')} = True" for flag in flags.split()]
    return "\n".join([f"{SETTINGS}\n[mypy-{','.join(modules)}]", *lines, ""])


def test_deleted_and_swapped_tokens_do_not_crash_the_plugin(tmp_path: Path) -> None:
    write_settings(tmp_path, set_for(STRICTEST, *(f"hit_{number}" for number in range(40))))

    assert [*failures(40, 0, tmp_path, [])] == []


NO_NUMBER = """import tapegrad as tg

x, image, weight, channels = tg.ones((4, 6)), tg.ones((2, 4, 6)), tg.ones((8, 4, 3)), tg.ones((4,))
tg.select(x, None)
tg.chunk(x, chunks=None)
tg.split(x, None)
tg.conv1d(image, weight, groups=None)
tg.group_norm(image, channels, channels, groups=None)
tg.repeat(x, None, axis=0)
tg.topk(x, k=None)
tg.tri(3, None)
tg.unfold(x, size=None)
tg.pad(x, None)
tg.tile(x, None)
tg.moveaxis(x, None, 0)
tg.stack([x, x], None)
tg.scatter_add(channels, tg.tensor([1, 2, 3, 0]), None)
tg.einsum(None, x)
reveal_type(tg.sum(x, axis=None))
"""


def test_none_as_any_argument_does_not_crash_a_rule(tmp_path: Path) -> None:
    write_settings(tmp_path, set_for(LAXEST, "program"))
    (tmp_path / "program.py").write_text(NO_NUMBER, "utf-8")

    assert wrong_in(tmp_path, ["program.py"], []) == []
    _, said = mypy(tmp_path, "mypy", "program.py")
    assert "Tensor[tuple[()]" in said[-2]  # where None is taken, the rule still answers


# fmt: off
FUNCTIONS = (
    "bisect.insort", "copy.copy", "dataclasses.replace", "enumerate", "filter", "functools.partial", "functools.reduce",
    "getattr", "heapq.heappop", "heapq.heappush", "itertools.chain", "itertools.chain.from_iterable", "itertools.cycle",
    "itertools.islice", "itertools.pairwise", "itertools.starmap", "itertools.tee", "itertools.zip_longest",
    "losses.append", "losses.insert", "losses.pop", "map", "max", "next", "random.choice", "reversed", "setattr", "sum",
    "threading.Thread", "tuple", "weakref.ref", "zip",
)  # fmt: skip
# fmt: on


def test_missing_and_unpacked_arguments_do_not_crash_the_plugin(tmp_path: Path) -> None:
    calls = [f"{function}({given})" for function in FUNCTIONS for given in ("", "losses", "*losses", "*pair")]
    head = f"import {', '.join(sorted({one.partition('.')[0] for one in FUNCTIONS if '.' in one} - {'losses'}))}"
    parameters = "losses: list[Tensor[tuple[()], OwnedTape]], pair: tuple[list[Any], Any]"
    bodies = [
        f"def f_{number}({parameters}) -> None:\n    {call}\n    losses[0].backward()"
        for number, call in enumerate(calls)
    ]
    lines = [head, "from typing import Any", "from tapegrad import OwnedTape, Tensor", *bodies]
    write_settings(tmp_path, set_for(LAXEST, "program"))
    (tmp_path / "program.py").write_text("\n".join([*lines, ""]), "utf-8")

    assert wrong_in(tmp_path, ["program.py"], []) == []


def test_a_partial_that_is_made_of_itself_has_an_end(tmp_path: Path) -> None:
    write_settings(tmp_path)
    program = "from functools import partial\n\nstep = partial(step, 1)\nstep(2)\na = partial(b)\nb = partial(a)\nb()\n"
    (tmp_path / "program.py").write_text(program, "utf-8")

    assert wrong_in(tmp_path, ["program.py"], []) == []


def test_a_list_of_arrays_that_is_made_of_its_own_items_has_an_end(tmp_path: Path) -> None:
    write_settings(tmp_path)
    program = """import numpy as np
import numpy.typing as npt

import tapegrad as tg

Floats = npt.NDArray[np.float32]


def step(y: Floats) -> Floats:
    return np.stack([y, y])


def solved(y: Floats) -> Floats:
    ys = [y]
    for _ in range(3):
        ys.append(step(ys[-1]))
    return np.stack(ys)


tg.tensor(solved(unknown))
"""
    (tmp_path / "program.py").write_text(program, "utf-8")

    assert wrong_in(tmp_path, ["program.py"], []) == []


def test_a_program_at_which_mypy_fails_alone_hides_no_other(tmp_path: Path) -> None:
    write_settings(tmp_path)
    # A function hides a type variable that others beside it use, which mypy 2.4.1 does not expect.
    hidden = (ROOT / "typecheck" / "values.py").read_text("utf-8").replace("def last(a:", "def B(a:", 1)
    (tmp_path / "first.py").write_text(hidden, "utf-8")
    (tmp_path / "second.py").write_text("x: Traceback\n", "utf-8")

    (wrong,) = wrong_in(tmp_path, ["first.py", "second.py"], [])

    assert wrong.startswith('second.py:1: error: Name "Traceback"')


def test_the_daemon_reports_what_a_fresh_mypy_reports(tmp_path: Path) -> None:
    assert [*stale_answers(8, 0, tmp_path)] == []


def main() -> None:
    """Print each failure as soon as it is found, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("programs", type=int, nargs="?", default=2000)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flags", default="")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the daemon too
    count = 0
    for flags in [options.flags] if options.flags else ["", STRICTEST, LAXEST, OTHERS]:
        with tempfile.TemporaryDirectory() as folder:
            write_settings(Path(folder))
            count += printed(failures(options.programs, options.seed, Path(folder), flags.split()))
    with tempfile.TemporaryDirectory() as folder:
        count += printed(stale_answers(options.edits, options.seed, Path(folder)))
    sys.stdout.write(f"{count} failures\n")
    sys.exit(bool(count))


def printed(failures: Iterator[str]) -> int:
    """Print each failure at once, because a long run may be ended early, and return how many there are."""
    count = 0
    for failure in failures:
        count += 1
        sys.stdout.write(f"{failure}\n")
        sys.stdout.flush()
    return count


if __name__ == "__main__":
    main()
