"""Lays the declared parameters of a call beside the actual arguments and binds what stands for sizes.

mypy has checked the call before, against parameters of any shape: covariant sizes would have joined silently there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mypy.maptype import map_instance_to_supertype
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    Overloaded,
    ProperType,
    TupleType,
    Type,
    TypeAliasType,
    TypeType,
    TypeVarId,
    TypeVarTupleType,
    TypeVarType,
    UninhabitedType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad import sentences
from tapegrad.dims import UNKNOWN, Floor, Name, Size, is_unknown, named, surely_differ, surely_less
from tapegrad.mypy.codec import (
    ARRAY,
    CONSUMED_TAPE,
    MERGED,
    MODULE,
    NONE_TAPE,
    OWNED_TAPE,
    PRODUCT,
    QUOTIENT,
    SUM,
    TENSOR,
    Make,
    Many,
    TensorParts,
    dtype_name,
    is_endless,
    is_tape,
    item_types,
    merged_tape,
    shape_items,
    shape_type,
    size_of,
    size_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.internals import accepts, called
from tapegrad.mypy.signatures import Signature, opened_call
from tapegrad.mypy.solving import OPEN, LeavesRestError, linear, linear_in_floor, names_in, replaced, solved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.nodes import TypeInfo
    from mypy.types import TypeVarLikeType


class Refusal(Exception):  # noqa: N818  # no error: a sentence on its way to the user
    """An argument does not fit; carries the sentence and the kind of misfit."""

    def __init__(self, sentence: str, kind: str = "shape") -> None:
        super().__init__(sentence)
        self.kind = kind


class Computed(NamedTuple):
    """A size declared by arithmetic, beside the one that is there; judged when all names are bound."""

    declared: Type
    actual: Size
    where: str
    refusal: Callable[[Size | None], str]


class Bindings:
    """What the type variables of one call stand for."""

    def __init__(self, name: str, signature: Signature, make: Make) -> None:
        self.name = name
        self.make = make
        self.own = signature.kinds
        self.bounds = signature.bounds
        self.classes = signature.classes
        self.merged = signature.merged
        self.sizes: dict[TypeVarId, tuple[Size, str]] = {}
        self.many: dict[TypeVarId, tuple[list[Size | Many], str]] = {}
        self.shapes: dict[TypeVarId, tuple[Type, str]] = {}
        self.dtypes: dict[TypeVarId, tuple[Type, str]] = {}
        self.tapes: dict[TypeVarId, list[Type]] = {}
        self.given: list[Type] = []
        self._bounded: dict[TypeVarId, None] = {}
        self._beside: list[tuple[TypeVarId, str, str]] = []
        self._computed: list[Computed] = []
        self._open: dict[Name, TypeVarType] = {}
        self._floors: dict[Floor, Size] = {}

    def unify(self, formal: Type, actual: Type, where: str) -> None:
        """Binds what `formal` names to what `actual` has in its place.

        Raises:
            Refusal: They do not fit.
        """
        if isinstance(formal, TypeAliasType) and is_endless(formal):
            return
        declared, given = get_proper_type(formal), get_proper_type(actual)
        if isinstance(declared, AnyType):
            return
        if isinstance(given, AnyType):
            self._forget_tapes(declared)
            self._forget_sizes(declared, where)
        elif isinstance(declared, UnionType):
            self._unify_union(declared, given, where)
        elif isinstance(declared, TypeVarType):
            self._bind(declared, given, where)
        elif isinstance(declared, TypeType):
            made = _instance_of(given)
            # What is no class of NumPy's mypy refuses itself.
            if not (self._is_dtype(declared.item) and isinstance(made, Instance) and not made.type.has_base(GENERIC)):
                self.unify(declared.item, made, where)
        elif isinstance(declared, TupleType):
            if isinstance(given, TupleType) and len(given.items) == len(declared.items):
                for one, other in zip(declared.items, given.items, strict=True):
                    if not isinstance(one, UnpackType) and not isinstance(other, UnpackType):
                        self.unify(one, other, where)
        elif isinstance(declared, CallableType):
            self._unify_call(declared, declared, given, where)
        elif isinstance(declared, Instance):
            self._unify_instance(declared, given, where)

    def unify_tensor(self, formal: TensorParts, actual: TensorParts, where: str) -> None:
        """Binds what a parameter that is a tensor names.

        Raises:
            Refusal: They do not fit.
        """
        shape = get_proper_type(formal.shape)
        if not isinstance(shape, AnyType):
            self._unify_shape(shape, get_proper_type(actual.shape), where)
        self._unify_tape(get_proper_type(formal.tape), get_proper_type(actual.tape), where)
        self._unify_dtype(get_proper_type(formal.dtype), get_proper_type(actual.dtype), where)

    def finish(self, *, raw: bool = False) -> None:
        """Compares computed sizes and bounds of dtypes, now that all names are bound.

        Args:
            raw: Whether values without a tensor around them are computed with, whose dtypes are NumPy's affair.

        Raises:
            Refusal: One comes to another size than is there.
        """
        waiting: list[Computed] = []
        while self._computed and len(waiting) != len(self._computed):
            waiting, self._computed = self._computed, []
            for one in waiting:
                self._settle(one)
        for one in self._computed:
            self._settle_floor(one)
        if raw:
            return
        for variable, number, where in self._beside:
            self._refuse_number(variable, number, where)
        for variable in self._bounded:
            dtype, where = self.dtypes[variable]
            bound, kind = self.bounds[variable], self.classes[variable]
            if not (kind and isinstance(dtype, Instance) and dtype.type.has_base(kind)) and not accepts(bound, dtype):
                expected = dtype_name(bound)
                raise Refusal(sentences.wrong_dtype(self.name, where, dtype_name(dtype), expected), "dtype")

    def refuse_too_small(self, variables: Sequence[TypeVarLikeType]) -> None:
        """Refuses a number below the least that its name may stand for, as the guard of a constructor does.

        Raises:
            Refusal: One is.
        """
        for variable in variables:
            size, where = self.sizes.get(variable.id, (UNKNOWN, ""))
            least = next((name.least for name in names_in(size_of(variable))), 1)
            if isinstance(size, int) and size < least:
                raise Refusal(sentences.too_small(self.name, variable.name, size, where, least))

    def size(self, t: Type, unbound: Callable[[TypeVarType], Size] = lambda _: UNKNOWN) -> Size:
        """Reads a declared size with the names bound."""
        p = get_proper_type(t)
        if isinstance(p, TypeVarType) and p.id in self.own:
            bound, _ = self.sizes.get(p.id, (UNKNOWN, ""))
            return unbound(p) if is_unknown(bound) else bound
        if isinstance(p, Instance) and p.type.fullname in (SUM, PRODUCT, QUOTIENT):
            left, right = (self.size(argument, unbound) for argument in p.args)
            if p.type.fullname == SUM:
                return left + right
            return left * right if p.type.fullname == PRODUCT else left // right
        return size_of(p)

    def applied(self, declared: Type, default: Type | None) -> Type:
        """Returns a declared type with everything bound; `default`, mypy's own answer, fills in the rest."""
        if isinstance(declared, TypeAliasType) and is_endless(declared):
            return default if default is not None else declared
        p, answer = get_proper_type(declared), get_proper_type(default) if default is not None else None
        if isinstance(p, Instance):
            return self._applied_instance(p, answer) if p.args else p
        if isinstance(p, TypeVarType):
            return self._applied_variable(p, answer)
        if isinstance(p, TupleType):
            return self._applied_tuple(p, answer)
        if isinstance(p, UnionType):
            items = p.items
            answers = answer.items if isinstance(answer, UnionType) else []
            if len(answers) == len(items):
                return UnionType([self.applied(one, other) for one, other in zip(items, answers, strict=True)])
            return UnionType([self.applied(one, None) for one in items])
        if isinstance(p, CallableType):
            arguments = list(answer.arg_types) if isinstance(answer, CallableType) else []
            if isinstance(answer, CallableType) and len(arguments) == len(p.arg_types):
                types = [self.applied(one, other) for one, other in zip(p.arg_types, arguments, strict=True)]
                return answer.copy_modified(arg_types=types, ret_type=self.applied(p.ret_type, answer.ret_type))
        return default if default is not None else p

    def applied_beside(self, shape: Type, declared: Type) -> Type:
        """Returns a declared tensor with tape and dtype bound, beside a shape that is known."""
        p = get_proper_type(declared)
        if not isinstance(p, Instance):
            return p
        _, tape, *others = p.args
        return p.copy_modified(args=[shape, self._result_tape(tape), *[self.applied(one, None) for one in others]])

    def _result_tape(self, declared: Type) -> Type:
        if self.merged is None:
            return self.applied(declared, None)
        return merged_tape([tape for one in self.merged for tape in self.tapes.get(one) or [unknown()]], self.make)

    def _applied_variable(self, p: TypeVarType, answer: ProperType | None) -> Type:
        kind = self.own.get(p.id)
        if kind is None:
            return p
        if kind == "size":
            if p.id in self.sizes:
                return size_type(self.size(p), self.make)
            # Left out, a size is its default, as it is where one number stands for several; given but unknown, it
            # stays unknown.
            given = [formal for formal in self.given if _mentions(formal, p.id)]
            is_left_out = all(self._follows(p, formal) for formal in given)
            return self._default_size(p, answer) if is_left_out else _kept_size(answer)
        if kind == "shape":
            return shape_type(shape_items(self.shapes[p.id][0]), self.make) if p.id in self.shapes else unknown()
        if kind == "tape":
            return merged_tape(self.tapes[p.id], self.make) if p.id in self.tapes else unknown()
        if kind == "dtype":
            if p.id in self.dtypes:
                return self.dtypes[p.id][0]
            # Left out, a dtype is the default one; given but unknown, it stays unknown.
            return unknown() if any(_mentions(formal, p.id) for formal in self.given) else p.default
        return unknown() if answer is None or isinstance(answer, UninhabitedType) else answer

    def _follows(self, p: TypeVarType, formal: Type) -> bool:
        default = get_proper_type(p.default)
        return isinstance(default, TypeVarType) and default.id in self.sizes and _mentions(formal, default.id)

    def _default_size(self, p: TypeVarType, answer: ProperType | None) -> Type:
        default = get_proper_type(p.default)
        if isinstance(default, LiteralType):
            return default
        if isinstance(default, TypeVarType) and default.id in self.own:
            return self._applied_variable(default, None)
        return _kept_size(answer)

    def _applied_tuple(self, p: TupleType, answer: ProperType | None) -> Type:
        others = answer.items if isinstance(answer, TupleType) and len(answer.items) == len(p.items) else None
        items: list[Type] = []
        for position, item in enumerate(p.items):
            if isinstance(item, UnpackType):
                inner = get_proper_type(item.type)
                if not isinstance(inner, TypeVarTupleType) or inner.id not in self.own:
                    items.append(item)
                elif inner.id in self.many:
                    items += item_types(self.many[inner.id][0], self.make)
                else:
                    return unknown()
            else:
                items.append(self.applied(item, others[position] if others is not None else None))
        return p.copy_modified(items=items)

    def _applied_instance(self, p: Instance, answer: ProperType | None) -> Type:
        if p.type.fullname in (SUM, PRODUCT, QUOTIENT):
            return size_type(self._closed(p), self.make)
        if p.type.fullname == MERGED:
            return merged_tape([tape for argument in p.args for tape in self._tapes_of(argument)], self.make)
        others = answer.args if isinstance(answer, Instance) and answer.type is p.type else ()
        others = others if len(others) == len(p.args) else [None] * len(p.args)
        args = [self.applied(one, other) for one, other in zip(p.args, others, strict=True)]
        if p.type.fullname == TENSOR:
            self._refuse_negative(args[0])
        return p.copy_modified(args=args)

    def _refuse_negative(self, shape: Type) -> None:
        """Refuses a result with a size below 0, which no tensor has, whatever the body would say."""
        p = get_proper_type(shape)
        for axis, item in enumerate(p.items if isinstance(p, TupleType) else ()):
            if isinstance(item, LiteralType) and isinstance(item.value, int) and item.value < 0:
                raise Refusal(sentences.below_zero(self.name, shape_items(p) or [], axis))

    def _tapes_of(self, declared: Type) -> list[Type]:
        p = get_proper_type(declared)
        if isinstance(p, TypeVarType) and p.id in self.tapes:
            return self.tapes[p.id]
        return [self.applied(p, None)]

    def _settle(self, computed: Computed) -> None:
        """Compares a computed size, or solves it for its one open name; with several it waits on."""
        equation = linear(self.size(computed.declared, self._left_open))
        if equation is None:
            value = self.size(computed.declared)
            if surely_differ(value, computed.actual):
                raise Refusal(computed.refusal(value))
            if is_unknown(value):
                self._computed.append(computed)
            return
        if not isinstance(equation.name, Name):
            return
        variable = self._open[equation.name]
        try:
            solution = solved(equation, computed.actual)
        except LeavesRestError:
            raise Refusal(computed.refusal(None)) from None
        if solution is None:
            return
        (name,) = names_in(size_of(variable))
        if surely_less(solution, name.least):
            raise Refusal(sentences.too_small(self.name, variable.name, solution, computed.where, name.least))
        self._bind_size(variable, solution, computed.where)

    def _settle_floor(self, computed: Computed) -> None:
        """Takes a floor division whose name stays open for what it comes to: `M // 2` is 3, be M 6 or 7."""
        size = self.size(computed.declared, self._left_open)
        value = replaced(size, self._floors)
        if surely_differ(value, computed.actual):
            raise Refusal(computed.refusal(value))
        equation = linear_in_floor(size) if is_unknown(value) else None
        if equation is None or not isinstance(equation.name, Floor):
            return
        try:
            solution = solved(equation, computed.actual)
        except LeavesRestError:
            raise Refusal(computed.refusal(None)) from None
        if solution is not None and not is_unknown(solution):
            self._floors[equation.name] = solution

    def _closed(self, t: Type) -> Size:
        """Reads a computed size with all that is known of its names, and of what they are divided by."""
        size = self.size(t)
        return replaced(self.size(t, self._left_open), self._floors) if self._floors and is_unknown(size) else size

    def _left_open(self, variable: TypeVarType) -> Size:
        # A name of its own: in the body of a function that calls itself, `N` may be bound to `N`.
        name = Name(variable.name, f"{OPEN} {variable.id.raw_id}@{variable.id.namespace}")
        self._open[name] = variable
        return named(name.label, name.scope)

    def _bind(self, variable: TypeVarType, given: ProperType, where: str) -> None:
        kind = self.own.get(variable.id)
        if kind == "size":
            self._bind_size(variable, size_of(given), where)
        elif kind == "shape":
            self._bind_shape(variable, given, where)
        elif kind == "dtype":
            self._bind_bounded(variable, given, where)
        elif kind == "tape":
            self.tapes.setdefault(variable.id, []).append(given)

    def _bind_size(self, variable: TypeVarType, size: Size, where: str) -> None:
        bound, place = self.sizes.get(variable.id, (UNKNOWN, where))
        if surely_differ(bound, size):
            raise Refusal(sentences.conflict(self.name, variable.name, bound, place, size, where))
        if is_unknown(bound):
            self.sizes[variable.id] = size, where

    def _bind_many(self, many: Size | Many, items: list[Size | Many], where: str) -> None:
        if not isinstance(many, Many) or many.variable.id not in self.own:
            return
        variable = many.variable
        bound, place = self.many.setdefault(variable.id, (items, where))
        if _differ(bound, items):
            raise Refusal(
                sentences.conflict(
                    self.name, f"*{variable.name}", sentences.shown(bound), place, sentences.shown(items), where
                )
            )

    def _bind_shape(self, variable: TypeVarType, shape: ProperType, where: str) -> None:
        if isinstance(shape, AnyType):
            return
        if variable.id not in self.shapes:
            self.shapes[variable.id] = shape, where
            return
        bound, place = self.shapes[variable.id]
        ours, theirs = shape_items(bound), shape_items(shape)
        if ours is None or theirs is None:
            if get_proper_type(bound) != shape and (
                isinstance(get_proper_type(bound), TypeVarType) or isinstance(shape, TypeVarType)
            ):
                raise Refusal(sentences.conflict(self.name, variable.name, _name(bound), place, _name(shape), where))
        elif _differ(ours, theirs):
            raise Refusal(
                sentences.conflict(
                    self.name, variable.name, sentences.shown(ours), place, sentences.shown(theirs), where
                )
            )

    def _bind_dtype(self, variable: TypeVarType, dtype: ProperType, where: str) -> None:
        if isinstance(dtype, AnyType | UninhabitedType):
            return
        bound, place = self.dtypes.setdefault(variable.id, (dtype, where))
        if bound != dtype and not accepts(bound, dtype) and not accepts(dtype, bound):
            ours, theirs = dtype_name(bound), dtype_name(dtype)
            raise Refusal(sentences.mixed_dtypes(self.name, ours, place, theirs, where), "dtype")

    def _is_dtype(self, t: Type) -> bool:
        p = get_proper_type(t)
        return isinstance(p, TypeVarType) and self.own.get(p.id) == "dtype"

    def _bind_bounded(self, variable: TypeVarType, dtype: ProperType, where: str) -> None:
        self._bind_dtype(variable, dtype, where)
        if variable.id in self.dtypes:
            self._bounded[variable.id] = None

    def _unify_union(self, declared: UnionType, given: ProperType, where: str) -> None:
        for item in map(get_proper_type, declared.items):
            if isinstance(item, TypeType) and self._is_dtype(item.item):
                self._unify_scalar_type(item.item, given, where)
                return
        actual = tensor_parts(given)
        if actual is None and not isinstance(given, UnionType):
            for formal in filter(None, map(tensor_parts, declared.items)):
                self._tape_of_no_tensor(get_proper_type(formal.tape))
                self._dtype_of_no_tensor(get_proper_type(formal.dtype), given, where)
        if isinstance(given, UnionType):
            self._unify_unions(declared, given, where)
            return
        for item in map(get_proper_type, declared.items):
            if self._takes(item, given):
                self.unify(item, given, where)
                return

    def _unify_scalar_type(self, declared: Type, given: ProperType, where: str) -> None:
        """Binds a dtype that is given as such, or by its scalar type."""
        if isinstance(given, UnionType) or (isinstance(given, Instance) and given.type.fullname == "builtins.type"):
            return
        if isinstance(given, Instance) and given.type.has_base("numpy.dtype"):
            (scalar,) = map_instance_to_supertype(given, _base(given, "numpy.dtype")).args
            self.unify(declared, scalar, where)
            return
        made = _instance_of(given)
        if made is given or (isinstance(made, Instance) and not made.type.has_base(GENERIC)):
            name = made.type.name if isinstance(made, Instance) else "NoneType"
            kind = sentences.with_article(name) if made is given else f"the class {name}"
            raise Refusal(sentences.no_dtype(self.name, where, kind), "dtype")
        self.unify(declared, made, where)

    def _takes(self, item: ProperType, given: ProperType) -> bool:
        """Says whether it is this one of several that is given, where that can be told."""
        if isinstance(given, TupleType):
            if isinstance(item, TupleType):
                return len(item.items) == len(given.items)
            return isinstance(item, Instance) and item.type.fullname == "builtins.tuple"
        if isinstance(item, TypeVarType):
            return self.own.get(item.id) == "size" and not is_unknown(size_of(given))
        if tensor_parts(item) is not None and tensor_parts(given) is not None:
            return True
        return isinstance(item, Instance) and isinstance(given, Instance) and given.type is item.type

    def _unify_unions(self, declared: UnionType, given: UnionType, where: str) -> None:
        """Binds tape and dtype where one of several may be a tensor; its shape only the run time knows."""
        formals = [parts for parts in map(tensor_parts, declared.items) if parts is not None]
        actuals = [parts for parts in map(tensor_parts, given.items) if parts is not None]
        for formal in formals:
            for actual in actuals:
                self._unify_tape(get_proper_type(formal.tape), get_proper_type(actual.tape), where)
                self._unify_dtype(get_proper_type(formal.dtype), get_proper_type(actual.dtype), where)

    def _tape_of_no_tensor(self, tape: ProperType) -> None:
        """Binds the tape of a parameter that may be a tensor and is a number: there is none."""
        if isinstance(tape, TypeVarType) and tape.id in self.own:
            self.tapes.setdefault(tape.id, []).append(self.make(NONE_TAPE, []))

    def _dtype_of_no_tensor(self, formal: ProperType, given: ProperType, where: str) -> None:
        """Holds the dtype of an array, or the class of a number, against that of the tensor it stands beside."""
        if not isinstance(given, Instance) or not isinstance(formal, TypeVarType):
            return
        if given.type.has_base("builtins.int") or given.type.has_base("builtins.float"):
            if formal.id in self.own:
                self._beside.append((formal.id, given.type.name, where))
        elif given.type.fullname == ARRAY:
            dtype = get_proper_type(given.args[1])
            if isinstance(dtype, Instance) and dtype.args:
                self._unify_dtype(formal, get_proper_type(dtype.args[0]), where)
        elif given.type.has_base("numpy.generic"):
            self._unify_dtype(formal, given, where)

    def _refuse_number(self, variable: TypeVarId, number: str, where: str) -> None:
        """Refuses a number that the dtype it would be turned into cannot hold."""
        dtype, place = self.dtypes.get(variable, (unknown(), where))
        p = get_proper_type(dtype)
        if not isinstance(p, Instance) or number == "bool":
            return
        if p.type.has_base("numpy.bool") or (number != "int" and p.type.has_base("numpy.integer")):
            name = sentences.with_article(number)
            raise Refusal(sentences.mixed_dtypes(self.name, name, where, dtype_name(p), place), "dtype")

    def _forget_tapes(self, declared: ProperType) -> None:
        """Says of an argument of type Any that it may have a tape or not: merged with none, that stays open."""
        for item in declared.items if isinstance(declared, UnionType) else [declared]:
            parts = tensor_parts(item)
            tape = get_proper_type(parts.tape) if parts is not None else None
            if isinstance(tape, TypeVarType) and tape.id in self.own:
                self.tapes.setdefault(tape.id, []).append(unknown())

    def _forget_sizes(self, declared: ProperType, where: str) -> None:
        """Says of an argument of type Any that it has sizes, whichever: none of them is left out."""
        for item in declared.items if isinstance(declared, UnionType | TupleType) else [declared]:
            p = get_proper_type(item)
            if isinstance(p, TupleType):
                self._forget_sizes(p, where)
            elif isinstance(p, TypeVarType) and self.own.get(p.id) == "size":
                self.sizes.setdefault(p.id, (UNKNOWN, where))

    def _unify_instance(self, declared: Instance, given: ProperType, where: str) -> None:
        if declared.type.fullname in (SUM, PRODUCT, QUOTIENT):
            actual_number = size_of(given)
            self._computed.append(
                Computed(
                    declared,
                    actual_number,
                    where,
                    lambda value: sentences.wrong_number(self.name, where, actual_number, size_of(declared), value),
                )
            )
            return
        formal, actual = tensor_parts(declared), tensor_parts(given)
        if formal is not None and actual is not None:
            self.unify_tensor(formal, actual, where)
        elif isinstance(given, Instance) and given.type.has_base(declared.type.fullname) and declared.args:
            mapped = map_instance_to_supertype(given, declared.type)
            if declared.type.has_base(MODULE):
                self._unify_layer(declared, mapped, where)
            for one, other in zip(declared.args, mapped.args, strict=False):
                self.unify(one, other, where)
        elif isinstance(given, TupleType) and declared.type.fullname in SEQUENCES:
            for item in given.items:
                if not isinstance(item, UnpackType):
                    self.unify(declared.args[0], item, where)

        elif declared.type.is_protocol and (call := called(declared)) is not None:
            self._unify_call(call, declared, given, where)

    def _unify_layer(self, declared: Instance, given: Instance, where: str) -> None:
        """Compares the sizes of a layer with those that are declared by number, or by a name of the program around."""
        expected = sentences.layer(declared.type.name, [size_of(argument) for argument in declared.args])
        layer = sentences.layer(given.type.name, [size_of(argument) for argument in given.args])
        if len(declared.args) != len(given.args):
            return  # one of them is any number of layers, `Sequential` as it stands
        for one, other in zip(declared.args, given.args, strict=True):
            if not self._is_open(one) and surely_differ(size_of(one), size_of(other)):
                raise Refusal(sentences.other_shape(self.name, where, layer, expected))

    def _unify_call(self, declared: CallableType, whole: Type, given: ProperType, where: str) -> None:
        """Binds what a parameter that is called names: by what the argument takes, and what it gives."""
        function = called(given)
        if function is None or len(function.arg_types) != len(declared.arg_types):
            return
        if not accepts(opened_call(whole) if isinstance(whole, CallableType) else whole, given):
            return  # what does not fit at all, mypy has refused
        for formal, actual in zip(declared.arg_types, function.arg_types, strict=True):
            self._unify_part(formal, actual, function, f"what {where} takes")
            self._unify_kind(
                formal, actual, f"what {where} takes", is_within=lambda ours, theirs: accepts(theirs, ours)
            )
        given_back = self._given_by(function, declared)
        self._unify_part(declared.ret_type, given_back, function, f"what {where} gives")
        self._unify_kind(declared.ret_type, given_back, f"what {where} gives", is_within=accepts)

    def _given_by(self, function: CallableType, declared: CallableType) -> Type:
        """Returns what a function gives of what it is declared to be called with, as far as that is known."""
        if not function.variables:
            return function.ret_type
        inner = Bindings(self.name, Signature(function), self.make)
        with suppress(Refusal):
            for formal, actual in zip(function.arg_types, declared.arg_types, strict=True):
                inner.unify(formal, self.applied(actual, None), "")
            inner.finish(raw=True)
        return inner.applied(function.ret_type, function.ret_type)

    def _unify_part(self, formal: Type, actual: Type, function: CallableType, where: str) -> None:
        """Binds the sizes in one parameter of a function, or in its result, by those which that fixes itself."""
        declared, given = tensor_parts(formal), tensor_parts(actual)
        shape = get_proper_type(declared.shape) if declared is not None else None
        expected = shape_items(shape) if shape is not None else None
        sizes = shape_items(given.shape) if given is not None else None
        if not isinstance(shape, TupleType) or expected is None or sizes is None:
            return
        own = {variable.id for variable in function.variables}
        fixed = _fixed(sizes, own | self.own.keys(), len(expected))
        if any(isinstance(size, Many) for size in (*fixed, *expected)):
            return
        if len(fixed) != len(expected):
            raise Refusal(sentences.wrong_rank(self.name, where, fixed, expected))
        for axis, size in enumerate(fixed):
            if not isinstance(size, Many) and not is_unknown(size):
                self._unify_size(shape.items[axis], axis, fixed, expected, where)

    def _unify_kind(self, formal: Type, actual: Type, where: str, *, is_within: Callable[[Type, Type], bool]) -> None:
        """Compares tape and dtype in one parameter of a function, or in its result, where both are fixed."""
        declared, given = tensor_parts(formal), tensor_parts(actual)
        if declared is None or given is None:
            return
        ours, theirs = get_proper_type(declared.tape), get_proper_type(given.tape)
        if isinstance(ours, Instance) and isinstance(theirs, Instance) and not is_within(ours, theirs):
            said = sentences.tape_unwanted if is_tape(ours, NONE_TAPE) else sentences.tape_missing
            raise Refusal(said(self.name, where), "tape")
        ours, theirs = get_proper_type(declared.dtype), get_proper_type(given.dtype)
        if isinstance(ours, Instance) and isinstance(theirs, Instance) and not is_within(ours, theirs):
            raise Refusal(sentences.wrong_dtype(self.name, where, dtype_name(theirs), dtype_name(ours)), "dtype")

    def _is_open(self, declared: Type) -> bool:
        return any(_mentions(declared, variable) for variable in self.own)

    def _unify_shape(self, formal: ProperType, actual: ProperType, where: str) -> None:
        if isinstance(formal, AnyType):
            return
        if isinstance(formal, TypeVarType) and formal.id in self.own:
            self._bind_shape(formal, actual, where)
            return
        expected, shape = shape_items(formal), shape_items(actual)
        if isinstance(formal, TypeVarType) or isinstance(actual, TypeVarType):
            if formal != actual and not isinstance(actual, AnyType):
                raise Refusal(sentences.other_shape(self.name, where, _name(actual), _name(formal)))
            return
        if expected is None or shape is None or not isinstance(formal, TupleType):
            return
        many = next((position for position, item in enumerate(expected) if isinstance(item, Many)), None)
        after = 0 if many is None else len(expected) - many - 1
        wrong_rank = len(shape) < len(expected) - 1 if many is not None else len(shape) != len(expected)
        if wrong_rank or (many is None and any(isinstance(item, Many) for item in shape)):
            raise Refusal(sentences.wrong_rank(self.name, where, shape, expected))
        before = len(expected) if many is None else many
        for axis in (*range(before), *range(-after, 0)):
            self._unify_size(formal.items[axis], axis, shape, expected, where)
        if many is not None:
            self._bind_many(expected[many], shape[many : len(shape) - after], where)

    def _unify_size(
        self, formal: Type, axis: int, shape: list[Size | Many], expected: list[Size | Many], where: str
    ) -> None:
        actual, declared = shape[axis], get_proper_type(formal)
        if isinstance(actual, Many):
            return
        if isinstance(declared, TypeVarType) and declared.id in self.own:
            self._bind_size(declared, actual, where)
        elif isinstance(declared, Instance) and declared.type.fullname in (SUM, PRODUCT, QUOTIENT):
            self._computed.append(
                Computed(
                    formal,
                    actual,
                    where,
                    lambda value: sentences.wrong_size(self.name, where, shape, expected, axis, value),
                )
            )
        elif surely_differ(size_of(declared), actual):
            raise Refusal(sentences.wrong_size(self.name, where, shape, expected, axis))

    def _unify_tape(self, formal: ProperType, actual: ProperType, where: str) -> None:
        if isinstance(formal, TypeVarType) and formal.id in self.own:
            self.tapes.setdefault(formal.id, []).append(actual)
        elif is_tape(formal, OWNED_TAPE) and (is_tape(actual, NONE_TAPE) or isinstance(actual, TypeVarType)):
            raise Refusal(sentences.tape_missing(self.name, where), "tape")
        elif is_tape(formal, NONE_TAPE) and (is_owned(actual) or isinstance(actual, TypeVarType)):
            raise Refusal(sentences.tape_unwanted(self.name, where), "tape")

    def _unify_dtype(self, formal: ProperType, actual: ProperType, where: str) -> None:
        if isinstance(formal, TypeVarType) and formal.id in self.own:
            self._bind_bounded(formal, actual, where)
        elif isinstance(formal, UnionType) and isinstance(actual, Instance):
            items = [get_proper_type(item) for item in formal.items]
            if not any(isinstance(item, Instance) and accepts(item, actual) for item in items):
                variables = [item for item in items if isinstance(item, TypeVarType) and item.id in self.own]
                for variable in variables:
                    self._unify_dtype(variable, actual, where)
                if not variables:
                    expected = " or ".join(map(dtype_name, items))
                    raise Refusal(sentences.wrong_dtype(self.name, where, dtype_name(actual), expected), "dtype")
        elif isinstance(formal, Instance) and isinstance(actual, Instance) and not accepts(formal, actual):
            raise Refusal(sentences.wrong_dtype(self.name, where, dtype_name(actual), dtype_name(formal)), "dtype")


GENERIC = "numpy.generic"
SEQUENCES = frozenset({"builtins.tuple", "typing.Sequence", "typing.Iterable", "typing.Collection"})


def is_owned(tape: Type) -> bool:
    """Says whether a tape is an owned one, consumed or not."""
    return is_tape(tape, OWNED_TAPE) or is_tape(tape, CONSUMED_TAPE)


def _differ(ours: list[Size | Many], theirs: list[Size | Many]) -> bool:
    if any(isinstance(item, Many) for item in (*ours, *theirs)):
        return [str(item) for item in ours] != [str(item) for item in theirs]
    if len(ours) != len(theirs):
        return True
    return any(
        surely_differ(n, m)
        for n, m in zip(ours, theirs, strict=True)
        if not isinstance(n, Many) and not isinstance(m, Many)
    )


def _fixed(sizes: list[Size | Many], own: set[TypeVarId], rank: int) -> list[Size | Many]:
    """Returns the sizes of a function's parameter with `?` for what each call may choose."""
    open_names = {f"{one.raw_id}@{one.namespace}" for one in own}
    fixed: list[Size | Many] = []
    for size in sizes:
        if isinstance(size, Many):
            fixed += [UNKNOWN] * (rank - len(sizes) + 1) if size.variable.id in own else [size]
        else:
            fixed.append(UNKNOWN if any(name.scope in open_names for name in names_in(size)) else size)
    return fixed


def _name(shape: Type) -> str:
    p = get_proper_type(shape)
    if isinstance(p, TypeVarType):
        return p.name
    items = shape_items(p)
    return "(...)" if items is None else sentences.shown(items)


def _mentions(t: Type, variable: TypeVarId) -> bool:
    p = get_proper_type(t)
    if is_endless(t):
        return False
    if isinstance(p, TypeVarType):
        return p.id == variable
    if isinstance(p, TypeType):
        return _mentions(p.item, variable)
    parts = p.args if isinstance(p, Instance) else p.items if isinstance(p, UnionType | TupleType) else ()
    return any(_mentions(part, variable) for part in parts)


def _kept_size(answer: ProperType | None) -> Type:
    """Keeps what mypy itself inferred for a size, unless it forgot which."""
    return unknown() if answer is None or is_unknown(size_of(answer)) else answer


def _base(given: Instance, name: str) -> TypeInfo:
    return next(base for base in given.type.mro if base.fullname == name)


def _instance_of(given: ProperType) -> ProperType:
    """Returns what calling a class gives: `numpy.float32` as an argument stands for its instances."""
    if isinstance(given, UnionType):
        return UnionType([_instance_of(get_proper_type(item)) for item in given.items])
    if isinstance(given, TypeType):
        return given.item
    if isinstance(given, Overloaded):
        given = given.items[0]
    return get_proper_type(given.ret_type) if isinstance(given, CallableType) else given
