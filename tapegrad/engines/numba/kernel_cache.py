"""Cache of compiled kernels between processes: beside the library, or in a private folder of the user.

Numba unpickles the files in the cache, and so runs code from anyone who can write there: a folder of another user, or
one that others can write, is not used. Without a folder each process compiles its kernels again.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PRIVATE = 0o700
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder() -> Path | None:
    """Return the user's folder of kernels, or None if it is not writable or cannot be trusted."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # noqa: PTH117  # relative paths are ignored, as the XDG standard requires
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:  # the user has no home
            return None
    return _checked(Path(base) / "tapegrad") if os.path.isabs(base) else None  # noqa: PTH117  # HOME may have any value


def is_writable(path: Path) -> bool:
    """Return whether a file can be created in a folder, which is created if needed."""
    with suppress(OSError):
        path.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
        return True
    return False


def write(path: Path, text: str) -> bool:
    """Write a text to a file atomically; return whether that succeeded."""
    try:
        if path.exists() and path.read_text("utf-8") == text:
            return True
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
                Path(file.name).replace(path)
            except OSError:
                Path(file.name).unlink()
                raise
    except OSError:  # for example, a full disk
        return False
    return True


def with_cache_folder(function: Any) -> Callable[..., Any] | None:
    """Return a function of the library with Numba's cache enabled, or None if no folder can be used.

    Numba caches only beside the file of a function, if that folder is writable: if not, the function is loaded from a
    copy of its file.
    """
    path = Path(function.__code__.co_filename)
    if not path.is_file():
        return None
    if not _has_writable_cache(path):
        if (copy := _copied(path)) is None:
            return None
        function.__code__ = function.__code__.replace(co_filename=str(copy))
    cacheable: Callable[..., Any] = function
    return cacheable


@cache
def _has_writable_cache(path: Path) -> bool:
    return is_writable(path.parent / "__pycache__")


@cache
def _copied(path: Path) -> Path | None:
    """Return a copy of a file of the library in the user's folder of kernels, or None if there is no such folder."""
    private = folder()
    if private is None:
        return None
    copy = private / f"{path.stem}.py"
    return copy if write(copy, path.read_text("utf-8")) else None


@cache
def _checked(path: Path) -> Path | None:
    """Return a folder that is private and holds only files of this user; warn once if others can write to it."""
    pycache = path / "__pycache__"  # where Numba stores what it compiled
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for one in (path, pycache):
            with suppress(FileExistsError):
                one.mkdir(mode=_PRIVATE)
        reason = next(_reasons_against(path, pycache), "") if hasattr(os, "geteuid") else ""
        if not reason:
            return path if is_writable(path) and is_writable(pycache) else None
    except OSError:
        return None
    message = f"compiled kernels are not cached because {reason}; remove it, or set XDG_CACHE_HOME to another folder"
    warnings.warn(message, RuntimeWarning, stacklevel=2)
    return None


def _reasons_against(*folders: Path) -> Iterator[str]:
    """Yield the reasons why the files in some folders cannot be trusted, and remove the access of others to them."""
    for path in folders:
        state = path.lstat()
        if not stat.S_ISDIR(state.st_mode):
            yield f"{path} is not a folder"
        if state.st_uid != os.geteuid():
            yield f"{path} belongs to user {state.st_uid}, not to user {os.geteuid()}"
        if state.st_mode & _WRITABLE_BY_OTHERS:
            yield f"others can write to {path}"
        if state.st_mode & _OF_OTHERS:
            path.chmod(_PRIVATE)
        for file in path.iterdir():
            try:
                of_file = file.lstat()
            except FileNotFoundError:  # a temporary file of another process
                continue
            if of_file.st_uid != os.geteuid():
                yield f"{file} belongs to user {of_file.st_uid}, not to user {os.geteuid()}"
            # No other user could reach the files of a folder that was already private, for any mode of the file.
            if state.st_mode & _OF_OTHERS and stat.S_ISREG(of_file.st_mode) and of_file.st_mode & _WRITABLE_BY_OTHERS:
                yield f"others could write to {file}"
