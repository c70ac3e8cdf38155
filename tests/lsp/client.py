"""An editor as far as the language server protocol goes: opens files, types, and asks what to show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tapegrad.project.settings import OWN
from tests.warm_mypy_cache import copy_warm_cache

CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {"inlayHint": {"refreshSupport": True}},
}


def prepare_cache(folder: Path) -> None:
    """Copy a warm cache to where the server looks for one, which loads it as mypy's daemon does."""
    of_daemon = "cache_fine_grained = true\nlocal_partial_types = true\n"
    copy_warm_cache(folder, name=".mypy_cache/editor", settings=OWN.read_text("utf-8") + of_daemon)


class Client:
    """One editor, in a folder, with a server of its own."""

    def __init__(self, folder: Path, *options: str, capabilities: Any = CAPABILITIES) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.messages: list[str] = []  # shown to the user
        self.progress: list[str] = []
        self.refreshes = 0  # how often the server asks the editor to ask for hints
        self.diagnostics: dict[str, tuple[int | None, list[Any]]] = {}
        self._requests = 0
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tapegrad", "lsp", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        given = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        self.offered = self.ask("initialize", given)["capabilities"]
        self.send("initialized", {})

    def open(self, name: str, text: str) -> None:
        """Open a file with a text that need not be saved."""
        self.texts[name], self.versions[name] = text, 1
        document = {"uri": self.uri(name), "languageId": "python", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})

    def edit(self, name: str, text: str) -> None:
        """Replace the text of an open file."""
        self.texts[name] = text
        self.versions[name] += 1
        document = {"uri": self.uri(name), "version": self.versions[name]}
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def close(self, name: str) -> None:
        """Close a file."""
        self.send("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})
        del self.texts[name]

    def errors(self, name: str) -> list[str]:
        """Wait until the current text is checked, and return each message with the text that it marks."""
        while self.diagnostics.get(self.uri(name), (0, []))[0] != self.versions[name]:
            self.receive()
        return [f"{self.marked(name, one['range'])}: {one['message']}" for one in self.diagnostics[self.uri(name)][1]]

    def codes(self, name: str) -> list[str]:
        """Return the codes of the errors that were received last."""
        return [one["code"] for one in self.diagnostics[self.uri(name)][1]]

    def await_errors(self, name: str, number: int) -> None:
        """Wait until a file has so many errors, because of an edit of another one."""
        while len(self.errors(name)) != number:
            self.receive()

    def await_hint(self, name: str, code: str) -> str:
        """Wait until a line of the current text has a hint, and return the hint."""
        self.errors(name)
        while not (found := [hint for hint in self.hints(name) if hint.startswith(code)]):
            self.receive()
        return found[0].removeprefix(code).strip()

    def hints(self, name: str) -> list[str]:
        """Return the hints of a file, each behind its line."""
        lines = self.texts[name].split("\n")
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
        given = {"textDocument": {"uri": self.uri(name)}, "range": everything}
        hints = self.ask("textDocument/inlayHint", given)
        places = [(one["position"]["line"], one["position"]["character"], one["label"]) for one in hints]
        return [f"{_units(lines[line], 0, column)}  {label}" for line, column, label in sorted(places)]

    def hover(self, name: str, pattern: str) -> str | None:
        """Return what is shown over the first match of a pattern, after the expression that it is about."""
        found = re.search(pattern, self.texts[name])
        assert found, pattern
        above = self.texts[name][: found.start()].split("\n")
        position = {"line": len(above) - 1, "character": len(above[-1].encode("utf-16-le")) // 2}
        shown = self.ask("textDocument/hover", {"textDocument": {"uri": self.uri(name)}, "position": position})
        if shown is None:
            return None
        inside = re.fullmatch(r"```text\n(.*)\n```", shown["contents"]["value"])
        assert inside, shown
        return f"{self.marked(name, shown['range'])}: {inside[1]}"

    def actions(self, name: str, pattern: str) -> dict[str, str]:
        """Return the actions offered at a pattern, each with the text after it."""
        found = re.search(pattern, self.texts[name])
        assert found, pattern
        line = self.texts[name][: found.start()].count("\n")
        place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
        given = {"textDocument": {"uri": self.uri(name)}, "range": place, "context": {"diagnostics": []}}
        return {one["title"]: self._applied(name, one["edit"]) for one in self.ask("textDocument/codeAction", given)}

    def _applied(self, name: str, edit: Any) -> str:
        [change] = edit["documentChanges"]
        lines = self.texts[name].split("\n")
        edits = sorted(change["edits"], key=lambda one: tuple(one["range"]["start"].values()), reverse=True)
        for one in edits:
            start, end = one["range"]["start"], one["range"]["end"]
            before = _units(lines[start["line"]], 0, start["character"])
            after = _units(lines[end["line"]], end["character"], None)
            lines[start["line"] : end["line"] + 1] = (before + one["newText"] + after).split("\n")
        return "\n".join(lines)

    def uri(self, name: str) -> str:
        """Return the address of a file."""
        return (self.folder / name).as_uri()

    def marked(self, name: str, place: Any) -> str:
        """Return the text in a range."""
        lines = self.texts[name].split("\n")[place["start"]["line"] : place["end"]["line"] + 1]
        lines[-1] = _units(lines[-1], 0, place["end"]["character"])
        lines[0] = _units(lines[0], place["start"]["character"], None)
        return "\n".join(lines)

    def stop(self) -> None:
        """Shut the server down as an editor does; it then ends by itself."""
        self.ask("shutdown", None)
        self.send("exit", None)
        self.server.wait()
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.close()
        self.server.stdout.close()

    def ask(self, method: str, given: Any) -> Any:
        """Send a request, and wait for its answer."""
        self._requests += 1
        self._write({"id": self._requests, "method": method, "params": given})
        while True:
            said = self.receive()
            if said.get("id") == self._requests and "method" not in said:
                assert "error" not in said, said
                return said["result"]

    def send(self, method: str, given: Any) -> None:
        """Send a notification."""
        self._write({"method": method, "params": given})

    def _write(self, message: dict[str, Any]) -> None:
        assert self.server.stdin is not None
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        self.server.stdin.flush()

    def receive(self) -> Any:
        """Take in one message of the server."""
        assert self.server.stdout is not None
        head = b"".join(iter(self.server.stdout.readline, b"\r\n"))
        length = re.search(rb"Content-Length: (\d+)", head)
        assert length is not None, head
        said = json.loads(self.server.stdout.read(int(length[1])))
        given = said.get("params") or {}
        match said.get("method"):
            case "textDocument/publishDiagnostics":
                self.diagnostics[given["uri"]] = given.get("version"), given["diagnostics"]
            case "window/showMessage":
                self.messages.append(given["message"])
            case "$/progress":
                self.progress.append(given["value"].get("message", given["value"]["kind"]))
            case "workspace/inlayHint/refresh":
                self.refreshes += 1
        if "method" in said and "id" in said:
            self._write({"id": said["id"], "result": None})
        return said


def _units(line: str, start: int, end: int | None) -> str:
    """Return a part of a line between two columns in the units of UTF-16, which editors count in."""
    content = line.encode("utf-16-le")
    return content[2 * start : None if end is None else 2 * end].decode("utf-16-le")
