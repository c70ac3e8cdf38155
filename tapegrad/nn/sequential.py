"""Layers one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVarTuple, override

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.nn.module import Module

if TYPE_CHECKING:
    from tapegrad.tensor import T, Tensor

Layers = TypeVarTuple("Layers")


class Sequential(Module, Generic[*Layers]):
    r"""Passes its argument through layer after layer.

    $$y = f_k(\dots f_1(f_0(x)))$$

    An error from inside a layer says where that layer stands: `Sequential[1][0] Linear(128, 10): x is ...` is the
    first layer of a `Sequential` that is itself the second of another.

    Args:
        layers: Modules, each of which takes what the one before it gives.

    Raises:
        DTypeError: A layer is not a module.
    """

    layers: tuple[*Layers]

    def __init__(self, *layers: *Layers) -> None:
        given: tuple[object, ...] = layers
        for index, layer in enumerate(given):
            if not isinstance(layer, Module):
                message = f"Sequential: layer {index} is a {type(layer).__name__}, not a module"
                raise DTypeError(message)
        self.layers = layers

    @override
    def forward(self, x: Tensor[Any, T, Any]) -> Tensor[Any, T, Any]:
        """Computes the last layer's result."""
        layers: tuple[Any, ...] = self.layers
        for index, layer in enumerate(layers):
            try:
                x = layer(x)
            except (ShapeError, DTypeError, TapeError) as error:
                error.args = (placed("Sequential", index, layer, str(error)),)
                raise
        return x

    def __getitem__(self, index: int) -> Any:  # the checker knows the class of `layers[index]`
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


def placed(name: str, index: int, layer: Module, message: str) -> str:
    """Says which layer a message is about; one out of an inner module of the same kind has its place already."""
    if type(layer).__name__ == name and message.startswith(f"{name}["):
        return f"{name}[{index}]{message.removeprefix(name)}"
    return f"{name}[{index}] {blamed(layer, message)}"


def blamed(layer: Module, message: str) -> str:
    """Puts what a layer is in front of a message about it."""
    shown = repr(layer)
    name = type(layer).__name__ if "\n" in shown else shown
    return f"{name}: {message.removeprefix(f'{type(layer).__name__}.forward: ')}"
