"""What `send` passes to a generator of the file that reads it in a loop: `loss = yield`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import AssignmentStmt, ForStmt, FuncItem, WhileStmt, YieldExpr, YieldFromExpr

from tapegrad.mypy.ownership.state import Ref, UnreachableError, joined
from tapegrad.mypy.ownership.walk import Frame
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from typing import Any

    from mypy.nodes import Node, Statement

    from tapegrad.mypy.ownership.state import State, Value
    from tapegrad.mypy.ownership.walk import Walk


def sent(walk: Walk, node: Any, owner: Value, held: Value, state: State) -> None:
    """Follow what a generator does from one `yield` to the next, with what it is sent.

    Its variables are known by their names, so nothing is followed where a function has made several generators.
    """
    refs = [one for one in owner if isinstance(one, Ref)]
    body = walk.generators.get(refs[0].site) if len(refs) == 1 and not refs[0].age else None
    received = _receiving.of(body)
    if body is None or received is None or [*walk.generators.values()].count(body) > 1 or not walk.may_go_deeper:
        return
    statement, others = received
    frame = Frame(body)
    frame.loops.append(([], []))
    frame.tries = list(walk.frame.tries)
    walk.frames.append(frame)
    walk.entered.append(body)
    walk.calls = (*walk.calls, node)
    try:
        for target in statement.lvalues:
            walk.bind(target, held, state, None)
        end = walk.through(others, state)
    finally:
        walk.frames.pop()
        walk.entered.pop()
        walk.calls = walk.calls[:-1]
    breaks, continues = frame.loops[0]
    after = joined([end, *breaks, *continues, *(one for _, one in frame.returned)])
    if after is None:
        raise UnreachableError
    state.become(after)


def _receiving_in(function: Node | None) -> tuple[AssignmentStmt, list[Statement]] | None:
    """Return the statement of a loop that binds what is sent, and the others of the loop from there on."""
    if not isinstance(function, FuncItem):
        return None
    yields = [one for one in nodes_in.of(function) if isinstance(one, YieldExpr | YieldFromExpr)]
    for loop in nodes_in.of(function):
        for number, one in enumerate(loop.body.body if isinstance(loop, WhileStmt | ForStmt) else ()):
            if isinstance(one, AssignmentStmt) and yields == [one.rvalue]:
                return one, [*loop.body.body[number + 1 :], *loop.body.body[:number]]
    return None


_receiving = ScopeCache(_receiving_in)
