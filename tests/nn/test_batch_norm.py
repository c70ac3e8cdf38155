"""BatchNorm1d and BatchNorm2d: training with a tape, running statistics, saved state, and errors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ShapeError, TapeError
from tapegrad.io import load, save
from tapegrad.nn import BatchNorm1d, BatchNorm2d, Buffer, Linear, Sequential
from tapegrad.ops import normal, ones, tensor, zeros
from tapegrad.optim import SGD

ROWS: Any = tensor([[1.0, 0.0], [3.0, 2.0], [8.0, 1.0]])  # means 4 and 1, variances 26 / 3 and 2 / 3, unbiased 13 and 1


def state(layer: Any) -> tuple[Any, Any]:
    return layer.running_mean.tolist(), layer.running_var.tolist()


def test_with_a_tape_the_statistics_of_the_batch_are_used() -> None:
    layer = BatchNorm1d(2, eps=0.5)

    y = layer(ROWS.trace())

    s, t = math.sqrt(26 / 3 + 0.5), math.sqrt(2 / 3 + 0.5)
    np.testing.assert_allclose(y.numpy(), [[-3 / s, -1 / t], [-1 / s, 1 / t], [4 / s, 0]], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(state(layer), [[0.4, 0.1], [0.9 + 1.3, 1.0]], rtol=1e-6)


def test_without_a_tape_the_running_statistics_are_used_and_unchanged() -> None:
    layer: Any = BatchNorm1d(2, eps=0.5)
    layer.running_mean.assign(tensor([1.0, 2.0]))
    layer.running_var.assign(tensor([3.5, 0.5]))
    layer.weight.assign(tensor([2.0, 3.0]))
    layer.bias.assign(tensor([10.0, 20.0]))

    y = layer(ROWS).tolist()

    assert y == [[10, 14], [12, 20], [17, 17]]
    assert state(layer) == ([1, 2], [3.5, 0.5])
    assert layer.running_mean.version == 1


@pytest.mark.parametrize("layer", [BatchNorm1d(2), BatchNorm2d(2)], ids=["1d", "2d"])
def test_a_non_training_tape_uses_the_running_statistics(layer: Any) -> None:
    shape = (5, 2, 3, 4) if isinstance(layer, BatchNorm2d) else (5, 2)
    layer.running_mean.assign(tensor([1.0, 2.0]))
    layer.running_var.assign(tensor([3.5, 0.5]))
    layer.weight.assign(tensor([2.0, 3.0]))
    before, x = state(layer), normal(shape, rng=0)

    y = layer(x.trace(training=False))
    grads = y.sum().backward()

    assert y.tolist() == layer(x).tolist()
    assert state(layer) == before
    channel = (slice(None), slice(None), *[None] * (len(shape) - 2))
    scale = (np.array([[2.0, 3.0]]) / np.sqrt([[3.5 + 1e-5, 0.5 + 1e-5]]))[channel]
    normalized = (x.numpy() - np.array([[1.0, 2.0]])[channel]) * scale / np.array([[2.0, 3.0]])[channel]
    axes = (0, *range(2, len(shape)))
    np.testing.assert_allclose(grads[x].numpy(), np.broadcast_to(scale, shape), rtol=1e-5)
    np.testing.assert_allclose(grads[layer.weight].numpy(), normalized.sum(axes), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads[layer.bias].numpy(), np.full(2, np.prod(shape) / 2))


def test_running_statistics_approach_those_of_the_batches() -> None:
    layer, rng = BatchNorm2d(3), np.random.default_rng(0)

    for _ in range(200):
        layer(tensor(rng.normal(5, 2, (7, 3, 4, 5)), np.float32).trace())

    np.testing.assert_allclose(layer.running_mean.numpy(), 5, atol=0.2)
    np.testing.assert_allclose(layer.running_var.numpy(), 4, atol=0.4)


def test_the_momentum_is_the_weight_of_the_new_batch() -> None:
    layer, still = BatchNorm1d(2, momentum=1), BatchNorm1d(2, momentum=0)

    layer(ROWS.trace())
    still(ROWS.trace())

    np.testing.assert_allclose(state(layer), [[4, 1], [13, 1]], rtol=1e-6)
    assert state(still) == ([0, 0], [1, 1])


def test_images_are_normalised_like_rows_of_pixels() -> None:
    image, rows = normal((2, 3, 5, 7), rng=0), BatchNorm1d(3)
    layer = BatchNorm2d(3)

    y = layer(image.trace())

    flat = image.transpose((0, 2, 3, 1)).reshape((70, 3))
    z = rows(flat.trace()).reshape((2, 5, 7, 3)).transpose((0, 3, 1, 2))
    np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state(layer), state(rows), rtol=1e-5)


def test_parameters_have_gradients_and_buffers_have_none() -> None:
    model: Any = Sequential(Linear(3, 4, rng=0), BatchNorm1d(4))
    x, opt, losses = normal((9, 3), rng=1), SGD(model, lr=0.1), []

    for _ in range(30):
        loss = ((model(x.trace()) - 2.0) ** 2).mean()
        grads = loss.backward()
        assert set(model.buffers().values()).isdisjoint(grads)
        opt.step(grads)
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 2
    assert list(model.parameters()) == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    assert list(model.buffers()) == ["layers.1.running_mean", "layers.1.running_var"]


def test_a_recorded_prediction_detects_changed_statistics() -> None:
    buffer, x = Buffer(ones((2,))), ones((2,)).trace()

    y = (x * buffer).sum()
    buffer.assign(zeros((2,)))

    with pytest.raises(TapeError, match="version 0 was recorded, version 1 is there"):
        y.backward()


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_running_statistics_are_saved_and_loaded(tmp_path: Path, suffix: str) -> None:
    trained, fresh = (Sequential(BatchNorm1d(2), Linear(2, 3, rng=seed)) for seed in range(2))
    trained(ROWS.trace())

    save(trained, tmp_path / f"model.{suffix}")
    load(fresh, tmp_path / f"model.{suffix}")

    assert fresh(ROWS).tolist() == trained(ROWS).tolist()
    assert fresh.buffers()["layers.0.running_mean"].tolist() == trained[0].running_mean.tolist() != [0, 0]


def test_a_rejected_batch_changes_no_statistics() -> None:
    layer = BatchNorm1d(2)

    few = r"^layer BatchNorm1d\(2\): x \(1, 2\) has 1 numbers a channel but a variance needs 2$"
    with pytest.raises(ShapeError, match=few):
        layer(ROWS[:1].trace())
    layer.eps = 0
    with pytest.raises(ValueError, match=r"^batch_norm: eps is 0 but must be above 0$"):
        layer(ROWS.trace())
    assert state(layer) == ([0, 0], [1, 1])


def test_training_mode_without_a_tape_is_rejected() -> None:
    x: Any = ROWS  # mypy rejects it before it runs

    with pytest.raises(TapeError, match=r"^BatchNorm1d\.train: x has no tape but needs one$"):
        BatchNorm1d(2).train(x)
    layer, image = BatchNorm2d(3), normal((2, 3, 5, 7), rng=0)
    with pytest.raises(TapeError, match=r"^BatchNorm2d\.train: x has no tape but needs one$"):
        layer.train(image)  # type: ignore[tapegrad-tape]  # under test
    assert layer.train(image.trace()).tolist() == BatchNorm2d(3)(image.trace()).tolist()
    assert BatchNorm1d(2).train(ROWS.trace()).owns_tape


def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^BatchNorm2d\(3\): x is \(2, 4, 5, 6\) but \(N, 3, H, W\) is expected"):
        BatchNorm2d(3)(ones((2, 4, 5, 6)))  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match="Channels is 0 in channels but a named size is at least 1"):
        BatchNorm1d(0)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ValueError, match=r"^BatchNorm1d: momentum is 1\.5 but must be from 0 to 1$"):
        BatchNorm1d(2, momentum=1.5)  # type: ignore[arg-type]  # out of range


def test_layers_have_a_repr() -> None:
    assert repr(BatchNorm2d(3)) == "BatchNorm2d(3)"
    assert repr(Buffer(ones((2,)))) == "Buffer([1., 1.], shape=(2,), float32)"
    table = tg.summary(Sequential(BatchNorm2d(3)), ("N", 3, 8, 8))
    assert [row.output for row in table.rows] == ["(N, 3, 8, 8)"] * 2
