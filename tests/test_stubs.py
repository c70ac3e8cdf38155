"""The stubs of scikit-learn: data keeps its sizes on the path to a tensor, and the types are those at run time.

mypy checks this file with the stubs, as it checks all tests; pytest compares the same claims with the arrays.
"""

from __future__ import annotations

import inspect
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
import pytest
from sklearn import datasets, preprocessing
from sklearn.model_selection import train_test_split

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

Floats = np.dtype[np.float64]
Ints = np.dtype[np.int64]


def test_data_sets_have_their_sizes() -> None:
    x, y = datasets.load_iris(return_X_y=True)
    assert_type(x, np.ndarray[tuple[L[150], L[4]], Floats])
    assert_type(y, np.ndarray[tuple[L[150]], Ints])
    wine = datasets.load_wine()
    assert_type(wine.data, np.ndarray[tuple[L[178], L[13]], Floats])
    assert_type(wine.target, np.ndarray[tuple[L[178]], Ints])
    images, digits = datasets.load_digits(return_X_y=True)
    assert_type(images, np.ndarray[tuple[L[1797], L[64]], Floats])
    assert_type(digits, np.ndarray[tuple[L[1797]], Ints])
    cells, kinds = datasets.load_breast_cancer(return_X_y=True)
    assert_type(cells, np.ndarray[tuple[L[569], L[30]], Floats])
    assert_type(kinds, np.ndarray[tuple[L[569]], Ints])
    exercises, bodies = datasets.load_linnerud(return_X_y=True)
    assert_type(exercises, np.ndarray[tuple[L[20], L[3]], Floats])
    assert_type(bodies, np.ndarray[tuple[L[20], L[3]], Floats])

    found: list[Any] = [x, y, wine.data, wine.target, images, digits, cells, kinds, exercises, bodies]
    shapes = [(150, 4), (150,), (178, 13), (178,), (1797, 64), (1797,), (569, 30), (569,), (20, 3), (20, 3)]
    assert [array.shape for array in found] == shapes
    assert [array.dtype == np.int64 for array in found] == [False, True] * 4 + [False] * 2
    assert all(array.dtype in (np.int64, np.float64) for array in found)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "linnerud"])
def test_data_sets_have_the_attributes_of_the_stubs(name: str) -> None:
    found = getattr(datasets, f"load_{name}")()

    assert found.data.shape[0] == found.target.shape[0]
    assert isinstance(found.DESCR, str)
    assert found.frame is None
    assert len(found.target_names) == {"iris": 3, "wine": 3, "breast_cancer": 2, "linnerud": 3}[name]
    assert isinstance(found.feature_names, np.ndarray if name == "breast_cancer" else list)


def test_a_split_keeps_all_axes_but_the_rows() -> None:
    x, y = datasets.load_iris(return_X_y=True)

    train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
    assert_type(train_x, np.ndarray[tuple[int, L[4]], Floats])
    assert_type(test_y, np.ndarray[tuple[int], Ints])
    first, second = train_test_split(x, train_size=100)
    assert_type(first, np.ndarray[tuple[int, L[4]], Floats])
    pixels = datasets.load_digits()
    pictures, _, digits, _ = train_test_split(pixels.images, pixels.target, train_size=100)
    assert_type(pictures, np.ndarray[tuple[int, L[8], L[8]], Floats])
    assert_type(digits, np.ndarray[tuple[int], Ints])
    three: Any = train_test_split(x, y, y)

    scaler = preprocessing.StandardScaler().fit(train_x)  # of the training part only, as it should be
    assert_type(scaler.transform(test_x), np.ndarray[tuple[int, L[4]], Floats])
    assert_type(tg.tensor(scaler.transform(test_x), np.float32), Tensor[Shape[Any, L[4]], NoneTape])

    assert (pictures.shape, digits.shape, len(three)) == ((100, 8, 8), (100,), 6)
    assert (train_x.shape, test_x.shape, train_y.shape, test_y.shape) == ((120, 4), (30, 4), (120,), (30,))
    assert (first.shape, second.shape) == ((100, 4), (50, 4))


def test_scalers_keep_shape_and_dtype() -> None:
    x, y = datasets.load_iris(return_X_y=True)
    small: np.ndarray[tuple[L[150], L[4]], np.dtype[np.float32]] = x.astype(np.float32)
    counts: np.ndarray[tuple[L[150], L[4]], Ints] = x.astype(np.int64)

    scaler = preprocessing.StandardScaler()
    assert_type(scaler.fit(x), preprocessing.StandardScaler)
    assert_type(scaler.transform(x), np.ndarray[tuple[L[150], L[4]], Floats])
    assert_type(scaler.fit_transform(small), np.ndarray[tuple[L[150], L[4]], np.dtype[np.float32]])
    assert_type(scaler.fit_transform(counts, y), np.ndarray[tuple[L[150], L[4]], Floats])
    assert_type(scaler.inverse_transform(x), np.ndarray[tuple[L[150], L[4]], Floats])

    scaled = preprocessing.MinMaxScaler(), preprocessing.MaxAbsScaler(), preprocessing.RobustScaler()
    for one in (scaler, *scaled):
        arrays: list[Any] = [x, small, counts]
        results = [one.fit_transform(array) for array in arrays]
        assert [result.shape for result in results] == [(150, 4)] * 3
        assert [result.dtype for result in results] == [np.float64, np.float32, np.float64]


def test_the_sizes_reach_a_model() -> None:
    x, y = datasets.load_iris(return_X_y=True)
    train_x, _, train_y, _ = train_test_split(preprocessing.StandardScaler().fit_transform(x), y, random_state=0)

    inputs = tg.tensor(train_x, np.float32)
    assert_type(inputs, Tensor[Shape[Any, L[4]], NoneTape])
    assert_type(tg.tensor(train_y, np.int64), Tensor[Shape[Any], NoneTape, np.int64])
    logits = tg.nn.Linear(4, 3)(inputs)
    assert_type(logits, Tensor[Shape[Any, L[3]], NoneTape])

    assert logits.shape == (112, 3)


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"])
def test_the_options_of_a_scaler_are_those_of_the_stubs(name: str) -> None:
    kind = getattr(preprocessing, name)
    options = {
        "StandardScaler": ["copy", "with_mean", "with_std"],
        "MinMaxScaler": ["feature_range", "copy", "clip"],
        "MaxAbsScaler": ["copy", "clip"],
        "RobustScaler": ["with_centering", "with_scaling", "quantile_range", "copy", "unit_variance"],
    }

    assert [*inspect.signature(kind).parameters] == options[name]
