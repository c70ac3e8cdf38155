"""How a body that is read creates and changes lists and dictionaries of tensors, and runs over them.

`body_lists` finds which of them are followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import (
    CallExpr,
    ConditionalExpr,
    DictExpr,
    IndexExpr,
    ListComprehension,
    ListExpr,
    NameExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    TupleExpr,
    Var,
)
from mypy.types import Instance, PartialType, TupleType, get_proper_type
from typing_extensions import override

from tapegrad.mypy.conversion import tensor_parts, unknown
from tapegrad.mypy.features.body_expressions import MOST_TURNS_READ, ExpressionReader
from tapegrad.mypy.features.body_lists import (
    changed_lists,
    display_of_deque,
    is_at_front,
    items_assigned,
    list_of,
    listed_items,
)
from tapegrad.mypy.features.body_state import Turn
from tapegrad.mypy.features.partial_types import holds_tensors, is_sequence, join, joined_dictionary
from tapegrad.mypy.mypy_api import (
    any_list,
    any_tuple,
    enclosing_function,
    expect_elements,
    iterated_type,
    make,
    narrow_by_condition,
)
from tapegrad.mypy.scopes.collections import is_new_list
from tapegrad.mypy.scopes.entries import entries_of, with_entries
from tapegrad.mypy.scopes.frames import turns_noted
from tapegrad.mypy.scopes.items import assigned, bounds_of
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.scopes.objects import decided
from tapegrad.mypy.scopes.sequences import turns

if TYPE_CHECKING:
    from mypy.nodes import Block, Expression, Node, Statement
    from mypy.types import Type


class CollectionReader(ExpressionReader):
    """Reads what a body does with lists and dictionaries of tensors."""

    def _create_list(self, variable: Var, target: Expression, value: Expression) -> None:
        """Bind a variable to a list that is written there, of which each item keeps its type."""
        if isinstance(value, ConditionalExpr):
            self._type_of(value.cond)
            is_true = decided(value.cond, self._api)
            if is_true is not None:
                narrow_by_condition(self._api, value.cond, is_true=is_true)
                self._create_list(variable, target, value.if_expr if is_true else value.else_expr)
                return
        if (display := display_of_deque(value)) is not None:
            items = [self._type_of(one) for one in display.items]
            self._set(variable, list_of(items, make(self._api)("collections.deque", [unknown()])))
            if not all(map(_is_item, items)):
                self._without_items(variable, items)
        elif isinstance(value, ListExpr):
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
        noted = turns_noted(comprehension)
        if noted is not None:
            items = [one for _, one in noted]
            return items if any(map(_is_item, items)) else None
        several = get_proper_type(t)
        if not isinstance(several, Instance) or tensor_parts(several.args[0]) is None:
            return None
        generator = comprehension.generator
        target, sequence = generator.indices[0], generator.sequences[0]
        known = turns(target, sequence, self._api)
        if known is None or len(known) > MOST_TURNS_READ:
            return None
        items = []
        for values in known:
            self._frame.variables.update(values)
            self._bind_loop(target, iterated_type(self._api, sequence))
            items.append(self._type_of(generator.left_expr))
        return items

    def _append(self, variable: Var, call: CallExpr) -> None:
        """Add an item to a list of tensors."""
        item, items = self._type_of(call.args[-1]), listed_items(variable.type)
        several = get_proper_type(variable.type)
        if items is not None and _is_item(item):
            longer = [item, *items] if is_at_front(call) else [*items, item]
            self._set_items(variable, longer)
        elif items is None and isinstance(several, Instance) and _is_item(several.args[0]):
            self._set(variable, several.copy_modified(args=[join([several.args[0], item])]))
        else:
            if items is not None:
                self._without_items(variable, items)
            is_first = isinstance(variable.type, PartialType)
            self._type_of(call, may_be_none=True)
            of = get_proper_type(variable.type)
            if is_first and isinstance(of, Instance) and _is_item(item):
                self._set(variable, of.copy_modified(args=[item]))  # mypy would give it any sizes

    def _reverse(self, variable: Var) -> None:
        """Reverse a list, in place."""
        items = listed_items(variable.type)
        if items is not None:
            self._set_items(variable, items[::-1])

    def _create_dictionary(self, variable: Var, value: Expression) -> None:
        """Bind a variable to a dictionary that is written there, whose entries are followed."""
        t = get_proper_type(self._type_of(value))
        if isinstance(value, DictExpr) and not value.items:
            t = make(self._api)("builtins.dict", [unknown(), unknown()])
        entries = entries_of(value, self._api)
        if entries is not None and isinstance(t, Instance):
            t = with_entries(t, entries, variable)
        self._set(variable, t)

    def _new_lists(self, value: Expression, t: Type) -> Type:
        """Return the type of what the body returns without the items of lists that something else may change."""
        p = get_proper_type(t)
        if listed_items(t) is not None:
            return t
        if isinstance(p, TupleType) and isinstance(value, TupleExpr) and len(p.items) == len(value.items):
            return p.copy_modified(items=[*map(self._new_lists, value.items, p.items)])
        if isinstance(value, ListExpr) and is_sequence(p) and not any(isinstance(one, StarExpr) for one in value.items):
            return list_of([self._type_of(one) for one in value.items], p)
        if isinstance(value, ListComprehension) and (items := self._comprehended(value, t)) is not None:
            return list_of(items, any_list(self._api))
        if not is_sequence(p) or is_new_list(value, enclosing_function(self._api), self._api):
            return t
        return p.copy_modified(args=[unknown()])

    def _without_items(self, variable: Var, items: list[Type]) -> None:
        """Give a variable the type of a list of any length."""
        if items or variable not in self._empty:
            self._set(variable, self._any_like(variable).copy_modified(args=[join(items) if items else unknown()]))
        else:
            target, value = self._empty[variable]
            self._types.set(variable, self._type_of(value))
            if isinstance(target, NameExpr):
                expect_elements(self._api, variable, target, value)

    def _items_of(self, expression: Expression) -> list[Type] | None:
        """Return the types of the items of a list in a variable, where they are known one by one."""
        match expression:
            case NameExpr(node=Var() as variable) if variable in self._listed:
                return listed_items(variable.type)
            case CallExpr(callee=RefExpr(fullname="builtins.reversed"), args=[of]):
                items = self._items_of(of)
                return None if items is None else items[::-1]
            case CallExpr() if _may_return_list(expression):
                return listed_items(self._type_of(expression))
            case IndexExpr(base=of, index=SliceExpr() as part):
                items, bounds = self._items_of(of), bounds_of(part)
                return None if items is None or bounds is None else items[bounds]
        return None

    def _turns_over_lists(self, target: Expression, sequence: Expression) -> list[Turn] | None:
        """Return the turns of a loop over lists whose items are known one by one, perhaps beside other sequences."""
        variables = self._variables_in(sequence)
        if not any(one in self._listed for one in variables) and not any(map(_may_return_list, inside(sequence))):
            return None
        items = self._items_of(sequence)
        if items is not None:
            return [Turn({}, item) for item in items]
        match target, sequence:
            case TupleExpr(items=[number, one]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of]):
                inner = self._turns_over_lists(one, of)
                int_type = make(self._api)("builtins.int", [])
                return inner and [
                    self._beside([Turn(assigned(number, index), int_type), turn]) for index, turn in enumerate(inner)
                ]
            case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
                parts = [self._turns_of(one, of) for one, of in zip(targets, several, strict=False)]
                known = [part for part in parts if part is not None]
                if len(known) < len(targets):
                    return None
                return [self._beside([*row]) for row in zip(*known, strict=False)]
        return None

    @override
    def _turns_that_differ(self, target: Expression, sequence: Expression) -> list[Turn] | None:
        return self._turns_over_lists(target, sequence) or super()._turns_that_differ(target, sequence)

    def _turns_of(self, target: Expression, sequence: Expression) -> list[Turn] | None:
        over_lists = self._turns_over_lists(target, sequence)
        if over_lists is not None:
            return over_lists
        several = turns(target, sequence, self._api)
        t = iterated_type(self._api, sequence)
        return None if several is None else [Turn(values, t) for values in several]

    def _beside(self, parts: list[Turn]) -> Turn:
        values = {node: value for part in parts for node, value in part.values.items()}
        return Turn(values, TupleType([part.type for part in parts], any_tuple(self._api)))

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


def _is_item(t: Type) -> bool:
    """Return whether an item of a list is followed: a tensor, or a tuple with tensors."""
    return tensor_parts(t) is not None or (isinstance(get_proper_type(t), TupleType) and holds_tensors(t))


def _may_return_list(node: Node) -> bool:
    """Return whether a part of an expression is a call of a function of the program, which may return a list."""
    name = getattr(node.callee, "fullname", "") if isinstance(node, CallExpr) else "builtins."
    return not name.startswith(("builtins.", "tapegrad."))
