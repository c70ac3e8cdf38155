"""Notebooks: `%load_ext tapegrad.notebook` has mypy read every cell, with all cells before it, before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Begins to check the cells of a notebook: what `%load_ext` calls."""
    from tapegrad.notebook.extension import Extension

    Extension.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Ends it: what `%unload_ext` calls."""
    from tapegrad.notebook.extension import Extension

    Extension.unload(shell)
