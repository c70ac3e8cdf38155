"""Attention: every query collects from all values, by how well their keys fit; and where in a row something stands."""

from __future__ import annotations

from math import copysign, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad import messages
from tapegrad.backend import engine
from tapegrad.dims import Dims, Size, UnknownDims, at_least, broadcast, misfit, show, surely_differ, surely_less
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.op import op
from tapegrad.operands import limits, on_one_tape, tensor_only, unwrap, unwrap_all
from tapegrad.ops._broadcast import sum_to_shape
from tapegrad.ops._rescue import rescued
from tapegrad.ops.axes import expand_dims, swapaxes
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.move import reshape
from tapegrad.tape import Tape
from tapegrad.tensor import T1, T2, Float, S, T, Tensor, node, values_of

if TYPE_CHECKING:
    from tapegrad.gradients import Gradients
    from tapegrad.tape import Merge

T3 = TypeVar("T3", bound=Tape, default=Any)


def scaled_dot_product_attention_shape(q: Dims, k: Dims, v: Dims, *, mask: Dims = ()) -> Dims:
    """Return each query a row as wide as the values; the leading axes broadcast, and the mask to all scores."""
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
    _check_mask(mask, (*batch, n, m))
    return (*batch, n, width)


def multi_head_attention_shape(q: Dims, k: Dims, v: Dims, *, heads: Size, mask: Dims = ()) -> Dims:
    """Return each query a row as wide as the values; the heads divide every width."""
    for name, x in {"q": q, "k": k, "v": v}.items():
        width = at_least(2, **{name: x})[-1]
        if surely_less(heads, 1):
            message = f"heads is {heads} but at least 1 is expected"
            raise ShapeError(message)
        if surely_differ(width // heads * heads, width):
            message = f"{name} {show(x)} is {width} wide, which does not divide into {heads} heads"
            doubt = f"{name} {show(x)} is {width} wide, and it is not known that this divides into {heads} heads"
            raise misfit(width // heads * heads, width, message, doubt)
    return scaled_dot_product_attention_shape(q, k, v, mask=mask)


def rotary_embedding_shape(x: Dims) -> Dims:
    """Keep the shape, whose last size is even."""
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
    causal: bool = False,
    scale: float | None = None,
) -> Tensor[Any, Merge[T1, Merge[T2, T3]], Float]:
    r"""Average the rows of `v` for each query, weighted by how well it fits their keys.

    $$y = p \, v, \quad p = \mathrm{softmax}(s \, q k^T), \quad dv = p^T dy, \quad
    dz = p \, \big( dy \, v^T - \sum_e y_e \, dy_e \big), \quad dq = s \, dz \, k, \quad dk = s \, dz^T q$$

    Args:
        q: Queries, `(..., N, E)`, a float dtype; finite operands give finite averages.
        k: Keys, `(..., M, E)`. The leading axes of all three broadcast.
        v: Values, `(..., M, V)`.
        mask: True where a query may look, bool; broadcasts to `(..., N, M)`. None for everywhere. A query that may look
            nowhere gets zeros.
        causal: Whether query i may look only at the keys 0 to i; as well as the mask allows.
        scale: What the products are multiplied by, s; None for $1 / \sqrt{E}$.

    Returns:
        `(..., N, V)`, in the units of `v`.

    Raises:
        ShapeError: Queries and keys differ in width, keys and values in number; an operand has no rows; the leading
            axes do not broadcast, or the mask does not to `(..., N, M)`.
        DTypeError: The dtypes differ, are not float, or that of the mask is not bool.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), eq. 1.
    """
    _check_operands(q, k, v, mask)
    if mask is not None or min(q.ndim, k.ndim, v.ndim) < 2:  # NumPy itself refuses all else
        scaled_dot_product_attention_shape(q.shape, k.shape, v.shape, mask=() if mask is None else mask.shape)
    (q, k, v), tape = unwrap_all((q, k, v), "operands")
    scale = 1 / sqrt(max(q.shape[-1], 1)) if scale is None else scale
    weights = node(_weights(q.data, k.data, _visible(mask, q, k, causal=causal), scale))
    out = node(weights.data @ v.data)

    def backward(grads: Gradients) -> None:
        dy, p = grads.pop_output(out), weights.data
        if grads.wants(v):
            grads.add(v, sum_to_shape(_swapped(p) @ dy, v.data))
        if not (grads.wants(q) or grads.wants(k)):
            return
        # The sum over all keys of p times its slope is that of y times dy, which is only as long as a value is wide.
        along = dy * out.data
        dz = p * (dy @ _swapped(v.data) - engine(along).sum(along, -1, keepdims=True))
        if grads.wants(q):
            grads.add(q, sum_to_shape(dz @ k.data * scale, q.data))
        if grads.wants(k):
            grads.add(k, sum_to_shape(_swapped(dz) @ q.data * scale, k.data))

    return tape.record(out, (q, k, v), backward)


@op(multi_head_attention_shape)
def multi_head_attention(
    q: Tensor[Any, T1, Float],
    k: Tensor[Any, T2, Float],
    v: Tensor[Any, T3, Float],
    *,
    heads: int,
    mask: Tensor[Any, Any, np.bool_] | None = None,
    causal: bool = False,
) -> Tensor[Any, Merge[T1, Merge[T2, T3]], Float]:
    r"""Cut every row into heads, lets each head attend for itself, and join what they give.

    $$y = (h_1 \dots h_H), \quad h_i = \mathrm{softmax}\Big(\frac{q_i k_i^T}{\sqrt{E / H}}\Big) \, v_i$$

    Args:
        q: Queries, `(..., N, E)`, a float dtype.
        k: Keys, `(..., M, E)`. The leading axes of all three broadcast.
        v: Values, `(..., M, V)`.
        heads: How many heads H there are; they divide E and V.
        mask: True where a query may look, the same for each head, see `scaled_dot_product_attention`; broadcasts to
            `(..., N, M)`.
        causal: Whether query i may look only at the keys 0 to i.

    Returns:
        `(..., N, V)`, in the units of `v`.

    Raises:
        ShapeError: The heads do not divide a width, or the operands do not fit, see `scaled_dot_product_attention`.
        DTypeError: The dtypes differ, are not float, or that of the mask is not bool.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.2.2. The projections are the
        layer's, `tapegrad.nn.MultiHeadAttention`.
    """
    _check_operands(q, k, v, mask)
    multi_head_attention_shape(q.shape, k.shape, v.shape, heads=heads, mask=() if mask is None else mask.shape)
    on_tape = on_one_tape(q, k, v)
    of_heads = expand_dims(mask, -3) if mask is not None and mask.ndim > 1 else mask
    attended = scaled_dot_product_attention(*(_divided(x, heads) for x in on_tape), mask=of_heads, causal=causal)
    joined = swapaxes(attended, -3, -2)  # (..., N, H, V / H)
    return reshape(joined, (*joined.shape[:-2], v.shape[-1]))


@op(rotary_embedding_shape, memory_bound=True)
def rotary_embedding(x: Tensor[S, T, Float], *, offset: int = 0, base: float = 10_000.0) -> Tensor[S, T, Float]:
    r"""Turn pairs of columns by angles that grow with the row, so that products of rows see their distance only.

    $$\begin{split} y_{n,2i} &= x_{n,2i} \cos \theta_{ni} - x_{n,2i+1} \sin \theta_{ni} \\
    y_{n,2i+1} &= x_{n,2i} \sin \theta_{ni} + x_{n,2i+1} \cos \theta_{ni} \end{split} \qquad
    \theta_{ni} = (n + o) \, b^{-2i/E}$$

    Args:
        x: Queries or keys, `(..., N, E)` with E even, a float dtype.
        offset: The position o of the first row, such as how many came before it.
        base: What the angles get smaller by from the first pair to the last, b, above 0.

    Returns:
        `(..., N, E)`, each pair as long as it was.

    Raises:
        ShapeError: E is odd, or there are no rows.
        DTypeError: `x` is not a float.
        ValueError: `base` is not above 0.

    Source:
        Su et al., [RoFormer](https://arxiv.org/abs/2104.09864), eq. 34: neighbours are a pair.
    """
    x, tape = unwrap(x)
    float_only(x)
    rotary_embedding_shape(x.shape)
    if not base > 0:
        message = f"rotary_embedding: base is {base} but must be above 0"
        raise ValueError(message)
    *_, n, width = x.shape
    angles = np.outer(np.arange(n) + offset, base ** (-np.arange(0, width, 2) / max(width, 1)))
    cosine, sine = (np.asarray(table, x.dtype) for table in (np.cos(angles), np.sin(angles)))
    out = node(_turned(x.data, cosine, sine))

    def backward(grads: Gradients) -> None:
        grads.add(x, _turned(grads.pop_output(out), cosine, -sine))

    return tape.record(out, (x,), backward)


def _weights(q: Any, k: Any, visible: Any, scale: float) -> Any:
    """Compute how much each query takes of each value; rows add up to 1, or to 0 where nothing is visible."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _hidden((q * scale) @ _swapped(k), visible)
        if 0 in scores.shape:
            return scores
        weights = engine(scores).softmax(scores, -1)
        # A row is NaN in its every place if its peak is infinite: hidden everywhere, or a product that overflowed.
        is_whole = np.isfinite(values_of(weights)[..., 0])
        (rescued_weights,) = rescued(is_whole, (weights,), lambda: (_weights_in_units(q, k, visible, scale),))
        return rescued_weights


def _weights_in_units(q: Any, k: Any, visible: Any, scale: float) -> Any:
    """Compute the same in units of the largest elements, of which no product overflows as 1e20 times 1e20 does."""
    rows, columns = _unit(q, -1), _unit(k, (-2, -1))
    scores = _hidden((q / rows * copysign(1, scale)) @ _swapped(k / columns), visible)
    # The shift cancels, so no gradient of it is lost by reading it off the numbers.
    peak = values_of(scores).max(-1, keepdims=True)
    factor = np.minimum(np.float64(abs(scale)) * rows * columns, limits(rows.dtype).max).astype(rows.dtype)
    shifted = _hidden((scores - np.where(np.isneginf(peak), 0, peak)) * factor, visible)
    powers = engine(shifted).exp(shifted)
    total = engine(powers).sum(powers, -1, keepdims=True)
    return powers / engine(total).where(engine(total).equal(total, 0), 1, total)


def _hidden(scores: Any, visible: Any) -> Any:
    return scores if visible is None else engine(scores).where(visible, scores, -np.inf)


def _unit(x: Any, axis: int | tuple[int, ...]) -> Any:
    return np.maximum(np.abs(values_of(x)).max(axis, keepdims=True), 1)


def _visible(mask: Any, q: Tensor[Any, Any, Any], k: Tensor[Any, Any, Any], *, causal: bool) -> Any:
    """Return where the queries may look, or None for everywhere."""
    below = np.tri(q.shape[-2], k.shape[-2], dtype=np.bool_) if causal else None
    if mask is None or below is None:
        return below if mask is None else mask.data
    return mask.data & below


def _turned(x: Any, cosine: Any, sine: Any) -> Any:
    primitives = engine(x)
    pairs = (*x.shape[:-1], x.shape[-1] // 2, 1)
    even, odd = (primitives.getitem(x, (..., slice(start, None, 2))) for start in range(2))
    turned = [(even * cosine - odd * sine).reshape(pairs), (even * sine + odd * cosine).reshape(pairs)]
    return primitives.concat(turned, -1).reshape(x.shape)


def _divided(x: Tensor[Any, T, Float], heads: int) -> Tensor[Any, T, Float]:
    """Move the heads in front of the rows: `(..., N, E)` becomes `(..., H, N, E / H)`."""
    *batch, n, width = x.shape
    return swapaxes(reshape(x, (*batch, n, heads, width // heads)), -3, -2)


def _swapped(x: Any) -> Any:
    return engine(x).swap_last_axes(x)


def _check_mask(mask: Dims, scores: Dims) -> None:
    if isinstance(mask, UnknownDims):
        return  # and whatever it is, it changes no size
    behind = scores[len(scores) - len(mask) :] if len(mask) <= len(scores) else None
    if behind is None or any(surely_differ(n, 1) and surely_differ(n, m) for n, m in zip(mask, behind, strict=True)):
        message = f"mask {show(mask)} does not broadcast to the scores, {show(scores)}"
        raise ShapeError(message)


def _check_operands(
    q: Tensor[Any, Any, Any], k: Tensor[Any, Any, Any], v: Tensor[Any, Any, Any], mask: Tensor[Any, Any, Any] | None
) -> None:
    tensor_only(q, "q")
    for name, other in {"k": k, "v": v}.items():
        tensor_only(other, name)
        if q.dtype != other.dtype:
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, str(q.dtype), "q", str(other.dtype), name))
    if not q.is_float:
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "q", str(q.dtype), "floating"))
    if mask is not None:
        tensor_only(mask, "mask")
        if mask.dtype != np.bool_:
            raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "mask", str(mask.dtype), "bool"))
