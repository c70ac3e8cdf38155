"""Caching of name resolution in the plugin."""

from __future__ import annotations

from mypy.nodes import Block, FuncDef, MypyFile, PassStmt

from tapegrad.mypy.scopes.names import ScopeCache


def test_an_edited_function_is_read_again_by_a_daemon_which_keeps_its_node() -> None:
    function = FuncDef("f", [], Block([PassStmt()]))
    scopes = ScopeCache(lambda scope: len(scope.body.body) if isinstance(scope, FuncDef) else 0)

    before = scopes.of(function), scopes.of(function)
    function.body = Block([PassStmt(), PassStmt()])

    assert (*before, scopes.of(function)) == (1, 1, 2)


def test_an_edited_file_is_read_again_by_a_daemon_which_keeps_its_node() -> None:
    file = MypyFile([PassStmt()], [])
    scopes = ScopeCache(lambda scope: len(scope.defs) if isinstance(scope, MypyFile) else 0)

    before = scopes.of(file)
    file.defs = [PassStmt(), PassStmt()]

    assert (before, scopes.of(file)) == (1, 2)
