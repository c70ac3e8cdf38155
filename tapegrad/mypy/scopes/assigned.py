"""What the methods of a class assign to an attribute of an object."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from mypy.nodes import NameExpr

from tapegrad.mypy.mypy_api import (
    checked_type,
    in_scope_of,
    inside_body,
    is_daemon,
    is_early,
    silenced,
    stored_type,
    types_in_body,
    with_types,
)
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.file_contents import method_of_receiver
from tapegrad.mypy.scopes.frames import Frame, Made, Reading, constructor_frame, within
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.readings import PassCache
from tapegrad.mypy.scopes.written_attributes import is_written_elsewhere, writes_by_methods
from tapegrad.mypy.sources import file_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Expression, FuncDef, MypyFile
    from mypy.types import Type

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
        return [_assigned(one, writes, made, read, api) for one in writes if not _says_nothing(one)]


def _says_nothing(write: Write) -> bool:
    """Return whether an assignment is one of None, or an operator, which keeps the shape of an array."""
    return write.is_operator or getattr(write.value, "fullname", "") == "builtins.None"


def _assigned(
    write: Write,
    writes: list[Write],
    made: Value,
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
    with within(frame), in_scope_of(api, method), with_types(api, _early_types(api, method, value)):
        return Assigned(read(value, position), "" if is_constructor else method.fullname, is_changed)


_early: PassCache[dict[Expression, Type]] = PassCache()  # the types of values of methods, as mypy will find them


def _early_types(api: Checker, method: FuncDef, value: Expression) -> dict[Expression, Type]:
    """Return the types of a value of a method and of its parts, if mypy has not checked the method yet."""
    may_be_unchecked = is_early(api) or is_daemon(api.options)  # the daemon checks a function without the others again
    if not may_be_unchecked or stored_type(api, value) is not None:
        return {}
    return _early.of(value, partial(_checked_early, api, method, value), api, meanwhile={})


def _checked_early(api: Checker, method: FuncDef, value: Expression) -> dict[Expression, Type]:
    with within(None), inside_body(api, method), silenced(api):
        checked_type(api, value, may_be_none=True)
        return types_in_body(api)
