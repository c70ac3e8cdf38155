"""The check of a file that grows at its end: mypy checks only the statements that are new.

mypy itself checks a changed file as a whole. In a notebook each cell follows the program that has run, so here the
syntax tree, the types and the narrowed variables of that program stay in memory, and a cell is analyzed and checked
behind it by the same functions of mypy. Afterwards everything is as it was before the cell.
"""

from __future__ import annotations

import ast
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy import semanal_main
from mypy.checker import TypeChecker
from mypy.checker_state import checker_state
from mypy.errorcodes import NAME_DEFINED
from mypy.nodes import Decorator, FuncDef, MypyFile, OverloadedFuncDef, SymbolTable, Var
from mypy.parse import parse
from mypy.semanal import apply_semantic_analyzer_patches
from mypy.server.update import ensure_trees_loaded
from mypy.state import state as mypy_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.build import State
    from mypy.errors import ErrorInfo
    from mypy.nodes import Context, ImportBase, Node, Statement, SymbolTableNode
    from mypy.types import Type

_OPTIONS: Final = "# mypy:"  # a comment that sets options for the whole file


class CannotContinueError(Exception):
    """The file has to be checked as a whole."""


class _Moment(NamedTuple):
    """What is known behind a statement of the file, to return to."""

    text: str
    statements: list[Statement]
    imports: list[ImportBase]
    names: dict[str, SymbolTableNode]
    variables: list[tuple[Var, tuple[Any, ...]]]
    partial: dict[Var, Context]
    ignored: dict[int, list[str]]
    skipped: set[int]
    functions: set[Node]
    missing: set[str]
    types: int
    narrowed: tuple[Any, ...]


class ContinuedFile:
    """A file of which the beginning has been checked."""

    def __init__(self, graph: dict[str, State], module: str, set_lasting: Callable[[MypyFile, int], None]) -> None:
        """Begin with an empty file.

        Args:
            graph: All modules of the daemon.
            module: The one of the file.
            set_lasting: Called before each check with the file, and the number of statements that stay after it.
        """
        self._set_lasting = set_lasting
        self._graph = graph
        self._module = module
        state = graph[module]
        self._manager = manager = state.manager
        ensure_trees_loaded(manager, graph, [module])
        self._tree = tree = MypyFile([], [])
        tree._fullname, tree.path, tree.names = module, state.xpath, SymbolTable()
        self._options = options = manager.options.clone_for_module(module)  # without those that a comment sets
        self._checker: Any = TypeChecker(
            manager.errors, manager.modules, options, tree, state.xpath, manager.plugin, {}
        )
        self._narrowed: dict[Any, Any] = {}
        self._text = ""
        self._failed = False
        self._partial: dict[Var, Context] = {}
        self._types_of_partial: dict[Var, Type | None] = {}
        self._functions: set[Node] = set()
        self._missing: set[str] = set()  # names that functions use, and a later statement may define

    @property
    def _state(self) -> State:
        return self._graph[self._module]  # another one after each check of the whole file

    def is_above(self, above: str) -> bool:
        """Return whether a text begins with what has been checked, and defines no name that was missing there."""
        return above.startswith(self._text) and self._missing.isdisjoint(_bound_in(above[len(self._text) :]))

    def check(self, above: str, text: str) -> list[str]:
        """Check a text behind another one, and return mypy's messages on the file.

        Args:
            above: Whole lines, with which the file begins; those that it began with last time are not checked again.
            text: The rest of it, in which no statement begins above.

        Raises:
            CannotContinueError: The file has to be checked as a whole.
        """
        try:
            bound = _bound_in(text)
        except SyntaxError as error:
            raise CannotContinueError from error
        if self._failed or _OPTIONS in above + text or not self._missing.isdisjoint(bound):
            raise CannotContinueError
        with self._in_place():
            if new := above[len(self._text) :]:
                self._failed = True
                self._add(new, stays=True)
                self._failed = False
            before = self._moment()
            try:
                self._add(text)
                messages: list[str] = self._manager.errors.new_messages()
            finally:
                self._return_to(before)
                self._manager.errors.reset()
        return messages

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Let mypy take this file for the module."""
        state, modules, imports = self._state, self._manager.modules, self._manager.import_map
        options, tree, checker, imported = state.options, state.tree, state._type_checker, imports[state.id]
        if tree is None:
            raise CannotContinueError
        state.options, state.tree, state._type_checker = self._options, self._tree, self._checker
        modules[state.id] = self._tree
        try:
            yield
        finally:
            state.options, state.tree, state._type_checker, imports[state.id] = options, tree, checker, imported
            modules[state.id] = tree

    def _add(self, text: str, *, stays: bool = False) -> None:
        """Check more statements.

        Raises:
            CannotContinueError: The file has to be checked as a whole.
        """
        state, errors = self._state, self._manager.errors
        errors.reset()
        self._manager.plugin.set_modules(self._manager.modules)  # whose hooks into the errors are gone
        new = self._parsed(text)
        self._load(new)
        before, tree = self._tree.defs, self._tree
        tree.imports += new.imports
        tree.ignored_lines.update(new.ignored_lines)
        tree.skipped_lines |= new.skipped_lines
        errors.set_file_ignored_lines(state.xpath, tree.ignored_lines, ignore_all=False)
        errors.set_skipped_lines(state.xpath, tree.skipped_lines)
        tree.defs = new.defs
        self._analyze()
        self._missing |= _missing_names(errors.error_info_map.get(state.xpath, []))
        tree.defs = [*before, *new.defs]  # another list, by which the plugin sees that the file has changed
        self._set_lasting(tree, len(tree.defs) if stays else len(before))
        self._check_types(new.defs)
        self._text += text

    def _parsed(self, text: str) -> MypyFile:
        state, errors = self._state, self._manager.errors
        errors.set_file(state.xpath, state.id, options=state.options)
        lines = "\n" * self._text.count("\n")
        tree = parse(lines + text, state.xpath, state.id, errors, options=state.options, eager=True)
        if errors.is_blockers():
            raise CannotContinueError
        tree._fullname = state.id
        state.tree = tree
        state.semantic_analysis_pass1()
        state.tree = self._tree
        return tree

    def _load(self, new: MypyFile) -> None:
        manager, state = self._manager, self._state
        both = MypyFile([], [*self._tree.imports, *new.imports])
        both._fullname, both.path = state.id, state.xpath
        modules = {module for _, module, _ in manager.all_imported_modules_in_file(both)}
        known = {module for module in modules if module in self._graph}
        ensure_trees_loaded(manager, self._graph, sorted(known))
        if not modules <= manager.modules.keys():
            raise CannotContinueError  # mypy reports a module that is missing when it looks for it
        manager.import_map[state.id] = modules | {"builtins"}
        manager.semantic_analyzer.transitive_submodule_imports.pop(state.id, None)

    def _analyze(self) -> None:
        """Do the semantic analysis of the new statements, as mypy's `semantic_analysis_for_scc` does it for a file."""
        graph, state, manager = self._graph, self._state, self._manager
        patches: list[Any] = []
        semanal_main.process_top_levels(graph, [state.id], patches)
        targets = [
            (state.id, name, node, info)
            for name, node, info in semanal_main.get_all_leaf_targets(self._tree)
            if node not in self._functions
        ]
        targets.sort(key=lambda target: (target[2].line, target[1]))
        for module, name, node, info in semanal_main.order_by_subclassing(targets):
            if isinstance(node, FuncDef | OverloadedFuncDef | Decorator):
                semanal_main.process_top_level_function(
                    manager.semantic_analyzer, state, module, name, node, info, patches
                )
        self._functions |= {node for _, _, node, _ in targets}
        apply_semantic_analyzer_patches(patches)
        semanal_main.apply_class_plugin_hooks(graph, [state.id], manager.errors)
        semanal_main.check_type_arguments(graph, [state.id], manager.errors)
        semanal_main.calculate_class_properties(graph, [state.id], manager.errors)
        semanal_main.check_blockers(graph, [state.id])

    def _check_types(self, statements: list[Statement]) -> None:
        """Check the types of statements, as mypy's `TypeChecker.check_first_pass` does it for all of a file."""
        checker, state = self._checker, self._state
        checker.pass_num, checker.deferred_nodes, checker.recurse_into_functions = 0, [], True
        with (
            state.wrap_context(),
            mypy_state.strict_optional_set(state.options.strict_optional),
            checker_state.set(checker),
        ):
            checker.errors.set_file(state.xpath, state.id, scope=checker.tscope, options=state.options)
            with (
                checker.tscope.module_scope(state.id),
                checker.enter_partial_types(),
                checker.binder.top_frame_context() as frame,
            ):
                frame.types.update(self._narrowed)
                scope = checker.partial_types[-1]
                scope.map.update(self._partial)
                for statement in statements:
                    if not checker.binder.is_unreachable():
                        checker.accept(statement)
                is_unreachable = checker.binder.is_unreachable()
                self._narrowed = dict(frame.types)
                self._partial = dict(scope.map)
                self._types_of_partial = {variable: variable.type for variable in scope.map}
        if is_unreachable:
            raise CannotContinueError
        state.type_check_second_pass()
        state.detect_possibly_undefined_vars()
        checker.expr_checker.reset()

    def _moment(self) -> _Moment:
        """Return everything that a further statement may change."""
        tree, checker = self._tree, self._checker
        binder = checker.binder
        for variable, t in self._types_of_partial.items():
            variable.type = t
        variables = [node.node for node in tree.names.values() if isinstance(node.node, Var)]
        return _Moment(
            self._text,
            tree.defs,
            [*tree.imports],
            {**tree.names},
            [(one, _of_variable(one)) for one in variables],
            self._partial,
            {**tree.ignored_lines},
            {*tree.skipped_lines},
            {*self._functions},
            {*self._missing},
            len(checker._type_maps[0]),
            (
                {**binder.frames[0].types},
                self._narrowed,
                {**binder.declarations},
                {key: {*keys} for key, keys in binder.dependencies.items()},
                {**checker.var_decl_frames},
                {*checker.partial_reported},
            ),
        )

    def _return_to(self, moment: _Moment) -> None:
        tree, checker = self._tree, self._checker
        binder = checker.binder
        self._text, self._partial, self._types_of_partial = moment.text, moment.partial, {}
        self._functions, self._missing = moment.functions, moment.missing
        tree.defs, tree.imports = moment.statements, moment.imports
        tree.ignored_lines, tree.skipped_lines = moment.ignored, moment.skipped
        tree.names.clear()
        tree.names.update(moment.names)
        for variable, values in moment.variables:
            variable.type, variable.is_ready, variable.is_inferred, variable.invalid_partial_type = values
        types = checker._type_maps[0]
        while len(types) > moment.types:
            types.popitem()
        (
            binder.frames[0].types,
            self._narrowed,
            binder.declarations,
            binder.dependencies,
            checker.var_decl_frames,
            checker.partial_reported,
        ) = moment.narrowed


def _missing_names(errors: list[ErrorInfo]) -> set[str]:
    found = (re.match(r'Name "(\w+)"', error.message) for error in errors if error.code is NAME_DEFINED)
    return {name[1] for name in found if name is not None}


def _bound_in(text: str) -> set[str]:
    """Return the names that a text defines, and some that are local to its functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
    return found


def _of_variable(variable: Var) -> tuple[Any, ...]:
    return variable.type, variable.is_ready, variable.is_inferred, variable.invalid_partial_type
