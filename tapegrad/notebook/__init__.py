"""IPython extension: `%load_ext tapegrad.notebook` lets mypy check each cell after the earlier ones, before it runs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from tapegrad.notebook.extension import Extension


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Start checking the cells of a notebook; called by `%load_ext`."""
    _extension().load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Stop checking the cells; called by `%unload_ext`."""
    _extension().unload(shell)


def _extension() -> type[Extension]:
    for package in ("IPython", "mypy"):
        if find_spec(package) is None:
            message = f'tapegrad.notebook needs the package {package}: pip install "tapegrad[notebook]"'
            raise ModuleNotFoundError(message, name=package)
    from tapegrad.notebook.extension import Extension

    return Extension
