"""Every op against PyTorch 2.13: values and gradients of the calls of calls.py.

`make oracle` installs torch; without it these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.registry import OPS
from tapegrad.ops import bce_with_logits, tensor
from tapegrad.tensors import Tensor, node
from tests.op_coverage import NAMES
from tests.oracle.calls import CALLS, INTEGERS, Call, converted, direction, op_of, replaced
from tests.oracle.differences import DIFFERENCES, NOT_IN_TORCH, ON_SOME_PROCESSORS, OPTIONS

torch: Any = pytest.importorskip("torch", reason="make oracle installs it")
F: Any = torch.nn.functional

# What PyTorch writes in another way


def by_class(function: Callable[..., Any], **others: Any) -> Callable[..., Any]:
    """Return a loss of torch, whose classes stand on the second axis, rows on the others."""

    def loss(x: Any, target: Any, smoothing: float = 0.0, ignore_index: int = -100, reduction: str = "mean") -> Any:
        options = others | ({"label_smoothing": smoothing} if function is F.cross_entropy else {})
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


def second(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **options: function(*args, **options)[1]


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


def padded(x: Any, pad_width: Any, value: float = 0, mode: str = "constant") -> Any:
    name = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    # PyTorch pads the last axes only, where it repeats elements.
    pairs = pad_width if mode == "constant" else pad_width[2:]
    return F.pad(x, [n for pair in reversed(pairs) for n in pair], name, value)


def parts(x: Any, sections: Any, axis: int = 0) -> Any:
    return torch.split(x, x.shape[axis] // sections if isinstance(sections, int) else list(sections), axis)


def heads_apart(q: Any, k: Any, v: Any, heads: int, kv_heads: Any = None, **options: Any) -> Any:
    groups = kv_heads or heads
    added, mask = options.get("bias"), options.get("mask")
    if added is not None and mask is not None:
        if mask.ndim > 2:
            message = "torch takes one of them, and ours has no axis for the heads"
            raise NotImplementedError(message)
        added = torch.where(mask, added, -torch.inf)
    q, k, v = (x.unflatten(-1, (n, -1)).transpose(-3, -2) for x, n in ((q, heads), (k, groups), (v, groups)))
    together = F.scaled_dot_product_attention(
        q,
        k,
        v,
        mask if added is None else added,
        is_causal=options.get("causal", False),
        enable_gqa=groups != heads,
    )
    return together.transpose(-3, -2).flatten(-2)


def turned(x: Any, offset: int = 0, base: float = 10_000.0) -> Any:
    n, width = x.shape[-2:]
    angles = torch.outer(offset + torch.arange(n), base ** (-torch.arange(0, width, 2).double() / width)).to(x.dtype)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def smoothed(rank: int) -> Callable[..., Any]:
    pool = F.max_pool1d if rank == 1 else F.max_pool2d

    def smooth(x: Any, kernel: Any, *, beta: float = 1.0, stride: Any = None, **options: Any) -> Any:
        counts = pool(x, kernel, stride, **options).shape[x.ndim - rank :] if x.numel() else [1] * rank
        each = (kernel, stride or kernel, options.get("padding", 0), options.get("dilation", 1))
        axes = list(zip(*(n if isinstance(n, tuple) else (n,) * rank for n in each), counts, strict=True))
        beyond = [
            (p, max((m - 1) * s + (k - 1) * d + 1 - p - n, 0))
            for n, (k, s, p, d, m) in zip(x.shape[-rank:], axes, strict=True)
        ]
        x = F.pad(x, [n for pair in reversed(beyond) for n in pair], value=-np.inf * np.sign(beta))
        for axis, (k, s, _, d, _) in enumerate(axes, start=x.ndim - rank):
            x = x.unfold(axis, (k - 1) * d + 1, s)[..., ::d]
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


IN_TORCH = {("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}
BATCH_FIRST = {"batch_first": True}


# Ops whose function in PyTorch has another name, or other arguments.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "adaptive_avg_pool1d": F.adaptive_avg_pool1d,
    "all": over(torch.all),
    "allclose": lambda x, y, **options: torch.isclose(*torch.broadcast_tensors(x, y), **options).all(),
    "any": over(torch.any),
    "argcummax": second(torch.cummax),
    "argcummin": second(torch.cummin),
    "argmax": over_one(torch.argmax),
    "argmin": over_one(torch.argmin),
    "argsort": ordered(torch.argsort),
    "astype": lambda x, dtype: x.to(getattr(torch, dtype.__name__)),
    "at_add": added,
    "at_set": put,
    "bitwise_invert": torch.bitwise_not,
    "batch_norm": lambda x, weight, bias, eps=1e-5: F.batch_norm(
        x, None, None, weight.contiguous(), bias.contiguous(), training=True, eps=eps
    ),
    "avg_pool1d": F.avg_pool1d,
    "bce": F.binary_cross_entropy,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "cholesky": torch.linalg.cholesky,
    "concat": torch.cat,
    "concat_vectors": torch.cat,
    "conv1d": F.conv1d,
    "conv2d": F.conv2d,
    "conv3d": F.conv3d,
    "conv_transpose": F.conv_transpose2d,
    "conv_transpose1d": F.conv_transpose1d,
    "conv_transpose2d": F.conv_transpose2d,
    "conv_transpose3d": F.conv_transpose3d,
    "count_nonzero": lambda x, axis=None: torch.count_nonzero(x, axis),
    "cosine": lambda x, target, reduction="mean": reduced(1 - F.cosine_similarity(x, target, dim=-1), reduction),
    "cross": lambda x, y, axis=-1: torch.linalg.cross(
        *torch.broadcast_tensors(x, y), dim=axis - max(x.ndim, y.ndim) if axis >= 0 else axis
    ),
    "cross_entropy": by_class(F.cross_entropy),
    "cummax": first(torch.cummax),
    "cummin": first(torch.cummin),
    "diagonal": lambda x, offset=0, axis1=0, axis2=1: torch.diagonal(x, offset, axis1, axis2),
    "diff": lambda x, n=1, axis=-1: torch.diff(x, n, axis),
    "diag": lambda x, k=0: torch.diag(x, k),
    "det": torch.linalg.det,
    "divmod": lambda x, y: (constant(torch.floor_divide)(x, y), torch.remainder(x, y)),
    "eigh": lambda x: tuple(map(abs, torch.linalg.eigh((x + x.mT) / 2))),  # so that its gradient is symmetric
    "eigvalsh": lambda x: torch.linalg.eigvalsh((x + x.mT) / 2),  # so that its gradient is symmetric
    "equal": torch.eq,
    "expand_dims": expanded,
    "flip": lambda x, axis=None: torch.flip(x, axes_of(x, axis)),
    "floor_divide": constant(torch.floor_divide),
    "gather": lambda x, indices, axis=0: torch.gather(x, axis, indices % x.shape[axis]),
    "getitem": lambda x, index: x[index],
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "gru": recurrent("GRU"),
    "gru_cell": recurrent("GRUCell"),
    "hardtanh": lambda x, **bounds: F.hardtanh(x, *(bounds[name] for name in ("min", "max") if bounds)),
    "heaviside": lambda x, y: torch.where(x == 0, y, constant(torch.heaviside)(x, y)),
    "group_norm": lambda x, w, b, groups, eps=1e-5: F.group_norm(x, groups, w, b, eps),
    "instance_norm": lambda *args, eps=1e-5: F.instance_norm(args[0], None, None, *args[1:], eps=eps),
    "hinge": lambda x, target, reduction="mean": reduced(torch.relu(1 - target * x), reduction),
    "huber": F.huber_loss,
    "interpolate": lambda x, size, mode="nearest", align_corners=None: F.interpolate(
        x, size, mode=IN_TORCH.get((mode, len(size)), mode), align_corners=align_corners
    ),
    "inv": torch.linalg.inv,
    "layer_norm": lambda x, weight, bias, eps=1e-5: F.layer_norm(x, weight.shape, weight, bias, eps),
    "kl_div": by_row(lambda x, target: F.kl_div(x, target, reduction="none")),
    "ldexp": lambda x, y: x * torch.pow(2.0, torch.as_tensor(y)),
    "less": torch.lt,
    "less_equal": torch.le,
    "linear": lambda x, weight, bias=None: F.linear(x, weight.T, bias),
    "log_sigmoid": F.logsigmoid,
    "logsumexp": over(torch.logsumexp),
    "lstm": recurrent("LSTM"),
    "lstm_cell": recurrent("LSTMCell"),
    "mae": F.l1_loss,
    "matvec": lambda x, y: (x @ y[..., None])[..., 0],
    "matrix_transpose": lambda x: x.mT,
    "max": over(torch.amax),
    "max_pool1d": F.max_pool1d,
    "max_pool2d": F.max_pool2d,
    "mean": over(torch.mean),
    "meshgrid": lambda *tensors, indexing="xy": torch.meshgrid(*tensors, indexing=indexing),
    "min": over(torch.amin),
    "min_pool1d": lambda x, *options, **named: -F.max_pool1d(-x, *options, **named),
    "min_pool2d": lambda x, *options, **named: -F.max_pool2d(-x, *options, **named),
    "modf": lambda x: (torch.frac(x), torch.trunc(x).detach()),
    "mse": F.mse_loss,
    "multi_head_attention": heads_apart,
    "nextafter": constant(torch.nextafter),
    "nonzero": lambda x: torch.nonzero(x, as_tuple=True),
    "norm": lambda x, axis=None, keepdims=False, **power: torch.linalg.vector_norm(
        x, dim=axis, keepdim=keepdims, **power
    ),
    "normalize": normalized,
    "nll": by_class(F.nll_loss),
    "not_equal": torch.ne,
    "one_hot": lambda indices, size: F.one_hot(indices, size).to(torch.float32),
    "pad": padded,
    "prelu": lambda x, weight: F.prelu(x, weight.reshape(-1)),
    "lstsq": lambda x, y: torch.linalg.pinv(x) @ y,  # torch's lstsq takes no stack of vectors, and only full rank
    "pinv": lambda x, rtol=None: torch.linalg.pinv(x, rtol=rtol),
    "prod": multiplied,
    "qr": torch.linalg.qr,
    "repeat": torch.repeat_interleave,
    "rms_norm": lambda x, weight, eps=1e-5: F.rms_norm(x, weight.shape, weight, eps),
    "rotary_embedding": turned,
    "rmse": lambda x, target, reduction="mean": torch.sqrt(F.mse_loss(x, target, reduction=reduction)),
    "rnn": recurrent("RNN"),
    "rnn_cell": recurrent("RNNCell"),
    "safe_log": lambda x, eps=1e-6: torch.log(F.softplus(x) + eps),
    "scale": lambda x, factor: factor * x,
    "scaled_dot_product_attention": lambda q, k, v, causal=False, scale=None, **masks: F.scaled_dot_product_attention(
        q, k, v, *masks.values(), is_causal=causal, scale=scale
    ),
    "scatter": lambda x, indices, updates, axis=0: torch.scatter(x, axis, indices, updates),
    "scatter_reduce": lambda x, indices, updates, axis=0, *, reduction, include_self=True: torch.scatter_reduce(
        x, axis, indices, updates, {"max": "amax", "min": "amin"}.get(reduction, reduction), include_self=include_self
    ),
    "scatter_add": scattered,
    "select": lambda x, index, axis=0: torch.select(x, axis, index),
    "smooth_max_pool1d": smoothed(1),
    "smooth_max_pool2d": smoothed(2),
    "searchsorted": lambda x, values, side="left": torch.searchsorted(x.detach(), values.detach(), side=side),
    "slogdet": lambda x: tuple(torch.linalg.slogdet(x)),
    "smooth_l1": F.smooth_l1_loss,
    "svdvals": torch.linalg.svdvals,
    "svd": lambda x, full_matrices=False: tuple(map(abs, torch.linalg.svd(x, full_matrices=full_matrices))),
    "sort": first(ordered(torch.sort)),
    "solve": torch.linalg.solve,
    "spacing": constant(lambda x: torch.copysign(torch.nextafter(x.abs(), x.abs() + torch.inf) - x.abs(), x)),
    "split": parts,
    "squeeze": lambda x, axis=None: torch.squeeze(x) if axis is None else torch.squeeze(x, axis),
    "std": spread(torch.std),
    "sum": over(torch.sum),
    "take": taken,
    "topk": lambda x, k, axis=-1, largest=True: torch.topk(x, k, axis, largest),
    "tensordot": lambda x, y, axes=2: torch.tensordot(x, y, axes),
    "transpose": lambda x, axes=None: torch.permute(x, tuple(range(x.ndim))[::-1] if axes is None else axes),
    "tri": lambda n, m=None, k=0: torch.tril(torch.ones(n, n if m is None else m), k),
    "tril": lambda x, k=0: torch.tril(x, k),
    "triu": lambda x, k=0: torch.triu(x, k),
    "unfold": lambda x, axis, size, step=1: x.unfold(axis, size, step),
    "unstack": torch.unbind,
    "upsample2d": lambda x, scale, mode="nearest", align_corners=None: F.interpolate(
        x[None] if x.ndim == 3 else x, scale_factor=scale, mode=mode, align_corners=align_corners
    ).reshape((*x.shape[:-2], *(n * s for n, s in zip(x.shape[-2:], (scale, scale), strict=True)))),
    "var": spread(torch.var),
    "unique": constant(torch.unique),
    "vecdot": torch.linalg.vecdot,
    "vecmat": lambda x, y: (x[..., None, :] @ y)[..., 0, :],
}


def function_of(name: str) -> Callable[..., Any]:
    """Return what PyTorch has for an op: the function of that name, or the one in the table."""
    found: Callable[..., Any] = FUNCTIONS.get(name) or getattr(torch, name, None) or getattr(F, name)
    return found


COMPARED = [name for name in NAMES if name not in NOT_IN_TORCH]


@pytest.mark.parametrize("name", COMPARED)
def test_every_op_has_calls_and_a_function_in_torch_or_a_reason(name: str) -> None:
    assert CALLS[name]
    assert callable(function_of(name))


def test_the_tables_name_only_ops() -> None:
    assert {*CALLS, *INTEGERS, *FUNCTIONS, *NOT_IN_TORCH} <= {*NAMES}


@pytest.mark.parametrize("name", sorted({name for name, _ in OPTIONS}))
def test_options_that_are_listed_as_missing_are_missing(name: str) -> None:
    for option in (option for one, option in OPTIONS if one == name):
        assert option not in signature(OPS[name].function).parameters


# What PyTorch calls a parameter, and what the op calls it, or whether it has none.
RENAMED = {
    "input": "x",
    "kernel_size": "kernel",
    "label_smoothing": "smoothing",
    "max_val": "max",
    "min_val": "min",
    "num_groups": "groups",
    "output_size": "size",
    "p": "rate",
    "pad": "pad_width",
    "scale_factor": "scale",
    "dim": "axis",
    "keepdim": "keepdims",
}
WITHOUT_MEANING = {"_stacklevel", "dtype", "out", "reduce", "size_average"}  # deprecated, or `astype` converts
OTHER_FUNCTIONS = {"unfold"}  # of this name in torch.nn.functional; `unfold` is compared with the method of a tensor
LOSSES = {
    "bce": "binary_cross_entropy",
    "bce_with_logits": "binary_cross_entropy_with_logits",
    "huber": "huber_loss",
    "mae": "l1_loss",
    "mse": "mse_loss",
    "nll": "nll_loss",
    "smooth_l1": "smooth_l1_loss",
    "upsample2d": "interpolate",
}


def options_of(name: str) -> set[str]:
    """Return the parameters of the function of `torch.nn.functional` for an op; PyTorch's own in C++ have none."""
    function = None if name in OTHER_FUNCTIONS else getattr(F, LOSSES.get(name, name), None)
    try:
        return {*signature(function).parameters} - {"args", "kwargs"} if function is not None else set()
    except ValueError:
        return set()


@pytest.mark.parametrize("name", [name for name in NAMES if options_of(name)])
def test_every_option_of_torch_is_one_of_the_op_or_has_a_reason(name: str) -> None:
    ours = signature(OPS[name].function).parameters
    listed = {option for one, option in OPTIONS if one == name}

    missing = {one for one in options_of(name) if one not in ours and RENAMED.get(one) not in ours}

    assert missing - WITHOUT_MEANING == listed & options_of(name)


def test_options_of_many_functions_are_compared() -> None:
    assert sum(bool(options_of(name)) for name in NAMES) > 30


def cases() -> list[Any]:
    return [
        pytest.param(name, one, id=f"{name}{one}") for name in COMPARED for one in CALLS[name] + INTEGERS.get(name, [])
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize(("name", "one"), cases())
@pytest.mark.filterwarnings("ignore")  # both warn of edges, in words of their own
def test_values_and_gradients_equal_torch(name: str, one: Call, dtype: Any) -> None:
    compare(name, converted(one, dtype, DIFFERENCES.get(name, (np.zeros_like, ""))[0]))


@pytest.mark.parametrize("name", [name for name in DIFFERENCES if name not in ON_SOME_PROCESSORS])
@pytest.mark.filterwarnings("ignore")
def test_every_listed_difference_exists(name: str) -> None:
    def compare_all() -> None:
        for one, dtype in product(CALLS[name], [np.float64, np.float32]):
            compare(name, converted(one, dtype, np.zeros_like))

    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare_all()


def compare(name: str, one: Call) -> None:
    values, gradients = by_tapegrad(op_of(name), one)
    torchs, expected = by_torch(function_of(name), one)

    for ours, theirs in zip([*values, *gradients], [*torchs, *expected], strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        rtol, atol = (1e-10, 1e-14) if ours.dtype == np.float64 else (2e-5, 1e-6)
        np.testing.assert_allclose(ours, theirs, rtol, atol)


def by_tapegrad(f: Callable[..., Any], one: Call) -> tuple[list[Any], list[Any]]:
    leaves: list[Tensor[Any, Any, Any]] = []

    def made(array: Any) -> Any:
        x: Any = node(array)
        if array.dtype.kind != "f":
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

    def made(array: Any) -> Any:
        x = torch.tensor(array)
        if x.is_floating_point():
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


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_bce_with_logits_of_weighted_positives(reduction: Any) -> None:
    """The weights have no tape, so they are no operands of the calls above."""
    rng = np.random.default_rng(0)
    values, targets, weights = rng.normal(size=(4, 3)) * 5, rng.random((4, 3)), np.array([0.5, 1.0, 20.0])
    x: Any = tensor(values, np.float64)
    y = bce_with_logits(
        x.trace(), tensor(targets, np.float64), pos_weight=tensor(weights, np.float64), reduction=reduction
    )
    theirs = torch.tensor(values, requires_grad=True)

    expected = F.binary_cross_entropy_with_logits(
        theirs, torch.tensor(targets), pos_weight=torch.tensor(weights), reduction=reduction
    )

    expected.sum().backward()
    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-13)
    np.testing.assert_allclose(y.sum().backward()[x].numpy(), theirs.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("options", [{}, {"smoothing": 0.3}, {"ignore_index": 1}], ids=str)
@pytest.mark.parametrize("shape", [(6, 4), (4,), (2, 3, 4)], ids=str)
def test_losses_of_weighted_classes(shape: tuple[int, ...], options: dict[str, Any], reduction: Any) -> None:
    """The weights have no tape either."""
    rng = np.random.default_rng(0)
    values, weights, labels = (
        rng.normal(size=shape) * 5,
        np.array([0.5, 1.0, 20.0, 0.0]),
        rng.integers(0, 3, shape[:-1]),
    )
    calls: list[tuple[str, Any]] = [("cross_entropy", labels)]
    if "smoothing" not in options:
        calls.append(("nll", labels))
    if "ignore_index" not in options:
        calls.append(("cross_entropy", rng.random(shape)))
    for name, target in calls:
        x: Any = tensor(values, np.float64)
        y = op_of(name)(x.trace(), tensor(target), weight=tensor(weights, np.float64), reduction=reduction, **options)
        theirs = torch.tensor(values, requires_grad=True)

        function = F.cross_entropy if name == "cross_entropy" else F.nll_loss
        weighted = by_class(function, weight=torch.tensor(weights))
        expected = weighted(theirs, torch.tensor(target), reduction=reduction, **options)

        expected.sum().backward()
        np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-13)
        np.testing.assert_allclose(y.sum().backward()[x].numpy(), theirs.grad.numpy(), rtol=1e-11, atol=1e-14)
