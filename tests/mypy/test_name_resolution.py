"""Caching of name resolution in the plugin."""

from __future__ import annotations

from mypy.nodes import Block, FuncDef, MypyFile, PassStmt

from tapegrad.mypy.scopes.names import ScopeCache


def test_the_daemon_reads_an_edited_function_again() -> None:
    function = FuncDef("f", [], Block([PassStmt()]))
    scopes = ScopeCache(lambda scope: len(scope.body.body) if isinstance(scope, FuncDef) else 0)

    before = scopes.of(function), scopes.of(function)
    function.body = Block([PassStmt(), PassStmt()])

    assert (*before, scopes.of(function)) == (1, 1, 2)


def test_the_daemon_reads_an_edited_file_again() -> None:
    file = MypyFile([PassStmt()], [])
    scopes = ScopeCache(lambda scope: len(scope.defs) if isinstance(scope, MypyFile) else 0)

    before = scopes.of(file)
    file.defs = [PassStmt(), PassStmt()]

    assert (before, scopes.of(file)) == (1, 2)
