"""Measure which mistakes in a program mypy reports before the program runs.

    python -m tests.mypy.broken_programs program.py ... [--broken 40] [--seed 0] [--show missed] [--show alarms]

Each program is changed in one place at a time: a number, an operator, an attribute, a name, an argument, a method call.
Each variant runs in a process of its own. Variants that end with an error of tapegrad are broken, those that end well
are sound; all others, such as those with a NameError, are left out. Then mypy checks broken and sound variants. A
report on a sound variant is an alarm, which can be justified: a layer that nothing uses does not stop a program.

The programs must be single files that run for some seconds and that mypy accepts.
"""

from __future__ import annotations

import argparse
import ast
import os
import pickle
import random
import resource
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tapegrad as tg
from tapegrad.project.reports import run_mypy
from tests.warm_mypy_cache import SETTINGS, write_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = 8 * 2**30
SECONDS = 60
SOUND = "sound"


class Variant(NamedTuple):
    """A program that is changed in one place."""

    line: int
    change: str
    source: str


class Outcome(NamedTuple):
    """How a variant ended: the name of its error, or "sound", and the lines of the traceback in it, innermost last."""

    error: str
    message: str
    lines: list[int]
    is_of_tapegrad: bool


# Variants


def variants(source: str) -> Iterator[Variant]:
    """Yield each variant of a program once."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen = {text}
    for node, other in changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        changed = text[:start] + other.encode() + text[end:]
        if changed not in seen:
            seen.add(changed)
            yield Variant(node.lineno, f"{text[start:end].decode()} -> {other}", changed.decode())


def changes(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield expressions with the text that may stand in their place."""
    for scope in [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef)]:
        annotations = {id(part) for one in annotated(scope) for part in ast.walk(one)}
        expressions = [one for one in ast.walk(scope) if isinstance(one, ast.expr) and id(one) not in annotations]
        if isinstance(scope, ast.ClassDef):
            attributes = [one for one in expressions if is_own_attribute(one)]
            names = sorted({ast.unparse(one) for one in attributes})
            yield from ((one, other) for one in attributes for other in names)
        else:
            loaded = [one for one in expressions if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
            local = {one.id for one in expressions if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
            local |= {one.arg for one in scope.args.args if one.arg != "self"}
            yield from ((one, other) for one in loaded if one.id in local for other in sorted(local))
            for one in expressions:
                yield from ((one, other) for other in replacements(one))


def annotated(scope: ast.AST) -> Iterator[ast.expr]:
    """Yield the annotations below a node."""
    for one in ast.walk(scope):
        found = getattr(one, "annotation", None), getattr(one, "returns", None)
        yield from (annotation for annotation in found if annotation is not None)


def is_own_attribute(node: ast.expr) -> bool:
    """Return whether an expression reads an attribute of `self`."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Load()):
            return True
    return False


def replacements(node: ast.expr) -> Iterator[str]:
    """Yield what may stand in the place of an expression, in any context."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            yield from map(str, (number + 1, max(number - 1, 0), 2 * number))
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            yield from (f"{ast.unparse(left)} * {ast.unparse(right)}", f"{ast.unparse(right)} @ {ast.unparse(left)}")
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield f"{ast.unparse(left)} @ {ast.unparse(right)}"
        case ast.Call(func=function, args=args, keywords=keywords):
            given = [*map(ast.unparse, args), *map(ast.unparse, keywords)]
            called = ast.unparse(function)
            for place in range(len(given)):
                yield f"{called}({', '.join(given[:place] + given[place + 1 :])})"
            for place in range(len(args) - 1):
                swapped = [*given[:place], given[place + 1], given[place], *given[place + 2 :]]
                yield f"{called}({', '.join(swapped)})"
            if isinstance(function, ast.Attribute):
                yield ast.unparse(function.value)
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) > 1:
            parts = list(map(ast.unparse, elements))
            for place in range(len(parts)):
                yield f"({', '.join(parts[:place] + parts[place + 1 :])},)"
            for place in range(len(parts) - 1):
                yield f"({', '.join([*parts[:place], parts[place + 1], parts[place], *parts[place + 2 :]])})"
        case ast.Subscript(value=value) | ast.Attribute(value=value, attr="T" | "mT"):
            yield ast.unparse(value)
        case _:
            pass


# Running them


def outcome(source: str) -> Outcome:
    """Run a program in a fork of this process, and return how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            silence = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(silence, number)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            answer = pickle.dumps(run(source))
            with os.fdopen(writer, "wb") as stream:
                stream.write(answer)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        result = stream.read()  # empty if the limits ended it
    os.waitpid(child, 0)
    return pickle.loads(result) if result else Outcome("killed", "", [], is_of_tapegrad=False)  # noqa: S301  # our own


def run(source: str) -> Outcome:
    """Run a program as `python program.py` does."""
    sys.argv = ["program.py"]
    try:
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})  # noqa: S102  # what this file is for
    except BaseException as error:  # noqa: BLE001  # any error of a program
        frames = traceback.extract_tb(error.__traceback__)
        lines = [one.lineno or 0 for one in frames if one.filename == "program.py"]
        of_tapegrad = type(error).__module__.startswith("tapegrad")
        return Outcome(type(error).__name__, str(error)[:200], lines, is_of_tapegrad=of_tapegrad)
    return Outcome(SOUND, "", [], is_of_tapegrad=False)


# Checking them


def reports(sources: dict[str, str]) -> dict[str, list[tuple[int, str]]]:
    """Return the errors that mypy reports for each program, with their lines."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_settings(folder, SETTINGS)
        for stem, source in sources.items():
            (folder / f"{stem}.py").write_text(source, "utf-8")
        for one in run_mypy([f"{stem}.py" for stem in sources], folder=folder):
            if one.kind == "error":
                found[Path(one.file).stem].append((one.line, one.text))
    return found


def statement_of(source: str) -> dict[int, int]:
    """Return the first line of the simple statement around each line."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            found |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), node.lineno)
    return found


def measure(path: Path, wanted: int, seed: int, shown: list[str]) -> Counter[str]:
    """Break a program, print what mypy misses, and return the counts."""
    original = path.read_text("utf-8")
    if (ended := outcome(original)).error != SOUND:
        message = f"{path} does not run: {ended.error}: {ended.message}"
        raise SystemExit(message)
    tried = list(variants(original))
    random.Random(seed).shuffle(tried)  # noqa: S311  # a sample
    kept: list[tuple[str, Variant, Outcome]] = []
    counts, left_out = Counter[str](), 0
    for variant in tried:
        ended = outcome(variant.source)
        kind = "broken" if ended.is_of_tapegrad else ended.error
        if kind == "broken" or (kind == SOUND and counts[SOUND] < wanted):
            kept.append((f"{path.stem}_{len(kept):03}", variant, ended))
        counts[kind] += 1
        left_out += kind not in ("broken", SOUND)
        if counts["broken"] == wanted:
            break
    found = reports({path.stem: original} | {name: variant.source for name, variant, _ in kept})
    if known := found.get(path.stem):
        message = f"mypy does not accept {path}: {known}"
        raise SystemExit(message)
    result = Counter({"left out": left_out})
    for name, variant, ended in kept:
        reported = found.get(name, [])
        kind = "sound" if ended.error == SOUND else "broken"
        result[kind] += 1
        if kind == "sound":
            result["alarms"] += bool(reported)
            if reported and "alarms" in shown:
                print(f"alarm {path.stem}:{variant.line}: {variant.change}\n    {reported}")
            continue
        first = statement_of(variant.source)
        lines = {first.get(line, line) for line, _ in reported}
        raising = [first.get(line, line) for line in ended.lines]
        result["caught"] += bool(reported)
        result["raising line"] += raising[-1] in lines
        result["near"] += bool(lines & {*raising, first.get(variant.line, variant.line)})
        if not reported and "missed" in shown:
            print(
                f"missed {path.stem}:{variant.line}: {variant.change}\n    {ended.lines} {ended.error}: {ended.message}"
            )
    return result


def summary(counts: Counter[str]) -> str:
    """Return what was counted, in words."""
    places = f"{counts['raising line']} at the line that raises, {counts['near']} there or where it was changed"
    broken = f"{counts['caught']} of {counts['broken']} broken variants are reported, {places}"
    sound = f"{counts['alarms']} of {counts[SOUND]} sound variants are reported"
    return f"{broken}; {sound}; {counts['left out']} variants ended otherwise and are left out"


def main() -> None:
    """Print a summary for each program, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--broken", type=int, default=40, help="broken variants of each program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="append", choices=["missed", "alarms"], default=[])
    options = parser.parse_args()
    tg.set_threads(1)
    total = Counter[str]()
    for path in options.programs:
        counts = measure(path, options.broken, options.seed, options.show)
        total += counts
        print(f"{path.stem}: {summary(counts)}", flush=True)
    print(f"all: {summary(total)}")


if __name__ == "__main__":
    main()
