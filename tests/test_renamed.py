"""Deprecated public names work for one release, and their warnings say the new name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad._moved import MOVED

X = tg.tensor([1.0, 2.0, 3.0])


def gradients() -> tg.Gradients:
    grads = tg.Gradients()
    grads.add(X, X.data * 2.0)
    return grads


def recorded(**options: Any) -> Any:
    """Return the gradient of an op that is recorded with some options of `record`."""
    x, tape = tg.split_tape(X.trace())
    out = tg.node(x.data * 2.0)
    taped = tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out) * 2.0), **options)
    return taped.sum().backward()[X]


RENAMED: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    r"tapegrad\.handle is called tapegrad\.node since 0\.2\.0, and its old name is removed in 0\.3\.0": (
        lambda: tg.handle(np.ones(3)),
        lambda: tg.node(np.ones(3)),
    ),
    r"Gradients\.take is called Gradients\.pop_output since 0\.2\.0, and its old name is removed in 0\.3\.0": (
        lambda: gradients().take(X),
        lambda: gradients().pop_output(X),
    ),
    r"record: reads is called saved since 0\.2\.0, and its old name is removed in 0\.3\.0": (
        lambda: recorded(reads=()),
        lambda: recorded(saved=()),
    ),
}


@pytest.mark.parametrize("warning", RENAMED)
def test_an_old_name_works_and_warns_with_the_new_one(warning: str) -> None:
    old, new = RENAMED[warning]

    with pytest.warns(DeprecationWarning, match=warning) as caught:
        result = old()

    assert [one.filename for one in caught] == [__file__]
    np.testing.assert_array_equal(np.asarray(result), np.asarray(new()))


def test_the_old_parameter_of_a_non_recording_tape_warns_too() -> None:
    out = tg.node(X.data * 2.0)

    with pytest.warns(
        DeprecationWarning, match=r"record: reads is called saved since 0\.2\.0, and its old name is removed in 0\.3\.0"
    ):
        assert X.tape.record(out, (X,), lambda _: None, reads=()) is out


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_module_path_is_the_moved_module(old: str, new: str) -> None:
    program = (
        "import sys, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        f"    import {old}\n"
        f"import {new}\n"
        f"assert sys.modules['{old}'] is sys.modules['{new}']\n"
        f"message = '{old} is called {new} since 0.2.0, and its old name is removed in 0.3.0'\n"
        "assert message in [str(one.message) for one in caught], caught\n"
        "assert {one.filename for one in caught} == {'<string>'}, caught\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stderr == ""


def test_a_module_that_was_public_is_found_as_an_attribute_too() -> None:
    with pytest.warns(
        DeprecationWarning,
        match=r"^tapegrad\.dims is called tapegrad\.sizes since 0\.2\.0, and its old name is removed in 0\.3\.0$",
    ) as caught:
        moved = getattr(tg, "dims")  # noqa: B009  # mypy knows the new name only

    assert moved is tg.sizes
    assert [one.filename for one in caught] == [__file__]


def test_the_old_name_of_a_setting_sets_it_and_warns() -> None:
    warning = (
        r"^tapegrad\.errors\.pictures is called tapegrad\.errors\.diagrams since 0\.2\.0, and its old name is removed"
    )
    before = tg.errors.diagrams

    with pytest.warns(DeprecationWarning, match=warning) as caught:
        read, current = set_by_old_name(to=not before)
    tg.errors.diagrams = before

    assert read is current is not before
    assert [one.filename for one in caught] == [__file__] * 2


def set_by_old_name(*, to: bool) -> tuple[bool, bool]:
    """Set a setting by its old name; return what its old and its new name then have."""
    module: Any = tg.errors  # mypy knows the new name only
    module.pictures = to
    return module.pictures, tg.errors.diagrams
