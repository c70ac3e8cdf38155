"""Checks composed of other checks: unions, tuples, sequences, variadic arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.errors.messages import with_article
from tapegrad.guard._checks import Check, ClassCheck
from tapegrad.guard._names import NoShortFormError

if TYPE_CHECKING:
    from tapegrad.guard._names import Bindings, Scope


@dataclass(frozen=True, slots=True)
class UnionCheck(Check):
    """A check that a value passes if it passes one of several checks."""

    members: tuple[Check, ...]

    @override
    def kind(self) -> str:
        return " or ".join(dict.fromkeys(member.kind() for member in self.members))

    @override
    def admits(self, value: Any) -> bool:
        return any(member.admits(value) for member in self.members)

    @override
    def is_complete(self) -> bool:
        return all(member.is_complete() for member in self.members)

    @override
    def fit(self, value: Any, place: str, bound: Bindings) -> None:
        errors = []
        before = bound.saved()
        for member in self.members:
            if member.admits(value):
                try:
                    member.fit(value, place, bound)
                except (ShapeError, TapeError, DTypeError) as error:
                    errors.append(error)
                    bound.restore(before)
                else:
                    return
        raise errors[0]

    @override
    def short(self, value: str, scope: Scope) -> str:
        with_names = [member for member in self.members if not isinstance(member, ClassCheck)]
        if len(with_names) > 1 or not self.is_complete():
            raise NoShortFormError  # a member that fails half-way leaves names bound for the next one
        before, waiting = set(scope.bound), scope.waiting
        members = [member.short(value, scope) for member in self.members]
        if scope.waiting > waiting:
            raise NoShortFormError  # a computed size would also be compared if its member does not match
        scope.reopen(scope.bound - before)
        return f"({' or '.join(members)})"


@dataclass(frozen=True, slots=True, eq=False)
class DefaultCheck(Check):
    """A check that accepts the default, and otherwise applies another check."""

    declared: Check
    default: Any

    @override
    def kind(self) -> str:
        return self.declared.kind()

    @override
    def admits(self, value: Any) -> bool:
        return value is self.default or self.declared.admits(value)

    @override
    def is_complete(self) -> bool:
        return self.declared.is_complete()

    @override
    def fit(self, value: Any, place: str, bound: Bindings) -> None:
        if value is not self.default:
            self.declared.fit(value, place, bound)


@dataclass(frozen=True, slots=True)
class TupleCheck(Check):
    """A check for a tuple, with one check for each item."""

    items: tuple[Check, ...]

    @override
    def kind(self) -> str:
        return f"a tuple of {len(self.items)}"

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == len(self.items)

    @override
    def is_complete(self) -> bool:
        return all(item.is_complete() for item in self.items)

    @override
    def fit(self, value: tuple[Any, ...], place: str, bound: Bindings) -> None:
        for position, (check, item) in enumerate(zip(self.items, value, strict=True)):
            check.check(item, f"{place}[{position}]", bound)


@dataclass(frozen=True, slots=True)
class FieldsCheck(Check):
    """A check for a named tuple or a dataclass, with one check for each field."""

    container: type
    fields: tuple[tuple[str, Check], ...]

    @override
    def kind(self) -> str:
        return with_article(self.container.__name__)

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, self.container)

    @override
    def is_complete(self) -> bool:
        return all(check.is_complete() for _, check in self.fields)

    @override
    def fit(self, value: Any, place: str, bound: Bindings) -> None:
        for name, check in self.fields:
            check.check(getattr(value, name), f"{place}.{name}", bound)

    @override
    def short(self, value: str, scope: Scope) -> str:
        if not self.is_complete():
            raise NoShortFormError
        fields = [check.short(f"{value}.{name}", scope) for name, check in self.fields]
        return " and ".join([f"__isinstance({value}, {scope.constant(self.container)})", *fields])


@dataclass(frozen=True, slots=True)
class KeysCheck(Check):
    """A check for a dict with the keys of a `TypedDict`, with one check for each key."""

    name: str
    required: tuple[tuple[str, Check], ...]
    optional: tuple[tuple[str, Check], ...]

    @override
    def kind(self) -> str:
        return f"{with_article(self.name)} with the keys {', '.join(key for key, _ in self.required)}"

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, dict) and all(key in value for key, _ in self.required)

    @override
    def is_complete(self) -> bool:
        return all(check.is_complete() for _, check in (*self.required, *self.optional))

    @override
    def fit(self, value: dict[str, Any], place: str, bound: Bindings) -> None:
        for key, check in (*self.required, *self.optional):
            if key in value:
                check.check(value[key], item_place(place, key), bound)


@dataclass(frozen=True, slots=True)
class EachCheck(Check):
    """A check that applies another one to each item of a collection or of `*args`.

    The items of a set have no order, and those of an iterator could be read only once, so that it is not read.
    """

    container: type
    item: Check

    @override
    def kind(self) -> str:
        return with_article(self.container.__name__.lower())

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, self.container)

    @override
    def is_complete(self) -> bool:
        return self.item.is_complete()

    @override
    def fit(self, value: Any, place: str, bound: Bindings) -> None:
        if isinstance(value, Iterator):
            return
        is_ordered = not isinstance(value, AbstractSet)
        for position, item in enumerate(value):
            self.item.check(item, f"{place}[{position}]" if is_ordered else f"an item of {place}", bound)


@dataclass(frozen=True, slots=True)
class ItemsCheck(Check):
    """A check that applies one check to each key of a mapping, and another to each value."""

    container: type
    key: Check
    value: Check

    @override
    def kind(self) -> str:
        return with_article(self.container.__name__.lower())

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, self.container)

    @override
    def is_complete(self) -> bool:
        return self.key.is_complete() and self.value.is_complete()

    @override
    def fit(self, value: Mapping[Any, Any], place: str, bound: Bindings) -> None:
        for key, item in value.items():
            self.key.check(key, f"a key of {place}", bound)
            self.value.check(item, item_place(place, key), bound)


@dataclass(frozen=True, slots=True)
class KeywordsCheck(Check):
    """A check that applies another one to each argument of `**kwargs`."""

    item: Check

    @override
    def kind(self) -> str:
        return "a dict"

    @override
    def admits(self, value: Any) -> bool:
        return isinstance(value, dict)

    @override
    def is_complete(self) -> bool:
        return self.item.is_complete()

    @override
    def fit(self, value: dict[str, Any], place: str, bound: Bindings) -> None:
        for name, item in value.items():
            self.item.check(item, name, bound)


def item_place(place: str, key: object) -> str:
    """Return the place of a value in a mapping, as it is written: `batch["image"]`."""
    written = f'"{key}"' if isinstance(key, str) else repr(key)
    return f"{place}[{written}]"
