from typing import Any, Self, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator

_S = TypeVar("_S", bound=tuple[Any, ...])
_F = TypeVar("_F", np.dtype[np.float32], np.dtype[np.float64])

class _Scaler(BaseEstimator):
    def fit(self, X: Any, y: Any = None) -> Self: ...
    # Scalers keep the float dtypes, and make other numbers float64.
    @overload
    def transform(self, X: np.ndarray[_S, _F]) -> np.ndarray[_S, _F]: ...
    @overload
    def transform(self, X: np.ndarray[_S, np.dtype[np.integer[Any]]]) -> np.ndarray[_S, np.dtype[np.float64]]: ...
    @overload
    def transform(self, X: Any) -> Any: ...
    @overload
    def fit_transform(self, X: np.ndarray[_S, _F], y: Any = None) -> np.ndarray[_S, _F]: ...
    @overload
    def fit_transform(
        self, X: np.ndarray[_S, np.dtype[np.integer[Any]]], y: Any = None
    ) -> np.ndarray[_S, np.dtype[np.float64]]: ...
    @overload
    def fit_transform(self, X: Any, y: Any = None) -> Any: ...

class _InvertibleScaler(_Scaler):
    @overload
    def inverse_transform(self, X: np.ndarray[_S, _F]) -> np.ndarray[_S, _F]: ...
    @overload
    def inverse_transform(self, X: Any) -> Any: ...

class StandardScaler(_InvertibleScaler):
    mean_: Any
    scale_: Any
    var_: Any
    def __init__(self, *, copy: bool = True, with_mean: bool = True, with_std: bool = True) -> None: ...

class MinMaxScaler(_InvertibleScaler):
    def __init__(
        self, feature_range: tuple[float, float] = (0, 1), *, copy: bool = True, clip: bool = False
    ) -> None: ...

class MaxAbsScaler(_InvertibleScaler):
    def __init__(self, *, copy: bool = True, clip: bool = False) -> None: ...

class RobustScaler(_InvertibleScaler):
    def __init__(
        self,
        *,
        with_centering: bool = True,
        with_scaling: bool = True,
        quantile_range: tuple[float, float] = (25.0, 75.0),
        copy: bool = True,
        unit_variance: bool = False,
    ) -> None: ...

def __getattr__(name: str) -> Any: ...
