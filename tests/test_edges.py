"""Extreme values (inf, nan, subnormal) and unusual memory layouts, over random calls of every op.

The calls are those of the differential test, so a new op is included automatically; `zeros` in them creates tensors of
other numbers here.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.autograd.registry import OPS
from tapegrad.errors import DTypeError, ShapeError, SingularError
from tests.mypy.test_differential import calls_of_one_op
from tests.op_coverage import NAMES

TINY, HUGE = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
EDGES = np.array([0.0, -0.0, TINY, -TINY, 1e-38, HUGE, -HUGE, 1e19, 1.0, -1.5, np.inf, -np.inf, np.nan], np.float64)
# Where rounding in another order shows: what NumPy adds up or multiplies goes by the layout.
EXACT = {"rtol": 2e-5, "atol": 2e-5}

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "turned": lambda x: x.T.copy().T,
    "reversed": lambda x: x[_backwards(x)].copy()[_backwards(x)],
    "with gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "read-only": lambda x: _frozen(x.copy()),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
}


def _backwards(x: Any) -> Any:
    return (slice(None, None, -1),) * x.ndim


def _frozen(x: Any) -> Any:
    x.flags.writeable = False
    return x


@cache
def drawn(name: str, count: int = 8) -> list[str]:
    """Return calls of an op that are right, and draw nothing at random."""
    dice = random.Random(name)  # noqa: S311  # draws programs, not secrets
    calls = calls_of_one_op(OPS[name], dice, count)
    return [call.written for call in calls if call.valid and "rng" not in call.written]


class Namespace:
    """Replaces `tapegrad` in a call: creates and stores the operands, and passes all else through."""

    def __init__(self, fill: Callable[[Any, Any], Any], layout: Callable[[Any], Any] = lambda x: x) -> None:
        self.fill, self.layout = fill, layout
        self.operands: list[tuple[Any, bytes]] = []
        self.tensors: list[Any] = []

    def zeros(self, shape: Any, dtype: Any = np.float32) -> Any:
        array = self.layout(np.asarray(self.fill(shape, dtype)))
        self.operands.append((array, array.tobytes()))
        self.tensors.append(tg.Tensor(array))
        return self.tensors[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(tg, name)

    def call(self, written: str) -> Any:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            return eval(written, {"tg": self, "np": np})  # noqa: S307  # written by the differential test

    def changed(self) -> bool:
        return any(array.tobytes() != before for array, before in self.operands)


def filler(pool: Any, seed: int = 0) -> Callable[[Any, Any], Any]:
    """Fill floats from a pool of numbers; indices stay 0, which all ops take."""
    dice = np.random.default_rng(seed)

    def fill(shape: Any, dtype: Any) -> Any:
        if np.dtype(dtype).kind != "f":
            return np.zeros(shape, dtype)
        return (
            dice.choice(pool, shape).astype(dtype) if pool is not None else dice.uniform(0.2, 0.9, shape).astype(dtype)
        )

    return fill


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def way_back(result: Any) -> Any:
    """Run the first taped part of a result backwards."""
    for part in parts(result):
        if part.owns_tape and part.is_float:
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                return part.backward(seed=tg.ones(part.shape, part.dtype))
    return None


def same(x: Any, y: Any) -> bool:
    return bool(x.shape == y.shape and x.dtype == y.dtype and np.allclose(x, y, equal_nan=True, **EXACT))


RANDOM = {
    "bernoulli",
    "bernoulli_like",
    "dropout",
    "empty",
    "empty_like",
    "normal",
    "normal_like",
    "uniform",
    "uniform_like",
}


@pytest.mark.parametrize("name", NAMES)
def test_an_op_handles_special_values_and_changes_no_operand(name: str) -> None:
    for written in drawn(name):
        for seed in range(2):
            namespace = Namespace(filler(EDGES, seed))
            try:
                result = namespace.call(written)
                grads = way_back(result)
            except SingularError:
                continue
            except ValueError as error:
                if not str(error).startswith(f"{name}: "):
                    raise
                continue

            assert not namespace.changed(), written
            for x in namespace.tensors:
                if grads is not None and x in grads:
                    assert (grads[x].shape, grads[x].dtype) == (x.shape, x.dtype), written


@pytest.mark.parametrize("name", sorted({*NAMES} - RANDOM))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_do_not_depend_on_the_memory_layout_of_operands(name: str, layout: str) -> None:
    for written in drawn(name)[:3]:
        plain, odd = Namespace(filler(None)), Namespace(filler(None), LAYOUTS[layout])
        expected, found = plain.call(written), odd.call(written)

        for x, y in zip(parts(expected), parts(found), strict=True):
            assert same(x.numpy(), y.numpy()), written
        there, here = way_back(expected), way_back(found)
        assert (there is None) == (here is None), written
        if there is not None:
            for x, y in zip(plain.tensors, odd.tensors, strict=True):
                assert (x in there) == (y in here), written
                assert x not in there or same(there[x].numpy(), here[y].numpy()), written
        assert not odd.changed(), written


@pytest.mark.parametrize("name", sorted({*NAMES} - RANDOM))
def test_an_op_of_float64_computes_in_float64(name: str) -> None:
    for written in drawn(name):
        namespace = Namespace(
            lambda shape, dtype: filler(None)(shape, np.float64 if np.dtype(dtype) == np.float32 else dtype)
        )
        try:
            result = namespace.call(written)
        except (DTypeError, ShapeError):  # of another dtype, by its own argument
            continue
        if not any(x.dtype == np.float64 for x in namespace.tensors) or "float32" in written:
            continue
        grads = way_back(result)
        values = [part.numpy() for part in parts(result) if part.is_float]
        values += [grads[x].numpy() for x in namespace.tensors if grads is not None and x in grads]
        for value in values:
            assert value.dtype == np.float64, written
            if value.dtype == np.float64:
                known = value[np.isfinite(value) & (np.abs(value) > 1e-9)]  # what cancels leaves few digits
                fractions = known[known * 64 % 1 != 0]
                assert fractions.size < 4 or (fractions != fractions.astype(np.float32)).any(), written


@pytest.mark.parametrize("name", sorted({*NAMES} - {"zeros"}))  # which makes the operands here
def test_results_share_memory_with_operands_only_where_documented(name: str) -> None:
    page = (Path(__file__).parent.parent / "docs" / "guide" / "mutation.md").read_text("utf-8")
    views = set(re.findall(r"`(\w+)`", page.partition("## What shares memory")[2].partition("\n## ")[0]))

    shares = False
    for written in drawn(name):
        namespace = Namespace(filler(None))
        result = namespace.call(written)
        data = [part.numpy() for part in parts(result)]
        shares |= any(np.shares_memory(array, one) for array, _ in namespace.operands for one in data)

    assert not shares or name in views


HUGE_CALLS = [
    (
        "tg.zeros((2**40, 2**40))",
        "zeros: the result would be (1099511627776, 1099511627776), more than an array can hold",
    ),
    ("tg.ones(2**63)", "ones: the result would be (9223372036854775808,), more than an array can hold"),
    ("tg.full((2**62,), 1.0)", "full: the result would be (4611686018427387904,), more than an array can hold"),
    ("tg.zeros((0, 2**62, 2**62))", "zeros: the result would be (0, "),
    ("tg.eye(2**33)", "eye: the result would be (8589934592, 8589934592), more than an array can hold"),
    ("tg.arange(2**62)", "arange: the result would be (4611686018427387904,), more than an array can hold"),
    ("tg.arange(2**70)", "arange: the result would be (1180591620717411303424,), more than an array can hold"),
    ("tg.arange(0, -(2**63), -1)", "arange: the result would be (9223372036854775808,), more than an array can hold"),
    ("tg.linspace(0.0, 1.0, 2**70)", "linspace: the result would be"),
    ("tg.linspace(0.0, 1.0, 2**63)", "linspace: the result would be"),
    ("tg.one_hot(tg.tensor([1]), 2**63)", "one_hot: the result would be"),
    ("tg.tri(2**63)", "tri: the result would be"),
    ("tg.adaptive_avg_pool1d(tg.ones((1, 2, 7)), 2**63)", "adaptive_avg_pool1d: the result would be"),
    ("tg.normal((2**62,))", "normal: the result would be"),
    ("tg.bernoulli((2**31, 2**31, 2**31))", "bernoulli: the result would be"),
    ("x.repeat(2**62)", "repeat: the result would be"),
    ("tg.tile(x, (2**40, 2**40))", "tile: the result would be"),
    ("tg.pad(x, ((0, 2**62), (0, 0)))", "pad: the result would be"),
    ("tg.broadcast_to(x, (2**31, 2**31, 2, 3))", "broadcast_to: the result would be"),
    ("tg.one_hot(tg.tensor([1]), 2**62)", "one_hot: the result would be"),
    ("tg.conv2d(tg.ones((1, 1, 2, 2)), tg.ones((1, 1, 2, 2)), padding=2**62)", "conv2d: the result would be"),
    ("wide[:, None] * wide", "mul: the result would be (1073741824, 1073741824, 1073741824"),
    ("x.reshape((2**62, 2**62))", "reshape: x (2, 3) has 6 elements but shape"),
    ("x.sum(2**70)", "sum: axis 1180591620717411303424 is out of range for x (2, 3)"),
]


@pytest.mark.parametrize(("written", "message"), HUGE_CALLS)
def test_impossible_sizes_are_rejected_with_a_message(written: str, message: str) -> None:
    x, wide = tg.ones((2, 3)), tg.broadcast_to(tg.ones((1, 1)), (2**30, 2**30))

    with pytest.raises(ShapeError, match=f"^{re.escape(message)}"):
        eval(written, {"tg": tg, "x": x, "wide": wide})  # noqa: S307  # written above


@pytest.mark.parametrize(
    "written",
    ["x + 2**2000", "tg.tensor([1]) * 2**70", "tg.full((2,), 2**70, np.int64)", "tg.masked_fill(x, x > 0, 2**2000)"],
)
def test_numbers_too_large_for_any_dtype_are_rejected_with_a_message(written: str) -> None:
    with pytest.raises(DTypeError, match=r"^\w+: a number is too large for its dtype or its place \("):
        eval(written, {"tg": tg, "np": np, "x": tg.ones((2, 3))})  # noqa: S307  # written above


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i4", ">i8", ">f2", ">u2"])
def test_arrays_with_swapped_bytes_are_converted_to_native_order(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    native = array.astype(array.dtype.newbyteorder("="))

    x: Any = tg.tensor(array)
    y: Any = tg.ones((2, 3), native.dtype) * array

    assert (x.dtype, x.dtype.byteorder) == (native.dtype, native.dtype.byteorder)
    assert x.tolist() == y.tolist() == array.tolist()
    assert (x + y).dtype == native.dtype
    assert tg.tensor(array[0], np.dtype(">f4")).dtype.isnative
    assert x[np.array([1, 0], ">i8")].tolist() == array[[1, 0]].tolist()
