"""Rebinding of a name: only the newest binding counts, and unknown sizes match anything."""

from contextlib import nullcontext
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, assert_shape, nn

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)
PartlyKnown = Tensor[Shape[L[3], Any], NoneTape]

weight = tg.ones((100, 3))


def width() -> int:
    return 100


def first_columns(x: Tensor[Shape[L[3], Any], T], count: int) -> Tensor[Shape[L[3], Any], T]:
    return x[:, :count]


class Block(nn.Module):
    def __init__(self, hidden: int) -> None:
        self.rise = nn.Linear(5, hidden)
        self.fall = nn.Linear(hidden, 5)

    def forward(self, x: Tensor[Shape[N, L[5]], T]) -> Tensor[Shape[N, L[5]], T]:
        x = self.rise(x)
        x = tg.relu(x)
        x = self.fall(x)
        assert_type(x, Tensor[Shape[N, L[5]], T])
        return x


class Linear(nn.Module):
    def __init__(self, hidden: int) -> None:
        self.rise = nn.Linear(5, hidden)

    def forward(self, x: Tensor[Shape[N, L[5]], T]) -> Tensor[Shape[N, L[7]], T]:
        x = self.rise(x)
        return x  # noqa: RET504  # it may be 7: the binding under test


class State:
    def __init__(self) -> None:
        self.value = tg.ones((3, 200))

    def narrow(self, count: int) -> None:
        self.value = self.value[:, :count]
        assert_type(self.value @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
        assert_type(self.value.T + tg.ones((100, 3)), Tensor[Shape[L[100], L[3]], NoneTape])
        tg.reveal_shape(tg.ones((2, self.value.shape[1])))
        nn.Linear(100, 2)(self.value)


def accept_a_parameter_bound_to_an_unknown_width() -> None:
    assert_type(Block(7)(tg.ones((3, 5)).trace()), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(Linear(7)(tg.ones((3, 5))), Tensor[Shape[L[3], L[7]], NoneTape])


def accept_a_local_bound_to_an_unknown_width() -> None:
    def narrowed(count: int) -> Tensor[Shape[L[3], L[100]], NoneTape]:
        h = tg.ones((3, 200))
        h = h[:, :count]
        tg.reveal_shape(h)
        assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
        return h

    narrowed(100)


def accept_a_known_width_after_an_unknown_one() -> None:
    h = tg.ones((3, 200))
    h = h[:, : width()]
    h = h @ weight
    assert_type(h, Tensor[Shape[L[3], L[3]], NoneTape])


def accept_an_attribute_bound_to_an_unknown_width() -> None:
    State().narrow(100)


def accept_a_value_that_is_no_call() -> None:
    def of(value: PartlyKnown) -> None:
        h = tg.ones((3, 200))
        h = value
        assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
        assert_type(tg.matmul(h, weight), Tensor[Shape[L[3], L[3]], NoneTape])
        assert_type(tg.ones((2, 3)) @ h @ weight, Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(tg.ones((3, 100)) + h, Tensor[Shape[L[3], L[100]], NoneTape])
        assert_type(h == tg.ones((3, 100)), Tensor[Shape[L[3], L[100]], NoneTape, np.bool_])
        assert_type(nn.Sequential(nn.Linear(100, 7))(h), Tensor[Shape[L[3], L[7]], NoneTape])
        assert_type(tg.concat([h, tg.ones((3, 100))]), Tensor[Shape[L[6], L[100]], NoneTape])
        assert_shape(h, (3, 100))

    of(tg.ones((3, 100)))


def accept_loops() -> None:
    h = tg.ones((3, 200))
    for _ in range(2):
        h = first_columns(h, width())
    assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
    for row in tg.ones((2, 3, 200)):
        row = first_columns(row, width())  # noqa: PLW2901  # the binding under test
        assert_type(row @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
    while h.shape[1] > 50:
        h = h[:, : width() // 2]
    assert_type(h @ tg.ones((50, 2)), Tensor[Shape[L[3], L[2]], NoneTape])


def accept_layers_in_a_loop() -> None:
    def through(layers: list[nn.Linear[Any, Any]], x: Tensor[Shape[N, L[5]], T]) -> Tensor[Shape[N, L[2]], T]:
        for layer in layers:
            x = layer(x)
        return nn.Linear(7, 2)(x)

    through([nn.Linear(5, 8), nn.Linear(8, 7)], tg.ones((3, 5)))


def accept_branches() -> None:
    h = tg.ones((3, 200))
    if width() == 100:
        h = h[:, : width()]
        assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
    assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
    assert_type(tg.relu(h), PartlyKnown)


def accept_other_statements_that_bind() -> None:
    h, k = tg.ones((3, 200)), 2
    h, k = h[:, : width()], 3
    assert_type(h, PartlyKnown)
    h = tg.ones((3, 1))
    h += tg.ones((1, width()))
    assert_type(h, PartlyKnown)
    h = tg.ones((3, 200))
    assert_type((h := h[:, : width()]), PartlyKnown)
    h = tg.ones((3, 200))
    h = h[:, : width()] if k else h[:, : width()] * 2
    assert_type(h, PartlyKnown)
    h = tg.ones((3, 400))
    h, _ = tg.split(h[:, : 2 * width()], 2, axis=1)
    assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])
    h = tg.ones((3, 200))
    with nullcontext(h[:, : width()]) as h:
        assert_type(h @ weight, Tensor[Shape[L[3], L[3]], NoneTape])


def accept_a_function_inside_that_reads_the_name() -> None:
    h = tg.ones((3, 200))
    h = h[:, : width()]

    def read() -> Tensor[Shape[L[3], L[3]], NoneTape]:
        return h @ weight

    read()


def accept_an_unknown_tape_and_dtype() -> None:
    def of(x: Tensor[Shape[L[3]], Any, Any]) -> None:
        y = tg.ones((3,))
        y = x
        (y + tg.ones((3,), np.float64)).sum().backward()

    of(tg.ones((3,), np.float64).trace())


def accept_one_of_two_tensors() -> None:
    def of(count: int) -> None:
        either = tg.ones((3, 4)).trace() if count else tg.ones((3, 5)).trace()
        assert_type(tg.relu(either), Tensor[Shape[L[3], Any], OwnedTape])

    of(2)


def accept_layers_or_anything_else() -> None:
    def of(spare: Any, layers: list[nn.Module]) -> nn.Module:
        model = nn.Sequential(*layers) if layers else spare
        model = spare if model is spare else nn.Sequential(*layers)
        assert len([spare, nn.Sequential(*layers)]) == 2
        return model

    of(nn.ReLU(), [nn.ReLU()])


def accept_variables_that_are_exchanged() -> None:
    a, b = tg.ones((5,)), tg.ones((2, 3))
    a, b = b, a
    b @ tg.ones((5,))
    a @ tg.ones((3, 1))
    p, q = tg.ones((1,)), tg.ones((2,))
    for _ in range(3):
        p, q = q, tg.concat([p, q])
    p @ tg.ones((5,))
    q @ tg.ones((8,))
    n, m = tg.ones((3, 4)), tg.ones((3, 4))
    n, m = m, n * 2.0
    assert_type(m @ tg.ones((4, 2)), Tensor[Shape[L[3], L[2]], NoneTape])


def accept_what_a_loop_changes() -> None:
    h = tg.ones((2, 3))
    for _ in range(3):
        h = h.T
    h @ tg.ones((2, 1))
    rows = [h]
    for n in range(2, 4):
        h = h @ tg.ones((h.shape[1], n))
        rows.append(h)
    rows[-1] @ tg.ones((3, 1))
    columns = tg.ones((2, 5))
    while columns.shape[1] > 2:
        columns = columns[:, 1:]
    columns @ tg.ones((2, 1))
    y = tg.ones((2, 3))
    layers: list[nn.Module] = [nn.Linear(3, 4), nn.ReLU()]
    for layer in layers:
        y = layer(y)
    y @ tg.ones((4, 1))
    by_size = sorted([tg.ones((2, 3)), tg.ones((4, 5))], key=lambda one: one.size, reverse=True)
    by_size[0] @ tg.ones((5, 1))


def reject_what_no_iteration_of_a_loop_changes() -> None:
    h = tg.ones((2, 3))
    for _ in range(3):
        h = h @ tg.ones((3, 3))
    h @ tg.ones((4, 1))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 1) has 4 rows [tapegrad-shape]


def reject_a_size_that_the_newest_binding_has() -> None:
    h = tg.ones((4, 200))
    h = h[:, : width()]
    h + tg.ones((3, 1))  # E(mypy): add: x (4, ?) and y (3, 1) do not broadcast: axis -2 is 4 in x but 3 in y [tapegrad-shape]


def reject_a_known_width_after_an_unknown_one() -> None:
    h = tg.ones((3, 200))
    h = h[:, : width()]
    h = tg.ones((3, 7))
    h @ weight  # E: matmul: inner sizes differ: x (3, 7) has 7 columns but y (100, 3) has 100 rows [tapegrad-shape]


def reject_the_other_size_of_an_annotated_name() -> None:
    h: Tensor[Shape[L[3], L[200]], NoneTape] = tg.ones((3, 200))
    h = h[:, : 2 * width()]
    h @ weight  # E: matmul: inner sizes differ: x (3, 200) has 200 columns but y (100, 3) has 100 rows [tapegrad-shape]


def reject_one_of_two_widths() -> None:
    h = tg.ones((3, 4)) if width() else tg.ones((3, 100))
    h @ weight  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (100, 3) has 100 rows [tapegrad-shape]


def reject_a_missing_tape_of_one_of_two_tensors() -> None:
    either = tg.ones((2, 4)) if width() else tg.ones((2, 5))
    tg.relu(either).sum().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]
