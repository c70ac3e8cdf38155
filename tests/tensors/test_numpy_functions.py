"""NumPy's functions called with tensors: the values are NumPy's, the tape is the op's."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.autograd.registry import OPS
from tapegrad.errors import DTypeError, TapeError
from tapegrad.errors.numpy_functions import FUNCTIONS, OF_SHAPES, OF_VALUES, OTHERS, UFUNCS, call_of

if TYPE_CHECKING:
    from collections.abc import Callable

ARRAY = np.linspace(-2.0, 3.0, 15).reshape(3, 5)
SQUARE = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.5]])

# Each function as NumPy's users write it; `x` is an array or a tensor of it, `s` a square one.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "all": lambda x, _: np.all(x > 0, axis=1),
    "allclose": lambda x, _: np.allclose(x, x, 1e-3, equal_nan=False),
    "amax": lambda x, _: np.amax(x, 1),
    "amin": lambda x, _: np.amin(x, axis=0),
    "any": lambda x, _: np.any(x > 0, 0),
    "argmax": lambda x, _: np.argmax(x, 1),
    "argmin": lambda x, _: np.argmin(x, axis=0, keepdims=True),
    "argsort": lambda x, _: np.argsort(x, 0),
    "around": lambda x, _: np.around(x),
    "astype": lambda x, _: np.astype(x, np.float32),
    "broadcast_to": lambda x, _: np.broadcast_to(x, (2, 3, 5)),
    "clip": lambda x, _: np.clip(x, -1.0, 1.0),
    "concatenate": lambda x, _: np.concatenate([x, x], axis=1),
    "count_nonzero": lambda x, _: np.count_nonzero(x > 0, axis=1),
    "cross": lambda x, _: np.cross(x[:3].T, x[:3].T + 1.0, axis=1),
    "cumprod": lambda x, _: np.cumprod(x, axis=1),
    "cumsum": lambda x, _: np.cumsum(x, 0),
    "diag": lambda _, s: np.diag(s, 1),
    "diagonal": lambda _, s: np.diagonal(s, 1, 1, 0),
    "diff": lambda x, _: np.diff(x, 2, axis=0),
    "dot": lambda x, _: np.dot(x[0], x[1]),
    "einsum": lambda x, s: np.einsum("ij,jk->ki", s, x),
    "expand_dims": lambda x, _: np.expand_dims(x, 1),
    "flip": lambda x, _: np.flip(x, axis=1),
    "full_like": lambda x, _: np.full_like(x, 3.0),
    "isclose": lambda x, _: np.isclose(x, 1.0, 0.5, atol=0.1),
    "isin": lambda x, _: np.isin(x, x[0], invert=True),
    "kron": lambda x, s: np.kron(x, s[0]),
    "linalg.cross": lambda x, _: np.linalg.cross(x[:3].T, x[:3, 0], axis=-1),
    "linalg.cholesky": lambda _, s: np.linalg.cholesky(s, upper=False),
    "linalg.eigh": lambda _, s: np.linalg.eigh(s, UPLO="L")[0],
    "linalg.eigvalsh": lambda _, s: np.linalg.eigvalsh(s, UPLO="L"),
    "linalg.pinv": lambda x, _: np.linalg.pinv(x, 1e-12, hermitian=False),
    "linalg.qr": lambda x, _: np.linalg.qr(x, mode="reduced")[1],
    "linalg.slogdet": lambda _, s: np.linalg.slogdet(s)[1],
    "linalg.svd": lambda x, _: np.linalg.svd(x, full_matrices=False)[1],
    "linalg.svdvals": lambda x, _: np.linalg.svdvals(x),
    "linalg.det": lambda _, s: np.linalg.det(s),
    "linalg.inv": lambda _, s: np.linalg.inv(s),
    "linalg.matmul": lambda x, s: np.linalg.matmul(s, x),
    "linalg.matrix_transpose": lambda x, _: np.linalg.matrix_transpose(x),
    "linalg.norm": lambda x, _: np.linalg.norm(x, axis=1, keepdims=True),
    "linalg.outer": lambda x, s: np.linalg.outer(x[0], s[0]),
    "linalg.solve": lambda x, s: np.linalg.solve(s, x),
    "linalg.tensordot": lambda x, s: np.linalg.tensordot(s, x, axes=1),
    "matrix_transpose": lambda x, _: np.matrix_transpose(x),
    "max": lambda x, _: np.max(x),
    "mean": lambda x, _: np.mean(x, axis=(0, 1)),
    "meshgrid": lambda x, s: np.meshgrid(x[0], s[0], indexing="ij")[1],
    "min": lambda x, _: np.min(x, axis=1, keepdims=True),
    "moveaxis": lambda x, _: np.moveaxis(x, 0, 1),
    "nan_to_num": lambda x, _: np.nan_to_num(x, nan=1.0),
    "nonzero": lambda x, _: np.nonzero(x > 0)[1],
    "ones_like": lambda x, _: np.ones_like(x),
    "outer": lambda x, s: np.outer(x[0], s[0]),
    "pad": lambda x, _: np.pad(x, ((1, 2), (0, 1)), constant_values=4.0),
    "prod": lambda x, _: np.prod(x, axis=0),
    "ravel": lambda x, _: np.ravel(x),
    "repeat": lambda x, _: np.repeat(x, 2, axis=1),
    "reshape": lambda x, _: np.reshape(x, (5, -1)),
    "roll": lambda x, _: np.roll(x, 2, axis=1),
    "round": lambda x, _: np.round(x),
    "searchsorted": lambda x, s: np.searchsorted(x[0], s, "right"),
    "sort": lambda x, _: np.sort(x, axis=0),
    "squeeze": lambda x, _: np.squeeze(x[:1], axis=0),
    "stack": lambda x, _: np.stack([x, x], axis=2),
    "std": lambda x, _: np.std(x, axis=1, ddof=1),
    "sum": lambda x, _: np.sum(x, 1, keepdims=True),
    "swapaxes": lambda x, _: np.swapaxes(x, 0, 1),
    "tensordot": lambda x, s: np.tensordot(s, x, 1),
    "tile": lambda x, _: np.tile(x, (2, 1)),
    "transpose": lambda x, _: np.transpose(x, (1, 0)),
    "tril": lambda x, _: np.tril(x, 1),
    "triu": lambda x, _: np.triu(x),
    "unique": lambda x, _: np.unique(x),
    "unstack": lambda x, _: np.unstack(x, axis=1)[2],
    "var": lambda x, _: np.var(x, correction=1),
    "where": lambda x, _: np.where(x > 0, x, 2 * x),
    "zeros_like": lambda x, _: np.zeros_like(x),
}
ELSEWHERE = {
    "empty_like": "its values are not defined",
    "take": "indices are a tensor, see below",
    "take_along_axis": "indices are a tensor, see below",
}


def test_every_function_of_the_table_has_a_call() -> None:
    assert sorted([*CALLS, *ELSEWHERE]) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", CALLS)
def test_the_values_are_those_of_numpy(name: str) -> None:
    result = CALLS[name](tg.tensor(ARRAY), tg.tensor(SQUARE))

    expected = CALLS[name](ARRAY, SQUARE)
    assert isinstance(result, tg.Tensor)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_indices_are_tensors() -> None:
    x, indices = tg.tensor(ARRAY), np.array([[2, 0, 1, 1, 2]])

    taken = np.take(x, tg.tensor(indices[0]), axis=0)
    gathered = np.take_along_axis(x, tg.tensor(indices), axis=0)

    np.testing.assert_array_equal(taken.numpy(), np.take(ARRAY, indices[0], axis=0))
    np.testing.assert_array_equal(gathered.numpy(), np.take_along_axis(ARRAY, indices, axis=0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_table_has_the_parameters_of_numpy_and_of_the_op(name: str) -> None:
    call = call_of(name)
    assert call is not None
    function: Any = np.linalg if name.startswith("linalg.") else np
    theirs = list(inspect.signature(getattr(function, name.removeprefix("linalg."))).parameters)
    ours = inspect.signature(OPS[call.op].function).parameters

    assert {one.own.lstrip("*") for one in call.parameters if one.own} <= {*ours}
    written = [one.name.lstrip("*") for one in call.parameters]
    given_by_keywords = {"kwargs", "like"}
    if name == "einsum":
        assert written == ["subscripts", "operands", "out", "optimize"]
    elif name == "pad":
        assert written == ["array", "pad_width", "mode", "constant_values"]
    else:
        missing = [one for one in theirs if one not in written and one not in given_by_keywords]
        if name in ("argsort", "sort") and "descending" not in theirs:  # before NumPy 2.5
            written.remove("descending")
        assert [one for one in written if one not in theirs] == [], theirs
        assert [one for one in theirs if one in written] == written
        assert missing == []


def test_an_option_of_a_newer_numpy_is_that_of_the_op() -> None:
    x = tg.tensor(ARRAY)

    for name in ("argsort", "sort"):
        function = getattr(np, name)
        if "descending" in inspect.signature(function).parameters:  # from NumPy 2.5 on
            found = function(x, 0, descending=True)
        else:
            found = x.__array_function__(function, (tg.Tensor,), (x, 0), {"descending": True})
        np.testing.assert_array_equal(found.numpy(), getattr(tg, name)(x, 0, descending=True).numpy())


def test_no_function_is_in_two_tables() -> None:
    assert [*(OTHERS | OF_VALUES | OF_SHAPES) & {*FUNCTIONS}, *OTHERS & (OF_VALUES | OF_SHAPES)] == []
    for name in OTHERS | OF_VALUES | OF_SHAPES:
        assert hasattr(np.linalg if name.startswith("linalg.") else np, name.removeprefix("linalg.")), name
    assert {own for own in UFUNCS.values() if own not in OPS} == set()


def test_functions_keep_the_tape() -> None:
    x = tg.tensor(ARRAY)

    grads = np.sum(np.multiply(np.exp(x.trace()), 2.0)).backward()

    np.testing.assert_allclose(grads[x].numpy(), 2 * np.exp(ARRAY), rtol=1e-12)


def test_a_function_of_an_array_and_a_tensor_keeps_the_tape() -> None:
    x = tg.tensor(SQUARE)

    grads = np.sum(np.matmul(SQUARE, x.trace())).backward()

    np.testing.assert_allclose(grads[x].numpy(), SQUARE.T @ np.ones((3, 3)), rtol=1e-12)


def test_functions_that_read_shapes_take_a_tape() -> None:
    x: Any = tg.tensor(ARRAY).trace()

    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, axis=1)) == ((3, 5), 2, 15, 5)


def test_functions_that_read_values_take_no_tape() -> None:
    x: Any = tg.tensor(ARRAY)

    assert np.array_equal(x, ARRAY)
    assert np.array_str(x) == np.array_str(ARRAY)
    with pytest.raises(TapeError, match="the tensor has a tape, which a NumPy array would lose"):
        np.array_equal(x.trace(), ARRAY)


def test_none_and_the_value_of_no_argument_are_not_given() -> None:
    x: Any = tg.tensor(ARRAY)

    assert np.sum(x, axis=None, dtype=None, out=None).item() == pytest.approx(ARRAY.sum())
    assert np.pad(x, 1, mode="constant").shape == (5, 7)


def test_what_is_no_op_is_rejected_with_what_to_write_instead() -> None:
    x: Any = tg.tensor(ARRAY)
    conjugate: Any = np.conjugate
    rejected: dict[str, Callable[[], Any]] = {
        "np.hstack takes no tensor: use tg.concat": lambda: np.hstack([x, x]),
        "np.median takes no tensor: use tg.sort and an index": lambda: np.median(x),
        "np.linalg.eig takes no tensor; np.asarray(x) is its array, without a tape": lambda: np.linalg.eig(x),
        "np.sum: a tensor has no dtype; tapegrad.sum is the function that it calls": lambda: np.sum(x, dtype=int),
        "np.pad: a tensor has no mode; tapegrad.pad is the function that it calls": lambda: np.pad(x, 1, "edge"),
        "np.take: a tensor needs axis; np.asarray(x) is its array, without a tape": lambda: np.take(x, 1),
        "np.where: a tensor needs x and y; np.asarray(x) is its array, without a tape": lambda: np.where(x > 0),
        "np.exp: a tensor has no argument out; np.asarray(x) is its array, without a tape": lambda: np.exp(
            x, out=np.ones((3, 5))
        ),
        "np.add.reduce: a tensor has no method reduce; np.asarray(x) is its array, without a tape": lambda: (
            np.add.reduce(x)
        ),
        "np.conjugate takes no tensor; np.asarray(x) is its array, without a tape": lambda: conjugate(x),
    }

    for message, call in rejected.items():
        with pytest.raises(DTypeError) as caught:
            call()
        assert str(caught.value) == message


def test_another_array_with_the_protocol_decides_itself() -> None:
    class Foreign:
        def __array_function__(self, *_: Any) -> str:
            return "foreign"

    both: Any = [tg.tensor(ARRAY), Foreign()]

    assert np.concatenate(both) == "foreign"


def test_a_parameter_is_a_tensor_too() -> None:
    layer = tg.nn.Linear(5, 2)

    loss = np.mean(np.square(layer(tg.tensor(ARRAY, np.float32).trace())))

    assert [*loss.backward(layer)] != []


def test_the_traceback_ends_at_the_call() -> None:
    x: Any = tg.tensor(ARRAY)

    with pytest.raises(tg.ShapeError) as caught:
        np.add(x, np.ones(3))

    assert len(caught.traceback) == 1


def test_the_page_on_arrays_lists_the_functions_that_have_an_op() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "arrays.md").read_text("utf-8")
    pattern = r"^Of the other functions, those that have an op are: (.*), and of `np\.linalg` (.*)$"
    ((general, of_linalg),) = re.findall(pattern, page, re.MULTILINE)

    listed = [*re.findall(r"`(\w+)`", general), *(f"linalg.{name}" for name in re.findall(r"`(\w+)`", of_linalg))]

    assert listed == sorted(FUNCTIONS, key=lambda name: ("linalg." in name, name))
