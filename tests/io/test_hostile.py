"""Truncated, corrupt, oversized and overlapping files: one error each, no code runs, no memory grows, nothing changes.

The long form mutates the given number of files; where atheris is installed, it is guided by the branches they reach:

    python tests/io/test_hostile.py [runs]
"""

from __future__ import annotations

import inspect
import json
import pickle
import re
import struct
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapegrad import data, nn, optim
from tapegrad.io import FileError, formats, load, save
from tapegrad.ops import ones

OVERHEAD = 1 << 21  # bytes that reading any file takes: Python parses a header of NumPy's

# A name, what is said of the array, its values.
Member = tuple[str, dict[str, Any], bytes]


class Trap:
    """Would do harm if it were unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("unpickled",)


class Trained:
    """All kinds of things that have a state."""

    def __init__(self, seed: int) -> None:
        self.model = nn.Sequential(nn.Linear(3, 2, rng=seed), nn.BatchNorm1d(2), nn.Dropout(0.5, rng=seed))
        self.opt = optim.Adam(self.model, lr=0.5 + seed)
        self.batches = data.batches(ones((5, 3)), size=2, rng=seed)
        self.saved: dict[str, object] = {
            "model": self.model,
            "opt": self.opt,
            "batches": self.batches,
            "scaler": optim.LossScaler(2.0**seed),
            "rng": np.random.default_rng(seed),
        }

    def bits(self) -> dict[str, bytes]:
        """Return all that there is to change."""
        kept: Any = self.saved
        arrays = {path: tensor.data for path, tensor in (self.model.parameters() | self.model.buffers()).items()}
        for name in ("opt", "batches", "scaler"):
            arrays |= {f"{name}.{path}": array for path, array in kept[name].arrays().items()}
        states = [generator.bit_generator.state for generator in (*self.model.generators().values(), kept["rng"])]
        return {path: np.asarray(array).tobytes() for path, array in arrays.items()} | {"": repr(states).encode()}


def attempt(content: bytes, suffix: str, kept: Trained, folder: Path) -> str:
    """Load a file and return the error that rejects it, if any; for any content, all guarantees hold."""
    path = folder / f"model.{suffix}"
    path.write_bytes(content)
    before = kept.bits()
    tracemalloc.start()
    try:
        load(kept.saved, path)
    except FileError as error:
        assert kept.bits() == before
        return str(error)
    else:
        return ""
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= 2 * len(content) + OVERHEAD, f"{peak} bytes for a file of {len(content)}"


def file_of(suffix: str, folder: Path, seed: int = 1) -> bytes:
    path = folder / f"seed.{suffix}"
    save(Trained(seed).saved, path)
    return path.read_bytes()


def npy(shape: Any = "(3, 2)", descr: str = "'<f4'", values: bytes = bytes(24), version: bytes = b"\x01\x00") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode("latin1")
    length = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + length + header + values


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", method) as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # a name that is there twice
        for name, content in members:
            made.writestr(name, content)
    return file.getvalue()


def safetensors(*tensors: Member, behind: bytes = b"", length: int | None = None) -> bytes:
    header = "{" + ",".join(f"{json.dumps(name)}:{json.dumps(said)}" for name, said, _ in tensors) + "}"
    return raw_safetensors(header.encode(), b"".join(values for _, _, values in tensors) + behind, length)


def raw_safetensors(header: bytes, values: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + values


def said(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


WEIGHT, BIAS = ("weight.npy", npy()), ("bias.npy", npy("(2,)", values=bytes(8)))
LOW = said([2], 24, 32)

ARCHIVES: dict[str, tuple[bytes, str]] = {
    "a pickle in an array": (
        archive(("weight.npy", npy(descr="'|O'", values=pickle.dumps([Trap()]))), BIAS),
        "weight holds objects of Python's, which would run code when they are read",
    ),
    "a pickle in the place of an array": (archive(("weight.npy", pickle.dumps(Trap())), BIAS), "magic string"),
    "code in a header": (archive(("weight.npy", npy("(print('run'), 2)")), BIAS), "malformed node"),
    "a bomb": (
        archive(("weight.npy", npy("(500_000_000,)", values=bytes(40_000_000))), method=zipfile.ZIP_DEFLATED),
        "weight has 40000000 bytes of values, but float32 (500000000,) takes 2000000000",
    ),
    "a bomb that says the truth": (
        archive(("weight.npy", npy("(10_000_000,)", values=bytes(40_000_000))), BIAS, method=zipfile.ZIP_DEFLATED),
        "weight is float32 (10000000,) in the file but float32 (3, 2) is expected",
    ),
    "a bomb in a header": (
        archive(
            ("weight.npy", b"\x93NUMPY\x02\x00" + (40_000_000).to_bytes(4, "little") + b" " * 40_000_000),
            method=zipfile.ZIP_DEFLATED,
        ),
        "expected 40000000 bytes got",
    ),
    "a bomb beside the arrays": (
        archive(WEIGHT, BIAS, ("more.npy", npy("(9_999_999,)", values=bytes(39_999_996))), method=zipfile.ZIP_DEFLATED),
        "more (9999999,) is in the file only",
    ),
    "a method that takes memory": (archive(WEIGHT, BIAS, method=zipfile.ZIP_LZMA), "weight is compressed by method 14"),
    "sizes below zero": (archive(("weight.npy", npy("(-3, -2)")), BIAS), "weight has the shape (-3, -2)"),
    "a size that is no number": (archive(("weight.npy", npy("(3, True)")), BIAS), "weight has the shape (3, True)"),
    "sizes that overflow": (
        archive(("weight.npy", npy(f"({2**32}, {2**32}, 0 + 6)".replace("0 + 6", "6"))), BIAS),
        f"weight has 24 bytes of values, but float32 ({2**32}, {2**32}, 6) takes",
    ),
    "too few values": (archive(("weight.npy", npy(values=bytes(23))), BIAS), "weight has 23 bytes of values"),
    "too many values": (archive(("weight.npy", npy(values=bytes(25))), BIAS), "weight has 25 bytes of values"),
    "another endianness": (
        archive(("weight.npy", npy(descr="'>f4'")), BIAS),
        "weight is >f4 (3, 2) in the file but float32 (3, 2) is expected",
    ),
    "no dtype": (archive(("weight.npy", npy(descr="'<f5'")), BIAS), "descr is not a valid dtype descriptor"),
    "a dtype with fields": (
        archive(("weight.npy", npy("(3,)", "[('a', '<f4'), ('b', '<f4')]")), BIAS),
        "weight is [('a', '<f4'), ('b', '<f4')] (3,) in the file but float32 (3, 2) is expected",
    ),
    "an unknown version": (archive(("weight.npy", npy(version=b"\x09\x00")), BIAS), "weight is of version (9, 0)"),
    "a header that nests": (archive(("weight.npy", npy("(" * 5000)), BIAS), "damaged"),
    "a header with escapes": (archive(("weight.npy", npy("'\\q'")), BIAS), "shape is not valid"),
    "one name twice": (archive(WEIGHT, WEIGHT, BIAS), "two arrays go by the name weight"),
    "one name in two spellings": (archive(WEIGHT, ("weight", npy()), BIAS), "two arrays go by the name weight"),
    "a path out of the folder": (
        archive(WEIGHT, BIAS, ("../../weight.npy", npy())),
        "../../weight (3, 2) is in the file only",
    ),
    "orders for a terminal": (
        archive(WEIGHT, BIAS, ("\x1b[2J\x07.npy", npy())),
        r"\x1b[2J\x07 (3, 2) is in the file only",
    ),
    "a folder": (archive(WEIGHT, BIAS, ("folder/", b"")), "damaged"),
    "names that are no UTF-8": (
        archive(("wäight.npy", npy()), BIAS).replace("wäight".encode(), b"w\xff\xffight"),
        "can't decode",
    ),
    "nothing": (archive(), "weight (3, 2) is not in the file"),
}
FIT = ("weight", said([3, 2], 0, 24), bytes(24)), ("bias", LOW, bytes(8))
TENSORS: dict[str, tuple[bytes, str]] = {
    "a header longer than the file": (safetensors(*FIT, length=2**40), "header too large"),
    "a header that is longer than any": (safetensors(*FIT, length=2**64 - 1), "header too large"),
    "a header that ends behind the file": (safetensors(*FIT, length=300), "header length"),
    "overlapping offsets": (safetensors(FIT[0], ("bias", said([2], 0, 8), b"")), "invalid offset"),
    "offsets with a hole": (safetensors(FIT[0], ("bias", said([2], 32, 40), bytes(16))), "invalid offset"),
    "offsets behind the end": (safetensors(FIT[0], ("bias", said([2], 24, 2**62), b"")), ""),
    "offsets that turn back": (safetensors(FIT[0], ("bias", said([2], 24, 16), bytes(8))), "invalid offset"),
    "offsets below zero": (safetensors(FIT[0], ("bias", said([2], -8, 0), bytes(8))), "invalid value"),
    "bytes behind the values": (safetensors(*FIT, behind=b"more"), "incomplete"),
    "a shape that says more": (safetensors(("weight", said([3, 3], 0, 24), bytes(24)), FIT[1]), "invalid shape"),
    "sizes below zero": (safetensors(("weight", said([-3, -2], 0, 24), bytes(24)), FIT[1]), "invalid value"),
    "sizes that overflow": (safetensors(("weight", said([2**62, 2**62], 0, 24), bytes(24)), FIT[1]), "overflow"),
    "no dtype": (safetensors(("weight", said([3, 2], 0, 24, "F33"), bytes(24)), FIT[1]), "F33"),
    "a dtype that NumPy has not": (
        safetensors(("weight", said([3, 2], 0, 6, "F8_E4M3"), bytes(6)), ("bias", said([2], 6, 14), bytes(8))),
        "F8_E4M3",
    ),
    "one name twice": (safetensors(FIT[0], FIT[0], ("bias", said([2], 24, 32), b"")), ""),
    "names that are no UTF-8": (raw_safetensors(b'{"w\xff\xffight":{}}'), "header"),
    "half a pair": (raw_safetensors(rb'{"w\ud800":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'), "header"),
    "a header that nests": (raw_safetensors(b"[" * 100_000), "header"),
    "a pickle": (pickle.dumps(Trap()), "header"),
    "a path out of the folder": (
        safetensors(*FIT, ("../../weight", said([0], 32, 32), b"")),
        "../../weight (0,) is in the file only",
    ),
    "orders for a terminal": (
        safetensors(*FIT, ("\x1b[2J", said([0], 32, 32), b"")),
        r"\x1b[2J (0,) is in the file only",
    ),
    "nothing": (safetensors(), "weight (3, 2) is not in the file"),
}
CASES = [
    pytest.param(content, suffix, words, id=f"{suffix}: {name}")
    for suffix, cases in (("npz", ARCHIVES), ("safetensors", TENSORS))
    for name, (content, words) in cases.items()
]


@pytest.mark.parametrize(("content", "suffix", "words"), CASES)
def test_a_hostile_file_is_rejected_with_a_message_and_has_no_side_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, suffix: str, words: str
) -> None:
    module, path = nn.Linear(3, 2, rng=0), tmp_path / f"model.{suffix}"
    path.write_bytes(content)
    before = [parameter.tolist() for parameter in module.parameters().values()]

    tracemalloc.start()
    with pytest.raises(FileError, match=f"^load: model.{suffix} (is damaged|does not fit)") as rejected:
        load(module, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert words.lower() in str(rejected.value).lower()
    assert [parameter.tolist() for parameter in module.parameters().values()] == before
    assert peak <= 2 * len(content) + OVERHEAD
    assert capsys.readouterr() == ("", "")
    assert [file.name for file in tmp_path.iterdir()] == [f"model.{suffix}"]


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_loading_needs_at_most_twice_the_memory_of_the_file(tmp_path: Path, suffix: str) -> None:
    module, path = nn.Linear(500, 700, rng=0), tmp_path / f"model.{suffix}"
    save(module, path)

    tracemalloc.start()
    load(module, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak <= 2 * path.stat().st_size + OVERHEAD / 8


def test_overlapping_members_are_read_at_most_once(tmp_path: Path) -> None:
    whole = archive(WEIGHT, ("bias.npy", npy("(2,)", values=bytes(8))))
    entry = whole.index(b"PK\x01\x02", whole.index(b"PK\x01\x02") + 4)
    at = entry + 42  # where the local header of the second member is said to be
    (tmp_path / "model.npz").write_bytes(whole[:at] + bytes(4) + whole[at + 4 :])

    with pytest.raises(FileError, match=r"File name in directory|Overlapped entries"):
        load(nn.Linear(3, 2, rng=0), tmp_path / "model.npz")


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("bits", [0x7FC00001, 0xFFFFFFFF, 0x7F800001, 0x80000000, 0x00000001])
def test_nan_payloads_and_subnormal_numbers_are_restored(tmp_path: Path, suffix: str, bits: int) -> None:
    module: Any = nn.Linear(3, 2, rng=0)
    again: Any = nn.Linear(3, 2, rng=1)
    module.weight.replace(np.full((3, 2), bits, np.uint32).view(np.float32))

    save(module, tmp_path / f"model.{suffix}")
    load(again, tmp_path / f"model.{suffix}")

    assert np.asarray(again.weight.data).view(np.uint32).tolist() == [[bits] * 2] * 3


def test_a_bool_that_is_neither_0_nor_1_is_rejected(tmp_path: Path) -> None:
    batches = data.batches(ones((4, 3)), size=2, rng=0)
    for suffix in ("npz", "safetensors"):
        path = tmp_path / f"run.{suffix}"
        arrays = batches.arrays() | {"passed": np.array([1, 2], np.uint8).view(np.bool_)}
        formats.write("save", path, arrays, {"format": "tapegrad"})

        with pytest.raises(FileError, match=r"passed has a truth value that is neither 0 nor 1"):
            load(batches, path)


def test_a_rejected_state_leaves_the_states_before_it_unchanged(tmp_path: Path) -> None:
    kept = Trained(0)
    other = Trained(1)
    arrays: dict[str, Any] = {
        f"model.{path}": tensor.data for path, tensor in (other.model.parameters() | other.model.buffers()).items()
    }
    arrays["rng.state"] = np.array([1, 2, 3, 4, 0, 2**40], np.uint64)
    arrays["model.layers.2.rng"] = np.array([1, 2, 3, 4, 0, 0], np.uint64)
    formats.write("save", tmp_path / "run.npz", arrays, {"format": "tapegrad"})
    before = kept.bits()

    message = (
        "load: run.npz does not fit the mapping, which stays as it is:\n"
        "  rng: [1, 2, 3, 4, 0, 1099511627776] is no state of a generator"
    )
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load({"model": kept.model, "rng": np.random.default_rng(0)}, tmp_path / "run.npz")

    assert kept.bits() == before


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a\0b", r"no array may have the name values\.a\\x00b"),
        ("\ud800", "surrogates not allowed"),
        ("x" * 70_000, "format requires 0 <= number"),
    ],
)
def test_a_name_that_the_format_cannot_store_is_rejected_by_save(
    tmp_path: Path, suffix: str, name: str, words: str
) -> None:
    class Bag(nn.Module):
        def __init__(self) -> None:
            self.values = {name: nn.Param(ones((2,)))}

    if len(name) > 100 and suffix == "safetensors":
        save(Bag(), tmp_path / f"bag.{suffix}")
        load(Bag(), tmp_path / f"bag.{suffix}")
        return
    with pytest.raises(FileError, match=rf"^save: bag\.{suffix} cannot hold what is to be saved \(.*{words}"):
        save(Bag(), tmp_path / f"bag.{suffix}")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="NumPy's widest float here is float64")
def test_a_dtype_that_a_format_lacks_is_rejected(tmp_path: Path) -> None:
    module: Any = nn.Linear(3, 2, rng=0)
    module.wide = nn.Param(ones((2,), np.longdouble))

    message = (
        "save: m.safetensors cannot hold what is to be saved "
        f"(wide is {np.dtype(np.longdouble)}, which is not supported in .safetensors files)"
    )
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        save(module, tmp_path / "m.safetensors")

    save(module, tmp_path / "m.npz")
    load(module, tmp_path / "m.npz")


# Mutation

Cut = tuple[int, int, bytes]  # from where in the file, how many bytes go, what stands there instead
CUTS = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(0, 8) | st.integers(0, 4096), st.binary(max_size=8)),
    min_size=1,
    max_size=4,
)


def mutated(content: bytes, cuts: Iterable[Cut]) -> bytes:
    for at, length, instead in cuts:
        place = at % (len(content) + 1)
        content = content[:place] + instead + content[place + length :]
    return content


def rewritten(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Change each member of an archive behind its checksum, which so remains right."""
    with zipfile.ZipFile(BytesIO(content)) as members:
        return archive(*((name, change(members.read(name))) for name in members.namelist()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@settings(max_examples=300)
@given(cuts=CUTS)
def test_a_mutated_file_is_loaded_or_rejected(folder: Path, suffix: str, cuts: list[Cut]) -> None:
    attempt(mutated(file_of(suffix, folder), cuts), suffix, Trained(0), folder)


@settings(max_examples=200)
@given(cuts=CUTS)
def test_a_mutated_array_of_an_archive_is_loaded_or_rejected(folder: Path, cuts: list[Cut]) -> None:
    attempt(rewritten(file_of("npz", folder), lambda member: mutated(member, cuts)), "npz", Trained(0), folder)


def test_an_unmutated_file_is_loaded(folder: Path) -> None:
    for suffix in ("npz", "safetensors"):
        kept = Trained(0)

        assert attempt(file_of(suffix, folder), suffix, kept, folder) == ""
        assert kept.bits() == Trained(1).bits()
    assert attempt(rewritten(file_of("npz", folder), lambda member: member), "npz", Trained(0), folder) == ""


# The long form


def tried(content: bytes, folder: Path, kept: Trained) -> None:
    """Take bytes as what their first one says: a file of either format, or the arrays of an archive."""
    kind, rest = content[:1], content[1:]
    if kind == b"n":
        attempt(rest, "npz", kept, folder)
    elif kind == b"s":
        attempt(rest, "safetensors", kept, folder)
    else:
        attempt(archive(*((f"{path}.npy", rest) for path in ("model.layers.0.bias", "opt.lr"))), "npz", kept, folder)


def main() -> None:
    """Mutate the given number of files, or until one violates a guarantee."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder, kept = Path(name), Trained(0)
        with zipfile.ZipFile(BytesIO(file_of("npz", folder))) as members:
            arrays = [b"a" + members.read(member) for member in members.namelist()]
        seeds = [b"n" + file_of("npz", folder), b"s" + file_of("safetensors", folder), *arrays]
        if find_spec("atheris"):
            guided(seeds, runs, folder, kept)
            return
        dice = np.random.default_rng(0)
        for _ in range(runs):
            seed = seeds[dice.integers(len(seeds))]
            cuts = [
                (int(at), int(dice.choice([0, 1, 4, 64])), dice.bytes(int(dice.integers(8))))
                for at in dice.integers(1, 1 << 16, 2)
            ]
            tried(seed[:1] + mutated(seed[1:], cuts), folder, kept)
        sys.stdout.write(f"{runs} files, each loaded or rejected\n")


def guided(seeds: list[bytes], runs: int, folder: Path, kept: Trained) -> None:
    """Let libFuzzer choose what to mutate by the branches that it reaches."""
    atheris: Any = __import__("atheris")
    modules: list[Any] = [zipfile, inspect.getmodule(np.lib.format.read_magic), formats, sys.modules[load.__module__]]
    kinds = [
        one for module in modules for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__
    ]
    for held in (*modules, *(kind for kind in kinds if isinstance(kind, type))):
        for function in vars(held).values():
            if inspect.isfunction(function):
                atheris.instrument_func(function)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    options = [sys.argv[0], f"-runs={runs}", "-max_len=16384", "-print_final_stats=1", str(corpus)]
    atheris.Setup(options, lambda content: tried(content, folder, kept))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
