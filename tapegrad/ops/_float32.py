"""Ops of half precision that compute in float32: their squares, and sums of many, may have no room in two bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tapegrad.backend.value import HALF
from tapegrad.errors import TapegradError
from tapegrad.ops.elementwise import astype
from tapegrad.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def in_float32(function: F) -> F:
    """Let an op widen its operands if they are of half precision, and round its result once."""

    @functools.wraps(function)
    def call(x: Any, *args: Any, **options: Any) -> Any:
        if isinstance(x, Tensor) and x.data.dtype.char in HALF and _have_one_dtype(x, *args, *options.values()):
            try:
                result = function(_wide(x), *map(_wide, args), **{name: _wide(one) for name, one in options.items()})
            except TapegradError:
                pass  # it is said again, of what was given
            else:
                return astype(result, x.dtype)
        return function(x, *args, **options)

    return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see


def _have_one_dtype(*operands: Any) -> bool:
    return len({one.dtype for one in operands if isinstance(one, Tensor) and one.is_float}) == 1


def _wide(operand: Any) -> Any:
    return astype(operand, np.float32) if isinstance(operand, Tensor) and operand.is_float else operand
