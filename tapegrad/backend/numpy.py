"""The embedded engine: NumPy, with no compiler and no download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.backend.value import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class NumPy(Backend[Array]):
    """The primitives over `numpy.ndarray`; results may be NumPy scalars, which serve as arrays of rank 0."""

    name = "numpy"

    # Any: mypy compares only the first overload of a ufunc with the primitive's signature.
    exp: Any = staticmethod(np.exp)
    log: Any = staticmethod(np.log)
    tanh: Any = staticmethod(np.tanh)
    equal: Any = staticmethod(np.equal)
    greater: Any = staticmethod(np.greater)
    where: Any = staticmethod(np.where)
    broadcast_to: Any = staticmethod(np.broadcast_to)
    ones: Any = staticmethod(np.ones)

    @override
    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    @override
    def sum(self, x: Array, axis: int | tuple[int, ...] | None, *, keepdims: bool) -> Array:
        total: Array = np.add.reduce(x, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]  # asks for a literal
        return total  # half the cost of np.sum on small arrays

    @override
    def max(self, x: Array, axis: int | tuple[int, ...] | None, *, keepdims: bool) -> Array:
        largest: Array = np.maximum.reduce(x, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]  # asks for a literal
        return largest

    @override
    def swap_last_axes(self, x: Array) -> Array:
        return x.T if x.ndim <= 2 else x.swapaxes(-1, -2)  # a matrix has two axes

    @override
    def cast(self, x: Array, dtype: Any) -> Array:
        return x.astype(dtype)

    @override
    def take(self, x: Array, indices: Array, axis: int) -> Array:
        return np.take(x, indices, axis=axis)

    @override
    def scatter_add(self, shape: Sequence[int], indices: Array, updates: Array, axis: int) -> Array:
        out = np.zeros(shape, updates.dtype)
        index: Any = (*(slice(None),) * axis, indices)  # NumPy's stubs of `at` know no slices
        np.add.at(out, index, updates)
        return out

    @override
    def one_hot(self, indices: Array, size: int, dtype: Any) -> Array:
        return np.asarray(np.equal.outer(indices, np.arange(size)), dtype)
