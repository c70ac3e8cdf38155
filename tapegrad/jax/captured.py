"""The variables that a step reads without being given them: its own, and those of the functions that it may call."""

from __future__ import annotations

from functools import cached_property, partialmethod
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from tapegrad.jax.objects import UNSET
from tapegrad.jax.reads import is_of_a_library, reads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CellType


class Captured:
    """Finds the variables that functions read, from one function to the next.

    A function is found where a variable or an argument holds it, and a method where there is an object of its class
    and code that names it. Code of libraries is not read.

    Args:
        visit: Is called with the value of each variable that is found, and its path.

    Attributes:
        cells: Closure variables of the functions that are found.
        globals: Modules' variables, and the names of those that are read.
        classes: The user's classes that are found, whose attributes may be replaced.
        variables: The names of all variables.
    """

    def __init__(self, visit: Callable[[Any, str], None]) -> None:
        self.cells: list[Any] = []
        self.globals: list[tuple[dict[str, Any], tuple[str, ...]]] = []
        self.classes: list[type] = []
        self.variables: set[str] = set()
        self._visit = visit
        self._unread: list[FunctionType] = []
        self._found: list[tuple[str, Any]] = []  # members of classes that have not been read yet
        self._unnamed: dict[str, list[tuple[str, Any]]] = {}  # members of classes that no code has named so far
        self._names: set[str] = set()

    def add_function(self, function: FunctionType) -> None:
        """Queue a function, once, for `read`, which follows its calls."""
        self._unread.append(function)

    def add_class(self, kind: type, *, is_called: bool) -> None:
        """Queue the members of a class that code names, or that a library calls, for `read`.

        Args:
            kind: The class of an object, or one that code may call.
            is_called: Whether code may make instances of it.
        """
        of_library = {name for one in kind.__mro__ if one is not object and not _is_own(one) for name in vars(one)}
        for one in filter(_is_own, kind.__mro__):
            is_new = not any(one is other for other in self.classes)
            self.classes += [one] * is_new
            for name, member in vars(one).items():
                path = f"{one.__name__}.{name}"
                if name in _MAKING:
                    self._found += [(path, member)] * is_called
                elif not is_new:
                    continue
                elif name in self._names or name in of_library or (_is_special(name) and _functions_of(member)):
                    self._found.append((path, member))
                elif not _is_special(name):
                    self._unnamed.setdefault(name, []).append((path, member))

    def read(self) -> None:
        """Read all queued functions, until the queue is empty."""
        while self._unread or self._found:
            if self._unread:
                self._read(self._unread.pop())
            else:
                path, member = self._found.pop()
                for one in _functions_of(member) or [member]:
                    self._visit(one, path)

    def _read(self, function: FunctionType) -> None:
        reads, variables = reads_of(function), function.__globals__
        names: list[str] = []
        for variable in reads.variables:
            if variable.is_global:
                value = variables.get(variable.name, UNSET)
                names += [variable.name] * (not variable.is_log_of(value))
            else:
                cell = (function.__closure__ or ())[function.__code__.co_freevars.index(variable.name)]
                value = contents_of(cell)
                self.cells += [cell] * (not variable.is_log_of(value))
            if variable.is_log_of(value):
                continue
            self.variables.add(variable.name)
            self._visit(value, variable.name)
            if isinstance(value, ModuleType):
                self._read_module(value, variable.name, variable.paths)
        self.globals.append((variables, tuple(names)))
        for name in sorted(reads.attributes - self._names):
            self._found += self._unnamed.pop(name, [])
        self._names |= reads.attributes
        for defaults in (function.__defaults__, function.__kwdefaults__, vars(function)):
            if defaults:
                self._visit(defaults, function.__name__)

    def _read_module(self, module: ModuleType, path: str, paths: Iterable[tuple[str, ...]]) -> None:
        """Read attributes of a module, if it belongs to the user."""
        if is_of_a_library(module.__name__):
            return
        rest: dict[str, list[tuple[str, ...]]] = {}
        for name, *others in sorted(filter(None, paths)):
            rest.setdefault(name, []).append(tuple(others))
        self.globals.append((vars(module), tuple(rest)))
        for name, others in rest.items():
            value = vars(module).get(name, UNSET)
            self._visit(value, f"{path}.{name}")
            if isinstance(value, ModuleType):
                self._read_module(value, f"{path}.{name}", others)


def module_of(function: FunctionType) -> str:
    """Return the name of the module in which a function is defined."""
    return str(function.__globals__.get("__name__", ""))


def contents_of(cell: CellType) -> Any:
    """Return the content of a closure variable."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNSET


def _is_own(kind: type) -> bool:
    return not is_of_a_library(kind.__module__)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _functions_of(member: Any) -> list[FunctionType]:
    """Return the functions of a class member: a method, or the getter of a property."""
    if isinstance(member, property):
        found = [member.fget, member.fset]
    elif isinstance(member, classmethod | staticmethod):
        found = [member.__func__]
    elif isinstance(member, cached_property | partialmethod):
        found = [member.func]
    else:
        found = [member]
    return [one for one in found if isinstance(one, FunctionType) and not is_of_a_library(module_of(one))]


_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__"})
