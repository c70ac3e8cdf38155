"""Checks compiled from annotations: each explains a mismatch, and most have a short form, a single expression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.errors.kinds import described
from tapegrad.errors.messages import tensor_hint, with_article, wrong_number
from tapegrad.guard._names import NoShortFormError
from tapegrad.sizes import Dim
from tapegrad.tensors import Tensor
from tapegrad.tensors.operands import is_concrete

if TYPE_CHECKING:
    from tapegrad.guard._names import Bindings, Scope
    from tapegrad.guard._parts import DTypes, Sizes, Tapes
    from tapegrad.sizes import Size


class Check(ABC):
    """A check of a value against an annotation."""

    __slots__ = ()

    @abstractmethod
    def kind(self) -> str:
        """Return the expected type as text, without sizes."""

    @abstractmethod
    def admits(self, value: Any) -> bool:
        """Return whether a value has the expected type, without comparing sizes."""

    def is_complete(self) -> bool:
        """Return whether the check is complete without beartype."""
        return True

    def check(self, value: Any, place: str, bound: Bindings) -> None:
        """Raise an error that says why a value does not match."""
        if self.admits(value):
            self.fit(value, place, bound)
        elif self.is_complete():
            expected = self.kind()
            given = described(value) if "'" in expected else kind_of(value)  # beside strings that are expected
            if isinstance(value, str) and "'" in expected:
                raise ValueError(f"{bound.call}: {place} is {given} but {expected} is expected")
            hint = tensor_hint(place, given) if expected == "a tensor" else ""
            raise DTypeError(f"{bound.call}: {place} is {given} but {expected} is expected{hint}")

    def fit(self, value: Any, place: str, bound: Bindings) -> None:  # noqa: B027  # many checks compare only the type
        """Raise an error if a value of the expected type has sizes, a tape or a dtype that do not match."""

    def short(self, value: str, scope: Scope) -> str:  # noqa: ARG002  # used by checks that have a short form
        """Return an expression that is true only for matching values."""
        raise NoShortFormError


class Anything(Check):
    """A check that accepts any value."""

    __slots__ = ()

    @override
    def kind(self) -> str:
        return "anything"

    @override
    def admits(self, value: Any) -> bool:
        return True

    @override
    def short(self, value: str, scope: Scope) -> str:
        return "True"


class Other(Anything):
    """A check left to beartype; it rejects only tensors."""

    __slots__ = ()

    @override
    def kind(self) -> str:
        return "something else"

    @override
    def admits(self, value: Any) -> bool:
        return not isinstance(value, Tensor)

    @override
    def is_complete(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class ClassCheck(Check):
    """A check for an instance of a plain class."""

    words: str
    classes: tuple[type, ...]

    @override
    def kind(self) -> str:
        return self.words

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, self.classes)

    @override
    def short(self, value: str, scope: Scope) -> str:
        if self.classes == (type(None),):
            return f"{value} is None"
        return f"__isinstance({value}, {scope.constant(self.classes)})"


@dataclass(frozen=True, slots=True)
class WordCheck(Check):
    """A check for one of several strings: `padding: Literal["same", "valid"]`."""

    words: tuple[str, ...]

    @override
    def kind(self) -> str:
        return " or ".join(map(repr, self.words))

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    @override
    def short(self, value: str, scope: Scope) -> str:
        return f"{value} in {scope.constant(self.words)}"


@dataclass(frozen=True, slots=True)
class SizeCheck(Check):
    """A check for an int that is a size: `n: N`."""

    size: Size

    @override
    def kind(self) -> str:
        return "an int"

    @override
    def admits(self, value: Any) -> bool:
        return _is_size(value)

    @override
    def fit(self, value: int, place: str, bound: Bindings) -> None:
        expected = bound.valued(self.size, bound.known)
        bound.fit(expected, value, place, partial(_wrong_number, bound.call, place, value, expected))

    @override
    def short(self, value: str, scope: Scope) -> str:
        return " and ".join([f"{value}.__class__ is __int", *scope.fit(self.size, value)])


@dataclass(frozen=True, slots=True)
class ShapeCheck(Check):
    """A check for a tuple of ints that is a shape: `shape: tuple[N, M]`."""

    sizes: Sizes

    @override
    def kind(self) -> str:
        return "a tuple of ints"

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, tuple) and all(map(_is_size, value))

    @override
    def fit(self, value: tuple[int, ...], place: str, bound: Bindings) -> None:
        self.sizes.fit(value, place, bound)


@dataclass(frozen=True, slots=True)
class DTypeCheck(Check):
    """A check for a NumPy scalar type: `dtype: type[D]`."""

    dtypes: DTypes

    @override
    def kind(self) -> str:
        return "a NumPy scalar type"

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, type) and issubclass(value, np.generic) and is_concrete(value)

    @override
    def fit(self, value: type[np.generic], place: str, bound: Bindings) -> None:
        self.dtypes.fit(np.dtype(value), place, bound)


@dataclass(frozen=True, slots=True)
class TensorCheck(Check):
    """A check for a tensor with a shape, a tape and a dtype."""

    cls: type[Tensor[Any, Any, Any]]
    sizes: Sizes
    tapes: Tapes
    dtypes: DTypes

    @override
    def kind(self) -> str:
        return "a tensor" if self.cls is Tensor else with_article(self.cls.__name__)

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, self.cls)

    @override
    def fit(self, value: Tensor[Any, Any, Any], place: str, bound: Bindings) -> None:
        self.sizes.fit(value.shape, place, bound)
        self.tapes.fit(value.owns_tape, place, bound)
        self.dtypes.fit(value.dtype, place, bound)

    @override
    def short(self, value: str, scope: Scope) -> str:
        shape = scope.fresh()
        sizes = self.sizes.short(shape, scope)
        if sizes:
            sizes[0] = sizes[0].replace(shape, f"({shape} := {value}.data.shape)", 1)
        tapes = self.tapes.short(f"{value}.tape.owns", scope)
        dtypes = self.dtypes.short(f"{value}.data.dtype", scope)
        return " and ".join([f"__isinstance({value}, {scope.constant(self.cls)})", *sizes, *tapes, *dtypes])


def _is_size(value: object) -> bool:
    """Return whether a value is an int and no bool; in a summary, sizes may be symbolic."""
    return isinstance(value, int | Dim) and not isinstance(value, bool)


def _wrong_number(call: str, place: str, number: int, expected: Size, value: object = None) -> ShapeError:
    return ShapeError(wrong_number(call, place, number, expected, value))


def kind_of(value: object) -> str:
    """Return the type of a value, as text for messages."""
    if value is None:
        return "None"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "a tensor" if type(value).__name__ == "Tensor" else with_article(type(value).__name__)
