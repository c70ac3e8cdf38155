"""Export of tensors by DLPack, the protocol of the array API standard for arrays in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tapegrad.errors import DTypeError, TapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
