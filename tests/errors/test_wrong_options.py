"""Options of the wrong kind are rejected by an error of tapegrad, which names the function, the option and the value.

A line of REJECTED is a call, and its message; each was accepted once, or failed inside NumPy or Python.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

import tapegrad as tg
from tapegrad import data, nn, optim
from tapegrad.errors import DTypeError, TapegradError

NAMES: Final[dict[str, Any]] = {
    "tg": tg,
    "nn": nn,
    "optim": optim,
    "data": data,
    "x": tg.ones((3, 4)),
    "image": tg.ones((1, 2, 3, 4)),
    "labels": tg.tensor([0, 1, 2]),
    "layer": nn.Linear(3, 4, rng=0),
}
REJECTED: Final = {
    "tg.Tensor([1.0])": "Tensor: data is a list, not an array; tg.tensor(data) makes a tensor of it",
    "tg.triu(x, 1.5)": "triu: k is 1.5 but a whole number is expected",
    "tg.tril(x, k=float('nan'))": "tril: k is nan but a whole number is expected",
    "tg.tri(3, k=1.5)": "tri: k is 1.5 but a whole number is expected",
    "tg.elu(x, alpha=1j)": "elu: alpha is 1j but a number is expected",
    "tg.elu(x, alpha=float('nan'))": "elu: alpha is nan but a number is expected",
    "tg.leaky_relu(x, negative_slope='a')": "leaky_relu: negative_slope is 'a' but a number is expected",
    "tg.nll(x, labels, ignore_index=1.5)": "nll: ignore_index is 1.5 but a whole number is expected",
    "tg.cross_entropy(x, labels, ignore_index=[])": "cross_entropy: ignore_index is [] but a whole number is expected",
    "tg.BlockSymmetric('a')": "BlockSymmetric: block is 'a' but a whole number is expected",
    "nn.MaxPool1d(1.5)": "MaxPool1d: kernel is 1.5 but an int is expected",
    "nn.AvgPool2d((1, 2, 3))": "AvgPool2d: kernel (1, 2, 3) has 3 numbers, not 2",
    "nn.MinPool2d(2, stride='a')": "MinPool2d: stride is 'a' but an int is expected",
    "nn.SmoothMaxPool2d(2, dilation=0)": "SmoothMaxPool2d: dilation is 0, below 1",
    "nn.Upsample(2, mode='cubic')": "Upsample: mode is 'cubic' but 'nearest' or 'bilinear' is expected",
    "optim.SGD(layer, 0.1, momentum=0.9, nesterov='yes')": "SGD: nesterov is a str but a bool is expected",
    "optim.SGD(layer, 0.1, decoupled=1.5)": "SGD: decoupled is a float but a bool is expected",
    "optim.RMSprop(layer, 0.1, centered=None)": "RMSprop: centered is a NoneType but a bool is expected",
    "optim.Adam(layer, 0.1, groups=[1])": "Adam: groups is a list but a dict by pattern is expected",
    "optim.warmup(0.1, steps=3)": "warmup: schedule is a float, not a function",
    "data.batches(x, size=1, shuffle='no')": "batches: shuffle is a str but a bool is expected",
    "data.batches(x, size=1, drop_last=2)": "batches: drop_last is an int but a bool is expected",
}


@pytest.mark.parametrize("call", REJECTED)
def test_a_wrong_option_is_rejected(call: str) -> None:
    with pytest.raises((TapegradError, ValueError), match=f"^{re.escape(REJECTED[call])}$"):
        eval(call, NAMES)  # noqa: S307  # the calls above


WORDS: Final = {
    "tg.gelu(x, approximate={})": "'none' or 'tanh'",
    "nn.GELU(approximate={})": "'none' or 'tanh'",
    "tg.pad(x, 1, mode={})": "'constant', 'edge', 'reflect' or 'wrap'",
    "tg.interpolate(image, size=(2, 2), mode={})": "'nearest', 'linear' or 'cubic'",
    "tg.upsample2d(image, 2, mode={})": "'nearest' or 'bilinear'",
    "nn.Upsample(2, mode={})": "'nearest' or 'bilinear'",
    "tg.scatter_reduce(labels, labels, labels, reduction={})": "'sum', 'mean', 'prod', 'max' or 'min'",
    "tg.searchsorted(labels, labels, side={})": "'left' or 'right'",
    "tg.meshgrid(labels, labels, indexing={})": "'xy' or 'ij'",
    "tg.mse(x, x, reduction={})": "'mean', 'sum' or 'none'",
    "nn.kaiming_normal(layer.weight, fan={})": "'in' or 'out'",
    "nn.FeedForward(3, 4, activation={})": "'relu' or 'gelu' or 'silu' or a Module or a function",
}


@pytest.mark.parametrize("call", WORDS)
def test_an_unknown_word_is_a_value_error_and_another_kind_a_type_error(call: str) -> None:
    function, option = re.fullmatch(r"\w+\.(\w+)\(.*?(\w+)=\{\}\)", call).groups()  # type: ignore[union-attr]  # it matches

    for given, shown, kind in (
        ("'foo'", "'foo'", ValueError),
        ("3", "an int", DTypeError),
        ("None", "None", DTypeError),
    ):
        with pytest.raises(kind, match=f"^{function}: {option} is {shown} but {WORDS[call]} is expected$"):
            eval(call.format(given), NAMES)  # noqa: S307  # the calls above
