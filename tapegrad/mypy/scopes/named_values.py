"""Values of variables, of attributes and properties of objects, and of constants of classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from mypy.nodes import CallExpr, Decorator, ExpressionStmt, ListComprehension, NameExpr, ReturnStmt, StrExpr, Var
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.conversion import MODULE
from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.collections import set_up_methods
from tapegrad.mypy.scopes.command_line import NAMESPACE, conditions_around
from tapegrad.mypy.scopes.created_objects import MODEL_AVERAGE, computed_by, construction_of, with_fields
from tapegrad.mypy.scopes.file_contents import (
    loop_of,
    made_in_loop,
    method_of_receiver,
    steady_value,
    unpacked_from,
    unpacked_in_loop,
)
from tapegrad.mypy.scopes.frames import (
    ClassOf,
    Expressions,
    Frame,
    Items,
    Keywords,
    Layers,
    Made,
    Reading,
    Records,
    Several,
    constructor_frame,
    item_at,
    key_of,
    within,
)
from tapegrad.mypy.scopes.functions import body_of_getter, home_of_constructor
from tapegrad.mypy.scopes.module_values import in_module, module_value
from tapegrad.mypy.scopes.names import values_assigned
from tapegrad.mypy.scopes.sequences import elements
from tapegrad.mypy.scopes.written_attributes import class_constant, constructor_value, is_set_up, is_written_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Expression, FuncDef, MemberExpr, TypeInfo

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.file_contents import Loop
    from tapegrad.mypy.scopes.frames import Value

T = TypeVar("T")


def value_of_variable(variable: Var, api: Checker) -> Value:
    """Return the object that a variable denotes where it is assigned once; None if it is not known."""
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
            return value_of_variable(variable, api)
    if value is None and (loop := loop_of(variable, api)) is not None:
        return _of_loop(variable, loop, api)
    if frame is not None and scope == frame.scope and variable.name in frame.values:
        return frame.values[variable.name]
    if value is None and (unpacked := unpacked_from(variable, api)) is not None:
        if frame is not None and unpacked[2] != frame.scope:
            return None
        several, position, _ = unpacked
        items = Expressions.object_of(several, api)
        item = item_at(items, position) if isinstance(items, Items) else None
        may_be_record = item is None or isinstance(item, Made)
        record = Records.returned(several, position, api) if may_be_record and isinstance(several, CallExpr) else None
        return item if record is None else with_fields(record, item if isinstance(item, Made) else None)
    if value is None and (turn := unpacked_in_loop(variable, api)) is not None:
        is_here = frame is None or turn[2] == frame.scope
        return _unpacked_at_each_turn(turn[0], turn[1], api) if isinstance(turn[0], CallExpr) and is_here else None
    if value is None and (written := made_in_loop(variable, api)) is not None:
        if frame is not None and variable.fullname != variable.name:
            return None
        # With the arguments that are the same at each turn: what is read may use the object of the one before.
        with within(None if frame is None else frame._replace(variables={})):
            made = Expressions.object_of(written, api)
        return made if isinstance(made, Made) or isinstance(written, ListComprehension) else None
    if value is None and (same := _same_object(variable, api)) is not None:
        return same
    if value is None:
        return _of_other_module(variable, api)
    if scope == checked_file(api).fullname:
        with within(None):
            return Expressions.object_of(value, api)
    return Expressions.object_of(value, api) if frame is None or scope == frame.scope else None


_compared: Final[set[Var]] = set()  # variables whose values are being compared


def _same_object(variable: Var, api: Checker) -> Made | None:
    """Return the layer that all assignments to a variable give it, such as a model and the best copy of it so far."""
    frame, t = Reading.frame, get_proper_type(variable.type)
    if not isinstance(t, Instance) or not t.type.has_base(MODULE):
        return None
    values = values_assigned(variable, api)
    if variable in _compared or len(values) < 2 or any(position is not None for _, position in values):
        return None
    if frame is not None and variable.fullname != variable.name:
        return None
    _compared.add(variable)
    try:
        with within(None if frame is None else frame._replace(variables={})):
            found = [Expressions.object_of(one, api) for one, _ in values]
    finally:
        _compared.discard(variable)
    first = found[0]
    is_same = isinstance(first, Made) and all(key_of(one) == key_of(first) for one in found[1:])
    return first if isinstance(first, Made) and is_same else None


def _unpacked_at_each_turn(call: CallExpr, position: int, api: Checker) -> Made | None:
    """Return the object that a call in a loop returns in a tuple, with the arguments that are the same at each turn."""
    record = Records.returned(call, position, api)
    if record is not None:
        return record
    frame = Reading.frame
    with within(None if frame is None else frame._replace(variables={})):
        items = Expressions.object_of(call, api)
    made = item_at(items, position) if isinstance(items, Items) else None
    return made if isinstance(made, Made) else None


def _of_other_module(variable: Var, api: Checker) -> Value:
    """Return the object that a variable of another module denotes."""
    known = module_value(variable, api)
    if known is None:
        return None
    with in_module(known, api):
        return Expressions.object_of(known.value, api)


def _of_loop(variable: Var, loop: Loop, api: Checker) -> Value:
    """Return the object that a comprehension, or the only loop with a variable, binds it to."""
    if loop.scope == checked_file(api).fullname:
        with within(None):
            return elements(loop.target, loop.sequence, api).get(variable)
    is_inside = Reading.frame is None or loop.scope == Reading.frame.scope
    return elements(loop.target, loop.sequence, api).get(variable) if is_inside else None


def _bases(made: Made | None) -> list[TypeInfo]:
    return made.info.mro if made is not None else []


def value_of_attribute(owner: Expression, name: str, api: Checker) -> Value:
    """Return the value of an attribute, a property or a constant of a class; None if it is not known."""
    method = method_of_receiver(owner.node, api) if isinstance(owner, NameExpr) else None
    if method is not None and Reading.frame is None:
        value, _ = constructor_value(method.info, name, api)
        return None if value is None else Expressions.object_of(value, api)
    made = Expressions.object_of(owner, api)
    if isinstance(made, ClassOf):
        return _of_class(made.info, name, api)
    if isinstance(made, Layers) and made.info.fullname == MODEL_AVERAGE and name == "model":
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
        is_run = all(Expressions.decided(condition, api) is holds for condition, holds in conditions)
        return dict(made.arguments).get(name) if is_run else None
    value = from_constructor(made, name, Expressions.value_of, api)
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
        return Expressions.value_of(value, api)


def value_after_constructor(attribute: MemberExpr, api: Checker) -> Value:
    """Return the value that an attribute has after all statements of the constructor, if nothing changes it later."""
    made = Expressions.object_of(attribute.expr, api)
    if not isinstance(made, Made) or made.constructor == made.info.fullname:
        return None
    symbol = made.info.get(attribute.name)
    if symbol is None or not isinstance(symbol.node, Var):
        return None
    frame = Reading.frame
    if frame is not None and any(frame.scope == one.fullname for one in set_up_methods(checked_file(api))):
        return None  # there it may still have another value
    value = construction_of(made, api).attributes.get(attribute.name)
    as_list = isinstance(value, Several | Items | Keywords)
    return value if value is not None and is_set_up(made.info, attribute.name, api, as_list=as_list) else None


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
                return Expressions.value_of(value, api)
    return None
