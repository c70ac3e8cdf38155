"""Layers that keep the shape of what they get: around one with a shortcut, and several of a kind in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar, override

from tapegrad import sentences
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.nn.module import Module
from tapegrad.nn.sequential import blamed, check_module, check_modules, placed
from tapegrad.ops import add, mul

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.tensor import D, S, T, Tensor

Layer = TypeVar("Layer", bound=Module, default=Any)


class Residual(Module, Generic[Layer]):
    r"""Adds what a layer makes of its argument to the argument: $y = x + f(x)$.

    Args:
        layer: A module that gives the shape it gets; nothing is broadcast.

    Raises:
        DTypeError: The layer is not a module.

    Source:
        He et al., [Deep residual learning](https://arxiv.org/abs/1512.03385), eq. 1.
    """

    def __init__(self, layer: Layer) -> None:
        check_module("Residual: layer", layer)
        self.layer = layer

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Computes `x + layer(x)`, of any shape."""
        return add(x, _beside("Residual", self.layer, x))


class ResidualMul(Module, Generic[Layer]):
    r"""Multiplies its argument by what a layer makes of it: $y = x \, f(x)$.

    Args:
        layer: A module that gives the shape it gets, such as one that ends in a sigmoid; nothing is broadcast.

    Raises:
        DTypeError: The layer is not a module.
    """

    def __init__(self, layer: Layer) -> None:
        check_module("ResidualMul: layer", layer)
        self.layer = layer

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Computes `x * layer(x)`, of any shape."""
        return mul(x, _beside("ResidualMul", self.layer, x))


class Repeated(Module, Generic[Layer]):
    r"""Passes its argument through layers of one kind, each with parameters of its own.

    $$y = f_{n - 1}(\dots f_1(f_0(x)))$$

    `Repeated(lambda: Linear(64, 64), 3)` has three layers.

    Args:
        make: Makes one layer, a module that gives the shape it gets.
        times: How many layers n there are, at least 0.

    Raises:
        DTypeError: What is made is not a module.
        ValueError: `times` is negative.
    """

    layers: tuple[Layer, ...]

    def __init__(self, make: Callable[[], Layer], times: int) -> None:
        if times < 0:
            message = f"Repeated: times is {times} but must be at least 0"
            raise ValueError(message)
        self.layers = tuple(make() for _ in range(times))
        check_modules("Repeated", self.layers)

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Computes the last layer's result, of any shape."""
        for index, layer in enumerate(self.layers):
            try:
                x = _kept(layer, x)
            except (ShapeError, DTypeError, TapeError) as error:
                error.args = (placed("Repeated", index, layer, str(error)),)
                raise
        return x

    def __getitem__(self, index: int) -> Layer:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


def _beside(name: str, layer: Module, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
    """Calls the layer of a shortcut, which an error names."""
    try:
        return _kept(layer, x)
    except (ShapeError, DTypeError, TapeError) as error:
        error.args = (f"{name}.layer {blamed(layer, str(error))}",)
        raise


def _kept(layer: Module, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
    """Calls a layer whose result has the shape and the dtype of its argument."""
    y: Tensor[S, T, D] = layer.forward(x)
    same_kind(layer, y, x)
    return y


def same_kind(layer: Module, y: Tensor[Any, Any, Any], expected: Tensor[Any, Any, Any]) -> None:
    """Refuses the result of a layer that has another shape or another dtype than is expected."""
    call = f"{type(layer).__name__}.forward"
    if y.shape != expected.shape:
        raise ShapeError(sentences.other_sizes(call, sentences.RESULT, y.shape, expected.shape))
    if y.dtype != expected.dtype:
        raise DTypeError(sentences.wrong_dtype(call, sentences.RESULT, str(y.dtype), str(expected.dtype)))
