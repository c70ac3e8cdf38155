"""Sequences of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVarTuple, Unpack, override

from tapegrad.errors import TapegradError
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.container import Container, check_modules

if TYPE_CHECKING:
    from tapegrad.tensors import T, Tensor

Layers = TypeVarTuple("Layers", default=Unpack[tuple[Any, ...]])


class Sequential(Container, Generic[*Layers]):
    """A sequence of layers, each applied to the result of the one before.

        y = f_k(... f₁(f₀(x)))

    An error in a layer contains the path of that layer: `model[1][0] Linear(128, 10): x is ...` is the first layer of a
    `Sequential` that is the second layer of `model`.

    Args:
        layers: Modules, each of which accepts the result of the one before.

    Raises:
        DTypeError: A layer is not a module.

    Examples:
        >>> model = tg.nn.Sequential(tg.nn.Linear(64, 48, rng=0), tg.nn.ReLU(), tg.nn.Linear(48, 10, rng=0))
        >>> images = tg.uniform((32, 64), rng=0)
        >>> model(images).shape
        (32, 10)
        >>> model[2]
        Linear(48, 10)
        >>> [*model.parameters()]
        ['layers.0.weight', 'layers.0.bias', 'layers.2.weight', 'layers.2.bias']
    """

    layers: tuple[*Layers]

    @public_api
    def __init__(self, *layers: *Layers) -> None:
        check_modules("Sequential", layers)
        self.layers = layers

    @override
    @public_api
    def forward(self, x: Tensor[Any, T, Any] | tuple[Any, ...]) -> Tensor[Any, T, Any]:
        """Compute the result of the last layer."""
        layers: tuple[Any, ...] = self.layers
        result: Any = x
        try:  # around the loop, instead of `_through` for each layer (benchmarks/devices.py, "a sequence of layers")
            for index, layer in enumerate(layers):  # noqa: B007  # the message names it
                result = layer.forward(result)
        except TapegradError as error:
            self._point(error, index, layer)
            raise
        y: Tensor[Any, T, Any] = result
        return y

    def __getitem__(self, index: int) -> Any:  # the mypy plugin infers the class of `layers[index]`
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)
