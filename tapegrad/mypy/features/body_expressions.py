"""The types of expressions in a body that is read, and what assignments bind to its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.errorcodes import MISC, error_codes
from mypy.nodes import (
    ARG_POS,
    AssignmentExpr,
    CallExpr,
    ConditionalExpr,
    DictionaryComprehension,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    MemberExpr,
    NameExpr,
    OpExpr,
    SliceExpr,
    StarExpr,
    TempNode,
    TupleExpr,
    Var,
)
from mypy.types import AnyType, Instance, NoneType, PartialType, TupleType, UnpackType, get_proper_type

from tapegrad.mypy.calls.array_types import is_array
from tapegrad.mypy.calls.arrays import with_sizes
from tapegrad.mypy.conversion import is_iterator, shape_items, shape_type, tensor_parts, unknown
from tapegrad.mypy.features.body_lists import (
    comprehensions_in,
    list_of,
    listed_items,
    passed_on,
    plain_list,
    popped_from,
    starred_in,
)
from tapegrad.mypy.features.body_state import FailedError, Failure, Turn, UnreadError, uncertain
from tapegrad.mypy.features.partial_types import are_same, holds_tensors, is_sequence, join, without_value
from tapegrad.mypy.features.replaced_tensors import Replacements
from tapegrad.mypy.mypy_api import (
    any_list,
    any_tuple,
    checked_file,
    checked_type,
    enclosing_function,
    iterated_type,
    make,
    name_of,
    narrow,
    narrow_by_condition,
    types_in_body,
)
from tapegrad.mypy.mypy_files import program_file
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.entries import entries_in, entries_of, is_dictionary, with_entries
from tapegrad.mypy.scopes.frames import forget_turns, key_of, note_turns, turns_noted
from tapegrad.mypy.scopes.items import assigned
from tapegrad.mypy.scopes.names import inside, is_short_circuit
from tapegrad.mypy.scopes.objects import decided, object_of
from tapegrad.mypy.scopes.operations import type_of_any
from tapegrad.mypy.scopes.records import unrecorded
from tapegrad.mypy.scopes.sequences import has_items, turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.errors import ErrorInfo
    from mypy.nodes import Block, Expression, ListExpr, Node, Statement
    from mypy.types import ProperType, Type

    from tapegrad.mypy.features.body_state import End, Types
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.entries import Entries
    from tapegrad.mypy.scopes.frames import Frame, Value

MOST_TURNS_READ: Final = 16  # of a loop whose variables have other values at each


class ExpressionReader:
    """Reads the expressions of a body, and binds its variables.

    Attributes:
        at_turns: The types of the parts of comprehensions that are read turn by turn, at the turn that says the least.

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
        self._exits: list[list[End]] = []  # of each loop around the statement that is read
        self._loops: list[tuple[Expression | None, Block]] = []  # those of them whose turns are not read one by one
        self._counters: set[Var] = set()  # variables that count turns of loops
        self._empty: dict[Var, tuple[Expression, ListExpr]] = {}  # where lists were created, as an empty one
        self._listed: frozenset[Var] = frozenset()  # variables whose lists have items that are known one by one
        self._filled: frozenset[Var] = frozenset()  # variables whose dictionaries have entries that are followed
        self._passed_on: frozenset[Var] = frozenset()  # the same with those that calls may change
        self._created_at_turns: dict[Statement, Var] = {}  # statements of loops that create objects, with the variables
        self.at_turns: dict[Expression, Type] = {}
        self._stored: frozenset[str] = frozenset()  # attributes of `self` that the body assigns, and does not read then
        self._followed: frozenset[str] = frozenset()  # those that have what it assigns from there on

    def _set(self, variable: Var, t: Type) -> None:
        self._types.set(variable, t)
        if not isinstance(t, PartialType):  # of an empty list, which mypy's binder does not know
            narrow(self._api, name_of(variable), t)

    def _set_items(self, variable: Var, items: list[Type]) -> None:
        """Give the list, or the deque, in a variable other items."""
        self._set(variable, list_of(items, self._any_like(variable)))

    def _any_like(self, variable: Var) -> Instance:
        """Return the type of a list, or a deque, of anything, for one whose items are known one by one."""
        p = get_proper_type(variable.type)
        return p.partial_fallback if isinstance(p, TupleType) else any_list(self._api)

    def _errors(self) -> list[ErrorInfo]:
        return [one for one in self._all_errors()[self._ignored :] if one.code is None or one.code in _FAILING]

    def _ignore_errors(self) -> None:
        self._ignored = len(self._all_errors())
        self._failures.clear()

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
        comprehensions = comprehensions_in(value)
        for comprehension in comprehensions:
            self._read_turns(comprehension)
        for generator in starred_in(value):
            self._read_starred(generator)
        with unrecorded(one for one in comprehensions if turns_noted(one) is not None):
            found = checked_type(self._api, value, may_be_none=may_be_none)
        errors = self._errors()
        if not self._failures and not errors:
            for variable in popped_from(value) if self._listed else ():
                items = listed_items(self._types.now().get(variable)) if variable in self._listed else None
                if items:
                    self._set_items(variable, items[:-1])
            for variable in passed_on(value) if self._listed else ():
                items = listed_items(self._types.now().get(variable)) if variable in self._listed else None
                if items is not None:
                    self._set(variable, self._any_like(variable).copy_modified(args=[unknown()]))
            return self._known_of_any(value, found)
        place = None if self._failures else (errors[0].line, errors[0].column)
        if not _is_evaluated(value, place, self._api):
            raise uncertain(value.line)
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

    def _known_of_any(self, value: Expression, t: Type) -> Type:
        """Return the type of `config["scale"] * x` with a known number, which mypy takes for Any."""
        is_any = isinstance(value, OpExpr) and isinstance(get_proper_type(t), AnyType)
        known = type_of_any(value, self._api) if is_any else None
        return t if known is None or tensor_parts(known) is None else known

    def _read_turns(self, comprehension: ListComprehension | DictionaryComprehension) -> None:
        """Read a comprehension over layers, or numbers, that differ, turn by turn, and note what its items are."""
        forget_turns(comprehension)
        is_list = isinstance(comprehension, ListComprehension)
        of = comprehension.generator if isinstance(comprehension, ListComprehension) else comprehension
        written = None if isinstance(comprehension, ListComprehension) else comprehension.key
        target, sequence = of.indices[0], of.sequences[0]
        several = self._turns_that_differ(target, sequence) if len(of.indices) == 1 else None
        if several is None or len(several) > MOST_TURNS_READ:
            return
        item = (
            comprehension.generator.left_expr if isinstance(comprehension, ListComprehension) else comprehension.value
        )
        items: list[tuple[str | None, Type]] = []
        types = types_in_body(self._api)
        at_turns: list[dict[Any, Type]] = []
        before = dict(self._frame.variables)
        try:
            for values, t in several:
                self._frame.variables.update(values)
                self._bind_loop(target, t)
                are_met = [decided(one, self._api) for one in of.condlists[0]]
                if None in are_met:
                    return
                if not all(are_met):
                    continue
                key = None if written is None else object_of(written, self._api)
                items.append((key if isinstance(key, str) else None, with_sizes(self._type_of(item), item, self._api)))
                at_turns.append({one: types[one] for one in inside(item) if one in types})
        except UnreadError:  # the comprehension is then read as a whole
            self._ignore_errors()
            return
        finally:
            self._frame.variables.clear()
            self._frame.variables.update(before)
        if is_list or all(key is not None for key, _ in items):
            note_turns(comprehension, items)
            for one in at_turns[0] if at_turns else ():
                self.at_turns[one] = max((turn[one] for turn in at_turns if one in turn), key=_unknown_parts)

    def _turns_that_differ(self, target: Expression, sequence: Expression) -> list[Turn] | None:
        """Return the turns of a comprehension, if they are known and have other values or tensors at each."""
        if (of_entries := self._turns_over_entries(target, sequence)) is not None:
            return of_entries
        several = turns(target, sequence, self._api)
        if several is None or not differ(several):
            return None
        t = iterated_type(self._api, sequence)
        return [Turn(values, t) for values in several]

    def _turns_over_entries(self, target: Expression, sequence: Expression) -> list[Turn] | None:
        """Return the turns of a loop over the entries of a dictionary of tensors or arrays, whose keys are known."""
        match target, sequence:
            case (
                TupleExpr(items=[NameExpr() as name, NameExpr()]),
                CallExpr(callee=MemberExpr(expr=of, name="items"), args=[]),
            ):
                text, entries = make(self._api)("builtins.str", []), self._entries_of(of)
                pairs = [(key, TupleType([text, t], any_tuple(self._api))) for key, t in entries.items()]
                return [Turn(assigned(name, key), pair) for key, pair in pairs] or None
            case NameExpr(), CallExpr(callee=MemberExpr(expr=of, name="values"), args=[]):
                return [Turn({}, t) for t in self._entries_of(of).values()] or None
        return None

    def _entries_of(self, dictionary: Expression) -> Entries:
        """Return the entries of a dictionary of tensors or arrays; none of any other."""
        entries = entries_of(dictionary, self._api) or {}
        return entries if all(tensor_parts(t) is not None or is_array(t) for t in entries.values()) else {}

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

    def _bind(self, target: Expression, t: Type, *, is_declared: bool = False) -> None:
        match target:
            case NameExpr(node=Var() as variable) if not variable.is_property and not variable.is_final:
                if not variable.is_inferred and not is_declared and not self._types.is_set(variable):
                    raise UnreadError(f"line {target.line} binds a global variable, or one with an annotation")
                self._counters.discard(variable)
                self._set(variable, t if variable in self._listed else plain_list(t))
            case TupleExpr(items=targets):
                p = get_proper_type(t)
                is_starred = any(isinstance(one, StarExpr) for one in targets)
                rows = None if is_starred else self._rows(p, len(targets))
                if rows is not None:
                    p = TupleType(rows, any_tuple(self._api))
                if is_starred and isinstance(p, TupleType):
                    p = self._with_rest(p, targets)
                    is_starred = len(p.items) != len(targets)
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

    def _bind_loop(self, target: Expression, t: Type) -> None:
        if isinstance(target, NameExpr) and isinstance(target.node, Var):
            self._set(target.node, t)
        else:
            self._bind(target, t)

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
            self._set_items(variable, items)
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
            entry = t if tensor_parts(t) is not None or is_array(t) else unknown()
            filled_now = with_entries(filled_now, {**entries, name: entry}, variable)
        self._set(variable, filled_now)

    def _assign(self, attribute: MemberExpr, name: str, t: Type) -> None:
        """Bind an attribute of `self`, for the rest of the body if it reads the attribute, and for other methods."""
        method, made = enclosing_function(self._api), self._frame.receiver
        if name in self._followed:
            narrow(self._api, attribute, t)
        if isinstance(method, FuncDef) and made is not None and tensor_parts(t) is not None:
            Replacements.note(method, name, made, t)

    def _rows(self, t: Type, count: int) -> list[Type] | None:
        """Return the types of the rows of a tensor that is unpacked to some names; None if it may have others."""
        p, parts = get_proper_type(t), tensor_parts(t)
        items = shape_items(parts.shape) if parts is not None else None
        if not isinstance(p, Instance) or not items or not isinstance(items[0], int) or items[0] != count:
            return None
        return [p.copy_modified(args=[shape_type(items[1:], make(self._api)), *p.args[1:]])] * count

    def _with_rest(self, several: TupleType, targets: list[Expression]) -> TupleType:
        """Return the types that `first, *rest = several` binds; the tuple itself if it may have too few items."""
        at = next(position for position, one in enumerate(targets) if isinstance(one, StarExpr))
        end = len(several.items) - (len(targets) - at - 1)
        if end < at or any(isinstance(one, UnpackType) for one in several.items):
            return several
        rest = list_of(several.items[at:end], any_list(self._api))
        return several.copy_modified(items=[*several.items[:at], rest, *several.items[end:]])

    def _change(self, target: Expression, t: Type) -> None:
        """Read that an attribute or an item changes: no type here does, unless it is that of a tensor.

        Raises:
            UnreadError: It may be a tensor, or what is changed has some.
        """
        if not isinstance(target, IndexExpr | MemberExpr) or holds_tensors(t):
            raise UnreadError(f"line {target.line} binds no plain variable")


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


def differ(several: list[dict[Node, Value]]) -> bool:
    """Return whether the variables of a comprehension have other values at other turns, such as other layers."""
    return len({tuple(map(key_of, values.values())) for values in several}) > 1


def _unpacked(target: Expression, expected: int, given: int) -> Failure:
    """Return the error by which Python rejects `a, b = x, y, z`, in mypy's words."""
    many = f"Too many values to unpack ({expected} expected, {given} provided)"
    message = many if given > expected else f"Need more than {given} values to unpack ({expected} expected)"
    end_line, end_column = target.end_line or target.line, target.end_column or target.column
    return Failure(message, MISC, target.line, target.column, end_line, end_column)


# Errors that end the reading of a body. Others are of mypy, which knows less than Python of what the call passes: it
# takes the items of an array of whole numbers for no `int`.
_FAILING: Final = frozenset({*CODES.values(), error_codes["assert-type"]})


def _unknown_parts(t: Type) -> int:
    """Return how many parts of the type of a tensor are unknown."""
    parts = tensor_parts(get_proper_type(t))
    if parts is None:
        return 0
    shape = get_proper_type(parts.shape)
    sizes = shape.items if isinstance(shape, TupleType) else [shape] * 8  # more than a tensor of unknown sizes has
    return sum(isinstance(get_proper_type(one), AnyType) for one in (*sizes, parts.tape, parts.dtype))


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
    # A call in a lambda adds no failure: only the call of the lambda does.
    certain |= {
        node for node in nodes if isinstance(node, LambdaExpr) and (place is None or not _may_cause(node, place))
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
