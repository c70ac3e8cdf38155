"""The guard: annotations that mypy checks, enforced when the function is called."""

from tapegrad.guard._memory import remembered as remembered
from tapegrad.guard._wrapper import guarded as guarded
