"""Keys of objects that are compared by identity."""

from __future__ import annotations

from typing_extensions import override


class Same:
    """A key that equals only a key of the same object.

    It keeps the object alive, because the `id` of an object that is gone is soon that of another one.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    @override
    def __hash__(self) -> int:
        return id(self.value)
