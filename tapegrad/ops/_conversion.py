"""Conversion of lists, arrays and columns of other libraries to NumPy arrays; no value changes silently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.errors import DTypeError
from tapegrad.tensors.operands import PYTHON_NUMBERS, in_native_order


def array_from(data: Any, dtype: np.dtype[Any] | type[np.generic] | None) -> np.ndarray[Any, Any]:
    """Return a copy of the data as an array in native byte order.

    The dtype of an array, a pandas or polars column, or a PyTorch tensor is kept. Python numbers get the default dtype:
    float32, int64 or bool.

    Args:
        data: Nested lists of numbers, or an object that NumPy can read.
        dtype: The dtype of the result; None for the dtype of the data.

    Raises:
        DTypeError: Values are masked or missing, or the dtype cannot hold them, or the data are not numbers.
    """
    _check_complete(data)
    array = _read(data, None if dtype is None else np.dtype(dtype))
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        message = f"data is of dtype {array.dtype}, neither numbers nor bools"
        raise DTypeError(message)
    if dtype is None and not hasattr(data, "dtype"):
        array = _with_default_dtype(array, data)
    return in_native_order(array)


def _read(data: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    try:
        # `np.array` warns of an object whose `__array__` has no option to copy, such as a tensor of PyTorch.
        is_foreign = type(data) is not np.ndarray and hasattr(data, "__array__")
        array = np.array(np.asarray(data) if is_foreign else data)
    except (RuntimeError, TypeError) as error:
        if not hasattr(data, "dtype"):  # raised by an item, such as a tensor with a tape
            raise
        message = f"data is a {type(data).__name__} that NumPy cannot read: {error}"
        raise DTypeError(message) from None
    if dtype is None or array.dtype == dtype:
        return array
    if hasattr(data, "dtype") or array.dtype.kind != "f" or float in _number_types(data):
        _check_range(array, dtype)
    if hasattr(data, "dtype"):
        return array.astype(dtype)
    try:
        return np.array(data, dtype)  # not from `array`: float64 would change integers beyond 2**53
    except OverflowError as error:
        message = f"data does not fit into {dtype}: {error}"
        raise DTypeError(message) from None


def _check_range(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    """Check that an integer dtype can hold all values; NumPy would wrap them around silently."""
    if dtype.kind not in "iu" or array.dtype.kind not in "iuf" or not array.size or np.can_cast(array.dtype, dtype):
        return
    limits, extremes = np.iinfo(dtype), (array.min().item(), array.max().item())
    for number in extremes:
        if not limits.min <= number <= limits.max:  # also raises for NaN
            message = f"data has the value {number}, which {dtype} cannot hold"
            raise DTypeError(message)


def _check_complete(data: Any) -> None:
    masked = int(np.sum(data.mask)) if isinstance(data, np.ndarray) and hasattr(data, "mask") else 0
    if masked:
        message = f"data has {masked} masked values, which a tensor cannot hold: fill them first, data.filled(0)"
        raise DTypeError(message)
    missing = _missing_values(data)
    if missing:
        message = f"data has {missing} missing values, which a tensor cannot hold: fill or drop them first"
        raise DTypeError(message)


def _missing_values(data: Any) -> int:
    """Count the nulls of a column or table: polars and Arrow report a count, pandas has nulls in extension dtypes."""
    if isinstance(data, np.ndarray | np.generic | int | float | list | tuple):
        return 0
    count = getattr(data, "null_count", 0)
    count = count() if callable(count) else count
    dtypes = [getattr(data, "dtype", None)] if hasattr(data, "dtype") else list(getattr(data, "dtypes", ()))
    if hasattr(data, "isna") and not all(isinstance(dtype, np.dtype) for dtype in dtypes):
        count = data.isna()
    return int(np.sum(np.asarray(count)))


def _with_default_dtype(array: np.ndarray[Any, Any], data: Any) -> np.ndarray[Any, Any]:
    """Convert Python numbers to their default dtype, and keep the dtype of arrays in nested lists."""
    if array.dtype in (np.bool_, np.int64):
        return array
    kinds = _number_types(data) - {np.float64}  # np.float64 is a subclass of float, also to mypy
    if not kinds <= PYTHON_NUMBERS:
        return array.astype(np.float32) if array.dtype == np.float64 and not _declares_float64(data) else array
    is_too_large = bool(kinds) and kinds <= {bool, int} and array.dtype.kind == "f"  # NumPy falls back to float64
    if is_too_large or (array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max):
        message = "data has a whole number beyond int64: give floats, or dtype=np.uint64"
        raise DTypeError(message)
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int64, copy=False)


def _number_types(data: Any) -> set[type]:
    """Return the types of the numbers and arrays in nested lists."""
    if not _is_nested(data):
        return {type(data)}
    kinds = set(map(type, data))
    found = kinds & PYTHON_NUMBERS
    for item in data if found != kinds else ():
        if type(item) not in found:
            found |= _number_types(item)
    return found


def _is_nested(data: Any) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, str | bytes) and not hasattr(data, "dtype")


def _declares_float64(data: Any) -> bool:
    """Return whether nested lists contain a float64 array."""
    if _is_nested(data):
        return any(map(_declares_float64, data))
    return not isinstance(data, float) and np.asarray(data).dtype == np.float64
