"""Tensors whose shapes, gradient tapes and dtypes are types.

The face of the house stands in `__init__.pyi`, one name a line. It is read here, so that `import tapegrad` costs
nothing until a name is used, and mypy can load the plugin without NumPy and without any op.
"""

import importlib
import re
import sys
from types import ModuleType
from typing import Any

_FACE = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
with open(f"{__file__.removesuffix('.py')}.pyi", encoding="utf-8") as _file:  # noqa: PTH123  # pathlib takes 3 ms
    _rooms = {name: room for room, name in _FACE.findall(_file.read())}
__all__ = sorted(_rooms)  # noqa: PLE0605  # a list of str, which the linter cannot see


class _Face(ModuleType):
    """Keeps a room from hiding the public function of the same name, as `tensor` and `op` would once imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or _rooms.get(name, __name__) == __name__:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used."""
    if name not in _rooms:
        from tapegrad.traces import leaving

        message = f"module 'tapegrad' has no attribute {name!r}"
        with leaving:
            raise AttributeError(message)
    room = importlib.import_module(_rooms[name])
    value = importlib.import_module(f"{_rooms[name]}.{name}") if _rooms[name] == __name__ else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Lists the public names."""
    return __all__
