"""Attention and transformer layers: widths, lengths and tapes, inside and outside."""

from typing import Any, Generic, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import FloorDiv, Mul, NoneTape, OwnedTape, Shape, Tape, Tensor, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
W = TypeVar("W", bound=int)
T = TypeVar("T", bound=Tape)

rows, context = tg.ones((2, 7, 12)), tg.ones((2, 5, 12))


class Reader(nn.Module, Generic[W]):
    """A user's module: tokens to scores."""

    def __init__(self, width: W) -> None:
        self.embed = nn.Embedding(100, width)
        self.blocks = nn.Repeated(lambda: nn.TransformerEncoderBlock(width, 4, 48, causal=True), 3)
        self.scores = nn.Linear(width, 100)

    def forward(self, x: Tensor[Shape[B, N], T, np.int64]) -> Tensor[Shape[B, N, L[100]], T]:
        return self.scores(self.blocks(self.embed(x)))


def accept_attention() -> None:
    attention = nn.MultiHeadAttention(12, 4)
    assert_type(attention, nn.MultiHeadAttention[L[12], L[4], np.float32, L[True]])
    assert_type(attention(rows, rows, causal=True), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(attention(rows, context), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(attention(rows, context.trace()), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])
    assert_type(attention(rows[0], context[0], mask=tg.ones((7, 5), np.bool_)), Tensor[Shape[L[7], L[12]], NoneTape])


def accept_attention_with_a_cache() -> None:
    attention = nn.GroupedQueryAttention(12, 6, 2)
    assert_type(attention, nn.GroupedQueryAttention[L[12], L[6], L[2], np.float32, L[True]])
    assert_type(attention.key, nn.Linear[L[12], L[4], L[True]])
    assert_type(attention(rows.trace()), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])
    cache = attention.cache(2, 20)
    assert_type(cache.keys, Tensor[Shape[L[2], L[20], L[4]], NoneTape])
    y, cache = attention.decode(rows, cache)
    assert_type(y, Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    for _ in range(3):
        last, cache = attention.decode(y[:, -1:], cache)
        assert_type(last, Tensor[Shape[L[2], L[1], L[12]], NoneTape])
        assert_type(cache.values, Tensor[Shape[L[2], L[20], L[4]], NoneTape])
    tg.assert_same(cache.values.shape[1], 20)


def accept_a_cache_of_named_sizes() -> None:
    def continued(attention: nn.GroupedQueryAttention[W, L[6], L[2]], x: Tensor[Shape[B, N, W]], n: M) -> Tensor[Shape[B, N, W]]:
        y, cache = attention.decode(x, attention.cache(x.shape[0], n))
        assert_type(cache.keys, Tensor[Shape[B, M, Mul[FloorDiv[W, L[6]], L[2]]], NoneTape])
        return y

    assert_type(continued(nn.GroupedQueryAttention(12, 6, 2), rows, 9), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def reject_rows_of_another_width_with_a_cache() -> None:
    nn.GroupedQueryAttention(8, 4, 2)(rows)  # E: GroupedQueryAttention(8, 4, 2): x is (2, 7, 12) but (..., N, 8) is expected: axis -1 is 12, not 8 [tapegrad-shape]


def reject_a_cache_of_another_batch() -> None:
    attention = nn.GroupedQueryAttention(12, 4, 2)
    attention.decode(rows, attention.cache(3, 9))  # E: GroupedQueryAttention.decode: B is 2 in x but 3 in cache.keys [tapegrad-shape]


def reject_key_heads_that_do_not_divide_the_heads() -> None:
    nn.GroupedQueryAttention(12, 4, 3)  # E: GroupedQueryAttention: 4 heads do not divide into 3 groups [tapegrad-shape]


def reject_heads_of_an_odd_width_that_are_rotated() -> None:
    nn.GroupedQueryAttention(12, 4, 2, rotary=True)  # E: GroupedQueryAttention: rotary needs heads of an even width, not 12 // 4 = 3 [tapegrad-shape]


def reject_a_mask_for_other_rows() -> None:
    mask = tg.ones((7, 5), np.bool_)
    nn.GroupedQueryAttention(12, 4, 2)(rows, mask=mask)  # E: GroupedQueryAttention(12, 4, 2): mask (7, 5) does not broadcast to the scores, (2, 7, 7) [tapegrad-shape]


def reject_more_rows_than_the_cache_holds() -> None:
    attention = nn.GroupedQueryAttention(12, 4, 2)
    attention.decode(rows, attention.cache(2, 6))  # E(Python): GroupedQueryAttention.decode: the cache has 0 of 6 rows, so 7 more do not fit [tapegrad-shape]


def accept_blocks() -> None:
    assert_type(nn.FeedForward(12, 48)(rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    encoder, decoder = nn.TransformerEncoderBlock(12, 4, 48), nn.TransformerDecoderBlock(12, 4, 48)
    assert_type(encoder, nn.TransformerEncoderBlock[L[12], L[4], L[48]])
    assert_type(encoder(rows.trace()), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])
    assert_type(decoder(rows, context), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(decoder(rows, encoder(context.trace())), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])


def accept_norms_after_the_sums_and_another_activation() -> None:
    encoder = nn.TransformerEncoderBlock(12, 4, 48, norm_first=False, activation="gelu")
    decoder = nn.TransformerDecoderBlock(12, 4, 48, norm_first=False, activation="silu")
    assert_type(encoder, nn.TransformerEncoderBlock[L[12], L[4], L[48]])
    assert_type(decoder(rows, encoder(context.trace())), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])
    model = nn.Transformer(12, 4, 48, 2, 3, norm_first=False, activation="gelu")
    assert_type(model(context, rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(nn.FeedForward(12, 48, activation="silu")(rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def reject_rows_of_another_width_where_norms_are_after_the_sums() -> None:
    nn.TransformerEncoderBlock(16, 4, 48, norm_first=False)(rows)  # E: TransformerEncoderBlock(16, 4, 48): x is (2, 7, 12) but (..., N, 16) is expected: axis -1 is 12, not 16 [tapegrad-shape]


def accept_a_function_as_activation() -> None:
    decoder = nn.TransformerDecoderBlock(12, 4, 48, activation=tg.mish)
    assert_type(decoder(rows, rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(nn.FeedForward(12, 48, activation=nn.Mish())(rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    nn.TransformerEncoderBlock(12, 4, 48, activation=tg.gelu)
    nn.Transformer(12, 4, 48, 2, 3, activation=nn.GELU())


def accept_attention_without_a_bias() -> None:
    attention = nn.MultiHeadAttention(12, 4, bias=False)
    assert_type(attention.query.bias, None)
    assert_type(nn.GroupedQueryAttention(12, 6, 2).key.bias, nn.Param[Shape[L[4]]])
    assert_type(attention(rows, rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def reject_the_bias_of_attention_without_one() -> None:
    nn.GroupedQueryAttention(12, 6, 2, bias=False).value.bias.shape  # E(mypy): "None" has no attribute "shape" [attr-defined]


def reject_a_cache_of_another_width() -> None:
    attention = nn.GroupedQueryAttention(12, 4, 2)
    attention.decode(rows, nn.GroupedQueryAttention(16, 4, 2).cache(2, 9))  # E(mypy): GroupedQueryAttention.decode: cache is KeyValueCache(2, 9, 8) but KeyValueCache(B, M, 6) is expected [tapegrad-shape]


def reject_an_unknown_activation() -> None:
    nn.FeedForward(12, 48, activation="tanh")  # E(mypy): Argument "activation" to "FeedForward" has incompatible type "Literal['tanh']"; expected "Literal['relu', 'gelu', 'silu'] | Module | Callable[[Tensor[Any, Any, Any]], Tensor[Any, Any, Any]]" [arg-type]


def accept_a_stack_of_blocks() -> None:
    model = nn.Sequential(
        nn.Repeated(lambda: nn.TransformerEncoderBlock(12, 4, 48), 2), nn.LayerNorm(12), nn.Linear(12, 3)
    )
    assert_type(model(rows.trace()), Tensor[Shape[L[2], L[7], L[3]], OwnedTape])
    assert_type(Reader(12)(tg.zeros((2, 7), np.int64)), Tensor[Shape[L[2], L[7], L[100]], NoneTape])


def accept_a_stack_that_looks_at_a_memory() -> None:
    stack = nn.Repeated(lambda: nn.TransformerDecoderBlock(12, 4, 48), 3)
    assert_type(stack, nn.Repeated[nn.TransformerDecoderBlock[L[12], L[4], L[48]], L[3]])
    assert_type(stack(rows, context), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(stack(rows, context.trace(), memory_mask=tg.ones((7, 5), np.bool_)), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])
    assert_type(nn.Transformer(12, 4, 48, 2, 3).decoder(rows, context), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def accept_a_stack_inside_a_model() -> None:
    class Writer(nn.Module, Generic[W]):
        def __init__(self, width: W) -> None:
            self.blocks = nn.Repeated(lambda: nn.TransformerDecoderBlock(width, 4, 48), 2)

        def forward(self, x: Tensor[Shape[B, N, W], T], memory: Tensor[Shape[B, M, W], T]) -> Tensor[Shape[B, N, W], T]:
            return self.blocks(x, memory)

    assert_type(Writer(12)(rows, context), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def accept_a_transformer() -> None:
    model = nn.Transformer(12, 4, 48, 2, 3)
    assert_type(model, nn.Transformer[L[12], L[4], L[48], L[2], L[3]])
    assert_type(model.encoder, nn.Repeated[nn.TransformerEncoderBlock[L[12], L[4], L[48]], L[2]])
    assert_type(model(context, rows), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    assert_type(model(context.trace(), rows), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])
    assert_type(model.encode(context), Tensor[Shape[L[2], L[5], L[12]], NoneTape])
    assert_type(model.decode(rows, model.encode(context.trace())), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])


def accept_named_sizes() -> None:
    def translated(
        model: nn.Transformer[W, Any, Any, Any, Any], a: Tensor[Shape[B, M, W], OwnedTape], b: Tensor[Shape[B, N, W]]
    ) -> Tensor[Shape[B, N, W], OwnedTape]:
        assert_type(model.encode(a), Tensor[Shape[B, M, W], OwnedTape])
        return model(a, b)

    assert_type(
        translated(nn.Transformer(12, 4, 48, 1, 1), context.trace(), rows), Tensor[Shape[L[2], L[7], L[12]], OwnedTape]
    )


def accept_unknown_sizes() -> None:
    def attended(a: Tensor[Shape[Any, Any, L[12]], NoneTape], b: Tensor[Any, OwnedTape], width: int) -> None:
        assert_type(nn.TransformerEncoderBlock(12, 4, 48)(a), Tensor[Shape[Any, Any, L[12]], NoneTape])
        nn.MultiHeadAttention(width, 4)(a, b)

    attended(rows, context.trace(), 12)


def reject_rows_of_another_width() -> None:
    nn.MultiHeadAttention(12, 4)(tg.ones((2, 7, 16)), context)  # E: MultiHeadAttention(12, 4): x is (2, 7, 16) but (..., N, 12) is expected: axis -1 is 16, not 12 [tapegrad-shape]


def reject_a_context_of_another_width() -> None:
    nn.MultiHeadAttention(12, 4)(rows, tg.ones((2, 5, 16)))  # E: MultiHeadAttention(12, 4): context is (2, 5, 16) but (..., M, 12) is expected: axis -1 is 16, not 12 [tapegrad-shape]


def reject_a_block_of_another_width() -> None:
    model = nn.Sequential(nn.Linear(12, 16), nn.TransformerEncoderBlock(12, 4, 48))  # E(mypy): Sequential[1] TransformerEncoderBlock(12, 4, 48): x is (..., 16) but (..., N, 12) is expected: axis -1 is 16, not 12 [tapegrad-shape]
    model(rows)


def reject_a_memory_of_another_width() -> None:
    nn.TransformerDecoderBlock(12, 4, 48)(rows, tg.ones((2, 5, 16)))  # E: TransformerDecoderBlock(12, 4, 48): memory is (2, 5, 16) but (..., M, 12) is expected: axis -1 is 16, not 12 [tapegrad-shape]


def reject_a_memory_of_another_width_beside_a_stack() -> None:
    stack = nn.Repeated(lambda: nn.TransformerDecoderBlock(12, 4, 48), 3)
    stack(rows, tg.ones((2, 5, 16)))  # E: stack[0] TransformerDecoderBlock(12, 4, 48): memory is (2, 5, 16) but (..., M, 12) is expected: axis -1 is 16, not 12 [tapegrad-shape]


def reject_a_mask_of_numbers_beside_a_stack() -> None:
    stack = nn.Repeated(lambda: nn.TransformerEncoderBlock(12, 4, 48), 3)
    stack(rows, mask=tg.ones((7, 7)))  # E: stack[0] TransformerEncoderBlock(12, 4, 48): mask is float32 but bool is expected [tapegrad-dtype]


def reject_a_stack_without_its_memory() -> None:
    def written(x: Tensor[Shape[B, N, L[12]], NoneTape]) -> None:
        nn.Repeated(lambda: nn.TransformerDecoderBlock(12, 4, 48), 3)(x)  # E(mypy): Missing positional argument "memory" in call to "forward" of "TransformerDecoderBlock" [call-arg]

    assert callable(written)


def reject_a_target_of_another_width() -> None:
    nn.Transformer(12, 4, 48, 1, 1)(rows, tg.ones((2, 5, 16)))  # E: Transformer(12, 4, 48, 1, 1): target is (2, 5, 16) but (..., N, 12) is expected: axis -1 is 16, not 12 [tapegrad-shape]


def reject_a_mask_of_numbers() -> None:
    nn.MultiHeadAttention(12, 4)(rows, rows, mask=tg.ones((7, 7)))  # E: MultiHeadAttention(12, 4): mask is float32 but bool is expected [tapegrad-dtype]


def accept_masks_that_broadcast() -> None:
    attention = nn.MultiHeadAttention(12, 4)
    seen = tg.ones((7, 5), np.bool_)
    assert_type(attention(rows, context, mask=seen), Tensor[Shape[L[2], L[7], L[12]], NoneTape])
    attention(rows, context, mask=tg.ones((5,), np.bool_))
    attention(rows, context, mask=tg.ones((2, 1, 5), np.bool_))


def masked(a: Tensor[Shape[B, N, L[12]]], b: Tensor[Shape[B, M, L[12]]], seen: Tensor[Shape[N, M], Any, np.bool_]) -> None:
    nn.MultiHeadAttention(12, 4)(a, b, mask=seen)
    nn.TransformerDecoderBlock(12, 4, 8)(a, b, memory_mask=seen)


def accept_masks_of_named_sizes() -> None:
    masked(rows, context, tg.ones((7, 5), np.bool_))


def reject_a_mask_of_other_rows() -> None:
    nn.MultiHeadAttention(12, 4)(rows, rows, mask=tg.ones((5, 5), np.bool_))  # E: MultiHeadAttention(12, 4): mask (5, 5) does not broadcast to the scores, (2, 7, 7) [tapegrad-shape]


def reject_a_mask_of_another_memory() -> None:
    block = nn.TransformerDecoderBlock(12, 4, 48)
    block(rows, context, memory_mask=tg.ones((7, 7), np.bool_))  # E: block TransformerDecoderBlock(12, 4, 48): mask (7, 7) does not broadcast to the scores, (2, 7, 5) [tapegrad-shape]


def reject_a_mask_for_encoding_alone() -> None:
    model = nn.Transformer(12, 4, 48, 2, 2)
    model.encode(context, mask=tg.ones((7, 7), np.bool_))  # E: Transformer.encoder[0] TransformerEncoderBlock(12, 4, 48): mask (7, 7) does not broadcast to the scores, (2, 5, 5) [tapegrad-shape]


def reject_a_mask_of_swapped_names() -> None:
    def swapped(a: Tensor[Shape[B, N, L[12]]], b: Tensor[Shape[B, M, L[12]]], seen: Tensor[Shape[M, N], Any, np.bool_]) -> None:
        nn.MultiHeadAttention(12, 4)(a, b, mask=seen)  # E(mypy): MultiHeadAttention(12, 4): mask (M, N) does not broadcast to the scores, (B, N, M) [tapegrad-shape]

    assert callable(swapped)  # a call would show its sizes
