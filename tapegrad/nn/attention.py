"""Multi-head attention."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.autograd.tape import Merge
from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.guard.assertions import assert_divides
from tapegrad.nn.linear import Linear
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType
from tapegrad.ops import multi_head_attention
from tapegrad.sizes.constraints import check_heads
from tapegrad.tensor import T1, T2, Tensor
from tapegrad.tensor.aliases import Shape
from tapegrad.tensor.operands import both_on_one_tape

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Heads = TypeVar("Heads", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")


class MultiHeadAttention(Module, Generic[Width, Heads, DType]):
    r"""Multi-head scaled dot-product attention of rows `x` to the rows `c` of a context.

    $$y = \big( h_1 \dots h_H \big) W^o, \quad
    h_i = \mathrm{softmax}\Big(\frac{x W^q_i \, (c W^k_i)^T}{\sqrt{D / H}}\Big) \, c W^v_i$$

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
    query: Linear[Width, Width, Any, DType]
    key: Linear[Width, Width, Any, DType]
    value: Linear[Width, Width, Any, DType]
    out: Linear[Width, Width, Any, DType]

    @guarded
    def __init__(
        self: MultiHeadAttention[Any, Any], width: Width, heads: Heads, *, bias: bool = True, rng: RNG = None
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
