"""Loaders of other libraries: what becomes a tensor, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.data import from_loader
from tapegrad.errors import DTypeError


def test_each_pass_converts_the_batches_of_the_loader() -> None:
    loader = [[np.full((2, 3), n, np.float32), np.array([n, n + 1])] for n in range(3)]

    loaded = from_loader(loader)

    assert len(loaded) == 3
    for _ in range(2):
        passed = list(loaded)
        assert [x.tolist() for x, _ in passed] == [[[n] * 3] * 2 for n in range(3)]
        assert [y.tolist() for _, y in passed] == [[n, n + 1] for n in range(3)]
    assert passed[0][0].dtype == np.float32


def test_batches_are_arrays_tuples_and_mappings() -> None:
    array = np.ones((2, 3))
    x: Any = tg.ones((1,))

    alone, pair, named = from_loader([array, (array, [array, x]), {"image": array, "label": 3}])

    assert alone.shape == (2, 3)
    assert isinstance(pair, tuple)
    assert isinstance(pair[1], tuple)
    assert pair[1][1] is x
    assert {name: part.shape for name, part in named.items()} == {"image": (2, 3), "label": ()}


def test_a_batch_is_a_copy() -> None:
    array = np.zeros(3)
    (batch,) = from_loader([array])

    array[0] = 7

    assert batch.tolist() == [0, 0, 0]


def test_a_run_can_be_tracked() -> None:
    loaded = from_loader([np.ones(2), np.zeros(2)])

    sums = []
    for epoch in tg.progress.track(loaded, epochs=2, show=False):
        sums += [batch.sum().item() for batch in epoch]

    assert sums == [2, 0, 2, 0]


def test_other_objects_are_rejected() -> None:
    number: Any = 3
    with pytest.raises(DTypeError, match=r"^from_loader: loader is an int, which is not iterable$"):
        from_loader(number)
    with pytest.raises(DTypeError, match=r"^from_loader: batch 1 is or holds a str, not a tensor or an array$"):
        list(from_loader([np.ones(2), ["a"]]))
    with pytest.raises(TypeError, match="has no len"):
        len(from_loader(iter([])))


def test_batches_of_pytorch_become_tensors() -> None:
    torch: Any = pytest.importorskip("torch", reason="make oracle installs it")
    from torch.utils.data import DataLoader, TensorDataset  # type: ignore[import-not-found,unused-ignore]

    source = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))

    loaded = list(from_loader(DataLoader(source, batch_size=2)))
    own = list(tg.data.batches(source, size=2, shuffle=False, workers=1))

    for pairs in (loaded, own):
        assert [x.tolist() for x, _ in pairs] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
        assert [y.tolist() for _, y in pairs] == [[0, 1], [2, 3], [4, 5]]
        assert pairs[0][1].dtype == np.int64
    loader: Any = DataLoader(source)  # mypy rejects it too, where PyTorch is installed
    with pytest.raises(DTypeError, match=r"use tapegrad\.data\.from_loader"):
        tg.data.batches(loader, size=2)
