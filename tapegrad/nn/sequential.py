"""Layers one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVarTuple, Unpack, override

from tapegrad.errors import TapegradError
from tapegrad.nn.container import Container, check_modules
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.tensor import T, Tensor

Layers = TypeVarTuple("Layers", default=Unpack[tuple[Any, ...]])


class Sequential(Container, Generic[*Layers]):
    r"""Passes its argument through layer after layer.

    $$y = f_k(\dots f_1(f_0(x)))$$

    An error from inside a layer says where that layer stands: `model[1][0] Linear(128, 10): x is ...` is the first
    layer of a `Sequential` that is itself the second of `model`.

    Args:
        layers: Modules, each of which takes what the one before it gives.

    Raises:
        DTypeError: A layer is not a module.
    """

    layers: tuple[*Layers]

    @public_api
    def __init__(self, *layers: *Layers) -> None:
        check_modules("Sequential", layers)
        self.layers = layers

    @override
    @public_api
    def forward(self, x: Tensor[Any, T, Any] | tuple[Any, ...]) -> Tensor[Any, T, Any]:
        """Compute the last layer's result."""
        layers: tuple[Any, ...] = self.layers
        result: Any = x
        try:  # around all: to call `_through` for each would take a hundredth of a small model's step
            for index, layer in enumerate(layers):  # noqa: B007  # an error says which it was
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
