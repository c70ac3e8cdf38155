"""Shape mismatches in returns, assignments and arguments: mypy reports the message of the guard, however it is run."""

import gc
import inspect
import json
from pathlib import Path
from types import FunctionType

import pytest
from mypy.errors import Errors
from mypy.options import Options

from tapegrad import nn
from tapegrad.guard._wrapper import is_guarded
from tapegrad.mypy.features.mismatches import GUARDED, LONGEST, reworded
from tapegrad.mypy.mypy_api import NO_ERROR, ReportedError, Rewording
from tests.mypy.programs import RUN_DAEMON, first_errors, python
from tests.warm_mypy_cache import SETTINGS, write_settings

SIZES = """from typing import TypeAlias, TypeVar
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)
Rows: TypeAlias = Tensor[Shape[L[3], L[4]], NoneTape]
Columns: TypeAlias = Tensor[Shape[L[4], L[3]], NoneTape]
"""
USE = """import numpy as np

from sizes import Columns, L, M, N, Rows, Shape, T, Tensor

def flipped(a: Rows) -> Columns:
    return a

class Net:
    kept: Columns

    def set(self, a: Rows) -> None:
        def inner() -> Columns:
            return a

        self.kept = a

    def untaped(self, a: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M]]:
        return a

def given(a: Rows) -> None:
    flipped(np.ones((3, 4), np.float32))
    array: Rows = [[1.0]]
    items: dict[str, Columns] = {"a": a}
    same: Columns = a  # type: ignore[assignment]
    right: Rows = a  # type: ignore[assignment]
    missing
"""
SAID = [
    "use.py:6: error: flipped: the result is (3, 4) but (4, 3) is expected: axis 0 is 3, not 4  [return-value]",
    "use.py:13: error: inner: the result is (3, 4) but (4, 3) is expected: axis 0 is 3, not 4  [return-value]",
    "use.py:15: error: Net.set: self.kept is (3, 4) but (4, 3) is expected: axis 0 is 3, not 4  [assignment]",
    "use.py:18: error: Net.untaped: the result may have a tape but must have none  [return-value]",
    "use.py:21: error: flipped: a is an ndarray but a tensor is expected; tg.tensor(a) makes one  [arg-type]",
    "use.py:22: error: given: array is a list but a tensor is expected; tg.tensor(...) makes one  [assignment]",
    "use.py:23: error: given: entry 0 of the dict is (3, 4) but (4, 3) is expected: axis 0 is 3, not 4  [dict-item]",
    'use.py:25: error: Unused "type: ignore" comment  [unused-ignore]',
    'use.py:26: error: Name "missing" is not defined  [name-defined]',
]
REEXPORT = f"{SETTINGS}\n[mypy-sizes,use]\nimplicit_reexport = True\n"


def mypy(folder: Path, *options: str, module: str = "mypy") -> list[str]:
    """Return what mypy reports, without its count of errors."""
    run = python(folder, "-m", module, *options)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    lines = run.stdout.splitlines()
    return [line for line in lines if not line.startswith(("Found", "Success", "Daemon started"))]


def written(folder: Path) -> Path:
    write_settings(folder, REEXPORT)
    for name, text in {"sizes.py": SIZES, "use.py": USE}.items():
        (folder / name).write_text(text)
    return folder


def test_reports_are_the_same_cold_warm_edited_and_parallel(tmp_path: Path) -> None:
    folder = written(tmp_path)

    assert mypy(folder, "use.py") == SAID
    assert mypy(folder, "use.py") == SAID
    (folder / "use.py").write_text(USE + "\n")  # `sizes` comes from the cache, and `use` names no tensor
    assert mypy(folder, "use.py") == SAID
    (folder / "use.py").write_text(USE)
    assert mypy(folder, "-n", "2", "use.py") == SAID
    reports = [json.loads(line) for line in mypy(folder, "--output", "json", "use.py")]
    assert [f"use.py:{one['line']}: error: {one['message']}  [{one['code']}]" for one in reports] == SAID


def test_the_daemon_repeats_the_reports_after_an_edit(tmp_path: Path) -> None:
    folder, run = written(tmp_path), (*RUN_DAEMON, "use.py")
    try:
        assert mypy(folder, *run, module="mypy.dmypy") == SAID
        (folder / "use.py").write_text(USE.replace("missing", "np.pi"))
        assert mypy(folder, *run, module="mypy.dmypy") == SAID[:-1]
        (folder / "sizes.py").write_text(SIZES.replace("[L[3], L[4]]", "[L[3], L[5]]"))
        said = mypy(folder, *run, module="mypy.dmypy")
        assert said[0] == SAID[0].replace("(3, 4)", "(3, 5)")
        assert not any("incompatible type" in line.lower() for line in said)
    finally:
        mypy(folder, "kill", module="mypy.dmypy")


ANY = """from typing import Any, NamedTuple

import tapegrad as tg
from sizes import Columns, N, Rows, Shape, Tensor

def sizes(x: Tensor[Shape[N]], y: Tensor[Shape[N]]) -> Any:
    return x

def viewed(a: Rows) -> Columns:
    return a.view(4, 3)

def joined(a: Rows) -> Columns:
    return tg.cat(
        (a, a),
    )

def different(a: Rows) -> Columns:
    return sizes(a[0], a[:, 0])

def unknown(a: Rows) -> Columns:
    return sizes(a[0], a[1])

def missing(a: Rows) -> Columns:
    return tg.nothing(a)
"""
RETURNS = "error: Returning Any from function declared to return"


def test_an_error_of_tapegrad_is_not_followed_by_one_about_any(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "use.py").write_text(ANY)
    try:
        found = mypy(folder, "use.py")
        followed = mypy(folder, "run", "--", "use.py", module="mypy.dmypy")
        (folder / "use.py").write_text(ANY.replace("a.view(4, 3)", "a.T.view(3, 4)"))
        edited = mypy(folder, "run", "--", "use.py", module="mypy.dmypy")
    finally:
        mypy(folder, "kill", module="mypy.dmypy")

    assert [line for line in found if RETURNS not in line] == [
        "use.py:10: error: Tensor has no 'view': use x.reshape(shape)  [attr-defined]",
        "use.py:13: error: tapegrad has no 'cat': use tg.concat  [attr-defined]",
        "use.py:18: error: sizes: N is 4 in x but 3 in y  [tapegrad-shape]",
        'use.py:24: error: Module has no attribute "nothing"  [attr-defined]',
    ]
    assert [line.split(":")[1] for line in found if RETURNS in line] == ["21", "24"]
    assert followed == edited == found


def test_rebinding_to_another_shape_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text("import tapegrad as tg\n\nx = tg.ones((2, 3))\nx = x.T\n")
    write_settings(tmp_path, f"{SETTINGS}\n[mypy-use]\nallow_redefinition = False\n")

    (message,) = mypy(tmp_path, "use.py")

    assert message == (
        "use.py:4: error: x is (3, 2) but (2, 3) is expected: axis 0 is 3, not 2; allow_redefinition = true in mypy's "
        "settings lets x be bound to it  [assignment]"
    )


LEFT_OUT = """
from typing import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

N = TypeVar("N", bound=int)


def short(x: Tensor[Shape[N]]) -> Tensor[Shape[N]]:
    return x * 2.0


def full(x: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[N], NoneTape]:
    return x * 2.0


short(tg.ones((3,)).trace()).sum().backward()
full(tg.ones((3,)).trace())
"""


def test_an_annotation_that_leaves_out_the_tape_is_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(LEFT_OUT)
    write_settings(tmp_path)

    wider = "Tensor[Shape[N], T] takes any tape, where T is a TypeVar bound to Tape"
    assert mypy(tmp_path, "use.py") == [
        "use.py:18: error: short: x has a tape but must have none  [tapegrad-tape]",
        f"use.py:18: note: Tensor[Shape[N]] has no tape; {wider}",
        "use.py:19: error: full: x has a tape but must have none  [tapegrad-tape]",
    ]


def said(message: str, code: str = "return-value") -> str | None:
    error = ReportedError(code, message, 1, None, "f", may_redefine=True, read_source=lambda: None)
    return reworded(error, no_parameters)


def no_parameters(layer: str, method: str, *, by_position: bool = False) -> list[str]:  # noqa: ARG001  # a protocol's
    return []


def returned(got: str, expected: str) -> str | None:
    return said(f'Incompatible return value type (got "{got}", expected "{expected}")')


def test_one_of_several_dtypes_may_be_the_one_that_is_expected() -> None:
    item, other = tensor("tuple[Literal[2]]", dtype="object"), tensor("tuple[Literal[3]]")
    expected = tensor("tuple[Literal[2]]")

    assert returned(item, expected) == NO_ERROR
    assert returned(item, other) == "f: the result is (2,) but (3,) is expected: axis 0 is 2, not 3"
    assert returned(f"tuple[{item}, {expected}]", f"tuple[{expected}, {other}]") == (
        "f: the result[1] is (2,) but (3,) is expected: axis 0 is 2, not 3"
    )
    assert (
        returned(f"{item} | {other}", expected) == "f: the result may be (3,) but (2,) is expected: axis 0 is 3, not 2"
    )


def test_a_list_of_tensors_of_opaque_sizes_may_be_the_one_that_is_expected() -> None:
    of_n, of_odd = (tensor(f"tuple[Opaque[{size}]]") for size in ("Literal['n@use.f']", ODD))
    expected = tensor("tuple[Literal[8]]")

    assert returned(f"list[{of_n}]", f"list[{expected}]") == NO_ERROR
    assert returned(f"dict[str, list[{of_n}]]", f"dict[str, list[{expected}]]") == NO_ERROR
    assert returned(f"list[{of_odd}]", f"list[{expected}]") is None
    assert returned(f"list[{of_n}]", f"list[{tensor('tuple[Literal[8]]', tape='OwnedTape')}]") is None


ODD = "Sum[Product[Literal[2], Opaque[Literal['n@use.f']]], Literal[1]]"


def tensor(shape: str, tape: str = "NoneTape", dtype: str = "floating[_32Bit]") -> str:
    return f"Tensor[{shape}, {tape}, {dtype}]"


@pytest.mark.parametrize(
    ("got", "expected", "message"),
    [
        (tensor("tuple[N]"), tensor("tuple[()]"), "(N,) but () is expected: rank 1, not 0"),
        (
            tensor("tuple[*Batch, N]"),
            tensor("tuple[*Batch, Sum[N, Literal[1]]]"),
            "(..., N) but (..., N + 1) is expected: axis -1 is N, not N + 1",
        ),
        (
            tensor("tuple[Literal[2]]"),
            tensor("tuple[*Batch, N, M]"),
            "(2,) but (..., N, M) is expected: rank 1, not at least 2",
        ),
        (tensor("S"), tensor("tuple[N]"), "S but (N,) is expected"),
        (tensor("Any"), tensor("tuple[N]", dtype="signedinteger[_64Bit]"), "float32 but int64 is expected"),
        (tensor("Any", dtype="numpy.bool[builtins.bool]"), tensor("Any"), "bool but float32 is expected"),
        (
            "Param[tuple[N], floating[_32Bit]]",
            tensor("tuple[M]"),
            "(N,) but (M,) is expected: axis 0 is N, not M",
        ),
        (tensor("tuple[N]"), "Param[tuple[N], floating[_32Bit]]", "a tensor but a Param is expected"),
        ("Literal[5]", "Product[N, Literal[2]]", "5 but 2*N is expected"),
        ("Linear[Literal[3], N]", "Linear[Any, M]", "Linear[3, N] but Linear[?, M] is expected: N, not M"),
        (
            tensor("tuple[Literal[3], Opaque[Product[Opaque[Literal['n@use.f']], Literal[2]]]]"),
            tensor("tuple[Opaque[Literal['sizes[\"n\"]@use.f']], Literal[3]]"),
            '(3, 2*n) but (sizes["n"], 3) is expected: axis 0 is 3, not sizes["n"]',
        ),
    ],
)
def test_each_difference_has_its_message(got: str, expected: str, message: str) -> None:
    assert (returned(got, expected), len(message) <= LONGEST) == (f"f: the result is {message}", True)


LONG, OTHER = (f"tuple[{', '.join([name] * 20)}]" for name in ("LongName", "OtherName"))


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (tensor("tuple[N]"), tensor("tuple[N]")),
        (tensor("tuple[N]"), "str"),
        (tensor("tuple[N]"), "Callable[[int], str]"),
        ("def (x: Tensor[Any]) -> int", tensor("tuple[N]")),
        ("list[Literal[1]]", "list[Literal[2]]"),
        ("Tensor[", tensor("tuple[N]")),
        ("Mode[Literal['a']]", "Mode[Literal['b']]"),
        (tensor(LONG), tensor(OTHER)),
    ],
)
def test_other_types_keep_mypys_message(got: str, expected: str) -> None:
    assert returned(got, expected) is None


@pytest.mark.parametrize("is_old", [False, True])
def test_errors_are_reworded_however_old_mypys_list_of_them_is(*, is_old: bool) -> None:
    errors = Errors(Options())
    errors.set_file("use.py", "use", Options())
    if is_old:  # to the collector, which moves what it has met to another generation
        gc.collect()
    reword = Rewording(lambda _: "in other words")

    reword.install()
    errors.report(1, 0, "wrong")

    assert [info.message for info in errors.error_info_map["use.py"]] == ["in other words"]


def test_a_wrong_option_of_an_op_is_reported_in_the_words_of_python(tmp_path: Path) -> None:
    program = """import tapegrad as tg
from tapegrad import topk as largest
from tapegrad.ops import roll

x = tg.ones((2, 3))
name = "a"

def pad(x: tg.Tensor, width: int) -> None: ...

roll(x, 1.5)
tg.topk(x, name)
tg.topk(
    x,
    "b",
)
x.sum(axis=x)
tg.topk(tg.topk(x, "c")[0], 1)
pad(x, "a")
largest(x, "a")
"""

    assert first_errors(tmp_path, program) == {
        10: "roll: shift is 1.5 but an int or a tuple of ints is expected  [arg-type]",
        11: "topk: k is a str but an int is expected  [arg-type]",
        14: "topk: k is 'b' but an int is expected  [arg-type]",
        16: "sum: axis is a Tensor but an int or a tuple of ints is expected  [arg-type]",
        17: "topk: k is a str but an int is expected  [arg-type]",
        18: 'Argument 2 to "pad" has incompatible type "str"; expected "int"  [arg-type]',
        19: 'Argument 2 to "topk" has incompatible type "str"; expected "int"  [arg-type]',
    }


def test_the_layers_that_the_guard_checks_are_listed() -> None:
    constructors = {name: vars(layer).get("__init__") for name, layer in inspect.getmembers(nn, inspect.isclass)}
    guarded = {name for name, one in constructors.items() if isinstance(one, FunctionType) and is_guarded(one)}

    assert guarded == GUARDED
