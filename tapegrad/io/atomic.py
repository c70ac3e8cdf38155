"""Atomic writes: if the process is killed, a file has either its old content or its new content."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def write_atomically(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file atomically: write a temporary file, then rename it.

    A file that is replaced keeps its mode, so a private file stays private. If the process is killed meanwhile, a
    hidden file `.name.<hex>.tmp` remains in the same folder. After an error, no temporary file remains.

    Args:
        path: The file. Symbolic links are followed and stay links.
        write: Receives the temporary file, open for writing.

    Raises:
        OSError: The folder does not exist, its disk is full, or it is not writable.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")  # the same folder, hence the same disk
    try:
        with temporary.open("xb") as file:
            if path.exists():  # before the first byte is written, so that other users cannot read a private file
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):  # it may not have been created
            temporary.unlink()
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)  # the name that the caller passed
        raise
    _sync_folder(path.parent)


def check_folder(call: str, path: Path) -> None:
    """Check that a file can be written at a path, before a long run starts.

    Raises:
        OSError: The folder does not exist or is not writable, or the path is a folder.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        message = f"{call}: {path} is a folder, not a file"
        raise IsADirectoryError(message)
    if not path.parent.is_dir():
        message = f"{call}: the folder {path.parent} does not exist"
        raise FileNotFoundError(message)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        message = f"{call}: the folder {path.parent} may not be written to"
        raise PermissionError(message)


def remove_leftovers(path: Path) -> None:
    """Remove temporary files that killed processes left in the folder of a file."""
    path = Path(os.path.realpath(path))
    for temporary in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 8}.tmp"):
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Flush the folder to disk, so that the rename survives a power failure."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
