"""The errors tapegrad raises: four, each of them also one of Python's own, and the facts that they carry.

The traceback of one ends in the line that called the library, and so does that of an error of Python's own that the
library raises. With `tapegrad.errors.full_tracebacks = True`, or `TAPEGRAD_FULL_TRACEBACKS=1` in the environment, it
goes on to the line inside that raised it.

Below the message of a `ShapeError` stands a picture of the shapes that clash. It is a note: no part of `str(error)`,
but of what `pytest.raises(match=...)` reads. `tapegrad.errors.pictures = False` leaves it out.
"""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

full_tracebacks: bool = bool(os.environ.get("TAPEGRAD_FULL_TRACEBACKS"))
"""Whether a traceback shows the frames inside tapegrad too."""

pictures: bool = True
"""Whether shapes that clash are drawn below the message of an error."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class TapegradError(Exception):
    """What all errors of tapegrad know beside their message; what is not known is empty.

    They can be copied and pickled, with all they know.

    Args:
        message: What the error says, in one line.
        facts: Attributes, by name.

    Attributes:
        op: The op or function that refuses, as a message names it: `matmul`, `brightness`, `Linear.forward`.
        layer: The layer that refuses, as it writes itself: `Linear(64, 10)`.
        path: Where that layer stands, as its caller writes it: `model[0]`.
        places: Layers further out of which mypy does not see that the error comes through them, innermost first.
        shapes: The shape of each tensor that was given, by parameter; of one among several `tensors[1]`.
        expected: The shape that an annotation asks for, by parameter: numbers, names, and `...` for any number of them.
        axes: The axes that do not fit, by parameter, counted from the front; mostly one.
        dtypes: The dtype of each tensor that was given, by parameter.
        taped: Whether a tensor that was given owns a tape, by parameter.
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
        """The sizes that do not fit, by parameter."""
        return {name: tuple(self.shapes[name][axis] for axis in axes) for name, axes in self.axes.items()}

    def with_message(self, message: str) -> Self:
        """Return another error of the same facts and notes."""
        other = type(self)(message)
        other.__dict__.update(self.__dict__)
        return other

    def add_location(self, place: str) -> None:
        """Note a layer further out, below the message."""
        self.places = (*self.places, place)
        self.add_note(f"in {place}")


class ShapeError(TapegradError, ValueError):
    """Sizes do not fit; the message names the op, the shapes and the sizes."""


class DTypeError(TapegradError, TypeError):
    """Dtypes do not fit, or an argument is of another kind; the message names the op and the dtypes."""


class TapeError(TapegradError, RuntimeError):
    """A gradient was asked for that no tape can give."""


class SingularError(TapegradError, ValueError):
    """A matrix has no inverse; the message names the op, the shape and the place in a stack."""
