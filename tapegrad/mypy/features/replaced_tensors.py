"""Tensors in attributes that methods replace, such as `self.weights = tg.solve(gram, moments)` after `fit`.

mypy infers the type of an attribute from its first value, and accepts a tensor of unknown shape where a method assigns
another one. A body that is read for a call must be certain of what it finds in the attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mypy.nodes import FuncDef, MemberExpr, Var
from mypy.types import Instance, Type, UnionType, get_proper_type

from tapegrad.mypy.conversion import joined, tensor_parts, unknown
from tapegrad.mypy.mypy_api import attribute_variable, has_annotation
from tapegrad.mypy.scopes.opaque import is_replaced, writes_by_methods

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo

    from tapegrad.mypy.mypy_api import Checker


class Assigned:
    """What the methods that were read have assigned to attributes.

    Attributes:
        tensors: What all calls of a method have assigned to an attribute.
        changes: How often this became another type, after which bodies that were read may find something else.
    """

    tensors: ClassVar[dict[tuple[FuncDef, str], Type]] = {}
    changes = 0

    @classmethod
    def note(cls, method: FuncDef, name: str, t: Type) -> None:
        """Store the type of a tensor that a method assigns to an attribute."""
        before = cls.tensors.get((method, name))
        now = cls.tensors[method, name] = t if before is None else joined(UnionType([before, t]))
        cls.changes += now != before


def with_replacements(attribute: MemberExpr, t: Type, info: TypeInfo, api: Checker) -> Type:
    """Return the type of a tensor in an attribute, with the shape that it has after each method that replaces it.

    The shape is unknown if one of these methods was not read.
    """
    p, variable = get_proper_type(t), attribute_variable(attribute, api)
    is_inferred = isinstance(variable, Var) and not has_annotation(variable)
    if tensor_parts(p) is None or not isinstance(p, Instance) or not is_inferred:
        return t
    if not is_replaced(info, attribute.name, api):
        return t
    methods = {write.method for write in writes_by_methods(info, attribute.name, api) or ()}
    found = [
        Assigned.tensors.get((one, attribute.name)) for one in methods if one is not None and one.name != "__init__"
    ]
    known = [one for one in found if one is not None]
    common = joined(UnionType([p, *known])) if known and len(known) == len(found) else None
    parts = None if common is None else tensor_parts(common)
    return p.copy_modified(args=[unknown() if parts is None else parts.shape, *p.args[1:]])
