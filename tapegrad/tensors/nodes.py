"""The states of a node, and the changes from one to another.

| class | `data` | how its value is found |
| --- | --- | --- |
| `Tensor` | the value | it is there |
| `Weak` | empty | by a weak reference: no backward closure reads the value |
| `checkpoint.Recomputed` | empty until read | the op runs again: a checkpointing tape does not save the value |
| `jax.DeviceTensor` | empty | it is copied from the device |
| `Deferred` | empty until read | it is the relu of another node: a max pool of it needs no value |
| `Frozen` | the value | it is there; it was computed from frozen parameters and buffers, and counts as one of them |
"""

from __future__ import annotations

import math
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol
from weakref import ref

from typing_extensions import override

from tapegrad.autograd.locks import open_in_children
from tapegrad.autograd.tape import NoneTape
from tapegrad.engines import engine
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
        return _source(self).shape

    @property
    @override
    def dtype(self) -> Any:
        return _source(self).dtype

    @property
    @override
    def ndim(self) -> int:
        return len(_source(self).shape)

    @property
    @override
    def size(self) -> int:
        return math.prod(_source(self).shape)

    @property
    @override
    def is_float(self) -> bool:
        is_float: bool = _source(self).dtype.kind in "fV"
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


class Deferred(Lazy[Any, Any]):
    """The result of `relu`, which is computed at the first read.

    A max pool that follows computes both in one pass over the operand of `relu`, and does not read it.
    """

    __slots__ = ()

    @override
    def save_value(self) -> None:
        """Keep the value, once it is computed, because a backward closure may read it."""
        with _COMPUTING:
            if self.__class__ is Deferred:
                self.node.is_needed = True
            else:  # another thread has computed it meanwhile
                self.save_value()

    @override
    def read(self) -> Any:
        with _COMPUTING:
            if self.__class__ is Deferred:  # no other thread has computed it meanwhile
                _compute(self)
        return self.data

    @override
    def __reduce__(self) -> Any:
        return Tensor, (self.data,)


class DeferredResult(Tensor[Any, Any, Any]):
    """The taped tensor whose node is `Deferred`."""

    __slots__ = ()

    is_saved: ClassVar[bool] = False

    if not TYPE_CHECKING:  # as in `Lazy`

        def __getattr__(self, name: str) -> Any:
            """Return the value for `data`; Python calls this only while the slot is empty."""
            if name != "data":
                raise attribute_error("Tensor", name, "'Tensor' object")
            with _COMPUTING:
                if self.__class__ is DeferredResult:  # no other thread has computed it meanwhile
                    _compute_result(self)
            return self.data

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
        return self.node.ndim

    @property
    @override
    def size(self) -> int:
        return self.node.size

    @property
    @override
    def is_float(self) -> bool:
        return self.node.is_float


Deferred.__name__ = DeferredResult.__name__ = "Tensor"  # in messages: until it is read, it is like any other


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


class _Relu:
    """The `relu` of an operand that is a float array.

    Attributes:
        is_needed: Whether a backward closure may read the value.
    """

    __slots__ = ("dtype", "is_needed", "operand", "shape")

    def __init__(self, operand: Any) -> None:
        self.operand = operand
        self.is_needed = False
        self.shape, self.dtype = operand.data.shape, operand.data.dtype

    def value(self) -> Any:
        """Compute the value."""
        value = self.operand.data
        return engine(value).relu(value)


def _source(x: Any) -> Any:
    """Return the source of a lazy tensor, or its value if another thread has computed it meanwhile."""
    source = getattr(x, "node", None)
    return x.data if source is None else source


def mark_frozen(node: Any) -> None:
    """Turn a plain node into one of a frozen result."""
    if node.__class__ is Tensor:
        node.__class__ = Frozen


def set_lazy(node: Any, kind: type[Lazy[Any, Any]], source: Source) -> None:
    """Turn a plain node into a lazy one without a value."""
    del node.data
    node.__class__ = kind
    node.node = source


def defer_relu(result: Any, out: Any, operand: Any) -> None:
    """Defer the computation of a relu until its value is read.

    Args:
        result: The tensor that the op returns.
        out: Its node, which may be the same object; both have another array in place of the value.
        operand: The operand of the op, a node whose value stays available.
    """
    source = _Relu(operand)
    if out.__class__ is Tensor:  # otherwise the tape has released the other array
        del out.data
    out.__class__ = Deferred
    out.node = source
    if result is not out:
        del result.data
        result.__class__ = DeferredResult


def deferred_operand(x: Any) -> Any:
    """Return the operand of the relu whose result is deferred and not yet computed, or None."""
    out = x.node if x.__class__ is DeferredResult else x
    source = getattr(out, "node", None) if out.__class__ is Deferred else None  # another thread may compute it now
    return source.operand if isinstance(source, _Relu) else None


def _compute(node: Any) -> None:
    """Turn a deferred node into a plain one; the value comes first, so that no thread misses it."""
    node.data = node.node.value()
    node.__class__ = Tensor
    del node.node


def _compute_result(result: Any) -> None:
    """Turn a taped tensor with a deferred node into a plain one; the node keeps the value only if it is needed."""
    node = result.node
    is_needed = node.__class__ is not Deferred or node.node.is_needed
    value = node.data if is_needed else node.node.value()
    result.data = value
    result.__class__ = Tensor
    if not is_needed:
        node.node = _Held(value)
        node.__class__ = Weak


def set_plain(node: Any, value: Any) -> None:
    """Turn a lazy node into a plain one with a value."""
    del node.node
    node.__class__ = Tensor
    node.data = value


def release_value(node: Any) -> None:
    """Replace the value of a plain node, an array, by a weak reference."""
    if node.__class__ is Tensor:
        set_lazy(node, Weak, _Held(node.data))


_COMPUTING: Final = open_in_children(RLock())  # only one thread computes deferred values at a time
