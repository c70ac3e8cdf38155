"""Exported steps: the same values without tapegrad, for named sizes, on several platforms; and what is rejected."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.errors import DTypeError, ShapeError, TapeError


def jit(step: Callable[..., Any]) -> Any:
    return tg.jit(step)


# Run where no tapegrad can be imported.
ELSEWHERE = """
import sys
sys.modules["tapegrad"] = None
import jax, numpy as np
exported = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
np.save(sys.argv[2], exported.call(np.load(sys.argv[3])))
try:
    import tapegrad
except ImportError:
    print("without tapegrad")
"""


def export(*args: Any, **options: Any) -> Any:
    return tg.jax.export(*args, **options)


def called(exported: Any, *args: Any, **options: Any) -> Any:
    with jax.enable_x64(True):  # noqa: FBT003  # JAX's signature
        call: Any = jax.export.deserialize(exported.serialize()).call
        return call(*args, **options)


@jit
def predict(model: Any, x: Any) -> Any:
    return model(x)


def test_a_process_without_tapegrad_computes_the_same(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 5, rng=0), nn.GELU(), nn.LayerNorm(5), nn.Dropout(0.5), nn.Linear(5, 2, rng=1))
    x = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    files = [tmp_path / name for name in ("predict.jax", "scores.npy", "x.npy")]
    files[0].write_bytes(export(predict, model, tg.ones((1, 3)), sizes={"x": ("batch", None)}).serialize())
    np.save(files[2], x)

    done = subprocess.run([sys.executable, "-c", ELSEWHERE, *files], capture_output=True, text=True, check=False)

    assert done.stdout == "without tapegrad\n", done.stderr
    assert_allclose(np.load(files[1]), predict(model, tg.tensor(x)).numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "shape", "names"),
    [
        (nn.Sequential(nn.Linear(6, 4), nn.RMSNorm(4), nn.SiLU()), (2, 6), ("n", None)),
        (
            nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            (2, 1, 8, 8),
            ("n", None, None, None),
        ),
        (nn.TransformerEncoderBlock(6, 2, 5), (2, 3, 6), ("n", "t", None)),
        (nn.TransformerEncoderBlock(6, 2, 5, causal=True), (2, 3, 6), ("n", "t", None)),
        (nn.LSTM(6, 4), (3, 2, 6), ("n", "t", None)),
        (nn.GRU(6, 4), (3, 2, 6), ("2*n", None, None)),
    ],
)
def test_named_sizes_stand_for_any_size(model: Any, shape: Any, names: Any) -> None:
    exported = export(predict, model, tg.ones(shape), sizes={"x": names})
    larger = [4 if name else n for n, name in zip(shape, names, strict=True)]
    x = np.random.default_rng(1).normal(size=larger).astype(np.float32)

    found, expected = called(exported, x), model(tg.tensor(x))

    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-5)


def test_ops_that_create_tensors_take_named_sizes() -> None:
    @jit
    def step(x: Any, labels: Any) -> Any:
        zeros = tg.zeros((*x.shape[:1], 2)) + tg.full_like(x[:, :2], 0.5) + tg.full((x.shape[0], 1), 2.0)
        values, places = tg.topk(x, 2)
        counted = (
            tg.arange(x.shape[0]),
            tg.tril(x, 1),
            tg.triu(x),
            tg.rotary_embedding(x[:, :2]),
        )
        sorted_ = tg.gather(x, labels, axis=1), tg.sort(x), tg.sort(x, axis=1, descending=True)
        return zeros, values, places, tg.ones_like(x), x.mean(), tg.upsample2d(x[:, None, None], 2), *counted, *sorted_

    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=(4, 3)).astype(np.float32), rng.integers(0, 3, (4, 1))
    exported = export(
        step, tg.ones((1, 3)), tg.zeros((1, 1), np.int64), sizes=dict.fromkeys(("x", "labels"), ("n", None))
    )

    for one, other in zip(called(exported, x, labels), step(tg.tensor(x), tg.tensor(labels)), strict=True):
        assert one.dtype == other.dtype
        assert_allclose(one, other.numpy(), rtol=1e-6)


@pytest.mark.parametrize("op", [tg.var, tg.std])
@pytest.mark.parametrize("axis", [0, (0, 1), None])
def test_variances_over_axes_of_named_sizes_are_exported(op: Any, axis: Any) -> None:
    @jit
    def step(x: Any) -> Any:
        y = op(x.trace(), axis, correction=1)
        return y.detach(), y.sum().backward()[x]

    exported = export(step, tg.ones((1, 3)), sizes={"x": ("n", None)})

    for rows in (1, 4):
        x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
        for one, other in zip(called(exported, x), step(tg.tensor(x)), strict=True):
            assert one.dtype == other.dtype
            assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_padding_of_axes_with_named_sizes_is_exported(mode: Any) -> None:
    widths = ((2, 9), (1, 3), (0, 0))

    @jit
    def padded(x: Any) -> Any:
        y = tg.pad(x.trace(), widths, mode=mode)
        return y.detach(), (y * y * y).sum().backward()[x]

    exported = export(padded, tg.ones((2, 3, 2)), sizes={"x": ("batch", "n", None)})

    for shape in ((1, 1, 2), (3, 2, 2), (13, 5, 2)):
        x = np.arange(1.0, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
        y, dx = called(exported, x)
        assert_array_equal(y, np.pad(x, widths, mode))
        assert_allclose(dx, padded(tg.tensor(x))[1].numpy(), rtol=1e-5)


def test_tensors_are_inputs_wherever_they_stand_and_the_rest_is_part_of_the_program() -> None:
    @dataclass
    class Found:
        total: Any
        scale: float

    class Pair(NamedTuple):
        x: Any
        y: Any

    @jit
    def step(batch: Any, k: float, pair: Any, *, named: Any, table: Any) -> Any:
        return {"sum": [batch["a"] * k + pair.x, (pair.y, None)], "found": Found(named.sum() + table[0][1], k)}

    x, y = tg.tensor([1.0, 2.0]), tg.tensor([3, 4])
    exported = export(step, {"b": x, "a": x}, 2.0, Pair(x, y), named=x, table=[(x, x)])
    arrays = [np.array([at, at + 1], np.float32) for at in range(6)]

    found = called(
        exported,
        {"a": arrays[0], "b": arrays[1]},
        (arrays[2], np.array([7, 8])),
        named=arrays[3],
        table=[(arrays[4], arrays[5])],
    )

    assert_array_equal(found["sum"][0], 2 * arrays[0] + arrays[2])
    assert_array_equal(found["sum"][1][0], [7, 8])
    assert found["sum"][1][1] is None
    assert_array_equal(found["found"]["total"], arrays[3].sum() + arrays[5])
    assert float(found["found"]["scale"]) == 2.0


def test_partials_methods_and_derivatives_are_exported() -> None:
    class Scaler:
        def __init__(self) -> None:
            self.k = 3.0

        def gradient(self, x: Any) -> Any:
            loss = (x.trace() ** 2).sum() * self.k
            return loss.detach(), loss.backward()[x]

    method = jit(Scaler().gradient)
    partial = jit(functools.partial(lambda y, x: x - y, tg.tensor([1.0, 1.0])))

    assert_array_equal(called(export(method, tg.ones((2,))), np.array([1, 2], np.float32))[1], [6, 12])
    assert_array_equal(
        called(export(partial, tg.ones((2,))), np.array([1, 2], np.float32), np.array([5, 5], np.float32)), [4, 3]
    )


@pytest.mark.parametrize(
    ("platforms", "said"),
    [
        (("cpu", "gpu"), "export: platforms has 'gpu' but 'cpu', 'cuda', 'rocm', 'tpu' are expected"),
        (("cudaa",), "export: platforms has 'cudaa' but 'cpu', 'cuda', 'rocm', 'tpu' are expected"),
        ("cpu", "export: platforms is 'cpu' but a tuple of names is expected, such as ('cpu',)"),
    ],
    ids=["gpu", "typo", "string"],
)
def test_names_of_no_platform_are_rejected(platforms: Any, said: str) -> None:
    with pytest.raises((DTypeError, ValueError), match="platforms") as found:
        export(predict, nn.Linear(3, 2), tg.ones((4, 3)), platforms=platforms)

    assert str(found.value) == said


def test_several_platforms_are_exported_at_once() -> None:
    exported = export(predict, nn.Linear(3, 2), tg.ones((4, 3)), platforms=("cpu", "cuda"))

    assert exported.platforms == ("cpu", "cuda")
    assert called(exported, np.ones((4, 3), np.float32)).shape == (4, 2)


def test_a_placed_model_is_exported_for_one_device() -> None:
    model = nn.Linear(3, 2, rng=0)
    x, expected = tg.ones((4, 3)), model(tg.ones((4, 3))).numpy()
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    tg.jax.place(model, mesh)

    exported = export(predict, model, tg.jax.place(x, mesh, "data"))

    assert exported.nr_devices == 1
    assert_allclose(called(exported, x.numpy()), expected, rtol=1e-6)


def test_an_export_changes_nothing() -> None:
    model = nn.Linear(3, 2, rng=0)
    before = model.weight.tolist()

    export(predict, model, tg.ones((4, 3)))

    assert model.weight.tolist() == before
    assert len(tg.jax.programs(predict)) == tg.jax.programs(predict).compiled
    assert model(tg.ones((1, 3))).shape == (1, 2)


@jit
def train(model: Any, opt: Any, x: Any) -> None:
    opt.step(model(x.trace()).sum().backward(wrt=model))


@jit
def count(buffer: Any, x: Any) -> Any:
    buffer.assign(buffer + 1.0)
    return x


@jit
def printing(x: Any) -> Any:
    tg.debug.print("{x}", x=x)
    return x


def rejected(kind: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as error:
        export(*args, **options)
    return str(error.value)


def test_a_step_that_does_more_than_compute_is_rejected() -> None:
    model, x = nn.Linear(3, 2), tg.ones((1, 3))
    only = "but an exported program returns results only"

    changed = rejected(TapeError, train, model, optim.SGD(model, lr=0.1), x)
    assert changed == f"export: the step changes model.weight, {only}"
    assert rejected(TapeError, count, nn.Buffer(x), x) == f"export: the step changes buffer, {only}"
    assert rejected(TapeError, printing, x) == f"export: the step prints, {only}: remove the debug.print"
    message = "export: the step draws random numbers, but an exported program has no generator: pass them as a tensor"
    assert rejected(TapeError, jit(lambda x: x + tg.uniform((3,))), x) == message
    taped = rejected(TapeError, predict, model, x.trace())
    assert "x has a tape but must have none" in taped


def test_other_arguments_and_results_are_rejected() -> None:
    model, x = nn.Linear(3, 2), tg.ones((1, 3))

    message = "export: step is a function that jit has not compiled"
    assert rejected(DTypeError, lambda x: x, x) == message
    message = "export: no example is a tensor, so the exported program would always return the same"
    assert rejected(DTypeError, jit(lambda k: k), 2.0) == message
    message = "export: both.1 is in one argument with a Linear; pass them as two arguments"
    assert rejected(DTypeError, jit(lambda both: both[0](both[1])), (model, x)) == message
    message = "export: the step returns a Linear, but tensors, numbers, and tuples, lists and dictionaries are expected"
    assert rejected(DTypeError, jit(lambda model, x: (model, x)), model, x) == message


def test_sizes_that_do_not_fit_are_rejected() -> None:
    model, x = nn.Linear(3, 2), tg.ones((1, 3))

    message = "export: sizes has 'y' but the tensors are 'x'"
    assert rejected(ValueError, predict, model, x, sizes={"y": ("n", None)}) == message
    message = "export: sizes['x'] is ('n',) but x (1, 3) needs a tuple of 2"
    assert rejected(ShapeError, predict, model, x, sizes={"x": ("n",)}) == message
    message = "export: sizes['x'] is 'n' but x (1, 3) needs a tuple of 2"
    assert rejected(ShapeError, predict, model, x, sizes={"x": "n"}) == message
    said = rejected(ShapeError, predict, model, x, sizes={"x": ("n+", None)})
    assert said.startswith("export: sizes['x'] is ('n+', None): ")


def test_a_step_that_needs_the_number_of_a_size_is_rejected_and_one_that_is_wrong_anyway_says_so() -> None:
    said = rejected(ShapeError, jit(lambda x: x if x.shape[0] > 3 else -x), tg.ones((3,)), sizes={"x": ("n",)})
    reason = "it compares or converts it; give None instead of the name, for the size of the example"
    assert said == f"export: the step needs the number that n stands for: {reason}"
    said = rejected(ShapeError, predict, nn.Linear(3, 2), tg.ones((1, 3)), sizes={"x": ("n", "m")})
    assert said == (
        "export: the step needs the number that m or n stands for: "
        "model Linear(3, 2): x is (n, m) but (..., 3) is expected: axis -1 is m, not 3"
    )
    said = rejected(ShapeError, predict, nn.Linear(4, 2), tg.ones((1, 3)), sizes={"x": ("n", None)})
    assert said == "model Linear(4, 2): x is (1, 3) but (..., 4) is expected: axis -1 is 3, not 4"
