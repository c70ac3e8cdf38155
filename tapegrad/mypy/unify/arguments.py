"""The arguments of a call: the type, the expression and the tensor parts of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    ConditionalExpr,
    Expression,
    GeneratorExpr,
    ListComprehension,
    ListExpr,
    NameExpr,
    RefExpr,
    StarExpr,
    TupleExpr,
)
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    ProperType,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.conversion import (
    ARITHMETIC,
    ARRAY,
    GENERIC,
    Many,
    TensorParts,
    dtype_name,
    ends_of,
    is_size,
    joined,
    kind_of,
    literal,
    shape_items,
    size_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import make, map_instance_to_supertype, stored_type
from tapegrad.mypy.scopes.collections import appended_to, comprehension_of, display_of
from tapegrad.mypy.scopes.frames import turns_noted
from tapegrad.mypy.scopes.items import MOST_ITEMS
from tapegrad.mypy.scopes.objects import decided
from tapegrad.mypy.scopes.operations import type_of_any
from tapegrad.mypy.scopes.rebinding import newest
from tapegrad.mypy.scopes.sequences import length_of
from tapegrad.mypy.scopes.values import ValueUnknownError, count_of, is_whole, value_of
from tapegrad.mypy.unify.starred_arguments import is_known, options_given, with_values
from tapegrad.mypy.unify.starred_shapes import is_star_of_sizes
from tapegrad.sizes import Size, is_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mypy.plugin import FunctionContext, MethodContext

    from tapegrad.autograd.registry import Op

_STARS = (ARG_STAR, ARG_STAR2)
_NUMBERS = ("builtins.int", "builtins.float", GENERIC)  # a bool is an int


class Argument(NamedTuple):
    """One argument: its type, its expression if there is one, and its parts if it is a tensor."""

    type: Type
    expression: Expression | None
    tensor: TensorParts | None
    starred: bool = False  # from a star: any number of arguments, of unknown types
    keyword: str | None = None  # the name, for a keyword argument


_UNKNOWN_ARGUMENT: Final = Argument(unknown(), None, None, starred=True)

Given: TypeAlias = tuple[str, Type, Expression | None]  # the parameter, the type and the expression of an argument


class Parts(NamedTuple):
    """The tensors of a tuple or a list; if its length is unknown (`counted` is False), one type for all items."""

    types: list[Type]
    counted: bool


def arguments_of(ctx: FunctionContext | MethodContext, names: list[str]) -> dict[str, list[Argument]]:
    """Return the arguments by parameter; one from a star has an unknown type, unless the number of items is known."""
    spread: _Spread | None = None
    found: dict[str, list[Argument]] = {}
    for name, types, expressions, kinds, keywords in zip(
        names, ctx.arg_types, ctx.args, ctx.arg_kinds, ctx.arg_names, strict=True
    ):
        if len(types) == 1 and kinds[0] not in _STARS:
            found[name] = [_argument(types[0], expressions[0], keywords[0], ctx.api)]
        elif types:
            spread = spread or _Spread(ctx.api)
            several: list[Argument] = []
            for t, expression, kind, keyword in zip(types, expressions, kinds, keywords, strict=True):
                if kind is ARG_STAR2:
                    several += _optional(name, options_given(expression, names, ctx.api))
                elif kind is ARG_STAR:
                    several.append(_starred(t, expression, spread))
                    spread.last[expression] = several, len(several)
                else:
                    several.append(_argument(t, expression, keyword, ctx.api))
            if several:
                found[name] = several
    if spread is not None:
        spread.give_rest()
    return found


def given_alone(ctx: FunctionContext | MethodContext, names: list[str]) -> list[Given] | None:
    """Return the arguments of a call, each with its parameter; None if a parameter has several, or one from a star."""
    found: list[Given] = []
    for name, types, expressions, kinds in zip(names, ctx.arg_types, ctx.args, ctx.arg_kinds, strict=True):
        if types:
            if len(types) > 1 or kinds[0] in _STARS:
                return None
            found.append((name, types[0], expressions[0]))
    return found


class _Spread:
    """The items of the starred arguments of a call; mypy repeats a star for each parameter that it may give.

    Attributes:
        last: The arguments of the last of these parameters, which takes all items that are left, and their place.
    """

    def __init__(self, api: Any) -> None:
        self.api = api
        self.last: dict[Expression, tuple[list[Argument], int]] = {}
        self._left: dict[Expression, list[Type] | None] = {}

    def next(self, t: Type, expression: Expression) -> Type | None:
        """Return the next item of a starred argument; None if it is unknown."""
        if expression not in self._left:
            items = with_values(items_of(t, expression, self.api), expression, self.api)
            self._left[expression] = None if items is None else items[::-1]
        left = self._left[expression]
        return left.pop() if left else None

    def give_rest(self) -> None:
        """Give the items of a list that are left to the last parameter: mypy repeats the star of a tuple only."""
        for expression, (several, place) in reversed(self.last.items()):
            left = reversed(self._left[expression] or ())
            several[place:place] = [Argument(t, None, tensor_parts(joined(t))) for t in left]


def items_of(t: Type, expression: Expression | None, api: Any) -> list[Type] | None:
    """Return the types of the items of a tuple, a list display, a comprehension, or a variable that is bound to one.

    None if the number of items is unknown.
    """
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return None if any(isinstance(item, UnpackType) for item in p.items) else p.items
    if isinstance(expression, ListExpr):
        return _items_of_display(expression, api, api.get_expression_type)
    if isinstance(expression, ConditionalExpr):
        return _items_of_either(expression, api)
    comprehension = comprehension_of(expression, api) if isinstance(expression, NameExpr) else expression
    if isinstance(comprehension, ListComprehension | GeneratorExpr):
        if (noted := turns_noted(comprehension)) is not None:
            return [joined(one) for _, one in noted]
        generator = comprehension if isinstance(comprehension, GeneratorExpr) else comprehension.generator
        count, item = length_of(comprehension, api), stored_type(api, generator.left_expr)
        return None if item is None or count is None or count > MOST_ITEMS else [joined(item)] * count
    if isinstance(expression, CallExpr):
        return _items_of_copy(expression, api)
    display = display_of(expression, api) if isinstance(expression, NameExpr) else None
    if display is None:
        return None
    # The types at the display: the names in it may stand for something else by now.
    return _items_of_display(display, api, lambda item: stored_type(api, item))


def _items_of_copy(call: CallExpr, api: Any) -> list[Type] | None:
    """Return the types of the items of `list(xs)`, `tuple(xs)` or `reversed(xs)`, where those of `xs` are known."""
    match call:
        case CallExpr(
            callee=RefExpr(fullname="builtins.list" | "builtins.tuple" | "builtins.reversed" as name), args=[of]
        ):
            t = stored_type(api, of)
            items = None if t is None else items_of(t, of, api)
            return items[::-1] if items is not None and name == "builtins.reversed" else items
    return None


def _items_of_either(choice: ConditionalExpr, api: Any) -> list[Type] | None:
    """Return the types of the items of `[x, y] if flag else [y, x]`: those of the list that is chosen, if it is known.

    Else what the items at each place have in common, if both lists have as many.
    """
    is_true = decided(choice.cond, api)
    lists = [choice.if_expr, choice.else_expr] if is_true is None else [choice.if_expr if is_true else choice.else_expr]
    several: list[list[Type]] = []
    for one in lists:
        items = _items_of_display(one, api, lambda item: stored_type(api, item)) if isinstance(one, ListExpr) else None
        if items is None:
            return None
        several.append(items)
    if len({len(items) for items in several}) > 1:
        return None
    return [joined(UnionType([*types])) for types in zip(*several, strict=True)]


def _items_of_display(display: ListExpr, api: Any, type_of: Callable[[Expression], Type | None]) -> list[Type] | None:
    types: list[Type] = []
    for item in display.items:
        written = item.expr if isinstance(item, StarExpr) else item
        t = type_of(written)
        several = [t] if not isinstance(item, StarExpr) else None if t is None else items_of(t, written, api)
        if several is None or t is None:
            return None
        types += [joined(newest(one, item, api)) if item is written and one is t else one for one in several if one]
    return types


def _starred(t: Type, expression: Expression, spread: _Spread) -> Argument:
    item = spread.next(t, expression)
    return _UNKNOWN_ARGUMENT if item is None else Argument(item, None, tensor_parts(joined(item)))


def _optional(name: str, options: Mapping[str, Type] | None) -> list[Argument]:
    """Return what `**options` gives a parameter: nothing if none of its keys is the name of the parameter."""
    if options is None:
        return [_UNKNOWN_ARGUMENT]
    if name not in options:
        return []
    t = options[name]
    return [Argument(t, None, tensor_parts(joined(t))) if is_known(t) else _UNKNOWN_ARGUMENT]


def _argument(t: Type, expression: Expression, keyword: str | None, api: Any) -> Argument:
    if isinstance(get_proper_type(t), AnyType) and (known := type_of_any(expression, api)) is not None:
        return Argument(known, expression, tensor_parts(joined(known)), keyword=keyword)
    t = _array_in(t)
    parts = tensor_parts(joined(t))
    if parts is None and isinstance(expression, CallExpr) and is_array_of_any(t):
        # Without the expected type: an expected array of Any yields Any.
        t = _array_in(api.get_expression_type(expression))
    if parts is None and isinstance(expression, NameExpr):
        t = _with_appended(t, expression, api)
    return Argument(t, expression, parts, keyword=keyword)


def _array_in(t: Type) -> Type:
    """Return the array in `ndarray | Any`, which NumPy's stubs say of what is a scalar for some other arguments."""
    p = get_proper_type(t)
    items = [*map(get_proper_type, p.items)] if isinstance(p, UnionType) else []
    arrays = [one for one in items if isinstance(one, Instance) and one.type.fullname == ARRAY]
    return arrays[0] if len(arrays) == 1 and len(items) == 2 and any(isinstance(one, AnyType) for one in items) else t


def _with_appended(t: Type, expression: NameExpr, api: Any) -> Type:
    """Return the type of a list that grows with the sizes that all tensors in it have, as far as they are known."""
    p = get_proper_type(t)
    if not isinstance(p, Instance) or p.type.fullname != "builtins.list" or not _has_unknown_sizes(p.args[0]):
        return t
    items = appended_to(expression, api) or ()
    types = [newest(one, item, api) for item in items if (one := stored_type(api, item)) is not None]
    if not types or len(types) < len(items):
        return t
    item = joined(UnionType.make_union(types))
    return t if tensor_parts(item) is None else p.copy_modified(args=[item])


def _has_unknown_sizes(t: Type) -> bool:
    parts = tensor_parts(t)
    items = None if parts is None else shape_items(parts.shape)
    return parts is not None and (items is None or any(not isinstance(n, Many) and is_unknown(n) for n in items))


def is_array_of_any(t: Type) -> bool:
    """Return whether a type is an array whose dtype is unknown."""
    p = get_proper_type(t)
    if not isinstance(p, Instance) or p.type.fullname != ARRAY:
        return False
    dtype = get_proper_type(p.args[1])
    return not isinstance(dtype, Instance) or isinstance(get_proper_type(dtype.args[0]), AnyType)


def sizes_as_tuple(ctx: MethodContext) -> Argument | None:
    """Return separate size arguments as one tuple, as methods of NumPy take them; None if one is not a size."""
    types: dict[tuple[Expression, int], Type] = {}  # mypy repeats a star for each item of the starred tuple
    for t, expression, kind in zip(ctx.arg_types[0], ctx.args[0], ctx.arg_kinds[0], strict=True):
        p, items = get_proper_type(t), [t]
        if kind is ARG_STAR:
            items = p.items if isinstance(p, TupleType) else with_values(None, expression, ctx.api) or [unknown()]
        types |= {(expression, place): item for place, item in enumerate(items)}
    kinds = dict(zip(ctx.args[0], ctx.arg_kinds[0], strict=True))
    # One argument of type Any may be a tuple, but not one of several.
    any_is_count = len(types) > 1 and not any(kind is ARG_STAR for kind in kinds.values())
    if not all(
        is_star_of_sizes(one) or _is_count(one) or (any_is_count and isinstance(get_proper_type(one), AnyType))
        for one in types.values()
    ):
        return None
    written = TupleExpr([StarExpr(one) if kind is ARG_STAR else one for one, kind in kinds.items()])
    return Argument(TupleType([*types.values()], make(ctx.api)("builtins.tuple", [unknown()])), written, None)


def _is_count(t: Type) -> bool:
    p = literal(t)
    return is_whole(p) or (is_size(p) and not (isinstance(p, LiteralType) and isinstance(p.value, bool)))


def refined(argument: Argument, formal: Type, api: Any) -> Type:
    """Return an argument's type, with the size known from its expression if the type has lost it."""
    p = get_proper_type(argument.type)
    if isinstance(p, UnionType) and all(is_whole(one) or isinstance(one, LiteralType) for one in p.items):
        p = make(api)("builtins.int", [])  # `sum((n, m))` is of type `int | Literal[0]`
    is_size_of_any = isinstance(p, AnyType) and takes_size(get_proper_type(formal))
    if is_size_of_any or (isinstance(p, Instance) and p.last_known_value is None and is_whole(p)):
        size = count_of(p, argument.expression, api)
        return argument.type if is_unknown(size) else size_type(size, make(api))
    return argument.type


def sizes_in(arguments: dict[str, list[Argument]]) -> Iterator[Size]:
    """Yield the sizes of the tensors that are arguments of a call."""
    for actuals in arguments.values():
        for argument in actuals:
            shape = shape_items(argument.tensor.shape) if argument.tensor is not None else None
            yield from (size for size in shape or () if not isinstance(size, Many))


def takes_size(formal: ProperType) -> bool:
    """Return whether a parameter is a size, and nothing else."""
    if isinstance(formal, TypeVarType):
        return kind_of(formal) == "size"
    return isinstance(formal, Instance) and formal.type.fullname in ARITHMETIC


def known_value(actuals: list[Argument], api: Any) -> Any:
    """Return the numbers or the string that an argument is.

    Raises:
        ValueUnknownError: The argument is left out, or part of it is unknown.
    """
    if not actuals:
        raise ValueUnknownError
    value = value_of(actuals[0].type, actuals[0].expression, api)
    if not all(isinstance(part, int | str) for part in (value if isinstance(value, tuple) else (value,))):
        raise ValueUnknownError
    return value


def listed(op: Op, name: str, actuals: list[Argument], api: Any) -> list[Parts]:
    """Return the tensors in one sequence argument, or those given one by one for a starred parameter."""
    if name != op.star:
        return [_parts(argument, api) for argument in actuals]
    return [Parts([argument.type for argument in actuals], counted=True)]


def _parts(argument: Argument, api: Any) -> Parts:
    p, expression = get_proper_type(argument.type), argument.expression
    if not isinstance(p, TupleType) and (known := items_of(p, expression, api)) is not None:
        return Parts(known, counted=True)
    if isinstance(p, TupleType) and not any(isinstance(item, UnpackType) for item in p.items):
        written = expression.items if isinstance(expression, TupleExpr) else []
        written = written if len(written) == len(p.items) else [None] * len(p.items)
        return Parts([_newest_item(t, item, api) for t, item in zip(p.items, written, strict=True)], counted=True)
    items = _items(p)
    if expression is not None and _are_unknown(items):
        items = _items(get_proper_type(api.get_expression_type(expression)))  # without the type the op expects
    return Parts(items, counted=False)


def _newest_item(t: Type, expression: Expression | None, api: Any) -> Type:
    return joined(newest(t, expression, api))


def _items(p: ProperType) -> list[Type]:
    """Return the item type of a sequence, as a list of one."""
    if isinstance(p, Instance):
        for base in p.type.mro:
            if base.fullname == "typing.Sequence":
                return list(map(joined, map_instance_to_supertype(p, base).args))
    return [unknown()]


def _are_unknown(items: list[Type]) -> bool:
    parts = tensor_parts(items[0])
    return parts is not None and all(isinstance(get_proper_type(part), AnyType) for part in parts)


def operand_shape(t: Type, parts: TensorParts | None) -> list[Size | Many] | None:
    """Return the sizes of an operand: a tensor, an array or a number, which has none; None if unknown."""
    if parts is not None:
        return ends_of(parts.shape)
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.type.fullname == ARRAY:
        return shape_items(p.args[0]) if isinstance(get_proper_type(p.args[0]), TupleType) else None
    return [] if numbers_in(p) else None


def numbers_in(t: Type) -> list[Instance]:
    """Return the classes of a number, several for a union; an empty list if the type may be something else.

    The type may be a literal, a type variable or an enum member.
    """
    p = get_proper_type(t)
    if isinstance(p, UnionType | TypeVarType):
        items = p.items if isinstance(p, UnionType) else p.values or [p.upper_bound]
        classes = list(map(numbers_in, items))
        return [one for several in classes for one in several] if all(classes) else []
    if isinstance(p, LiteralType):
        p = p.fallback
    return [p] if isinstance(p, Instance) and any(map(p.type.has_base, _NUMBERS)) else []


def class_name(number: Instance) -> str:
    """Return the name of a number's class at run time, where `NewType` makes no class."""
    if number.type.has_base(GENERIC):
        return dtype_name(number)
    return next(base.name for base in number.type.mro if not base.is_newtype)
