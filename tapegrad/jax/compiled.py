"""The compiled programs of a step: what each was compiled for, and a warning if there are many."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from struct import unpack
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, overload

from typing_extensions import override

from tapegrad.autograd.identity import Same
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.jax.arguments import ArgumentTree
    from tapegrad.jax.binding import Binding
    from tapegrad.jax.program import Program

MOST: Final = 256
"""How many programs of a step are kept."""
WARN_AFTER: Final = 8
"""The number of compilations at which a warning says what has changed."""


class Programs(Sequence[Mapping[str, str]]):
    """The programs of a step that are kept, least recently used first: what each was compiled for, by path.

    A shape and a dtype stand for a tensor; a value for all that is compared.

    Attributes:
        compiled: How often the step has been compiled, including programs that are no longer kept.
        source: The function, and the arguments that a partial passes to it.
    """

    def __init__(self, call: str, source: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> None:
        self.compiled = 0
        self.source = source
        self._call = call
        self._programs: OrderedDict[Program, tuple[Any, dict[str, str], dict[str, str]]] = OrderedDict()
        self._by_key: dict[Any, list[Program]] = {}
        self._lock = RLock()  # a signal handler may read the programs while its thread changes them

    def find(self, key: Any, numbers: list[Any]) -> Program | None:
        """Return the program for a call, or None."""
        found = self._by_key.get(key, [])
        program = next((one for one in found if one.numbers.values(numbers) is not None), None)
        if program is not None:
            self.use([program])
        return program

    def use(self, programs: Iterable[Program]) -> None:
        """Note that programs are in use, the last one most recently."""
        with self._lock:
            for one in programs:
                if one in self._programs:
                    self._programs.move_to_end(one)

    def add(self, key: Any, program: Program, binding: Binding) -> None:
        """Count a program, and keep it if later calls can use it; the least recently used ones are dropped."""
        facts, others = _facts_of(binding, program), _others_of(binding.tree)
        with self._lock:
            self.compiled += 1
            before = [others | facts for _, facts, others in self._programs.values()]
            if program.is_lasting:
                self._programs[program] = key, facts, others
                self._by_key.setdefault(key, []).insert(0, program)
            while len(self._programs) > MOST:
                old, (old_key, *_) = self._programs.popitem(last=False)
                self._by_key[old_key].remove(old)
                if not self._by_key[old_key]:
                    del self._by_key[old_key]
        if self.compiled == WARN_AFTER:
            change = _change(before, others | facts)
            message = f"{self._call} has been compiled {WARN_AFTER} times; {change}; see tapegrad.jax.programs"
            warnings.warn(message, stacklevel=5)

    @overload
    def __getitem__(self, at: int) -> Mapping[str, str]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, str]]: ...
    @override
    def __getitem__(self, at: int | slice) -> Any:
        with self._lock:
            return [facts for _, facts, _ in self._programs.values()][at]

    @override
    def __len__(self) -> int:
        return len(self._programs)

    @override
    def __repr__(self) -> str:
        lines = (", ".join(f"{path}: {fact}" for path, fact in facts.items()) for facts in self)
        return "\n  ".join([f"Programs of {self._call}: {len(self)} kept, {self.compiled} compiled", *lines])


def _facts_of(binding: Binding, program: Program) -> dict[str, str]:
    """Return what a program was compiled for, by path."""
    tree = binding.tree
    facts: dict[str, str] = {}
    arrays = [state.on_device for state in binding.states]
    for path, array in zip(tree.states.values(), arrays, strict=True):
        facts[path] = f"{array.dtype} {show(array.shape)}"
    for path, array in zip(tree.tensors.values(), binding.arrays_of_tensors, strict=True):
        facts[path] = f"{array.dtype} {show(array.shape)}"
    for path, value in tree.fixed:
        facts.setdefault(path, _shown(value))
    fixed = dict(program.numbers.fixed)
    for at, ((_, value), path) in enumerate(zip(tree.numbers, tree.number_paths, strict=True)):
        facts[path] = _shown(value) if at in fixed else f"any {type(value).__name__}"
    keys = [key for at, key in fixed.items() if at >= len(tree.numbers)]
    if keys:
        facts["computed from numbers"] = ", ".join(_of_key(key) if key[0] in _PLAIN else _shown(key[0]) for key in keys)
    for path, *key in tree.captured:
        if _is_value(key):
            facts.setdefault(path, _of_key(key[0]))
    return facts


def _others_of(tree: ArgumentTree) -> dict[str, str]:
    """Return what else a program depends on, such as the classes of objects and the attributes that they have."""
    found: dict[str, str] = {}
    for path, *key in (*tree.kinds, *tree.captured):
        found[path] = _of_key(key[0]) if _is_value(key) else " ".join(map(_named, key))
    return found


def _shown(value: Any) -> str:
    text = value.__name__ if isinstance(value, type) else repr(value)
    return text if len(text) <= _LONGEST and "\n" not in text else f"{text.split(chr(10))[0][:_LONGEST]}..."


def _is_value(key: Sequence[Any]) -> bool:
    """Return whether a key is that of a number, a string or a bool."""
    return len(key) == 1 and isinstance(key[0], tuple) and len(key[0]) == 2 and key[0][0] in _PLAIN


def _of_key(key: Sequence[Any]) -> str:
    """Return the value that a key stands for."""
    if key[0] in (float, complex):
        number = complex(*unpack("<dd", key[1]))
        return _shown(number if key[0] is complex else number.real)
    return _shown(key[1])


def _named(part: Any) -> str:
    """Return a description of a part of a key; of an object that is compared by identity, its class and identity."""
    return f"{type(part.value).__name__} at {id(part.value):#x}" if isinstance(part, Same) else _shown(part)


def _change(before: list[dict[str, str]], facts: dict[str, str]) -> str:
    """Return what differs from the program that is most like this one."""
    if not before:
        return "what it reads without being given it changes while it is traced, so no program is kept"

    def differing(other: dict[str, str]) -> list[str]:
        paths = dict.fromkeys([*facts, *other])
        return [path for path in paths if facts.get(path) != other.get(path)]

    nearest = min(reversed(before), key=lambda other: len(differing(other)))
    paths = differing(nearest)
    if not paths:
        return "an object that it reads is another one each time"
    path, others = paths[0], len(paths) - 1
    more = f", and {others} more" if others else ""
    return f"this time {path} is {facts.get(path, 'absent')} and was {nearest.get(path, 'absent')}{more}"


_LONGEST: Final = 40
_PLAIN: Final = (bool, int, float, complex, str, bytes)
