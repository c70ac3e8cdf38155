"""Tensors and layers in containers: conditionals, starred arguments, covariant lists, lists of layers."""

import itertools
from collections.abc import Sequence
from typing import Any, TypeVar, assert_type
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
T = TypeVar("T")

x = tg.ones((2, 3))


def chosen(flag: bool) -> nn.ReLU | nn.Tanh:  # noqa: FBT001  # the choice
    return nn.ReLU() if flag else nn.Tanh()


def longest(rows: Sequence[Tensor[Shape[N]]]) -> Tensor[Shape[N]]:
    return rows[0]


def accept_a_choice_of_layers() -> None:
    model = nn.Sequential(nn.Linear(3, 4), chosen(flag=True), nn.Linear(4, 2))
    assert_type(model(x), Tensor[Shape[L[2], L[2]], NoneTape])
    assert_type(model(x.trace()), Tensor[Shape[L[2], L[2]], OwnedTape])
    either: nn.Linear[L[3], L[5]] | nn.Linear[L[3], L[7]] = nn.Linear(3, 5) if len(x) == 2 else nn.Linear(3, 7)
    assert_type(nn.Sequential(either, nn.ReLU())(x), Tensor[Shape[L[2], Any], NoneTape])


def accept_any_number_of_layers() -> None:
    same = [nn.Linear(3, 3) for _ in range(2)]
    assert_type(nn.Sequential(*same)(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(nn.Sequential(*same, nn.Linear(3, 5))(x.trace()), Tensor[Shape[L[2], L[5]], OwnedTape])
    widths = [3, 8, 5]
    layers = [nn.Linear(n, m) for n, m in itertools.pairwise(widths)]
    assert_type(nn.Sequential(*layers)(x), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_layers_that_are_added_one_by_one() -> None:
    layers = [nn.Linear(3, 8)]
    layers.append(nn.Linear(8, 5))
    layers[0] = nn.Linear(3, 8)
    layers += [nn.Linear(5, 2)]
    by_name = {"first": nn.Linear(3, 8)}
    by_name["second"] = nn.Linear(8, 5)
    y = layers[1](layers[0](x))
    assert_type(y, Tensor[Shape[L[2], Any], NoneTape])
    assert_type(by_name["second"](by_name["first"](x)) @ tg.ones((5, 7)), Tensor[Shape[L[2], L[7]], NoneTape])


def accept_a_loop_over_different_layers() -> None:
    y: Tensor[Shape[L[2], Any]] = x
    for layer in [nn.Linear(3, 8), nn.Linear(8, 5)]:
        y = layer(y)
    y @ tg.ones((5, 1))


def accept_stars_of_a_known_number() -> None:
    pair = (x, tg.ones((3, 4)))
    listed = [x, tg.ones((3, 4))]
    assert_type(tg.matmul(*pair), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(tg.matmul(*listed), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_a_list_that_is_only_read() -> None:
    views = [x, tg.ones((4, 3)).trace()]
    assert_type(tg.concat(views), Tensor[Shape[L[6], L[3]], OwnedTape])
    assert_type(tg.concat([*views, tg.ones((1, 3))]), Tensor[Shape[L[7], L[3]], OwnedTape])
    rows = [tg.ones(3), tg.ones(3)]
    assert_type(longest(rows), Tensor[Shape[L[3]], NoneTape])
    assert_type(longest([*rows, tg.ones(3)]), Tensor[Shape[L[3]], NoneTape])


def accept_a_list_that_grows() -> None:
    views = [x]
    views.append(tg.ones((4, 3)))
    tg.concat(views) @ tg.ones((3, 1))
    tg.ones((1, 6)) @ tg.concat(views)
    changing, h = [], tg.ones((2, 3))
    for width in (5, 7):
        changing.append(h)
        h = tg.ones((2, width))
    tg.concat(changing, axis=1) @ tg.ones((8, 1))
    shared = [x]
    fill(shared)
    tg.concat(shared, axis=0) @ tg.ones((3, 1))
    tg.stack([*shared, tg.ones((2, 3))])


def fill(tensors: list[Tensor[Shape[L[2], L[3]], NoneTape]]) -> None:
    tensors.append(tg.ones((2, 3)))


def add(tensors: list[Tensor]) -> None:
    tensors.append(tg.ones((4, 5)))


def shown(tensors: list[Tensor]) -> str:
    return " ".join(str(one.shape) for one in tensors)


def with_item(items: list[T], item: T) -> list[T]:
    items.append(item)
    return items


def accept_what_functions_append_to_a_list() -> None:
    given = [x]
    add(given)
    given[-1] @ tg.ones((5, 2))
    later = given[1:]
    later[0] @ tg.ones((5, 2))
    around = [x]

    def inner() -> None:
        add(around)

    inner()
    around[-1] @ tg.ones((5, 2))
    first = [x]
    second = first
    second.append(tg.ones((4, 5)))
    first[-1] @ tg.ones((5, 2))
    by_name = {"a": [x]}
    add(by_name["a"])
    by_name["a"][-1] @ tg.ones((5, 2))
    any_items = [x]
    with_item(any_items, tg.ones((4, 5)))
    any_items[-1] @ tg.ones((5, 2))
    unread = [nn.Linear(2, 3)]
    grow(unread)
    unread[-1](tg.ones((4, 5)))


class Views:
    def __init__(self) -> None:
        kept = [x]
        both = self.both = [x]
        other = [x]
        self.kept, self.other = kept, other
        kept.append(tg.ones((4, 5)))
        both.append(tg.ones((4, 5)))
        self.last = self.kept[-1] @ tg.ones((5, 2))


def accept_what_another_name_of_a_list_in_an_attribute_appends() -> None:
    views = Views()
    views.kept[-1] @ tg.ones((5, 2))
    views.both[-1] @ tg.ones((5, 2))


def reject_an_item_of_a_list_with_another_name() -> None:
    Views().other[-1] @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def found(count: int) -> list[list[int]] | None:
    return [[count]] if count else None


def take(items: list[int]) -> None:
    items.append(3)


def accept_a_list_that_is_no_longer_none() -> None:
    lists = found(2)
    if lists is None:
        return
    take(lists[0])
    assert len(lists) == 1


def grow(layers: list[nn.Linear[Any, Any]]) -> None:
    layers.append(nn.Linear(5, 7))


def reject_an_item_of_a_list_that_functions_only_read() -> None:
    given = [x]
    shown(given)
    given[-1] @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def accept_what_is_appended_to_a_list() -> None:
    steps = []
    others: list[Tensor] = []
    for _ in range(3):
        steps.append(tg.tanh(x))
        others.append(x * 2.0)
    assert_type(tg.stack(steps, axis=1), Tensor[Shape[L[2], Any, L[3]], NoneTape])
    assert_type(tg.concat(others, axis=1), Tensor[Shape[L[2], Any], NoneTape])


def reject_what_is_appended_to_a_list() -> None:
    steps: list[Tensor] = []
    step = x
    for _ in range(3):
        step = tg.tanh(step)
        steps.append(step)
    tg.stack(steps) @ tg.ones((4, 2))  # E(mypy): matmul: inner sizes differ: x (?, 2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def accept_what_sums_of_lists_add(count: int = 5) -> None:
    steps = [x]
    for n in range(count + 1):
        steps = steps + [tg.ones((n, 3))]  # noqa: RUF005  # the sum of lists under test
    steps[-1] + tg.ones((5, 3))
    first = [tg.ones((count, 3))] + [x]  # noqa: RUF005  # the sum of lists under test
    assert_type(first[0], Tensor[Shape[Any, L[3]], NoneTape])
    starred = [x] + [*first]  # noqa: RUF005  # the sum of lists under test
    assert_type(starred[1], Tensor[Shape[Any, L[3]], NoneTape])


def reject_what_sums_of_lists_give() -> None:
    steps = [x]
    for _ in range(3):
        steps = steps + [tg.ones((2, 3))]  # noqa: RUF005  # the sum of lists under test
    steps[-1] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_what_all_layers_of_a_choice_give() -> None:
    model = nn.Sequential(nn.Linear(3, 4), chosen(flag=True), nn.Linear(5, 2))  # E(mypy): Sequential[2] Linear(5, 2): x is (..., 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]
    model(x)


def reject_starred_operands() -> None:
    pair = (x, tg.ones((4, 4)))
    tg.matmul(*pair)  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 4) has 4 rows [tapegrad-shape]


def reject_a_list_of_different_columns() -> None:
    views = [x, tg.ones((2, 4))]
    tg.concat(views)  # E: concat: tensors[1] (2, 4) has 4 along axis 1 but tensors[0] (2, 3) has 3 [tapegrad-shape]


def reject_a_list_of_different_sizes() -> None:
    rows = [tg.ones(3), tg.ones(4)]
    longest(rows)  # E(mypy): longest: N is 3 in rows[0] but 4 in rows[1] [tapegrad-shape]
    tg.stack(rows)  # E: stack: tensors[1] (4,) has 4 along axis 0 but tensors[0] (3,) has 3 [tapegrad-shape]


def accept_the_length_of_a_list() -> None:
    count = 3
    rows = [tg.ones((2, 3)) for _ in range(count)]
    pair = [x, tg.ones((2, 3))]
    assert_type(tg.stack(rows), Tensor[Shape[L[3], L[2], L[3]], NoneTape])
    assert_type(tg.concat(rows), Tensor[Shape[L[6], L[3]], NoneTape])
    assert_type(tg.zeros((len(rows), len(pair))), Tensor[Shape[L[3], L[2]], NoneTape])


def reject_a_list_of_another_length() -> None:
    rows = [tg.ones((2, 3)) for _ in range(4)]
    tg.stack(rows) + tg.ones((3, 2, 3))  # E: add: x (4, 2, 3) and y (3, 2, 3) do not broadcast: axis -3 is 4 in x but 3 in y [tapegrad-shape]


def reject_a_size_from_the_length_of_a_list() -> None:
    rows = [tg.ones((2, 3)) for _ in range(4)]
    tg.ones((2, len(rows))) @ x  # E: matmul: inner sizes differ: x (2, 4) has 4 columns but y (2, 3) has 2 rows [tapegrad-shape]


class Stages(nn.Module):
    """Layers of several sizes in a list of lists."""

    def __init__(self) -> None:
        self.stages = [[nn.Linear(4, 8), nn.Linear(8, 8)], [nn.Linear(8, 16), nn.Linear(16, 5)]]

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.stages:
            for layer in stage:
                x = layer(x)
        return x


def accept_a_list_of_lists_of_layers() -> None:
    assert_type(Stages()(tg.ones((2, 4))), Tensor[Shape[L[2], L[5]], NoneTape])


def reject_what_a_list_of_lists_of_layers_gives() -> None:
    Stages()(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]
