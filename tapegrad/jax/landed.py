"""Tensors that a jitted step has left on a device."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from typing_extensions import override

from tapegrad.errors import TapeError
from tapegrad.jax.library import jax
from tapegrad.nodes import Lazy
from tapegrad.tape import NONE, OwnedTape
from tapegrad.tensor import D_co, S_co, Tensor, as_compute_dtype


class Landed(Lazy[S_co, D_co]):
    """A tensor on a device: its numbers come over when somebody reads them, and but once."""

    __slots__ = ()

    node: Any  # JAX's array

    @classmethod
    def of(cls, array: Any) -> Self:
        """Return the tensor of an array of JAX's."""
        tensor = _new(cls)
        tensor.tape, tensor.node = NONE, array
        return tensor  # type: ignore[no-any-return]  # what `object.__new__` makes is of the class it is given

    @override
    def read(self) -> Any:
        self.data = as_compute_dtype(here(self.node))
        return self.data

    @override
    def numpy(self, *, copy: bool = False) -> Any:
        return np.array(here(self.node)) if copy else here(self.node)  # JAX lets nobody write into it either

    @override
    def detach(self) -> Any:
        return Landed.of(self.node)

    @override
    def __reduce__(self) -> Any:
        return Tensor, (self.data,)  # for where there is no such device


class LandedWithTape(Lazy[S_co, D_co]):
    """A tensor on a device whose tape was consumed while the step was traced."""

    __slots__ = ()

    @classmethod
    def of(cls, array: Any, tape: OwnedTape) -> Self:
        """Return the tensor of an array of JAX's, with the tape."""
        tensor = _new(cls)
        tensor.tape, tensor.node = tape, Landed.of(array)
        return tensor  # type: ignore[no-any-return]  # what `object.__new__` makes is of the class it is given

    @override
    def read(self) -> Any:
        self.data = self.node.data
        return self.data

    @override
    def detach(self) -> Any:
        return Landed.of(self.node.node)


def here(array: Any) -> Any:
    """Return the numbers of an array of JAX's, a view where they are in this memory.

    Raises:
        TapeError: Another process has a part of them.
    """
    try:
        return np.asarray(array)
    except RuntimeError:  # asked afterwards: to ask takes longer than to read
        if array.is_fully_addressable:
            raise
    message = (
        f"a tensor of shape {array.shape} has parts in {jax.process_count()} processes; "
        "replicate it with tapegrad.jax.place before its numbers are read"
    )
    raise TapeError(message)


_new: Any = object.__new__  # Any: what it makes is typed by who asks for it
