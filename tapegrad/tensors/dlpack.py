"""Tensors from arrays of other libraries by DLPack, the protocol of the array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tapegrad.errors import DTypeError, TapegradError
from tapegrad.errors.messages import with_article
from tapegrad.errors.tracebacks import public_api
from tapegrad.tensors import from_array

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.tensors import D, S, Tensor


@overload
def from_dlpack(x: np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]: ...
@overload
def from_dlpack(x: Tensor[S, NoneTape, D]) -> Tensor[S, NoneTape, D]: ...
@overload
def from_dlpack(x: Any) -> Tensor[Any, NoneTape, Any]: ...
@public_api
def from_dlpack(x: Any) -> Any:
    """Create a tensor from a copy of an array of another library that has `__dlpack__`, such as PyTorch or CuPy.

    Args:
        x: The array, in the memory of the CPU. Its dtype is kept.

    Raises:
        DTypeError: `x` has no `__dlpack__`, or NumPy cannot read what it exports, such as an array on a GPU.
        TapeError: `x` is a tensor with a tape.

    Examples:
        >>> tg.from_dlpack(np.arange(6).reshape(2, 3)).tolist()
        [[0, 1, 2], [3, 4, 5]]
        >>> np.from_dlpack(tg.tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    if not hasattr(x, "__dlpack__"):
        message = (
            f"from_dlpack: x is {with_article(type(x).__name__)} without __dlpack__; tg.tensor takes lists and arrays"
        )
        raise DTypeError(message)
    try:
        array = np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, TapegradError):
            raise
        message = f"from_dlpack: NumPy cannot read x, {with_article(type(x).__name__)}: {error}"
        raise DTypeError(message) from None
    return from_array(array.copy())
