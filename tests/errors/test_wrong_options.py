"""Options of the wrong kind are rejected by an error of tapegrad, which names the function, the option and the value.

A line of REJECTED is a call, and its message; each was accepted once, or failed inside NumPy or Python.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import data, nn, optim
from tapegrad.autograd.registry import OPS, Op
from tapegrad.errors import DTypeError, TapegradError
from tests.mypy.programs import first_errors, reports

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
    "tg.triu(x, 1.5)": "triu: k is 1.5 but an int is expected",
    "tg.tril(x, k=float('nan'))": "tril: k is nan but an int is expected",
    "tg.tri(3, k=1.5)": "tri: k is 1.5 but an int is expected",
    "tg.elu(x, alpha=1j)": "elu: alpha is 1j but a number is expected",
    "tg.elu(x, alpha=float('nan'))": "elu: alpha is nan but a number is expected",
    "tg.leaky_relu(x, negative_slope='a')": "leaky_relu: negative_slope is 'a' but a number is expected",
    "tg.nll(x, labels, ignore_index=1.5)": "nll: ignore_index is 1.5 but an int is expected",
    "tg.cross_entropy(x, labels, ignore_index=[])": "cross_entropy: ignore_index is [] but an int is expected",
    "tg.BlockSymmetric('a')": "BlockSymmetric: block is 'a' but an int is expected",
    "tg.sum(x, keepdims=2)": "sum: keepdims is an int but a bool is expected",
    "x.argmax(keepdims='yes')": "argmax: keepdims is a str but a bool is expected",
    "tg.svd(x, full_matrices='yes')": "svd: full_matrices is a str but a bool is expected",
    "tg.rotary_embedding(x, offset=1.5)": "rotary_embedding: offset is 1.5 but an int is expected",
    "tg.full((2,), [1.0])": "full: value is [1.0] but a number is expected",
    "tg.full((2,), 1j)": "full: value is 1j but a number is expected",
    "tg.pad(x, 1, value='a')": "pad: value is 'a' but a number is expected",
    "tg.nan_to_num(x, posinf='a')": "nan_to_num: posinf is 'a' but a number is expected",
    "tg.scale(x, factor='a')": "scale: factor is 'a' but a number is expected",
    "tg.scaled_dot_product_attention(x, x, x, scale='a')": (
        "scaled_dot_product_attention: scale is 'a' but a number is expected"
    ),
    "tg.tri(3, dtype='foo')": "tri: dtype is a str but a dtype of NumPy, or its scalar type, is expected",
    "tg.topk(x, float('nan'))": "topk: k is nan but an int is expected",
    "tg.diag(x, k=1.5)": "diag: k is 1.5 but an int is expected",
    "tg.unfold(x, 0, size=1.5)": "unfold: size is 1.5 but an int is expected",
    "tg.bernoulli(x)": "bernoulli: shape is a Tensor but an int or a tuple of ints is expected",
    "tg.diff(x, n=float('nan'))": "diff: n is nan but an int is expected",
    "tg.chunk(x, float('nan'))": "chunk: chunks is nan but an int is expected",
    "tg.multi_head_attention(x, x, x, heads=2, kv_heads='a')": (
        "multi_head_attention: kv_heads is 'a' but an int is expected"
    ),
    "tg.summary(layer, (2, 4), dtype='foo')": (
        "summary: dtype is a str but a dtype of NumPy, or its scalar type, is expected"
    ),
    "tg.jit(static=1.5)": "jit: static is 1.5 but names of parameters are expected",
    "tg.jit(lambda a: a, static=('a', 1))": "jit: static is ('a', 1) but names of parameters are expected",
    "nn.Valid(3)": "Valid: module is an int, not a module",
    "tg.dropout(x, rng='a')": "dropout: rng is 'a' but a generator, or a whole number from 0 on, is expected",
    "nn.Dropout(rng='a')": "Dropout: rng is 'a' but a generator, or a whole number from 0 on, is expected",
    "nn.kaiming_uniform(layer.weight, rng='a')": (
        "kaiming_uniform: rng is 'a' but a generator, or a whole number from 0 on, is expected"
    ),
    "nn.xavier_normal(layer.weight, rng='a')": (
        "xavier_normal: rng is 'a' but a generator, or a whole number from 0 on, is expected"
    ),
    "nn.orthogonal(layer.weight, rng='a')": (
        "orthogonal: rng is 'a' but a generator, or a whole number from 0 on, is expected"
    ),
    "data.batches(x, size=1, rng='a')": (
        "batches: rng is 'a' but a generator, or a whole number from 0 on, is expected"
    ),
    "nn.Embedding(3, 2, rng=-1)": "Embedding: rng is -1 but a generator, or a whole number from 0 on, is expected",
    "nn.Linear(True, 3)": "Linear: in_features is a bool but an int is expected",
    "nn.Linear(3, True)": "Linear: out_features is a bool but an int is expected",
    "nn.LayerNorm(True)": "LayerNorm: width is a bool but an int or a tuple of ints is expected",
    "nn.Embedding(True, 3)": "Embedding: count is a bool but an int is expected",
    "nn.Upsample(True)": "Upsample: scale is a bool but an int is expected",
    "nn.Conv2d(3, 4, 2, stride=True)": "Conv2d: stride is a bool but an int or a tuple of ints is expected",
    "nn.Conv2d(3, 4, 2, padding=True)": "Conv2d: padding is True but an int or a tuple of ints or 'same' is expected",
    "nn.GroupNorm(True, 3)": "GroupNorm: groups is a bool but an int is expected",
    "nn.MultiHeadAttention(8, True)": "MultiHeadAttention: heads is a bool but an int is expected",
    "nn.GroupedQueryAttention(8, True, 1)": "GroupedQueryAttention: heads is a bool but an int is expected",
    "nn.Sequential([layer])": (
        "Sequential: layer 0 is a list, not a module; a star passes its layers: Sequential(*layers)"
    ),
    "tg.normal((2,), rng=[1, 2])": ("normal: rng is [1, 2] but a generator, or a whole number from 0 on, is expected"),
    "nn.Linear(3, 4, rng=True)": "rng is True but a generator, or a whole number from 0 on, is expected",
    "nn.Param(x, frozen='yes')": "Param: frozen is a str but a bool is expected",
    "nn.MaxPool2d(2, ceil_mode='yes')": "MaxPool2d: ceil_mode is a str but a bool is expected",
    "nn.AvgPool1d(2, count_include_pad=2)": "AvgPool1d: count_include_pad is an int but a bool is expected",
    "nn.quantized(3)": "quantized: model is an int, not a module",
    "nn.MaxPool2d([2, 2])": "MaxPool2d: kernel is [2, 2] but an int or a tuple of ints is expected",
    "tg.max_pool2d(image, 2, stride=[1, 1])": "max_pool2d: stride is [1, 1] but an int or a tuple of ints is expected",
    "tg.pad(x, [1, 1])": "pad: pad_width is [1, 1] but an int or a tuple of ints is expected",
    "nn.MaxPool1d(1.5)": "MaxPool1d: kernel is 1.5 but an int is expected",
    "nn.AvgPool2d((1, 2, 3))": "AvgPool2d: kernel (1, 2, 3) has 3 numbers, not 2",
    "nn.MinPool2d(2, stride='a')": "MinPool2d: stride is 'a' but an int or a tuple of ints is expected",
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


def test_mypy_and_python_say_the_same_about_a_flag_of_an_op(tmp_path: Path) -> None:
    given = {"2": "an int", '"yes"': "a str", "None": "a NoneType", "1.5": "a float"}
    calls = {
        f"x.sum(keepdims={value})": f"sum: keepdims is {kind} but a bool is expected" for value, kind in given.items()
    }
    calls["tg.sort(x, descending=[1])"] = "sort: descending is a list but a bool is expected"
    program = "import tapegrad as tg\nx = tg.ones((3, 4))\n" + "\n".join(calls)

    for call, message in calls.items():
        with pytest.raises(DTypeError, match=f"^{message}$"):
            eval(call, NAMES)  # noqa: S307  # the calls above
    assert list(first_errors(tmp_path, program, "--hide-error-codes").values()) == [*calls.values()][::-1]


def test_mypy_reports_a_wrong_number_of_rows_in_a_batch_once(tmp_path: Path) -> None:
    program = "import tapegrad as tg\nx = tg.ones((3, 4))\ntg.data.batches(x, size=-2)\n"

    assert reports(tmp_path, program)[:-1] == [
        "program.py:3: error: batches: size is -2 but must be at least 1  [arg-type]"
    ]


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


FLAGS: Final = [
    (op, name)
    for op in OPS.values()
    if op.function.__module__.startswith("tapegrad.ops.")
    for name, annotation in op.function.__annotations__.items()
    if annotation == "bool"
]


@pytest.mark.parametrize(("op", "flag"), FLAGS, ids=[f"{op.name}-{flag}" for op, flag in FLAGS])
def test_a_flag_of_an_op_is_a_bool(op: Op, flag: str) -> None:
    call = getattr(tg, op.name)
    x = NAMES["image"] if op.name.endswith("2d") or op.name == "interpolate" else NAMES["x"]
    required = {"heads": 2} if op.name == "multi_head_attention" else {}

    with pytest.raises(DTypeError, match=f"^{op.name}: {flag} is an int but a bool is expected$"):
        call(*[x if name in op.operands else 1 for name in op.alone], **{flag: 2}, **required)


def test_a_flag_may_be_a_bool_of_numpy() -> None:
    assert NAMES["x"].sum(axis=1, keepdims=np.bool_(1)).shape == (3, 1)


@pytest.mark.parametrize("call", WORDS)
def test_an_unknown_word_is_a_value_error_and_another_kind_a_type_error(call: str) -> None:
    function, option = re.fullmatch(r"\w+\.(\w+)\(.*?(\w+)=\{\}\)", call).groups()  # type: ignore[union-attr]  # it matches

    for given, shown, kind in (
        ("'foo'", "'foo'", ValueError),
        ("3", "3", DTypeError),
        ("None", "None", DTypeError),
    ):
        with pytest.raises(kind, match=f"^{function}: {option} is {shown} but {WORDS[call]} is expected$"):
            eval(call.format(given), NAMES)  # noqa: S307  # the calls above
