"""Compiled steps (`tapegrad.jit`) and the placement of their tensors on devices; needs the extra `jax`."""

from tapegrad.jax.checkpoint import load as load
from tapegrad.jax.checkpoint import save as save
from tapegrad.jax.checkpoint import saved_steps as saved_steps
from tapegrad.jax.export import export as export
from tapegrad.jax.jit import programs as programs
from tapegrad.jax.place import from_local as from_local
from tapegrad.jax.place import place as place
from tapegrad.jax.placement import placement as placement
from tapegrad.jax.pytrees import register

register()
del register
