"""The cache of results: a second call of a layer with the same types is answered from it."""

import subprocess
import sys
from pathlib import Path

from tests.warm_mypy_cache import write_settings

PROGRAM = """from typing import Literal as L
from typing import TypeVar

import numpy as np
from tapegrad import NoneTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)


def f(x: Tensor[Shape[N, 3], NoneTape]) -> None:
    reveal_type(nn.Linear(3, 5)(x))


def g(x: Tensor[Shape[N, 3], NoneTape]) -> None:
    reveal_type(nn.Linear(3, 5)(x))


def h(layer: nn.Linear[L[3], L[5], L[True], np.float64], x: Tensor[Shape[N, 3], NoneTape, np.float64]) -> None:
    reveal_type(layer(x))
"""
KNOWN = """
import sys
from mypy import api
from tapegrad.mypy import cache

print(api.run(["--config-file", "mypy.ini", "program.py"])[0])
for function, (_, answers) in cache._answers.items():
    print(function.fullname, len(answers._known))
"""


def test_a_layer_whose_forward_is_decorated_is_answered_from_the_cache_for_each_dtype(tmp_path: Path) -> None:
    write_settings(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")

    run = subprocess.run([sys.executable, "-c", KNOWN], cwd=tmp_path, capture_output=True, text=True, check=False)

    types = [line.partition('type is "')[2] for line in run.stdout.splitlines() if "Revealed" in line]
    assert [t.startswith("tapegrad.tensors.Tensor[tuple[N, Literal[5]]") for t in types] == [True] * 3, run.stdout
    assert ["numpy.float64" in t for t in types] == [False, False, True]
    assert "tapegrad.nn.linear.Linear.forward 2" in run.stdout.splitlines()
