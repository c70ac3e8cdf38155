"""Hover texts of an editor, as pyright's language server gives them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from tapegrad import nn, optim

ROOT = Path(__file__).parent.parent
SUMMARY = re.compile(r"[A-Z`0-9].*?\.(?:\s|$)", re.DOTALL)
PAGE = ROOT / "docs" / "guide" / "ci.md"
PROGRAM = """\
import tapegrad as tg
from tapegrad import nn, optim

x = tg.normal((3, 5))
layer = nn.Linear(5, 7)
"""


class Editor:
    """One end of the language server protocol: opens a file, points at a name in it."""

    def __init__(self, folder: Path, source: str) -> None:
        self._file = (folder / "program.py").as_uri()
        self._source = source
        self._requests = 0
        (folder / "program.py").write_text(source, "utf-8")
        # `Popen.communicate` would wait for the end.
        self._server = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        capabilities = {
            "workspace": {"configuration": True},
            "textDocument": {"hover": {"contentFormat": ["markdown"]}},
        }
        self._ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities})
        self._send({"method": "initialized", "params": {}})
        document = {"uri": self._file, "languageId": "python", "version": 1, "text": source}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def over(self, name: str) -> tuple[str, str]:
        """Return the signature and the words that are shown over the first place where a name stands."""
        found = re.search(rf"\b{name}\b", self._source)
        assert found, name
        above = self._source[: found.start()].split("\n")
        position = {"line": len(above) - 1, "character": len(above[-1])}
        shown = self._ask("textDocument/hover", {"textDocument": {"uri": self._file}, "position": position})
        parts = re.fullmatch(r"```python\n(.*?)\n```(?:\n---\n(.*))?", shown["contents"]["value"].strip(), re.DOTALL)
        assert parts, shown
        return parts[1], parts[2] or ""

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._requests += 1
        self._send({"id": self._requests, "method": method, "params": params})
        while True:
            said = self._received()
            if said.get("method") == "workspace/configuration":
                settings = [{"pythonPath": sys.executable}] * len(said["params"]["items"])
                self._send({"id": said["id"], "result": settings})
            elif "method" in said and "id" in said:
                self._send({"id": said["id"], "result": None})
            elif said.get("id") == self._requests:
                return said["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        self._server.stdin.flush()

    def _received(self) -> Any:
        assert self._server.stdout is not None
        head = b"".join(iter(self._server.stdout.readline, b"\r\n"))
        length = re.search(rb"Content-Length: (\d+)", head)
        assert length is not None, head
        return json.loads(self._server.stdout.read(int(length[1])))


def is_alias(signature: str) -> bool:
    """Return whether a name is a type under another name, whose definition says it all."""
    return signature.startswith(("(type)", "class Shape"))


def names(module: Any) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    expressions = [f"tg.{name}" for name in names(tapegrad)] + [f"nn.{name}" for name in names(nn)]
    expressions += [f"optim.{name}" for name in names(optim)] + ["layer.forward", "x.reshape", "x.backward"]
    opened = Editor(tmp_path_factory.mktemp("editor"), PROGRAM + "\n".join(expressions) + "\n")
    yield opened
    opened.close()


@pytest.mark.parametrize("module", [tapegrad, nn, optim], ids=lambda module: module.__name__)
def test_every_hover_shows_types_and_a_summary(module: Any, editor: Editor) -> None:
    prefix = {tapegrad: "tg", nn: "nn", optim: "optim"}[module]

    shown = {name: editor.over(rf"(?<={prefix}\.){name}") for name in names(module)}

    unknown = [name for name, (signature, _) in shown.items() if "Unknown" in signature]
    assert [name for name in unknown if name != "Shape"] == []  # which is `tuple`, by typeshed's signature
    silent = {name: shown[name][0] for name in shown if not SUMMARY.match(shown[name][1])}
    assert [name for name, signature in silent.items() if not is_alias(signature)] == []
    for signature, _ in shown.values():
        assert all(overload.count("\n") < 16 for overload in signature.split("\n\n"))


def test_hovers_of_methods_show_arguments_and_results(editor: Editor) -> None:
    assert editor.over(r"(?<=layer\.)forward") == (
        (
            "(method) def forward(x: Tensor[tuple[*Batch@forward, Any], T@forward, float32])"
            " -> Tensor[tuple[*Batch@forward, Any], T@forward, float32]"
        ),
        "Compute `x @ weight + bias` of `x`, `(..., In)`; the result is `(..., Out)`.",
    )
    assert (
        editor.over(r"(?<=x\.)reshape")[0]
        == "(method) def reshape(*shape: Int | SizesOrList) -> Tensor[Any, NoneTape, floating[_32Bit]]"
    )
    assert editor.over(r"(?<=x\.)backward")[1].startswith(
        "Compute gradients by running the tape backwards, and consume the tape.\n\nArgs:"
    )


def test_the_page_shows_what_an_editor_shows(tmp_path: Path) -> None:
    program, blocks = re.findall(
        r"^```python\n(.*?def scores.*?)^```\n(.*?)^## ", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )[0]
    quoted = dict(re.findall(r'^```py title="over (\w+)"\n(.*?)\n```$', blocks, re.MULTILINE | re.DOTALL))
    opened = Editor(tmp_path, program)

    shown = {name: opened.over(name)[0] for name in quoted}

    opened.close()
    assert shown == quoted
    assert len(quoted) == 6
