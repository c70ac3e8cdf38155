"""The statements of a body that is read for the result of a call, with the types that its variables have then.

Where the call does not decide which statements run, all of them are read, see `body_paths`, and a variable has then
what its types have in common. A statement that surely fails ends the way that leads to it; the body fails if all ways
end so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    AssertStmt,
    AssignmentStmt,
    BreakStmt,
    CallExpr,
    ContinueStmt,
    DelStmt,
    DictExpr,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    ListComprehension,
    ListExpr,
    MatchStmt,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    PassStmt,
    RaiseStmt,
    ReturnStmt,
    StrExpr,
    SuperExpr,
    TryStmt,
    TupleExpr,
    Var,
    WhileStmt,
    WithStmt,
    YieldExpr,
)
from mypy.types import AnyType, CallableType, Instance, NoneType, TupleType, get_proper_type

from tapegrad.mypy.calls.array_types import array_of_type, is_array, may_have_array_type, scalar_type_of
from tapegrad.mypy.calls.arrays import rows_of, with_sizes
from tapegrad.mypy.conversion import is_size, tensor_parts
from tapegrad.mypy.features.body_expressions import MOST_TURNS_READ
from tapegrad.mypy.features.body_lists import (
    appended_to,
    changed_lists,
    filled_dictionaries,
    items_assigned,
    listed_items,
    listed_variables,
    plain_list,
    reversed_by,
)
from tapegrad.mypy.features.body_paths import MOST_TURNS, PathReader
from tapegrad.mypy.features.body_state import End, FailedError, Turn, UnreadError, uncertain
from tapegrad.mypy.features.closures import changes_around
from tapegrad.mypy.features.partial_types import are_same, filled, holds_open, holds_tensors, is_open, join
from tapegrad.mypy.features.shape_independence import counters_in, depends_on_no_shape, is_counted, is_plain_type
from tapegrad.mypy.mypy_api import (
    any_tuple,
    checked_file,
    enclosing_function,
    expect_elements,
    fill_element,
    iterated_type,
    narrow_by_condition,
)
from tapegrad.mypy.scopes.called_functions import surely_yields, type_as_array
from tapegrad.mypy.scopes.entries import made_entries
from tapegrad.mypy.scopes.frames import Made, Reading, key_of
from tapegrad.mypy.scopes.names import ScopeCache, inside, nodes_in, targets_in
from tapegrad.mypy.scopes.sequences import elements, has_items, turns
from tapegrad.mypy.scopes.written_attributes import writes_by_methods
from tapegrad.mypy.unify.arguments import items_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Block, Expression, Node, Statement
    from mypy.types import Type

    from tapegrad.mypy.features.body_state import Failure
    from tapegrad.mypy.scopes.frames import Value

_MOST_TURNS_OF_LIST: Final = 64  # of one that also changes a list of tensors


class Reader(PathReader):
    """Reads the statements of a body, see `ExpressionReader` for the arguments."""

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
        several = self._returned if is_ended else [*self._returned, NoneType()]
        return several[0] if len(several) == 1 else join([*map(plain_list, several)])

    def yielded(self, statements: list[Statement]) -> Type:
        """Read the body of a generator; return the type of what it yields.

        Raises:
            UnreadError: It has statements that are not read, or that fail: the call of a generator runs none of them.
        """
        self._begin(statements)
        try:
            self._run(statements)
        except FailedError as failed:
            raise uncertain(failed.failure.line) from failed
        if not self._yielded:
            message = "it yields nothing"
            raise UnreadError(message)
        return join(self._yielded)

    def value(self, statements: Sequence[Statement], value: Expression) -> Type:
        """Return the type of an expression after some assignments, of which those that are not read bind nothing.

        Raises:
            FailedError: It surely fails.
            UnreadError: It is not read.
        """
        self._begin([*statements])
        for statement in statements:
            try:
                self._read(statement)
            except (FailedError, UnreadError):
                self._ignore_errors()
        return self._type_of(value)

    def _begin(self, statements: list[Statement]) -> None:
        given = [variable for variable, t in self._types.now().items() if listed_items(t) is not None]
        self._listed = listed_variables(statements, given)
        for variable in given:
            if variable not in self._listed:
                self._types.set(variable, plain_list(self._types.now()[variable]))
        self._filled, self._passed_on = filled_dictionaries(statements)
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
            case ExpressionStmt(expr=CallExpr() as call) if (variable := reversed_by(call)) in self._listed:
                self._reverse(variable)
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
                self._set_item(target, with_sizes(self._type_of(value), value, self._api))
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
                t = type_as_array(value, t, self._api) or t
                t = with_sizes(t, value, self._api) if is_array(t) else t
                if declared is not None and not holds_open(declared):
                    if holds_tensors(declared):
                        raise UnreadError(f"line {statement.line} declares the sizes of a variable")
                    t = declared
                elif declared is not None and is_open(declared) and not isinstance(get_proper_type(t), NoneType):
                    t = filled(declared, t)
                is_unpacked = isinstance(target, TupleExpr)
                items = self._items_unpacked(value, t) if is_unpacked else None
                t = t if items is None else TupleType(items, any_tuple(self._api))
                self._bind(target, t, is_declared=declared is not None)
                self._note_created(statement)
            case AssignmentStmt(lvalues=[_, _, *_] as targets, rvalue=value, type=None) if not any(
                isinstance(one, TupleExpr) or getattr(one, "node", None) in self._listed | self._filled
                for one in targets
            ):
                t = self._type_of(value)
                is_any = isinstance(get_proper_type(t), AnyType)
                if not (is_any or tensor_parts(t) or is_array(t) or is_size(t) or is_plain_type(t)):
                    raise UnreadError(f"line {statement.line} gives several names one object")
                for target in targets:
                    if isinstance(target, IndexExpr):
                        fill_element(self._api, target, value)
                        self._set_item(target, t)
                    else:
                        self._bind(target, t)
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
                self._exits[-1].append(End(self._now()))
                return self._end()
            case IfStmt(expr=conditions, body=blocks, else_body=otherwise):
                return self._branch(conditions, blocks, otherwise)
            case TryStmt(is_star=False):
                return self._try(statement)
            case WithStmt(expr=managers, target=targets, body=body, is_async=False):
                return self._with(statement.line, managers, targets, body.body)
            case MatchStmt():
                return self._match(statement)
            case FuncDef() if not changes_around(statement):
                Reading.functions[statement] = self._frame, checked_file(self._api)
            case AssertStmt(expr=condition):
                self._assert(condition)
            case ExpressionStmt(expr=StrExpr()) | PassStmt() | DelStmt(expr=NameExpr()):
                pass
            case DelStmt(expr=IndexExpr(base=holder) as target):
                self._change(target, self._type_of(holder))
            case ExpressionStmt(expr=YieldExpr(expr=value)):
                self._yielded.append(NoneType() if value is None else self._item(value))
            case ExpressionStmt(expr=value):
                self._type_of(value, may_be_none=True)
            case _:
                raise UnreadError(f"line {statement.line} has {_named(statement)}")
        return True

    def _for(self, loop: ForStmt) -> bool:
        """Read a loop over a sequence; return whether the program goes on after it."""
        target, value, body = loop.index, loop.expr, loop.body
        items = self._turns_over_lists(target, value) or self._turns_over_entries(target, value)
        stays = self._stays(value, body)
        changes_list = not changed_lists(body.body).isdisjoint(self._listed)
        most = _MOST_TURNS_OF_LIST if changes_list else MOST_TURNS_READ
        self._type_of(value)
        if items is not None and stays and len(items) <= most and not _may_break(body):
            return self._each_turn(target, items, body.body)
        several = turns(target, value, self._api) if items is None and stays else None
        if several is not None and _are_read_each(several, body, most):
            t = iterated_type(self._api, value)
            return self._each_turn(target, [Turn(values, t) for values in several], body.body)
        self._frame.variables.update(elements(target, value, self._api))
        self._bind_loop(target, iterated_type(self._api, value))
        self._counters.update(counters_in(target, value))
        is_certain = has_items(value, self._api) or surely_yields(value, self._api)
        return self._loop(target, body, is_certain=is_certain, is_independent=is_counted(value))

    def _result(self, value: Expression) -> Type:
        """Return the type of what the body returns."""
        t = made_entries(value, with_sizes(self._array_or(self._type_of(value)), value, self._api), self._api)
        return self._new_lists(value, t)

    def _item(self, value: Expression) -> Type:
        """Return the type of what the body yields."""
        function = enclosing_function(self._api)
        declared = function.type if function is not None else None
        several = get_proper_type(declared.ret_type) if isinstance(declared, CallableType) else None
        t = self._type_of(value)
        t = _array_or(t, several.args[0]) if isinstance(several, Instance) and several.args else t
        return made_entries(value, with_sizes(t, value, self._api), self._api)

    def _items_unpacked(self, value: Expression, t: Type) -> list[Type] | None:
        """Return the types of the items of a list or an array that is unpacked; None if they are not known."""
        return self._items_of(value) or items_of(t, value, self._api) or rows_of(t, value, self._api)

    def _array_or(self, t: Type) -> Type:
        """Return the declared type of a result, or of its parts, declared as arrays, which mypy takes for Any."""
        function = enclosing_function(self._api)
        declared = function.type if function is not None else None
        return _array_or(t, declared.ret_type) if isinstance(declared, CallableType) else t

    def _assert(self, condition: Expression) -> None:
        """Read what an `assert` statement says of variables; Python may leave the statement out."""
        try:
            self._type_of(condition)
        except (FailedError, UnreadError):
            self._ignore_errors()
        else:
            narrow_by_condition(self._api, condition, is_true=True)

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


def _array_or(t: Type, declared: Type) -> Type:
    """Return a declared type if it is an array and the other type may be one; of a tuple, part by part.

    An array of which only the sizes are known has the declared dtype.
    """
    several, all_declared = get_proper_type(t), get_proper_type(declared)
    if isinstance(several, TupleType) and isinstance(all_declared, TupleType):
        if len(several.items) != len(all_declared.items):
            return t
        pairs = zip(several.items, all_declared.items, strict=True)
        return several.copy_modified(items=[_array_or(one, other) for one, other in pairs])
    array, declared_array = array_of_type(t), array_of_type(declared)
    if array is not None and declared_array is not None:
        is_known = scalar_type_of(array) is not None
        return t if is_known else array.copy_modified(args=[array.args[0], declared_array.args[1]])
    return declared if declared_array is not None and may_have_array_type(t) and array is None else t


def _are_apart(targets: list[Expression], values: list[Expression]) -> bool:
    """Return whether `a, b = x, []` creates a list, and no value uses what an earlier target gets."""
    names = [one.node for one in targets if isinstance(one, NameExpr)]
    read = {node.node for value in values for node in inside(value) if isinstance(node, NameExpr)}
    are_names = len(names) == len(targets) and read.isdisjoint(names)
    are_empty = all(isinstance(one, ListExpr) and not one.items for one in values)
    is_list = any(isinstance(one, ListExpr) for one in values)
    return len(targets) == len(values) and is_list and (are_names or are_empty)


def _are_read_each(several: list[dict[Node, Value]], body: Block, most: int) -> bool:
    """Return whether all turns of a loop are read: few, or with other known values, such as layers of other sizes.

    Turns after a `break` statement may not run.
    """
    if _may_break(body):
        return False
    if len(several) <= MOST_TURNS:
        return True
    keys = [tuple(map(key_of, values.values())) for values in several]
    return len(set(keys)) > 1 and all(None not in one for one in keys) and len(keys) <= most


def _may_break(body: Block) -> bool:
    return any(isinstance(node, BreakStmt) for node in inside(body))


_STATEMENTS: Final = {
    "DelStmt": "a del statement",
    "ForStmt": "a loop with an else, or whose variable is no plain one",
    "FuncDef": "a function that changes variables outside of it",
    "TryStmt": "a handler of groups of exceptions",
    "WhileStmt": "a while loop with an else",
    "WithStmt": "an asynchronous with statement",
}


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
