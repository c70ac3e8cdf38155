"""The progress bar, in a pseudo-terminal and in a kernel of Jupyter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest

pty = pytest.importorskip("pty")  # Windows has none

PROGRAM = """\
import time
from tapegrad.ops import ones
from tapegrad.data import batches
from tapegrad.progress import track

def main():
    for epoch in track(batches(ones((40, 2)), size=8), epochs=4):
        for x in epoch:
            time.sleep(0.03)
            epoch.note(loss=1 / (1 + epoch.step))
        epoch.note(test_accuracy=0.75)
        {}
main()
"""


def shown(program: str, **environment: str) -> str:
    """Return what a program writes to a terminal 80 columns wide."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"COLUMNS": "80", "TERM": "xterm"} | environment,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            written += os.read(ours, 4096)
        except OSError:  # Linux says so that the other side is closed
            break
    os.close(ours)
    process.wait()
    return written.decode()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", text)


def test_the_bar_shows_metrics_rate_and_remaining_time() -> None:
    written = shown(PROGRAM.format("pass"))

    pictures = [line.rstrip() for line in re.split(r"[\r\n]+", plain(written)) if line.strip()]
    assert re.fullmatch(r"━+ 100% epoch 4/4, loss 0\.05\d+, test accuracy 0\.75, \d+ rows/s 0:00:00", pictures[-1])
    halfway = [re.search(r"\d+% epoch [23]/4, loss 0\.\d+, \d+ rows/s 0:00:0\d$", line) for line in pictures]
    assert any(halfway)
    assert 4 < len(pictures) < 20
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1  # the cursor is hidden, and shown again


def test_a_narrow_terminal_shows_a_short_bar_and_cuts_the_text_at_its_end() -> None:
    written = shown(PROGRAM.format("pass"), COLUMNS="50")

    pictures = [line.rstrip() for line in re.split(r"[\r\n]+", plain(written)) if line.strip()]
    assert max(map(len, pictures)) <= 50
    assert re.fullmatch(r"━{8} 100% epoch 4/4, loss 0\.05\d+, test accu.*…", pictures[-1])


def test_an_error_restores_the_cursor_before_the_traceback() -> None:
    written = shown(PROGRAM.format("raise KeyError('oops')"))

    assert written.index("\x1b[?25h") < written.index("Traceback")
    assert plain(written).rstrip().endswith("KeyError: 'oops'")


def test_without_rich_a_terminal_gets_lines() -> None:
    written = shown("import sys\nsys.modules['rich.progress'] = None\n" + PROGRAM.format("pass"))

    lines = written.splitlines()
    assert len(lines) == 4
    assert re.fullmatch(r"epoch 4/4, loss 0\.05\d+, test accuracy 0\.75, \d+ rows/s", lines[-1])


def test_a_notebook_shows_a_bar_below_its_cell_that_is_drawn_while_the_cell_runs() -> None:
    kernels = pytest.importorskip("jupyter_client.manager", reason="no extra brings it")
    manager, client = kernels.start_new_kernel(kernel_name="python3")
    drawn: list[dict[str, Any]] = []
    printed: list[str] = []

    def receive(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] in ("display_data", "update_display_data"):
            drawn.append(content)
        elif message["msg_type"] in ("stream", "error"):
            printed.append(content.get("text") or content["evalue"])

    try:
        client.execute_interactive(PROGRAM.format("pass"), timeout=120, output_hook=receive)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    assert printed == []
    assert len({content["transient"]["display_id"] for content in drawn}) == 1
    texts = [content["data"]["text/plain"] for content in drawn]
    assert texts[0] == "0%"
    assert any(re.fullmatch(r"\d+% epoch [23]/4, loss 0\.\d+, \d+ rows/s, 0:00:0\d left", text) for text in texts)
    assert re.fullmatch(r"100% epoch 4/4, loss 0\.05\d+, test accuracy 0\.75, \d+ rows/s", texts[-1])
    assert 6 < len(texts) < 20
    assert drawn[-1]["data"]["text/html"] == f'<div><progress value="20" max="20"></progress> {texts[-1]}</div>'
