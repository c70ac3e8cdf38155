"""Mixed precision: parameters in float32, computation in half precision."""

from __future__ import annotations

import copy
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, Generic

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.identity import Same
from tapegrad.engines import engine
from tapegrad.engines.interface import HALF
from tapegrad.errors import DTypeError, TapegradError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.guard._computing import computing_in
from tapegrad.guard._memory import StoredSizes
from tapegrad.nn.container import Container, check_module
from tapegrad.nn.module import Module
from tapegrad.nn.param import Buffer, Param
from tapegrad.nn.precision import float_dtype, with_dtype
from tapegrad.nn.repeated import LEAST_LAYERS
from tapegrad.nn.residual import Repeated
from tapegrad.tensors import Tensor, node

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.engines.bfloat16 import bfloat16
    from tapegrad.nn.module import HasForward

F = TypeVar("F", covariant=True)
Model = TypeVar("Model", default=Any, covariant=True)


@public_api
class MixedPrecision(Container, Generic[Model]):
    """A model whose parameters are float32, and which computes in bfloat16 or float16.

    A call converts the parameters and the float32 arguments, computes, and converts the result to float32. Therefore
    the loss and all that follows is computed in float32, and gradients and optimizers are those of the float32
    parameters, in which small updates are not lost. It has the type of the model: float32 in, float32 out.

    Inside of the model tensors are of the dtype `compute`, and annotations of float32 stand for it. Each op computes
    in float32 and rounds once; sums, means, norms and losses are therefore computed in float32 everywhere. Running
    statistics of batch norms stay float32 and are updated in float32; a class of your own lists such parameters and
    buffers by name in the attribute `float32_state`.

    Gradients of float16 may become zero, for which `optim.LossScaler` scales the loss; bfloat16 needs no scaling.

    Args:
        model: The model, which is not copied: it has the same parameters.
        compute: `tapegrad.bfloat16` or `numpy.float16`.

    Attributes:
        model: The model, which computes in float32 when called by itself.
        compute: The dtype of intermediate results.

    Raises:
        DTypeError: `model` is not a module, or a parameter of it is not float32; or `compute` is not a dtype of half
            precision.

    Source:
        Micikevicius et al., [Mixed Precision Training](https://arxiv.org/abs/1710.03740), §3.1 and §3.3.

    Examples:
        >>> mixed = tg.nn.MixedPrecision(tg.nn.Linear(3, 2, rng=0), compute=np.float16)
        >>> x = tg.tensor([[1.0, 2.0, 3.0]])
        >>> str(mixed(x).dtype), np.allclose(mixed(x).numpy(), mixed.model(x).numpy(), atol=0.01)
        ('float32', True)
        >>> grads = mixed(x.trace()).sum().backward(wrt=mixed)
        >>> grads[mixed.model.weight].tolist()
        [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    """

    model: Model

    def __init__(
        self, model: Model, *, compute: type[bfloat16 | np.float16] | np.dtype[bfloat16] | np.dtype[np.float16]
    ) -> None:
        check_module("MixedPrecision: model", model)
        inner: Any = model
        for path, parameter in inner.parameters().items():
            if parameter.dtype != np.float32:
                raise DTypeError(messages.wrong_dtype("MixedPrecision", path, str(parameter.dtype), "float32"))
        dtype = float_dtype("MixedPrecision", "compute", compute)
        if dtype.char not in HALF:
            raise DTypeError(messages.wrong_dtype("MixedPrecision", "compute", dtype.name, "bfloat16 or float16"))
        self.model = model
        self.compute = dtype

    if TYPE_CHECKING:

        @property
        def __call__(self: MixedPrecision[HasForward[F]]) -> F:
            """A callable with the type of the model's `forward`."""

    @override
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the model's `forward` in the dtype `compute`; a call of the module does the same, and is typed."""
        model: Any = self.model
        if "forward" in vars(self):  # in a summary, which counts the calls of the original layers
            return self._called(model, args, kwargs)
        call = _Call(self.compute, compiles_loops=_compiles_loops((args, kwargs)))
        inner = call.converted(model)
        args, kwargs = _mapped((args, kwargs), call.argument)
        with computing_in(self.compute):
            try:
                y = self._called(inner, args, kwargs)
            finally:
                call.keep_attributes()
        return _mapped(y, call.result)

    def _called(self, model: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return model.forward(*args, **kwargs)
        except TapegradError as error:
            self._point(error, "model", model)
            raise

    @override
    def __repr__(self) -> str:
        return f"MixedPrecision({self.model!r}, compute={self.compute.name})"


class _ComputeBuffer(Buffer[Any, Any]):
    """A buffer in the dtype of one call; what is assigned to it is also assigned to the original."""

    __slots__ = ("original",)

    def __init__(self, original: Buffer[Any, Any], dtype: np.dtype[Any]) -> None:
        super().__init__(node(engine(original.data).cast(original.data, dtype)))
        self.original = original

    @override
    def assign(self, value: Any) -> None:
        wide = value.astype(self.original.dtype) if isinstance(value, Tensor) and value.is_float else value
        self.original.assign(wide)
        self.replace(engine(self.original.data).cast(self.original.data, self.dtype))


class _LayerOfLoop(Container):
    """A layer whose parameters are converted where it is called: within the compiled loop, which stacks them before."""

    def __init__(self, layer: Module, compute: str) -> None:
        self.layer = layer
        self.compute = compute

    @override
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        call = _Call(args[0].dtype, compiles_loops=True)
        try:
            return call.converted(self.layer).forward(*args, **kwargs)
        finally:
            call.keep_attributes()

    @override
    def _add_path(self, error: TapegradError, path: str) -> None:
        self.layer._add_path(error, path)


class _Call:
    """The conversions of one call: each call has modules of its own, because several threads may call one model."""

    def __init__(self, dtype: np.dtype[Any], *, compiles_loops: bool = False) -> None:
        self.dtype = dtype
        self.compiles_loops = compiles_loops
        self.found: dict[Same, Any] = {}  # the conversion of each object
        self.modules: list[tuple[Module, Module, dict[str, Any]]] = []  # original, converted, attributes before

    def argument(self, x: Any) -> Any:
        """Return an argument of the model in the dtype of the call."""
        return x.astype(self.dtype.type) if isinstance(x, Tensor) and x.dtype == np.float32 else x

    def result(self, y: Any) -> Any:
        """Return a result of the model in float32."""
        return y.astype(np.float32) if isinstance(y, Tensor) and y.dtype == self.dtype else y

    def converted(self, value: Any) -> Any:
        """Return a module with converted parameters, or a value in it: a container only if something in it changed."""
        same = Same(value)
        if same not in self.found:
            self.found[same] = value  # a module may refer to one around it
            self.found[same] = self._converted(value)
        return self.found[same]

    def keep_attributes(self) -> None:
        """Set the attributes that `forward` has set on the original modules."""
        for original, converted, before in self.modules:
            now = vars(converted)
            vars(original).update({name: one for name, one in now.items() if before.get(name, _MISSING) is not one})

    def _converted(self, value: Any) -> Any:
        if isinstance(value, Module):
            return self._module(value)
        if isinstance(value, Param):
            return self.argument(value)
        if isinstance(value, Buffer):
            return _ComputeBuffer(value, self.dtype) if value.dtype == np.float32 else value
        if isinstance(value, StoredSizes):
            return with_dtype(value, self.dtype, lambda old: old == np.float32)
        if isinstance(value, MethodType):
            return MethodType(value.__func__, self.converted(value.__self__))
        return _rebuilt(value, self.converted) if isinstance(value, list | tuple | dict) else value

    def _module(self, module: Module) -> Module:
        if self.compiles_loops and isinstance(module, Repeated) and len(module) >= LEAST_LAYERS:
            layers = tuple(_LayerOfLoop(layer, self.dtype.name) for layer in module.layers)
            repeated: Module = copy.copy(module)
            vars(repeated)["layers"] = layers
            return repeated
        converted: Module = object.__new__(type(module))
        self.found[Same(module)] = converted
        unchanged = type(module).float32_state
        attributes = {name: one if name in unchanged else self.converted(one) for name, one in vars(module).items()}
        vars(converted).update(attributes)
        self.modules.append((module, converted, attributes))
        return converted


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the items of nested lists, tuples and dicts."""
    if isinstance(value, list | tuple | dict):
        return _rebuilt(value, lambda one: _mapped(one, function))
    return function(value)


def _rebuilt(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the items of a list, a tuple or a dict, which is returned itself if none of them changes."""
    before = value.values() if isinstance(value, dict) else value
    items = [function(one) for one in before]
    if all(one is other for one, other in zip(items, before, strict=True)):
        return value
    if isinstance(value, tuple):
        return type(value)._make(items) if hasattr(value, "_make") else tuple(items)
    changed = copy.copy(value)
    if isinstance(value, dict):
        changed.update(zip(value, items, strict=True))
    else:
        changed[:] = items
    return changed


def _compiles_loops(arguments: Any) -> bool:
    """Return whether an argument is of an engine that compiles loops."""
    found: list[bool] = []

    def look(x: Any) -> Any:
        found.append(isinstance(x, Tensor) and engine(x.data).compiles_loops)
        return x

    _mapped(arguments, look)
    return any(found)


_MISSING: Final = object()
