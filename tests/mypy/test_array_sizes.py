"""The sizes that mypy reads from expressions of NumPy, compared with the arrays that NumPy makes."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.mypy.programs import reports

if TYPE_CHECKING:
    from pathlib import Path

MADE = [
    *("np.zeros((2, 3))", "np.ones((4, 3))", "np.empty((3, 4))", "np.full((2, 5), 1.0)", "np.ones(6)", "np.eye(3)"),
    *("np.eye(3, 4)", "np.identity(3)", "np.arange(12)", "np.arange(2, 14, 3)", "np.linspace(0, 1, 5)"),
    *("np.linspace(0.0, 1.0)", "np.zeros((2, 3, 4))", "np.array([[1.0, 2.0], [3.0, 4.0]])", "rng.normal(size=(3, 2))"),
    *("rng.random(4)", "rng.integers(0, 5, (2, 3))", "rng.uniform(0, 1, (4, 1))", "np.zeros((1, 4), np.float32)"),
    *("np.array([1, 2, 3])", "rng.standard_normal((2, 2, 2))", "np.zeros((), np.float64)"),
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
    *("np.stack(np.meshgrid({x}, {y}))", "np.meshgrid({x}, {y}, indexing='ij')[0]", "np.tril_indices(4, -1)[1]"),
]


def programs(seed: int, count: int) -> list[tuple[list[str], tuple[int, ...]]]:
    """Return programs that bind x and y again and again, each with the shape of the last x."""
    choice = random.Random(seed)  # noqa: S311  # the same programs in each run
    found: list[tuple[list[str], tuple[int, ...]]] = []
    while len(found) < count:
        names: dict[str, Any] = {"np": np, "rng": np.random.default_rng(0), "flag": True}
        lines: list[str] = []
        for line in [f"{name} = {choice.choice(MADE)}" for name in "xy"] + [
            f"{choice.choice('xxy')} = {choice.choice(USED)}" for _ in range(choice.randrange(5))
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
        if sizes[1] is None:
            continue
        read = [] if sizes[1] == "()" else [one.strip() for one in sizes[1].split(",")]
        known += all(one != "Any" for one in read)
        if len(read) != len(shape) or any(one not in ("Any", str(n)) for one, n in zip(read, shape, strict=True)):
            wrong.append((statements, shape, sizes[1]))
    assert wrong == []
    assert known > 0.65 * len(made)


def revealed(folder: Path, program: str) -> dict[int, str]:
    """Return the type that mypy reveals in each line; it reports nothing else about tensors."""
    lines = reports(folder, program)
    assert not [line for line in lines if "tapegrad-" in line]
    found = re.findall(r'^program\.py:(\d+): note: Revealed type is "(.*)"$', "\n".join(lines), re.MULTILINE)
    return {int(line): re.sub(r"Literal\[(\d+)\]", r"\1", text) for line, text in found}
