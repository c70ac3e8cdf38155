"""Why something is lost at an expression, in one clause, and how to fix it where that is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import (
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    Decorator,
    Expression,
    FuncDef,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    SliceExpr,
    StarExpr,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from tapegrad.errors import messages
from tapegrad.mypy.conversion import (
    ARRAY,
    MODULE,
    dtype_name,
    ends_of,
    is_size,
    is_tape,
    literal,
    tensor_parts,
)
from tapegrad.mypy.coverage.levels import PARAM, contents, knowledge_of, without_none
from tapegrad.mypy.coverage.program import DISPLAYS, is_cast, module_of, operands
from tapegrad.mypy.signatures import lacks_annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.nodes import SymbolNode
    from mypy.types import Type

    from tapegrad.mypy.coverage.program import Program

_TENSOR: Final = "tapegrad.ops.create.tensor"
_LIBRARY: Final = "tapegrad."
ASSERT: Final = "assert it with tg.assert_shape"
NAME_SIZES: Final = "name its sizes, such as Shape[N, L[8]]"
_OPTIONS: Final = ("builtins.bool", "builtins.str")
_DEEP: Final = 8  # from a size to what it was computed from


class Reason(NamedTuple):
    """Why something is not known.

    Attributes:
        text: A clause, such as "n is an int that is assigned more than once".
        fix: What to write instead; empty if that is not certain.
        declared: Of a parameter or a result, what the clause says of it, such as "declared as Tensor".
    """

    text: str
    fix: str = ""
    declared: str = ""

    def continued(self, clause: str, fix: str) -> Reason:
        """Return the reason with another clause, and another fix."""
        return Reason(f"{self.text}, and {clause}", fix, f"{self.declared}, and {clause}")


class Reasons:
    """The reasons for the unknowns of one file.

    Args:
        program: The file.
        spelled: Returns an expression as the program spells it, short.
        why_unread: Returns why the body of a function was not read for a call; empty if that is not known.
    """

    def __init__(
        self, program: Program, spelled: Callable[[Expression], str], why_unread: Callable[[FuncDef], str]
    ) -> None:
        self._program = program
        self._spelled = spelled
        self._why_unread = why_unread

    def of(self, expression: Expression, part: str) -> Reason:
        """Return why a part of an expression is unknown, although all that it is computed from is known."""
        match expression:
            case CallExpr() if is_cast(expression):
                return Reason("that is the type it is cast to", "use tg.assert_shape instead")
            case ConditionalExpr() if part == "tape":
                return Reason("it has a tape on one side only")
            case ConditionalExpr(if_expr=one, else_expr=other):
                return Reason(f"it is {self._shown(one)} or {self._shown(other)}")
            case NameExpr() | MemberExpr() if (variable := self._program.variable(expression)) is not None:
                reason = self.of_variable(variable, part)
                return reason or self._computed(expression, part)
            case _ if isinstance(expression, DISPLAYS):
                shown = sorted({self._shown(item) for item in operands(expression)})
                return Reason(f"its items are {' or '.join(shown[:3])}", "use a name for each")
        return self._computed(expression, part)

    def of_declared(self, declared: Type | None, part: str, name: str = "it") -> Reason:
        """Return why an annotation says nothing of a part of a tensor."""
        if part == "tape" and _is_either_tape(declared):
            words, fix = "declared with either tape", "write a TypeVar with bound=Tape"
        elif part == "dtype":
            words, fix = "declared with any dtype", "write one, or a TypeVar with bound=np.generic"
        elif part == "tape":
            words, fix = "declared with any tape", "write NoneTape, OwnedTape or a TypeVar"
        else:
            words, fix = f"declared as {_type_shown(declared)}", NAME_SIZES
        return Reason(f"{name} is {words}", fix, words)

    def shown(self, declared: Type) -> str:
        """Return a type for a message."""
        return _type_shown(declared)

    def of_unchecked(self, function: FuncDef) -> Reason:
        """Return why mypy does not look into a function."""
        return Reason(f"mypy skips {function.name}, which has no annotations", "annotate it, or set check_untyped_defs")

    def of_layer(self, expression: Expression, sizes: list[str]) -> Reason:
        """Return why sizes of a layer are unknown where it is made or declared."""
        number = next(self._numbers(expression), None)
        if number is not None:
            return number
        t = self._program.type_of(expression)
        layer = without_none(t) if t is not None else None
        which = " and ".join(sizes[:3])
        name = layer.type.name if isinstance(layer, Instance) else "the layer"
        if isinstance(layer, Instance) and any(map(_is_any_number, layer.args)):
            return Reason("it is one of several layers of other sizes")
        is_declared = isinstance(expression, NameExpr | MemberExpr)
        return Reason(f"mypy does not know {which} of {name}", "name them where it is declared" if is_declared else "")

    def of_variable(self, variable: SymbolNode, part: str) -> Reason | None:
        """Return why nothing is known of a variable, if its declaration is why; else None."""
        if isinstance(variable, Var) and variable.type is not None and not variable.is_inferred:
            return self.of_declared(variable.type, part)
        if isinstance(variable, Decorator) and isinstance(variable.func.type, CallableType):
            return self.of_declared(variable.func.type.ret_type, part)
        if isinstance(variable, Var) and _is_a_parameter(variable.type):
            return Reason("it is any of the parameters of a model")
        values = self._program.bound_to(variable)
        shown = list(dict.fromkeys(map(self._shown, values)))
        if len(shown) > 1 and any(isinstance(self._program.type_of(one), TupleType) for one in values):
            return Reason("it is unpacked from several calls", "use a name for each")
        if len(shown) > 1:
            return Reason(f"it is {' or '.join(shown[:3])}", "use a name for each")
        return None

    def _computed(self, expression: Expression, part: str) -> Reason:
        for reason in self._causes(expression, part):
            return reason
        if part == "shape" and isinstance(expression, CallExpr | OpExpr | IndexExpr | ComparisonExpr | UnaryExpr):
            return Reason(f"mypy cannot compute it from {self._given(expression)}", ASSERT)
        return Reason(f"mypy does not know the {part} of {self._given(expression)}", ASSERT if part == "shape" else "")

    def _causes(self, expression: Expression, part: str) -> Iterator[Reason]:
        """Yield possible reasons, the most certain first."""
        yield from self._untyped_call(expression)
        yield from self._any_operands(expression)
        if isinstance(expression, CallExpr):
            yield from self._declared_result(expression, part)
        if part == "dtype":
            yield from self._dtype_of_data(expression)
            return
        if part == "tape":
            yield from self._either_tape(expression)
            return
        yield from self._data(expression)
        yield from self._mask(expression)
        yield from self._numbers(expression)
        yield from self._slice(expression)
        yield from self._options(expression)

    def _untyped_call(self, expression: Expression) -> Iterator[Reason]:
        if not isinstance(expression, CallExpr) or not isinstance(self._program.type_of(expression), AnyType):
            return
        function = self._program.callee(expression)
        callee = self._spelled(expression.callee)
        if isinstance(function, FuncDef) and function.type is None:
            yield Reason(f"{callee} has no annotations", f"annotate {callee}")
        elif (forward := self._own_forward(expression)) is not None:
            why = self._why_unread(forward)
            unread = f", and is not read for its calls: {why}" if why else ""
            lacks = forward.type is None or lacks_annotations(forward.type)
            name = f"forward of {forward.info.name}"
            yield Reason(f"{name} {'has no annotations' if lacks else 'is declared to return Any'}{unread}")
        elif _is_module(self._program.type_of(expression.callee)):
            yield Reason(f"mypy does not know each of the layers of {callee}", "pass them one by one")
        elif isinstance(self._program.type_of(expression.callee), AnyType):
            yield Reason(f"{callee} is untyped: it is Any", ASSERT)
        else:
            yield Reason(f"{callee} is declared to return Any", f"annotate {callee}")

    def _own_forward(self, call: CallExpr) -> FuncDef | None:
        """Return the method `forward` that a call of a layer of the program calls."""
        function = self._called(call) if _is_module(self._program.type_of(call.callee)) else None
        return None if function is None or function.fullname.startswith(_LIBRARY) else function

    def _any_operands(self, expression: Expression) -> Iterator[Reason]:
        callee = expression.callee if isinstance(expression, CallExpr) else None
        for one in operands(expression):
            if one is callee or not isinstance(self._program.type_of(one), AnyType):
                continue
            shown = self._spelled(one)
            variable = self._program.variable(one)
            is_bare = isinstance(variable, Var) and variable in self._program.parameters and variable.type is None
            if is_bare:
                yield Reason(f"{shown} has no annotation", f"annotate {shown}")
            else:
                yield Reason(f"{shown} is Any", f"annotate {shown}" if isinstance(one, NameExpr) else ASSERT)

    def _declared_result(self, call: CallExpr, part: str) -> Iterator[Reason]:
        function = self._called(call)
        declared = get_proper_type(function.type) if function is not None else None
        if function is None or function.fullname.startswith(_LIBRARY):
            return
        if isinstance(declared, CallableType) and any(one.missing for one in contents(declared.ret_type)):
            name = self._spelled(call.callee)
            reason = self.of_declared(declared.ret_type, part, f"the result of {name}")
            module = module_of(function)
            if module != self._program.tree.fullname:
                why = self._why_unread(function)
                unread = f"{function.name} is not read for its calls: {why}" if why else "its body is not read"
                reason = reason._replace(text=f"{reason.text} in {module}, and {unread}")
            yield reason

    def _called(self, call: CallExpr) -> FuncDef | None:
        """Return the function that is called; of a layer, its method `forward`."""
        found = self._program.callee(call)
        t = self._program.type_of(call.callee)
        if isinstance(t, Instance) and _is_module(t):
            symbol = t.type.get("forward")
            found = symbol.node if symbol is not None else None
            found = found.func if isinstance(found, Decorator) else found
        return found if isinstance(found, FuncDef) else None

    def _data(self, expression: Expression) -> Iterator[Reason]:
        """Yield the arrays and lists of unknown size that a tensor is made of."""
        if not isinstance(expression, CallExpr | OpExpr):
            return
        for one in operands(expression):
            t = self._program.type_of(one)
            if not isinstance(t, Instance):
                continue
            if t.type.fullname == ARRAY and _is_open_array(t):
                yield Reason(f"mypy does not know the shape of the array {self._spelled(one)}", ASSERT)
            elif t.type.has_base("typing.Sequence") and t.type.fullname not in ("builtins.str", "builtins.tuple"):
                yield Reason(f"mypy does not know how long {self._spelled(one)} is", ASSERT)

    def _dtype_of_data(self, expression: Expression) -> Iterator[Reason]:
        for one in operands(expression):
            t = self._program.type_of(one)
            if isinstance(t, Instance) and t.type.fullname == ARRAY:
                yield Reason(f"mypy does not know the dtype of the array {self._spelled(one)}", "give it a dtype")
            elif isinstance(t, UnionType):
                yield Reason(f"{self._spelled(one)} is {_type_shown(t)}")

    def _either_tape(self, expression: Expression) -> Iterator[Reason]:
        for one in operands(expression):
            parts = tensor_parts(self._program.type_of(one) or NoneType())
            if parts is not None and isinstance(get_proper_type(parts.tape), UnionType):
                yield Reason(f"{self._spelled(one)} has a tape on some paths only")

    def _mask(self, expression: Expression) -> Iterator[Reason]:
        if not isinstance(expression, IndexExpr):
            return
        for one in operands(expression)[1:]:
            parts = tensor_parts(self._program.type_of(one) or NoneType())
            if parts is not None and dtype_name(parts.dtype) == "bool":
                yield Reason(f"the values of {self._spelled(one)} decide how many elements are selected")

    def _slice(self, expression: Expression) -> Iterator[Reason]:
        """Yield that a slice ends where the axis may have ended already."""
        if not isinstance(expression, IndexExpr):
            return
        known = knowledge_of(self._program.type_of(expression) or NoneType())
        if known is not None and known.axes and any(isinstance(one, SliceExpr) for one in operands(expression)[1:]):
            base = f"{self._spelled(expression.base)} {self._shown(expression.base)}"
            yield Reason(f"an axis of {base} may end before the slice does", ASSERT)

    def _options(self, expression: Expression) -> Iterator[Reason]:
        """Yield the options that mypy knows no value of: flags and strings."""
        for one in operands(expression)[1:] if isinstance(expression, CallExpr) else []:
            t = self._program.type_of(one)
            is_open = (
                isinstance(t, Instance) and t.type.fullname in _OPTIONS and not isinstance(literal(t), LiteralType)
            )
            if is_open or (
                isinstance(t, UnionType) and all(isinstance(literal(item), LiteralType) for item in t.items)
            ):
                yield Reason(f"mypy does not know the value of {self._spelled(one)}")

    def _numbers(self, expression: Expression) -> Iterator[Reason]:
        """Yield why a whole number among the arguments is unknown."""
        for one, is_size_of in self._arguments(expression):
            for reason in self._number(one, _DEEP):
                has_fix = is_size_of and not (reason.fix == ASSERT and self._makes_layer(expression))
                yield reason if has_fix else Reason(reason.text)

    def _makes_layer(self, expression: Expression) -> bool:
        made = self._program.type_of(expression)
        return isinstance(expression, CallExpr) and isinstance(made, Instance) and made.type.has_base(MODULE)

    def _arguments(self, expression: Expression) -> Iterator[tuple[Expression, bool]]:
        """Yield the operands of an expression, and whether a number there is a size; else it may be an axis."""
        match expression:
            case CallExpr(callee=callee, args=args):
                yield from ((item, True) for one in args if isinstance(one, DISPLAYS) for item in operands(one))
                is_layer = self._makes_layer(expression)
                yield from ((one, is_layer) for one in args if not isinstance(one, DISPLAYS))
                yield callee, False
            case IndexExpr(index=index):
                several = operands(index) if isinstance(index, TupleExpr) else [index]
                yield from ((one, isinstance(one, SliceExpr)) for one in several)
            case _:
                yield from ((one, False) for one in operands(expression))

    def _number(self, expression: Expression, depth: int) -> Iterator[Reason]:
        t = self._program.type_of(expression)
        if isinstance(expression, SliceExpr):
            for bound in (expression.begin_index, expression.end_index, expression.stride):
                if bound is not None:
                    yield from self._number(bound, depth)
            return
        if depth == 0 or t is None or isinstance(expression, IntExpr):
            return
        if isinstance(t, TupleType) and isinstance(expression, NameExpr):
            yield from self._sizes_of_tuple(expression, depth)
            return
        if isinstance(t, Instance) and t.type.fullname == "builtins.tuple" and not isinstance(expression, StarExpr):
            yield Reason(f"{self._spelled(expression)} is a tuple of unknown length", ASSERT)
            return
        if not _is_number(t) or is_size(t):
            return
        yield from self._whole(expression, depth)

    def _sizes_of_tuple(self, name: NameExpr, depth: int) -> Iterator[Reason]:
        variable = self._program.variable(name)
        values = self._program.values.get(variable, []) if variable is not None else []
        if len(values) == 1 and isinstance(values[0], TupleExpr):
            for item in values[0].items:
                yield from self._number(item, depth - 1)

    def _whole(self, expression: Expression, depth: int) -> Iterator[Reason]:
        """Yield why a whole number is unknown to mypy, by where it comes from."""
        shown = self._spelled(expression)
        match expression:
            case OpExpr(left=left, right=right):
                found = [*self._number(left, depth - 1), *self._number(right, depth - 1)]
                yield from found or [Reason(f"mypy does not compute the size {shown}", ASSERT)]
            case UnaryExpr(expr=value):
                yield from self._number(value, depth - 1)
            case NameExpr(node=Var() as variable):
                yield from self._named(variable, shown, depth)
            case MemberExpr():
                yield Reason(f"{shown} is a plain int", "make it Final, or a size of its class")
            case _:
                yield Reason(f"mypy does not know the number {shown}", ASSERT)

    def _named(self, variable: Var, shown: str, depth: int) -> Iterator[Reason]:
        values = self._program.values.get(variable, [])
        function = self._program.parameters.get(variable)
        if variable.is_final:
            return
        if function is not None and not values:
            if isinstance(function, LambdaExpr):
                yield Reason(f"{shown} is a parameter of a lambda", "write a function, and annotate it")
            else:
                yield Reason(f"{shown} is a parameter of type int", f"name a size, {shown}: N with a TypeVar N")
        elif len(values) > 1 or function is not None:
            yield Reason(f"{shown} is an int that is assigned more than once", "use a name for each value")
        elif not values:
            yield Reason(f"{shown} is an int of another module", "declare it Final there")
        elif not _is_number(self._program.type_of(values[0])):
            yield Reason(f"{shown} is the variable of a loop, or unpacked")
        else:
            yield from self._number(values[0], depth - 1)

    def _shown(self, expression: Expression) -> str:
        """Return the shape of a tensor, or its type."""
        t = self._program.type_of(expression)
        return _type_shown(t)

    def _given(self, expression: Expression) -> str:
        """Return the operands of an expression, with the shapes of those that are tensors."""
        callee = expression.callee if isinstance(expression, CallExpr) else None
        shown = [
            f"{self._spelled(one)} {_type_shown(t)}"
            for one in operands(expression)
            if one is not callee and (t := self._program.type_of(one)) is not None and knowledge_of(t) is not None
        ]
        return ", ".join(shown[:2]) or "its arguments"


def _is_open_array(t: Instance) -> bool:
    shape = get_proper_type(t.args[0]) if t.args else None
    return not isinstance(shape, TupleType) or not all(is_size(item) for item in shape.items)


def _is_either_tape(declared: Type | None) -> bool:
    parts = tensor_parts(declared) if declared is not None else None
    return parts is not None and is_tape(parts.tape, "tapegrad.autograd.tape.Tape")


def _is_a_parameter(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type.fullname == PARAM


def _is_any_number(t: Type) -> bool:
    """Return whether a size is the `int` that layers of several sizes have in common."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == "builtins.int"


def _is_module(t: ProperType | None) -> bool:
    return isinstance(t, Instance) and t.type.has_base(MODULE)


def _is_number(t: ProperType | None) -> bool:
    if isinstance(t, TypeVarType):
        return False
    value = literal(t) if t is not None else None
    if not isinstance(value, Instance):
        return False
    return value.type.has_base("builtins.int") and value.type.fullname != "builtins.bool"


def _type_shown(declared: Type | None) -> str:
    """Return a type for a message: the shape of a tensor if it has one, else its name."""
    t = get_proper_type(declared) if declared is not None else None
    if t is None or isinstance(t, AnyType):
        return "Any"
    if isinstance(t, UnionType):
        return " | ".join(dict.fromkeys(_type_shown(item) for item in t.items[:3]))
    if isinstance(t, NoneType):
        return "None"
    if isinstance(t, TupleType) and t.partial_fallback.type.is_named_tuple:
        return t.partial_fallback.type.name
    if isinstance(t, TupleType):
        return f"({', '.join(map(_type_shown, t.items[:3]))}{', ...' if len(t.items) > 3 else ''})"
    parts = tensor_parts(t)
    if parts is None:
        inside = f"[{', '.join(map(_type_shown, t.args))}]" if isinstance(t, Instance) and t.args else ""
        return f"{t.type.name}{inside}" if isinstance(t, Instance) else str(t)
    items = ends_of(parts.shape)
    return "Tensor" if items is None else messages.shown(items)
