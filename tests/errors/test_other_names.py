"""Names of PyTorch and NumPy are rejected with what to use instead, by the same message in mypy and at run time."""

import ast
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import docs.other_names as page
import tapegrad as tg
from tapegrad import data, nn, optim
from tapegrad.autograd.registry import OPS
from tapegrad.errors.other_names import (
    ARGUMENTS,
    DATA,
    DEVICES,
    FUNCTIONS,
    LAYERS,
    METHODS,
    OF_MODULES,
    OF_OPTIMIZERS,
    OPTIMIZERS,
    hint,
)
from tests.mypy.programs import first_errors, reports

PROGRAM = """\
import tapegrad as tg
from tapegrad import nn, optim

x = tg.ones((3, 4))
layer = nn.Linear(4, 2, rng=0)
model = nn.Linear
tg.cat([x, x])
tg.nn.Parameter
nn.MSELoss()
optim.lr_scheduler
x.unsqueeze(0)
layer.weight.unsqueeze(0)
x.add_(x)
tg.softmax(x, dim=0)
x.sum(dim=0)
x.sum(axis=0, keepdim=True)
nn.Conv2d(1, 2, kernel_size=3)
tg.dropout(x, p=0.5)
tg.zeros(size=(3, 4))
tg.foo
x.foo
tg.sum(x, foo=1)
nn.Conv2d(1, 2, 3, num_heads=3)
from tapegrad import data
class Net(nn.Module): pass
data.DataLoader(x)
layer.eval()
Net().state_dict()
optim.Adam(layer).zero_grad()
layer.foo
optim.Adam(layer).foo
from tapegrad import float32
from tapegrad.nn import Identity
tg.long
optim.Adam(layer, learning_rate=0.1)
nn.LSTM(input_size=3, hidden_features=4)
nn.ReLU(inplace=True)
tg.zeros((3, 4), device="cpu")
optim.Adam(layer, foo=1)
from tapegrad import foo
def f() -> None: pass
f(device="cpu")
nn.LeakyReLU(0.2)
nn.Flatten(4)
nn.ReLU(True)
nn.Conv2d(3, 4, 3, 1, 1)
optim.SGD(layer, 0.1, 0.9)
tg.gelu(x, "tanh")
tg.softplus(x, 1.0)
nn.LSTM(4, 5, num_layers=2)
tg.tensor([1.0], requires_grad=True)
x.requires_grad = True
x.is_cuda
layer.register_buffer("mean", x)
f(3)
from tapegrad.nn import functional
tg.relu(x, inplace=True)
x.relu(inplace=True)
tg.round(x, 2)
x.round(2)
x.sum(0, False)
optim.Adam(layer, amsgrad=True)
data.batches(x, batch_size=2)
from tapegrad.data import batches
batches(x, num_workers=2)
nn.kaiming_uniform(layer.weight, generator=None)
tg.conv2d(x, x, bias=None)
def constant(lr: float) -> None: pass
constant(learning_rate=2)
x.trace().sum().backward(retain_graph=True)
x.trace().sum().backward(create_graph=True)
"""
REJECTED = {
    7: "tapegrad has no 'cat': use tg.concat",
    8: "tapegrad.nn has no 'Parameter': use nn.Param",
    9: "tapegrad.nn has no 'MSELoss': use tg.mse",
    10: "tapegrad.optim has no 'lr_scheduler': use opt.lr = schedule(step) with a schedule such as optim.cosine(...)",
    11: "Tensor has no 'unsqueeze': use x.expand_dims(axis)",
    12: "Tensor has no 'unsqueeze': use x.expand_dims(axis)",
    13: "Tensor has no 'add_': not possible: no op changes a tensor, use the result of an op",
    14: "softmax has no argument 'dim': use axis",
    15: "sum has no argument 'dim': use axis",
    16: "sum has no argument 'keepdim': use keepdims",
    17: "Conv2d has no argument 'kernel_size': use kernel",
    18: "dropout has no argument 'p': use rate",
    19: "zeros has no argument 'size': use shape",
    26: "tapegrad.data has no 'DataLoader': use data.batches(dataset, size=32)",
    27: "Linear has no 'eval': not needed: model(x.trace()) trains, and model(x) predicts",
    28: "Net has no 'state_dict': use tg.io.save(model, path)",
    29: "Adam has no 'zero_grad': not needed: backward returns the gradients, and nothing stores them",
    32: "tapegrad has no 'float32': use np.float32",
    33: "tapegrad.nn has no 'Identity': use the argument itself, or nn.Sequential()",
    34: "tapegrad has no 'long': use np.int64",
    35: "Adam has no argument 'learning_rate': use lr",
    36: "LSTM has no argument 'input_size': use in_features",
    37: "ReLU has no argument 'inplace': not needed: no op changes a tensor",
    38: "zeros has no argument 'device': not needed: a program runs where JAX or NumPy runs it, see the guide",
    43: "LeakyReLU takes no argument by position; write names, such as negative_slope=...",
    44: "Flatten takes no argument by position; write names, such as start_axis=...",
    45: "ReLU() takes no arguments",
    46: "Conv2d takes in_channels, out_channels, kernel by position; write names, such as stride=... and padding=...",
    47: "SGD takes parameters, lr by position; write names, such as momentum=... and nesterov=...",
    48: "gelu takes x by position; write names, such as approximate=...",
    49: "softplus takes x by position",
    50: "LSTM has no argument 'num_layers': not an option of one layer: nn.StackedLSTM, nn.StackedGRU and nn.StackedRNN"
    " take layers",
    51: "tensor has no argument 'requires_grad': not needed: x.trace() starts a tape",
    52: "Tensor has no 'requires_grad': use x.owns_tape",
    53: "Tensor has no 'is_cuda': not needed: a program runs where JAX or NumPy runs it, see the guide",
    54: "Linear has no 'register_buffer': use self.name = nn.Buffer(x)",
    56: "tapegrad.nn has no 'functional': use the functions of tapegrad itself, such as tg.relu",
    57: "relu has no argument 'inplace': not needed: no op changes a tensor",
    58: "relu has no argument 'inplace': not needed: no op changes a tensor",
    59: "round takes only x: decimals is not an option: tg.round(x * 100) / 100 has two decimals",
    60: "round takes only x: decimals is not an option: tg.round(x * 100) / 100 has two decimals",
    61: "sum takes x, axis by position; write names, such as keepdims=...",
    62: "Adam has no argument 'amsgrad': not implemented: leave it out",
    63: "batches has no argument 'batch_size': use size",
    65: "batches has no argument 'num_workers': use workers",
    66: "kaiming_uniform has no argument 'generator': use rng",
    70: "backward has no argument 'retain_graph': use retain_tape",
    71: "backward has no argument 'create_graph': not an option: tg.Autodiff records a backward pass, for second"
    " derivatives",
    67: "conv2d has no argument 'bias': not an option: an op adds no bias, and a norm layer always has one",
}
SIZES = """\
import tapegrad as tg

x = tg.ones((3, 4))
x.size(0)
(x + 1).size()
len([1])(3)
"""
OTHER_WORDS = {20, 21, 22, 23, 30, 31, 39, 40, 42, 55, 69}  # lines with names that nothing here knows


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """Return the first error of mypy on each line."""
    folder = tmp_path_factory.mktemp("names")
    return first_errors(folder, PROGRAM, "--hide-error-codes")


@pytest.fixture(scope="module")
def raised() -> dict[int, str]:
    """Return the error that each line raises."""
    found: dict[int, str] = {}
    names: dict[str, Any] = {}
    for statement in ast.parse(PROGRAM).body:
        try:
            exec(ast.unparse(statement), names)  # noqa: S102  # the program above
        except (AttributeError, ImportError, TypeError) as error:
            found[statement.lineno] = str(error)
    return found


def test_mypy_says_what_to_use(reported: dict[int, str]) -> None:
    assert {line: text for line, text in reported.items() if line in REJECTED} == REJECTED


def test_python_says_what_to_use(raised: dict[int, str]) -> None:
    assert {line: text for line, text in raised.items() if line in REJECTED} == REJECTED


def test_mypy_says_what_to_use_where_the_size_is_called(tmp_path: Path) -> None:
    assert first_errors(tmp_path, SIZES, "--hide-error-codes") == {
        4: "size is an int, the number of elements: use x.shape[0]",
        5: "size is an int, the number of elements: use (x + 1).shape",
        6: '"int" not callable',
    }


@pytest.mark.parametrize("world", ["reported", "raised"])
def test_other_names_are_rejected_in_the_usual_words(world: str, request: pytest.FixtureRequest) -> None:
    messages: dict[int, str] = request.getfixturevalue(world)

    assert messages.keys() - REJECTED.keys() == OTHER_WORDS
    assert not any(": use" in messages[line] for line in OTHER_WORDS)


EVERY_NAME = [
    ("tapegrad", "tg", FUNCTIONS),
    ("Tensor", "x", METHODS),
    ("tapegrad.nn", "nn", LAYERS),
    ("tapegrad.optim", "optim", OPTIMIZERS),
    ("tapegrad.data", "data", DATA),
    ("Linear", "layer", OF_MODULES),
    ("SGD", "opt", OF_OPTIMIZERS),
]
ALL_NAMES = """\
import tapegrad as tg
from tapegrad import data, nn, optim

x = tg.ones((3, 4))
layer = nn.Linear(4, 2, rng=0)
opt = optim.SGD(layer, 0.1)
"""


def test_mypy_and_python_say_the_same_about_every_name(tmp_path: Path) -> None:
    lines = [(owner, f"{of}.{name}", note) for owner, of, names in EVERY_NAME for name, note in names.items()]
    expected = {
        line: f"{owner} has no {written.partition('.')[2]!r}: {note if note.startswith('not ') else f'use {note}'}"
        for line, (owner, written, note) in enumerate(lines, start=ALL_NAMES.count("\n") + 1)
    }
    program = ALL_NAMES + "\n".join(written for _, written, _ in lines) + "\n"
    names: dict[str, Any] = {}
    exec(ALL_NAMES, names)  # noqa: S102  # the program above
    raised = {}
    for line, (_, written, _) in enumerate(lines, start=ALL_NAMES.count("\n") + 1):
        with pytest.raises(AttributeError) as caught:
            eval(written, names)  # noqa: S307  # the names of the table
        raised[line] = str(caught.value)

    assert raised == expected
    assert first_errors(tmp_path, program, "--hide-error-codes") == expected


def test_mypy_reports_no_overloads_after_a_name_that_is_wrong(tmp_path: Path) -> None:
    program = "from tapegrad import data, nn\nimport tapegrad as tg\n"
    program += "data.batches(tg.ones((3, 4)), batch_size=2)\nnn.Flatten(1)\ntg.tensor([1.0], device='cpu')\n"

    errors = [line.partition(" error: ")[2] for line in reports(tmp_path, program)[:-1]]

    assert errors == [
        "batches has no argument 'batch_size': use size  [call-overload]",
        "Flatten takes no argument by position; write names, such as start_axis=...  [call-overload]",
        f"tensor has no argument 'device': {DEVICES}  [call-overload]",
    ]


def test_functions_of_the_program_keep_the_messages_of_mypy(tmp_path: Path) -> None:
    program = "from tapegrad import mean, ones, optim\ndef cosine(x: int) -> int: return x\nclass Linear: ...\n"
    program += "cosine(1, 2)\nLinear(1)\noptim.cosine(0.1, 10)\nmean(ones((2,)), 0, True, False)\n"

    errors = [line.partition(" error: ")[2] for line in reports(tmp_path, program)[:-1] if " error: " in line]

    assert errors == [
        'Too many arguments for "cosine"  [call-arg]',
        'Too many arguments for "Linear"  [call-arg]',
        'Too many positional arguments for "cosine"  [call-arg]',
        "mean takes x, axis by position; write names, such as keepdims=...  [call-arg]",
    ]


X = np.array([[1.5, -2.0, 0.25, 3.0], [0.5, 2.5, -1.75, 0.0], [4.0, 1.0, -0.5, 2.0]], np.float32)
V = np.array([0.25, 1.0, 2.5, 3.0], np.float32)
TRUTH = {  # the value of what replaces a function
    "addcmul": X + 2 * 2 * X,
    "bucketize": np.searchsorted(V, X),
    "clamp_max": np.minimum(X, 1.0),
    "clamp_min": np.maximum(X, 1.0),
    "cov": np.cov(X),
    "diag_embed": np.stack([np.diag(row) for row in X]),
    "diagflat": np.diagflat(X),
    "digitize": np.digitize(X, V),
    "dist": np.linalg.norm(X - 2),
    "ediff1d": np.ediff1d(X),
    "fliplr": np.fliplr(X),
    "flipud": np.flipud(X),
    "frac": X - np.trunc(X),
    "hardshrink": np.where(np.abs(X) > 0.5, X, 0.0),
    "msort": np.sort(X, axis=0),
    "nanmax": 4.0,
    "nanmean": np.mean(X),
    "nanmin": -2.0,
    "nansum": np.sum(X),
    "nanstd": np.std(X),
    "nanvar": np.var(X),
    "poisson_nll_loss": np.mean(np.exp(X) - 2 * X),
    "ptp": 6.0,
    "rot90": np.rot90(X),
    "softmin": np.exp(-X) / np.exp(-X).sum(1, keepdims=True),
    "softshrink": np.where(X > 0.5, X - 0.5, np.where(X < -0.5, X + 0.5, 0.0)),
    "softsign": X / (1 + np.abs(X)),
    "threshold": np.where(X > 0.75, X, 2.0),
    "trace": np.trace(X),
}


@pytest.mark.parametrize("function", TRUTH)
def test_what_replaces_a_function_has_its_value(function: str) -> None:
    x, y = tg.tensor(X), tg.full((3, 4), 2.0)
    names: dict[str, Any] = {"tg": tg, "np": np, "x": x, "y": y, "limit": 1.0, "threshold": 0.75, "value": 2.0}
    names |= {"boundaries": tg.tensor(V), "z": x}
    if function.startswith("nan"):
        names["x"] = tg.tensor(np.append(X, np.nan))
    written, _, given = FUNCTIONS[function].partition(" with y = ")
    if given:
        names["y"] = eval(given, names)  # noqa: S307  # an expression of the table

    np.testing.assert_allclose(eval(written, names).numpy(), TRUTH[function], rtol=1e-5)  # noqa: S307  # as above


@pytest.mark.parametrize(
    ("names", "owner"),
    [
        (FUNCTIONS, tg),
        (METHODS, tg.Tensor),
        (LAYERS, nn),
        (OPTIMIZERS, optim),
        (DATA, data),
        (OF_MODULES, nn.Module),
        (OF_OPTIMIZERS, optim.Optimizer),
    ],
)
def test_no_name_in_the_tables_exists(names: dict[str, str], owner: ModuleType | type) -> None:
    assert [name for name in names if hasattr(owner, name)] == []


def test_everything_to_use_exists() -> None:
    owners: dict[str, Any] = {
        "tg": tg,
        "nn": nn,
        "optim": optim,
        "data": data,
        "model": nn.Module,
        "x": tg.Tensor,
        "tg.io": tg.io,
    }
    used = [
        own
        for names in (FUNCTIONS, METHODS, LAYERS, OPTIMIZERS, DATA, OF_MODULES, OF_OPTIMIZERS)
        for own in names.values()
    ]
    found = {match for own in used for match in re.findall(r"\b(tg\.io|tg|nn|optim|data|model|x)\.(?!io\b)(\w+)", own)}

    assert len(found) > 60
    assert [f"{owner}.{name}" for owner, name in found if not hasattr(owners[owner], name)] == []


def test_every_argument_is_one_of_an_op_or_a_layer() -> None:
    layers: list[Callable[..., Any]] = [one for of in (nn, optim) for one in vars(of).values() if isinstance(one, type)]
    functions: list[Callable[..., Any]] = [*(op.function for op in OPS.values()), *layers]
    functions += [data.batches, tg.Tensor.backward]
    parameters = {name for one in functions for name in signature(one).parameters}

    assert {own for owns in ARGUMENTS.values() for own in owns} <= parameters


def test_a_layer_without_arguments_rejects_them() -> None:
    with pytest.raises(TypeError, match=r"^ReLU\(\) takes no arguments$"):
        nn.ReLU(3)  # type: ignore[call-arg]  # the mistake


def test_a_layer_of_the_user_may_have_such_an_argument() -> None:
    class Noise(nn.Module):
        def __init__(self, size: int, **options: int) -> None:
            self.size, self.options = size, options

    assert Noise(size=3, p=4).options == {"p": 4}


def test_a_missing_method_is_described_where_attributes_are_listed() -> None:
    assert repr(vars(tg.Tensor)["view"]) == "<Tensor has no 'view': use x.reshape(shape)>"


def test_an_unknown_name_has_no_hint() -> None:
    assert hint("tapegrad", "foo") == ""


def test_the_page_has_the_tables() -> None:
    text = page.PAGE.read_text("utf-8")

    assert page.written(text) == text, "run python -m docs.other_names"
