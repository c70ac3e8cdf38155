"""The type variables of one call: bind them, solve those that are computed, and substitute them in the result."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    ParamSpecType,
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

from tapegrad.errors import messages
from tapegrad.mypy.conversion import (
    ARITHMETIC,
    MERGED,
    OPAQUE,
    TENSOR,
    UNKNOWN_REST,
    Make,
    Many,
    dtype_name,
    ends_of,
    has_unknown_rest,
    is_endless,
    item_types,
    last_of,
    literal,
    merged_tape,
    shape_items,
    shape_type,
    size_of,
    size_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import accepts
from tapegrad.mypy.unify.solving import OPEN, LeavesRestError, linear, linear_in_floor, replaced, solved
from tapegrad.sizes import (
    UNKNOWN,
    Floor,
    Name,
    Size,
    is_unknown,
    named,
    names_in,
    surely_differ,
    surely_less,
    surely_same,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.types import TypeVarLikeType

    from tapegrad.mypy.signatures import Signature


class CallError(Exception):
    """An argument that does not match; has the message and its kind, such as "shape" or "dtype"."""

    def __init__(self, message: str, kind: str = "shape") -> None:
        super().__init__(message)
        self.kind = kind


class Computed(NamedTuple):
    """A size declared by arithmetic and the actual size; compared when all names are bound."""

    declared: Type
    actual: Size
    where: str
    error: Callable[[Size | None], str]


class Beside(NamedTuple):
    """A number beside a tensor whose dtype is a type variable: it gets that dtype if the dtype can hold it."""

    dtype: TypeVarId
    kind: str  # the full name of `bool`, `int` or `float`
    name: str  # of its class
    where: str


class Bindings:
    """The values of the type variables of one call."""

    def __init__(self, name: str, signature: Signature, make: Make) -> None:
        self.name = name
        self.make = make
        self.own = signature.kinds
        self.bounds = signature.bounds
        self.classes = signature.classes
        self.merged = signature.merged
        self.sizes: dict[TypeVarId, tuple[Size, str]] = {}
        self.equal: list[tuple[Size, Size]] = []  # sizes that an accepted call makes equal
        self.many: dict[TypeVarId, tuple[list[Size | Many], str]] = {}
        self.shapes: dict[TypeVarId, tuple[Type, str]] = {}
        self.dtypes: dict[TypeVarId, tuple[Type, str]] = {}
        self.tapes: dict[TypeVarId, list[Type]] = {}
        self.flags: dict[TypeVarId, Type] = {}
        self.called: dict[TypeVarId, set[tuple[Type, bool]]] = {}  # tapes of functions, and whether each call chooses
        self.given: list[Type] = []
        self.is_rejected = False  # then a shape of unknown rank says nothing, so that one mistake gives one message
        self._bounded: dict[TypeVarId, None] = {}
        self.beside: list[Beside] = []
        self.computed: list[Computed] = []
        self._open: dict[Name, TypeVarType] = {}
        self._floors: dict[Floor, Size] = {}

    def bind(self, variable: TypeVarType, given: ProperType, where: str) -> None:
        """Bind a type variable of any kind.

        Raises:
            CallError: It is already bound to something else.
        """
        kind = self.own.get(variable.id)
        if kind == "size":
            self.bind_size(variable, size_of(given), where)
        elif kind == "shape":
            self.bind_shape(variable, given, where)
        elif kind == "dtype":
            self.bind_dtype(variable, given, where)
        elif kind == "tape":
            self.bind_tape(variable, given)
        elif kind == "flag":
            self.bind_flag(variable, given)

    def bind_size(self, variable: TypeVarType, size: Size, where: str) -> None:
        """Bind a size variable.

        Raises:
            CallError: It is already bound to another size.
        """
        bound, place = self.sizes.get(variable.id, (UNKNOWN, where))
        if surely_differ(bound, size):
            raise CallError(messages.conflict(self.name, variable.name, bound, place, size, where))
        if is_unknown(bound):
            self.sizes[variable.id] = size, where
        else:
            self.learn(bound, size)

    def learn(self, size: Size, other: Size) -> None:
        """Note two sizes that are equal if the call is accepted."""
        if not is_unknown(size) and not is_unknown(other) and not surely_same(size, other):
            self.equal.append((size, other))

    def bind_many(self, many: Size | Many, items: list[Size | Many], where: str) -> None:
        """Bind a `*Sizes` variable to any number of sizes.

        Raises:
            CallError: It is already bound to other sizes.
        """
        variable = many.variable if isinstance(many, Many) else None
        if variable is None or variable.id not in self.own:
            return
        bound, place = self.many.setdefault(variable.id, (items, where))
        if has_unknown_rest(bound) and not _differ(bound, items):
            self.many[variable.id] = items, where
        elif _differ(bound, items):
            raise CallError(
                messages.conflict(
                    self.name, f"*{variable.name}", messages.shown(bound), place, messages.shown(items), where
                )
            )

    def bind_shape(self, variable: TypeVarType, shape: ProperType, where: str) -> None:
        """Bind a shape variable.

        Raises:
            CallError: It is already bound to another shape.
        """
        if isinstance(shape, AnyType):
            return
        if variable.id not in self.shapes:
            self.shapes[variable.id] = shape, where
            self._bind_last(variable, shape, where)
            return
        bound, place = self.shapes[variable.id]
        ours, theirs = ends_of(bound), ends_of(shape)
        if ours is None or theirs is None:
            if get_proper_type(bound) != shape and (
                isinstance(get_proper_type(bound), TypeVarType) or isinstance(shape, TypeVarType)
            ):
                raise CallError(
                    messages.conflict(self.name, variable.name, shape_name(bound), place, shape_name(shape), where)
                )
        elif has_unknown_rest(ours) and not _differ(ours, theirs):
            self.shapes[variable.id] = shape, where
        elif _differ(ours, theirs):
            raise CallError(
                messages.conflict(self.name, variable.name, messages.shown(ours), place, messages.shown(theirs), where)
            )

    def _bind_last(self, variable: TypeVarType, shape: ProperType, where: str) -> None:
        """Bind the size that a shape ends in: `N`, if the shape variable has the default `Shape[N]`."""
        last, items = last_of(variable), ends_of(shape)
        if last is not None and items and not isinstance(items[-1], Many):
            self.bind_size(last, items[-1], where)

    def bind_dtype(self, variable: TypeVarType, dtype: ProperType, where: str) -> None:
        """Bind a dtype variable; `finish` compares it with its bound.

        Raises:
            CallError: It is already bound to another dtype.
        """
        if isinstance(dtype, AnyType | UninhabitedType):
            return
        bound, place = self.dtypes.setdefault(variable.id, (dtype, where))
        if bound != dtype and not accepts(bound, dtype) and not accepts(dtype, bound):
            ours, theirs = dtype_name(bound), dtype_name(dtype)
            raise CallError(messages.mixed_dtypes(self.name, ours, place, theirs, where), "dtype")
        self._bounded[variable.id] = None

    def bind_flag(self, variable: TypeVarType, given: Type) -> None:
        """Bind a bool variable to a known value; values that differ make it unknown."""
        p = literal(given)
        value = p if isinstance(p, LiteralType | TypeVarType) else unknown()
        self.flags[variable.id] = value if self.flags.get(variable.id, value) == value else unknown()

    def bind_tape(self, variable: TypeVarType, tape: Type) -> None:
        """Add a tape to those bound to a variable; the result merges all of them."""
        self.tapes.setdefault(variable.id, []).append(tape)

    def note_tape_of_call(self, declared: Type, given: Type, function: CallableType) -> None:
        """Note the tape of a function argument for a type variable; it is used if no tensor binds the variable."""
        variable, tape = get_proper_type(declared), get_proper_type(given)
        if isinstance(variable, TypeVarType) and variable.id in self.own:
            self.called.setdefault(variable.id, set()).add((tape, tape in function.variables))

    def is_open(self, declared: Type) -> bool:
        """Return whether a declared type mentions a type variable of this call."""
        return any(_mentions(declared, variable) for variable in self.own)

    def finish(self, *, raw: bool = False) -> None:
        """Compare computed sizes and the bounds of dtypes, once all names are bound.

        Args:
            raw: Whether the operands are raw values, whose dtypes NumPy checks.

        Raises:
            CallError: A computed size differs from the actual one, or a dtype does not match.
        """
        waiting: list[Computed] = []
        while self.computed and len(waiting) != len(self.computed):
            waiting, self.computed = self.computed, []
            for one in waiting:
                self._settle(one)
        for one in self.computed:
            self._settle_floor(one)
        if raw:
            return
        for number in self.beside:
            self._reject_number(number)
        for variable in self._bounded:
            dtype, where = self.dtypes[variable]
            bound, kind = self.bounds[variable], self.classes[variable]
            if not (kind and isinstance(dtype, Instance) and dtype.type.has_base(kind)) and not accepts(bound, dtype):
                expected = dtype_name(bound)
                raise CallError(messages.wrong_dtype(self.name, where, dtype_name(dtype), expected), "dtype")

    def reject_too_small(self, variables: Sequence[TypeVarLikeType]) -> None:
        """Reject a number below the minimum of its size name, as the guard of a constructor does.

        Raises:
            CallError: A number is below the minimum.
        """
        for variable in variables:
            size, where = self.sizes.get(variable.id, (UNKNOWN, ""))
            least = next((name.least for name in names_in(size_of(variable))), 1)
            if isinstance(size, int) and size < least:
                raise CallError(messages.too_small(self.name, variable.name, size, where, least))

    def size(self, t: Type, unbound: Callable[[TypeVarType], Size] = lambda _: UNKNOWN) -> Size:
        """Evaluate a declared size with the bound names."""
        p = get_proper_type(t)
        if isinstance(p, TypeVarType) and p.id in self.own:
            bound, _ = self.sizes.get(p.id, (UNKNOWN, ""))
            return unbound(p) if is_unknown(bound) else bound
        if isinstance(p, Instance) and p.type.fullname in ARITHMETIC:
            left, right = (self.size(argument, unbound) for argument in p.args)
            return ARITHMETIC[p.type.fullname](left, right)
        if _is_computed(p):
            return self.size(p.args[0], unbound)
        return size_of(p)

    def applied(self, declared: Type, default: Type | None) -> Type:
        """Substitute everything bound in a declared type; `default`, mypy's own answer, fills in the rest."""
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
        if isinstance(p, CallableType) and isinstance(answer, CallableType):
            return self._applied_call(p, answer)
        variable = get_proper_type(p.type) if isinstance(p, UnpackType) else p
        if isinstance(variable, ParamSpecType | TypeVarTupleType) and variable.id not in self.own:
            return p  # of a function that the call returns
        return default if default is not None else p

    def _applied_call(self, p: CallableType, answer: CallableType) -> CallableType:
        """Substitute in a function type that a call returns; it keeps its own type variables."""
        if len(answer.arg_types) != len(p.arg_types):
            return answer
        open_tapes = self._open_tapes(p)
        self.tapes.update({variable.id: [variable] for variable in open_tapes})
        types = [self.applied(one, other) for one, other in zip(p.arg_types, answer.arg_types, strict=True)]
        result = self.applied(p.ret_type, answer.ret_type)
        # mypy has renamed the function's own type variables, and may have added more.
        variables = [*p.variables, *open_tapes, *answer.variables[len(p.variables) :]]
        return answer.copy_modified(arg_types=types, ret_type=result, variables=variables)

    def _open_tapes(self, p: CallableType) -> list[TypeVarType]:
        """Return the tape variables of a returned function, which are open if those of the function arguments are."""
        declared = [parts.tape for parts in map(tensor_parts, [*p.arg_types, p.ret_type]) if parts is not None]
        names = {t.id: t for t in map(get_proper_type, declared) if isinstance(t, TypeVarType)}
        return [variable for variable in names.values() if self._tape_of_calls(variable)[1]]

    def _tape_of_calls(self, variable: TypeVarType) -> tuple[Type, bool]:
        """Return the one tape of all function arguments, and whether each call of them chooses it."""
        tapes = self.called.get(variable.id, set())
        return next(iter(tapes)) if variable.id not in self.tapes and len(tapes) == 1 else (unknown(), False)

    def applied_beside(self, shape: Type, declared: Type) -> Type:
        """Substitute the tape and the dtype in a declared tensor type, and set its known shape."""
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
            # If left out, a size is its default, also where one number sets several sizes; a given but unknown size
            # stays unknown.
            given = [formal for formal in self.given if _mentions(formal, p.id)]
            is_left_out = all(self._follows(p, formal) for formal in given)
            return self._default_size(p, answer) if is_left_out else _size_or_unknown(answer)
        if kind == "shape":
            if p.id in self.shapes:
                return shape_type(ends_of(self.shapes[p.id][0]), self.make)
            # If left out, a shape of one size is its default, which that size sets.
            last = last_of(p)
            return self.applied(p.default, None) if last is not None and last.id in self.sizes else unknown()
        if kind == "tape":
            if p.id in self.tapes:
                return merged_tape(self.tapes[p.id], self.make)
            tape, is_chosen = self._tape_of_calls(p)
            return unknown() if is_chosen else tape
        if kind == "flag" and p.id in self.flags:
            return self.flags[p.id]
        if kind == "dtype":
            if p.id in self.dtypes:
                return self.dtypes[p.id][0]
            # If left out, a dtype is the default one; a given but unknown dtype stays unknown.
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
        return _size_or_unknown(answer)

    def _applied_tuple(self, p: TupleType, answer: ProperType | None) -> Type:
        others = answer.items if isinstance(answer, TupleType) and len(answer.items) == len(p.items) else None
        items: list[Type] = []
        for position, item in enumerate(p.items):
            if isinstance(item, UnpackType):
                inner = get_proper_type(item.type)
                if not isinstance(inner, TypeVarTupleType) or inner.id not in self.own:
                    items.append(item)
                elif inner.id not in self.many and self.is_rejected:
                    return unknown()
                else:
                    items += item_types(self.many.get(inner.id, ([UNKNOWN_REST], ""))[0], self.make)
            else:
                items.append(self.applied(item, others[position] if others is not None else None))
        ends = ends_of(TupleType(items, p.partial_fallback))
        if has_unknown_rest(ends):
            return shape_type(ends, self.make)
        return p.copy_modified(items=items, fallback=self._applied_fallback(p, answer))

    def _applied_fallback(self, p: TupleType, answer: ProperType | None) -> Instance:
        """Substitute in the class of a tuple, by which a generic `NamedTuple` types its fields."""
        fallback = p.partial_fallback
        if fallback.type.fullname == "builtins.tuple":
            return fallback
        return self._applied_class(fallback, answer.partial_fallback if isinstance(answer, TupleType) else None)

    def _applied_instance(self, p: Instance, answer: ProperType | None) -> Type:
        if p.type.fullname in ARITHMETIC:
            return size_type(self._closed(p), self.make)
        if _is_computed(p):
            return self.applied(p.args[0], None)
        if p.type.fullname == MERGED:
            return merged_tape([tape for argument in p.args for tape in self._tapes_of(argument)], self.make)
        return self._applied_class(p, answer)

    def _applied_class(self, p: Instance, answer: ProperType | None) -> Instance:
        others = answer.args if isinstance(answer, Instance) and answer.type is p.type else ()
        others = others if len(others) == len(p.args) else [None] * len(p.args)
        args = [self.applied(one, other) for one, other in zip(p.args, others, strict=True)]
        if p.type.fullname == TENSOR:
            self._reject_negative(args[0])
        return p.copy_modified(args=args)

    def _reject_negative(self, shape: Type) -> None:
        """Reject a result with a size below 0, which no tensor can have."""
        p = get_proper_type(shape)
        for axis, item in enumerate(p.items if isinstance(p, TupleType) else ()):
            if isinstance(item, LiteralType) and isinstance(item.value, int) and item.value < 0:
                raise CallError(messages.below_zero(self.name, shape_items(p) or [], axis))

    def _tapes_of(self, declared: Type) -> list[Type]:
        p = get_proper_type(declared)
        if isinstance(p, TypeVarType) and p.id in self.tapes:
            return self.tapes[p.id]
        return [self.applied(p, None)]

    def _settle(self, computed: Computed) -> None:
        """Compare a computed size, or solve it for its one unbound name; with several, try again later."""
        equation = linear(self.size(computed.declared, self._left_open))
        if equation is None:
            value = self.size(computed.declared)
            if surely_differ(value, computed.actual):
                raise CallError(computed.error(value))
            if is_unknown(value):
                self.computed.append(computed)
            return
        if not isinstance(equation.name, Name):
            return
        variable = self._open[equation.name]
        try:
            solution = solved(equation, computed.actual)
        except LeavesRestError:
            raise CallError(computed.error(None)) from None
        if solution is None:
            return
        (name,) = names_in(size_of(variable))
        if surely_less(solution, name.least):
            raise CallError(messages.too_small(self.name, variable.name, solution, computed.where, name.least))
        self.bind_size(variable, solution, computed.where)

    def _settle_floor(self, computed: Computed) -> None:
        """Accept a floor division without binding its name: `M // 2` is 3 for M 6 or 7."""
        size = self.size(computed.declared, self._left_open)
        value = replaced(size, self._floors)
        if surely_differ(value, computed.actual):
            raise CallError(computed.error(value))
        equation = linear_in_floor(size) if is_unknown(value) else None
        if equation is None or not isinstance(equation.name, Floor):
            return
        try:
            solution = solved(equation, computed.actual)
        except LeavesRestError:
            raise CallError(computed.error(None)) from None
        if solution is not None and not is_unknown(solution):
            self._floors[equation.name] = solution

    def _closed(self, t: Type) -> Size:
        """Evaluate a computed size with the bound names and the solved floor divisions."""
        size = self.size(t)
        return replaced(self.size(t, self._left_open), self._floors) if self._floors and is_unknown(size) else size

    def _left_open(self, variable: TypeVarType) -> Size:
        # A distinct name, because in the body of a recursive function `N` may be bound to `N`.
        name = Name(variable.name, f"{OPEN} {variable.id.raw_id}@{variable.id.namespace}")
        self._open[name] = variable
        return named(name.label, name.scope)

    def _reject_number(self, number: Beside) -> None:
        """Reject a number that the dtype of the tensor beside it cannot hold."""
        dtype, place = self.dtypes.get(number.dtype, (unknown(), number.where))
        p = get_proper_type(dtype)
        if not isinstance(p, Instance) or number.kind == "builtins.bool":
            return
        if p.type.has_base("numpy.bool") or (number.kind == "builtins.float" and p.type.has_base("numpy.integer")):
            name = messages.with_article(number.name)
            raise CallError(messages.mixed_dtypes(self.name, name, number.where, dtype_name(p), place), "dtype")


def _is_computed(p: Type) -> TypeGuard[Instance]:
    """Return whether a type is a size that is computed from others and not known to differ from some numbers."""
    if not isinstance(p, Instance) or p.type.fullname != OPAQUE:
        return False
    return not isinstance(get_proper_type(p.args[0]), LiteralType)


def _differ(ours: list[Size | Many], theirs: list[Size | Many]) -> bool:
    if has_unknown_rest(ours) or has_unknown_rest(theirs):
        return any(_differ_up_to_many(ours[::step], theirs[::step]) for step in (1, -1))
    if any(isinstance(item, Many) for item in (*ours, *theirs)):
        return [str(item) for item in ours] != [str(item) for item in theirs]
    if len(ours) != len(theirs):
        return True
    return any(
        surely_differ(n, m)
        for n, m in zip(ours, theirs, strict=True)
        if not isinstance(n, Many) and not isinstance(m, Many)
    )


def _differ_up_to_many(ours: list[Size | Many], theirs: list[Size | Many]) -> bool:
    """Return whether sizes at the beginning of two shapes surely differ, or one shape is surely longer."""
    for n, m in zip_longest(ours, theirs):
        if isinstance(n, Many) or isinstance(m, Many):
            return False
        if n is None or m is None or surely_differ(n, m):
            return True
    return False


def shape_name(shape: Type) -> str:
    """Format a shape, or the name of its type variable if its sizes are unknown."""
    p = get_proper_type(shape)
    if isinstance(p, TypeVarType):
        return p.name
    items = shape_items(p)
    return "(...)" if items is None else messages.shown(items)


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


def _size_or_unknown(answer: ProperType | None) -> Type:
    """Return the size that mypy inferred, or unknown if mypy inferred no particular size."""
    return unknown() if answer is None or is_unknown(size_of(answer)) else answer
