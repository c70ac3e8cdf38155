# pyright: reportAssertTypeFailure=true
"""What pyright infers without the plugin: sizes in annotations; the size of a numeric argument is unknown."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Gradients, Merge, NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
T1 = TypeVar("T1", bound=Tape)
T2 = TypeVar("T2", bound=Tape)
T3 = TypeVar("T3", bound=Tape)

Matrix = Tensor[Shape[L[2], L[3]], NoneTape]
Traced = Tensor[Shape[L[2], L[3]], OwnedTape]
Scalar = Tensor[tuple[()], OwnedTape]


def creation(array: np.ndarray[Shape[L[2], L[3]], np.dtype[np.float32]]) -> None:
    assert_type(tg.tensor(array), Matrix)
    assert_type(tg.tensor([[1.0, 2.0]]), Tensor[Any, NoneTape])
    assert_type(tg.tensor([1, 2]), Tensor[Any, NoneTape, np.int64])
    assert_type(tg.zeros((2, 3)), Tensor[Any, NoneTape])
    assert_type(tg.ones((2, 3), np.float64), Tensor[Any, NoneTape, np.float64])
    assert_type(tg.normal((2, 3), rng=0), Tensor[Any, NoneTape])


def attributes(x: Matrix, t: Traced) -> None:
    assert_type(x.shape, tuple[L[2], L[3]])
    assert_type(x.dtype, np.dtype[np.float32])
    assert_type(x.tape, NoneTape)
    assert_type(t.numpy(), np.ndarray[tuple[L[2], L[3]], np.dtype[np.float32]])


def numbers(loss: Scalar, count: Tensor[tuple[()], NoneTape, np.int64], x: Tensor[Any, NoneTape, Any]) -> None:
    assert_type(loss.item(), float)
    assert_type(count.item(), int)
    assert_type(x.item(), Any)


def tapes(x: Matrix, t: Traced, loss: Scalar) -> None:
    assert_type(x.trace(), Traced)
    assert_type(t.detach(), Matrix)
    gradients = loss.backward(wrt=[x])
    assert_type(gradients, Gradients)
    assert_type(gradients[t], Matrix)
    assert_type(gradients.get(x), Matrix | None)


def rows(x: Matrix, t: Traced) -> None:
    for row in x:
        assert_type(row, Tensor[Shape[L[3]], NoneTape])
    first, _ = t
    assert_type(first, Tensor[Shape[L[3]], OwnedTape])


def ops_that_keep_the_shape(x: Matrix, t: Traced) -> None:
    assert_type(-t, Traced)
    assert_type(+x, Matrix)
    assert_type(~(x > 0), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.exp(x), Matrix)
    assert_type(tg.relu(t), Traced)
    assert_type(tg.softmax(t, axis=0), Traced)
    assert_type(t.astype(np.float64), Tensor[Shape[L[2], L[3]], OwnedTape, np.float64])


def ops_that_change_the_shape(x: Matrix, t: Traced) -> None:
    assert_type(t.sum(0), Tensor[Any, OwnedTape])
    assert_type(t.reshape((3, 2)), Tensor[Any, OwnedTape])
    assert_type(x.T, Tensor[Any, NoneTape])
    assert_type(2.0 * t, Traced)
    assert_type(x > 0, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(x > t, Tensor[Any, NoneTape, np.bool_])
    assert_type(t.sum(), Scalar)
    assert_type(tg.mean(t), Scalar)
    assert_type(t.max() / 2.0, Scalar)
    assert_type(t.min(axis=0), Tensor[Any, OwnedTape])


def ops_of_two_tensors(x: Matrix, t: Traced, unknown: Tensor[Shape[L[2], L[3]], Any]) -> None:
    assert_type(x + x, Tensor[Any, NoneTape])
    assert_type(x * t, Tensor[Any, OwnedTape])
    assert_type(t - 1.0, Traced)
    assert_type(t * np.float32(2.0), Traced)
    assert_type(t * np.ones(3, np.float32), Tensor[Any, OwnedTape])
    assert_type(x.T @ t / 2, Tensor[Any, OwnedTape])
    assert_type(t + unknown, Tensor[Any, OwnedTape])
    assert_type(x + unknown, Tensor[Any, Any])
    assert_type(unknown + x, Tensor[Any, Any])
    assert_type(tg.mul(x, 2.0), Tensor[Any, Any])


def tapes_by_name(
    t: Traced, x: Tensor[S, T1], y: Tensor[S, T2], z: Tensor[S, T3], w: Tensor[S, Merge[T1, Merge[T2, T3]]]
) -> Tensor[S, Merge[Merge[T1, T2], T3]]:
    assert_type(x + 1.0, Tensor[S, T1])
    assert_type(x * x, Tensor[Any, T1])
    assert_type(x + t, Tensor[Any, OwnedTape])
    assert_type(x + y, Tensor[Any, Any])
    assert_type((x + y) + (z[0] + w), Tensor[Any, Any])
    return (x + y) * (z + w)


def losses(
    x: Matrix,
    t: Traced,
    unknown: Tensor[Shape[L[2], L[3]], Any],
    labels: Tensor[Shape[L[2]], NoneTape, np.int64],
    half: Tensor[Any, OwnedTape, np.float16],
) -> None:
    assert_type(tg.mse(t, x), Scalar)
    assert_type(tg.mse(x, t, reduction="sum"), Scalar)
    assert_type(tg.mse(x, t, reduction="none"), Tensor[Any, OwnedTape])
    assert_type(tg.huber(x=t, target=t, delta=2.0), Tensor[Any, OwnedTape])
    assert_type(tg.bce(x, x), Tensor[tuple[()], NoneTape])
    assert_type(tg.mae(t, unknown), Scalar)
    assert_type(tg.mae(unknown, t), Tensor[tuple[()], Any])
    assert_type(tg.mae(x, unknown), Tensor[tuple[()], Any])
    assert_type(tg.mae(unknown, x), Tensor[tuple[()], Any])
    assert_type(tg.kl_div(half, half), Tensor[tuple[()], OwnedTape, np.float16])
    assert_type(tg.cross_entropy(t, labels), Scalar)
    assert_type(tg.cross_entropy(x, labels, smoothing=0.1), Tensor[Any, NoneTape])
    assert_type(tg.cross_entropy(t, x), Scalar)
    tg.cross_entropy(t, labels).backward()


def unknown_options(x: Matrix, axis: Any, options: dict[str, Any]) -> None:
    assert_type(x.sum(axis), Tensor[Any, NoneTape])
    assert_type(x.max(**options), Tensor[Any, NoneTape])
    assert_type(tg.mean(x, **options), Tensor[Any, NoneTape])
    assert_type(tg.mse(x, x, **options), Tensor[Any, Any])


def losses_by_tape(x: Tensor[Any, T1], target: Matrix, other: Tensor[Any, T2]) -> Tensor[Any, T1]:
    assert_type(tg.mse(x, other), Tensor[tuple[()], Any])
    return tg.mse(x, target)


def transposed(x: Tensor[Shape[N, M], NoneTape]) -> Tensor[Shape[M, N], NoneTape]:
    assert_type(x.shape, tuple[N, M])
    assert_type(tg.tanh(x), Tensor[Shape[N, M], NoneTape])
    return x.T


def traced(x: Tensor[S, NoneTape]) -> Tensor[S, OwnedTape]:
    return x.trace()


def calls(x: Matrix) -> None:
    assert_type(transposed(x), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(traced(x), Traced)


def layers(t: Traced, indices: Tensor[Shape[L[2]], NoneTape, np.int64], linear: nn.Linear[L[3], L[5]]) -> None:
    assert_type(linear(t), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(linear.weight, nn.Param[Shape[L[3], L[5]]])
    assert_type(nn.Linear(3, 5), nn.Linear[Any, Any])
    assert_type(nn.Linear(3, 5)(t), Tensor[Shape[L[2], Any], OwnedTape])
    assert_type(nn.Embedding(7, 5)(indices), Tensor[Shape[L[2], Any], NoneTape])
    assert_type(nn.ReLU()(t), Traced)
    assert_type(nn.Sequential(nn.Linear(3, 5), nn.ReLU())(t), Tensor[Any, OwnedTape, Any])


def half_precision(x: Matrix, y: Tensor[Shape[L[2], L[3]], OwnedTape, tg.bfloat16]) -> None:
    assert_type(x.astype(tg.bfloat16), Tensor[Shape[L[2], L[3]], NoneTape, tg.bfloat16])
    assert_type(y.astype(np.float32), Traced)
    assert_type(tg.exp(y), Tensor[Shape[L[2], L[3]], OwnedTape, tg.bfloat16])
    assert_type(tg.zeros((2, 3), tg.bfloat16), Tensor[Any, NoneTape, tg.bfloat16])
    assert_type(y.numpy(), np.ndarray[tuple[L[2], L[3]], np.dtype[tg.bfloat16]])


def layers_of_bfloat16(
    y: Tensor[Shape[L[2], L[3]], OwnedTape, tg.bfloat16], linear: nn.Linear[L[3], L[5], Any, tg.bfloat16], t: Traced
) -> None:
    assert_type(linear(y), Tensor[Shape[L[2], L[5]], OwnedTape, tg.bfloat16])
    assert_type(linear.weight, nn.Param[Shape[L[3], L[5]], tg.bfloat16])
    assert_type(nn.cast(linear, np.float32), Any)
    mixed = nn.MixedPrecision(nn.Linear(3, 5), compute=tg.bfloat16)
    assert_type(mixed(t), Tensor[Shape[L[2], Any], OwnedTape])
    assert_type(mixed.model, nn.Linear[Any, Any])


def sums_of_tensors(losses: list[Scalar], start: Scalar, mask: Tensor[Any, NoneTape, np.bool_], x: Matrix) -> None:
    assert_type(sum(losses, start=start), Scalar)
    assert_type(mask.sum(), Tensor[tuple[()], NoneTape, np.int64])
    assert_type(tg.mean(mask), Tensor[tuple[()], NoneTape])
    assert_type(x / mask.mean(), Tensor[Any, NoneTape])
