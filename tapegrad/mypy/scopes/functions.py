"""Functions, methods and constructors of the program, with their statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import (
    Argument,
    CallExpr,
    Decorator,
    Expression,
    FuncDef,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MypyFile,
    NameExpr,
    Node,
    RefExpr,
    SuperExpr,
    TypeInfo,
    Var,
)
from mypy.types import CallableType, Instance, TupleType, TypeVarType, get_proper_type

from tapegrad.mypy.conversion import MODULE
from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.collections import Use, use_of_variable
from tapegrad.mypy.scopes.file_contents import is_defined_once
from tapegrad.mypy.scopes.frames import ClassOf, Made, Reading
from tapegrad.mypy.scopes.names import ScopeCache, bound_once
from tapegrad.mypy.sources import file_of, module_of, written_data_class, written_function

if TYPE_CHECKING:
    from mypy.nodes import Statement
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value

LAYERS: Final = "tapegrad.nn."
_WITHOUT_LAYERS: Final = ("builtins.", "numpy.", "tapegrad.tensors.")  # classes that hold no layers of the program


class Default(NamedTuple):
    """The default value of a parameter or a field.

    Attributes:
        value: The expression; None if there is none, or one that is not known.
        file: The file with the expression.
    """

    value: Expression | None
    file: MypyFile | None


def method_of(of: Made | ClassOf, name: str) -> tuple[FuncDef, Made | ClassOf | None] | None:
    """Return a method of an object, or of a class, of exactly this class, and what it is called on; None if unknown."""
    symbol = of.info.get(name)
    method = symbol.node if symbol is not None else None
    if isinstance(method, Decorator):
        method = method.func
    if not isinstance(method, FuncDef) or (isinstance(of, ClassOf) and not method.is_static and not method.is_class):
        return None
    return method, None if method.is_static else ClassOf(of.info) if method.is_class else of


def is_method(of: Made | ClassOf, function: FuncDef) -> bool:
    """Return whether a function is a method of an object of exactly this class, or of the class."""
    found = method_of(of, function.name)
    return found is not None and found[0] is function


def returned_class(function: FuncDef) -> TypeInfo | None:
    """Return the class of layers of tapegrad, or `Module`, that a function of the program is declared to return."""
    result = get_proper_type(function.type.ret_type) if isinstance(function.type, CallableType) else None
    if not isinstance(result, Instance) or not result.type.fullname.startswith(LAYERS):
        return None
    return result.type if result.type.has_base(MODULE) and not function.fullname.startswith("tapegrad.") else None


def may_return_object(function: FuncDef) -> bool:
    """Return whether a function of the program may return an object, a list or a number that its call decides."""
    result = get_proper_type(function.type.ret_type) if isinstance(function.type, CallableType) else None
    if function.fullname.startswith("tapegrad."):
        return False
    if isinstance(result, TupleType):
        classes = [p.type for p in map(get_proper_type, result.items) if isinstance(p, Instance)]
        has_object = any(not one.fullname.startswith(_WITHOUT_LAYERS) for one in classes)
        return Reading.frame is not None or has_object or result.partial_fallback.type.is_named_tuple
    if isinstance(result, TypeVarType):  # `Self`
        result = get_proper_type(result.upper_bound)
    if not isinstance(result, Instance):
        return False
    name = result.type.fullname
    if name in ("builtins.bool", "builtins.int"):
        return Reading.frame is not None
    return not name.startswith(_WITHOUT_LAYERS) or name in ("builtins.dict", "builtins.list")


def written_with_file(function: FuncDef, api: Checker) -> tuple[FuncDef | None, MypyFile | None]:
    """Return a function with its statements, and its file."""
    written = written_function(function, api)
    if written is not None:
        return written, file_of(module_of(function), api)
    of = written_data_class(function.info, api) if function.info else None
    for one in of.definition.defs.body if of is not None else ():
        method = one.func if isinstance(one, Decorator) else one
        if isinstance(method, FuncDef) and method.name == function.name and of is not None:
            return method, of.file
    return None, None


def parameter_taking(argument: Expression, call: CallExpr, parameters: list[Argument]) -> Var | None:
    """Return the parameter that takes an argument of a call; None if one with a star takes it, or may."""
    position = call.args.index(argument)
    name = call.arg_names[position]
    taking = [one for one in parameters if one.variable.name == name] if name else parameters[position : position + 1]
    if not taking or taking[0].kind.is_star() or any(kind.is_star() for kind in call.arg_kinds[: position + 1]):
        return None
    return taking[0].variable


def only_reads_list(call: CallExpr, argument: Expression, api: Checker) -> bool:
    """Return whether a call is one of a function of the program that only reads a list of numbers that it gets."""
    function = call.callee.node if isinstance(call.callee, NameExpr) else None
    if not isinstance(function, FuncDef) or function.info:
        return False
    written, file = written_with_file(function, api)
    if written is None or file is None or not is_defined_once(written, file):
        return False
    parameter = parameter_taking(argument, call, written.arguments)
    return parameter is not None and use_of_variable(parameter, {file}) is Use.READ


def body_of_getter(getter: FuncDef, api: Checker) -> tuple[list[Statement], MypyFile | None]:
    """Return the statements of a property, or of a method, and their file; none if they cannot be read."""
    written, file = written_with_file(getter, api)
    return ([], None) if written is None else (written.body.body, file)


def home_of_constructor(info: TypeInfo, constructor: str, api: Checker) -> MypyFile | None:
    """Return the file with a constructor of a class; None if it cannot be read."""
    of = next((base for base in info.mro if constructor == f"{base.fullname}.__init__"), None)
    return None if of is None else file_of(of.module_name, api)


def constructor_of(info: TypeInfo) -> FuncDef | None:
    """Return the constructor of a class; None if it has none that is written in Python."""
    symbol = info.get("__init__")
    node = symbol.node if symbol is not None else None
    if isinstance(node, Decorator):
        node = node.func
    return node if isinstance(node, FuncDef) else None


def calls_constructor(call: CallExpr) -> bool:
    """Return whether a call of a method of `super()` is one of its constructor."""
    callee = call.callee
    return isinstance(callee, SuperExpr) and callee.name == "__init__" and not callee.call.args


def parameter_default(parameter: Argument, file: MypyFile | None) -> Expression | None:
    """Return the default of a parameter; None if it has none, or a list that a call may change for later calls."""
    value = parameter.initializer
    is_list = isinstance(value, ListExpr | ListComprehension) or (
        isinstance(value, CallExpr) and getattr(value.callee, "fullname", "") == "builtins.list"
    )
    is_fixed = not is_list or file is None or use_of_variable(parameter.variable, {file}) is Use.READ
    return value if is_fixed else None


def field_default(value: Expression) -> Expression | None:
    """Return the default of a field of a dataclass; None if it has none, or one that is not known."""
    if not isinstance(value, CallExpr) or getattr(value.callee, "fullname", "") != "dataclasses.field":
        return value
    given = dict(zip(value.arg_names, value.args, strict=True))
    match given.get("default_factory"):
        case LambdaExpr(arguments=[]) as factory:
            return factory.expr()
        case RefExpr(node=TypeInfo() | FuncDef()) as factory:
            return CallExpr(factory, [], [], [])
    return given.get("default")


def parameter_values(function: FuncDef, arguments: tuple[tuple[str, Value], ...]) -> dict[Node, Value]:
    """Return the values of the parameters of a function, which its statements may change."""
    values = dict(arguments)
    variables = (one.variable for one in function.arguments)
    return {variable: values[variable.name] for variable in variables if variable.name in values}


def _written_as_function(scope: Node | None) -> FuncDef | None:
    """Return a lambda as a function with one statement; its name says where it is."""
    if not isinstance(scope, LambdaExpr):
        return None
    function = FuncDef(f"{_LAMBDA}{scope.line}-{scope.column}>", scope.arguments, scope.body)
    function.set_line(scope)
    return function


_LAMBDA: Final = "<lambda "
lambda_functions = ScopeCache(_written_as_function)


def is_lambda(function: FuncDef) -> bool:
    """Return whether a function is a lambda, see `lambda_functions`."""
    return function.name.startswith(_LAMBDA)


def with_body_of_lambda(argument: Expression | None, t: Type, declared: Type | None, api: Checker) -> Type:
    """Return the type of an argument, with the body of the lambda that it is, or that its name is bound to.

    The lambda returns what the parameter is declared to return, of which its body says more at each call.
    """
    if isinstance(argument, NameExpr) and isinstance(argument.node, Var) and argument.node.fullname == argument.name:
        argument, _ = bound_once(argument.node, api)
    p, expected = get_proper_type(t), get_proper_type(declared)
    function = lambda_functions.of(argument) if isinstance(argument, LambdaExpr) else None
    if function is None or not isinstance(p, CallableType) or not isinstance(expected, CallableType):
        return t
    function.type = p = p.copy_modified(ret_type=expected.ret_type, name=function.name, definition=function)
    if Reading.frame is not None:
        Reading.functions[function] = Reading.frame, checked_file(api)
    return p
