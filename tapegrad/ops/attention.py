"""Scaled dot-product attention, multi-head attention and rotary position embedding."""

from __future__ import annotations

from math import copysign, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad.autograd.op import op
from tapegrad.autograd.tape import Tape
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.options import check_number, check_whole
from tapegrad.errors.ranges import check_options
from tapegrad.ops._broadcast import sum_to_shape
from tapegrad.ops._counting import lower_triangle, positions
from tapegrad.ops._fallback import count_of, is_traced, traced_unit_of, unit_of, with_fallback
from tapegrad.ops.axes import expand_dims, swapaxes
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.move import reshape
from tapegrad.ops.softmax import softmax_of
from tapegrad.sizes import Dims, Size, UnknownDims, at_least, broadcast, misfit, show, surely_differ, surely_less
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node, values_of
from tapegrad.tensors.operands import limits, on_one_tape, tensor_only, unwrap, unwrap_all

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge

T3 = TypeVar("T3", bound=Tape, default=Any)
T4 = TypeVar("T4", bound=Tape, default=Any)


def scaled_dot_product_attention_shape(q: Dims, k: Dims, v: Dims, *, mask: Dims = (), bias: Dims = ()) -> Dims:
    """Return `(..., N, V)`; the leading axes broadcast, and mask and bias broadcast to the scores, `(..., N, M)`."""
    *_, n, e = at_least(2, q=q)
    *_, m, e_k = at_least(2, k=k)
    *_, m_v, width = at_least(2, v=v)
    if surely_differ(e, e_k):
        message = f"q {show(q)} is {e} wide but k {show(k)} is {e_k}"
        raise ShapeError(message)
    if surely_differ(m, m_v):
        message = f"k {show(k)} has {m} rows but v {show(v)} has {m_v}"
        raise ShapeError(message)
    batch = broadcast(2, q=q, k=k, v=v)
    _check_scores("mask", mask, (*batch, n, m))
    _check_scores("bias", bias, (*batch, n, m))
    return (*batch, n, width)


def multi_head_attention_shape(
    q: Dims, k: Dims, v: Dims, *, heads: Size, kv_heads: Size | None = None, mask: Dims = (), bias: Dims = ()
) -> Dims:
    """Return `(..., N, V)`; the number of heads divides every width, and that of key heads the number of heads."""
    for name, x in {"q": q, "k": k, "v": v}.items():
        width = at_least(2, **{name: x})[-1]
        count = heads if kv_heads is None or name == "q" else kv_heads
        if surely_less(count, 1):
            message = f"{'heads' if count is heads else 'kv_heads'} is {count} but at least 1 is expected"
            raise ShapeError(message)
        if surely_differ(width // count * count, width):
            message = f"{name} {show(x)} is {width} wide, which does not divide into {count} heads"
            doubt = f"{name} {show(x)} is {width} wide, and it is not known that this divides into {count} heads"
            raise misfit(width // count * count, width, message, doubt)
    if kv_heads is None:
        sizes = scaled_dot_product_attention_shape(q, k, v, mask=mask)
        _check_scores("bias", bias, (*sizes[:-2], heads, sizes[-2], k[-2]))
        return sizes
    if surely_differ(heads // kv_heads * kv_heads, heads):
        message = f"heads is {heads}, which does not divide into {kv_heads} groups"
        doubt = f"heads is {heads}, and it is not known that this divides into {kv_heads} groups"
        raise misfit(heads // kv_heads * kv_heads, heads, message, doubt)
    if surely_differ(q[-1] // heads, k[-1] // kv_heads):
        message = f"heads of q {show(q)} are {q[-1] // heads} wide but those of k {show(k)} are {k[-1] // kv_heads}"
        raise ShapeError(message)
    *batch, n, width = scaled_dot_product_attention_shape((*q[:-1], k[-1]), k, v, mask=mask)
    _check_scores("bias", bias, (*batch, heads, n, k[-2]))
    return (*batch, n, width // kv_heads * heads)


def rotary_embedding_shape(x: Dims) -> Dims:
    """Return the shape of `x`, whose last size is even."""
    *_, width = at_least(2, x=x)
    if surely_differ(width // 2 * 2, width):
        message = f"x {show(x)} is {width} wide, which does not divide into pairs"
        doubt = f"x {show(x)} is {width} wide, and it is not known that this divides into pairs"
        raise misfit(width // 2 * 2, width, message, doubt)
    return x


@op(scaled_dot_product_attention_shape)
def scaled_dot_product_attention(
    q: Tensor[Any, T1, Float],
    k: Tensor[Any, T2, Float],
    v: Tensor[Any, T3, Float],
    *,
    mask: Tensor[Any, Any, np.bool_] | None = None,
    bias: Tensor[Any, T4, Float] | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor[Any, Merge[T1, Merge[T2, Merge[T3, T4]]], Float]:
    """Compute scaled dot-product attention: average the values for each query, weighted by the softmax of the scores.

        y = p v
        p = softmax(s q kᵀ + b)
        dv = pᵀ dy
        dz = p (dy vᵀ - ∑_e y[e] dy[e])
        dq = s dz k
        dk = s dzᵀ q
        db = dz

    Args:
        q: Queries, `(..., N, E)`, a float dtype; finite operands give finite results.
        k: Keys, `(..., M, E)`. The leading axes of all three broadcast.
        v: Values, `(..., M, V)`.
        mask: True where a query may attend to a key, bool; broadcasts to `(..., N, M)`. None for everywhere. A query
            that may attend to no key gets zeros.
        bias: Numbers b that are added to the scores, such as those of relative positions, of the dtype of `q`;
            broadcasts to `(..., N, M)`. An infinite negative one hides a key. None for 0.
        causal: Whether query i may attend only to keys 0 to i, of those that the mask allows.
        scale: The factor s of the products; None for `1/√E`.

    Returns:
        `(..., N, V)`, in the units of `v`.

    Raises:
        ShapeError: Queries and keys differ in width, or keys and values in number; an operand has fewer than two axes;
            the leading axes do not broadcast, or the mask or the bias does not broadcast to `(..., N, M)`.
        DTypeError: The dtypes differ or are not float, or the mask is not bool.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), eq. 1. Masks and biases are
        both `attn_mask` in PyTorch 2.13.

    Examples:
        >>> q, k = tg.tensor([[100.0, 0.0], [0.0, 0.0]]), tg.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> v = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.scaled_dot_product_attention(q, k, v).tolist()
        [[1.0, 2.0, 3.0], [2.5, 3.5, 4.5]]
        >>> tg.scaled_dot_product_attention(q, k, v, mask=tg.tensor([False, True])).tolist()
        [[4.0, 5.0, 6.0], [4.0, 5.0, 6.0]]
        >>> bias = tg.tensor([[0.0, 0.0], [0.0, -1e9]])
        >>> tg.scaled_dot_product_attention(q, k, v, bias=bias).tolist()
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    _check_operands(q, k, v, mask, bias)
    if scale is not None:
        check_number("scaled_dot_product_attention", "scale", scale)
    if mask is not None or bias is not None or min(q.ndim, k.ndim, v.ndim) < 2:  # NumPy raises in all other cases
        given = {name: x.shape for name, x in (("mask", mask), ("bias", bias)) if x is not None}
        scaled_dot_product_attention_shape(q.shape, k.shape, v.shape, **given)
    (q, k, v, *others), tape = unwrap_all((q, k, v, *([] if bias is None else [bias])), "operands")
    scale = 1 / sqrt(max(q.shape[-1], 1)) if scale is None else scale
    added = others[0].data if others else None
    visible = _visible(mask, q, k, causal=causal)
    weights = node(_weights(q.data, k.data, added, visible, scale, may_hide_all=mask is not None))
    out = node(weights.data @ v.data)

    def backward(grads: Gradients) -> None:
        dy, p = grads.pop_output(out), weights.data
        if grads.wants(v):
            grads.add(v, sum_to_shape(_swapped(p) @ dy, v.data))
        if not (grads.wants(q) or grads.wants(k) or any(map(grads.wants, others))):
            return
        # The sum of p * dp over all keys equals the sum of y * dy over the columns of a value.
        along = dy * out.data
        dz = p * (dy @ _swapped(v.data) - engine(along).sum(along, -1, keepdims=True))
        if grads.wants(q):
            grads.add(q, sum_to_shape(dz @ k.data * scale, q.data))
        if grads.wants(k):
            grads.add(k, sum_to_shape(_swapped(dz) @ q.data * scale, k.data))
        for b in filter(grads.wants, others):
            grads.add(b, sum_to_shape(dz, b.data))

    recorded: Tensor[Any, Merge[T1, Merge[T2, Merge[T3, T4]]], Float] = tape.record(out, (q, k, v, *others), backward)
    return recorded


@op(multi_head_attention_shape)
def multi_head_attention(
    q: Tensor[Any, T1, Float],
    k: Tensor[Any, T2, Float],
    v: Tensor[Any, T3, Float],
    *,
    heads: int,
    kv_heads: int | None = None,
    mask: Tensor[Any, Any, np.bool_] | None = None,
    bias: Tensor[Any, T4, Float] | None = None,
    causal: bool = False,
) -> Tensor[Any, Merge[T1, Merge[T2, Merge[T3, T4]]], Float]:
    """Compute multi-head attention: split rows into heads, attend in each head, and concatenate the results.

        y = (h₁ ... h_H)
        h[i] = softmax(q[i] k[i]ᵀ / √(E / H)) v[i]

    With `kv_heads` it is grouped-query attention: keys and values have fewer heads, and each of these serves
    as many adjacent heads of queries, so `k[j]` and `v[j]` with `j = ⌊i G / H⌋` stand for `k[i]` and `v[i]`.

    Args:
        q: Queries, `(..., N, E)`, a float dtype.
        k: Keys, `(..., M, E)`, or `(..., M, E / H * G)`. The leading axes of all three broadcast.
        v: Values, `(..., M, V)`, or `(..., M, V / H * G)`.
        heads: The number of heads H, which divides E and V.
        kv_heads: The number of heads G of keys and values, which divides H; None for H.
        mask: True where a query may attend to a key, the same for each head, see `scaled_dot_product_attention`;
            broadcasts to `(..., N, M)`.
        bias: Numbers that are added to the scores, of the dtype of `q`, with an axis for the heads: broadcasts to
            `(..., H, N, M)`. None for 0.
        causal: Whether query i may attend only to keys 0 to i.

    Returns:
        `(..., N, V)`, in the units of `v`.

    Raises:
        ShapeError: `heads` or `kv_heads` does not divide a width, `kv_heads` does not divide `heads`, the heads of
            queries and keys differ in width, or the shapes do not match, see `scaled_dot_product_attention`.
        DTypeError: The dtypes differ or are not float, or the mask is not bool.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.2.2. The projections are part
        of the layer, `tapegrad.nn.MultiHeadAttention`. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), §2.2,
        for `kv_heads`.

    Examples:
        >>> x = tg.normal((2, 5, 8), rng=0)  # 2 sequences of 5 tokens
        >>> tg.multi_head_attention(x, x, x, heads=4, causal=True).shape
        (2, 5, 8)
        >>> memory = tg.normal((2, 7, 8), rng=1)
        >>> tg.multi_head_attention(x, memory, memory, heads=4).shape
        (2, 5, 8)
        >>> shared = memory[:, :, :4]  # 2 heads of 2 columns, each for 2 heads of x
        >>> tg.multi_head_attention(x, shared, shared, heads=4, kv_heads=2).shape
        (2, 5, 8)
    """
    _check_operands(q, k, v, mask, bias)
    given = {name: x.shape for name, x in (("mask", mask), ("bias", bias)) if x is not None}
    multi_head_attention_shape(q.shape, k.shape, v.shape, heads=heads, kv_heads=kv_heads, **given)
    of_heads = expand_dims(mask, -3) if mask is not None and mask.ndim > 1 else mask
    groups = heads if kv_heads is None else kv_heads
    q, k, v, *others = on_one_tape(q, k, v, *([] if bias is None else [bias]))
    queries, keys, values = (_divided(x, count) for x, count in zip((q, k, v), (heads, groups, groups), strict=True))
    added: Any = others[0] if others else None
    attended: Any
    if groups == heads:
        attended = scaled_dot_product_attention(queries, keys, values, mask=of_heads, bias=added, causal=causal)
    else:
        # (..., G, H / G, N, E / H) beside (..., G, 1, M, E / H): the keys broadcast over the heads of their group.
        *batch, _, n, width = queries.shape
        grouped = reshape(queries, (*batch, groups, heads // groups, n, width))
        of_groups = expand_dims(of_heads, -3) if of_heads is not None and of_heads.ndim > 2 else of_heads
        if added is not None and added.ndim > 2:
            *more, h, rows, columns = added.shape
            parts = (groups, heads // groups) if h == heads else (1, 1)
            added = reshape(added, (*more, *parts, rows, columns))
        together = scaled_dot_product_attention(
            grouped, expand_dims(keys, -3), expand_dims(values, -3), mask=of_groups, bias=added, causal=causal
        )
        attended = reshape(together, (*together.shape[:-4], heads, n, together.shape[-1]))
    joined = swapaxes(attended, -3, -2)  # (..., N, H, V / H)
    return reshape(joined, (*joined.shape[:-2], heads * joined.shape[-1]))


@op(rotary_embedding_shape, memory_bound=True)
def rotary_embedding(x: Tensor[S, T, Float], *, offset: int = 0, base: float = 10_000.0) -> Tensor[S, T, Float]:
    """Apply rotary position embedding (RoPE): rotate pairs of columns by angles that grow with the row.

        y[n, 2 i] = x[n, 2 i] cos θ[n,i] - x[n, 2 i + 1] sin θ[n,i]
        y[n, 2 i + 1] = x[n, 2 i] sin θ[n,i] + x[n, 2 i + 1] cos θ[n,i]
        θ[n,i] = (n + o) b^(-2 i / E)

    The dot product of two rotated rows depends on their positions only through the difference.

    Args:
        x: Queries or keys, `(..., N, E)` with E even, a float dtype.
        offset: The position o of the first row, for example the number of rows before it.
        base: The base b of the angles, above 0; the larger it is, the smaller the angles of the later pairs.

    Returns:
        `(..., N, E)`; the length of each pair does not change.

    Raises:
        ShapeError: E is odd, or `x` has fewer than two axes.
        DTypeError: `x` is not a float.
        ValueError: `base` is not above 0.

    Source:
        Su et al., [RoFormer](https://arxiv.org/abs/2104.09864), eq. 34: neighbouring columns form a pair.

    Examples:
        >>> q = tg.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])  # 3 positions, 1 pair
        >>> np.round(tg.rotary_embedding(q).numpy().astype(float), 3).tolist()
        [[1.0, 0.0], [0.54, 0.841], [-0.416, 0.909]]
        >>> np.round(tg.rotary_embedding(q[:1], offset=2).numpy().astype(float), 3).tolist()
        [[-0.416, 0.909]]
    """
    x, tape = unwrap(x)
    float_only(x)
    rotary_embedding_shape(x.shape)
    check_options("rotary_embedding", base=base)
    check_whole("rotary_embedding", "offset", offset)
    *_, n, width = x.shape
    angles = (positions(n) + offset).reshape((-1, 1)) * base ** (-np.arange(0, width, 2) / max(width, 1))
    cosine, sine = (table.astype(x.dtype) for table in (np.cos(angles), np.sin(angles)))
    out = node(_rotated(x.data, cosine, sine))

    def backward(grads: Gradients) -> None:
        grads.add(x, _rotated(grads.pop_output(out), cosine, -sine))

    return tape.record(out, (x,), backward)


def _weights(q: Any, k: Any, bias: Any, visible: Any, scale: float, *, may_hide_all: bool) -> Any:
    """Compute the attention weights; each row sums to 1, or to 0 if every key is masked."""
    if is_traced(q) or is_traced(k):
        return _traced_weights(q, k, bias, visible, scale, may_hide_all=may_hide_all or bias is not None)
    with np.errstate(over="ignore", invalid="ignore"):
        products = (q * scale) @ _swapped(k)
        scores = _hidden(products if bias is None else products + bias, visible)
        if 0 in scores.shape:
            return scores
        weights = engine(scores).rowwise(softmax_of, scores, axis=-1)
        # All of a row is NaN if its maximum is infinite: every key is masked, or a product overflowed.
        is_whole = np.isfinite(values_of(weights)[..., 0])
        (weights,) = with_fallback(is_whole, (weights,), lambda: (_weights_in_units(q, k, bias, visible, scale),))
        return weights


def _traced_weights(q: Any, k: Any, bias: Any, visible: Any, scale: float, *, may_hide_all: bool) -> Any:
    """Compute the weights in units in which no product overflows, and which are 1 for numbers that are not large."""
    unit: Any = 1
    if 0 in (*q.shape, *k.shape):  # nothing is large
        products = (q * scale) @ _swapped(k)
        if 0 in products.shape:
            return products
    else:
        most = sqrt(float(limits(q.dtype).max) / (count_of(q.shape[-1:]) * max(abs(scale), 1)))
        rows, columns = traced_unit_of(q, -1, most), traced_unit_of(k, (-2, -1), most)
        products = (q / rows * scale) @ _swapped(k / columns)
        unit = np.minimum(rows * columns, limits(q.dtype).max)  # infinite where the product overflows
    if bias is not None:
        products = products + bias / unit
    scores = _hidden(products, visible)
    peak = _peak(scores, may_hide_all=may_hide_all)
    return _normalized((scores - peak) * unit, may_hide_all=may_hide_all)


def _weights_in_units(q: Any, k: Any, bias: Any, visible: Any, scale: float) -> Any:
    """Compute the weights in units of the largest elements, so that products such as 1e20 * 1e20 do not overflow."""
    rows, columns = unit_of(q, -1), unit_of(k, (-2, -1))
    products = (q / rows * copysign(1, scale)) @ _swapped(k / columns)
    unit = np.float64(abs(scale)) * rows * columns
    factor = np.minimum(unit, limits(products.dtype).max).astype(products.dtype)
    if bias is not None:
        products = products + bias / np.maximum(factor, limits(products.dtype).tiny)
    scores = _hidden(products, visible)
    shifted = (scores - _peak(scores, may_hide_all=True)) * factor
    return _normalized(_hidden(shifted, visible), may_hide_all=True)  # again, because the factor may be 0


def _peak(scores: Any, *, may_hide_all: bool) -> Any:
    """Return the largest score of each row. It cancels, so it needs no gradient and is computed from plain values."""
    peak = values_of(scores).max(-1, keepdims=True)
    return np.where(np.isneginf(peak), 0, peak) if may_hide_all else peak


def _normalized(shifted: Any, *, may_hide_all: bool) -> Any:
    """Compute the softmax of scores below 0; a row whose keys are all masked is 0."""
    powers = engine(shifted).exp(shifted)
    total = engine(powers).sum(powers, -1, keepdims=True)
    return powers / (engine(total).where(engine(total).equal(total, 0), 1, total) if may_hide_all else total)


def _hidden(scores: Any, visible: Any) -> Any:
    return scores if visible is None else engine(scores).where(visible, scores, -np.inf)


def _visible(mask: Any, q: Tensor[Any, Any, Any], k: Tensor[Any, Any, Any], *, causal: bool) -> Any:
    """Return the mask of where queries may attend, or None for everywhere."""
    below = lower_triangle(q.shape[-2], k.shape[-2]) if causal else None
    if mask is None or below is None:
        return below if mask is None else mask.data
    return mask.data & below


def _rotated(x: Any, cosine: Any, sine: Any) -> Any:
    primitives = engine(x)
    pairs = (*x.shape[:-1], x.shape[-1] // 2, 1)
    even, odd = (primitives.getitem(x, (..., slice(start, None, 2))) for start in range(2))
    rotated = [(even * cosine - odd * sine).reshape(pairs), (even * sine + odd * cosine).reshape(pairs)]
    return primitives.concat(rotated, -1).reshape(x.shape)


def _divided(x: Tensor[Any, T, Float], heads: int) -> Tensor[Any, T, Float]:
    """Split columns into heads and move the heads before the rows: `(..., N, E)` becomes `(..., H, N, E / H)`."""
    *batch, n, width = x.shape
    return swapaxes(reshape(x, (*batch, n, heads, width // heads)), -3, -2)


def _swapped(x: Any) -> Any:
    return engine(x).swap_last_axes(x)


def _check_scores(name: str, x: Dims, scores: Dims) -> None:
    """Reject a mask or a bias that does not broadcast to the scores."""
    if isinstance(x, UnknownDims):
        return  # it does not change the result's shape
    aligned = scores[len(scores) - len(x) :] if len(x) <= len(scores) else None
    if aligned is None or any(surely_differ(n, 1) and surely_differ(n, m) for n, m in zip(x, aligned, strict=True)):
        message = f"{name} {show(x)} does not broadcast to the scores, {show(scores)}"
        raise ShapeError(message)


def _check_operands(
    q: Tensor[Any, Any, Any],
    k: Tensor[Any, Any, Any],
    v: Tensor[Any, Any, Any],
    mask: Tensor[Any, Any, Any] | None,
    bias: Tensor[Any, Any, Any] | None,
) -> None:
    tensor_only(q, "q")
    for name, other in {"k": k, "v": v, **({} if bias is None else {"bias": bias})}.items():
        tensor_only(other, name)
        if q.dtype != other.dtype:
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, str(q.dtype), "q", str(other.dtype), name))
    if not q.is_float:
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "q", str(q.dtype), "floating"))
    if mask is not None:
        tensor_only(mask, "mask")
        if mask.dtype != np.bool_:
            raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "mask", str(mask.dtype), "bool"))
