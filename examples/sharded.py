"""A transformer divided over eight devices in three forms: FSDP, tensor parallel, and both on one mesh.

They differ in the mesh and the rules only, and each trains with the losses of one device. The program prints what
lies where. It divides the CPU into eight devices:

    python examples/sharded.py

The example needs the extras demo and jax.
"""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from typing import Literal as L

import numpy as np
from matplotlib.figure import Figure

import tapegrad as tg
from shared import digits, save
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn, optim

N = TypeVar("N", bound=int)
CLOSE = 1e-4  # largest difference of a loss from that of one device, which adds up sums in another order


class Net(nn.Module):
    """Reads the eight rows of an image as eight words."""

    def __init__(self) -> None:
        with tg.random(0):
            self.embed = nn.Linear(8, 64)
            self.block = nn.TransformerEncoderBlock(64, 8, 128)
            self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor[Shape[N, L[8], L[8]], OwnedTape]) -> Tensor[Shape[N, L[10]], OwnedTape]:
        """Score each image for ten classes."""
        return self.head(self.block(self.embed(x)).mean(axis=1))


class Parallelism(NamedTuple):
    """How the model and the batches are divided over devices."""

    mesh: dict[str, int]  # its axes, and how many devices each has
    rules: dict[str, tuple[str | None, ...]]
    batch: str | None  # the axis that divides a batch


# Each device has an eighth of each matrix and of the batch, and fetches the rest of a matrix when it computes with it.
FSDP = Parallelism({"data": 8}, {"*norm.weight": (), "*.weight": ("data", None)}, "data")

# Each device has one of the eight heads, and an eighth of the hidden units: it has columns of the matrices that compute
# them, and rows of those that read them. Only the results of the latter are exchanged, to be added up.
TENSOR_PARALLEL = Parallelism(
    {"model": 8},
    {
        "block.attention.out.weight": ("model", None),
        "block.feed_forward.fall.weight": ("model", None),
        "block.attention.*.weight": (None, "model"),
        "block.feed_forward.rise.weight": (None, "model"),
        "block.feed_forward.rise.bias": ("model",),
    },
    None,
)

# Two devices share the heads and the hidden units; four such pairs share the batch, and the other axis of each matrix.
BOTH = Parallelism(
    {"data": 4, "model": 2},
    {
        "block.attention.out.weight": ("model", "data"),
        "block.feed_forward.fall.weight": ("model", "data"),
        "block.attention.*.weight": ("data", "model"),
        "block.feed_forward.rise.weight": ("data", "model"),
        "block.feed_forward.rise.bias": ("model",),
    },
    "data",
)

PARALLELISMS = {"FSDP": FSDP, "tensor parallel": TENSOR_PARALLEL, "both": BOTH}


@tg.jit
def step(
    model: Net, opt: optim.Adam, x: Tensor[Shape[N, L[8], L[8]], NoneTape], y: Tensor[Shape[N], NoneTape, np.int64]
) -> Tensor[Shape[()], NoneTape]:
    """Train on one batch."""
    loss = tg.cross_entropy(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()


def train(parallelism: Parallelism | None, steps: int) -> tuple[list[float], int]:
    """Train on one device if no parallelism is given, and print what lies where after the last step.

    Returns:
        The loss of each step, and how many bytes of parameters and optimizer state lie on one device.
    """
    jax: Any = import_module("jax")  # Any: otherwise mypy would analyze all of JAX
    model = Net()
    opt = optim.Adam(model, lr=3e-3)
    mesh = jax.make_mesh(tuple(parallelism.mesh.values()), tuple(parallelism.mesh)) if parallelism else None
    if parallelism:
        tg.jax.place(model, mesh, parallelism.rules)

    images, labels, *_ = digits()
    losses = []
    for number in range(steps):
        start = 64 * number
        x = images[start : start + 64].reshape((-1, 8, 8))
        y = labels[start : start + 64]
        if parallelism:
            x, y = tg.jax.place(x, mesh, parallelism.batch), tg.jax.place(y, mesh, parallelism.batch)
        losses.append(step(model, opt, x, y).item())
    placed, state = tg.jax.placement(model), tg.jax.placement(opt)
    if parallelism:
        print(placed)
        print(f"and of the optimizer: {str(state).splitlines()[-1]}")
    return losses, max(placed.sizes.values()) + max(state.sizes.values())


def main() -> None:
    """Train on one device, and in each form on eight."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="train four steps only, as the tests do")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw there what a device holds, a PNG")
    options = parser.parse_args()
    steps = 4 if options.short else 20

    jax: Any = import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", 8)
    alone, size = train(None, steps)
    sizes = {"one device": size}
    print(f"one device: loss {alone[0]:.4f}, then {alone[-1]:.4f}")
    for name, parallelism in PARALLELISMS.items():
        print(f"\n{name}, on {' × '.join(f'{count} {axis}' for axis, count in parallelism.mesh.items())} devices:\n")
        losses, sizes[name] = train(parallelism, steps)
        difference = max(abs(one - other) for one, other in zip(losses, alone, strict=True))
        assert difference < CLOSE, f"{name}: a loss differs by {difference} from that of one device"
        print(f"losses as on one device, to within {CLOSE}")
    if options.plot:
        figure = Figure(figsize=(6, 3), layout="constrained")
        axes = figure.subplots()
        axes.bar([*sizes], [size / 1000 for size in sizes.values()])
        axes.set(ylabel="kB on each device")
        save(figure, options.plot)


if __name__ == "__main__":
    main()
