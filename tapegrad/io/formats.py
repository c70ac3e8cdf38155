"""File formats for named arrays, by suffix: npz and safetensors."""

from __future__ import annotations

import importlib
import json
import math
import os
import warnings
import zipfile
from contextlib import contextmanager
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from tapegrad.engines import bfloat16 as half
from tapegrad.io.atomic import write_atomically
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_FRONT: Final = 1 << 14  # bytes read for an npy header, of which NumPy accepts at most 10,000
_AT_ONCE: Final = 1 << 18  # bytes of values per read


class FileError(ValueError):
    """A file cannot be read or written, or does not match the object that it is loaded into."""


class Header(NamedTuple):
    """The dtype and shape of an array in a file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


Read: TypeAlias = "Callable[[str], Array]"


class Opened(NamedTuple):
    """An open file: the headers of its arrays, a function that reads one array, and its metadata."""

    headers: dict[str, Header]
    values: Read
    metadata: dict[str, str]


class Format(NamedTuple):
    """A function that writes named arrays and metadata to a file, and one that opens such a file."""

    write: Callable[[IO[bytes], dict[str, Array], dict[str, str]], None]
    open: Callable[[IO[bytes]], Opened]


def format_of(call: str, path: Path) -> Format:
    """Return the format for the suffix of a path.

    Raises:
        FileError: No format has this suffix.
        ImportError: The format is safetensors, which is not installed.
    """
    if path.suffix not in _FORMATS:
        expected = " or ".join(_FORMATS)
        message = f"{call}: {path.name} has suffix {path.suffix or 'none'} but {expected} is expected"
        raise FileError(message)
    if path.suffix == ".safetensors":
        try:
            _safetensors()
        except ImportError:
            message = f'{call}: {path.name} needs the package safetensors: pip install "tapegrad[safetensors]"'
            raise ImportError(message) from None
    return _FORMATS[path.suffix]


def write(call: str, path: Path, arrays: dict[str, Array], metadata: dict[str, str]) -> None:
    """Write arrays and metadata to a file atomically.

    Raises:
        FileError: The format does not support a name or a dtype.
        OSError: The file cannot be written.
    """
    form = format_of(call, path)
    try:
        for name in arrays:
            _check_name(name)
        write_atomically(path, lambda file: form.write(file, arrays, metadata))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  # formats raise errors of any class; the message is passed on
        message = f"{call}: {path.name} cannot hold what is to be saved ({legible(str(error))})"
        raise FileError(message) from None


def read(
    call: str, path: Path, accept: Callable[[dict[str, Header], dict[str, str]], Iterable[str]]
) -> dict[str, Array]:
    """Read arrays from a file after `accept` has checked their headers.

    Checking headers first means that a file with excessive shapes allocates no memory, and a mismatch costs no time.

    Args:
        call: The name of the calling function, for error messages.
        path: The file.
        accept: Receives headers by name and the metadata, and returns the names of the arrays to read; raises if they
            do not match.

    Raises:
        FileError: The file is damaged, or its format does not match its suffix.
        ImportError: The file contains bfloat16, and ml_dtypes is not installed.
        OSError: The file does not exist or cannot be read.
    """
    form = format_of(call, path)
    with path.open("rb") as file:
        with _as_file_errors(call, path):
            opened = form.open(file)
        names = accept(opened.headers, opened.metadata)
        with _as_file_errors(call, path):
            return {name: _with_valid_bools(name, opened.values(name)) for name in names}


def headers(call: str, path: Path) -> dict[str, Header]:
    """Return the headers of the arrays in a file, by name.

    Raises:
        FileError: The file is damaged, or its format does not match its suffix.
        ImportError: The file contains bfloat16, and ml_dtypes is not installed.
        OSError: The file does not exist or cannot be read.
    """
    form = format_of(call, path)
    with path.open("rb") as file, _as_file_errors(call, path):
        return form.open(file).headers


def legible(name: str) -> str:
    """Return a name with non-printable characters escaped, because a terminal could interpret them."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in name)


def _check_name(name: str) -> None:
    if "\0" in name or name == "__metadata__":  # zip truncates names at "\0"; safetensors reserves "__metadata__"
        message = f"no array may have the name {legible(name)}"
        raise ValueError(message)


def _with_valid_bools(name: str, array: Array) -> Array:
    """Return an array; raise if a bool has a byte other than 0 or 1, because NumPy would count a byte of 2 as two."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        message = f"{name} has a truth value that is neither 0 nor 1"
        raise ValueError(message)
    return array


@contextmanager
def _as_file_errors(call: str, path: Path) -> Iterator[None]:
    """Re-raise any error as a `FileError`, because parsing a damaged header may raise any error."""
    try:
        with warnings.catch_warnings(action="ignore"):  # NumPy parses headers as Python, which may warn
            yield
    except (ImportError, MemoryError):  # these do not mean that the file is damaged
        raise
    except Exception as error:  # noqa: BLE001  # formats raise errors of any class; the message is passed on
        reason = f"{type(error).__name__}: {legible(str(error))}" if str(error) else type(error).__name__
        message = f"{call}: {path.name} is damaged or no {path.suffix[1:]} file ({reason})"
        raise FileError(message) from None


def _write_npz(file: IO[bytes], arrays: dict[str, Array], metadata: dict[str, str]) -> None:
    # Not numpy.savez, because a parameter named `file` would collide with its first argument.
    archive = zipfile.ZipFile(file, "w")
    try:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = json.dumps(metadata).encode()
        archive.close()
    finally:
        archive.fp = None  # after an interrupt, closing the archive would fail and hide the interrupt


def _open_npz(file: IO[bytes]) -> Opened:
    archive = zipfile.ZipFile(file)
    members: dict[str, _Member] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in members:
            message = f"two arrays go by the name {name}"
            raise ValueError(message)
        members[name] = _member(archive, info, name)

    file.seek(-2 - len(archive.comment), os.SEEK_END)
    if int.from_bytes(file.read(2), "little") != len(archive.comment):  # zipfile accepts a truncated comment
        message = "the file ends within its comment"
        raise ValueError(message)
    headers = {name: member.header for name, member in members.items()}
    return Opened(headers, lambda name: members[name].values(archive), _metadata_of(archive.comment))


def _metadata_of(comment: bytes) -> dict[str, str]:
    """Return the metadata in the comment of an archive, or an empty dict if another program wrote the comment."""
    try:
        metadata = json.loads(comment)
    except ValueError:
        return {}
    items = metadata.items() if isinstance(metadata, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}


class _Member(NamedTuple):
    """An array in an archive."""

    info: zipfile.ZipInfo
    start: int  # offset of the values, after the header
    header: Header
    is_transposed: bool

    def values(self, archive: zipfile.ZipFile) -> Array:
        """Read the values to the end of the member, where zipfile verifies the checksum."""
        dtype, shape = self.header
        flat = np.empty(math.prod(shape), dtype)
        buffer = memoryview(flat.view(np.uint8).data)
        with archive.open(self.info) as file:
            stream: Any = file  # the stubs of zipfile do not declare readinto
            stream.read(self.start)
            passed = 0
            while count := stream.readinto(buffer[passed : passed + _AT_ONCE]):
                passed += count
            stream.read(1)
        return flat.reshape(shape[::-1]).T if self.is_transposed else flat.reshape(shape)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> _Member:
    """Read the header of an array, and check it against the length of the member."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # other methods use unbounded memory
        message = f"{name} is compressed by method {info.compress_type}, not 0 or 8"
        raise ValueError(message)
    with archive.open(info) as stream:
        front = BytesIO(stream.read(_FRONT))
    version = np.lib.format.read_magic(front)
    if version not in _VERSIONS:
        message = f"{name} is of version {version} of the npy format, not of (1, 0) or (2, 0)"
        raise ValueError(message)
    shape, is_transposed, dtype = _VERSIONS[version](front)
    if dtype.hasobject:
        message = f"{name} holds objects of Python's, which would run code when they are read"
        raise ValueError(message)
    if any(type(n) is not int or n < 0 for n in shape):
        message = f"{name} has the shape {shape}"
        raise ValueError(message)
    if dtype == _NUMPYS_BFLOAT16:
        dtype = _bfloat16()
    start, length = front.tell(), math.prod(shape) * dtype.itemsize
    if info.file_size != start + length:
        message = f"{name} has {info.file_size - start} bytes of values, but {dtype} {show(shape)} takes {length}"
        raise ValueError(message)
    return _Member(info, start, Header(dtype, shape), is_transposed)


def _write_safetensors(file: IO[bytes], arrays: dict[str, Array], metadata: dict[str, str]) -> None:
    for name, array in arrays.items():
        if array.dtype.name != "bfloat16" and array.dtype.newbyteorder("<") not in _NAMED_DTYPES:
            message = f"{name} is {array.dtype}, which is not supported in .safetensors files"
            raise ValueError(message)
    file.write(_safetensors().save(arrays, metadata))


def _open_safetensors(file: IO[bytes]) -> Opened:
    """Read the header, and each array on demand, so that a rejected file costs no memory.

    The safetensors library memory-maps the file to check that its header describes each byte exactly once. It does not
    expose the offsets of arrays, and does not support bfloat16 in NumPy. The header is therefore parsed again here.
    """
    with importlib.import_module("safetensors").safe_open(file.name, framework="np"):
        length = int.from_bytes(file.read(8), "little")
        described: dict[str, Any] = json.loads(file.read(length))
    metadata = described.pop("__metadata__", None) or {}
    headers = {name: Header(_dtype_of(one["dtype"]), tuple(one["shape"])) for name, one in described.items()}

    def values(name: str) -> Array:
        begin, end = described[name]["data_offsets"]
        file.seek(8 + length + begin)
        flat = np.empty(end - begin, np.uint8)
        stream: Any = file  # IO[bytes] does not declare readinto
        if stream.readinto(flat.data) < end - begin:
            message = f"{name} ends behind the end of the file"
            raise ValueError(message)
        return flat.view(headers[name].dtype).reshape(headers[name].shape)

    return Opened(headers, values, metadata)


def _dtype_of(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype for a dtype name of safetensors.

    Raises:
        KeyError: NumPy has no such dtype.
    """
    return _bfloat16() if name == "BF16" else np.dtype(_DTYPES[name])


def _bfloat16() -> np.dtype[Any]:
    return np.dtype(half.bfloat16)


def _safetensors() -> Any:
    return importlib.import_module("safetensors.numpy")


_VERSIONS: Final[dict[tuple[int, int], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_NUMPYS_BFLOAT16: Final = np.dtype("V2")  # the dtype that NumPy writes for bfloat16; JAX reads it the same way
_DTYPES: Final = {
    "BOOL": "?",
    "C64": "<c8",
    **{f"F{8 * n}": f"<f{n}" for n in (2, 4, 8)},
    **{f"I{8 * n}": f"<i{n}" for n in (1, 2, 4, 8)},
    **{f"U{8 * n}": f"<u{n}" for n in (1, 2, 4, 8)},
}
_NAMED_DTYPES: Final = frozenset(map(np.dtype, _DTYPES.values()))
_FORMATS = {
    ".npz": Format(_write_npz, _open_npz),
    ".safetensors": Format(_write_safetensors, _open_safetensors),
}
