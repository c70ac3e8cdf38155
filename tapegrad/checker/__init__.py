"""mypy in a child process that stays in memory: notebooks and editors check with it."""
