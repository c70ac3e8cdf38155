"""Steps of a run that several processes save together: other devices, killed processes, and what is rejected."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")
pytest.importorskip("orbax.checkpoint", reason="the extra `orbax` brings it")

import jax

import tapegrad as tg
from tapegrad import data, nn, optim
from tapegrad.errors import DTypeError
from tapegrad.io import FileError
from tapegrad.quantized import BlockSymmetric
from tests.slow import slow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "data_parallel.py"
LOSS = re.compile(r"step (\d+): loss (\d+\.\d+)$", re.MULTILINE)

# In a process of its own, because JAX divides the processor into devices when it starts.
OTHER_MESH = """
import sys
import jax, numpy as np
jax.config.update("jax_num_cpu_devices", 8)
import orbax.checkpoint as ocp
import tapegrad as tg
from tapegrad import nn, optim

@tg.jit
def step(model, opt, x):
    loss = (model(x.trace()) ** 2).mean()
    opt.step(loss.backward(wrt=model))
    return loss.detach()

def made(seed, shape, rules):
    mesh = jax.make_mesh(shape, ("data", "model"))
    layers = nn.Linear(6, 8, rng=seed), nn.BatchNorm1d(8), nn.Dropout(0.5, rng=seed), nn.Linear(8, 3, rng=0)
    model = nn.Sequential(*layers)
    opt = optim.Adam(tg.jax.place(model, mesh, rules), lr=0.01 * (seed + 1))
    return model, opt, tg.jax.place(tg.normal((8, 6), rng=0), mesh, "data")

model, opt, x = made(0, (4, 2), {"layers.0.weight": (None, "model"), "layers.3.weight": ("data", None)})
for _ in range(3):
    step(model, opt, x)
tg.jax.save({"model": model, "opt": opt}, sys.argv[1], step=3)
with ocp.StandardCheckpointer() as checkpointer:
    checkpointer.save(sys.argv[1] + "/plain", model)
losses = [step(model, opt, x).item() for _ in range(3)]

for steps_before in (0, 1):
    other, its_opt, x = made(7, (2, 4), {"layers.0.weight": ("data", "model")[:1]})
    for _ in range(steps_before):
        step(other, its_opt, x)
    assert tg.jax.load({"model": other, "opt": its_opt}, sys.argv[1]) == 3
    first = other.layers[0].weight
    assert {shard.data.shape for shard in first.on_device.addressable_shards} == {(3, 8)}
    assert {shard.data.shape for shard in its_opt.state[first].first.array.addressable_shards} == {(3, 8)}
    assert abs(np.subtract([step(other, its_opt, x).item() for _ in range(3)], losses)).max() < 1e-5
    assert its_opt.lr == 0.01

alone = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
opt = optim.Adam(alone, lr=1.0)
tg.jax.load({"model": alone, "opt": opt}, sys.argv[1])
found = [step(alone, opt, tg.normal((8, 6), rng=0)).item() for _ in range(3)]
assert abs(np.subtract(found, losses)).max() < 1e-5

# orbax alone saves and restores a divided model, which is a pytree, on another mesh.
target, _, x = made(9, (2, 4), {"layers.0.weight": ("data",)})
with ocp.StandardCheckpointer() as checkpointer:
    plain = checkpointer.restore(sys.argv[1] + "/plain", target)
assert {shard.data.shape for shard in plain.layers[0].weight.on_device.addressable_shards} == {(3, 8)}
tg.jax.load({"model": target, "opt": optim.Adam(target, lr=1.0)}, sys.argv[1])
assert plain.layers[3].weight.tolist() == target.layers[3].weight.tolist()
print("all well")
"""

# The first argument is the address of the first of two processes, the second the number of this one.
IN_PARTS = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import pytest
import tapegrad as tg
from tapegrad import io, nn, optim
from tapegrad.nn.summary import summary

mesh = jax.make_mesh((4,), ("data",))
model = nn.Sequential(nn.Linear(8, 4, rng=0), nn.Tanh())
opt = optim.Adam(tg.jax.place(model, mesh, {"*.weight": ("data", None)}), lr=0.1)

@tg.jit
def step(model, opt, x):
    loss = (model(x.trace()) ** 2).mean()
    opt.step(loss.backward(wrt=model))
    return loss.detach()

x = tg.jax.from_local(tg.ones((2, 8)), mesh, "data")
before = step(model, opt, x).item()
saved = {"model": model, "opt": opt}
tg.jax.save(saved, sys.argv[3], step=1)
after = [step(model, opt, x).item() for _ in range(2)]
assert tg.jax.load(saved, sys.argv[3]) == 1
assert [step(model, opt, x).item() for _ in range(2)] == after
assert tg.jax.saved_steps(sys.argv[3]) == [1]

weight = model.layers[0].weight
assert repr(weight) == "Param(parts in 2 processes, shape=(8, 4), float32)"
assert "first=parts in 2 processes" in repr(opt.state[weight])
assert repr(model) == "Sequential(\\n  layers.0: Linear(8, 4)\\n  layers.1: Tanh()\\n)"
assert [row.axes for row in tg.jax.placement(model).rows] == [("data", None), (None,)]
assert model.layers[0].bias.numpy().shape == (4,)
message = "a tensor of shape (8, 4) has parts in 2 processes; "
message += "replicate it with tapegrad.jax.place before its numbers are read"
eager = lambda: model(tg.ones((1, 8))), lambda: summary(model, tg.ones((1, 8))), lambda: weight * 2.0
for read in (weight.numpy, *eager, lambda: io.save(model, sys.argv[3] + "/model.npz"), opt.arrays):
    with pytest.raises(tg.TapeError) as error:
        read()
    place, _, said = str(error.value).rpartition("a tensor of shape")
    assert "a tensor of shape" + said == message, str(error.value)
    places = "", "mul: ", "Sequential[0] Linear(8, 4): ", "model[0] Linear(8, 4): "  # the last where Python reads -c
    assert place in places, place
print("all well")
"""

# Saves one step after the other until it is killed.
SAVING = """
import sys
from itertools import count
import tapegrad as tg
from tapegrad import nn
model = nn.Linear(300, 400, rng=0)
for step in count(1):
    model.bias.assign(tg.full((400,), float(step)))
    tg.jax.save(model, sys.argv[1], step=step, keep=3)
"""


def started(code: str | Path, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, *(["-c", code] if isinstance(code, str) else [str(code)]), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def address() -> str:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return f"localhost:{free.getsockname()[1]}"


def until(is_so: Any, run: subprocess.Popen[str], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_step_is_loaded_onto_another_mesh_and_onto_one_device(tmp_path: Path) -> None:
    said, errors = started(OTHER_MESH, tmp_path).communicate(timeout=120)

    assert said == "all well\n", errors


def test_two_processes_save_together_and_what_reads_their_parts_says_so(tmp_path: Path) -> None:
    where = address()
    runs = [started(IN_PARTS, where, process, tmp_path) for process in (0, 1)]

    try:
        for run in runs:
            said, errors = run.communicate(timeout=120)
            assert said.endswith("all well\n"), said + errors
    finally:
        for run in runs:
            run.kill()
            run.wait()


def test_a_process_that_is_killed_while_it_saves_leaves_the_last_complete_step(tmp_path: Path) -> None:
    run = started(SAVING, tmp_path)
    unfinished: list[Path] = []

    def is_saving() -> bool:
        unfinished[:] = tmp_path.glob("*tmp*")
        return bool(unfinished) and len(tg.jax.saved_steps(tmp_path)) > 1

    until(is_saving, run)
    run.kill()
    run.communicate()

    model = nn.Linear(300, 400)
    step = tg.jax.load(model, tmp_path)
    assert step == max(tg.jax.saved_steps(tmp_path))
    assert model.bias.tolist() == [float(step)] * 400
    tg.jax.save(model, tmp_path, step=step + 10)
    assert not [*tmp_path.glob("*tmp*")]


@slow  # the tests above save in two processes, load onto other devices, and kill a process that saves
def test_one_process_goes_on_where_two_were_killed(tmp_path: Path) -> None:
    shared = ["--devices", 2, "--coordinator", address(), "--processes", 2, "--run", tmp_path]
    runs = [started(EXAMPLE, *shared, "--process", process) for process in (0, 1)]
    try:
        until((tmp_path / "30").exists, runs[1])
        os.kill(runs[1].pid, signal.SIGKILL)
    finally:
        for one in runs:
            one.kill()
            one.communicate()

    begun = max(int(one.name) for one in tmp_path.iterdir() if one.name.isdigit())
    resumed, errors = started(EXAMPLE, "--devices", 4, "--run", tmp_path).communicate(timeout=120)
    alone, _ = started(EXAMPLE).communicate(timeout=120)

    found, expected = (dict(LOSS.findall(said)) for said in (resumed, alone))
    assert [*found] == [str(number) for number in range(begun + 10, 101, 10)], resumed + errors
    assert begun < 100
    for number, loss in found.items():
        assert float(loss) == pytest.approx(float(expected[number]), abs=1e-4)


def test_all_that_a_file_can_hold_is_saved_and_loaded(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def __init__(self, seed: int) -> None:
            rng = np.random.default_rng(seed)
            self.wide = nn.Param(tg.tensor(rng.normal(size=3)))
            self.half = nn.Param(tg.tensor(rng.normal(size=(2, 2)).astype(np.float16)))
            self.empty = nn.Buffer(tg.zeros((0, 3)))
            self.whole = nn.Buffer(tg.tensor([2**40 + seed, -1]))
            self.noise = nn.Dropout(0.5, rng=seed)

    def everything(seed: int) -> Any:
        model: Any = Odd(seed)
        opt = optim.SGD(model, lr=float(seed), momentum=0.9, groups={"wide": optim.Group(lr=0.25 * seed)})
        batches = data.batches(tg.arange(6), size=2, rng=seed)
        next(iter(batches))
        return {"model": model, "opt": opt, "batches": batches, "rng": np.random.default_rng(seed)}

    saved, loaded = everything(1), everything(2)
    tg.jax.save(saved, tmp_path, step=5)

    assert tg.jax.load(loaded, tmp_path, step=5) == 5

    for name in ("wide", "half", "empty", "whole"):
        one, other = getattr(loaded["model"], name), getattr(saved["model"], name)
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
    assert (loaded["opt"].lr, loaded["opt"].groups["wide"].lr) == (1.0, 0.25)
    assert loaded["rng"].random() == saved["rng"].random()
    assert loaded["model"].noise.rng.random() == saved["model"].noise.rng.random()
    assert [x.tolist() for x in loaded["batches"]] == [x.tolist() for x in saved["batches"]]


def stored_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def test_a_quantized_model_is_saved_as_it_is_stored(tmp_path: Path) -> None:
    def wide(seed: int) -> Any:
        return nn.Sequential(nn.Linear(512, 384, rng=seed), nn.ReLU(), nn.Linear(384, 16, rng=seed))

    saved, loaded, floats = nn.quantized(wide(1)), nn.quantized(wide(2)), wide(1)
    scores: Any = tg.jit(lambda model, x: model(x))
    x = tg.normal((3, 512), rng=0)
    before = scores(loaded, x)  # the weights that it computes with lie on the device now
    tg.jax.save(saved, tmp_path / "small", step=1)
    tg.jax.save(floats, tmp_path / "large", step=1)

    tg.jax.load(loaded, tmp_path / "small")

    for one, other in zip(loaded.parameters().values(), saved.parameters().values(), strict=True):
        assert one.tolist() == other.tolist()
    assert loaded[0].weight.steps.values.dtype == np.int8
    assert scores(loaded, x).tolist() == scores(saved, x).tolist() != before.tolist()
    assert stored_bytes(tmp_path / "small") < 0.45 * stored_bytes(tmp_path / "large")


def test_floats_of_a_step_are_quantized_by_the_model_that_loads_them(tmp_path: Path) -> None:
    floats, quantized = nn.Linear(6, 4, rng=1), nn.quantized(nn.Linear(6, 4, rng=2))
    tg.jax.save({"model": floats}, tmp_path, step=1)

    tg.jax.load({"model": quantized}, tmp_path)

    assert quantized.weight.tolist() == nn.quantized(floats).weight.tolist()
    assert quantized.bias.tolist() == floats.bias.tolist()


def test_a_step_with_other_blocks_of_quantized_weights_is_rejected(tmp_path: Path) -> None:
    one, other = (nn.quantized(nn.Linear(4, 6, rng=1), BlockSymmetric(block)) for block in (14, 13))
    before = other.weight.tolist()
    tg.jax.save(one, tmp_path, step=1)

    with pytest.raises(FileError, match=r"weight is quantized in blocks of 14 in the file but in blocks of 13 here$"):
        tg.jax.load(other, tmp_path)

    assert other.weight.tolist() == before


def test_a_loaded_parameter_is_a_new_version_of_it(tmp_path: Path) -> None:
    model = nn.Linear(3, 2, rng=0)
    tg.jax.save(model, tmp_path, step=1)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    tg.jax.place(model, mesh, {"weight": (None, "data")})
    loss = model(tg.ones((1, 3)).trace()).sum()

    tg.jax.load(model, tmp_path)

    with pytest.raises(tg.TapeError, match="version 0 was recorded, version 1 is there"):
        loss.backward(wrt=model)


def rejected(kind: Any, call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as error:
        call(*args, **options)
    return str(error.value)


def test_another_structure_is_rejected_and_nothing_changes(tmp_path: Path) -> None:
    model, other = nn.Linear(3, 2, rng=0), nn.Linear(3, 4, rng=1)
    tg.jax.save({"model": model}, tmp_path, step=1)
    before = other.weight.tolist(), other.bias.tolist()

    message = f"load: step 1 in {tmp_path} does not fit the mapping, which stays as it is:"
    message += "\n  model.weight is float32 (3, 2) in the file but float32 (3, 4) is expected"
    message += "\n  model.bias is float32 (2,) in the file but float32 (4,) is expected"
    assert rejected(FileError, tg.jax.load, {"model": other}, tmp_path) == message
    assert (other.weight.tolist(), other.bias.tolist()) == before
    said = rejected(FileError, tg.jax.load, model, tmp_path)
    assert "\n  weight (3, 2) is not in the file\n" in said
    assert said.endswith("\n  model.bias (2,) is in the file only")


def test_numbers_of_steps_that_would_not_be_found_again_are_rejected(tmp_path: Path) -> None:
    model, run = nn.Linear(3, 2), tmp_path / "run"
    tg.jax.save(model, run, step=0)

    rejects: list[dict[str, Any]] = [
        {"step": -1},
        {"step": 1.5},
        {"step": True},
        {"step": 1, "keep": 0},
        {"step": 1, "keep": -1},
    ]
    for options in rejects:
        name, value = [*options.items()][-1]
        kind = DTypeError if type(value) in (float, bool) else ValueError
        assert rejected(kind, tg.jax.save, model, run, **options).startswith(f"save: {name} is {value}")
    tg.jax.save(model, run, step=1, keep=1)

    assert tg.jax.saved_steps(run) == [1]


def test_steps_that_are_missing_or_there_already_are_rejected(tmp_path: Path) -> None:
    model, run = nn.Linear(3, 2), tmp_path / "run"

    assert rejected(FileNotFoundError, tg.jax.load, model, run) == f"load: {run} is no folder"
    assert rejected(FileNotFoundError, tg.jax.load, model, tmp_path) == f"load: {tmp_path} has no complete step"
    for step in (2, 1):
        tg.jax.save(model, run, step=step)
    assert tg.jax.saved_steps(run) == [1, 2]
    assert rejected(FileExistsError, tg.jax.save, model, run, step=2) == f"save: {run} has step 2 already"
    assert rejected(FileNotFoundError, tg.jax.load, model, run, step=5) == f"load: {run} has no step 5; it has 1, 2"
    assert rejected(FileError, tg.jax.save, {"a": 3}, run, step=3) == "save: a is int, which has no state to save"


def test_a_damaged_step_and_a_state_that_is_none_are_rejected(tmp_path: Path) -> None:
    model, rng = nn.Linear(3, 2, rng=0), np.random.default_rng(0)
    tg.jax.save({"model": model, "rng": rng}, tmp_path, step=1)
    before = model.weight.tolist()
    model.weight.assign(model.weight + 1.0)
    for path in (tmp_path / "1" / "arrays").rglob("*"):
        if path.is_file() and path.parent.name == "d":
            path.write_bytes(b"damaged")

    said = rejected(FileError, tg.jax.load, {"model": model, "rng": rng}, tmp_path)

    assert said.startswith(f"load: step 1 in {tmp_path} is damaged (")
    assert model.weight.tolist() != before


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)

    message = 'save: this needs the package orbax-checkpoint: pip install "tapegrad[orbax]"'
    assert rejected(ModuleNotFoundError, tg.jax.save, nn.Linear(3, 2), tmp_path, step=1) == message
