"""Numeric options: a value of a wrong type or out of range is rejected by the call that gets it."""

from __future__ import annotations

import re
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import data, nn, optim, progress
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.optim import schedule


def weight() -> Any:
    return nn.Param(tg.ones((2, 3)))


# What is made, by the name in its errors; an option; what it may be; and numbers that it may not.
AT_LEAST_ZERO = ("at least 0", (-1,))
AT_LEAST_ONE = ("at least 1", (0, -1))
SCHEDULES: dict[str, dict[str, Any]] = {
    "constant": {"lr": 0.1},
    "step": {"lr": 0.1, "every": 3, "factor": 0.5},
    "exponential": {"lr": 0.1, "factor": 0.5},
    "cosine": {"lr": 0.1, "steps": 3, "end": 0.0},
    "one_cycle": {"lr": 0.1, "steps": 30, "rise": 0.3, "start": 0.1, "end": 0.1},
}
NUMBERS: list[tuple[str, Any, str, str, tuple[float, ...]]] = [
    ("LossScaler", optim.LossScaler, "scale", "above 0 and finite", (0, -1, inf)),
    ("LossScaler", optim.LossScaler, "growth", "at least 1 and finite", (0.5, inf)),
    ("LossScaler", optim.LossScaler, "backoff", "between 0 and 1", (0, 1)),
    ("SGD", lambda **one: optim.SGD([weight()], **({"lr": 0.1} | one)), "lr", *AT_LEAST_ZERO),
    ("Adam", partial(optim.Adam, [weight()]), "eps", *AT_LEAST_ZERO),
    ("Adadelta", partial(optim.Adadelta, [weight()]), "eps", "above 0", (0, -1)),
    ("RMSprop", partial(optim.RMSprop, [weight()]), "momentum", "from 0 to below 1", (-1, 1)),
    ("EarlyStopping", partial(progress.EarlyStopping, "loss", patience=3), "least", *AT_LEAST_ZERO),
    ("track", partial(progress.track, range(3)), "every", *AT_LEAST_ZERO),
    ("CELU", nn.CELU, "alpha", "above 0", (0, -1)),
    ("Dropout", nn.Dropout, "p", "from 0 to 1", (-1, 1.5)),
    ("ModelEMA", lambda **one: nn.ModelEMA(nn.Linear(3, 2), **one), "decay", "from 0 to 1", (-1, 1.5)),
    ("xavier_uniform", lambda **one: nn.xavier_uniform(weight(), **one), "gain", *AT_LEAST_ZERO),
    ("xavier_normal", lambda **one: nn.xavier_normal(weight(), **one), "gain", *AT_LEAST_ZERO),
    ("orthogonal", lambda **one: nn.orthogonal(weight(), **one), "gain", *AT_LEAST_ZERO),
]
for name, options in SCHEDULES.items():
    made = partial(getattr(schedule, name), **options)
    NUMBERS += [(name, made, option, *AT_LEAST_ZERO) for option in options if option not in ("every", "steps")]
WHOLE: list[tuple[str, Any, str, str, tuple[float, ...]]] = [
    ("LossScaler", optim.LossScaler, "interval", *AT_LEAST_ONE),
    ("EarlyStopping", partial(progress.EarlyStopping, "loss"), "patience", *AT_LEAST_ONE),
    ("track", partial(progress.track, range(3)), "epochs", *AT_LEAST_ONE),
    ("batches", partial(data.batches, tg.ones((4, 2))), "size", *AT_LEAST_ONE),
    ("Repeated", partial(nn.Repeated, nn.ReLU), "times", *AT_LEAST_ZERO),
    ("step", partial(schedule.step, 0.1), "every", *AT_LEAST_ONE),
    ("cosine", partial(schedule.cosine, 0.1), "steps", *AT_LEAST_ONE),
    ("warmup", partial(schedule.warmup, schedule.constant(0.1)), "steps", *AT_LEAST_ONE),
    ("one_cycle", partial(schedule.one_cycle, 0.1), "steps", "at least 2", (1, -1)),
]
NEGATIVE_SLOPES: list[tuple[str, Any, str]] = [
    ("LeakyReLU", nn.LeakyReLU, "negative_slope"),
    ("ELU", nn.ELU, "alpha"),
    ("Hardtanh", nn.Hardtanh, "min"),
    ("Hardtanh", nn.Hardtanh, "max"),
    ("PReLU", nn.PReLU, "negative_slope"),
    ("kaiming_uniform", lambda **one: nn.kaiming_uniform(weight(), **one), "negative_slope"),
    ("kaiming_normal", lambda **one: nn.kaiming_normal(weight(), **one), "negative_slope"),
]
NO_NUMBERS: tuple[Any, ...] = ("1", None, [1.0], 1j, True, np.bool_(1), np.ones(2))


@pytest.mark.parametrize(("name", "make", "option"), [*(one[:3] for one in NUMBERS), *NEGATIVE_SLOPES])
@pytest.mark.parametrize("given", NO_NUMBERS, ids=repr)
def test_options_that_are_no_numbers_are_rejected(name: str, make: Any, option: str, given: Any) -> None:
    said = f"{name}: {option} is {given!r} but a number is expected"

    with pytest.raises(DTypeError, match=f"^{re.escape(said)}$"):
        make(**{option: given})


@pytest.mark.parametrize(("name", "make", "option"), [one[:3] for one in WHOLE])
@pytest.mark.parametrize("given", [*NO_NUMBERS, 1.5, nan, inf, np.float32(2)], ids=repr)
def test_options_that_are_no_ints_are_rejected(name: str, make: Any, option: str, given: Any) -> None:
    said = f"{name}: {option} is {given!r} but an int is expected"

    with pytest.raises(DTypeError, match=f"^{re.escape(said)}$"):
        make(**{option: given})


@pytest.mark.parametrize(("name", "make", "option", "range_", "wrong"), [*NUMBERS, *WHOLE])
def test_a_number_out_of_its_range_is_rejected(name: str, make: Any, option: str, range_: str, wrong: Any) -> None:
    for number in (*wrong, *(() if (name, make, option, range_, wrong) in WHOLE else (nan, np.float32(nan)))):
        said = f"{name}: {option} is {number} but must be {range_}"

        with pytest.raises((ValueError, ShapeError), match=f"^{re.escape(said)}$"):
            make(**{option: number})


@pytest.mark.parametrize(("name", "make", "option"), NEGATIVE_SLOPES)
def test_negative_slope_and_alpha_must_be_numbers(name: str, make: Any, option: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: {option} is nan but a number is expected$"):
        make(**{option: nan})


X: Any = tg.ones((2, 3))
MODEL: Any = nn.Linear(3, 2, rng=0)
ANY: Any = tg  # the calls below are wrong, and mypy rejects most of them
CALLS: list[tuple[Any, str]] = [
    (
        lambda: ANY.quantize(X, "int8"),
        "quantize: scheme is a str but Symmetric(), Affine() or BlockSymmetric() is expected",
    ),
    (lambda: ANY.quantize(X, tg.Affine), "quantize: scheme is the class Affine but Symmetric(), Affine() or .*"),
    (lambda: ANY.nn.freeze(3), "freeze: module is an int, not a module"),
    (lambda: ANY.nn.unfreeze(nn.Linear), "unfreeze: module is the class Linear, not a module"),
    (lambda: ANY.summary(3, (2, 3)), "summary: module is an int, not a module"),
    (lambda: ANY.nn.kaiming_uniform(3), "kaiming_uniform: weight is an int, not a tensor"),
    (lambda: ANY.nn.xavier_normal("w"), "xavier_normal: weight is a str, not a tensor"),
    (lambda: ANY.hessian(None, X), "hessian: f is a NoneType, not a function"),
    (lambda: ANY.hessian(tg.sum, 3), "hessian: x is an int, not a tensor"),
    (lambda: ANY.hvp(3, X, X), "hvp: f is an int, not a function"),
    (lambda: ANY.hvp(tg.sum, X, [1.0]), "hvp: v is a list, not a tensor.*"),
    (lambda: ANY.scan(3, X, X), "scan: step is an int, not a function"),
    (lambda: ANY.fused("exp"), "fused: function is a str, not a function"),
    (lambda: ANY.nn.Repeated(3, 2), "Repeated: make is an int, not a function"),
    (lambda: MODEL.apply(None), "apply: function is a NoneType, not a function"),
    (lambda: ANY.testing.check_shape_rule(None), "check_shape_rule: rule is a NoneType, not a function"),
    (lambda: ANY.use_fast(is_on="yes"), "use_fast: is_on is a str but a bool is expected"),
    (lambda: ANY.use_fast(is_on=None), "use_fast: is_on is a NoneType but a bool is expected"),
    (lambda: X.sum(keepdims="no"), "sum: keepdims is a str but a bool is expected"),
    (lambda: X.mean(keepdims=None), "mean: keepdims is a NoneType but a bool is expected"),
    (lambda: X.sort(descending="no"), "sort: descending is a str but a bool is expected"),
    (lambda: X.argsort(descending=1), "argsort: descending is an int but a bool is expected"),
    (lambda: X.topk(2, largest="no"), "topk: largest is a str but a bool is expected"),
    (lambda: ANY.isclose(X, X, equal_nan="no"), "isclose: equal_nan is a str but a bool is expected"),
    (lambda: ANY.isin(X, X, invert=0), "isin: invert is an int but a bool is expected"),
    (lambda: ANY.sqrt(X, safe="no"), "sqrt: safe is a str but a bool is expected"),
    (
        lambda: ANY.upsample2d(tg.ones((1, 2, 2)), 2, mode="bilinear", align_corners="no"),
        "upsample2d: align_corners is a str but a bool is expected",
    ),
    (
        lambda: ANY.scaled_dot_product_attention(X, X, X, causal="no"),
        "scaled_dot_product_attention: causal is a str but a bool is expected",
    ),
    (lambda: ANY.dequantize(3), "dequantize: x is an int, not a quantized tensor"),
    (
        lambda: ANY.progress.track(3),
        "track: batches is an int but an iterable of batches is expected, such as data.batches(x, y, size=32)",
    ),
    (lambda: ANY.assert_divides("a", 2), "assert_divides: divisor is 'a' but an int is expected"),
    (lambda: ANY.assert_divides(2, 4.0), "assert_divides: number is 4.0 but an int is expected"),
    (lambda: ANY.assert_same(None, 2), "assert_same: n is None but an int is expected"),
    (lambda: X.var(correction="1"), "var: correction is '1' but a number is expected"),
    (lambda: ANY.full((2,), "a"), "full: value is 'a' but a number is expected"),
    (lambda: ANY.full_like(X, None), "full_like: value is None but a number is expected"),
    (lambda: ANY.io.save(MODEL, 3), "save: path is an int but a string or a Path is expected"),
    (lambda: ANY.io.load(MODEL, None), "load: path is a NoneType but a string or a Path is expected"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message for _, message in CALLS])
def test_an_argument_of_another_kind_is_named_with_what_is_expected(call: Any, message: str) -> None:
    with pytest.raises(DTypeError, match=f"^{message.replace('(', '[(]').replace(')', '[)]')}$"):
        call()


def test_a_number_may_be_a_numpy_scalar_or_a_tensor() -> None:
    loss_scaler: Any = optim.LossScaler  # mypy takes them for no float, and no int
    cosine: Any = schedule.cosine

    assert loss_scaler(np.float32(8), interval=np.int64(3)).scale == 8
    assert optim.SGD([weight()], lr=tg.tensor(0.5)).lr.item() == 0.5  # type: ignore[arg-type, attr-defined]  # as under jit
    assert nn.Dropout(np.float64(0.5)).p == 0.5
    assert cosine(0.5, steps=np.int32(4))(0) == 0.5
