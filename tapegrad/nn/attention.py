"""Multi-head attention, and grouped-query attention with a cache of keys and values."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.autograd.tape import Merge, NoneTape
from tapegrad.errors import ShapeError
from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.guard.assertions import assert_divides
from tapegrad.nn.linear import Linear
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, HasBias
from tapegrad.ops import concat, multi_head_attention, reshape, rotary_embedding, swapaxes, tensor, zeros
from tapegrad.ops._counting import lower_triangle
from tapegrad.sizes import FloorDiv, Mul
from tapegrad.sizes.arithmetic import Given
from tapegrad.sizes.constraints import check_heads, check_kv_heads, check_rotary_heads
from tapegrad.tensors import T1, T2, T, Tensor
from tapegrad.tensors.aliases import Shape
from tapegrad.tensors.operands import both_on_one_tape

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int, default=Any)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Heads = TypeVar("Heads", bound=int, default=Any, covariant=True)
B = TypeVar("B", bound=int, default=Any)
W = TypeVar("W", bound=int, default=Any)
KVHeads = TypeVar("KVHeads", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")


class MultiHeadAttention(Module, Generic[Width, Heads, DType, HasBias]):
    """Multi-head scaled dot-product attention of rows `x` to the rows `c` of a context.

        y = (h₁ ... h_H) W^o
        h[i] = softmax(x W^q[i] (c W^k[i])ᵀ / √(D / H)) c W^v[i]

    `attention(x, x)` is self-attention.

    Args:
        width: The size D of the last axis.
        heads: The number of heads H, which divides the width.
        bias: Whether the four projections have a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; used in the order below.

    Attributes:
        query: The projection of the rows to queries, `Linear(Width, Width)`.
        key: The projection of the context to keys.
        value: The projection of the context to values.
        out: The projection of the concatenated heads.
        width: The width.
        heads: The number of heads.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.2.2; biases as PyTorch.

    Examples:
        >>> attention = tg.nn.MultiHeadAttention(8, 2, rng=0)
        >>> words = tg.normal((4, 5, 8), rng=0)
        >>> attention(words, words, causal=True).shape
        (4, 5, 8)
        >>> regions = tg.normal((4, 7, 8), rng=0)
        >>> attention(words, regions).shape
        (4, 5, 8)
    """

    width: Width
    heads: Heads
    query: Linear[Width, Width, HasBias, DType]
    key: Linear[Width, Width, HasBias, DType]
    value: Linear[Width, Width, HasBias, DType]
    out: Linear[Width, Width, HasBias, DType]

    @guarded
    def __init__(
        self: MultiHeadAttention[Any, Any],
        width: Given[Width],
        heads: Given[Heads],
        *,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        check_heads(width, heads)
        rng = generator(rng)
        self.width, self.heads = width, heads
        self.query = Linear(width, width, bias=bias, rng=rng)
        self.key = Linear(width, width, bias=bias, rng=rng)
        self.value = Linear(width, width, bias=bias, rng=rng)
        self.out = Linear(width, width, bias=bias, rng=rng)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, N, Width], T1, DType],
        context: Tensor[Shape[*Batch, M, Width], T2, DType],
        *,
        mask: Tensor[Any, Any, np.bool_] | None = None,
        causal: bool = False,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2], DType]:
        """Compute attention of `x`, `(..., N, Width)`, to `context`, `(..., M, Width)`: `(..., N, Width)`.

        The mask is True where a row may attend, and broadcasts to `(..., N, M)`; see `multi_head_attention`.
        """
        assert_divides(self.heads, self.width)
        # Both on one tape, otherwise `key` and `value` would get no gradient for a context without a tape.
        x, context = both_on_one_tape(x, context)
        q, k, v = self.query(x), self.key(context), self.value(context)
        return self.out(multi_head_attention(q, k, v, heads=self.heads, mask=mask, causal=causal))

    @override
    def __repr__(self) -> str:
        return f"MultiHeadAttention({self.width}, {self.heads})"


class KeyValueCache(NamedTuple, Generic[B, M, W, DType]):
    """The keys and values of the rows that an attention layer has seen, for the rows that follow.

    `GroupedQueryAttention.cache` returns an empty one, and `decode` one with more rows. It has a fixed size, so that
    its type does not change from step to step.

    Attributes:
        keys: The keys, `(B, M, W)` for at most M rows.
        values: The values, `(B, M, W)`.
        length: The number of rows that the cache holds.

    Examples:
        >>> attention = tg.nn.GroupedQueryAttention(8, 4, 2, rng=0)
        >>> cache = attention.cache(3, 16)
        >>> cache.keys.shape, cache.length
        ((3, 16, 4), 0)
    """

    keys: Tensor[Shape[B, M, W], NoneTape, DType]
    values: Tensor[Shape[B, M, W], NoneTape, DType]
    length: int


class GroupedQueryAttention(Module, Generic[Width, Heads, KVHeads, DType, HasBias]):
    """Self-attention whose keys and values have fewer heads than the queries, with a cache for generation.

        y = (h₁ ... h_H) W^o
        h[i] = softmax(r(x W^q[i]) r(x W^k[j])ᵀ / √(D / H)) x W^v[j]
        j = ⌊i G / H⌋

    With `rotary`, r is `tapegrad.rotary_embedding` of each head, otherwise it does nothing. A row attends to itself
    and to earlier rows. `decode` continues rows whose keys and values are in a cache.

    Args:
        width: The size D of the last axis.
        heads: The number H of heads of queries, which divides the width.
        kv_heads: The number G of heads of keys and values, which divides H.
        bias: Whether the four projections have a bias.
        rotary: Whether the positions of rows rotate queries and keys; the width of a head is then even.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; used in the order below.

    Attributes:
        query: The projection of the rows to queries, `Linear(Width, Width)`.
        key: The projection of the rows to keys, `Linear(Width, Width // Heads * KVHeads)`.
        value: The projection of the rows to values, as `key`.
        out: The projection of the concatenated heads.
        width: The width.
        heads: The number of heads of queries.
        kv_heads: The number of heads of keys and values.
        rotary: Whether the positions of rows rotate queries and keys.

    Raises:
        ShapeError: A size is below 1, the heads do not divide the width, `kv_heads` does not divide `heads`, or heads
            that `rotary` rotates have an odd width.
        DTypeError: A size is not an int.

    Source:
        Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), §2.2.

    Examples:
        >>> attention = tg.nn.GroupedQueryAttention(8, 4, 2, rotary=True, rng=0)
        >>> words = tg.normal((3, 5, 8), rng=0)
        >>> whole = attention(words)
        >>> cache = attention.cache(3, 16)
        >>> first, cache = attention.decode(words[:, :4], cache)
        >>> last, cache = attention.decode(words[:, 4:], cache)  # computes one row
        >>> tg.allclose(tg.concat([first, last], axis=1), whole, atol=1e-6).item()
        True
    """

    width: Width
    heads: Heads
    kv_heads: KVHeads
    query: Linear[Width, Width, HasBias, DType]
    key: Linear[Width, Mul[FloorDiv[Width, Heads], KVHeads], HasBias, DType]
    value: Linear[Width, Mul[FloorDiv[Width, Heads], KVHeads], HasBias, DType]
    out: Linear[Width, Width, HasBias, DType]

    @guarded
    def __init__(
        self: GroupedQueryAttention[Any, Any, Any],
        width: Given[Width],
        heads: Given[Heads],
        kv_heads: Given[KVHeads],
        *,
        bias: Given[HasBias] = True,
        rotary: bool = False,
        rng: RNG = None,
    ) -> None:
        check_kv_heads(width, heads, kv_heads)
        check_rotary_heads(width, heads, rotary)
        rng = generator(rng)
        self.width, self.heads, self.kv_heads, self.rotary = width, heads, kv_heads, rotary
        self.query = Linear(width, width, bias=bias, rng=rng)
        self.key = Linear(width, width // heads * kv_heads, bias=bias, rng=rng)
        self.value = Linear(width, width // heads * kv_heads, bias=bias, rng=rng)
        self.out = Linear(width, width, bias=bias, rng=rng)

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, N, Width], T, DType], *, mask: Tensor[Any, Any, np.bool_] | None = None
    ) -> Tensor[Shape[*Batch, N, Width], T, DType]:
        """Compute attention of the rows of `x`, `(..., N, Width)`, to themselves and to earlier rows.

        The mask is True where a row may attend, and broadcasts to `(..., N, N)`; see `multi_head_attention`.
        """
        q, k, v = self.query(x), self.key(x), self.value(x)
        if self.rotary:
            q, k = rotated(q, self.heads, 0), rotated(k, self.kv_heads, 0)
        attended: Tensor[Shape[*Batch, N, Width], T, DType] = multi_head_attention(
            q, k, v, heads=self.heads, kv_heads=self.kv_heads, mask=mask, causal=True
        )
        return self.out(attended)

    @guarded
    def cache(self, batch: B, length: M) -> KeyValueCache[B, M, Mul[FloorDiv[Width, Heads], KVHeads], DType]:
        """Return an empty cache for `batch` sequences of at most `length` rows."""
        empty: Tensor[Any, NoneTape, DType] = zeros(
            (batch, length, self.width // self.heads * self.kv_heads), self.key.weight.dtype.type
        )
        return KeyValueCache(empty, empty, 0)

    @guarded
    def decode(
        self,
        x: Tensor[Shape[B, N, Width], NoneTape, DType],
        cache: KeyValueCache[B, M, Mul[FloorDiv[Width, Heads], KVHeads], DType],
    ) -> tuple[
        Tensor[Shape[B, N, Width], NoneTape, DType],
        KeyValueCache[B, M, Mul[FloorDiv[Width, Heads], KVHeads], DType],
    ]:
        """Compute attention of rows `x` that follow those in a cache, and return the cache with these rows, too.

        The result equals those rows of `forward` of all rows at once. The cache that is given does not change, so
        several continuations can start from it.

        Args:
            x: The rows that follow, `(B, N, Width)`, without a tape.
            cache: The keys and values of the rows before them, see `cache`.

        Returns:
            `(B, N, Width)`, and the cache with N rows more.

        Raises:
            ShapeError: N more rows do not fit into the cache, or it was made for another batch or layer.
        """
        start, n, size = cache.length, x.shape[1], cache.keys.shape[1]
        if start + n > size:
            message = f"GroupedQueryAttention.decode: the cache has {start} of {size} rows, so {n} more do not fit"
            raise ShapeError(message)
        q, k, v = self.query(x), self.key(x), self.value(x)
        if self.rotary:
            q, k = rotated(q, self.heads, start), rotated(k, self.kv_heads, start)
        keys, values = _with_rows(cache.keys, k, start), _with_rows(cache.values, v, start)
        seen = tensor(lower_triangle(n, start + n, start))
        attended: Tensor[Shape[B, N, Width], NoneTape, DType] = multi_head_attention(
            q, keys[:, : start + n], values[:, : start + n], heads=self.heads, kv_heads=self.kv_heads, mask=seen
        )
        return self.out(attended), KeyValueCache(keys, values, start + n)

    @override
    def __repr__(self) -> str:
        return f"GroupedQueryAttention({self.width}, {self.heads}, {self.kv_heads})"


def rotated(x: Tensor[Any, T, DType], heads: int, offset: int) -> Tensor[Any, T, DType]:
    """Rotate the columns of each head by the positions of rows, of which the first is `offset`."""
    of_heads = swapaxes(reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads)), -3, -2)
    return reshape(swapaxes(rotary_embedding(of_heads, offset=offset), -3, -2), tuple(x.shape))


def _with_rows(
    cached: Tensor[Any, NoneTape, DType], rows: Tensor[Any, NoneTape, DType], start: int
) -> Tensor[Any, NoneTape, DType]:
    """Replace rows of a cache by as many others, from `start` on."""
    return concat([cached[:, :start], rows, cached[:, start + rows.shape[1] :]], axis=1)
