"""Attributes of errors that the guard raises: the arguments of the call, and the axes that do not match."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tapegrad.errors import ShapeError, TapegradError
from tapegrad.errors.diagram import AxisTracker, annotate_axes, draw
from tapegrad.guard._containers import item_place
from tapegrad.guard._names import Bindings
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def attach_facts(
    error: TapegradError,
    call: str,
    values: Mapping[str, Any],
    check: Callable[[tuple[Any, ...], Bindings], None] | None = None,
) -> None:
    """Set the attributes of an error and add a diagram of the shapes that do not match.

    Args:
        error: The error that a check raised.
        call: The function, as named in messages.
        values: Its arguments, or its result, by name.
        check: Checks all values again; by default only a mismatch with an annotated shape is drawn.
    """
    with suppress(Exception):  # no other error may replace the one to be raised
        given = {place: x for name, value in values.items() for place, x in _tensors(value, name)}
        error.op = call
        error.shapes = {place: tuple(x.shape) for place, x in given.items()}
        error.dtypes = {place: str(x.dtype) for place, x in given.items()}
        error.taped = {place: x.owns_tape for place, x in given.items()}
        if isinstance(error, ShapeError):
            if error.expected and error.axes:
                _draw_expected(error)
            elif check is not None and not error.expected:
                tracker = AxisTracker()
                tracked = tuple(_with_tracked_sizes(value, name, tracker) for name, value in values.items())
                with suppress(ShapeError):
                    check(tracked, Bindings(call, {}))
                annotate_axes(error, tracker)


def _draw_expected(error: ShapeError) -> None:
    ((place, (axis,)),) = error.axes.items()
    shape, expected = error.shapes[place], error.expected[place]
    # After a `...`, axes count from the back.
    place_there = axis - len(shape) + len(expected) if "..." in expected[: axis + 1] else axis
    draw(error, {place: shape, "expected": expected}, {place: [axis], "expected": [place_there]})


def _tensors(value: Any, place: str) -> Iterator[tuple[str, Tensor[Any, Any, Any]]]:
    if isinstance(value, Tensor):
        yield place, value
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", None)
        for position, one in enumerate(value):
            yield from _tensors(one, f"{place}[{position}]" if names is None else f"{place}.{names[position]}")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _tensors(one, item_place(place, key))
    elif is_dataclass(value) and not hasattr(value, "parameters"):
        for field in fields(value):
            yield from _tensors(getattr(value, field.name, None), f"{place}.{field.name}")


def _with_tracked_sizes(value: Any, place: str, tracker: AxisTracker) -> Any:
    """Return a replacement for a value in which the sizes of tensors are tracked."""
    if isinstance(value, Tensor):
        shadow: Any = object.__new__(type(value))
        shadow.data = SimpleNamespace(shape=tracker.sizes(place, value.shape), dtype=value.dtype)
        shadow.tape = value.tape
        return shadow
    if isinstance(value, dict):
        return {key: _with_tracked_sizes(one, item_place(place, key), tracker) for key, one in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(
            _with_tracked_sizes(one, f"{place}[{position}]", tracker) for position, one in enumerate(value)
        )
    return value
