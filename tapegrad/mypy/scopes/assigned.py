"""What the methods of a class assign to an attribute of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from mypy.nodes import NameExpr

from tapegrad.mypy.mypy_api import in_scope_of, with_types
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.early_types import early_types
from tapegrad.mypy.scopes.file_contents import method_of_receiver
from tapegrad.mypy.scopes.frames import Frame, Made, Reading, constructor_frame, within
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.written_attributes import is_written_elsewhere, writes_by_methods
from tapegrad.mypy.sources import file_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Expression, MypyFile

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.file_contents import Write
    from tapegrad.mypy.scopes.frames import Value

T = TypeVar("T")


class Assigned(NamedTuple, Generic[T]):
    """What is read of a value that a method assigns to an attribute.

    Attributes:
        value: What is read of it; None if that is unclear.
        scope: The full name of the method, whose parameters mean nothing elsewhere; "" of the constructor.
        is_changed: Whether operators such as `self.x += y` change the attribute.
    """

    value: T | None
    scope: str
    is_changed: bool


def assigned_by_methods(
    owner: Expression, name: str, read: Callable[[Expression, int | None], T | None], api: Checker
) -> list[Assigned[T]]:
    """Return what is read of each value that methods assign to an attribute of an object, except None.

    The list is empty if anything else may assign to it, or if several files do.

    Args:
        owner: The object.
        name: The attribute.
        read: Takes a value, and the position in it if the attribute is unpacked from it.
        api: The checker.
    """
    method = method_of_receiver(owner.node, api) if isinstance(owner, NameExpr) else None
    made = object_of(owner, api)
    info = made.info if isinstance(made, Made) else method.info if method is not None else None
    if info is None or (not isinstance(made, Made) and Reading.frame is not None):
        return []
    homes: list[MypyFile] = []
    for home in dict.fromkeys(file_of(base.module_name, api) for base in info.mro):
        if home is not None:
            with in_file(home, api):
                homes += [home] if writes_by_methods(info, name, api) != [] else []
    if len(homes) != 1 or is_written_elsewhere(info, name, homes[0], api):
        return []
    with in_file(homes[0], api):
        writes = writes_by_methods(info, name, api) or []
        return [_assigned(one, writes, made, homes[0], read, api) for one in writes if not _says_nothing(one)]


def _says_nothing(write: Write) -> bool:
    """Return whether an assignment is one of None, or an operator, which keeps the shape of an array."""
    return write.is_operator or getattr(write.value, "fullname", "") == "builtins.None"


def _assigned(
    write: Write,
    writes: list[Write],
    made: Value,
    home: MypyFile,
    read: Callable[[Expression, int | None], T | None],
    api: Checker,
) -> Assigned[T]:
    method = write.method
    value, position = write.unpacked if write.unpacked is not None else (write.value, None)
    is_changed = any(one.is_operator for one in writes)
    if method is None or value is None or not write.is_steady:
        return Assigned(None, "", is_changed)
    is_constructor = method.name == "__init__"
    frame = None
    if isinstance(made, Made):
        constructors = {made.constructor, *dict(made.inherited)}
        if is_constructor and method.fullname not in constructors:
            return Assigned(None, "", is_changed)
        frame = constructor_frame(made, method.fullname) if is_constructor else Frame(method.fullname, {}, made, {})
    with within(frame), in_scope_of(api, method), with_types(api, early_types(method, home, api)):
        return Assigned(read(value, position), "" if is_constructor else method.fullname, is_changed)
