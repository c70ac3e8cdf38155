"""Parameters: the tensors that training changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad import sentences
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.tape import NONE, NoneTape
from tapegrad.tensor import D, D_co, S, S_co, Tensor

if TYPE_CHECKING:
    from tapegrad.backend import Value


class Param(Tensor[S_co, NoneTape, D_co]):
    """A float tensor with a name in a module; `backward` gives it a gradient unless it is frozen.

    It is no exception to "tensors are immutable": an assignment puts another array in the place of the old one, which
    stays as it was for the views and tensors that were made of it.

    Args:
        tensor: The first values, which are copied.
        frozen: Whether it gets no gradient and no optimizer changes it; an attribute that may be set at any time.

    Attributes:
        version: How many times it was assigned; a tape compares it with what the forward pass saw.

    Raises:
        DTypeError: `tensor` is no tensor, or not of a float dtype.
        TapeError: `tensor` has a tape.
    """

    __slots__ = ("frozen", "version")

    version: int  # type: ignore[misc]  # all other tensors share one None
    frozen: bool  # type: ignore[misc]  # all other tensors share one False

    def __init__(self, tensor: Tensor[S_co, NoneTape, D_co], *, frozen: bool = False) -> None:
        data = _owned(tensor, "Param", "tensor")
        if data.dtype.kind != "f":
            message = f"Param: a tensor of dtype {data.dtype} has no gradient"
            raise DTypeError(message)
        super().__init__(data, NONE)
        self.version = 0
        self.frozen = frozen

    def assign(self: Param[S, D], value: Tensor[S, NoneTape, D]) -> None:
        """Takes over the values of another tensor, by copy.

        A tape that has recorded the values before refuses to run backwards from here on.

        Args:
            value: The shape and the dtype of the parameter. Infinities and NaN are values like any other.

        Raises:
            ShapeError: The shapes differ; nothing is broadcast.
            DTypeError: The dtypes differ, or `value` is no tensor.
            TapeError: `value` has a tape.
        """
        data = _owned(value, "Param.assign", "value")
        self.check(data, "Param.assign", "value")
        self.replace(data)

    def check(self, data: Any, call: str, place: str) -> None:
        """Refuses an array that could not stand in the place of this parameter's own.

        Args:
            data: An array of any engine.
            call: The function that was asked to, for the error.
            place: What the array is there.

        Raises:
            ShapeError: The shapes differ.
            DTypeError: The dtypes differ.
        """
        if data.shape != self.shape:
            raise ShapeError(sentences.other_sizes(call, place, data.shape, self.shape))
        if data.dtype != self.data.dtype:
            raise DTypeError(sentences.wrong_dtype(call, place, str(data.dtype), str(self.dtype)))

    def replace(self: Param[S, D], data: Value[S, D]) -> None:
        """Takes over an array that nobody else writes to, as it is and unchecked: for those who write optimizers."""
        self.data = data
        self.version += 1

    @override
    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"Param({self._printed(6)}, shape={self.shape}, {self.dtype}{frozen})"


def _owned(tensor: Any, call: str, place: str) -> Any:
    if not isinstance(tensor, Tensor):
        message = f"{call}: {place} is a {type(tensor).__name__}, not a tensor"
        raise DTypeError(message)
    if tensor.owns_tape:
        raise TapeError(sentences.tape_unwanted(call, place))
    return np.array(tensor.data, order="C")
