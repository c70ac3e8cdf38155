"""bfloat16 against PyTorch: values and gradients of ops, and files that the other library reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import io, nn

torch: Any = pytest.importorskip("torch", reason="make oracle installs it")
F: Any = torch.nn.functional

X, Y = (tg.normal((4, 6), rng=seed).astype(tg.bfloat16) for seed in (0, 1))
IMAGES = tg.normal((2, 3, 8, 7), rng=2).astype(tg.bfloat16)
KERNELS = tg.normal((5, 3, 3, 2), rng=3).astype(tg.bfloat16)
ROW, SHIFT = tg.normal((6,), rng=4).astype(tg.bfloat16), tg.normal((6,), rng=5).astype(tg.bfloat16)
Function = Callable[..., Any]

LINES: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "add": (tg.add, torch.add, (X, Y)),
    "conv2d": (tg.conv2d, F.conv2d, (IMAGES, KERNELS)),
    "cumsum": (lambda x: tg.cumsum(x, 1), lambda x: torch.cumsum(x, 1), (X,)),
    "exp": (tg.exp, torch.exp, (X,)),
    "gelu": (tg.gelu, F.gelu, (X,)),
    "getitem": (lambda x: x[1:, ::2], lambda x: x[1:, ::2], (X,)),
    "layer_norm": (tg.layer_norm, lambda x, w, b: F.layer_norm(x, (6,), w, b), (X, ROW, SHIFT)),
    "log_softmax": (lambda x: tg.log_softmax(x, 1), lambda x: F.log_softmax(x, 1), (X,)),
    "matmul": (lambda x, y: x @ y.T, lambda x, y: x @ y.T, (X, Y)),
    "max": (lambda x: x.max(1), lambda x: torch.amax(x, 1), (X,)),
    "mean": (lambda x: x.mean(0), lambda x: x.mean(0), (X,)),
    "mul": (tg.mul, torch.mul, (X, Y)),
    "silu": (tg.silu, F.silu, (X,)),
    "softmax": (lambda x: tg.softmax(x, 1), lambda x: F.softmax(x, 1), (X,)),
    "sum": (lambda x: x.sum(1), lambda x: x.sum(1), (X,)),
    "tanh": (tg.tanh, torch.tanh, (X,)),
    "var": (lambda x: x.var(1), lambda x: x.var(1, correction=0), (X,)),
}


def theirs(x: Any) -> Any:
    return torch.tensor(x.astype(np.float32).numpy().copy()).to(torch.bfloat16)


@pytest.mark.parametrize("name", LINES)
def test_ops_of_bfloat16_equal_torch(name: str) -> None:
    ours, other, operands = LINES[name]
    given = [theirs(x).requires_grad_() for x in operands]

    y: Any = ours(*(x.trace() for x in operands))
    expected = other(*given)
    expected.backward(torch.ones_like(expected))
    grads = y.backward(seed=tg.ones_like(y))

    # Of the windows over a cell torch adds up what it has rounded.
    within = 2**-4 if name == "conv2d" else 2**-6

    def compare(one: Any, two: Any) -> None:
        wide = two.detach().float().numpy()
        # Both round to 8 bits; torch rounds in between as well, and reads the rounded result in the backward pass.
        np.testing.assert_allclose(one.numpy().astype(np.float32), wide, rtol=within, atol=within)

    assert (y.dtype, expected.dtype) == (tg.bfloat16, torch.bfloat16)
    compare(y, expected)
    for x, x_of_torch in zip(operands, given, strict=True):
        compare(grads[x], x_of_torch.grad)


def test_conversion_rounds_as_torch_does() -> None:
    x = tg.normal((10_000,), rng=0) * tg.exp(tg.normal((10_000,), rng=1) * 10.0)

    assert x.astype(tg.bfloat16).tolist() == torch.tensor(x.numpy().copy()).to(torch.bfloat16).tolist()


class Model(nn.Module):
    """A weight of bfloat16."""

    def __init__(self, seed: int) -> None:
        self.w = nn.Param(tg.normal((3, 5), rng=seed).astype(tg.bfloat16))


def test_files_of_bfloat16_are_read_by_both_libraries(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model, other = Model(0), Model(1)

    save_file({"w": theirs(model.w)}, tmp_path / "theirs.safetensors")
    io.load(other, tmp_path / "theirs.safetensors")
    io.save(model, tmp_path / "ours.safetensors")
    found = load_file(tmp_path / "ours.safetensors")["w"]

    assert other.w.tolist() == model.w.tolist()
    assert found.dtype == torch.bfloat16
    assert found.tolist() == model.w.tolist()
