"""The import of JAX, which the extra `jax` installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _library() -> Any:
    """Import JAX, or raise an error that names the extra."""
    try:
        return import_module("jax")
    except ModuleNotFoundError as error:
        message = 'tapegrad.jit and tapegrad.jax need the package jax: pip install "tapegrad[jax]"'
        raise ModuleNotFoundError(message, name=error.name) from None


# Any: mypy would read all of JAX for its types, in every program that imports tapegrad.
jax: Any = _library()
jnp: Any = import_module("jax.numpy")


def exact() -> Any:
    """Enable 64-bit dtypes in JAX inside the context, so that every dtype is the one in the static types."""
    return jax.enable_x64(True)  # noqa: FBT003  # JAX's signature
