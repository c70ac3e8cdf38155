"""The analysis of a checked file: how much is known of each tensor expression, and where something is lost first.

An expression is where something is lost if it is unknown there although it is known of all that the expression is
computed from. What is computed from it later is unknown too, but no place to fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    NOT_ABSTRACT,
    Argument,
    AssertTypeExpr,
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    Expression,
    FuncDef,
    Import,
    ImportAll,
    ImportFrom,
    MemberExpr,
    NameExpr,
    OverloadedFuncDef,
    RevealExpr,
    Statement,
)
from mypy.types import CallableType, get_proper_type

from tapegrad.mypy.coverage.comments import comments_in
from tapegrad.mypy.coverage.findings import Analysis, Loss, Seen, Unit, listed
from tapegrad.mypy.coverage.levels import (
    NOTHING,
    PARTS,
    Knowledge,
    Level,
    contents,
    knowledge_of,
    least_known,
    unknown_sizes,
)
from tapegrad.mypy.coverage.program import DISPLAYS, Program, inner, is_cast, nodes_in, operands
from tapegrad.mypy.coverage.reasons import NAME_SIZES, Reason, Reasons
from tapegrad.mypy.coverage.spelling import Spelling
from tapegrad.mypy.features.declarations import is_open_result, may_say_more
from tapegrad.mypy.features.partial_types import is_open
from tapegrad.mypy.features.readable_bodies import why_unreadable
from tapegrad.mypy.scopes.records import PASSES_NOTHING_KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy.nodes import MypyFile, Var
    from mypy.types import Type

    from tapegrad.mypy.coverage.comments import Comment
    from tapegrad.mypy.coverage.readings import Readings

MODULE_LEVEL: Final = "(module)"
_KNOWN_CALL: Final = "pass a tensor of known shape there"
_ASSERT_SHAPE: Final = "tapegrad.guard.assertions.assert_shape"
_GOING_THROUGH: Final = {"builtins.enumerate", "builtins.reversed", "builtins.zip"}
_UNCOUNTED: Final = (AssertTypeExpr, NameExpr, RevealExpr)  # what they stand for is counted where it is made


def analyze(
    tree: MypyFile,
    types: Mapping[Expression, Type],
    source: str,
    rejected: frozenset[int] = frozenset(),
    *,
    readings: Readings | None = None,
    skips_untyped: bool = False,
) -> Analysis:
    """Return what is known of each tensor expression of a checked file.

    An expression in a body that mypy read for all of its calls counts with what is known of it at each of them.

    Args:
        tree: The file.
        types: The type of each of its expressions.
        source: Its text.
        rejected: The lines with errors: what is lost there is no matter of coverage.
        readings: The bodies that mypy read for calls; None under the daemon, which checks only parts of a file.
        skips_untyped: Whether mypy leaves out functions without annotations.
    """
    skips_untyped = skips_untyped and _imports_tapegrad(tree)
    analyzer = _Analyzer(tree, types, source, rejected, readings, skips_untyped=skips_untyped)
    analyzer.read()
    return analyzer.result()


def _open_layers(readings: Readings, types: Mapping[Expression, Type]) -> dict[Expression, list[Type]]:
    """Return the types that constructors give layers whose declared types leave something open."""
    layers = readings.types_of_layers()
    return {one: several for one, several in layers.items() if one in types and unknown_sizes(types[one])}


class _Place(NamedTuple):
    """The function that an expression is in, and the lines beside which a comment accepts it."""

    unit: Unit
    lines: range


class _Root(NamedTuple):
    """A place where something is lost first."""

    node: Any
    place: _Place
    parts: frozenset[str]
    axes: tuple[int, ...]
    reason: Reason
    expression: str
    sizes: tuple[str, ...] = ()


class _Analyzer:
    def __init__(
        self,
        tree: MypyFile,
        types: Mapping[Expression, Type],
        source: str,
        rejected: frozenset[int],
        readings: Readings | None,
        *,
        skips_untyped: bool,
    ) -> None:
        self._tree = tree
        self._readings = readings
        read = {**_open_layers(readings, types), **readings.types()} if readings is not None else {}
        self._at_calls = {expression: least_known(several) for expression, several in read.items()}
        self._declared_program = Program(tree, types)
        self._rejected = rejected
        self._skips_untyped = skips_untyped
        self._comments = comments_in(source)
        self._spelling = Spelling(source)
        self._program = Program(tree, {**types, **self._at_calls}) if self._at_calls else self._declared_program
        self._reasons = Reasons(self._program, self._spelling.of, self._why_unread)
        self._module = Unit(MODULE_LEVEL, 1, max(source.count("\n"), 1), None)
        self._units = [self._module]
        self._places: dict[Expression, _Place] = {}
        self._headers: list[tuple[range, range]] = []  # of functions and classes: the lines of the head, and all lines
        self._asserted = self._assertions()
        self._found: list[tuple[Any, Any, _Place, Knowledge, bool]] = []  # with the key of its root, should it be one
        self._roots: dict[Any, _Root] = {}
        self._origins: dict[Any, frozenset[Any]] = {}

    def read(self) -> None:
        """Walk through the file, then judge each expression."""
        self._walk(self._tree.defs, _Place(self._module, range(0)), "")
        for expression, place in self._places.items():
            self._judge(expression, place)

    def _assertions(self) -> set[Expression]:
        """Return the expressions whose shape `assert_shape` names, where they are made or in a later line."""
        asserted: set[Expression] = set()
        for node in nodes_in(self._tree):
            if isinstance(node, CallExpr) and node.args and getattr(node.callee, "fullname", "") == _ASSERT_SHAPE:
                known = self._program.knowledge(node)
                if known is not None and known.level <= Level.NAMED:
                    variable = self._program.variable(node.args[0])
                    asserted |= {node.args[0], *self._program.bound_to(variable)}
        return asserted

    def _walk(self, node: Any, place: _Place, prefix: str) -> None:
        """Note where each expression is, and the parameters and results of functions."""
        if isinstance(node, list | tuple):
            for one in node:
                self._walk(one, place, prefix)
        elif isinstance(node, FuncDef):
            if not _is_generated(node) and not _never_runs(node):
                self._function(node, place, prefix)
        elif isinstance(node, ClassDef):
            self._headers.append((_header(node), _all_lines_of(node)))
            self._walk([*node.decorators, *node.base_type_exprs], place._replace(lines=_header(node)), prefix)
            self._walk(node.defs, place, f"{prefix}{node.name}.")
        elif node is not None:
            if isinstance(node, Statement) and not isinstance(node, Decorator | OverloadedFuncDef):
                place = place._replace(lines=_header(node))
            if isinstance(node, Expression):
                self._places[node] = place
            self._walk(node.analyzed.expr if is_cast(node) else inner(node), place, prefix)

    def _function(self, function: FuncDef, outside: _Place, prefix: str) -> None:
        header, name = _header(function), f"{prefix}{function.name}"
        unit = Unit(name, function.line, function.end_line or function.line, outside.unit.target or function)
        place = _Place(unit, header)
        self._units.append(unit)
        self._headers.append((header, _all_lines_of(function)))
        self._walk([argument.initializer for argument in function.arguments], outside, prefix)
        if function.type is None and function.arguments and self._skips_untyped:
            self._declared(function, function, NOTHING, place, self._reasons.of_unchecked(function))
            return
        signature = get_proper_type(function.type) if function.type is not None else None
        readings = self._readings.of(function) if self._readings is not None else []
        for position, argument in enumerate(function.arguments):
            # A variable that is bound again has the union of its types.
            declared = signature.arg_types[position] if isinstance(signature, CallableType) else argument.variable.type
            known = knowledge_of(declared) if declared is not None else None
            given = [reading.given[argument.variable] for _, reading in readings if argument.variable in reading.given]
            at_calls = knowledge_of(least_known(given)) if given else None
            if known is not None:
                known, is_better = (at_calls, True) if at_calls is not None and known.missing else (known, False)
                reason = (
                    self._of_declared(function, declared, known, argument.variable) if known.missing else Reason("")
                )
                self._declared(argument, argument.variable, known, place, reason, at_calls=is_better)
        result = signature.ret_type if isinstance(signature, CallableType) else None
        lost = [one for one in contents(result) if one.missing] if result is not None else []
        if readings and not any(one.missing for _, reading in readings for one in contents(reading.result)):
            lost = []
        if lost:  # a result that is known is counted where the function is called
            reason = self._of_declared(function, result, lost[0], None)
            self._declared(function, function, lost[0], place, reason)
        self._walk(function.body, _Place(unit, range(0)), f"{name}.")

    def _of_declared(self, function: FuncDef, declared: Type | None, known: Knowledge, variable: Var | None) -> Reason:
        """Return why a parameter or a result is unknown: what its annotation and the calls of its function say."""
        reason = self._reasons.of_declared(declared, _first(known.missing), "it" if variable else "the result")
        is_read = declared is not None and (is_open(declared) or (variable is None and is_open_result(declared)))
        if self._readings is None or not is_read or not may_say_more(function):
            return reason
        if not (readings := self._readings.of(function)):
            return self._of_unread(function, reason, self._readings)
        if variable is None:
            return reason.continued("the body gives it at some calls only", reason.fix)
        given = [(reading.given[variable], call) for call, reading in readings if variable in reading.given]
        if not given:  # Any, which no body is read with
            return reason.continued(f"what calls {function.name} passes Any", _at_call(_KNOWN_CALL, reason))
        worst = least_known([t for t, _ in given])
        place = next(call.place(self._tree) for t, call in given if t is worst)
        return reason.continued(f"{place} passes {self._reasons.shown(worst)}", _at_call(_KNOWN_CALL, reason))

    def _of_unread(self, function: FuncDef, reason: Reason, readings: Readings) -> Reason:
        """Return a reason with why the body is not read for its calls, and which call would say more."""
        why, uncalled = self._why_unread(function) or why_unreadable(function), readings.uncalled(function)
        fix = reason.fix
        if not why:
            if _takes_tensor(function):
                fix = _at_call("call it there with a tensor of known shape", reason)
            return reason.continued(f"nothing in {readings.where} calls {function.name}", fix)
        if uncalled is not None and _takes_tensor(uncalled):
            fix = _at_call(f"call {_with_class(uncalled)} with a tensor of known shape", reason)
        elif why.endswith(PASSES_NOTHING_KNOWN) and _takes_tensor(function):
            fix = _at_call(_KNOWN_CALL, reason)
        return reason.continued(f"{function.name} is not read for its calls: {why}", fix)

    def _why_unread(self, function: FuncDef) -> str:
        return self._readings.why_unread(function, self._tree) if self._readings is not None else ""

    def _declared(
        self, node: Any, key: Any, known: Knowledge, place: _Place, reason: Reason, *, at_calls: bool = False
    ) -> None:
        """Count a parameter or a result, and note it as a root if its annotation loses something."""
        self._found.append((node, key, place, known, at_calls))
        if known.missing:
            name = node.name if isinstance(node, FuncDef) else node.variable.name
            self._roots[key] = _Root(node, place, known.missing, known.axes, reason, name)
            self._origins[key] = frozenset({key})

    def _judge(self, expression: Expression, place: _Place) -> None:
        """Count an expression if it makes a tensor, and find what it comes from if it is not known."""
        if isinstance(expression, _UNCOUNTED) or _goes_through(expression):
            return
        known = self._program.knowledge(expression)
        if known is None or (expression in self._asserted and known.level > Level.NAMED):
            return
        self._found.append((expression, expression, place, known, self._is_better(expression, known)))
        if known.missing:
            self._origin(expression)

    def _is_better(self, expression: Expression, known: Knowledge) -> bool:
        """Return whether calls say more of an expression than the annotations do."""
        if expression not in self._at_calls:
            return False
        declared = self._declared_program.knowledge(expression)
        return declared is None or known.missing < declared.missing

    def _origin(self, expression: Expression) -> frozenset[Any]:
        """Return the roots that an unknown expression comes from; it is one itself if all its operands are known."""
        found = self._origins.get(expression)
        if found is None:
            self._origins[expression] = frozenset()  # for a variable that is bound to itself
            found = self._origins[expression] = self._traced(expression)
        return found

    def _traced(self, expression: Expression) -> frozenset[Any]:
        missing = self._missing(expression)
        if isinstance(expression, NameExpr | MemberExpr):
            return self._origin_of_variable(expression, missing)
        origins: set[Any] = set()
        explained: set[str] = set()
        for one in [] if is_cast(expression) else operands(expression):
            theirs = self._missing(one) & missing
            if theirs:
                explained |= theirs
                origins |= self._origin(one)
        callee = self._program.callee(expression) if isinstance(expression, CallExpr) else None
        if callee in self._roots:
            return frozenset({callee})
        is_container = isinstance(expression, DISPLAYS) and bool(explained)
        if not missing <= explained and not origins and not is_container:
            origins.add(self._new_root(expression, missing))
        return frozenset(origins)

    def _missing(self, expression: Expression) -> frozenset[str]:
        missing = self._program.missing(expression)
        return missing - {"shape"} if expression in self._asserted else missing

    def _origin_of_variable(self, expression: NameExpr | MemberExpr, missing: frozenset[str]) -> frozenset[Any]:
        variable = self._program.variable(expression)
        if variable is not None and variable in self._roots:
            return frozenset({variable})
        sources = list(self._program.bound_to(variable))
        if isinstance(expression, MemberExpr):
            sources.append(expression.expr)
        unknown = [one for one in sources if self._missing(one) & missing]
        origins = frozenset[Any]().union(*map(self._origin, unknown))
        mixed = [one for one in sources if isinstance(one, DISPLAYS) and operands(one)]
        if not origins and mixed and variable is not None and any(map(self._is_tensor, operands(mixed[0]))):
            return frozenset({self._new_root(mixed[0], missing, variable)})
        return origins or frozenset({self._new_root(expression, missing, variable or expression)})

    def _is_tensor(self, expression: Expression) -> bool:
        t = self._program.type_of(expression)
        return t is not None and knowledge_of(t) is not None

    def _new_root(self, expression: Expression, parts: frozenset[str], key: Any = None) -> Any:
        key = expression if key is None else key
        known = self._program.knowledge(expression) or self._program.least_inside(expression)
        t = self._program.type_of(expression)
        sizes = unknown_sizes(t) if t is not None else []
        reason = self._reasons.of_layer(expression, sizes) if sizes else self._reasons.of(expression, _first(parts))
        place = self._places.get(expression, _Place(self._module, _lines_of(expression)))
        axes = known.axes if known is not None else ()
        self._roots[key] = _Root(expression, place, parts, axes, reason, self._spelling.of(expression), tuple(sizes))
        return key

    def result(self) -> Analysis:
        """Return what was found, without what errors cause, and with what comments accept."""
        errors = {key for key, root in self._roots.items() if not self._rejected.isdisjoint(_lines_of(root.node))}
        comments = {key: self._accepting(root.place) for key, root in self._roots.items()}
        accepted = {key for key, several in comments.items() if any(one.reason for one in several)}
        used = {one.line for several in comments.values() for one in several}
        seen = []
        for node, key, place, known, at_calls in self._found:
            beside = self._accepting(place) if known.missing else []
            used |= {one.line for one in beside}
            origins = self._origins.get(key, frozenset())
            left_out = any(one.reason for one in beside) or (bool(origins) and origins <= errors | accepted)
            span, left_out = self._spelling.span(node), left_out and bool(known.missing)
            seen.append(Seen(span, place.unit, known, left_out, at_calls and not known.missing))
        losses = self._losses({key: comments[key] for key in self._roots if key not in errors})
        every = self._comments.values()
        return Analysis(
            self._units,
            sorted(seen, key=lambda one: one.span),
            sorted(losses, key=lambda one: one.span),
            [one for one in every if one.reason and one.line not in used],
            [one for one in every if not one.reason],
            {place.unit.target for expression, place in self._places.items() if self._program.type_of(expression)},
        )

    def _losses(self, comments: dict[Any, list[Comment]]) -> list[Loss]:
        """Return the losses; the result and the parameters of a function that lack the same are one."""
        alike: dict[object, list[Any]] = {}
        for key in comments:
            root = self._roots[key]
            same = root.place, root.parts, root.axes, root.reason.declared, root.reason.fix
            alike.setdefault(same if root.reason.declared and _is_declaration(root) else key, []).append(key)
        return [self._loss(keys, comments[keys[0]]) for keys in alike.values()]

    def _loss(self, keys: list[Any], comments: list[Comment]) -> Loss:
        several = sorted((self._roots[key] for key in keys), key=lambda one: self._spelling.span(one.node))
        root, name, reason = several[0], several[0].expression, several[0].reason.text
        if len(several) > 1:
            name = root.place.unit.name.rpartition(".")[2]
            which = ["the result" if isinstance(one.node, FuncDef) else one.expression for one in several]
            reason = f"{listed(which)} are {root.reason.declared}"
        return Loss(
            self._spelling.span(root.node),
            root.place.unit,
            name,
            tuple(part for part in PARTS if part in root.parts),
            root.sizes,
            root.axes,
            reason,
            root.reason.fix,
            next((one.reason for one in comments if one.reason), None),
        )

    def _accepting(self, place: _Place) -> list[Comment]:
        """Return the comments that accept an expression: beside its statement, or the head of what is around it."""
        if not self._comments:
            return []
        heads = [head for head, lines in self._headers if place.lines and place.lines.start in lines]
        return [
            comment
            for line, comment in self._comments.items()
            if line in place.lines or any(line in head for head in heads)
        ]


def _is_declaration(root: _Root) -> bool:
    """Return whether a root is a parameter or the result of a function."""
    return isinstance(root.node, FuncDef | Argument)


def _goes_through(expression: Expression) -> bool:
    """Return whether an expression is a call such as `zip(xs, ys)`, whose items are counted where they are made."""
    callee = expression.callee if isinstance(expression, CallExpr) else None
    return isinstance(callee, NameExpr) and callee.fullname in _GOING_THROUGH


def _is_generated(function: FuncDef) -> bool:
    """Return whether mypy has added a method to a class, such as `__init__` to a dataclass."""
    symbol = function.info.names.get(function.name) if function.info else None
    return symbol is not None and symbol.plugin_generated


def _never_runs(function: FuncDef) -> bool:
    """Return whether a method is abstract, or one of a protocol, with no statements: those of other classes run."""
    return function.is_trivial_body and function.abstract_status != NOT_ABSTRACT


def _takes_tensor(function: FuncDef) -> bool:
    declared = function.type
    return isinstance(declared, CallableType) and any(True for t in declared.arg_types for _ in contents(t))


def _at_call(fix: str, reason: Reason) -> str:
    """Return a fix at a call beside the one at the annotation, for which the sizes need names."""
    return f"{fix}, or {reason.fix}" if reason.fix == NAME_SIZES else reason.fix


def _with_class(function: FuncDef) -> str:
    return f"{function.info.name}.{function.name}" if function.info else function.name


def _first(parts: frozenset[str]) -> str:
    return next(part for part in PARTS if part in parts)


def _header(node: Any) -> range:
    """Return the lines of a statement, without those of the statements inside it."""
    inside = [block.body[0].line for block in _blocks(node) if block.body]
    last = max(node.line, min(inside) - 1) if inside else node.end_line or node.line
    return range(node.line, last + 1)


def _blocks(node: Any) -> list[Block]:
    found = [getattr(node, name, None) for name in ("body", "else_body", "finally_body", "defs", "bodies")]
    flat = [one for each in found for one in (each if isinstance(each, list) else [each])]
    return [one for one in flat if isinstance(one, Block)]


def _lines_of(node: Any) -> range:
    return _header(node) if isinstance(node, Statement) else _all_lines_of(node)


def _all_lines_of(node: Any) -> range:
    return range(node.line, (node.end_line or node.line) + 1)


def _imports_tapegrad(tree: MypyFile) -> bool:
    names = []
    for one in tree.imports:
        if isinstance(one, Import):
            names += [name for name, _ in one.ids]
        elif isinstance(one, ImportFrom | ImportAll):
            names.append(one.id)
    return any(name.partition(".")[0] == "tapegrad" for name in names)
