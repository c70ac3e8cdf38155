"""What the language server offers: diagnostics, hover, inlay hints and code actions, and nothing else.

It runs beside the language server of Python that the editor has, such as pyright or Pylance, which offers the rest.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from typing_extensions import override

import tapegrad
from tapegrad.lsp.actions import actions
from tapegrad.lsp.positions import Positions
from tapegrad.lsp.session import Document, Editor, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.lsp.actions import Action
    from tapegrad.lsp.results import Finding, Results

SOURCE: Final = "tapegrad"
_PROGRESS: Final = "tapegrad-mypy"
# Neovim 0.11 loses hints that arrive while it draws the lines for another reason, such as diagnostics.
_REFRESH_AFTER: Final = 0.1  # seconds after the diagnostics


class TapegradServer(LanguageServer):
    """A language server for one editor and one folder."""

    def __init__(self, *, all_errors: bool) -> None:
        super().__init__(SOURCE, tapegrad.__version__)
        self.all_errors = all_errors
        self.session: Session | None = None
        self.uris: dict[str, str] = {}

    def open_session(self) -> None:
        """Start to check, in the folder that the editor has opened."""
        root = self.workspace.root_path
        folder = Path(os.path.realpath(root)) if root else Path.cwd()
        self.session = Session(folder, _EditorInLoop(self, asyncio.get_running_loop()), all_errors=self.all_errors)
        self.session.start()

    def close_session(self) -> None:
        """Stop to check."""
        if self.session is not None:
            self.session.close()

    def take_over(self, uri: str) -> None:
        """Take over the current text of a file; texts that are no files on a disk are left alone."""
        path = _path(uri)
        if path is not None and self.session is not None:
            document = self.workspace.get_text_document(uri)
            self.uris[path] = uri
            self.session.change(path, Document(document.source, document.version))

    def results(self, uri: str) -> Results | None:
        """Return what is known of a file."""
        path = _path(uri)
        return self.session.results.get(path) if self.session is not None and path is not None else None

    def positions(self, uri: str) -> Positions:
        """Return what converts positions in the current text of a file."""
        encoding = lsp.PositionEncodingKind(self.workspace.position_encoding or "utf-16")
        return Positions(self.workspace.get_text_document(uri).source, encoding.value)


class _EditorInLoop(Editor):
    """Sends messages to the editor from the thread of the session."""

    def __init__(self, server: TapegradServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._is_working = False

    def _send(self, send: Callable[[], object]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(send)

    @override
    def publish(self, path: str, results: Results, version: int | None) -> None:
        self._send(partial(_publish, self._server, path, results, version))

    @override
    def show(self, message: str) -> None:
        shown = lsp.ShowMessageParams(lsp.MessageType.Warning, message)
        self._send(partial(self._server.window_show_message, shown))

    @override
    def working(self, message: str) -> None:
        if bool(message) is not self._is_working:
            self._is_working = bool(message)
            self._send(partial(_show_progress, self._server, message))


def _publish(server: TapegradServer, path: str, results: Results, version: int | None) -> None:
    uri = server.uris[path]
    document = server.workspace.get_text_document(uri)
    if document.version != version:  # an edit is on its way to mypy
        return
    positions = server.positions(uri)
    diagnostics = [_diagnostic(positions, finding) for finding in results.findings]
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))
    workspace = server.client_capabilities.workspace
    has_refresh = workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support
    if has_refresh and results.described == results.text:
        asyncio.get_running_loop().call_later(_REFRESH_AFTER, server.workspace_inlay_hint_refresh, None)


def _show_progress(server: TapegradServer, message: str) -> None:
    window = server.client_capabilities.window
    if not (window and window.work_done_progress):
        return
    value: Any
    if message:
        server.window_work_done_progress_create(lsp.WorkDoneProgressCreateParams(_PROGRESS))
        value = lsp.WorkDoneProgressBegin(title=SOURCE, message=message)
    else:
        value = lsp.WorkDoneProgressEnd()
    server.progress(lsp.ProgressParams(_PROGRESS, value))


def _diagnostic(positions: Positions, finding: Finding) -> lsp.Diagnostic:
    severity = lsp.DiagnosticSeverity.Error if finding.is_error else lsp.DiagnosticSeverity.Information
    return lsp.Diagnostic(
        positions.for_editor(finding.range), finding.text, severity, finding.code or None, source=SOURCE
    )


def _path(uri: str) -> str | None:
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return None if path is None else os.path.realpath(path)


def make_server(*, all_errors: bool) -> TapegradServer:
    """Return a server with its features."""
    server = TapegradServer(all_errors=all_errors)
    feature = server.feature

    @feature(lsp.INITIALIZED)
    def initialized(server: TapegradServer, _: lsp.InitializedParams) -> None:
        server.open_session()

    @feature(lsp.SHUTDOWN)
    def shutdown(server: TapegradServer, _: None) -> None:
        server.close_session()

    @feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(server: TapegradServer, given: lsp.DidOpenTextDocumentParams) -> None:
        server.take_over(given.text_document.uri)

    @feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(server: TapegradServer, given: lsp.DidChangeTextDocumentParams) -> None:
        server.take_over(given.text_document.uri)

    @feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(server: TapegradServer, _: lsp.DidSaveTextDocumentParams) -> None:
        if server.session is not None:
            server.session.check_again()

    @feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(server: TapegradServer, given: lsp.DidCloseTextDocumentParams) -> None:
        path = _path(given.text_document.uri)
        if path is not None and server.session is not None:
            server.session.change(path, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(given.text_document.uri, []))

    @feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(server: TapegradServer, given: lsp.HoverParams) -> lsp.Hover | None:
        return _hover(server, given.text_document.uri, given.position)

    @feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(server: TapegradServer, given: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        return _hints(server, given.text_document.uri, given.range)

    options = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite])

    @feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    def code_actions(server: TapegradServer, given: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return _code_actions(server, given.text_document.uri, given.range)

    return server


def _hover(server: TapegradServer, uri: str, position: lsp.Position) -> lsp.Hover | None:
    results = server.results(uri)
    if results is None:
        return None
    positions = server.positions(uri)
    place = positions.from_editor(lsp.Range(position, position))
    source = server.workspace.get_text_document(uri).source
    known = results.at(source, place.line, place.column)
    if known is None:
        return None
    text = lsp.MarkupContent(lsp.MarkupKind.Markdown, f"```text\n{known.text}\n```")
    return lsp.Hover(text, positions.for_editor(known.range))


def _hints(server: TapegradServer, uri: str, given: lsp.Range) -> list[lsp.InlayHint]:
    results = server.results(uri)
    if results is None:
        return []
    source = server.workspace.get_text_document(uri).source
    positions = server.positions(uri)
    return [
        lsp.InlayHint(positions.for_editor(hint.range).end, hint.text, lsp.InlayHintKind.Type, padding_left=True)
        for hint in results.hints_in(source)
        if given.start.line <= hint.range.end_line <= given.end.line
    ]


def _code_actions(server: TapegradServer, uri: str, given: lsp.Range) -> list[lsp.CodeAction]:
    results = server.results(uri)
    document = server.workspace.get_text_document(uri)
    if results is None or results.text != document.source:  # the places are those of an older text
        return []
    known = results.known if results.described == results.text else ()
    positions = server.positions(uri)
    offered = actions(results.text, results.findings, known, positions.from_editor(given))
    return [_code_action(positions, uri, document.version, action) for action in offered]


def _code_action(positions: Positions, uri: str, version: int | None, action: Action) -> lsp.CodeAction:
    kind = lsp.CodeActionKind.RefactorRewrite if action.finding is None else lsp.CodeActionKind.QuickFix
    edits = [lsp.TextEdit(positions.for_editor(edit.range), edit.text) for edit in action.edits]
    file = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    return lsp.CodeAction(
        action.title,
        kind,
        diagnostics=None if action.finding is None else [_diagnostic(positions, action.finding)],
        is_preferred=None if action.finding is None else True,
        edit=lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(file, edits)]),
    )
