"""Model summaries: the output shape and parameter count of each layer, without running the model on data."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.autograd.explain import NoNumbersError
from tapegrad.autograd.identity import Same
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn import Module, Param
from tapegrad.nn.container import check_module
from tapegrad.nn.module import children
from tapegrad.nn.shape_engine import ShapeValue
from tapegrad.sizes import named, show
from tapegrad.tensors import Tensor, node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.nn.module import AnyParam

Sized: TypeAlias = "tuple[int | str, ...] | Tensor[Any, Any, Any] | tuple[Any, ...]"

NOT_CALLED = "not called"


class Row(NamedTuple):
    """A layer in a summary."""

    path: str  # of attributes, empty for the model itself
    layer: str
    depth: int  # the number of modules around it
    output: str  # the shape, or shapes, of its output
    calls: int
    parameters: int  # without those of inner layers; a shared parameter counts in the first layer that has it


@dataclass(frozen=True)
class Summary:
    """A model as a table, formatted by `str` and `print`.

    Attributes:
        rows: The layers in the order in which they were first called.
        parameters: The number of elements of all parameters, each parameter counted once.
        frozen: The number of those elements in frozen parameters.
        size: The size of the parameters in bytes.
    """

    rows: tuple[Row, ...]
    parameters: int
    frozen: int
    size: int

    @override
    def __str__(self) -> str:
        cells = [("path", "layer", "output", "parameters"), *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join([*map(str.ljust, row[:-1], widths), row[-1].rjust(widths[-1])]).rstrip() for row in cells]
        frozen = f", {self.frozen:,} of them frozen" if self.frozen else ""
        return "\n".join([*lines, "", f"{self.parameters:,} parameters{frozen}, {self.size:,} bytes"])

    @override
    def __repr__(self) -> str:
        return str(self)


@public_api
def summary(module: Module, *inputs: Sized, dtype: type[np.generic] = np.float32) -> Summary:
    """Summarize a model: the output shape and parameter count of each layer for given input shapes.

    The model runs without a tape, on shapes instead of arrays, by the shape rules of the ops: no result is computed or
    allocated, and no parameter changes. A size may be a name, for any number:

        print(summary(model, ("N", 64)))

    Args:
        module: The model.
        inputs: For each argument of the model a shape, whose sizes are ints or names, or a tensor, of which only shape
            and dtype are used; a tuple of shapes or tensors is a tuple of tensors.
        dtype: The dtype of inputs given as shapes, a NumPy scalar type; `numpy.int64` if the first layer is an
            embedding.

    Returns:
        The summary, which prints as a table.

    Raises:
        ShapeError: The shapes do not match; the message is that of a real run, and a note names the layer's path.
        DTypeError: The dtypes do not match, an input is neither a shape nor a tensor, or `module` is not a module.
        TapeError: A layer needs a tape; a summary has none.
        ValueError: The model reads the values of a tensor, or the value of a named size.

    Examples:
        >>> model = tg.nn.Sequential(tg.nn.Linear(64, 10), tg.nn.LogSoftmax())
        >>> print(tg.summary(model, ("N", 64)))
        path      layer             output   parameters
                  Sequential        (N, 10)
        layers.0    Linear(64, 10)  (N, 10)         650
        layers.1    LogSoftmax()    (N, 10)
        <BLANKLINE>
        650 parameters, 2,600 bytes
    """
    check_module("summary: module", module)
    _check_dtype(dtype)
    tree = list(_tree(module))
    calls: dict[tuple[str, str], int] = {}
    failed: list[str] = []
    arguments = [_shape_values(shape, dtype, f"input {position}") for position, shape in enumerate(inputs)]
    try:
        with _watched(tree, calls, failed):
            module.forward(*arguments)
    except NoNumbersError as error:
        message = f"summary: {type(module).__name__} asks for {error}, and a summary has shapes only"
        raise _noted(ValueError(message), failed) from None
    except (ShapeError, DTypeError, TapeError) as error:
        _noted(error, failed)
        raise
    return _summed(tree, calls)


def _noted(error: Exception, failed: list[str]) -> Exception:
    """Add the innermost layer that an error passed through as a note."""
    if failed and failed[0]:
        error.add_note(failed[0])
    return error


class _Node(NamedTuple):
    module: Module
    path: str
    depth: int
    parameters: tuple[AnyParam, ...]


def _tree(model: Module) -> Iterator[_Node]:
    """Yield each module once, with those of its direct parameters that no earlier module has."""
    seen: set[object] = set()
    waiting: list[tuple[Module, str, int]] = [(model, "", 0)]  # a stack: the next module is last
    while waiting:
        module, path, depth = waiting.pop()
        if (same := Same(module)) in seen:
            continue
        seen.add(same)
        inside = children(module)
        own = {child: None for _, child in inside if isinstance(child, Param) and child not in seen}
        seen.update(own)
        yield _Node(module, path, depth, tuple(own))
        waiting += [
            (child, f"{path}.{name}" if path else name, depth + 1)
            for name, child in reversed(inside)
            if isinstance(child, Module)
        ]


@contextmanager
def _watched(tree: list[_Node], calls: dict[tuple[str, str], int], failed: list[str]) -> Iterator[None]:
    """Count the calls of each module's `forward`, by its path and output shape."""
    # Patched on the instances: this covers `layer(x)` and `layer.forward(x)`, and costs nothing outside a summary.
    before = [vars(branch.module).get("forward") for branch in tree]
    for branch in tree:
        vars(branch.module)["forward"] = _counting(branch, calls, failed)
    try:
        yield
    finally:
        for branch, own in zip(tree, before, strict=True):
            del vars(branch.module)["forward"]
            if own is not None:
                vars(branch.module)["forward"] = own


def _counting(branch: _Node, calls: dict[tuple[str, str], int], failed: list[str]) -> Any:
    forward = branch.module.forward

    @wraps(forward)
    def counted(*args: Any, **kwargs: Any) -> Any:
        open_row = (branch.path, "")
        calls.setdefault(open_row, 0)
        try:
            y = forward(*args, **kwargs)
        except (ShapeError, DTypeError, TapeError, NoNumbersError):
            failed.append(f"in {branch.path}, {_named(branch.module)}" if branch.path else "")
            raise
        key = (branch.path, _shown(y))
        calls[key] = calls.get(key, 0) + 1
        return y

    return counted


def _summed(tree: list[_Node], calls: dict[tuple[str, str], int]) -> Summary:
    nodes = {branch.path: branch for branch in tree}
    order = [path for path, output in calls if not output]
    rows = []
    for path in [
        *order,
        *(branch.path for branch in tree if branch.path not in order and branch.parameters),
    ]:
        branch = nodes[path]
        outputs = [(output, count) for (one, output), count in calls.items() if one == path and output]
        for position, (output, count) in enumerate(outputs or [(NOT_CALLED, 0)]):
            own = 0 if position else sum(one.size for one in branch.parameters)
            rows.append(Row(path, _named(branch.module), branch.depth, output, count, own))
    parameters = [one for branch in tree for one in branch.parameters]
    return Summary(
        tuple(rows),
        parameters=sum(one.size for one in parameters),
        frozen=sum(one.size for one in parameters if one.frozen),
        size=sum(one.nbytes for one in parameters),
    )


def _shape_values(shape: Any, dtype: type[np.generic], place: str) -> Any:
    if isinstance(shape, Tensor):
        return _of(shape.shape, shape.dtype)
    if not isinstance(shape, tuple):
        message = f"summary: {place} is {shape!r}, neither a shape nor a tensor"
        raise DTypeError(message)
    if any(isinstance(one, tuple | Tensor) for one in shape):
        return tuple(_shape_values(one, dtype, f"{place}[{position}]") for position, one in enumerate(shape))
    return _of(tuple(_size(one, shape, place) for one in shape), dtype)


def _check_dtype(dtype: object) -> None:
    scalar = dtype.type if isinstance(dtype, np.dtype) else dtype
    if not isinstance(scalar, type) or not issubclass(scalar, np.generic):
        kind = type(scalar).__name__
        given = f"the class {scalar.__name__}" if isinstance(scalar, type) else messages.with_article(kind)
        raise DTypeError(messages.no_dtype("summary", "dtype", given))


def _of(shape: Any, dtype: Any) -> Tensor[Any, Any, Any]:
    value: Any = ShapeValue(shape, dtype)
    return node(value)


def _size(size: Any, shape: tuple[Any, ...], place: str) -> Any:
    if isinstance(size, str) and size.isidentifier():
        return named(size)
    if not isinstance(size, int) or isinstance(size, bool):
        message = f"summary: {place} is {shape}, where {size!r} is neither an int nor a name"
        raise DTypeError(message)
    if size < 0:
        message = f"summary: {place} is {show(shape)}, which has the negative size {size}"
        raise ShapeError(message)
    return size


def _shown(output: Any) -> str:
    """Return the shapes in the output of a layer, formatted."""
    if isinstance(output, Tensor):
        return show(output.shape)
    if isinstance(output, tuple | list):
        return ", ".join(map(_shown, output)) or "nothing"
    return type(output).__name__


def _named(module: Module) -> str:
    """Return the repr of a layer, or the name of its class if the repr has several lines."""
    if type(module).__repr__ is Module.__repr__ and children(module):
        return type(module).__name__
    shown = repr(module)
    return type(module).__name__ if "\n" in shown else shown


def _cells(row: Row) -> tuple[str, str, str, str]:
    times = f" ×{row.calls}" if row.calls > 1 else ""
    parameters = f"{row.parameters:,}" if row.parameters else ""
    return row.path, "  " * row.depth + row.layer, row.output + times, parameters
