"""What `python -m tapegrad` knows of a user's project: how mypy is set up in it, and whether the plugin works there."""
