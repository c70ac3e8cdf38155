"""The import hook: every function of a package is guarded whose annotations name tensors."""

from __future__ import annotations

import importlib.machinery
import sys
import warnings
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from tapegrad.guard._loader import is_guarding, with_guard
from tapegrad.tracebacks import trim_on_exit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from _typeshed.importlib import LoaderProtocol


class ImportHook:
    """What `install_import_hook` has installed; as a context manager it uninstalls itself at the end."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages

    def uninstall(self) -> None:
        """Let what is imported from here on be; what was imported meanwhile stays guarded."""
        if self in _hooks:
            _hooks.remove(self)
        if not _hooks:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in _FINDERS]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    def __repr__(self) -> str:
        state = "installed" if self in _hooks else "uninstalled"
        return f"<import hook of tapegrad for {', '.join(sorted(self.packages))}, {state}>"


def install_import_hook(*packages: str) -> ImportHook:
    """Guard every function of a package whose annotations name tensors, as `@guarded` would, from its import on.

        with tapegrad.install_import_hook("digits"):
            import digits

    Functions, methods, nested functions and the `__init__` that a dataclass gets are guarded; a field that a factory
    makes is not held against its annotation. A function without a tensor in its annotations is left as it is, and so is
    what `typing.no_type_check` marks. A decorated function is guarded underneath its decorators. A name that is only
    imported under `if TYPE_CHECKING:` is imported at the first call that needs it. What no longer resolves is an error
    where a tensor is named beside it, and no matter elsewhere.

    jaxtyping's hook may be installed for the same package, before or after. The guarded bytecode of a module is cached
    beside the plain one: reading it takes 1.2 to 1.5 times as long as plain, for a package of nothing but functions 2.4
    times; the first import takes 2.5 to 4.5 times as long. A nested function costs 0.2 ms each time its `def` runs.

    Args:
        packages: Names, such as `"digits"`; each stands for the package and all its submodules.

    Returns:
        The hook, to uninstall it.

    Raises:
        TypeError: There is no name, or what should be one is no string.
        ValueError: A name is no dotted name.

    Warns:
        RuntimeWarning: A module of a package is imported already, hence stays unguarded.
    """
    with trim_on_exit:
        if not packages:
            raise TypeError("install_import_hook: a name of a package is expected")
        for package in packages:
            _check_name(package)
    hook = ImportHook(frozenset(packages))
    unguarded = sorted(name for name, module in list(sys.modules.items()) if _is_late(hook, name, module))
    if unguarded:
        message = f"install_import_hook: imported already, hence unguarded: {', '.join(unguarded)}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    _hooks.append(hook)
    _put_finders_in_place()
    return hook


def _check_name(package: object) -> None:
    if not isinstance(package, str):
        kind = "a module; write its name" if isinstance(package, type(sys)) else f"of type {type(package).__name__}"
        raise TypeError(f"install_import_hook: a name of a package is a string but {package!r} is {kind}")
    if not all(part.isidentifier() for part in package.split(".")):
        raise ValueError(f"install_import_hook: {package!r} is no name of a package")


def _is_late(hook: ImportHook, name: str, module: ModuleType | None) -> bool:
    """Return whether a module had been imported unguarded; one may install the hook while it runs itself."""
    spec = getattr(module, "__spec__", None)
    initializing = getattr(spec, "_initializing", False)
    return _covers(hook, name) and spec is not None and not initializing and not is_guarding(spec.loader)


def _covers(hook: ImportHook, name: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in hook.packages)


def _is_covered(name: str) -> bool:
    return any(_covers(hook, name) for hook in _hooks)


class _Spec(ModuleSpec):
    """A spec whose loader has a guard, also the loader that another hook puts there later."""

    @property  # type: ignore[override]  # an attribute of the base
    @override
    def loader(self) -> LoaderProtocol | None:
        loader: LoaderProtocol | None = self.__dict__["loader"]
        return loader

    @loader.setter
    def loader(self, loader: Any) -> None:
        self.__dict__["loader"] = with_guard(loader)


def _guarded_spec(spec: ModuleSpec) -> ModuleSpec:
    if type(spec) is ModuleSpec:
        spec.__class__ = _Spec
    spec.loader = with_guard(spec.loader)
    return spec


class _First:
    """Stands before all finders, and gives a guard to what those behind it find: so to a hook installed earlier."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module of a package that has a hook."""
        found = _found_behind(name, path, target) if _is_covered(name) else iter(())
        return next(map(_guarded_spec, found), None)


def _found_behind(name: str, path: Sequence[str] | None, target: ModuleType | None) -> Iterator[ModuleSpec]:
    finders = list(sys.meta_path)
    for finder in finders[finders.index(_First) + 1 :]:
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            yield spec


class PathFinder(importlib.machinery.PathFinder):
    """Stands before Python's finder of this name: a hook installed later, as jaxtyping's, asks the first one called so.

    It asks nobody else, so `_First` is never reached from there; and it puts its own loader where ours was.
    """

    @classmethod
    @override
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target)
        return _guarded_spec(spec) if spec is not None and _is_covered(fullname) else spec


_FINDERS: tuple[Any, ...] = (_First, PathFinder)
_hooks: list[ImportHook] = []


def _put_finders_in_place() -> None:
    """Move both finders to where they stand; a later hook may stand before the first of them."""
    others = [finder for finder in sys.meta_path if finder not in _FINDERS]
    python = others.index(importlib.machinery.PathFinder) if importlib.machinery.PathFinder in others else len(others)
    sys.meta_path[:] = [_First, *others[:python], PathFinder, *others[python:]]
