# ruff: noqa: ARG001, F722  # parameters are there for their annotations; those of jaxtyping are no Python
"""Time what `@guarded` adds to a call: medians over interleaved rounds, in nanoseconds per call."""

import sys
from statistics import median
from timeit import Timer
from typing import Any, Generic, TypeVar
from typing import Literal as L

import numpy as np
from beartype import beartype
from jaxtyping import Float, jaxtyped

from tapegrad.autograd.tape import NoneTape, Tape
from tapegrad.guard import guarded
from tapegrad.sizes import Add
from tapegrad.tensors import Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
In = TypeVar("In", bound=int)
T = TypeVar("T", bound=Tape)

CALLS = 10_000
ROUNDS = 41
TARGET = 1_500  # ns for three tensors

Array = np.ndarray[Any, Any]


def plain(x: Any, y: Any, z: Any) -> Any:
    """Do nothing, with three tensors."""
    return x


@guarded
def three_tensors(x: Tensor[tuple[N, L[5]], T], y: Tensor[tuple[L[5], M], NoneTape], z: Tensor[tuple[N, M], T]) -> None:
    """Hold three tensors against two names, two literals and either tape."""


@guarded
def with_result(
    x: Tensor[tuple[N, L[5]], T], y: Tensor[tuple[L[5], M], NoneTape], z: Tensor[tuple[N, M], T]
) -> Tensor[tuple[N, L[5]], T]:
    """Hold the result against them as well."""
    return x


@guarded
def computed(x: Tensor[tuple[N, L[5]], T], y: Tensor[tuple[L[5], Add[N, L[4]]], T], z: Tensor[tuple[N, M], T]) -> None:
    """Hold one size against what it is computed from."""


@guarded
def optional(x: Tensor[tuple[N, L[5]], T], y: Tensor[tuple[L[5], M], T], z: Tensor[tuple[N, M], Any] | None) -> None:
    """Hold the third against a union."""


class Layer(Generic[In]):
    """Knows a size from its `__init__`."""

    @guarded
    def __init__(self, inputs: In) -> None: ...

    @guarded
    def forward(self, x: Tensor[tuple[N, In], T], y: Tensor[tuple[In, M], T], z: Tensor[tuple[N, M], T]) -> None:
        """Hold three tensors against what the instance knows."""


@jaxtyped(typechecker=beartype)
def three_arrays(x: Float[Array, "n 5"], y: Float[Array, "5 m"], z: Float[Array, "n m"]) -> None:
    """Hold three arrays against two names as jaxtyping does it."""


def zeros(*shape: int) -> Any:
    """Return an array of which mypy knows nothing."""
    return np.zeros(shape, np.float32)


def main() -> int:
    """Print the table, and return 1 if three tensors cost more than the target."""
    a, b, c = zeros(3, 5), zeros(5, 7), zeros(3, 7)
    x, y, z = Tensor(a), Tensor(b), Tensor(c)
    layer: Layer[Any] = Layer(5)
    calls = {
        "plain call": lambda: plain(x, y, z),
        "three tensors": lambda: three_tensors(x, y, z),
        "three tensors and the result": lambda: with_result(x, y, z),
        "one of three computed": lambda: computed(x, y, z),
        "one of three optional": lambda: optional(x, y, z),
        "three tensors, method": lambda: layer.forward(x, y, z),
        "three arrays, jaxtyped": lambda: three_arrays(a, b, c),
    }
    timers = {name: Timer(call) for name, call in calls.items()}
    rounds = [{name: timer.timeit(CALLS) / CALLS * 1e9 for name, timer in timers.items()} for _ in range(ROUNDS)]
    medians = {name: median(times[name] for times in rounds) for name in timers}
    before = medians["plain call"]
    print(f"{'':30}{'ns a call':>10}{'ratio':>8}{'overhead':>10}")
    for name, after in medians.items():
        print(f"{name:30}{after:10.0f}{after / before:8.1f}{after - before:10.0f}")
    overhead = medians["three tensors"] - before
    print(f"\nguarding three tensors costs {overhead:.0f} ns; the target is {TARGET} ns")
    return int(overhead > TARGET)


if __name__ == "__main__":
    sys.exit(main())
