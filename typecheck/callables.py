"""Higher-order functions: lambdas are inferred from the other arguments, and a returned function stays generic."""

from collections.abc import Callable
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
U = TypeVar("U", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
F = TypeVar("F", bound=np.floating[Any])

x = tg.ones((4, 3))
w = tg.ones((3, 5))


def batched(
    f: Callable[[Tensor[Shape[N], T]], Tensor[Shape[M], T]],
) -> Callable[[Tensor[Shape[K, N], T]], Tensor[Shape[K, M], T]]:
    """Map the rows of a matrix."""

    def all_rows(rows: Tensor[Shape[K, N], T]) -> Tensor[Shape[K, M], T]:
        wide: Any = tg.stack([f(rows[i]) for i in range(rows.shape[0])])
        result: Tensor[Shape[K, M], T] = wide
        return result

    return all_rows


def head(row: Tensor[Shape[L[3]], T]) -> Tensor[Shape[L[5]], T]:
    return row @ w


def untaped_head(row: Tensor[Shape[L[3]], NoneTape]) -> Tensor[Shape[L[5]], NoneTape]:
    return row @ w


@batched
def decorated_head(row: Tensor[Shape[L[3]], T]) -> Tensor[Shape[L[5]], T]:
    return row @ w


def apply(
    f: Callable[[Tensor[Shape[N, M], T]], Tensor[Shape[N, K], T]], rows: Tensor[Shape[N, M], T]
) -> Tensor[Shape[N, K], T]:
    return f(rows)


def applied_to(
    rows: Tensor[Shape[N, M], T], f: Callable[[Tensor[Shape[N, M], T], N], Tensor[Shape[K], T]], count: N
) -> Tensor[Shape[K], T]:
    return f(rows, count)


def mapped(f: Callable[[Tensor[S, T, F]], Tensor[U, T, F]], a: Tensor[S, T, F]) -> Tensor[U, T, F]:
    return f(a)


def repeated(f: Callable[[Tensor[S, T]], Tensor[S, T]], a: Tensor[S, T]) -> Tensor[S, T]:
    return f(f(a))


class Mapper(nn.Module):
    """A method that takes a function."""

    def forward(
        self, f: Callable[[Tensor[Shape[N], T]], Tensor[Shape[M], T]], row: Tensor[Shape[N], T]
    ) -> Tensor[Shape[M], T]:
        return f(row)


def accept_a_function_that_is_returned() -> None:
    assert_type(batched(head)(x), Tensor[Shape[L[4], L[5]], NoneTape])
    assert_type(batched(head)(x.trace()), Tensor[Shape[L[4], L[5]], OwnedTape])
    assert_type(batched(untaped_head)(x), Tensor[Shape[L[4], L[5]], NoneTape])
    rows = batched(head)
    assert_type(rows(x), Tensor[Shape[L[4], L[5]], NoneTape])
    assert_type(rows(tg.ones((7, 3))), Tensor[Shape[L[7], L[5]], NoneTape])
    assert_type(decorated_head(x), Tensor[Shape[L[4], L[5]], NoneTape])


def accept_a_function_that_is_returned_for_named_sizes() -> None:
    def of_any(f: Callable[[Tensor[Shape[N], T]], Tensor[Shape[M], T]], rows: Tensor[Shape[K, N], T]) -> None:
        assert_type(batched(f)(rows), Tensor[Shape[K, M], T])

    of_any(head, x)


def accept_lambdas() -> None:
    assert_type(apply(lambda a: a[:, :2], x), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(apply(lambda a: a[:, :2], x.trace()), Tensor[Shape[L[4], L[2]], OwnedTape])
    assert_type(apply(rows=x, f=lambda a: a @ w), Tensor[Shape[L[4], L[5]], NoneTape])
    assert_type(applied_to(x, lambda a, n: a.sum(axis=1) + tg.ones((n,)), 4), Tensor[Shape[L[4]], NoneTape])
    assert_type(Mapper()(lambda a: a[:2], x[0]), Tensor[Shape[L[2]], NoneTape])


def accept_a_lambda_that_puts_its_result_on_a_tape() -> None:
    traced = w.trace()
    assert_type(apply(lambda a: a @ traced, x), Tensor[Shape[L[4], L[5]], OwnedTape])


def accept_lambdas_for_whole_shapes() -> None:
    assert_type(mapped(lambda a: a[0], x), Tensor[Shape[L[3]], NoneTape])
    assert_type(mapped(lambda a: a.sum(), x.astype(np.float64)), Tensor[Shape[()], NoneTape, np.float64])
    assert_type(repeated(lambda a: a * 2.0, x.trace()), Tensor[Shape[L[4], L[3]], OwnedTape])


def accept_lambdas_of_another_dtype() -> None:
    a, v = tg.ones((3,), np.float64), tg.ones((3,), np.float64)
    weights = tg.ones((3,), np.float64)
    assert_type(tg.hvp(lambda a: (a * a * weights).sum(), a, v), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.hessian(lambda a: (a * a * weights).sum(), a), Tensor[Shape[L[3], L[3]], NoneTape, np.float64])


def accept_lambdas_of_unknown_sizes() -> None:
    def of_any(a: Tensor[Shape[N, Any], T], b: Any) -> None:
        assert_type(apply(lambda c: c[:, :2], a), Tensor[Shape[N, Any], T])
        apply(lambda c: c[:, :2], b)

    of_any(x, x)


def reject_rows_of_another_size() -> None:
    rows = batched(head)
    rows(tg.ones((4, 2)))  # E(mypy): rows: argument 1 is (4, 2) but (K, 3) is expected: axis 1 is 2, not 3 [tapegrad-shape]


def reject_a_function_of_another_rank() -> None:
    batched(batched(head))  # E(mypy): batched: what f takes is (?, 3) but (N,) is expected: rank 2, not 1 [tapegrad-shape]


def reject_an_op_in_a_lambda() -> None:
    apply(lambda a: a @ tg.ones((2, 5)), x)  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (2, 5) has 2 rows [tapegrad-shape]


def reject_what_a_lambda_gives() -> None:
    apply(lambda a: a[:2], x)  # E(mypy): apply: N is 4 in what f takes but 2 in what f gives [tapegrad-shape]


def reject_the_rank_of_what_a_lambda_gives() -> None:
    apply(lambda a: a[0], x)  # E(mypy): apply: what f gives is (3,) but (N, K) is expected: rank 1, not 2 [tapegrad-shape]


def reject_the_whole_shape_that_a_lambda_gives() -> None:
    repeated(lambda a: a[:2], x)  # E(mypy): repeated: S is (2, 3) in what f gives but (4, 3) in a [tapegrad-shape]


def reject_a_loss_that_is_no_scalar() -> None:
    tg.hvp(lambda a: a * a, x[0], x[1])  # E(mypy): hvp: what f gives is (3,) but () is expected: rank 1, not 0 [tapegrad-shape]


def reject_the_dtype_of_what_a_function_takes() -> None:
    def of_doubles(f: Callable[[Tensor[Shape[L[3]], NoneTape, np.float64]], int]) -> int:
        return f(tg.ones((3,), np.float64))

    def length(row: Tensor[Shape[N], NoneTape]) -> int:
        return len(row)

    of_doubles(length)  # E(mypy): of_doubles: what f takes is float32 but float64 is expected [tapegrad-dtype]


def reject_the_dtype_of_what_a_function_gives() -> None:
    def doubled(f: Callable[[Tensor[Shape[N], NoneTape]], Tensor[Shape[N], NoneTape, np.float64]], row: Tensor[Shape[N], NoneTape]) -> int:
        return len(f(row))

    def same(row: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[N], NoneTape]:
        return row

    doubled(same, x[0])  # E(mypy): doubled: what f gives is float32 but float64 is expected [tapegrad-dtype]
