"""Assignments to attributes of objects, and constants of classes: which of them surely keep their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import Decorator, MemberExpr, NameExpr, Var

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.mypy_files import Program, program_file
from tapegrad.mypy.scopes.collections import Use, set_up_methods, use_after_set_up
from tapegrad.mypy.scopes.file_contents import ANY_NAME, checked_contents, contents_in
from tapegrad.mypy.sources import file_of, is_class_of_library

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.nodes import Expression, MypyFile, TypeInfo

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.file_contents import Contents, Write

_CONSTRUCTORS: Final = ("__init__", "__post_init__")


def keeps_sizes(expression: Expression, api: Checker) -> bool:
    """Return whether an attribute, read by this expression, was assigned once, in the constructor of its object."""
    if not isinstance(expression, MemberExpr):
        return False
    contents = checked_contents(api)
    method = contents.receivers.get(expression.expr.node) if isinstance(expression.expr, NameExpr) else None  # type: ignore[arg-type]  # None is no key
    return method is not None and write_by_constructor(method.info, expression.name, contents) is not None


def constructor_value(info: TypeInfo, name: str, api: Checker) -> tuple[Expression | None, str]:
    """Return what a constructor assigns to an attribute, if nothing else in the file does, and its full name."""
    written = write_by_constructor(info, name, checked_contents(api))
    if written is None or written.method is None:
        return None, ""
    return written.value, written.method.fullname


def writes_by_methods(info: TypeInfo, name: str, api: Checker) -> list[Write] | None:
    """Return the assignments to an attribute of an object, all by methods of its classes; None if there are others."""
    contents = checked_contents(api)
    writes = related_writes(info, name, contents)
    is_changed = Program.tree is not None and is_written(name, contents_in.of(Program.tree), info)
    if contents.is_dynamic or is_changed or any(write.method is None for write in writes):
        return None
    return (
        None
        if any(name in base.names and isinstance(base.names[name].node, Decorator) for base in info.mro)
        else writes
    )


def class_constant(info: TypeInfo, name: str, api: Checker) -> tuple[Expression | None, MypyFile | None]:
    """Return the value of a class constant, if no file that is read assigns to it again, and its file."""
    base = next((one for one in info.mro if name in one.names), None)
    home = file_of(base.module_name, api) if base is not None else None
    files = {program_file(api), checked_file(api), *_files_of(info, api)}
    if base is None or home is None:
        return None, None
    if any(file is None or related_writes(info, name, contents_in.of(file)) for file in files):
        return None, None
    if any(file is not None and contents_in.of(file).is_dynamic for file in files):
        return None, None
    values = contents_in.of(home).constants.get((base.fullname, name), [])
    return (values[0], home) if len(values) == 1 else (None, None)


def is_set_up(info: TypeInfo, name: str, api: Checker, *, as_list: bool) -> bool:
    """Return whether only constructors of a class, and methods that only they call, assign to an attribute.

    Of a list, only these methods change it, or give it to others that may.
    """
    files = files_with(info, api)
    return all(file is not None and _is_set_up_in(file, info, name, as_list=as_list) for file in files)


def files_with(info: TypeInfo, api: Checker) -> set[MypyFile | None]:
    """Return the files that may change an object of a class; None for one that cannot be read."""
    return {program_file(api), checked_file(api), *_files_of(info, api)}


def _is_set_up_in(file: MypyFile, info: TypeInfo, name: str, *, as_list: bool) -> bool:
    contents = contents_in.of(file)
    if contents.is_dynamic:
        return False
    methods = set_up_methods(file)
    writes = related_writes(info, name, contents)
    if any(write.method is None or write.method not in methods for write in writes):
        return False
    return not as_list or use_after_set_up(file, info, name) is Use.READ


def is_unwritten(info: TypeInfo, name: str, files: Iterable[MypyFile]) -> bool:
    """Return whether none of some files assigns to a field of an object."""
    return is_frozen(info, name) or not any(is_written(name, contents_in.of(file), info) for file in files)


def is_written_elsewhere(info: TypeInfo, name: str, home: MypyFile, api: Checker) -> bool:
    """Return whether a file that is read may assign to an attribute of an object, beside the file of its constructor.

    These are the file that mypy checks, the one with the statement that is read, and those of the object's classes.
    """
    files = {program_file(api), checked_file(api), *_files_of(info, api)} - {home}
    return any(file is None or is_written(name, contents_in.of(file), info) for file in files)


def is_replaced(info: TypeInfo, name: str, api: Checker) -> bool:
    """Return whether a file that is read may assign to an attribute of an object again, after its constructor."""
    files = {program_file(api), checked_file(api)}
    writes = [one for file in files for one in related_writes(info, name, contents_in.of(file))]
    return len(writes) > 1 and any(one.method is None or one.method.name not in _CONSTRUCTORS for one in writes)


def has_rival_files(info: TypeInfo, api: Checker) -> bool:
    """Return whether the classes of an object are in several files that may assign to the same attribute."""
    files = _files_of(info, api)
    if len(files) < 2:
        return False
    if None in files:
        return True
    written = [
        {
            name
            for name, writes in contents_in.of(file).writes.items()
            if any(write.method is not None and _are_related(write.method.info, info) for write in writes)
        }
        for file in files
    ]
    return len(set().union(*written)) < sum(map(len, written))


def _files_of(info: TypeInfo, api: Checker) -> set[MypyFile | None]:
    """Return the files of the program with the classes of an object; None for one that cannot be read."""
    modules = {base.module_name for base in info.mro if not is_class_of_library(base)}
    return {file_of(module, api) for module in modules}


def is_frozen(info: TypeInfo, name: str) -> bool:
    """Return whether no attribute of a class can be assigned to, or not this one."""
    if info.is_named_tuple or any(base.is_named_tuple for base in info.mro):
        return True
    if any(base.metadata.get("dataclass", {}).get("frozen") for base in info.mro):
        return True
    symbol = info.get(name)
    return symbol is not None and isinstance(symbol.node, Var) and (symbol.node.is_final or symbol.node.is_property)


def is_written(name: str, contents: Contents, info: TypeInfo | None = None) -> bool:
    """Return whether the file may assign to an attribute of an object that it has not made at that moment."""
    return contents.is_dynamic or any(
        write.method is None
        or (info is not None and _are_related(write.method.info, info) and write.method.name not in _CONSTRUCTORS)
        for write in _writes(name, contents)
    )


def _writes(name: str, contents: Contents) -> list[Write]:
    return [*contents.writes.get(name, ()), *contents.writes.get(ANY_NAME, ())]


def write_by_constructor(info: TypeInfo, name: str, contents: Contents) -> Write | None:
    """Return the only assignment to an attribute, if the constructor makes it; None if there is none, or another."""
    if contents.is_dynamic or (Program.tree is not None and is_written(name, contents_in.of(Program.tree), info)):
        return None
    symbol = info.get(name)
    if symbol is not None and not isinstance(symbol.node, Var):  # a property, whose setter may do anything
        return None
    writes = related_writes(info, name, contents)
    write, method = (writes[0], writes[0].method) if len(writes) == 1 else (None, None)
    if write is None or method is None or not write.is_steady:
        return None
    return write if method.name == "__init__" and method.info in info.mro else None


def related_writes(info: TypeInfo, name: str, contents: Contents) -> list[Write]:
    """Return the assignments to an attribute in a file that may be to one of an object of a class."""
    writes = _writes(name, contents)
    return [write for write in writes if write.method is None or _are_related(write.method.info, info)]


def only_constant(info: TypeInfo, name: str, contents: Contents) -> Expression | None:
    """Return the value of a class constant that the file assigns once."""
    values = contents.constants.get((info.fullname, name), [])
    return values[0] if len(values) == 1 and not is_written(name, contents, info) else None


def _are_related(one: TypeInfo, other: TypeInfo) -> bool:
    return one in other.mro or other in one.mro
