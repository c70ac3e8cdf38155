"""Which object, number or collection an expression denotes, such as `MLP(Config(width=8))`.

The modules for variables, calls and collections evaluate their parts by `Expressions`, which this module fills in.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_POS,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    Decorator,
    DictExpr,
    DictionaryComprehension,
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
    OpExpr,
    RefExpr,
    ReturnStmt,
    StrExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, get_proper_type

from tapegrad.mypy.conversion import MODULE, is_function, tensor_parts
from tapegrad.mypy.mypy_api import checked_file, is_always, stored_type, with_types
from tapegrad.mypy.scopes.called_functions import called_function, value_returned
from tapegrad.mypy.scopes.collections import Use, use_of
from tapegrad.mypy.scopes.command_line import NAMESPACE, PARSE, PARSE_KNOWN
from tapegrad.mypy.scopes.created_objects import (
    created_object,
    fields_as_entries,
    parsed_options,
    replaced_fields,
    run_inherited,
    with_fields,
)
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.dictionaries import (
    copied_entries,
    entries_at_use,
    entries_of_comprehension,
    value_at_key,
    written_entries,
)
from tapegrad.mypy.scopes.file_contents import method_of_receiver, steady_value
from tapegrad.mypy.scopes.frames import (
    Arrays,
    ClassOf,
    Expressions,
    FunctionOf,
    Held,
    Items,
    Keywords,
    Made,
    Nothing,
    Reading,
    Records,
    Several,
    key_of,
    size_in_frame,
    within,
)
from tapegrad.mypy.scopes.functions import body_of_getter, method_of, written_with_file
from tapegrad.mypy.scopes.items import has_unknown_part, known_items, length_of_type
from tapegrad.mypy.scopes.named_values import (
    from_constructor,
    value_after_constructor,
    value_of_attribute,
    value_of_variable,
)
from tapegrad.mypy.scopes.numbers import FUNCTIONS, combined, is_of_class, is_plain, result_of, truth_of
from tapegrad.mypy.scopes.object_paths import is_fixed, path_of
from tapegrad.mypy.scopes.opaque import ARITHMETIC, length_of_unchanged, opaque_size
from tapegrad.mypy.scopes.plain_calls import plain_call
from tapegrad.mypy.scopes.readings import read_once
from tapegrad.mypy.scopes.registries import registered
from tapegrad.mypy.scopes.sequences import (
    DRAWING,
    copied_items,
    drawn_record,
    items_of_comprehension,
    length_of,
    length_of_alike,
    records_appended,
    repeated_items,
    several_alike,
    size_by_type,
    size_or_length,
    sizes_of_tensor,
    sorted_items,
    turns,
    unordered_items,
    value_at_index,
    written_items,
)
from tapegrad.mypy.scopes.texts import PARSERS, value_of_text
from tapegrad.sizes import UNKNOWN, Dim, is_unknown, product

if TYPE_CHECKING:
    from mypy.nodes import Expression

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size

_DEEPEST = 20  # objects in arguments of objects
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
        found = _computed_result(expression, api)
        if found is not None:
            return found
        size = _steady_size(expression, api)  # `steady_size` would read the arguments again
    else:
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
        case ComparisonExpr() | UnaryExpr(op="not"):
            return decided(expression, api)
        case ListExpr() if (count := length_of(expression, api)) is not None:
            return Several(None, is_filled=count > 0, length=count)
    path = path_of(expression, api) if Reading.frame is None else None
    return None if path is None else Held(path.label, path.scope, length_of_unchanged(expression, api))


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
        case CallExpr(analyzed=None) if Reading.frame is not None or _is_of_entry(expression) or _is_number(expression):
            computed = _computed_result(expression, api)
            value = object_of(expression, api) if computed is None else computed
            return value if isinstance(value, int | Dim) else _steady_size(expression, api)
    return _steady_size(expression, api)


def _steady_size(expression: Expression, api: Checker) -> Size:
    """Return the size that an expression always has; of a call, without that of the function."""
    match expression:
        case MemberExpr() | IndexExpr() if isinstance(value := object_of(expression, api), int | float | Dim):
            return UNKNOWN if isinstance(value, float) else value
        case NameExpr() if Reading.frame is not None and isinstance(value := object_of(expression, api), int | Dim):
            return value
        case CallExpr(
            callee=NameExpr(fullname="builtins.len"),
            args=[NameExpr() | MemberExpr() | CallExpr() as operand],
        ) if not is_unknown(length := _length(operand, api)):
            return length
        case NameExpr(node=Var() as variable) if _is_of_entry(steady_value(variable, api)[0]) and isinstance(
            value := object_of(expression, api), int | Dim
        ):
            return value
        case NameExpr(node=Var() as variable) if (number := _computed_once(variable, api)) is not None:
            return number
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](steady_size(left, api), steady_size(right, api))
        case OpExpr(op="and" | "or" as sign, left=left, right=right) if (
            is_true := truth_of(value_of_expression(left, api))
        ) is not None:
            return steady_size(left if is_true == (sign == "or") else right, api)
        case IndexExpr(base=NameExpr(node=Var() as variable) as base, index=IntExpr() | StrExpr() as key):
            display, scope = steady_value(variable, api)
            item = _item(display, key.value) if isinstance(display, DictExpr) else None
            is_visible = Reading.frame is None or scope == checked_file(api).fullname
            if item is not None and is_visible and use_of(base, api) is Use.READ:
                with within(None):
                    return steady_size(item, api)
    return opaque_size(expression, api)


def length_by_method(operand: Expression, api: Checker) -> Size:
    """Return the length of an object whose `__len__` returns that of an attribute; unknown for any other.

    The object is made by a call of a class of the program, and only its constructor assigns to the attribute.
    """
    variable = operand.node if isinstance(operand, NameExpr) else None
    stored = stored_type(api, operand) or (variable.type if isinstance(variable, Var) else None)  # of a later function
    t = get_proper_type(stored)
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
        ] if isinstance(made, Made) and owner == _name_of_receiver(method, api):
            length = from_constructor(made, name, _length_made, api)
            if length is None or is_unknown(length):
                attribute = MemberExpr(operand, name)
                count = length_of(attribute, api)
                length = _rows_of(attribute, made.info, api) if count is None else count
            return length
    return UNKNOWN


def _name_of_receiver(method: FuncDef, api: Checker) -> str | None:
    """Return the name of the first parameter of a method, which mypy's cache does not keep."""
    written, _ = written_with_file(method, api)
    return written.arguments[0].variable.name if written is not None and written.arguments else None


_BUILTINS: Final = ("builtins.", "typing.")  # a list may hold its own length, and reading it would not end


def _length_made(tensor: Expression, api: Checker) -> Size:
    """Return the length of a tensor by the type that mypy has given its expression in a constructor."""
    t = stored_type(api, tensor)
    return UNKNOWN if t is None or tensor_parts(t) is None else size_in_frame(length_of_type(t))


def _rows_of(attribute: MemberExpr, info: TypeInfo, api: Checker) -> Size:
    """Return the length of an array in an attribute of an object of a class; the program does not write this one."""
    symbol = info.get(attribute.name)
    declared = symbol.node.type if symbol is not None and isinstance(symbol.node, Var) else None
    with with_types(api, {} if declared is None else {attribute: declared}):
        sizes = Arrays.sizes(attribute, api)
    return sizes[0] if sizes else UNKNOWN


def _computed_once(variable: Var, api: Checker) -> int | None:
    """Return the number that a variable is once bound to, as by `n = len(x)` or `n = 2 * config["count"]`."""
    value, scope = steady_value(variable, api)
    is_of_file = scope == checked_file(api).fullname
    is_here = is_of_file or Reading.frame is None or scope == Reading.frame.scope
    is_length = isinstance(value, CallExpr) and getattr(value.callee, "fullname", "") == "builtins.len"
    is_number = is_length or isinstance(value, OpExpr) or _is_number(value)
    if value is None or not is_number or not is_here or variable in _computed_now:
        return None
    _computed_now.add(variable)
    try:
        with within(None if is_of_file else Reading.frame):
            size = size_or_length(value, api)
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


def _length(operand: Expression, api: Checker) -> Size:
    """Return the length of a sequence, of an array, or of an object with a `__len__`."""
    count = length_of(operand, api)
    if count is not None:
        return count
    if not is_unknown(length := length_of_alike(operand, api)):
        return length
    sizes = Arrays.sizes(operand, api)
    return sizes[0] if sizes else length_by_method(operand, api)


def _is_number(expression: Expression | None) -> bool:
    """Return whether an expression is a call that makes a whole number of others, such as `int(0.8 * n)`."""
    return isinstance(expression, CallExpr) and getattr(expression.callee, "fullname", "") in FUNCTIONS


def _computed_result(call: CallExpr, api: Checker) -> Value:
    """Return the number that a call of a function of Python or NumPy returns, such as the length of a list."""
    match call:
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[operand]):
            length = _length(operand, api)
            return None if is_unknown(length) else length
        case CallExpr(callee=RefExpr(fullname=name), args=arguments) if name in FUNCTIONS and call.arg_kinds == [
            ARG_POS
        ] * len(arguments):
            return result_of(name, [value_of_expression(one, api) for one in arguments])
    return None


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
    size = size_by_type(expression, api)
    value: Value = value_of_expression(expression, api) if is_unknown(size) else size
    return value if isinstance(value, int | float) else None


class _Depth:
    now = 0


def object_of(expression: Expression, api: Checker) -> Value:
    """Return the object that an expression denotes, or the size that a parameter was given; None if unknown."""
    if _Depth.now >= _DEEPEST:
        return None
    if not isinstance(expression, CallExpr | MemberExpr | IndexExpr | OpExpr | ListComprehension):
        return _object_deeper(expression, api)
    return read_once(lambda one: _object_deeper(one, api), ("object", _Depth.now), expression)


def _object_deeper(expression: Expression, api: Checker) -> Value:
    """Return the object that an expression denotes; its parts are one level deeper."""
    _Depth.now += 1
    try:
        found = _newly_found(expression, api)
    finally:
        _Depth.now -= 1
    is_list = isinstance(found, Several | Items | Keywords) and isinstance(expression, NameExpr | MemberExpr)
    if found is None and isinstance(expression, NameExpr):
        return records_appended(expression, api)
    if not is_list or _is_of_run(expression, api) or is_fixed(expression, api):
        return found
    if isinstance(expression, MemberExpr):
        return value_after_constructor(expression, api)
    if isinstance(found, Keywords):
        return registered(expression, found, api) or entries_at_use(expression, found, api)
    return records_appended(expression, api) if isinstance(expression, NameExpr) else None


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
        case NameExpr(node=FuncDef() | Decorator() as node) | MemberExpr(node=FuncDef() | Decorator() as node):
            t = get_proper_type(node.type)
            return FunctionOf(t, node) if is_function(t) and not getattr(node, "info", None) else None
        case NameExpr(node=Var() as variable):
            return Reading.bound[variable] if variable in Reading.bound else value_of_variable(variable, api)
        case MemberExpr(expr=RefExpr(node=MypyFile()), node=Var() as variable):
            return value_of_variable(variable, api)
        case MemberExpr(expr=owner, name="shape") if (sizes := sizes_of_tensor(owner, api)) is not None:
            return sizes
        case MemberExpr(expr=owner, name="ndim") if (sizes := sizes_of_tensor(owner, api)) is not None:
            return len(sizes.values)
        case MemberExpr(expr=owner, name="size") if (sizes := sizes_of_tensor(owner, api)) is not None:
            count = product([one if isinstance(one, int | Dim) else UNKNOWN for one in sizes.values])
            return None if is_unknown(count) else count
        case MemberExpr(expr=owner, name=name):
            value = value_of_attribute(owner, name, api)
            after = value_after_constructor(expression, api) if has_unknown_part(value) else None
            return value if after is None else after
        case CallExpr(analyzed=None):
            return _of_call(expression, api)
        case CallExpr(analyzed=DictExpr() as display):  # dict(width=8)
            return _newly_found(display, api)
        case IndexExpr(base=base, index=index):
            return value_at_index(base, index, api)
        case FloatExpr(value=value) | StrExpr(value=value):
            return value
        case ListExpr(items=items) | TupleExpr(items=items):
            return written_items(items, api)
        case DictExpr(items=pairs) if all(key is None or isinstance(key, StrExpr | IntExpr) for key, _ in pairs):
            return written_entries(pairs, api)
        case DictExpr(items=[_, *_] as pairs) if all(key is not None for key, _ in pairs):
            return several_alike([value for _, value in pairs], api)
        case ListComprehension(generator=GeneratorExpr() as generator) | (GeneratorExpr() as generator):
            return items_of_comprehension(generator, api)
        case OpExpr(op="+", left=left, right=right) if isinstance(first := object_of(left, api), Items):
            second = object_of(right, api)
            return known_items([*first.values, *second.values]) if isinstance(second, Items) else None
        case OpExpr(op="*", left=left, right=right) if isinstance(items := object_of(left, api), Items):
            return repeated_items(items, right, api)
        case OpExpr(op="*", left=left, right=right) if isinstance(items := object_of(right, api), Items):
            return repeated_items(items, left, api)
        case OpExpr(op="|", left=left, right=right) if isinstance(entries := object_of(left, api), Keywords):
            others = object_of(right, api)
            return (
                Keywords((*(dict(entries.values) | dict(others.values)).items(),))
                if isinstance(others, Keywords)
                else None
            )
        case ConditionalExpr(cond=condition, if_expr=one, else_expr=other) if (
            is_true := decided(condition, api)
        ) is not None:
            return object_of(one if is_true else other, api)
        case DictionaryComprehension(key=key, value=value, indices=[target], sequences=[sequence], condlists=[tests]):
            return entries_of_comprehension(key, value, turns(target, sequence, api), tests, api)
    return None


def _of_call(call: CallExpr, api: Checker) -> Value:
    results = Reading.frame.results if Reading.frame is not None else None
    if results and (call,) in results:
        return results[call,]
    if (plain := plain_call(call, api)) is not None:
        return _of_call(plain, api)
    if (copied := copied_entries(call, api)) is not None:
        return copied
    match call.callee:
        case RefExpr(fullname=name) if name in DRAWING and (records := drawn_record(name, call, api)) is not None:
            return records
        case RefExpr(fullname="builtins.list" | "builtins.tuple") if len(call.args) == 1:
            return copied_items(call.args[0], api)
        case RefExpr(fullname="builtins.reversed") if len(call.args) == 1:
            return copied_items(call, api)
        case RefExpr(fullname="builtins.sorted") if call.arg_kinds == [ARG_POS]:
            return sorted_items(call, api)
        case RefExpr(fullname="builtins.frozenset" | "builtins.set") if len(call.args) == 1:
            return unordered_items(call, api)
        case NameExpr(node=TypeInfo() as info) | MemberExpr(node=TypeInfo() as info):
            return created_object(info, call, api)
        case (NameExpr(node=Var()) | IndexExpr()) as chosen if isinstance(of := object_of(chosen, api), ClassOf):
            return created_object(of.info, call, api)
        case IndexExpr() as chosen if isinstance(of := object_of(chosen, api), FunctionOf):
            return value_returned(of.definition, None, call, api) if isinstance(of.definition, FuncDef) else None
        case MemberExpr(expr=holder, name="get" | "pop") if isinstance(of := object_of(holder, api), Keywords):
            return value_at_key(of, call, api)
        case RefExpr(fullname=name) if name in PARSERS and call.arg_kinds == [ARG_POS]:
            text = object_of(call.args[0], api)
            return value_of_text(name, text) if isinstance(text, str) else None
        case RefExpr(fullname="copy.deepcopy") if call.arg_kinds == [ARG_POS]:
            of = object_of(call.args[0], api)
            return of if isinstance(of, Made) and of.info.get("__deepcopy__") is None else None
        case MemberExpr(expr=holder, name="apply") if isinstance(of := object_of(holder, api), Made):
            method = of.info.get_method("apply")
            return of if method is not None and method.info.fullname == MODULE else None
        case RefExpr(fullname="dataclasses.asdict") if call.arg_kinds == [ARG_POS]:
            return fields_as_entries(object_of(call.args[0], api))
        case RefExpr(fullname="builtins.vars") if call.arg_kinds == [ARG_POS]:
            of = object_of(call.args[0], api)
            return Keywords(of.arguments) if isinstance(of, Made) and of.constructor == NAMESPACE else None
        case MemberExpr(name=name) if (
            name in (*PARSE, *PARSE_KNOWN) and (parsed := parsed_options(call, api)) is not None
        ):
            return parsed if name in PARSE else Items((parsed, None))
    if (replaced := replaced_fields(call, api)) is not None:
        return replaced
    called = called_function(call.callee, api)
    value = None if called is None else value_returned(*called, call, api)
    record = Records.returned(call, None, api) if value is None or isinstance(value, Made) else None
    return value if record is None else with_fields(record, value if isinstance(value, Made) else None)


Expressions.value_of = value_of_expression
Expressions.object_of = object_of
Expressions.size_of = steady_size
Expressions.decided = decided
Expressions.constructed = run_inherited
