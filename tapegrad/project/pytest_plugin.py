"""The pytest plugin: `pytest --tapegrad-packages=mine` guards the functions of packages while the tests run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("tapegrad").addoption(
        "--tapegrad-packages",
        default="",
        metavar="NAMES",
        help="packages, separated by commas, in which tapegrad checks each call against annotations that name tensors",
    )


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the import hook before a conftest file imports a package."""
    given = early_config.known_args_namespace.tapegrad_packages
    packages = [name.strip() for name in given.split(",") if name.strip()]
    if packages:
        from tapegrad.guard import install_import_hook  # only where it is used: the plugin is loaded in every run

        early_config.add_cleanup(install_import_hook(*packages).uninstall)
