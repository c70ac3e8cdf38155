"""The import hook: it guards each function of a package whose annotations name tensors."""

from __future__ import annotations

import importlib.machinery
import sys
import warnings
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from tapegrad.errors.tracebacks import trim_on_exit
from tapegrad.guard._loader import is_guarding, with_guard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from _typeshed.importlib import LoaderProtocol


class ImportHook:
    """An import hook, installed by `install_import_hook`; as a context manager it uninstalls itself on exit."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages

    def uninstall(self) -> None:
        """Stop guarding modules that are imported from here on; modules imported before stay guarded."""
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
    """Guard the functions of packages at import, as `@guarded` does, if their annotations name tensors.

        with tapegrad.install_import_hook("digits"):
            import digits

    The hook guards functions, methods, nested functions and the `__init__` of dataclasses; the default of a field with
    a factory is not checked. Functions without a tensor in their annotations, and those marked with
    `typing.no_type_check`, are not changed. A decorated function is guarded underneath its decorators. A name that is
    only imported under `if TYPE_CHECKING:` is imported at the first call that needs it. A name that cannot be resolved
    is an error if its annotation also names a tensor, and ignored otherwise.

    jaxtyping's hook may be installed for the same package, before or after. The guarded bytecode of a module is cached
    next to the plain bytecode: reading it takes 1.2 to 1.5 times as long, 2.4 times for a package of functions only;
    the first import takes 2.5 to 4.5 times as long. A nested function costs 0.2 ms each time its
    `def` runs (`benchmarks/import_hook.py`).

    Args:
        packages: Names, such as `"digits"`; each includes all submodules of the package.

    Returns:
        The hook, to uninstall it.

    Raises:
        TypeError: There is no name, or a name is not a string.
        ValueError: A name is not a valid dotted name.

    Warns:
        RuntimeWarning: A module of a package is imported already and stays unguarded.

    Examples:
        >>> hook = tg.install_import_hook("classifier", "experiments")
        >>> hook
        <import hook of tapegrad for classifier, experiments, installed>
        >>> hook.uninstall()
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
    """Return whether a module was imported unguarded; a module being imported may install the hook for itself."""
    spec = getattr(module, "__spec__", None)
    initializing = getattr(spec, "_initializing", False)
    return _covers(hook, name) and spec is not None and not initializing and not is_guarding(spec.loader)


def _covers(hook: ImportHook, name: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in hook.packages)


def _is_covered(name: str) -> bool:
    return any(_covers(hook, name) for hook in _hooks)


class _Spec(ModuleSpec):
    """A spec that adds a guard to its loader, also to one that another hook sets later."""

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
    """The first finder: it adds a guard to what all later finders find, such as a hook installed earlier."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the guarded spec of a module in a package that has a hook."""
        found = _found_behind(name, path, target) if _is_covered(name) else iter(())
        return next(map(_guarded_spec, found), None)


def _found_behind(name: str, path: Sequence[str] | None, target: ModuleType | None) -> Iterator[ModuleSpec]:
    finders = list(sys.meta_path)
    for finder in finders[finders.index(_First) + 1 :]:
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            yield spec


class PathFinder(importlib.machinery.PathFinder):
    """A finder before Python's `PathFinder`: a hook installed later, such as jaxtyping's, uses the first of that name.

    Such a hook calls no other finder, so it never reaches `_First`, and it replaces the guarding loader by its own.
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
    """Move both finders to their positions in `sys.meta_path`; a later hook may have been inserted before them."""
    others = [finder for finder in sys.meta_path if finder not in _FINDERS]
    python = others.index(importlib.machinery.PathFinder) if importlib.machinery.PathFinder in others else len(others)
    sys.meta_path[:] = [_First, *others[:python], PathFinder, *others[python:]]
