"""Compares every op's result with its rule while the tests run; an empty TAPEGRAD_CHECK_RULES leaves that out."""

import os

from hypothesis import settings

os.environ.setdefault("TAPEGRAD_CHECK_RULES", "1")

settings.register_profile("tapegrad", derandomize=True, deadline=None, database=None)
settings.load_profile("tapegrad")
