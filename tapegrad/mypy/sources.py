"""Bodies and constants in other files of the program, which mypy's cache does not keep: the files are parsed again.

The names in its functions are looked up in the tables that mypy has of the file, from its cache or not, so that a run
with a cache reads what a run without one reads. A hash of the text stands among the names of the file: when an edit
changes a body, mypy thus finds that the file has another interface, and checks again the files that depend on it.

Of constants, only the lines that mention them are hashed.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ClassDef,
    Decorator,
    DictExpr,
    FuncDef,
    Import,
    ImportAll,
    ImportFrom,
    IndexExpr,
    IntExpr,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    OpExpr,
    RefExpr,
    StrExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
)
from mypy.plugin import Plugin

from tapegrad.mypy.mypy_files import (
    all_modules,
    analyzed_file,
    analyzer_of,
    depend_on_modules,
    depend_on_names,
    file_of_module,
    full_names_used,
    has_hash_of,
    is_fine_grained,
    owner_of_files,
    parse_again,
    program_file,
    store_hash,
    store_hash_in,
    text_of_file,
)

if TYPE_CHECKING:
    from mypy.nodes import Expression, Statement
    from mypy.plugin import ClassDefContext

_NAME: Final = "tapegrad@text"  # a daemon that analyzes a file again removes all names without an @
_CONSTANTS: Final = "tapegrad@constants"
_OPTIONS: Final = "# mypy:"  # a comment that sets options for the whole file
_UNCHANGING: Final = ("builtins.", "numpy.", "tapegrad.", "typing.")
# Decorators that leave a method as it is.
_KEEPING: Final = {
    *("builtins.classmethod", "builtins.staticmethod"),
    *("tapegrad.guard._wrapper.guarded", "typing.override", "typing_extensions.override"),
}
_CAN_READ: Final = hasattr(Plugin, "get_additional_indirect_deps")  # from mypy 2.4 on


def mark(analyzer: Any) -> None:
    """Store a hash of the text of the file that mypy analyzes, if bodies in it may be read for calls elsewhere."""
    tree = analyzed_file(analyzer)
    if _NAME not in tree.names and _is_of_program(tree):
        text = text_of_file(tree.path, analyzer)
        if text is not None:
            store_hash(analyzer, _NAME, text)


def mark_around(api: Any) -> None:
    """Store the hash of the file with an annotation that mypy analyzes."""
    analyzer = analyzer_of(api)
    if analyzer is not None:
        mark(analyzer)


def mark_class(ctx: ClassDefContext) -> None:
    """Store a hash of the text of a dataclass or named tuple, whose default values may be read for calls elsewhere."""
    tree = analyzed_file(ctx.api)
    text = text_of_file(tree.path, ctx.api) if _is_of_program(tree) else None
    if text is not None and ctx.cls.info.fullname == f"{tree.fullname}.{ctx.cls.name}":
        store_hash(ctx.api, f"{ctx.cls.name}@text", _text_of_class(ctx.cls, text))


def mark_constants(tree: MypyFile, run: Any) -> None:
    """Store a hash of what a file that mypy has analyzed says of its constants, which may be read elsewhere.

    Args:
        tree: The file.
        run: What has the `errors` of mypy's run, by which the text is read.
    """
    if _CONSTANTS in tree.names or not _is_of_program(tree) or not (found := _constants(tree.defs)):
        return
    text = text_of_file(tree.path, run) if run.errors is not None else None
    if text is None:
        return
    store_hash_in(tree, _CONSTANTS, _text_of_constants(found, text))
    functions = {one.name for one in tree.defs if isinstance(one, FuncDef)}
    if any(isinstance(one.rvalue, CallExpr) and getattr(one.rvalue.callee, "name", "") in functions for one in found):
        store_hash_in(tree, _NAME, text)  # the body says what the constant is


def _constants(statements: list[Statement]) -> list[AssignmentStmt]:
    """Return the assignments of a module that may be to sizes, to objects with sizes, or to texts with some."""
    return [one for one in statements if isinstance(one, AssignmentStmt) and _may_be_constant(one)]


def _may_be_constant(statement: AssignmentStmt) -> bool:
    value = statement.rvalue
    kinds = IntExpr, StrExpr, OpExpr, DictExpr, ListExpr, TupleExpr, CallExpr, NameExpr, MemberExpr
    is_value = isinstance(value, kinds)
    is_item = isinstance(value, IndexExpr) and isinstance(value.index, IntExpr | StrExpr | UnaryExpr)
    is_other = isinstance(value, CallExpr) and getattr(value.callee, "name", "") in _WITHOUT_SIZES
    return (is_value or is_item) and not is_other and any(isinstance(target, NameExpr) for target in statement.lvalues)


_WITHOUT_SIZES: Final = {"NewType", "ParamSpec", "TypeAliasType", "TypeVar", "TypeVarTuple", "getLogger"}


def _text_of_constants(statements: list[AssignmentStmt], text: str) -> str:
    """Return the assignments to constants, and each line that mentions one and thus may change it."""
    names = {target.name for one in statements for target in one.lvalues if isinstance(target, NameExpr)}
    mentions = re.compile(rf"\b(?:{'|'.join(sorted(names))}|globals|exec)\b|import \*")
    assigned = {line for one in statements for line in range(one.line, (one.end_line or one.line) + 1)}
    lines = enumerate(text.split("\n"), start=1)
    return "\n".join(line for number, line in lines if number in assigned or mentions.search(line))


_LIBRARIES: Final = (
    *("abc.", "builtins.", "collections.", "contextlib.", "enum.", "functools.", "types."),
    *("tapegrad.", "typing.", "typing_extensions."),
)


def is_class_of_library(info: TypeInfo) -> bool:
    """Return whether a class is one of Python or of tapegrad, whose methods no edit of the program changes."""
    return info.fullname.startswith(_LIBRARIES)


def _is_of_program(tree: MypyFile) -> bool:
    is_library = tree.fullname.startswith("tapegrad.") or "site-packages" in tree.path
    return _CAN_READ and not tree.is_stub and not is_library


def _text_of_class(definition: ClassDef, text: str) -> str:
    return "\n".join(text.split("\n")[definition.line - 1 : definition.end_line])


class Source(NamedTuple):
    """A file that was parsed again.

    Attributes:
        tree: Its statements. Its names are those of the file, as are its classes.
        text: Its text.
        functions: Those that are no part of another function, by full name.
        classes: The definitions of classes, likewise.
        decorators: Those of the functions that have any, by the full name of the function.
        rejected: The lines in which mypy finds no name.
        modules: Those that the file imports.
        names: What it uses of them; for a daemon only.
        constants: The values of its constants.
        text_of_constants: What is hashed of the text for these.
    """

    tree: MypyFile
    text: str
    functions: dict[str, FuncDef]
    classes: dict[str, ClassDef]
    decorators: dict[str, list[Expression]]
    rejected: frozenset[int]
    modules: frozenset[str]
    names: frozenset[str]
    constants: frozenset[Expression]
    text_of_constants: str


_sources: dict[str, Source | None] = {}
_unread: dict[str, str] = {}
_read_for: list[object] = [None]  # the modules for which they were read; under a daemon, the checker


def is_marked(module: str, api: Any) -> bool:
    """Return whether bodies of another file of the program may be read."""
    tree = file_of_module(module, api)
    return tree is not None and _NAME in tree.names


def source_of(module: str, api: Any) -> Source | None:
    """Return another file of the program with its statements, which must be marked; None if they cannot be read."""
    current = owner_of_files(api)
    if _read_for[0] is not current:
        _sources.clear()
        _unread.clear()
        _read_for[0] = current
    if module not in _sources:
        _sources[module] = _read(module, api)
    source = _sources[module]
    if source is not None:
        _depend_on(module, source, api)
    return source


def why_unread(module: str) -> str:
    """Return why a file could not be read, as a clause."""
    return _unread.get(module, f"the text of {module} cannot be read")


def _read(module: str, api: Any) -> Source | None:
    tree = file_of_module(module, api)
    if tree is None:
        return None
    entry: Any = sys.modules["tapegrad.mypy"]  # which no part of the plugin imports, because it imports all of them
    path: str = entry.PATHS.get(module, tree.path) if tree.is_cache_skeleton else tree.path
    text = text_of_file(path, api)
    if text is None:
        return None
    if _OPTIONS in text:
        _unread[module] = f"{module} sets options of mypy in a comment"
        return None
    if _NAME in tree.names and not has_hash_of(tree, _NAME, text):
        _unread[module] = f"{module} has changed since mypy has read it"
        return None
    parsed = parse_again(text, path, tree, api)
    if parsed is None:
        _unread[module] = f"mypy cannot analyze {module} alone"
        return None
    for name, decorators in parsed.decorators.items():
        parsed.functions[name].is_decorated = are_changing(decorators)
    modules = frozenset(_imported(parsed.tree) & all_modules(api)) | parsed.tree.module_refs
    names = _names_used(parsed.tree) if is_fine_grained(api) else frozenset[str]()
    found = _constants(parsed.tree.defs)
    values = frozenset(one.rvalue for one in found)
    of_constants = _text_of_constants(found, text) if found else ""
    return Source(
        parsed.tree,
        text,
        parsed.functions,
        parsed.classes,
        parsed.decorators,
        parsed.rejected,
        modules,
        names,
        values,
        of_constants,
    )


def _names_used(tree: MypyFile) -> frozenset[str]:
    return frozenset(name for name in full_names_used(tree) if "." in name and not name.startswith(_UNCHANGING))


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


def file_of(module: str, api: Any) -> MypyFile | None:
    """Return a file of the program with its statements; None if they cannot be read."""
    program = program_file(api)
    if module == program.fullname:
        return program
    source = source_of(module, api) if is_marked(module, api) else None
    return None if source is None else source.tree


class Constants(NamedTuple):
    """The constants of another file of the program.

    Attributes:
        file: The file with its statements.
        values: The values that are hashed; None if the whole file is.
    """

    file: MypyFile
    values: frozenset[Expression] | None


def constants_of(module: str, api: Any) -> Constants | None:
    """Return the constants of another file of the program; None if they cannot be read."""
    tree = file_of_module(module, api)
    if tree is None or not _is_of_program(tree):
        return None
    depend_on_modules(frozenset({module}), api)
    if is_fine_grained(api):
        depend_on_names(frozenset({f"{module}.{_CONSTANTS}"}), api)
    if _CONSTANTS not in tree.names:
        mark_constants(tree, api)  # one of a cycle of imports that is being checked
    is_whole = _NAME in tree.names
    source = source_of(module, api) if is_whole or _CONSTANTS in tree.names else None
    if source is None or (not is_whole and not has_hash_of(tree, _CONSTANTS, source.text_of_constants)):
        return None
    return Constants(source.tree, None if is_whole else source.constants)


def written_function(function: FuncDef, api: Any) -> FuncDef | None:
    """Return a function with its statements, which mypy's cache does not keep; None if they cannot be read."""
    module = module_of(function)
    if module == program_file(api).fullname:
        return function
    source = source_of(module, api) if is_marked(module, api) else None
    return None if source is None else source.functions.get(function.fullname)


def decorators_of(function: FuncDef, api: Any) -> list[Expression] | None:
    """Return the decorators of a function of the program; None if they are not known.

    Args:
        function: The function, with its statements.
        api: mypy's checker; without it, only those of methods of the file that mypy checks are known.
    """
    module = module_of(function)
    if api is not None and module != program_file(api).fullname:
        source = source_of(module, api) if is_marked(module, api) else None
        return None if source is None else source.decorators.get(function.fullname)
    table = function.info.names if function.info else {} if api is None else program_file(api).names
    symbol = table.get(function.name)
    node = symbol.node if symbol is not None else None
    return node.original_decorators if isinstance(node, Decorator) and node.func is function else None


def are_changing(decorators: list[Expression]) -> bool:
    """Return whether one of some decorators is none of those that leave every function as it is."""
    return any(not isinstance(one, RefExpr) or one.fullname not in _KEEPING for one in decorators)


class DataClass(NamedTuple):
    """The definition of a dataclass or a named tuple, and its file."""

    definition: ClassDef
    file: MypyFile


def written_data_class(info: TypeInfo, api: Any) -> DataClass | None:
    """Return the definition of a dataclass or a named tuple with its statements; None if they cannot be read."""
    module, program = info.module_name, program_file(api)
    if module == program.fullname:
        return DataClass(info.defn, program)
    tree, name = file_of_module(module, api), f"{info.name}@text"
    source = source_of(module, api) if tree is not None and name in tree.names else None
    definition = source.classes.get(info.fullname) if source is not None else None
    if tree is None or source is None or definition is None:
        return None
    if not has_hash_of(tree, name, _text_of_class(definition, source.text)):
        return None
    if is_fine_grained(api):
        depend_on_names(frozenset({f"{module}.{name}"}), api)
    return DataClass(definition, source.tree)


def module_of(function: FuncDef) -> str:
    """Return the name of the module that defines a function outside of other functions."""
    return function.info.module_name if function.info else function.fullname.rpartition(".")[0]


def _depend_on(module: str, source: Source, api: Any) -> None:
    """Let the file that mypy checks depend on the text of another one, and on what that one imports."""
    depend_on_modules(frozenset({module}) | source.modules, api)
    if is_fine_grained(api):
        depend_on_names(frozenset({f"{module}.{_NAME}"}) | source.names, api)
