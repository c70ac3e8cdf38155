"""Find where tensors may be consumed, by following the statements of a function along every path.

mypy itself narrows types in straight-line code. Where paths join, it falls back to the declared type, so this module
follows branches, loops and handlers: a name, or an attribute of `self`, is consumed from `x.backward()` or
`x.traced()` on, until it is bound again. A tensor in another variable, a container or a helper is left to the
check at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mypy.nodes import (
    AssertStmt,
    AssignmentExpr,
    AssignmentStmt,
    Block,
    BreakStmt,
    CallExpr,
    ClassDef,
    ContinueStmt,
    Decorator,
    DelStmt,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncItem,
    GeneratorExpr,
    GlobalDecl,
    IfStmt,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    MatchStmt,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    NonlocalDecl,
    OperatorAssignmentStmt,
    OverloadedFuncDef,
    RaiseStmt,
    RefExpr,
    ReturnStmt,
    SetComprehension,
    TryStmt,
    Var,
    WhileStmt,
    WithStmt,
)
from mypy.types import CallableType, Instance, UninhabitedType, get_proper_type

from tapegrad.mypy.mypy_api import attribute_variable, enclosing_function, outermost_scope
from tapegrad.mypy.scopes.names import ScopeCache, bound_in, captured, inside, parts_of, targets_in

if TYPE_CHECKING:
    from mypy.nodes import SymbolNode

    from tapegrad.mypy.mypy_api import Checker

Key: TypeAlias = "tuple[Var | str, ...]"  # a variable, and the attributes after it
State: TypeAlias = "dict[Key, End] | None"  # the call that consumed each; None for unreachable code
CONSUMERS: Final = ("backward", "traced")


class End(NamedTuple):
    """The first call that may have consumed a tensor."""

    line: int
    method: str


def consumed_by(expression: Expression | None, api: Checker) -> End | None:
    """Return the call that may have consumed the tensor in a name or an attribute; None if there is none."""
    if not isinstance(expression, NameExpr | MemberExpr):
        return None
    end = consumed_in(api).get(expression)
    return None if end is None or may_be_renewed(expression, api) else end


def may_be_renewed(expression: NameExpr | MemberExpr, api: Checker) -> bool:
    """Return whether a name or an attribute may be another tensor at each read.

    This is true of a property, which may compute it, and of a name that another function may bind at any call.
    """
    if isinstance(expression, NameExpr):
        function = enclosing_function(api)
        return any(one is not function for one in _outer_bindings.of(api.tree).get(expression.node, ()))
    if _is_property(attribute_variable(expression, api)):
        return True
    owner = expression.expr
    return isinstance(owner, NameExpr | MemberExpr) and may_be_renewed(owner, api)


def _is_property(node: SymbolNode | None) -> bool:
    """Return whether an attribute is a property that is computed at each read."""
    if isinstance(node, OverloadedFuncDef):
        return node.is_property
    if not isinstance(node, Decorator) or not node.func.is_property:
        return False
    return not any(getattr(one, "fullname", "") == "functools.cached_property" for one in node.original_decorators)


def _bindings_of_outer_names(file: Node | None) -> dict[Node | None, list[FuncItem]]:
    """Return, for each name of a function or of the file, the inner functions that bind it."""
    owners: dict[GlobalDecl | NonlocalDecl, FuncItem] = {}
    for function in inside(file):
        if isinstance(function, FuncItem):  # an inner function comes after its outer one
            owners |= {node: function for node in inside(function) if isinstance(node, GlobalDecl | NonlocalDecl)}
    found: dict[Node | None, list[FuncItem]] = {}
    for declaration, function in owners.items():
        for variable in bound_in(function):
            if isinstance(variable, Var) and variable.name in declaration.names:
                found.setdefault(variable, []).append(function)
    return found


_outer_bindings = ScopeCache(_bindings_of_outer_names)


def consumed_in(api: Checker) -> dict[Expression, End]:
    """Return the expressions that may read a consumed tensor, with its end, in the function or file being checked."""
    return _consumed.of(enclosing_function(api) or outermost_scope(api))


def _found_in(scope: Node | None) -> dict[Expression, End]:
    if not any(_consumed_by(node) for node in inside(scope)):
        return {}
    walk = _Walk()
    walk.through(scope.defs if isinstance(scope, MypyFile) else getattr(scope, "body", None), {})
    return walk.found


_consumed = ScopeCache(_found_in)


class _Walk:
    """Follows statements in execution order, with the tensors that may be consumed by then."""

    def __init__(self) -> None:
        self.found: dict[Expression, End] = {}
        self._loops: list[tuple[list[State], list[State]]] = []  # states at `break` and at `continue`
        self._tries: list[list[State]] = []  # states inside a `try`, any of which its handlers may start from

    def through(self, node: Any, state: State) -> State:
        """Return what may be consumed after one statement, or several."""
        if state is None or node is None:
            return state
        if isinstance(node, list):
            for statement in node:
                state = self.through(statement, state)
            return state
        match node:
            case Block(body=body):
                return self.through(body, state)
            case AssignmentStmt(lvalues=targets, rvalue=value):
                return self._bound(targets, self._read(value, state))
            case OperatorAssignmentStmt(lvalue=target, rvalue=value):
                return self._bound(target, self._read([target, value], state))
            case DelStmt(expr=target):
                return self._bound(target, state)
            case IfStmt(expr=conditions, body=bodies, else_body=otherwise):
                return self._branches(list(zip(conditions, bodies, strict=True)), otherwise, state)
            case MatchStmt(subject=subject):
                return self._cases(node, self._read(subject, state))
            case WhileStmt() | ForStmt():
                return self._loop(node, state)
            case WithStmt(expr=managers, target=targets, body=body):
                return self.through(body, self._bound(targets, self._read(managers, state)))
            case TryStmt():
                return self._try(node, state)
            case ReturnStmt() | RaiseStmt():
                self._read(parts_of(node), state)
                return None
            case ExpressionStmt(expr=CallExpr() as call) if _never_returns(call):
                self._read(call, state)
                return None
            case AssertStmt(expr=NameExpr(fullname="builtins.False") | IntExpr(value=0)):
                return None
            case BreakStmt() | ContinueStmt():
                self._loops[-1][isinstance(node, ContinueStmt)].append(state)
                return None
            case FuncItem() | Decorator() | OverloadedFuncDef() | ClassDef():
                return state  # its body runs when it is called
        return self._read(parts_of(node), state)

    def _branches(self, choices: list[tuple[Any, Any]], otherwise: Any, state: State) -> State:
        ends = []
        for condition, body in choices:
            state = self._read(condition, state)
            ends.append(self.through(body, state))
        return _joined([*ends, self.through(otherwise, state)])

    def _cases(self, node: MatchStmt, state: State) -> State:
        ends = [state]  # perhaps no case matches
        for pattern, guard, body in zip(node.patterns, node.guards, node.bodies, strict=True):
            ends.append(self.through(body, self._read(guard, self._bound(captured(pattern), state))))
        return _joined(ends)

    def _loop(self, node: WhileStmt | ForStmt, state: State) -> State:
        is_for = isinstance(node, ForStmt)
        entry = self._read(node.expr, state) if is_for else state
        while True:
            self._loops.append(([], []))
            begin = self._bound(node.index, entry) if isinstance(node, ForStmt) else self._read(node.expr, entry)
            end = self.through(node.body, begin)
            breaks, continues = self._loops.pop()
            again = _joined([entry, end, *continues])
            if again == entry:
                break
            entry = again
        left = None if _is_endless(node) else entry if is_for else self._read(node.expr, entry)
        return _joined([self.through(node.else_body, left), *breaks])

    def _turns(self, node: GeneratorExpr | DictionaryComprehension, state: State) -> State:
        entry = self._read(node.sequences[0], state)
        while (again := _joined([entry, self._turn(node, entry)])) != entry:
            entry = again
        return entry

    def _turn(self, node: GeneratorExpr | DictionaryComprehension, state: State) -> State:
        """Return what may be consumed after one iteration of a comprehension."""
        for position, index in enumerate(node.indices):
            sequence = node.sequences[position] if position else None  # the first was read before the first iteration
            state = self._read(node.condlists[position], self._bound(index, self._read(sequence, state)))
        return self._read([node.left_expr] if isinstance(node, GeneratorExpr) else [node.key, node.value], state)

    def _try(self, node: TryStmt, state: State) -> State:
        inside_it = [state]
        self._tries.append(inside_it)
        end = self.through(node.body, state)
        self._tries.pop()
        raised = _joined(inside_it)
        handled = [self.through(handler, raised) for handler in node.handlers]
        end = _joined([self.through(node.else_body, end), *handled])
        self.through(node.finally_body, raised)
        return self.through(node.finally_body, end)

    def _read(self, expression: Any, state: State) -> State:
        """Return what may be consumed after an expression, and note each name in it that may be consumed already."""
        if state is None or expression is None:
            return state
        if isinstance(expression, list | tuple):
            for one in expression:
                state = self._read(one, state)
            return state
        key = _key(expression)
        if key in state:
            self.found.setdefault(expression, state[key])
        match expression:
            case LambdaExpr():
                return state  # its body runs when it is called
            case ListComprehension(generator=turns) | SetComprehension(generator=turns):
                return self._turns(turns, state)
            case DictionaryComprehension():
                return self._turns(expression, state)
            case GeneratorExpr():
                return self._turn(expression, self._read(expression.sequences[0], state))  # one iteration, as by `next`
            case AssignmentExpr(target=target, value=value):
                return self._bound(target, self._read(value, state))
            case CallExpr(callee=callee, args=arguments):
                return self._called(expression, self._read([callee, arguments], state))
        return self._read(parts_of(expression), state)

    def _called(self, call: CallExpr, state: State) -> State:
        key = _consumed_by(call)
        if state is None:
            return None
        if key is None:  # a method, or a function that gets the object, may bind the object's attributes
            objects = {_root(one) for one in (call.callee, *call.args)}
            return {one: end for one, end in state.items() if len(one) == 1 or one[0] not in objects}
        end = End(call.line, getattr(call.callee, "name", ""))
        state = {**state, key: min(end, state.get(key, end))}
        for inside_it in self._tries:
            inside_it.append(state)
        return state

    def _bound(self, target: Any, state: State) -> State:
        """Return what may be consumed after names are bound to something else."""
        if state is None:
            return None
        keys = [key for one in targets_in(target) if (key := _key(one)) is not None]
        return {one: end for one, end in state.items() if not any(one[: len(key)] == key for key in keys)}


def _joined(states: list[State]) -> State:
    """Return what may be consumed where paths join."""
    reached = [state for state in states if state is not None]
    joined: dict[Key, End] = {}
    for state in reached:
        for key, end in state.items():
            joined[key] = min(end, joined.get(key, end))
    return joined if reached else None


def _key(expression: Any) -> Key | None:
    """Return the key of a name, or of an attribute of a name; None for any other expression."""
    attributes: list[str] = []
    while isinstance(expression, MemberExpr):
        attributes.append(expression.name)
        expression = expression.expr
    if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
        return None
    return (expression.node, *reversed(attributes))


def _root(expression: Any) -> Node | None:
    key = _key(expression)
    root = key[0] if key is not None else None
    return root if isinstance(root, Var) else None


def _consumed_by(call: Any) -> Key | None:
    """Return the key of the receiver that a call consumes; None for any other call."""
    if not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr) or retains_tape(call):
        return None
    return _key(call.callee.expr) if call.callee.name in CONSUMERS else None


def retains_tape(call: Any) -> bool:
    """Return whether a call may leave the tape usable: it has the argument `retain_tape`, and not `False`."""
    given = dict(zip(call.arg_names, call.args, strict=True)).get("retain_tape")
    return given is not None and not (isinstance(given, NameExpr) and given.fullname == "builtins.False")


def _never_returns(call: CallExpr) -> bool:
    """Return whether a function, or a method of a name whose class is already known, is declared as NoReturn."""
    callee = call.callee
    node = callee.node if isinstance(callee, RefExpr) else None
    if node is None and isinstance(callee, MemberExpr) and isinstance(callee.expr, NameExpr):
        owner = callee.expr.node.type if isinstance(callee.expr.node, Var) else None
        p = get_proper_type(owner) if owner is not None else None
        symbol = p.type.get(callee.name) if isinstance(p, Instance) else None
        node = symbol.node if symbol is not None else None
    declared = node.type if isinstance(node, FuncItem | Decorator) else None
    p = get_proper_type(declared) if declared is not None else None
    return isinstance(p, CallableType) and isinstance(get_proper_type(p.ret_type), UninhabitedType)


def _is_endless(loop: WhileStmt | ForStmt) -> bool:
    if not isinstance(loop, WhileStmt):
        return False
    condition = loop.expr
    if isinstance(condition, IntExpr):
        return condition.value != 0
    return isinstance(condition, NameExpr) and condition.fullname == "builtins.True"
