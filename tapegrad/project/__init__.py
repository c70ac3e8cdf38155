"""Checks of a user's project by `python -m tapegrad`: how mypy is configured, and whether the plugin works."""
