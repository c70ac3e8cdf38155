"""Columns and tables of pandas and polars become tensors, and tensors become columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError, TapeError

COLUMNS = {"a": [1.5, 2.5, 4.0], "n": [1, 2, 3], "is": [True, False, True]}
FRAMES: dict[str, Any] = {"pandas": pd.DataFrame(COLUMNS), "polars": pl.DataFrame(COLUMNS)}


@pytest.mark.parametrize("library", FRAMES)
def test_a_column_becomes_a_tensor_of_its_dtype(library: str) -> None:
    frame = FRAMES[library]

    tensors = [tg.tensor(frame[name]) for name in COLUMNS]

    assert [x.tolist() for x in tensors] == [*COLUMNS.values()]
    assert [x.dtype for x in tensors] == [np.float64, np.int64, np.bool_]
    assert tg.tensor(frame["a"], np.float32).dtype == np.float32


@pytest.mark.parametrize("library", FRAMES)
def test_a_table_becomes_a_matrix(library: str) -> None:
    assert tg.tensor(FRAMES[library][["a", "n"]]).tolist() == [[1.5, 1.0], [2.5, 2.0], [4.0, 3.0]]


def test_missing_values_are_rejected() -> None:
    message = "data has 1 missing values, which a tensor cannot hold: fill or drop them first"
    for column in (pl.Series([1.0, None]), pd.Series([1, None], dtype="Int64")):
        with pytest.raises(DTypeError, match=message):
            tg.tensor(column)


def test_text_is_rejected() -> None:
    for column in (pl.Series(["a"]), pd.Series(["a"])):
        with pytest.raises(DTypeError, match="neither numbers nor bools"):
            tg.tensor(column)


def test_a_tensor_becomes_a_column() -> None:
    x: Any = tg.tensor([1.0, 2.0, 3.0])

    assert pd.Series(x).tolist() == pl.Series(x.numpy()).to_list() == [1.0, 2.0, 3.0]
    assert pd.Series(x).dtype == np.float32
    assert pl.Series(x.numpy()).dtype == pl.Float32
    assert pd.DataFrame({"x": x})["x"].tolist() == [1.0, 2.0, 3.0]
    assert pd.DataFrame(tg.ones((2, 3)).numpy()).shape == (2, 3)


def test_a_table_takes_a_tensor_as_a_new_column() -> None:
    frame, x = pd.DataFrame(COLUMNS), tg.tensor([1.0, 2.0, 3.0])

    frame["x"] = x

    assert frame["x"].tolist() == [1.0, 2.0, 3.0]


def test_a_tape_does_not_become_a_column() -> None:
    x: Any = tg.tensor([1.0, 2.0]).trace()

    with pytest.raises(TapeError, match="the tensor has a tape, which a NumPy array would lose; detach it first"):
        pd.Series(x)
