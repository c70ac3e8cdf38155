"""Defaults of sizes and flags: mypy rejects `def __init__(self, classes: N = 10)`, because N may be any size.

The default is only in the source, which mypy's cache does not keep, so the plugin stores it with the class, which the
cache keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    CallExpr,
    CastExpr,
    Decorator,
    Expression,
    FuncDef,
    IndexExpr,
    IntExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    TypeVarExpr,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, TypeOfAny, UnboundType, get_proper_type

from tapegrad.mypy.sources import is_class_of_library, mark

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo
    from mypy.plugin import ClassDefContext

_KEY: Final = "tapegrad"
_GIVEN: Final = "tapegrad.sizes.arithmetic.Given"
_COMPUTED: Final = (CallExpr, IndexExpr, MemberExpr, NameExpr, OpExpr)  # what may have an integer as its value


def note_defaults(ctx: ClassDefContext) -> None:
    """Store the defaults of a constructor's sizes and flags with the class, and make mypy accept them."""
    functions = [*map(_function, ctx.cls.defs.body)]
    if any(one is not None and one.name != "__init__" and one.type is None for one in functions):
        mark(ctx.api)  # only the body of a method without annotations says what it returns
    elif not all(map(is_class_of_library, ctx.cls.info.mro[1:])):
        mark(ctx.api)  # a call may be followed through a method that it inherits
    found: dict[str, int | None] = {}
    for function in functions:
        for argument in function.arguments if function is not None and function.name == "__init__" else ():
            written = argument.initializer
            value = written.expr if isinstance(written, CastExpr) else written
            number = _number(value)
            if number is None and (not isinstance(value, _COMPUTED) or getattr(value, "name", "") == "None"):
                continue
            if value is None or not _is_of(int if number is None else type(number), argument.type_annotation, ctx):
                continue
            found[argument.variable.name] = number
            argument.initializer = _passed(value if number is not None else _inverted(value))
    if found:
        ctx.cls.info.metadata[_KEY] = {"defaults": found}


def defaults_of(owner: TypeInfo) -> dict[str, int | None]:
    """Return the stored defaults of the sizes and flags of a class's constructor, by parameter; None if not literal."""
    known: dict[str, int | None] = owner.metadata.get(_KEY, {}).get("defaults", {})
    return known


def _function(statement: object) -> FuncDef | None:
    inner = statement.func if isinstance(statement, Decorator) else statement
    return inner if isinstance(inner, FuncDef) else None


def _number(value: Expression | None) -> int | None:
    if isinstance(value, NameExpr) and value.name in ("True", "False"):
        return value.name == "True"
    if isinstance(value, RefExpr) and isinstance(value.node, Var) and isinstance(value.node.final_value, int):
        return value.node.final_value
    if isinstance(value, UnaryExpr) and value.op == "-" and isinstance(value.expr, IntExpr):
        return -value.expr.value
    return value.value if isinstance(value, IntExpr) else None


def _inverted(value: Expression) -> UnaryExpr:
    """Return `~value`, which mypy rejects for a str, a float and None."""
    inverted = UnaryExpr("~", value)
    inverted.set_line(value)
    return inverted


def _is_of(kind: type[int], annotation: object, ctx: ClassDefContext) -> bool:
    """Return whether a parameter is annotated with just a type variable, or `Given` of it, for a size or for a flag."""
    if isinstance(annotation, UnboundType) and len(annotation.args) == 1:
        given = ctx.api.lookup_qualified(annotation.name, annotation, suppress_errors=True)
        annotation = annotation.args[0] if given is not None and given.fullname == _GIVEN else annotation
    if not isinstance(annotation, UnboundType) or annotation.args:
        return False
    own = {variable.name: variable.upper_bound for variable in ctx.cls.type_args or ()}
    if annotation.name in own:
        bound = own[annotation.name]
        return isinstance(bound, UnboundType) and bound.name == kind.__name__
    symbol = ctx.api.lookup_qualified(annotation.name, annotation, suppress_errors=True)
    bound = get_proper_type(symbol.node.upper_bound) if symbol and isinstance(symbol.node, TypeVarExpr) else None
    return isinstance(bound, Instance) and bound.type.fullname == f"builtins.{kind.__name__}"


def _passed(value: Expression) -> CastExpr:
    """Return an expression of unknown type, which mypy accepts for any parameter."""
    passed = CastExpr(value, AnyType(TypeOfAny.special_form))
    passed.set_line(value)
    return passed
