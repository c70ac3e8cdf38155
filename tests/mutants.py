"""Mutation testing: break the library in one small way at a time, and list the mutants that no test detects.

    python tests/mutants.py dims tape rules closures [--only conv] [--sample 200] [--seed 0] [--again]

The mutations are mutmut's; `make mutants` installs it. mutmut itself skips functions with a decorator, which every op
has. Here the tests of a part are collected once, and coverage says which of them reach which line. Then a process is
forked for each mutant: the existing functions get the broken code, and the tests that reach it run until one fails.
Code that runs at import is imported again in its broken form before the mutant counts as a survivor. Survivors are
written to build/mutants.md; the mutants in `equivalent_mutants.toml` change no behaviour, for the reason given there.
"""

from __future__ import annotations

import argparse
import gc
import json
import operator
import os
import random
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from difflib import unified_diff
from functools import cached_property, partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np  # noqa: F401  # each fork has it
import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parent.parent
KNOWN = Path(__file__).with_name("equivalent_mutants.toml")
REPORT = ROOT / "build" / "mutants.md"
OPTIONS = ["-x", "-q", "-s", "--no-header", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
SETTINGS = ["-o", "addopts=--import-mode=importlib", "--hypothesis-profile=mutants"]  # without unused plugins
SLOWEST, SPARE = 10, 5  # times what its tests take of what is whole, and seconds: who takes longer never ends
SURVIVED, NOTICED, ENDLESS, EQUIVALENT = "survived", "noticed", "endless", "equivalent"
SENSELESS, DOUBTFUL = 100, 101  # the status of what is no Python, or no change, and of what has to be imported

cst: Any = import_module("libcst")
positions: Any = import_module("libcst.metadata")
mutators: Any = import_module("mutmut.mutation.mutators")
coverage: Any = import_module("coverage")

Codes: TypeAlias = dict[tuple[str, int], CodeType]

shortest = [Phase.explicit, Phase.generate]  # one example that fails is enough, however long
settings.register_profile("mutants", derandomize=True, deadline=None, database=None, phases=shortest)


class Part(NamedTuple):
    """What is broken: files, the functions in them, and the tests that ought to notice."""

    files: list[str]
    chosen: Callable[[list[Any]], bool]  # from the functions around a place, the outermost first
    tests: Callable[[str], list[str]]


def is_rule(around: list[Any]) -> bool:
    """Return whether a function answers with sizes, as rules and what they share do."""
    returns = around[0].returns
    text = "" if returns is None else cst.Module([]).code_for_node(returns.annotation)
    return text in {"Dims", "Size", "tuple[Dims, ...]"} or around[0].name.value.endswith(("_shape", "_shapes"))


def is_closure(around: list[Any]) -> bool:
    """Return whether a function is nested in another: the backward closure of an op."""
    return len(around) > 1


def tests_of(family: str) -> list[str]:
    """Return the tests of a family, or of all families that share a helper module."""
    shared = {
        "_broadcast": ["arithmetic", "division"],
        "_conversion": ["create"],
        "_counting": ["attention", "index", "ranges", "shift", "triangles"],
        "_float32": ["loss", "statistics"],
        "_index": ["index", "scatter"],
        "_labels": ["likelihood"],
        "_large": ["arithmetic", "elementwise"],
        "_lowering": ["conv", "conv_transpose", "pool"],
        "_mapped": ["trigonometric", "activation"],
        "_reduction": ["loss", "likelihood"],
        "_fallback": ["attention", "norm"],
        "_windows": ["pool"],
    }
    name = Path(family).stem
    return [f"tests/ops/test_{one}.py" for one in shared.get(name, [name])]


def everywhere(_: list[Any]) -> bool:
    """Choose all functions."""
    return True


OPS = sorted(
    str(file.relative_to(ROOT)) for file in (ROOT / "tapegrad" / "ops").glob("*.py") if file.stem != "__init__"
)
PLUGIN = sorted(
    str(file.relative_to(ROOT))
    for folder in ("rules", "unify")
    for file in (ROOT / "tapegrad" / "mypy" / folder).glob("*.py")
)
TAPES = ["tests/autograd", "tests/errors/test_errors.py"]
TAPES += [f"tests/test_{name}.py" for name in ("clipping", "copying", "checkpoint", "own_ops")]
CLIPPED = "tests/jax/test_jit.py::test_gradients_are_clipped_as_in_eager_steps"  # where no number can be read
DEFERRED = ["tests/ops/test_deferred_relu.py", "tests/test_concurrency.py"]
TWO_ENGINES = [
    "tests/jax/test_ops.py::test_the_gradient_and_the_operands_may_be_of_two_engines",
    "tests/jax/test_ops.py::test_a_numpy_gradient_with_operands_of_another_level_and_of_jax",
    "tests/jax/test_ops.py::test_a_gradient_of_a_higher_level_with_operands_of_lower_levels",
    "tests/jax/test_ops.py::test_numpy_gradients_pass_through_weights_of_jax",
    "tests/jax/test_ops.py::test_indices_and_masks_may_have_another_engine_than_the_tensor",
]
ANY_LEVEL = ["tests/test_autodiff.py", *TWO_ENGINES]
LEVELS = {"_mapped": [*ANY_LEVEL, "tests/test_checkpoint.py"]}  # a closure reads a value as late as possible
SIZES = ("bounds", "comparisons", "division", "facts", "rules", "solving", "terms", "text", "values")
PARTS = {
    "sizes": Part(
        [f"tapegrad/sizes/{name}.py" for name in SIZES],
        everywhere,
        lambda _: [
            *(f"tests/sizes/test_{name}.py" for name in ("algebra", "facts", "rules", "symbols")),
            "tests/test_axes.py",
        ],
    ),
    "constraints": Part(["tapegrad/sizes/constraints.py"], everywhere, lambda _: ["tests/sizes/test_constraints.py"]),
    "tape": Part(
        [
            *(f"tapegrad/autograd/{name}.py" for name in ("tape", "gradients", "gradient_norms")),
            "tapegrad/tensors/nodes.py",
        ],
        everywhere,
        lambda file: [*TAPES, *(DEFERRED if file.endswith("/nodes.py") else [CLIPPED])],
    ),
    "updates": Part(
        ["tapegrad/optim/packing.py", "tapegrad/optim/large.py", "tapegrad/engines/numba/in_place.py"],
        everywhere,
        lambda _: [
            *(f"tests/optim/test_{name}.py" for name in ("packing", "large", "optimizer")),
            "tests/engines/test_in_place.py",
            "tests/jax/test_updates.py",
        ],
    ),
    "plugin": Part(PLUGIN, everywhere, lambda _: ["tests/mypy/in_process.py"]),
    "rules": Part(OPS, is_rule, tests_of),
    "closures": Part(OPS, is_closure, lambda file: [*tests_of(file), *LEVELS.get(Path(file).stem, ANY_LEVEL)]),
}


@dataclass(frozen=True)
class Mutant:
    """A file that is changed in one place."""

    file: str
    function: str
    lines: range  # of the statement around the place, or of its head
    source: str
    place: slice  # of the source
    other: str

    @cached_property
    def code(self) -> str:
        """The whole file."""
        return self.source[: self.place.start] + self.other + self.source[self.place.stop :]

    @cached_property
    def change(self) -> str:
        """The lines that are not as they were."""
        before = self.source.splitlines()
        lines = list(unified_diff(before, self.code.splitlines(), lineterm="", n=0))[2:]
        return "\n".join(line[0] + " " + line[1:].strip() for line in lines if not line.startswith("@@"))


def mutants_of(file: str, chosen: Callable[[list[Any]], bool]) -> Iterator[Mutant]:
    """Yield all mutants of the chosen functions but of decorators, annotations, what `zip` insists on, and speed."""
    wrapper = positions.MetadataWrapper(cst.parse_module((ROOT / file).read_text("utf-8")))
    module, places = wrapper.module, wrapper.resolve(positions.PositionProvider)
    source, spans = module.code, wrapper.resolve(positions.WhitespaceInclusivePositionProvider)
    starts = [0, *accumulate(len(line) for line in source.splitlines(keepends=True))]

    def walk(node: Any, around: list[Any], names: list[str], lines: range) -> Iterator[Mutant]:
        if isinstance(node, cst.Annotation | cst.Decorator) or is_strict(node) or is_of_speed(node):
            return
        if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            end = places[node].end
            if isinstance(node, cst.BaseCompoundStatement):
                end = places[node.cases[0] if isinstance(node, cst.Match) else node.body].start
            lines = range(places[node].start.line, end.line + 1)
        if around and chosen(around):
            for kind, mutate in mutators.mutation_operators:
                for other in mutate(node) if isinstance(node, kind) and not chooses_speed(node) else ():
                    if is_looser(node, other):
                        continue
                    start, end = spans[node].start, spans[node].end
                    place = slice(starts[start.line - 1] + start.column, starts[end.line - 1] + end.column)
                    yield Mutant(file, ".".join(names), lines, source, place, module.code_for_node(other))
        if isinstance(node, cst.FunctionDef):
            around = [*around, node]
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            names = [*names, node.name.value]
        for child in node.children:
            yield from walk(child, around, names, lines)

    yield from walk(module, [], [], range(0))


def is_strict(node: Any) -> bool:
    """Return whether an argument lets `zip` insist on one length: who drops that changes only what is wrong already."""
    return isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "strict"


def is_of_speed(node: Any) -> bool:
    """Return whether a place only asks which of two ways to the same numbers is the faster one."""
    return isinstance(node, cst.Comparison) and cst.Module([]).code_for_node(node).endswith(
        ("_MIN_ELEMENTS", "_MIN_BYTES")
    )


def chooses_speed(node: Any) -> bool:
    """Return whether an expression takes one way or the other for no more than that; each way has its own mutants."""
    return isinstance(node, cst.IfExp) and is_of_speed(node.test)


def is_looser(node: Any, other: Any) -> bool:
    """Return whether a call differs from another in no more than that."""
    if not isinstance(node, cst.Call) or not isinstance(other, cst.Call) or not any(map(is_strict, node.args)):
        return False
    plain, loose = ([one.value for one in call.args if not is_strict(one)] for call in (node, other))
    return len(plain) == len(loose) and all(map(operator.is_, plain, loose))


# In the place of what lives


def codes(source: str) -> Codes:
    """Compile all functions of a file, by name and by number among those of one name."""
    found: Codes = {}
    names = Counter[str]()
    waiting = [compile(source, "mutant", "exec", dont_inherit=True)]
    while waiting:
        inner = [one for one in waiting.pop(0).co_consts if isinstance(one, CodeType)]
        for one in inner:
            found[one.co_qualname, names[one.co_qualname]] = one
            names[one.co_qualname] += 1
        waiting += inner
    return found


def take_the_place(mutant: Mutant, whole: Codes, living: list[FunctionType]) -> bool:
    """Return the functions that live the code of a mutant, and say whether there are any, and all could take it."""
    broken = codes(mutant.code)
    changed = {whole[key]: broken[key] for key in whole.keys() & broken.keys() if whole[key] != broken[key]}
    old = [function for function in living if function.__code__ in changed]
    fits = [len(function.__code__.co_freevars) == len(changed[function.__code__].co_freevars) for function in old]
    for function, does_fit in zip(old, fits, strict=True):
        if does_fit:
            function.__code__ = changed[function.__code__]
    return bool(fits) and all(fits)  # else the mutant is imported, as where it has no function that lives


class Broken(SourceFileLoader):
    """Loads one module of the library from other source, and leaves the file alone."""

    def __init__(self, file: str, code: str) -> None:
        self.name = file.removesuffix(".py").replace("/", ".")
        super().__init__(self.name, str(ROOT / file))
        self.source = code

    def get_code(self, fullname: str) -> CodeType:
        """Compile the other source; the cache of the file is not read."""
        return compile(self.source, self.get_filename(fullname), "exec", dont_inherit=True)

    def find_spec(self, name: str, _: Any = None, __: Any = None) -> Any:
        """Answer for the one module, as a finder."""
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None


# In forks


def forked(work: Callable[[], int], *, silent: bool = True) -> int:
    """Do work in a process of its own, which exits with what it returns, and return the number of the process."""
    child = os.fork()
    if child:
        return child
    if silent:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
    status = 1
    try:
        status = work()
    finally:
        os._exit(status)


def raced(jobs: Iterable[tuple[Callable[[], int], float]]) -> Iterator[tuple[int, str]]:
    """Do work in forks, one per core, each with its limit in seconds; yields its number and its result."""
    running: dict[int, tuple[int, float]] = {}
    for number, (work, limit) in enumerate(jobs):
        running[forked(work)] = number, time.monotonic() + limit
        while len(running) >= (os.cpu_count() or 1):
            yield from ended(running)
    while running:
        yield from ended(running)


def ended(running: dict[int, tuple[int, float]]) -> Iterator[tuple[int, str]]:
    """Yield what came to an end, and end what is late."""
    time.sleep(0.002)
    for child, (number, deadline) in list(running.items()):
        is_late = time.monotonic() > deadline
        if is_late:
            os.killpg(child, signal.SIGKILL)
        done, status = os.waitpid(child, 0 if is_late else os.WNOHANG)
        if done:
            del running[child]
            outcomes = {0: SURVIVED, SENSELESS: "", DOUBTFUL: "doubtful"}
            yield number, ENDLESS if is_late else outcomes.get(os.waitstatus_to_exitcode(status), NOTICED)


class Warm:
    """A plugin of pytest that breaks the library where the collected tests would run."""

    def __init__(self, mutants: list[Mutant], part: Part, kept: Path) -> None:
        self.mutants, self.part, self.kept = mutants, part, kept
        self.failure = ""
        self.seconds = defaultdict[str, float](float)
        files = sorted({str(ROOT / mutant.file) for mutant in mutants})
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.coverage.start()  # before the library is imported

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a test took, and what went wrong."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failure = f"{report.nodeid}\n{report.longreprtext}"

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Write the result of each mutant, and end the process."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        os.waitpid(forked(partial(self.look, session.items)), 0)
        self.coverage.stop()
        seen = json.loads(self.kept.read_text("utf-8"))
        if not seen["failure"]:
            seen["outcomes"] = {}
            for number, outcome in raced(self.jobs(session.items, seen)):
                seen["outcomes"][number] = outcome
                if len(seen["outcomes"]) % 100 == 0:
                    sys.stdout.write(f"{len(seen['outcomes'])} of {len(self.mutants)}\n")
                    sys.stdout.flush()
        self.kept.write_text(json.dumps(seen), "utf-8")
        os._exit(0)

    def look(self, items: list[pytest.Item]) -> int:
        """Run all tests of what is whole, and write down which lines each reaches, and how long it takes."""
        self.run(items)
        self.coverage.stop()
        data = self.coverage.get_data()
        reach = {file: data.contexts_by_lineno(str(ROOT / file)) for file in self.part.files}
        self.kept.write_text(json.dumps({"failure": self.failure, "seconds": self.seconds, "reach": reach}), "utf-8")
        return 0

    def run(self, items: list[pytest.Item]) -> bool:
        """Run tests until one fails, and say whether none did."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            if self.coverage._started:
                self.coverage.switch_context(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failure:
                return False
        return True

    def jobs(self, items: list[pytest.Item], seen: dict[str, Any]) -> Iterator[tuple[Callable[[], int], float]]:
        """Yield for each mutant the tests that reach it, the shortest first, with their limit in seconds."""
        living = defaultdict[str, list[FunctionType]](list)
        gc.unfreeze()  # conftest.py freezes what it imports, and `get_objects` leaves out what is frozen
        for one in gc.get_objects():
            if type(one) is FunctionType:
                living[one.__code__.co_filename].append(one)
        sources = {mutant.file: mutant.source for mutant in self.mutants}
        whole = {file: codes(source) for file, source in sources.items()}
        for mutant in self.mutants:
            lines, tests = seen["reach"][mutant.file], tuple(self.part.tests(mutant.file))
            reaching = {test for line in mutant.lines for test in lines.get(str(line), ())}
            chosen = [item for item in items if item.nodeid in reaching and item.nodeid.startswith(tests)]
            chosen.sort(key=lambda item: seen["seconds"][item.nodeid])
            limit = SLOWEST * sum(seen["seconds"][item.nodeid] for item in chosen) + SPARE
            yield partial(self.status, mutant, whole[mutant.file], living[str(ROOT / mutant.file)], chosen), limit

    def status(self, mutant: Mutant, whole: Codes, living: list[FunctionType], items: list[pytest.Item]) -> int:
        """Run tests of a mutant."""
        try:
            is_whole = take_the_place(mutant, whole, living)
        except SyntaxError:
            return SENSELESS
        if mutant.code == mutant.source:
            return SENSELESS
        return 1 if not self.run(items) else 0 if is_whole else DOUBTFUL


def session(mutants: list[Mutant], part: Part, kept: Path) -> int:
    """Collect the tests of a part, and break its files."""
    tests = list(dict.fromkeys(test for file in part.files for test in part.tests(file)))
    return int(pytest.main([*OPTIONS, *SETTINGS, *tests], [Warm(mutants, part, kept)]))


def imported(mutant: Mutant, tests: list[str]) -> int:
    """Run tests that import a mutant."""
    sys.meta_path.insert(0, Broken(mutant.file, mutant.code))
    return int(pytest.main([*OPTIONS, *SETTINGS, *tests]))


def imports(reach: dict[str, list[str]], mutant: Mutant) -> bool:
    """Return whether the place of a mutant is reached outside of tests."""
    return any("" in reach.get(str(line), ()) for line in mutant.lines)


def outcomes_of(mutants: list[Mutant], part: Part, folder: Path) -> list[str]:
    """Return the result of each mutant."""
    kept = folder / "seen.json"
    kept.unlink(missing_ok=True)
    os.waitpid(forked(partial(session, mutants, part, kept), silent=False), 0)
    seen: dict[str, Any] = {"failure": "the tests were not collected"}
    if kept.exists():
        seen = json.loads(kept.read_text("utf-8"))
    if seen["failure"]:
        message = f"fails before anything is broken: {seen['failure']}"
        raise SystemExit(message)

    outcomes = [seen["outcomes"][str(number)] for number in range(len(mutants))]
    doubtful = [
        number
        for number, mutant in enumerate(mutants)
        if outcomes[number] == "doubtful"
        or (outcomes[number] == SURVIVED and imports(seen["reach"][mutant.file], mutant))
    ]
    again = ((partial(imported, mutants[n], part.tests(mutants[n].file)), 600.0) for n in doubtful)
    for number, outcome in raced(again):
        outcomes[doubtful[number]] = outcome
    return outcomes


# Reports


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return why mutants change nothing, by file, function and change."""
    entries = tomllib.loads(KNOWN.read_text("utf-8"))["mutant"]
    return {(one["file"], one["function"], one["change"].strip()): one["reason"] for one in entries}


def has_function(file: str, name: str) -> bool:
    """Return whether a file has a function of that name, which may be of another part."""
    return f"def {name.rpartition('.')[2]}(" in (ROOT / file).read_text("utf-8")


def table(mutants: list[Mutant], outcomes: list[str]) -> list[str]:
    """Count by file, with the share that survived of those that are not equivalent."""
    counts = defaultdict[str, Counter[str]](Counter)
    for mutant, outcome in zip(mutants, outcomes, strict=True):
        for name in (mutant.file, "all"):
            counts[name][outcome] += 1
    rows = [f"| file | {NOTICED} | {ENDLESS} | {SURVIVED} | {EQUIVALENT} | {SURVIVED} of all but {EQUIVALENT} |"]
    rows += ["|---|---:|---:|---:|---:|---:|"]
    for name, count in sorted(counts.items(), key=lambda one: one[0] != "all"):
        cells = [count[outcome] for outcome in (NOTICED, ENDLESS, SURVIVED, EQUIVALENT)]
        share = count[SURVIVED] / max(sum(cells[:3]), 1)
        rows.append(" | ".join([f"| `{name}`" if name != "all" else "| all", *map(str, cells), f"{share:.1%} |"]))
    return rows


def listed(title: str, entries: dict[str, list[Mutant]]) -> list[str]:
    """List mutants under what they have in common."""
    lines = [f"### {title}", ""] if entries else []
    for heading, mutants in entries.items():
        lines += [heading, "", "```diff"]
        for mutant in mutants:
            lines += [f"# {mutant.file}:{mutant.lines.start} {mutant.function}", *mutant.change.splitlines()]
        lines += ["```", ""]
    return lines


def tested(part: Part, options: argparse.Namespace, dice: random.Random) -> list[str]:
    """Break a part, and return the lines of its report."""
    files = [file for file in part.files if options.only is None or Path(file).stem in options.only]
    part = part._replace(files=files)
    mutants = [mutant for file in files for mutant in mutants_of(file, part.chosen)]
    if options.again:
        mutants = [mutant for mutant in mutants if f" {mutant.function}\n{mutant.change}\n" in options.before]
    if options.sample is not None:
        mutants = [mutants[n] for n in sorted(dice.sample(range(len(mutants)), min(options.sample, len(mutants))))]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = outcomes_of(mutants, part, Path(folder))

    known = equivalents()
    used: set[tuple[str, str, str]] = set()
    survivors, same = defaultdict[str, list[Mutant]](list), defaultdict[str, list[Mutant]](list)
    for number, mutant in enumerate(mutants):
        key = mutant.file, mutant.function, mutant.change if outcomes[number] == SURVIVED else ""
        if key in known:
            outcomes[number] = EQUIVALENT
            same[known[key]].append(mutant)
            used.add(key)
        elif outcomes[number] == SURVIVED:
            survivors[f"`{mutant.file}`"].append(mutant)
    broken = {(mutant.file, mutant.function) for mutant in mutants}
    stale = (
        []
        if options.sample or options.again
        else [
            f"{name}: {change}"
            for file, name, change in known.keys() - used
            if file in files and ((file, name) in broken or not has_function(file, name))
        ]
    )
    return [
        *[*table(mutants, outcomes), "", *listed("Survivors", survivors), *listed("Equivalent", same)],
        *(["### Listed, but noticed or gone", "", "```diff", *stale, "```", ""] if stale else []),
    ]


def main() -> None:
    """Mutate the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--only", nargs="*", help="files of the parts, by the names of their modules")
    parser.add_argument("--sample", type=int, help="so many of each part, drawn by chance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="only those that the last report lists")
    parser.add_argument("--report", type=Path, default=REPORT)
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options.report.parent.mkdir(exist_ok=True)
    options.before = options.report.read_text("utf-8") if options.again else ""
    options.report.write_text(f"# Mutants\n\n`{' '.join(sys.argv)}`, {date.today()}\n", "utf-8")  # noqa: DTZ011
    quick = [name for name in PARTS if name != "plugin"]  # each mutant of the plugin takes seconds
    for name in options.parts or quick:
        dice = random.Random(options.seed)  # noqa: S311  # draws mutants, not secrets
        text = "\n".join([f"\n## {name}\n", *tested(PARTS[name], options, dice)])
        sys.stdout.write(text)
        sys.stdout.flush()
        with options.report.open("a", encoding="utf-8") as report:
            report.write(text)


if __name__ == "__main__":
    main()
