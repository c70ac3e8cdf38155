"""Files of PyTorch's: their names, their axes, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tapegrad.io import FileError, load
from tapegrad.nn import Dropout, Embedding, LayerNorm, Linear, Module, ReLU, Sequential
from tapegrad.ops import normal
from tapegrad.optim import SGD


class Net(Module):
    def __init__(self) -> None:
        self.body = Sequential(Linear(3, 5), ReLU(), Sequential(LayerNorm(5), Dropout(0.5, rng=0)))
        self.names = Embedding(7, 3)
        self.head = Linear(5, 2, bias=False)


# torch 2.13: [(name, tuple(x.shape)) for name, x in net.state_dict().items()] of a module with the same attributes
THEIRS: dict[str, tuple[int, ...]] = {
    "body.0.weight": (5, 3),
    "body.0.bias": (5,),
    "body.2.0.weight": (5,),
    "body.2.0.bias": (5,),
    "names.weight": (7, 3),
    "head.weight": (2, 5),
}


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in THEIRS.items()}


def test_the_parameters_of_a_torch_file_are_turned_and_renamed(tmp_path: Path) -> None:
    net, theirs = Net(), arrays()
    save_file(theirs, tmp_path / "net.safetensors")

    load(net, tmp_path / "net.safetensors", layout="torch")

    ours = {path: parameter.numpy() for path, parameter in net.parameters().items()}
    np.testing.assert_array_equal(ours["body.layers.0.weight"], theirs["body.0.weight"].T)
    np.testing.assert_array_equal(ours["body.layers.0.bias"], theirs["body.0.bias"])
    np.testing.assert_array_equal(ours["body.layers.2.layers.0.weight"], theirs["body.2.0.weight"])
    np.testing.assert_array_equal(ours["names.weight"], theirs["names.weight"])
    np.testing.assert_array_equal(ours["head.weight"], theirs["head.weight"].T)


def test_the_loaded_model_computes_what_the_other_did(tmp_path: Path) -> None:
    model, theirs = Sequential(Linear(3, 5), ReLU(), Linear(5, 2)), {}
    rng = np.random.default_rng(0)
    for name, shape in {"0.weight": (5, 3), "0.bias": (5,), "2.weight": (2, 5), "2.bias": (2,)}.items():
        theirs[name] = rng.normal(size=shape).astype(np.float32)
    save_file(theirs, tmp_path / "model.safetensors")

    load(model, tmp_path / "model.safetensors", layout="torch")

    x = normal((4, 3), rng=0)
    hidden = np.maximum(x.numpy() @ theirs["0.weight"].T + theirs["0.bias"], 0)
    expected = hidden @ theirs["2.weight"].T + theirs["2.bias"]
    np.testing.assert_allclose(model(x).numpy(copy=True), expected, rtol=1e-5, atol=1e-6)


def test_all_that_differs_is_listed_in_the_names_of_the_file_and_nothing_changes(tmp_path: Path) -> None:
    net, theirs = Net(), arrays()
    before = {path: parameter.numpy(copy=True) for path, parameter in net.parameters().items()}
    theirs["head.weight"] = theirs["head.weight"].T.copy()
    theirs["body.0.bias"] = theirs["body.0.bias"].astype(np.float64)
    theirs["head.bias"] = theirs.pop("names.weight")[:2, 0].copy()
    save_file(theirs, tmp_path / "net.safetensors")

    with pytest.raises(FileError) as refused:
        load(net, tmp_path / "net.safetensors", layout="torch")

    assert str(refused.value).splitlines() == [
        "load: net.safetensors does not fit Net, which stays as it is:",
        "  body.0.bias is float64 (5,) in the file but float32 (5,) is expected",
        "  names.weight (7, 3) is not in the file",
        "  head.weight is float32 (5, 2) in the file but float32 (2, 5) is expected",
        "  head.bias (2,) is in the file only",
    ]
    for path, parameter in net.parameters().items():
        np.testing.assert_array_equal(parameter.numpy(), before[path])


def test_an_optimizer_and_a_third_layout_are_refused(tmp_path: Path) -> None:
    net = Net()

    message = "load: optimizer is SGD, which is no module, as PyTorch's layout is for"
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load({"optimizer": SGD(net, lr=0.1)}, tmp_path / "net.safetensors", layout="torch")
    with pytest.raises(FileError, match=r"^load: layout is 'keras' but 'tapegrad' or 'torch' is expected$"):
        load(net, tmp_path / "net.safetensors", layout="keras")  # type: ignore[arg-type]  # the mistake under test
