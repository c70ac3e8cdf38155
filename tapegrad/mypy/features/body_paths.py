"""Branches, loops and handlers of exceptions in a body that is read: several ways may lead through them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Final

from mypy.nodes import AssignmentStmt, BreakStmt, CallExpr, ContinueStmt, MemberExpr, NameExpr, ReturnStmt, Var
from mypy.types import Instance, PartialType

from tapegrad.mypy.conversion import unknown
from tapegrad.mypy.features.body_collections import CollectionReader
from tapegrad.mypy.features.body_lists import listed_items
from tapegrad.mypy.features.body_state import End, FailedError, UnreadError, uncertain
from tapegrad.mypy.features.partial_types import are_same
from tapegrad.mypy.features.replaced_tensors import Replacements
from tapegrad.mypy.features.shape_independence import are_alike, depends_on_no_shape
from tapegrad.mypy.mypy_api import (
    caught_type,
    end_here,
    entered_type,
    frame,
    is_impossible,
    matched_type,
    may_suppress,
    narrow,
    narrow_by_condition,
    narrowed,
)
from tapegrad.mypy.scopes.collections import targets_bound
from tapegrad.mypy.scopes.file_contents import made_in_loop
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.scopes.objects import decided, object_of
from tapegrad.mypy.scopes.statements import lets_errors_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mypy.nodes import Block, Expression, MatchStmt, Statement, TryStmt
    from mypy.types import Type

    from tapegrad.mypy.features.body_state import Turn
    from tapegrad.mypy.mypy_api import Checker, Matched

MOST_TURNS: Final = 4  # of a loop, until its variables keep their types


class PathReader(CollectionReader, ABC):
    """Reads the statements that lead to several ways through a body."""

    @abstractmethod
    def _run(self, statements: list[Statement]) -> bool:
        """Read statements; return whether the program goes on after them."""

    def _end(self) -> bool:
        end_here(self._api)
        return False

    def _now(self) -> dict[Var, Type]:
        """Return the types of the variables, as conditions narrow them."""
        return {variable: narrowed(self._api, variable) or t for variable, t in self._types.now().items()}

    def _way(self, read: Callable[[], bool]) -> End:
        """Read statements that may not run; the way ends at a statement that surely fails."""
        try:
            return End(self._now() if read() else None)
        except FailedError as failed:
            self._end()
            self._ignore_errors()
            return End(None, failed.failure)

    def _meet(self, ends: Iterable[End]) -> bool:
        """Give each variable what its types at the ends of several ways have in common; return whether one goes on.

        Raises:
            FailedError: None does, and one of them surely fails.
        """
        ends = list(ends)
        open_ends = [end.types for end in ends if end.types is not None]
        if not open_ends:
            failure = next((end.failure for end in ends if end.failure is not None), None)
            if failure is not None:
                raise FailedError(failure)
            return self._end()
        self._types.reset(open_ends[0])
        for variable in dict.fromkeys(variable for types in open_ends for variable in types):
            self._set_any(variable, [types[variable] for types in open_ends if variable in types])
        if len(open_ends) < len(ends):
            for variable, t in self._types.now().items():  # what fills an empty list may be on a way that has failed
                if isinstance(t, PartialType) and t.type is not None:
                    self._set(variable, Instance(t.type, [unknown() for _ in t.type.type_vars]))
        return True

    def _branch(self, conditions: list[Expression], blocks: list[Block], otherwise: Block | None) -> bool:
        """Read the branch of an `if` statement that the call takes; both, if the call does not decide which."""
        if not conditions:
            return otherwise is None or self._run(otherwise.body)
        condition, block = conditions[0], blocks[0]
        self._type_of(condition)
        is_true = decided(condition, self._api)
        if is_true is not None:
            narrow_by_condition(self._api, condition, is_true=is_true)
            return self._run(block.body) if is_true else self._branch(conditions[1:], blocks[1:], otherwise)
        before = self._types.now()
        with frame(self._api, conditional_frame=True, fall_through=0):
            with frame(self._api, can_skip=True, fall_through=2):
                narrow_by_condition(self._api, condition, is_true=True)
                ends = [self._way(partial(self._run, block.body))]
            self._types.reset(before)
            narrow_by_condition(self._api, condition, is_true=False)
            with frame(self._api, fall_through=2):
                ends.append(self._way(partial(self._branch, conditions[1:], blocks[1:], otherwise)))
        failure = next((end.failure for end in ends if end.failure is not None), None)
        if (
            failure is not None
            and depends_on_no_shape(condition, self._counters, self._api)
            and all(are_alike(target, block.body) for target, block in self._loops)
        ):
            raise FailedError(failure)
        return self._meet(ends)

    def _try(self, statement: TryStmt) -> bool:
        """Read a `try` statement: its body may end at any place in it, and then any handler may run."""
        last = statement.finally_body
        if last is not None and any(isinstance(node, ReturnStmt | BreakStmt | ContinueStmt) for node in inside(last)):
            raise UnreadError(f"line {statement.line} has a finally block that returns, or that ends a turn of a loop")
        api, before = self._api, self._types.now()
        whole: dict[Var, list[Type]] = {}
        self._types.traces.append(whole)
        with frame(api, fall_through=0):  # the frames are nested as in mypy's own check of this statement
            with frame(api, fall_through=2, try_frame=last is not None):
                with frame(api, conditional_frame=True, fall_through=2):
                    ended: dict[Var, list[Type]] = {}
                    tries = len(self._types.traces)
                    self._types.traces.append(ended)
                    with frame(api, fall_through=2, try_frame=True):
                        end = self._way(partial(self._run, statement.body.body))
                    del self._types.traces[tries:]
                    ends = []
                    for kind, name, handler in zip(statement.types, statement.vars, statement.handlers, strict=True):
                        with frame(api, can_skip=True, fall_through=4):
                            self._set_any_of(before, ended)
                            ends.append(self._way(partial(self._handle, kind, name, handler)))
                if end.types is not None and statement.else_body is not None:
                    self._types.reset(end.types)
                    end = self._way(partial(self._run, statement.else_body.body))
            del self._types.traces[-1]
            if last is not None:
                self._set_any_of(before, whole)
                self._way(partial(self._run, last.body))
        is_open = self._meet([end, *ends])
        return is_open and (last is None or self._run(last.body))

    def _handle(self, kind: Expression | None, name: NameExpr | None, handler: Block) -> bool:
        """Read a handler of exceptions."""
        caught = None if kind is None else caught_type(self._api, kind)
        if name is not None and caught is not None:
            self._bind(name, caught, is_declared=True)
        return self._run(handler.body)

    def _set_any_of(self, before: dict[Var, Type], later: dict[Var, list[Type]]) -> None:
        """Give variables what their types before some statements, and those that they get in them, have in common."""
        self._types.reset(before)
        for variable, several in later.items():
            self._set_any(variable, [*([before[variable]] if variable in before else []), *several])

    def _match(self, statement: MatchStmt) -> bool:
        """Read all cases of a `match` statement that the type of its subject allows."""
        subject, api = statement.subject, self._api
        t = self._type_of(subject)
        ends, before = [], self._types.now()
        with frame(api, conditional_frame=True, fall_through=0):
            for pattern, guard, block in zip(statement.patterns, statement.guards, statement.bodies, strict=True):
                matched = matched_type(api, pattern, t)
                if not matched.is_impossible:
                    with frame(api, can_skip=True, fall_through=2):
                        ends.append(self._way(partial(self._case, subject, matched, guard, block)))
                    self._types.reset(before)
                if guard is None:
                    t = matched.rest
                    if is_impossible(t):
                        break
            else:
                with frame(api, fall_through=2):
                    ends.append(End(self._now()))
        return self._meet(ends)

    def _case(self, subject: Expression, matched: Matched, guard: Expression | None, block: Block) -> bool:
        """Read one case of a `match` statement."""
        if isinstance(subject, NameExpr | MemberExpr):
            narrow(self._api, subject, matched.type)
        for name, t in matched.names.items():
            self._bind(name, t, is_declared=True)
        if guard is not None:
            self._type_of(guard)
            narrow_by_condition(self._api, guard, is_true=True)
        return self._run(block.body)

    def _with(
        self, line: int, managers: list[Expression], targets: list[Expression | None], body: list[Statement]
    ) -> bool:
        """Read a `with` statement."""
        for manager, target in zip(managers, targets, strict=True):
            t = self._type_of(manager)
            if may_suppress(t):
                raise UnreadError(f"line {line} has a with statement that may suppress exceptions")
            if target is not None:
                self._bind(target, entered_type(self._api, t, manager))
        try:
            return self._run(body)
        except FailedError as failed:  # a generator may suppress some unseen
            if all(map(lets_errors_pass, managers)):
                raise
            raise uncertain(failed.failure.line) from failed

    def _loop(self, target: Expression | None, block: Block, *, is_certain: bool, is_independent: bool) -> bool:
        """Read a loop, again and again until its variables keep their types: what all turns have in common."""
        loops = len(self._loops)
        self._loops.append((target, block))
        try:
            return self._turns(target, block.body, is_certain=is_certain, is_independent=is_independent)
        finally:
            del self._loops[loops:]

    def _turns(
        self, target: Expression | None, body: list[Statement], *, is_certain: bool, is_independent: bool
    ) -> bool:
        self._forget_lists(body)
        if is_certain and not self._turn(body):
            return False
        for turn in range(MOST_TURNS):
            before = self._now()
            with frame(self._api, can_skip=True):
                end = self._way(partial(self._turn, body))
            if end.failure is not None and is_independent and not (turn or is_certain) and are_alike(target, body):
                raise FailedError(end.failure)
            if end.failure is not None and (turn or is_certain):
                raise uncertain(end.failure.line)  # there may be no such turn
            self._meet([End(before), end])
            after = self._types.now()
            if all(are_same(after[one], t) for one, t in before.items()):
                self._in_loop = end.failure
                return True
        raise UnreadError(f"line {body[0].line} is in a loop that changes the type of a variable at each turn")

    def _each_turn(self, target: Expression, several: list[Turn], body: list[Statement]) -> bool:
        """Read all turns of a loop whose variables have other values or types at each."""
        created = {one: variable for one in body if (variable := _created_by(one, self._api)) is not None}
        self._created_at_turns |= created
        is_repeated = _repeats_itself(target, body)
        try:
            for at, (values, t) in enumerate(several):
                before, changes = self._types.now(), Replacements.changes
                self._frame.variables.update(values)
                self._bind_loop(target, t)
                goes_on = self._turn(body)
                for variable in created.values():
                    self._frame.variables.pop(variable, None)
                if not goes_on:
                    return False
                if is_repeated and changes == Replacements.changes and self._only_lists_grow(before):
                    self._repeat_turns(before, len(several) - at - 1)
                    break
        finally:
            for statement in created:
                del self._created_at_turns[statement]
        return True

    def _only_lists_grow(self, before: dict[Var, Type]) -> bool:
        """Return whether a turn of a loop has left all variables their types, or has added items to their lists."""
        now = self._types.now()
        return now.keys() == before.keys() and all(self._is_same_or_longer(before[one], now[one]) for one in now)

    def _is_same_or_longer(self, before: Type, now: Type) -> bool:
        first, items = listed_items(before), listed_items(now)
        if first is None or items is None:
            return are_same(before, now)
        return len(first) <= len(items) and all(map(are_same, first, items))

    def _repeat_turns(self, before: dict[Var, Type], count: int) -> None:
        """Add to lists what some more turns add, each of which adds the same as the last."""
        for variable, t in before.items():
            first, items = listed_items(t), listed_items(self._types.now()[variable])
            if first is not None and items is not None:
                self._set_items(variable, [*items, *items[len(first) :] * count])

    def _note_created(self, statement: AssignmentStmt) -> None:
        """Note which object a statement of a loop has bound a variable to, until the end of the turn."""
        variable = self._created_at_turns.get(statement)
        value = None if variable is None else object_of(statement.rvalue, self._api)
        if variable is not None and value is not None:
            self._frame.variables[variable] = value

    def _turn(self, body: list[Statement]) -> bool:
        """Read one turn of a loop, to its end or to a `break` or `continue` statement."""
        exits: list[End] = []
        loops = len(self._exits)
        self._exits.append(exits)
        with frame(self._api, can_skip=True):
            end = self._way(partial(self._run, body))
        del self._exits[loops:]
        return self._meet([end, *exits])


def _repeats_itself(target: Expression, body: list[Statement]) -> bool:
    """Return whether all turns of a loop do the same to variables that have the same types: they bind only variables.

    The variables of the loop itself are not read.
    """
    nodes = [node for statement in body for node in inside(statement)]
    bound = [one for node in nodes for one in targets_bound(node)]
    counted = {one.node for one in inside(target) if isinstance(one, NameExpr)}
    read = [node for node in nodes if isinstance(node, NameExpr) and not any(node is one for one in bound)]
    return all(isinstance(one, NameExpr) for one in bound) and not any(one.node in counted for one in read)


def _created_by(statement: Statement, api: Checker) -> Var | None:
    """Return the variable that a statement of a loop, and nothing else, binds to the result of a call."""
    match statement:
        case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=CallExpr() as call):
            return variable if made_in_loop(variable, api) is call else None
    return None
