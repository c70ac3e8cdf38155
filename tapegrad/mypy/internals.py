"""Everything of mypy that is not its plugin interface, so that a new mypy breaks one room."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mypy.erasetype import erase_typevars
from mypy.nodes import (
    ARG_POS,
    ArgKind,
    Decorator,
    Expression,
    FuncDef,
    FuncItem,
    MypyFile,
    Node,
    TempNode,
    TypeInfo,
    Var,
)
from mypy.subtypes import find_member, is_subtype
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    PlaceholderType,
    ProperType,
    Type,
    UnboundType,
    get_proper_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.errorcodes import ErrorCode
    from mypy.nodes import Context

# mypy.checker.TypeChecker has more than CheckerPluginInterface shows; the rest of the plugin asks through here.
Checker: TypeAlias = Any


def make(api: Checker) -> Callable[[str, list[Type]], Instance]:
    """Returns what makes instances of classes by full name, whether or not the file being checked imports them."""

    def made(fullname: str, arguments: list[Type]) -> Instance:
        module, name = _split(fullname)
        info: TypeInfo = api.modules[module].names[name].node
        return Instance(info, arguments)

    return made


def enclosing_function(api: Checker) -> FuncItem | None:
    """Returns the function whose body is being checked."""
    function: FuncItem | None = api.scope.current_function()
    return function


def returned_type(api: Checker) -> ProperType | None:
    """Returns what the function whose body is being checked is declared to give."""
    return get_proper_type(api.return_types[-1]) if api.return_types else None


def outermost_scope(api: Checker) -> Node:
    """Returns the function at the top of the file, or the file itself, that is being checked."""
    scope: Node = api.scope.top_level_function() or api.scope.stack[0]
    return scope


def note(api: Checker, words: str, context: Context) -> None:
    """Says something that is no error."""
    api.msg.note(words, context)


def module_tree(api: Checker, variable: Var) -> MypyFile | None:
    """Returns the file that a module-level name lives in, if it is the one being checked.

    Any other may come from mypy's cache, which has no statements: what is read must not hang on that.
    """
    tree: MypyFile = api.tree
    return tree if tree.fullname == variable.fullname.rpartition(".")[0] else None


def declared_function(api: Checker, fullname: str) -> CallableType | None:
    """Returns the signature that a function, decorated or not, was written with."""
    module, name = _split(fullname)
    tree = api.modules.get(module)
    symbol = tree.names.get(name) if tree is not None else None
    node = symbol.node if symbol is not None else None
    function = node.func if isinstance(node, Decorator) else node
    declared = get_proper_type(function.type) if isinstance(function, FuncDef) else None
    return declared if isinstance(declared, CallableType) else None


@cache
def _split(fullname: str) -> tuple[str, str]:
    module, _, name = fullname.rpartition(".")
    return module, name


class Trial(NamedTuple):
    """What a call gave that was only tried: its type, and what would have been said of it."""

    result: Type
    errors: list[tuple[str, ErrorCode | None]]


class Argument(NamedTuple):
    """An argument of a call that is tried: its type, and how it is given."""

    given: Type
    kind: ArgKind = ARG_POS
    name: str | None = None


def tried_method(api: Checker, receiver: Type, name: str, arguments: list[Argument], context: Context) -> Trial:
    """Tries a method on arguments of some types, with all hooks of a real call but without a word."""
    expressions = [TempNode(one.given, context=context) for one in arguments]
    kinds, names = [one.kind for one in arguments], [one.name for one in arguments]
    checker = api.expr_checker
    with api.msg.filter_errors(save_filtered_errors=True) as watcher:
        fullname = checker.method_fullname(receiver, name)
        method = checker.analyze_external_member_access(name, receiver, context)
        method = checker.transform_callee_type(fullname, method, expressions, kinds, context, names, receiver)
        result, _ = checker.check_call(method, expressions, kinds, context, names, None, fullname, receiver)
    errors = [(error.message, error.code) for error in watcher.filtered_errors() if error.severity == "error"]
    return Trial(result, errors)


@contextmanager
def past_trial(api: Checker) -> Iterator[None]:
    """Lets a word through although mypy only tries an overload or an operator, which is not dismissed for it."""
    watchers = api.msg.errors._watchers
    trial = watchers.pop() if watchers else None
    try:
        yield
    finally:
        if trial is not None:
            watchers.append(trial)


def method_signature(api: Checker, receiver: Instance, name: str) -> FunctionLike | None:
    """Returns the bound signature of a method."""
    found = get_proper_type(api.expr_checker.analyze_external_member_access(name, receiver, TempNode(receiver)))
    return found if isinstance(found, FunctionLike) else None


def needs_others(api: Checker, layer: Type) -> bool:
    """Says whether a layer takes more than one argument, and will not do with one."""
    p = get_proper_type(layer)
    signature = method_signature(api, p, "forward") if isinstance(p, Instance) else None
    return isinstance(signature, CallableType) and sum(kind.is_required() for kind in signature.arg_kinds) > 1


def called(t: Type) -> CallableType | None:
    """Returns what calling a value of a type is declared as; None where it is no function, or an overloaded one."""
    p = get_proper_type(t)
    found = get_proper_type(find_member("__call__", p, p)) if isinstance(p, Instance) else p
    return found if isinstance(found, CallableType) else None


def narrow(api: Checker, expression: Expression, t: Type) -> None:
    """Narrows a name or an attribute from here on, as an `isinstance` would."""
    api.binder.put(expression, t)


def named_in(api: Any, t: UnboundType) -> str:
    """Returns the full name of what an annotation names; empty where that is nothing yet."""
    symbol = api.lookup_qualified(t.name, t, suppress_errors=True)
    return symbol.fullname or "" if symbol is not None else ""


class NotReadyError(Exception):
    """A class of tapegrad's own has not been read yet; mypy will ask again."""


def wait_for(api: Any, fullname: str, arguments: list[Type]) -> Instance:
    """Makes an instance while annotations are being read, when not every class need be known yet.

    Raises:
        NotReadyError: It is not; mypy has been told to come back.
    """
    found: Instance | None = api.api.named_type_or_none(fullname, arguments)
    if found is None:
        api.api.record_incomplete_ref()
        raise NotReadyError
    return found


def default_argument(made: Instance, position: int, api: Any) -> Type:
    """Returns the default of a class's type parameter.

    Raises:
        NotReadyError: It has not been read yet; mypy has been told to come back.
    """
    variables = made.type.defn.type_vars
    default = variables[position].default if position < len(variables) else PlaceholderType(None, [], -1)
    if isinstance(default, PlaceholderType):
        api.api.record_incomplete_ref()
        raise NotReadyError
    return default


def accepts(formal: Type, actual: Type) -> bool:
    """Says whether a parameter takes an argument for some choice of its type variables."""
    return is_subtype(actual, erase_typevars(formal))
