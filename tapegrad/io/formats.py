"""Formats: how named arrays stand in a file, by its suffix."""

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

from tapegrad import half
from tapegrad.dims import show
from tapegrad.io.atomic import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_FRONT: Final = 1 << 14  # bytes that are read for a header of NumPy's, which itself takes no more than 10,000
_AT_ONCE: Final = 1 << 18  # bytes of values


class FileError(ValueError):
    """A file cannot be read or written, or does not fit what it is loaded into."""


class Header(NamedTuple):
    """What a file says of an array before its values."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


Read: TypeAlias = "Callable[[str], Array]"


class Opened(NamedTuple):
    """An open file: the headers of its arrays, a function that reads the values of one, and its metadata."""

    headers: dict[str, Header]
    values: Read
    metadata: dict[str, str]


class Format(NamedTuple):
    """A function that writes named arrays and metadata to a file, and one that opens such a file."""

    write: Callable[[IO[bytes], dict[str, Array], dict[str, str]], None]
    open: Callable[[IO[bytes]], Opened]


def format_of(call: str, path: Path) -> Format:
    """Return the format that the suffix of a path names.

    Raises:
        FileError: No format has this suffix.
        ImportError: It is safetensors, which is not installed.
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
    """Replace the file at a path, atomically, by one with these arrays and this metadata.

    Raises:
        FileError: The format cannot hold a name or a dtype.
        OSError: The file cannot be written.
    """
    form = format_of(call, path)
    try:
        for name in arrays:
            _check_name(name)
        write_atomically(path, lambda file: form.write(file, arrays, metadata))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  # of any kind: its words are passed on
        message = f"{call}: {path.name} cannot hold what is to be saved ({legible(str(error))})"
        raise FileError(message) from None


def read(
    call: str, path: Path, accept: Callable[[dict[str, Header], dict[str, str]], Iterable[str]]
) -> dict[str, Array]:
    """Return arrays of a file, once what is said of them has been accepted.

    So a file that says it holds more than there is room for takes no memory, and one that does not fit takes no time.

    Args:
        call: The function that was asked to, for the error.
        path: The file.
        accept: Gets dtypes and shapes by name, and the metadata, and returns the names of the arrays to read; raises if
            they are not what it expects.

    Raises:
        FileError: The file is damaged, or of another format than its suffix says.
        ImportError: There is bfloat16 in it, and what knows that is not installed.
        OSError: There is none, or it may not be read.
    """
    form = format_of(call, path)
    with path.open("rb") as file:
        with _blaming(call, path):
            opened = form.open(file)
        names = accept(opened.headers, opened.metadata)
        with _blaming(call, path):
            return {name: _believed(name, opened.values(name)) for name in names}


def headers(call: str, path: Path) -> dict[str, Header]:
    """Return what a file says of its arrays.

    Raises:
        FileError: The file is damaged, or of another format than its suffix says.
        ImportError: There is bfloat16 in it, and what knows that is not installed.
        OSError: There is none, or it may not be read.
    """
    form = format_of(call, path)
    with path.open("rb") as file, _blaming(call, path):
        return form.open(file).headers


def legible(name: str) -> str:
    """Return a name as it stands, but for what a terminal would take as an order."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in name)


def _check_name(name: str) -> None:
    if "\0" in name or name == "__metadata__":  # where an archive ends a name, and where safetensors has its notes
        message = f"no array may have the name {legible(name)}"
        raise ValueError(message)


def _believed(name: str, array: Array) -> Array:
    """Reject truth values that are neither: NumPy would count a byte of 2 as two."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        message = f"{name} has a truth value that is neither 0 nor 1"
        raise ValueError(message)
    return array


@contextmanager
def _blaming(call: str, path: Path) -> Iterator[None]:
    """Say of whatever fails that the file is damaged: a damaged header may fail in any way."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of Python's parser, which reads a header of NumPy's
            yield
    except (ImportError, MemoryError):  # a package for a dtype in the file is missing; the file itself is whole
        raise
    except Exception as error:  # noqa: BLE001  # of any kind: its words are passed on
        reason = f"{type(error).__name__}: {legible(str(error))}" if str(error) else type(error).__name__
        message = f"{call}: {path.name} is damaged or no {path.suffix[1:]} file ({reason})"
        raise FileError(message) from None


def _write_npz(file: IO[bytes], arrays: dict[str, Array], metadata: dict[str, str]) -> None:
    # Not numpy.savez, to which a parameter called `file` is its own first argument.
    archive = zipfile.ZipFile(file, "w")
    try:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = json.dumps(metadata).encode()
        archive.close()
    finally:
        archive.fp = None  # what an interrupt has left open is not closed, which would fail and hide the interrupt


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
    if int.from_bytes(file.read(2), "little") != len(archive.comment):  # zipfile accepts a shorter one
        message = "the file ends within its comment"
        raise ValueError(message)
    headers = {name: member.header for name, member in members.items()}
    return Opened(headers, lambda name: members[name].values(archive), _metadata_of(archive.comment))


def _metadata_of(comment: bytes) -> dict[str, str]:
    """Return the metadata in the comment of an archive; another program may have written a comment of its own."""
    try:
        metadata = json.loads(comment)
    except ValueError:
        return {}
    items = metadata.items() if isinstance(metadata, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}


class _Member(NamedTuple):
    """An array in an archive."""

    info: zipfile.ZipInfo
    start: int  # of the values, behind what is said of them
    header: Header
    is_turned: bool

    def values(self, archive: zipfile.ZipFile) -> Array:
        """Read the values to their end, where the checksum is compared."""
        dtype, shape = self.header
        flat = np.empty(math.prod(shape), dtype)
        room = memoryview(flat.view(np.uint8).data)
        with archive.open(self.info) as file:
            stream: Any = file  # the stubs of zipfile know no readinto
            stream.read(self.start)
            passed = 0
            while count := stream.readinto(room[passed : passed + _AT_ONCE]):
                passed += count
            stream.read(1)
        return flat.reshape(shape[::-1]).T if self.is_turned else flat.reshape(shape)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> _Member:
    """Read what stands in front of the values, and hold it against the length of the member."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # the others ask for memory as they like
        message = f"{name} is compressed by method {info.compress_type}, not 0 or 8"
        raise ValueError(message)
    with archive.open(info) as stream:
        front = BytesIO(stream.read(_FRONT))
    version = np.lib.format.read_magic(front)
    if version not in _VERSIONS:
        message = f"{name} is of version {version} of the npy format, not of (1, 0) or (2, 0)"
        raise ValueError(message)
    shape, is_turned, dtype = _VERSIONS[version](front)
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
    return _Member(info, start, Header(dtype, shape), is_turned)


def _write_safetensors(file: IO[bytes], arrays: dict[str, Array], metadata: dict[str, str]) -> None:
    file.write(_safetensors().save(arrays, metadata))


def _open_safetensors(file: IO[bytes]) -> Opened:
    """Read the header, and each array when it is asked for: a file that is rejected costs no memory.

    The library maps the file to check it: its header must describe each byte exactly once. It does not tell where an
    array begins, and its arrays are NumPy's, which has no bfloat16; so the header is read here once more.
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
        stream: Any = file  # IO[bytes] declares no readinto
        if stream.readinto(flat.data) < end - begin:
            message = f"{name} ends behind the end of the file"
            raise ValueError(message)
        return flat.view(headers[name].dtype).reshape(headers[name].shape)

    return Opened(headers, values, metadata)


def _dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a name in a header.

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
_NUMPYS_BFLOAT16: Final = np.dtype("V2")  # as NumPy names it in a header; JAX reads it so too
_DTYPES: Final = {
    "BOOL": "?",
    "C64": "<c8",
    **{f"F{8 * n}": f"<f{n}" for n in (2, 4, 8)},
    **{f"I{8 * n}": f"<i{n}" for n in (1, 2, 4, 8)},
    **{f"U{8 * n}": f"<u{n}" for n in (1, 2, 4, 8)},
}
_FORMATS = {
    ".npz": Format(_write_npz, _open_npz),
    ".safetensors": Format(_write_safetensors, _open_safetensors),
}
