"""Tensors on a device: the results of compiled steps."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from typing_extensions import override

from tapegrad.autograd.tape import NONE, OwnedTape
from tapegrad.errors import TapeError, messages
from tapegrad.nn.param import printed_parts, processes_of
from tapegrad.tensors import D_co, S_co, Tensor, as_compute_dtype
from tapegrad.tensors.nodes import Lazy


class DeviceTensor(Lazy[S_co, D_co]):
    """A tensor on a device; its elements are copied to the host when they are first read, and only once."""

    __slots__ = ()

    node: Any  # JAX's array

    @classmethod
    def of(cls, array: Any) -> Self:
        """Return the tensor of a JAX array."""
        tensor = _new(cls)
        tensor.tape, tensor.node = NONE, array
        return tensor  # type: ignore[no-any-return]  # `object.__new__` returns an instance of its argument

    @override
    def read(self) -> Any:
        self.data = as_compute_dtype(here(self.node))
        return self.data

    @override
    def numpy(self, *, copy: bool = False) -> Any:
        return np.array(here(self.node)) if copy else here(self.node)  # JAX's arrays are read-only too

    @override
    def detach(self) -> Any:
        return DeviceTensor.of(self.node)

    @override
    def _printed(self, indent: int) -> str:
        return printed_parts(self.node) or super()._printed(indent)

    @override
    def __reduce__(self) -> Any:
        return Tensor, (self.data,)  # for processes without that device


class DeviceTensorWithTape(Lazy[S_co, D_co]):
    """A tensor on a device whose tape was consumed while the step was traced."""

    __slots__ = ()

    @classmethod
    def of(cls, array: Any, tape: OwnedTape) -> Self:
        """Return the tensor of a JAX array, with the tape."""
        tensor = _new(cls)
        tensor.tape, tensor.node = tape, DeviceTensor.of(array)
        return tensor  # type: ignore[no-any-return]  # `object.__new__` returns an instance of its argument

    @override
    def read(self) -> Any:
        self.data = self.node.data
        return self.data

    @override
    def detach(self) -> Any:
        return DeviceTensor.of(self.node.node)


def here(array: Any) -> Any:
    """Return the elements of a JAX array, a view if they are in host memory.

    Raises:
        TapeError: Other processes have a part of them.
    """
    try:
        return np.asarray(array)
    except RuntimeError:  # checked only after reading has failed
        if processes := processes_of(array):
            raise TapeError(messages.in_parts(array.shape, processes)) from None
        raise


_new: Any = object.__new__  # Any: the caller annotates the result
