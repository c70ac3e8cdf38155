"""Formats: how named arrays stand in a file, by its suffix."""

from __future__ import annotations

import importlib
import zipfile
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class FileError(ValueError):
    """A file cannot be read or written, or does not fit what it is loaded into."""


class Format(NamedTuple):
    """Writes named arrays to a file, and reads them from one."""

    write: Callable[[IO[bytes], dict[str, Array]], None]
    read: Callable[[IO[bytes]], dict[str, Array]]


def format_of(call: str, path: Path) -> Format:
    """Returns the format that the suffix of a path names.

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
        except ImportError as error:
            message = f'{call}: {path.name} needs the package safetensors: pip install "tapegrad[safetensors]"'
            raise ImportError(message) from error
    return _FORMATS[path.suffix]


def read(call: str, path: Path) -> dict[str, Array]:
    """Returns the arrays in a file.

    Raises:
        FileError: The file is damaged, or of another format than its suffix says.
        OSError: There is none, or it may not be read.
    """
    form = format_of(call, path)
    with path.open("rb") as file:
        try:
            return form.read(file)
        except Exception as error:  # a damaged header may fail in any way
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            message = f"{call}: {path.name} is damaged or no {path.suffix[1:]} file ({reason})"
            raise FileError(message) from error


def _write_npz(file: IO[bytes], arrays: dict[str, Array]) -> None:
    # Not numpy.savez, to which a parameter called `file` is its own first argument.
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read_npz(file: IO[bytes]) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        # Read whole, so that the checksum is compared before a byte of it is believed.
        members = {name: archive.read(name) for name in archive.namelist()}
    return {name.removesuffix(".npy"): _parsed(member) for name, member in members.items()}


def _parsed(member: bytes) -> Array:
    array: Array = np.lib.format.read_array(BytesIO(member), allow_pickle=False)
    return array


def _write_safetensors(file: IO[bytes], arrays: dict[str, Array]) -> None:
    file.write(_safetensors().save(arrays))


def _read_safetensors(file: IO[bytes]) -> dict[str, Array]:
    arrays: dict[str, Array] = _safetensors().load(file.read())
    return {name: np.array(array) for name, array in arrays.items()}


def _safetensors() -> Any:
    return importlib.import_module("safetensors.numpy")


_FORMATS = {
    ".npz": Format(_write_npz, _read_npz),
    ".safetensors": Format(_write_safetensors, _read_safetensors),
}
