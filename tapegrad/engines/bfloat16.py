"""The dtype bfloat16: the upper 16 bits of a float32. The package ml_dtypes adds it to NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy._typing import _8Bit  # no NumPy float has it; with Any, bfloat16 would be compatible with all of them

    # The stubs of ml_dtypes declare a variable that holds a class, which is invalid in an annotation.
    class bfloat16(np.floating[_8Bit]):  # noqa: N801  # as NumPy's scalar types
        """A 16-bit float with the range of float32 and 8 bits of precision.

        `x.astype(tapegrad.bfloat16)` converts a tensor to it. It needs the extra `half`.
        """

else:

    def __getattr__(name: str) -> Any:
        """Import the scalar type on first use, or raise an error that names the extra to install."""
        if name != "bfloat16":
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        try:
            from ml_dtypes import bfloat16
        except ModuleNotFoundError as error:
            message = 'tapegrad.bfloat16 needs the package ml_dtypes: pip install "tapegrad[half]"'
            raise ModuleNotFoundError(message, name=error.name) from None
        globals()[name] = bfloat16
        return bfloat16
