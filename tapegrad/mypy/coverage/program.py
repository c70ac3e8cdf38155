"""A checked file as the analysis reads it: types and operands of expressions, and what variables are bound to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssertTypeExpr,
    AssignmentExpr,
    AssignmentStmt,
    AwaitExpr,
    CallExpr,
    CastExpr,
    ComparisonExpr,
    ConditionalExpr,
    Decorator,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    FuncItem,
    GeneratorExpr,
    IndexExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    OverloadedFuncDef,
    RefExpr,
    RevealExpr,
    SetComprehension,
    SetExpr,
    StarExpr,
    SymbolNode,
    TupleExpr,
    UnaryExpr,
    Var,
    WithStmt,
)
from mypy.types import AnyType, Instance, ProperType, TypeOfAny, get_proper_type

from tapegrad.mypy.coverage.levels import NOTHING, Knowledge, contents, knowledge_of, knowledge_of_layer, unknown_sizes
from tapegrad.mypy.scopes.names import parts_of, targets_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mypy.types import Type

DISPLAYS: Final = (ListExpr, TupleExpr, SetExpr, DictExpr)
MADE: Final = (CallExpr, OpExpr, UnaryExpr, ComparisonExpr, IndexExpr, ConditionalExpr, AwaitExpr)
_REPORTED: Final = (TypeOfAny.from_error, TypeOfAny.from_unimported_type)  # mypy itself has said so


def module_of(function: FuncDef) -> str:
    """Return the name of the module that defines a function or a method."""
    return function.info.module_name if function.info else function.fullname.rpartition(".")[0]


class Program:
    """The types and the bindings of one file.

    Attributes:
        values: What each variable or attribute of the file is bound to; for the variable of a loop, what it runs over.
        parameters: The parameters of the file's functions, with the function.
    """

    def __init__(self, tree: MypyFile, types: Mapping[Expression, Type]) -> None:
        self.tree = tree
        self._types = types
        self.values: dict[SymbolNode, list[Expression]] = {}
        self.parameters: dict[SymbolNode, FuncItem] = {}
        self._attributes: dict[Expression, MemberExpr] = {}  # to which a value is assigned
        self._statements: set[Expression] = set()  # expressions whose value nothing reads
        self._any: dict[Expression, bool] = {}
        for node in nodes_in(tree):
            self._read(node)

    def _read(self, node: Any) -> None:
        match node:
            case AssignmentStmt(lvalues=targets, rvalue=value):
                for target in targets:
                    self._assign(target, value)
            case AssignmentExpr(target=target, value=value):
                self._bind(target, value)
            case OperatorAssignmentStmt(lvalue=target, rvalue=value):
                self._bind(target, value)
            case ForStmt(index=target, expr=value):
                for one in targets_in(target):
                    self._bind(one, value)
            case (GeneratorExpr() | DictionaryComprehension()) as comprehension:
                indices, sequences = comprehension.indices, comprehension.sequences
                for target, value in zip(indices, sequences, strict=True):
                    for one in targets_in(target):
                        self._bind(one, value)
            case WithStmt(target=targets, expr=values):
                for target, value in zip(targets, values, strict=True):
                    for one in targets_in(target):
                        self._bind(one, value)
            case ExpressionStmt(expr=value):
                self._statements.add(value)
            case FuncItem():
                self.parameters |= dict.fromkeys([argument.variable for argument in node.arguments], node)

    def _assign(self, target: Expression, value: Expression) -> None:
        """Bind a target, or each of several: to one value each, or to what all of them are unpacked from."""
        names = target.items if isinstance(target, TupleExpr | ListExpr) else []
        given = value.items if isinstance(value, TupleExpr | ListExpr) else []
        if names and len(names) == len(given) and not any(isinstance(one, StarExpr) for one in (*names, *given)):
            for one, other in zip(names, given, strict=True):
                self._assign(one, other)
            return
        if isinstance(target, MemberExpr):
            self._attributes[value] = target
        for one in targets_in(target):
            self._bind(one, value)

    def _bind(self, target: Expression, value: Expression) -> None:
        variable = self.variable(target)
        if variable is not None:
            self.values.setdefault(variable, []).append(value)

    def type_of(self, expression: Expression) -> ProperType | None:
        """Return the type of an expression; None in code that mypy does not reach."""
        found = self._types.get(expression)
        return None if found is None else get_proper_type(found)

    def variable(self, expression: Expression) -> SymbolNode | None:
        """Return the variable, the function or the class member that an expression names; None if it names none."""
        if isinstance(expression, RefExpr) and expression.node is not None:
            return expression.node
        if not isinstance(expression, MemberExpr):
            return None
        owner = self.type_of(expression.expr)
        symbol = owner.type.get(expression.name) if isinstance(owner, Instance) else None
        return symbol.node if symbol is not None else None

    def callee(self, call: CallExpr) -> SymbolNode | None:
        """Return the function that is called, without its decorators; None if it is a value."""
        found = self.variable(call.callee)
        if isinstance(found, OverloadedFuncDef):
            found = found.impl if found.impl is not None else found.items[0]
        return found.func if isinstance(found, Decorator) else found

    def bound_to(self, variable: SymbolNode | None) -> list[Expression]:
        """Return what a variable is bound to in the file."""
        return self.values.get(variable, []) if variable is not None else []

    def least_inside(self, expression: Expression) -> Knowledge | None:
        """Return the least that is known of the tensors in a value; None if there are none."""
        t = self.type_of(expression)
        return least(list(contents(t))) if t is not None else None

    def knowledge(self, expression: Expression) -> Knowledge | None:
        """Return what is known of a tensor or a layer that an expression makes; None if it makes none.

        A call that returns several tensors counts as the least known of them; a call of an untyped function with a
        tensor counts as a tensor, of which nothing is known.
        """
        t = self.type_of(expression)
        if t is None or isinstance(expression, DISPLAYS):
            return None
        if isinstance(t, AnyType):
            return NOTHING if self.is_lost(expression) else None
        if isinstance(expression, CallExpr | IndexExpr | AwaitExpr):
            layer = self._knowledge_of_layer(expression, t) if isinstance(expression, CallExpr) else None
            return least(list(contents(t))) if layer is None else layer
        return knowledge_of(t)

    def _knowledge_of_layer(self, call: CallExpr, t: Type) -> Knowledge | None:
        """Return what is known of the sizes of a layer that a call makes.

        If it is assigned to an attribute, mypy checks the call twice, and expects the attribute's type the second time.
        The type that it then stores may say less than that of the attribute.
        """
        known, target = knowledge_of_layer(t), self._attributes.get(call)
        attribute = self.variable(target) if target is not None else None
        if known is None or not isinstance(attribute, Var) or attribute.type is None:
            return known
        kept = knowledge_of_layer(attribute.type)
        return known if kept is None or kept.level > known.level else kept

    def missing(self, expression: Expression) -> frozenset[str]:
        """Return the parts that an operand leaves unknown: of the tensors in it, or the sizes of a layer."""
        if isinstance(expression, DISPLAYS):
            return frozenset().union(*map(self.missing, operands(expression)))
        t = self.type_of(expression)
        if t is None:
            return frozenset()
        if isinstance(t, AnyType):
            return NOTHING.missing if self.is_lost(expression) else frozenset()
        if unknown_sizes(t):
            return frozenset({"shape"})
        return frozenset().union(*(one.missing for one in contents(t)))

    def is_lost(self, expression: Expression) -> bool:
        """Return whether an expression of type Any was computed from a tensor, and so is likely one."""
        known = self._any.get(expression)
        if known is None:
            self._any[expression] = False  # for a variable that is bound to itself
            known = self._any[expression] = self._was_tensor(expression)
        return known

    def _was_tensor(self, expression: Expression) -> bool:
        t = self.type_of(expression)
        if not isinstance(t, AnyType) or expression in self._statements:
            return False
        if isinstance(expression, NameExpr | MemberExpr):
            variable = self.variable(expression)
            return any(map(self.is_lost, self.bound_to(variable)))
        if t.type_of_any in _REPORTED:
            return False
        if isinstance(expression, CallExpr) and self._is_method_of_tensor(expression):  # x.tolist(), x.item()
            return False
        return isinstance(expression, MADE) and any(map(self._is_tensor, operands(expression)))

    def _is_method_of_tensor(self, call: CallExpr) -> bool:
        return isinstance(call.callee, MemberExpr) and self._is_tensor(call.callee.expr)

    def _is_tensor(self, operand: Expression) -> bool:
        t = self.type_of(operand)
        return self.is_lost(operand) or (t is not None and knowledge_of(t) is not None)


def is_cast(node: Any) -> bool:
    """Return whether a call is `cast`."""
    return isinstance(node, CallExpr) and isinstance(node.analyzed, CastExpr)


def least(known: list[Knowledge]) -> Knowledge | None:
    """Return the least that is known of several tensors; None if there are none."""
    if not known:
        return None
    worst = max(known, key=lambda one: (one.level, len(one.axes)))
    return worst._replace(tape=all(one.tape for one in known), dtype=all(one.dtype for one in known))


def operands(expression: Expression) -> list[Expression]:
    """Return the expressions that the tensor of an expression is computed from; the layer that is called among them."""
    match expression:
        case CallExpr(callee=callee, args=args):
            owner = [callee.expr] if isinstance(callee, MemberExpr) else []
            return [*owner, callee, *_flat(args)]
        case OpExpr(left=left, right=right):
            return [left, right]
        case ComparisonExpr(operands=several):
            return list(several)
        case IndexExpr(base=base, index=index):
            return [base, *_flat([index])]
        case ConditionalExpr(if_expr=one, else_expr=other):
            return [one, other]
        case AssignmentExpr(value=value):
            return [value]
        case UnaryExpr(expr=value) | AwaitExpr(expr=value) | RevealExpr(expr=value) | AssertTypeExpr(expr=value):
            return [] if value is None else [value]
        case MemberExpr(expr=value) | StarExpr(expr=value):
            return [value]
        case ListComprehension(generator=generator) | SetComprehension(generator=generator):
            return [generator.left_expr]
        case GeneratorExpr(left_expr=value):
            return [value]
        case ListExpr(items=items) | TupleExpr(items=items) | SetExpr(items=items):
            return list(items)
        case DictExpr(items=pairs):
            return [value for _, value in pairs]
    return []


def _flat(arguments: list[Expression]) -> Iterator[Expression]:
    """Yield arguments, and the items of the tuples and lists among them."""
    for argument in arguments:
        if isinstance(argument, StarExpr):
            yield argument.expr
        elif isinstance(argument, DISPLAYS):
            yield from _flat(operands(argument))
        else:
            yield argument


def nodes_in(scope: Any) -> Iterator[Any]:
    """Yield a node, then each statement and expression inside it, in the order of the source."""
    pending: list[Any] = [scope]
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += reversed(node)
        elif node is not None:
            yield node
            pending += reversed(inner(node))


def inner(node: Any) -> list[Any]:
    """Return the statements and expressions directly inside a node, or lists of them; not the targets it binds."""
    if isinstance(node, ForStmt):
        return [node.expr, node.body, node.else_body]
    if isinstance(node, OverloadedFuncDef):
        return [*node.items, node.impl]
    if isinstance(node, LambdaExpr):
        return [node.body]
    if isinstance(node, FuncItem):
        return [[argument.initializer for argument in node.arguments], node.body]
    if isinstance(node, Decorator):
        return [*node.decorators, node.func]
    return parts_of(node)
