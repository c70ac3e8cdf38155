"""Every op beside PyTorch 2.13: values and gradients over a grid of shapes, options and edges.

`make oracle` installs torch; without it nothing here runs. One line of TORCH is one op: the same function in torch's
words, and the calls to compare. A call is what both get; its arrays become tensors, and its float arrays are
differentiated by.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.autograd.registry import OPS
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape
from tapegrad.tensor import Tensor, node

torch: Any = pytest.importorskip("torch", reason="make oracle installs it")
F: Any = torch.nn.functional

NAMES = sorted(name for name in vars(ops) if name in OPS)


class Call(NamedTuple):
    args: tuple[Any, ...]
    options: dict[str, Any]

    def __repr__(self) -> str:
        words = [written(one) for one in self.args] + [f"{key}={written(one)}" for key, one in self.options.items()]
        return f"({', '.join(words)})"


class Fixed(NamedTuple):
    """An array that nothing is differentiated by, such as a target."""

    array: Any


class Line(NamedTuple):
    function: Callable[..., Any]
    calls: list[Call]


def written(one: Any) -> str:
    if isinstance(one, Fixed):
        return f"Fixed({written(one.array)})"
    if isinstance(one, list):
        return f"[{', '.join(map(written, one))}]"
    return f"{one.dtype}{list(one.shape)}" if isinstance(one, np.ndarray) else str(one)


def call(*args: Any, **options: Any) -> Call:
    return Call(args, options)


def real(*shape: int, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape))


def truth(*shape: int, seed: int = 0) -> Any:
    return np.asarray(real(*shape, seed=seed) > 0)


# Calls that several ops share

SIZES = [0.0, 0.5, 1.0, 2.5, 3.0, 9.0, 20.0, 50.0, 80.0, 300.0, 1e-30, 1e-8, 1e10, 1e19, 1e30, np.inf]
EDGES = np.array([*SIZES, *(-size for size in SIZES), np.nan])
SHAPES: list[tuple[int, ...]] = [(), (1,), (5,), (2, 3), (2, 1, 5), (0,), (0, 3), (2, 3, 5, 7)]
PAIRS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((), (2, 3)),
    ((2, 1, 5), (3, 1)),
    ((1,), (1,)),
    ((0, 3), (1, 3)),
]
AXES = [None, 0, 1, -1, (0, 2), (-1, 0)]
# Rows with zeros, ties, infinities, NaN, and numbers whose exponential overflows.
ROWS = np.array(
    [
        [0.0, 0.0, 2.0],
        [3.0, 3.0, 3.0],
        [0.0, 1.0, 4.0],
        [800.0, -800.0, 1.0],
        [np.inf, 1.0, 2.0],
        [-np.inf, 1.0, 2.0],
        [np.inf, -np.inf, 2.0],
        [-np.inf, -np.inf, -np.inf],
        [np.nan, 1.0, 2.0],
    ]
)

ONE = [*(call(real(*shape)) for shape in SHAPES), call(EDGES)]
TWO = [*(call(real(*x), real(*y, seed=1)) for x, y in PAIRS), call(EDGES[:, None], EDGES)]
REDUCED = [
    *(call(real(2, 3, 5), axis=axis, keepdims=keep) for axis, keep in product(AXES, [False, True])),
    call(real()),
    call(real(1)),
    call(ROWS, axis=1),
    call(ROWS[:4]),
]
EMPTY = [call(real(0, 3)), call(real(0, 3), axis=0), call(real(0, 3), axis=1)]
ALONG = [*(call(real(2, 3, 5), axis) for axis in (0, 1, -1)), call(real(1), 0), call(real(0, 3), 1), call(ROWS, 1)]
FOUND = [
    *(call(real(2, 3, 5), axis=axis, keepdims=keep) for axis, keep in product([0, 1, -1], [False, True])),
    call(real(2, 3)),
    call(ROWS, axis=1),
]
LIKE = [call(real(2, 3)), call(real()), call(real(0, 3))]
CUBE = real(2, 3, 5)
# Where two numbers alone are brought to -1 and 1 the slope is all rounding, in float32.
CHANNELS = [call(real(*shape), real(6, seed=1), real(6, seed=2)) for shape in [(7, 6), (2, 6, 5), (2, 6, 5, 3)]]
WHOLE = np.array([[1, 0], [2, -1]])
BITS = [call(WHOLE, WHOLE[::-1].copy()), call(WHOLE, 3), call(truth(2, 3), truth(3, seed=1))]
DIVISORS = [call(12 * WHOLE, np.array([8, 18])), call(12 * WHOLE, 0 * WHOLE)]
SHIFTED = [call(WHOLE, np.array([3, 1])), call(WHOLE, 2)]
TRIANGLES = [call(x, k=k) for x in (CUBE, real(5, 3), real(0, 3)) for k in (0, 1, -2)]
NORMED = [real(2, 3), CUBE.reshape(5, 2, 3), real(0, 3), 1e3 * real(7, 3)]
# Without equal elements: torch's fmax and fmin give the whole gradient to the first.
UNEQUAL = [*TWO[:-1], call(EDGES[:, None], np.array([-7.0, 0.1, 7.0]))]


SUMMED = [
    call("ij,jk->ik", real(2, 3), real(3, 5, seed=1)),
    call("ij,jk", real(2, 3), real(3, 5, seed=1)),
    call("ij,jk,kl->il", real(2, 3), real(3, 5, seed=1), real(5, 4, seed=2)),
    call("i,j,k->kji", real(2), real(3, seed=1), real(5, seed=2)),
    call("ii->i", real(3, 3)),
    call("iij,jk->ik", real(2, 2, 3), real(3, 5, seed=1)),
    call("...ij,...jk->...ik", real(4, 1, 2, 3), real(5, 3, 2, seed=1)),
    call("ij->", real(2, 3)),
    call("ij,jk->ik", real(2, 0), real(0, 3)),
]


def regular(*shape: int) -> Any:
    return real(*shape) + 3 * np.eye(shape[-1])


SQUARE = [call(regular(*shape)) for shape in [(3, 3), (2, 5, 5), (1, 1), (2, 3, 2, 2)]]


def with_options(calls: list[Call], *options: dict[str, Any]) -> list[Call]:
    return [Call(one.args, one.options | option) for one, option in product(calls, options)]


def slid(rank: int) -> list[Call]:
    """Return kernels that slide over a line, an image or a volume."""
    # In tenths, for float32 keeps what a sum of many numbers cancels to only as exactly as the largest of them.
    x, w = real(2, 4, *(7, 6, 3)[:rank]) / 10, real(6, 4, *(3, 2, 1)[:rank], seed=1) / 10
    options: list[dict[str, Any]] = [{"stride": 2}, {"padding": 3}, {"dilation": 2}, {"padding": "same"}]
    each = {"stride": (2, 1, 3)[:rank], "padding": (0, 1, 2)[:rank], "dilation": (1, 3, 2)[:rank]}
    far = np.array([*SIZES[::2], np.nan, 0.0]).reshape((1, 1, *(1,) * (rank - 1), -1))
    return [
        *with_options([call(x, w)], {}, *options, each),
        call(x[0], w),
        call(x, w[:, :2], groups=2, stride=2, padding=1),
        call(x, real(8, 1, *w.shape[2:], seed=1), groups=4, padding="same"),
        call(x[:0], w),
        call(far, real(2, 1, *(1,) * (rank - 1), 2)),
    ]


def laid(rank: int) -> list[Call]:
    """Return kernels that the cells of a line, an image or a volume lay down."""
    x, w = real(2, 4, *(5, 4, 3)[:rank]) / 10, real(4, 6, *(3, 2, 1)[:rank], seed=1) / 10
    options: list[dict[str, Any]] = [{"stride": 3}, {"stride": 3, "output_padding": 2}, {"dilation": 2}]
    each = {"stride": (2, 1, 3)[:rank], "padding": (1, 0, 1)[:rank], "dilation": (1, 3, 2)[:rank]}
    far = np.array([*SIZES[::2], np.nan, 0.0]).reshape((1, 1, *(1,) * (rank - 1), -1))
    return [
        *with_options([call(x, w)], {}, *options, each),
        call(x[0], w),
        call(x, w[:, :2], groups=2, stride=2, padding=(1, 0, 0)[:rank]),
        call(x, w[:, :1], groups=4),
        call(x[:0], w),
        call(far, real(1, 2, *(1,) * (rank - 1), 2)),
    ]


def pooled(rank: int) -> list[Call]:
    """Return windows that slide over a line or an image."""
    x = real(2, 3, *(7, 8)[:rank])
    options: list[dict[str, Any]] = [{"stride": 1}, {"stride": 3, "padding": 1}, {"padding": (1, 0)[:rank]}]
    far = np.array([*EDGES[np.abs(EDGES) < 50], *[1.0, -np.inf] * 4, 2.0, np.inf, np.nan, 3.0])
    return [
        *with_options([call(x, 2), call(x, (3, 2)[:rank])], {}, *options),
        call(x[0], 2),
        call(np.round(x), 3, stride=1),
        call(x[:0], 2),
        call(far.reshape((1, *(1,) * (rank - 1), -1)), (1, 2)[-rank:]),
    ]


def adapted(rank: int) -> list[Call]:
    x = real(2, 3, *(7, 8)[:rank])
    return [call(x, 1), call(x, 3), call(x, (9, 4)[:rank]), call(x[0], (4, 8)[:rank]), call(x[:0], 2)]


# Losses

BESIDE = [call(real(*shape), Fixed(real(*shape, seed=1))) for shape in SHAPES]
SIDES = [call(real(*shape), Fixed(np.asarray(np.sign(real(*shape, seed=1))))) for shape in SHAPES]
SHARES = [call(one, Fixed(np.asarray(np.abs(np.tanh(other.array))))) for one, other in (each.args for each in BESIDE)]
CHANCES = [call(np.asarray(1 / (1 + np.exp(-one))), share) for one, share in (each.args for each in SHARES)]
ROWED = [one for one in BESIDE if one.args[0].ndim]
LABELS = [
    call(real(4, 3), np.array([2, 0, 1, 1])),
    call(real(2, 5, 3), np.arange(10).reshape(2, 5) % 3),
    call(real(3), np.array(1)),
    call(real(4, 1), np.zeros(4, np.int64)),
    call(real(0, 3), np.zeros(0, np.int64)),
    call(ROWS[1:4], np.array([0, 1, 2])),
    call(ROWS[5:6], np.array([1])),
]
CLASSES = [
    call(real(4, 3), Fixed(np.abs(real(4, 3, seed=1)))),
    call(real(2, 5, 3), Fixed(np.abs(real(2, 5, 3, seed=1)))),
    call(ROWS[1:4], Fixed(np.eye(3))),
]
WAYS = [{}, {"reduction": "sum"}, {"reduction": "none"}]


def by_class(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loss of torch, whose classes stand on the second axis, rows on the others."""

    def loss(x: Any, target: Any, smoothing: float = 0.0, ignore_index: int = -100, reduction: str = "mean") -> Any:
        options = {"label_smoothing": smoothing} if function is F.cross_entropy else {}
        if target.ndim < x.ndim:
            options["ignore_index"] = ignore_index
        elif x.ndim > 1:
            target = target.movedim(-1, 1)
        return function(x.movedim(-1, 1) if x.ndim > 1 else x, target, reduction=reduction, **options)

    return loss


def by_row(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add up the losses along the last axis before it reduces them."""
    return lambda x, target, reduction="mean", **options: reduced(function(x, target, **options).sum(-1), reduction)


def reduced(losses: Any, reduction: str = "mean") -> Any:
    return losses if reduction == "none" else getattr(losses, reduction)()


# What torch says in other words


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)


def over(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None, keepdims=False: function(x, axes_of(x, axis), keepdims)


def over_one(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None, keepdims=False: function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None, keepdims=False, correction=0: function(
        x, axes_of(x, axis), correction=correction, keepdim=keepdims
    )


def constant(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*(x.detach() if torch.is_tensor(x) else x for x in args))


def ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=-1, descending=False: function(x, dim=axis, descending=descending, stable=True)


def first(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **options: function(*args, **options)[0]


def normalized(x: Any, axis: Any = -1, eps: float = 1e-5) -> Any:
    variance, mean = torch.var_mean(x, axes_of(x, axis), correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps)


def multiplied(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: FBT001, FBT002  # torch's own
    for one in sorted((n % x.ndim for n in axes_of(x, axis)), reverse=True):
        x = torch.prod(x, one, keepdim=keepdims)
    return x


def taken(x: Any, indices: Any, axis: int = 0) -> Any:
    axis %= x.ndim
    flat = torch.index_select(x, axis, indices.reshape(-1) % x.shape[axis])
    return flat.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def scattered(updates: Any, indices: Any, shape: tuple[int, ...], axis: int = 0) -> Any:
    axis %= len(shape)
    flat = updates.reshape((*shape[:axis], -1, *shape[axis + 1 :]))
    return torch.zeros(shape, dtype=updates.dtype).index_add(axis, indices.reshape(-1) % shape[axis], flat)


def put(x: Any, index: Any, value: Any) -> Any:
    x = x.clone()
    x[index] = value
    return x


def added(x: Any, index: Any, value: Any) -> Any:
    x = x.clone()
    x[index] += value
    return x


def expanded(x: Any, axis: Any) -> Any:
    whole = axis if isinstance(axis, tuple) else (axis,)
    for one in sorted(n % (x.ndim + len(whole)) for n in whole):
        x = x.unsqueeze(one)
    return x


def padded(x: Any, pad_width: Any, value: float = 0) -> Any:
    return F.pad(x, [n for pair in reversed(pad_width) for n in pair], value=value)


def parts(x: Any, sections: Any, axis: int = 0) -> Any:
    return torch.split(x, x.shape[axis] // sections if isinstance(sections, int) else list(sections), axis)


def heads_apart(q: Any, k: Any, v: Any, heads: int, **options: Any) -> Any:
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(-3, -2) for x in (q, k, v))
    together = F.scaled_dot_product_attention(q, k, v, options.get("mask"), is_causal=options.get("causal", False))
    return together.transpose(-3, -2).flatten(-2)


def turned(x: Any, offset: int = 0, base: float = 10_000.0) -> Any:
    n, width = x.shape[-2:]
    angles = torch.outer(offset + torch.arange(n), base ** (-torch.arange(0, width, 2).double() / width)).to(x.dtype)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def smoothed(rank: int) -> Callable[..., Any]:
    def smooth(x: Any, kernel: Any, beta: float = 1.0, stride: Any = None, padding: Any = 0) -> Any:
        sizes, steps, more = (n if isinstance(n, tuple) else (n,) * rank for n in (kernel, stride or kernel, padding))
        x = F.pad(x, [n for p in reversed(more) for n in (p, p)], value=-np.inf * np.sign(beta))
        for axis, (k, s) in enumerate(zip(sizes, steps, strict=True), start=x.ndim - rank):
            x = x.unfold(axis, k, s)
        return torch.logsumexp(x * beta, tuple(range(-rank, 0))) / beta

    return smooth


def recurrent(name: str) -> Callable[..., Any]:
    """Return a layer of torch's, or a cell, as a function of its weights and states."""

    def call(x: Any, *others: Any) -> Any:
        *states, weight_x, weight_h, bias_x, bias_h = others
        is_cell, level = name.endswith("Cell"), "" if name.endswith("Cell") else "_l0"
        layer = getattr(torch.nn, name)(*weight_x.shape[:1], weight_h.shape[0], **({} if is_cell else BATCH_FIRST))
        weights = {"weight_ih": weight_x.T, "weight_hh": weight_h.T, "bias_ih": bias_x, "bias_hh": bias_h}
        given = tuple(states if is_cell else (one.unsqueeze(0) for one in states))  # torch's layers are a stack
        state = given if len(given) > 1 else given[0]
        result = torch.func.functional_call(layer, {f"{key}{level}": one for key, one in weights.items()}, (x, state))
        if is_cell:
            return result
        y, last = result
        return y, *(one.squeeze(0) for one in (last if isinstance(last, tuple) else (last,)))

    return call


def recurrent_calls(gates: int, states: int, *, steps: tuple[int, ...]) -> list[Call]:
    def one(inner: int, hidden: int, *batch: int) -> Call:
        width, state = gates * hidden, (*batch, hidden)
        shapes = [(*batch, *steps, inner), *[state] * states, (inner, width), (hidden, width), (width,), (width,)]
        return call(*(real(*shape, seed=seed) for seed, shape in enumerate(shapes)))

    return [one(3, 5, 2), one(1, 1, 1), one(2, 3, 4)]


BATCH_FIRST = {"batch_first": True}


NOT_IN_TORCH = {
    "bitwise_count": "torch counts no bits",
    "cbrt": "torch has no cube root of negative numbers",
    **dict.fromkeys(["empty", "empty_like"], "nobody knows what the memory holds"),
    **dict.fromkeys(["normal", "uniform", "bernoulli", "dropout"], "NumPy's generator draws other numbers"),
    **dict.fromkeys(["normal_like", "uniform_like", "bernoulli_like"], "NumPy's generator draws other numbers"),
    "ssm_scan": "torch has no scan",
    "tensor": "makes what both get here",
}


def lines_by_name() -> dict[str, Line]:
    """Return the ops of one operand, or of two that broadcast, which torch has under the same name."""
    calls = {elementwise_shape: ONE, broadcast_shape: TWO}
    lines = {}
    for name in NAMES:
        function = getattr(torch, name, None) or getattr(F, name, None)
        if OPS[name].rule in calls and name not in NOT_IN_TORCH and function is not None:
            lines[name] = Line(function, calls[OPS[name].rule])
    return lines


TORCH: dict[str, Line] = lines_by_name() | {
    "adaptive_avg_pool1d": Line(F.adaptive_avg_pool1d, adapted(1)),
    "adaptive_avg_pool2d": Line(F.adaptive_avg_pool2d, adapted(2)),
    "all": Line(over(torch.all), with_options([call(truth(2, 3, 5)), call(truth(0, 3))], {}, {"axis": 1})),
    "any": Line(over(torch.any), with_options([call(truth(2, 3, 5)), call(truth(0, 3))], {}, {"axis": 1})),
    "arange": Line(torch.arange, [call(5), call(2, 9, 3), call(9, 2, -3), call(0)]),
    "argmax": Line(over_one(torch.argmax), FOUND),
    "argmin": Line(over_one(torch.argmin), FOUND),
    "argsort": Line(ordered(torch.argsort), with_options(ALONG, {}, {"descending": True})),
    "astype": Line(lambda x, dtype: x.to(getattr(torch, dtype.__name__)), with_options(ONE, {"dtype": np.float32})),
    "at_add": Line(added, [call(CUBE, 1, real(3, 5)), call(CUBE, (slice(None), slice(0, 3, 2)), real(5))]),
    "at_set": Line(put, [call(CUBE, 1, real(3, 5)), call(CUBE, (slice(None), slice(0, 3, 2)), real(5))]),
    "bitwise_and": Line(torch.bitwise_and, BITS),
    "bitwise_invert": Line(torch.bitwise_not, [call(WHOLE), call(truth(2, 3))]),
    "bitwise_left_shift": Line(torch.bitwise_left_shift, SHIFTED),
    "bitwise_or": Line(torch.bitwise_or, BITS),
    "bitwise_right_shift": Line(torch.bitwise_right_shift, SHIFTED),
    "bitwise_xor": Line(torch.bitwise_xor, BITS),
    "batch_norm": Line(
        # Of a weight that is a column of something torch 2.13 reads the neighbours on the way back.
        lambda x, weight, bias, eps=1e-5: F.batch_norm(
            x, None, None, weight.contiguous(), bias.contiguous(), training=True, eps=eps
        ),
        CHANNELS,
    ),
    "atan2": Line(torch.atan2, TWO),
    "avg_pool1d": Line(F.avg_pool1d, with_options(pooled(1), {}, {"count_include_pad": False})),
    "avg_pool2d": Line(F.avg_pool2d, with_options(pooled(2), {}, {"count_include_pad": False})),
    "bce": Line(F.binary_cross_entropy, with_options(CHANCES, *WAYS)),
    "bce_with_logits": Line(F.binary_cross_entropy_with_logits, with_options(SHARES, *WAYS)),
    "bmm": Line(torch.bmm, [call(real(2, 3, 5), real(2, 5, 7, seed=1)), call(real(0, 3, 5), real(0, 5, 2))]),
    "broadcast_to": Line(torch.broadcast_to, [call(real(*x), (4, 2, 3)) for x in [(), (3,), (2, 1), (4, 1, 3)]]),
    "chunk": Line(torch.chunk, [call(CUBE, 2), call(CUBE, 2, 1), call(CUBE, 3, -1), call(CUBE, 7, 2), call(EDGES, 4)]),
    "clamp": Line(torch.clamp, with_options(ONE, {"min": -1.0}, {"max": 1.0}, {"min": -1.0, "max": 1.0})),
    "concat": Line(torch.cat, [call([CUBE, CUBE[:, :1], CUBE[:, :0]], 1), call([EDGES, real(2)])]),
    "concat_vectors": Line(torch.cat, [call([real(3), real(0), real(2)]), call([EDGES])]),
    "conv1d": Line(F.conv1d, slid(1)),
    "conv2d": Line(F.conv2d, slid(2)),
    "conv3d": Line(F.conv3d, slid(3)),
    "conv_transpose": Line(F.conv_transpose2d, laid(2)),
    "conv_transpose1d": Line(F.conv_transpose1d, laid(1)),
    "conv_transpose2d": Line(F.conv_transpose2d, laid(2)),
    "conv_transpose3d": Line(F.conv_transpose3d, laid(3)),
    "count_nonzero": Line(
        lambda x, axis=None: torch.count_nonzero(x, axis),
        [*(call(truth(2, 3, 5), axis=axis) for axis in (None, 0, (0, 2))), call(ROWS, axis=1), call(WHOLE)],
    ),
    "cosine": Line(
        lambda x, target, reduction="mean": reduced(1 - F.cosine_similarity(x, target, dim=-1), reduction),
        with_options(ROWED, *WAYS),
    ),
    "cross_entropy": Line(
        by_class(F.cross_entropy),
        with_options([*LABELS, *CLASSES], *WAYS)
        + with_options([*LABELS[:4], *CLASSES[:2]], *({"smoothing": 0.25, **one} for one in WAYS))
        + with_options(LABELS[:2], *({"ignore_index": 1, "smoothing": 0.1, **one} for one in WAYS)),
    ),
    "cummax": Line(first(torch.cummax), ALONG),
    "cummin": Line(first(torch.cummin), ALONG),
    "cumprod": Line(torch.cumprod, ALONG),
    "cumsum": Line(torch.cumsum, ALONG),
    "diag": Line(
        lambda x, k=0: torch.diag(x, k), [call(x, k=k) for x in (real(3), real(3, 5), real(5, 3)) for k in (0, 1, -2)]
    ),
    "det": Line(torch.linalg.det, SQUARE),
    "divmod": Line(lambda x, y: (constant(torch.floor_divide)(x, y), torch.remainder(x, y)), TWO),
    "dot": Line(torch.dot, [call(real(5), real(5, seed=1)), call(real(0), real(0)), call(EDGES, EDGES)]),
    "einsum": Line(torch.einsum, SUMMED),
    "elu": Line(F.elu, with_options(ONE, {}, {"alpha": 0.5})),
    "equal": Line(torch.eq, TWO),
    "expand_dims": Line(expanded, [call(CUBE, axis) for axis in (0, 1, -1, (0, -1))]),
    "eye": Line(torch.eye, [call(3), call(2, 5), call(0)]),
    "flatten": Line(torch.flatten, [call(CUBE), call(CUBE, 1), call(CUBE, 0, 1), call(real()), call(real(0, 3))]),
    "flip": Line(lambda x, axis=None: torch.flip(x, axes_of(x, axis)), [call(CUBE), call(CUBE, 1), call(EDGES)]),
    "float_power": Line(torch.float_power, [*TWO, call(EDGES, 3), call(WHOLE, 0.5), call(WHOLE, WHOLE)]),
    "floor_divide": Line(constant(torch.floor_divide), TWO),
    "fmax": Line(torch.fmax, UNEQUAL),
    "fmin": Line(torch.fmin, UNEQUAL),
    "frexp": Line(torch.frexp, ONE),
    "full": Line(torch.full, [call((2, 3), 0.5), call((), 7.0), call((0, 3), 1.0)]),
    "full_like": Line(torch.full_like, [Call((*one.args, 0.5), {}) for one in LIKE]),
    "gather": Line(
        lambda x, indices, axis=0: torch.gather(x, axis, indices % x.shape[axis]),
        [call(real(4, 2), WHOLE), call(real(2, 5), WHOLE, 1), call(real(3), np.zeros(0, int))],
    ),
    "gcd": Line(torch.gcd, DIVISORS),
    "gelu": Line(F.gelu, with_options(ONE, {}, {"approximate": "tanh"})),
    "getitem": Line(
        lambda x, index: x[index],
        [call(CUBE, index) for index in (1, (0, -1), (..., 2), (slice(None), None, slice(1, 3)), (slice(0, 2, 2), 1))],
    ),
    "greater": Line(torch.gt, TWO),
    "greater_equal": Line(torch.ge, TWO),
    "gru": Line(recurrent("GRU"), recurrent_calls(3, 1, steps=(3,))),
    "gru_cell": Line(recurrent("GRUCell"), recurrent_calls(3, 1, steps=())),
    "heaviside": Line(lambda x, y: torch.where(x == 0, y, constant(torch.heaviside)(x, y)), TWO),
    "group_norm": Line(
        lambda x, w, b, groups, eps=1e-5: F.group_norm(x, groups, w, b, eps),
        with_options(CHANNELS[1:], {"groups": 1}, {"groups": 3}),
    ),
    "instance_norm": Line(
        lambda *args, eps=1e-5: F.instance_norm(args[0], None, None, *args[1:], eps=eps), CHANNELS[1:]
    ),
    "hinge": Line(
        lambda x, target, reduction="mean": reduced(torch.relu(1 - target * x), reduction),
        with_options(SIDES, *WAYS),
    ),
    "huber": Line(F.huber_loss, with_options(with_options(BESIDE, {}, {"delta": 0.25}), *WAYS)),
    "inv": Line(torch.linalg.inv, SQUARE),
    "layer_norm": Line(
        lambda x, weight, bias, eps=1e-5: F.layer_norm(x, x.shape[-1:], weight, bias, eps),
        with_options([call(x, real(3, seed=1), real(3, seed=2)) for x in NORMED], {}, {"eps": 0.5}),
    ),
    "kl_div": Line(
        by_row(lambda x, target: F.kl_div(x, target, reduction="none")),
        with_options([one for one in SHARES if one.args[0].ndim], *WAYS),
    ),
    "lcm": Line(torch.lcm, DIVISORS),
    "ldexp": Line(
        # Not torch's own: the gradient of its ldexp is 0 where an exponent is below 0.
        lambda x, y: x * torch.pow(2.0, torch.as_tensor(y)),
        [call(real(2, 3), WHOLE[:, :1]), call(real(3), np.array([-5])), call(real(0, 3), 2), call(EDGES, 1)],
    ),
    "leaky_relu": Line(F.leaky_relu, with_options(ONE, {}, {"negative_slope": 0.2})),
    "less": Line(torch.lt, TWO),
    "less_equal": Line(torch.le, TWO),
    "linear": Line(
        lambda x, weight, bias: F.linear(x, weight.T, bias),
        [call(real(*x), real(3, 5, seed=1), real(5, seed=2)) for x in [(2, 3), (3,), (4, 2, 3), (0, 3)]],
    ),
    "linspace": Line(torch.linspace, [call(0.0, 1.0, 7), call(2.0, -3.0, 4), call(2.0, 3.0, 1), call(0.0, 1.0, 0)]),
    "log_sigmoid": Line(F.logsigmoid, ONE),
    "log_softmax": Line(torch.log_softmax, ALONG),
    "logical_and": Line(torch.logical_and, [call(truth(2, 3), truth(3, seed=1)), call(truth(0, 3), truth())]),
    "logical_not": Line(torch.logical_not, [call(truth(2, 3)), call(truth()), call(truth(0, 3))]),
    "logical_or": Line(torch.logical_or, [call(truth(2, 3), truth(3, seed=1)), call(truth(0, 3), truth())]),
    "logical_xor": Line(torch.logical_xor, [call(truth(2, 3), truth(3, seed=1)), call(truth(0, 3), truth())]),
    "logsumexp": Line(over(torch.logsumexp), REDUCED),
    "lstm": Line(recurrent("LSTM"), recurrent_calls(4, 2, steps=(3,))),
    "lstm_cell": Line(recurrent("LSTMCell"), recurrent_calls(4, 2, steps=())),
    "masked_fill": Line(
        torch.masked_fill,
        [call(CUBE, truth(3, 5), 0.5), call(CUBE, truth(2, 1, 5), real()), call(EDGES, truth(EDGES.size), np.inf)],
    ),
    "masked_select": Line(
        torch.masked_select,
        [call(CUBE, truth(2, 3, 5)), call(CUBE, truth(5)), call(real(5), truth(3, 1)), call(EDGES, truth(EDGES.size))],
    ),
    "mae": Line(F.l1_loss, with_options(BESIDE, *WAYS)),
    "matmul": Line(
        torch.matmul,
        [
            call(real(*x), real(*y, seed=1))
            for x, y in [
                ((3, 5), (5, 7)),
                ((5,), (5,)),
                ((5,), (5, 7)),
                ((3, 5), (5,)),
                ((2, 3, 5), (5, 7)),
                ((4, 1, 3, 5), (2, 5, 7)),
                ((2, 0), (0, 3)),
                ((0, 5), (5, 3)),
            ]
        ],
    ),
    "matvec": Line(
        lambda x, y: (x @ y[..., None])[..., 0],
        [call(real(*x), real(*y)) for x, y in [((3, 5), (5,)), ((2, 3, 5), (4, 1, 5)), ((3, 0), (0,))]],
    ),
    "matrix_transpose": Line(lambda x: x.mT, [call(CUBE), call(real(2, 3)), call(real(0, 3))]),
    "max": Line(over(torch.amax), REDUCED),
    "max_pool1d": Line(F.max_pool1d, pooled(1)),
    "max_pool2d": Line(F.max_pool2d, pooled(2)),
    "mean": Line(over(torch.mean), REDUCED + EMPTY),
    "min": Line(over(torch.amin), REDUCED),
    "min_pool1d": Line(lambda x, *options, **named: -F.max_pool1d(-x, *options, **named), pooled(1)),
    "min_pool2d": Line(lambda x, *options, **named: -F.max_pool2d(-x, *options, **named), pooled(2)),
    "modf": Line(lambda x: (torch.frac(x), torch.trunc(x).detach()), ONE),
    "moveaxis": Line(torch.moveaxis, [call(CUBE, 0, -1), call(CUBE, (0, 1), (1, 2)), call(CUBE, (), ())]),
    "mse": Line(F.mse_loss, with_options(BESIDE, *WAYS)),
    "multi_head_attention": Line(
        heads_apart,
        [
            call(real(2, 5, 6), real(2, 7, 6, seed=1), real(2, 7, 9, seed=2), heads=3, mask=truth(5, 7)),
            call(real(4, 6), real(7, 6, seed=1), real(7, 3, seed=2), heads=1, causal=True),
        ],
    ),
    "nan_to_num": Line(torch.nan_to_num, with_options(ONE, {}, {"nan": 1.0, "posinf": 2.0, "neginf": -2.0})),
    "nextafter": Line(constant(torch.nextafter), TWO),
    "nonzero": Line(
        lambda x: torch.nonzero(x, as_tuple=True), [call(EDGES), call(ROWS), call(WHOLE), call(truth(2, 3, 5))]
    ),
    "norm": Line(
        lambda x, axis=None, keepdims=False, **power: torch.linalg.vector_norm(x, dim=axis, keepdim=keepdims, **power),
        with_options(REDUCED, *({"ord": power} for power in (1, 1.5, 2, 3, np.inf))),
    ),
    "normalize": Line(
        normalized, [*(call(CUBE, axis, eps=0.5) for axis in (-1, 0, (0, 2), None)), *map(call, NORMED), call(real(1))]
    ),
    "nll": Line(
        by_class(F.nll_loss),
        with_options(LABELS, *WAYS) + with_options(LABELS[:2], *({"ignore_index": 1, **one} for one in WAYS)),
    ),
    "not_equal": Line(torch.ne, TWO),
    "one_hot": Line(
        lambda indices, size: F.one_hot(indices, size).to(torch.float32),
        [call(np.array([0, 2, 1]), 3), call(np.array(1), 2), call(np.zeros((0, 2), int), 3)],
    ),
    "ones": Line(torch.ones, [call((2, 3)), call(()), call((0, 3))]),
    "ones_like": Line(torch.ones_like, LIKE),
    "outer": Line(torch.outer, [call(real(3), real(5, seed=1)), call(real(0), real(3)), call(EDGES, EDGES)]),
    "pad": Line(padded, [call(CUBE, ((0, 1), (2, 0), (1, 1)), value=n) for n in (0, 0.5)] + [call(EDGES, ((1, 2),))]),
    "permute": Line(torch.permute, [call(CUBE, (2, 0, 1)), call(CUBE, (-1, 1, 0)), call(real(), ())]),
    # Not the root of -0 and -inf: torch takes sqrt for it, where IEEE's pow gives 0 and inf.
    "pow": Line(
        torch.pow,
        [*TWO, *(call(EDGES, n) for n in (-2, -1, 0, 1, 2, 3)), call(EDGES[EDGES > 0], 0.5), call(0.0, EDGES)],
    ),
    "prelu": Line(
        lambda x, weight: F.prelu(x, weight.reshape(-1)),
        [call(real(2, 3), real(3)), call(CUBE, real(3, 1)), call(real(5), real(1)), call(EDGES, np.array([0.25]))],
    ),
    "prod": Line(multiplied, REDUCED + EMPTY),
    "repeat": Line(
        torch.repeat_interleave, [call(CUBE, 2, 1), call(CUBE, 3), call(CUBE, 0, -1), call(real(0, 3), 2, 1)]
    ),
    "reshape": Line(torch.reshape, [call(CUBE, (5, -1)), call(CUBE, (30,)), call(real(1), ()), call(real(0, 3), (0,))]),
    "rms_norm": Line(
        lambda x, weight, eps=1e-5: F.rms_norm(x, x.shape[-1:], weight, eps),
        with_options([call(x, real(3, seed=1)) for x in NORMED], {}, {"eps": 0.5}),
    ),
    "roll": Line(torch.roll, [call(CUBE, 2), call(CUBE, -1, 1), call(CUBE, (1, 7), (0, -1)), call(real(0, 3), 1, 0)]),
    "rotary_embedding": Line(
        turned, with_options([call(real(2, 3, 4)), call(real(5, 6))], {}, {"offset": 3, "base": 10.0})
    ),
    "rmse": Line(
        lambda x, target, reduction="mean": torch.sqrt(F.mse_loss(x, target, reduction=reduction)),
        with_options([one for one in BESIDE if one.args[0].size], *WAYS),
    ),
    "rnn": Line(recurrent("RNN"), recurrent_calls(1, 1, steps=(3,))),
    "rnn_cell": Line(recurrent("RNNCell"), recurrent_calls(1, 1, steps=())),
    "safe_log": Line(lambda x, eps=1e-6: torch.log(F.softplus(x) + eps), with_options(ONE, {}, {"eps": 0.5})),
    "scale": Line(lambda x, factor: factor * x, with_options(ONE, {"factor": -1.5}, {"factor": 0.0})),
    "scaled_dot_product_attention": Line(
        lambda q, k, v, mask=None, causal=False, scale=None: F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=causal, scale=scale
        ),
        [
            *with_options(
                [call(real(2, 3, 5, 4), real(2, 3, 7, 4, seed=1), real(2, 3, 7, 6, seed=2))],
                {"mask": truth(2, 1, 5, 7)},
                {"mask": np.arange(5)[:, None] > np.arange(7)},
                {"causal": True},
                {"scale": 0.3},
            ),
            call(real(5, 4), real(3, 4, seed=1), real(3, 2, seed=2)),
            call(real(1, 1), real(1, 1, seed=1), real(1, 1, seed=2)),
        ],
    ),
    "scatter_add": Line(scattered, [call(real(2, 2, 5), WHOLE, (4, 5)), call(real(3, 2, 2), WHOLE, (3, 4), -1)]),
    "select": Line(
        lambda x, index, axis=0: torch.select(x, axis, index), [call(CUBE, 1), call(CUBE, -2, 1), call(real(3), 0, -1)]
    ),
    "smooth_max_pool1d": Line(smoothed(1), with_options(pooled(1), {}, {"beta": 3.0}, {"beta": -0.5})),
    "smooth_max_pool2d": Line(smoothed(2), with_options(pooled(2), {}, {"beta": 3.0}, {"beta": -0.5})),
    "smooth_l1": Line(F.smooth_l1_loss, with_options(with_options(BESIDE, {}, {"beta": 0.25}, {"beta": 0.0}), *WAYS)),
    "softmax": Line(torch.softmax, ALONG),
    "sort": Line(first(ordered(torch.sort)), with_options(ALONG, {}, {"descending": True})),
    "solve": Line(
        torch.linalg.solve,
        [call(regular(*x), real(*y, seed=1)) for x, y in [((3, 3), (3, 5)), ((2, 3, 3), (3, 5)), ((1, 1), (2, 1, 1))]],
    ),
    "spacing": Line(
        constant(lambda x: torch.copysign(torch.nextafter(x.abs(), x.abs() + torch.inf) - x.abs(), x)), ONE
    ),
    "split": Line(parts, [call(CUBE, 3, 1), call(CUBE, (1, 4), -1), call(CUBE, (0, 2)), call(real(0, 3), 3, 1)]),
    "squeeze": Line(
        lambda x, axis=None: torch.squeeze(x) if axis is None else torch.squeeze(x, axis),
        [call(real(1, 3, 1)), call(real(1, 3, 1), 0), call(real(1, 3, 1), (0, -1)), call(real())],
    ),
    "stack": Line(torch.stack, [call([CUBE, 2 * CUBE], axis) for axis in (0, 1, -1)] + [call([EDGES, EDGES])]),
    "std": Line(spread(torch.std), with_options(REDUCED, {}, {"correction": 1})),
    "sum": Line(over(torch.sum), REDUCED + EMPTY),
    "swapaxes": Line(torch.swapaxes, [call(CUBE, 0, -1), call(CUBE, 1, 2), call(CUBE, 1, 1)]),
    "take": Line(taken, [call(real(4, 3), WHOLE), call(real(3, 4), WHOLE, -1), call(real(3), np.zeros(0, int))]),
    "tile": Line(torch.tile, [call(CUBE, (2,)), call(CUBE, (2, 1, 3)), call(real(3), (2, 2)), call(CUBE, (0, 1))]),
    "topk": Line(
        lambda x, k, axis=-1, largest=True: torch.topk(x, k, axis, largest),
        [call(CUBE, 2, 1), call(CUBE, 3), call(CUBE, 2, 0, largest=False), call(CUBE, 0), call(ROWS[6], 2)],
    ),
    "tensordot": Line(
        lambda x, y, axes=2: torch.tensordot(x, y, axes),
        [
            call(real(2, 3, 5), real(3, 5, 4, seed=1)),
            call(real(2, 3), real(3, 5, seed=1), axes=1),
            call(real(2), real(3, seed=1), axes=0),
            call(real(2, 3, 5), real(5, 2, 4, seed=1), axes=((0, 2), (1, 0))),
        ],
    ),
    "transpose": Line(
        lambda x, axes=None: torch.permute(x, tuple(range(x.ndim))[::-1] if axes is None else axes),
        [call(CUBE), call(CUBE, (1, 2, 0)), call(real())],
    ),
    "tri": Line(
        lambda n, m=None, k=0: torch.tril(torch.ones(n, n if m is None else m), k),
        [call(3), call(2, 5, k=1), call(4, 3, k=-1), call(0)],
    ),
    "tril": Line(lambda x, k=0: torch.tril(x, k), TRIANGLES),
    "triu": Line(lambda x, k=0: torch.triu(x, k), TRIANGLES),
    "unflatten": Line(
        torch.unflatten, [call(real(2, 6), 1, (3, -1)), call(real(6, 2), 0, (2, 3)), call(CUBE, 2, (5,))]
    ),
    "unfold": Line(
        lambda x, axis, size, step=1: x.unfold(axis, size, step),
        [call(CUBE, 1, size=2), call(CUBE, -1, size=2, step=2), call(CUBE, 2, size=1, step=3), call(EDGES, 0, size=3)],
    ),
    "unstack": Line(torch.unbind, [call(CUBE), call(CUBE, 1), call(CUBE, -1), call(real(3))]),
    "upsample2d": Line(
        lambda x, scale, mode="nearest", align_corners=None: F.interpolate(
            x[None] if x.ndim == 3 else x, scale_factor=scale, mode=mode, align_corners=align_corners
        ).reshape((*x.shape[:-2], *(n * s for n, s in zip(x.shape[-2:], (scale, scale), strict=True)))),
        [
            *with_options([call(real(2, 3, 4, 5), 2), call(real(3, 4, 5), 3)], {}, {"mode": "bilinear"}),
            call(real(2, 3, 4, 5), 3, mode="bilinear", align_corners=True),
        ],
    ),
    "var": Line(spread(torch.var), with_options(REDUCED, {}, {"correction": 1})),
    "vecdot": Line(
        torch.linalg.vecdot, [call(real(*x), real(*y)) for x, y in [((5,), (5,)), ((2, 5), (4, 1, 5)), ((3, 0), (0,))]]
    ),
    "vecmat": Line(
        lambda x, y: (x[..., None, :] @ y)[..., 0, :],
        [call(real(*x), real(*y)) for x, y in [((3,), (3, 5)), ((4, 1, 3), (2, 3, 5)), ((0,), (0, 3))]],
    ),
    "where": Line(
        torch.where,
        [call(truth(*c), real(*x), real(*y, seed=1)) for c, x, y in [((2, 3), (3,), ()), ((), (2, 1), (3,))]]
        + [call(truth(EDGES.size), EDGES, EDGES[::-1].copy())],
    ),
    "zeros": Line(torch.zeros, [call((2, 3)), call(()), call((0, 3))]),
    "zeros_like": Line(torch.zeros_like, LIKE),
}

COUNTS = np.array([[3, -2, 0], [7, 5, -1]])
COUNTED_ALONE = ["abs", "ceil", "floor", "neg", "relu", "round", "sign", "square", "trunc"]
COUNTED_BESIDE = ["add", "equal", "greater", "greater_equal", "less", "less_equal", "mul", "not_equal", "sub"]
COUNTED_ALONG = ["argmax", "argmin", "max", "min", "prod", "sum"]
COUNTED_IN_ORDER = ["argsort", "cummax", "cummin", "cumprod", "cumsum", "sort"]
LEFT_OVER = ["floor_divide", "fmod", "remainder"]
INTEGERS: dict[str, list[Call]] = {
    **{name: [call(COUNTS)] for name in COUNTED_ALONE},
    **{name: [call(COUNTS, COUNTS[0]), call(COUNTS, 3)] for name in COUNTED_BESIDE},
    **{name: [call(COUNTS, axis=1), call(COUNTS)] for name in COUNTED_ALONG},
    **{name: [call(COUNTS, COUNTS[0])] for name in ("fmax", "fmin", "maximum", "minimum")},
    "clamp": [call(COUNTS, min=-1, max=5)],
    **{name: [call(COUNTS, 1)] for name in COUNTED_IN_ORDER},
    "matmul": [call(COUNTS, COUNTS.T)],
    "pow": [call(COUNTS, 3), call(2, np.abs(COUNTS))],
    **{name: [call(COUNTS, np.array([2, -3, 5])), call(COUNTS, -2)] for name in LEFT_OVER},
    "where": [call(COUNTS > 0, COUNTS, 1)],
}


def all_below(x: Any) -> Any:
    return np.isneginf(x).all(-1, keepdims=True) if x.ndim else np.isneginf(x)


# Where an operand is such, another one is compared; a test holds that there is a difference.
DIFFERENCES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "abs": (np.isnan, "the slope of a NaN is NaN; torch's is 0"),
    "acosh": (lambda x: x < 1, "outside its domain the slope is NaN as the value is; torch goes on with the formula"),
    "clamp": (np.isnan, "a NaN is not outside, so its gradient passes; torch's is 0"),
    "copysign": (np.isinf, "the slope of an infinity is 1 or -1; torch divides it by itself"),
    "cumprod": (lambda x: ~np.isfinite(x), "a slope is the product of the others; torch divides by the element"),
    "divmod": (lambda x: np.abs(x) == 1e-30, "NumPy's remainder is exact; torch's quotient overflows in float32"),
    "elu": (np.isnan, "the slope of a NaN is NaN; torch's is 1 in float32"),
    "fmod": (lambda x: np.abs(x) == 1e-30, "NumPy's remainder is exact; torch's quotient overflows in float32"),
    "gelu": (np.isposinf, "gelu of infinity is infinity; torch's is NaN in float32"),
    "heaviside": (np.isnan, "a NaN is on no side of the step and stays NaN, as NumPy's; torch's is 0"),
    "logsumexp": (all_below, "of nothing but -inf the gradient is 0; torch's is NaN"),
    "maximum": (np.isnan, "the gradient of a NaN is 0; torch gives it to both operands"),
    "minimum": (np.isnan, "the gradient of a NaN is 0; torch gives it to both operands"),
    "modf": (np.isinf, "of an infinity nothing is left, as in NumPy; torch has NaN"),
    "norm": (np.isnan, "the slope of a NaN is NaN; torch's is 0 for the powers 1 and infinity"),
    "relu": (np.isnan, "a NaN is not above 0, so its gradient is 0; torch's passes"),
    "remainder": (lambda x: np.abs(x) == 1e-30, "NumPy's remainder is exact; torch's quotient overflows in float32"),
    "rsqrt": (lambda x: (x == 0) & np.signbit(x), "towards -0 the slope falls to -inf; torch has inf"),
    "sign": (np.isnan, "the sign of a NaN is NaN, as NumPy's; torch's is 0"),
}


def test_every_op_has_a_line_or_a_reason() -> None:
    assert sorted([*TORCH, *NOT_IN_TORCH]) == NAMES


def cases() -> list[Any]:
    return [
        pytest.param(name, one, id=f"{name}{one}")
        for name, line in TORCH.items()
        for one in line.calls + INTEGERS.get(name, [])
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize(("name", "one"), cases())
@pytest.mark.filterwarnings("ignore")  # both warn of edges, in words of their own
def test_values_and_gradients_are_those_of_torch(name: str, one: Call, dtype: Any) -> None:
    compare(name, converted(one, dtype, DIFFERENCES.get(name, (np.zeros_like, ""))[0]))


@pytest.mark.parametrize("name", DIFFERENCES)
@pytest.mark.filterwarnings("ignore")
def test_a_difference_that_stands_in_the_table_is_there(name: str) -> None:
    def compare_all() -> None:
        for one, dtype in product(TORCH[name].calls, [np.float64, np.float32]):
            compare(name, converted(one, dtype, np.zeros_like))

    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare_all()


def compare(name: str, one: Call) -> None:
    values, gradients = by_tapegrad(getattr(ops, name), one)
    torchs, expected = by_torch(TORCH[name].function, one)

    for ours, theirs in zip([*values, *gradients], [*torchs, *expected], strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        rtol, atol = (1e-10, 1e-14) if ours.dtype == np.float64 else (2e-5, 1e-6)
        np.testing.assert_allclose(ours, theirs, rtol, atol)


def converted(one: Any, dtype: Any, differs: Callable[[Any], Any]) -> Any:
    """Return arguments whose floats are of `dtype`, with an ordinary number where torch differs."""
    if isinstance(one, Call):
        return Call(converted(one.args, dtype, differs), one.options)
    if isinstance(one, Fixed):
        return Fixed(converted(one.array, dtype, differs))
    if isinstance(one, tuple | list):
        return type(one)(converted(each, dtype, differs) for each in one)
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.where(differs(one), 1.5, one).astype(dtype)
    return one


def by_tapegrad(f: Callable[..., Any], one: Call) -> tuple[list[Any], list[Any]]:
    leaves: list[Tensor[Any, Any, Any]] = []

    def made(array: Any, *, fixed: bool) -> Any:
        x: Any = node(array)
        if fixed or array.dtype.kind != "f":
            return x
        leaves.append(x)
        return x.trace()

    result = f(*replaced(one.args, made), **replaced(one.options, made))
    several = list(result) if isinstance(result, tuple) else [result]
    values = [y.numpy() for y in several]
    if not any(y.owns_tape for y in several):
        return values, [np.zeros(x.shape, x.dtype) for x in leaves]
    total: Any = sum((y * direction(y)).sum() for y in several if y.owns_tape)
    grads = total.backward(wrt=leaves)
    return values, [grads[x].numpy() for x in leaves]


def by_torch(f: Callable[..., Any], one: Call) -> tuple[list[Any], list[Any]]:
    leaves: list[Any] = []

    def made(array: Any, *, fixed: bool) -> Any:
        x = torch.tensor(array)
        if not fixed and x.is_floating_point():
            leaves.append(x.requires_grad_())
        return x

    result = f(*replaced(one.args, made), **replaced(one.options, made))
    several = list(result) if isinstance(result, tuple | list) else [result]
    values = [y.detach().numpy() for y in several]
    zeros = [np.zeros_like(x.detach().numpy()) for x in leaves]
    if not any(y.requires_grad for y in several):
        return values, zeros
    total = sum((y * torch.tensor(direction(y.detach().numpy()))).sum() for y in several if y.requires_grad)
    grads = torch.autograd.grad(total, leaves, allow_unused=True)
    return values, [zero if grad is None else grad.detach().numpy() for zero, grad in zip(zeros, grads, strict=True)]


def replaced(one: Any, made: Callable[..., Any]) -> Any:
    if isinstance(one, dict):
        return {name: replaced(each, made) for name, each in one.items()}
    if isinstance(one, Fixed):
        return made(one.array, fixed=True)
    if isinstance(one, tuple | list):
        return type(one)(replaced(each, made) for each in one)
    return made(one, fixed=False) if isinstance(one, np.ndarray) else one


def direction(y: Any) -> Any:
    """Another number for each element, none of them zero: what the result is differentiated along."""
    return (np.arange(y.size).reshape(y.shape) % 7 + 0.5).astype(y.dtype)
