"""Notebooks: `%load_ext tapegrad.notebook` has mypy read every cell, with all cells before it, before it runs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from tapegrad.notebook.extension import Extension


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Begin to check the cells of a notebook: what `%load_ext` calls."""
    _extension().load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """End it: what `%unload_ext` calls."""
    _extension().unload(shell)


def _extension() -> type[Extension]:
    for package in ("IPython", "mypy"):
        if find_spec(package) is None:
            message = f'tapegrad.notebook needs the package {package}: pip install "tapegrad[notebook]"'
            raise ModuleNotFoundError(message, name=package)
    from tapegrad.notebook.extension import Extension

    return Extension
