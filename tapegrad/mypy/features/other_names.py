"""Messages of mypy about a name of PyTorch or NumPy that tapegrad lacks, with what to use, as at run time.

mypy's text does not say of which module a name is missing, so the line's expressions are read too.
"""

from __future__ import annotations

import ast
import re
from inspect import signature
from typing import TYPE_CHECKING, Final

from tapegrad.errors import other_names
from tapegrad.mypy.features.source_lines import place_of
from tapegrad.mypy.rules.library import op_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.mypy.features.source_lines import Source
    from tapegrad.mypy.mypy_api import ParametersOf, ReportedError

_OF_IMPORT: Final = re.compile(r'Module "(?P<owner>tapegrad[\w.]*)" has no attribute "(?P<name>\w+)".*')
_OF_MODULE: Final = re.compile(r'Module has no attribute "(?P<name>\w+)".*')
_OF_TENSOR: Final = re.compile(
    r'(?:Item )?"(?:Tensor|Param)(?:\[.*\])?"(?: of ".*")? has no attribute "(?P<name>\w+)".*'
)
_OF_CLASS: Final = re.compile(r'"(?P<owner>\w+)(?:\[.*\])?" has no attribute "(?P<name>\w+)".*')
_ARGUMENT: Final = re.compile(
    r'Unexpected keyword argument "(?P<argument>\w+)" for (?:overloaded function )?"(?P<function>\w+)"'
    r'(?: of "(?P<owner>\w+)")?.*'
)
_BY_POSITION: Final = re.compile(r'Too many (?:positional )?arguments for "(?P<function>\w+)"(?P<method> of "Tensor")?')
_NO_OVERLOAD: Final = re.compile(r'No overload variant of "(?P<function>\w+)" matches argument types? .*')
_NO_FUNCTION: Final = '"int" not callable'


def with_own_name(error: ReportedError, parameters: ParametersOf) -> str | None:
    """Return the message with what to use instead; None for names that are neither of PyTorch nor of NumPy.

    Args:
        error: What mypy reports.
        parameters: Returns the parameters of a layer's method, by the names of both; empty for other classes.
    """
    text = error.message
    if match := _OF_TENSOR.fullmatch(text):
        return other_names.missing("Tensor", match["name"]) or None
    if match := _OF_IMPORT.fullmatch(text):
        return _missing([match["owner"]], match["name"])
    if match := _OF_MODULE.fullmatch(text):
        return _missing(_modules_on_line(error, match["name"]), match["name"])
    if match := _OF_CLASS.fullmatch(text):
        kind = _kind_of_class(error, match["owner"], parameters)
        return other_names.missing(kind, match["name"], match["owner"]) or None if kind else None
    if match := _ARGUMENT.fullmatch(text):
        function, owner = match["function"], match["owner"]
        named = _parameters_of_op(function) if owner in (None, "Tensor") else []
        named = named or parameters(owner or function, function if owner else "__init__")
        if owner == "Tensor":
            named = named or parameters(f"tapegrad.tensors.Tensor.{function}", "")
        named = named or [name for one in _modules_of(error, function) for name in parameters(f"{one}.{function}", "")]
        if not named and not parameters(function, "forward"):  # a function of the user, not a layer without arguments
            return None
        return other_names.unexpected(function, [match["argument"]], named) or None
    if match := _BY_POSITION.fullmatch(text):
        modules = ["tapegrad"] if match["method"] else _modules_of(error, match["function"])
        return _unnamed(match["function"], modules, parameters)
    if match := _NO_OVERLOAD.fullmatch(text):
        counts = [len(call.args) for call in _calls_on_line(error, match["function"])]
        return _unnamed(match["function"], _modules_of(error, match["function"]), parameters, max(counts, default=0))
    return _of_size(error) if text == _NO_FUNCTION else None


def _unnamed(function: str, modules: list[str], parameters: ParametersOf, given: int | None = None) -> str | None:
    """Return the message about arguments without a name; None if there are not too many, as far as this is known.

    Args:
        function: An op, a layer or an optimizer, or another function, of which no message is known.
        modules: The modules of tapegrad that it may be of.
        parameters: Returns the parameters of a layer or an optimizer.
        given: The number of arguments without a name; None if mypy has counted them.
    """
    if "tapegrad" in modules and (op := op_named(function)) is not None:
        kinds = other_names.parameters_by_kind(signature(op.function).parameters.values())
    elif modules and (parameters(function, "__init__") or parameters(function, "forward")):
        known, by_position = parameters(function, "__init__"), parameters(function, "__init__", by_position=True)
        kinds = by_position, [name for name in known if name not in by_position]
    else:
        kinds = None
    if (
        kinds is None
        or any(name.startswith("*") for name in kinds[0])
        or (given is not None and given <= len(kinds[0]))
    ):
        return None
    return other_names.unnamed(function, *kinds)


def _of_size(error: ReportedError) -> str | None:
    """Return the message about `x.size(0)`, which is a method in PyTorch; None for another number that is called."""
    for call in _calls_on_line(error, "size"):
        if isinstance(call.func, ast.Attribute) and len(call.args) < 2 and not call.keywords:
            shape = ast.unparse(ast.Attribute(call.func.value, "shape", ast.Load()))
            axis = "".join(f"[{ast.unparse(one)}]" for one in call.args)
            return f"size is an int, the number of elements: use {shape}{axis}"
    return None


def _calls_on_line(error: ReportedError, name: str) -> Iterator[ast.Call]:
    """Yield the calls on the line of an error of a function or a method with this name."""
    source = _source(error)
    for node in source.on_line(error.line) if source is not None else ():
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called == name:
                yield node


def _source(error: ReportedError) -> Source | None:
    return place_of(error.read_source(), error.line, error.owner, error.function).source


def _kind_of_class(error: ReportedError, name: str, parameters: ParametersOf) -> str:
    """Return "Module" or "Optimizer" for a class of the library, or one of the same file with such a base, else ""."""
    if parameters(name, "forward") or name == "Module":
        return "Module"
    if "dx" in parameters(name, "update"):
        return "Optimizer"
    source = _source(error)
    for node in source.of_kind(ast.ClassDef) if source is not None else ():
        if node.name == name:
            bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
            return next((kind for kind in ("Module", "Optimizer") if kind in bases), "")
    return ""


def _missing(modules: list[str], name: str) -> str | None:
    found = [other_names.missing(module, name) for module in modules if module in other_names.OWNERS]
    return next(filter(None, found), None)


def _modules_of(error: ReportedError, function: str) -> list[str]:
    """Return the modules of tapegrad whose function of this name the line of an error calls."""
    source = _source(error)
    imported = [
        node.module
        for node in (source.of_kind(ast.ImportFrom) if source is not None else ())
        if node.module is not None and any(one.name == function and one.asname is None for one in node.names)
    ]
    return [one for one in (*_modules_on_line(error, function), *imported) if one in other_names.OWNERS]


def _parameters_of_op(function: str) -> list[str]:
    op = op_named(function)
    return [] if op is None else [*signature(op.function).parameters]


def _modules_on_line(error: ReportedError, name: str) -> list[str]:
    """Return the modules of which the line of an error asks for a name."""
    source = _source(error)
    if source is None:
        return []
    imported = dict(_imports(source))
    found = []
    for node in source.on_line(error.line):
        if isinstance(node, ast.Attribute) and node.attr == name:
            first, _, rest = ast.unparse(node.value).partition(".")
            found.append(".".join(filter(None, [imported.get(first, first), rest])))
    return found


def _imports(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the name and the full name of each module of tapegrad that a file imports."""
    for plain in source.of_kind(ast.Import):
        yield from ((one.asname, one.name) for one in plain.names if one.asname is not None)
    for node in source.of_kind(ast.ImportFrom):
        if node.module == "tapegrad":
            yield from ((one.asname or one.name, f"tapegrad.{one.name}") for one in node.names)
