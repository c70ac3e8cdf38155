"""Bodies in other files of the program, which mypy's cache does not keep: such a file is parsed again for them.

The names in its functions are looked up in the tables that mypy has of the file, from its cache or not, so that a run
with a cache reads what a run without one reads. A hash of the text stands among the names of the file: when an edit
changes a body, mypy thus finds that the file has another interface, and checks again the files that depend on it.
"""

from __future__ import annotations

import sys
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
    Import,
    ImportAll,
    ImportFrom,
    MypyFile,
    OverloadedFuncDef,
    RefExpr,
    SymbolTable,
    SymbolTableNode,
    TypeInfo,
    Var,
)
from mypy.parse import parse
from mypy.plugin import Plugin
from mypy.renaming import LimitedVariableRenameVisitor, VariableRenameVisitor
from mypy.semanal import SemanticAnalyzer
from mypy.semanal_pass1 import SemanticAnalyzerPreAnalysis
from mypy.traverser import NameAndMemberCollector
from mypy.types import LiteralType, get_proper_type
from mypy.util import hash_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Node, Statement
    from mypy.plugin import ClassDefContext

_NAME: Final = "tapegrad@text"  # a daemon that analyzes a file again removes all names without an @
_OPTIONS: Final = "# mypy:"  # a comment that sets options for the whole file
_UNCHANGING: Final = ("builtins.", "numpy.", "tapegrad.", "typing.")
_MOST_PASSES: Final = 10  # over the names of one function; most need two
_CAN_READ: Final = hasattr(Plugin, "get_additional_indirect_deps")  # from mypy 2.4 on


def mark(analyzer: Any) -> None:
    """Store a hash of the text of the file that mypy analyzes, if bodies in it may be read for calls elsewhere."""
    tree: MypyFile = analyzer.cur_mod_node
    if _NAME not in tree.names and _is_of_program(tree):
        text = _text(analyzer.errors, tree.path)
        if text is not None:
            _store(analyzer, _NAME, text)


def mark_around(api: Any) -> None:
    """Store the hash of the file with an annotation that mypy analyzes."""
    if hasattr(api.api, "cur_mod_node"):
        mark(api.api)


def mark_class(ctx: ClassDefContext) -> None:
    """Store a hash of the text of a dataclass or named tuple, whose default values may be read for calls elsewhere."""
    analyzer: Any = ctx.api
    tree: MypyFile = analyzer.cur_mod_node
    text = _text(analyzer.errors, tree.path) if _is_of_program(tree) else None
    if text is not None and ctx.cls.info.fullname == f"{tree.fullname}.{ctx.cls.name}":
        _store(analyzer, f"{ctx.cls.name}@text", _text_of_class(ctx.cls, text))


def _store(analyzer: Any, name: str, text: str) -> None:
    tree: MypyFile = analyzer.cur_mod_node
    variable = Var(name, LiteralType(_hash(text), analyzer.named_type("builtins.str")))
    variable._fullname = f"{tree.fullname}.{name}"
    tree.names[name] = SymbolTableNode(GDEF, variable, module_public=False, module_hidden=True)


def _is_of_program(tree: MypyFile) -> bool:
    is_library = tree.fullname.startswith("tapegrad.") or "site-packages" in tree.path
    return _CAN_READ and not tree.is_stub and not is_library


def _text_of_class(definition: ClassDef, text: str) -> str:
    return "\n".join(text.split("\n")[definition.line - 1 : definition.end_line])


def _text(errors: Errors, path: str) -> str | None:
    """Return the text of a file as mypy reads it; an editor may hold another one than the disk."""
    with suppress(OSError, UnicodeError):
        lines = errors.read_source(path) if errors.read_source is not None else None
        return Path(path).read_text("utf-8") if lines is None else "\n".join([*lines, ""])
    return None


def _hash(text: str) -> str:
    return hash_digest(text.encode(errors="surrogatepass"))


class Source(NamedTuple):
    """A file that was parsed again.

    Attributes:
        tree: Its statements. Its names are those of the file, as are its classes.
        text: Its text.
        functions: Those that are no part of another function, by full name.
        classes: The definitions of classes, likewise.
        rejected: The lines in which mypy finds no name.
        modules: Those that the file imports.
        names: What it uses of them; for a daemon only.
    """

    tree: MypyFile
    text: str
    functions: dict[str, FuncDef]
    classes: dict[str, ClassDef]
    rejected: frozenset[int]
    modules: frozenset[str]
    names: frozenset[str]


_sources: dict[str, Source | None] = {}
_read_for: list[object] = [None]  # the modules for which they were read; under a daemon, the checker


def is_marked(module: str, api: Any) -> bool:
    """Return whether bodies of another file of the program may be read."""
    tree = api.modules.get(module)
    return isinstance(tree, MypyFile) and _NAME in tree.names


def source_of(module: str, api: Any) -> Source | None:
    """Return another file of the program with its statements, which must be marked; None if they cannot be read."""
    current = api if api.options.fine_grained_incremental else api.modules
    if _read_for[0] is not current:
        _sources.clear()
        _read_for[0] = current
    if module not in _sources:
        _sources[module] = _read(module, api)
    source = _sources[module]
    if source is not None:
        _depend_on(module, source, api)
    return source


def _read(module: str, api: Any) -> Source | None:
    tree: MypyFile = api.modules[module]
    entry: Any = sys.modules["tapegrad.mypy"]  # which no part of the plugin imports, because it imports all of them
    path: str = entry.PATHS.get(module, tree.path) if tree.is_cache_skeleton else tree.path
    text = _text(api.errors, path)
    if text is None or _OPTIONS in text or (is_marked(module, api) and not _is_same(tree, _NAME, text)):
        return None
    errors = Errors(api.options)
    errors.set_file(path, module, options=api.options)
    parsed = parse(text, path, module, errors, options=api.options, eager=True)
    if errors.is_errors():
        return None
    parsed._fullname, parsed.path = module, path
    if not api.options.native_parser:
        SemanticAnalyzerPreAnalysis().visit_file(parsed, path, module, api.options)
    if not api.options.allow_redefinition:
        parsed.accept(LimitedVariableRenameVisitor())
    if api.options.allow_redefinition_old:
        parsed.accept(VariableRenameVisitor())
    parsed.names = SymbolTable()
    parsed.names.update(tree.names)
    binder = _Binder(parsed, errors, api)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            binder.bind()
    except (Exception, SystemExit):  # noqa: BLE001  # mypy would print a failure and end; it only knows less now
        return None
    modules = frozenset(_imported(parsed) & api.modules.keys()) | parsed.module_refs
    rejected = frozenset(info.line for info in errors.error_info_map.get(path, ()) if info.severity == "error")
    names = _names_used(parsed) if _is_fine_grained(api) else frozenset[str]()
    return Source(parsed, text, binder.functions, binder.classes, rejected, modules, names)


def _is_same(tree: MypyFile, name: str, text: str) -> bool:
    """Return whether a text is the one that mypy has analyzed."""
    symbol = tree.names.get(name)
    variable = symbol.node if symbol is not None else None
    known = get_proper_type(variable.type) if isinstance(variable, Var) else None
    return isinstance(known, LiteralType) and known.value == _hash(text)


def _is_fine_grained(api: Any) -> bool:
    return bool(api.options.fine_grained_incremental or api.options.cache_fine_grained)


def _names_used(tree: MypyFile) -> frozenset[str]:
    collector = NameAndMemberCollector()
    tree.accept(collector)
    names = {one.fullname for one in (*collector.name_exprs, *collector.member_exprs) if isinstance(one, RefExpr)}
    return frozenset(name for name in names if name and "." in name and not name.startswith(_UNCHANGING))


def _imported(tree: MypyFile) -> set[str]:
    """Return the modules that a file may import: `from a import b` may import `a.b`."""
    found: set[str] = set()
    for one in tree.imports:
        if isinstance(one, Import):
            found |= {name for name, _ in one.ids}
        if not isinstance(one, ImportFrom | ImportAll):
            continue
        package = tree.fullname.split(".")
        kept = len(package) - one.relative + (1 if tree.is_package_init_file() else 0)
        base = ".".join([*(package[:kept] if one.relative else []), *([one.id] if one.id else [])])
        found.add(base)
        if isinstance(one, ImportFrom):
            found |= {f"{base}.{name}" for name, _ in one.names}
    return found


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
            case Decorator(func=function):
                self._function(function, info)
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


def file_of(module: str, api: Any) -> MypyFile | None:
    """Return a file of the program with its statements; None if they cannot be read."""
    program = program_file(api)
    if module == program.fullname:
        return program
    source = source_of(module, api) if is_marked(module, api) else None
    return None if source is None else source.tree


def written_function(function: FuncDef, api: Any) -> FuncDef | None:
    """Return a function with its statements, which mypy's cache does not keep; None if they cannot be read."""
    module = module_of(function)
    if module == program_file(api).fullname:
        return function
    source = source_of(module, api) if is_marked(module, api) else None
    return None if source is None else source.functions.get(function.fullname)


class DataClass(NamedTuple):
    """The definition of a dataclass or a named tuple, and its file."""

    definition: ClassDef
    file: MypyFile


def written_data_class(info: TypeInfo, api: Any) -> DataClass | None:
    """Return the definition of a dataclass or a named tuple with its statements; None if they cannot be read."""
    module, program = info.module_name, program_file(api)
    if module == program.fullname:
        return DataClass(info.defn, program)
    tree, name = api.modules.get(module), f"{info.name}@text"
    source = source_of(module, api) if isinstance(tree, MypyFile) and name in tree.names else None
    definition = source.classes.get(info.fullname) if source is not None else None
    if source is None or definition is None or not _is_same(tree, name, _text_of_class(definition, source.text)):
        return None
    if _is_fine_grained(api):
        depend_on_names(frozenset({f"{module}.{name}"}), api)
    return DataClass(definition, source.tree)


def module_of(function: FuncDef) -> str:
    """Return the name of the module that defines a function outside of other functions."""
    return function.info.module_name if function.info else function.fullname.rpartition(".")[0]


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


def _depend_on(module: str, source: Source, api: Any) -> None:
    """Let the file that mypy checks depend on the text of another one, and on what that one imports."""
    api.module_refs.update({module} | source.modules)
    if _is_fine_grained(api):
        depend_on_names(frozenset({f"{module}.{_NAME}"}) | source.names, api)
