"""Comparison with NumPy: the values of random programs, and the shapes of random calls against the rules.

A rule is called with shapes of up to five axes of sizes 0 to 5, and must reject what NumPy rejects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tapegrad.autograd.registry import OPS
from tapegrad.errors import DTypeError, ShapeError
from tests.mypy.test_differential import Drawn
from tests.test_programs import FEW, HALF, NAMES, Program, flat, plain, programs


def parts(x: Any, sections: Any, axis: int = 0) -> Any:
    if not isinstance(sections, int) and (min(sections, default=0) < 0 or sum(sections) != x.shape[axis]):
        message = f"{sections} do not make up {x.shape[axis]}"
        raise ValueError(message)
    if not isinstance(sections, int) and not sections:
        return ()
    return tuple(np.split(x, sections if isinstance(sections, int) else np.cumsum(sections)[:-1].tolist(), axis))


def surrounded(x: Any, pad_width: Any, mode: Any = "constant", value: float = 0) -> Any:
    is_pairs = isinstance(pad_width, tuple) and bool(pad_width) and isinstance(pad_width[0], tuple)
    if not x.ndim and not is_pairs:  # NumPy rejects a negative width even where there is no axis that it could be for
        return x
    return np.pad(x, pad_width, **({"constant_values": value} if mode == "constant" else {"mode": mode}))


def with_own_sizes(x: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with the size of `x` along the same axis for each -1; a -1 without one stays."""
    new = len(shape) - len(x)
    return tuple(x[axis - new] if n == -1 and axis >= new >= 0 else n for axis, n in enumerate(shape))


def ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, axis: int = -1, *, descending: bool = False) -> Any:
        negated = -x.astype(np.float64) if descending else x
        found = function(negated, axis, stable=True)
        return (-found).astype(x.dtype) if descending and function is np.sort else found

    return call


UNLIKE = {"astype", "nonzero", "unique"}  # the first gets a dtype, the sizes of the others depend on the values
NUMPY: dict[str, Any] = {
    **{name: getattr(np, name) for name in NAMES if hasattr(np, name) and name not in UNLIKE},
    "argsort": ordered(np.argsort),
    "bmm": np.matmul,
    "clamp": lambda x, min=None, max=None: np.clip(x, min, max),  # noqa: A006  # our names
    "diff": lambda x, n=1, axis=-1: np.diff(np.moveaxis(x, axis, axis), n, axis),  # NumPy checks no axis for n = 0
    "div": np.divide,
    "getitem": lambda x, index: x[index],
    "masked_fill": lambda x, mask, value: np.where(mask, value, x),
    "mul": np.multiply,
    "neg": np.negative,
    "pad": surrounded,
    "permute": np.permute_dims,
    "relu": lambda x: np.maximum(x, 0),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, with_own_sizes(np.shape(x), shape)),  # NumPy has no -1 there
    "roll": lambda x, shift, axis=None: x if np.shape(axis) == (0,) else np.roll(x, shift, axis),  # fails at rank 0
    "select": lambda x, index, axis=0: np.take(x, index, axis),
    "sort": ordered(np.sort),
    "split": parts,
    "sqrt": lambda x, safe=False: np.sqrt(x),  # noqa: ARG005  # only the derivative is safe
    "sub": np.subtract,
    "take": lambda x, indices, axis=0: np.take(x, indices, axis),
}

# Where one of both takes what the other rejects.
FREER = {
    "bmm": "it multiplies matrices of any rank",
    "cross": "it takes vectors of two elements, and counts the axis in each operand",
    "dot": "it takes matrices",
    "einsum": "a letter may be 1 in one operand and another size in the next",
    "masked_fill": "what is filled broadcasts",
    "meshgrid": "it takes matrices for the vectors of their elements",
    "outer": "it takes matrices for the vectors of their elements",
    "pad": "one pair stands for all axes",
    "repeat": "nothing may be repeated -1 times",
    "roll": "several shifts are added up, and no axis takes none",
    "select": "of nothing any index is taken",
    "take": "of nothing nothing is taken, which the indices say",
    "tensordot": "-1 axes are none",
    "tile": "-1 is taken for 0",
    "tril": "a vector is spread over a matrix",
    "triu": "a vector is spread over a matrix",
}


class Ranked(Drawn):
    """Draws calls over arrays of up to five axes."""

    lengths = (0, 1, 2, 3, 4, 5)
    largest_rank = 5

    def operand(self, annotation: str, shape: tuple[int, ...]) -> str:
        return f"np.zeros({shape}{self.dtype(annotation)})"

    def written(self) -> str:
        operands, options = self.arguments()
        if self.op.name == "getitem":
            return f"tg.getitem({operands[0]}, np.s_[{options[0].removeprefix('index=')}])"
        return f"tg.{self.op.name}({', '.join([*operands, *options])})"


class Words:
    """The ops as another library has them."""

    def __init__(self, word: Callable[[str], Callable[..., Any]]) -> None:
        self.word = word

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.word(name)


RULES, THEIRS = Words(lambda name: OPS[name].sizes), Words(NUMPY.__getitem__)


def shapes(value: Any) -> Any:
    return tuple(one.shape for one in value) if isinstance(value, tuple | list) else np.shape(value)


def of_rule(text: str) -> Any:
    try:
        return eval(text, {"tg": RULES, "np": np})  # noqa: S307  # written above
    except (ShapeError, DTypeError, IndexError):
        return None


def of_numpy(text: str) -> Any:
    try:
        return shapes(eval(text, {"tg": THEIRS, "np": np}))  # noqa: S307  # written above
    except (ValueError, IndexError, ZeroDivisionError):
        return None


def compare_shapes(calls: int, seed: int) -> tuple[int, int]:
    """Compare so many calls of each op; counts those of which both say the shape, and those that both reject."""
    dice, valid, rejected = Random(seed), 0, 0  # noqa: S311  # draws calls, not secrets
    for name in NUMPY:
        for _ in range(calls):
            text = Ranked(OPS[name], dice).written()
            with contextlib.suppress(TypeError):  # NumPy rejects the dtype, which rules do not get
                rule, numpy = of_rule(text), of_numpy(text)
                is_freer = name in FREER or "np.zeros(()" in text  # an axis 0 of a number it takes as well
                assert rule == numpy or (is_freer and None in (rule, numpy)), (
                    f"{text} is {rule} by its rule, in NumPy {numpy}"
                )
                valid, rejected = valid + (rule is not None), rejected + (rule is None)
    return valid, rejected


@given(st.integers(0, 2**32))
@FEW
@pytest.mark.filterwarnings("ignore")  # NumPy warns of edges
def test_rules_agree_with_numpy(seed: int) -> None:
    with np.errstate(all="ignore"):
        valid, rejected = compare_shapes(20, seed)

    assert valid > 5 * len(NUMPY)
    assert rejected > 3 * len(NUMPY)


@given(programs(sorted(NUMPY)))
@HALF
@pytest.mark.filterwarnings("ignore")
def test_programs_equal_numpy(program: Program) -> None:
    with np.errstate(all="ignore"):
        results = plain(program, program.leaves)
        try:
            expected = flat(program.run(THEIRS, np.asarray), program.steps)
        except ValueError:
            if not any(f"tg.{name}(" in step for name in FREER for step in program.steps.values()):
                raise
            reject()  # NumPy does not take what the op takes

    for ours, theirs in zip(results, expected, strict=True):
        assert ours.shape == np.shape(theirs)
        np.testing.assert_allclose(ours.numpy(), theirs, 1e-12, 1e-13)
