"""Displays: how tables and tensors look in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import override

from tapegrad import sentences
from tapegrad.dims import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from tapegrad.tensor import Tensor


class Table(NamedTuple):
    """Rows under a head, as text and as HTML."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    @override
    def __repr__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{_cells('th', self.head)}</tr></thead><tbody>{body}</tbody></table>"


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    return "".join(f'<{tag} align="left">{escape(text)}</{tag}>' for text in texts)


def summary_of(x: Tensor[Any, Any, Any]) -> str:
    """Writes a tensor in a line without its numbers: `(2, 3) float32, owned tape`."""
    return sentences.revealed(show(x.shape), str(x.dtype), owns_tape=x.owns_tape)


def register(shell: InteractiveShell) -> None:
    """Shows tensors in a shell as a notebook can."""


def unregister(shell: InteractiveShell) -> None:
    """Shows them as text again."""
