"""The error classes of tapegrad, their messages and diagrams, and where tracebacks end.

Each class is a subclass of a built-in one.

The traceback of such an error, and of a built-in error that the library raises, ends in the line that called the
library. With `tapegrad.errors.full_tracebacks = True`, or `TAPEGRAD_FULL_TRACEBACKS=1` in the environment, it includes
the frames inside the library.

Below the message of a `ShapeError` is a diagram of the shapes that do not match. It is a note: it is not part of
`str(error)`, but `pytest.raises(match=...)` searches it too. `tapegrad.errors.diagrams = False` turns it off.
"""

from __future__ import annotations

import os
import sys
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

full_tracebacks: bool = bool(os.environ.get("TAPEGRAD_FULL_TRACEBACKS"))
"""Whether a traceback shows the frames inside tapegrad too."""

diagrams: bool = True
"""Whether a diagram of shapes that do not match is added below the message of an error."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class TapegradError(Exception):
    """The base class of all errors of tapegrad: a message and attributes, which are empty if unknown.

    Errors can be copied and pickled, with all attributes.

    Args:
        message: The message, in one line.
        facts: Attributes, by name.

    Attributes:
        op: The op or function that raised the error, as the message names it: `matmul`, `Linear.forward`.
        layer: The repr of the layer that raised the error: `Linear(64, 10)`.
        path: The path of that layer, as its caller writes it: `model[0]`.
        places: Outer layers that the error passed through and that mypy does not see, innermost first.
        shapes: The shape of each tensor argument, by parameter; `tensors[1]` for one tensor of a sequence.
        expected: The shape that an annotation expects, by parameter: ints, names, and `...` for any number of sizes.
        axes: The axes that do not match, by parameter, counted from the front; usually one.
        dtypes: The dtype of each tensor argument, by parameter.
        taped: Whether a tensor argument owns a tape, by parameter.
        consumed_at: File and line where a tape was consumed: `train.py:12`.
    """

    op: str = ""
    layer: str = ""
    path: str = ""
    places: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[Any, ...]] = _NOTHING
    expected: Mapping[str, tuple[Any, ...]] = _NOTHING
    axes: Mapping[str, tuple[int, ...]] = _NOTHING
    dtypes: Mapping[str, str] = _NOTHING
    taped: Mapping[str, bool] = _NOTHING
    consumed_at: str = ""

    def __init__(self, *message: object, **facts: Any) -> None:
        super().__init__(*message)
        self.__dict__.update(facts)

    @property
    def sizes(self) -> dict[str, tuple[Any, ...]]:
        """The sizes that do not match, by parameter."""
        return {name: tuple(self.shapes[name][axis] for axis in axes) for name, axes in self.axes.items()}

    def with_message(self, message: str) -> Self:
        """Return a copy of the error with another message and the same attributes and notes."""
        other = type(self)(message)
        other.__dict__.update(self.__dict__)
        return other

    def add_location(self, place: str) -> None:
        """Add a note that names an outer layer below the message."""
        self.places = (*self.places, place)
        self.add_note(f"in {place}")


class ShapeError(TapegradError, ValueError):
    """Sizes do not match; the message names the op, the shapes and the sizes."""


class DTypeError(TapegradError, TypeError):
    """Dtypes do not match, or an argument has the wrong type; the message names the op and the dtypes."""


class TapeError(TapegradError, RuntimeError):
    """A gradient was requested that no tape can compute."""


class SingularError(TapegradError, ValueError):
    """A matrix has no inverse or no decomposition; the message names the op, the shape and the index in a stack."""


class _Module(ModuleType):
    """This module, so that assigning to an old name of a setting sets it too."""

    @property
    def pictures(self) -> bool:
        """The old name of `diagrams`."""
        _warn_of_old_name()
        return diagrams

    @pictures.setter
    def pictures(self, value: bool) -> None:
        _warn_of_old_name()
        self.diagrams = value


def _warn_of_old_name() -> None:
    import warnings  # not at the top, to import less

    message = (
        "tapegrad.errors.pictures is called tapegrad.errors.diagrams since 0.2.0, and its old name is removed in 0.3.0"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=3)


sys.modules[__name__].__class__ = _Module
