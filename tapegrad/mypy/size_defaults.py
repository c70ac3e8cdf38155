"""Defaults of sizes and flags: `def __init__(self, classes: N = 10)`, which mypy refuses, for N may be any size.

What a default is stands in the source alone, which mypy's cache does not keep, so it is noted in the class, which it
keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import CastExpr, Decorator, Expression, FuncDef, IntExpr, NameExpr, TypeVarExpr
from mypy.types import AnyType, Instance, TypeOfAny, UnboundType, get_proper_type

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo
    from mypy.plugin import ClassDefContext

_KEY: Final = "tapegrad"


def note_defaults(ctx: ClassDefContext) -> None:
    """Note the numbers that the sizes of a constructor are where they are left out, and let mypy pass them."""
    found: dict[str, int] = {}
    for function in map(_function, ctx.cls.defs.body):
        for argument in function.arguments if function is not None and function.name == "__init__" else ():
            written = argument.initializer
            value = written.expr if isinstance(written, CastExpr) else written
            number = _number(value)
            if value is not None and number is not None and _is_of(type(number), argument.type_annotation, ctx):
                found[argument.variable.name] = number
                argument.initializer = _passed(value)
    if found:
        ctx.cls.info.metadata[_KEY] = {"defaults": found}


def defaults_of(owner: TypeInfo) -> dict[str, int]:
    """Return the numbers that the sizes of a class's constructor are where they are left out, by parameter."""
    known: dict[str, int] = owner.metadata.get(_KEY, {}).get("defaults", {})
    return known


def _function(statement: object) -> FuncDef | None:
    inner = statement.func if isinstance(statement, Decorator) else statement
    return inner if isinstance(inner, FuncDef) else None


def _number(value: Expression | None) -> int | None:
    if isinstance(value, NameExpr) and value.name in ("True", "False"):
        return value.name == "True"
    return value.value if isinstance(value, IntExpr) else None


def _is_of(kind: type[int], annotation: object, ctx: ClassDefContext) -> bool:
    """Return whether a parameter is annotated with a type variable alone, of a size or of a flag."""
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
    """Return an expression of unknown type, which mypy takes for any parameter."""
    passed = CastExpr(value, AnyType(TypeOfAny.special_form))
    passed.set_line(value)
    return passed
