"""Files as mypy reads them: their text, their statements parsed again, and which of them a check reads."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from mypy.errors import Errors
from mypy.nodes import (
    GDEF,
    AssignmentStmt,
    Block,
    ClassDef,
    Decorator,
    ExpressionStmt,
    FuncDef,
    MypyFile,
    OverloadedFuncDef,
    RefExpr,
    SymbolTable,
    SymbolTableNode,
    TypeInfo,
    Var,
)
from mypy.parse import parse
from mypy.renaming import LimitedVariableRenameVisitor, VariableRenameVisitor
from mypy.semanal import SemanticAnalyzer
from mypy.semanal_pass1 import SemanticAnalyzerPreAnalysis
from mypy.traverser import NameAndMemberCollector
from mypy.types import Instance, LiteralType, get_proper_type
from mypy.util import hash_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Expression, Node, Statement

_MOST_PASSES: Final = 10  # over the names of one function; most need two


def analyzed_file(analyzer: Any) -> MypyFile:
    """Return the file whose names and annotations mypy analyzes."""
    tree: MypyFile = analyzer.cur_mod_node
    return tree


def analyzer_of(api: Any) -> Any:
    """Return what analyzes the file with an annotation; None where it analyzes no file."""
    return api.api if hasattr(api.api, "cur_mod_node") else None


def file_of_module(module: str, api: Any) -> MypyFile | None:
    """Return a file of the program by the name of its module; from mypy's cache, it has names but no statements."""
    tree = api.modules.get(module)
    return tree if isinstance(tree, MypyFile) else None


def all_modules(api: Any) -> set[str]:
    """Return the names of all modules that mypy has read."""
    return {*api.modules}


def text_of_file(path: str, api: Any) -> str | None:
    """Return the text of a file as mypy reads it; an editor may hold another one than the disk. None if unreadable."""
    errors: Errors = api.errors
    with suppress(OSError, UnicodeError):
        lines = errors.read_source(path) if errors.read_source is not None else None
        return Path(path).read_text("utf-8") if lines is None else "\n".join([*lines, ""])
    return None


def store_hash(analyzer: Any, name: str, text: str) -> None:
    """Store the hash of a text among the names of the file that mypy analyzes, where mypy's cache keeps it."""
    _store(analyzed_file(analyzer), name, text, analyzer.named_type("builtins.str"))


def store_hash_in(tree: MypyFile, name: str, text: str) -> None:
    """Store the hash of a text among the names of a file that mypy has checked."""
    _store(tree, name, text, Instance(_STR, []))


# There is no checker that knows the class `str`. mypy's cache keeps only its full name.
_STR: Final = TypeInfo(SymbolTable(), ClassDef("str", Block([])), "builtins")
_STR._fullname = "builtins.str"


def _store(tree: MypyFile, name: str, text: str, kind: Instance) -> None:
    variable = Var(name, LiteralType(_hash(text), kind))
    variable._fullname = f"{tree.fullname}.{name}"
    tree.names[name] = SymbolTableNode(GDEF, variable, module_public=False, module_hidden=True)


def has_hash_of(tree: MypyFile, name: str, text: str) -> bool:
    """Return whether the hash that is stored among the names of a file is that of a text."""
    symbol = tree.names.get(name)
    variable = symbol.node if symbol is not None else None
    known = get_proper_type(variable.type) if isinstance(variable, Var) else None
    return isinstance(known, LiteralType) and known.value == _hash(text)


def _hash(text: str) -> str:
    return hash_digest(text.encode(errors="surrogatepass"))


def is_fine_grained(api: Any) -> bool:
    """Return whether mypy is a daemon, or writes a cache for one: then it stores what each function depends on."""
    return bool(api.options.fine_grained_incremental or api.options.cache_fine_grained)


def owner_of_files(api: Any) -> object:
    """Return what lives as long as files that were parsed again may be used: the modules, or a daemon's checker."""
    return api if api.options.fine_grained_incremental else api.modules


class Parsed(NamedTuple):
    """A file that was parsed again.

    Attributes:
        tree: Its statements. Its names are those of the file, as are its classes.
        functions: Those that are no part of another function, by full name.
        classes: The definitions of classes, likewise.
        decorators: Those of the functions that have any, by the full name of the function.
        rejected: The lines in which mypy finds no name.
    """

    tree: MypyFile
    functions: dict[str, FuncDef]
    classes: dict[str, ClassDef]
    decorators: dict[str, list[Expression]]
    rejected: frozenset[int]


def parse_again(text: str, path: str, known: MypyFile, api: Any) -> Parsed | None:
    """Parse a file of which mypy has only the names, and look up its names; None if it has errors.

    Args:
        text: Its text.
        path: Where it is.
        known: The file as mypy's cache keeps it.
        api: The checker.
    """
    module = known.fullname
    errors = Errors(api.options)
    errors.set_file(path, module, options=api.options)
    tree = parse(text, path, module, errors, options=api.options, eager=True)
    if errors.is_errors():
        return None
    tree._fullname, tree.path = module, path
    if not api.options.native_parser:
        SemanticAnalyzerPreAnalysis().visit_file(tree, path, module, api.options)
    if not api.options.allow_redefinition:
        tree.accept(LimitedVariableRenameVisitor())
    if api.options.allow_redefinition_old:
        tree.accept(VariableRenameVisitor())
    tree.names = SymbolTable()
    tree.names.update(known.names)
    binder = _Binder(tree, errors, api)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            binder.bind()
    except (Exception, SystemExit):  # noqa: BLE001  # mypy would print a failure and end; it only knows less now
        return None
    rejected = frozenset(info.line for info in errors.error_info_map.get(path, ()) if info.severity == "error")
    return Parsed(tree, binder.functions, binder.classes, binder.decorators, rejected)


def full_names_used(tree: MypyFile) -> set[str]:
    """Return the full names that a file uses, as far as they are looked up."""
    collector = NameAndMemberCollector()
    tree.accept(collector)
    names = {one.fullname for one in (*collector.name_exprs, *collector.member_exprs) if isinstance(one, RefExpr)}
    return {name for name in names if name}


class _Binder:
    """Looks up the names in a file that was parsed again, in the tables that mypy has of it."""

    def __init__(self, tree: MypyFile, errors: Errors, api: Any) -> None:
        self._tree = tree
        self._options = api.options
        self._incomplete: set[str] = set()
        reachable = {*api.modules}
        self._analyzer: Any = SemanticAnalyzer(
            api.modules, {}, self._incomplete, errors, api.plugin, dict.fromkeys((tree.fullname,), reachable)
        )
        self.functions: dict[str, FuncDef] = {}
        self.classes: dict[str, ClassDef] = {}
        self.decorators: dict[str, list[Expression]] = {}

    def bind(self) -> None:
        """Look up all names."""
        self._analyzer.patches = []
        self._analyzer.prepare_file(self._tree)  # adds the built-in names, which the cache does not keep
        self._statements(self._tree.defs, None)

    def _statements(self, statements: list[Statement], info: TypeInfo | None) -> None:
        for statement in statements:
            self._statement(statement, info)

    def _statement(self, statement: Any, info: TypeInfo | None) -> None:
        match statement:
            case FuncDef():
                self._function(statement, info)
            case Decorator(func=function, original_decorators=decorators):
                for one in decorators:
                    self._expression(one, statement, info)
                self._function(function, info)
                self.decorators[function.fullname] = decorators
            case OverloadedFuncDef(items=items, impl=impl):
                self._statements([*items, *([impl] if impl is not None and impl not in items else [])], info)
            case ClassDef():
                self._class(statement, info)
            case AssignmentStmt(lvalues=targets, rvalue=value):
                for one in (*targets, value):
                    self._expression(one, statement, info)
            case ExpressionStmt(expr=value):
                self._expression(value, statement, info)
            case _:
                for name in ("expr", "index", "target", "vars", "types", "lvalue", "rvalue", "msg", "subject"):
                    for one in _flat(getattr(statement, name, None)):
                        self._expression(one, statement, info)
                for name in ("body", "handlers", "else_body", "finally_body", "bodies"):
                    for block in _flat(getattr(statement, name, None)):
                        if isinstance(block, Block):
                            self._statements(block.body, info)

    def _class(self, definition: ClassDef, outer: TypeInfo | None) -> None:
        table = self._tree.names if outer is None else outer.names
        symbol = table.get(definition.name)
        info = symbol.node if symbol is not None else None
        if isinstance(info, TypeInfo) and info.module_name == self._tree.fullname:
            definition.info, definition.fullname = info, info.fullname
            info.defn.info = info  # the cache does not keep this either
            self.classes[info.fullname] = definition
            self._statements(definition.defs.body, info)

    def _expression(self, expression: Node, statement: Statement, info: TypeInfo | None) -> None:
        self._prepare(is_final=True)
        with self._analyzer.file_context(self._tree, self._options, info):
            self._analyzer.statement = statement
            self._analyzer.accept(expression)

    def _function(self, function: FuncDef, info: TypeInfo | None) -> None:
        """Look up the names in a function, again and again, as mypy does it."""
        module = self._tree.fullname
        self._incomplete.add(module)
        is_last = False
        for _ in range(_MOST_PASSES):
            if is_last:
                self._incomplete.discard(module)
            self._prepare(is_final=is_last)
            self._analyzer.refresh_partial(
                function, [], is_last, file_node=self._tree, options=self._options, active_type=info
            )
            if is_last:
                break
            is_last = not self._analyzer.progress
        self._incomplete.discard(module)
        self._analyzer.saved_locals.clear()
        self._analyzer.patches = []
        self.functions[function.fullname] = function

    def _prepare(self, *, is_final: bool) -> None:
        analyzer = self._analyzer
        analyzer.global_decls, analyzer.nonlocal_decls, analyzer.imports = [set()], [set()], set()
        analyzer.globals, analyzer.progress, analyzer.deferred = self._tree.names, False, False
        analyzer.incomplete, analyzer._final_iteration = False, is_final


def _flat(part: Any) -> Iterator[Any]:
    if isinstance(part, list | tuple):
        for one in part:
            yield from _flat(one)
    elif part is not None:
        yield part


class Program:
    """The file that mypy checks, while functions of another one are read.

    Attributes:
        tree: It; None while no other file is read.
        names: For a daemon, what the bodies that are read depend on in other files, one set for each body.
    """

    tree: MypyFile | None = None
    names: ClassVar[list[set[str]]] = []


def program_file(api: Any) -> MypyFile:
    """Return the file that mypy checks, also while a body in another file is read."""
    tree: MypyFile = api.tree if Program.tree is None else Program.tree
    return tree


@contextmanager
def in_file(tree: MypyFile, api: Any) -> Iterator[None]:
    """Let another file of the program stand for the one that mypy checks."""
    if tree is api.tree:
        yield
        return
    before, around = Program.tree, api.tree
    Program.tree = program_file(api)
    api.tree, api.globals = tree, tree.names
    try:
        yield
    finally:
        Program.tree, api.tree, api.globals = before, around, around.names


def depend_on_names(names: frozenset[str], api: Any) -> None:
    """Let the daemon check the current function, or all that read the current body, again when a name has changed."""
    program_file(api).alias_deps[api.tscope.current_target()] |= names
    if Program.names:
        Program.names[-1] |= names


def depend_on_modules(modules: frozenset[str], api: Any) -> None:
    """Let mypy check the current file again when one of some modules has another interface."""
    api.module_refs.update(modules)
