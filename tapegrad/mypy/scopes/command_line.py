"""Options of scripts: what `args.width` is after `args = parser.parse_args()`, by the calls of `add_argument`.

An option is known if one call adds it to the parser, or to one of its groups, and if the file uses the parser for
nothing that could change the option, such as `set_defaults`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    AssignmentStmt,
    CallExpr,
    ConditionalExpr,
    FuncDef,
    IfStmt,
    IntExpr,
    ListExpr,
    MatchStmt,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    ReturnStmt,
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.mypy_api import checked_file, stored_type
from tapegrad.mypy.mypy_files import in_file, program_file
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.file_contents import is_defined_once, steady_value
from tapegrad.mypy.scopes.frames import Expressions, Items, Nothing
from tapegrad.mypy.scopes.functions import written_with_file
from tapegrad.mypy.scopes.names import ScopeCache, inside, nodes_in
from tapegrad.mypy.scopes.written_attributes import is_unwritten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Expression, Node, TypeInfo

    from tapegrad.mypy.mypy_api import Checker

_PARSER: Final = "argparse.ArgumentParser"
NAMESPACE: Final = "argparse.Namespace"
PARSE: Final = ("parse_args", "parse_intermixed_args")
PARSE_KNOWN: Final = ("parse_known_args", "parse_known_intermixed_args")  # with the list of what is not known
_GROUPS: Final = ("add_argument_group", "add_mutually_exclusive_group")
_READING: Final = ("error", "exit", "format_help", "format_usage", "print_help", "print_usage")
# Arguments of a parser, and of an option, that change neither the name of an option nor what it is.
_OF_PARSER: Final = {"add_help", "allow_abbrev", "description", "epilog", "formatter_class", "prog", "usage"}
_OF_OPTION: Final = {"choices", "default", "dest", "help", "metavar", "required", "type"}
_OF_FLAG: Final = {"action", "dest", "help"}
_FLAGS: Final = {"store_true": False, "store_false": True}  # what they are if the user does not give them


class Option(NamedTuple):
    """An option that a script adds to its parser.

    Attributes:
        given: The keyword arguments of the call of `add_argument`.
        is_positional: Whether it has no dash, so that the user always writes it.
    """

    given: dict[str, Expression]
    is_positional: bool


class Condition(NamedTuple):
    """A condition of a branch, and whether it holds there; None if that depends on patterns."""

    expression: Expression
    holds: bool | None


def defaults_of(call: CallExpr, api: Checker) -> dict[str, Expression | bool | None]:
    """Return the options that `parser.parse_args()` returns without a command line, by their names.

    A script is checked as it runs without options. One that the user has to give, or that is not known, is None. The
    result is empty if not all options are known, or if the file changes the command line.
    """
    parser = _parser_of(call)
    match call:
        case CallExpr(args=[ListExpr(items=[]) | TupleExpr(items=[])], arg_names=[None | "args"]) if _is_plain(call):
            is_given = False
        case CallExpr(args=[]):
            is_given = _uses.of(checked_file(api)).has_command_line
        case CallExpr(args=[NameExpr() as line], arg_names=[None | "args"]) if _is_plain(call):  # `parse_args(argv)`
            given = Expressions.value_of(line, api)
            is_given = (
                _uses.of(checked_file(api)).has_command_line if isinstance(given, Nothing) else given != Items(())
            )
        case _:
            return {}
    options = {} if parser is None or is_given else _options_of(parser, api) or {}
    return {name: _default_of(option) for name, option in options.items()}


def _default_of(option: Option | None) -> Expression | bool | None:
    """Return the value of an option that the user does not give; None if it has to be given or is not known."""
    given = {} if option is None else option.given
    if "default" in given and {*given} <= {*_OF_OPTION, "nargs"} and "required" not in given:
        return given["default"]
    action = given.get("action") if {*given} <= _OF_FLAG else None
    return _FLAGS.get(action.value) if isinstance(action, StrExpr) else None


def conditions_around(namespace: Expression, api: Checker) -> Sequence[Condition]:
    """Return the conditions on options below which `args` of `args.width` is, where others may be given too.

    Below `if args.data == "large":`, `args.width` need not be the default.
    """
    return _conditions.of(checked_file(api)).get(namespace, ())


def _read_conditions(file: Node | None) -> dict[Expression, list[Condition]]:
    """Return the conditions on a name, or on something that is computed from it, around each place with the name."""
    computed: dict[Node, set[Node]] = {}
    branches: list[tuple[Condition, Any]] = []
    for node in nodes_in.of(file):
        match node:
            case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=value):
                computed.setdefault(variable, set()).update(_variables(value))
            case IfStmt(expr=[condition], body=[body], else_body=other):
                branches += [(Condition(condition, holds=True), body), (Condition(condition, holds=False), other)]
            case ConditionalExpr(cond=condition, if_expr=body, else_expr=other):
                branches += [(Condition(condition, holds=True), body), (Condition(condition, holds=False), other)]
            case OpExpr(op="and" | "or" as sign, left=left, right=right):
                branches.append((Condition(left, holds=sign == "and"), right))
            case MatchStmt(subject=subject, bodies=bodies):
                branches.append((Condition(subject, holds=None), bodies))
    found: dict[Expression, list[Condition]] = {}
    for condition, branch in branches:
        choosing = _variables(condition.expression)
        pending = [*choosing]
        while pending:
            new = computed.get(pending.pop(), set()) - choosing
            choosing |= new
            pending += new
        for one in inside(branch):
            if isinstance(one, NameExpr) and one.node in choosing:
                found.setdefault(one, []).append(condition)
    return found


def _variables(scope: Any) -> set[Node]:
    return {one.node for one in inside(scope) if isinstance(one, NameExpr) and isinstance(one.node, Var)}


def is_whole_option(expression: Expression, api: Checker) -> bool:
    """Return whether an expression of type Any is a whole number, because options of a script are."""
    match expression:
        case IntExpr():
            return True
        case OpExpr(op="+" | "-" | "*" | "//", left=left, right=right):
            return is_whole_option(left, api) and is_whole_option(right, api)
        case NameExpr(node=Var() as variable):
            value, _ = steady_value(variable, api)
            return isinstance(value, MemberExpr) and is_whole_option(value, api)
        case MemberExpr(expr=NameExpr(node=Var() as variable), name=name):
            t = get_proper_type(stored_type(api, expression.expr) or variable.type)
            value, _ = steady_value(variable, api)
            if not isinstance(t, Instance) or t.type.fullname != NAMESPACE or not isinstance(value, CallExpr):
                return False
            return _is_whole(value, name, t.type, api)
    return False


def _is_whole(call: CallExpr, name: str, namespace: TypeInfo, api: Checker) -> bool:
    """Return whether a call returns a namespace with an option that is surely a whole number."""
    callee = call.callee
    if isinstance(callee, RefExpr) and isinstance(callee.node, FuncDef) and not callee.node.info:
        function, file = written_with_file(callee.node, api)
        if function is None or file is None or is_changed(function, api) or not is_defined_once(function, file):
            return False
        returned = [node.expr for node in inside(function.body) if isinstance(node, ReturnStmt)]
        with in_file(file, api):
            value = returned[0] if len(returned) == 1 else None
            if isinstance(value, NameExpr) and isinstance(value.node, Var):
                value, _ = steady_value(value.node, api)
            return isinstance(value, CallExpr) and _is_whole_in(value, name, namespace, api)
    return _is_whole_in(call, name, namespace, api)


def _is_whole_in(call: CallExpr, name: str, namespace: TypeInfo, api: Checker) -> bool:
    parser = _parser_of(call)
    if parser is None or "namespace" in call.arg_names or len(call.args) > 1:
        return False
    option = (_options_of(parser, api) or {}).get(name)
    if option is None or not is_unwritten(namespace, name, {checked_file(api), program_file(api)}):
        return False
    given = option.given
    kind, default = given.get("type"), given.get("default")
    if not {*given} <= _OF_OPTION or not isinstance(kind, RefExpr) or kind.fullname != "builtins.int":
        return False
    required = given.get("required")
    is_required = isinstance(required, NameExpr) and required.fullname == "builtins.True"
    return _is_number(default, api) if default is not None else option.is_positional or is_required


def _is_number(default: Expression, api: Checker) -> bool:
    if isinstance(default, IntExpr) or (isinstance(default, UnaryExpr) and isinstance(default.expr, IntExpr)):
        return True
    t = get_proper_type(stored_type(api, default))
    return isinstance(t, Instance) and t.type.fullname == "builtins.int"


def _parser_of(call: CallExpr) -> Var | None:
    """Return the parser whose command line a call parses, by the name of the method."""
    match call.callee:
        case MemberExpr(expr=NameExpr(node=Var() as parser), name=name) if name in (*PARSE, *PARSE_KNOWN):
            return parser
    return None


def _options_of(parser: Var, api: Checker) -> dict[str, Option | None] | None:
    """Return the options of a parser by their names, None for one that several calls add; None if not all are known."""
    uses = _uses.of(checked_file(api))
    made, _ = steady_value(parser, api)
    if not isinstance(made, CallExpr) or not isinstance(made.callee, RefExpr) or made.callee.fullname != _PARSER:
        return None
    if not _is_plain(made) or not {*made.arg_names} <= _OF_PARSER:
        return None
    options: dict[str, Option | None] = {}
    pending, seen = [parser], {parser}
    while pending:
        for call in uses.calls.get(pending.pop(), ()):
            name = call.callee.name if call is not None and isinstance(call.callee, MemberExpr) else ""
            if call is None or (name in _GROUPS and call not in uses.groups):
                return None
            if name in _GROUPS:
                group = uses.groups[call]
                pending += [group] if group not in seen and steady_value(group, api)[0] is call else []
                seen.add(group)
            elif name == "add_argument":
                label, option = _option(call)
                if label is None:
                    return None
                options[label] = None if label in options else option
            elif name not in (*PARSE, *PARSE_KNOWN, *_READING):
                return None
    return options


def _option(call: CallExpr) -> tuple[str | None, Option]:
    """Return the name of the attribute that an option becomes, None if it is computed, and the option."""
    given = {name: value for name, value in zip(call.arg_names, call.args, strict=True) if name is not None}
    flags = [one for one, name in zip(call.args, call.arg_names, strict=True) if name is None]
    names = [one.value for one in flags if isinstance(one, StrExpr)]
    long = [one for one in names if one.startswith("--")]
    option = Option(given, is_positional=not any(one.startswith("-") for one in names))
    if not _is_plain(call) or len(names) < len(flags):
        return None, option
    if "dest" in given:
        return given["dest"].value if isinstance(given["dest"], StrExpr) else None, option
    name = next(iter([*long, *names]), None)
    return None if name is None else name.lstrip("-").replace("-", "_"), option


def _is_plain(call: CallExpr) -> bool:
    """Return whether no argument of a call has a star."""
    return {*call.arg_kinds} <= {ARG_POS, ARG_NAMED}


class _Uses(NamedTuple):
    """What a file does with its variables.

    Attributes:
        calls: The calls of the methods of each variable; None for any other use.
        groups: The variables that results of such calls are assigned to.
        has_command_line: Whether it mentions `sys.argv`, and so may change it.
    """

    calls: dict[Node, list[CallExpr | None]]
    groups: dict[Expression, Var]
    has_command_line: bool


def _read(file: Node | None) -> _Uses:
    nodes = nodes_in.of(file)
    targets: Any = [node.lvalues for node in nodes if isinstance(node, AssignmentStmt)]
    targets += [[node.lvalue] for node in nodes if isinstance(node, OperatorAssignmentStmt)]
    mentioned = (one.fullname for one in (*nodes, *inside(targets)) if isinstance(one, RefExpr))
    uses = _Uses({}, {}, has_command_line="sys.argv" in mentioned)
    methods = {
        call.callee.expr: call for call in nodes if isinstance(call, CallExpr) and isinstance(call.callee, MemberExpr)
    }
    for node in nodes:
        if isinstance(node, NameExpr) and isinstance(node.node, Var):
            uses.calls.setdefault(node.node, []).append(methods.get(node))
        match node:
            case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=CallExpr() as call):
                uses.groups[call] = variable
    return uses


_uses = ScopeCache(_read)
_conditions = ScopeCache(_read_conditions)
