"""Files in PyTorch's layout: names, axes, and what is rejected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from tapegrad.io import FileError, formats, load, save
from tapegrad.io.torch_layout import entries
from tapegrad.nn import (
    GRU,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    MultiHeadAttention,
    PReLU,
    ReLU,
    Repeated,
    Sequential,
    TransformerDecoderBlock,
)
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


WORDS = ("weight", "bias")


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in THEIRS.items()}


def test_the_parameters_of_a_torch_file_are_transposed_and_renamed(tmp_path: Path) -> None:
    net, theirs = Net(), arrays()
    save_file(theirs, tmp_path / "net.safetensors")

    load(net, tmp_path / "net.safetensors", layout="torch")

    ours = {path: parameter.numpy() for path, parameter in net.parameters().items()}
    np.testing.assert_array_equal(ours["body.layers.0.weight"], theirs["body.0.weight"].T)
    np.testing.assert_array_equal(ours["body.layers.0.bias"], theirs["body.0.bias"])
    np.testing.assert_array_equal(ours["body.layers.2.layers.0.weight"], theirs["body.2.0.weight"])
    np.testing.assert_array_equal(ours["names.weight"], theirs["names.weight"])
    np.testing.assert_array_equal(ours["head.weight"], theirs["head.weight"].T)


def test_the_loaded_model_computes_the_results_of_pytorch(tmp_path: Path) -> None:
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


def filled(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def test_queries_keys_and_values_are_sliced_from_one_array(tmp_path: Path) -> None:
    # torch 2.13: the state_dict of MultiheadAttention(6, 2)
    theirs = filled(
        {"in_proj_weight": (18, 6), "in_proj_bias": (18,), "out_proj.weight": (6, 6), "out_proj.bias": (6,)}
    )
    layer = MultiHeadAttention(6, 2)
    save_file(theirs, tmp_path / "attention.safetensors")

    load(layer, tmp_path / "attention.safetensors", layout="torch")

    parts = {"query": slice(6), "key": slice(6, 12), "value": slice(12, 18)}
    for name, rows in parts.items():
        part: Linear[Any, Any] = getattr(layer, name)
        np.testing.assert_array_equal(part.weight.numpy(), theirs["in_proj_weight"][rows].T)
        assert part.bias is not None
        np.testing.assert_array_equal(part.bias.numpy(), theirs["in_proj_bias"][rows])
    np.testing.assert_array_equal(layer.out.weight.numpy(), theirs["out_proj.weight"].T)
    plain = MultiHeadAttention(6, 2, bias=False)
    save_file(filled({"in_proj_weight": (18, 6), "out_proj.weight": (6, 6)}), tmp_path / "plain.safetensors")
    load(plain, tmp_path / "plain.safetensors", layout="torch")
    np.testing.assert_array_equal(plain.key.weight.numpy(), theirs["in_proj_weight"][6:12].T)


def test_running_statistics_are_read_and_num_batches_tracked_is_ignored(tmp_path: Path) -> None:
    # torch 2.13: the state_dict of Sequential(Conv2d(3, 4, (2, 3)), BatchNorm2d(4), PReLU())
    theirs = filled({"0.weight": (4, 3, 2, 3), "0.bias": (4,)})
    theirs |= filled({f"1.{name}": (4,) for name in ("weight", "bias", "running_mean", "running_var")})
    theirs |= {"1.num_batches_tracked": np.array(7), "2.weight": np.array([0.5], np.float32)}
    model = Sequential(Conv2d(3, 4, (2, 3)), BatchNorm2d(4), PReLU())
    save_file(theirs, tmp_path / "model.safetensors")

    load(model, tmp_path / "model.safetensors", layout="torch")

    np.testing.assert_array_equal(model.buffers()["layers.1.running_var"].numpy(), theirs["1.running_var"])
    np.testing.assert_array_equal(model.parameters()["layers.0.weight"].numpy(), theirs["0.weight"])
    assert model.parameters()["layers.2.weight"].item() == 0.5
    del theirs["1.num_batches_tracked"]
    save_file(theirs | {"0.num_batches_tracked": np.array(7)}, tmp_path / "other.safetensors")
    with pytest.raises(FileError, match=r"\n  0\.num_batches_tracked \(\) is in the file only$"):
        load(model, tmp_path / "other.safetensors", layout="torch")


def test_blocks_and_recurrent_layers_have_pytorchs_names() -> None:
    blocks = Repeated(lambda: TransformerDecoderBlock(4, 2, 6), 2)

    # torch 2.13: the state_dicts of TransformerDecoderLayer(4, 2, 6) and of GRU(3, 4)
    attention = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    names = [f"{part}.{name}" for part in ("self_attn", "multihead_attn") for name in attention]
    names += [f"{part}.{name}" for part in ("linear1", "linear2", "norm1", "norm2", "norm3") for name in WORDS]
    assert sorted(place.name for place in entries(blocks)) == sorted(f"{n}.{name}" for n in range(2) for name in names)
    assert {place.name: place.array().shape for place in entries(GRU(3, 4))} == {
        "weight_ih_l0": (12, 3),
        "weight_hh_l0": (12, 4),
        "bias_ih_l0": (12,),
        "bias_hh_l0": (12,),
    }


def tied() -> Module:
    first, second = Linear(3, 3), Linear(3, 3, bias=False)
    second.weight = first.weight
    return Sequential(first, second)


@pytest.mark.parametrize("names", [("0.weight",), ("0.weight", "1.weight")])
def test_a_tied_weight_may_be_in_the_file_under_each_of_its_names(tmp_path: Path, names: tuple[str, ...]) -> None:
    model, weight = tied(), filled({"w": (3, 3)})["w"]
    save_file(dict.fromkeys(names, weight) | {"0.bias": np.zeros(3, np.float32)}, tmp_path / "m.safetensors")

    load(model, tmp_path / "m.safetensors", layout="torch")

    np.testing.assert_array_equal(model.parameters()["layers.0.weight"].numpy(), weight.T)


def test_two_values_for_a_tied_weight_are_an_error(tmp_path: Path) -> None:
    arrays = filled({"0.weight": (3, 3), "0.bias": (3,), "1.weight": (3, 3)})
    save_file(arrays, tmp_path / "m.safetensors")

    message = "load: m.safetensors has two values for one parameter: 0.weight and 1.weight differ"
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load(tied(), tmp_path / "m.safetensors", layout="torch")


def test_a_file_that_says_that_pytorch_wrote_it_needs_no_option(tmp_path: Path) -> None:
    model, arrays = Linear(3, 3), filled({"weight": (3, 3), "bias": (3,)})
    save_file(arrays, tmp_path / "m.safetensors", {"format": "pt"})  # as safetensors.torch.save_file does

    load(model, tmp_path / "m.safetensors")

    np.testing.assert_array_equal(model.weight.numpy(), arrays["weight"].T)


def test_a_square_weight_of_unknown_origin_is_an_error(tmp_path: Path) -> None:
    model, arrays = Linear(3, 3), filled({"weight": (3, 3), "bias": (3,)})
    before = model.weight.numpy(copy=True)
    save_file(arrays, tmp_path / "m.safetensors")

    message = (
        "load: m.safetensors does not say who wrote it and fits both layouts, of which PyTorch's transposes weights: "
        "pass layout='torch' or layout='tapegrad'"
    )
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load(model, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(model.weight.numpy(), before)
    load(model, tmp_path / "m.safetensors", layout="tapegrad")
    np.testing.assert_array_equal(model.weight.numpy(), arrays["weight"])


def test_an_error_for_a_file_that_matches_only_pytorchs_layout_names_the_option(tmp_path: Path) -> None:
    save_file(filled({"weight": (5, 3), "bias": (5,)}), tmp_path / "m.safetensors")

    message = (
        "load: m.safetensors fits PyTorch's layout but does not say who wrote it: "
        "if it was PyTorch, pass layout='torch'"
    )
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load(Linear(3, 5), tmp_path / "m.safetensors")


def test_a_file_that_both_layouts_read_alike_needs_no_option(tmp_path: Path) -> None:
    model, arrays = LayerNorm(3), filled({"weight": (3,), "bias": (3,)})
    save_file(arrays, tmp_path / "m.safetensors")

    load(model, tmp_path / "m.safetensors")

    np.testing.assert_array_equal(model.weight.numpy(), arrays["weight"])


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_model_saved_in_the_layout_of_pytorch_is_loaded_again(tmp_path: Path, suffix: str) -> None:
    model, other = (Sequential(Linear(3, 3, rng=seed), BatchNorm2d(3), tied()) for seed in (0, 1))
    path = tmp_path / f"m.{suffix}"

    save(model, path, layout="torch")
    load(other, path)

    for name, parameter in model.parameters().items():
        np.testing.assert_array_equal(other.parameters()[name].numpy(), parameter.numpy())


def test_a_file_in_pytorchs_layout_has_its_names_and_is_marked(tmp_path: Path) -> None:
    model = Sequential(Linear(3, 5, rng=0), BatchNorm2d(5), tied())
    save(model, tmp_path / "m.safetensors", layout="torch")

    with safe_open(tmp_path / "m.safetensors", framework="np") as file:
        assert file.metadata() == {"format": "pt"}
        # torch 2.13: the state_dict of the same architecture with its weights tied
        names = list(file.keys())
        assert {name: tuple(file.get_tensor(name).shape) for name in names} == {
            "0.bias": (5,),
            "0.weight": (5, 3),
            "1.bias": (5,),
            "1.num_batches_tracked": (),
            "1.running_mean": (5,),
            "1.running_var": (5,),
            "1.weight": (5,),
            "2.0.bias": (3,),
            "2.0.weight": (3, 3),
            "2.1.weight": (3, 3),
        }
        np.testing.assert_array_equal(file.get_tensor("0.weight").T, model.parameters()["layers.0.weight"].numpy())


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_file_is_marked_as_written_by_tapegrad(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m.{suffix}"
    save(Linear(3, 3), path)

    with path.open("rb") as file:
        assert formats.format_of("load", path).open(file).metadata == {"format": "tapegrad"}


def test_all_differences_are_listed_under_the_names_of_the_file_and_nothing_changes(tmp_path: Path) -> None:
    net, theirs = Net(), arrays()
    before = {path: parameter.numpy(copy=True) for path, parameter in net.parameters().items()}
    theirs["head.weight"] = theirs["head.weight"].T.copy()
    theirs["body.0.bias"] = theirs["body.0.bias"].astype(np.float64)
    theirs["head.bias"] = theirs.pop("names.weight")[:2, 0].copy()
    save_file(theirs, tmp_path / "net.safetensors")

    with pytest.raises(FileError) as rejected:
        load(net, tmp_path / "net.safetensors", layout="torch")

    assert str(rejected.value).splitlines() == [
        "load: net.safetensors does not fit Net, which stays as it is:",
        "  body.0.bias is float64 (5,) in the file but float32 (5,) is expected",
        "  names.weight (7, 3) is not in the file",
        "  head.weight is float32 (5, 2) in the file but float32 (2, 5) is expected",
        "  head.bias (2,) is in the file only",
    ]
    for path, parameter in net.parameters().items():
        np.testing.assert_array_equal(parameter.numpy(), before[path])


def test_an_optimizer_and_a_third_layout_are_rejected(tmp_path: Path) -> None:
    net = Net()

    message = "load: optimizer is SGD, which is no module, as PyTorch's layout is for"
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load({"optimizer": SGD(net, lr=0.1)}, tmp_path / "net.safetensors", layout="torch")
    with pytest.raises(FileError, match=r"^load: layout is 'keras' but 'tapegrad' or 'torch' is expected$"):
        load(net, tmp_path / "net.safetensors", layout="keras")  # type: ignore[arg-type]  # the mistake under test
