"""What mypy knows of each tensor, layer and size in a checked file, in the words that an editor shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    AssignmentStmt,
    ClassDef,
    Expression,
    ForStmt,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    WithStmt,
)
from mypy.types import AnyType, Instance, TupleType, Type, TypeVarTupleType, TypeVarType, UnpackType, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import (
    MODULE,
    NONE_TAPE,
    OWNED_TAPE,
    dtype_name,
    is_tape,
    joined,
    kind_of,
    shape_items,
    size_of,
    tensor_parts,
)
from tapegrad.mypy.coverage.levels import without_none
from tapegrad.mypy.coverage.program import inner
from tapegrad.mypy.coverage.spelling import Spelling
from tapegrad.mypy.scopes.names import targets_in
from tapegrad.sizes import Dim, UnknownDims, is_unknown, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.mypy.conversion import TensorParts
    from tapegrad.mypy.coverage.findings import Span
    from tapegrad.mypy.mypy_api import ResidentMypy

_DEEP: Final = 4  # layers inside layers
_ARITHMETIC: Final = {"Sum": "Add", "Product": "Mul", "Quotient": "FloorDiv"}


class Known(NamedTuple):
    """What is known of an expression.

    Attributes:
        span: Lines count from 1, columns from 0 in characters.
        text: Such as `(B, 32, 10) float32, owned tape`.
        annotation: The type as a program writes it, `Tensor[Shape[B, L[32]], OwnedTape]`; empty if it cannot.
    """

    span: Span
    text: str
    annotation: str


class Details:
    """What is known of the checked files; mypy checks some functions of a file again, and the rest stays known."""

    def __init__(self) -> None:
        self._types: dict[str, dict[Expression, Type]] = {}
        self._changed: set[str] = set()

    def read(self, mypy: ResidentMypy) -> None:
        """Read the types that the last check has found."""
        new = mypy.new_types()
        for path in mypy.modules if new else ():
            tree = mypy.tree(path)
            if tree is None:
                continue
            expressions = [node for node in nodes_in(tree) if isinstance(node, Expression)]
            if any(expression in new for expression in expressions):
                old = self._types.get(path, {})
                found = ((one, new.get(one) or old.get(one)) for one in expressions)
                self._types[path] = {one: t for one, t in found if t is not None}
                self._changed.add(path)

    def of(self, mypy: ResidentMypy, path: str, source: str) -> dict[str, Any] | None:
        """Return what is known of a file, as data for JSON; None if it is what was last returned."""
        tree = mypy.tree(path)
        if path not in self._changed or tree is None:
            return None
        self._changed.discard(path)
        spelling, types = Spelling(source), self._types[path]
        known = [one for node in nodes_in(tree) for one in _known(node, types, spelling)]
        hints = [hint for node in nodes_in(tree) if (hint := _hint(node, types, spelling)) is not None]
        return {"known": known, "hints": hints}


def nodes_in(tree: MypyFile) -> Iterator[Any]:
    """Yield each statement and expression of a file, the targets of assignments and loops, and functions."""
    pending: list[Any] = [tree.defs]
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += node
        elif node is not None:
            yield node
            pending += inner(node)
            pending += _targets(node)


def _targets(node: Any) -> list[Any]:
    match node:
        case AssignmentStmt(lvalues=targets):
            return [targets]
        case ForStmt(index=target):
            return [target]
        case WithStmt(target=targets):
            return [targets]
        case ClassDef(base_type_exprs=bases, decorators=decorators):
            return [bases, decorators]
    return []


def _known(node: Any, types: dict[Expression, Type], spelling: Spelling) -> Iterator[Known]:
    if isinstance(node, FuncDef):
        for argument in node.arguments:
            t, name = argument.variable.type, argument.variable.name
            if t is not None and (text := text_of(t)):
                span = spelling.span(argument)
                named = span._replace(end_line=span.line, end_column=span.column + len(name))
                yield Known(named, text, annotation_of(t))
    t = types.get(node) if isinstance(node, Expression) else None
    if t is None or node.line < 1 or node.end_line is None:
        return
    text = text_of(t) or (_size_text(t) if isinstance(node, NameExpr) else "")
    if text:
        yield Known(_span(node, spelling), text, annotation_of(t))


def _span(node: Any, spelling: Spelling) -> Span:
    """Return where an expression is; mypy (2.4.1) misplaces an assigned name on a line that is not ASCII."""
    span = spelling.span(node)
    line = spelling.line(span.line)
    if line.isascii() or not isinstance(node, NameExpr):
        return span
    places = [found.start() for found in re.finditer(rf"\b{re.escape(node.name)}\b", line)]
    start = min(places, key=lambda place: abs(place - span.column), default=span.column)
    return span._replace(column=start, end_line=span.line, end_column=start + len(node.name))


def _hint(node: Any, types: dict[Expression, Type], spelling: Spelling) -> Known | None:
    """Return the value of an assignment of tensors and what to show behind it; None for any other statement."""
    if not isinstance(node, AssignmentStmt) or node.unanalyzed_type is not None:
        return None
    targets = [one for one in targets_in(node.lvalues) if one in types]
    texts = {_name(one): text for one in targets if (text := _tensor_text(types[one]))}
    if not texts:
        return None
    is_one = len(texts) == len(targets) == 1
    label = next(iter(texts.values())) if is_one else "; ".join(f"{name} {text}" for name, text in texts.items())
    return Known(spelling.span(node.rvalue), label, "")


def _name(target: Expression) -> str:
    return target.name if isinstance(target, NameExpr | MemberExpr) else "?"


def text_of(t: Type) -> str:
    """Return what is shown of a tensor or a layer; empty for any other value."""
    return _tensor_text(t) or _layer_text(t)


def _tensor_text(t: Type) -> str:
    parts = _parts(t)
    if parts is None:
        return ""
    items = shape_items(parts.shape)
    shape = show(UnknownDims()) if items is None else messages.shown(items)
    owns = True if is_tape(parts.tape, OWNED_TAPE) else False if is_tape(parts.tape, NONE_TAPE) else None
    return messages.revealed(shape, dtype_name(parts.dtype), owns_tape=owns)


def _parts(t: Type) -> TensorParts | None:
    p = get_proper_type(joined(without_none(t)))
    return tensor_parts(p) if isinstance(p, Instance | TypeVarType) else None


def _layer_text(t: Type, depth: int = _DEEP) -> str:
    """Return a layer with its sizes by name, `Linear(In=5, Out=7)`."""
    p = without_none(t)
    if depth == 0 or not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return ""
    variables = p.type.defn.type_vars
    if any(isinstance(variable, TypeVarTupleType) for variable in variables):  # `Sequential[*Layers]`
        parts = [_layer_text(item, depth - 1) or "?" for item in p.args]
    else:
        parts = [
            f"{variable.name}={size_of(argument)}" if kind_of(variable) == "size" else _layer_text(argument, depth - 1)
            for variable, argument in zip(variables, p.args, strict=True)
        ]
    parts = [part for part in parts if part]
    return f"{p.type.name}({', '.join(parts)})" if parts else p.type.name


def _size_text(t: Type) -> str:
    """Return a size that has a name; numbers are shown by every editor."""
    size = size_of(t)
    return f"size {size}" if isinstance(size, Dim) and not is_unknown(size) else ""


def annotation_of(t: Type) -> str:
    """Return the type of a tensor as a program writes it; empty if it is none, or has a part that has no spelling."""
    parts = _parts(t)
    if parts is None:
        return ""
    items = shape_items(parts.shape)
    shape = get_proper_type(parts.shape)
    if items is None:
        spelled = "Any"
    elif isinstance(shape, TypeVarType):
        spelled = shape.name
    elif not items:
        spelled = "Shape[()]"
    elif isinstance(shape, TupleType):
        spelled = f"Shape[{', '.join(map(_spelled_size, shape.items))}]"
    else:
        return ""
    tape = get_proper_type(parts.tape)
    if isinstance(tape, Instance) and (is_tape(tape, OWNED_TAPE) or is_tape(tape, NONE_TAPE)):
        tape_name = tape.type.name
    elif isinstance(tape, TypeVarType):
        tape_name = tape.name
    elif isinstance(tape, AnyType):
        tape_name = "Any"
    else:
        return ""
    dtype = dtype_name(parts.dtype)
    if dtype == "float32":
        return f"Tensor[{spelled}, {tape_name}]"
    return f"Tensor[{spelled}, {tape_name}, np.{dtype}]" if dtype.isidentifier() else ""


def _spelled_size(t: Type) -> str:
    p = get_proper_type(t)
    if isinstance(p, UnpackType):
        inside = get_proper_type(p.type)
        return f"*{inside.name}" if isinstance(inside, TypeVarTupleType) else "Any"
    size = size_of(p)
    if isinstance(size, int):
        return f"L[{size}]"
    if is_unknown(size):
        return "Any"
    if isinstance(p, TypeVarType):
        return p.name
    if isinstance(p, Instance) and p.type.name in _ARITHMETIC:
        return f"{_ARITHMETIC[p.type.name]}[{', '.join(map(_spelled_size, p.args))}]"
    return "Any"  # an opaque size has no spelling
