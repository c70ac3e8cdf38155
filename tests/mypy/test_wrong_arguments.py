"""Fuzz test: arguments of wrong types for every function, method and layer never crash the plugin.

python tests/mypy/test_wrong_arguments.py [calls] [--seed SEED]
"""

from __future__ import annotations

import argparse
import inspect
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import tapegrad as tg
from tapegrad import nn
from tests.warm_mypy_cache import write_settings

HEAD: Final = """import numpy as np
import tapegrad as tg
from tapegrad import nn
x, i = tg.ones((3, 4)), tg.tensor([1, 2])
"""
HEAD_LINES: Final = HEAD.count("\n")
MOST: Final = 500  # calls in one file
VALUES: Final = (
    *(
        "None",
        "'a'",
        "b'a'",
        "1.5",
        "1j",
        "True",
        "-1",
        "0",
        "10 ** 30",
        "np.float64(2)",
        "np.float32",
        "object()",
        "tg",
    ),
    *("x", "i", "[1, 2]", "[x, 'a']", "[[1.0], [1.0, 2.0]]", "(1, 'a')", "()", "(None, None)", "{}", "{1: x}"),
    *("slice(0, 1)", "...", "nn.ReLU()", "nn.Linear", "tg.exp"),
)
FORMS: Final = (
    *("x[{}]", "x[{}] = 3.0", "x[1:{}]", "x[0, {}]", "x @ {}", "{} @ x", "x + {}", "{} * x", "x == {}", "x ** {}"),
    *("nn.Sequential(nn.Linear(3, 4), {})", "nn.Sequential(nn.Linear(3, 4))({})", "nn.Linear(3, 4)({})"),
    *("nn.MultiHeadAttention(4, 2)(x, {})", "tg.ones(({}, 3))", "tg.tensor([[{}], [1]])", "x.shape[{}]"),
)
# Each of these was one.
FOUND: Final = (
    *("x[tg.ones((3,))] = 3.0", "x[i] = 3.0", "nn.GroupNorm('a', 2)", "nn.GroupNorm(2, ())"),
    *("nn.Conv1d(2, 2, 2, groups='a')", "nn.ConvTranspose2d(2, 2, 2, groups=())", "nn.MultiHeadAttention(2, 'a')"),
    *("tg.ones((abs(), 3))", "tg.ones((max(), 3))"),
)


def calls() -> Iterator[str]:
    """Yield calls with one argument of the wrong kind; some happen to be right."""
    for name, function in inspect.getmembers(tg, inspect.isfunction):
        yield from calls_of(f"tg.{name}", function)
    for name, layer in inspect.getmembers(nn, inspect.isclass):
        yield from calls_of(f"nn.{name}", layer.__init__)
    for name, method in inspect.getmembers(tg.Tensor, inspect.isfunction):
        if not name.startswith("_"):
            yield from calls_of(f"x.{name}", method)
    for form in FORMS:
        yield from map(form.format, VALUES)


def calls_of(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield calls of a function with each value for each of its parameters, and for the others what may do."""
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    for wrong in parameters:
        for value in VALUES:
            given = {one.name: plausible(one) for one in parameters if one.default is one.empty} | {wrong.name: value}
            yield f"{name}({', '.join(written(one, given[one.name]) for one in parameters if one.name in given)})"


def plausible(parameter: inspect.Parameter) -> str:
    """Return an argument that a parameter may take."""
    annotation = str(parameter.annotation)
    return "[x]" if "Sequence" in annotation else "x" if "Tensor" in annotation else "2"


def written(parameter: inspect.Parameter, value: str) -> str:
    """Write an argument for a parameter."""
    match parameter.kind:
        case parameter.VAR_POSITIONAL:
            return f"*({value},)"
        case parameter.VAR_KEYWORD:
            return f"**{{'a': {value}}}"
        case parameter.POSITIONAL_ONLY:
            return value
    return f"{parameter.name}={value}"


def failures(drawn: list[str], folder: Path) -> list[str]:
    """Return the calls of which mypy says that the plugin failed, or how mypy itself ended."""
    write_settings(folder)
    # mypy reads a file again for each error in it: one file of all 40,000 calls takes an hour, 83 files two minutes.
    files = {f"program{start}.py": drawn[start : start + MOST] for start in range(0, len(drawn), MOST)}
    for name, of_file in files.items():
        functions = "".join(f"def f{number}() -> None: {call}\n" for number, call in enumerate(of_file))
        (folder / name).write_text(HEAD + functions, "utf-8")
    command = [sys.executable, "-m", "mypy", *files]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 1 or "prevented further checking" in run.stdout:
        return [run.stdout[-2000:] + run.stderr[-2000:]]
    failed = [line for line in run.stdout.splitlines() if line.endswith("[tapegrad-internal]")]
    places = [(line, line.split(":")) for line in failed]
    return [f"{files[name][int(number) - HEAD_LINES - 1]}  # {line}" for line, (name, number, *_) in places]


def test_arguments_of_wrong_types_do_not_crash_the_plugin(tmp_path: Path) -> None:
    drawn = random.Random(0).sample([*calls()], 1500)  # noqa: S311  # draws calls, not secrets

    assert failures([*FOUND, *drawn], tmp_path) == []


def main() -> None:
    """Print each failure, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("calls", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    known = [*calls()]
    drawn = random.Random(options.seed).sample(known, min(options.calls, len(known)))  # noqa: S311  # as above
    with tempfile.TemporaryDirectory() as folder:
        found = failures(drawn, Path(folder))
    sys.stdout.write("\n".join([*found, f"{len(found)} failures in {len(drawn)} calls\n"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
