"""Atomic writes: a file has its old content or its new one, whenever the process is killed."""

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
    """Put what `write` writes in the place of a file, at once.

    A file that is replaced keeps its mode, so that a private one stays private. A process killed meanwhile leaves a
    hidden file `.name.<hex>.tmp` beside it; any error leaves nothing.

    Args:
        path: The file. A link is followed, so that it stays one.
        write: Gets a new file, open for writing.

    Raises:
        OSError: The folder does not exist or is full, or may not be written to.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")  # the same folder, hence the same disk
    try:
        with temporary.open("xb") as file:
            if path.exists():  # before the first byte is written: others may not read it meanwhile
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):  # if it was never made
            temporary.unlink()
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)  # what the caller knows of
        raise
    _sync_folder(path.parent)


def check_folder(call: str, path: Path) -> None:
    """Check that a file can be written at a path later, before hours of work depend on it.

    Raises:
        OSError: The folder does not exist or may not be written to, or the path is a folder.
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
    """Remove what processes that were killed while they wrote a file have left beside it."""
    path = Path(os.path.realpath(path))
    for temporary in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 8}.tmp"):
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself outlive a power cut."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
