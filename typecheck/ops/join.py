"""concat, stack and split: tuples, lists, lists of unknown length; every pair of tapes."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))
y = tg.ones((2, 5))


def accept_displays() -> None:
    assert_type(tg.concat([x, y], 1), Tensor[Shape[L[2], L[8]], NoneTape])
    assert_type(tg.concat((x, x, x)), Tensor[Shape[L[6], L[3]], NoneTape])
    assert_type(tg.stack([x, x], -1), Tensor[Shape[L[2], L[3], L[2]], NoneTape])


def accept_tapes_of_any_part() -> None:
    assert_type(tg.concat([x, y.trace()], axis=1), Tensor[Shape[L[2], L[8]], OwnedTape])
    assert_type(tg.stack((x.trace(), x)), Tensor[Shape[L[2], L[2], L[3]], OwnedTape])


def accept_lists_of_unknown_length() -> None:
    def joined(parts: list[Tensor[Shape[L[2], L[3]]]]) -> None:
        assert_type(tg.concat(parts), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.stack(parts), Tensor[Shape[Any, L[2], L[3]], NoneTape])

    joined([x, x, x])


def accept_lists_that_hold_others() -> None:
    def joined(parts: list[Tensor[Shape[L[2], L[3]], NoneTape]], count: int) -> None:
        assert_type(tg.stack([x, *parts]), Tensor[Shape[Any, L[2], L[3]], NoneTape])
        assert_type(tg.stack((*parts, *parts)), Tensor[Shape[Any, L[2], L[3]], NoneTape])
        assert_type(tg.concat([x] * count), Tensor[Shape[Any, L[3]], NoneTape])

    joined([x, x, x], 2)


def accept_rows_made_one_by_one() -> None:
    assert_type(tg.stack([row * 2.0 for row in x.trace()]), Tensor[Shape[Any, L[3]], OwnedTape])
    assert_type(tg.concat(list(map(tg.exp, (x, x))), axis=1), Tensor[Shape[L[2], Any], NoneTape])


def accept_named_sizes() -> None:
    def doubled(a: Tensor[Shape[N, L[3]]]) -> None:
        assert_type(tg.concat([a, a]), Tensor[Shape[Mul[L[2], N], L[3]], NoneTape])

    doubled(x)


def accept_tensors_of_unknown_rank() -> None:
    def joined(a: Tensor[Any, NoneTape], b: Any) -> None:
        assert_type(tg.concat((a, y), axis=-1), Tensor[Shape[L[2], Any], NoneTape])
        assert_type(tg.concat([y, a]), Tensor[Shape[Any, L[5]], NoneTape])
        assert_type(tg.stack([a, y], 1), Tensor[Shape[L[2], L[2], L[5]], NoneTape])
        assert_type(tg.concat([y, b, a], axis=1), Tensor[Shape[L[2], Any], Any])

    joined(y, y)


def accept_split() -> None:
    first, second = tg.split(y, (1, 4), 1)
    assert_type(first, Tensor[Shape[L[2], L[1]], NoneTape])
    assert_type(second, Tensor[Shape[L[2], L[4]], NoneTape])
    first, second = y.split([1, 4], axis=1)
    assert_type(second, Tensor[Shape[L[2], L[4]], NoneTape])
    (row, _) = tg.split(x.trace(), 2)
    assert_type(row, Tensor[Shape[L[1], L[3]], OwnedTape])


def reject_what_becomes_of_a_list_that_holds_another() -> None:
    def joined(parts: list[Tensor[Shape[L[2], L[3]], NoneTape]]) -> None:
        tg.concat([x, *parts]) @ y  # E(mypy): matmul: inner sizes differ: x (?, 3) has 3 columns but y (2, 5) has 2 rows

    joined([x])


def reject_concat() -> None:
    tg.concat([x, y])  # E: concat: tensors[1] (2, 5) has 5 along axis 1 but tensors[0] (2, 3) has 3 [tapegrad-shape]


def reject_concat_along_no_axis() -> None:
    tg.concat([x, x], 2)  # E: concat: axis 2 is out of range for tensors[0] (2, 3) [tapegrad-shape]


def reject_concat_of_any_number_along_no_axis() -> None:
    def joined(parts: list[Tensor[Shape[L[2], L[3]], NoneTape]]) -> None:
        tg.concat(parts, 2)  # E: concat: axis 2 is out of range for tensors[0] (2, 3) [tapegrad-shape]

    joined([x])


def reject_a_size_beside_a_tensor_of_unknown_rank() -> None:
    def joined(a: Tensor[Any, NoneTape]) -> None:
        tg.concat([a, y]) @ x  # E(mypy): matmul: inner sizes differ: x (?, 5) has 5 columns but y (2, 3) has 2 rows [tapegrad-shape]

    assert callable(joined)  # a call would show its sizes


def reject_ranks_beside_a_tensor_of_unknown_rank() -> None:
    def stacked(a: Tensor[Any, NoneTape]) -> None:
        tg.stack([a, y, y.sum(0)])  # E(mypy): stack: tensors[2] (5,) has rank 1 but tensors[1] (2, 5) has rank 2 [tapegrad-shape]

    assert callable(stacked)  # a call would show its sizes


def reject_an_axis_beside_a_tensor_of_unknown_rank() -> None:
    def joined(a: Tensor[Any, NoneTape]) -> None:
        tg.concat([a, y], 2)  # E(mypy): concat: axis 2 is out of range for tensors[1] (2, 5) [tapegrad-shape]

    assert callable(joined)  # a call would show its sizes


def reject_two_dtypes() -> None:
    tg.concat([x, tg.tensor([[1, 2, 3]])])  # E: concat: tensors[0] is float32 but tensors[1] is int64 [tapegrad-dtype]


def reject_stack() -> None:
    tg.stack((x, y))  # E: stack: tensors[1] (2, 5) has 5 along axis 1 but tensors[0] (2, 3) has 3 [tapegrad-shape]


def reject_split() -> None:
    tg.split(y, 2, 1)  # E: split: axis 1 of x (2, 5) is 5, which does not divide into 2 equal parts; parts of 2 are split(x, (2, 2, 1), axis=1) [tapegrad-shape]


def accept_chunk() -> None:
    first, second = tg.chunk(y.trace(), 2, 1)
    assert_type(first, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(second, Tensor[Shape[L[2], L[2]], OwnedTape])


def accept_chunks_of_named_sizes() -> None:
    def cut(a: Tensor[Shape[Mul[L[2], N], L[3]]], b: Tensor[Shape[N, L[3]]]) -> None:
        first, second = tg.chunk(a, 2)
        assert_type(first, Tensor[Shape[N, L[3]], NoneTape])
        assert_type(second, Tensor[Shape[N, L[3]], NoneTape])
        for part in tg.chunk(b, 2):
            assert_type(part, Tensor[Any, NoneTape])

    cut(tg.ones((4, 3)), x)


def accept_unstack() -> None:
    first, second = tg.unstack(x.trace())
    assert_type(first, Tensor[Shape[L[3]], OwnedTape])
    assert_type(second, Tensor[Shape[L[3]], OwnedTape])
    assert_type(tg.unstack(x, 1)[2], Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.unstack(tg.zeros((0, 3))), tuple[()])


def accept_more_parts_than_a_type_lists() -> None:
    parts = tg.split(tg.zeros((5000, 3)).trace(), 5000)
    assert_type(parts, tuple[Tensor[Shape[L[1], L[3]], OwnedTape], ...])
    assert_type(tg.chunk(tg.zeros((9999,)), 5000), tuple[Tensor[Any, NoneTape], ...])


def accept_vectors() -> None:
    assert_type(tg.concat_vectors([x[0], y[1].trace()]), Tensor[Shape[L[8]], OwnedTape])

    def joined(a: Tensor[Shape[N]], parts: list[Tensor[Shape[N]]]) -> None:
        assert_type(tg.concat_vectors([a, a]), Tensor[Shape[Mul[L[2], N]], NoneTape])
        assert_type(tg.concat_vectors(parts), Tensor[Shape[Any], NoneTape])

    joined(x[0], [x[1]])


def reject_chunk() -> None:
    tg.chunk(x, 0)  # E: chunk: chunks is 0 but at least 1 is expected [tapegrad-shape]


def reject_more_parts_than_a_call_gives() -> None:
    nothing = tg.zeros((0,))
    tg.split(nothing, 67_108_864)  # E: split: x (0,) would be cut into 67108864 parts but one call gives at most 1048576 [tapegrad-shape]


def reject_more_chunks_than_a_call_gives() -> None:
    nothing = tg.zeros((0,))
    tg.chunk(nothing, 67_108_864)  # E: chunk: x (0,) would be cut into 67108864 parts but one call gives at most 1048576 [tapegrad-shape]


def reject_more_rows_than_a_call_gives() -> None:
    rows = tg.zeros((67_108_864, 0))
    tg.unstack(rows)  # E: unstack: x (67108864, 0) would be cut into 67108864 parts but one call gives at most 1048576 [tapegrad-shape]


def reject_unstack() -> None:
    tg.unstack(x, 2)  # E: unstack: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_a_part_that_is_not_there() -> None:
    tg.unstack(x)[2]  # E(mypy): Tuple index out of range [misc]


def reject_concat_vectors() -> None:
    tg.concat_vectors([x[0], x])  # E: concat_vectors: tensors[1] (2, 3) has rank 2 but a vector is expected [tapegrad-shape]


def accept_rows_unpacked() -> None:
    _first, second = x
    assert_type(second, Tensor[Shape[L[3]], NoneTape])
    head, *rest = y
    rest[0] + head
    [one, two, three] = x.T
    one + two + three


def reject_rows_unpacked_into_too_few() -> None:
    first, second = x.T  # E(mypy): iter: x (3, 2) has 3 rows but is unpacked into 2 [tapegrad-shape]


def reject_named_rows_unpacked() -> None:
    def pair(a: Tensor[Shape[N, L[3]], NoneTape]) -> Tensor[Shape[L[3]], NoneTape]:
        first, second = a  # E(mypy): iter: x (N, 3) has N rows but is unpacked into 2 [tapegrad-shape]
        return first + second

    pair(x)
