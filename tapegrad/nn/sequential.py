"""Layers one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVarTuple, override

from tapegrad import sentences
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
        check_modules("Sequential", layers)
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


def check_modules(name: str, layers: tuple[object, ...]) -> None:
    """Refuses what cannot be a layer, by its place."""
    for index, layer in enumerate(layers):
        check_module(f"{name}: layer {index}", layer)


def check_module(place: str, layer: object) -> None:
    """Refuses what cannot be a layer."""
    if not isinstance(layer, Module):
        message = f"{place} is {sentences.with_article(type(layer).__name__)}, not a module"
        raise DTypeError(message)


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
