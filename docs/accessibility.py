"""Check built pages for accessibility with axe-core in Chromium, in light and dark colours.

    python -m docs.accessibility

`make docs-check` builds the pages, installs axe-core and runs this. It fails if a page has a serious or critical
violation.
"""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from shutil import which
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE: Final = Path(__file__).parent.parent / "site"
PAGES: Final = (
    "",
    "guide/start/",
    "guide/tutorial/",
    "guide/faq/",
    "guide/tapes/",
    "guide/speed/",
    "guide/comparison/",
    "guide/borrow-checker/",
    "api/tensors/",
    "api/ops/conv/",
    "errors/",
    "errors/shapes-do-not-broadcast/",
    "examples/",
    "guide/step-6-data/",
    "guide/editors/",
    "notebooks/tape/",
    "404.html",
)
COLOURS: Final = ("light", "dark")
REJECTED: Final = ("serious", "critical")
READY: Final = 500  # milliseconds until the scripts of the theme have run


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a line for each request."""

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


def violations(browser: Any, address: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the colours, the page, and the violation that axe-core reports there."""
    axe = import_module("axe_playwright_python.sync_playwright").Axe()
    for colours in COLOURS:
        tab = browser.new_context(color_scheme=colours).new_page()
        for path in PAGES:
            tab.goto(f"{address}/{path}")
            tab.wait_for_timeout(READY)
            for violation in axe.run(tab).response["violations"]:
                yield colours, path, violation


def main() -> None:
    """Print all violations, and fail if one is serious."""
    playwright = import_module("playwright.sync_api").sync_playwright
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    Thread(target=server.serve_forever, daemon=True).start()
    serious = 0
    with playwright() as engine:
        browser = engine.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        for colours, path, violation in violations(browser, f"http://127.0.0.1:{server.server_port}"):
            serious += violation["impact"] in REJECTED
            print(f"{violation['impact']}: {violation['help']}: /{path} in {colours} colours")
            for node in violation["nodes"]:
                print(f"    {node['html'][:100]!r}")
        browser.close()
    print(f"{len(PAGES)} pages in {' and '.join(COLOURS)} colours: {serious} serious violations")
    sys.exit(serious > 0)


if __name__ == "__main__":
    main()
