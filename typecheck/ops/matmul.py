"""Matrix products: vectors, matrices, stacks; literal, named and unknown sizes; every pair of tapes."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3, 5))
v = tg.ones((3,))
stack = tg.ones((7, 1, 2, 3))
stacked = tg.ones((4, 3, 5))


def accept_matrices() -> None:
    assert_type(x @ y, Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.matmul(x, y), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_vectors() -> None:
    assert_type(x @ v, Tensor[Shape[L[2]], NoneTape])
    assert_type(v @ y, Tensor[Shape[L[5]], NoneTape])
    assert_type(v @ v, Tensor[tuple[()], NoneTape])


def accept_stacks() -> None:
    assert_type(stack @ stacked, Tensor[Shape[L[7], L[4], L[2], L[5]], NoneTape])
    assert_type(stack @ y, Tensor[Shape[L[7], L[1], L[2], L[5]], NoneTape])


def accept_named_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, K]], b: Tensor[Shape[K, M]]) -> Tensor[Shape[N, M]]:
        assert_type(a @ b, Tensor[Shape[N, M], NoneTape])
        return a @ b

    assert_type(multiplied(x, y), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_an_unknown_size() -> None:
    def projected(a: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(a @ y, Tensor[Shape[Any, L[5]], NoneTape])

    projected(x)


def accept_tapes_on_either_side() -> None:
    assert_type(x.trace() @ y, Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(x @ y.trace(), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(x.trace() @ y.trace(), Tensor[Shape[L[2], L[5]], OwnedTape])


def reject_inner_sizes() -> None:
    tg.ones((2, 3)) @ tg.ones((4, 5))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 5) has 4 rows [tapegrad-shape]


def reject_inner_sizes_of_vectors() -> None:
    v @ tg.ones((4,))  # E: matmul: inner sizes differ: x (3,) has 3 elements but y (4,) has 4 elements [tapegrad-shape]


def reject_batches() -> None:
    tg.ones((2, 4, 3)) @ tg.ones((5, 3, 4))  # E: matmul: x (2, 4, 3) and y (5, 3, 4) do not broadcast: axis -3 is 2 in x but 5 in y [tapegrad-shape]


def reject_a_scalar() -> None:
    tg.ones(()) @ x  # E: matmul: x () has rank 0 but needs at least 1 [tapegrad-shape]


def reject_two_dtypes() -> None:
    x @ tg.tensor([[1], [2], [3]])  # E: matmul: x is float32 but y is int64 [tapegrad-dtype]


def reject_names_that_are_two_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, K]], b: Tensor[Shape[M, N]]) -> None:
        a @ b  # E(mypy): matmul: inner sizes differ: x (N, K) has K columns but y (M, N) has M rows [tapegrad-shape]

    multiplied(x, tg.ones((5, 2)))


# outer, dot, bmm, linear


def accept_products_that_are_ops_of_their_own() -> None:
    assert_type(tg.outer(v, tg.ones((5,))), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(tg.dot(v, v.trace()), Tensor[tuple[()], OwnedTape])
    assert_type(tg.bmm(tg.ones((4, 2, 3)), stacked), Tensor[Shape[L[4], L[2], L[5]], NoneTape])
    assert_type(tg.linear(stack, y, tg.ones((5,)).trace()), Tensor[Shape[L[7], L[1], L[2], L[5]], OwnedTape])
    assert_type(tg.linear(stack, y), Tensor[Shape[L[7], L[1], L[2], L[5]], NoneTape])
    assert_type(tg.linear(x.trace(), y, bias=None), Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_products_of_named_and_unknown_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, K, M]], b: Tensor[Shape[Any, M, Any]], c: Tensor[Shape[M]]) -> None:
        assert_type(tg.bmm(a, b), Tensor[Shape[N, K, Any], NoneTape])
        assert_type(tg.outer(c, c), Tensor[Shape[M, M], NoneTape])
        assert_type(tg.dot(c, c), Tensor[tuple[()], NoneTape])
        assert_type(tg.linear(a, tg.outer(c, v), v), Tensor[Shape[N, K, L[3]], NoneTape])
        assert_type(tg.linear(a, tg.outer(c, v)), Tensor[Shape[N, K, L[3]], NoneTape])

    multiplied(tg.ones((2, 5, 7)), tg.ones((2, 7, 3)), tg.ones((7,)))


def reject_an_outer_product_of_matrices() -> None:
    tg.outer(x, v)  # E: outer: x (2, 3) has rank 2, not 1 [tapegrad-shape]


def reject_vectors_of_two_lengths() -> None:
    tg.dot(v, tg.ones((4,)))  # E: dot: inner sizes differ: x (3,) has 3 elements but y (4,) has 4 elements [tapegrad-shape]


def reject_a_batch_of_one() -> None:
    tg.bmm(tg.ones((1, 2, 3)), stacked)  # E: bmm: x (1, 2, 3) has 1 matrices but y (4, 3, 5) has 4 [tapegrad-shape]


def reject_a_weight_that_is_transposed() -> None:
    tg.linear(x, tg.ones((5, 3)), tg.ones((5,)))  # E: linear: axis -1 of x (2, 3) is 3 but weight (5, 3) has 5 rows [tapegrad-shape]


def reject_a_weight_that_is_transposed_beside_no_bias() -> None:
    tg.linear(x, tg.ones((5, 3)))  # E: linear: axis -1 of x (2, 3) is 3 but weight (5, 3) has 5 rows [tapegrad-shape]


def reject_a_bias_of_rank_zero() -> None:
    tg.linear(x, y, tg.tensor(1.0))  # E: linear: bias () has rank 0, not 1 [tapegrad-shape]


def reject_a_bias_of_another_width() -> None:
    tg.linear(x, y, v)  # E: linear: weight (3, 5) has 5 columns but bias (3,) has 3 [tapegrad-shape]
