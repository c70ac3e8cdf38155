"""Breaks the library in one small way after another, and lists what no test notices.

    python tests/mutants.py dims tape rules closures [--sample 200] [--seed 0]

The ways are mutmut's; `make mutants` installs it. By itself it leaves out whatever has a decorator, which each op has:
here a process is forked for each mutant, reads the one file broken, and runs the tests that stand in PARTS. What
survives is printed as a change of a line; those of `equivalent_mutants.toml` change nothing that anybody can see, for
the reason that stands there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np  # noqa: F401  # each fork has it
import pytest

HOUSE = Path(__file__).parent.parent
KNOWN = Path(__file__).with_name("equivalent_mutants.toml")
OPTIONS = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
SETTINGS = ["-o", "addopts=--import-mode=importlib"]  # without the plugins that a fork would load anew
SLOWEST = 10  # times what the tests take of what is whole, and 10 s: who takes longer never ends

cst: Any = import_module("libcst")
positions: Any = import_module("libcst.metadata")
mutators: Any = import_module("mutmut.mutation.mutators")


class Part(NamedTuple):
    """What is broken: files, the functions in them, and the tests that ought to notice."""

    files: list[str]
    chosen: Callable[[list[Any]], bool]  # from the functions around a place, the outermost first
    tests: Callable[[str], list[str]]


def is_rule(around: list[Any]) -> bool:
    """Says whether a function answers with sizes, as rules and what they share do."""
    returns = around[0].returns
    text = "" if returns is None else cst.Module([]).code_for_node(returns.annotation)
    return text in {"Dims", "Size", "tuple[Dims, ...]"} or around[0].name.value.endswith(("_shape", "_shapes"))


def is_closure(around: list[Any]) -> bool:
    """Says whether a function stands in another: the way back of an op."""
    return len(around) > 1


def tests_of(family: str) -> list[str]:
    """Returns the tests of a family, and for a room that several share those of all of them."""
    shared = {
        "_broadcast": ["arithmetic", "division"],
        "_index": ["index", "places"],
        "_lowering": ["conv", "conv_transpose", "pool"],
        "_mapped": ["trigonometric", "activation"],
        "_reduction": ["loss", "likelihood"],
        "_rescue": ["power", "norm"],
        "_windows": ["pool"],
    }
    name = Path(family).stem
    return [f"tests/ops/test_{one}.py" for one in shared.get(name, [name])]


def everywhere(_: list[Any]) -> bool:
    """Chooses all functions."""
    return True


OPS = sorted(
    str(file.relative_to(HOUSE)) for file in (HOUSE / "tapegrad" / "ops").glob("*.py") if file.stem != "__init__"
)
TAPES = ["tape", "gradients", "clipping", "picture", "copying", "checkpoint", "own_ops", "tape_memory"]
CLIPPED = "tests/jax/test_jit.py::test_gradients_are_clipped_as_without"  # where no number can be asked for
PARTS = {
    "dims": Part(["tapegrad/dims.py"], everywhere, lambda _: ["tests/test_dims.py", "tests/test_axes.py"]),
    "divisions": Part(["tapegrad/divisions.py"], everywhere, lambda _: ["tests/test_divisions.py"]),
    "tape": Part(
        ["tapegrad/tape.py", "tapegrad/gradients.py"],
        everywhere,
        lambda _: [*(f"tests/test_{name}.py" for name in TAPES), CLIPPED],
    ),
    "rules": Part(OPS, is_rule, tests_of),
    "closures": Part(OPS, is_closure, tests_of),
}


@dataclass(frozen=True)
class Mutant:
    """A file that is changed in one place."""

    file: str
    function: str
    line: int
    module: Any
    node: Any
    other: Any

    @cached_property
    def code(self) -> str:
        """The whole file."""
        return str(self.module.deep_replace(self.node, self.other).code)

    @cached_property
    def change(self) -> str:
        """The lines that are not as they were."""
        before = self.module.code.splitlines()
        lines = list(unified_diff(before, self.code.splitlines(), lineterm="", n=0))[2:]
        return "\n".join(line[0] + " " + line[1:].strip() for line in lines if not line.startswith("@@"))

    @property
    def is_python(self) -> bool:
        """Whether it can be compiled, and is another file at all."""
        try:
            compile(self.code, "mutant", "exec")
        except SyntaxError:
            return False
        return bool(self.code != self.module.code)


def mutants_of(file: str, chosen: Callable[[list[Any]], bool]) -> Iterator[Mutant]:
    """Yields all mutants of the chosen functions; decorators and annotations are left as they are."""
    wrapper = positions.MetadataWrapper(cst.parse_module((HOUSE / file).read_text("utf-8")))
    module, places = wrapper.module, wrapper.resolve(positions.PositionProvider)

    def walk(node: Any, around: list[Any], names: list[str]) -> Iterator[Mutant]:
        if isinstance(node, cst.Annotation | cst.Decorator):
            return
        if around and chosen(around):
            for kind, mutate in mutators.mutation_operators:
                for other in mutate(node) if isinstance(node, kind) else ():
                    yield Mutant(file, ".".join(names), places[node].start.line, module, node, other)
        if isinstance(node, cst.FunctionDef):
            around = [*around, node]
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            names = [*names, node.name.value]
        for child in node.children:
            yield from walk(child, around, names)

    yield from walk(module, [], [])


class Broken(SourceFileLoader):
    """Loads one module of the library from other source, and leaves the file alone."""

    def __init__(self, file: str, code: str) -> None:
        self.name = file.removesuffix(".py").replace("/", ".")
        super().__init__(self.name, str(HOUSE / file))
        self.source = code

    def get_code(self, fullname: str) -> CodeType:
        """Compiles the other source; the cache of the file is not read."""
        return compile(self.source, self.get_filename(fullname), "exec", dont_inherit=True)

    def find_spec(self, name: str, _: Any = None, __: Any = None) -> Any:
        """Answers for the one module, as a finder."""
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None


class Shortest:
    """Runs the tests in the order of how long they took of what is whole, for most mutants fail most tests."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self.seconds: dict[str, float] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sorts the tests."""
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes how long a test took."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def keep(self) -> None:
        """Writes it down for the forks to come."""
        self.kept.write_text(json.dumps(self.seconds), "utf-8")


def survives(tests: list[str], limit: float, kept: Path, mutant: Mutant | None = None) -> bool:
    """Runs tests in a fork; who takes longer than the limit, in seconds, is noticed as well."""
    child = os.fork()
    if not child:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        if mutant is not None:
            sys.meta_path.insert(0, Broken(mutant.file, mutant.code))
        code, order = 1, Shortest(kept)
        try:
            code = int(pytest.main([*OPTIONS, *SETTINGS, *tests], [order]))
            if mutant is None:
                order.keep()
        finally:
            os._exit(code)
    started = time.monotonic()
    while time.monotonic() - started < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def seconds(tests: list[str], kept: Path) -> float:
    """Returns how long tests take of what is whole."""
    started = time.monotonic()
    if not survives(tests, 600, kept):
        message = f"{' '.join(tests)}: fails before anything is broken"
        raise SystemExit(message)
    return time.monotonic() - started


def equivalents() -> dict[tuple[str, str, str], str]:
    """Returns why mutants change nothing, by file, function and change."""
    entries = tomllib.loads(KNOWN.read_text("utf-8"))["mutant"] if KNOWN.exists() else []
    return {(one["file"], one["function"], one["change"].strip()): one["reason"] for one in entries}


def tested(part: Part, sample: int | None, dice: random.Random, folder: Path) -> None:
    """Prints each survivor of a part, then the counts by file."""
    found = (mutant for file in part.files for mutant in mutants_of(file, part.chosen))
    if sample is not None:
        everything = list(found)
        drawn = dice.sample(everything, min(sample, len(everything)))
        found = iter(sorted(drawn, key=lambda mutant: (mutant.file, mutant.line)))
    known, limits = equivalents(), dict[str, float]()
    counts: dict[str, Counter[str]] = {}
    try:
        for mutant in found:
            if not mutant.is_python:
                continue
            tests, kept = part.tests(mutant.file), folder / f"{Path(mutant.file).stem}.json"
            if mutant.file not in limits:
                limits[mutant.file] = SLOWEST * seconds(tests, kept) + 10
            count = counts.setdefault(mutant.file, Counter())
            if (mutant.file, mutant.function, mutant.change) in known:
                count["equivalent"] += 1
            elif survives(tests, limits[mutant.file], kept, mutant):
                count["survived"] += 1
                say(f"{mutant.file}:{mutant.line} {mutant.function}\n{mutant.change}\n")
            else:
                count["noticed"] += 1
    finally:  # interrupted as well
        for file, count in [*counts.items(), ("all", sum(counts.values(), Counter[str]()))]:
            say(row(file, count))


def say(text: str) -> None:
    """Prints at once, for the whole takes hours."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def row(name: str, count: Counter[str]) -> str:
    """Writes counts, and the share that survived of those that are not equivalent."""
    judged = count["noticed"] + count["survived"]
    share = count["survived"] / judged if judged else 0.0
    cells = [f"{count[key]:5} {key}" for key in ("noticed", "survived", "equivalent")]
    return f"{name:40} {'  '.join(cells)}  {share:7.2%}"


def main() -> None:
    """Breaks the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}, or files")
    parser.add_argument("--sample", type=int, help="so many of each part, drawn by chance")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.chdir(HOUSE)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = False  # or each fork compiles the library anew
    import_module("hypothesis")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.parts or PARTS:
            say(f"== {name}")
            dice = random.Random(options.seed)  # noqa: S311  # draws mutants, not secrets
            tested(PARTS[name], options.sample, dice, Path(folder))


if __name__ == "__main__":
    main()
