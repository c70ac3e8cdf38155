"""Apply the shape and dtype rules of an op to one call, also for unknown ranks and unknown numbers of tensors."""

from __future__ import annotations

import re
from inspect import signature as parameters_of
from itertools import product
from typing import TYPE_CHECKING, Any

from mypy.types import NoneType, get_proper_type

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.errors.kinds import described, kinds_of, wrong_kind
from tapegrad.errors.messages import ANY_NUMBER
from tapegrad.mypy.conversion import UNKNOWN_REST, Many, dtype_name, has_unknown_rest, tensor_parts
from tapegrad.mypy.mypy_api import accepts_strictly
from tapegrad.mypy.scopes.values import LOOP, StarredDims, ValueUnknownError, index_of, is_whole, value_of
from tapegrad.mypy.unify.arguments import Argument, listed, operand_shape
from tapegrad.mypy.unify.bindings import CallError
from tapegrad.mypy.unify.starred_shapes import without_stars
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Dims,
    RankUnknownError,
    Size,
    UnknownDims,
    named,
    names_in,
    opaque_name,
    size_of_name,
    surely_differ,
    surely_less,
    surely_same,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.types import Type

    from tapegrad.autograd.registry import Op
    from tapegrad.mypy.signatures import Signature

# Substitutes for unknown values, by the annotation in the rule. No rule asks for the value of a Scalar.
_OPEN = {"Size": UNKNOWN, "Size | Int": UNKNOWN, Size: UNKNOWN, "Dims | Size": UNKNOWN, "Scalar": 0.0}
# The annotations of parameters that are sizes or positions; other numbers are axes and options.
_SIZES = frozenset(["Dims", "Dims | Size", "Index", "Size", "Size | Int", "Size | Int | None", Size])
_LISTS = frozenset(["Dims", "int | tuple[int, ...] | list[int]"])  # of parameters that may be a list of sizes
_CONCRETE = re.compile(r"bool|b?float\d+|u?int\d+")


def ruled(op: Op, signature: Signature, arguments: dict[str, list[Argument]], api: Any) -> list[Any] | None:
    """Return the sizes that the op's rule computes; None if an argument is unknown or mypy itself reports an error.

    Raises:
        ShapeError: The rule rejects the sizes.
    """
    shapes: dict[str, Any] = {}
    values: dict[str, Any] = {}
    uncounted = ""
    if not signature.required <= arguments.keys():
        return None
    annotations = op.rule.__annotations__
    for name in op.parameters:
        if name not in arguments:
            continue
        argument, *more = arguments[name]
        if name == op.star and any(one.starred for one in arguments[name]):
            return None
        if name in op.sequences:
            (parts,) = listed(op, name, arguments[name], api)
            several = (operand_shape(part, tensor_parts(part)) for part in parts.types)
            shapes[name] = tuple(None if has_unknown_rest(one) else one for one in several)
            uncounted = uncounted if parts.counted else name
            continue
        if name in op.operands:
            if name in signature.required or not isinstance(get_proper_type(argument.type), NoneType):
                shapes[name] = operand_shape(argument.type, argument.tensor)
            continue
        if more or not _takes(signature.formals[name], argument.type):
            return None
        try:
            read = index_of if annotations.get(name) == "Index" else value_of
            value = read(argument.type, argument.expression, api)
            if isinstance(value, list) and annotations.get(name) in _LISTS and not all(map(_is_size, value)):
                _reject_bools(op, name, value)
                return None
            if annotations.get(name) not in _SIZES:
                value = _without_opaque(value)
            elif annotations[name] != "Index":
                value = _of_any_sign(value)
            values[name] = value
        except ValueUnknownError:
            kind = annotations.get(name)
            if kind not in _OPEN or (kind == "Dims | Size" and not is_whole(argument.type)):
                return None
            values[name] = _OPEN[kind]
    if uncounted:
        return _for_any_count(op, shapes, values, uncounted)
    return _without_loops(shaped(op, shapes, values), shapes) if _is_of_loop(values) else shaped(op, shapes, values)


def _reject_bools(op: Op, name: str, items: list[Any]) -> None:
    """Reject a list of ints and bools, which mypy accepts; it rejects other items itself.

    Raises:
        DTypeError: There are only ints and bools.
    """
    if all(isinstance(one, int) for one in items):
        raise DTypeError(wrong_kind(name, described(items), kinds_of(str(op.function.__annotations__[name]))))


def _is_size(item: Any) -> bool:
    return isinstance(item, int | Dim) and not isinstance(item, bool)


def _is_of_loop(values: dict[str, Any]) -> bool:
    """Return whether a slice has a bound that a loop changes."""
    index = values.get("index")
    slices = [one for one in (index if isinstance(index, tuple) else (index,)) if isinstance(one, slice)]
    bounds = [bound for one in slices for bound in (one.start, one.stop, one.step) if isinstance(bound, Dim)]
    return any(name.scope == LOOP for bound in bounds for name in names_in(bound))


def _without_loops(shape: list[Any] | None, shapes: dict[str, Any]) -> list[Any] | None:
    """Return a shape with only those sizes that are the same each time that a loop runs."""
    if shape is None:
        return None
    given = {name for one in shapes.values() for n in one or () if isinstance(n, Dim) for name in names_in(n)}
    return [UNKNOWN if isinstance(n, Dim) and not names_in(n) <= given else n for n in shape]


def _without_opaque(value: Any) -> Any:
    """Return the value of an argument that is no size, such as an axis, with unknown numbers in place of opaque ones.

    Raises:
        ValueUnknownError: It is an opaque number.
    """
    if isinstance(value, Dim) and _is_opaque(value):
        raise ValueUnknownError
    if isinstance(value, tuple) and not isinstance(value, UnknownDims):
        return tuple(UNKNOWN if isinstance(one, Dim) and _is_opaque(one) else one for one in value)
    return value


def _of_any_sign(value: Any) -> Any:
    """Return sizes with unknown ones in place of those like `-n`: such a number may be any int, above 0 too."""
    if isinstance(value, tuple) and not isinstance(value, UnknownDims):
        return tuple(map(_of_any_sign, value))
    return UNKNOWN if isinstance(value, Dim) and _is_opaque(value) and surely_less(value, 1) else value


def _is_opaque(size: Dim) -> bool:
    return any(name.is_opaque for name in names_in(size))


def _takes(formal: Type, actual: Type) -> bool:
    """Return whether an argument has the type that a rule expects; strict optionals always apply here."""
    return accepts_strictly(formal, without_stars(actual))


def reject_dtypes(op: Op, rule: Callable[..., None], arguments: dict[str, list[Argument]], api: Any) -> None:
    """Apply the dtype rule of an op, unless an argument of the rule is unknown."""
    from tapegrad.autograd.registry import Typed

    given: dict[str, Any] = {}
    for name in parameters_of(rule).parameters:
        if name not in arguments:
            continue
        (argument,) = arguments[name]
        if name not in op.operands:
            try:
                given[name] = value_of(argument.type, argument.expression, api)
            except ValueUnknownError:
                return
            continue
        shape = operand_shape(argument.type, argument.tensor)
        dtype = dtype_name(argument.tensor.dtype) if argument.tensor is not None else "?"
        if shape is None or any(isinstance(item, Many) for item in shape) or not _CONCRETE.fullmatch(dtype):
            return
        given[name] = Typed(len(shape), dtype)
    try:
        rule(**given)
    except DTypeError as error:
        raise CallError(f"{op.name}: {error}", "dtype") from None


def shaped(op: Op, shapes: dict[str, Any], values: dict[str, Any]) -> list[Any] | None:
    """Apply the shape rule of an op; return None if an argument that it needs is unknown.

    Raises:
        ShapeError: The rule rejects the sizes.
    """
    many: dict[Many, None] = {}
    starred = [value.items for value in values.values() if isinstance(value, StarredDims)]
    for shape in (*shapes.values(), *starred):
        for one in shape if isinstance(shape, tuple) else (shape,):
            for item in one or ():
                if isinstance(item, Many) and item is not UNKNOWN_REST:
                    many[item] = None
    opened = [name for name, one in shapes.items() if one is None or (isinstance(one, list) and has_unknown_rest(one))]
    if any(one is not None for one in shapes.values()) and 0 < len(opened) < 3 and not (many or starred):
        return _for_unknown_rank(op, shapes, values, opened)
    unopened = {**shapes, **dict.fromkeys(opened)}
    if many:
        return _for_any_rank(op, unopened, values, many)
    dims = {name: tuple(shape) if isinstance(shape, list) else _as_dims(shape) for name, shape in unopened.items()}
    answer = _answer(op, dims | values if values else dims)
    if answer is None and _are_axes(values) and len(opened) == len(shapes) == 1 and not starred:
        # No tensor has the axes of `x.permute(1, 2, 1)`. A result of some rank would be the type of a variable, an
        # attribute or a list, which the program may give a tensor of another rank.
        _for_unknown_rank(op, shapes, values, opened)
    return answer


def _are_axes(values: dict[str, Any]) -> bool:
    """Return whether the arguments of an op are plain numbers, as axes are: products of many named sizes are slow."""
    if any(isinstance(value, UnknownDims) for value in values.values()):
        return False
    several = [one for value in values.values() for one in (value if isinstance(value, tuple | list) else [value])]
    return bool(several) and not any(isinstance(one, Dim) for one in several)


def _answer(op: Op, arguments: dict[str, Any]) -> list[Any] | None:
    try:
        return list(op.rule(**arguments))
    except RankUnknownError:
        return None


def _for_any_count(op: Op, shapes: dict[str, Any], values: dict[str, Any], name: str) -> list[Any] | None:
    """Apply the rule to one, two and three tensors, and keep the sizes that do not depend on their number."""
    answers: list[list[Any] | None] = []
    errors: list[ShapeError] = []
    for count in range(1, 4):
        try:
            answers.append(shaped(op, shapes | {name: shapes[name] * count}, values))
        except ShapeError as error:
            errors.append(error)
    if len(errors) == 3:
        raise errors[0]
    known = [answer for answer in answers if answer is not None]
    if len(known) < 3 or any(len(answer) != len(known[0]) or is_several(answer) for answer in known):
        return None
    return [sizes[0] if all(_is_one(sizes[0], n) for n in sizes) else UNKNOWN for sizes in zip(*known, strict=True)]


def _is_one(n: Size | Many, m: Size | Many) -> bool:
    if isinstance(n, Many) or isinstance(m, Many):
        return n is m
    return surely_same(n, m)


def _for_any_rank(
    op: Op, shapes: dict[str, Any], values: dict[str, Any], many: dict[Many, None]
) -> list[Size | Many] | None:
    """Apply the rule with zero, one and two sizes for each `*Sizes`, and fold the results back to `*Sizes`."""
    answers: list[Dims | None] = []
    errors: list[ShapeError] = []
    spelled: list[dict[Many, Dims]] = []
    for count in range(3):
        substitutes: dict[Many, Dims] = {
            one: tuple(named("...", f"{one.variable.id}.{position}") for position in range(count))
            for one in many
            if one.variable is not None
        }
        spelled.append(substitutes)
        arguments = {name: _as_dims(shape, substitutes) for name, shape in shapes.items()}
        starred = {
            name: _as_dims(value.items, substitutes) for name, value in values.items() if isinstance(value, StarredDims)
        }
        try:
            answer = _answer(op, arguments | values | starred)
        except ShapeError as error:
            errors.append(error)
            answer = None
        if answer is not None and is_several(answer):
            return None
        answers.append(None if answer is None else tuple(one for one in answer if not isinstance(one, Many)))
    if len(errors) == len(answers):
        raise errors[1]
    if any(answer is None for answer in answers):
        return None
    folded: list[Size | Many] | None = _folded(answers[1] or (), spelled[1])
    for substitutes, answer in zip(spelled, answers, strict=True):
        folded = _agreed(folded or [], substitutes, answer or ())
        if folded is None:
            return None
    return folded


def _for_unknown_rank(op: Op, shapes: dict[str, Any], values: dict[str, Any], opened: list[str]) -> list[Any] | None:
    """Apply the rule to tensors of each rank that an operand may have, and keep what all answers have in common.

    The ranks that the rule rejects do not count: a tensor that `conv2d` accepts has four axes.
    """
    known = {name: _known_sizes(shape) for name, shape in shapes.items()}
    highest = max(known.values()) + (_MORE_ALONE if len(opened) == 1 else _MORE_OF_TWO)  # all reach the same ranks
    high = _HIGH if any(known.values()) else _HIGHEST
    counts = ([*range(highest - known[name] + 1), max(high - known[name], 0)] for name in opened)
    answers: list[list[Any]] = []
    errors: dict[tuple[int, ...], ShapeError] = {}
    for added in product(*counts):
        spelled = dict(zip(opened, added, strict=True))
        dims = {name: _spelled(shape, name, spelled.get(name, 0)) for name, shape in shapes.items()}
        try:
            answer = _answer(op, dims | values)
        except ShapeError as error:
            errors[added] = error
            continue
        if answer is None or is_several(answer):
            return None
        answers.append(answer)
    if not answers:
        found = None if any(known.values()) else _said_of_all([one for added, one in errors.items() if any(added)])
        raise found or ShapeError(str(errors[(1,) * len(opened)]).replace(f"({ANY_NUMBER},)", f"({ANY_NUMBER})"))
    ranks = set(map(len, answers))
    common = [_common(several) for several in zip(*map(reversed, answers), strict=False)][::-1]
    return common if len(ranks) == 1 else [UNKNOWN_REST, *common]


def _said_of_all(errors: list[ShapeError]) -> ShapeError | None:
    """Return what is wrong with each tensor, of any rank; None if each error only names the rank that is missing.

    If all ranks but one are wrong, it is the error of that rank.
    """
    texts = [str(one) for one in errors if not re.search(r"rank \d", str(one))]
    if len(texts) == 1:
        return ShapeError(texts[0].replace(ANY_NUMBER, "?"))
    several = re.escape(f"({ANY_NUMBER}, ") + rf"[{re.escape(ANY_NUMBER)}, ]*\)"
    return ShapeError(re.sub(several, f"({ANY_NUMBER})", texts[-1])) if texts else None


_MORE_ALONE = 6  # axes that an operand of unknown rank may have more than are known of any operand
_MORE_OF_TWO = 4
_HIGH = 12  # and a rank for axes that no other one has
_HIGHEST = 64  # that of a tensor of which nothing is known: NumPy's highest, so that an axis such as 13 is no error


def _known_sizes(shape: Any) -> int:
    """Return how many sizes of an operand are known, of several operands the most of one."""
    if isinstance(shape, tuple):
        return max(map(_known_sizes, shape), default=0)
    return sum(not isinstance(size, Many) for size in shape or ())


def _spelled(shape: Any, operand: str, count: int) -> Any:
    """Return the sizes of an operand with a number of opaque ones, which never cause an error, for unknown ones."""
    rest = [size_of_name(opaque_name(ANY_NUMBER, f"{operand}.{position}")) for position in range(count)]
    if shape is None:
        return tuple(rest)
    if not isinstance(shape, list):
        return _as_dims(shape)
    return tuple(size for item in shape for size in (rest if item is UNKNOWN_REST else [item]))


def _common(sizes: Sequence[Size]) -> Size:
    """Return the size that answers have in common; unknown if they differ, or mention the size of an unknown axis."""
    first = sizes[0]
    if any(name.label == ANY_NUMBER for name in names_in(first)):
        return UNKNOWN
    return first if all(surely_same(first, size) for size in sizes) else UNKNOWN


def _folded(dims: Dims, substitutes: dict[Many, Dims]) -> list[Size | Many]:
    by_size = {one[0]: many for many, one in substitutes.items()}
    return [next((many for one, many in by_size.items() if surely_same(one, n)), n) for n in dims]


def _agreed(folded: list[Size | Many], substitutes: dict[Many, Dims], answer: Dims) -> list[Size | Many] | None:
    """Return a shape, unknown where an answer differs; None if the answer cannot be aligned with it."""
    agreed: list[Size | Many] = []
    rest = list(answer)
    is_spread = any(isinstance(item, Many) for item in folded)  # then a size that differs may be that of another axis
    for item in folded:
        expected = substitutes[item] if isinstance(item, Many) else (item,)
        sizes = rest[: len(expected)]
        del rest[: len(expected)]
        if len(sizes) < len(expected) or (is_spread and any(map(surely_differ, sizes, expected))):
            return None
        if all(map(surely_same, sizes, expected)):
            agreed.append(item)
        elif isinstance(item, Many):
            return None
        else:
            agreed.append(UNKNOWN)
    return None if rest else agreed


def _as_dims(shape: Any, substitutes: dict[Many, Dims] | None = None) -> Any:
    if isinstance(shape, tuple):
        return tuple(_as_dims(part, substitutes) for part in shape)
    if shape is None:
        return UnknownDims()
    if substitutes is None:
        return tuple(shape)
    dims: list[Size] = []
    for item in shape:
        if isinstance(item, Many):
            dims += substitutes[item]
        else:
            dims.append(item)
    return tuple(dims)


def is_several(answer: Sequence[Any]) -> bool:
    """Return whether a rule returned the shapes of several tensors."""
    return any(isinstance(one, tuple) and not isinstance(one, Many) for one in answer)
