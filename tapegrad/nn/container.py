"""Layers that hold layers: an error from inside one says the path to where it comes from."""

from __future__ import annotations

from typing import Any, TypeAlias

from typing_extensions import override

from tapegrad import messages
from tapegrad.errors import DTypeError, ShapeError, TapegradError
from tapegrad.nn.module import Module
from tapegrad.nn.places import called, shown

Beside: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]  # what a layer gets beside its argument: others, options


class Container(Module):
    """A layer that passes what it gets through layers of its own."""

    def _through(self, part: int | str, layer: Module, x: Any, *, like: Any = None, beside: Beside = ((), {})) -> Any:
        """Compute what a layer, `[1]` or `.layer`, makes of `x`: of the shape and dtype of `like`, if there is one."""
        others, options = beside
        try:
            y = layer.forward(x, *others, **options)
            if like is not None:
                _check_kind(layer, y, like)
        except TapegradError as error:
            self._point(error, part, layer)
            raise
        return y

    def _point(self, error: TapegradError, part: int | str, layer: Module) -> None:
        """Write into an error which layer it comes from; what code of the user's says is left to itself."""
        message = str(error)
        place = f"{type(self).__name__}{f'[{part}]' if isinstance(part, int) else f'.{part}'}"
        layer._place(error, place)
        if str(error) == message:
            error.add_location(f"{place} {shown(layer)}")

    @override
    def _place(self, error: TapegradError, place: str) -> None:
        """Put its own place in front of that of the layer inside."""
        name, message = type(self).__name__, str(error)
        if self._refuses(error):
            super()._place(error, place)
        elif error.places:
            return  # the path that it starts with, if any, is one inside code of the user's
        elif place and message.startswith((f"{name}[", f"{name}.")):
            error.path = place + error.path.removeprefix(name)
            error.args = (place + message.removeprefix(name),)


def check_modules(name: str, layers: tuple[object, ...]) -> None:
    """Reject what cannot be a layer, by its place: `Sequential: layer 0 is a list, not a module`."""
    for index, layer in enumerate(layers):
        check_module(f"{name}: layer {index}", layer)


def check_module(place: str, layer: object) -> None:
    """Reject what cannot be a layer."""
    if not isinstance(layer, Module):
        kind = messages.with_article(type(layer).__name__)
        given = f"the class {layer.__name__}" if isinstance(layer, type) else kind
        raise DTypeError(messages.no_module(place, given))


def _check_kind(layer: Module, y: Any, expected: Any) -> None:
    """Reject the result of a layer that has another shape or another dtype than is expected."""
    if y.shape != expected.shape:
        raise ShapeError(messages.other_sizes(called(layer), messages.RESULT, y.shape, expected.shape))
    if y.dtype != expected.dtype:
        raise DTypeError(messages.wrong_dtype(called(layer), messages.RESULT, str(y.dtype), str(expected.dtype)))
