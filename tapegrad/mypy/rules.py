"""The ops and their rules, loaded without NumPy: rules need none, and importing it takes as long as checking a file.

While the op files load, NumPy is a word that they may name, subscript and put in a union, as annotations, bounds and
defaults do. A file that does more with it is loaded again with NumPy itself, and a rule that asks for NumPy gets it.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.op import Op


@cache
def ops() -> dict[str, Op]:
    """Returns the ops by name."""
    with suppress(Exception), _numpy_by_name():
        importlib.import_module("tapegrad.ops")
    importlib.import_module("tapegrad.ops")  # what failed is tried with NumPy, and what fails again is the caller's
    table: dict[str, Op] = importlib.import_module("tapegrad.op").OPS
    return dict(table)  # users add theirs later


@cache
def op_of_method(name: str) -> tuple[Op, bool] | None:
    """Returns the op that a method or an operator of a tensor calls, and whether its operands are swapped."""
    operators = {op.operator: op for op in ops().values() if op.operator is not None}
    if name in operators:
        return operators[name], False
    if name.startswith("__r") and f"__{name[3:]}" in operators:
        return operators[f"__{name[3:]}"], True
    return (ops()[name], False) if name in ops() else None


class _NumPy(ModuleType):
    """What an op file imports as NumPy: names while it loads, from then on whatever they are the names of."""

    loading = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(self, name) if self.loading else getattr(importlib.import_module("numpy"), name)


class _Named:
    """Something of NumPy that only its name is known of."""

    def __init__(self, numpy: _NumPy, name: str) -> None:
        self._numpy, self._name = numpy, name

    def __getattr__(self, name: str) -> _Named:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(self._numpy, f"{self._name}.{name}")

    def _itself(self, _: object) -> _Named:
        return self

    __getitem__ = __or__ = __ror__ = _itself

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        message = f"numpy.{self._name} is only a name: an op file was loaded without NumPy"
        raise TypeError(message)

    __call__ = __iter__ = __len__ = __instancecheck__ = __mro_entries__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = _refuse

    # `typing` asks of a bound whether there is one, and whether it is one of its own forms.

    def __bool__(self) -> bool:
        return self._numpy.loading or self._refuse()

    @override
    def __eq__(self, other: object) -> bool:
        return self is other if self._numpy.loading else self._refuse()

    @override
    def __hash__(self) -> int:
        return self._refuse()


@contextmanager
def _numpy_by_name() -> Iterator[None]:
    """Lets op files import names in the place of NumPy, unless something has imported it already."""
    if "numpy" in sys.modules:
        yield
        return
    numpy = _NumPy("numpy")
    sys.modules["numpy"] = numpy
    try:
        yield
    finally:
        numpy.loading = False
        del sys.modules["numpy"]
