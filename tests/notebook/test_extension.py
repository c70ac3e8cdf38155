"""The IPython extension in a real shell: rejected cells, executed cells, and state between cells."""

from __future__ import annotations

import atexit
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import tapegrad
from tapegrad.notebook.checker import SETTINGS
from tapegrad.notebook.extension import Extension
from tests.warm_mypy_cache import copy_warm_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

REJECTED = "matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows  [tapegrad-shape]"


class Notebook:
    """A shell with the extension, and what the last cell wrote."""

    def __init__(self, shell: InteractiveShell, capture: pytest.CaptureFixture[str]) -> None:
        self.shell = shell
        self.capture = capture

    def __call__(self, cell: str) -> str:
        self.capture.readouterr()
        self.shell.run_cell(cell, store_history=True)
        output = self.capture.readouterr()
        return output.out + output.err

    @property
    def extension(self) -> Extension:
        return Extension.loaded[self.shell]

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebook")
    copy_warm_cache(folder, name=".mypy_cache/notebook", settings=SETTINGS.read_text("utf-8"))
    return folder


@pytest.fixture
def notebook(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Notebook]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("IPYTHONDIR", str(folder))
    shell = InteractiveShell(colors="nocolor")
    shell.run_cell("%load_ext tapegrad.notebook")
    shell.run_cell("import tapegrad as tg\nfrom tapegrad import nn")
    yield Notebook(shell, capsys)
    shell.run_cell("%unload_ext tapegrad.notebook")
    assert not Extension.loaded
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()


def test_a_cell_that_mypy_rejects_does_not_run(notebook: Notebook) -> None:
    notebook("x = tg.zeros((2, 3))")

    output = notebook("ran = True\ny = x @ x")

    assert output.strip().splitlines()[-4:] == ["In [2], line 2", "    y = x @ x", "        ^^^^^", REJECTED]
    assert "ran" not in notebook.shell.user_ns


def test_a_rejected_cell_leaves_nothing_behind(notebook: Notebook) -> None:
    notebook("x = tg.zeros((2, 3))")
    notebook("x = tg.zeros((5, 7)); x @ x")

    assert notebook("y = x @ tg.ones((3, 4)); print(y.shape)") == "(2, 4)\n"


def test_a_tape_is_consumed_across_cells(notebook: Notebook) -> None:
    notebook("loss = (tg.ones((2, 3)).trace() * 2.0).sum()")
    notebook("grads = loss.backward()")

    output = notebook("grads = loss.backward()")
    assert (
        "loss.backward(): loss was consumed by loss.backward() in an earlier cell; trace again  [tapegrad-tape]"
        in output
    )

    output = notebook("loss = tg.ones(()).trace()\nloss.backward()\nloss.backward()")
    assert "loss.backward(): loss was consumed by loss.backward() on line 2; trace again  [tapegrad-tape]" in output


def test_a_name_may_be_defined_again(notebook: Notebook) -> None:
    notebook("def f(x: int) -> int:\n    return x")
    notebook("def g() -> int:\n    return f(1)")

    assert notebook("def f(x: str) -> str:\n    return x + '!'\nprint(f('a'), g.__name__)") == "a! g\n"
    assert notebook("class f:\n    x: int = 3\nprint(f.x)") == "3\n"
    assert 'has incompatible type "int"; expected "str"' not in notebook("print(f().x)")


def test_bindings_before_a_failure_survive(notebook: Notebook) -> None:
    notebook("before = tg.zeros((2, 3))\nraise ValueError('planned')\nafter = 1")

    assert notebook("print(before.shape)") == "(2, 3)\n"
    assert 'Name "after" is not defined' in notebook("print(after)")


def test_a_name_that_no_cell_bound_is_any(notebook: Notebook) -> None:
    notebook.shell.user_ns["given"] = 5

    assert notebook("print(given + 1)") == "6\n"


def test_imports_before_the_extension_was_loaded_are_known(notebook: Notebook) -> None:
    notebook("%unload_ext tapegrad.notebook")
    notebook("import tapegrad as early\nfrom tapegrad.nn import Linear as Layer\nx = early.ones((2, 3))")
    output = notebook("%load_ext tapegrad.notebook\nimport tapegrad as beside")

    assert output == "tapegrad: cells are checked from the next one on\n"
    assert "[tapegrad-shape]" in notebook("early.ones((2, 3)) @ early.ones((2, 3))")
    assert "[tapegrad-shape]" in notebook("beside.ones((2, 3)) @ beside.ones((2, 3))")
    assert "[tapegrad-shape]" in notebook("Layer(4, 5)(early.ones((2, 3)))")
    assert notebook("print((x @ early.ones((3, 2))).shape)") == "(2, 2)\n"


def test_names_that_ipython_binds_are_known(notebook: Notebook) -> None:
    notebook("6 * 7")

    assert notebook("print(_ + 1)") == "43\n"
    assert notebook("print(Out[1], In[1])") == "42 6 * 7\n"
    assert notebook("display(1)") == "1\n"
    assert notebook("from IPython.display import display\ndisplay(2)") == "2\n"
    assert notebook("print(get_ipython().execution_count)") == "7\n"


def test_the_body_of_a_timed_cell_is_checked(notebook: Notebook) -> None:
    notebook("x = tg.zeros((2, 3))")

    output = notebook("%%time\nz = 1\ny = x @ x")

    assert "In [2], line 3\n    y = x @ x\n" in output
    assert REJECTED in output
    assert "z" not in notebook.shell.user_ns


def test_a_captured_cell_is_checked(notebook: Notebook) -> None:
    notebook("x = tg.zeros((2, 3))")
    notebook("%%capture output\ny = x @ x\nz = 1")

    assert "z" not in notebook.shell.user_ns


def test_other_magics_run_unchanged(notebook: Notebook) -> None:
    assert notebook("%%bash\necho $((1 + 1))") == "2\n"
    notebook("files = !echo a")
    assert notebook("print(files[0])") == "a\n"
    notebook("?tg.zeros")
    assert notebook("print(1)") == "1\n"


def test_the_mode_can_be_set(notebook: Notebook) -> None:
    notebook("x: object = 1\nrun = len('run')")
    assert notebook("%typecheck") == "strict\n"

    notebook("%typecheck warn")
    output = notebook("print('ran' if run else x.there)")
    assert 'has no attribute "there"' in output
    assert "ran\n" in output

    notebook("%typecheck off")
    assert notebook("print('ran' if run else x.there)") == "ran\n"
    assert "off, warn, strict or all is expected, not loud" in notebook("%typecheck loud")


def test_an_error_that_is_not_about_tensors_rejects_a_cell_by_option_only(notebook: Notebook) -> None:
    wrong = "steps: int = 'three'\nprint(steps)"

    shown = notebook(wrong)

    assert shown.startswith("three\nIn [1], line 1\n    steps: int = 'three'\n")
    assert "Incompatible types in assignment" in shown
    assert "has no attribute" in notebook("ran = True\ntg.ones((2, 3)).there")
    assert "ran" not in notebook.shell.user_ns
    notebook("%typecheck all")
    output = notebook(wrong)
    assert "Incompatible types in assignment" in output
    assert "three\n" not in output


def test_the_shapes_magic_lists_static_and_run_time_shapes(notebook: Notebook) -> None:
    notebook("x = tg.zeros((2, 3)).trace()\nn = 4\ny = eval('tg.zeros((n, 5))')")

    output = notebook("%shapes")

    assert [re.split(r"  +", line) for line in output.strip().splitlines()[1:]] == [
        ["name", "mypy", "Python"],
        ["x", "(2, 3) float32, owned tape", "(2, 3) float32, owned tape"],
        ["y", "unknown", "(4, 5) float32, no tape"],
    ]
    assert '<td align="left">(4, 5) float32, no tape</td>' in notebook["_"]._repr_html_()


def test_tensors_and_tapes_are_displayed_while_the_extension_is_loaded(notebook: Notebook) -> None:
    notebook("x = tg.ones((2, 3))")
    shell: Any = notebook.shell
    formatted = shell.display_formatter.format

    assert formatted(notebook["x"])[0]["text/html"].startswith("<div><b>Tensor</b> (2, 3) float32")
    notebook("%unload_ext tapegrad.notebook")
    assert "text/html" not in formatted(notebook["x"])[0]


def test_gradients_are_shown_by_path_while_the_extension_is_loaded(notebook: Notebook) -> None:
    notebook("layer = nn.Linear(3, 2)\ngrads = layer(tg.ones((4, 3)).trace()).sum().backward(wrt=layer)")
    shell: Any = notebook.shell
    formatted = shell.display_formatter.format

    shown = formatted(notebook["grads"])[0]
    assert '<td align="left">layer.weight</td>' in shown["text/html"]
    assert shown["text/plain"].splitlines()[1:3] == [
        "path          shape   norm",
        "layer.weight  (3, 2)  9.798",  # of six 4s
    ]
    notebook("%unload_ext tapegrad.notebook")
    assert formatted(notebook["grads"])[0] == {"text/plain": repr(notebook["grads"])}


def test_a_new_import_is_checked_from_the_next_line_on(notebook: Notebook) -> None:
    assert notebook("import decimal\nd = decimal.Decimal(1)\nprint(d)") == "1\n"
    assert '"Decimal" has no attribute "nothing"' in notebook("d.nothing")


def test_a_module_in_the_folder_of_the_notebook_is_read(notebook: Notebook, folder: Path) -> None:
    (folder / "beside.py").write_text("def half(x: int) -> int:\n    return x // 2\n", "utf-8")
    notebook("import sys; sys.path.insert(0, '')")

    assert notebook("from beside import half\nprint(half(4))") == "2\n"
    assert 'Argument 1 to "half" has incompatible type "str"; expected "int"' in notebook("half('a')")


def test_top_level_await_is_supported(notebook: Notebook) -> None:
    notebook("import asyncio")

    assert notebook("print(await asyncio.sleep(0, 'slept'))") == "slept\n"


def test_a_syntax_error_is_reported_by_python(notebook: Notebook) -> None:
    assert "SyntaxError" in notebook("x = = 1")
    assert notebook("print(1)") == "1\n"


def test_each_cell_that_runs_unchecked_gives_a_warning(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    process = notebook.extension.checker._process
    monkeypatch.setattr(process, "_flags", ["--config-file", "nowhere.ini"])
    monkeypatch.setattr(process, "_version", "edited")

    for number in (1, 2):
        output = notebook(f"print({number})")

        assert output.startswith(f"{number}\ntapegrad: this cell runs unchecked: ")
        assert "Cannot find config file 'nowhere.ini'" in output
    assert tapegrad.__name__ in notebook.shell.user_ns["tg"].__name__


def test_unreadable_output_of_mypy_rejects_the_cell(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapegrad.checker.process.OPTIONS", ("--no-error-summary",))
    monkeypatch.setattr("tapegrad.checker.process._PLACES", ("--hide-column-numbers", "--hide-error-end"))
    monkeypatch.setattr(notebook.extension.checker._process, "_version", "edited")

    output = notebook("ran = True")

    assert "mypy wrote a line that is not a report: " in output
    assert "ran" not in notebook.shell.user_ns
    notebook("%typecheck warn")
    notebook("ran = True")
    assert notebook["ran"]


def test_a_cell_that_mypy_skips_gives_a_warning(notebook: Notebook) -> None:
    notebook("%typecheck off")
    notebook("from typing import NoReturn\ndef stop() -> NoReturn: ...  # it returns all the same")
    notebook("%typecheck strict")
    notebook("stop()")

    output = notebook("y: str = 1")

    assert "tapegrad: this cell runs unchecked: mypy skipped it, because to mypy a cell above never ends" in output
