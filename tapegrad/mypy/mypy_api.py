"""All uses of mypy outside its plugin interface, so that a new mypy version breaks only this module."""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from stat import S_IFREG
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias

from mypy import expandtype, maptype, typeops, types_utils, typevars
from mypy.argmap import map_actuals_to_formals
from mypy.checker import DeferredNode, PartialTypeScope
from mypy.constant_fold import constant_fold_expr
from mypy.erasetype import erase_typevars
from mypy.errorcodes import NO_ANY_RETURN
from mypy.errors import Errors, ErrorWatcher
from mypy.fscache import FileSystemCache
from mypy.indirection import TypeIndirectionVisitor
from mypy.literals import literal_hash
from mypy.modulefinder import BuildSource
from mypy.nodes import (
    ARG_POS,
    GDEF,
    LDEF,
    ArgKind,
    Block,
    CallExpr,
    Decorator,
    Expression,
    ExpressionStmt,
    FuncDef,
    FuncItem,
    IndexExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OverloadedFuncDef,
    SymbolNode,
    SymbolTableNode,
    TempNode,
    TypeInfo,
    Var,
)
from mypy.nodes import TypeAlias as AliasNode
from mypy.operators import op_methods
from mypy.options import Options
from mypy.plugin import Plugin
from mypy.plugins.default import DefaultPlugin
from mypy.scope import Scope
from mypy.semanal_shared import has_placeholder
from mypy.state import state as _state
from mypy.subtypes import find_member, is_subtype
from mypy.traverser import NameAndMemberCollector
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    Overloaded,
    PlaceholderType,
    ProperType,
    Type,
    TypeOfAny,
    TypeVarTupleType,
    UnboundType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)
from mypy.util import decode_python_encoding, hash_digest
from typing_extensions import override

from tapegrad.mypy.mypy_files import program_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from mypy.build import BuildResult, State
    from mypy.errorcodes import ErrorCode
    from mypy.errors import ErrorInfo
    from mypy.nodes import Context, Statement
    from mypy.patterns import Pattern

    from tapegrad.mypy.mypy_continued import ContinuedFile

_OWN_CODES: Final = {"tapegrad-shape", "tapegrad-tape", "tapegrad-dtype"}
UNKNOWN: Final = "tapegrad-unknown"
UNUSED: Final = "tapegrad-unused"

# mypy's functions of types, as they are.
expand_type: Final = expandtype.expand_type
fill_typevars: Final = typevars.fill_typevars
get_all_type_vars: Final = typeops.get_all_type_vars
map_instance_to_supertype: Final = maptype.map_instance_to_supertype
remove_optional: Final = types_utils.remove_optional

# mypy.checker.TypeChecker has more than CheckerPluginInterface; other modules use it only through this one.
Checker: TypeAlias = Any


def make(api: Checker) -> Callable[[str, list[Type]], Instance]:
    """Return a function that makes an instance of a class by full name, also if the checked file does not import it."""

    def instance(fullname: str, arguments: list[Type]) -> Instance:
        module, name = _split(fullname)
        info: TypeInfo = api.modules[module].names[name].node
        return Instance(info, arguments)

    return instance


def lookups_behind(plugin: Plugin, api: Checker, lookup: str, fullname: str) -> list[Callable[[str], Any]]:
    """Return how the plugins after another one are queried for a hook, including mypy's default plugin.

    The default plugin always answers the same for a name, so it is left out where it has no hook.
    """
    chain: list[Plugin] = getattr(api.plugin, "_plugins", [plugin])
    asks = [(other, getattr(other, lookup)) for other in chain[chain.index(plugin) + 1 :]]
    return [ask for other, ask in asks if type(other) is not DefaultPlugin or ask(fullname) is not None]


def constant_value(expression: Expression) -> object:
    """Return the value of a constant or of an expression of constants, such as `2 * 0.5`; None for any other."""
    return constant_fold_expr(expression, "")


def method_of_operator(operator: str) -> str:
    """Return the method that an operator such as `+` calls; empty if it calls none."""
    return op_methods.get(operator, "")


def names_used(scope: Node) -> set[str]:
    """Return the names, attributes and methods that a file or a function uses, without those of `super()`."""
    collector = NameAndMemberCollector()  # compiled, as this search visits every node of a file
    scope.accept(collector)
    used = [*collector.name_exprs, *collector.member_exprs]
    return {one.name for one in used if isinstance(one, NameExpr | MemberExpr)}


def enclosing_function(api: Checker) -> FuncItem | None:
    """Return the function whose body is being checked."""
    function: FuncItem | None = api.scope.current_function()
    return function


def returned_type(api: Checker) -> ProperType | None:
    """Return the declared return type of the function whose body is being checked."""
    return get_proper_type(api.return_types[-1]) if api.return_types else None


def expected_type(api: Checker) -> ProperType | None:
    """Return the type that mypy expects of the expression that it checks: of the parameter or variable it is for."""
    expected = api.type_context[-1]
    return get_proper_type(expected) if expected is not None else None


def outermost_scope(api: Checker) -> Node:
    """Return the top-level function that is being checked, or the file if there is none."""
    scope: Node = api.scope.top_level_function() or api.scope.stack[0]
    return scope


@contextmanager
def in_scope_of(api: Checker, function: FuncDef) -> Iterator[None]:
    """Let variables be those of a function of the file, of which expressions are read that mypy has checked."""
    before = api.scope
    api.scope = type(before)(api.tree)
    api.scope.stack += [function.info, function] if function.info else [function]
    try:
        yield
    finally:
        api.scope = before


def note(api: Checker, text: str, context: Context) -> None:
    """Report a note, which does not count as an error."""
    api.msg.note(text, context)


def module_tree(api: Checker, variable: Var) -> MypyFile | None:
    """Return the file that defines a module-level name, if it is the one being checked.

    Any other file may come from mypy's cache, without statements, and results must not depend on that.
    """
    tree: MypyFile = api.tree
    return tree if tree.fullname == variable.fullname.rpartition(".")[0] else None


def checked_file(api: Checker) -> MypyFile:
    """Return the file that is being checked."""
    tree: MypyFile = api.tree
    return tree


def checked_path(api: Checker) -> str:
    """Return the path of the file that is being checked, as mypy reads it."""
    path: str = api.path
    return path


def rejected_so_far(api: Checker) -> frozenset[int]:
    """Return the lines of the file that is being checked with errors, and those with errors that are ignored."""
    return rejected_lines(api.errors, api.path)


def shown_path(path: str, api: Checker) -> str:
    """Return the path of a file as mypy shows it."""
    shown: str = api.errors.simplify_path(path)
    return shown


def scalar_type(api: Checker, name: str) -> Type | None:
    """Return a scalar type of NumPy, also one that is an alias in its stubs; None if it does not exist."""
    tree = api.modules.get("numpy")
    symbol = tree.names.get(name) if tree is not None else None
    node = symbol.node if symbol is not None else None
    if isinstance(node, AliasNode):
        return node.target
    return Instance(node, []) if isinstance(node, TypeInfo) else None


def declared_function(api: Checker, fullname: str) -> CallableType | None:
    """Return the signature of a function as declared, without its decorators."""
    signatures = declared_signatures(api, fullname)
    return signatures[0] if len(signatures) == 1 else None


def declared_signatures(api: Checker, fullname: str) -> list[CallableType]:
    """Return the signatures of a function as declared, of which an overloaded one has several."""
    module, name = _split(fullname)
    tree = api.modules.get(module)
    symbol = tree.names.get(name) if tree is not None else None
    node = symbol.node if symbol is not None else None
    function = node.func if isinstance(node, Decorator) else node
    declared = get_proper_type(function.type) if isinstance(function, FuncDef | OverloadedFuncDef) else None
    if isinstance(declared, Overloaded):
        return declared.items
    return [declared] if isinstance(declared, CallableType) else []


@cache
def _split(fullname: str) -> tuple[str, str]:
    module, _, name = fullname.rpartition(".")
    return module, name


class Trial(NamedTuple):
    """The outcome of a call that is only tried: its type, and the errors that it would report."""

    result: Type
    errors: list[tuple[str, ErrorCode | None]]


class Argument(NamedTuple):
    """An argument of a call that is tried: its type, its kind and its name."""

    given: Type
    kind: ArgKind = ARG_POS
    name: str | None = None


def tried_method(api: Checker, receiver: Type, name: str, arguments: list[Argument], context: Context) -> Trial:
    """Check a method call on argument types, with all hooks of a real call, and collect its errors."""
    expressions = [TempNode(one.given, context=context) for one in arguments]
    kinds, names = [one.kind for one in arguments], [one.name for one in arguments]
    checker = api.expr_checker
    with api.msg.filter_errors(save_filtered_errors=True) as watcher:
        fullname = checker.method_fullname(receiver, name)
        method = checker.analyze_external_member_access(name, receiver, context)
        depend_on_method(api, receiver, name, method)
        method = checker.transform_callee_type(fullname, method, expressions, kinds, context, names, receiver)
        result, _ = checker.check_call(method, expressions, kinds, context, names, None, fullname, receiver)
    errors = [(error.message, error.code) for error in watcher.filtered_errors() if error.severity == "error"]
    return Trial(result, errors)


def tried_call(api: Checker, function: Type, arguments: list[Argument], context: Context) -> Trial:
    """Check a call of a function, or of an object with `__call__`, as `tried_method` checks that of a method."""
    p = get_proper_type(function)
    if isinstance(p, Instance):
        return tried_method(api, p, "__call__", arguments, context)
    expressions = [TempNode(one.given, context=context) for one in arguments]
    kinds, names = [one.kind for one in arguments], [one.name for one in arguments]
    definition = p.definition if isinstance(p, CallableType) else None
    fullname = definition.fullname if definition is not None else None
    checker = api.expr_checker
    with api.msg.filter_errors(save_filtered_errors=True) as watcher:
        depend_on(api, p)
        callee = checker.transform_callee_type(fullname, p, expressions, kinds, context, names)
        result, _ = checker.check_call(callee, expressions, kinds, context, names, None, fullname)
    errors = [(error.message, error.code) for error in watcher.filtered_errors() if error.severity == "error"]
    return Trial(result, errors)


def type_of_call(api: Checker, info: TypeInfo, arguments: list[Argument]) -> tuple[Type | None, list[ErrorInfo]]:
    """Return the type that a call of a class on argument types has, with all hooks, and the errors, if it has none."""
    name = NameExpr(info.name)
    name.node, name.fullname, name.kind = info, info.fullname, GDEF
    expressions: list[Expression] = [TempNode(one.given) for one in arguments]
    call = CallExpr(name, expressions, [one.kind for one in arguments], [one.name for one in arguments])
    with api.msg.filter_errors(save_filtered_errors=True) as watcher, api.local_type_map:
        found: Type = api.expr_checker.accept(call)
    errors = [error for error in watcher.filtered_errors() if error.severity == "error"]
    return None if errors else found, errors


class BodiesRead:
    """How many functions are being read for the results of calls, one inside the other."""

    depth = 0
    watchers: ClassVar[list[ErrorWatcher]] = []  # that collect the errors, one of each function
    maps: ClassVar[list[int]] = []  # which of mypy's maps of types is that of each function
    errors: Errors | None = None  # in which errors of bodies have been reported
    reports: ClassVar[dict[tuple[str, int], list[_Report]]] = {}  # these, by file and line
    held_back: ClassVar[list[_Report]] = []  # that mypy keeps aside, and stores later if it keeps the result


def report_in_body(api: Checker, message: str, lines: tuple[int, ...], at: Context, code: ErrorCode) -> None:
    """Report an error in a body that was read, with the lines of the calls that lead to it, innermost first.

    A line shows one such error, that of the first call, and none that mypy finds without the call. The others are
    hidden: the daemon, which checks in another order, checks functions with hidden errors again after each edit.
    """
    errors = api.errors
    if BodiesRead.errors is not errors:
        BodiesRead.errors = errors
        BodiesRead.reports.clear()
        BodiesRead.held_back.clear()
    stored = errors.error_info_map.setdefault(errors.file, [])
    aside = [watcher._filtered for watcher in errors._watchers if watcher._filtered is not None]
    before = [len(infos) for infos in (stored, *aside)]
    api.fail(message, at, code=code)
    api.msg.note(f"in the call on line {', '.join(map(str, lines))}", at, code=code)
    if len(stored) > before[0]:
        BodiesRead.reports.setdefault((errors.file, at.line), []).append(_Report(lines[::-1], stored[before[0] :]))
        _show_first(errors, errors.file, at.line)
        return
    for infos, length in zip(aside, before[1:], strict=True):
        if len(infos) > length:
            BodiesRead.held_back.append(_Report(lines[::-1], infos[length:]))


def is_reported(api: Checker, at: Context, code: ErrorCode | None) -> bool:
    """Return whether mypy itself, and no body read for a call, has reported an error of this code at a place.

    It checks the value of an attribute twice, the second time with the type that the attribute has from the first.
    """
    errors = api.errors
    of_bodies = [info for one in BodiesRead.reports.get((errors.file, at.line), ()) for info in one.infos]
    return not BodiesRead.depth and any(
        (info.line, info.column, info.code) == (at.line, at.column, code) and not any(info is one for one in of_bodies)
        for info in errors.error_info_map.get(errors.file, ())
    )


class _Report(NamedTuple):
    """An error in a body that was read, and its notes.

    Attributes:
        lines: Those of the calls, outermost first.
    """

    lines: tuple[int, ...]
    infos: list[ErrorInfo]


def _show_first(errors: Errors, file: str, line: int, arriving: ErrorInfo | None = None) -> bool:
    """Show one of the errors in bodies on a line, and hide all others; return whether there is one.

    Args:
        errors: Those that mypy has stored.
        file: The path.
        line: The line.
        arriving: An error that mypy is about to store.
    """
    on_line = [one for one in errors.error_info_map.get(file, ()) if one.line == line]
    on_line += [] if arriving is None else [arriving]
    present = {*map(id, on_line)}
    reports = [one for one in BodiesRead.reports.get((file, line), ()) if id(one.infos[0]) in present]
    BodiesRead.reports[file, line] = reports  # the daemon drops those of functions that it checks again
    if not reports:
        return False
    first = min(reports, key=lambda one: (one.lines, one.infos[0].message))
    of_bodies = {id(info) for one in reports for info in one.infos}
    for info in on_line:
        if id(info) in of_bodies or (info.severity == "error" and _is_rejection(info.code)):
            info.hidden = not any(info is one for one in first.infos)
    return True


@contextmanager
def deferring_nothing(api: Checker) -> Iterator[None]:
    """Check expressions without letting mypy check the function around again, as it does if a name has no type yet."""
    deferred, is_deferred = len(api.deferred_nodes), api.current_node_deferred
    try:
        yield
    finally:
        del api.deferred_nodes[deferred:]
        api.current_node_deferred = is_deferred


@contextmanager
def inside_body(api: Checker, function: FuncDef) -> Iterator[Callable[[], list[ErrorInfo]]]:
    """Check expressions of another function of the file, and leave everything as it was.

    Yields a function that returns the errors so far.
    """
    checker = api.expr_checker
    binder, cache = api.binder, checker.expr_cache
    api.binder, checker.expr_cache = type(binder)(api.options), {}
    api.return_types.append(AnyType(TypeOfAny.special_form))
    api.dynamic_funcs.append(False)
    api.partial_types.append(PartialTypeScope({}, True, True))  # noqa: FBT003  # a native class: by position
    BodiesRead.depth += 1
    try:
        with (
            deferring_nothing(api),
            api.msg.filter_errors(save_filtered_errors=True) as watcher,
            api.local_type_map,
            api.binder.top_frame_context(),
            in_scope_of(api, function),
        ):
            BodiesRead.watchers.append(watcher)
            BodiesRead.maps.append(len(api._type_maps) - 1)
            yield lambda: [error for error in watcher.filtered_errors() if _is_rejection(error.code, error.severity)]
    finally:
        BodiesRead.depth -= 1
        del BodiesRead.watchers[BodiesRead.depth :], BodiesRead.maps[BodiesRead.depth :]
        api.partial_types.pop()
        api.binder, checker.expr_cache = binder, cache
        api.return_types.pop()
        api.dynamic_funcs.pop()


def expect_elements(api: Checker, variable: Var, target: NameExpr, value: Expression) -> None:
    """Let the statements that fill an empty list or dict give its variable the type, as mypy does."""
    api.infer_partial_type(variable, target, api.expr_checker.accept(value))


def any_list(api: Checker) -> Instance:
    """Return the type of a list of anything."""
    return make(api)("builtins.list", [AnyType(TypeOfAny.special_form)])


def any_tuple(api: Checker) -> Instance:
    """Return the type of a tuple of anything, of any length."""
    return make(api)("builtins.tuple", [AnyType(TypeOfAny.special_form)])


def fill_element(api: Checker, target: IndexExpr, value: Expression) -> None:
    """Let a dict that is empty so far take its type from an element that is assigned, as mypy does."""
    api.try_infer_partial_type_from_indexed_assignment(target, value)


def names_in_body(api: Checker, function: FuncDef) -> set[str]:
    """Return what a body in another file that was read depends on, for a daemon; it has that of its own files."""
    if api.tree is program_file(api) or not (api.options.fine_grained_incremental or api.options.cache_fine_grained):
        return set()
    from mypy.server.deps import get_dependencies_of_target

    version, types = api.options.python_version, types_in_body(api)
    triggers = get_dependencies_of_target(api.tree.fullname, api.tree, function, types, version)
    return {trigger[1:-1] for trigger in triggers if not trigger.startswith(_UNCHANGING)}


def depend_on_types_in_body(api: Checker) -> None:
    """Make the file depend on the modules of the types in a body in another file, as mypy does it for its own types."""
    if api.tree is not program_file(api):
        api.module_refs.update(_modules.find_modules([*types_in_body(api).values()]))


def types_in_body(api: Checker) -> dict[Expression, Type]:
    """Return the types of the expressions in the body that is being read."""
    types: dict[Expression, Type] = api._type_maps[-1]
    return types


def type_in_body(api: Checker, expression: Expression) -> Type | None:
    """Return the type of an expression in the body that is being read; None if it has not been read.

    While mypy checks a call, it notes types in a map of its own, and those of earlier statements are in another.
    """
    maps = api._type_maps[BodiesRead.maps[-1] :] if BodiesRead.maps else []
    return next((types[expression] for types in reversed(maps) if expression in types), None)


def is_of_library(declared: Type) -> bool:
    """Return whether a type is a signature of tapegrad itself, which no edit of the program changes."""
    definition = declared.definition if isinstance(declared, CallableType) else None
    return definition is not None and definition.fullname.startswith("tapegrad.")


def depend_on(api: Checker, declared: Type) -> None:
    """Make the file being checked depend on all modules whose classes and aliases a signature mentions.

    mypy collects these dependencies from the types of a file's expressions, and a signature with opened parameters no
    longer mentions them. Without this, a warm run would not check the file again after a change there.
    """
    if is_of_library(declared):
        return
    if is_daemon(api.options):  # which empties `module_refs` before it checks a function again
        api.module_refs.update(_modules.find_modules([declared]))
        return
    if _Visited.module_refs is not api.module_refs:
        _Visited.module_refs, _Visited.visitor = api.module_refs, TypeIndirectionVisitor()
    declared.accept(_Visited.visitor)
    _Visited.module_refs |= _Visited.visitor.modules


def depend_on_method(api: Checker, receiver: Type, name: str, method: Type) -> None:
    """Make the file depend on a method that it does not call itself, such as `forward` of a model's layers.

    The daemon checks again the code that depends on a changed name. It collects the names from the file's own calls,
    and adds those in `alias_deps`.
    """
    depend_on(api, method)
    p = get_proper_type(receiver)
    if isinstance(p, Instance):
        program_file(api).alias_deps[api.tscope.current_target()].add(f"{p.type.fullname}.{name}")


_modules = TypeIndirectionVisitor()


class _Visited:
    """The dependencies of the file being checked, and the types that were visited for them, each once."""

    module_refs: ClassVar[set[str]] = set()
    visitor: ClassVar[TypeIndirectionVisitor] = TypeIndirectionVisitor()


@contextmanager
def silenced(api: Checker) -> Iterator[None]:
    """Suppress errors while expressions are read, because mypy reads them again and reports the errors then."""
    with api.msg.filter_errors():
        yield


@contextmanager
def past_trial(api: Checker) -> Iterator[None]:
    """Report errors although mypy is only trying an overload or an operator, whose errors it would discard."""
    watchers = api.msg.errors._watchers
    is_trial = watchers and not (BodiesRead.depth and watchers[-1] is BodiesRead.watchers[-1])
    trial = watchers.pop() if is_trial else None
    try:
        yield
    finally:
        if trial is not None:
            watchers.append(trial)


def method_signature(api: Checker, receiver: Instance, name: str) -> FunctionLike | None:
    """Return the bound signature of a method; None if the attribute is not callable."""
    found = get_proper_type(api.expr_checker.analyze_external_member_access(name, receiver, TempNode(receiver)))
    depend_on_method(api, receiver, name, found)
    return found if isinstance(found, FunctionLike) else None


def declared_attribute(owner: Type, name: str) -> Type | None:
    """Return the type that the class of an object declares for an attribute, with the type arguments of the object."""
    p = get_proper_type(owner)
    symbol = p.type.get(name) if isinstance(p, Instance) else None
    variable = symbol.node if symbol is not None else None
    if not isinstance(p, Instance) or not isinstance(variable, Var) or variable.type is None:
        return None
    return expandtype.expand_type_by_instance(variable.type, map_instance_to_supertype(p, variable.info))


def needs_others(api: Checker, layer: Type) -> bool:
    """Return whether a layer requires more than one argument."""
    p = get_proper_type(layer)
    signature = method_signature(api, p, "forward") if isinstance(p, Instance) else None
    return isinstance(signature, CallableType) and sum(kind.is_required() for kind in signature.arg_kinds) > 1


def called(t: Type) -> CallableType | None:
    """Return the signature for calling a value of a type; None if it is not callable, or overloaded."""
    return method_of(t, "__call__")


def method_of(t: Type, name: str) -> CallableType | None:
    """Return the signature of a method of a type, or of a function if the name is `__call__`; None if overloaded."""
    p = get_proper_type(t)
    if not isinstance(p, Instance):
        return p if isinstance(p, CallableType) and name == "__call__" else None
    found = get_proper_type(find_member(name, p, p))
    return found if isinstance(found, CallableType) else None


def narrow(api: Checker, expression: Expression, t: Type) -> None:
    """Narrow a name or an attribute from here on, as an `isinstance` check does."""
    api.binder.put(expression, t)


def narrow_in_loops(api: Checker, expression: NameExpr | MemberExpr, change: Callable[[Type], Type]) -> None:
    """Change the type that a name or an attribute was bound to from here on, and where the loops around it begin.

    After a loop, mypy would take the union of the types before and after it for the type.
    """
    key, frames = literal_hash(expression), api.binder.frames
    for frame_around in frames if api.binder.continue_frames else ():
        current = frame_around.types.get(key)
        if current is not None:
            frame_around.types[key] = type(current)(change(current.type), current.from_assignment)
    now = newest_binding(expression, api)
    if now is not None and (changed := change(now)) is not now:
        narrow(api, expression, changed)


def narrowed(api: Checker, variable: Var) -> Type | None:
    """Return the type that a local variable was last bound or narrowed to; None if it was not."""
    return newest_binding(name_of(variable), api)


def name_of(variable: Var) -> NameExpr:
    """Return an expression that reads a local variable."""
    name = NameExpr(variable.name)
    name.node, name.kind = variable, LDEF
    return name


def frame(
    api: Checker,
    *,
    can_skip: bool = False,
    fall_through: int = 1,
    conditional_frame: bool = False,
    try_frame: bool = False,
) -> AbstractContextManager[object]:
    """Return a context in which types are narrowed on one of several ways of a program, as mypy's binder defines it."""
    context: AbstractContextManager[object] = api.binder.frame_context(
        can_skip=can_skip, fall_through=fall_through, conditional_frame=conditional_frame, try_frame=try_frame
    )
    return context


def end_here(api: Checker) -> None:
    """Let what follows in the innermost frame be unreachable."""
    api.binder.unreachable()


def caught_type(api: Checker, kind: Expression) -> Type:
    """Return the type of the exceptions that a handler catches."""
    caught: Type = api.check_except_handler_test(kind, is_star=False)
    return caught


def entered_type(api: Checker, t: Type, manager: Expression) -> Type:
    """Return the type of what a `with` statement binds: the result of `__enter__`."""
    entered: Type = api.expr_checker.check_method_call_by_name("__enter__", t, [], [], manager)[0]
    return entered


class Matched(NamedTuple):
    """What a pattern of `match` says of its subject.

    Attributes:
        type: The type of the subject if the pattern matches.
        rest: Its type if the pattern does not match.
        names: The types of the names that the pattern binds.
    """

    type: Type
    rest: Type
    names: dict[Expression, Type]

    @property
    def is_impossible(self) -> bool:
        """Whether the pattern surely does not match."""
        return is_impossible(self.type)


def matched_type(api: Checker, pattern: Pattern, subject: Type) -> Matched:
    """Return what a pattern says of a subject."""
    found = api.pattern_checker.accept(pattern, subject)
    return Matched(found.type, found.rest_type, found.captures)


def is_impossible(t: Type) -> bool:
    """Return whether a type has no values."""
    return isinstance(get_proper_type(t), UninhabitedType)


def is_always(api: Checker, condition: Expression) -> bool | None:
    """Return whether the types of variables make a condition true or false; None if they do not decide it."""
    try:
        if_true, if_false = api.find_isinstance_check(condition)
    except KeyError:  # mypy has not checked the condition yet, or has forgotten its types
        return None
    can_be_true, can_be_false = not _is_unreachable(if_true), not _is_unreachable(if_false)
    return can_be_true if can_be_true != can_be_false else None


def _is_unreachable(narrowed: Any) -> bool:
    return narrowed is None or any(map(is_impossible, narrowed.values()))


def narrow_by_condition(api: Checker, condition: Expression, *, is_true: bool) -> None:
    """Narrow what a condition says of variables from here on."""
    narrowed = api.find_isinstance_check(condition)[0 if is_true else 1]
    if not _is_unreachable(narrowed):
        api.push_type_map(narrowed)


def named_in(api: Any, t: UnboundType) -> str:
    """Return the full name that an annotation refers to; empty if it is not defined yet."""
    symbol = api.lookup_qualified(t.name, t, suppress_errors=True)
    return symbol.fullname or "" if symbol is not None else ""


class NotReadyError(Exception):
    """A class of tapegrad has not been analyzed yet; mypy will analyze the annotation again."""


def wait_for(api: Any, fullname: str, arguments: list[Type]) -> Instance:
    """Return an instance of a class while mypy analyzes annotations, when some classes are not known yet.

    Raises:
        NotReadyError: The class is not known yet; mypy will analyze the annotation again.
    """
    found: Instance | None = api.api.named_type_or_none(fullname, arguments)
    if found is None:
        api.api.record_incomplete_ref()
        raise NotReadyError
    return found


def class_type(api: Any, t: UnboundType) -> Type:
    """Return what mypy reads in an annotation that names a class, with the defaults of omitted type arguments."""
    symbol = api.lookup_qualified(t.name, t)
    read: Type = api.analyze_type_with_type_info(symbol.node, t.args, t, t.empty_tuple_index)
    return read


def is_complete(t: Type) -> bool:
    """Return whether all names in a type have been analyzed; otherwise mypy will analyze it again."""
    return not has_placeholder(t)


def default_argument(instance: Instance, position: int, api: Any) -> Type:
    """Return the default of a class's type parameter.

    Raises:
        NotReadyError: The default has not been analyzed yet; mypy will analyze the annotation again.
    """
    variables = instance.type.defn.type_vars
    default = variables[position].default if position < len(variables) else PlaceholderType(None, [], -1)
    if isinstance(default, PlaceholderType):
        api.api.record_incomplete_ref()
        raise NotReadyError
    return default


def newest_binding(expression: NameExpr | MemberExpr, api: Checker) -> Type | None:
    """Return the type that a name or an attribute was last bound or narrowed to; None if unknown."""
    bound: Type | None = api.binder.get(expression)
    return bound


def stored_type(api: Checker, expression: Expression) -> Type | None:
    """Return the type that an expression had when mypy last checked it; None if mypy has not."""
    stored: Type | None = api.lookup_type_or_none(expression)
    return stored


def has_annotation(variable: Var) -> bool:
    """Return whether a variable or an attribute has an annotation, also one in a method, as in `self.x: int = 1`."""
    return not variable.is_inferred or variable.explicit_self_type


def attribute_variable(expression: MemberExpr, api: Checker) -> SymbolNode | None:
    """Return the class member that an attribute refers to; None if there is none."""
    if expression.node is not None:
        return expression.node
    owner = get_proper_type(api.get_expression_type(expression.expr))
    symbol = owner.type.get(expression.name) if isinstance(owner, Instance) else None
    return symbol.node if symbol is not None else None


def items_of_iterable(t: Type) -> list[Type]:
    """Return the type of the items of an object of an iterable class; none of any other type."""
    p = get_proper_type(t)
    bases = p.type.mro if isinstance(p, Instance) else []
    base = next((one for one in bases if one.fullname == "typing.Iterable"), None)
    return [] if base is None or not isinstance(p, Instance) else [*map_instance_to_supertype(p, base).args]


def simplified_union(items: list[Type]) -> Type:
    """Return the union of types, without duplicates."""
    return typeops.make_simplified_union(items)


def drop_union_context(api: Checker, declared: FunctionLike) -> None:
    """Ignore an expected union for a function with a `TypeVarTuple`, which is then inferred from the arguments alone.

    mypy (2.4.1) would bind the `TypeVarTuple` to a union of what each item expects, which it cannot expand: an
    INTERNAL ERROR. Items that are None expect nothing.
    """
    expected = api.type_context[-1]
    if expected is None or not any(isinstance(variable, TypeVarTupleType) for variable in declared.items[0].variables):
        return
    p = get_proper_type(expected)
    if isinstance(p, UnionType) and sum(not isinstance(get_proper_type(item), NoneType) for item in p.items) > 1:
        api.type_context[-1] = None


def accepts(formal: Type, actual: Type) -> bool:
    """Return whether a parameter accepts an argument for some values of its type variables."""
    return is_subtype(actual, erase_typevars(formal))


def accepts_strictly(formal: Type, actual: Type) -> bool:
    """Return whether a parameter accepts an argument, as under strict optional types, also where they are off."""
    if _state.strict_optional:
        return accepts(formal, actual)
    with _state.strict_optional_set(value=True):
        return accepts(formal, actual)


def pass_of(api: Checker) -> tuple[int, bool]:
    """Return which time it is that mypy goes through the file, and whether it reads the bodies of functions now.

    It may read all statements outside of functions first, and knows no types of expressions in functions before.
    """
    return api.pass_num, api.recurse_into_functions


def checked_type(api: Checker, expression: Expression, *, may_be_none: bool) -> Type:
    """Check an expression where it stands, and return its type.

    Args:
        api: The checker.
        expression: What is checked.
        may_be_none: Whether it may be a call of a function that returns nothing.
    """
    found: Type = api.expr_checker.accept(expression, allow_none_return=may_be_none)
    return found


def quiet_type(api: Checker, expression: Expression) -> Type | None:
    """Check an expression that mypy checks later, without its errors, and return its type; None if it has errors."""
    with api.msg.filter_errors(save_filtered_errors=True) as watcher, api.local_type_map:
        found: Type = api.expr_checker.accept(expression)
    return None if any(error.severity == "error" for error in watcher.filtered_errors()) else found


def type_where(api: Checker, variable: Var, t: Type, expression: Expression) -> Type | None:
    """Return the type of an expression where a variable in it has a type; None if it has errors."""
    before, cache = variable.type, api.expr_checker.expr_cache
    variable.type, api.expr_checker.expr_cache = t, {}
    try:
        with deferring_nothing(api), frame(api):
            narrow(api, name_of(variable), t)
            return quiet_type(api, expression)
    finally:
        variable.type, api.expr_checker.expr_cache = before, cache


@contextmanager
def with_types(api: Checker, types: dict[Expression, Type]) -> Iterator[None]:
    """Let expressions have types that mypy has not stored; what it stores meanwhile is forgotten."""
    api._type_maps += [types, {}]
    try:
        with deferring_nothing(api):
            yield
    finally:
        del api._type_maps[-2:]


def type_of_other(api: Checker, expression: Expression, codes: Iterable[ErrorCode]) -> Type | None:
    """Return the type of an expression that the program has in other words; None if it has errors that are not shown.

    Args:
        api: The checker.
        expression: The expression.
        codes: Those of the errors that are shown.
    """
    shown = frozenset(codes)
    hides = partial(_hides, shown)
    with api.msg.filter_errors(filter_errors=hides, save_filtered_errors=True) as watcher, api.local_type_map:
        found: Type = api.expr_checker.accept(expression)
    hidden = any(error.severity == "error" for error in watcher.filtered_errors() if error.code not in shown)
    return None if hidden else found


def _hides(shown: frozenset[ErrorCode], _: str, error: ErrorInfo) -> bool:
    return error.code not in shown


def iterated_type(api: Checker, several: Expression) -> Type:
    """Return the type of what a loop over an expression binds."""
    found: Type = api.analyze_iterable_item_type(several)[1]
    return found


def file_has_code(api: Checker, code: ErrorCode) -> bool:
    """Return whether an error code that is off by default is on for the file that is being checked."""
    return code in api.options.enabled_error_codes and code not in api.options.disabled_error_codes


def types_so_far(api: Checker) -> dict[Expression, Type]:
    """Return the types of the expressions that have been checked; the daemon may have checked part of the file."""
    types: dict[Expression, Type] = api._type_maps[0]
    return types


def skips_untyped(options: Options) -> bool:
    """Return whether mypy leaves out the bodies of functions without annotations."""
    return not (options.check_untyped_defs or options.disallow_untyped_defs)


def is_daemon(options: Options) -> bool:
    """Return whether mypy stays in memory, and then checks single functions again."""
    return options.fine_grained_incremental


class LastCall(NamedTuple):
    """A call that mypy checks after the functions that it deferred: of a function that no program can name.

    Attributes:
        fullname: Of that function.
        node: The call in mypy's list of deferred functions.
        queue: That list.
    """

    fullname: str
    node: FuncDef
    queue: list[DeferredNode]


def call_last(api: Checker, fullname: str) -> LastCall:
    """Let mypy check a call of a function after everything that it has deferred in the current file.

    The plugin's function hook for that name is then called with all types of the file known.
    """
    return _queued(api, fullname, api.deferred_nodes)


def not_yet_last(api: Checker, call: LastCall) -> LastCall | None:
    """Return the call that follows one which turned out not to be the last; None if it is the last.

    mypy goes through a list while the list grows; a function that it defers once more is in the next list.
    """
    if api.deferred_nodes:
        return _queued(api, call.fullname, api.deferred_nodes)
    return None if call.queue[-1].node is call.node else _queued(api, call.fullname, call.queue)


def _queued(api: Checker, fullname: str, queue: list[DeferredNode]) -> LastCall:
    signature = CallableType([], [], [], NoneType(), api.named_type("builtins.function"))
    function = FuncDef(fullname, [], Block([]), signature)
    function._fullname = fullname
    name = NameExpr(fullname)
    name.node, name.fullname, name.kind = function, fullname, GDEF
    around = FuncDef(fullname, [], Block([ExpressionStmt(CallExpr(name, [], [], []))]), signature)
    around._fullname = api.tree.fullname
    around.def_or_infer_vars = True  # or mypy may skip it
    queue.append(DeferredNode(around, None))
    return LastCall(fullname, around, queue)


class Placed(NamedTuple):
    """A message, where it belongs, and the function that the daemon checks again as a whole; None for the module."""

    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: FuncDef | None


def report_later(api: Checker, placed: list[Placed], code: ErrorCode) -> None:
    """Report errors in a file whose check has ended."""
    errors = api.errors
    before = errors.file, errors.target_module, errors.options, errors.scope
    scope = Scope()
    errors.set_file(api.path, api.tree.fullname, api.options, scope)
    try:
        for one in placed:
            with scope.module_scope(api.tree.fullname), _function_scope(scope, one.function):
                place = {"end_line": one.end_line, "end_column": one.end_column}
                errors.report(one.line, one.column, one.message, code, **place)
    finally:
        errors.set_file(*before)


def _function_scope(scope: Scope, function: FuncDef | None) -> AbstractContextManager[None]:
    return nullcontext() if function is None else scope.function_scope(function)


class Checked(NamedTuple):
    """A file that mypy has checked with its types kept.

    Attributes:
        path: As the user named it.
        tree: Its statements and expressions.
        source: Its text.
        rejected: The lines with errors, and those whose errors a `type: ignore` silences.
        skips_untyped: Whether mypy leaves out functions without annotations.
    """

    path: str
    tree: MypyFile
    source: str
    rejected: frozenset[int]
    skips_untyped: bool


class BuildError(Exception):
    """mypy stopped before it had checked everything; the message is what it said."""


def checked_files(
    arguments: list[str], report: Callable[[list[str]], None]
) -> tuple[list[Checked], dict[Expression, Type]]:
    """Run mypy in this process, and return the files that its arguments name, and the type of each expression in them.

    These files are checked again even if they are cached, because the cache holds no types of expressions; what they
    import comes from the cache.

    Args:
        arguments: Those of mypy's command line.
        report: Called with mypy's messages about each file, errors and notes.

    Raises:
        BuildError: mypy stopped: it could not read a file, or a file is no Python.
        SystemExit: The arguments are wrong, or mypy crashed; it has printed why.
    """
    import gc

    from mypy.build import build
    from mypy.errors import CompileError
    from mypy.fscache import FileSystemCache
    from mypy.main import process_options

    gc.set_threshold(200 * 1000, 30, 30)  # as mypy does at its own start
    files = FileSystemCache()
    targets, options = process_options(arguments, fscache=files)
    options.export_types = True
    options.num_workers = 0  # other processes would keep the types
    sources = [_read_again(target, files) for target in targets]
    _preserve_only(sources, options)
    try:
        built = build(sources, options, None, lambda _, messages, __: report(messages), files)
    except CompileError as error:
        report(error.messages)
        message = "mypy stopped before it had checked everything"
        raise BuildError(message) from error
    built.manager.metastore.close()
    checked = [_checked(source, built) for source in sources if source.text is not None]
    return checked, built.types


def _preserve_only(sources: list[BuildSource], options: Options) -> None:
    """Let mypy preserve the text of the sources alone: of libraries, it would read and check all bodies for that."""
    options.preserve_asts = True
    preserved = {source.module: {"preserve_asts": True} for source in sources}
    for module, changed in {"*.*": {"preserve_asts": False}, **preserved}.items():
        options.per_module_options[module] = {**options.per_module_options.get(module, {}), **changed}


def _read_again(target: BuildSource, files: FileSystemCache) -> BuildSource:
    """Return a target with its text, for which mypy uses no cache."""
    if target.path is None or files.isdir(target.path):
        return target
    with suppress(OSError, SyntaxError):  # mypy itself says what is wrong with the file
        text = decode_python_encoding(files.read(target.path))
        return BuildSource(target.path, target.module, text, target.base_dir)
    return target


def _checked(source: BuildSource, built: BuildResult) -> Checked:
    state = built.graph.get(source.module)
    if state is None or state.tree is None or source.path is None or source.text is None:
        message = f"mypy did not check {source.path}"
        raise BuildError(message)
    rejected = rejected_lines(built.manager.errors, state.xpath)
    return Checked(source.path, state.tree, source.text, rejected, skips_untyped=skips_untyped(state.options))


def _is_rejection(code: ErrorCode | None, severity: str = "error") -> bool:
    return severity == "error" and (code is None or code.code not in (UNKNOWN, UNUSED))


def rejected_lines(errors: Errors, path: str) -> frozenset[int]:
    """Return the lines of a file with errors, and those whose errors a `type: ignore` silences."""
    infos = errors.error_info_map.get(path, ())
    reported = {info.line for info in infos if info.severity == "error" and _is_rejection(info.code)}
    ignored = {line for line, codes in errors.used_ignored_lines.get(path, {}).items() if {*codes} - {UNKNOWN}}
    return frozenset(reported | ignored)


class ParametersOf(Protocol):
    """A function that returns the parameters of a method of a layer or an optimizer; none for other classes."""

    def __call__(self, layer: str, method: str, *, by_position: bool = False) -> list[str]:
        """Return the parameters by the names of both, without `self`; only those by position with `by_position`."""
        ...


class ReportedError(NamedTuple):
    """An error that mypy is about to report, and what mypy knows of its place."""

    code: str
    message: str
    line: int
    owner: str | None  # the class around it
    function: str | None
    may_redefine: bool  # whether `allow_redefinition` is set
    read_source: Callable[[], str | None]  # the text of the file; None if it cannot be read


NO_ERROR: Final = "no error"  # in place of the words of an error that mypy is not to report


class Rewording:
    """Lets a function reword mypy's errors before mypy stores, ignores or prints them.

    mypy asks the handlers on a stack about each error, innermost first. This one is at the bottom, so it sees only
    errors that no trial discards. mypy hands its stack to no plugin, so it is looked up among all objects.

    mypy makes the stack right before the plugin, so that it is among the youngest. A daemon makes another plugin for
    each answer, only to compare its version, when millions of older objects exist; it does not install that one.
    """

    def __init__(self, reword: Callable[[ReportedError], str | None], *, is_used: bool = True) -> None:
        self._reword = reword
        self._handlers = self._handlers_of(gc.get_objects(generation=0) if is_used else ())

    @property
    def errors(self) -> Errors | None:
        """The errors of mypy's run, which also read the files for it; None if they were not found."""
        return next(iter(self._handlers), None)

    def install(self) -> None:
        """Put the handler on the stack, which a daemon empties before each run."""
        self._handlers = self._handlers or self._handlers_of(gc.get_objects())
        for errors, handler in self._handlers.items():
            if handler not in errors._watchers:
                errors._watchers.insert(0, handler)

    def _handlers_of(self, objects: Iterable[object]) -> dict[Errors, ErrorWatcher]:
        return {
            errors: ErrorWatcher(errors, filter_errors=partial(_reword, self._reword, errors))
            for errors in objects
            if type(errors) is Errors and hasattr(errors, "_watchers")
        }


def _reword(reword: Callable[[ReportedError], str | None], errors: Errors, file: str, info: ErrorInfo) -> bool:
    if info.severity == "error" and info.code is not None:
        if errors is BodiesRead.errors:
            _place(errors, file, info)
        owner, function = info.local_ctx
        may_redefine = errors.options.allow_redefinition
        source = partial(_source, errors, file)
        if info.code is NO_ANY_RETURN:
            return _follows_own(errors, file, info)
        error = ReportedError(info.code.code, info.message, info.line, owner, function, may_redefine, source)
        message = reword(error) or info.message
        if message == NO_ERROR:
            _Invariance.dropped = (file, info.line)
            return True
        if message != info.message:
            _Overloads.reworded = (file, info.line, info.column)
            _own_words.add(message)
            info.message = message
            return False
    return _Overloads.repeats(file, info) or _Invariance.explains(file, info)  # if not, mypy goes on with the error


class _Overloads:
    """The place of the last error that was reworded, where mypy may go on with the overloads of the function."""

    reworded: ClassVar[tuple[str, int, int]] = ("", 0, 0)

    @classmethod
    def repeats(cls, file: str, info: ErrorInfo) -> bool:
        """Return whether mypy reports that no overload matches, or which ones there are, after a reworded error."""
        is_about = info.message.startswith(("No overload variant of ", "Possible overload variant", "    def "))
        return is_about and (file, info.line, info.column) == cls.reworded


class _Invariance:
    """The place of the last error that mypy is not to report, after which it may explain that lists are invariant."""

    dropped: ClassVar[tuple[str, int]] = ("", 0)

    @classmethod
    def explains(cls, file: str, info: ErrorInfo) -> bool:
        """Return whether a note of mypy explains an error that was not reported."""
        text = info.message
        is_about = text.endswith("common_issues.html#variance") or text.startswith(("Consider using", "Perhaps you"))
        return is_about and info.severity == "note" and (file, info.line) == cls.dropped


def _place(errors: Errors, file: str, info: ErrorInfo) -> None:
    """Show or hide an error that mypy is about to store, beside those of bodies on its line; mypy asks twice."""
    for report in [one for one in BodiesRead.held_back if one.infos[0] is info]:
        BodiesRead.held_back.remove(report)
        BodiesRead.reports.setdefault((file, info.line), []).append(report)
    reports = BodiesRead.reports.get((file, info.line))
    if reports is None:
        return
    if any(one.infos[0] is info for one in reports):
        _show_first(errors, file, info.line, arriving=info)
    else:
        info.hidden = _is_rejection(info.code) and _show_first(errors, file, info.line)


_own_words: set[str] = set()  # of mypy's errors that were reworded


def _follows_own(errors: Errors, file: str, info: ErrorInfo) -> bool:
    """Return whether a statement returns Any because of an error in it that tapegrad reports or words.

    An error in a body that was read for a call is none: it says nothing of the types that the function declares.
    """
    lines = range(info.line, (info.end_line or info.line) + 1)
    of_bodies = [one for line in lines for each in BodiesRead.reports.get((file, line), ()) for one in each.infos]
    return any(
        one.line in lines
        and one.severity == "error"
        and not any(one is other for other in of_bodies)
        and (one.message in _own_words or (one.code is not None and one.code.code in _OWN_CODES))
        for one in errors.error_info_map.get(file, ())
    )


def _source(errors: Errors, file: str) -> str | None:
    lines = errors.read_source(file) if errors.read_source is not None else None
    return None if lines is None else "\n".join(lines)


_AFTERWARDS: Final = "tapegrad.mypy.after"  # whose hook the entry module returns
_UNIT_NAME: Final = "tapegrad-tapes"
_scheduled: dict[str, Any] = {"api": None, "pass": -1, "statements": None, "units": set()}
_unit_of: dict[CallExpr, tuple[Node, FuncDef, str]] = {}
_types: dict[str, tuple[list[Statement], dict[Expression, Type]]] = {}  # by module, under a daemon only


def can_report(api: Checker) -> bool:
    """Return whether errors of the file being checked are shown."""
    return not api.can_skip_diagnostics


def schedule(api: Checker, unit: Node) -> None:
    """Let mypy check one more function after the unit that is being checked, whose hook then walks over the unit.

    mypy checks the code of a module, and methods that define attributes, before all other functions, and drops what is
    scheduled meanwhile. So for these units the function also becomes a symbol of the module, which mypy checks last.
    """
    before, now = _scheduled, {"api": api, "pass": api.pass_num, "statements": api.tree.defs}
    if before["api"] is not api or before["pass"] != api.pass_num or before["statements"] is not api.tree.defs:
        _scheduled.update(now, units=set())
    if unit in _scheduled["units"]:
        return
    _scheduled["units"].add(unit)
    module: str = api.tree.fullname
    fullname: str = module if isinstance(unit, MypyFile) else unit.fullname  # type: ignore[attr-defined]  # a function
    function = _function_that_calls_back(api, unit, fullname)
    api.defer_node(function, None)
    if isinstance(unit, MypyFile) or unit.def_or_infer_vars:  # type: ignore[attr-defined]  # a function
        name = f"{_UNIT_NAME}-{fullname}"
        function._fullname = f"{module}.{name}"
        api.tree.names[name] = SymbolTableNode(GDEF, function, module_public=False, no_serialize=True)


def _function_that_calls_back(api: Checker, unit: Node, target: str) -> FuncDef:
    nothing = CallableType([], [], [], NoneType(), api.named_type("builtins.function"))
    callee = FuncDef("after", [], Block([]), nothing)
    callee._fullname = _AFTERWARDS
    name = NameExpr("after")
    name.node, name.fullname, name.kind = callee, _AFTERWARDS, GDEF
    call = CallExpr(name, [], [], [])
    function = FuncDef(_UNIT_NAME, [], Block([ExpressionStmt(call)]), nothing)
    function._fullname = target
    for node in (function, function.body, function.body.body[0], call, name):
        node.set_line(unit.line)
    _unit_of[call] = unit, function, target
    return function


_lasting: dict[str, Any] = {"file": None, "statements": 0}


def _set_lasting(file: MypyFile, statements: int) -> None:
    _lasting.update(file=file, statements=statements)


def lasting_statements(file: MypyFile) -> int:
    """Return how many statements of a file are not replaced in the next check, if it continues this one."""
    statements: int = _lasting["statements"] if _lasting["file"] is file else 0
    return statements


def scheduled_unit(api: Checker, call: CallExpr) -> Node | None:
    """Return the unit that a scheduled call stands for; None if it was walked over."""
    unit, function, target = _unit_of.pop(call, (None, None, ""))
    if function is None:
        return None
    api.tree.names.pop(f"{_UNIT_NAME}-{target}", None)
    function._fullname = target  # errors are those of the unit, which the daemon removes when it checks the unit again
    return unit


def store_types(api: Checker) -> None:
    """Store the types of the expressions of a file: the daemon checks some functions again and drops all types."""
    if not api.options.fine_grained_incremental:
        return
    statements = api.tree.defs
    before, types = _types.get(api.tree.fullname, ([], {}))
    if before[:1] != statements[:1]:  # parsed again: no type is that of an expression which is still there
        types = {}
    _types[api.tree.fullname] = statements, types
    types.update(api._type_maps[0])


def type_of(api: Checker, expression: Expression) -> Type | None:
    """Return the type that mypy has inferred for an expression; None if it has not checked the expression."""
    found: Type | None = api._type_maps[0].get(expression)
    return found or _types.get(api.tree.fullname, ([], {}))[1].get(expression)


def depend_on_name(api: Checker, fullname: str) -> None:
    """Let the daemon check the current function again when another one has changed."""
    program_file(api).alias_deps[api.tscope.current_target()].add(fullname)


_reading: dict[MypyFile, tuple[Checker, set[str]]] = {}  # the functions of a file that read bodies, until its end
_names_of: dict[str, set[str]] = {}  # what a file depends on, by module, under a daemon only


def can_read_bodies(options: Options) -> bool:
    """Return whether bodies may be read: the daemon of a mypy before 2.4 would not check a call again after an edit."""
    return not is_daemon(options) or _ASKS_LAST


_ASKS_LAST: Final = hasattr(Plugin, "get_additional_indirect_deps")


def depend_on_bodies(api: Checker) -> None:
    """Let the daemon check the current function again when anything has changed that a function of the file uses.

    Only mypy knows what that is, and only when it has checked the file; the daemon checks single functions later.
    """
    if not (api.options.fine_grained_incremental or api.options.cache_fine_grained):
        return
    target: str = api.tscope.current_target()
    tree = program_file(api)
    tree.alias_deps[target] |= _names_of.get(tree.fullname, set())
    checker, targets = _reading.get(tree, (None, set()))
    _reading[tree] = api, {target, *targets} if checker is api else {target}


def note_dependencies(tree: MypyFile) -> None:
    """Store what a file depends on, for its functions that read bodies; called when mypy has checked the file."""
    api, targets = _reading.pop(tree, (None, ()))
    if api is None:
        return
    from mypy.server.deps import get_dependencies

    triggers = get_dependencies(tree, api._type_maps[0], api.options.python_version, api.options)
    names = {trigger[1:-1] for trigger in triggers if not trigger.startswith(_UNCHANGING)}
    _names_of[tree.fullname] = names
    for target in targets:
        tree.alias_deps[target] |= names


_UNCHANGING: Final = ("<tapegrad.", "<numpy.")


def may_suppress(manager: Type | None) -> bool:
    """Return whether a context manager may suppress an exception: mypy says so if `__exit__` returns a bool."""
    method = method_of(manager, "__exit__") if manager is not None else None
    result = get_proper_type(method.ret_type) if method is not None else None
    return isinstance(result, Instance) and result.type.fullname == "builtins.bool"


def returned_by(function: Node) -> ProperType | None:
    """Return the declared return type of a function."""
    declared = get_proper_type(function.type) if isinstance(function, FuncItem) and function.type is not None else None
    return get_proper_type(declared.ret_type) if isinstance(declared, CallableType) else None


def written_types(declared: CallableType) -> list[Type]:
    """Return the types of a signature's parameters as declared, with their aliases, which mypy expands in a call."""
    function = declared.definition
    written = function.type if isinstance(function, FuncDef) else None
    bound = len(written.arg_types) - len(declared.arg_types) if isinstance(written, CallableType) else 0
    return list(
        written.arg_types[bound:] if isinstance(written, CallableType) and bound in (0, 1) else declared.arg_types
    )


def formals_of(call: CallExpr, declared: CallableType) -> dict[Expression | None, Type]:
    """Return the declared type of the parameter that takes each argument of a call."""
    types = written_types(declared)
    mapped = map_actuals_to_formals(
        call.arg_kinds,
        call.arg_names,
        declared.arg_kinds,
        declared.arg_names,
        lambda _: AnyType(TypeOfAny.special_form),
    )
    return {call.args[actual]: types[formal] for formal, actuals in enumerate(mapped) for actual in actuals}


def analyzed_function(api: Any) -> FuncItem | None:
    """Return the function that mypy is analyzing, while it analyzes annotations."""
    functions = api.api.scope.functions
    function = functions[-1] if functions else None
    return function if isinstance(function, FuncItem) else None


def alias_of(api: Any, fullname: str) -> AliasNode | None:
    """Return an alias by its full name, while mypy analyzes annotations; None if it is not known yet."""
    symbol = api.api.lookup_fully_qualified_or_none(fullname)
    return symbol.node if symbol is not None and isinstance(symbol.node, AliasNode) else None


class UnsavedFiles(FileSystemCache):
    """The files that mypy reads, where texts that an editor or a notebook holds stand in for those on disk."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, bytes] = {}
        self._status: dict[str, os.stat_result] = {}
        self._time = int(time.time())

    def set_texts(self, texts: Mapping[str, str]) -> None:
        """Replace all texts; each one that has changed gets a later time, in the whole seconds that mypy compares."""
        encoded = {path: text.encode(errors="surrogatepass") for path, text in texts.items()}
        changed = [path for path, text in encoded.items() if self._texts.get(path) != text]
        self._texts = encoded
        for path in changed:
            self._time += 1
            inode = -1 - len(self._status) if path not in self._status else self._status[path].st_ino
            fields = (S_IFREG | 0o444, inode, 0, 1, 0, 0, len(encoded[path]), *3 * [self._time])
            self._status[path] = os.stat_result(fields)
        self.flush()

    @override
    def stat_or_none(self, path: str) -> os.stat_result | None:
        return self._status[path] if path in self._texts else super().stat_or_none(path)

    @override
    def read(self, path: str) -> bytes:
        return self._texts[path] if path in self._texts else super().read(path)

    @override
    def hash_digest(self, path: str) -> str:
        return hash_digest(self._texts[path]) if path in self._texts else super().hash_digest(path)

    @override
    def exists(self, path: str, real_only: bool = False) -> bool:
        if path in self._texts:
            return not real_only  # mypy's parser would read the file from the disk
        return super().exists(path, real_only)

    @override
    def listdir(self, path: str) -> list[str]:
        own = {file.name for file in map(Path, self._texts) if str(file.parent) == path}
        names = [] if own and not super().exists(path) else super().listdir(path)
        return [*names, *own - {*names}]


class ResidentMypy:
    """mypy kept in memory for a fixed list of files, of which it checks again what has changed.

    Attributes:
        files: The texts that stand in for files on disk.
        modules: The names of the checked modules, by path.
        has_checked_all: Whether the last check was one of all that has changed, not only of the end of a file.
    """

    def __init__(self, flags: list[str], paths: list[str], texts: Mapping[str, str]) -> None:
        """Read the settings; wrong ones raise SystemExit.

        Args:
            flags: Options of mypy; the cache must be one that no other settings use.
            paths: The files to check.
            texts: The texts that stand in for files.
        """
        from mypy.find_sources import create_source_list

        self._flags = [*flags, "--cache-fine-grained", "-m", "builtins"]  # not what the settings name
        self.files = UnsavedFiles()
        self.files.set_texts(texts)
        self._sources = create_source_list(paths, self._options(), self.files)
        self.modules = {source.path: source.module for source in self._sources if source.path is not None}
        self._new_types: Mapping[Expression, Type] = {}
        self._trees: Mapping[str, MypyFile] = {}
        self._server: Any = None
        self._continued: ContinuedFile | None = None
        self.has_checked_all = False

    def _options(self, *more: str) -> Options:
        from mypy.dmypy_server import process_start_options

        options = process_start_options([*self._flags, *more], allow_sources=False)
        options.raise_exceptions = True
        return options

    def first_check(self) -> list[str]:
        """Check the files once, with a cache that is filled, and return mypy's messages.

        Raises:
            BuildError: mypy stopped before it had checked everything.
        """
        from mypy.build import build
        from mypy.errors import CompileError

        try:
            built = build([*self._sources], self._options(), None, None, self.files)
        except CompileError as error:
            raise BuildError("\n".join(error.messages)) from error
        built.manager.metastore.close()
        return built.errors

    def load(self, *, with_types: bool) -> None:
        """Load the cache that the first check has filled; a check without it takes mypy as long as a first one.

        Args:
            with_types: Whether to find the types of all expressions in the files, which the cache does not have.
        """
        from mypy.dmypy_server import Server

        options = self._options("--use-fine-grained-cache")
        options.export_types = True  # not in the first check, or mypy would check the bodies of all libraries
        self._server = Server(options, os.devnull + ".no_status_file")
        self._server.fscache = self.files
        self.check()  # so that mypy detects the imports that the next check adds
        if with_types:
            self.check(all_files=True)

    def check_end(self, path: str, start: int) -> str:
        """Check the end of a file, and return mypy's messages on the file; those above the end may be missing.

        Args:
            path: The file.
            start: How many lines are above the end; the text there is that of the last call, with more at its end.

        Raises:
            BuildError: mypy stopped before it had checked everything.
        """
        manager = self._server.fine_grained_manager
        if manager is None or not _ASKS_LAST or self._have_changed(path):  # before mypy 2.4 its parts are others
            return self.check()
        lines = self.files.read(path).decode().splitlines(keepends=True)
        try:
            messages = self._continue(manager.graph, path, "".join(lines[:start]), "".join(lines[start:]))
        except Exception as error:  # noqa: BLE001  # mypy's own way to check a file does not depend on this one
            sys.stderr.write(f"tapegrad: {type(error).__name__}: {error}\n")
            return self.check()
        if messages is None:
            continued = self._continued
            found = self.check()
            self._continued = continued  # which nothing but this file depends on
            return found
        self.has_checked_all = False
        return "".join(f"{message}\n" for message in messages)

    def _continue(self, graph: dict[str, State], path: str, above: str, text: str) -> list[str] | None:
        """Return mypy's messages on a file whose end alone is checked; None if the end needs all of it."""
        from tapegrad.mypy.mypy_continued import CannotContinueError, ContinuedFile

        if self._continued is None or not self._continued.is_above(above):
            self._continued = ContinuedFile(graph, self.modules[path], _set_lasting)
        try:
            return self._continued.check(above, text)
        except CannotContinueError:
            return None

    def check(self, *, all_files: bool = False) -> str:
        """Check again what has changed, and return mypy's messages, a line each.

        Args:
            all_files: Whether to check all files again, changed or not.

        Raises:
            BuildError: mypy stopped before it had checked everything.
        """
        self._continued, self.has_checked_all = None, True
        manager = self._server.fine_grained_manager
        if manager is not None:
            manager.manager.all_types.clear()  # else the types of replaced expressions stay
            manager.manager.ast_cache.clear()  # else mypy reports definitions as cyclic that are not
        checked = self._server.check([*self._sources], export_types=all_files, is_tty=False, terminal_width=80)
        manager = self._server.fine_grained_manager
        if checked["err"] or manager is None:
            raise BuildError(checked["err"] or checked["out"])
        self._trees, self._new_types = manager.manager.modules, manager.manager.all_types
        messages: str = checked["out"]
        return messages

    def _have_changed(self, path: str) -> bool:
        """Return whether another file has changed since the last check of all files, or one is there that was not."""
        server, manager = self._server, self._server.fine_grained_manager
        for other, known in server.fswatcher._file_data.items():
            if other == path:
                continue
            now = self.files.stat_or_none(other)
            if (now is None) is not (known is None):
                return True
            if now is not None and (now.st_size, int(now.st_mtime)) != (known.st_size, int(known.st_mtime)):
                return True
        manager.manager.find_module_cache.clear()
        return bool(server.find_added_suppressed(manager.graph, set(), manager.manager.search_paths))

    @property
    def is_loaded(self) -> bool:
        """Whether the cache is loaded, so that the next check reads only what changed."""
        return self._server is not None

    def is_new(self, module: str) -> bool:
        """Return whether a name is a module that mypy has not loaded; `from m import f` may or may not name one."""
        manager = self._server.fine_grained_manager
        return module not in manager.graph and isinstance(manager.manager.find_module_cache.find_module(module), str)

    def package_of(self, path: str) -> str:
        """Return the package that a checked file is in, to which its relative imports refer."""
        module = self.modules.get(path, "")
        return module if Path(path).name.startswith("__init__.") else module.rpartition(".")[0]

    def tree(self, path: str) -> MypyFile | None:
        """Return a file as mypy read it last; None if it could not."""
        return self._trees.get(self.modules[path])

    def new_types(self) -> Mapping[Expression, Type]:
        """Return the types of the expressions that the last check has checked again, in all files."""
        return self._new_types


def character(line: str, column: int) -> int:
    """Return a column of mypy in characters.

    Its former parser counts bytes. Its native one (2.4.1) converts bytes to characters twice: behind one character of
    three bytes it counts two too few.
    """
    if line.isascii():
        return column
    if not Options().native_parser:
        return len(line.encode()[:column].decode(errors="replace"))
    fitting = (place for place in range(len(line), -1, -1) if 2 * place - len(line[:place].encode()) == column)
    return next(fitting, column)
