"""Control flow and other Python syntax around tensors: known sizes stay known, and unknown ones become Any."""

from functools import partial
from typing import Any, Final, assert_type
from typing import Literal as L

from typing_extensions import TypeVar, TypeVarTuple

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)
Leading = TypeVarTuple("Leading")

ROWS: Final = 32
COLUMNS = 4

x = tg.ones((3, 5))
Batch = Tensor[Shape[N, L[5]], NoneTape]


def accept_names_for_sizes() -> None:
    inside = 7
    assert_type(tg.zeros((ROWS, COLUMNS)), Tensor[Shape[L[32], L[4]], NoneTape])
    assert_type(tg.zeros((inside, 2)), Tensor[Shape[L[7], L[2]], NoneTape])


def accept_a_name_bound_twice_is_unknown() -> None:
    n = 3
    n = n + 1
    assert_type(tg.zeros((n, 2)), Tensor[Shape[Any, L[2]], NoneTape])


def accept_a_loop_variable_is_unknown() -> None:
    for n in range(1, 3):
        assert_type(tg.zeros((n, 2)), Tensor[Shape[Any, L[2]], NoneTape])


def accept_an_unknown_size_behind_any_number_of_others() -> None:
    def behind(a: Tensor[Shape[*Leading, Any], NoneTape], b: Tensor[Shape[*Leading, N, Any], NoneTape]) -> None:
        assert_type(a + 1.0, Tensor[Shape[*Leading, Any], NoneTape])
        assert_type(b.swapaxes(-1, -2), Tensor[Shape[*Leading, Any, N], NoneTape])
        assert_type(tg.concat((a, a), axis=-1), Tensor[Shape[*Leading, Any], NoneTape])

    behind(tg.ones((2, 5)), tg.ones((2, 3, 5)))


def accept_rebinding() -> None:
    h = tg.ones((2, 64))
    h = nn.Linear(64, 32)(h)
    assert_type(h, Tensor[Shape[L[2], L[32]], NoneTape])
    h = nn.Linear(32, 10)(h)
    assert_type(h, Tensor[Shape[L[2], L[10]], NoneTape])


def accept_rebinding_in_a_loop() -> None:
    square = nn.Linear(5, 5)
    h = x
    for _ in range(3):
        h = tg.relu(square(h))
    assert_type(h, Tensor[Shape[L[3], L[5]], NoneTape])


def accept_augmented_assignment() -> None:
    h = x.trace()
    h += 1.0
    h *= x
    assert_type(h, Tensor[Shape[L[3], L[5]], OwnedTape])


def accept_a_list_of_different_shapes() -> None:
    for part in [tg.ones((3, 5)), tg.ones((4, 5))]:
        assert_type(part @ tg.ones((5, 2)), Tensor[Shape[Any, L[2]], NoneTape])


def accept_a_ternary() -> None:
    either = tg.ones((3, 5)) if x.size > 3 else tg.ones((4, 5))
    assert_type(
        either @ tg.ones((5, 2)), Tensor[Shape[L[3], L[2]], NoneTape] | Tensor[Shape[L[4], L[2]], NoneTape]
    )


def helper(value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  # the untyped helper in the middle
    return value


def accept_an_untyped_helper() -> None:
    middle = helper(x)  # type: ignore[no-untyped-call]  # under strict, mypy minds
    assert_type(tg.matmul(middle, tg.ones((5, 2))), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(tg.relu(middle).sum(), Tensor[tuple[()], NoneTape])


def accept_partial_and_map() -> None:
    def scaled(a: Tensor[Shape[N], NoneTape], factor: float) -> Tensor[Shape[N], NoneTape]:
        return a * factor

    twice = partial(scaled, factor=2.0)
    twice(tg.ones((3,)))
    list(map(tg.exp, [tg.ones((3,)), tg.ones((4,))]))
    stored = tg.zeros
    stored((3,))


def accept_a_generic_body() -> None:
    def residual(a: Tensor[Shape[N, L[5]], T]) -> Tensor[Shape[N, L[5]], T]:
        b = tg.tanh(nn.Linear(5, 5)(a))
        assert_type(b, Tensor[Shape[N, L[5]], T])
        return a + b

    assert_type(residual(x.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])


def accept_aliases() -> None:
    ones = tg.ones

    def known(a: Batch[L[3]]) -> None:
        assert_type(a, Tensor[Shape[L[3], L[5]], NoneTape])

    known(ones((3, 5)))


def accept_a_bare_tensor_is_any() -> None:
    def anything(a: Tensor) -> int:
        return a.ndim

    anything(x)
    anything(x.trace())


def accept_a_shape_alone_has_no_tape() -> None:
    def plain(a: Tensor[Shape[L[3], L[5]]]) -> None:
        assert_type(a, Tensor[Shape[L[3], L[5]], NoneTape])

    plain(x)


def reject_a_name_for_a_size() -> None:
    tg.zeros((ROWS, COLUMNS)) @ x  # E: matmul: inner sizes differ: x (32, 4) has 4 columns but y (3, 5) has 3 rows [tapegrad-shape]


def reject_in_a_loop() -> None:
    for _ in range(2):
        x @ x  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (3, 5) has 3 rows [tapegrad-shape]


def reject_an_assignment_of_another_shape() -> None:
    y: Tensor[Shape[L[5], L[3]], NoneTape] = x  # E(mypy): reject_an_assignment_of_another_shape: y is (3, 5) but (5, 3) is expected: axis 0 is 3, not 5 [assignment]
    y.sum()
