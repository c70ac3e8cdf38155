"""Half-precision ops computed in float32, because squares and long sums may not fit into two bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tapegrad.engines.interface import HALF
from tapegrad.errors import TapegradError
from tapegrad.ops.elementwise import astype
from tapegrad.tensors import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def in_float32(function: F) -> F:
    """Decorate an op: convert half-precision operands to float32, and round the result once."""

    @functools.wraps(function)
    def call(x: Any, *args: Any, **options: Any) -> Any:
        if isinstance(x, Tensor) and x.data.dtype.char in HALF and _have_one_dtype(x, *args, *options.values()):
            # Kept until the op returns: it reads nodes, whose values may be released with the tensors that have them.
            wide, named = [_wide(x), *map(_wide, args)], {name: _wide(one) for name, one in options.items()}
            try:
                result = function(*wide, **named)
            except TapegradError as error:
                failure = error.with_traceback(None)  # which refers to this frame
            else:
                return astype(result, x.dtype)
            function(x, *args, **options)  # raises the error again, with the original dtypes
            raise failure
        return function(x, *args, **options)

    return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see


def _have_one_dtype(*operands: Any) -> bool:
    return len({one.dtype for one in operands if isinstance(one, Tensor) and one.is_float}) == 1


def _wide(operand: Any) -> Any:
    return astype(operand, np.float32) if isinstance(operand, Tensor) and operand.is_float else operand
