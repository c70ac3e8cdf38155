"""The public API of `import tapegrad`: its names, and when it imports their modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import FunctionType

import pytest

import tapegrad


def test_a_function_is_not_hidden_by_the_module_of_the_same_name() -> None:
    # Whichever module had been imported first once decided what `tapegrad.tensor` was.
    program = (
        "import tapegrad.scan, tapegrad.autograd.op, tapegrad, types, warnings\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "import tapegrad.tensor\n"
        "from tapegrad import tensor, op, scan\n"
        "assert all(isinstance(one, types.FunctionType) for one in (tensor, op, scan))\n"
        "assert tapegrad.tensor is tensor and tapegrad.op is op and tapegrad.scan is scan\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)

    assert isinstance(tapegrad.tensor, FunctionType)


def test_importing_tapegrad_imports_no_array_library() -> None:
    program = "import sys, tapegrad\nassert not {'numpy', 'beartype', 'jaxtyping', 'mypy'} & set(sys.modules)\n"

    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'tapegrad' has no attribute 'tensro'$"):
        tapegrad.tensro  # type: ignore[attr-defined]  # noqa: B018  # the misspelling is under test


def test_dir_lists_the_public_names() -> None:
    assert "matmul" in dir(tapegrad)
    assert dir(tapegrad) == sorted(dir(tapegrad))


HIDDEN = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    packages = {"IPython", "jax", "jaxlib", "matplotlib", "ml_dtypes", "mypy", "numba", "rich", "safetensors"}
    packages |= {"sklearn"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def without_extras(program: str) -> str:
    """Run a program where no extra seems to be installed, and return what it prints."""
    run = subprocess.run([sys.executable, "-c", HIDDEN + program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_dir_omits_names_of_missing_extras() -> None:
    # Each of these once ended in a ModuleNotFoundError.
    program = """
import inspect, pydoc
from unittest import mock
import tapegrad

absent, found = {"bfloat16", "jax", "jit", "sklearn"}, {}
exec("from tapegrad import *", found)
assert not absent & ({*dir(tapegrad)} | {*tapegrad.__all__} | {*found})
assert not any(hasattr(tapegrad, name) for name in absent)
assert found["matmul"] is tapegrad.matmul
assert "matmul" in dict(inspect.getmembers(tapegrad))
assert mock.create_autospec(tapegrad).matmul
assert "FUNCTIONS" in pydoc.plain(pydoc.render_doc(tapegrad))
"""
    assert not without_extras(program)


@pytest.mark.parametrize(
    ("name", "extra", "said"),
    [
        ("jit", "jax", "tapegrad.jit and tapegrad.jax need the package jax"),
        ("jax", "jax", "tapegrad.jit and tapegrad.jax need the package jax"),
        ("bfloat16", "half", "tapegrad.bfloat16 needs the package ml_dtypes"),
        ("sklearn", "sklearn", "tapegrad.sklearn needs the package scikit-learn"),
    ],
)
def test_a_name_of_a_missing_extra_raises_an_error_that_names_it(name: str, extra: str, said: str) -> None:
    program = f"""
try:
    import tapegrad
    tapegrad.{name}
except AttributeError as error:
    print(error)
try:
    from tapegrad import {name}
except ModuleNotFoundError as error:
    print(error)
try:
    import tapegrad.{name}
except ModuleNotFoundError as error:
    print(error)
"""
    message = f'{said}: pip install "tapegrad[{extra}]"\n'
    no_module = f"No module named 'tapegrad.{name}'\n"

    assert without_extras(program) == 2 * message + (message if name in ("jax", "sklearn") else no_module)


def test_an_import_error_inside_an_extra_is_unchanged() -> None:
    program = """
import sys, types
sys.modules["jax"] = types.ModuleType("jax")  # without its parts
Hidden.packages = {"rich"}
import tapegrad
try:
    tapegrad.jit
except ModuleNotFoundError as error:
    print(error)
"""
    assert without_extras(program) == "No module named 'jax.numpy'; 'jax' is not a package\n"


def test_dir_lists_the_names_of_installed_extras() -> None:
    assert {"bfloat16", "jax", "jit"} < {*dir(tapegrad)}
    assert tapegrad.__all__ == dir(tapegrad)  # type: ignore[attr-defined]  # the stub has names one by one


def test_the_version_is_that_of_the_installed_package() -> None:
    assert tapegrad.__version__ == version("tapegrad")


def test_the_version_of_an_uninstalled_source_tree(tmp_path: Path) -> None:
    # With another tapegrad installed elsewhere, whose version says nothing of this one.
    shutil.copytree(Path(tapegrad.__file__).parent, tmp_path / "tapegrad", ignore=shutil.ignore_patterns("*.pyc"))
    settings = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
    program = "import sys; sys.path.insert(0, sys.argv[1]); import tapegrad; print(tapegrad.__version__)"

    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == settings["tool"]["hatch"]["version"]["fallback-version"]


def test_importing_tapegrad_reads_no_metadata() -> None:
    program = (
        "import sys, tapegrad\nassert not {'importlib.metadata', 'importlib.util', 'pathlib'} & set(sys.modules)\n"
    )

    subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"], check=True)
