"""Paths: how parameters are named by pattern, and frozen so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tapegrad.errors import TapeError
from tapegrad.quantized import Quantized
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.nn.module import Module


def fits(path: str, pattern: str) -> bool:
    """Return whether a path is what a pattern means, in which `*` stands for anything, dots included."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path) is not None


def check_pattern(call: str, pattern: str, paths: Iterable[str]) -> None:
    """Reject a pattern that means no path at all.

    Raises:
        ValueError: No path fits; all that are there are listed.
    """
    paths = list(paths)
    if not any(fits(path, pattern) for path in paths):
        message = f"{call}: no path fits {pattern!r}; there are {', '.join(paths) or 'none'}"
        raise ValueError(message)


@public_api
def freeze(module: Module, *patterns: str) -> None:
    """Freeze parameters by path: they get no gradient, and no optimizer changes them.

    `freeze(model, "layers.0.*", "*.bias")` freezes all of the first layer and every bias.

    Args:
        module: Where the parameters are.
        patterns: Paths, in which `*` stands for anything, dots included. Without one, all are frozen.

    Raises:
        ValueError: No path fits one of the patterns; then nothing is frozen.
    """
    _set("freeze", module, patterns, frozen=True)


@public_api
def unfreeze(module: Module, *patterns: str) -> None:
    """Undo `freeze`.

    Args:
        module: Where the parameters are.
        patterns: Paths, in which `*` stands for anything, dots included. Without one, all are set free.

    Raises:
        ValueError: No path fits one of the patterns; then nothing changes.
        TapeError: One of the parameters is quantized; nothing changes either.
    """
    _set("unfreeze", module, patterns, frozen=False)


def _set(call: str, module: Module, patterns: tuple[str, ...], *, frozen: bool) -> None:
    paths = module.paths()
    for pattern in patterns:
        check_pattern(call, pattern, [path for path, _ in paths])
    chosen = [
        (path, parameter)
        for path, parameter in paths
        if not patterns or any(fits(path, pattern) for pattern in patterns)
    ]
    for path, parameter in chosen:
        if not frozen and isinstance(parameter, Quantized):
            message = f"{call}: {path} is quantized and stays frozen"
            raise TapeError(message)
    for _, parameter in chosen:
        parameter.frozen = frozen
