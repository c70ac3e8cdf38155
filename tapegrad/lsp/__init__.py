"""The language server: `python -m tapegrad lsp` shows an editor what mypy reports and knows, while the user types."""

from __future__ import annotations

from importlib.util import find_spec


def serve(*, all_errors: bool = False) -> None:
    """Serve one editor on the standard streams, until it ends.

    Args:
        all_errors: Whether to show all errors of mypy, not only those about tensors.

    Raises:
        ModuleNotFoundError: The extra `editor` is not installed.
    """
    for package in ("pygls", "mypy"):
        if find_spec(package) is None:
            message = f'python -m tapegrad lsp needs the package {package}: pip install "tapegrad[editor]"'
            raise ModuleNotFoundError(message, name=package)
    from tapegrad.lsp.server import make_server

    make_server(all_errors=all_errors).start_io()
