"""Rules that users write: `[tool.tapegrad-mypy]` in pyproject.toml lists the modules that contain their ops.

    [tool.tapegrad-mypy]
    rules = ["my_package.ops"]

In another configuration file of mypy it is the section `tapegrad-mypy`, with the names separated by commas. A module is
imported at the first call of a function in it. If the import fails, the error is reported once, and mypy goes on
without its rules.
"""

from __future__ import annotations

import importlib
import sys
import tomllib
from configparser import RawConfigParser
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tapegrad.mypy.rules.library import ops

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec

    from mypy.options import Options

    from tapegrad.autograd.registry import Op

SECTION = "tapegrad-mypy"
KEYS = ("rules",)


class SettingsError(Exception):
    """The section has an unknown key or an invalid value."""


class RulesError(Exception):
    """A module with rules cannot be imported."""


class Registered(NamedTuple):
    """The modules with rules, and the folders that are searched for them before all others."""

    modules: tuple[str, ...]
    folders: tuple[str, ...]


_registered = Registered((), ())


def register(options: Options) -> list[Path]:
    """Read the section, and return the files that contain rules.

    Raises:
        SettingsError: A key is unknown, its value is not a list of names, or a module does not exist.
    """
    global _registered  # noqa: PLW0603  # a mypy process has one configuration
    config = Path(options.config_file or "")
    section = _section(config)
    unknown = [key for key in section if key not in KEYS]
    if unknown:
        raise SettingsError(f"{config}: error: {SECTION} has no key {unknown[0]!r}, only {', '.join(map(repr, KEYS))}")
    modules = section.get("rules", [])
    if isinstance(modules, str) and config.suffix != ".toml":
        modules = modules.replace(",", " ").split()
    if not isinstance(modules, list) or not all(isinstance(module, str) for module in modules):
        raise SettingsError(f"{config}: error: in {SECTION}, rules is {modules!r} but a list of modules is expected")
    _registered = Registered(tuple(modules), (str(config.parent.resolve()), *options.mypy_path, str(Path.cwd())))
    with _searching():
        return [file for module in modules for file in _files(module, config)]


def op_at(fullname: str) -> Op | None:
    """Return the op that a function of a registered module is; None for any other function.

    Raises:
        RulesError: The module cannot be imported; raised once for each module.
    """
    for module in _registered.modules:
        if fullname.startswith(f"{module}."):
            return _ops_of(module).get(fullname)
    return None


def _ops_of(module: str) -> dict[str, Op]:
    error = _loaded(module)
    if error is not None and module not in _reported:
        _reported.add(module)
        raise RulesError(f"the rules of {module} cannot be imported: {error}")
    from tapegrad.autograd.registry import OPS

    return OPS if error is None else {}


_reported: set[str] = set()


@cache
def _loaded(module: str) -> str | None:
    """Import a module, and return the error message if that fails."""
    ops()  # the library's ops first, without NumPy
    try:
        with _searching():
            importlib.import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a user's module must not end mypy
        return f"{type(error).__name__}: {error}"
    return None


@contextmanager
def _searching() -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = _registered.folders
    try:
        yield
    finally:
        sys.path[:] = before


def _section(config: Path) -> dict[str, Any]:
    """Return the section of mypy's configuration file."""
    text = config.read_text("utf-8")
    if config.suffix == ".toml":
        section: dict[str, Any] = tomllib.loads(text).get("tool", {}).get(SECTION, {})
        return section
    parser = RawConfigParser()
    parser.read_string(text)
    return dict(parser[SECTION]) if SECTION in parser else {}


def _files(module: str, config: Path) -> list[Path]:
    """Return the file of a module, or all files of a package, without importing either."""
    first, *rest = module.split(".")
    spec: ModuleSpec | None = find_spec(first)
    for name in rest:
        folders = spec.submodule_search_locations if spec is not None else None
        spec = PathFinder.find_spec(f"{spec.name}.{name}", folders) if spec is not None and folders else None
    if spec is None:
        raise SettingsError(f"{config}: error: in {SECTION}, rules names {module!r}, and there is no such module")
    if spec.submodule_search_locations:
        return sorted(file for folder in spec.submodule_search_locations for file in Path(folder).rglob("*.py"))
    return [Path(spec.origin)] if spec.origin is not None else []
