"""Names of objects that expressions denote, such as `self.config.width`, where they are surely the same object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import Decorator, IndexExpr, MemberExpr, MypyFile, NameExpr, RefExpr, StrExpr, TypeInfo, Var
from mypy.types import AnyType, CallableType, Instance, TupleType, TypedDictType, TypeType, get_proper_type

from tapegrad.mypy.mypy_api import stored_type
from tapegrad.mypy.scopes.collections import Use, collection_of, use_of
from tapegrad.mypy.scopes.file_contents import checked_contents, is_of_another_file, origin_of, position_of
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.written_attributes import is_frozen, is_written, related_writes, write_by_constructor

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.file_contents import Contents

_SEQUENCES: Final = {"builtins.list", "builtins.tuple", "typing.Sequence"}


class Path(NamedTuple):
    """An object that an expression denotes: its name, the function in which it has it, and its type."""

    label: str
    scope: str
    type: Type | None


def is_fixed(sequence: Expression, api: Checker) -> bool:
    """Return whether the items of a sequence stay what they are: of a tuple, or of a list that is only read."""
    variable = sequence.node if isinstance(sequence, NameExpr) else None
    p = get_proper_type(variable.type if isinstance(variable, Var) else stored_type(api, sequence))
    p = p.partial_fallback if isinstance(p, TupleType) else p  # in a body that is read it is that of a list for a list
    is_tuple = isinstance(p, Instance) and p.type.has_base("builtins.tuple")
    return is_tuple or use_of(sequence, api) is Use.READ


def path_of(expression: Expression, api: Checker) -> Path | None:
    """Return the object that a variable or an attribute denotes; None if it may change, or is a list that is filled."""
    if not isinstance(expression, NameExpr | MemberExpr) or use_of(expression, api) is Use.EXTENDED:
        return None
    return object_path(expression, api)


def object_path(expression: Expression, api: Checker) -> Path | None:
    """Return the object that an expression denotes; None if it may change."""
    if expression in _being_read:
        return None
    _being_read.add(expression)
    try:
        return _path_of(expression, api)
    finally:
        _being_read.discard(expression)


_being_read: Final[set[Expression]] = set()  # a name may be assigned to itself


def _path_of(expression: Expression, api: Checker) -> Path | None:
    match expression:
        case NameExpr(node=MypyFile() as module):
            return Path(expression.name, module.fullname, None)
        case NameExpr(node=TypeInfo() as info):
            return Path(info.name, info.fullname, Instance(info, []))
        case NameExpr(node=Var() as variable):
            return path_of_name(variable, api)
        case MemberExpr():
            return _path_of_attribute(expression, api)
        case IndexExpr(base=base, index=StrExpr(value=key)):
            return _path_of_entry(base, key, api)
        case IndexExpr(base=base, index=index) if (position := position_of(index)) is not None:
            return path_of_item(base, position, api)
    return None


def path_of_item(sequence: Expression, index: int, api: Checker) -> Path | None:
    """Return an item of a tuple, or of a list that nothing changes, as an object; None if it may change."""
    whole = object_path(sequence, api)
    match get_proper_type(whole.type) if whole is not None and whole.type is not None else None:
        case TupleType(items=items) if -len(items) <= index < len(items):
            item = items[index]
        case Instance(type=info, args=[item]) if info.fullname in _SEQUENCES and is_fixed(sequence, api):
            pass
        case _:
            return None
    return None if whole is None else Path(f"{whole.label}[{index}]", whole.scope, item)


def _path_of_entry(mapping: Expression, key: str, api: Checker) -> Path | None:
    """Return the object that a dictionary has for a key, if the file never changes the dictionary.

    In a body that is read, the dictionary may be a written one: nothing else may change it either.
    """
    whole, most = object_path(mapping, api), Use.SHARED if Reading.frame is None else Use.READ
    if whole is None or not key.isidentifier() or use_of(collection_of(mapping), api) > most:
        return None
    match get_proper_type(whole.type) if whole.type is not None else None:
        case TypedDictType(items=items) if key in items:
            item: Type = items[key]
        case Instance(type=info, args=[_, item]) if info.has_base("typing.Mapping"):
            pass
        case AnyType() as item:
            pass
        case _:
            return None
    return Path(f'{whole.label}["{key}"]', whole.scope, item)


def path_of_name(variable: Var, api: Checker) -> Path | None:
    """Return the object that a variable denotes; None if it may change."""
    contents = checked_contents(api)
    if (method := contents.receivers.get(variable)) is not None:
        return Path(variable.name, method.info.fullname, Instance(method.info, []))
    if is_of_another_file(variable, api):
        module, _, name = variable.fullname.rpartition(".")
        return None if is_written(name, contents) else Path(name, module, variable.type)
    origin = origin_of(variable, api)
    if origin is None or not origin.is_steady:
        return None
    if (
        isinstance(origin.value, NameExpr | MemberExpr | IndexExpr)
        and (same := object_path(origin.value, api)) is not None
    ):
        return same
    return Path(variable.name, origin.scope, variable.type)


def _path_of_attribute(expression: MemberExpr, api: Checker) -> Path | None:
    contents, name = checked_contents(api), expression.name
    if isinstance(expression.node, Var) and is_module(expression.expr):
        module = expression.node.fullname.rpartition(".")[0]
        return None if is_written(name, contents) else Path(name, module, expression.node.type)
    base = object_path(expression.expr, api)
    if base is None:
        return None
    method = contents.receivers.get(expression.expr.node) if isinstance(expression.expr, NameExpr) else None  # type: ignore[arg-type]  # None is no key
    if method is None:
        attribute = _attribute(base.type, name, contents)
        return None if attribute is None else Path(f"{base.label}.{name}", base.scope, attribute)
    info = method.info
    written = write_by_constructor(info, name, contents)
    if written is None:
        is_constant = (_owner(info, name), name) in contents.constants and not related_writes(info, name, contents)
        attribute = _declared(info, name) if is_frozen(info, name) or is_constant else None
        return Path(f"self.{name}", info.fullname, attribute) if attribute is not None else None
    if isinstance(written.value, NameExpr | MemberExpr | IndexExpr):
        same = object_path(written.value, api)
        if same is not None:
            return same
    return Path(f"self.{name}", info.fullname, _declared(info, name))


def is_module(expression: Expression) -> bool:
    """Return whether an expression denotes a module, as the `settings` of `settings.width`."""
    return isinstance(expression, RefExpr) and isinstance(expression.node, MypyFile)


def _attribute(owner: Type | None, name: str, contents: Contents) -> Type | None:
    """Return the type of an attribute that does not change; None if it may."""
    p = get_proper_type(owner) if owner is not None else None
    fallback = getattr(p, "partial_fallback", p)  # the class of a named tuple
    if isinstance(p, AnyType):
        return None if is_written(name, contents) else p
    if isinstance(p, TypeType) and isinstance(p.item, Instance):
        return _of_class(p.item.type, name, contents)
    if not isinstance(fallback, Instance):
        return None
    info = fallback.type
    if not is_frozen(info, name) and is_written(name, contents, info):
        return None
    return _declared(info, name)


def _of_class(info: TypeInfo, name: str, contents: Contents) -> Type | None:
    """Return the type of an attribute of a class itself that does not change; None if it may."""
    symbol = info.get(name)
    is_plain = symbol is not None and isinstance(symbol.node, Var) and info.metaclass_type is None
    return _declared(info, name) if is_plain and not is_written(name, contents, info) else None


def _declared(info: TypeInfo, name: str) -> Type | None:
    """Return the declared type of an attribute; Any where the class answers any name."""
    symbol = info.get(name)
    if symbol is None:
        answers = info.get("__getattr__")
        method = get_proper_type(answers.type) if answers is not None and answers.type is not None else None
        return get_proper_type(method.ret_type) if isinstance(method, CallableType) else None
    node = symbol.node
    if isinstance(node, Decorator):
        is_steady = node.var.is_property and is_frozen(info, name)
        result = get_proper_type(node.func.type) if is_steady else None
        return result.ret_type if isinstance(result, CallableType) else None
    return node.type if isinstance(node, Var) else None


def _owner(info: TypeInfo, name: str) -> str:
    return next((base.fullname for base in info.mro if name in base.names), "")
