"""Objects of classes of the program, as calls of their classes make them, such as `MLP(Config(width=8))`.

A variable or an attribute denotes such an object where it is assigned once. Its class is exactly the one that is
called, so a method that is called on it is the one of that class, and no override.
"""

from __future__ import annotations

import operator
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeVar

from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    AssignmentStmt,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    Decorator,
    DelStmt,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    FloatExpr,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OpExpr,
    RefExpr,
    ReturnStmt,
    SliceExpr,
    StarExpr,
    StrExpr,
    SuperExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, CallableType, Instance, ProperType, TupleType, Type, TypeVarType, get_proper_type

from tapegrad.mypy.conversion import (
    ARRAY,
    MODULE,
    Many,
    kind_of,
    shape_items,
    shape_type,
    size_of,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    checked_file,
    is_always,
    make,
    pass_of,
    stored_type,
    types_in_body,
)
from tapegrad.mypy.mypy_files import in_file, program_file
from tapegrad.mypy.scopes.collections import Use, appended_to, set_up_methods, use_of
from tapegrad.mypy.scopes.command_line import NAMESPACE, PARSE, PARSE_KNOWN, conditions_around, defaults_of
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.frames import (
    Arrays,
    ClassOf,
    Creation,
    Frame,
    GivenTensor,
    Held,
    Items,
    Keywords,
    LayerCall,
    Layers,
    Made,
    Nothing,
    Reading,
    Records,
    Returned,
    Several,
    Value,
    binding,
    constructor_frame,
    item_at,
    key_of,
    size_in_frame,
    within,
)
from tapegrad.mypy.scopes.functions import (
    LAYERS,
    Default,
    body_of_getter,
    calls_constructor,
    constructor_of,
    field_default,
    home_of_constructor,
    is_method,
    may_return_object,
    method_of,
    parameter_default,
    parameter_values,
    returned_class,
    written_with_file,
)
from tapegrad.mypy.scopes.items import (
    MOST_ITEMS,
    are_single,
    assigned,
    bounds_of,
    common_object,
    common_record,
    count_in_type,
    element,
    has_unknown_part,
    known_items,
    length_of_type,
    type_of_value,
    unknown_elements,
)
from tapegrad.mypy.scopes.names import bound_once, inside
from tapegrad.mypy.scopes.numbers import FUNCTIONS, combined, is_of_class, is_plain, range_of, result_of, truth_of
from tapegrad.mypy.scopes.opaque import (
    ARITHMETIC,
    Finder,
    Loop,
    class_constant,
    constructor_value,
    in_module,
    is_defined_once,
    is_fixed,
    is_set_up,
    is_unwritten,
    is_written_elsewhere,
    loop_of,
    made_in_loop,
    method_of_receiver,
    module_value,
    opaque_size,
    path_of,
    size_of_item,
    steady_value,
    unpacked_from,
    unpacked_in_loop,
)
from tapegrad.mypy.scopes.options import Change, changes_before
from tapegrad.mypy.scopes.plain_calls import plain_call
from tapegrad.mypy.scopes.statements import Evaluator, Run
from tapegrad.mypy.scopes.texts import PARSERS, value_of_text
from tapegrad.mypy.scopes.turns import is_same_at_each_turn
from tapegrad.mypy.sources import file_of, module_of, written_data_class, written_function
from tapegrad.sizes import UNKNOWN, Dim, Size, is_unknown, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from mypy.nodes import ArgKind

    from tapegrad.mypy.mypy_api import Checker

T = TypeVar("T")

_MOST_OBJECTS = 1000  # whose constructors were run; far more than a file makes
_DEEPEST = 20  # objects in arguments of objects
_WITHOUT_ARGUMENTS: Final = {MODULE, "builtins.object"}  # whose constructors take none
_NAMESPACES: Final = {NAMESPACE, "types.SimpleNamespace"}  # objects with any attributes
_FLAGS: Final = {"builtins.True": True, "builtins.False": False}
_COMPARISONS: Final = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def value_of_expression(expression: Expression, api: Checker) -> Value:
    """Return the object or the size that an expression denotes; None if neither is known."""
    if isinstance(expression, NameExpr) and expression.fullname in _FLAGS:
        return _FLAGS[expression.fullname]
    if _is_none(expression):
        return Nothing()
    found = object_of(expression, api)
    if found is not None:
        return found
    if isinstance(expression, CallExpr) and Reading.frame is not None:
        found = _result_of(expression, api)
        if found is not None:
            return found
    size = steady_size(expression, api)
    if not is_unknown(size):
        return None if isinstance(size, Dim) and _is_changed(expression, api) else size
    match expression:
        case ConditionalExpr(cond=condition, if_expr=one, else_expr=other) if (
            is_true := decided(condition, api)
        ) is not None:
            return value_of_expression(one if is_true else other, api)
        case OpExpr(op="and" | "or" as sign, left=left, right=right) if (
            is_true := truth_of(value := value_of_expression(left, api))
        ) is not None:
            return value if is_true == (sign == "or") else value_of_expression(right, api)
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC or sign == "/":
            return combined(sign, value_of_expression(left, api), value_of_expression(right, api))
        case UnaryExpr(op="-", expr=inner) if isinstance(value := value_of_expression(inner, api), int | float):
            return -value
        case FloatExpr(value=number):
            return number
        case ComparisonExpr() | UnaryExpr(op="not"):
            return decided(expression, api)
    path = path_of(expression, api) if Reading.frame is None else None
    return None if path is None else Held(path.label, path.scope)


def _is_changed(expression: Expression, api: Checker) -> bool:
    """Return whether an expression is a collection of type Any, which would be a size, and gets other items."""
    t = stored_type(api, expression) if isinstance(expression, NameExpr | MemberExpr) else None
    return isinstance(get_proper_type(t), AnyType) and use_of(expression, api) is Use.EXTENDED


def steady_size(expression: Expression, api: Checker) -> Size:
    """Return the size that an expression always has where it stands, or unknown.

    It is the number that an object was made with, as `config.width` after `config = Config(width=8)`, or that a list or
    a dict has, as `sizes["width"]` after `sizes = {"width": 8}`, or else opaque.
    """
    match expression:
        case MemberExpr() | IndexExpr() if isinstance(value := object_of(expression, api), int | Dim):
            return value
        case NameExpr() if Reading.frame is not None and isinstance(value := object_of(expression, api), int | Dim):
            return value
        case CallExpr(analyzed=None) if (Reading.frame is not None or _is_of_entry(expression)) and isinstance(
            value := _result_of(expression, api), int | Dim
        ):
            return value
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[NameExpr() | MemberExpr() as operand]) if (
            count := length_of(operand, api)
        ) is not None:
            return count
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[NameExpr() | MemberExpr() as operand]) if (
            not is_unknown(length := length_by_method(operand, api))
        ):
            return length
        case NameExpr(node=Var() as variable) if _is_of_entry(steady_value(variable, api)[0]) and isinstance(
            value := object_of(expression, api), int | Dim
        ):
            return value
        case NameExpr(node=Var() as variable) if (number := _computed_once(variable, api)) is not None:
            return number
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](steady_size(left, api), steady_size(right, api))
        case IndexExpr(base=NameExpr(node=Var() as variable) as base, index=IntExpr() | StrExpr() as key):
            display, scope = steady_value(variable, api)
            item = _item(display, key.value) if isinstance(display, DictExpr) else None
            is_visible = Reading.frame is None or scope == checked_file(api).fullname
            if item is not None and is_visible and use_of(base, api) is Use.READ:
                with within(None):
                    return steady_size(item, api)
    return opaque_size(expression, api)


def length_by_method(operand: Expression, api: Checker) -> Size:
    """Return the length of an object whose `__len__` returns that of a tensor in an attribute; unknown for any other.

    The object is made by a call of a class of the program, and only its constructor assigns to the attribute.
    """
    t = get_proper_type(stored_type(api, operand))
    if not isinstance(t, Instance) or t.type.fullname.startswith(_BUILTINS):
        return UNKNOWN
    made = object_of(operand, api)
    method, _ = (method_of(made, "__len__") or (None, None)) if isinstance(made, Made) else (None, None)
    if method is None or is_changed(method, api):
        return UNKNOWN
    body, _ = body_of_getter(method, api)
    match body[1:] if isinstance(body[0] if body else None, ExpressionStmt) else body:
        case [
            ReturnStmt(
                expr=CallExpr(
                    callee=NameExpr(fullname="builtins.len"), args=[MemberExpr(expr=NameExpr(name=owner), name=name)]
                )
            )
        ] if isinstance(made, Made) and owner == method.arguments[0].variable.name:
            length = from_constructor(made, name, _length_made, api)
            return UNKNOWN if length is None else length
    return UNKNOWN


_BUILTINS: Final = ("builtins.", "typing.")  # a list may hold its own length, and reading it would not end


def _length_made(tensor: Expression, api: Checker) -> Size:
    """Return the length of a tensor by the type that mypy has given its expression in a constructor."""
    t = stored_type(api, tensor)
    return UNKNOWN if t is None or tensor_parts(t) is None else size_in_frame(length_of_type(t))


def _computed_once(variable: Var, api: Checker) -> int | None:
    """Return the number that a variable is once bound to, as by `n = len(x)` or `n = 2 * config["count"]`."""
    value, scope = steady_value(variable, api)
    is_of_file = scope == checked_file(api).fullname
    is_here = is_of_file or Reading.frame is None or scope == Reading.frame.scope
    is_length = isinstance(value, CallExpr) and getattr(value.callee, "fullname", "") == "builtins.len"
    if value is None or not (is_length or isinstance(value, OpExpr)) or not is_here or variable in _computed_now:
        return None
    _computed_now.add(variable)
    try:
        with within(None if is_of_file else Reading.frame):
            size = _count(value, api)
    finally:
        _computed_now.discard(variable)
    return size if type(size) is int else None


_computed_now: Final[set[Var]] = set()  # variables whose numbers are being computed, which may mention themselves


def _is_of_entry(expression: Expression | None) -> bool:
    """Return whether an expression reads an entry of a dictionary: `options["width"]`, or `options.pop("width")`."""
    match expression:
        case CallExpr(callee=MemberExpr(name="get" | "pop"), args=[StrExpr(), *_]) | IndexExpr(index=StrExpr()):
            return True
    return False


def _result_of(call: CallExpr, api: Checker) -> Value:
    """Return the number that a call returns: the length of a list, or the result of a function of the program."""
    match call:
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[operand]):
            return length_of(operand, api)
        case CallExpr(callee=RefExpr(fullname=name), args=arguments) if name in FUNCTIONS and call.arg_kinds == [
            ARG_POS
        ] * len(arguments):
            return result_of(name, [value_of_expression(one, api) for one in arguments])
    return object_of(call, api)


def _item(display: DictExpr, key: int | str) -> Expression | None:
    """Return the item of a written dict; None if it is not written there."""
    keys = [one.value if isinstance(one, IntExpr | StrExpr) else None for one, _ in display.items]
    return display.items[keys.index(key)][1] if None not in keys and keys.count(key) == 1 else None


def decided(condition: Expression, api: Checker) -> bool | None:
    """Return whether a condition holds in the body that is being read; None if that is not known.

    It is known from the types of variables, such as that one is None, and from numbers and flags, such as
    `config.layers > 1` and `config.bias`.
    """
    match condition:
        case UnaryExpr(op="not", expr=inner):
            is_true = decided(inner, api)
            return None if is_true is None else not is_true
        case OpExpr(op="and" | "or" as sign, left=left, right=right):
            sides = decided(left, api), decided(right, api)
            deciding = sign == "or"  # the value of a side that decides the whole
            return deciding if deciding in sides else None if None in sides else not deciding
        case ComparisonExpr(operators=["is" | "is not" as sign], operands=[left, right]) if (
            _is_none(right) and (value := value_of_expression(left, api)) is not None and not isinstance(value, Held)
        ):
            return isinstance(value, Nothing) == (sign == "is")
        case ComparisonExpr(operators=["==" | "!=" as sign], operands=[left, right]) if isinstance(
            one := object_of(left, api), str
        ) or isinstance(object_of(right, api), str):
            other = value_of_expression(right, api)
            is_known = isinstance(one, str | int | Nothing) and isinstance(other, str | int | Nothing)
            return (key_of(one) == key_of(other)) == (sign == "==") if is_known else None
        case ComparisonExpr(operators=[sign], operands=[left, right]) if sign in _COMPARISONS:
            one, other = _number(left, api), _number(right, api)
            if one is not None and other is not None:
                return bool(_COMPARISONS[sign](one, other))
            return None
        case ComparisonExpr(operators=["in" | "not in" as sign], operands=[item, sequence]) if isinstance(
            items := object_of(sequence, api), Items
        ):
            keys = [key_of(one) for one in (value_of_expression(item, api), *items.values) if is_plain(one)]
            is_known = len(keys) == len(items.values) + 1
            return (keys[0] in keys[1:]) == (sign == "in") if is_known else None
        case CallExpr(callee=NameExpr(fullname="builtins.isinstance"), args=[operand, kind]) if (
            Reading.frame is not None
        ):
            is_true = is_of_class(value_of_expression(operand, api), kind)
            return is_always(api, condition) if is_true is None else is_true
        case NameExpr() | MemberExpr() if (flag := truth_of(value_of_expression(condition, api))) is not None:
            return flag
    return is_always(api, condition)


def _is_none(expression: Expression) -> bool:
    return isinstance(expression, NameExpr) and expression.fullname == "builtins.None"


def _number(expression: Expression, api: Checker) -> float | None:
    """Return the value of a number in the body that is being read."""
    size = _of_types(expression, api)
    value: Value = value_of_expression(expression, api) if is_unknown(size) else size
    return value if isinstance(value, int | float) else None


class _Depth:
    now = 0


def object_of(expression: Expression, api: Checker) -> Value:
    """Return the object that an expression denotes, or the size that a parameter was given; None if unknown."""
    if _Depth.now >= _DEEPEST:
        return None
    _Depth.now += 1
    try:
        found = _newly_found(expression, api)
    finally:
        _Depth.now -= 1
    is_list = isinstance(found, Several | Items | Keywords) and isinstance(expression, NameExpr | MemberExpr)
    if found is None and isinstance(expression, NameExpr):
        return _of_records(expression, api)
    if not is_list or _is_of_run(expression, api) or is_fixed(expression, api):
        return found
    if isinstance(expression, MemberExpr):
        return _of_constructor(expression, api)
    if isinstance(found, Keywords):
        return _changed_before(expression, found, api)
    return _of_records(expression, api) if isinstance(expression, NameExpr) else None


def _of_records(name: NameExpr, api: Checker) -> Several | None:
    """Return the dataclasses or named tuples in a list that `append` fills, with what they have in common.

    None in a body that is read, where a loop may append others than those of the turn that was read last.
    """
    is_list = isinstance(p := get_proper_type(stored_type(api, name)), Instance) and not _is_dict(p)
    items = appended_to(name, api) if Reading.frame is None and is_list else None
    record = None if items is None else common_record([object_of(one, api) for one in items])
    return None if record is None else Several(record, is_filled=False)


def _changed_before(use: Expression, created: Keywords, api: Checker) -> Keywords | None:
    """Return what a dictionary has at a use of it, after what its block has changed; None if that is not certain."""
    changes = changes_before(use, api) if isinstance(use, NameExpr) else None
    found: Keywords | None = None if changes is None else created
    for change in changes or ():
        found = None if found is None else _after_change(found, change, api)
    return None if found is None else Keywords(tuple((name, _unless_shared(value)) for name, value in found.values))


def _unless_shared(value: Value) -> Value:
    """Return a value, but not a collection, which the program may change by another name."""
    return None if isinstance(value, Several | Items | Keywords) else value


def _after_change(before: Keywords, change: Change, api: Checker) -> Keywords | None:
    """Return what a dictionary has after a statement or a call that changes it; None if that is not known."""
    pairs = dict(before.values)
    match change:
        case DelStmt(expr=IndexExpr(index=StrExpr(value=name))) if name in pairs:
            del pairs[name]
        case AssignmentStmt(lvalues=[IndexExpr(index=StrExpr(value=name))], rvalue=value):
            pairs[name] = value_of_expression(value, api)
        case CallExpr(callee=MemberExpr(name="pop"), args=[StrExpr(value=name), *default]) if name in pairs or default:
            pairs.pop(name, None)
        case CallExpr(callee=MemberExpr(name="setdefault"), args=[StrExpr(value=name), default]):
            if name not in pairs:
                pairs[name] = value_of_expression(default, api)
        case CallExpr(callee=MemberExpr(name="update")) if (others := _given_entries(change, api)) is not None:
            pairs |= others.values
        case _:
            return None
    return Keywords((*pairs.items(),))


def _given_entries(call: CallExpr, api: Checker) -> Keywords | None:
    """Return the entries that a call such as `options.update(others, width=8)` gives; None if some are not known."""
    pairs: dict[str, Value] = {}
    for expression, name in zip(call.args, call.arg_names, strict=True):
        value = value_of_expression(expression, api)
        if name is None and not isinstance(value, Keywords):
            return None
        pairs |= value.values if name is None and isinstance(value, Keywords) else {name or "": value}
    return Keywords((*pairs.items(),))


def _is_of_run(expression: Expression, api: Checker) -> bool:
    """Return whether a value is one of the statements that are run, which change it as the program does."""
    frame = Reading.frame
    match expression:
        case NameExpr(node=Var() as variable):
            return variable in Reading.bound or (frame is not None and variable in frame.variables)
        case MemberExpr(expr=NameExpr(node=owner)):
            return frame is not None and frame.attributes is not None and method_of_receiver(owner, api) is not None
    return False


def _newly_found(expression: Expression, api: Checker) -> Value:
    match expression:
        case NameExpr(node=TypeInfo() as info) | MemberExpr(node=TypeInfo() as info):
            return ClassOf(info)
        case NameExpr(node=Var() as variable):
            return Reading.bound[variable] if variable in Reading.bound else _of_variable(variable, api)
        case MemberExpr(expr=RefExpr(node=MypyFile()), node=Var() as variable):
            return _of_variable(variable, api)
        case MemberExpr(expr=owner, name="shape") if (sizes := _sizes_of(owner, api)) is not None:
            return sizes
        case MemberExpr(expr=owner, name=name):
            value = _of_attribute(owner, name, api)
            after = _of_constructor(expression, api) if has_unknown_part(value) else None
            return value if after is None else after
        case CallExpr(analyzed=None):
            return _of_call(expression, api)
        case CallExpr(analyzed=DictExpr() as display):  # dict(width=8)
            return _newly_found(display, api)
        case IndexExpr(base=base, index=index):
            return _of_index(base, index, api)
        case StrExpr(value=text):
            return text
        case ListExpr(items=items) | TupleExpr(items=items):
            return _items(items, api)
        case DictExpr(items=pairs) if all(key is None or isinstance(key, StrExpr) for key, _ in pairs):
            return _displayed(pairs, api)
        case DictExpr(items=[_, *_] as pairs) if all(key is not None for key, _ in pairs):
            return _all_alike([value for _, value in pairs], api)
        case ListComprehension(generator=GeneratorExpr() as generator) | (GeneratorExpr() as generator):
            return _comprehended(generator, api)
        case OpExpr(op="+", left=left, right=right) if isinstance(first := object_of(left, api), Items):
            second = object_of(right, api)
            return known_items([*first.values, *second.values]) if isinstance(second, Items) else None
        case OpExpr(op="*", left=left, right=right) if isinstance(items := object_of(left, api), Items):
            return _repeated(items, right, api)
        case OpExpr(op="*", left=left, right=right) if isinstance(items := object_of(right, api), Items):
            return _repeated(items, left, api)
        case OpExpr(op="|", left=left, right=right) if isinstance(entries := object_of(left, api), Keywords):
            others = object_of(right, api)
            return (
                Keywords((*(dict(entries.values) | dict(others.values)).items(),))
                if isinstance(others, Keywords)
                else None
            )
        case DictionaryComprehension(key=key, value=value, indices=[target], sequences=[sequence], condlists=[tests]):
            return _comprehended_entries(key, value, turns(target, sequence, api), tests, api)
    return None


def _repeated(items: Items, times: Expression, api: Checker) -> Items | None:
    count = _count(times, api)
    is_known = isinstance(count, int) and len(items.values) * count <= MOST_ITEMS
    return Items(items.values * count) if is_known else None


def type_read(expression: Expression, api: Checker) -> Type | None:
    """Return the type of an expression, in the body that is read if there is one; None if it is not known there."""
    if Reading.frame is None:
        return stored_type(api, expression)
    return types_in_body(api).get(expression) if BodiesRead.depth else None


def _sizes_of(tensor: Expression, api: Checker) -> Items | None:
    """Return the sizes of a tensor, each None if it is not known; None if their number is not known."""
    t = type_read(tensor, api)
    parts = tensor_parts(t) if t is not None else None
    items = shape_items(parts.shape) if parts is not None else None
    sizes = [one for one in items or () if not isinstance(one, Many)]
    if items is None or len(sizes) < len(items):
        return None
    return Items((*(None if is_unknown(one) else one for one in sizes),))


def _items_of(sequence: Expression, api: Checker) -> Items | None:
    """Return the items of a sequence that is copied, as by `list(range(3))`; None if their number is not known."""
    count = length_of(sequence, api)
    if count is None or count > MOST_ITEMS:
        return None
    return known_items([_item_of(sequence, index, api) for index in range(count)])


def _displayed(pairs: list[tuple[Expression | None, Expression]], api: Checker) -> Keywords | None:
    """Return the entries of a written dictionary, such as `{**options, "width": 8}`; None if none is known."""
    entries: dict[str, Value] = {}
    for key, expression in pairs:
        value = value_of_expression(expression, api)
        if isinstance(key, StrExpr):
            entries[key.value] = value
        elif isinstance(value, Keywords):
            entries |= value.values
        else:
            return None
    is_known = not entries or any(one is not None for one in entries.values())
    return Keywords((*entries.items(),)) if is_known else None


def _comprehended_entries(
    key: Expression | None,
    value: Expression,
    several: list[dict[Node, Value]] | None,
    tests: list[Expression],
    api: Checker,
) -> Keywords | None:
    """Return the entries of a comprehension such as `{name: 2 * n for name, n in sizes.items()}`."""
    entries: dict[str, Value] = {}
    for turn in several or ():
        with binding(turn):
            are_met = [decided(one, api) for one in tests]
            if None in are_met:
                return None
            name = object_of(key, api) if all(are_met) and key is not None else None
            if isinstance(name, str):
                entries[name] = value_of_expression(value, api)
            elif all(are_met):
                return None
    return None if several is None else Keywords((*entries.items(),))


def _named_entries(call: CallExpr, api: Checker) -> Keywords | None:
    """Return the entries of a dictionary that a call such as `Sizes(width=8)` makes; None if it has other arguments."""
    named = [(name, value_of_expression(value, api)) for name, value in zip(call.arg_names, call.args, strict=True)]
    entries = [(name, value) for name, value in named if name is not None]
    return Keywords((*entries,)) if len(entries) == len(named) else None


def _comprehended(generator: GeneratorExpr, api: Checker) -> Value:
    match generator:
        case GeneratorExpr(left_expr=item, indices=[target], sequences=[sequence], condlists=[[]]):
            several = turns(target, sequence, api)
            if several is None:
                made = Reading.frame.made if Reading.frame is not None else None
                count = len(made or ())
                one = object_of(item, api)
                if made is not None:
                    del made[count:]  # there may be no item
                return None if one is None else Several(one, has_items(sequence, api))
            is_same = not any(
                isinstance(one, NameExpr) and one.node in turn for turn in several for one in inside(item)
            )
            values: list[Value] = []
            for turn in several:
                with binding(turn):
                    values.append(values[0] if is_same and values else value_of_expression(item, api))
            return known_items(values)
    return None


def _of_index(base: Expression, index: Expression, api: Checker) -> Value:
    match object_of(base, api):
        case Keywords(values=pairs):
            key = object_of(index, api)
            values = [value for name, value in pairs if name == key or not isinstance(key, str)]
            return values[0] if values and len({*map(key_of, values)}) == 1 else None
        case Several(item=item):
            return Several(item, is_filled=False) if isinstance(index, SliceExpr) else item
        case Items(values=values) if isinstance(index, SliceExpr):
            bounds = bounds_of(index)
            return None if bounds is None else Items(values[bounds])
        case Items() as items if isinstance(position := steady_size(index, api), int):
            return item_at(items, position)
        case Items(values=values):
            return common_object(values)
        case Layers(items=layers) if isinstance(position := steady_size(index, api), int) and are_single(layers):
            return item_at(Items(layers), position)
    return None


def _items(items: list[Expression], api: Checker) -> Items | None:
    """Return the items of a written list or tuple; None if none of them is known."""
    values: list[Value] = []
    for item in items if len(items) <= MOST_ITEMS else ():
        if not isinstance(item, StarExpr):
            values.append(value_of_expression(item, api))
            continue
        several = object_of(item.expr, api)
        if not isinstance(several, Items):
            return None
        values += several.values
    return known_items(values) if len(values) >= len(items) - sum(isinstance(one, StarExpr) for one in items) else None


def _steady_item(sequence: Expression, index: int, api: Checker) -> Size:
    items = object_of(sequence, api) if isinstance(sequence, NameExpr | MemberExpr) else None
    size = item_at(items, index) if isinstance(items, Items) else None
    return size if isinstance(size, int | Dim) else size_of_item(sequence, index, api, _STEADY)


_STEADY: Final = Finder(steady_size, _steady_item)


def length_of(sequence: Expression, api: Checker) -> int | None:
    """Return how many items a sequence has; None if that is not known."""
    match sequence:
        case ListExpr(items=items) | TupleExpr(items=items):
            return None if any(isinstance(one, StarExpr) for one in items) else len(items)
        case (
            ListComprehension(generator=GeneratorExpr(sequences=[of], condlists=[[]]))
            | GeneratorExpr(sequences=[of], condlists=[[]])
        ):
            return length_of(of, api)
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
        case CallExpr(callee=MemberExpr(expr=of, name="items" | "keys" | "values"), args=[]):
            return len(pairs.values) if isinstance(pairs := object_of(of, api), Keywords) else None
        case IndexExpr(base=of, index=SliceExpr() as part):
            length, bounds = length_of(of, api), bounds_of(part)
            return None if length is None or bounds is None else len(range(length)[bounds])
        case NameExpr() | MemberExpr() | OpExpr() | IndexExpr() | StrExpr():
            match object_of(sequence, api):
                case str() as text:
                    return len(text)
                case Items(values=values) | Keywords(values=values):
                    return len(values)
                case Layers(items=layers) if are_single(layers):
                    return len(layers)
                case GivenTensor(t=given) if isinstance(length := length_of_type(given), int):
                    return length
    t = get_proper_type(stored_type(api, sequence))
    count = length_of_type(t) if isinstance(t, TupleType) else UNKNOWN
    return count if isinstance(count, int) else None


def _range(call: CallExpr, api: Checker) -> range | None:
    """Return the numbers of `range(...)`; None if they are not known."""
    return range_of([steady_size(one, api) for one in call.args])


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
            pairs = object_of(of, api)
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
            pairs = object_of(of, api)
            return pairs.values[index][1] if isinstance(pairs, Keywords) else None
        case CallExpr(callee=MemberExpr(expr=of, name="keys"), args=[]):
            return _item_of(of, index, api)
    match object_of(sequence, api):
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


def _of_call(call: CallExpr, api: Checker) -> Value:
    results = Reading.frame.results if Reading.frame is not None else None
    if results and (call,) in results:
        return results[call,]
    if (plain := plain_call(call, api)) is not None:
        return _of_call(plain, api)
    if (copied := _copied(call, api)) is not None:
        return copied
    match call.callee:
        case RefExpr(fullname=name) if name in DRAWING and (records := _drawn(name, call, api)) is not None:
            return records
        case RefExpr(fullname="builtins.list" | "builtins.tuple") if len(call.args) == 1:
            return _items_of(call.args[0], api)
        case RefExpr(fullname="builtins.reversed") if len(call.args) == 1:
            return _items_of(call, api)
        case NameExpr(node=TypeInfo() as info) | MemberExpr(node=TypeInfo() as info):
            return _created(info, call, api)
        case (NameExpr(node=Var()) | IndexExpr()) as chosen if isinstance(of := object_of(chosen, api), ClassOf):
            return _created(of.info, call, api)
        case MemberExpr(expr=holder, name="get" | "pop") if isinstance(of := object_of(holder, api), Keywords):
            return _of_key(of, call, api)
        case RefExpr(fullname=name) if name in PARSERS and call.arg_kinds == [ARG_POS]:
            text = object_of(call.args[0], api)
            return value_of_text(name, text) if isinstance(text, str) else None
        case RefExpr(fullname="copy.deepcopy") if call.arg_kinds == [ARG_POS]:
            of = object_of(call.args[0], api)
            return of if isinstance(of, Made) and of.info.get("__deepcopy__") is None else None
        case RefExpr(fullname="dataclasses.asdict") if call.arg_kinds == [ARG_POS]:
            return _as_dictionary(object_of(call.args[0], api))
        case RefExpr(fullname="builtins.vars") if call.arg_kinds == [ARG_POS]:
            of = object_of(call.args[0], api)
            return Keywords(of.arguments) if isinstance(of, Made) and of.constructor == NAMESPACE else None
        case MemberExpr(name=name) if name in (*PARSE, *PARSE_KNOWN) and (parsed := _parsed(call, api)) is not None:
            return parsed if name in PARSE else Items((parsed, None))
    if (replaced := _replaced(call, api)) is not None:
        return replaced
    called = called_function(call.callee, api)
    value = None if called is None else _returned(*called, call, api)
    record = Records.returned(call, None, api) if value is None or isinstance(value, Made) else None
    return value if record is None else _with_fields(record, value if isinstance(value, Made) else None)


def _drawn(function: str, call: CallExpr, api: Checker) -> Made | Several | None:
    """Return what `random.choice(steps)` or `sorted(steps)` returns of a list of dataclasses or named tuples."""
    record = record_in(call.args[0], api) if call.arg_kinds[:1] == [ARG_POS] else None
    return record if record is None or function == "random.choice" else Several(record, is_filled=False)


def record_in(sequence: Expression, api: Checker) -> Made | None:
    """Return what the dataclasses or named tuples in a list have in common; None if it has others, or if none is known.

    Args:
        sequence: The list.
        api: mypy's checker.
    """
    of = object_of(sequence, api)
    return common_record(of.values if isinstance(of, Items) else [of.item if isinstance(of, Several) else None])


def _with_fields(record: Made, value: Made | None) -> Made:
    """Return a dataclass with the tensors in its fields, and with the rest of what its call says."""
    others = {} if value is None or value.info is not record.info else dict(value.arguments)
    return record._replace(arguments=(*(others | dict(record.arguments)).items(),))


def _created(info: TypeInfo, call: CallExpr, api: Checker) -> Value:
    """Return the layer, the object or the dictionary that a call of a class makes."""
    if info.typeddict_type is not None:
        return _named_entries(call, api)
    value = _layer(info, call, api) if info.fullname.startswith(LAYERS) else _made(info, call, api)
    if isinstance(value, Made) and key_of(value) in _Constructed.failed:
        return None
    if Reading.frame is not None and Reading.frame.made is not None and isinstance(value, Made | LayerCall):
        Reading.frame.made.append(Creation(value, call, checked_file(api)))
    return value


def _copied(call: CallExpr, api: Checker) -> Keywords | None:
    """Return the dictionary that `dict(options, width=8)`, `options.copy()` or `copy.copy(options)` makes."""
    match call.callee:
        case RefExpr(fullname="builtins.dict" | "copy.copy"):
            return _given_entries(call, api)
        case MemberExpr(expr=holder) if not call.args and isinstance(of := object_of(holder, api), Keywords):
            return Keywords(of.values)
    return None


def _of_key(keywords: Keywords, call: CallExpr, api: Checker) -> Value:
    """Return what `options.get("width", 8)`, or `pop`, returns."""
    match call.args:
        case [StrExpr(value=name)] if name in dict(keywords.values):
            return dict(keywords.values)[name]
        case [StrExpr(value=name), default]:
            values = dict(keywords.values)
            return values[name] if name in values else value_of_expression(default, api)
    return None


def _as_dictionary(of: Value) -> Keywords | None:
    """Return the dictionary that `asdict` makes of a data class, with None for a field that may have changed."""
    if not isinstance(of, Made) or of.constructor != of.info.fullname or "dataclass" not in of.info.metadata:
        return None
    known = {name: _as_dictionary(value) if isinstance(value, Made) else value for name, value in of.arguments}
    fields = [one["name"] for one in of.info.metadata["dataclass"]["attributes"] if not one["is_init_var"]]
    return Keywords(tuple((name, known.get(name)) for name in fields))


def _replaced(call: CallExpr, api: Checker) -> Made | None:
    """Return the object with other values of some fields that `dataclasses.replace`, or `_replace`, makes."""
    match call:
        case CallExpr(callee=RefExpr(fullname="dataclasses.replace"), args=[of, *given], arg_kinds=[first, *kinds]):
            names = call.arg_names[1:]
            is_plain = first is ARG_POS
        case CallExpr(callee=MemberExpr(expr=of, name="_replace"), args=given, arg_kinds=kinds):
            names, is_plain = call.arg_names, True
        case _:
            return None
    made = object_of(of, api) if is_plain and {*kinds} <= {ARG_NAMED} else None
    if not isinstance(made, Made) or made.constructor != made.info.fullname:
        return None
    values = {name: value_of_expression(value, api) for name, value in zip(names, given, strict=True)}
    fields = tuple((name, values.get(name, value)) for name, value in made.arguments)
    return _after_init(made._replace(arguments=fields), api)


def object_with_method(callee: Expression, function: FuncDef, api: Checker) -> Made | ClassOf | None:
    """Return the object or the class, of which a function that is called is a method; None if it is not known."""
    match callee:
        case SuperExpr(name=name, info=TypeInfo() as info):
            made = Reading.frame.receiver if Reading.frame is not None else None
            later = made.info.mro[made.info.mro.index(info) + 1 :] if made is not None and info in made.info.mro else []
            symbol = next((base.names[name] for base in later if name in base.names), None)
            return made if symbol is not None and symbol.node is function else None
        case MemberExpr(expr=RefExpr(node=TypeInfo() as info)):
            of: Value = ClassOf(info)
        case MemberExpr(expr=owner, name=name) if name == function.name:
            of = object_of(owner, api)
        case _:
            of = object_of(callee, api)
    return of if isinstance(of, Made | ClassOf) and is_method(of, function) else None


def called_function(callee: Expression, api: Checker) -> tuple[FuncDef, Made | ClassOf | None] | None:
    """Return the function that a call calls, and the object or the class of which it is a method; None if unknown."""
    match callee:
        case RefExpr(node=FuncDef() as function) if not function.info:
            return function, None
        case MemberExpr(expr=RefExpr(node=TypeInfo() as info), name=name):
            return method_of(ClassOf(info), name)
        case MemberExpr(expr=NameExpr() | MemberExpr() | CallExpr() as owner, name=name):
            of = object_of(owner, api)
            return method_of(of, name) if isinstance(of, Made | ClassOf) else None
    return None


def _returned(function: FuncDef, of: Made | ClassOf | None, call: CallExpr, api: Checker) -> Value:
    """Return what a call of a function of the program returns, if the call decides it."""
    around = Reading.frame
    # A method of an object that is being made may change it, so it runs once, in the order of the statements.
    is_own = around is not None and around.attributes is not None and isinstance(of, Made) and of is around.receiver
    if function in _called_now or not (is_own or may_return_object(function)):
        return None
    results = around.results if around is not None and around.results is not None else {}
    key = call, *((variable, key_of(value)) for variable, value in Reading.bound.items())
    if key in results:
        return results[key]
    results[key] = _newly_returned(
        function, of, call, api, around.attributes if around is not None and is_own else None
    )
    return results[key]


def _newly_returned(
    function: FuncDef, of: Made | ClassOf | None, call: CallExpr, api: Checker, attributes: dict[str, Value] | None
) -> Value:
    written, file = written_with_file(function, api)
    is_read = (
        written is not None and file is not None and is_defined_once(written, file) and not is_changed(written, api)
    )
    if written is None or file is None or not is_read or written.is_generator or written.is_coroutine:
        arguments = None
    else:
        arguments = arguments_of_call(written, call, api)
    if written is None or file is None or arguments is None:
        for name in attributes or ():  # which the method may have changed
            attributes[name] = None  # type: ignore[index]  # there are some
        return None
    receiver = of if isinstance(of, Made) else None
    before = None if attributes is None else dict(attributes)
    variables, around = parameter_values(written, arguments), Reading.frame
    made = around.made if around is not None else None
    frame = Frame(written.fullname, dict(arguments), receiver, variables, attributes, made=made)
    if isinstance(of, ClassOf):
        frame.variables[written.arguments[0].variable] = of
    run = Run(frame, api, _EVALUATOR)
    _called_now.add(function)
    try:
        with in_file(file, api):
            goes_on = run.run(written.body.body)
    finally:
        _called_now.discard(function)
    values = [*run.returned, *([Nothing()] if goes_on else [])]
    value = values[0] if len({key_of(one) for one in values}) == 1 else None
    is_layer = returned_class(function) is not None and not isinstance(value, Made)
    fresh = Frame(written.fullname, dict(arguments), receiver, {}, before)
    if isinstance(of, ClassOf):
        fresh.variables[written.arguments[0].variable] = of
    return Returned(written, fresh, file, value) if is_layer else value


_called_now: Final[set[FuncDef]] = set()  # functions whose results are being read: they may call themselves


def _all_alike(items: list[Expression], api: Checker) -> Several | None:
    """Return several objects, if all items are the same."""
    item = object_of(items[0], api)
    is_alike = item is not None and all(key_of(object_of(one, api)) == key_of(item) for one in items[1:])
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
            return unknown_elements(target) | element(inner, object_of(of, api))
        case NameExpr(), CallExpr(callee=MemberExpr(expr=of, name="values"), args=[]):
            return element(target, object_of(of, api))
        case NameExpr(), CallExpr(callee=RefExpr(fullname=name), args=[of, *_]) if name in _SAME_ITEMS:
            return elements(target, of, api)
        case NameExpr(), NameExpr() | MemberExpr() | IndexExpr() | ListExpr() | TupleExpr() | ListComprehension():
            is_dict = isinstance(p := get_proper_type(stored_type(api, sequence)), Instance) and _is_dict(p)
            return element(target, None if is_dict else object_of(sequence, api))
    return unknown_elements(target)


def _is_dict(t: Instance) -> bool:
    return t.type.has_base("typing.Mapping")


_AVERAGE: Final = "tapegrad.nn.average.ModelEMA"  # whose attribute `model` is a copy of the model it is created with
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
            return bool(range_of([_count(one, api) for one in bounds]))
        case ListExpr(items=[_, *_]):
            return True
        case CallExpr(callee=MemberExpr(expr=of, name="items" | "values"), args=[]):
            return has_items(of, api)
        case CallExpr(callee=RefExpr(fullname="tapegrad.data.batches.batches")):
            return True  # which rejects fewer rows than a batch has
        case CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several, arg_kinds=kinds):
            return all(has_items(one, api) for one, kind in zip(several, kinds, strict=True) if kind is not ARG_NAMED)
        case CallExpr(callee=RefExpr(fullname=name), args=[of, *_]) if name in _KEEPING_ITEMS:
            return has_items(of, api)
        case NameExpr(node=Var() as variable) if isinstance(batches := steady_value(variable, api)[0], CallExpr):
            if getattr(batches.callee, "fullname", "") == "tapegrad.data.batches.batches":
                return True
    several = object_of(sequence, api)
    return (
        bool(several.values)
        if isinstance(several, Items | Keywords)
        else isinstance(several, Several) and several.is_filled
    )


def _count(expression: Expression, api: Checker) -> Size:
    """Return a size that an expression has where it stands, also the length of a tensor and an axis of its shape."""
    if isinstance(expression, OpExpr) and expression.op in ARITHMETIC:
        return ARITHMETIC[expression.op](_count(expression.left, api), _count(expression.right, api))
    size = _of_types(expression, api)
    return steady_size(expression, api) if is_unknown(size) else size


def _of_types(expression: Expression, api: Checker) -> Size:
    """Return the size of an expression by its type, or by that of a tensor in it, such as `len(x)` or `x.ndim`."""
    match expression:
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[operand]):
            return length_of_type(stored_type(api, operand) or unknown())
        case MemberExpr(expr=operand, name="ndim") if (of := stored_type(api, operand)) and tensor_parts(
            of
        ) is not None:
            return count_in_type(of, "ndim")
    return size_of(stored_type(api, expression) or unknown())


def _of_variable(variable: Var, api: Checker) -> Value:
    frame = Reading.frame
    if frame is not None:
        if variable in frame.variables:
            return frame.variables[variable]
        method = method_of_receiver(variable, api)
        if method is not None:
            return frame.receiver if method.info in _bases(frame.receiver) else None
    value, scope = steady_value(variable, api)
    if frame is not None and scope and scope == frame.outer:
        with within(frame.around):
            return _of_variable(variable, api)
    if value is None and (loop := loop_of(variable, api)) is not None:
        return _of_loop(variable, loop, api)
    if frame is not None and scope == frame.scope and variable.name in frame.values:
        return frame.values[variable.name]
    if value is None and (unpacked := unpacked_from(variable, api)) is not None:
        if frame is not None and unpacked[2] != frame.scope:
            return None
        several, position, _ = unpacked
        items = object_of(several, api)
        item = item_at(items, position) if isinstance(items, Items) else None
        may_be_record = item is None or isinstance(item, Made)
        record = Records.returned(several, position, api) if may_be_record and isinstance(several, CallExpr) else None
        return item if record is None else _with_fields(record, item if isinstance(item, Made) else None)
    if value is None and (turn := unpacked_in_loop(variable, api)) is not None:
        is_here = frame is None or turn[2] == frame.scope
        return _unpacked_at_each_turn(turn[0], turn[1], api) if isinstance(turn[0], CallExpr) and is_here else None
    if value is None and (written := made_in_loop(variable, api)) is not None:
        if frame is not None and variable.fullname != variable.name:
            return None
        # With the arguments that are the same at each turn: what is read may use the object of the one before.
        with within(None if frame is None else frame._replace(variables={})):
            made = object_of(written, api)
        return made if isinstance(made, Made) or isinstance(written, ListComprehension) else None
    if value is None:
        return _of_other_module(variable, api)
    if scope == checked_file(api).fullname:
        with within(None):
            return object_of(value, api)
    return object_of(value, api) if frame is None or scope == frame.scope else None


def _unpacked_at_each_turn(call: CallExpr, position: int, api: Checker) -> Made | None:
    """Return the object that a call in a loop returns in a tuple, with the arguments that are the same at each turn."""
    record = Records.returned(call, position, api)
    if record is not None:
        return record
    frame = Reading.frame
    with within(None if frame is None else frame._replace(variables={})):
        items = object_of(call, api)
    made = item_at(items, position) if isinstance(items, Items) else None
    return made if isinstance(made, Made) else None


def _of_other_module(variable: Var, api: Checker) -> Value:
    """Return the object that a variable of another module denotes."""
    known = module_value(variable, api)
    if known is None:
        return None
    with in_module(known, api):
        return object_of(known.value, api)


def _of_loop(variable: Var, loop: Loop, api: Checker) -> Value:
    """Return the object that a comprehension, or the only loop with a variable, binds it to."""
    if loop.scope == checked_file(api).fullname:
        with within(None):
            return elements(loop.target, loop.sequence, api).get(variable)
    is_inside = Reading.frame is None or loop.scope == Reading.frame.scope
    return elements(loop.target, loop.sequence, api).get(variable) if is_inside else None


def _bases(made: Made | None) -> list[TypeInfo]:
    return made.info.mro if made is not None else []


def _of_attribute(owner: Expression, name: str, api: Checker) -> Value:
    method = method_of_receiver(owner.node, api) if isinstance(owner, NameExpr) else None
    if method is not None and Reading.frame is None:
        value, _ = constructor_value(method.info, name, api)
        return None if value is None else object_of(value, api)
    made = object_of(owner, api)
    if isinstance(made, ClassOf):
        return _of_class(made.info, name, api)
    if isinstance(made, Layers) and made.info.fullname == _AVERAGE and name == "model":
        return made.items[0]
    if not isinstance(made, Made):
        return None
    frame = Reading.frame
    if method is not None and frame is not None and frame.attributes is not None and name in frame.attributes:
        return frame.attributes[name]
    symbol = made.info.get(name)
    if symbol is not None and isinstance(symbol.node, Decorator) and symbol.node.var.is_property:
        return _of_property(made, symbol.node.func, api)
    if symbol is not None and not isinstance(symbol.node, Var):
        return None
    if method is not None and frame is not None and frame.attributes is not None:
        return _of_class(made.info, name, api)
    if made.constructor == made.info.fullname:
        conditions = conditions_around(owner, api) if made.constructor == NAMESPACE else ()
        is_run = all(decided(condition, api) is holds for condition, holds in conditions)
        return dict(made.arguments).get(name) if is_run else None
    value = from_constructor(made, name, value_of_expression, api)
    if value is not None:
        return value
    return _of_class(made.info, name, api)


def from_constructor(made: Made, name: str, read: Callable[[Expression, Checker], T], api: Checker) -> T | None:
    """Read the expression that the constructor of an object assigns to an attribute; None if any other may be."""
    for constructor in (made.constructor, *dict(made.inherited)):
        home = home_of_constructor(made.info, constructor, api)
        if home is None or is_written_elsewhere(made.info, name, home, api):
            continue
        with in_file(home, api):
            value, scope = constructor_value(made.info, name, api)
            if value is None or scope != constructor:
                continue
            with within(constructor_frame(made, constructor)):
                return read(value, api)
    return None


def _of_class(info: TypeInfo, name: str, api: Checker) -> Value:
    """Return the value of a constant of exactly this class."""
    value, home = class_constant(info, name, api)
    if value is None or home is None:
        return None
    with in_file(home, api), within(None):
        return value_of_expression(value, api)


def _of_constructor(attribute: MemberExpr, api: Checker) -> Value:
    """Return the value that an attribute has after all statements of the constructor, if nothing changes it later."""
    made = object_of(attribute.expr, api)
    if not isinstance(made, Made) or made.constructor == made.info.fullname:
        return None
    symbol = made.info.get(attribute.name)
    if symbol is None or not isinstance(symbol.node, Var):
        return None
    frame = Reading.frame
    if frame is not None and any(frame.scope == one.fullname for one in set_up_methods(checked_file(api))):
        return None  # there it may still have another value
    value = _construction_of(made, api).attributes.get(attribute.name)
    as_list = isinstance(value, Several | Items | Keywords)
    return value if value is not None and is_set_up(made.info, attribute.name, api, as_list=as_list) else None


class _Construction(NamedTuple):
    """What the constructor of an object does.

    Attributes:
        attributes: The values that the attributes have after it.
        created: The layers and objects that it surely makes, one after the other.
        computed: The sizes that it computes, by the names of variables, and of attributes such as `self.width`.
    """

    attributes: Mapping[str, Value] = MappingProxyType({})
    created: Sequence[Creation] = ()
    computed: Mapping[str, Size] = MappingProxyType({})


def _construction_of(made: Made, api: Checker) -> _Construction:
    now = (api, pass_of(api))
    if _Constructed.read_in != now or len(_Constructed.objects) >= _MOST_OBJECTS:
        _Constructed.objects.clear()
        _Constructed.failed.clear()
        _Constructed.read_in = now
    key = key_of(made)
    if key in _Constructed.active or made.constructor == made.info.fullname:  # a dataclass has its arguments
        return _Construction()
    if key not in _Constructed.objects:
        _Constructed.active.add(key)
        try:
            _Constructed.objects[key] = _newly_constructed(made, api)
        finally:
            _Constructed.active.discard(key)
    return _Constructed.objects[key]


def _newly_constructed(made: Made, api: Checker) -> _Construction:
    attributes: dict[str, Value] = {}
    created: list[Creation | None] = []
    function = constructor_of(made.info)
    variables = None if function is None else _run_constructor(function, made, made.arguments, attributes, created, api)
    if variables is None:
        return _Construction()
    values = {one.name: value for one, value in variables.items() if isinstance(one, Var)}
    values |= {f"self.{name}": value for name, value in attributes.items()}
    computed = {name: value for name, value in values.items() if isinstance(value, int | Dim)}
    certain = [one for one in takewhile(bool, created) if one is not None]
    return _Construction(attributes, certain, computed)


def created_by(made: Made, api: Checker) -> Sequence[Creation]:
    """Return the layers and objects that the constructor of an object surely makes, one after the other."""
    return _construction_of(made, api).created


def computed_by(made: Made, api: Checker) -> Mapping[str, Size]:
    """Return the sizes that the constructor of an object computes, by the names of variables and attributes."""
    return _construction_of(made, api).computed


def mark_failed(made: Made) -> None:
    """Make an object unknown whose constructor fails, so that nothing else is said of it."""
    _Constructed.failed.add(key_of(made))


class _Constructed:
    """The objects whose constructors were run."""

    read_in: ClassVar[tuple[object, int]] = (None, -1)
    objects: ClassVar[dict[Hashable, _Construction]] = {}
    failed: ClassVar[set[Hashable]] = set()
    active: ClassVar[set[Hashable]] = set()


def _run_constructor(
    function: FuncDef,
    made: Made,
    arguments: tuple[tuple[str, Value], ...],
    attributes: dict[str, Value],
    created: list[Creation | None] | None,
    api: Checker,
) -> dict[Node, Value] | None:
    """Run a constructor, which adds to the attributes and to what is made; return its variables, None if not read."""
    written, file = written_with_file(function, api)
    if written is None or file is None or is_changed(written, api):
        return None
    variables = parameter_values(written, arguments)
    frame = Frame(written.fullname, dict(arguments), made, variables, attributes, made=created)
    with in_file(file, api):
        Run(frame, api, _EVALUATOR).run(written.body.body)
    return variables


def _run_inherited(call: CallExpr, api: Checker) -> bool:
    """Run the constructor that a call of `super().__init__` in a constructor calls; return whether it can be read."""
    frame = Reading.frame
    if frame is None or frame.receiver is None or frame.attributes is None or not calls_constructor(call):
        return False
    made = frame.receiver
    of = next((base for base in made.info.mro if frame.scope == f"{base.fullname}.__init__"), None)
    later = made.info.mro[made.info.mro.index(of) + 1 :] if of is not None else []
    base = next((one for one in later if "__init__" in one.names), None)
    if base is None or base.fullname in _WITHOUT_ARGUMENTS:
        return base is not None
    function = base.names["__init__"].node
    written = written_with_file(function, api)[0] if isinstance(function, FuncDef) else None
    arguments = None if written is None else arguments_of_call(written, call, api)
    if written is None or arguments is None or not isinstance(function, FuncDef):
        return False
    return _run_constructor(function, made, arguments, frame.attributes, frame.made, api) is not None


_EVALUATOR: Final = Evaluator(value_of_expression, decided, turns, _run_inherited)


def computed_value(of: Made | ClassOf, name: str, api: Checker) -> Value:
    """Return the value of a property of an object, or of a constant of a class, by its name; None if not known."""
    if isinstance(of, ClassOf):
        return _of_class(of.info, name, api)
    symbol = of.info.get(name)
    getter = symbol.node.func if symbol is not None and isinstance(symbol.node, Decorator) else None
    return _of_property(of, getter, api) if getter is not None and getter.is_property else None


def object_frame(made: Made | None, api: Checker) -> Frame:
    """Return the frame in which the statements of an object are read after its constructor."""
    computed = {} if made is None else computed_by(made, api)
    return Frame("", {}, made, {}, computed=computed, computed_value=partial(computed_value, api=api))


def _of_property(made: Made, getter: FuncDef, api: Checker) -> Value:
    """Return the value of a property whose body is a `return` statement, perhaps after a docstring."""
    body, home = body_of_getter(getter, api)
    match body:
        case [ReturnStmt(expr=value)] | [ExpressionStmt(expr=StrExpr()), ReturnStmt(expr=value)] if value and home:
            with in_file(home, api), within(Frame(getter.fullname, {}, made, {})):
                return value_of_expression(value, api)
    return None


def _layer(info: TypeInfo, call: CallExpr, api: Checker) -> Layers | LayerCall | None:
    """Return a layer of tapegrad: a container with layers as arguments, one by one or as a list, or any other layer."""
    if not any(base.fullname == MODULE for base in info.mro):
        return None
    if info.fullname == _AVERAGE and call.arg_kinds[:1] == [ARG_POS]:
        model = object_of(call.args[0], api)
        return Layers(info, (model,)) if isinstance(model, Made) else None
    if {*call.arg_kinds} <= {ARG_POS, ARG_STAR}:
        items: list[Value] = []
        for argument, kind in zip(call.args, call.arg_kinds, strict=True):
            value = object_of(argument, api)
            items += value.values if kind is ARG_STAR and isinstance(value, Items) else [value]
        if any(isinstance(one, Made | Several | Layers | LayerCall | Returned) for one in items):
            return Layers(info, (*items,), has_lists=ARG_STAR in call.arg_kinds)
    arguments: list[tuple[Type, ArgKind, str | None]] = []
    for expression, kind, name in zip(call.args, call.arg_kinds, call.arg_names, strict=True):
        if kind in (ARG_STAR, ARG_STAR2):
            several = _starred(expression, kind, api)
            if several is None:
                return None
            plain = ARG_POS if kind is ARG_STAR else ARG_NAMED
            arguments += [(type_of_value(value, api), plain, keyword) for keyword, value in several]
        else:
            is_size = _takes_size(info, name if kind is ARG_NAMED else len(arguments))
            arguments.append((_type_of_argument(expression, api, is_size=is_size), kind, name))
    if any(name == "dtype" and isinstance(get_proper_type(t), AnyType) for t, _, name in arguments):
        return None  # the call would have the dtype that is the default
    types, kinds, names = zip(*arguments, strict=True) if arguments else ((), (), ())
    return LayerCall(info, types, kinds, names)


def _starred(expression: Expression, kind: ArgKind, api: Checker) -> list[tuple[str | None, Value]] | None:
    """Return the arguments that `*items` or `**options` gives, with their names; None if they are not known."""
    match object_of(expression, api):
        case Items(values=values) if kind is ARG_STAR:
            return [(None, value) for value in values]
        case Keywords(values=pairs) if kind is ARG_STAR2:
            return [*pairs]
    return None


def _takes_size(info: TypeInfo, parameter: str | int | None) -> bool:
    """Return whether a parameter of a layer, by its name or its position, takes a size and nothing else."""
    constructor = constructor_of(info)
    declared = constructor.type if constructor is not None else None
    if not isinstance(declared, CallableType):
        return False
    position = declared.arg_names.index(parameter) if parameter in declared.arg_names else parameter
    position = position + 1 if position is parameter and isinstance(position, int) else position  # behind `self`
    if not isinstance(position, int) or position >= len(declared.arg_types):
        return False
    takes = get_proper_type(declared.arg_types[position])
    return isinstance(takes, TypeVarType) and kind_of(takes) == "size"


def _type_of_argument(argument: Expression, api: Checker, *, is_size: bool) -> Type:
    """Return the type of what a layer is made with; what is declared as Any is a number if it can only be a size."""
    value = value_of_expression(argument, api)
    variable = argument.node if isinstance(argument, RefExpr) else None
    declared = stored_type(api, argument) or (variable.type if isinstance(variable, Var) else None)
    is_any = isinstance(get_proper_type(declared), AnyType)
    # In a body that is read, the size variables of its class stand for what the call gives.
    is_bound = Reading.frame is not None and any(
        not name.is_opaque for name in names_in(value if isinstance(value, Dim) else 0)
    )
    return unknown() if isinstance(value, Dim) and ((is_any and not is_size) or is_bound) else type_of_value(value, api)


def _made(info: TypeInfo, call: CallExpr, api: Checker) -> Made | None:
    """Return the object that a call of a class makes, if the statements of the class can be read."""
    if "__new__" in info.names and not info.is_named_tuple:
        return None
    if "dataclass" in info.metadata or info.is_named_tuple:
        return _made_of_fields(info, call, api)
    if info.fullname in _NAMESPACES:
        return _namespace(info, call, api)
    if file_of(info.module_name, api) is None:
        return None
    constructor = constructor_of(info)
    with_statements = None if constructor is None else written_function(constructor, api)
    if not call.args and constructor is not None and constructor.info.fullname in _WITHOUT_ARGUMENTS:
        return Made(info, f"{info.fullname}.__init__", ())
    if with_statements is None or is_changed(with_statements, api):
        return None
    arguments = arguments_of_call(with_statements, call, api)
    if arguments is None:
        return None
    made = Made(info, with_statements.fullname, arguments)
    return made._replace(inherited=_inherited(made, with_statements, api))


def _namespace(info: TypeInfo, call: CallExpr, api: Checker) -> Made | None:
    """Return an object whose attributes are its keyword arguments, without those that are assigned again."""
    arguments = _arguments([], [], {}, call, api, {ARG_STAR2: "given"})
    given = dict(arguments or ()).get("given")
    if not isinstance(given, Keywords):
        return None
    files = {checked_file(api), program_file(api)}
    return Made(info, info.fullname, tuple(one for one in given.values if is_unwritten(info, one[0], files)))


def _parsed(call: CallExpr, api: Checker) -> Made | None:
    """Return the namespace that `parser.parse_args()` makes without options; None if no default is known."""
    files = {checked_file(api), program_file(api)}
    info = make(api)(NAMESPACE, []).type
    values: list[tuple[str, Value]] = []
    for name, default in defaults_of(call, api).items():
        is_default = default is not None and is_unwritten(info, name, files)
        value = default if isinstance(default, bool) or default is None else value_of_expression(default, api)
        values.append((name, value if is_default else None))
    return Made(info, NAMESPACE, tuple(values)) if any(value is not None for _, value in values) else None


def arguments_of_call(function: FuncDef, call: CallExpr, api: Checker) -> tuple[tuple[str, Value], ...] | None:
    """Return the value of each parameter of a function in a call; None if it is not known what the call gives."""
    parameters = function.arguments[1 if function.info and not function.is_static else 0 :]
    named = [one for one in parameters if one.kind not in (ARG_STAR, ARG_STAR2)]
    names = [one.variable.name for one in named]
    positional = [one.variable.name for one in named if one.kind not in (ARG_NAMED, ARG_NAMED_OPT)]
    file = file_of(module_of(function), api)
    defaults = {one.variable.name: Default(parameter_default(one, file), file) for one in named}
    rest = {one.kind: one.variable.name for one in parameters if one not in named}
    return _arguments(names, positional, defaults, call, api, rest)


def _inherited(made: Made, constructor: FuncDef, api: Checker) -> tuple[tuple[str, tuple[tuple[str, Value], ...]], ...]:
    """Return the constructors that one calls by `super().__init__(...)`, and these in turn, with their arguments."""
    found: dict[str, tuple[tuple[str, Value], ...]] = {}
    while True:
        calls = [
            statement.expr
            for statement in constructor.body.body
            if isinstance(statement, ExpressionStmt)
            and isinstance(statement.expr, CallExpr)
            and isinstance(statement.expr.callee, SuperExpr)
        ]
        bases = made.info.mro[made.info.mro.index(constructor.info) + 1 :]
        symbol = next((base.names["__init__"] for base in bases if "__init__" in base.names), None)
        called = symbol.node if symbol is not None else None
        called = written_function(called, api) if isinstance(called, FuncDef) else None
        home = file_of(constructor.info.module_name, api)
        if len(calls) != 1 or not calls_constructor(calls[0]) or called is None or home is None:
            break
        with (
            in_file(home, api),
            within(constructor_frame(made._replace(inherited=(*found.items(),)), constructor.fullname)),
        ):
            arguments = arguments_of_call(called, calls[0], api)
        if arguments is None or is_changed(called, api):
            break
        found[called.fullname] = arguments
        constructor = called
    return (*found.items(),)


def _made_of_fields(info: TypeInfo, call: CallExpr, api: Checker) -> Made | None:
    """Return an object whose arguments are its fields, if none of them is assigned again."""
    symbol = info.names.get("__init__")
    is_written = symbol is not None and not symbol.plugin_generated and not info.is_named_tuple
    if is_written:
        return None
    fields: dict[str, Default] = {}
    for base in reversed(info.mro):
        if base is not info and "dataclass" not in base.metadata:
            continue
        written = written_data_class(base, api)
        if written is None:
            return None
        for statement in written.definition.defs.body:
            match statement:
                case AssignmentStmt(lvalues=[NameExpr(name=name)], unanalyzed_type=declared) if declared is not None:
                    fields[name] = Default(field_default(statement.rvalue), written.file)
    files = {checked_file(api), program_file(api), *(one.file for one in fields.values())}
    names = [name for name in fields if is_unwritten(info, name, filter(None, files))]
    constructor = None if info.is_named_tuple else constructor_of(info)  # mypy's own, which knows the order
    parameters = [*fields] if constructor is None else constructor.arg_names[1:]
    if any(one is not None and one not in fields for one in parameters):
        return None
    arguments = _arguments([*fields], [one for one in parameters if one is not None], fields, call, api)
    if arguments is None:
        return None
    made = Made(info, info.fullname, tuple((name, value) for name, value in arguments if name in names))
    return _after_init(made, api)


def _after_init(made: Made, api: Checker) -> Made | None:
    """Return an object with the fields that its `__post_init__` assigns; None if the method cannot be read."""
    owner = next((base for base in made.info.mro if "__post_init__" in base.names), None)
    if owner is None:
        return made
    written = written_data_class(owner, api)
    statements = written.definition.defs.body if written is not None else []
    method = next((one for one in statements if isinstance(one, FuncDef) and one.name == "__post_init__"), None)
    if written is None or method is None or len(method.arguments) != 1:
        return None
    fields = dict(made.arguments)
    frame = Frame(method.fullname, {}, made, {}, fields)
    with in_file(written.file, api):
        Run(frame, api, _EVALUATOR).run(method.body.body)
    files = {checked_file(api), program_file(api), written.file}
    known = ((name, value) for name, value in fields.items() if is_unwritten(made.info, name, files))
    return made._replace(arguments=(*known,))


def _given_tensor(argument: Expression, api: Checker) -> GivenTensor | None:
    """Return the tensor that a call gives, if its type is known where the call is written."""
    if Reading.frame is not None:
        value = object_of(argument, api) if isinstance(argument, NameExpr | MemberExpr) else None
        if isinstance(value, GivenTensor):
            return value
        t = type_read(argument, api)
    else:
        t = steady_type(argument, api)
    parts = tensor_parts(t) if t is not None else None
    if parts is None:
        return _given_array(argument, get_proper_type(t), api)
    return None if t is None or shape_items(parts.shape) is None else GivenTensor(t)


def _given_array(argument: Expression, t: ProperType | None, api: Checker) -> GivenTensor | None:
    """Return the array of NumPy that a call gives, with the sizes that its expression says."""
    if not isinstance(t, Instance) or t.type.fullname != ARRAY:
        return None
    sizes = Arrays.sizes(argument, api)
    return (
        None if sizes is None else GivenTensor(t.copy_modified(args=[shape_type(tuple(sizes), make(api)), t.args[1]]))
    )


def steady_type(expression: Expression, api: Checker) -> Type | None:
    """Return the type of an expression; of a variable that is bound again, mypy may have read an older one.

    At the first turns of a loop mypy does not know yet what the later ones bind.
    """
    if not is_same_at_each_turn(expression, api):
        return None
    if isinstance(expression, MemberExpr) and expression.name not in ("T", "mT"):  # computed as the program reads it
        return None
    if isinstance(expression, NameExpr) and not (
        isinstance(expression.node, Var) and bound_once(expression.node, api)[1]
    ):
        return None
    return stored_type(api, expression)


def _arguments(
    names: list[str],
    positional: list[str],
    defaults: dict[str, Default],
    call: CallExpr,
    api: Checker,
    rest: Mapping[ArgKind, str] = MappingProxyType({}),
) -> tuple[tuple[str, Value], ...] | None:
    """Return the values of parameters; those that take the rest, by position or by name, have a list or a dict."""
    pairs: list[tuple[str | None, Value]] = []
    for expression, kind, keyword in zip(call.args, call.arg_kinds, call.arg_names, strict=True):
        if kind in (ARG_STAR, ARG_STAR2):
            several = _starred(expression, kind, api)
            if several is None:
                return None
            pairs += several
        else:
            pairs.append((keyword, _given_tensor(expression, api) or value_of_expression(expression, api)))
    by_position = [value for keyword, value in pairs if keyword is None]
    by_name = {keyword: value for keyword, value in pairs if keyword is not None}
    given: dict[str, Value] = dict(zip(positional, by_position, strict=False))
    given |= {name: value for name, value in by_name.items() if name in names}
    for name in names:
        if name not in given:
            default = defaults[name]
            with in_file(default.file or checked_file(api), api), within(None):
                given[name] = None if default.value is None else value_of_expression(default.value, api)
    found = [(name, given.get(name)) for name in names]
    if ARG_STAR in rest:
        found.append((rest[ARG_STAR], Items((*by_position[len(positional) :],))))
    if ARG_STAR2 in rest:
        others = tuple((name, value) for name, value in by_name.items() if name not in names)
        found.append((rest[ARG_STAR2], Keywords(others)))
    return (*found,)
