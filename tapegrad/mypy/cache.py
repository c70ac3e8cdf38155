"""A cache of result types: for a call of an op or a layer with the same types, nothing is bound or computed again.

The key of a call has everything that the result depends on: numbers, the spelling of size names, tapes and dtypes. Each
function has its own `N`, so a cached result is rewritten with the names of the new call. A call is not cached if its
result depends on more (a class of the program, which an edit may change, an expression that a size is read from, a
consumed tape) or if it is an error.
"""

from __future__ import annotations

import operator
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mypy.nodes import (
    Decorator,
    Expression,
    FuncDef,
    IndexExpr,
    IntExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    SliceExpr,
    SymbolNode,
    TupleExpr,
)
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeVarId,
    TypeVarType,
    get_proper_type,
    has_type_vars,
)

from tapegrad.mypy.conversion import ARITHMETIC, OPAQUE, TENSOR, kind_of
from tapegrad.mypy.mypy_api import expand_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Form: TypeAlias = object  # an argument in the key of a call, never None
Key: TypeAlias = tuple[Form, ...]
Names: TypeAlias = list[TypeVarType]

_MOST = 1000  # entries: calls of one op, and tapes and dtypes
_BOOL, _FLOAT, _SLICE, _TUPLE = "builtins.bool", "builtins.float", "builtins.slice", "builtins.tuple"
_ELLIPSIS = ("builtins.ellipsis", "types.EllipsisType")


class Answers:
    """The cached results of one op or one layer, by call."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Names, Type]] = {}

    def of(self, call: Call) -> Type | None:
        """Return the cached result of a call; None if there is none."""
        known = self._known.get(call.key)
        if known is None:
            return None
        names, result = known
        if not all(map(operator.is_, names, call.names)):
            result = _spelt(result, {one.id: other for one, other in zip(names, call.names, strict=True)})
            self._known[call.key] = call.names, result
        return result

    def keep(self, call: Call, result: Type) -> None:
        """Store the result of a call."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[call.key] = call.names, result


class Call(NamedTuple):
    """A call: its key, the size names in it in order of appearance, and the cache to look in."""

    key: Key
    names: Names
    answers: Answers

    def answer(self) -> Type | None:
        """Return the cached result; None if there is none."""
        return self.answers.of(self)

    def store(self, result: Type) -> Type:
        """Store the result, and return it."""
        self.answers.keep(self, result)
        return result


def _spelt(t: Type, names: dict[TypeVarId, Type]) -> Type:
    """Rename the sizes in a type; the tape and the dtype of a tensor have none, and are not copied."""
    p = get_proper_type(t)
    if not isinstance(p, Instance) or p.type.fullname != TENSOR:
        return expand_type(t, names)
    shape = get_proper_type(p.args[0])
    if not isinstance(shape, TupleType):
        return t
    items = [item if isinstance(item, LiteralType) else expand_type(item, names) for item in shape.items]
    return p.copy_modified(args=[shape.copy_modified(items=items), *p.args[1:]])


def call_of(
    answers: Answers,
    arguments: Iterable[tuple[str, Type, Expression | None]],
    layer: Instance | None = None,
    default: Type | None = None,
) -> Call | None:
    """Return a call with its key; None if its result may depend on more than the key can hold.

    Args:
        answers: The cache to look in.
        arguments: Name, type and expression of each argument.
        layer: The layer that is called, whose sizes and dtype are part of the key.
        default: The result type that mypy infers, if parts of it may be used.
    """
    names: Names = []
    key: list[Form] = []
    if default is not None:
        if has_type_vars(default):
            return None
        key.append(default)
    for part in layer.args if layer is not None else ():
        form = _dtype(part) or _size(part, names)
        if form is None:
            return None
        key.append(form)
    for name, t, expression in arguments:
        form = _form(t, expression, names)
        if form is None:
            return None
        key += name, form
    return Call(tuple(key), names, answers)


def answers_of(function: SymbolNode | None) -> Answers | None:
    """Return the cache for a method of one of the library's layers; a new one if its declaration has changed."""
    # The `forward` of most layers is decorated.
    if not isinstance(function, FuncDef | Decorator) or not function.fullname.startswith("tapegrad.nn."):
        return None
    written, answers = _answers.get(function, (None, None))
    if answers is None or written is not function.type:  # the daemon has read the file again
        answers = Answers()
        _answers[function] = function.type, answers
    return answers


def _form(t: Type, expression: Expression | None, names: Names) -> Form | None:
    p = get_proper_type(t)
    if isinstance(p, Instance):
        fullname = p.type.fullname
        if fullname == TENSOR:
            return _tensor(p.args, names)
        if p.last_known_value is not None:
            return fullname, p.last_known_value  # not the key of a literal type, which other parameters accept
        if fullname == _FLOAT or fullname in _ELLIPSIS:
            return p
        return _slice(expression) if fullname == _SLICE and isinstance(expression, SliceExpr) else None
    if isinstance(p, TupleType):
        return _tuple(p, expression, names)
    if isinstance(p, AnyType) and isinstance(expression, MemberExpr | NameExpr | OpExpr | IndexExpr):
        return None  # it may be an opaque size
    if isinstance(p, LiteralType | NoneType | AnyType):
        return p
    return _name(p, names) if isinstance(p, TypeVarType) and kind_of(p) == "size" else None


def _tensor(arguments: Sequence[Type], names: Names) -> Form | None:
    shape, tape, dtype = map(get_proper_type, arguments)
    if not _is_known(tape) or not _is_known(dtype):
        return None
    if not isinstance(shape, TupleType):
        return (shape, tape, dtype) if isinstance(shape, AnyType) else None
    sizes = [item.value if isinstance(item, LiteralType) else _size(item, names) for item in shape.items]
    return None if None in sizes else (tuple(sizes), tape, dtype)


def _is_computed(content: ProperType) -> bool:
    return isinstance(content, Instance) and content.type.fullname in (OPAQUE, *ARITHMETIC)


def _size(t: Type, names: Names) -> Form | None:
    p = get_proper_type(t)
    if isinstance(p, TypeVarType):
        return _name(p, names)
    if isinstance(p, LiteralType):
        return p.value
    if isinstance(p, Instance) and p.type.fullname in ARITHMETIC:
        left, right = (_size(part, names) for part in p.args)
        return None if left is None or right is None else (p.type.fullname, left, right)
    if isinstance(p, Instance) and p.type.fullname == OPAQUE:
        content = get_proper_type(p.args[0])
        return _size(content, names) if _is_computed(content) else p  # a literal holds its path
    is_flag = isinstance(p, Instance) and p.type.fullname == _BOOL  # joined from layers whose flags differ
    return p if is_flag or isinstance(p, AnyType) else None


def _dtype(t: Type) -> Form | None:
    p = get_proper_type(t)
    return p if isinstance(p, Instance) and p.type.fullname.startswith("numpy.") and _is_known(p) else None


def _name(variable: TypeVarType, names: Names) -> Form | None:
    """Return the key of a size name: its spelling, and its default, which may allow zero."""
    for known in names:
        if known is variable:
            break
        if known.name == variable.name:  # of two functions, such as one nested in the other
            return None
    else:
        names.append(variable)
    return variable.name, variable.default


def _tuple(p: TupleType, expression: Expression | None, names: Names) -> Form | None:
    written = expression.items if isinstance(expression, TupleExpr) else repeat(None)
    if p.partial_fallback.type.fullname != _TUPLE:
        return None
    forms = [_form(item, part, names) for item, part in zip(p.items, written, strict=False)]
    return None if None in forms or len(forms) < len(p.items) else (_TUPLE, *forms)


def _slice(written: SliceExpr) -> Form | None:
    bounds = (written.begin_index, written.end_index, written.stride)
    if not all(bound is None or isinstance(bound, IntExpr) for bound in bounds):
        return None
    return (_SLICE, *(bound.value if isinstance(bound, IntExpr) else None for bound in bounds))


def _is_known(t: ProperType) -> bool:
    """Return whether a tape or a dtype is from Python, NumPy or tapegrad, and not consumed."""
    known = _known.get(t)
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[t] = _is_of_libraries(t)
    return known


def _is_of_libraries(t: ProperType) -> bool:
    if isinstance(t, TypeVarType):
        return not t.values and _is_of_libraries(get_proper_type(t.upper_bound))
    if not isinstance(t, Instance):
        return isinstance(t, AnyType)
    fullname = t.type.fullname
    return fullname.startswith(("numpy.", "tapegrad.", "builtins.")) and all(
        _is_of_libraries(get_proper_type(argument)) for argument in t.args
    )


_known: dict[ProperType, bool] = {}
_answers: dict[SymbolNode, tuple[Type | None, Answers]] = {}
