"""Where the tensors of steps under `tapegrad.jit` lie: on one device, or on many; needs the extra `jax`."""

from tapegrad.jax.place import from_local as from_local
from tapegrad.jax.place import place as place
