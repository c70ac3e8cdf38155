"""Names of layers for error messages: the expression that calls a layer, and its class with sizes."""

from __future__ import annotations

import ast
import inspect
import linecache
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np

from tapegrad.errors import messages
from tapegrad.guard import last_of, stored_sizes
from tapegrad.sizes import UNKNOWN, show

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from tapegrad.nn.module import Module


def call_path(layer: Module, frame: FrameType) -> str:
    """Return the source expression by which a frame calls a layer, with `self` replaced by its class: `Net.layers[1]`.

    The result is empty if the source is not available, or if the frame calls the layer indirectly.
    """
    try:
        path, found = _evaluated(_callee(frame), frame)
    except Exception:  # noqa: BLE001  # the caller is handling an error, which another one must not replace
        return ""
    return path if found is layer else ""


def container_path(layer: Module, frame: FrameType) -> str:
    """Return the position of a layer in a container attribute of the `self` of a frame, such as `Net.layers[1]`."""
    owner = frame.f_locals.get("self")
    for name, value in getattr(owner, "__dict__", {}).items():
        if isinstance(value, list | tuple | dict):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                if item is layer:
                    return f"{_class_of(owner, frame)}.{name}[{key!r}]"
    return ""


def forward_name(layer: Module) -> str:
    """Return the name of a layer in errors of `@guarded`: `Linear.forward`, also for a class that inherits it."""
    return messages.callee(getattr(layer.forward, "__qualname__", ""))


def layer_text(layer: Module) -> str:
    """Format a layer as its class with the sizes that were passed to a guarded `__init__`: `Linear(64, 10)`."""
    owner = type(layer)
    known = stored_sizes(layer, owner)
    variables = [one for one in getattr(owner, "__parameters__", ()) if not _is_flag_or_dtype(one)]
    ends = {one: last for one in variables if (last := last_of(one)) is not None}
    variables = [one for one in variables if one not in ends]
    if not variables or any(not isinstance(known.get(one.__name__, ""), int | None) for one in variables):
        return messages.layer(owner.__name__, [])
    values: dict[str, Any] = {one.__name__: known[one.__name__] for one in variables}
    sizes = {name: UNKNOWN if value is None else value for name, value in values.items()}
    for shape, last in ends.items():
        if len(axes := known.get(shape.__name__, ())) > 1:
            sizes[last.__name__] = show(axes)
    defaults = [_default(one, sizes) for one in variables]
    return messages.layer(owner.__name__, messages.trim_defaults([*sizes.values()], defaults))


def _is_flag_or_dtype(variable: Any) -> bool:
    bound = getattr(variable, "__bound__", None)  # a TypeVarTuple of `typing` has none
    kind = get_origin(bound) or bound
    return isinstance(kind, type) and issubclass(kind, bool | np.generic)


def _default(variable: Any, sizes: Mapping[str, Any]) -> Any:
    """Return the size that is the default of a type variable, or None if it has no default."""
    default = getattr(variable, "__default__", None)
    literal = get_args(default)
    return literal[0] if literal else sizes.get(getattr(default, "__name__", ""))


def _callee(frame: FrameType) -> ast.expr:
    positions: Any = inspect.getframeinfo(frame, context=0).positions  # None if Python runs with no_debug_ranges
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[positions.lineno - 1 : positions.end_lineno]
    source = [line.encode() for line in lines]  # column offsets are in bytes
    source[-1] = source[-1][: positions.end_col_offset]
    source[0] = source[0][positions.col_offset :]
    match ast.parse(b"(" + b"".join(source) + b")", mode="eval").body:
        case ast.Call(func=callee):
            return callee
    raise LookupError


def _evaluated(expression: ast.expr, frame: FrameType) -> tuple[str, Any]:
    """Return the source of a name, an attribute or an item, and its value in a frame."""
    match expression:
        case ast.Name(name):
            value = frame.f_locals[name] if name in frame.f_locals else frame.f_globals[name]
            return (_class_of(value, frame) if name == "self" else name), value
        case ast.Attribute(of, name):
            path, owner = _evaluated(of, frame)
            return f"{path}.{name}", getattr(owner, name)
        case ast.Subscript(of, ast.Name() as index):
            path, owner = _evaluated(of, frame)
            name, key = _evaluated(index, frame)
            return f"{path}[{name}]", owner[key]
        case ast.Subscript(of, ast.Constant(int() | str() as key)):
            path, owner = _evaluated(of, frame)
            return f"{path}[{key!r}]", owner[key]
        case ast.Subscript(of, ast.UnaryOp(ast.USub(), ast.Constant(int() as key))):
            path, owner = _evaluated(of, frame)
            return f"{path}[-{key}]", owner[-key]
    raise LookupError


def _class_of(self: object, frame: FrameType) -> str:
    """Return the name of the class that defines the method of a frame, or else the class of `self`."""
    owner = messages.callee(frame.f_code.co_qualname).rpartition(".")[0]
    return owner.rpartition(".")[2] or type(self).__name__
