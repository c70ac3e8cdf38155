"""Half precision: a primitive is that of float32, rounded once; a composed op rounds in between.

The calls are those of the differential test, as in `test_edges.py`, so a new op is included automatically.
"""

from __future__ import annotations

import copy
import math
import pickle
import random
import sys
import warnings
from inspect import isfunction
from itertools import cycle
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim, tapem
from tapegrad.autograd.registry import OPS
from tapegrad.engines import bfloat16 as half  # the ops enter themselves in their table
from tapegrad.engines.interface import Backend, Elementwise, Pairwise
from tapegrad.engines.numpy.half import Half
from tapegrad.engines.numpy.half_array import Halves
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops._float32 import in_float32
from tapegrad.quantized import Symmetric
from tapegrad.slot_tape import SlotTape
from tapegrad.tapem import Tape
from tests.mypy.test_differential import calls_of_one_op
from tests.tapem import test_lift
from tests.test_edges import parts

NAMES = sorted(name for name, entry in OPS.items() if entry.function.__module__.startswith("tapegrad.ops."))
# These give numbers of the dtype itself, which are tested below; and elimination is not available in half precision.
OF_THE_DTYPE = {"nan_to_num", "nextafter", "spacing"}
PRIMITIVES = {
    *get_args(Elementwise),
    *get_args(Pairwise),
    *vars(Backend),
    "add",
    "conv2d",
    "div",
    "matmul",
    "mul",
    "sub",
    # What squares, or adds up many, is computed in float32 as a whole.
    "bce",
    "bce_with_logits",
    "cosine",
    "cross_entropy",
    "hinge",
    "huber",
    "kl_div",
    "logsumexp",
    "mae",
    "mse",
    "nll",
    "norm",
    "rmse",
    "smooth_l1",
    "std",
    "var",
}
REJECTED = {"cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "pinv", "qr", "slogdet", "solve", "svd", "svdvals"}
UNITS = {np.float16: 2.0**-11, tg.bfloat16: 2.0**-8}
MAKE = {"arange", "eye", "full", "linspace", "one_hot", "ones", "tensor", "tri", "zeros"}


of_either_dtype = pytest.mark.parametrize("dtype", UNITS, ids=["float16", "bfloat16"])


class Namespace:
    """Stands for `tapegrad` in a call: its float32 tensors are of other dtypes, with numbers that bfloat16 has."""

    def __init__(self, *dtypes: Any) -> None:
        self.dtypes = cycle(dtypes)
        self.dice = np.random.default_rng(0)
        self.tensors: list[Any] = []

    def zeros(self, shape: Any, dtype: Any = np.float32) -> Any:
        if dtype is np.float32:
            values = self.dice.uniform(0.2, 0.9, shape).astype(tg.bfloat16).astype(np.float32)
            x = tg.tensor(np.asarray(values)).astype(next(self.dtypes))
        else:
            x = tg.zeros(shape, dtype)
        self.tensors.append(x)
        return x

    def __getattr__(self, name: str) -> Any:
        return getattr(tg, name)

    def call(self, written: str) -> Any:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"), tg.random(0):
            return eval(written, {"tg": self, "np": np})  # noqa: S307  # written by the differential test

    def way_back(self, result: Any) -> Any:
        taped = [part for part in parts(result) if part.owns_tape and part.is_float]
        if not taped:
            return {}
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            grads = taped[0].backward(seed=tg.ones(taped[0].shape, taped[0].dtype))
        return {place: grads[x] for place, x in enumerate(self.tensors) if x in grads}


def drawn(name: str) -> list[str]:
    dice = random.Random(name)  # noqa: S311  # draws programs, not secrets
    return [call.written for call in calls_of_one_op(OPS[name], dice, 5) if call.valid]


def assert_near(x: Any, y: Any, written: str, dtype: Any, least: int = 0) -> None:
    """Assert that `y` is what `x` is to within a few units of a dtype, if `x` is of float32, and else is `x`."""
    assert y.dtype == (dtype if x.dtype == np.float32 else x.dtype), written
    assert isinstance(y.data, Halves) == (y.dtype == dtype), written
    if y.dtype != dtype:
        assert_rounded(x, y, written, dtype)
        return
    wide, unit = x.numpy(), UNITS[dtype]
    largest = np.abs(wide[np.isfinite(wide)]).max(initial=0)
    np.testing.assert_allclose(
        y.astype(np.float32).numpy(), wide, 8 * unit, unit * max(least, 8 * largest), err_msg=written
    )


def assert_rounded(x: Any, y: Any, written: str, dtype: Any) -> None:
    """Assert that `y` is what `x` is in a dtype, if `x` is of float32, and else is `x`."""
    assert y.dtype == (dtype if x.dtype == np.float32 else x.dtype), written
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(x.numpy().astype(y.dtype).tolist(), y.tolist(), written)


@of_either_dtype
@pytest.mark.parametrize("name", sorted({*NAMES} - MAKE - OF_THE_DTYPE - REJECTED - {"empty", "empty_like"}))
def test_ops_and_gradients_are_close_to_float32(name: str, dtype: Any) -> None:
    for written in drawn(name):
        if "dtype=" in written:
            continue
        wide, narrow = Namespace(np.float32), Namespace(dtype)
        x, y = wide.call(written), narrow.call(written)

        for one, other in zip(parts(x), parts(y), strict=True):
            if narrow.tensors:
                assert_near(one, other, written, dtype)
        if name == "rnn":  # of large sums its tanh rounds to 1, where the derivative is 0
            continue
        dx, dy = wide.way_back(x), narrow.way_back(y)
        assert dx.keys() == dy.keys(), written
        for place, gradient in dx.items():
            assert_near(gradient, dy[place], written, dtype, 4)  # of a seed of ones, where larger terms cancel


@of_either_dtype
@pytest.mark.parametrize("name", sorted(PRIMITIVES & {*NAMES} - OF_THE_DTYPE - REJECTED - MAKE))
def test_a_primitive_equals_float32_rounded_once(name: str, dtype: Any) -> None:
    for written in drawn(name):
        if "dtype=" not in written:
            found = zip(parts(Namespace(np.float32).call(written)), parts(Namespace(dtype).call(written)), strict=True)

            for x, y in found:
                assert_rounded(x, y, written, dtype)


def test_every_primitive_computes_in_float32() -> None:
    primitives = [name for name, one in vars(Backend).items() if isfunction(one)]

    assert [name for name in primitives if name not in vars(Half)] == []


@pytest.mark.parametrize("name", sorted({*NAMES} - MAKE))
def test_bfloat16_mixes_with_float32_where_float16_does(name: str) -> None:
    for written in drawn(name):
        if written.count("tg.zeros(") < 2:
            continue
        outcomes = []
        for dtype in (np.float16, tg.bfloat16):
            try:
                result: Any = parts(Namespace(np.float32, dtype).call(written))
                outcomes.append([str(part.dtype) for part in result])
            except DTypeError as error:
                outcomes.append([str(error)])

        assert outcomes[1] == [one.replace("float16", "bfloat16") for one in outcomes[0]], written


CASES = [
    name
    for name, (operands, _) in test_lift.CASES.items()
    if name not in REJECTED and all(x.is_float for x in operands if isinstance(x, tg.Tensor))
]


@of_either_dtype
@pytest.mark.parametrize("name", CASES)
def test_the_pure_tape_rounds_as_the_owned_one_does(name: str, dtype: Any) -> None:
    operands, settings = test_lift.CASES[name]
    narrow = [x.astype(dtype) for x in operands]

    @tapem.do
    def summed() -> tapem.Do[Any]:
        nodes = []
        for operand in narrow:
            nodes.append((yield from tapem.leaf(operand)))  # noqa: PERF401  # no comprehension can yield
        y = yield from test_lift.LIFTED[name](*nodes, **settings)
        loss = yield from tapem.sum(y)
        grads = yield from tapem.backward(loss)
        return nodes, y, grads

    nodes, y, grads = summed().eval(Tape.empty()).unwrap()

    expected: Any = test_lift.LIFTED[name].op(*(x.trace() for x in narrow), **settings)
    found = expected.sum().backward()
    assert y.value.dtype == dtype
    assert y.value.tolist() == expected.tolist()
    for node, x in zip(nodes, narrow, strict=True):
        assert grads.of(node).dtype == dtype
        assert grads.of(node).tolist() == found[x].tolist()


EIGHT_BITS = [0.0, -0.0, 1.0, 1.0078125, -3.140625, 3.38953139e38, 2.0**-130, math.inf, -math.inf, math.nan]


@of_either_dtype
def test_long_sums_and_gradients_of_broadcasts_are_exact(dtype: Any) -> None:
    x, b = tg.ones((4096, 3), dtype), tg.zeros((3,), dtype)

    assert x.sum(0).tolist() == x.cumsum(0)[-1].tolist() == tg.einsum("ij->j", x).tolist() == [4096.0] * 3
    assert (x + b.trace()).sum().backward()[b].tolist() == [4096.0] * 3
    table = tg.zeros((2, 1), dtype)
    assert table.trace()[np.zeros(4096, np.int64)].sum().backward()[table].tolist() == [[4096.0], [0.0]]


def test_means_and_norms_do_not_overflow_where_sums_would() -> None:
    x: Any = tg.full((1000,), 300.0, np.float16)

    assert (x.mean().item(), tg.var(x).item(), tg.std(x).item()) == (300.0, 0.0, 0.0)
    assert tg.norm(x).item() == 9488.0  # of 9486.83, in steps of 8
    assert tg.norm(x.trace()).backward()[x].tolist() == [float(np.float16(1000**-0.5))] * 1000
    assert tg.rmse(x, tg.zeros((1000,), np.float16)).item() == 300.0
    logits = tg.zeros((70_000, 10), np.float16)
    assert tg.cross_entropy(logits, tg.zeros((70_000,), np.int64)).item() == float(np.float16(np.log(10)))
    assert tg.logsumexp(logits.reshape((-1,))).item() == float(np.float16(np.log(700_000)))


def test_losses_of_many_traced_elements_are_computed_in_float32() -> None:
    """Their float32 values are large enough to be released, which Python 3.12 did before the loss had read them."""
    x, target = tg.full((200, 200), 300, dtype=np.float16), tg.zeros((200, 200), np.float16)

    assert tg.rmse(x.trace(), target).item() == 300  # 300² is no float16
    assert tg.cosine(x.trace(), x).item() == 0


def test_an_error_of_the_computation_in_float32_is_not_hidden() -> None:
    @in_float32
    def of_half_precision(x: Any) -> Any:
        if x.dtype == np.float32:
            message = "the value was released"
            raise tg.TapeError(message)
        return x

    with pytest.raises(tg.TapeError, match=r"^the value was released$"):
        of_half_precision(tg.zeros((2,), np.float16))


def test_losses_and_reductions_of_half_precision_reject_invalid_arguments() -> None:
    x: Any = tg.ones((3,), np.float16)
    t: Any = tg.ones((3,))
    labels: Any = tg.arange(3)

    with pytest.raises(DTypeError, match=r"^mse: x is float16 but target is float32"):
        tg.mse(x, t)
    with pytest.raises(DTypeError, match=r"^mse: x is float16 but target is int64"):
        tg.mse(x, labels)
    with pytest.raises(ShapeError, match=r"^mean: axis 3 is out of range for x \(3,\)$"):
        x.mean(3)


def test_a_sum_of_a_thousand_ones_is_a_thousand() -> None:
    x = tg.ones((1000,), tg.bfloat16)

    assert [x.sum().item(), x.mean().item(), x.cumsum()[-1].item(), (x @ x).item()] == [1000.0, 1.0, 1000.0, 1000.0]
    assert tg.norm(x).item() == 31.625  # of 31.6228, in steps of 1/8
    assert tg.var(x + 100.0).item() < 1e-9
    assert tg.softmax(x).sum().item() == 1.0  # each rounds to 0.00099945


def test_a_tensor_prints_its_numbers() -> None:
    x: Any = tg.tensor([[1.0, 2.5, -0.1]], tg.bfloat16)

    assert repr(x) == "Tensor([[ 1.        ,  2.5       , -0.10009766]], shape=(1, 3), bfloat16, no tape)"
    assert x.tolist() == [[1.0, 2.5, -0.10009765625]]
    assert (x[0, 1].item(), float(x[0, 1]), int(x[0, 1]), bool(x[0, 1])) == (2.5, 2.5, 2, True)
    assert (x.nbytes, x.dtype, x.numpy().dtype, type(x.numpy())) == (6, tg.bfloat16, tg.bfloat16, np.ndarray)
    assert not x.numpy().flags.writeable
    assert x.numpy(copy=True).flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conversion_to_float16_rounds_as_numpy_does(dtype: Any) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(dtype)
    with np.errstate(all="ignore"):
        halfway = (every[1:] + every[:-1]) / 2
        near = [np.nextafter(halfway, dtype(way)) for way in (0, 1)]
        x = np.concatenate([every, halfway, *near] * 2)  # enough for two threads
        expected = x.astype(np.float16)

        found = tg.tensor(x).astype(np.float16).numpy()

    np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_conversion_from_and_to_other_floats_has_its_gradient(dtype: Any) -> None:
    x = tg.tensor([1.0, 2.5, -0.75], dtype)

    grads = (x.trace().astype(tg.bfloat16).astype(dtype) * 3.0).sum().backward()

    assert (grads[x].dtype, grads[x].tolist()) == (dtype, [3.0, 3.0, 3.0])


def test_conversion_keeps_numbers_of_eight_bits() -> None:
    x = tg.tensor(EIGHT_BITS)

    assert str(x.astype(tg.bfloat16).astype(np.float32).tolist()) == str(x.tolist())
    assert tg.tensor([257, 7, 0]).astype(tg.bfloat16).tolist() == [256.0, 7.0, 0.0]  # halfway goes to the even one
    assert tg.tensor([1.75, -2.5]).astype(tg.bfloat16).astype(np.int64).tolist() == [1, -2]
    assert tg.tensor([True, False]).astype(tg.bfloat16).tolist() == [1.0, 0.0]
    assert tg.tensor([0.5, 0.0]).astype(tg.bfloat16).astype(np.bool_).tolist() == [True, False]


def test_eps_and_limits_are_those_of_bfloat16() -> None:
    x = tg.tensor([1.0, math.inf, math.nan], tg.bfloat16)

    assert tg.nan_to_num(x).tolist() == [1.0, 3.3895313892515355e38, 0.0]
    assert tg.spacing(x[:1]).tolist() == [2.0**-7]
    assert tg.nextafter(x[:1], x[1:2]).tolist() == [1 + 2.0**-7]
    y = x.trace()
    assert tg.nan_to_num(y).sum().backward()[x].tolist() == [1.0, 0.0, 0.0]


@of_either_dtype
@pytest.mark.parametrize(
    "written",
    [
        "tg.zeros((2,), dtype)",
        "tg.ones((2,), dtype)",
        "tg.full((2,), 1.5, dtype)",
        "tg.empty((2,), dtype)",
        "tg.eye(2, dtype=dtype)",
        "tg.tri(2, dtype=dtype)",
        "tg.linspace(0.0, 1.0, 3, dtype=dtype)",
        "tg.one_hot(tg.arange(2), 3, dtype=dtype)",
        "tg.normal((2,), dtype=dtype)",
        "tg.uniform((2,), dtype=dtype)",
        "tg.bernoulli((2,), dtype=dtype)",
        "tg.tensor([1.0, 2.0], dtype)",
        "tg.tensor(np.ones(2, dtype))",
        "tg.zeros((2,), np.dtype(dtype))",
        "tg.normal_like(tg.zeros((2,), dtype))",
        "tg.empty_like(tg.zeros((2,), dtype))",
        "tg.full_like(tg.zeros((2,), dtype), 0.5)",
    ],
)
def test_tensors_created_from_half_precision_compute_in_float32(written: str, dtype: Any) -> None:
    x: Any = eval(written, {"tg": tg, "np": np, "dtype": dtype})  # noqa: S307  # written above

    assert x.dtype == dtype
    assert isinstance(x.data, Halves)
    assert x.is_float


@of_either_dtype
@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])  # noqa: S301  # of our own
def test_a_copy_is_of_half_precision_and_computes_in_float32(copied: Any, dtype: Any) -> None:
    x = copied(tg.full((1000,), 1.0, dtype))

    assert (x.dtype, x.sum().item(), type(x.data)) == (dtype, 1000.0, Halves)


@of_either_dtype
def test_a_parameter_keeps_computing_in_float32(dtype: Any) -> None:
    w: Any = nn.Param(tg.ones((1000,), dtype))

    w.assign(tg.full((1000,), 2.0, dtype))

    assert (w.sum().item(), type(w.data)) == (2000.0, Halves)
    loss = (tg.ones((1000,), dtype).trace() * w).sum()
    assert loss.backward(wrt=w)[w].sum().item() == 1000.0


def test_gradients_of_a_tensor_used_twice_are_summed() -> None:
    x = tg.tensor([1.0, 2.0], tg.bfloat16)
    y = x.trace()

    grads = (y * y + tg.exp(y) + y[:1]).sum().backward()

    assert grads[x].tolist() == [tg.tensor(2 + math.e + 2).astype(tg.bfloat16).item(), 11.375]  # 4 + 7.375
    assert grads.norm() == pytest.approx(13.2, rel=2**-7)
    assert grads.clip_norm(1.0)[x].dtype == tg.bfloat16
    assert grads.is_finite()


@pytest.mark.parametrize("checkpoint", [tg.BalancedCheckpointing(), tg.NoCheckpointing()])
def test_recomputed_values_are_the_same(checkpoint: Any) -> None:
    x, w = tg.normal((3, 4), rng=0).astype(tg.bfloat16), nn.Param(tg.normal((4, 2), rng=1).astype(tg.bfloat16))

    def gradients(checkpoint: Any) -> Any:
        y: Any = x.trace(checkpoint=checkpoint)
        return tg.softmax(tg.tanh(y) @ w * 2.0)[:, 0].sum().backward(wrt=[x, w])

    expected, found = gradients(None), gradients(checkpoint)

    assert found[x].tolist() == expected[x].tolist()
    assert found[w].tolist() == expected[w].tolist()


def test_a_fused_function_computes_op_by_op() -> None:
    @tg.fused
    def gate(x: Any, y: Any) -> Any:
        return tg.tanh(x) * tg.sigmoid(y) + x

    x = tg.normal((300, 1000), rng=0).astype(tg.bfloat16)
    y = tg.tanh(x) * tg.sigmoid(x) + x

    assert gate(x, x).tolist() == y.tolist()
    assert gate(x.trace(), x).sum().backward()[x].dtype == tg.bfloat16


@of_either_dtype
def test_other_tapes_accept_half_precision(dtype: Any) -> None:
    x = tg.normal((3, 4), rng=0).astype(dtype)
    wide = x.astype(np.float32)

    found = tg.hvp(lambda y: (y * y * y).sum(), x, x)

    np.testing.assert_allclose(found.astype(np.float32).numpy(), (wide * wide * 6.0).numpy(), rtol=2**-6)


def test_an_array_by_itself_computes_in_float32() -> None:
    x: Any = tg.full((1000,), 1.0, tg.bfloat16).data

    y = np.zeros(3, tg.bfloat16).view(Halves)
    np.add.at(y, np.zeros(1000, int), 1.0)
    y += np.ones(3, np.float32)

    assert [x.sum(), np.add.reduce(x), np.einsum("i,i", x, x), x @ x] == [1000.0] * 4
    assert [float(np.mean(x)), float(np.linalg.norm(x))] == [1.0, pytest.approx(31.625, rel=2**-8)]
    assert (y.tolist(), type(y)) == ([1000.0, 1.0, 1.0], Halves)
    assert [type(one) for one in np.modf(x[:2])] == [Halves, Halves]
    assert np.add(x[:2], 1.0, out=x[:2].copy()).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adadelta])
def test_an_optimizer_rejects_parameters_of_bfloat16(optimizer: Any) -> None:
    w = nn.Param(tg.ones((3,), tg.bfloat16), frozen=True)
    v = nn.Param(tg.ones((3,)))
    opt = optimizer({"v": v, "layer.w": w}, lr=0.1)  # a frozen one stays as it is

    w.frozen = False
    x = tg.ones((3,)).trace()
    grads = (x * v * (tg.ones((3,), tg.bfloat16).trace() * w).astype(np.float32)).sum().backward(wrt=[v, w])

    message = rf"^{optimizer.__name__}: layer.w is bfloat16 but float32 or float64 is expected$"
    with pytest.raises(DTypeError, match=message):
        opt.step(grads)
    assert v.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(DTypeError, match=message):
        optimizer({"v": v, "layer.w": w}, lr=0.1)


def test_a_scaled_loss_of_bfloat16_steps_as_one_of_float32() -> None:
    wide, narrow = nn.Linear(5, 3, rng=0), nn.Linear(5, 3, rng=0)
    x, scaler = tg.normal((7, 5), rng=1), optim.LossScaler()
    steps = [(optim.SGD(model, lr=0.1), model) for model in (wide, narrow)]

    loss = (wide(x.trace()) * 1e-3).mean()
    steps[0][0].step(loss.backward(wrt=wide))
    loss = (narrow(x.trace()).astype(tg.bfloat16) * 1e-3).astype(np.float32).mean()
    assert scaler.step(steps[1][0], scaler.scaled(loss).backward(wrt=narrow))

    np.testing.assert_allclose(narrow.weight.numpy(), wide.weight.numpy(), rtol=1e-3, atol=1e-5)
    assert scaler.scaled(loss.detach().astype(tg.bfloat16).trace()).dtype == tg.bfloat16


def test_other_dtypes_of_ml_dtypes_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^zeros: dtype is the class float8_e4m3 but a dtype of NumPy, or its scalar"):
        tg.zeros((3,), ml_dtypes.float8_e4m3)
    with pytest.raises(DTypeError, match=r"^tensor: data is of dtype float8_e4m3, neither numbers nor bools$"):
        tg.tensor(np.zeros(3, ml_dtypes.float8_e4m3))
    with pytest.raises(DTypeError, match=r"^check_gradients: input 0 is bfloat16, but finite differences need float64"):
        tg.testing.check_gradients(tg.tanh, tg.ones((3,), tg.bfloat16))
    with pytest.raises(DTypeError, match=r"^quantize: x is bfloat16 but float16, float32 or float64 is expected$"):
        tg.quantize(tg.ones((3,), tg.bfloat16), Symmetric())
    with pytest.raises(DTypeError, match=r" is bfloat16 but float16, float32 or float64 is expected$"):
        SlotTape().leaf(np.ones(3, tg.bfloat16))
    with pytest.raises(DTypeError, match=r"^inv: x is bfloat16 but float32 or float64 is expected$"):
        tg.inv(tg.ones((2, 2), tg.bfloat16))


def test_without_ml_dtypes_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(vars(half), "bfloat16", raising=False)

    with pytest.raises(
        ModuleNotFoundError, match=r'^tapegrad.bfloat16 needs the package ml_dtypes: pip install "tapegrad\[half\]"$'
    ):
        _ = half.bfloat16


def test_an_array_operand_computes_in_float32() -> None:
    x, y = tg.ones((1000,), tg.bfloat16), np.ones(1000, tg.bfloat16)

    assert ((x @ y).item(), (y @ x).item()) == (1000.0, 1000.0)


def test_an_array_of_a_tensor_on_the_left_meets_another_tensor() -> None:
    x = tg.tensor([1.0, 2.0]).astype(np.float16)
    array: Any = x.numpy()

    assert (array * x.trace()).sum().backward()[x].tolist() == [1.0, 2.0]
