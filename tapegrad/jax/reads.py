"""The variables that the code of a function reads besides its arguments, found in its bytecode."""

from __future__ import annotations

import dis
import sys
from collections import Counter, defaultdict, deque
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.autograd.identity import Same

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from dis import Instruction


class Variable(NamedTuple):
    """A variable that a function reads and that is not its own.

    Attributes:
        name: Its name.
        is_global: Whether it is a global of the module; otherwise it is a closure variable.
        paths: The chains of attributes that are read from it, as far as the code names them.
        is_log: Whether each use of it adds to it, as in `calls.append(1)`, so that no result depends on it.
    """

    name: str
    is_global: bool
    paths: frozenset[tuple[str, ...]]
    is_log: bool

    def is_log_of(self, value: Any) -> bool:
        """Return whether a value of this variable is only written to."""
        return self.is_log and type(value) in _LOGS


class Reads(NamedTuple):
    """What code reads: variables, and the names of all attributes."""

    variables: tuple[Variable, ...]
    attributes: frozenset[str]


def reads_of(function: FunctionType) -> Reads:
    """Return what a function reads, and the functions that are defined inside it."""
    return _reads_of(Same(function.__code__))


def is_of_a_library(module: str) -> bool:
    """Return whether a module belongs to a library: the standard library, tapegrad, or an installed package."""
    if module.partition(".")[0] in _LIBRARIES:
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


@lru_cache(maxsize=4096)  # by identity of the function
def _reads_of(held: Same) -> Reads:
    code: Any = held.value
    uses: dict[tuple[str, bool], list[tuple[tuple[str, ...], bool]]] = {}
    attributes: set[str] = set()
    for one in _with_nested(code):
        instructions = [each for each in dis.get_instructions(one) if each.opname not in _SKIPPED]
        for place, instruction in enumerate(instructions):
            name, after = instruction.argval, instructions[place + 1 : place + 10]
            is_global = instruction.opname in _GLOBALS
            if instruction.opname in _ATTRIBUTES:
                attributes.add(name)
            elif is_global or (instruction.opname in _FREE and name in code.co_freevars):
                uses.setdefault((name, is_global), []).append((_path(after), _is_added_to(name, after)))
    return Reads(
        tuple(
            Variable(name, is_global, frozenset(path for path, _ in found), all(is_log for _, is_log in found))
            for (name, is_global), found in uses.items()
        ),
        frozenset(attributes),
    )


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _path(after: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the names of the attributes that instructions read from the value that was just loaded."""
    names: list[str] = []
    for instruction in after:
        if instruction.opname not in _ATTRIBUTES:
            break
        names.append(instruction.argval)
    return tuple(names)


def _is_added_to(name: str, after: Sequence[Instruction]) -> bool:
    """Return whether a variable that was just loaded is added to: `x.append(…)`, `x += 1`, `x[0] += 1`."""
    if after and after[0].opname in _ATTRIBUTES:
        return after[0].argval in _ADDING
    names = [instruction.opname for instruction in after]
    if len(after) > 2 and _is_constant(after[0]) and _adds(after[1]):
        return names[2].startswith("STORE_") and after[2].argval == name
    is_of_item = names[1:3] == ["COPY", "COPY"] and names[6:9] == ["SWAP", "SWAP", "STORE_SUBSCR"]
    return is_of_item and _is_constant(after[0]) and _is_constant(after[4]) and _adds(after[5])


def _is_constant(instruction: Instruction) -> bool:
    return instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT")


def _adds(instruction: Instruction) -> bool:
    return instruction.opname == "BINARY_OP" and instruction.argrepr in ("+", "+=")


_LIBRARIES: Final = sys.stdlib_module_names | {"jax", "jaxlib", "numpy", "tapegrad"}
_LOGS: Final = frozenset({list, set, dict, deque, Counter, defaultdict, int, float})
_ADDING: Final = frozenset({"append", "appendleft", "add", "extend", "insert", "update"})
_SKIPPED: Final = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL", "RESUME"})
_ATTRIBUTES: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
_GLOBALS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_FREE: Final = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
