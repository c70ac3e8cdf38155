"""Checkpoints: what is restored, what is rejected, and that a rejection changes nothing."""

from __future__ import annotations

import json
import pickle
import re
import stat
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tapegrad.engines import bfloat16 as half
from tapegrad.engines.bfloat16 import bfloat16
from tapegrad.errors import TapeError
from tapegrad.io import FileError, load, save
from tapegrad.nn import Linear, Module, Param, ReLU, Sequential, quantized
from tapegrad.ops import normal, ones, zeros
from tapegrad.quantized import Affine, BlockSymmetric, Scheme, Symmetric
from tapegrad.tensors import Tensor

any_format = pytest.mark.parametrize("suffix", ["npz", "safetensors"])


class Tied(Module):
    """Uses one parameter twice, and names another as numpy.savez names its own argument."""

    def __init__(self) -> None:
        self.first = Param(ones((2, 3)))
        self.second = self.first
        self.file = Param(ones(()))


class Bag(Module):
    """Holds any arrays."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = {name: Param(Tensor(value)) for name, value in values.items()}


def model(seed: int, hidden: int = 5) -> Any:
    return Sequential(Linear(3, hidden, rng=seed), ReLU(), Linear(hidden, 2, rng=seed + 1))


def values(module: Module) -> dict[str, Any]:
    return {path: (parameter.version, parameter.tolist()) for path, parameter in module.parameters().items()}


@any_format
def test_a_loaded_model_predicts_what_the_saved_one_did(tmp_path: Path, suffix: str) -> None:
    trained, fresh, x = model(0), model(7), ones((4, 3))

    save(trained, tmp_path / f"model.{suffix}")
    load(fresh, str(tmp_path / f"model.{suffix}"))

    assert fresh(x).tolist() == trained(x).tolist()
    assert {parameter.version for parameter in fresh.parameters().values()} == {1}
    assert [file.name for file in tmp_path.iterdir()] == [f"model.{suffix}"]


def test_keys_are_attribute_paths_and_a_shared_parameter_is_saved_once(tmp_path: Path) -> None:
    module, again = Tied(), Tied()
    module.first.assign(zeros((2, 3)))

    save(module, tmp_path / "model.npz")
    load(again, tmp_path / "model.npz")

    with np.load(tmp_path / "model.npz") as file:
        assert {name: array.shape for name, array in file.items()} == {"first": (2, 3), "file": ()}
    assert again.second.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert again.second is again.first


def test_a_file_written_by_numpy_is_read(tmp_path: Path) -> None:
    module: Any = Tied()
    module.file = module.first

    np.savez_compressed(tmp_path / "model.npz", first=np.arange(6, dtype=np.float32).reshape(2, 3))
    load(module, tmp_path / "model.npz")

    assert module.first.tolist() == [[0, 1, 2], [3, 4, 5]]

    np.savez(tmp_path / "model.npz", first=np.asfortranarray(np.arange(6, 12, dtype=np.float32).reshape(2, 3)))
    load(module, tmp_path / "model.npz")

    assert module.first.tolist() == [[6, 7, 8], [9, 10, 11]]


@any_format
def test_several_models_share_one_file(tmp_path: Path, suffix: str) -> None:
    left, right = Linear(3, 2, rng=0), Linear(2, 4, rng=1)
    left2, right2 = Linear(3, 2, rng=2), Linear(2, 4, rng=3)

    save({"left": left, "right": right}, tmp_path / f"both.{suffix}")
    load({"right": right2, "left": left2}, tmp_path / f"both.{suffix}")

    assert left2.weight.tolist() == left.weight.tolist()
    assert right2.weight.tolist() == right.weight.tolist()


@any_format
@given(
    st.dictionaries(
        st.from_regex(r"[a-zA-Z_äλ][a-zA-Z0-9_ /-]{0,20}", fullmatch=True),
        st.sampled_from([np.float16, np.float32, np.float64]).flatmap(
            lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
        ),
        max_size=5,
    )
)
def test_every_saved_array_is_restored_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, given: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("io") / f"bag.{suffix}"
    bag, again = Bag(given), Bag({name: np.ones_like(value) for name, value in given.items()})

    save(bag, path)
    load(again, path)

    for name, value in given.items():
        back = again.values[name].numpy()
        assert (back.shape, back.dtype, back.tobytes()) == (value.shape, value.dtype, value.tobytes())


@any_format
def test_a_file_of_another_model_is_rejected_with_all_differences_and_changes_nothing(
    tmp_path: Path, suffix: str
) -> None:
    linear: Any = Linear  # mypy rejects the second model before it runs
    other = Sequential(linear(3, 4, rng=0), linear(4, 2, bias=False, rng=1))
    here = Sequential(linear(3, 4, rng=2), linear(5, 2, rng=3))
    here[0].bias = Param(zeros((4,), np.float64))
    here[0].extra, other[1].more = Param(ones(())), Param(ones((7,)))
    before = values(here)

    save(other, tmp_path / f"other.{suffix}")
    with pytest.raises(FileError) as rejected:
        load(here, tmp_path / f"other.{suffix}")

    assert str(rejected.value) == (
        f"load: other.{suffix} does not fit Sequential, which stays as it is:\n"
        "  layers.0.bias is float32 (4,) in the file but float64 (4,) is expected\n"
        "  layers.0.extra () is not in the file\n"
        "  layers.1.weight is float32 (4, 2) in the file but float32 (5, 2) is expected\n"
        "  layers.1.bias (2,) is not in the file\n"
        "  layers.1.more (7,) is in the file only"
    )
    assert values(here) == before


@any_format
def test_a_truncated_file_is_rejected_wherever_it_ends(tmp_path: Path, suffix: str) -> None:
    module, path = Linear(3, 2, rng=0), tmp_path / f"model.{suffix}"
    save(module, path)
    whole, before = path.read_bytes(), values(module)

    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=f"^load: model.{suffix} is damaged or no {suffix} file \\("):
            load(module, path)

    assert values(module) == before


def test_one_wrong_bit_in_the_values_is_rejected(tmp_path: Path) -> None:
    module, path = Linear(3, 2, bias=False, rng=0), tmp_path / "model.npz"
    save(module, path)
    whole = path.read_bytes()
    start = whole.index(module.weight.numpy().tobytes())

    for position in range(start, start + module.weight.size * 4):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(FileError, match="Bad CRC-32"):
            load(module, path)


class Trap:
    """Would do harm if it were unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_foreign_and_pickled_files_are_rejected_and_nothing_in_them_runs(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model.{suffix}"
    trap: Any = np.array([Trap()], object)
    contents: list[bytes] = [b"", b"hello", pickle.dumps(Trap())]
    np.savez(tmp_path / "trap.npz", weight=trap)
    np.save(tmp_path / "plain.npy", np.ones(3))
    contents += [(tmp_path / "trap.npz").read_bytes(), (tmp_path / "plain.npy").read_bytes()]

    for content in contents:
        path.write_bytes(content)
        with pytest.raises(FileError, match=f"^load: model.{suffix} is damaged or no {suffix} file"):
            load(Linear(3, 2, rng=0), path)


def test_a_missing_file_raises_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.npz"):
        load(Linear(3, 2, rng=0), tmp_path / "model.npz")
    with pytest.raises(FileNotFoundError):
        save(Linear(3, 2, rng=0), tmp_path / "nowhere" / "model.npz")


@pytest.mark.parametrize(("name", "suffix"), [("model.pt", ".pt"), ("model", "none"), ("model.NPZ", ".NPZ")])
def test_an_unknown_suffix_is_rejected_by_save_and_load(tmp_path: Path, name: str, suffix: str) -> None:
    module = Linear(3, 2, rng=0)
    (tmp_path / name).write_bytes(b"")

    for call in (save, load):
        message = f"{call.__name__}: {name} has suffix {suffix} but .npz or .safetensors is expected"
        with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
            call(module, tmp_path / name)

    assert (tmp_path / name).read_bytes() == b""


def test_safetensors_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors.numpy", None)

    message = 'save: m.safetensors needs the package safetensors: pip install "tapegrad[safetensors]"'
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        save(Linear(3, 2, rng=0), tmp_path / "m.safetensors")

    assert not list(tmp_path.iterdir())


def test_two_parameters_of_one_path_are_rejected(tmp_path: Path) -> None:
    bag: Any = Bag({"a.b": np.ones(2, np.float32)})
    bag.values["a"] = {"b": Param(ones((3,)))}

    with pytest.raises(FileError, match=r"^save: two tensors go by the path values\.a\.b$"):
        save(bag, tmp_path / "bag.npz")
    with pytest.raises(FileError, match=r"^save: two arrays go by the name a\.b\.weight$"):
        save({"a": Bag2(), "a.b": Linear(2, 3, bias=False, rng=0)}, tmp_path / "bag.npz")

    assert not list(tmp_path.iterdir())


class Bag2(Module):
    """Has a parameter at `b.weight`."""

    def __init__(self) -> None:
        self.b = Linear(2, 3, bias=False, rng=0)


def test_objects_without_parameters_are_rejected(tmp_path: Path) -> None:
    wrong: Any = [1.0]

    with pytest.raises(FileError, match=r"^save: saved is list, which has no state to save$"):
        save(wrong, tmp_path / "model.npz")
    with pytest.raises(FileError, match=r"^load: model is list, which has no state to save$"):
        load({"model": wrong}, tmp_path / "model.npz")


def test_loading_a_parameter_counts_as_an_assignment(tmp_path: Path) -> None:
    module: Any = Linear(3, 2, rng=0)
    save(module, tmp_path / "model.npz")
    y = module(ones((1, 3)).trace())

    load(module, tmp_path / "model.npz")

    with pytest.raises(TapeError, match="was assigned after the forward pass used it"):
        y.backward(seed=ones((1, 2)))


@any_format
def test_bfloat16_is_restored_exactly(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model.{suffix}"
    narrow = normal((1000,), rng=0).astype(bfloat16)
    given, other, wide = (Bag({"w": x.data}) for x in (narrow, zeros((1000,), bfloat16), ones(1000)))

    save(given, path)
    load(other, path)

    w: Any = other.values["w"]
    assert (w.dtype, w.tolist()) == (bfloat16, narrow.tolist())
    assert w.sum().item() == narrow.sum().item()  # computed in float32
    with pytest.raises(FileError, match=r"w is bfloat16 \(1000,\) in the file but float32 \(1000,\) is expected$"):
        load(wide, path)
    save(wide, path)
    with pytest.raises(FileError, match=r"w is float32 \(1000,\) in the file but bfloat16 \(1000,\) is expected$"):
        load(other, path)


@any_format
def test_bfloat16_in_a_file_without_ml_dtypes_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"model.{suffix}"
    given = Bag({"w": ones(3, bfloat16).data})
    save(given, path)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(vars(half), "bfloat16", raising=False)

    with pytest.raises(ImportError, match=r"^tapegrad.bfloat16 needs the package ml_dtypes: pip install "):
        load(given, path)


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    save(Linear(3, 2), path)
    path.chmod(0o600)

    save(Linear(3, 2), path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_large_file_that_does_not_fit_is_rejected_by_its_header(tmp_path: Path) -> None:
    size, path = 3 << 30, tmp_path / "m.safetensors"
    header = json.dumps({"weight": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)  # sparse: it needs no disk space

    tracemalloc.start()
    with pytest.raises(
        FileError, match=r"weight is float32 \(805306368,\) in the file but float32 \(3, 2\) is expected"
    ):
        load(Linear(3, 2), path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 1 << 20


@any_format
def test_a_memory_error_is_not_reported_as_a_damaged_file(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, path = Linear(3, 2), tmp_path / f"m.{suffix}"
    save(module, path)

    def empty(*_: object) -> Any:
        raise MemoryError

    monkeypatch.setattr("tapegrad.io.formats.np.empty", empty)
    with pytest.raises(MemoryError):
        load(module, path)


def wide(seed: int) -> Any:
    return Sequential(Linear(64, 47, rng=seed), ReLU(), Linear(47, 3, rng=seed + 1))


@any_format
@pytest.mark.parametrize("scheme", [Symmetric(), Affine(), BlockSymmetric(50)], ids=repr)
def test_a_quantized_model_is_saved_in_a_quarter_of_the_bytes(tmp_path: Path, suffix: str, scheme: Scheme) -> None:
    trained, fresh = quantized(wide(0), scheme), quantized(wide(7), scheme)
    small, large = tmp_path / f"small.{suffix}", tmp_path / f"large.{suffix}"

    save({"model": trained}, small)
    save({"model": wide(0)}, large)
    load({"model": fresh}, small)

    # Of 3149 weights 1 byte each instead of 4. Names, headers and biases take up to 3000 bytes of an npz file.
    assert (
        large.stat().st_size - small.stat().st_size > 3149 * 3 - (64 * 4 if scheme == BlockSymmetric(50) else 0) - 2500
    )
    for path, tensor in trained.parameters().items():
        assert fresh.parameters()[path].numpy().tobytes() == tensor.numpy().tobytes()
    ours, theirs = fresh[0].weight.steps, trained[0].weight.steps
    assert ours.values.tobytes() == theirs.values.tobytes()
    assert (ours.zero, ours.scheme, ours.scale.tolist()) == (theirs.zero, theirs.scheme, theirs.scale.tolist())
    assert fresh[0].weight.version == 1


def test_the_floats_of_a_file_are_quantized_by_the_model_that_loads_them(tmp_path: Path) -> None:
    path, fresh = tmp_path / "model.npz", quantized(wide(7))
    save(wide(0), path)

    load(fresh, path)

    assert fresh[0].weight.tolist() == quantized(wide(0))[0].weight.tolist()


def test_pytorchs_layout_has_the_floats_of_quantized_weights(tmp_path: Path) -> None:
    trained, fresh, path = quantized(wide(0)), wide(7), tmp_path / "model.npz"
    save(trained, path, layout="torch")

    load(fresh, path)

    assert fresh[0].weight.tolist() == trained[0].weight.tolist()


def test_a_file_of_another_scheme_is_rejected_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    save(quantized(wide(0), BlockSymmetric(64)), path)
    floats, other = wide(7), quantized(wide(7), Symmetric())
    before = [one[0].weight.tolist() for one in (floats, other)]

    with pytest.raises(FileError, match=re.escape("layers.0.weight (64, 47) is not in the file")):
        load(floats, path)
    message = "layers.0.weight.scale is float32 (47,) in the file but float32 (1,) is expected"
    with pytest.raises(FileError, match=re.escape(message)):
        load(other, path)
    assert [one[0].weight.tolist() for one in (floats, other)] == before


def test_blocks_of_another_size_are_rejected_where_their_number_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    save(quantized(model(0), BlockSymmetric(14)), path)  # 15 and 10 elements
    other = quantized(model(0), BlockSymmetric(13))
    before = values(other)

    message = "the state: layers.0.weight is quantized in blocks of 14 in the file but in blocks of 13 here"
    with pytest.raises(FileError, match=re.escape(message)):
        load(other, path)

    assert [numbers for _, numbers in values(other).values()] == [numbers for _, numbers in before.values()]


def test_a_parameter_with_the_name_of_a_part_of_a_quantized_weight_is_rejected(tmp_path: Path) -> None:
    bag = quantized(Bag({"w": np.ones((2, 3), np.float32), "w.scale": np.ones(2, np.float32)}))

    with pytest.raises(FileError, match=re.escape("save: two tensors go by the path values.w.scale")):
        save(bag, tmp_path / "model.npz")
