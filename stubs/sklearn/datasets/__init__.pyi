from typing import Any, TypeAlias, overload, type_check_only
from typing import Literal as L

import numpy as np
from sklearn.utils import Bunch

_Floats: TypeAlias = np.dtype[np.float64]
_Ints: TypeAlias = np.dtype[np.int64]

@type_check_only
class _Digits(Bunch):
    data: np.ndarray[tuple[L[1797], L[64]], _Floats]
    target: np.ndarray[tuple[L[1797]], _Ints]
    images: np.ndarray[tuple[L[1797], L[8], L[8]], _Floats]
    target_names: np.ndarray[tuple[L[10]], _Ints]
    feature_names: list[str]
    frame: None
    DESCR: str

@type_check_only
class _Diabetes(Bunch):
    data: np.ndarray[tuple[L[442], L[10]], _Floats]
    target: np.ndarray[tuple[L[442]], _Floats]
    feature_names: list[str]
    frame: None
    DESCR: str
    data_filename: str
    target_filename: str
    data_module: str

@type_check_only
class _Iris(Bunch):
    data: np.ndarray[tuple[L[150], L[4]], _Floats]
    target: np.ndarray[tuple[L[150]], _Ints]
    target_names: np.ndarray[tuple[L[3]], np.dtype[np.str_]]
    feature_names: list[str]
    frame: None
    DESCR: str

@type_check_only
class _Wine(Bunch):
    data: np.ndarray[tuple[L[178], L[13]], _Floats]
    target: np.ndarray[tuple[L[178]], _Ints]
    target_names: np.ndarray[tuple[L[3]], np.dtype[np.str_]]
    feature_names: list[str]
    frame: None
    DESCR: str

@type_check_only
class _BreastCancer(Bunch):
    data: np.ndarray[tuple[L[569], L[30]], _Floats]
    target: np.ndarray[tuple[L[569]], _Ints]
    target_names: np.ndarray[tuple[L[2]], np.dtype[np.str_]]
    feature_names: np.ndarray[tuple[L[30]], np.dtype[np.str_]]
    frame: None
    DESCR: str

@type_check_only
class _Linnerud(Bunch):
    data: np.ndarray[tuple[L[20], L[3]], _Floats]
    target: np.ndarray[tuple[L[20], L[3]], _Floats]
    target_names: list[str]
    feature_names: list[str]
    frame: None
    DESCR: str

# With fewer classes the number of digits is not written here, and data frames are another library's: both are Any.
@overload
def load_digits(*, n_class: L[10] = 10, return_X_y: L[False] = False, as_frame: L[False] = False) -> _Digits: ...
@overload
def load_digits(
    *, n_class: L[10] = 10, return_X_y: L[True], as_frame: L[False] = False
) -> tuple[np.ndarray[tuple[L[1797], L[64]], _Floats], np.ndarray[tuple[L[1797]], _Ints]]: ...
@overload
def load_digits(
    *, n_class: int, return_X_y: L[True], as_frame: L[False] = False
) -> tuple[np.ndarray[tuple[Any, L[64]], _Floats], np.ndarray[tuple[Any], _Ints]]: ...
@overload
def load_digits(*, n_class: int = 10, return_X_y: bool = False, as_frame: bool = False) -> Any: ...
@overload
def load_diabetes(*, return_X_y: L[False] = False, as_frame: L[False] = False, scaled: bool = True) -> _Diabetes: ...
@overload
def load_diabetes(
    *, return_X_y: L[True], as_frame: L[False] = False, scaled: bool = True
) -> tuple[np.ndarray[tuple[L[442], L[10]], _Floats], np.ndarray[tuple[L[442]], _Floats]]: ...
@overload
def load_diabetes(*, return_X_y: bool = False, as_frame: bool = False, scaled: bool = True) -> Any: ...
@overload
def load_iris(*, return_X_y: L[False] = False, as_frame: L[False] = False) -> _Iris: ...
@overload
def load_iris(
    *, return_X_y: L[True], as_frame: L[False] = False
) -> tuple[np.ndarray[tuple[L[150], L[4]], _Floats], np.ndarray[tuple[L[150]], _Ints]]: ...
@overload
def load_iris(*, return_X_y: bool = False, as_frame: bool = False) -> Any: ...
@overload
def load_wine(*, return_X_y: L[False] = False, as_frame: L[False] = False) -> _Wine: ...
@overload
def load_wine(
    *, return_X_y: L[True], as_frame: L[False] = False
) -> tuple[np.ndarray[tuple[L[178], L[13]], _Floats], np.ndarray[tuple[L[178]], _Ints]]: ...
@overload
def load_wine(*, return_X_y: bool = False, as_frame: bool = False) -> Any: ...
@overload
def load_breast_cancer(*, return_X_y: L[False] = False, as_frame: L[False] = False) -> _BreastCancer: ...
@overload
def load_breast_cancer(
    *, return_X_y: L[True], as_frame: L[False] = False
) -> tuple[np.ndarray[tuple[L[569], L[30]], _Floats], np.ndarray[tuple[L[569]], _Ints]]: ...
@overload
def load_breast_cancer(*, return_X_y: bool = False, as_frame: bool = False) -> Any: ...
@overload
def load_linnerud(*, return_X_y: L[False] = False, as_frame: L[False] = False) -> _Linnerud: ...
@overload
def load_linnerud(
    *, return_X_y: L[True], as_frame: L[False] = False
) -> tuple[np.ndarray[tuple[L[20], L[3]], _Floats], np.ndarray[tuple[L[20], L[3]], _Floats]]: ...
@overload
def load_linnerud(*, return_X_y: bool = False, as_frame: bool = False) -> Any: ...
def __getattr__(name: str) -> Any: ...
