"""Transformer blocks, and the encoder-decoder transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.autograd.tape import Merge
from tapegrad.errors.ranges import check_options
from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.attention import MultiHeadAttention
from tapegrad.nn.dropout import Dropout
from tapegrad.nn.linear import Linear
from tapegrad.nn.module import Module
from tapegrad.nn.norm import LayerNorm
from tapegrad.nn.param import DType
from tapegrad.nn.residual import Repeated
from tapegrad.ops import gelu, relu, silu
from tapegrad.sizes.arithmetic import Given
from tapegrad.tensors import T1, T2, T, Tensor
from tapegrad.tensors.aliases import Shape
from tapegrad.tensors.operands import both_on_one_tape

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Heads = TypeVar("Heads", bound=int, default=Any, covariant=True)
Hidden = TypeVar("Hidden", bound=int, default=Any, covariant=True)
Encoders = TypeVar("Encoders", bound=int, default=Any, covariant=True)
Decoders = TypeVar("Decoders", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")

# pyright takes no layer for a function.
Activation: TypeAlias = (
    Literal["relu", "gelu", "silu"] | Module | Callable[[Tensor[Any, Any, Any]], Tensor[Any, Any, Any]]
)


class FeedForward(Module, Generic[Width, Hidden, DType]):
    """Position-wise feed-forward network: `y = f(x W₁ + b₁) W₂ + b₂` with an activation f.

    Args:
        width: The size of the last axis.
        hidden: The size between the two linear layers.
        activation: The activation f: "relu", "gelu" or "silu", or a function that keeps the shape, such as `tg.mish`.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        rise: `Linear(Width, Hidden)`.
        fall: `Linear(Hidden, Width)`.
        activation: The activation: its name, or the function.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int, or `activation` is neither a string, a module nor a function.
        ValueError: There is no activation of that name.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), eq. 2.

    Examples:
        >>> feed_forward = tg.nn.FeedForward(8, 32, rng=0)
        >>> feed_forward(tg.normal((4, 5, 8), rng=0)).shape
        (4, 5, 8)
    """

    rise: Linear[Width, Hidden, Any, DType]
    fall: Linear[Hidden, Width, Any, DType]

    @guarded
    def __init__(
        self: FeedForward[Any, Any],
        width: Given[Width],
        hidden: Given[Hidden],
        *,
        activation: Activation = "relu",
        rng: RNG = None,
    ) -> None:
        rng = generator(rng)
        self.activation: Activation = activation
        self.rise = Linear(width, hidden, rng=rng)
        self.fall = Linear(hidden, width, rng=rng)

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Width], T, DType]) -> Tensor[Shape[*Batch, Width], T, DType]:
        """Compute `fall(activation(rise(x)))` of `x`, `(..., Width)`; keeps the shape."""
        h = self.rise(x)
        if callable(self.activation):
            activated: Tensor[Shape[*Batch, Hidden], T, DType] = self.activation(h)
            return self.fall(activated)
        if self.activation == "relu":
            return self.fall(relu(h))
        return self.fall(gelu(h) if self.activation == "gelu" else silu(h))


class TransformerEncoderBlock(Module, Generic[Width, Heads, Hidden, DType]):
    """Transformer encoder block: self-attention and a feed-forward network, each with a residual connection.

        h = x + attention(n₁(x), n₁(x))
        y = h + forward(n₂(h))

    or, with `norm_first=False`, which is the default of PyTorch,

        h = n₁(x + attention(x, x))
        y = n₂(h + forward(h))

    Args:
        width: The size of the last axis.
        heads: The number of heads, which divides the width.
        hidden: The hidden size of the feed-forward network.
        causal: Whether row i attends only to rows 0 to i.
        dropout: The probability of dropout on each residual branch under a tape, from 0 to 1.
        norm_first: Whether each norm is before its branch, or after the sum of the branch and its argument.
        activation: The activation of each feed-forward network: "relu", "gelu" or "silu", or a function.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        attention: `MultiHeadAttention(Width, Heads)`.
        feed_forward: `FeedForward(Width, Hidden)`.
        attention_norm: The `LayerNorm` n1 of `attention`.
        feed_forward_norm: The `LayerNorm` n2 of `feed_forward`.
        dropout: `Dropout`.
        causal: Whether row i attends only to rows 0 to i.
        norm_first: Whether each norm is before its branch.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int, or `activation` is neither a string, a module nor a function.
        ValueError: There is no activation of that name.
        ValueError: `dropout` is out of range.

    Source:
        Xiong et al., [On layer normalization in the transformer architecture](https://arxiv.org/abs/2002.04745), §3:
        with the norms before each branch, deep stacks train without a warmup. With `norm_first=False`, Vaswani et al.,
        [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.1.

    Examples:
        >>> block = tg.nn.TransformerEncoderBlock(8, 2, 32, dropout=0.1, rng=0)
        >>> words = tg.normal((4, 5, 8), rng=0)
        >>> block(words).shape
        (4, 5, 8)
        >>> tg.nn.TransformerEncoderBlock(8, 2, 32, norm_first=False, activation="gelu", rng=0)(words).shape
        (4, 5, 8)
        >>> is_word = tg.tensor([True, True, True, True, False])  # the last one is padding
        >>> block(words, mask=is_word).shape
        (4, 5, 8)
    """

    attention: MultiHeadAttention[Width, Heads, DType]
    feed_forward: FeedForward[Width, Hidden, DType]
    attention_norm: LayerNorm[Width, DType]
    feed_forward_norm: LayerNorm[Width, DType]

    @guarded
    def __init__(
        self: TransformerEncoderBlock[Any, Any, Any],
        width: Given[Width],
        heads: Given[Heads],
        hidden: Given[Hidden],
        *,
        causal: bool = False,
        dropout: float = 0.0,
        norm_first: bool = True,
        activation: Activation = "relu",
        rng: RNG = None,
    ) -> None:
        check_options("TransformerEncoderBlock", dropout=dropout)
        rng = generator(rng)
        self.causal = causal
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(width, heads, rng=rng)
        self.feed_forward = FeedForward(width, hidden, activation=activation, rng=rng)
        self.attention_norm = LayerNorm(width)
        self.feed_forward_norm = LayerNorm(width)
        self.dropout = Dropout(dropout, rng=rng)

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, N, Width], T, DType], *, mask: Tensor[Any, Any, np.bool_] | None = None
    ) -> Tensor[Shape[*Batch, N, Width], T, DType]:
        """Process `x`, `(..., N, Width)`; `mask`, True where a row may attend, broadcasts to `(..., N, N)`."""
        if not self.norm_first:
            x = self.attention_norm(x + self.dropout(self.attention(x, x, mask=mask, causal=self.causal)))
            return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        h = self.attention_norm(x)
        x = x + self.dropout(self.attention(h, h, mask=mask, causal=self.causal))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class TransformerDecoderBlock(Module, Generic[Width, Heads, Hidden, DType]):
    """Transformer decoder block: self-attention, attention to a memory and a feed-forward network, all residual.

        g = x + attention(n₁(x), n₁(x))
        h = g + lookup(n₂(g), m)
        y = h + forward(n₃(h))

    or, with `norm_first=False`, which is the default of PyTorch,

        g = n₁(x + attention(x, x))
        h = n₂(g + lookup(g, m))
        y = n₃(h + forward(h))

    Args:
        width: The size of the last axis.
        heads: The number of heads, which divides the width.
        hidden: The hidden size of the feed-forward network.
        causal: Whether row i of `x` attends only to rows 0 to i of `x`; attention to the memory is not causal.
        dropout: The probability of dropout on each residual branch under a tape, from 0 to 1.
        norm_first: Whether each norm is before its branch, or after the sum of the branch and its argument.
        activation: The activation of each feed-forward network: "relu", "gelu" or "silu", or a function.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        attention: The self-attention, `MultiHeadAttention(Width, Heads)`.
        lookup: The attention to the memory, `MultiHeadAttention(Width, Heads)`.
        feed_forward: `FeedForward(Width, Hidden)`.
        attention_norm: The `LayerNorm` n1 of `attention`.
        lookup_norm: The `LayerNorm` n2 of `lookup`.
        feed_forward_norm: The `LayerNorm` n3 of `feed_forward`.
        dropout: `Dropout`.
        causal: Whether row i attends only to rows 0 to i.
        norm_first: Whether each norm is before its branch.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int, or `activation` is neither a string, a module nor a function.
        ValueError: There is no activation of that name.
        ValueError: `dropout` is out of range.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.1, with pre-norm as Xiong et
        al., [On layer normalization in the transformer architecture](https://arxiv.org/abs/2002.04745); with
        `norm_first=False`, as the former.

    Examples:
        >>> block = tg.nn.TransformerDecoderBlock(8, 2, 32, rng=0)
        >>> target, memory = tg.normal((4, 5, 8), rng=0), tg.normal((4, 7, 8), rng=0)
        >>> block(target, memory).shape
        (4, 5, 8)
    """

    attention: MultiHeadAttention[Width, Heads, DType]
    lookup: MultiHeadAttention[Width, Heads, DType]
    feed_forward: FeedForward[Width, Hidden, DType]
    attention_norm: LayerNorm[Width, DType]
    lookup_norm: LayerNorm[Width, DType]
    feed_forward_norm: LayerNorm[Width, DType]

    @guarded
    def __init__(
        self: TransformerDecoderBlock[Any, Any, Any],
        width: Given[Width],
        heads: Given[Heads],
        hidden: Given[Hidden],
        *,
        causal: bool = True,
        dropout: float = 0.0,
        norm_first: bool = True,
        activation: Activation = "relu",
        rng: RNG = None,
    ) -> None:
        check_options("TransformerDecoderBlock", dropout=dropout)
        rng = generator(rng)
        self.causal = causal
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(width, heads, rng=rng)
        self.lookup = MultiHeadAttention(width, heads, rng=rng)
        self.feed_forward = FeedForward(width, hidden, activation=activation, rng=rng)
        self.attention_norm = LayerNorm(width)
        self.lookup_norm = LayerNorm(width)
        self.feed_forward_norm = LayerNorm(width)
        self.dropout = Dropout(dropout, rng=rng)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, N, Width], T1, DType],
        memory: Tensor[Shape[*Batch, M, Width], T2, DType],
        *,
        mask: Tensor[Any, Any, np.bool_] | None = None,
        memory_mask: Tensor[Any, Any, np.bool_] | None = None,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2], DType]:
        """Process `x`, `(..., N, Width)`, with attention to a memory, `(..., M, Width)`; keeps its shape.

        The masks are True where a row may attend: `mask` broadcasts to `(..., N, N)`, `memory_mask` to `(..., N, M)`.
        """
        # Both on one tape, otherwise self-attention would get no gradient for an `x` without a tape.
        x, memory = both_on_one_tape(x, memory)
        if not self.norm_first:
            seen = self.attention_norm(x + self.dropout(self.attention(x, x, mask=mask, causal=self.causal)))
            h = self.lookup_norm(seen + self.dropout(self.lookup(seen, memory, mask=memory_mask)))
            return self.feed_forward_norm(h + self.dropout(self.feed_forward(h)))
        rows = self.attention_norm(x)
        seen = x + self.dropout(self.attention(rows, rows, mask=mask, causal=self.causal))
        h = seen + self.dropout(self.lookup(self.lookup_norm(seen), memory, mask=memory_mask))
        return h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))


class Transformer(Module, Generic[Width, Heads, Hidden, Encoders, Decoders, DType]):
    """Encoder-decoder transformer.

        m = n_e(E_k(... E₁(s)))
        y = n_d(D_l(... D₁(t, m) ..., m))

    It contains no embeddings, no positional encoding and no output projection.

    Args:
        width: The size of the last axis of both sequences.
        heads: The number of heads, which divides the width.
        hidden: The hidden size of each feed-forward network.
        encoders: The number of encoder blocks.
        decoders: The number of decoder blocks, in which row i of the target attends only to rows 0 to i.
        dropout: The probability of dropout on each residual branch under a tape, from 0 to 1.
        norm_first: Whether each norm is before its branch, or after the sum of the branch and its argument.
        activation: The activation of each feed-forward network: "relu", "gelu" or "silu", or a function.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        encoder: The `TransformerEncoderBlock`s, `Repeated`.
        decoder: The `TransformerDecoderBlock`s, `Repeated`.
        encoder_norm: The `LayerNorm` after the encoder.
        decoder_norm: The `LayerNorm` after the decoder.

    Raises:
        ShapeError: A size is below 1, or the heads do not divide the width.
        DTypeError: A size is not an int, or `activation` is neither a string, a module nor a function.
        ValueError: There is no activation of that name.
        ValueError: `dropout` is out of range.

    Source:
        Vaswani et al., [Attention is all you need](https://arxiv.org/abs/1706.03762), §3.1, with pre-norm as Xiong et
        al., [On layer normalization in the transformer architecture](https://arxiv.org/abs/2002.04745); with
        `norm_first=False`, as the former.

    Examples:
        >>> model = tg.nn.Transformer(8, 2, 32, 3, 3, rng=0)
        >>> source, target = tg.normal((4, 7, 8), rng=0), tg.normal((4, 5, 8), rng=0)
        >>> model(source, target).shape
        (4, 5, 8)
        >>> memory = model.encode(source)
        >>> model.decode(target, memory).shape
        (4, 5, 8)
    """

    encoder: Repeated[TransformerEncoderBlock[Width, Heads, Hidden, DType], Encoders]
    decoder: Repeated[TransformerDecoderBlock[Width, Heads, Hidden, DType], Decoders]
    encoder_norm: LayerNorm[Width, DType]
    decoder_norm: LayerNorm[Width, DType]

    @guarded
    def __init__(
        self: Transformer[Any, Any, Any, Any, Any],
        width: Given[Width],
        heads: Given[Heads],
        hidden: Given[Hidden],
        encoders: Encoders,
        decoders: Decoders,
        *,
        dropout: float = 0.0,
        norm_first: bool = True,
        activation: Activation = "relu",
        rng: RNG = None,
    ) -> None:
        check_options("Transformer", dropout=dropout)
        rng = generator(rng)
        self.encoder = Repeated(
            lambda: TransformerEncoderBlock(
                width, heads, hidden, dropout=dropout, norm_first=norm_first, activation=activation, rng=rng
            ),
            encoders,
        )
        self.decoder = Repeated(
            lambda: TransformerDecoderBlock(
                width, heads, hidden, dropout=dropout, norm_first=norm_first, activation=activation, rng=rng
            ),
            decoders,
        )
        self.encoder_norm = LayerNorm(width)
        self.decoder_norm = LayerNorm(width)

    @override
    @guarded
    def forward(
        self,
        source: Tensor[Shape[*Batch, M, Width], T1, DType],
        target: Tensor[Shape[*Batch, N, Width], T2, DType],
        *,
        source_mask: Tensor[Any, Any, np.bool_] | None = None,
        target_mask: Tensor[Any, Any, np.bool_] | None = None,
        memory_mask: Tensor[Any, Any, np.bool_] | None = None,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2], DType]:
        """Compute rows `(..., N, Width)` from a source, `(..., M, Width)`, and a target prefix, `(..., N, Width)`.

        The masks are True where a row may attend: `source_mask` broadcasts to `(..., M, M)`, `target_mask`, in addition
        to the causal mask, to `(..., N, N)`, and `memory_mask` to `(..., N, M)`.
        """
        # Both on one tape, otherwise the encoder would get no gradient for a source without a tape.
        source, target = both_on_one_tape(source, target)
        memory = self.encode(source, mask=source_mask)
        return self.decode(target, memory, mask=target_mask, memory_mask=memory_mask)

    @guarded
    def encode(
        self, source: Tensor[Shape[*Batch, M, Width], T1, DType], *, mask: Tensor[Any, Any, np.bool_] | None = None
    ) -> Tensor[Shape[*Batch, M, Width], T1, DType]:
        """Encode a source into a memory, which can be decoded for several targets."""
        return self.encoder_norm(self.encoder(source, mask=mask))

    @guarded
    def decode(
        self,
        target: Tensor[Shape[*Batch, N, Width], T2, DType],
        memory: Tensor[Shape[*Batch, M, Width], T1, DType],
        *,
        mask: Tensor[Any, Any, np.bool_] | None = None,
        memory_mask: Tensor[Any, Any, np.bool_] | None = None,
    ) -> Tensor[Shape[*Batch, N, Width], Merge[T1, T2], DType]:
        """Decode a target prefix with the memory that `encode` returns."""
        return self.decoder_norm(self.decoder(target, memory, mask=mask, memory_mask=memory_mask))
