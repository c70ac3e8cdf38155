"""The library's ops on nodes: one line each, so that an op which the library gets is one line more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple

from tapegrad import ops
from tapegrad.tapem.lift import lift

if TYPE_CHECKING:
    from tapegrad.dims import Add
    from tapegrad.shapes import Shape
    from tapegrad.tapem.program import TapeM
    from tapegrad.tapem.tape import Node
    from tapegrad.tensor import Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
D = TypeVar("D", bound=np.generic, default=np.float32)
Real = TypeVar("Real", bound=np.number[Any], default=np.float32)
Float = TypeVar("Float", bound=np.floating[Any], default=np.float32)
Batch = TypeVarTuple("Batch")


def positive_only(x: Tensor[Any, Any, Any]) -> None:
    """Refuses what has no logarithm."""
    refused = x.numpy()[x.numpy() <= 0]
    if refused.size:
        message = f"the least of x is {refused.min():.6g} but it must be above 0"
        raise ValueError(message)


abs = lift(ops.abs)
add = lift(ops.add)
clamp = lift(ops.clamp)
concat = lift(ops.concat)
cross_entropy = lift(ops.cross_entropy)
div = lift(ops.div)
exp = lift(ops.exp)
gelu = lift(ops.gelu)
inv = lift(ops.reciprocal)
log = lift(ops.log, positive_only)  # where the op follows IEEE 754, a program ends
log_softmax = lift(ops.log_softmax)
matmul = lift(ops.matmul)
max = lift(ops.max)
maximum = lift(ops.maximum)
mean = lift(ops.mean)
min = lift(ops.min)
minimum = lift(ops.minimum)
mse_loss = lift(ops.mse)
mul = lift(ops.mul)
neg = lift(ops.neg)
relu = lift(ops.relu)
reshape = lift(ops.reshape)
sigmoid = lift(ops.sigmoid)
silu = lift(ops.silu)
softmax = lift(ops.softmax)
softplus = lift(ops.softplus)
sqrt = lift(ops.sqrt)
ssm_scan = lift(ops.ssm_scan)
sub = lift(ops.sub)
sum = lift(ops.sum)
tanh = lift(ops.tanh)
transpose = lift(ops.transpose)


def scale(x: Node[S, Real], *, factor: float) -> TapeM[Node[S, Real]]:
    r"""Returns the program for $y = c x$.

    Args:
        x: Any shape.
        factor: The number c.
    """
    return mul(x, factor)


def linear(
    x: Node[Shape[*Batch, N], Float], w: Node[Shape[N, M], Float], b: Node[Shape[M], Float]
) -> TapeM[Node[Shape[*Batch, M], Float]]:
    r"""Returns the program for $y_{bj} = \sum_i x_{bi} w_{ij} + b_j$, which is two steps.

    Args:
        x: `(..., N)`.
        w: `(N, M)`, as in `nn.Linear`.
        b: `(M,)`.
    """
    return matmul(x, w).bind(lambda y: add(y, b))


def concat_vectors(x: Node[Shape[N], D], y: Node[Shape[M], D]) -> TapeM[Node[Shape[Add[N, M]], D]]:
    """Returns the program that puts one vector behind another: `(N,)` and `(M,)` give `(N + M,)`."""
    return concat([x, y])


def safe_log(x: Node[S, Float], *, eps: float = 1e-6) -> TapeM[Node[S, Float]]:
    r"""Returns the program for $y = \ln(\ln(1 + e^x) + \varepsilon)$, which has a value and a slope everywhere.

    Args:
        x: Any shape, a float dtype.
        eps: The number ε, above 0.
    """
    return softplus(x).bind(lambda y: add(y, eps)).bind(log)
