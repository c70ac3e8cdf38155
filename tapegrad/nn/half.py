"""Parts of layers that are computed in float32 if the layer is of half precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.engines.interface import HALF


def is_half(x: Any) -> bool:
    """Return whether a tensor is float16 or bfloat16."""
    return x.dtype.char in HALF


def in_float32(x: Any) -> Any:
    """Return a tensor of half precision in float32, and any other tensor unchanged."""
    return x.astype(np.float32) if is_half(x) else x


def rounded_like(y: Any, x: Any) -> Any:
    """Return a result in the dtype of `x`."""
    return y if y.dtype == x.dtype else y.astype(x.dtype.type)
