"""Scalars with tensors: for every spelling the shape, tape and dtype of the tensor stay known."""

from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NewType, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
D = TypeVar("D", bound=int)
E = TypeVar("E", bound=int)
T = TypeVar("T", bound=Tape)

Width = NewType("Width", int)
Rate = NewType("Rate", float)
BATCH: Final = 32


class Level(IntEnum):
    """Numbers by name."""

    LOW = 1
    HIGH = 64


@dataclass(frozen=True)
class Config:
    """Numbers that a program is set up with."""

    width: int
    rate: float


x = tg.ones((32, 64))
taped = x.trace()
whole = tg.ones((32, 64), np.int64)


def accept_a_size_by_value() -> None:
    def beside(n: L[32], either: L[1, 2]) -> None:
        assert_type(taped / n, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(either - taped, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(whole % n, Tensor[Shape[L[32], L[64]], NoneTape, np.int64])

    assert_type(taped / x.shape[0], Tensor[Shape[L[32], L[64]], OwnedTape])
    assert_type(x.shape[1] * taped, Tensor[Shape[L[32], L[64]], OwnedTape])
    assert_type(taped + BATCH, Tensor[Shape[L[32], L[64]], OwnedTape])
    assert_type(taped * len(x), Tensor[Shape[L[32], L[64]], OwnedTape])
    beside(32, 1)


def accept_a_size_by_name() -> None:
    def beside(a: Tensor[Shape[N, M], T], n: N, m: M) -> None:
        assert_type(a / n, Tensor[Shape[N, M], T])
        assert_type(n - a, Tensor[Shape[N, M], T])
        assert_type(a * (n * m), Tensor[Shape[N, M], T])
        assert_type(a**m, Tensor[Shape[N, M], T])
        assert_type(tg.where(a > n, a, m), Tensor[Shape[N, M], T])
        assert_type(tg.maximum(a, n), Tensor[Shape[N, M], T])
        assert_type(tg.minimum(m, a), Tensor[Shape[N, M], T])
        assert_type(a == n, Tensor[Shape[N, M], NoneTape, np.bool_])
        assert_type(m < a, Tensor[Shape[N, M], NoneTape, np.bool_])
        assert_type(whole // n, Tensor[Shape[L[32], L[64]], NoneTape, np.int64])

    beside(tg.ones((2, 3)), 2, 3)


def accept_a_number_of_a_type_of_its_own() -> None:
    def beside(width: Width, rate: Rate, level: Level, config: Config) -> None:
        assert_type(taped / width, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(taped * rate, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(level - taped, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(taped / Level.HIGH, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(taped * config.width * config.rate, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(whole + level + Level.LOW + width, Tensor[Shape[L[32], L[64]], NoneTape, np.int64])

    beside(Width(3), Rate(0.5), Level.LOW, Config(3, 0.5))


def accept_one_of_several_numbers() -> None:
    def beside(n: float | int, either: Width | Rate, scalar: np.float32 | float) -> None:  # noqa: PYI041  # as users write it
        assert_type(taped * n, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(n / taped, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(taped * bool(n), Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(taped * either, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(taped * scalar, Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(tg.where(taped > n, n, taped), Tensor[Shape[L[32], L[64]], OwnedTape])
        assert_type(whole * n, Tensor[Shape[L[32], L[64]], NoneTape, np.int64])  # pyright: ignore[reportOperatorIssue]  # may be an int

    beside(2, Width(3), 0.5)


def accept_a_number_or_a_tensor() -> None:
    def beside(a: float | Tensor[Any, OwnedTape], b: float | Tensor[Any, NoneTape]) -> None:
        assert_type(x * a, Tensor[Shape[*tuple[Any, ...], L[32], L[64]], Any])  # a number has no tape
        assert_type(taped * a, Tensor[Shape[*tuple[Any, ...], L[32], L[64]], OwnedTape])
        assert_type(x * b, Tensor[Shape[*tuple[Any, ...], L[32], L[64]], NoneTape])

    beside(2.0, x)
    beside(taped, 2.0)


def accept_a_power_of_a_size() -> None:
    def beside(a: Tensor[Shape[N, M], T], n: N, m: M, k: int) -> None:
        assert_type(n**0.5, float)
        assert_type((n * m) ** -0.5, float)
        assert_type(k**0.5, float)
        assert_type(2**n, int)
        assert_type(a / n**0.5, Tensor[Shape[N, M], T])
        assert_type(m**-0.5 * a, Tensor[Shape[N, M], T])
        assert_type(a / (n + m) ** 0.5, Tensor[Shape[N, M], T])
        assert_type(a / k**0.5, Tensor[Shape[N, M], T])
        assert_type(a * 2**n, Tensor[Shape[N, M], T])

    assert_type(taped / x.shape[1] ** 0.5, Tensor[Shape[L[32], L[64]], OwnedTape])
    assert_type((-8) ** 0.5, complex)
    beside(tg.ones((2, 3)), 2, 3, 5)


def accept_a_root_by_numpy() -> None:
    def beside(a: Tensor[Shape[N, M], T], n: N, k: int, f: np.float32) -> None:
        assert_type(np.sqrt(n), np.float64)
        assert_type(a / np.sqrt(n), Tensor[Shape[N, M], T])
        assert_type(np.sqrt(k) * a, Tensor[Shape[N, M], T])
        assert_type(a / np.sqrt(f), Tensor[Shape[N, M], T])
        np.sqrt(k).astype(np.float32)

    beside(tg.ones((2, 3)), 2, 5, np.float32(4))


def accept_an_operand_of_which_nothing_is_known() -> None:
    def beside(a: Any) -> None:
        assert_type(tg.add(taped, a), Tensor[Shape[*tuple[Any, ...], L[32], L[64]], OwnedTape])  # of a higher rank, perhaps
        assert_type(tg.mul(a, taped), Tensor[Shape[*tuple[Any, ...], L[32], L[64]], OwnedTape])
        assert_type(tg.add(x, a), Tensor[Shape[*tuple[Any, ...], L[32], L[64]], Any])
        assert_type(tg.where(taped > 0, taped, a), Tensor[Shape[*tuple[Any, ...], L[32], L[64]], OwnedTape])
        assert_type(tg.maximum(a, x), Tensor[Shape[*tuple[Any, ...], L[32], L[64]], Any])

    beside(2.0)
    beside(tg.ones((3, 32, 64)).trace())


def accept_a_size_of_a_shape_of_which_nothing_is_known() -> None:
    def mean(a: Tensor) -> Tensor:
        assert_type(a.shape, tuple[int, ...])
        assert_type(a.shape[0], int)
        assert_type(a / a.shape[0], Tensor)
        assert_type(x.sum() / a.shape[1] ** 0.5, Tensor[Shape[()], NoneTape])
        rows, _ = a.shape
        assert_type(rows, int)
        both: tuple[int, int] = a.shape
        return a.sum(0) / a.shape[0] + both[0]

    mean(tg.ones((2, 3)))


def accept_the_only_element_of_a_tensor_of_which_nothing_is_known() -> None:
    def number(a: Tensor) -> float:
        assert_type(a.item(), Any)  # --strict forbids to return an Any
        return a.item()

    def consumed(a: Tensor) -> float:
        loss = a.trace()
        value = loss.item()
        loss.backward()
        return value

    def share(a: Tensor, b: Tensor, count: int) -> float:
        part = a.item() / count
        return 1.0 - a.item() / b.item() + part

    number(tg.ones(()))
    consumed(tg.ones(()))
    share(tg.ones(()), tg.ones(()), 2)


def reject_a_mistake_behind_a_size() -> None:
    (x / x.shape[0]) @ tg.ones((63, 2))  # E: matmul: inner sizes differ: x (32, 64) has 64 columns but y (63, 2) has 63 rows [tapegrad-shape]


def reject_a_mistake_behind_a_member() -> None:
    (Level.HIGH * x) @ tg.ones((63, 2))  # E: matmul: inner sizes differ: x (32, 64) has 64 columns but y (63, 2) has 63 rows [tapegrad-shape]


def reject_a_mistake_behind_a_power() -> None:
    (x / x.shape[1] ** 0.5) @ tg.ones((63, 2))  # E: matmul: inner sizes differ: x (32, 64) has 64 columns but y (63, 2) has 63 rows [tapegrad-shape]


def reject_a_mistake_behind_a_root() -> None:
    (x / np.sqrt(x.shape[1])) @ tg.ones((63, 2))  # E: matmul: inner sizes differ: x (32, 64) has 64 columns but y (63, 2) has 63 rows [tapegrad-shape]


def reject_a_tape_that_a_number_does_not_bring() -> None:
    (x * x.shape[0]).sum().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_a_size_beside_bools() -> None:
    (x > 0) * x.shape[0]  # E: mul: y is an int but x is bool [tapegrad-dtype]


def reject_a_name_beside_bools() -> None:
    def beside(n: N) -> None:
        (x > 0) * n  # E: mul: y is an int but x is bool [tapegrad-dtype]

    beside(2)


def reject_a_fraction_beside_whole_numbers() -> None:
    whole * x.shape[1] ** 0.5  # E: mul: y is a float but x is int64 [tapegrad-dtype]


def reject_two_sizes() -> None:
    tg.add(x.shape[0], x.shape[1])  # E: add: neither an int nor an int is a tensor [tapegrad-dtype]


def reject_two_kinds_of_number() -> None:
    tg.maximum(Level.LOW, np.float32(2))  # E: maximum: neither a Level nor a float32 is a tensor [tapegrad-dtype]


def reject_attention_that_is_transposed() -> None:
    def attention(
        queries: Tensor[Shape[N, D], T], keys: Tensor[Shape[M, D], T], values: Tensor[Shape[M, E], T]
    ) -> Tensor[Shape[N, E], T]:
        scores = queries @ keys.T / queries.shape[1] ** 0.5
        return tg.softmax(scores.T, axis=1) @ values  # E(mypy): matmul: inner sizes differ: x (M, N) has N columns but y (M, E) has M rows [tapegrad-shape]

    attention(tg.ones((5, 4)), tg.ones((5, 4)), tg.ones((5, 3)))


def reject_attention_along_an_axis_too_many() -> None:
    def attention(
        queries: Tensor[Shape[N, D], T], keys: Tensor[Shape[M, D], T], values: Tensor[Shape[M, E], T]
    ) -> Tensor[Shape[N, E], T]:
        scores = queries @ keys.T / queries.shape[1] ** 0.5
        return tg.softmax(scores, axis=2) @ values  # E(mypy): softmax: axis 2 is out of range for x (N, M) [tapegrad-shape]

    with suppress(tg.ShapeError):
        attention(tg.ones((5, 4)), tg.ones((5, 4)), tg.ones((5, 3)))


def reject_attention_to_the_keys() -> None:
    def attention(
        queries: Tensor[Shape[N, D], T], keys: Tensor[Shape[M, D], T], values: Tensor[Shape[M, E], T]
    ) -> Tensor[Shape[N, E], T]:
        scores = queries @ keys.T / queries.shape[1] ** 0.5
        found = tg.softmax(scores, axis=1) @ keys
        return found + values.sum()  # E(mypy): attention: the result is (N, D) but (N, E) is expected: axis 1 is D, not E [return-value]

    attention(tg.ones((5, 4)), tg.ones((5, 4)), tg.ones((5, 4)))


def accept_numbers_of_tensors() -> None:
    one, several = tg.ones((1, 1)), tg.ones((3, 2))
    float(one), int(one), format(one, ".3f"), f"{one:.3f} {several.sum():>9.2f}", f"{several} {several!r:>9}"
    format(several), format(several, ""), float("3"), int(2.5), format(3.5, ".2f"), f"{3.5:.2f} {'x':>3}"


def accept_a_number_of_a_named_size() -> None:
    def mean(x: Tensor[Shape[N], NoneTape]) -> float:
        return float(x)

    mean(tg.ones((1,)))


def reject_a_float_of_several_elements() -> None:
    float(tg.ones((3, 2)))  # E: float: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]


def reject_an_int_of_no_element() -> None:
    int(tg.ones((0,)))  # E: int: a tensor of shape (0,) has 0 elements, not one [tapegrad-shape]


def reject_a_format_of_several_elements() -> None:
    str.strip(f"{tg.ones((3, 2)):.3f}")  # E: format: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]


def reject_a_call_of_format() -> None:
    format(tg.ones((3, 2)), ".3f")  # E: format: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]


def accept_conditions_of_one_element() -> None:
    x, best = tg.ones((3, 2)), tg.zeros(())
    if x.sum() < 10 and (x == x.T.T).all() and not tg.isnan(x).any():
        best = x.max()
    assert best > 0
    assert 0 < x.sum() < 10
    assert x is not None
    assert len(x) > 2
    assert x.shape == (3, 2)
    assert tg.ones((1, 1)) > 0
    assert (x < 2).sum() == 6 if x.mean() > 0 else x.shape
    assert [row.sum() for row in x if row.sum() > 0]


def reject_a_condition_of_several_elements() -> None:
    x = tg.ones((3, 2))
    if x < x.mean():  # E: bool: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]
        return


def reject_equality_with_a_number() -> None:
    x = tg.ones((3, 2))
    while x % 10 == 0:  # E: bool: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]
        break


def reject_a_number_before_several_elements() -> None:
    assert 0 < tg.ones((3, 2))  # noqa: SIM300  # E: bool: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]


def reject_several_elements_with_and() -> None:
    x, n = tg.ones((3, 2)), 3
    assert n > 2 and x > 0  # noqa: PT018  # E: bool: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]


def reject_not_of_several_elements() -> None:
    assert not tg.isnan(tg.ones((3, 2)))  # E: bool: a tensor of shape (3, 2) has 6 elements, not one [tapegrad-shape]


def reject_a_comparison_of_three() -> None:
    x, best = tg.ones((3,)), 3
    assert x < 2 < best  # E: bool: a tensor of shape (3,) has 3 elements, not one [tapegrad-shape]


def reject_a_choice_by_several_elements() -> None:
    x = tg.ones((3,))
    x = x if x[1:] > 0 else -x  # E: bool: a tensor of shape (2,) has 2 elements, not one [tapegrad-shape]
