"""The checks of shape, tape and dtype in `Tensor[shape, tape, dtype]`; each has a full form and a short form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.errors.messages import ANY_NUMBER, tape_missing, tape_unwanted, wrong_dtype, wrong_rank, wrong_size
from tapegrad.guard._computing import stands_for_float32
from tapegrad.guard._names import NoShortFormError
from tapegrad.tensors.operands import is_concrete

if TYPE_CHECKING:
    from tapegrad.guard._names import Bindings, Scope
    from tapegrad.sizes import Name, Size


@dataclass(frozen=True, slots=True)
class Sizes:
    """A declared shape: sizes, and if `many`, any number of sizes in between, which may have a name."""

    before: tuple[Size, ...] = ()
    many: bool = False
    name: Name | None = None
    after: tuple[Size, ...] = ()
    within: Sizes | None = None  # the bound of the name

    def fit(self, shape: tuple[int, ...], place: str, bound: Bindings) -> None:
        """Raise a ShapeError if a shape does not match."""
        if self.within:
            self.within.fit(shape, place, bound)
        before = [bound.valued(size, bound.known) for size in self.before]
        after = [bound.valued(size, bound.known) for size in self.after]
        many = self.many
        if self.name and self.name in bound.known:
            before, many = [*before, *bound.known[self.name]], False
        expected = [*before, *([ANY_NUMBER] if many else []), *after]
        fixed = len(before) + len(after)
        if len(shape) < fixed or (len(shape) > fixed and not many):
            raise _rejection(wrong_rank(bound.call, place, shape, expected), place, shape, expected)
        first_after = -len(after) if many else len(before)
        for axis, size in [*enumerate(before), *enumerate(after, start=first_after)]:
            bound.fit(size, shape[axis], place, partial(_wrong_size, bound.call, place, shape, expected, axis))
        if many and self.name:
            bound.bind(self.name, shape[len(before) : len(shape) - len(after)], place)

    def short(self, shape: str, scope: Scope) -> list[str]:
        """Return expressions that are all true for a matching shape; the first one starts with the shape."""
        fixed = len(self.before) + len(self.after)
        if fixed and self.name in scope.class_names:
            raise NoShortFormError  # the axes after the star differ between instances
        if not self.many and all(isinstance(size, int) for size in self.before):
            return [f"{shape} == {self.before}"]
        parts = self.within.short(shape, scope) if self.within else []
        if fixed or not self.many:
            parts.append(f"__len({shape}) {'>=' if self.many else '=='} {fixed}")
        for axis, size in [*enumerate(self.before), *enumerate(self.after, start=-len(self.after))]:
            parts += scope.fit(size, f"{shape}[{axis}]")
        if self.name:
            parts += [] if parts else [f"{shape} is not None"]
            rest = f"{shape}[{len(self.before)}:{-len(self.after) or ''}]" if fixed else shape
            parts.append(scope.bind(self.name, rest, "is not None"))
        return parts


@dataclass(frozen=True, slots=True)
class Tapes:
    """A declared tape: owned or not, or None for either; a result with names is owned if one of their tapes is."""

    owned: bool | None = None
    names: frozenset[Name] = frozenset()
    merged: bool = False

    def fit(self, owns: bool, place: str, bound: Bindings) -> None:  # noqa: FBT001  # the value under test
        """Raise a TapeError if a tape does not match."""
        expected = self.owned
        if self.names and bound.returning:
            tapes = [bound.tapes.get(name) for name in self.names]
            expected = True if any(tapes) else None if None in tapes else False
        elif self.names and not self.merged:
            (name,) = self.names
            bound.tapes[name] = bound.tapes.get(name, False) or owns
        if expected is not None and owns != expected:
            raise TapeError((tape_missing if expected else tape_unwanted)(bound.call, place))

    def short(self, owns: str, scope: Scope) -> list[str]:
        """Return expressions that are all true for a matching tape."""
        if not self.names:
            return [] if self.owned is None else [owns if self.owned else f"not {owns}"]
        if scope.returning:
            locals_ = [scope.locals.get(name, "None") for name in sorted(self.names, key=str)]
            owned, unknown = " or ".join(locals_), " or ".join(f"{local} is None" for local in locals_)
            return [f"({owns} if {owned} else not {owns} or {unknown})"]
        if self.merged:
            return []
        (name,) = self.names
        local = scope.local(name)
        so_far = f"{local} or {owns}" if name in scope.bound | scope.open else owns
        scope.bound.add(name)
        return [f"({local} := {so_far}) is not None"]


@dataclass(frozen=True, slots=True)
class DTypes:
    """A declared dtype: one of `types`, or any if there are none; and possibly the name of a type variable."""

    types: tuple[type, ...] = ()
    name: Name | None = None

    def fit(self, dtype: np.dtype[Any], place: str, bound: Bindings) -> None:
        """Raise a DTypeError if a dtype does not match."""
        if self.types and not any(_is_a(dtype, one) for one in self.types) and not self._stands_for(dtype):
            expected = " or ".join(map(_name_of, self.types))
            raise DTypeError(wrong_dtype(bound.call, place, dtype.name, expected))
        if self.name:
            bound.bind_dtype(self.name, dtype, place)

    def _stands_for(self, dtype: np.dtype[Any]) -> bool:
        return np.float32 in self.types and stands_for_float32(dtype)

    def short(self, dtype: str, scope: Scope) -> list[str]:
        """Return expressions that are all true for a matching dtype."""
        if len(self.types) == 1 and is_concrete(self.types[0]):
            admits = f"{dtype}.type is {scope.constant(self.types[0])}"
        else:
            admits = f"__issubclass({dtype}.type, {scope.constant(self.types)})" if self.types else ""
        if self.name is None:
            return [admits] if admits else []
        # Equal dtypes are one object, with few exceptions that the full form accepts.
        return [scope.bind(self.name, dtype, f"is not None and {admits}" if admits else "is not None", equals="is")]


def _wrong_size(
    call: str, place: str, shape: tuple[Any, ...], expected: list[Any], axis: int, value: object = None
) -> ShapeError:
    error = _rejection(wrong_size(call, place, shape, expected, axis, value), place, shape, expected)
    error.axes = {place: (axis % len(shape),)}
    return error


def _rejection(message: str, place: str, shape: tuple[Any, ...], expected: list[Any]) -> ShapeError:
    sizes = tuple(size if isinstance(size, int) else str(size) for size in expected)
    return ShapeError(message, shapes={place: tuple(shape)}, expected={place: sizes})


def _is_a(dtype: np.dtype[Any], scalar_type: type) -> bool:
    # On Linux longlong and int64 are two classes with equal dtypes.
    if issubclass(dtype.type, scalar_type) or (is_concrete(scalar_type) and dtype == scalar_type):
        return True
    return dtype.name == "bfloat16" and scalar_type in _CLASSES_OF_BFLOAT16


# Type checkers know bfloat16 as a float; the class of ml_dtypes has none of these base classes.
_CLASSES_OF_BFLOAT16: Final = (np.floating, np.inexact, np.number)


def _name_of(scalar_type: type) -> str:
    return np.dtype(scalar_type).name if is_concrete(scalar_type) else scalar_type.__name__
