"""The ops and their rules, loaded without NumPy: rules do not need it, and its import takes as long as a file's check.

While the op files load, `numpy` is a substitute whose names can be used, subscripted and put in unions, as annotations,
bounds and defaults do. A file that needs more is loaded again with NumPy itself, and a rule that uses NumPy gets it.
"""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.autograd.registry import Op

OPS: Final = "tapegrad.ops"
_EXPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
_CALL = re.compile(r'return IMPLEMENTATIONS\["(\w+)"\]\((\w+)')
_PACKAGE = Path(__file__).parent.parent.parent


@cache
def ops() -> dict[str, Op]:
    """Return the ops of all files, by name."""
    with suppress(Exception), _numpy_by_name():
        importlib.import_module(OPS)
    _imported(OPS)  # a failed import is repeated with NumPy; if that fails too, the caller gets the error
    return dict(_table())  # a copy, because users add ops later


@cache
def op_in(module: str, name: str) -> Op | None:
    """Return an op from the module that defines it."""
    if module not in _failed:
        with suppress(Exception), _numpy_by_name(), _without_other_ops():
            importlib.import_module(module)
    _imported(module)  # as in `ops`
    return _table().get(name)


def _imported(module: str) -> None:
    """Import a module; a failed import is not repeated, because every call of an op needs it."""
    if module not in _failed:
        try:
            importlib.import_module(module)
        except Exception as error:
            _failed[module] = error
            raise
    else:
        raise _failed[module].with_traceback(None)


_failed: dict[str, Exception] = {}


def op_named(name: str) -> Op | None:
    """Return an op of the library by its name; None if there is none."""
    module = _modules().get(name)
    return op_in(module, name) if module is not None else None


# Functions of `tapegrad.array_api` that call an op of another name with the same rule.
_STANDARD: Final = {
    "asarray": "tensor",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "full": "zeros",  # whose rule has no parameter for the number, which has another name here
    "full_like": "zeros_like",
}


@cache
def standard_op(name: str) -> Op | None:
    """Return the op whose rule a function has that `tapegrad.array_api` defines; its messages name the op it calls."""
    op = op_named(_STANDARD.get(name, name))
    return replace(op, name=name) if op is not None and name == "full" else op


@cache
def op_of_method(name: str) -> tuple[Op, bool] | None:
    """Return the op that a method or an operator of a tensor calls, and whether its operands are swapped."""
    called, reflected = _calls().get(name, (name, False))
    op = op_named(called)
    return None if op is None else (op, reflected)


# A program needs few of the ops, so their modules and the methods that call them are read from the source text.


@cache
def _modules() -> dict[str, str]:
    """Return the module of each op."""
    return {name: module for module, name in _EXPORT.findall((_PACKAGE / "ops" / "__init__.py").read_text("utf-8"))}


@cache
def _calls() -> dict[str, tuple[str, bool]]:
    """Return the op that each method of a tensor calls, and whether the tensor is its second operand."""
    methods = (_PACKAGE / "tensors" / "__init__.py").read_text("utf-8").split("\n    def ")
    calls = ((method.partition("(")[0], _CALL.search(method)) for method in methods)
    return {name: (call[1], call[2] != "self") for name, call in calls if call is not None}


@cache
def _table() -> dict[str, Op]:
    from tapegrad.autograd.registry import OPS

    return OPS


@contextmanager
def _without_other_ops() -> Iterator[None]:
    """Let one module of ops be imported without importing the others."""
    if OPS in sys.modules:
        yield
        return
    package = sys.modules[OPS] = ModuleType(OPS)
    package.__path__ = [str(_PACKAGE / "ops")]
    try:
        yield
    finally:
        del sys.modules[OPS]


class _NumPy(ModuleType):
    """The substitute for NumPy in op files: its attributes are placeholders while they load, then those of NumPy."""

    loading = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(self, name) if self.loading else getattr(importlib.import_module("numpy"), name)


_numpy = _NumPy("numpy")  # one for all files, because one file may subscript a name from another


class _Named:
    """A placeholder for an attribute of NumPy, with only its name."""

    def __init__(self, numpy: _NumPy, name: str) -> None:
        self._numpy, self._name = numpy, name

    def __getattr__(self, name: str) -> _Named:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(self._numpy, f"{self._name}.{name}")

    def _itself(self, _: object) -> _Named:
        return self

    __getitem__ = __or__ = __ror__ = _itself

    def _reject(self, *_: object, **__: object) -> NoReturn:
        message = f"numpy.{self._name} is only a name: an op file was loaded without NumPy"
        raise TypeError(message)

    __call__ = __iter__ = __len__ = __instancecheck__ = __mro_entries__ = _reject
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _reject
    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = _reject

    # `typing` asks of a bound whether it is true, and whether it equals one of its own forms.

    def __bool__(self) -> bool:
        return self._numpy.loading or self._reject()

    @override
    def __eq__(self, other: object) -> bool:
        return self is other if self._numpy.loading else self._reject()

    @override
    def __hash__(self) -> int:
        return self._reject()


@contextmanager
def _numpy_by_name() -> Iterator[None]:
    """Let op files import the substitute for NumPy, unless NumPy is imported already."""
    if "numpy" in sys.modules:
        yield
        return
    sys.modules["numpy"] = _numpy
    _numpy.loading = True
    try:
        yield
    finally:
        _numpy.loading = False
        del sys.modules["numpy"]
