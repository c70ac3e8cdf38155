"""Several devices and several processes: the losses equal those of one device."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "data_parallel.py"
LOSS = r"step \d+: loss (\d+\.\d+)$"

# In a process of its own, for JAX divides the processor into devices when it starts.
SHARDED = """
import jax, numpy as np, pytest, re
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)
from jax.sharding import NamedSharding, PartitionSpec
import tapegrad as tg
from tapegrad import nn, optim

mesh = jax.make_mesh((2, 2), ("data", "model"))

def made():
    with tg.random(0):
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    return model, optim.Adam(model, lr=0.01)

def step(model, opt, x, y):
    loss = tg.cross_entropy(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()

def batch(seed):
    rng = np.random.default_rng(seed)
    return tg.tensor(rng.normal(size=(4, 6)).astype(np.float32)), tg.tensor(rng.integers(0, 3, 4))

traces = []
def counting(*args):
    traces.append(1)
    return step(*args)

jitted = tg.jit(counting)
(model, opt), (other, opt_of_other) = made(), made()
assert tg.jax.place(model, mesh) is model
first = model.layers[0].weight
assert tg.jax.place(first, mesh, *("model" if n == 8 else None for n in first.shape)) is first
for turn in range(4):
    x, y = batch(turn)
    labels = tg.jax.place(y, NamedSharding(mesh, PartitionSpec("data")))
    loss = jitted(model, opt, tg.jax.place(x, mesh, "data"), labels)
    np.testing.assert_allclose(loss.item(), step(other, opt_of_other, x, y).item(), rtol=1e-5)
assert len(traces) == 1
for path, parameter in model.parameters().items():
    np.testing.assert_allclose(parameter.numpy(), other.parameters()[path].numpy(), rtol=1e-4, atol=1e-5)

# Each device still has its shard of the sharded tensors and of their optimizer state.
parts = {shard.data.shape for shard in first.on_device.addressable_shards}
assert parts == {tuple(n // (2 if n == 8 else 1) for n in first.shape)}, parts
assert {shard.data.shape for shard in opt.state[first].first.array.addressable_shards} == parts

x = tg.jax.place(tg.ones((4, 6)), mesh, "data")
assert (x.shape, x.tolist()) == ((4, 6), [[1.0] * 6] * 4)
local = tg.jax.from_local(tg.ones((4, 6), np.float64), mesh, "data")
assert (local.shape, local.dtype) == ((4, 6), np.float64)
with pytest.raises(tg.ShapeError, match=r"^place: target \\(3, 6\\) cannot be divided so: "):
    tg.jax.place(tg.ones((3, 6)), mesh, "data")
with pytest.raises(tg.ShapeError, match=r"^place: layers.2.bias \\(3,\\) cannot be divided so: "):
    tg.jax.place(model, mesh, "model")
with pytest.raises(tg.TapeError, match=r"^place: target has a tape but must have none$"):
    tg.jax.place(tg.ones((4, 6)).trace(), mesh, "data")
with pytest.raises(tg.TapeError, match=r"^from_local: x has a tape but must have none$"):
    tg.jax.from_local(tg.ones((4, 6)).trace(), mesh, "data")
with pytest.raises(tg.DTypeError, match=r"^place: target is an int, neither a tensor nor a module$"):
    tg.jax.place(3, mesh, "data")
print("all well")
"""


def trained(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(EXAMPLE), "--short", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def losses(run: subprocess.Popen[str], devices: str) -> list[float]:
    said, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert devices in said
    # Beside these Gloo says whom it has met, in lines that two of its threads may write into each other.
    found = [float(number) for number in re.findall(LOSS, said, re.MULTILINE)]
    assert len(found) > 2
    return found


def test_tensors_on_a_mesh_are_sharded_or_replicated() -> None:
    run = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False, cwd=ROOT)

    assert run.stdout == "all well\n", run.stderr


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
