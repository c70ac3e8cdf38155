"""The plugin in mypy runs on a damaged or edited copy of tapegrad: mypy does not crash, and no result is stale."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mypy.version import __version__ as MYPY  # noqa: N812  # a constant

import tapegrad
from tapegrad.mypy import NEWEST
from tests.mypy.programs import RUN_DAEMON, python
from tests.slow import slow
from tests.warm_mypy_cache import copy_warm_cache, write_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(tapegrad.__file__).parent

SETTINGS = """[mypy]
strict = True
allow_redefinition = True
plugins = tapegrad.mypy
mypy_path = copy
"""

PROGRAM = """import tapegrad as tg
from tapegrad import nn

x = tg.ones((2, 3))
x @ tg.ones((4, 5))
reveal_type(x.T.trace())
model = nn.Sequential(nn.Linear(3, 5), nn.Linear(4, 7))
1 / tg.tensor([1, 2])
length: str = len(x)
"""

FLOAT32 = "numpy.floating[numpy._typing._nbit_base._32Bit]"
MATMUL = "program.py:5: error: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 5) has 4 rows"
TRANSPOSED = f"tapegrad.tensors.Tensor[tuple[Literal[3], Literal[2]], tapegrad.autograd.tape.OwnedTape, {FLOAT32}]"
LAYER = "Sequential[1] Linear(4, 7): x is (..., 5) but (..., 4) is expected: axis -1 is 5, not 4"
LENGTH = 'program.py:9: error: Incompatible types in assignment (expression has type "int", variable has type "str")'
OUTPUT = [
    f"{MATMUL}  [tapegrad-shape]",
    f'program.py:6: note: Revealed type is "{TRANSPOSED}"',
    f"program.py:7: error: {LAYER}  [tapegrad-shape]",
    "program.py:8: error: div: y is int64 but floating is expected  [tapegrad-dtype]",
    f"{LENGTH}  [assignment]",
]


class Project:
    """A folder with a program, the settings, and a copy of tapegrad to break."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rules = folder / "copy" / "tapegrad" / "ops" / "matmul.py"
        # With the bytecode of 140 modules, but without the file that another process may be writing.
        shutil.copytree(PACKAGE, folder / "copy" / "tapegrad", ignore=shutil.ignore_patterns("*.pyc.*"))
        (folder / "mypy.ini").write_text(SETTINGS, "utf-8")
        (folder / "program.py").write_text(PROGRAM, "utf-8")

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return python(self.folder, *arguments, environment={"PYTHONPATH": "copy"})

    def mypy(self, *options: str, file: str = "program.py") -> subprocess.CompletedProcess[str]:
        return self.python("-m", "mypy", *options, file)

    def edit(self, file: Path, old: str, new: str) -> None:
        text = file.read_text("utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    copy_warm_cache(tmp_path, python_path="copy")
    return project


@pytest.fixture
def daemon(project: Project) -> Iterator[list[str]]:
    command = ["-m", "mypy.dmypy", "--status-file", str(project.folder / "dmypy.json")]
    yield command
    project.python(*command, "kill")


def assert_same(runs: dict[str, subprocess.CompletedProcess[str]]) -> None:
    """Assert that each run reports what the program is written for."""
    said = {name: [line for line in run.stdout.splitlines() if "program.py:" in line] for name, run in runs.items()}
    assert said == dict.fromkeys(runs, OUTPUT)
    assert {name: run.returncode for name, run in runs.items()} == dict.fromkeys(runs, 1)


def test_all_ways_to_run_mypy_report_the_same(project: Project, daemon: list[str]) -> None:
    copy_warm_cache(project.folder, name="workers", python_path="copy")
    assert_same(
        {
            "warm": project.mypy(),
            "workers": project.mypy("-n", "2", "--cache-dir=workers"),
            "the older parser, cold": project.mypy("--no-native-parser", "--cache-dir=older"),
            "daemon": project.python(*daemon, *RUN_DAEMON, "program.py"),
            "daemon, again": project.python(*daemon, *RUN_DAEMON, "program.py"),
        }
    )


@slow  # the older parser, and the edits of a rule in test_own_rules.py, check without a cache
def test_mypy_without_a_cache_reports_the_same_with_and_without_workers(project: Project) -> None:
    assert_same(
        {
            "cold": project.mypy("--cache-dir=cold"),
            "workers": project.mypy("-n", "2", "--cache-dir=workers"),
        }
    )


def test_an_edited_message_changes_in_mypy_and_python(project: Project) -> None:
    before = project.mypy()
    project.edit(project.rules, "inner sizes differ:", "rows and columns differ:")

    after = project.mypy("-v")
    raised = project.python("-c", "import tapegrad as tg; tg.ones((2, 3)) @ tg.ones((4, 5))")

    message = "matmul: rows and columns differ: x (2, 3) has 3 columns but y (4, 5) has 4 rows"
    assert MATMUL in before.stdout
    assert MATMUL not in after.stdout
    assert f"program.py:5: error: {message}  [tapegrad-shape]\n" in after.stdout
    assert f"tapegrad.errors.ShapeError: {message}" in raised.stderr.splitlines()  # above the picture of the shapes
    assert "Metadata abandoned for tapegrad.ops.matmul" in after.stderr
    assert "Metadata abandoned for numpy" not in after.stderr  # no edit of a rule changes a stub
    assert "Metadata abandoned for builtins" not in after.stderr


def test_the_daemon_restarts_for_an_edited_message(project: Project, daemon: list[str]) -> None:
    before = project.python(*daemon, *RUN_DAEMON, "program.py")
    project.edit(project.rules, "inner sizes differ:", "rows and columns differ:")

    after = project.python(*daemon, *RUN_DAEMON, "program.py")

    assert MATMUL in before.stdout
    assert "program.py:5: error: matmul: rows and columns differ: x (2, 3)" in after.stdout


@pytest.mark.parametrize(
    ("poison", "message"),
    [
        ('raise OSError("the disk is on fire")', "OSError: the disk is on fire"),
        ("return matmul_shape(x, y)", "RecursionError: maximum recursion depth exceeded"),
    ],
    ids=["throws", "never ends"],
)
def test_a_rule_that_raises_is_one_error_at_its_line(project: Project, poison: str, message: str) -> None:
    project.edit(project.rules, "    *rows, k = at_least(1, x=x)\n", f"    {poison}\n    *rows, k = at_least(1, x=x)\n")

    run = project.mypy()

    failed = [line for line in run.stdout.splitlines() if line.endswith("[tapegrad-internal]")]
    assert run.returncode == 1
    assert len(failed) == 1
    assert f"program.py:5: error: tapegrad failed here: {message}" in run.stdout
    assert all(line in run.stdout for line in OUTPUT[1:2] + OUTPUT[3:])


def test_an_op_file_that_cannot_be_imported_is_an_error_where_its_ops_are_called(project: Project) -> None:
    with project.rules.open("a", encoding="utf-8") as file:
        file.write("\n1 / 0\n")

    run = project.mypy()

    assert run.returncode == 1
    said = "program.py:5: error: tapegrad failed here: ZeroDivisionError: division by zero  [tapegrad-internal]"
    assert [line for line in run.stdout.splitlines() if line.startswith("program.py:")] == [said, *OUTPUT[1:]]


@pytest.mark.parametrize("operand", ["x", "width", 'settings["width"]'])
def test_a_chain_of_3000_additions_is_no_internal_error(project: Project, operand: str) -> None:
    lines = [
        "import tapegrad as tg",
        'settings = {"width": 2}',
        "x, width = tg.ones((2, 3)), 2",
        f"y = {' + '.join([operand] * 3000)}",
        "(x * y) @ tg.ones((4, 5))",
    ]
    (project.folder / "program.py").write_text("\n".join(lines) + "\n", "utf-8")

    run = project.mypy()

    assert MATMUL in run.stdout
    assert "Found 1 error in 1 file" in run.stdout


# Expressions inside each other: a reader that reads each of their parts twice takes 2 to the power of 40 steps.
NESTED = {
    "calls with an array": f"y = {'same(' * 40}rows{')' * 40}",
    "calls in a body": f"def several(x: np.ndarray) -> np.ndarray: return {'same(' * 40}x{')' * 40}\ny = several(rows)",
}


@pytest.mark.parametrize("name", NESTED)
def test_expressions_inside_each_other_are_read_once(project: Project, name: str) -> None:
    lines = [
        "import numpy as np",
        "import tapegrad as tg",
        "def same(x: np.ndarray) -> np.ndarray:",
        "    return x * 2",
        "rows = np.ones((2, 3))",
        NESTED[name],
        "tg.tensor(y, dtype=np.float32) @ tg.ones((4, 5))",
    ]
    (project.folder / "program.py").write_text("\n".join(lines) + "\n", "utf-8")

    run = project.mypy()

    assert "matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 5) has 4 rows" in run.stdout


# Objects that are too deep to be known. Each program has another error, which mypy reports if it ends.
CHAINS = {
    "methods": f"end = node{'.same()' * 40}",
    "methods in a body": f"def width(node: Node) -> int: return node{'.same()' * 40}.width\nwidth(node)",
    "transposed arrays": f"end = np.ones((2, 3)){'.T' * 40}",
    "transposed arrays in a body": f"def several(x: np.ndarray): return x{'.T' * 40}\nend = several(np.ones((2, 3)))",
}


@pytest.mark.parametrize("name", CHAINS)
def test_long_chains_are_read_in_time_of_their_length(project: Project, name: str) -> None:
    lines = [
        "import numpy as np",
        "import tapegrad as tg",
        "class Node:",
        "    def __init__(self, width: int) -> None:",
        "        self.width = width",
        '    def same(self) -> "Node":',
        "        return self",
        "node = Node(3)",
        "x = tg.ones((2, 3))",
        CHAINS[name],
        "x @ tg.ones((4, 5))",
    ]
    (project.folder / "program.py").write_text("\n".join(lines) + "\n", "utf-8")

    run = project.mypy()

    assert "matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 5) has 4 rows" in run.stdout


def test_no_rule_imports_numpy(tmp_path: Path) -> None:
    checked = (
        "import sys; from mypy import api;"
        "said = api.run(sys.argv[1:]);"
        "print(said[0].splitlines()[-1], 'numpy' in sys.modules)"
    )
    write_settings(tmp_path)
    shutil.copytree(ROOT / "typecheck", tmp_path / "typecheck")
    programs = ["typecheck/ops", "typecheck/conv_layers.py", "typecheck/layers.py"]

    run = subprocess.run(
        [sys.executable, "-c", checked, "--explicit-package-bases", *programs],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert re.fullmatch(r"Found \d+ errors in \d+ files \(checked \d+ source files\) False\n", run.stdout), run.stdout


def test_rules_may_import_numpy(project: Project) -> None:
    first_lines = {  # of three rules, in three files, each of which is loaded by itself
        "matmul": ("matmul.py", "    *rows, k = at_least(1, x=x)\n"),
        "transpose": ("move.py", "    if axes is None:\n        return tuple(x[::-1])\n"),
        "filled": ("create.py", '    dims: Dims = several_ints(shape, "shape")\n'),
    }
    for rule, beside, inside in (
        ("matmul", "import numpy as np", "assert np.add(1, 1) == 2 and isinstance(np.zeros(()), np.ndarray)"),
        ("transpose", "import numpy as np\n\nLEAST = float(np.finfo(np.float32).tiny)", "assert 0 < LEAST < 1"),
        ("filled", "from numpy.linalg import norm", "assert norm([3, 4]) == 5"),
    ):
        name, first = first_lines[rule]
        file = project.rules.with_name(name)
        project.edit(file, f"\n\ndef {rule}_shape", f"\n{beside}\n\n\ndef {rule}_shape")
        project.edit(file, first, f"    {inside}\n{first}")

    run = project.mypy()

    assert [line for line in run.stdout.splitlines() if line.startswith("program.py:")] == OUTPUT


def test_numpy_names_in_a_rule_loaded_without_numpy_are_rejected(project: Project) -> None:
    uses = ["k == NARROW", "NARROW in {k}", "NARROW", "NARROW(1)", "isinstance(k, NARROW)"]
    chosen = "".join(f"    if k == {k} and ({use}):\n        k = 0\n" for k, use in enumerate(uses, 11))
    project.edit(
        project.rules, "\n\ndef matmul_shape", "\nimport numpy as np\n\nNARROW = np.float32\n\n\ndef matmul_shape"
    )
    project.edit(project.rules, "    if surely_differ(k, k_y):\n", f"{chosen}    if surely_differ(k, k_y):\n")
    calls = [f"tg.ones((2, {k})) @ tg.ones(({k}, 2))" for k in range(11, 11 + len(uses))]
    (project.folder / "uses.py").write_text("\n".join(["import tapegrad as tg", *calls, ""]), "utf-8")

    run = project.mypy("uses.py")

    message = "TypeError: numpy.float32 is only a name: an op file was loaded without NumPy"
    expected = [
        f"uses.py:{line}: error: tapegrad failed here: {message}  [tapegrad-internal]"
        for line in range(2, 2 + len(uses))
    ]
    assert [line for line in run.stdout.splitlines() if line.startswith("uses.py:")] == expected
    assert all(line in run.stdout for line in OUTPUT)


def test_an_op_file_with_a_syntax_error_affects_only_its_importers(project: Project) -> None:
    with project.rules.open("a", encoding="utf-8") as file:
        file.write("\ndef broken(:\n")
    (project.folder / "plain.py").write_text("length: str = 1\n", "utf-8")

    run, plain = project.mypy(), project.mypy(file="plain.py")

    assert Path("copy", "tapegrad", "ops", "matmul.py").as_posix() in run.stdout.splitlines()[0]
    assert run.stdout.splitlines()[0].endswith("[syntax]")
    assert "INTERNAL ERROR" not in run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr
    assert plain.stdout.startswith("plain.py:1: error: Incompatible types in assignment")


def test_a_plugin_file_with_a_syntax_error_does_not_stop_mypy(project: Project) -> None:
    with (project.folder / "copy" / "tapegrad" / "mypy" / "hooks.py").open("a", encoding="utf-8") as file:
        file.write("\ndef broken(:\n")

    run = project.mypy()

    assert run.returncode == 1
    assert "program.py:4: error: tapegrad failed here: SyntaxError: invalid syntax (hooks.py, line" in run.stdout
    assert LENGTH in run.stdout


def test_a_module_of_the_plugin_that_cannot_be_imported_is_imported_once_and_reported_once(project: Project) -> None:
    module, counted = project.folder / "copy" / "tapegrad" / "mypy" / "conversion.py", project.folder / "imports.txt"
    lines = f"with open({str(counted)!r}, 'a') as counted:\n    counted.write('.')\nfrom mypy.types import Missing\n"
    module.write_text(module.read_text("utf-8").replace("\nTENSOR = ", f"\n{lines}\nTENSOR = "), "utf-8")

    run = project.mypy()
    imports = counted.read_text("utf-8")
    again = project.mypy()
    module.write_text(module.read_text("utf-8").replace(lines, ""), "utf-8")
    repaired = project.mypy()

    failed = [line for line in run.stdout.splitlines() if line.endswith("[tapegrad-internal]")]
    assert imports == "."
    assert len(failed) == 1
    assert failed[0].startswith("program.py:4: error: tapegrad failed here: ImportError: cannot import name 'Missing'")
    assert failed[0].endswith("; it checks no tensor in this run  [tapegrad-internal]")
    assert LENGTH in run.stdout
    assert again.stdout == run.stdout
    assert [line for line in repaired.stdout.splitlines() if line.startswith("program.py:")] == OUTPUT


def test_a_failure_under_a_newer_mypy_is_one_note(project: Project) -> None:
    package = project.folder / "copy" / "tapegrad" / "mypy"
    plugin, hooks = package / "__init__.py", package / "hooks.py"
    plugin.write_text(plugin.read_text("utf-8").replace(f'NEWEST = "{NEWEST}"', 'NEWEST = "1.9"'), "utf-8")
    newer = f"mypy {MYPY} is newer than 1.9, the newest that this tapegrad knows, and it failed here: "

    text, head = hooks.read_text("utf-8"), "def function_result(ctx: FunctionContext) -> Type:\n"
    hooks.write_text(text.replace("from mypy.nodes import ", "from mypy.nodes import Missing, "), "utf-8")
    unloaded = project.mypy().stdout
    hooks.write_text(text.replace(head, f"{head}    raise KeyError('node')\n"), "utf-8")
    failing = project.mypy().stdout

    for said, kind, ending in (
        (unloaded, "ImportError", "; it checks no tensor in this run"),
        (failing, "KeyError", ""),
    ):
        reports = [line for line in said.splitlines() if "is newer than" in line]
        assert len(reports) == 1, said
        assert reports[0].startswith(f"program.py:4: note: {newer}{kind}: ")
        assert reports[0].endswith(ending)
        assert "tapegrad-internal" not in said


def test_the_newest_version_of_mypy_is_the_one_that_is_locked() -> None:
    locked = re.search(r"^mypy==(\d+\.\d+)", (ROOT / "requirements" / "dev.txt").read_text("utf-8"), re.MULTILINE)

    assert locked is not None
    assert locked[1] == NEWEST


def test_loading_the_plugin_loads_no_ops_and_no_numpy(project: Project) -> None:
    run = project.python(
        "-c",
        "import sys, tapegrad.mypy as entry; entry.plugin('2.4'), entry.__version__;"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('numpy', 'tapegrad')))",
    )

    assert run.stdout == "['tapegrad', 'tapegrad._moved', 'tapegrad.mypy']\n"


KINDS = """import numpy as np


class Kind(np.float32):
    pass
"""

USES = """import tapegrad as tg
from kinds import Kind
from sizes import rows
from tapegrad import NoneTape, Shape, Tensor

def used(x: Tensor[Shape[3], NoneTape, Kind]) -> None:
    tg.exp(x)

def summed(y: Tensor[Shape[3, 4], NoneTape]) -> None:
    reveal_type((rows @ y).sum(axis=1))
"""


def test_the_daemon_caches_nothing_that_an_edit_has_changed(project: Project, daemon: list[str]) -> None:
    (project.folder / "kinds.py").write_text(KINDS, "utf-8")
    sizes = project.folder / "sizes.py"
    sizes.write_text("import tapegrad as tg\n\nrows = tg.ones((2, 3))\n", "utf-8")
    (project.folder / "uses.py").write_text(USES, "utf-8")
    check = (*daemon, *RUN_DAEMON, "uses.py", "kinds.py", "sizes.py")

    before = project.python(*check)
    project.edit(project.folder / "kinds.py", "np.float32", "np.int32")
    project.edit(sizes, "(2, 3)", "(5, 3)")
    after = project.python(*check)
    project.edit(sizes, "(5, 3)", "(5, 12)")  # of another length, which the daemon goes by
    rejected = project.python(*check)

    said = 'Revealed type is "tapegrad.tensors.Tensor[tuple[Literal[{}]], tapegrad.autograd.tape.NoneTape, {}]"'
    assert "uses.py:7:" not in before.stdout
    assert f"uses.py:10: note: {said.format(2, FLOAT32)}" in before.stdout
    assert "uses.py:7: error: exp: x is Kind but" in after.stdout
    assert f"uses.py:10: note: {said.format(5, FLOAT32)}" in after.stdout
    assert "uses.py:10: error: matmul: inner sizes differ: x (5, 12) has 12 columns" in rejected.stdout


READER = """from typing import Generic, TypeVar

from tapegrad import nn

N = TypeVar("N", bound=int)


class Reader(nn.Module, Generic[N]):
    def __init__(self, classes: N = 10) -> None:
        self.fall = nn.Linear(6, classes)
"""


@pytest.mark.parametrize("with_daemon", [False, True], ids=["cache", "daemon"])
def test_an_edited_default_of_a_size_is_not_stale(project: Project, daemon: list[str], *, with_daemon: bool) -> None:
    reader, uses = project.folder / "reader.py", project.folder / "uses.py"
    reader.write_text(READER, "utf-8")
    uses.write_text("from reader import Reader\n\nreveal_type(Reader())\n", "utf-8")
    check = (*daemon, *RUN_DAEMON, "uses.py") if with_daemon else ("-m", "mypy", "uses.py")

    first = project.python(*check)
    project.edit(uses, "\n\n", "\n\n\n")  # so that the class is read from the cache
    cached = project.python(*check)
    project.edit(reader, "N = 10", "N = 7")
    edited = project.python(*check)

    said = 'uses.py:{}: note: Revealed type is "reader.Reader[Literal[{}]]"'
    assert said.format(3, 10) in first.stdout
    assert said.format(4, 10) in cached.stdout
    assert said.format(4, 7) in edited.stdout
