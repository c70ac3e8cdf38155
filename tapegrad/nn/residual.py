"""Layers that keep the shape of what they get: around one with a shortcut, and several of a kind in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar, override

from tapegrad import messages
from tapegrad.errors import DTypeError
from tapegrad.nn.container import Container, check_module, check_modules
from tapegrad.nn.module import Module
from tapegrad.ops import add, mul
from tapegrad.options import check_count
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.tensor import D, S, T, Tensor

Layer = TypeVar("Layer", bound=Module, default=Any, covariant=True)
First = TypeVar("First", bound=Module, default=Any, covariant=True)
Second = TypeVar("Second", bound=Module, default=Any, covariant=True)
Times = TypeVar("Times", bound=int, default=Any, covariant=True)


@public_api
class Residual(Container, Generic[Layer]):
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
        """Compute `x + layer(x)`, of any shape."""
        y: Tensor[S, T, D] = self._through("layer", self.layer, x, like=x)
        return add(x, y)


@public_api
class ResidualMul(Container, Generic[Layer]):
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
        """Compute `x * layer(x)`, of any shape."""
        y: Tensor[S, T, D] = self._through("layer", self.layer, x, like=x)
        return mul(x, y)


@public_api
class GeneralizedAdd(Container, Generic[First, Second]):
    r"""Adds what two layers make of one argument: $y = f(x) + g(x)$.

    With a layer in the second place that only changes the size, such as a `Linear`, it is a shortcut around a first
    that changes it too.

    Args:
        first: A module, f.
        second: A module, g, that gives the shape which the first one gives; nothing is broadcast.

    Raises:
        DTypeError: A layer is not a module.

    Source:
        He et al., [Deep residual learning](https://arxiv.org/abs/1512.03385), eq. 2.
    """

    def __init__(self, first: First, second: Second) -> None:
        check_module("GeneralizedAdd: first", first)
        check_module("GeneralizedAdd: second", second)
        self.first = first
        self.second = second

    @override
    def forward(self, x: Tensor[Any, T, Any]) -> Tensor[Any, T, Any]:
        """Compute `first(x) + second(x)`."""
        y: Tensor[Any, T, Any] = self._through("first", self.first, x)
        z: Tensor[Any, T, Any] = self._through("second", self.second, x, like=y)
        return add(y, z)


@public_api
class GeneralizedMul(Container, Generic[First, Second]):
    r"""Multiplies what two layers make of one argument: $y = f(x) \, g(x)$.

    With a second that ends in a sigmoid it is a gate.

    Args:
        first: A module, f.
        second: A module, g, that gives the shape which the first one gives; nothing is broadcast.

    Raises:
        DTypeError: A layer is not a module.

    Source:
        Dauphin et al., [Language modeling with gated convolutional networks](https://arxiv.org/abs/1612.08083), eq. 1,
        where g ends in a sigmoid.
    """

    def __init__(self, first: First, second: Second) -> None:
        check_module("GeneralizedMul: first", first)
        check_module("GeneralizedMul: second", second)
        self.first = first
        self.second = second

    @override
    def forward(self, x: Tensor[Any, T, Any]) -> Tensor[Any, T, Any]:
        """Compute `first(x) * second(x)`."""
        y: Tensor[Any, T, Any] = self._through("first", self.first, x)
        z: Tensor[Any, T, Any] = self._through("second", self.second, x, like=y)
        return mul(y, z)


@public_api
class Repeated(Container, Generic[Layer, Times]):
    r"""Passes its argument through layers of one kind, each with parameters of its own.

    $$y = f_{n - 1}(\dots f_1(f_0(x)))$$

    `Repeated(lambda: Linear(64, 64), 3)` has three layers. What a call gives beside its argument each layer gets.

    Args:
        make: Makes one layer, a module; one of several must give the shape and the dtype it gets.
        times: How many layers n there are, at least 0.

    Raises:
        DTypeError: What is made is not a module, or `make` is one itself.
        ValueError: `times` is negative.
    """

    layers: tuple[Layer, ...]

    def __init__(self: Repeated[Layer, Any], make: Callable[[], Layer], times: Times) -> None:
        check_count("Repeated", "times", times, least=0)
        if isinstance(make, Module):
            kind = messages.with_article(type(make).__name__)
            message = f"Repeated: make is {kind} but a function that makes one is expected: each layer has its own"
            raise DTypeError(message)
        self.layers = tuple(make() for _ in range(times))
        check_modules("Repeated", self.layers)

    @override
    def forward(self, x: Tensor[Any, Any, Any], *others: Any, **options: Any) -> Tensor[Any, Any, Any]:
        """Compute the last layer's result: of any shape, which more layers than one must keep.

        What is given beside `x` goes to each layer, such as a memory and a mask to those of a decoder.
        """
        several = len(self.layers) > 1
        for index, layer in enumerate(self.layers):
            x = self._through(index, layer, x, like=x if several else None, beside=(others, options))
        return x

    def __getitem__(self, index: int) -> Layer:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)
