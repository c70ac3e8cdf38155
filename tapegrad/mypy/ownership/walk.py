"""What the parts of the walk share: where it is, what it has found, and the parts that call each other through it.

An expression may contain a call, a call follows statements, and statements contain expressions. So the parts import
only those below them, and reach the others as methods of the walk, which `unit` fills in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import CallExpr, FloatExpr, FuncItem, IntExpr, LambdaExpr, MypyFile, NameExpr, StrExpr, Var

from tapegrad.mypy.mypy_api import checked_file, type_of
from tapegrad.mypy.ownership import spelling
from tapegrad.mypy.ownership.holders import holder_of
from tapegrad.mypy.ownership.sources import consume_sources
from tapegrad.mypy.ownership.state import NOTHING, End, Held, live, tapes
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.nodes import Expression, Node, TypeInfo
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.ownership.state import Argument, Constant, Function, Holder, Ref, Site, State, Value

# Expressions that consume no tape.
_WITHOUT_EFFECT: Final = frozenset({NameExpr, IntExpr, StrExpr, FloatExpr, LambdaExpr})
_FEW_STEPS: Final = 3_000
_MOST_STEPS: Final = 30_000  # statements and expressions of a unit with all functions that it calls
DEEPEST: Final = 40  # calls inside calls that are followed
SHALLOW: Final = 6, 1  # fewer of them, which are tried one after the other for a unit that needs too many steps


class TooLongError(Exception):
    """A unit needs too many steps; it is followed less deeply, and a note says that it is not checked completely."""


class Frame:
    """A function that is being followed: where its paths leave."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.returned: list[tuple[Value, State]] = []
        self.made: Ref | None = None  # the generator
        self.yields: list[State] = []  # where the generator waits, perhaps for ever
        self.at_yield: Callable[[Value, State], None] | None = None  # of a context manager
        self.tested: set[Any] = set()  # the conditions that statements around the current one test again
        self.loops: list[tuple[list[State], list[State]]] = []  # states at `break` and at `continue`
        self.unnamed: list[Value] = []  # what loops and blocks around the statement hold without a name
        self.tries: list[list[State]] = []  # states inside a `try`, from any of which a handler may start


class Walk(ABC):
    """A unit, every function of the file that it calls, and what is found there along all paths."""

    def __init__(self, api: Checker, unit: Node) -> None:
        self.api = api
        self.unit = unit
        self.calls: tuple[Expression, ...] = ()  # the calls around the function that is being followed
        self.frames = [Frame(unit)]
        self.found: dict[Any, tuple[str, End]] = {}  # by expression, the message
        self.entered: list[FuncItem] = []  # the functions that are being followed
        self.followed: set[FuncItem] = set()
        self.checked: dict[FuncItem, bool] = {}  # whether mypy has checked the body of a function
        # By call: the arguments, the states before and after it, those inside it, and the result.
        self.calls_before: dict[Any, tuple[Any, State, State, list[State], Value]] = {}
        self.starting: dict[FuncItem, bool] = {}  # whether a function, or one that it calls, makes a tape
        self.keeping: dict[TypeInfo, bool] = {}  # whether an attribute of a class may hold a tape
        self.generators: dict[Site, FuncItem] = {}  # each generator that is made, with its function
        self.subclasses: dict[TypeInfo, set[TypeInfo]] = {}  # each class with its subclasses in the file
        self.classes: dict[Site, TypeInfo] = {}  # of the objects that are made
        self.exits: dict[Site, list[Callable[[State, Constant], None]]] = {}  # what stacks do at their end
        self.is_leaving = False  # whether a context manager is followed at the end of its block
        self.single_turn: Any = None  # a generator of which only one element is read
        self.last_call: Any = None  # the call that a statement consists of
        self.deepest = DEEPEST
        self.is_complete = True  # whether each call could be followed to its end
        self._steps = 0

    @abstractmethod
    def value(self, node: Any, state: State) -> Value:
        """Return what an expression holds, after its effects on the state.

        Raises:
            UnreachableError: The expression never returns.
        """

    def values(self, nodes: Sequence[Any], state: State) -> list[Value]:
        """Return what several expressions hold after all of them are evaluated: a later one may consume a tape."""
        found: list[Value] = []
        kept: list[Holder] = []
        last = max((number for number, one in enumerate(nodes) if type(one) not in _WITHOUT_EFFECT), default=0)
        for number, node in enumerate(nodes):
            held = self.value(node, state)
            found.append(held)
            if number < last and any(isinstance(one, Held) and one.end is None for one in held):
                kept.append(("operand", (node, *self.calls)))
                state.held[kept[-1]] = tapes(held)
        for holder in kept:
            number = next(number for number, one in enumerate(nodes) if one is holder[1][0])
            found[number] = found[number] - tapes(found[number]) | state.held.pop(holder, NOTHING)
        return found

    @abstractmethod
    def through(self, node: Any, state: State | None) -> State | None:
        """Return the state after one statement, or several; None if no path leads on."""

    @abstractmethod
    def bind(self, target: Any, held: Value, state: State, source: Expression | None) -> None:
        """Bind a name, an attribute, an element, or several of them, to what an expression holds."""

    @abstractmethod
    def call(self, function: Function, node: Any, given: list[Argument], state: State) -> Value:
        """Follow a call of one function.

        Raises:
            UnreachableError: It does not return.
        """

    @abstractmethod
    def found_alone(self, function: FuncItem) -> dict[Any, tuple[str, End]]:
        """Return what is reported in a function for any arguments."""

    @property
    def file(self) -> MypyFile:
        """The file that mypy checks."""
        return checked_file(self.api)

    @property
    def frame(self) -> Frame:
        """The innermost function that is being followed."""
        return self.frames[-1]

    @property
    def may_go_deeper(self) -> bool:
        """Whether one more call inside the calls is followed."""
        return len(self.calls) < self.deepest

    @property
    def may_repeat(self) -> bool:
        """Whether so few steps were taken that the first iterations of a loop may be followed one by one."""
        return self._steps < _FEW_STEPS

    def step(self) -> None:
        """Count a statement or an expression.

        Raises:
            TooLongError: There were too many.
        """
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooLongError

    def type_of(self, expression: Expression) -> Type | None:
        """Return the type that mypy has inferred for an expression; None if it has not checked it."""
        return type_of(self.api, expression)

    def site(self, expression: Any, *names: Any) -> Site:
        """Return the site of an expression, as it is reached by the calls around it."""
        return (expression, *self.calls, *names)

    def consume(self, value: Value, call: Expression, name: Expression | None, state: State) -> None:
        """Mark the tapes of a value as consumed by a call."""
        place = spelling.written(name) if name is not None else ""
        end = End(call.line, spelling.end_of(call), spelling.written(call), place, in_call=bool(self.calls))
        state.consume(value, end, holder_of(name, state) if name is not None else None)
        consume_sources(value, end, state)
        if call is not self.last_call:  # else nothing can raise an exception in this statement after it
            self.note_exception(state)

    def note_exception(self, state: State) -> None:
        """Note a state from which an exception may lead to a handler."""
        for inside_it in self.frame.tries:
            if not inside_it or not inside_it[-1].equals(state):
                inside_it.append(state.copy())

    def check_traced(self, value: Value, use: Any, name: Expression | None) -> None:
        """Report the use of a tensor after `traced`, which took it over."""
        taken = frozenset(one for one in value if isinstance(one, Held) and one.end is not None and one.end.by_traced)
        if taken:
            self.check(taken, use, name)

    def check(self, value: Value, use: Any, name: Expression | None) -> Value:
        """Report the use of a consumed tape, and return the tapes that are not consumed.

        A tape that was consumed before the calls around it is reported at the outermost call.
        """
        ends = sorted(one.end for one in value if isinstance(one, Held) and one.end is not None)
        if not ends:
            return value
        context = self.calls[0] if self.calls else use
        if is_parameter(name) and len(self.calls) == 1 and not self.is_leaving:
            match context:
                case CallExpr(args=[given]):  # what the parameter stands for
                    name = given
        if any(other.line == context.line and end == ends[0] for other, (_, end) in self.found.items()):
            return live(value)
        if self.calls and use in self.found_alone(self.entered[-1]):
            if self.entered[-1] is self.unit or self.entered[-1] in functions_inside.of(self.unit):
                self.found.setdefault(use, self.found_alone(self.entered[-1])[use])
        elif context not in self.found:
            self.found[context] = spelling.consumed(use, context, name, ends[0], at_exit=self.is_leaving), ends[0]
        return live(value)


def is_parameter(expression: Expression | None) -> bool:
    """Return whether an expression is the name of a parameter."""
    return isinstance(expression, NameExpr) and isinstance(expression.node, Var) and expression.node.is_argument


def _inner(unit: Node | None) -> dict[FuncItem, None]:
    """Return the functions inside a function, in order, whose errors are reported with it."""
    within = [] if isinstance(unit, MypyFile) else nodes_in.of(unit)
    return {one: None for one in within if isinstance(one, FuncItem) and one is not unit}


functions_inside = ScopeCache(_inner)
