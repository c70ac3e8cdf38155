"""The engine of NumPy arrays: the primitives, their buffers and threads, and fused programs."""

from tapegrad.engines.numpy.engine import NumPy as NumPy
