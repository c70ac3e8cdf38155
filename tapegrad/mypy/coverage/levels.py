"""How much a type says of a tensor: which of its sizes, and whether its tape and its dtype are known."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.types import AnyType, Instance, NoneType, ProperType, TupleType, Type, TypeVarType, UnionType, get_proper_type

from tapegrad.mypy.conversion import (
    MODULE,
    TENSOR,
    Many,
    bounded,
    is_endless,
    joined,
    kind_of,
    shape_items,
    size_of,
    tensor_parts,
)
from tapegrad.mypy.scopes.entries import entries_in
from tapegrad.sizes import is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.sizes import Size

_DEEP: Final = 4  # containers inside containers
_EITHER_TAPE: Final = "tapegrad.autograd.tape.Tape"
PARAM: Final = "tapegrad.nn.param.Param"
_KINDS: Final = frozenset(
    f"numpy.{name}"
    for name in (
        *("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating"),
        *("complexfloating", "flexible", "character"),
    )
)


class Level(IntEnum):
    """How well the shape of a tensor is known, best first."""

    EXACT = 0
    NAMED = 1
    PARTLY = 2
    UNKNOWN = 3


PARTS: Final = ("shape", "tape", "dtype")


class Knowledge(NamedTuple):
    """What the type of an expression says of a tensor.

    Attributes:
        level: Of its shape.
        axes: The axes whose sizes are unknown; empty if the rank is unknown.
        tape: Whether it is known whether the tensor has one.
        dtype: Whether the dtype is known.
    """

    level: Level
    axes: tuple[int, ...] = ()
    tape: bool = True
    dtype: bool = True

    @property
    def missing(self) -> frozenset[str]:
        """The parts that are not known, of "shape", "tape" and "dtype"."""
        known = {"shape": self.level <= Level.NAMED, "tape": self.tape, "dtype": self.dtype}
        return frozenset(part for part in PARTS if not known[part])


NOTHING: Final = Knowledge(Level.UNKNOWN, (), tape=False, dtype=False)


def knowledge_of(t: Type) -> Knowledge | None:
    """Return what a type says of a tensor; None if it is not the type of one, or of several alternatives."""
    p = get_proper_type(joined(without_none(t)))
    parts = tensor_parts(p) if isinstance(p, Instance) and p.type.has_base(TENSOR) else None
    if parts is None:
        return None
    level, axes = _level(parts.shape)
    return Knowledge(level, axes, _is_known_tape(parts.tape), _is_known_dtype(parts.dtype))


def least_known(types: list[Type]) -> Type:
    """Return the type, of those that an expression has at several calls, that says least of the tensors in it."""
    return max(types, key=_unknown_in)


def _unknown_in(t: Type) -> tuple[int, int, int, int]:
    known = list(contents(t))
    if not known:
        return int(isinstance(get_proper_type(t), AnyType)) + len(unknown_sizes(t)), 0, 0, 0
    missing = sum(len(one.missing) for one in known)
    return missing, max(one.level for one in known), max(len(one.axes) for one in known), len(known)


def contents(t: Type, depth: int = _DEEP) -> Iterator[Knowledge]:
    """Yield what a type says of the tensors in it: of the tensor itself, or of those in a tuple, a list or another."""
    if depth == 0 or is_endless(t):
        return
    known = knowledge_of(t)
    if known is not None:
        yield known
        return
    p = get_proper_type(t)
    if isinstance(p, Instance) and not p.type.has_base(MODULE) and p.type.fullname != "functools.partial":
        parts = _entries(p) or [one for one in p.args if not _is_parameter(one)]
    else:
        parts = list(p.items) if isinstance(p, TupleType | UnionType) else []
    for part in parts:
        yield from contents(part, depth - 1)


def _entries(dictionary: Instance) -> list[Type]:
    """Return the types of the items of a dictionary whose keys are known; none if one of them is unknown."""
    types = [*(entries_in(dictionary) or {}).values()]
    return [] if any(isinstance(get_proper_type(one), AnyType) for one in types) else types


def _is_parameter(t: Type) -> bool:
    """Return whether a container holds parameters of all shapes, as `model.parameters()` does."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == PARAM


def knowledge_of_layer(t: Type) -> Knowledge | None:
    """Return what a type says of the sizes of a layer; None if it is not the type of one, or the layer has no sizes."""
    sizes = dict(sizes_of_layer(t))
    if not sizes:
        return None
    if any(map(is_unknown, sizes.values())):
        return Knowledge(Level.PARTLY)
    return Knowledge(Level.EXACT if all(isinstance(size, int) for size in sizes.values()) else Level.NAMED)


def unknown_sizes(layer: Type) -> list[str]:
    """Return the names of the sizes of a layer, or of the layers in it, that are not known, each name once."""
    return list(dict.fromkeys(name for name, size in sizes_of_layer(layer) if is_unknown(size)))


def sizes_of_layer(layer: Type, depth: int = _DEEP) -> Iterator[tuple[str, Size]]:
    """Yield the names and the values of the sizes of a layer and of the layers in it."""
    p = without_none(layer)
    if depth == 0 or not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return
    for variable, argument in zip(p.type.defn.type_vars, p.args, strict=False):
        if kind_of(variable) == "size":
            yield variable.name, size_of(argument)
        elif kind_of(variable) in ("other", "sizes"):
            yield from sizes_of_layer(argument, depth - 1)


def without_none(t: Type) -> ProperType:
    """Return an optional type without None, and any other type as it is."""
    p = get_proper_type(t)
    if not isinstance(p, UnionType):
        return bounded(p)
    items = [item for item in p.items if not isinstance(get_proper_type(item), NoneType)]
    return bounded(items[0]) if len(items) == 1 else UnionType(items)


def _level(shape: Type) -> tuple[Level, tuple[int, ...]]:
    items = shape_items(shape)
    if items is None:
        return Level.UNKNOWN, ()
    axes = tuple(axis for axis, item in enumerate(items) if not isinstance(item, Many) and is_unknown(item))
    if axes:
        return Level.PARTLY, axes
    return (Level.EXACT if all(isinstance(item, int) for item in items) else Level.NAMED), ()


def _is_known_tape(tape: Type) -> bool:
    p = get_proper_type(tape)
    if isinstance(p, UnionType):
        return all(map(_is_known_tape, p.items))
    return isinstance(p, TypeVarType) or (isinstance(p, Instance) and p.type.fullname != _EITHER_TAPE)


def _is_known_dtype(dtype: Type) -> bool:
    p = get_proper_type(dtype)
    if isinstance(p, UnionType):
        return False
    if isinstance(p, Instance):
        is_open = any(isinstance(get_proper_type(argument), AnyType) for argument in p.args)
        if p.type.fullname == "numpy.bool":
            return True  # its argument is a value, as in `numpy.bool[Literal[True]]`
        return not is_open and (p.type.fullname not in _KINDS or bool(p.args))
    return isinstance(p, TypeVarType)
