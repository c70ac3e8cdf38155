"""Displays: how tensors, modules, tapes and gradients look in a notebook."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from typing_extensions import override

from tapegrad import picture, sentences
from tapegrad.dims import show
from tapegrad.gradients import Gradients
from tapegrad.nn import Module, Param
from tapegrad.nn.module import children
from tapegrad.nn.places import shown
from tapegrad.notebook.drawing import drawing
from tapegrad.notebook.heat import heat_map
from tapegrad.tape import GradientTape, OwnedTape
from tapegrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from IPython.core.interactiveshell import InteractiveShell
    from numpy.typing import NDArray

WRITTEN: Final = 10  # rows and columns up to which the numbers themselves are shown
SLICES: Final = 12  # of a tensor with more than two axes, each a picture
DRAWN: Final = 60  # ops of a tape, beyond which a drawing helps nobody


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
        head = f"<thead><tr>{_cells('th', self.head)}</tr></thead>" if self.head else ""
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in self.rows)
        return f'<table cellpadding="4">{head}<tbody>{body}</tbody></table>'


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    return "".join(f'<{tag} align="left">{escape(text)}</{tag}>' for text in texts)


def summary_of(x: Tensor[Any, Any, Any]) -> str:
    """Writes a tensor in a line without its numbers: `(2, 3) float32, owned tape`."""
    return sentences.revealed(show(x.shape), str(x.dtype), owns_tape=x.owns_tape)


def tensor_html(x: Tensor[Any, Any, Any]) -> str:
    """Shows the numbers of a small tensor as a table, those of a larger one as heat maps of its last two axes."""
    numbers = np.asarray(x.detach().numpy())
    head = f"<div><b>Tensor</b> {escape(summary_of(x))}{_range(numbers)}</div>"
    if numbers.ndim <= 2 and all(size <= WRITTEN for size in numbers.shape):
        rows = np.atleast_2d(numbers) if numbers.size else np.empty((0, 0))
        return head + Table((), [tuple(map(_number, row)) for row in rows])._repr_html_()
    return head + (_pictures(numbers) if numbers.size else "")


def _range(numbers: NDArray[Any]) -> str:
    if numbers.size < 2 or numbers.dtype.kind not in "fiu":
        return ""
    finite = numbers[np.isfinite(numbers)]
    strange = numbers.size - finite.size
    warning = f", <b>{strange:,} not finite</b>" if strange else ""
    return f", {_number(finite.min())} to {_number(finite.max())}{warning}" if finite.size else warning


def _number(number: np.generic) -> str:
    return f"{number.item():.4g}" if number.dtype.kind in "fc" else str(number.item())


def _pictures(numbers: NDArray[Any]) -> str:
    real = numbers.real.astype(np.float64)
    farthest = float(np.abs(real[np.isfinite(real)]).max(initial=0.0))  # one scale for all slices
    planes = real.reshape(-1, *real.shape[-2:]) if real.ndim > 1 else real.reshape(1, 1, -1)
    width = 240 if len(planes) == 1 else 96
    files = (heat_map(plane, farthest=farthest, width=width) for plane in planes[:SLICES])
    images = " ".join(f'<img src="data:image/png;base64,{b64encode(file).decode()}"/>' for file in files)
    more = f"<div>{SLICES} of {len(planes):,} slices</div>" if len(planes) > SLICES else ""
    return f"<div>{images}</div>{more}"


def module_html(module: Module) -> str:
    """Shows a module as a tree that opens and closes, each branch with what it has to learn."""
    return _branch(module, "", is_open=True)


def _branch(module: Module, name: str, *, is_open: bool = False) -> str:
    count = sum(parameter.size for parameter in module.parameters().values())
    learns = f", {picture.counted(count, 'parameter')}" if count else ""
    title = f"{f'{escape(name)}: ' if name else ''}<b>{escape(shown(module))}</b>{learns}"
    inside = "".join(f"<li>{_leaf(path, child)}</li>" for path, child in children(module))
    if not inside:
        return title
    opened = ' open=""' if is_open else ""
    return f"<details{opened}><summary>{title}</summary><ul>{inside}</ul></details>"


def _leaf(path: str, child: Any) -> str:
    if isinstance(child, Module):
        return _branch(child, path)
    if isinstance(child, Param):
        return f"{escape(path)}: {escape(show(child.shape))} {child.dtype}{', frozen' if child.frozen else ''}"
    return f"{escape(path)}: {escape(type(child).__name__)}"


def gradients_html(grads: Gradients) -> str:
    """Shows of each gradient its shape and its norm, and how long that is beside the others'."""
    arrays = map(np.asarray, grads.values_by_node.values())
    norms = [(show(array.shape), float(np.linalg.norm(array.ravel()))) for array in arrays]
    longest = max((norm for _, norm in norms if np.isfinite(norm)), default=0.0) or 1.0
    rows = "".join(
        f"<tr><td>{escape(shape)}</td><td>{norm:.4g}</td><td>{_bar(norm / longest)}</td></tr>" for shape, norm in norms
    )
    head = f"<div><b>Gradients</b> of {picture.counted(len(norms), 'tensor')}</div>"
    columns = "<thead><tr><th>shape</th><th>norm</th><th></th></tr></thead>"
    return f'{head}<table cellpadding="4">{columns}<tbody>{rows}</tbody></table>'


def _bar(share: float) -> str:
    width = 160 * min(share, 1.0) if np.isfinite(share) else 0
    return f'<svg width="160" height="10"><rect width="{width:.1f}" height="10" fill="#b22228"/></svg>'


def tape_html(tape: GradientTape) -> str | None:
    """Draws a tape that is neither consumed nor long."""
    if tape.consumed_at is not None or not 0 < len(tape) <= DRAWN:
        return None
    head = f"<div><b>GradientTape</b> of {picture.counted(len(tape), 'op')}</div>"
    return head + drawing(*picture.boxes_and_arrows(tape.entries))


HTML: Final[dict[type, Callable[[Any], str | None]]] = {
    Tensor: tensor_html,
    Module: module_html,
    Gradients: gradients_html,
    GradientTape: tape_html,
    OwnedTape: lambda owned: tape_html(owned.tape),
}


def register(shell: InteractiveShell) -> None:
    """Has a shell show them so."""
    for shown_type, write in HTML.items():
        _formatter(shell).for_type(shown_type, write)


def unregister(shell: InteractiveShell) -> None:
    """Has a shell show them as text again."""
    for shown_type in HTML:
        _formatter(shell).pop(shown_type)


def _formatter(shell: InteractiveShell) -> Any:
    displays: Any = shell.display_formatter  # set by every shell
    return displays.formatters["text/html"]
