"""Statements of constructors and other functions, run one after the other on the values that are known.

A statement that is not understood makes unknown all that it may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from mypy.nodes import (
    AssertStmt,
    AssignmentExpr,
    AssignmentStmt,
    BreakStmt,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    ContinueStmt,
    DelStmt,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    FuncItem,
    GeneratorExpr,
    IfStmt,
    Import,
    ImportFrom,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    PassStmt,
    RaiseStmt,
    RefExpr,
    ReturnStmt,
    StrExpr,
    SuperExpr,
    TempNode,
    TupleExpr,
    TypeInfo,
    Var,
    WithStmt,
)

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.collections import collection_of
from tapegrad.mypy.scopes.file_contents import method_of_receiver
from tapegrad.mypy.scopes.frames import Creation, Expressions, Items, Keywords, Layers, Nothing, Several, key_of, within
from tapegrad.mypy.scopes.functions import method_of, only_reads_list, written_with_file
from tapegrad.mypy.scopes.names import inside, is_short_circuit
from tapegrad.mypy.scopes.opaque import ARITHMETIC
from tapegrad.mypy.scopes.sequences import turns
from tapegrad.sizes import Dim, is_unknown

if TYPE_CHECKING:
    from mypy.nodes import Block, Expression, Node, Statement

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Frame, Made, Value

K = TypeVar("K")

_READING_METHODS: Final = {"copy", "count", "get", "index", "items", "keys", "values"}  # of lists and dicts
_ONLY_READING: Final = ("builtins.", "dataclasses.", "itertools.", "math.", "numpy.", "tapegrad.", "typing.")

# Context managers that raise again the error that leaves their block, and change no value of the program.
_PASSING_ERRORS: Final = {
    "builtins.open",
    "numpy._core._ufunc_config.errstate",
    "tapegrad.generator.random",
    "tempfile.TemporaryDirectory",
    "warnings.catch_warnings",
}


def lets_errors_pass(manager: Expression) -> bool:
    """Return whether a context manager, such as `tg.random(0)`, surely passes on the errors of its block."""
    return isinstance(manager, CallExpr) and getattr(manager.callee, "fullname", "") in _PASSING_ERRORS


def compared(condition: Expression) -> list[Expression]:
    """Return the operands of a comparison; of any other condition, the condition."""
    return condition.operands if isinstance(condition, ComparisonExpr) else [condition]


class _UnclearError(Exception):
    """It is not known where the program goes on."""


class _State(NamedTuple):
    """The values of variables, and of the attributes of an object that is being made."""

    variables: dict[Node, Value]
    attributes: dict[str, Value]


class Run:
    """A run of the statements of one function.

    Args:
        frame: What is known of its parameters and its object.
        api: mypy's checker.

    Attributes:
        returned: What the function may return.
    """

    def __init__(self, frame: Frame, api: Checker) -> None:
        self.returned: list[Value] = []
        self._variables = frame.variables
        self._attributes = frame.attributes if frame.attributes is not None else {}
        self._frame = frame._replace(results={})
        self._api = api
        self._left: Statement | None = None  # the `break` or `continue` statement by which a turn has ended
        self._functions: set[FuncDef] = set()  # that were defined, and change what they change wherever they are named
        self._loops = 0  # around the statement that is run

    def run(self, statements: list[Statement]) -> bool:
        """Run statements; return whether the program goes on after them."""
        with within(self._frame):
            return self._all(statements)

    def _all(self, statements: list[Statement]) -> bool:
        return all(map(self._run, statements))

    def _run(self, statement: Statement) -> bool:
        if self._frame.results is not None:
            self._frame.results.clear()
        count = len(self._frame.made or ())
        try:
            return self._one(statement)
        except _UnclearError:
            if self._loops and not isinstance(statement, ForStmt):  # the statement may end the turn of the loop
                raise
            may_end = any(isinstance(node, ReturnStmt | RaiseStmt) for node in inside(statement))
            self._forget_made(count, may_end=may_end)
            self._forget(statement)
            return True

    def _forget_made(self, count: int, *, may_end: bool) -> None:
        """Forget what was made after the first ones, because it may not be; what follows may not be, if all may end."""
        if self._frame.made is not None:
            self._frame.made[count:] = [None] if may_end else []

    def _one(self, statement: Statement) -> bool:
        match statement:
            case ReturnStmt(expr=value):
                self.returned.append(Nothing() if value is None else self._value(value))
                return False
            case RaiseStmt():
                return False
            case BreakStmt() | ContinueStmt():
                self._left = statement
                return False
            case AssignmentStmt(rvalue=TempNode()):  # only declared
                pass
            case AssignmentStmt(lvalues=targets, rvalue=expression):
                value = self._value(expression)
                for target in targets:
                    self._assign(target, value)
            case OperatorAssignmentStmt(lvalue=NameExpr() | MemberExpr() as target, rvalue=expression, op=sign):
                self._change(target, sign, expression)
            case ExpressionStmt(expr=CallExpr() as call):
                self._call(call)
            case ExpressionStmt(expr=StrExpr()) | PassStmt() | Import() | ImportFrom():
                pass
            case AssertStmt(expr=condition):
                if self._frame.made is not None and Expressions.decided(condition, self._api) is False:
                    failing = self._failing_part(condition)
                    values = tuple(Expressions.value_of(one, self._api) for one in compared(failing))
                    self._frame.made.append(Creation(None, statement, checked_file(self._api), failing, values))
            case IfStmt(expr=conditions, body=blocks, else_body=otherwise):
                return self._branch(conditions, blocks, otherwise)
            case ForStmt(index=target, expr=sequence, body=body, else_body=None):
                return self._loop(target, sequence, body)
            case WithStmt(expr=managers, target=targets, body=body, is_async=False) if all(
                map(lets_errors_pass, managers)
            ):
                for manager, bound in zip(managers, targets, strict=True):
                    self._value(manager)
                    if bound is not None:
                        self._assign(bound, None)
                return self._all(body.body)
            case DelStmt(expr=IndexExpr(base=base, index=StrExpr(value=name) | IntExpr(value=name))) if (
                before := self._keywords(base)
            ) is not None:
                self._replace(before, Keywords(tuple(pair for pair in before.values if pair[0] != name)))
            case FuncDef():
                self._functions.add(statement)
            case _:
                raise _UnclearError
        return True

    def _failing_part(self, condition: Expression) -> Expression:
        """Return the part of a condition because of which it does not hold."""
        while isinstance(condition, OpExpr) and condition.op == "and":
            is_left = Expressions.decided(condition.left, self._api) is False
            condition = condition.left if is_left else condition.right
        return condition

    def _value(self, expression: Expression) -> Value:
        """Return what an expression denotes; what its parts may change is unknown after it, or changed."""
        nodes = inside(expression)
        last, pops = self._last_of(nodes), self._key_pops(nodes)
        for pop in pops:
            self._pop_key(pop)
        value = None if _may_precede(nodes, pops) else Expressions.value_of(expression, self._api)
        if last is not None:
            self._replace(last, Items(last.values[:-1]))
        self._forget_changed([node for node in nodes if node not in pops], is_last_known=last is not None)
        return value

    def _key_pops(self, nodes: list[Any]) -> list[CallExpr]:
        """Return the calls of `options.pop("width")`, in order, that an expression surely evaluates."""
        if any(
            isinstance(node, ConditionalExpr | GeneratorExpr | LambdaExpr) or is_short_circuit(node) for node in nodes
        ):
            return []
        pops = [node for node in nodes if isinstance(node, CallExpr) and _is_key_pop(node)]
        return sorted(pops, key=lambda pop: (pop.line, pop.column))

    def _pop_key(self, pop: CallExpr) -> None:
        """Run a call of `options.pop("width")`; save what it returns for the expression with it."""
        key, holder = pop.args[0], pop.callee.expr if isinstance(pop.callee, MemberExpr) else None
        keywords = self._keywords(holder) if holder is not None else None
        pairs = dict(keywords.values) if keywords is not None else {}
        value = Expressions.value_of(pop.args[1], self._api) if len(pop.args) > 1 else None
        name = key.value if isinstance(key, StrExpr | IntExpr) else ""
        if self._frame.results is not None and keywords is not None:
            self._frame.results[pop,] = pairs.pop(name, value)
        self._replace(keywords, Keywords((*pairs.items(),)))

    def _last_of(self, nodes: list[Any]) -> Items | None:
        """Return the list of which an expression surely takes the last item once, by `items.pop()`."""
        if any(isinstance(node, ConditionalExpr | GeneratorExpr | LambdaExpr) for node in nodes):
            return None
        pops = [node for node in nodes if isinstance(node, CallExpr) and _is_pop(node)]
        callee = pops[0].callee if len(pops) == 1 else None
        items = self._list(callee.expr) if isinstance(callee, MemberExpr) else None
        if items is None or not items.values or self._frame.results is None:
            return None
        self._frame.results[pops[0],] = items.values[-1]
        return items

    def _forget_changed(self, nodes: list[Any], *, is_last_known: bool = False) -> None:
        """Make unknown what parts of an expression may change: lists, variables that `:=` binds, and by functions."""
        for node in nodes:
            match node:
                case AssignmentExpr(target=NameExpr(node=Var() as variable)):
                    self._variables[variable] = None
                case NameExpr(node=FuncDef() as function) if function in self._functions:
                    self._functions.remove(function)
                    self._forget(function)
                    self._functions.add(function)
                case CallExpr(callee=callee, args=arguments) if not _only_reads(node):
                    for argument in arguments:
                        if not self._is_only_read(argument, node):
                            self._forget_value(argument)
                    is_reading = isinstance(callee, MemberExpr) and callee.name in _READING_METHODS
                    if isinstance(callee, MemberExpr) and not is_reading and not (is_last_known and _is_pop(node)):
                        self._forget_value(callee.expr)

    def _is_only_read(self, argument: Expression, call: CallExpr) -> bool:
        """Return whether an argument of a call is a list of numbers, and the function only reads it."""
        value = Expressions.value_of(argument, self._api)
        is_flat = isinstance(value, Items) and all(isinstance(one, int | float | Dim | str) for one in value.values)
        return is_flat and only_reads_list(call, argument, self._api)

    def _list(self, expression: Expression) -> Items | None:
        """Return the list that a variable or an attribute holds; None for anything else."""
        if not isinstance(expression, NameExpr | MemberExpr):
            return None
        value = Expressions.value_of(expression, self._api)
        return value if isinstance(value, Items) else None

    def _keywords(self, expression: Expression) -> Keywords | None:
        """Return the dict that a variable or an attribute holds; None for anything else."""
        value = Expressions.value_of(expression, self._api) if isinstance(expression, NameExpr | MemberExpr) else None
        return value if isinstance(value, Keywords) else None

    def _forget_value(self, expression: Expression) -> None:
        """Make unknown the list, or the dict, that a variable or an attribute holds, wherever it is held."""
        if isinstance(expression, IndexExpr) and isinstance(
            Expressions.value_of(expression, self._api), int | Dim | str
        ):
            return  # a number or a string of the list
        expression = collection_of(expression)
        if isinstance(expression, NameExpr | MemberExpr):
            value = Expressions.value_of(expression, self._api)
            self._replace(value if isinstance(value, Items | Keywords | Several) else None, None)

    def _assign(self, target: Expression, value: Value) -> None:
        match target:
            case NameExpr(node=Var() as variable):
                self._variables[variable] = value
            case MemberExpr(expr=NameExpr(node=owner), name=name) if method_of_receiver(owner, self._api) is not None:
                symbol = self._frame.receiver.info.get(name) if self._frame.receiver is not None else None
                is_plain = symbol is None or isinstance(symbol.node, Var)  # and no property, which may do anything
                self._attributes[name] = value if is_plain else None
            case TupleExpr(items=targets) | ListExpr(items=targets):
                values = value.values if isinstance(value, Items) else ()
                for position, one in enumerate(targets):
                    self._assign(one, values[position] if len(values) == len(targets) else None)
            case IndexExpr(base=base, index=index) if (before := self._keywords(base)) is not None and isinstance(
                key := Expressions.value_of(index, self._api), str | int
            ):
                self._replace(before, Keywords((*(dict(before.values) | {key: value}).items(),)))
            case IndexExpr(base=base):
                self._forget_value(base)
            case MemberExpr():  # of another object, which may change a list later
                self._replace(value if isinstance(value, Items | Keywords | Several) else None, None)
            case _:
                raise _UnclearError

    def _change(self, target: NameExpr | MemberExpr, sign: str, expression: Expression) -> None:
        """Run an assignment such as `n *= 2` or `layers += [layer]`, which changes the list itself."""
        before, value = Expressions.value_of(target, self._api), self._value(expression)
        if isinstance(before, Items):
            is_known = sign == "+" and isinstance(value, Items)
            self._replace(before, _joined(before, value) if is_known else None)
        elif isinstance(before, Keywords):
            self._replace(before, _updated(before, [value]) if sign == "|" else None)
        elif isinstance(before, int | Dim) and isinstance(value, int | Dim) and sign in ARITHMETIC:
            size = ARITHMETIC[sign](before, value)
            self._assign(target, None if is_unknown(size) else size)
        else:
            self._assign(target, None)

    def _call(self, call: CallExpr) -> None:
        match call.callee:
            case SuperExpr(name="__init__"):
                if not Expressions.constructed(call, self._api):
                    raise _UnclearError
            case MemberExpr(expr=RefExpr(fullname="builtins.object"), name="__setattr__"):
                self._set_by_name(call)
            case MemberExpr(expr=holder, name="setdefault") if (
                (keywords := self._keywords(holder)) is not None
                and call.args
                and isinstance(call.args[0], StrExpr | IntExpr)
            ):
                value = self._value(call.args[1]) if len(call.args) > 1 else Nothing()
                self._replace(keywords, Keywords((*({call.args[0].value: value} | dict(keywords.values)).items(),)))
            case MemberExpr(expr=holder, name="update") if (keywords := self._keywords(holder)) is not None:
                values = [self._value(one) for one in call.args]
                pairs = zip(call.arg_names, values, strict=True)
                others = [one if name is None else Keywords(((name, one),)) for name, one in pairs]
                self._replace(self._keywords(holder), _updated(keywords, others))
            case MemberExpr(expr=holder, name=name) if self._list(holder) is not None:
                value = self._value(call.args[0]) if len(call.args) == 1 else None
                before = self._list(holder)
                if before is None:
                    return
                if name == "append":
                    self._replace(before, Items((*before.values, value)))
                elif _is_pop(call):
                    self._replace(before, Items(before.values[:-1]))
                else:
                    self._replace(before, _joined(before, value) if name == "extend" else None)
            case _:
                self._value(call)

    def _set_by_name(self, call: CallExpr) -> None:
        """Run `object.__setattr__(self, "width", 8)`, by which a frozen dataclass sets its fields."""
        match call.args:
            case [NameExpr(node=owner), StrExpr(value=name), value] if (
                owner is not None and method_of_receiver(owner, self._api) is not None
            ):
                self._attributes[name] = self._value(value)
            case _:
                self._forget_attributes()

    def _replace(self, old: Value, new: Value) -> None:
        """Give all variables, attributes and lists that hold a list another value."""
        if old is None:
            return
        for variable, value in self._variables.items():
            self._variables[variable] = _replaced(value, old, new)
        for name, value in self._attributes.items():
            self._attributes[name] = _replaced(value, old, new)

    def _branch(self, conditions: list[Expression], blocks: list[Block], otherwise: Block | None) -> bool:
        """Run the branch of an `if` statement that the values choose; both, if they do not."""
        if not conditions:
            return otherwise is None or self._all(otherwise.body)
        is_true = Expressions.decided(conditions[0], self._api)
        if is_true is not None:
            return self._all(blocks[0].body) if is_true else self._branch(conditions[1:], blocks[1:], otherwise)
        before, count = self._state(), len(self._frame.made or ())
        goes_on = self._all(blocks[0].body)
        after = self._state()
        self._restore(before)
        ends_open = self._branch(conditions[1:], blocks[1:], otherwise)
        self._forget_made(count, may_end=not goes_on or not ends_open)
        if self._left is not None:
            self._left = None
            raise _UnclearError
        if goes_on and ends_open:
            now = self._state()
            variables, attributes = _common(after.variables, now.variables), _common(after.attributes, now.attributes)
            self._restore(_State(variables, attributes))
        elif goes_on:
            self._restore(after)
        return goes_on or ends_open

    def _state(self) -> _State:
        return _State({**self._variables}, {**self._attributes})

    def _restore(self, state: _State) -> None:
        self._variables.clear()
        self._variables.update(state.variables)
        self._attributes.clear()
        self._attributes.update(state.attributes)

    def _loop(self, target: Expression, sequence: Expression, body: Block) -> bool:
        several = turns(target, sequence, self._api)
        if several is None:
            raise _UnclearError
        self._loops += 1
        try:
            for turn in several:
                self._variables.update(turn)
                goes_on = self._all(body.body)
                left, self._left = self._left, None
                if isinstance(left, BreakStmt):
                    return True
                if not goes_on and left is None:
                    return False
        finally:
            self._loops -= 1
        return True

    def _forget(self, statement: Statement) -> None:
        """Make unknown all that a statement may change."""
        for node in inside(statement):
            match node:
                case AssignmentStmt(lvalues=targets):
                    for target in targets:
                        self._forget_target(target)
                case OperatorAssignmentStmt(lvalue=target) | ForStmt(index=target) | DelStmt(expr=target):
                    self._forget_target(target)
                case CallExpr(callee=SuperExpr()):
                    self._forget_attributes()
                case CallExpr(callee=MemberExpr(expr=holder, name=name)):
                    self._forget_value(holder)
                    is_own = isinstance(holder, NameExpr) and method_of_receiver(holder.node, self._api) is not None
                    if is_own:
                        self._forget_changed_by(name)
                case ReturnStmt():
                    self.returned.append(None)
        self._forget_changed(inside(statement))

    def _forget_target(self, target: Expression) -> None:
        for node in inside(target):
            match node:
                case NameExpr(node=Var() as variable):
                    if method_of_receiver(variable, self._api) is None:
                        self._forget_value(node)
                        self._variables[variable] = None
                case MemberExpr(name=name):
                    self._forget_value(node)
                    self._attributes[name] = None

    def _forget_changed_by(self, method: str) -> None:
        """Make unknown the attributes that a method of the object may change; of a collection, if it mentions it."""
        made = self._frame.receiver
        mentioned = None if made is None else _attributes_mentioned(made, method, set(), self._api)
        if mentioned is None:
            self._forget_attributes()
            return
        for name, is_assigned in mentioned.items():
            if is_assigned or isinstance(self._attributes.get(name), Items | Keywords | Several):
                self._attributes[name] = None

    def _forget_attributes(self) -> None:
        for name in self._attributes:
            self._attributes[name] = None


def _is_pop(call: CallExpr) -> bool:
    return isinstance(call.callee, MemberExpr) and call.callee.name == "pop" and not call.args


def _is_key_pop(call: CallExpr) -> bool:
    match call:
        case CallExpr(callee=MemberExpr(expr=NameExpr() | MemberExpr(), name="pop"), args=[StrExpr() | IntExpr(), *_]):
            return True
    return False


def _may_precede(nodes: list[Any], pops: list[CallExpr]) -> bool:
    """Return whether an expression may read a dictionary before the last of the calls that remove keys from it."""
    holders = [pop.callee.expr for pop in pops if isinstance(pop.callee, MemberExpr)]
    names = {one.name for one in holders if isinstance(one, NameExpr | MemberExpr)}
    others = [one for one in nodes if isinstance(one, NameExpr | MemberExpr) and one not in holders]
    last = max(((pop.line, pop.column) for pop in pops), default=(0, 0))
    return any(one.name in names and (one.line, one.column) < last for one in others)


def _updated(before: Keywords, others: list[Value]) -> Keywords | None:
    """Return a dictionary with other entries too; None if some of them are not known."""
    pairs = dict(before.values)
    for one in others:
        if not isinstance(one, Keywords):
            return None
        pairs |= one.values
    return Keywords((*pairs.items(),))


def _only_reads(call: CallExpr) -> bool:
    """Return whether a call changes no list that it is given."""
    callee = call.callee
    if isinstance(callee, RefExpr) and isinstance(callee.node, TypeInfo):
        return True
    if isinstance(callee, MemberExpr) and isinstance(callee.expr, NameExpr) and isinstance(callee.node, FuncItem):
        return True
    name = callee.fullname if isinstance(callee, RefExpr) else ""
    return name.startswith(_ONLY_READING)


def _replaced(value: Value, old: Value, new: Value) -> Value:
    if value is old:
        return new
    if isinstance(value, Items) and any(isinstance(one, Items | Keywords) for one in value.values):
        return Items(tuple(_replaced(one, old, new) for one in value.values))
    if isinstance(value, Keywords) and any(isinstance(one, Items | Keywords) for _, one in value.values):
        return Keywords(tuple((name, _replaced(one, old, new)) for name, one in value.values))
    if isinstance(value, Layers) and any(isinstance(one, Items) for one in value.items):
        return value._replace(items=tuple(_replaced(one, old, new) for one in value.items))
    return value


def _joined(items: Items, others: Value) -> Items | None:
    return Items((*items.values, *others.values)) if isinstance(others, Items) else None


def _common(one: dict[K, Value], other: dict[K, Value]) -> dict[K, Value]:
    """Return the values that are the same on two ways through a program, and None for all others."""
    names = {**one, **other}
    same = {name for name in names if name in one and name in other and key_of(one[name]) == key_of(other[name])}
    return {name: one[name] if name in same else None for name in names}


def _attributes_mentioned(made: Made, name: str, seen: set[str], api: Checker) -> dict[str, bool] | None:
    """Return the attributes that a method of an object mentions, and whether it assigns to them; None if not known."""
    found, receiver = method_of(made, name) or (None, None)
    if found is None or receiver is not made:
        return None
    if name in seen or found.fullname.startswith("tapegrad."):
        return {}
    seen.add(name)
    method, _ = written_with_file(found, api)
    if method is None or not method.arguments:
        return None
    nodes, receiver = inside(method), method.arguments[0].variable
    owned = [node for node in nodes if isinstance(node, MemberExpr) and _is(node.expr, receiver)]
    if sum(_is(node, receiver) for node in nodes) > len(owned):
        return None  # the object is passed on
    mentioned = {one.name: False for one in owned}
    assignments = [node for node in nodes if isinstance(node, AssignmentStmt)]
    targets: list[Expression] = [target for one in assignments for target in one.lvalues]
    targets += [node.lvalue for node in nodes if isinstance(node, OperatorAssignmentStmt)]
    mentioned |= {one.name: True for target in targets for one in inside(target) if isinstance(one, MemberExpr)}
    for called in [node.callee.name for node in nodes if isinstance(node, CallExpr) and node.callee in owned]:
        inner = _attributes_mentioned(made, called, seen, api)
        if inner is None:
            return None
        mentioned |= {one: is_assigned or mentioned.get(one, False) for one, is_assigned in inner.items()}
    return mentioned


def _is(node: Node, variable: Var) -> bool:
    return isinstance(node, NameExpr) and node.node is variable
