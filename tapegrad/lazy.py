"""Tensors that compute their value when it is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from typing_extensions import override

from tapegrad.tape import NoneTape
from tapegrad.tensor import D_co, S_co, Tensor

if TYPE_CHECKING:
    import numpy as np


class Source(Protocol):
    """Where a lazy tensor has its value from: what is known of it before it is computed, and how it is."""

    @property
    def shape(self) -> Any:
        """The sizes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an element."""

    def value(self) -> Any:
        """Returns the value."""


class Lazy(Tensor[S_co, NoneTape, D_co]):
    """A tensor whose slot for the value is empty: reading `data` asks its source, which knows the shape before.

    Its source stands where a taped tensor has its handle, so that it has the slots of any other.
    """

    __slots__ = ()

    kept: ClassVar[bool] = False
    handle: Any

    def __getattr__(self, name: str) -> Any:
        """Is asked for `data` alone, while the slot is empty."""
        if name != "data":
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)
        return self.read()

    def read(self) -> Any:
        """Returns the value, which is not there."""
        return self.handle.value()

    @property
    @override
    def shape(self) -> Any:
        return self.handle.shape

    @property
    @override
    def dtype(self) -> Any:
        return self.handle.dtype

    @property
    @override
    def ndim(self) -> int:
        return len(self.handle.shape)

    @property
    @override
    def size(self) -> int:
        return math.prod(self.handle.shape)

    @property
    @override
    def is_float(self) -> bool:
        is_float: bool = self.handle.dtype.kind == "f"
        return is_float
