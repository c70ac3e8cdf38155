"""The face of the house: what `import tapegrad` shows, and when it loads it."""

from __future__ import annotations

import subprocess
import sys
from types import FunctionType

import pytest

import tapegrad


def test_a_function_is_not_hidden_by_the_room_of_the_same_name() -> None:
    # Whichever room had been imported first once decided what `tapegrad.tensor` was.
    program = (
        "import tapegrad.tensor, tapegrad.op, tapegrad, types\n"
        "from tapegrad import tensor, op\n"
        "assert isinstance(tensor, types.FunctionType) and isinstance(op, types.FunctionType)\n"
        "assert tapegrad.tensor is tensor and tapegrad.op is op\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)

    assert isinstance(tapegrad.tensor, FunctionType)


def test_importing_the_face_imports_no_array_library() -> None:
    program = "import sys, tapegrad\nassert not {'numpy', 'beartype', 'jaxtyping', 'mypy'} & set(sys.modules)\n"

    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'tapegrad' has no attribute 'tensro'$"):
        tapegrad.tensro  # type: ignore[attr-defined]  # noqa: B018  # the misspelling is under test


def test_the_face_lists_what_it_has() -> None:
    assert "matmul" in dir(tapegrad)
    assert dir(tapegrad) == sorted(dir(tapegrad))
