"""Dictionaries of tensors whose keys are written, such as `{"mean": mean, "target": y}`, known key by key.

mypy gives all values of a dictionary one type. What each key has is saved beside the type of a call that returns such
a dictionary, and beside that of a parameter, as long as nothing changes the dictionary without being followed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from mypy.nodes import (
    CallExpr,
    DictExpr,
    DictionaryComprehension,
    Expression,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    RefExpr,
    SliceExpr,
    StrExpr,
    TupleExpr,
    TypeInfo,
    Var,
)
from mypy.types import Instance, TupleType, Type, TypeVarType, UnionType, get_proper_type

from tapegrad.mypy.conversion import (
    ARRAY,
    MODULE,
    fields_of,
    is_iterator,
    joined,
    opaque_paths,
    shape_items,
    tensor_parts,
    unknown,
    without_opaque,
)
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    checked_file,
    checked_type,
    depend_on_bodies,
    enclosing_function,
    in_scope_of,
    inside_body,
    stored_type,
    type_where,
)
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.assigned import assigned_by_methods
from tapegrad.mypy.scopes.called_functions import arguments_of_call, called_function, given_array
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.dictionary_changes import (
    AttributeChanges,
    Changes,
    changes_of_attribute,
    changes_of_variable,
    is_local,
    is_returned,
    list_of_items,
    looped,
    variables_for_items,
)
from tapegrad.mypy.scopes.file_contents import loop_of
from tapegrad.mypy.scopes.frames import (
    Frame,
    GivenEntries,
    GivenTensor,
    Made,
    Reading,
    Records,
    binding,
    is_passed_on,
    key_of,
    turns_noted,
    within,
)
from tapegrad.mypy.scopes.functions import method_of, parameter_taking, written_with_file
from tapegrad.mypy.scopes.names import (
    bound_last,
    bound_once,
    classes_in,
    unpacked_once,
)
from tapegrad.mypy.scopes.objects import decided, object_of
from tapegrad.mypy.scopes.opaque import other_shapes
from tapegrad.mypy.scopes.readings import PassCache
from tapegrad.mypy.scopes.rebinding import newest
from tapegrad.mypy.scopes.sequences import turns, type_read
from tapegrad.mypy.scopes.written_attributes import files_with

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from mypy.nodes import MypyFile, Node

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.file_contents import Loop
    from tapegrad.mypy.scopes.frames import ClassOf, Value

Entries: TypeAlias = "Mapping[str, Type]"  # what each key has, if the dictionary has the key; Any where it is unknown

_DEEPEST: Final = 8  # functions that pass a dictionary on
_GENERATORS: Final = frozenset({"typing.Generator", "typing.Iterable", "typing.Iterator"})
_MOST: Final = 10_000  # types with saved entries; far more than a program has calls that return dictionaries
_NUMBERS: Final = frozenset({"builtins.bool", "builtins.float", "builtins.int"})
_DICTIONARIES: Final = frozenset({"builtins.dict", "typing.Mapping"})


class _Saved(NamedTuple):
    """A type with entries.

    Attributes:
        t: The type, which is saved because its `id` is the key.
        entries: Its entries.
        owner: The call that has returned the dictionary, or the parameter that is one.
    """

    t: Instance | TupleType
    entries: Entries
    owner: Node | None


_Owner = TypeVar("_Owner", Instance, TupleType)
_saved: dict[int, _Saved] = {}


def is_dictionary(t: Type | None) -> bool:
    """Return whether a type is that of a dictionary with strings as keys."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in _DICTIONARIES


def with_entries(t: _Owner, entries: Entries, owner: Node | None = None) -> _Owner:
    """Return the type of a dictionary whose keys are known, or of a record with these fields.

    It is equal to that of others, but another object.
    """
    if len(_saved) >= _MOST:
        _saved.clear()
    one: _Owner = t.copy_modified()
    _saved[id(one)] = _Saved(one, entries, owner)
    return one


def entries_in(t: Type | None) -> Entries | None:
    """Return the entries that are saved with a type; None if there are none."""
    found = _saved_with(t)
    return None if found is None else found.entries


def _saved_with(t: Type | None) -> _Saved | None:
    return _saved.get(id(get_proper_type(t)))


def without_entries(t: Type) -> Type:
    """Return a type with which no entries are saved."""
    p = get_proper_type(t)
    return p.copy_modified() if isinstance(p, Instance) and _saved_with(p) is not None else t


def with_inner_entries(t: Type) -> list[Type]:
    """Return a type, and those of the entries that are saved with it, or with an item of a tuple."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return [t, *(one for item in p.items for one in with_inner_entries(item)[1:])]
    return [t, *(inner for one in (entries_in(p) or {}).values() for inner in with_inner_entries(one))]


def key_of_entries(t: Type) -> Hashable:
    """Return what is equal for types with the same entries."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return tuple(map(key_of_entries, p.items))
    entries = entries_in(p)
    return None if entries is None else tuple((key, one, key_of_entries(one)) for key, one in entries.items())


def entries_of(dictionary: Expression, api: Checker) -> Entries | None:
    """Return what each key of a dictionary has where an expression is evaluated; None if another may be there."""
    depend_on_bodies(api)  # of the functions that get the dictionary
    match dictionary:
        case DictExpr(items=pairs) | CallExpr(analyzed=DictExpr(items=pairs)):
            return _of_display(pairs, api, is_now=True)
        case DictionaryComprehension():
            noted = turns_noted(dictionary)
            if noted is None:
                return _of_comprehension(dictionary, api)
            return {key: _known_item(t) for key, t in noted if key is not None}
        case CallExpr(callee=MemberExpr(expr=record, name="_asdict"), args=[]):
            return _of_named_tuple(record, api)
        case CallExpr():
            return _of_owner(stored_type(api, dictionary), dictionary)
        case NameExpr(node=Var() as variable):
            return _of_variable(variable, dictionary, api)
        case MemberExpr():
            return _of_attribute(dictionary, api)
        case IndexExpr(base=outer, index=StrExpr(value=key)):
            return entries_in((entries_of(outer, api) or {}).get(key))
        case IndexExpr(base=NameExpr(node=Var() as rows), index=index) if not isinstance(index, SliceExpr):
            return _of_rows(rows, api)
    return None


def entry_of(dictionary: Expression, key: Expression, api: Checker) -> Type | None:
    """Return the type of an entry of a dictionary by a key that is written or known; None if it is not known."""
    name = object_of(key, api)
    return (entries_of(dictionary, api) or {}).get(name) if isinstance(name, str) else None


def made_entries(value: Expression, t: Type, api: Checker) -> Type:
    """Return the type of what a body returns, with the entries of dictionaries that only the body has had so far."""
    p = get_proper_type(t)
    if isinstance(p, TupleType) and isinstance(value, TupleExpr) and len(p.items) == len(value.items):
        return p.copy_modified(
            items=[made_entries(item, one, api) for item, one in zip(value.items, p.items, strict=True)]
        )
    if isinstance(p, TupleType) and isinstance(made := object_of(value, api), Made):
        return _with_fields_of_tuple(p, made)
    if isinstance(p, TypeVarType) and isinstance(made := object_of(value, api), Made) and not made.info.type_vars:
        p = Instance(made.info, [])  # of `cls(...)`, whose class is that of the call
    if isinstance(p, Instance) and is_record(p):
        return _with_fields(p, object_of(value, api))
    if not isinstance(p, Instance) or not is_dictionary(p):
        return t
    is_own = not isinstance(value, NameExpr) or not (isinstance(value.node, Var) and value.node.is_argument)
    entries = entries_of(value, api) if is_own else None
    return without_entries(t) if entries is None else with_entries(p, entries)


def is_record(t: Instance) -> bool:
    """Return whether a type is a dataclass without type variables, whose fields may be tensors."""
    return "dataclass" in t.type.metadata and not t.args and not t.type.has_base(MODULE)


def _with_fields(t: Instance, value: Value) -> Type:
    """Return the type of a dataclass with the tensors in its fields, which only the body that is read has had."""
    is_made = isinstance(value, Made) and value.info is t.type and value.constructor == t.type.fullname
    arguments = value.arguments if is_made and isinstance(value, Made) else ()
    fields = {name: field for name, value in arguments if (field := _type_of_field(t, name, value)) is not None}
    return with_entries(t, fields) if fields else without_entries(t)


def _with_fields_of_tuple(t: TupleType, made: Made) -> TupleType:
    """Return the type of a named tuple with its arrays, and with the entries of the dictionaries in its fields."""
    if made.info is not t.partial_fallback.type:
        return t
    given = dict(made.arguments)
    pairs = [(item, given.get(name)) for name, item in zip(fields_of(made.info), t.items, strict=False)]
    if len(pairs) == len(t.items) and any(isinstance(value, GivenEntries) for _, value in pairs):
        t = t.copy_modified(items=[_with_given_entries(item, value) or item for item, value in pairs])
    arrays = {
        name: value.t for name, value in given.items() if isinstance(value, GivenTensor) and not tensor_parts(value.t)
    }
    return with_entries(t, arrays) if arrays else t


def _with_given_entries(t: Type, value: Value) -> Type | None:
    """Return the declared type of a field with the entries that a call gives it; None if it gives none."""
    p = get_proper_type(t)
    if not isinstance(value, GivenEntries) or not isinstance(p, Instance) or not is_dictionary(p):
        return None
    return with_entries(p, dict(value.entries))


def _type_of_field(record: Instance, name: str, value: Value) -> Type | None:
    """Return the type of a field that holds a tensor, or a dictionary with its entries; None for any other."""
    if isinstance(value, GivenTensor):
        return value.t
    symbol = record.type.get(name)
    declared = symbol.node.type if symbol is not None and isinstance(symbol.node, Var) else None
    return None if declared is None else _with_given_entries(declared, value)


def _value_of_field(t: Type) -> Value:
    entries = entries_in(t)
    return GivenTensor(t) if entries is None else GivenEntries((*entries.items(),))


def _given_entries(argument: Expression, api: Checker) -> GivenEntries | None:
    """Return the dictionary that a call gives a field, without the entries of the dictionaries in it."""
    is_written = isinstance(argument, DictExpr | DictionaryComprehension)
    if not is_written and not is_dictionary(stored_type(api, argument)):
        return None
    entries = entries_of(argument, api) if isinstance(argument, NameExpr) else _of_value(argument, api)
    if not any(_is_known_item(t) for t in (entries or {}).values()):
        return None
    return GivenEntries(tuple((key, _known_item(t)) for key, t in (entries or {}).items()))


def _returned_record(call: CallExpr, position: int | None, api: Checker) -> Made | None:
    t = type_read(call, api)
    several = get_proper_type(t)
    if position is not None:
        is_there = isinstance(several, TupleType) and -len(several.items) <= position < len(several.items)
        t = several.items[position] if isinstance(several, TupleType) and is_there else None
    return _record_of(t, call, api)


def _yielded_record(call: CallExpr, api: Checker) -> Made | None:
    several = get_proper_type(type_read(call, api))
    is_known = isinstance(several, Instance) and is_iterator(several)
    return _record_of(several.args[0], call, api) if is_known and isinstance(several, Instance) else None


def _record_of(t: Type | None, call: CallExpr, api: Checker) -> Made | None:
    """Return a dataclass or a named tuple with the tensors that a call gives its fields."""
    p = get_proper_type(t)
    fields = _of_owner(t, call)
    if isinstance(p, TupleType):
        return _named_tuple(p, fields or {}, api)
    if fields is None or not isinstance(p, Instance) or not is_record(p):
        return None
    return Made(p.type, p.type.fullname, tuple((name, _value_of_field(field)) for name, field in fields.items()))


def _named_tuple(t: TupleType, arrays: Entries, api: Checker) -> Made | None:
    """Return a named tuple with the tensors that its type says; None if it may be of a subclass with other methods."""
    info = t.partial_fallback.type
    if info.type_vars or _may_have_subclass(info, api):
        return None
    pairs = zip(fields_of(info), t.items, strict=False)
    known = [(name, arrays.get(name, field)) for name, field in pairs]
    fields = tuple(
        (name, _value_of_field(field))
        for name, field in known
        if name in arrays or _has_known_rank(field) or entries_in(field)
    )
    return Made(info, info.fullname, fields) if fields else None


def _may_have_subclass(info: TypeInfo, api: Checker) -> bool:
    files = files_with(info, api)
    return None in files or any(info in one.mro and one is not info for file in files for one in classes_in.of(file))


def _has_known_rank(t: Type) -> bool:
    parts = tensor_parts(t)
    return parts is not None and shape_items(parts.shape) is not None


Records.returned = _returned_record
Records.yielded = _yielded_record
Records.given = _given_entries


def _of_display(pairs: list[tuple[Expression | None, Expression]], api: Checker, *, is_now: bool) -> Entries | None:
    """Return the entries of a display; `is_now` says whether it has just been evaluated."""
    entries: dict[str, Type] = {}
    for key, value in pairs:
        if isinstance(key, StrExpr):
            inner = _of_display(value.items, api, is_now=is_now) if isinstance(value, DictExpr) else None
            t = get_proper_type(stored_type(api, value)) if inner is not None else None
            if inner is not None and isinstance(t, Instance):  # whose own dictionaries may have other names
                entries[key.value] = with_entries(t, {name: _known_item(one) for name, one in inner.items()})
            else:
                entries[key.value] = _tensor(value, api, is_now=is_now)
            continue
        others = entries_of(value, api) if key is None else None  # {**others}
        if others is None:
            return None
        entries.update(others)
    return entries


def _of_named_tuple(record: Expression, api: Checker) -> Entries | None:
    """Return the entries of the dictionary that `record._asdict()` makes of a named tuple."""
    t, made = get_proper_type(stored_type(api, record)), object_of(record, api)
    if not isinstance(t, TupleType) or not t.partial_fallback.type.is_named_tuple:
        return None
    info = t.partial_fallback.type
    given = dict(made.arguments) if isinstance(made, Made) and made.info is info else {}
    fields = [given.get(name) for name in fields_of(info)]
    types = [one.t if isinstance(one, GivenTensor) else item for one, item in zip(fields, t.items, strict=True)]
    return {name: _known_item(one) for name, one in zip(fields_of(info), types, strict=True)}


def _of_comprehension(dictionary: DictionaryComprehension, api: Checker) -> Entries | None:
    """Return the arrays in a dictionary such as `{name: np.zeros(n) for name, n in counts.items()}`; None for others.

    mypy knows the tensors in one by the type of the dictionary.
    """
    value = dictionary.value
    t = get_proper_type(stored_type(api, value))
    if Reading.frame is not None or len(dictionary.indices) != 1:
        return None
    if (mapped := _of_mapped_entries(dictionary, api)) is not None or any(dictionary.condlists):
        return mapped
    if not isinstance(t, Instance) or t.type.fullname != ARRAY:
        return None
    entries: dict[str, Type] = {}
    for turn in turns(dictionary.indices[0], dictionary.sequences[0], api) or ():
        with binding(turn):
            key = None if dictionary.key is None else object_of(dictionary.key, api)
            array = given_array(value, t, api)
        if not isinstance(key, str):
            return None
        entries[key] = unknown() if array is None else array.t
    return entries or None


def _of_mapped_entries(dictionary: DictionaryComprehension, api: Checker) -> Entries | None:
    """Return the entries of `{key: x.trace() for key, x in batch.items()}`, of which those of `batch` are known."""
    match dictionary.indices[0], dictionary.sequences[0]:
        case (
            TupleExpr(items=[NameExpr(node=Var() as name), NameExpr(node=Var() as item)]),
            CallExpr(callee=MemberExpr(expr=mapped, name="items"), args=[]),
        ):
            entries: dict[str, Type] = {}
            for key, t in (entries_of(mapped, api) or {}).items():
                with binding({name: key}):
                    are_met = [decided(one, api) for one in dictionary.condlists[0]]
                    new_key = None if dictionary.key is None else object_of(dictionary.key, api)
                    if None in are_met or not isinstance(new_key, str):
                        return None
                    if all(are_met):
                        entries[new_key] = _known_item(type_where(api, item, t, dictionary.value) or unknown())
            return entries or None
    return None


def _tensor(value: Expression, api: Checker, *, is_now: bool) -> Type:
    """Return the type of a tensor in a dictionary; Any if it is unknown.

    Of a variable that is bound again, mypy may have read an older type, which only the binder of that time corrects.
    """
    t = stored_type(api, value)
    if Reading.frame is None and is_now:
        t = None if t is None else newest(t, value, api)
    elif Reading.frame is None and isinstance(value, NameExpr | MemberExpr):
        is_steady = isinstance(value, NameExpr) and isinstance(value.node, Var) and bound_once(value.node, api)[1]
        t = t if is_steady else None
    if t is None or tensor_parts(t) is not None:
        return _known_tensor(t)
    p = get_proper_type(t)
    if isinstance(p, Instance) and is_number(p):
        return p.copy_modified(last_known_value=None)
    array = given_array(value, p, api)
    return _known_item(p) if array is None else array.t


def _known_tensor(t: Type | None) -> Type:
    return t if t is not None and tensor_parts(t) is not None else unknown()


def is_number(t: Type) -> bool:
    """Return whether the type of an entry is that of a number of Python."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in _NUMBERS


def _known_item(t: Type) -> Type:
    """Return the type of a tensor, or of an array of NumPy; Any for any other."""
    return t if _is_known_item(t) else unknown()


def _is_known_item(t: Type) -> bool:
    p = get_proper_type(t)
    return tensor_parts(t) is not None or (isinstance(p, Instance) and p.type.fullname == ARRAY)


def _of_owner(t: Type | None, owner: Node) -> Entries | None:
    found = _saved_with(t)
    return found.entries if found is not None and found.owner is owner else None


def _of_variable(variable: Var, use: NameExpr, api: Checker) -> Entries | None:
    value, is_only = bound_once(variable, api)
    if variable.is_argument:
        return _of_owner(variable.type, variable) if is_only else None
    if Reading.frame is not None and (followed := _of_owner(variable.type, variable)) is not None:
        return followed
    values = [value] if is_only else bound_last(use, api)
    rows = None if is_only else list_of_items(variable, checked_file(api))
    changes = changes_of_variable(variable, checked_file(api))
    if changes is None:
        return None
    several = (
        [_of_part(variable, api) if one is None else _of_value(one, api) for one in values]
        if rows is None
        else [_of_rows(rows, api)]
    )
    entries = several[0] if len(several) == 1 else None  # of one of several dictionaries, nothing is known
    if entries is None or not all(_only_reads(call, one, entries, api) for call, one in changes.calls):
        return None
    entries = {key: t if _stays(key, t, changes, api) else unknown() for key, t in entries.items()}
    known = dict(entries)
    for key, values in changes.keys.items():
        only = values[0] if len(values) == 1 and key not in entries else None
        known[key] = unknown() if only is None else _tensor(only, api, is_now=False)
    if Reading.frame is not None and not is_local(variable):  # of the module, whose sizes have other names
        return {key: without_opaque(t) for key, t in known.items()}
    return known


def _stays(key: str, t: Type, changes: Changes, api: Checker, depth: int = 0) -> bool:
    """Return whether an item of a dictionary stays what it is: a tensor, or a dictionary that nothing changes."""
    inner = entries_in(t)
    return inner is None or all(
        isinstance(node, CallExpr) and node.callee is not item and _only_reads(node, item, inner, api, depth)
        for name, node, item in changes.items
        if name in (key, None)
    )


def _of_value(value: Expression, api: Checker) -> Entries | None:
    match value:
        case DictExpr(items=pairs) | CallExpr(analyzed=DictExpr(items=pairs)):
            return _of_display(pairs, api, is_now=False)
        case NameExpr():  # another name, by which the program may change it
            return None
    return entries_of(value, api)


_of_attributes: PassCache[Entries | None] = PassCache()  # of dictionaries, by the object and the name


def _of_attribute(attribute: MemberExpr, api: Checker) -> Entries | None:
    """Return the entries of a dictionary that only a constructor makes, such as `self.data`, if they keep their types.

    A program may replace them, as by `self.data[name] = self.data[name].at_set(0, x)`, and then they may have a tape.
    """
    made, name = object_of(attribute.expr, api), attribute.name
    if not isinstance(made, Made):
        return None
    key = key_of(made), name
    return _of_attributes.of(key, partial(_followed_in, attribute, made, api), api, meanwhile=None)


def _followed_in(attribute: MemberExpr, made: Made, api: Checker) -> Entries | None:
    """Return the entries of a dictionary in an attribute, if all that the program does with it is followed."""
    changes: list[AttributeChanges] = []
    for file in files_with(made.info, api):
        of_file = changes_of_attribute(file, made.info, attribute.name)
        if of_file is None:
            return None
        changes.append(of_file)
    is_record = made.constructor == made.info.fullname
    field = dict(made.arguments).get(attribute.name) if is_record else None
    entries = dict(field.entries) if isinstance(field, GivenEntries) else _made_by_constructor(attribute, made, api)
    if entries is None or not all(_only_reads(*call, entries, api) for one in changes for call in one.calls):
        return None
    if any(one.are_items_assigned for one in changes):
        entries = {key: t if tensor_parts(t) is None and _is_known_item(t) else unknown() for key, t in entries.items()}
    if any(one.is_replaced for one in changes):
        entries = {key: _with_any_tape(t) for key, t in entries.items()}
    return entries


def _with_any_tape(t: Type) -> Type:
    p = get_proper_type(t)
    is_tensor = isinstance(p, Instance) and tensor_parts(p) is not None
    return p.copy_modified(args=[p.args[0], unknown(), p.args[2]]) if isinstance(p, Instance) and is_tensor else t


def _made_by_constructor(attribute: MemberExpr, made: Made, api: Checker) -> Entries | None:
    """Return the entries of the dictionary that the constructor of an object assigns to an attribute."""

    def entries_made(value: Expression, position: int | None) -> Entries | None:
        return _displayed(value, made, api) if position is None else None

    assigned = assigned_by_methods(attribute.expr, attribute.name, entries_made, api)
    return assigned[0].value if len(assigned) == 1 and not assigned[0].scope and not assigned[0].is_changed else None


def _displayed(value: Expression, made: Made, api: Checker) -> Entries | None:
    """Return the entries of a dictionary that is written in the constructor of an object, whose frame is read."""
    constructor = enclosing_function(api)
    pairs = value.items if isinstance(value, DictExpr) else []
    if not pairs or not isinstance(constructor, FuncDef) or BodiesRead.depth >= _DEEPEST:
        return None
    entries: dict[str, Type] = {}
    with other_shapes(), inside_body(api, constructor) as errors:
        for key, one in pairs:
            if not isinstance(key, StrExpr):
                return None
            t = checked_type(api, one, may_be_none=True)
            array = given_array(one, get_proper_type(t), api)
            t = _known_tensor(t) if array is None else array.t
            kept = frozenset(path for path in opaque_paths(t) if is_passed_on(path, made))
            entries[key.value] = without_opaque(t, kept)
        return None if errors() else entries


def _of_part(variable: Var, api: Checker) -> Entries | None:
    """Return the entries of a dictionary that is unpacked from the result of a call, or that a generator yields."""
    source = unpacked_once(variable, api)
    loop = loop_of(variable, api) if source is None else None
    if loop is not None:
        return _yielded(variable, loop, api)
    if source is None or not isinstance(source[0], CallExpr):
        return None
    call, position = source
    several = get_proper_type(stored_type(api, call))
    is_item = isinstance(several, TupleType) and position < len(several.items)
    return _of_owner(several.items[position], call) if is_item and isinstance(several, TupleType) else None


def _yielded(variable: Var, loop: Loop, api: Checker) -> Entries | None:
    """Return the entries of the dictionaries that a loop over a generator, or a list, binds to a variable."""
    sequence = next((of for one, of in looped(loop.target, loop.sequence) if one is variable), None)
    if isinstance(sequence, NameExpr) and isinstance(sequence.node, Var):
        rows = _of_rows(sequence.node, api)
        if rows is not None:
            return rows
    if isinstance(sequence, NameExpr) and isinstance(sequence.node, Var):
        sequence, _ = bound_once(sequence.node, api)
    if sequence is not None:
        return _of_owner(_type_yielded(sequence, api), sequence)
    if not isinstance(loop.target, TupleExpr) or not isinstance(loop.sequence, CallExpr):
        return None
    several = get_proper_type(_type_yielded(loop.sequence, api))  # a tuple of dictionaries at each turn
    places = [at for at, one in enumerate(loop.target.items) if isinstance(one, NameExpr) and one.node is variable]
    if len(places) != 1 or not isinstance(several, TupleType) or len(several.items) != len(loop.target.items):
        return None
    return _of_owner(several.items[places[0]], loop.sequence)


def _type_yielded(sequence: Expression, api: Checker) -> Type | None:
    """Return the type of what a call of a generator yields; None of any other expression."""
    several = get_proper_type(stored_type(api, sequence)) if isinstance(sequence, CallExpr) else None
    is_generator = isinstance(several, Instance) and several.type.fullname in _GENERATORS
    return several.args[0] if isinstance(several, Instance) and is_generator else None


def _of_rows(rows: Var, api: Checker) -> Entries | None:
    """Return what each key has in all dictionaries of a list that is written, such as `[{"x": x} for _ in range(3)]`.

    None if the program does more with the list than run over it and read its items.
    """
    variables = variables_for_items(rows, checked_file(api))
    value, _ = bound_once(rows, api)
    match value:
        case ListExpr(items=[_, *_] as displays):
            pass
        case ListComprehension(generator=GeneratorExpr(left_expr=display)):
            displays = [display]
        case _:
            return None
    known = [_of_display(one.items, api, is_now=False) if isinstance(one, DictExpr) else None for one in displays]
    several = [entries for entries in known if entries is not None]
    if variables is None or len(several) < len(known) or any(one.keys() != several[0].keys() for one in several):
        return None
    entries = {
        key: _known_tensor(without_opaque(joined(UnionType([one[key] for one in several])))) for key in several[0]
    }
    for variable in variables:
        of_row = changes_of_variable(variable, checked_file(api))
        if of_row is None or of_row.keys or is_returned(variable, checked_file(api)):
            return None
        if not all(_only_reads(*one, entries, api) for one in of_row.calls):
            return None
    return entries


def _only_reads(call: CallExpr, argument: Expression, entries: Entries, api: Checker, depth: int = 0) -> bool:
    """Return whether a function of the program that is called with a dictionary leaves it as it is, with what is in it.

    So does a layer that is called, if its `forward` does.
    """
    called = called_function(call.callee, api)
    if isinstance(call.callee, RefExpr) and isinstance(call.callee.node, TypeInfo):
        return _only_holds(call.callee.node, call, argument, entries, api, depth)
    layer = object_of(call.callee, api) if called is None else None
    symbol = layer.info.get("__call__") if isinstance(layer, Made) else None
    if isinstance(layer, Made) and symbol is not None and symbol.fullname == f"{MODULE}.__call__":
        called = method_of(layer, "forward")
    return called is not None and _leaves_argument(called, call, argument, entries, api, depth)


def _field_taking(argument: Expression, call: CallExpr, record: TypeInfo) -> str | None:
    """Return the field of a dataclass or a named tuple that takes an argument; None if a call does more with it."""
    if record.is_named_tuple:
        names: list[str | None] = [*fields_of(record)]
        is_plain = "__new__" not in record.names or record.names["__new__"].plugin_generated
    else:
        symbol = record.names.get("__init__")
        is_plain = symbol is not None and symbol.plugin_generated and record.get("__post_init__") is None
        constructor = symbol.node if symbol is not None and "dataclass" in record.metadata else None
        # mypy's cache keeps the names of its parameters, but not the parameters.
        names = constructor.arg_names[1:] if isinstance(constructor, FuncDef) else []
    at = call.args.index(argument)
    is_starred = any(kind.is_star() for kind in call.arg_kinds[: at + 1])
    name = call.arg_names[at] or (names[at] if at < len(names) else None)
    return name if is_plain and not is_starred and name in names else None


def _only_holds(
    record: TypeInfo, call: CallExpr, argument: Expression, entries: Entries, api: Checker, depth: int
) -> bool:
    """Return whether a call gives a dictionary to a field of a record, by which the program only reads it."""
    field = _field_taking(argument, call, record)
    if field is None or depth > _DEEPEST:
        return False
    changes = [changes_of_attribute(file, record, field) for file in files_with(record, api)]
    return all(
        each is not None
        and not each.is_replaced
        and all(_only_reads(*one, entries, api, depth + 1) for one in each.calls)
        for each in changes
    )


def only_reads_parameter(
    parameter: Var, entries: Entries, function: FuncDef, frame: Frame, file: MypyFile, api: Checker, depth: int = 0
) -> bool:
    """Return whether a function leaves a dictionary as it is that it gets, and so do those that it passes it on to.

    Args:
        parameter: The one that the dictionary is given for.
        entries: What the dictionary has, which may be further ones.
        function: The function, with its statements.
        frame: Its object and its other arguments, as far as they are known.
        file: Its file.
        api: mypy's checker.
        depth: The number of functions that have passed it on.
    """
    changes = changes_of_variable(parameter, file)
    if changes is None or changes.keys or depth > _DEEPEST:
        return False
    with in_file(file, api), within(frame), in_scope_of(api, function):
        return all(_only_reads(call, one, entries, api, depth + 1) for call, one in changes.calls) and all(
            _stays(key, t, changes, api, depth + 1) for key, t in entries.items()
        )


def _leaves_argument(
    called: tuple[FuncDef, Made | ClassOf | None],
    call: CallExpr,
    argument: Expression,
    entries: Entries,
    api: Checker,
    depth: int,
) -> bool:
    """Return whether a function that is called with a dictionary leaves it as it is, and gives it no other name."""
    function, of = called
    is_bound = function.info and (function.is_class or (isinstance(of, Made) and not function.is_static))
    written, file = written_with_file(function, api)
    if (
        written is None
        or file is None
        or is_changed(written, api)
        or (function.info and not is_bound and of is not None)
    ):
        return False
    parameter = parameter_taking(argument, call, written.arguments[1 if is_bound else 0 :])
    if parameter is None:
        return False
    declared = get_proper_type(parameter.type)
    is_flat = not any(entries_in(t) for t in entries.values())
    if is_flat and isinstance(declared, Instance) and declared.type.fullname == "typing.Mapping":
        return True
    if is_returned(parameter, file):
        return False
    frame = Frame(
        written.fullname, dict(arguments_of_call(written, call, api) or ()), of if isinstance(of, Made) else None, {}
    )
    return only_reads_parameter(parameter, entries, written, frame, file, api, depth)
