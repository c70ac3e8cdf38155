"""Parallel layers: several layers of one argument, and sums of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVarTuple, Unpack, override

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.container import Container, check_modules
from tapegrad.ops import add

if TYPE_CHECKING:
    from tapegrad.tensors import Tensor

Layers = TypeVarTuple("Layers", default=Unpack[tuple[Any, ...]])


@public_api
class SplitInto(Container, Generic[*Layers]):
    """Parallel layers with a common argument; returns the tuple of their results.

        y = (f₀(x), f₁(x), ...)

    Args:
        layers: Modules that accept the argument.

    Raises:
        DTypeError: A layer is not a module.

    Examples:
        >>> heads = tg.nn.SplitInto(tg.nn.Linear(8, 10, rng=0), tg.nn.Linear(8, 1, rng=0))
        >>> logits, value = heads(tg.normal((4, 8), rng=0))
        >>> logits.shape, value.shape
        ((4, 10), (4, 1))
    """

    layers: tuple[*Layers]

    def __init__(self, *layers: *Layers) -> None:
        check_modules("SplitInto", layers)
        self.layers = layers

    @override
    def forward(self, x: Tensor[Any, Any, Any] | tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute the tuple of the results of all layers."""
        layers: tuple[Any, ...] = self.layers
        return tuple(self._through(index, layer, x) for index, layer in enumerate(layers))

    def __getitem__(self, index: int) -> Any:  # the mypy plugin infers the class of `layers[index]`
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


@public_api
class AddInto(Container, Generic[*Layers]):
    """Parallel layers with one argument each; returns the sum of their results.

        y = f₀(x₀) + f₁(x₁) + ...

    Args:
        layers: At least one module. Their results must have the same shape; nothing is broadcast.

    Raises:
        DTypeError: A layer is not a module.
        ValueError: There is no layer.

    Examples:
        >>> joined = tg.nn.AddInto(tg.nn.Linear(8, 5, rng=0), tg.nn.Linear(3, 5, rng=0))
        >>> text, image = tg.normal((4, 8), rng=0), tg.normal((4, 3), rng=0)
        >>> joined((text, image)).shape
        (4, 5)
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
        """Compute the sum of the results of all layers, each for the item of `inputs` at its position."""
        layers: tuple[Any, ...] = self.layers
        _check_number(inputs, len(layers))
        total = self._through(0, layers[0], inputs[0])
        for index, layer in enumerate(layers[1:], start=1):
            total = add(total, self._through(index, layer, inputs[index], like=total))
        return total

    def __getitem__(self, index: int) -> Any:  # the mypy plugin infers the class of `layers[index]`
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


def _check_number(inputs: object, count: int) -> None:
    expected = f"a tuple of {count}"
    if not isinstance(inputs, tuple):  # a tensor would be accepted otherwise, with one row for each layer
        kind = messages.with_article(type(inputs).__name__)
        raise DTypeError(messages.wrong_number("AddInto.forward", "inputs", kind, expected))
    if len(inputs) != count:
        raise ShapeError(messages.wrong_number("AddInto.forward", "inputs", f"a tuple of {len(inputs)}", expected))
