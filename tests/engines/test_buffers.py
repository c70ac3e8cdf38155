"""BufferPool: a buffer is reused when nothing refers to it any more, and never earlier."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.engines import engine
from tapegrad.engines.numpy import buffers
from tapegrad.engines.numpy.buffers import BUFFERS, BufferPool, accumulate

SHAPE = (512, 513)  # a million bytes of float32


def place_of(x: Any) -> int:
    return int(x.__array_interface__["data"][0])


def test_a_buffer_without_references_is_reused() -> None:
    pool = BufferPool()
    first = pool.empty(SHAPE, np.float32)
    place = place_of(first)

    del first
    again = pool.empty((513, 512), np.int32)

    assert (place_of(again), again.shape) == (place, (513, 512))
    assert again.dtype == np.int32
    assert again.flags.c_contiguous
    assert again.flags.writeable


LOOKS: dict[str, Any] = {
    "itself": lambda x: x,
    "rows": lambda x: x[5:],
    "columns": lambda x: x.T[3:5],
    "other numbers": lambda x: x[3, 4:5].view(np.int32),
    "repeated": lambda x: np.broadcast_to(x[0], (2, 513)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
    "buffer": lambda x: np.frombuffer(x, np.uint8, 8),
    "capsule": lambda x: x.__dlpack__(),
    "taken over": np.from_dlpack,
    "in a list": lambda x: [x],
    "memory": memoryview,
    "tensor": tg.node,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
def test_a_buffer_that_is_referenced_elsewhere_is_not_reused(look: Any) -> None:
    pool = BufferPool()
    first = pool.empty(SHAPE, np.float32)
    place = place_of(first)
    seen = look(first)

    del first
    gc.collect()
    others = [pool.empty(SHAPE, np.float32) for _ in range(3)]

    assert place not in map(place_of, others)
    del seen
    gc.collect()
    assert place_of(pool.empty(SHAPE, np.float32)) == place


def test_no_memory_is_reused_without_the_interpreter_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_HAS_EXACT_COUNTS", False)  # as in a free-threaded build of Python
    pool = BufferPool()
    values: dict[Any, Any] = {"x": np.ones(SHAPE, np.float32)}
    before = values["x"]

    pool.empty(SHAPE, np.float32)
    total = accumulate(values, "x", np.ones(SHAPE, np.float32))

    assert pool.nbytes == 0
    assert total is not before
    assert not buffers.can_overwrite(before)
    np.testing.assert_array_equal(before, 1.0)
    np.testing.assert_array_equal(total, 2.0)


def test_small_arrays_come_from_the_allocator() -> None:
    pool = BufferPool()

    x = pool.empty((3, 4), np.float32)

    assert x.flags.owndata
    assert pool.nbytes == 0


def test_the_pool_keeps_no_more_memory_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_MAX_POOL_BYTES", 5 << 20)
    pool = BufferPool()

    held = [pool.empty((1 << 20,), np.uint8) for _ in range(7)]

    assert pool.nbytes == 5 << 20
    assert [x.flags.owndata for x in held] == [False] * 5 + [True] * 2
    assert len(set(map(place_of, held))) == 7
    del held
    other = pool.empty((3 << 20,), np.uint8)  # evicts the buffers before it
    assert not other.flags.owndata
    assert pool.nbytes == 5 << 20
    assert pool.empty((6 << 20,), np.uint8).flags.owndata
    pool.clear()
    assert pool.nbytes == 0


def test_empty_like_keeps_the_memory_order_of_the_axes() -> None:
    x = np.empty((4, 64, 63, 65), np.float32).transpose(0, 3, 1, 2)

    y, counts, small = BUFFERS.empty_like(x), BUFFERS.empty_like(x, np.int64), BUFFERS.empty_like(x[:1, :2])

    assert y.strides == x.strides
    assert counts.strides == tuple(2 * step for step in x.strides)
    assert small.strides == np.empty_like(x[:1, :2]).strides
    assert BUFFERS.empty_like(x, shape=(3, 5, 2, 7)).strides == (280, 4, 140, 20)


def test_threads_share_no_buffer() -> None:
    pool = BufferPool()

    def work(number: int) -> bool:
        for _ in range(200):
            x = pool.empty(SHAPE, np.float32)
            x[:] = number
            if not (x == number).all():
                return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))


def test_arrays_that_a_user_holds_stay_unchanged_during_training() -> None:
    images = tg.uniform((16, 3, 32, 30), rng=0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, rng=1), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(16))
    opt = optim.SGD(model, lr=0.1)
    held, copies = [], []

    for _ in range(4):
        y = model(images.trace())
        first = tg.relu(tg.conv2d(images, model[0].weight, padding=1))
        kept = [first, y.detach(), tg.softmax(first, 1)[:, :2]]
        grads = tg.square(y).mean().backward(wrt=[model, images])
        kept.append(grads[images])
        held += [x.numpy() for x in kept]
        copies += [x.numpy(copy=True) for x in kept]
        opt.step(grads, allow_unused=True)

    assert BUFFERS.nbytes > 0
    for now, then in zip(held, copies, strict=True):
        np.testing.assert_array_equal(now, then)


def test_training_steps_allocate_no_more_buffers_than_the_first_few() -> None:
    BUFFERS.clear()
    images, w = tg.uniform((16, 3, 32, 30), rng=0), tg.uniform((16, 3, 3, 3), rng=1)
    counts = []

    for _ in range(6):
        y = tg.max_pool2d(tg.relu(tg.conv2d(images, w.trace())), 2)
        y.sum().backward()
        counts.append(BUFFERS.nbytes)

    assert counts[1] == counts[-1] > 0


def in_a_buffer(shape: tuple[int, ...]) -> Any:
    array = BUFFERS.empty(shape, np.float32)
    array.fill(1)
    return array


OWNED: dict[str, Any] = {
    "memory of its own": lambda: np.ones(SHAPE, np.float32),
    "a buffer": lambda: in_a_buffer(SHAPE),
    "another shape without references": lambda: np.ones((513, 512), np.float32).T,
}


@pytest.mark.parametrize("made", OWNED.values(), ids=OWNED)
def test_a_sum_without_other_references_accumulates_in_place(made: Any) -> None:
    values = {"x": made()}
    place = place_of(values["x"])

    total = accumulate(values, "x", np.full(SHAPE, 2, np.float32))

    assert place_of(total) == place
    assert (total == 3).all()


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("made", [OWNED["memory of its own"], OWNED["a buffer"]], ids=["memory of its own", "a buffer"])
def test_a_sum_that_is_referenced_elsewhere_stays_unchanged(made: Any, look: Any) -> None:
    values = {"x": made()}
    place, seen = place_of(values["x"]), look(values["x"])

    total = accumulate(values, "x", np.full(SHAPE, 2, np.float32))

    assert place_of(total) != place
    assert (total == 3).all()
    assert (values["x"] == 1).all()
    del seen


def test_a_sum_that_shares_memory_stays_unchanged() -> None:
    memory = np.ones((513, 512), np.float32)
    values = {"x": memory.T}

    total = accumulate(values, "x", np.full(SHAPE, 2, np.float32))

    assert (total == 3).all()
    assert (memory == 1).all()


NOT_ALIKE: dict[str, Any] = {
    "rows that broadcast": np.ones(SHAPE[1], np.float32),
    "float64": np.ones(SHAPE),
    "a number": np.float32(1),
}


@pytest.mark.parametrize("x", NOT_ALIKE.values(), ids=NOT_ALIKE)
def test_a_sum_of_other_shapes_or_dtypes_equals_numpy(x: Any) -> None:
    values = {"x": np.ones(SHAPE, np.float32)}
    before = values["x"].copy()

    total = accumulate(values, "x", x)

    assert total.dtype == (before + x).dtype
    np.testing.assert_array_equal(total, before + x)
    np.testing.assert_array_equal(values["x"], before)


def test_read_only_memory_is_not_overwritten() -> None:
    values = {"x": np.broadcast_to(np.float32(1), SHAPE)}

    total = accumulate(values, "x", np.ones(SHAPE, np.float32))

    assert (total == 2).all()
    assert (values["x"] == 1).all()


def test_the_seed_and_the_gradients_of_two_operands_share_no_memory() -> None:
    seed = tg.ones(SHAPE)
    x = tg.ones(SHAPE)
    h, y = x.trace(), tg.ones(SHAPE)

    grads = (h + y + h + h).backward(wrt=(x, y), seed=seed)

    assert (grads[x].numpy() == 3).all()
    assert (grads[y].numpy() == 1).all()
    assert (seed.numpy() == 1).all()


def test_gradients_that_a_user_holds_stay_unchanged_when_others_are_added() -> None:
    x = tg.ones(SHAPE)
    total = (x.trace() * 2.0).sum().backward()
    held, array = total[x], total[x].numpy()

    (x.trace(grads=total) * 3.0).sum().backward()

    assert (total[x].numpy() == 5).all()
    assert (held.numpy() == 2).all()
    assert (array == 2).all()


INDICES: dict[str, Any] = {
    "a row": 3,
    "an element": (3, 5),
    "columns": (slice(None), slice(1, None, 2)),
    "rows that repeat": (np.array([0, 4, 0]),),
    "a mask": (np.arange(SHAPE[0]) % 2 == 0,),
    "a new axis": (None, slice(2, 9)),
}


def parts(index: Any, dtype: Any = np.float32) -> Any:
    """Return 2, 3, 4, ... in the shape that an index selects."""
    picked = np.empty(SHAPE, dtype)[index]
    return np.arange(2, 2 + picked.size).astype(dtype).reshape(picked.shape)


def sum_of(index: Any, x: Any, dtype: Any = np.float32) -> Any:
    """Return ones with `x` added at an index."""
    expected = np.ones(SHAPE, dtype)
    np.add.at(expected, index, x)
    return expected


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("made", OWNED.values(), ids=OWNED)
def test_a_sum_without_other_references_accumulates_parts_in_place(made: Any, index: Any) -> None:
    values = {"x": made()}
    place, x = place_of(values["x"]), parts(index)

    total = engine(x).accumulate_at(values, "x", index, x)

    assert place_of(total) == place
    np.testing.assert_array_equal(total, sum_of(index, x))


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_sum_of_parts_that_is_referenced_elsewhere_stays_unchanged(look: Any, index: Any) -> None:
    values = {"x": in_a_buffer(SHAPE)}
    place, seen, x = place_of(values["x"]), look(values["x"]), parts(index)

    total = engine(x).accumulate_at(values, "x", index, x)

    assert place_of(total) != place
    np.testing.assert_array_equal(total, sum_of(index, x))
    assert (values["x"] == 1).all()
    del seen


def test_a_sum_of_parts_of_another_dtype_equals_numpy() -> None:
    values, x = {"x": in_a_buffer(SHAPE)}, parts(3, np.float64)

    total = engine(x).accumulate_at(values, "x", 3, x)

    assert total.dtype == np.float64
    np.testing.assert_array_equal(total, sum_of(3, x, np.float64))
    assert (values["x"] == 1).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gradients_of_parts_of_a_large_tensor_are_added_up(dtype: Any) -> None:
    x = tg.zeros(SHAPE, dtype=dtype)
    rows = tg.tensor(np.array([0, 4, 0]))

    def total(h: Any) -> Any:
        return (h * 2.0).sum() + h[3].sum() + (h[:, 1::2] * 3.0).sum() + h[rows].sum() + h[3, 5]

    expected = np.full(SHAPE, 2, dtype)
    expected[3] += 1
    expected[:, 1::2] += 3
    np.add.at(expected, np.array([0, 4, 0]), 1)
    expected[3, 5] += 1
    np.testing.assert_array_equal(total(x.trace()).backward()[x].numpy(), expected)


def test_a_gradient_of_parts_that_a_user_holds_stays_unchanged() -> None:
    x = tg.ones(SHAPE)
    total = (x.trace() * 2.0).sum().backward()
    held, array = total[x], total[x].numpy()

    x.trace(grads=total)[3].sum().backward()

    assert (total[x].numpy()[3] == 3).all()
    assert (held.numpy() == 2).all()
    assert (array == 2).all()
