"""Calls of user-defined functions: sizes are bound through every kind of parameter."""

from typing import Any, Generic, assert_type, overload
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple

import tapegrad as tg
from tapegrad import Add, FloorDiv, Merge, Mul, NoneTape, OwnedTape, Shape, Sub, Tape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
T2 = TypeVar("T2", bound=Tape)
D = TypeVar("D", bound=np.generic)
Rest = TypeVarTuple("Rest")
Layer = TypeVar("Layer", bound=nn.Module)

three = tg.ones((3,))
four = tg.ones((4,))
x = tg.ones((3, 5))


def same(a: Tensor[Shape[N], T], b: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]:
    return a + b


def turned(a: Tensor[Shape[N, M], T]) -> Tensor[Shape[M, N], T]:
    return a.T


def kept(a: Tensor[S, T, D]) -> Tensor[S, T, D]:
    return a


def rows(*parts: Tensor[Shape[N, M], NoneTape]) -> Tensor[Shape[Any, M], NoneTape]:
    return parts[0]


def last(a: Tensor[Shape[*Rest, N], T]) -> Tensor[Shape[N], T]:
    wide: Any = a
    result: Tensor[Shape[N], T] = wide.reshape((-1, wide.shape[-1])).sum(axis=0)
    return result


def joined(a: Tensor[Shape[N], T], b: Tensor[Shape[M], T2]) -> Tensor[Shape[Add[N, M]], Merge[T, T2]]:
    result: Any = a.sum() * tg.ones((a.shape[0] + b.shape[0],)) + b.sum()
    joint: Tensor[Shape[Add[N, M]], Merge[T, T2]] = result
    return joint


def doubled(a: Tensor[Shape[N, Mul[L[2], N]], NoneTape]) -> Tensor[Shape[N], NoneTape]:
    return a.sum(axis=1)


def accept_names_bound_by_position_and_keyword() -> None:
    assert_type(same(three, three), Tensor[Shape[L[3]], NoneTape])
    assert_type(same(b=three, a=three), Tensor[Shape[L[3]], NoneTape])


def accept_one_tape_variable_merges() -> None:
    assert_type(same(three.trace(), three), Tensor[Shape[L[3]], OwnedTape])
    assert_type(same(three, three.trace()), Tensor[Shape[L[3]], OwnedTape])


def accept_turned_twice() -> None:
    assert_type(turned(x), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(turned(turned(x)), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_a_whole_shape() -> None:
    assert_type(kept(x), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(kept(tg.tensor([1, 2])), Tensor[Shape[L[2]], NoneTape, np.int64])


def accept_any_number_of_sizes() -> None:
    assert_type(last(x), Tensor[Shape[L[5]], NoneTape])
    assert_type(last(tg.ones((2, 3, 7))), Tensor[Shape[L[7]], NoneTape])


def accept_computed_sizes() -> None:
    assert_type(joined(three, four.trace()), Tensor[Shape[L[7]], OwnedTape])
    assert_type(doubled(tg.ones((3, 6))), Tensor[Shape[L[3]], NoneTape])


def accept_the_normal_form() -> None:
    def swapped(a: Tensor[Shape[N], T], b: Tensor[Shape[M], T]) -> Tensor[Shape[Add[M, N]], T]:
        return joined(a, b)

    def halved(a: Tensor[Shape[Mul[L[2], N]], T]) -> Tensor[Shape[FloorDiv[Mul[N, L[2]], L[1]]], T]:
        return a

    def same_padding(a: Tensor[Shape[Sub[Add[N, L[2]], L[2]]], T]) -> Tensor[Shape[N], T]:
        return a

    assert_type(swapped(three, four), Tensor[Shape[L[7]], NoneTape])
    halved(four)
    assert_type(same_padding(four), Tensor[Shape[L[4]], NoneTape])


def accept_star_arguments() -> None:
    pair: Any = (three, three)
    assert_type(same(*pair), Tensor[Shape[Any], Any])
    assert_type(rows(x, tg.ones((3, 5))), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_any_operand() -> None:
    unknown: Any = three
    assert_type(same(three, unknown), Tensor[Shape[L[3]], Any])
    assert_type(same(three.trace(), unknown), Tensor[Shape[L[3]], OwnedTape])


def accept_overloads_of_other_things() -> None:
    @overload
    def taken(a: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]: ...
    @overload
    def taken(a: Layer) -> Layer: ...
    def taken(a: Any) -> Any:
        return a

    @overload
    def first(a: Layer) -> Layer: ...
    @overload
    def first(a: Tensor[Shape[N, M], T]) -> Tensor[Shape[N], T]: ...
    def first(a: Any) -> Any:
        return a if isinstance(a, nn.Module) else a[:, 0]

    assert_type(taken(three), Tensor[Shape[L[3]], NoneTape])
    assert_type(taken(nn.Linear(3, 5)), nn.Linear[L[3], L[5], L[True]])
    assert_type(first(nn.Linear(3, 5)), nn.Linear[L[3], L[5], L[True]])
    assert_type(first(x.trace()), Tensor[Shape[L[3]], OwnedTape])


def accept_overloads() -> None:
    @overload
    def half(a: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[N], NoneTape]: ...
    @overload
    def half(a: Tensor[Shape[N], OwnedTape]) -> Tensor[tuple[()], OwnedTape]: ...
    def half(a: Any) -> Any:
        return a.sum() if a.owns_tape else a

    assert_type(half(three), Tensor[Shape[L[3]], NoneTape])
    assert_type(half(three.trace()), Tensor[tuple[()], OwnedTape])


def accept_methods_and_super() -> None:
    class Base(Generic[N]):
        def __init__(self, n: N) -> None:
            self.n = n

        def scaled(self, a: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]:
            return a * 2.0

    class Child(Base[N]):
        def __init__(self, n: N) -> None:
            super().__init__(n)

        def scaled(self, a: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]:
            return super().scaled(a) + 1.0

    assert_type(Child(3).scaled(three), Tensor[Shape[L[3]], NoneTape])


def reject_two_sizes_for_one_name() -> None:
    same(three, four)  # E(mypy): same: N is 3 in a but 4 in b [tapegrad-shape]


def reject_two_sizes_for_one_name_by_keyword() -> None:
    same(b=three, a=four)  # E(mypy): same: N is 4 in a but 3 in b [tapegrad-shape]


def reject_another_rank() -> None:
    turned(three)  # E(mypy): turned: a is (3,) but (N, M) is expected: rank 1, not 2 [tapegrad-shape]


def reject_another_number() -> None:
    def five(a: Tensor[Shape[N, L[5]], NoneTape]) -> None: ...

    five(tg.ones((5, 3)))  # E(mypy): five: a is (5, 3) but (N, 5) is expected: axis 1 is 3, not 5 [tapegrad-shape]


def reject_a_computed_size() -> None:
    doubled(tg.ones((3, 7)))  # E(mypy): doubled: a is (3, 7) but (N, 2*N) is expected: axis 1 is 7, not 2*N = 6 [tapegrad-shape]


def reject_a_tape_where_none_may_be() -> None:
    doubled(tg.ones((3, 6)).trace())  # E(mypy): doubled: a has a tape but must have none [tapegrad-tape]


def reject_no_tape_where_one_must_be() -> None:
    def trained(a: Tensor[Shape[N], OwnedTape]) -> None: ...

    trained(three)  # E(mypy): trained: a has no tape but needs one [tapegrad-tape]


def reject_another_dtype() -> None:
    def labelled(a: Tensor[Shape[N], NoneTape, np.int64]) -> None: ...

    labelled(three)  # E(mypy): labelled: a is float32 but int64 is expected [tapegrad-dtype]


def reject_two_shapes_for_one_name() -> None:
    def alike(a: Tensor[S, NoneTape], b: Tensor[S, NoneTape]) -> None: ...

    alike(x, turned(x))  # E(mypy): alike: S is (3, 5) in a but (5, 3) in b [tapegrad-shape]


def accept_an_axis_of_numpy() -> None:
    for axis in np.argsort(x.shape):
        assert_type(x.sum(axis), Tensor[Any, NoneTape])
        assert_type(tg.softmax(x, axis), Tensor[Shape[L[3], L[5]], NoneTape])
        assert_type(tg.concat([x, x], axis), Tensor[Any, NoneTape])
    assert_type(x.mean((np.int64(0), 1)), Tensor[Shape[()], NoneTape])
    assert_type(x.transpose((np.int32(1), np.int32(0))), Tensor[Shape[L[5], L[3]], NoneTape])


def reject_an_argument_by_its_keyword() -> None:
    @guarded
    def summed(**parts: Tensor[Shape[L[3]], NoneTape]) -> None:
        pass

    summed(first=tg.ones((3,)), second=tg.ones((4,)))  # E: summed: second is (4,) but (3,) is expected: axis 0 is 4, not 3 [tapegrad-shape]


def reject_the_only_one_of_any_number() -> None:
    @guarded
    def summed(*parts: Tensor[Shape[L[3]], NoneTape]) -> None:
        pass

    summed(tg.ones((4,)))  # E: summed: parts[0] is (4,) but (3,) is expected: axis 0 is 4, not 3 [tapegrad-shape]


def reject_one_of_many_arguments() -> None:
    rows(x, tg.ones((3, 4)))  # E(mypy): rows: M is 5 in parts[0] but 4 in parts[1] [tapegrad-shape]


def reject_a_method_of_a_sized_object() -> None:
    class Box(Generic[N]):
        def __init__(self, n: N) -> None:
            self.n = n

        def put(self, a: Tensor[Shape[N], NoneTape]) -> None: ...

    Box(4).put(three)  # E(mypy): Box.put: a is (3,) but (4,) is expected: axis 0 is 3, not 4 [tapegrad-shape]


def reject_names_that_are_two() -> None:
    def mixed(a: Tensor[Shape[N], NoneTape], b: Tensor[Shape[M], NoneTape]) -> None:
        same(a, b)  # E(mypy): same: N is N in a but M in b [tapegrad-shape]

    mixed(three, four)


def reject_a_return_of_another_shape() -> None:
    def wrong(a: Tensor[Shape[N, M], NoneTape]) -> Tensor[Shape[N, M], NoneTape]:
        return a.T  # E(mypy): wrong: the result is (M, N) but (N, M) is expected: axis 0 is M, not N [return-value]

    wrong(x)


def reject_an_operand_that_is_missing() -> None:
    tg.matmul(x)  # E(mypy): Missing positional argument "y" in call to "matmul" [call-arg]


def accept_a_parameter_of_several_tensors() -> None:
    def rank(x: Tensor[Shape[L[3]], NoneTape] | Tensor[Shape[N, L[4]], OwnedTape]) -> int:
        return x.ndim

    rank(tg.ones((3,)))
    rank(tg.ones((2, 4)).trace())
