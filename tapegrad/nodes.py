"""Tensors that compute their value when it is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import ref

from typing_extensions import override

from tapegrad.dims import show
from tapegrad.errors import TapeError
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
        """Return the value."""


class Lazy(Tensor[S_co, NoneTape, D_co]):
    """A tensor whose slot for the value is empty: reading `data` asks its source, which knows the shape before.

    Its source stands where a taped tensor has its node, so that it has the slots of any other.
    """

    __slots__ = ()

    has_plain_state: ClassVar[bool] = False
    is_saved: ClassVar[bool] = False
    node: Any

    def __getattr__(self, name: str) -> Any:
        """Is asked for `data` alone, while the slot is empty."""
        if name != "data":
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)
        return self.read()

    def read(self) -> Any:
        """Return the value, which is not there."""
        return self.node.value()

    @property
    @override
    def shape(self) -> Any:
        return self.node.shape

    @property
    @override
    def dtype(self) -> Any:
        return self.node.dtype

    @property
    @override
    def ndim(self) -> int:
        return len(self.node.shape)

    @property
    @override
    def size(self) -> int:
        return math.prod(self.node.shape)

    @property
    @override
    def is_float(self) -> bool:
        is_float: bool = self.node.dtype.kind in "fV"
        return is_float


class Loose(Lazy[Any, Any]):
    """A node whose value no closure reads: it is there for as long as the tensor with the tape is.

    A step that comes later and does read it fastens it, and it is a plain tensor again.
    """

    __slots__ = ()

    @override
    def save_value(self) -> None:
        node: Any = self
        value = self.node.value()
        del node.node
        node.__class__ = Tensor
        node.data = value

    @override
    def __reduce__(self) -> Any:
        return Tensor, (self.data,)


class _Held:
    """A value that somebody else holds, and what is known of it for good."""

    __slots__ = ("dtype", "reference", "shape")

    def __init__(self, value: Any) -> None:
        self.reference = ref(value)
        self.shape, self.dtype = value.shape, value.dtype

    def value(self) -> Any:
        """Return the value.

        Raises:
            TapeError: Nobody holds it any more.
        """
        value = self.reference()
        if value is None:
            message = f"the value of a tensor of shape {show(self.shape)} was let go of: `saved` did not name it"
            raise TapeError(message)
        return value


def release_value(node: Any) -> None:
    """Let go of the value of a node, an array, if the node is a plain one."""
    if node.__class__ is Tensor:
        held: Any = _Held(node.data)
        del node.data
        node.__class__ = Loose
        node.node = held
