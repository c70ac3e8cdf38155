"""Base class of layers that contain layers, which adds the path of the inner layer to errors."""

from __future__ import annotations

from typing import Any, TypeAlias

from typing_extensions import override

from tapegrad.errors import DTypeError, ShapeError, TapegradError, messages
from tapegrad.nn.layer_names import forward_name, layer_text
from tapegrad.nn.module import Module

Beside: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]  # further positional and keyword arguments of a layer


class Container(Module):
    """Base class of layers that call other layers."""

    def _through(self, part: int | str, layer: Module, x: Any, *, like: Any = None, beside: Beside = ((), {})) -> Any:
        """Call the layer at `[1]` or `.layer`, and check its result against the shape and dtype of `like`, if given."""
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
        """Add the path of the layer to an error; the message is unchanged if it comes from user code in the layer."""
        message = str(error)
        path = f"{type(self).__name__}{f'[{part}]' if isinstance(part, int) else f'.{part}'}"
        layer._add_path(error, path)
        if str(error) == message:
            error.add_location(f"{path} {layer_text(layer)}")

    @override
    def _add_path(self, error: TapegradError, path: str) -> None:
        """Prepend the path of this container to that of the inner layer."""
        name, message = type(self).__name__, str(error)
        if self._rejects(error):
            super()._add_path(error, path)
        elif error.places:
            return  # a path at the start of the message is one inside user code
        elif path and message.startswith((f"{name}[", f"{name}.")):
            error.path = path + error.path.removeprefix(name)
            error.args = (path + message.removeprefix(name),)


def check_modules(name: str, layers: tuple[object, ...]) -> None:
    """Reject layers that are not modules, by index: `Sequential: layer 0 is a list, not a module`."""
    for index, layer in enumerate(layers):
        check_module(f"{name}: layer {index}", layer)


def check_module(path: str, layer: object) -> None:
    """Reject a layer that is not a module."""
    if not isinstance(layer, Module):
        kind = messages.with_article(type(layer).__name__)
        given = f"the class {layer.__name__}" if isinstance(layer, type) else kind
        raise DTypeError(messages.no_module(path, given))


def _check_kind(layer: Module, y: Any, expected: Any) -> None:
    """Reject the result of a layer if its shape or dtype differs from the expected one."""
    if y.shape != expected.shape:
        raise ShapeError(messages.other_sizes(forward_name(layer), messages.RESULT, y.shape, expected.shape))
    if y.dtype != expected.dtype:
        raise DTypeError(messages.wrong_dtype(forward_name(layer), messages.RESULT, str(y.dtype), str(expected.dtype)))
