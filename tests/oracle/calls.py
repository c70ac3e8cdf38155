"""Calls of every op over a grid of shapes, options and edge cases, for test_torch.py and jax/test_ops.py.

A line of CALLS is one op. A call has the arguments that each library gets; its arrays become tensors, and its float
arrays are differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tapegrad import ops
from tapegrad.autograd.registry import OPS
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape
from tests.op_coverage import NAMES


def op_of(name: str) -> Callable[..., Any]:
    """Return an op; of one whose vectors have an arbitrary sign, the absolute values."""
    found: Callable[..., Any] = getattr(ops, name)
    return found if name not in OF_ANY_SIGN else lambda *args, **options: tuple(map(abs, found(*args, **options)))


class Call(NamedTuple):
    args: tuple[Any, ...]
    options: dict[str, Any]

    def __repr__(self) -> str:
        words = [written(one) for one in self.args] + [f"{key}={written(one)}" for key, one in self.options.items()]
        return f"({', '.join(words)})"


def written(one: Any) -> str:
    if isinstance(one, list):
        return f"[{', '.join(map(written, one))}]"
    return f"{one.dtype}{list(one.shape)}" if isinstance(one, np.ndarray) else str(one)


def call(*args: Any, **options: Any) -> Call:
    return Call(args, options)


def real(*shape: int, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape))


def truth(*shape: int, seed: int = 0) -> Any:
    return np.asarray(real(*shape, seed=seed) > 0)


OF_ANY_SIGN = {"eigh", "svd"}  # libraries, and versions of LAPACK, give other signs
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
# Where two numbers are normalised to -1 and 1, the derivative is only rounding, in float32.
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
POSITIVE = [call(x @ x.swapaxes(-1, -2)) for ((x,), _) in SQUARE]
# Their singular values are far apart: the gradients of float32 depend on the differences.
MATRICES = [
    call(real(*shape) / 4 + np.eye(shape[-2], shape[-1]) * np.arange(2, 2 * shape[-1] + 2, 2))
    for shape in [(3, 3), (5, 3), (3, 5), (1, 1), (2, 3, 5)]
]


def with_options(calls: list[Call], *options: dict[str, Any]) -> list[Call]:
    return [Call(one.args, one.options | option) for one, option in product(calls, options)]


def conv_calls(rank: int) -> list[Call]:
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


def last(rank: int, *options: dict[str, Any]) -> list[Call]:
    """Return windows of which the last ones reach beyond the input, and their padding."""
    x, whole = real(2, 3, *(7, 8)[:rank]), {"ceil_mode": True}
    calls = with_options([call(x, 3), call(x, (3, 2)[:rank], stride=3)], {}, {"padding": 1})
    return with_options([*calls, call(x, 2, stride=5, padding=1)], whole, *(whole | one for one in options))


def dilated(rank: int) -> list[Call]:
    """Return windows whose cells are apart, and such as reach beyond the input."""
    x = real(2, 3, *(7, 8)[:rank])
    each: list[dict[str, Any]] = [
        {"dilation": 2},
        {"dilation": (2, 3)[:rank], "stride": 1},
        {"dilation": 2, "stride": 3, "ceil_mode": True},
    ]
    return [*with_options([call(x, 3), call(x, 2), call(x[0], 3)], *each), *last(rank)]


def adapted(rank: int) -> list[Call]:
    x = real(2, 3, *(7, 8)[:rank])
    return [call(x, 1), call(x, 3), call(x, (9, 4)[:rank]), call(x[0], (4, 8)[:rank]), call(x[:0], 2)]


BESIDE = [call(real(*shape), real(*shape, seed=1)) for shape in SHAPES]
SIDES = [call(real(*shape), np.asarray(np.sign(real(*shape, seed=1)))) for shape in SHAPES]
SHARES = [call(one, np.asarray(np.abs(np.tanh(other)))) for one, other in (each.args for each in BESIDE)]
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
    call(real(4, 3), np.abs(real(4, 3, seed=1))),
    call(real(2, 5, 3), np.abs(real(2, 5, 3, seed=1))),
    call(ROWS[1:4], np.eye(3)),
]
WAYS = [{}, {"reduction": "sum"}, {"reduction": "none"}]


def recurrent_calls(gates: int, states: int, *, steps: tuple[int, ...]) -> list[Call]:
    def one(inner: int, hidden: int, *batch: int) -> Call:
        width, state = gates * hidden, (*batch, hidden)
        shapes = [(*batch, *steps, inner), *[state] * states, (inner, width), (hidden, width), (width,), (width,)]
        return call(*(real(*shape, seed=seed) for seed, shape in enumerate(shapes)))

    return [one(3, 5, 2), one(1, 1, 1), one(2, 3, 4)]


def calls_by_rule() -> dict[str, list[Call]]:
    """Return the calls of the ops of one operand, and of two that broadcast, if they draw no random numbers."""
    calls = {elementwise_shape: ONE, broadcast_shape: TWO}
    entries = [OPS[name] for name in NAMES]
    return {
        one.name: calls[one.rule] for one in entries if one.rule in calls and "rng" not in one.function.__annotations__
    }


RESIZED: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3, 7), (5,)),
    ((2, 3, 7, 5), (3, 9)),
    ((1, 2, 3, 4), (6, 2)),
    ((2, 1, 3, 4, 2), (5, 2, 3)),
]
RESAMPLED: list[dict[str, Any]] = [
    {"mode": "nearest"},
    *({"mode": mode, "align_corners": aligned} for mode in ("linear", "cubic") for aligned in (False, True)),
]
REDUCED_ALONG = ["sum", "mean", "prod", "max", "min"]
NEAR = with_options([call(EDGES, EDGES * (1 + 1e-6)), call(real(2, 3), real(3))], {}, {"rtol": 0.1, "equal_nan": True})
CALLS: dict[str, list[Call]] = calls_by_rule() | {
    "adaptive_avg_pool1d": adapted(1),
    "adaptive_avg_pool2d": adapted(2),
    "all": with_options([call(truth(2, 3, 5)), call(truth(0, 3))], {}, {"axis": 1}),
    "any": with_options([call(truth(2, 3, 5)), call(truth(0, 3))], {}, {"axis": 1}),
    "arange": [call(5), call(2, 9, 3), call(9, 2, -3), call(0)],
    "argmax": FOUND,
    "argmin": FOUND,
    "argsort": with_options(ALONG, {}, {"descending": True}),
    "astype": with_options(ONE, {"dtype": np.float32}),
    "at_add": [call(CUBE, 1, real(3, 5)), call(CUBE, (slice(None), slice(0, 3, 2)), real(5))],
    "at_set": [call(CUBE, 1, real(3, 5)), call(CUBE, (slice(None), slice(0, 3, 2)), real(5))],
    "bitwise_and": BITS,
    "bitwise_invert": [call(WHOLE), call(truth(2, 3))],
    "bitwise_left_shift": SHIFTED,
    "bitwise_or": BITS,
    "bitwise_right_shift": SHIFTED,
    "bitwise_xor": BITS,
    "batch_norm": CHANNELS,
    "atan2": TWO,
    "avg_pool1d": with_options(pooled(1), {}, {"count_include_pad": False}) + last(1, {"count_include_pad": False}),
    "avg_pool2d": with_options(pooled(2), {}, {"count_include_pad": False}, {"divisor_override": 3})
    + last(2, {"count_include_pad": False}, {"divisor_override": 3}),
    "bce": with_options(CHANCES, *WAYS),
    "bce_with_logits": with_options(SHARES, *WAYS),
    "bmm": [call(real(2, 3, 5), real(2, 5, 7, seed=1)), call(real(0, 3, 5), real(0, 5, 2))],
    "broadcast_to": [
        *(call(real(*x), (4, 2, 3)) for x in [(), (3,), (2, 1), (4, 1, 3)]),
        call(real(2, 1), (4, -1, 3)),
    ],
    "celu": with_options(ONE, {}, {"alpha": 0.5}),
    "chunk": [call(CUBE, 2), call(CUBE, 2, 1), call(CUBE, 3, -1), call(CUBE, 7, 2), call(EDGES, 4)],
    "cholesky": POSITIVE,
    "clamp": with_options(ONE, {"min": -1.0}, {"max": 1.0}, {"min": -1.0, "max": 1.0}),
    "concat": [call([CUBE, CUBE[:, :1], CUBE[:, :0]], 1), call([EDGES, real(2)])],
    "concat_vectors": [call([real(3), real(0), real(2)]), call([EDGES])],
    "conv1d": conv_calls(1),
    "conv2d": conv_calls(2),
    "conv3d": conv_calls(3),
    "conv_transpose": laid(2),
    "conv_transpose1d": laid(1),
    "conv_transpose2d": laid(2),
    "conv_transpose3d": laid(3),
    "count_nonzero": [
        *(call(truth(2, 3, 5), axis=axis) for axis in (None, 0, (0, 2))),
        call(ROWS, axis=1),
        call(WHOLE),
    ],
    "cosine": with_options(ROWED, *WAYS),
    "cross": [call(real(2, 3), real(3)), call(real(3, 1), real(2, 3, 5), 1), call(ROWS[:, None], ROWS)],
    "cross_entropy": with_options([*LABELS, *CLASSES], *WAYS)
    + with_options([*LABELS[:4], *CLASSES[:2]], *({"smoothing": 0.25, **one} for one in WAYS))
    + with_options(LABELS[:2], *({"ignore_index": 1, "smoothing": 0.1, **one} for one in WAYS)),
    "argcummax": ALONG,
    "argcummin": ALONG,
    "cummax": ALONG,
    "cummin": ALONG,
    "cumprod": ALONG,
    "cumsum": ALONG,
    "diagonal": [call(CUBE), call(CUBE, 1, 1, 2), call(CUBE, -1, 2, 0), call(real(0, 3))],
    "diff": [call(CUBE), call(CUBE, 2, 1), call(real(3, 1)), call(CUBE, 0)],
    "diag": [call(x, k=k) for x in (real(3), real(3, 5), real(5, 3)) for k in (0, 1, -2)],
    "det": SQUARE,
    "divmod": TWO,
    "dot": [call(real(5), real(5, seed=1)), call(real(0), real(0)), call(EDGES, EDGES)],
    "eigh": POSITIVE,
    "eigvalsh": POSITIVE,
    "einsum": SUMMED,
    "elu": with_options(ONE, {}, {"alpha": 0.5}),
    "expand_dims": [call(CUBE, axis) for axis in (0, 1, -1, (0, -1))],
    "eye": [call(3), call(2, 5), call(0)],
    "flatten": [call(CUBE), call(CUBE, 1), call(CUBE, 0, 1), call(real()), call(real(0, 3))],
    "flip": [call(CUBE), call(CUBE, 1), call(EDGES)],
    "float_power": [*TWO, call(EDGES, 3), call(WHOLE, 0.5), call(WHOLE, WHOLE)],
    "fmax": UNEQUAL,
    "fmin": UNEQUAL,
    "frexp": ONE,
    "full": [call((2, 3), 0.5), call((), 7.0), call((0, 3), 1.0)],
    "full_like": [Call((*one.args, 0.5), {}) for one in LIKE],
    "gather": [call(real(4, 2), WHOLE), call(real(2, 5), WHOLE, 1), call(real(3), np.zeros(0, int))],
    "gcd": DIVISORS,
    "gelu": with_options(ONE, {}, {"approximate": "tanh"}),
    "getitem": [
        call(CUBE, index) for index in (1, (0, -1), (..., 2), (slice(None), None, slice(1, 3)), (slice(0, 2, 2), 1))
    ],
    "gru": recurrent_calls(3, 1, steps=(3,)),
    "gru_cell": recurrent_calls(3, 1, steps=()),
    "group_norm": with_options(CHANNELS[1:], {"groups": 1}, {"groups": 3}),
    "instance_norm": CHANNELS[1:],
    "hinge": with_options(SIDES, *WAYS),
    "huber": with_options(with_options(BESIDE, {}, {"delta": 0.25}), *WAYS),
    "hardtanh": with_options(ONE, {}, {"min": -2.0, "max": 0.5}),
    "allclose": NEAR,
    "isclose": NEAR,
    "isin": [call(WHOLE, np.array([2, 0])), call(WHOLE, np.array([[1]]), invert=True), call(EDGES, EDGES[::3].copy())],
    "logcumsumexp": ALONG,
    "lstsq": [
        *(call(one.args[0], real(*one.args[0].shape[:-1], 2, seed=1)) for one in MATRICES),
        call(MATRICES[1].args[0], real(5, seed=1)),
    ],
    "searchsorted": [
        *(call(np.sort(EDGES[:-1]), real(2, 3), side=side) for side in ("left", "right")),
        call(np.array([0, 1, 1]), WHOLE),
    ],
    "inv": SQUARE,
    "layer_norm": with_options(
        [
            *(call(x, real(3, seed=1), real(3, seed=2)) for x in NORMED),
            call(CUBE.reshape(5, 2, 3), real(2, 3, seed=1), real(2, 3, seed=2)),
        ],
        {},
        {"eps": 0.5},
    ),
    "kl_div": with_options([one for one in SHARES if one.args[0].ndim], *WAYS),
    "lcm": DIVISORS,
    "ldexp": [call(real(2, 3), WHOLE[:, :1]), call(real(3), np.array([-5])), call(real(0, 3), 2), call(EDGES, 1)],
    "leaky_relu": with_options(ONE, {}, {"negative_slope": 0.2}),
    "linear": [
        call(real(*x), real(3, 5, seed=1), *bias)
        for x in [(2, 3), (3,), (4, 2, 3), (0, 3)]
        for bias in [(), (real(5, seed=2),)]
    ],
    "linspace": [call(0.0, 1.0, 7), call(2.0, -3.0, 4), call(2.0, 3.0, 1), call(0.0, 1.0, 0)],
    "log_softmax": ALONG,
    "logical_and": [call(truth(2, 3), truth(3, seed=1)), call(truth(0, 3), truth())],
    "logical_not": [call(truth(2, 3)), call(truth()), call(truth(0, 3))],
    "logical_or": [call(truth(2, 3), truth(3, seed=1)), call(truth(0, 3), truth())],
    "logical_xor": [call(truth(2, 3), truth(3, seed=1)), call(truth(0, 3), truth())],
    "logsumexp": REDUCED,
    "kron": [*(call(real(*x), real(*y, seed=1)) for x, y in [*PAIRS, ((2, 3), (5, 1))]), call(EDGES, EDGES)],
    "lerp": [*(call(real(*x), real(*y, seed=1), 0.25) for x, y in PAIRS), call(real(2, 3), real(3), real(2, 1, 1))],
    "lstm": recurrent_calls(4, 2, steps=(3,)),
    "lstm_cell": recurrent_calls(4, 2, steps=()),
    "masked_fill": [
        call(CUBE, truth(3, 5), 0.5),
        call(CUBE, truth(2, 1, 5), real()),
        call(EDGES, truth(EDGES.size), np.inf),
    ],
    "masked_select": [
        call(CUBE, truth(2, 3, 5)),
        call(CUBE, truth(5)),
        call(real(5), truth(3, 1)),
        call(EDGES, truth(EDGES.size)),
    ],
    "mae": with_options(BESIDE, *WAYS),
    "matmul": [
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
    "matvec": [call(real(*x), real(*y)) for x, y in [((3, 5), (5,)), ((2, 3, 5), (4, 1, 5)), ((3, 0), (0,))]],
    "matrix_transpose": [call(CUBE), call(real(2, 3)), call(real(0, 3))],
    "max": REDUCED,
    "max_pool1d": pooled(1) + dilated(1),
    "max_pool2d": pooled(2) + dilated(2),
    "mean": REDUCED + EMPTY,
    "min": REDUCED,
    "min_pool1d": pooled(1) + dilated(1),
    "min_pool2d": pooled(2) + dilated(2),
    "modf": ONE,
    "moveaxis": [call(CUBE, 0, -1), call(CUBE, (0, 1), (1, 2)), call(CUBE, (), ())],
    "meshgrid": [
        call(*(real(n) for n in lengths), indexing=indexing)
        for lengths in [(3, 2), (3, 2, 5), (0, 2), (4,)]
        for indexing in ("xy", "ij")
    ],
    "mse": with_options(BESIDE, *WAYS),
    "multi_head_attention": [
        call(real(2, 5, 6), real(2, 7, 6, seed=1), real(2, 7, 9, seed=2), heads=3, mask=truth(5, 7)),
        call(real(4, 6), real(7, 6, seed=1), real(7, 3, seed=2), heads=1, causal=True),
        call(real(2, 5, 12), real(2, 7, 6, seed=1), real(2, 7, 4, seed=2), heads=4, kv_heads=2, mask=truth(5, 7)),
        call(real(4, 6), real(7, 2, seed=1), real(7, 1, seed=2), heads=3, kv_heads=1, causal=True),
        call(real(2, 5, 12), real(2, 7, 6, seed=1), real(2, 7, 4, seed=2), heads=4, kv_heads=2, bias=real(4, 5, 7)),
    ],
    "nan_to_num": with_options(ONE, {}, {"nan": 1.0, "posinf": 2.0, "neginf": -2.0}),
    "nonzero": [call(EDGES), call(ROWS), call(WHOLE), call(truth(2, 3, 5))],
    "norm": with_options(REDUCED, *({"ord": power} for power in (1, 1.5, 2, 3, np.inf))),
    "normalize": [*(call(CUBE, axis, eps=0.5) for axis in (-1, 0, (0, 2), None)), *map(call, NORMED), call(real(1))],
    "nll": with_options(LABELS, *WAYS) + with_options(LABELS[:2], *({"ignore_index": 1, **one} for one in WAYS)),
    "one_hot": [call(np.array([0, 2, 1]), 3), call(np.array(1), 2), call(np.zeros((0, 2), int), 3)],
    "ones": [call((2, 3)), call(()), call((0, 3))],
    "ones_like": LIKE,
    "outer": [call(real(3), real(5, seed=1)), call(real(0), real(3)), call(EDGES, EDGES)],
    "pad": [
        *(call(CUBE, ((0, 1), (2, 0), (1, 1)), value=n) for n in (0, 0.5)),
        call(EDGES, ((1, 2),)),
        *(call(real(2, 3, 5, 4), ((0, 0), (0, 0), (2, 1), (0, 3)), mode=mode) for mode in ("edge", "reflect", "wrap")),
    ],
    "pinv": [*MATRICES, *with_options(MATRICES[:2], {"rtol": 0.1})],
    "permute": [call(CUBE, (2, 0, 1)), call(CUBE, (-1, 1, 0)), call(real(), ())],
    "pow": [*TWO, *(call(EDGES, n) for n in (-2, -1, 0, 1, 2, 3)), call(EDGES[EDGES > 0], 0.5), call(0.0, EDGES)],
    "prelu": [call(real(2, 3), real(3)), call(CUBE, real(3, 1)), call(real(5), real(1)), call(EDGES, np.array([0.25]))],
    "prod": REDUCED + EMPTY,
    "qr": MATRICES,
    "repeat": [call(CUBE, 2, 1), call(CUBE, 3), call(CUBE, 0, -1), call(real(0, 3), 2, 1)],
    "reshape": [call(CUBE, (5, -1)), call(CUBE, (30,)), call(real(1), ()), call(real(0, 3), (0,))],
    "rms_norm": with_options(
        [*(call(x, real(3, seed=1)) for x in NORMED), call(CUBE.reshape(5, 2, 3), real(2, 3, seed=1))], {}, {"eps": 0.5}
    ),
    "roll": [call(CUBE, 2), call(CUBE, -1, 1), call(CUBE, (1, 7), (0, -1)), call(real(0, 3), 1, 0)],
    "rotary_embedding": with_options([call(real(2, 3, 4)), call(real(5, 6))], {}, {"offset": 3, "base": 10.0}),
    "rmse": with_options([one for one in BESIDE if one.args[0].size], *WAYS),
    "rnn": recurrent_calls(1, 1, steps=(3,)),
    "rnn_cell": recurrent_calls(1, 1, steps=()),
    "safe_log": with_options(ONE, {}, {"eps": 0.5}),
    "scale": with_options(ONE, {"factor": -1.5}, {"factor": 0.0}),
    "scaled_dot_product_attention": [
        *with_options(
            [call(real(2, 3, 5, 4), real(2, 3, 7, 4, seed=1), real(2, 3, 7, 6, seed=2))],
            {"mask": truth(2, 1, 5, 7)},
            {"mask": np.arange(5)[:, None] > np.arange(7)},
            {"causal": True},
            {"scale": 0.3},
            {"bias": real(3, 5, 7, seed=3), "scale": 0.3},
            {"bias": real(2, 1, 1, 7, seed=3)},
        ),
        call(real(5, 4), real(3, 4, seed=1), real(3, 2, seed=2)),
        call(real(1, 1), real(1, 1, seed=1), real(1, 1, seed=2)),
    ],
    "scatter": [
        call(CUBE, CUBE[:, :2].argsort(1), real(2, 2, 5, seed=1), 1),
        call(real(3, 5), np.array([[2, 0]] * 3), real(3, 2, seed=1), -1),
        call(real(3), np.zeros(0, int), real(0)),
    ],
    "scatter_reduce": with_options(
        [
            call(CUBE, np.arange(60).reshape(2, 6, 5) % 3, real(2, 6, 5, seed=1), 1),
            call(real(3), WHOLE[0], real(2, seed=1)),
        ],
        *({"reduction": one, "include_self": own} for one in REDUCED_ALONG for own in (True, False)),
    ),
    "scatter_add": [call(real(2, 2, 5), WHOLE, (4, 5)), call(real(3, 2, 2), WHOLE, (3, 4), -1)],
    "select": [call(CUBE, 1), call(CUBE, -2, 1), call(real(3), 0, -1)],
    "smooth_max_pool1d": with_options(pooled(1) + dilated(1), {}, {"beta": 3.0}, {"beta": -0.5}),
    "smooth_max_pool2d": with_options(pooled(2) + dilated(2), {}, {"beta": 3.0}, {"beta": -0.5}),
    "slogdet": SQUARE,
    "smooth_l1": with_options(with_options(BESIDE, {}, {"beta": 0.25}, {"beta": 0.0}), *WAYS),
    "softmax": ALONG,
    "sort": with_options(ALONG, {}, {"descending": True}),
    "solve": [
        call(regular(*x), real(*y, seed=1))
        for x, y in [((3, 3), (3, 5)), ((2, 3, 3), (3, 5)), ((1, 1), (2, 1, 1)), ((3, 3), (3,))]
    ],
    "split": [call(CUBE, 3, 1), call(CUBE, (1, 4), -1), call(CUBE, (0, 2)), call(real(0, 3), 3, 1)],
    "squeeze": [call(real(1, 3, 1)), call(real(1, 3, 1), 0), call(real(1, 3, 1), (0, -1)), call(real())],
    "stack": [call([CUBE, 2 * CUBE], axis) for axis in (0, 1, -1)] + [call([EDGES, EDGES])],
    "std": with_options(REDUCED, {}, {"correction": 1}),
    "sum": REDUCED + EMPTY,
    "svd": MATRICES,
    "svdvals": MATRICES,
    "swapaxes": [call(CUBE, 0, -1), call(CUBE, 1, 2), call(CUBE, 1, 1)],
    "take": [call(real(4, 3), WHOLE), call(real(3, 4), WHOLE, -1), call(real(3), np.zeros(0, int))],
    "tile": [call(CUBE, (2,)), call(CUBE, (2, 1, 3)), call(real(3), (2, 2)), call(CUBE, (0, 1))],
    "topk": [call(CUBE, 2, 1), call(CUBE, 3), call(CUBE, 2, 0, largest=False), call(CUBE, 0), call(ROWS[6], 2)],
    "tensordot": [
        call(real(2, 3, 5), real(3, 5, 4, seed=1)),
        call(real(2, 3), real(3, 5, seed=1), axes=1),
        call(real(2), real(3, seed=1), axes=0),
        call(real(2, 3, 5), real(5, 2, 4, seed=1), axes=((0, 2), (1, 0))),
    ],
    "transpose": [call(CUBE), call(CUBE, (1, 2, 0)), call(real())],
    "tri": [call(3), call(2, 5, k=1), call(4, 3, k=-1), call(0)],
    "tril": TRIANGLES,
    "triu": TRIANGLES,
    "unflatten": [call(real(2, 6), 1, (3, -1)), call(real(6, 2), 0, (2, 3)), call(CUBE, 2, (5,))],
    "unfold": [
        call(CUBE, 1, size=2),
        call(CUBE, -1, size=2, step=2),
        call(CUBE, 2, size=1, step=3),
        call(EDGES, 0, size=3),
    ],
    "unique": [call(np.array([[3.0, 1.0, 2.5], [1.0, 3.0, -2.0]])), call(real()), call(real(0, 3)), call(WHOLE)],
    "unstack": [call(CUBE), call(CUBE, 1), call(CUBE, -1), call(real(3))],
    "interpolate": [
        call(real(*shape), size, **options)
        for shape, size in RESIZED
        for options in RESAMPLED
        if options["mode"] != "cubic" or len(size) == 2  # torch has no other
    ],
    "upsample2d": [
        *with_options([call(real(2, 3, 4, 5), 2), call(real(3, 4, 5), 3)], {}, {"mode": "bilinear"}),
        call(real(2, 3, 4, 5), 3, mode="bilinear", align_corners=True),
    ],
    "var": with_options(REDUCED, {}, {"correction": 1}),
    "vecdot": [call(real(*x), real(*y)) for x, y in [((5,), (5,)), ((2, 5), (4, 1, 5)), ((3, 0), (0,))]],
    "vecmat": [call(real(*x), real(*y)) for x, y in [((3,), (3, 5)), ((4, 1, 3), (2, 3, 5)), ((0,), (0, 3))]],
    "where": [call(truth(*c), real(*x), real(*y, seed=1)) for c, x, y in [((2, 3), (3,), ()), ((), (2, 1), (3,))]]
    + [call(truth(EDGES.size), EDGES, EDGES[::-1].copy())],
    "zeros": [call((2, 3)), call(()), call((0, 3))],
    "zeros_like": LIKE,
}

COUNTS = np.array([[3, -2, 0], [7, 5, -1]])
COUNTED_ALONE = ["abs", "ceil", "floor", "neg", "relu", "round", "sign", "square", "trunc"]
COUNTED_BESIDE = ["add", "equal", "greater", "greater_equal", "less", "less_equal", "mul", "not_equal", "sub"]
COUNTED_ALONG = ["argmax", "argmin", "max", "min", "prod", "sum"]
COUNTED_IN_ORDER = ["argcummax", "argcummin", "argsort", "cummax", "cummin", "cumprod", "cumsum", "sort"]
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


def converted(one: Any, dtype: Any, differs: Callable[[Any], Any]) -> Any:
    """Return arguments whose floats are of `dtype`, with an ordinary number where torch differs."""
    if isinstance(one, Call):
        return Call(
            converted(one.args, dtype, differs),
            {name: converted(each, dtype, differs) for name, each in one.options.items()},
        )
    if isinstance(one, tuple | list):
        return type(one)(converted(each, dtype, differs) for each in one)
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.where(differs(one), 1.5, one).astype(dtype)
    return one


def replaced(one: Any, made: Callable[..., Any]) -> Any:
    if isinstance(one, dict):
        return {name: replaced(each, made) for name, each in one.items()}
    if isinstance(one, tuple | list):
        return type(one)(replaced(each, made) for each in one)
    return made(one) if isinstance(one, np.ndarray) else one


def direction(y: Any) -> Any:
    """Another number for each element, none of them zero: what the result is differentiated along."""
    return (np.arange(y.size).reshape(y.shape) % 7 + 0.5).astype(y.dtype)
