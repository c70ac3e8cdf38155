"""attention: widths, numbers of keys, masks and heads; rotary_embedding: pairs."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
E = TypeVar("E", bound=int)
H = TypeVar("H", bound=int)

q, k, v = tg.ones((2, 7, 12)), tg.ones((2, 5, 12)), tg.ones((2, 5, 8))
mask = tg.ones((7, 5), np.bool_)


def accept_queries_keys_and_values() -> None:
    assert_type(tg.scaled_dot_product_attention(q, k, v), Tensor[Shape[L[2], L[7], L[8]], NoneTape])
    assert_type(tg.scaled_dot_product_attention(q, k, v, mask=mask), Tensor[Shape[L[2], L[7], L[8]], NoneTape])
    assert_type(tg.scaled_dot_product_attention(q, k, v, causal=True), Tensor[Shape[L[2], L[7], L[8]], NoneTape])
    assert_type(tg.multi_head_attention(q, k, v, heads=4, mask=mask), Tensor[Shape[L[2], L[7], L[8]], NoneTape])
    assert_type(tg.rotary_embedding(q, offset=3), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def accept_the_tape_of_any_operand() -> None:
    assert_type(tg.scaled_dot_product_attention(q.trace(), k, v), Tensor[Shape[L[2], L[7], L[8]], OwnedTape])
    assert_type(tg.scaled_dot_product_attention(q, k.trace(), v), Tensor[Shape[L[2], L[7], L[8]], OwnedTape])
    assert_type(tg.multi_head_attention(q, k, v.trace(), heads=2), Tensor[Shape[L[2], L[7], L[8]], OwnedTape])
    assert_type(tg.rotary_embedding(q.trace()), Tensor[Shape[L[2], L[7], L[12]], OwnedTape])


def accept_axes_in_front_that_broadcast() -> None:
    heads = tg.ones((3, 1, 7, 12))
    assert_type(tg.scaled_dot_product_attention(heads, k, v), Tensor[Shape[L[3], L[2], L[7], L[8]], NoneTape])
    assert_type(tg.scaled_dot_product_attention(q, k, v[0]), Tensor[Shape[L[2], L[7], L[8]], NoneTape])


def accept_named_sizes() -> None:
    def attend(
        a: Tensor[Shape[B, N, E]], b: Tensor[Shape[B, M, E]], heads: H, hidden: Tensor[Shape[N, M], NoneTape, np.bool_]
    ) -> Tensor[Shape[B, N, E], NoneTape]:
        assert_type(tg.scaled_dot_product_attention(a, b, b, mask=hidden), Tensor[Shape[B, N, E], NoneTape])
        tg.assert_divides(2, a.shape[2])
        assert_type(tg.rotary_embedding(a), Tensor[Shape[B, N, E], NoneTape])
        tg.assert_divides(heads, a.shape[2])
        return tg.multi_head_attention(a, b, b, heads=heads, mask=hidden)

    assert_type(attend(q, k, 4, mask), Tensor[Shape[L[2], L[7], L[12]], NoneTape])


def accept_unknown_sizes() -> None:
    def attend(
        a: Tensor[Shape[L[2], Any, L[12]]], b: Tensor[Any, OwnedTape], heads: int, hidden: Tensor[Any, Any, np.bool_] | None
    ) -> None:
        assert_type(tg.scaled_dot_product_attention(a, k, v, mask=hidden), Tensor[Shape[L[2], Any, L[8]], NoneTape])
        assert_type(tg.multi_head_attention(a, k, v, heads=heads), Tensor[Shape[L[2], Any, L[8]], NoneTape])
        tg.multi_head_attention(a, k, v, heads=4, kv_heads=heads)
        assert_type(tg.scaled_dot_product_attention(a, b, v, mask=None), Tensor[Shape[*tuple[Any, ...], L[2], Any, L[8]], OwnedTape])
        assert_type(tg.rotary_embedding(b), Tensor[Any, OwnedTape])

    attend(q, k.trace(), 4, mask)


def accept_fewer_heads_of_keys() -> None:
    assert_type(tg.multi_head_attention(q, k[:, :, :6], v, heads=4, kv_heads=2), Tensor[Shape[L[2], L[7], L[16]], NoneTape])
    assert_type(tg.multi_head_attention(q, k, v, heads=4, kv_heads=4), Tensor[Shape[L[2], L[7], L[8]], NoneTape])

    def attend(a: Tensor[Shape[B, N, Mul[H, E]]], b: Tensor[Shape[B, M, E]], heads: H) -> None:
        assert_type(tg.multi_head_attention(a, b, b, heads=heads, kv_heads=1), Tensor[Shape[B, N, Mul[H, E]], NoneTape])

    attend(q, k[:, :, :3], 4)


def reject_keys_of_another_width() -> None:
    tg.scaled_dot_product_attention(q, v, v)  # E: scaled_dot_product_attention: q (2, 7, 12) is 12 wide but k (2, 5, 8) is 8 [tapegrad-shape]


def reject_more_keys_than_values() -> None:
    tg.scaled_dot_product_attention(q, q, v)  # E: scaled_dot_product_attention: k (2, 7, 12) has 7 rows but v (2, 5, 8) has 5 [tapegrad-shape]


def reject_another_batch() -> None:
    tg.scaled_dot_product_attention(tg.ones((3, 7, 12)), k, v)  # E: scaled_dot_product_attention: q (3, 7, 12) and k (2, 5, 12) do not broadcast: axis -3 is 3 in q but 2 in k [tapegrad-shape]


def accept_a_bias() -> None:
    bias = tg.ones((4, 7, 5))
    assert_type(tg.scaled_dot_product_attention(q, k, v, bias=bias[0].trace()), Tensor[Shape[L[2], L[7], L[8]], OwnedTape])
    assert_type(tg.multi_head_attention(q, k, v, heads=4, bias=bias, mask=mask), Tensor[Shape[L[2], L[7], L[8]], NoneTape])

    def attend(a: Tensor[Shape[N, E], OwnedTape], b: Tensor[Shape[N, N]]) -> None:
        assert_type(tg.scaled_dot_product_attention(a, a, a, bias=b), Tensor[Shape[N, E], OwnedTape])

    attend(tg.ones((3, 5)).trace(), tg.ones((3, 3)))


def reject_a_transposed_bias() -> None:
    tg.scaled_dot_product_attention(q, k, v, bias=tg.ones((5, 7)))  # E: scaled_dot_product_attention: bias (5, 7) does not broadcast to the scores, (2, 7, 5) [tapegrad-shape]


def reject_biases_of_other_heads() -> None:
    tg.multi_head_attention(q, k, v, heads=4, bias=tg.ones((3, 7, 5)))  # E: multi_head_attention: bias (3, 7, 5) does not broadcast to the scores, (2, 4, 7, 5) [tapegrad-shape]


def reject_a_bias_of_another_dtype() -> None:
    tg.scaled_dot_product_attention(q, k, v, bias=tg.ones((7, 5), np.float64))  # E: scaled_dot_product_attention: q is float32 but bias is float64 [tapegrad-dtype]


def reject_a_transposed_mask() -> None:
    tg.scaled_dot_product_attention(q, k, v, mask=mask.T)  # E: scaled_dot_product_attention: mask (5, 7) does not broadcast to the scores, (2, 7, 5) [tapegrad-shape]


def reject_a_mask_of_numbers() -> None:
    tg.multi_head_attention(q, k, v, heads=4, mask=tg.ones((7, 5)))  # E: multi_head_attention: mask is float32 but bool is expected [tapegrad-dtype]


def reject_heads_that_do_not_divide_a_width() -> None:
    tg.multi_head_attention(q, k, v, heads=3)  # E: multi_head_attention: v (2, 5, 8) is 8 wide, which does not divide into 3 heads [tapegrad-shape]


def reject_heads_that_nothing_says_divide_a_width() -> None:
    def attend(a: Tensor[Shape[N, E]], heads: H) -> None:
        tg.multi_head_attention(a, a, a, heads=heads)  # E(mypy): multi_head_attention: q (N, E) is E wide, and it is not known that this divides into H heads: add tg.assert_divides(heads, a.shape[1]) [tapegrad-shape]

    attend(q[0], 4)


def reject_heads_that_do_not_divide_into_groups() -> None:
    tg.multi_head_attention(q, k, k, heads=4, kv_heads=3)  # E: multi_head_attention: heads is 4, which does not divide into 3 groups [tapegrad-shape]


def reject_heads_of_keys_of_another_width() -> None:
    tg.multi_head_attention(q, k, v, heads=4, kv_heads=2)  # E: multi_head_attention: heads of q (2, 7, 12) are 3 wide but those of k (2, 5, 12) are 6 [tapegrad-shape]


def reject_no_heads_of_keys() -> None:
    tg.multi_head_attention(q, k, v, heads=4, kv_heads=0)  # E: multi_head_attention: kv_heads is 0 but at least 1 is expected [tapegrad-shape]


def reject_heads_that_nothing_says_divide_into_groups() -> None:
    def attend(a: Tensor[Shape[N, L[12]]], b: Tensor[Shape[N, L[6]]], heads: H) -> None:
        tg.assert_divides(heads, 12)
        tg.multi_head_attention(a, b, b, heads=heads, kv_heads=2)  # E(mypy): multi_head_attention: heads is H, and it is not known that this divides into 2 groups: add tg.assert_divides(2, heads) [tapegrad-shape]

    attend(q[0], q[0, :, :6], 4)


def reject_no_heads() -> None:
    tg.multi_head_attention(q, k, v, heads=0)  # E: multi_head_attention: heads is 0 but at least 1 is expected [tapegrad-shape]


def reject_half_a_pair() -> None:
    tg.rotary_embedding(tg.ones((7, 5)))  # E: rotary_embedding: x (7, 5) is 5 wide, which does not divide into pairs [tapegrad-shape]


def reject_another_dtype() -> None:
    tg.scaled_dot_product_attention(q, k.astype(np.float64), v)  # E: scaled_dot_product_attention: q is float32 but k is float64 [tapegrad-dtype]


def reject_whole_numbers() -> None:
    tg.rotary_embedding(tg.tensor([[1, 2]]))  # E: rotary_embedding: x is int64 but floating is expected [tapegrad-dtype]
