"""An `id` is a key only while its object is held: the id of an object that is gone is soon that of another one."""

from __future__ import annotations

import ast
import gc
from pathlib import Path
from typing import Final

import tapegrad
from tapegrad.autograd.identity import Same

ROOT: Final = Path(tapegrad.__file__).parent

# Functions that use ids, and why they may; every other one uses `Same`, or the object itself.
ALLOWED: Final = {
    "autograd/identity.py": {"Same.__hash__": "the key holds the object"},
    "checkpoint.py": {
        "_saves_much": "the caller holds the objects",
        "_saved_values": "the closure holds the objects",
    },
    "guard/_names.py": {"name_of": "the guarded function holds its type variables"},
    "io/checkpoint.py": {"_part_of_torch": "the module holds its parameters"},
    "jax/access.py": {"Access.add": "the entry has the object", "Access.check": "the entry has the object"},
    "jax/arguments.py": {
        "ArgumentTree._state": "the entry has the object",
        "ArgumentTree._optimizer": "the entry has the object",
        "ArgumentTree._visit": "the entry has the object",
    },
    "jax/compiled.py": {"_named": "text to show"},
    "jax/pytrees.py": {"_copied_with": "the memo of deepcopy; the caller holds the objects"},
    "mypy/mypy_api.py": {"_show_first": "mypy's list holds the errors"},
    "mypy/scopes/entries.py": {
        "_saved_with": "the entry has the object",
        "with_entries": "the entry has the object",
    },
    "mypy/ownership/state.py": {"State.__hash__": "the hash of the object itself"},
    "nn/module.py": {
        "Module._unfrozen": "the entry has the object",
        "_gathered": "the stack has the object",
    },
    "nn/precision.py": {"cast": "the memo of deepcopy; the model holds the objects"},
    "nn/quantized.py": {"quantized": "the memo of deepcopy; the model holds the objects"},
    "sizes/facts.py": {"_Facts.and_": "the entry has the object"},
    "slot_tape/checks.py": {"check_buffers": "the caller holds the buffers"},
}


def functions_with_ids(tree: ast.AST, prefix: str = "") -> set[str]:
    """Return the functions that call `id`."""
    found = set[str]()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found |= functions_with_ids(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id":
            found |= {prefix[:-1]} | functions_with_ids(node, prefix)
        else:
            found |= functions_with_ids(node, prefix)
    return found


def test_ids_are_keys_only_where_the_objects_are_held() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): functions_with_ids(ast.parse(path.read_text("utf-8")))
        for path in sorted(ROOT.rglob("*.py"))
    }

    assert {path: names for path, names in found.items() if names} == {path: {*one} for path, one in ALLOWED.items()}


def test_a_key_holds_its_object() -> None:
    class Thing:
        pass

    keys = {Same(Thing()) for _ in range(1000)}
    gc.collect()

    assert len(keys) == 1000
    assert Same(Thing()) not in keys
