"""What `python -m tapegrad` knows of a user's project: how mypy is set up in it, and whether the plugin works there."""

from tapegrad.project.check import check as check
from tapegrad.project.doctor import doctor as doctor
