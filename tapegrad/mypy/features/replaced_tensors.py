"""Tensors in attributes that methods replace, such as `self.weights = tg.solve(gram, moments)` after `fit`.

mypy infers the type of an attribute from its first value, and accepts a tensor of unknown shape where a method assigns
another one. A body that is read for a call must be certain of what it finds in the attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from mypy.nodes import FuncDef, MemberExpr, Var
from mypy.types import Instance, Type, UnionType, get_proper_type

from tapegrad.mypy.conversion import joined, tensor_parts, unknown
from tapegrad.mypy.mypy_api import attribute_variable, enclosing_function, has_annotation, make
from tapegrad.mypy.scopes.file_contents import Write
from tapegrad.mypy.scopes.frames import Made, constructor_frame, in_frame, key_of, within
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.written_attributes import is_replaced, writes_by_methods

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tapegrad.mypy.mypy_api import Checker

_ELSEWHERE: Final = Write(None, None)  # an assignment by something else than a method


class Replacements:
    """What the methods that were read have assigned to attributes of their objects.

    Attributes:
        tensors: What all calls of a method have assigned to an attribute of an object, by method, name and object.
        unread: The methods and objects of calls whose bodies were not read to their ends.
        changes: How often this became another type, after which bodies that were read may find something else.
    """

    tensors: ClassVar[dict[tuple[FuncDef, str, Hashable], Type]] = {}
    unread: ClassVar[set[tuple[FuncDef, Hashable]]] = set()
    changes = 0

    @classmethod
    def clear(cls) -> None:
        """Forget all, before a file is checked again."""
        cls.tensors.clear()
        cls.unread.clear()

    @classmethod
    def note(cls, method: FuncDef, name: str, made: Made, t: Type) -> None:
        """Store the type of a tensor that a method assigns to an attribute of its object."""
        key = method, name, key_of(made)
        before = cls.tensors.get(key)
        now = cls.tensors[key] = t if before is None else joined(UnionType([before, t]))
        cls.changes += now != before

    @classmethod
    def note_unread(cls, method: FuncDef, made: Made) -> None:
        """Store that a method may have assigned anything to the attributes of its object."""
        key = method, key_of(made)
        cls.changes += key not in cls.unread
        cls.unread.add(key)


def with_replacements(attribute: MemberExpr, t: Type, inferred: Type, api: Checker) -> Type:
    """Return the type of a tensor in an attribute, with the shape that it has after each method that replaces it.

    The shape is unknown if one of these methods was not read. The first call of the one that is read finds the value of
    the constructor.

    Args:
        attribute: The attribute.
        t: Its type, in which the sizes of the object are unknown, because methods replace it.
        inferred: The type of the value that the constructor assigns.
        api: mypy's checker.
    """
    p, variable = get_proper_type(t), attribute_variable(attribute, api)
    is_inferred = isinstance(variable, Var) and not has_annotation(variable)
    if tensor_parts(p) is None or not isinstance(p, Instance) or not is_inferred:
        return t
    made = object_of(attribute.expr, api)
    if not isinstance(made, Made) or not is_replaced(made.info, attribute.name, api):
        return t
    methods = {write.method for write in writes_by_methods(made.info, attribute.name, api) or [_ELSEWHERE]}
    replacing = {one for one in methods if one is None or one.name != "__init__"}
    key = key_of(made)
    keys = {one: (one, attribute.name, key) for one in replacing if one is not None}
    known = {one: Replacements.tensors[place] for one, place in keys.items() if place in Replacements.tensors}
    are_read = not any((one, key) in Replacements.unread for one in keys)
    if not are_read or replacing - known.keys() - {enclosing_function(api)}:
        return p.copy_modified(args=[unknown(), *p.args[1:]])
    with within(constructor_frame(made, made.constructor)):
        first = in_frame(inferred, make(api))
    parts = tensor_parts(joined(UnionType([first, *known.values()])))
    return p.copy_modified(args=[unknown() if parts is None else parts.shape, *p.args[1:]])
