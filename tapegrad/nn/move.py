"""Layers that reshape their argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from typing_extensions import TypeVar, override

from tapegrad.errors.tracebacks import public_api
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.ops import flatten, reshape
from tapegrad.sizes import show
from tapegrad.sizes.constraints import check_shape

if TYPE_CHECKING:
    from tapegrad.sizes import Mul
    from tapegrad.tensors import D, T, Tensor
    from tapegrad.tensors.aliases import Shape

AfterBatch = TypeVar("AfterBatch", bound=bool, default=Any)
After = TypeVar("After", bound=tuple[Any, ...], default=Any)
Whole = TypeVar("Whole", bound=tuple[Any, ...], default=Any, covariant=True)
N0 = TypeVar("N0", bound=int)
N1 = TypeVar("N1", bound=int)
N2 = TypeVar("N2", bound=int)
N3 = TypeVar("N3", bound=int)
N4 = TypeVar("N4", bound=int)


class Flatten(Module, Generic[AfterBatch]):
    """Flatten all axes from `start_axis` on into one, in row-major order.

        y[b, i · m + j] = x[b,i,j]

    Args:
        start_axis: The first axis to flatten; the axes before it do not change.

    Examples:
        >>> images = tg.zeros((2, 3, 4, 4))
        >>> tg.nn.Flatten()(images).shape
        (2, 48)
        >>> tg.nn.Flatten(start_axis=2)(images).shape
        (2, 3, 16)
    """

    @overload
    def __init__(self: Flatten[Literal[True]], *, start_axis: Literal[1] = 1) -> None: ...
    @overload
    def __init__(self: Flatten[Literal[False]], *, start_axis: int) -> None: ...
    @guarded
    def __init__(self, *, start_axis: int = 1) -> None:
        self.start_axis = start_axis

    @overload
    def forward(self: Flatten[Literal[True]], x: Tensor[Shape[N0, N1], T, D]) -> Tensor[Shape[N0, N1], T, D]: ...
    @overload
    def forward(
        self: Flatten[Literal[True]], x: Tensor[Shape[N0, N1, N2], T, D]
    ) -> Tensor[Shape[N0, Mul[N1, N2]], T, D]: ...
    @overload
    def forward(
        self: Flatten[Literal[True]], x: Tensor[Shape[N0, N1, N2, N3], T, D]
    ) -> Tensor[Shape[N0, Mul[Mul[N1, N2], N3]], T, D]: ...
    @overload
    def forward(
        self: Flatten[Literal[True]], x: Tensor[Shape[N0, N1, N2, N3, N4], T, D]
    ) -> Tensor[Shape[N0, Mul[Mul[Mul[N1, N2], N3], N4]], T, D]: ...
    @overload
    def forward(self, x: Tensor[Any, T, D]) -> Tensor[Any, T, D]: ...
    @override
    def forward(self, x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        """Compute `flatten(x, start_axis)`, by default `(N, C * H * W)` for `(N, C, H, W)`."""
        return flatten(x, self.start_axis)

    @override
    def __repr__(self) -> str:
        return "Flatten()" if self.start_axis == 1 else f"Flatten(start_axis={self.start_axis})"


class Unflatten(Module, Generic[After]):
    """Reshape all axes after the batch axis, in row-major order; the inverse of `Flatten`.

        y[b,i,j] = x[b, i · m + j]

    Args:
        shape: The sizes after the batch axis, each at least 0.

    Raises:
        ShapeError: A size is negative.

    Examples:
        >>> rows = tg.arange(12).reshape((2, 6))
        >>> tg.nn.Unflatten((2, 3))(rows).tolist()
        [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]
    """

    @public_api
    def __init__(self, shape: After) -> None:
        check_shape("Unflatten", shape)
        self.shape = shape

    @overload
    def forward(
        self: Unflatten[Shape[N1, N2]], x: Tensor[Shape[N0, *tuple[Any, ...]], T, D]
    ) -> Tensor[Shape[N0, N1, N2], T, D]: ...
    @overload
    def forward(
        self: Unflatten[Shape[N1, N2, N3]], x: Tensor[Shape[N0, *tuple[Any, ...]], T, D]
    ) -> Tensor[Shape[N0, N1, N2, N3], T, D]: ...
    @overload
    def forward(
        self: Unflatten[Shape[N1, N2, N3, N4]], x: Tensor[Shape[N0, *tuple[Any, ...]], T, D]
    ) -> Tensor[Shape[N0, N1, N2, N3, N4], T, D]: ...
    @overload
    def forward(self, x: Tensor[Any, T, D]) -> Tensor[Any, T, D]: ...
    @override
    def forward(self, x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        """Compute `reshape(x, (N, *shape))` for `x` of shape `(N, ...)`."""
        return reshape(x, (*x.shape[:1], *self.shape))

    @override
    def __repr__(self) -> str:
        return f"Unflatten({show(self.shape)})"


class Reshape(Module, Generic[Whole]):
    """Reshape all axes including the batch, in row-major order; `Unflatten` keeps the batch axis.

    Args:
        shape: The sizes, each at least 0.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `shape` is not a tuple of ints.

    Examples:
        >>> x = tg.arange(6)
        >>> tg.nn.Reshape((2, 3))(x).tolist()
        [[0, 1, 2], [3, 4, 5]]
    """

    @public_api
    def __init__(self, shape: Whole) -> None:
        check_shape("Reshape", shape)
        self.shape = shape

    @override
    def forward(self, x: Tensor[Any, T, D]) -> Tensor[Whole, T, D]:
        """Compute `reshape(x, shape)`."""
        y: Tensor[Whole, T, D] = reshape(x, self.shape)
        return y

    @override
    def __repr__(self) -> str:
        return f"Reshape({show(self.shape)})"
