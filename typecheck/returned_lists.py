"""Lists that functions return, whose declarations say no sizes of the items: the bodies say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, assert_type
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn


class Fold(NamedTuple):
    """A part of the rows of a table, with their targets."""

    x: Tensor[Any]
    y: Tensor[Any]


def columns(x: Tensor[Any]) -> list[Tensor[Any]]:
    """Return a display."""
    return [x[:, :1], x[:, 1:2]]


def windows(x: Tensor[Any]) -> list[Tensor[Any]]:
    """Return what a loop appends."""
    found: list[Tensor[Any]] = []
    for start in range(3):
        found.append(x[start : start + 2])  # noqa: PERF401
    return found


def prefixes(x: Tensor[Any]) -> Sequence[Tensor[Any]]:
    """Return items of several sizes."""
    return tuple(x[:, : size + 1] for size in range(3))


def pairs(x: Tensor[Any], y: Tensor[Any]) -> list[tuple[Tensor[Any], Tensor[Any]]]:
    """Return tuples."""
    return [(x[:2], y[:2]) for _ in range(2)]


def folds(x: Tensor[Any], y: Tensor[Any], count: int) -> list[Fold]:
    """Return named tuples, which a loop appends."""
    rows = len(x) // count
    found = []
    for number in range(count):
        part = slice(number * rows, (number + 1) * rows)
        found.append(Fold(x[part], y[part]))
    return found


def halves(x: Tensor[Any]) -> tuple[list[Tensor[Any]], list[Tensor[Any]]]:
    """Return two lists."""
    left, right = [x[:, :1]], [x[:, 1:], x[:, 1:]]
    return left, right


def accept_items() -> None:
    x, y = tg.ones((6, 3)), tg.ones((6, 2))
    assert_type(columns(x)[0], Tensor[Shape[L[6], L[1]], NoneTape])
    assert_type(windows(x)[-1], Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(prefixes(x)[1], Tensor[Shape[L[6], Any], NoneTape])
    for one, other in pairs(x, y):
        assert_type(one, Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(other, Tensor[Shape[L[2], L[2]], NoneTape])
    for _, fold in enumerate(folds(x, y, 2)):
        assert_type(fold.x, Tensor[Shape[L[3], L[3]], NoneTape])
    left, right = halves(x)
    assert_type(left[0], Tensor[Shape[L[6], L[1]], NoneTape])
    assert_type(right[0], Tensor[Shape[L[6], L[2]], NoneTape])


def accept_lists_that_grow() -> None:
    found = columns(tg.ones((6, 3)))
    found.append(tg.ones((4,)))
    found[2] @ tg.ones((4,))
    left, _ = halves(tg.ones((6, 3)))
    left.append(tg.ones((4,)))
    left[1] @ tg.ones((4,))


def reject_an_item() -> None:
    columns(tg.ones((6, 3)))[0] @ tg.ones((2, 2))  # E: matmul: inner sizes differ: x (6, 1) has 1 columns but y (2, 2) has 2 rows [tapegrad-shape]


def reject_what_a_loop_appends() -> None:
    for window in windows(tg.ones((6, 3))):
        window @ tg.ones((2, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 2) has 2 rows [tapegrad-shape]


def reject_all_items_together() -> None:
    tg.concat(columns(tg.ones((6, 3)))) @ tg.ones((2, 2))  # E(mypy): matmul: inner sizes differ: x (?, 1) has 1 columns but y (2, 2) has 2 rows [tapegrad-shape]


def reject_a_field() -> None:
    for fold in folds(tg.ones((6, 3)), tg.ones((6, 2)), 2):
        fold.x - fold.y  # E: sub: x (3, 3) and y (3, 2) do not broadcast: axis -1 is 3 in x but 2 in y [tapegrad-shape]


def reject_an_item_of_a_pair() -> None:
    for one, other in pairs(tg.ones((6, 3)), tg.ones((6, 2))):
        tg.mse(one, other)  # E: mse: target (2, 2) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


class Pyramid(nn.Module):
    """Reads single items of lists that its methods return."""

    def __init__(self, sizes: tuple[int, ...] = (3, 4)) -> None:
        self.lateral = [nn.Linear(size, 6) for size in (*sizes[:-1], sizes[-1])]

    def parts(self, x: Tensor[Any, Any]) -> list[Tensor[Any, Any]]:
        return [x, tg.concat([x, x[:, :1]], axis=1)]

    def forward(self, x: Tensor[Any, Any]) -> list[Tensor[Any, Any]]:
        maps = [layer(part) for layer, part in zip(self.lateral, self.parts(x), strict=True)]
        found = [maps[-1]]
        for one in reversed(maps[:-1]):
            found.insert(0, tg.concat([one, found[0]], axis=1))
        return found

    def wide(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        first, *_ = self.forward(x)
        return first

    def unpacked(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        one, other = self.parts(x)
        return other + one[:, :1]

    def joined(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        parts = self.parts(x)
        return joined(parts)


def joined(parts: list[Tensor[Any, Any]]) -> Tensor[Any, Any]:
    """Take the items of a list that a call gives."""
    last = parts.pop()
    for part in parts:
        last = tg.concat([last, part], axis=1)
    return last


def replaced(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Read an item that another function has replaced."""
    parts = [x, x]
    replace_first(parts)
    return parts[0]


def replace_first(parts: list[Tensor[Any, Any]]) -> None:
    """Replace an item."""
    parts[0] = tg.ones((3, 3))


def losses(model: nn.Linear[Any, Any], batches: list[tuple[Tensor[Any, Any], Tensor[Any, Any]]]) -> float:
    """Loop over pairs that a call writes."""
    return sum(tg.mse(model(x), y).item() for x, y in batches)


def accept_single_items() -> None:
    x, model = tg.ones((5, 3)), Pyramid()
    assert_type(model.wide(x), Tensor[Shape[L[5], L[12]], NoneTape])
    assert_type(model.unpacked(x), Tensor[Shape[L[5], L[4]], NoneTape])
    assert_type(model.joined(x), Tensor[Shape[L[5], L[7]], NoneTape])
    assert_type(joined([x, x, x[:, :1]]), Tensor[Shape[L[5], L[7]], NoneTape])
    replaced(x) + tg.ones((3, 3))
    losses(nn.Linear(3, 2), [(x, tg.ones((5, 2))), (x, tg.ones((5, 2)))])
