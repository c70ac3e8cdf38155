"""The workloads, and the libraries that compete on them.

A contestant is a library in one idiom, together with the environment variables its process starts with. Its programs
are in a module of `benchmarks.rivals`, which only the contestant's own process imports.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec

WORKLOADS = {
    "elementwise-small": "100 chained elementwise ops on 8 numbers",
    "mlp-tiny": "MLP 2-16-16-1, batch 8, training step",
    "mlp-small": "MLP 784-256-128-10, batch 64, training step",
    "mlp-wide": "MLP 784-1024-1024-10, batch 256, training step",
    "cnn": "CNN 1-16-32, 64 images of 28×28, training step",
    "convolution": "conv2d 64→64, 3×3, on 8×64×56×56",
    "transformer": "transformer block 256, 8 heads, 8×128 tokens, training step",
    "elementwise-large": "tanh(x)·sigmoid(x) + x² on 4 million numbers",
    "elementwise-fused": "the same as one function: `@fused`",
    "normalization": "layer_norm and softmax on (4096, 1024)",
    "matmul": "matrix product 2048³",
    "pooling": "max_pool2d 2 and avg_pool2d 3, stride 2, on 32×32×56×56",
    "cross-entropy": "cross_entropy of (1024, 16384) logits",
    "adam": "Adam step on the parameters of the wide MLP",
    "memory": "peak memory of 8 transformer blocks, MiB",
}
REFERENCE = "torch"

Program = Callable[[], float]
Programs = Mapping[str, Callable[[], Program] | None]


@dataclass(frozen=True)
class Contestant:
    """A library in one idiom: the module and table of its programs, what it needs, and its environment variables."""

    module: str
    table: str
    packages: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        """Whether all packages that it needs can be imported."""
        return all(find_spec(package) for package in self.packages)

    def program(self, workload: str) -> Callable[[], Program] | None:
        """Return the function that builds a workload's program; None where the library does not have the workload."""
        programs: Programs = getattr(import_module(f"benchmarks.rivals.{self.module}"), self.table)
        if workload not in programs:  # only tapegrad has a decorator for it; the others run the same function
            workload = workload.replace("-fused", "-large")
        return programs[workload]


_NUMPY_ONLY, _KERNELS = {"TAPEGRAD_FAST": "0"}, {"TAPEGRAD_FAST": "1"}

CONTESTANTS = {
    "tapegrad": Contestant("in_tapegrad", "PROGRAMS", ("tapegrad",), _NUMPY_ONLY),
    "tapegrad fast": Contestant("in_tapegrad", "PROGRAMS", ("tapegrad", "numba"), _KERNELS),
    "tapegrad.jit": Contestant("in_tapegrad_jit", "PROGRAMS", ("tapegrad", "jax")),
    "torch": Contestant("in_torch", "EAGER", ("torch",)),
    "torch.compile": Contestant("in_torch", "COMPILED", ("torch",)),
    "jax.jit": Contestant("in_jax", "PROGRAMS", ("jax",)),
    "autograd": Contestant("in_autograd", "PROGRAMS", ("autograd",)),
    "NumPy by hand": Contestant("in_numpy", "PROGRAMS", ("numpy",)),
}

# The same workloads without modules and with the fastest memory layout of each library.
LEANEST = {
    "tapegrad": Contestant("leanest_in_tapegrad", "PROGRAMS", ("tapegrad",), _NUMPY_ONLY),
    "tapegrad fast": Contestant("leanest_in_tapegrad", "PROGRAMS", ("tapegrad", "numba"), _KERNELS),
    "torch": Contestant("leanest_in_torch", "EAGER", ("torch",)),
    "torch.compile": Contestant("leanest_in_torch", "COMPILED", ("torch",)),
}
LEANEST_WORKLOADS = ("mlp-tiny", "mlp-small", "mlp-wide", "cnn", "convolution", "transformer")
IDIOMS = {"usual": CONTESTANTS, "leanest": LEANEST}
