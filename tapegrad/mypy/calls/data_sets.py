"""The arrays of scikit-learn's small data sets, such as `load_digits().data`: their sizes never change.

Without stubs, mypy takes all that scikit-learn returns for Any. What is said here holds for the default arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import ARG_NAMED, CallExpr, Import, ImportFrom, MemberExpr, MypyFile, NameExpr, Var

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.names import BINDERS, ScopeCache, bound_once, inside, nodes_in, targets_in

if TYPE_CHECKING:
    from mypy.nodes import Expression, Node

    from tapegrad.mypy.mypy_api import Checker


class LoadedArray(NamedTuple):
    """An array of a data set."""

    sizes: tuple[int, ...]
    dtype: str


def _classified(rows: int, columns: int) -> dict[str, LoadedArray]:
    return {"data": LoadedArray((rows, columns), "float64"), "target": LoadedArray((rows,), "int64")}


DATA_SETS: Final = {
    "load_breast_cancer": _classified(569, 30),
    "load_diabetes": {"data": LoadedArray((442, 10), "float64"), "target": LoadedArray((442,), "float64")},
    "load_digits": {**_classified(1797, 64), "images": LoadedArray((1797, 8, 8), "float64")},
    "load_iris": _classified(150, 4),
    "load_linnerud": {"data": LoadedArray((20, 3), "float64"), "target": LoadedArray((20, 3), "float64")},
    "load_wine": _classified(178, 13),
}
_OTHER_FIELDS: Final = {"DESCR", "feature_names", "filename", "frame", "target_names"}  # that are no arrays of numbers
_ARRAYS: Final = {name for fields in DATA_SETS.values() for name in fields}
_FIELDS: Final = _ARRAYS | _OTHER_FIELDS


def loaded_field(attribute: MemberExpr, api: Checker) -> LoadedArray | None:
    """Return the array in a field of a data set, such as `digits.data` after `digits = load_digits()`."""
    if attribute.name not in _ARRAYS:
        return None
    value: Expression | None = attribute.expr
    if isinstance(value, NameExpr):
        value = _data_set(value, api)
    fields = _fields_of(value, api) if isinstance(value, CallExpr) and not value.args else {}
    return fields.get(attribute.name)


def loaded_pair(call: CallExpr, api: Checker) -> list[LoadedArray]:
    """Return the data and the target that `load_digits(return_X_y=True)` returns; nothing for other calls."""
    is_pair = call.arg_kinds == [ARG_NAMED] and call.arg_names == ["return_X_y"]
    fields = _fields_of(call, api) if is_pair and getattr(call.args[0], "fullname", "") == "builtins.True" else {}
    return [fields["data"], fields["target"]] if fields else []


def _fields_of(call: CallExpr, api: Checker) -> dict[str, LoadedArray]:
    """Return the arrays of the data set that a call loads; nothing for other calls."""
    names = _imported.of(checked_file(api))
    match call.callee:
        case NameExpr(node=Var(is_suppressed_import=True), name=name):
            function = names.get(name, "")
        case MemberExpr(expr=NameExpr(node=Var(is_suppressed_import=True), name=module), name=name):
            function = f"{names.get(module, '')}.{name}"
        case _:
            return {}
    module, _, name = function.rpartition(".")
    return DATA_SETS.get(name, {}) if module == "sklearn.datasets" else {}


def _imported_names(file: Node | None) -> dict[str, str]:
    """Return the full name of each name that a file imports; empty if it imports several by this name."""
    imported: dict[str, str] = {}
    for statement in file.imports if isinstance(file, MypyFile) else ():
        names: list[tuple[str, str]] = []
        if isinstance(statement, ImportFrom):
            names = [(short or name, f"{statement.id}.{name}") for name, short in statement.names]
        elif isinstance(statement, Import):
            names = [(short, module) for module, short in statement.ids if short]
        for name, of in names:
            imported[name] = of if imported.get(name, of) == of else ""
    return imported


_imported = ScopeCache(_imported_names)


def _data_set(name: NameExpr, api: Checker) -> Expression | None:
    """Return what a variable is bound to, if the file only reads fields of it; None for other variables."""
    variable, file = name.node, checked_file(api)
    if not isinstance(variable, Var) or variable in _changed.of(file):
        return None
    is_of_file = variable.fullname in (variable.name, f"{file.fullname}.{variable.name}")
    return bound_once(variable, api)[0] if is_of_file else None


def _changed_in(file: Node | None) -> set[Node | None]:
    """Return the variables of a file of which it does not only read the fields of a data set."""
    changed: set[Node | None] = set()
    read = set()
    for node in nodes_in.of(file):
        if isinstance(node, MemberExpr) and node.name in _FIELDS:
            read.add(node.expr)
        elif isinstance(node, NameExpr) and isinstance(node.node, Var):
            changed.add(node)
        bound = getattr(node, BINDERS.get(type(node).__name__, "lvalues"), None)
        attributes = [one for one in targets_in(bound) if not isinstance(one, NameExpr)]
        changed |= {one.node for target in attributes for one in inside(target) if isinstance(one, NameExpr)}
    return {one.node if isinstance(one, NameExpr) else one for one in changed - read}


_changed = ScopeCache(_changed_in)
