"""Quotients and remainders: NumPy's values, gradients, shapes and errors."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import divmod, floor_divide, fmod, gcd, lcm, normal, remainder, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
PAIRS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))]
LEFT_OVER: dict[str, Callable[..., Any]] = {"fmod": fmod, "remainder": remainder}
DIVISIONS: dict[str, Callable[..., Any]] = {**LEFT_OVER, "floor_divide": floor_divide}
DIVISORS: dict[str, Callable[..., Any]] = {"gcd": gcd, "lcm": lcm}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", DIVISIONS)
def test_two_operands_equal_numpy(name: str) -> None:
    x: Any = tensor([[7.5, -7.5, 2.0], [np.nan, 1.0, -3.0]])
    y: Any = tensor([2.0, 2.0, -3.0])

    np.testing.assert_array_equal(DIVISIONS[name](x, y).numpy(), getattr(np, name)(x.numpy(), y.numpy()))
    assert DIVISIONS[name](tensor([7, -7]), 4).tolist() == getattr(np, name)([7, -7], 4).tolist()
    assert DIVISIONS[name](tensor([7, -7], np.int8), 4).dtype == np.int8
    assert DIVISIONS[name](x, 2).dtype == np.float32
    assert DIVISIONS[name](zeros((0, 3)), y).shape == (0, 3)


def test_operators_equal_pythons() -> None:
    numbers = [7.5, -7.5, 0.0]

    assert (tensor(numbers) % 2).tolist() == [n % 2 for n in numbers]
    assert (tensor(numbers) % -2).tolist() == [n % -2 for n in numbers]
    assert (7 % tensor([2.0, -3.0])).tolist() == [1, -2]
    assert (tensor(numbers) // 2).tolist() == [n // 2 for n in numbers]
    assert (7 // tensor([2, -3])).tolist() == [3, -3]


def test_the_sign_of_a_remainder_is_that_of_the_divisor_or_the_dividend() -> None:
    x, y = tensor([7.5, -7.5, 7.5, -7.5]), tensor([2.0, 2.0, -2.0, -2.0])

    assert remainder(x, y).tolist() == [1.5, 0.5, -0.5, -1.5]
    assert fmod(x, y).tolist() == [math.fmod(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize("name", LEFT_OVER)
@pytest.mark.parametrize(("x", "y"), PAIRS, ids=str)
def test_gradients_have_the_shapes_of_the_operands(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_gradients(LEFT_OVER[name], real(*x), real(*y, seed=1))
    check_gradients(lambda x, y: LEFT_OVER[name](x, y) * x * y, real(*x), real(*y, seed=1), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", LEFT_OVER)
def test_gradients_with_a_number_as_an_operand(name: str) -> None:
    check_gradients(lambda x: LEFT_OVER[name](x, 0.3) * x, real(2, 3), order=2)
    check_gradients(lambda y: LEFT_OVER[name](0.3, y) * y, real(2, 3), order=2)


def test_a_quotient_has_no_tape() -> None:
    assert not floor_divide(real(2, 3).trace(), real(3).trace()).owns_tape


@pytest.mark.parametrize("name", DIVISIONS)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(DIVISIONS[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", DIVISIONS)
def test_invalid_operands_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        DIVISIONS[name](real(2, 3), real(4))
    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
    with pytest.raises(DTypeError, match=f"^{name}: x is bool but number is expected$"):
        DIVISIONS[name](tensor([True]), tensor([False]))
    with pytest.raises(DTypeError, match=f"^{name}: x is float64 but y is int64$"):
        DIVISIONS[name](real(2), tensor([1, 2]))


def test_division_by_zero_equals_numpy_with_its_warning() -> None:
    for f in (remainder, fmod):
        with pytest.warns(RuntimeWarning, match="invalid value"):
            assert math.isnan(f(tensor([1.0]), 0).item())
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (tensor([1]) % 0).item() == 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (tensor([1.0, -1.0]) // 0).tolist() == [math.inf, -math.inf]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (tensor([1]) // 0).item() == 0


@pytest.mark.parametrize("name", DIVISIONS)
@np.errstate(all="ignore")
def test_two_operands_equal_numpy_in_edge_cases(name: str) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(DIVISIONS[name](tensor(x), tensor(y)).numpy(), getattr(np, name)(x, y))


# divmod


@np.errstate(all="ignore")
def test_divmod_gives_quotient_and_remainder() -> None:
    x, y = EDGES[:, None], EDGES

    quotient, rest = divmod(tensor(x), tensor(y))

    np.testing.assert_array_equal(quotient.numpy(), floor_divide(tensor(x), tensor(y)).numpy())
    np.testing.assert_array_equal(rest.numpy(), remainder(tensor(x), tensor(y)).numpy())
    assert [part.tolist() for part in divmod(tensor([7, -7]), 4)] == [[1, -2], [3, 1]]
    assert [part.dtype for part in divmod(tensor([7], np.int8), 4)] == [np.int8, np.int8]
    assert [part.shape for part in divmod(zeros((0, 3)), tensor(2.0))] == [(0, 3), (0, 3)]


def test_pythons_divmod_works_with_a_tensor_on_either_side() -> None:
    assert [part.tolist() for part in builtins.divmod(tensor([7.5, -7.5]), 2)] == [[3, -4], [1.5, 0.5]]
    assert [part.tolist() for part in builtins.divmod(7, tensor([2, -3]))] == [[3, -3], [1, -2]]


@pytest.mark.parametrize(("x", "y"), PAIRS, ids=str)
def test_only_the_remainder_has_a_gradient(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    assert [part.owns_tape for part in divmod(real(*x).trace(), real(*y))] == [False, True]
    check_gradients(lambda x, y: divmod(x, y)[1], real(*x), real(*y, seed=1))
    check_gradients(lambda x, y: divmod(x, y)[1] * x * y, real(*x), real(*y, seed=1), order=2, rtol=1e-4)
    check_gradients(lambda y: divmod(0.3, y)[1] * y, real(*y), order=2)


def test_divmod_matches_its_shape_rule_and_rejects_invalid_operands() -> None:
    check_shape_rule(divmod, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))
    with pytest.raises(ShapeError, match=r"^divmod: x \(2, 3\) and y \(4,\) do not broadcast: axis -1 is 3 in x but 4"):
        divmod(real(2, 3), real(4))
    with pytest.raises(DTypeError, match=r"^divmod: x is bool but number is expected$"):
        divmod(tensor([True]), tensor([False]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^divmod: x is float64 but y is int64$"):
        divmod(real(2), tensor([1, 2]))


# gcd, lcm


@pytest.mark.parametrize("name", DIVISORS)
def test_gcd_and_lcm_equal_pythons(name: str) -> None:
    f, of_python = DIVISORS[name], getattr(math, name)
    x, y = [[12], [-18], [0], [1]], [8, 27, 0, -5]

    z = f(tensor(x).trace(), tensor(y))

    assert z.tolist() == [[of_python(a, b) for b in y] for (a,) in x]
    assert not z.owns_tape
    assert f(tensor(x), 8).tolist() == [[of_python(a, 8)] for (a,) in x]
    assert f(8, tensor(y)).tolist() == [of_python(8, b) for b in y]
    assert f(tensor([12], np.int8), 8).dtype == np.int8
    assert f(zeros((0, 3), np.int64), 2).shape == (0, 3)
    check_shape_rule(f, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", DIVISORS)
def test_gcd_and_lcm_need_ints(name: str) -> None:
    f = DIVISORS[name]

    with pytest.raises(ShapeError, match=rf"^{name}: x \(2,\) and y \(3,\) do not broadcast: axis -1 is 2 in x but 3"):
        f(tensor([1, 2]), tensor([1, 2, 3]))
    with pytest.raises(DTypeError, match=rf"^{name}: x is float64 but integer is expected$"):
        f(real(2), real(2))
    with pytest.raises(DTypeError, match=rf"^{name}: y is bool but integer is expected$"):
        f(True, tensor([True]))  # noqa: FBT003  # a number beside a tensor
    with pytest.raises(DTypeError, match=rf"^{name}: x is int64 but y is float64$"):
        f(tensor([1, 2]), real(2))
