"""Tests that repeat what faster tests do once, and take minutes in all: `make slow` runs them, `make test` does not."""

from __future__ import annotations

import os
from typing import Final

import pytest

SLOW: Final = bool(os.environ.get("TAPEGRAD_SLOW"))
slow: Final = pytest.mark.skipif(not SLOW, reason="`make slow` runs it")
