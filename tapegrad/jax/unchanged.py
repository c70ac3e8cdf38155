"""Checks at each call that everything a program depends on is unchanged: a function generated for one call.

It compares each object that was found with the current one. The generated code takes a third of the time of a loop.
"""

from __future__ import annotations

from functools import lru_cache
from operator import is_
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tapegrad.jax.captured import contents_of
from tapegrad.jax.keys import content_of
from tapegrad.jax.objects import UNSET

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from tapegrad.jax.arguments import ArgumentTree


def unchanged(tree: ArgumentTree) -> Callable[[], bool]:
    """Return a function that returns whether everything that an argument tree contains is still the same.

    Raises:
        AttributeError: In a call of the function: an attribute is gone. A `KeyError` or a `ValueError` is raised if a
            variable is gone, and a `RuntimeError` if another thread changes an object during the comparison.
    """
    check = _Check()
    for kind in tree.reads.classes:
        check.add_mapping(vars(kind))
    for container in tree.watched:
        check.add_container(container)
    for mapping, names in tree.items:
        name = check.name_of(mapping)
        check.terms += [f"{name}[{one!r}] is {check.name_of(mapping[one])}" for one in names]
    for value, names in tree.attributes:
        name = check.name_of(value)
        check.terms += [f"{name}.{one} is {check.name_of(getattr(value, one))}" for one in names]
    for get, value in tree.getters:
        check.terms.append(f"all(map(is_, {check.name_of(get)}({check.name_of(value)}), {check.name_of(get(value))}))")
    for variables, names in tree.reads.globals:
        check.add_variables(variables, names)
    for cell in tree.reads.cells:
        check.terms.append(f"contents_of({check.name_of(cell)}) is {check.name_of(contents_of(cell))}")
    for array in tree.arrays:
        check.terms.append(f"content_of({check.name_of(array)}) == {check.name_of(content_of(array))}")
    return check.function()


class _Check:
    """A function that is being generated.

    Attributes:
        terms: The conditions that must hold.
    """

    def __init__(self) -> None:
        self.terms: list[str] = []
        self._names: dict[str, Any] = {"is_": is_, "content_of": content_of, "contents_of": contents_of, "UNSET": UNSET}

    def name_of(self, value: Any) -> str:
        """Return a name for an object."""
        name = f"v{len(self._names)}"
        self._names[name] = value
        return name

    def add_container(self, container: Any) -> None:
        """Compare the contents of a container, in order."""
        if isinstance(container, dict) or hasattr(container, "items"):
            self.add_mapping(container)
            return
        name = self.name_of(container)
        self.terms.append(f"len({name}) == {len(container)}")
        if type(container) is list:
            self.terms += [f"{name}[{place}] is {self.name_of(one)}" for place, one in enumerate(container)]
        else:
            self.terms.append(f"all(map(is_, {name}, {self.name_of([*container])}))")

    def add_mapping(self, mapping: Any) -> None:
        """Compare the keys and values of a mapping, in order."""
        name, keys = self.name_of(mapping), self.name_of([*mapping])
        if all(type(key) is str for key in mapping):
            self.terms.append(f"[*{name}] == {keys}")
        else:
            self.terms.append(f"len({name}) == {len(mapping)} and all(map(is_, {name}, {keys}))")
        if type(mapping) is dict and all(type(key) is str for key in mapping):
            self.terms += [f"{name}[{key!r}] is {self.name_of(one)}" for key, one in mapping.items()]
        else:
            self.terms.append(f"all(map(is_, {name}.values(), {self.name_of([*mapping.values()])}))")

    def add_variables(self, variables: dict[str, Any], names: tuple[str, ...]) -> None:
        """Compare the values of variables of a module, and which of them exist."""
        module = self.name_of(variables)
        for name in names:
            value = variables.get(name, UNSET)
            there = f"{name!r} not in {module}" if value is UNSET else f"{module}[{name!r}] is {self.name_of(value)}"
            self.terms.append(there)

    def function(self) -> Callable[[], bool]:
        """Return the compiled function."""
        return FunctionType(_code_of(" and ".join(self.terms) or "True"), self._names)


@lru_cache(maxsize=256)
def _code_of(expression: str) -> CodeType:
    """Compile an expression; two models of one kind share the code, because names are numbered."""
    code: CodeType = eval(f"lambda: {expression}", {}).__code__  # noqa: S307  # of names that are numbered here
    return code
