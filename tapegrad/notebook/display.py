"""Notebook displays of tensors, modules, tapes and gradients."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from typing_extensions import override

from tapegrad.autograd import tape_repr
from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.tape import GradientTape, OwnedTape
from tapegrad.errors import messages
from tapegrad.nn import Module, Param
from tapegrad.nn.layer_names import layer_text
from tapegrad.nn.module import children
from tapegrad.notebook.drawing import drawing
from tapegrad.notebook.heat import heat_map
from tapegrad.sizes import show
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from IPython.core.interactiveshell import InteractiveShell
    from numpy.typing import NDArray

WRITTEN: Final = 10  # rows and columns up to which the values are shown
SLICES: Final = 12  # heat maps of a tensor with more than two axes
DRAWN: Final = 60  # ops of a tape, above which a graph is too large to read


class Table(NamedTuple):
    """Rows with a header, as text and as HTML."""

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
    """Return a one-line summary of a tensor without its values: `(2, 3) float32, owned tape`."""
    return messages.revealed(show(x.shape), str(x.dtype), owns_tape=x.owns_tape)


def tensor_html(x: Tensor[Any, Any, Any]) -> str:
    """Show the values of a small tensor as a table, those of a larger one as heat maps of its last two axes."""
    numbers = np.asarray(x.detach().numpy())
    if numbers.dtype.kind == "V":
        numbers = numbers.astype(np.float32)  # bfloat16, which float32 holds exactly
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
    """Show a module as a collapsible tree, each branch with its parameters."""
    return _branch(module, "", is_open=True)


def _branch(module: Module, name: str, *, is_open: bool = False) -> str:
    count = sum(parameter.size for parameter in module.parameters().values())
    learns = f", {tape_repr.counted(count, 'parameter')}" if count else ""
    title = f"{f'{escape(name)}: ' if name else ''}<b>{escape(layer_text(module))}</b>{learns}"
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


class Norms(NamedTuple):
    """The norm of each gradient, by the path from a variable to its tensor, or by shape if there is no such path.

    Attributes:
        rows: Path, shape and norm, in the order of the variables; rows without a path come last.
    """

    rows: list[tuple[str, str, float]]

    @override
    def __repr__(self) -> str:
        head = f"Gradients of {tape_repr.counted(len(self.rows), 'tensor')}"
        return f"{head}\n{Table(self._head(), [self._cells(row) for row in self.rows])}"

    def _repr_html_(self) -> str:
        longest = max((norm for *_, norm in self.rows if np.isfinite(norm)), default=0.0) or 1.0
        head = f"<div><b>Gradients</b> of {tape_repr.counted(len(self.rows), 'tensor')}</div>"
        columns = f"<thead><tr>{_cells('th', (*self._head(), ''))}</tr></thead>"
        rows = "".join(
            f"<tr>{_cells('td', self._cells(row))}<td>{_bar(row[2] / longest)}</td></tr>" for row in self.rows
        )
        return f'{head}<table cellpadding="4">{columns}<tbody>{rows}</tbody></table>'

    def _head(self) -> tuple[str, ...]:
        return ("path", "shape", "norm") if self._has_paths() else ("shape", "norm")

    def _cells(self, row: tuple[str, str, float]) -> tuple[str, ...]:
        path, shape, norm = row
        return (path, shape, f"{norm:.4g}") if self._has_paths() else (shape, f"{norm:.4g}")

    def _has_paths(self) -> bool:
        return any(path for path, *_ in self.rows)


def norms_of(grads: Gradients, variables: Mapping[str, Any]) -> Norms:
    """Return the norm of each gradient by the path that the user would write in the next cell.

    Args:
        grads: The result of `backward`.
        variables: The variables by name. Of several modules that hold a parameter, the one with the most of them names
            it; a tensor that no module holds is named by its variable.
    """
    paths = _paths(variables)
    order = {node: place for place, node in enumerate(paths)}
    nodes = sorted(grads, key=lambda node: order.get(node, len(order)))
    norms = grads.norms(_Held({str(place): node for place, node in enumerate(nodes)}))
    return Norms([(paths.get(node, ""), show(node.shape), norms[str(place)]) for place, node in enumerate(nodes)])


class _Held(NamedTuple):
    """Tensors by name, with the interface of a module's parameters."""

    tensors: dict[str, Any]

    def parameters(self) -> dict[str, Any]:
        return self.tensors


def _paths(variables: Mapping[str, Any]) -> dict[Any, str]:
    """Return the tensors reachable from variables, each with its path, except from names that begin with `_`."""
    own = {name: value for name, value in variables.items() if not name.startswith("_")}
    modules = {name: value.parameters() for name, value in _modules(own)}
    paths: dict[Any, str] = {}
    for name, parameters in sorted(modules.items(), key=lambda item: -len(item[1])):
        for path, parameter in parameters.items():
            paths.setdefault(parameter, f"{name}.{path}")
    for name, value in own.items():
        if isinstance(value, Tensor):
            paths.setdefault(value.node if value.tape.holds else value, name)
    return paths


def _modules(variables: Mapping[str, Any]) -> Iterator[tuple[str, Module]]:
    """Yield the modules in variables, and those in lists or tuples with their index: `layers[0]`."""
    for name, value in variables.items():
        if isinstance(value, Module):
            yield name, value
        elif isinstance(value, list | tuple):
            yield from ((f"{name}[{place}]", one) for place, one in enumerate(value) if isinstance(one, Module))


def _bar(share: float) -> str:
    width = 160 * min(share, 1.0) if np.isfinite(share) else 0
    return f'<svg width="160" height="10"><rect width="{width:.1f}" height="10" fill="#b22228"/></svg>'


def tape_html(tape: GradientTape) -> str | None:
    """Draw a tape that is neither consumed nor too long."""
    if tape.consumed_at is not None or not 0 < len(tape) <= DRAWN:
        return None
    head = f"<div><b>GradientTape</b> of {tape_repr.counted(len(tape), 'op')}</div>"
    return head + drawing(*tape_repr.boxes_and_arrows(tape.entries))


HTML: Final[dict[type, Callable[[Any], str | None]]] = {
    Tensor: tensor_html,
    Module: module_html,
    GradientTape: tape_html,
    OwnedTape: lambda owned: tape_html(owned.tape),
}


def register(shell: InteractiveShell) -> None:
    """Register these displays in a shell."""
    html, text = _formatter(shell, "text/html"), _formatter(shell, "text/plain")
    for shown_type, write in HTML.items():
        html.for_type(shown_type, write)
    html.for_type(Gradients, lambda grads: norms_of(grads, shell.user_ns)._repr_html_())
    text.for_type(Gradients, lambda grads, printer, _: printer.text(_text(grads, shell.user_ns)))


def unregister(shell: InteractiveShell) -> None:
    """Remove these displays from a shell."""
    html = _formatter(shell, "text/html")
    for shown_type in (*HTML, Gradients):
        html.pop(shown_type)
    _formatter(shell, "text/plain").pop(Gradients)


def _text(grads: Gradients, variables: Mapping[str, Any]) -> str:
    return repr(norms_of(grads, variables)) if len(grads) else repr(grads)


def _formatter(shell: InteractiveShell, kind: str) -> Any:
    displays: Any = shell.display_formatter  # set by every shell
    return displays.formatters[kind]
