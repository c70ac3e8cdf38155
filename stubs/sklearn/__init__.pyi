from typing import Any

# What no stub names is Any: scikit-learn has no types of its own.
def __getattr__(name: str) -> Any: ...
