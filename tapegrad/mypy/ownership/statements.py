"""Statements in execution order: branches, loops, handlers, and what is bound to names, attributes and elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import (
    AssertStmt,
    AssignmentStmt,
    Block,
    BreakStmt,
    CallExpr,
    ClassDef,
    ContinueStmt,
    Decorator,
    DelStmt,
    ExpressionStmt,
    ForStmt,
    FuncItem,
    IfStmt,
    IndexExpr,
    ListExpr,
    MatchStmt,
    MemberExpr,
    MypyFile,
    NameExpr,
    OperatorAssignmentStmt,
    OverloadedFuncDef,
    PassStmt,
    RaiseStmt,
    ReturnStmt,
    StarExpr,
    TempNode,
    TryStmt,
    TupleExpr,
    Var,
    WhileStmt,
    WithStmt,
)

from tapegrad.mypy.conversion import OWNED_TAPE, is_tape, tensor_parts
from tapegrad.mypy.mypy_api import may_suppress, returned_by
from tapegrad.mypy.ownership import (
    classes,
    conditions,
    containers,
    context_managers,
    element_access,
    exceptions,
    expressions,
    functions,
    loops,
    patterns,
)
from tapegrad.mypy.ownership.conditions import truth
from tapegrad.mypy.ownership.constants import constant_of, is_bound_elsewhere, matches
from tapegrad.mypy.ownership.holders import holder_of
from tapegrad.mypy.ownership.state import NOTHING, RAISED, Ref, State, UnreachableError, branched, joined, union
from tapegrad.mypy.scopes.names import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Expression

    from tapegrad.mypy.ownership.state import Constant, Value
    from tapegrad.mypy.ownership.walk import Walk


def through(walk: Walk, node: Any, state: State | None) -> State | None:
    """Return the state after one statement, or several; None if no path leads on."""
    if state is None or node is None:
        return state
    try:
        return _through(walk, node, state)
    except UnreachableError:
        return None


def _through(walk: Walk, node: Any, state: State) -> State | None:
    walk.step()
    match node:
        case list():
            after: State | None = state
            for number, statement in enumerate(node):
                tested = conditions.tested_again(walk, statement) if isinstance(statement, IfStmt) else None
                if tested and after is not None:
                    return _each_way(walk, statement, node[number + 1 :], tested, after)
                after = through(walk, statement, after)
                if after is None:
                    return None
                if number + 1 < len(node) and _cannot_raise(node[number + 1]):
                    continue
                walk.note_exception(after)
            return after
        case Block():
            return None if node.is_unreachable else through(walk, node.body, state)
        case ExpressionStmt(expr=expression):
            walk.last_call = expression
            walk.value(expression, state)
            return state
        case AssignmentStmt():
            return _assigned(walk, node, state)
        case OperatorAssignmentStmt(lvalue=target):
            held = expressions.operation(walk, node, [target, node.rvalue], state)
            element_access.extended(walk, target, node.rvalue, state)
            if not containers.is_mutable(walk.type_of(target)):
                bind(walk, target, held, state, None)
            return state
        case DelStmt(expr=target):
            for one in element_access.targets(target):
                delete(walk, one, state)
            return state
        case IfStmt():
            return _branches(walk, node, state)
        case MatchStmt():
            return _cases(walk, node, state)
        case WhileStmt() | ForStmt():
            return loops.loop(walk, node, state)
        case WithStmt():
            return _with(walk, node, state)
        case TryStmt():
            return _try(walk, node, state)
        case ReturnStmt(expr=expression):
            held = walk.value(expression, state) if expression is not None else NOTHING
            if expression is not None and _promises_tape(returned_by(walk.frame.function)):
                held = walk.check(held, node, expression)
            walk.frame.returned.append((held, state))
            return None
        case RaiseStmt(expr=raised, from_expr=cause):
            held = [walk.value(one, state) for one in (raised, cause) if one is not None]
            state.held[RAISED] = frozenset(one for one in held[0] if isinstance(one, Ref)) if held else NOTHING
            walk.note_exception(state)
            return None
        case BreakStmt() | ContinueStmt():
            if walk.frame.loops:
                walk.frame.loops[-1][isinstance(node, ContinueStmt)].append(state)
            return None
        case AssertStmt(expr=condition):
            walk.value(condition, state)
            return None if isinstance(condition, NameExpr) and condition.fullname == "builtins.False" else state
        case ClassDef():
            classes.class_body(walk, node, state)
            return state
        case Decorator() if not isinstance(walk.frame.function, MypyFile):
            state.held.pop(("name", node.var), None)  # of an earlier iteration
            classes.function_named(walk, node, node, state)  # its decorators run now
            return state
        case FuncItem() | Decorator() | OverloadedFuncDef():
            return state  # its body runs when it is called
    for one in parts_of(node):
        if not isinstance(one, list):
            walk.value(one, state)
    return state


def _cannot_raise(node: Any) -> bool:
    """Return whether a statement only passes control on."""
    return isinstance(node, BreakStmt | ContinueStmt | PassStmt) or (isinstance(node, ReturnStmt) and node.expr is None)


def _promises_tape(t: Any) -> bool:
    """Return whether a declared type is a tensor with an `OwnedTape`, which a consumed tensor has not."""
    parts = tensor_parts(t) if t is not None else None
    return parts is not None and is_tape(parts.tape, OWNED_TAPE)


def _assigned(walk: Walk, node: AssignmentStmt, state: State) -> State | None:
    if node.is_alias_def or isinstance(node.rvalue, TempNode):  # a declaration without a value
        return state
    held = walk.value(node.rvalue, state)
    before = [state.held.get(("name", one.node), NOTHING) for one in node.lvalues if isinstance(one, NameExpr)]
    for target in node.lvalues:
        bind(walk, target, held, state, node.rvalue)
    if walk.frame.loops and any(isinstance(one, Ref) for old in before for one in old):
        state.release(walk.calls, union(walk.frame.unnamed))  # else it would be mixed up with older ones
    return state


def bind(walk: Walk, target: Any, held: Value, state: State, source: Expression | None) -> None:
    """Bind a name, an attribute, an element, or several of them, to what an expression holds."""
    match target:
        case TupleExpr(items=items) | ListExpr(items=items):
            element_access.unpack(walk, items, held, state, source)
        case StarExpr(expr=inner):
            bind(walk, inner, held, state, None)
        case NameExpr(node=Var() as variable):
            constant = constant_of(source, state) if not is_bound_elsewhere(walk, variable) else None
            state.put(("name", variable), held)
            state.know(("name", variable), constant)
        case MemberExpr(expr=owner, name=name):
            objects = walk.value(owner, state)
            setter = classes.setter_of(walk, target, objects)
            if setter is not None:
                functions.call(walk, setter, target, [functions.positional(held)], state)
                return
            owners = [one for one in objects if isinstance(one, Ref)]
            held = _stored(walk, target, held, source)
            constant = constant_of(source, state) if len(owners) == 1 and not owners[0].age else None
            for one in owners:
                state.put((*one, name), held, weak=len(owners) > 1)
                state.know((*one, name), constant)
                state.forget_in_sources(one, name)
            if not owners and isinstance(target.node, Var):
                state.put(("name", target.node), held)
        case IndexExpr():
            element_access.set_item(walk, target, _stored(walk, target, held, source), state)


def _stored(walk: Walk, target: Any, held: Value, source: Expression | None) -> Value:
    """Report a consumed tensor that is stored where a tensor with a tape is declared."""
    t = walk.type_of(target) or getattr(getattr(target, "node", None), "type", None)
    if not walk.calls and source is not None and isinstance(source, NameExpr | MemberExpr) and _promises_tape(t):
        return walk.check(held, target, source)
    return held


def delete(walk: Walk, target: Any, state: State) -> None:
    """Forget what a name, an attribute or an element held."""
    holder = holder_of(target, state)
    if holder is not None and (len(holder) == 2 or isinstance(target, MemberExpr)):
        state.held[holder] = NOTHING
    elif isinstance(target, IndexExpr):
        element_access.removed(walk, target, state)


def _each_way(walk: Walk, node: IfStmt, rest: list[Any], tested: set[Any], state: State) -> State | None:
    """Follow an `if` and the rest of its block, which tests the same again, for each branch that makes a difference."""
    before = walk.frame.tested
    walk.frame.tested = before | tested
    conditions.forget(walk, tested, state)
    ways: list[State] = []
    for end in _ends(walk, node, state, is_each=True):
        if end is None:
            continue
        walk.note_exception(end)
        alike = [one for one in ways if one.holds_like(end)]
        ways = [*(one for one in ways if one not in alike), branched([*alike, end]) or end]
    after = branched([through(walk, rest, one) for one in ways])
    walk.frame.tested = before
    if after is not None:
        conditions.forget(walk, tested, after)
    return after


def _branches(walk: Walk, node: IfStmt, state: State) -> State | None:
    return branched(_ends(walk, node, state))


def _ends(walk: Walk, node: IfStmt, state: State, *, is_each: bool = False) -> list[State | None]:
    """Return the state after each branch; those of `elif` are joined unless `is_each` is set."""
    ends: list[State | None] = []
    current: State | None = state
    for condition, body in zip(node.expr, node.body, strict=True):
        if current is None:
            break
        try:
            walk.value(condition, current)
        except UnreachableError:
            current = None
            break
        holds = truth(walk, condition, current)
        if holds is None:
            taken = current.copy()
            conditions.assume(walk, condition, taken, holds=True)
            conditions.assume(walk, condition, current, holds=False)
            ends.append(through(walk, body, taken))
        elif holds:
            ends.append(through(walk, body, current))
            current = None
    following = conditions.elif_of(node) if is_each else None
    if following is not None and current is not None:
        return [*ends, *_ends(walk, following, current, is_each=True)]
    return [*ends, through(walk, node.else_body, current)]


def _cases(walk: Walk, node: MatchStmt, state: State) -> State | None:
    held = walk.value(node.subject, state)
    constant = constant_of(node.subject, state)
    ends: list[State | None] = []
    is_complete = False
    for pattern, guard, body in zip(node.patterns, node.guards, node.bodies, strict=True):
        is_taken = matches(walk, pattern, constant, held, state)
        if is_taken is False:
            continue
        taken = state.copy()
        patterns.capture(walk, pattern, held, taken)
        if guard is not None:
            walk.value(guard, taken)
        ends.append(through(walk, body, taken))
        if guard is None and is_taken:
            is_complete = True
            break
    return branched(ends if is_complete else [*ends, state])


def _with(walk: Walk, node: WithStmt, state: State) -> State | None:
    suppresses = False
    exits = []
    managers: list[Value] = []
    for manager, target in zip(node.expr, node.target, strict=True):
        held = walk.value(manager, state)
        entered, leave = context_managers.entered(walk, manager, held, state, is_async=node.is_async)
        exits.append(leave)
        managers.append(held)
        if target is not None:
            bind(walk, target, held if entered is None else entered, state, None)
        suppresses = suppresses or may_suppress(walk.type_of(manager))
        walk.frame.unnamed.append(held)
    before, inside_it = state.copy(), [state.copy()]
    leaves = any(one is not None for one in exits)
    suppresses = suppresses or all(map(context_managers.is_generator, managers))  # unless it raises the error again
    follows_errors = suppresses or (leaves and walk.frame.tries)
    paths = _paths(walk)
    if follows_errors:
        walk.frame.tries.append(inside_it)
    end = through(walk, node.body, state)
    del walk.frame.unnamed[-len(managers) :]
    if follows_errors:
        walk.frame.tries.pop()
    if leaves:
        end = _left(walk, exits, end)
        _on_paths(walk, paths, lambda one: _left(walk, exits, one))
        if follows_errors:
            raised = _left(walk, exits, joined(inside_it), context_managers.ERROR)
            inside_it = [raised] if raised is not None else []
            walk.note_exception(raised) if raised is not None and not suppresses else None
    for held in managers:
        context_managers.forget_stack(walk, held)
    if not suppresses:
        return end
    return before if _expects_error(node) else joined([end, *inside_it])


def _paths(walk: Walk) -> list[tuple[list[Any], int]]:
    """Return where the paths that leave a block are collected, and how many are there."""
    loops_around = walk.frame.loops[-1] if walk.frame.loops else ()
    return [(one, len(one)) for one in (walk.frame.returned, *loops_around)]


def _on_paths(walk: Walk, paths: list[tuple[list[Any], int]], leave: Callable[[State], State | None]) -> None:
    """Let the paths that have left a block by `return`, `break` or `continue` pass what runs at its end."""
    for collected, count in paths:
        new, collected[count:] = collected[count:], []
        for one in new:
            if collected is not walk.frame.returned:
                after = leave(one)
                if after is not None:
                    collected.append(after)
                continue
            held, state = one
            state.held["returned", walk.frame] = held
            after = leave(state)
            if after is not None:
                collected.append((after.held.pop(("returned", walk.frame), held), after))


def _left(
    walk: Walk, exits: list[Any], state: State | None, raised: Constant = context_managers.NO_ERROR
) -> State | None:
    """Return the state after the ends of context managers, the last one first."""
    was_leaving = walk.is_leaving
    walk.is_leaving = True
    try:
        for leave in reversed(exits):
            if leave is not None and state is not None:
                leave(state, raised)
    except UnreachableError:
        return None
    finally:
        walk.is_leaving = was_leaving
    return state


def _expects_error(node: WithStmt) -> bool:
    """Return whether the body is one statement that is expected to raise, so that it consumes nothing."""
    manager = node.expr[0]
    name = getattr(manager.callee, "fullname", "") if isinstance(manager, CallExpr) else ""
    return name in ("pytest.raises", "_pytest.raises.raises") and len(node.body.body) == 1


def _try(walk: Walk, node: TryStmt, state: State) -> State | None:
    inside_it = [state.copy()]
    paths = _paths(walk)
    walk.frame.tries.append(inside_it)
    end = through(walk, node.body, state)
    walk.frame.tries.pop()
    raised = joined(inside_it)
    ends = [through(walk, node.else_body, end)]
    for handler, name, kinds in zip(node.handlers, node.vars, node.types, strict=True):
        ends.append(through(walk, handler, exceptions.caught(walk, name, kinds, inside_it)))
    if node.finally_body is None:
        return joined(ends)
    _on_paths(walk, paths, lambda one: through(walk, node.finally_body, one))
    again = through(walk, node.finally_body, joined([raised, *(one.copy() for one in ends if one is not None)]))
    if again is not None:
        walk.note_exception(again)
    return through(walk, node.finally_body, joined(ends))
