"""JAX itself, which the extra `jax` brings."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _library() -> Any:
    """Import JAX, or say which extra has it."""
    try:
        return import_module("jax")
    except ModuleNotFoundError as error:
        message = 'tapegrad.jit and tapegrad.jax need the package jax: pip install "tapegrad[jax]"'
        raise ModuleNotFoundError(message, name=error.name) from None


# Any: for the types of JAX mypy would read all of it, in every program that imports tapegrad.
jax: Any = _library()
jnp: Any = import_module("jax.numpy")


def exact() -> Any:
    """Let JAX keep 64 bits for as long as it is entered: so every dtype is the one that the types say."""
    return jax.enable_x64(True)  # noqa: FBT003  # JAX's signature
