"""Modules: objects with parameters, buffers and a `forward`."""

from __future__ import annotations

import re
import sys
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Iterator, Mapping, MappingView
from collections.abc import Set as AbstractSet
from inspect import get_annotations
from itertools import count
from reprlib import recursive_repr
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.identity import Same
from tapegrad.errors import DTypeError, TapegradError, messages
from tapegrad.errors.missing_names import attribute_of_instance, check_arguments
from tapegrad.errors.options import check_function
from tapegrad.errors.tracebacks import public_api, trim_on_exit, trim_traceback
from tapegrad.guard._memory import StoredSizes
from tapegrad.nn.layer_names import call_path, container_path, forward_name, layer_text
from tapegrad.nn.param import Buffer, Param, State
from tapegrad.tensors.subclasses import subclass_defined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tapegrad.nn.valid import Valid

F = TypeVar("F", covariant=True)

AnyParam: TypeAlias = Param[Any, Any]
AnyBuffer: TypeAlias = Buffer[Any, Any]
Leaf: TypeAlias = AnyParam | AnyBuffer | np.random.Generator


class HasForward(Protocol[F]):
    """Protocol of modules for type checkers: a call has the type of `forward`.

    Examples:
        >>> from collections.abc import Callable
        >>> Layer = tg.nn.HasForward[Callable[[tg.Tensor], tg.Tensor]]
        >>> def predict(layer: Layer, x: tg.Tensor) -> tg.Tensor:
        ...     return layer.forward(x)
        >>> predict(tg.nn.ReLU(), tg.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    @property
    def forward(self) -> F:
        """The method that computes the result of the module."""


class Module:
    """Base class of modules; a subclass sets parameters as attributes and defines `forward`.

    Parameters are found in attributes: a `Param`, a module, or a list, tuple or dict of those, nested to any depth. A
    set, a deque or a view of a dict is rejected if it contains parameters that are not found elsewhere; so is a
    generator. Each parameter has an attribute path, such as `layers.0.weight`. Buffers and random generators have paths
    too, and are saved with the parameters. Calls, `repr`, `deepcopy` and `pickle` are subject to Python's recursion
    limit, see `sys.setrecursionlimit`.

    An error of a call names the layer by the expression that calls it: `Net.fall Linear(64, 10): x is ...` is raised by
    `self.fall(x)` in the class `Net`. Locations that mypy cannot infer from that line are added as notes, such as
    `in Sequential[1] Net`.

    Examples:
        >>> class Scale(tg.nn.Module):
        ...     def __init__(self, width):
        ...         self.weight = tg.nn.Param(tg.ones((width,)))
        ...     def forward(self, x):
        ...         return x * self.weight
        >>> model = Scale(3)
        >>> model(tg.tensor([[1.0, 2.0, 3.0]])).tolist(), [*model.parameters()]
        ([[1.0, 2.0, 3.0]], ['weight'])

        `modules` lists all layers by path, and `apply` calls a function with each, for example to initialize those of
        one type:

        >>> def initialize(module):
        ...     if isinstance(module, tg.nn.Linear):
        ...         tg.nn.orthogonal(module.weight, rng=0)
        >>> model = tg.nn.Sequential(tg.nn.Linear(3, 3), tg.nn.ReLU()).apply(initialize)
        >>> [(path, type(module).__name__) for path, module in model.modules().items()]
        [('', 'Sequential'), ('layers.0', 'Linear'), ('layers.1', 'ReLU')]
        >>> w = model.layers[0].weight
        >>> bool(np.allclose((w.T @ w).numpy(), np.eye(3), atol=1e-5))
        True
    """

    float32_state: ClassVar[tuple[str, ...]] = ()
    """The names of attributes, parameters or buffers, that `MixedPrecision` does not convert."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reject slots, because parameters are only found in the `__dict__` of an instance.

        Raises:
            DTypeError: The class has non-empty `__slots__`.
        """
        super().__init_subclass__(**kwargs)
        if slots := vars(cls).get("__slots__"):
            names = slots if isinstance(slots, str) else ", ".join(slots)
            message = f"{cls.__name__}: __slots__ holds {names}, where no parameter is found"
            raise DTypeError(message)
        subclass_defined(cls)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result of the module; subclasses override it with their own types."""
        message = f"{type(self).__name__} has no forward"
        raise NotImplementedError(message)

    if TYPE_CHECKING:

        @property
        def __call__(self: HasForward[F]) -> F:
            """A callable with the type of `forward`."""

    else:

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Create an instance; raise if an argument has PyTorch's name instead of tapegrad's, or lacks a name.

            Raises:
                TypeError: The layer has the argument by another name, or by name only, or has no arguments.
            """
            check_arguments(cls, args, kwargs)
            if (args or kwargs) and cls.__init__ is object.__init__:  # which ignores them where a class has `__new__`
                message = f"{cls.__name__}() takes no arguments"
                with trim_on_exit:
                    raise TypeError(message)
            return super().__new__(cls)

        __getattr__ = attribute_of_instance("Module")  # called for a name that does not exist

        def __setattr__(self, name: str, value: Any) -> None:
            """Set an attribute; raise if it would overwrite a parameter or buffer, or hide one from `parameters`."""
            listed = _LISTINGS[type(value)]
            if listed is None and isinstance(held := vars(self).get(name), State):
                lost = f"{type(self).__name__}: {name} is a {type(held).__name__}, which would be lost"
                if value is not None:
                    with trim_on_exit:
                        raise DTypeError(f"{lost}; {name}.assign changes it")
                if not _may_be_none(type(self), name):
                    with trim_on_exit:
                        raise DTypeError(f"{lost}; declare `{name}: {type(held).__name__} | None` if it may be None")
            if listed is _unsearched:
                with trim_on_exit:
                    _check_unsearched(self, [(name, value)], _leaves(self))
            super().__setattr__(name, value)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Compute `forward`; errors that this layer raises name the expression that called it."""
            try:
                return self.forward(*args, **kwargs)
            except TapegradError as error:
                frame = sys._getframe(1)
                path = call_path(self, frame)
                self._add_path(error, path)
                if path.isidentifier() and (holder := container_path(self, frame)):
                    error.add_location(holder)  # mypy does not know the index of a loop variable
                trim_traceback(error)
                raise
            except Exception as error:
                trim_traceback(error)
                raise

    def parameters(self) -> dict[str, AnyParam]:
        """Return each parameter once, under the first of its paths, in the order in which attributes were set."""
        first: dict[AnyParam, str] = {}
        for path, leaf in _leaves(self):
            if isinstance(leaf, Param):
                first.setdefault(leaf, path)
        return {path: parameter for parameter, path in first.items()}

    def paths(self) -> list[tuple[str, AnyParam]]:
        """Return all pairs of a path and its parameter: a shared parameter has several."""
        return [(path, leaf) for path, leaf in _leaves(self) if isinstance(leaf, Param)]

    def buffers(self) -> dict[str, AnyBuffer]:
        """Return each buffer once, under the first of its paths."""
        first: dict[AnyBuffer, str] = {}
        for path, leaf in _leaves(self):
            if isinstance(leaf, Buffer):
                first.setdefault(leaf, path)
        return {path: buffer for buffer, path in first.items()}

    def generators(self) -> dict[str, np.random.Generator]:
        """Return each random generator once, under the first of its paths."""
        first: dict[np.random.Generator, str] = {}
        for path, leaf in _leaves(self):
            if isinstance(leaf, np.random.Generator):
                first.setdefault(leaf, path)
        return {path: generator for generator, path in first.items()}

    def modules(self) -> dict[str, Module]:
        """Return this module and the modules in it, each once, under the first of its paths.

        The path of this module is the empty string. Each module comes before those in it.
        """
        found: dict[str, Module] = {}
        seen: set[Same] = set()  # because a module may be a dataclass, which has no hash
        rest: list[tuple[str, Module]] = [("", self)]
        while rest:
            path, module = rest.pop()
            if (same := Same(module)) not in seen:
                seen.add(same)
                found[path] = module
                prefix = f"{path}." if path else ""
                rest += [(f"{prefix}{name}", inner) for name, inner in reversed(_inner_modules(module))]
        return found

    @public_api
    def apply(self, function: Callable[[Module], object]) -> Self:
        """Call a function with each module in this one, then with this one, and return this one.

        Each module is passed once, after those in it; all are found before the first call.

        Args:
            function: Takes a module. Its result is ignored.

        Raises:
            DTypeError: `function` is not a function.
        """
        check_function("apply", "function", function)
        found: list[Module] = []
        entered: set[Same] = set()
        finished: set[Same] = set()
        rest: list[Module] = [self]
        while rest:
            module = rest[-1]
            same = Same(module)
            if same not in entered:
                entered.add(same)
                inner = [one for _, one in reversed(_inner_modules(module))]
                rest += [one for one in inner if Same(one) not in entered]
                continue
            rest.pop()
            if same not in finished:
                finished.add(same)
                found.append(module)
        for module in found:
            function(module)
        return self

    def valid(self) -> Valid[Self]:
        """Return the module for inference only, as another type that training functions do not accept."""
        from tapegrad.nn.valid import Valid

        return Valid(self)

    def _unfrozen(self) -> list[AnyParam]:
        """Return each parameter that is not frozen, once, without computing paths.

        `backward(wrt=module)` calls it, and paths would take a tenth of the time of a step of a small model.
        """
        if type(self).parameters is not Module.parameters:  # a subclass overrides `parameters`
            return [parameter for parameter in self.parameters().values() if not parameter.frozen]
        found: dict[Leaf, None] = {}
        unsearched: list[Any] = []
        held: list[Iterable[Any]] = [vars(self).values()]
        seen: dict[int, Any] = {id(self): self}  # by id, of objects that this dict holds
        for values in held:  # the loop appends to it
            for value in values:
                listed = _LISTINGS[type(value)]
                if listed is _leaf:
                    found[value] = None
                elif listed is _unsearched:
                    unsearched.append(value)
                elif listed is not None and id(value) not in seen:
                    seen[id(value)] = value
                    by_name = vars(value) if listed is _attributes else value
                    held.append(by_name if listed is enumerate else by_name.values())
        if unsearched:
            _leaves(self)  # raises if one of them contains a parameter, with its path
        return [leaf for leaf in found if isinstance(leaf, Param) and not leaf.frozen]

    def _add_path(self, error: TapegradError, path: str) -> None:
        """Add the module and its location to an error that it raised itself; errors of ops in it are unchanged."""
        # `forward` of a library layer has no user code, so an error of its op about `x` is about the layer's `x`.
        if self._rejects(error) or (getattr(self.forward, "__module__", None) or "").startswith("tapegrad.nn."):
            error.path, error.layer = path, layer_text(self)
            error.args = (messages.of_layer(error.path, error.layer, str(error)),)

    def _rejects(self, error: Exception) -> bool:
        return str(error).startswith(f"{forward_name(self)}: ")

    @override
    @recursive_repr()
    def __repr__(self) -> str:
        inside = "".join(f"  {path}: {_shown(child)}\n" for path, child in children(self))
        return f"{type(self).__name__}(\n{inside})" if inside else f"{type(self).__name__}()"


def children(module: Module) -> list[tuple[str, Leaf | Module]]:
    """Return the direct children of a module by path, including those in lists, tuples and dicts."""
    return _gathered(module, is_deep=False)


def _inner_modules(module: Module) -> list[tuple[str, Module]]:
    return [(path, child) for path, child in children(module) if isinstance(child, Module)]


def _leaves(module: Module) -> list[tuple[str, Leaf]]:
    """Return all leaves of a module by path, including those of inner modules."""
    found: list[tuple[str, Any]] = _gathered(module, is_deep=True)  # Any: the result contains no modules
    return found


def _gathered(module: Module, *, is_deep: bool) -> list[tuple[str, Leaf | Module]]:
    """Return children by path; `is_deep` descends into modules. A container within itself is skipped."""
    found: list[tuple[str, Leaf | Module]] = []
    prefix, items = "", iter(vars(module).items())
    holder: Any = module
    unsearched: list[tuple[str, Any]] = []
    outside = []  # a stack instead of recursion, whose depth Python limits
    above = {id(module)}  # the ids of what the stack holds, and so keeps alive
    while True:
        for name, value in items:
            listed = _LISTINGS[type(value)]
            if listed is None:
                continue
            if listed is _unsearched:
                unsearched.append((f"{prefix}{name}", value))
                continue
            if listed is _leaf or (listed is _attributes and not is_deep):
                found.append((f"{prefix}{name}", value))
            elif (inner := id(value)) not in above and (parts := listed(value)):  # a child may refer to its parent
                outside.append((prefix, holder, items))
                prefix, holder, items = f"{prefix}{name}.", value, iter(parts)
                above.add(inner)
                break
        else:
            if not outside:
                if is_deep and unsearched:
                    _check_unsearched(module, unsearched, found)
                return found
            above.remove(id(holder))
            prefix, holder, items = outside.pop()


class _Listings(dict[type, "Callable[[Any], Iterable[tuple[Any, Any]]] | None"]):
    """A function for each type of attribute value that lists its items; None for types without parameters.

    `backward(wrt=model)` looks up every attribute, and a dict lookup takes a third of the time of a function call.
    """

    def __missing__(self, kind: type) -> Callable[[Any], Iterable[tuple[Any, Any]]] | None:
        if issubclass(kind, Param | Buffer | np.random.Generator):
            self[kind] = _leaf
        elif issubclass(kind, Module):
            self[kind] = _attributes
        elif issubclass(kind, dict) and kind is not StoredSizes:
            self[kind] = dict.items
        elif issubclass(kind, list | tuple):
            self[kind] = enumerate
        else:
            is_unsearched = issubclass(kind, _UNSEARCHED) or _is_read_once(kind)
            self[kind] = _unsearched if is_unsearched else None
        return self[kind]


_LISTINGS: Final = _Listings()
_UNSEARCHED: Final = (AbstractSet, MappingView, MappingProxyType, deque, ChainMap, UserDict, UserList)
_OF_NUMBERS: Final = (count, type(iter(range(0))), type(iter("")), type(iter(b"")))


def _is_read_once(kind: type) -> bool:
    """Return whether a type is a built-in iterator, such as a generator, that may yield layers."""
    is_own = issubclass(kind, Iterator) and kind.__module__ in ("builtins", "itertools")
    return is_own and kind not in _OF_NUMBERS


def _unsearched(_: Any) -> Iterable[tuple[Any, Any]]:
    """List no items: they have no path, or iterating would consume them."""
    return ()


def _check_unsearched(module: Module, unsearched: list[tuple[str, Any]], found: Iterable[tuple[str, object]]) -> None:
    """Reject a container of a parameter, a buffer or a generator that is found nowhere else in the module."""
    known = {leaf for _, leaf in found}
    for path, value in unsearched:
        if not isinstance(value, Iterator):  # reading an iterator would consume it
            holder = Module()
            vars(holder)["items"] = [*(value.values() if isinstance(value, Mapping) else value)]
            if all(leaf in known for _, leaf in _leaves(holder)):
                continue
        kind = messages.with_article(type(value).__name__)
        message = f"{path} is {kind}, where no parameter is found; a list, a tuple or a dict is searched"
        raise DTypeError(f"{type(module).__name__}: {message}")


def _may_be_none(owner: type, name: str) -> bool:
    """Return whether the annotation of an attribute in a class allows None."""
    declared = next((found[name] for cls in owner.__mro__ if name in (found := get_annotations(cls))), "")
    return re.search(r"\b(None|Optional)\b", str(declared)) is not None


def _leaf(_: Any) -> Iterable[tuple[Any, Any]]:
    """List no items, for a value that is a leaf."""
    return ()


def _attributes(module: Module) -> Iterable[tuple[str, Any]]:
    return vars(module).items()


def _shown(child: Leaf | Module) -> str:
    if isinstance(child, np.random.Generator):
        return str(child)
    if isinstance(child, Param):
        return f"Param{child.shape}, frozen" if child.frozen else f"Param{child.shape}"
    if isinstance(child, Buffer):
        return f"Buffer{child.shape}"
    return repr(child).replace("\n", "\n  ")
