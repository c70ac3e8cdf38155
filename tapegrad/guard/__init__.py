"""The guard: run-time validation of arguments and results against the annotations that mypy checks."""

from tapegrad.guard._import_hook import ImportHook as ImportHook
from tapegrad.guard._import_hook import install_import_hook as install_import_hook
from tapegrad.guard._memory import stored_sizes as stored_sizes
from tapegrad.guard._names import last_of as last_of
from tapegrad.guard._wrapper import guarded as guarded
