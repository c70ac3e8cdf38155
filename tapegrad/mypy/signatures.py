"""Signatures of a call: opened before mypy checks the call, and stored as declared for the check of its result."""

from __future__ import annotations

import operator
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import CallExpr, FuncDef, IntExpr, MemberExpr, NameExpr, OpExpr, UnaryExpr
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    Overloaded,
    TupleType,
    Type,
    TypeOfAny,
    TypeType,
    TypeVarId,
    TypeVarTupleType,
    TypeVarType,
    UnionType,
    UnpackType,
    get_proper_type,
    has_type_vars,
)

from tapegrad.mypy.cache import Answers
from tapegrad.mypy.conversion import (
    ARITHMETIC,
    BATCHES,
    MERGED,
    METHODS,
    MODULE,
    NODE,
    TENSOR,
    VALUE,
    TensorParts,
    expanded,
    is_distribution,
    is_endless,
    is_size,
    kind_of,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import accepts, called, expand_type, is_of_library

if TYPE_CHECKING:
    from mypy.nodes import Context, Expression, TypeInfo
    from mypy.plugin import FunctionContext, FunctionSigContext, MethodContext, MethodSigContext
    from mypy.types import FunctionLike


class Signature:
    """A declared signature, read once: its parameters, those that may be tensors, and the kinds of its variables."""

    __slots__ = (
        "answers",
        "bounds",
        "calls",
        "classes",
        "declared",
        "formals",
        "is_open",
        "kinds",
        "merged",
        "names",
        "opened",
        "required",
        "result",
        "starred",
        "tensors",
    )

    def __init__(self, declared: CallableType) -> None:
        self.declared = declared
        self.names = parameter_names(declared)
        self.formals = {name: expanded(t) for name, t in zip(self.names, declared.arg_types, strict=True)}
        self.tensors = {name: _tensor_of(formal) for name, formal in self.formals.items()}
        self.starred = {name for name, kind in zip(self.names, declared.arg_kinds, strict=True) if kind.is_star()}
        self.required = {name for name, kind in zip(self.names, declared.arg_kinds, strict=True) if kind.is_required()}
        self.kinds = {variable.id: kind_of(variable) for variable in declared.variables}
        self.bounds = {variable.id: variable.upper_bound for variable in declared.variables}
        self.classes = {one: _class_of_any_bits(bound) for one, bound in self.bounds.items()}
        self.result = get_proper_type(declared.ret_type)
        parts = tensor_parts(self.result)
        # The rule determines the shape, not the declaration.
        self.is_open = parts is not None and not isinstance(get_proper_type(parts.shape), TupleType)
        self.merged = _merged_in(parts.tape, self.kinds) if parts is not None else None
        # How function parameters are opened depends on the arguments.
        self.calls = any(isinstance(get_proper_type(t), CallableType) for t in declared.arg_types)
        self.opened: CallableType | None = None  # computed at the first use
        self.answers = Answers()  # valid as long as the declaration is the same


class Method(NamedTuple):
    """A method of `Tensor` that returns a tensor: its signature without the result, the same for every tensor."""

    names: list[str]
    opened: list[Type]


def signature_of(declared: CallableType) -> Signature:
    """Return a signature with its parameters read; cached for functions and classes of the library.

    A signature of the program is read at each call, because the daemon changes the aliases and the classes in it in
    place, without making another signature.
    """
    if not is_of_library(declared):
        return Signature(declared)
    signature = _signatures.get(declared.definition)
    if signature is None or signature.declared is not declared:
        if len(_signatures) >= _MOST:
            _signatures.clear()
        signature = _signatures[declared.definition] = Signature(declared)
    return signature


def method_of_tensor(declared: CallableType) -> Method | None:
    """Return a method of `Tensor` that returns a tensor, from a cache; None for anything else."""
    function = declared.definition
    if not isinstance(function, FuncDef) or not function.info or function.info.fullname not in (TENSOR, METHODS):
        return None
    written, method = _methods.get(function, (None, None))
    if written is not function.type:  # the daemon has read the file again
        method = _method(function, declared)
        _methods[function] = function.type, method
    # The unbound method has one parameter more, the tensor.
    return method if method is not None and len(method.opened) == len(declared.arg_types) else None


def _method(function: FuncDef, bound: CallableType) -> Method | None:
    written = function.type
    if not isinstance(written, CallableType) or is_overload(written) or tensor_parts(written.ret_type) is None:
        return None
    # The tape of an index is inferred from the op's signature.
    tapes: dict[TypeVarId, Type] = {one.id: unknown() for one in written.variables if kind_of(one) == "tape"}
    opened = [expand_type(t, tapes) for t in _opened_signature(written).arg_types[1:]]
    if len(opened) != len(bound.arg_types) or any(map(has_type_vars, opened)):
        return None
    return Method(parameter_names(bound), opened)


_WRITTEN = (IntExpr, OpExpr, UnaryExpr)  # expressions whose type is the size itself
_signatures: dict[Context | None, Signature] = {}
_methods: dict[FuncDef, tuple[Type | None, Method | None]] = {}
_MOST = 1000  # far more than the calls nested in arguments, and than the functions that a file calls
_declared: OrderedDict[Context, list[CallableType]] = OrderedDict()  # drops its oldest entry


def register(context: Context, declared: FunctionLike) -> None:
    """Store the declared signature of a call until its result is checked."""
    # The context of a `yield from` is a type, which may equal other types; its call needs no check.
    if not isinstance(declared, CallableType) or isinstance(context, Type):
        return
    clear_signatures(context, declared)
    if context in _declared:
        _declared[context].append(declared)
    else:
        _declared[context] = [declared]
    if len(_declared) > _MOST:
        _declared.popitem(last=False)


def clear_signatures(context: Context, declared: FunctionLike) -> None:
    """Remove the signatures of earlier calls at this expression, except other overloads of the same function."""
    earlier = _declared.pop(context, None)
    if earlier is not None and isinstance(declared, CallableType) and is_overload(declared):
        _declared[context] = [one for one in earlier if _is_another(one, declared)]


def declared_for(ctx: FunctionContext | MethodContext) -> CallableType | None:
    """Return the stored signature of a call; of overloads the first that accepts the arguments, which mypy chooses."""
    registered = _declared.get(ctx.context)
    if registered is None:
        return None
    candidates = [one for one in registered if one.arg_names == ctx.callee_arg_names]
    if not candidates:
        return None
    if any(map(is_overload, candidates)):
        chosen = next((one for one in candidates if _takes(one, ctx.arg_types)), None)
        return chosen if chosen is not None and is_concerned(chosen) else None
    return candidates[0]


def parameter_names(declared: CallableType) -> list[str]:
    """Return the names of a signature's parameters.

    mypy omits names of positional-only parameters, and its cache has none, so they are numbered; that of an operator is
    always called y, and the first one of a function of the array API as in the rule of its op.
    """
    if None not in declared.arg_names:
        return list(filter(None, declared.arg_names))
    module, _, function = getattr(declared.definition, "fullname", "").rpartition(".")
    first = _FIRST_OF_STANDARD.get(function, "x") if module == "tapegrad.array_api" else "argument 1"
    if len(declared.arg_names) == 1 and function.startswith("__"):
        first = "y"
    return [
        name or (first if position == 1 else f"argument {position}")
        for position, name in enumerate(declared.arg_names, start=1)
    ]


_FIRST_OF_STANDARD: Final = {"arange": "start", "asarray": "data"}


def is_overload(declared: CallableType) -> bool:
    """Return whether a signature is one of several overloads, among which mypy chooses by the exact types."""
    return bool(getattr(declared.definition, "is_overload", False))


def open_signature(declared: FunctionLike, ctx: FunctionSigContext | MethodSigContext | None = None) -> FunctionLike:
    """Open every tensor parameter, so that tapegrad reports arguments that do not match, not mypy."""
    if not isinstance(declared, CallableType) or is_overload(declared):
        return declared
    if _comes_again(declared):
        return _opened_signature(declared, ctx)
    signature = signature_of(declared)
    if signature.calls and ctx is not None:
        return _opened_signature(declared, ctx)
    if signature.opened is None:
        signature.opened = _opened_signature(declared)
    return signature.opened


def with_numbers(
    opened: FunctionLike, declared: FunctionLike, ctx: FunctionSigContext | MethodSigContext
) -> FunctionLike:
    """Accept any int for a size given as a variable: mypy infers `d = n * m` as int, for any size is expected."""
    if not isinstance(opened, CallableType) or not isinstance(declared, CallableType) or not declared.variables:
        return opened
    is_named = [bool(actuals) and not any(isinstance(one, _WRITTEN) for one in actuals) for actuals in ctx.args]
    types = [
        formal.upper_bound
        if named and isinstance(formal, TypeVarType) and formal in declared.variables and kind_of(formal) == "size"
        else given
        for named, formal, given in zip(is_named, declared.arg_types, opened.arg_types, strict=True)
    ]
    return opened if all(map(operator.is_, types, opened.arg_types)) else opened.copy_modified(arg_types=types)


def _comes_again(declared: CallableType) -> bool:
    """Return whether each call has a new signature, such as that of a method, which mypy binds to its object."""
    if not is_of_library(declared):
        return True
    return bool(getattr(declared.definition, "info", None)) and not declared.is_type_obj()


def has_own_sizes(declared: FunctionLike) -> bool:
    """Return whether a signature is that of a function or a class of the library, with no sizes of its caller in it."""
    return isinstance(declared, CallableType) and not _comes_again(declared)


def is_op(declared: CallableType) -> bool:
    """Return whether a signature is that of an op function."""
    definition = declared.definition
    return definition is not None and definition.fullname.startswith("tapegrad.ops.")


def _merged_in(tape: Type, kinds: dict[TypeVarId, str]) -> list[TypeVarId] | None:
    """Return the tape variables that the tape of a result merges; None if it has other parts."""
    p = get_proper_type(tape)
    parts = p.args if isinstance(p, Instance) and p.type.fullname == MERGED else [p]
    own = [one.id for one in map(get_proper_type, parts) if isinstance(one, TypeVarType) and one.id in kinds]
    return own if len(own) == len(parts) else None


def _class_of_any_bits(bound: Type) -> str | None:
    """Return the class of a bound such as `floating[Any]`: a subclass is within the bound without asking mypy."""
    p = get_proper_type(bound)
    if not isinstance(p, Instance) or not all(isinstance(get_proper_type(argument), AnyType) for argument in p.args):
        return None
    return p.type.fullname


def opened_call(function: CallableType) -> CallableType:
    """Open the tensors in the parameters and the result of a function, in parts that leave nothing to infer."""
    return function.copy_modified(
        arg_types=[_open_parts(t) for t in function.arg_types], ret_type=_open_parts(function.ret_type)
    )


def _open_parts(t: Type) -> Type:
    p = get_proper_type(t)
    if not isinstance(p, Instance) or p.type.fullname != TENSOR:
        return t
    shape, tape, dtype = map(get_proper_type, p.args)
    is_open = isinstance(shape, TupleType) and not any(isinstance(item, UnpackType) for item in shape.items)
    fixed = [is_open, isinstance(tape, Instance) and not tape.args, isinstance(dtype, Instance)]
    args = [unknown() if one else part for part, one in zip(p.args, fixed, strict=True)]
    return p.copy_modified(args=args)


def _open_calls(declared: CallableType, ctx: FunctionSigContext | MethodSigContext) -> list[Type]:
    """Open the function parameters whose arguments have a signature of their own."""
    return [
        opened_call(p)
        if isinstance(p := get_proper_type(t), CallableType)
        and actuals
        and all(_has_known_type(one, ctx.api) for one in actuals)
        else t
        for t, actuals in zip(declared.arg_types, ctx.args, strict=True)
    ]


def _has_known_type(expression: Expression, api: Any) -> bool:
    # mypy infers a lambda from its expected type.
    if not isinstance(expression, NameExpr | MemberExpr | CallExpr):
        return False
    return called(api.get_expression_type(expression)) is not None


def _opened_signature(declared: CallableType, ctx: FunctionSigContext | MethodSigContext | None = None) -> CallableType:
    if ctx is not None and any(isinstance(get_proper_type(t), CallableType) for t in declared.arg_types):
        declared = declared.copy_modified(arg_types=_open_calls(declared, ctx))
    parts: dict[TypeVarId, Type] = {
        variable.id: unknown() for variable in declared.variables if kind_of(variable) in ("size", "dtype")
    }
    opened = [_open(_taking_any(t, parts)) for t in declared.arg_types]
    if all(map(operator.is_, opened, declared.arg_types)):
        return declared
    return declared.copy_modified(arg_types=opened)


def _taking_any(t: Type, parts: dict[TypeVarId, Type]) -> Type:
    """Open the parameters of a function parameter: mypy infers a lambda before its sizes and dtypes are bound."""
    if not parts or is_endless(t):
        return t
    p = get_proper_type(t)
    if not isinstance(p, CallableType):
        return t
    return p.copy_modified(arg_types=[expand_type(argument, parts) for argument in p.arg_types])


def is_concerned(declared: FunctionLike) -> bool:
    """Return whether a signature mentions tensors or their sizes."""
    if isinstance(declared, CallableType):
        known = _signatures.get(declared.definition)
        if known is not None and known.declared is declared:
            return True
    return concerns(declared)


def lacks_annotations(declared: Type | None) -> bool:
    """Return whether a signature is that of a function of which a parameter or the result has no annotation."""
    if not isinstance(declared, CallableType) or not isinstance(declared.definition, FuncDef):
        return False
    types = map(get_proper_type, [*declared.arg_types, declared.ret_type])
    return not declared.is_type_obj() and any(
        isinstance(t, AnyType) and t.type_of_any == TypeOfAny.unannotated for t in types
    )


def concerns(t: Type) -> bool:
    """Return whether a type mentions tensors or their sizes."""
    if is_endless(t):
        return False
    p = get_proper_type(t)
    if isinstance(p, Instance):
        return (
            p.type.fullname in ARITHMETIC
            or p.type.has_base(TENSOR)
            or p.type.fullname in (BATCHES, VALUE, NODE)
            or any(map(concerns, p.args))
            or (bool(p.args) and p.type.has_base(MODULE) and any(map(is_size, p.args)))
        )
    if isinstance(p, TypeVarType):
        return kind_of(p) != "other"
    if isinstance(p, CallableType):
        return concerns(p.ret_type) or any(map(concerns, p.arg_types)) or any(kind_of(v) == "size" for v in p.variables)
    if isinstance(p, UnionType | TupleType | Overloaded):
        return any(map(concerns, p.items))
    if isinstance(p, TypeType):
        return concerns(p.item)
    return isinstance(p, UnpackType) and concerns(p.type)


def _is_another(one: CallableType, declared: CallableType) -> bool:
    """Return whether two signatures are different overloads of one function."""
    first, second = one.definition, declared.definition
    return first is not second and getattr(first, "fullname", None) == getattr(second, "fullname", None)


def _takes(declared: CallableType, arguments: list[list[Type]]) -> bool:
    return all(
        all(accepts(formal, actual) for actual in actuals) and (actuals or not kind.is_required())
        for formal, kind, actuals in zip(declared.arg_types, declared.arg_kinds, arguments, strict=True)
    )


def _tensor_of(formal: Type) -> TensorParts | None:
    """Return the parts of a parameter that is a tensor, or a union with just one; None for any other parameter."""
    p = get_proper_type(formal)
    items = [item for item in map(get_proper_type, p.items if isinstance(p, UnionType) else [p]) if tensor_parts(item)]
    parts = tensor_parts(items[0]) if len(items) == 1 and isinstance(items[0], Instance) else None
    return None if parts is None else TensorParts(*map(get_proper_type, parts))


def _any_dtype(variable: TypeVarType) -> Instance:
    bound = get_proper_type(variable.upper_bound)
    generic = next(base for base in bound.type.mro if base.fullname == "numpy.generic")  # type: ignore[attr-defined]  # a dtype's
    return Instance(generic, [unknown() for _ in generic.type_vars])


def _dtype_named(t: Type) -> TypeVarType | None:
    """Return the dtype variable of a parameter that is a scalar type of NumPy; None for any other parameter."""
    p = get_proper_type(t)
    return (
        p.item if isinstance(p, TypeType) and isinstance(p.item, TypeVarType) and kind_of(p.item) == "dtype" else None
    )


def _is_size_name(t: Type) -> bool:
    return isinstance(t, TypeVarType) and kind_of(t) == "size"


def _open(t: Type) -> Type:
    if is_endless(t):
        return t
    p = get_proper_type(t)
    if isinstance(p, Instance) and (p.type.fullname in (TENSOR, VALUE, NODE) or is_distribution(p)):
        return p.copy_modified(args=[unknown() for _ in p.args])
    if isinstance(p, Instance) and p.type.fullname in ARITHMETIC:
        return Instance(next(base for base in p.type.mro if base.fullname == "builtins.int"), [])
    if isinstance(p, Instance) and p.args and p.type.has_base(MODULE):
        args = [unknown() if is_size(argument) else argument for argument in p.args]
        return t if all(map(operator.is_, args, p.args)) else p.copy_modified(args=args)
    if isinstance(p, Instance) and p.type.is_protocol and any(map(_is_size_name, p.args)):
        args = [unknown() if _is_size_name(argument) else argument for argument in p.args]
        return p.copy_modified(args=args)
    if (variable := _dtype_named(p)) is not None:
        return TypeType.make_normalized(_any_dtype(variable))
    if isinstance(p, Instance) and p.type.fullname == "typing.Sequence":
        return p.copy_modified(args=[_open(argument) for argument in p.args])
    if isinstance(p, TupleType):
        return _open_tuple(p)
    if isinstance(p, UnionType):
        named = next((variable for variable in map(_dtype_named, p.items) if variable is not None), None)
        if named is not None:
            return Instance(_any_dtype(named).type.mro[-1], [])  # object, so that tapegrad reports invalid dtypes
        items = [_open(item) for item in p.items]
        return t if all(map(operator.is_, items, p.items)) else UnionType(items, p.line, p.column)
    return t


def without_sizes(t: Type) -> Type:
    """Return a type with unknown sizes in the tensors and layers in it; the same object if it has none."""
    if is_endless(t):
        return t
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.args:
        if p.type.has_base(TENSOR) and isinstance(shape := get_proper_type(p.args[0]), TupleType):
            return p.copy_modified(args=[_unknown_items(shape), *p.args[1:]])
        is_layer = p.type.has_base(MODULE)
        if is_layer and p.type.has_type_var_tuple_type:
            return p.copy_modified(args=any_layers(p.type))
        args = [unknown() if is_layer and is_size(one) else without_sizes(one) for one in p.args]
        return t if all(map(operator.is_, args, p.args)) else p.copy_modified(args=args)
    declared = p.partial_fallback.type.tuple_type if isinstance(p, TupleType) else None
    if isinstance(p, TupleType) and declared is not None and not p.partial_fallback.args:
        # A named tuple, whose fields are declared with the sizes that they may have.
        return t if declared.items == p.items else p.copy_modified(items=declared.items)
    if isinstance(p, UnionType | TupleType):
        items = list(map(without_sizes, p.items))
        if all(map(operator.is_, items, p.items)):
            return t
        return p.copy_modified(items=items) if isinstance(p, TupleType) else UnionType(items, p.line, p.column)
    return t


def any_layers(container: TypeInfo) -> list[Type]:
    """Return the type arguments of a container of any number of layers."""
    (variable,) = container.defn.type_vars
    fallback = variable.tuple_fallback if isinstance(variable, TypeVarTupleType) else None
    return [unknown()] if fallback is None else [UnpackType(fallback.copy_modified(args=[unknown()]))]


def _unknown_items(shape: TupleType) -> Type:
    if any(isinstance(item, UnpackType) for item in shape.items):
        return unknown()
    return shape.copy_modified(items=[unknown()] * len(shape.items))


def _open_tuple(p: TupleType) -> TupleType:
    """Open the tensors in a tuple, and for a generic `NamedTuple` the sizes and tapes of its class."""
    fallback, is_class = p.partial_fallback, p.partial_fallback.type.fullname != "builtins.tuple"
    items = [unknown() if is_class and _is_size_name(item) else _open(item) for item in p.items]
    args = fallback.args
    if is_class and not fallback.type.has_type_var_tuple_type:
        kinds = map(kind_of, fallback.type.defn.type_vars)
        args = tuple(unknown() if kind in ("size", "tape") else one for kind, one in zip(kinds, args, strict=True))
    if all(map(operator.is_, (*items, *args), (*p.items, *fallback.args))):
        return p
    return p.copy_modified(items=items, fallback=fallback.copy_modified(args=args))
