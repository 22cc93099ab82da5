"""The rule for texts from outside: which characters none of them may have, and what stands in their place."""

from __future__ import annotations

import re

UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which terminals obey, and of which PostgreSQL takes no NUL; halves of characters are no UTF-8."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""The character in place of those that no id has."""


def sought(text: object) -> str:
    """An id or name by which something is looked up, with another character for those that no id or name has.

    Each store then finds nothing: PostgreSQL takes no NUL, and no store half a character.
    """
    return UNPRINTABLE.sub(REPLACEMENT, str(text))


def without_nul(text: str) -> str:
    """A text that every engine accepts: PostgreSQL refuses the character NUL, which a message may quote."""
    return text.replace("\0", REPLACEMENT)
