"""Lists, tuples and other sequences: their items, their lengths, and the turns of loops over them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR,
    CallExpr,
    ExpressionStmt,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    ReturnStmt,
    SliceExpr,
    StarExpr,
    StrExpr,
    TupleExpr,
    Var,
    YieldFromExpr,
)
from mypy.types import Instance, TupleType, get_proper_type

from tapegrad.errors.numpy_functions import below_numpy
from tapegrad.mypy.conversion import ARRAY, BATCHES, Many, shape_items, size_of, tensor_parts, unknown
from tapegrad.mypy.mypy_api import BodiesRead, depend_on_bodies, stored_type, type_in_body
from tapegrad.mypy.scopes.collections import appended_to, comprehension_of, display_of, made_once
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.frames import (
    Arrays,
    Expressions,
    GivenTensor,
    Held,
    Items,
    Keywords,
    Layers,
    Made,
    Reading,
    Records,
    Several,
    binding,
    item_at,
    key_of,
)
from tapegrad.mypy.scopes.functions import body_of_getter, method_of
from tapegrad.mypy.scopes.items import (
    MOST_ITEMS,
    are_single,
    assigned,
    bounds_of,
    common_object,
    common_record,
    count_in_type,
    element,
    known_items,
    length_of_type,
    unknown_elements,
)
from tapegrad.mypy.scopes.names import bound_once, inside
from tapegrad.mypy.scopes.numbers import range_of
from tapegrad.mypy.scopes.opaque import ARITHMETIC, Finder, length_of_unchanged, size_of_item
from tapegrad.sizes import UNKNOWN, Dim, is_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Expression, Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size


def records_appended(name: NameExpr, api: Checker) -> Several | None:
    """Return the dataclasses or named tuples in a list that `append` fills, with what they have in common.

    None in a body that is read, where a loop may append others than those of the turn that was read last.
    """
    is_list = isinstance(p := get_proper_type(stored_type(api, name)), Instance) and not _is_dict(p)
    items = appended_to(name, api) if Reading.frame is None and is_list and name.node not in _appended_now else None
    if items is None:
        return None
    _appended_now.add(name.node)
    try:
        record = common_record([Expressions.object_of(one, api) for one in items])
    finally:
        _appended_now.discard(name.node)
    return None if record is None else Several(record, is_filled=False)


_appended_now: Final[set[Node | None]] = set()  # lists whose items are being read: `rows.append([len(rows), 1])`


def repeated_items(items: Items, times: Expression, api: Checker) -> Items | None:
    """Return the items of a list that is multiplied, as in `[8] * 3`; None if it is not known how often."""
    count = size_or_length(times, api)
    is_known = isinstance(count, int) and len(items.values) * count <= MOST_ITEMS
    return Items(items.values * count) if is_known else None


def type_read(expression: Expression, api: Checker) -> Type | None:
    """Return the type of an expression, in the body that is read if there is one; None if it is not known there."""
    if Reading.frame is None:
        return stored_type(api, expression)
    return type_in_body(api, expression) if BodiesRead.depth else None


def sizes_of_tensor(tensor: Expression, api: Checker) -> Items | None:
    """Return the sizes of a tensor or array, each None if it is not known; None if their number is not known."""
    t = type_read(tensor, api)
    parts = tensor_parts(t) if t is not None else None
    items: Sequence[Size | Many] | None = shape_items(parts.shape) if parts is not None else None
    if parts is None and isinstance(p := get_proper_type(t), Instance) and p.type.fullname == ARRAY:
        items = Arrays.sizes(tensor, api)
    sizes = [one for one in items or () if not isinstance(one, Many)]
    if items is None or len(sizes) < len(items):
        return None
    return Items((*(None if is_unknown(one) else one for one in sizes),))


def copied_items(sequence: Expression, api: Checker) -> Items | None:
    """Return the items of a sequence that is copied, as by `list(range(3))`; None if their number is not known."""
    count = length_of(sequence, api)
    if count is None or count > MOST_ITEMS:
        return None
    return known_items([_item_of(sequence, index, api) for index in range(count)])


def sorted_items(call: CallExpr, api: Checker) -> Items | None:
    """Return the items of `sorted(names)`, if they are all words or whole numbers; else as many unknown ones."""
    (sequence,) = call.args
    copied = copied_items(sequence, api)
    values: list[Any] = [] if copied is None else [*copied.values]
    is_plain = any(all(type(one) is kind for one in values) for kind in (int, str))
    return Items((*sorted(values),)) if copied is not None and is_plain else unordered_items(call, api)


def unordered_items(sequence: Expression, api: Checker) -> Items | None:
    """Return as many unknown items as a set or a sorted list has; None if their number is not known."""
    count = length_of(sequence, api)
    return None if count is None or count > MOST_ITEMS else Items((None,) * count)


def items_of_comprehension(generator: GeneratorExpr, api: Checker) -> Value:
    """Return the items of a list comprehension with one loop and no condition; None for any other."""
    match generator:
        case GeneratorExpr(left_expr=item, indices=[target], sequences=[sequence], condlists=[[]]):
            several = turns(target, sequence, api)
            if several is None:
                made = Reading.frame.made if Reading.frame is not None else None
                count = len(made or ())
                one = Expressions.object_of(item, api)
                if made is not None:
                    del made[count:]  # there may be no item
                length = _length_where_it_stands(sequence, api)
                return None if one is None and is_unknown(length) else Several(one, has_items(sequence, api), length)
            is_same = not any(
                isinstance(one, NameExpr) and one.node in turn for turn in several for one in inside(item)
            )
            values: list[Value] = []
            for turn in several:
                with binding(turn):
                    values.append(values[0] if is_same and values else Expressions.value_of(item, api))
            known = known_items(values)
            return Several(None, is_filled=bool(values), length=len(values)) if known is None else known
    return None


def value_at_index(base: Expression, index: Expression, api: Checker) -> Value:
    """Return the item, the entry or the part of a collection that `base[index]` reads; None if it is not known."""
    match Expressions.object_of(base, api):
        case Keywords(values=pairs):
            key = Expressions.value_of(index, api)
            values = [value for name, value in pairs if not isinstance(key, str | int) or name == key]
            return values[0] if values and len({*map(key_of, values)}) == 1 else None
        case Several(item=item):
            return Several(item, is_filled=False) if isinstance(index, SliceExpr) else item
        case Items(values=values) if isinstance(index, SliceExpr):
            bounds = bounds_of(index)
            return None if bounds is None else Items(values[bounds])
        case Items() as items if isinstance(position := Expressions.size_of(index, api), int):
            return item_at(items, position)
        case Items(values=values):
            return common_object(values)
        case Layers(items=layers) if isinstance(position := Expressions.size_of(index, api), int) and are_single(
            layers
        ):
            return item_at(Items(layers), position)
    return None


def written_items(items: list[Expression], api: Checker) -> Items | None:
    """Return the items of a written list or tuple; None if none of them is known."""
    values: list[Value] = []
    for item in items if len(items) <= MOST_ITEMS else ():
        if not isinstance(item, StarExpr):
            values.append(Expressions.value_of(item, api))
            continue
        several = Expressions.object_of(item.expr, api)
        several = several if isinstance(several, Items) else copied_items(item.expr, api)
        if several is None:
            return None
        values += several.values
    return known_items(values) if len(values) >= len(items) - sum(isinstance(one, StarExpr) for one in items) else None


def _steady_item(sequence: Expression, index: int, api: Checker) -> Size:
    items = Expressions.object_of(sequence, api) if isinstance(sequence, NameExpr | MemberExpr) else None
    size = item_at(items, index) if isinstance(items, Items) else None
    return size if isinstance(size, int | Dim) else size_of_item(sequence, index, api, _STEADY)


def _steady_size(expression: Expression, api: Checker) -> Size:
    return Expressions.size_of(expression, api)  # which is not set yet when this module is imported


_STEADY: Final = Finder(_steady_size, _steady_item)


def length_of(sequence: Expression, api: Checker) -> int | None:
    """Return how many items a sequence has; None if that is not known."""
    match sequence:
        case ListExpr(items=items) | TupleExpr(items=items):
            lengths = [length_of(one.expr, api) if isinstance(one, StarExpr) else 1 for one in items]
            return None if None in lengths else sum(n for n in lengths if n is not None)
        case (
            ListComprehension(generator=GeneratorExpr(sequences=several, condlists=conditions))
            | GeneratorExpr(sequences=several, condlists=conditions)
        ) if not any(conditions):
            lengths = [length_of(one, api) for one in several]
            return None if None in lengths else prod(n for n in lengths if n is not None)
        case CallExpr(callee=RefExpr(fullname="builtins.range")):
            numbers = _range(sequence, api)
            return None if numbers is None else len(numbers)
        case CallExpr(callee=RefExpr(fullname="builtins.zip"), args=[_, *_] as several, arg_kinds=kinds) if (
            ARG_STAR not in kinds
        ):
            lengths = [length_of(one, api) for one, kind in zip(several, kinds, strict=True) if kind is not ARG_NAMED]
            return None if None in lengths else min(n for n in lengths if n is not None)
        case CallExpr(callee=RefExpr(fullname="itertools.pairwise"), args=[of]):
            length = length_of(of, api)
            return None if length is None else max(length - 1, 0)
        case CallExpr(callee=RefExpr(fullname=name), args=[of, *_]) if name in _KEEPING_ITEMS:
            return length_of(of, api)
        case CallExpr(callee=RefExpr(fullname="builtins.set" | "builtins.frozenset"), args=[of]):
            return len({*text}) if isinstance(text := _iterated(of, api), str) else None
        case CallExpr(callee=MemberExpr(expr=of, name="items" | "keys" | "values"), args=[]):
            return len(pairs.values) if isinstance(pairs := Expressions.object_of(of, api), Keywords) else None
        case IndexExpr(base=of, index=SliceExpr() as part):
            length, bounds = length_of(of, api), bounds_of(part)
            return None if length is None or bounds is None else len(range(length)[bounds])
        case NameExpr() | MemberExpr() | OpExpr() | IndexExpr() | StrExpr():
            match _iterated(sequence, api):
                case str() as text:
                    return len(text)
                case Items(values=values) | Keywords(values=values):
                    return len(values)
                case Layers(items=layers) if are_single(layers):
                    return len(layers)
                case GivenTensor(t=given) if isinstance(length := length_of_type(given), int):
                    return length
                case Several(length=int() as length):
                    return length
            written = _written_list(sequence, api) if isinstance(sequence, NameExpr) else None
            if written is not None:
                return length_of(written, api)
    t = get_proper_type(stored_type(api, sequence))
    count = length_of_type(t) if isinstance(t, TupleType) else UNKNOWN
    return count if isinstance(count, int) else None


def length_of_alike(sequence: Expression, api: Checker) -> Size:
    """Return how many items a list has of which no more may be known; unknown for others."""
    found = Expressions.object_of(sequence, api)
    return found.length if isinstance(found, Several | Held) else UNKNOWN


def _length_where_it_stands(sequence: Expression, api: Checker) -> Size:
    """Return how many items a sequence has, as a number or by the name of another sequence."""
    count = length_of(sequence, api)
    if count is not None:
        return count
    match sequence:
        case CallExpr(callee=RefExpr(fullname="builtins.range"), args=[stop]):
            return Expressions.size_of(stop, api)
        case CallExpr(callee=RefExpr(fullname=name), args=[of, *_]) if name in _KEEPING_ITEMS:
            return _length_where_it_stands(of, api)
        case NameExpr() | MemberExpr():
            length = length_of_alike(sequence, api)
            return length_of_unchanged(sequence, api) if is_unknown(length) else length
    return UNKNOWN


def _written_list(name: NameExpr, api: Checker) -> Expression | None:
    """Return the display or the comprehension that a variable is bound to, if nothing else changes the list.

    In a body that is read, the variables that a comprehension runs over must be the same then as now.
    """
    found = display_of(name, api) or comprehension_of(name, api)
    made = made_once(name, api) if found is None else None
    sequences = made.generator.sequences if isinstance(made, ListComprehension) else []
    names = [one for sequence in sequences for one in inside(sequence) if isinstance(one, NameExpr)]
    are_steady = all(bound_once(one.node, api)[1] for one in names if isinstance(one.node, Var))
    return made if found is None and sequences and are_steady else found


def _range(call: CallExpr, api: Checker) -> range | None:
    """Return the numbers of `range(...)`; None if they are not known."""
    return range_of([Expressions.size_of(one, api) for one in call.args])


def turns(target: Expression, sequence: Expression, api: Checker) -> list[dict[Node, Value]] | None:
    """Return the values that a loop gives its variables at each turn; None if the number of turns is not known."""
    count = length_of(sequence, api)
    if count is None or count > MOST_ITEMS:
        return None
    return [_turn(target, sequence, index, api) for index in range(count)]


def _turn(target: Expression, sequence: Expression, index: int, api: Checker) -> dict[Node, Value]:
    match target, sequence:
        case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
            parts = [_turn(one, of, index, api) for one, of in zip(targets, several, strict=False)]
        case TupleExpr(items=[one, other]), CallExpr(callee=RefExpr(fullname="itertools.pairwise"), args=[of]):
            parts = [_turn(one, of, index, api), _turn(other, of, index + 1, api)]
        case TupleExpr(items=[number, one]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of]):
            parts = [assigned(number, index), _turn(one, of, index, api)]
        case TupleExpr(items=[name, one]), CallExpr(callee=MemberExpr(expr=of, name="items"), args=[]):
            pairs = Expressions.object_of(of, api)
            key, value = pairs.values[index] if isinstance(pairs, Keywords) else (None, None)
            parts = [assigned(name, key), assigned(one, value)]
        case _:
            parts = [assigned(target, _item_of(sequence, index, api))]
    return {variable: value for part in (unknown_elements(target), *parts) for variable, value in part.items()}


def _item_of(sequence: Expression, index: int, api: Checker) -> Value:
    match sequence:
        case CallExpr(callee=RefExpr(fullname="builtins.range")):
            numbers = _range(sequence, api)
            return None if numbers is None else numbers[index]
        case CallExpr(callee=RefExpr(fullname="builtins.reversed"), args=[of]):
            count = length_of(of, api)
            return None if count is None else _item_of(of, count - 1 - index, api)
        case CallExpr(callee=RefExpr(fullname="builtins.list" | "builtins.tuple"), args=[of]):
            return _item_of(of, index, api)
        case CallExpr(callee=MemberExpr(expr=of, name="values"), args=[]):
            pairs = Expressions.object_of(of, api)
            return pairs.values[index][1] if isinstance(pairs, Keywords) else None
        case CallExpr(callee=MemberExpr(expr=of, name="keys"), args=[]):
            return _item_of(of, index, api)
    match _iterated(sequence, api):
        case Items() as items:
            return item_at(items, index)
        case Keywords(values=entries):
            return entries[index][0]
        case Layers(items=layers):
            return layers[index]
        case Several(item=item):
            return item
        case str() as text:
            return text[index]
    size = size_of_item(sequence, index, api, _STEADY)
    return None if is_unknown(size) else size


def drawn_record(function: str, call: CallExpr, api: Checker) -> Made | Several | None:
    """Return what `random.choice(steps)` or `sorted(steps)` returns of a list of dataclasses or named tuples."""
    record = record_in(call.args[0], api) if call.arg_kinds[:1] == [ARG_POS] else None
    return record if record is None or function == "random.choice" else Several(record, is_filled=False)


def record_in(sequence: Expression, api: Checker) -> Made | None:
    """Return what the dataclasses or named tuples in a list have in common; None if it has others, or if none is known.

    Args:
        sequence: The list.
        api: mypy's checker.
    """
    of = Expressions.object_of(sequence, api)
    return common_record(of.values if isinstance(of, Items) else [of.item if isinstance(of, Several) else None])


def _iterated(sequence: Expression, api: Checker) -> Value:
    """Return the object that an expression denotes, or the list over which its `__iter__` runs."""
    found = Expressions.object_of(sequence, api)
    attribute = _attribute_iterated(found, api) if isinstance(found, Made) else ""
    return Expressions.object_of(MemberExpr(sequence, attribute), api) if attribute else found


def _attribute_iterated(made: Made, api: Checker) -> str:
    """Return the attribute over which the `__iter__` of an object runs, as does its `__len__`; "" if unknown."""
    depend_on_bodies(api)
    names: set[str] = set()
    for name in "__iter__", "__len__":
        method, _ = method_of(made, name) or (None, None)
        body = [] if method is None or is_changed(method, api) else body_of_getter(method, api)[0]
        match body[1:] if isinstance(body[0] if body else None, ExpressionStmt) and len(body) > 1 else body:
            case [
                ReturnStmt(expr=CallExpr(callee=NameExpr(fullname="builtins.iter" | "builtins.len"), args=[of]))
                | ExpressionStmt(expr=YieldFromExpr(expr=of))
            ]:
                names.add(of.name if isinstance(of, MemberExpr) and getattr(of.expr, "name", "") == "self" else "")
            case _ if method is not None or name == "__iter__":
                return ""
    return names.pop() if len(names) == 1 else ""


def several_alike(items: list[Expression], api: Checker) -> Several | None:
    """Return several objects, if all items are the same."""
    item = Expressions.object_of(items[0], api)
    is_alike = item is not None and all(key_of(Expressions.object_of(one, api)) == key_of(item) for one in items[1:])
    return Several(item, is_filled=True) if is_alike else None


def elements(target: Expression, sequence: Expression, api: Checker) -> dict[Node, Value]:
    """Return the objects that a loop over a sequence binds its variables to; None for the others."""
    match target, sequence:
        case TupleExpr(items=[_, inner]), CallExpr(callee=NameExpr(fullname="builtins.enumerate"), args=[of, *_]):
            return unknown_elements(target) | elements(inner, of, api)
        case TupleExpr(items=targets), CallExpr(callee=NameExpr(fullname="builtins.zip"), args=several):
            pairs = zip(targets, several, strict=False)
            return unknown_elements(target) | {
                variable: value for one, of in pairs for variable, value in elements(one, of, api).items()
            }
        case TupleExpr(items=[_, inner]), CallExpr(callee=MemberExpr(expr=of, name="items"), args=[]):
            return unknown_elements(target) | element(inner, Expressions.object_of(of, api))
        case NameExpr(), CallExpr(callee=MemberExpr(expr=of, name="values"), args=[]):
            return element(target, Expressions.object_of(of, api))
        case NameExpr(), CallExpr(callee=RefExpr(fullname=name), args=[of, *_]) if name in _SAME_ITEMS:
            return elements(target, of, api)
        case NameExpr(), NameExpr() | MemberExpr() | IndexExpr() | ListExpr() | TupleExpr() | ListComprehension():
            is_dict = isinstance(p := get_proper_type(stored_type(api, sequence)), Instance) and _is_dict(p)
            return element(target, None if is_dict else _iterated(sequence, api))
        case NameExpr(node=Var() as variable), CallExpr() if (record := Records.yielded(sequence, api)) is not None:
            return {variable: record}
    return unknown_elements(target)


def _is_dict(t: Instance) -> bool:
    return t.type.has_base("typing.Mapping")


# Functions whose result has the elements of their argument.
_SAME_ITEMS: Final = {"builtins.list", "builtins.reversed", "builtins.sorted", "builtins.tuple"}
# Functions whose result is a list with elements of their argument, or one of its elements.
DRAWING: Final = {
    *("builtins.list", "builtins.sorted", "builtins.tuple"),
    *("random.choice", "random.choices", "random.sample"),
}
# Functions whose result has as many elements as their first argument.
_KEEPING_ITEMS: Final = {
    "builtins.enumerate",
    "builtins.list",
    "builtins.reversed",
    "builtins.sorted",
    "builtins.tuple",
    "tapegrad.progress.run.track",
}


def has_items(sequence: Expression, api: Checker) -> bool:
    """Return whether a loop over a sequence surely runs once."""
    match sequence:
        case CallExpr(callee=NameExpr(fullname="builtins.range"), args=bounds):
            several = range_of([size_or_length(one, api) for one in bounds])
            return _counts_rows(bounds, api) if several is None else bool(several)
        case ListExpr(items=[_, *_]):
            return True
        case CallExpr(callee=MemberExpr(expr=of, name="items" | "values"), args=[]):
            return has_items(of, api)
        case CallExpr(callee=RefExpr(fullname=name)) if _gives_items(name):
            return True
        case CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several, arg_kinds=kinds):
            return all(has_items(one, api) for one, kind in zip(several, kinds, strict=True) if kind is not ARG_NAMED)
        case CallExpr(callee=RefExpr(fullname=name), args=[of, *_]) if name in _KEEPING_ITEMS:
            return has_items(of, api)
        case NameExpr(node=Var() as variable) if isinstance(made := bound_once(variable, api)[0], CallExpr):
            if _gives_items(getattr(made.callee, "fullname", "")):
                return True
    t = get_proper_type(stored_type(api, sequence))
    if isinstance(t, Instance) and t.type.fullname == BATCHES:
        return True
    several = _iterated(sequence, api)
    return (
        bool(several.values)
        if isinstance(several, Items | Keywords)
        else isinstance(several, Several) and several.is_filled
    )


def _gives_items(name: str) -> bool:
    """Return whether a function rejects what would give no item: fewer rows than a batch has, or no parts."""
    return name == "tapegrad.data.batches.batches" or below_numpy(name) in _SPLITTING


_SPLITTING: Final = frozenset(["array_split", "dsplit", "hsplit", "split", "vsplit"])


def _counts_rows(bounds: list[Expression], api: Checker) -> bool:
    """Return whether a range goes over the rows of an array, such as `range(0, len(x), 32)`: data has rows."""
    match bounds:
        case [stop] | [IntExpr(value=0), stop] | [IntExpr(value=0), stop, _]:
            pass
        case _:
            return False
    return _is_number_of_rows(stop, api)


def _is_number_of_rows(count: Expression, api: Checker) -> bool:
    match count:
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[data]):
            return _is_data(data, api)
        case IndexExpr(base=MemberExpr(expr=data, name="shape"), index=IntExpr(value=0)):
            return _is_data(data, api)
        case NameExpr(node=Var() as variable):
            value, _ = bound_once(variable, api)
            return value is not None and not isinstance(value, NameExpr) and _is_number_of_rows(value, api)
    return False


def _is_data(data: Expression, api: Checker) -> bool:
    p = get_proper_type(stored_type(api, data))
    return isinstance(p, Instance) and (p.type.fullname == ARRAY or tensor_parts(p) is not None)


def size_or_length(expression: Expression, api: Checker) -> Size:
    """Return a size that an expression has where it stands, also the length of a tensor and an axis of its shape."""
    if isinstance(expression, OpExpr) and expression.op in ARITHMETIC:
        return ARITHMETIC[expression.op](size_or_length(expression.left, api), size_or_length(expression.right, api))
    size = size_by_type(expression, api)
    return Expressions.size_of(expression, api) if is_unknown(size) else size


def size_by_type(expression: Expression, api: Checker) -> Size:
    """Return the size of an expression by its type, or by that of a tensor in it, such as `len(x)` or `x.ndim`."""
    match expression:
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[operand]):
            return length_of_type(stored_type(api, operand) or unknown())
        case MemberExpr(expr=operand, name="ndim") if (of := stored_type(api, operand)) and tensor_parts(
            of
        ) is not None:
            return count_in_type(of, "ndim")
    return size_of(stored_type(api, expression) or unknown())
