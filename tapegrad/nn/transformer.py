"""Transformers: blocks of attention and of two linear layers, and stacks of them."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.attention import MultiHeadAttention
from tapegrad.nn.dropout import Dropout
from tapegrad.nn.linear import Linear
from tapegrad.nn.module import Module
from tapegrad.nn.norm import LayerNorm
from tapegrad.nn.residual import Repeated
from tapegrad.operands import both_on_one_tape
from tapegrad.ops import relu
from tapegrad.shapes import Shape
from tapegrad.tape import Merge
from tapegrad.tensor import T1, T2, T, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Heads = TypeVar("Heads", bound=int, default=Any, covariant=True)
Hidden = TypeVar("Hidden", bound=int, default=Any, covariant=True)
Encoders = TypeVar("Encoders", bound=int, default=Any, covariant=True)
Decoders = TypeVar("Decoders", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")


class FeedForward(Module, Generic[Width, Hidden]):
    r"""Makes of each row another, by itself: $y = \max(x W_1 + b_1, 0) \, W_2 + b_2$.

    Args:
        width: The size of the last axis.
        hidden: How many numbers stand between the two linear layers.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        rise: `Linear(Width, Hidden)`.
        fall: `Linear(Hidden, Width)`.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), eq. 2.
    """

    rise: Linear[Width, Hidden]
    fall: Linear[Hidden, Width]

    @guarded
    def __init__(self: FeedForward[Any, Any], width: Width, hidden: Hidden, *, rng: RNG = None) -> None:
        rng = generator(rng)
        self.rise = Linear(width, hidden, rng=rng)
        self.fall = Linear(hidden, width, rng=rng)

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Width], T]) -> Tensor[Shape[*Batch, Width], T]:
        """Compute `fall(relu(rise(x)))` of float32 `x`, `(..., Width)`; gives the same shape."""
        return self.fall(relu(self.rise(x)))


class TransformerEncoderBlock(Module, Generic[Width, Heads, Hidden]):
    r"""Lets rows look at one another, then makes of each another; what either finds is added to what was there.

    $$h = x + \mathrm{attention}(n_1(x), n_1(x)), \quad y = h + \mathrm{forward}(n_2(h))$$

    Args:
        width: The size of the last axis.
        heads: The number of heads, which divides the width.
        hidden: How many numbers the feed-forward part has inside.
        causal: Whether row i looks only at the rows 0 to i.
        dropout: The fraction of what is added that is dropped under a tape, from 0 to below 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        attention: `MultiHeadAttention(Width, Heads)`.
        feed_forward: `FeedForward(Width, Hidden)`.
        attention_norm: The `LayerNorm` n1 in front of the first.
        feed_forward_norm: The `LayerNorm` n2 in front of the second.
        dropout: `Dropout`.
        causal: Whether row i looks only at the rows 0 to i.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int.
        ValueError: `dropout` is out of range.

    Source:
        Xiong et al., [On layer normalization in the transformer architecture](https://arxiv.org/abs/2002.04745), §3:
        with the norms in front, deep stacks train without a warm-up.
    """

    attention: MultiHeadAttention[Width, Heads]
    feed_forward: FeedForward[Width, Hidden]
    attention_norm: LayerNorm[Width]
    feed_forward_norm: LayerNorm[Width]

    @guarded
    def __init__(
        self: TransformerEncoderBlock[Any, Any, Any],
        width: Width,
        heads: Heads,
        hidden: Hidden,
        *,
        causal: bool = False,
        dropout: float = 0.0,
        rng: RNG = None,
    ) -> None:
        rng = generator(rng)
        self.causal = causal
        self.attention = MultiHeadAttention(width, heads, rng=rng)
        self.feed_forward = FeedForward(width, hidden, rng=rng)
        self.attention_norm = LayerNorm(width)
        self.feed_forward_norm = LayerNorm(width)
        self.dropout = Dropout(dropout, rng=rng)

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, N, Width], T], *, mask: Tensor[Any, Any, np.bool_] | None = None
    ) -> Tensor[Shape[*Batch, N, Width], T]:
        """Compute another `(..., N, Width)` of float32 `x`; a mask, True where a row may look, fits `(..., N, N)`."""
        h = self.attention_norm(x)
        x = x + self.dropout(self.attention(h, h, mask=mask, causal=self.causal))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class TransformerDecoderBlock(Module, Generic[Width, Heads, Hidden]):
    r"""Lets rows look at those before them, then at a memory, then makes of each another; each adds to what was there.

    $$g = x + \mathrm{attention}(n_1(x), n_1(x)), \quad h = g + \mathrm{lookup}(n_2(g), m), \quad
    y = h + \mathrm{forward}(n_3(h))$$

    Args:
        width: The size of the last axis.
        heads: The number of heads, which divides the width.
        hidden: How many numbers the feed-forward part has inside.
        causal: Whether row i looks only at the rows 0 to i of its own; at the memory it looks everywhere.
        dropout: The fraction of what is added that is dropped under a tape, from 0 to below 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        attention: `MultiHeadAttention(Width, Heads)`, of the rows at one another.
        lookup: `MultiHeadAttention(Width, Heads)`, of the rows at the memory.
        feed_forward: `FeedForward(Width, Hidden)`.
        attention_norm: The `LayerNorm` n1 in front of the first.
        lookup_norm: The `LayerNorm` n2 in front of the second.
        feed_forward_norm: The `LayerNorm` n3 in front of the third.
        dropout: `Dropout`.
        causal: Whether row i looks only at the rows 0 to i.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int.
        ValueError: `dropout` is out of range.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.1, with the norms in front as
        Xiong et al., [On layer normalization in the transformer architecture](https://arxiv.org/abs/2002.04745).
    """

    attention: MultiHeadAttention[Width, Heads]
    lookup: MultiHeadAttention[Width, Heads]
    feed_forward: FeedForward[Width, Hidden]
    attention_norm: LayerNorm[Width]
    lookup_norm: LayerNorm[Width]
    feed_forward_norm: LayerNorm[Width]

    @guarded
    def __init__(
        self: TransformerDecoderBlock[Any, Any, Any],
        width: Width,
        heads: Heads,
        hidden: Hidden,
        *,
        causal: bool = True,
        dropout: float = 0.0,
        rng: RNG = None,
    ) -> None:
        rng = generator(rng)
        self.causal = causal
        self.attention = MultiHeadAttention(width, heads, rng=rng)
        self.lookup = MultiHeadAttention(width, heads, rng=rng)
        self.feed_forward = FeedForward(width, hidden, rng=rng)
        self.attention_norm = LayerNorm(width)
        self.lookup_norm = LayerNorm(width)
        self.feed_forward_norm = LayerNorm(width)
        self.dropout = Dropout(dropout, rng=rng)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, N, Width], T1],
        memory: Tensor[Shape[*Batch, M, Width], T2],
        *,
        mask: Tensor[Any, Any, np.bool_] | None = None,
        memory_mask: Tensor[Any, Any, np.bool_] | None = None,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2]]:
        """Compute another `(..., N, Width)` of float32 `x` and a memory, `(..., M, Width)`.

        The masks are True where a row may look: `mask` fits `(..., N, N)`, `memory_mask` `(..., N, M)`.
        """
        # On one tape, or without one on the rows their own attention would learn nothing.
        x, memory = both_on_one_tape(x, memory)
        rows = self.attention_norm(x)
        seen = x + self.dropout(self.attention(rows, rows, mask=mask, causal=self.causal))
        h = seen + self.dropout(self.lookup(self.lookup_norm(seen), memory, mask=memory_mask))
        return h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))


class Transformer(Module, Generic[Width, Heads, Hidden, Encoders, Decoders]):
    r"""Turns one sequence of rows into another: blocks that read the source, then blocks that write the target.

    $$m = n_e(E_k(\dots E_1(s))), \quad y = n_d(D_l(\dots D_1(t, m) \dots, m))$$

    Rows come and go as they are: embeddings, positions and scores are layers before and behind.

    Args:
        width: The size of the last axis of both sequences.
        heads: The number of heads, which divides the width.
        hidden: How many numbers each feed-forward part has inside.
        encoders: How many blocks read the source.
        decoders: How many blocks write the target; row i of the target sees the rows 0 to i only.
        dropout: The fraction of what a block adds that is dropped under a tape, from 0 to below 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        encoder: The `TransformerEncoderBlock`s, `Repeated`.
        decoder: The `TransformerDecoderBlock`s, `Repeated`.
        encoder_norm: The `LayerNorm` behind the encoder.
        decoder_norm: The `LayerNorm` behind the decoder.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int.
        ValueError: `dropout` is out of range.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.1, with the norms in front as
        Xiong et al., [On layer normalization in the transformer architecture](https://arxiv.org/abs/2002.04745).
    """

    encoder: Repeated[TransformerEncoderBlock[Width, Heads, Hidden], Encoders]
    decoder: Repeated[TransformerDecoderBlock[Width, Heads, Hidden], Decoders]
    encoder_norm: LayerNorm[Width]
    decoder_norm: LayerNorm[Width]

    @guarded
    def __init__(
        self: Transformer[Any, Any, Any, Any, Any],
        width: Width,
        heads: Heads,
        hidden: Hidden,
        encoders: Encoders,
        decoders: Decoders,
        *,
        dropout: float = 0.0,
        rng: RNG = None,
    ) -> None:
        rng = generator(rng)
        self.encoder = Repeated(
            lambda: TransformerEncoderBlock(width, heads, hidden, dropout=dropout, rng=rng), encoders
        )
        self.decoder = Repeated(
            lambda: TransformerDecoderBlock(width, heads, hidden, dropout=dropout, rng=rng), decoders
        )
        self.encoder_norm = LayerNorm(width)
        self.decoder_norm = LayerNorm(width)

    @override
    @guarded
    def forward(
        self,
        source: Tensor[Shape[*Batch, M, Width], T1],
        target: Tensor[Shape[*Batch, N, Width], T2],
        *,
        source_mask: Tensor[Any, Any, np.bool_] | None = None,
        target_mask: Tensor[Any, Any, np.bool_] | None = None,
        memory_mask: Tensor[Any, Any, np.bool_] | None = None,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2]]:
        """Compute rows `(..., N, Width)` of a source, `(..., M, Width)`, and the target so far, `(..., N, Width)`.

        The masks are True where a row may look: `source_mask` fits `(..., M, M)`, `target_mask` `(..., N, N)`, on top
        of what is causal, and `memory_mask` `(..., N, M)`.
        """
        # On one tape, or without one on the source the encoder would learn nothing.
        source, target = both_on_one_tape(source, target)
        memory = self.encode(source, mask=source_mask)
        return self.decode(target, memory, mask=target_mask, memory_mask=memory_mask)

    @guarded
    def encode(
        self, source: Tensor[Shape[*Batch, M, Width], T1], *, mask: Tensor[Any, Any, np.bool_] | None = None
    ) -> Tensor[Shape[*Batch, M, Width], T1]:
        """Read a source, once for any number of targets."""
        return self.encoder_norm(self.encoder(source, mask=mask))

    @guarded
    def decode(
        self,
        target: Tensor[Shape[*Batch, N, Width], T2],
        memory: Tensor[Shape[*Batch, M, Width], T1],
        *,
        mask: Tensor[Any, Any, np.bool_] | None = None,
        memory_mask: Tensor[Any, Any, np.bool_] | None = None,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2]]:
        """Write the rows behind a target, of what `encode` has read."""
        return self.decoder_norm(self.decoder(target, memory, mask=mask, memory_mask=memory_mask))
