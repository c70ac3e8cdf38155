"""The namespace that a tensor gives to functions written for the array API standard."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tapegrad.errors import DTypeError

if TYPE_CHECKING:
    from types import ModuleType

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def namespace(version: str | None) -> ModuleType:
    """Return `tapegrad.array_api`, a layer above tensors, for any of `VERSIONS`."""
    if version is not None and version not in VERSIONS:
        message = f"__array_namespace__: api_version is {version!r} but one of {', '.join(VERSIONS)} is expected"
        raise DTypeError(message)
    return importlib.import_module("tapegrad.array_api")
