"""Every public name has examples in its docstring, and they print what they show."""

from __future__ import annotations

import doctest
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.autograd.registry import IMPLEMENTATIONS, OPS


def public() -> dict[str, Any]:
    """Return the functions and classes that a user may import, by their path."""
    packages = [value for name in dir(tg) if isinstance(value := getattr(tg, name), ModuleType)]
    found: dict[int, tuple[str, Any]] = {}
    for package in (tg, *packages):
        for name in dir(package):
            value = getattr(package, name)
            if name.startswith("_") or not (inspect.isfunction(value) or inspect.isclass(value)):
                continue
            is_exported = hasattr(package, "__path__") or value.__module__ == package.__name__
            if is_exported and value.__module__.startswith("tapegrad") and not is_error(value):
                found.setdefault(id(value), (f"{package.__name__}.{name}", value))
    return dict(sorted(found.values()))


def is_error(value: Any) -> bool:
    """Return whether a value is the class of an error: its message is the example."""
    return inspect.isclass(value) and issubclass(value, BaseException)


def examples_of(value: Any) -> list[doctest.Example]:
    """Return the examples in the docstring of a function or class."""
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


PUBLIC = public()


def test_every_public_name_has_examples() -> None:
    assert [name for name, value in PUBLIC.items() if not examples_of(value)] == []


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if examples_of(value)])
def test_examples_print_what_they_show(name: str) -> None:
    said: list[str] = []
    text = inspect.getdoc(PUBLIC[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "example", "np": np, "tg": tg}, name, None, 0)
    known = set(OPS)

    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)

    for made in OPS.keys() - known:  # other tests ask every op that there is
        del OPS[made], IMPLEMENTATIONS[made]
    assert "".join(said) == ""
