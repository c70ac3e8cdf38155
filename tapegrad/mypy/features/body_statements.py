"""The statements of a body that is read for the result of a call, with the types that its variables have then.

Where the call does not decide which statements run, all of them are read, and a variable has then what its types have
in common. A statement that surely fails ends the way that leads to it; the body fails if all ways end so.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.errorcodes import MISC
from mypy.nodes import (
    ARG_POS,
    AssertStmt,
    AssignmentExpr,
    AssignmentStmt,
    Block,
    BreakStmt,
    CallExpr,
    ConditionalExpr,
    ContinueStmt,
    DelStmt,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    GlobalDecl,
    IfStmt,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MatchStmt,
    MemberExpr,
    NameExpr,
    NonlocalDecl,
    OperatorAssignmentStmt,
    OpExpr,
    PassStmt,
    RaiseStmt,
    RefExpr,
    ReturnStmt,
    SliceExpr,
    StarExpr,
    Statement,
    StrExpr,
    SuperExpr,
    TempNode,
    TryStmt,
    TupleExpr,
    UnaryExpr,
    Var,
    WhileStmt,
    WithStmt,
    YieldExpr,
)
from mypy.types import Instance, NoneType, PartialType, ProperType, TupleType, Type, UnpackType, get_proper_type

from tapegrad.mypy.calls.arrays import with_sizes
from tapegrad.mypy.conversion import is_iterator, shape_items, shape_type, tensor_parts, unknown
from tapegrad.mypy.features.body_lists import (
    appended_to,
    changed_lists,
    comprehensions_in,
    filled_dictionaries,
    items_assigned,
    list_of,
    listed_items,
    listed_variables,
    popped_from,
    starred_in,
)
from tapegrad.mypy.features.partial_types import (
    are_same,
    filled,
    holds_open,
    holds_tensors,
    is_open,
    is_sequence,
    join,
    joined_dictionary,
    without_value,
)
from tapegrad.mypy.features.replaced_tensors import Replacements
from tapegrad.mypy.features.shape_independence import are_alike, counters_in, depends_on_no_shape, is_counted
from tapegrad.mypy.mypy_api import (
    any_list,
    any_tuple,
    caught_type,
    checked_file,
    checked_type,
    enclosing_function,
    end_here,
    entered_type,
    expect_elements,
    fill_element,
    frame,
    is_impossible,
    iterated_type,
    make,
    matched_type,
    may_suppress,
    name_of,
    narrow,
    narrow_by_condition,
    narrowed,
    types_in_body,
)
from tapegrad.mypy.mypy_files import program_file
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.collections import is_new_list
from tapegrad.mypy.scopes.entries import entries_in, entries_of, is_dictionary, made_entries, with_entries
from tapegrad.mypy.scopes.frames import Made, Reading, forget_turns, key_of, note_turns, turns_noted
from tapegrad.mypy.scopes.items import assigned
from tapegrad.mypy.scopes.names import ScopeCache, inside, is_short_circuit, nodes_in, targets_in
from tapegrad.mypy.scopes.objects import decided, object_of
from tapegrad.mypy.scopes.opaque import writes_by_methods
from tapegrad.mypy.scopes.sequences import elements, has_items, turns
from tapegrad.mypy.scopes.statements import lets_errors_pass
from tapegrad.mypy.unify.arguments import items_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mypy.errorcodes import ErrorCode
    from mypy.errors import ErrorInfo
    from mypy.nodes import Node

    from tapegrad.mypy.mypy_api import Checker, Matched
    from tapegrad.mypy.scopes.frames import Frame, Value

_MOST_TURNS: Final = 4  # of a loop, until its variables keep their types
_MOST_TURNS_READ: Final = 16  # of a loop whose variables have other values at each
_MOST_TURNS_OF_LIST: Final = 64  # of one that also changes a list of tensors


class UnreadError(Exception):
    """A body is not read, or has a statement that is not; the message says why, in a clause.

    Args:
        reason: The clause; if a call is the reason, it goes on behind "the call on line 3".
        call_line: The line of that call.
    """

    def __init__(self, reason: str, call_line: int | None = None) -> None:
        super().__init__(reason)
        self.call_line = call_line


class FailedError(Exception):
    """A statement of a body surely fails."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Failure(NamedTuple):
    """An error in a body that is read.

    Attributes:
        lines: Those of the calls that lead to it, innermost first.
        origin: Where in another file it comes from, if it is that of a call of a function there.
    """

    message: str
    code: ErrorCode
    line: int
    column: int
    end_line: int
    end_column: int
    lines: tuple[int, ...] = ()
    origin: str = ""


class _Turn(NamedTuple):
    """What the variables of a loop are at one of its turns: their values where they are known, and their type."""

    values: dict[Node, Value]
    type: Type


class _End(NamedTuple):
    """How a way through a body ends.

    Attributes:
        types: The types of the variables there; None if the way does not go on.
        failure: Why it does not, if a statement surely fails.
    """

    types: dict[Var, Type] | None
    failure: Failure | None = None


class Types:
    """The types of variables while a body is read, and those to restore.

    Attributes:
        traces: All types that variables get in each `try` statement around the statement that is read.
    """

    def __init__(self) -> None:
        self._before: dict[Var, tuple[Type | None, bool]] = {}
        self.traces: list[dict[Var, list[Type]]] = []

    def set(self, variable: Var, t: Type) -> None:
        """Give a variable a type."""
        self._before.setdefault(variable, (variable.type, variable.is_ready))
        variable.type, variable.is_ready = t, True
        for trace in self.traces:
            trace.setdefault(variable, []).append(t)

    def restore(self) -> None:
        """Give all variables the types that they had at first."""
        self.reset({})

    def now(self) -> dict[Var, Type]:
        """Return the types of the variables that have got one."""
        return {variable: variable.type for variable in self._before if variable.type is not None}

    def reset(self, types: dict[Var, Type]) -> None:
        """Give variables the types that they had before, and all others those that they had at first."""
        for variable, (first, is_ready) in [*self._before.items()]:
            if variable in types:
                variable.type = types[variable]
            else:
                variable.type, variable.is_ready = first, is_ready
                del self._before[variable]

    def is_set(self, variable: Var) -> bool:
        """Return whether a variable has got a type."""
        return variable in self._before


class Reader:
    """Reads the statements of a body.

    Args:
        api: mypy's checker.
        frame: The values of the parameters.
        types: The types of the variables, first those of the parameters.
        errors: Returns the errors that mypy has found in the body so far.
        failures: Those in bodies of the calls in this one, which are added while it is read.
    """

    def __init__(
        self,
        api: Checker,
        frame: Frame,
        types: Types,
        errors: Callable[[], list[ErrorInfo]],
        failures: list[Failure],
    ) -> None:
        self._api = api
        self._frame = frame
        self._types = types
        self._all_errors = errors
        elsewhere = checked_file(api) is not program_file(api)
        self._ignored_lines = checked_file(api).ignored_lines if elsewhere else {}  # mypy ignores those of its file
        self._ignored = 0  # errors on ways that the program does not go
        self._failures = failures
        self._returned: list[Type] = []
        self._yielded: list[Type] = []
        self._in_loop: Failure | None = None  # of the first turn of the loop that was read last, which may have none
        self._exits: list[list[_End]] = []  # of each loop around the statement that is read
        self._loops: list[tuple[Expression | None, Block]] = []  # those of them whose turns are not read one by one
        self._counters: set[Var] = set()  # variables that count turns of loops
        self._empty: dict[Var, tuple[Expression, ListExpr]] = {}  # where lists were created, as an empty one
        self._listed: frozenset[Var] = frozenset()  # variables whose lists have items that are known one by one
        self._filled: frozenset[Var] = frozenset()  # variables whose dictionaries have entries that are followed
        self._passed_on: frozenset[Var] = frozenset()  # the same with those that calls may change
        self._stored: frozenset[str] = frozenset()  # attributes of `self` that the body assigns, and does not read then
        self._followed: frozenset[str] = frozenset()  # those that have what it assigns from there on

    def result(self, statements: list[Statement]) -> Type:
        """Read a body; return the type of what it returns.

        Raises:
            FailedError: It surely fails.
            UnreadError: It has statements that are not read.
        """
        self._begin(statements)
        try:
            is_ended = not self._run(statements)
        except FailedError:
            if not self._returned:
                raise
            is_ended = True
        if not self._returned and is_ended:
            message = "it raises an exception"
            raise UnreadError(message)
        return join(self._returned if is_ended else [*self._returned, NoneType()])

    def yielded(self, statements: list[Statement]) -> Type:
        """Read the body of a generator; return the type of what it yields.

        Raises:
            UnreadError: It has statements that are not read, or that fail: the call of a generator runs none of them.
        """
        self._begin(statements)
        try:
            self._run(statements)
        except FailedError as failed:
            raise _uncertain(failed.failure.line) from failed
        if not self._yielded:
            message = "it yields nothing"
            raise UnreadError(message)
        return join(self._yielded)

    def _begin(self, statements: list[Statement]) -> None:
        self._listed, (self._filled, self._passed_on) = listed_variables(statements), filled_dictionaries(statements)
        self._stored = _attributes_stored(statements)
        self._followed = frozenset(filter(self._follows, _attributes_assigned(statements)))

    def _run(self, statements: list[Statement]) -> bool:
        """Read statements; return whether the program goes on after them.

        Raises:
            FailedError: One surely fails. If a loop before it fails in its first turn, the error is that of the loop: a
                loop that has no turn, and leaves a list empty, may be the only way to the statement that fails.
        """
        in_loop: Failure | None = None
        for statement in statements:
            try:
                goes_on = self._read(statement)
            except FailedError as failed:
                raise FailedError(in_loop or failed.failure) from failed
            if not goes_on:
                return False
            in_loop, self._in_loop = in_loop or self._in_loop, None
        return True

    def _read(self, statement: Statement) -> bool:
        """Read a statement; return whether the program goes on after it."""
        match statement:
            case ReturnStmt(expr=value):
                self._returned.append(NoneType() if value is None else self._result(value))
                return self._end()
            case RaiseStmt(expr=value):
                if value is not None:
                    self._type_of(value)
                return self._end()
            case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=value) if variable in self._listed:
                self._create_list(variable, statement.lvalues[0], value)
            case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=value) if variable in self._filled:
                self._create_dictionary(variable, value)
            case AssignmentStmt(lvalues=[TupleExpr(items=targets)], rvalue=TupleExpr(items=values)) if _are_apart(
                targets, values
            ):
                for target, value in zip(targets, values, strict=True):
                    one = AssignmentStmt([target], value)
                    one.set_line(statement)
                    self._read(one)
            case ExpressionStmt(expr=CallExpr() as call) if (variable := appended_to(call)) in self._listed:
                self._append(variable, call)
            case AssignmentStmt(
                lvalues=[NameExpr(node=Var() as variable) as target],
                rvalue=(ListExpr(items=[]) | DictExpr(items=[])) as value,
                type=declared,
            ) if variable.is_inferred or (declared is not None and holds_open(declared)):
                if not self._types.is_set(variable):
                    self._types.set(variable, self._type_of(value))
                    expect_elements(self._api, variable, target, value)
            case AssignmentStmt(lvalues=[IndexExpr() as target], rvalue=value, type=None):
                fill_element(self._api, target, value)
                self._set_item(target, self._type_of(value))
            case AssignmentStmt(
                lvalues=[TupleExpr() as target],
                rvalue=CallExpr(callee=NameExpr(fullname="builtins.map"), args=[function, sequence]) as value,
                type=None,
            ) if (items := items_of(self._type_of(sequence), sequence, self._api)) is not None:
                self._bind(target, TupleType(self._mapped(function, items, value), any_tuple(self._api)))
            case AssignmentStmt(
                lvalues=[TupleExpr() as target], rvalue=GeneratorExpr() | ListComprehension() as value, type=None
            ) if (items := self._generated(value)) is not None:
                self._bind(target, TupleType(items, any_tuple(self._api)))
            case AssignmentStmt(lvalues=[target], rvalue=value, type=declared):
                t = self._type_of(value)
                if declared is not None and not holds_open(declared):
                    if holds_tensors(declared):
                        raise UnreadError(f"line {statement.line} declares the sizes of a variable")
                    t = declared
                elif declared is not None and is_open(declared) and not isinstance(get_proper_type(t), NoneType):
                    t = filled(declared, t)
                items = items_of(t, value, self._api) if isinstance(target, TupleExpr) else None
                t = t if items is None else TupleType(items, any_tuple(self._api))
                self._bind(target, t, is_declared=declared is not None)
            case OperatorAssignmentStmt(lvalue=NameExpr() as target, rvalue=value, op=op):
                computed = OpExpr(op, target, value)
                computed.set_line(statement)
                self._bind(target, self._type_of(computed))
            case OperatorAssignmentStmt(
                lvalue=IndexExpr(base=NameExpr(node=Var() as variable)) as target, rvalue=value, op=op
            ) if variable in self._listed | self._filled:
                computed = OpExpr(op, target, value)
                computed.set_line(statement)
                self._set_item(target, self._type_of(computed))
            case OperatorAssignmentStmt(lvalue=IndexExpr() | MemberExpr() as target, rvalue=value):
                self._change(target, self._type_of(target))
                self._type_of(value)
            case ForStmt(index=NameExpr() | TupleExpr(), expr=value, body=body, else_body=None):
                changed = [one for one in self._variables_in(value) if one in items_assigned(inside(body))]
                before = self._types.now()
                goes_on = self._for(statement)
                after = self._types.now()
                if not all(are_same(before[one], after[one]) for one in changed if one in before and one in after):
                    raise UnreadError(f"line {statement.line} is a loop that changes the types of the items it reads")
                return goes_on
            case WhileStmt(expr=condition, body=body, else_body=None):
                self._type_of(condition)
                return self._loop(
                    None,
                    body,
                    is_certain=False,
                    is_independent=depends_on_no_shape(condition, self._counters, self._api),
                )
            case BreakStmt() | ContinueStmt():
                self._exits[-1].append(_End(self._now()))
                return self._end()
            case IfStmt(expr=conditions, body=blocks, else_body=otherwise):
                return self._branch(conditions, blocks, otherwise)
            case TryStmt(is_star=False):
                return self._try(statement)
            case WithStmt(expr=managers, target=targets, body=body, is_async=False):
                return self._with(statement.line, managers, targets, body.body)
            case MatchStmt():
                return self._match(statement)
            case FuncDef() if not any(isinstance(node, NonlocalDecl | GlobalDecl) for node in inside(statement)):
                Reading.functions[statement] = self._frame, checked_file(self._api)
            case AssertStmt(expr=condition):
                self._assert(condition)
            case ExpressionStmt(expr=StrExpr()) | PassStmt() | DelStmt(expr=NameExpr()):
                pass
            case DelStmt(expr=IndexExpr(base=holder) as target):
                self._change(target, self._type_of(holder))
            case ExpressionStmt(expr=YieldExpr(expr=value)):
                yielded = NoneType() if value is None else made_entries(value, self._type_of(value), self._api)
                self._yielded.append(yielded)
            case ExpressionStmt(expr=value):
                self._type_of(value, may_be_none=True)
            case _:
                raise UnreadError(f"line {statement.line} has {_named(statement)}")
        return True

    def _for(self, loop: ForStmt) -> bool:
        """Read a loop over a sequence; return whether the program goes on after it."""
        target, value, body = loop.index, loop.expr, loop.body
        items, stays = self._turns_over_lists(target, value), self._stays(value, body)
        changes_list = not changed_lists(body.body).isdisjoint(self._listed)
        most = _MOST_TURNS_OF_LIST if changes_list else _MOST_TURNS_READ
        self._type_of(value)
        if items is not None and stays and len(items) <= most and not _may_break(body):
            return self._each_turn(target, items, body.body)
        several = turns(target, value, self._api) if items is None and stays else None
        if several is not None and _are_read_each(several, body, most):
            t = iterated_type(self._api, value)
            return self._each_turn(target, [_Turn(values, t) for values in several], body.body)
        self._frame.variables.update(elements(target, value, self._api))
        self._bind_loop(target, iterated_type(self._api, value))
        self._counters.update(counters_in(target, value))
        return self._loop(target, body, is_certain=has_items(value, self._api), is_independent=is_counted(value))

    def _result(self, value: Expression) -> Type:
        """Return the type of what the body returns."""
        t = made_entries(value, with_sizes(self._type_of(value), value, self._api), self._api)
        return self._new_lists(value, t)

    def _new_lists(self, value: Expression, t: Type) -> Type:
        """Return the type of what the body returns without the items of lists that something else may change."""
        p, items = get_proper_type(t), listed_items(t)
        if items is not None:
            return any_list(self._api).copy_modified(args=[join(items) if items else unknown()])
        if isinstance(p, TupleType) and isinstance(value, TupleExpr) and len(p.items) == len(value.items):
            return p.copy_modified(items=[*map(self._new_lists, value.items, p.items)])
        if not is_sequence(p) or is_new_list(value, enclosing_function(self._api), self._api):
            return t
        return p.copy_modified(args=[unknown()])

    def _end(self) -> bool:
        end_here(self._api)
        return False

    def _set(self, variable: Var, t: Type) -> None:
        self._types.set(variable, t)
        narrow(self._api, name_of(variable), t)

    def _errors(self) -> list[ErrorInfo]:
        return [one for one in self._all_errors()[self._ignored :] if one.code is None or one.code.code not in _STYLE]

    def _ignore_errors(self) -> None:
        self._ignored = len(self._all_errors())
        self._failures.clear()

    def _assert(self, condition: Expression) -> None:
        """Read what an `assert` statement says of variables; Python may leave the statement out."""
        try:
            self._type_of(condition)
        except (FailedError, UnreadError):
            self._ignore_errors()
        else:
            narrow_by_condition(self._api, condition, is_true=True)

    def _type_of(self, value: Expression, *, may_be_none: bool = False) -> Type:
        if isinstance(value, ConditionalExpr):
            self._type_of(value.cond)
            is_true = decided(value.cond, self._api)
            if is_true is not None:
                narrow_by_condition(self._api, value.cond, is_true=is_true)
                chosen = self._type_of(value.if_expr if is_true else value.else_expr, may_be_none=may_be_none)
                types_in_body(self._api)[value] = chosen
                return chosen
        for conditional in _conditionals_in(value):
            checked_type(self._api, conditional.cond, may_be_none=False)  # what it compares has a type then
            is_true = decided(conditional.cond, self._api)
            if is_true is not None:
                narrow_by_condition(self._api, conditional.cond, is_true=is_true)
        for comprehension in comprehensions_in(value):
            self._read_turns(comprehension)
        for generator in starred_in(value):
            self._read_starred(generator)
        found = checked_type(self._api, value, may_be_none=may_be_none)
        errors = self._errors()
        if not self._failures and not errors:
            for variable in popped_from(value) if self._listed else ():
                items = listed_items(self._types.now().get(variable)) if variable in self._listed else None
                if items:
                    self._set(variable, list_of(items[:-1], any_list(self._api)))
            return found
        place = None if self._failures else (errors[0].line, errors[0].column)
        if not _is_evaluated(value, place, self._api):
            raise _uncertain(value.line)
        line = self._failures[0].line if self._failures else errors[0].line
        if line in self._ignored_lines:
            raise UnreadError(f"line {line} has a type: ignore")
        if self._failures:
            raise FailedError(self._failures[0])
        first = errors[0]
        if first.code is None or first.code not in CODES.values():
            raise UnreadError(f"line {value.line} is an error of mypy at a call")
        end_line, end_column = first.end_line or first.line, first.end_column or first.column
        raise FailedError(Failure(first.message, first.code, first.line, first.column, end_line, end_column))

    def _read_turns(self, comprehension: ListComprehension | DictionaryComprehension) -> None:
        """Read a comprehension over layers, or numbers, that differ, turn by turn, and note what its items are."""
        forget_turns(comprehension)
        is_list = isinstance(comprehension, ListComprehension)
        of = comprehension.generator if isinstance(comprehension, ListComprehension) else comprehension
        written = None if isinstance(comprehension, ListComprehension) else comprehension.key
        target, sequence = of.indices[0], of.sequences[0]
        several = turns(target, sequence, self._api) if len(of.indices) == 1 and not any(of.condlists) else None
        if several is None or len(several) > _MOST_TURNS_READ or not _differ(several):
            return
        item = (
            comprehension.generator.left_expr if isinstance(comprehension, ListComprehension) else comprehension.value
        )
        items: list[tuple[str | None, Type]] = []
        before = dict(self._frame.variables)
        try:
            for values in several:
                self._frame.variables.update(values)
                self._bind_loop(target, iterated_type(self._api, sequence))
                key = None if written is None else object_of(written, self._api)
                items.append((key if isinstance(key, str) else None, self._type_of(item)))
        except UnreadError:  # the comprehension is then read as a whole
            self._ignore_errors()
            return
        finally:
            self._frame.variables.clear()
            self._frame.variables.update(before)
        if is_list or all(key is not None for key, _ in items):
            note_turns(comprehension, items)

    def _read_starred(self, generator: GeneratorExpr) -> None:
        """Read a generator over a tuple whose items are arguments of a call, and note what they are."""
        forget_turns(generator)
        try:
            items = self._generated(generator)
        except UnreadError:  # the generator is then read as a whole
            self._ignore_errors()
            return
        if items is not None:
            note_turns(generator, [(None, one) for one in items])

    def _mapped(self, function: Expression, items: list[Type], call: CallExpr) -> list[Type]:
        """Return the types of the results of `map`, for items of some types."""
        results: list[Type] = []
        for item in items:
            if isinstance(function, LambdaExpr) and len(function.arguments) == 1:
                self._types.set(function.arguments[0].variable, item)
                results.append(self._type_of(function.expr()))
            else:
                one = CallExpr(function, [TempNode(item, context=call)], [ARG_POS], [None])
                one.set_line(call)
                results.append(self._type_of(one))
        return results

    def _generated(self, value: GeneratorExpr | ListComprehension) -> list[Type] | None:
        """Return the types of the items of a generator, or a list, over a tuple; None if it runs over anything else."""
        of = value.generator if isinstance(value, ListComprehension) else value
        if len(of.indices) > 1 or any(of.condlists):
            return None
        sequence = of.sequences[0]
        p = get_proper_type(with_sizes(self._type_of(sequence), sequence, self._api))
        if not isinstance(p, TupleType) or any(isinstance(one, UnpackType) for one in p.items):
            return None
        found: list[Type] = []
        for item in p.items:
            self._bind_loop(of.indices[0], item)
            found.append(self._type_of(of.left_expr))
        return found

    def _create_list(self, variable: Var, target: Expression, value: Expression) -> None:
        """Bind a variable to a list that is written there, of which each item keeps its type."""
        if isinstance(value, ConditionalExpr):
            self._type_of(value.cond)
            is_true = decided(value.cond, self._api)
            if is_true is not None:
                narrow_by_condition(self._api, value.cond, is_true=is_true)
                self._create_list(variable, target, value.if_expr if is_true else value.else_expr)
                return
        if isinstance(value, ListExpr):
            self._empty[variable] = target, ListExpr([])
            items = [self._type_of(one) for one in value.items]
            self._set(variable, list_of(items, any_list(self._api)))
            if not all(map(_is_item, items)):
                self._without_items(variable, items)
        else:
            t = self._type_of(value)
            items = self._comprehended(value, t) if isinstance(value, ListComprehension) else None
            self._set(variable, t if items is None else list_of(items, any_list(self._api)))

    def _comprehended(self, comprehension: ListComprehension, t: Type) -> list[Type] | None:
        """Return the types of the tensors in a list that a comprehension makes, where each turn is known."""
        several = get_proper_type(t)
        if not isinstance(several, Instance) or tensor_parts(several.args[0]) is None:
            return None
        noted = turns_noted(comprehension)
        if noted is not None:
            return [one for _, one in noted]
        generator = comprehension.generator
        target, sequence = generator.indices[0], generator.sequences[0]
        known = turns(target, sequence, self._api)
        if known is None or len(known) > _MOST_TURNS_READ:
            return None
        items: list[Type] = []
        for values in known:
            self._frame.variables.update(values)
            self._bind_loop(target, iterated_type(self._api, sequence))
            items.append(self._type_of(generator.left_expr))
        return items

    def _append(self, variable: Var, call: CallExpr) -> None:
        """Add an item to a list of tensors."""
        item, items = self._type_of(call.args[0]), listed_items(variable.type)
        several = get_proper_type(variable.type)
        if items is not None and _is_item(item):
            self._set(variable, list_of([*items, item], any_list(self._api)))
        elif items is None and isinstance(several, Instance) and _is_item(several.args[0]):
            self._set(variable, several.copy_modified(args=[join([several.args[0], item])]))
        else:
            if items is not None:
                self._without_items(variable, items)
            self._type_of(call, may_be_none=True)

    def _create_dictionary(self, variable: Var, value: Expression) -> None:
        """Bind a variable to a dictionary that is written there, whose entries are followed."""
        t = get_proper_type(self._type_of(value))
        if isinstance(value, DictExpr) and not value.items:
            t = make(self._api)("builtins.dict", [unknown(), unknown()])
        entries = entries_of(value, self._api)
        if entries is not None and isinstance(t, Instance):
            t = with_entries(t, entries, variable)
        self._set(variable, t)

    def _set_item(self, target: IndexExpr, t: Type) -> None:
        """Assign to an item of a list or a dictionary.

        Raises:
            UnreadError: The item gets another type, and other variables may have the list or the dictionary too.
        """
        variable = target.base.node if isinstance(target.base, NameExpr) else None
        if isinstance(variable, Var) and variable in self._filled:
            self._fill(variable, target.index, t)
            return
        items = listed_items(variable.type) if isinstance(variable, Var) and variable in self._listed else None
        declared = self._type_of(target)
        if isinstance(variable, Var) and items is not None and not isinstance(target.index, SliceExpr):
            position = target.index.value if isinstance(target.index, IntExpr) else None
            items = [
                t if position == at else join([item, *([t] if position is None else [])])
                for at, item in enumerate(items)
            ]
            self._set(variable, list_of(items, any_list(self._api)))
        elif holds_tensors(declared) and not are_same(item := join([declared, t]), declared):
            held = get_proper_type(variable.type) if isinstance(variable, Var) else None
            if not isinstance(variable, Var) or variable not in self._passed_on or not isinstance(held, Instance):
                raise UnreadError(f"line {target.line} changes the type of an item")
            item = item if tensor_parts(item) is not None else unknown()
            self._set(variable, held.copy_modified(args=[*held.args[:-1], item]))

    def _fill(self, variable: Var, key: Expression, t: Type) -> None:
        """Add an entry to a dictionary, or replace one."""
        held, of_key = get_proper_type(variable.type), without_value(self._type_of(key))
        if not isinstance(held, Instance) or not is_dictionary(held):
            raise UnreadError(f"line {key.line} changes what is no dictionary")
        entries, name = entries_in(held), object_of(key, self._api)
        if entries is None or len(entries):
            of_key = held.args[0] if are_same(held.args[0], of_key) else unknown()
        item = t if entries is not None and not entries else join([held.args[1], t])
        filled_now = held.copy_modified(args=[of_key, item if tensor_parts(item) is not None else unknown()])
        if entries is not None and isinstance(name, str):
            entry = t if tensor_parts(t) is not None else unknown()
            filled_now = with_entries(filled_now, {**entries, name: entry}, variable)
        self._set(variable, filled_now)

    def _without_items(self, variable: Var, items: list[Type]) -> None:
        """Give a variable the type of a list of any length."""
        if items:
            self._set(variable, any_list(self._api).copy_modified(args=[join(items)]))
        elif variable in self._empty:
            target, value = self._empty[variable]
            self._types.set(variable, self._type_of(value))
            if isinstance(target, NameExpr):
                expect_elements(self._api, variable, target, value)

    def _items_of(self, expression: Expression) -> list[Type] | None:
        """Return the types of the items of a list in a variable, where they are known one by one."""
        match expression:
            case NameExpr(node=Var() as variable) if variable in self._listed:
                return listed_items(variable.type)
            case (
                CallExpr(callee=RefExpr(fullname="builtins.reversed"), args=[of])
                | IndexExpr(
                    base=of,
                    index=SliceExpr(begin_index=None, end_index=None, stride=UnaryExpr(op="-", expr=IntExpr(value=1))),
                )
            ):
                items = self._items_of(of)
                return None if items is None else items[::-1]
        return None

    def _turns_over_lists(self, target: Expression, sequence: Expression) -> list[_Turn] | None:
        """Return the turns of a loop over lists whose items are known one by one, perhaps beside other sequences."""
        if not any(one in self._listed for one in self._variables_in(sequence)):
            return None
        items = self._items_of(sequence)
        if items is not None:
            return [_Turn({}, item) for item in items]
        match target, sequence:
            case TupleExpr(items=[number, one]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of]):
                inner = self._turns_over_lists(one, of)
                int_type = make(self._api)("builtins.int", [])
                return inner and [
                    self._beside([_Turn(assigned(number, index), int_type), turn]) for index, turn in enumerate(inner)
                ]
            case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
                parts = [self._turns_of(one, of) for one, of in zip(targets, several, strict=False)]
                known = [part for part in parts if part is not None]
                if len(known) < len(targets):
                    return None
                return [self._beside([*row]) for row in zip(*known, strict=False)]
        return None

    def _turns_of(self, target: Expression, sequence: Expression) -> list[_Turn] | None:
        over_lists = self._turns_over_lists(target, sequence)
        if over_lists is not None:
            return over_lists
        several = turns(target, sequence, self._api)
        t = iterated_type(self._api, sequence)
        return None if several is None else [_Turn(values, t) for values in several]

    def _beside(self, parts: list[_Turn]) -> _Turn:
        values = {node: value for part in parts for node, value in part.values.items()}
        return _Turn(values, TupleType([part.type for part in parts], any_tuple(self._api)))

    def _variables_in(self, expression: Expression) -> list[Var]:
        """Return the variables in an expression whose lists or dictionaries are followed."""
        names = [one.node for one in inside(expression) if isinstance(one, NameExpr)]
        return [one for one in names if isinstance(one, Var) and one in self._listed | self._filled]

    def _stays(self, several: Expression, body: Block) -> bool:
        """Return whether the body of a loop leaves the lists as they are over which it runs."""
        changed = (changed_lists(body.body) | items_assigned(inside(body))) & (self._listed | self._filled)
        return not any(isinstance(one, NameExpr) and one.node in changed for one in inside(several))

    def _forget_lists(self, statements: list[Statement]) -> None:
        """Forget the items of lists that statements change, which run a number of times that is not known."""
        for variable in changed_lists(statements) & self._listed:
            items = listed_items(self._types.now().get(variable))
            if items is not None:
                self._without_items(variable, items)

    def _bind(self, target: Expression, t: Type, *, is_declared: bool = False) -> None:
        match target:
            case NameExpr(node=Var() as variable) if not variable.is_property and not variable.is_final:
                if not variable.is_inferred and not is_declared and not self._types.is_set(variable):
                    raise UnreadError(f"line {target.line} binds a global variable, or one with an annotation")
                self._counters.discard(variable)
                self._set(variable, t)
            case TupleExpr(items=targets):
                p = get_proper_type(t)
                is_starred = any(isinstance(one, StarExpr) for one in targets)
                rows = None if is_starred else self._rows(p, len(targets))
                if rows is not None:
                    p = TupleType(rows, any_tuple(self._api))
                if not isinstance(p, TupleType) or is_starred or any(isinstance(one, UnpackType) for one in p.items):
                    item = _item_in(p)
                    if item is None:
                        raise UnreadError(f"line {target.line} unpacks a value of unknown length")
                    for one in targets:  # as many as there are: the program goes on with no other number
                        is_rest = isinstance(one, StarExpr)
                        self._bind(one, any_list(self._api).copy_modified(args=[item]) if is_rest else item)
                    return
                if len(p.items) != len(targets):
                    raise FailedError(_unpacked(target, len(targets), len(p.items)))
                for one, item in zip(targets, p.items, strict=True):
                    self._bind(one, item)
            case StarExpr(expr=starred):
                self._bind(starred, t)
            case MemberExpr(expr=NameExpr(name="self"), name=name) if (
                name in self._stored | self._followed and _is_tensor_or_none(t)
            ):
                self._assign(target, name, t)
            case IndexExpr(base=NameExpr(node=Var() as variable)) if variable in self._listed | self._filled:
                self._set_item(target, t)
            case _:
                self._change(target, t)

    def _assign(self, attribute: MemberExpr, name: str, t: Type) -> None:
        """Bind an attribute of `self`, for the rest of the body if it reads the attribute, and for other methods."""
        method, made = enclosing_function(self._api), self._frame.receiver
        if name in self._followed:
            narrow(self._api, attribute, t)
        if isinstance(method, FuncDef) and made is not None and tensor_parts(t) is not None:
            Replacements.note(method, name, made, t)

    def _follows(self, name: str) -> bool:
        """Return whether only the body that is read, and constructors, assign to an attribute of `self`.

        A call in the body does not assign to it, because no method of the file calls the one that is read.
        """
        made, function = self._frame.receiver, enclosing_function(self._api)
        if not isinstance(function, FuncDef) or function.name in _called_by_methods.of(checked_file(self._api)):
            return False
        writes = writes_by_methods(made.info, name, self._api) if isinstance(made, Made) else None
        methods = [one.method for one in writes or ()]
        return methods.count(function) == 1 and all(
            one is function or (one is not None and one.name == "__init__") for one in methods
        )

    def _rows(self, t: Type, count: int) -> list[Type] | None:
        """Return the types of the rows of a tensor that is unpacked to some names; None if it may have others."""
        p, parts = get_proper_type(t), tensor_parts(t)
        items = shape_items(parts.shape) if parts is not None else None
        if not isinstance(p, Instance) or not items or not isinstance(items[0], int) or items[0] != count:
            return None
        return [p.copy_modified(args=[shape_type(items[1:], make(self._api)), *p.args[1:]])] * count

    def _change(self, target: Expression, t: Type) -> None:
        """Read that an attribute or an item changes: no type here does, unless it is that of a tensor.

        Raises:
            UnreadError: It may be a tensor, or what is changed has some.
        """
        if not isinstance(target, IndexExpr | MemberExpr) or holds_tensors(t):
            raise UnreadError(f"line {target.line} binds no plain variable")

    def _now(self) -> dict[Var, Type]:
        """Return the types of the variables, as conditions narrow them."""
        return {variable: narrowed(self._api, variable) or t for variable, t in self._types.now().items()}

    def _way(self, read: Callable[[], bool]) -> _End:
        """Read statements that may not run; the way ends at a statement that surely fails."""
        try:
            return _End(self._now() if read() else None)
        except FailedError as failed:
            self._end()
            self._ignore_errors()
            return _End(None, failed.failure)

    def _meet(self, ends: Iterable[_End]) -> bool:
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

    def _set_any(self, variable: Var, types: list[Type]) -> None:
        """Give a variable what several types have in common."""
        if variable in self._filled:
            self._set(variable, joined_dictionary(types, variable))
            return
        lists = [listed_items(t) for t in types] if variable in self._listed else []
        known = [items for items in lists if items is not None]
        if len({*map(len, known)}) > 1 or (known and len(known) < len(lists)):
            others = [t for t, items in zip(types, lists, strict=True) if items is None]
            items = [item for items in known for item in items]
            self._without_items(variable, items)
            types = [*others, *([self._types.now()[variable]] if items or not others else [])]
        self._set(variable, join(types))

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
                    ends.append(_End(self._now()))
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
            raise _uncertain(failed.failure.line) from failed

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
        for turn in range(_MOST_TURNS):
            before = self._now()
            with frame(self._api, can_skip=True):
                end = self._way(partial(self._turn, body))
            if end.failure is not None and is_independent and not (turn or is_certain) and are_alike(target, body):
                raise FailedError(end.failure)
            if end.failure is not None and (turn or is_certain):
                raise _uncertain(end.failure.line)  # there may be no such turn
            self._meet([_End(before), end])
            after = self._types.now()
            if all(are_same(after[one], t) for one, t in before.items()):
                self._in_loop = end.failure
                return True
        raise UnreadError(f"line {body[0].line} is in a loop that changes the type of a variable at each turn")

    def _bind_loop(self, target: Expression, t: Type) -> None:
        if isinstance(target, NameExpr) and isinstance(target.node, Var):
            self._set(target.node, t)
        else:
            self._bind(target, t)

    def _each_turn(self, target: Expression, several: list[_Turn], body: list[Statement]) -> bool:
        """Read all turns of a loop whose variables have other values or types at each."""
        for values, t in several:
            self._frame.variables.update(values)
            self._bind_loop(target, t)
            if not self._turn(body):
                return False
        return True

    def _turn(self, body: list[Statement]) -> bool:
        """Read one turn of a loop, to its end or to a `break` or `continue` statement."""
        exits: list[_End] = []
        loops = len(self._exits)
        self._exits.append(exits)
        with frame(self._api, can_skip=True):
            end = self._way(partial(self._run, body))
        del self._exits[loops:]
        return self._meet([end, *exits])


def _is_item(t: Type) -> bool:
    """Return whether an item of a list is followed: a tensor, or a tuple with tensors."""
    return tensor_parts(t) is not None or (isinstance(get_proper_type(t), TupleType) and holds_tensors(t))


def _are_apart(targets: list[Expression], values: list[Expression]) -> bool:
    """Return whether `a, b = x, []` creates a list, and no value uses what an earlier target gets."""
    names = [one.node for one in targets if isinstance(one, NameExpr)]
    read = {node.node for value in values for node in inside(value) if isinstance(node, NameExpr)}
    are_names = len(names) == len(targets) and read.isdisjoint(names)
    are_empty = all(isinstance(one, ListExpr) and not one.items for one in values)
    is_list = any(isinstance(one, ListExpr) for one in values)
    return len(targets) == len(values) and is_list and (are_names or are_empty)


def _item_in(several: ProperType) -> Type | None:
    """Return the type of the items of a sequence or an iterator of any length; None for other types with tensors.

    It is Any for items without tensors, but whole numbers.
    """
    has_items = isinstance(several, Instance) and (is_sequence(several) or is_iterator(several))
    item = several.args[0] if has_items and isinstance(several, Instance) else unknown()
    if holds_tensors(several):
        return item if holds_tensors(item) else None
    p = get_proper_type(item)
    return p if isinstance(p, Instance) and p.type.fullname == "builtins.int" else unknown()


def _differ(several: list[dict[Node, Value]]) -> bool:
    """Return whether the variables of a comprehension have other values at other turns, such as other layers."""
    return len({tuple(map(key_of, values.values())) for values in several}) > 1


def _are_read_each(several: list[dict[Node, Value]], body: Block, most: int) -> bool:
    """Return whether all turns of a loop are read: few, or with other known values, such as layers of other sizes.

    Turns after a `break` statement may not run.
    """
    if _may_break(body):
        return False
    if len(several) <= _MOST_TURNS:
        return True
    keys = [tuple(map(key_of, values.values())) for values in several]
    return len(set(keys)) > 1 and all(None not in one for one in keys) and len(keys) <= most


def _unpacked(target: Expression, expected: int, given: int) -> Failure:
    """Return the error by which Python rejects `a, b = x, y, z`, in mypy's words."""
    many = f"Too many values to unpack ({expected} expected, {given} provided)"
    message = many if given > expected else f"Need more than {given} values to unpack ({expected} expected)"
    end_line, end_column = target.end_line or target.line, target.end_column or target.column
    return Failure(message, MISC, target.line, target.column, end_line, end_column)


def _may_break(body: Block) -> bool:
    return any(isinstance(node, BreakStmt) for node in inside(body))


_STATEMENTS: Final = {
    "DelStmt": "a del statement",
    "ForStmt": "a loop with an else, or whose variable is no plain one",
    "FuncDef": "a function that binds names outside of it",
    "TryStmt": "a handler of groups of exceptions",
    "WhileStmt": "a while loop with an else",
    "WithStmt": "an asynchronous with statement",
}
_STYLE: Final = {
    "comparison-overlap",
    "no-any-return",
    "no-untyped-call",
    "redundant-cast",
    "redundant-expr",
    "unreachable",
}  # no mistakes


def _uncertain(line: int) -> UnreadError:
    return UnreadError(f"line {line} is an error at a call, but may not run then")


def _named(statement: Statement) -> str:
    """Return the name of a kind of statement."""
    return _STATEMENTS.get(type(statement).__name__, "a statement that is not read")


def _attributes_stored(statements: list[Statement]) -> frozenset[str]:
    """Return the attributes of `self` that statements assign, if none is read after that; none if there is a loop."""
    nodes = [node for statement in statements for node in inside(statement)]
    if any(isinstance(node, ForStmt | WhileStmt) for node in nodes):
        return frozenset()
    stored: dict[str, list[AssignmentStmt]] = {}
    read = [node for node in nodes if isinstance(node, MemberExpr)]  # without what statements bind
    for node in nodes:
        for target in targets_in(node.lvalues) if isinstance(node, AssignmentStmt) else ():
            match target:
                case MemberExpr(expr=NameExpr(name="self"), name=name):
                    stored.setdefault(name, []).append(node)
                case IndexExpr():
                    read += [one for one in inside(target) if isinstance(one, MemberExpr)]
    return frozenset(
        name
        for name, assigned in stored.items()
        if not any(_may_follow(one, assigned) for one in read if one.name == name)
    )


def _read_called_by_methods(file: Node | None) -> set[str]:
    """Return the names of methods that the methods of a file may call; `self(x)` calls `forward`."""
    methods = [node for node in nodes_in.of(file) if isinstance(node, FuncDef) and node.info]
    nodes = [node for method in methods for node in inside(method)]
    names = {node.name for node in nodes if isinstance(node, MemberExpr | SuperExpr)}
    receivers = {method.arguments[0].variable for method in methods if method.arguments}
    calls = [node.callee for node in nodes if isinstance(node, CallExpr)]
    is_called = any(isinstance(callee, NameExpr) and callee.node in receivers for callee in calls)
    return names | {"forward"} if is_called else names


_called_by_methods = ScopeCache(_read_called_by_methods)


def _attributes_assigned(statements: list[Statement]) -> set[str]:
    """Return the attributes of `self` to which statements assign that run once, and always."""
    targets = [one for node in statements if isinstance(node, AssignmentStmt) for one in targets_in(node.lvalues)]
    return {one.name for one in targets if isinstance(one, MemberExpr) and getattr(one.expr, "name", "") == "self"}


def _may_follow(read: MemberExpr, assigned: list[AssignmentStmt]) -> bool:
    """Return whether an attribute may be read after one of the statements that assign it."""
    is_value = len(assigned) == 1 and read in inside(assigned[0].rvalue)
    return not is_value and read.line >= min(one.line for one in assigned)


def _is_tensor_or_none(t: Type) -> bool:
    """Return whether a value is a tensor or None, which nothing can change where it is stored."""
    p = get_proper_type(t)
    return isinstance(p, NoneType) or tensor_parts(p) is not None


def _is_evaluated(value: Expression, place: tuple[int, int] | None, api: Checker) -> bool:
    """Return whether all parts of an expression that may have caused an error are evaluated whenever it is.

    Args:
        value: The expression.
        place: The line and the column of the error; None for one in a body that the expression calls.
        api: mypy's checker.
    """
    nodes = inside(value)
    certain: set[Node] = {
        node.generator
        for node in nodes
        if isinstance(node, ListComprehension)
        and not any(node.generator.condlists)
        and all(has_items(one, api) for one in node.generator.sequences)
    }
    certain |= {
        node
        for node in nodes
        if isinstance(node, ConditionalExpr) and (not _may_cause(node, place) or _is_in_chosen(node, place, api))
    }
    conditional = ConditionalExpr, LambdaExpr, GeneratorExpr, DictionaryComprehension
    return not any((isinstance(node, conditional) and node not in certain) or is_short_circuit(node) for node in nodes)


def _conditionals_in(value: Expression) -> list[ConditionalExpr]:
    """Return the conditional expressions in a value, such as that in `h + (x if self.skip is None else self.skip(x))`.

    Empty if there are several, or parts that run several times, or not at all.
    """
    nodes = inside(value)
    found = [node for node in nodes if isinstance(node, ConditionalExpr)]
    others = AssignmentExpr, DictionaryComprehension, GeneratorExpr, LambdaExpr
    is_plain = not any(isinstance(node, others) or is_short_circuit(node) for node in nodes if found)
    return found if is_plain and len(found) == 1 else []


def _is_in_chosen(chosen: ConditionalExpr, place: tuple[int, int] | None, api: Checker) -> bool:
    """Return whether an error at a place is in the branch of a conditional expression that the call surely takes."""
    is_true = decided(chosen.cond, api) if place is not None and place[1] >= 0 else None
    return is_true is not None and _may_cause(chosen.if_expr if is_true else chosen.else_expr, place)


def _may_cause(part: Expression, place: tuple[int, int] | None) -> bool:
    """Return whether an error at a place, or in a body that is called, may be that of a part of an expression."""
    if place is None:
        return any(isinstance(node, CallExpr) for node in inside(part))
    end = part.end_line or part.line, part.end_column or part.column + 1
    return place[1] < 0 or (part.line, part.column) <= place < end
