"""A report of what lies on which devices, and how it is divided among them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from typing_extensions import override

from tapegrad.errors import DTypeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.jax.arguments import parts_of
from tapegrad.jax.library import jax
from tapegrad.nn import Module
from tapegrad.optim import Optimizer
from tapegrad.optim.optimizer import OnDevice
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.jax.rules import Axes


class Row(NamedTuple):
    """An array in a placement."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    axes: Axes | None  # of the mesh; None on a single device, and in host memory
    part: tuple[int, ...]  # the shape of the part of one device
    devices: tuple[str, ...]  # empty in host memory

    @property
    def size(self) -> int:
        """The size of the part of one device in bytes."""
        return prod(self.part) * self.dtype.itemsize


@dataclass(frozen=True)
class Placement:
    """What lies where, formatted as a table by `str` and `print`.

    Attributes:
        rows: A row for each array, in the order of the attributes.
    """

    rows: tuple[Row, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """The size in bytes of what lies on each device."""
        sizes: Counter[str] = Counter()
        for row in self.rows:
            sizes.update(dict.fromkeys(row.devices, row.size))
        return dict(sizes)

    @override
    def __str__(self) -> str:
        cells = [("path", "tensor", "divided by", "part", "devices", "bytes of a part"), *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([*map(str.ljust, row[:-2], widths), *map(str.rjust, row[-2:], widths[-2:])]) for row in cells
        ]
        whole = sum(prod(row.shape) * row.dtype.itemsize for row in self.rows)
        sizes = self.sizes.values()
        most = f"at most {max(sizes):,} on a device" if sizes else "in host memory"
        return "\n".join([*map(str.rstrip, lines), "", f"{whole:,} bytes in all, {most}"])

    @override
    def __repr__(self) -> str:
        return str(self)


@public_api
def placement(target: Module | Optimizer[Any]) -> Placement:
    """Return what of a module or an optimizer lies where.

    The state of an optimizer follows its parameters when a step under `jit` first runs with both; before that it is in
    host memory, or does not exist yet. Numbers, such as the count of steps, are not listed: every device has them.

    Args:
        target: A module or an optimizer.

    Returns:
        The report, which prints as a table.

    Raises:
        DTypeError: The target is neither a module nor an optimizer.

    Examples:
        >>> import jax
        >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
        >>> model = tg.jax.place(tg.nn.Linear(64, 10, rng=0), mesh, {"weight": ("data", None)})
        >>> print(tg.jax.placement(model))
        path    tensor            divided by      part      devices  bytes of a part
        weight  float32 (64, 10)  ('data', None)  (64, 10)        1            2,560
        bias    float32 (10,)     nothing         (10,)           1               40
        <BLANKLINE>
        2,600 bytes in all, at most 2,600 on a device
    """
    if isinstance(target, Module):
        return Placement(tuple(_rows_of_module(target)))
    if isinstance(target, Optimizer):
        return Placement(tuple(_rows_of_optimizer(target)))
    message = f"placement: target is {messages.with_article(type(target).__name__)}, neither a module nor an optimizer"
    raise DTypeError(message)


def _rows_of_module(module: Module) -> Iterator[Row]:
    for path, x in {**module.parameters(), **module.buffers()}.items():
        yield _row(path, x, x.placement if x.on_device is None else x.on_device.sharding)


def _rows_of_optimizer(opt: Optimizer[Any]) -> Iterator[Row]:
    for path, parameter in opt.parameters.items():
        for name, part in parts_of(opt.state.get(parameter)):
            array = part.array if isinstance(part, OnDevice) else part
            if np.ndim(array):
                yield _row(f"{path}.{name}", array, getattr(array, "sharding", None))


def _row(path: str, x: Any, sharding: Any) -> Row:
    shape, dtype = tuple(x.shape), x.dtype
    if sharding is None:
        return Row(path, dtype, shape, None, shape, ())
    axes = None
    if isinstance(sharding, jax.sharding.NamedSharding):
        axes = (*sharding.spec, *(None,) * (len(shape) - len(sharding.spec)))
    return Row(path, dtype, shape, axes, sharding.shard_shape(shape), tuple(sorted(map(str, sharding.device_set))))


def _cells(row: Row) -> tuple[str, ...]:
    by = repr(row.axes) if row.axes and any(row.axes) else "nothing"
    devices = str(len(row.devices)) if row.devices else "host"
    return row.path, f"{row.dtype} {show(row.shape)}", by, show(row.part), devices, f"{row.size:,}"
