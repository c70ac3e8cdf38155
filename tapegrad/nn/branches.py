"""Layers side by side: one argument for several, and several results in one sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVarTuple, Unpack, override

from tapegrad import messages
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn.container import Container, check_modules
from tapegrad.ops import add
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor

Layers = TypeVarTuple("Layers", default=Unpack[tuple[Any, ...]])


@public_api
class SplitInto(Container, Generic[*Layers]):
    r"""Gives every layer the same argument, and all their results as a tuple.

    $$y = (f_0(x), f_1(x), \dots)$$

    Args:
        layers: Modules, each of which takes the argument.

    Raises:
        DTypeError: A layer is not a module.
    """

    layers: tuple[*Layers]

    def __init__(self, *layers: *Layers) -> None:
        check_modules("SplitInto", layers)
        self.layers = layers

    @override
    def forward(self, x: Tensor[Any, Any, Any] | tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute each layer's result."""
        layers: tuple[Any, ...] = self.layers
        return tuple(self._through(index, layer, x) for index, layer in enumerate(layers))

    def __getitem__(self, index: int) -> Any:  # the checker knows the class of `layers[index]`
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


@public_api
class AddInto(Container, Generic[*Layers]):
    r"""Gives each layer an argument of its own, and adds their results up.

    $$y = f_0(x_0) + f_1(x_1) + \dots$$

    Args:
        layers: Modules, at least one, whose results have one shape; nothing is broadcast.

    Raises:
        DTypeError: A layer is not a module.
        ValueError: There is no layer.
    """

    layers: tuple[*Layers]

    def __init__(self, *layers: *Layers) -> None:
        check_modules("AddInto", layers)
        if not layers:
            message = "AddInto: there is no layer, so nothing to add"
            raise ValueError(message)
        self.layers = layers

    @override
    def forward(self, inputs: tuple[Any, ...]) -> Tensor[Any, Any, Any]:
        """Compute the sum of each layer's result for its place in `inputs`, in the shape that all of them have."""
        layers: tuple[Any, ...] = self.layers
        _check_number(inputs, len(layers))
        total = self._through(0, layers[0], inputs[0])
        for index, layer in enumerate(layers[1:], start=1):
            total = add(total, self._through(index, layer, inputs[index], like=total))
        return total

    def __getitem__(self, index: int) -> Any:  # the checker knows the class of `layers[index]`
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


def _check_number(inputs: object, count: int) -> None:
    expected = f"a tuple of {count}"
    if not isinstance(inputs, tuple):  # the rows of a tensor would do for inputs
        kind = messages.with_article(type(inputs).__name__)
        raise DTypeError(messages.wrong_number("AddInto.forward", "inputs", kind, expected))
    if len(inputs) != count:
        raise ShapeError(messages.wrong_number("AddInto.forward", "inputs", f"a tuple of {len(inputs)}", expected))
