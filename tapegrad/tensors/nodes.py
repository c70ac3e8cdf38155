"""The states of a node, and the changes from one to another.

| class | `data` | how its value is found |
| --- | --- | --- |
| `Tensor` | the value | it is there |
| `Weak` | empty | by a weak reference: no backward closure reads the value |
| `checkpoint.Recomputed` | empty until read | the op runs again: a checkpointing tape does not save the value |
| `jax.DeviceTensor` | empty | it is copied from the device |
| `Frozen` | the value | it is there; it was computed from frozen parameters and buffers, and counts as one of them |
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import ref

from typing_extensions import override

from tapegrad.autograd.tape import NoneTape
from tapegrad.errors import TapeError
from tapegrad.errors.other_names import attribute_error
from tapegrad.sizes import show
from tapegrad.tensors import D_co, S_co, Tensor

if TYPE_CHECKING:
    import numpy as np


class Source(Protocol):
    """The source of a lazy tensor's value; shape and dtype are known before the value is computed."""

    @property
    def shape(self) -> Any:
        """The sizes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an element."""

    def value(self) -> Any:
        """Return the value."""


class Lazy(Tensor[S_co, NoneTape, D_co]):
    """A tensor with an empty `data` slot: reading `data` returns the value of its source.

    The source is stored in the slot `node`, which only taped tensors use otherwise, so that all tensors have the same
    slots.
    """

    __slots__ = ()

    has_plain_state: ClassVar[bool] = False
    is_saved: ClassVar[bool] = False
    node: Any

    if not TYPE_CHECKING:  # or mypy would accept any name as an attribute

        def __getattr__(self, name: str) -> Any:
            """Return the value for `data`; Python calls this only while the slot is empty."""
            if name != "data":
                raise attribute_error("Tensor", name, f"{type(self).__name__!r} object")
            return self.read()

    def read(self) -> Any:
        """Return the value of the source."""
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


class Weak(Lazy[Any, Any]):
    """A node whose value no backward closure reads: it has a weak reference, valid while the taped tensor exists.

    If an op that is recorded later reads the value, `save_value` turns the node back into a plain tensor.
    """

    __slots__ = ()

    @override
    def save_value(self) -> None:
        set_plain(self, self.node.value())

    @override
    def __reduce__(self) -> Any:
        return Tensor, (self.data,)


class Frozen(Tensor[S_co, NoneTape, D_co]):
    """A result computed from buffers and frozen parameters alone, without a tape.

    Like these it is part of a module and no data: an op on it and a parameter is recorded.
    """

    __slots__ = ()

    has_plain_state: ClassVar[bool] = False
    is_of_module: ClassVar[bool] = True
    frozen: ClassVar[Any] = True


class _Held:
    """A weak reference to a value, with its shape and dtype."""

    __slots__ = ("dtype", "reference", "shape")

    def __init__(self, value: Any) -> None:
        self.reference = ref(value)
        self.shape, self.dtype = value.shape, value.dtype

    def value(self) -> Any:
        """Return the value.

        Raises:
            TapeError: The value has been freed.
        """
        value = self.reference()
        if value is None:
            message = f"the value of a tensor of shape {show(self.shape)} was released: `saved` did not name it"
            raise TapeError(message)
        return value


def mark_frozen(node: Any) -> None:
    """Turn a plain node into one of a frozen result."""
    if node.__class__ is Tensor:
        node.__class__ = Frozen


def set_lazy(node: Any, kind: type[Lazy[Any, Any]], source: Source) -> None:
    """Turn a plain node into a lazy one without a value."""
    del node.data
    node.__class__ = kind
    node.node = source


def set_plain(node: Any, value: Any) -> None:
    """Turn a lazy node into a plain one with a value."""
    del node.node
    node.__class__ = Tensor
    node.data = value


def release_value(node: Any) -> None:
    """Replace the value of a plain node, an array, by a weak reference."""
    if node.__class__ is Tensor:
        set_lazy(node, Weak, _Held(node.data))
