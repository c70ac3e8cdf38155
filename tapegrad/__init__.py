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
_PACKAGES = {"bfloat16": "ml_dtypes", "jax": "jax", "jit": "jax"}  # what an extra has to bring for a name to be there


class _Face(ModuleType):
    """Keeps a room from hiding the public function of the same name, as `tensor` and `op` would once imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or _rooms.get(name, __name__) == __name__:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__all__":
        return __dir__()
    if name == "__version__":
        return _version()
    if name not in _rooms:
        from tapegrad.tracebacks import trim_on_exit

        message = f"module 'tapegrad' has no attribute {name!r}"
        with trim_on_exit:
            raise AttributeError(message)
    try:
        room = importlib.import_module(_rooms[name])
        value = importlib.import_module(f"{_rooms[name]}.{name}") if _rooms[name] == __name__ else getattr(room, name)
    except ModuleNotFoundError as error:
        # `from tapegrad import jit` drops the message of an AttributeError, and asks from this function of importlib.
        if error.name != _PACKAGES.get(name) or sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise
        raise AttributeError(str(error)) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, but for those that need an extra which is not installed."""
    return sorted(name for name in _rooms if name not in _PACKAGES or _is_installed(_PACKAGES[name]))


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return importlib.import_module("importlib.util").find_spec(package) is not None
    except ModuleNotFoundError:  # from a finder that hides the package
        return False


def _version() -> str:
    """Return the version that this package was installed as; of a source tree that was not, what it counts from."""
    from importlib.metadata import distributions
    from pathlib import Path

    package = Path(__file__).resolve().parent
    for distribution in distributions(name="tapegrad"):
        installed = Path(str(distribution.locate_file("tapegrad"))).resolve()
        if installed == package or package.parent.as_uri() in (distribution.read_text("direct_url.json") or ""):
            return distribution.version
    return "0.1.0.dev0"  # as `fallback-version` of pyproject.toml
