"""Heat maps: an array as a PNG image, a square for each number, without an image library."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Blue for negative, red for positive, darker for larger absolute values; grey for NaN and infinities.
BELOW: Final = np.array([33, 76, 148], np.float32)
ZERO: Final = np.array([247, 247, 247], np.float32)
ABOVE: Final = np.array([178, 34, 40], np.float32)
NO_NUMBER: Final = np.array([160, 160, 160], np.uint8)

LARGEST: Final = 256  # squares along a side; larger arrays are subsampled


def heat_map(numbers: NDArray[Any], *, farthest: float, width: int = 240) -> bytes:
    """Paint an array of two axes, as a PNG.

    Args:
        numbers: (H, W), real.
        farthest: The absolute value that has the strongest colour.
        width: Minimum length of the longer side in pixels; a number is a square of 1 to 24 pixels a side.
    """
    thinned = numbers[:: _step(numbers.shape[0]), :: _step(numbers.shape[1])]
    side = min(24, max(1, -(-width // max(thinned.shape))))
    return _png(_coloured(thinned, farthest or 1.0).repeat(side, axis=0).repeat(side, axis=1))


def _step(size: int) -> int:
    return -(-size // LARGEST)


def _coloured(numbers: NDArray[Any], farthest: float) -> NDArray[np.uint8]:
    values = numbers.astype(np.float64)
    share = np.clip(np.where(np.isfinite(values), values, 0.0) / farthest, -1.0, 1.0)[..., None]
    ends = np.where(share < 0, BELOW, ABOVE)
    colours = (ZERO + np.abs(share) * (ends - ZERO)).round().astype(np.uint8)
    colours[np.isnan(values)] = NO_NUMBER
    colours[values == np.inf] = ABOVE.astype(np.uint8)
    colours[values == -np.inf] = BELOW.astype(np.uint8)
    return colours  # (H, W, 3)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode pixels (H, W, 3) as a PNG file.

    Source:
        [PNG, third edition](https://www.w3.org/TR/png-3/), §5 and §11.2: a header, the compressed lines, the end.
    """
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line begins with its filter type; 0 is none
    lines[:, 1:] = pixels.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits for each of red, green and blue
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
