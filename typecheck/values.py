"""Sizes as values: unpacked from a shape, computed, named, and passed to an op."""

from enum import IntEnum
from typing import Any, Final, Generic, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, Mul, NoneTape, Shape, Sub, Tensor, nn

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
N = TypeVar("N", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])
D = TypeVar("D", bound=np.generic)

HEADS = 4
WIDTH: Final = HEADS * 6
x = tg.ones((2, 3, 24))


class Width(IntEnum):
    """Sizes by name."""

    PIXELS = 64
    CLASSES = 10
    TWICE = CLASSES * 2


class Axis(IntEnum):
    """Axes by name."""

    ROWS = 0
    COLUMNS = 1


def accept_arithmetic_over_an_unpacked_shape() -> None:
    b, t, d = x.shape
    assert_type(x.reshape((b * t, d)), Tensor[Shape[L[6], L[24]], NoneTape])
    assert_type(x.reshape((b, t, HEADS, d // HEADS)), Tensor[Shape[L[2], L[3], L[4], L[6]], NoneTape])
    assert_type(tg.zeros((t - b, d + 1, d % 7)), Tensor[Shape[L[1], L[25], L[3]], NoneTape])


def accept_named_sizes() -> None:
    def heads(a: Tensor[Shape[B, T, L[24]], NoneTape]) -> None:
        b, t, d = a.shape
        assert_type(a.reshape((b, t, HEADS, d // HEADS)), Tensor[Shape[B, T, L[4], L[6]], NoneTape])
        assert_type(a.reshape((b * t, -1)), Tensor[Shape[Mul[B, T], L[24]], NoneTape])
        assert_type(tg.zeros((t, *a.shape[:2])), Tensor[Shape[T, B, T], NoneTape])

    heads(x)


def accept_a_size_that_is_computed_before_it_is_used() -> None:
    rows = x.shape[0] * x.shape[1]
    half = rows // 2
    shape = (half, 2, WIDTH)
    assert_type(x.reshape((half, 2, WIDTH)), Tensor[Shape[L[3], L[2], L[24]], NoneTape])
    assert_type(x.reshape(shape), Tensor[Shape[L[3], L[2], L[24]], NoneTape])


def accept_length_rank_and_number_of_elements() -> None:
    assert_type(tg.zeros((len(x), x.ndim)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x.reshape((x.size,)), Tensor[Shape[L[144]], NoneTape])
    assert_type(tg.zeros((len(x.shape), len(x) * 2)), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_a_whole_shape_that_goes_by_a_name() -> None:
    def like(a: Tensor[S, NoneTape]) -> Tensor[S, NoneTape]:
        noise: Tensor[Any, NoneTape] = tg.normal(a.shape, rng=0)
        return a + noise * a

    assert_type(like(x), Tensor[Shape[L[2], L[3], L[24]], NoneTape])


def accept_that_both_branches_agree() -> None:
    wide = bool(x.sum() > 1)
    assert_type(tg.zeros((HEADS // 2 if wide else 2, 3)), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_what_may_change_as_unknown() -> None:
    rows = 2
    while (rows := rows + 1) < 5:
        assert_type(tg.zeros((rows,)), Tensor[Shape[Any], NoneTape])

    columns = 3

    def widen() -> None:
        nonlocal columns
        columns = 99

    widen()
    for step in range(2):
        assert_type(tg.zeros((columns, step * 2)), Tensor[Shape[Any, Any], NoneTape])


def accept_a_name_that_stands_for_something_else_later() -> None:
    z = tg.ones((2, 3))
    rows = len(z) * 1
    z = z.T
    assert_type(z, Tensor[Shape[L[3], L[2]], NoneTape])
    tg.ones((5, 2)) @ z.reshape((rows, 3))


def accept_whole_numbers_of_numpy() -> None:
    def sized(k: np.int64, n: int) -> None:
        k = abs(k)  # assigned again, so that it is unknown
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(tg.zeros((k, 3)), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.zeros(k), Tensor[Shape[Any], NoneTape])
        assert_type(tg.zeros(n), Tensor[Shape[Any], NoneTape])
        assert_type(tg.full((2, 3), k), Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(tg.full((2, 3), n), Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(x.reshape((k, -1)), Tensor[Shape[Any, Any], NoneTape])
        assert_type(x[k - 1], Tensor[Shape[L[3], L[24]], NoneTape])
        assert_type(x[..., k], Tensor[Shape[L[2], L[3]], NoneTape])

    sized(np.int64(2), 2)
    assert_type(tg.zeros((np.int64(2), 3)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x.reshape((np.int32(18), int(HEADS), 2)), Tensor[Shape[L[18], L[4], L[2]], NoneTape])
    assert_type(x[np.argmax(x.numpy()[:, 0, 0])], Tensor[Shape[L[3], L[24]], NoneTape])


def accept_a_division_by_what_may_be_zero() -> None:
    def rest(a: Tensor[Shape[N], NoneTape], n: int) -> None:
        assert a.size % n == 0
        tg.zeros((12 // n, a.shape[0] // n))

    rest(tg.ones((6,)), 3)


def accept_an_unknown_number_where_a_size_is_expected() -> None:
    def half(a: Tensor[Shape[N], NoneTape], parts: int) -> FloorDiv[N, L[2]]:
        n: FloorDiv[N, L[2]] = len(a) // parts
        return n if parts == 2 else a.shape[0] // parts

    assert_type(half(tg.ones((7,)), 2), L[3])


def accept_arithmetic_where_a_size_is_expected() -> None:
    def one_more(n: N) -> Add[N, L[1]]:
        return n + 1

    def doubled(n: N, b: B) -> tuple[Mul[L[2], N], Mul[B, N], B]:
        return 2 * n, n * b, b

    def last(a: Tensor[Shape[Add[N, L[1]], B], NoneTape]) -> N:
        return a.shape[0] - 1

    def half(a: Tensor[Shape[N], NoneTape], *, whole: bool) -> FloorDiv[N, L[2]]:
        n: FloorDiv[N, L[2]] = len(a) // 2
        return n if whole else a.shape[0] // 2

    assert_type(one_more(3), L[4])
    assert_type(doubled(3, 5), tuple[L[6], L[15], L[5]])
    assert_type(last(tg.ones((3, 5))), L[2])
    assert_type(half(tg.ones((7,)), whole=True), L[3])


def accept_a_name_for_a_size_that_is_given_back() -> None:
    def one_more(n: N) -> Add[N, L[1]]:
        k = n + 1
        assert_type(tg.zeros((k,)), Tensor[Shape[Add[N, L[1]]], NoneTape])
        return k

    def either(n: N, b: B, *, long: bool) -> tuple[Mul[N, B], Add[B, L[1]]]:
        product = n * b
        more = b + 1 if long else 1 + b
        return product, more

    def elements(a: Tensor[Shape[N, B], NoneTape]) -> Mul[N, B]:
        return a.size

    def listed(n: N) -> int:
        k = n + 1
        sizes = [k]
        sizes.append(7)
        return k

    assert_type(one_more(3), L[4])
    assert_type(either(3, 5, long=True), tuple[L[15], L[6]])
    assert_type(elements(tg.ones((3, 5))), L[15])
    assert_type(listed(3), int)


def accept_a_number_that_is_bound_again() -> None:
    def counted(n: N) -> int:
        k = n + 1
        k = 7
        return k + n

    counted(3)


def accept_a_name_by_its_last_line() -> None:
    n = 3
    assert_type(tg.zeros((n, 2)), Tensor[Shape[L[3], L[2]], NoneTape])
    n = 5
    if x.ndim:
        assert_type(tg.zeros((n, 2)), Tensor[Shape[L[5], L[2]], NoneTape])


def accept_names_that_are_bound_in_pairs() -> None:
    n, m = 6, 8
    (a, [b, c]), d = (2, [len(x.shape), 3]), 4
    assert_type(tg.zeros((n, m)), Tensor[Shape[L[6], L[8]], NoneTape])
    assert_type(tg.zeros((a, b, c, d)), Tensor[Shape[L[2], L[3], L[3], L[4]], NoneTape])
    n, m = m, n
    assert_type(tg.zeros((n, m)), Tensor[Shape[Any, Any], NoneTape])
    n, m = 5, n
    assert_type(tg.zeros((n, m)), Tensor[Shape[L[5], Any], NoneTape])
    first, *others = 1, 2, 3
    assert_type(tg.zeros((3, len(others))) @ tg.ones((len(others), 2)), Tensor[Shape[L[3], L[2]], NoneTape])
    tg.ones((5, 1)) @ tg.zeros((first, len(others)))


def reject_an_index_past_a_size_bound_in_a_pair() -> None:
    n, m = 6, 8
    tg.zeros((n, m))[0, 9]  # E: getitem: index 9 is out of range for axis 1 of x (6, 8)


def accept_a_name_that_branches_agree_on() -> None:
    def counted(a: Tensor[Shape[N, B], NoneTape], *, long: bool) -> None:
        if long:
            k = len(a)
        elif a.ndim > 3:
            k = a.size // a.shape[1]
        else:
            k = a.shape[0]
        assert_type(tg.zeros((k, 2)), Tensor[Shape[N, L[2]], NoneTape])
        if long:
            k = 3
        assert_type(tg.zeros((k, 2)), Tensor[Shape[Any, L[2]], NoneTape])

    counted(tg.ones((3, 5)), long=False)


def accept_a_name_that_something_else_may_bind() -> None:
    n = 2

    def changed() -> int:
        nonlocal n
        n = 4
        return n

    k = 3
    for _ in range(2):
        assert_type(tg.zeros((k, 2)), Tensor[Shape[Any, L[2]], NoneTape])
        k = 4
    try:
        k = int("five")
    except ValueError:
        assert_type(tg.zeros((k, 2)), Tensor[Shape[Any, L[2]], NoneTape])
    k = 3
    _ = [k := 4 for _ in range(2)]
    assert_type(tg.zeros((k, 2)), Tensor[Shape[Any, L[2]], NoneTape])
    n = 5
    changed()
    assert_type(tg.zeros((n, 2)), Tensor[Shape[Any, L[2]], NoneTape])


def accept_a_slice_up_to_a_part() -> None:
    def halves(a: Tensor[Shape[B, N], NoneTape]) -> Tensor[Shape[B, N], NoneTape]:
        n = a.shape[1]
        assert_type(a[:, : n // 2], Tensor[Shape[B, FloorDiv[N, L[2]]], NoneTape])
        assert_type(a[:, n // 2 :], Tensor[Shape[B, Sub[N, FloorDiv[N, L[2]]]], NoneTape])
        assert_type(a[:, n // 3 : n // 3 * 2], Tensor[Shape[B, FloorDiv[N, L[3]]], NoneTape])
        assert_type(a[:, n // 2 : n + 1], Tensor[Shape[B, Sub[N, FloorDiv[N, L[2]]]], NoneTape])
        return tg.concat([a[:, : n // 2], a[:, n // 2 :]], axis=1)

    assert_type(halves(tg.ones((2, 5))), Tensor[Shape[L[2], L[5]], NoneTape])


class Table(nn.Module, Generic[B, N]):
    """Attributes whose sizes are computed from those of the object."""

    cells: Mul[B, N]
    rows: Tensor[Shape[Mul[B, N], Add[N, L[1]]], NoneTape]

    def __init__(self, b: B, n: N) -> None:
        self.cells = b * n
        self.rows = tg.zeros((b * n, n + 1))
        self.layers = [nn.Linear(b * n, n)]


def accept_slices_and_lists_that_go_by_a_name() -> None:
    part, first, order = slice(1, 3), slice(None, 1), [6, 24]
    columns = slice(0, 5)
    assert_type(x[0, part], Tensor[Shape[L[2], L[24]], NoneTape])
    assert_type(x[first, :, columns], Tensor[Shape[L[1], L[3], L[5]], NoneTape])
    assert_type(x.reshape(order), Tensor[Shape[L[6], L[24]], NoneTape])
    sizes = [20, 4]
    assert_type(x.split(sizes, axis=2)[1], Tensor[Shape[L[2], L[3], L[4]], NoneTape])


def accept_slices_and_lists_that_change() -> None:
    bound = 2
    part = slice(0, bound)
    bound = 3
    assert x[0, part].shape == (2, 24)
    for start in range(2):
        turn = slice(start, 2 * start + 1)
        assert x[0, turn].shape == (start + 1, 24)
    shape = [6, 24]
    shape[0] = 3
    shape[1] = 48
    x.reshape(shape) @ tg.ones((48, 2))


def accept_attributes_of_computed_sizes() -> None:
    table = Table(4, 5)
    assert_type(table.rows, Tensor[Shape[L[20], L[6]], NoneTape])
    assert_type(table.layers[0], nn.Linear[L[20], L[5], L[True]])
    assert_type(tg.zeros((table.cells, 2)), Tensor[Shape[L[20], L[2]], NoneTape])


def reject_arithmetic_of_another_size() -> None:
    def one_more(n: N) -> Add[N, L[1]]:
        return n + 2  # E(mypy): one_more: the result is N + 2 but N + 1 is expected [return-value]

    one_more(3)


def reject_a_name_for_another_size() -> None:
    def one_more(n: N) -> Add[N, L[1]]:
        k = n + 2
        assert k > n
        return k  # E(mypy): one_more: the result is N + 2 but N + 1 is expected [return-value]

    one_more(3)


def reject_an_unknown_size_beside_a_computed_one() -> None:
    def either(n: N, b: B, more: int) -> tuple[Mul[N, B], Add[B, L[1]]]:
        product = n * b
        return product, more  # E(mypy): either: the result[1] is ? but B + 1 is expected [return-value]

    either(3, 5, 6)


def reject_a_slice_by_a_name() -> None:
    part = slice(0, 2)
    x[0, part] + tg.ones((3, 24))  # E: add: x (2, 24) and y (3, 24) do not broadcast: axis -2 is 2 in x but 3 in y [tapegrad-shape]


def reject_a_list_of_sizes_by_a_name() -> None:
    sizes = [6, 23]
    x.reshape(sizes)  # E: reshape: x (2, 3, 24) has 144 elements but shape (6, 23) has 138 [tapegrad-shape]


def reject_an_attribute_of_a_computed_size() -> None:
    Table(4, 5).rows @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (20, 6) has 6 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_product_that_does_not_come_out() -> None:
    b, t, d = x.shape
    x.reshape((b, t, HEADS, d // HEADS + 1))  # E: reshape: x (2, 3, 24) has 144 elements but shape (2, 3, 4, 7) has 168


def reject_a_named_product_that_does_not_come_out() -> None:
    def one_more(a: Tensor[Shape[B, L[24]], NoneTape]) -> None:
        b, d = a.shape
        a.reshape((b + 1, d))  # E(mypy): reshape: x (B, 24) has 24*B elements but shape (B + 1, 24) has 24*B + 24

    one_more(tg.ones((2, 24)))


def reject_an_index_of_numpy_past_the_end() -> None:
    x[np.int64(2)]  # E: getitem: index 2 is out of range for axis 0 of x (2, 3, 24) [tapegrad-shape]


def reject_numbers_of_numpy_that_do_not_come_out() -> None:
    x.reshape((np.int64(29), 5))  # E: reshape: x (2, 3, 24) has 144 elements but shape (29, 5) has 145 [tapegrad-shape]


def reject_a_length_that_does_not_fit() -> None:
    y = tg.ones((2, 3))
    y @ tg.ones((len(x), 5))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 5) has 2 rows


def accept_members_of_an_enum_of_numbers() -> None:
    a = tg.ones((Width.PIXELS, Width.CLASSES))
    assert_type(a, Tensor[Shape[L[64], L[10]], NoneTape])
    assert_type(a.reshape((Width.CLASSES * 2, -1)), Tensor[Shape[L[20], L[32]], NoneTape])
    assert_type(a.sum(axis=Axis.COLUMNS), Tensor[Shape[L[64]], NoneTape])
    assert_type(a[Axis.COLUMNS], Tensor[Shape[L[10]], NoneTape])
    assert_type(tg.ones((Width.TWICE, 3)), Tensor[Shape[L[20], L[3]], NoneTape])
    width = Width.CLASSES
    assert_type(nn.Linear(Width.PIXELS, width), nn.Linear[L[64], L[10], L[True]])


def reject_a_member_that_does_not_fit() -> None:
    nn.Linear(Width.PIXELS, 5)(tg.ones((3, Width.CLASSES)))  # E: Linear(64, 5): x is (3, 10) but (..., 64) is expected: axis -1 is 10, not 64


def reject_an_axis_by_name() -> None:
    x.sum(axis=Width.CLASSES)  # E: sum: axis 10 is out of range for x (2, 3, 24) [tapegrad-shape]


def accept_the_number_of_one_element() -> None:
    tg.ones(()).item()
    tg.ones((1, 1)).item()

    def read(a: Tensor[Shape[N], NoneTape], b: Tensor[Any]) -> None:
        a.item()  # N may be 1
        b.item()

    read(tg.ones((1,)), tg.ones(()))


def accept_the_kind_of_number_that_a_dtype_has() -> None:
    x = tg.ones((2, 5))
    assert_type(x.mean().item(), float)
    assert_type(x.mean().astype(tg.bfloat16).item(), float)
    assert_type(x.argmax().item(), int)
    assert_type((x > 0.0).all().item(), bool)

    def read(a: Tensor[Any, NoneTape, Any], b: Tensor[Shape[()], NoneTape, D]) -> None:
        assert_type(a.item(), Any)
        assert_type(b.item(), Any)

    read(x.mean(), x.mean())
    assert max(x.sum().item(), 0.0) == 10.0


def accept_shapes_that_are_put_together() -> None:
    sides = [3, 4]
    assert_type(tg.ones((2, *sides)), Tensor[Shape[L[2], L[3], L[4]], NoneTape])
    assert_type(tg.ones(tuple(sides)), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.ones(tuple(2 * side for side in sides)), Tensor[Shape[L[6], L[8]], NoneTape])
    assert_type(x.reshape(2, *sides, 6), Tensor[Shape[L[2], L[3], L[4], L[6]], NoneTape])
    assert_type(x.reshape(2, *[1] * (x.ndim - 1), -1), Tensor[Shape[L[2], L[1], L[1], L[72]], NoneTape])
    assert_type(tg.ones(x.shape[:1] + (1,) * (x.ndim - 1)), Tensor[Shape[L[2], L[1], L[1]], NoneTape])
    assert_type(tg.ones(tuple(reversed(x.shape))), Tensor[Shape[L[24], L[3], L[2]], NoneTape])
    pair = (24, 5)
    assert_type(nn.Linear(*pair)(x), Tensor[Shape[L[2], L[3], L[5]], NoneTape])

    def grow(sides: list[int]) -> None:
        sizes = [2, 3]
        sizes += sides
        assert_type(tg.ones((2, *sizes)), Tensor[Any, NoneTape])

    grow([3, 4])


def reject_a_shape_that_is_put_together() -> None:
    sides = [3, 4]
    x.reshape(2, *sides)  # E: reshape: x (2, 3, 24) has 144 elements but shape (2, 3, 4) has 24 [tapegrad-shape]


def reject_axes_that_a_rank_adds() -> None:
    x * tg.ones((3,) + (1,) * (x.ndim - 1))  # E: mul: x (2, 3, 24) and y (3, 1, 1) do not broadcast: axis -3 is 2 in x but 3 in y [tapegrad-shape]


def reject_sizes_of_a_starred_pair() -> None:
    pair = (23, 5)
    nn.Linear(*pair)(x)  # E: Linear(23, 5): x is (2, 3, 24) but (..., 23) is expected: axis -1 is 24, not 23 [tapegrad-shape]


def reject_the_number_of_ten_elements() -> None:
    tg.ones((2, 5)).item()  # E: item: a tensor of shape (2, 5) has 10 elements, not one [tapegrad-shape]


def reject_the_number_of_none() -> None:
    tg.ones((0,)).item()  # E: item: a tensor of shape (0,) has 0 elements, not one [tapegrad-shape]
