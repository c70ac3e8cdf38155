"""Generic named tuples of tensors: their fields have the sizes of the constructor's arguments."""

from typing import Any, Generic, NamedTuple, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tape, Tensor, guarded

N = TypeVar("N", bound=int)
D = TypeVar("D", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)


class Batch(NamedTuple, Generic[N, D]):
    """Rows, and a number for each."""

    x: Tensor[Shape[N, D], NoneTape]
    y: Tensor[Shape[N], NoneTape]

    @property
    def mean(self) -> Tensor[Shape[D], NoneTape]:
        return self.x.mean(axis=0)

    def rows(self) -> N:
        return self.x.shape[0]


class Weighted(Batch[N, D]):
    """A subclass, with a method more."""

    def weighted(self, by: Tensor[Shape[D]]) -> Tensor[Shape[N, D], NoneTape]:
        return self.x * by


class Pair(NamedTuple, Generic[N, T]):
    """A field of twice the size of another, on any tape."""

    half: Tensor[Shape[N], T]
    whole: Tensor[Shape[Mul[L[2], N]], T]
    size: N


x, y = tg.ones((2, 3)), tg.ones((2,))
w = tg.ones((3, 5))
batch = Batch(x, y)


@guarded
def scored(batch: Batch[N, L[3]]) -> Tensor[Shape[N, L[5]], NoneTape]:
    return batch.x @ w


@guarded
def summed(pair: tuple[Tensor[Shape[N, L[3]]], Tensor[Shape[N]]]) -> Tensor[Shape[N], NoneTape]:
    return pair[0].sum(axis=1) + pair[1]


def made() -> Batch[L[2], L[3]]:
    return Batch(x, y)


def projected(batch: Batch[N, D], by: Tensor[Shape[D, M]]) -> Batch[N, M]:
    return Batch(batch.x @ by, batch.y)


def sizes(pair: Pair[N, NoneTape], other: Pair[N, NoneTape]) -> N:
    assert_type(pair.whole, Tensor[Shape[Mul[L[2], N]], NoneTape])
    return pair.size


def accept_fields() -> None:
    assert_type(batch.x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(batch.x @ w, Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(Batch(x, y).x @ w, Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(batch[1], Tensor[Shape[L[2]], NoneTape])
    assert_type(batch.mean, Tensor[Shape[L[3]], NoneTape])
    assert_type(batch.rows(), L[2])


def accept_unpacking() -> None:
    rows, labels = batch
    assert_type(rows, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(labels, Tensor[Shape[L[2]], NoneTape])


def accept_a_function_that_returns_one() -> None:
    assert_type(made().x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(projected(batch, w).x, Tensor[Shape[L[2], L[5]], NoneTape])


def accept_one_as_an_argument() -> None:
    assert_type(scored(batch), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(summed((x, y)), Tensor[Shape[L[2]], NoneTape])
    assert_type(summed(batch), Tensor[Shape[L[2]], NoneTape])


def accept_other_fields() -> None:
    assert_type(batch._replace(y=tg.zeros((2,))).x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(batch._replace(x=tg.ones((2, 7))).x, Tensor[Shape[L[2], L[7]], NoneTape])
    assert_type(batch._replace(x=tg.ones((4, 3)), y=tg.ones((4,))).y, Tensor[Shape[L[4]], NoneTape])
    assert set(batch._asdict()) == {"x", "y"}


def accept_a_subclass() -> None:
    weighted = Weighted(x, y)
    assert_type(weighted.x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(weighted.weighted(tg.ones((3,))), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(scored(weighted), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_computed_sizes_and_tapes() -> None:
    pair = Pair(tg.ones((3,)), tg.ones((6,)), 3)
    assert_type(pair.whole, Tensor[Shape[L[6]], NoneTape])
    assert_type(pair.size, L[3])
    assert_type(Pair(tg.ones((3,)).trace(), tg.ones((6,)).trace(), 3).half, Tensor[Shape[L[3]], OwnedTape])
    assert_type(sizes(pair, pair), L[3])


def accept_unknown_sizes() -> None:
    def of_any(x: Tensor[Any, NoneTape], y: Tensor[Shape[N]]) -> None:
        batch = Batch(x, y)
        assert_type(batch.y, Tensor[Shape[N], NoneTape])
        scored(batch)

    of_any(x, y)


def reject_a_product_with_a_field() -> None:
    batch.x @ tg.ones((5, 4))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (5, 4) has 5 rows [tapegrad-shape]


def reject_fields_that_do_not_fit() -> None:
    Batch(x, tg.ones((5,)))  # E(mypy): Batch: N is 2 in x but 5 in y [tapegrad-shape]


def reject_a_field_of_an_argument() -> None:
    scored(Batch(tg.ones((2, 4)), y))  # E: scored: batch.x is (2, 4) but (N, 3) is expected: axis 1 is 4, not 3 [tapegrad-shape]


def reject_an_item_of_an_argument() -> None:
    summed((x, tg.ones((5,))))  # E: summed: N is 2 in pair[0] but 5 in pair[1] [tapegrad-shape]


def reject_arguments_of_two_sizes() -> None:
    one, other = Pair(tg.ones((3,)), tg.ones((6,)), 3), Pair(tg.ones((4,)), tg.ones((8,)), 4)
    sizes(one, other)  # E(mypy): sizes: N is 3 in pair.half but 4 in other.half [tapegrad-shape]


def reject_a_field_on_a_tape() -> None:
    pair = Pair(tg.ones((3,)).trace(), tg.ones((6,)).trace(), 3)
    sizes(pair, pair)  # E(mypy): sizes: pair.half has a tape but must have none [tapegrad-tape]


def reject_a_field_that_fits_no_other() -> None:
    batch._replace(x=tg.ones((5, 3)))  # E(mypy): _replace: N is 5 in x but 2 in y [tapegrad-shape]


def reject_a_result_of_another_size() -> None:
    def wrong() -> Batch[L[2], L[4]]:
        return Batch(x, y)  # E(mypy): wrong: the result is Batch[2, 3] but Batch[2, 4] is expected: 3, not 4 [return-value]

    wrong()


class Node(NamedTuple):
    """A tree: its type contains itself."""

    value: Tensor[Shape[L[3]], NoneTape]
    children: "tuple[Node, ...]" = ()


def accept_a_type_that_contains_itself() -> None:
    leaf = Node(tg.ones((3,)))
    tree = Node(tg.zeros((3,)), (leaf,))
    assert [child.value.shape for child in tree.children] == [(3,)]
