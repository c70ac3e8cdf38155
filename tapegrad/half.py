"""bfloat16 as a dtype: the 16 upper bits of a float32, which NumPy learns from the package ml_dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy._typing import _8Bit  # of no float of NumPy's: with Any there it would pass for each

    # The stubs of ml_dtypes know a variable that holds some class, which no annotation can name.
    class bfloat16(np.floating[_8Bit]):  # noqa: N801  # as NumPy's scalar types
        """A number of 16 bits with the range of float32 and 8 bits of precision.

        `x.astype(tapegrad.bfloat16)` makes a tensor of it. It needs the extra `half`.
        """

else:

    def __getattr__(name: str) -> Any:
        """Import the scalar type when it is first asked for, or say which extra has it."""
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
