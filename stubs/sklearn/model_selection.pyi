from typing import Any, TypeVar, overload

import numpy as np

_K = TypeVar("_K", bound=int)
_M = TypeVar("_M", bound=int)
_N = TypeVar("_N", bound=int)
_D = TypeVar("_D", bound=np.dtype[Any])
_D1 = TypeVar("_D1", bound=np.dtype[Any])

# The numbers of rows are computed from fractions at run time: they are `int`, because with Any among its sizes an array
# matches each overload of a scaler. The other axes stay.
# For each rank, because pyright accepts no `*Rest` among the sizes of an array.
@overload
def train_test_split(
    x: np.ndarray[tuple[Any, _M], _D],
    /,
    *,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> tuple[
    np.ndarray[tuple[int, _M], _D],
    np.ndarray[tuple[int, _M], _D],
]: ...
@overload
def train_test_split(
    x: np.ndarray[tuple[Any, _M], _D],
    y: np.ndarray[tuple[Any], _D1],
    /,
    *,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> tuple[
    np.ndarray[tuple[int, _M], _D],
    np.ndarray[tuple[int, _M], _D],
    np.ndarray[tuple[int], _D1],
    np.ndarray[tuple[int], _D1],
]: ...
@overload
def train_test_split(
    x: np.ndarray[tuple[Any, _M], _D],
    y: np.ndarray[tuple[Any, _N], _D1],
    /,
    *,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> tuple[
    np.ndarray[tuple[int, _M], _D],
    np.ndarray[tuple[int, _M], _D],
    np.ndarray[tuple[int, _N], _D1],
    np.ndarray[tuple[int, _N], _D1],
]: ...
@overload
def train_test_split(
    x: np.ndarray[tuple[Any, _M, _K], _D],
    y: np.ndarray[tuple[Any], _D1],
    /,
    *,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> tuple[
    np.ndarray[tuple[int, _M, _K], _D],
    np.ndarray[tuple[int, _M, _K], _D],
    np.ndarray[tuple[int], _D1],
    np.ndarray[tuple[int], _D1],
]: ...
@overload
def train_test_split(*arrays: Any, **options: Any) -> Any: ...
def __getattr__(name: str) -> Any: ...
