"""Residual connections, sums and products of layers, and repeated layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar, override

from tapegrad.errors import DTypeError, messages
from tapegrad.errors.options import check_count, check_function
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.container import Container, check_module, check_modules
from tapegrad.nn.module import Module
from tapegrad.nn.repeated import in_a_loop
from tapegrad.ops import add, mul

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.sizes.arithmetic import Given
    from tapegrad.tensors import D, S, T, Tensor

Layer = TypeVar("Layer", bound=Module, default=Any, covariant=True)
First = TypeVar("First", bound=Module, default=Any, covariant=True)
Second = TypeVar("Second", bound=Module, default=Any, covariant=True)
Times = TypeVar("Times", bound=int, default=Any, covariant=True)


@public_api
class Residual(Container, Generic[Layer]):
    """Residual connection around a layer: `y = x + f(x)`.

    Args:
        layer: A module that keeps the shape of its argument; nothing is broadcast.

    Raises:
        DTypeError: The layer is not a module.

    Source:
        He et al., [Deep residual learning](https://arxiv.org/abs/1512.03385), eq. 1.

    Examples:
        >>> block = tg.nn.Residual(tg.nn.ReLU())
        >>> block(tg.tensor([-1.0, 2.0])).tolist()
        [-1.0, 4.0]
        >>> block = tg.nn.Residual(tg.nn.Linear(8, 8, rng=0))
        >>> block(tg.normal((2, 8), rng=0)).shape
        (2, 8)
    """

    def __init__(self, layer: Layer) -> None:
        check_module("Residual: layer", layer)
        self.layer = layer

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Compute `x + layer(x)` for `x` of any shape."""
        y: Tensor[S, T, D] = self._through("layer", self.layer, x, like=x)
        return add(x, y)


@public_api
class ResidualMul(Container, Generic[Layer]):
    """Multiplicative residual connection around a layer: `y = x f(x)`.

    Args:
        layer: A module that keeps the shape of its argument, such as one that ends in a sigmoid; nothing is broadcast.

    Raises:
        DTypeError: The layer is not a module.

    Examples:
        >>> block = tg.nn.ResidualMul(tg.nn.Sigmoid())
        >>> np.round(block(tg.tensor([-1.0, 2.0])).numpy().astype(float), 3).tolist()
        [-0.269, 1.762]
    """

    def __init__(self, layer: Layer) -> None:
        check_module("ResidualMul: layer", layer)
        self.layer = layer

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Compute `x * layer(x)` for `x` of any shape."""
        y: Tensor[S, T, D] = self._through("layer", self.layer, x, like=x)
        return mul(x, y)


@public_api
class GeneralizedAdd(Container, Generic[First, Second]):
    """Sum of two layers of the same argument: `y = f(x) + g(x)`.

    If the first layer changes the size, the second can be a projection shortcut around it, such as a `Linear`.

    Args:
        first: A module, f.
        second: A module, g, whose result has the shape of that of the first; nothing is broadcast.

    Raises:
        DTypeError: A layer is not a module.

    Source:
        He et al., [Deep residual learning](https://arxiv.org/abs/1512.03385), eq. 2.

    Examples:
        >>> branch = tg.nn.Sequential(tg.nn.Linear(8, 16, rng=0), tg.nn.ReLU(), tg.nn.Linear(16, 4, rng=0))
        >>> block = tg.nn.GeneralizedAdd(branch, tg.nn.Linear(8, 4, rng=0))
        >>> block(tg.normal((2, 8), rng=0)).shape
        (2, 4)
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
    """Product of two layers of the same argument: `y = f(x) g(x)`.

    If the second layer ends in a sigmoid, it is a gate.

    Args:
        first: A module, f.
        second: A module, g, whose result has the shape of that of the first; nothing is broadcast.

    Raises:
        DTypeError: A layer is not a module.

    Source:
        Dauphin et al., [Language modeling with gated convolutional networks](https://arxiv.org/abs/1612.08083), eq. 1,
        where g ends in a sigmoid.

    Examples:
        >>> gate = tg.nn.Sequential(tg.nn.Linear(8, 4, rng=0), tg.nn.Sigmoid())
        >>> block = tg.nn.GeneralizedMul(tg.nn.Linear(8, 4, rng=0), gate)
        >>> block(tg.normal((2, 8), rng=0)).shape
        (2, 4)
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
    """A sequence of n layers of the same kind, each with its own parameters.

        y = f_(n - 1)(... f₁(f₀(x)))

    `Repeated(lambda: Linear(64, 64), 3)` has three layers. Further arguments of a call are passed to each layer. Under
    `jit`, 16 or more layers without buffers run in a compiled loop, so that a deep model compiles as fast as one layer.

    Args:
        make: A function that creates one layer. If there are several, each must keep the shape and dtype of `x`.
        times: The number of layers n, at least 0.

    Raises:
        DTypeError: The result of `make` is not a module, or `make` is itself a module.
        ValueError: `times` is negative.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> layers = tg.nn.Repeated(lambda: tg.nn.Linear(8, 8, rng=rng), 3)
        >>> layers(tg.normal((2, 8), rng=0)).shape
        (2, 8)
        >>> len(layers), layers[0]
        (3, Linear(8, 8))
    """

    layers: tuple[Layer, ...]

    def __init__(self: Repeated[Layer, Any], make: Callable[[], Layer], times: Given[Times]) -> None:
        check_count("Repeated", "times", times, least=0)
        if isinstance(make, Module):
            kind = messages.with_article(type(make).__name__)
            message = f"Repeated: make is {kind} but a function that makes one is expected: each layer has its own"
            raise DTypeError(message)
        check_function("Repeated", "make", make)
        self.layers = tuple(make() for _ in range(times))
        check_modules("Repeated", self.layers)

    @override
    def forward(self, x: Tensor[Any, Any, Any], *others: Any, **options: Any) -> Tensor[Any, Any, Any]:
        """Compute the result of the last layer, for `x` of any shape.

        Further arguments are passed to each layer, such as the memory and the mask of decoder blocks.
        """
        several = len(self.layers) > 1
        if several:
            y = in_a_loop(self.layers, x, lambda layer, x: self._through(0, layer, x, like=x, beside=(others, options)))
            if y is not None:
                return y
        for index, layer in enumerate(self.layers):
            x = self._through(index, layer, x, like=x if several else None, beside=(others, options))
        return x

    def __getitem__(self, index: int) -> Layer:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)
