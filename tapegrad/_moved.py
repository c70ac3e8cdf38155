"""Old paths of moved modules. They keep working for one release, with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MOVED: Final = {
    "tapegrad.assertions": "tapegrad.guard.assertions",
    "tapegrad.backend": "tapegrad.engines",
    "tapegrad.backend.numpy": "tapegrad.engines.numpy",
    "tapegrad.constraints": "tapegrad.sizes.constraints",
    "tapegrad.dims": "tapegrad.sizes",
    "tapegrad.gradients": "tapegrad.autograd.gradients",
    "tapegrad.operands": "tapegrad.tensors.operands",
    "tapegrad.shapes": "tapegrad.tensors.aliases",
    "tapegrad.tape": "tapegrad.autograd.tape",
    "tapegrad.tensor": "tapegrad.tensors",
    "tapegrad.tensor.aliases": "tapegrad.tensors.aliases",
    "tapegrad.tensor.operands": "tapegrad.tensors.operands",
}


def moved_module(old: str) -> ModuleType:
    """Return the module that had an old path, with a warning at the line that calls the caller."""
    message = f"{old} is called {MOVED[old]} since 0.2.0, and its old name is removed in 0.3.0"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return import_module(MOVED[old])


class MovedModules:
    """An import hook that finds the modules of `MOVED` at their new paths."""

    @staticmethod
    def find_spec(fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for an old path, None for every other one."""
        return ModuleSpec(fullname, _loader) if fullname in MOVED else None


class _Loader:
    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace an empty module by the moved one."""
        sys.modules[module.__name__] = moved_module(module.__name__)


_loader: Any = _Loader()  # not a subclass of `Loader`, to import less (benchmarks/overhead.py, "import tapegrad")
