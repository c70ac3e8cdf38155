"""Tensors that the constructor of an object computes of what a call gives it, such as `self.mean = x.mean(axis=0)`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mypy.nodes import AssignmentStmt, NameExpr, Var

from tapegrad.mypy.calls.assertions import forgetting
from tapegrad.mypy.features.body_outcomes import types_of_parameters
from tapegrad.mypy.features.body_state import FailedError, UnreadError
from tapegrad.mypy.features.body_statements import Reader
from tapegrad.mypy.features.readable_bodies import MOST_CALLS, active
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    can_read_bodies,
    depend_on_bodies,
    inside_body,
    silenced,
    types_in_body,
)
from tapegrad.mypy.reports import with_path
from tapegrad.mypy.scopes.frames import GivenTensor, Items, Reading, key_of
from tapegrad.mypy.scopes.functions import constructor_of
from tapegrad.mypy.scopes.named_values import from_constructor
from tapegrad.mypy.scopes.names import bindings_in, inside, targets_in
from tapegrad.mypy.scopes.opaque import other_shapes
from tapegrad.mypy.scopes.readings import PassCache
from tapegrad.mypy.scopes.records import BodyReading, is_recorded, record_read, recorded_calls
from tapegrad.mypy.sources import written_function

if TYPE_CHECKING:
    from mypy.nodes import Expression, FuncDef, MemberExpr
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Made

_types: PassCache[Type | None] = PassCache()  # of attributes, by the object and the name


def type_assigned(made: Made, attribute: MemberExpr, api: Checker) -> Type | None:
    """Return the type of the tensor that the constructor of an object assigns to an attribute; None if not known."""
    name = attribute.name
    has_given = any(isinstance(value, GivenTensor | Items) for _, value in made.arguments)
    if not has_given or not can_read_bodies(api.options) or BodiesRead.depth >= MOST_CALLS:
        return None
    read = partial(_type_in_constructor, made, attribute)
    return _types.of((key_of(made), name), partial(from_constructor, made, name, read, api), api, meanwhile=None)


def _type_in_constructor(made: Made, attribute: MemberExpr, value: Expression, api: Checker) -> Type | None:
    """Return the type of an expression of a constructor, of which the statements before it are assignments to names."""
    constructor, frame = constructor_of(made.info), Reading.frame
    written = None if constructor is None else written_function(constructor, api)
    if written is None or frame is None or frame.scope != written.fullname or written in active:
        return None
    before = [
        one
        for one in written.body.body
        if isinstance(one, AssignmentStmt)
        and one.line < value.line
        and all(isinstance(target, NameExpr) for target in targets_in(one.lvalues))
    ]
    if not _are_bound_once([*(one.rvalue for one in before), value], written):
        return None
    given: dict[Var, Type] = {}
    for argument in written.arguments:
        known = frame.values.get(argument.variable.name)
        if isinstance(known, GivenTensor):
            given[argument.variable] = known.t
    depend_on_bodies(api)
    active.add(written)
    try:
        with (
            types_of_parameters(written, given) as types,
            forgetting(),
            other_shapes(),
            with_path(None),
            silenced(api),
            inside_body(api, written) as errors,
            recorded_calls(api) as calls,
        ):
            t = Reader(api, frame, types, errors, []).value(before, value)
            reading = BodyReading(written, given, types_in_body(api), t, calls)
    except (FailedError, UnreadError):
        return None
    finally:
        active.discard(written)
    if is_recorded(api):
        record_read(api, reading, attribute)
    return t


def _are_bound_once(values: list[Expression], function: FuncDef) -> bool:
    """Return whether a function binds no variable that expressions read a second time, nor a parameter."""
    bindings = bindings_in(function)
    read = {node.node for value in values for node in inside(value) if isinstance(node, NameExpr)}
    return all(len(bindings.get(one, ())) <= 1 for one in read if isinstance(one, Var))
