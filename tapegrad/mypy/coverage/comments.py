"""Comments that accept an unknown: `# tapegrad: unknown because the data decides`."""

from __future__ import annotations

import io
import re
import tokenize
from typing import Final, NamedTuple

_COMMENT: Final = re.compile(r"#\s*tapegrad:\s*unknown\b[\s:,-]*(?:because\b\s*)?(.*?)\s*(?:#.*)?$")
_MARK: Final = "tapegrad:"


class Comment(NamedTuple):
    """A comment that accepts what is unknown on its line, or in the function whose `def` it follows.

    Attributes:
        column: Where it begins, from 0.
        reason: Why; empty if it gives no reason, and then it accepts nothing.
    """

    line: int
    column: int
    reason: str


def comments_in(source: str) -> dict[int, Comment]:
    """Return the comments of a program that accept an unknown, by line."""
    if _MARK not in source:
        return {}
    found: dict[int, Comment] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                line, column = token.start
                found[line] = Comment(line, column + match.start(), match[1])
    except (tokenize.TokenError, SyntaxError):  # mypy reports the syntax error
        return found
    return found
