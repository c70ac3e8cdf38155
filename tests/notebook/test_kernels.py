"""Strict checking in real kernels: a cell that mypy rejects never runs, whichever environment the kernel has."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from tapegrad.notebook.checker import SETTINGS
from tapegrad.notebook.waiting import TEXT
from tests.warm_mypy_cache import copy_warm_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

COLORS = {"FORCE_COLOR": "1", "MYPY_FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-color", "COLUMNS": "20"}
MESSAGE = "matmul: inner sizes differ: x (5, 4) has 4 columns but y (5, 4) has 5 rows  [tapegrad-shape]"
LONGEST = 300  # seconds: other tests run beside, and a module that a cell imports may be new to mypy


class Outcome(NamedTuple):
    """What a front end gets for a cell.

    Attributes:
        cleared: What was printed and then cleared.
    """

    status: str
    error: str
    printed: str
    cleared: str


class Kernel:
    """A kernel in a folder of its own, as a front end sees it."""

    def __init__(self, client: BlockingKernelClient, folder: Path) -> None:
        self.client = client
        self.folder = folder

    def __call__(self, cell: str) -> Outcome:
        error, printed, cleared = "", "", ""

        def receive(message: dict[str, Any]) -> None:
            nonlocal error, printed, cleared
            if message["msg_type"] == "error":
                error += "\n".join(message["content"]["traceback"])
            elif message["msg_type"] == "stream":
                printed += message["content"]["text"]
            elif message["msg_type"] == "clear_output":
                printed, cleared = "", printed

        reply = self.client.execute_interactive(cell, timeout=LONGEST, output_hook=receive)
        return Outcome(reply["content"]["status"], error, printed, cleared)

    def planted(self, name: str, before: str = "import tapegrad as tg") -> Outcome:
        """Run a cell with a mistake that writes a file before mypy's reason to reject it."""
        return self(f"{before}\nopen({name!r}, 'w').close()\ntg.ones((5, 4)) @ tg.ones((5, 4))")

    @property
    def written(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")  # one for all, for the sake of mypy's cache
    copy_warm_cache(folder, name=".mypy_cache/notebook", settings=SETTINGS.read_text("utf-8"))
    return folder


@pytest.fixture
def kernel(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """Start the kernel in both ways in which people do: JupyterLab and the notebook app have jupyter_server do it."""
    for name, value in COLORS.items():
        monkeypatch.setenv(name, value)
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(folder / ".jupyter" / name.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(folder / ".ipython"))
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    yield from (in_server if getattr(request, "param", "") == "jupyter_server" else in_manager)(folder)


def in_manager(folder: Path) -> Iterator[Kernel]:
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder))
    try:
        yield Kernel(client, folder)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def in_server(folder: Path) -> Iterator[Kernel]:
    runtime = folder / ".jupyter" / "runtime"
    runtime.mkdir(parents=True, exist_ok=True)
    options = ("--ServerApp.open_browser=False", "--ServerApp.port=0", f"--ServerApp.root_dir={folder}", "--allow-root")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", *options],
        cwd=folder,  # its kernels run there
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        about = until_written(runtime / f"jpserver-{server.pid}.json", server)
        request = urllib.request.Request(  # noqa: S310  # on this machine
            f"{about['url']}api/kernels",
            data=json.dumps({"name": "python3"}).encode(),
            headers={"Authorization": f"token {about['token']}"},
        )
        kernel = json.loads(until_answered(request, server))["id"]
        client = BlockingKernelClient(connection_file=str(runtime / f"kernel-{kernel}.json"))
        client.load_connection_file()
        client.start_channels(hb=False)  # its `wait_for_ready` gives a busy machine one second
        try:
            until_heard(client)
            yield Kernel(client, folder)
        finally:
            client.stop_channels()
    finally:
        server.terminate()  # it ends its kernels
        server.wait(timeout=60)


def until_answered(request: urllib.request.Request, server: subprocess.Popen[bytes]) -> bytes:
    """Return a server's answer; it writes its address before it listens there."""
    end = time.monotonic() + LONGEST
    while True:
        try:
            with urllib.request.urlopen(request, timeout=LONGEST) as answer:  # noqa: S310  # on this machine
                return bytes(answer.read())
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
        assert server.poll() is None, f"the server ended with exit code {server.returncode}"
        assert time.monotonic() < end, "the server does not listen"
        time.sleep(0.1)


def until_written(path: Path, server: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Read what a server says of itself."""
    end = time.monotonic() + LONGEST
    while not path.is_file() or not path.read_text("utf-8"):
        assert server.poll() is None, f"the server ended with exit code {server.returncode}"
        assert time.monotonic() < end, "the server does not start"
        time.sleep(0.1)
    about: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return about


def until_heard(client: BlockingKernelClient) -> None:
    """Ask a kernel until its answers arrive."""
    end = time.monotonic() + LONGEST
    while True:
        client.kernel_info()
        try:
            client.get_iopub_msg(timeout=1)
        except Empty:
            assert time.monotonic() < end, "the kernel does not start"
        else:
            return


@pytest.mark.parametrize("kernel", ["ipykernel", "jupyter_server"], indirect=True)
def test_a_cell_that_mypy_rejects_never_runs(kernel: Kernel) -> None:
    assert kernel("%load_ext tapegrad.notebook").status == "ok"
    assert kernel("import os; print(os.environ['FORCE_COLOR'])").printed == "1\n"

    first = kernel.planted("first")
    assert kernel("import tapegrad as tg\nx = tg.ones((5, 4))\nopen('right', 'w').close()").status == "ok"
    wrong = kernel.planted("wrong")
    repeated = kernel.planted("wrong")
    importing = kernel.planted("importing", "import colorsys")
    again = kernel.planted("importing", "import colorsys")
    name = kernel("open('name', 'w').close()\nx @ x")

    assert kernel.written == {"right"}
    for outcome in (first, wrong, repeated, importing, again):
        assert outcome.error.splitlines()[-4:] == [
            f"In [{outcome.error.partition('[')[2].partition(']')[0]}], line 3",
            "    tg.ones((5, 4)) @ tg.ones((5, 4))",
            "    " + "^" * 33,
            MESSAGE,
        ]
    assert name.error.splitlines()[-1] == MESSAGE


def test_a_new_kernel_rejects_the_same_first_cell_again(kernel: Kernel) -> None:
    kernel("%load_ext tapegrad.notebook")

    assert kernel.planted("first").error.endswith(MESSAGE)
    assert kernel.planted("first").error.endswith(MESSAGE)
    assert kernel.written == set()


def test_a_cell_is_rejected_again_after_the_checker_process_was_killed(kernel: Kernel) -> None:
    kernel("%load_ext tapegrad.notebook")
    kernel("import tapegrad as tg")
    kernel.planted("wrong")
    kernel("%typecheck off")
    kernel(
        "from tapegrad.notebook.extension import Extension\n"
        "[extension] = Extension.loaded.values()\n"
        "extension.checker._process._child.kill()"
    )
    kernel("%typecheck strict")

    assert kernel.planted("wrong").error.endswith(MESSAGE)
    assert kernel.planted("wrong").error.endswith(MESSAGE)
    assert kernel.written == set()


def test_a_cell_that_waits_for_mypy_says_so_until_it_is_checked(kernel: Kernel) -> None:
    kernel("%load_ext tapegrad.notebook")
    kernel("%typecheck off")
    kernel(
        "import time\n"
        "from tapegrad.notebook.extension import Extension\n"
        "[extension] = Extension.loaded.values()\n"
        "check = extension.checker.check\n"
        "def slow(draft):\n    time.sleep(2)\n    return check(draft)\n"
        "extension.checker.check = slow"
    )
    kernel("%typecheck strict")

    right = kernel("print('right')")
    wrong = kernel.planted("wrong")

    assert (right.cleared, right.printed) == (TEXT, "right\n")
    assert (wrong.cleared, wrong.printed) == (TEXT, "")
    assert wrong.error.endswith(MESSAGE)
