"""A loader that guards each annotated function of a module, and works together with other source loaders."""

from __future__ import annotations

import ast
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    from _typeshed import ReadableBuffer, StrPath

_GUARD: Final = "__tapegrad_guard__"
_CACHE_TAG: Final = "tapegrad1"  # increase with each change of the inserted code


def with_guard(loader: Any) -> Any:
    """Add a guard to a loader of source files, and return any other loader unchanged."""
    if isinstance(loader, SourceFileLoader) and not is_guarding(loader):
        loader.__class__ = _guarding(type(loader))
    return loader


def is_guarding(loader: object) -> bool:
    """Return whether a loader guards the modules that it loads."""
    return isinstance(loader, _Guarding)


class _Guarding(SourceFileLoader):
    """A mixin that guards functions just before another loader compiles, so the guard is the innermost decorator."""

    @override
    def source_to_code(self, data: ReadableBuffer | str | ast.AST, path: StrPath, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]  # typeshed leaves out `_optimize`
        code: CodeType = _with_globals(super().source_to_code, compile=_compile_guarded)(
            data, path, _optimize=_optimize
        )
        return code

    @override
    def get_code(self, fullname: str) -> CodeType | None:
        if not _names_cache_files(super().get_code.__func__):  # type: ignore[attr-defined]  # of a method
            return super().get_code(fullname)  # which calls `_GuardingLast`
        return _code_cached_apart(super().get_code, fullname)


class _GuardingLast(SourceFileLoader):
    """A mixin after a loader that leaves both to its base class: beartype's, for packages that it does not check."""

    @override
    def source_to_code(self, data: ReadableBuffer | str | ast.AST, path: StrPath, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]  # as above
        code: CodeType = _with_globals(super().source_to_code, compile=_compile_guarded)(
            data, path, _optimize=_optimize
        )
        return code

    @override
    def get_code(self, fullname: str) -> CodeType | None:
        return _code_cached_apart(super().get_code, fullname)


@cache
def _guarding(kind: type[SourceFileLoader]) -> type[SourceFileLoader]:
    bases = (_Guarding, kind) if _names_cache_files(kind.get_code) else (_Guarding, kind, _GuardingLast)
    return type(f"Guarding{kind.__name__.lstrip('_')}", bases, {})


def _names_cache_files(get_code: Any) -> bool:
    """Return whether a function names the files of the cache itself, and does not leave it to its base class."""
    return "cache_from_source" in get_code.__globals__


def _code_cached_apart(get_code: Any, fullname: str) -> CodeType | None:
    """Return the code of a module, from files of the cache that only guarded modules have."""
    plain = get_code.__func__.__globals__["cache_from_source"]
    code: CodeType | None = _with_globals(get_code, cache_from_source=partial(_cache_from_source, plain))(fullname)
    return code


def _with_globals(method: Any, **names: Any) -> Callable[..., Any]:
    """Return a method with some of its global names replaced, the only way to change what another hook calls."""
    function = method.__func__
    copy = FunctionType(
        function.__code__, function.__globals__ | names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return MethodType(copy, method.__self__)


def _cache_from_source(plain: Callable[..., str], path: str) -> str:
    return f"{plain(path).removesuffix('.pyc')}.{_CACHE_TAG}.pyc"


def _compile_guarded(source: Any, filename: Any, mode: str, flags: int = 0, *, optimize: int = -1, **_: bool) -> Any:
    """Compile like `compile`, with a guard on each annotated function unless only the syntax tree is wanted."""
    compiled: Any = partial(compile, filename=filename, mode=mode, dont_inherit=True, optimize=optimize)
    if flags & ast.PyCF_ONLY_AST:
        return compiled(source, flags=flags)
    tree: Any = source if isinstance(source, ast.AST) else compiled(source, flags=flags | ast.PyCF_ONLY_AST)
    _put_guards(tree)
    return compiled(tree, flags=flags)


def _put_guards(module: ast.Module) -> None:
    for node in _statements(module):
        if isinstance(node, ast.ClassDef):
            node.decorator_list.insert(0, _decorator("guard_class", node))  # above @dataclass, which adds an __init__
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_annotated(node):
            node.decorator_list.append(_decorator("guard_function", node))
    body = module.body
    first = next((position for position, node in enumerate(body) if not _must_come_first(node)), len(body))
    start = ast.ImportFrom("tapegrad.guard", [ast.alias("_tensors", _GUARD)], 0)
    module.body.insert(first, ast.fix_missing_locations(start))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements, without walking the expressions."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, block, ()):
            yield statement
            yield from _statements(statement)


def _decorator(name: str, node: ast.AST) -> ast.expr:
    guard = ast.copy_location(ast.Name(_GUARD, ast.Load()), node)
    return ast.copy_location(ast.Attribute(guard, name, ast.Load()), node)


def _is_annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return function.returns is not None or any(
        parameter is not None and parameter.annotation for parameter in parameters
    )


def _must_come_first(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring or an import from `__future__`."""
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
