"""Options outside their range are rejected by the same message in mypy and at run time, for each function with any."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.errors import DTypeError
from tapegrad.errors.ranges import RANGES, Range, check_options
from tests.mypy.programs import first_errors

START = """\
from typing import Final

import numpy as np

import tapegrad as tg
from tapegrad import data, nn, optim

x = tg.ones((3, 4))
w = tg.ones((4,))
image = tg.ones((1, 2, 6, 6))
row = tg.ones((2, 3, 6))
labels = tg.zeros((3,), np.int64)
layer = nn.Linear(4, 2, rng=0)
grads = layer(x.trace()).sum().backward(wrt=layer)
"""
CALLS = {
    **{f"{name}_norm": f"tg.{name}_norm(x, w, w" for name in ("layer", "batch")},
    **{name: f"tg.{name}(x" for name in ("normalize", "norm", "celu", "dropout", "normal_like", "bernoulli_like")},
    **{name: f"tg.{name}(x, x" for name in ("isclose", "allclose", "huber", "smooth_l1")},
    **{name: f"tg.{name}((3, 4)" for name in ("normal", "bernoulli")},
    **{name: f"nn.{name}(4" for name in ("LayerNorm", "RMSNorm", "InstanceNorm", "BatchNorm1d", "BatchNorm2d")},
    **{f"{name}{rank}d": f"nn.{name}{rank}d(2" for name in ("AvgPool", "SmoothMaxPool") for rank in (1, 2)},
    **{name: f"nn.{name}(4, 5, 2" for name in ("StackedRNN", "StackedLSTM", "StackedGRU")},
    **{name: f"nn.{name}(4, 2, 8" for name in ("TransformerEncoderBlock", "TransformerDecoderBlock")},
    **{name: f"nn.{name}(layer.weight" for name in ("xavier_uniform", "xavier_normal", "orthogonal")},
    **{name: f"grads.{name}(" for name in ("clip_norm", "clip_value")},
    **{name: f"optim.{name}(layer" for name in ("Adam", "AdamW", "RMSprop", "Adadelta", "SGD")},
    "avg_pool1d": "tg.avg_pool1d(row, 2",
    "avg_pool2d": "tg.avg_pool2d(image, 2",
    "smooth_max_pool1d": "tg.smooth_max_pool1d(row, 2",
    "smooth_max_pool2d": "tg.smooth_max_pool2d(image, 2",
    "rms_norm": "tg.rms_norm(x, w",
    "group_norm": "tg.group_norm(image, w[:2], w[:2], groups=2",
    "instance_norm": "tg.instance_norm(image, w[:2], w[:2]",
    "GroupNorm": "nn.GroupNorm(2, 4",
    "Transformer": "nn.Transformer(4, 2, 8, 1, 1",
    "Dropout": "nn.Dropout(",
    "CELU": "nn.CELU(",
    "ModelEMA": "nn.ModelEMA(layer",
    "safe_log": "tg.safe_log(x",
    "rotary_embedding": "tg.rotary_embedding(x",
    "pinv": "tg.pinv(x",
    "lstsq": "tg.lstsq(x, x",
    "cross_entropy": "tg.cross_entropy(x, labels",
    "LossScaler": "optim.LossScaler(",
    "batches": "data.batches([x, x], size=1",
    "constant": "optim.constant(",
    "step": "optim.step(every=3, lr=0.1",
    "exponential": "optim.exponential(factor=0.5, lr=0.1",
    "cosine": "optim.cosine(steps=3, lr=0.1",
    "warmup": "optim.warmup(optim.constant(0.1)",
    "one_cycle": "optim.one_cycle(steps=9, lr=0.1",
}
OF_LOSS = "tg.cosine(x, x"  # has the name of a schedule


def call_of(function: str, option: str, number: str) -> str:
    """Return a call with one option, instead of the one that the call has already."""
    call = OF_LOSS if (function, option) == ("cosine", "eps") else CALLS[function]
    call = re.sub(rf"\b{option}=[^,]*(, )?", "", call).removesuffix(", ")
    given = f"({number}, 0.5)" if option == "betas" else number
    needs_rate = function == "SGD" and option != "lr"
    return f"{call}{'' if call.endswith('(') else ', '}{option}={given}{', lr=0.1' if needs_rate else ''})"


def outside(wanted: Range) -> str:
    """Return a number outside a range, as it is written."""
    numbers = (0, -1) if wanted.is_whole else (1.5, 0, -1.0)
    return next(str(number) for number in numbers if not wanted.fits(number))


def wrong_calls() -> Iterator[tuple[str, str]]:
    """Yield a call for each option, and its message."""
    for function, ranges in RANGES.items():
        for option, wanted in ranges.items():
            number = outside(wanted)
            name = "beta 1" if option == "betas" else option
            yield call_of(function, option, number), f"{function}: {name} is {number} but must be {wanted.said}"


def test_every_function_with_a_range_is_called() -> None:
    assert CALLS.keys() == RANGES.keys()


def test_mypy_reports_every_number_outside_its_range(tmp_path: Path) -> None:
    calls = dict(wrong_calls())
    program = START + "\n".join(calls)
    first = START.count("\n") + 1

    assert first_errors(tmp_path, program) == {
        line: f"{message}  [arg-type]" for line, message in enumerate(calls.values(), first)
    }


def test_python_raises_every_number_outside_its_range() -> None:
    names: dict[str, Any] = {}
    exec(START, names)  # noqa: S102  # the program above

    for call, message in wrong_calls():
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            exec(call, names)  # noqa: S102  # see `wrong_calls`


def test_numbers_are_read_where_they_are_written_or_final(tmp_path: Path) -> None:
    program = """\
RATE: Final = 1.5
rate = 1.5
nn.Dropout(RATE)
nn.Dropout(3 * 0.5)
nn.Dropout(rate)
nn.Dropout(0.5)
optim.SGD(layer, lr=optim.cosine(0.1, steps=3)(0))
x.dropout(-1)
tg.dropout(x, 2)
optim.Adam(layer, betas=(0.9, 1))
nn.Dropout("a")
def step(every: int) -> int:
    return every
step(0)
"""
    first = START.count("\n")
    message = "Dropout: p is 1.5 but must be from 0 to 1  [arg-type]"

    assert {line - first: text for line, text in first_errors(tmp_path, START + program).items()} == {
        3: message,
        4: message,
        8: "dropout: rate is -1 but must be from 0 to 1  [arg-type]",
        9: "dropout: rate is 2 but must be from 0 to 1  [arg-type]",
        10: "Adam: beta 2 is 1 but must be from 0 to below 1  [arg-type]",
        11: "Dropout: p is 'a' but a number is expected  [arg-type]",
    }


def test_a_number_of_another_type_is_named() -> None:
    with pytest.raises(DTypeError, match=r"^Dropout: p is 'a' but a number is expected$"):
        check_options("Dropout", p="a")


def test_a_subclass_has_the_ranges_of_its_base_class() -> None:
    class OwnAdam(optim.Adam):
        pass

    class OwnNorm(nn.BatchNorm1d[Any]):
        pass

    with pytest.raises(ValueError, match=r"^OwnAdam: eps is -1 but must be at least 0$"):
        OwnAdam(nn.Linear(2, 3, rng=0), eps=-1)
    with pytest.raises(ValueError, match=r"^OwnNorm: eps is 0 but must be above 0$"):
        OwnNorm(3, eps=0)


def test_a_number_that_is_an_array_has_a_range_too() -> None:
    with pytest.raises(ValueError, match=r"^dropout: rate is 1.5 but must be from 0 to 1$"):
        tg.dropout(tg.ones((3,)), np.asarray(1.5))  # type: ignore[arg-type]  # an array counts as a number
