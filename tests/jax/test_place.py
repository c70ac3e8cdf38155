"""Several devices and several processes: the losses equal those of one device."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax

import tapegrad as tg
from tapegrad import nn
from tests.slow import slow

jit: Any = tg.jit
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "data_parallel.py"
LOSS = r"step \d+: loss (\d+\.\d+)$"

# In a process of its own, for JAX divides the processor into devices when it starts.
SHARDED = """
import sys
sys.path.insert(0, "examples")
sys.argv = ["sharded.py", "--short"]
import sharded
sharded.main()

import jax, numpy as np, pytest
from jax.sharding import NamedSharding, PartitionSpec
import tapegrad as tg
from tapegrad import nn, optim

mesh = jax.make_mesh((4, 2), ("data", "model"))
model = nn.Sequential(nn.Linear(6, 8, rng=0), nn.Tanh(), nn.Linear(8, 3, rng=1))
opt = optim.Adam(model, lr=0.01)
x = tg.jax.place(tg.ones((4, 6)), mesh, "data")
first = model.layers[0].weight

@tg.jit
def printing(x):
    tg.debug.print("sum {total}", total=x.sum())

printing(x)

@tg.jit
def step(model, opt, x):
    loss = (model(x.trace()) ** 2).mean()
    opt.step(loss.backward(wrt=model))
    return loss.detach()

def parts(array):
    return {shard.data.shape for shard in array.addressable_shards}

# A model that is placed again takes the optimizer with it, and new values are placed as the old ones were.
assert tg.jax.place(model, mesh) is model
step(model, opt, x)
assert parts(first.on_device) == {(6, 8)}
assert tg.jax.place(first, mesh, None, "model") is first
step(model, opt, x)
assert parts(first.on_device) == parts(opt.state[first].first.array) == {(6, 4)}
first.assign(tg.ones((6, 8)))
assert first.on_device is None
assert "('data', None)" not in str(tg.jax.placement(model))
step(model, opt, x)
assert parts(first.on_device) == {(6, 4)}
tg.jax.place(model, mesh, {"layers.0.weight": (None, ("data", "model")), "*.bias": ()})
step(model, opt, x)
assert parts(first.on_device) == parts(opt.state[first].first.array) == {(6, 1)}
print(tg.jax.placement(model))
print(tg.jax.placement(nn.Linear(3, 2)))

def rejected(kind, message, rules, target=model, devices=mesh):
    before = [x.on_device for x in model.parameters().values()]
    with pytest.raises(kind) as error:
        tg.jax.place(target, devices, rules)
    assert str(error.value) == message
    assert all(x.on_device is y for x, y in zip(model.parameters().values(), before))

rejected(
    ValueError,
    "place: no path fits '*.wieght'; there are layers.0.weight, layers.0.bias, layers.2.weight, layers.2.bias",
    {"*.wieght": ()},
)
rejected(
    ValueError,
    "place: rules['layers.0.weight'] holds for no path, because earlier rules hold for each path that it fits",
    {"*.weight": (), "layers.0.weight": ()},
)
rejected(
    tg.ShapeError,
    "place: layers.0.weight (6, 8): axis 0 is 6, which cannot be divided among the 4 devices of 'data'",
    {"layers.2.weight": ("data",), "layers.0.weight": ("data", "model")},
)
rejected(
    tg.ShapeError,
    "place: layers.2.weight (8, 3): axis 1 is 3, which cannot be divided among the 8 devices of 'data' and 'model'",
    {"layers.2.weight": (None, ("data", "model"))},
)
rejected(
    tg.ShapeError,
    "place: layers.0.bias (8,) has rank 1 but rules['*'] is ('data', None), of length 2",
    {"*.weight": (), "*": ("data", None)},
)
rejected(
    ValueError,
    "place: layers.0.bias (8,): rules['*.bias'] is ('row',) but the axes of the mesh are 'data', 'model'",
    {"*.bias": ("row",)},
)
rejected(
    ValueError,
    "place: layers.0.weight (6, 8): rules['layers.0.*t'] is ('model', 'model'), where 'model' would divide two axes",
    {"layers.0.*t": ("model", "model")},
)
rejected(
    tg.DTypeError,
    "place: rules['*'] is 'data' but a tuple of axes of the mesh is expected, such as ('data', None)",
    {"*": "data"},
)
rejected(tg.DTypeError, "place: rules are for the paths of a module but target is a Param", {}, first)
rejected(
    tg.DTypeError,
    "place: rules need a jax.sharding.Mesh but devices is a NamedSharding",
    {},
    devices=NamedSharding(mesh, PartitionSpec()),
)
with pytest.raises(tg.DTypeError, match=r"^placement: target is an int, neither a module nor an optimizer$"):
    tg.jax.placement(3)

assert (x.shape, x.tolist()) == ((4, 6), [[1.0] * 6] * 4)
labels = tg.jax.place(tg.arange(4), NamedSharding(mesh, PartitionSpec("data")))
assert labels.tolist() == [0, 1, 2, 3]
local = tg.jax.from_local(tg.ones((4, 6), np.float64), mesh, "data")
assert (local.shape, local.dtype) == ((4, 6), np.float64)
cannot = r"axis 0 is 3, which cannot be divided among the 4 devices of 'data'$"
with pytest.raises(tg.ShapeError, match=rf"^place: target \\(3, 6\\): {cannot}"):
    tg.jax.place(tg.ones((3, 6)), mesh, "data")
with pytest.raises(tg.ShapeError, match=r"^place: target \\(3,\\) cannot be divided so: "):
    tg.jax.place(tg.ones((3,)), NamedSharding(mesh, PartitionSpec("data")))
with pytest.raises(tg.ShapeError, match=r"^place: layers.2.bias \\(3,\\): axis 0 is 3, "):
    tg.jax.place(model, mesh, "model")
with pytest.raises(tg.TapeError, match=r"^place: target has a tape but must have none$"):
    tg.jax.place(tg.ones((4, 6)).trace(), mesh, "data")
with pytest.raises(tg.TapeError, match=r"^from_local: x has a tape but must have none$"):
    tg.jax.from_local(tg.ones((4, 6)).trace(), mesh, "data")
with pytest.raises(tg.DTypeError, match=r"^place: target is an int, neither a tensor nor a module$"):
    tg.jax.place(3, mesh, "data")
print("all well")
"""
TABLES = """
path             tensor          divided by                 part    devices  bytes of a part
layers.0.weight  float32 (6, 8)  (None, ('data', 'model'))  (6, 1)        8               24
layers.0.bias    float32 (8,)    nothing                    (8,)          8               32
layers.2.weight  float32 (8, 3)  nothing                    (8, 3)        8               96
layers.2.bias    float32 (3,)    nothing                    (3,)          8               12

332 bytes in all, at most 164 on a device
path    tensor          divided by  part    devices  bytes of a part
weight  float32 (3, 2)  nothing     (3, 2)     host               24
bias    float32 (2,)    nothing     (2,)       host                8

32 bytes in all, in host memory
all well
"""


def trained(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(EXAMPLE), "--short", *options]
    own = os.environ | {"XLA_FLAGS": ""}  # compiled as for a user
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=own)


def losses(run: subprocess.Popen[str], devices: str) -> list[float]:
    said, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert devices in said
    # Beside these Gloo says whom it has met, in lines that two of its threads may write into each other.
    found = [float(number) for number in re.findall(LOSS, said, re.MULTILINE)]
    assert len(found) > 2
    return found


def test_models_lie_on_a_mesh_by_rules_and_train_like_one_device() -> None:
    run = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False, cwd=ROOT)

    assert run.stdout.endswith(TABLES), run.stdout + run.stderr
    assert "sum 24.0\n" in run.stdout
    assert run.stdout.count("losses as on one device, to within 0.0001") == 3


def test_the_example_trains_in_one_process_with_four_devices() -> None:
    found = losses(trained("--devices", "4"), "4 devices in 1 processes")

    assert found[-1] < found[0]


@slow  # tests/jax/test_checkpoint.py trains, saves and loads in two processes
def test_two_processes_with_four_devices_have_the_losses_of_one_device() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    alone = losses(trained(), "1 devices in 1 processes")
    shared: list[Any] = ["--devices", "4", "--coordinator", address, "--processes", "2"]
    runs = [trained(*shared, "--process", str(process)) for process in (0, 1)]

    try:
        first, second = (losses(run, "8 devices in 2 processes") for run in runs)
    finally:
        for run in runs:
            run.kill()

    assert first == second
    assert first == pytest.approx(alone, abs=2e-5)
    assert alone[-1] < alone[0]


def test_numbers_of_a_step_have_no_axis_of_a_mesh_of_one_device() -> None:
    model = nn.Linear(2, 3, rng=0)
    tg.jax.place(model, jax.make_mesh((1,), ("data",)), {"weight": ("data", None)})

    y = jit(lambda model, x, factor: model(x) * factor)(model, tg.ones((4, 2)), 0.5)

    assert y.shape == (4, 3)
