"""ShapeEngine: the ops give by their shape rules the shapes that they give for numbers."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import ops
from tapegrad.autograd.explain import NoNumbersError
from tapegrad.autograd.registry import OPS
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn.shape_engine import NamedSize, ShapeValue, answering
from tapegrad.sizes import UNKNOWN, named
from tapegrad.tensors import Tensor, node

N: Any = answering(named("N"))
M: Any = answering(named("M"))

UNARY = """
    abs acos acosh all any argcummax argcummin
    argmax argmin argsort asin asinh atan cbrt ceil clamp cos cosh count_nonzero cummax cummin
    cumprod cumsum deg2rad diag dropout elu erf exp exp2 expm1 flatten flip floor gelu isfinite isinf isnan leaky_relu
    log log10 log1p log2 log_sigmoid log_softmax logsumexp matrix_transpose max mean min mish nan_to_num neg norm
    normalize prod rad2deg reciprocal relu round rsqrt safe_log sigmoid sign signbit silu sin sinh softmax softplus sort
    sqrt square squeeze std sum tan tanh transpose tril triu trunc var
"""
BINARY = """
    add atan2 copysign div equal floor_divide fmax fmin fmod greater greater_equal heaviside hypot less less_equal
    logaddexp logaddexp2 maximum minimum mse mul not_equal pow remainder sub
"""

CALLED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{name: (getattr(tg, name), ((1, 3),)) for name in UNARY.split()},
    **{name: (getattr(tg, name), ((2, 3), (2, 3))) for name in BINARY.split()},
    "astype": (lambda x: x.astype(np.float64), ((2, 3),)),
    "at_add": (lambda x: x.at_add((0, slice(1)), 5.0), ((2, 3),)),
    "at_set": (lambda x: x.at_set((0, slice(1)), 5.0), ((2, 3),)),
    "atanh": (lambda x: tg.atanh(x / 2), ((2, 3),)),
    "bits": (lambda x: x.astype(np.int64) & 3 | ~x.astype(np.int64) ^ (x.astype(np.int64) << 1) >> 1, ((2, 3),)),
    "broadcast_to": (lambda x: tg.broadcast_to(x, (7, 2, 3)), ((2, 3),)),
    "chained": (lambda x: (x.T @ x).sum(0, keepdims=True).reshape((3, -1)) * 2.0 - 1, ((2, 3),)),
    "chunk": (lambda x: tg.chunk(x, 2, 1)[1], ((2, 3),)),
    "concat": (lambda x, y: tg.concat([x, y], 1), ((2, 3), (2, 5))),
    "concat_vectors": (lambda x: tg.concat_vectors([x, x]), ((3,),)),
    "cross_entropy": (lambda x: tg.cross_entropy(x, tg.tensor([1, 0])), ((2, 3),)),
    "expand_dims": (lambda x: tg.expand_dims(x, (0, -1)), ((2, 3),)),
    "gather": (lambda x: tg.gather(x, x.argsort(0), 1), ((2, 3),)),
    "getitem": (lambda x: x[1:, None, ..., -1], ((2, 3, 5),)),
    "layer_norm": (tg.layer_norm, ((2, 3), (3,), (3,))),
    "logical": (lambda x: (x > 0) & ~(x < 2) | (x != 3) ^ (x <= 1), ((2, 3),)),
    "masked_fill": (lambda x: tg.masked_fill(x, x > 0, 1.0), ((2, 3),)),
    "matmul": (tg.matmul, ((7, 2, 3), (3, 5))),
    "moveaxis": (lambda x: tg.moveaxis(x, 0, 2), ((2, 3, 5),)),
    "one_hot": (lambda x: tg.one_hot(x.argmax(1), 7, dtype=np.float64), ((2, 3),)),
    "pad": (lambda x: tg.pad(x, ((1, 0), (2, 3))), ((2, 3),)),
    "permute": (lambda x: tg.permute(x, (2, 0, 1)), ((2, 3, 5),)),
    "prelu": (tg.prelu, ((2, 3), (3,))),
    "repeat": (lambda x: tg.repeat(x, 2, 1), ((2, 3),)),
    "reversed": (lambda x: 2.0 / (3.0 - x), ((2, 3),)),
    "rms_norm": (tg.rms_norm, ((2, 3), (3,))),
    "roll": (lambda x: tg.roll(x, 1), ((2, 3),)),
    "scale": (lambda x: tg.scale(x, factor=2), ((2, 3),)),
    "scatter_add": (lambda x: tg.scatter_add(x, x.argmax(1), (7, 3)), ((2, 3),)),
    "select": (lambda x: tg.select(x, 1, 1), ((2, 3),)),
    "split": (lambda x: tg.split(x, (1, 2), 1)[1], ((2, 3),)),
    "stack": (lambda x, y: tg.stack([x, y]), ((2, 3), (2, 3))),
    "swapaxes": (lambda x: x.swapaxes(0, 1), ((2, 3),)),
    "take": (lambda x: tg.take(x, x.argmax(1), 1), ((2, 3),)),
    "tile": (lambda x: tg.tile(x, (2, 1)), ((2, 3),)),
    "topk": (lambda x: tg.topk(x, 2)[0], ((5, 3),)),
    "topk of indices": (lambda x: tg.topk(x, 2, 0)[1], ((5, 3),)),
    "unflatten": (lambda x: tg.unflatten(x, 1, (3, -1)), ((2, 6),)),
    "unfold": (lambda x: tg.unfold(x, 1, size=2), ((2, 3),)),
    "unstack": (lambda x: tg.unstack(x)[1], ((2, 3),)),
    "where": (lambda x, y: tg.where(x > 0, x, y), ((2, 3), (3,))),
}


def shape_value(*shape: Any, dtype: Any = np.float32) -> Any:
    value: Any = ShapeValue(shape, dtype)
    return node(value)


@pytest.mark.parametrize("name", CALLED)
def test_an_op_gives_the_shape_and_dtype_of_a_real_run(name: str) -> None:
    call, shapes = CALLED[name]

    run, by_shapes = call(*(tg.ones(shape) for shape in shapes)), call(*(shape_value(*shape) for shape in shapes))

    assert isinstance(by_shapes.data, ShapeValue)
    assert (by_shapes.shape, by_shapes.dtype) == (run.shape, run.dtype)


@pytest.mark.parametrize("name", sorted(name for name in vars(ops) if name in OPS and name != "tensor"))
def test_the_annotations_of_an_op_give_its_dtype(name: str) -> None:
    annotations = OPS[name].function.__annotations__
    words = re.findall(r"([\w.]+)\](?:$|\]$|, \.\.\.|, Tensor)", annotations["return"])

    assert words
    for word in words:
        assert hasattr(np, word.removeprefix("np.")) or any(
            re.search(rf"\b{word}\]", annotation) for place, annotation in annotations.items() if place != "return"
        )


def test_named_sizes_are_propagated() -> None:
    x = shape_value(N, 3, 5)

    b, c, h = x.shape
    y = x.reshape((b, c * h)) @ tg.ones((15, 7))

    assert y.shape == (N, 7)
    assert (y.sum(1).shape, x.mean(0).shape, tg.zeros((b, 2)).shape) == ((N,), (3, 5), (N, 2))
    assert tg.concat([y, y]).shape == (2 * N, 7)
    assert tg.var(x, 0).shape == (3, 5)
    assert tg.mse(y, y).shape == ()


def test_invalid_shapes_raise_the_message_of_a_real_run() -> None:
    with pytest.raises(
        ShapeError, match=r"^matmul: inner sizes differ: x \(N, 3\) has 3 columns but y \(5, 7\) has 5 r"
    ):
        shape_value(N, 3) @ tg.ones((5, 7))
    with pytest.raises(
        ShapeError, match=r"^add: x \(N,\) and y \(M,\) do not broadcast: axis -1 is N in x but M in y$"
    ):
        shape_value(N) + shape_value(M)
    with pytest.raises(ShapeError, match=r"^softmax: axis 2 is out of range for x \(N, 3\)$"):
        tg.softmax(shape_value(N, 3), 2)
    with pytest.raises(DTypeError, match=r"^add: x is float32 but y is float64$"):
        shape_value(N) + shape_value(N, dtype=np.float64)
    with pytest.raises(DTypeError, match=r"^exp: x is int64 but floating is expected$"):
        tg.exp(shape_value(N, dtype=np.int64))


def test_a_user_defined_op_needs_no_rule() -> None:
    def bent(x: Tensor[Any, Any, Any], y: Tensor[Any, Any, Any]) -> Any:
        a, b, tape = tg.split_tape(x, y)
        primitives: Any = engine(a.data, b.data)
        value = primitives.exp(-a.data).reshape((15,)) - primitives.map("sqrt", a.data).T.reshape((15,))
        value = primitives.sum(value, 0, keepdims=True) + primitives.where(primitives.greater(b.data, 0), b.data, 1.0)
        value = 2.0 - 3.0 * value / (1.0 + value) @ primitives.swap_last_axes(primitives.broadcast_to(b.data, (15, 15)))
        value = primitives.pad(value.transpose(None), ((0, 1),), 0.0)
        out: Any = tg.node(primitives.concat([value, primitives.cast(value, np.float32)], 0))
        return tape.record(out, (a, b), lambda _: None)

    assert bent(shape_value(3, 5), tg.ones((15,))).shape == bent(tg.ones((3, 5)), tg.ones((15,))).shape == (32,)
    with pytest.raises(ShapeError, match=r"^reshape: x \(3, 7\) has 21 elements but shape \(15,\) has 15$"):
        bent(shape_value(3, 7), tg.ones((15,)))


def test_numpy_operators_defer_to_a_shape_value() -> None:
    assert (np.ones((2, 3), np.float32) @ ShapeValue((3, N), np.float32)).shape == (2, N)
    assert (np.float32(2) * ShapeValue((N,), np.float32)).shape == (N,)
    assert (np.ones(3, np.float32) - ShapeValue((N, 3), np.float32)).shape == (N, 3)
    assert (np.ones(3, np.float32) / ShapeValue((N, 3), np.float32)).shape == (N, 3)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum()),
    "len": len,
    "order": lambda x: x.shape[0] > 3,
    "range": lambda x: range(x.shape[0]),
    "quotient": lambda x: 1 / x.shape[0],
    "float": lambda x: float(x.shape[0]),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_reading_values_is_rejected(name: str) -> None:
    with pytest.raises(NoNumbersError, match=r"^the number that N stands for$|^the numbers of a tensor$"):
        QUESTIONS[name](shape_value(N, 3))


def test_comparisons_of_a_name_are_decided_if_they_hold_for_every_number() -> None:
    assert N == N + 0
    assert N != M
    assert N != 64
    assert N != "N"
    assert N > 0
    assert not N < 1
    assert N >= 1
    assert not N <= 0
    assert N + 1 > N
    assert N * 3
    assert (6 * N) % 3 == 0
    assert divmod(2 * N + 1, 2) == (N, 1)
    assert (2 * N - N, 5 - (5 - N)) == (N, N)
    assert (N * M) // N == M
    assert {N: 1}[answering(named("N"))] == 1
    assert isinstance(N // 2 + 7 // N, NamedSize)


def test_an_unknown_size_equals_only_itself() -> None:
    unknown = shape_value(N)[: N - 3].shape[0]

    assert str(unknown) == "?"
    assert unknown == unknown  # noqa: PLR0124  # under test
    for ask, other in ((operator.eq, 5), (operator.gt, 0), (operator.ne, answering(UNKNOWN))):
        with pytest.raises(NoNumbersError, match=r"^a size that no rule knows$"):
            ask(unknown, other)


@pytest.mark.parametrize("ask", [operator.lt, operator.gt, operator.le, operator.ge])
def test_comparisons_that_depend_on_the_number_of_a_name_are_rejected(ask: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(NoNumbersError, match=r"^the number that N stands for$"):
        ask(N, 3)
