"""Methods that add items to collections, such as `layers.append`: the items may have other sizes than the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, Expression, IndexExpr, MemberExpr, NameExpr, OperatorAssignmentStmt, Var
from mypy.types import CallableType

from tapegrad.mypy.conversion import without_opaque
from tapegrad.mypy.mypy_api import attribute_variable, narrow
from tapegrad.mypy.signatures import without_sizes

if TYPE_CHECKING:
    from mypy.nodes import Context
    from mypy.plugin import MethodSigContext
    from mypy.types import FunctionLike

    from tapegrad.mypy.mypy_api import Checker


def growing(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of a method that adds items to a collection.

    If no annotation declares the sizes of its items, they are unknown from here on.
    """
    declared = ctx.default_signature
    if not isinstance(declared, CallableType):
        return declared
    holder = _holder(ctx.context)
    variable = _variable(holder, ctx.api)
    if holder is None or variable is None or variable.type is None or not variable.is_inferred:
        return declared.copy_modified(arg_types=list(map(without_opaque, declared.arg_types)))
    variable.type = without_sizes(variable.type)
    narrow(ctx.api, holder, variable.type)
    return declared.copy_modified(arg_types=list(map(without_sizes, declared.arg_types)))


def _holder(call: Context) -> Expression | None:
    """Return the expression whose method is called, or to whose item is assigned."""
    match call:
        case CallExpr(callee=MemberExpr(expr=holder)) | IndexExpr(base=holder) | OperatorAssignmentStmt(lvalue=holder):
            return holder
    return None


def _variable(holder: Expression | None, api: Checker) -> Var | None:
    if isinstance(holder, NameExpr):
        return holder.node if isinstance(holder.node, Var) else None
    found = attribute_variable(holder, api) if isinstance(holder, MemberExpr) else None
    return found if isinstance(found, Var) else None
