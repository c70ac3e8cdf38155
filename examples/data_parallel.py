"""Data-parallel training on handwritten digits, on all devices of all processes; each process prints the same losses.

In one process, with the CPU divided into four devices:

    python examples/data_parallel.py --devices 4

In two processes with four devices each, one process per terminal. On two hosts, `--coordinator` is the address of the
first host:

    python examples/data_parallel.py --devices 4 --coordinator localhost:4711 --processes 2 --process 0
    python examples/data_parallel.py --devices 4 --coordinator localhost:4711 --processes 2 --process 1

With `--run FOLDER` the weights are divided over the devices too, each process writes its part of the model and the
optimizer every ten steps, and the program goes on from the last complete step, with any number of processes.

The example needs the extras demo and jax, and with `--run` orbax.
"""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from typing import Literal as L

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import tapegrad as tg
from shared import save
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn, optim

N = TypeVar("N", bound=int)
BATCH = 128  # images per step, over all devices of all processes


class Net(nn.Module):
    """64 pixels to ten classes; a fifth of what is between is dropped while it trains."""

    def __init__(self) -> None:
        with tg.random(0):  # the same initial parameters in every process
            self.first = nn.Linear(64, 128)
            self.noise = nn.Dropout(0.2)
            self.last = nn.Linear(128, 10)

    def forward(self, x: Tensor[Shape[N, L[64]], OwnedTape]) -> Tensor[Shape[N, L[10]], OwnedTape]:
        """Score each image for ten classes."""
        return self.last(self.noise(tg.relu(self.first(x))))


@tg.jit
def step(
    model: Net, opt: optim.Adam, x: Tensor[Shape[N, L[64]], NoneTape], y: Tensor[Shape[N], NoneTape, np.int64]
) -> Tensor[Shape[()], NoneTape]:
    """Train on one batch, of which every device has a part."""
    loss = tg.cross_entropy(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()


def train(steps: int, run: Path | None = None) -> dict[int, float]:
    """Return the loss of each step, by its number."""
    jax: Any = import_module("jax")  # Any: otherwise mypy would analyze all of JAX
    mesh = jax.make_mesh((jax.device_count(),), ("data",))

    model = tg.jax.place(Net(), mesh, {"*.weight": ("data", None)} if run else {})
    opt = optim.Adam(model, lr=3e-3)
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(1)
    rank, count = jax.process_index(), jax.process_count()
    state = {"model": model, "optimizer": opt, "order": order}
    done = tg.jax.load(state, run) if run and tg.jax.saved_steps(run) else 0
    losses = {}
    for number in range(done + 1, steps + 1):
        chosen = order.integers(0, len(images), BATCH)[rank * BATCH // count : (rank + 1) * BATCH // count]
        part = tg.tensor((images[chosen] / 16).astype(np.float32))
        labels = tg.tensor(digits[chosen].astype(np.int64))
        x = tg.jax.from_local(part, mesh, "data")  # tapegrad: unknown because mesh is Any
        y = tg.jax.from_local(labels, mesh, "data")  # tapegrad: unknown because mesh is Any
        losses[number] = step(model, opt, x, y).item()
        if run and number % 10 == 0:
            tg.jax.save(state, run, step=number, keep=2)
    return losses


def main() -> None:
    """Find its devices, and train."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="train 20 steps only, as the tests do")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="save each tenth step there, and resume")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw the losses there, a PNG")
    parser.add_argument("--devices", type=int, help="divide the processor into so many devices")
    parser.add_argument("--coordinator", help="address and port of process 0")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0, help="which of them this is, from 0 on")
    options = parser.parse_args()

    jax: Any = import_module("jax")
    if options.devices:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", options.devices)
    if options.coordinator:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")  # for CPUs; GPUs have their own
        jax.distributed.initialize(options.coordinator, options.processes, options.process)
    losses = train(20 if options.short else 100, options.run)
    print(f"{jax.device_count()} devices in {jax.process_count()} processes")
    for number, loss in losses.items():
        if number % 10 == 0 or number == 1:
            print(f"step {number}: loss {loss:.5f}")
    if options.plot:
        figure = Figure(figsize=(6, 3), layout="constrained")
        axes = figure.subplots()
        axes.plot([*losses], [*losses.values()])
        axes.set(xlabel="step", ylabel="loss (nats)")
        save(figure, options.plot)


if __name__ == "__main__":
    main()
