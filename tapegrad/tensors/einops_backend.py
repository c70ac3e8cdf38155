"""The backend with which einops rearranges tensors; it is registered when a program imports einops."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

from tapegrad.autograd.registry import IMPLEMENTATIONS

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

EINOPS: Final = "einops"


def register_with_einops(kind: type) -> None:
    """Register a tensor class with einops: now if it is imported, else when it is."""
    if EINOPS in sys.modules:
        _register(kind)
    else:
        sys.meta_path.insert(0, _Finder(kind))


class _Finder:
    """Finds einops where other finders do, and registers a class with it once it is loaded."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002  # of the protocol
        if fullname != EINOPS:
            return None
        sys.meta_path.remove(self)
        spec: ModuleSpec | None = importlib.import_module("importlib.util").find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._kind)  # type: ignore[assignment]  # has the two methods of a loader
        return spec


class _Loader:
    """Loads a module by another loader, then registers a class with it."""

    def __init__(self, loader: Any, kind: type) -> None:
        self._loader = loader
        self._kind = kind

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        # The module's own loader, as without this one: `importlib.resources` and `inspect` ask it for files.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _register(self._kind)


def _register(kind: type) -> None:
    base: Any = importlib.import_module("einops._backends").AbstractBackend  # einops looks for its subclasses

    class TapegradBackend(base):  # type: ignore[misc]  # a class that is known at run time
        framework_name = "tapegrad"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, kind)

        def from_numpy(self, x: Any) -> Any:
            return IMPLEMENTATIONS["tensor"](x)

        def to_numpy(self, x: Any) -> Any:
            return x.numpy()

        def arange(self, start: int, stop: int) -> Any:
            return IMPLEMENTATIONS["arange"](start, stop)

        def reshape(self, x: Any, shape: Any) -> Any:
            return x.reshape(tuple(shape))

        def transpose(self, x: Any, axes: Any) -> Any:
            return x.transpose(tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
            return IMPLEMENTATIONS["stack"](tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return IMPLEMENTATIONS["expand_dims"](x, new_position)

        def tile(self, x: Any, repeats: tuple[int, ...]) -> Any:
            return IMPLEMENTATIONS["broadcast_to"](x, tuple(map(max, repeats, x.shape)))

        def concat(self, tensors: list[Any], axis: int) -> Any:
            return IMPLEMENTATIONS["concat"](tensors, axis)

        def is_float_type(self, x: Any) -> bool:
            return bool(x.is_float)

        def einsum(self, pattern: str, *x: Any) -> Any:
            return IMPLEMENTATIONS["einsum"](pattern, *x)

    _registered.append(TapegradBackend)


_registered: Final[list[type]] = []  # einops finds the subclasses that are alive
