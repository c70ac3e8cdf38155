"""The guard: annotations that mypy checks, enforced when the function is called."""

from tapegrad.guard._wrapper import guarded as guarded
