"""The meaning of annotations: omitted type arguments, computed sizes and merged tapes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from mypy.errorcodes import TYPE_VAR
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    RawExpressionType,
    Type,
    TypeOfAny,
    TypeVarType,
    UnboundType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)

from tapegrad.errors import ShapeError
from tapegrad.mypy.conversion import (
    GENERIC,
    NONE_TAPE,
    TENSOR,
    declared_size,
    expanded,
    is_tape,
    kind_of,
    merged_tape,
    size_of,
    size_type,
    unknown,
)
from tapegrad.mypy.features.partial_types import is_open
from tapegrad.mypy.mypy_api import NotReadyError, class_type, default_argument, is_complete, named_in, wait_for
from tapegrad.mypy.ownership.consumed import as_consumed
from tapegrad.mypy.sources import mark_around
from tapegrad.sizes import power

MODULE: Final = "tapegrad.nn.module.Module"

if TYPE_CHECKING:
    from mypy.plugin import AnalyzeTypeContext

    from tapegrad.mypy.conversion import Make


def analyzed_type(ctx: AnalyzeTypeContext, fullname: str) -> Type:
    """Return the type of an annotation that the plugin defines, such as `Tensor[...]`."""

    def make(name: str, arguments: list[Type]) -> Instance:
        return wait_for(ctx.api, name, arguments)

    try:
        arguments = [_analyzed(argument, ctx.api, make) for argument in ctx.type.args]
        return _read(fullname.rpartition(".")[2], arguments, ctx, make)
    except NotReadyError:
        return unknown()


def bare_layer(ctx: AnalyzeTypeContext) -> Type:
    """Return the type of a layer in an annotation: without type arguments any of the class, of the default dtype.

    The defaults of the arguments are those of a call, such as a stride of 1, and `conv: nn.Conv2d` has any stride.
    """
    read = class_type(ctx.api, ctx.type)
    if ctx.type.args or not isinstance(read, Instance) or not read.type.has_base(MODULE):
        return read
    mark_around(ctx.api)  # a function may return it, and calls then read the body
    variables = read.type.defn.type_vars
    if len(variables) != len(read.args):
        return read
    return read.copy_modified(
        args=[
            unknown() if kind_of(variable) in ("size", "flag", "shape") else argument
            for variable, argument in zip(variables, read.args, strict=True)
        ]
    )


def _analyzed(t: Type, api: Any, make: Make) -> Type:
    """Return a type argument without aliases: when one changes, the daemon reuses subtype checks of the old one."""
    read: Type = api.analyze_type(_with_literals(t, api, make))
    return expanded(read) if is_complete(read) else read


def _with_literals(t: Type, api: Any, make: Make) -> Type:
    """Return a type with each number in place of a size, as in `Shape[3, N]`, turned into a literal."""
    if isinstance(t, RawExpressionType) and t.base_type_name == "builtins.int" and isinstance(t.literal_value, int):
        return LiteralType(t.literal_value, make("builtins.int", []), t.line, t.column)
    if not isinstance(t, UnboundType) or not t.args or not named_in(api, t).startswith(("builtins.tuple", "tapegrad.")):
        return t
    args = [_with_literals(argument, api, make) for argument in t.args]
    return t if all(map(operator.is_, args, t.args)) else t.copy_modified(args=args)


def _read(name: str, arguments: list[Type], ctx: AnalyzeTypeContext, make: Make) -> Type:
    if name == "Tensor":
        tensor = _tensor(arguments, ctx, make)
        if is_open(tensor):  # a call may be followed through the body of the function
            mark_around(ctx.api)
        return as_consumed(tensor, ctx) if len(arguments) > 1 and not is_tape(arguments[1], NONE_TAPE) else tensor
    if name in ("Untaped", "Taped"):
        shape, dtype = arguments
        return make(TENSOR, [shape, unknown(), dtype])
    if name in ("Given", "GivenShape"):
        return arguments[0]
    if len(arguments) != 2:
        ctx.api.fail(f"{name} takes two arguments, not {len(arguments)}", ctx.context)
        return AnyType(TypeOfAny.from_error)
    if name == "Merge":
        return merged_tape(arguments, make)
    left, right = map(size_of, arguments)
    operations = {
        "Add": lambda: left + right,
        "Sub": lambda: left - right,
        "Mul": lambda: left * right,
        "Pow": lambda: power(left, right),
    }
    try:
        return declared_size(size_type(operations.get(name, lambda: left // right)(), make))
    except ShapeError as error:
        ctx.api.fail(f"{name}: {error}", ctx.context)
        return AnyType(TypeOfAny.from_error)


def _tensor(arguments: list[Type], ctx: AnalyzeTypeContext, make: Make) -> Type:
    """Return the type of `Tensor`: alone any tensor, with only a shape one without a tape and of the default dtype."""
    if len(arguments) > 3:
        ctx.api.fail(f"Tensor takes a shape, a tape and a dtype, not {len(arguments)} arguments", ctx.context)
        return AnyType(TypeOfAny.from_error)
    bare = make(TENSOR, [])
    if len(arguments) == 3 and is_complete(arguments[2]) and not _is_dtype(arguments[2]):
        ctx.api.fail("Tensor: its dtype must be one of NumPy's, such as np.float32", ctx.context, code=TYPE_VAR)
        return AnyType(TypeOfAny.from_error)
    if not arguments:
        return bare.copy_modified(args=[unknown(), unknown(), unknown()])
    if len(arguments) == 1:
        arguments.append(make(NONE_TAPE, []))
    if len(arguments) == 2:
        arguments.append(default_argument(bare, 2, ctx.api))
    return bare.copy_modified(args=arguments)


def _is_dtype(t: Type) -> bool:
    """Return whether a type argument is one of NumPy's dtypes, or may be one."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return all(map(_is_dtype, p.items))
    if isinstance(p, TypeVarType):
        return all(map(_is_dtype, p.values or [p.upper_bound]))
    return p.type.has_base(GENERIC) if isinstance(p, Instance) else isinstance(p, AnyType | UninhabitedType)
