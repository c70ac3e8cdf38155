"""DLPack: arrays shared with other libraries without copying, by the array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from tapegrad.errors import DTypeError, TapeError, TapegradError
from tapegrad.errors.messages import with_article
from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tapegrad.autograd.tape import NoneTape
    from tapegrad.tensor import D, S, Tensor

CPU: Final = (1, 0)  # the device type of DLPack, and the number of the device


def exported(x: Any, options: Mapping[str, Any]) -> Any:
    """Return the values of a tensor as a DLPack capsule: a copy, unless `copy=False` asks for the array itself.

    Libraries that cannot mark an array as read-only, such as PyTorch, would write into the tensor.

    Args:
        x: The tensor.
        options: Of the protocol: `stream`, `max_version`, `dl_device` and `copy`.

    Raises:
        TapeError: The tensor has a tape.
        DTypeError: The dtype is bfloat16.
    """
    if x.owns_tape:
        message = "the tensor has a tape, which another library would lose; detach it first"
        raise TapeError(message)
    array = x.numpy(copy=options.get("copy") is not False)
    if array.dtype.kind not in "biuf":
        message = f"NumPy exports no {array.dtype} by DLPack: convert with x.astype(np.float32)"
        raise DTypeError(message)
    return array.__dlpack__(**{name: value for name, value in options.items() if name != "copy"})


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
    from tapegrad.tensor import from_array  # not at the top: it imports this module

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
