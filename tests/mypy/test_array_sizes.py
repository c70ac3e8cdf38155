"""The sizes that mypy reads from expressions of NumPy, compared with the arrays that NumPy makes."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn import datasets

from tapegrad.mypy.calls.data_sets import DATA_SETS
from tests.mypy.programs import reports

if TYPE_CHECKING:
    from pathlib import Path

MADE = [
    *("np.zeros((2, 3))", "np.ones((4, 3))", "np.empty((3, 4))", "np.full((2, 5), 1.0)", "np.ones(6)", "np.eye(3)"),
    *("np.eye(3, 4)", "np.identity(3)", "np.arange(12)", "np.arange(2, 14, 3)", "np.linspace(0, 1, 5)"),
    *("np.linspace(0.0, 1.0)", "np.zeros((2, 3, 4))", "np.array([[1.0, 2.0], [3.0, 4.0]])", "rng.normal(size=(3, 2))"),
    *("rng.random(4)", "rng.integers(0, 5, (2, 3))", "rng.uniform(0, 1, (4, 1))", "np.zeros((1, 4), np.float32)"),
    *("np.array([1, 2, 3])", "rng.standard_normal((2, 2, 2))", "np.zeros((), np.float64)"),
    *("np.mgrid[0:3, 0:4]", "np.mgrid[:2, 1:7:2][1]", "np.ogrid[0:3, 0:4][0]", "np.mgrid[-1:1:5j]"),
    *("np.indices((3, 4))", "np.r_[0:3, 7]", "np.arange(0, 1, 0.25)", "np.arange(2.5)", "np.arange(6, step=2)"),
    *("np.logspace(0, 1, 4)", "np.tri(3, 4)", "np.array([[i, j] for i in range(3) for j in range(2)])"),
    *("np.array([0] * 3 + [1] * 2)", "np.array([[1.0, 2.0]] * 3)", "np.array(range(4))", "np.array([*range(3), 7])"),
    *("rng.choice(5, size=(2, 3))", "rng.permutation(4)", "rng.dirichlet([1, 1, 1], size=4)", "np.array([])"),
    *("rng.multivariate_normal([0, 0], np.eye(2), 5)", "rng.exponential(1.0, 4)", "np.tile([1.0, 2.0], 3)"),
    *("np.repeat([0, 1, 2], 2)", "np.array([len(word) for word in ('ab', 'c')])", "np.array(list(range(3)))"),
    *("np.diag([1.0, 2.0, 3.0])", "np.linspace(np.zeros(3), np.ones(3), 4)", "np.fromiter(range(5), float)"),
]
USED = [
    *("{x}.T", "{x}.reshape(-1)", "{x}.reshape(2, -1)", "{x}.reshape((3, -1))", "{x}.ravel()"),
    *("{x}.flatten()", "{x}.sum(axis=0)", "{x}.mean(axis=-1, keepdims=True)", "{x}.max(axis=1)"),
    *("{x}.std(axis=0)", "{x}.astype(np.int64)", "{x}.copy()", "{x}.transpose()"),
    *("{x}.transpose(1, 0)", "{x}.transpose((0, 2, 1))", "{x}.swapaxes(0, 1)", "{x}.squeeze()"),
    *("{x}.cumsum(axis=0)", "{x}.cumsum()", "{x}.repeat(2, axis=0)", "{x}.repeat(3)"),
    *("{x}.argmax(axis=0)", "{x}[0]", "{x}[:, 0]", "{x}[1:]", "{x}[:-1]", "{x}[::2]", "{x}[..., None]"),
    *("{x}[None]", "{x}[-1:]", "{x}[[0, 1]]", "{x}[{x} > 0]", "{x}[:, ::-1]", "-{x}", "{x} + 1"),
    *("2 * {x}", "{x} / 2.0", "{x} > 0", "np.exp({x})", "np.sqrt({x})", "np.sum({x}, axis=0)"),
    *("np.mean({x}, axis=0)", "np.transpose({x})", "np.expand_dims({x}, 0)", "np.squeeze({x})"),
    *("np.reshape({x}, (-1, 2))", "np.stack([{x}, {x}])", "np.stack([{x}, {x}], axis=1)"),
    *("np.concatenate([{x}, {x}])", "np.concatenate([{x}, {x}], axis=1)", "np.vstack([{x}, {x}])"),
    *("np.hstack([{x}, {x}])", "np.where({x} > 0, {x}, 0.0)", "np.zeros_like({x})", "np.tile({x}, 2)"),
    *("np.flip({x}, 0)", "np.roll({x}, 1, axis=0)", "np.clip({x}, 0, 1)", "np.sort({x}, axis=0)"),
    *("np.pad({x}, 1)", "np.asarray({x})", "np.abs({x})", "np.broadcast_to({x}, (2, 3, 4))"),
    *("{x} + {y}", "{x} @ {y}", "{x} * {y}", "np.maximum({x}, {y})", "np.dot({x}, {y})"),
    *("np.matmul({x}, {y})", "{x} - {x}.mean(axis=0)", "np.concatenate([{x}, {y}])"),
    *("np.outer({x}, {y})", "({x} if flag else {y})", "np.cumprod({x}, 0)", "np.diff({x}, axis=0)"),
    *("np.moveaxis({x}, 0, -1)", "np.take({x}, [0, 1], axis=0)"),
    *("np.stack([row + 1 for row in {x}])", "np.stack([{x}[i] for i in range(2)], axis=1)"),
    *("np.concatenate([{x} for i in range(3)])", "np.array([{x} for i in range(2)])", "np.digitize({x}, [0, 1])"),
    *("np.zeros({x}.shape)", "np.zeros(len({x}))", "np.zeros(({x}.shape[0], 2))", "np.zeros({x}.shape + (2,))"),
    *("np.zeros((*{x}.shape, 2))", "np.zeros({x}.size)", "{x}.reshape(len({x}), -1)", "{x}.reshape(*{x}.shape, 1)"),
    *("np.zeros({x}.shape[1:])", "rng.normal(size={x}.shape)", "rng.normal({x}, 0.1)", "rng.permutation(len({x}))"),
    *("rng.permutation({x})", "rng.choice({x}, 3)", "{x}[rng.permutation(len({x}))]", "{x}[np.argsort({x}[:, 0])]"),
    *("{x}[np.array([0, 1])]", "{x}[:, np.array([0, 1])]", "{x}[np.arange(2), [0, 1]]", "{x}[np.ix_([0, 1], [0])]"),
    *("{x}[{x}[:, 0] > 0]", "{x}[{x}.argmax(axis=0)]", "{x}[:, None] - {x}[None, :]", "{x} / {x}.sum()"),
    *("{x}.all(axis=0)", "{x}.any(axis=1, keepdims=True)", "abs({x})", "{x}.real", "{x}.take([0, 1], axis=1)"),
    *("np.column_stack([{x}, {y}])", "np.dstack([{x}, {y}])", "np.c_[{x}, {y}]", "np.r_[{x}, {y}]"),
    *("np.append({x}, {y})", "np.append({x}, {y}, axis=0)", "np.concatenate([{x}, {y}], axis=None)"),
    *("np.insert({x}, 0, 5)", "np.delete({x}, 0, axis=0)", "np.rot90({x})", "np.fliplr({x})", "np.atleast_2d({x})"),
    *("np.atleast_3d({x})", "np.median({x}, axis=0)", "np.percentile({x}, [25, 75], axis=0)", "np.nansum({x}, axis=1)"),
    *(
        "np.nanmax({x}, axis=0, keepdims=True)",
        "np.quantile({x}, 0.5)",
        "np.average({x}, axis=1)",
        "np.ptp({x}, axis=0)",
    ),
    *("np.trapezoid({x}, axis=0)", "np.add.reduce({x})", "np.add.reduce({x}, axis=1)", "np.maximum.accumulate({x})"),
    *("np.multiply.outer({x}, {y})", "np.inner({x}, {y})", "np.kron({x}, {y})", "np.einsum('ij,jk->ik', {x}, {y})"),
    *("np.convolve({x}, {y})", "np.correlate({x}, {y})", "np.gradient({x})", "np.interp({x}, [0, 1], [0, 1])"),
    *("np.linalg.qr({x})[0]", "np.linalg.svd({x}, full_matrices=False)[2]", "np.linalg.lstsq({x}, {y})[0]"),
    *("np.split({x}, 2)[0]", "np.split({x}, [1, -1])[1]", "np.array_split({x}, 2, axis=1)[1]", "np.hsplit({x}, 2)[0]"),
    *("np.searchsorted(np.sort({x}), [0, 1])", "np.isin({x}, [0, 1])", "np.select([{x} > 0, {x} > 1], [{x}, {y}])"),
    *("np.lib.stride_tricks.sliding_window_view({x}, 2)", "np.broadcast_arrays({x}, {y})[1]", "np.resize({x}, (2, 4))"),
    *("np.vander({x}, 3)", "np.cov({x})", "np.diagflat({x})", "np.trace({x})", "np.rollaxis({x}, 1)", "np.unwrap({x})"),
    *("np.fft.rfft({x}).real", "np.argwhere({x})", "np.nonzero({x})[0]", "np.where({x} > 0)[0]", "np.float32({x})"),
    *("np.stack(list({x}))", "np.array([row.sum() for row in {x}])", "np.array([row * 2 for row in {x}])"),
    *("np.stack([{x}[i:i + 2] for i in range(2)])", "np.concatenate([{x}] * 2)", "np.concatenate([{x}, [7, 8]])"),
    *("np.sum([{x}, {y}], axis=0)", "np.array(np.meshgrid({x}, {y}))", "np.meshgrid({x}, {y}, sparse=True)[0]"),
    *("np.array([i for i, row in enumerate({x})])", "np.array({x}.shape)", "np.pad({x}, 1, mode='edge')"),
    *("np.delete({x}, 0)", "np.moveaxis({x}, -1, 0)", "np.ascontiguousarray({x})", "np.argpartition({x}, 0)"),
    *("np.stack(np.meshgrid({x}, {y}))", "np.meshgrid({x}, {y}, indexing='ij')[0]", "np.tril_indices(4, -1)[1]"),
]
CHANGED = [
    *("{x} -= {x}.mean(axis=0)", "{x} *= 2", "{x} += {y}", "{x}[0] = 1", "{x}[{x} < 0] = 0"),
    *("{x}, rest = np.split({x}, 2)", "rows, {x} = {x}.shape[0], {x} + 1", "{x}, *_ = np.linalg.svd({x}, False)"),
    *("size = {x}.shape; {x} = np.ones(size)", "n, m = {x}.shape; {x} = np.ones((m, n))", "{x}, other = {x}"),
    *(
        "n = len({x}) // 2; {x} = {x}[:n]",
        "rows = [{x}, {x}]; {x} = np.stack(rows)",
        "k = {x}.shape[0]; {x} = np.eye(k)",
    ),
]


def programs(seed: int, count: int) -> list[tuple[list[str], tuple[int, ...]]]:
    """Return programs that bind x and y again and again, each with the shape of the last x."""
    choice = random.Random(seed)  # noqa: S311  # the same programs in each run
    found: list[tuple[list[str], tuple[int, ...]]] = []
    while len(found) < count:
        names: dict[str, Any] = {"np": np, "rng": np.random.default_rng(0), "flag": True}
        lines: list[str] = []
        for line in [f"{name} = {choice.choice(MADE)}" for name in "xy"] + [
            f"{choice.choice('xxy')} = {choice.choice(USED)}" if choice.random() < 0.8 else choice.choice(CHANGED)
            for _ in range(choice.randrange(5))
        ]:
            written = line.format(x="x", y="y")
            trial = dict(names)
            try:
                exec(written, trial)  # noqa: S102  # our own lines
            except (ValueError, IndexError, TypeError, RuntimeWarning):
                continue  # NumPy rejects it
            if all(isinstance(trial.get(name, np.zeros(1)), np.ndarray) for name in "xy"):
                names = trial
                lines.append(written)
        if "x" in names and 0 not in names["x"].shape:
            found.append((lines, names["x"].shape))
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_sizes_that_mypy_knows_are_those_of_the_arrays(seed: int, tmp_path: Path) -> None:
    made = programs(seed, 150)
    lines = ["import numpy as np", "import tapegrad as tg", "rng = np.random.default_rng(0)"]
    places: list[int] = []
    for position, (statements, _) in enumerate(made):
        lines += [f"def f{position}(*, flag: bool) -> None:", *(f"    {one}" for one in statements)]
        lines.append("    reveal_type(tg.tensor(x, np.float32))")
        places.append(len(lines))

    said = revealed(tmp_path, "\n".join([*lines, ""]))

    wrong, known = [], 0
    for (statements, shape), place in zip(made, places, strict=True):
        sizes = re.fullmatch(r"tapegrad\.tensors\.Tensor\[(?:tuple\[(.*?)\]|Any), tapegrad\.auto.*", said[place])
        assert sizes is not None, said[place]
        if sizes[1] is None or "Opaque[" in sizes[1]:  # a size that stands for any number
            continue
        read = [] if sizes[1] == "()" else [one.strip() for one in sizes[1].split(",")]
        known += all(one != "Any" for one in read)
        if len(read) != len(shape) or any(one not in ("Any", str(n)) for one, n in zip(read, shape, strict=True)):
            wrong.append((statements, shape, sizes[1]))
    assert wrong == []
    assert known > 0.75 * len(made)


def test_what_the_stubs_take_for_a_number_may_be_an_array(tmp_path: Path) -> None:
    program = """\
import numpy as np

x = np.float32(np.ones((3, 4)))
reveal_type(x.shape)
reveal_type(x.ndim)
reveal_type(x.size)
y = np.float32(2.0)
reveal_type(y.shape)
reveal_type(y.ndim)
"""

    said = {line: text.replace("builtins.", "") for line, text in revealed(tmp_path, program).items()}

    assert said == {4: "tuple[int, ...]", 5: "int", 6: "int", 8: "tuple[()]", 9: "0"}


@pytest.mark.parametrize("array", ["np.ones((1.0, 5))", "np.full((half, 2), 1.0)", "np.ones((4, 5)).reshape(2.0, 10)"])
def test_what_is_no_size_is_reported_by_mypy_alone(array: str, tmp_path: Path) -> None:
    program = f"import numpy as np\nimport tapegrad as tg\n\nhalf = 0.5\ntg.tensor({array})\n"

    lines = [line for line in reports(tmp_path, program) if ": error: " in line]

    assert len(lines) == 1
    assert lines[0].startswith("program.py:5: error: ")
    assert lines[0].endswith(("[type-var]", "[call-overload]"))


def revealed(folder: Path, program: str) -> dict[int, str]:
    """Return the type that mypy reveals in each line; it reports nothing else about tensors."""
    lines = reports(folder, program)
    assert not [line for line in lines if "tapegrad-" in line]
    found = re.findall(r'^program\.py:(\d+): note: Revealed type is "(.*)"$', "\n".join(lines), re.MULTILINE)
    return {int(line): re.sub(r"Literal\[(\d+)\]", r"\1", text) for line, text in found}


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_sets_have_the_sizes_that_are_known_without_stubs(name: str) -> None:
    loaded = getattr(datasets, name)()

    assert {field: (loaded[field].shape, str(loaded[field].dtype)) for field in DATA_SETS[name]} == DATA_SETS[name]
