"""The namespace of the array API standard: its values, and the page that says what it lacks."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import array_api_strict
import numpy as np
import pytest

import tapegrad as tg
from docs import array_api
from tapegrad import array_api as xp
from tapegrad.errors.other_names import OF_STANDARD


def test_the_page_has_the_functions_of_today() -> None:
    page = array_api.PAGE.read_text("utf-8")

    assert array_api.written(page) == page
    assert len(array_api.functions()) > 100


def test_what_is_missing_has_a_reason_and_nothing_else_has() -> None:
    assert array_api.missing() == sorted(array_api.REASONS)
    assert sorted(array_api.lacking()) == sorted(array_api.OPTIONS)
    assert array_api.methods() == sorted(array_api.METHODS)


def test_what_replaces_a_function_exists() -> None:
    reasons = [*array_api.REASONS.values(), *array_api.OPTIONS.values(), *array_api.METHODS.values()]
    named = [name for reason in reasons for name in re.findall(r"`tg\.(\w+)", reason)]

    assert len(named) > 4
    for name in named:
        assert hasattr(tg, name)


def test_the_names_are_those_of_the_standard() -> None:
    assert set(xp.__all__) <= set(array_api_strict.__all__) | {"__array_api_version__", "__array_namespace_info__"}
    assert xp.__array_api_version__ == array_api_strict.__array_api_version__


def positional_only(function: Any) -> int:
    parameters = inspect.signature(function).parameters.values()
    return sum(one.kind is inspect.Parameter.POSITIONAL_ONLY for one in parameters)


def test_parameters_that_the_standard_leaves_without_a_name_have_none() -> None:
    own = {name: one for name, one in vars(xp).items() if getattr(one, "__module__", "") == xp.__name__}
    functions = {name: one for name, one in own.items() if inspect.isfunction(one) and name in xp.__all__}
    expected = {name: positional_only(getattr(array_api_strict, name)) for name in functions}

    assert len(functions) > 20
    assert {name: positional_only(one) for name, one in functions.items()} == expected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fft", "not implemented: matrix products compute it, see the page on differences"),
        ("linalg", "use tg.cholesky, tg.eigh, tg.inv, tg.qr, tg.solve, tg.svd and others"),
        *((name, "not implemented: there are no complex dtypes") for name in ("complex64", "complex128", "real")),
    ],
)
def test_a_missing_name_says_what_to_use(name: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(xp, name)

    assert str(caught.value) == f"tapegrad.array_api has no {name!r}: {words}"


def test_each_missing_name_of_the_standard_has_a_hint() -> None:
    assert set(array_api.REASONS) == set(OF_STANDARD)


RNG = np.random.default_rng(0)
X, Y = RNG.uniform(1.1, 2.0, (3, 4)), RNG.uniform(1.1, 2.0, (3, 4))
WHOLE, SHARE, TRUTH = RNG.integers(1, 9, (3, 4)), RNG.uniform(-0.9, 0.9, (3, 4)), X > 1.5
# Arguments of functions that take neither one nor two arrays of floats.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["acos", "asin", "atanh"], (SHARE,)),
    **{f"bitwise_{name}": (WHOLE, WHOLE[::-1].copy()) for name in ("and", "or", "xor", "left_shift", "right_shift")},
    "bitwise_invert": (WHOLE,),
    **{f"logical_{name}": (TRUTH, TRUTH[::-1].copy()) for name in ("and", "or", "xor")},
    "logical_not": (TRUTH,),
    "all": (TRUTH,),
    "any": (TRUTH,),
    "matmul": (X, Y.T.copy()),
    "where": (TRUTH, X, Y),
    "cross": (X[:, :3], Y[:, :3]),
    "isin": (WHOLE, WHOLE[0]),
    "reshape": (X, (4, 3)),
    "broadcast_to": (X, (2, 3, 4)),
    "squeeze": (X[:, :1], 1),
    "moveaxis": (X, 0, 1),
    "roll": (X, 2),
    "repeat": (X, 2),
    "tile": (X, (2, 1)),
    "searchsorted": (np.sort(X[0]), Y[0]),
    "arange": (2, 9, 3),
    "linspace": (0.0, 1.0, 5),
    "eye": (3, 4),
    "take_along_axis": (X, np.argsort(X, axis=1)),
    "cumulative_sum": (X[0],),
    "cumulative_prod": (X[0],),
    "clip": (X, 1.2, 1.7),
    "permute_dims": (X, (1, 0)),
    "full": ((2, 3), 7.0),
    "full_like": (X, 7.0),
    "ones": ((2, 3),),
    "zeros": ((2, 3),),
}
# Without values to compare, or below.
OTHERWISE = {"empty", "empty_like", "from_dlpack", "meshgrid", "asarray", "broadcast_arrays"}
OTHERWISE |= {"broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"}
OTHERWISE |= {"unique_all", "unique_counts", "unique_inverse"}
OTHERWISE |= {"expand_dims", "take", "astype", "concat", "nonzero", "stack", "unstack"}


@pytest.mark.parametrize("name", [one for one in array_api.functions() if hasattr(xp, one) and one not in OTHERWISE])
def test_a_function_has_the_values_of_array_api_strict(name: str) -> None:
    strict = getattr(array_api_strict, name)
    several = [ARGUMENTS[name]] if name in ARGUMENTS else [(X,), (X, Y)]
    expected = None
    for args in several:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = strict(
                    *(array_api_strict.asarray(one) if isinstance(one, np.ndarray) else one for one in args)
                )
            except (TypeError, ValueError):
                continue
            ours = getattr(xp, name)(*(xp.asarray(one) if isinstance(one, np.ndarray) else one for one in args))
        np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-6)
        break
    assert expected is not None, "array-api-strict takes none of these arguments"


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("arange", (2, 9, 3), {"dtype": "float32", "device": "cpu"}),
        ("zeros", ((2, 3),), {"dtype": "int64", "device": "cpu"}),
        ("zeros", (3,), {"dtype": None}),
        ("ones", (3,), {"dtype": "bool"}),
        ("full", ((2, 3), 7), {"dtype": "int32"}),
        ("zeros_like", (X,), {"dtype": "int64"}),
        ("ones_like", (X,), {"dtype": "float32"}),
        ("full_like", (X, 7), {"dtype": "int16"}),
        ("empty_like", (X,), {"dtype": "int16"}),
        ("asarray", (X,), {"dtype": "float32", "device": "cpu", "copy": True}),
        ("astype", (X,), {"dtype": "float32", "copy": False}),
        ("sum", (X,), {"axis": 1, "dtype": "float32", "keepdims": True}),
        ("prod", (WHOLE,), {"axis": (0, 1), "dtype": "float64"}),
        ("sort", (X,), {"axis": 0, "descending": True, "stable": False}),
        ("argsort", (X,), {"axis": 0, "stable": True}),
        ("reshape", (X, (2, -1)), {"copy": False}),
        ("cumulative_sum", (X,), {"axis": 1}),
        ("cumulative_prod", (X,), {"axis": 0}),
        ("take_along_axis", (X, np.argsort(X, axis=0)), {"axis": 0}),
    ],
)
def test_a_function_has_the_options_of_array_api_strict(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    def called(space: Any) -> Any:
        given = {one: getattr(space, value) if one == "dtype" and value else value for one, value in options.items()}
        device = given.pop("device", None)
        if device is not None:
            given["device"] = device if space is xp else array_api_strict.Device("CPU_DEVICE")
        operands = [space.asarray(one) if isinstance(one, np.ndarray) else one for one in args]
        if name == "astype":
            return space.astype(operands[0], given.pop("dtype"), **given)
        return getattr(space, name)(*operands, **given)

    ours, expected = called(xp), called(array_api_strict)

    assert ours.shape == expected.shape
    if options.get("dtype"):
        assert ours.dtype.name == np.asarray(expected).dtype.name
    if name != "empty_like":
        np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
def test_the_unique_functions_have_the_fields_and_values_of_array_api_strict(name: str) -> None:
    ours = getattr(xp, name)(xp.asarray(WHOLE))
    expected = getattr(array_api_strict, name)(array_api_strict.asarray(WHOLE))

    assert ours._fields == expected._fields
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_functions_of_dtypes_take_tensors_and_dtypes() -> None:
    x = xp.ones((2, 3), dtype=xp.float64)

    assert xp.result_type(x, xp.float32) == xp.float64
    assert not xp.can_cast(x, xp.float32)
    assert xp.finfo(x).bits == 64
    assert xp.iinfo(xp.zeros(1, dtype=xp.int16)).max == 32767
    assert xp.isdtype(x.dtype, "real floating")
    assert [one.shape for one in xp.broadcast_arrays(x, xp.ones(3, dtype=xp.float64))] == [(2, 3), (2, 3)]
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)


def test_the_info_lists_the_dtypes_and_the_device() -> None:
    ours, strict = xp.__array_namespace_info__(), array_api_strict.__array_namespace_info__()

    assert ours.default_device() == "cpu"
    assert ours.devices() == ["cpu"]
    assert set(ours.capabilities()) == set(strict.capabilities())
    assert set(ours.default_dtypes()) == set(strict.default_dtypes()) - {"complex floating"}
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", ("bool", "integral")):
        assert set(ours.dtypes(kind=kind)) == set(strict.dtypes(kind=kind))
    assert set(ours.dtypes()) == set(strict.dtypes()) - {"complex64", "complex128"}


def test_a_tensor_returns_the_namespace() -> None:
    x: Any = tg.ones((2, 3))

    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    message = (
        "__array_namespace__: api_version is '2030.12' but one of "
        "2021.12, 2022.12, 2023.12, 2024.12, 2025.12 is expected"
    )
    with pytest.raises(tg.DTypeError, match=re.escape(message)):
        x.__array_namespace__(api_version="2030.12")


def test_functions_for_any_namespace_keep_the_tape() -> None:
    def standardized(x: Any) -> Any:
        space = x.__array_namespace__()
        x = space.astype(x, space.float64, copy=False)
        spread = space.std(x, axis=0)
        return (x - space.mean(x, axis=0)) / space.where(spread == 0, 1.0, spread)

    strict = standardized(array_api_strict.asarray(X))

    np.testing.assert_allclose(np.asarray(standardized(xp.asarray(X))), np.asarray(strict), rtol=1e-12)
    x = xp.asarray(X)
    assert standardized(x.trace()).sum().backward()[x].shape == (3, 4)


def test_what_cannot_be_is_rejected() -> None:
    message = "zeros: device is 'cuda' but 'cpu' is expected; tg.jit moves tensors to the devices of JAX"
    device: Any = "cuda"
    with pytest.raises(tg.DTypeError, match=re.escape(message)):
        xp.zeros(3, device=device)

    message = "asarray: copy is False but a tensor copies a list; leave copy out"
    with pytest.raises(tg.DTypeError, match=re.escape(message)):
        xp.asarray([1.0], copy=False)


def test_functions_with_an_axis_or_a_sequence_have_the_values_of_array_api_strict() -> None:
    strict, (x, y), places = array_api_strict, (array_api_strict.asarray(one) for one in (X, Y)), np.array([2, 0])

    pairs = [
        (xp.take(xp.asarray(X), xp.asarray(places), axis=1), strict.take(x, strict.asarray(places), axis=1)),
        (xp.expand_dims(xp.asarray(X), 1), strict.expand_dims(x, axis=1)),
        (xp.concat([xp.asarray(X), xp.asarray(Y)], axis=1), strict.concat([x, y], axis=1)),
        (xp.stack([xp.asarray(X), xp.asarray(Y)]), strict.stack([x, y])),
        (xp.unstack(xp.asarray(X))[1], strict.unstack(x)[1]),
        (xp.nonzero(xp.asarray(TRUTH))[0], strict.nonzero(strict.asarray(TRUTH))[0]),
        (xp.meshgrid(xp.asarray(X[0]), xp.asarray(Y[1]))[1], strict.meshgrid(x[0, :], y[1, :])[1]),
        (xp.astype(xp.asarray(X), xp.float32), strict.astype(x, strict.float32)),
        (xp.sort(xp.asarray(X), axis=0, descending=True), strict.sort(x, axis=0, descending=True)),
    ]
    for ours, expected in pairs:
        np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-6)
