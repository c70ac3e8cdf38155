"""Sizes from which a faster implementation pays: below them, its overhead is larger than what it saves."""

from typing import Final

FUSE_MIN_ELEMENTS: Final = 1 << 16  # of an elementwise op that runs as one fused function
DEFER_MIN_ELEMENTS: Final = 1 << 16  # of the relu of images, which a max pool computes together with its own result
ACCUMULATE_MIN_ELEMENTS: Final = 1 << 16  # of a gradient that is added in place
PARALLEL_MIN_ELEMENTS: Final = 1 << 20  # of a NumPy op that two threads share; for fewer, buffers raise peak memory
KERNEL_PARALLEL_MIN_ELEMENTS: Final = 1 << 18  # of a compiled kernel that two threads share
PROGRAM_PARALLEL_MIN_ELEMENTS: Final = 1 << 19  # of a fused function that two threads share
HALF_PARALLEL_MIN_ELEMENTS: Final = 1 << 18  # of a conversion to or from half precision that two threads share
BY_CELLS_MIN_ELEMENTS: Final = 1 << 16  # of the windows of a convolution of which none are gathered
TILED_POOL_MIN_ELEMENTS: Final = 1 << 18  # of images that are pooled some at a time
POOL_MIN_BYTES: Final = 1 << 18  # of an array that is taken from the buffer pool
