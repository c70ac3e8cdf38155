"""Numba kernels: the results of NumPy within float tolerance, on several threads, and only where they are enabled."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from typing_extensions import override

import tapegrad as tg
from tapegrad.engines import engine
from tapegrad.engines.interface import Pooling
from tapegrad.engines.numba import engine as fast
from tapegrad.engines.numba.engine import Fast, use_fast
from tapegrad.engines.numpy import rows as row_programs
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.threads import set_threads, threads
from tapegrad.ops._windows import windows_over
from tapegrad.ops.norm import layer_norm_gradients, layer_norm_of
from tapegrad.ops.softmax import log_softmax_of, softmax_of
from tests.engines.row_formulas import FORMULAS, call, expected, listed
from tests.slow import slow

pytest.importorskip("numba")

SHAPES = [(1, 1), (3, 5), (257, 129), (2, 3, 7, 33), (300, 1024)]
DEFAULTS: dict[str, Any] = {"kernel": 1, "stride": None, "padding": 0}
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


@pytest.fixture(autouse=True)
def for_arrays_of_any_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fast, "_KERNEL_MIN_ELEMENTS", 1)
    monkeypatch.setattr(NumPy, "rows_from", 1)
    monkeypatch.setattr(Fast, "rows_from", 1)
    for module in (fast, row_programs):
        monkeypatch.setattr(module, "KERNEL_PARALLEL_MIN_ELEMENTS", 1)
    monkeypatch.setattr(row_programs, "_TILE_BYTES", (1 << 14, 1 << 14))
    row_programs.Layout.of.cache_clear()
    yield
    row_programs.Layout.of.cache_clear()
    use_fast(is_on=True)
    set_threads(None)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(1, 3, shape).astype(dtype)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 3])
def test_row_kernels_equal_the_formula(name: str, shape: tuple[int, ...], dtype: Any, count: int) -> None:
    set_threads(count)
    formula, values, options = call(name, shape, -1, dtype)

    found = listed(Fast().rowwise(formula, *values, axis=-1, **options))

    for ours, theirs in zip(found, expected(formula, values, -1, options), strict=True):
        assert (ours.dtype, ours.shape) == (dtype, theirs.shape)
        scale = max(1.0, float(np.abs(theirs).max()))
        np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE[dtype], atol=scale * TOLERANCE[dtype])


POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 12), {"kernel": 2}),
    ((3, 12), {"kernel": 5, "stride": 3, "padding": 2}),
    ((2, 3, 7, 9), {"kernel": 2}),
    ((2, 3, 7, 9), {"kernel": 3, "stride": 1, "padding": 1}),
    ((2, 3, 7, 9), {"kernel": (3, 2), "stride": 2, "padding": (1, 0)}),
    ((2, 3, 7, 9), {"kernel": (4, 1), "stride": 1}),
    ((3, 8, 9), {"kernel": (2, 3), "stride": (3, 4), "padding": 1}),
    ((2, 1, 7, 9), {"kernel": (7, 9)}),
    ((2, 19, 6, 9), {"kernel": 2}),
    ((3, 16, 5, 8), {"kernel": 2}),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_pooling_kernels_equal_numpy(
    shape: tuple[int, ...], options: dict[str, Any], dtype: Any, count: int, *, channels_last: bool
) -> None:
    set_threads(count)
    rank = 2 if shape[-3:] in {(3, 7, 9), (3, 8, 9), (1, 7, 9), (19, 6, 9), (16, 5, 8)} else 1
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)  # of which many are equal
    x.ravel()[[5, 6, 30]] = np.inf, -np.inf, np.nan
    if channels_last:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -rank - 1, -1)), -1, -rank - 1)
    windows = windows_over(x, rank, *(options.get(name, default) for name, default in DEFAULTS.items()))
    plain, compiled = NumPy(), Fast()

    for name in get_args(Pooling):
        with np.errstate(invalid="ignore"):  # inf - inf
            expected = plain.pool(x, windows, name)
        found = compiled.pool(x, windows, name)

        assert (found.dtype, found.shape) == (dtype, expected.shape)
        np.testing.assert_array_equal(found, expected, err_msg=name)
        dy = numbers(expected.shape, dtype, 1)
        back = [
            one.pool_sum_back(dy, windows) if name == "add" else one.pool_extreme_back(x, expected, dy, windows)
            for one in (plain, compiled)
        ]
        assert back[1].shape == shape
        np.testing.assert_allclose(back[1], back[0], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (0, 3, 1, 2), (3, 0, 2, 1)])
@pytest.mark.parametrize("count", [1, 3])
def test_the_kernel_of_relu_equals_numpy(axes: tuple[int, ...], dtype: Any, count: int) -> None:
    set_threads(count)
    x, dy = (np.random.default_rng(seed).integers(-3, 4, (2, 7, 11, 9)).astype(dtype) for seed in (0, 1))
    x.ravel()[[5, 6, 30]] = np.inf, -np.inf, np.nan
    dy.ravel()[[5, 6, 7, 30]] = np.inf, np.nan, -np.inf, 1
    x, dy = x.transpose(axes), dy.transpose(axes)
    plain, compiled = NumPy(), Fast()

    for given in (dy, np.ascontiguousarray(dy), dy[:, :1, ::-1].repeat(x.shape[1], 1)):
        found = compiled.relu_back(x, given)

        assert (found.dtype, found.shape) == (dtype, x.shape)
        np.testing.assert_array_equal(found, plain.relu_back(x, given))
        np.testing.assert_array_equal(found, np.where(x > 0, given, 0))
    np.testing.assert_array_equal(compiled.relu_back(x[:, 1:], dy[:, 1:]), plain.relu_back(x[:, 1:], dy[:, 1:]))


@pytest.mark.parametrize("primitives", [NumPy(), Fast()], ids=["NumPy", "kernels"])
@pytest.mark.parametrize("name", ["softmax gradient", "log_softmax gradient"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_of_logits_may_overwrite_the_output_gradient(
    shape: tuple[int, ...], name: str, primitives: Any
) -> None:
    formula, (y, dy), _ = call(name, shape, -1, np.float32)
    before = dy.copy()

    dx = primitives.rowwise(formula, y, dy, axis=-1)
    np.testing.assert_array_equal(dy, before)
    in_place = primitives.rowwise(formula, y, dy, axis=-1, is_free=True)

    assert in_place is dy
    np.testing.assert_array_equal(in_place, dx)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "x",
    [
        [np.nan, 1, 2],
        [-np.nan, 1, 2],
        [-1, -np.nan, -2],
        [np.inf, 1, 2],
        [-np.inf, 1, 2],
        [-np.inf] * 3,
        [1e4, -1e4, 0],
        [-200, 0, 100],
        [-3e3, -1e3, -2e3],
        [-0.0, 0.0, -1],
    ],
)
def test_softmax_of_nan_and_infinity_equals_numpy(x: list[float], dtype: Any) -> None:
    row = np.array([x], dtype)

    with np.errstate(invalid="ignore"):
        for formula in (softmax_of, log_softmax_of):
            found, (theirs,) = Fast().rowwise(formula, row, axis=-1), expected(formula, [row], -1, {})

            np.testing.assert_allclose(found, theirs, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize(("name", "units"), [("exp", 2), ("sigmoid", 3), ("tanh", 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_are_accurate_to_a_few_ulps(name: str, units: int, dtype: Any) -> None:
    wide = np.longdouble
    limit = {np.float32: 100, np.float64: 740}[dtype]
    x = np.concatenate([np.linspace(-limit, limit, 20_001), numbers((20_000,), dtype)]).astype(dtype)
    function = getattr(import_module("tapegrad.engines.numba.kernels"), f"{name}{8 * x.itemsize}")
    with np.errstate(all="ignore"):
        exact = 1 / (1 + np.exp(-x.astype(wide))) if name == "sigmoid" else getattr(np, name)(x.astype(wide))
        rounded = exact.astype(dtype)

        found = np.array([function(one) for one in x[::7]], dtype)

    normal = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(dtype).tiny)
    error = np.abs(found.astype(wide) - exact[::7])[normal[::7]] / np.spacing(np.abs(rounded))[::7][normal[::7]]
    assert error.max() < units
    np.testing.assert_allclose(found[~normal[::7]], rounded[::7][~normal[::7]], atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("name", ["erf", "exp", "sigmoid", "tanh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_equal_numpy_in_edge_cases(name: str, dtype: Any) -> None:
    kernels = import_module("tapegrad.engines.numba.kernels")
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 0.625, -0.625, 1.0, 7.0, -7.0], dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(edges) if hasattr(np, name) else NumPy().map(name, edges)  # type: ignore[arg-type]  # asks for a literal
        function = getattr(kernels, f"{name}{8 * edges.itemsize}")

        found = np.array([function(one) for one in edges], dtype)

    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(found)[[0, 1]], [False, name in {"erf", "tanh"}])


def test_sums_of_many_rows_are_bit_identical_for_any_number_of_threads() -> None:
    x, dy, w = numbers((1000, 65), np.float32), numbers((1000, 65), np.float32, 1), numbers((65,), np.float32, 2)
    found = []

    for count in (1, 2, 3):
        set_threads(count)
        _, *of_rows = Fast().rowwise(layer_norm_of, x, w, w, 1e-5, axis=-1)
        found.append(Fast().rowwise(layer_norm_gradients, x, w, *of_rows, dy, axis=-1, wanted=(True, True, True)))

    for other in found[1:]:
        for first, result in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(result, first)


def test_a_fused_function_is_one_kernel_for_all_constants() -> None:
    codegen = import_module("tapegrad.engines.numba.codegen")
    scaled: Any = tg.fused(lambda x, factor: tg.tanh(x * factor) + factor)
    x = numbers((3, 5), np.float32)
    scaled(tg.tensor(x), 2.0)
    before = len(codegen._kernels)

    found = [scaled(tg.tensor(x), factor).numpy() for factor in (0.5, 3.0)]

    assert len(codegen._kernels) == before
    for factor, y in zip((0.5, 3.0), found, strict=True):
        np.testing.assert_allclose(y, np.tanh(x * np.float32(factor)) + np.float32(factor), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (tg.optim.SGD, {"lr": 0.1}),
        (tg.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        (tg.optim.Adam, {"lr": 0.01}),
        (tg.optim.AdamW, {"lr": 0.01}),
        (tg.optim.RMSprop, {"lr": 0.01, "momentum": 0.5}),
        (tg.optim.RMSprop, {"lr": 0.01, "centered": True}),
        (tg.optim.Adadelta, {}),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_update_of_large_parameters_is_one_kernel_for_all_steps(kind: Any, options: Any, dtype: Any) -> None:
    codegen = import_module("tapegrad.engines.numba.codegen")
    parameters = [[tg.nn.Param(tg.tensor(numbers(shape, dtype))) for shape in ((517, 523), (700,))] for _ in "ab"]
    optimizers, counts = [kind(of, **options) for of in parameters], []

    for seed in range(3):
        for is_on, of, optimizer in zip((True, False), parameters, optimizers, strict=True):
            use_fast(is_on=is_on)
            loss: Any = sum(
                ((x.trace() * tg.tensor(numbers(x.shape, dtype, seed))).sum() for x in of), tg.tensor(0, dtype)
            )
            optimizer.step(loss.backward(wrt=of))
        counts.append(len(codegen._kernels))

    assert counts[0] == counts[-1]
    for x, y in zip(*parameters, strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_an_update_is_traced_once_for_all_large_parameters() -> None:
    seen: list[tuple[int, ...]] = []

    class Halving(tg.optim.SGD):
        @override
        @tg.optim.elementwise
        def update(self, x: Any, dx: Any, state: Any, lr: float) -> Any:
            seen.append(x.shape)
            return x * 0.5, state

    of = [tg.nn.Param(tg.ones(shape)) for shape in ((517, 523), (3, 101, 1009))]
    loss: Any = sum((x.trace().sum() for x in of), tg.tensor(0.0))
    Halving(of, lr=0.5).step(loss.backward(wrt=of))

    assert seen == [(517, 523)]
    assert [float(np.mean(x.numpy())) for x in of] == [0.5, 0.5]


def test_functions_without_a_kernel_are_computed_by_numpy() -> None:
    x = numbers((40_000,), np.float32)

    y = tg.fused(lambda x: tg.sin(x) + 1)(tg.tensor(x))

    np.testing.assert_array_equal(y.numpy(), np.sin(x) + 1)


def test_can_be_turned_off_and_on() -> None:
    use_fast(is_on=False)
    without = type(engine(np.ones(3)))
    use_fast(is_on=True)

    assert (without, type(engine(np.ones(3)))) == (NumPy, Fast)


def test_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "use_fast: compiled kernels need Numba, which the extra `fast` brings"

    with monkeypatch.context() as without:
        without.setattr(fast, "_has_numba", lambda: False)
        with pytest.raises(ModuleNotFoundError, match=message):
            use_fast(is_on=True)


@pytest.mark.parametrize(("setting", "name"), [("0", "NumPy"), ("1", "Fast")])
def test_an_environment_variable_disables_kernels_and_no_import_loads_numba(setting: str, name: str) -> None:
    program = (
        "import os, sys; before = dict(os.environ); import tapegrad as tg; from tapegrad.engines import engine\n"
        "x = tg.ones((3,)); print(type(engine(x.data)).__name__, 'numba' in sys.modules, before == dict(os.environ))"
    )

    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TAPEGRAD_FAST": setting},
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.split() == [name, "False", "True"]


def test_the_next_process_loads_kernels_from_disk(tmp_path: Path) -> None:
    program = (
        "import numpy as np, tapegrad as tg\n"
        "from tapegrad.engines.numba import codegen\n"
        "tg.fused(lambda x: tg.tanh(x) * 3 - x)(tg.ones((40_000,)))\n"
        "((_, kernel),) = codegen._kernels.items()\n"
        "print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "TAPEGRAD_FAST": "1"}

    said = [
        subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]

    assert [run.stdout.split() for run in said] == [["0", "1"], ["1", "0"]]


def test_without_a_writable_folder_each_process_compiles_its_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))

    y = tg.fused(lambda x: tg.tanh(x) * 5 - 2 * x)(tg.ones((3, 5)))

    np.testing.assert_allclose(y.numpy(), np.tanh(1) * 5 - 2, rtol=1e-6)


@pytest.mark.parametrize(
    "family",
    ["softmax", *(pytest.param(one, marks=slow) for one in ("activation", "norm", "likelihood", "pool"))],
)
def test_ops_pass_their_tests_with_kernels_for_arrays_of_any_size(family: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/ops/test_{family}.py"],
        env=os.environ | {"TAPEGRAD_FAST": "all"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout[-2000:]


def test_threads_are_set_in_one_place() -> None:
    set_threads(3)
    assert threads() == 3
    set_threads(None)
    assert threads() >= 1
    with pytest.raises(ValueError, match="set_threads: count is 0 but must be at least 1"):
        set_threads(0)
