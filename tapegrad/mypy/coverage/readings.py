"""The readings of the bodies of the functions in some files, at the calls in all of them.

A body in another file than the call was read in that file as it was parsed again. Its expressions are those of the file
that was checked, at the same places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from mypy.nodes import Expression, FuncDef

from tapegrad.mypy.coverage.program import nodes_in
from tapegrad.mypy.features.declarations import may_say_more
from tapegrad.mypy.features.readable_bodies import why_unreadable
from tapegrad.mypy.scopes.functions import is_lambda
from tapegrad.mypy.scopes.records import IS_OF_UNKNOWN_OBJECT, PASSES_NOTHING_KNOWN, calls_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.nodes import MypyFile, Node
    from mypy.types import Type

    from tapegrad.mypy.scopes.records import BodyReading, Calls, LayersMade, Unread

_Node = TypeVar("_Node", bound="Node")


class Call(NamedTuple):
    """A call for which a body was read, or was not."""

    calls: Calls
    line: int

    def place(self, tree: MypyFile) -> str:
        """Return the words for the call in a report on a file."""
        return f"the call on line {self.line}{'' if self.is_in(tree) else f' of {self.calls.path}'}"

    def is_in(self, tree: MypyFile) -> bool:
        """Return whether the call is in a file."""
        return self.calls.file.fullname == tree.fullname


class Readings:
    """The readings of functions that were recorded while some files were checked.

    A function that is read for all of its calls counts as those readings say; its calls of others with the types that
    it declares count only where it is not.

    Args:
        trees: The files.
        where: What their calls are in, in words.
    """

    def __init__(self, trees: Iterable[MypyFile], where: str) -> None:
        self.where = where
        self._trees = {tree.fullname: tree for tree in trees}
        self._callers = [calls for _, tree in sorted(self._trees.items()) for calls in calls_in(tree)]
        self._twins: dict[Any, Any] = {}  # nodes of files that were parsed again, and the same ones of the files
        self._matched: set[MypyFile] = set()
        self._translated: dict[Calls, BodyReading] = {}  # by the calls in a body
        self._read: dict[FuncDef, list[tuple[Call, BodyReading]]] = {}
        self._unread: dict[FuncDef, list[tuple[Calls, Unread]]] = {}
        self._made: list[tuple[FuncDef | None, LayersMade]] = []
        self._follow(set())
        complete = {*self._read}
        self._follow(complete)
        while lost := complete & self._unread.keys() or complete - self._read.keys():
            complete -= lost
            self._follow(complete)
        self._complete = complete

    def _follow(self, complete: set[FuncDef]) -> None:
        """Find what is read and what is not, from the calls in all functions that are not complete."""
        self._read, self._unread, self._made = {}, {}, []
        pending = [calls for calls in reversed(self._callers) if calls.caller is None or calls.caller not in complete]
        seen: set[Calls] = set()
        while pending:
            calls = pending.pop()
            if calls in seen:
                continue
            seen.add(calls)
            self._match(calls.file)
            self._made += [(calls.caller, made) for made in calls.made]
            for unread in calls.unread:
                self._unread.setdefault(self._twin(unread.function), []).append((calls, unread))
            for line, reading in calls.read:
                own = self._own(reading)
                self._read.setdefault(own.function, []).append((Call(calls, line), own))
                pending.append(reading.calls)

    def _match(self, file: MypyFile) -> None:
        """Find the nodes of a file that was parsed again in the one that was checked, by their places."""
        tree = self._trees.get(file.fullname)
        if tree is None or tree is file or file in self._matched:
            return
        self._matched.add(file)
        again = _by_place(file)
        for place, nodes in _by_place(tree).items():
            self._twins.update(zip(again.get(place, ()), nodes, strict=False))

    def _twin(self, node: _Node) -> _Node:
        found: _Node = self._twins.get(node, node)
        return found

    def _own(self, reading: BodyReading) -> BodyReading:
        """Return a reading with the nodes of the file that was checked."""
        if reading.calls not in self._translated:
            self._match(reading.calls.file)
            function = self._twin(reading.function)
            variables = {
                one.variable: own.variable
                for one, own in zip(reading.function.arguments, function.arguments, strict=True)
            }
            self._translated[reading.calls] = reading._replace(
                function=function,
                given={variables[variable]: t for variable, t in reading.given.items()},
                types={self._twin(expression): t for expression, t in reading.types.items()},
            )
        return self._translated[reading.calls]

    def why_unread(self, function: FuncDef, tree: MypyFile) -> str:
        """Return why a body was not read for all of its calls, for a report on a file; empty if nothing calls it."""
        for calls, unread in self._unread.get(function, ()):
            if unread.call_line is None:
                return unread.reason
            return f"{Call(calls, unread.call_line).place(tree)} {unread.reason}"
        return ""

    def uncalled(self, function: FuncDef) -> FuncDef | None:
        """Return the function from which all would be known, if it were called; it may be the given one.

        A function is not read where another one calls it with what that one declares, for which in turn a call may be
        missing. None if nothing is missing but a call that says more, or if a body is not read for another reason.
        """
        seen: set[FuncDef] = set()
        while function not in seen and function in self._unread:
            seen.add(function)
            calls, unread = self._unread[function][0]
            is_open = unread.reason in (PASSES_NOTHING_KNOWN, IS_OF_UNKNOWN_OBJECT)
            if not is_open or calls.caller is None or not may_say_more(calls.caller):
                return None
            function = calls.caller
        return None if function in self._read or function in seen or why_unreadable(function) else function

    def of(self, function: FuncDef) -> list[tuple[Call, BodyReading]]:
        """Return the readings of a function, each with a call; none if a call of it was not read."""
        return self._read[function] if function in self._complete else []

    def types(self) -> dict[Expression, list[Type]]:
        """Return the types of the expressions in bodies that were read for all of their calls.

        Those in a lambda are what its own readings say, not those of the body around it, which only writes it down.
        """
        found: dict[Expression, list[Type]] = {}
        in_lambdas = {node for one in self._complete if is_lambda(one) for node in nodes_in(one.body)}
        for function in self._complete:
            readings = {reading.calls: reading for _, reading in self._read[function]}
            for reading in readings.values():
                for expression, t in reading.types.items():
                    if expression not in in_lambdas or is_lambda(function):
                        found.setdefault(expression, []).append(t)
        return found

    def types_of_layers(self) -> dict[Expression, list[Type]]:
        """Return the types of the layers that a constructor makes for every object of its class.

        The objects that a constructor makes for each of its own objects count there, not where it is declared.
        """
        made = [(caller, self._own_layers(one)) for caller, one in self._made]
        while True:
            found = self._for_all_objects([one for _, one in made])
            kept = [(caller, one) for caller, one in made if caller is None or one.at not in found]
            if len(kept) == len(made):
                return {expression: several for expression, several in found.items() if several}
            made = kept

    def _own_layers(self, made: LayersMade) -> LayersMade:
        """Return what a constructor makes with the nodes of the file that was checked."""
        for file in made.files:
            self._match(file)
        types = {self._twin(expression): several for expression, several in made.types.items()}
        return made._replace(at=self._twin(made.at), types=types)

    def _for_all_objects(self, made: list[LayersMade]) -> dict[Expression, list[Type]]:
        """Return the types of the layers, and none for the other objects, that are made for every object of a class."""
        found: dict[Expression, list[Type]] = {}
        constructors = [
            node
            for tree in self._trees.values()
            for node in nodes_in(tree)
            if isinstance(node, FuncDef) and node.name == "__init__" and node.info
        ]
        for constructor in constructors:
            of_class = [one.types for one in made if constructor.info in one.info.mro]
            inside = {*nodes_in(constructor.body)}
            for expression in of_class[0] if of_class else ():
                if expression in inside and all(expression in types for types in of_class):
                    found[expression] = [t for types in of_class for t in types[expression] or ()]
        return found


def _by_place(tree: MypyFile) -> dict[tuple[object, ...], list[Any]]:
    """Return the functions and the expressions of a file by kind and place, at which one may be twice."""
    found: dict[tuple[object, ...], list[Any]] = {}
    for node in nodes_in(tree):
        if isinstance(node, FuncDef | Expression):
            place = type(node), node.line, node.column, node.end_line, node.end_column
            found.setdefault(place, []).append(node)
    return found
