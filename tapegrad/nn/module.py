"""Modules: objects that hold parameters and compute something with them."""

from __future__ import annotations

import re
import sys
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Iterator, Mapping, MappingView
from collections.abc import Set as AbstractSet
from inspect import get_annotations
from itertools import count
from reprlib import recursive_repr
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad import messages
from tapegrad.errors import DTypeError, TapegradError
from tapegrad.guard._memory import Memory
from tapegrad.nn.param import Buffer, Param, State
from tapegrad.nn.places import called, called_as, held_by, shown
from tapegrad.tracebacks import trim_on_exit, trim_traceback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tapegrad.nn.valid import Valid

F = TypeVar("F", covariant=True)

AnyParam: TypeAlias = Param[Any, Any]
AnyBuffer: TypeAlias = Buffer[Any, Any]
Leaf: TypeAlias = AnyParam | AnyBuffer | np.random.Generator


class HasForward(Protocol[F]):
    """What a checker knows a module by: calling it is calling its `forward`."""

    @property
    def forward(self) -> F:
        """Computes the module's result."""


class Module:
    """Something with parameters and a `forward`; a class of your own needs nothing else.

    Parameters are found where attributes hold them: a `Param`, a module, or a list, tuple or dict of those, nested at
    will. A set, a deque, a view of a dict or a generator that holds others is rejected. Each goes by its attribute
    path, such as `layers.0.weight`. So do buffers, which are saved as well, and random generators, whose state is.
    They may be nested as deep as they like; a call, `repr`, `deepcopy` and `pickle` go as deep as Python's own limit,
    which `sys.setrecursionlimit` sets.

    A call that does not fit says which layer refuses it, by the name that it is called by: `Net.fall Linear(64, 10): x
    is ...` is said of `self.fall(x)` in the class `Net`. A place in a model that mypy does not see from the line of the
    mistake is noted below the error: `in Sequential[1] Net`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reject slots, for parameters are found among the attributes that an instance holds by name.

        Raises:
            DTypeError: The class has `__slots__` with names in them.
        """
        super().__init_subclass__(**kwargs)
        if slots := vars(cls).get("__slots__"):
            names = slots if isinstance(slots, str) else ", ".join(slots)
            message = f"{cls.__name__}: __slots__ holds {names}, where no parameter is found"
            raise DTypeError(message)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result; a subclass writes it, with the types of its own."""
        message = f"{type(self).__name__} has no forward"
        raise NotImplementedError(message)

    if TYPE_CHECKING:

        @property
        def __call__(self: HasForward[F]) -> F:
            """Computes `forward`, whose type a call has."""

    else:

        def __setattr__(self, name: str, value: Any) -> None:
            """Set an attribute, unless a parameter or a buffer would be lost by it or not be found in it."""
            listed = _LISTINGS[type(value)]
            if listed is None and isinstance(held := vars(self).get(name), State):
                lost = f"{type(self).__name__}: {name} is a {type(held).__name__}, which would be lost"
                if value is not None:
                    with trim_on_exit:
                        raise DTypeError(f"{lost}; {name}.assign changes it")
                if not _may_be_none(type(self), name):
                    with trim_on_exit:
                        raise DTypeError(f"{lost}; declare `{name}: {type(held).__name__} | None` if it may be None")
            if listed is _unsearched:
                with trim_on_exit:
                    _check_unsearched(self, [(name, value)], _leaves(self))
            super().__setattr__(name, value)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Compute `forward`; what it refuses says by which name it was called."""
            try:
                return self.forward(*args, **kwargs)
            except TapegradError as error:
                frame = sys._getframe(1)
                place = called_as(self, frame)
                self._place(error, place)
                if place.isidentifier() and (holder := held_by(self, frame)):
                    error.add_location(holder)  # of what a loop goes over mypy knows no index
                trim_traceback(error)
                raise
            except Exception as error:
                trim_traceback(error)
                raise

    def parameters(self) -> dict[str, AnyParam]:
        """Return each parameter once, under the first of its paths, in the order in which attributes were set."""
        first: dict[AnyParam, str] = {}
        for path, leaf in _leaves(self):
            if isinstance(leaf, Param):
                first.setdefault(leaf, path)
        return {path: parameter for parameter, path in first.items()}

    def paths(self) -> list[tuple[str, AnyParam]]:
        """Return every path with the parameter it leads to: a parameter in two places has two."""
        return [(path, leaf) for path, leaf in _leaves(self) if isinstance(leaf, Param)]

    def buffers(self) -> dict[str, AnyBuffer]:
        """Return each buffer once, under the first of its paths."""
        first: dict[AnyBuffer, str] = {}
        for path, leaf in _leaves(self):
            if isinstance(leaf, Buffer):
                first.setdefault(leaf, path)
        return {path: buffer for buffer, path in first.items()}

    def generators(self) -> dict[str, np.random.Generator]:
        """Return each random generator once, under the first of its paths."""
        first: dict[np.random.Generator, str] = {}
        for path, leaf in _leaves(self):
            if isinstance(leaf, np.random.Generator):
                first.setdefault(leaf, path)
        return {path: generator for generator, path in first.items()}

    def valid(self) -> Valid[Self]:
        """Return the module for inference alone: of another type, so that no training takes it by mistake."""
        from tapegrad.nn.valid import Valid

        return Valid(self)

    def _unfrozen(self) -> list[AnyParam]:
        """Return each parameter once that is not frozen: all `parameters`, found without their paths in half the time.

        Each `backward(wrt=module)` asks, so a step of a small model would spend a tenth of its time on paths.
        """
        if type(self).parameters is not Module.parameters:  # of what a subclass calls its parameters
            return [parameter for parameter in self.parameters().values() if not parameter.frozen]
        found: dict[Leaf, None] = {}
        unsearched: list[Any] = []
        held: list[Iterable[Any]] = [vars(self).values()]
        seen = {id(self)}
        for values in held:  # which grows as it is gone through
            for value in values:
                listed = _LISTINGS[type(value)]
                if listed is _leaf:
                    found[value] = None
                elif listed is _unsearched:
                    unsearched.append(value)
                elif listed is not None and id(value) not in seen:
                    seen.add(id(value))
                    by_name = vars(value) if listed is _attributes else value
                    held.append(by_name if listed is enumerate else by_name.values())
        if unsearched:
            _leaves(self)  # rejects those that hold a parameter, by path
        return [leaf for leaf in found if isinstance(leaf, Param) and not leaf.frozen]

    def _place(self, error: TapegradError, place: str) -> None:
        """Write into an error that the module itself refuses, and where it stands; ops inside speak for themselves."""
        # A layer of the library's has no user inside: what its op says of `x` is said of the layer's own.
        if self._refuses(error) or (getattr(self.forward, "__module__", None) or "").startswith("tapegrad.nn."):
            error.path, error.layer = place, shown(self)
            error.args = (messages.of_layer(error.path, error.layer, str(error)),)

    def _refuses(self, error: Exception) -> bool:
        return str(error).startswith(f"{called(self)}: ")

    @override
    @recursive_repr()
    def __repr__(self) -> str:
        inside = "".join(f"  {path}: {_shown(child)}\n" for path, child in children(self))
        return f"{type(self).__name__}(\n{inside})" if inside else f"{type(self).__name__}()"


def children(module: Module) -> list[tuple[str, Leaf | Module]]:
    """Return what the attributes of a module hold, by path: what is inside a list or a tuple or a dict as well."""
    return _gathered(module, is_deep=False)


def _leaves(module: Module) -> list[tuple[str, Leaf]]:
    """Return what the modules inside hold as well."""
    found: list[tuple[str, Any]] = _gathered(module, is_deep=True)  # Any: of modules there are none
    return found


def _gathered(module: Module, *, is_deep: bool) -> list[tuple[str, Leaf | Module]]:
    """List what is held; goes into what does not stand above itself already, and into modules only if deep."""
    found: list[tuple[str, Leaf | Module]] = []
    prefix, holder, items = "", id(module), iter(vars(module).items())
    unsearched: list[tuple[str, Any]] = []
    above, outside = {holder}, []  # not by calls, whose depth Python limits
    while True:
        for name, value in items:
            listed = _LISTINGS[type(value)]
            if listed is None:
                continue
            if listed is _unsearched:
                unsearched.append((f"{prefix}{name}", value))
                continue
            if listed is _leaf or (listed is _attributes and not is_deep):
                found.append((f"{prefix}{name}", value))
            elif (inner := id(value)) not in above and (parts := listed(value)):  # a child may know its parent
                outside.append((prefix, holder, items))
                prefix, holder, items = f"{prefix}{name}.", inner, iter(parts)
                above.add(inner)
                break
        else:
            if not outside:
                if is_deep and unsearched:
                    _check_unsearched(module, unsearched, found)
                return found
            above.remove(holder)
            prefix, holder, items = outside.pop()


class _Listings(dict[type, "Callable[[Any], Iterable[tuple[Any, Any]]] | None"]):
    """By type how the parts of what a module holds are listed; None of what no module looks into, such as a number.

    Each `backward(wrt=model)` asks of all attributes, and a dictionary answers in a third of the time of a function.
    """

    def __missing__(self, kind: type) -> Callable[[Any], Iterable[tuple[Any, Any]]] | None:
        if issubclass(kind, Param | Buffer | np.random.Generator):
            self[kind] = _leaf
        elif issubclass(kind, Module):
            self[kind] = _attributes
        elif issubclass(kind, dict) and kind is not Memory:
            self[kind] = dict.items
        elif issubclass(kind, list | tuple):
            self[kind] = enumerate
        else:
            is_unsearched = issubclass(kind, _UNSEARCHED) or _is_read_once(kind)
            self[kind] = _unsearched if is_unsearched else None
        return self[kind]


_LISTINGS: Final = _Listings()
_UNSEARCHED: Final = (AbstractSet, MappingView, MappingProxyType, deque, ChainMap, UserDict, UserList)
_OF_NUMBERS: Final = (count, type(iter(range(0))), type(iter("")), type(iter(b"")))


def _is_read_once(kind: type) -> bool:
    """Return whether a type is of Python's own iterators, such as a generator, and may hold layers."""
    is_own = issubclass(kind, Iterator) and kind.__module__ in ("builtins", "itertools")
    return is_own and kind not in _OF_NUMBERS


def _unsearched(_: Any) -> Iterable[tuple[Any, Any]]:
    """List no parts: an item has no path, or is gone once it was looked at."""
    return ()


def _check_unsearched(module: Module, unsearched: list[tuple[str, Any]], found: Iterable[tuple[str, object]]) -> None:
    """Reject a container that holds a parameter, a buffer or a generator which is found nowhere else in a module."""
    known = {id(leaf) for _, leaf in found}
    for path, value in unsearched:
        if not isinstance(value, Iterator):  # of which nobody knows what it holds
            holder = Module()
            vars(holder)["items"] = [*(value.values() if isinstance(value, Mapping) else value)]
            if all(id(leaf) in known for _, leaf in _leaves(holder)):
                continue
        kind = messages.with_article(type(value).__name__)
        message = f"{path} is {kind}, where no parameter is found; a list, a tuple or a dict is searched"
        raise DTypeError(f"{type(module).__name__}: {message}")


def _may_be_none(owner: type, name: str) -> bool:
    """Return whether a class declares an attribute that may be None."""
    declared = next((found[name] for cls in owner.__mro__ if name in (found := get_annotations(cls))), "")
    return re.search(r"\b(None|Optional)\b", str(declared)) is not None


def _leaf(_: Any) -> Iterable[tuple[Any, Any]]:
    """List the parts of what has none."""
    return ()


def _attributes(module: Module) -> Iterable[tuple[str, Any]]:
    return vars(module).items()


def _shown(child: Leaf | Module) -> str:
    if isinstance(child, np.random.Generator):
        return str(child)
    if isinstance(child, Param):
        return f"Param{child.shape}, frozen" if child.frozen else f"Param{child.shape}"
    if isinstance(child, Buffer):
        return f"Buffer{child.shape}"
    return repr(child).replace("\n", "\n  ")
