"""How messages spell expressions, and the message for a consumed tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AwaitExpr,
    CallExpr,
    ComparisonExpr,
    Expression,
    FloatExpr,
    IndexExpr,
    IntExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    ReturnStmt,
    StrExpr,
    SuperExpr,
    UnaryExpr,
    YieldExpr,
)

from tapegrad.errors import messages

if TYPE_CHECKING:
    from mypy.nodes import Context

    from tapegrad.mypy.ownership.state import End

_LONGEST: Final = 40
_STRENGTH: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "@": 2, "**": 3}  # others bind less


def consumed(use: Any, context: Context, name: Expression | None, end: End, *, at_exit: bool = False) -> str:
    """Return the message for the use of a consumed tape, which a context manager may do at the end of its block."""
    place = written(name) if name is not None else "x"
    shown = written(context if isinstance(context, Expression) else use)
    shown = f"end of with {shown}" if at_exit else shown
    if end.by_traced:
        return messages.consumed_by_traced(shown, place, end.call, end.line)
    is_earlier = not at_exit and not end.in_call and end.after > (context.line, context.column)
    return messages.consumed(shown, place, end.call, end.name, end.line, in_earlier_iteration=is_earlier)


def end_of(node: Context) -> tuple[int, int]:
    """Return the line and the column where an expression ends."""
    return node.end_line or node.line, node.end_column or node.column


def written(node: Any) -> str:
    """Return an expression as it is written, in at most 40 characters or with parts left out."""
    match node:
        case ReturnStmt():
            return "return"
        case OperatorAssignmentStmt(lvalue=target, op=op, rvalue=value):
            text = f"{written(target)} {op}= {written(value)}"
        case _:
            text = _text(node)
    return text if len(text) <= _LONGEST else f"{_text(node, inner=False)}"


def _text(node: Any, *, inner: bool = True) -> str:
    match node:
        case NameExpr(name=name):
            return name
        case MemberExpr(expr=owner, name=name):
            return f"{_atom(owner, inner=inner)}.{name}"
        case SuperExpr(name=name):
            return f"super().{name}"
        case IntExpr(value=value) | FloatExpr(value=value) | StrExpr(value=value):
            return repr(value)
        case IndexExpr(base=base, index=index):
            return f"{_atom(base, inner=inner)}[{_text(index) if inner else '...'}]"
        case CallExpr(callee=callee, args=arguments):
            named = [
                f"{name}={_text(one)}" if name else _text(one)
                for name, one in zip(node.arg_names, arguments, strict=True)
            ]
            return f"{_atom(callee, inner=inner)}({', '.join(named) if inner else '...' if arguments else ''})"
        case OpExpr(left=left, op=op, right=right):
            first, second = (_atom(one) if _binds_less(one, node) else _text(one) for one in (left, right))
            return f"{first} {op} {second}" if inner else f"... {op} ..."
        case ComparisonExpr(operands=operands, operators=operators):
            return f"{_text(operands[0])} {operators[0]} {_text(operands[1])}"
        case UnaryExpr(op=op, expr=operand):
            return f"{op}{_atom(operand)}"
        case AwaitExpr(expr=awaited):
            return f"await {_text(awaited)}"
        case YieldExpr():
            return "yield"
    return "..."


def _atom(node: Any, *, inner: bool = True) -> str:
    """Return an expression with parentheses if an attribute, an index or a call behind it needs them."""
    text = _text(node, inner=inner)
    return f"({text})" if isinstance(node, OpExpr | ComparisonExpr | UnaryExpr | AwaitExpr) else text


def _binds_less(operand: Expression, around: OpExpr) -> bool:
    """Return whether an operand of an operator needs parentheses."""
    if not isinstance(operand, OpExpr):
        return isinstance(operand, ComparisonExpr)
    one, other = _STRENGTH.get(operand.op, 0), _STRENGTH.get(around.op, 0)
    is_last = operand is (around.left if around.op == "**" else around.right)
    return one < other or (one == other and is_last)
