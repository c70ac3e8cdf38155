"""The programs of typecheck/, run by mypy and by Python: both must report the same message.

A function `accept_*` must be free of errors and run, and every `assert_type` in it must hold for the value at run time.
In a function `reject_*` mypy rejects the line marked `# E: text`, and Python raises the same; `# E(mypy): text` is
reported by mypy alone, `# E(Python): text` by Python alone. In the text `{-1}` stands for the number of the line
before, `{-0}` for that of the line itself, `{+1}` for that of the next.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import traceback
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, Unpack, get_args, get_origin

import pytest
import typing_extensions
from mypy.version import __version__ as mypy_version

from tapegrad.autograd.tape import NoneTape, OwnedTape
from tapegrad.errors import TapegradError
from tapegrad.sizes import Add, FloorDiv, Mul, Sub
from tapegrad.sizes.arithmetic import Product, Sum
from tapegrad.tapem import Node
from tapegrad.tensors import Tensor
from tests import unknown_places
from tests.mypy.programs import IS_BEFORE_2_4

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parent.parent
FILES = sorted(path for path in (ROOT / "typecheck").rglob("*.py") if "pyright" not in path.parts)
MARK = re.compile(r"#\s*E(?:\((mypy|Python)\))?: (.*?)(?:\s+\[([a-z-]+)\])?$")
CALLED = re.compile(r"([\w.\[\]'-]+ )?[\w.]+(\(.*?\))?: ")  # `matmul: `, or `model.layers[1] Linear(3, 5): `
SIZE = re.compile(r"\d|\b[A-Z]\b|\(\)|'|a bool")  # or a name
REPORT = re.compile(r"^(.*?):(\d+): (error|note): (.*?)(?:\s+\[([a-z-]+)\])?$")

# The programs that need the last sizes of a tensor of unknown rank, `(..., 8)`. Before 2.4, mypy does not accept such a
# shape where `(2, 8)` is expected, so the plugin leaves the whole shape unknown: an `assert_type` of it fails, and an
# error that follows from the last sizes is missed. All else holds under an older mypy as well.
NEED_2_4: Final = {
    "conv_layers.py": {"accept_windows_in_an_image_of_unknown_sizes"},
    "ops/attention.py": {"accept_unknown_sizes"},
    "ops/compare.py": {"accept_what_may_be_a_tensor"},
    "ops/conv.py": {"accept_unknown_sizes"},
    "ops/conv_transpose.py": {"accept_unknown_sizes"},
    "ops/elementwise.py": {"accept_unknown_sizes"},
    "ops/index.py": {"accept_unknown_sizes"},
    "scalars.py": {"accept_a_number_or_a_tensor", "accept_an_operand_of_which_nothing_is_known"},
    "tapem/ops.py": {"accept_unknown_sizes"},
    "unknown_inputs.py": {
        "accept_a_method_of_an_object_with_a_model",
        "accept_a_model",
        "reject_the_result_of_a_method",
        "reject_the_result_of_a_model",
    },
    "unknown_rank.py": {
        "accept_an_unpacked_shape",
        "accept_images",
        "accept_layers",
        "accept_ops",
        "reject_a_layer_in_a_body",
        "reject_a_product",
        "reject_a_sum",
        "reject_another_layer",
        "reject_channels",
        "reject_the_gradient_of_several_numbers",
    },
}
# Where mypy knows less only in newer versions: it reports nothing unknown on a line with another error, which the
# `assert_type` lines of `NEED_2_4` have, and before 2.2 it knew the dtype of a lambda's result in `reduce`.
KNOWN_BEFORE_2_4: Final = {
    "typecheck/conv_layers.py: accept_windows_in_an_image_of_unknown_sizes",
    "typecheck/scalars.py: accept_a_number_or_a_tensor",
    "typecheck/scalars.py: accept_an_operand_of_which_nothing_is_known",
}
KNOWN_BEFORE_2_2: Final = {"typecheck/tape_callbacks.py: compose"}

# An older mypy, as `make oldest` and `make matrix` install it, has a cache of its own: after runs of 2.0, 2.3 and 2.4
# on one cache, mypy 2.4.1 ended with an internal error. The newest one finds tapegrad in the cache of `mypy`.
CACHE: Final = f".mypy_cache/{mypy_version}" if IS_BEFORE_2_4 else ".mypy_cache"

Reports: TypeAlias = dict[tuple[str, int], list[tuple[str, str | None]]]


class Mark(NamedTuple):
    text: str
    code: str | None
    alone: str | None  # the one that reports it, mypy or Python, if not both do


@cache
def marks(path: Path) -> dict[int, Mark]:
    found = {number: MARK.search(line) for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)}
    return {
        number: Mark(re.sub(r"\{([-+]\d+)\}", partial(other_line, number), m[2]), m[3], m[1])
        for number, m in found.items()
        if m is not None
    }


def other_line(number: int, away: re.Match[str]) -> str:
    return str(number + int(away[1]))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "typecheck").as_posix()


@cache
def functions(path: Path) -> list[ast.FunctionDef]:
    tree = ast.parse(path.read_text("utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name != "main"]


@cache
def reports() -> Reports:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", CACHE, *map(str, FILES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return errors_in(run.stdout)


def errors_in(output: str) -> Reports:
    """Return the errors in what mypy prints, by file and line."""
    found: Reports = {}
    for line in output.splitlines():
        match = REPORT.match(line)
        if match is not None and match[3] == "error":
            path = str((ROOT / match[1]).resolve())
            found.setdefault((path, int(match[2])), []).append((match[4], match[5]))
    return found


def rejected(path: Path, reports: Reports) -> dict[int, list[tuple[str, str | None]]]:
    """Return what mypy rejects in a file, by line."""
    wrong = {
        number: [(text, code) for text, code in said if code != unknown_places.CODE]
        for (file, number), said in reports.items()
        if file == str(path.resolve())
    }
    return {number: said for number, said in wrong.items() if said}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_mypy_rejects_exactly_the_marked_lines(path: Path) -> None:
    assert_rejects_the_marked_lines(path, reports())


def assert_rejects_the_marked_lines(path: Path, reports: Reports) -> None:
    expected = {number: [(mark.text, mark.code)] for number, mark in marks(path).items() if mark.alone != "Python"}

    found = rejected(path, reports)

    without_codes = {number: [(text, None) for text, _ in said] for number, said in found.items()}
    shown = {
        number: said if expected.get(number, [("", "")])[0][1] else without_codes[number]
        for number, said in found.items()
    }
    if not IS_BEFORE_2_4:
        assert shown == expected
        return
    different = {number for number in shown.keys() | expected.keys() if shown.get(number) != expected.get(number)}
    missed = expected.keys() - shown.keys()
    failed = {number for number in shown.keys() - expected.keys() if knows_less(found[number])}
    assert {number: shown[number] for number in different - missed - failed} == {}
    assert {function_at(path, number) for number in different} == NEED_2_4.get(name_of(path), set())


def knows_less(said: list[tuple[str, str | None]]) -> bool:
    """Return whether all that mypy rejects on a line is an `assert_type` of what it knows no size of."""
    return all(code == "assert-type" and "Literal[" not in text.partition('", not "')[0] for text, code in said)


def function_at(path: Path, line: int) -> str:
    """Return the function of a program that a line is in; empty if it is in none."""
    around = [one.name for one in functions(path) if one.lineno <= line <= (one.end_lineno or 0)]
    return around[0] if around else ""


def test_what_needs_mypy_2_4_is_in_the_programs() -> None:
    names = {name_of(path): {one.name for one in functions(path)} for path in FILES}

    assert [name for name, listed in NEED_2_4.items() if not listed <= names[name]] == []


def test_what_mypy_does_not_know_is_listed() -> None:
    found = {
        (str(Path(file).relative_to(ROOT)), unknown_places.place(Path(file).read_text("utf-8"), line, text))
        for (file, line), said in reports().items()
        for text, code in said
        if code == unknown_places.CODE
    }

    known = KNOWN_BEFORE_2_4 if IS_BEFORE_2_4 else set[str]()
    if tuple(map(int, mypy_version.split(".")[:2])) < (2, 2):
        known = known | KNOWN_BEFORE_2_2
    assert unknown_places.differences(found, "typecheck") == [f"no longer unknown: {place}" for place in sorted(known)]
    assert found


def test_messages_are_short_and_name_function_and_sizes() -> None:
    messages = {
        f"{path.relative_to(ROOT)}:{number}": mark
        for path in FILES
        for number, mark in marks(path).items()
        if mark.code is None or mark.code.startswith("tapegrad-")
    }
    of_shapes = {place: mark.text for place, mark in messages.items() if mark.code == "tapegrad-shape"}

    assert [place for place, mark in messages.items() if len(mark.text) > 160] == []
    assert [place for place, text in of_shapes.items() if not CALLED.match(text)] == []
    assert [place for place, text in of_shapes.items() if not SIZE.search(text)] == []
    assert of_shapes


def programs(prefix: str) -> list[Any]:
    return [
        pytest.param(path, function.name, id=f"{name_of(path)}:{function.name}")
        for path in FILES
        for function in functions(path)
        if function.name.startswith(prefix)
    ]


@cache
def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"typecheck_{path.stem}_{len(path.parts)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    if hasattr(module, "assert_type"):
        vars(module)["assert_type"] = assert_real_type
    return module


@pytest.mark.parametrize(("path", "name"), programs("accept"))
def test_python_runs_what_mypy_accepts(path: Path, name: str) -> None:
    getattr(loaded(path), name)()


@pytest.mark.parametrize(("path", "name"), programs("reject"))
def test_python_raises_what_mypy_rejects(path: Path, name: str) -> None:
    function = next(one for one in functions(path) if one.name == name)
    inside = range(function.lineno, (function.end_lineno or 0) + 1)
    expected = {number: mark for number, mark in marks(path).items() if number in inside}
    assert expected, f"{name} marks no line"
    if any(mark.alone == "mypy" for mark in expected.values()):
        return
    ((line, mark),) = expected.items()

    with pytest.raises((ValueError, TypeError, RuntimeError, IndexError)) as caught:
        getattr(loaded(path), name)()

    assert str(caught.value) == mark.text
    frames = [frame for frame in traceback.extract_tb(caught.tb) if not frame.filename.endswith("conftest.py")]
    assert line in [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(caught.value, TapegradError):
        assert frames[-1].filename == str(path), "the traceback goes on inside the library"


def assert_real_type(value: object, annotation: Any) -> None:
    """Compare a value with the type it was claimed to have; what the type leaves open fits anything."""
    if get_origin(annotation) is Node:
        assert isinstance(value, Node)
        value, annotation = value.value, tensor_of(annotation)
    if get_origin(annotation) is not Tensor and annotation is not Tensor:
        return
    assert isinstance(value, Tensor)
    shape, tape, dtype = (*get_args(annotation), Any, Any, Any)[:3]
    if get_origin(shape) is tuple or shape == tuple[()]:
        sizes = () if get_args(shape) == ((),) else get_args(shape)
        stars = [axis for axis, size in enumerate(sizes) if is_star(size)]
        if stars:
            after = len(sizes) - stars[0] - 1
            assert len(value.shape) >= len(sizes) - 1
            assert_sizes(value.shape[: stars[0]], sizes[: stars[0]])
            assert_sizes(value.shape[len(value.shape) - after :], sizes[stars[0] + 1 :])
        else:
            assert_sizes(value.shape, sizes)
    if tape in (NoneTape, OwnedTape):
        assert value.owns_tape == (tape is OwnedTape)
    if dtype is not Any and isinstance(dtype, type):
        assert value.dtype == dtype


def is_star(size: Any) -> bool:
    """Return whether a part of a shape is `*Batch`, `Unpack[Batch]`, or `*tuple[Any, ...]`."""
    return typing_extensions.get_origin(size) in (Unpack, typing_extensions.Unpack) or (
        getattr(size, "__unpacked__", False) is True
    )


def tensor_of(node: Any) -> Any:
    """Return the type of the tensor in a node of a type."""
    shape, dtype = (*get_args(node), Any)[:2]
    tensor: Any = Tensor
    return tensor[shape, NoneTape, dtype]


def assert_sizes(shape: tuple[int, ...], sizes: tuple[Any, ...]) -> None:
    names: dict[Any, int] = {}
    assert len(shape) == len(sizes)
    for n, size in zip(shape, sizes, strict=True):
        if get_origin(size) is Literal:
            assert n == get_args(size)[0]
        elif isinstance(size, typing_extensions.TypeVar | type(typing_extensions.TypeVar("X"))):
            assert names.setdefault(size, n) == n
        else:
            computed = typing_extensions.get_origin(size)
            assert size is Any or computed in (Add, Sub, Mul, FloorDiv) or issubclass(computed, (Sum, Product))
