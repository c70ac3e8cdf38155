"""Functions of the program whose bodies may be read, with the frames in which they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import ExpressionStmt, YieldExpr, YieldFromExpr
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.features.body_state import UnreadError
from tapegrad.mypy.features.closures import changed_around, inner_functions
from tapegrad.mypy.features.declarations import may_say_more
from tapegrad.mypy.mypy_api import BodiesRead, can_read_bodies, checked_file, enclosing_function
from tapegrad.mypy.mypy_files import program_file
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.file_contents import is_defined_once
from tapegrad.mypy.scopes.frames import ClassOf, Frame, Made, Reading
from tapegrad.mypy.scopes.named_values import object_frame
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.sources import is_marked, module_of, source_of, why_unread

if TYPE_CHECKING:
    from mypy.nodes import FuncDef, MypyFile
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value

MOST_CALLS: Final = 12  # calls inside of bodies that are read


def frame_with(function: FuncDef, values: dict[str, Value], receiver: Made | ClassOf | None, api: Checker) -> Frame:
    """Return the frame of a function, with the values that a call gives it; a number that is not known is opaque."""
    scope, outer, around = _place(function, api)
    numbers = {one.variable.name for one in function.arguments if _is_whole_number(one.variable.type)}
    values = {name: value for name, value in values.items() if value is not None or name not in numbers}
    if around is not None:
        return Frame(scope, values, around.receiver, {**around.variables}, outer=outer, around=around)
    if function.is_class and receiver is not None:
        return Frame(scope, values, None, {function.arguments[0].variable: ClassOf(receiver.info)})
    of = object_frame(receiver if isinstance(receiver, Made) else None, api)
    return of._replace(scope=scope, values=values, outer=outer)


def _is_whole_number(t: Type | None) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == "builtins.int"


def _place(function: FuncDef, api: Checker) -> tuple[str, str, Frame | None]:
    """Return the full names of a function and of that around it, and the frame of the latter if its body is read."""
    if function in Reading.functions:
        around, _ = Reading.functions[function]
        return f"{around.scope}.{function.name}", around.scope, around
    outer = "" if module_of(function) else inner_functions.of(program_file(api)).get(function, "")
    return f"{outer}.{function.name}" if outer else function.fullname, outer, None


def may_be_read(function: FuncDef, api: Checker) -> bool:
    """Return whether a function is one of the program whose body may say more than its declaration."""
    return can_read_bodies(api.options) and is_of_program(function, api) and may_say_more(function)


def is_of_program(function: FuncDef, api: Checker) -> bool:
    """Return whether a function is one of the program, whose statements may be known."""
    if function in Reading.functions:
        return True
    tree, module = program_file(api), module_of(function)
    if not module:
        return not tree.is_stub and function in inner_functions.of(tree)
    if module != tree.fullname:
        return is_marked(module, api)
    return bool(function.body.body) and not tree.is_stub


def written_in_file(function: FuncDef, api: Checker) -> tuple[MypyFile, FuncDef]:
    """Return a function with its statements, and its file.

    Raises:
        UnreadError: They cannot be read.
    """
    if function in Reading.functions:
        return Reading.functions[function][1], function
    module, program = module_of(function), program_file(api)
    if module == program.fullname or not module:
        if checked_file(api) is not program:
            raise UnreadError(f"the files {module} and {checked_file(api).fullname} call each other")
        return program, function
    source = source_of(module, api)
    if source is None:
        raise UnreadError(why_unread(module))
    if function.fullname not in source.functions:
        raise UnreadError(f"{module} defines it inside of another statement")
    written = source.functions[function.fullname]
    if any(written.line <= line <= (written.end_line or written.line) for line in source.rejected):
        raise UnreadError("it uses names that are not defined")
    return source.tree, written


def require_readable(function: FuncDef, api: Checker) -> None:
    """Check that the body of a function can be read.

    Raises:
        UnreadError: It cannot.
    """
    if BodiesRead.depth >= MOST_CALLS:
        raise UnreadError(f"more than {MOST_CALLS} calls lead to it")
    if function in active or function is enclosing_function(api):
        raise UnreadError("it calls itself")
    if reason := why_unreadable(function, api) or _why_unknown_around(function, api):
        raise UnreadError(reason)


def _why_unknown_around(function: FuncDef, api: Checker) -> str:
    """Return why the variables around a function inside of another one are not known, as a clause; empty if they are.

    Those of a body that is read have the types that they have at the call.
    """
    if function in Reading.functions or module_of(function):
        return ""
    changed = changed_around(function, api)
    return "" if changed is None else f"it reads {changed.name}, which may have other types at other calls"


def is_only_one(function: FuncDef, file: MypyFile) -> bool:
    """Return whether a function is the only one of its name."""
    return function in Reading.functions or not module_of(function) or is_defined_once(function, file)


def why_unreadable(function: FuncDef, api: Checker | None = None) -> str:
    """Return why the body of a function is read for no call, as a clause; empty if it may be read.

    Without mypy's checker, each decorator that is a function of the program is a reason.
    """
    for is_unreadable, reason in (
        (is_changed(function, api), "it has a decorator"),
        (function.is_generator and not _only_yields(function), "it is a generator that uses what is sent to it"),
        (function.is_coroutine, "it is asynchronous"),
        (function.is_property, "it is a property"),
    ):
        if is_unreadable:
            return reason
    return ""


def _only_yields(function: FuncDef) -> bool:
    """Return whether each `yield` of a generator is a statement."""
    nodes = [*inside(function)]
    statements = {node.expr for node in nodes if isinstance(node, ExpressionStmt) and isinstance(node.expr, YieldExpr)}
    return all(node in statements for node in nodes if isinstance(node, YieldExpr | YieldFromExpr))


active: set[FuncDef] = set()
