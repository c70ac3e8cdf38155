"""Freeze and unfreeze parameters by path patterns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tapegrad.errors import TapeError
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.container import check_module
from tapegrad.quantized import Quantized

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.nn.module import Module


def fits(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern; `*` matches any characters, dots included."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path) is not None


def check_pattern(call: str, pattern: str, paths: Iterable[str]) -> None:
    """Reject a pattern that matches no path.

    Raises:
        ValueError: No path matches; the message lists all paths.
    """
    paths = list(paths)
    if not any(fits(path, pattern) for path in paths):
        message = f"{call}: no path fits {pattern!r}; there are {', '.join(paths) or 'none'}"
        raise ValueError(message)


@public_api
def freeze(module: Module, *patterns: str) -> None:
    """Freeze parameters by path: they get no gradient, and optimizers do not update them.

    `freeze(model, "layers.0.*", "*.bias")` freezes all of the first layer and every bias.

    Args:
        module: The module with the parameters.
        patterns: Path patterns; `*` matches any characters, dots included. Without a pattern, all are frozen.

    Raises:
        DTypeError: `module` is not a module.
        ValueError: A pattern matches no path; then nothing is frozen.

    Examples:
        >>> model = tg.nn.Sequential(tg.nn.Linear(4, 3, rng=0), tg.nn.Linear(3, 2, rng=0))
        >>> tg.nn.freeze(model, "layers.0.*")
        >>> [path for path, parameter in model.parameters().items() if parameter.frozen]
        ['layers.0.weight', 'layers.0.bias']
    """
    _set("freeze", module, patterns, frozen=True)


@public_api
def unfreeze(module: Module, *patterns: str) -> None:
    """Unfreeze parameters by path; the inverse of `freeze`.

    Args:
        module: The module with the parameters.
        patterns: Path patterns; `*` matches any characters, dots included. Without a pattern, all are unfrozen.

    Raises:
        DTypeError: `module` is not a module.
        ValueError: A pattern matches no path; then nothing changes.
        TapeError: One of the parameters is quantized; then nothing changes.

    Examples:
        >>> model = tg.nn.Sequential(tg.nn.Linear(4, 3, rng=0), tg.nn.Linear(3, 2, rng=0))
        >>> tg.nn.freeze(model)
        >>> tg.nn.unfreeze(model, "layers.1.*")
        >>> [path for path, parameter in model.parameters().items() if not parameter.frozen]
        ['layers.1.weight', 'layers.1.bias']
    """
    _set("unfreeze", module, patterns, frozen=False)


def _set(call: str, module: Module, patterns: tuple[str, ...], *, frozen: bool) -> None:
    check_module(f"{call}: module", module)
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
