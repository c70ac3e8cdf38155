"""The engine whose values are themselves recorded: a backward pass that can be run backwards again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad import ops
from tapegrad.backend import Backend, engine, register
from tapegrad.op import CALLS
from tapegrad.ops._lowering import convolved, superposed
from tapegrad.tensor import Tensor, handle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.backend import Elementwise, Slide
    from tapegrad.tape import NoneTape

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound=np.generic, default=np.float32)
Recorded: TypeAlias = Tensor[Any, Any, Any]


class Autodiff(Backend[Recorded]):
    """The primitives over tensors: each is the op of the same meaning, so what closures compute is recorded.

    A tensor made by `from_inner` holds another tensor where others hold an array. Its tape is a level of its own: the
    gradients that come out of it hold tensors that the tape below has recorded, and can be differentiated in turn.
    Arrays and tapeless tensors are constants of every level; lift whatever the gradient is to be differentiated by.

        x = tensor(3.0).trace()
        inner = Autodiff().from_inner(x)
        y = inner.trace()
        slope = Autodiff().inner((y * y * y).backward()[inner])  # 27, on the tape of x
        slope.backward()[x]  # 18
    """

    name = "autodiff"

    exp = staticmethod(ops.exp)
    log = staticmethod(ops.log)
    tanh = staticmethod(ops.tanh)
    relu = staticmethod(ops.relu)
    sum = staticmethod(ops.sum)
    max = staticmethod(ops.max)
    min = staticmethod(ops.min)
    prod = staticmethod(ops.prod)
    cumsum = staticmethod(ops.cumsum)
    cumprod = staticmethod(ops.cumprod)
    argmax = staticmethod(ops.argmax)
    argmin = staticmethod(ops.argmin)
    argsort = staticmethod(ops.argsort)
    all = staticmethod(ops.all)
    any = staticmethod(ops.any)
    equal = staticmethod(ops.equal)
    greater = staticmethod(ops.greater)
    cast = staticmethod(ops.astype)
    inv = staticmethod(ops.inv)
    det = staticmethod(ops.det)
    softmax = staticmethod(ops.softmax)

    def from_inner(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
        """Returns a new tensor without a tape whose value is `x`, a tensor of the level below."""
        value: Any = x  # a tensor is a value by what it can do, not by name
        return x.with_data(value)

    def inner(self, y: Tensor[S, Any, D]) -> Tensor[S, Any, D]:
        """Returns the value of a tensor of this level: a tensor of the level below, with the tape it has there."""
        value: Tensor[S, Any, D] = _lifted(y.data)
        return value

    @override
    def map(self, name: Elementwise, *operands: Recorded) -> Recorded:
        result: Recorded = CALLS[name](*map(_lifted, operands))
        return result

    @override
    def where(self, condition: Recorded, x: Recorded, y: Recorded | float) -> Recorded:
        return ops.where(_lifted(condition), _lifted(x), _lifted(y))

    @override
    def broadcast_to(self, x: Recorded, shape: Sequence[int]) -> Recorded:
        return ops.broadcast_to(x, tuple(shape))

    @override
    def argcummax(self, x: Recorded, axis: int) -> Recorded:
        return handle(engine(x.data).argcummax(x.data, axis))

    @override
    def argcummin(self, x: Recorded, axis: int) -> Recorded:
        return handle(engine(x.data).argcummin(x.data, axis))

    @override
    def concat(self, values: Sequence[Recorded], axis: int) -> Recorded:
        return ops.concat([_lifted(value) for value in values], axis)

    @override
    def pad(self, x: Recorded, pad_width: Sequence[tuple[int, int]], value: float) -> Recorded:
        return ops.pad(x, tuple(pad_width), value=value)

    @override
    def getitem(self, x: Recorded, index: Any) -> Recorded:
        return ops.getitem(x, index)

    @override
    def at_set(self, x: Recorded, index: Any, value: Recorded | float) -> Recorded:
        return ops.at_set(_lifted(x), index, _lifted(value))

    @override
    def at_add(self, x: Recorded, index: Any, value: Recorded | float) -> Recorded:
        return ops.at_add(_lifted(x), index, _lifted(value))

    @override
    def place(self, shape: Sequence[int], index: Any, value: Recorded) -> Recorded:
        return ops.at_add(ops.zeros(tuple(shape), value.dtype.type), index, value)

    @override
    def swap_last_axes(self, x: Recorded) -> Recorded:
        axes = tuple(range(x.ndim))
        return ops.transpose(x, (*axes[:-2], *axes[-2:][::-1]))

    @override
    def einsum(self, subscripts: str, *values: Recorded) -> Recorded:
        return ops.einsum(subscripts, *map(_lifted, values))

    @override
    def solve(self, x: Recorded, y: Recorded) -> Recorded:
        return ops.solve(_lifted(x), _lifted(y))

    @override
    def take(self, x: Recorded, indices: Recorded, axis: int) -> Recorded:
        return ops.take(_lifted(x), _lifted(indices), axis)

    @override
    def scatter_add(self, shape: Sequence[int], indices: Recorded, updates: Recorded, axis: int) -> Recorded:
        return ops.scatter_add(_lifted(updates), _lifted(indices), tuple(shape), axis)

    @override
    def superpose(self, shape: Sequence[int], places: Sequence[Any], values: Sequence[Recorded]) -> Recorded:
        return superposed([_lifted(value) for value in values], tuple(shape), places)

    @override
    def convolve(self, x: Recorded, w: Recorded, slide: Slide) -> Recorded:
        shape = (*x.shape[:2], w.shape[1], *slide.sizes)
        return convolved(_lifted(x), _lifted(w), slide, x.shape, w.shape, shape)

    @override
    def one_hot(self, indices: Recorded, size: int, dtype: Any) -> Recorded:
        return handle(engine(indices.data).one_hot(indices.data, size, dtype))

    @override
    def ones(self, shape: Sequence[int], dtype: Any) -> Recorded:
        return ops.ones(tuple(shape), dtype)

    @override
    def zeros(self, shape: Sequence[int], dtype: Any) -> Recorded:
        return ops.zeros(tuple(shape), dtype)


def _lifted(value: Any) -> Any:
    """Gives an array from outside, such as labels or a mask, the form of a value of this engine."""
    array: Any = value if isinstance(value, np.ndarray | np.generic) else None
    return value if array is None else handle(array)


register(Autodiff(), Tensor)
