"""Tensors whose shapes, gradient tapes and dtypes are types.

`__init__.pyi` lists the public names, one import a line, and `ops/__init__.py` the ops. This module reads both and
imports a name when it is first used, so that `import tapegrad` is fast and mypy can load the plugin without NumPy and
without any op.
"""

import importlib
import re
import sys
from types import ModuleType
from typing import Any

from tapegrad._moved import MOVED, MovedModules, moved_module

_EXPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
_FOLDER = __file__.removesuffix("__init__.py")
with open(f"{_FOLDER}__init__.pyi", encoding="utf-8") as _file:  # noqa: PTH123  # pathlib: benchmarks/overhead.py, "import tapegrad"
    _modules = {name: module for module, name in _EXPORT.findall(_file.read())}
with open(f"{_FOLDER}ops/__init__.py", encoding="utf-8") as _file:  # noqa: PTH123  # as above
    _modules |= {name: "tapegrad.ops" for _, name in _EXPORT.findall(_file.read())}
_PACKAGES = {
    "bfloat16": "ml_dtypes",
    "disable_jit": "jax",
    "jax": "jax",
    "jit": "jax",
    "sklearn": "sklearn",
}  # packages of extras that a name needs


class _PublicApi(ModuleType):
    """A module type that keeps a submodule, once imported, from hiding the public function of its name, as `op`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or _modules.get(name, __name__) == __name__:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _PublicApi
sys.meta_path.insert(0, MovedModules)  # first: the packages have submodules at the same relative paths


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__all__":
        return __dir__()
    if name == "__version__":
        return _version()
    if f"{__name__}.{name}" in MOVED and name not in _modules:  # tapegrad.tensor is a function as well
        return moved_module(f"{__name__}.{name}")
    if name not in _modules:
        from tapegrad.errors.other_names import name_error
        from tapegrad.errors.tracebacks import trim_on_exit

        with trim_on_exit:
            raise name_error(__name__, name, sys._getframe(1))
    try:
        module = importlib.import_module(_modules[name])
        value = (
            importlib.import_module(f"{_modules[name]}.{name}") if _modules[name] == __name__ else getattr(module, name)
        )
    except ModuleNotFoundError as error:
        # `from tapegrad import jit` replaces the message of an AttributeError; it calls from `_handle_fromlist`.
        if error.name != _PACKAGES.get(name) or sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise
        raise AttributeError(str(error)) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, without those that need an extra which is not installed."""
    return sorted(name for name in _modules if name not in _PACKAGES or _is_installed(_PACKAGES[name]))


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return importlib.import_module("importlib.util").find_spec(package) is not None
    except ModuleNotFoundError:  # from a finder that hides the package
        return False


def _version() -> str:
    """Return the installed version of this package, or the fallback version for a source tree not installed."""
    from importlib.metadata import distributions
    from pathlib import Path

    package = Path(__file__).resolve().parent
    for distribution in distributions(name="tapegrad"):
        installed = Path(str(distribution.locate_file("tapegrad"))).resolve()
        if installed == package or package.parent.as_uri() in (distribution.read_text("direct_url.json") or ""):
            return distribution.version
    return "0.1.0.dev0"  # as `fallback-version` of pyproject.toml
