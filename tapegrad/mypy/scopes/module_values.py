"""Values of variables of other modules.

Such a variable has the value that its module assigns once, if neither the module nor the file that is checked assigns
another one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import CallExpr, Import, ImportAll, ImportFrom, MemberExpr, NameExpr, RefExpr, TypeInfo, Var
from mypy.types import AnyType, Instance, get_proper_type

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.mypy_files import in_file, program_file
from tapegrad.mypy.scopes.collections import Use, use_of_variable
from tapegrad.mypy.scopes.file_contents import contents_in
from tapegrad.mypy.scopes.frames import within
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.scopes.written_attributes import is_written
from tapegrad.mypy.sources import constants_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Expression, MypyFile

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.sources import Constants


class ModuleValue(NamedTuple):
    """What a variable of another module is assigned, and the file."""

    value: Expression
    file: MypyFile


def module_value(variable: Var, api: Checker) -> ModuleValue | None:
    """Return what a variable of another module is assigned once; None if it may change, or if it is not read."""
    module, _, name = variable.fullname.rpartition(".")
    if not module or variable.info or module == checked_file(api).fullname:
        return None
    if (constants := constants_of(module, api)) is None or (value := _only_value(variable, constants)) is None:
        return None
    file = constants.file
    if isinstance(get_proper_type(variable.type), AnyType) and not variable.is_inferred:
        return None
    files = {file, checked_file(api), program_file(api)}
    if any(is_written(name, contents_in.of(one)) for one in files) or _is_imported(variable, file):
        return None
    if any(variable in contents_in.of(one).origins for one in (*files - {file}, *_packages_of(module, api))):
        return None
    p = get_proper_type(variable.type)
    is_collection = isinstance(p, Instance) and any(map(p.type.has_base, _COLLECTIONS))
    return None if is_collection and use_of_variable(variable, files) is not Use.READ else ModuleValue(value, file)


_COLLECTIONS: Final = "builtins.list", "builtins.dict", "builtins.set"  # which can be changed


def _only_value(variable: Var, constants: Constants) -> Expression | None:
    """Return what a module assigns to a variable once; None if an edit of it might not be noticed."""
    known = contents_in.of(constants.file).origins.get(variable, [])
    value = known[0].value if len(known) == 1 and known[0].is_steady else None
    if value is None or constants.values is None:
        return value
    if value not in constants.values or variable in _being_read:
        return None
    _being_read.add(variable)
    try:
        return value if _reads_only(value, constants) else None
    finally:
        _being_read.discard(variable)


_being_read: Final[set[Var]] = set()  # a variable may be assigned to itself


def _reads_only(value: Expression, constants: Constants) -> bool:
    """Return whether a value is computed from nothing in its file but constants that are hashed too."""
    called = {node.callee for node in inside(value) if isinstance(node, CallExpr)}
    for node in inside(value):
        if isinstance(node, MemberExpr) and node not in called and _is_class(node.expr):
            return False
        if not isinstance(node, NameExpr) or not isinstance(node.node, Var):
            continue
        is_own = node.node.fullname == f"{constants.file.fullname}.{node.name}"
        if is_own and _only_value(node.node, constants) is None:
            return False
    return True


def _is_class(expression: Expression) -> bool:
    return isinstance(expression, RefExpr) and isinstance(expression.node, TypeInfo)


def _is_imported(variable: Var, file: MypyFile) -> bool:
    """Return whether a file that assigns to a variable may import another value under its name."""
    for one in file.imports:
        if isinstance(one, ImportAll):
            return True
        names = one.ids if isinstance(one, Import) else one.names if isinstance(one, ImportFrom) else []
        if any(variable.name == (renamed or imported) for imported, renamed in names):
            return True
    return False


def _packages_of(module: str, api: Checker) -> list[MypyFile]:
    """Return the packages around a module that have constants: they may import a name and assign to it."""
    parts = module.split(".")
    around = (constants_of(".".join(parts[:count]), api) for count in range(1, len(parts)))
    return [one.file for one in around if one is not None]


@contextmanager
def in_module(known: ModuleValue, api: Checker) -> Iterator[None]:
    """Read an expression where its module is run."""
    with in_file(known.file, api), within(None):
        yield
