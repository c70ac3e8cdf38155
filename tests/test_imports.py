"""Imports inside the package: no modules import each other in a circle."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import grimp
import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ALLOWED = {
    # A plain tensor becomes a frozen or a weak one, which are its subclasses.
    ("tapegrad.tensors", "tapegrad.tensors.nodes"),
    # `//` and `str` of a size are functions of modules that compute with its terms.
    ("tapegrad.sizes.terms", "tapegrad.sizes.division"),
    ("tapegrad.sizes.terms", "tapegrad.sizes.text"),
}


def imports() -> dict[str, set[str]]:
    """Return what each module imports when it runs, inside functions too; annotations alone import nothing."""
    graph = grimp.build_graph("tapegrad", exclude_type_checking_imports=True, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circle(imported: Mapping[str, set[str]]) -> list[str]:
    """Return modules of which each imports the one before it, from one to itself; empty if there is no circle."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    imported = imports()
    for module, other in ALLOWED:
        imported[module].remove(other)  # fails where an exception is no longer needed

    assert circle(imported) == []


@pytest.mark.parametrize("exception", sorted(ALLOWED))
def test_a_circle_is_found(exception: tuple[str, str]) -> None:
    imported = imports()
    for module, other in ALLOWED - {exception}:
        imported[module].remove(other)

    found = circle(imported)

    assert found[0] == found[-1]
    assert {*exception} <= {*found}
