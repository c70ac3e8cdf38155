"""Other mypy plugins listed before or after tapegrad's: mypy reports what it reports without tapegrad's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.slow import slow

OTHERS: Final = ("returns.contrib.mypy.returns_plugin", "pydantic.mypy", "own_plugin.py")
SETTINGS: Final = "[mypy]\nstrict = True\nallow_redefinition = True\nplugins = "
# pydantic imports rich, which imports IPython, which imports matplotlib: half of all that mypy would read.
NOT_READ: Final = "\n[mypy-rich.*]\nfollow_imports = skip\n"

OWN_PLUGIN: Final = """from mypy.plugin import Plugin

class Words(Plugin):
    def get_function_hook(self, fullname):
        return self.word if fullname == "own.number" else None

    def get_function_signature_hook(self, fullname):
        return self.takes_words if fullname == "own.number" else None

    def get_method_hook(self, fullname):
        return self.word if fullname == "own.Numbers.first" else None

    def get_method_signature_hook(self, fullname):
        return self.takes_words if fullname == "own.Numbers.first" else None

    def get_attribute_hook(self, fullname):
        return self.attribute if fullname == "own.Numbers.last" else None

    def takes_words(self, ctx):
        words = [ctx.api.named_generic_type("builtins.str", [])] * len(ctx.default_signature.arg_types)
        return ctx.default_signature.copy_modified(arg_types=words)

    def word(self, ctx):
        return ctx.api.named_generic_type("builtins.str", [])

    def attribute(self, ctx):
        return ctx.api.named_generic_type("builtins.str", [])

def plugin(version):
    return Words
"""
OWN: Final = """class Numbers:
    last = 3

    def first(self, x: int) -> int:
        return x

def number(x: int) -> int:
    return x
"""
FOREIGN: Final = """import ctypes
from typing import Generic, TypeVar

import attrs
from own import Numbers, number
from pydantic import BaseModel
from returns.curry import partial
from returns.pipeline import flow

N = TypeVar("N", bound=int)
T = TypeVar("T")

class Model(BaseModel, Generic[T]):
    value: T

class Sized(BaseModel, Generic[N]):
    size: N

@attrs.define
class Point:
    x: int = 1

def added(x: int, y: str) -> str:
    return y

reveal_type(flow(3, str))
partial(added, "x")
reveal_type(partial(added, 1)("a"))
reveal_type(Model(value=3))
reveal_type(Model[int](value=3))
reveal_type(Sized(size=3))
Model(valu=3)
attrs.evolve(Point(), y=3)
attrs.evolve(Point(), x="a")
reveal_type((ctypes.c_int * 3)(1, 2, 3)[0])
reveal_type(len((1, 2)))
reveal_type(number("a"))
number(3)
reveal_type(Numbers().first("a"))
Numbers().first(3)
reveal_type(Numbers().last)
"""
TENSORS: Final = """from returns.pipeline import flow
import tapegrad as tg

x = tg.ones((2, 3))
x @ x
reveal_type(flow(x, tg.relu))
reveal_type(x.T)
"""


def mypy(folder: Path, plugins: tuple[str, ...], *files: str) -> dict[str, list[str]]:
    """Return what mypy says of each file."""
    (folder / "mypy.ini").write_text(SETTINGS + ", ".join(plugins) + NOT_READ, "utf-8")
    command = [sys.executable, "-m", "mypy", *(f"{name}.py" for name in files)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    return {name: [line for line in lines if line.startswith(f"{name}.py:")] for name in files}


# Each order is another setting to mypy, which then reads pydantic, NumPy and tapegrad again.
@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param(("tapegrad.mypy", *OTHERS), id="first"),
        pytest.param((*OTHERS, "tapegrad.mypy"), id="last", marks=slow),
    ],
)
def test_tapegrad_listed_first_or_last_changes_nothing_for_other_plugins(
    plugins: tuple[str, ...], tmp_path: Path
) -> None:
    programs = {"own_plugin": OWN_PLUGIN, "own": OWN, "foreign": FOREIGN, "tensors": TENSORS}
    for name, text in programs.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")

    without = mypy(tmp_path, OTHERS, "foreign")
    found = mypy(tmp_path, plugins, "foreign", "tensors")

    assert len(without["foreign"]) > 12
    assert found["foreign"] == without["foreign"]
    rejected, *_, transposed = found["tensors"]
    assert "tensors.py:5: error: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3)" in rejected
    assert "Tensor[tuple[Literal[3], Literal[2]]" in transposed
